"""The optimist: the largest box that what was drawn does not speak against."""

from itertools import pairwise

import naive
import numpy as np
import pytest
from cubes import cube_of, task_of

from lime_guarantee import Balanced, Domain, find_region
from lime_guarantee.engine.kernels import consistent_box as kernels
from lime_guarantee.engine.search import balanced
from lime_guarantee.engine.search.consistent_box import AIM, ConsistentBox
from lime_guarantee.engine.search.face_balancing import FaceBalancing
from lime_guarantee.space.box import Box

SQUARE = Domain.from_bounds([0.0, 0.0], [1.0, 1.0])


def make(
    faithful, instance=(0.5, 0.5), domain=SQUARE, effort="normal", spend=lambda count: None, purity=0.99
):
    task = task_of(faithful, domain, instance, purity=purity)
    steering = FaceBalancing(task)
    steering.sweep()
    return ConsistentBox(task, effort, steering, spend)


@pytest.mark.parametrize("aim", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("seed", range(8))
def test_the_largest_box_matches_its_twin(seed, aim):
    rng = np.random.default_rng(seed)
    dims = 1 + seed % 3
    cells = rng.random(dims) < 0.4
    lower, upper = -np.ceil(rng.uniform(1, 5, dims)), np.ceil(rng.uniform(1, 5, dims))
    failures = rng.uniform(lower, upper, (7, dims))
    failures = np.where(cells, np.round(failures), failures)
    lower, upper = lower - 0.5 * cells, upper + 0.5 * cells
    anchor = np.zeros(dims)
    failures = np.ascontiguousarray(failures[(failures != anchor).any(axis=1)])
    stops = naive.cell_stops(failures, anchor, cells)
    whole = np.prod(upper - lower)
    weight = rng.uniform(0.0, 0.05, len(failures)) * whole
    low, high = kernels.largest_box(failures, stops, weight, anchor, lower, upper, aim, 5_000)
    volume = np.prod(high - low)
    inside = naive.points_inside(failures, low, high)
    assert weight[inside].sum() <= aim * volume
    assert np.all((lower <= low) & (low <= anchor) & (anchor <= high) & (high <= upper))
    best = naive.largest_box_volume(failures, stops, weight, anchor, lower, upper, aim)
    assert np.exp(-kernels.CLOSE) * best * (1 - 1e-9) <= volume <= best * (1 + 1e-9)


def test_within_few_nodes_a_box_without_failures_is_found_all_the_same():
    rng = np.random.default_rng(0)
    failures = rng.uniform(-1, 1, (300, 4))
    failures = np.ascontiguousarray(failures[np.abs(failures).max(axis=1) > 0.2])
    anchor = np.zeros(4)
    sizes = []
    for nodes in (1, 20, 400):
        low, high = kernels.largest_box(
            failures, failures, np.ones(len(failures)), anchor, anchor - 1, anchor + 1, 0.0, nodes
        )
        assert not naive.points_inside(failures, low, high).any()
        sizes.append(np.prod(high - low))
    assert sizes[0] <= sizes[1] <= sizes[2]
    assert sizes[2] > 1.05 * sizes[0]


def test_a_slab_is_found_without_a_search_for_it():
    """Greedy cuts alone leave less than half of it: they cut along axes that need not be cut at all."""
    sizes = []
    for seed in range(8):
        failures = np.random.default_rng(seed).uniform(-1, 1, (300, 3))
        failures = np.ascontiguousarray(failures[np.abs(failures[:, 0]) > 0.1])
        anchor = np.zeros(3)
        low, high = kernels.largest_box(
            failures, failures, np.ones(len(failures)), anchor, anchor - 1, anchor + 1, 0.0, 1
        )
        assert not naive.points_inside(failures, low, high).any()
        sizes.append(np.prod(high - low))
    assert np.mean(sizes) > 0.75 * (0.2 * 2 * 2)


def test_densities_match_their_twin():
    rng = np.random.default_rng(1)
    lower, upper = rng.uniform(0, 0.4, (6, 2)), rng.uniform(0.6, 1, (6, 2))
    counts = rng.integers(1, 50, 6)
    boxes = list(zip(lower, upper, counts, strict=True))
    points = rng.random((40, 2))
    found = kernels.densities(points, lower, upper, counts / np.prod(upper - lower, axis=1))
    assert found == pytest.approx([naive.density(point, boxes) for point in points])


def test_failures_stand_for_the_volume_that_fails():
    """Whatever was drawn where, they add up to the failing share of the domain."""
    optimist = make(lambda X: X[:, 0] < 0.8)
    rng = np.random.default_rng(0)
    for low in (0.0, 0.1, 0.4, 0.7):
        box = Box(np.array([low, 0.0]), np.ones(2), optimist.task.cube)
        points = box.sample(rng, 3_000)
        optimist.note(box, points, points[:, 0] < 0.8)
    assert np.sum(1 / optimist._density) == pytest.approx(0.2, rel=0.06)


def test_draws_of_an_attempt_are_noted_where_they_were_drawn():
    optimist = make(lambda X: X[:, 0] < 0.8)
    noted = []
    optimist.note = lambda box, points, faithful: noted.append((box, points))

    class Made:
        points = np.arange(10.0).reshape(5, 2)
        faithful = np.ones(5, dtype=bool)
        drawn = (3, 0, 2)

    cube = cube_of(SQUARE, [0.5, 0.5])
    boxes = tuple(Box(np.zeros(2), np.full(2, high), cube) for high in (1.0, 0.9, 0.8))
    optimist.note_attempt(boxes, Made)
    assert [(box.upper[0], len(points)) for box, points in noted] == [(1.0, 3), (0.9, 0), (0.8, 2)]
    assert np.array_equal(np.concatenate([points for _, points in noted]), Made.points)


def test_it_settles_on_the_larger_arm():
    optimist = make(lambda X: (X[:, 0] < 0.3) | (X[:, 1] < 0.5), instance=(0.2, 0.2))
    assert optimist.settle(40)
    box = optimist.nested()[0]
    assert box.width == pytest.approx([1.0, 0.5], abs=0.03)


def test_it_does_not_settle_on_what_fails():
    optimist = make(lambda X: np.abs(X - 0.5).max(axis=1) < 1e-9)
    assert not optimist.settle(5)


def test_more_rounds_are_not_taken_than_allowed():
    spent = []
    optimist = make(lambda X: np.sum((X - 0.5) ** 2, axis=1) < 0.1, spend=spent.append)
    del spent[:]
    optimist.settle(3)
    assert len(spent) == 3


def test_the_boxes_of_a_proposal_are_nested_and_keep_away_from_failures():
    optimist = make(lambda X: np.sum(np.abs(X - 0.5), axis=1) < 0.6)
    optimist.settle(30)
    boxes = optimist.nested()
    assert len(boxes) == 3
    for outer, inner in pairwise(boxes):
        assert outer.holds(inner)
        assert inner.log_share < outer.log_share
        assert not inner.contains(optimist._failures).any()
    failing = np.sum(1 / optimist._density[boxes[0].contains(optimist._failures)])
    assert failing <= AIM * 0.01 * np.exp(boxes[0].log_share)


def test_a_box_that_is_the_whole_domain_is_proposed_alone():
    optimist = make(lambda X: np.ones(len(X), dtype=bool))
    assert optimist.settle(10)
    (box,) = optimist.nested()
    assert np.array_equal(box.lower, [0, 0])
    assert np.array_equal(box.upper, [1, 1])


def test_one_speck_does_not_stop_a_side():
    """A sweep that fails once on its way may have met a speck; if it fails twice, it is a wall."""

    def speck(X):
        return np.abs(X[:, 0] - 0.75) > 1e-6  # met at half of the way

    def wall(X):
        return X[:, 0] < 0.7

    assert make(speck).reach.upper[0] == 1.0
    assert make(wall).reach.upper[0] == pytest.approx(0.75)


def test_cells_stay_whole():
    domain = Domain.from_bounds([0, 0, 0.0], [20, 20, 1.0], integer=[0, 1])
    region = find_region(lambda X: (X[:, 0] <= 12) & (X[:, 1] >= 3), [5, 5, 0.5], domain, random_state=0)
    assert region.lower.tolist() == [0, 3, 0.0]
    assert region.upper.tolist() == [12, 20, 1.0]
    assert region.evaluations < 2_000


def test_huge_domains_do_not_overflow():
    domain = Domain.from_bounds([-1e120] * 4, [1e120] * 4)
    with np.errstate(over="raise", invalid="raise"):
        region = find_region(lambda X: np.abs(X[:, 0]) < 4e119, [0.0] * 4, domain, random_state=0)
    assert region.upper[0] == pytest.approx(4e119, rel=0.06)
    assert region.evaluations < 2_500  # it settled


def proposals(monkeypatch, purity, dims=2):
    """How often an optimist proposes."""
    made = []
    nested = ConsistentBox.nested
    monkeypatch.setattr(ConsistentBox, "nested", lambda self: made.append(1) or nested(self))
    domain = Domain.from_bounds([-1.0] * dims, [1.0] * dims)
    find_region(lambda X: X[:, 0] < 0.5, [0.0] * dims, domain, purity=purity, random_state=0)
    return len(made)


def test_the_search_begins_as_an_optimist_only_where_that_pays(monkeypatch):
    assert proposals(monkeypatch, 0.99) == 1
    assert proposals(monkeypatch, 0.99, dims=balanced.FEW_DIMENSIONS) >= 1
    assert proposals(monkeypatch, 0.99, dims=balanced.FEW_DIMENSIONS + 1) == 0
    assert proposals(monkeypatch, 0.9) == 0


@pytest.mark.compiled
def test_where_it_does_not_settle_the_sides_are_steered():
    """A ball is curved on all sides; a box that is 99 % pure can be larger than the largest cube in it."""
    dims = 4
    domain = Domain.from_bounds([-1.0] * dims, [1.0] * dims)
    sizes = [
        find_region(
            lambda X: np.sum(X**2, axis=1) < 0.25, [0.0] * dims, domain, random_state=seed
        ).log10_volume
        for seed in range(5)
    ]
    assert np.mean(sizes) > dims * np.log10(2 * 0.5 / np.sqrt(dims))


@pytest.mark.compiled
def test_it_costs_half_of_what_steering_does_and_finds_no_less(monkeypatch):
    """Corners cut off by planes along the axes, as by a tree."""
    domain = Domain.from_bounds([-1.0] * 3, [1.0] * 3)

    def faithful(X):
        return ~((X[:, 0] > 0.3) & (X[:, 1] > 0.1)) & ~((X[:, 1] < -0.4) & (X[:, 2] > 0.2))

    def measured():
        regions = [find_region(faithful, [0.0] * 3, domain, random_state=seed) for seed in range(10)]
        return np.mean([(r.log10_volume, r.evaluations) for r in regions], axis=0)

    volume, evaluations = measured()
    monkeypatch.setattr(balanced, "MOST_FAILING_FOR_CONSISTENT_BOX", 0.0)
    steered_volume, steered_evaluations = measured()
    assert evaluations < 0.5 * steered_evaluations
    assert volume > steered_volume - 0.01


@pytest.mark.parametrize("limit", [1_200, 1_800, 2_500])
def test_out_of_budget_it_proposes_what_it_has(limit):
    region = find_region(
        lambda X: X[:, 0] < 0.3,
        [0.0, 0.0],
        Domain.from_bounds([-1.0, -1.0], [1.0, 1.0]),
        search=Balanced(),
        max_evaluations=limit,
        random_state=0,
    )
    assert region
    assert region.evaluations <= limit
    assert region.log10_volume > np.log10(2.0 * 1.1)  # of 2.6
