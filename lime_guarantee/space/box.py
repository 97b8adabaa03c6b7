"""Axis-aligned boxes in the unit cube."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from lime_guarantee.support.arrays import BoolArray, FloatArray, frozen

if TYPE_CHECKING:
    from lime_guarantee.space.cube import Cube


@dataclass(frozen=True, eq=False)
class Box:
    """A closed box: the points with ``lower <= x <= upper`` on every axis.

    Parameters
    ----------
    lower, upper : array of shape (D,)
        Bounds, both part of the box.
    cube : Cube
        What its places mean, and how points are drawn.

    Examples
    --------
    >>> from lime_guarantee import Domain, Uniform
    >>> cube = Uniform().cube(Domain.from_bounds([0, 0], [1, 1]), np.array([0.5, 0.5]))
    >>> box = Box(np.array([0.0, 0.25]), np.array([0.5, 0.75]), cube)
    >>> box.width
    array([0.5, 0.5])
    >>> box.contains(np.array([[0.5, 0.3], [0.6, 0.3]]))
    array([ True, False])
    """

    lower: FloatArray
    upper: FloatArray
    cube: Cube

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        if not np.all(self.lower <= self.upper):
            raise ValueError("a box needs lower <= upper on every axis")

    @cached_property
    def width(self) -> FloatArray:
        """Width along every axis."""
        return self.upper - self.lower

    @cached_property
    def log_share(self) -> float:
        """Natural logarithm of the box's share of the measure."""
        return self.cube.log_share(self.lower, self.upper)

    def contains(self, points: FloatArray) -> BoolArray:
        """Which of the points, an (n, D) array, lie in the box."""
        inside = (points >= self.lower) & (points <= self.upper)
        return np.asarray(inside.all(axis=1))

    def holds(self, other: Box) -> bool:
        """Whether all of the other box lies in this one."""
        return bool(np.all(self.lower <= other.lower) and np.all(other.upper <= self.upper))

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points from the measure, given that they lie in the box."""
        return self.cube.sample(rng, count, self.lower, self.upper)
