"""The certifier: it alone draws fresh points in a proposed shape and decides.

What it draws comes from a random stream no search can see, and every decision is paid for from one
`ErrorBudget` a region. So whatever a search does, and however many of its proposals are accepted, the
probability that any accepted shape has less than the asked purity is at most 1 - confidence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from lime_guarantee.arrays import BoolArray, FloatArray
from lime_guarantee.engine import bounds
from lime_guarantee.engine.oracle import REASKED_ROWS, Oracle

CertifierName = Literal["anytime", "zero-failure"]

LONG_TEST = 2_000
CLEARLY_BAD = 1e-3
"""A test of more draws than that looks at a quarter of them first, and turns a box down if so many failures
would be rarer than this at the asked purity."""

PATIENCE = 8
"""The anytime test gives up when it would take this many times the draws of a box without a failure."""


class Shape(Protocol):
    """What can be certified: a set of points, in engine coordinates, that can be drawn from."""

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume."""

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points uniformly."""

    def contains(self, points: FloatArray) -> BoolArray:
        """Which of the points lie in the shape."""


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
    """One proposal put to the test: what was drawn in it, and the certificate if it was accepted."""

    points: FloatArray
    faithful: BoolArray
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

    def attempt(self, shape: Shape) -> Attempt:
        """Put a shape to the test, at the budget's next level."""
        level = self.budget.next_level()
        points, faithful, lower = TESTS[self.name](self, shape, level)
        certificate = None
        if lower is not None:
            self.oracle.reask(points, faithful)
            certificate = Certificate(
                certifier=self.name,
                purity=self.purity,
                confidence=self.budget.confidence,
                attempts=self.budget.attempts,
                level=level,
                draws=int(faithful.size),
                failures=int(np.sum(~faithful)),
                purity_lower_bound=lower,
            )
        return Attempt(points, faithful, certificate)

    def draw(self, shape: Shape, count: int) -> tuple[FloatArray, BoolArray]:
        """Fresh points in the shape, and whether each is faithful."""
        self.oracle.check_limit(count)
        points = shape.sample(self.rng, count)
        return points, self.oracle.evaluate(points)


TestResult = tuple[FloatArray, BoolArray, float | None]
"""The points drawn, which are faithful, and, if the test accepts, a lower bound on the purity."""


def zero_failure_test(certifier: Certifier, shape: Shape, level: float) -> TestResult:
    """The paper's test: a number of draws fixed beforehand, all of them faithful."""
    draws = bounds.draws_without_failure(certifier.purity, level)
    points, faithful = certifier.draw(shape, draws)
    if not faithful.all():
        return points, faithful, None
    return points, faithful, max(certifier.purity, bounds.exact_lower_bound(draws, 0, level))


def anytime_test(certifier: Certifier, shape: Shape, level: float) -> TestResult:
    """Draw in batches until the evidence suffices or is no longer worth waiting for."""
    purity = certifier.purity
    first = draws_to_accept(0, 0, purity, level)
    batches = []
    if first > LONG_TEST:
        points, faithful = certifier.draw(shape, first // 4)
        if bounds.surprise(faithful.size, int(np.sum(~faithful)), purity) < CLEARLY_BAD:
            return points, faithful, None
        batches.append((points, faithful))
    batches.append(certifier.draw(shape, first - sum(len(drawn) for drawn, _ in batches)))
    while True:
        points = np.concatenate([batch[0] for batch in batches])
        faithful = np.concatenate([batch[1] for batch in batches])
        draws, failures = int(faithful.size), int(np.sum(~faithful))
        if bounds.reaches(bounds.log_evidence(draws, failures, purity), level):
            lower = bounds.anytime_lower_bound(draws, failures, level)
            return points, faithful, max(purity, lower)  # the bound is found to nine digits from below
        more = _next_batch(draws, failures, purity, level)
        if draws + more > PATIENCE * first:
            return points, faithful, None
        if certifier.oracle.remaining is not None:  # fewer may do, if none of them fails
            least = draws_to_accept(draws, failures, purity, level)
            more = max(least, min(more, certifier.oracle.remaining - REASKED_ROWS))
        batches.append(certifier.draw(shape, more))


TESTS: dict[str, Callable[[Certifier, Shape, float], TestResult]] = {
    "anytime": anytime_test,
    "zero-failure": zero_failure_test,
}


def draws_to_accept(draws: int, failures: int, purity: float, level: float) -> int:
    """How many more draws the anytime test needs if none of them fails."""
    return _least(lambda more: bounds.reaches(bounds.log_evidence(draws + more, failures, purity), level))


def _next_batch(draws: int, failures: int, purity: float, level: float) -> int:
    """A batch after which the test will probably accept, if the failing rate stays what it seems.

    Nothing of the guarantee hangs on this: the evidence may be looked at at any time.
    """
    at_least = draws_to_accept(draws, failures, purity, level)
    rate = failures / draws
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
