"""From a model and a surrogate to a subject: the rule that decides, and whether the two belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.errors import GuaranteeError, InconsistentModelError, InvalidInputError, ModelError
from lime_guarantee.problem.explained import Explained, Space, TestName
from lime_guarantee.problem.problem import Predictor, Problem
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.tables import is_missing, plain
from lime_guarantee.support.arrays import AnyArray, FloatArray

from .request import Request, Subject

TOLERANCE = 0.1
"""The default: of a probability, or of the range that a regression was seen to have."""

SAME_ANSWER = 1e-3
"""How far, relatively, two answers to one question may differ: models that compute in float32, in batches."""


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides of an explanation, and what is known about them.

    Parameters
    ----------
    kind, space, label, label_name, weights
        As in `Explained`.
    model, surrogate : callable
    instance : array of shape (D,)
    domain : Domain
    classifier : bool
    scale : float
        What a tolerance is a tenth of: 1 for probabilities.
    seen : array or None
        What the model said about the instance when it was explained.
    batch_rows : int
        The most rows to ask of the model at once.
    evaluations, calls : int
        What was asked of the model already.
    rows_each : int
        Rows that the model itself is asked for every row of the problem.
    """

    kind: str
    space: Space
    label: int | None
    label_name: str | None
    weights: FloatArray
    model: Predictor
    surrogate: Predictor
    instance: AnyArray
    domain: Domain
    classifier: bool
    scale: float = 1.0
    seen: Any = None
    batch_rows: int = BATCH_ROWS
    evaluations: int = 0
    calls: int = 0
    rows_each: int = 1

    def subject(self, request: Request) -> Subject:
        """Compare both at the instance, choose the rule, and make a subject of them."""
        row = self.instance[np.newaxis]
        model = self._asked()
        surrogate = _numbers(self.surrogate(row))
        if self.seen is not None and not _same(model, _numbers(self.seen)):
            self._refuse(model, _numbers(self.seen), self._asked())
        explained = Explained(
            kind=self.kind,
            space=self.space,
            label=self.label,
            label_name=self.label_name,
            test=_test(request.test, classifier=self.classifier),
            tolerance=_tolerance(request.tolerance, self.scale),
            model_at_instance=model,
            surrogate_at_instance=surrogate,
            weights=tuple(float(weight) for weight in self.weights),
            notes=tuple(request.notes),
        )
        problem = Problem(self.model, self.surrogate, explained.agreement, self.instance, self.domain)
        return Subject(
            problem,
            explained,
            self.evaluations + self.rows_each,
            self.calls + 1,
            self.batch_rows,
            self.rows_each,
        )

    def _asked(self) -> tuple[float, ...]:
        """What the model says about the instance."""
        missing = [name for name, v in zip(self.domain.names, self.instance, strict=True) if is_missing(v)]
        try:
            return _numbers(self.model(self.instance[np.newaxis]))
        except Exception as error:
            if isinstance(error, GuaranteeError) and not missing:
                raise
            raise ModelError(
                f"the model, asked about the instance, raised {type(error).__name__}: {error}"
                + (f" The instance has no value (NaN) for: {', '.join(missing)}." if missing else "")
            ) from error

    def _refuse(self, now: tuple[float, ...], then: tuple[float, ...], again: tuple[float, ...]) -> None:
        if not _same(now, again):
            raise InconsistentModelError(
                f"the model is not a function: asked about the instance twice, it said {_shown(now)} and "
                f"{_shown(again)}. Fix its seed, or switch its randomness off (dropout, sampling)."
            )
        raise InvalidInputError(
            f"the model says {_shown(now)} about the instance, but said {_shown(then)} when it was "
            "explained. Pass the function and the instance that were explained; a model with randomness of "
            "its own needs a fixed seed."
        )


def _numbers(answer: Any) -> tuple[float, ...]:
    numbers = np.asarray(answer, dtype=np.float64).ravel()
    if not np.isfinite(numbers).all():
        raise ModelError(f"model and explanation must answer finite numbers at the instance; got {numbers}.")
    return tuple(numbers.tolist())


def _same(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return len(one) == len(other) and bool(np.allclose(one, other, rtol=SAME_ANSWER, atol=1e-6))


def _shown(answer: tuple[float, ...]) -> str:
    return ", ".join(f"{number:.4g}" for number in answer)


def _test(test: str, *, classifier: bool) -> TestName:
    if test == "auto":
        return "class" if classifier else "value"
    for name in get_args(TestName):
        if test == name:
            if name == "class" and not classifier:
                raise InvalidInputError("test: 'class' is for classifiers; use 'value' or 'change' here.")
            return name  # type: ignore[no-any-return]
    raise InvalidInputError(f"test: one of {['auto', *get_args(TestName)]} is required; got {test!r}.")


def _tolerance(tolerance: float | None, scale: float) -> float:
    if tolerance is not None:
        number: float = plain(tolerance)
        return number
    if not scale > 0:
        raise InvalidInputError(
            "tolerance: there is no default, because the model gave one and the same value wherever it was "
            "explained. Pass tolerance=."
        )
    return TOLERANCE * scale
