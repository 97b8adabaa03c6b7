"""A box around the instance whose 2 D sides are steered by the failures drawn in it.

Side d is the lower one of axis d, side D + d the upper one; a side's extent is its distance from the
instance's home: its own atom, or itself where it lies in none. Extents move continuously; the box of some
extents is snapped, so that it holds whole atoms.

Nothing here is part of the guarantee: every rule is a heuristic, its constants chosen on the benchmarks.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.kernels import face_balancing as kernels
from lime_guarantee.engine.search.base import Task
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

TINY = 1e-300
"""The least extent, where a logarithm is taken or a division made."""

SWEEP = np.array([0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5, 0.75, 1.0])
"""Where a side is tried when one feature alone is moved, as shares of the way to the edge."""

SCALES = 2.0 ** (-np.arange(19) / 2)
"""Common factors tried when a box is drawn in until it is faithful."""

SCALE_DRAWS, SCALE_FAITHFUL = 24, 0.97
"""Draws at each of them, and the least faithful share of a box that will do."""

CONTEXT_DRAWS = 10
"""Draws for each side that is moved while the others vary."""

SLAB = 0.2
"""A face's failing rate is read off the outer slab of this share of the width."""

MEMORY = 0.75
"""The weight of earlier rounds in a face's failing rate, round by round."""

PRIOR = 3.0
"""Failures, and expected failures, added to every face: rates from few draws are drawn towards 1."""

LEAST_LOG_RATE_MOVED_IN = 0.2
"""The least logarithm of a face's rate at which the face is moved in: below it, it is noise."""

STEP = 0.5
LARGEST_STEP = 1.2
"""Bounds on how far a side moves in a round (in logarithms); the second one while nothing fails."""

FAR_OFF, COMMON_STEP = 3.0, 0.1
"""A failing share so many times the aim, with no face to blame, draws all sides in by this much."""

MOST_FAILING_BEFORE_RETREAT = 0.4
"""The largest failing share of a box that keeps its place: beyond, it has grown too fast and goes back."""

CUT_SCORE, CUT_SHARE, CUT_CAUTION = 1.0, 0.2, 2.0
"""A side is cut back when that pays this well and removes this share of the failures; see `best_cut`."""

FINAL_SCORE, FINAL_CAUTION = 0.7, 0.5
"""The same, when the box is drawn in at the end."""

NEAR_EDGE, NEAR_EDGE_RATE = 0.6, 1.4
"""A side this near the edge (as a share of the way) that fails no more than so often belongs there."""

LEAST_EXTENT = 0.3
"""The least extent of a side beside an atom, as a share of that: so it comes back in a round or two."""

MOST_FAILURES_KEPT = 400
"""The most failures that are remembered."""

PATH_PENALTY = 0.3
"""What a path other than the common one must be better by, in log volume: choosing among paths overfits."""


