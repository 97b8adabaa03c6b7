"""Where things stand on a feature's axis: the borders of places, and the data."""

from __future__ import annotations

import numpy as np

from lime_guarantee.space.axis import Axis
from lime_guarantee.support.arrays import FloatArray

BARS = 32
"""Of a histogram of numbers."""


def cell_edges(places: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """The borders of the parts of an axis that places stand for: half-way between neighbours."""
    return np.concatenate([[ends[0]], (places[1:] + places[:-1]) / 2, [ends[1]]])


def histogram(axis: Axis, coordinates: FloatArray) -> FloatArray:
    """How the data lies on an axis: heights up to 1 of equally wide bars; missing values are passed over."""
    counts = np.histogram(coordinates, bins=axis.bars(BARS), range=axis.ends_as_drawn)[
        0
    ]  # NaN is in no range
    return np.asarray(counts / max(1, counts.max()), dtype=np.float64)
