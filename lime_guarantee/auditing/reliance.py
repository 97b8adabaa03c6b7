"""What a model relies on, measured on real rows near an instance, beside what an explanation claims.

A real row is taken, one of its cells is replaced by that of a row which is alike in the other features, and
the model is asked about both: how much does its answer change? The swapped rows still look like data, so a
model that tells real rows from made-up ones is seen at its work on real ones.

Rows and donors are drawn here, at random, and each drawn row counts as one draw: its changes, feature by
feature, become shares between 0 and 1. So every mean below is the mean of independent, bounded draws, and has
an interval that holds for any model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.auditing.real_rows import RealRows, apart
from lime_guarantee.engine.certify.bounds import mean_interval
from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.problem.problem import Problem
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.tables import plain
from lime_guarantee.support.arrays import AnyArray, FloatArray, IntArray

NEAREST = 30
"""Rows around the instance from which rows are drawn: so many of the data, and of the audited rows."""

LOOKS = (60, 120)
"""Rows that are drawn, each with a swap of every feature: at first, and more if that did not decide."""

DONORS = 15
"""A cell comes from one of so many rows that are most alike in the other features."""

POOL, MOST_CELLS = 1_000, 6_000_000
"""Rows among which donors are looked for: the nearest to the instance, so many and so many cells at most."""

SHOWN_SWAPS = 3

Interval = tuple[float, float]


@dataclass(frozen=True)
class Swap:
    """A real row, the same row with one cell of another, and what the model says about both.

    Parameters
    ----------
    row, swapped : tuple
        Raw values.
    change : float
        How much the model's answer changes.
    """

    row: tuple[Any, ...]
    swapped: tuple[Any, ...]
    change: float


@dataclass(frozen=True)
class Reliance:
    """What a model relies on near an instance, and what its explanation claims.

    Parameters
    ----------
    shares : tuple of float
        Of every feature: its share of how much the model's answer changes when cells are swapped, in the
        mean over the rows drawn. Where the answer hardly changes, all shares are small.
    intervals : tuple of pairs of float
        Of the shares, in the mean over all rows and swaps that could have been drawn.
    claimed : tuple of float
        What the explanation claims of every feature: its share of the weight. Of attributions, such as SHAP
        values, it is the larger of this and of the feature's share of how much the surrogate's own answer
        changes under the same swaps: an attribution is 0 where the value is average, though the feature
        matters.
    gap_intervals : tuple of pairs of float
        Of share minus claim.
    changes : tuple of float
        How much the model's answer changes in the mean when the feature is swapped.
    draws : int
        Rows drawn.
    real : bool
        Whether they are real rows; else they were drawn from the measure, because no data are known.
    confidence : float
        The probability with which all lower ends hold together, and all upper ends, too.
    examples : tuple of Swap
        Swaps of the feature that is under-claimed most, the greatest change first.
    evaluations : int
        Rows that were asked of the model: those that are drawn twice count once.
    """

    shares: tuple[float, ...]
    intervals: tuple[Interval, ...]
    claimed: tuple[float, ...]
    gap_intervals: tuple[Interval, ...]
    changes: tuple[float, ...]
    draws: int
    real: bool
    confidence: float
    examples: tuple[Swap, ...] = ()
    evaluations: int = 0

    @property
    def gaps(self) -> tuple[float, ...]:
        """Share minus claim: above 0 the feature is under-claimed, below 0 over-claimed."""
        return tuple(share - claim for share, claim in zip(self.shares, self.claimed, strict=True))

    @property
    def worst(self) -> int:
        """The position of the feature that is under-claimed most."""
        return int(np.argmax(self.gaps))

    @property
    def honesty(self) -> float:
        """From 0 to 1: 1 minus the most that a feature is relied on beyond its share of the weight."""
        return float(np.clip(1.0 - self.gaps[self.worst], 0.0, 1.0))

    @property
    def honesty_interval(self) -> Interval:
        """Each end holds with probability `confidence`."""
        low, high = (max(ends) for ends in zip(*self.gap_intervals, strict=True))
        return float(np.clip(1.0 - high, 0.0, 1.0)), float(np.clip(1.0 - low, 0.0, 1.0))

    def under_claimed(self, by: float) -> tuple[int, ...]:
        """Positions of features that are shown to be relied on more than claimed, by more than this."""
        found = [i for i, (low, _) in enumerate(self.gap_intervals) if low > by]
        return tuple(sorted(found, key=lambda i: -self.gaps[i]))

    def over_claimed(self, by: float) -> tuple[int, ...]:
        """Positions of features that are shown to be claimed more than relied on, by more than this."""
        found = [i for i, (_, high) in enumerate(self.gap_intervals) if high < -by]
        return tuple(sorted(found, key=lambda i: self.gaps[i]))


class Donors:
    """For every base and feature, the rows of a pool that are most alike in the other features.

    Parameters
    ----------
    bases, pool : arrays of shape (n, D)
        Rows, as `Domain.encode` gives them.
    domain : Domain
    """

    def __init__(self, bases: FloatArray, pool: FloatArray, domain: Domain) -> None:
        self.bases, self.pool = bases, pool
        self.lengths = apart(bases, pool, domain)
        self.total = self.lengths.sum(axis=2)

    def alike(self, i: int) -> tuple[IntArray, IntArray]:
        """Of every base, rows with another value of feature i, the most alike first, and their number."""
        differs = self.pool[:, i] != self.bases[:, i, np.newaxis]
        elsewhere = np.where(differs, self.total - self.lengths[:, :, i], np.inf)
        order = np.argsort(elsewhere, axis=1, kind="stable")[:, :DONORS]
        return np.asarray(order), np.asarray(np.minimum(differs.sum(axis=1), DONORS))


def swap_cells(bases: FloatArray, pool: FloatArray, domain: Domain, rng: np.random.Generator) -> FloatArray:
    """For every base and feature, the value that the feature gets from a row alike in the other features.

    Parameters
    ----------
    bases, pool : arrays of shape (n, D)
        Rows, as `Domain.encode` gives them.
    domain : Domain
    rng : Generator

    Returns
    -------
    array of shape (n, D)
        A base's own value, where no row has another one.
    """
    donors, places, cells = Donors(bases, pool, domain), np.arange(len(bases)), bases.copy()
    for i in range(bases.shape[1]):
        alike, known = donors.alike(i)
        chosen = alike[places, (rng.random(len(bases)) * known).astype(np.int64)]
        cells[:, i] = np.where(known > 0, pool[chosen, i], bases[:, i])
    return cells


def ask_swaps(
    answer: Callable[[AnyArray], FloatArray],
    bases: FloatArray,
    cells: FloatArray,
    domain: Domain,
    label: int | None = None,
    batch_rows: int = BATCH_ROWS,
) -> tuple[FloatArray, int]:
    """How much an answer to every base changes when each of its cells is replaced.

    Parameters
    ----------
    answer : callable
        Maps rows of raw values to numbers, or to rows of scores.
    bases, cells : arrays of shape (n, D)
    domain : Domain
    label : int, optional
        The score to look at; by default, all of them.
    batch_rows : int
        The most rows to ask about at once.

    Returns
    -------
    changes : array of shape (n, D)
    asked : int
        Rows that were asked: each once, however often it comes.
    """
    count, dims = bases.shape
    rows = np.repeat(bases[np.newaxis], dims + 1, axis=0)
    for i in range(dims):
        rows[i + 1, :, i] = cells[:, i]
    different, place = np.unique(rows.reshape(-1, dims), axis=0, return_inverse=True)
    raw = domain.decode(different)
    asked = [answer(raw[start : start + batch_rows]) for start in range(0, len(raw), batch_rows)]
    answers = np.concatenate(asked)[place.ravel()]
    if answers.ndim == 2 and label is not None:
        answers = answers[:, label]
    answers = answers.reshape(dims + 1, count, *answers.shape[1:])
    changes = np.abs(answers[1:] - answers[0])
    if changes.ndim == 3:
        changes = changes.sum(axis=2) / 2.0  # of probabilities, how much of them moves
    return np.asarray(changes.T), len(raw)


def row_shares(changes: FloatArray, tolerance: float) -> FloatArray:
    """Every feature's share of the changes, row by row; where little changes in all, the shares are small."""
    total = np.maximum(changes.sum(axis=1, keepdims=True), tolerance)
    return np.asarray(changes / total)


