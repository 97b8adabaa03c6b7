"""Give explanations a `guarantee_region` method: for one explainer (`wrap`), or for all (`install`)."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary

from lime_guarantee.errors import InvalidInputError

from .request import CONTEXT, Call

METHOD = "guarantee_region"


@dataclass(frozen=True)
class Kind:
    """One kind of explainer, and the module here that knows it.

    Parameters
    ----------
    module, explainer : str
        Where the explainer's class is.
    method : str
        The method that explains.
    explanation_module, explanation : str
        Where the class of what it returns is.
    adapter : str
        Has ``capture``, what to remember of a `Call`; and, where explainers are made from something worth
        remembering, ``note_source`` and ``note_data``.
    parameters : tuple of str
        The method's first parameters, in order: all that an adapter may want to remember.
    made_from : str
        The first parameter of its ``__init__``, if that is worth remembering.
    needs : str
        A package that is needed besides the library itself, and not always there.
    """

    module: str
    explainer: str
    method: str
    explanation_module: str
    explanation: str
    adapter: str
    parameters: tuple[str, ...] = ()
    made_from: str = ""
    needs: str = ""

    @property
    def explainer_class(self) -> Any:
        """The explainer's class."""
        return getattr(import_module(self.module), self.explainer)

    @property
    def explanation_class(self) -> Any:
        """The class of what it returns."""
        return getattr(import_module(self.explanation_module), self.explanation)

    @property
    def is_there(self) -> bool:
        """Whether its library can be imported."""
        needed = [name for name in (self.module.partition(".")[0], self.needs) if name]
        return all(find_spec(name) is not None for name in needed)

    def made(self, explainer: Any) -> bool:
        """Whether an explainer is of this kind, found out without importing its library."""
        package = self.module.partition(".")[0]
        classes = type(explainer).__mro__
        return any(c.__name__ == self.explainer and c.__module__.split(".")[0] == package for c in classes)

    def remember(
        self,
        explanation: Any,
        explainer: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        noted: Any,
    ) -> None:
        """Let an explanation carry what it was made from: the arguments of the explainer's call."""
        if isinstance(explanation, self.explanation_class):
            # By position, not by signature: a subclass or another patch may take (*args, **kwargs).
            arguments = {**dict(zip(self.parameters, args, strict=False)), **kwargs}
            call = Call(explainer, arguments, noted, explanation)
            import_module(self.adapter).capture(call).attach(explanation)


def _lime(
    module: str,
    explainer: str,
    explanation: str,
    adapter: str,
    parameters: tuple[str, ...],
    *,
    made_from: str = "",
    needs: str = "",
) -> Kind:
    home, _, name = explanation.rpartition(".")
    adapter = f"lime_guarantee.adapters.{adapter}"
    return Kind(module, explainer, "explain_instance", home, name, adapter, parameters, made_from, needs)


def _shap(explainer: str) -> Kind:
    adapter = "lime_guarantee.adapters.shap_facts"
    return Kind("shap.explainers", explainer, "__call__", "shap", "Explanation", adapter, made_from="model")


KINDS = (
    _lime(
        "lime.lime_tabular",
        "LimeTabularExplainer",
        "lime.explanation.Explanation",
        "lime_tabular",
        ("data_row", "predict_fn"),
        made_from="training_data",
    ),
    _lime(
        "lime.lime_tabular",
        "RecurrentTabularExplainer",
        "lime.explanation.Explanation",
        "lime_tabular",
        ("data_row", "classifier_fn"),
    ),
    _lime(
        "lime.lime_text",
        "LimeTextExplainer",
        "lime.explanation.Explanation",
        "lime_text",
        ("text_instance", "classifier_fn"),
    ),
    _lime(
        "lime.lime_image",
        "LimeImageExplainer",
        "lime.lime_image.ImageExplanation",
        "lime_image",
        ("image", "classifier_fn", "labels", "hide_color"),
        needs="skimage",
    ),
    # Every shap explainer that has a __call__ of its own; the last one is the base of the others.
    _shap("TreeExplainer"),
    _shap("SamplingExplainer"),
    _shap("KernelExplainer"),
    _shap("PermutationExplainer"),
    _shap("ExactExplainer"),
    _shap("PartitionExplainer"),
    _shap("AdditiveExplainer"),
    Kind(
        "shap",
        "Explainer",
        "__call__",
        "shap",
        "Explanation",
        "lime_guarantee.adapters.shap_facts",
        made_from="model",
    ),
)

_lock = RLock()
_originals: dict[tuple[Any, str], Any] = {}  # what was in a class before; None: nothing was
_patches: dict[tuple[Any, str], Any] = {}
_noted: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # by explainer


def guarantee_region(self: Any, **options: Any) -> Any:
    """The region in which this explanation is faithful; see `lime_guarantee.guarantee_region`."""
    from lime_guarantee.guarantee import guarantee_region as region_of

    return region_of(self, **options)


