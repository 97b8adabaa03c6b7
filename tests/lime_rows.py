"""Real LIME explanations of rows, with what LIME did while it made them. Nothing here is from the package."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from lime.discretize import BaseDiscretizer
from lime.lime_tabular import LimeTabularExplainer, RecurrentTabularExplainer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
    RidgeCV,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVR

NAMES = ["age", "income", "debt", "colour", "size"]
PLAIN_NAMES = ["age", "income", "debt", "height", "weight"]
COLOURS = ["red", "green", "blue", "grey"]
SIZES = ["small", "large"]


def mixed_data(rows=400, seed=0):
    """Three continuous columns and two of categories, and three classes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(40, 12, rows),
            rng.gamma(3.0, 10.0, rows),
            rng.uniform(-1, 1, rows),
            rng.integers(0, 4, rows),
            rng.integers(0, 2, rows),
        ]
    )
    score = (X[:, 0] - 40) / 12 + X[:, 2] * (1 + X[:, 4]) + 0.5 * (X[:, 3] == 2) - (X[:, 1] > 30)
    return X, np.digitize(score, [-0.7, 0.7])


X, Y = mixed_data()
PLAIN = np.column_stack([X[:, :3], np.random.default_rng(3).normal([170, 75], [9, 12], (len(X), 2))])
VALUES = PLAIN[:, 0] / 10 + np.sin(3 * PLAIN[:, 2]) + (PLAIN[:, 3] - 170) / 9
SPARSE = scipy.sparse.random(300, 12, density=0.4, random_state=1, format="csr")
SPARSE_Y = (np.asarray(SPARSE[:, :6].sum(axis=1)).ravel() > 1.2).astype(int)
SEQUENCES = np.random.default_rng(2).normal(size=(300, 4, 3))
SEQUENCES_Y = (SEQUENCES[:, -1, 0] + SEQUENCES[:, :, 1].mean(axis=1) > 0).astype(int)


class Recorded:
    """A model's function that keeps what it was asked."""

    def __init__(self, function):
        self.function = function
        self.asked = []

    def __call__(self, rows):
        self.asked.append(rows.copy())
        return self.function(rows)


def recording(regressor):
    """The same regressor, which keeps what it says about the rows that it was fitted on, fit after fit."""

    class Recording(type(regressor)):
        def fit(self, rows, target, sample_weight=None):
            super().fit(rows, target, sample_weight=sample_weight)
            self.said = [*getattr(self, "said", []), self.predict(rows)]
            return self

    return Recording(**regressor.get_params())


class Thirds(BaseDiscretizer):
    """A discretizer as users write them."""

    def bins(self, data, labels):
        return [np.quantile(data[:, i], [1 / 3, 2 / 3]) for i in self.to_discretize]


class SequenceModel:
    """A model of (n, timesteps, features) arrays."""

    def __init__(self, sequences, classes):
        self.model = LogisticRegression().fit(sequences.reshape(len(sequences), -1), classes)

    def predict_proba(self, sequences):
        return self.model.predict_proba(sequences.reshape(len(sequences), -1))


@dataclass
class Explained:
    """An explanation, and everything that was there when it was made."""

    explanation: Any
    explainer: Any
    predict_fn: Callable
    row: Any
    training_data: Any
    neighbourhood: Any
    said: dict
    options: dict = field(default_factory=dict)

    @property
    def given(self):
        """What `guarantee_region` has to be told."""
        return {"explainer": self.explainer, "predict_fn": self.predict_fn, "instance": self.row}


def explain(explainer, row, predict_fn, training_data, regressor=None, num_samples=400, **options):
    """Explain a row, and keep LIME's neighbourhood and what its regressor says there, label by label."""
    recorded = Recorded(predict_fn)
    regressor = recording(Ridge(alpha=1, fit_intercept=True) if regressor is None else regressor)
    explanation = explainer.explain_instance(
        row, recorded, num_samples=num_samples, model_regressor=regressor, **options
    )
    regression = explainer.mode == "regression"
    labels = [None] if regression else [int(label) for label in explanation.local_exp]
    assert len(recorded.asked) == 1
    return Explained(
        explanation,
        explainer,
        predict_fn,
        row,
        training_data,
        recorded.asked[0],
        dict(zip(labels, regressor.said, strict=True)),
    )


