"""Order the atoms of axes without an order, so that intervals around the instance's own are useful sets."""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.failure_model import FailureModel
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.space.cube import Cube
from lime_guarantee.support.arrays import BoolArray, FloatArray

LEVELS, LOOK_DRAWS = 0.5 ** np.arange(6), 24
"""How often features leave the instance, and how far, in the first look; and draws at each level. Then it is
drawn where about half of the points fail, which tells most, and at the level below."""

CATEGORY_DRAWS = 16
"""Draws for each category."""

BUDGET_SHARE = 0.25
"""The most of a limited number of evaluations that goes into this."""


def order_categories(oracle: Oracle, cube: Cube, rng: np.random.Generator) -> Cube:
    """The cube with the instance's own category between those that pull one way and those that pull another.

    Next to it come the categories that do least harm. What they do is told by a small model of what fails
    around the instance. Categories of two axes add up if they stand on one side, and cancel if not.

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
    places = {int(i): _other_places(cube, int(i)) for i in axes}
    categories = sum(others.size for others in places.values())
    draws = CATEGORY_DRAWS * categories // 2
    if oracle.remaining is not None:
        draws = min(draws, (int(BUDGET_SHARE * oracle.remaining) - LEVELS.size * LOOK_DRAWS) // 2)
    if draws <= 0:
        return cube
    points, failed = _learnt(oracle.in_space(cube), cube, places, draws, rng)
    columns = _columns(cube, places, points)
    model = FailureModel(columns.shape[1], rng)
    model.fit(columns, failed)
    ends = np.cumsum([others.size for others in places.values()])[:-1]
    effects, pulls = (np.split(one[:categories], ends) for one in (model.effect, model.pull))
    told = zip(places, effects, pulls, strict=True)
    return cube.reordered({i: _order(cube, i, effect, pull) for i, effect, pull in told})


def _other_places(cube: Cube, axis: int) -> FloatArray:
    middles = cube.coordinates[axis].middles
    return np.asarray(middles[middles != cube.instance[axis]])


def _learnt(
    oracle: Oracle, cube: Cube, places: dict[int, FloatArray], draws: int, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Points around the instance, and which of them fail: a look at all levels, then draws at two of them."""
    look = np.concatenate([_around(cube, places, level, LOOK_DRAWS, rng) for level in LEVELS])
    failed = ~oracle.evaluate(look)
    share = failed.reshape(LEVELS.size, LOOK_DRAWS).mean(axis=1)
    half = int(np.argmin(np.abs(share - 0.5)))
    more = np.concatenate([_around(cube, places, level, draws, rng) for level in LEVELS[half : half + 2]])
    return np.concatenate([look, more]), np.concatenate([failed, ~oracle.evaluate(more)])


def _around(
    cube: Cube, places: dict[int, FloatArray], level: float, count: int, rng: np.random.Generator
) -> FloatArray:
    """Points around the instance: atoms are left as often as the level says, and other ways are as long."""
    instance, atoms = cube.instance, cube.has_atoms
    points = cube.whole.sample(rng, count)
    for i, others in places.items():
        points[:, i] = rng.choice(others, count)
    points[:, ~atoms] = (instance + level * (points - instance))[:, ~atoms]
    stay = rng.random(points.shape) >= level
    return np.where(atoms & stay, instance, points)


def _columns(cube: Cube, places: dict[int, FloatArray], points: FloatArray) -> FloatArray:
    """What the model sees of points: every other category, and how far the other features moved."""
    others = np.setdiff1d(np.arange(len(cube)), list(places))
    told = [points[:, [i]] == values for i, values in places.items()]
    return np.hstack([*told, 2.0 * (points - cube.instance)[:, others]]).astype(np.float64)


def _order(cube: Cube, axis: int, effect: FloatArray, pull: FloatArray) -> list[int]:
    """The atoms of an axis, the instance's own between those of either pull."""
    own = cube.coordinates[axis].middles == cube.instance[axis]
    others, harm = np.flatnonzero(~own), effect + pull**2
    down, up = (others[side][np.argsort(harm[side])] for side in (pull < 0, pull >= 0))
    return [*down[::-1].tolist(), *np.flatnonzero(own).tolist(), *up.tolist()]
