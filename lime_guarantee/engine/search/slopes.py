"""Where what fails lies behind slopes: a small model of the boundary, and the largest box under it.

The log-odds that a point fails are taken for ::

    bias + sum over sides (step + slope distance) + sum over axes bend distance^2 + (pull . places)^2

Distances are measured from the instance. A step is what leaving the instance on that side does by itself, a
slope what going farther does; the square stands for features whose pulls add up, or cancel, until model and
surrogate are too far apart in one direction or the other. Every draw tells something of all sides at once, so
this takes far fewer draws than watching the faces one by one.

How often a box fails under the model is known in closed form (see the kernels), so its largest box of a given
failing share is found by a standard optimiser. It is right only near the points it was fitted to: sides
move a little, points are drawn anew, and the model is fitted again.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from lime_guarantee.engine.kernels.slopes import climb, log_odds, moments, odds_and_slopes
from lime_guarantee.engine.search.sides import Sides
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

RIDGE = 0.5
"""The pull of the model's weights towards 0."""

NEWTON_STEPS, CONJUGATE_STEPS = 2, 10
"""Steps in which the model is fitted anew, each solved in so many: it starts from the last fit."""

KEPT, KEPT_AT_LEAST, KEPT_NUMBERS = 120, 400, 1_200_000
"""The most faithful and the most failing points that are kept, times the number of features; in any case so
many; and the most numbers that they are, which bounds time and memory."""

NEAR = 1.6
"""The model is fitted to points within the box enlarged by this factor."""

FIRST_PULL, LEAST_PULL, PULL_STEPS = 0.5, 0.05, 30
"""A pull below the least has no slope to go by: it starts along the main direction of the failures, found in
so many power steps."""

PRIOR_FAILURES = 3.0
"""The model's own word for a box's failing share weighs as much as draws with so many failures."""

PENALTY = 30.0
"""What the square of too high log-odds costs, in log volume."""

SOLVER_STEPS = 12
"""The most steps in which a box is looked for: it starts from the last one."""

SMALLEST = 1e-3
"""The least extent of a side, as a share of half the width: so it can come back."""

Weights = tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]
"""Home widths, steps, slopes, bends and pulls, as the kernels take them."""


