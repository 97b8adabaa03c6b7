"""The paper's second baseline, for comparison: a box grown side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lime_guarantee.engine.search.base import Proposals, Task, logarithmic_steps
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import FloatArray


@dataclass(frozen=True)
class Greedy:
    """A box around the instance, each side grown in logarithmic steps while the certifier accepts it.

    Parameters
    ----------
    steps : int
        From a thousandth of the way to the edge of the domain to the edge itself.

    Examples
    --------
    >>> from lime_guarantee import Domain, find_region
    >>> def faithful(X):
    ...     return np.abs(X[:, 0]) < 1
    >>> domain = Domain.from_bounds([-2], [2])
    >>> region = find_region(faithful, [0.0], domain, search=Greedy(steps=10), random_state=0)
    >>> region.lower.round(2), region.upper.round(2)
    (array([-0.93]), array([0.93]))
    """

    steps: int = 100
    name: ClassVar[str] = "greedy"

    def propose(self, task: Task) -> Proposals:
        """Propose boxes with one side moved at a time, until every side has been stopped."""
        domain, instance = task.domain, task.instance
        cells = domain.unit > 0
        shares = logarithmic_steps(self.steps)

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
