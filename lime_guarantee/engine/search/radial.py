"""The paper's first baseline, for comparison: a growing ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lime_guarantee.engine.search.base import Proposals, Task, logarithmic_steps
from lime_guarantee.space.ball import Ball, ball_axes, in_unit_cube, sample_ball

VOLUME_POINTS = 20_000
"""Points that tell how much of a ball lies in the domain, for the volume that is reported."""

FEWEST_KEPT = 1e-3
"""A ball is no longer grown when a smaller share of it lies in the domain."""


@dataclass(frozen=True)
class Radial:
    """A ball around the instance, grown in logarithmic steps while the certifier accepts it.

    Parameters
    ----------
    steps : int
        From a thousandth of the way to the farthest corner of the domain to that corner itself.

    Examples
    --------
    >>> from lime_guarantee import Domain, find_region
    >>> def faithful(X):
    ...     return np.linalg.norm(X, axis=1) < 1
    >>> domain = Domain.from_bounds([-2, -2], [2, 2])
    >>> region = find_region(faithful, [0.0, 0.0], domain, search=Radial(steps=20), random_state=0)
    >>> round(region.radius, 2)
    0.95
    """

    steps: int = 100
    name: ClassVar[str] = "radial"

    def propose(self, task: Task) -> Proposals:
        """Propose growing balls until one is rejected."""
        cube = task.cube
        axes = ball_axes(cube)
        if axes.size == 0:
            yield task.home
            return
        scale, instance = cube.scale[axes], cube.instance[axes]
        reach = np.maximum(instance, 1.0 - instance) * scale
        unit_points = sample_ball(task.rng, VOLUME_POINTS, axes.size)
        for radius in logarithmic_steps(self.steps) * np.linalg.norm(reach):
            kept = float(np.mean(in_unit_cube(instance + radius * unit_points / scale)))
            if kept < FEWEST_KEPT:
                return
            attempt = yield Ball(float(radius), cube, kept)
            if not attempt.accepted:
                return
