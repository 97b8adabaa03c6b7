"""What explanations are worth: regions, gain over the best constant, needed weights, and what a refit adds.

LIME (with bins, and without), SHAP values read as profiles, the model's own answer as a constant, the best
admissible constant, and a line refitted from LIME's without bins explain the same held-out rows. All of them
get their regions by the same search, in the same domain, by the same rule: the value, within the tolerance.
LIME is moved to the model's answer at the instance (agreement "change"), because otherwise it misses many
rows there.

Run it as ``python -m benchmarks.worth --records FILE``. Every region is kept in the file as soon as it is
found: the same command goes on where a run was cut off, ``--minutes`` cuts it off, ``--cells`` does a part,
and the last call prints all that is asked for. Models are small, and digits are averaged to 4 x 4 pixels, so
that 20 rows of all 24 cells take less than an hour of one core.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import shap
from lime.lime_tabular import LimeTabularExplainer
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
from benchmarks.kept import Job, run_jobs
from benchmarks.measure import Timed
from benchmarks.measures import ADULT, Data, load
from lime_guarantee import Domain, GuaranteeRegion, Problem, SameValue, Settings, find_region, wrap
from lime_guarantee.api import problem_of
from lime_guarantee.choosing.refit import best_constant, refit_problem
from lime_guarantee.region import build

DATA = ("iris", "wine", "cancer", "diabetes", "digits", "adult")
MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "forest": (
        lambda: RandomForestClassifier(25, random_state=0),
        lambda: RandomForestRegressor(25, random_state=0),
    ),
    "boosting": (
        lambda: HistGradientBoostingClassifier(max_iter=30, learning_rate=0.2, random_state=0),
        lambda: HistGradientBoostingRegressor(max_iter=30, learning_rate=0.2, random_state=0),
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
    ask: Timed
    tolerance: float

    @property
    def regression(self) -> bool:
        """Whether numbers are predicted."""
        return self.data.y.dtype.kind == "f"

    @cached_property
    def domain(self) -> Domain:
        """That of all methods: LIME's, which knows of categories."""
        return lime_problem(self, 0, "change", bins=True).domain

    def answer(self, row: int) -> tuple[Callable[[Any], np.ndarray], int | None]:
        """The model as one number a row, and the class whose score it is: the likeliest one at a row."""
        if self.regression:
            return self.ask, None
        label = int(self.ask(self.held_out[[row]])[0].argmax())
        return lambda X: self.ask(X)[:, label], label


@dataclass(frozen=True)
class Row:
    """The region of one explanation; coverage and fidelity are of the other held-out rows.

    Seconds are the processor's, of explaining and finding the region. Those of the engine are without the
    model's, and those of worth are the part of them that gain and needed weights take.
    """

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
    seconds: float = 0.0
    engine_seconds: float = 0.0
    worth_seconds: float = 0.0
    pays: bool | None = None


@lru_cache(maxsize=1)
def case_of(cell: str, adult: Path) -> Case:
    """Train a model on a part of a data set."""
    name, model = cell.split("/")
    data = load(name, adult)
    if name == "digits":
        blocks = data.X.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(len(data.X), 16)
        data = replace(data, X=blocks, names=[f"block {i // 4} {i % 4}" for i in range(16)])
    train, held_out, y, _ = train_test_split(data.X, data.y, train_size=data.train_rows, random_state=0)
    regression = data.y.dtype.kind == "f"
    fitted = MODELS[model][regression]().fit(train, y)
    tolerance = 0.1 * float(np.ptp(fitted.predict(train))) if regression else 0.1
    ask = Timed(fitted.predict if regression else fitted.predict_proba, time.process_time)
    return Case(data, train, held_out, ask, tolerance)


def lime_problem(case: Case, row: int, agreement: str, bins: bool) -> Problem:
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
    _, label = case.answer(row)
    call = {} if label is None else {"labels": (label,)}
    explanation = wrap(explainer, training_data=case.train).explain_instance(
        case.held_out[row], case.ask, num_features=FEATURES, **call
    )
    return problem_of(explanation, agreement=agreement, tolerance=case.tolerance)


def shap_problem(case: Case, row: int, agreement: str) -> Problem:
    """SHAP values of the same number, read as profiles."""
    answer, _ = case.answer(row)
    explainer = shap.PermutationExplainer(answer, case.train[:BACKGROUND], seed=row)
    explained = wrap(explainer, training_data=case.train)(case.held_out[[row]], silent=True)[0]
    return problem_of(explained, agreement=agreement, tolerance=case.tolerance)


def constant_problem(case: Case, row: int) -> Problem:
    """The problem of a constant: the model's own answer."""
    answer, _ = case.answer(row)
    home = float(answer(case.held_out[[row]])[0])
    return Problem(
        answer,
        lambda X: np.full(len(X), home),
        SameValue(case.tolerance),
        case.held_out[row],
        case.domain,
    )


Finder = Callable[[Settings], tuple[GuaranteeRegion, bool | None]]
"""Finds the region of one explanation; of a refit it also tells whether it pays."""


