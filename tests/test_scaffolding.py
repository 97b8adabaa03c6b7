"""A model that behaves only where it is not looked at (Slack et al. 2020), against LIME and SHAP."""

import numpy as np
import pytest
import shap
from lime.lime_tabular import LimeTabularExplainer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.paper.forest import CompiledForest
from lime_guarantee import audit

ROWS = 20
SENSITIVE = 0


def synthetic_world(seed=0):
    """Correlated features; the sensitive one is independent of the rest, as is the harmless one."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(900, 1))
    X = 0.9 * common + 0.3 * rng.normal(size=(900, 8))
    X[:, SENSITIVE] = rng.integers(0, 2, 900)
    X[:, 1] = rng.normal(size=900)
    return X


def cancer_world():
    """Breast cancer, with a sensitive column put before it."""
    X = load_breast_cancer().data[:, :9]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    sensitive = np.random.default_rng(1).integers(0, 2, len(X))
    return np.column_stack([sensitive, X[:, ::-1]])


WORLDS = {"synthetic": synthetic_world, "cancer": cancer_world}


class Biased:
    """Decides by the sensitive feature alone."""

    def __call__(self, X):
        yes = np.asarray(X)[:, SENSITIVE] > 0.5
        return np.column_stack([~yes, yes]).astype(float)


class Scaffolded:
    """Decides by the sensitive feature where an input looks like data, and by a harmless one elsewhere."""

    def __init__(self, data, perturbed):
        rows = np.concatenate([data, perturbed])
        real = np.concatenate([np.ones(len(data)), np.zeros(len(perturbed))])
        forest = RandomForestClassifier(100, min_samples_leaf=3, class_weight="balanced", random_state=0)
        self.detector = CompiledForest.of(
            forest.fit(rows, real)
        )  # the same answers, in a fraction of the time

    def __call__(self, X):
        X = np.asarray(X, dtype=np.float64)
        real = self.detector.predict_proba(X)[:, 1] > 0.5
        yes = np.where(real, X[:, SENSITIVE] > 0.5, X[:, 1] > 0)
        return np.column_stack([~yes, yes]).astype(float)


def perturbed(kind, X, rng):
    """What an explainer asks about, as the attacker guesses it."""
    if kind == "lime":
        return perturbed_like_lime(X, rng)
    hybrids = []
    for _ in range(4):  # some features of one row, the others of another
        stays = rng.random(X.shape) < rng.random((len(X), 1))
        hybrids.append(np.where(stays, X, rng.permutation(X)))
    return np.concatenate(hybrids)


def perturbed_like_lime(X, rng):
    noise = rng.normal(size=X.shape) * X.std(axis=0)
    noise[:, SENSITIVE] = 0
    rows = X + noise
    rows[:, SENSITIVE] = rng.integers(0, 2, len(X))
    mixed = np.column_stack([rng.permutation(column) for column in X.T])
    return np.concatenate([rows, mixed])


def explainer_of(kind, X, model):
    if kind == "lime":
        cells = [SENSITIVE] if len(np.unique(X[:, SENSITIVE])) == 2 else []
        return LimeTabularExplainer(X, categorical_features=cells, random_state=0), {"num_samples": 1_000}
    background = shap.maskers.Independent(X, max_samples=60)
    return shap.PermutationExplainer(lambda Z: model(Z)[:, 1], background), {"silent": True}


def run(kind, X, train, model):
    explainer, how = explainer_of(kind, train, model)
    predict = model if kind == "lime" else (lambda Z: model(Z)[:, 1])
    options = {} if kind == "lime" else {"allowance": 3_000}
    return audit(
        explainer=explainer,
        X=X,
        predict_fn=predict,
        training_data=train,
        explain_kwargs=how,
        purity=0.95,
        confidence=0.95,
        effort="low",
        **options,
    )


def names_it_first(record):
    """Whether the explanation was not fooled: its largest weight is on what the model really decides by."""
    return record.reliance is not None and int(np.argmax(record.reliance.claimed)) == 0


@pytest.mark.compiled
@pytest.mark.parametrize("count", [10, pytest.param(ROWS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["lime", "shap"])
@pytest.mark.parametrize("world", WORLDS)
def test_attacked_explanations_are_flagged_and_honest_ones_are_not(world, kind, count):
    X = WORLDS[world]()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    train, rows = X[order[ROWS:]], X[order[:count]]
    attacked = run(kind, rows, train, Scaffolded(train, perturbed(kind, train, rng)))
    honest = run(kind, rows, train, Biased())
    print(f"\n{world} {kind}: attacked {attacked.counts}, honest {honest.counts}")
    assert attacked.counts["trusted"] <= 0.05 * count, attacked.summary()
    unseen = [record for record in attacked.records if record not in attacked.flagged]
    assert sum(not names_it_first(record) for record in unseen) <= 0.05 * count, attacked.summary()
    accused = attacked.counts["dishonest"] + attacked.counts["off-manifold"]
    assert accused >= 0.8 * count, attacked.summary()
    assert len(honest.flagged) <= 0.05 * count, honest.summary()


def scaled(model):
    return make_pipeline(StandardScaler(), model)


REAL_MODELS = {  # features that go closely together, and models that fail here and there
    "six columns of cancer, forest": (
        lambda: keep(load_breast_cancer(), 6),
        lambda: RandomForestClassifier(10, max_depth=4, random_state=0),
    ),
    "cancer, boosting": (
        lambda: keep(load_breast_cancer()),
        lambda: GradientBoostingClassifier(random_state=0),
    ),
    "cancer, network": (
        lambda: keep(load_breast_cancer()),
        lambda: scaled(MLPClassifier((32,), max_iter=500, random_state=0)),
    ),
    "wine, network": (
        lambda: keep(load_wine()),
        lambda: scaled(MLPClassifier((32,), max_iter=500, random_state=0)),
    ),
    "wine, forest": (lambda: keep(load_wine()), lambda: RandomForestClassifier(50, random_state=0)),
}


def keep(loaded, columns=None):
    return loaded.data[:, :columns], loaded.target


def off_manifold(kind, case, count):
    """How many of the first explanations of an honest model are called off-manifold."""
    load, make = REAL_MODELS[case]
    X, y = load()
    order = np.random.default_rng(0).permutation(len(X))
    train, rows = order[count:], X[order[:count]]
    model = make().fit(X[train], y[train]).predict_proba
    report = run(kind, rows, X[train], model)
    print(f"\n{case}, {kind}: {report.counts}")
    assert report.counts["error"] == 0
    return report.counts["off-manifold"]


@pytest.mark.parametrize(
    ("kind", "case", "rows"),
    [("lime", "six columns of cancer, forest", 30), ("shap", "cancer, boosting", 12)],
)
def test_an_honest_model_of_features_that_go_together_is_not_called_off_manifold(kind, case, rows):
    assert off_manifold(kind, case, rows) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lime", "shap"])
def test_honest_models_are_called_off_manifold_no_more_often_than_the_error_says(kind):
    assert sum(off_manifold(kind, case, 30) for case in REAL_MODELS) <= 0.01 * 30 * len(REAL_MODELS)
