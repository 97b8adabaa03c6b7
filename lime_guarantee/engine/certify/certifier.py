"""The certifier: it alone draws fresh points in a proposed shape and decides.

What it draws comes from a random stream no search can see, and every decision is paid for from one
`ErrorBudget` a region. So whatever a search does, and however many of its proposals are accepted, the
probability that any accepted shape has less than the asked purity is at most 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np

from lime_guarantee.engine.certify import bounds
from lime_guarantee.engine.oracle import REASKED_ROWS, Oracle
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray

CertifierName = Literal["anytime", "zero-failure"]

LONG_TEST, LOOK = 2_000, 4
"""A test of more draws than that looks at this part of them first, and so does a test of nested shapes."""

CLEARLY_BAD = 1e-3
"""After that look a shape is turned down if so many failures would be rarer than this at the asked purity."""

PATIENCE = 8
"""The anytime test gives up when it would take this many times the draws of a shape without a failure."""

WORTH = 4.0
"""What a nested shape may cost more than a smaller one, in that unit, for every unit of log volume."""


class Shape(Protocol):
    """What can be certified: a set of points, in engine coordinates, that can be drawn from."""

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume."""

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points uniformly."""

    def contains(self, points: FloatArray) -> BoolArray:
        """Which of the points lie in the shape."""


Nested = tuple[Box, ...]
"""Boxes of which each holds the next: they are put to the test together, on the same draws."""

Proposal = Shape | Nested


def shapes_of(proposal: Proposal) -> tuple[Shape, ...]:
    """The shapes of a proposal.

    Raises
    ------
    InvalidInputError
        If there are several, and any does not hold the next: a draw would then tell nothing about that.
    """
    if not isinstance(proposal, tuple):
        return (proposal,)
    if not proposal or not all(outer.holds(inner) for outer, inner in pairwise(proposal)):
        raise InvalidInputError("search: of several boxes proposed together each must hold the next.")
    return proposal


class ErrorBudget:
    """What may be spent on wrong decisions: made once for a region, passed down, never restarted.

    To go on where an earlier run stopped, `attempts` says how many were made; they stay spent.
    """

    def __init__(self, confidence: float, attempts: int = 0) -> None:
        self.confidence = confidence
        self.attempts = attempts
        self.spent = sum(bounds.attempt_level(i, confidence) for i in range(1, attempts + 1))

    def next_level(self) -> float:
        """The error level of the next attempt, which is spent by asking for it."""
        self.attempts += 1
        level = bounds.attempt_level(self.attempts, self.confidence)
        self.spent += level
        return level

    def __copy__(self) -> ErrorBudget:
        raise TypeError("an error budget cannot be copied: it would be spent twice")

    def __deepcopy__(self, memo: Any) -> ErrorBudget:
        return self.__copy__()


@dataclass(frozen=True)
class Certificate:
    """Why a region can be believed.

    Parameters
    ----------
    certifier : str
        The test that accepted the region.
    purity, confidence : float
        What was asked for.
    attempts : int
        How many proposals had been put to the test, this one included.
    level : float
        The part of 1 - confidence that this test could spend.
    draws, failures : int
        Fresh points drawn in the region, and how many of them were not faithful.
    purity_lower_bound : float
        A lower bound on the purity, at least `purity`, that holds with probability 1 - `level`.
    """

    certifier: CertifierName
    purity: float
    confidence: float
    attempts: int
    level: float
    draws: int
    failures: int
    purity_lower_bound: float


@dataclass(frozen=True, eq=False)
class Attempt:
    """One proposal put to the test: what was drawn in it, and what was accepted.

    Parameters
    ----------
    points, faithful : arrays
        What was drawn, in the order in which it was drawn.
    drawn : tuple of int
        How many of the points were drawn in each of the nested shapes, the largest one's first.
    shape, certificate
        The shape that was accepted, and why; None if there is none.
    """

    points: FloatArray
    faithful: BoolArray
    drawn: tuple[int, ...]
    shape: Shape | None
    certificate: Certificate | None

    @property
    def accepted(self) -> bool:
        """Whether the proposal was accepted."""
        return self.certificate is not None

    @property
    def failures(self) -> FloatArray:
        """The points that were not faithful."""
        return self.points[~self.faithful]


@dataclass(frozen=True, eq=False)
class Certifier:
    """Draws in proposed shapes and accepts or rejects them."""

    oracle: Oracle
    purity: float
    budget: ErrorBudget
    rng: np.random.Generator
    name: CertifierName = "anytime"

    def attempt(self, proposal: Proposal) -> Attempt:
        """Put a shape, or nested ones together, to the test, at the budget's next level."""
        shapes = shapes_of(proposal)
        evidence = Evidence(self, shapes)
        verdict = TESTS[self.name](evidence, self.budget.next_level())
        points, faithful = evidence.all_drawn()
        shape = certificate = None
        if verdict is not None:
            self.oracle.reask(points, faithful)
            shape = shapes[verdict.place]
            certificate = Certificate(
                certifier=self.name,
                purity=self.purity,
                confidence=self.budget.confidence,
                attempts=self.budget.attempts,
                level=verdict.level,
                draws=evidence.draws[verdict.place],
                failures=evidence.failures[verdict.place],
                purity_lower_bound=max(self.purity, verdict.lower_bound),
            )
        return Attempt(points, faithful, tuple(evidence.drawn), shape, certificate)

    def draw(self, shape: Shape, count: int) -> tuple[FloatArray, BoolArray]:
        """Fresh points in the shape, and whether each is faithful."""
        self.oracle.check_limit(count)
        points = shape.sample(self.rng, count)
        return points, self.oracle.evaluate(points)


