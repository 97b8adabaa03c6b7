"""How a line is fitted to a model's answers within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lime_guarantee.support.arrays import BoolArray, FloatArray

DEAD = 0.7
"""Residuals up to this share of the tolerance cost nothing: the rest is kept for rows not yet seen."""

FAR = 3.0
"""Rows that are so many tolerances off are given up."""

STEPS = 8
"""How often the rows that cost something are looked for again."""

OFFSETS = 65
"""So many constants are tried."""

NEARLY = 0.95
"""A constant that holds on this share of the most rows is as good."""

ANCHOR = 0.02
"""What a row within the dead zone weighs: it stays where it is."""

RIDGE = 1e-3
"""Pulls weights to 0, in units of rows: what nothing speaks for is 0."""


@dataclass(frozen=True)
class Fit:
    """How a line is fitted.

    Parameters
    ----------
    tolerance : float
    most_offset : float
        How far the line may be from the model at the instance.
    by_class : bool
        Whether a row costs nothing once both are on the same side of 0.5.

    Examples
    --------
    >>> z = np.linspace(-1, 1, 200)[:, np.newaxis]
    >>> offset, weights = Fit(0.1, 0.05).fitted(z, 2 * z[:, 0], np.array([True]), (0.0, np.zeros(1)))
    >>> bool(abs(weights[0] - 2) < 0.1)
    True
    """

    tolerance: float
    most_offset: float
    by_class: bool = False

    def fitted(
        self,
        z: FloatArray,
        above: FloatArray,
        used: BoolArray,
        start: tuple[float, FloatArray],
        at_home: float = 0.0,
    ) -> tuple[float, FloatArray]:
        """Offset and weights, from a start on; `above` is the model's answer less that at the instance."""
        offset, weights = start
        weights = np.where(used, weights, 0.0)
        columns = z[:, used]
        size = np.sqrt((columns**2).mean(axis=0)) if len(columns) else np.ones(columns.shape[1])
        size = np.where(size > 0, size, 1.0)
        columns = columns / size
        for step in range(STEPS):
            line = offset + columns @ (weights[used] * size)
            residual = above - line
            far = FAR * (1.0 + 2.0 * (STEPS - 1 - step) / STEPS)  # given up less readily at first
            costs = np.abs(residual) > DEAD * self.tolerance
            if self.by_class:
                costs &= (line + at_home >= 0.5) != (above + at_home >= 0.5)
            weight = np.where(costs, 1.0, ANCHOR) * (np.abs(residual) < far * self.tolerance)
            target = np.where(costs, above - np.sign(residual) * DEAD * self.tolerance, line)
            offset, own = self._solved(columns, target, weight)
            weights = np.zeros_like(weights)
            weights[used] = own / size
        return offset, weights

    def best_offset(self, above: FloatArray) -> float:
        """Of the constants that hold on nearly as many rows as the best, the nearest to the model's answer.

        The further it is, the less it has to spare at the instance.
        """
        offsets = np.linspace(-self.most_offset, self.most_offset, OFFSETS)
        held = (np.abs(above - offsets[:, np.newaxis]) < self.tolerance).sum(axis=1)
        good = offsets[held >= NEARLY * held.max()]
        return float(good[np.argmin(np.abs(good))])

    def _solved(
        self, columns: FloatArray, target: FloatArray, weight: FloatArray
    ) -> tuple[float, FloatArray]:
        """Weighted least squares; if the offset goes too far, it is held there."""
        design = np.column_stack([np.ones(len(columns)), columns])
        left = design.T @ (design * weight[:, np.newaxis])
        ridge = RIDGE * max(weight.sum(), 1.0) * np.eye(len(left))
        ridge[0, 0] = 1e-9
        right = design.T @ (target * weight)
        solution = np.linalg.solve(left + ridge, right)
        offset = float(np.clip(solution[0], -self.most_offset, self.most_offset))
        if offset != solution[0] and columns.shape[1]:
            rest = right[1:] - left[1:, 0] * offset
            return offset, np.linalg.solve(left[1:, 1:] + ridge[1:, 1:], rest)
        return offset, solution[1:]
