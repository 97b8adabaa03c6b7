"""The one registry of adapters: ours, those of other packages, and those registered at run time."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from lime_guarantee.errors import GuaranteeWarning, InvalidInputError

from .base import Adapter

GROUP = "lime_guarantee.adapters"
"""The group of entry points by which other packages add adapters: each points to an `Adapter` class."""

OURS = (
    "lime_table.LimeTableAdapter",
    "lime_text.LimeTextAdapter",
    "lime_image.LimeImageAdapter",
    "interpret_lime.InterpretLimeAdapter",
    "shap_parts.ShapTextAdapter",
    "shap_parts.ShapImageAdapter",
    "shap_row.ShapRowAdapter",
)

AdapterClass = TypeVar("AdapterClass", bound=type[Adapter])
Named = str | type

_registered: list[type[Adapter]] = []
_listeners: list[Callable[[type[Adapter]], None]] = []


def register(adapter: AdapterClass) -> AdapterClass:
    """Register an adapter class; use it as a decorator.

    From then on `guarantee_region`, `wrap`, `install`, `audit` and the command line know its explanations. Of
    several adapters for one class, the one registered last is taken.

    Parameters
    ----------
    adapter : subclass of Adapter

    Returns
    -------
    The same class.

    Examples
    --------
    >>> from lime_guarantee import Adapter, register
    >>> @register
    ... class RuleAdapter(Adapter):
    ...     explanation_class = "rules.Rule"
    """
    if not (isinstance(adapter, type) and issubclass(adapter, Adapter)):
        raise InvalidInputError(f"register: a subclass of Adapter is required; got {adapter!r}.")
    if not adapter.explanation_class:
        raise InvalidInputError(
            f"register: {adapter.__name__} must say which explanations it is for: set explanation_class to "
            'the qualified name of their class, such as "yourpackage.Rule".'
        )
    _registered.insert(0, adapter)
    for listener in _listeners:
        listener(adapter)
    return adapter


def on_register(listener: Callable[[type[Adapter]], None]) -> None:
    """Tell somebody about every adapter that is registered from now on."""
    _listeners.append(listener)


def adapters() -> Iterator[type[Adapter]]:
    """All adapters, in the order in which they are tried."""
    yield from _registered
    yield from _ours()
    yield from _of_other_packages(tuple(sys.path))


def adapter_for(explanation: Any) -> type[Adapter]:
    """The adapter of an explanation, found without importing its library.

    Raises
    ------
    InvalidInputError
        If there is none; the message lists what is supported.
    """
    for adapter in adapters():
        if is_instance(explanation, adapter.explanation_class) and adapter.recognises(explanation):
            return adapter
    known = ", ".join(dict.fromkeys(_name(adapter.explanation_class) for adapter in adapters()))
    bare = ""
    if hasattr(explanation, "shape") or isinstance(explanation, list):
        bare = (
            "If these are the bare numbers that a shap explainer's shap_values() gave, make an explanation "
            "of them: from_shap_values(values, explainer, data)[0]. "
        )
    raise InvalidInputError(
        f"explanation: there is no adapter for {_name(type(explanation))}. {bare}Supported are explanations "
        f"of {known}. For any other kind, give model and surrogate to `find_region`, or write an adapter: a "
        "subclass of Adapter, registered with @register (the README shows how)."
    )


def adapter_of_explainer(explainer: Any) -> type[Adapter]:
    """The adapter of the explanations that an explainer makes.

    Raises
    ------
    InvalidInputError
        If there is none; the message lists what is supported.
    """
    for adapter in adapters():
        if any(is_instance(explainer, name) for name in explainer_classes(adapter)):
            return adapter
    known = dict.fromkeys(_name(name) for adapter in adapters() for name in explainer_classes(adapter))
    raise InvalidInputError(
        f"explainer: {_name(type(explainer))} cannot be wrapped. Supported are {', '.join(known)}. For "
        "others, call guarantee_region(explanation, ...) or find_region; or write an adapter (the README "
        "shows how)."
    )


def explainer_classes(adapter: type[Adapter]) -> tuple[Named, ...]:
    """The classes of the explainers of an adapter, as it names them."""
    named = adapter.explainer_class
    return named if isinstance(named, tuple) else (named,)


def is_instance(thing: Any, named: Named) -> bool:
    """Whether an object is of a class that may be given by its qualified name.

    If nobody has imported that class yet, it cannot be: so no library is imported to find out.
    """
    found = imported_class(named)
    return found is not None and isinstance(thing, found)


def imported_class(named: Named) -> type | None:
    """A class by its qualified name, if somebody has imported it."""
    if not isinstance(named, str):
        return named
    module, _, name = named.rpartition(".")
    found: type | None = getattr(sys.modules.get(module), name, None)
    return found


def loaded_class(named: Named) -> type | None:
    """A class by its qualified name, imported; None if its library is not installed."""
    if not isinstance(named, str):
        return named
    module, _, name = named.rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except ModuleNotFoundError:
        return None
    assert isinstance(found, type)
    return found


def _name(named: Named) -> str:
    return named if isinstance(named, str) else f"{named.__module__}.{named.__qualname__}"


@cache
def _ours() -> tuple[type[Adapter], ...]:
    found = []
    for path in OURS:
        module, _, name = path.partition(".")
        found.append(getattr(import_module(f".{module}", __package__), name))
    return tuple(found)


@lru_cache(maxsize=1)
def _of_other_packages(path: tuple[str, ...]) -> tuple[type[Adapter], ...]:  # noqa: ARG001 - where they are found
    """Those of entry points; finding them reads the metadata of all packages that are installed."""
    return tuple(filter(None, map(_loaded, entry_points(group=GROUP))))


def _loaded(point: Any) -> type[Adapter] | None:
    """The adapter of another package; one that cannot be loaded is told of, and hinders nobody else."""
    try:
        found = point.load()
    except Exception as error:  # noqa: BLE001 - another package may do anything when it is imported
        problem = f"{type(error).__name__}: {error}"
    else:
        if isinstance(found, type) and issubclass(found, Adapter):
            return found
        problem = f"it is no subclass of Adapter but {found!r}"
    warnings.warn(
        f"the adapter {point.value!r} of the entry point {point.name!r} is passed over: {problem}",
        GuaranteeWarning,
        stacklevel=2,
    )
    return None
