"""Every kernel does what its slow twin does."""

import naive
import numpy as np
import pytest
from cubes import cube_of

from lime_guarantee import Domain
from lime_guarantee.engine.kernels import max_box as kernels
from lime_guarantee.engine.search.max_box import NO_PRIORITY, MaxBoxProblem


def random_points(rng, count, dims, cells):
    """Points around the origin; on axes of cells they are whole numbers, so that there are ties."""
    points = rng.uniform(-4, 4, (count, dims))
    points[:, cells] = np.round(points[:, cells])
    return points


@pytest.fixture(params=range(6))
def case(request):
    """Positives, negatives, an anchor and the widths of its cells, with no negative on the anchor."""
    rng = np.random.default_rng(request.param)
    dims = 1 + request.param % 3
    cells = rng.random(dims) < 0.4
    anchor = np.zeros(dims)
    positives = np.vstack([anchor, random_points(rng, 7, dims, cells)])
    negatives = random_points(rng, 9, dims, cells)
    negatives = np.ascontiguousarray(negatives[(negatives != 0).any(axis=1)])
    return positives, negatives, anchor, cells.astype(float), rng


def test_points_inside_matches_its_twin(case):
    positives, negatives, *_ = case
    lower, upper = positives[:3].min(axis=0), positives[:3].max(axis=0)
    found = kernels.points_inside(negatives, lower, upper)
    assert found.tolist() == naive.points_inside(negatives, lower, upper).tolist()


def test_hull_matches_its_twin(case):
    positives, *_ = case
    member = np.arange(len(positives)) % 2 == 0
    for found, expected in zip(kernels.hull(positives, member), naive.hull(positives, member), strict=True):
        assert found.tolist() == expected.tolist()


def solve(positives, negatives, anchor, unit, nodes):
    order = np.ascontiguousarray(np.argsort(positives, axis=0).T)
    return kernels.max_box(positives, order, negatives, anchor, unit, nodes)


def test_max_box_without_a_limit_finds_the_best_box(case):
    positives, negatives, anchor, unit, _ = case
    lower, upper, captured = solve(positives, negatives, anchor, unit, 10_000)
    assert captured == naive.max_box_count(positives, negatives, anchor)
    assert captured == naive.points_inside(positives, lower, upper).sum()
    assert not naive.points_inside(negatives, lower, upper).any()
    assert naive.points_inside(anchor[np.newaxis], lower, upper).all()


@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_max_box_with_few_nodes_still_gives_a_box_without_negatives(case, nodes):
    positives, negatives, anchor, unit, _ = case
    lower, upper, captured = solve(positives, negatives, anchor, unit, nodes)
    assert captured == naive.points_inside(positives, lower, upper).sum() >= 1
    assert not naive.points_inside(negatives, lower, upper).any()


def test_more_nodes_never_capture_fewer_positives():
    rng = np.random.default_rng(1)
    positives = np.vstack([np.zeros(6), rng.uniform(-1, 1, (60, 6))])
    negatives = rng.uniform(-1, 1, (60, 6))
    captured = [solve(positives, negatives, np.zeros(6), np.zeros(6), t)[2] for t in (1, 10, 100, 1000)]
    assert captured == sorted(captured)
    assert captured[-1] > captured[0]


@pytest.mark.parametrize("ordered", ["largest", "random"])
def test_expand_box_matches_its_twin(case, ordered):
    positives, negatives, anchor, unit, rng = case
    lower, upper, _ = solve(positives, negatives, anchor, unit, 10_000)
    dims = anchor.size
    priority = NO_PRIORITY if ordered == "largest" else rng.permutation(2 * dims)
    edges = np.full(dims, -5.0), np.full(dims, 5.0)
    stops = naive.cell_stops(negatives, anchor, unit > 0)
    found = kernels.expand_box(negatives, stops, lower, upper, *edges, unit, priority)
    expected = naive.expand_box(negatives, stops, lower, upper, *edges, unit, priority)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.tolist() == theirs.tolist()
    assert not naive.points_inside(negatives, *found).any()


def test_every_side_of_an_expanded_box_meets_a_negative_or_the_edge(case):
    positives, negatives, anchor, unit, _ = case
    lower, upper, _ = solve(positives, negatives, anchor, unit, 10_000)
    stops = naive.cell_stops(negatives, anchor, unit > 0)
    edges = np.full(anchor.size, -5.0), np.full(anchor.size, 5.0)
    low, high = kernels.expand_box(negatives, stops, lower, upper, *edges, unit, NO_PRIORITY)
    for d in range(anchor.size):
        step = 0.5 if unit[d] else 1e-9
        for bound, edge, outwards in ((low, -5.0, -step), (high, 5.0, step)):
            if bound[d] != edge:
                grown_low, grown_high = low.copy(), high.copy()
                (grown_low if outwards < 0 else grown_high)[d] += outwards
                assert naive.points_inside(negatives, grown_low, grown_high).any()


def test_an_added_negative_is_never_inside_again():
    rng = np.random.default_rng(5)
    cube = cube_of(Domain.from_bounds([-1.0] * 4, [1.0] * 4), np.zeros(4))
    anchor = cube.instance
    problem = MaxBoxProblem(cube, rng.random((40, 4)), np.zeros(4), np.ones(4), 20)
    seen = np.empty((0, 4))
    for _ in range(30):
        lower, upper = problem.expanded()
        assert not naive.points_inside(seen, lower, upper).any()
        assert naive.points_inside(anchor[np.newaxis], lower, upper).all()
        points = rng.uniform(lower, upper, (10, 4))
        negatives = points[np.abs(points - 0.5).sum(axis=1) > 0.75]
        seen = np.vstack([seen, negatives])
        problem.add_negatives(negatives)