def by_hand(explained, label):
    """LIME's local model of a label, written out feature by feature."""
    explainer, explanation = explained.explainer, explained.explanation
    key = explanation.dummy_label if label is None else label
    discretizer = explainer.discretizer
    if scipy.sparse.issparse(explained.row):
        row = explained.row.toarray()[0]
    else:
        row = np.asarray(explained.row, dtype=float)
        row = row.T.ravel() if row.ndim == 2 else row

    def z(feature, values):
        if scipy.sparse.issparse(explained.row):
            return values * explainer.scaler.scale_[feature]
        if discretizer is not None and feature in discretizer.lambdas:
            bins = discretizer.lambdas[feature]
            return bins(values) == bins(row[feature])
        if feature in explainer.categorical_features:
            return values == row[feature]
        return (values - explainer.scaler.mean_[feature]) / explainer.scaler.scale_[feature]

    def surrogate(rows):
        intercept = float(np.ravel(explanation.intercept[key])[0])
        return intercept + sum(float(w) * z(i, rows[:, i]) for i, w in explanation.local_exp[key])

    return surrogate


def tabular(predict_fn=None, data=PLAIN, row=None, explain_options=None, **options):
    """Explain a row of numbers, by default of the data without categories."""
    if predict_fn is None:
        predict_fn = BOOSTED.predict_proba
    options = {
        "feature_names": PLAIN_NAMES,
        "class_names": ["low", "middle", "high"],
        "random_state": 0,
        **options,
    }
    explainer = LimeTabularExplainer(data, **options)
    row = data[7] if row is None else row
    return explain(explainer, row, predict_fn, data, **(explain_options or {}))


def categorical(predict_fn=None, **options):
    """Explain a row of the mixed data, of which LIME knows what is categorical and how it is called."""
    options = {
        "data": X,
        "feature_names": NAMES,
        "categorical_features": [3, 4],
        "categorical_names": {3: COLOURS, 4: SIZES},
        **options,
    }
    return tabular(MIXED.predict_proba if predict_fn is None else predict_fn, **options)


def regression(**options):
    return tabular(MLP.predict, mode="regression", class_names=None, **options)


def sparse(kind="csr", explain_options=None, **options):
    explainer = LimeTabularExplainer(SPARSE, random_state=0, **options)
    row = SPARSE[4].asformat(kind)
    return explain(explainer, row, SPARSE_MODEL.predict_proba, SPARSE, **(explain_options or {}))


def recurrent(**options):
    explainer = RecurrentTabularExplainer(
        SEQUENCES, feature_names=["a", "b", "c"], class_names=["no", "yes"], random_state=0, **options
    )
    return explain(explainer, SEQUENCES[5], SEQUENCE_MODEL.predict_proba, SEQUENCES)


def statistics(with_bins=True):
    """Training data's statistics, as LIME takes them instead of the data."""
    explainer = LimeTabularExplainer(X, categorical_features=[3, 4], random_state=0)
    discretizer = explainer.discretizer
    stats = {
        "means": discretizer.means,
        "stds": discretizer.stds,
        "mins": discretizer.mins,
        "maxs": discretizer.maxs,
        "feature_values": explainer.feature_values,
        "feature_frequencies": {i: f.tolist() for i, f in explainer.feature_frequencies.items()},
    }
    if with_bins:
        stats["bins"] = {i: f.__defaults__[0] for i, f in discretizer.lambdas.items()}
    return stats


BOOSTED = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(PLAIN, Y)
MIXED = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X, Y)
MIXED_LOGISTIC = LogisticRegression(max_iter=5_000).fit(X, Y)
FOREST = RandomForestClassifier(n_estimators=8, max_depth=4, random_state=0).fit(PLAIN, Y)
LOGISTIC = LogisticRegression(max_iter=5_000).fit(PLAIN, Y)
MLP = make_pipeline(
    StandardScaler(), MLPRegressor(hidden_layer_sizes=(5,), solver="lbfgs", tol=1e-2, random_state=0)
).fit(PLAIN, VALUES)
SINGLE_FEATURE = LogisticRegression().fit(PLAIN[:, :1], Y)
SPARSE_MODEL = LogisticRegression(C=10).fit(SPARSE, SPARSE_Y)
SEQUENCE_MODEL = SequenceModel(SEQUENCES, SEQUENCES_Y)
SINGLE = PLAIN.astype(np.float32)

