"""The largest box as the draws themselves say.

`Slopes` adds up what every side does. Models are not like that: trees fail where features meet, and a sum
then cuts many sides a little and none enough. Every draw stands for a volume, one over the density of all
draws there; so all draws of all boxes tell how often any other box fails, as far as there are draws in it.
For the rest the model is asked. Single sides are moved as long as that pays.

Where the measure is made of data, feature by feature, the size of a box is not its mass alone, but also how
many rows it holds: rows lie where features go together, and such a measure does not know where that is.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from lime_guarantee.engine.kernels.peel import Goal, Places, Points, failing_share, first_places, peeled
from lime_guarantee.engine.search.sides import FEW_CELLS, FEW_FEATURES, Sides
from lime_guarantee.engine.search.slopes import KEPT_NUMBERS, PENALTY, Slopes
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray

INSIDE, OUTSIDE = np.linspace(0.0, 1.0, 13), np.array([0.02, 0.06, 0.2, 0.5, 1.0])
"""Places at which a side is tried: shares of its extent, and of the way from there to where it may go. Finer
ones learn the draws by heart. Sides of few cells are tried at the ends of their cells."""

FINE_INSIDE = np.linspace(0.0, 1.0, 25)
FINE_OUTSIDE = np.array([0.01, 0.02, 0.04, 0.08, 0.15, 0.25, 0.4, 0.7, 1.0])
"""The same with few features."""

TRUSTS = (1.0, 3.0, 10.0, 30.0)
"""As how many failures the model's word counts: whichever told best how often fresh draws would fail. Trees
take the first, smooth boundaries the last."""

BY_ROWS = 0.8
"""What the logarithm of the rows of data counts for in the size of a box; that of its mass has the rest."""

LEAST_GAIN = 0.01
"""The least gain of log size for which a side is moved."""

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
        rows = sides.task.rows
        self._rows = sides.beyond(rows if sides.cube.counts_rows else rows[:0])  # as `_far` has the draws
        self._by_rows = BY_ROWS if len(self._rows) else 0.0
        self._far = np.empty((0, 2 * sides.dims))  # how far each draw lies beyond the home, towards each side
        self._failed = np.empty(0, dtype=np.bool_)
        self._density = np.empty(0)  # draws to be expected around each, per volume of the first box
        self._boxes: list[tuple[Box, int, float]] = []  # in which was drawn, how often, and how densely
        self._first_share = 0.0
        few = sides.dims <= FEW_FEATURES
        self._inside, self._outside = (FINE_INSIDE, FINE_OUTSIDE) if few else (INSIDE, OUTSIDE)
        self._evidence = np.zeros(len(TRUSTS))

    def note(self, points: FloatArray, faithful: BoolArray, box: Box) -> None:
        """Take note of draws of a box."""
        if not self._boxes:
            self._first_share = box.log_share
        density = len(points) * float(np.exp(min(self._first_share - box.log_share, MOST_DENSE)))
        here = np.full(len(points), density)
        for known, _, each in self._boxes:
            here += each * known.contains(points)
        self._density += density * self._within(self.sides.extent(box))
        self._boxes.append((box, len(points), density))
        self._far = np.concatenate([self._far, self.sides.beyond(points)])
        self._failed = np.concatenate([self._failed, ~faithful])
        self._density = np.concatenate([self._density, here])
        while self._far.size > KEPT_NUMBERS and len(self._boxes) > 1:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        box, count, density = self._boxes.pop(0)
        self._far = self._far[count:]
        self._failed, self._density = self._failed[count:], self._density[count:]
        self._density = self._density - density * self._within(self.sides.extent(box))

    def largest(
        self, slopes: Slopes, aim: float, start: FloatArray, limit: FloatArray | None = None
    ) -> FloatArray:
        """Extents of the largest box that fails no more than the aim, reached from a start by single sides.

        Parameters
        ----------
        slopes : Slopes
        aim : float
        start : array of shape (2 D,)
        limit : array of shape (2 D,), optional
            How far sides may go; by default they move inwards only.
        """
        places = self._places(slopes, start, start if limit is None else np.maximum(limit, start))
        extents, counts, _ = places
        # All places of a side that cannot move are the same: it stands at the first, and only that is filled.
        place = np.minimum(np.sum(extents <= start[:, np.newaxis] + TINY, axis=1), counts) - 1
        near, first = first_places(self._far, extents, counts, TINY)
        weight = 1.0 / self._density[near]
        most = weight.max(initial=TINY)  # squares of weights must not overflow
        _, of_rows = first_places(self._rows, extents, counts, TINY)
        found = peeled(
            Points(first, self._failed[near], weight / most),
            self._volume(np.take_along_axis(extents, place[:, np.newaxis], axis=1)[:, 0]) / most,
            Points(of_rows, np.zeros(len(of_rows), dtype=np.bool_), np.ones(len(of_rows))),
            place,
            places,
            slopes.model,
            Goal(aim, self.trust, self._by_rows, PENALTY, LEAST_GAIN),
        )
        moved = np.take_along_axis(extents, found[:, np.newaxis], axis=1)[:, 0]
        return np.where(found == place, start, moved)

    def better(self, slopes: Slopes, aim: float, *extents: FloatArray) -> FloatArray:
        """The extents of the largest box, less what it costs that it fails more often than the aim."""

        def worth(extent: FloatArray) -> float:
            over = float(special.logit(self._failing(slopes, extent)) - special.logit(aim))
            return self._size(extent) - PENALTY * max(over, 0.0) ** 2

        return max(extents, key=worth)

    def learn(self, slopes: Slopes, extent: FloatArray, failures: int, draws: int) -> None:
        """See who told best how often fresh draws of a box would fail, before these are noted."""
        shares = np.array(self._shares(slopes, extent))
        told = special.xlogy(failures, shares) + special.xlog1py(draws - failures, -shares)
        self._evidence += told - told.max()

    @property
    def trust(self) -> float:
        """As how many failures the model's word counts."""
        return TRUSTS[int(np.argmax(self._evidence))]

    def _size(self, extent: FloatArray) -> float:
        rows = float(np.sum(np.all(self._rows <= extent + TINY, axis=1)))
        mass = self.sides.box(extent).log_share
        return (1.0 - self._by_rows) * mass + self._by_rows * float(np.log(rows + 1.0))

    def _failing(self, slopes: Slopes, extent: FloatArray) -> float:
        """How often the box of some extents fails, by draws and model."""
        return self._shares(slopes, extent)[int(np.argmax(self._evidence))]

    def _shares(self, slopes: Slopes, extent: FloatArray) -> list[float]:
        inside = self._within(extent)
        weight, failed = 1.0 / self._density[inside], self._failed[inside]
        most = weight.max(initial=TINY)
        weight = weight / most
        sums = float(weight.sum()), float(weight[failed].sum()), float(np.sum(weight**2))
        model, volume = slopes.failing(extent), self._volume(extent) / most
        return [failing_share(*sums, volume, model, trust) for trust in TRUSTS]

    def _volume(self, extent: FloatArray) -> float:
        """The volume of the box of some extents, in that of the first one."""
        more = self.sides.box(extent).log_share - self._first_share
        return float(np.exp(np.clip(more, -MOST_DENSE, MOST_DENSE)))

    def _places(self, slopes: Slopes, extent: FloatArray, limit: FloatArray) -> Places:
        """Where sides are tried, from some extents up to a limit."""
        coarse, rungs = self.sides.coarse, self.sides.rungs
        inside = extent[:, np.newaxis] * self._inside
        outside = extent[:, np.newaxis] + (limit - extent)[:, np.newaxis] * self._outside
        extents = np.concatenate([inside, outside], axis=1)
        extents[coarse] = np.inf
        extents[coarse, :FEW_CELLS] = np.where(rungs <= limit[coarse, np.newaxis] + TINY, rungs, np.inf)
        counts = np.where(self.sides.edge > 0, np.isfinite(extents).sum(axis=1), 1)
        return Places(extents, counts, extents / np.tile(slopes.unit, 2)[:, np.newaxis])

    def _within(self, extent: FloatArray) -> BoolArray:
        """Which draws the box of some extents holds."""
        return np.asarray(np.all(self._far <= extent + TINY, axis=1))
