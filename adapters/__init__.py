"""Adapters turn what an explanation library returns into a `Problem`, and say what was explained.

This folder ships as ``lime_guarantee.adapters``. Its modules import each other relatively and everything else
from ``lime_guarantee``; none of them may be named like the library it adapts.

An adapter is a function ``adapt(explanation, request, **options)`` that returns a `Subject`; see `request`
for what it is given. `BUILT_IN` lists ours by the qualified name of the class that they adapt. Another
package adds its own as entry points of the group ``lime_guarantee.adapters``, named like the class and
pointing to the function.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from lime_guarantee.errors import InvalidInputError

from .request import Adapter

GROUP = "lime_guarantee.adapters"

BUILT_IN = {
    "lime.lime_tabular.TableDomainMapper": "lime_guarantee.adapters.lime_tabular:adapt",
    "lime.lime_text.TextDomainMapper": "lime_guarantee.adapters.lime_text:adapt",
    "lime.lime_image.ImageExplanation": "lime_guarantee.adapters.lime_image:adapt",
    "shap._explanation.Explanation": "lime_guarantee.adapters.shap_explanation:adapt",
}


def find_adapter(explanation: Any) -> Adapter:
    """The adapter of an explanation, found by the names of its classes, without importing its library.

    LIME's Explanation is one class for tables and texts, so its domain mapper's class counts, too.

    Raises
    ------
    InvalidInputError
        If there is none; the message lists what is supported.
    """
    names = _class_names(explanation) + _class_names(getattr(explanation, "domain_mapper", None))
    for name in names:
        if name in BUILT_IN:
            module, function = BUILT_IN[name].split(":")
            adapter: Adapter = getattr(import_module(module), function)
            return adapter
    others = {point.name: point for point in entry_points(group=GROUP)}
    for name in names:
        if name in others:
            return others[name].load()  # type: ignore[no-any-return]
    known = ", ".join([*BUILT_IN, *others])
    raise InvalidInputError(
        f"explanation: there is no adapter for {_name(type(explanation))}. Supported are explanations of "
        f"{known}. For any other kind, give model and surrogate to `find_region`, or write an adapter: a "
        f"function, registered as an entry point of the group {GROUP!r} (the README shows how)."
    )


def _class_names(thing: Any) -> list[str]:
    """The qualified names of an object's classes, its own first; all but `object`."""
    return [_name(kind) for kind in type(thing).__mro__[:-1]]


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
