"""Order the atoms of an axis without an order, so that an interval from the first one on is a useful set."""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.space.cube import Cube
from lime_guarantee.support.arrays import FloatArray, IntArray

SCALE_COUNT, DRAWS_PER_SCALE = 4, 4
"""The number of scales at which points around the instance are drawn, and of points at each."""


def order_categories(oracle: Oracle, cube: Cube, rng: np.random.Generator) -> Cube:
    """The cube with the instance's own category first, the others by how faithful they stay.

    Each category is tried at the instance, and in points around it drawn at several scales, the same for
    all categories of an axis.

    Parameters
    ----------
    oracle : Oracle
    cube : Cube
        The oracle takes its points.
    rng : Generator
    """
    axes = cube.reorderable
    if axes.size == 0:
        return cube
    around = _surroundings(cube, rng)
    middles = {int(i): cube.coordinates[i].middles for i in axes}
    tried = sum(places.size for places in middles.values())
    if oracle.remaining is not None and tried * len(around) > oracle.remaining / 4:
        around = around[:1]
        if tried > oracle.remaining / 4:
            return cube.reordered({i: _own_first(cube, i, places) for i, places in middles.items()})
    queries = []
    for i, places in middles.items():
        for place in places:
            points = around.copy()
            points[:, i] = place
            queries.append(points)
    faithful = oracle.in_space(cube).evaluate(np.concatenate(queries)).reshape(len(queries), len(around))
    shares = iter(faithful.mean(axis=1))
    orders = {}
    for i, places in middles.items():
        share = np.array([next(shares) for _ in places])
        share[places == cube.instance[i]] = 2.0  # its own category comes first whatever happens
        orders[i] = np.argsort(-share, kind="stable").tolist()
    return cube.reordered(orders)


def _own_first(cube: Cube, axis: int, places: FloatArray) -> list[int]:
    own: IntArray = np.flatnonzero(places == cube.instance[axis])
    return [*own.tolist(), *(k for k in range(places.size) if k not in own)]


def _surroundings(cube: Cube, rng: np.random.Generator) -> FloatArray:
    """The instance, and points around it drawn in ever smaller copies of the cube."""
    instance = cube.instance
    rows = [instance[np.newaxis]]
    atoms = cube.has_atoms
    for scale in 0.5 ** np.arange(SCALE_COUNT):
        points = cube.whole.sample(rng, DRAWS_PER_SCALE)
        points[:, ~atoms] = (instance + scale * (points - instance))[:, ~atoms]
        stay = rng.random(points.shape) >= scale
        rows.append(np.where(atoms & stay, instance, points))
    return np.concatenate(rows)
