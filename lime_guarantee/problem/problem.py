"""A problem: a model, the surrogate an explanation stands for, and what it means for them to agree."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lime_guarantee.errors import InvalidInputError, ModelError
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

Predictor = Callable[[Any], Any]


class Agreement(Protocol):
    """Decides, row by row, whether a surrogate is faithful to a model."""

    def __call__(self, model: FloatArray, surrogate: FloatArray) -> BoolArray:
        """Compare what the two answered to the same rows."""


@dataclass(frozen=True)
class SameClass:
    """Both choose the same class, or differ by less than the tolerance in the score of the model's class.

    The paper's rule for classifiers. With one column a class the highest score is chosen; with a
    single score a row, the class is chosen from 0.5 on.

    Examples
    --------
    >>> SameClass(0.1)(np.array([[0.6, 0.4], [0.9, 0.1]]), np.array([[0.45, 0.55], [0.2, 0.8]]))
    array([False, False])
    >>> SameClass(0.2)(np.array([0.6, 0.9]), np.array([0.45, 0.2]))
    array([ True, False])
    """

    tolerance: float

    def __post_init__(self) -> None:
        _check_tolerance(self.tolerance)

    def __call__(self, model: FloatArray, surrogate: FloatArray) -> BoolArray:
        if model.ndim == 1:
            same = (model >= 0.5) == (surrogate >= 0.5)
            return np.asarray(same | (np.abs(model - surrogate) < self.tolerance))
        chosen = model.argmax(axis=1)
        rows = np.arange(len(model))
        gap = np.abs(model[rows, chosen] - surrogate[rows, chosen])
        return np.asarray((chosen == surrogate.argmax(axis=1)) | (gap < self.tolerance))


@dataclass(frozen=True)
class SameValue:
    """The two differ by less than the tolerance: the paper's rule for regression.

    Examples
    --------
    >>> SameValue(0.5)(np.array([1.0, 2.0]), np.array([1.2, 2.5]))
    array([ True, False])
    """

    tolerance: float

    def __post_init__(self) -> None:
        _check_tolerance(self.tolerance)

    def __call__(self, model: FloatArray, surrogate: FloatArray) -> BoolArray:
        near = np.abs(model - surrogate) < self.tolerance
        return np.asarray(near.all(axis=1) if near.ndim == 2 else near)


@dataclass(frozen=True)
class SameChange:
    """Both change by the same amount, within the tolerance, from what they say at the instance.

    What a chart of effects shows: the intercept does not matter.

    Examples
    --------
    >>> SameChange(0.5, model_at_instance=1.0, surrogate_at_instance=3.0)(np.array([2.0]), np.array([4.1]))
    array([ True])
    """

    tolerance: float
    model_at_instance: Any
    surrogate_at_instance: Any

    def __post_init__(self) -> None:
        _check_tolerance(self.tolerance)

    def __call__(self, model: FloatArray, surrogate: FloatArray) -> BoolArray:
        return SameValue(self.tolerance)(
            model - self.model_at_instance, surrogate - self.surrogate_at_instance
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything the engine needs to know of an explanation.

    Parameters
    ----------
    model, surrogate : callable
        Map an (n, D) array of raw values to n numbers, or to n rows of scores.
    agreement : Agreement
        Tells where the surrogate is faithful.
    instance : array of shape (D,)
        The instance that was explained, in raw values.
    domain : Domain
        Range, kind and name of every feature.

    Examples
    --------
    >>> problem = Problem(lambda X: X[:, 0] ** 2, lambda X: X[:, 0], SameValue(0.3), np.array([0.5]),
    ...                   Domain.from_bounds([0], [2]))
    >>> problem.faithful(np.array([[0.5], [1.0], [2.0]]))
    array([ True,  True, False])
    """

    model: Predictor
    surrogate: Predictor
    agreement: Agreement
    instance: AnyArray
    domain: Domain

    def faithful(self, X: AnyArray) -> BoolArray:
        """Whether the surrogate is faithful to the model, row by row."""
        return self.agreement(*self.answers(X))

    def answers(self, X: AnyArray) -> tuple[FloatArray, FloatArray]:
        """What the model and the surrogate say, row by row: finite numbers, of one shape."""
        model = _checked("the model", self.model(X), len(X))
        surrogate = _checked("the surrogate", self.surrogate(X), len(X))
        if model.shape != surrogate.shape:
            raise ModelError(
                f"the model answers with shape {model.shape}, the surrogate with {surrogate.shape}; they "
                "must agree. Take the same column, or all the columns, of both."
            )
        return model, surrogate


def _checked(who: str, answer: Any, rows: int) -> FloatArray:
    """An answer as n numbers or n rows of scores, all finite."""
    try:
        array = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{who} must answer with numbers; {error}.") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or len(array) != rows:
        raise ModelError(
            f"{who} must answer {rows} rows with as many numbers or rows of scores; got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        bad = int(np.sum(~np.isfinite(array.reshape(rows, -1)).all(axis=1)))
        raise ModelError(
            f"{who} answered NaN or infinity to {bad} of {rows} rows inside the domain. "
            "Narrow the domain to where it is defined, or mend it there."
        )
    return array


def _check_tolerance(tolerance: object) -> None:
    if not (isinstance(tolerance, numbers.Real) and 0 < float(tolerance) < np.inf):
        raise InvalidInputError(f"tolerance: a positive number is required; got {tolerance!r}.")
