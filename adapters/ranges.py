"""The range of every feature: read from training data, or given as bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.tables import is_frame
from lime_guarantee.support.arrays import AnyArray


@dataclass(frozen=True)
class Span:
    """The lowest and highest value of a feature, and whether only whole numbers were seen."""

    low: float
    high: float
    whole: bool = False


def span_of(data: Any) -> dict[int, Span]:
    """The span of every column of numbers; missing values, and columns of other things, are passed over."""
    if hasattr(data, "tocsc"):
        columns = data.tocsc()
        return _spans([_sparse_column(columns, i) for i in range(columns.shape[1])])
    if is_frame(data):
        return _spans([data.iloc[:, i].to_numpy() for i in range(data.shape[1])])
    array = np.asarray(data)
    return _spans([array[:, i] for i in range(array.shape[1])]) if array.ndim == 2 else {}


def given_spans(
    training_data: Any, bounds: Any, names: Sequence[str], timesteps: tuple[int, int] | None
) -> dict[int, Span]:
    """What the user gave: the span of the data, with the bounds on top."""
    spans: dict[int, Span] = {}
    if training_data is not None:
        spans = span_of(flattened(training_data, timesteps))
        width = np.shape(flattened(training_data, timesteps))[1]
        if width != len(names):
            raise InvalidInputError(
                f"training_data: the explainer knows {len(names)} features; got {width} columns."
            )
    for i, low, high in bound_pairs(bounds, names):
        whole = i in spans and spans[i].whole
        spans[i] = Span(float(np.ceil(low)), float(np.floor(high)), True) if whole else Span(low, high)
    return spans


def flattened(data: Any, timesteps: tuple[int, int] | None) -> Any:
    """Training data of a recurrent explainer as flat rows; any other data as it is."""
    if timesteps is None or np.ndim(data) != 3:
        return data
    return np.transpose(np.asarray(data), (0, 2, 1)).reshape(len(data), -1)


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


def _sparse_column(columns: Any, i: int) -> AnyArray:
    """The values of a sparse column; its zeros count once."""
    start, end = columns.indptr[i], columns.indptr[i + 1]
    values: AnyArray = columns.data[start:end]
    return values if end - start == columns.shape[0] else np.append(values, 0)


def _spans(columns: Sequence[AnyArray]) -> dict[int, Span]:
    spans = {}
    for i, column in enumerate(columns):
        try:
            values = np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            continue
        values = values[np.isfinite(values)]
        if values.size:
            spans[i] = Span(
                float(values.min()), float(values.max()), bool(np.all(values == np.round(values)))
            )
    return spans
