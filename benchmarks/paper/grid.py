"""Tables of regions over datasets, surrogates and methods: what tables 1 and 2 and the appendix share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paper.cells import Cell, Plan, cell, grouped, markdown, plus_minus, theirs
from benchmarks.paper.jobs import Job, RegionJob, Result
from benchmarks.paper.subjects import Subject

DATASETS = ("boston", "iris", "diabetes", "wine", "cancer")
SYNTHETIC = ("synthetic-2", "synthetic-10")
SURROGATES = ("logistic", "tree")
METHODS = ("radial", "greedy", "divide", "balanced")
VOLUME = "log10 volume"
SHARE = "% of local cluster"
COLORS = {"radial": "C7", "greedy": "C1", "divide": "C0", "random": "C4", "balanced": "C2"}


def region_jobs(subjects: Iterable[Subject], methods: Sequence[str], plan: Plan) -> list[Job]:
    """Every method on the same points of every subject."""
    most = {"greedy": plan.greedy_points}
    return [
        RegionJob(subject, method, point)
        for subject in subjects
        for point in range(plan.points)
        for method in methods
        if point < most.get(method, plan.points)
    ]


def subjects(
    plan: Plan, allowed: Sequence[str], model: str = "forest", reading: str = "ours"
) -> list[Subject]:
    """Both surrogates on those of the planned datasets that a table has."""
    wanted = [name for name in allowed if name in plan.datasets]
    return [Subject(name, kind, model, reading) for name in wanted for kind in SURROGATES]


def by_subject(results: dict[Job, Result]) -> dict[tuple[Subject, str], list[Result]]:
    """Results by subject and method."""
    found = grouped(results.items(), lambda item: (item[0].subject, item[0].method))  # type: ignore[union-attr]
    return {name: [result for _, result in some] for name, some in found.items()}


def region_cells(results: dict[Job, Result]) -> list[Cell]:
    """A row for every subject and method."""
    return [
        cell(some, dataset=subject.dataset, surrogate=subject.surrogate, method=method)
        for (subject, method), some in by_subject(results).items()
    ]


def by_name(rows: Iterable[Cell]) -> dict[tuple[str, str], dict[str, Cell]]:
    """The methods of every dataset and surrogate."""
    found = grouped(rows, lambda row: (row["dataset"], row["surrogate"]))
    return {name: {row["method"]: row for row in some} for name, some in found.items()}


def compared(table: str, size: str, rows: Iterable[Cell]) -> str:
    """The rows as Markdown, ours beside theirs."""
    header = (
        "dataset",
        "surrogate",
        "method",
        f"{size}, ours",
        "theirs",
        "evaluations, ours",
        "theirs",
        "lowest purity",
        "certified",
    )
    lines = []
    for row in rows:
        printed = theirs().get((table, row["dataset"], row["surrogate"], row["method"]))
        lines.append(
            (
                row["dataset"],
                row["surrogate"],
                row["method"],
                plus_minus(row, "size"),
                plus_minus(printed, "size"),
                plus_minus(row, "evaluations"),
                plus_minus(printed, "evaluations"),
                "" if row["lowest_purity"] is None else f"{row['lowest_purity']:.4f}",
                f"{row['certified']} of {row['points']}",
            )
        )
    return markdown(header, lines)


def all_said(table: str, size: str, rows: list[Cell]) -> str:
    """The table, and in sentences what it comes to."""
    return f"{compared(table, size, rows)}\n\n{said(table, rows)}"


def said(table: str, rows: list[Cell]) -> str:
    """Sentences on the targets."""
    return "\n\n".join(
        (like_theirs(table, rows), balanced_against_divide(table, rows), ordering(table, rows))
    )


def halves(rows: list[Cell]) -> list[tuple[str, list[Cell]]]:
    """The rows whose size is a volume, and those whose size is a share of a cluster."""
    shares = [row for row in rows if row["dataset"] in SYNTHETIC]
    volumes = [row for row in rows if row["dataset"] not in SYNTHETIC]
    return [(size, some) for size, some in ((VOLUME, volumes), (SHARE, shares)) if some]


def two_tables(table: str, rows: list[Cell]) -> str:
    """A table of volumes, and one of shares."""
    return "\n\n".join(compared(table, size, some) for size, some in halves(rows))


def like_theirs(table: str, rows: Iterable[Cell], factor: float = 1.5) -> str:
    """A sentence: in how many cells divide comes out as in the paper."""
    near, cheap, far, dear, total = 0, 0, [], [], 0
    for row in rows:
        printed = theirs().get((table, row["dataset"], row["surrogate"], row["method"]))
        if row["method"] != "divide" or printed is None:
            continue
        total += 1
        name = f"{row['dataset']} {row['surrogate']}"
        if abs(row["size"] - printed["size"]) <= printed["size_sd"]:
            near += 1
        else:
            far.append(name)
        ratio = row["evaluations"] / printed["evaluations"]
        if 1 / factor <= ratio <= factor:
            cheap += 1
        else:
            dear.append(f"{name} ({ratio:.2f})")
    return (
        f"Divide's mean is within one standard deviation (the paper's) of the paper's mean in {near} of "
        f"{total} cells{_but(far)}; its evaluations are within a factor of {factor:g} in {cheap} of {total}"
        f"{_but(dear)}."
    )


def balanced_against_divide(table: str, rows: Iterable[Cell]) -> str:
    """A sentence: where balanced is larger than divide, and what it costs beside it."""
    smaller, below, dear, shares, total = [], [], [], [], 0
    for (dataset, kind), methods in by_name(rows).items():
        if not {"divide", "balanced"} <= methods.keys():
            continue
        total += 1
        name = f"{dataset} {kind}"
        divide, balanced = methods["divide"], methods["balanced"]
        if balanced["size"] <= divide["size"]:
            smaller.append(f"{name} ({balanced['size']:.2f} against {divide['size']:.2f})")
        printed = theirs().get((table, dataset, kind, "divide"))
        if printed and balanced["size"] <= printed["size"]:
            below.append(f"{name} ({balanced['size']:.2f} against {printed['size']:.1f})")
        shares.append(balanced["evaluations"] / divide["evaluations"])
        if shares[-1] > 0.25:
            last = balanced["draws"] or 0.0
            dear.append(f"{name} ({shares[-1]:.0%}, {last / divide['evaluations']:.0%} for its certificate)")
    if not total:
        return ""
    return (
        f"Balanced is larger than divide on the same points in {total - len(smaller)} of {total} cells"
        f"{_but(smaller)}, and larger than the mean the paper prints in {total - len(below)}{_but(below)}. "
        f"It takes {min(shares):.0%} to {max(shares):.0%} of divide's evaluations, at most a quarter in "
        f"{total - len(dear)} of {total}{_but(dear)}."
    )


def ordering(table: str, rows: Iterable[Cell]) -> str:
    """A sentence: where radial, greedy and divide come out in the paper's order."""
    total, odd, changed = 0, [], []
    for (dataset, kind), methods in by_name(rows).items():
        if not {"radial", "greedy", "divide"} <= methods.keys():
            continue
        total += 1
        ours = sorted(("radial", "greedy", "divide"), key=lambda m: _size(methods[m]))
        printed = sorted(
            ("radial", "greedy", "divide"), key=lambda m: theirs()[(table, dataset, kind, m)]["size"]
        )
        if ours != printed:
            odd.append(f"{dataset} {kind} (ours {' < '.join(ours)}, theirs {' < '.join(printed)})")
        if ours[-1] != "divide":
            changed.append(f"{dataset} {kind}")
    return (
        f"Radial, greedy and divide come in the paper's order in {total - len(odd)} of {total} cells"
        f"{_but(odd)}; divide is the largest of the three in {total - len(changed)}{_but(changed)}."
    )


