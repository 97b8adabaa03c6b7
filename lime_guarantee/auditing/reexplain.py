"""Explain one row the same way in every process: with a seed of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from lime_guarantee.adapters.hooks import wrap
from lime_guarantee.errors import InvalidInputError


def explain_row(
    explainer: Any,
    row: Any,
    predict_fn: Callable[[Any], Any] | None,
    explain_kwargs: Mapping[str, Any],
    training_data: Any,
    seed: int,
) -> Any:
    """An explanation that carries its context, by LIME or by shap."""
    seeded = _reseeded(explainer, seed)
    if hasattr(explainer, "explain_instance"):
        if predict_fn is None:
            raise InvalidInputError("predict_fn: LIME explains a function; pass predict_fn=.")
        wrapped = wrap(seeded, training_data=training_data)
        values = row.to_numpy() if hasattr(row, "to_numpy") else row
        return wrapped.explain_instance(values, predict_fn, **explain_kwargs)
    _restore_link(seeded)
    wrapped = wrap(seeded, training_data=training_data, predict_fn=predict_fn)
    rows = row.to_frame().T if hasattr(row, "to_frame") else np.asarray(row)[np.newaxis]
    with _global_seed(seed):
        return wrapped(rows, **explain_kwargs)[0]


def _reseeded(explainer: Any, seed: int) -> Any:
    """A copy whose random numbers start from the seed; LIME keeps them in three places."""
    fresh = copy.copy(explainer)
    for part in ("base", "discretizer"):
        if getattr(fresh, part, None) is not None:
            setattr(fresh, part, copy.copy(getattr(fresh, part)))
    state = np.random.RandomState(seed)
    for owner in filter(None, (fresh, getattr(fresh, "base", None), getattr(fresh, "discretizer", None))):
        if hasattr(owner, "random_state"):
            owner.random_state = state
    return fresh


def _restore_link(explainer: Any) -> None:
    """In another process a link of shap is a copy, which shap takes for a link of the user's own."""
    links = import_module("shap.links")
    name = getattr(getattr(explainer, "link", None), "__name__", "")
    if name in ("identity", "logit"):
        explainer.link = getattr(links, name)


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Numpy's global random numbers, which shap uses, from the seed on; afterwards as they were."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
