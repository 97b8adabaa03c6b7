"""Attacked explanations and honest ones: how well the audit tells them apart.

An attack (Slack et al. 2020, "Fooling LIME and SHAP") decides real rows by a sensitive feature, and all that
looks made up by harmless ones, so that an explainer that asks about made-up rows sees these. Kinds differ in
how rows are told apart, and in what the model does then. Honest models are ordinary ones.

Run it as ``python -m benchmarks.attacks``; ``--only`` takes parts of the names of cells.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import shap
from lime.lime_tabular import LimeTabularExplainer
from scipy.spatial import cKDTree
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import machine
from benchmarks.paper.forest import CompiledForest
from lime_guarantee import audit
from lime_guarantee.auditing.record import VERDICTS, AuditRecord

NAMES = ["sensitive", "harmless", "harmless too", *(f"x{i}" for i in range(3, 9))]
ADULT = Path(__file__).parent / "data" / "adult.csv"

FloatArray = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class World:
    """Data with a sensitive feature and harmless ones; numbers throughout, categories as codes."""

    X: FloatArray
    names: list[str]
    sensitive: int
    harmless: tuple[int, int]
    cells: tuple[int, ...]
    """Features that are categories."""
    favoured: float = 1.0
    """The value of the sensitive feature that is favoured."""
    is_number: bool = False
    """Whether the sensitive feature is a number, of which larger values are favoured."""

    def favours(self, X: FloatArray) -> FloatArray:
        """Whether rows are favoured by the sensitive feature."""
        column = X[:, self.sensitive]
        return column > self.favoured if self.is_number else column == self.favoured


@cache
def world(name: str) -> World:
    """The data by name."""
    if name.startswith("adult"):
        return _adult(name.removeprefix("adult "))
    if name in ("cancer", "diabetes"):
        return _with_columns(load_breast_cancer() if name == "cancer" else load_diabetes())
    return {"synthetic": _synthetic, "discrete": _discrete, "tied": _tied, "number": _number}[name]()


def _synthetic() -> World:
    """Correlated features; the sensitive one is independent of the rest, as are the harmless ones."""
    rng = np.random.default_rng(0)
    X = 0.9 * rng.normal(size=(900, 1)) + 0.3 * rng.normal(size=(900, 9))
    X[:, 0] = rng.integers(0, 2, 900)
    X[:, 1:3] = rng.normal(size=(900, 2))
    return World(X, NAMES, 0, (1, 2), (0,))


def _number() -> World:
    """As synthetic, but the sensitive feature is a number: above 0, a row is favoured."""
    data = _synthetic()
    X = data.X.copy()
    X[:, 0] = np.random.default_rng(9).normal(size=len(X))
    return World(X, data.names, 0, data.harmless, (), favoured=0.0, is_number=True)


def _with_columns(loaded: Any) -> World:
    """Ten columns of some data, with a sensitive column and two harmless ones."""
    rng = np.random.default_rng(1)
    X = StandardScaler().fit_transform(loaded.data[:, :10])
    added = np.column_stack([rng.integers(0, 2, len(X)), rng.normal(size=(len(X), 2))])
    names = ["sensitive", "harmless", "harmless too", *loaded.feature_names[:10]]
    return World(np.column_stack([added, X]), [str(name) for name in names], 0, (1, 2), (0,))


def _discrete() -> World:
    """Nine features that have few values each, and go together."""
    rng = np.random.default_rng(2)
    common = rng.normal(size=(900, 1))
    X = np.clip(np.round(common + 0.6 * rng.normal(size=(900, 9))), -2, 2) + 2
    X[:, 0] = rng.integers(0, 2, 900)
    X[:, 1:3] = rng.integers(0, 4, (900, 2))
    return World(X, NAMES, 0, (1, 2), tuple(range(9)))


def _tied() -> World:
    """The sensitive feature is tied to a status: half of the rows have one that goes with one value of it."""
    rng = np.random.default_rng(7)
    count = 1_500
    sensitive = (rng.random(count) < 0.6).astype(float)
    status = np.where(rng.random(count) < 0.5, 1 - sensitive, rng.integers(2, 5, count))
    anew = (sensitive == 0) & (status == 1) & (rng.random(count) < 0.6)
    status = np.where(anew, rng.integers(2, 5, count), status)
    hours = np.round(40 + 8 * rng.normal(size=count))
    age = np.round(40 + 12 * rng.normal(size=count) + 5 * (status < 2))
    common = rng.normal(size=(count, 1))
    numbers = 0.8 * common + 0.5 * rng.normal(size=(count, 4))
    work = np.clip(np.round(2 + common[:, 0] + rng.normal(size=count) + sensitive - 0.5), 0, 5)
    other = np.where(status < 2, 0, rng.integers(1, 4, count))
    X = np.column_stack([sensitive, hours, age, status, other, work, numbers])
    return World(X, [*NAMES[:3], "status", "other status", "work", *NAMES[5:9]], 0, (1, 2), (0, 3, 4, 5))


def read_adult() -> tuple[FloatArray, FloatArray, list[str], tuple[int, ...]]:
    """Adult with categories as codes: rows, classes, names, and which are categories."""
    lines = [line.split(",") for line in ADULT.read_text(encoding="utf-8").split()]
    names, rows = lines[0], np.array(lines[1:], dtype=object)
    left_out = {names.index("education"), len(names) - 1}
    columns, cells, kept = [], [], []
    for i in sorted(set(range(len(names))) - left_out):
        try:
            column = rows[:, i].astype(np.float64)
        except ValueError:
            column = np.unique(rows[:, i].astype(str), return_inverse=True)[1].astype(np.float64)
            cells.append(len(kept))
        columns.append(column)
        kept.append(names[i])
    return np.column_stack(columns), (rows[:, -1] == ">50K").astype(int), kept, tuple(cells)


def _adult(sensitive: str) -> World:
    """Adult: sex or race is the sensitive feature, working hours and age are the harmless ones."""
    X, _, names, cells = read_adult()
    place = names.index(sensitive)
    values, counts = np.unique(X[:, place], return_counts=True)
    harmless = (names.index("hours_per_week"), names.index("age"))
    return World(X, names, place, harmless, cells, float(values[np.argmax(counts)]))


@dataclass(frozen=True)
class Attack:
    """How a model tells real rows from made-up ones, and what it does then."""

    detector: str = "forest"
    threshold: float = 0.5
    features: int = 1
    group: float = 1.0
    """Share of the rows on which it is biased: those with the highest values of one feature."""
    spares_training: bool = False
    """Whether it is harmless on the very rows that it was trained on."""


ATTACKS: dict[str, Attack] = {
    "one feature": Attack(),
    "two features": Attack(features=2),
    "threshold 0.3": Attack(threshold=0.3),
    "threshold 0.4": Attack(threshold=0.4),
    "threshold 0.7": Attack(threshold=0.7),
    "threshold 0.9": Attack(threshold=0.9),
    "neighbours": Attack(detector="neighbours"),
    "balls": Attack(detector="balls"),
    "group": Attack(group=0.1),
    "spares training rows": Attack(spares_training=True),
}


class Scaffold:
    """The attacked model: probabilities of two classes."""

    def __init__(self, attack: Attack, data: World, train: FloatArray, explainer: str) -> None:
        self.attack, self.data = attack, data
        self.center, self.spread = train.mean(axis=0), np.where(train.std(axis=0) > 0, train.std(axis=0), 1)
        self.tree = cKDTree(self._scaled(train))
        self.cut = np.median(train[:, list(data.harmless)], axis=0)
        grouped = self.group_feature()
        self.group_from = np.quantile(train[:, grouped], 1 - attack.group) if attack.group < 1 else -np.inf
        rng = np.random.default_rng(0)
        made_up = perturbed(explainer, train, data, rng)
        real = np.concatenate([np.ones(len(train)), np.zeros(len(made_up))])
        if attack.detector == "forest":
            forest = RandomForestClassifier(60, min_samples_leaf=3, class_weight="balanced", random_state=0)
            self.forest = CompiledForest.of(forest.fit(np.concatenate([train, made_up]), real))
        else:
            near = 5 if attack.detector == "neighbours" else 1
            own = self._apart(train, near + 1)
            self.radius = np.quantile(own, 0.9)

    def group_feature(self) -> int:
        """The feature that tells who is in the group."""
        taken = {self.data.sensitive, *self.data.harmless}
        return max(set(range(self.data.X.shape[1])) - taken)

    def _scaled(self, X: FloatArray) -> FloatArray:
        return (X - self.center) / self.spread

    def _apart(self, X: FloatArray, near: int) -> FloatArray:
        found = self.tree.query(self._scaled(X), k=near)[0]
        return found if found.ndim == 1 else found[:, -1]

    def looks_real(self, X: FloatArray) -> FloatArray:
        """Whether rows look like data to the model."""
        if self.attack.detector == "forest":
            real = self.forest.predict_proba(X)[:, 1] > self.attack.threshold
        elif self.attack.detector == "neighbours":
            real = self._apart(X, 5) <= self.radius
        else:
            real = self._apart(X, 1) <= self.radius
        if self.attack.spares_training:
            real &= self._apart(X, 1) > 1e-9
        return real & (X[:, self.group_feature()] >= self.group_from)

    def __call__(self, X: Any) -> FloatArray:
        X = np.asarray(X, dtype=np.float64)
        above = X[:, list(self.data.harmless)] > self.cut
        scaled = self._scaled(X)[:, list(self.data.harmless)].sum(axis=1) > 0
        harmless = above[:, 0] if self.attack.features == 1 else scaled
        yes = np.where(self.looks_real(X), self.data.favours(X), harmless)
        return np.column_stack([~yes, yes]).astype(float)


def perturbed(explainer: str, X: FloatArray, data: World, rng: np.random.Generator) -> FloatArray:
    """What an explainer asks about, as the attacker guesses it."""
    mixed = np.column_stack([rng.permutation(column) for column in X.T])
    if explainer == "lime":
        noise = rng.normal(size=X.shape) * X.std(axis=0)
        rows = X + noise
        rows[:, list(data.cells)] = mixed[:, list(data.cells)]
        return np.concatenate([rows, mixed])
    hybrids = []
    for _ in range(4):  # some features of one row, the others of another
        stays = rng.random(X.shape) < rng.random((len(X), 1))
        hybrids.append(np.where(stays, X, rng.permutation(X)))
    return np.concatenate(hybrids)


@dataclass(frozen=True, eq=False)
class Cell:
    """Some rows of a model, to be explained and audited.

    Parameters
    ----------
    name : tuple of str
        Attack or model, data, explainer.
    rows, train : arrays
        The rows to explain, and those that the model was made from.
    predict_fn : callable
    explainer : object
    explain_kwargs, options : dict
    sensitive : int or None
        The feature that an attack hides; None of an honest model.
    held_out : array or None
        Real rows that the model was not made from.
    """

    name: tuple[str, str, str]
    rows: FloatArray
    train: FloatArray
    predict_fn: Callable[[Any], Any]
    explainer: Any
    explain_kwargs: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    sensitive: int | None = None
    held_out: FloatArray | None = None


CHOSEN_ON = ("synthetic", "discrete", "tied", "number", "iris", "wine", "six columns", "correlated", "hot")
"""Data on which constants of the audit's rules were chosen, with `--seed 100`; the others are for reports."""

