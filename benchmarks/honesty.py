"""The paper's section 4.1: regions that tell honest explanations from dishonest ones.

For every dataset, feature k is the one with the largest weight in a logistic regression. The surrogate g
never looks at k: it is asked with k put back to the instance's value. The dishonest model is the forest
itself; the honest one does not look at k either. The region's reach along k should be long for the honest
model and short for the dishonest one, and the audit should find the explanation incomplete about k, the
dishonest one alone.

Run it as ``python -m benchmarks.honesty``; boston needs ``--boston PATH``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.datasets import DATASETS, machine
from benchmarks.problems import TOLERANCE, fit, load
from lime_guarantee import audit
from lime_guarantee.problem.agreement import SameClass
from lime_guarantee.problem.problem import Problem
from lime_guarantee.problem.surrogates import fit_surrogate

MOST_CONFIDENT = 0.8
LEAST_UNFAITHFUL = 0.3
"""The surrogate must miss the dishonest model on more of the way along k than that."""
STEPS = 200


@dataclass(frozen=True, eq=False)
class Masked:
    """A function that never sees one feature: it is asked with that feature at a fixed value."""

    function: Any
    feature: int
    value: float

    def __call__(self, X: np.ndarray) -> Any:
        seen = X.copy()
        seen[:, self.feature] = self.value
        return self.function(seen)


def target_feature(X: np.ndarray, y: np.ndarray) -> int:
    """The feature with the largest weight in a logistic regression on all the data."""
    weights = LogisticRegression(max_iter=5_000).fit(X, y).coef_
    return int(np.argmax(np.abs(weights).max(axis=0)))


def pairs(name: str, points: int, boston: Path | None) -> Iterator[tuple[int, Problem, Problem]]:
    """Feature k, the honest and the dishonest problem, for test points that pass the paper's filter."""
    X, y, _ = load(name, boston)  # type: ignore[arg-type]
    fitted = fit(name, "forest", boston)  # type: ignore[arg-type]
    k = target_feature(X, y)
    agreement = SameClass(TOLERANCE)
    predict = fitted.model.predict_proba
    found = 0
    for index, instance in enumerate(fitted.test):
        if found == points:
            return
        if predict(instance[np.newaxis]).max() > MOST_CONFIDENT:
            continue
        honest = Masked(predict, k, instance[k])
        surrogate = Masked(fit_surrogate(honest, instance, agreement, random_state=index), k, instance[k])
        dishonest = Problem(predict, surrogate, agreement, instance, fitted.domain)
        along = np.tile(instance, (STEPS, 1))
        along[:, k] = np.linspace(fitted.domain.lower[k], fitted.domain.upper[k], STEPS)
        faithful_here = dishonest.faithful(instance[np.newaxis])[0]
        if not faithful_here or (~dishonest.faithful(along)).mean() <= LEAST_UNFAITHFUL:
            continue
        found += 1
        yield k, Problem(honest, surrogate, agreement, instance, fitted.domain), dishonest


def run(name: str, options: argparse.Namespace) -> dict[str, Any] | None:
    """Audit the pairs of one dataset."""
    found = list(pairs(name, options.points, options.boston))
    if not found:
        return None
    k = found[0][0]
    name_of_k = found[0][1].domain.names[k]
    settings = {"random_state": 0, "n_jobs": options.jobs, "search": options.search, "measure": "uniform"}
    honest = audit([pair[1] for pair in found], **settings)
    dishonest = audit([pair[2] for pair in found], **settings)
    reach = {
        side: [0.0 if r.region is None or not r.region else float(r.region.reach[k]) for r in report]
        for side, report in (("honest", honest), ("dishonest", dishonest))
    }
    flagged = {
        side: sum(f.incomplete and f.feature == name_of_k for r in report for f in r.findings)
        for side, report in (("honest", honest), ("dishonest", dishonest))
    }
    labels = [1] * len(found) + [0] * len(found)
    return {
        "dataset": name,
        "feature": k,
        "points": len(found),
        "auc": float(roc_auc_score(labels, reach["honest"] + reach["dishonest"])),
        "reach": reach,
        "false_positive_rate": flagged["honest"] / len(found),
        "true_positive_rate": flagged["dishonest"] / len(found),
    }


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", nargs="+", choices=DATASETS, default=list(DATASETS[1:]))
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--search", default="boundary")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--boston", type=Path, help="the CSV file of the boston data")
    parser.add_argument("--json", type=Path, help="also write every reach here")
    options = parser.parse_args(arguments)
    print(f"{machine()}; search: {options.search}\n")
    print(
        "| dataset | points | reach, honest | reach, dishonest | AUC "
        "| called dishonest about k: honest | dishonest |"
    )
    print("|---|---|---|---|---|---|---|")
    results = []
    for name in options.datasets:
        cell = run(name, options)
        if cell is None:
            print(f"| {name} | 0 | | | | | |", flush=True)
            continue
        results.append(cell)
        reach = {side: np.array(values) for side, values in cell["reach"].items()}
        print(
            f"| {name} | {cell['points']} "
            f"| {reach['honest'].mean():.3f} (lowest {reach['honest'].min():.3f}) "
            f"| {reach['dishonest'].mean():.3f} (highest {reach['dishonest'].max():.3f}) "
            f"| {cell['auc']:.3f} | {cell['false_positive_rate']:.0%} | {cell['true_positive_rate']:.0%} |",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "results": results}, indent=1))


if __name__ == "__main__":
    main()
