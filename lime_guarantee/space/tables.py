"""Arrays, lists and DataFrames as one thing: a 2-D array with names, without importing pandas."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import AnyArray


@dataclass(frozen=True)
class Table:
    """Rows of raw values, with what their container told of its columns."""

    values: AnyArray
    names: list[str] | None = None
    categories: dict[int, tuple[Hashable, ...]] = field(default_factory=dict)

    def in_order(self, order: Sequence[str]) -> AnyArray:
        """The rows, with these columns where all of them are named; else as they came."""
        if self.names is None or not set(order) <= set(self.names):
            return self.values
        return np.asarray(self.values[:, [self.names.index(name) for name in order]])


def is_number(value: object) -> bool:
    """Whether a raw value is a number (booleans are: they stand for 0 and 1)."""
    return isinstance(value, (numbers.Real, np.bool_))


def plain(value: Any) -> Any:
    """A numpy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def to_json(value: Any) -> Any:
    """A raw value as JSON can hold it: NaN has no place there, so it is written as an object."""
    return {"float": "nan"} if isinstance(value, float) and np.isnan(value) else value


def from_json(value: Any) -> Any:
    """The raw value that `to_json` wrote."""
    return float("nan") if value == {"float": "nan"} else value


def is_missing(value: object) -> bool:
    """Whether a raw value stands for none: None or NaN."""
    return value is None or (isinstance(value, float) and np.isnan(value))


def is_frame(X: object) -> bool:
    """Whether X is a DataFrame, of pandas or of something that looks like it."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "iloc")


def as_table(X: Any, order: Sequence[str] | None = None) -> Table:
    """Rows of raw values from an array, a list of lists or a DataFrame.

    A DataFrame that has all the columns named in `order` is read by those names, whatever its own order.
    """
    if is_frame(X):
        return _from_frame(X, order)
    refuse_file("X", X)
    array = np.asarray(X)
    if array.ndim != 2:
        raise InvalidInputError(
            f"X: rows of features, a 2-D array or a DataFrame, are required; got shape {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        array = _numbers_where_possible(np.asarray(X, dtype=object))
    categories = {i: _distinct(array[:, i]) for i in _text_columns(array)}
    return Table(_checked(array), None, categories)


def refuse_file(parameter: str, X: object) -> None:
    """Raise if the name of a file was given in place of its rows."""
    if isinstance(X, str | PathLike):
        raise InvalidInputError(
            f"{parameter}: rows of features are required, not the name of a file; got {str(X)!r}. Read it "
            f"first: pandas.read_csv({str(X)!r}), without the column that is to be predicted."
        )


def as_row(instance: Any, order: Sequence[str]) -> AnyArray:
    """One row of raw values from a list, a Series, an array of shape (D,) or (1, D), or a frame."""
    if is_frame(instance):
        rows = as_table(instance, order).values
        if rows.shape[0] != 1:
            raise InvalidInputError(f"instance: exactly one row is required; got {rows.shape[0]}.")
        return np.asarray(rows[0])
    index = getattr(instance, "index", None)
    if hasattr(instance, "to_numpy") and index is not None:  # a Series, read by name where it can be
        labels = [str(label) for label in index]
        values = instance.to_numpy(dtype=object)
        if sorted(labels) == sorted(order):
            values = values[[labels.index(name) for name in order]]
        return np.asarray(values)
    row = np.asarray(instance)
    if row.dtype.kind not in "fiub":
        row = np.asarray(instance, dtype=object)
    if row.ndim == 2 and row.shape[0] == 1:
        row = row[0]
    if row.ndim != 1:
        raise InvalidInputError(f"instance: one row is required; got an array of shape {row.shape}.")
    return row


def _from_frame(X: Any, order: Sequence[str] | None) -> Table:
    names = [str(column) for column in X.columns]
    if order is not None and set(order) <= set(names):
        X = X.iloc[:, [names.index(name) for name in order]]
        names = list(order)
    categories: dict[int, tuple[Hashable, ...]] = {}
    columns = []
    for i in range(len(names)):
        column = X.iloc[:, i]
        declared = getattr(column.dtype, "categories", None)
        if declared is not None:
            categories[i] = tuple(declared)
        elif getattr(column.dtype, "kind", "O") not in "fiub" and not _holds_numbers(column):
            categories[i] = _distinct(column.dropna().to_numpy())
        columns.append(column.to_numpy(dtype=object) if i in categories else _float_column(column))
    if categories:
        values = np.empty((len(X), len(names)), dtype=object)
        for i, column in enumerate(columns):
            values[:, i] = column
    else:
        values = np.column_stack(columns) if columns else np.empty((len(X), 0))
    return Table(_checked(values), names, categories)


def _holds_numbers(column: Any) -> bool:
    """Whether a column of objects holds numbers and missing values alone; truth values are none."""
    values = [value for value in column.tolist() if not is_missing(value)]
    return bool(values) and all(is_number(v) and not isinstance(v, bool | np.bool_) for v in values)


def _float_column(column: Any) -> AnyArray:
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _numbers_where_possible(array: AnyArray) -> AnyArray:
    """An array of objects as floats, if each of them is a number."""
    flat = array.ravel().tolist()
    return array.astype(np.float64) if all(is_number(value) for value in flat) else array


def _text_columns(array: AnyArray) -> list[int]:
    if array.dtype != object:
        return []
    columns = [array[:, i].tolist() for i in range(array.shape[1])]
    return [i for i, c in enumerate(columns) if not all(is_number(v) or is_missing(v) for v in c)]


def _distinct(column: AnyArray) -> tuple[Hashable, ...]:
    """The distinct values without the missing ones, sorted if they can be."""
    try:
        values = list(dict.fromkeys(value for value in column.tolist() if not is_missing(value)))
    except TypeError as error:
        raise InvalidInputError(
            f"X: a value of a categorical column cannot be one of a set ({error}). Make it text or a number."
        ) from error
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(values)


def _checked(values: AnyArray) -> AnyArray:
    if values.shape[1] == 0:
        raise InvalidInputError("X: it has no columns. Give at least one feature.")
    return values
