"""The kernels of the boundary search: what fails under a fitted boundary, and what draws say."""

import numpy as np
import pytest

from lime_guarantee.engine.kernels.peel import (
    Goal,
    Places,
    Points,
    failing_share,
    first_places,
    peeled,
    share_of_odds,
    side_sums,
    sums_with,
)
from lime_guarantee.engine.kernels.slopes import (
    Costs,
    Model,
    climb,
    log_odds,
    loss_and_slopes,
    moment_slopes,
    moments,
    odds_and_slopes,
)

KNOTS = np.array([0.0, 0.2, 0.6, 1.0, 1.3])


def a_model(seed, dims=12):
    """A boundary for boxes about as large as the unit box."""
    rng = np.random.default_rng(seed)
    heights = np.cumsum(0.4 * rng.normal(size=(2 * dims, KNOTS.size)), axis=1)
    return Model(0.0, np.zeros(dims), KNOTS, heights, 0.7 * rng.normal(size=dims))


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


def drawn_odds(rng, extent, model):
    """The log-odds at points drawn in a box, less the bias."""
    places = drawn_places(rng, extent, model.home, 200_000)
    return profiles(places, model.knots, model.heights).sum(axis=1) + (places @ model.pull) ** 2


@pytest.mark.parametrize("seed", range(4))
def test_the_failing_share_in_closed_form_is_that_of_draws(seed):
    model = a_model(seed)
    rng = np.random.default_rng(100 + seed)
    extent = rng.uniform(0.3, 1.5, 24)
    odds = drawn_odds(rng, extent, model)
    bias = -np.quantile(odds, 0.9)
    share = np.mean(1.0 / (1.0 + np.exp(-bias - odds)))
    found = log_odds(bias, moments(extent, model).sum(axis=0))
    assert 1.0 / (1.0 + np.exp(-found)) == pytest.approx(share, rel=0.2)


def test_the_moments_are_those_of_draws():
    home, pull = np.array([0.2, 0.0]), np.array([1.5, -0.7])
    model = a_model(1, dims=2)._replace(home=home, pull=pull)
    extent = np.array([0.4, 1.6, 0.9, 0.6])  # one goes beyond the last knot
    places = drawn_places(np.random.default_rng(0), extent, home, 400_000)
    terms, pulled = profiles(places, model.knots, model.heights), pull * places
    expected = [terms.mean(0), terms.var(0), pulled.mean(0), pulled.var(0)]
    together = ((terms - expected[0]) * (pulled - expected[2])).mean(0)
    found = moments(extent, model)
    np.testing.assert_allclose(found.T, [*expected, together], atol=0.01)


def test_the_slopes_are_those_of_the_log_odds():
    model, extent = a_model(3)._replace(bias=-4.0), np.random.default_rng(5).uniform(0.3, 1.5, 24)
    odds, slopes = odds_and_slopes(extent, model)
    for side in range(24):
        longer = extent.copy()
        longer[side] *= 1 + 1e-4
        rise = (log_odds(-4.0, moments(longer, model).sum(axis=0)) - odds) / 1e-4
        assert slopes[side] == pytest.approx(rise, rel=0.02, abs=0.02)


@pytest.mark.parametrize("target", [-6.0, 6.0])
def test_the_loss_of_a_box_is_its_size_and_what_is_too_high_and_slopes_are_its_own(target):
    home = np.random.default_rng(7).uniform(0.0, 0.2, 12)
    model, extent = a_model(3)._replace(bias=-4.0, home=home), np.random.default_rng(5).uniform(0.3, 1.5, 24)

    def loss(extent):
        over = max(log_odds(-4.0, moments(extent, model).sum(axis=0)) - target, 0.0)
        return 30.0 * over**2 - np.log(extent[:12] + extent[12:] + home).sum()

    found, slopes = loss_and_slopes(extent, model, target, 30.0)
    assert found == pytest.approx(loss(extent))
    for side in range(24):
        longer, shorter = extent.copy(), extent.copy()
        longer[side] *= 1 + 1e-4
        shorter[side] *= 1 - 1e-4
        rise = (loss(longer) - loss(shorter)) / 2e-4
        assert slopes[side] == pytest.approx(rise, rel=0.02, abs=0.02)


