"""The kernel that cuts back a side behind which failures lie: a pure function, with a slow twin in tests.

A box around an instance has 2 D sides: side d is the lower one of axis d, side D + d the upper one. The
extent of a side is its distance from the instance's home: its own atom, or itself where it lies in none.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.kernels.jit import kernel
from lime_guarantee.support.arrays import FloatArray


@kernel
def best_cut(
    failures: FloatArray,
    stops: FloatArray,
    home_lower: FloatArray,
    home_upper: FloatArray,
    extent: FloatArray,
    caution: float,
    least: float,
) -> tuple[int, float, float]:
    """The one cut that removes most failures for the volume it costs.

    Moving a side in past the k outermost of all n failures takes ``-log(1 - k / n)`` off the logarithm of
    the failures' number, and `cost` off that of the volume. The score is the fall of the failing rate's
    logarithm for a unit of cost; k is taken `caution` standard deviations smaller than counted, because the
    best of many cuts is looked for. Cuts that remove less than the share `least` are passed over. A cut goes
    to where `stops` has it for the innermost failure removed, or, if that is the failure's own place, some of
    the way to the next one.

    Returns the side (-1 if there is no such cut), its new extent and the score.
    """
    count, dims = failures.shape
    best_side, best_extent, best_score = -1, 0.0, -1.0
    gaps, stop_gaps = np.empty(count), np.empty(count)
    for side in range(2 * dims):
        d = side % dims
        beyond = 0
        for i in range(count):
            if side < dims:
                gap, stop_gap = home_lower[d] - failures[i, d], home_lower[d] - stops[i, d]
            else:
                gap, stop_gap = failures[i, d] - home_upper[d], stops[i, d] - home_upper[d]
            if gap > 0.0:
                gaps[beyond], stop_gaps[beyond] = gap, stop_gap
                beyond += 1
        # Both fall together, so the k-th of the one belongs to the k-th of the other.
        outermost, stop_at = np.sort(gaps[:beyond])[::-1], np.sort(stop_gaps[:beyond])[::-1]
        width = extent[d] + extent[dims + d] + (home_upper[d] - home_lower[d])
        for k in range(3, beyond + 1):
            outer, inner = outermost[k - 1], outermost[k] if k < beyond else 0.0
            if inner == outer:
                continue
            moved = max(stop_at[k - 1], 0.0) if stop_at[k - 1] < outer else outer - 0.3 * (outer - inner)
            kept_width = width - (extent[side] - moved)
            removed = (k - caution * np.sqrt(k)) / (count + 1.0)
            if kept_width <= 0.0 or removed < least:
                continue
            cost = max(np.log(width / kept_width), 0.02)
            score = (-np.log(1.0 - removed) - cost) / cost
            if score > best_score:
                best_side, best_extent, best_score = side, moved, score
    return best_side, best_extent, best_score
