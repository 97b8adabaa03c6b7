"""The kernel that keeps a box clear of causes: a pure function of arrays, with a slow twin in tests.

A box around an instance has 2 D sides: side d is the lower one of axis d, side D + d the upper one. The
extent of a side is its distance from the instance's home. A cause is a few sides, each with a limit: a box
avoids it when one of these sides, at least, stays at its limit or below.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.support.arrays import FloatArray, IntArray

NO_SIDE = -1
"""Stands where a cause has fewer sides than others."""

ROUNDS = 4
"""How often all sides are tried anew, at most."""


@kernel
def _log_width(extent: FloatArray, home_width: FloatArray) -> float:
    total = 0.0
    dims = home_width.size
    for d in range(dims):
        total += np.log(max(extent[d] + extent[dims + d] + home_width[d], 1e-300))
    return total


@kernel
def _cut_for_causes(
    sides: IntArray, limits: FloatArray, home_width: FloatArray, extent: FloatArray, kept: int
) -> None:
    """Cut sides until every cause is avoided: first what avoids most causes for the width it costs.

    The side `kept` is cut only where nothing else will do. Extents are changed in place.
    """
    causes, most = sides.shape
    dims = home_width.size
    counts = np.empty(2 * dims, dtype=np.int64)
    found = np.empty((2 * dims, causes))
    while True:
        counts[:] = 0
        for k in range(causes):
            if _avoided(sides, limits, extent, k):
                continue
            others = False
            for j in range(most):
                others = others or (sides[k, j] != NO_SIDE and sides[k, j] != kept)
            for j in range(most):
                side = sides[k, j]
                if side == NO_SIDE or (others and side == kept):
                    continue
                found[side, counts[side]] = limits[k, j]
                counts[side] += 1
        best_side, best_extent, best_score = NO_SIDE, 0.0, -1.0
        for side in range(2 * dims):
            if counts[side] == 0:
                continue
            axis = side % dims
            width = extent[axis] + extent[dims + axis] + home_width[axis]
            outermost = np.sort(found[side, : counts[side]])[::-1]
            for k in range(outermost.size):
                if k + 1 < outermost.size and outermost[k + 1] == outermost[k]:
                    continue
                left = max(width - extent[side] + outermost[k], 1e-300)
                score = (k + 1) / max(np.log(width / left), 1e-6)
                if score > best_score:
                    best_side, best_extent, best_score = side, outermost[k], score
        if best_side == NO_SIDE:
            return
        extent[best_side] = best_extent


@kernel
def _avoided(sides: IntArray, limits: FloatArray, extent: FloatArray, k: int) -> bool:
    avoided = False
    for j in range(sides.shape[1]):
        avoided = avoided or (sides[k, j] != NO_SIDE and extent[sides[k, j]] <= limits[k, j])
    return avoided


@kernel
def _let_out(sides: IntArray, limits: FloatArray, edge: FloatArray, extent: FloatArray) -> None:
    """Let every side out as far as the causes allow, one after the other, the shortest first; in place."""
    for side in np.argsort(extent / np.maximum(edge, 1e-300)):
        reach = edge[side]
        for k in range(sides.shape[0]):
            limit, elsewhere = np.inf, False
            for j in range(sides.shape[1]):
                if sides[k, j] == side:
                    limit = limits[k, j]
                elif sides[k, j] != NO_SIDE and extent[sides[k, j]] <= limits[k, j]:
                    elsewhere = True
            if not elsewhere:
                reach = min(reach, limit)
        extent[side] = max(extent[side], reach)


@kernel
def largest_extents(
    sides: IntArray, limits: FloatArray, home_width: FloatArray, edge: FloatArray
) -> FloatArray:
    """Extents, none beyond its edge, of a large box that avoids all causes.

    A greedy cut, then one cut side after the other is opened fully, and others are cut in its stead; what is
    larger stays.

    Parameters
    ----------
    sides, limits : (K, M) arrays, a row a cause, with `NO_SIDE` where it has fewer sides
    home_width : (D,) array
    edge : (2 D,) array
    """
    best = edge.copy()
    _cut_for_causes(sides, limits, home_width, best, NO_SIDE)
    _let_out(sides, limits, edge, best)
    size = _log_width(best, home_width)
    for _ in range(ROUNDS):
        before = size
        for side in np.flatnonzero(best < edge):
            if best[side] >= edge[side]:
                continue
            trial = best.copy()
            trial[side] = edge[side]
            _cut_for_causes(sides, limits, home_width, trial, int(side))
            _let_out(sides, limits, edge, trial)
            grown = _log_width(trial, home_width)
            if grown > size + 1e-9:
                best, size = trial, grown
        if size <= before + 1e-9:
            break
    return best
