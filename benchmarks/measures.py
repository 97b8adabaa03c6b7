"""What a measure does to regions: how many held-out rows they cover, and how faithful those are.

LIME with its own settings explains rows that were held out; each explanation gets a region under every
measure. Run it as ``python -m benchmarks.measures``. With ``--records FILE`` every region is kept as soon as
it is found: the same command goes on where a run was cut off, and ``--minutes`` cuts it off. So the cells can
be measured in parts, and the last call prints the whole table.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from sklearn import datasets
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import machine
from benchmarks.kept import Job, Key, run_jobs
from lime_guarantee import GuaranteeRegion, wrap
from lime_guarantee.errors import GuaranteeWarning
from lime_guarantee.problem.problem import Problem
from lime_guarantee.space.measure import Marginal, Measure, Uniform

ADULT = Path(__file__).parent / "data" / "adult.csv"
CELLS = {
    "iris": ("forest", "network"),
    "wine": ("forest", "network"),
    "cancer": ("forest", "network"),
    "diabetes": ("boosting",),
    "digits": ("network",),
    "adult": ("boosting",),
}
"""The data sets, and the models on each."""

OPTIONS: dict[str, dict[str, Any]] = {
    "uniform": {"measure": "uniform"},
    "marginal": {"measure": "marginal"},
    "marginal, high": {"measure": "marginal", "effort": "high"},
    "joint": {"measure": "joint"},
}
"""What is asked of a region, by the name that the table shows."""

PURITIES = ("marginal_purity", "resampled_purity", "uniform_purity")
PURITY = 0.99
DRAWS = 2_000
PLACES = 20_000
"""Places on every axis among which draws choose: as fine as 1/20,000 of the axis."""

ENOUGH = 30
"""With fewer rows inside, a region's own fidelity says little."""


