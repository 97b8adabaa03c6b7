"""Reliance on real rows: what is swapped, what follows from it, and how often it is wrong."""

import numpy as np
import pytest

from lime_guarantee import Domain, Problem, SameValue, find_region
from lime_guarantee.auditing.real_rows import MARGIN, RealRows, check_data
from lime_guarantee.auditing.reliance import (
    LOOKS,
    NEAREST,
    _bases,
    ask_swaps,
    measure_reliance,
    row_shares,
    swap_cells,
)
from lime_guarantee.engine.certify.bounds import mean_interval

RUNS = [pytest.param(150, id="reduced"), pytest.param(2_000, marks=pytest.mark.slow, id="2000 runs")]


def allowed(runs, error):
    """The most that may happen in so many runs: three standard errors more than is promised."""
    return runs * error + 3 * np.sqrt(runs * error * (1 - error))


def first_feature(X):
    return np.asarray(X[:, 0], dtype=np.float64)


def rows_around(data, audited=None, instance=None):
    """Real rows around an instance in the middle of the data."""
    domain = Domain.from_data(data if audited is None else np.concatenate([data, audited]))
    return RealRows.around(whole(domain, instance), data, audited)


def whole(domain, instance=None):
    """A region that is as large as the domain."""
    start = (domain.lower + domain.upper) / 2 if instance is None else instance
    return find_region(lambda X: np.ones(len(X), dtype=bool), start, domain, purity=0.9, random_state=0)


class TestSwaps:
    """Which cells are swapped."""

    def test_a_cell_comes_from_a_row_that_is_alike_elsewhere(self):
        rng = np.random.default_rng(0)
        here = np.column_stack([rng.normal(0, 0.1, 40), rng.uniform(0, 1, 40)])
        there = np.column_stack([rng.normal(9, 0.1, 40), rng.uniform(5, 6, 40)])
        pool = np.concatenate([here, there])
        cells = swap_cells(here, pool, Domain.from_data(pool), rng)
        assert (cells[:, 1] <= 1).all()
        assert (cells[:, 1] != here[:, 1]).all()

    def test_categories_are_alike_or_not_and_a_constant_stays(self):
        domain = Domain.from_bounds([0, 0, 3], [0, 1, 3], categories={0: list("abc")})
        pool = np.array([[0, 0, 3], [2, 1, 3], [0, 1, 3], [1, 0.5, 3]] * 15, dtype=float)
        cells = swap_cells(pool[:1], pool, domain, np.random.default_rng(0))
        assert cells[0, 1] == 1  # of the row with the same category, not 0.5, which is nearer in itself
        assert cells[0, 0] != 0
        assert cells[0, 2] == 3

    def test_changes_are_those_of_the_model(self):
        data = np.random.default_rng(0).uniform(0, 1, (50, 2))
        domain = Domain.from_data(data)
        case = Problem(lambda X: 3 * X[:, 0] - X[:, 1], first_feature, SameValue(0.1), data[0], domain)
        cells = data[::-1].copy()
        changes, asked = ask_swaps(case.model_answers, data, cells, domain)
        np.testing.assert_allclose(changes, np.abs(data - cells) * [3, 1])
        assert asked == 2 * len(data)  # a cell of one of a pair, or the other cell of the other: the same row
        again = [np.concatenate([some, some]) for some in (data, cells)]
        changes, asked = ask_swaps(case.model_answers, *again, domain)
        np.testing.assert_allclose(changes[len(data) :], np.abs(data - cells) * [3, 1])
        assert asked == 2 * len(data)  # no row is asked twice

    def test_shares_are_small_where_nothing_changes(self):
        shares = row_shares(np.array([[0.3, 0.1], [0.001, 0.0], [0.0, 0.0]]), tolerance=0.1)
        np.testing.assert_allclose(shares, [[0.75, 0.25], [0.01, 0.0], [0.0, 0.0]])


def measured(model, data, weights, audited=None, **options):
    known = rows_around(data, audited, data[0])
    case = Problem(model, first_feature, SameValue(0.05), data[0], known.domain)
    return measure_reliance(case, known, np.array(weights), 0.005, np.random.default_rng(0), **options)


