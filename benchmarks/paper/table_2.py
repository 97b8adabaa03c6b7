"""The paper's table 2 (tab:synthetic): the share of the local cluster captured, and the picture at D = 2.

Run it as ``python -m benchmarks.paper table_2``.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.paper.cells import Experiment
from benchmarks.paper.grid import (
    COLORS,
    METHODS,
    SHARE,
    SYNTHETIC,
    all_said,
    draw_cells,
    quiet_pyplot,
    region_cells,
    region_jobs,
    subjects,
)
from benchmarks.paper.jobs import Job, RegionJob, Result
from benchmarks.paper.subjects import CLUSTERS, Subject, clusters, problem

GRID = 250


def draw_example(results: dict[Job, Result], path: Path) -> None:
    """The clusters at D = 2, where the linear surrogate is faithful, and the four regions of a test point.

    Of the points that greedy has done, it is the one at which divide captures most.
    """
    subject = Subject("synthetic-2", "logistic")
    done = [job.point for job in results if isinstance(job, RegionJob) and job.subject == subject]
    shared = [point for point in set(done) if done.count(point) == len(METHODS)]
    if not shared:
        return
    point = max(shared, key=lambda number: results[RegionJob(subject, "divide", number)]["size"])
    found = problem(subject, point, None)
    assert found is not None
    task = found[1]
    pyplot = quiet_pyplot()
    from matplotlib.patches import Circle, Rectangle

    X, label = clusters(subject)
    lower, upper = task.domain.lower, task.domain.upper
    ticks = [np.linspace(lower[i], upper[i], GRID) for i in range(2)]
    rows = np.stack(np.meshgrid(*ticks), axis=-1).reshape(-1, 2)
    faithful = task.faithful(rows).reshape(GRID, GRID)
    figure, axes = pyplot.subplots(figsize=(5.2, 4.2), layout="constrained")
    axes.contourf(*ticks, faithful, levels=[-0.5, 0.5], colors=["#f3c9c9"])
    for k in range(CLUSTERS):
        axes.plot(*X[label == k].T, ".", ms=4, alpha=0.7, label=f"cluster {k}")
    axes.plot(*task.instance, "ko", ms=7)
    for method in METHODS:
        result = results[RegionJob(subject, method, point)]
        if not result["certified"]:
            continue
        corner = np.array(result["lower"])
        shape = (
            Circle(task.instance, result["radius"])
            if result["radius"]
            else Rectangle(corner, *(np.array(result["upper"]) - corner))
        )
        shape.set(fill=False, edgecolor=COLORS[method], linewidth=2, label=method)
        axes.add_patch(shape)
    axes.set(xlim=(lower[0] - 0.1, upper[0] + 0.1), ylim=(lower[1] - 0.1, upper[1] + 0.1))
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


TABLE_2 = Experiment(
    "table_2",
    lambda plan: region_jobs(subjects(plan, SYNTHETIC), METHODS, plan),
    region_cells,
    partial(all_said, "table_2", SHARE),
    partial(draw_cells, "table_2"),
    pictures={"table_2_example.png": draw_example},
)