class Evidence:
    """What has been drawn in nested shapes, the largest one first, and how often each of them failed.

    A draw in a shape that falls into a smaller one is a draw in that one, too: given that it does, it is
    uniform there.
    """

    def __init__(self, certifier: Certifier, shapes: tuple[Shape, ...]) -> None:
        self.certifier = certifier
        self.shapes = shapes
        self.drawn = [0] * len(shapes)
        self.draws = [0] * len(shapes)
        self.failures = [0] * len(shapes)
        self._batches: list[tuple[FloatArray, BoolArray]] = []

    def draw(self, place: int, count: int) -> None:
        """Draw in one of the shapes; larger ones learn nothing from it."""
        points, faithful = self.certifier.draw(self.shapes[place], count)
        self._batches.append((points, faithful))
        self.drawn[place] += count
        for i in range(place, len(self.shapes)):
            inside = self.shapes[i].contains(points) if i > place else np.ones(count, dtype=np.bool_)
            self.draws[i] += int(inside.sum())
            self.failures[i] += int(np.sum(inside & ~faithful))

    def all_drawn(self) -> tuple[FloatArray, BoolArray]:
        """All points, and which of them are faithful."""
        return (
            np.concatenate([points for points, _ in self._batches]),
            np.concatenate([faithful for _, faithful in self._batches]),
        )


@dataclass(frozen=True)
class Verdict:
    """The nested shape that a test accepts, the level at which it does, and a lower bound on its purity."""

    place: int
    level: float
    lower_bound: float


def zero_failure_test(evidence: Evidence, level: float) -> Verdict | None:
    """The paper's test: a number of draws fixed beforehand, all of them faithful.

    Of nested shapes it tests the smallest alone, which is the least likely to fail.
    """
    draws = bounds.draws_without_failure(evidence.certifier.purity, level)
    evidence.draw(len(evidence.shapes) - 1, draws)
    if evidence.failures[-1]:
        return None
    return Verdict(len(evidence.shapes) - 1, level, bounds.exact_lower_bound(draws, 0, level))


def anytime_test(evidence: Evidence, level: float) -> Verdict | None:
    """Draw in batches until the evidence suffices or is no longer worth waiting for.

    Nested shapes share the level: each is tested at its part of it. They were chosen before anything was
    drawn, so the probability that any of them is ever accepted wrongly is at most the level, whatever
    draws they share, and whichever is gone for.
    """
    purity, oracle = evidence.certifier.purity, evidence.certifier.oracle
    nested = len(evidence.shapes) > 1
    level /= len(evidence.shapes)
    first = draws_to_accept(0, 0, purity, level)
    look = first // LOOK if nested or first > LONG_TEST else first
    evidence.draw(0, look)
    if not nested and look < first:
        if bounds.surprise(look, evidence.failures[0], purity) < CLEARLY_BAD:
            return None
        evidence.draw(0, first - look)
    place = 0
    while True:
        more = [
            _more(*counts, purity, level) for counts in zip(evidence.draws, evidence.failures, strict=True)
        ]
        hopeful = [i for i in range(place, len(more)) if evidence.draws[i] + more[i] <= PATIENCE * first]
        if not hopeful:
            return None
        place = min(hopeful, key=lambda i: more[i] - WORTH * first * evidence.shapes[i].log_volume)
        draws, failures, count = evidence.draws[place], evidence.failures[place], more[place]
        if count == 0:
            return Verdict(place, level, bounds.anytime_lower_bound(draws, failures, level))
        at_least = draws_to_accept(draws, failures, purity, level)
        if nested:  # by then, another one may be better
            count = at_least
        if oracle.remaining is not None:  # fewer may do, if none of them fails
            count = max(at_least, min(count, oracle.remaining - REASKED_ROWS))
        evidence.draw(place, count)


TESTS: dict[str, Callable[[Evidence, float], Verdict | None]] = {
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
    return _least(lambda more: bounds.reaches(bounds.log_evidence(draws + more, failures, purity), level))


@lru_cache
def _next_batch(draws: int, failures: int, purity: float, level: float) -> int:
    """A batch after which the test will probably accept, if the failing rate stays what it seems.

    Nothing of the guarantee hangs on this: the evidence may be looked at at any time.
    """
    at_least = draws_to_accept(draws, failures, purity, level)
    rate = failures / max(draws, 1)
    if rate * (draws + at_least) <= failures + 1:  # a failure or none to come
        return at_least
    return _least(
        lambda more: bounds.reaches(
            bounds.log_evidence(draws + more, failures + round(rate * more), purity), level
        ),
        limit=PATIENCE * 10 * draws,
    )


def _least(accepts: Callable[[int], bool], limit: int = 2**62) -> int:
    """The least positive number that is accepted (or `limit`), by doubling and halving."""
    high = 1
    while not accepts(high):
        high *= 2
        if high >= limit:
            return limit
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accepts(middle) else (middle, high)
    return high
