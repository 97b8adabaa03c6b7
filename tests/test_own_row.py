"""What the very row says: which cells it is tried with, what is denied then, and who is accused for it."""

from dataclasses import replace

import numpy as np
import pytest
from test_reliance import RUNS, rows_around

from lime_guarantee import Domain, Problem, SameValue, audit
from lime_guarantee.auditing.own_row import OwnRow, cells_to_try, look_at_own_row, named_first
from lime_guarantee.auditing.record import AuditRecord
from lime_guarantee.auditing.reliance import DONORS
from lime_guarantee.auditing.report import AuditReport
from lime_guarantee.auditing.verdict import Rules, verdict_of

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, (300, 4))
ROWS[:, 3] = ROWS[:, 3] > 0
HERE = np.array([0.5, 0.1, -0.2, 1.0])


def first_feature(X):
    return 0.5 + X[:, 0] / 4


def looked_at(model, surrogate, weights, span=1.0, instance=HERE):
    domain = Domain.from_data(ROWS)
    case = Problem(model, surrogate, SameValue(0.1), instance, domain)
    return look_at_own_row(case, rows_around(ROWS, instance=instance), np.array(weights), span)


class TestCells:
    """Which cells are tried."""

    def test_they_come_from_the_rows_that_are_most_alike_elsewhere(self):
        near = HERE + np.column_stack([np.linspace(-0.4, 0.4, 2 * DONORS), *np.zeros((3, 2 * DONORS))])
        pool = np.concatenate([RNG.uniform(5, 6, (40, 4)), near])
        cells = cells_to_try(HERE[np.newaxis], pool, Domain.from_data(pool))
        assert set(cells[:, 0]) <= set(near[:, 0])
        assert (cells[:, 0] != HERE[0]).all()

    def test_few_values_repeat_and_a_constant_stays(self):
        pool = np.tile(HERE, (30, 1))
        pool[:2, 3] = 0.0
        cells = cells_to_try(HERE[np.newaxis], pool, Domain.from_data(pool))
        assert (cells[:, 3] == 0.0).all()
        assert (cells[:, 0] == HERE[0]).all()


class TestDenied:
    """What the answer moves with, beside what is claimed."""

    def test_what_moves_the_answer_to_this_row_alone_is_denied(self):
        """Elsewhere the model does what the explanation says."""

        def model(X):
            here = (np.abs(X[:, :3] - HERE[:3]) == 0).all(axis=1)
            return np.where(here, X[:, 3], first_feature(X))

        found = looked_at(model, first_feature, [1.0, 0.0, 0.0, 0.0])
        assert found.denied(0.35) == (3,)
        assert found.worst == 3
        assert found.changes[3] == 1.0
        assert found.honesty == pytest.approx(0.3)
        assert found.evaluations == 1 + 3 * DONORS + 1  # the other value of the last feature is asked once
        assert [swap.swapped[3] for swap in found.examples] == [0.0]  # it has one other value

    def test_what_is_claimed_or_named_first_is_not(self):
        def model(X):
            return X[:, 3]

        assert looked_at(model, model, [0.0, 0.0, 0.0, 1.0]).gaps == (0, 0, 0, 0)
        assert looked_at(model, first_feature, [0.3, 0.3, 0.0, 0.4]).denied(0.1) == ()
        assert looked_at(model, first_feature, [0.6, 0.0, 0.0, 0.4]).gaps[3] == pytest.approx(0.6)
        assert looked_at(model, lambda X: 0.7 * X[:, 3], [1, 0, 0, 0.0]).gaps[3] == pytest.approx(0.3)
        assert named_first(np.zeros(4)) is None
        assert looked_at(model, first_feature, np.zeros(4)).denied(0.35) == (3,)

    def test_changes_are_shares_of_the_range_of_answers(self):
        found = looked_at(lambda X: 20 * X[:, 3], lambda X: 0 * X[:, 0], [1.0, 0.0, 0.0, 0.0], span=40.0)
        assert found.changes[3] == 0.5
        assert found.denied(0.35) == ()

    def test_of_several_scores_half_of_what_moves_counts(self):
        def model(X):
            return np.column_stack([X[:, 3], 1 - X[:, 3]])

        found = looked_at(model, lambda X: np.full((len(X), 2), 0.5), [1.0, 0.0, 0.0, 0.0])
        assert found.changes[3] == 1.0


