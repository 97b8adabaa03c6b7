"""Axes of few cells, alone and among others: which words, or superpixels, may be removed in any combination?

The optima are known: counted by hand, or found offline by a local search that knows the true weights.
"""

import numpy as np
import pytest
from cubes import task_of

from lime_guarantee import Domain, Problem, SameValue, find_region
from lime_guarantee.engine.search.cells import hitting, learnt, let_in
from lime_guarantee.engine.search.sides import Sides


def find(faithful, dims, **options):
    """`faithful` is asked about flips: 1 where an axis has left the instance."""
    domain = Domain.from_bounds([0] * dims, [1] * dims, integer=range(dims))
    return find_region(lambda X: faithful(1 - X), np.ones(dims), domain, **{"random_state": 0, **options})


def held(region):
    """The axes that may flip; a region that is not certified has none."""
    return np.flatnonzero(region.lower < region.upper)


def additive(dims, tolerance, seed):
    weight = np.random.default_rng(seed).normal(size=dims)
    return lambda flips: np.abs(flips @ weight) < tolerance


def failing_share(region, faithful):
    return 1 - faithful(1 - region.sample(50_000, random_state=1)).mean()


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("dims", "tolerance", "best"), [(10, 3.0, 8), (20, 3.0, 14), (50, 3.0, 23), (100, 1.0, 24)]
)
def test_weights_that_cancel(dims, tolerance, best):
    """The best sets (seed 100 D, purity 0.99) are those of a local search with the true weights."""
    faithful = additive(dims, tolerance, 100 * dims)
    regions = [find(faithful, dims, random_state=seed) for seed in range(4)]
    assert np.mean([len(held(region)) for region in regions]) >= 0.75 * best
    assert max(failing_share(region, faithful) for region in regions) < 0.01
    assert np.mean([region.evaluations for region in regions]) < 5_000 + 60 * dims
    assert np.mean([region.calls for region in regions]) <= 40


@pytest.mark.compiled
def test_a_lower_purity_gives_a_longer_set():
    faithful = additive(50, 3.0, 5_000)
    assert len(held(find(faithful, 50, purity=0.9))) > len(held(find(faithful, 50)))


@pytest.mark.compiled
def test_axes_that_fail_alone_are_left_out_and_no_others():
    region = find(lambda flips: ~flips[:, :10].any(axis=1), 100)
    assert held(region).tolist() == list(range(10, 100))
    assert region.evaluations < 6_000
    assert region.calls <= 40


@pytest.mark.compiled
def test_axes_that_fail_only_together_are_held_as_far_as_they_may():
    region = find(lambda flips: flips[:, ::10].sum(axis=1) <= 3, 100)
    assert len(held(region)) == 93  # all 90 that do not matter, and 3 of the others


@pytest.mark.compiled
@pytest.mark.parametrize("most", [2, 5])
def test_a_limit_on_how_many_are_flipped(most):
    assert len(held(find(lambda flips: flips.sum(axis=1) <= most, 50))) == most


@pytest.mark.compiled
def test_pairs_that_fail_together():
    """No two axes of a pair fit: the best set is an independent one, of 38 axes."""
    pairs = np.array([np.random.default_rng(k).choice(50, 2, replace=False) for k in range(25)])

    def faithful(flips):
        return ~((flips[:, pairs[:, 0]] == 1) & (flips[:, pairs[:, 1]] == 1)).any(axis=1)

    region = find(faithful, 50)
    assert len(held(region)) >= 35
    assert failing_share(region, faithful) == 0.0


@pytest.mark.compiled
def test_a_rare_failure_costs_little():
    assert len(held(find(lambda flips: ~(flips[:, :7] == 1).all(axis=1), 50))) >= 47


@pytest.mark.compiled
def test_many_axes():
    faithful = additive(300, 3.0, 30_000)
    region = find(faithful, 300, random_state=0)
    assert len(held(region)) >= 75  # of 100
    assert region.evaluations < 24_000
    assert region.calls <= 60


@pytest.mark.parametrize("dims", [1, 2, 5, 50, 300])
def test_everything_faithful_costs_little_more_than_the_certificate(dims):
    region = find(lambda flips: np.ones(len(flips), dtype=bool), dims)
    assert len(held(region)) == dims
    assert region.evaluations < region.certificate.draws + 400


@pytest.mark.parametrize("dims", [1, 2, 5, pytest.param(100, marks=pytest.mark.compiled)])
def test_nothing_but_the_instance_faithful(dims):
    region = find(lambda flips: ~flips.any(axis=1), dims)
    assert region.status == "uncertified"
    assert region.evaluations < 1_100 + 20 * dims


@pytest.mark.compiled
@pytest.mark.parametrize("limit", [720, 900, 1_200, 2_000, 3_000, 4_300])
def test_the_limit_is_kept_and_a_set_is_certified_before_it(limit):
    region = find(lambda flips: ~flips[:, :10].any(axis=1), 100, max_evaluations=limit)
    assert region.evaluations <= limit
    if limit >= 3_000:
        assert len(held(region)) >= 30


