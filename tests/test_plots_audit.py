"""Pictures of audits: reaches, verdicts and strips are those of the report."""

import dataclasses

import numpy as np
import pytest
from matplotlib import pyplot as plt
from pictures import bars, difference, empty_axes, overlapping, region_of, texts

from lime_guarantee import AuditReport, Domain, InvalidInputError, Problem, SameValue, audit
from lime_guarantee.auditing.evidence import Finding
from lime_guarantee.auditing.record import VERDICTS, AuditRecord
from lime_guarantee.views.plots import ReachStripsDisplay, VerdictsDisplay, drawing, features

NAMES = ["age", "$k$", "c_3"]
DOMAIN = Domain.from_bounds([-1] * 3, [1] * 3, names=NAMES)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def claims_first(X):
    return np.asarray(X[:, 0], dtype=np.float64)


def relies_on_second(X):
    return X[:, 0] + np.where(np.abs(X[:, 1]) > 0.6, 1.0, 0.0)


def audited(model, count=4):
    rng = np.random.default_rng(0)
    problems = [
        Problem(model, claims_first, SameValue(0.5), rng.uniform(-0.3, 0.3, 3), DOMAIN) for _ in range(count)
    ]
    return audit(problems, purity=0.9, confidence=0.9, effort="low")


@pytest.fixture(scope="module")
def reports():
    return {"honest": audited(claims_first), "dishonest": audited(relies_on_second)}


def record(index, verdict, reach=None, dishonest=()):
    """A record by hand; without reaches, an explanation that came to nothing."""
    if reach is None:
        return AuditRecord(index, verdict, "why.")
    half = np.asarray(reach, dtype=float)
    region = region_of(DOMAIN, np.zeros(3), -half, half)
    findings = tuple(Finding(name, 0.0, 0.5, name in dishonest) for name in NAMES[1:])
    return AuditRecord(index, verdict, "why.", region, findings)


def report_by_hand():
    return AuditReport(
        (
            record(0, "dishonest", [1, 0.2, 1], {"$k$"}),
            record(1, "trusted", [1, 0.9, 1]),
            record(2, "error"),
            record(3, "dishonest", [0.5, 0.3, 0.1], {"$k$", "c_3"}),
            record(4, "trusted", [0.8, 1, 1]),
        ),
        {},
    )


def test_the_heat_map_has_the_reach_of_every_explanation():
    display = report_by_hand().plot_reach()
    assert display.features == ("$k$", "c_3", "age")
    assert display.indices == (1, 4, 0, 3, 2)
    assert display.verdicts == ("trusted", "trusted", "dishonest", "dishonest", "error")
    expected = [[0.9, 1, 0.2, 0.3, np.nan], [1, 1, 1, 0.1, np.nan], [1, 0.8, 1, 0.5, np.nan]]
    np.testing.assert_allclose(display.reach, expected)
    drawn = np.ma.filled(display.ax_.collections[0].get_array(), np.nan).reshape(3, 5)
    np.testing.assert_allclose(drawn, expected)
    marks = next(line for line in display.ax_.lines if line.get_marker() == "X")
    assert sorted(zip(*marks.get_data(), strict=True)) == [(2.5, 0.5), (3.5, 0.5), (3.5, 1.5)]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["$k$", "c_3", "age"]
    assert overlapping(display.figure_) == []


def test_the_worst_are_shown_where_there_are_too_many():
    display = report_by_hand().plot_reach(max_features=1, max_explanations=3)
    assert display.features == ("$k$",)
    assert display.indices == (0, 3, 2)
    title = display.ax_.get_title(loc="left")
    assert "1 of 3 features" in title
    assert "the worst 3 of 5" in title
    with pytest.raises(InvalidInputError, match="max_explanations"):
        report_by_hand().plot_reach(max_explanations=0)


