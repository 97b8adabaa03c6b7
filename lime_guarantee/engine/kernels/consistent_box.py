"""The kernel of the optimistic search: a pure function of contiguous arrays, with a slow twin in tests.

Boxes are closed. A node is all boxes between an inner and an outer one; both hold the anchor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.support.arrays import FloatArray, IntArray

SOLVED, EMPTY = -1, -2

CLOSE = 0.005
"""A box whose log volume is within this of the best possible one will do."""

NEARLY_DONE = 0.7
"""How much a node gains in promise, in log volume, when the failures it must decide on fall to 1/e."""


class _Case(NamedTuple):
    """What all nodes share; see `largest_box`. The last two are room to work in, as long as the failures."""

    failures: FloatArray
    stops: FloatArray
    weight: FloatArray
    anchor: FloatArray
    aim: float
    best_cut: FloatArray
    undecided: IntArray


@kernel
def densities(points: FloatArray, lower: FloatArray, upper: FloatArray, density: FloatArray) -> FloatArray:
    """The density at every point: the sum over the boxes, whose bounds are (B, D) arrays, that hold it."""
    found = np.zeros(points.shape[0])
    for i in range(points.shape[0]):
        for b in range(lower.shape[0]):
            inside = True
            for d in range(points.shape[1]):
                if points[i, d] < lower[b, d] or points[i, d] > upper[b, d]:
                    inside = False
                    break
            if inside:
                found[i] += density[b]
    return found


@kernel
def _volume(lower: FloatArray, upper: FloatArray) -> float:
    """The volume of a box."""
    volume = 1.0
    for d in range(lower.size):
        volume *= upper[d] - lower[d]
    return volume


@kernel
def _kept(case: _Case, k: int, axis: int, lower: FloatArray, upper: FloatArray) -> float:
    """The share of a box's width along an axis that a cut leaves which puts failure k just outside."""
    low, high, stop = lower[axis], upper[axis], case.stops[k, axis]
    width = stop - low if case.failures[k, axis] > case.anchor[axis] else high - stop
    return float(width / (high - low))


@kernel
def _cut(case: _Case, k: int, axis: int, lower: FloatArray, upper: FloatArray) -> None:
    """Move one side of a box in along an axis, so that failure k lies just outside."""
    value, stop = case.failures[k, axis], case.stops[k, axis]
    if value > case.anchor[axis]:
        upper[axis] = stop if stop < value else np.nextafter(value, -np.inf)
    else:
        lower[axis] = stop if stop > value else np.nextafter(value, np.inf)


@kernel
def _look(
    case: _Case, lower: FloatArray, upper: FloatArray, inner_low: FloatArray, inner_high: FloatArray
) -> tuple[int, float, int]:
    """What is to be done with a node.

    Returns the failure to be decided on next, the one whose best cut costs most; or `SOLVED` if the outer box
    will do as it is, or `EMPTY` if none of the node's boxes will. Then a volume that none of them exceeds:
    of the failures that cost most to cut off, no more can stay than the aim allows. And how many failures
    there are to decide on.
    """
    failures, weight, best_cut, undecided = case.failures, case.weight, case.best_cut, case.undecided
    count, dims = failures.shape
    volume = _volume(lower, upper)
    allowed = case.aim * volume
    total, must_stay, found = 0.0, 0.0, 0
    for k in range(count):
        inside = True
        stays = True
        best = 0.0
        for d in range(dims):
            value = failures[k, d]
            if value < lower[d] or value > upper[d]:
                inside = False
                break
            if value < inner_low[d] or value > inner_high[d]:
                stays = False
                best = max(best, _kept(case, k, d, lower, upper))
        if not inside:
            continue
        total += weight[k]
        if stays:
            must_stay += weight[k]
        else:
            best_cut[found], undecided[found] = best, k
            found += 1
    if total <= allowed:
        return SOLVED, volume, found
    if must_stay > allowed:
        return EMPTY, 0.0, found
    split, bound = -1, volume
    while must_stay <= allowed:  # one by one, the failures that cost most to cut off stay
        worst = -1
        for i in range(found):
            if best_cut[i] >= 0.0 and (worst < 0 or best_cut[i] < best_cut[worst]):
                worst = i
        if worst < 0:  # none is left: it was rounding that made them too many
            break
        if split < 0:
            split = undecided[worst]
        bound = volume * best_cut[worst]
        must_stay += weight[undecided[worst]]
        best_cut[worst] = -1.0
    return split, bound, found


@kernel
def _cut_greedily(
    case: _Case, lower: FloatArray, upper: FloatArray, inner_low: FloatArray, inner_high: FloatArray
) -> float:
    """Cut the worst failure off where that costs least, until the box will do; returns its volume, or 0."""
    while True:
        k, volume, _ = _look(case, lower, upper, inner_low, inner_high)
        if k < 0:
            return volume
        axis, kept = 0, -1.0
        for d in range(lower.size):
            value = case.failures[k, d]
            if value < inner_low[d] or value > inner_high[d]:
                share = _kept(case, k, d, lower, upper)
                if share > kept:
                    axis, kept = d, share
        _cut(case, k, axis, lower, upper)


