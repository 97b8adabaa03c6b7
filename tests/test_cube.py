"""The unit cube: points, boxes and draws, under the uniform measure."""

import numpy as np
import pytest
from cubes import cube_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lime_guarantee import Domain
from lime_guarantee.space.box import Box

MIXED = Domain.from_bounds(
    [-1, 2, 0, 0], [3, 6, 0, 0], integer=[1], categories={2: ["a", "b", "c"], 3: ["k"]}
)


def test_draws_are_uniform_over_lengths_and_over_cells():
    cube = cube_of(MIXED, np.array([0, 3, "b", "k"], dtype=object))
    rows = cube.decode(cube.whole.sample(np.random.default_rng(0), 20_000))
    assert stats.kstest(rows[:, 0].astype(float), "uniform", args=(-1, 4)).pvalue > 1e-3
    cells, counts = np.unique(rows[:, 1].astype(float), return_counts=True)
    assert cells.tolist() == [2, 3, 4, 5, 6]
    assert stats.chisquare(counts).pvalue > 1e-3
    names, counts = np.unique(rows[:, 2].astype(str), return_counts=True)
    assert names.tolist() == ["a", "b", "c"]
    assert stats.chisquare(counts).pvalue > 1e-3
    assert set(rows[:, 3]) == {"k"}


def test_every_cell_of_a_very_wide_axis_can_be_drawn():
    cube = cube_of(Domain.from_bounds([-(2.0**40)], [2.0**40], integer=[0]), [5.0])
    rows = cube.decode(cube.whole.sample(np.random.default_rng(0), 2_000))
    assert (rows == np.round(rows)).all()
    assert stats.binomtest(int(np.sum(rows % 2)), 2_000, 0.5).pvalue > 1e-3
    box = cube.snapped(cube.instance, cube.instance)
    assert cube.held(box)[0].tolist() == [5.0, 5.0]
    assert set(cube.decode(box.sample(np.random.default_rng(0), 500))[:, 0]) == {5.0}


def test_the_instance_is_met_exactly():
    """A tree that splits at the instance's own value must see that value, not a neighbour of it."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        low, width = rng.normal() * 10 ** rng.uniform(-3, 6), 10 ** rng.uniform(-3, 6)
        value = low + width * rng.random()
        cube = cube_of(Domain.from_bounds([low], [low + width]), [value])
        assert cube.decode(cube.instance[np.newaxis])[0, 0] == value


def test_a_box_holds_whole_cells_and_the_same_points_as_before():
    cube = cube_of(Domain.from_bounds([0], [9], integer=[0]), [4])
    points = cube.settled(np.random.default_rng(0).random((500, 1)))
    for lower, upper in np.random.default_rng(1).random((200, 2)) * [0.45, 0.5] + [0.0, 0.5]:
        box = cube.snapped(np.array([lower]), np.array([upper]))
        edges = 10 * np.array([box.lower, box.upper])
        assert edges == pytest.approx(np.round(edges))
        before = (points >= min(lower, cube.instance[0])) & (points <= max(upper, cube.instance[0]))
        assert (box.contains(points) == before[:, 0]).all()
        assert box.contains(cube.instance[np.newaxis]).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_draws_of_a_snapped_box_lie_in_it(count, seed):
    rng = np.random.default_rng(seed)
    home = int(rng.integers(count))
    cube = cube_of(Domain.from_bounds([0, 0], [count - 1, 1], integer=[0]), [home, 0.5])
    ends = np.sort(rng.random((2, 2)), axis=0)
    box = cube.snapped(np.minimum(ends[0], cube.instance), np.maximum(ends[1], cube.instance))
    points = box.sample(rng, 50)
    assert box.contains(points).all()
    first, last = cube.held(box)[0]
    values = cube.values(points)[:, 0]
    assert ((values >= first) & (values <= last)).all()


def test_sides_stop_at_the_near_end_of_an_atom():
    cube = cube_of(Domain.from_bounds([0, 0], [3, 1], integer=[0]), [1, 0.5])
    points = cube.settled(np.array([[0.9, 0.7], [0.1, 0.2], [0.3, 0.5]]))
    assert cube.stops(points).tolist() == [[0.75, 0.7], [0.25, 0.2], [0.375, 0.5]]


def test_categories_may_stand_in_any_order():
    cube = cube_of(
        Domain.from_bounds([0], [0], categories={0: ["a", "b", "c"]}), np.array(["b"], dtype=object)
    )
    turned = cube.reordered({0: [1, 2, 0]})
    assert turned.instance[0] < 1 / 3
    assert turned.decode(turned.instance[np.newaxis])[0, 0] == "b"
    box = turned.snapped(np.array([0.0]), np.array([0.6]))
    assert sorted(turned.held(box)[0]) == [1, 2]
    with pytest.raises(ValueError, match="no permutation"):
        cube.reordered({0: [0, 0, 1]})
    with pytest.raises(ValueError, match="have an order"):
        cube_of(Domain.from_bounds([0], [1]), [0.5]).reordered({0: [0]})


def test_a_side_of_no_width_leaves_the_share_finite():
    cube = cube_of(Domain.from_bounds([0, 0], [1, 1]), [0.5, 0.5])
    box = Box(np.array([0.5, 0.0]), np.array([0.5, 1.0]), cube)
    assert np.isfinite(box.log_share)
    assert box.contains(box.sample(np.random.default_rng(0), 10)).all()


def test_a_box_needs_its_bounds_in_order():
    cube = cube_of(Domain.from_bounds([0], [1]), [0.5])
    with pytest.raises(ValueError, match="lower <= upper"):
        Box(np.array([0.6]), np.array([0.5]), cube)