def wrap(
    explainer: Any, *, training_data: Any = None, predict_fn: Callable[[Any], Any] | None = None
) -> WrappedExplainer:
    """An explainer whose explanations have a `guarantee_region` method; nothing else is touched.

    Parameters
    ----------
    explainer : object
        An explainer of LIME (tabular, recurrent, text or image) or of shap.
    training_data : array or DataFrame, optional
        What the model was trained on: gives every feature its range, and tells which hold whole numbers.
    predict_fn : callable, optional
        The model itself, where the explainer has but a copy (shap's TreeExplainer): the two are compared.

    Returns
    -------
    WrappedExplainer
        Use it like the explainer itself.
    """
    if isinstance(explainer, WrappedExplainer):
        if training_data is None and predict_fn is None:
            return explainer
        explainer = explainer._explainer
    kind = next((kind for kind in KINDS if kind.made(explainer)), None)
    if kind is None:
        supported = ", ".join(f"{kind.module}.{kind.explainer}" for kind in KINDS)
        raise InvalidInputError(
            f"explainer: {type(explainer).__module__}.{type(explainer).__qualname__} cannot be wrapped. "
            f"Supported are {supported}. For others, call guarantee_region(explanation, ...) or find_region."
        )
    noted = None
    if training_data is not None and kind.made_from:
        noted = import_module(kind.adapter).note_data(training_data, explainer)
    return WrappedExplainer(explainer, kind, noted, predict_fn)


class WrappedExplainer:
    """An explainer that remembers what its explanations lose. Made by `wrap`."""

    def __init__(
        self, explainer: Any, kind: Kind, noted: Any, predict_fn: Callable[[Any], Any] | None
    ) -> None:
        vars(self).update(_explainer=explainer, _kind=kind, _seen=noted, _predict_fn=predict_fn)

    def explain_instance(self, *args: Any, **kwargs: Any) -> Any:
        """Explain, as LIME's explainers do."""
        return self._remembered(self._explainer.explain_instance(*args, **kwargs), args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Explain, as shap's explainers do."""
        return self._remembered(self._explainer(*args, **kwargs), args, kwargs)

    def _remembered(self, explanation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        seen = self._seen if self._seen is not None else _noted.get(self._explainer)
        self._kind.remember(explanation, self._explainer, args, kwargs, seen)
        context = getattr(explanation, CONTEXT, None)
        if context is not None:
            context.predict_fn = self._predict_fn or context.predict_fn
            explanation.__class__ = subclass_of(self._kind)
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
    for kind in KINDS:
        if name == _subclass_name(kind):
            members = {"__doc__": "An explanation that knows its region.", "__module__": __name__}
            methods: dict[str, Any] = {METHOD: guarantee_region}
            if "__copy__" in vars(kind.explanation_class):
                methods["__copy__"] = _copying(kind.explanation_class.__copy__)
            return globals().setdefault(
                name, type(kind.explanation_class)(name, (kind.explanation_class,), {**members, **methods})
            )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _subclass_name(kind: Kind) -> str:
    library = kind.module.partition(".")[0]
    return f"Guaranteed{library.capitalize()}{kind.explanation}"


def subclass_of(kind: Kind) -> Any:
    """Our subclass of the explanations of a kind of explainer."""
    return getattr(import_module(__name__), _subclass_name(kind))


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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what these libraries say of others when they are imported
            there = [(kind, kind.explainer_class, kind.explanation_class) for kind in KINDS if kind.is_there]
        if not there:
            raise ModuleNotFoundError(
                "install() found no explanation library. Install one with: pip install "
                "'lime-guarantee[lime]' or 'lime-guarantee[shap]'"
            )
        for kind, explainer, explanation in there:
            _patch(explainer, kind.method, _remembering(vars(explainer)[kind.method], kind))
            if kind.made_from and "__init__" in vars(explainer):
                _patch(explainer, "__init__", _noting(explainer.__init__, kind))
            if (explanation, METHOD) not in _patches:
                _patch(explanation, METHOD, guarantee_region)
                if "__copy__" in vars(explanation):
                    _patch(explanation, "__copy__", _copying(explanation.__copy__))
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


def _patch(owner: Any, name: str, patch: Callable[..., Any]) -> None:
    _originals[owner, name] = owner.__dict__.get(name)
    _patches[owner, name] = patch
    setattr(owner, name, patch)


def _remembering(original: Callable[..., Any], kind: Kind) -> Callable[..., Any]:
    """A method that explains, with a context attached to what it returns."""

    @functools.wraps(original)
    def explain(self: Any, *args: Any, **kwargs: Any) -> Any:
        explanation = original(self, *args, **kwargs)
        if is_installed():
            kind.remember(explanation, self, args, kwargs, _noted.get(self))
        return explanation

    return explain


def _noting(original: Callable[..., Any], kind: Kind) -> Callable[..., Any]:
    """An explainer's `__init__`, after which something about its arguments is noted."""

    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        if is_installed():
            source = args[0] if args else kwargs.get(kind.made_from)
            _noted[self] = import_module(kind.adapter).note_source(self, source)

    return __init__


def _copying(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The `__copy__` of shap's Explanation, through which slices are made; context and class are kept."""

    @functools.wraps(original)
    def __copy__(self: Any) -> Any:  # noqa: N807
        copied = original(self)
        context = getattr(self, CONTEXT, None)
        if context is not None:
            context.attach(copied)
            copied.__class__ = self.__class__
        return copied

    return __copy__
