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
from lime_guarantee.support.arrays import BoolArray, ByteArray, FloatArray, IntArray

LEAST_SHARE, MOST_SHARE = 1e-4, 1.0 - 1e-9
"""The least failing share that the model is believed: it never says that nothing fails. And the greatest one,
so that its log-odds are finite."""


@kernel
def side_sums(
    first: ByteArray, failed: BoolArray, weight: FloatArray, place: IntArray, places: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sums over the draws of a box, and over those that a single side keeps out.

    Parameters
    ----------
    first : array of shape (draws, 2 D)
        The first place of every side at which a box holds the draw; see `first_places`.
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
            if k >= places:
                continue
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
def first_places(far: FloatArray, extents: FloatArray, counts: IntArray, tiny: float) -> ByteArray:
    """The first place of every side at which a box holds each point; the number of places where none does.

    Parameters
    ----------
    far : array of shape (points, 2 D)
        How far points lie beyond the home, towards each side.
    extents : array of shape (2 D, places)
        The extent of every side at every place.
    counts : array of shape (2 D,)
        How many places each side has.
    tiny : float
        Extents that differ by less are the same.
    """
    found = np.empty(far.shape, dtype=np.uint8)
    for i in range(far.shape[0]):
        for side in range(far.shape[1]):
            place = 0
            while place < counts[side] and extents[side, place] + tiny < far[i, side]:
                place += 1
            found[i, side] = place
    return found


@kernel
def share_of_odds(odds: float) -> float:
    """The share whose log-odds these are; far from any draw the model's can be of any size."""
    return 1.0 / (1.0 + math.exp(min(-odds, 700.0)))


@kernel
def failing_share(
    weights: float, failing: float, squares: float, volume: float, model: float, trust: float
) -> float:
    """A failing share from sums over draws, and from the model, whose word counts as so many failures.

    Where the draws stand for less than the volume, the rest was not looked into, and the model is asked of it
    alone: what nobody has seen must not pass for as good as what was.
    """
    draws = weights * weights / squares if squares > 0.0 else 0.0
    seen = failing / weights if weights > 0.0 else 0.0
    told = (seen * draws + trust) / (draws + trust / max(model, LEAST_SHARE))
    unseen = max(1.0 - weights / volume, 0.0)
    return min(told + unseen * max(model - told, 0.0), MOST_SHARE)


@kernel
def moments_of_places(
    axis: int,
    scaled: FloatArray,
    extents: FloatArray,
    counts: IntArray,
    unit: FloatArray,
    home: FloatArray,
    knots: FloatArray,
    heights: FloatArray,
    pull: FloatArray,
    found: FloatArray,
) -> None:
    """The moments of an axis with either of its sides at any of its places; see `axis_moments`."""
    for side in (axis, home.size + axis):
        here = scaled[side]
        for place in range(counts[side]):
            scaled[side] = extents[side, place] / unit[axis]
            axis_moments(axis, scaled, home, knots, heights, pull, found[side, place])
        scaled[side] = here


@kernel
def is_pure(total: FloatArray, aim: float) -> bool:
    """Whether nothing failed in a box, of enough draws to tell: nothing of it is to be cut off then."""
    return bool(total[1] == 0.0 and total[0] * total[0] >= total[2] / aim)


@kernel
def longer(
    side: int, k: int, extents: FloatArray, unit: FloatArray, home: FloatArray, scaled: FloatArray
) -> float:
    """By which factor an axis is longer with its side at another place."""
    axis = side % home.size
    width = scaled[axis] + scaled[home.size + axis] + home[axis]
    return float((width + extents[side, k] / unit[axis] - scaled[side]) / max(width, 1e-300))


@kernel
def log_odds_over(share: float, aim: float) -> float:
    """By how much the log-odds of a share are above those of the aim."""
    return math.log(share / (1.0 - share)) - math.log(aim / (1.0 - aim))


@kernel
def best_move(
    too_often: bool,
    share: float,
    aim: float,
    trust: float,
    penalty: float,
    least: float,
    by_rows: float,
    volume: float,
    sums: tuple[FloatArray, FloatArray, FloatArray],
    of_rows: tuple[FloatArray, FloatArray, FloatArray],
    place: IntArray,
    extents: FloatArray,
    counts: IntArray,
    unit: FloatArray,
    home: FloatArray,
    scaled: FloatArray,
    odds: float,
    by_moment: FloatArray,
    each: FloatArray,
    moved: FloatArray,
) -> tuple[int, int]:
    """The side, and its new place, that pays best; -1 if none does. See `peeled`."""
    inside, beyond, total = sums
    rows_in, rows_out, rows_all = of_rows
    over, pure = log_odds_over(share, aim), is_pure(total, aim)
    best, best_side, best_place = 0.0 if too_often else least, -1, -1
    for side in range(place.size):
        within, fewer = np.zeros(3), 0.0
        without, more = total.copy(), rows_all[0]
        for k in range(place[side] if too_often else counts[side]):
            if k == place[side] or (k < place[side] and pure):
                continue
            if k < place[side]:
                within += inside[:, side, k]
                fewer += rows_in[0, side, k]
                drawn, held = within, fewer
            else:
                without += beyond[:, side, k]
                more += rows_out[0, side, k]
                drawn, held = without, more
            ratio = longer(side, k, extents, unit, home, scaled)
            if ratio <= 0.0:
                continue
            change = 0.0
            for j in range(5):
                change += by_moment[j] * (moved[side, k, j] - each[side % home.size, j])
            told = failing_share(
                drawn[0], drawn[1], drawn[2], volume * ratio, share_of_odds(odds + change), trust
            )
            after = max(log_odds_over(told, aim), 0.0)
            larger = (1.0 - by_rows) * math.log(ratio)
            larger += by_rows * math.log((held + 1.0) / (rows_all[0] + 1.0))
            if too_often:
                gain = (over - after) / (1e-3 - larger)
            else:
                gain = larger + penalty * (max(over, 0.0) ** 2 - after**2)
            if gain > best:
                best, best_side, best_place = gain, side, k
    return best_side, best_place


@kernel
def peeled(
    first: ByteArray,
    failed: BoolArray,
    weight: FloatArray,
    volume: float,
    rows: ByteArray,
    by_rows: float,
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
) -> IntArray:
    """The places of the sides once all moves are made that pay.

    As long as the box fails more often than the aim, the move comes first that lowers its log-odds most for
    the log size that it costs. Then the move comes first that pays best: log size, less the penalty on the
    square of log-odds above the aim. What the model says after a move is linear in the moments of its axis.
    Nothing is cut off a box in which no draw failed, if there are enough of them to tell.

    Parameters
    ----------
    first, failed, weight : draws; see `side_sums`
    volume : float
        Of the box, as the weights are volumes.
    rows : array of shape (rows, 2 D)
        Rows of data, as the draws.
    by_rows : float
        What the logarithm of the rows inside counts for in the size; that of the volume has the rest.
    place : array of shape (2 D,)
        Where the sides stand.
    extents, counts : the places of every side; see `first_places`
    bias, unit, home, knots, heights, pull : the model, and the units of its extents; see `moments`
    aim : float
        The failing share aimed at.
    trust : float
        As how many failures the model's word counts.
    penalty, least : float
        What too high log-odds cost, and the least gain for which a side moves.
    """
    dims, place = home.size, place.copy()
    scaled = np.empty(2 * dims)
    for side in range(2 * dims):
        scaled[side] = extents[side, place[side]] / unit[side % dims]
    moved = np.empty((2 * dims, extents.shape[1], 5))
    for axis in range(dims):
        moments_of_places(axis, scaled, extents, counts, unit, home, knots, heights, pull, moved)
    no_row_failed, each_row = np.zeros(len(rows), dtype=np.bool_), np.ones(len(rows))
    too_often = True
    for _ in range(4 * place.size):
        sums = side_sums(first, failed, weight, place, extents.shape[1])
        of_rows = side_sums(rows, no_row_failed, each_row, place, extents.shape[1])
        each = moments(scaled, home, knots, heights, pull)
        odds, by_moment = moment_slopes(bias, each.sum(axis=0))
        total = sums[2]
        share = failing_share(total[0], total[1], total[2], volume, share_of_odds(odds), trust)
        too_often = too_often and share > aim and not is_pure(total, aim)
        side, k = best_move(
            too_often,
            share,
            aim,
            trust,
            penalty,
            least,
            by_rows,
            volume,
            sums,
            of_rows,
            place,
            extents,
            counts,
            unit,
            home,
            scaled,
            odds,
            by_moment,
            each,
            moved,
        )
        if side < 0:
            if not too_often:
                break
            too_often = False
            continue
        axis = side % dims
        volume *= longer(side, k, extents, unit, home, scaled)
        place[side], scaled[side] = k, extents[side, k] / unit[axis]
        moments_of_places(axis, scaled, extents, counts, unit, home, knots, heights, pull, moved)
    return place
