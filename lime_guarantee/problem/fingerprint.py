"""Fingerprints of models and data: short texts, the same for the same thing, which tell others apart."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.space.domain import Domain
from lime_guarantee.space.tables import as_table
from lime_guarantee.support.arrays import AnyArray

ASKED_ROWS = 16
"""Rows that a model is asked about, to tell it from a retrained one."""

SAME_DIGITS = 5
"""Digits of an answer that count: the others may differ between two machines."""


@dataclass(frozen=True)
class Origin:
    """Which model and which data a region speaks of: whoever has them can see whether they are the same.

    Parameters
    ----------
    model : str
        Its type and method, or the name of the function.
    parameters : str
        The fingerprint of its parameters, as scikit-learn's ``get_params`` tells them; empty where it has
        none.
    data : str
        The fingerprint of the training data; empty where none were given.
    rows : int or None
        How many rows they have.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> origin = Origin.of(LogisticRegression().predict_proba)
    >>> origin.model
    'sklearn.linear_model._logistic.LogisticRegression.predict_proba'
    >>> origin == Origin.of(LogisticRegression(C=2.0).predict_proba)
    False
    """

    model: str
    parameters: str = ""
    data: str = ""
    rows: int | None = None

    @classmethod
    def of(cls, predict_fn: Any, data: str = "", rows: int | None = None) -> Origin:
        """The origin of a model that is asked like this, and of data with this fingerprint."""
        parameters = parameters_of(predict_fn)
        return cls(model_name(predict_fn), digest(repr(parameters)) if parameters else "", data, rows)


def digest(content: bytes | str) -> str:
    """Sixteen letters that stand for the content (SHA-256, cut)."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


def fingerprint(X: Any) -> str:
    """The same for the same rows; empty where there are none. What remembers data tells its own.

    Examples
    --------
    >>> fingerprint([[1.0, 2.0]]) == fingerprint(np.array([[1.0, 2.0]])), fingerprint(None)
    (True, '')
    """
    if X is None:
        return ""
    if isinstance(known := getattr(X, "fingerprint", None), str):
        return known
    if hasattr(X, "tocsr"):
        sparse = X.tocsr()
        return digest(b"".join(part.tobytes() for part in (sparse.data, sparse.indices, sparse.indptr)))
    return fingerprint_of_values(as_table(X).values)


def fingerprint_of_values(values: AnyArray) -> str:
    """The same for the same values."""
    return digest(values.tobytes() if values.dtype != object else repr(values.tolist()))


def fingerprint_of_answers(answers: Any) -> str:
    """The same for the same answers of a model, to a few digits."""
    numbers = np.asarray(answers, dtype=np.float64).ravel().tolist()
    return digest(" ".join(f"{number + 0.0:.{SAME_DIGITS}g}" for number in numbers))


def known_rows(domain: Domain) -> AnyArray:
    """Rows that are the same for everybody who has the data: some that are remembered, else evenly spread."""
    if domain.observed is not None and len(domain.observed.rows):
        rows: AnyArray = domain.observed.rows[:ASKED_ROWS]
        return rows
    columns = [axis.evenly(ASKED_ROWS) for axis in domain.axes]
    spread = np.column_stack([np.resize(column, ASKED_ROWS) for column in columns])
    return domain.decode(spread)


def model_facts(predict_fn: Callable[[Any], Any] | None, rows: Any) -> dict[str, Any] | None:
    """What tells one model from another: its type, its parameters, its answers to some rows.

    Parameters
    ----------
    predict_fn : callable or None
    rows : array, DataFrame or None
        The first of them are asked about.
    """
    if predict_fn is None:
        return None
    model = _behind(predict_fn)
    return {
        "type": kind_of(getattr(model, "__self__", model)),
        "function": getattr(model, "__name__", ""),
        "parameters": parameters_of(predict_fn),
        "answers": None if rows is None else _answers(predict_fn, rows),
    }


def model_name(predict_fn: Any) -> str:
    """What a model is called: its type and method, or the name of the function."""
    predict_fn = _behind(predict_fn)
    owner = getattr(predict_fn, "__self__", None)
    if owner is not None and not isinstance(owner, type):
        return f"{kind_of(owner)}.{getattr(predict_fn, '__name__', '')}"
    if hasattr(predict_fn, "__qualname__"):
        return f"{predict_fn.__module__}.{predict_fn.__qualname__}"
    return kind_of(predict_fn)


def parameters_of(predict_fn: Any) -> dict[str, str]:
    """The parameters of a model in words, where it tells them."""
    predict_fn = _behind(predict_fn)
    owner = getattr(predict_fn, "__self__", predict_fn)
    found: Mapping[str, Any] = owner.get_params() if hasattr(owner, "get_params") else {}
    return {str(name): in_words(value) for name, value in sorted(found.items())}


def in_words(option: Any) -> str:
    """An option in words that are the same in every run: without addresses."""
    return re.sub(r" at 0x[0-9a-f]+", "", option if isinstance(option, str) else repr(option))


def kind_of(thing: Any) -> str:
    """The qualified name of a thing's type."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _behind(predict_fn: Any) -> Any:
    """The model itself, where it is asked through a function that says so: the command line's do."""
    inner = getattr(predict_fn, "ask", None)
    return predict_fn if inner is None or not callable(inner) else inner


def _answers(predict_fn: Callable[[Any], Any], rows: Any) -> Any:
    """Its answers to the first rows, None for those that are no finite numbers: JSON has none of these."""
    some = rows.iloc[:ASKED_ROWS] if hasattr(rows, "iloc") else rows[:ASKED_ROWS]
    try:
        answers = np.asarray(predict_fn(some), dtype=np.float64)
    except Exception as error:  # noqa: BLE001 - a model that raises is told of row by row
        return f"raises {type(error).__name__}"
    told = answers.astype(object)
    told[~np.isfinite(answers)] = None
    return told.tolist()
