"""Axes: one class a kind of feature, which knows its values, their texts and their cells.

A raw value becomes an axis coordinate like so (the engine sees places between 0 and 1, see `Coordinate`):

=========== ==================================================================================
continuous  the value itself
integer     the value itself; only whole numbers exist
binary      an integer axis with the cells 0 and 1
discrete    the position of the value among a few numbers (`discrete_axis`)
categorical the position of the value in the axis's list of categories
=========== ==================================================================================

A value that does not exist on its axis (an unknown category, 2.5 on an integer axis) becomes NaN, which
lies in no box.

A new kind is one class: derive it from `Axis`, or from the kind that is nearest to it, name its `kind` and
say how its values are read, written and shown. Searches, reports, pages and pictures then know it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.axis_base import Axis as Axis
from lime_guarantee.space.axis_base import Extent as Extent
from lime_guarantee.space.number_text import bound_texts_around, number_text, number_text_within
from lime_guarantee.space.tables import from_json, is_number, plain, to_json
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

LARGEST_CELL = 2.0**40
"""Whole numbers up to here can be told apart by their place on the unit interval."""

LONGEST_LIST, FEWEST_SHOWN = 80, 3
"""Letters that a list of categories takes in a report, and the fewest that it names. The others are counted;
a region's `to_frame` has them all."""


class NumberAxis(Axis):
    """What axes of numbers share: a value is its own coordinate."""

    def with_bounds(self, low: float, high: float) -> Axis:
        return ordered_axis(self.name, low, high, integer=self.has_cells)

    def encode(self, column: AnyArray) -> FloatArray:
        try:
            values = np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"feature {self.name!r} is {self.kind}, so its values must be numbers; {error}. "
                "Name it in `categories=` if its values are categories."
            ) from error
        return values

    def including(self, value: Any) -> Axis:
        number = float(self.encode(np.array([value], dtype=object))[0])
        if not np.isfinite(number):
            raise InvalidInputError(
                f"instance: feature {self.name!r} must be a finite number; got {value!r}."
            )
        return self.with_bounds(min(self.low, number), max(self.high, number))


@dataclass(frozen=True)
class ContinuousAxis(NumberAxis):
    """An axis of numbers.

    Examples
    --------
    >>> axis, extent = ContinuousAxis("balance", -1.0, 1.0), Extent(-0.00259233, 0.14507)
    >>> axis.extent_text(extent, -0.002592)
    '[-0.002592, 0.1450]'
    """

    kind: ClassVar[str] = "continuous"

    def text(self, value: Any, extent: Extent | None = None) -> str:
        if extent is None or self.constant or not _is_float_in(extent, value):
            return number_text(value)
        return number_text_within(value, extent.lower, extent.upper)

    def bound_texts(self, extent: Extent, instance: Any) -> tuple[str, str]:
        """To about four digits of the width; more, where the instance would be left out."""
        inside = float(instance) if _is_float_in(extent, instance) else None
        return bound_texts_around(extent.lower, extent.upper, inside)


@dataclass(frozen=True)
class IntegerAxis(NumberAxis):
    """An axis of whole numbers, each of which is a cell.

    Examples
    --------
    >>> IntegerAxis("rooms", 1.0, 9.0).including(12)
    IntegerAxis(name='rooms', low=1.0, high=12.0)
    """

    kind: ClassVar[str] = "integer"
    has_cells: ClassVar[bool] = True

    def encode(self, column: AnyArray) -> FloatArray:
        values = super().encode(column)
        return np.where(values == np.round(values), values, np.nan)

    def including(self, value: Any) -> Axis:
        if is_number(value) and np.isfinite(float(value)) and float(value) != round(float(value)):
            raise InvalidInputError(
                f"instance: feature {self.name!r} is {self.kind}, but the instance has {value!r} there, "
                "which is not a whole number. Round the instance, or leave the feature out of `integer=`."
            )
        return super().including(value)

    def text(self, value: Any, extent: Extent | None = None) -> str:
        return f"{value:.0f}"

    def bound_texts(self, extent: Extent, instance: Any) -> tuple[str, str]:
        return str(int(extent.lower)), str(int(extent.upper))


