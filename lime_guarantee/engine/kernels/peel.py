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

Sums = tuple[FloatArray, FloatArray, FloatArray]

MUCH_LESS, HARDLY_ANY = 1e-2, 1e-9
"""Of sums: what is left of them when all are added up anew; and of the sum of a box, what may be rounding."""

LEAST_SHARE, MOST_SHARE = 1e-4, 1.0 - 1e-9
"""The least failing share that the model is believed: it never says that nothing fails. And the greatest one,
so that its log-odds are finite."""


@kernel
def add(
    sign: float,
    i: int,
    first: ByteArray,
    failed: BoolArray,
    weight: FloatArray,
    place: IntArray,
    sums: Sums,
) -> None:
    """Add a draw to the sums of a box, or take it away where the sign is -1; see `side_sums`."""
    inside, beyond, total = sums
    outside, keeps_out = 0, -1
    for side in range(place.size):
        if first[i, side] > place[side]:
            outside += 1
            keeps_out = side
            if outside > 1:
                return
    w = sign * weight[i]
    bad, square = w if failed[i] else 0.0, w * weight[i]
    if outside == 1:
        k = first[i, keeps_out]
        beyond[keeps_out, k, 0] += w
        beyond[keeps_out, k, 1] += bad
        beyond[keeps_out, k, 2] += square
        return
    total[0] += w
    total[1] += bad
    total[2] += square
    for side in range(place.size):
        k = first[i, side]
        inside[side, k, 0] += w
        inside[side, k, 1] += bad
        inside[side, k, 2] += square


@kernel
def side_sums(first: ByteArray, failed: BoolArray, weight: FloatArray, place: IntArray, places: int) -> Sums:
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
    array of shape (2 D, places, 3)
        Of draws inside, by the first place of every side.
    array of shape (2 D, places, 3)
        Of draws that one side alone keeps out, by its first place that lets them in.
    array of shape (3,)
        Of all draws inside.
    """
    sums = np.zeros((place.size, places, 3)), np.zeros((place.size, places, 3)), np.zeros(3)
    for i in range(len(first)):
        add(1.0, i, first, failed, weight, place, sums)
    return sums


@kernel
def sums_with(
    side: int,
    k: int,
    first: ByteArray,
    failed: BoolArray,
    weight: FloatArray,
    place: IntArray,
    sums: Sums,
    most: float,
) -> tuple[Sums, float]:
    """The sums with a side at another place, and the most that the squares were since all were added up.

    Only draws that the side lets in or out are added or taken away. What is left of a sum when most of it was
    taken away is rounding: before it comes to that, all are added up anew.
    """
    old = place[side]
    moved = place.copy()
    moved[side] = k
    for i in range(len(first)):
        if (first[i, side] > old) != (first[i, side] > k):
            add(-1.0, i, first, failed, weight, place, sums)
            add(1.0, i, first, failed, weight, moved, sums)
    most = max(most, sums[2][2])
    if sums[2][2] < MUCH_LESS * most:
        sums = side_sums(first, failed, weight, moved, sums[0].shape[1])
        most = sums[2][2]
    return sums, most


@kernel
def first_places(
    far: FloatArray, extents: FloatArray, counts: IntArray, tiny: float
) -> tuple[IntArray, ByteArray]:
    """Which points the largest box holds, and the first place of every side that holds each of these.

    Parameters
    ----------
    far : array of shape (points, 2 D)
        How far points lie beyond the home, towards each side.
    extents : array of shape (2 D, places)
        The extent of every side at every place, in order.
    counts : array of shape (2 D,)
        How many places each side has.
    tiny : float
        Extents that differ by less are the same.
    """
    points, sides = far.shape
    held = np.empty(points, dtype=np.int64)
    found = np.empty((points, sides), dtype=np.uint8)
    count = 0
    for i in range(points):
        inside = True
        for side in range(sides):
            if far[i, side] - tiny > extents[side, counts[side] - 1]:
                inside = False
                break
        if not inside:
            continue
        for side in range(sides):
            place, here = 0, far[i, side] - tiny
            for k in range(counts[side]):  # a sum, not a search: it has no branch to guess
                place += here > extents[side, k]
            found[count, side] = place
        held[count] = i
        count += 1
    return held[:count], found[:count]


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
    return bool(total[1] <= HARDLY_ANY * total[0] and total[0] * total[0] >= total[2] / aim)


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
    sums: Sums,
    of_rows: Sums,
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
        weights, failing, squares, rows = 0.0, 0.0, 0.0, 0.0
        for k in range(place[side] if too_often else counts[side]):
            if k == place[side]:
                weights, failing, squares, rows = total[0], total[1], total[2], rows_all[0]
                continue
            more, more_rows = (inside, rows_in) if k < place[side] else (beyond, rows_out)
            weights += more[side, k, 0]
            failing += more[side, k, 1]
            squares += more[side, k, 2]
            rows += more_rows[side, k, 0]
            ratio = longer(side, k, extents, unit, home, scaled)
            if ratio <= 0.0 or (k < place[side] and pure):
                continue
            change = 0.0
            for j in range(5):
                change += by_moment[j] * (moved[side, k, j] - each[side % home.size, j])
            known = squares > HARDLY_ANY * total[2]
            told = failing_share(
                weights if known else 0.0,
                failing if known else 0.0,
                squares if known else 0.0,
                volume * ratio,
                share_of_odds(odds + change),
                trust,
            )
            after = max(log_odds_over(told, aim), 0.0)
            larger = (1.0 - by_rows) * math.log(ratio)
            larger += by_rows * math.log((rows + 1.0) / (rows_all[0] + 1.0))
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
    sums = side_sums(first, failed, weight, place, extents.shape[1])
    of_rows = side_sums(rows, no_row_failed, each_row, place, extents.shape[1])
    most, most_rows = sums[2][2], of_rows[2][2]
    too_often = True
    for _ in range(4 * place.size):
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
        sums, most = sums_with(side, k, first, failed, weight, place, sums, most)
        of_rows, most_rows = sums_with(side, k, rows, no_row_failed, each_row, place, of_rows, most_rows)
        place[side], scaled[side] = k, extents[side, k] / unit[axis]
        moments_of_places(axis, scaled, extents, counts, unit, home, knots, heights, pull, moved)
    return place
