"""Refit: a sparse line found for the largest certified region, where that pays over a constant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.adapters.refitted import offset_allowed, reading, rebuilt
from lime_guarantee.choosing.line_search import Candidate
from lime_guarantee.choosing.refit_case import Certified, RefitCase
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.line import Line
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.settings import SETTINGS, Settings, settings_from, shows_settings
from lime_guarantee.support.checks import check_count

PAYS = float(np.log10(2.0))
"""A line pays if its region is so many decades larger than the best constant's: a factor of two."""

MOST_TIMES = 4
"""The most evaluations of a refit, in those of the best constant and its region."""

FEWEST_ROWS = 200
"""With fewer rows to be asked, no line is fitted."""


@dataclass(frozen=True, eq=False)
class Refit:
    """What `refit` found: a line, or the constant that does as well.

    Parameters
    ----------
    region : GuaranteeRegion
        Of the line if it pays, else of the constant; its `problem` has the surrogate.
    constant : GuaranteeRegion
        Of the best admissible constant.
    line : Line
        What was taken; without weights, if it is the constant.
    pays : bool
        Whether the line's region is at least twice as large as the constant's.
    unsure : tuple of str
        The features whose weights are not identified: other draws give others, with the same answers.

    Examples
    --------
    >>> from lime_guarantee import Domain, Problem, SameValue
    >>> def model(X):
    ...     return np.ones(len(X))
    >>> problem = Problem(model, model, SameValue(0.1), np.array([0.5]), Domain.from_bounds([0], [1]))
    >>> found = refit(problem, random_state=0)
    >>> found.pays, found.line.features.size, found.region.share
    (False, 0, 1.0)
    """

    region: GuaranteeRegion
    constant: GuaranteeRegion
    line: Line
    pays: bool
    unsure: tuple[str, ...] = ()

    @property
    def evaluations(self) -> int:
        """Rows asked of the model, for the constant and for the line."""
        return self.region.evaluations


@shows_settings
def refit(
    explanation: Any,
    *,
    num_features: int | None = None,
    settings: Settings | None = None,
    **options: Any,
) -> Any:
    """Find a sparse linear explanation for the largest region that can be certified, where that pays.

    It pays where the region of the line is at least twice as large as that of the best constant, and a
    constant would not do there. Elsewhere the constant is returned, and its region says that the model is
    flat. An explanation that is a line already (LIME's without bins) is tried as it is, too, and kept where
    nothing larger is found. All are certified from one error budget, on fresh draws; all of it takes at most
    four times the evaluations of the best constant and its region.

    Parameters
    ----------
    explanation : object or Problem
        An explanation of a row of a table, by LIME or shap; or a problem, whose rule and tolerance are taken.
    num_features : int, optional
        The most features of the line; by default as many as the explanation has.
    settings : Settings, optional
        As in `find_region`.
    **options
        As in `guarantee_region`: what the explanation does not keep, the rule, single settings.

    Returns
    -------
    explanation or Refit
        An explanation like the one given, with its `region`; of a problem, the `Refit` itself.

    Examples
    --------
    >>> from lime_guarantee import Domain, Problem, SameValue
    >>> def model(X):
    ...     return 3 * X[:, 0] - 2 * X[:, 1]
    >>> problem = Problem(model, model, SameValue(0.1), np.full(3, 0.5), Domain.from_bounds([0] * 3, [1] * 3))
    >>> better = refit(problem, num_features=2, random_state=0)
    >>> better.pays, better.line.features.tolist(), better.region.gain > 0.8
    (True, [0, 1], True)
    """
    mine = {name: value for name, value in options.items() if name in SETTINGS}
    asked = settings_from(settings, mine)
    rest = {name: value for name, value in options.items() if name not in SETTINGS}
    if isinstance(explanation, Problem):
        if rest:
            raise InvalidInputError(f"{', '.join(sorted(rest))}: a Problem has its own; leave them out.")
        return refit_problem(explanation, settings=asked, num_features=num_features)
    adapter = reading(explanation, settings=asked, **rest)
    found = refit_problem(
        adapter.problem(), settings=asked, num_features=num_features, most_offset=offset_allowed(adapter)
    )
    return rebuilt(adapter, found.line, found.region)


