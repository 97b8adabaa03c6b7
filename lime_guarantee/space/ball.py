"""Balls in the unit cube, cut off at its edge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from lime_guarantee.space.box import Box
from lime_guarantee.space.cube import Cube
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

MOST_DRAWN_AT_ONCE = 2**17
"""The most points of a full ball in one array, of which those in the cube are kept."""


@dataclass(frozen=True, eq=False)
class Ball:
    """The points of a cube within a distance of the instance.

    Distance is Euclidean: in the features' own units under the uniform measure (standardise them if they
    differ), in shares of the data under others. Along axes that have atoms a ball does not extend: it stays
    in the instance's atom, or in the stretch between two atoms in which the instance lies.
    """

    radius: float
    cube: Cube
    kept: float = 1.0
    """The share of the full ball that lies in the cube; only its own share of the measure needs it."""

    @cached_property
    def axes(self) -> IntArray:
        """The axes along which the ball extends."""
        return ball_axes(self.cube)

    @property
    def log_share(self) -> float:
        """Natural logarithm of the ball's share of the measure."""
        n = self.axes.size
        unit_ball = 0.5 * n * np.log(np.pi) - special.gammaln(0.5 * n + 1.0)
        extended = unit_ball + n * np.log(self.radius) - np.log(self.cube.scale[self.axes]).sum()
        others = np.delete(self.bounding_box.width, self.axes)
        return float(extended + np.log(self.kept) + np.log(others).sum())

    @cached_property
    def bounding_box(self) -> Box:
        """The smallest box around the ball."""
        lower, upper = self.cube.stretch
        lower, upper = lower.copy(), upper.copy()
        reach = self.radius / self.cube.scale[self.axes]
        lower[self.axes] = np.maximum(self.cube.instance[self.axes] - reach, 0.0)
        upper[self.axes] = np.minimum(self.cube.instance[self.axes] + reach, 1.0)
        return Box(lower, upper, self.cube)

    def contains(self, points: FloatArray) -> BoolArray:
        """Which of the points lie in the ball."""
        gap = (points[:, self.axes] - self.cube.instance[self.axes]) * self.cube.scale[self.axes]
        near = np.sum(gap * gap, axis=1) <= self.radius**2
        return np.asarray(near & self.bounding_box.contains(points))

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Draw points from the measure, given that they lie in the ball."""
        kept: list[FloatArray] = []
        missing = count
        while missing > 0:
            offsets = sample_ball(rng, min(2 * count, MOST_DRAWN_AT_ONCE), self.axes.size) * self.radius
            points = self.cube.instance[self.axes] + offsets / self.cube.scale[self.axes]
            points = points[in_unit_cube(points)][:missing]
            kept.append(points)
            missing -= len(points)
        rows = np.tile(self.cube.instance, (count, 1))
        box = self.bounding_box
        wide = np.flatnonzero((self.cube.home.width == 0) & self.cube.has_atoms)
        if wide.size:
            rows[:, wide] = box.lower[wide] + rng.random((count, wide.size)) * box.width[wide]
        rows[:, self.axes] = np.concatenate(kept)
        return rows


def ball_axes(cube: Cube) -> IntArray:
    """The axes along which a ball extends: those without atoms."""
    return np.flatnonzero(~cube.has_atoms)


def sample_ball(rng: np.random.Generator, count: int, dims: int) -> FloatArray:
    """Draw points uniformly in the ball of radius 1 around the origin."""
    points = rng.standard_normal((count, dims))
    radii = rng.random(count) ** (1.0 / dims)
    scale = radii / np.maximum(np.linalg.norm(points, axis=1), np.finfo(float).tiny)
    return np.asarray(points * scale[:, np.newaxis])


def in_unit_cube(points: FloatArray) -> BoolArray:
    """Which of the points, given along some axes only, lie in the unit cube along these."""
    return np.asarray(((points >= 0.0) & (points <= 1.0)).all(axis=1))