@dataclass(frozen=True)
class BinaryAxis(IntegerAxis):
    """An axis with the cells 0 and 1.

    Examples
    --------
    >>> BinaryAxis("owner").cell_labels
    ('0', '1')
    """

    low: float = field(default=0.0, init=False)
    high: float = field(default=1.0, init=False)

    kind: ClassVar[str] = "binary"
    is_switch: ClassVar[bool] = True

    @property
    def cell_labels(self) -> tuple[str, ...]:
        return "0", "1"

    @classmethod
    def _from_fields(cls, data: Mapping[str, Any]) -> Axis:
        return cls(data["name"])


@dataclass(frozen=True)
class CategoricalAxis(Axis):
    """An axis of categories, which have no order: a region holds a set of them.

    Parameters
    ----------
    name : str
    categories : tuple
        The raw values; a coordinate is a position among them.
    labels : tuple of str
        What reports show instead of the raw values; may be empty.

    Examples
    --------
    >>> axis = CategoricalAxis("colour", (1, 2, 3), ("red", "green", "blue"))
    >>> axis.high, axis.text(2)
    (2.0, 'green')
    >>> axis.extent_text(Extent(0.0, 2.0, allowed=(3, 1)), 3)
    '{blue, red}'
    """

    low: float = field(default=0.0, init=False)
    high: float = field(init=False)
    categories: tuple[Hashable, ...]
    labels: tuple[str, ...] = ()

    kind: ClassVar[str] = "categorical"
    has_cells: ClassVar[bool] = True
    ordered: ClassVar[bool] = False
    values_are_coordinates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "high", float(len(self.categories) - 1))
        if not self.categories:
            raise InvalidInputError(
                f"categories: feature {self.name!r} has none. List the values it may take."
            )
        if len(self._positions) < len(self.categories):
            raise InvalidInputError(
                f"categories: feature {self.name!r} lists a value twice: {list(self.categories)}."
            )

    def encode(self, column: AnyArray) -> FloatArray:
        positions = [self.position(value) for value in column.tolist()]
        return np.array([np.nan if p is None else p for p in positions], dtype=np.float64)

    def decode(self, coordinates: FloatArray) -> AnyArray:
        return self._category_array[coordinates.astype(np.int64)]

    def including(self, value: Any) -> Axis:
        if self.position(value) is not None:
            return self
        labels = (*self.labels, str(plain(value))) if self.labels else ()
        return categorical_axis(self.name, (*self.categories, value), labels)

    def with_bounds(self, low: float, high: float) -> Axis:
        """An axis of whole numbers, as those of codes are."""
        return ordered_axis(self.name, low, high, integer=True)

    @property
    def numeric(self) -> bool:
        return all(is_number(value) for value in self.categories)

    def position(self, value: Hashable) -> int | None:
        """Where a raw value stands among the categories, if it does."""
        return self._positions.get(_category_key(value))

    def label(self, value: Hashable) -> str:
        """What a category is called."""
        position = self.position(value)
        if self.labels and position is not None:
            return self.labels[position]
        return number_text(value)

    def reordered(self, order: Sequence[int]) -> CategoricalAxis:
        if sorted(order) != list(range(len(self.categories))):
            raise ValueError(f"{list(order)} is no permutation of {len(self.categories)} categories")
        return replace(
            self,
            categories=tuple(self.categories[k] for k in order),
            labels=tuple(self.labels[k] for k in order) if self.labels else (),
        )

    def distance(self, coordinates: FloatArray, other: float) -> FloatArray:
        """1 where the category is another one, else 0."""
        return np.asarray(coordinates != other, dtype=np.float64)

    def widest(self) -> Extent:
        return Extent(self.low, self.high, self.categories)

    def extent_of(self, values: FloatArray) -> Extent:
        positions = sorted(int(place) for place in values)
        allowed = tuple(self.categories[k] for k in positions)
        return Extent(float(positions[0]), float(positions[-1]), allowed)

    def search_axis(self, extent: Extent) -> CategoricalAxis:
        """The axis with the allowed categories first."""
        first = [k for value in extent.allowed if (k := self.position(value)) is not None]
        return self.reordered([*first, *(k for k in range(len(self.categories)) if k not in first)])

    def search_bounds(self, extent: Extent) -> tuple[float, float]:
        return 0.0, len(extent.allowed) - 1.0

    def cells_in(self, extent: Extent) -> BoolArray:
        allowed = {self.position(value) for value in extent.allowed}
        return np.array([k in allowed for k in range(len(self.categories))])

    def intervals_as_drawn(self, extent: Extent) -> tuple[tuple[float, float], ...]:
        return tuple(self.interval_as_drawn(k, k) for k in np.flatnonzero(self.cells_in(extent)).tolist())

    def text(self, value: Any, extent: Extent | None = None) -> str:
        return self.label(value)

    @property
    def cell_labels(self) -> tuple[str, ...]:
        return tuple(map(self.label, self.categories))

    def extent_text(self, extent: Extent, instance: Any) -> str:
        if self.constant:
            return "constant"
        labels = [self.label(value) for value in extent.allowed]
        if len(", ".join(labels)) > LONGEST_LIST and len(labels) > FEWEST_SHOWN:
            return self._cut_list(labels, self.label(instance))
        return "{" + ", ".join(labels) + "}"

    def _cut_list(self, labels: list[str], own: str) -> str:
        """The first labels of a long list, the instance's own in front, and how many more there are."""
        if len(labels) == len(self.categories):
            return f"all {len(labels)} free"
        ordered = sorted(labels, key=lambda label: label != own)
        ends = np.cumsum([len(label) + 2 for label in ordered])
        shown = max(FEWEST_SHOWN, int(np.sum(ends <= LONGEST_LIST)))
        return f"{{{', '.join(ordered[:shown])} and {len(labels) - shown} more of {len(self.categories)}}}"

    def value_entry(self, value: Any) -> str:
        return self.label(value)

    def bounds_entry(self, extent: Extent) -> tuple[None, None]:
        return None, None

    def allowed_entry(self, extent: Extent) -> tuple[str, ...]:
        return tuple(map(self.label, extent.allowed))

    def to_dict(self) -> dict[str, Any]:
        categories = [to_json(value) for value in self.categories]
        return {**super().to_dict(), "categories": categories, "labels": list(self.labels)}

    @classmethod
    def _from_fields(cls, data: Mapping[str, Any]) -> Axis:
        return cls(data["name"], tuple(map(from_json, data["categories"])), tuple(data["labels"]))

    @cached_property
    def _category_array(self) -> AnyArray:
        if self.numeric:
            return np.array([float(value) for value in self.categories])  # type: ignore[arg-type]
        array = np.empty(len(self.categories), dtype=object)
        array[:] = self.categories
        return array

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {_category_key(value): i for i, value in enumerate(self.categories)}


