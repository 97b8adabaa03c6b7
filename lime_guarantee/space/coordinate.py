"""Coordinates: what a place between 0 and 1 on an axis means.

A coordinate is the distribution function of one feature: equal lengths hold equal shares of the measure. An
*atom* is an interval of places that all mean one value: a category, a whole number, a value that many rows
have. What lies between atoms is continuous.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray, frozen


class Coordinate(ABC):
    """One axis of the unit cube. Values are those of its axis, as `Axis.encode` gives them."""

    reorderable: bool = False
    """Whether the atoms may stand in any order, because their values have none."""

    @abstractmethod
    def place(self, values: FloatArray) -> FloatArray:
        """Places of values: the middle of an atom; NaN where the measure has nothing."""

    @abstractmethod
    def value(self, places: FloatArray) -> FloatArray:
        """Values at places."""

    @abstractmethod
    def atoms(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both ends of the atom around each place; the place itself, twice, where there is none."""

    @abstractmethod
    def held(self, lower: float, upper: float) -> FloatArray:
        """The values between two places: the first and the last one, or all of them if they have no order."""

    @property
    @abstractmethod
    def cells(self) -> float:
        """How many atoms there are, if there is nothing else; else infinity."""

    @property
    @abstractmethod
    def has_atoms(self) -> bool:
        """Whether there is any atom."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The coordinate in plain types, fit for JSON."""

    def reordered(self, order: Sequence[int]) -> Coordinate:
        """The coordinate with its atoms in another order."""
        raise ValueError(f"its values have an order; got {list(order)}")

    @property
    def middles(self) -> FloatArray:
        """The middles of all atoms, where they may stand in any order."""
        raise ValueError("its values have an order, or are not single ones")

    @property
    def length(self) -> float:
        """How long the axis is, in the units in which distances are measured."""
        return 1.0

    def stretch(self, place: float) -> tuple[float, float]:
        """Both ends of the atom around a place, or of the stretch between two atoms."""
        low, high = self.atoms(np.array([place]))
        return float(low[0]), float(high[0])


@dataclass(frozen=True)
class Length(Coordinate):
    """Numbers between two ends, all alike; the home value is met exactly."""

    low: float
    high: float
    home: float

    def place(self, values: FloatArray) -> FloatArray:
        inside = (values >= self.low) & (values <= self.high)
        return np.where(inside, (values - self.low) / (self.high - self.low), np.nan)

    def value(self, places: FloatArray) -> FloatArray:
        values = np.minimum(self.low + places * (self.high - self.low), self.high)
        home = (self.home - self.low) / (self.high - self.low)
        return np.where(places == home, self.home, values)

    def atoms(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        return places, places

    def held(self, lower: float, upper: float) -> FloatArray:
        return self.value(np.array([lower, upper]))

    @property
    def length(self) -> float:
        return self.high - self.low

    def stretch(self, place: float) -> tuple[float, float]:  # noqa: ARG002 - it is all alike
        return 0.0, 1.0

    @property
    def cells(self) -> float:
        return np.inf

    @property
    def has_atoms(self) -> bool:
        return False

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "length", "low": self.low, "high": self.high, "home": self.home}


@dataclass(frozen=True)
class Cells(Coordinate):
    """Whole numbers from a first one on, all alike."""

    first: float
    count: int

    def place(self, values: FloatArray) -> FloatArray:
        inside = (values >= self.first) & (values <= self.first + self.count - 1)
        return np.where(inside, (values - self.first + 0.5) / self.count, np.nan)

    def value(self, places: FloatArray) -> FloatArray:
        return self.first + self._number(places)

    def atoms(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        number = self._number(places)
        return number / self.count, (number + 1) / self.count

    def held(self, lower: float, upper: float) -> FloatArray:
        ends = np.round(np.array([lower, upper]) * self.count) - [0, 1]
        return self.first + ends

    @property
    def cells(self) -> float:
        return float(self.count)

    @property
    def has_atoms(self) -> bool:
        return True

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "cells", "first": self.first, "count": self.count}

    def _number(self, places: FloatArray) -> FloatArray:
        return np.clip(np.floor(places * self.count), 0, self.count - 1)


