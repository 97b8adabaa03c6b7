"""The maximum-box kernels: pure functions of contiguous arrays, each with a slow twin in the tests.

Boxes are closed, and a negative point is outside a box only when it is strictly beyond one of its bounds.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray


@kernel
def points_inside(points: FloatArray, lower: FloatArray, upper: FloatArray) -> BoolArray:
    """Which points lie in the closed box."""
    inside = np.ones(points.shape[0], dtype=np.bool_)
    for i in range(points.shape[0]):
        for d in range(points.shape[1]):
            if points[i, d] < lower[d] or points[i, d] > upper[d]:
                inside[i] = False
                break
    return inside


@kernel
def hull(points: FloatArray, member: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of the smallest box around the points that are members."""
    dims = points.shape[1]
    lower = np.full(dims, np.inf)
    upper = np.full(dims, -np.inf)
    for i in range(points.shape[0]):
        if member[i]:
            for d in range(dims):
                lower[d] = min(lower[d], points[i, d])
                upper[d] = max(upper[d], points[i, d])
    return lower, upper


@kernel
def expand_box(
    negatives: FloatArray,
    stops: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    low_edge: FloatArray,
    high_edge: FloatArray,
    home_width: FloatArray,
    priority: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Move the sides of a box outwards until each meets a negative point or the edge.

    A side moves as far as it can in one go, which it can do only once: what stops it stays where it is.
    The next side is the one with the largest gain in volume, or, where `priority` is not empty, the one
    that stands first in it (side d is the lower one of axis d, side D + d the upper one). A side stops where
    `stops` has it for the point that it meets, or just before the point if that is the point's own place.

    Returns the bounds of the expanded box. No negative point lies in it if none lay in the given one.
    """
    count, dims = negatives.shape
    lower, upper = lower.copy(), upper.copy()
    # A point outside the box by one axis alone is what stops the side of that axis.
    outside = np.zeros(count, dtype=np.int64)
    for i in range(count):
        for d in range(dims):
            if negatives[i, d] < lower[d] or negatives[i, d] > upper[d]:
                outside[i] += 1
    moved = np.zeros(2 * dims, dtype=np.bool_)
    low_limit, high_limit = np.empty(dims), np.empty(dims)
    for step in range(2 * dims):
        for d in range(dims):
            low_limit[d], high_limit[d] = low_edge[d], high_edge[d]
        for i in range(count):
            if outside[i] != 1:
                continue
            for d in range(dims):
                value = negatives[i, d]
                if value < lower[d]:
                    inner = stops[i, d] if stops[i, d] > value else np.nextafter(value, np.inf)
                    low_limit[d] = max(low_limit[d], min(inner, lower[d]))
                    break
                if value > upper[d]:
                    inner = stops[i, d] if stops[i, d] < value else np.nextafter(value, -np.inf)
                    high_limit[d] = min(high_limit[d], max(inner, upper[d]))
                    break
        side, best = -1, -1.0
        if priority.size:
            side = priority[step]
        else:
            for s in range(2 * dims):
                if moved[s]:
                    continue
                d = s % dims
                gain = lower[d] - low_limit[d] if s < dims else high_limit[d] - upper[d]
                if gain > 0.0:
                    width = upper[d] - lower[d] + home_width[d]
                    gain = gain / width if width > 0.0 else np.inf
                if gain > best:
                    side, best = s, gain
            if best <= 0.0:
                break
        moved[side] = True
        d = side % dims
        old_low, old_high = lower[d], upper[d]
        if side < dims:
            lower[d] = min(low_limit[d], old_low)
        else:
            upper[d] = max(high_limit[d], old_high)
        for i in range(count):
            value = negatives[i, d]
            if (value < old_low or value > old_high) and lower[d] <= value <= upper[d]:
                outside[i] -= 1
    return lower, upper


@kernel
def _rank_points(
    positives: FloatArray, order: IntArray, negatives: FloatArray, anchor: FloatArray
) -> tuple[IntArray, IntArray]:
    """Find each negative's place among the positives, along every axis.

    Returns `rank` (K, D), how many positives a cut at the negative would leave below it, or, where it
    lies below the anchor, how many the cut would take away; and `side` (K, D): 1 where the negative lies
    above the anchor, -1 below, 0 level with it.
    """
    rank = np.empty(negatives.shape, dtype=np.int64)
    side = np.empty(negatives.shape, dtype=np.int64)
    for d in range(positives.shape[1]):
        for k in range(negatives.shape[0]):
            value = negatives[k, d]
            side[k, d] = int(value > anchor[d]) - int(value < anchor[d])
            low, high = 0, positives.shape[0]
            while low < high:
                middle = (low + high) // 2
                other = positives[order[d, middle], d]
                if other < value or (other == value and side[k, d] < 0):
                    low = middle + 1
                else:
                    high = middle
            rank[k, d] = low
    return rank, side


@kernel
def _sort_children(kept: IntArray, axes: IntArray, bounds: IntArray) -> None:
    """Write the axes and what they keep into `axes` and `bounds`, those that keep most first."""
    for d in range(kept.size):
        j = d
        while j > 0 and bounds[j - 1] < kept[d]:
            axes[j], bounds[j] = axes[j - 1], bounds[j - 1]
            j -= 1
        axes[j], bounds[j] = d, kept[d]


@kernel
def _log_size(lower: FloatArray, upper: FloatArray, home_width: FloatArray) -> float:
    """Logarithm of a box's volume; sides of no width are passed over."""
    size = 0.0
    for d in range(lower.size):
        width = upper[d] - lower[d] + home_width[d]
        if width > 0.0:
            size += np.log(width)
    return size


@kernel
def _cut(
    member: BoolArray, positives: FloatArray, axis: int, value: float, side: int, result: BoolArray
) -> None:
    """Write into `result` the members strictly on the anchor's side of a cut along an axis."""
    for i in range(positives.shape[0]):
        other = positives[i, axis]
        result[i] = member[i] and (other < value if side > 0 else other > value)


@kernel
def _choose_split(
    member: BoolArray,
    inner_low: FloatArray,
    inner_high: FloatArray,
    positives: FloatArray,
    negatives: FloatArray,
    order: IntArray,
    rank: IntArray,
    side: IntArray,
    kept: IntArray,
) -> tuple[int, int, int]:
    """Choose the negative whose exclusion costs most: the one with the smallest best child.

    A negative can be cut off along an axis on which it does not lie in the inner box. Writes how many
    positives a cut along every axis keeps (-1 where none is possible) into `kept`.

    Returns the negative's index (-1 if the members' hull holds none, so that they are a solution), a
    number of positives that no box of this node exceeds (-1 if it has no box), and how many negatives
    the hull holds.
    """
    count, dims = positives.shape
    lower, upper = hull(positives, member)
    for d in range(dims):
        if lower[d] > inner_low[d] or upper[d] < inner_high[d]:
            return -1, -1, 0  # every box here leaves out a point that it must hold
    total = 0
    for i in range(count):
        total += int(member[i])
    below = np.empty((dims, count + 1), dtype=np.int32)  # members among the first ones along an axis
    row = np.empty(dims, dtype=np.int64)
    split, bound, held = -1, total, 0
    for k in range(negatives.shape[0]):
        inside = True
        for d in range(dims):
            if negatives[k, d] < lower[d] or negatives[k, d] > upper[d]:
                inside = False
                break
        if not inside:
            continue
        held += 1
        if held == 1:
            for d in range(dims):
                below[d, 0] = 0
                for j in range(count):
                    below[d, j + 1] = below[d, j] + int(member[order[d, j]])
        best = -1
        for d in range(dims):
            row[d] = -1
            if side[k, d] == 0 or inner_low[d] <= negatives[k, d] <= inner_high[d]:
                continue
            remaining = below[d, rank[k, d]]
            row[d] = remaining if side[k, d] > 0 else total - remaining
            best = max(best, row[d])
        if split < 0 or best < bound:
            split, bound = k, best
            for d in range(dims):
                kept[d] = row[d]
    return split, bound, held


@kernel
def _make_child(
    member: BoolArray,
    inner_low: FloatArray,
    inner_high: FloatArray,
    axes: IntArray,
    place: int,
    positives: FloatArray,
    negative: FloatArray,
    side: IntArray,
    child: BoolArray,
    child_low: FloatArray,
    child_high: FloatArray,
) -> None:
    """Write a node's child into `child` and its inner box into `child_low` and `child_high`.

    The child cuts the negative off along its axis, and holds it along the axes of the children before.
    """
    for d in range(inner_low.size):
        child_low[d], child_high[d] = inner_low[d], inner_high[d]
    for i in range(place):
        d = axes[i]
        child_low[d] = min(child_low[d], negative[d])
        child_high[d] = max(child_high[d], negative[d])
    axis = axes[place]
    _cut(member, positives, axis, negative[axis], side[axis], child)


@kernel
def _first_solution(
    child: BoolArray,
    anchor: FloatArray,
    positives: FloatArray,
    negatives: FloatArray,
    order: IntArray,
    rank: IntArray,
    side: IntArray,
) -> int:
    """Cut off the worst negative where that costs least, until none is left; returns how many are kept."""
    kept = np.empty(anchor.size, dtype=np.int64)
    while True:
        split, bound, _ = _choose_split(child, anchor, anchor, positives, negatives, order, rank, side, kept)
        if split < 0:
            return bound
        axis = 0
        for d in range(kept.size):
            if kept[d] > kept[axis]:
                axis = d
        _cut(child, positives, axis, negatives[split, axis], side[split, axis], child)


@kernel
def max_box(
    positives: FloatArray,
    order: IntArray,
    negatives: FloatArray,
    anchor: FloatArray,
    home_width: FloatArray,
    max_nodes: int,
) -> tuple[FloatArray, FloatArray, int]:
    """Find a box with many positives, no negative, and the anchor (Eckstein et al., 2002).

    A node is a set of positives whose hull may still hold negatives, and an inner box that every solution
    below it must hold. A node is split at one negative inside its hull: each child cuts that point off along
    one axis, and holds it along the axes of the children before it, so no box is met twice. A child's
    bound is what remains after the best cut at its own worst negative. From a first, greedy solution on, the
    most promising child is split next, until `max_nodes` nodes have been split or no child can be as good as
    the best solution. Promise is bound^4 over the number of negatives still inside: it favours nodes that
    are nearly done, without which few solutions would be met in a limited search. Of two
    solutions with as many positives the one with the larger hull is better.

    Parameters
    ----------
    positives : (P, D) array, whose first row is the anchor
    order : (D, P) array, the positives' indices by rising coordinate along every axis
    negatives : (K, D) array
    anchor, home_width : (D,) arrays, the instance and the widths of its own atoms
    max_nodes : int

    Returns
    -------
    lower, upper : bounds of the hull of the positives in the best box found
    captured : int, how many positives it holds
    """
    count, dims = positives.shape
    rank, side = _rank_points(positives, order, negatives, anchor)
    child = np.ones(count, dtype=np.bool_)
    best = _first_solution(child, anchor, positives, negatives, order, rank, side)
    best_lower, best_upper = hull(positives, child)
    best_size = _log_size(best_lower, best_upper, home_width)

    members = np.empty((max_nodes, count), dtype=np.bool_)
    inner_low, inner_high = np.empty((max_nodes, dims)), np.empty((max_nodes, dims))
    splits = np.empty(max_nodes, dtype=np.int64)
    axes = np.empty((max_nodes, dims), dtype=np.int64)
    bounds = np.empty((max_nodes, dims), dtype=np.int64)  # of the children; -1 once they are done with
    promise = np.empty((max_nodes, dims))
    kept = np.empty(dims, dtype=np.int64)
    child_low, child_high = anchor.copy(), anchor.copy()
    child = np.ones(count, dtype=np.bool_)
    for node in range(max_nodes):
        for i in range(count):
            members[node, i] = child[i]
        for d in range(dims):
            inner_low[node, d], inner_high[node, d] = child_low[d], child_high[d]
            bounds[node, d] = -1
        split, bound, _ = _choose_split(
            child, child_low, child_high, positives, negatives, order, rank, side, kept
        )
        if split >= 0 and bound >= best:
            splits[node] = split
            _sort_children(kept, axes[node], bounds[node])
            for j in range(dims):
                if bounds[node, j] < best:
                    bounds[node, j] = -1
                    continue
                _make_child(
                    members[node], inner_low[node], inner_high[node], axes[node], j,
                    positives, negatives[split], side[split], child, child_low, child_high,
                )  # fmt: skip
                child_split, bounds[node, j], held = _choose_split(
                    child, child_low, child_high, positives, negatives, order, rank, side, kept
                )
                if child_split >= 0:
                    promise[node, j] = float(bounds[node, j]) ** 4 / held
                    continue
                if bounds[node, j] >= best:
                    lower, upper = hull(positives, child)
                    size = _log_size(lower, upper, home_width)
                    if bounds[node, j] > best or size > best_size:
                        best, best_size = bounds[node, j], size
                        best_lower, best_upper = lower, upper
                bounds[node, j] = -1
        top, parent, place = -1.0, -1, -1
        for n in range(node + 1):
            for j in range(dims):
                if bounds[n, j] >= best and promise[n, j] > top:
                    top, parent, place = promise[n, j], n, j
        if place < 0:
            break
        bounds[parent, place] = -1
        point = splits[parent]
        _make_child(
            members[parent], inner_low[parent], inner_high[parent], axes[parent], place,
            positives, negatives[point], side[point], child, child_low, child_high,
        )  # fmt: skip
    return best_lower, best_upper, best
