"""Explain one row the same way in every process: with a seed of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lime_guarantee.adapters.hooks import wrap
from lime_guarantee.adapters.registry import adapter_of_explainer


def explain_row(
    explainer: Any,
    row: Any,
    predict_fn: Callable[[Any], Any] | None,
    explain_kwargs: Mapping[str, Any],
    training_data: Any,
    seed: int,
) -> Any:
    """An explanation that remembers what it was made from."""
    adapter = adapter_of_explainer(explainer)
    seeded = adapter.reseeded(explainer, seed)
    given = predict_fn if adapter.keeps_model else None  # else the explainer's call tells
    wrapped = wrap(seeded, training_data=training_data, predict_fn=given)
    return adapter.explain_row(wrapped, row, predict_fn, seed, **explain_kwargs)
