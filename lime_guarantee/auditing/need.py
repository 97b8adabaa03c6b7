"""What is needed to tell a model's answers to real rows, left as they are, beside what an explanation claims.

A forest, the student, learns the model's answers from some real rows and is asked about others. A second one
learns the same without being told one feature. Where it does much worse, that feature is needed, whatever
the model does with rows that are made up: no such row is asked. A feature that others can stand in for is not
needed, so nobody is accused for a feature that goes with what the model uses.

Rows come in a random order. Students learn from the first third and are tested on the second, then learn from
both and are tested on the last: every test is on rows that are new to its students, so the bound on what is
lost holds for any model and any student (a gambler's wealth, row after row; see `mean_interval`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from lime_guarantee.auditing.real_rows import FEW_VALUES
from lime_guarantee.engine.certify.bounds import BETS
from lime_guarantee.support.arrays import AnyArray, FloatArray, IntArray

PARTS = 3
"""Parts of the rows: students are tested on all but the first."""

TREES = 30

FEWEST_ROWS = 60
"""With fewer rows to be tested on, nothing is said."""

NEARBY = 150
"""Rows around the instance on which students are tested; a second time they are tested on all."""

CANDIDATES, FEWEST_USED = 4, 0.02
"""Features looked at: those that the first student uses most beyond what is claimed, so many, and so much.
They have at most `FEW_VALUES` values: of a number, an explanation speaks of how it is here, and need of all
that it is elsewhere."""

WEIGHT = 7 / 3
"""What a unit of need counts in honesty: more than one of reliance, because a feature is needed only as far
as no others can stand in for it. A gap of 0.15 is then one of 0.35, which `Rules.min_honesty` allows."""

SHARES = np.linspace(0.0, 1.0, 101)
"""Shares among which a bound is looked for."""


@dataclass(frozen=True)
class Need:
    """How far one feature is needed to tell the model's answers to real rows.

    Parameters
    ----------
    feature : int
        Its position.
    share : float
        Of the variance of the model's answers, what a student loses that is not told the feature.
    lower : float
        The share is at least this on rows like these.
    claimed : float
        What the explanation claims of the feature, as a share of variance: its share of the squared weights.
    rows : int
        Rows that students were tested on.
    nearby : bool
        Whether these are the nearest to the instance; else they are all that were new to the students.
    """

    feature: int
    share: float
    lower: float
    claimed: float
    rows: int
    nearby: bool

    @property
    def honesty(self) -> float:
        """From 0 to 1: the less, the more the feature is needed beyond doubt and beyond what is claimed."""
        return float(np.clip(1.0 - WEIGHT * (self.lower - self.claimed), 0.0, 1.0))


class Students:
    """Forests that learn a model's answers to real rows, with all features, or without one.

    Parameters
    ----------
    rows : array of shape (n, D)
        Numbers; of categories, their codes.
    answers : array of shape (n, K)
        The model's.
    """

    def __init__(self, rows: AnyArray, answers: FloatArray) -> None:
        self.rows, self.answers = np.asarray(rows, dtype=np.float32), answers
        order = np.random.default_rng(0).permutation(len(rows))
        self.parts: list[IntArray] = np.array_split(order, PARTS)
        self.used = np.zeros(rows.shape[1])
        self._told: dict[int | None, FloatArray] = {}
        low, high = (end(answers[self.parts[0]], axis=0) for end in (np.min, np.max))
        self.low, self.range = low, np.where(high > low, high - low, 1.0)

    @property
    def part(self) -> IntArray:
        """Of every row, the part that it is in."""
        part = np.empty(len(self.rows), dtype=np.int64)
        for number, places in enumerate(self.parts):
            part[places] = number
        return part

    @cached_property
    def of_few_values(self) -> frozenset[int]:
        """Features with so few values that each of them can be looked at."""
        return frozenset(i for i, column in enumerate(self.rows.T) if np.unique(column).size <= FEW_VALUES)

    def told(self, without: int | None = None) -> FloatArray:
        """What students say of all rows, learnt from the parts before; NaN for the first part.

        Parameters
        ----------
        without : int, optional
            A feature that they are not told.
        """
        if without not in self._told:
            self._told[without] = self._learnt(without)
        return self._told[without]

    def _learnt(self, without: int | None) -> FloatArray:
        from sklearn.ensemble import RandomForestRegressor

        columns = [i for i in range(self.rows.shape[1]) if i != without]
        told = np.full(self.answers.shape, np.nan)
        for number in range(1, PARTS):
            before = np.concatenate(self.parts[:number])
            forest = RandomForestRegressor(TREES, random_state=0, n_jobs=1)
            target = self.answers[before]
            forest.fit(self.rows[before][:, columns], target[:, 0] if target.shape[1] == 1 else target)
            here = self.parts[number]
            told[here] = forest.predict(self.rows[here][:, columns]).reshape(here.size, -1)
            if without is None and number == 1:
                self.used = forest.feature_importances_
        return told

    def scaled(self, values: FloatArray, column: int) -> FloatArray:
        """Answers from 0 to 1, by their range in the first part; what lies beyond is cut."""
        return np.asarray(np.clip((values[:, column] - self.low[column]) / self.range[column], 0.0, 1.0))


def measure_needs(
    students: Students,
    nearest: IntArray,
    column: int,
    claimed: FloatArray,
    error: float,
    hardly: float,
    first: int | None = None,
) -> tuple[Need, ...]:
    """How far the features are needed that an explanation may claim too little of; the worst first.

    Parameters
    ----------
    students : Students
    nearest : array of int
        Places of the rows that may be looked at, the nearest to the instance first.
    column : int
        Which of the answers is explained.
    claimed : array of shape (D,)
        Shares of variance.
    error : float
        The probability that any lower bound is too high.
    hardly : float
        An answer that differs by less hardly differs.
    first : int or None
        The feature that the explanation names first: it is not denied, and not looked at.
    """
    part = students.part
    tested = nearest[part[nearest] > 0]
    if tested.size < FEWEST_ROWS:
        return ()
    able = students.of_few_values - {first}
    if not able:
        return ()
    full = students.told()
    order = np.argsort(claimed - students.used, kind="stable").tolist()
    chosen = [i for i in order if i in able][:CANDIDATES]
    chosen = [i for i in chosen if students.used[i] >= FEWEST_USED]
    scales = [(True, tested[:NEARBY])] if tested.size > NEARBY else []
    scales.append((False, tested))
    level = error / (CANDIDATES * len(scales))
    found = []
    for nearby, places in scales:
        truth = students.scaled(students.answers[places], column)
        middle = _middles(students, nearest, part, places, column, nearby)
        spread = np.minimum(_loss(truth, middle) + (hardly / students.range[column]) ** 2, 1.0)
        with_it = _loss(truth, students.scaled(full[places], column))
        for i in chosen:
            lost = _loss(truth, students.scaled(students.told(i)[places], column)) - with_it
            share = float(np.clip(lost.mean() / spread.mean(), 0.0, 1.0))
            lower = min(_share_lower(lost, spread, level), share)
            found.append(Need(i, share, lower, float(claimed[i]), places.size, nearby))
    return tuple(sorted(found, key=lambda need: need.claimed - need.lower))


def _middles(
    students: Students, nearest: IntArray, part: IntArray, places: IntArray, column: int, nearby: bool
) -> FloatArray:
    """For every row tested, the mean answer to rows that its students have learnt from, near or anywhere."""
    middles = np.empty(places.size)
    for number in range(1, PARTS):
        before = nearest[part[nearest] < number]
        if nearby:
            before = before[:NEARBY]
        known = students.scaled(students.answers[before], column)
        middles[part[places] == number] = known.mean() if before.size else 0.5
    return middles


def _loss(truth: FloatArray, told: FloatArray) -> FloatArray:
    """Squared errors, in units of half the range; a larger error counts as that much."""
    return np.asarray(np.minimum(2.0 * np.abs(truth - told), 1.0) ** 2)


def _share_lower(lost: FloatArray, spread: FloatArray, level: float) -> float:
    """The largest share s for which the mean of lost - s * spread is above 0, beyond doubt; at least 0.

    Both are at most 1, and lost at least -1. The gambler is the one of `mean_interval`; here he bets against
    one mean for every s.
    """
    least = 1.0 + SHARES  # what lost - s * spread never falls below, with its sign turned
    won = np.log1p(BETS * ((lost - np.outer(SHARES, spread)) / least[:, np.newaxis])[:, :, np.newaxis]).sum(
        axis=1
    )
    shown = special.logsumexp(won, axis=1) - np.log(BETS.size) >= -np.log(level)
    first_not_shown = SHARES.size if shown.all() else int(np.argmin(shown))
    return float(SHARES[max(first_not_shown - 1, 0)])
