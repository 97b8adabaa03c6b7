"""The paper's table 1: five datasets, two surrogates, several searches, the same points for each.

Run it as ``python -m benchmarks.datasets``; boston needs ``--boston PATH`` to a CSV file whose last column
is the target.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Measurement, measure
from benchmarks.oracle import L1Oracle
from benchmarks.problems import fit, problems
from lime_guarantee.engine.search.catalogue import SEARCHES

DATASETS = ("boston", "iris", "diabetes", "wine", "cancer")
Cell = dict[str, Any]


def run_cell(
    name: str, surrogate: str, search: str, options: argparse.Namespace
) -> tuple[list[Measurement], list[float]]:
    """Measure one search on one dataset and surrogate; also the share of the data every region covers."""
    certifier = options.certifier or ("anytime" if search == "boundary" else "zero-failure")
    rows, coverage = [], []
    X = fit(name, options.model, options.boston).X
    for index, problem in problems(name, options.model, surrogate, options.points, options.boston):
        measurement, region = measure(
            problem.faithful,
            problem.instance,
            problem.domain,
            search=search,
            certifier=certifier,
            random_state=index,
            fresh_draws=options.fresh_draws,
        )
        rows.append(measurement)
        coverage.append(region.coverage(X))
    return rows, coverage


def summary(rows: list[Measurement], coverage: list[float]) -> Cell:
    """The means that a table shows."""
    volumes = np.array([row.log10_volume for row in rows])
    return {
        "log10_volume": float(volumes.mean()),
        "log10_volume_std": float(volumes.std()),
        **{
            key: float(np.mean([getattr(row, key) for row in rows]))
            for key in ("evaluations", "calls", "engine_seconds", "model_seconds", "purity")
        },
        "lowest_purity": min(row.purity for row in rows),
        "coverage": float(np.mean(coverage)),
        "certified": sum(row.certified for row in rows),
        "points": len(rows),
    }


def machine() -> str:
    """What the figures were measured on."""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"


HEADER = (
    "| dataset | surrogate | search | log10 volume | evaluations | calls | engine s | model s "
    "| purity | lowest | coverage | certified |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def line(name: str, surrogate: str, search: str, cell: Cell) -> str:
    """A row of the table."""
    return (
        f"| {name} | {surrogate} | {search} | {cell['log10_volume']:.2f} ± {cell['log10_volume_std']:.2f} "
        f"| {cell['evaluations']:,.0f} | {cell['calls']:,.0f} | {cell['engine_seconds']:.3f} "
        f"| {cell['model_seconds']:.3f} | {cell['purity']:.4f} | {cell['lowest_purity']:.4f} "
        f"| {cell['coverage']:.3f} | {cell['certified']} of {cell['points']} |"
    )


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS[1:]))
    parser.add_argument("--surrogates", nargs="+", choices=("logistic", "tree"), default=["logistic", "tree"])
    parser.add_argument("--searches", nargs="+", choices=list(SEARCHES), default=["divide"])
    parser.add_argument("--model", choices=("forest", "network"), default="forest")
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument(
        "--certifier", choices=("anytime", "zero-failure"), help="by default the search's own"
    )
    parser.add_argument("--fresh-draws", type=int, default=200_000)
    parser.add_argument("--boston", type=Path, help="the CSV file of the boston data")
    parser.add_argument("--json", type=Path, help="also write every measurement here")
    options = parser.parse_args(arguments)
    for search in options.searches:  # compiles
        measure(L1Oracle(4), [0.1] * 4, L1Oracle(4).domain(), search=search, random_state=0, fresh_draws=1)
    print(f"{machine()}; model: {options.model}; {options.points} points\n\n{HEADER}")
    results = []
    for name in options.datasets:
        for surrogate in options.surrogates:
            for search in options.searches:
                rows, coverage = run_cell(name, surrogate, search, options)
                cell = summary(rows, coverage)
                print(line(name, surrogate, search, cell), flush=True)
                results.append(
                    {
                        "dataset": name,
                        "surrogate": surrogate,
                        "search": search,
                        "summary": cell,
                        "regions": [asdict(row) for row in rows],
                    }
                )
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=1))


if __name__ == "__main__":
    main()
