"""Explanations made anew from a line: of the kind that was refitted, with its region attached."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.line import Line
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.support.arrays import AnyArray, FloatArray

from .base import CAPTURED, Adapter
from .lime_table import LimeTableAdapter
from .registry import adapter_for
from .shap_row import ShapRowAdapter

LIME_OFFSET, SHAP_OFFSET = 0.5, 0.0
"""How far a line may miss the model at the instance, in tolerances; SHAP values add up to its answer."""


def reading(explanation: Any, **given: Any) -> Adapter:
    """The adapter of an explanation that is to be refitted: its own surrogate is not asked for much."""
    kind = adapter_for(explanation)
    if issubclass(kind, ShapRowAdapter):
        given.setdefault("allowance", 1)
    return kind(explanation, **given)


def offset_allowed(adapter: Adapter) -> float:
    """How far a line may be from the model at the instance, in tolerances."""
    return SHAP_OFFSET if isinstance(adapter, ShapRowAdapter) else LIME_OFFSET


def rebuilt(adapter: Adapter, line: Line, region: GuaranteeRegion) -> Any:
    """An explanation of the adapter's kind that stands for a line; the region becomes its own.

    Raises
    ------
    InvalidInputError
        If the kind is not one of LIME's or shap's rows.
    """
    if isinstance(adapter, LimeTableAdapter):
        explanation, weights = _lime(adapter, line)
    elif isinstance(adapter, ShapRowAdapter):
        explanation, weights = _shap(adapter, line)
    else:
        raise InvalidInputError(
            f"refit: how to make an explanation of kind {adapter.kind!r} from a line is not known. "
            "Use refit(problem_of(explanation)), which gives the line itself."
        )
    explanation.region = _with_weights(region, weights)
    return explanation


def _with_weights(region: GuaranteeRegion, weights: FloatArray) -> GuaranteeRegion:
    """The region with the weights as its library gives them."""
    assert region.explained is not None
    explained = replace(region.explained, weights=tuple(weights.tolist()))
    problem = None if region.problem is None else replace(region.problem, explained=explained)
    return replace(region, explained=explained, problem=problem)


def _lime(adapter: LimeTableAdapter, line: Line) -> tuple[Any, FloatArray]:
    """LIME's explanation without bins: slopes in standard deviations, categories as LIME has them."""
    if adapter.columns_kept is not None:
        raise InvalidInputError("refit: a sparse row cannot be refitted. Pass a dense one to the explainer.")
    facts = adapter.facts
    ordered = np.array([axis.ordered for axis in line.domain.axes])
    slopes = np.where(ordered, line.weights / line.scale, 0.0)
    weights = np.where(ordered, slopes * facts.scale, -line.weights)
    centre = np.where(ordered, slopes * (facts.mean - np.where(ordered, line.home, 0.0)), line.weights)
    explanation = copy.copy(adapter.explanation)
    listed = [(i, float(weights[i])) for i in np.argsort(-np.abs(weights)).tolist() if weights[i]]
    _set_lime(adapter, explanation, listed, line.intercept + float(centre.sum()))
    explanation.local_pred, explanation.score = np.array([line.intercept]), None
    explanation.domain_mapper = copy.copy(explanation.domain_mapper)
    explanation.domain_mapper.discretized_feature_names = None
    captured = replace(
        adapter.captured,
        predict_fn=adapter.predict_fn,
        instance=adapter.given_instance,
        facts=replace(facts, edges={}, bin_names={}, degenerate=()),
        data=adapter.data,
    )
    setattr(explanation, CAPTURED, captured)
    return explanation, weights


def _set_lime(
    adapter: LimeTableAdapter, explanation: Any, listed: list[tuple[int, float]], at: float
) -> None:
    """Weights and intercept where LIME keeps them; a regression has them once more with the other sign."""
    if adapter.columns is None:
        one = explanation.dummy_label
        explanation.local_exp = {one: listed, 1 - one: [(i, -weight) for i, weight in listed]}
        explanation.intercept = {one: at, 1 - one: at}
        return
    own = adapter.keys[adapter.columns.index(adapter.label or 0)]
    explanation.local_exp, explanation.intercept = {own: listed}, {own: at}
    if getattr(explanation, "top_labels", None):
        explanation.top_labels = [own]


def _shap(adapter: ShapRowAdapter, line: Line) -> tuple[Any, FloatArray]:
    """SHAP values of a line: what each feature adds here, less what it adds on average to the background."""
    rows, shares = adapter.facts.some_rows("refit")
    values = -line.weights * (shares @ _numbers(line, rows))
    explanation = copy.copy(adapter.explanation)
    explanation.values, explanation.base_values = values, float(line.intercept - values.sum())
    explanation.data = adapter.instance
    setattr(explanation, CAPTURED, replace(adapter.captured, facts=adapter.facts, data=adapter.data))
    return explanation, values


def _numbers(line: Line, rows: AnyArray) -> FloatArray:
    """What the background's rows are to the line; a value outside its domain is the nearest one."""
    values = line.domain.encode(rows)
    low = np.array([axis.low for axis in line.domain.axes])
    high = np.array([axis.high for axis in line.domain.axes])
    known = np.where(np.isnan(values), line.home, np.clip(values, low, high))
    return line.numbers(known)
