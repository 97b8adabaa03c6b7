"""The verdicts of an audit are what a person would say."""

import numpy as np
import pytest
import shap
from lime.lime_tabular import LimeTabularExplainer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from lime_guarantee import Domain, FlaggedExplanations, Problem, SameClass, SameValue, audit
from lime_guarantee.auditing.real_rows import DataCheck
from lime_guarantee.auditing.record import FLAGGED, VERDICTS, AuditRecord
from lime_guarantee.auditing.reliance import Reliance
from lime_guarantee.auditing.report import AuditReport
from lime_guarantee.auditing.verdict import Rules, verdict_of

ROWS, MANY = 5, 40
AUDITED = [pytest.param(ROWS, id="reduced"), pytest.param(MANY, marks=pytest.mark.slow, id="40 rows")]
"""Many rows are audited as everybody would audit them; a few with less effort."""

SQUARE = np.random.default_rng(0).uniform(-1, 1, (600, 3))


def scores(probability):
    return np.column_stack([1 - probability, probability])


def audited(explainer, data, predict, rows=ROWS, **options):
    """The first rows of some data, explained; the rest of them is what the explainer knows."""
    quick = {"effort": "low", "purity": 0.95, "confidence": 0.95} if rows == ROWS else {}
    settings = {**quick, **options}
    return audit(
        explainer=explainer, X=data[:rows], predict_fn=predict, training_data=data[MANY:], **settings
    )


def assert_nearly_all_are(verdict, report):
    """At least nine of ten."""
    print(report.counts)
    assert report.counts[verdict] >= 0.9 * len(report), report.summary()


@pytest.fixture(scope="module")
def logistic():
    loaded = load_breast_cancer()
    X = StandardScaler().fit_transform(loaded.data[:, :6])
    return X, LogisticRegression().fit(X[MANY:], loaded.target[MANY:])


@pytest.mark.parametrize("rows", AUDITED)
def test_a_logistic_regression_explained_by_lime_without_bins_is_trusted(logistic, rows):
    X, model = logistic
    lime = LimeTabularExplainer(X[MANY:], discretize_continuous=False, random_state=0)
    report = audited(lime, X, model.predict_proba, rows, explain_kwargs={"num_samples": 1_000})
    assert_nearly_all_are("trusted", report)


@pytest.mark.parametrize("rows", AUDITED)
def test_a_logistic_regression_explained_by_shap_is_trusted(logistic, rows):
    X, model = logistic
    report = audited(shap.LinearExplainer(model, X[MANY:]), X, model.decision_function, rows)
    assert_nearly_all_are("trusted", report)


@pytest.mark.parametrize("rows", AUDITED)
def test_a_smooth_network_explained_by_shap_is_trusted(rows):
    loaded = load_diabetes()
    X = StandardScaler().fit_transform(loaded.data[:, :5])
    model = MLPRegressor(
        hidden_layer_sizes=(8,), activation="tanh", solver="lbfgs", alpha=10.0, max_iter=3_000, random_state=0
    )
    model.fit(X[MANY:], loaded.target[MANY:] / 100)
    explainer = shap.PermutationExplainer(
        model.predict, shap.maskers.Independent(X[MANY:], max_samples=40), seed=0
    )
    report = audited(explainer, X, model.predict, rows, explain_kwargs={"silent": True}, allowance=1_500)
    assert_nearly_all_are("trusted", report)


def by_lime(model, rows):
    lime = LimeTabularExplainer(SQUARE[MANY:], random_state=0)
    return audited(lime, SQUARE, model, rows, explain_kwargs={"num_samples": 1_000})


@pytest.mark.parametrize("rows", AUDITED)
def test_what_is_constant_around_the_row_is_flat_and_no_alarm(rows):
    report = by_lime(lambda X: scores(np.where(X[:, 0] > 5, 0.9, 0.2)), rows)
    assert report.counts["flat"] == rows, report.summary()
    assert "its weights are not tested there" in report[0].reason
    assert report.flagged == ()
    report.raise_if()
    with pytest.raises(FlaggedExplanations):
        report.raise_if("flat")


