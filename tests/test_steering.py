"""A box that is steered: what it learns from rejections, and when it gives up looking inwards."""

import itertools

import numpy as np
import pytest
from cubes import task_of

from lime_guarantee import Domain, find_region
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.search import boundary as boundary_module
from lime_guarantee.engine.search import slopes as slopes_module
from lime_guarantee.engine.search import steering as steering_module
from lime_guarantee.engine.search.sides import Sides
from lime_guarantee.engine.search.steering import Steering

DIMS = 6


def steering_of(faithful):
    task = task_of(faithful, Domain.from_bounds([-1] * DIMS, [1] * DIMS), np.zeros(DIMS))
    return Steering(Sides(task, 0))


def a_corner_fails(X):
    return ~(X[:, :2] > 0.5).all(axis=1)


@pytest.mark.parametrize("inwards", [True, False])
def test_it_learns_from_the_draws_of_all_rejected_boxes(inwards):
    steering = steering_of(a_corner_fails)
    if inwards:
        assert steering.look_inwards()
    sides = steering.sides
    boxes = tuple(sides.box(scale * sides.edge) for scale in (0.9, 0.7))
    batches = tuple(sides.draw(box, count) for box, count in zip(boxes, (50, 200), strict=True))
    steering.extent = sides.extent(boxes[0])
    before = steering.last[0]
    before = before[boxes[0].contains(before)]
    assert (len(before) > 0) == inwards
    steering.learn(Attempt(batches, (50, 200), None, None), boxes)
    noted = np.concatenate([batches[1][0], batches[0][0]])
    np.testing.assert_array_equal(steering.slopes.points[-250:], noted)
    told = np.concatenate([before, batches[0][0]])  # what was known of the largest box, and its own draws
    np.testing.assert_array_equal(steering.last[0], told)
    if inwards:
        drawn = [(box.log_share, count) for box, count, _ in steering.draws._boxes[-2:]]
        assert drawn == [(boxes[1].log_share, 200), (boxes[0].log_share, 50)]


def next_to_the_instance(X, beyond=0.2):
    """Near the instance the first feature matters; elsewhere, on nearly all of the domain, it does not."""
    near = (np.abs(X[:, 1:]) < 0.25).all(axis=1)
    return ~(near & (X[:, 0] > beyond))


@pytest.mark.parametrize("elsewhere", [None, a_corner_fails], ids=["whole domain", "inwards"])
def test_a_region_holds_when_one_feature_moves_alone(monkeypatch, elsewhere):
    def faithful(X):
        return next_to_the_instance(X) & (True if elsewhere is None else elsewhere(X))

    domain = Domain.from_bounds([-1] * DIMS, [1] * DIMS)
    region = find_region(faithful, np.zeros(DIMS), domain, random_state=0)
    assert 0.19 < region.upper[0] <= 0.2
    assert region.lower[0] == -1.0
    assert region.log10_share > -1.0
    for module in (steering_module, boundary_module):
        monkeypatch.setattr(module, "drawn_in", lambda sides, extent: extent)
    assert find_region(faithful, np.zeros(DIMS), domain, random_state=0).upper[0] > 0.5


def test_a_box_that_fails_along_a_ray_does_not_come_back():
    """With much effort the search goes on from the largest box that hardly failed: not from such a one."""
    steering = steering_of(lambda X: next_to_the_instance(X) & a_corner_fails(X))
    steering.look_inwards()
    assert 2 * steering.extent[DIMS] <= 0.2
    assert steering._held is None or 2 * steering._held[DIMS] <= 0.2


def test_a_feature_that_fails_at_once_both_ways_leaves_an_interval():
    def faithful(X):
        near = (np.abs(X[:, 1:]) < 0.25).all(axis=1)
        return ~(near & (np.abs(X[:, 0]) > 1e-12))

    domain = Domain.from_bounds([-1] * DIMS, [1] * DIMS)
    region = find_region(faithful, np.zeros(DIMS), domain, random_state=0)
    assert region.status == "certified"
    assert 0.0 < region.reach[0] < 0.01


def test_few_evaluations_are_not_spent_on_rays():
    domain = Domain.from_bounds([-1] * DIMS, [1] * DIMS)
    region = find_region(
        lambda X: np.ones(len(X), dtype=np.bool_),
        np.zeros(DIMS),
        domain,
        max_evaluations=2_800,
        random_state=0,
    )
    assert region.log10_share == 0.0
    assert region.evaluations <= 2_800


def mixed_steering(faithful, cells=6):
    """Steering of two numbers and some binary features."""
    domain = Domain.from_bounds([-1] * 2 + [0] * cells, [1] * 2 + [1] * cells, integer=range(2, 2 + cells))
    return Steering(Sides(task_of(faithful, domain, [0.0] * 2 + [1] * cells), 0))


