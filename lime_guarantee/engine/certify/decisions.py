"""The two tests: each draws in proposed shapes, and decides which of them, if any, is accepted.

Whatever a test does, the probability that it accepts a shape of less than the asked purity is at most the
level that it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from lime_guarantee.engine.batches import Batch, rows_at
from lime_guarantee.engine.certify import bounds
from lime_guarantee.engine.certify.proposal import Shape
from lime_guarantee.engine.oracle import REASKED_ROWS, Oracle, rows_to_reask
from lime_guarantee.support.arrays import FloatArray

LONGEST_WITHOUT_EARLY_LOOK = 2_000
"""The most draws that a test of one shape makes without an early look at the failures."""

EARLY_LOOK_DIVISOR = 4
"""The early look comes after the draws of a shape without a failure, divided by this."""

EARLY_REJECTION_LEVEL = 1e-3
"""At the early look, failures that are rarer than this in a shape of the asked purity sink the shape."""

MOST_DRAWS_RATIO = 8
"""The most draws of an anytime test, in units of the draws of a shape without a failure."""

DRAWS_PER_LOG_SHARE = 4.0
"""The most further draws, in that unit, that a larger nested shape is worth for each unit of log share."""


MOST_ANSWERS = 20_000
"""The most draws whose answers are kept: they tell what an explanation is worth, and more tell no more."""


class Evidence:
    """What has been drawn in nested shapes, the largest one first, and how often each of them failed.

    A draw in a shape that falls into a smaller one is a draw in that one, too: given that it does, it is
    distributed as one drawn there.
    """

    def __init__(self, oracle: Oracle, rng: np.random.Generator, shapes: tuple[Shape, ...]) -> None:
        self.oracle = oracle
        self.rng = rng
        self.shapes = shapes
        self.drawn = [0] * len(shapes)
        self.draws = [0] * len(shapes)
        self.failures = [0] * len(shapes)
        self.batches: list[Batch] = []
        self.answers: list[tuple[FloatArray, ...]] = []

    def draw(self, place: int, count: int) -> None:
        """Draw in one of the shapes; larger ones learn nothing from it."""
        self.oracle.check_limit(count)
        points = self.shapes[place].sample(self.rng, count)
        judged = self.oracle.judge(points)
        faithful = judged.faithful
        if sum(self.drawn) < MOST_ANSWERS:
            self.answers.append(judged.answers)
        self.batches.append((points, faithful))
        self.drawn[place] += count
        for i in range(place, len(self.shapes)):
            inside = self.shapes[i].contains(points) if i > place else np.ones(count, dtype=np.bool_)
            self.draws[i] += int(inside.sum())
            self.failures[i] += int(np.sum(inside & ~faithful))

    @property
    def affordable(self) -> float:
        """How many further draws the limit on evaluations allows."""
        remaining = self.oracle.remaining
        return np.inf if remaining is None else remaining - REASKED_ROWS

    def to_reask(self) -> Batch:
        """Points of all that were drawn that are to be asked again."""
        faithful = np.concatenate([good for _, good in self.batches])
        return rows_at(self.batches, rows_to_reask(faithful))


@dataclass(frozen=True)
class Verdict:
    """The nested shape that a test accepts, the level at which it does, and a lower bound on its purity."""

    place: int
    level: float
    lower_bound: float


def zero_failure_test(evidence: Evidence, purity: float, level: float) -> Verdict | None:
    """The paper's test: a number of draws fixed beforehand, all of them faithful.

    Of nested shapes it tests the smallest alone, which is the least likely to fail.
    """
    draws = bounds.draws_without_failure(purity, level)
    evidence.draw(len(evidence.shapes) - 1, draws)
    if evidence.failures[-1]:
        return None
    return Verdict(len(evidence.shapes) - 1, level, bounds.exact_lower_bound(draws, 0, level))


def anytime_test(evidence: Evidence, purity: float, level: float) -> Verdict | None:
    """Draw in batches until the evidence suffices or is no longer worth waiting for.

    Nested shapes share the level: each is tested at its part of it. They were chosen before anything was
    drawn, so the probability that any of them is ever accepted wrongly is at most the level, whatever
    draws they share, and whichever is gone for.
    """
    nested = len(evidence.shapes) > 1
    level /= len(evidence.shapes)
    first = draws_to_accept(0, 0, purity, level)
    look = first // EARLY_LOOK_DIVISOR if nested or first > LONGEST_WITHOUT_EARLY_LOOK else first
    evidence.draw(0, look)
    if not nested and look < first:
        if bounds.surprise(look, evidence.failures[0], purity) < EARLY_REJECTION_LEVEL:
            return None
        evidence.draw(0, first - look)
    place = 0
    while True:
        more = [
            _more(*counts, purity, level) for counts in zip(evidence.draws, evidence.failures, strict=True)
        ]
        left = evidence.affordable
        hopeful = [
            i
            for i in range(place, len(more))
            if evidence.draws[i] + more[i] <= MOST_DRAWS_RATIO * first
            and (more[i] <= left or i == len(more) - 1)
        ]
        if not hopeful:
            return None
        place = min(
            hopeful, key=lambda i: more[i] - DRAWS_PER_LOG_SHARE * first * evidence.shapes[i].log_share
        )
        draws, failures, count = evidence.draws[place], evidence.failures[place], more[place]
        if count == 0:
            return Verdict(place, level, bounds.anytime_lower_bound(draws, failures, level))
        at_least = draws_to_accept(draws, failures, purity, level)
        if nested:  # by then, another one may be better
            count = at_least
        # Where few are left, fewer may do, if none of them fails.
        evidence.draw(place, max(at_least, min(count, int(left))) if left < count else count)


TESTS: dict[str, Callable[[Evidence, float, float], Verdict | None]] = {
    "anytime": anytime_test,
    "zero-failure": zero_failure_test,
}


def _more(draws: int, failures: int, purity: float, level: float) -> int:
    """How many more draws the anytime test will probably take; none if it accepts already."""
    if bounds.reaches(bounds.log_evidence(draws, failures, purity), level):
        return 0
    return _next_batch(draws, failures, purity, level)


@lru_cache
def draws_to_accept(draws: int, failures: int, purity: float, level: float) -> int:
    """How many more draws the anytime test needs if none of them fails."""
    return bounds.least_count(
        lambda more: bounds.reaches(bounds.log_evidence(draws + more, failures, purity), level)
    )


@lru_cache
def _next_batch(draws: int, failures: int, purity: float, level: float) -> int:
    """A batch after which the test will probably accept, if the failing rate stays what it seems.

    Nothing of the guarantee hangs on this: the evidence may be looked at at any time.
    """
    at_least = draws_to_accept(draws, failures, purity, level)
    rate = failures / max(draws, 1)
    if rate * (draws + at_least) <= failures + 1:  # a failure or none to come
        return at_least
    return bounds.least_count(
        lambda more: bounds.reaches(
            bounds.log_evidence(draws + more, failures + round(rate * more), purity), level
        ),
        limit=MOST_DRAWS_RATIO * 10 * draws,
    )
