"""The kernels of the boundary search: boxes that avoid causes, and what fails under a fitted boundary."""

import itertools

import numpy as np
import pytest

from lime_guarantee.engine.kernels.avoid import NO_SIDE, largest_extents
from lime_guarantee.engine.kernels.moves import count_moves, odds_after_moves
from lime_guarantee.engine.kernels.slopes import (
    climb,
    log_odds,
    moments,
    odds_and_slopes,
    on_profiles,
    profile_slopes,
    profile_sums,
)


def random_causes(rng, dims, count):
    """Causes of one to three sides, of different axes."""
    sides, limits = np.full((count, 3), NO_SIDE), np.zeros((count, 3))
    for k in range(count):
        axes = rng.choice(dims, rng.integers(1, 4), replace=False)
        sides[k, : axes.size] = axes + dims * rng.integers(0, 2, axes.size)
        limits[k, : axes.size] = rng.uniform(0.1, 0.9, axes.size)
    return sides, limits


def avoids(sides, limits, extent):
    real = sides != NO_SIDE
    return np.all(np.any(real & (extent[sides] <= limits), axis=1))


def slow_largest(sides, limits, home, edge):
    """The best of all ways to choose a side for every cause."""
    best = -np.inf
    for choice in itertools.product(*[np.flatnonzero(row != NO_SIDE) for row in sides]):
        extent = edge.copy()
        for k, j in enumerate(choice):
            extent[sides[k, j]] = min(extent[sides[k, j]], limits[k, j])
        best = max(best, np.log(extent[: home.size] + extent[home.size :] + home).sum())
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_largest_box_avoids_all_causes_and_is_nearly_as_large_as_any(seed):
    rng = np.random.default_rng(seed)
    dims = 4
    sides, limits = random_causes(rng, dims, 7)
    home, edge = rng.uniform(0.0, 0.1, dims), np.ones(2 * dims)
    extent = largest_extents(sides, limits, home, edge)
    assert avoids(sides, limits, extent)
    assert (extent <= edge).all()
    found = np.log(extent[:dims] + extent[dims:] + home).sum()
    assert found >= slow_largest(sides, limits, home, edge) - 0.15


def test_without_causes_the_box_reaches_the_edge():
    none = np.empty((0, 5), dtype=np.int64), np.empty((0, 5))
    edge = np.array([0.5, 1.0, 0.2, 0.0])
    assert largest_extents(*none, np.zeros(2), edge).tolist() == edge.tolist()


def test_causes_that_share_a_side_cost_one_cut():
    sides = np.array([[0, 1], [0, 2], [0, 3]])
    extent = largest_extents(sides, np.full((3, 2), 0.5), np.zeros(4), np.ones(8))
    assert extent.tolist() == [0.5] + [1.0] * 7


KNOTS = np.array([0.0, 0.2, 0.6, 1.0, 1.3])


def a_model(seed, dims=12):
    """Home widths, knots, heights and pulls of a boundary, for boxes about as large as the unit box."""
    rng = np.random.default_rng(seed)
    heights = np.cumsum(0.4 * rng.normal(size=(2 * dims, KNOTS.size)), axis=1)
    return np.zeros(dims), KNOTS, heights, 0.7 * rng.normal(size=dims)


def profiles(places, knots, heights):
    """The profile of every axis at every point, slowly."""
    dims = places.shape[1]
    found = np.zeros(places.shape)
    for d in range(dims):
        above = np.interp(places[:, d], knots, heights[dims + d])
        below = np.interp(-places[:, d], knots, heights[d])
        found[:, d] = np.where(places[:, d] > 0, above, np.where(places[:, d] < 0, below, 0.0))
    return found


def drawn_places(rng, extent, home, count):
    dims = home.size
    places = rng.uniform(-extent[:dims], extent[dims:] + home, (count, dims))
    return np.where(places > home, places - home, np.minimum(places, 0.0))


def drawn_odds(rng, bias, extent, home, knots, heights, pull):
    """The log-odds at points drawn in a box."""
    places = drawn_places(rng, extent, home, 200_000)
    return bias + profiles(places, knots, heights).sum(axis=1) + (places @ pull) ** 2