LINEAR_REGRESSORS = {
    "LinearRegression": LinearRegression(),
    "Lasso": Lasso(alpha=0.005),
    "Ridge without intercept": Ridge(fit_intercept=False),
    "RidgeCV": RidgeCV(),
    "HuberRegressor": HuberRegressor(max_iter=1_000),
    "BayesianRidge": BayesianRidge(),
    "ElasticNet": ElasticNet(alpha=0.005),
    "SGDRegressor": SGDRegressor(random_state=0),
    "LinearSVR": LinearSVR(random_state=0, max_iter=100_000),
    "QuantileRegressor": QuantileRegressor(alpha=0.001),
    "TweedieRegressor": TweedieRegressor(power=0, alpha=0.01),
}

VARIANTS = {
    "quartile": tabular,
    "decile": lambda: tabular(discretizer="decile"),
    "entropy": lambda: tabular(discretizer="entropy", training_labels=Y),
    "custom discretizer": lambda: tabular(discretizer=Thirds(PLAIN, [], PLAIN_NAMES, random_state=0)),
    "custom discretizer, categories": lambda: categorical(
        discretizer=Thirds(X, [3, 4], NAMES, random_state=0)
    ),
    "not discretised": lambda: tabular(LOGISTIC.predict_proba, discretize_continuous=False),
    "around the instance": lambda: tabular(
        LOGISTIC.predict_proba, discretize_continuous=False, sample_around_instance=True
    ),
    "around the instance, discretised": lambda: tabular(sample_around_instance=True),
    "categories, discretised": categorical,
    "categories, not discretised": lambda: categorical(
        predict_fn=MIXED_LOGISTIC.predict_proba, discretize_continuous=False
    ),
    "categories, not discretised, around the instance": lambda: categorical(
        predict_fn=MIXED_LOGISTIC.predict_proba, discretize_continuous=False, sample_around_instance=True
    ),
    "categories without names": lambda: categorical(categorical_names=None),
    "sparse csr": sparse,
    "sparse coo": lambda: sparse("coo"),
    "sparse, more features asked for than there are": lambda: sparse(explain_options={"num_features": 20}),
    "statistics": lambda: categorical(training_data_stats=statistics()),
    "recurrent": recurrent,
    "recurrent, not discretised": lambda: recurrent(discretize_continuous=False),
    "regression": regression,
    "regression, not discretised": lambda: regression(discretize_continuous=False),
    "label 0 of three": lambda: tabular(explain_options={"labels": (0,)}),
    "label 2 of three": lambda: tabular(explain_options={"labels": (2,)}),
    "two labels of three": lambda: tabular(explain_options={"labels": (2, 0)}),
    "all labels": lambda: tabular(FOREST.predict_proba, explain_options={"labels": (0, 1, 2)}),
    "top labels": lambda: tabular(explain_options={"top_labels": 2}),
    "all top labels": lambda: tabular(explain_options={"top_labels": 3}),
    "few features": lambda: tabular(explain_options={"num_features": 2}),
    "few features, not discretised": lambda: tabular(
        LOGISTIC.predict_proba, discretize_continuous=False, explain_options={"num_features": 2}
    ),
    "few features, sparse": lambda: sparse(explain_options={"num_features": 2}),
    "float32 training data": lambda: tabular(data=SINGLE),
    "float32 training data, not discretised": lambda: tabular(
        LOGISTIC.predict_proba, data=SINGLE, discretize_continuous=False
    ),
    "whole numbers": lambda: tabular(
        lambda rows: FOREST.predict_proba(rows / 10.0), data=np.round(10 * PLAIN).astype(int)
    ),
    "one feature": lambda: tabular(SINGLE_FEATURE.predict_proba, data=PLAIN[:, :1], feature_names=["age"]),
    **{
        f"selection: {kind}": lambda kind=kind: tabular(
            feature_selection=kind, explain_options={"num_features": 3}
        )
        for kind in ("forward_selection", "highest_weights", "lasso_path", "none", "auto")
    },
    **{
        f"regressor: {name}": lambda regressor=regressor: tabular(
            FOREST.predict_proba, explain_options={"regressor": regressor}
        )
        for name, regressor in LINEAR_REGRESSORS.items()
    },
}
