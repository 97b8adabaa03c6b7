"""The paper's second baseline, for comparison: a box grown side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lime_guarantee.engine.search.base import Proposals, Task, logarithmic_steps
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
        cube, home = task.cube, task.home
        shares = logarithmic_steps(self.steps)

        def reached(share: float) -> tuple[FloatArray, FloatArray]:
            """Both corners at a share of the way to the edge; rounding must not carry them past it."""
            return home.lower * (1.0 - share), np.minimum(home.upper + (1.0 - home.upper) * share, 1.0)

        box = cube.snapped(*reached(shares[0]))
        attempt = yield box
        if not attempt.accepted:
            return
        growing = [(axis, side) for axis in task.free_axes for side in ("lower", "upper")]
        for share in shares[1:]:
            for axis, side in list(growing):
                corners = {"lower": box.lower.copy(), "upper": box.upper.copy()}
                corners[side][axis] = reached(share)[side == "upper"][axis]
                wider = cube.snapped(**corners)
                if wider.lower[axis] == box.lower[axis] and wider.upper[axis] == box.upper[axis]:
                    continue
                attempt = yield wider
                if attempt.accepted:
                    box = wider
                else:
                    growing.remove((axis, side))
