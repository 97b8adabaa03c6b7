"""Let explanations remember what their adapter needs: of one explainer (`wrap`), or of all (`install`)."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from threading import RLock
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from lime_guarantee.api import guarantee_region as region_of

from .base import CAPTURED, Adapter, check_function
from .ranges import TrainingData
from .registry import (
    adapter_of_explainer,
    adapters,
    explainer_classes,
    imported_class,
    is_instance,
    loaded_class,
    on_register,
)

METHOD, REGION, REFIT = "guarantee_region", "region", "refit"
ABSENT = object()
"""Stands for what a class did not have before."""

_lock = RLock()
_originals: dict[tuple[type, str], Any] = {}  # what was in a class before
_patches: dict[tuple[type, str], Any] = {}
_noticed: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # by explainer
_subclasses: dict[str, type] = {}


def wrap(
    explainer: Any, *, training_data: Any = None, predict_fn: Callable[[Any], Any] | None = None
) -> WrappedExplainer:
    """An explainer whose explanations have a `guarantee_region` method; nothing else is touched.

    Parameters
    ----------
    explainer : object
        An explainer of LIME (tabular, recurrent, text or image), of shap, or one that has an adapter.
    training_data : array or DataFrame, optional
        What the model was trained on: gives every feature its range, and tells which hold whole numbers.
    predict_fn : callable, optional
        The model itself, where the explainer has but a copy (shap's TreeExplainer): the two are compared.

    Returns
    -------
    WrappedExplainer
        Use it like the explainer itself.

    Examples
    --------
    >>> import numpy as np
    >>> from lime.lime_text import LimeTextExplainer
    >>> explainer = wrap(LimeTextExplainer(class_names=["bad", "good"], random_state=0))
    >>> def model(texts):
    ...     good = np.array([text.count("good") / 4 for text in texts])
    ...     return np.column_stack([1 - good, good])
    >>> explanation = explainer.explain_instance("so good and so very good", model, num_samples=200)
    >>> explanation.guarantee_region(random_state=0).removable
    ('so', 'good', 'and', 'very')
    """
    if isinstance(explainer, WrappedExplainer):
        if training_data is None and predict_fn is None:
            return explainer
        explainer = explainer._explainer
    adapter = adapter_of_explainer(explainer)
    check_function(predict_fn)
    data = training_data
    if data is not None and not isinstance(data, TrainingData):
        data = adapter.data_of(data, explainer)
    return WrappedExplainer(explainer, adapter, data, predict_fn)


class WrappedExplainer:
    """An explainer that remembers what its explanations lose. Made by `wrap`."""

    def __init__(
        self,
        explainer: Any,
        adapter: type[Adapter],
        data: TrainingData | None,
        predict_fn: Callable[[Any], Any] | None,
    ) -> None:
        vars(self).update(_explainer=explainer, _adapter=adapter, _data=data, _predict_fn=predict_fn)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Explain, as shap's explainers do."""
        return self._remembered(self._explainer(*args, **kwargs), args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for while copying or unpickling, before there is an explainer
            raise AttributeError(name)
        found = getattr(self._explainer, name)
        if name != self._adapter.explain_method:
            return found

        @functools.wraps(found)
        def explain(*args: Any, **kwargs: Any) -> Any:
            return self._remembered(found(*args, **kwargs), args, kwargs)

        return explain

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._explainer, name, value)

    def __repr__(self) -> str:
        return f"wrap({self._explainer!r})"

    def _remembered(self, explanation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        noticed = dict(_noticed.get(self._explainer, {}))
        if self._data is not None:
            noticed["data"] = self._data
        if self._predict_fn is not None:
            noticed["predict_fn"] = self._predict_fn
        if is_instance(explanation, self._adapter.explanation_class):
            self._adapter.mend(explanation)
        if _remember(self._adapter, explanation, self._explainer, args, kwargs, noticed):
            explanation.__class__ = guaranteed_class(type(explanation))
        return explanation


def install() -> Installation:
    """Give every explanation made from now on, by any explainer, a `guarantee_region` method.

    Explainers keep working as they did. Calling it again changes nothing. As a context manager it lasts
    until the end of the block.

    Returns
    -------
    Installation

    Examples
    --------
    >>> with install():
    ...     is_installed()
    True
    >>> is_installed()
    False
    """
    with _lock:
        if _patches:
            return Installation(ours=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what these libraries say of others when they are imported
            for adapter in adapters():
                _install_adapter(adapter)
        if not _patches:
            raise ModuleNotFoundError(
                "install() found no explanation library. Install one with: pip install "
                "'lime-guarantee[lime]' or 'lime-guarantee[shap]'"
            )
        return Installation(ours=True)


def uninstall() -> None:
    """Undo `install`: the libraries' own functions are back, the very same ones.

    Examples
    --------
    >>> installation = install()
    >>> uninstall()
    >>> is_installed()
    False
    """
    with _lock:
        for (owner, name), patch in _patches.items():
            if owner.__dict__.get(name, ABSENT) is not patch:  # somebody patched over ours: theirs stays
                continue
            original = _originals[owner, name]
            if original is ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        _patches.clear()
        _originals.clear()


def is_installed() -> bool:
    """Whether `install` is in force.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_installed()
    False
    """
    return bool(_patches)


class Installation:
    """What `install` returns; as a context manager, it undoes what that call did."""

    def __init__(self, *, ours: bool) -> None:
        self._ours = ours

    def __enter__(self) -> Installation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._ours:
            uninstall()


# -- what explanations gain --------------------------------------------------------------------------


def gained(explanation: type, own: Callable[[str], Callable[..., Any]]) -> dict[str, Any]:
    """What explanations of a class gain: the method, the region, and what their adapters add.

    `own` gives the class's own function of a name, without anything of ours around it.
    """
    known = [(adapter, imported_class(adapter.explanation_class)) for adapter in adapters()]
    theirs = [adapter for adapter, cls in known if cls is not None and issubclass(explanation, cls)]
    members: dict[str, Any] = {METHOD: _method(theirs), REGION: None, REFIT: _refit}
    for adapter in reversed(theirs):
        for name, around in adapter.methods().items():
            members[name] = around(own(name))
    return members


def guaranteed_class(base: type) -> type:
    """Our subclass of a class of explanations, made when first needed: their libraries are optional."""
    if base in _subclasses.values():
        return base
    name = _subclass_name(base)
    known = _subclasses.get(name)
    if known is None or base not in known.__bases__:  # a module that was imported anew has a class anew
        members = {
            "__doc__": "An explanation that knows its region.",
            "__module__": __name__,
            **gained(base, lambda member: _late(base, member)),
        }
        made = type(base)(name, (base,), members)
        if known is None:
            _subclasses.setdefault(name, made)  # another thread may have been quicker
        else:
            _subclasses[name] = made
    return _subclasses[name]


def __getattr__(name: str) -> Any:
    """Our subclasses, by name: pickled explanations ask for theirs."""
    if name in _subclasses:
        return _subclasses[name]
    for adapter in adapters() if name.startswith("Guaranteed") else ():
        base = loaded_class(adapter.explanation_class) if _might_be(adapter, name) else None
        if base is not None and _subclass_name(base) == name:
            return guaranteed_class(base)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _subclass_name(base: type) -> str:
    place = "".join(part.strip("_").capitalize() for part in base.__module__.split("."))
    return f"Guaranteed{place}{base.__name__}"


def _might_be(adapter: type[Adapter], name: str) -> bool:
    named = adapter.explanation_class
    return not isinstance(named, str) or name.endswith(named.rpartition(".")[2])


def _late(owner: type, name: str) -> Callable[..., Any]:
    """A class's own function, whether or not we are installed by the time it is called."""
    original = _original(owner, name)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _original(owner, name)(self, *args, **kwargs)

    return call


def _original(owner: type, name: str) -> Callable[..., Any]:
    found = _originals.get((owner, name), ABSENT)
    original: Callable[..., Any] = getattr(owner, name) if found is ABSENT else found
    return original


def _method(theirs: list[type[Adapter]]) -> Callable[..., Any]:
    """The method `guarantee_region`, whose signature shows the options of these adapters."""

    def guarantee_region(self: Any, **options: Any) -> Any:
        """Find the region in which this explanation is faithful; see `lime_guarantee.guarantee_region`."""
        return region_of(self, **options)

    shown = inspect.signature(region_of).parameters
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    named = [p for p in list(shown.values())[1:] if p.kind is p.KEYWORD_ONLY]
    more = {
        p.name: p.replace(kind=p.KEYWORD_ONLY)
        for adapter in theirs
        for p in adapter.own_options()
        if p.kind is not p.VAR_KEYWORD
    }
    guarantee_region.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [first, *named, *more.values()]
    )
    return guarantee_region


def _refit(self: Any, **options: Any) -> Any:
    """Find a better explanation of this kind, where one pays; see `lime_guarantee.refit`."""
    from lime_guarantee.choosing.refit import refit

    return refit(self, **options)


# -- how it is done ----------------------------------------------------------------------------------


def _remember(
    adapter: type[Adapter],
    explanation: Any,
    explainer: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    noticed: Mapping[str, Any],
) -> bool:
    """Let an explanation carry what it was made from; False if it is none of the adapter's."""
    if not is_instance(explanation, adapter.explanation_class):
        return False
    # By position, not by signature: a subclass or another patch may take (*args, **kwargs).
    arguments = {**dict(zip(adapter.explain_arguments, args, strict=False)), **kwargs}
    captured = adapter.capture(explainer, arguments, explanation)
    setattr(explanation, CAPTURED, replace(captured, **noticed))
    return True


def _install_adapter(adapter: type[Adapter]) -> None:
    if any(find_spec(package) is None for package in adapter.requires):
        return
    explanation = loaded_class(adapter.explanation_class)
    if explanation is None:
        return
    if (explanation, METHOD) not in _patches:
        for name, member in gained(explanation, lambda name: getattr(explanation, name)).items():
            _patch(explanation, name, member)
    watched = [loaded_class(name) for name in adapter.watched_explainers]
    for explainer in filter(None, map(loaded_class, explainer_classes(adapter))):
        method = explainer.__dict__.get(adapter.explain_method)
        if method is not None and (explainer, adapter.explain_method) not in _patches:
            _patch(explainer, adapter.explain_method, _remembering(method, adapter))
        if explainer in watched and "__init__" in vars(explainer):
            _patch(explainer, "__init__", _noticing(vars(explainer)["__init__"], adapter))


def _install_later(adapter: type[Adapter]) -> None:
    """Take up an adapter that is registered while we are installed."""
    with _lock:
        if is_installed():
            _install_adapter(adapter)


on_register(_install_later)


def _patch(owner: type, name: str, patch: Any) -> None:
    _originals[owner, name] = owner.__dict__.get(name, ABSENT)
    _patches[owner, name] = patch
    setattr(owner, name, patch)


def _remembering(original: Callable[..., Any], adapter: type[Adapter]) -> Callable[..., Any]:
    """A method that explains, after which its explanation carries what it was made from."""

    @functools.wraps(original)
    def explain(self: Any, *args: Any, **kwargs: Any) -> Any:
        explanation = original(self, *args, **kwargs)
        if is_installed():
            _remember(adapter, explanation, self, args, kwargs, _noticed.get(self, {}))
        return explanation

    return _like(explain, original)


def _noticing(original: Callable[..., Any], adapter: type[Adapter]) -> Callable[..., Any]:
    """An explainer's `__init__`, after which something about its first argument is noticed."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        if is_installed():
            _noticed[self] = adapter.notice(self, args[0] if args else None, kwargs)

    return _like(__init__, original)


def _like(ours: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """Ours with the signature of the original, also for those who do not follow ``__wrapped__``.

    shap reads the arguments of ``__init__`` with `inspect.getfullargspec` when it loads an explainer.
    """
    ours.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return ours
