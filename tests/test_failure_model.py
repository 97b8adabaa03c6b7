"""The small model of which features, moved together, make a point fail."""

import numpy as np
import pytest

from lime_guarantee.engine import failure_model


def test_the_model_learns_weights_that_cancel():
    rng = np.random.default_rng(0)
    weight = rng.normal(size=30)
    flips = rng.random((1_500, 30)) < 0.2
    model = failure_model.FailureModel(30, rng)
    model.fit(flips, np.abs(flips @ weight) > 1.5)
    pull = model.pull
    assert abs(pull @ weight) > 0.97 * np.linalg.norm(pull) * np.linalg.norm(weight)


def test_the_loss_and_its_gradient_agree():
    rng = np.random.default_rng(0)
    weights, flips, failed = rng.normal(size=9), (rng.random((50, 4)) < 0.5) * 1.0, rng.random(50) < 0.5
    slopes = failure_model._loss(weights, flips, failed)[1]
    for k, step in enumerate(1e-6 * np.eye(9)):
        rise = (
            failure_model._loss(weights + step, flips, failed)[0]
            - failure_model._loss(weights - step, flips, failed)[0]
        )
        assert rise / 2e-6 == pytest.approx(slopes[k], rel=1e-4, abs=1e-4)
