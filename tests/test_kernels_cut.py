"""The kernel that cuts back a side does what its slow twin does."""

import naive
import numpy as np
import pytest

from lime_guarantee.engine.kernels import cut as kernels


@pytest.fixture(params=range(6))
def case(request):
    """Points in a box around an instance; on some axes they are the middles of cells, one unit wide."""
    rng = np.random.default_rng(request.param)
    dims = 1 + request.param % 4
    cells = rng.random(dims) < 0.4
    extent = np.ceil(rng.uniform(1, 6, 2 * dims))
    instance = np.round(rng.uniform(-3, 3, dims))
    home = instance - 0.5 * cells, instance + 0.5 * cells
    points = rng.uniform(home[0] - extent[:dims], home[1] + extent[dims:], (25, dims))
    points = np.where(cells, np.round(points), points)
    stops = naive.cell_stops(points, instance, cells)
    return points, stops, home, extent, rng


@pytest.mark.parametrize(("caution", "least"), [(0.5, 0.0), (2.0, 0.2)])
def test_the_best_cut_is_the_best_of_all(case, caution, least):
    points, stops, home, extent, _ = case
    side, moved, score = kernels.best_cut(points, stops, *home, extent, caution, least)
    assert score == pytest.approx(naive.best_cut_score(points, stops, home, extent, caution, least))
    if side >= 0:
        assert 0 <= moved < extent[side]


def test_a_wall_of_failures_is_cut_off_just_before_it():
    rng = np.random.default_rng(0)
    failures = rng.uniform([-1, -1], [1, 1], (200, 2))
    failures = np.ascontiguousarray(failures[failures[:, 0] > 0.7])
    origin = np.zeros(2)
    side, moved, score = kernels.best_cut(failures, failures, origin, origin, np.ones(4), 2.0, 0.2)
    assert side == 2  # the upper side of the first axis
    assert 0.45 < moved < 0.75
    assert score > 5


def test_an_atom_that_fails_is_cut_off_at_its_near_end():
    """Its points lie in its middle, but a side that ends there would hold half of it."""
    failures, stops = np.full((20, 1), 0.7), np.full((20, 1), 0.5)
    side, moved, _ = kernels.best_cut(failures, stops, np.zeros(1), np.full(1, 0.1), np.ones(2), 0.5, 0.0)
    assert side == 1
    assert moved == pytest.approx(0.4)


def test_without_enough_failures_nothing_is_cut():
    ones, origin = np.ones((2, 2)), np.zeros(2)
    assert kernels.best_cut(ones, ones, origin, origin, np.ones(4), 0.5, 0.0)[0] == -1
