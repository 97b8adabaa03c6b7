"""The oracle: the one door through which the model is asked."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lime_guarantee.errors import (
    EvaluationLimitError,
    GuaranteeError,
    InconsistentModelError,
    ModelError,
)
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray, IntArray

BATCH_ROWS = 10_000
"""The most rows in one call of the model, unless the caller says otherwise."""

REASKED_ROWS, ASKED_ALONE = 34, 2
"""The most rows that are asked a second time in one check; so many of them are asked one by one."""


class Decodes(Protocol):
    """What turns points into rows of raw values: a `Cube`, or a `Domain`."""

    def decode(self, points: FloatArray) -> AnyArray:
        """Rows of raw values; always a fresh array."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Whether rows are faithful, with the answers that this was decided on.

    `faithful` may return it in place of booleans; the certifier keeps the answers of its own draws.

    Parameters
    ----------
    faithful : array of bool
    answers : tuple of arrays
        Each has an entry, or a row, for every row asked. What they mean is up to who reads them.
    """

    faithful: BoolArray
    answers: tuple[FloatArray, ...] = ()


@dataclass
class Meter:
    """What has been asked of the model: counted in one place, whatever the coordinates it is asked in."""

    evaluations: int = 0
    calls: int = 0
    reasked_any: bool = False
    reasked_mixed: bool = False


class Oracle:
    """Asks `faithful` in batches; checks, counts and limits what it is asked.

    Parameters
    ----------
    faithful : callable
        Maps an (n, D) array of raw values to n booleans, or to a `Judged`.
    space : Cube or Domain
        Turns points into the raw values that `faithful` sees.
    max_evaluations : int, optional
        The number of rows never to be passed.
    batch_rows : int
        The largest number of rows in one call.
    """

    def __init__(
        self,
        faithful: Callable[[Any], Any],
        space: Decodes,
        *,
        max_evaluations: int | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self.faithful = faithful
        self.space = space
        self.max_evaluations = max_evaluations
        self.batch_rows = batch_rows
        self._meter = Meter()

    def in_space(self, space: Decodes) -> Oracle:
        """The same oracle, with the same counts and limit, for points of another space."""
        other = copy(self)
        other.space = space
        return other

    @property
    def evaluations(self) -> int:
        """Rows asked so far."""
        return self._meter.evaluations

    @property
    def calls(self) -> int:
        """Calls made so far."""
        return self._meter.calls

    @property
    def remaining(self) -> int | None:
        """How many rows may still be asked, or None without a limit."""
        return None if self.max_evaluations is None else self.max_evaluations - self.evaluations

    def evaluate(self, points: FloatArray) -> BoolArray:
        """Whether each point is faithful; see `judge`."""
        return self.judge(points).faithful

    def judge(self, points: FloatArray) -> Judged:
        """Whether each point is faithful, with the answers behind it where `faithful` gives them.

        Raises
        ------
        EvaluationLimitError
            If that many rows would pass the limit; then nothing is asked.
        ModelError
            If `faithful` raises or its answer cannot be used.
        """
        self.check_limit(len(points))
        judged = self._ask_in_batches(points)
        self._reask_early(points, judged.faithful)
        return judged

    def reask(self, points: FloatArray, answer: BoolArray) -> None:
        """Ask some rows again, in another batch and order, and a few alone: a function answers the same.

        Rows that failed come first. A model that fails at random fails elsewhere the next time, so its
        failures give it away where faithful rows would not.

        Raises
        ------
        InconsistentModelError
            If any answer differs from the one given before.
        """
        chosen = rows_to_reask(answer)
        chosen = chosen if self.remaining is None else chosen[: self.remaining]
        if chosen.size == 0:
            return
        batches = [chosen[[k]] for k in range(min(ASKED_ALONE, chosen.size))] + [chosen[ASKED_ALONE:]]
        again = [self._ask_in_batches(np.ascontiguousarray(points[rows])).faithful for rows in batches]
        differing = int(np.sum(np.concatenate(again) != answer[chosen]))
        if differing:
            raise InconsistentModelError(
                f"the model is not a function: asked the same {len(chosen)} rows twice, it changed its "
                f"answer on {differing}. A guarantee about it would mean nothing. Fix its seed, or switch "
                "its randomness off (dropout, sampling, an unset random_state); if its answer to a row "
                "depends on the other rows of the batch, ask it row by row."
            )

    def _reask_early(self, points: FloatArray, answer: BoolArray) -> None:
        """Check the first batch, and the first one with both answers, before much is spent."""
        if len(points) < 2:
            return
        mixed = bool(answer.any() and not answer.all())
        if not self._meter.reasked_any or (mixed and not self._meter.reasked_mixed):
            self._meter.reasked_any = True
            self._meter.reasked_mixed |= mixed
            self.reask(points, answer)

    def check_limit(self, rows: int) -> None:
        """Raise `EvaluationLimitError` if that many rows would pass the limit."""
        if self.remaining is not None and rows > self.remaining:
            raise EvaluationLimitError(f"max_evaluations={self.max_evaluations} is reached")

    def _ask_in_batches(self, points: FloatArray) -> Judged:
        batches = [
            self._ask(points[start : start + self.batch_rows])
            for start in range(0, len(points), self.batch_rows)
        ]
        if not batches:
            return Judged(np.empty(0, dtype=np.bool_))
        if len(batches) == 1:
            return batches[0]
        answers = zip(*(batch.answers for batch in batches), strict=True)
        return Judged(
            np.concatenate([batch.faithful for batch in batches]), tuple(map(np.concatenate, answers))
        )

    def _ask(self, points: FloatArray) -> Judged:
        rows = self.space.decode(points)
        self._meter.calls += 1
        self._meter.evaluations += len(rows)
        where = f"call {self.calls} of the model, with {len(rows)} rows"
        try:
            answer = self.faithful(rows)
        except GuaranteeError:
            raise
        except Exception as error:
            raise ModelError(
                f"{where}, raised {type(error).__name__}: {error}. No region is returned. "
                "Call the model on a few rows of the domain to reproduce it."
            ) from error
        except BaseException as interruption:  # Ctrl-C: pass it on, and say where it came
            interruption.add_note(f"Interrupted in {where}. No region is returned.")
            raise
        judged = answer if isinstance(answer, Judged) else Judged(answer)
        return Judged(_checked_answer(judged.faithful, len(rows), where), judged.answers)


def rows_to_reask(answer: BoolArray) -> IntArray:
    """Places of rows to ask again, not in their order: half of them failures, if there are so many."""

    def spread(places: IntArray, count: int) -> IntArray:
        return places[np.linspace(0, len(places) - 1, min(len(places), count)).astype(np.int64)][::-1]

    failures = spread(np.flatnonzero(~answer), REASKED_ROWS // 2)
    others = spread(np.flatnonzero(answer), REASKED_ROWS - failures.size)
    return np.concatenate([failures[:1], others[:1], failures[1:], others[1:]])


def _checked_answer(answer: Any, rows: int, where: str) -> BoolArray:
    array = np.asarray(answer)
    if array.shape != (rows,):
        raise ModelError(f"{where}: one answer a row, shape ({rows},), is required; got shape {array.shape}.")
    if array.dtype != np.bool_:
        raise ModelError(
            f"{where}: `faithful` must return booleans; got {array.dtype}. "
            "Compare model and surrogate inside it, e.g. `abs(model(X) - surrogate(X)) < tolerance`."
        )
    return np.array(array)
