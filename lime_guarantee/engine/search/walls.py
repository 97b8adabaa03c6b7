"""Where what fails has walls: the causes of failures, and the largest box that keeps clear of them.

A failure has a cause: a few features that, moved from the instance, make it fail whatever the others do. Any
box that holds none of the causes whole will do, and the largest of them is looked for by a kernel. A cause
must be sharp: pulled in a little along one of its features, it fails no more. Behind a smooth, oblique
boundary failures have no such causes, and the walls found here are none: a `Slopes` is the tool there.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lime_guarantee.engine.batches import Batch
from lime_guarantee.engine.kernels.avoid import NO_SIDE, largest_extents
from lime_guarantee.engine.search.sides import Sides
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

RAY = np.concatenate([[0.001, 0.004, 0.015], np.linspace(0.05, 1.0, 10)])
"""Where a side is tried when one feature alone is moved, as shares of the way to the edge."""

FINE = RAY[0] * 0.25 ** np.arange(8, 0, -1)
"""The same, where the first of them fails."""

PARTS = 4
"""Between two places of which one fails, so many parts are looked at in one call."""

REFINEMENTS = 2
"""How often: a wall is then found within 1/16 of the way between them, and sides are let out in the end."""

CONTEXT_SCALES, CONTEXT_DRAWS, MOST_FAILING_IN_CONTEXT = 0.5 ** np.arange(14), 20, 0.15
"""The other features vary in the largest copy of the rays' box that fails this seldom; draws in each copy."""

SHARP_DRAWS, SHARP_OUTSIDE, SHARP_INSIDE, INSIDE = 10, 0.8, 0.45, 0.85
"""A ray ends at a wall if points just outside fail at least this often, and those at this share of the way at
most that often. With a softer test, instances near an oblique boundary lose decades."""

MOST_FEATURES = 5
"""A cause has at most so many features: what needs more is rare in any box that is nearly pure."""

CAUSES, CAUSES_PER_AXIS, ROUNDS = 32, 2, 12
"""The fewest failures reduced in a round, and how many for each axis: every cause cuts a side or so. And the
most rounds."""

CONTRASTED, CONTRAST_DRAWS, LEAST_CONTRAST, LEAST_SHARP = 10, 6, 0.4, 0.5
"""So many failures of a round are looked into first. A cause is sharp if pulling one of its features in saves
so large a share of the draws (walls: 0.5 to 1, smooth boundaries: below 0.3). Where a smaller share of these
failures than the last number has sharp causes, there are no walls."""

TRY_DRAWS = 100
"""Draws on which a box between walls is tried, twice; it holds if no more fail than are allowed."""

SETTLING_DRAWS, SETTLED, SETTLING_ROUNDS, SETTLING_ROUNDS_PER_AXIS = 32, 1.2, 16, 4
"""With few features: the first draws in a box; draws without a failure after which it holds, in units of
1 / (1 - purity); and the most rounds, so many, and so many more for each axis."""

OPENING, OPENING_STEPS = 0.12, 5
"""In the end sides are let out by this share of their extent at most, found in so many halvings."""