def _size(row: Cell) -> float:
    return -np.inf if row["size"] is None else float(row["size"])


def _but(names: Sequence[str]) -> str:
    return f" (not {', '.join(names)})" if names else ""


def draw_cells(table: str, rows: list[Cell], path: Path) -> None:
    """Draw means and standard deviations: filled marks are ours, hollow ones the paper's."""
    pyplot = quiet_pyplot()
    cells = by_name(rows)
    datasets = list(dict.fromkeys(dataset for dataset, _ in cells))
    figure, panels = pyplot.subplots(
        1, len(datasets), figsize=(2.1 * len(datasets) + 0.8, 3.2), layout="constrained", squeeze=False
    )
    for axes, dataset in zip(panels[0], datasets, strict=True):
        for place, kind in enumerate(SURROGATES):
            methods = cells.get((dataset, kind), {})
            for i, (method, row) in enumerate(methods.items()):
                x = place + 0.8 * (i + 0.5) / len(methods) - 0.4
                _mark(axes, x - 0.04, row, COLORS[method], filled=True)
                _mark(
                    axes, x + 0.04, theirs().get((table, dataset, kind, method)), COLORS[method], filled=False
                )
        axes.set_xticks(range(len(SURROGATES)), SURROGATES)
        axes.set_title(dataset, fontsize=10)
        axes.set_ylabel(SHARE if dataset in SYNTHETIC else VOLUME, fontsize=8)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    marks = [pyplot.Line2D([], [], marker="o", ls="", color=COLORS[m], label=m) for m in methods]
    marks.append(pyplot.Line2D([], [], marker="o", ls="", mfc="none", color="k", label="the paper's"))
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), frameon=False, fontsize=9)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


def _mark(axes: Any, x: float, row: Cell | None, color: str, *, filled: bool) -> None:
    if row is None or row["size"] is None:
        return
    face = color if filled else "none"
    axes.errorbar(x, row["size"], row["size_sd"], fmt="o", color=color, mfc=face, ms=4, lw=1)


def quiet_pyplot() -> Any:
    """Pyplot that needs no screen."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
