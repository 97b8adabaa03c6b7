"""The paper's table 3 (tab:hyper_10): the oracle over N and T, with times, and the balanced search beside it.

Run it as ``python -m benchmarks.paper table_3``. The best possible volumes are exact (Irwin-Hall).
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.oracle import best_log10_volume, cube_purity
from benchmarks.paper.cells import Cell, Experiment, Plan, cell, grouped, markdown, plus_minus, theirs
from benchmarks.paper.grid import quiet_pyplot
from benchmarks.paper.jobs import Job, OracleJob, Result

DIMS = (10, 30)
POSITIVES = (10, 30, 100, 300, 1000, 3000)
NODES = (10, 100, 1000)
PRINTED_OPTIMA = {10: 6.2, 30: 33.6}
"""What the paper prints as the best possible at purity 0.99."""

FEW_POINTS = 2
"""Points of the dear cells, those with many positives and many nodes."""


def jobs(plan: Plan) -> list[Job]:
    """Every N and T, and balanced."""
    found: list[Job] = []
    for dims in DIMS:
        for n in POSITIVES:
            for t in NODES:
                dear = n * t > 1_000_000 or (dims == 30 and (n >= 1000 or n * t > 10_000))
                some = min(plan.points, FEW_POINTS) if dear else plan.points
                found += [OracleJob(dims, f"N={n} T={t}", point) for point in range(some)]
        found += [OracleJob(dims, "balanced", point) for point in range(plan.points)]
    return found


def cells(results: dict[Job, Result]) -> list[Cell]:
    """A row for every D, N and T."""
    groups = grouped(results.items(), lambda item: (item[0].dims, item[0].method))  # type: ignore[union-attr]
    return [
        cell([result for _, result in some], dataset=f"oracle-{dims}", surrogate="", method=method)
        for (dims, method), some in groups.items()
    ]


def table(rows: list[Cell]) -> str:
    """Ours beside theirs, and the best possible."""
    header = (
        "D",
        "search",
        "log10 volume, ours",
        "theirs",
        "evaluations, ours",
        "theirs",
        "seconds, ours",
        "theirs",
        "points",
    )
    lines = []
    for row in rows:
        printed = theirs().get(("table_3", row["dataset"], "", row["method"]))
        line: list[str] = [row["dataset"].partition("-")[2], row["method"]]
        for measure in ("size", "evaluations", "seconds"):
            line += [plus_minus(row, measure), plus_minus(printed, measure)]
        line[2] = line[2] or "timeout"
        line[3] = line[3] or ("timeout" if printed else "")
        lines.append((*line, str(row["points"])))
    return "\n\n".join((markdown(header, lines), *(_optima(dims) for dims in DIMS)))


def _optima(dims: int) -> str:
    printed = PRINTED_OPTIMA[dims]
    return (
        f"D = {dims}: the best possible log10 volume is {best_log10_volume(dims, 1.0):.2f} at purity 1, "
        f"{best_log10_volume(dims, 0.999):.2f} at 0.999 and {best_log10_volume(dims, 0.99):.2f} at 0.99. The "
        f"paper prints {printed} for 0.99, which no box attains: a cube of that volume has purity "
        f"{cube_purity(dims, printed):.2g}."
    )


def draw(rows: list[Cell], path: Path) -> None:
    """Volume against evaluations, one mark for every N and T; balanced is the star."""
    pyplot = quiet_pyplot()
    figure, panels = pyplot.subplots(1, len(DIMS), figsize=(8.4, 3.4), layout="constrained")
    for axes, dims in zip(panels, DIMS, strict=True):
        for i, t in enumerate(NODES):
            ours = [
                row for row in rows if row["dataset"] == f"oracle-{dims}" and row["method"].endswith(f"T={t}")
            ]
            printed = [theirs()[("table_3", f"oracle-{dims}", "", row["method"])] for row in ours]
            for some, face in ((ours, f"C{i}"), (printed, "none")):
                there = [row for row in some if row["size"] is not None]
                label = f"T = {t}" + ("" if face != "none" else ", the paper's")
                x, y = [row["evaluations"] for row in there], [row["size"] for row in there]
                axes.plot(x, y, "o-", color=f"C{i}", mfc=face, ms=4, lw=0.7, label=label)
        for row in rows:
            certified = row["size"] is not None
            if certified and row["dataset"] == f"oracle-{dims}" and row["method"] == "balanced":
                axes.plot(row["evaluations"], row["size"], "*", color="C3", ms=12, label="balanced")
        for purity, style in ((1.0, ":"), (0.99, "--")):
            best = best_log10_volume(dims, purity)
            axes.axhline(best, color="0.5", ls=style, lw=1, label=f"best at {purity:g}")
        axes.set(xscale="log", xlabel="evaluations", title=f"D = {dims}")
    panels[0].set_ylabel("log10 volume")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=7)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)


TABLE_3 = Experiment("table_3", jobs, cells, table, draw)