@pytest.mark.parametrize("rows", AUDITED)
def test_a_checkerboard_explained_by_lime_is_not_trusted(rows):
    report = by_lime(lambda X: scores(((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(float)), rows)
    assert report.counts["trusted"] == 0, report.summary()


@pytest.mark.parametrize("kind", ["smooth", "yes or no"])
def test_a_score_that_moves_with_a_denied_feature_is_dishonest_though_the_class_stays(kind):
    data = SQUARE.copy()
    if kind == "yes or no":
        data[:, 1] = data[:, 1] > 0

    def model(X):
        return scores(0.75 + 0.15 * X[:, 1] + 0.02 * X[:, 0])

    def claim(X):
        return scores(0.75 + 0.15 * data[0, 1] + 0.02 * X[:, 0])

    record = audit(
        [Problem(model, claim, SameClass(0.1), data[0], Domain.from_data(data))], effort="low", purity=0.95
    )[0]
    assert record.region.certificate is not None
    assert record.verdict == "dishonest", record.reason
    assert "'x1' makes up at least" in record.reason
    assert "the explanation claims 0 %" in record.reason
    assert record.reliance.real
    assert record.honesty < 0.4
    assert record.reliance.examples


def test_rows_that_are_audited_count_as_real_ones():
    """Without other data, they are what is known."""
    lime = LimeTabularExplainer(SQUARE, random_state=0, mode="regression")
    report = audit(
        explainer=lime, X=SQUARE[:30], predict_fn=lambda X: X[:, 0], effort="low", purity=0.9, tolerance=9.0
    )
    assert all(record.data_check.real_rows == 29 for record in report)
    assert all(record.reliance.real for record in report)


def test_no_verdict_about_rows_that_the_certificate_does_not_cover():
    """Beyond the region the model fails on every row that is one of the data; inside it is faithful."""
    rows = {row.tobytes() for row in SQUARE}

    def model(X):
        real = np.array([row.tobytes() in rows for row in np.ascontiguousarray(X)])
        return X[:, 0] + np.where((X[:, 1] > 0.3) & (real | (X[:, 2] > 0)), 9.0, 0.0)

    case = Problem(
        model, lambda X: X[:, 0], SameValue(0.5), np.array([0.0, -0.5, 0.0]), Domain.from_data(SQUARE)
    )
    record = audit([case], effort="low", purity=0.95)[0]
    assert record.region.upper[1] < 0.32
    assert record.data_check.inside
    assert record.fidelity > 0.98
    assert record.verdict != "off-manifold"
    assert record.coverage_interval[0] < record.coverage < record.coverage_interval[1]


def reliance_of(share, low, high):
    gaps = ((low, high), (-1.0, -0.8))
    return Reliance((share, 0.1), ((low, high), (0.0, 0.2)), (0.0, 1.0), gaps, (0.3, 0.0), 60, True, 0.995)


@pytest.fixture(scope="module")
def certified():
    case = Problem(
        lambda X: X[:, 0],
        lambda X: X[:, 0],
        SameValue(0.1),
        SQUARE[0, :2],
        Domain.from_data(SQUARE[:, :2]),
    )
    return audit([case], effort="low", purity=0.9)[0]


class TestReasons:
    """From figures to a verdict, and figures that pipelines ask for."""

    @pytest.mark.parametrize(
        ("low", "high", "verdict"),
        [(0.36, 0.6, "dishonest"), (0.3, 0.4, "uncertified"), (0.1, 0.34, "trusted")],
    )
    def test_what_is_undecided_is_not_trusted(self, certified, low, high, verdict):
        record = AuditRecord(
            0, "error", "", certified.region, reliance=reliance_of((low + high) / 2, low, high)
        )
        assert verdict_of(record, Rules())[0] == verdict

    def test_real_rows_that_fail_make_it_narrow_and_twins_that_do_not_off_manifold(self, certified):
        check = DataCheck(False, True, 50, 10, 200, 40)
        record = AuditRecord(0, "error", "", certified.region, data_check=check, coverage=0.5)
        verdict, reason = verdict_of(record, Rules())
        assert verdict == "narrow"
        assert "faithful on 40 of 50 real rows" in reason
        assert verdict_of(record, Rules(min_fidelity=0.7))[0] == "trusted"
        off = AuditRecord(0, "error", "", certified.region, data_check=DataCheck(True, True, 50, 10, 200, 1))
        assert verdict_of(off, Rules())[0] == "off-manifold"

    def test_a_pipeline_can_ask_for_figures(self, certified):
        low = AuditRecord(1, "flat", "why.", certified.region, reliance=reliance_of(0.6, 0.5, 0.7))
        report = AuditReport((certified, low), {})
        assert low.honesty == pytest.approx(0.4)
        report.raise_if("dishonest", honesty_below=0.3)
        with pytest.raises(FlaggedExplanations) as raised:
            report.raise_if("dishonest", honesty_below=0.5)
        assert [record.index for record in raised.value.records] == [1]
        with pytest.raises(FlaggedExplanations):
            report.raise_if(coverage_below=1.1)
        assert "flat" not in FLAGGED
        frame = report.to_frame()
        assert frame["honesty"].tolist()[1] == low.honesty
        assert report.features_frame()["reliance_low"].tolist()[2:] == [0.5, 0.0]
        assert AuditReport.from_json(report.to_json()) == report


def test_every_verdict_is_defined_by_the_rules_that_were_asked():
    asked = AuditReport((), {"min_coverage": 0.07, "min_fidelity": 0.83, "min_honesty": 0.59})
    assert tuple(asked.definitions) == VERDICTS
    assert all(meaning.endswith(".") for meaning in asked.definitions.values())
    assert "less than 7 % of the real rows" in asked.definitions["narrow"]
    assert "less than 83 % of those" in asked.definitions["narrow"]
    for verdict in ("trusted", "dishonest"):
        assert "by more than 41 %" in asked.definitions[verdict]
    assert "by more than 35 %" in AuditReport((), {}).definitions["dishonest"]
