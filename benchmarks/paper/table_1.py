"""The paper's table 1 (tab:size): how large the regions are, and what they cost, on five datasets.

Run it as ``python -m benchmarks.paper table_1``.
"""

from __future__ import annotations

from functools import partial

from benchmarks.paper.cells import Experiment
from benchmarks.paper.grid import (
    DATASETS,
    METHODS,
    VOLUME,
    all_said,
    draw_cells,
    region_cells,
    region_jobs,
    subjects,
)

TABLE_1 = Experiment(
    "table_1",
    lambda plan: region_jobs(subjects(plan, DATASETS), METHODS, plan),
    region_cells,
    partial(all_said, "table_1", VOLUME),
    partial(draw_cells, "table_1"),
)
