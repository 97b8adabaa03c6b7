"""What is explained in the paper's tables 1 and 2: five datasets, and five Gaussian clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.paper.forest import CompiledForest
from benchmarks.problems import Fitted, around, fit, fit_to
from lime_guarantee.problem import surrogates
from lime_guarantee.problem.problem import Problem

Item = TypeVar("Item")

CLUSTERS = 5
CLUSTER_SIZE = 100

READINGS = ("ours", "split 1", "split 2", "split 3", "200 samples", "unscaled logistic")
"""What the paper leaves open, and other answers: the split, the surrogate's samples and its scaling."""

CLUSTER_READINGS = ("ours", "draw 1", "draw 2", "draw 55", "means times 3")
"""Other draws of the clusters, and clusters that lie further apart. Of the first sixty draws, a forest tells
the clusters of number 55 apart best."""


@dataclass(frozen=True)
class Subject:
    """A model on a dataset, and the kind of surrogate that explains it."""

    dataset: str
    surrogate: str
    model: str = "forest"
    reading: str = "ours"

    @property
    def dims(self) -> int | None:
        """The number of features of the clusters; None where it is no synthetic dataset."""
        name, _, dims = self.dataset.partition("-")
        return int(dims) if name == "synthetic" else None


def clusters(subject: Subject) -> tuple[np.ndarray, np.ndarray]:
    """Points of five Gaussian clusters, standardised, and the cluster of each: the paper's section 4.3."""
    assert subject.dims
    rng = np.random.default_rng(_number(subject.reading, "draw"))
    spread = 3.0 if subject.reading == "means times 3" else 1.0
    means = spread * rng.standard_normal((CLUSTERS, subject.dims))
    deviations = rng.uniform(0.3, 1.0, (CLUSTERS, subject.dims))
    label = np.repeat(np.arange(CLUSTERS), CLUSTER_SIZE)
    X = means[label] + deviations[label] * rng.standard_normal((len(label), subject.dims))
    return (X - X.mean(axis=0)) / X.std(axis=0), label


def _number(reading: str, kind: str) -> int:
    """The number behind a kind of reading, such as ``split 2``; 0 for every other kind."""
    first, _, number = reading.partition(" ")
    return int(number) if first == kind else 0


@lru_cache(maxsize=16)
def fitted(subject: Subject, boston: Path | None) -> Fitted:
    """The data and the trained model; a forest is compiled."""
    split = _number(subject.reading, "split")
    if subject.dims:
        X, label = clusters(subject)
        names = [f"x{i}" for i in range(subject.dims)]
        found = fit_to(X, label, names, subject.model, split)  # type: ignore[arg-type]
    else:
        found = fit(subject.dataset, subject.model, boston, split)  # type: ignore[arg-type]
    if subject.model == "forest":
        found = replace(found, model=CompiledForest.of(found.model))
    return found


class Numbered(Generic[Item]):
    """Things that are made only when their number is asked for, and then kept."""

    def __init__(self, coming: Iterator[Item]) -> None:
        self.coming = coming
        self.known: list[Item] = []

    def nth(self, number: int) -> Item | None:
        """The n-th of them, from 0; None if there are not so many."""
        self.known += islice(self.coming, max(0, number + 1 - len(self.known)))
        return self.known[number] if number < len(self.known) else None


def problem(subject: Subject, point: int, boston: Path | None) -> tuple[int, Problem] | None:
    """The n-th test point at which the surrogate is faithful; None if there are not so many."""
    with read_as(subject.reading):
        return _points(subject, boston).nth(point)


@lru_cache(maxsize=16)
def _points(subject: Subject, boston: Path | None) -> Numbered[tuple[int, Problem]]:
    return Numbered(around(fitted(subject, boston), subject.surrogate))  # type: ignore[arg-type]


def read_as(reading: str) -> Any:
    """A context in which surrogates are trained according to another reading of the paper."""
    value, _, what = reading.partition(" ")
    if what == "samples":
        return patch.object(surrogates, "SAMPLES", int(value))
    if reading == "unscaled logistic":
        return patch.object(surrogates, "_logistic", lambda: LogisticRegression(max_iter=1_000))
    return nullcontext()


def local_cluster(subject: Subject, instance: np.ndarray) -> np.ndarray:
    """All points of the cluster that an instance was drawn from."""
    X, label = clusters(subject)
    own = label[(instance == X).all(axis=1)][0]
    return X[label == own]