class TestReliance:
    """What a model relies on, beside what is claimed."""

    data = np.random.default_rng(0).uniform(-1, 1, (400, 3))

    def test_what_is_relied_on_and_denied_is_under_claimed(self):
        found = measured(lambda X: 3 * X[:, 1] + 0.3 * X[:, 0], self.data, [1.0, 0.0, 0.0])
        assert found.under_claimed(0.5) == (1,)
        assert found.over_claimed(0.5) == (0,)
        assert found.worst == 1
        assert found.honesty < 0.3
        low, high = found.honesty_interval
        assert 0 <= low <= found.honesty <= high <= 1
        assert found.shares[2] == found.intervals[2][0] == 0
        for swap in found.examples:
            assert [one != other for one, other in zip(swap.row, swap.swapped, strict=True)] == [0, 1, 0]
            assert swap.change == pytest.approx(3 * abs(swap.row[1] - swap.swapped[1]))

    def test_what_is_claimed_in_proportion_is_honest(self):
        found = measured(lambda X: 3 * X[:, 1] + X[:, 0], self.data, [1.0, -3.0, 0.0])
        assert found.under_claimed(0.2) == found.over_claimed(0.2) == ()
        assert found.honesty > 0.85

    def test_more_rows_are_drawn_only_where_the_first_do_not_decide(self):
        weights = [1.0, 0.0, 0.0]
        clear = measured(lambda X: 3 * X[:, 1], self.data, weights, min_honesty=0.65)
        assert clear.draws == LOOKS[0]
        close = measured(
            lambda X: np.where(X[:, 2] > 0.2, X[:, 1], X[:, 0]), self.data, weights, min_honesty=0.65
        )
        assert close.draws == sum(LOOKS)
        assert clear.evaluations < close.evaluations < close.draws * 4  # bases that repeat are asked once

    def test_about_half_of_the_rows_are_audited_ones_however_few_they_are(self):
        """A model may be harmless on the very rows that it was trained on."""
        audited = np.random.default_rng(1).uniform(-1, 1, (12, 3))
        known = rows_around(self.data, audited)
        drawn = _bases(known, 400, np.random.default_rng(0))
        given = {row.tobytes() for row in known.coordinates[known.audited]}
        assert len(given) == 12
        share = np.mean([row.tobytes() in given for row in drawn])
        assert share == pytest.approx(0.5, abs=0.075)  # three standard errors


def draws_of(kind, rng, shape):
    return (rng.random(shape) < 0.3).astype(float) if kind == "few values" else rng.beta(0.3, 0.7, shape)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", ["few values", "skewed"])
def test_a_mean_lies_in_its_interval_as_often_as_stated(kind, runs):
    level = 0.1
    low, high = mean_interval(draws_of(kind, np.random.default_rng(0), (60, runs)), level)
    assert (low <= high).all()
    assert np.sum(low > 0.3) <= allowed(runs, level / 2)
    assert np.sum(high < 0.3) <= allowed(runs, level / 2)
    assert np.mean(high - low) < 0.35


@pytest.mark.parametrize("runs", RUNS)
def test_explanations_are_called_dishonest_no_more_often_than_stated(runs):
    """Features are 0 or 1: a swap leaves no choice, and the true share can be counted. It is just allowed."""
    data = np.repeat([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [10, 12, 8], axis=0)
    assert len(data) == NEAREST
    known = rows_around(np.concatenate([data, [[0.0, 0.0]]]), instance=np.zeros(2))
    case = Problem(lambda X: X[:, 0] * X[:, 1], first_feature, SameValue(0.1), np.zeros(2), known.domain)
    near = known.coordinates[:NEAREST]
    share = _shares_of_binary(case, near)[0]
    weights = np.array([share - 0.2, 1.2 - share])
    error, wrong = 0.1, 0
    for seed in range(runs):
        found = measure_reliance(case, known, weights, error, np.random.default_rng(seed), min_honesty=0.8)
        wrong += 0 in found.under_claimed(0.2)
    assert share == pytest.approx(16 / 30)
    assert wrong <= allowed(runs, error)


def _shares_of_binary(case, rows):
    """The mean shares over all rows."""
    before = case.model(rows)
    changes = []
    for i in range(2):
        moved = rows.copy()
        moved[:, i] = 1 - moved[:, i]
        changes.append(np.abs(case.model(moved) - before))
    total = np.maximum(np.sum(changes, axis=0), 0.1)
    return np.mean(changes / total, axis=1)


@pytest.mark.parametrize("runs", RUNS)
def test_models_are_called_off_manifold_no_more_often_than_stated(runs):
    """Real rows fail on just as much more than their twins as is allowed."""
    domain = Domain.from_bounds([0, 0], [1, 1])
    region = whole(domain)
    error, wrong = 0.1, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        data = rng.uniform(0, 1, (250, 2))
        real = {row.tobytes() for row in data}

        def model(X, real=real, seed=seed):
            known = np.array([row.tobytes() in real for row in np.ascontiguousarray(X)])
            chance = np.modf(np.abs(np.sin(X @ [12.9898, 78.233] + seed)) * 43_758.5453)[0]
            return X[:, 0] + np.where(chance < 0.1 + MARGIN * known, 9.0, 0.0)

        case = Problem(model, first_feature, SameValue(0.5), np.array([0.5, 0.5]), domain)
        wrong += check_data(case, region, RealRows.around(region, data), error, rng).off_manifold
    assert wrong <= allowed(runs, error)
