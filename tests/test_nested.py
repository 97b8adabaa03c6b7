"""Nested boxes are tested together, on the same draws, and no more is promised than each could keep alone."""

import numpy as np
import pytest
from cubes import cube_of
from scipy import stats

from lime_guarantee import Domain, InvalidInputError, find_region
from lime_guarantee.engine.batches import joined
from lime_guarantee.engine.certify import decisions
from lime_guarantee.engine.certify.bounds import attempt_level
from lime_guarantee.engine.certify.budget import ErrorBudget
from lime_guarantee.engine.certify.certifier import Certifier
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.errors import EvaluationLimitError
from lime_guarantee.space.box import Box

PURITY = 0.9
LINE = Domain.from_bounds([0.0], [1.0])
CUBE = cube_of(LINE, [0.005])


def interval(low, high):
    return Box(np.array([low]), np.array([high]), CUBE)


def certifier(faithful, seed, name="anytime", purity=PURITY, confidence=0.9):
    oracle = Oracle(faithful, CUBE)
    return Certifier(oracle, purity, ErrorBudget(confidence), np.random.default_rng(seed), name)


def nothing_drawn(faithful, seed, shapes):
    return decisions.Evidence(Oracle(faithful, CUBE), np.random.default_rng(seed), shapes)


LITTLE_OVERLAP = tuple(interval(0.0, high) for high in (1.0, 0.1, 0.01))


def exactly_as_pure_as_asked(X):
    """Of every decade the same share fails, so of all three intervals."""
    decade = X[:, 0] / 10 ** np.floor(np.log10(np.maximum(X[:, 0], 1e-12)))
    return decade < 1 + 9 * PURITY


def share_accepted(level, shapes, runs=1_500):
    accepted = 0
    for child in np.random.SeedSequence(3).spawn(runs):
        evidence = nothing_drawn(exactly_as_pure_as_asked, child, shapes)
        accepted += decisions.anytime_test(evidence, PURITY, level) is not None
    return accepted / runs, stats.binom.ppf(0.999, runs, level) / runs


def test_the_intervals_are_as_pure_as_said():
    for box in LITTLE_OVERLAP:
        points = box.lower + (np.arange(100_000)[:, np.newaxis] + 0.5) / 100_000 * box.width
        assert np.mean(exactly_as_pure_as_asked(points)) == pytest.approx(PURITY, abs=2e-4)


@pytest.mark.compiled
@pytest.mark.parametrize("level", [0.3, 0.05])
def test_nested_boxes_of_exactly_the_asked_purity_are_accepted_at_most_at_the_level(level):
    share, allowed = share_accepted(level, LITTLE_OVERLAP)
    assert share <= allowed


@pytest.mark.compiled
def test_boxes_that_do_not_share_the_level_are_caught(monkeypatch):
    """Whatever box is gone for: the test would accept three times as often as it may."""
    patient = {"MOST_DRAWS_RATIO": 40, "DRAWS_PER_LOG_SHARE": 0.0}
    for name, value in patient.items():
        monkeypatch.setattr(decisions, name, value)
    shared, allowed = share_accepted(0.3, LITTLE_OVERLAP, runs=500)
    assert shared <= allowed
    unshared, _ = share_accepted(0.9, LITTLE_OVERLAP, runs=500)
    assert unshared > allowed


def test_a_draw_counts_for_its_box_and_the_smaller_ones_alone():
    evidence = nothing_drawn(lambda X: X[:, 0] < 0.5, 0, LITTLE_OVERLAP)
    evidence.draw(0, 10_000)
    assert evidence.draws[0] == 10_000
    assert evidence.draws[1] == pytest.approx(1_000, abs=150)
    assert evidence.failures == [pytest.approx(5_000, abs=250), 0, 0]
    before = evidence.draws[2]
    evidence.draw(1, 1_000)
    assert evidence.drawn == [10_000, 1_000, 0]
    assert evidence.draws[0] == 10_000
    assert evidence.draws[2] - before == pytest.approx(100, abs=50)
    points, faithful = joined(evidence.batches)
    assert np.all(points[10_000:] <= 0.1)
    assert np.array_equal(faithful, points[:, 0] < 0.5)


HALVES = interval(0.0, 1.0), interval(0.0, 0.5), interval(0.0, 0.45)


