"""What draws, and a model of the boundary, say of boxes that differ from one in a single side."""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.engine.kernels.slopes import axis_moments, log_odds, moments
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray


@kernel
def count_moves(
    far: FloatArray, failed: BoolArray, extent: FloatArray, tried: FloatArray
) -> tuple[IntArray, IntArray]:
    """Count draws, all and those that failed, for every side and every extent that is tried for it.

    Where the extent is smaller, those in the box that is left are counted; where it is larger, those in what
    is added.

    Parameters
    ----------
    far : array of shape (draws, 2 D)
        How far every draw lies beyond the instance's home, towards every side.
    failed : array of shape (draws,)
    extent : array of shape (2 D,)
    tried : array of shape (2 D, T)

    Returns
    -------
    array of shape (2, 2 D, T)
        All draws, and those that failed.
    array of shape (2,)
        The same for the box itself.
    """
    sides, trials = tried.shape
    counts = np.zeros((2, sides, trials), dtype=np.int64)
    whole = np.zeros(2, dtype=np.int64)
    for i in range(len(far)):
        outside, beyond = 0, -1
        for side in range(sides):
            if far[i, side] > extent[side]:
                outside += 1
                beyond = side
                if outside > 1:
                    break
        if outside > 1:
            continue
        bad = 1 if failed[i] else 0
        if outside == 1:
            for k in range(trials):
                if tried[beyond, k] > extent[beyond] and far[i, beyond] <= tried[beyond, k]:
                    counts[0, beyond, k] += 1
                    counts[1, beyond, k] += bad
            continue
        whole[0] += 1
        whole[1] += bad
        for side in range(sides):
            for k in range(trials):
                if tried[side, k] < extent[side] and far[i, side] <= tried[side, k]:
                    counts[0, side, k] += 1
                    counts[1, side, k] += bad
    return counts, whole


@kernel
def odds_after_moves(
    bias: float,
    extent: FloatArray,
    tried: FloatArray,
    home: FloatArray,
    knots: FloatArray,
    heights: FloatArray,
    pull: FloatArray,
) -> FloatArray:
    """The log-odds that a draw fails under the model, after every single move."""
    dims = home.size
    each = moments(extent, home, knots, heights, pull)
    total = np.zeros(5)
    for i in range(dims):
        total += each[i]
    found = np.empty(tried.shape)
    moved, axis = extent.copy(), np.empty(5)
    for side in range(2 * dims):
        for k in range(tried.shape[1]):
            moved[side] = tried[side, k]
            axis_moments(side % dims, moved, home, knots, heights, pull, axis)
            found[side, k] = log_odds(bias, total - each[side % dims] + axis)
        moved[side] = extent[side]
    return found
