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
from lime_guarantee.support.arrays import AnyArray, FloatArray
from lime_guarantee.support.checks import check_choice

from . import shap_facts, shap_surrogates
from .base import CAPTURED, Adapter, CapturedCall
from .predictors import FrameKind
from .ranges import SOME_ROWS, bound_pairs, with_bounds
from .shap_connect import Connection, connect
from .shap_facts import ShapFacts, read_explainer
from .shap_model import (
    ADDITIVITY,
    APPROXIMATE,
    Answers,
    Coalitions,
    Probability,
    Row,
    instance_of,
    row_of,
)
from .shap_profile import Profile
from .shap_trees import SplitRanges

SURROGATES = ("profile", "linear", "dependence", "presence")
FEWEST_TOGETHER = 20
"""From so many rows explained together on, they tell more of the data than the splits of trees."""

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
        "shap.DeepExplainer",
        "shap.GradientExplainer",
        "shap.Explainer",
    )
    watched_explainers = ("shap.TreeExplainer",)  # the others keep their model
    explain_method = "__call__"
    explain_arguments = ("X",)
    kind = "shap"
    attributions = True
    keeps_model = True
    splits: SplitRanges | None = None
    """What trees tell of the range of the features, where nothing else does."""

    @classmethod
    def capture(cls, explainer: Any, arguments: Mapping[str, Any], explanation: Any) -> CapturedCall:
        return shap_facts.capture(explainer, arguments.get("X"), explanation)

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
        rows = np.asarray(row)[np.newaxis]
        if hasattr(row, "to_frame"):  # a row of a DataFrame has lost the columns' types
            known = vars(explainer).get("_data")
            rows = FrameKind(tuple(row.index)).like(None if known is None else known.frame).frame(rows)
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
        self.facts = self._known_facts()
        self.row = self._read_row()
        self.facts = self._with_background(background)
        if self._predict_fn is None and self.facts.model is None:
            _ = self.predict_fn  # raises: there is none
        self.connection = self._connect()
        self._tell_error()
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

    def _read_row(self) -> Row:
        """The row; where shap gave it no base value, that is the mean of the model's answers."""
        base, facts = self.explanation.base_values, self.facts
        ask = facts.model if self._predict_fn is None else self._predict_fn
        outputs = None
        if base is None and ask is not None and facts.background is not None:
            answers = Answers(ask, facts.link, None, facts.asked_frame(self.data))
            base = facts.shares @ answers.every(facts.background)
            outputs = self._output_without_base(base, answers)
        row = row_of(self.explanation, self.given_instance, base if outputs is None else base[[outputs]])
        if outputs is not None:
            row = replace(row, outputs=[f"Output {outputs}"])
        return replace(row, error=APPROXIMATE) if facts.approximate else row

    def _output_without_base(self, base: FloatArray, answers: Answers) -> int | None:
        """The output that the values of a slice, which has lost its base value, are nearest to."""
        values = np.asarray(self.explanation.values)
        if values.ndim != 1 or base.size == 1:
            return None
        if isinstance(self.given_label, int) and 0 <= self.given_label < base.size:
            return self.given_label
        data = self.explanation.data if self.given_instance is None else self.given_instance
        gaps = np.abs(base + values.sum() - answers.every(instance_of(data)[np.newaxis])[0])
        near, next_one = np.argsort(gaps)[:2]
        if gaps[near] > 0.5 * gaps[next_one]:
            raise InvalidInputError(
                f"label: the explanation fits outputs {near} and {next_one} of the model about alike. Say "
                "which was explained with label=."
            )
        return int(near)

    def _tell_error(self) -> None:
        """Note by how much an approximate explainer misses the model's answer."""
        said, added = self.connection.seen[0], self.row.target[self.connection.position]
        if not replace(self.row, error=ADDITIVITY).near(said, added, self.connection.position):
            self.notes.append(
                f"{self.facts.kind} is approximate: base and values add up to {added:.4g}, and the model "
                f"says {said:.4g} at the instance. The region takes the explanation as it is."
            )

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

    def _known_facts(self) -> ShapFacts:
        """The explainer's facts, where they are known."""
        facts: ShapFacts | None = self.captured.facts
        if self.explainer is not None:
            seen = (None, None) if facts is None else (facts.batch, facts.explained_frame)
            facts = replace(read_explainer(self.explainer), batch=seen[0], explained_frame=seen[1])
        elif facts is None:
            facts = shap_facts.unread()
        if facts.refused:
            raise InvalidInputError(f"explanation: {facts.refused}. Explain the model's output instead.")
        return facts

    def _with_background(self, background: Any) -> ShapFacts:
        """The facts, with the background that the user gave, or one that stands in for it."""
        facts = self.facts
        rows = None if background is None else as_table(background).values
        if rows is None and facts.background is None:
            rows = self._stand_ins(facts)
        if rows is not None:
            facts = replace(facts, background=rows, shares=np.full(len(rows), 1.0 / len(rows)))
        return facts

    def _stand_ins(self, facts: ShapFacts) -> AnyArray | None:
        """Rows for missing features, where the explainer has none: the training data's, else what is known.

        That is the rows that were explained together; of very few of these, the trees' own splits tell more.
        """
        if self.data is not None:
            return self.data.rows
        rows = None if facts.batch is None else np.asarray(facts.batch[1])
        splits = None
        if facts.trees and self.row.instance.dtype != object:
            splits = SplitRanges.of(facts.trees, self.row.instance)
        if rows is not None and len(rows) >= (2 if splits is None else FEWEST_TOGETHER):
            self.warn(
                "Neither training data nor a background is known. Range and background are those of the "
                f"{len(rows)} rows that were explained together. Pass training_data= for the true ones."
            )
            return rows
        if splits is None:
            return None
        self.splits = splits
        self.warn(
            "Neither training data nor a background is known. The range of the features is guessed from the "
            "trees' own splits, and rows that follow the trees' cover are the background. Pass "
            "training_data= for the true ones."
        )
        return splits.rows(facts.trees or [], self.rng, SOME_ROWS)

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
        facts, frame = self.facts, self.facts.explained_frame
        if self.splits is not None:
            return self.splits.domain(self.row.names, self.row.instance, frame)
        parts = (facts.background, None if facts.batch is None else facts.batch[1])
        known = [np.asarray(part) for part in parts if part is not None]
        if known and facts.background is parts[1]:
            known = known[:1]  # the rows that were explained together are the background, too
        elif sum(map(len, known)) < 2:
            raise InvalidInputError(
                "training_data: neither the explanation nor its explainer knows the range of the features. "
                "Pass training_data=, or bounds= for all of them."
            )
        elif self.bounds is None:
            self.warn(
                f"The range of the features is that of {sum(map(len, known))} rows that shap was given, "
                "often fewer than the model was trained on. Pass training_data= for the true one."
            )
        rows = np.concatenate(known)
        return Domain.from_data(rows if frame is None else frame.frame(rows))

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
