"""guarantee_region(): from an explanation to its region."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lime_guarantee.adapters import find_adapter
from lime_guarantee.adapters.request import Request, Subject
from lime_guarantee.api import check_count, find_region
from lime_guarantee.engine.certify.certificate import CertifierName
from lime_guarantee.engine.search.base import Effort, Search
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.support.progress import Progress


def guarantee_region(
    explanation: Any,
    *,
    explainer: Any = None,
    predict_fn: Callable[[Any], Any] | None = None,
    instance: Any = None,
    training_data: Any = None,
    bounds: Any = None,
    label: int | str | None = None,
    test: str = "auto",
    tolerance: float | None = None,
    purity: float = 0.99,
    confidence: float = 0.99,
    search: str | Search = "balanced",
    effort: Effort | None = None,
    certifier: CertifierName = "anytime",
    random_state: int | np.random.Generator | None = None,
    max_evaluations: int | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    batch_rows: int | None = None,
    **options: Any,
) -> GuaranteeRegion:
    """Find the region in which an explanation is faithful to the model, and certify it.

    Explanations made by a wrapped explainer (`wrap`) or after `install` remember what they need; for them
    only the explanation itself is required, and they have this function as a method.

    Parameters
    ----------
    explanation : object
        What LIME, or another library that has an adapter, returned.
    explainer : object, optional
        The explainer that made it.
    predict_fn : callable, optional
        The model, as the explainer was given it.
    instance : array-like, optional
        The row that was explained. Texts and images are kept by their explanations.
    training_data : array or DataFrame, optional
        Gives every feature its range, and tells which hold whole numbers.
    bounds : mapping of name or position to (low, high), or (D, 2) array, optional
        The range of some features, or of all; it wins over the training data's.
    label : int or str, optional
        The class explained, by number or name. By default all classes are compared if all were explained,
        else the explained one that the model finds likeliest.
    test : {"auto", "class", "value", "change"}
        When the explanation is faithful. "class": it chooses the same class as the model, or its score of the
        class is within the tolerance. "value": it is within the tolerance. "change": it changes, from the
        instance on, by the same amount within the tolerance. "auto" is "class" for classifiers and
        "value" for regressions.
    tolerance : float, optional
        By default 0.1 for probabilities, and a tenth of the range seen for regressions.
    purity, confidence, search, effort, certifier, random_state, max_evaluations, progress
        As in `find_region`.
    batch_rows : int, optional
        The most rows, texts or images asked of the model at once.
    **options
        Options of the adapter: ``hide_color=`` for LIME's images.

    Returns
    -------
    GuaranteeRegion
        Truthy if it is certified. If the explanation misses the model at the instance itself, its status is
        "unfaithful" and its reason tells by how much, and the ways out.
    """
    if max_evaluations is not None:
        check_count("max_evaluations", max_evaluations, "a positive integer or None")
    request = Request(
        explainer, predict_fn, instance, training_data, bounds, label, test, tolerance, max_evaluations
    )
    return region_of_subject(
        subject_of(explanation, request, **options),
        purity=purity,
        confidence=confidence,
        search=search,
        effort=effort,
        certifier=certifier,
        random_state=random_state,
        max_evaluations=max_evaluations,
        progress=progress,
        batch_rows=batch_rows,
    )


def region_of_subject(
    subject: Subject, *, max_evaluations: int | None = None, batch_rows: int | None = None, **options: Any
) -> GuaranteeRegion:
    """The region of an explanation that was adapted; the options are those of `find_region`."""
    if max_evaluations is not None:
        least = subject.evaluations + subject.rows_each
        if max_evaluations < least:
            raise InvalidInputError(
                f"max_evaluations: at least {least} are needed to compare model and explanation at the "
                f"instance; got {max_evaluations}."
            )
        max_evaluations = (max_evaluations - subject.evaluations) // subject.rows_each
    region = find_region(
        subject.problem.faithful,
        subject.problem.instance,
        subject.problem.domain,
        max_evaluations=max_evaluations,
        batch_rows=subject.batch_rows if batch_rows is None else batch_rows,
        **options,
    )
    return replace(
        region,
        explained=subject.explained,
        reason=subject.explained.miss if region.status == "unfaithful" else region.reason,
        evaluations=region.evaluations * subject.rows_each + subject.evaluations,
        calls=region.calls + subject.calls,
    )


def subject_of(explanation: Any, request: Request, **options: Any) -> Subject:
    """The problem that an explanation poses, and what was explained."""
    adapter = find_adapter(explanation)
    parameters = inspect.signature(adapter).parameters.values()
    known = [p.name for p in parameters][2:]
    unknown = sorted(set(options) - set(known))
    if unknown and all(p.kind is not p.VAR_KEYWORD for p in parameters):
        raise InvalidInputError(
            f"{', '.join(unknown)}: this kind of explanation has no such option"
            + (f"; its options are {known}." if known else ".")
        )
    return adapter(explanation, request.with_context(explanation), **options)
