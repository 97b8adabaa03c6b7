"""A small model of which features, moved from the instance, make a point fail, alone or together."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

VIRTUAL_DRAWS = 2_000
"""Points on which the model predicts a set's failing share."""

PEEL_STEPS = 25
"""A peel drops several axes at a time where there are many: about so many steps from all to half of them."""

RIDGE = 0.5
"""The pull of the model's weights towards 0."""

FIT_STEPS = 60
"""The most steps in which the model is fitted."""


class FailureModel:
    """Log-odds of failing = bias + effect . flips + (pull . flips)^2, fitted by penalised likelihood."""

    def __init__(self, axes: int, rng: np.random.Generator) -> None:
        # Without a pull to start from its gradient would be 0.
        self.weights = np.concatenate([[-1.0], np.zeros(axes), 0.3 * rng.standard_normal(axes)])

    @property
    def effect(self) -> FloatArray:
        """What every flip does by itself."""
        return self.weights[1 : 1 + self.weights.size // 2]

    @property
    def pull(self) -> FloatArray:
        """What every flip adds to the sum that is squared."""
        return self.weights[1 + self.weights.size // 2 :]

    def fit(self, flips: BoolArray | FloatArray, failed: BoolArray) -> None:
        """Fit it to points, starting from what was learnt before."""
        data = flips.astype(np.float64), failed
        options = {"maxiter": FIT_STEPS}
        self.weights = optimize.minimize(
            _loss, self.weights, data, jac=True, method="L-BFGS-B", options=options
        ).x

    def peel(
        self, axes: IntArray, chance: FloatArray, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Drop the axes one after the other, the most harmful first.

        Parameters
        ----------
        axes : the axes to begin with
        chance : how often each of all axes is flipped as long as it is not dropped
        rng : Generator

        Returns
        -------
        order : the axes, the first to be dropped first
        share : the failing share predicted before each drop
        """
        bias, effect, pull = self.weights[0], self.effect, self.pull
        left = axes
        order: list[int] = []
        share: list[float] = []
        while left.size:
            count = 1 + left.size // PEEL_STEPS
            # Fresh draws every time: on the same ones the peel would only learn to avoid these.
            flips = (rng.random((VIRTUAL_DRAWS, left.size)) < chance[left]).astype(np.float64)
            linear, pulled = bias + flips @ effect[left], flips @ pull[left]
            share += [float(special.expit(linear + pulled**2).mean())] * count
            without = (pulled[:, np.newaxis] - flips * pull[left]) ** 2
            without += linear[:, np.newaxis] - flips * effect[left]
            # Where all fails, a share cannot tell better from worse; a loss can, and is the same in the end.
            loss = np.logaddexp(0.0, without).mean(axis=0)
            dropped = np.argsort(loss, kind="stable")[:count]
            order += left[dropped].tolist()
            left = np.delete(left, dropped)
        return np.array(order, dtype=np.int64), np.array(share)


def _loss(weights: FloatArray, flips: FloatArray, failed: BoolArray) -> tuple[float, FloatArray]:
    """Minus the penalised log-likelihood, and its gradient."""
    effect, pull = np.split(weights[1:], 2)
    pulled = flips @ pull
    odds = weights[0] + flips @ effect + pulled**2
    miss = special.expit(odds) - failed
    loss = np.sum(np.logaddexp(0.0, odds) - failed * odds) + RIDGE / 2 * np.sum(weights[1:] ** 2)
    slopes = np.concatenate([flips.T @ miss, 2.0 * flips.T @ (miss * pulled)]) + RIDGE * weights[1:]
    return float(loss), np.concatenate([[miss.sum()], slopes])
