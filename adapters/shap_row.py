"""Explanations of shap: `shap.Explanation`, one row of it, one output."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.problem import Predictor
from lime_guarantee.space.domain import Domain, categorical_axis, ordered_axis
from lime_guarantee.space.tables import as_table, is_missing
from lime_guarantee.support.arrays import AnyArray
from lime_guarantee.support.checks import check_choice

from . import shap_facts, shap_surrogates
from .base import CAPTURED, Adapter, CapturedCall, one_row, unique_names
from .ranges import bound_pairs, with_bounds
from .shap_connect import Connection, connect
from .shap_facts import ShapFacts, read_explainer
from .shap_model import Answers, Coalitions, Link, Probability, Row
from .shap_profile import Profile

SURROGATES = ("profile", "linear", "dependence", "presence")
COALITION_ROWS = 100
"""The most background rows that a coalition's value is averaged over."""


class ShapRowAdapter(Adapter):
    """One row, and one output, of a `shap.Explanation`."""

    explanation_class = "shap.Explanation"
    # Every explainer that has a __call__ of its own; the last one is the base of the others.
    explainer_class = (
        "shap.TreeExplainer",
        "shap.SamplingExplainer",
        "shap.KernelExplainer",
        "shap.PermutationExplainer",
        "shap.ExactExplainer",
        "shap.PartitionExplainer",
        "shap.AdditiveExplainer",
        "shap.Explainer",
    )
    watched_explainers = ("shap.TreeExplainer",)  # the others keep their model
    explain_method = "__call__"
    kind = "shap"
    attributions = True
    keeps_model = True

    @classmethod
    def capture(cls, explainer: Any, arguments: Mapping[str, Any], explanation: Any) -> CapturedCall:  # noqa: ARG003
        return shap_facts.capture(explainer, explanation)

    @classmethod
    def mend(cls, explanation: Any) -> None:
        shap_facts.mend(explanation)

    @classmethod
    def notice(cls, explainer: Any, first: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG003
        return {"estimator": arguments.get("model") if first is None else first}

    @classmethod
    def methods(cls) -> dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]:
        return {"__copy__": copying}

    @classmethod
    def reseeded(cls, explainer: Any, seed: int) -> Any:
        """A copy; in another process a link of shap is a copy, which shap takes for one of the user's own."""
        fresh = super().reseeded(explainer, seed)
        links = import_module("shap.links")
        name = getattr(getattr(fresh, "link", None), "__name__", "")
        if name in ("identity", "logit"):
            fresh.link = getattr(links, name)
        return fresh

    @classmethod
    def explain_row(
        cls,
        explainer: Any,
        row: Any,
        predict_fn: Callable[[Any], Any] | None,  # noqa: ARG003 - the explainer has its own
        seed: int,
        **call: Any,
    ) -> Any:
        rows = row.to_frame().T if hasattr(row, "to_frame") else np.asarray(row)[np.newaxis]
        with _global_seed(seed):
            return explainer(rows, **call)[0]

    @classmethod
    def missing_input(cls, explanation: Any, *, explainer: Any = None, predict_fn: Any = None) -> str:
        captured: CapturedCall | None = getattr(explanation, CAPTURED, None)
        seen = captured is not None and captured.facts is not None and captured.facts.model is not None
        if seen or explainer is not None:
            return ""
        return super().missing_input(explanation, predict_fn=predict_fn)

    def read(
        self,
        *,
        surrogate: str = "profile",
        space: str = "features",
        background: Any = None,
        units: str = "explained",
        allowance: int | None = None,
    ) -> None:
        """Read one row.

        Parameters
        ----------
        surrogate : {"profile", "linear", "dependence", "presence"}
            What the explanation is read as, away from the instance. "profile": every feature's SHAP value
            follows the feature, as in a dependence plot. "linear": in proportion to its distance from the
            background's mean. "dependence": as in the other rows explained together. "presence": it holds
            while the feature stays in its quarter of the background.
        space : {"features", "coalition"}
            "coalition": shap's own space, in which features are present or replaced by the background.
        background : array or DataFrame, optional
            The rows that stand for missing features, where the explainer has none.
        units : {"explained", "probability"}
            In what the tolerance is meant: log-odds that were explained are turned into probabilities.
        allowance : int, optional
            The most rows that the profile surrogate asks of the model.
        """
        check_choice("surrogate", surrogate, SURROGATES)
        check_choice("space", space, ("features", "coalition"))
        check_choice("units", units, ("explained", "probability"))
        self.read_as = {"surrogate": surrogate, "space": space, "units": units}
        self.facts = self._facts(background)
        self.row = _row(self.explanation, self.given_instance)
        if self._predict_fn is None and self.facts.model is None:
            _ = self.predict_fn  # raises: there is none
        self.connection = self._connect()
        self.instance, self.domain = self.row.instance, self._domain()
        answers = self.connection.model
        self.label, self.label_name = answers.column, self._output_name()
        self.weights = np.ascontiguousarray(self.row.values[:, self.connection.position])
        self.classifier = self.facts.probable and self.connection.like_probabilities
        if units == "probability":
            _check_odds(answers, self.facts, classifier=self.classifier)
            self.classifier = True
        self.scale = 1.0 if self.classifier else float(np.ptp(self.connection.seen))
        model: Any = answers
        if space == "coalition":
            model, own = self._coalitions()
        else:
            own = self._surrogate(surrogate, allowance)
        if units == "probability":
            model, own = Probability(model), Probability(own)
        self.use(model=model, surrogate=own)

    @property
    def base(self) -> float:
        """The base value of the output."""
        return float(self.row.base[self.connection.position])

    def _connect(self) -> Connection:
        estimator = self.captured.estimator
        connection = connect(self.row, self.facts, self._predict_fn, self.given_label, estimator, self.data)
        self.evaluations, self.calls = connection.evaluations, connection.calls
        return connection

    def _coalitions(self) -> tuple[Predictor, Predictor]:
        """Model and surrogate in shap's own space."""
        keep = self.facts.some_rows("space='coalition'", COALITION_ROWS)
        model = Coalitions(self.connection.model, self.instance, *keep)
        names = self.domain.names
        self.domain = Domain(tuple(ordered_axis(name, 0, 1, integer=True) for name in names))
        self.instance, self.rows_each = np.ones(len(names)), len(keep[0])
        self.batch_rows = max(1, BATCH_ROWS // self.rows_each)
        self.kind, self.space = "shap coalition", "presence"  # type: ignore[misc]
        return model, shap_surrogates.sum_surrogate(self.base, self.weights)

    def _surrogate(self, kind: str, allowance: int | None) -> Predictor:
        """What the row is read as, away from the instance."""
        base, values, instance, facts = self.base, self.weights, self.instance, self.facts
        if kind == "profile":
            return self._profile(allowance)
        column = self.connection.model.column or 0
        if kind == "dependence":
            if facts.batch is None:
                raise InvalidInputError(
                    "surrogate: 'dependence' needs the rows that were explained together. Slice an "
                    "explanation that was made after install() or by a wrapped explainer, or use "
                    "surrogate='profile'."
                )
            their_values, their_data = facts.batch
            their_values = their_values[:, :, column] if their_values.ndim == 3 else their_values
            return shap_surrogates.dependence_surrogate(
                base, values, instance, self.domain, (their_values, their_data)
            )
        if not self.domain.numeric:
            raise InvalidInputError(f"surrogate: {kind!r} needs features that are numbers; use 'profile'.")
        rows, shares = facts.some_rows(f"surrogate={kind!r}")
        row, rows = instance.astype(np.float64), rows.astype(np.float64)
        if kind == "presence":
            return shap_surrogates.presence_surrogate(base, values, row, rows)
        own = None if facts.coefficients is None else facts.coefficients[column]
        return shap_surrogates.linear_surrogate(base, values, row, rows, shares, self.domain.names, own)

    def _profile(self, allowance: int | None) -> Predictor:
        rows, shares = self.facts.some_rows("surrogate='profile'")
        if allowance is None:
            allowance = int(np.clip(1_000 * len(self.domain), 5_000, 40_000))
            if self.settings.max_evaluations is not None:
                allowance = min(allowance, self.settings.max_evaluations // 2)
        profile = Profile(
            model=self.connection.model,
            instance=self.instance,
            domain=self.domain.including(self.instance)[0],
            background=rows,
            shares=shares,
            values=self.weights,
            allowance=allowance,
            tolerance=self.effective_tolerance,
            rng=self.rng,
        )
        made = profile.surrogate(self.base)
        self.evaluations += profile.evaluations
        self.calls += profile.calls
        return made

    def _facts(self, background: Any) -> ShapFacts:
        """The explainer's facts, with the background that the user gave."""
        facts: ShapFacts | None = self.captured.facts
        if self.explainer is not None:
            batch = None if facts is None else facts.batch
            facts = replace(read_explainer(self.explainer), batch=batch)
        elif facts is None:
            facts = ShapFacts("none", None, np.empty(0), None, Link("identity"), None, None, "", None)
        if facts.refused:
            raise InvalidInputError(f"explanation: {facts.refused}. Explain the model's output instead.")
        rows = None if background is None else as_table(background).values
        if rows is None and facts.background is None and self.data is not None:
            rows = self.data.rows
        if rows is not None:
            facts = replace(facts, background=rows, shares=np.full(len(rows), 1.0 / len(rows)))
        return facts

    def _domain(self) -> Domain:
        """Range and kind of every feature: from training data, else from the rows shap was given."""
        row = self.row
        pairs = bound_pairs(self.bounds, row.names)
        every = False
        if self.data is not None:
            domain = self.data.domain
        elif len({i for i, _, _ in pairs}) == row.instance.size:
            domain, every = Domain.from_bounds(np.zeros(row.instance.size), np.zeros(row.instance.size)), True
        else:
            domain = self._seen_domain()
        if len(domain) != row.instance.size:
            raise InvalidInputError(
                f"training_data: the explanation has {row.instance.size} features; got {len(domain)} columns."
            )
        named = [replace(axis, name=name) for axis, name in zip(domain.axes, row.names, strict=True)]
        axes = list(with_bounds(replace(domain, axes=tuple(named)), self.bounds, every=every).axes)
        for i, value in enumerate(row.instance):
            if is_missing(value):  # a missing value is no number to move: it stays missing
                axes[i] = categorical_axis(axes[i].name, (value,))
        return replace(domain, axes=tuple(axes))

    def _seen_domain(self) -> Domain:
        facts = self.facts
        parts = (facts.background, None if facts.batch is None else facts.batch[1])
        known = [np.asarray(part) for part in parts if part is not None]
        if not known:
            raise InvalidInputError(
                "training_data: neither the explanation nor its explainer knows the range of the features. "
                "Pass training_data=, or bounds= for all of them."
            )
        if self.bounds is None:
            self.warn(
                f"The range of the features is that of {sum(map(len, known))} rows that shap was given, "
                "often fewer than the model was trained on. Pass training_data= for the true one."
            )
        return Domain.from_data(np.concatenate(known))

    def _output_name(self) -> str | None:
        row, facts, column = self.row, self.facts, self.connection.model.column
        if row.outputs is not None and len(row.outputs) == row.base.size:
            return row.outputs[self.connection.position]
        if facts.output_names is not None and column is not None:
            return facts.output_names[column]
        return None


def copying(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The `__copy__` of shap's Explanation, through which slices are made: what was captured is kept.

    The region is not: a slice is another explanation.
    """

    @functools.wraps(original)
    def __copy__(self: Any) -> Any:  # noqa: N807
        copied = original(self)
        captured = getattr(self, CAPTURED, None)
        if captured is not None:
            setattr(copied, CAPTURED, captured)
            copied.__class__ = self.__class__
        return copied

    return __copy__


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Numpy's global random numbers, which shap uses, from the seed on; afterwards as they were."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _row(explanation: Any, given: Any) -> Row:
    """One row of an explanation, checked."""
    values = np.asarray(explanation.values)
    base = np.asarray(explanation.base_values)
    data = explanation.data if given is None else given
    if explanation.base_values is None:
        raise InvalidInputError("explanation: it has no base value. Give it one, or use `from_shap_values`.")
    if data is None:
        raise InvalidInputError("explanation: it keeps no data. Pass instance=, the row that was explained.")
    instance = _instance(data)
    if values.ndim >= 2 and values.shape[0] == 1 and values.shape[1] == instance.size:
        values, base = values[0], base[0] if base.ndim else base
    if values.ndim not in (1, 2) or values.shape[0] != instance.size:
        raise InvalidInputError(
            f"explanation: one row with a value for each of its features is required; got values of shape "
            f"{values.shape} for {instance.size} features. Slice one row, explanation[0]; keep all its "
            "features; interaction values have no region."
        )
    values = values.reshape(instance.size, -1).astype(np.float64)
    base = np.ravel(base).astype(np.float64)
    if values.shape[1] != base.size:
        raise InvalidInputError(
            f"explanation: its values have {values.shape[1]} outputs, its base values {base.size}. "
            "Interaction values have no region; slice one row, explanation[0]. Slices of what "
            "SamplingExplainer explains lose their base values, unless it is wrapped: wrap(explainer)."
        )
    if not (np.isfinite(values).all() and np.isfinite(base).all()):
        raise InvalidInputError(
            "explanation: some of its values are NaN or infinite. A logit link makes them so where the model "
            "is certain; explain probabilities instead, or clip the model's."
        )
    names = explanation.feature_names
    names = [f"x{i}" for i in range(instance.size)] if names is None else [str(n) for n in names]
    outputs = explanation.output_names
    if outputs is not None:
        outputs = [outputs] if isinstance(outputs, str) else [str(name) for name in outputs]
    return Row(values, base, instance, unique_names(names), outputs)


def _instance(data: Any) -> AnyArray:
    """The row of an explanation."""
    shape = np.shape(data)
    if len(shape) != 1 and shape[:1] != (1,):
        raise InvalidInputError(
            f"explanation: one row is required; its data has shape {shape}. Slice one: explanation[0]."
        )
    return one_row(data)


def _check_odds(model: Answers, facts: ShapFacts, *, classifier: bool) -> None:
    """Refuse to read as log-odds what is none."""
    if classifier:
        what = "the values explained are probabilities already. Leave units= out"
    elif not facts.odds:
        what = "the model's answers are no log-odds of a probability. Leave units= out"
    elif model.column is not None and model.link.name == "identity":
        what = (
            "the scores of several classes become probabilities only together. Explain probabilities, with "
            "shap.PermutationExplainer(model.predict_proba, ...)"
        )
    else:
        return
    raise InvalidInputError(f"units: 'probability' is for log-odds, but {what}.")
