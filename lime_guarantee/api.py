"""find_region(): a search proposes, the certifier disposes."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from lime_guarantee.engine.category_order import order_categories
from lime_guarantee.engine.certify.certifier import (
    TESTS,
    Certificate,
    Certifier,
    CertifierName,
    ErrorBudget,
    Shape,
    shapes_of,
)
from lime_guarantee.engine.oracle import BATCH_ROWS, Oracle
from lime_guarantee.engine.search.balanced import Balanced
from lime_guarantee.engine.search.base import Effort, Search, Task
from lime_guarantee.engine.search.baselines import Ball, Greedy, Radial
from lime_guarantee.engine.search.divide import Divide
from lime_guarantee.errors import EvaluationLimitError, InvalidInputError
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.region import GuaranteeRegion, Status
from lime_guarantee.space.box import Box
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.support.progress import Progress, check_progress, watching
from lime_guarantee.version import __version__

FEWEST_FLOATS = 1024
"""A continuous side that spans fewer floats than this is no interval."""

SEARCHES: dict[str, Callable[[], Search]] = {
    "balanced": Balanced,
    "divide": Divide,
    "radial": Radial,
    "greedy": Greedy,
}


def find_region(
    faithful: Callable[[Any], Any] | Problem,
    instance: Any = None,
    domain: Domain | None = None,
    *,
    purity: float = 0.99,
    confidence: float = 0.99,
    search: str | Search = "balanced",
    effort: Effort | None = None,
    certifier: CertifierName = "anytime",
    random_state: int | np.random.Generator | None = None,
    max_evaluations: int | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> GuaranteeRegion:
    """Find a large box around an instance in which `faithful` holds almost everywhere.

    With probability at least `confidence` over the random draws made here, `faithful` holds on at least
    `purity` of the volume of the region that is returned, if it is certified.

    Parameters
    ----------
    faithful : callable or Problem
        Maps an (n, D) array of raw values to n booleans: is the explanation faithful to the model there?
        It must be a function: the same answer to the same row. A `Problem` brings instance and domain.
    instance : array-like of shape (D,)
        The instance that was explained.
    domain : Domain
        Range and kind of every feature.
    purity : float in (0, 1)
        Share of the region's volume that is faithful.
    confidence : float in (0, 1)
        Probability that the promise holds.
    search : {"balanced", "divide", "radial", "greedy"} or Search
        How boxes are proposed. A search object, such as ``Divide(positives=300)``, sets its own options.
    effort : {"low", "normal", "high"}, optional
        How much the balanced search spends; "normal" by default.
    certifier : {"anytime", "zero-failure"}
        How boxes are tested. "zero-failure" is the paper's test, which a single failure sinks.
    random_state : int, Generator or None
        With the same integer, the same region, bit for bit.
    max_evaluations : int, optional
        The number of rows never to be passed. The balanced search certifies the best box it has before it
        comes to that. If no box is certified by then, the region says so.
    progress : bool or callable, optional
        True shows a bar (tqdm). A callable is told a `Progress` whenever there is something to tell.
    batch_rows : int
        The most rows that `faithful` is given at once.

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
    if isinstance(faithful, Problem):
        if instance is not None or domain is not None:
            raise InvalidInputError("instance, domain: a Problem has its own; leave them out.")
        problem = faithful
        faithful, instance, domain = problem.faithful, problem.instance, problem.domain
    purity, confidence = _share("purity", purity), _share("confidence", confidence)
    if max_evaluations is not None:
        check_count("max_evaluations", max_evaluations, "a positive integer or None")
    check_count("batch_rows", batch_rows, "a positive integer")
    check_progress(progress)
    if certifier not in TESTS:
        raise InvalidInputError(f"certifier: one of {sorted(TESTS)} is required; got {certifier!r}.")
    if not isinstance(domain, Domain):
        raise InvalidInputError(
            f"domain: a Domain is required; got {type(domain).__name__}. "
            "Make one with Domain.from_bounds or Domain.from_data."
        )
    if not callable(faithful):
        raise InvalidInputError(f"faithful: a callable is required; got {type(faithful).__name__}.")
    searcher = _resolve_search(search, effort)
    search_rng, certify_rng = _random_streams(random_state)
    row = domain.row(instance)
    domain, widened = domain.including(row)
    oracle = Oracle(faithful, domain, max_evaluations=max_evaluations, batch_rows=batch_rows)
    start = domain.encode(row[np.newaxis])[0]
    found, attempts = None, 0
    if not oracle.evaluate(start[np.newaxis])[0]:
        status: Status = "unfaithful"
        reason = "the explanation misses the model at the instance itself."
    else:
        judge = Certifier(oracle, purity, ErrorBudget(confidence), certify_rng, certifier)
        with watching(progress, max_evaluations) as watcher:
            found, reason = _best_certified(searcher, start, judge, search_rng, watcher)
        attempts = judge.budget.attempts
        status = "certified" if found else "uncertified"
    if found:
        shape, certificate = found
        lower, upper, allowed = _raw_bounds(shape, oracle.domain, domain)
    else:
        shape, certificate = Box(start, start, domain.unit), None
        lower, upper, allowed = _raw_bounds(shape, domain, domain)
    return GuaranteeRegion(
        status=status,
        domain=domain,
        instance=row,
        lower=lower,
        upper=upper,
        allowed=allowed,
        purity=purity,
        confidence=confidence,
        certificate=certificate,
        evaluations=oracle.evaluations,
        calls=oracle.calls,
        log10_volume=shape.log_volume / float(np.log(10.0)),
        search=searcher.name,
        random_state=int(random_state) if isinstance(random_state, numbers.Integral) else None,
        widened=widened,
        reason=reason,
        radius=shape.radius if isinstance(shape, Ball) else None,
        version=__version__,
        attempts=attempts,
        problem=_problem_of(faithful),
    )