class Walls:
    """What is known of walls around the instance.

    Parameters
    ----------
    sides : Sides
    """

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        self.free = np.flatnonzero(sides.edge > 0)
        self.single = sides.edge.copy()  # how far each side goes when it moves alone
        self.reach = sides.edge.copy()  # the same, where it ends at a wall
        self._fails = sides.edge.copy()  # where it fails then
        self.best = sides.edge.copy()  # the largest box that avoids all causes
        self.holds = False  # whether hardly anything fails in it
        self.context: Box = sides.home
        self.faithful: list[Box] = []  # boxes in which nothing failed, the largest first
        self.drawn: list[Batch] = []  # in boxes that were tried
        self._forget_causes()

    def find(self) -> None:
        """Look for walls, until the largest box between them holds or there seem to be none."""
        self._sweep()
        self._choose_context()
        few = self.sides.dims <= MOST_FEATURES
        if few:
            self.holds = self._settle()
            if self.holds:
                return
            self._forget_causes()
        self._avoid_causes()
        if few and not self.holds:
            self.best = self.reach.copy()  # of few features, all together are a cause of anything

    def _avoid_causes(self) -> None:
        """Reduce failures to their causes, and try the largest box that avoids these."""
        self.best = self.reach.copy()
        causes, tried = max(CAUSES, CAUSES_PER_AXIS * self.sides.dims), False
        for _ in range(ROUNDS):
            box = self.sides.box(self.best)
            self.sides.task.report("walls", box)
            points, faithful = self._draw(box, TRY_DRAWS)
            if np.mean(~faithful) <= 1.0 - self.sides.task.purity:
                if tried:
                    self.holds = True
                    self._open()
                    return
                tried = True
                continue
            if self.sides.all_coarse or not self.note_failures(points[~faithful], causes):
                return  # a cell is sharp whatever fails
            self.best, tried = self.largest(self.reach), False

    def _settle(self) -> bool:
        """With few features a failure is its own cause: try the largest box that holds none."""
        sides = self.sides
        count, enough = SETTLING_DRAWS, int(np.ceil(SETTLED / (1.0 - sides.task.purity)))
        for _ in range(SETTLING_ROUNDS + SETTLING_ROUNDS_PER_AXIS * sides.dims):
            self.best = self.largest(self._fails)
            box = sides.box(self.best)
            sides.task.report("walls", box)
            points, faithful = self._draw(box, count)
            if not faithful.all():
                self._add_causes(*self._own_causes(points[~faithful]))
            elif count < enough:
                count = min(2 * count, enough)
            else:
                return True
        return False

    def _draw(self, box: Box, count: int) -> Batch:
        batch = self.sides.draw(box, count)
        self.drawn.append(batch)
        return batch

    def _own_causes(self, failures: FloatArray) -> tuple[IntArray, FloatArray]:
        """Failures of few features, as causes: a box avoids one if any of its sides stops before it."""
        dims, home = self.sides.dims, self.sides.home
        stops = self.sides.cube.stops(failures)
        up = failures > self.sides.task.instance
        far = np.where(up, stops - home.upper, home.lower - stops)
        sides = np.full((len(failures), MOST_FEATURES), NO_SIDE, dtype=np.int64)
        limits = np.zeros(sides.shape)
        sides[:, :dims] = np.where(far > 0, np.where(up, dims, 0) + np.arange(dims), NO_SIDE)
        limits[:, :dims] = np.nextafter(far, 0.0)
        return sides, limits

    def largest(self, edge: FloatArray) -> FloatArray:
        """Extents of the largest box, within some, that avoids all causes."""
        return largest_extents(self.cause_sides, self.cause_limits, self.sides.home.width.copy(), edge)

    def note_failures(self, failures: FloatArray, count: int) -> bool:
        """Take note of the sharp causes of failures; False if most of the first ones have none."""
        items = np.arange(count) % len(failures)
        for part, first in ((items[:CONTRASTED], True), (items[CONTRASTED:], False)):
            points, moved, reduced = self._reduced(failures[part])
            if first and reduced.sum() < LEAST_SHARP * CONTRASTED:
                return False
            sides, limits, beyond = self._pulled_in(points[reduced], moved[reduced])
            if first:
                sharp = np.sum(self._contrast(sides, limits, beyond) >= LEAST_CONTRAST)
                if sharp < LEAST_SHARP * CONTRASTED:
                    return False
            self._add_causes(sides, limits)
        return True

    def _forget_causes(self) -> None:
        self.cause_sides = np.empty((0, MOST_FEATURES), dtype=np.int64)
        self.cause_limits = np.empty((0, MOST_FEATURES))

    def _add_causes(self, sides: IntArray, limits: FloatArray) -> None:
        self.cause_sides = np.concatenate([self.cause_sides, sides])
        self.cause_limits = np.concatenate([self.cause_limits, limits])

    def _sweep(self) -> None:
        """Move one side at a time out from the instance, until it first fails."""
        sides, free = self.sides, self.free
        edge = sides.edge[free, np.newaxis]
        faithful = sides.along(np.repeat(free[:, np.newaxis], RAY.size, axis=1), edge * RAY)
        stopped = ~faithful.all(axis=1)
        inner, outer = _between(RAY, faithful)
        ends = np.flatnonzero(stopped)
        near = np.flatnonzero(outer == RAY[0])
        if near.size:
            fine = sides.along(np.repeat(free[near, np.newaxis], FINE.size, axis=1), edge[near] * FINE)
            inner[near], outer[near] = _between(FINE, fine)
            outer[near] = np.minimum(outer[near], RAY[0])

        def fails_first(places: FloatArray) -> IntArray:
            tried = np.repeat(free[ends, np.newaxis], PARTS - 1, axis=1)
            good = sides.along(tried, edge[ends] * places)
            return np.where(good.all(axis=1), PARTS - 1, np.argmin(good, axis=1))

        inner[ends], outer[ends] = _refined(inner[ends], outer[ends], fails_first)
        self.single[free] = inner * edge[:, 0]
        self._ends, self._fails_at = free[ends], (outer * edge[:, 0])[ends]

    def _choose_context(self) -> None:
        """Choose a box in which other features vary, and see which rays end at a wall."""
        sides, ends = self.sides, self._ends
        boxes = [self._copy(scale) for scale in CONTEXT_SCALES]
        points = np.concatenate([box.sample(sides.rng, CONTEXT_DRAWS) for box in boxes])
        failing = (~sides.evaluate(points)).reshape(len(boxes), CONTEXT_DRAWS).mean(axis=1)
        fit = np.flatnonzero(failing <= MOST_FAILING_IN_CONTEXT)
        self.context = boxes[int(fit[0]) if fit.size else len(boxes) // 2]
        self.faithful = [boxes[i] for i in np.flatnonzero(failing == 0.0)]
        if ends.size == 0:
            return
        tried = np.repeat(ends[:, np.newaxis], SHARP_DRAWS, axis=1)
        outside = np.minimum(1.001 * self._fails_at, sides.edge[ends])[:, np.newaxis]
        inside = INSIDE * self.single[ends, np.newaxis]
        both = np.concatenate([np.broadcast_to(far, tried.shape) for far in (outside, inside)])
        failing = (~sides.along(np.concatenate([tried, tried]), both, self.context)).mean(axis=1)
        sharp = (failing[: ends.size] >= SHARP_OUTSIDE) & (failing[ends.size :] <= SHARP_INSIDE)
        self.reach[ends[sharp]] = self.single[ends[sharp]]
        self._fails[ends[sharp]] = self._fails_at[sharp]

    def _copy(self, scale: float) -> Box:
        """A smaller copy of the rays' box; sides that end in the first atom stay, or not, at random."""
        sides = self.sides
        extent = scale * self.single
        chosen = sides.rng.random(extent.size) < scale
        atoms = np.tile(sides.home.width > 0, 2)
        return sides.box(np.where(atoms, np.where(chosen, self.single, extent), extent))

    def _reduced(self, points: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Put features of failures back to the instance as long as they fail.

        Features come in a random order. Of all that fail with the first k of them moved, the smallest k is
        found, and its last feature stays; then the same with those before it, until what stays fails alone.

        Returns the points, which of their features stay, and whether these few fail alone.
        """
        instance, dims = self.sides.task.instance, self.sides.dims
        count = len(points)
        rank = np.argsort(self.sides.rng.random((count, dims)), axis=1)
        order = np.argsort(rank, axis=1)
        stays = np.zeros((count, dims), dtype=np.bool_)
        reduced = np.zeros(count, dtype=np.bool_)
        fails_with = np.full(count, dims)
        for _ in range(MOST_FEATURES):
            left = np.flatnonzero(~reduced & (fails_with > 0))
            if left.size == 0:
                break
            fails_with[left] = self._smallest_failing(points[left], rank[left], stays[left], fails_with[left])
            stays[left, order[left, fails_with[left] - 1]] = True
            fails_with[left] -= 1
            reduced[left] = ~self.sides.ask(np.where(stays[left], points[left], instance))
        return points, stays, reduced

    def _smallest_failing(
        self, points: FloatArray, rank: IntArray, stays: BoolArray, fails_with: IntArray
    ) -> IntArray:
        """The smallest number of features, in their order, that fail together with those that stay."""
        instance = self.sides.task.instance
        low, high = np.zeros(len(points), dtype=np.int64), fails_with.copy()
        while np.any(high - low > 1):
            open_ = np.flatnonzero(high - low > 1)
            ways = np.arange(1, PARTS)[:, np.newaxis]
            cuts = low[open_] + np.maximum((high - low)[open_] * ways // PARTS, 1)
            cuts = np.minimum(cuts, high[open_] - 1)
            moved = (rank[open_] < cuts[:, :, np.newaxis]) | stays[open_]
            tried = np.where(moved, points[open_], instance)
            good = self.sides.ask(tried.reshape(-1, instance.size)).reshape(cuts.shape)
            high[open_] = np.min(np.where(good, high[open_], cuts), axis=0)
            low[open_] = np.max(np.where(good & (cuts < high[open_]), cuts, low[open_]), axis=0)
        return high

    def _pulled_in(self, points: FloatArray, stays: BoolArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """For every cause, its sides, how far each may go alone, and where it then fails."""
        sides, dims = self.sides, self.sides.dims
        causes = np.where(stays, points, sides.task.instance)
        rows, axes = np.nonzero(stays)
        up = points[rows, axes] > sides.task.instance[axes]
        side = np.where(up, dims + axes, axes)
        gap = points[rows, axes] - sides.home.upper[axes], sides.home.lower[axes] - points[rows, axes]
        far = np.where(up, *gap)

        def fails_first(places: FloatArray) -> IntArray:
            tried = np.repeat(causes[rows], PARTS - 1, axis=0)
            tried = sides.put(tried, np.repeat(side, PARTS - 1), (far[:, np.newaxis] * places).ravel())
            good = sides.ask(tried).reshape(places.shape)
            last = PARTS - 1 - np.argmax(good[:, ::-1], axis=1)
            return np.where(good.any(axis=1), last, 0)

        inner, outer = _refined(np.zeros(rows.size), np.ones(rows.size), fails_first)
        place = np.arange(rows.size) - np.searchsorted(rows, rows)
        found = np.full((len(points), MOST_FEATURES), NO_SIDE, dtype=np.int64)
        limits, beyond = np.zeros(found.shape), np.zeros(found.shape)
        found[rows, place], limits[rows, place], beyond[rows, place] = side, inner * far, outer * far
        return found, limits, beyond

    def _contrast(self, sides: IntArray, limits: FloatArray, beyond: FloatArray) -> FloatArray:
        """How much less often a cause fails, others varying, once one of its sides is pulled in."""
        count = len(sides)
        pulled = self.sides.rng.integers(0, np.sum(sides != NO_SIDE, axis=1))[:, np.newaxis]
        inside = np.where(np.arange(MOST_FEATURES) == pulled, INSIDE * limits, beyond)
        points = self.context.sample(self.sides.rng, 2 * count * CONTRAST_DRAWS)
        which = np.repeat(np.concatenate([sides, sides]), CONTRAST_DRAWS, axis=0)
        far = np.repeat(np.concatenate([beyond, inside]), CONTRAST_DRAWS, axis=0)
        for j in range(MOST_FEATURES):
            has = np.flatnonzero(which[:, j] != NO_SIDE)
            points[has] = self.sides.put(points[has], which[has, j], far[has, j])
        failing = (~self.sides.ask(points)).reshape(2, count, CONTRAST_DRAWS).mean(axis=2)
        return np.asarray(failing[0] - failing[1])

    def _open(self) -> None:
        """Let every side of the best box out a little, as far as it stays faithful, others varying."""
        sides = self.sides
        inner = np.flatnonzero((self.best < sides.edge) & (sides.edge > 0))
        if inner.size == 0:
            return
        box = sides.box(self.best)
        low = self.best[inner]
        high = np.minimum(low + np.maximum(OPENING * low, RAY[0] * sides.edge[inner]), sides.edge[inner])
        for _ in range(OPENING_STEPS):
            middle = (low + high) / 2
            good = sides.along(np.repeat(inner[:, np.newaxis], 2, axis=1), middle[:, np.newaxis], box).all(
                axis=1
            )
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        self.best[inner] = low


def _between(places: FloatArray, faithful: BoolArray) -> tuple[FloatArray, FloatArray]:
    """For every row, the last place before the first failure, and where this is; 1 if nothing fails."""
    stopped, first = ~faithful.all(axis=1), np.argmin(faithful, axis=1)
    inner = np.where(stopped, np.where(first > 0, places[first - 1], 0.0), places[-1])
    return inner, np.where(stopped, places[first], 1.0)


def _refined(
    inner: FloatArray, outer: FloatArray, fails_first: Callable[[FloatArray], IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Narrow down where things between an inner and an outer place begin to fail."""
    parts = np.arange(1, PARTS) / PARTS
    for _ in range(REFINEMENTS if inner.size else 0):
        first = fails_first(inner[:, np.newaxis] + (outer - inner)[:, np.newaxis] * parts)
        step = (outer - inner) / PARTS
        inner, outer = inner + first * step, inner + (first + 1) * step
    return inner, outer
