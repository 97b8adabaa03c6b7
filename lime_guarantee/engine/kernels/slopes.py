"""The kernels of a fitted boundary: how often a box fails under it, and how that changes with its sides.

The log-odds that a point fails are a bias, plus a profile of each feature, plus the square of a weighted
sum: two sums of independent terms, one an axis. A profile is linear between knots, and has a row of heights
for each side; it is level beyond the last knot. Their distribution in a box is close to normal, so a box's
failing share follows from five moments of every axis, in closed form and without a draw.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.support.arrays import FloatArray, IntArray

PROBIT_VARIANCE = 2.9
"""The logistic function is close to the normal distribution of this variance."""

NODES, NODES_PER_DEVIATION = 25, 5.0
"""The pulled sum is integrated over twice so many nodes, at these steps."""

SMALL, STEP = 1e-12, 1e-5
"""The least variance that is divided by; the relative step of a difference quotient."""

MOMENTS = 5
"""Moments of an axis; see `axis_moments`."""


class Model(NamedTuple):
    """A fitted boundary, in the units of its extents.

    Parameters
    ----------
    bias : float
    home : array of shape (D,)
        The width of the instance's own place on every axis.
    knots : array of shape (K,)
        Where profiles bend.
    heights : array of shape (2 D, K)
        The profile of every side at the knots.
    pull : array of shape (D,)
    """

    bias: float
    home: FloatArray
    knots: FloatArray
    heights: FloatArray
    pull: FloatArray


class Costs(NamedTuple):
    """What it costs to move a side by a cell.

    A move costs a price for the log-odds that it adds, for which other sides will be drawn in. Where these
    come to be too high for that, or no other side can move, it costs a penalty on the square of what is too
    high.

    Parameters
    ----------
    target : float
        The log-odds aimed at.
    room : float
        By how much they may be higher, for the price.
    price, penalty : float
        Of log-odds, and of the square of what is too high; no price if 0.
    """

    target: float
    room: float
    price: float
    penalty: float


@kernel
def axis_moments(i: int, extent: FloatArray, model: Model, found: FloatArray) -> None:
    """Mean and variance of an axis' term, of its share in the pulled sum, and their covariance."""
    home, knots, heights, pull = model.home, model.knots, model.heights, model.pull
    dims = home.size
    found[:] = 0.0
    width = extent[i] + extent[dims + i] + home[i]
    if width <= 0.0:
        return
    f1, f2, u1, u2, uf = 0.0, 0.0, 0.0, 0.0, 0.0
    for half in range(2):
        side, sign = half * dims + i, 2.0 * half - 1.0
        x = extent[side]
        u1 += sign * x**2 / 2
        u2 += x**3 / 3
        for j in range(knots.size):
            start = knots[j]
            if start >= x:
                break
            last = j + 1 == knots.size
            end = x if last else min(knots[j + 1], x)
            rise = 0.0 if last else (heights[side, j + 1] - heights[side, j]) / (knots[j + 1] - start)
            h, w = heights[side, j], end - start
            f1 += h * w + rise * w**2 / 2
            f2 += h * h * w + h * rise * w**2 + rise * rise * w**3 / 3
            uf += sign * (start * (h * w + rise * w**2 / 2) + h * w**2 / 2 + rise * w**3 / 3)
    f1, f2, u1, u2, uf = f1 / width, f2 / width, u1 / width, u2 / width, uf / width
    found[0], found[1] = f1, f2 - f1 * f1
    found[2], found[3] = pull[i] * u1, pull[i] * pull[i] * (u2 - u1 * u1)
    found[4] = pull[i] * (uf - u1 * f1)


@kernel
def moments(extent: FloatArray, model: Model) -> FloatArray:
    """The moments of all axes, a row each; see `axis_moments`."""
    found = np.empty((model.home.size, MOMENTS))
    for i in range(model.home.size):
        axis_moments(i, extent, model, found[i])
    return found


@kernel
def widths(extent: FloatArray, model: Model) -> FloatArray:
    """The width of every axis."""
    dims = model.home.size
    return np.maximum(extent[:dims] + extent[dims:] + model.home, 1e-300)


@kernel
def log_odds(bias: float, total: FloatArray) -> float:
    """The log-odds that a draw fails, from the moments summed over all axes."""
    mean, variance, pulled, spread, together = total[0], total[1], total[2], total[3], total[4]
    deviation = math.sqrt(max(spread, SMALL))
    left = max(variance - together * together / max(spread, SMALL), 0.0)
    scale = math.sqrt(2.0 * (PROBIT_VARIANCE + left))
    bad, good = 0.0, 0.0
    for k in range(-NODES, NODES + 1):
        z = k / NODES_PER_DEVIATION
        weight = math.exp(-z * z / 2)
        odds = (bias + mean + together / deviation * z + (pulled + deviation * z) ** 2) / scale
        tail = weight * math.erfc(abs(odds))  # one of the two is small, and is to be right
        bad += tail if odds < 0.0 else 2.0 * weight - tail
        good += tail if odds >= 0.0 else 2.0 * weight - tail
    return math.log(max(bad, 1e-290)) - math.log(max(good, 1e-290))