def test_few_sides_of_few_cells_move_at_once():
    """The model calls all of them harmless; that is tried a few at a time."""
    slopes = mixed_steering(a_corner_fails, cells=40).slopes
    sides = slopes.sides
    slopes.bias = -20.0
    extent = np.where(np.isin(np.arange(sides.edge.size), sides.coarse), 0.0, sides.edge)

    def moved(trust):
        return int(np.sum(slopes.largest(extent, 0.1, trust)[sides.coarse] > 0))

    assert moved(0.1) == 2
    assert moved(0.7) == int(np.ceil(slopes_module.CELLS_MOVED * 0.7 * sides.coarse.size))


def test_a_box_that_grew_without_cells_is_lowered_with_what_draws_tell_of_them():
    def two_flips_fail(X):
        return (1 - X[:, 2:]).sum(axis=1) < 2

    steering = mixed_steering(two_flips_fail)
    steering.grow(steering_module.LEARNING_SHARE)
    assert steering.draws is None
    steering.lower(steering_module.LEARNING_SHARE)
    assert steering.draws is not None


def test_a_small_box_in_which_nothing_failed_holds_no_cells_that_hardly_varied():
    """Further in, cells leave the instance seldom: that nothing fails there says nothing of a box of them."""
    steering = mixed_steering(lambda X: (1 - X[:, 2:]).sum(axis=1) < 2)
    steering.start(steering_module.LEARNING_SHARE)
    assert steering.faithful
    for box in steering.faithful:
        assert not np.any(steering.sides.extent(box)[steering.sides.coarse])


def test_the_smallest_of_the_small_boxes_is_always_proposed():
    task = task_of(a_corner_fails, Domain.from_bounds([-1] * DIMS, [1] * DIMS), np.zeros(DIMS))
    run = boundary_module._Run(task, "normal")
    run.steering.faithful = [run.sides.box(0.9**k * run.sides.edge) for k in range(1, 14)]
    small = run._small_boxes()
    smallest = boundary_module.SMALL_SCALES[-1] * run.sides.extent(run.steering.faithful[-1])
    np.testing.assert_allclose(run.sides.extent(small[-1]), smallest)
    assert all(outer.holds(inner) for outer, inner in itertools.pairwise(small))


def test_a_small_box_that_fails_is_not_proposed_where_evaluations_run_out():
    domain = Domain.from_bounds([-1] * DIMS, [1] * DIMS)
    run = boundary_module._Run(task_of(lambda X: np.abs(X[:, 0]) < 0.5, domain, np.zeros(DIMS)), "normal")
    run.steering.faithful = [run.sides.box(scale * run.sides.edge) for scale in (0.9, 0.8, 0.4)]
    small = run._small_boxes()
    np.testing.assert_allclose(run.sides.extent(small[0]), 0.4 * run.sides.edge)
    run.steering.faithful = [run.sides.box(0.02 * run.sides.edge)]  # then one of the whole domain is larger
    small = run._small_boxes()
    np.testing.assert_allclose(run.sides.extent(small[0]), 0.3 * run.sides.edge)


def test_boxes_of_few_features_hold_when_one_feature_moves_alone(monkeypatch):
    dims = 4

    def faithful(X):
        near = (np.abs(X[:, 1:]) < 0.15).all(axis=1)
        one_of_50 = (np.floor(1e6 * X[:, 3]) % 50 == 0) & (X[:, 2] > 0.2)
        return ~(near & (X[:, 0] > 0.2) | one_of_50)

    def reached():
        domain = Domain.from_bounds([-1] * dims, [1] * dims)
        regions = [find_region(faithful, np.zeros(dims), domain, random_state=seed) for seed in range(6)]
        return [region.upper[0] for region in regions]

    assert max(reached()) <= 0.2
    for module in (steering_module, boundary_module):
        monkeypatch.setattr(module, "drawn_in", lambda sides, extent: extent)
    assert max(reached()) > 0.2


@pytest.mark.parametrize("seed", range(6))
def test_what_fails_near_the_instance_but_not_next_to_it_is_stopped_short_of(seed):
    def faithful(X):
        return ~((X[:, :2] > 0.01) & (X[:, :2] < 0.2)).all(axis=1)

    domain = Domain.from_bounds([0] * DIMS, [1] * DIMS)
    region = find_region(faithful, np.zeros(DIMS), domain, random_state=seed)
    assert region.log10_share == pytest.approx(-2.0, abs=0.05)


def test_a_box_from_which_the_search_starts_again_holds_along_rays_too(monkeypatch):
    task = task_of(
        lambda X: next_to_the_instance(X), Domain.from_bounds([-1] * DIMS, [1] * DIMS), np.zeros(DIMS)
    )

    def reach(seldom):
        run = boundary_module._Run(task, "normal")
        run.seldom = seldom
        monkeypatch.setattr(
            run.steering, "grow", lambda share: run.steering._begin(run.sides.edge, inwards=False)
        )
        run._grow(boundary_module.RESTART_SHARES[-1])
        return 2 * run.steering.extent[DIMS]

    assert reach(True) <= 0.2
    assert reach(False) > 0.2
