"""Fingerprints: what an audit was about, so that a checkpoint knows whether it is still about the same."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lime_guarantee.problem.fingerprint import digest, kind_of

SAME_ANSWER = 1e-6
"""How far, relatively, the answers of one model may differ between two runs."""

DEPTH = 1
"""How deep the objects that an explainer holds are looked into: LIME keeps its kernel in its base."""

FILLED_IN = ("class_names",)
"""Parameters that explainers fill in when they are first used, if they were not given."""


def fingerprint_of_explanations(explanations: Sequence[Any]) -> str:
    """The same for the same explanations: for what they say, or for the instance of a problem."""
    parts = []
    for one in explanations:
        for name in ("values", "local_exp", "instance"):  # of shap, of LIME, of a Problem
            parts.append(repr(np.asarray(getattr(one, name, None)).tolist()))
    return digest("".join(parts))


def explainer_facts(explainer: Any, parts: Sequence[str] = ()) -> dict[str, Any] | None:
    """What tells one explainer from another: its type, and what it was made from.

    Explainers change while they are used. So only what is named like a parameter of their constructor is
    looked at, and the `parts` that are known to matter besides.
    """
    if explainer is None:
        return None
    explainer = getattr(explainer, "__dict__", {}).get("_explainer", explainer)  # of a wrapped one, itself
    made_from = inspect.signature(type(explainer).__init__).parameters
    names = [name for name in (*made_from, *parts) if name not in FILLED_IN and hasattr(explainer, name)]
    held = {name: _described(getattr(explainer, name), DEPTH) for name in names}
    return {"type": kind_of(explainer), **held}


def differences(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """The names of what differs between two descriptions of an audit."""
    return sorted(
        key for key in now.keys() | then.keys() if not _alike(now.get(key, _Missing), then.get(key, _Missing))
    )


class _Missing:
    """Stands for what is not there."""


def _described(thing: Any, depth: int) -> Any:
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, np.ndarray | np.generic):
        array = np.ascontiguousarray(thing)
        return digest(array.tobytes() if array.dtype != object else repr(array.tolist()))
    if isinstance(thing, list | tuple | range):
        return [_described(part, depth) for part in thing]
    if isinstance(thing, Mapping):
        return {str(key): _described(value, depth) for key, value in thing.items()}
    if isinstance(thing, functools.partial):
        return {"function": thing.func.__qualname__, **_described(thing.keywords, depth)}
    if callable(thing) and hasattr(thing, "__qualname__"):
        return f"{thing.__module__}.{thing.__qualname__}"
    held = sorted(vars(thing).items()) if depth and hasattr(thing, "__dict__") else []
    held = [(key, value) for key, value in held if not key.startswith("_")]  # the others are for its own use
    return {"type": kind_of(thing), **{key: _described(value, depth - 1) for key, value in held}}


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return not differences(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=SAME_ANSWER, atol=SAME_ANSWER, equal_nan=True))
    return bool(one == other)
