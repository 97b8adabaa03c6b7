"""What a model says of the real rows of an audit, left as they are: asked once for all its explanations."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from lime_guarantee.auditing.need import Students
from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.problem.problem import Problem
from lime_guarantee.support.arrays import AnyArray, FloatArray, IntArray

MOST_ASKED = 2_000
"""Of more rows of data, or more audited ones, about so many are asked."""

MODELS_KEPT = 8
"""Models whose answers are kept: an explainer of several outputs explains one model for each."""


@dataclass(eq=False)
class Answered:
    """Real rows with a model's answers.

    Parameters
    ----------
    answers : array of shape (n,) or (n, K)
        NaN for rows that were not asked.
    rows : array of shape (n, D)
        As `Domain.encode` gives them.
    """

    answers: FloatArray
    rows: FloatArray

    @cached_property
    def asked(self) -> IntArray:
        """Places of the rows that were asked."""
        finite = np.isfinite(self.answers.reshape(len(self.answers), -1)).all(axis=1)
        return np.flatnonzero(finite)

    @cached_property
    def students(self) -> Students:
        """What learns these answers; its rows are those of `asked`."""
        return Students(self.rows[self.asked], self.answers[self.asked].reshape(self.asked.size, -1))

    def among_asked(self, places: IntArray) -> IntArray:
        """Where rows stand among those that were asked; rows that were not are left out."""
        position = np.full(len(self.rows), -1)
        position[self.asked] = np.arange(self.asked.size)
        found = position[places]
        return np.asarray(found[found >= 0])


class KeptAnswers:
    """Keeps what models said of real rows, in this process."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, tuple[Any, Answered]] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> Any:
        return KeptAnswers, ()  # what is sent to another process keeps nothing: answers are asked there

    def of(
        self,
        problem: Problem,
        sources: tuple[Any, ...],
        data: AnyArray | None,
        audited: AnyArray | None,
        batch_rows: int = BATCH_ROWS,
    ) -> Answered:
        """The answers of a problem's model to rows of data, and to audited ones after them.

        Parameters
        ----------
        problem : Problem
        sources : tuple of objects
            Where the rows come from: of the same objects, the rows are the same.
        data, audited : array or None
            Raw values.
        batch_rows : int
            The most rows that the model is asked at once.
        """
        key = (model_key(problem.model), tuple(map(id, sources)), tuple(problem.domain.names))
        with self._lock:
            if key not in self._kept:
                answered = ask_rows(problem, data, audited, batch_rows)
                self._kept[key] = ((problem.model, sources), answered)  # held, so that no id is used again
                while len(self._kept) > MODELS_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key][1]


def model_key(model: Any) -> Any:
    """The same for two functions that ask the same object in the same way, and for no others."""
    if is_dataclass(model) and not isinstance(model, type):
        return type(model), tuple(model_key(getattr(model, field.name)) for field in fields(model))
    owner = getattr(model, "__self__", None)
    if owner is not None and hasattr(model, "__func__"):
        return id(owner), id(model.__func__)
    if isinstance(model, tuple | list):
        return tuple(model_key(part) for part in model)
    if model is None or isinstance(model, bool | int | float | str | np.generic):
        return type(model), model
    return id(model)


def ask_rows(
    problem: Problem, data: AnyArray | None, audited: AnyArray | None, batch_rows: int = BATCH_ROWS
) -> Answered:
    """Ask about some rows of data, and some audited ones.

    The model may fail on a row. Then the rows that were asked with it count as not asked: whoever needs one
    asks again, and is told.
    """
    parts = [np.empty((0, len(problem.domain))) if rows is None else rows for rows in (data, audited)]
    coordinates = [problem.domain.encode(rows) if len(rows) else rows.astype(np.float64) for rows in parts]
    found: list[FloatArray | None] = [None, None]
    chosen = [_some(problem, rows) for rows in coordinates]
    for part in range(2):
        with suppress(Exception):
            found[part] = _asked(problem, parts[part][chosen[part]], batch_rows)
    width = next((some.shape[1:] for some in found if some is not None), ())
    answers = np.full((sum(map(len, parts)), *width), np.nan)
    for start, places, some in zip((0, len(parts[0])), chosen, found, strict=True):
        if some is not None:
            answers[start + places] = some
    return Answered(answers, np.concatenate(coordinates))


def _some(problem: Problem, rows: FloatArray) -> IntArray:
    """Places of rows that lie in the domain; of very many, some."""
    known = np.flatnonzero(problem.domain.contains(rows)) if len(rows) else np.empty(0, dtype=np.int64)
    if known.size > MOST_ASKED:
        known = known[np.linspace(0, known.size - 1, MOST_ASKED).astype(np.int64)]
    return np.asarray(known)


def _asked(problem: Problem, rows: AnyArray, batch_rows: int) -> FloatArray | None:
    starts = range(0, len(rows), batch_rows)
    return (
        np.concatenate([problem.model_answers(rows[i : i + batch_rows]) for i in starts])
        if len(rows)
        else None
    )
