"""What is needed to tell a model's answers to real rows, what is asked for it, and how often it is wrong."""

import pickle

import numpy as np
import pytest
from test_reliance import RUNS, allowed

from lime_guarantee import Domain, Problem, SameValue, audit
from lime_guarantee.auditing.answered import MOST_ASKED, KeptAnswers, ask_rows, model_key
from lime_guarantee.auditing.judge import claimed_shares
from lime_guarantee.auditing.need import NEARBY, Need, Students, _share_lower, measure_needs
from lime_guarantee.auditing.verdict import Rules
from lime_guarantee.problem.info import ExplanationInfo

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, (450, 4))
ROWS[:, 1] = 0.99 * ROWS[:, 0] + 0.14 * ROWS[:, 1]  # two that are correlated at 0.99
ROWS[:, 3] = ROWS[:, 3] > 0


def needs(answers, claimed, rows=ROWS, error=0.005):
    """Of every feature looked at, the need on the rows nearest to the first one, and on all."""
    order = np.argsort(np.abs(rows - rows[0]).sum(axis=1))[1:]
    students = Students(rows, np.asarray(answers, dtype=float)[:, np.newaxis])
    return measure_needs(students, order, 0, np.array(claimed), error, 0.1)


def test_what_is_needed_and_denied_comes_first_with_a_bound():
    found = needs(ROWS[:, 3], [0.9, 0.0, 0.1, 0.0])
    assert found[0].feature == 3
    assert found[0].lower > 0.6
    assert found[0].lower <= found[0].share
    assert found[0].honesty < 0.2
    assert {need.nearby for need in found} == {True, False}
    assert {need.rows for need in found if need.nearby} == {NEARBY}


def test_nobody_is_accused_for_a_feature_that_another_stands_in_for():
    rows = ROWS.copy()
    rows[:, 0] = np.round(4 * rows[:, 0]) / 4
    rows[:, 1] = np.where(np.arange(len(rows)) % 40 == 0, -rows[:, 0], rows[:, 0])
    found = needs(np.sin(1.5 * (rows[:, 0] + rows[:, 1])), [0.9, 0.0, 0.1, 0.0], rows)
    twin = [need for need in found if need.feature == 1]
    assert twin, "the forest uses it, so it must be looked at"
    assert max(need.lower for need in twin) < 0.1
    assert all(need.honesty > 0.8 for need in found)


def test_numbers_of_many_values_and_what_is_named_first_are_not_looked_at():
    """LIME says little of a number that is average here, however much it matters elsewhere."""
    assert 2 not in {need.feature for need in needs(ROWS[:, 2] + ROWS[:, 3], [1.0, 0.0, 0.0, 0.0])}
    order = np.arange(1, len(ROWS))
    students = Students(ROWS, ROWS[:, [3]])
    assert measure_needs(students, order, 0, np.zeros(4), 0.005, 0.1, first=3) == ()
    assert students._told == {}, "where there is nothing to look at, nothing is learnt"
    assert measure_needs(students, order, 0, np.zeros(4), 0.005, 0.1, first=2)[0].feature == 3


def test_a_gap_of_more_than_15_hundredths_is_beyond_what_is_allowed():
    assert Need(0, 0.5, lower=0.36, claimed=0.2, rows=99, nearby=True).honesty < Rules.min_honesty
    assert Need(0, 0.5, lower=0.34, claimed=0.2, rows=99, nearby=True).honesty > Rules.min_honesty


def test_what_is_claimed_is_honest_however_much_it_is_needed():
    assert all(need.honesty == 1.0 for need in needs(ROWS[:, 3], [0.0, 0.0, 0.0, 1.0]))


def test_nothing_is_said_of_few_rows_or_of_a_constant():
    assert needs(ROWS[:60, 3], [1.0, 0.0, 0.0, 0.0], rows=ROWS[:60]) == ()
    assert all(need.lower == 0 for need in needs(np.ones(450), [1.0, 0.0, 0.0, 0.0]))


def test_students_are_tested_on_rows_that_are_new_to_them():
    """Answers that nothing tells: on rows that it has learnt, a forest would know them."""
    chance = np.random.default_rng(1).integers(0, 2, 450).astype(float)
    students = Students(ROWS, chance[:, np.newaxis])
    told = students.told()[:, 0]
    first = students.part == 0
    assert np.isnan(told[first]).all()
    assert np.mean((told > 0.5) == chance, where=~first) < 0.6


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", ["yes or no", "smooth"])
def test_a_bound_is_too_high_no_more_often_than_stated(kind, runs):
    """Losses whose mean is just a share of that of the spread."""
    rng, share, level = np.random.default_rng(0), 0.3, 0.1
    wrong, bounds = 0, []
    for _ in range(runs):
        spread = rng.random(NEARBY) if kind == "smooth" else (rng.random(NEARBY) < 0.5).astype(float)
        if kind == "smooth":
            lost = np.clip(0.15 + 0.3 * rng.uniform(-1, 1, NEARBY), -1, 1)
        else:
            lost = rng.choice([-1.0, 0.0, 1.0], NEARBY, p=[0.1, 0.65, 0.25])
        bounds.append(_share_lower(lost, spread, level))
        wrong += bounds[-1] > share
    assert wrong <= allowed(runs, level)
    assert np.mean(bounds) > 0


