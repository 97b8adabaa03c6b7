"""With few features, the largest box without a failure: found among draws, drawn in, and found anew.

Draws fill a box of few features, so what fails in it is soon known point by point, however jagged the
boundary is. A box leaves a failure out if any of its sides stops before it.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.kernels.avoid import NO_SIDE, largest_extents
from lime_guarantee.engine.search.sides import Sides
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

FEW_FEATURES = 5
"""With more of them, draws do not fill a box."""

FIRST_DRAWS, ENOUGH = 32, 1.2
"""Draws in a box, twice as many after each round without a failure; the box holds if so many are without one,
in units of 1 / (1 - purity)."""

ROUNDS, ROUNDS_PER_FEATURE = 16, 4
"""The most rounds: so many, and so many more for each feature."""


class EmptyBox:
    """The largest box without a failure, as far as failures are known.

    Parameters
    ----------
    sides : Sides
    """

    def __init__(self, sides: Sides) -> None:
        self.sides = sides
        self.extent = sides.edge
        self.drawn: list[tuple[FloatArray, BoolArray, Box]] = []  # points, which are faithful, of which box

    def find(self) -> bool:
        """Look for it; whether that comes to an end."""
        sides, count = self.sides, FIRST_DRAWS
        enough = int(np.ceil(ENOUGH / (1.0 - sides.task.purity)))
        stops = np.empty((0, sides.dims), dtype=np.int64), np.empty((0, sides.dims))
        for _ in range(ROUNDS + ROUNDS_PER_FEATURE * sides.dims):
            self.extent = largest_extents(*stops, sides.home.width, sides.edge)
            box = sides.box(self.extent)
            sides.task.report("settling", box)
            points, faithful = sides.draw(box, count)
            self.drawn.append((points, faithful, box))
            if not faithful.all():
                more = _stops(sides, points[~faithful])
                stops = np.concatenate([stops[0], more[0]]), np.concatenate([stops[1], more[1]])
            elif count >= enough:
                return True
            else:
                count = min(2 * count, enough)
        return False


def _stops(sides: Sides, failures: FloatArray) -> tuple[IntArray, FloatArray]:
    """The sides that can leave each failure out, and how far each of them may go then."""
    home, stops = sides.home, sides.cube.stops(failures)
    up = failures > sides.task.instance
    far = np.where(up, stops - home.upper, home.lower - stops)
    which = np.where(up, sides.dims, 0) + np.arange(sides.dims)
    return np.where(far > 0, which, NO_SIDE), np.nextafter(far, 0.0)
