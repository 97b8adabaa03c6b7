"""The range of every feature: what is remembered of training data, and bounds that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.fingerprint import fingerprint, fingerprint_of_values
from lime_guarantee.space.domain import LARGEST_CELL, Axis, Domain, axis_of_values
from lime_guarantee.space.observed import Column, Observed
from lime_guarantee.space.tables import as_table, refuse_file
from lime_guarantee.support.arrays import AnyArray

from .predictors import FrameKind

SOME_ROWS = 100
"""Rows that are remembered: as many as shap keeps for a background."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What is remembered of training data: not the data, but what its columns are like.

    Parameters
    ----------
    domain : Domain or None
        Range and kind of every column; None where there is none.
    rows : array
        Some rows, evenly chosen; none of sparse data.
    frame : FrameKind or None
        The columns of a DataFrame.
    refused : str
        Why there is no domain: told when a region is asked for, so that explaining goes on as ever.
    fingerprint : str
        Tells these data from others; see `lime_guarantee.problem.fingerprint`.
    """

    domain: Domain
    rows: AnyArray
    frame: FrameKind | None = None
    refused: str = ""
    fingerprint: str = ""

    @classmethod
    def of(cls, data: Any) -> TrainingData:
        """What is to be remembered of data: an array, a DataFrame or a sparse matrix.

        Raises
        ------
        InvalidInputError
            If a column has infinite values, or none at all.
        """
        refuse_file("training_data", data)
        if hasattr(data, "tocsc"):
            no_rows = np.empty((0, data.shape[1]))
            return cls(_sparse_domain(data.tocsc()), no_rows, fingerprint=fingerprint(data))
        table = as_table(data)
        _check_finite(table.values, table.names)
        count = len(table.values)
        some = np.linspace(0, count - 1, min(count, SOME_ROWS)).astype(np.int64)
        told = fingerprint_of_values(table.values)
        return cls(Domain.from_data(data), table.values[some], FrameKind.of(data), fingerprint=told)

    @classmethod
    def seen(cls, data: Any) -> TrainingData:
        """The same of data that was seen by the way: what is wrong with it is told later, when it matters."""
        try:
            return cls.of(data)
        except InvalidInputError as error:
            nothing = Domain.from_bounds([0], [0])
            return cls(nothing, np.empty((0, 1)), refused=f"training_data: {error}")


def with_bounds(domain: Domain, bounds: Any, *, every: bool = False) -> Domain:
    """A domain with the bounds given on top; whole numbers stay whole.

    Parameters
    ----------
    domain : Domain
    bounds : mapping of name or position to (low, high), or (D, 2) array, or None
    every : bool
        Whether every feature needs bounds, because nothing else is known.
    """
    pairs = bound_pairs(bounds, domain.names)
    if every and len(pairs) < len(domain):
        raise InvalidInputError(
            f"bounds: all {len(domain)} features need them, because there is no training data; got "
            f"{len(pairs)}. Pass training_data=, or bounds for the others, too."
        )
    axes: list[Axis] = list(domain.axes)
    for i, low, high in pairs:
        axes[i] = axes[i].with_bounds(low, high)
    return replace(domain, axes=tuple(axes))


def bound_pairs(bounds: Any, names: Sequence[str]) -> list[tuple[int, float, float]]:
    """Bounds given for some features, by name or position, or for all in order."""
    if bounds is None:
        return []
    if isinstance(bounds, Mapping):
        items = [(_position(key, names), pair) for key, pair in bounds.items()]
    else:
        if np.shape(bounds) != (len(names), 2):
            raise InvalidInputError(
                f"bounds: a (low, high) pair for each of {len(names)} features is required, or a mapping "
                f"from names to pairs; got shape {np.shape(bounds)}."
            )
        items = list(enumerate(bounds))
    pairs = []
    for i, pair in items:
        try:
            low, high = (float(end) for end in pair)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"bounds: {names[i]!r} needs a pair (low, high) of numbers; got {pair!r}."
            ) from error
        pairs.append((i, low, high))
    return pairs


def _position(key: Any, names: Sequence[str]) -> int:
    if key in names:
        return names.index(key)
    if isinstance(key, (int, np.integer)) and 0 <= key < len(names):
        return int(key)
    raise InvalidInputError(f"bounds: there is no feature {key!r}. The features are {list(names)}.")


def _check_finite(values: AnyArray, names: Sequence[str] | None) -> None:
    for i in range(values.shape[1]):
        numbers = (
            [v for v in values[:, i].tolist() if isinstance(v, float)]
            if values.dtype == object
            else values[:, i]
        )
        if np.isinf(np.asarray(numbers, dtype=np.float64)).any():
            name = i if names is None else names[i]
            raise InvalidInputError(
                f"training_data: column {name!r} has infinite values, so it has no range. Replace them, or "
                "drop these rows."
            )


def _sparse_domain(columns: Any) -> Domain:
    """The domain of a sparse matrix, whose zeros count as values."""
    axes, known = [], []
    for i in range(columns.shape[1]):
        start, end = columns.indptr[i], columns.indptr[i + 1]
        stored = np.asarray(columns.data[start:end], dtype=np.float64)
        values, counts = np.unique(stored[~np.isnan(stored)], return_counts=True)
        if end - start < columns.shape[0]:
            at = int(np.searchsorted(values, 0.0))
            if at == values.size or values[at] != 0.0:
                values, counts = np.insert(values, at, 0.0), np.insert(counts, at, 0)
            counts[at] += columns.shape[0] - (end - start)
        _check_finite(values[:, np.newaxis], [str(i)])
        if values.size == 0:
            raise InvalidInputError(f"training_data: column {i} has no value but missing ones. Drop it.")
        known.append(Column.of_counts(values, counts))
        low, high = float(values[0]), float(values[-1])
        whole = bool(np.all(values == np.round(values))) and max(-low, high) <= LARGEST_CELL
        axes.append(axis_of_values(f"x{i}", values, counts, integer=whole))
    no_rows = np.empty((0, columns.shape[1]))
    return Domain(tuple(axes), Observed(tuple(known), no_rows, columns.shape[0]))