@dataclass(frozen=True, eq=False)
class Data:
    """A data set: its rows, what is to be predicted, and what its columns are.

    `categories` has the names of the codes of every categorical column.
    """

    X: np.ndarray
    y: np.ndarray
    names: list[str]
    categories: dict[int, list[str]]
    train_rows: int


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, what it was trained on, and what it was not."""

    data: Data
    train: np.ndarray
    held_out: np.ndarray
    model: Any

    @property
    def regression(self) -> bool:
        """Whether numbers are predicted."""
        return not hasattr(self.model, "predict_proba")


@dataclass(frozen=True)
class Row:
    """The region of one explained row; all counts are of the other held-out rows.

    Purities are shares of draws within the region's bounds: from the marginal measure, from the training
    values themselves, each feature on its own, and from the uniform measure. A region that is not certified
    promises nothing, so it covers nothing, and its purities are None.
    """

    row: int
    status: str
    others: int
    covered: int
    faithful: int
    evaluations: int
    seconds: float
    reach: list[float] = field(default_factory=list)
    marginal_purity: float | None = None
    resampled_purity: float | None = None
    uniform_purity: float | None = None

    @property
    def certified(self) -> bool:
        """Whether there is a region."""
        return self.status == "certified"

    @property
    def coverage(self) -> float:
        """Share of the other held-out rows that lie in the region."""
        return self.covered / self.others


def load(name: str, adult: Path) -> Data:
    """A data set by its name."""
    if name == "adult":
        return load_adult(adult)
    loaders = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "cancer": datasets.load_breast_cancer,
        "diabetes": datasets.load_diabetes,
        "digits": datasets.load_digits,
    }
    found = loaders[name]()
    return Data(found.data, found.target, list(found.feature_names), {}, len(found.data) // 2)


def load_adult(path: Path) -> Data:
    """The Adult data: text becomes codes; of the 5,000 rows, 3,500 are for training."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows)
    X = np.empty((len(table), len(header) - 1))
    categories = {}
    for i in range(X.shape[1]):
        try:
            X[:, i] = table[:, i].astype(np.float64)
        except ValueError:
            known, X[:, i] = np.unique(table[:, i], return_inverse=True)
            categories[i] = known.tolist()
    y = (table[:, -1] == ">50K").astype(np.int64)
    return Data(X, y, header[:-1], categories, 3_500 if len(X) >= 5_000 else len(X) // 2)


def fit(data: Data, model_name: str) -> Fitted:
    """Train a model on a part of the data; the rest is in random order."""
    split = train_test_split(data.X, data.y, train_size=data.train_rows, random_state=0)
    train, held_out, y_train, _ = split
    model: Any
    if model_name == "forest":
        model = RandomForestClassifier(random_state=0)
    elif model_name == "network":
        model = make_pipeline(StandardScaler(), MLPClassifier(max_iter=2_000, random_state=0))
    elif np.unique(data.y).size == 2:
        columns = list(data.categories) or None
        model = HistGradientBoostingClassifier(categorical_features=columns, random_state=0)
    else:
        model = GradientBoostingRegressor(random_state=0)
    return Fitted(data, train, held_out, model.fit(train, y_train))


def explain(fitted: Fitted, row: int) -> Any:
    """LIME's explanation of a held-out row, with LIME's own settings: ten features at most."""
    data = fitted.data
    explainer = LimeTabularExplainer(
        fitted.train,
        mode="regression" if fitted.regression else "classification",
        feature_names=data.names,
        categorical_features=list(data.categories),
        categorical_names=data.categories,
        random_state=row,
    )
    answer = fitted.model.predict if fitted.regression else fitted.model.predict_proba
    wrapped = wrap(explainer, training_data=fitted.train)
    return wrapped.explain_instance(fitted.held_out[row], answer)


def values_of(measure: Measure, region: GuaranteeRegion, problem: Problem) -> np.ndarray:
    """Values of every feature, in a column each, as often as a measure of independent features has them."""
    domain, _ = problem.domain.including(region.instance)
    cube = measure.cube(domain, domain.encode(region.instance[np.newaxis])[0])
    places = (np.arange(PLACES) + 0.5) / PLACES
    return np.asarray(cube.decode(np.repeat(places[:, np.newaxis], len(cube), axis=1)))


def draw(region: GuaranteeRegion, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw rows within a region's bounds: each feature on its own, from those of its values that are inside.

    So it does not matter in which measure's coordinates the region is a box.
    """
    lower, upper = region.search_bounds
    coordinates = region.search_domain.encode(values)
    inside = (coordinates >= lower) & (coordinates <= upper)
    columns = [
        rng.choice(values[held, i] if held.any() else region.instance[[i]], DRAWS)
        for i, held in enumerate(inside.T)
    ]
    return np.column_stack(columns)


def measure_region(region: GuaranteeRegion, fitted: Fitted, row: int, seconds: float) -> Row:
    """What the held-out rows and fresh draws say of a region."""
    problem = region.problem
    assert problem is not None
    others = np.delete(fitted.held_out, row, axis=0)
    found = Row(row, region.status, len(others), 0, 0, region.evaluations, seconds)
    if not region:
        return found
    covered = others[region.contains(others)]
    rng = np.random.default_rng(row)

    def purity(values: np.ndarray) -> float:
        return float(problem.faithful(draw(region, values, rng)).mean())

    return replace(
        found,
        covered=len(covered),
        faithful=int(problem.faithful(covered).sum()) if len(covered) else 0,
        reach=region.reach.tolist(),
        marginal_purity=purity(values_of(Marginal(), region, problem)),
        resampled_purity=purity(fitted.train),
        uniform_purity=purity(values_of(Uniform(), region, problem)),
    )


def jobs(
    cells: Sequence[str], rows: Sequence[int], names: Sequence[str], adult: Path = ADULT
) -> Iterator[Job]:
    """Every region of the table: of some held-out rows, under every measure; rows come before cells."""
    explained = lru_cache(maxsize=1)(lambda cell, row: explain(fitted_cell(cell, adult), row))

    def measure(cell: str, row: int, name: str) -> dict[str, Any]:
        explanation, start = explained(cell, row), time.process_time()
        region = explanation.guarantee_region(purity=PURITY, random_state=row, **OPTIONS[name])
        seconds = time.process_time() - start
        return asdict(measure_region(region, fitted_cell(cell, adult), row, seconds))

    for cell in cells:
        for row in rows:
            for name in names:
                yield (cell, name, row), partial(measure, cell, row, name)


@lru_cache(maxsize=1)
def fitted_cell(cell: str, adult: Path) -> Fitted:
    """The model of a cell, such as "wine, forest"."""
    dataset, model_name = cell.split(", ")
    return fit(load(dataset, adult), model_name)


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """The figures that the table shows; None where there is nothing to tell."""
    certified = [row for row in rows if row.certified]
    fidelities = [row.faithful / row.covered for row in rows if row.covered >= ENOUGH]
    purities = {key: [getattr(row, key) for row in certified] for key in PURITIES}
    covered = sum(row.covered for row in rows)
    return {
        "rows": len(rows),
        "certified": len(certified),
        "unfaithful": sum(row.status == "unfaithful" for row in rows),
        "coverage": _mean([row.coverage for row in rows]),
        "coverage_median": float(np.median([row.coverage for row in rows])),
        "coverage_certified": _mean([row.coverage for row in certified]),
        "covered": covered,
        "faithful": sum(row.faithful for row in rows),
        "fidelity": sum(row.faithful for row in rows) / covered if covered else None,
        "fidelity_lowest": min(fidelities, default=None),
        **{key: _mean(values) for key, values in purities.items()},
        **{f"{key}_lowest": min(values, default=None) for key, values in purities.items()},
        "reach_median": float(np.median([row.reach for row in certified])) if certified else None,
        "evaluations": _mean([row.evaluations for row in rows]),
        "evaluations_certified": _mean([row.evaluations for row in certified]),
        "seconds": _mean([row.seconds for row in rows]),
        "seconds_certified": _mean([row.seconds for row in certified]),
    }


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


HEADER = (
    "| cell | measure | certified | unfaithful | coverage: mean | median | certified only "
    "| fidelity: pooled | lowest | marginal purity: mean | lowest | resampled: mean | lowest "
    "| uniform purity: mean | lowest | median reach | evaluations | certified only | seconds "
    f"| certified only |\n|{'---|' * 20}"
)


def line(cell: str, name: str, figures: dict[str, Any]) -> str:
    """A row of the table."""
    shown = [cell, name, f"{figures['certified']} of {figures['rows']}", str(figures["unfaithful"])]
    formats = {
        **dict.fromkeys(("coverage", "coverage_median", "coverage_certified"), ".3f"),
        **dict.fromkeys(("fidelity", "fidelity_lowest"), ".4f"),
        **{key: ".4f" for purity in PURITIES for key in (purity, f"{purity}_lowest")},
        "reach_median": ".3f",
        **dict.fromkeys(("evaluations", "evaluations_certified"), ",.0f"),
        **dict.fromkeys(("seconds", "seconds_certified"), ".2f"),
    }
    shown += ["-" if figures[key] is None else format(figures[key], how) for key, how in formats.items()]
    return f"| {' | '.join(shown)} |"


def by_cell(found: Mapping[Key, dict[str, Any]]) -> list[dict[str, Any]]:
    """What was measured, cell by cell and measure by measure, with the figures of each."""
    rows: dict[tuple[Any, ...], list[Row]] = {}
    for (cell, name, _), row in found.items():
        rows.setdefault((cell, name), []).append(Row(**row))
    return [{"cell": cell, "measure": name, "summary": summary(of)} for (cell, name), of in rows.items()]


def over_cells(results: Sequence[dict[str, Any]]) -> str:
    """What all cells say together, a line for each measure; ratios are to the uniform one, cell by cell."""
    of: dict[str, dict[str, Any]] = {}
    for result in results:
        of.setdefault(result["measure"], {})[result["cell"]] = result["summary"]
    lines = [
        "| measure | coverage: mean over cells | ratio to uniform: mean | median | fidelity: pooled "
        f"| lowest, {ENOUGH} rows or more inside | evaluations, ratio to uniform: mean |\n|" + "---|" * 7
    ]
    for name, cells in of.items():
        covered = sum(figures["covered"] for figures in cells.values())
        faithful = sum(figures["faithful"] for figures in cells.values())
        lowest = [figures["fidelity_lowest"] for figures in cells.values()]
        coverage = ratios(cells, of.get("uniform", {}), "coverage")
        shown = (
            (_mean([figures["coverage"] for figures in cells.values()]), ".3f"),
            (_mean(coverage), ".2f"),
            (float(np.median(coverage)) if coverage else None, ".2f"),
            (faithful / covered if covered else None, ".4f"),
            (min((fidelity for fidelity in lowest if fidelity is not None), default=None), ".4f"),
            (_mean(ratios(cells, of.get("uniform", {}), "evaluations")), ".2f"),
        )
        texts = ["-" if value is None else format(value, how) for value, how in shown]
        lines.append(f"| {name} | {' | '.join(texts)} |")
    return "\n".join(lines)


def ratios(cells: dict[str, Any], uniform: dict[str, Any], key: str) -> list[float]:
    """A figure's ratio to the uniform measure's, in every cell; those where that is 0 are left out."""
    known = [cell for cell in cells if cell in uniform and uniform[cell][key]]
    return [cells[cell][key] / uniform[cell][key] for cell in known]


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    plain = ["uniform", "marginal", "joint"]
    parser.add_argument("--cells", nargs="+", choices=list(CELLS), default=list(CELLS), metavar="DATA SET")
    parser.add_argument("--measures", nargs="+", choices=plain, default=plain)
    parser.add_argument("--high", action="store_true", help="also the marginal measure with effort='high'")
    parser.add_argument("--rows", type=int, default=20, help="rows that are explained in each cell")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--adult", type=Path, default=ADULT, help="the CSV file of the Adult data")
    parser.add_argument("--records", type=Path, help="keep every region here, and go on from what is kept")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no region after so many")
    options = parser.parse_args(arguments)
    names = options.measures + (["marginal, high"] if options.high else [])
    warnings.simplefilter("ignore", GuaranteeWarning)  # small data, and LIME's own faults
    cells = [f"{dataset}, {model_name}" for dataset in options.cells for model_name in CELLS[dataset]]
    rows = range(options.first, options.first + options.rows)
    found = run_jobs(jobs(cells, rows, names, options.adult), options.records, options.minutes)
    results = by_cell(found)
    print(f"{machine()}; {options.rows} rows a cell, purity {PURITY}\n\n{HEADER}", flush=True)
    print("\n".join(line(one["cell"], one["measure"], one["summary"]) for one in results))
    print(f"\n{over_cells(results)}")


if __name__ == "__main__":
    main()
