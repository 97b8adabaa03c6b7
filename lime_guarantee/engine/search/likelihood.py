"""How well a model of the boundary (see `Slopes`) tells what failed, and the step to a better one.

Points are binned, so a fit costs a few passes over bytes, whatever the model computes of each feature.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from lime_guarantee.engine.kernels.bins import BINS, sums_of, totals_in
from lime_guarantee.support.arrays import BoolArray, ByteArray, FloatArray

KNOTS = np.array([0.0, 0.12, 0.3, 0.5, 0.7, 0.85, 1.0, 1.25, 1.6])
"""Where profiles bend, in units of the longer extent of an axis. The model is fitted to points up to the last
one."""

PULL_RIDGE = 4.0
"""How strongly pulls are drawn to 0: half as large as rises, in the units of the axes."""

PULL_STEPS = 30
"""Power steps in which the main direction of failures is found."""

_CENTRES = (np.arange(BINS) + 0.5) * KNOTS[-1] / BINS
_AT_BINS = np.array([np.interp(_CENTRES, KNOTS, one) for one in np.eye(KNOTS.size)])
"""What each knot's height adds to the profile in every bin."""

PLACES = np.concatenate([[0.0], -_CENTRES, _CENTRES])
"""The places of all bins of an axis, in its unit."""