def measure_reliance(
    problem: Problem,
    known: RealRows,
    weights: FloatArray,
    error: float,
    rng: np.random.Generator,
    *,
    min_honesty: float = 1.0,
    real: bool = True,
    batch_rows: int = BATCH_ROWS,
) -> Reliance:
    """Measure what the model relies on, on rows near the instance, beside what the explanation claims.

    Parameters
    ----------
    problem : Problem
    known : RealRows
        At least two.
    weights : array of shape (D,)
    error : float
        The probability that any lower end of an interval is too high; and that any upper end is too low.
    rng : Generator
    min_honesty : float
        More rows are drawn if the first do not decide whether the honesty is above or below this.
    real : bool
        Whether the rows are real ones.
    batch_rows : int
        The most rows that the model is asked at once.
    """
    total = np.abs(weights).sum()
    weight_shares = np.abs(weights) / total if total > 0 else np.zeros(weights.size)
    level = 2.0 * error / (len(LOOKS) * weights.size)
    drawn = _Drawn(problem, known, batch_rows)
    for count in LOOKS:
        drawn.add(count, rng)
        shares = row_shares(drawn.changes, _tolerance(problem, drawn.changes))
        low, high = mean_interval(shares, level)
        claimed, gap_low, gap_high = weight_shares, low - weight_shares, high - weight_shares
        if drawn.claims is not None:
            theirs = row_shares(drawn.claims, _tolerance(problem, drawn.changes))
            claimed = np.maximum(claimed, theirs.mean(axis=0))
            ends = mean_interval((shares - theirs + 1.0) / 2.0, level)
            gap_low, gap_high = (
                np.minimum(gap, 2.0 * end - 1.0) for gap, end in zip((gap_low, gap_high), ends, strict=True)
            )
        if np.max(gap_low) > 1.0 - min_honesty or np.max(gap_high) <= 1.0 - min_honesty:
            break
    worst = int(np.argmax(shares.mean(axis=0) - claimed))
    return Reliance(
        shares=_floats(shares.mean(axis=0)),
        intervals=tuple(zip(_floats(low), _floats(high), strict=True)),
        claimed=_floats(claimed),
        gap_intervals=tuple(zip(_floats(gap_low), _floats(gap_high), strict=True)),
        changes=_floats(drawn.changes.mean(axis=0)),
        draws=len(drawn.bases),
        real=real,
        confidence=1.0 - error,
        examples=decoded_swaps(drawn.bases, drawn.cells, drawn.changes[:, worst], worst, known.domain),
        evaluations=drawn.asked,
    )


