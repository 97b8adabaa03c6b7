"""Give explanations a `guarantee_region` method: for one explainer (`wrap`), or for all (`install`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from lime_guarantee.errors import InvalidInputError

from .request import Context
from .spans import Span, flattened, span_of

METHOD = "guarantee_region"


@dataclass(frozen=True)
class Library:
    """One kind of explainer: where its classes are, and the module here that knows them."""

    module: str
    explainer: str
    explanation_module: str
    explanation: str
    adapter: str
    parameters: tuple[str, ...]
    """The first parameters of its `explain_instance`, in order: all that an adapter may want to remember."""
    learns: bool = False
    """Whether the explainer is made from training data, whose span is worth remembering."""

    def remember(
        self,
        explanation: Any,
        explainer: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        spans: dict[int, Span] | None,
    ) -> None:
        """Let an explanation carry what it was made from: the arguments of the explainer's call."""
        # By position, not by signature: a subclass or another patch may take (*args, **kwargs).
        arguments = {**dict(zip(self.parameters, args, strict=False)), **kwargs}
        context: Context = import_module(self.adapter).capture(explainer, arguments, spans)
        context.attach(explanation)

    @property
    def explainer_class(self) -> Any:
        """The explainer's class."""
        return getattr(import_module(self.module), self.explainer)

    @property
    def explanation_class(self) -> Any:
        """The class of what it returns."""
        return getattr(import_module(self.explanation_module), self.explanation)


LIBRARIES = (
    Library(
        "lime.lime_tabular",
        "LimeTabularExplainer",
        "lime.explanation",
        "Explanation",
        "lime_guarantee.adapters.lime_tabular",
        ("data_row", "predict_fn"),
        learns=True,
    ),
    Library(
        "lime.lime_tabular",
        "RecurrentTabularExplainer",
        "lime.explanation",
        "Explanation",
        "lime_guarantee.adapters.lime_tabular",
        ("data_row", "classifier_fn"),
    ),
    Library(
        "lime.lime_text",
        "LimeTextExplainer",
        "lime.explanation",
        "Explanation",
        "lime_guarantee.adapters.lime_text",
        ("text_instance", "classifier_fn"),
    ),
    Library(
        "lime.lime_image",
        "LimeImageExplainer",
        "lime.lime_image",
        "ImageExplanation",
        "lime_guarantee.adapters.lime_image",
        ("image", "classifier_fn", "labels", "hide_color"),
    ),
)

NEEDS = {"lime.lime_image": "skimage"}
"""What a module needs besides its own package, if that is not always there."""

_lock = RLock()
_originals: dict[tuple[Any, str], Any] = {}  # what was in a class before; None: nothing was
_patches: dict[tuple[Any, str], Any] = {}
_spans: WeakKeyDictionary[Any, dict[int, Span]] = WeakKeyDictionary()


def guarantee_region(self: Any, **options: Any) -> Any:
    """The region in which this explanation is faithful; see `lime_guarantee.guarantee_region`."""
    from lime_guarantee.guarantee import guarantee_region as region_of

    return region_of(self, **options)


def wrap(explainer: Any, *, training_data: Any = None) -> WrappedExplainer:
    """An explainer whose explanations have a `guarantee_region` method; nothing else is touched.

    Parameters
    ----------
    explainer : object
        An explainer of LIME: tabular, recurrent, text or image.
    training_data : array or DataFrame, optional
        What the explainer was made from: gives every feature its range, and tells which hold whole numbers.

    Returns
    -------
    WrappedExplainer
        Use it like the explainer itself.
    """
    if isinstance(explainer, WrappedExplainer):
        return explainer if training_data is None else wrap(explainer._explainer, training_data=training_data)
    names = {f"{c.__module__}.{c.__qualname__}" for c in type(explainer).__mro__}
    for library in LIBRARIES:
        if f"{library.module}.{library.explainer}" in names:
            steps = getattr(explainer, "n_timesteps", None)
            timesteps = None if steps is None else (steps, explainer.n_features)
            seen = None if training_data is None else span_of(flattened(training_data, timesteps))
            return WrappedExplainer(explainer, library, seen)
    supported = ", ".join(f"{library.module}.{library.explainer}" for library in LIBRARIES)
    raise InvalidInputError(
        f"explainer: {type(explainer).__module__}.{type(explainer).__qualname__} cannot be wrapped. "
        f"Supported are {supported}. For others, call guarantee_region(explanation, ...) or find_region."
    )


