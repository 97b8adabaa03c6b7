"""What weighted draws, and a model of the boundary, say of boxes that differ in single sides.

A side may stand at one of some places, numbered from the instance outwards; a draw has for each side the
first place at which a box holds it. Every draw stands for a volume, its weight: the same draws can then have
been made in several boxes. Three sums tell of a box: of the weights, of those that failed, and of their
squares. So many draws, alike, would tell as much: the square of the first sum over the third.
"""

from __future__ import annotations

import math

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.engine.kernels.slopes import axis_moments, moment_slopes, moments
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

LEAST_SHARE = 1e-4
"""The least failing share that the model is believed: it never says that nothing fails."""


@kernel
def side_sums(
    first: IntArray, failed: BoolArray, weight: FloatArray, place: IntArray, places: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums over the draws of a box, and over those that a single side keeps out.

    Parameters
    ----------
    first : array of shape (draws, 2 D)
        The first place of every side at which a box holds the draw.
    failed : array of shape (draws,)
    weight : array of shape (draws,)
    place : array of shape (2 D,)
        Where the sides of the box stand.
    places : int
        The most places that a side has.

    Returns
    -------
    array of shape (3, 2 D, places)
        Of draws inside, by the first place of every side.
    array of shape (3, 2 D, places)
        Of draws that one side alone keeps out, by its first place that lets them in.
    array of shape (3,)
        Of all draws inside.
    """
    sides = place.size
    inside = np.zeros((3, sides, places))
    beyond = np.zeros((3, sides, places))
    total = np.zeros(3)
    for i in range(len(first)):
        outside, keeps_out = 0, -1
        for side in range(sides):
            if first[i, side] > place[side]:
                outside += 1
                keeps_out = side
                if outside > 1:
                    break
        if outside > 1:
            continue
        w = weight[i]
        bad = w if failed[i] else 0.0
        if outside == 1:
            k = first[i, keeps_out]
            beyond[0, keeps_out, k] += w
            beyond[1, keeps_out, k] += bad
            beyond[2, keeps_out, k] += w * w
            continue
        total[0] += w
        total[1] += bad
        total[2] += w * w
        for side in range(sides):
            k = first[i, side]
            inside[0, side, k] += w
            inside[1, side, k] += bad
            inside[2, side, k] += w * w
    return inside, beyond, total


@kernel
def share_of_odds(odds: float) -> float:
    """The share whose log-odds these are; far from any draw the model's can be of any size."""
    return 1.0 / (1.0 + math.exp(min(-odds, 700.0)))


@kernel
def failing_share(weights: float, failing: float, squares: float, model: float, trust: float) -> float:
    """A failing share from sums over draws, and from the model, whose word counts as so many failures."""
    draws = weights * weights / squares if squares > 0.0 else 0.0
    seen = failing / weights if weights > 0.0 else 0.0
    return min((seen * draws + trust) / (draws + trust / max(model, LEAST_SHARE)), 0.999)


@kernel
def peeled(
    first: IntArray,
    failed: BoolArray,
    weight: FloatArray,
    place: IntArray,
    extents: FloatArray,
    counts: IntArray,
    bias: float,
    unit: FloatArray,
    home: FloatArray,
    knots: FloatArray,
    heights: FloatArray,
    pull: FloatArray,
    aim: float,
    trust: float,
    penalty: float,
    least: float,
    outwards: bool,
) -> IntArray:
    """The places of the sides once all moves are made that pay.

    As long as the box fails more often than the aim, the move comes first that lowers its log-odds most for
    the log width that it costs. Then the move comes first that pays best: log width, less the penalty on the
    square of log-odds above the aim. What the model says after a move is linear in the moments of its axis.

    Parameters
    ----------
    first, failed, weight, place : draws, and where the sides stand; see `side_sums`
    extents : array of shape (2 D, places)
        The extent of every side at every place.
    counts : array of shape (2 D,)
        How many places each side has.
    bias, unit, home, knots, heights, pull : the model, and the units of its extents; see `moments`
    aim : float
        The failing share aimed at.
    trust : float
        As how many failures the model's word counts.
    penalty, least : float
        What too high log-odds cost, and the least gain for which a side moves.
    outwards : bool
        Whether sides may move outwards, too.
    """
    dims, place = home.size, place.copy()
    goal = math.log(aim / (1.0 - aim))
    scaled = np.empty(2 * dims)
    for side in range(2 * dims):
        scaled[side] = extents[side, place[side]] / unit[side % dims]
    moved = np.empty(5)
    too_often = True
    for _ in range(4 * counts.sum()):
        inside, beyond, total = side_sums(first, failed, weight, place, extents.shape[1])
        each = moments(scaled, home, knots, heights, pull)
        odds, by_moment = moment_slopes(bias, each.sum(axis=0))
        share = failing_share(total[0], total[1], total[2], share_of_odds(odds), trust)
        over = math.log(share / (1.0 - share)) - goal
        too_often = too_often and over > 0.0
        best, best_side, best_place = 0.0 if too_often else least, -1, -1
        for side in range(2 * dims):
            axis, now, here = side % dims, place[side], scaled[side]
            width = scaled[axis] + scaled[dims + axis] + home[axis]
            within = np.zeros(3)
            without = total.copy()
            last = counts[side] if outwards and not too_often else now
            for k in range(last):
                if k < now:
                    within += inside[:, side, k]
                    sums = within
                elif k > now:
                    without += beyond[:, side, k]
                    sums = without
                else:
                    continue
                scaled[side] = extents[side, k] / unit[axis]
                new_width = width + scaled[side] - here
                if new_width <= 0.0:
                    continue
                axis_moments(axis, scaled, home, knots, heights, pull, moved)
                change = 0.0
                for j in range(moved.size):
                    change += by_moment[j] * (moved[j] - each[axis, j])
                share = failing_share(sums[0], sums[1], sums[2], share_of_odds(odds + change), trust)
                after = max(math.log(share / (1.0 - share)) - goal, 0.0)
                longer = math.log(new_width / max(width, 1e-300))
                if too_often:
                    gain = (over - after) / (1e-3 - longer)
                else:
                    gain = longer + penalty * (max(over, 0.0) ** 2 - after**2)
                if gain > best:
                    best, best_side, best_place = gain, side, k
            scaled[side] = here
        if best_side < 0:
            if not too_often:
                break
            too_often = False
            continue
        place[best_side] = best_place
        scaled[best_side] = extents[best_side, best_place] / unit[best_side % dims]
    return place
