"""What an adapter is given and what it returns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.errors import GuaranteeWarning, InvalidInputError
from lime_guarantee.problem.explained import Explained
from lime_guarantee.problem.problem import Problem

CONTEXT = "_guarantee_context"
"""The attribute by which an explanation carries its context."""


@dataclass
class Context:
    """What an explanation object itself does not keep.

    Pickling leaves the model out, which often cannot be pickled: afterwards it has to be given again.

    Parameters
    ----------
    predict_fn : callable or None
        The model, as the explainer was given it.
    instance : array or None
        The instance that was explained.
    facts : object
        What the adapter read from the explainer; it pickles.
    options : dict
        Options of the explainer's call that the adapter needs again.
    """

    predict_fn: Callable[[Any], Any] | None = None
    instance: Any = None
    facts: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "predict_fn": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> Context:
        return replace(self)  # a copy in the same process keeps the model

    def attach(self, explanation: Any) -> None:
        """Let an explanation carry this context."""
        setattr(explanation, CONTEXT, self)


@dataclass(frozen=True, eq=False)
class Call:
    """A call of an explainer that was seen: with which arguments, and what it returned.

    `noted` is what was noted about the explainer before: its training data's span, its model.
    """

    explainer: Any
    arguments: Mapping[str, Any]
    noted: Any
    explanation: Any


@dataclass(frozen=True, eq=False)
class Request:
    """What a user asks of an explanation; everything may be None and is then found out, or asked for.

    Parameters
    ----------
    explainer, predict_fn, instance, training_data, bounds, label, test, tolerance, max_evaluations
        As `guarantee_region` takes them.
    facts : object
        What an adapter read from the explainer when the explanation was made, if that was seen.
    notes : list of str
        Grows as the adapter guesses.
    """

    explainer: Any = None
    predict_fn: Callable[[Any], Any] | None = None
    instance: Any = None
    training_data: Any = None
    bounds: Any = None
    label: int | str | None = None
    test: str = "auto"
    tolerance: float | None = None
    max_evaluations: int | None = None
    facts: Any = None
    notes: list[str] = field(default_factory=list)

    def with_context(self, explanation: Any) -> Request:
        """The same, with what the explanation carries where the user gave nothing."""
        context: Context | None = getattr(explanation, CONTEXT, None)
        if context is None:
            return self
        return replace(
            self,
            predict_fn=context.predict_fn if self.predict_fn is None else self.predict_fn,
            instance=context.instance if self.instance is None else self.instance,
            facts=context.facts if self.explainer is None else None,
        )

    def model(self) -> Callable[[Any], Any]:
        """The model, or the error that asks for it."""
        if self.predict_fn is None:
            raise InvalidInputError(
                "predict_fn: the explanation does not keep the model. Pass predict_fn=, the function that "
                "was explained; or make explanations with wrap(explainer) or after install(), which "
                "remember it (but pickling forgets it again)."
            )
        if not callable(self.predict_fn):
            raise InvalidInputError(f"predict_fn: a callable is required; got {self.predict_fn!r}.")
        return self.predict_fn

    def warn(self, text: str) -> None:
        """Say something once as a warning, and keep it for the region's notes."""
        self.notes.append(text)
        warnings.warn(text, GuaranteeWarning, stacklevel=2)


@dataclass(frozen=True, eq=False)
class Subject:
    """A problem, and what was explained."""

    problem: Problem
    explained: Explained
    evaluations: int = 0
    calls: int = 0
    """Rows asked of the model, and in how many calls, while the subject was made."""
    batch_rows: int = BATCH_ROWS
    rows_each: int = 1
    """Rows that the model itself is asked for every row of the problem."""


class Adapter(Protocol):
    """Turns an explanation into a subject."""

    def __call__(self, explanation: Any, request: Request, **options: Any) -> Subject:
        """Adapt an explanation."""


def unique_names(names: list[str]) -> list[str]:
    """The same names, numbered where they repeat.

    Examples
    --------
    >>> unique_names(["a", "b", "a"])
    ['a #1', 'b', 'a #2']
    """
    repeated = {name for name in names if names.count(name) > 1}
    seen = dict.fromkeys(names, 0)
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} #{seen[name]}" if name in repeated else name)
    return unique if len(set(unique)) == len(unique) else [f"{n} [{i}]" for i, n in enumerate(names)]


def as_floats(instance: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """An instance given as a Series, list, (D,) or (1, D) array or one-row frame, as numbers."""
    row = np.asarray(instance.to_numpy() if hasattr(instance, "to_numpy") else instance)
    if row.ndim == 2 and row.shape[0] == 1:
        row = row[0]
    if row.ndim != 1:
        raise InvalidInputError(f"instance: one row is required; got an array of shape {row.shape}.")
    try:
        return row.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"instance: numbers are required, as the explainer saw them; {error}."
        ) from error
