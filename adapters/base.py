"""Adapter: the base of all classes that turn an explanation into a `Problem`."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, get_args

import numpy as np

from lime_guarantee.errors import (
    GuaranteeError,
    GuaranteeWarning,
    InconsistentModelError,
    InvalidInputError,
    ModelError,
)
from lime_guarantee.problem.agreement import AgreementName
from lime_guarantee.problem.fingerprint import Origin, fingerprint
from lime_guarantee.problem.info import ExplanationInfo, Space
from lime_guarantee.problem.problem import Predictor, Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.settings import Settings, random_state_hint
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.tables import is_missing, is_number, plain
from lime_guarantee.support.arrays import AnyArray, FloatArray
from lime_guarantee.support.checks import check_choice

from .predictors import as_array, asked_with_arrays
from .ranges import TrainingData, with_bounds

CAPTURED = "_guarantee_captured"
"""The attribute by which an explanation carries what was seen when it was made."""

TOLERANCE = 0.1
"""The default: of a probability, or of the range that a regression was seen to have."""

SAME_ANSWER = 1e-3
"""How far, relatively, two answers to one question may differ: models that compute in float32, in batches."""

MISSING_MODEL = (
    "predict_fn: the explanation does not keep the model. Pass predict_fn=, the function that was explained; "
    "or make explanations with wrap(explainer) or after install(), which remember it (but pickling forgets "
    "it again)."
)


@dataclass
class CapturedCall:
    """What was seen when an explanation was made, and the explanation itself does not keep.

    Pickling leaves the model out, which often cannot be pickled: afterwards it has to be given again.

    Parameters
    ----------
    predict_fn : callable or None
        The model, as the explainer was given it.
    instance : array or None
        The instance that was explained.
    facts : object
        What the adapter read from the explainer; it pickles.
    data : TrainingData or None
        What is known of the training data.
    estimator : object
        The estimator that the explainer was made from, where that was seen.
    """

    predict_fn: Callable[[Any], Any] | None = None
    instance: Any = None
    facts: Any = None
    data: TrainingData | None = None
    estimator: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "predict_fn": None, "estimator": None}

    def __deepcopy__(self, memo: dict[int, Any]) -> CapturedCall:
        return replace(self)  # a copy in the same process keeps the model


class Adapter:
    """Turns explanations of one kind into problems. Derive from it, and `register` the class.

    A subclass says which explanations it is for, and `read` sets what they say. Everything else has a
    default: the model is the function that was explained, the domain is that of the training data.

    Attributes
    ----------
    explanation_class : str
        Qualified name of the class of its explanations, such as ``"lime.explanation.Explanation"``.
    explainer_class : str or tuple of str
        Qualified names of the classes of explainers that make them; `wrap`, `install` and
        ``audit(explainer=, X=)`` need it.
    explain_method : str
        The explainer's method that explains.
    explain_arguments : tuple of str
        The names of that method's first parameters, in order: first the instance, then the model.
    kind : str
        What such an explanation is called in reports.
    attributions : bool
        Whether its weights tell what a feature's own value contributes, as SHAP values do; else they tell
        what a change of the feature would do.
    requires : tuple of str
        Packages that its library needs for this kind, and does not always have.
    weights : array of shape (D,)
        Set by `read`: what the explanation says of every feature.
    instance : array of shape (D,)
        Set by `read`: the instance that was explained; by default the one given, or seen when it was
        explained.
    domain : Domain
        May be set by `read`; by default that of the training data, with the bounds given.
    label, label_name, classifier, space, scale, said, batch_rows, rows_each, evaluations, calls
        May be set by `read`; the defaults are those of a regression.

    Examples
    --------
    >>> class Line:
    ...     slope, row = 2.0, [0.5]
    >>> class LineAdapter(Adapter):
    ...     explanation_class = Line
    ...     def read(self):
    ...         self.instance, self.weights = np.array(self.explanation.row), [self.explanation.slope]
    ...     def surrogate(self, X):
    ...         return self.explanation.slope * X[:, 0]
    >>> adapter = LineAdapter(Line(), predict_fn=lambda X: 2 * X[:, 0], bounds=[(0, 1)])
    >>> adapter.problem().domain.names
    ('x0',)
    """

    explanation_class: ClassVar[str | type] = ""
    explainer_class: ClassVar[str | type | tuple[str | type, ...]] = ()
    explain_method: ClassVar[str] = "explain_instance"
    explain_arguments: ClassVar[tuple[str, ...]] = ("instance", "predict_fn")
    kind: ClassVar[str] = ""
    attributions: ClassVar[bool] = False
    requires: ClassVar[tuple[str, ...]] = ()
    keeps_model: ClassVar[bool] = False
    """Whether its explainers hold the model, so that nobody has to give it."""
    explainer_parts: ClassVar[tuple[str, ...]] = ()
    """Attributes of explainers, besides their constructors' parameters, that tell one from another."""
    watched_explainers: ClassVar[tuple[str, ...]] = ()
    """The classes of explainers that are noticed when they are made; see `notice`."""

    weights: Any
    label: int | None = None
    """The class that the explanation is about; None for a regression."""
    label_name: str | None = None
    outputs: tuple[str, ...] = ()
    """What each of the numbers is called that are compared, where several are."""
    classifier: bool = False
    """Whether the model's answers choose a class."""
    space: Space = "features"
    scale: float = 1.0
    """What a tolerance is a tenth of: 1 for probabilities."""
    said: Any = None
    """What the model said about the instance when it was explained, where that is known."""
    batch_rows: int | None = None
    rows_each: int = 1
    evaluations: int = 0
    calls: int = 0
    """What was asked of the model while reading."""

    def __init__(
        self,
        explanation: Any,
        *,
        explainer: Any = None,
        predict_fn: Callable[[Any], Any] | None = None,
        instance: Any = None,
        training_data: Any = None,
        bounds: Any = None,
        label: int | str | None = None,
        agreement: str = "auto",
        tolerance: float | None = None,
        settings: Settings | None = None,
        **options: Any,
    ) -> None:
        self.check_options(options)
        check_choice("agreement", agreement, ["auto", *get_args(AgreementName)])
        check_function(predict_fn)
        captured: CapturedCall | None = getattr(explanation, CAPTURED, None)
        self.explanation, self.explainer = explanation, explainer
        self.captured = captured or CapturedCall()
        self.given_data = training_data
        self.given_instance = self.captured.instance if instance is None else instance
        self.given_label, self.given_agreement = label, agreement
        self.bounds, self.tolerance = bounds, tolerance
        self.settings = Settings() if settings is None else settings
        self.read_as, self.notes = dict(options), list[str]()
        model = self.captured.predict_fn if predict_fn is None else predict_fn
        self._given_model = model
        self._predict_fn: Callable[[Any], Any] | None = asked_with_arrays(model)
        self.read(**options)

    # -- what a subclass says ------------------------------------------------------------------------

    def read(self) -> None:
        """Read the explanation: set `weights`, and what differs from the defaults.

        Its keyword parameters are the adapter's options: ``guarantee_region`` takes them by name.
        """
        raise NotImplementedError(f"{type(self).__name__} must define read()")

    def surrogate(self, X: AnyArray) -> Any:
        """What the explanation stands for: its answer to rows of raw values."""
        raise NotImplementedError(f"{type(self).__name__} must define surrogate(X)")

    def model(self, X: AnyArray) -> Any:
        """What the model says about rows of raw values, in the units that were explained."""
        return self.predict_fn(X)

    @classmethod
    def recognises(cls, explanation: Any) -> bool:  # noqa: ARG003 - subclasses look at it
        """Whether an explanation of the class is of this kind; one class may serve several kinds."""
        return True

    @classmethod
    def capture(cls, explainer: Any, arguments: Mapping[str, Any], explanation: Any) -> CapturedCall:  # noqa: ARG003
        """What to remember of a call of an explainer: its arguments, by name."""
        instance, model = (arguments.get(name) for name in cls.explain_arguments[:2])
        return CapturedCall(model, copy.copy(instance))

    @classmethod
    def mend(cls, explanation: Any) -> None:
        """Put right what the library left wrong in an explanation of a wrapped explainer.

        While installed, explanations stay as their library makes them.
        """

    @classmethod
    def notice(cls, explainer: Any, first: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        """What to remember when an explainer is made, by the names of `CapturedCall`.

        Only explainers of the classes in `watched_explainers` are looked at, and only while installed.
        """
        return {}

    @classmethod
    def methods(cls) -> dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]:
        """Methods of explanations that change, by wrapping or installing: from the original to ours."""
        return {}

    @classmethod
    def data_of(cls, training_data: Any, explainer: Any) -> TrainingData:  # noqa: ARG003
        """What to remember of training data."""
        return TrainingData.of(training_data)

    @classmethod
    def reseeded(cls, explainer: Any, seed: int) -> Any:
        """A copy of an explainer whose random numbers start from the seed: an audit's are repeatable."""
        return reseeded(explainer, seed)

    @classmethod
    def explain_row(
        cls,
        explainer: Any,
        row: Any,
        predict_fn: Callable[[Any], Any] | None,
        seed: int,  # noqa: ARG003 - for explainers that take it elsewhere
        **call: Any,
    ) -> Any:
        """Explain one row with an explainer that was wrapped."""
        return getattr(explainer, cls.explain_method)(row, predict_fn, **call)

    @classmethod
    def missing_input(cls, explanation: Any, *, explainer: Any = None, predict_fn: Any = None) -> str:  # noqa: ARG003
        """What has to be given besides an explanation, as an error says it; empty if nothing is missing."""
        captured: CapturedCall | None = getattr(explanation, CAPTURED, None)
        if predict_fn is not None or (captured is not None and captured.predict_fn is not None):
            return ""
        return MISSING_MODEL

    # -- what the base gives -------------------------------------------------------------------------

    @property
    def predict_fn(self) -> Callable[[Any], Any]:
        """The model, or the error that asks for it."""
        if self._predict_fn is None:
            raise InvalidInputError(MISSING_MODEL)
        return self._predict_fn

    @cached_property
    def data(self) -> TrainingData | None:
        """What is known of the training data: as given, else as seen when the explainer was made or wrapped.

        A wrapped explainer, passed as ``explainer=``, brings what it was given.
        """
        if isinstance(self.given_data, TrainingData):
            return self.given_data
        if self.given_data is not None:
            return self.data_of(self.given_data, self.explainer)
        seen = self.captured.data
        if seen is None and self.explainer is not None:
            seen = getattr(self.explainer, "__dict__", {}).get("_data")
        if seen is not None and seen.refused:
            raise InvalidInputError(seen.refused)
        return seen

    @cached_property
    def instance(self) -> AnyArray:
        """The instance that was explained."""
        if self.given_instance is None:
            raise InvalidInputError("instance: pass instance=, the row that was explained.")
        return one_row(self.given_instance)

    @cached_property
    def domain(self) -> Domain:
        """Range and kind of every feature."""
        width = len(self.instance)
        if self.data is not None:
            if len(self.data.domain) != width:
                raise InvalidInputError(
                    f"training_data: the explanation has {width} features; got {len(self.data.domain)} "
                    "columns."
                )
            return with_bounds(self.data.domain, self.bounds)
        if self.bounds is None:
            raise InvalidInputError(
                "training_data: the range of the features is not known. Pass training_data=, or bounds= for "
                "all of them."
            )
        return with_bounds(Domain.from_bounds(np.zeros(width), np.zeros(width)), self.bounds, every=True)

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random numbers for reading, from the seed that was asked for; no search or certifier has them.

        Those draw from streams that are spawned from the seed, this is the seed's own.
        """
        seed = self.settings.random_state
        return seed.spawn(1)[0] if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)

    def use(self, *, model: Predictor | None = None, surrogate: Predictor | None = None) -> None:
        """Take callables for `model` and `surrogate`, where these are objects rather than methods."""
        for name, given in (("model", model), ("surrogate", surrogate)):
            if given is not None:
                setattr(self, name, given)

    def warn(self, text: str) -> None:
        """Say something once as a warning, and keep it for the region's notes."""
        self.notes.append(text)
        warnings.warn(text, GuaranteeWarning, stacklevel=2)

    def problem(self) -> Problem:
        """The problem: model and explanation are compared at the instance, and the rule is chosen."""
        now = self._model_at_instance()
        missing = self._missing()
        if missing:
            self.warn(
                f"The instance has no value (NaN) for: {', '.join(missing)}. In the region they stay "
                "missing: it says nothing of rows that have a value there."
            )
        surrogate = _numbers(self.surrogate(self.instance[np.newaxis]))
        if self.said is not None and not _same(now, _numbers(self.said)):
            self._refuse(now, _numbers(self.said), self._model_at_instance())
        explained = ExplanationInfo(
            kind=self.kind or type(self).__name__,
            space=self.space,
            label=self.label,
            label_name=self.label_name,
            agreement=self._agreement(),
            tolerance=self.effective_tolerance,
            scale=self.scale,
            model_at_instance=now,
            surrogate_at_instance=surrogate,
            weights=tuple(float(weight) for weight in self.weights),
            notes=tuple(self.notes),
            options={name: _in_words(value) for name, value in self.read_as.items()},
            attributions=self.attributions,
            outputs=self.outputs,
        )
        return Problem(
            self.model,
            self.surrogate,
            explained.rule,
            self.instance,
            self.domain,
            explained,
            evaluations=self.evaluations + self.rows_each,
            calls=self.calls + 1,
            batch_rows=self.batch_rows,
            rows_each=self.rows_each,
            origin=self._origin(),
        )

    def _origin(self) -> Origin | None:
        """Which model was explained, as it was given, and which data are known."""
        facts = getattr(self, "facts", None)
        models = (self._given_model, self.captured.estimator, getattr(facts, "model", None))
        model = next((one for one in models if one is not None), None)
        if model is None:
            return None
        data: TrainingData | None = vars(self).get("data")  # if anybody has asked for them
        known = None if data is None else data.domain.observed
        return Origin.of(model, fingerprint(data), None if known is None else known.count)

    def attach(self, region: GuaranteeRegion) -> None:
        """Let the explanation carry its region; one that takes no attributes goes without."""
        with suppress(AttributeError):
            self.explanation.region = region

    @property
    def effective_tolerance(self) -> float:
        """The tolerance asked for, or a tenth of the scale."""
        if self.tolerance is not None:
            number: float = plain(self.tolerance)
            return number
        if not self.scale > 0:
            raise InvalidInputError(
                "tolerance: there is no default, because the model gave one and the same value wherever it "
                "was explained. Pass tolerance=."
            )
        return TOLERANCE * self.scale

    @classmethod
    def own_options(cls) -> tuple[inspect.Parameter, ...]:
        """The adapter's own options: the keyword parameters of `read`."""
        return tuple(inspect.signature(cls.read).parameters.values())[1:]

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Raise unless each option is one of the adapter's."""
        own = cls.own_options()
        known = [p.name for p in own if p.kind is not p.VAR_KEYWORD]
        unknown = sorted(set(options) - set(known))
        if unknown and len(known) == len(own):
            raise InvalidInputError(
                f"{', '.join(unknown)}: this kind of explanation has no such option"
                + (f"; its options are {known}." if known else ".")
                + random_state_hint(options)
            )

    def _agreement(self) -> AgreementName:
        if self.given_agreement == "auto":
            return "class" if self.classifier else "value"
        if self.given_agreement == "class" and not self.classifier:
            raise InvalidInputError("agreement: 'class' is for classifiers; use 'value' or 'change' here.")
        return self.given_agreement  # type: ignore[return-value]

    def _missing(self) -> list[str]:
        """The features of which the instance has no value."""
        pairs = zip(self.domain.names, self.instance, strict=True)
        return [name for name, value in pairs if is_missing(value)]

    def _model_at_instance(self) -> tuple[float, ...]:
        missing = self._missing()
        try:
            return _numbers(self.model(self.instance[np.newaxis]))
        except Exception as error:
            if isinstance(error, GuaranteeError) and not missing:
                raise
            raise ModelError(
                f"the model, asked about the instance, raised {type(error).__name__}: {error}"
                + (f" The instance has no value (NaN) for: {', '.join(missing)}." if missing else "")
            ) from error

    def _refuse(self, now: tuple[float, ...], then: tuple[float, ...], again: tuple[float, ...]) -> None:
        if not _same(now, again):
            raise InconsistentModelError(
                f"the model is not a function: asked about the instance twice, it said {_shown(now)} and "
                f"{_shown(again)}. Fix its seed, or switch its randomness off (dropout, sampling)."
            )
        raise InvalidInputError(
            f"the model says {_shown(now)} about the instance, but said {_shown(then)} when it was "
            "explained. Pass the function and the instance that were explained; a model with randomness of "
            "its own needs a fixed seed."
        )