def refit_problem(
    problem: Problem,
    *,
    settings: Settings,
    num_features: int | None = None,
    most_offset: float = 0.5,
) -> Refit:
    """Fit a line to the model of a problem for the largest region that can be certified.

    Certified are, in this order and from one error budget, the best constant, the problem's own surrogate if
    it is a line that may have a larger region, and a line fitted from the larger of the two on. The largest
    is returned.

    Parameters
    ----------
    problem : Problem
        Its rule and its tolerance are taken. Its surrogate, if it is a line, is where the search begins.
    settings : Settings
    num_features : int, optional
        The most features that the line may have; by default as many as the explanation has, or all.
    most_offset : float
        How far the line may be from the model at the instance, in tolerances.

    Returns
    -------
    Refit
    """
    case = RefitCase(problem, settings, most_offset, most_features(problem, num_features))
    constant = case.best_constant()
    rows, limit = case.spent, MOST_TIMES * case.asked
    if not constant.region or constant.size > -PAYS or min(rows, case.room(limit)) < FEWEST_ROWS:
        return _constant(case, constant)  # there is no region, nothing twice as large, or no room
    own = case.own(constant, limit - 2 * rows)  # the rest is for fitting another, and for its region
    lines = [] if own is None else [own]
    rows = min(rows if own is None else rows // 2, case.room(limit))
    if rows >= FEWEST_ROWS:
        fitted = case.fitted(max([constant, *lines], key=_size), rows)
        lines.append(case.certified(fitted.line, limit))
    larger = [line for line in lines if line.size >= constant.size + PAYS]
    paying = [line for line in larger if not line.flat]
    if paying:
        return _line(case, max(paying, key=_size), constant)
    if larger:  # a constant holds there as well: the first one was not the best
        constant = case.better_constant(constant, max(larger, key=_size), limit)
    return _constant(case, constant)


def best_constant(problem: Problem, *, settings: Settings, validation_data: Any = None) -> GuaranteeRegion:
    """The region of the best admissible constant that was found for a problem."""
    region = RefitCase(problem, settings, most_offset=0.5).best_constant().region
    if validation_data is None:
        return region
    rows = region.on_rows(validation_data)
    return replace(region, validation=rows, evaluations=region.evaluations + problem.rows_each * rows.rows)


def most_features(problem: Problem, num_features: int | None) -> int:
    """The most features of a line."""
    width = len(problem.domain)
    if num_features is not None:
        return min(check_count("num_features", num_features), width)
    return width if problem.explained is None else int(np.count_nonzero(problem.explained.weights)) or width


def _size(one: Certified) -> float:
    return one.size


def _constant(case: RefitCase, constant: Certified) -> Refit:
    """What comes back where no line pays: the constant, with a note that says why."""
    flat, value = constant.region, constant.line.intercept
    if not flat:
        return Refit(case.counted(flat), flat, constant.line, pays=False)
    note = (
        "Refit: the model is flat here. No line was found that pays: that has a region twice as large as the "
        f"constant's, {value:.4g}, and a gain over every constant there."
    )
    said = replace(case.counted(flat), notes=(*flat.notes, note))
    return Refit(said, flat, constant.line, pays=False)


def _line(case: RefitCase, line: Certified, constant: Certified) -> Refit:
    """What comes back where a line pays, with a note on the weights that are not identified."""
    unsure, region = case.unsure(Candidate(line.line, line.box)), case.counted(line.region)
    if unsure:
        note = f"Refit: other draws give other weights, with the same answers, to: {', '.join(unsure)}."
        region = replace(region, notes=(*region.notes, note))
    return Refit(region, constant.region, line.line, True, unsure)
