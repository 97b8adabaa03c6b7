"""Where things stand on a feature's axis: its ends, its cells, its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.space.domain import Axis
from lime_guarantee.support.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

BINS = 32
"""Bars of a histogram of numbers."""


def interval(axis: Axis, lower: float, upper: float) -> tuple[float, float]:
    """An interval as it is drawn: a cell has a width, half of it to each side of its value."""
    half = 0.5 if axis.has_cells or axis.constant else 0.0
    return float(lower) - half, float(upper) + half


def ends(axis: Axis) -> tuple[float, float]:
    """The ends of an axis as it is drawn."""
    return interval(axis, axis.low, axis.high)


def cell_edges(places: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """The borders of the parts of an axis that places stand for: half-way between neighbours."""
    return np.concatenate([[ends[0]], (places[1:] + places[:-1]) / 2, [ends[1]]])


def cell_labels(axis: Axis, *, presence: bool = False) -> tuple[str, ...]:
    """What the cells of a categorical or binary axis are called; nothing for other axes."""
    if axis.kind == "categorical":
        return tuple(map(axis.label, axis.categories))
    if axis.kind == "binary":
        return ("absent", "present") if presence else ("0", "1")
    return ()


def allowed_cells(region: GuaranteeRegion, index: int) -> BoolArray:
    """Which cells of a categorical or binary axis lie in the region."""
    axis = region.domain.axes[index]
    if axis.kind == "categorical":
        allowed = {axis.position(value) for value in region.allowed[axis.name]}
        return np.array([k in allowed for k in range(len(axis.categories))])
    cells = np.arange(axis.low, axis.high + 1)
    return np.asarray((cells >= region.lower[index]) & (cells <= region.upper[index]))


def histogram(axis: Axis, coordinates: FloatArray) -> FloatArray:
    """How the data lies on an axis: heights up to 1 of equally wide bars; missing values are passed over."""
    low, high = ends(axis)
    cells = round(high - low)
    bins = cells if axis.has_cells and cells <= BINS else BINS
    counts = np.histogram(coordinates, bins=bins, range=(low, high))[0]  # NaN lies in no range
    return np.asarray(counts / max(1, counts.max()), dtype=np.float64)


def instance_coordinates(region: GuaranteeRegion) -> FloatArray:
    """The instance in the coordinates of the region's domain."""
    return np.asarray(region.domain.encode(region.instance[np.newaxis])[0])


def encoded(region: GuaranteeRegion, data: Any) -> FloatArray | None:
    """Rows of data in the coordinates of the region's domain."""
    return None if data is None else region.domain.encode(data)