def finder(case: Case, row: int, method: str, agreement: str) -> Finder:
    """Explain a row by a method; what comes back finds the region."""
    if method == "refit":
        start = replace(lime_problem(case, row, "value", bins=False), domain=case.domain)

        def refitted(settings: Settings) -> tuple[GuaranteeRegion, bool]:
            found = refit_problem(start, settings=settings, num_features=FEATURES)
            return found.region, found.pays

        return refitted
    if method in ("f(x*)", "best constant"):
        problem = constant_problem(case, row)
    elif method == "shap":
        problem = shap_problem(case, row, agreement)
    else:
        problem = lime_problem(case, row, agreement, bins=method == "lime")
    find = best_constant if method == "best constant" else find_region
    same = replace(problem, domain=case.domain)
    return lambda settings: (find(same, settings=settings), None)


def measured(case: Case, row: int, method: str, agreement: str) -> Row:
    """Find one region and measure it."""
    before = time.process_time()
    find, worth = finder(case, row, method, agreement), Timed(build.worth_of, time.process_time)
    start, asked = time.process_time(), case.ask.seconds
    with mock.patch.object(build, "worth_of", worth):
        region, pays = find(Settings(random_state=row))
    end = time.process_time()
    return replace(
        figures(region, case, row),
        seconds=end - before,
        engine_seconds=end - start - (case.ask.seconds - asked),
        worth_seconds=worth.seconds,
        pays=pays,
    )


def figures(region: GuaranteeRegion, case: Case, row: int) -> Row:
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
        "worth": sum(row.worth_seconds for row in rows) / sum(row.engine_seconds for row in rows),
        "pays": sum(bool(row.pays) for row in rows) if rows[0].pays is not None else None,
    }


FORMATS = {
    "log10_share": ".2f",
    "coverage": ".3f",
    "fidelity": ".3f",
    "gain": ".3f",
    "needed": ".3f",
    "evaluations": ",.0f",
    "seconds": ".2f",
    "worth": ".3f",
    "pays": "d",
}
HEADER = (
    "| cell | method | certified | log10 mass | coverage | fidelity | gain | needed weights | evaluations "
    f"| seconds | worth's share | pays |\n|{'---|' * 12}"
)


def line(cell: str, method: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    shown = [cell, method, f"{found['certified']} of {found['rows']}"]
    shown += ["-" if found[key] is None else format(found[key], how) for key, how in FORMATS.items()]
    return f"| {' | '.join(shown)} |"


def against(found: Mapping[str, Sequence[Row]], other: str) -> tuple[float, float] | None:
    """By how many decades a refit is larger than another explanation of the same row: median and lowest."""
    pairs = [
        mine.log10_share - theirs.log10_share
        for mine, theirs in zip(found.get("refit", ()), found.get(other, ()), strict=False)
        if mine.log10_share is not None and theirs.log10_share is not None
    ]
    return (float(np.median(pairs)), min(pairs)) if pairs else None


def refit_line(cell: str, found: Mapping[str, Sequence[Row]]) -> str:
    """How a refit does in a cell, beside the constant and beside the explanation that it started from."""
    pairs = [against(found, other) for other in ("best constant", "lime without bins")]
    shown = [text for pair in pairs for text in (["-"] * 2 if pair is None else [f"{d:+.2f}" for d in pair])]
    both = zip(found.get("refit", ()), found.get("best constant", ()), strict=False)
    times = [mine.evaluations / constant.evaluations for mine, constant in both]
    shown += [f"{np.mean(times):.2f}", f"{max(times):.2f}"] if times else ["-"] * 2
    return f"| {cell} | {' | '.join(shown)} |"


REFIT_HEADER = (
    "| cell | refit less best constant, decades: median | lowest | less LIME without bins: median | lowest "
    f"| evaluations, times the constant's: mean | most |\n|{'---|' * 7}"
)


def jobs(options: argparse.Namespace) -> Iterator[Job]:
    """Every region of the table."""

    def measure(cell: str, row: int, method: str) -> dict[str, Any]:
        return asdict(measured(case_of(cell, options.adult), row, method, options.agreement))

    for cell in options.cells:
        for row in range(options.first, options.first + options.rows):
            for method in options.methods:
                yield (cell, method, row, options.agreement), partial(measure, cell, row, method)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", nargs="+", default=CELLS, choices=CELLS, metavar="DATA/MODEL")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--rows", type=int, default=20, help="rows that are explained in each cell")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--agreement", choices=("value", "change"), default="change", help="of LIME and SHAP")
    parser.add_argument("--adult", type=Path, default=ADULT)
    parser.add_argument("--records", type=Path, help="keep every region here, and go on from what is kept")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no region after so many")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, list[Row]]] = {}
    for (cell, method, *_), row in run_jobs(jobs(options), options.records, options.minutes).items():
        found.setdefault(str(cell), {}).setdefault(str(method), []).append(Row(**row))
    print(f"{machine()}; {options.rows} rows a cell; agreement {options.agreement}\n\n{HEADER}")
    for cell, methods in found.items():
        for method, rows in methods.items():
            print(line(cell, method, summary(rows)))
    print(f"\n{REFIT_HEADER}")
    for cell, methods in found.items():
        print(refit_line(cell, methods))


if __name__ == "__main__":
    main()
