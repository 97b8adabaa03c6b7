"""Refit: a sparse line found for the largest certified region, where that pays over a constant."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.adapters.refitted import offset_allowed, reading, rebuilt
from lime_guarantee.api import region_after
from lime_guarantee.choosing.line_fit import Fit
from lime_guarantee.choosing.line_search import Candidate, LineSearch, Pool
from lime_guarantee.engine.certify.limit import fewest_evaluations
from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.engine.session import bounding_box
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.agreement import SameChange, SameClass, SameValue
from lime_guarantee.problem.line import Line
from lime_guarantee.problem.problem import Predictor, Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.settings import SETTINGS, Settings, settings_from, shows_settings
from lime_guarantee.space.measure import chosen_measure
from lime_guarantee.support.arrays import AnyArray, FloatArray
from lime_guarantee.support.checks import check_count

PAYS = float(np.log10(2.0))
"""A line pays if its region is so many decades larger than the best constant's: a factor of two."""

MOST_TIMES = 4
"""The most evaluations of a refit, in those of the constant's region."""

MOST_OFFSET = 0.7
"""How far the constant may be from the model at the instance, in tolerances; beyond, it nearly fails."""

FIRST_ROWS, FIRST_ROUNDS = 2_000, 10
"""What is asked to choose the constant, and in how many batches."""

FEWEST_ROWS = 200
"""With fewer rows to be asked, no line is fitted."""

ROUNDS = 16
"""The batches in which the line is fitted; all together they take as much as the constant's region."""

RESAMPLES = 20
"""How often the line is fitted to the draws resampled, to see which of its weights are identified."""

UNSURE = 0.5
"""A weight that varies by more than this share of itself between resamples is not identified."""


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
    flat. Constant and line are certified from one error budget, on fresh draws; all of it takes at most four
    times the evaluations of the constant's region.

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

    The constant is certified first, then the line, both from one error budget: one of the two is returned.

    Parameters
    ----------
    problem : Problem
        Its surrogate is not looked at; its rule and its tolerance are.
    settings : Settings
    num_features : int, optional
        The most features that the line may have; by default as many as the explanation has, or all.
    most_offset : float
        How far the line may be from the model at the instance, in tolerances.

    Returns
    -------
    Refit
    """
    case = _Case(*scalar_problem(problem), settings, most_offset)
    most = most_features(problem, num_features)
    constant, flat = case.best_constant()
    one = case.spent
    rows = min(one, case.room(MOST_TIMES * one))
    if not flat or rows < FEWEST_ROWS or flat.log10_share > -PAYS:  # nothing is twice as large
        return Refit(_said_to_be_flat(flat, constant) if flat else flat, flat, constant, pays=False)
    search = case.search(Fit(case.tolerance, case.most_offset, case.by_class), most)
    found = case.line(search, constant, flat, rows)
    region = case.certified(found.line, flat, limit=MOST_TIMES * one)
    larger = bool(region) and region.log10_share >= flat.log10_share + PAYS
    if larger and not is_flat(region):
        said = _said_to_be_unsure(region, case.unsure(search, found))
        return Refit(said[0], flat, found.line, True, said[1])
    if larger:  # a constant holds there as well: the first one was not the best
        constant, flat, region = case.better_constant(constant, flat, region, limit=MOST_TIMES * one)
    spent = replace(flat, evaluations=region.evaluations, calls=region.calls, attempts=region.attempts)
    return Refit(_said_to_be_flat(spent, constant), flat, constant, pays=False)


def best_constant(problem: Problem, *, settings: Settings, validation_data: Any = None) -> GuaranteeRegion:
    """The region of the best admissible constant that was found for a problem."""
    _, region = _Case(*scalar_problem(problem), settings, most_offset=0.5).best_constant()
    if validation_data is None:
        return region
    rows = region.on_rows(validation_data)
    return replace(region, validation=rows, evaluations=region.evaluations + problem.rows_each * rows.rows)


def is_flat(region: GuaranteeRegion) -> bool:
    """Whether a constant does as well in a region: under the class rule, in the class."""
    return region.worth is not None and region.worth.flat


def scalar_problem(problem: Problem) -> tuple[Problem, float]:
    """A problem about one number a row, and the model's at the instance.

    Of several scores, it is that of the class that was explained.

    Raises
    ------
    InvalidInputError
        If no line can be fitted to it.
    """
    explained = problem.explained
    if explained is not None and explained.space == "presence":
        raise InvalidInputError(
            "refit: words and superpixels are there or removed, so there is no side of a box to move and no "
            "slope to fit; LIME's line over all combinations is what there is. Refit rows of tables."
        )
    if not isinstance(problem.agreement, SameClass | SameValue | SameChange):
        raise InvalidInputError(
            "agreement: a refit needs SameClass, SameValue or SameChange, whose tolerance it fits to; got "
            f"{type(problem.agreement).__name__}."
        )
    row = problem.domain.row(problem.instance)
    at_home = problem.model_answers(row[np.newaxis])
    asked = replace(problem, evaluations=problem.evaluations + problem.rows_each, calls=problem.calls + 1)
    if at_home.ndim == 1:
        return asked, float(at_home[0])
    label = None if explained is None else explained.label
    column = int(at_home[0].argmax()) if label is None else label
    return replace(asked, model=Column(problem.model, column)), float(at_home[0, column])


@dataclass(frozen=True, eq=False)
class Column:
    """One of a model's outputs."""

    model: Predictor
    column: int

    def __call__(self, X: AnyArray) -> FloatArray:
        return np.asarray(self.model(X))[:, self.column]


