"""A surrogate with some of its features held at the instance: what it says without their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lime_guarantee.problem.problem import Predictor
from lime_guarantee.support.arrays import AnyArray, FloatArray

Held = Callable[[Sequence[int]], FloatArray]
"""What a surrogate answers to given rows, once the features at these positions are held."""


def used_features(surrogate: Predictor, width: int, row: AnyArray) -> tuple[int, ...]:
    """The features that a surrogate may use: those that add a part, or all of an opaque one.

    Parameters
    ----------
    surrogate : callable
    width : int
        How many features there are.
    row : array of shape (D,)
        Any row, such as the instance.

    Examples
    --------
    >>> used_features(lambda X: X[:, 0], 2, np.zeros(2))
    (0, 1)
    """
    parts = getattr(surrogate, "parts", None)
    return tuple(range(width)) if parts is None else tuple(sorted(parts(row[np.newaxis])))


def holding(surrogate: Predictor, X: AnyArray, instance: AnyArray, answers: FloatArray) -> Held:
    """A function that says what the surrogate would answer to rows with some features held at the instance.

    An additive surrogate (see `Parts`) is not asked again: what the features add is taken out of its answers.
    Any other is asked about rows whose columns are overwritten.

    Parameters
    ----------
    surrogate : callable
    X : array of shape (n, D)
        Rows of raw values.
    instance : array of shape (D,)
    answers : array
        What the surrogate answers to the rows.

    Examples
    --------
    >>> X, instance = np.array([[2.0, 3.0]]), np.array([1.0, 1.0])
    >>> held = holding(lambda X: X[:, 0] * X[:, 1], X, instance, np.array([6.0]))
    >>> held([0]), held([0, 1])
    (array([3.]), array([1.]))
    """
    parts = getattr(surrogate, "parts", None)
    return _opaque(surrogate, X, instance) if parts is None else _additive(parts, X, instance, answers)


def _additive(parts: Any, X: AnyArray, instance: AnyArray, answers: FloatArray) -> Held:
    home = parts(instance[np.newaxis])
    moved = {i: part - home[i] for i, part in parts(X).items()}

    def held(features: Sequence[int]) -> FloatArray:
        return np.asarray(answers - sum(moved[i] for i in features if i in moved))

    return held


def _opaque(surrogate: Predictor, X: AnyArray, instance: AnyArray) -> Held:
    def held(features: Sequence[int]) -> FloatArray:
        rows, columns = X.copy(), list(features)
        rows[:, columns] = instance[columns]
        answer = np.asarray(surrogate(rows), dtype=np.float64)
        return answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer

    return held
