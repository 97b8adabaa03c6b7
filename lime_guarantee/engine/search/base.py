"""What a search is: a generator that yields shapes and is sent what the certifier made of each.

Nothing a search does is part of the guarantee. It may ask the oracle what it likes, reuse every point it
has seen and propose as often as it wants: proposals cost error budget and evaluations, not honesty.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.certify.proposal import Proposal, Shape
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.space.box import Box
from lime_guarantee.space.cube import Cube
from lime_guarantee.support.arrays import FloatArray, IntArray

Effort = Literal["low", "normal", "high"]
"""How much a search spends."""

SMALLEST_STEP = 1e-3
"""The first of the logarithmic steps, as a share of the way to the edge."""

FEWEST_ROWS = 50
"""With fewer rows of data no box is moved for their sake."""

Proposals = Generator[Proposal, Attempt, None]
"""Yields shapes that hold the instance, one at a time or several nested ones; is sent the attempt on them;
ends when it has no more to propose."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a search is given.

    Parameters
    ----------
    oracle : Oracle
        Tells whether points are faithful.
    domain : Box
        The largest box there may be, in a cube around the instance; that is faithful.
    purity, confidence : float
        What the certifier will ask of a proposal.
    rng : Generator
        The search's own random stream.
    report : callable
        Told the name of the phase and the present shape, for a progress bar.
    """

    oracle: Oracle
    domain: Box
    purity: float
    confidence: float
    rng: np.random.Generator
    report: Callable[[str, Shape], None] = lambda *_: None

    @property
    def cube(self) -> Cube:
        """What the places mean."""
        return self.domain.cube

    @property
    def instance(self) -> FloatArray:
        """The place of the instance."""
        return self.cube.instance

    @property
    def home(self) -> Box:
        """The instance's own atoms; a point where it lies in none. All that is proposed holds it."""
        return self.cube.home

    @property
    def rows(self) -> FloatArray:
        """Rows of data for the sake of which boxes may be moved: none if they are few."""
        points = self.cube.data_points
        return points if len(points) >= FEWEST_ROWS else points[:0]

    @property
    def free_axes(self) -> IntArray:
        """The axes on which there is more than the instance's own atom."""
        return np.flatnonzero(self.domain.width > self.home.width)


class Search(Protocol):
    """A way to look for large faithful shapes."""

    @property
    def name(self) -> str:
        """What the search is called."""

    def propose(self, task: Task) -> Proposals:
        """Propose shapes, best first."""


def logarithmic_steps(count: int) -> FloatArray:
    """The shares of the way to the edge at which the paper's baselines stop, one after the other."""
    return np.geomspace(SMALLEST_STEP, 1.0, count)
