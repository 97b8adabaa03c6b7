"""Rays: one feature alone moved away from the instance, along one side at a time.

Next to the instance there is hardly any volume, so draws of a box do not tell what happens there; but one
feature moved alone is the first question that a reader has.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.search.sides import Sides
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

PLACES = np.concatenate([[0.001, 0.004, 0.015], np.linspace(0.05, 1.0, 10)])
"""Where a side is tried on its way to the edge, as shares of it."""

FEW_PLACES = np.arange(1, 5) / 4
"""Where it is tried inside a box, as shares of its extent."""

HALVINGS, NEAREST = 10, 1e-6
"""Halvings, between two places, to where it begins to fail; in logarithms down to this share of the first
place, if that one fails."""


def reach_alone(sides: Sides) -> FloatArray:
    """How far every side goes when it moves alone, until it first fails."""
    reach = sides.edge.copy()
    free = np.flatnonzero(sides.edge > 0)
    if sides.coarse.size:
        reach[sides.coarse] = _cells_alone(sides)
        free = np.setdiff1d(free, sides.coarse)
    far = sides.edge[free, np.newaxis] * PLACES
    faithful = _moved_alone(sides, free, far)
    stopped = ~faithful.all(axis=1)
    reach[free[stopped]] = _until_failing(sides, free[stopped], far[stopped], faithful[stopped])
    return reach


def _cells_alone(sides: Sides) -> FloatArray:
    """How far every side of few cells goes when it moves alone: every cell is asked."""
    cells = sides.rungs[:, 1:]
    there = np.isfinite(cells)
    faithful = np.ones(cells.shape, dtype=np.bool_)
    which = np.repeat(sides.coarse[:, np.newaxis], cells.shape[1], axis=1)
    faithful[there] = sides.along(which[there], cells[there])
    held = np.minimum.accumulate(faithful & there, axis=1)
    return np.asarray(np.take_along_axis(sides.rungs, held.sum(axis=1)[:, np.newaxis], axis=1)[:, 0])


def drawn_in(sides: Sides, extent: FloatArray) -> FloatArray:
    """The extents, with sides that fail on most of their way drawn in to where they begin to."""
    moved = np.flatnonzero(extent > 0)
    far = extent[moved, np.newaxis] * FEW_PLACES
    faithful = _moved_alone(sides, moved, far)
    fails = np.mean(faithful, axis=1) < 0.5
    new = extent.copy()
    if fails.any():
        new[moved[fails]] = _until_failing(sides, moved[fails], far[fails], faithful[fails])
    return new


def _until_failing(sides: Sides, which: IntArray, far: FloatArray, faithful: BoolArray) -> FloatArray:
    """How far sides go before they fail, from where they were tried, a row each; no side has no width."""
    first = np.argmin(faithful, axis=1)
    each = np.arange(which.size)
    outer, near = far[each, first], first == 0
    inner = np.where(near, NEAREST * outer, far[each, np.maximum(first - 1, 0)])
    for _ in range(HALVINGS if which.size else 0):
        middle = np.where(near, np.sqrt(inner * outer), (inner + outer) / 2)
        good = _moved_alone(sides, which, middle[:, np.newaxis])[:, 0]
        inner, outer = np.where(good, middle, inner), np.where(good, outer, middle)
    return np.asarray(inner)


def _moved_alone(sides: Sides, which: IntArray, far: FloatArray) -> BoolArray:
    """Which points are faithful, in each of which one side moves so far; a row a side."""
    return sides.along(np.repeat(which[:, np.newaxis], far.shape[1], axis=1), far)
