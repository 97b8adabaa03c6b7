"""The paper's two baselines, for comparison: a growing ball and a box grown side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import special

from lime_guarantee.engine.search.base import Proposals, Task
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

SMALLEST_STEP = 1e-3
"""The first of the logarithmic steps, as a share of the way to the edge."""

VOLUME_POINTS = 20_000
"""Points that tell how much of a ball lies in the domain, for the volume that is reported."""

FEWEST_KEPT = 1e-3
"""A ball is no longer grown when a smaller share of it lies in the domain."""


@dataclass(frozen=True, eq=False)
class Ball:
    """The points of a domain within a distance of the instance; axes of cells stay at the instance.

    Distance is Euclidean in the features' own units: standardise them if they differ.
    """

    instance: FloatArray
    radius: float
    domain: Box
    kept: float = 1.0
    """The share of the full ball that lies in the domain; only the volume needs it."""

    @cached_property
    def axes(self) -> IntArray:
        """The continuous axes, along which the ball extends."""
        return np.flatnonzero(self.domain.unit == 0)

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume."""
        n = self.axes.size
        unit_ball = 0.5 * n * np.log(np.pi) - special.gammaln(0.5 * n + 1.0)
        return float(unit_ball + n * np.log(self.radius) + np.log(self.kept))

    @cached_property
    def bounding_box(self) -> Box:
        """The smallest box around the ball."""
        lower, upper = self.instance.copy(), self.instance.copy()
        lower[self.axes] -= self.radius
        upper[self.axes] += self.radius
        return Box(lower, upper, self.domain.unit).restrict(self.domain)

    def contains(self, points: FloatArray) -> BoolArray:
        """Which of the points lie in the ball."""
        gap = points[:, self.axes] - self.instance[self.axes]
        near = np.sum(gap * gap, axis=1) <= self.radius**2
        return np.asarray(near & self.bounding_box.contains(points))

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points uniformly: in the full ball, kept if they lie in the domain."""
        kept: list[FloatArray] = []
        missing = count
        while missing > 0:
            offsets = sample_ball(rng, 2 * count, self.axes.size) * self.radius
            points = self.instance[self.axes] + offsets
            points = points[_within(points, self.domain, self.axes)][:missing]
            kept.append(points)
            missing -= len(points)
        rows = np.tile(self.instance, (count, 1))
        rows[:, self.axes] = np.concatenate(kept)
        return rows


@dataclass(frozen=True)
class Radial:
    """A ball around the instance, grown in logarithmic steps while the certifier accepts it."""

    steps: int = 100
    name: ClassVar[str] = "radial"

    def propose(self, task: Task) -> Proposals:
        """Propose growing balls until one is rejected."""
        domain = task.domain
        axes = np.flatnonzero(domain.unit == 0)
        if axes.size == 0:
            yield Box(task.instance, task.instance, domain.unit)
            return
        reach = np.maximum(task.instance - domain.lower, domain.upper - task.instance)[axes]
        unit_points = sample_ball(task.rng, VOLUME_POINTS, axes.size)
        for radius in np.geomspace(SMALLEST_STEP, 1.0, self.steps) * np.linalg.norm(reach):
            points = task.instance[axes] + radius * unit_points
            kept = float(np.mean(_within(points, domain, axes)))
            if kept < FEWEST_KEPT:
                return
            attempt = yield Ball(task.instance, float(radius), domain, kept)
            if not attempt.accepted:
                return


@dataclass(frozen=True)
class Greedy:
    """A box around the instance, each side grown in logarithmic steps while the certifier accepts it."""

    steps: int = 100
    name: ClassVar[str] = "greedy"

    def propose(self, task: Task) -> Proposals:
        """Propose boxes with one side moved at a time, until every side has been stopped."""
        domain, instance = task.domain, task.instance
        cells = domain.unit > 0
        shares = np.geomspace(SMALLEST_STEP, 1.0, self.steps)

        def reached(edge: FloatArray, step: int) -> FloatArray:
            way = (edge - instance) * shares[step]
            moved = instance + np.where(cells, np.trunc(way), way)
            # Rounding may carry it past the edge.
            return np.asarray(np.clip(moved, domain.lower, domain.upper))

        lower, upper = reached(domain.lower, 0), reached(domain.upper, 0)
        attempt = yield Box(lower, upper, domain.unit)
        if not attempt.accepted:
            return
        growing = [(axis, side) for axis in task.free_axes for side in ("lower", "upper")]
        for step in range(1, self.steps):
            for axis, side in list(growing):
                new_lower, new_upper = lower.copy(), upper.copy()
                if side == "lower":
                    new_lower[axis] = reached(domain.lower, step)[axis]
                else:
                    new_upper[axis] = reached(domain.upper, step)[axis]
                if new_lower[axis] == lower[axis] and new_upper[axis] == upper[axis]:
                    continue
                attempt = yield Box(new_lower, new_upper, domain.unit)
                if attempt.accepted:
                    lower, upper = new_lower, new_upper
                else:
                    growing.remove((axis, side))


def sample_ball(rng: np.random.Generator, count: int, dims: int) -> FloatArray:
    """Draw points uniformly in the ball of radius 1 around the origin."""
    points = rng.standard_normal((count, dims))
    radii = rng.random(count) ** (1.0 / dims)
    scale = radii / np.maximum(np.linalg.norm(points, axis=1), np.finfo(float).tiny)
    return np.asarray(points * scale[:, np.newaxis])


def _within(points: FloatArray, domain: Box, axes: IntArray) -> BoolArray:
    inside = (points >= domain.lower[axes]) & (points <= domain.upper[axes])
    return np.asarray(inside.all(axis=1))
