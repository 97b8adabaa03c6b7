"""What an explanation is worth where it holds: its gain over a constant, and which of its weights are needed.

All of it is read from the certificate's own draws, whose answers are known: the model is not asked again.

The intervals hold together with probability `CONFIDENCE`, whatever region was accepted and whenever its test
stopped: every bound is valid whenever one looks, and each attempt of the certifier may spend the same part of
`1 - CONFIDENCE` here as it may of `1 - confidence` there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.engine.certify.bounds import anytime_interval
from lime_guarantee.engine.certify.certificate import Answered, Certificate
from lime_guarantee.engine.certify.decisions import MOST_ANSWERS
from lime_guarantee.engine.oracle import Judged
from lime_guarantee.problem.agreement import SameClass, SameValue
from lime_guarantee.problem.holding import Held, holding, used_features
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.constants import Gain, gain_over_constants
from lime_guarantee.space.cube import Cube
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

CONFIDENCE = 0.95
"""The probability with which all intervals of a `Worth` hold together."""

MOST_OPAQUE_ROWS = 100_000
"""The most rows that a surrogate without parts is asked; draws beyond are left out."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Worth:
    """What an explanation is worth in its region.

    Parameters
    ----------
    gain : float or None
        Share of the region on which the best admissible constant fails and the explanation does not; None if
        the agreement is a rule of one's own, of which constants are not known.
    gain_interval : pair of float or None
    constant : float or None
        The best constant that was found; under the class rule, the position of the class that it names.
    score_gain, score_gain_interval : float and pair of float, or None
        Under the class rule, the gain in the score: explanation and constant must be within the tolerance of
        it. None under other rules.
    score_constant : float or None
        The best constant in the score.
    needed : tuple of float
        A share for every feature: of the region, where the explanation becomes wrong once that feature is
        held at the instance's value in it.
    needed_intervals : tuple of pairs of float
    weights : tuple of int
        The positions of the features that the explanation gives weight to.
    droppable : int
        How many of these weights can be dropped together, the least needed first, before the explanation
        becomes wrong on more than `allowed` of the draws.
    allowed : float
        1 - purity: a weight is needed if more of the region than this goes wrong without it.
    draws : int
        The draws that all of this is read from.
    model_at_instance : tuple of float
        What the model says about the instance.
    confidence : float
        The probability with which all the intervals hold together.

    Examples
    --------
    >>> from lime_guarantee import Domain, Problem, SameValue, find_region
    >>> def line(X):
    ...     return 2 * X[:, 0]
    >>> domain = Domain.from_bounds([0, 0], [1, 1])
    >>> problem = Problem(line, line, SameValue(0.1), np.array([0.5, 0.5]), domain)
    >>> worth = find_region(problem, random_state=0).worth
    >>> worth.gain > 0.8, worth.needed_weights, worth.droppable
    (True, (0,), 1)
    """

    gain: float | None
    gain_interval: Interval | None
    constant: float | None
    score_gain: float | None
    score_gain_interval: Interval | None
    score_constant: float | None
    needed: tuple[float, ...]
    needed_intervals: tuple[Interval, ...]
    weights: tuple[int, ...]
    droppable: int
    allowed: float
    draws: int
    model_at_instance: tuple[float, ...]
    confidence: float = CONFIDENCE

    @property
    def flat(self) -> bool:
        """Whether a constant does as well, as far as the draws show: under the class rule, in the class."""
        return self.gain is not None and self.gain <= self.allowed

    @property
    def flat_in_score(self) -> bool:
        """Whether a constant does as well in the score."""
        return self.flat if self.score_gain is None else self.score_gain <= self.allowed

    @property
    def needed_weights(self) -> tuple[int, ...]:
        """The positions of the weights that are shown to be needed: by the lower ends of their intervals."""
        return tuple(i for i in self.weights if self.needed_intervals[i][0] > self.allowed)


def judging(problem: Problem) -> Callable[[Any], Judged]:
    """What the oracle asks of a problem: whether rows are faithful, with the answers that tell."""

    def judge(rows: Any) -> Judged:
        answers = problem.answers(rows)
        return Judged(problem.agreement(*answers), answers)

    return judge


