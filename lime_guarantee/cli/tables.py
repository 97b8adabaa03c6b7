"""The tables that the command line names: read, compared, and refused in a sentence if they are unfit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.imports import require

SHOWN = 5
"""Columns and rows that an error names."""


def read_table(path: Path, option: str) -> Any:
    """A DataFrame with at least a row and a column, no infinite number and no missing one."""
    if not path.is_file():
        raise InvalidInputError(f"{option}: there is no file {path}.")
    table = _frame(path, option)
    if len(table) == 0 or len(table.columns) == 0:
        raise InvalidInputError(
            f"{option}: {path} has no rows under its header. Give a table with at least one row."
        )
    table.columns = [str(name) for name in table.columns]
    for name in table.columns:
        _check_column(table[name], name, f"{option}: {path}")
    return table


def same_columns(data: Any, rows: Any, data_path: Path, rows_path: Path) -> None:
    """Raise unless two tables have the same columns, in the same order, of the same kind."""
    if list(data.columns) != list(rows.columns):
        raise InvalidInputError(
            f"--rows: the columns of {rows_path} must be those of {data_path}, in the same order."
            + _difference(rows.columns, data.columns)
        )
    other = [name for name in data.columns if is_number_column(data[name]) != is_number_column(rows[name])]
    if other:
        raise InvalidInputError(
            f"--rows: {listed(other)} must hold numbers in both {data_path} and {rows_path}, or in neither."
        )


def is_number_column(column: Any) -> bool:
    """Whether a column holds numbers; truth values are two categories."""
    return column.dtype.kind in "fiu" and not hasattr(column.dtype, "categories")


def listed(names: Sequence[Any]) -> str:
    """A few names, and how many more there are.

    Examples
    --------
    >>> listed(["age", "sex"])
    "'age', 'sex'"
    """
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(repr(name) for name in names[:SHOWN]) + more


def _frame(path: Path, option: str) -> Any:
    pandas = require("pandas", "the command line", extra="cli")
    if path.suffix not in (".csv", ".parquet"):
        raise InvalidInputError(f"{option}: a .csv or .parquet file is required; got {path.name!r}.")
    if path.stat().st_size == 0:
        raise InvalidInputError(
            f"{option}: {path} is empty. Give a table with a header and at least one row."
        )
    if path.suffix == ".parquet":
        require("pyarrow", "Parquet files", extra="parquet")
    try:
        if path.suffix == ".parquet":
            return pandas.read_parquet(path)
        if b"\0" in path.read_bytes()[:4_096]:
            raise ValueError("it holds zero bytes, as no text does")
        return pandas.read_csv(path)
    except (ValueError, OSError) as error:  # pandas' and pyarrow's own errors, and UnicodeDecodeError, too
        kind = "Parquet" if path.suffix == ".parquet" else "CSV"
        raise InvalidInputError(
            f"{option}: {path} cannot be read as {kind} ({error}). Write the table anew, with a header."
        ) from error


def _check_column(column: Any, name: str, where: str) -> None:
    if column.dtype.kind in "mMc":
        raise InvalidInputError(
            f"{where}: columns of numbers, words or truth values are required; {name!r} is {column.dtype}. "
            "Turn it into numbers."
        )
    if not is_number_column(column):
        return
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        what = "is infinite" if np.isinf(numbers[wrong]).any() else "has no value (NaN)"
        raise InvalidInputError(
            f"{where}: column {name!r} {what} in {wrong.size} of {len(numbers)} rows, the first of them row "
            f"{wrong[0]}. Fill these cells, or drop these rows."
        )


def _difference(found: Any, wanted: Any) -> str:
    more = [name for name in found if name not in set(wanted)]
    missing = [name for name in wanted if name not in set(found)]
    told = [f"{listed(more)} too many" if more else "", f"{listed(missing)} missing" if missing else ""]
    return f" There are {', '.join(filter(None, told))}." if more or missing else ""
