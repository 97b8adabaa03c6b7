"""The statistics, each against scipy, a twin or a proof that can be run."""

import functools

import naive
import numpy as np
import pytest
from scipy import stats

from lime_guarantee.engine.certify import bounds
from lime_guarantee.engine.certify.budget import ErrorBudget
from lime_guarantee.engine.certify.decisions import draws_to_accept


def test_series_bound_is_above_every_partial_sum_and_close():
    partial = np.cumsum(1 / (np.arange(1.0, 2e6) * np.log1p(np.arange(1.0, 2e6)) ** 2))
    # What is left after n terms is at least the integral of 1 / ((x + 1) log(x + 1)^2) from n + 1 on.
    lower_bound = partial[-1] + 1 / np.log(partial.size + 2)
    assert lower_bound <= bounds.series_bound() <= lower_bound + 1e-4


@pytest.mark.parametrize("terms", [10, 1_000, 200_000])
def test_series_bound_holds_wherever_the_sum_is_cut(terms):
    assert bounds.series_bound(terms) >= bounds.series_bound(1_000_000) - 1e-9


def test_a_partial_sum_would_overspend():
    published_style = sum(1 / (j * np.log(j + 1) ** 2) for j in range(1, 401))
    spent = sum(0.01 / (i * np.log(i + 1) ** 2 * published_style) for i in range(1, 100_000))
    assert spent > 0.01
    assert sum(bounds.attempt_level(i, 0.99) for i in range(1, 100_000)) < 0.01


@pytest.mark.parametrize("purity", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("level", [0.3, 0.01, 1e-6])
def test_draws_without_failure_is_the_least_number_that_will_do(purity, level):
    draws = bounds.draws_without_failure(purity, level)
    assert stats.binom.cdf(0, draws, 1 - purity) <= level * (1 + 1e-12)
    assert draws == 1 or stats.binom.cdf(0, draws - 1, 1 - purity) > level


@pytest.mark.parametrize(("draws", "failures"), [(1, 0), (1, 1), (50, 0), (50, 3), (200, 17)])
@pytest.mark.parametrize("purity", [0.5, 0.9, 0.99])
def test_log_evidence_matches_its_twin(draws, failures, purity):
    expected = naive.log_evidence(draws, failures, purity, [k / 16 for k in range(16)])
    assert bounds.log_evidence(draws, failures, purity) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("purity", [0.9, 0.99])
def test_evidence_does_not_grow_on_average_under_the_null(purity):
    for draws, failures in [(0, 0), (10, 0), (40, 4), (300, 9)]:
        now = np.exp(bounds.log_evidence(draws, failures, purity))
        for rate in (1 - purity, 1.5 * (1 - purity)):
            after = rate * np.exp(bounds.log_evidence(draws + 1, failures + 1, purity))
            after += (1 - rate) * np.exp(bounds.log_evidence(draws + 1, failures, purity))
            assert after <= now * (1 + 1e-12)


def share_ever_accepted(evidence, purity, level, runs=2_000, draws=3_000, look_every=20, seed=0):
    """How often a box of exactly the asked purity is accepted by a test looked at again and again."""
    rng = np.random.default_rng(seed)
    fails = rng.random((runs, draws)) >= purity
    evidence = functools.cache(evidence)
    counts = np.cumsum(fails, axis=1)[:, look_every - 1 :: look_every]
    looks = np.arange(look_every, draws + 1, look_every)
    accepted = [
        any(bounds.reaches(evidence(int(n), int(f), purity), level) for n, f in zip(looks, row, strict=True))
        for row in counts
    ]
    return np.mean(accepted), runs


def allowed_share(level, runs):
    """The largest share consistent, at one in a thousand, with a probability of `level`."""
    return stats.binom.ppf(0.999, runs, level) / runs


def largest_ratio(draws, failures, purity):
    """A sabotaged evidence: the best of the likelihood ratios instead of their mean."""
    q0, t = 1 - purity, bounds.MIXTURE
    with np.errstate(divide="ignore"):
        logs = failures * np.log(t) if failures else np.zeros(t.size)
    return float(np.max(logs + (draws - failures) * (np.log1p(-q0 * t) - np.log1p(-q0))))


@pytest.mark.parametrize(("purity", "level"), [(0.9, 0.1), (0.95, 0.05), (0.9, 0.3)])
def test_a_box_of_exactly_the_asked_purity_is_accepted_at_most_at_the_level(purity, level):
    share, runs = share_ever_accepted(bounds.log_evidence, purity, level)
    assert share <= allowed_share(level, runs)
    assert share > level / 10  # else the test would be needlessly timid


def test_the_worst_case_test_catches_evidence_that_cheats():
    share, runs = share_ever_accepted(largest_ratio, 0.9, 0.1)
    assert share > allowed_share(0.1, runs)


@pytest.mark.parametrize(("draws", "failures"), [(100, 0), (1_000, 3), (5_000, 80)])
@pytest.mark.parametrize("level", [0.1, 0.001])
def test_the_anytime_bound_is_the_edge_of_what_is_rejected(draws, failures, level):
    bound = bounds.anytime_lower_bound(draws, failures, level)
    assert bounds.reaches(bounds.log_evidence(draws, failures, bound), level)
    assert not bounds.reaches(bounds.log_evidence(draws, failures, bound + 1e-6), level)
    assert bound < bounds.exact_lower_bound(draws, failures, level)  # looking at any time has its price


def test_the_anytime_bound_is_zero_where_nothing_is_known():
    assert bounds.anytime_lower_bound(5, 5, 0.01) == 0.0


@pytest.mark.parametrize(("draws", "failures"), [(10, 0), (100, 7), (459, 0)])
def test_the_exact_bound_is_that_of_scipy(draws, failures):
    ours = bounds.exact_lower_bound(draws, failures, 0.05)
    theirs = stats.binomtest(draws - failures, draws, alternative="greater").proportion_ci(0.95, "exact")
    assert ours == pytest.approx(theirs.low, rel=1e-9)


@pytest.mark.parametrize(("draws", "failures"), [(100, 0), (100, 1), (100, 5), (1_000, 30)])
def test_surprise_is_the_tail_of_the_binomial(draws, failures):
    expected = stats.binom.sf(failures - 1, draws, 0.01)
    assert bounds.surprise(draws, failures, 0.99) == pytest.approx(expected, rel=1e-9)


def test_a_few_failures_do_not_sink_a_good_box():
    needed = draws_to_accept(0, 3, 0.99, 0.005)
    assert needed < 3_000
    assert bounds.reaches(bounds.log_evidence(needed, 3, 0.99), 0.005)
    assert not bounds.reaches(bounds.log_evidence(needed - 1, 3, 0.99), 0.005)


def test_a_budget_is_spent_once_and_cannot_be_copied():
    import copy

    budget = ErrorBudget(0.9)
    levels = [budget.next_level() for _ in range(1_000)]
    assert levels == sorted(levels, reverse=True)
    assert sum(levels) < 0.1
    later = ErrorBudget(0.9, attempts=500)  # goes on where an earlier run stopped
    assert [later.next_level() for _ in range(500)] == levels[500:]
    for way in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied"):
            way(budget)