class Likelihood:
    """The penalised likelihood of weights: the bias, what rises of profiles are made of, and the pulls.

    Parameters
    ----------
    bins : (D, N) array
        The points, as `binned` in units of an axis.
    failed : (N,) array
    may_rise : (2 D, K) array
        0 where a profile has no rise.
    expected : (2 D, K, K) array
        Factors that turn numbers that are drawn to 0, all alike, into rises.
    """

    def __init__(
        self, bins: ByteArray, failed: BoolArray, may_rise: FloatArray, expected: FloatArray
    ) -> None:
        self.bins, self.failed, self.may_rise, self.expected = bins, failed, may_rise, expected
        self.dims = len(bins)
        self._ridge = np.ones(1 + may_rise.size + self.dims)
        self._ridge[0] = 1e-6
        self._ridge[-self.dims :] = PULL_RIDGE

    def rises(self, weights: FloatArray) -> FloatArray:
        """The rises of all profiles."""
        free = weights[1 : 1 + self.may_rise.size].reshape(self.may_rise.shape)
        return np.asarray(np.einsum("skj,sj->sk", self.expected, free) * self.may_rise)

    def loss(self, weights: FloatArray) -> float:
        """The loss, which is to be small."""
        odds = self._odds(weights)[0]
        likelihood = np.sum(np.logaddexp(0.0, odds) - self.failed * odds)
        return float(likelihood + np.sum(self._ridge[1:] * weights[1:] ** 2) / 2)

    def newton_step(self, weights: FloatArray, steps: int) -> FloatArray:
        """Newton's step to the least loss, as far as that is sure to be a minimum.

        Its equations are solved in so many steps, the first of which nearly does it. Where pulls are small,
        what curves the loss along them is the square itself: of faithful points, which it makes fail. What
        failing points would take off from that is left out.
        """
        odds, pulled = self._odds(weights)
        chance = special.expit(odds)
        spread = np.maximum(chance * (1.0 - chance), 1e-3)
        square = 2.0 * np.where(self.failed, 0.0, chance)
        ridge = self._ridge

        def curved(way: FloatArray) -> FloatArray:
            moved, along = self._linear(way)
            bent = spread * (moved + 2.0 * pulled * along)
            return self._slopes(bent, 2.0 * pulled * bent + square * along) + ridge * way

        missed = chance - self.failed
        right = -self._slopes(missed, 2.0 * pulled * missed) - ridge * weights
        nearly = self._nearly(spread, 4.0 * pulled**2 * spread + square)
        return _conjugate_gradients(curved, nearly, right, steps)

    def _odds(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-odds, and the pulled sums, at every point."""
        summed, pulled = self._linear(weights)
        return summed + pulled**2, pulled

    def _linear(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        profiles = np.cumsum(self.rises(weights), axis=1) @ _AT_BINS
        lower, upper = profiles[: self.dims], profiles[self.dims :]
        table = np.concatenate([np.zeros((self.dims, 1)), lower, upper], axis=1)
        pull = weights[1 + self.may_rise.size :]
        return weights[0] + sums_of(self.bins, table), sums_of(self.bins, np.outer(pull, PLACES))

    def _slopes(self, weight: FloatArray, pulling: FloatArray) -> FloatArray:
        """How weighted totals of the linear sums change with bias and rises, and with pulls."""
        by_rise = self._by_free(_on_sides(totals_in(self.bins, weight)) @ _AT_BINS.T)
        by_pull = totals_in(self.bins, pulling) @ PLACES
        return np.concatenate([[weight.sum()], by_rise.ravel(), by_pull])

    def _by_free(self, by_height: FloatArray) -> FloatArray:
        """From slopes by heights of profiles to slopes by the numbers that these are made of."""
        by_rise = np.cumsum(by_height[:, ::-1], axis=1)[:, ::-1] * self.may_rise
        return np.asarray(np.einsum("skj,sk->sj", self.expected, by_rise))

    def _nearly(self, spread: FloatArray, pulling: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """The solution of Newton's equations as if sides were independent, which those of different axes are.

        Each side then stands by itself once the means are taken out, which the bias makes up for.
        """
        inside = _on_sides(totals_in(self.bins, spread))
        total = float(spread.sum())
        mean = self._by_free(inside @ _AT_BINS.T) / total
        made_of = np.cumsum(self.may_rise[:, :, np.newaxis] * self.expected, axis=1)
        heights = (_AT_BINS * inside[:, np.newaxis]) @ _AT_BINS.T
        curves = made_of.transpose(0, 2, 1) @ heights @ made_of
        curves += np.eye(KNOTS.size) - total * mean[:, :, np.newaxis] * mean[:, np.newaxis]
        inverse = np.linalg.inv(curves)
        by_pull = PULL_RIDGE + totals_in(self.bins, pulling) @ PLACES**2
        rises = slice(1, 1 + mean.size)

        def solved(right: FloatArray) -> FloatArray:
            found = np.empty(right.size)
            apart = right[rises].reshape(mean.shape) - right[0] * mean
            found[rises] = np.einsum("skj,sj->sk", inverse, apart).ravel()
            found[0] = right[0] / total - mean.ravel() @ found[rises]
            found[rises.stop :] = right[rises.stop :] / by_pull
            return found

        return solved


def _on_sides(totals: FloatArray) -> FloatArray:
    """What is in the bins of every side, one after the other, from what is in those of every axis."""
    return np.concatenate([totals[:, 1 : 1 + BINS], totals[:, 1 + BINS :]])


def _conjugate_gradients(
    curved: Callable[[FloatArray], FloatArray],
    nearly: Callable[[FloatArray], FloatArray],
    right: FloatArray,
    steps: int,
) -> FloatArray:
    """What `curved` makes `right` of; `nearly` tells it nearly."""
    found = np.zeros(right.size)
    residual = right
    near = way = nearly(right)
    size = first = float(residual @ near)
    for _ in range(steps):
        bent = curved(way)
        length = size / max(float(way @ bent), 1e-300)
        found = found + length * way
        residual = residual - length * bent
        near = nearly(residual)
        new = float(residual @ near)
        if new < 1e-4 * first:
            break
        way, size = near + new / size * way, new
    return found


def main_direction(bins: ByteArray, failed: BoolArray, rng: np.random.Generator) -> FloatArray:
    """The direction in which failures spread most, over the spread of all points."""
    share = totals_in(bins, np.full(bins.shape[1], 1.0 / bins.shape[1]))
    mean = share @ PLACES
    spread = np.sqrt(np.maximum(share @ PLACES**2 - mean**2, 0.0)) + 1e-9
    failing = np.ascontiguousarray(bins[:, failed])
    way = rng.standard_normal(len(bins))
    for _ in range(PULL_STEPS):
        along = sums_of(failing, np.outer(way / spread, PLACES)) - mean @ (way / spread)
        way = (totals_in(failing, along) @ PLACES - mean * along.sum()) / spread
        way /= np.linalg.norm(way) + 1e-300
    return np.asarray(way / np.maximum(spread, 0.05))