@pytest.mark.parametrize("seed", range(6))
def test_the_climb_ends_where_no_single_move_pays(seed):
    rng = np.random.default_rng(seed)
    dims, target, penalty = 5, -4.0, 30.0
    home = np.full(dims, 0.5)
    steps = np.concatenate([np.zeros(dims), rng.normal(2.0, 1.0, dims)])
    heights = np.repeat(steps[:, np.newaxis], KNOTS.size, axis=1)
    model = Model(-6.0, home, KNOTS, heights, np.zeros(dims))
    sides = np.arange(dims, 2 * dims)
    rungs = np.tile([0.0, 0.5, np.inf], (dims, 1))

    def worth(open_):
        extent = np.concatenate([np.zeros(dims), np.where(open_, 0.5, 0.0)])
        over = max(log_odds(-6.0, moments(extent, model).sum(axis=0)) - target, 0.0)
        return np.log(extent[dims:] + home).sum() - penalty * over**2

    costs, start = Costs(target, 0.0, 0.0, penalty), np.zeros(2 * dims)
    found = climb(costs, start, model, sides, rungs, 20)[dims:] > 0
    for axis in range(dims):
        other = found.copy()
        other[axis] = ~other[axis]
        assert worth(other) <= worth(found) + 1e-3
    assert found.any()


@pytest.mark.parametrize(("price", "grows"), [(0.0, False), (0.1, True), (2.0, False)])
def test_a_cell_is_let_in_above_the_target_if_other_sides_make_up_for_it_cheaply(price, grows):
    """It doubles the width, and adds about 0.7 to the log-odds, which are at the target without it."""
    home = np.full(1, 0.5)
    model = Model(-4.0, home, KNOTS, np.repeat([[0.0], [0.8]], KNOTS.size, axis=1), np.zeros(1))
    at_home, with_cell = (
        log_odds(-4.0, moments(np.array([0.0, end]), model).sum(axis=0)) for end in (0.0, 0.5)
    )
    assert 0.5 < with_cell - at_home < 1.0
    rungs = np.array([[0.0, 0.5, np.inf]])
    args = model, np.array([1]), rungs, 5
    assert (climb(Costs(at_home, 1.0, price, 30.0), np.zeros(2), *args)[1] > 0) == grows
    assert climb(Costs(at_home, 0.1, price, 30.0), np.zeros(2), *args)[1] == 0  # there is not so much room


def test_sums_over_draws_are_those_of_every_box_that_differs_in_one_side():
    rng = np.random.default_rng(0)
    first, failed = rng.integers(0, 4, (500, 4), dtype=np.uint8), rng.random(500) < 0.3
    weight, place = rng.uniform(0.1, 2.0, 500), np.array([3, 1, 0, 2])
    inside, beyond, total = side_sums(Points(first, failed, weight), place, 4)

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
    first = rng.integers(0, 9, (2_000, 4), dtype=np.uint8) * (rng.random((2_000, 1)) < 0.8)
    failed, weight = rng.random(2_000) < 0.3, 10.0 ** (-decades * (1.0 - first.max(axis=1) / 8.0))
    place, points = np.full(4, 8), Points(first, failed, weight)
    sums = side_sums(points, place, 9)
    most = sums[2][2]
    for side, k in [(0, 6), (1, 3), (0, 8), (2, 2), (3, 1), (0, 4), (0, 1), (1, 1), (2, 1), (2, 4), (1, 2)]:
        sums, most = sums_with(side, k, points, place, sums, most)
        place[side] = k
        anew = side_sums(points, place, 9)
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
    total = moments(np.array([0.4, 0.7, 1.1, 0.9, 0.5, 0.3]), a_model(2, dims=3)).sum(axis=0)
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
    counts = np.full(2 * dims, places)
    points = rng.uniform(-1.0, 1.0, (4_000, dims))
    far = np.concatenate([-points, points], axis=1)
    held = np.empty((0, 2 * dims)) if rows is None else np.concatenate([-rows, rows], axis=1)
    return peeled(
        Points(first_places(far, extents, counts, 1e-12)[1], failed_where(far), np.ones(len(far))),
        float(len(far)),
        Points(
            first_places(held, extents, counts, 1e-12)[1],
            np.zeros(len(held), dtype=np.bool_),
            np.ones(len(held)),
        ),
        np.asarray(place),
        Places(extents, counts, extents),
        Model(-4.6, np.zeros(dims), KNOTS, np.zeros((2 * dims, KNOTS.size)), np.zeros(dims)),
        Goal(aim, 3.0, by_rows, 30.0, 0.01),
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
