"""The paper's figure 2 (section 4.1): reach along feature k, against an honest and a dishonest model.

The pairs are those of `benchmarks.honesty`. Run it as ``python -m benchmarks.paper honesty``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.paper.cells import Cell, Experiment, Plan, grouped, markdown
from benchmarks.paper.grid import DATASETS, quiet_pyplot
from benchmarks.paper.jobs import HonestyJob, Job, Result

METHODS = ("divide", "balanced")
SIDES = ("honest", "dishonest")


def jobs(plan: Plan) -> list[Job]:
    """Both searches on every pair that passes the paper's filter."""
    return [
        HonestyJob(dataset, method, point)
        for dataset in DATASETS
        if dataset in plan.datasets
        for point in range(plan.points)
        for method in METHODS
    ]


def cells(results: dict[Job, Result]) -> list[Cell]:
    """A row for every pair and search."""
    rows = []
    for job, result in results.items():
        assert isinstance(job, HonestyJob)
        if "missing" not in result:
            reach = {side: result[side] for side in SIDES}
            rows.append({"dataset": job.dataset, "method": job.method, "feature": result["name"], **reach})
    return rows


def table(rows: list[Cell]) -> str:
    """Mean and extreme reaches, and how well reach tells honest from dishonest."""
    header = (
        "dataset",
        "feature k",
        "search",
        "points",
        "reach, honest",
        "reach, dishonest",
        "area under ROC",
    )
    lines = []
    for (dataset, method), some in _grouped(rows).items():
        honest, dishonest = (np.array([row[side] for row in some]) for side in SIDES)
        labels = [1] * len(some) + [0] * len(some)
        area = roc_auc_score(labels, np.concatenate([honest, dishonest]))
        lines.append(
            (
                dataset,
                some[0]["feature"],
                method,
                str(len(some)),
                f"{honest.mean():.2f} (lowest {honest.min():.2f})",
                f"{dishonest.mean():.2f} (highest {dishonest.max():.2f})",
                f"{area:.3f}",
            )
        )
    return markdown(header, lines)


def draw(rows: list[Cell], path: Path) -> None:
    """A panel for every dataset, a line for every pair."""
    pyplot = quiet_pyplot()
    groups = _grouped(rows)
    datasets = list(dict.fromkeys(dataset for dataset, _ in groups))
    figure, panels = pyplot.subplots(
        1,
        len(datasets),
        figsize=(2 * len(datasets) + 0.8, 2.9),
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    for axes, dataset in zip(panels[0], datasets, strict=True):
        for i, method in enumerate(METHODS):
            for row in groups.get((dataset, method), []):
                y = [row[side] for side in SIDES]
                axes.plot([3 * i, 3 * i + 1], y, "o-", color=f"C{2 * i}", ms=3, lw=0.5, alpha=0.7)
        axes.set_xticks([0, 1, 3, 4], ["honest", "dishonest"] * 2, rotation=60, fontsize=8)
        axes.set_title(dataset, fontsize=10)
    panels[0, 0].set(ylabel="reach along k", ylim=(0, 1.05))
    marks = [pyplot.Line2D([], [], marker="o", color=f"C{2 * i}", label=m) for i, m in enumerate(METHODS)]
    figure.legend(handles=marks, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def _grouped(rows: list[Cell]) -> dict[tuple[str, str], list[Cell]]:
    return grouped(rows, lambda row: (row["dataset"], row["method"]))


HONESTY = Experiment("honesty", jobs, cells, table, draw)
