"""The paper's appendix B (tab:border_1, tab:border_2): largest expansion first against random order.

Run it as ``python -m benchmarks.paper expansion``. The regions of the first kind are those of tables 1 and 2.
"""

from __future__ import annotations

from functools import partial

from benchmarks.paper.cells import Cell, Experiment, Plan
from benchmarks.paper.grid import (
    DATASETS,
    SYNTHETIC,
    by_name,
    draw_cells,
    region_cells,
    region_jobs,
    subjects,
    two_tables,
)
from benchmarks.paper.jobs import Job

NAME = "expansion"


def jobs(plan: Plan) -> list[Job]:
    """Both orders on everything there is."""
    return region_jobs(subjects(plan, DATASETS + SYNTHETIC), ("divide", "random"), plan)


def table(rows: list[Cell]) -> str:
    """Ours beside theirs, and how often the largest first is better."""
    found = by_name(rows).values()
    larger = sum(methods["divide"]["size"] >= methods["random"]["size"] for methods in found)
    gaps = [
        (methods["divide"]["size"] - methods["random"]["size"]) / max(methods["divide"]["size_sd"], 1e-9)
        for methods in found
    ]
    return (
        f"{two_tables(NAME, rows)}\n\nLargest first is the larger or equal in {larger} of {len(gaps)} cells; "
        f"the means differ by {min(gaps):.2f} to {max(gaps):.2f} standard deviations over the points."
    )


EXPANSION = Experiment(NAME, jobs, region_cells, table, partial(draw_cells, NAME))
