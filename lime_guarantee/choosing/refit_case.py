"""One problem that is refitted: what was asked of the model by now, and what is certified from one budget."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lime_guarantee.api import region_after
from lime_guarantee.choosing.line_fit import Fit
from lime_guarantee.choosing.line_search import Candidate, LineSearch, Pool
from lime_guarantee.engine.certify.limit import fewest_evaluations
from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.engine.session import bounding_box
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.agreement import SameChange, SameClass, SameValue
from lime_guarantee.problem.line import Line, line_of
from lime_guarantee.problem.problem import Predictor, Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.settings import Settings
from lime_guarantee.space.box import Box
from lime_guarantee.space.measure import chosen_measure
from lime_guarantee.support.arrays import AnyArray, FloatArray

MOST_OFFSET = 0.7
"""How far the constant may be from the model at the instance, in tolerances; beyond, it nearly fails."""

FIRST_ROWS, FIRST_ROUNDS = 2_000, 10
"""What is asked to choose the constant, and in how many batches."""

ROUNDS = 16
"""The batches in which a line is fitted."""

LOOKED_AT, FEWEST_HELD = 200, 0.2
"""So many draws from the constant's box are looked at. An explanation's own line that holds on less than this
share of them is not tried: its region would be smaller."""

RESAMPLES = 20
"""How often the line is fitted to the draws resampled, to see which of its weights are identified."""

UNSURE = 0.5
"""A weight that varies by more than this share of itself between resamples is not identified."""


@dataclass(frozen=True, eq=False)
class Certified:
    """A line, and the region that was certified for it; that may be none."""

    line: Line
    region: GuaranteeRegion

    @property
    def size(self) -> float:
        """The logarithm of the region's share; minus infinity if there is none."""
        return self.region.log10_share if self.region else -np.inf

    @property
    def box(self) -> Box:
        """The region as a box."""
        return bounding_box(self.region.certified_shape("refit"))

    @property
    def flat(self) -> bool:
        """Whether a constant does as well in the region: under the class rule, in the class."""
        return self.region.worth is not None and self.region.worth.flat