@pytest.mark.parametrize("usual", ["trusted", "off-manifold"])
def test_a_large_audit_can_be_read(usual):
    rng = np.random.default_rng(0)
    verdicts = [usual] * 290 + [verdict for verdict in VERDICTS[:-1] for _ in range(2)]
    report = AuditReport(tuple(record(i, v, rng.random(3)) for i, v in enumerate(verdicts)), {})
    for most in (100, 302):
        display = report.plot_reach(max_explanations=most)
        assert overlapping(display.figure_) == []
        (above,) = display.ax_.child_axes
        labels = [label for label in above.get_xticklabels() if label.get_text()]
        assert [label.get_text().split()[0] for label in labels] == list(dict.fromkeys(display.verdicts))
        assert above.get_xlim()[0] <= min(above.get_xticks())
        assert max(above.get_xticks()) <= above.get_xlim()[1]
        places = [label.get_transform().transform(label.get_position())[0] for label in labels]
        assert np.all(
            np.diff(places) > 13 * display.figure_.dpi / 72
        )  # slanted, they need so much to be read
    assert overlapping(report.plot_verdicts().figure_) == []


def test_a_report_without_any_region_says_so():
    report = AuditReport((record(0, "error"),), {})
    with pytest.raises(InvalidInputError, match="no explanation of this report has a region"):
        report.plot_reach()
    assert report.plot_verdicts().counts["error"] == 1


def test_verdicts_are_counted_from_the_best_to_the_worst():
    report = report_by_hand()
    display = report.plot_verdicts()
    assert list(display.counts) == list(VERDICTS)
    lengths = [bar.get_width() for bar in display.ax_.patches]
    assert lengths == list(report.counts.values())
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list(VERDICTS)
    assert "2  (40 %)" in {text.get_text() for text in texts(display.figure_)}
    assert (
        VerdictsDisplay.from_report(AuditReport((), {})).plot().ax_.get_title(loc="left").startswith("0 of 0")
    )


def test_real_reports_are_drawn(reports):
    report = reports["dishonest"]
    assert any(finding.incomplete for found in report for finding in found.findings)
    display = report.plot_reach()
    for column, index in enumerate(display.indices):
        found = report[index]
        order = [found.region.names.index(name) for name in display.features]
        np.testing.assert_allclose(display.reach[:, column], found.region.reach[order])
        wrong = {finding.feature for finding in found.findings if finding.incomplete}
        assert {
            name for name, bad in zip(display.features, display.incomplete[:, column], strict=True) if bad
        } == wrong
    assert display.features[0] == "$k$"
    assert report.plot_verdicts().counts == report.counts
    again = AuditReport.from_json(report.to_json())
    np.testing.assert_array_equal(again.plot_reach().reach, display.reach)


def test_strips_separate_honest_from_dishonest(reports):
    display = ReachStripsDisplay.from_reports(reports, "$k$").plot()
    for label, report in reports.items():
        np.testing.assert_allclose(display.groups[label], [found.region.reach[1] for found in report])
    assert display.medians["honest"] == 1
    assert display.medians["dishonest"] < 0.75
    points = [line.get_xdata() for line in display.ax_.lines]
    for drawn, reach in zip(points, display.groups.values(), strict=True):
        np.testing.assert_allclose(drawn, np.sort(reach))
    assert len({line.get_marker() for line in display.ax_.lines}) == 2
    assert overlapping(display.figure_) == []
    with pytest.raises(InvalidInputError, match=r"no feature 'b'. The features are \['age'"):
        ReachStripsDisplay.from_reports(reports, "b")


def test_explanations_without_a_region_are_counted_not_drawn():
    display = ReachStripsDisplay.from_reports({"all": report_by_hand()}, "age").plot()
    assert np.isnan(display.groups["all"]).sum() == 1
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["all\n4 regions, 1 without"]
    assert display.medians == {"all": 0.9}
    failed = ReachStripsDisplay({"none": [np.nan]}).plot()
    failed.figure_.draw_without_rendering()
    with pytest.raises(InvalidInputError, match="between 0 and 1; those of 'x'"):
        ReachStripsDisplay({"x": [3.0]})
    with pytest.raises(InvalidInputError, match="at least one group"):
        ReachStripsDisplay({})