class _Drawn:
    """Rows drawn so far, the cells they get, and how much the answers of model and surrogate change."""

    def __init__(self, problem: Problem, known: RealRows, batch_rows: int) -> None:
        self.problem, self.known, self.batch_rows = problem, known, batch_rows
        self.bases = self.cells = self.changes = np.empty((0, len(known.domain)))
        attributions = problem.explained is not None and problem.explained.attributions
        self.claims: FloatArray | None = self.changes if attributions else None
        self.asked = 0

    def add(self, count: int, rng: np.random.Generator) -> None:
        """Draw so many more, and ask about them."""
        known, problem = self.known, self.problem
        bases = _bases(known, count, rng)
        most = max(DONORS, MOST_CELLS // bases.size)
        cells = swap_cells(bases, known.coordinates[: min(POOL, most)], known.domain, rng)
        label = None if problem.explained is None else problem.explained.label
        given = (bases, cells, known.domain, label, self.batch_rows)
        changes, asked = ask_swaps(problem.model_answers, *given)
        self.changes, self.asked = np.concatenate([self.changes, changes]), self.asked + asked
        if self.claims is not None:
            claims, _ = ask_swaps(problem.surrogate_answers, *given)
            self.claims = np.concatenate([self.claims, claims])
        self.bases, self.cells = np.concatenate([self.bases, bases]), np.concatenate([self.cells, cells])


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.tolist())


def _bases(known: RealRows, count: int, rng: np.random.Generator) -> FloatArray:
    """Rows drawn near the instance: about half of them from the audited rows, where there are any."""
    audited = np.flatnonzero(known.audited)[:NEAREST]
    data = np.flatnonzero(~known.audited)[:NEAREST]
    if audited.size == 0 or data.size == 0:
        drawn = rng.choice(np.concatenate([audited, data]), count)
    else:
        either = rng.random(count) < 0.5
        drawn = np.where(either, rng.choice(audited, count), rng.choice(data, count))
    return np.asarray(known.coordinates[drawn])


def _tolerance(problem: Problem, changes: FloatArray) -> float:
    """What counts as hardly a change: the tolerance; under a rule of one's own, a tenth of the largest."""
    tolerance = getattr(problem.agreement, "tolerance", None)
    return float(changes.max() / 10.0 if tolerance is None else tolerance) or 1.0


def decoded_swaps(
    bases: FloatArray, cells: FloatArray, changes: FloatArray, feature: int, domain: Domain
) -> tuple[Swap, ...]:
    """The swaps of one feature that change the answer most."""
    order: IntArray = np.argsort(-changes, kind="stable")
    order = order[changes[order] > 0][:SHOWN_SWAPS]
    swapped = bases[order]
    swapped[:, feature] = cells[order, feature]
    rows = (domain.decode(some).tolist() for some in (bases[order], swapped))
    return tuple(
        Swap(tuple(map(plain, row)), tuple(map(plain, other)), float(change))
        for row, other, change in zip(*rows, changes[order], strict=True)
    )