@dataclass(frozen=True, eq=False)
class Shares(Coordinate):
    """Single values, each with its share of the measure.

    Parameters
    ----------
    values, weights : arrays of shape (K,)
        The values in the order in which they stand, and their weights, all above 0.
    reorderable : bool
        Whether that order means nothing.

    Examples
    --------
    >>> shares = Shares(np.array([0.0, 5.0]), np.array([3.0, 1.0]))
    >>> shares.value(np.array([0.1, 0.7, 0.8]))
    array([0., 0., 5.])
    >>> shares.held(0.75, 1.0)
    array([5., 5.])
    """

    values: FloatArray
    weights: FloatArray
    reorderable: bool = False

    def place(self, values: FloatArray) -> FloatArray:
        order = np.argsort(self.values, kind="stable")
        ranked = self.values[order]
        at = order[np.minimum(np.searchsorted(ranked, values), ranked.size - 1)]
        middle = (self.edges[at] + self.edges[at + 1]) / 2
        return np.where(self.values[at] == values, middle, np.nan)

    def value(self, places: FloatArray) -> FloatArray:
        return self.values[self._number(places)]

    def atoms(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        number = self._number(places)
        return self.edges[number], self.edges[number + 1]

    def held(self, lower: float, upper: float) -> FloatArray:
        inside = self.values[(self.middles >= lower) & (self.middles <= upper)]
        return inside if self.reorderable else inside[[0, -1]]

    @cached_property
    def middles(self) -> FloatArray:
        return frozen((self.edges[:-1] + self.edges[1:]) / 2)

    @property
    def cells(self) -> float:
        return float(self.values.size)

    @property
    def has_atoms(self) -> bool:
        return True

    def reordered(self, order: Sequence[int]) -> Shares:
        if not self.reorderable:
            return super().reordered(order)  # type: ignore[return-value] # raises
        if sorted(order) != list(range(self.values.size)):
            raise ValueError(f"{list(order)} is no permutation of {self.values.size} values")
        return replace(self, values=self.values[list(order)], weights=self.weights[list(order)])

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "shares",
            "values": self.values.tolist(),
            "weights": self.weights.tolist(),
            "reorderable": self.reorderable,
        }

    @cached_property
    def edges(self) -> FloatArray:
        """Where the atoms meet, from 0 to 1."""
        ends = np.cumsum(self.weights)
        edges = np.concatenate([[0.0], ends / ends[-1]])
        edges[-1] = 1.0
        return frozen(edges)

    def _number(self, places: FloatArray) -> IntArray:
        return np.clip(np.searchsorted(self.edges, places, side="right") - 1, 0, self.values.size - 1)


