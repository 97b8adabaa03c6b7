"""A problem: the one carrier from an explanation to the engine and on to its region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.errors import ModelError
from lime_guarantee.problem.agreement import Agreement
from lime_guarantee.problem.fingerprint import Origin
from lime_guarantee.problem.info import ExplanationInfo
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

Predictor = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that the engine needs to know of an explanation, and what is known about it so far.

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
    explained : ExplanationInfo, optional
        What was explained, where the problem was made from an explanation.
    evaluations, calls : int
        What the problem has cost so far: rows asked of the model, and in how many calls.
    batch_rows : int, optional
        The most rows that the model takes at once; None leaves that to the settings.
    rows_each : int
        Rows that the model itself is asked for every row of the problem.
    origin : Origin, optional
        Which model and which data, where that is known.

    Examples
    --------
    >>> from lime_guarantee import SameValue
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
    explained: ExplanationInfo | None = None
    evaluations: int = 0
    calls: int = 0
    batch_rows: int | None = None
    rows_each: int = 1
    origin: Origin | None = None

    def faithful(self, X: AnyArray) -> BoolArray:
        """Whether the surrogate is faithful to the model, row by row."""
        return self.agreement(*self.answers(X))

    def answers(self, X: AnyArray) -> tuple[FloatArray, FloatArray]:
        """What the model and the surrogate say, row by row: finite numbers, of one shape."""
        model = self.model_answers(X)
        surrogate = self.surrogate_answers(X)
        if model.shape != surrogate.shape:
            raise ModelError(
                f"the model answers with shape {model.shape}, the surrogate with {surrogate.shape}; they "
                "must agree. Take the same column, or all the columns, of both."
            )
        return model, surrogate

    def model_answers(self, X: AnyArray) -> FloatArray:
        """What the model says, row by row: finite numbers, one or a score for every class."""
        return _checked("the model", self.model(X), len(X))

    def surrogate_answers(self, X: AnyArray) -> FloatArray:
        """What the surrogate says, row by row."""
        return _checked("the surrogate", self.surrogate(X), len(X))

    def rows_within(self, max_evaluations: int | None) -> int | None:
        """How many rows of the problem a limit on the model's rows still allows; None without a limit."""
        if max_evaluations is None:
            return None
        return max(0, max_evaluations - self.evaluations) // self.rows_each


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
