"""The unit cube: what the engine works in. It knows places, atoms and shares, and no kind of feature.

Every axis runs from 0 to 1, and a `Coordinate` says what its places mean. A uniform draw in a box of the cube
draws each feature from its own distribution, independently, within the box; the volume of the box is its
share of the measure.

Two conventions let searches forget about atoms. A point lies in the middle of its atoms. And a side of a box
that ends inside an atom is moved to the nearer end of it (`snapped`): so the box holds whole atoms, and the
same points as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lime_guarantee.space.box import Box
from lime_guarantee.space.coordinate import Coordinate, Length
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray, IntArray, frozen

FEWEST_FLOATS = 1024
"""A continuous side that spans fewer floats than this is no interval."""

SMALLEST_WIDTH = float(np.nextafter(0.0, 1.0))
"""What a side of zero width counts as in a logarithm, so that it stays finite and sorts last."""


@dataclass(frozen=True, eq=False)
class Cube:
    """The unit cube of a domain, seen from an instance.

    Parameters
    ----------
    domain : Domain
        Turns values into raw values.
    coordinates : tuple of Coordinate
        One an axis.
    instance_values : array of shape (D,)
        The instance, as `Domain.encode` gives it; every coordinate has a place for it.
    counts_rows : bool
        Whether searches look for boxes that hold many rows of data, not only much of the measure: where it
        is made of these, but does not know how features go together.

    Examples
    --------
    >>> from lime_guarantee.space.measure import Uniform
    >>> domain = Domain.from_bounds([0, 1], [10, 4], integer=[1])
    >>> cube = Uniform().cube(domain, np.array([2.5, 3.0]))
    >>> cube.instance
    array([0.25 , 0.625])
    >>> cube.decode(np.array([[0.25, 0.7]]))
    array([[2.5, 3. ]])
    >>> cube.snapped(np.array([0.2, 0.45]), np.array([0.3, 0.9])).lower
    array([0.2, 0.5])
    """

    domain: Domain
    coordinates: tuple[Coordinate, ...]
    instance_values: FloatArray
    counts_rows: bool = False

    @cached_property
    def instance(self) -> FloatArray:
        """The place of the instance."""
        return frozen(self.settled(self.places(self.instance_values[np.newaxis]))[0])

    @cached_property
    def home(self) -> Box:
        """The atoms of the instance; a point where it lies in none."""
        low, high = self.atoms(self.instance[np.newaxis])
        return Box(low[0], high[0], self)

    @cached_property
    def whole(self) -> Box:
        """All of the cube."""
        return Box(np.zeros(len(self)), np.ones(len(self)), self)

    def __len__(self) -> int:
        return len(self.coordinates)

    @cached_property
    def has_atoms(self) -> BoolArray:
        """Which axes have atoms."""
        return np.array([coordinate.has_atoms for coordinate in self.coordinates])

    @property
    def counts_draws(self) -> BoolArray:
        """On which axes the share of a slice of a box is not its share of the width, but must be counted."""
        return self.has_atoms

    @cached_property
    def cells(self) -> FloatArray:
        """How many atoms every axis has, if it has nothing else; else infinity."""
        return frozen([coordinate.cells for coordinate in self.coordinates])

    @cached_property
    def scale(self) -> FloatArray:
        """How long every axis is, in the units in which distances are measured."""
        return frozen([c.length for c in self.coordinates])

    @cached_property
    def stretch(self) -> tuple[FloatArray, FloatArray]:
        """Both ends of the atom in which the instance lies, or of the stretch between two atoms."""
        ends = [c.stretch(float(place)) for c, place in zip(self.coordinates, self.instance, strict=True)]
        return frozen([low for low, _ in ends]), frozen([high for _, high in ends])

    @cached_property
    def reorderable(self) -> IntArray:
        """The axes whose atoms may stand in any order."""
        several = [c.reorderable and c.cells > 1 for c in self.coordinates]
        return np.flatnonzero(several)

    def reordered(self, orders: Mapping[int, Sequence[int]]) -> Cube:
        """The cube with the atoms of some axes in another order."""
        coordinates = list(self.coordinates)
        for i, order in orders.items():
            coordinates[i] = coordinates[i].reordered(order)
        return replace(self, coordinates=tuple(coordinates))

    # Points.

    def values(self, points: FloatArray) -> FloatArray:
        """The values of the axes at points."""
        lengths, low, high, home, home_value = self._lengths
        if lengths.size == len(self):
            return _on_lengths(points, low, high, home, home_value)
        values = np.empty(points.shape)
        values[:, lengths] = _on_lengths(points[:, lengths], low, high, home, home_value)
        for i in self._others:
            values[:, i] = self.coordinates[i].value(points[:, i])
        return values

    def decode(self, points: FloatArray) -> AnyArray:
        """Rows of raw values at points."""
        return self.domain.decode(self.values(points))

    def places(self, values: FloatArray) -> FloatArray:
        """Points of rows of the axes' values; NaN where the measure has nothing."""
        columns = [c.place(values[:, i]) for i, c in enumerate(self.coordinates)]
        return np.column_stack(columns)

    def encode(self, X: Any) -> FloatArray:
        """Points of rows of raw values; NaN where the measure has nothing."""
        return self.places(self.domain.encode(X))

    @cached_property
    def data_points(self) -> FloatArray:
        """The rows of data that are remembered, as points; those that lie outside are left out."""
        points = self.places(self.domain.observed_rows)
        return points[~np.isnan(points).any(axis=1)]

    def atoms(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both ends of the atoms around points; the place itself where there is none."""
        low, high = points.copy(), points.copy()
        for i in np.flatnonzero(self.has_atoms):
            low[:, i], high[:, i] = self.coordinates[i].atoms(points[:, i])
        return low, high

    def settled(self, points: FloatArray) -> FloatArray:
        """Points moved to the middles of their atoms, in place."""
        for i in np.flatnonzero(self.has_atoms):
            low, high = self.coordinates[i].atoms(points[:, i])
            points[:, i] = (low + high) / 2
        return points

    def stops(self, points: FloatArray) -> FloatArray:
        """Where a side of a box that is to leave a point out has to stop: the near end of the atom.

        That is the point's own place where it lies in no atom, or in the instance's own.
        """
        if not self.has_atoms.any():
            return points
        low, high = self.atoms(points)
        return np.where(points > self.instance, low, np.where(points < self.instance, high, points))

    # Boxes.

    def snapped(self, lower: FloatArray, upper: FloatArray) -> Box:
        """The box between two corners, each side inside an atom moved to the nearer end of it."""
        if self.has_atoms.any():
            lower, upper = lower.copy(), upper.copy()
            for i in np.flatnonzero(self.has_atoms):
                coordinate = self.coordinates[i]
                low, high = coordinate.atoms(np.array([lower[i], upper[i]]))
                middle = (low + high) / 2
                lower[i] = low[0] if lower[i] <= middle[0] else high[0]  # a point in the middle is held
                upper[i] = high[1] if upper[i] >= middle[1] else low[1]
            lower = np.minimum(lower, self.home.lower)
            upper = np.maximum(upper, self.home.upper)
        return Box(lower, upper, self)

    def log_share(self, lower: FloatArray, upper: FloatArray) -> float:
        """Natural logarithm of a box's share of the measure; finite even where a side has no width."""
        return float(np.sum(np.log(np.maximum(upper - lower, SMALLEST_WIDTH))))

    def sample(
        self, rng: np.random.Generator, count: int, lower: FloatArray, upper: FloatArray
    ) -> FloatArray:
        """Draw points from the measure, given that they lie in a box."""
        points = rng.random((count, lower.size))
        points *= upper - lower
        points += lower
        np.minimum(points, upper, out=points)  # rounding may carry a point past the bound
        return self.within(points, lower, upper)

    def within(self, points: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Points of a snapped box, settled; rounding must not carry them over an edge. In place."""
        for i in np.flatnonzero(self.has_atoms):
            coordinate = self.coordinates[i]
            low, high = coordinate.atoms(points[:, i])
            middle = (low + high) / 2
            out = (middle < lower[i]) | (middle > upper[i])
            if out.any():  # within rounding of an edge: the place in the middle of the box will do
                inner = np.full(int(out.sum()), (lower[i] + upper[i]) / 2)
                low, high = coordinate.atoms(inner)
                middle[out] = (low + high) / 2
            points[:, i] = middle
        return points

    def held(self, box: Box) -> list[FloatArray]:
        """For every axis, the values that a box holds; see `Coordinate.held`."""
        return [
            c.held(low, high) for c, low, high in zip(self.coordinates, box.lower, box.upper, strict=True)
        ]

    def has_room(self, box: Box) -> bool:
        """Whether every continuous side spans many floats: else a few values, not a share, were tested."""
        lengths = self.home.width == 0
        values = self.values(np.array([box.lower, box.upper]))
        for low, high in ((box.lower, box.upper), (values[0], values[1])):
            spacing = np.spacing(np.maximum(np.abs(low), np.abs(high)))
            if not np.all((high - low)[lengths] > FEWEST_FLOATS * spacing[lengths]):
                return False
        return True

    @cached_property
    def _others(self) -> IntArray:
        return np.flatnonzero([not isinstance(c, Length) for c in self.coordinates])

    @cached_property
    def _lengths(self) -> tuple[IntArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """The axes of numbers that are all alike: they are translated at one go."""
        which = [(i, c) for i, c in enumerate(self.coordinates) if isinstance(c, Length)]
        axes = np.array([i for i, _ in which], dtype=np.int64)
        low, high = np.array([c.low for _, c in which]), np.array([c.high for _, c in which])
        return axes, low, high, self.instance[axes], self.instance_values[axes]


def _on_lengths(
    points: FloatArray, low: FloatArray, high: FloatArray, home: FloatArray, home_value: FloatArray
) -> FloatArray:
    values = points * (high - low)
    values += low
    np.minimum(values, high, out=values)
    return np.where(points == home, home_value, values)
