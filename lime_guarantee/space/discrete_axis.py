"""An axis of a few numbers that are not whole: a column of zeros and ones that was scaled, say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.axis import NumberAxis, ordered_axis
from lime_guarantee.space.axis_base import Axis, Extent
from lime_guarantee.space.number_text import number_text
from lime_guarantee.support.arrays import AnyArray, FloatArray, IntArray, frozen

FEW_VALUES = 10
"""A column of so many different numbers, or fewer, has no others between them."""

FEWEST_EACH = 5
"""If each of these is met so often, on average; else there may be more than were seen."""


@dataclass(frozen=True)
class DiscreteAxis(NumberAxis):
    """A few numbers with an order, each of which is a cell; a coordinate is a position among them.

    Parameters
    ----------
    name : str
    values : tuple of float
        In rising order.

    Examples
    --------
    >>> axis = DiscreteAxis("owner, scaled", (-0.5, 2.0))
    >>> axis.encode(np.array([2.0, 0.7])), axis.decode(np.array([0.0, 1.0]))
    (array([ 1., nan]), array([-0.5,  2. ]))
    >>> axis.extent_text(Extent(0.0, 0.0), -0.5)
    '[-0.5, -0.5]'
    """

    low: float = field(default=0.0, init=False)
    high: float = field(init=False)
    values: tuple[float, ...]

    kind: ClassVar[str] = "discrete"
    has_cells: ClassVar[bool] = True
    values_are_coordinates: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.values or any(a >= b for a, b in zip(self.values, self.values[1:], strict=False)):
            raise InvalidInputError(f"values: feature {self.name!r} needs rising ones; got {self.values}.")
        object.__setattr__(self, "high", len(self.values) - 1.0)

    def encode(self, column: AnyArray) -> FloatArray:
        numbers = super().encode(column)
        at = np.minimum(np.searchsorted(self._array, numbers), self._array.size - 1)
        return np.where(self._array[at] == numbers, at, np.nan)

    def decode(self, coordinates: FloatArray) -> AnyArray:
        return self._array[coordinates.astype(np.int64)]

    def including(self, value: Any) -> Axis:
        number = float(NumberAxis.encode(self, np.array([value], dtype=object))[0])
        if not np.isfinite(number):
            raise InvalidInputError(
                f"instance: feature {self.name!r} must be a finite number; got {value!r}."
            )
        return DiscreteAxis(self.name, tuple(sorted({*self.values, number})))

    def with_bounds(self, low: float, high: float) -> Axis:
        """The values between the bounds; beyond them, and between none, any number may be."""
        inside = tuple(value for value in self.values if low <= value <= high)
        if inside and self.values[0] <= low and high <= self.values[-1]:
            return DiscreteAxis(self.name, inside)
        return ordered_axis(self.name, low, high, integer=False)

    @property
    def cell_labels(self) -> tuple[str, ...]:
        return tuple(number_text(value) for value in self.values)

    def bounds_entry(self, extent: Extent) -> tuple[float | None, float | None]:
        lower, upper = self.decode(np.array([extent.lower, extent.upper])).tolist()
        return lower, upper

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "values": list(self.values)}

    @classmethod
    def _from_fields(cls, data: Mapping[str, Any]) -> Axis:
        return cls(data["name"], tuple(data["values"]))

    @cached_property
    def _array(self) -> FloatArray:
        return frozen(self.values)


def axis_of_values(name: str, values: FloatArray, counts: IntArray, *, integer: bool) -> NumberAxis:
    """An axis of numbers, from those that data have: a few that are met often have none between them.

    Parameters
    ----------
    name : str
    values, counts : arrays
        The different numbers, in rising order, and how many rows have each.
    integer : bool
        Whether only whole numbers exist.

    Examples
    --------
    >>> axis_of_values("owner, scaled", np.array([-0.5, 2.0]), np.array([80, 20]), integer=False).kind
    'discrete'
    """
    few = 1 < values.size <= FEW_VALUES and counts.sum() >= FEWEST_EACH * values.size
    if few and not integer:
        return DiscreteAxis(name, tuple(values.tolist()))
    return ordered_axis(name, values[0], values[-1], integer=integer)