class RefitCase:
    """A problem that is refitted: what was asked, and what is known by now.

    All regions are paid for from one error budget, in the order in which they are certified.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    most_offset : float
        How far a line may be from the model at the instance, in tolerances.
    most_features : int
        The most features of a line.
    """

    def __init__(
        self, problem: Problem, settings: Settings, most_offset: float, most_features: int = 0
    ) -> None:
        self.problem, at_home, self.column = scalar_problem(problem)
        self.settings, self.most_features = settings, most_features
        self.by_class = isinstance(problem.agreement, SameClass)
        self.tolerance: float = problem.agreement.tolerance  # type: ignore[attr-defined]
        change = isinstance(problem.agreement, SameChange)
        self.most_offset = 0.0 if change else most_offset * self.tolerance
        row = problem.domain.row(problem.instance)
        domain, _ = problem.domain.including(row)
        home = domain.encode(row[np.newaxis])[0]
        # No stream that a search or a certifier sees: these spawn the first two.
        rng = np.random.default_rng(settings.random_state).spawn(3)[2]
        self.seeds: list[int] = rng.integers(2**31, size=4).tolist()
        self.spent, self.calls, self.attempts = 0, self.problem.calls, 0
        cube = chosen_measure(settings.measure, domain, presence=False).cube(domain, home)
        ask = self.problem.model_answers
        self.pool = Pool(ask, cube, rng, problem.batch_rows or BATCH_ROWS)
        scale = np.array([1.0 if axis.constant else axis.high - axis.low for axis in domain.axes])
        self.blank = Line(domain, home, scale, at_home, 0.0, np.zeros(len(domain)))
        self.search = self._search(Fit(self.tolerance, self.most_offset, self.by_class), most_features)

    def _search(self, fit: Fit, most_features: int) -> LineSearch:
        """A search for a line that is faithful by the rule of the problem."""
        rule = SameClass(self.tolerance) if self.by_class else SameValue(self.tolerance)
        return LineSearch(self.pool, rule, fit, most_features)

    def best_constant(self) -> Certified:
        """The best admissible constant that was found, and its region."""
        constant, at_home = self.blank, self.blank.at_home
        if self.by_class:  # the nearer to the border it is, the more it holds
            border = 0.5 if at_home >= 0.5 else float(np.nextafter(0.5, 0.0))
            constant = replace(self.blank, offset=border - at_home)
        elif self.most_offset:
            search = self._search(Fit(self.tolerance, MOST_OFFSET * self.tolerance), 0)
            box = search.first_box(self.blank)
            rows = min(FIRST_ROWS, self._limit(10 * FIRST_ROWS) // 10)
            constant = search.run(Candidate(self.blank, box), rows, FIRST_ROUNDS).line
        limit = self.settings.max_evaluations
        return self.certified(constant, None if limit is None else limit // 2)

    def own_line(self) -> Line | None:
        """The explanation's own line, if it is one.

        Where it misses the model at the instance by more than a line may, it is moved to the model's answer.
        """
        own = line_of(self.problem.surrogate, self.blank, self.column)
        if own is None or not 0 < own.features.size <= self.most_features:
            return None
        near = abs(own.offset) <= self.most_offset
        if self.by_class and self.most_offset:
            near = bool(self.search.faithful(np.array([own.at_home]), np.array([own.intercept]))[0])
        return own if near else replace(own, offset=0.0)

    def own(self, constant: Certified, limit: int) -> Certified | None:
        """The explanation's own line with its region, unless it fails nearly everywhere in the constant's.

        Parameters
        ----------
        constant : Certified
        limit : int
            On all evaluations up to then.
        """
        line = self.own_line()
        if line is None or self.room(limit) < LOOKED_AT:
            return None
        self.pool.move_to(constant.box.cube)
        if self.search.share_held(line, constant.box, LOOKED_AT) < FEWEST_HELD:
            return None
        return self.certified(line, limit)

    def fitted(self, start: Certified, rows: int) -> Candidate:
        """A line fitted to draws, from a line and its box on."""
        box, line = start.box, start.line
        self.pool.move_to(box.cube)
        offset = float(np.clip(line.offset, -self.most_offset, self.most_offset))
        return self.search.run(Candidate(replace(line, offset=offset), box), rows, ROUNDS)

    def better_constant(self, constant: Certified, line: Certified, limit: int) -> Certified:
        """The constant that does as well as a line in its region, if it can be certified and is larger."""
        assert line.region.worth is not None
        value = line.region.worth.constant
        if self.by_class or value is None or self.room(limit) < 0:
            return constant
        other = replace(constant.line, offset=value - constant.line.at_home)
        return max(constant, self.certified(other, limit), key=lambda one: one.size)

    @property
    def asked(self) -> int:
        """Rows of the model that were asked by now."""
        return self.problem.evaluations + self.pool.asked * self.problem.rows_each + self.spent

    def room(self, limit: int) -> int:
        """How many rows a limit leaves for fitting, if a region is still to be certified."""
        settings = self.settings
        fewest = fewest_evaluations(settings.purity, settings.confidence, settings.certifier)
        return self._limit(limit) - self.asked - 2 * self.problem.rows_each * fewest

    def _limit(self, limit: int) -> int:
        asked = self.settings.max_evaluations
        return limit if asked is None else min(limit, asked)

    def certified(self, line: Line, limit: int | None) -> Certified:
        """A line with its region. Every one has a seed of its own: no draw serves two of them."""
        before, limit = self.asked, self.settings.max_evaluations if limit is None else self._limit(limit)
        problem = replace(
            with_line(self.problem, line), evaluations=before, calls=self.calls + self.pool.calls
        )
        settings = self.settings.but(max_evaluations=limit, random_state=self.seeds.pop())
        region = region_after(problem, settings, self.attempts)
        self.spent += region.evaluations - before
        self.calls, self.attempts = region.calls - self.pool.calls, region.attempts
        return Certified(line, replace(region, settings=self.settings.recorded))

    def counted(self, region: GuaranteeRegion) -> GuaranteeRegion:
        """A region with all that was asked and tried, for it and for others."""
        calls = self.calls + self.pool.calls
        return replace(region, evaluations=self.asked, calls=calls, attempts=self.attempts)

    def unsure(self, found: Candidate) -> tuple[str, ...]:
        """The features whose weights differ much, or in sign, between draws of the same kind."""
        self.pool.move_to(found.box.cube)
        weights = self.search.resampled(found, RESAMPLES)
        spread, own = weights.std(axis=0), np.abs(found.line.weights)
        names = self.problem.domain.names
        return tuple(names[i] for i in found.line.features.tolist() if spread[i] > UNSURE * own[i])


def scalar_problem(problem: Problem) -> tuple[Problem, float, int | None]:
    """A problem about one number a row, the model's at the instance, and its position among several.

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
        return asked, float(at_home[0]), None
    label = None if explained is None else explained.label
    column = int(at_home[0].argmax()) if label is None else label
    return replace(asked, model=Column(problem.model, column)), float(at_home[0, column]), column


@dataclass(frozen=True, eq=False)
class Column:
    """One of a model's outputs."""

    model: Predictor
    column: int

    def __call__(self, X: AnyArray) -> FloatArray:
        return np.asarray(self.model(X))[:, self.column]


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
