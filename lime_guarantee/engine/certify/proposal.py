"""What a search may propose: a shape that can be drawn from, or nested boxes."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray


class Shape(Protocol):
    """What can be certified: a set of points of the unit cube that can be drawn from."""

    @property
    def log_share(self) -> float:
        """Natural logarithm of its share of the measure."""

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points from the measure, given that they lie in it."""

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