def test_features_have_a_point_for_every_limited_explanation_coloured_by_verdict():
    report = report_by_hand()
    display = report.plot_features()
    assert display.features == ("$k$", "age", "c_3")  # the shortest in the middle first
    np.testing.assert_allclose(display.medians, [0.6, 0.9, 1])
    assert display.without == {"error": 1}
    np.testing.assert_allclose(display.reach[0], [0.2, 0.9, 0.3, 1])
    drawn = {
        (line.get_color(), round(float(y)), round(float(x), 3))
        for line in display.ax_.lines
        if line.get_markerfacecolor() != "none"
        for x, y in zip(*line.get_data(), strict=True)
        if np.isfinite(x)
    }
    blue, red = drawing.PLUS, drawing.FAILING
    assert drawn == {
        (red, 0, 0.2),
        (red, 0, 0.3),
        (blue, 0, 0.9),
        (red, 1, 0.5),
        (blue, 1, 0.8),
        (red, 2, 0.1),
    }
    rings = next(line for line in display.ax_.lines if line.get_markerfacecolor() == "none")
    assert sorted(rings.get_xdata()) == pytest.approx([0.1, 0.2, 0.3])
    written = {text.get_text() for text in texts(display.figure_)}
    assert {"4 regions; without one: 1 error", "trusted 2", "dishonest 2", "60 %", "75 %"} <= written
    assert overlapping(display.figure_) == []


def test_explanations_that_are_free_along_a_feature_are_counted_in_a_bar():
    display = report_by_hand().plot_features()
    for colour, shares in ((drawing.PLUS, [0.25, 0.25, 0.5]), (drawing.FAILING, [0, 0.25, 0.25])):
        lengths = {round(y): width for _, y, width, _ in bars(display.ax_, [colour])}
        start, end = features.FREE
        assert [lengths[y] / (end - start) for y in range(3)] == pytest.approx(shares)


def test_points_of_a_swarm_stand_beside_each_other_and_in_their_row():
    same = features._swarm(np.array([0.5, 0.5, np.nan, 0.5, 0.9]), 50, 0.1)
    assert sorted(same[[0, 1, 3]]) == pytest.approx([-0.1, 0, 0.1])
    assert same[4] == 0
    crowded = features._swarm(np.full(1_000, 0.3), 50, 0.1)
    assert np.abs(crowded).max() <= features.HIGHEST
    assert len(np.unique(crowded)) > 900


def test_features_of_a_large_audit_can_be_read():
    rng = np.random.default_rng(0)
    verdicts = rng.choice(["trusted", "flat", "narrow", "dishonest", "unfaithful"], 1_500)
    report = AuditReport(
        tuple(record(i, v, None if v == "unfaithful" else rng.random(3)) for i, v in enumerate(verdicts)), {}
    )
    display = report.plot_features(max_features=2)
    assert display.figure_.axes == [display.ax_]
    (dots,) = (c for c in display.ax_.collections if len(c.get_offsets()) > 1_000)
    assert len(dots.get_offsets()) == 2 * sum(verdicts != "unfaithful")
    assert len(np.unique(dots.get_facecolors(), axis=0)) == 4
    title = display.ax_.get_title(loc="left")
    assert title.startswith(f"{sum(verdicts != 'unfaithful'):,} regions, 2 of 3 features; without one: ")
    assert overlapping(display.figure_) == []
    with pytest.raises(InvalidInputError, match="max_features"):
        report.plot_features(max_features=0)
    with pytest.raises(InvalidInputError, match="no explanation of this report has a region"):
        AuditReport((record(0, "error"),), {}).plot_features()


PICTURES = {
    "features": lambda report: report.plot_features(ax=empty_axes()),
    "reach": lambda report: report.plot_reach(ax=empty_axes()),
    "verdicts": lambda report: report.plot_verdicts(ax=empty_axes()),
    "strips": lambda report: ReachStripsDisplay.from_reports({"a": report, "b": report}, "$k$").plot(
        empty_axes()
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_look_as_they_did(name, tmp_path):
    display = PICTURES[name](report_by_hand())
    assert display.figure_ is display.ax_.figure
    assert plt.get_fignums() == []
    assert difference(display.ax_, name, tmp_path) is None


@pytest.mark.parametrize("name", PICTURES)
def test_a_changed_picture_is_noticed(name, tmp_path):
    report = report_by_hand()
    changed = dataclasses.replace(
        report, records=(*report.records[:-1], record(4, "dishonest", [0.8, 0.5, 1]))
    )
    assert difference(PICTURES[name](changed).ax_, name, tmp_path) is not None