def worth_of(
    problem: Problem,
    answered: Answered,
    cube: Cube,
    certificate: Certificate,
    at_instance: FloatArray,
) -> Worth:
    """Read the worth of an explanation from the draws of its certificate.

    Parameters
    ----------
    problem : Problem
    answered : Answered
        The draws, with the answers of model and surrogate.
    cube : Cube
        Turns the draws into raw values.
    certificate : Certificate
    at_instance : array of shape () or (K,)
        The model's answer at the instance.

    Returns
    -------
    Worth
    """
    model, surrogate = (answers[:MOST_ANSWERS] for answers in answered.answers)
    rows = cube.decode(answered.points[:MOST_ANSWERS])
    # The same part of the error as this attempt, and this of its nested shapes, has of the certificate's.
    level = (1.0 - CONFIDENCE) * certificate.level / (1.0 - certificate.confidence) / 3.0
    faithful = problem.agreement(model, surrogate)
    gain = gain_over_constants(problem.agreement, model, faithful, at_instance, level)
    score_gain = _score_gain(problem, model, surrogate, at_instance, level)
    return Worth(
        *_fields(gain),
        *_fields(score_gain),
        **_needed(problem, rows, model, surrogate, faithful, 1.0 - certificate.purity, level),
        allowed=1.0 - certificate.purity,
        draws=len(model),
        model_at_instance=tuple(np.ravel(at_instance).tolist()),
    )


def _fields(gain: Gain | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if gain is None else (gain.share, gain.interval, gain.constant)


def _score_gain(
    problem: Problem, model: FloatArray, surrogate: FloatArray, at_instance: FloatArray, level: float
) -> Gain | None:
    """Under the class rule, the gain in the score of the class that was explained."""
    if not isinstance(problem.agreement, SameClass):
        return None
    if model.ndim == 2:
        label = None if problem.explained is None else problem.explained.label
        column = int(np.argmax(at_instance)) if label is None else label
        model, surrogate, at_instance = model[:, column], surrogate[:, column], at_instance[column]
    rule = SameValue(problem.agreement.tolerance)
    return gain_over_constants(rule, model, rule(model, surrogate), at_instance, level)


def _needed(
    problem: Problem,
    rows: AnyArray,
    model: FloatArray,
    surrogate: FloatArray,
    faithful: BoolArray,
    allowed: float,
    level: float,
) -> dict[str, Any]:
    """The fields of `Worth` that speak of weights."""
    width = len(problem.domain)
    instance = problem.domain.row(problem.instance)
    used = used_features(problem.surrogate, width, instance)
    if getattr(problem.surrogate, "parts", None) is None:
        most = max(1, MOST_OPAQUE_ROWS // (2 * width))
        rows, model, surrogate, faithful = rows[:most], model[:most], surrogate[:most], faithful[:most]
    test = _DropTest(problem, model, faithful, holding(problem.surrogate, rows, instance, surrogate))
    weights = used if problem.explained is None else tuple(np.flatnonzero(problem.explained.weights).tolist())
    counts = {i: test.wrong_without([i]) for i in used}
    low, high = anytime_interval(len(model), list(counts.values()), level / max(len(used), 1))
    ends = dict(zip(used, zip(low.tolist(), high.tolist(), strict=True), strict=True))
    return {
        "needed": tuple(counts.get(i, 0) / len(model) for i in range(width)),
        "needed_intervals": tuple(ends.get(i, (0.0, 0.0)) for i in range(width)),
        "weights": weights,
        "droppable": test.droppable(sorted(weights, key=lambda i: counts.get(i, 0)), allowed),
    }


@dataclass(frozen=True, eq=False)
class _DropTest:
    """Counts the draws on which the explanation becomes wrong without some of its weights."""

    problem: Problem
    model: FloatArray
    faithful: BoolArray
    held: Held

    def wrong_without(self, features: list[int]) -> int:
        """How many of the draws go wrong once these features are held at the instance."""
        return int(np.sum(self.faithful & ~self.problem.agreement(self.model, self.held(features))))

    def droppable(self, order: list[int], allowed: float) -> int:
        """How many can go, in this order, before more than the allowed share of the draws goes wrong."""
        for count in range(len(order)):
            if self.wrong_without(order[: count + 1]) > allowed * len(self.model):
                return count
        return len(order)