def _is_float_in(extent: Extent, value: object) -> bool:
    """Whether a value is a number that is shown in digits, and lies in the extent."""
    return isinstance(value, float) and extent.lower <= value <= extent.upper


def _category_key(value: Hashable) -> Hashable:
    """Equal for equal categories: 1 and 1.0 are one category, and every NaN is the same one."""
    if is_number(value):
        number = float(value)  # type: ignore[arg-type]
        return ("nan",) if np.isnan(number) else number
    return value


def categorical_axis(name: str, values: Sequence[Hashable], labels: Sequence[str] = ()) -> CategoricalAxis:
    """An axis of categories, called by labels where those are given.

    Examples
    --------
    >>> categorical_axis("colour", ["red", "blue"]).categories
    ('red', 'blue')
    """
    return CategoricalAxis(name, tuple(plain(value) for value in values), tuple(labels))


def ordered_axis(name: str, low: float, high: float, *, integer: bool) -> NumberAxis:
    """An axis of numbers: continuous, integer or binary.

    Examples
    --------
    >>> ordered_axis("age", 17.5, 90.5, integer=True)
    IntegerAxis(name='age', low=18.0, high=90.0)
    >>> ordered_axis("owner", 0, 1, integer=True).kind
    'binary'
    """
    low, high = float(low), float(high)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InvalidInputError(
            f"bounds: feature {name!r} needs finite bounds; got [{low}, {high}]. "
            "Take the lowest and highest value you would call possible."
        )
    if low > high:
        raise InvalidInputError(
            f"bounds: feature {name!r} has its lower bound {low} above its upper bound {high}. Swap them."
        )
    if not integer:
        return ContinuousAxis(name, low, high)
    first, last = float(np.ceil(low)), float(np.floor(high))
    if first > last:
        raise InvalidInputError(f"bounds: feature {name!r} is integer, but [{low}, {high}] holds no integer.")
    if max(-first, last) > LARGEST_CELL:
        raise InvalidInputError(
            f"bounds: feature {name!r} is integer and reaches past 2**40, where its numbers can no longer be "
            "told apart. Leave it out of `integer=`."
        )
    return BinaryAxis(name) if (first, last) == (0.0, 1.0) else IntegerAxis(name, first, last)
