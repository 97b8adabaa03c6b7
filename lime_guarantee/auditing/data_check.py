"""The check that an explanation is as faithful on real rows as on synthetic ones.

A model can recognise perturbed inputs and behave on those only (Slack et al. 2020, "Fooling LIME and SHAP").
An explanation of it, and a region certified on synthetic points, say nothing about real rows. So real rows
around the instance are compared with synthetic ones at the same distances: every feature's offset from the
instance is drawn from the real rows, but each feature's from a row of its own. An honest model does not care.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.arrays import AnyArray, BoolArray, FloatArray
from lime_guarantee.engine.bounds import exact_lower_bound
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.problem import Problem
from lime_guarantee.region import GuaranteeRegion
from lime_guarantee.tables import plain

FEWEST_ROWS = 30
"""If so many real rows lie in the region, they are looked at, besides the nearest ones."""

NEAREST_ROWS = 200
MOST_ROWS = 300
SYNTHETIC_ROWS = 1_500

MARGIN = 0.05
"""What real rows must fail more often by, beyond doubt, than synthetic ones: an honest model's may differ a
little, because real features go together and synthetic ones do not."""

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
    """

    off_manifold: bool
    inside: bool
    real_rows: int
    real_failures: int
    synthetic_rows: int
    synthetic_failures: int
    rows: tuple[tuple[Any, ...], ...] = ()
    evaluations: int = 0

    @property
    def real_rate(self) -> float:
        """Share of the real rows that fail."""
        return self.real_failures / self.real_rows

    @property
    def synthetic_rate(self) -> float:
        """Share of the synthetic rows that fail."""
        return self.synthetic_failures / self.synthetic_rows


def check_data(
    problem: Problem, region: GuaranteeRegion, data: AnyArray, error: float, rng: np.random.Generator
) -> DataCheck | None:
    """Compare real rows with synthetic ones; None if there are no real rows to compare.

    Parameters
    ----------
    problem : Problem
    region : GuaranteeRegion
        Certified or not.
    data : (n, D) array
        Real rows, in raw values.
    error : float
        The probability of calling a model off-manifold that fails real rows at most `MARGIN` more often.
    rng : Generator
    """
    domain = region.search_domain
    coordinates = domain.encode(data)
    coordinates = coordinates[np.isfinite(coordinates).all(axis=1)]
    if len(coordinates) == 0:
        return None
    home = domain.encode(region.instance[np.newaxis])[0]
    distance = _distance(coordinates, home, domain.box().width)
    coordinates = coordinates[np.argsort(distance, kind="stable")]
    looks = [(False, coordinates[:NEAREST_ROWS])]
    inside = coordinates[region.search_box.contains(coordinates)] if region else coordinates[:0]
    if len(inside) >= FEWEST_ROWS:
        spread = np.linspace(0, len(inside) - 1, min(len(inside), MOST_ROWS)).astype(np.int64)
        looks.insert(0, (True, inside[spread]))
    oracle = Oracle(problem.faithful, domain)
    checks = [_compared(oracle, rows, is_inside, error / len(looks), rng) for is_inside, rows in looks]
    shown = next((check for check in checks if check.off_manifold), checks[0])
    return replace(shown, evaluations=oracle.evaluations)


def _compared(
    oracle: Oracle, real: FloatArray, inside: bool, error: float, rng: np.random.Generator
) -> DataCheck:
    """Real rows, the closest first, against synthetic ones made of them."""
    fails = ~oracle.evaluate(real)
    synthetic = _synthetic(real, rng)
    synthetic_fails = ~oracle.evaluate(synthetic)
    lower = _lower(fails, error / 2)
    upper = 1.0 - _lower(~synthetic_fails, error / 2)
    shown = oracle.domain.decode(real[fails][:SHOWN_ROWS])
    return DataCheck(
        off_manifold=bool(lower > upper + MARGIN),
        inside=inside,
        real_rows=len(real),
        real_failures=int(fails.sum()),
        synthetic_rows=len(synthetic),
        synthetic_failures=int(synthetic_fails.sum()),
        rows=tuple(tuple(plain(value) for value in row) for row in shown.tolist()),
    )


def _distance(rows: FloatArray, home: FloatArray, width: FloatArray) -> FloatArray:
    """In shares of the domain, summed over the features; of cells it counts whether they differ."""
    return np.asarray((np.abs(rows - home) / width).sum(axis=1))


def _synthetic(real: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Rows each of whose features comes from a real row of its own."""
    count, dims = real.shape
    sources = rng.integers(0, count, (SYNTHETIC_ROWS, dims))
    return real[sources, np.arange(dims)]


def _lower(happened: BoolArray, level: float) -> float:
    """A lower bound on the probability of what happened so often."""
    return exact_lower_bound(happened.size, int(np.sum(~happened)), level)
