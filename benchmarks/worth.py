"""What explanations are worth: regions, gain over the best constant, needed weights, and what a refit adds.

LIME (with bins, and without), SHAP values read as profiles, the model's own answer as a constant, the best
admissible constant, and a refitted line explain the same held-out rows. All of them get their regions by the
same search, with the same tolerance, so that no method has a better one. Run it as
``python -m benchmarks.worth``; the full run takes hours, ``--rows`` and ``--cells`` make it shorter.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import shap
from lime.lime_tabular import LimeTabularExplainer
from lime_guarantee.adapters.ranges import TrainingData
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmarks.datasets import machine
from benchmarks.measures import ADULT, Data, load
from lime_guarantee import GuaranteeRegion, Problem, SameChange, SameValue, Settings, find_region, wrap
from lime_guarantee.choosing.refit import best_constant, refit_problem

DATA = ("iris", "wine", "cancer", "diabetes", "digits", "adult")
MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "forest": (
        lambda: RandomForestClassifier(random_state=0),
        lambda: RandomForestRegressor(random_state=0),
    ),
    "boosting": (
        lambda: HistGradientBoostingClassifier(random_state=0),
        lambda: HistGradientBoostingRegressor(random_state=0),
    ),
    "network": (
        lambda: make_pipeline(StandardScaler(), MLPClassifier(max_iter=2_000, random_state=0)),
        lambda: make_pipeline(StandardScaler(), MLPRegressor(max_iter=2_000, random_state=0)),
    ),
    "svc": (
        lambda: make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)),
        lambda: make_pipeline(StandardScaler(), SVR(C=100.0)),
    ),
}
"""A classifier and a regression of every name."""

METHODS = ("lime", "lime without bins", "shap", "f(x*)", "best constant", "refit")
CELLS = tuple(f"{data}/{model}" for data in DATA for model in MODELS)
FEATURES = 10
BACKGROUND = 50


@dataclass(frozen=True, eq=False)
class Case:
    """A model on a data set: what it was trained on, what it was not, and how near is near."""

    data: Data
    train: np.ndarray
    held_out: np.ndarray
    model: Any
    tolerance: float

    @property
    def regression(self) -> bool:
        """Whether numbers are predicted."""
        return self.data.y.dtype.kind == "f"

    def answer(self, row: np.ndarray) -> tuple[Callable[[Any], np.ndarray], int | None]:
        """The model as one number a row, and the class whose score it is: the likeliest one at a row."""
        if self.regression:
            return self.model.predict, None
        label = int(self.model.predict_proba(row[np.newaxis])[0].argmax())
        return lambda X: self.model.predict_proba(X)[:, label], label


@dataclass(frozen=True)
class Row:
    """The region of one explanation; coverage and fidelity are of the other held-out rows."""

    row: int
    status: str
    log10_share: float | None
    coverage: float
    fidelity: float | None
    gain: float | None
    gain_lower: float | None
    needed: int | None
    weights: int | None
    evaluations: int
    seconds: float
    pays: bool | None = None


def case_of(name: str, model: str, adult: Path) -> Case:
    """Train a model on a part of a data set."""
    data = load(name, adult)
    train, held_out, y, _ = train_test_split(data.X, data.y, train_size=data.train_rows, random_state=0)
    fitted = MODELS[model][data.y.dtype.kind == "f"]().fit(train, y)
    tolerance = 0.1 * float(np.ptp(fitted.predict(train))) if data.y.dtype.kind == "f" else 0.1
    return Case(data, train, held_out, fitted, tolerance)


def lime_region(case: Case, row: int, settings: Settings, agreement: str, bins: bool) -> GuaranteeRegion:
    """LIME's own settings, with ten features at most."""
    explainer = LimeTabularExplainer(
        case.train,
        mode="regression" if case.regression else "classification",
        feature_names=case.data.names,
        categorical_features=list(case.data.categories),
        categorical_names=case.data.categories,
        discretize_continuous=bins,
        random_state=row,
    )
    instance = case.held_out[row]
    _, label = case.answer(instance)
    answer = case.model.predict if case.regression else case.model.predict_proba
    call = {} if label is None else {"labels": (label,)}
    explanation = wrap(explainer, training_data=case.train).explain_instance(
        instance, answer, num_features=FEATURES, **call
    )
    return explanation.guarantee_region(settings=settings, agreement=agreement, tolerance=case.tolerance)


def shap_region(case: Case, row: int, settings: Settings, agreement: str) -> GuaranteeRegion:
    """SHAP values of the same number, read as profiles."""
    instance = case.held_out[row]
    answer, _ = case.answer(instance)
    explainer = shap.PermutationExplainer(answer, case.train[:BACKGROUND], seed=row)
    explained = wrap(explainer, training_data=case.train)(instance[np.newaxis])[0]
    return explained.guarantee_region(settings=settings, agreement=agreement, tolerance=case.tolerance)


