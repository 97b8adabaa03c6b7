"""Order the categories of an axis, so that an interval from the first one on is a useful set."""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import FloatArray

SCALE_COUNT, DRAWS_PER_SCALE = 4, 4
"""The number of scales at which points around the instance are drawn, and of points at each."""


def order_categories(oracle: Oracle, instance: FloatArray, rng: np.random.Generator) -> Domain:
    """The oracle's domain with the instance's own category first, the others by how faithful they stay.

    Each category is tried at the instance, and in points around it drawn at several scales, the same for
    all categories of an axis.

    Parameters
    ----------
    oracle : Oracle
    instance : (D,) array, in coordinates of the oracle's domain
    rng : Generator
    """
    domain = oracle.domain
    axes = [i for i, axis in enumerate(domain.axes) if not (axis.ordered or axis.constant)]
    if not axes:
        return domain
    around = _surroundings(domain, instance, rng)
    tried = sum(domain.axes[i].cells.size for i in axes)
    if oracle.remaining is not None and tried * len(around) > oracle.remaining / 4:
        around = around[:1]
        if tried > oracle.remaining / 4:
            return domain.reordered({i: _own_first(domain, i, instance) for i in axes})
    queries = []
    for i in axes:
        for category in domain.axes[i].cells:
            points = around.copy()
            points[:, i] = category
            queries.append(points)
    faithful = oracle.evaluate(np.concatenate(queries)).reshape(len(queries), len(around))
    shares = iter(faithful.mean(axis=1))
    orders = {}
    for i in axes:
        share = np.array([next(shares) for _ in domain.axes[i].cells])
        share[int(instance[i])] = 2.0  # its own category comes first whatever happens
        orders[i] = np.argsort(-share, kind="stable").tolist()
    return domain.reordered(orders)


def _own_first(domain: Domain, axis: int, instance: FloatArray) -> list[int]:
    own = int(instance[axis])
    return [own, *(k for k in range(domain.axes[axis].cells.size) if k != own)]


def _surroundings(domain: Domain, instance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The instance, and points around it drawn in ever smaller copies of the domain."""
    whole = domain.box()
    rows = [instance[np.newaxis]]
    cells = domain.unit > 0
    for scale in 0.5 ** np.arange(SCALE_COUNT):
        points = whole.sample(rng, DRAWS_PER_SCALE)
        points[:, ~cells] = (instance + scale * (points - instance))[:, ~cells]
        stay = rng.random(points.shape) >= scale
        rows.append(np.where(cells & stay, instance, points))
    return np.concatenate(rows)