@pytest.mark.parametrize("runs", RUNS)
def test_an_explanation_that_is_right_within_a_quarter_of_the_range_is_never_accused(runs):
    """What is said of the row is a count, so nothing may go wrong: not once in all runs."""
    known, wrong, closest = rows_around(ROWS, instance=HERE), 0, 0.0
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        slopes, bend, phase = rng.normal(size=4), rng.normal(size=4), rng.uniform(0, 6, 2)

        def score(X, slopes=slopes, bend=bend, phase=phase):
            return np.tanh(X @ slopes + np.sin(4 * X @ bend + phase[0]))  # from -1 to 1

        def near(X, score=score, bend=bend, phase=phase):
            return score(X) + 0.5 * np.sign(np.sin(9 * X @ bend + phase[1]))

        case = Problem(score, near, SameValue(0.1), HERE, known.domain)
        found = look_at_own_row(case, known, np.zeros(4), 2.0)
        wrong += bool(found.denied(0.35 + 1e-9))
        closest = max(closest, max(found.gaps))
    assert wrong == 0
    assert closest > 0.3  # the bound is not met by far


def only_fresh_rows(X):
    """Harmless on the rows of the data, and on all that is made of more than one cell of another row."""
    known = {row.tobytes() for row in ROWS}
    fresh = np.array([row.tobytes() not in known for row in np.ascontiguousarray(X)])
    near = (X[:, :3] == HERE[:3]).sum(axis=1) >= 2
    return np.where(fresh & near, X[:, 3], X[:, 0] > 0).astype(float)


@pytest.fixture(scope="module")
def record():
    case = Problem(
        only_fresh_rows, lambda X: 0.5 + 0.4 * X[:, 0], SameValue(0.7), HERE, Domain.from_data(ROWS)
    )
    return audit([case], effort="low", purity=0.9, confidence=0.9)[0]


def test_a_verdict_rests_on_the_row_where_all_others_are_spared(record):
    assert 3 not in record.reliance.under_claimed(0.35)
    assert all(need.honesty > 0.65 for need in record.needs)
    assert record.verdict == "dishonest", record.reason
    assert "with 'x3' by 100 % (claimed: 0 %)" in record.reason
    assert record.honesty == record.own_row.honesty == pytest.approx(0.3)
    assert record.under_claimed == 3
    assert record.denied(0.65) == (3,)
    assert record.denied(0.2) == ()


def test_it_is_in_json_and_on_the_page(record):
    assert AuditRecord.from_dict(record.to_dict()) == record
    report = AuditReport((record,), {})
    assert AuditReport.from_json(report.to_json())[0].own_row == record.own_row
    assert report.to_frame()["under_claimed"].tolist() == ["x3"]


def test_features_that_move_the_answer_alike_are_named_in_the_order_of_what_is_relied_on_nearby(record):
    own = OwnRow((0.0, 1.0, 0.96, 0.97), (1.0, 0.0, 0.0, 0.0), 0, DONORS, 9)
    gaps = ((-1.0, 0.0), (-1.0, 0.0), (-1.0, 0.1), (-1.0, 0.2))
    nearby = replace(record.reliance, shares=(0.1, 0.0, 0.1, 0.2), claimed=(1.0, 0, 0, 0), gap_intervals=gaps)
    verdict, reason = verdict_of(replace(record, own_row=own, reliance=nearby, needs=()), Rules())
    assert verdict == "dishonest"
    assert reason.index("'x3'") < reason.index("'x2'") < reason.index("'x1'")
    assert "more" not in reason
    own = replace(own, changes=(0.8, 1.0, 0.96, 0.97), claimed=(0.0,) * 4, first=None)
    _, reason = verdict_of(replace(record, own_row=own, reliance=nearby, needs=()), Rules())
    assert "and so with 1 more" in reason
    assert "'x0'" not in reason