def problem_at(case: Case, row: int, agreement: str) -> Problem:
    """The problem of a constant: the model's own answer."""
    instance = case.held_out[row]
    answer, _ = case.answer(instance)
    home = float(answer(instance[np.newaxis])[0])
    change = SameChange(case.tolerance, home, home)
    rule = change if agreement == "change" else SameValue(case.tolerance)
    domain = TrainingData.of(case.train).domain
    return Problem(answer, lambda X: np.full(len(X), home), rule, instance, domain)


def measured(case: Case, row: int, method: str, settings: Settings, agreement: str) -> Row:
    """Find one region and measure it."""
    start, pays = time.perf_counter(), None
    if method in ("lime", "lime without bins"):
        region = lime_region(case, row, settings, agreement, bins=method == "lime")
    elif method == "shap":
        region = shap_region(case, row, settings, agreement)
    else:
        problem = problem_at(case, row, agreement)
        if method == "refit":
            found = refit_problem(problem, settings=settings, num_features=FEATURES)
            region, pays = found.region, found.pays
        elif method == "best constant":
            region = best_constant(problem, settings=settings)
        else:
            region = find_region(problem, settings=settings)
    return replace(figures(region, case, row, time.perf_counter() - start), pays=pays)


def figures(region: GuaranteeRegion, case: Case, row: int, seconds: float) -> Row:
    """What a region is worth, on its draws and on the other held-out rows."""
    others, worth = np.delete(case.held_out, row, axis=0), region.worth
    inside = others[region.contains(others)] if region else others[:0]
    assert region.problem is not None
    faithful = region.problem.faithful(inside).mean() if len(inside) else None
    return Row(
        row,
        region.status,
        region.log10_share if region else None,
        len(inside) / len(others),
        None if faithful is None else float(faithful),
        region.gain,
        None if region.gain_interval is None else region.gain_interval[0],
        None if worth is None else len(worth.needed_weights),
        None if worth is None else len(worth.weights),
        region.evaluations,
        seconds,
    )


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures of a line of the table; an uncertified region covers nothing and counts as none."""
    certified = [row for row in rows if row.log10_share is not None]

    def middle(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return float(np.median(known)) if known else None

    weights = sum(row.weights or 0 for row in certified)
    return {
        "rows": len(rows),
        "certified": len(certified),
        "log10_share": middle([row.log10_share for row in certified]),
        "coverage": float(np.mean([row.coverage for row in rows])),
        "fidelity": middle([row.fidelity for row in rows]),
        "gain": middle([row.gain for row in certified]),
        "needed": sum(row.needed or 0 for row in certified) / weights if weights else None,
        "evaluations": float(np.mean([row.evaluations for row in rows])),
        "seconds": float(np.mean([row.seconds for row in rows])),
        "pays": sum(bool(row.pays) for row in rows) if rows[0].pays is not None else None,
    }


FORMATS = {
    "log10_share": ".2f",
    "coverage": ".3f",
    "fidelity": ".3f",
    "gain": ".3f",
    "needed": ".3f",
    "evaluations": ",.0f",
    "seconds": ".1f",
    "pays": "d",
}
HEADER = (
    "| cell | method | certified | log10 mass | coverage | fidelity | gain | needed weights | evaluations "
    f"| seconds | pays |\n|{'---|' * 11}"
)


def line(cell: str, method: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    shown = [cell, method, f"{found['certified']} of {found['rows']}"]
    shown += ["-" if found[key] is None else format(found[key], how) for key, how in FORMATS.items()]
    return f"| {' | '.join(shown)} |"


def run(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure every cell with every method; prints a line for each."""
    for cell in options.cells:
        case = case_of(*cell.split("/"), options.adult)
        for method in options.methods:
            rows = [
                measured(case, row, method, Settings(random_state=row), options.agreement)
                for row in range(options.rows)
            ]
            found = summary(rows)
            print(line(cell, method, found), flush=True)
            yield {"cell": cell, "method": method, "summary": found, "rows": [asdict(row) for row in rows]}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", nargs="+", default=CELLS, choices=CELLS, metavar="DATA/MODEL")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--agreement", choices=("value", "change"), default="change")
    parser.add_argument("--adult", type=Path, default=ADULT)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(f"{machine()}; {options.rows} rows a cell; agreement {options.agreement}\n\n{HEADER}")
    results = list(run(options))
    if options.json is not None:
        options.json.write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
