"""The paper's appendix C (tab:nn_vol, tab:nn_cap): tables 1 and 2 with a neural network as the model.

One hidden layer of 100 rectified units, as the paper says: scikit-learn's. Run it as
``python -m benchmarks.paper networks``.
"""

from __future__ import annotations

from functools import partial

from benchmarks.paper.cells import Cell, Experiment
from benchmarks.paper.grid import (
    DATASETS,
    METHODS,
    SYNTHETIC,
    draw_cells,
    region_cells,
    region_jobs,
    said,
    subjects,
    two_tables,
)

NAME = "networks"


def table(rows: list[Cell]) -> str:
    """Ours beside theirs, and what that comes to."""
    return f"{two_tables(NAME, rows)}\n\n{said(NAME, rows)}"


NETWORKS = Experiment(
    NAME,
    lambda plan: region_jobs(subjects(plan, DATASETS + SYNTHETIC, "network"), METHODS, plan),
    region_cells,
    table,
    partial(draw_cells, NAME),
)
