"""Where what fails lies behind slopes: a small model of the boundary, and the largest box under it.

The log-odds that a point fails are taken for ::

    bias + sum over sides profile(distance) + (pull . places)^2

Distances are measured from the instance. A profile is linear between a few knots, so it can stand for a
slope, a step, or a band that fails; the square stands for features whose pulls add up, or cancel, until model
and surrogate are too far apart in one direction or the other. Every draw tells something of all sides at
once, so this takes far fewer draws than watching the faces one by one.

How often a box fails under the model is known in closed form (see the kernels), so its largest box of a given
failing share is found by a standard optimiser. It is right only near the points it was fitted to: sides
move a little, points are drawn anew, and the model is fitted again.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from lime_guarantee.engine.kernels.bins import BINS, binned
from lime_guarantee.engine.kernels.slopes import (
    Costs,
    Model,
    climb,
    log_odds,
    loss_and_slopes,
    moments,
    odds_and_slopes,
)
from lime_guarantee.engine.search.likelihood import KNOTS, Likelihood, main_direction
from lime_guarantee.engine.search.sides import FEW_CELLS, FEW_FEATURES, Sides
from lime_guarantee.support.arrays import BoolArray, ByteArray, FloatArray

SLOPE, BEND, STEP = 17.0, 11.0, 5.0
"""What profiles are expected to be: their slopes, how these change along the way, and steps between knots, as
standard deviations of log-odds, over the square root of the number of features: so the sum of all profiles is
of one size, however many there are. Most boundaries are smooth, so slopes are freer than steps."""

NEWTON_STEPS, CELL_STEPS, LEAST_BETTER = 2, 10, 0.01
"""The most steps in which the model is fitted anew, from the last fit on, and as many in which the equations
of each are solved; more if all sides have few cells, which stand or fall by what the model says of them; and
the least gain of likelihood for which it goes on."""

KEPT, KEPT_NUMBERS = 120, 2_400_000
"""The most faithful and the most failing points that are kept, times the number of features; and the most
numbers that they are, which bounds time and memory."""

FIRST_PULL, LEAST_PULL = 0.5, 0.05
"""A pull below the least has no slope to go by: it starts along the main direction of the failures."""

PRIOR_FAILURES = 3.0
"""The model's own word for a box's failing share weighs as much as draws with so many failures."""

PENALTY = 30.0
"""What the square of too high log-odds costs, in log volume."""

ROOM_FOR_CELLS = 0.3
"""By how much log-odds may be too high after a side has moved by a whole cell, in the hope that other sides
make up for it."""

CELLS_MOVED = 0.12
"""How many sides of few cells move by a cell at once: of all of them, times the trust, this share, and two at
least. Of many that the model calls harmless at once, some are not."""

SOLVER_STEPS = 30
"""The most steps in which a box is looked for: it starts from the last one."""

SMALLEST = 1e-3
"""The least extent of a side, as a share of half the width: so it can come back."""

NEAR_EDGE = 0.97
"""A side that comes so near to the edge goes there: sides that do not matter stop short of it by noise."""


def _expected(sides: Sides) -> FloatArray:
    """Factors that turn independent numbers of deviation 1 into rises of profiles as expected, one a side.

    Cells have no slope: next to each other, they may be what they like.
    """
    length = np.diff(KNOTS)
    middle = KNOTS[:-1] + length / 2
    slopes = SLOPE**2 + BEND**2 * np.minimum.outer(middle, middle)
    covariance = np.eye(KNOTS.size)
    covariance[1:, 1:] = (np.outer(length, length) * slopes + STEP**2 * np.eye(length.size)) / sides.dims
    factors = np.repeat(np.linalg.cholesky(covariance)[np.newaxis], 2 * sides.dims, axis=0)
    factors[sides.coarse] = np.eye(KNOTS.size)
    return factors


class Slopes:
    """A model of the boundary, and the points it was fitted to.

    Parameters
    ----------
    sides : Sides
    """

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        dims = sides.dims
        self.points = np.empty((0, dims))
        self.failed = np.empty(0, dtype=np.bool_)
        self.bias, self.shift = -1.0, 0.0
        self.rises = np.zeros((2 * dims, KNOTS.size))  # of every side, at the first knot and between knots
        self.pull = np.zeros(dims)
        self._expected = _expected(sides)
        self.unit = np.ones(dims)
        # Only outside of an atom is there anything at a distance of 0; in a single cell, all is alike.
        self._may_rise = np.ones(self.rises.shape)
        self._may_rise[~np.tile(sides.home.width > 0, 2), 0] = 0.0
        self._may_rise[np.tile(sides.cube.cells == 2, 2), 1:] = 0.0

    @property
    def heights(self) -> FloatArray:
        """The profile of every side at the knots."""
        return np.cumsum(self.rises, axis=1)

    def note(self, points: FloatArray, faithful: BoolArray) -> None:
        """Take note of draws; the oldest ones are forgotten where there are too many."""
        dims, known = self.sides.dims, len(self.failed)
        most = min(KEPT * dims, KEPT_NUMBERS // dims)
        failed = np.concatenate([self.failed, ~faithful])
        kept = np.ones(failed.size, dtype=np.bool_)
        for which in (failed, ~failed):
            kept[np.flatnonzero(which)[:-most]] = False
        self.points = np.concatenate([self.points[kept[:known]], points[kept[known:]]])
        self.failed = failed[kept]

    def fit(self, extent: FloatArray, failures: int, draws: int) -> None:
        """Fit the model near the box of some extents, in which so many of so many draws failed."""
        dims, coarse, home = self.sides.dims, self.sides.coarse, self.sides.home
        spread = extent.copy()
        spread[coarse] = self.sides.edge[coarse]
        self._rescale(np.maximum(np.maximum(spread[:dims], spread[dims:]), 1e-12))
        near = self.sides.box(np.minimum(KNOTS[-1] * spread, self.sides.edge)).contains(self.points)
        if near.any():
            part = self.unit * KNOTS[-1] / BINS
            self._fit(binned(self.points[near], home.lower, home.upper, part), self.failed[near])
        self._calibrate(extent, failures, draws)

    def failing(self, extent: FloatArray) -> float:
        """How often the box of some extents fails under the model."""
        model = self.model
        total = moments(self._scaled(extent), model).sum(axis=0)
        return float(special.expit(log_odds(model.bias, total)))

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
        edge = self.sides.edge if edge is None else edge
        target = float(special.logit(aim))
        if self.sides.all_coarse:  # anew from as far as sides may go: no step is final
            return self._climbed(edge, edge, target, FEW_CELLS * self.sides.coarse.size)
        most = max(2, int(np.ceil(CELLS_MOVED * trust * self.sides.coarse.size)))
        extent = self._climbed(np.minimum(extent, edge), edge, target, most)
        return self._moved(extent, edge, target, trust)

    def limit(self, extent: FloatArray, trust: float) -> FloatArray:
        """How far sides may move out from some extents: of few cells by a cell, or not with many features."""
        sides = self.sides
        far: FloatArray = np.minimum(extent + np.expm1(trust) * self._half_width(extent), sides.edge)
        few = sides.dims <= FEW_FEATURES
        far[sides.coarse] = sides.next_rungs(extent) if few else extent[sides.coarse]
        return far

    def _half_width(self, extent: FloatArray) -> FloatArray:
        half = np.maximum(np.tile(self.sides.width(extent), 2) / 2, SMALLEST * np.tile(self.unit, 2))
        return np.asarray(half)

    def _moved(self, extent: FloatArray, edge: FloatArray, target: float, trust: float) -> FloatArray:
        """The extents of the best box within the trust, sides of few cells left where they are."""
        model = self.model
        coarse = np.isin(np.arange(edge.size), self.sides.coarse)
        free = np.flatnonzero((edge > 0) & ~coarse)
        unit = np.tile(self.unit, 2)
        half = self._half_width(extent)
        start = np.where(coarse, extent, np.maximum(extent, np.minimum(SMALLEST * half, edge)))
        low = np.maximum(start + np.expm1(-trust) * half, np.minimum(SMALLEST * half, start))
        high = np.minimum(start + np.expm1(trust) * half, edge)
        scaled = self._scaled(start)

        def loss(logs: FloatArray) -> tuple[float, FloatArray]:
            scaled[free] = np.exp(logs)
            value, slopes = loss_and_slopes(scaled, model, target, PENALTY)
            return value, slopes[free]

        if free.size == 0:
            return extent
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
        return np.where(new > NEAR_EDGE * edge, edge, new)

    def _climbed(self, extent: FloatArray, edge: FloatArray, target: float, most: int) -> FloatArray:
        """The extents, sides of few cells moved a cell at a time as long as that pays, at most so often."""
        coarse = self.sides.coarse
        if coarse.size == 0:
            return extent
        unit = np.tile(self.unit, 2)[coarse, np.newaxis]
        allowed = self.sides.rungs <= edge[coarse, np.newaxis]
        rungs = np.where(allowed, self.sides.rungs, np.inf) / unit
        tried = self._scaled(extent)
        # A side between two cells goes down to the nearer one.
        tried[coarse] = np.max(np.where(rungs <= tried[coarse, np.newaxis], rungs, 0.0), axis=1)
        costs = Costs(target, ROOM_FOR_CELLS, self._price(tried), PENALTY)
        scaled = climb(costs, tried, self.model, coarse, rungs, most)
        new, rung = extent.copy(), np.argmax(rungs == scaled[coarse, np.newaxis], axis=1)
        new[coarse] = np.take_along_axis(self.sides.rungs, rung[:, np.newaxis], axis=1)[:, 0]
        return new

    def _price(self, scaled: FloatArray) -> float:
        """What log-odds cost in log volume, if other sides are drawn in to make up for it; 0 if none can."""
        dims, model = self.sides.dims, self.model
        _, slopes = odds_and_slopes(scaled, model)
        able = (slopes > 0) & (scaled < self._scaled(self.sides.edge))
        able[self.sides.coarse] = False
        width = np.tile(scaled[:dims] + scaled[dims:] + model.home, 2)
        return float(np.median(scaled[able] / width[able] / slopes[able])) if able.any() else 0.0

    @property
    def model(self) -> Model:
        """What was fitted, in present units."""
        home = self.sides.home.width / self.unit
        return Model(self.bias + self.shift, home, KNOTS, self.heights, self.pull)

    def _scaled(self, extent: FloatArray) -> FloatArray:
        return np.asarray(extent / np.tile(self.unit, 2))

    def _rescale(self, unit: FloatArray) -> None:
        """Express the weights in new units."""
        ratio = unit / self.unit
        profiles = zip(np.tile(ratio, 2), self.heights, strict=True)
        heights = np.array([np.interp(KNOTS * by, KNOTS, profile) for by, profile in profiles])
        self.rises = np.diff(heights, axis=1, prepend=0.0)
        self.pull = self.pull * ratio
        self.unit = unit

    def _calibrate(self, extent: FloatArray, failures: int, draws: int) -> None:
        """Shift the model so that the box fails about as often as it did."""
        expected = min(max(self.failing(extent), 1e-5), 0.9)
        share = (failures + PRIOR_FAILURES) / (draws + PRIOR_FAILURES / expected)
        total = moments(self._scaled(extent), self.model).sum(axis=0)
        target = float(special.logit(share))
        low, high = -30.0, 30.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if log_odds(self.bias + middle, total) < target else (low, middle)
        self.shift = (low + high) / 2

    def _fit(self, bins: ByteArray, failed: BoolArray) -> None:
        """Improve the penalised likelihood by Newton's method, its equations solved by conjugate gradients.

        As many failing as faithful points are kept, about; that changes the bias alone, which is calibrated.
        """
        if np.abs(self.pull).max() < LEAST_PULL and failed.any():
            self.pull = FIRST_PULL * main_direction(bins, failed, self.sides.rng)
        likelihood = Likelihood(bins, failed, self._may_rise, self._expected)
        free = np.linalg.solve(self._expected, self.rises[:, :, np.newaxis])
        weights = np.concatenate([[self.bias], free.ravel(), self.pull])
        loss = likelihood.loss(weights)
        steps = CELL_STEPS if self.sides.all_coarse else NEWTON_STEPS
        for _ in range(steps):
            way = likelihood.newton_step(weights, steps)
            for shorter in (1.0, 0.3, 0.1, 0.03):
                after = likelihood.loss(weights + shorter * way)
                if after < loss:
                    break
            else:
                break
            better, loss = loss - after, after
            weights = weights + shorter * way
            if better < LEAST_BETTER:
                break
        self.bias = float(weights[0])
        self.rises = likelihood.rises(weights)
        self.pull = weights[1 + self.rises.size :]
