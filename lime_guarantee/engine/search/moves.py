"""Move sides, one at a time, as the draws themselves say.

`Slopes` adds up what every side does. Models are not like that: trees fail where features meet, and a sum
then cuts many sides a little and none enough. Draws of a large box tell how often any smaller one fails, and
any that is larger by one side, whatever the boundary is like, as far as there are draws in them; for the rest
the model is asked.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from lime_guarantee.engine.kernels.moves import count_moves
from lime_guarantee.engine.search.sides import Sides
from lime_guarantee.engine.search.slopes import PENALTY, PRIOR_FAILURES, Slopes
from lime_guarantee.support.arrays import BoolArray, FloatArray

WHOLE_FAILURES = 10.0
"""The model's word for a box weighs as much as draws with so many failures, because the best of many boxes is
taken, which was lucky; for what a side adds, where the model is least right, as much as `PRIOR_FAILURES`."""

LEAST_DRAWS, KEPT_NUMBERS = 50, 1_200_000
"""With fewer draws in a box nothing is moved; and the most numbers that are kept."""

MOST_MOVES, LEAST_GAIN = 20, 0.02
"""The most moves, and the least gain of log volume by one."""

INWARDS, OUTWARDS = np.array([0.5, 0.7, 0.85]), np.array([0.25, 0.5, 1.0])
"""Where a side is tried: shares of its extent, and of the way to the edge."""


class Moves:
    """Draws, and what they say of boxes.

    Parameters
    ----------
    sides : Sides
    """

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        self._far = np.empty((0, 2 * sides.dims))  # how far each draw lies beyond the home, towards each side
        self._failed = np.empty(0, dtype=np.bool_)

    def note(self, points: FloatArray, faithful: BoolArray) -> None:
        """Take note of draws of a box."""
        home, most = self.sides.home, KEPT_NUMBERS // (2 * self.sides.dims)
        far = np.concatenate([home.lower - points, points - home.upper], axis=1)
        self._far = np.concatenate([self._far, far])[-most:]
        self._failed = np.concatenate([self._failed, ~faithful])[-most:]

    def improved(
        self, slopes: Slopes, extent: FloatArray, aim: float, edge: FloatArray | None = None
    ) -> FloatArray:
        """The extents after all moves that pay, for a box that is to fail no more than the aim.

        Parameters
        ----------
        slopes : Slopes
            The model to ask where there are few draws.
        extent : array of shape (2 D,)
        aim : float
        edge : array of shape (2 D,), optional
            How far sides may go; the model's own edge, by default.
        """
        edge = slopes.edge if edge is None else np.minimum(edge, slopes.edge)
        extent = np.minimum(extent, edge)
        for _ in range(MOST_MOVES):
            tried = self._tried(extent, edge)
            gain = self._gain(slopes, extent, tried, float(special.logit(aim)))
            side, k = np.unravel_index(np.argmax(gain), gain.shape)
            if gain[side, k] < LEAST_GAIN:
                break
            extent = extent.copy()
            extent[side] = tried[side, k]
        return extent

    def _tried(self, extent: FloatArray, edge: FloatArray) -> FloatArray:
        """Extents to try for every side: some on the way, or the ends of its cells; its own, to fill up."""
        sides, here = self.sides, extent[:, np.newaxis]
        on_the_way = np.concatenate([here * INWARDS, here + (edge[:, np.newaxis] - here) * OUTWARDS], axis=1)
        if sides.coarse.size == 0:
            return on_the_way
        tried = np.repeat(here, max(on_the_way.shape[1], sides.rungs.shape[1]), axis=1)
        tried[:, : on_the_way.shape[1]] = on_the_way
        here = here[sides.coarse]
        tried[sides.coarse] = here
        tried[sides.coarse, : sides.rungs.shape[1]] = np.where(
            sides.rungs <= edge[sides.coarse, np.newaxis], sides.rungs, here
        )
        return tried

    def _gain(self, slopes: Slopes, extent: FloatArray, tried: FloatArray, target: float) -> FloatArray:
        """What every move brings in log volume, less what the failures cost that it brings."""
        counts, (draws, failures) = count_moves(self._far, self._failed, extent, tried)
        if draws < LEAST_DRAWS:
            return np.zeros(tried.shape)
        width = np.tile(self.sides.width(extent), 2)[:, np.newaxis]
        ratio = 1.0 + (tried - extent[:, np.newaxis]) / np.maximum(width, 1e-300)
        added = np.maximum(ratio - 1.0, 1e-12)
        before = max(slopes.failing(extent), 1e-4)
        after = np.maximum(special.expit(slopes.odds_after(extent, tried)), 1e-4)
        beyond = np.clip((ratio * after - before) / added, 1e-3, 0.95)

        share = _share(failures, draws, before, WHOLE_FAILURES)
        larger = (share + added * _share(counts[1], counts[0], beyond, PRIOR_FAILURES)) / (1.0 + added)
        smaller = _share(counts[1], counts[0], after, WHOLE_FAILURES)
        shares = np.where(ratio > 1.0, larger, smaller)
        return np.asarray(np.log(np.maximum(ratio, 1e-300)) + _cost(share, target) - _cost(shares, target))


def _share(failures: FloatArray, draws: FloatArray, model: FloatArray | float, weight: float) -> FloatArray:
    """A failing share, from draws and from the model, whose word weighs as much as so many failures."""
    return np.asarray((failures + weight) / (draws + weight / model))


def _cost(share: FloatArray, target: float) -> FloatArray:
    over = np.maximum(special.logit(np.minimum(share, 0.999)) - target, 0.0)
    return np.asarray(PENALTY * over**2)
