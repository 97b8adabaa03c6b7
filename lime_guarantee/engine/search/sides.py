"""The 2 D sides of a box around the instance, as searches move them.

Side d is the lower one of axis d, side D + d the upper one; a side's extent is its distance from the
instance's home: its own atom, or itself where it lies in none. Extents move continuously; the box of some
extents is snapped, so that it holds whole atoms.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from lime_guarantee.engine.batches import Batch
from lime_guarantee.engine.search.base import Task
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

FEW_CELLS = 16
"""Sides of an axis of so many cells, or fewer, move by a cell at a time."""

FEW_FEATURES = 5
"""With so few features, draws fill a box: they tell finer places apart, and what single cells do."""

RECENT_BOXES = 32
"""So many boxes are kept: a search asks for the same one again and again, and snapping takes time."""


class OutOfBudget(Exception):  # noqa: N818 - not an error: the search ends and proposes what it has
    """What is left of the evaluations is needed for a certificate."""


class Sides:
    """Where the sides may be, and what is asked about points around the instance.

    Parameters
    ----------
    task : Task
    reserve : int
        How many evaluations are left for certificates, where these are limited.
    """

    def __init__(self, task: Task, reserve: int) -> None:
        self.task, self.reserve = task, reserve
        self.cube, self.home, self.rng = task.cube, task.home, task.rng
        self.dims = int(task.instance.size)
        self.edge = np.concatenate([self.home.lower - task.domain.lower, task.domain.upper - self.home.upper])
        self.coarse, self.rungs = self._rungs()
        self._recent = lru_cache(RECENT_BOXES)(self._box)
        self.all_coarse = self.coarse.size == np.sum(self.edge > 0)

    def next_rungs(self, extent: FloatArray) -> FloatArray:
        """The extents of the sides of few cells, one cell further out than in some extents."""
        here = extent[self.coarse]
        beyond = np.where(self.rungs > here[:, np.newaxis], self.rungs, np.inf).min(axis=1, initial=np.inf)
        return np.where(np.isfinite(beyond), beyond, here)

    def _rungs(self) -> tuple[IntArray, FloatArray]:
        """The sides of axes of few cells, and the extents at which their cells end, from 0 on."""
        axes = np.flatnonzero(self.cube.cells <= FEW_CELLS)
        coarse = np.concatenate([axes, self.dims + axes])
        coarse = coarse[self.edge[coarse] > 0]
        rungs = np.full((coarse.size, FEW_CELLS), np.inf)
        for k, side in enumerate(coarse):
            axis, down = side % self.dims, side < self.dims
            place = self.home.lower[axis] if down else self.home.upper[axis]
            for rung in range(FEW_CELLS):
                rungs[k, rung] = self.home.lower[axis] - place if down else place - self.home.upper[axis]
                if rungs[k, rung] >= self.edge[side]:
                    break
                beside = np.array([np.nextafter(place, 0.0 if down else 1.0)])
                low, high = self.cube.coordinates[axis].atoms(beside)
                place = float(low[0] if down else high[0])
        return coarse, rungs

    def box(self, extent: FloatArray) -> Box:
        """The box of some extents."""
        return self._recent(extent.tobytes())

    def _box(self, extents: bytes) -> Box:
        extent = np.frombuffer(extents)
        dims, domain, inner = self.dims, self.task.domain, extent < self.edge
        return self.cube.snapped(
            np.where(inner[:dims], np.maximum(self.home.lower - extent[:dims], domain.lower), domain.lower),
            np.where(inner[dims:], np.minimum(self.home.upper + extent[dims:], domain.upper), domain.upper),
        )

    def extent(self, box: Box) -> FloatArray:
        """The extents of a box."""
        return np.concatenate([self.home.lower - box.lower, box.upper - self.home.upper])

    def beyond(self, points: FloatArray) -> FloatArray:
        """How far points lie beyond the home, towards each side."""
        return np.concatenate([self.home.lower - points, points - self.home.upper], axis=1)

    def width(self, extent: FloatArray) -> FloatArray:
        """The width of every axis in the box of some extents, before it is snapped."""
        return np.asarray(extent[: self.dims] + extent[self.dims :] + self.home.width)

    def put(self, points: FloatArray, sides: IntArray, far: FloatArray) -> FloatArray:
        """Points, each moved so far beyond the home along its side, or to the instance; in place."""
        axes = sides % self.dims
        places = np.where(sides < self.dims, self.home.lower[axes] - far, self.home.upper[axes] + far)
        # The end of the instance's own atom is the next one's beginning.
        points[np.arange(len(points)), axes] = np.where(far > 0, places, self.task.instance[axes])
        return points

    def along(self, sides: IntArray, far: FloatArray, around: Box | None = None) -> BoolArray:
        """Which points, moved along one side each, are faithful; the others vary in a box, or not at all."""
        far = np.broadcast_to(far, sides.shape)
        if around is None:
            points = np.repeat(self.task.instance[np.newaxis], sides.size, axis=0)
        else:
            points = around.sample(self.rng, sides.size)
        points = self._settled(self.put(points, sides.ravel(), far.ravel()))
        if around is not None or self.coarse.size == 0:
            return self.evaluate(points).reshape(sides.shape)
        points, place = np.unique(points, axis=0, return_inverse=True)  # a cell is asked once
        return self.evaluate(points)[place.ravel()].reshape(sides.shape)

    def ask(self, points: FloatArray) -> BoolArray:
        """Which points are faithful, each moved to the middle of its atoms."""
        return self.evaluate(self._settled(points))

    def _settled(self, points: FloatArray) -> FloatArray:
        domain = self.task.domain
        return self.cube.settled(np.clip(points, domain.lower, domain.upper))

    def thinned(self, extent: FloatArray, share: float, count: int) -> FloatArray:
        """Points of the box of some extents in which features of few cells leave the instance less often."""
        points = self.box(extent).sample(self.rng, count)
        axes = np.unique(self.coarse % self.dims)
        stay = self.rng.random((count, axes.size)) >= share
        points[:, axes] = np.where(stay, self.task.instance[axes], points[:, axes])
        return points

    def draw(self, box: Box, count: int) -> Batch:
        """Points of a box, and whether they are faithful."""
        points = box.sample(self.rng, count)
        return points, self.evaluate(points)

    def evaluate(self, points: FloatArray) -> BoolArray:
        """Ask, and leave enough for a certificate.

        Raises
        ------
        OutOfBudget
            If too few evaluations would be left; then nothing is asked.
        """
        remaining = self.task.oracle.remaining
        if remaining is not None and remaining - len(points) < self.reserve:
            raise OutOfBudget
        return self.task.oracle.evaluate(points)