def reseeded(explainer: Any, seed: int, *parts: str) -> Any:
    """A copy of an explainer whose random numbers, and those of some of its parts, start from the seed."""
    fresh = copy.copy(explainer)
    owners = [fresh]
    for part in parts:
        if getattr(fresh, part, None) is not None:
            setattr(fresh, part, copy.copy(getattr(fresh, part)))
            owners.append(getattr(fresh, part))
    state = np.random.RandomState(seed)
    for owner in owners:
        if hasattr(owner, "random_state"):
            owner.random_state = state
    return fresh


def check_function(predict_fn: Any) -> None:
    """Raise unless the model was given as a function, or not at all."""
    if predict_fn is None or callable(predict_fn):
        return
    methods = [name for name in ("predict_proba", "predict") if hasattr(predict_fn, name)]
    fix = f" Pass its method: predict_fn=model.{methods[0]}." if methods else ""
    raise InvalidInputError(f"predict_fn: a callable is required; got {predict_fn!r}.{fix}")


def one_row(instance: Any) -> AnyArray:
    """An instance given as a Series, list, (D,) or (1, D) array or one-row frame: numbers where it can be."""
    row = np.asarray(instance.to_numpy()) if hasattr(instance, "to_numpy") else as_array(instance)
    row = row[0] if row.ndim == 2 and row.shape[0] == 1 else row
    if row.ndim != 1:
        raise InvalidInputError(f"instance: one row is required; got an array of shape {row.shape}.")
    if row.dtype.kind in "fiub" or all(is_number(v) or is_missing(v) for v in row.tolist()):
        return row.astype(np.float64)
    return row.astype(object)


