"""The largest box as the draws themselves say.

`Slopes` adds up what every side does. Models are not like that: trees fail where features meet, and a sum
then cuts many sides a little and none enough. Draws of a large box tell how often any smaller one fails,
whatever the boundary is like, as far as there are draws in it; for the rest the model is asked. Every round
looks at all boxes anew, from the whole domain inwards: what was cut for a few failures comes back when more
draws say otherwise.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from lime_guarantee.engine.kernels.peel import failing_share, peeled
from lime_guarantee.engine.search.sides import FEW_CELLS, Sides
from lime_guarantee.engine.search.slopes import KEPT_NUMBERS, PENALTY, Slopes
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

PLACES = FEW_CELLS + 1
"""Places at which a side is tried, from the instance to the edge. Sides of few cells are tried at the ends of
their cells."""

TRUSTS = (3.0, 10.0, 30.0)
"""As how many failures the model's word counts: whichever told best how often fresh draws would fail. Trees
take the first, smooth boundaries the last."""

LEAST_GAIN = 0.01
"""The least gain of log volume for which a side is moved."""

TINY, MOST_DENSE = 1e-12, 600.0
"""Extents that differ by less are the same; and the logarithm of the greatest density, so that none is
infinite."""


class Draws:
    """All draws so far, and what they say of boxes.

    Parameters
    ----------
    sides : Sides
    """

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        self._extents = np.linspace(0.0, sides.edge, PLACES, axis=1)
        self._extents[sides.coarse, : sides.rungs.shape[1]] = sides.rungs
        self._extents[sides.coarse, sides.rungs.shape[1] :] = np.inf
        self._counts = np.where(sides.edge > 0, np.isfinite(self._extents).sum(axis=1), 1)
        self._far = np.empty((0, 2 * sides.dims))  # how far each draw lies beyond the home, towards each side
        self._first = np.empty(self._far.shape, dtype=np.int64)  # the first place at which a side holds it
        self._failed = np.empty(0, dtype=np.bool_)
        self._density = np.empty(0)  # draws to be expected around each, per volume of the first box
        self._boxes: list[tuple[Box, int, float]] = []  # in which was drawn, how often, and how densely
        self._first_share = 0.0
        self._evidence = np.zeros(len(TRUSTS))

    def note(self, points: FloatArray, faithful: BoolArray, box: Box) -> None:
        """Take note of draws of a box."""
        home = self.sides.home
        if not self._boxes:
            self._first_share = box.log_share
        density = len(points) * float(np.exp(min(self._first_share - box.log_share, MOST_DENSE)))
        far = np.concatenate([home.lower - points, points - home.upper], axis=1)
        first = np.empty(far.shape, dtype=np.int64)
        for side, count in enumerate(self._counts):
            first[:, side] = np.searchsorted(self._extents[side, :count] + TINY, far[:, side])
        here = np.full(len(points), density)
        for known, _, each in self._boxes:
            here += each * known.contains(points)
        self._density += density * self._within(self.sides.extent(box))
        self._boxes.append((box, len(points), density))
        self._far = np.concatenate([self._far, far])
        self._first = np.concatenate([self._first, first])
        self._failed = np.concatenate([self._failed, ~faithful])
        self._density = np.concatenate([self._density, here])
        while self._far.size > KEPT_NUMBERS and len(self._boxes) > 1:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        box, count, density = self._boxes.pop(0)
        self._far, self._first = self._far[count:], self._first[count:]
        self._failed, self._density = self._failed[count:], self._density[count:]
        self._density = self._density - density * self._within(self.sides.extent(box))

    def largest(self, slopes: Slopes, aim: float, within: FloatArray | None = None) -> FloatArray:
        """Extents of the largest box that fails no more than the aim, of all, or of those within another."""
        start = self._counts - 1 if within is None else self._places(within)
        place = peeled(
            self._first,
            self._failed,
            1.0 / self._density,
            start,
            self._extents,
            self._counts,
            slopes.bias + slopes.shift,
            slopes.unit,
            *slopes.weights(),
            aim,
            self.trust,
            PENALTY,
            LEAST_GAIN,
            within is None,
        )
        found = np.take_along_axis(self._extents, place[:, np.newaxis], axis=1)[:, 0]
        return found if within is None else np.where(place == start, within, found)

    def better(self, slopes: Slopes, aim: float, *extents: FloatArray) -> FloatArray:
        """The extents of the largest box, less what it costs that it fails more often than the aim."""

        def worth(extent: FloatArray) -> float:
            over = float(special.logit(self._failing(slopes, extent)) - special.logit(aim))
            return self.sides.box(extent).log_share - PENALTY * max(over, 0.0) ** 2

        return max(extents, key=worth)

    def _failing(self, slopes: Slopes, extent: FloatArray) -> float:
        """How often the box of some extents fails, by draws and model."""
        return self._shares(slopes, extent)[int(np.argmax(self._evidence))]

    def learn(self, slopes: Slopes, extent: FloatArray, failures: int, draws: int) -> None:
        """See who told best how often fresh draws of a box would fail, before these are noted."""
        shares = np.array(self._shares(slopes, extent))
        told = special.xlogy(failures, shares) + special.xlog1py(draws - failures, -shares)
        self._evidence += told - told.max()

    @property
    def trust(self) -> float:
        """As how many failures the model's word counts."""
        return TRUSTS[int(np.argmax(self._evidence))]

    def _shares(self, slopes: Slopes, extent: FloatArray) -> list[float]:
        inside = self._within(extent)
        weight, failed = 1.0 / self._density[inside], self._failed[inside]
        sums = float(weight.sum()), float(weight[failed].sum()), float(np.sum(weight**2))
        model = slopes.failing(extent)
        return [failing_share(*sums, model, trust) for trust in TRUSTS]

    def _places(self, extent: FloatArray) -> IntArray:
        """The last place of every side within some extents."""
        return np.asarray(np.sum(self._extents <= extent[:, np.newaxis] + TINY, axis=1) - 1)

    def _within(self, extent: FloatArray) -> BoolArray:
        """Which draws the box of some extents holds."""
        return np.asarray(np.all(self._far <= extent + TINY, axis=1))
