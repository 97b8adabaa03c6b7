"""What the certifier hands out: a record of each attempt, and a certificate for what it accepted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from lime_guarantee.engine.batches import Batch, joined
from lime_guarantee.engine.certify.proposal import Shape
from lime_guarantee.support.arrays import BoolArray, FloatArray

CertifierName = Literal["anytime", "zero-failure"]


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

    Examples
    --------
    >>> from lime_guarantee import Domain, find_region
    >>> def faithful(X):
    ...     return X[:, 0] < 2
    >>> domain = Domain.from_bounds([0], [1])
    >>> region = find_region(faithful, [0.5], domain, certifier="zero-failure", random_state=0)
    >>> region.certificate.draws, region.certificate.failures
    (507, 0)
    >>> region.certificate.purity_lower_bound >= region.purity
    True
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
class Answered:
    """Draws from a certified shape, in the order in which they were made, and what was answered to them.

    Parameters
    ----------
    points : array of shape (n, D)
    answers : tuple of arrays
        Each has an entry, or a row, for every point.
    """

    points: FloatArray
    answers: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Attempt:
    """One proposal put to the test: what was drawn in it, and what was accepted.

    Parameters
    ----------
    batches : tuple of pairs of arrays
        What was drawn, in the order in which it was drawn; a long test draws too much to copy it unasked.
    drawn : tuple of int
        How many of the points were drawn in each of the nested shapes, the largest one's first.
    shape, certificate
        The shape that was accepted, and why; None if there is none.
    answers : tuple of tuples of arrays
        What was answered in the first batches, where the oracle tells.
    """

    batches: tuple[Batch, ...]
    drawn: tuple[int, ...]
    shape: Shape | None
    certificate: Certificate | None
    answers: tuple[tuple[FloatArray, ...], ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the proposal was accepted."""
        return self.certificate is not None

    @cached_property
    def _joined(self) -> Batch:
        return joined(self.batches)

    @property
    def points(self) -> FloatArray:
        """All points that were drawn."""
        return self._joined[0]

    @property
    def faithful(self) -> BoolArray:
        """Which of the points are faithful."""
        return self._joined[1]

    @property
    def failures(self) -> FloatArray:
        """The points that were not faithful."""
        return np.concatenate([points[~faithful] for points, faithful in self.batches])

    @property
    def answered(self) -> Answered | None:
        """The draws in the accepted shape whose answers were kept; None if there are none.

        Draws go from larger to smaller shapes and never back. So all of them that lie in the accepted shape
        are draws from it, those made before it was turned to included.
        """
        if self.shape is None or not any(self.answers):
            return None
        points = np.concatenate([points for points, _ in self.batches[: len(self.answers)]])
        inside = self.shape.contains(points)
        answers = zip(*self.answers, strict=True)
        return Answered(points[inside], tuple(np.concatenate(parts)[inside] for parts in answers))