class Slopes:
    """A model of the boundary, and the points it was fitted to.

    Parameters
    ----------
    sides : Sides
    edge : array of shape (2 D,)
        How far the sides may go.
    """

    def __init__(self, sides: Sides, edge: FloatArray) -> None:
        self.sides, self.edge = sides, edge
        dims = sides.dims
        self.points = np.empty((0, dims))
        self.failed = np.empty(0, dtype=np.bool_)
        self.bias, self.shift = -1.0, 0.0
        self.step, self.slope = np.zeros(2 * dims), np.zeros(2 * dims)
        self.bend, self.pull = np.zeros(dims), np.zeros(dims)
        self.unit = np.ones(dims)

    def note(self, points: FloatArray, faithful: BoolArray) -> None:
        """Take note of draws."""
        self.points = np.concatenate([self.points, points])
        self.failed = np.concatenate([self.failed, ~faithful])
        dims = self.sides.dims
        most = max(min(KEPT * dims, KEPT_NUMBERS // dims), KEPT_AT_LEAST)
        kept = [np.flatnonzero(which)[-most:] for which in (self.failed, ~self.failed)]
        if sum(map(len, kept)) < len(self.points):
            chosen = np.sort(np.concatenate(kept))
            self.points, self.failed = self.points[chosen], self.failed[chosen]

    def fit(self, extent: FloatArray, failures: int, draws: int) -> None:
        """Fit the model near the box of some extents, in which so many of so many draws failed."""
        dims = self.sides.dims
        coarse = self.sides.coarse
        spread = extent.copy()
        spread[coarse] = self.sides.edge[coarse]
        unit = np.maximum(np.maximum(spread[:dims], spread[dims:]), 1e-12)
        self._rescale(unit / self.unit)
        self.unit = unit
        near = self.sides.box(np.minimum(NEAR * spread, self.sides.edge)).contains(self.points)
        home = self.sides.home
        points = self.points[near]
        places = np.maximum(points - home.upper, 0.0) - np.maximum(home.lower - points, 0.0)
        places /= unit
        self._fit(places.astype(np.float32), self.failed[near])
        self._calibrate(extent, failures, draws)

    def failing(self, extent: FloatArray) -> float:
        """How often the box of some extents fails under the model."""
        total = moments(self._scaled(extent), *self._weights()).sum(axis=0)
        return float(special.expit(log_odds(self.bias + self.shift, total)))

    def largest(
        self, extent: FloatArray, aim: float, trust: float, edge: FloatArray | None = None
    ) -> FloatArray:
        """Extents of the largest box that fails no more than the aim, near the box of some extents.

        Parameters
        ----------
        extent : array of shape (2 D,)
        aim : float
        trust : float
            How far sides may move: by this much in the logarithm of the width, in the middle of which the
            instance lies.
        edge : array of shape (2 D,), optional
            How far they may go at all.
        """
        edge = self.edge if edge is None else np.minimum(edge, self.edge)
        weights, bias, target = self._weights(), self.bias + self.shift, float(special.logit(aim))
        extent = self._climbed(np.minimum(extent, edge), edge, target)
        coarse = np.isin(np.arange(edge.size), self.sides.coarse)
        free = np.flatnonzero((edge > 0) & ~coarse)
        if free.size == 0:
            return extent
        half = np.tile(self.sides.width(extent), 2) / 2
        start = np.where(coarse, extent, np.maximum(extent, np.minimum(SMALLEST * half, edge)))
        low = np.maximum(start + np.expm1(-trust) * half, np.minimum(SMALLEST * half, start))
        high = np.minimum(start + np.expm1(trust) * half, edge)
        unit = np.tile(self.unit, 2)
        scaled = self._scaled(start)

        def loss(logs: FloatArray) -> tuple[float, FloatArray]:
            tried = scaled.copy()
            tried[free] = np.exp(logs)
            odds, slopes = odds_and_slopes(bias, tried, *weights)
            width = tried[: self.sides.dims] + tried[self.sides.dims :] + weights[0]
            over = max(odds - target, 0.0)
            rise = 2.0 * PENALTY * over * slopes - tried / np.tile(width, 2)
            return -float(np.log(width).sum()) + PENALTY * over**2, rise[free]

        bounds = np.log(np.column_stack([low, high])[free] / unit[free, np.newaxis])
        found = optimize.minimize(
            loss,
            np.clip(np.log(scaled[free]), *bounds.T),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": SOLVER_STEPS, "maxfun": 2 * SOLVER_STEPS},
        )
        scaled[free] = np.exp(found.x)
        new = np.where(coarse, extent, np.where(edge > 0, scaled * unit, 0.0))
        return np.where(new > 0.999 * edge, edge, new)

    def _climbed(self, extent: FloatArray, edge: FloatArray, target: float) -> FloatArray:
        """The extents, sides of few cells moved by whole cells as far as that pays under the model."""
        coarse = self.sides.coarse
        if coarse.size == 0:
            return extent
        unit = np.tile(self.unit, 2)[coarse, np.newaxis]
        allowed = self.sides.rungs <= edge[coarse, np.newaxis]
        rungs = np.where(allowed, self.sides.rungs, np.inf) / unit
        tried = self._scaled(extent)
        # A side between two cells goes down to the nearer one.
        tried[coarse] = np.max(np.where(rungs <= tried[coarse, np.newaxis], rungs, 0.0), axis=1)
        moves = 2 * coarse.size
        scaled = climb(self.bias + self.shift, target, PENALTY, tried, *self._weights(), coarse, rungs, moves)
        new = extent.copy()
        new[coarse] = scaled[coarse] * unit[:, 0]
        return new

    def _weights(self) -> Weights:
        return self.sides.home.width / self.unit, self.step, self.slope, self.bend, self.pull

    def _scaled(self, extent: FloatArray) -> FloatArray:
        return np.asarray(extent / np.tile(self.unit, 2))

    def _rescale(self, ratio: FloatArray) -> None:
        """Express the weights in new units."""
        self.slope = self.slope * np.tile(ratio, 2)
        self.bend, self.pull = self.bend * ratio**2, self.pull * ratio

    def _calibrate(self, extent: FloatArray, failures: int, draws: int) -> None:
        """Shift the model so that the box fails about as often as it did."""
        expected = min(max(self.failing(extent), 1e-5), 0.9)
        share = (failures + PRIOR_FAILURES) / (draws + PRIOR_FAILURES / expected)
        total = moments(self._scaled(extent), *self._weights()).sum(axis=0)
        target = float(special.logit(share))
        low, high = -30.0, 30.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if log_odds(self.bias + middle, total) < target else (low, middle)
        self.shift = (low + high) / 2

    def _fit(self, places: AnyArray, failed: BoolArray) -> None:
        """Improve the penalised likelihood by Newton's method, its equations solved by conjugate gradients.

        As many failing as faithful points are kept, about; that changes the bias alone, which is calibrated.
        """
        if len(places) == 0:
            return
        dims = places.shape[1]
        if np.abs(self.pull).max() < LEAST_PULL and failed.any():
            self.pull = FIRST_PULL * _main_direction(places, failed, self.sides.rng)
        above = np.maximum(places, 0.0)
        below = above - places
        terms = np.concatenate([below > 0, above > 0, below, above, places**2], axis=1, dtype=np.float32)
        weights = np.concatenate([[self.bias], self.step, self.slope, self.bend, self.pull])
        bends, pulls = slice(1 + 4 * dims, 1 + 5 * dims), slice(1 + 5 * dims, None)

        def odds(tried: FloatArray) -> tuple[AnyArray, AnyArray, float]:
            single = tried.astype(np.float32)
            pulled = places @ single[pulls]
            found = single[0] + terms @ single[1 : 1 + 5 * dims] + pulled**2
            loss = np.sum(np.logaddexp(0.0, found) - failed * found) + RIDGE / 2 * np.sum(tried[1:] ** 2)
            return found, pulled, float(loss)

        found, pulled, loss = odds(weights)
        for _ in range(NEWTON_STEPS):
            way = _newton_step(weights, terms, places, 2.0 * pulled, special.expit(found), failed)
            for shorter in (1.0, 0.3, 0.1, 0.03):
                tried = weights + shorter * way
                tried[bends] = np.maximum(tried[bends], 0.0)  # a boundary that bends back is noise
                after = odds(tried)
                if after[2] < loss:
                    break
            else:
                break
            weights, (found, pulled, loss) = tried, after
        self.bias = float(weights[0])
        self.step, self.slope = weights[1 : 1 + 2 * dims], weights[1 + 2 * dims : 1 + 4 * dims]
        self.bend, self.pull = weights[bends], weights[pulls]


def _newton_step(
    weights: FloatArray,
    terms: AnyArray,
    places: AnyArray,
    doubled: AnyArray,
    chance: FloatArray,
    failed: BoolArray,
) -> FloatArray:
    """The step of Gauss and Newton to the maximum of the likelihood, by conjugate gradients."""
    count = terms.shape[1]
    ridge = np.full(weights.size, RIDGE)
    ridge[0] = 1e-6
    spread = np.maximum(chance * (1.0 - chance), 1e-3)

    def back(residual: FloatArray) -> FloatArray:
        single = residual.astype(np.float32)
        return np.concatenate([[residual.sum()], single @ terms, (doubled * single) @ places])

    def curved(way: FloatArray) -> FloatArray:
        single = way.astype(np.float32)
        moved = single[0] + terms @ single[1 : 1 + count] + doubled * (places @ single[1 + count :])
        return np.asarray(back(spread * moved) + ridge * way)

    slope = back(chance - failed) + ridge * weights
    step = np.zeros(weights.size)
    residual, way = -slope, -slope
    size = first = float(slope @ slope)
    for _ in range(CONJUGATE_STEPS):
        bent = curved(way)
        length = size / max(float(way @ bent), 1e-300)
        step = step + length * way
        residual = residual - length * bent
        new = float(residual @ residual)
        if new < 1e-4 * first:
            break
        way, size = residual + new / size * way, new
    return step


def _main_direction(places: AnyArray, failed: BoolArray, rng: np.random.Generator) -> FloatArray:
    """The direction in which failures spread most, over the spread of all points."""
    spread = places.std(axis=0) + 1e-9
    around = (places[failed] - places.mean(axis=0)) / spread
    way = rng.standard_normal(places.shape[1])
    for _ in range(PULL_STEPS):
        way = around.T @ (around @ way)
        way /= np.linalg.norm(way) + 1e-300
    return np.asarray(way / np.maximum(spread, 0.05))
