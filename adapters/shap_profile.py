"""The profile surrogate: what SHAP would say of every feature, if that feature alone moved.

It reads an explanation as its dependence plot does: ``g(x) = base + sum of s_i(x_i)``. There ``s_i(v)`` is
the SHAP value that feature i would have at v, all others staying where they are: the mean, over coalitions S
that stay and background rows b that take the others' place, of ``f(x_S, v, b) - f(x_S, x_i, b)``, added to
the value that was reported. So g is pinned to the explanation at the instance, and exact for additive models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.problem.surrogates import AdditiveSurrogate
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import AnyArray, FloatArray

COALITIONS = 16
"""Pairs of a coalition and a background row that every effect is averaged over."""

FIRST_INTERVALS = 8
ROUNDS = 6
"""A feature's range is cut evenly at first; then, in so many rounds, where its effect bends."""

MOST_CELLS = 32
"""Up to so many cells, an axis is asked at each of them."""

FLAT = 0.02
"""Bends below this share of the tolerance are not looked at more closely."""


@dataclass(eq=False)
class Profile:
    """The effects of all features, asked of the model bit by bit.

    Parameters
    ----------
    model : callable
        Maps rows of raw values to numbers, in the units of the explanation.
    instance : array of shape (D,)
        In raw values.
    domain : Domain
        It holds the instance.
    background : array of shape (B, D)
        Rows of raw values.
    shares : array of shape (B,)
        Their weights; they sum to 1.
    values : array of shape (D,)
        The SHAP values reported.
    allowance : int
        The most rows to ask of the model.
    tolerance : float
        How exact the effects need to be.
    rng : Generator
    """

    model: Callable[[Any], FloatArray]
    instance: AnyArray
    domain: Domain
    background: AnyArray
    shares: FloatArray
    values: FloatArray
    allowance: int
    tolerance: float
    rng: np.random.Generator
    evaluations: int = 0
    calls: int = 0
    grids: list[FloatArray] = field(default_factory=list)
    means: list[FloatArray] = field(default_factory=list)

    def surrogate(self, base: float) -> AdditiveSurrogate:
        """Ask the model, and make the surrogate of its answers."""
        home = self.domain.encode(self.instance[np.newaxis])[0]
        companies = min(COALITIONS, max(2, self.allowance // (4 * len(self.domain))))
        self._draw_companies(companies)
        points = max(3, self.allowance // (companies * len(self.domain)))
        intervals = min(FIRST_INTERVALS, points - 2)
        first = [axis.first_grid(home[i], intervals, MOST_CELLS) for i, axis in enumerate(self.domain.axes)]
        self.grids = [np.empty(0) for _ in first]
        self.means = [np.empty(0) for _ in first]
        self._ask(first)
        for left in range(ROUNDS, 0, -1):
            new = self._bends((self.allowance - self.evaluations) // (companies * left))
            if not any(points.size for points in new):
                break
            self._ask(new)
        effects = []
        for i, (grid, mean) in enumerate(zip(self.grids, self.means, strict=True)):
            at_home = mean[int(np.searchsorted(grid, home[i]))]
            effects.append(self.values[i] + mean - at_home)
        return AdditiveSurrogate(self.domain, base, tuple(self.grids), tuple(effects))

    def _draw_companies(self, count: int) -> None:
        """Rows for every feature: who stays is who comes first in a random order, or in its reverse."""
        dims = len(self.domain)
        half = (count + 1) // 2
        ranks = np.argsort(self.rng.random((half, dims)), axis=1)
        ranks = np.concatenate([ranks, dims - 1 - ranks])[:count]
        chosen = self._draw_background(half)
        rows = self.background[np.concatenate([chosen, chosen])[:count]]
        stays = ranks[np.newaxis] < ranks.T[:, :, np.newaxis]  # feature, company, other feature
        self._companies = np.where(stays, self.instance, rows)

    def _draw_background(self, count: int) -> AnyArray:
        """Positions of background rows, each drawn as often as its share says, give or take one."""
        order = self.rng.permutation(len(self.background))
        ends = np.cumsum(self.shares[order])
        ticks = (self.rng.random() + np.arange(count)) / count * ends[-1]
        return np.asarray(self.rng.permutation(order[np.searchsorted(ends, ticks)]))

    def _ask(self, new: list[FloatArray]) -> None:
        """Ask the model for the mean at new grid points of every feature, in as few calls as can be."""
        count = self._companies.shape[1]
        pending = [(i, points) for i, points in enumerate(new) if points.size]
        rows = np.concatenate([self._rows(i, points) for i, points in pending])
        answers = []
        for start in range(0, len(rows), BATCH_ROWS):
            answers.append(self.model(rows[start : start + BATCH_ROWS]))
            self.calls += 1
        self.evaluations += len(rows)
        answer, start = np.concatenate(answers), 0
        for i, points in pending:
            end = start + points.size * count
            means = answer[start:end].reshape(points.size, count).mean(axis=1)
            grid = np.concatenate([self.grids[i], points])
            order = np.argsort(grid)
            self.grids[i] = grid[order]
            self.means[i] = np.concatenate([self.means[i], means])[order]
            start = end

    def _rows(self, i: int, points: FloatArray) -> AnyArray:
        """All companies of a feature, once for each of the points."""
        rows = np.tile(self._companies[i], (points.size, 1))
        rows[:, i] = np.repeat(self.domain.axes[i].decode(points), self._companies.shape[1])
        return rows

    def _bends(self, count: int) -> list[FloatArray]:
        """The middles of the intervals in which effects bend most, so many of them, feature by feature.

        A grid point bends by how far it is from the line between its neighbours. An interval counts if both
        its ends bend (a step or a curve is inside, not beside it), and the more, the longer it is.
        """
        candidates: list[tuple[float, int, float]] = []
        for i, axis in enumerate(self.domain.axes):
            grid, mean = self.grids[i], self.means[i]
            if grid.size < 3 or not axis.ordered:
                continue
            bend = np.abs(mean[1:-1] - _chords(grid, mean))
            bend = np.concatenate([bend[:1], bend, bend[-1:]])
            both = np.minimum(bend[:-1], bend[1:])
            middle = axis.at_or_below((grid[:-1] + grid[1:]) / 2)
            share = np.diff(grid) / (axis.high - axis.low)
            wanted = (both > FLAT * self.tolerance) & (middle > grid[:-1]) & (middle < grid[1:])
            candidates += [(float(both[k] * share[k]), i, float(middle[k])) for k in np.flatnonzero(wanted)]
        candidates.sort(reverse=True)
        chosen = candidates[: max(count, 0)]
        return [np.array([v for _, j, v in chosen if j == i]) for i in range(len(self.domain))]


def _chords(grid: FloatArray, mean: FloatArray) -> FloatArray:
    """At every inner grid point, the line between its two neighbours."""
    along = (grid[1:-1] - grid[:-2]) / (grid[2:] - grid[:-2])
    return np.asarray(mean[:-2] + along * (mean[2:] - mean[:-2]))