@kernel
def moment_slopes(bias: float, total: FloatArray) -> tuple[float, FloatArray]:
    """The log-odds that a draw fails, and their slopes by the moments summed over all axes."""
    odds = log_odds(bias, total)
    slopes = np.empty(total.size)
    for k in range(total.size):
        moved = total.copy()
        way = 1e-4 * max(abs(total[k]), 1e-3)
        moved[k] += way
        slopes[k] = (log_odds(bias, moved) - odds) / way
    return odds, slopes


@kernel
def odds_and_slopes(extent: FloatArray, model: Model) -> tuple[float, FloatArray]:
    """The log-odds that a draw fails, and their slopes by the logarithms of all extents."""
    dims = model.home.size
    base = moments(extent, model)
    odds, by_moment = moment_slopes(model.bias, base.sum(axis=0))
    slopes = np.empty(2 * dims)
    for half in range(2):
        longer = extent.copy()
        longer[half * dims : (half + 1) * dims] *= 1.0 + STEP
        moved_axes = moments(longer, model)
        for i in range(dims):
            change = 0.0
            for k in range(MOMENTS):
                change += by_moment[k] * (moved_axes[i, k] - base[i, k])
            slopes[half * dims + i] = change / STEP
    return odds, slopes


@kernel
def loss_and_slopes(
    extent: FloatArray, model: Model, target: float, penalty: float
) -> tuple[float, FloatArray]:
    """What a box falls short, and its slopes by the logarithms of all extents.

    That is minus its log volume, and a penalty on the square of the log-odds above a target.
    """
    odds, slopes = odds_and_slopes(extent, model)
    width, over = widths(extent, model), max(odds - target, 0.0)
    loss = penalty * over**2
    for i in range(width.size):
        loss -= math.log(width[i])
        for side in (i, width.size + i):
            slopes[side] = 2.0 * penalty * over * slopes[side] - extent[side] / width[i]
    return loss, slopes


@kernel
def gain_of_cell(ratio: float, odds: float, after: float, costs: Costs) -> float:
    """What it brings to make an axis longer by a factor, if the log-odds are others after that."""
    if costs.price > 0.0 and after < max(odds, costs.target + costs.room):
        return math.log(ratio) - costs.price * (after - odds)
    over, over_after = max(odds - costs.target, 0.0), max(after - costs.target, 0.0)
    return math.log(ratio) + costs.penalty * (over**2 - over_after**2)


@kernel
def climb(
    costs: Costs, extent: FloatArray, model: Model, sides: IntArray, rungs: FloatArray, most: int
) -> FloatArray:
    """Move sides of few cells by a cell at a time, the move that pays best first.

    Parameters
    ----------
    costs, extent, model : what a move costs; the box, and the model
    sides, rungs : sides that move so, and the extents they may have, a row each, from 0 on; then infinity
    most : the most moves
    """
    dims, extent = model.home.size, extent.copy()
    base = moments(extent, model)
    total = base.sum(axis=0)
    trial = np.empty(MOMENTS)
    odds = log_odds(model.bias, total)
    for _ in range(most):
        best, best_side, best_extent = 1e-3, -1, 0.0
        for k in range(sides.size):
            side, now = sides[k], extent[sides[k]]
            axis = side % dims
            width = extent[axis] + extent[dims + axis] + model.home[axis]
            for j in range(rungs.shape[1]):
                below = j + 1 < rungs.shape[1] and rungs[k, j + 1] == now
                above = j > 0 and rungs[k, j - 1] == now
                if not np.isfinite(rungs[k, j]) or not (below or above):
                    continue
                extent[side] = rungs[k, j]
                axis_moments(axis, extent, model, trial)
                extent[side] = now
                after = log_odds(model.bias, total - base[axis] + trial)
                gain = gain_of_cell((width - now + rungs[k, j]) / width, odds, after, costs)
                if gain > best:
                    best, best_side, best_extent = gain, side, rungs[k, j]
        if best_side < 0:
            break
        extent[best_side] = best_extent
        axis = best_side % dims
        axis_moments(axis, extent, model, trial)
        total += trial - base[axis]
        base[axis] = trial
        odds = log_odds(model.bias, total)
    return extent
