"""What sides of few cells do: each cell alone among others, then next to a box that is nearly found.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.batches import Batch
from lime_guarantee.engine.search.sides import Sides
from lime_guarantee.support.arrays import BoolArray, FloatArray

LEARN_DRAWS = 12
"""Draws for each axis that tell which cells may vary."""

CELL_DRAWS = 12
"""Draws that a cell next to a box has to pass without a failure."""

GROUP_TESTS, GROUP_DRAWS, MOST_FAILING_TOGETHER = 12, 100, 0.3
"""How often groups of those that passed are tried together, the draws for that, and the failing share at
which a group is halved."""


def learnt(sides: Sides, extent: FloatArray, share: float) -> Batch:
    """Points of a box in which features of few cells leave the instance that often, and half as often."""
    count = LEARN_DRAWS * sides.dims // 2
    points = np.concatenate([sides.thinned(extent, part * share, count) for part in (1.0, 0.5)])
    return points, sides.evaluate(points)


def let_in(sides: Sides, extent: FloatArray, edge: FloatArray) -> FloatArray:
    """The extents, with cells next to the box let in that seem to do no harm, as long as that brings more.

    Parameters
    ----------
    sides : Sides
    extent : array of shape (2 D,)
    edge : array of shape (2 D,)
        How far sides may go at all.
    """
    while True:
        longer = _let_in_once(sides, extent, edge)
        if sides.box(longer).log_share <= sides.box(extent).log_share:
            return extent
        extent = longer


def _let_in_once(sides: Sides, extent: FloatArray, edge: FloatArray) -> FloatArray:
    further = sides.next_rungs(extent)
    waiting = np.flatnonzero((further > extent[sides.coarse]) & (further <= edge[sides.coarse]))
    moved = np.repeat(waiting, CELL_DRAWS)
    points = sides.box(extent).sample(sides.rng, moved.size)
    faithful = sides.ask(sides.put(points, sides.coarse[moved], further[moved]))
    waiting = waiting[faithful.reshape(waiting.size, CELL_DRAWS).all(axis=1)]
    size = waiting.size
    for _ in range(GROUP_TESTS):
        group = sides.coarse[waiting[:size]]
        if group.size == 0:
            break
        longer = extent.copy()
        longer[group] = further[waiting[:size]]
        points, faithful = sides.draw(sides.box(longer), GROUP_DRAWS)
        failing = np.mean(~faithful)
        if failing == 0.0:
            extent, waiting = longer, waiting[size:]
        elif failing > MOST_FAILING_TOGETHER and size > 1:
            size = (size + 1) // 2
        else:
            harmful = hitting(sides.beyond(points[~faithful])[:, group] > extent[group])
            waiting = np.concatenate([waiting[:size][~harmful], waiting[size:]])
            size -= int(harmful.sum())
    return extent


def hitting(moved: BoolArray) -> BoolArray:
    """Columns to drop so that every row loses one, if it has any: the one in most rows, and so on."""
    dropped = np.zeros(moved.shape[1], dtype=np.bool_)
    while moved.any():
        worst = int(np.argmax(moved.sum(axis=0)))
        dropped[worst] = True
        moved = moved[~moved[:, worst]]
    return dropped
