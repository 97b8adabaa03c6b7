"""When a surrogate agrees with a model: the rules that decide, row by row."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import BoolArray, FloatArray

AgreementName = Literal["class", "value", "change"]

ROUNDING = 1e-9
"""Answers that miss the tolerance by no more than this share of it count as at it, so as not near: a sum is
rounded otherwise in another batch, and a forest's answers often lie right there."""


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
        check_tolerance(self.tolerance)

    def __call__(self, model: FloatArray, surrogate: FloatArray) -> BoolArray:
        if model.ndim == 1:
            same = (model >= 0.5) == (surrogate >= 0.5)
            return np.asarray(same | _near(model - surrogate, self.tolerance))
        chosen = model.argmax(axis=1)
        rows = np.arange(len(model))
        gap = np.abs(model[rows, chosen] - surrogate[rows, chosen])
        return np.asarray((chosen == surrogate.argmax(axis=1)) | _near(gap, self.tolerance))


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
        check_tolerance(self.tolerance)

    def __call__(self, model: FloatArray, surrogate: FloatArray) -> BoolArray:
        near = _near(model - surrogate, self.tolerance)
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
        check_tolerance(self.tolerance)

    def __call__(self, model: FloatArray, surrogate: FloatArray) -> BoolArray:
        return SameValue(self.tolerance)(
            model - self.model_at_instance, surrogate - self.surrogate_at_instance
        )


def _near(difference: FloatArray, tolerance: float) -> BoolArray:
    """Which differences are less than the tolerance, by more than rounding."""
    return np.asarray(np.abs(difference) < (1.0 - ROUNDING) * tolerance)


def check_tolerance(tolerance: object) -> None:
    """Raise unless it is a positive number."""
    if not (isinstance(tolerance, numbers.Real) and 0 < float(tolerance) < np.inf):
        raise InvalidInputError(f"tolerance: a positive number is required; got {tolerance!r}.")
