"""The kernels of a fit: points as bins, a byte a feature, and sums over them.

On every axis, bin 0 is the instance's own place; the next `BINS` are equal parts of the way out to the lower
side, and as many after them of the way to the upper one. A function of each feature is then a row of a table,
which is looked up and never computed again.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.support.arrays import ByteArray, FloatArray

BINS = 100
"""Parts of the way out to a side: as many as a byte holds, about."""


@kernel
def binned(points: FloatArray, lower: FloatArray, upper: FloatArray, part: FloatArray) -> ByteArray:
    """The bin of every point on every axis, a row an axis.

    Parameters
    ----------
    points : (N, D) array
    lower, upper : (D,) arrays
        The ends of the instance's own place.
    part : (D,) array
        The width of a bin; the last bin holds all that lies further out.
    """
    count, dims = points.shape
    found = np.zeros((dims, count), dtype=np.uint8)
    per_width = 1.0 / part
    for n in range(count):
        for d in range(dims):
            below, above = lower[d] - points[n, d], points[n, d] - upper[d]
            if below > 0.0:
                found[d, n] = 1 + min(int(below * per_width[d]), BINS - 1)
            elif above > 0.0:
                found[d, n] = 1 + BINS + min(int(above * per_width[d]), BINS - 1)
    return found


@kernel
def sums_of(bins: ByteArray, table: FloatArray) -> FloatArray:
    """The sum over all axes of what the table says of each point's bin."""
    dims, count = bins.shape
    found = np.zeros(count)
    for d in range(dims):
        row = table[d]
        for n in range(count):
            found[n] += row[bins[d, n]]
    return found


@kernel
def totals_in(bins: ByteArray, weight: FloatArray) -> FloatArray:
    """The total weight of the points in every bin of every axis, a row an axis.

    Each half of the points has sums of its own: where most points are in one bin, an addition to a sum
    waits for the one before.
    """
    dims, count = bins.shape
    half = count // 2
    found, others = np.zeros((dims, 1 + 2 * BINS)), np.empty(1 + 2 * BINS)
    for d in range(dims):
        others[:] = 0.0
        for n in range(half):
            found[d, bins[d, n]] += weight[n]
            others[bins[d, half + n]] += weight[half + n]
        if 2 * half < count:
            found[d, bins[d, count - 1]] += weight[count - 1]
        found[d] += others
    return found
