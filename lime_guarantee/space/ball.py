"""Balls in engine coordinates, cut off at the edge of the domain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

MOST_DRAWN_AT_ONCE = 2**17
"""The most points of a full ball in one array, of which those in the domain are kept."""


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
            offsets = sample_ball(rng, min(2 * count, MOST_DRAWN_AT_ONCE), self.axes.size) * self.radius
            points = self.instance[self.axes] + offsets
            points = points[within_axes(points, self.domain, self.axes)][:missing]
            kept.append(points)
            missing -= len(points)
        rows = np.tile(self.instance, (count, 1))
        rows[:, self.axes] = np.concatenate(kept)
        return rows


def sample_ball(rng: np.random.Generator, count: int, dims: int) -> FloatArray:
    """Draw points uniformly in the ball of radius 1 around the origin."""
    points = rng.standard_normal((count, dims))
    radii = rng.random(count) ** (1.0 / dims)
    scale = radii / np.maximum(np.linalg.norm(points, axis=1), np.finfo(float).tiny)
    return np.asarray(points * scale[:, np.newaxis])


def within_axes(points: FloatArray, domain: Box, axes: IntArray) -> BoolArray:
    """Which of the points, given along some axes only, lie in the domain along these."""
    inside = (points >= domain.lower[axes]) & (points <= domain.upper[axes])
    return np.asarray(inside.all(axis=1))
