"""The fit of a boundary: points in bins, the likelihood's slopes, and the step to a better one."""

import numpy as np
import pytest

from lime_guarantee.engine.kernels.bins import BINS, binned, sums_of, totals_in
from lime_guarantee.engine.search.likelihood import KNOTS, PLACES, PULL_RIDGE, Likelihood, main_direction
from lime_guarantee.engine.search.slopes import NEWTON_STEPS

DIMS, COUNT = 3, 500
FEW = NEWTON_STEPS


def points_in(rng, dims=DIMS, count=COUNT):
    """Points around an instance at 0.4 to 0.5, and some of them in its own place."""
    points = rng.uniform(0.0, 1.0, (count, dims))
    return np.where(rng.random(points.shape) < 0.1, 0.45, points)


def bins_of(points, part=0.5 * KNOTS[-1] / BINS):
    dims = points.shape[1]
    return binned(points, np.full(dims, 0.4), np.full(dims, 0.5), np.full(dims, part))


def a_problem(seed=0, dims=DIMS, count=COUNT, sharp=8.0):
    """Points that fail where they lie far up, as a likelihood with profiles that may be anything."""
    rng = np.random.default_rng(seed)
    points = points_in(rng, dims, count)
    failed = rng.random(count) < 1.0 / (1.0 + np.exp(-sharp * (points.sum(axis=1) - 0.6 * dims)))
    factors = np.repeat(np.eye(KNOTS.size)[np.newaxis], 2 * dims, axis=0)
    factors[:, 1:, 1:] += 0.5 * np.tri(KNOTS.size - 1, k=-1)
    may_rise = np.ones((2 * dims, KNOTS.size))
    may_rise[:dims, 0] = 0.0
    return Likelihood(bins_of(points), failed, may_rise, factors), points


def some_weights(likelihood, seed=1):
    return 0.3 * np.random.default_rng(seed).normal(size=1 + likelihood.may_rise.size + likelihood.dims)


def test_a_bin_is_where_the_point_lies():
    points = points_in(np.random.default_rng(0))
    bins, part = bins_of(points), 0.5 * KNOTS[-1] / BINS
    places = np.maximum(points - 0.5, 0.0) - np.maximum(0.4 - points, 0.0)
    assert bins.dtype == np.uint8
    assert (bins.T == 0)[places == 0].all()
    assert np.abs(PLACES[bins.T] * 0.5 - places).max() <= part / 2 + 1e-12


def test_what_lies_further_out_is_in_the_last_bin():
    bins = bins_of(np.array([[0.0, 0.45, 1.0]]), part=1e-4)
    assert bins[:, 0].tolist() == [BINS, 0, 2 * BINS]


def test_sums_and_totals_are_those_of_slow_twins():
    rng = np.random.default_rng(2)
    bins = bins_of(points_in(rng))
    table, weight = rng.normal(size=(DIMS, 1 + 2 * BINS)), rng.normal(size=COUNT)
    slow = [sum(table[d, bins[d, n]] for d in range(DIMS)) for n in range(COUNT)]
    np.testing.assert_allclose(sums_of(bins, table), slow, atol=1e-12)
    totals = totals_in(bins, weight)
    for d in range(DIMS):
        slow = [weight[bins[d] == b].sum() for b in range(1 + 2 * BINS)]
        np.testing.assert_allclose(totals[d], slow, atol=1e-12)


def test_log_odds_are_the_bias_the_profiles_and_the_square():
    likelihood, _ = a_problem()
    weights = some_weights(likelihood)
    heights = np.cumsum(likelihood.rises(weights), axis=1)
    places = PLACES[likelihood.bins.T]
    slow = weights[0] + (places @ weights[-DIMS:]) ** 2
    for d in range(DIMS):
        for side, far in ((d, -places[:, d]), (DIMS + d, places[:, d])):
            slow += np.where(far > 0, np.interp(far, KNOTS, heights[side]), 0.0)
    np.testing.assert_allclose(likelihood._odds(weights)[0], slow, atol=1e-10)


def test_where_no_rise_may_be_there_is_none():
    likelihood, _ = a_problem()
    assert (likelihood.rises(some_weights(likelihood))[:DIMS, 0] == 0.0).all()


def loss_slopes(likelihood, weights):
    """The slopes of the loss, by differences."""
    steps = 1e-6 * np.eye(weights.size)
    return np.array(
        [(likelihood.loss(weights + step) - likelihood.loss(weights - step)) / 2e-6 for step in steps]
    )


def test_a_step_goes_down_and_steps_end_where_the_loss_is_level():
    likelihood, _ = a_problem()
    weights = some_weights(likelihood)
    slopes = loss_slopes(likelihood, weights)
    assert slopes @ likelihood.newton_step(weights, FEW) < 0
    for _ in range(12):
        weights = weights + likelihood.newton_step(weights, FEW)
    assert np.abs(loss_slopes(likelihood, weights)).max() < 0.02 * np.abs(slopes).max()


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(3))
def test_few_steps_solve_newtons_equations_nearly(monkeypatch, seed):
    """What is known of independent features solves most: as many plain steps are far from it."""
    likelihood, _ = a_problem(seed, dims=20, count=2_000, sharp=4.0)
    weights = 0.1 * some_weights(likelihood)

    def gained(steps):
        return likelihood.loss(weights) - likelihood.loss(weights + likelihood.newton_step(weights, steps))

    few, most = gained(FEW), gained(400)
    monkeypatch.setattr(Likelihood, "_nearly", lambda self, spread, pulling: lambda right: right)
    plain = gained(FEW)
    assert most - few < 0.02 * most
    assert most - few < 0.3 * (most - plain)


def test_of_independent_sides_newtons_equations_are_solved():
    likelihood, _ = a_problem(dims=2, count=300)
    rng, rises = np.random.default_rng(5), likelihood.may_rise.size
    spread = rng.uniform(0.1, 0.3, 300)
    units = np.eye(1 + rises + 2)[1 : 1 + rises]
    by_weight = np.array([likelihood._linear(unit)[0] for unit in units])
    total, sums = spread.sum(), by_weight @ spread
    equations = np.outer(sums, sums) / total  # of different sides, as if they were independent
    for side in range(4):
        own = slice(side * KNOTS.size, (side + 1) * KNOTS.size)
        equations[own, own] = by_weight[own] * spread @ by_weight[own].T + np.eye(KNOTS.size)
    equations = np.block([[np.full((1, 1), total), sums[np.newaxis]], [sums[:, np.newaxis], equations]])
    right = rng.normal(size=1 + rises + 2)
    found = likelihood._nearly(spread, np.zeros(300))(right)
    np.testing.assert_allclose(equations @ found[: 1 + rises], right[: 1 + rises], atol=1e-8)
    np.testing.assert_allclose(found[-2:], right[-2:] / PULL_RIDGE)


@pytest.mark.parametrize("home", [0.45, 0.01], ids=["in the middle", "in a corner"])
def test_the_main_direction_is_that_in_which_failures_spread(home):
    """Around their middle, wherever the instance lies."""
    rng = np.random.default_rng(3)
    points = rng.uniform(0.0, 1.0, (4_000, 4))
    failed = np.abs(points[:, 0] - points[:, 1]) > 0.6
    ends = np.full(4, home)
    found = main_direction(binned(points, ends, ends, np.full(4, 1.0 / BINS)), failed, rng)
    assert np.abs(found[:2]).min() > 5 * np.abs(found[2:]).max()
    assert found[0] * found[1] < 0
