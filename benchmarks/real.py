"""Searches on real models: the share of the data that regions of LIME's and shap's explanations hold.

Every search gets the same explanations, measure and seeds. Rows from 30 on were used for tuning; reports use
the first ones. Run it as ``python -m benchmarks.real``.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import machine
from benchmarks.measures import ADULT, Fitted, explain, fit, load
from lime_guarantee import Settings, find_region
from lime_guarantee.api import problem_of
from lime_guarantee.errors import GuaranteeWarning
from lime_guarantee.problem.problem import Problem

CELLS = {
    "lime": [
        ("iris", "forest"),
        ("wine", "forest"),
        ("diabetes", "boosting"),
        ("cancer", "forest"),
        ("cancer", "network"),
        ("adult", "boosting"),
        ("digits", "forest"),
        ("digits", "network"),
    ],
    "shap": [("wine", "forest"), ("diabetes", "boosting"), ("cancer", "forest")],
}
"""Who explains, and what: data sets and models."""

SMALLEST = -100.0
"""What stands for log10 of the share where nothing is certified."""


@dataclass(frozen=True)
class Row:
    """What one search made of one explanation."""

    row: int
    status: str
    log10_share: float
    evaluations: int
    calls: int
    seconds: float


def problem(fitted: Fitted, row: int, by: str) -> Problem:
    """What the explanation of a held-out row poses; if it misses the model itself, its changes are asked."""
    seeded = Settings(random_state=row)
    if by == "lime":
        explanation, given = explain(fitted, row), {"settings": seeded}
    else:
        explanation = _shap(fitted, row)
        given = {"training_data": fitted.train, "settings": seeded}
    found = problem_of(explanation, **given)
    if bool(found.faithful(np.asarray(found.instance)[np.newaxis])[0]):
        return found
    return problem_of(explanation, **given, agreement="change")


def _shap(fitted: Fitted, row: int) -> Any:
    import shap

    from lime_guarantee import wrap

    explainer = wrap(shap.TreeExplainer(fitted.model, fitted.train[:50]), training_data=fitted.train)
    explained = explainer(fitted.held_out[row : row + 1])
    return explained[0] if fitted.regression else explained[0, :, 1]


def measure_search(asked: Problem, row: int, search: str, options: argparse.Namespace) -> Row:
    """One region."""
    start = time.perf_counter()
    extra = {"effort": options.effort} if options.effort else {}
    region = find_region(asked, search=search, measure=options.measure, random_state=row, **extra)
    seconds = time.perf_counter() - start
    share = region.log10_share if region else SMALLEST
    return Row(row, region.status, share, region.evaluations, region.calls, seconds)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", nargs="+", default=["boundary"])
    parser.add_argument("--by", nargs="+", choices=list(CELLS), default=list(CELLS))
    parser.add_argument("--cells", nargs="+", help="data sets; all by default")
    parser.add_argument("--measure", choices=("marginal", "joint", "uniform"), default="marginal")
    parser.add_argument("--effort", choices=("low", "normal", "high"))
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--first-row", type=int, default=0, help="from 30 on: rows for tuning")
    parser.add_argument("--json", type=Path, help="also write every measurement here")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", GuaranteeWarning)
    print(f"{machine()}; {options.rows} rows a cell, from {options.first_row} on, {options.measure}\n")
    print("| by | data, model | search | log10 share: mean | lowest | certified | evaluations | calls | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    results = []
    for by in options.by:
        for dataset, model in CELLS[by]:
            if options.cells and dataset not in options.cells:
                continue
            fitted = fit(load(dataset, ADULT), model)
            rows = range(options.first_row, options.first_row + options.rows)
            problems = {row: problem(fitted, row, by) for row in rows}
            for search in options.searches:
                found = [measure_search(asked, row, search, options) for row, asked in problems.items()]
                print(_line(by, f"{dataset}, {model}", search, found), flush=True)
                results.append(
                    {
                        "by": by,
                        "data": dataset,
                        "model": model,
                        "search": search,
                        "rows": list(map(asdict, found)),
                    }
                )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def _line(by: str, cell: str, search: str, found: list[Row]) -> str:
    shares = np.array([row.log10_share for row in found])
    certified = [row for row in found if row.status == "certified"]
    mean = {
        name: np.mean([getattr(row, name) for row in found]) for name in ("evaluations", "calls", "seconds")
    }
    return (
        f"| {by} | {cell} | {search} | {shares.mean():.2f} | {shares.min():.2f} "
        f"| {len(certified)} of {len(found)} | {mean['evaluations']:,.0f} | {mean['calls']:.0f} "
        f"| {mean['seconds']:.2f} |"
    )


if __name__ == "__main__":
    main()
