"""The two ways to ask for a region: of a function that says what is faithful, and of an explanation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from lime_guarantee.adapters.registry import adapter_for
from lime_guarantee.engine.certify.budget import ErrorBudget
from lime_guarantee.engine.certify.certifier import Certifier
from lime_guarantee.engine.certify.limit import check_limit_allows_certificate
from lime_guarantee.engine.oracle import BATCH_ROWS, Oracle
from lime_guarantee.engine.session import Found, search_and_certify
from lime_guarantee.errors import InvalidInputError, ModelError
from lime_guarantee.problem.info import ExplanationInfo
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.build import region_from
from lime_guarantee.region.region import GuaranteeRegion, Status
from lime_guarantee.region.worth import judging
from lime_guarantee.settings import SETTINGS, Settings, SettingsOptions, settings_from, shows_settings
from lime_guarantee.space.cube import Cube
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.measure import chosen_measure
from lime_guarantee.support.progress import Progress, check_progress, watching

CHANGES_ASKED = 100
"""Rows on which changes are compared, where an explanation misses the model at the instance."""


@shows_settings
def find_region(
    faithful: Callable[[Any], Any] | Problem,
    instance: Any = None,
    domain: Domain | None = None,
    *,
    validation_data: Any = None,
    settings: Settings | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    **options: Unpack[SettingsOptions],
) -> GuaranteeRegion:
    """Find a large box around an instance in which `faithful` holds almost everywhere.

    With probability at least `confidence` over the random draws made here, `faithful` holds on at least
    `purity` of the region that is returned, if it is certified: of its share of the `measure`.

    Parameters
    ----------
    faithful : callable or Problem
        Maps an (n, D) array of raw values to n booleans: is the explanation faithful to the model there?
        It must be a function: the same answer to the same row. A `Problem` brings instance and domain.
    instance : array-like of shape (D,)
        The instance that was explained.
    domain : Domain
        Range and kind of every feature.
    validation_data : array or DataFrame, optional
        Rows that neither fitted the model nor had a part in the explanation. The model is asked about those
        in the region, and `region.validation` tells what they say.
    settings : Settings, optional
        What is asked of the region; those of another region run it again.
    progress : bool or callable, optional
        True shows a bar (tqdm). A callable is told a `Progress` whenever there is something to tell.
    **options
        Single settings, by name, which win over `settings`: see `Settings`.

    Returns
    -------
    GuaranteeRegion

    Examples
    --------
    >>> import numpy as np
    >>> from lime_guarantee import Domain, find_region
    >>> def faithful(X):
    ...     return np.abs(X).max(axis=1) < 1
    >>> region = find_region(faithful, [0.1, 0.2], Domain.from_bounds([-2, -2], [2, 2]), random_state=0)
    >>> region.status
    'certified'
    >>> bool((region.lower < -0.9).all() and (region.upper > 0.9).all())
    True
    """
    asked = settings_from(settings, options)
    check_progress(progress)
    if isinstance(faithful, Problem):
        if instance is not None or domain is not None:
            raise InvalidInputError("instance, domain: a Problem has its own; leave them out.")
        region = _find(judging(faithful), faithful.instance, faithful.domain, faithful, asked, progress)
        return _validated(region, faithful, validation_data)
    if not isinstance(domain, Domain):
        raise InvalidInputError(
            f"domain: a Domain is required; got {type(domain).__name__}. "
            "Make one with Domain.from_bounds or Domain.from_data."
        )
    if not callable(faithful):
        raise InvalidInputError(f"faithful: a callable is required; got {type(faithful).__name__}.")
    region = _find(faithful, instance, domain, None, asked, progress)
    return _validated(region, faithful, validation_data)


@shows_settings
def guarantee_region(
    explanation: Any,
    *,
    explainer: Any = None,
    predict_fn: Callable[[Any], Any] | None = None,
    instance: Any = None,
    training_data: Any = None,
    validation_data: Any = None,
    bounds: Any = None,
    label: int | str | None = None,
    agreement: str = "auto",
    tolerance: float | None = None,
    settings: Settings | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    **options: Any,
) -> GuaranteeRegion:
    """Find the region in which an explanation is faithful to the model, certify it, and attach it.

    Explanations made by a wrapped explainer (`wrap`) or after `install` remember what they need; for them
    only the explanation itself is required, and they have this function as a method. Afterwards the
    explanation has the region as its attribute `region`.

    Parameters
    ----------
    explanation : object
        What LIME, shap or another library that has an adapter returned.
    explainer : object, optional
        The explainer that made it.
    predict_fn : callable, optional
        The model, as the explainer was given it.
    instance : array-like, optional
        The row that was explained. Texts and images are kept by their explanations.
    training_data : array or DataFrame, optional
        Gives every feature its range, tells which hold whole numbers, and how values are distributed: what
        the region's shares are shares of, unless `measure` says otherwise.
    validation_data : array or DataFrame, optional
        As in `find_region`.
    bounds : mapping of name or position to (low, high), or (D, 2) array, optional
        The range of some features, or of all; it wins over the training data's.
    label : int or str, optional
        The class, or the output, that was explained, by number or name. By default all classes are compared
        if all were explained, else the explained one that the model finds likeliest.
    agreement : {"auto", "class", "value", "change"}
        When the explanation is faithful. "class": it chooses the same class as the model, or its score of the
        class is within the tolerance. "value": it is within the tolerance. "change": it changes, from the
        instance on, by the same amount within the tolerance. "auto" is "class" for classifiers and
        "value" for regressions.
    tolerance : float, optional
        By default 0.1 for probabilities, and a tenth of the range seen for regressions.
    settings, progress
        As in `find_region`.
    **options
        Single settings, by name (see `Settings`); and options of the adapter: ``hide_color=`` for LIME's
        images; ``surrogate=``, ``space=``, ``background=``, ``units=`` and ``allowance=`` for shap.

    Returns
    -------
    GuaranteeRegion
        Truthy if it is certified. If the explanation misses the model at the instance itself, its status is
        "unfaithful" and its reason tells by how much, and the ways out.

    Examples
    --------
    >>> import numpy as np
    >>> from lime.lime_tabular import LimeTabularExplainer
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> explainer = LimeTabularExplainer(X, mode="regression", random_state=0)
    >>> def model(rows):
    ...     return 2 * rows[:, 0] + rows[:, 1]
    >>> explanation = explainer.explain_instance(X[0], model)
    >>> region = guarantee_region(explanation, explainer=explainer, predict_fn=model, instance=X[0],
    ...                           training_data=X, agreement="change", random_state=0)
    >>> region.status, explanation.region is region
    ('certified', True)
    """
    mine = {name: value for name, value in options.items() if name in SETTINGS}
    asked = settings_from(settings, mine)
    check_progress(progress)
    _check_limit(asked)  # before anything is asked of the model
    adapter = adapter_for(explanation)(
        explanation,
        explainer=explainer,
        predict_fn=predict_fn,
        instance=instance,
        training_data=training_data,
        bounds=bounds,
        label=label,
        agreement=agreement,
        tolerance=tolerance,
        settings=asked,
        **{name: value for name, value in options.items() if name not in SETTINGS},
    )
    problem = adapter.problem()
    region = find_region(problem, validation_data=validation_data, settings=asked, progress=progress)
    adapter.attach(region)
    return region


def problem_of(explanation: Any, *, settings: Settings | None = None, **given: Any) -> Problem:
    """The problem that an explanation poses: what `guarantee_region` solves.

    Parameters
    ----------
    explanation : object
    settings : Settings, optional
        Its limit and its seed hold for what is asked of the model here, too.
    **given
        As in `guarantee_region`, options of the adapter included.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> from lime.lime_tabular import LimeTabularExplainer
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> explainer = LimeTabularExplainer(X, mode="regression", random_state=0)
    >>> def model(rows):
    ...     return 2 * rows[:, 0] + rows[:, 1]
    >>> explanation = explainer.explain_instance(X[0], model, num_samples=200)
    >>> problem = problem_of(explanation, explainer=explainer, predict_fn=model, instance=X[0],
    ...                      training_data=X)
    >>> problem.explained.kind, problem.explained.agreement
    ('lime tabular', 'value')
    >>> problem.faithful(X[:3]).shape
    (3,)
    """
    return adapter_for(explanation)(explanation, settings=settings, **given).problem()


def region_after(problem: Problem, settings: Settings, attempts: int) -> GuaranteeRegion:
    """The region of a problem, paid for from a budget of which so many attempts are spent.

    Whoever certifies several regions and returns one of them spends one budget on all.
    """
    return _find(
        judging(problem), problem.instance, problem.domain, problem, settings, None, attempts=attempts
    )


def _validated(
    region: GuaranteeRegion, faithful: Callable[[Any], Any] | Problem, validation_data: Any
) -> GuaranteeRegion:
    """The region with what held-out rows say, if there are any."""
    if validation_data is None:
        return region
    rows = region.on_rows(validation_data, faithful=faithful)
    rows_each = faithful.rows_each if isinstance(faithful, Problem) else 1
    return replace(region, validation=rows, evaluations=region.evaluations + rows_each * rows.rows)


def _missed(
    problem: Problem,
    explained: ExplanationInfo,
    cube: Cube,
    rng: np.random.Generator,
    remaining: int | None,
) -> tuple[Problem, str]:
    """Why an explanation is not faithful at the instance, and what comparing changes would give.

    That is asked of the model, unless the limit is near; the problem that comes back has it counted.
    """
    if remaining is not None and remaining < 2 * CHANGES_ASKED:  # some are asked twice
        return problem, explained.miss()
    changes = replace(problem, agreement=replace(explained, agreement="change").rule)
    trial = Oracle(changes.faithful, cube, batch_rows=problem.batch_rows or BATCH_ROWS)
    try:
        same = trial.evaluate(cube.whole.sample(rng, CHANGES_ASKED))
    except ModelError:  # it has no answer everywhere in the domain: that is no reason to keep this one back
        return problem, explained.miss()
    counted = replace(
        problem,
        evaluations=problem.evaluations + trial.evaluations * problem.rows_each,
        calls=problem.calls + trial.calls,
    )
    return counted, explained.miss((int(same.sum()), CHANGES_ASKED))


def _check_limit(settings: Settings, *, spent: int = 0, rows_each: int = 1) -> None:
    check_limit_allows_certificate(
        settings.max_evaluations,
        settings.purity,
        settings.confidence,
        settings.certifier,
        spent=spent,
        rows_each=rows_each,
    )


def _find(
    faithful: Callable[[Any], Any],
    instance: Any,
    domain: Domain,
    problem: Problem | None,
    settings: Settings,
    progress: bool | Callable[[Progress], None] | None,
    attempts: int = 0,
) -> GuaranteeRegion:
    limit, batch_rows = settings.max_evaluations, settings.batch_rows
    if problem is not None:
        _check_limit(settings, spent=problem.evaluations, rows_each=problem.rows_each)
        limit = problem.rows_within(limit)
        batch_rows = batch_rows or problem.batch_rows
    else:
        _check_limit(settings)
    search_rng, certify_rng = settings.random_streams()
    row = domain.row(instance)
    domain, widened = domain.including(row)
    presence = problem is not None and problem.explained is not None and problem.explained.space == "presence"
    measure = chosen_measure(settings.measure, domain, presence=presence)
    start = domain.encode(row[np.newaxis])[0]
    cube, notes = measure.cube(domain, start), measure.notes(domain, start)
    oracle = Oracle(faithful, cube, max_evaluations=limit, batch_rows=batch_rows or BATCH_ROWS)
    budget = ErrorBudget(settings.confidence, attempts)
    home = oracle.judge(cube.instance[np.newaxis])
    if not home.faithful[0]:
        reason = "the explanation misses the model at the instance itself."
        if problem is not None and problem.explained is not None:
            problem, reason = _missed(problem, problem.explained, cube, search_rng, oracle.remaining)
        found = Found(None, None, cube, reason)
        status: Status = "unfaithful"
    else:
        certifier = Certifier(oracle, settings.purity, budget, certify_rng, settings.certifier)
        with watching(progress, limit) as watcher:
            found = search_and_certify(settings.searcher, cube, certifier, search_rng, watcher)
        status = "uncertified" if found.shape is None else "certified"
    return region_from(
        found,
        status=status,
        measure=measure,
        instance=row,
        settings=settings,
        problem=problem,
        oracle=oracle,
        attempts=budget.attempts,
        widened=widened,
        notes=notes,
        at_instance=home.answers[0][0] if home.answers else None,
    )
