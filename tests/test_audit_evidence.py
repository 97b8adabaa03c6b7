"""Evidence before a word is said: what the audit finds out about features that are claimed irrelevant."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from lime_guarantee import AuditReport, Domain, Radial, audit, find_region
from lime_guarantee.auditing.evidence import Examination, Finding
from lime_guarantee.auditing.real_rows import TWINS, RealRows, check_data, distance, make_twins
from lime_guarantee.auditing.record import AuditRecord
from lime_guarantee.problem.agreement import SameValue
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.widen import extend_region
from lime_guarantee.views.html.audit_detail import detail_of
from lime_guarantee.views.html.audit_page import audit_page

QUICK = {"purity": 0.9, "confidence": 0.9}


def first_feature(X):
    """A surrogate that claims: only the first feature matters."""
    return np.asarray(X[:, 0], dtype=np.float64)


def relies_on_second(X):
    return X[:, 0] + np.where(X[:, 1] > 0.6, 1.0, 0.0)


def problem(model, dims=3, instance=None):
    domain = Domain.from_bounds([-1] * dims, [1] * dims, names=[f"x{i}" for i in range(dims)])
    return Problem(
        model, first_feature, SameValue(0.5), np.zeros(dims) if instance is None else instance, domain
    )


@dataclass(frozen=True)
class ShortSearch:
    """Proposes a box that stays short along one axis for no reason."""

    axis: int
    share: float = 0.2
    name: str = "short"

    def propose(self, task):
        lower, upper = task.domain.lower.copy(), task.domain.upper.copy()
        share = self.share / task.cube.scale[self.axis]
        lower[self.axis] = task.instance[self.axis] - share
        upper[self.axis] = task.instance[self.axis] + share
        yield task.cube.snapped(lower, upper)


def examine(subject, region, **changes):
    settings = {"claim_share": 0.01, "min_reach": 0.9, "error": 0.01, "rng": np.random.default_rng(0)}
    weights = np.array([1.0, *np.zeros(len(region.domain) - 1)])
    return Examination(subject, region, weights, **{**settings, **changes})


def test_a_feature_that_is_left_out_and_matters_beyond_the_region_is_found():
    record = audit([problem(relies_on_second)], **QUICK)[0]
    assert "it leaves out 'x1', and fails beyond its limits along it" in record.reason
    findings = {finding.feature: finding for finding in record.findings}
    assert set(findings) == {"x1", "x2"}
    assert findings["x1"].incomplete
    assert not findings["x2"].incomplete
    assert findings["x1"].failing_lower_bound > 0.1
    assert findings["x2"].reach == 1.0


def test_counterexamples_are_real_and_the_first_differs_in_one_feature():
    case = problem(relies_on_second)
    finding = next(f for f in audit([case], **QUICK)[0].findings if f.incomplete)
    rows = np.array(finding.counterexamples)
    assert len(rows) >= 2
    assert not case.faithful(rows).any()
    said = [(model[0], surrogate[0]) for model, surrogate in finding.answers]
    np.testing.assert_array_equal(said, np.column_stack(case.answers(rows)))
    np.testing.assert_array_equal(rows[0] != case.instance, [False, True, False])
    distance = np.abs(rows[1:]).sum(axis=1)
    assert (np.diff(distance) >= 0).all()


def test_a_counterexample_that_needs_two_features_differs_in_two():
    def needs_both(X):
        return X[:, 0] + np.where((X[:, 1] > 0.3) & (X[:, 2] > 0.3), 1.0, 0.0)

    case = problem(needs_both, dims=5)
    caught = [f for f in audit([case], **QUICK)[0].findings if f.incomplete]
    assert caught
    for finding in caught:
        row = np.array(finding.counterexamples[0])
        assert not case.faithful(row[np.newaxis])[0]
        np.testing.assert_array_equal(row != 0, [False, True, True, False, False])


def test_the_break_point_is_found():
    finding = next(f for f in audit([problem(relies_on_second)], **QUICK)[0].findings if f.incomplete)
    assert finding.break_below is None
    assert finding.break_above == pytest.approx(0.6, abs=1e-4)
    assert finding.break_above > 0.6
    (low, high) = finding.outside[-1]
    assert high == 1.0
    assert low < 0.75


def test_a_short_search_is_not_held_against_an_honest_explanation():
    case = problem(first_feature)
    region = find_region(
        case.faithful, case.instance, case.domain, search=ShortSearch(1), random_state=0, **QUICK
    )
    assert region.reach[1] == pytest.approx(0.2)
    examination = examine(case, region)
    findings = examination.findings()
    assert not any(finding.incomplete for finding in findings)
    assert examination.region.reach[1] == 1.0
    assert examination.region.attempts == region.attempts + 1
    assert examination.region.log10_volume == pytest.approx(3 * np.log10(2))


def test_categories_and_cells_are_looked_at_outside_the_region_only():
    domain = Domain.from_bounds(
        [-1, 0, 0], [1, 9, 0], names=["x", "n", "c"], integer=["n"], categories={"c": ["a", "b", "c", "d"]}
    )

    def model(X):
        return X[:, 0].astype(float) + (X[:, 1].astype(float) >= 6) * 2 + np.isin(X[:, 2], ["c"]) * 2

    def surrogate(X):
        return X[:, 0].astype(float)

    case = Problem(model, surrogate, SameValue(0.5), np.array([0.0, 3, "b"], dtype=object), domain)
    record = audit([case], **QUICK)[0]
    findings = {finding.feature: finding for finding in record.findings}
    assert findings["n"].incomplete
    assert findings["n"].break_above == 6.0
    assert findings["n"].break_below is None
    assert findings["c"].incomplete
    assert "c" not in record.region.allowed["c"]
    rows = np.array(findings["c"].counterexamples, dtype=object)
    assert not case.faithful(rows).any()
    assert rows[0].tolist() == [0.0, 3.0, "c"]


def test_outside_points_are_outside_along_the_feature_and_inside_along_the_others():
    case = problem(first_feature)
    region = find_region(
        case.faithful, case.instance, case.domain, search=ShortSearch(2, 0.3), random_state=0, **QUICK
    )
    examination = examine(case, region)
    points = examination.cube.decode(examination._outside(2, 2_000))
    assert (np.abs(points[:, 2]) >= 0.3 - 1e-9).all()
    assert (np.abs(points[:, 2]) <= 1).all()
    assert 0.4 < np.mean(points[:, 2] > 0) < 0.6
    inside = points.copy()
    inside[:, 2] = 0.0
    assert region.contains(inside).all()


def test_complete_explanations_are_called_incomplete_no_more_often_than_stated():
    """300 regions, short along 2 features each; outside them, just the allowed share fails."""
    rng = np.random.default_rng(3)
    error, wrong = 0.1, 0
    for _ in range(300):
        seed = int(rng.integers(2**31))

        def unlucky(X, seed=seed):  # fails on a tenth of the volume, wherever one looks
            mixed = np.sin(X @ np.array([12.9898, 78.233, 37.719]) * 43.7 + seed) * 43_758.5453
            return first_feature(X) + np.where(mixed - np.floor(mixed) < 0.1, 1.0, 0.0)

        case = problem(unlucky)
        region = find_region(
            first_faithful, case.instance, case.domain, search=ShortSearch(1), random_state=seed, **QUICK
        )
        found = examine(case, region, error=error, rng=np.random.default_rng(seed)).findings()
        wrong += any(finding.incomplete for finding in found)
    assert wrong <= 300 * error + 3 * np.sqrt(300 * error * (1 - error))


class Counting:
    """A model that knows how many rows it was asked, and the most at once."""

    def __init__(self, model):
        self.model, self.rows, self.most = model, 0, 0

    def __call__(self, X):
        self.rows += len(X)
        self.most = max(self.most, len(X))
        return self.model(X)


def test_every_row_that_is_asked_is_counted():
    counting = Counting(relies_on_second)
    data = np.random.default_rng(0).uniform(-1, 1, (400, 3))
    record = audit([problem(counting)], data=data, **QUICK)[0]
    assert record.shared_evaluations == len(data)  # the real rows as they are: once for all explanations
    assert record.evaluations + record.shared_evaluations == counting.rows
    assert record.reliance.draws < record.reliance.evaluations <= record.reliance.draws * 4


def test_evidence_is_asked_for_in_batches_no_larger_than_allowed():
    case = problem(first_feature)
    region = find_region(
        case.faithful, case.instance, case.domain, search=ShortSearch(1), random_state=0, **QUICK
    )
    counting = Counting(relies_on_second)
    examine(problem(counting), region, batch_rows=50).findings()
    extend_region(problem(counting).faithful, region, 1, random_state=0, batch_rows=50)
    assert counting.rows > 100
    assert counting.most <= 50


def first_faithful(X):
    return np.ones(len(X), dtype=bool)


def test_an_extension_is_paid_for_from_the_same_budget():
    case = problem(relies_on_second)
    region = find_region(
        case.faithful, case.instance, case.domain, search=ShortSearch(1), random_state=0, **QUICK
    )
    same = extend_region(case.faithful, region, 1, random_state=0)
    assert same.attempts == region.attempts + 1
    assert same.reach[1] == region.reach[1]
    assert same.certificate == region.certificate
    assert same.evaluations > region.evaluations
    longer = extend_region(first_faithful, same, 1, random_state=0)
    assert longer.certificate.attempts == region.attempts + 2
    assert longer.certificate.level < region.certificate.level


class TestDataCheck:
    """Real rows against synthetic ones."""

    @staticmethod
    def correlated(count, seed=0):
        rng = np.random.default_rng(seed)
        common = rng.normal(size=(count, 1)) * 0.3
        return np.clip(common + rng.normal(size=(count, 4)) * 0.05, -1, 1)

    def region(self, case):
        return find_region(case.faithful, case.instance, case.domain, random_state=0, effort="low", **QUICK)

    def check(self, case, data, error=0.01, seed=0):
        region = self.region(case)
        return check_data(case, region, RealRows.around(region, data), error, np.random.default_rng(seed))

    def test_a_model_that_behaves_on_synthetic_rows_only_is_caught(self):
        def two_faced(X):
            looks_real = np.ptp(X, axis=1) < 0.3
            return np.where(looks_real, X[:, 0] + 2.0 * (X[:, 1] > 0.1), X[:, 0])

        case = problem(two_faced, dims=4)
        data = self.correlated(500)
        check = self.check(case, data)
        assert check.off_manifold
        assert check.real_rate > 0.2
        assert check.synthetic_rate < check.real_rate / 2
        assert not case.faithful(np.array(check.rows)).any()

    def test_an_honest_model_is_not(self):
        data = self.correlated(500)
        wrong = 0
        for seed in range(60):
            case = problem(
                lambda X, s=seed: X[:, 0] + 0.6 * np.sin(3 * X[:, 1] + s), dims=4, instance=data[seed]
            )
            if not case.faithful(case.instance[np.newaxis])[0]:
                continue
            check = self.check(case, data, 0.05, seed)
            wrong += check is not None and check.off_manifold
        assert wrong <= 3 + 3 * np.sqrt(3)

    def test_rows_outside_the_domain_are_held_against_nobody(self):
        """Nothing is said of them, and no synthetic row lies where they do."""

        def breaks_beyond(X):
            return X[:, 0] + np.where(np.abs(X).max(axis=1) > 1, 9.0, 0.0)

        case = problem(breaks_beyond, dims=2)
        data = np.random.default_rng(0).uniform(-10, 10, (1_000, 2))
        region = self.region(case)
        known = RealRows.around(region, data)
        assert len(known) == np.sum(np.abs(data).max(axis=1) <= 1)
        assert not check_data(case, region, known, 0.01, np.random.default_rng(0)).off_manifold

    def test_synthetic_rows_are_not_piled_up_at_the_edges(self):
        domain, bounds = Domain.from_bounds([-9], [9]), (np.array([-0.1]), np.array([0.1]))
        rows = make_twins(np.zeros((400, 1)), np.ones(1), domain, bounds, np.random.default_rng(0))
        assert len(rows) == 400 * TWINS
        assert (np.abs(rows) <= 0.1).all()
        assert np.mean(np.abs(rows) < 0.05) == pytest.approx(0.5, abs=0.04)  # three standard errors

    def test_the_nearest_rows_are_those_with_the_same_category(self):
        """Categories have no order, though they are numbered."""
        domain = Domain.from_bounds([0, 0], [9, 0], categories={1: list("abcd")})
        rows = domain.encode(np.array([[0, "d"], [1, "b"], [0, "b"], [2, "a"]], dtype=object))
        apart = distance(rows, np.zeros(2), domain)
        assert apart[0] == apart[2] == 1
        np.testing.assert_allclose(apart[[1, 3]], [1 + 1 / 9, 2 / 9])

    def test_a_region_whose_real_rows_fail_is_not_trusted(self):
        """Faithful on most of the volume, but the data lie in the rest of it, and so do the moved rows."""
        data = np.random.default_rng(0).normal([0.0, 0.995], [0.3, 0.001], (400, 2)).clip(-1, 1)
        case = problem(lambda X: X[:, 0] + np.where(X[:, 1] > 0.99, 0.8, 0.0), dims=2)
        record = audit([case], data=data, **QUICK)[0]
        assert record.region
        assert record.data_check.real_rate > 0.9
        assert not record.data_check.off_manifold
        assert record.verdict == "narrow", record.reason
        assert "real rows in it" in record.reason
        assert record.fidelity == record.data_check.fidelity < 0.1
        assert (
            record.data_check.fidelity_interval[0]
            <= record.fidelity
            <= record.data_check.fidelity_interval[1]
        )

    def test_without_rows_there_is_nothing_to_compare(self):
        assert self.check(problem(first_feature, dims=4), np.full((5, 4), np.nan)) is None


def test_whole_numbers_outside_the_region_are_named_as_such():
    def beyond(X):
        return X[:, 0] + np.where(X[:, 1] > 40_000, 9.0, 0.0)

    domain = Domain.from_bounds([-1, 0], [1, 99_999], integer=[1])
    case = Problem(beyond, first_feature, SameValue(0.5), np.array([0.0, 12_345]), domain)
    record = audit([case], **QUICK)[0]
    (finding,) = record.findings
    assert finding.incomplete
    assert finding.outside == ((record.region.upper[1] + 1, 99_999.0),)
    told = str(detail_of(record))
    assert f"drawn in [{record.region.upper[1] + 1:.0f}, 99999]" in told
    assert "breaks the explanation above at 40001" in told
    assert "purity 0.999999" in audit_page(AuditReport((record,), {"purity": 0.999999}))


def test_evidence_on_a_scaled_column_of_few_values_names_these_values():
    """Scaled zeros, ones and twos: a coordinate on such an axis is a position, and no value."""
    rng = np.random.default_rng(0)
    scaled = (rng.integers(0, 3, 300) - 0.8) / 0.7
    data = np.column_stack([rng.uniform(-1, 1, 300), scaled])
    zero, one, two = np.unique(scaled).tolist()

    def second(X):
        return X[:, 0] + np.where(X[:, 1] == zero, 0.0, 9.0)

    case = Problem(
        second, first_feature, SameValue(0.5), np.array([0.1, zero]), Domain.from_data(data, names=["x", "n"])
    )
    record = audit([case], data=data, **QUICK)[0]
    (finding,) = record.findings
    assert finding.incomplete
    assert finding.outside == ((one, two),)
    assert (finding.break_below, finding.break_above) == (None, one)
    assert {row[1] for row in finding.counterexamples} <= {one, two}
    told = str(detail_of(record))
    assert "drawn in [0.2857, 1.714]" in told
    assert "breaks the explanation above at 0.2857" in told
    assert AuditReport((record,), {}).features_frame()["break_above"].tolist()[1] == one


def test_a_lower_bound_is_never_rounded_up():
    finding = Finding("x1", 0.0, 0.2, incomplete=True, draws=9, failures=9, failing_lower_bound=0.99987)
    region = find_region(problem(relies_on_second), random_state=0, **QUICK)
    told = detail_of(AuditRecord(0, "narrow", "", region, (finding,)))
    assert "at least 99.9 % of what was drawn there" in str(told)


class TestBalls:
    """The radial search finds a ball: neither its bounding box nor a box that it grew into."""

    @staticmethod
    def audited(case):
        data = np.random.default_rng(0).uniform(-1, 1, (2_000, 3))
        return audit([case], data=data, search="radial", min_coverage=0.0, **QUICK)[0]

    def test_the_corners_around_a_ball_are_held_against_nobody(self):
        def breaks_beyond_a_cylinder(X):
            return X[:, 0] + np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 0.25, 9.0, 0.0)

        case = problem(breaks_beyond_a_cylinder)
        case = replace(case, surrogate=lambda X: X[:, 0] + 0.1 * X[:, 1])
        record = self.audited(case)
        assert record.region.radius is not None
        assert record.findings[0].draws > 0
        assert not any(finding.incomplete for finding in record.findings)

    def test_real_rows_in_a_ball_are_those_within_its_radius(self):
        record = self.audited(problem(lambda X: X[:, 0] + np.where((X**2).sum(axis=1) > 0.25, 9.0, 0.0)))
        within = round(record.coverage * 2_000)
        assert record.data_check.inside
        assert record.data_check.real_rows == within

    def test_a_ball_with_a_feature_set_free_is_a_box(self):
        case = problem(first_feature)
        ball = find_region(case, search=Radial(steps=8), random_state=0, **QUICK)
        assert ball.radius is not None
        shape = replace(ball.shape, radius=0.3)
        ball = replace(ball, radius=0.3, lower=np.full(3, -0.3), upper=np.full(3, 0.3), shape=shape)
        longer = extend_region(case.faithful, ball, 2, random_state=0)
        assert longer.radius is None
        assert longer.contains(np.array([[0.29, 0.29, 0.9]]))[0]
        assert longer.share == pytest.approx(0.3**2)