class WrappedExplainer:
    """An explainer that remembers what its explanations lose. Made by `wrap`."""

    def __init__(self, explainer: Any, library: Library, spans: dict[int, Span] | None) -> None:
        vars(self).update(_explainer=explainer, _library=library, _seen=spans)

    def explain_instance(self, *args: Any, **kwargs: Any) -> Any:
        """Explain, as the explainer does."""
        explanation = self._explainer.explain_instance(*args, **kwargs)
        seen = self._seen if self._seen is not None else _spans.get(self._explainer)
        self._library.remember(explanation, self._explainer, args, kwargs, seen)
        explanation.__class__ = subclass_with_method(self._library.explanation)
        return explanation

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for while copying or unpickling, before there is an explainer
            raise AttributeError(name)
        return getattr(self._explainer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._explainer, name, value)

    def __repr__(self) -> str:
        return f"wrap({self._explainer!r})"


def __getattr__(name: str) -> Any:
    """Our subclasses of foreign explanations, made when first needed: their libraries are optional."""
    for library in LIBRARIES:
        if name == f"Guaranteed{library.explanation}":
            made = type(
                name,
                (library.explanation_class,),
                {
                    "__doc__": "An explanation that knows its region.",
                    "__module__": __name__,
                    METHOD: guarantee_region,
                },
            )
            return globals().setdefault(name, made)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def subclass_with_method(explanation: str) -> Any:
    """Our subclass of an explanation's class."""
    return getattr(import_module(__name__), f"Guaranteed{explanation}")


def install() -> Installation:
    """Give every explanation made from now on, by any explainer, a `guarantee_region` method.

    Explainers keep working as they did. Calling it again changes nothing. As a context manager it lasts
    until the end of the block.

    Returns
    -------
    Installation
    """
    with _lock:
        if _patches:
            return Installation(ours=False)
        there = [
            (library, library.explainer_class, library.explanation_class)
            for library in LIBRARIES
            if _is_there(library)
        ]
        if not there:
            raise ModuleNotFoundError(
                "install() found no explanation library. Install one with: pip install 'lime-guarantee[lime]'"
            )
        for library, explainer, explanation in there:
            _patch(explainer, "explain_instance", _remembering(explainer.explain_instance, library))
            if library.learns:
                _patch(explainer, "__init__", _noting_span(explainer.__init__))
            if (explanation, METHOD) not in _patches:
                _patch(explanation, METHOD, guarantee_region)
        return Installation(ours=True)


def uninstall() -> None:
    """Undo `install`: the libraries' own functions are back, the very same ones."""
    with _lock:
        for (owner, name), patch in _patches.items():
            if owner.__dict__.get(name) is not patch:  # somebody patched over ours: theirs stays
                continue
            original = _originals[owner, name]
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
        _patches.clear()
        _originals.clear()


def is_installed() -> bool:
    """Whether `install` is in force."""
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


def _is_there(library: Library) -> bool:
    needed = (library.module.partition(".")[0], NEEDS.get(library.module))
    return all(name is None or find_spec(name) is not None for name in needed)


def _patch(owner: Any, name: str, patch: Callable[..., Any]) -> None:
    _originals[owner, name] = owner.__dict__.get(name)
    _patches[owner, name] = patch
    setattr(owner, name, patch)


def _remembering(original: Callable[..., Any], library: Library) -> Callable[..., Any]:
    """`explain_instance`, with a context attached to what it returns."""

    @functools.wraps(original)
    def explain_instance(self: Any, *args: Any, **kwargs: Any) -> Any:
        explanation = original(self, *args, **kwargs)
        if is_installed():
            library.remember(explanation, self, args, kwargs, _spans.get(self))
        return explanation

    return explain_instance


def _noting_span(original: Callable[..., Any]) -> Callable[..., Any]:
    """An explainer's `__init__`, with the span of its training data noted."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        if is_installed() and not self.training_data_stats:
            _spans[self] = span_of(args[0] if args else kwargs["training_data"])

    return __init__