@pytest.mark.parametrize(
    "runs", [pytest.param(12, id="reduced"), pytest.param(2_000, marks=pytest.mark.slow)]
)
def test_explanations_of_correlated_columns_are_called_dishonest_no_more_often_than_stated(runs):
    """Two columns go together; the model uses one, and a column of its own; both are claimed."""
    error, wrong, looked_at = 0.1, 0, 0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rows = rng.integers(-4, 5, (240, 3)).astype(float)
        rows[:, 1] = np.where(rng.random(240) < 0.97, rows[:, 0], rows[:, 1])
        answers = (rows[:, 0] + rows[:, 2] > 0).astype(float)
        found = needs(answers, [0.5, 0.0, 0.5], rows, error)
        wrong += any(need.honesty < 0.65 for need in found)
        looked_at += any(need.feature == 1 for need in found)
    assert wrong <= allowed(runs, error)
    assert looked_at > 0.5 * runs


class Counting:
    def __init__(self):
        self.rows = 0

    def __call__(self, X):
        self.rows += len(X)
        return X[:, 3] + 0.0


def problem(model, instance=ROWS[0]):
    domain = Domain.from_data(ROWS)
    return Problem(model, lambda X: X[:, 0], SameValue(0.1), instance, domain)


class TestAnswers:
    """Real rows are asked once."""

    def test_once_for_a_model_and_again_for_another(self):
        model, other, kept = Counting(), Counting(), KeptAnswers()
        sources = (object(), None)
        first = kept.of(problem(model), sources, ROWS, None)
        assert kept.of(problem(model, ROWS[1]), sources, ROWS, None) is first
        assert model.rows == len(ROWS)
        np.testing.assert_array_equal(first.answers, ROWS[:, 3])
        assert kept.of(problem(other), sources, ROWS, None) is not first
        assert kept.of(problem(model), (object(), None), ROWS[:100], None) is not first
        assert pickle.loads(pickle.dumps(kept))._kept == {}

    def test_methods_of_one_object_are_one_model(self):
        one, two = Counting(), Counting()
        assert model_key(one.__call__) == model_key(one.__call__)
        assert model_key(one.__call__) != model_key(two.__call__)

    def test_of_many_rows_some_are_asked_and_those_outside_never(self):
        many = np.tile(ROWS, (6, 1))
        many[5] = 9.0
        model = Counting()
        answered = ask_rows(problem(model), many, ROWS[:20])
        assert model.rows - 20 == MOST_ASKED
        assert model.rows == answered.asked.size
        assert np.isnan(answered.answers[5])
        assert answered.asked[-20:].tolist() == list(range(len(many), len(many) + 20))
        assert answered.among_asked(np.array([5, 0])).tolist() == [0]

    def test_audited_rows_on_which_the_model_fails_are_left_out(self):
        def model(X):
            if (X[:, 0] == ROWS[3, 0]).any():
                raise ValueError("not this one")
            return X[:, 3]

        answered = ask_rows(problem(model), ROWS[10:], ROWS[:10])
        assert answered.asked.size == len(ROWS) - 10

    def test_an_audit_asks_them_once_and_says_so(self):
        model = Counting()
        quick = {"effort": "low", "purity": 0.9, "confidence": 0.9}
        report = audit([problem(model, row) for row in ROWS[:3]], data=ROWS, **quick)
        assert [record.shared_evaluations for record in report] == [len(ROWS)] * 3
        assert model.rows == len(ROWS) + sum(record.evaluations for record in report)


def test_attributions_claim_what_the_surrogate_does_though_the_weight_is_small_here():
    info = ExplanationInfo("shap", "features", None, None, "value", 0.1, (0.0,), (0.0,), (1.0, 0.0, 0.0, 0.0))
    weights = np.array(info.weights)
    read = [
        Problem(
            lambda X: X[:, 2],
            lambda X: 3 * X[:, 2],
            SameValue(0.1),
            ROWS[0],
            Domain.from_data(ROWS),
            explained,
        )
        for explained in (info, ExplanationInfo(**{**vars(info), "attributions": True}))
    ]
    assert claimed_shares(read[0], ROWS, weights).tolist() == [1, 0, 0, 0]
    assert claimed_shares(read[1], ROWS, weights).tolist() == [1, 0, 1, 0]


def test_a_verdict_rests_on_need_where_swapped_rows_look_made_up():
    """A swap of any cell is seen by the model: only rows as they are tell."""
    known = {row.tobytes() for row in ROWS}

    def model(X):
        real = np.array([row.tobytes() in known for row in np.ascontiguousarray(X)])
        return np.where(real, X[:, 3], X[:, 2] > 0).astype(float)

    case = Problem(model, lambda X: 0.5 + 0.4 * X[:, 2], SameValue(0.7), ROWS[0], Domain.from_data(ROWS))
    record = audit([case], effort="low", purity=0.9, confidence=0.9)[0]
    assert 3 not in record.reliance.under_claimed(0.35)
    assert record.verdict in ("dishonest", "off-manifold"), record.reason
    assert "is not told 'x3', loses at least" in record.reason
    assert record.honesty < 0.35