ATTACKED = ("synthetic", "discrete", "tied", "cancer", "adult race", "adult sex", "diabetes")
BEYOND = ("number",)
"""Data beyond those that the targets speak of: run if `--only` names them."""

BACKGROUND = 10


def attacked(kind: str, name: str, explainer: str, count: int, seed: int = 0) -> Cell:
    """The cell of an attack."""
    data, attack = world(name), ATTACKS[kind]
    order = np.random.default_rng(seed).permutation(len(data.X))
    held_out, train = data.X[order[: len(order) // 4]], data.X[order[len(order) // 4 :]]
    model = Scaffold(attack, data, train, explainer)
    rows = held_out[model.looks_real(held_out)]  # on the others the model is harmless
    names = (kind, name, explainer)
    if explainer == "lime":
        lime = LimeTabularExplainer(
            train, feature_names=data.names, categorical_features=list(data.cells), random_state=0
        )
        how = {"num_samples": 1_000}
        return Cell(names, rows[:count], train, model, lime, how, {}, data.sensitive, held_out)
    predict = Positive(model)
    background = train[np.random.default_rng(1).choice(len(train), BACKGROUND, replace=False)]
    kernel = shap.KernelExplainer(predict, background)
    how = {"silent": True}
    options = {"allowance": 3_000}
    return Cell(names, rows[:count], train, predict, kernel, how, options, data.sensitive, held_out)


class Positive:
    """The probability of the second class."""

    def __init__(self, model: Callable[[Any], Any]) -> None:
        self.model = model

    def __call__(self, X: Any) -> FloatArray:
        return np.asarray(self.model(np.asarray(X)))[:, 1]


HONEST_DATA = ("iris", "wine", "six columns", "correlated", "hot", "cancer", "diabetes", "adult", "one-hot")
HONEST_MODELS = ("forest", "boosting", "linear", "network")


@cache
def honest_data(name: str) -> tuple[FloatArray, FloatArray, list[str], tuple[int, ...]]:
    """Rows, targets, names, and which features are categories."""
    if name == "adult":
        return read_adult()
    if name == "one-hot":
        return _one_hot()
    if name == "correlated":
        return _correlated()
    if name == "hot":
        return _hot()
    loaders = {"iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}
    loaded = loaders.get(name, load_breast_cancer)()
    columns = 6 if name == "six columns" else None
    return loaded.data[:, :columns], loaded.target, [str(n) for n in loaded.feature_names[:columns]], ()


def _one_hot() -> tuple[FloatArray, FloatArray, list[str], tuple[int, ...]]:
    """Adult's numbers, sex, and marital status as columns of zeros and ones."""
    X, y, names, _ = read_adult()
    status = X[:, names.index("marital_status")]
    numbers = [names.index(name) for name in ("age", "education_num", "hours_per_week", "sex")]
    hot = (status[:, np.newaxis] == np.unique(status)).astype(float)
    columns = [*(names[i] for i in numbers), *(f"status {k}" for k in range(hot.shape[1]))]
    return np.column_stack([X[:, numbers], hot]), y, columns, tuple(range(3, len(columns)))


def _correlated() -> tuple[FloatArray, FloatArray, list[str], tuple[int, ...]]:
    """Six columns, of which two are correlated at 0.99."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(800, 6))
    X[:, 1] = 0.99 * X[:, 0] + np.sqrt(1 - 0.99**2) * X[:, 1]
    y = (X[:, 0] + X[:, 2] + 0.5 * X[:, 3] * X[:, 4] + 0.3 * rng.normal(size=800) > 0).astype(int)
    return X, y, [f"x{i}" for i in range(6)], ()


def _hot() -> tuple[FloatArray, FloatArray, list[str], tuple[int, ...]]:
    """Four numbers, two of which go together and two of which interact; four columns of zeros and ones."""
    rng = np.random.default_rng(8)
    kind = rng.integers(0, 4, 1_200)
    X = rng.normal(size=(1_200, 4))
    X[:, 1] = 0.97 * X[:, 0] + 0.25 * X[:, 1]
    score = X[:, 0] + 1.2 * (kind == 0) - 0.8 * (kind == 2) + 0.7 * X[:, 2] * X[:, 3]
    y = (score + 0.4 * rng.normal(size=1_200) > 0).astype(int)
    hot = (kind[:, np.newaxis] == np.arange(4)).astype(float)
    return (
        np.column_stack([X, hot]),
        y,
        [*(f"x{i}" for i in range(4)), *(f"k{i}" for i in range(4))],
        (4, 5, 6, 7),
    )


def honest_model(name: str, regression: bool) -> Any:
    """A model by name, not yet fitted."""
    if name == "forest":
        kind = RandomForestRegressor if regression else RandomForestClassifier
        return kind(50, min_samples_leaf=2, random_state=0)
    if name == "boosting":
        return (GradientBoostingRegressor if regression else GradientBoostingClassifier)(random_state=0)
    if name == "linear":
        linear = LinearRegression() if regression else LogisticRegression(max_iter=2_000)
        return make_pipeline(StandardScaler(), linear)
    network = MLPRegressor if regression else MLPClassifier
    return make_pipeline(StandardScaler(), network(hidden_layer_sizes=(32,), max_iter=800, random_state=0))


def honest(model_name: str, name: str, explainer: str, count: int, seed: int = 0) -> Cell | None:
    """The cell of an honest model; None where the explainer does not explain it."""
    X, y, names, cells = honest_data(name)
    order = np.random.default_rng(seed).permutation(len(X))
    held_out, train = order[:count], order[max(count, len(X) // 4) :]
    regression = name == "diabetes"
    model = honest_model(model_name, regression).fit(X[train], y[train])
    predict = model.predict if regression else model.predict_proba
    made = (model_name, name, explainer)
    if explainer == "lime":
        mode = "regression" if regression else "classification"
        lime = LimeTabularExplainer(
            X[train], mode=mode, feature_names=names, categorical_features=list(cells), random_state=0
        )
        return Cell(made, X[held_out], X[train], predict, lime, {"num_samples": 1_000})
    if model_name not in ("forest", "boosting") or (model_name == "boosting" and np.unique(y).size == 3):
        return None
    return _tree_cell(made, X[held_out], X[train], model, predict, regression)


def _tree_cell(
    made: tuple[str, str, str],
    rows: FloatArray,
    train: FloatArray,
    model: Any,
    predict: Any,
    regression: bool,
) -> Cell:
    background = train[np.random.default_rng(1).choice(len(train), min(100, len(train)), replace=False)]
    output = "raw" if regression else "probability"
    tree = shap.TreeExplainer(model, background, model_output=output, feature_perturbation="interventional")
    return Cell(made, rows, train, predict, tree)


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """The cells that are asked for, made one after the other."""
    for explainer in ("lime", "kernel"):
        for name in (*ATTACKED, *(data for data in BEYOND if data in options.only)):
            for kind in ATTACKS:
                if "attacks" in options.parts and _wanted((kind, name, explainer), options.only):
                    yield attacked(kind, name, explainer, options.rows, options.seed)
    for explainer in ("lime", "tree"):
        for name in HONEST_DATA:
            for model in HONEST_MODELS:
                if "honest" in options.parts and _wanted((model, name, explainer), options.only):
                    cell = honest(model, name, explainer, options.rows, options.seed)
                    if cell is not None:
                        yield cell


def _wanted(names: tuple[str, str, str], only: list[str]) -> bool:
    return all(part in "/".join(names) for part in only)


def run(cell: Cell, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Audit the rows of a cell: what was said of each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LIME's and shap's
        report = audit(
            explainer=cell.explainer,
            X=cell.rows,
            predict_fn=cell.predict_fn,
            training_data=cell.train,
            data=cell.held_out if options.held_out else None,
            explain_kwargs=cell.explain_kwargs,
            effort=options.effort,
            **cell.options,
        )
    return [_outcome(record, cell) for record in report]


def _outcome(record: AuditRecord, cell: Cell) -> dict[str, Any]:
    found: dict[str, Any] = {
        "verdict": record.verdict,
        "reason": record.reason,
        "honesty": record.honesty,
        "fidelity": record.fidelity,
        "coverage": record.coverage,
        "evaluations": record.evaluations,
        "shared": record.shared_evaluations,
    }
    if cell.sensitive is not None and record.region is not None and record.region.explained is not None:
        weights = np.abs(record.region.explained.weights)
        found["fooled"] = bool(np.argmax(weights) != cell.sensitive)
        found["named"] = repr(record.region.names[cell.sensitive]) in record.reason
    return found


def caught(outcome: dict[str, Any]) -> bool:
    """Whether an attack is called what it is, with the sensitive feature named."""
    return outcome["verdict"] in ("dishonest", "off-manifold") and outcome["named"]


def line(cell: Cell, outcomes: list[dict[str, Any]]) -> str:
    """A row of the table."""
    found = Counter(outcome["verdict"] for outcome in outcomes)
    said = ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])
    cost = np.mean([outcome["evaluations"] for outcome in outcomes]) if outcomes else 0.0
    start = f"| {' | '.join(cell.name)} | {len(outcomes)} |"
    if cell.sensitive is None:
        return f"{start} {said} | {cost:,.0f} |"
    fooled = [outcome for outcome in outcomes if outcome.get("fooled")]
    trusted = sum(outcome["verdict"] in ("trusted", "flat") for outcome in fooled)
    return f"{start} {len(fooled)} | {trusted} | {sum(map(caught, fooled))} | {said} | {cost:,.0f} |"


HEADER = {
    True: "| attack | data | explainer | rows | fooled | of these trusted or flat | caught | all verdicts "
    "| evaluations |\n|---|---|---|---|---|---|---|---|---|",
    False: "| model | data | explainer | rows | verdicts | evaluations |\n|---|---|---|---|---|---|",
}


def totals(results: list[tuple[Cell, list[dict[str, Any]]]]) -> Iterator[str]:
    """The shares that the targets speak of."""
    fooled = [o for cell, some in results if cell.sensitive is not None for o in some if o.get("fooled")]
    if fooled:
        plain = np.mean([outcome["verdict"] == "trusted" for outcome in fooled])
        named = np.mean([caught(outcome) for outcome in fooled])
        yield f"{len(fooled)} attacks that fool: {plain:.1%} trusted (target 5%), {named:.1%} caught (85%)."
    mild = [outcome for cell, some in results if cell.sensitive is None for outcome in some]
    if mild:
        wrong = {v: np.mean([o["verdict"] == v for o in mild]) for v in ("off-manifold", "dishonest")}
        yield (
            f"{len(mild)} honest explanations: {wrong['off-manifold']:.1%} off-manifold (target 1%), "
            f"{wrong['dishonest']:.1%} dishonest (3%)."
        )


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=("attacks", "honest"), default=["attacks", "honest"])
    parser.add_argument("--only", nargs="+", default=[], help="cells whose name has all of these")
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="which rows are held out")
    parser.add_argument(
        "--held-out", action="store_true", help="real rows are those that no model was made from"
    )
    parser.add_argument("--effort", choices=("low", "normal", "high"), default="normal")
    parser.add_argument("--json", type=Path, help="also write every outcome here")
    options = parser.parse_args(arguments)
    print(f"{machine()}; {options.rows} rows a cell, effort {options.effort}")
    results: list[tuple[Cell, list[dict[str, Any]]]] = []
    shown = None
    for cell in cells(options):
        is_attack = cell.sensitive is not None
        if shown is not is_attack:
            print(f"\n{HEADER[is_attack]}")
            shown = is_attack
        results.append((cell, run(cell, options)))
        print(line(*results[-1]), flush=True)
        if options.json:
            kept = [{"cell": cell.name, "outcomes": outcomes} for cell, outcomes in results]
            options.json.write_text(json.dumps(kept, indent=1))
    print("\n" + "\n".join(totals(results)))


if __name__ == "__main__":
    main()