@pytest.mark.compiled
def test_more_effort_spends_more_and_finds_more():
    sizes, evaluations = [], []
    for effort in ("low", "high"):
        regions = [find(additive(50, 3.0, seed), 50, effort=effort) for seed in range(3)]
        sizes.append(sum(len(held(region)) for region in regions))
        evaluations.append(sum(region.evaluations for region in regions))
    assert evaluations[0] < evaluations[1]
    assert sizes[0] < sizes[1]


@pytest.mark.compiled
def test_the_same_seed_gives_the_same_region():
    assert find(additive(20, 1.0, 1), 20) == find(additive(20, 1.0, 1), 20)


def test_an_instance_that_is_not_all_ones_and_a_constant_axis():
    domain = Domain.from_bounds([0] * 4 + [3], [1] * 4 + [3], integer=range(5))
    region = find_region(lambda X: X[:, 0] == 0, [0, 1, 0, 1, 3], domain, random_state=0)
    assert region.lower.tolist() == [0, 0, 0, 0, 3]
    assert region.upper.tolist() == [0, 1, 1, 1, 3]


def test_hitting_drops_the_column_in_most_rows():
    flips = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    assert hitting(flips).tolist() == [True, False, False, True]


def sides_of(faithful, dims):
    domain = Domain.from_bounds([0] * dims, [1] * dims, integer=range(dims))
    return Sides(task_of(lambda X: faithful(1 - X), domain, np.ones(dims)), 0)


def test_cells_are_learnt_from_points_in_which_that_many_leave_the_instance():
    sides = sides_of(lambda flips: flips[:, 0] == 0, 40)
    points, faithful = learnt(sides, sides.edge, 0.4)
    flips = 1 - sides.cube.values(points)
    half = len(points) // 2
    assert flips[:half].mean() == pytest.approx(0.4 / 2, abs=0.02)  # half of those that may leave it do
    assert flips[half:].mean() == pytest.approx(0.2 / 2, abs=0.02)
    assert (faithful == (flips[:, 0] == 0)).all()


def test_cells_that_do_no_harm_next_to_a_box_are_let_in():
    """The first three never may; of the next three, one must stay."""

    def faithful(flips):
        return ~flips[:, :3].any(axis=1) & ~flips[:, 3:6].all(axis=1)

    sides = sides_of(faithful, 12)
    extent = let_in(sides, np.zeros(24), sides.edge)
    free = np.flatnonzero(extent[:12])
    assert set(range(6, 12)) <= set(free)
    assert not set(free) & {0, 1, 2}
    assert len(set(free) & {3, 4, 5}) == 2
    kept = np.where(np.arange(24) == 11, 0.0, sides.edge)  # the last may not move at all
    assert let_in(sides, np.zeros(24), kept)[11] == 0.0


MIXED = Domain.from_bounds([-2] * 10 + [0] * 40, [2] * 10 + [1] * 40, integer=range(10, 50))


@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(3))
def test_among_continuous_axes_cells_that_do_not_matter_vary_and_fatal_ones_do_not(seed):
    def faithful(X):
        return (np.abs(X[:, :5]).sum(axis=1) < 2.5) & X[:, 10:15].all(axis=1)

    region = find_region(faithful, [0.1] * 10 + [1] * 40, MIXED, random_state=seed)
    expected = {*range(10), *range(15, 50)}
    assert set(held(region)) <= expected
    assert len(held(region)) >= len(expected) - 1
    assert region.reach[5:10].tolist() == [1.0] * 5
    assert region.log10_volume > 13.5


@pytest.mark.compiled
def test_among_continuous_axes_cells_that_fail_together():
    def faithful(X):
        return (np.abs(X[:, :5]).sum(axis=1) < 2.5) & ((1 - X[:, 10:20]).sum(axis=1) <= 3)

    regions = [find_region(faithful, [0.1] * 10 + [1] * 40, MIXED, random_state=seed) for seed in range(4)]
    assert all(len(held(region)) >= 42 for region in regions)  # of 43
    assert np.mean([region.log10_volume for region in regions]) > 12.95


def test_cells_and_continuous_axes_that_fail_together():
    """Small enough for kernels that are not compiled."""
    domain = Domain.from_bounds([-2] * 2 + [0] * 8, [2] * 2 + [1] * 8, integer=range(2, 10))

    def model(X):
        return X[:, 0] + X[:, 1] + (1 - X[:, 2:6]).sum(axis=1)

    problem = Problem(model, lambda X: 0 * X[:, 0], SameValue(1.5), [0.0] * 2 + [1] * 8, domain)
    region = find_region(problem, purity=0.8, confidence=0.8, effort="low", random_state=0)
    assert set(range(6, 10)) <= set(held(region))
    assert 0 < region.reach[0] < 1
    assert problem.faithful(region.sample(20_000, random_state=1)).mean() > 0.8
    assert region.gain < 0.05  # the surrogate is a constant itself
