"""Explanations of shap: `shap.Explanation`, one row of it, one output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.domain import Domain, categorical_axis, ordered_axis
from lime_guarantee.space.tables import as_table, is_missing
from lime_guarantee.support.arrays import AnyArray, FloatArray

from . import shap_surrogates
from .ranges import bound_pairs
from .request import CONTEXT, Request, Subject, unique_names
from .shap_connect import Connection, connect
from .shap_facts import Facts, note_data, read_explainer
from .shap_model import Answers, Coalitions, Link, Probability, Row
from .shap_profile import Profile
from .subject import TOLERANCE, Sides

SURROGATES = ("profile", "linear", "dependence", "presence")
COALITION_ROWS = 100
"""The most background rows that a coalition's value is averaged over."""


def adapt(
    explanation: Any,
    request: Request,
    surrogate: str = "profile",
    space: str = "features",
    output: int | str | None = None,
    background: Any = None,
    units: str = "explained",
    allowance: int | None = None,
) -> Subject:
    """Adapt one row, and one output, of an explanation.

    Parameters
    ----------
    explanation, request
    surrogate : {"profile", "linear", "dependence", "presence"}
        What the explanation is read as, away from the instance. "profile": every feature's SHAP value follows
        the feature, as in a dependence plot. "linear": in proportion to its distance from the background's
        mean. "dependence": as in the other rows explained together. "presence": it holds while the
        feature stays in its quarter of the background.
    space : {"features", "coalition"}
        "coalition": shap's own space, in which features are present or replaced by the background.
    output : int or str, optional
        The output explained, where there are several.
    background : array or DataFrame, optional
        The rows that stand for missing features, where the explainer has none.
    units : {"explained", "probability"}
        In what the tolerance is meant: log-odds that were explained are turned into probabilities.
    allowance : int, optional
        The most rows that the profile surrogate asks of the model.
    """
    _check_choice("surrogate", surrogate, SURROGATES)
    _check_choice("space", space, ("features", "coalition"))
    _check_choice("units", units, ("explained", "probability"))
    facts = _facts(request, explanation, background)
    row = _row(explanation, request)
    connection = connect(row, facts, request, output)
    case = Case(row, connection)
    domain = _domain(row, facts, request)
    classifier = facts.probable and connection.like_probabilities
    if units == "probability":
        _check_odds(case.model, facts, classifier=classifier)
        classifier = True
    scale = 1.0 if classifier else float(np.ptp(connection.seen))
    asking: Any = case.model
    instance, rows_each = row.instance, 1
    if space == "coalition":
        keep = facts.some_rows("space='coalition'", COALITION_ROWS)
        asking = Coalitions(case.model, instance, *keep)
        g: Any = shap_surrogates.sum_surrogate(case.base, case.values)
        domain = Domain(tuple(ordered_axis(name, 0, 1, integer=True) for name in domain.names))
        instance, rows_each = np.ones(len(domain)), len(keep[0])
    else:
        tolerance = request.tolerance or TOLERANCE * scale
        g = case.surrogate(surrogate, domain, facts, tolerance, _allowance(allowance, domain, request))
    if units == "probability":
        asking, g = Probability(asking), Probability(g)
    return Sides(
        kind="shap" if space == "features" else "shap coalition",
        space="features" if space == "features" else "presence",
        label=case.model.column,
        label_name=_output_name(row, case, facts),
        weights=case.values,
        model=asking,
        surrogate=g,
        instance=instance,
        domain=domain,
        classifier=classifier,
        scale=scale,
        batch_rows=max(1, BATCH_ROWS // rows_each),
        rows_each=rows_each,
        evaluations=connection.evaluations + case.evaluations,
        calls=connection.calls + case.calls,
    ).subject(request)


@dataclass(eq=False)
class Case:
    """A row together with the model it belongs to."""

    row: Row
    connection: Connection
    evaluations: int = 0
    calls: int = 0
    """What was asked of the model for the surrogate."""

    @property
    def values(self) -> FloatArray:
        """The SHAP values of the output."""
        return np.ascontiguousarray(self.row.values[:, self.connection.position])

    @property
    def base(self) -> float:
        """The base value of the output."""
        return float(self.row.base[self.connection.position])

    @property
    def model(self) -> Answers:
        """The model's answer for the output."""
        return self.connection.model

    def surrogate(self, kind: str, domain: Domain, facts: Facts, tolerance: float, allowance: int) -> Any:
        """What the row is read as, away from the instance."""
        base, values, instance = self.base, self.values, self.row.instance
        if kind == "profile":
            rows, shares = facts.some_rows("surrogate='profile'")
            profile = Profile(
                model=self.model,
                instance=instance,
                domain=domain.including(instance)[0],
                background=rows,
                shares=shares,
                values=values,
                allowance=allowance,
                tolerance=tolerance,
                rng=np.random.default_rng(0),
            )
            made = profile.surrogate(base)
            self.evaluations += profile.evaluations
            self.calls += profile.calls
            return made
        if kind == "dependence":
            if facts.batch is None:
                raise InvalidInputError(
                    "surrogate: 'dependence' needs the rows that were explained together. Slice an "
                    "explanation that was made after install() or by a wrapped explainer, or use "
                    "surrogate='profile'."
                )
            their_values, their_data = facts.batch
            if their_values.ndim == 3:
                their_values = their_values[:, :, self.model.column or 0]
            return shap_surrogates.dependence_surrogate(
                base, values, instance, domain, (their_values, their_data)
            )
        if not domain.numeric:
            raise InvalidInputError(f"surrogate: {kind!r} needs features that are numbers; use 'profile'.")
        rows, shares = facts.some_rows(f"surrogate={kind!r}")
        row, rows = instance.astype(np.float64), rows.astype(np.float64)
        if kind == "presence":
            return shap_surrogates.presence_surrogate(base, values, row, rows)
        own = None if facts.coefficients is None else facts.coefficients[self.model.column or 0]
        return shap_surrogates.linear_surrogate(base, values, row, rows, shares, domain.names, own)


def _facts(request: Request, explanation: Any, background: Any) -> Facts:
    """The explainer's facts, with the background that the user gave."""
    if request.explainer is not None:
        facts = read_explainer(request.explainer)
        context = getattr(explanation, CONTEXT, None)
        if context is not None:
            facts = replace(facts, batch=context.facts.batch, noted=context.facts.noted)
        elif getattr(request.explainer, "_seen", None) is not None:  # a wrapped explainer has noted something
            facts = replace(facts, noted=request.explainer._seen)
    elif request.facts is not None:
        facts = request.facts
    else:
        facts = Facts("none", None, np.empty(0), None, Link("identity"), None, None, "", None)
    if facts.refused:
        raise InvalidInputError(f"explanation: {facts.refused}. Explain the model's output instead.")
    rows = None if background is None else as_table(background).values
    if rows is None and facts.background is None:
        given = None if request.training_data is None else note_data(request.training_data, None)
        rows = facts.noted.rows if given is None else given.rows
    if rows is not None:
        facts = replace(facts, background=rows, shares=np.full(len(rows), 1.0 / len(rows)))
    return facts


def _row(explanation: Any, request: Request) -> Row:
    """One row of an explanation, checked."""
    values = np.asarray(explanation.values)
    base = np.asarray(explanation.base_values)
    data = explanation.data if request.instance is None else request.instance
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
            "Interaction values have no region; slice one row, explanation[0]."
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
    row = np.asarray(data.to_numpy() if hasattr(data, "to_numpy") else data)
    row = row[0] if row.ndim == 2 and row.shape[0] == 1 else row
    if row.ndim != 1:
        raise InvalidInputError(
            f"explanation: one row is required; its data has shape {row.shape}. Slice one: explanation[0]."
        )
    try:
        return row.astype(np.float64)
    except (TypeError, ValueError):
        return row.astype(object)


def _domain(row: Row, facts: Facts, request: Request) -> Domain:
    """Range and kind of every feature: from training data, else from the rows shap was given."""
    pairs = bound_pairs(request.bounds, row.names)
    if request.training_data is not None:
        domain = Domain.from_data(request.training_data)
    elif facts.noted.domain is not None:
        domain = facts.noted.domain
    elif len({i for i, _, _ in pairs}) == row.instance.size:
        domain = Domain.from_bounds(np.zeros(row.instance.size), np.zeros(row.instance.size))
    else:
        known = [
            np.asarray(part)
            for part in (facts.background, facts.batch and facts.batch[1])
            if part is not None
        ]
        if not known:
            raise InvalidInputError(
                "training_data: neither the explanation nor its explainer knows the range of the features. "
                "Pass training_data=, or bounds= for all of them."
            )
        domain = Domain.from_data(np.concatenate(known))
        if request.bounds is None:
            request.warn(
                f"The range of the features is that of {sum(map(len, known))} rows that shap was given, "
                "often fewer than the model was trained on. Pass training_data= for the true one."
            )
    if len(domain) != row.instance.size:
        raise InvalidInputError(
            f"training_data: the explanation has {row.instance.size} features; got {len(domain)} columns."
        )
    axes = [replace(axis, name=name) for axis, name in zip(domain.axes, row.names, strict=True)]
    for i, low, high in pairs:
        axes[i] = axes[i].with_bounds(low, high)
    for i, value in enumerate(row.instance):
        if is_missing(value):  # a missing value is no number to move: it stays missing
            axes[i] = categorical_axis(axes[i].name, (value,))
    return Domain(tuple(axes))


def _check_odds(model: Answers, facts: Facts, *, classifier: bool) -> None:
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


def _allowance(allowance: int | None, domain: Domain, request: Request) -> int:
    if allowance is not None:
        return allowance
    most = int(np.clip(1_000 * len(domain), 5_000, 40_000))
    return most if request.max_evaluations is None else min(most, request.max_evaluations // 2)


def _output_name(row: Row, case: Case, facts: Facts) -> str | None:
    if row.outputs is not None and len(row.outputs) == row.base.size:
        return row.outputs[case.connection.position]
    if facts.output_names is not None and case.model.column is not None:
        return facts.output_names[case.model.column]
    return None


def _check_choice(parameter: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidInputError(f"{parameter}: one of {list(choices)} is required; got {value!r}.")
