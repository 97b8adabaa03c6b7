"""The check that an explanation is as faithful on real rows as on synthetic ones.

A model can recognise perturbed inputs and behave on those only (Slack et al. 2020, "Fooling LIME and SHAP").
An explanation of it, and a region certified on synthetic points, say nothing about real rows. So real rows
around the instance are compared with synthetic ones at the same places: the same rows, each feature moved
a little on its own, so that they no longer look like data. An honest model hardly cares: it fails where it
fails, and the rows are still there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.engine.certify.bounds import exact_lower_bound
from lime_guarantee.engine.oracle import BATCH_ROWS, Oracle
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.tables import plain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

FEWEST_ROWS = 30
"""If fewer real rows lie in the region, the nearest to the instance are looked at instead."""

NEAREST_ROWS = 200
MOST_ROWS = 300
SYNTHETIC_ROWS = 1_500

NOISE = 0.7
"""How far a feature is moved, in standard deviations. A detector that is to fool LIME, which moves by 1, or
shap, which mixes rows, takes such rows for synthetic; more would carry rows away from where they are."""

MARGIN = 0.05
"""What real rows must fail more often by, beyond doubt, than synthetic ones: an honest model's may differ a
little, because real features go together and synthetic ones less so."""

SHOWN_ROWS = 3


@dataclass(frozen=True)
class DataCheck:
    """Real rows against synthetic ones.

    Parameters
    ----------
    off_manifold : bool
        Whether real rows fail significantly more often.
    inside : bool
        Whether the real rows are those in the region; else they are the nearest to the instance.
    real_rows, real_failures, synthetic_rows, synthetic_failures : int
        Rows asked, and how many were not faithful.
    rows : tuple of tuples
        Real rows that were not faithful, the closest to the instance first.
    evaluations : int
        Rows asked of the model for all that was compared.
    real_lower_bound : float
        Of real rows like these, at least this share fails.
    """

    off_manifold: bool
    inside: bool
    real_rows: int
    real_failures: int
    synthetic_rows: int
    synthetic_failures: int
    rows: tuple[tuple[Any, ...], ...] = ()
    evaluations: int = 0
    real_lower_bound: float = 0.0

    @property
    def real_rate(self) -> float:
        """Share of the real rows that fail."""
        return self.real_failures / self.real_rows

    @property
    def synthetic_rate(self) -> float:
        """Share of the synthetic rows that fail."""
        return self.synthetic_failures / self.synthetic_rows


def check_data(
    problem: Problem,
    region: GuaranteeRegion,
    data: AnyArray,
    error: float,
    rng: np.random.Generator,
    batch_rows: int = BATCH_ROWS,
) -> DataCheck | None:
    """Compare real rows with synthetic ones; None if there are no real rows to compare.

    Looked at are the rows in the region and, if nothing is wrong with those or they are few, the rows nearest
    to the instance: a region may leave out all rows that a model treats differently.

    Parameters
    ----------
    problem : Problem
    region : GuaranteeRegion
        Certified or not.
    data : (n, D) array
        Real rows, in raw values; those with a missing value, or outside the domain, are passed over.
    error : float
        The probability of calling a model off-manifold that fails real rows at most `MARGIN` more often.
    rng : Generator
    batch_rows : int
        The most rows that the model is asked at once.
    """
    domain = region.search_domain
    coordinates = domain.encode(data)
    coordinates = coordinates[domain.contains(coordinates)]
    if len(coordinates) == 0:
        return None
    home = domain.encode(region.instance[np.newaxis])[0]
    coordinates = coordinates[np.argsort(distance(coordinates, home, domain), kind="stable")]
    inside = coordinates[region.contains(domain.decode(coordinates))] if region else coordinates[:0]
    looks = [(False, coordinates[:NEAREST_ROWS], (domain.lower, domain.upper))]
    if len(inside) >= FEWEST_ROWS:
        spread = np.linspace(0, len(inside) - 1, min(len(inside), MOST_ROWS)).astype(np.int64)
        looks.insert(0, (True, inside[spread], region.search_bounds))
    oracle = Oracle(problem.faithful, domain, batch_rows=batch_rows)
    first: DataCheck | None = None
    for within, real, bounds in looks:
        synthetic = _synthetic(real, coordinates.std(axis=0), domain, bounds, rng)
        check = _compared(oracle, domain, real, synthetic, error / len(looks), inside=within)
        if check.off_manifold:
            return check
        first = first or check
    assert first is not None
    return replace(first, evaluations=oracle.evaluations)


def _compared(
    oracle: Oracle, domain: Domain, real: FloatArray, synthetic: FloatArray, error: float, *, inside: bool
) -> DataCheck:
    """Ask the model about real and synthetic rows, and compare how often they fail."""
    fails, synthetic_fails = ~oracle.evaluate(real), ~oracle.evaluate(synthetic)
    lower = _lower(fails, error / 2)
    upper = 1.0 - _lower(~synthetic_fails, error / 2)
    shown = domain.decode(real[fails][:SHOWN_ROWS])
    return DataCheck(
        off_manifold=bool(lower > upper + MARGIN),
        inside=inside,
        real_rows=len(real),
        real_failures=int(fails.sum()),
        synthetic_rows=synthetic_fails.size,
        synthetic_failures=int(synthetic_fails.sum()),
        rows=tuple(tuple(plain(value) for value in row) for row in shown.tolist()),
        evaluations=oracle.evaluations,
        real_lower_bound=lower,
    )


def distance(rows: FloatArray, home: FloatArray, domain: Domain) -> FloatArray:
    """In shares of the domain, summed over the features; of categories it counts whether they differ."""
    apart = [axis.distance(rows[:, i], home[i]) for i, axis in enumerate(domain.axes)]
    return np.asarray(np.column_stack(apart).sum(axis=1))


def _synthetic(
    real: FloatArray,
    spread: FloatArray,
    domain: Domain,
    bounds: tuple[FloatArray, FloatArray],
    rng: np.random.Generator,
) -> FloatArray:
    """Real rows, each feature moved on its own, within bounds; half of the cells come from other rows."""
    lower, upper = bounds
    count, dims = real.shape
    base = np.resize(np.arange(count), SYNTHETIC_ROWS)
    rows = real[base] + NOISE * spread * rng.standard_normal((SYNTHETIC_ROWS, dims))
    width = np.where(domain.unit > 0, 1.0, upper - lower)
    width = np.where(width > 0, width, 1.0)
    along = np.mod(rows - lower, 2 * width)  # there and back: turned at the edges, not piled up there
    rows = lower + np.minimum(along, 2 * width - along)
    others = real[rng.integers(0, count, (SYNTHETIC_ROWS, dims)), np.arange(dims)]
    cells = np.where(rng.random((SYNTHETIC_ROWS, dims)) < 0.5, real[base], others)
    return np.where(domain.unit > 0, cells, np.clip(rows, lower, upper))


def _lower(happened: BoolArray, level: float) -> float:
    """A lower bound on the probability of what happened so often."""
    return exact_lower_bound(happened.size, int(np.sum(~happened)), level)
