"""What the paper leaves open, and how much it matters: divide in tables 1 and 2 under other readings.

Other splits of the data, fewer samples to train the surrogate on, a logistic regression on features that
are not scaled to the samples; other draws of the clusters, and clusters that lie further apart. Run it as
``python -m benchmarks.paper readings``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.paper.cells import Cell, Experiment, Plan, cell, markdown, plus_minus, theirs
from benchmarks.paper.grid import SYNTHETIC, by_subject, halves, quiet_pyplot, region_jobs, subjects
from benchmarks.paper.jobs import Job, Result
from benchmarks.paper.subjects import CLUSTER_READINGS, READINGS

DATASETS = ("boston", "iris", "diabetes", "wine")
"""Cancer is too dear for this."""

UNSURE = 0.6
"""Below this confidence of the model, a point lies at the decision boundary."""


def jobs(plan: Plan) -> list[Job]:
    """Divide under every reading; a tree does not care how a logistic regression is scaled."""
    found: list[Job] = []
    cases = [(DATASETS, reading) for reading in READINGS]
    for names, reading in cases + [(SYNTHETIC, reading) for reading in CLUSTER_READINGS]:
        some = subjects(plan, names, reading=reading)
        if "logistic" in reading:
            some = [subject for subject in some if subject.surrogate == "logistic"]
        found += region_jobs(some, ("divide",), plan)
    return found


def cells(results: dict[Job, Result]) -> list[Cell]:
    """A row for every reading, dataset and surrogate, with the mean over the points that are not unsure."""
    rows = []
    for (subject, method), some in by_subject(results).items():
        names = {"dataset": subject.dataset, "surrogate": subject.surrogate, "method": method}
        row = cell(some, reading=subject.reading, **names)
        certain = [r["size"] for r in some if r.get("confidence", 0) >= UNSURE and r["size"] is not None]
        row["unsure"] = sum(r.get("confidence", 1) < UNSURE for r in some)
        row["size_certain"] = float(np.mean(certain)) if certain else None
        rows.append(row)
    return rows


def table(rows: list[Cell]) -> str:
    """A row for every cell and reading, beside the paper's."""
    return "\n\n".join(_table(size, some) for size, some in halves(rows))


def _table(size: str, rows: list[Cell]) -> str:
    header = (
        "dataset",
        "surrogate",
        "reading",
        f"{size}, ours",
        "theirs",
        "evaluations, ours",
        "theirs",
        f"unsure points (below {UNSURE})",
        f"{size} without them",
    )
    order = DATASETS + SYNTHETIC
    lines = []
    for row in sorted(rows, key=lambda row: (order.index(row["dataset"]), row["surrogate"])):
        certain = "" if row["size_certain"] is None else f"{row['size_certain']:.1f}"
        line = [row["dataset"], row["surrogate"], row["reading"]]
        for measure in ("size", "evaluations"):
            line += [plus_minus(row, measure), plus_minus(_printed(row), measure)]
        lines.append((*line, f"{row['unsure']} of {row['points']}", certain))
    return markdown(header, lines)


def _printed(row: Cell) -> Cell:
    """What the paper has for divide in this cell."""
    name = "table_2" if row["dataset"] in SYNTHETIC else "table_1"
    return theirs()[(name, row["dataset"], row["surrogate"], "divide")]


def draw(rows: list[Cell], path: Path) -> None:
    """How far every reading's mean lies from the paper's, in the paper's standard deviations."""
    pyplot = quiet_pyplot()
    names = list(dict.fromkeys((row["dataset"], row["surrogate"]) for row in rows))
    figure, axes = pyplot.subplots(figsize=(9, 3.4), layout="constrained")
    for i, reading in enumerate(dict.fromkeys(row["reading"] for row in rows)):
        some = [row for row in rows if row["reading"] == reading and row["size"] is not None]
        x = [names.index((row["dataset"], row["surrogate"])) + 0.08 * (i - 3.5) for row in some]
        printed = [_printed(row) for row in some]
        y = [
            (row["size"] - paper["size"]) / paper["size_sd"] for row, paper in zip(some, printed, strict=True)
        ]
        axes.plot(x, y, "o", ms=4, label=reading)
    axes.axhspan(-1, 1, color="0.93", zorder=0)
    axes.set_xticks(range(len(names)), [f"{dataset}\n{kind}" for dataset, kind in names], fontsize=8)
    axes.set_ylabel("(ours - paper's) / paper's sd")
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


READINGS_OF_TABLE_1 = Experiment("readings", jobs, cells, table, draw)
