"""What the certifier hands out: a record of each attempt, and a certificate for what it accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
