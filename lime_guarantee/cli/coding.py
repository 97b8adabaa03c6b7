"""Words as codes: LIME and shap explain numbers, the model is asked with the words themselves."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.adapters.ranges import TrainingData
from lime_guarantee.cli.tables import is_number_column
from lime_guarantee.space.domain import Axis, categorical_axis
from lime_guarantee.space.tables import is_missing
from lime_guarantee.support.arrays import AnyArray, FloatArray
from lime_guarantee.support.imports import require

MISSING = "missing"
"""What an empty cell among words is called."""


@dataclass(frozen=True, eq=False)
class Coding:
    """The columns of a table, and the words of those that hold words.

    Parameters
    ----------
    columns : list of str
    words : dict of int to tuple
        The values of every column that holds no numbers; a word's code is its place here.
    dtypes : dict of str to dtype
        The types of these columns, as the model was fitted on them.

    Examples
    --------
    >>> import pandas
    >>> table = pandas.DataFrame({"age": [30, 40], "job": ["nurse", "cook"]})
    >>> coding = Coding.of(table, table)
    >>> coding.codes(table).tolist()
    [[30.0, 1.0], [40.0, 0.0]]
    >>> coding.frame(coding.codes(table))["job"].tolist()
    ['nurse', 'cook']
    """

    columns: list[str]
    words: dict[int, tuple[Hashable, ...]]
    dtypes: Mapping[str, Any]

    @classmethod
    def of(cls, data: Any, rows: Any) -> Coding:
        """The coding of two tables with the same columns: the words of the first, then new ones."""
        words = {
            i: tuple(dict.fromkeys([*_distinct(data[name]), *_distinct(rows[name])]))
            for i, name in enumerate(data.columns)
            if not is_number_column(data[name])
        }
        columns = list(data.columns)
        return cls(columns, words, {columns[i]: data.dtypes.iloc[i] for i in words})

    @property
    def names(self) -> dict[int, list[str]]:
        """What the codes of every column of words are called."""
        return {
            i: [MISSING if word is None else str(word) for word in some] for i, some in self.words.items()
        }

    def codes(self, table: Any) -> FloatArray:
        """A table as numbers."""
        coded = np.empty(table.shape)
        for i, name in enumerate(self.columns):
            if i in self.words:
                place = {word: code for code, word in enumerate(self.words[i])}
                coded[:, i] = [place[_word(value)] for value in table[name].tolist()]
            else:
                coded[:, i] = table[name].to_numpy(dtype=np.float64)
        return coded

    def frame(self, codes: Any) -> Any:
        """The table that codes stand for, each column of the type that it had."""
        coded = np.asarray(codes, dtype=np.float64)
        columns: list[AnyArray] = [coded[:, i] for i in range(len(self.columns))]
        for i, words in self.words.items():
            known = np.empty(len(words), dtype=object)
            known[:] = [np.nan if word is None else word for word in words]
            columns[i] = known[coded[:, i].astype(np.int64)]
        pandas = require("pandas", "the command line", extra="cli")
        return pandas.DataFrame(dict(zip(self.columns, columns, strict=True))).astype(dict(self.dtypes))

    def training_data(self, codes: FloatArray) -> TrainingData:
        """What is known of coded data: its categories are called by their words."""
        known = TrainingData.of(codes)
        axes: list[Axis] = [replace(axis, name=self.columns[i]) for i, axis in enumerate(known.domain.axes)]
        for i, names in self.names.items():
            axes[i] = categorical_axis(self.columns[i], [float(code) for code in range(len(names))], names)
        return replace(known, domain=replace(known.domain, axes=tuple(axes)))


@dataclass(frozen=True, eq=False)
class FrameFunction:
    """A model that is asked with a DataFrame, whatever holds the rows: frames, or arrays of raw values."""

    ask: Callable[[Any], Any]
    coding: Coding

    def __call__(self, rows: Any) -> Any:
        pandas = require("pandas", "the command line", extra="cli")
        if not hasattr(rows, "columns"):
            rows = pandas.DataFrame(np.asarray(rows), columns=self.coding.columns).infer_objects()
        return self.ask(rows.astype(dict(self.coding.dtypes)))

    def get_params(self) -> dict[str, Any]:
        """The parameters of the model, by which a checkpoint knows it."""
        parameters = getattr(getattr(self.ask, "__self__", None), "get_params", dict)
        return dict(parameters())


@dataclass(frozen=True, eq=False)
class CodedFunction(FrameFunction):
    """A model that is asked with a DataFrame, where the rows that come are codes."""

    def __call__(self, rows: Any) -> Any:
        return self.ask(self.coding.frame(rows))


def _distinct(column: Any) -> list[Hashable]:
    """The different values, sorted if they can be, None for missing ones last."""
    found = set(map(_word, column.tolist()))
    words = [word for word in found if word is not None]
    try:
        words.sort()
    except TypeError:
        words.sort(key=str)
    return [*words, *([None] if None in found else [])]


def _word(value: Any) -> Any:
    return None if is_missing(value) or type(value).__name__ == "NAType" else value
