"""What weighted draws, and a model of the boundary, say of boxes that differ in single sides.

A side may stand at one of some places, numbered from the instance outwards; a draw has for each side the
first place at which a box holds it. Every draw stands for a volume, its weight: the same draws can then have
been made in several boxes. Three sums tell of a box: of the weights, of those that failed, and of their
squares. So many draws, alike, would tell as much: the square of the first sum over the third.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.engine.kernels.slopes import MOMENTS, Model, axis_moments, moment_slopes, moments, widths
from lime_guarantee.support.arrays import BoolArray, ByteArray, FloatArray, IntArray

MOST_MOVES = 4
"""The most moves, times the number of sides."""

MUCH_LESS, HARDLY_ANY = 1e-2, 1e-9
"""Of sums: what is left of them when all are added up anew; and of the sum of a box, what may be rounding."""

LEAST_SHARE, MOST_SHARE = 1e-4, 1.0 - 1e-9
"""The least failing share that the model is believed: it never says that nothing fails. And the greatest one,
so that its log-odds are finite."""


class Points(NamedTuple):
    """Draws, or rows of data.

    Parameters
    ----------
    first : array of shape (points, 2 D)
        The first place of every side at which a box holds the point; see `first_places`.
    failed : array of shape (points,)
    weight : array of shape (points,)
    """

    first: ByteArray
    failed: BoolArray
    weight: FloatArray


class Sums(NamedTuple):
    """Sums of weights, of failing ones and of squares, over the points of a box and of those next to it.

    Parameters
    ----------
    inside : array of shape (2 D, places, 3)
        Of points inside, by the first place of every side.
    beyond : array of shape (2 D, places, 3)
        Of points that one side alone keeps out, by its first place that lets them in.
    total : array of shape (3,)
        Of all points inside.
    """

    inside: FloatArray
    beyond: FloatArray
    total: FloatArray


class Places(NamedTuple):
    """Where sides may stand.

    Parameters
    ----------
    extents : array of shape (2 D, places)
        The extent of every side at every place, in order.
    counts : array of shape (2 D,)
        How many places each side has.
    scaled : array of shape (2 D, places)
        The extents in the units of the model.
    """

    extents: FloatArray
    counts: IntArray
    scaled: FloatArray


class Goal(NamedTuple):
    """What is looked for.

    Parameters
    ----------
    aim : float
        The failing share.
    trust : float
        As how many failures the model's word counts.
    by_rows : float
        What the logarithm of the rows inside counts for in the size; that of the volume has the rest.
    penalty, least : float
        What the square of too high log-odds costs, and the least gain for which a side moves.
    """

    aim: float
    trust: float
    by_rows: float
    penalty: float
    least: float


class Told(NamedTuple):
    """What the model says of a box, and of those that differ from it in one side.

    Parameters
    ----------
    width : array of shape (D,)
        Of the box, in the units of the model.
    odds : float
        The log-odds that a draw of the box fails.
    by_moment : array of shape (5,)
        Their slopes by the moments summed over all axes.
    each : array of shape (D, 5)
        The moments of every axis.
    moved : array of shape (2 D, places, 5)
        The moments of its axis, with a side at any of its places.
    """

    width: FloatArray
    odds: float
    by_moment: FloatArray
    each: FloatArray
    moved: FloatArray


@kernel
def add(sign: float, i: int, points: Points, place: IntArray, sums: Sums) -> None:
    """Add a point to the sums of a box, or take it away where the sign is -1."""
    outside, keeps_out = 0, -1
    for side in range(place.size):
        if points.first[i, side] > place[side]:
            outside += 1
            keeps_out = side
            if outside > 1:
                return
    w = sign * points.weight[i]
    bad, square = w if points.failed[i] else 0.0, w * points.weight[i]
    if outside == 1:
        k = points.first[i, keeps_out]
        sums.beyond[keeps_out, k, 0] += w
        sums.beyond[keeps_out, k, 1] += bad
        sums.beyond[keeps_out, k, 2] += square
        return
    sums.total[0] += w
    sums.total[1] += bad
    sums.total[2] += square
    for side in range(place.size):
        k = points.first[i, side]
        sums.inside[side, k, 0] += w
        sums.inside[side, k, 1] += bad
        sums.inside[side, k, 2] += square


@kernel
def side_sums(points: Points, place: IntArray, places: int) -> Sums:
    """The sums of the box whose sides stand at some of so many places."""
    shape = (place.size, places, 3)
    sums = Sums(np.zeros(shape), np.zeros(shape), np.zeros(3))
    for i in range(len(points.first)):
        add(1.0, i, points, place, sums)
    return sums


@kernel
def sums_with(
    side: int, k: int, points: Points, place: IntArray, sums: Sums, most: float
) -> tuple[Sums, float]:
    """The sums with a side at another place, and the most that the squares were since all were added up.

    Only points that the side lets in or out are added or taken away. What is left of a sum when most of it
    was taken away is rounding: before it comes to that, all are added up anew.
    """
    old = place[side]
    moved = place.copy()
    moved[side] = k
    for i in range(len(points.first)):
        if (points.first[i, side] > old) != (points.first[i, side] > k):
            add(-1.0, i, points, place, sums)
            add(1.0, i, points, moved, sums)
    most = max(most, sums.total[2])
    if sums.total[2] < MUCH_LESS * most:
        sums = side_sums(points, moved, sums.inside.shape[1])
        most = sums.total[2]
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
    extents, counts : the places of every side; see `Places`
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
def moments_of_places(axis: int, extent: FloatArray, places: Places, model: Model, found: FloatArray) -> None:
    """The moments of an axis with either of its sides at any of its places; see `axis_moments`."""
    for side in (axis, model.home.size + axis):
        here = extent[side]
        for place in range(places.counts[side]):
            extent[side] = places.scaled[side, place]
            axis_moments(axis, extent, model, found[side, place])
        extent[side] = here


@kernel
def extents_at(place: IntArray, places: Places) -> FloatArray:
    """The extents of the box whose sides stand at some places, in the units of the model."""
    extent = np.empty(place.size)
    for side in range(place.size):
        extent[side] = places.scaled[side, place[side]]
    return extent


@kernel
def odds_at(side: int, k: int, told: Told) -> float:
    """The log-odds that a draw fails with a side at another place."""
    axis, change = side % told.width.size, 0.0
    for j in range(told.by_moment.size):
        change += told.by_moment[j] * (told.moved[side, k, j] - told.each[axis, j])
    return told.odds + change


@kernel
def is_pure(total: FloatArray, aim: float) -> bool:
    """Whether nothing failed in a box, of enough draws to tell: nothing of it is to be cut off then."""
    return bool(total[1] <= HARDLY_ANY * total[0] and total[0] * total[0] >= total[2] / aim)


@kernel
def log_odds_over(share: float, aim: float) -> float:
    """By how much the log-odds of a share are above those of the aim."""
    return math.log(share / (1.0 - share)) - math.log(aim / (1.0 - aim))


@kernel
def best_move(
    too_often: bool,
    over: float,
    goal: Goal,
    volume: float,
    sums: Sums,
    of_rows: Sums,
    place: IntArray,
    places: Places,
    told: Told,
) -> tuple[int, int]:
    """The side, and its new place, that pays best; -1 if none does. See `peeled`."""
    total, pure = sums.total, is_pure(sums.total, goal.aim)
    best, best_side, best_place = 0.0 if too_often else goal.least, -1, -1
    for side in range(place.size):
        width = told.width[side % told.width.size]
        weights, failing, squares, rows = 0.0, 0.0, 0.0, 0.0
        for k in range(place[side] if too_often else places.counts[side]):
            if k == place[side]:
                weights, failing, squares, rows = total[0], total[1], total[2], of_rows.total[0]
                continue
            inner = k < place[side]
            more, more_rows = (sums.inside, of_rows.inside) if inner else (sums.beyond, of_rows.beyond)
            weights += more[side, k, 0]
            failing += more[side, k, 1]
            squares += more[side, k, 2]
            rows += more_rows[side, k, 0]
            ratio = (width + places.scaled[side, k] - places.scaled[side, place[side]]) / width
            if ratio <= 0.0 or (inner and pure):
                continue
            larger = (1.0 - goal.by_rows) * math.log(ratio)
            larger += goal.by_rows * math.log((rows + 1.0) / (of_rows.total[0] + 1.0))
            # What it brings if nothing is too high after it. Most moves are out of the question at once.
            least_cost, most_gain = 1e-3 - larger, larger + goal.penalty * max(over, 0.0) ** 2
            if (over / least_cost if too_often else most_gain) <= best:
                continue
            known = squares > HARDLY_ANY * total[2]
            share = failing_share(
                weights if known else 0.0,
                failing if known else 0.0,
                squares if known else 0.0,
                volume * ratio,
                share_of_odds(odds_at(side, k, told)),
                goal.trust,
            )
            after = max(log_odds_over(share, goal.aim), 0.0)
            gain = (over - after) / least_cost if too_often else most_gain - goal.penalty * after**2
            if gain > best:
                best, best_side, best_place = gain, side, k
    return best_side, best_place


@kernel
def peeled(
    draws: Points, volume: float, rows: Points, place: IntArray, places: Places, model: Model, goal: Goal
) -> IntArray:
    """The places of the sides once all moves are made that pay.

    As long as the box fails more often than the aim, the move comes first that lowers its log-odds most for
    the log size that it costs. Then the move comes first that pays best: log size, less the penalty on the
    square of log-odds above the aim. What the model says after a move is linear in the moments of its axis.
    Nothing is cut off a box in which no draw failed, if there are enough of them to tell.

    Parameters
    ----------
    draws, rows : what is known of the boundary, and data that shall be inside
    volume : of the box, as the weights are volumes
    place, places : where the sides stand, and where they may
    model, goal
    """
    place = place.copy()
    extent = extents_at(place, places)
    each = moments(extent, model)
    moved = np.empty((place.size, places.extents.shape[1], MOMENTS))
    for axis in range(model.home.size):
        moments_of_places(axis, extent, places, model, moved)
    sums = side_sums(draws, place, places.extents.shape[1])
    of_rows = side_sums(rows, place, places.extents.shape[1])
    most, most_rows, too_often = sums.total[2], of_rows.total[2], True
    for _ in range(MOST_MOVES * place.size):
        odds, by_moment = moment_slopes(model.bias, each.sum(axis=0))
        weights, failing, squares = sums.total
        share = failing_share(weights, failing, squares, volume, share_of_odds(odds), goal.trust)
        too_often = too_often and share > goal.aim and not is_pure(sums.total, goal.aim)
        told = Told(widths(extent, model), odds, by_moment, each, moved)
        over = log_odds_over(share, goal.aim)
        side, k = best_move(too_often, over, goal, volume, sums, of_rows, place, places, told)
        if side < 0 and not too_often:
            break
        if side < 0:
            too_often = False
            continue
        axis = side % told.width.size
        volume *= (told.width[axis] + places.scaled[side, k] - extent[side]) / told.width[axis]
        sums, most = sums_with(side, k, draws, place, sums, most)
        of_rows, most_rows = sums_with(side, k, rows, place, of_rows, most_rows)
        place[side], extent[side] = k, places.scaled[side, k]
        axis_moments(axis, extent, model, each[axis])
        moments_of_places(axis, extent, places, model, moved)
    return place
