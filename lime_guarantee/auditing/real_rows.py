"""Real rows: those in a region, the nearest to an instance, and whether an explanation is faithful on them.

A region is certified on rows that are drawn feature by feature. A model can recognise such rows, and behave
on those only (Slack et al. 2020, "Fooling LIME and SHAP"). So the model is asked about real rows, too, and
each of them is compared with its twins: the same row, every feature moved a little on its own, so that it no
longer looks like data. An honest model hardly cares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.engine.certify.bounds import exact_lower_bound, mean_interval
from lime_guarantee.engine.oracle import BATCH_ROWS, Judged, Oracle
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.region.worth import judging
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.tables import plain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray, IntArray

CONFIDENCE = 0.95
"""The probability with which each interval of a share of rows holds."""

NEAREST_ROWS = 200
"""Rows around the instance that are asked where nothing was certified."""

MOST_ROWS = 2_000
"""Of more rows in a region, so many are drawn at random."""

TWINNED_ROWS, TWINS = 300, 4
"""Rows that are compared with twins, and twins of each."""

NOISE = 0.7
"""How far a feature is moved, in standard deviations. A detector that is to fool LIME, which moves by 1, or
shap, which mixes rows, takes such rows for made up; more would carry rows away from where they are."""

MARGIN = 0.05
"""What real rows must fail more often by, beyond doubt, than their twins: an honest model's may differ a
little, because real features go together and those of twins less so."""

SHOWN_ROWS = 3

FEW_VALUES, FEWEST_TOGETHER = 10, 20
"""A feature with more values is looked at in fifths; with fewer rows, no feature is named."""

Interval = tuple[float, float]

Said = tuple[tuple[float, ...], tuple[float, ...]]
"""What the model and the explanation say about a row: one number each, or a score for every class."""


@dataclass(frozen=True, eq=False)
class RealRows:
    """The real rows that are known around an instance.

    Parameters
    ----------
    domain : Domain
    coordinates : array of shape (n, D)
        As `Domain.encode` gives them, the nearest to the instance first.
    audited : array of bool of shape (n,)
        Whether a row is one of those that are audited; the others are data.
    places : array of int of shape (n,)
        Where each of them stands among all rows that were given, those of data first.
    """

    domain: Domain
    coordinates: FloatArray
    audited: BoolArray
    places: IntArray

    @classmethod
    def around(
        cls, region: GuaranteeRegion, data: AnyArray | None, audited: AnyArray | None = None
    ) -> RealRows:
        """The rows of data and the audited ones, without the instance itself.

        Those with a missing value, or outside the domain, are passed over.
        """
        domain = region.search_domain
        parts = [domain.encode(rows) for rows in (data, audited) if rows is not None and len(rows)]
        rows = np.concatenate(parts) if parts else np.empty((0, len(domain)))
        is_audited = np.zeros(len(rows), dtype=np.bool_)
        if audited is not None and len(audited):
            is_audited[-len(audited) :] = True
        home = domain.encode(region.instance[np.newaxis])
        known = np.flatnonzero(domain.contains(rows) & (rows != home).any(axis=1))
        if known.size:
            known = known[np.argsort(apart(home, rows[known], domain)[0].sum(axis=1), kind="stable")]
        return cls(domain, rows[known], is_audited[known], known)

    def __len__(self) -> int:
        return len(self.coordinates)

    def inside(self, region: GuaranteeRegion) -> BoolArray:
        """Which rows lie in a region."""
        return region.contains(self.domain.decode(self.coordinates))


@dataclass(frozen=True)
class DataCheck:
    """Whether an explanation is faithful on real rows, and on their twins.

    Parameters
    ----------
    off_manifold : bool
        Whether it fails on real rows more often than on their twins, beyond doubt.
    inside : bool
        Whether the real rows are those in the region; else nothing was certified, and they are the nearest.
    real_rows, real_failures : int
        Real rows asked, and how many were not faithful.
    synthetic_rows, synthetic_failures : int
        Twins asked, and how many were not faithful. None are asked where real rows fail too seldom for any
        difference to count.
    rows : tuple of tuples
        Real rows that were not faithful, the closest to the instance first.
    evaluations : int
        Rows asked of the model for all that was compared.
    excess_lower_bound : float
        Real rows like these fail more often than their twins by at least this share; -1 where no twins were
        asked.
    goes_with : int or None
        The position of the feature that the model's answers to these rows go with most closely.
    explained_by_it : float
        The share of the answers' variance that it explains.
    answers : tuple of Said
        What the model and the explanation say about each of `rows`.
    """

    off_manifold: bool
    inside: bool
    real_rows: int
    real_failures: int
    synthetic_rows: int
    synthetic_failures: int
    rows: tuple[tuple[Any, ...], ...] = ()
    evaluations: int = 0
    excess_lower_bound: float = 0.0
    goes_with: int | None = None
    explained_by_it: float = 0.0
    answers: tuple[Said, ...] = ()

    @property
    def real_rate(self) -> float:
        """Share of the real rows that fail."""
        return self.real_failures / self.real_rows

    @property
    def synthetic_rate(self) -> float:
        """Share of the twins that fail; 0 where none were asked."""
        return self.synthetic_failures / max(self.synthetic_rows, 1)

    @property
    def fidelity(self) -> float:
        """Share of the real rows on which the explanation is faithful."""
        return 1.0 - self.real_rate

    @property
    def fidelity_interval(self) -> Interval:
        """The share of rows like these, exactly (Clopper and Pearson 1934), with confidence 0.95."""
        return share_interval(self.real_rows - self.real_failures, self.real_rows)


def share_interval(count: int, of: int) -> Interval:
    """The exact interval of a share of which so many were seen, with confidence 0.95."""
    level = (1.0 - CONFIDENCE) / 2
    return exact_lower_bound(of, of - count, level), 1.0 - exact_lower_bound(of, count, level)


def check_data(
    problem: Problem,
    region: GuaranteeRegion,
    known: RealRows,
    error: float,
    rng: np.random.Generator,
    batch_rows: int = BATCH_ROWS,
    answers: FloatArray | None = None,
) -> DataCheck | None:
    """Ask about real rows and their twins; None if there are no real rows to ask about.

    Those in the region are asked about; where nothing was certified, the nearest to the instance.

    Parameters
    ----------
    problem : Problem
    region : GuaranteeRegion
        Certified or not.
    known : RealRows
    error : float
        The probability of calling a model off-manifold that fails real rows at most `MARGIN` more often than
        their twins.
    rng : Generator
    batch_rows : int
        The most rows that the model is asked at once.
    answers : array, optional
        The model's to all rows that were given, as far as they are known: NaN where not.
    """
    domain = known.domain
    bounds = (domain.lower, domain.upper)
    if region:
        chosen, bounds = np.flatnonzero(known.inside(region)), region.search_bounds
        if chosen.size > MOST_ROWS:
            chosen = np.sort(rng.choice(chosen, MOST_ROWS, replace=False))
    else:
        chosen = np.arange(len(known))[:NEAREST_ROWS]
    if chosen.size == 0:
        return None
    rows = known.coordinates[chosen]
    oracle = Oracle(judging(problem), domain, batch_rows=batch_rows)
    judged = _judged(problem, oracle, rows, None if answers is None else answers[known.places[chosen]])
    fails = ~judged.faithful
    some = np.sort(rng.permutation(len(rows))[:TWINNED_ROWS])
    twins_fail, lower = np.empty(0, dtype=np.bool_), -1.0
    if _excess_lower(fails[some].astype(np.float64), error) > MARGIN:  # even if no twin fails
        twins = make_twins(rows[some], known.coordinates.std(axis=0), domain, bounds, rng)
        twins_fail = ~oracle.evaluate(twins)
        lower = _excess_lower(fails[some] - twins_fail.reshape(TWINS, -1).mean(axis=0), error)
    first = np.flatnonzero(fails)[:SHOWN_ROWS]
    shown = domain.decode(rows[first])
    return DataCheck(
        off_manifold=lower > MARGIN,
        inside=bool(region),
        real_rows=len(rows),
        real_failures=int(fails.sum()),
        synthetic_rows=twins_fail.size,
        synthetic_failures=int(twins_fail.sum()),
        rows=tuple(tuple(plain(value) for value in row) for row in shown.tolist()),
        evaluations=oracle.evaluations,
        excess_lower_bound=lower,
        answers=said_about(judged, first),
        **_companion(rows, judged.answers[0]),
    )


def said_about(judged: Judged, rows: IntArray) -> tuple[Said, ...]:
    """What the model and the explanation answered to some of the rows that were judged."""
    model, surrogate = judged.answers
    return tuple((tuple(model[row].ravel().tolist()), tuple(surrogate[row].ravel().tolist())) for row in rows)


def _judged(problem: Problem, oracle: Oracle, rows: FloatArray, answers: FloatArray | None) -> Judged:
    """Whether rows are faithful; the model is asked only about those whose answers are not known."""
    if answers is None:
        return oracle.judge(rows)
    known = np.isfinite(answers.reshape(len(rows), -1)).all(axis=1)
    if not known.all():
        answers[~known] = oracle.judge(rows[~known]).answers[0]
    surrogate = problem.surrogate_answers(oracle.space.decode(rows))
    return Judged(problem.agreement(answers, surrogate), (answers, surrogate))


def _excess_lower(excess: FloatArray, error: float) -> float:
    """A lower bound of the mean of numbers from -1 to 1."""
    low, _ = mean_interval((excess[:, np.newaxis] + 1.0) / 2.0, 2.0 * error)
    return float(2.0 * low[0] - 1.0)


def _companion(rows: FloatArray, answers: FloatArray) -> dict[str, Any]:
    """The feature that answers go with, by the variance between its values, or fifths, and their mean."""
    answers = answers.reshape(len(rows), -1)
    total = answers.var(axis=0).sum()
    if len(rows) < FEWEST_TOGETHER or total <= 0:
        return {}
    shares = [_between(column, answers) / total for column in rows.T]
    best = int(np.argmax(shares))
    return {"goes_with": best, "explained_by_it": float(shares[best])}


def _between(column: FloatArray, answers: FloatArray) -> float:
    """The variance of the means of groups of rows, less what chance would give."""
    values, group = np.unique(column, return_inverse=True)
    if values.size > FEW_VALUES:
        group = np.searchsorted(np.quantile(column, [0.2, 0.4, 0.6, 0.8]), column)
    counts = np.bincount(group)
    known = counts > 0
    means = np.column_stack([np.bincount(group, weights=some)[known] / counts[known] for some in answers.T])
    apart_by = (counts[known, np.newaxis] * (means - answers.mean(axis=0)) ** 2).sum() / len(column)
    return float(apart_by - answers.var(axis=0).sum() * (known.sum() - 1) / (len(column) - 1))


def distance(rows: FloatArray, home: FloatArray, domain: Domain) -> FloatArray:
    """In shares of the domain, summed over the features; of categories it counts whether they differ."""
    lengths = [axis.distance(rows[:, i], home[i]) for i, axis in enumerate(domain.axes)]
    return np.asarray(np.column_stack(lengths).sum(axis=1))


def apart(rows: FloatArray, others: FloatArray, domain: Domain) -> FloatArray:
    """How far rows are from others, feature by feature, of shape (rows, others, D).

    In mean deviations of the others from their median; of categories it is whether they differ.
    """
    differ = rows[:, np.newaxis, :] - others[np.newaxis, :, :]
    spread = np.abs(others - np.median(others, axis=0)).mean(axis=0)
    ordered = np.array([axis.ordered for axis in domain.axes])
    scaled = np.abs(differ) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.where(ordered, scaled, differ != 0))


def make_twins(
    real: FloatArray,
    spread: FloatArray,
    domain: Domain,
    bounds: tuple[FloatArray, FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    """Twins of real rows, the first of every row, then the second: all features moved, within bounds.

    Half of the cells of categories and whole numbers come from other rows.
    """
    lower, upper = bounds
    count, dims = real.shape
    base = np.tile(np.arange(count), TWINS)
    rows = real[base] + NOISE * spread * rng.standard_normal((base.size, dims))
    width = np.where(domain.unit > 0, 1.0, upper - lower)
    width = np.where(width > 0, width, 1.0)
    along = np.mod(rows - lower, 2 * width)  # there and back: turned at the edges, not piled up there
    rows = lower + np.minimum(along, 2 * width - along)
    others = real[rng.integers(0, count, (base.size, dims)), np.arange(dims)]
    cells = np.where(rng.random((base.size, dims)) < 0.5, real[base], others)
    return np.where(domain.unit > 0, cells, np.clip(rows, lower, upper))