@kernel
def _widen(
    case: _Case,
    best: float,
    best_lower: FloatArray,
    best_upper: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> float:
    """Open one axis at a time fully and cut the others instead, as long as the box gains; returns its volume.

    The box is changed in place.
    """
    dims = lower.size
    gained = True
    while gained:
        gained = False
        for d in range(dims):
            if best_lower[d] == lower[d] and best_upper[d] == upper[d]:
                continue
            new_lower, new_upper = best_lower.copy(), best_upper.copy()
            inner_low, inner_high = case.anchor.copy(), case.anchor.copy()
            new_lower[d] = inner_low[d] = lower[d]
            new_upper[d] = inner_high[d] = upper[d]
            volume = _cut_greedily(case, new_lower, new_upper, inner_low, inner_high)
            if volume > np.exp(CLOSE) * best:
                best, gained = volume, True
                for axis in range(dims):
                    best_lower[axis], best_upper[axis] = new_lower[axis], new_upper[axis]
    return best


@kernel
def largest_box(
    failures: FloatArray,
    stops: FloatArray,
    weight: FloatArray,
    anchor: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    aim: float,
    max_nodes: int,
) -> tuple[FloatArray, FloatArray]:
    """Find a large box that holds the anchor and failures of no more weight than `aim` times its volume.

    Branch and bound. A node is split at one failure: each child cuts it off along one axis, and holds it
    along the axes of the children before; the last child holds it along all axes, so that it stays. No box is
    met twice. From a first, greedy solution on, the most promising node is split next, until `max_nodes`
    have been or no node can be better by more than `CLOSE`. What is found is improved axis by axis.

    Parameters
    ----------
    failures, stops : (K, D) arrays, and where a side stops that leaves one out; see `Cube.stops`
    weight : (K,) array, the volume that each failure stands for
    anchor : (D,) array
    lower, upper : (D,) arrays, the bounds of the largest box there may be
    aim : float
    max_nodes : int

    Returns
    -------
    lower, upper : bounds of the best box found
    """
    count, dims = failures.shape
    anchor = anchor.copy()  # of one type, so compiled once
    lower, upper = lower.copy(), upper.copy()
    best_cut, undecided = np.empty(count), np.empty(count, dtype=np.int64)
    case = _Case(failures, stops, weight, anchor, aim, best_cut, undecided)
    best_lower, best_upper = lower.copy(), upper.copy()
    best = _cut_greedily(case, best_lower, best_upper, anchor, anchor)
    best = _widen(case, best, best_lower, best_upper, lower, upper)

    size = max_nodes * (dims + 1) + 1
    outer_low, outer_high = np.empty((size, dims)), np.empty((size, dims))
    inner_low, inner_high = np.empty((size, dims)), np.empty((size, dims))
    bound, promise = np.empty(size), np.empty(size)
    split = np.empty(size, dtype=np.int64)
    outer_low[0], outer_high[0], inner_low[0], inner_high[0] = lower, upper, anchor, anchor
    split[0], bound[0], _ = _look(case, lower, upper, anchor, anchor)
    promise[0] = 0.0
    nodes = 1 if split[0] >= 0 else 0
    axes, shares = np.empty(dims, dtype=np.int64), np.empty(dims)
    enough = np.exp(CLOSE)
    for _ in range(max_nodes):
        node, top = -1, -np.inf
        for n in range(nodes):
            if bound[n] > enough * best and promise[n] > top:
                node, top = n, promise[n]
        if node < 0:
            break
        bound[node] = 0.0
        k = split[node]
        for d in range(dims):
            value = failures[k, d]
            share = -1.0
            if value < inner_low[node, d] or value > inner_high[node, d]:
                share = _kept(case, k, d, outer_low[node], outer_high[node])
            place = d
            while place > 0 and shares[axes[place - 1]] < share:
                axes[place] = axes[place - 1]
                place -= 1
            axes[place], shares[d] = d, share
        for place in range(dims + 1):
            child = nodes
            outer_low[child], outer_high[child] = outer_low[node], outer_high[node]
            inner_low[child], inner_high[child] = inner_low[node], inner_high[node]
            if place < dims:
                axis = axes[place]
                if shares[axis] < 0.0:
                    continue
                _cut(case, k, axis, outer_low[child], outer_high[child])
            for before in range(place):
                d = axes[before]
                inner_low[child, d] = min(inner_low[child, d], failures[k, d])
                inner_high[child, d] = max(inner_high[child, d], failures[k, d])
            split[child], bound[child], left = _look(
                case, outer_low[child], outer_high[child], inner_low[child], inner_high[child]
            )
            if bound[child] <= best:
                continue
            if split[child] == SOLVED:
                best = bound[child]
                best_lower, best_upper = outer_low[child].copy(), outer_high[child].copy()
            elif split[child] >= 0:
                promise[child] = np.log(bound[child]) - NEARLY_DONE * np.log(left)
                nodes += 1
    _widen(case, best, best_lower, best_upper, lower, upper)
    return best_lower, best_upper
