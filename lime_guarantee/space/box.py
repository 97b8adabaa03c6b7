"""Axis-aligned boxes in engine coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lime_guarantee.support.arrays import BoolArray, FloatArray, frozen

SMALLEST_WIDTH = float(np.nextafter(0.0, 1.0))
"""What a side of zero width counts as in a log volume, so that it stays finite and sorts last."""


@dataclass(frozen=True, eq=False)
class Box:
    """A closed box: the points with ``lower <= x <= upper`` on every axis.

    Parameters
    ----------
    lower, upper : array of shape (D,)
        Bounds, both part of the box.
    unit : array of shape (D,)
        What one point adds to a width: 0 on a continuous axis, 1 on an axis of cells. A width is
        ``upper - lower + unit``, so on cells it is the number of cells held, and a constant axis
        (one cell) has width 1 and drops out of every volume.

    Examples
    --------
    >>> import numpy as np
    >>> box = Box(np.array([0.0, 2.0]), np.array([0.5, 4.0]), unit=np.array([0.0, 1.0]))
    >>> box.width
    array([0.5, 3. ])
    >>> box.contains(np.array([[0.5, 3.0], [0.6, 3.0]]))
    array([ True, False])
    """

    lower: FloatArray
    upper: FloatArray
    unit: FloatArray

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "unit"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        if not np.all(self.lower <= self.upper):
            raise ValueError("a box needs lower <= upper on every axis")

    @cached_property
    def width(self) -> FloatArray:
        """Width along every axis: a length, or a number of cells."""
        return self.upper - self.lower + self.unit

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume; finite even where a side has no width."""
        return float(np.sum(np.log(np.maximum(self.width, SMALLEST_WIDTH))))

    def contains(self, points: FloatArray) -> BoolArray:
        """Which of the points, an (n, D) array, lie in the box."""
        inside = (points >= self.lower) & (points <= self.upper)
        return np.asarray(inside.all(axis=1))

    def holds(self, other: Box) -> bool:
        """Whether all of the other box lies in this one."""
        return bool(np.all(self.lower <= other.lower) and np.all(other.upper <= self.upper))

    def restrict(self, other: Box) -> Box:
        """The part of this box that lies in the other one, too."""
        return Box(np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper), self.unit)

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points uniformly: uniform on lengths, uniform over the cells held."""
        return sample_box(rng, count, self.lower, self.upper, self.unit)


def sample_box(
    rng: np.random.Generator, count: int, lower: FloatArray, upper: FloatArray, unit: FloatArray
) -> FloatArray:
    """Draw `count` points uniformly between the bounds; see `Box` for `unit`."""
    width = upper - lower + unit
    points = rng.random((count, lower.size))
    points *= width
    points += lower
    np.minimum(points, upper, out=points)  # rounding may carry a point past the bound
    cells = unit > 0
    if cells.any():  # scaled floats would not reach every one of very many cells
        places = rng.integers(0, width[cells].astype(np.int64), (count, int(cells.sum())))
        points[:, cells] = lower[cells] + places
    return points