@dataclass(frozen=True, eq=False)
class Curve(Coordinate):
    """Numbers between knots of their quantile function, which is linear there.

    Where it is flat there is an atom; where it jumps there are no data.

    Parameters
    ----------
    places, values : arrays of shape (K,)
        The knots, both rising from one to the next or staying. The first place is 0, the last one 1.
    whole : bool
        Whether only whole numbers exist; then each of them is an atom.

    Examples
    --------
    Half of the rows are 0, the others lie between 2 and 4:

    >>> curve = Curve(np.array([0, 0.5, 0.5, 1]), np.array([0.0, 0.0, 2.0, 4.0]))
    >>> curve.value(np.array([0.3, 0.75]))
    array([0., 3.])
    >>> curve.held(0.5, 0.75)
    array([2., 3.])
    >>> curve.atoms(np.array([0.1, 0.6]))
    (array([0. , 0.6]), array([0.5, 0.6]))
    """

    places: FloatArray
    values: FloatArray
    whole: bool = False

    def place(self, values: FloatArray) -> FloatArray:
        inside = (values >= self.values[0]) & (values <= self.values[-1])
        if self.whole:
            low, high = self._around(values)
            return np.where(inside, (low + high) / 2, np.nan)
        places = np.interp(values, self.values, self.places)
        low, high = self._flats
        if low.size:
            flat_values = self.value(low)
            at = np.minimum(np.searchsorted(flat_values, values), low.size - 1)
            places = np.where(flat_values[at] == values, (low[at] + high[at]) / 2, places)
        return np.where(inside, places, np.nan)

    def value(self, places: FloatArray) -> FloatArray:
        values = np.interp(places, self.places, self.values)
        return np.round(values) if self.whole else values

    def atoms(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.whole:
            low, high = self._around(self.value(places))
            inside = low < high
            return np.where(inside, low, places), np.where(inside, high, places)
        low, high = self._flats
        if low.size == 0:
            return places, places
        at = np.maximum(np.searchsorted(low, places, side="right") - 1, 0)
        inside = (places >= low[at]) & (places <= high[at])
        return np.where(inside, low[at], places), np.where(inside, high[at], places)

    def held(self, lower: float, upper: float) -> FloatArray:
        first, last = self._after(lower), self._before(upper)
        if self.whole:
            close = max(1e-9, 4 * float(np.spacing(max(abs(first), abs(last)))))
            first, last = np.floor(first + 0.5 + close), np.ceil(last - 0.5 - close)
        return np.array([min(first, last), max(first, last)])

    def stretch(self, place: float) -> tuple[float, float]:
        own = super().stretch(place)
        if own[0] < own[1]:
            return own
        low, high = self._flats
        before, after = high[high <= place], low[low >= place]
        return float(before.max(initial=0.0)), float(after.min(initial=1.0))

    @property
    def cells(self) -> float:
        low, high = self._flats
        return float(low.size) if low.size and np.sum(high - low) > 1 - 1e-9 else np.inf

    @property
    def has_atoms(self) -> bool:
        return self.whole or bool(self._flats[0].size)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "curve",
            "places": self.places.tolist(),
            "values": self.values.tolist(),
            "whole": self.whole,
        }

    @cached_property
    def _flats(self) -> tuple[FloatArray, FloatArray]:
        """Both ends of every stretch of places with one value."""
        same: BoolArray = np.concatenate([[False], np.diff(self.values) == 0, [False]])
        start, end = np.flatnonzero(~same[:-1] & same[1:]), np.flatnonzero(same[:-1] & ~same[1:])
        low, high = self.places[start], self.places[end]
        wide = high > low
        return low[wide], high[wide]

    def _around(self, whole: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The places that are rounded to whole numbers."""
        low = np.interp(whole - 0.5, self.values, self.places)
        return low, np.interp(whole + 0.5, self.values, self.places)

    def _after(self, place: float) -> float:
        """The first value after a place; not that of an atom which ends there."""
        at = int(np.searchsorted(self.places, place, side="right")) - 1
        if self.places[at] != place:
            return float(np.interp(place, self.places, self.values))
        value = float(self.values[at])
        ends_here = place > 0 and at > 0 and self.value(self._flats[0][self._flats[1] == place]).tolist()
        rises = at + 1 < self.values.size and self.values[at + 1] > value
        return float(np.nextafter(value, np.inf)) if ends_here == [value] and rises else value

    def _before(self, place: float) -> float:
        """The last value before a place; not that of an atom which begins there."""
        at = int(np.searchsorted(self.places, place, side="left"))
        if self.places[at] != place:
            return float(np.interp(place, self.places, self.values))
        value = float(self.values[at])
        begins_here = place < 1 and self.value(self._flats[0][self._flats[0] == place]).tolist()
        rises = at > 0 and self.values[at - 1] < value
        return float(np.nextafter(value, -np.inf)) if begins_here == [value] and rises else value


def coordinate_from_dict(data: dict[str, Any]) -> Coordinate:
    """The coordinate that `to_dict` described."""
    fields = {name: value for name, value in data.items() if name != "kind"}
    for name in ("values", "weights", "places"):
        if name in fields:
            fields[name] = np.array(fields[name], dtype=np.float64)
    kinds: dict[str, type[Coordinate]] = {"length": Length, "cells": Cells, "shares": Shares, "curve": Curve}
    return kinds[data["kind"]](**fields)
