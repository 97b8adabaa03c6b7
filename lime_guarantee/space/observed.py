"""What is remembered of data: how each column is distributed, and some rows. Not the data."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lime_guarantee.space.axis import Axis
from lime_guarantee.space.coordinate import Coordinate, Curve, Shares
from lime_guarantee.space.tables import is_missing
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray, IntArray

KNOTS = 64
"""Knots of a column's quantile function: as good as 4,096, measured by the regions that come of it."""

FEW_VALUES = 256
"""A column of numbers with so many values, or fewer, is also remembered value by value."""

MOST_ROWS = 100_000
"""The most rows that columns are read from; of more, so many are taken at random."""

ROWS_KEPT, CELLS_KEPT, FEWEST_KEPT = 1_000, 1_000_000, 100
"""The most rows that are remembered, for the joint measure and for what a region covers: so many rows, and so
many cells of them; of very wide data still so many rows."""

FEWEST_ROWS = 200
"""With fewer rows, much of what is to come lies outside what was seen: that is said."""


@dataclass(frozen=True, eq=False)
class Column:
    """How the values of one column are distributed.

    Parameters
    ----------
    rows : int
        Rows that have a value.
    values, counts : arrays, or None
        The distinct values and how many rows have each; None if there are too many.
    places, knots : arrays, or None
        The quantile function, see `Curve`; None if the values are no numbers.

    Examples
    --------
    >>> column = Column.of(np.array([0.0] * 50 + list(range(10, 60))))
    >>> column.places[:3], column.knots[:3]
    (array([0. , 0.5, 0.5]), array([ 0.,  0., 10.]))
    """

    rows: int
    values: AnyArray | None
    counts: IntArray | None
    places: FloatArray | None = None
    knots: FloatArray | None = None

    @classmethod
    def of(cls, column: AnyArray) -> Column:
        """The column of raw values; missing ones are passed over."""
        if column.dtype == object:
            known = [value for value in column.tolist() if not is_missing(value)]
            try:
                numbers = np.array(known, dtype=np.float64)
            except (TypeError, ValueError):
                return cls._of_categories(known)
        else:
            numbers = np.asarray(column, dtype=np.float64)
            numbers = numbers[~np.isnan(numbers)]
        return cls.of_counts(*np.unique(numbers, return_counts=True))

    @classmethod
    def of_counts(cls, values: FloatArray, counts: IntArray) -> Column:
        """The column of numbers, given its distinct values, in rising order, and how many rows have each."""
        rows = int(counts.sum())
        few = values.size <= FEW_VALUES
        places, knots = quantile_knots(values, counts) if rows else (None, None)
        return cls(rows, values if few else None, counts if few else None, places, knots)

    @classmethod
    def _of_categories(cls, known: Sequence[Hashable]) -> Column:
        counted: dict[Hashable, int] = {}
        for value in known:
            counted[value] = counted.get(value, 0) + 1
        values = np.empty(len(counted), dtype=object)
        values[:] = list(counted)
        return cls(len(known), values, np.array(list(counted.values())))

    def coordinate(self, axis: Axis, home: float) -> Coordinate:
        """The coordinate of an axis on which values are as frequent as in the column.

        The instance's own value gets half a row where no row has it, or a row beyond the end of a curve.

        Parameters
        ----------
        axis : Axis
        home : float
            The instance's value on it, as `Axis.encode` gives it.
        """
        if axis.constant:
            return Shares(np.array([home]), np.ones(1), reorderable=not axis.ordered)
        if self._is_counted_on(axis):
            assert self.values is not None
            assert self.counts is not None
            places = axis.encode(self.values)
            inside = (places >= axis.low) & (places <= axis.high)
            return _shares(places[inside], self.counts[inside], home, reorderable=not axis.ordered)
        if self.places is None or self.knots is None or not axis.ordered:
            return axis.coordinate(home)  # text among numbers, or numbers that are called categories
        between = _between(self.places, self.knots, axis.low, axis.high)
        return _curve(*between, self.rows, home, whole=axis.has_cells)

    def has(self, axis: Axis, home: float) -> bool:
        """Whether the column reaches to the instance's value."""
        if axis.constant:
            return True
        if self._is_counted_on(axis):
            assert self.values is not None
            return bool(np.any(axis.encode(self.values) == home))
        return self.knots is None or not axis.ordered or bool(self.knots[0] <= home <= self.knots[-1])

    def _is_counted_on(self, axis: Axis) -> bool:
        """Whether the values were counted, and are cells of the axis."""
        return self.values is not None and axis.has_cells and (self.knots is not None or not axis.ordered)


