"""The kernels of the balanced search do what their slow twins do."""

import naive
import numpy as np
import pytest

from lime_guarantee.engine.kernels import face_balancing as kernels


@pytest.fixture(params=range(6))
def case(request):
    """Points in a box around an instance; on some axes they are whole numbers."""
    rng = np.random.default_rng(request.param)
    dims = 1 + request.param % 4
    unit = (rng.random(dims) < 0.4).astype(float)
    extent = np.ceil(rng.uniform(1, 6, 2 * dims))
    instance = np.round(rng.uniform(-3, 3, dims))
    points = rng.uniform(instance - extent[:dims], instance + extent[dims:], (25, dims))
    points = np.where(unit > 0, np.round(points), points)
    return points, instance, extent, unit, rng


def test_slab_counts_match_their_twin(case):
    points, instance, extent, unit, _ = case
    lower, upper = instance - extent[: len(instance)], instance + extent[len(instance) :]
    depth = 0.2 * (upper - lower + unit)
    found = kernels.slab_counts(points, lower, upper, depth)
    assert found.tolist() == naive.slab_counts(points, lower, upper, depth).tolist()


def test_exit_times_match_their_twin(case):
    points, instance, extent, _, rng = case
    speed = rng.random(extent.size) * (rng.random(extent.size) < 0.7)
    found = kernels.exit_times(points, instance, extent, speed)
    expected = [naive.exit_time(point, instance, extent, speed) for point in points]
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("caution", "least"), [(0.5, 0.0), (2.0, 0.2)])
def test_the_best_cut_is_the_best_of_all(case, caution, least):
    points, instance, extent, unit, _ = case
    side, moved, score = kernels.best_cut(points, instance, extent, unit, caution, least)
    assert score == pytest.approx(naive.best_cut_score(points, instance, extent, unit, caution, least))
    if side >= 0:
        assert 0 <= moved < extent[side]


def test_a_wall_of_failures_is_cut_off_just_before_it():
    rng = np.random.default_rng(0)
    failures = rng.uniform([-1, -1], [1, 1], (200, 2))
    failures = np.ascontiguousarray(failures[failures[:, 0] > 0.7])
    side, moved, score = kernels.best_cut(failures, np.zeros(2), np.ones(4), np.zeros(2), 2.0, 0.2)
    assert side == 2  # the upper side of the first axis
    assert 0.45 < moved < 0.75
    assert score > 5


def test_without_enough_failures_nothing_is_cut():
    assert kernels.best_cut(np.ones((2, 2)), np.zeros(2), np.ones(4), np.zeros(2), 0.5, 0.0)[0] == -1
