"""The promise itself: at most 1 - confidence of all regions are less pure than was asked for."""

import numpy as np
import pytest
from cubes import cube_of
from problems import PROBLEMS
from scipy import stats

from lime_guarantee import Boundary, Divide, Greedy, Radial, find_region
from lime_guarantee.engine.certify.budget import ErrorBudget
from lime_guarantee.engine.certify.decisions import TESTS, Evidence, Verdict
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.engine.search import boundary
from lime_guarantee.space.box import Box

PURITY, CONFIDENCE = 0.9, 0.9
FEWEST = 300
FEWER = 90
"""Runs of what is dear: 19 regions may be bad, by the same one in a thousand (47 of 300). So a certifier of
which 33 % of the regions are bad is caught with probability 0.99 (in 300 runs: one of 22 %)."""
FEW = 50
"""Runs of a search that proposes bad boxes nearly always, so that a bad certifier shows soon: 13 may be bad.
One of which 40 % of the regions are bad is caught with probability 0.97."""
SOME_OR_MANY = pytest.mark.parametrize("runs", [FEWER, pytest.param(600, marks=pytest.mark.slow)])
FEW_OR_MANY = pytest.mark.parametrize("runs", [FEW, pytest.param(600, marks=pytest.mark.slow)])

pytestmark = pytest.mark.compiled


def certified_purities(problem, runs=FEWEST, seed=0, **options):
    """The true purities of the regions that were certified, over independent runs."""
    purities = []
    for child in np.random.SeedSequence(seed).spawn(runs):
        rng = np.random.default_rng(child)
        region = find_region(
            problem.faithful,
            problem.draw_instance(rng),
            problem.domain,
            purity=PURITY,
            confidence=CONFIDENCE,
            random_state=rng,
            **options,
        )
        if region:
            purities.append(problem.purity(region))
    return np.array(purities)


def assert_promise_kept(purities, runs=FEWEST):
    """The bad regions are few enough for a binomial with the promised probability (one in a thousand)."""
    assert len(purities) >= 0.9 * runs  # a certifier that never certifies would keep any promise
    bad = int(np.sum(purities < PURITY - 1e-9))
    assert bad <= stats.binom.ppf(0.999, runs, 1 - CONFIDENCE), f"{bad} of {runs} regions are bad"


def boundary_purities(name, certifier, runs):
    return certified_purities(PROBLEMS[name], runs, certifier=certifier, search=Boundary("normal"))


# A certifier sees draws, and no problem. So the one that is not the default has the cheap problems here, of
# every kind one, and all of them with another search below; and the l1 ball is that of the search which hopes
# for too much. The others are long runs.
DEAR = {
    "anytime": {"l1 ball"},
    "zero-failure": {"l1 ball", "words", "data cells", "data curve"},
}
PAIRS = [
    pytest.param(name, certifier, marks=[pytest.mark.slow] if name in dear else [])
    for certifier, dear in DEAR.items()
    for name in PROBLEMS
]


@SOME_OR_MANY
@pytest.mark.parametrize(("name", "certifier"), PAIRS)
def test_boundary_keeps_the_promise(name, certifier, runs):
    assert_promise_kept(boundary_purities(name, certifier, runs), runs)


@pytest.fixture
def hopes(monkeypatch):
    """A search that proposes boxes with longer sides than it has found."""
    nested = boundary._Run._nested

    def longer(self, sizes):
        return nested(self, [np.minimum(1.3 * extent, self.sides.edge) for extent in sizes])

    monkeypatch.setattr(boundary._Run, "_nested", longer)


@FEW_OR_MANY
def test_a_search_that_hopes_for_too_much_keeps_the_promise(runs, hopes):
    assert_promise_kept(boundary_purities("l1 ball", "anytime", runs), runs)


def test_a_certifier_that_spends_too_much_is_caught_in_few_runs(hopes, monkeypatch):
    honest = TESTS["zero-failure"]
    monkeypatch.setitem(TESTS, "zero-failure", lambda evidence, purity, level: honest(evidence, purity, 0.5))
    purities = boundary_purities("l1 ball", "zero-failure", FEW)
    with pytest.raises(AssertionError, match="regions are bad"):
        assert_promise_kept(purities, FEW)


