"""What every axis knows, whatever its kind: its range, and the part of it that a region holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.coordinate import Cells, Coordinate, Length, Shares
from lime_guarantee.space.number_text import number_text
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray


@dataclass(frozen=True)
class Extent:
    """The part of an axis that a region holds.

    Parameters
    ----------
    lower, upper : float
        The first and the last coordinate, both held.
    allowed : tuple
        The raw values held, where those have no order; else empty.
    """

    lower: float
    upper: float
    allowed: tuple[Hashable, ...] = ()


@dataclass(frozen=True)
class Axis(ABC):
    """One feature: its name and, in axis coordinates, its range.

    Every kind of feature is a class of its own. A few facts of the class decide how an axis is searched and
    drawn; its methods say the rest.

    Parameters
    ----------
    name : str
    low, high : float
        The lowest and the highest coordinate.

    Attributes
    ----------
    kind : str
        What the kind is called. The class is found by it when a domain is read from JSON.
    has_cells : bool
        Whether only whole coordinates exist.
    ordered : bool
        Whether the values have an order, so that a region holds an interval of them; else it holds a set.
    is_switch : bool
        Whether the values are two, "there" (1) and "not there" (0).
    values_are_coordinates : bool
        Whether a raw value is its own coordinate. If it is not, cells are counted from 0.

    Examples
    --------
    >>> import numpy as np
    >>> from lime_guarantee.space.axis import IntegerAxis
    >>> axis = IntegerAxis("rooms", 1.0, 9.0)
    >>> axis.encode(np.array([3, 3.5]))
    array([ 3., nan])
    >>> axis.extent_text(Extent(3.0, 6.0), 4)
    '[3, 6]'
    >>> axis.distance(np.array([1.0, 4.0]), 4.0)
    array([0.33333333, 0.        ])
    """

    name: str
    low: float
    high: float

    kind: ClassVar[str]
    has_cells: ClassVar[bool] = False
    ordered: ClassVar[bool] = True
    is_switch: ClassVar[bool] = False
    values_are_coordinates: ClassVar[bool] = True

    _classes: ClassVar[dict[str, type[Axis]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" in vars(cls):
            Axis._classes[cls.kind] = cls

    # Values and coordinates.

    @abstractmethod
    def encode(self, column: AnyArray) -> FloatArray:
        """Axis coordinates of a column of raw values; NaN where a value does not exist on the axis."""

    def decode(self, coordinates: FloatArray) -> AnyArray:
        """Raw values of a column of axis coordinates."""
        return coordinates

    @abstractmethod
    def including(self, value: Any) -> Axis:
        """The same axis, widened where need be so that the raw value exists on it."""

    def with_bounds(self, low: float, high: float) -> Axis:
        """An axis of the same name, for numbers between other bounds."""
        raise InvalidInputError(
            f"bounds: feature {self.name!r} is {self.kind} and takes none; got [{low}, {high}]. Leave it out."
        )

    @property
    def numeric(self) -> bool:
        """Whether every raw value is a number."""
        return True

    def coordinate(self, home: float) -> Coordinate:
        """The axis as one of the unit cube, all its values alike; the instance's own is met exactly."""
        if self.constant:
            return Shares(np.array([self.low]), np.ones(1), reorderable=not self.ordered)
        if not self.ordered:
            return Shares(self.cells, np.ones(self.cells.size), reorderable=True)
        if self.has_cells:
            return Cells(self.low, round(self.width))
        return Length(self.low, self.high, home)

    # The range.

    @property
    def constant(self) -> bool:
        """Whether the axis has a single value."""
        return self.low == self.high

    @property
    def unit(self) -> float:
        """What a single point adds to a width. A constant axis counts as one cell."""
        return float(self.has_cells or self.constant)

    @property
    def width(self) -> float:
        """The length of the axis, or its number of cells."""
        return self.high - self.low + self.unit

    @property
    def cells(self) -> FloatArray:
        """The coordinates of all cells; of a constant axis, its only value."""
        if not self.unit:
            raise ValueError(f"feature {self.name!r} is {self.kind} and has no cells")
        return np.array([self.low]) if self.constant else np.arange(self.low, self.high + 1)

    def nearest(self, coordinates: FloatArray) -> FloatArray:
        """The coordinates that exist on the axis and lie nearest to these."""
        return np.round(coordinates) if self.has_cells else coordinates

    def at_or_below(self, coordinates: FloatArray) -> FloatArray:
        """The largest coordinates that exist on the axis and are not above these."""
        return np.floor(coordinates) if self.has_cells else coordinates

    def distance(self, coordinates: FloatArray, other: float) -> FloatArray:
        """How far coordinates are from another one, as a share of the axis."""
        return np.asarray(np.abs(coordinates - other) / self.width)

    def evenly(self, count: int) -> FloatArray:
        """So many coordinates from one end to the other, or all cells if there are fewer."""
        if self.has_cells:
            cells = round(self.high - self.low) + 1
            return np.asarray(np.round(np.linspace(self.low, self.high, min(count, cells))))
        return np.array([self.low]) if self.constant else np.linspace(self.low, self.high, count)

    def middles(self, count: int) -> FloatArray:
        """The middles of so many equal parts of the axis; the same as `evenly`, if it has cells."""
        if self.unit:
            return self.evenly(count)
        return np.linspace(self.low, self.high, 2 * count + 1)[1::2]

    def first_grid(self, home: float, intervals: int, most_cells: int) -> FloatArray:
        """The coordinates at which an effect is asked first: evenly spread, the instance's own among them.

        These are all cells, if there are at most `most_cells` of them, or if nothing lies between them.
        """
        if self.constant:
            return np.array([home])
        if self.has_cells and (not self.ordered or self.width <= most_cells):
            return self.cells
        even = np.linspace(self.low, self.high, intervals + 1)
        return np.union1d(self.at_or_below(even), [home])

    # Extents: the part that a region holds.

    def widest(self) -> Extent:
        """All of the axis."""
        return Extent(self.low, self.high)

    def extent_of(self, values: FloatArray) -> Extent:
        """The smallest extent that holds these coordinates."""
        return Extent(float(values.min()), float(values.max()))

    def search_axis(self, extent: Extent) -> Axis:
        """The axis in such an order that the extent is an interval."""
        return self

    def search_bounds(self, extent: Extent) -> tuple[float, float]:
        """The ends of the extent on `search_axis`."""
        return extent.lower, extent.upper

    def reordered(self, order: Sequence[int]) -> Axis:
        """The axis with its cells in another order."""
        raise ValueError(f"feature {self.name!r} is {self.kind}: its values have an order; got {list(order)}")

    def cells_in(self, extent: Extent) -> BoolArray:
        """For each cell, whether the extent holds it."""
        return np.asarray((self.cells >= extent.lower) & (self.cells <= extent.upper))

    def interval_as_drawn(self, lower: float, upper: float) -> tuple[float, float]:
        """An interval as it is drawn: a cell has a width, half of it to each side of its value."""
        return float(lower) - self.unit / 2, float(upper) + self.unit / 2

    @property
    def ends_as_drawn(self) -> tuple[float, float]:
        """The ends of the axis as they are drawn."""
        return self.interval_as_drawn(self.low, self.high)

    def intervals_as_drawn(self, extent: Extent) -> tuple[tuple[float, float], ...]:
        """The extent as it is drawn: one interval, or several if the values have no order."""
        return (self.interval_as_drawn(extent.lower, extent.upper),)

    def bars(self, most: int) -> int:
        """How many bars a histogram has: one a cell, if that is not too many."""
        return round(self.width) if self.has_cells and self.width <= most else most

    # Texts, and entries of tables.

    def text(self, value: Any, extent: Extent | None = None) -> str:
        """A raw value in words; with an extent that holds it, a text that lies in the extent too."""
        return number_text(value)

    @property
    def cell_labels(self) -> tuple[str, ...]:
        """What the cells are called, if they have names."""
        return ()

    def extent_text(self, extent: Extent, instance: Any) -> str:
        """The values of the extent in words; the instance, as `text` has it, is one of them."""
        if self.constant:
            return "constant"
        lower, upper = self.bound_texts(extent, instance)
        return f"[{lower}, {upper}]" + (" free" if extent == self.widest() else "")

    def bound_texts(self, extent: Extent, instance: Any) -> tuple[str, str]:
        """The first and the last value of the extent in words, neither of them outside it."""
        lower, upper = self.decode(np.array([extent.lower, extent.upper])).tolist()
        return self.text(lower), self.text(upper)

    def value_entry(self, value: Any) -> Any:
        """A raw value as a table has it."""
        return value

    def bounds_entry(self, extent: Extent) -> tuple[float | None, float | None]:
        """The ends of the extent as a table has them; None where they say nothing."""
        return extent.lower, extent.upper

    def allowed_entry(self, extent: Extent) -> tuple[str, ...] | None:
        """The names of the values in the extent, where bounds do not tell them."""
        return None

    # Plain types.

    def to_dict(self) -> dict[str, Any]:
        """The axis in plain types, fit for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "low": self.low,
            "high": self.high,
            "categories": [],
            "labels": [],
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Axis:
        """The axis that `to_dict` described."""
        if data["kind"] not in Axis._classes:
            raise InvalidInputError(
                f"kind: feature {data['name']!r} is of the kind {data['kind']!r}; known are "
                f"{sorted(Axis._classes)}. Import the module that defines its class."
            )
        return Axis._classes[data["kind"]]._from_fields(data)

    @classmethod
    def _from_fields(cls, data: Mapping[str, Any]) -> Axis:
        return cls(data["name"], data["low"], data["high"])