def as_floats(instance: Any) -> FloatArray:
    """An instance as numbers, or the error."""
    row = one_row(instance)
    if row.dtype == object:
        raise InvalidInputError(
            f"instance: numbers are required, as the explainer saw them; got {row.tolist()}."
        )
    return row


def unique_names(names: list[str]) -> list[str]:
    """The same names, numbered where they repeat.

    Examples
    --------
    >>> unique_names(["a", "b", "a"])
    ['a #1', 'b', 'a #2']
    """
    repeated = {name for name in names if names.count(name) > 1}
    seen = dict.fromkeys(names, 0)
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(f"{name} #{seen[name]}" if name in repeated else name)
    return unique if len(set(unique)) == len(unique) else [f"{n} [{i}]" for i, n in enumerate(names)]


def _numbers(answer: Any) -> tuple[float, ...]:
    numbers = np.asarray(answer, dtype=np.float64).ravel()
    if not np.isfinite(numbers).all():
        raise ModelError(f"model and explanation must answer finite numbers at the instance; got {numbers}.")
    return tuple(numbers.tolist())


def _same(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return len(one) == len(other) and bool(np.allclose(one, other, rtol=SAME_ANSWER, atol=1e-6))


def _shown(answer: tuple[float, ...]) -> str:
    return ", ".join(f"{number:.4g}" for number in answer)


def _in_words(option: Any) -> Any:
    """An option as a result keeps it: a plain value, or what kind of thing it was."""
    option = plain(option)
    if option is None or isinstance(option, str | int | float | bool):
        return option
    return f"{type(option).__name__} of shape {np.shape(option)}"