class _Case:
    """A problem that is refitted: what was asked, and what is known by now."""

    def __init__(self, problem: Problem, at_home: float, settings: Settings, most_offset: float) -> None:
        self.problem, self.at_home, self.settings = problem, at_home, settings
        self.by_class = isinstance(problem.agreement, SameClass)
        self.tolerance: float = problem.agreement.tolerance  # type: ignore[attr-defined]
        change = isinstance(problem.agreement, SameChange)
        self.most_offset = 0.0 if change else most_offset * self.tolerance
        self.rule = SameClass(self.tolerance) if self.by_class else SameValue(self.tolerance)
        row = problem.domain.row(problem.instance)
        domain, _ = problem.domain.including(row)
        home = domain.encode(row[np.newaxis])[0]
        # No stream that a search or a certifier sees: these spawn the first two.
        rng = np.random.default_rng(settings.random_state).spawn(3)[2]
        self.seeds: list[int] = rng.integers(2**31, size=3).tolist()
        self.spent, self.calls = 0, problem.calls
        cube = chosen_measure(settings.measure, domain, presence=False).cube(domain, home)
        self.pool = Pool(problem.model_answers, cube, rng, problem.batch_rows or BATCH_ROWS)
        scale = np.array([1.0 if axis.constant else axis.high - axis.low for axis in domain.axes])
        self.blank = Line(domain, home, scale, self.at_home, 0.0, np.zeros(len(domain)))

    def search(self, fit: Fit, most_features: int) -> LineSearch:
        """A search for a line that is faithful by the rule of the problem."""
        return LineSearch(self.pool, self.rule, fit, most_features)

    def best_constant(self) -> tuple[Line, GuaranteeRegion]:
        """The best admissible constant that was found, and its region."""
        constant = self.blank
        if self.by_class:  # the nearer to the border it is, the more it holds
            border = 0.5 if self.at_home >= 0.5 else float(np.nextafter(0.5, 0.0))
            constant = replace(self.blank, offset=border - self.at_home)
        elif self.most_offset:
            search = self.search(Fit(self.tolerance, MOST_OFFSET * self.tolerance), 0)
            box = search.first_box(self.blank)
            rows = min(FIRST_ROWS, self._limit(10 * FIRST_ROWS) // 10)
            constant = search.run(Candidate(self.blank, box), rows, FIRST_ROUNDS).line
        limit = self.settings.max_evaluations
        return constant, self._region(constant, None if limit is None else limit // 2, attempts=0)

    def line(self, search: LineSearch, constant: Line, flat: GuaranteeRegion, rows: int) -> Candidate:
        """The line, from the constant and its box on."""
        box = bounding_box(flat.certified_shape("refit"))
        self.pool.move_to(box.cube)
        offset = float(np.clip(constant.offset, -self.most_offset, self.most_offset))
        return search.run(Candidate(replace(constant, offset=offset), box), rows, ROUNDS)

    def room(self, limit: int) -> int:
        """How many rows a limit leaves for fitting, if a region is still to be certified."""
        return self._limit(limit) - self._before - 2 * self.problem.rows_each * self._fewest

    @property
    def _before(self) -> int:
        """Rows of the model that were asked by now."""
        return self.problem.evaluations + self.pool.asked * self.problem.rows_each + self.spent

    @property
    def _fewest(self) -> int:
        settings = self.settings
        return fewest_evaluations(settings.purity, settings.confidence, settings.certifier)

    def _limit(self, limit: int) -> int:
        asked = self.settings.max_evaluations
        return limit if asked is None else min(limit, asked)

    def certified(self, line: Line, before: GuaranteeRegion, limit: int) -> GuaranteeRegion:
        """The region of another line, from what an earlier one has left of the error budget."""
        return self._region(line, self._limit(limit), before.attempts)

    def better_constant(
        self, constant: Line, flat: GuaranteeRegion, region: GuaranteeRegion, limit: int
    ) -> tuple[Line, GuaranteeRegion, GuaranteeRegion]:
        """The constant that does as well as the line in its region, if it can still be certified.

        Returns the better constant, its region, and the region that was certified last.
        """
        assert region.worth is not None
        if self.by_class or region.worth.constant is None or self.room(limit) < 0:
            return constant, flat, region
        other = replace(constant, offset=region.worth.constant - self.at_home)
        last = self.certified(other, region, limit)
        return (other, last, last) if last.log10_share > flat.log10_share else (constant, flat, last)

    def _region(self, line: Line, limit: int | None, attempts: int) -> GuaranteeRegion:
        """The region of a line. Every one has a seed of its own: no draw serves two of them."""
        before = self._before
        problem = replace(
            with_line(self.problem, line), evaluations=before, calls=self.calls + self.pool.calls
        )
        settings = self.settings.but(max_evaluations=limit, random_state=self.seeds.pop())
        region = region_after(problem, settings, attempts)
        self.spent += region.evaluations - before
        self.calls = region.calls - self.pool.calls
        return replace(region, settings=self.settings.recorded)

    def unsure(self, search: LineSearch, found: Candidate) -> tuple[str, ...]:
        """The features whose weights differ much, or in sign, between draws of the same kind."""
        weights = search.resampled(found, RESAMPLES)
        spread, own = weights.std(axis=0), np.abs(found.line.weights)
        names = self.problem.domain.names
        return tuple(names[i] for i in found.line.features.tolist() if spread[i] > UNSURE * own[i])


def with_line(problem: Problem, line: Line) -> Problem:
    """The problem with a line for its surrogate."""
    surrogate, explained, agreement = line.surrogate(), problem.explained, problem.agreement
    if isinstance(agreement, SameChange):
        agreement = SameChange(agreement.tolerance, line.at_home, line.intercept)
    if explained is not None:
        explained = replace(
            explained,
            kind=f"{explained.kind}, refitted",
            model_at_instance=(line.at_home,),
            surrogate_at_instance=(line.intercept,),
            weights=tuple(line.weights.tolist()),
            notes=(),
            options={},
        )
    return replace(problem, surrogate=surrogate, explained=explained, agreement=agreement)


def most_features(problem: Problem, num_features: int | None) -> int:
    """The most features of a line."""
    width = len(problem.domain)
    if num_features is not None:
        return min(check_count("num_features", num_features), width)
    return width if problem.explained is None else int(np.count_nonzero(problem.explained.weights)) or width


def _said_to_be_flat(flat: GuaranteeRegion, constant: Line) -> GuaranteeRegion:
    """The constant's region, with a note that says why it is the constant's."""
    note = (
        "Refit: the model is flat here. No line was found that pays: that has a region twice as large as the "
        f"constant's, {constant.intercept:.4g}, and a gain over every constant there."
    )
    return replace(flat, notes=(*flat.notes, note))


def _said_to_be_unsure(
    region: GuaranteeRegion, unsure: tuple[str, ...]
) -> tuple[GuaranteeRegion, tuple[str, ...]]:
    """The line's region, with a note on the weights that are not identified."""
    if not unsure:
        return region, unsure
    note = f"Refit: other draws give other weights, with the same answers, to: {', '.join(unsure)}."
    return replace(region, notes=(*region.notes, note)), unsure
