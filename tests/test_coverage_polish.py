"""The last step of much effort: single sides moved so that more rows of the data lie inside."""

import numpy as np
import pytest
from cubes import cube_of

from lime_guarantee import Domain, Marginal, find_region
from lime_guarantee.engine.search import coverage
from lime_guarantee.engine.search.coverage import CoveragePolish

RNG = np.random.default_rng(0)
COMMON = RNG.normal(size=(900, 1))
X = COMMON + 0.5 * RNG.normal(size=(900, 6))  # features that go together
DOMAIN = Domain.from_data(X)
ROWS = [int(row) for row in np.argsort(np.abs(X).sum(axis=1))[:8]]


def faithful(rows):
    """It fails far from the diagonal, where there are few data, and far out."""
    return (np.abs(rows - rows.mean(axis=1, keepdims=True)).max(axis=1) < 2.2) & (rows.sum(axis=1) < 9)


def regions(**options):
    return [find_region(faithful, X[row], DOMAIN, effort="high", random_state=row, **options) for row in ROWS]


def without_polish(monkeypatch):
    monkeypatch.setattr(CoveragePolish, "propose", lambda self: iter(()))


@pytest.fixture(scope="module")
def polished():
    return regions()


@pytest.fixture(scope="module")
def plain():
    with pytest.MonkeyPatch.context() as patched:
        without_polish(patched)
        return regions()


@pytest.mark.compiled
def test_more_rows_are_covered_and_the_promise_is_kept(polished, plain):
    covered = np.array([[region.covered[0] for region in found] for found in (polished, plain)])
    assert covered[0].sum() > covered[1].sum()
    assert (covered[0] >= covered[1]).all()  # the box that was accepted before is still there
    assert all(after.log10_share >= before.log10_share for after, before in zip(polished, plain, strict=True))
    for region in polished:
        assert faithful(region.sample(100_000, random_state=1)).mean() > 0.99


@pytest.mark.compiled
def test_it_costs_less_than_all_the_rest(polished, plain):
    assert sum(region.evaluations for region in polished) < 1.8 * sum(region.evaluations for region in plain)


class Accepted:
    """An attempt in which a box was accepted."""

    def __init__(self, shape, failures=0, draws=1_000):
        self.shape = shape
        self.certificate = type("Certificate", (), {"failures": failures, "draws": draws})


def polish(answer, data=X):
    """The polish of a box around the first row."""
    from lime_guarantee.engine.oracle import Oracle
    from lime_guarantee.engine.search.base import Task

    domain = Domain.from_data(data)
    cube = cube_of(domain, data[0], Marginal())
    task = Task(Oracle(answer, cube), cube.whole, 0.99, 0.99, np.random.default_rng(0))
    lower, upper = np.minimum(cube.home.lower, 0.1), np.maximum(cube.home.upper, 0.8)
    return CoveragePolish(task, Accepted(cube.snapped(lower, upper)))


def test_where_nothing_fails_all_rows_come_in():
    step = polish(lambda rows: np.ones(len(rows), dtype=bool))
    ((box, *_),) = step.propose()
    assert box.contains(step.rows).mean() > 0.95


def test_where_all_fails_nothing_is_moved():
    step = polish(lambda rows: np.zeros(len(rows), dtype=bool))
    assert list(step.propose()) == []


def test_a_side_that_meets_failures_stays(monkeypatch):
    step = polish(lambda rows: rows[:, 0] < 1.2)
    start = step.box
    ((box, *_),) = step.propose()
    assert box.upper[0] - start.upper[0] < 0.1
    assert (box.upper[1:] > 0.93).all()
    monkeypatch.setattr(coverage, "MOST_FAILING", 1e9)  # a polish that does not look at what fails
    careless = polish(lambda rows: rows[:, 0] < 1.2)
    list(careless.propose())
    assert careless.box.upper[0] > 0.93


def test_a_box_that_does_not_hold_is_not_proposed(monkeypatch):
    monkeypatch.setattr(coverage, "MOST_FAILING", 1e9)
    assert list(polish(lambda rows: rows[:, 0] < 1.2).propose()) == []


def test_few_rows_move_nothing():
    step = polish(lambda rows: np.ones(len(rows), dtype=bool), X[:40])
    assert list(step.propose()) == []


def test_rows_of_another_kind_than_the_axes_move_nothing():
    """Text among the numbers of a column, which an explanation takes for a number."""
    rows = X[:, :2].astype(object)
    rows[3, 0] = "missing"
    axes = Domain.from_bounds([-3, -3], [3, 3]).axes
    domain = Domain(axes, Domain.from_data(rows).observed)
    region = find_region(
        lambda X: np.abs(X[:, 0]) < 1, [0.0, 0.0], domain, effort="high", measure="uniform", random_state=0
    )
    assert region
    assert region.covered is None


@pytest.mark.compiled
def test_a_limit_is_kept():
    limit = 12_000
    region = find_region(faithful, X[ROWS[0]], DOMAIN, effort="high", max_evaluations=limit, random_state=0)
    assert region
    assert region.evaluations <= limit