def test_the_sums_of_profiles_and_their_slopes_are_those_of_slow_twins():
    _, knots, heights, _ = a_model(0, dims=3)
    rng = np.random.default_rng(1)
    places = drawn_places(rng, np.full(6, 1.6), np.full(3, 0.2), 400)
    on = on_profiles(places, knots)
    np.testing.assert_allclose(
        profile_sums(*on, heights), profiles(places, knots, heights).sum(axis=1), atol=1e-12
    )
    weight = rng.normal(size=400)
    slopes = profile_slopes(*on, weight, heights.shape)
    for side, knot in np.ndindex(heights.shape):
        higher = heights.copy()
        higher[side, knot] += 1.0
        rise = weight @ (profiles(places, knots, higher) - profiles(places, knots, heights)).sum(axis=1)
        assert slopes[side, knot] == pytest.approx(rise, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_failing_share_in_closed_form_is_that_of_draws(seed):
    model = a_model(seed)
    rng = np.random.default_rng(100 + seed)
    extent = rng.uniform(0.3, 1.5, 24)
    odds = drawn_odds(rng, 0.0, extent, *model)
    bias = -np.quantile(odds, 0.9)
    share = np.mean(1.0 / (1.0 + np.exp(-bias - odds)))
    found = log_odds(bias, moments(extent, *model).sum(axis=0))
    assert 1.0 / (1.0 + np.exp(-found)) == pytest.approx(share, rel=0.2)


def test_the_moments_are_those_of_draws():
    home, pull = np.array([0.2, 0.0]), np.array([1.5, -0.7])
    _, knots, heights, _ = a_model(1, dims=2)
    extent = np.array([0.4, 1.6, 0.9, 0.6])  # one goes beyond the last knot
    places = drawn_places(np.random.default_rng(0), extent, home, 400_000)
    terms, pulled = profiles(places, knots, heights), pull * places
    expected = [terms.mean(0), terms.var(0), pulled.mean(0), pulled.var(0)]
    together = ((terms - expected[0]) * (pulled - expected[2])).mean(0)
    found = moments(extent, home, knots, heights, pull)
    np.testing.assert_allclose(found.T, [*expected, together], atol=0.01)


def test_the_slopes_are_those_of_the_log_odds():
    model, extent = a_model(3), np.random.default_rng(5).uniform(0.3, 1.5, 24)
    odds, slopes = odds_and_slopes(-4.0, extent, *model)
    for side in range(24):
        longer = extent.copy()
        longer[side] *= 1 + 1e-4
        rise = (log_odds(-4.0, moments(longer, *model).sum(axis=0)) - odds) / 1e-4
        assert slopes[side] == pytest.approx(rise, rel=0.02, abs=0.02)


@pytest.mark.parametrize("seed", range(6))
def test_the_climb_ends_where_no_single_move_pays(seed):
    rng = np.random.default_rng(seed)
    dims, target, penalty = 5, -4.0, 30.0
    home = np.full(dims, 0.5)
    steps = np.concatenate([np.zeros(dims), rng.normal(2.0, 1.0, dims)])
    model = home, KNOTS, np.repeat(steps[:, np.newaxis], KNOTS.size, axis=1), np.zeros(dims)
    sides = np.arange(dims, 2 * dims)
    rungs = np.tile([0.0, 0.5, np.inf], (dims, 1))

    def worth(open_):
        extent = np.concatenate([np.zeros(dims), np.where(open_, 0.5, 0.0)])
        over = max(log_odds(-6.0, moments(extent, *model).sum(axis=0)) - target, 0.0)
        return np.log(extent[dims:] + home).sum() - penalty * over**2

    found = climb(-6.0, target, penalty, np.zeros(2 * dims), *model, sides, rungs, 20)[dims:] > 0
    for axis in range(dims):
        other = found.copy()
        other[axis] = ~other[axis]
        assert worth(other) <= worth(found) + 1e-3
    assert found.any()


def test_draws_are_counted_in_what_a_move_leaves_or_adds():
    rng = np.random.default_rng(0)
    far, failed = rng.normal(0.3, 0.5, (500, 4)), rng.random(500) < 0.3
    extent, tried = np.array([0.9, 0.4, 0.0, 0.7]), rng.uniform(0.0, 1.2, (4, 3))
    tried[0, 0] = extent[0]  # no move at all
    counts, whole = count_moves(far, failed, extent, tried)
    inside = (far <= extent).all(axis=1)
    assert whole.tolist() == [inside.sum(), (inside & failed).sum()]
    for side, k in np.ndindex(tried.shape):
        moved = extent.copy()
        moved[side] = tried[side, k]
        after = (far <= moved).all(axis=1)
        which = after & ~inside if moved[side] > extent[side] else after & (moved[side] < extent[side])
        assert counts[:, side, k].tolist() == [which.sum(), (which & failed).sum()]


def test_the_log_odds_after_a_move_are_those_of_the_moved_box():
    model, rng = a_model(2, dims=3), np.random.default_rng(4)
    extent, tried = rng.uniform(0.3, 1.5, 6), rng.uniform(0.0, 1.6, (6, 2))
    found = odds_after_moves(-3.0, extent, tried, *model)
    for side, k in np.ndindex(tried.shape):
        moved = extent.copy()
        moved[side] = tried[side, k]
        assert found[side, k] == pytest.approx(log_odds(-3.0, moments(moved, *model).sum(axis=0)))
