"""In few dimensions: hope for the largest box that nothing seen so far speaks against, and try it.

Every failure ever drawn stands for a volume: one over the density of all draws where it lies. The largest
box in which the failures stand for hardly anything is found exactly, or almost, by a kernel, and
drawn in. Either it holds, or its failures rule it out, and many more. Where what fails has sides like a
box's, as with trees, a few rounds settle it. Where the boundary is curved, they do not: too many boxes look
alike.

Nothing here is part of the guarantee: every rule is a heuristic, its constants chosen on the benchmarks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lime_guarantee.engine.batches import Batch, worth_keeping
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.kernels.consistent_box import densities, largest_box
from lime_guarantee.engine.kernels.max_box import expand_box, points_inside
from lime_guarantee.engine.search.base import Effort, Task
from lime_guarantee.engine.search.face_balancing import FaceBalancing
from lime_guarantee.engine.search.max_box import NO_PRIORITY
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray

AIM = 0.2
"""The failing share that is hoped for, as a fraction of the allowed one."""


@dataclass(frozen=True)
class _Plan:
    """How much is spent.

    At most so many nodes are searched for a box; a box has held after so many draws, in units of
    1 / (1 - purity); the sides of the smaller boxes of a proposal keep away from failures by these margins,
    shares of the width.
    """

    nodes: int
    held: float
    margins: tuple[float, ...]


PLANS = {
    "low": _Plan(nodes=100, held=1.0, margins=(0.01, 0.04)),
    "normal": _Plan(nodes=200, held=1.2, margins=(0.01, 0.04)),
    "high": _Plan(nodes=600, held=2.0, margins=(0.005, 0.02)),
}

SCALES, SCALE_DRAWS = 0.5 ** np.arange(8), 12
"""Common factors at which the search begins, and draws at each."""

FIRST_DRAWS = 32
"""Draws that a box is first tried on."""

LEAST_LOSS_BETWEEN_NESTED = 0.005
"""The least log volume by which each box of a proposal is smaller than the one before."""

LARGEST_EXPONENT = 700.0
"""The largest number of which the exponential function is taken: it stays finite."""


class ConsistentBox:
    """All that has been drawn, and the largest box that it does not speak against.

    Parameters
    ----------
    task : Task
    effort : str
    steering : FaceBalancing
        Knows how far one feature can go alone. No box goes past what failed there.
    spend : callable
        Told the number of draws before they are made; may refuse by raising.
    """

    def __init__(
        self, task: Task, effort: Effort, steering: FaceBalancing, spend: Callable[[int], None]
    ) -> None:
        self.task = task
        self.spend = spend
        self.plan = PLANS[effort]
        self.aim = AIM * (1.0 - task.purity)
        self.enough = int(np.ceil(self.plan.held / (1.0 - task.purity)))
        self.reach = steering.box(steering.failed_at)
        self.seen: list[Batch] = []
        self._drawn: list[tuple[FloatArray, FloatArray, float]] = []  # bounds, and the density of the draws
        self._failures = np.empty((0, task.instance.size))
        self._stops = np.empty((0, task.instance.size))
        self._density = np.empty(0)  # of all draws, at the failures
        self._draw([steering.box(scale * steering.extent) for scale in SCALES], SCALE_DRAWS)

    def note(self, box: Box, points: FloatArray, faithful: BoolArray) -> None:
        """Take note of points drawn in a box."""
        if len(points) == 0:
            return
        times = self.task.domain.log_share - box.log_share
        density = len(points) * float(np.exp(min(times, LARGEST_EXPONENT)))
        self._drawn.append((box.lower, box.upper, density))
        self.seen.append(worth_keeping(points, faithful))
        self._density[box.contains(self._failures)] += density
        new = points[~faithful]
        lower, upper, dense = (np.array(column) for column in zip(*self._drawn, strict=True))
        self._failures = np.concatenate([self._failures, new])
        self._stops = np.concatenate([self._stops, self.task.cube.stops(new)])
        self._density = np.concatenate([self._density, densities(new, lower, upper, dense)])

    def note_attempt(self, boxes: tuple[Box, ...], attempt: Attempt) -> None:
        """Take note of what was drawn when these boxes were put to the test."""
        ends = np.cumsum(attempt.drawn)
        for box, count, end in zip(boxes, attempt.drawn, ends, strict=True):
            self.note(box, attempt.points[end - count : end], attempt.faithful[end - count : end])

    def _draw(self, boxes: list[Box], count: int) -> BoolArray:
        """Draw so many points in each of the boxes, and take note of them."""
        self.spend(len(boxes) * count)
        points = [box.sample(self.task.rng, count) for box in boxes]
        faithful = self.task.oracle.evaluate(np.concatenate(points))
        for box, drawn, good in zip(boxes, points, np.split(faithful, len(boxes)), strict=True):
            self.note(box, drawn, good)
        return faithful

    def largest(self, aim: float, within: Box) -> Box:
        """The largest box, within another one, in which failures stand for no more than this share."""
        cube = self.task.cube
        inside = within.contains(self._failures)
        failures = np.ascontiguousarray(self._failures[inside])
        stops = np.ascontiguousarray(self._stops[inside])
        lower, upper = largest_box(
            failures,
            stops,
            1.0 / self._density[inside],
            cube.instance,
            within.lower,
            within.upper,
            aim,
            self.plan.nodes,
        )
        outside = ~points_inside(failures, lower, upper)
        lower, upper = expand_box(  # sides may have been cut for failures that another side keeps out
            failures[outside],
            stops[outside],
            lower,
            upper,
            within.lower,
            within.upper,
            np.zeros(len(cube)),  # the bounds are those of whole atoms already
            NO_PRIORITY,
        )
        return cube.snapped(lower, upper)

    def settle(self, rounds: int) -> bool:
        """Try the largest box until one holds; False if none does."""
        box, count = self.largest(self.aim, self.reach), FIRST_DRAWS
        for _ in range(rounds):
            self.task.report("growing", box)
            if np.mean(~self._draw([box], count)) > self.aim:
                box = self.largest(self.aim, self.reach)
            elif count < self.enough:
                count = min(2 * count, self.enough)
            else:
                return True
        return False

    def nested(self) -> tuple[Box, ...]:
        """The largest box, and smaller ones in it that keep away from all failures."""
        boxes = [self.largest(self.aim, self.reach)]
        clean = self.largest(0.0, boxes[0])
        domain, home = self.task.domain, self.task.home
        for margin in self.plan.margins:
            way = margin * clean.width
            box = self.task.cube.snapped(
                np.where(clean.lower > domain.lower, np.minimum(clean.lower + way, home.lower), clean.lower),
                np.where(clean.upper < domain.upper, np.maximum(clean.upper - way, home.upper), clean.upper),
            )
            if box.log_share < boxes[-1].log_share - LEAST_LOSS_BETWEEN_NESTED:
                boxes.append(box)
        return tuple(boxes)