def _problem_of(faithful: Callable[[Any], Any]) -> Problem | None:
    """The problem whose `faithful` was asked, if it is one's."""
    owner = getattr(faithful, "__self__", None)
    return owner if isinstance(owner, Problem) else None


def _best_certified(
    searcher: Search,
    start: FloatArray,
    certifier: Certifier,
    rng: np.random.Generator,
    watcher: Callable[[Progress], None],
) -> tuple[tuple[Shape, Certificate] | None, str]:
    """The largest shape that was certified, or None and the reason.

    All attempts are paid for from one budget, so the best of several accepted shapes may be chosen.
    """
    oracle, best, reason = certifier.oracle, None, ""

    def report(phase: str, shape: Shape) -> None:
        volume = shape.log_volume / float(np.log(10.0))
        watcher(Progress(phase, certifier.budget.attempts, oracle.evaluations, volume))

    try:
        domain = order_categories(oracle, start, rng)
        anchor = domain.encode(oracle.domain.decode(start[np.newaxis]))[0]
        oracle.domain = domain
        task = Task(oracle, anchor, domain.box(), certifier.purity, certifier.budget.confidence, rng, report)
        proposals = searcher.propose(task)
        proposal = next(proposals, None)
        while proposal is not None:
            shapes = shapes_of(proposal)
            if not shapes[-1].contains(anchor[np.newaxis])[0]:
                raise InvalidInputError(f"search: {searcher.name!r} proposed a box without the instance.")
            attempt = certifier.attempt(proposal)
            shape = shapes[0] if attempt.shape is None else attempt.shape
            larger = best is None or shape.log_volume > best[0].log_volume
            if attempt.certificate and larger and _has_room(shape, domain):
                best = shape, attempt.certificate
            report("accepted" if attempt.accepted else "rejected", shape)
            try:
                proposal = proposals.send(attempt)
            except StopIteration:
                break
        if best is None:
            reason = (
                f"none of the {certifier.budget.attempts} boxes that were tried could be certified, or they "
                "had no width to speak of."
            )
    except EvaluationLimitError:
        if best is None:
            reason = (
                "the limit on evaluations came before a box was certified "
                f"({certifier.budget.attempts} tried). Allow more with max_evaluations=."
            )
    return best, reason


def _has_room(shape: Shape, domain: Domain) -> bool:
    """Whether every continuous side spans many floats: else a few values, not a volume, were tested."""
    box = _bounding_box(shape)
    lengths = domain.unit == 0
    spacing = np.spacing(np.maximum(np.abs(box.lower), np.abs(box.upper)))
    return bool(np.all(box.width[lengths] > FEWEST_FLOATS * spacing[lengths]))


def _bounding_box(shape: Shape) -> Box:
    box = shape.bounding_box if isinstance(shape, Ball) else shape
    assert isinstance(box, Box)
    return box


def _raw_bounds(
    shape: Shape, searched: Domain, domain: Domain
) -> tuple[FloatArray, FloatArray, dict[str, tuple[Any, ...]]]:
    """Bounds and allowed categories of a shape found in a domain whose categories were reordered."""
    box = _bounding_box(shape)
    lower, upper = box.lower.copy(), box.upper.copy()
    allowed = {}
    for i, (axis, ordered) in enumerate(zip(domain.axes, searched.axes, strict=True)):
        extent = axis.extent_between(lower[i], upper[i], ordered)
        lower[i], upper[i] = extent.lower, extent.upper
        if extent.allowed:
            allowed[axis.name] = extent.allowed
    return lower, upper, allowed


def _resolve_search(search: str | Search, effort: Effort | None) -> Search:
    if effort is not None:
        if search != "balanced":
            raise InvalidInputError(
                f"effort: it belongs to the balanced search; got search={search!r}. Leave one of them out."
            )
        return Balanced(effort)
    if isinstance(search, str):
        if search not in SEARCHES:
            raise InvalidInputError(
                f"search: one of {sorted(SEARCHES)} or a Search is required; got {search!r}."
            )
        return SEARCHES[search]()
    if not hasattr(search, "propose") or isinstance(search, type):
        raise InvalidInputError(
            f"search: a name or a Search object, such as Divide(), is required; got {search!r}."
        )
    return search


def _random_streams(random_state: Any) -> list[np.random.Generator]:
    """One stream for the search, and one that no search can see for the certifier."""
    try:
        return np.random.default_rng(random_state).spawn(2)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"random_state: a non-negative integer, a Generator or None is required; {error}."
        ) from error


def _share(parameter: str, value: object) -> float:
    if not isinstance(value, numbers.Real) or not 0.0 < float(value) < 1.0 or 1.0 - float(value) == 1.0:
        raise InvalidInputError(
            f"{parameter}: a number between 0 and 1, both excluded, is required; got {value!r}."
        )
    return float(value)


def check_count(parameter: str, value: object, requirement: str) -> None:
    """Raise unless a parameter is a positive integer."""
    if not isinstance(value, numbers.Integral) or int(value) < 1:
        raise InvalidInputError(f"{parameter}: {requirement} is required; got {value!r}.")
