"""Categories in an order of which intervals are useful sets."""

import numpy as np
import pytest
from cubes import cube_of

from lime_guarantee import Domain
from lime_guarantee.engine.category_order import order_categories
from lime_guarantee.engine.oracle import REASKED_ROWS, Oracle

EFFECTS = np.array([[0.0, -2.0, -1.0, 0.5, 1.2, 2.5], [0.0, 2.2, -0.4, -2.4, 1.0, -1.2]])
INSTANCE = np.array([0.0, 0.0, 0.1])
DOMAIN = Domain.from_bounds([0, 0, -1], [1, 1, 1], categories={0: list(range(6)), 1: list(range(6))})


def score(X):
    return EFFECTS[0][X[:, 0].astype(int)] + EFFECTS[1][X[:, 1].astype(int)] + X[:, 2]


def ordered(faithful, seed=0, most=None):
    """The categories of both axes in the order that is found."""
    cube = cube_of(DOMAIN, INSTANCE)
    cube = order_categories(Oracle(faithful, cube, max_evaluations=most), cube, np.random.default_rng(seed))
    return [cube.coordinates[i].values.astype(int).tolist() for i in (0, 1)]


@pytest.mark.parametrize("seed", range(5))
def test_categories_that_pull_one_way_stand_on_one_side(seed):
    """What fails by itself, or hardly pulls, may stand on either."""
    about = (2, 0, 4), (5, 0, 4)  # with effects of about -1, 0 and 1
    found = ordered(lambda X: np.abs(score(X)) < 1.5, seed)
    assert [sorted(order) for order in found] == [list(range(6))] * 2
    places = [[order.index(k) for k in three] for order, three in zip(found, about, strict=True)]
    up = [a < b < c for a, b, c in places]
    down = [a > b > c for a, b, c in places]
    assert all(up) or all(down)  # what adds up stands on the same side of both axes


@pytest.mark.parametrize("seed", range(5))
def test_next_to_the_own_category_come_those_that_do_least_harm(seed):
    """Here what is low is never wrong, so there is one direction only."""
    for axis, found in enumerate(ordered(lambda X: score(X) < 1.5, seed)):
        effect, place = EFFECTS[axis][found], found.index(0)
        for side in (effect[:place][::-1], effect[place + 1 :]):
            worst = np.maximum.accumulate(np.maximum(side, 0.0))
            assert (np.maximum(side, 0.0) >= worst - 0.6).all()  # nothing harmful before what is much less so


def test_with_few_evaluations_nothing_is_asked_and_the_order_stays():
    asked = []

    def faithful(X):
        asked.append(len(X))
        return np.ones(len(X), dtype=bool)

    assert ordered(faithful, most=400) == [list(range(6))] * 2
    assert not asked
    ordered(faithful, most=1_000)
    assert 100 < sum(asked) <= 250 + REASKED_ROWS + 10  # a quarter, and rows that are asked again
