"""README.md of this folder: its tables are written from the CSV files, between two marks each."""

from __future__ import annotations

import re
from collections.abc import Iterable

from benchmarks.paper.cells import HERE, Experiment, read

README = HERE / "README.md"
TABLES = HERE / "tables"


def rendered(text: str, experiments: Iterable[Experiment]) -> str:
    """The page with the table of every experiment put in its place."""
    for experiment in experiments:
        start, end = f"<!-- {experiment.name} -->", f"<!-- end of {experiment.name} -->"
        pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"the page has no place for {experiment.name}: add {start} and {end}")
        table = experiment.table(read(TABLES / f"{experiment.name}.csv"))
        text = pattern.sub(lambda _, s=start, t=table, e=end: f"{s}\n{t}\n{e}", text)
    return text


def update(experiments: Iterable[Experiment]) -> None:
    """Write the page anew."""
    README.write_text(rendered(README.read_text(encoding="utf-8"), experiments), encoding="utf-8")