@SOME_OR_MANY
@pytest.mark.parametrize("certifier", ["anytime", "zero-failure"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_divide_keeps_the_promise(name, certifier, runs):
    search = Divide(positives=30, nodes=10)
    assert_promise_kept(certified_purities(PROBLEMS[name], runs, certifier=certifier, search=search), runs)


@SOME_OR_MANY
@pytest.mark.parametrize("certifier", ["anytime", "zero-failure"])
@pytest.mark.parametrize("name", ["disc", "stripes", "cells"])
def test_greedy_keeps_the_promise(name, certifier, runs):
    search = Greedy(steps=12)
    assert_promise_kept(certified_purities(PROBLEMS[name], runs, certifier=certifier, search=search), runs)


@SOME_OR_MANY
@pytest.mark.parametrize("certifier", ["anytime", "zero-failure"])
def test_radial_keeps_the_promise(certifier, runs):
    search = Radial(steps=25)
    assert_promise_kept(certified_purities(PROBLEMS["disc"], runs, certifier=certifier, search=search), runs)


def test_a_certifier_that_reuses_the_points_of_the_search_is_caught(monkeypatch):
    seen = []
    honest = Oracle.evaluate

    def remembering(oracle, points):
        answer = honest(oracle, points)
        seen.append((points, answer))
        return answer

    def reusing_test(evidence, purity, level):
        (shape,) = evidence.shapes
        points = np.concatenate([p for p, _ in seen if p.shape[1] == shape.lower.size])
        faithful = np.concatenate([a for p, a in seen if p.shape[1] == shape.lower.size])
        inside = shape.contains(points)
        evidence.batches.append((points[inside], faithful[inside]))
        return Verdict(0, level, PURITY) if faithful[inside].all() else None

    monkeypatch.setattr(Oracle, "evaluate", remembering)
    monkeypatch.setitem(TESTS, "anytime", reusing_test)
    purities = []
    for run in range(FEWEST):
        seen.clear()
        purities.extend(certified_purities(PROBLEMS["disc"], runs=1, seed=run, search=Divide(30, 10)))
    with pytest.raises(AssertionError, match="regions are bad"):
        assert_promise_kept(np.array(purities))


class Stubborn:
    """A search that proposes one and the same bad box again and again."""

    name = "stubborn"

    def propose(self, task):
        bad_box = Box(np.array([0.0]), np.array([0.57]), task.cube)  # purity 0.5 / 0.57 = 0.877
        for _ in range(100):
            attempt = yield bad_box
            if attempt.accepted:
                return


def share_fooled(runs=FEWEST):
    fooled = certified_purities(PROBLEMS["boundary"], runs=runs, search=Stubborn(), certifier="zero-failure")
    return len(fooled) / runs


def test_asking_again_and_again_does_not_wear_the_certifier_down():
    assert share_fooled() <= stats.binom.ppf(0.999, FEWEST, 1 - CONFIDENCE) / FEWEST


def test_a_budget_that_restarts_is_caught(monkeypatch):
    monkeypatch.setattr(ErrorBudget, "next_level", lambda budget: 1 - budget.confidence)
    assert share_fooled() > stats.binom.ppf(0.999, FEWEST, 1 - CONFIDENCE) / FEWEST


def accepted_share(name, level, runs=2_000):
    """How often the certifier alone accepts a box that has exactly the asked purity."""
    domain = PROBLEMS["boundary"].domain
    cube = cube_of(domain, [0.1])
    box = cube.whole
    accepted = 0
    for child in np.random.SeedSequence(7).spawn(runs):
        oracle = Oracle(lambda X: X[:, 0] < PURITY, cube)
        evidence = Evidence(oracle, np.random.default_rng(child), (box,))
        accepted += TESTS[name](evidence, PURITY, level) is not None
    return accepted / runs, stats.binom.ppf(0.999, runs, level) / runs


@pytest.mark.parametrize("level", [0.1, 0.02])
@pytest.mark.parametrize("name", ["anytime", "zero-failure"])
def test_the_certifier_accepts_a_box_of_exactly_the_asked_purity_at_most_at_its_level(name, level):
    share, allowed = accepted_share(name, level)
    assert share <= allowed


def test_the_lower_bound_of_a_certificate_holds():
    """Over all certified regions, the bound exceeds the true purity at most at its level."""
    problem = PROBLEMS["l1 ball"]
    wrong = 0
    for seed in range(FEWEST):
        region = find_region(
            problem.faithful,
            problem.draw_instance(np.random.default_rng(seed)),
            problem.domain,
            purity=PURITY,
            confidence=CONFIDENCE,
            search=Divide(30, 10),
            random_state=seed,
        )
        assert region.certificate.purity_lower_bound >= PURITY
        wrong += region.certificate.purity_lower_bound > problem.purity(region)
    assert wrong <= stats.binom.ppf(0.999, FEWEST, 1 - CONFIDENCE)
