"""Cells: the regions of one row of a table, summed up, and the paper's numbers for it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.paper.jobs import Job, Result

HERE = Path(__file__).parent
MEASURES = ("size", "evaluations", "seconds")
TEXT = ("table", "dataset", "surrogate", "method", "reading", "feature")
COUNTS = ("points", "certified", "unsure")
Cell = dict[str, Any]
Item = TypeVar("Item")
Key = TypeVar("Key")


@dataclass(frozen=True)
class Plan:
    """How much is to be done."""

    datasets: tuple[str, ...]
    points: int
    greedy_points: int
    """Greedy is dear: it may stop after fewer points."""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: what has to be done for it, and what is made of that.

    Parameters
    ----------
    name : str
    jobs : callable
        The jobs of a plan.
    cells : callable
        The rows of the CSV file, from the results of the jobs.
    table : callable
        The rows as Markdown, beside the paper's numbers.
    draw : callable
        The rows as a picture, in a PNG file.
    pictures : dict of callables
        Pictures that need the results themselves, by the name of their file.
    """

    name: str
    jobs: Callable[[Plan], list[Job]]
    cells: Callable[[dict[Job, Result]], list[Cell]]
    table: Callable[[list[Cell]], str]
    draw: Callable[[list[Cell], Path], None]
    pictures: dict[str, Callable[[dict[Job, Result], Path], None]] = field(default_factory=dict)


def cell(results: Sequence[Result], **names: str) -> Cell:
    """Means and standard deviations over the points that there were.

    ``draws`` is what the certificate that was accepted took of the evaluations.
    """
    there = [result for result in results if "missing" not in result]
    finished = [result for result in there if "timeout" not in result]
    row: Cell = {**names, "points": len(there), "certified": sum(r["certified"] for r in finished)}
    for measure in MEASURES:
        values = [result[measure] for result in finished if result[measure] is not None]
        row[measure] = float(np.mean(values)) if values else None
        row[f"{measure}_sd"] = float(np.std(values)) if values else None
    draws = [result["draws"] for result in finished if result.get("draws")]
    row["draws"] = float(np.mean(draws)) if draws else None
    row["lowest_purity"] = min((r["purity"] for r in finished if r["purity"] is not None), default=None)
    return row


def regions(results: dict[Job, Result]) -> list[Cell]:
    """A row for every single region, lists left out."""
    rows = []
    for job, result in results.items():
        names = asdict(job)
        row = {**names.pop("subject", {}), **names, **result}
        rows.append({name: value for name, value in row.items() if not isinstance(value, list)})
    return rows


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items with the same key together, in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


@cache
def theirs() -> dict[tuple[str, str, str, str], Cell]:
    """The paper's numbers, by table, dataset, surrogate and method; nothing in them is a timeout."""
    rows = read(HERE / "theirs.csv")
    return {tuple(row.pop(k) for k in ("table", "dataset", "surrogate", "method")): row for row in rows}  # type: ignore[misc]


def write(path: Path, rows: Iterable[Cell]) -> None:
    """Write rows as CSV, floats with six digits."""
    rows = list(rows)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def read(path: Path) -> list[Cell]:
    """Read rows back; empty numbers are None."""
    with path.open(newline="", encoding="utf-8") as file:
        return [{k: _value(k, v) for k, v in row.items()} for row in csv.DictReader(file)]


def _value(column: str, text: str) -> Any:
    if column in TEXT:
        return text
    if not text:
        return None
    return int(text) if column in COUNTS else float(text)


def plus_minus(row: Cell | None, measure: str) -> str:
    """Mean and standard deviation, as a table shows them; empty where nothing is known."""
    if row is None or row[measure] is None:
        return ""
    mean, deviation = row[measure], row[f"{measure}_sd"]
    if measure == "evaluations":
        return f"{_thousands(mean)} ± {_thousands(deviation)}"
    digits = 2 if measure == "seconds" and mean < 10 else 1
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def _thousands(number: float) -> str:
    return f"{number / 1000:.1f}k" if 0 < number < 9_950 else f"{number / 1000:.0f}k"


def markdown(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(value) for value in line) + " |" for line in lines)
