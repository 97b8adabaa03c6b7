"""The maximum-box problem: the largest box with many positive points and no negative one.

Eckstein, Hammer, Liu, Nediak and Simeone (2002), "The maximum box problem and its application to data
analysis", with three changes of Havasi et al. (2024): the box holds the anchor; at most `max_nodes` nodes are
searched; the sides are then moved out until they meet a negative point or the edge.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.kernels import max_box as kernels
from lime_guarantee.space.cube import Cube
from lime_guarantee.support.arrays import FloatArray, IntArray

NO_PRIORITY: IntArray = np.empty(0, dtype=np.int64)


class MaxBoxProblem:
    """Positive and negative points around an anchor, and the best box among them.

    Negatives are added as they are found; the box is solved anew only when one of them lies in the core, the
    hull of the positives captured so far. Otherwise only the expansion has to give way.

    Parameters
    ----------
    cube : Cube
    positives : (P, D) array
    low_edge, high_edge : (D,) arrays
        No box reaches past them.
    max_nodes : int
    rng : Generator, optional
        If given, sides are expanded in random order instead of largest gain first.
    axes : array of int, optional
        The axes of the cube that the points have; all of them, by default.
    """

    def __init__(
        self,
        cube: Cube,
        positives: FloatArray,
        low_edge: FloatArray,
        high_edge: FloatArray,
        max_nodes: int,
        rng: np.random.Generator | None = None,
        axes: IntArray | None = None,
    ) -> None:
        self.cube = cube
        self.axes = np.arange(len(cube)) if axes is None else axes
        self.anchor = anchor = np.ascontiguousarray(cube.instance[self.axes])
        self.positives = np.ascontiguousarray(np.vstack([anchor, positives]))
        self.order = np.ascontiguousarray(np.argsort(self.positives, axis=0).T)
        self.negatives = np.empty((0, anchor.size))
        self.stops = np.empty((0, anchor.size))
        self.low_edge = np.ascontiguousarray(low_edge)
        self.high_edge = np.ascontiguousarray(high_edge)
        self.home_width = np.ascontiguousarray(cube.home.width[self.axes])
        self.max_nodes = max_nodes
        self.rng = rng
        everything = np.ones(len(self.positives), dtype=np.bool_)
        self.core = kernels.hull(self.positives, everything)
        self.captured = len(self.positives)

    def add_negatives(self, points: FloatArray) -> None:
        """Take note of negative points, and make the core avoid them."""
        points = np.ascontiguousarray(points)
        self.negatives = np.concatenate([self.negatives, points])
        self.stops = np.concatenate([self.stops, self._stops(points)])
        if kernels.points_inside(points, *self.core).any():
            self._solve()

    def expanded(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the core, expanded until every side meets a negative point or the edge."""
        priority = NO_PRIORITY
        if self.rng is not None:
            priority = self.rng.permutation(2 * self.anchor.size)
        lower, upper = kernels.expand_box(
            self.negatives, self.stops, *self.core, self.low_edge, self.high_edge, self.home_width, priority
        )
        return lower, upper

    def _stops(self, points: FloatArray) -> FloatArray:
        """Where sides have to stop to leave points out."""
        rows = np.tile(self.cube.instance, (len(points), 1))
        rows[:, self.axes] = points
        return np.ascontiguousarray(self.cube.stops(rows)[:, self.axes])

    def _solve(self) -> None:
        everything = np.ones(len(self.positives), dtype=np.bool_)
        reachable = kernels.points_inside(self.negatives, *kernels.hull(self.positives, everything))
        lower, upper, self.captured = kernels.max_box(
            self.positives,
            self.order,
            self.negatives[reachable],
            self.anchor,
            self.home_width,
            self.max_nodes,
        )
        self.core = lower, upper