class FaceBalancing:
    """The state of the search: where the sides are, and what is known of their faces."""

    def __init__(self, task: Task, extent: FloatArray | None = None, rigid: BoolArray | None = None) -> None:
        domain, home = task.domain, task.home
        self.task = task
        self.cube = task.cube
        self.home = home
        self.dims = task.instance.size
        self.edge = np.concatenate([home.lower - domain.lower, domain.upper - home.upper])
        self.free = self.edge > 0
        self.counted = np.tile(task.cube.counts_draws, 2)  # the share of a slab is known from draws alone
        self.least = LEAST_EXTENT * self._first_atoms()
        self.extent = self.edge.copy() if extent is None else extent.copy()
        # Both sides of a rigid axis stay where they are.
        self.rigid = np.zeros(2 * self.dims, dtype=np.bool_) if rigid is None else rigid
        self.single = self.edge.copy()  # how far each side goes when it moves alone
        self.failed_at = self.edge.copy()  # where it then first failed
        self._before: FloatArray | None = None  # the extents of the round before, to go back to
        self._found = np.zeros(2 * self.dims)  # failures seen in the slabs
        self._expected = np.zeros(2 * self.dims)  # failures there, if all of the box failed alike
        self._step = STEP
        self._room = np.full(2 * self.dims, STEP)  # how far a side may grow; little after a cut
        self._pool = np.empty((0, self.dims))
        self._drawn: list[tuple[FloatArray, BoolArray]] = []

    def restarted(self, extent: FloatArray) -> FaceBalancing:
        """The same with other extents, nothing rigid, and without what was learnt while balancing."""
        fresh = FaceBalancing(self.task, extent)
        fresh.single = self.single
        return fresh

    def box(self, extent: FloatArray | None = None) -> Box:
        """The box of the present, or of other, extents."""
        extent = self.extent if extent is None else extent
        inner, dims, domain, home = extent < self.edge, self.dims, self.task.domain, self.home
        return self.cube.snapped(
            np.where(inner[:dims], np.maximum(home.lower - extent[:dims], domain.lower), domain.lower),
            np.where(inner[dims:], np.minimum(home.upper + extent[dims:], domain.upper), domain.upper),
        )

    def sweep(self) -> None:
        """Move one side at a time out from the instance, and stop each before its first failure."""
        sides = np.flatnonzero(self.free)
        steps = self.edge[sides, np.newaxis] * SWEEP
        points = np.tile(self.task.instance, (sides.size, SWEEP.size, 1))
        faithful, far, stop = self._ask_moved(points, sides, steps)
        for i, side in enumerate(sides):
            if faithful[i].all():
                continue
            first = int(np.argmin(faithful[i]))
            if np.sum(~faithful[i]) > 1:  # one failure may be a speck
                self.failed_at[side] = far[i, first]
            if stop[i, first] < far[i, first]:  # an atom failed: all before it may be held
                self.extent[side] = max(stop[i, first], self.least[side])
            else:
                self.extent[side] = far[i, first - 1] if first else far[i, 0] / 2
        self.single = self.extent.copy()

    def sweep_in_context(self) -> None:
        """Move one side at a time while the others vary, too: what never fails does not matter.

        In many dimensions this tells at once which features are free, which rounds of balancing learn slowly.
        """
        sides = np.flatnonzero(self.free)
        shape = (sides.size, CONTEXT_DRAWS)
        points = self.box(0.6 * self.extent).sample(self.task.rng, sides.size * CONTEXT_DRAWS)
        places = (np.arange(CONTEXT_DRAWS) + self.task.rng.random(shape)) / CONTEXT_DRAWS
        steps = self.single[sides, np.newaxis] * places
        faithful, steps, _ = self._ask_moved(points.reshape(*shape, self.dims), sides, steps)
        for side, far, good in zip(sides, steps, faithful, strict=True):
            if good.all():
                self.extent[side] = self.single[side]
            else:
                self.extent[side] = max(self.extent[side], 0.9 * far[int(np.argmin(good))])
        self.draw_in_until_faithful(self.free & (self.extent < self.edge))

    def draw_in_until_faithful(self, sides: BoolArray) -> bool:
        """Draw some sides in by one factor, until hardly anything fails; True if nothing had to move."""
        for _ in range(5):
            boxes = [self.box(np.where(sides, factor * self.extent, self.extent)) for factor in SCALES]
            points = np.concatenate([box.sample(self.task.rng, SCALE_DRAWS) for box in boxes])
            share = self.task.oracle.evaluate(points).reshape(SCALES.size, SCALE_DRAWS).mean(axis=1)
            bad = np.flatnonzero(share < SCALE_FAITHFUL)
            if bad.size == 0:
                return bool(share.min() == 1.0)
            last = int(bad[-1])
            self.extent = np.where(sides, SCALES[min(last + 1, SCALES.size - 1)] * self.extent, self.extent)
            if last + 1 < SCALES.size:
                return False
        return False

    def steer(self, points: FloatArray, faithful: BoolArray, aim: float, pace: float) -> None:
        """Move the sides after a batch drawn in the box.

        Parameters
        ----------
        points, faithful : the batch
        aim : the failing share to steer to
        pace : how strongly sides answer to their failing rates
        """
        failures = points[~faithful]
        failing = (len(failures) + 0.5) / (len(points) + 1)
        if (
            failing > MOST_FAILING_BEFORE_RETREAT
            and self._before is not None
            and np.any(self._before < self.extent)
        ):
            self._go_back()
            return
        box, before = self.box(), self.extent.copy()
        self._before = before
        pool = np.concatenate([failures, self._pool[box.contains(self._pool)]])
        kept = self._cut_back(pool, aim * 0.3 * len(pool) / failing)
        self._pool = pool[:MOST_FAILURES_KEPT]
        cut = self.extent < before
        remaining = failing * (len(kept) + 0.5) / (len(pool) + 0.5)
        if cut.any():
            failures = failures[self.box().contains(failures)]
        rate = self._face_rates(box, points, failures, forget=cut)
        self._move(rate, cut, aim, remaining, pace)

    def average(self, logs: list[FloatArray]) -> None:
        """Take the mean of the last rounds' extents (their logarithms); put what is near the edge there."""
        self.extent = np.minimum(np.exp(np.mean(logs, axis=0)), self.edge)
        near = self._near_edge(self.extent) & (self._rates() < NEAR_EDGE_RATE)
        self.extent = np.where(near, self.edge, self.extent)

    def draw_in(self, points: FloatArray, faithful: BoolArray, aim: float) -> None:
        """Draw the box in until the failing share of all points drawn in it is at most the aim.

        Several ways to get there are tried on the points, and the one that leaves the largest box is taken:
        all inner sides by one factor, the sides that fail more often the more so, or either after cuts.
        """
        self._drawn.append((points, faithful))
        box = self.box()
        inside = [box.contains(drawn) for drawn, _ in self._drawn]
        points = np.concatenate([drawn[i] for (drawn, _), i in zip(self._drawn, inside, strict=True)])
        faithful = np.concatenate([good[i] for (_, good), i in zip(self._drawn, inside, strict=True)])
        self._drawn = [(points, faithful)]
        failures = points[~faithful]
        if len(failures) == 0 or len(failures) + 0.5 <= aim * (len(points) + 1):
            return
        rate = self._face_rates(box, points, failures)
        common = self._inner().astype(np.float64)
        excess = np.where(self.free & ~self.rigid, np.maximum(np.log(rate), 0.0), 0.0)
        whole = self.extent.copy()
        pool = np.concatenate([failures, self._pool[box.contains(self._pool)]])
        enough = aim * len(points) / len(failures) * len(pool)
        self._cut_back(pool, enough, score=FINAL_SCORE, share=0.0, caution=FINAL_CAUTION)
        trimmed = self.extent
        cut_penalty = PATH_PENALTY * np.sum(trimmed < whole)
        best, best_volume = np.where(self.rigid, whole, 0.7 * whole), -np.inf
        for start, speed, penalty in (
            (whole, common, 0.0),
            (whole, excess, PATH_PENALTY),
            (trimmed, common, cut_penalty),
            (trimmed, excess, PATH_PENALTY + cut_penalty),
        ):
            extent = self._along(start, speed, points, faithful, aim)
            if extent is not None and self.box(extent).log_share - penalty > best_volume:
                best, best_volume = extent, self.box(extent).log_share - penalty
        self.extent = best

    def tighten(self, factor: float) -> None:
        """Draw the inner sides in by a factor."""
        self.extent = np.where(self._inner(), factor * self.extent, self.extent)

    def _near_edge(self, extent: FloatArray) -> BoolArray:
        """The sides that are almost at the edge and have not been cut back of late."""
        near = extent > NEAR_EDGE * self.edge
        return np.asarray(near & (self._room >= STEP) & ~self.rigid)

    def _inner(self) -> BoolArray:
        """The sides that are not at the edge; all free ones if there is none."""
        free = self.free & ~self.rigid
        inner = free & (self.extent < self.edge)
        return np.asarray(inner if inner.any() else free)

    def _first_atoms(self) -> FloatArray:
        """The width of the atom next to the instance's home, on every side; 0 where none begins there."""
        dims, home = self.dims, self.home
        beside = np.array([np.nextafter(home.lower, 0.0), np.nextafter(home.upper, 1.0)])
        low, high = self.cube.atoms(beside)
        width = np.concatenate([high[0] - low[0], high[1] - low[1]])
        return np.where((self.edge > 0) & (np.tile(home.width, 2) > 0), width, 0.0)[: 2 * dims]

    def _ask_moved(
        self, points: FloatArray, sides: IntArray, steps: FloatArray
    ) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Whether points (sides, steps, D) are faithful once moved along their side by the steps.

        Returns also how far they were really moved, to the middle of an atom, and how far its near end is.
        """
        axes = (sides % self.dims)[:, np.newaxis]
        down = sides[:, np.newaxis] < self.dims
        rows, columns = np.indices(steps.shape)
        home = np.where(down, self.home.lower[axes], self.home.upper[axes])
        points[rows, columns, axes] = np.where(down, home - steps, home + steps)
        flat = np.clip(points.reshape(-1, self.dims), self.task.domain.lower, self.task.domain.upper)
        if self.cube.has_atoms.any():
            flat = self.cube.settled(flat)
            moved = flat.reshape(points.shape)[rows, columns, axes]
            stops = self.cube.stops(flat).reshape(points.shape)[rows, columns, axes]
            far = np.where(down, home - moved, moved - home)
            stop = np.where(down, home - stops, stops - home)
        else:
            far = stop = steps
        return self.task.oracle.evaluate(flat).reshape(steps.shape), far, stop

    def _go_back(self) -> None:
        """Undo most of the last step, and go on more slowly; lost again, go back to the same place."""
        assert self._before is not None
        growth = np.log(np.maximum(self.extent, TINY) / np.maximum(self._before, TINY))
        self.extent = np.where(self.free, np.minimum(self._before * np.exp(0.3 * growth), self.edge), 0.0)
        self._step = STEP / 2

    def _cut_back(
        self,
        pool: FloatArray,
        enough: float,
        *,
        score: float = CUT_SCORE,
        share: float = CUT_SHARE,
        caution: float = CUT_CAUTION,
    ) -> FloatArray:
        """Cut sides that hold the failures, the best cut first; returns the failures that are left."""
        self.extent = self.extent.copy()
        rigid = self.rigid[: self.dims]
        home = self.home
        while len(pool) >= 5 and len(pool) > enough:
            # A point at the instance on a rigid axis speaks against none of its sides.
            seen = np.where(rigid, self.task.instance, pool) if rigid.any() else np.ascontiguousarray(pool)
            stops = np.ascontiguousarray(self.cube.stops(seen))
            side, extent, gain = kernels.best_cut(
                seen, stops, home.lower, home.upper, self.extent, caution, share
            )
            if gain < score:
                break
            axis = side % self.dims
            gap = pool[:, axis] - home.upper[axis] if side >= self.dims else home.lower[axis] - pool[:, axis]
            pool = pool[gap <= extent]
            way = np.log(max(self.extent[side], TINY) / max(extent, TINY))
            self._room[side] = max(0.25 * min(self._room[side], way), 0.02)
            self.extent[side] = extent
        return pool

    def _face_rates(
        self, box: Box, points: FloatArray, failures: FloatArray, forget: BoolArray | None = None
    ) -> FloatArray:
        """Every face's failing rate over the box's own, from this batch and, weighing less, earlier ones."""
        low_end, high_start = box.lower + SLAB * box.width, box.upper - SLAB * box.width
        if self.cube.has_atoms.any():  # an atom is in the slab, or it is not
            low_end = self.cube.atoms(low_end[np.newaxis])[1][0]
            high_start = self.cube.atoms(high_start[np.newaxis])[0][0]
        found = kernels.slab_counts(np.ascontiguousarray(failures), low_end, high_start)
        share = np.full(2 * self.dims, SLAB)
        if self.counted.any():
            drawn = kernels.slab_counts(np.ascontiguousarray(points), low_end, high_start)
            share = np.where(self.counted, drawn / len(points), share)
        self._found = MEMORY * self._found + found
        self._expected = MEMORY * self._expected + share * (len(failures) + 0.25)
        if forget is not None:
            self._found[forget] = 0.0
            self._expected[forget] = 0.0
        return self._rates()

    def _rates(self) -> FloatArray:
        return np.asarray((self._found + PRIOR) / (self._expected + PRIOR))

    def _move(self, rate: FloatArray, cut: BoolArray, aim: float, failing: float, pace: float) -> None:
        """Move faces that fail more than a common level in and the others out.

        The level is chosen so that the failing share is expected to go most of the way to the aim: moving a
        side by a factor changes the share's logarithm by (rate - 1) times the side's share of the width.
        """
        quiet = failing < 0.5 * aim and not cut.any()
        self._step = min(1.3 * self._step, LARGEST_STEP) if quiet else STEP
        way = np.log(np.maximum(self.edge, TINY) / np.maximum(self.extent, TINY))
        steady = self._room >= STEP
        room = np.minimum(way, np.where(steady & quiet, self._step, self._room))
        room = np.where(self.free & ~cut, room, 0.0)
        if failing > 4.0 * aim:
            room = np.minimum(room, 0.0)
        width = np.tile(self.extent[: self.dims] + self.extent[self.dims :] + self.home.width + TINY, 2)
        weight = np.where(
            self.free & ~self.rigid, (2.5 * np.maximum(rate - 1, 0) + 0.02) * self.extent / width, 0.0
        )
        wanted = 0.7 * float(np.clip(np.log(aim / failing), -1.2, 1.2))
        answer = -pace * np.log(rate)
        inward = np.minimum(answer + pace * LEAST_LOG_RATE_MOVED_IN, 0.0)
        most = np.minimum(room, self._step)

        def step(level: float) -> FloatArray:
            """All sides' steps: a level of 0 or more moves all out; below, the faces that fail come in."""
            moved = answer + level if level > 0 else np.where(answer < 0, (1 - level) * inward, answer)
            return np.asarray(np.minimum(np.maximum(moved, -self._step), most))

        low, high = (0.0, 3.0) if (weight * step(0.0)).sum() < wanted else (-3.0, 0.0)
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if (weight * step(middle)).sum() < wanted else (low, middle)
        moved = step((low + high) / 2)
        if failing > FAR_OFF * aim and np.sum(weight * moved) > 0.5 * wanted:
            moved = np.where(self._inner(), np.minimum(moved, 0.0) - COMMON_STEP * pace, moved)
        moved = np.where(self.rigid, 0.0, moved)
        self._room = np.where(cut, self._room, np.minimum(1.25 * self._room, self._step))
        extent = np.maximum(self.extent, 1e-9 * self.edge) * np.exp(moved)
        extent = np.maximum(extent, self.least)
        settled = self._near_edge(extent) & (rate < np.exp(LEAST_LOG_RATE_MOVED_IN)) & (moved > -0.05)
        extent = np.where(settled, self.edge, extent)
        self.extent = np.where(self.free, np.minimum(extent, self.edge), 0.0)

    def _along(
        self, extent: FloatArray, speed: FloatArray, points: FloatArray, faithful: BoolArray, aim: float
    ) -> FloatArray | None:
        """The first extents along a path at which few enough of the points fail; None if none are."""
        inside = self.box(extent).contains(points)
        points, faithful = np.ascontiguousarray(points[inside]), faithful[inside]
        count = len(points)
        if count == 0 or not speed.any():
            return None
        if faithful.all() or np.sum(~faithful) + 0.5 <= aim * (count + 1):
            return extent
        home = self.home
        times = kernels.exit_times(points, home.lower, home.upper, np.maximum(extent, TINY), speed)
        order = np.argsort(-times, kind="stable")
        failing = np.cumsum(~faithful[order])
        few = np.flatnonzero(failing + 0.5 <= aim * (np.arange(1, count + 1) + 1))
        if few.size:
            time = times[order[few[-1] + 1]] if few[-1] + 1 < count else 0.0
        else:
            time = times[~faithful].max() + 0.02
        if not np.isfinite(time):
            return None
        time = max(time * (1 + 1e-7), 1e-6)  # just past it, so that the point is really left out
        return np.asarray(extent * np.exp(-np.minimum(time * speed, 20.0)))
