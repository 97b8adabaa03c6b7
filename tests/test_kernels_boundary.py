"""The kernels of the boundary search: boxes without failures, and what fails under a fitted boundary."""

import itertools

import numpy as np
import pytest

from lime_guarantee.engine.kernels.avoid import NO_SIDE, largest_extents
from lime_guarantee.engine.kernels.peel import (
    failing_share,
    first_places,
    peeled,
    share_of_odds,
    side_sums,
    sums_with,
)
from lime_guarantee.engine.kernels.slopes import (
    climb,
    log_odds,
    moment_slopes,
    moments,
    odds_and_slopes,
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

    found = climb(-6.0, target, 0.0, 0.0, penalty, np.zeros(2 * dims), *model, sides, rungs, 20)[dims:] > 0
    for axis in range(dims):
        other = found.copy()
        other[axis] = ~other[axis]
        assert worth(other) <= worth(found) + 1e-3
    assert found.any()


@pytest.mark.parametrize(("price", "grows"), [(0.0, False), (0.1, True), (2.0, False)])
def test_a_cell_is_let_in_above_the_target_if_other_sides_make_up_for_it_cheaply(price, grows):
    """It doubles the width, and adds about 0.7 to the log-odds, which are at the target without it."""
    home = np.full(1, 0.5)
    model = home, KNOTS, np.repeat([[0.0], [0.8]], KNOTS.size, axis=1), np.zeros(1)
    at_home, with_cell = (
        log_odds(-4.0, moments(np.array([0.0, end]), *model).sum(axis=0)) for end in (0.0, 0.5)
    )
    assert 0.5 < with_cell - at_home < 1.0
    rungs = np.array([[0.0, 0.5, np.inf]])
    args = *model, np.array([1]), rungs, 5
    assert (climb(-4.0, at_home, 1.0, price, 30.0, np.zeros(2), *args)[1] > 0) == grows
    assert climb(-4.0, at_home, 0.1, price, 30.0, np.zeros(2), *args)[1] == 0  # there is not so much room


def test_sums_over_draws_are_those_of_every_box_that_differs_in_one_side():
    rng = np.random.default_rng(0)
    first, failed = rng.integers(0, 4, (500, 4)), rng.random(500) < 0.3
    weight, place = rng.uniform(0.1, 2.0, 500), np.array([3, 1, 0, 2])
    inside, beyond, total = side_sums(first, failed, weight, place, 4)

    def sums(held):
        return [weight[held].sum(), weight[held & failed].sum(), np.sum(weight[held] ** 2)]

    assert total == pytest.approx(sums((first <= place).all(axis=1)))
    for side, k in np.ndindex(4, 4):
        moved = place.copy()
        moved[side] = k
        of_box = inside[side, : k + 1].sum(axis=0)  # up to its own place, this is the smaller box
        if k > place[side]:
            of_box = total + beyond[side, : k + 1].sum(axis=0)
        assert of_box == pytest.approx(sums((first <= moved).all(axis=1)))


@pytest.mark.parametrize("decades", [0, 12])
def test_sums_are_kept_as_sides_move_whatever_the_draws_weigh(decades):
    """Of draws, the nearer to the instance, the lighter they are, as if they came of ever smaller boxes."""
    rng = np.random.default_rng(decades)
    first = rng.integers(0, 9, (2_000, 4)) * (rng.random((2_000, 1)) < 0.8)
    failed, weight = rng.random(2_000) < 0.3, 10.0 ** (-decades * (1.0 - first.max(axis=1) / 8.0))
    place = np.full(4, 8)
    sums = side_sums(first, failed, weight, place, 9)
    most = sums[2][2]
    for side, k in [(0, 6), (1, 3), (0, 8), (2, 2), (3, 1), (0, 4), (0, 1), (1, 1), (2, 1), (2, 4), (1, 2)]:
        sums, most = sums_with(side, k, first, failed, weight, place, sums, most)
        place[side] = k
        anew = side_sums(first, failed, weight, place, 9)
        assert sums[2] == pytest.approx(anew[2], rel=1e-6)
        for kept, added in zip(sums[:2], anew[:2], strict=True):
            assert kept == pytest.approx(added, rel=1e-6, abs=1e-6 * anew[2].min())


def test_a_failing_share_is_that_of_the_draws_or_of_the_model_as_there_are_more_or_fewer_of_them():
    assert failing_share(0.0, 0.0, 0.0, 1.0, 0.2, 10.0) == pytest.approx(0.2)
    assert failing_share(1e6, 3e5, 1e6, 1e6, 0.01, 10.0) == pytest.approx(0.3, abs=1e-3)
    # Of weight 3 or 1, a thousand draws are alike: what each stands for does not matter.
    alike = failing_share(1e3, 1e2, 1e3, 1e3, 0.01, 10.0)
    assert failing_share(3e3, 3e2, 9e3, 3e3, 0.01, 10.0) == pytest.approx(alike)
    # Two draws of which one stands for nearly all are one draw.
    assert failing_share(1_000.001, 1_000.0, 1e6, 1e3, 0.1, 1.0) == pytest.approx(2.0 / 11.0, rel=1e-3)


def test_of_what_draws_do_not_stand_for_the_model_is_asked():
    """A million draws without a failure stand for a quarter of the volume; the model says 0.4 of all."""
    assert failing_share(1e6, 0.0, 1e6, 1e6, 0.4, 3.0) < 1e-4
    assert failing_share(1e6, 0.0, 1e6, 4e6, 0.4, 3.0) == pytest.approx(0.3, rel=1e-3)
    assert failing_share(1e6, 5e5, 1e6, 4e6, 0.4, 3.0) == pytest.approx(0.5, rel=1e-3)  # it is no comfort


def test_the_first_place_that_holds_a_point_if_any_does():
    extents = np.array([[0.0, 0.5, 1.0], [0.0, 0.2, np.inf]])
    far = np.array([[-0.1, 0.0], [0.3, 0.2], [0.5, 0.3], [0.5 + 1e-15, 0.1], [1.1, 0.1], [0.9, 0.2 + 1e-15]])
    held, found = first_places(far, extents, np.array([3, 2]), 1e-12)
    assert held.tolist() == [0, 1, 3, 5]
    assert found.tolist() == [[0, 0], [1, 1], [1, 1], [2, 1]]


@pytest.mark.parametrize(("odds", "share"), [(0.0, 0.5), (-3.0, 1 / (1 + np.e**3)), (-1e6, 0.0), (1e6, 1.0)])
def test_log_odds_of_any_size_are_a_share(odds, share):
    assert share_of_odds(odds) == pytest.approx(share)


def test_slopes_by_moments_are_difference_quotients():
    total = moments(np.array([0.4, 0.7, 1.1, 0.9, 0.5, 0.3]), *a_model(2, dims=3)).sum(axis=0)
    odds, slopes = moment_slopes(-3.0, total)
    assert odds == log_odds(-3.0, total)
    for k in range(total.size):
        up, down = total.copy(), total.copy()
        up[k] += 1e-3
        down[k] -= 1e-3
        assert slopes[k] == pytest.approx((log_odds(-3.0, up) - log_odds(-3.0, down)) / 2e-3, abs=2e-3)


def peel_of(failed_where, place, rows=None, by_rows=0.0, aim=0.005):
    """The places after a peel of three axes, five places a side, with a model that knows of no side."""
    rng = np.random.default_rng(1)
    places, dims = 5, 3
    extents = np.tile(np.linspace(0.0, 1.0, places), (2 * dims, 1))
    counts, ones = np.full(2 * dims, places), np.ones(dims)
    points = rng.uniform(-1.0, 1.0, (4_000, dims))
    far = np.concatenate([-points, points], axis=1)
    held = np.empty((0, 2 * dims)) if rows is None else np.concatenate([-rows, rows], axis=1)
    return peeled(
        first_places(far, extents, counts, 1e-12)[1],
        failed_where(far),
        np.ones(len(far)),
        float(len(far)),
        first_places(held, extents, counts, 1e-12)[1],
        by_rows,
        np.asarray(place),
        extents,
        counts,
        -4.6,
        ones,
        *(np.zeros(dims), KNOTS, np.zeros((2 * dims, KNOTS.size)), np.zeros(dims)),
        aim,
        3.0,
        30.0,
        0.01,
    ).tolist()


def corner(far):
    """Two sides hold the failures: behind the fourth place of one, or behind the second of the other."""
    return (far[:, 0] > 0.75) & (far[:, 4] > 0.25)


def test_a_peel_takes_the_side_that_costs_least_and_what_was_cut_for_nothing_comes_back():
    assert peel_of(corner, [4] * 6) == [3, 4, 4, 4, 4, 4]
    assert peel_of(corner, [4, 4, 2, 4, 4, 4]) == [3, 4, 4, 4, 4, 4]


def test_a_peel_spares_the_side_behind_which_rows_lie():
    """All rows lie behind the side that costs less volume."""
    rows = np.random.default_rng(2).uniform([-1.0, -0.5, -1.0], [-0.8, 0.2, 1.0], (300, 3))
    assert peel_of(corner, [4] * 6, rows) == [3, 4, 4, 4, 4, 4]  # they count for nothing
    assert peel_of(corner, [4] * 6, rows, by_rows=0.8) == [4, 4, 4, 4, 1, 4]