@pytest.mark.parametrize(("bound", "accepted"), [(1.0, 0), (0.55, 1), (0.46, 2)])
def test_the_largest_good_box_is_accepted(bound, accepted):
    boxes = HALVES if bound != 0.46 else (interval(0.0, 1.0), interval(0.0, 0.8), interval(0.0, 0.45))
    judge = certifier(lambda X: X[:, 0] < bound, 0)
    attempt = judge.attempt(boxes)
    assert attempt.shape is boxes[accepted]
    certificate = attempt.certificate
    inside = boxes[accepted].contains(attempt.points)
    if accepted:
        assert certificate.draws < len(attempt.points)  # some were drawn in larger ones
        assert certificate.draws == inside.sum()
    assert certificate.failures == np.sum(inside & ~attempt.faithful)
    assert certificate.level == pytest.approx(attempt_level(1, 0.9) / 3)
    assert certificate.purity_lower_bound >= PURITY
    assert judge.budget.attempts == 1


def test_none_is_accepted_where_all_are_bad():
    attempt = certifier(lambda X: X[:, 0] > 0.4, 0).attempt(HALVES)
    assert not attempt.accepted
    assert attempt.shape is None
    assert sum(attempt.drawn) == len(attempt.points)


def test_the_papers_test_looks_at_the_smallest_box_alone():
    judge = certifier(lambda X: X[:, 0] < 0.46, 0, "zero-failure")
    attempt = judge.attempt(HALVES)
    assert attempt.shape is HALVES[2]
    assert attempt.drawn == (0, 0, len(attempt.points))
    assert np.all(attempt.points <= 0.45)
    assert attempt.certificate.level == attempt_level(1, 0.9)
    assert not certifier(lambda X: X[:, 0] < 0.44, 0, "zero-failure").attempt(HALVES).accepted


class Proposes:
    """A search that proposes one thing."""

    name = "once"

    def __init__(self, proposal):
        self.proposal = proposal

    def propose(self, task):
        yield self.proposal


@pytest.mark.parametrize(
    "boxes", [(interval(0.0, 0.5), interval(0.2, 0.6)), (interval(0.0, 0.5), interval(0.0, 1.0)), ()]
)
def test_boxes_that_do_not_hold_one_another_are_refused(boxes):
    """Draws in the one would tell only of the part of the other that they share."""
    with pytest.raises(InvalidInputError, match="each must hold the next"):
        find_region(lambda X: X[:, 0] < 0.5, [0.3], LINE, search=Proposes(boxes))


def test_the_smallest_box_must_hold_the_instance():
    with pytest.raises(InvalidInputError, match="without the instance"):
        find_region(lambda X: X[:, 0] < 0.5, [0.48], LINE, search=Proposes(HALVES))


def test_a_region_is_the_box_that_was_accepted():
    region = find_region(
        lambda X: X[:, 0] < 0.55, [0.3], LINE, search=Proposes(HALVES), purity=PURITY, random_state=0
    )
    assert (region.lower[0], region.upper[0]) == (0.0, 0.5)
    assert region.log10_volume == pytest.approx(np.log10(0.5))


def test_a_test_too_short_for_a_look_goes_without():
    judge = certifier(lambda X: X[:, 0] < 0.55, 0, purity=0.05, confidence=0.05)
    attempt = judge.attempt(HALVES)
    assert attempt.accepted
    assert 1 <= len(attempt.points) < 10


def test_with_few_evaluations_left_no_more_are_made():
    for limit in range(100, 400, 20):
        region = find_region(
            lambda X: X[:, 0] < 0.55,
            [0.3],
            LINE,
            search=Proposes(HALVES),
            purity=PURITY,
            max_evaluations=limit,
            random_state=0,
        )
        assert region.evaluations <= limit
        assert region or "limit on evaluations" in region.reason


def test_a_box_that_the_limit_cannot_pay_for_gives_way_to_a_smaller_one():
    """The larger box fails on 5 % where 10 % are allowed: that takes more draws than there are."""
    accepted = 0
    for seed in range(40):
        shapes = (interval(0.0, 1.0), interval(0.0, 0.5))
        oracle = Oracle(lambda X: X[:, 0] < 0.95, CUBE, max_evaluations=130)
        evidence = decisions.Evidence(oracle, np.random.default_rng(seed), shapes)
        try:
            verdict = decisions.anytime_test(evidence, PURITY, 0.05)
        except EvaluationLimitError:
            continue
        accepted += verdict is not None
    assert accepted == 40  # 30, if the limit is not looked at