@dataclass(frozen=True, eq=False)
class Observed:
    """What is remembered of data.

    Parameters
    ----------
    columns : tuple of Column
    rows : array of shape (n, D)
        Some rows, in raw values.
    count : int
        How many rows there were.
    """

    columns: tuple[Column, ...]
    rows: AnyArray
    count: int

    @classmethod
    def of(cls, values: AnyArray) -> Observed:
        """What to remember of rows of raw values."""
        count = len(values)
        rng = np.random.default_rng(0)
        if count > MOST_ROWS:
            values = values[np.sort(rng.choice(count, MOST_ROWS, replace=False))]
        columns = tuple(Column.of(values[:, i]) for i in range(values.shape[1]))
        most = min(ROWS_KEPT, max(FEWEST_KEPT, CELLS_KEPT // values.shape[1]))
        kept = np.sort(rng.choice(len(values), min(len(values), most), replace=False))
        return cls(columns, values[kept].copy(), count)

    def only(self, columns: Sequence[int]) -> Observed:
        """The same for some of the columns."""
        return Observed(
            tuple(self.columns[i] for i in columns),
            self.rows[:, list(columns)] if len(self.rows) else self.rows,
            self.count,
        )

    def recoded(self, i: int, code_of: Mapping[str, float]) -> Observed:
        """The same with numbers in place of one column's names; a name that has none is passed over.

        Examples
        --------
        >>> names = np.array([["a"], ["b"], ["a"]], dtype=object)
        >>> Observed.of(names).recoded(0, {"a": 0.0, "b": 1.0}).columns[0].counts
        array([2, 1])
        """
        column = self.columns[i]
        assert column.values is not None
        assert column.counts is not None
        pairs = zip(column.values.tolist(), column.counts.tolist(), strict=True)
        counted = sorted((code_of[str(value)], count) for value, count in pairs if str(value) in code_of)
        values, counts = (np.array(part) for part in zip(*counted, strict=True)) if counted else ((), ())
        rows = self.rows.copy()
        rows[:, i] = [code_of.get(str(value), np.nan) for value in rows[:, i].tolist()]
        columns = list(self.columns)
        columns[i] = Column.of_counts(
            np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.int64)
        )
        return Observed(tuple(columns), rows, self.count)


def quantile_knots(values: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Knots of the quantile function of rows, given their distinct values and how many rows have each.

    A value that many rows have is an atom; so is one that stands alone between such, and every value of a
    column that has few values, each of them twice or more on average. The others are joined by a line through
    a few quantiles.

    Examples
    --------
    >>> quantile_knots(np.array([0.0, 1.0, 2.0, 3.0]), np.array([2, 1, 1, 1]))
    (array([0. , 0.4, 0.4, 0.7, 1. ]), array([0., 0., 1., 2., 3.]))
    """
    rows = int(counts.sum())
    ends = np.concatenate([[0], np.cumsum(counts)])
    heavy = counts >= max(2.0, rows / KNOTS)
    if values.size <= min(KNOTS, rows / 2):
        heavy[:] = True
    places: list[FloatArray] = []
    knots: list[FloatArray] = []
    at = 0
    while at < values.size:
        end = at + 1
        if not heavy[at]:
            while end < values.size and not heavy[end]:
                end += 1
        among = int(ends[end] - ends[at])
        steps = 1 if end == at + 1 else max(1, min(among - 1, int(np.ceil(KNOTS * among / rows))))
        levels = np.arange(steps + 1) / steps
        rank = levels * (among - 1)
        some = np.repeat(values[at:end], counts[at:end])
        places.append((ends[at] + levels * among) / rows)
        knots.append(np.interp(rank, np.arange(among), some))
        at = end
    return np.concatenate(places), np.concatenate(knots)


def _shares(places: FloatArray, counts: IntArray, home: float, *, reorderable: bool) -> Shares:
    weights = counts.astype(np.float64)
    if home not in places:
        at = int(np.searchsorted(places, home)) if not reorderable else places.size
        places, weights = np.insert(places, at, home), np.insert(weights, at, 0.5)
    order = np.argsort(places, kind="stable")
    return Shares(places[order], weights[order], reorderable=reorderable)


def _between(places: FloatArray, knots: FloatArray, low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """The part of a quantile function between two values, again from 0 to 1; empty if there is none."""
    if knots[0] >= low and knots[-1] <= high:
        return places, knots
    inside: BoolArray = (knots >= low) & (knots <= high)
    ends = [
        (float(np.interp(end, knots, places)), end)
        for end in (low, high)
        if knots[0] < end < knots[-1] and end not in knots
    ]
    # An end in a gap between data adds nothing: both its neighbours have the same place.
    ends = [(place, end) for place, end in ends if not np.any(places[~inside] == place)]
    pairs = sorted([*zip(places[inside].tolist(), knots[inside].tolist(), strict=True), *ends])
    if not pairs or pairs[-1][0] == pairs[0][0]:
        return np.empty(0), np.empty(0)
    cut_places, cut_knots = (np.array(column) for column in zip(*pairs, strict=True))
    cut_places -= cut_places[0]
    return cut_places / cut_places[-1], cut_knots


def _curve(places: FloatArray, knots: FloatArray, rows: int, home: float, *, whole: bool) -> Coordinate:
    """A curve on which the instance's value is a knot, and has a share where data do not reach it."""
    if places.size == 0:
        return Shares(np.array([home]), np.ones(1))
    at = int(np.searchsorted(knots, home))
    known = at < knots.size and knots[at] == home
    if known:
        curve = Curve(places, knots, whole)
        if _settles_at(curve, home):
            return curve
    elif 0 < at < knots.size and places[at - 1] < places[at]:
        place = float(np.interp(home, knots, places))
        return Curve(np.insert(places, at, place), np.insert(knots, at, home), whole)
    # Beyond the data, in a gap between them, or where a gap ends beside another value's atom.
    own = 1.0 / (rows + 1)
    before = float(places[at]) if known else float(places[at - 1]) if at else 0.0
    shrunk = places * (1.0 - own)
    shrunk[at:] += own
    start = before * (1.0 - own)
    shrunk, knots = np.insert(shrunk, at, [start, start + own]), np.insert(knots, at, [home, home])
    shrunk[0], shrunk[-1] = 0.0, 1.0
    return Curve(shrunk, knots, whole)


def _settles_at(curve: Curve, value: float) -> bool:
    """Whether the atom around a value's place, if there is one, is the value's own."""
    low, high = curve.atoms(curve.place(np.array([value])))
    return bool(low[0] == high[0] or curve.value((low + high) / 2)[0] == value)
