"""The problems of the paper's table 1: five datasets, a model on each, surrogates around test points."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from lime_guarantee import Domain
from lime_guarantee.problem.agreement import SameClass
from lime_guarantee.problem.problem import Problem
from lime_guarantee.problem.surrogates import SurrogateKind, fit_surrogate

DatasetName = Literal["boston", "iris", "diabetes", "wine", "cancer"]
ModelName = Literal["forest", "network"]

TOLERANCE = 0.1
TEST_POINTS = 100


@dataclass(frozen=True, eq=False)
class Fitted:
    """A standardised dataset and a model trained on part of it."""

    X: np.ndarray
    test: np.ndarray
    model: Any
    domain: Domain


def load(name: DatasetName, boston_csv: Path | None) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Standardised features, classes, names; a regression target is split at its median."""
    if name == "boston":
        if boston_csv is None:
            raise ValueError("boston needs the path of its CSV file (--boston)")
        with boston_csv.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        table = np.array(rows, dtype=np.float64)
        X, y, names = table[:, :-1], table[:, -1], header[:-1]
    else:
        loaders = {
            "iris": datasets.load_iris,
            "diabetes": datasets.load_diabetes,
            "wine": datasets.load_wine,
            "cancer": datasets.load_breast_cancer,
        }
        data = loaders[name]()
        X, y, names = data.data, data.target, list(data.feature_names)
    if name in ("boston", "diabetes"):
        y = y > np.median(y)
    return (X - X.mean(axis=0)) / X.std(axis=0), y.astype(np.int64), names


@lru_cache
def fit(name: DatasetName, model_name: ModelName, boston_csv: Path | None, split: int = 0) -> Fitted:
    """Train the model of a dataset."""
    X, y, names = load(name, boston_csv)
    return fit_to(X, y, names, model_name, split)


def fit_to(X: np.ndarray, y: np.ndarray, names: list[str], model_name: ModelName, split: int) -> Fitted:
    """Train a model; a hundred points, at most half of the data, are kept for testing."""
    held_out = min(TEST_POINTS, len(X) // 2)
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=held_out, random_state=split)
    model = (
        RandomForestClassifier(n_estimators=100, random_state=split)
        if model_name == "forest"
        else MLPClassifier((100,), max_iter=2_000, random_state=split)
    )
    domain = Domain.from_bounds(X.min(axis=0), X.max(axis=0), names=names)
    return Fitted(X, X_test, model.fit(X_train, y_train), domain)


def problems(
    name: DatasetName,
    model_name: ModelName,
    surrogate_kind: SurrogateKind,
    points: int,
    boston_csv: Path | None = None,
) -> Iterator[tuple[int, Problem]]:
    """The first test points at which the surrogate is faithful, each with its problem."""
    yield from islice(around(fit(name, model_name, boston_csv), surrogate_kind), points)


def around(fitted: Fitted, surrogate_kind: SurrogateKind) -> Iterator[tuple[int, Problem]]:
    """The test points at which the surrogate is faithful, each with its problem."""
    agreement = SameClass(TOLERANCE)
    predict = fitted.model.predict_proba
    for index, instance in enumerate(fitted.test):
        surrogate = fit_surrogate(predict, instance, agreement, kind=surrogate_kind, random_state=index)
        problem = Problem(predict, surrogate, agreement, instance, fitted.domain)
        if problem.faithful(instance[np.newaxis])[0]:
            yield index, problem
