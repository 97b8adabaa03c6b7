"""A unit cube whose axes are not independent: rows of data, mixed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lime_guarantee.space.cube import SMALLEST_WIDTH, Cube
from lime_guarantee.support.arrays import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class JointCube(Cube):
    """A cube in which rows of data are mixed: given a row, each axis is drawn on its own.

    So the share of a box, and draws in it, are exact: rows first, then axes.
    """

    rows: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    mix: float = 0.2
    move: float = 0.05

    @property
    def counts_draws(self) -> BoolArray:
        return np.ones(len(self), dtype=np.bool_)

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """Where each axis of each row may be moved to: two arrays of shape (n, D)."""
        places = self.places(self.rows)
        places = places[~np.isnan(places).any(axis=1)]
        if len(places) == 0:
            places = self.instance[np.newaxis]
        low, high = self.atoms(places)
        moved = low == high
        low = np.where(moved, np.maximum(places - self.move, 0.0), low)
        high = np.where(moved, np.minimum(places + self.move, 1.0), high)
        return low, high

    def _chances(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For every row and axis, the chances of lying in a box: by redrawing, and by moving."""
        low, high = self._parts
        overlap = np.minimum(high, upper) - np.maximum(low, lower)
        moved = (1.0 - self.mix) * np.maximum(overlap, 0.0) / (high - low)
        return self.mix * (upper - lower), moved

    def log_share(self, lower: FloatArray, upper: FloatArray) -> float:
        redrawn, moved = self._chances(lower, upper)
        logs = np.log(np.maximum(redrawn + moved, SMALLEST_WIDTH)).sum(axis=1)
        return float(np.logaddexp.reduce(logs) - np.log(logs.size))

    def sample(
        self, rng: np.random.Generator, count: int, lower: FloatArray, upper: FloatArray
    ) -> FloatArray:
        redrawn, moved = self._chances(lower, upper)
        both = np.maximum(redrawn + moved, SMALLEST_WIDTH)
        logs = np.log(both).sum(axis=1)
        weights = np.exp(logs - logs.max())
        rows = rng.choice(logs.size, count, p=weights / weights.sum())
        low, high = self._parts
        anew = rng.random((count, lower.size)) * both[rows] < redrawn
        start = np.where(anew, lower, np.maximum(low[rows], lower))
        end = np.where(anew, upper, np.minimum(high[rows], upper))
        points = start + rng.random((count, lower.size)) * (end - start)
        return self.within(np.clip(points, lower, upper), lower, upper)
