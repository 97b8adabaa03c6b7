"""A small model of which features, moved from the instance, make a point fail, alone or together."""

from __future__ import annotations

import numpy as np
from scipy import optimize, special

from lime_guarantee.support.arrays import BoolArray, FloatArray

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


def _loss(weights: FloatArray, flips: FloatArray, failed: BoolArray) -> tuple[float, FloatArray]:
    """Minus the penalised log-likelihood, and its gradient."""
    effect, pull = np.split(weights[1:], 2)
    pulled = flips @ pull
    odds = weights[0] + flips @ effect + pulled**2
    miss = special.expit(odds) - failed
    loss = np.sum(np.logaddexp(0.0, odds) - failed * odds) + RIDGE / 2 * np.sum(weights[1:] ** 2)
    slopes = np.concatenate([flips.T @ miss, 2.0 * flips.T @ (miss * pulled)]) + RIDGE * weights[1:]
    return float(loss), np.concatenate([[miss.sum()], slopes])
