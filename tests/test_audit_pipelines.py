"""For pipelines: two audits compared, an audit as a test, JUnit, GitHub's annotations, MLflow."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import audit_models
import numpy as np
import pandas
import pytest
from lime.lime_tabular import LimeTabularExplainer

from lime_guarantee import AuditReport, InvalidInputError, assert_trusted, audit
from lime_guarantee.auditing import VERDICTS, AuditRecord
from lime_guarantee.auditing.junit import MOST_ANNOTATIONS, github_annotations
from lime_guarantee.cli.main import main

X, _, NAMES = audit_models.data()
TRAIN, ROWS = X[:400], X[400:405]
QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low"}


def asked(**changes):
    lime = LimeTabularExplainer(TRAIN, feature_names=NAMES, random_state=0)
    settings = {
        "explainer": lime,
        "X": ROWS,
        "predict_fn": audit_models.predict,
        "explain_kwargs": {"num_samples": 300},
        "training_data": TRAIN,
        **QUICK,
    }
    return {**settings, **changes}


@pytest.fixture(scope="module")
def earlier():
    return audit(**asked())


@pytest.fixture(scope="module")
def later():
    """Of a model that was retrained, and fails on one row."""
    return audit(**asked(predict_fn=audit_models.fails_on_row_401))


NAUGHTY = 'It says "<&>", 100 % of \x00 it:\nin two lines, and: more.'


def records(*verdicts):
    return tuple(AuditRecord(i, verdict, f"It is {verdict}.") for i, verdict in enumerate(verdicts))


# --------------------------------------------------------------------------------------- compare


def test_what_got_worse_is_listed_with_its_row(earlier, later):
    compared = later.compare(earlier)
    failed = [record.index for record in later if record.verdict == "error"]
    assert 1 in failed
    assert sorted(change.index for change in compared.worse) == failed
    assert compared.better == ()
    worst = next(change for change in compared.worse if change.index == 1)
    assert (worst.before, worst.after) == (earlier[1].verdict, "error")
    assert worst.row == dict(zip(NAMES, ROWS[1].tolist(), strict=True))
    assert worst.coverage_before == earlier[1].coverage
    assert "the database is down" in worst.reason
    text = str(compared)
    assert text.startswith(f"{len(failed)} of 5 explanations got worse, 0 got better.\n")
    assert f"#1 was {earlier[1].verdict}, is error: " in text
    assert f"(mean radius={ROWS[1, 0]:g}, mean texture={ROWS[1, 1]:g}, " in text
    back = earlier.compare(later)
    assert sorted(change.index for change in back.better) == failed
    assert back.worse == ()
    frame = compared.to_frame()
    assert frame.loc[0, "mean radius"] == ROWS[failed[0], 0]
    assert list(frame["after"]) == ["error"] * len(failed)


def test_an_audit_compared_with_itself_has_no_changes(earlier):
    compared = earlier.compare(AuditReport.from_json(earlier.to_json()))
    assert compared.worse == compared.better == ()
    assert "asked differently" not in str(compared)
    assert len(compared.to_frame()) == 0


def test_the_worst_come_first_and_verdicts_are_counted():
    before = AuditReport(records("trusted", "trusted", "narrow", "error"), {"purity": 0.99})
    after = AuditReport(records("narrow", "dishonest", "trusted", "error"), {"purity": 0.9})
    compared = after.compare(before)
    assert [change.index for change in compared.worse] == [1, 0]
    assert [change.index for change in compared.better] == [2]
    assert compared.asked_differently == ("purity",)
    assert "The audits asked differently: purity." in str(compared)
    assert f"{2:>7,} -> {1:>7,}  trusted" in str(compared)


def test_audits_of_other_rows_are_not_compared(earlier):
    with pytest.raises(InvalidInputError, match="earlier: an audit of the same 5 rows is required; it has 4"):
        earlier.compare(AuditReport(earlier.records[:4], earlier.about))
    swapped = AuditReport((earlier[1], earlier[0], *earlier.records[2:]), {**earlier.about, "rows": "others"})
    with pytest.raises(InvalidInputError, match="row 0 is another one: 'mean radius' is 17"):
        earlier.compare(swapped)


# --------------------------------------------------------------------------------- assert_trusted


def test_assert_trusted_returns_the_report_or_fails_with_it(later):
    given = asked(predict_fn=audit_models.fails_on_row_401)
    explainer, rows = given.pop("explainer"), given.pop("X")
    with pytest.raises(AssertionError) as failed:
        assert_trusted(explainer, rows, **given)
    count = len(later.flagged)
    assert str(failed.value) == f"{count} of 5 explanations cannot be trusted.\n\n{later.summary()}"
    allowed = assert_trusted(explainer, rows, allow=count / 5, **given)
    assert allowed.to_json() == later.to_json()
    absent = next(verdict for verdict in VERDICTS if not later.counts[verdict])
    assert len(assert_trusted(explainer, rows, fail_on=[absent], **given)) == 5
    with pytest.raises(InvalidInputError, match=r"fail_on: \['suspicious'\] are none of"):
        assert_trusted(explainer, rows, fail_on=["suspicious"], **given)
    with pytest.raises(InvalidInputError, match="allow: a number from 0 to 1"):
        assert_trusted(explainer, rows, allow=5, **given)


# ------------------------------------------------------------------------------- JUnit and GitHub


def test_junit_has_a_case_for_every_explanation(tmp_path):
    report = AuditReport(
        (*records("trusted", "narrow", "dishonest"), AuditRecord(3, "error", NAUGHTY)), {"purity": 0.9}
    )
    report.to_junit(tmp_path / "all.xml")
    suite = ElementTree.parse(tmp_path / "all.xml").getroot().find("testsuite")
    assert {key: suite.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "2",
        "errors": "1",
    }
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [f"explanation {i}" for i in range(4)]
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["failure"], ["error"]]
    assert cases[2][0].attrib == {"type": "dishonest", "message": "It is dishonest."}
    assert cases[3][0].get("message").startswith('It says "<&>", 100 % of \ufffd it:')
    report.to_junit(tmp_path / "some.xml", fail_on=["dishonest"])
    suite = ElementTree.parse(tmp_path / "some.xml").getroot().find("testsuite")
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")
    assert [len(case) for case in suite] == [0, 0, 1, 1]


def test_annotations_are_escaped_and_few():
    many = records(*["dishonest"] * 12, *["narrow"] * 12)
    report = AuditReport((*many, AuditRecord(24, "error", NAUGHTY)), {})
    lines = list(github_annotations(report, ["dishonest"], "data/rows,1.csv"))
    errors = [line for line in lines if line.startswith("::error ")]
    warnings = [line for line in lines if line.startswith("::warning ")]
    assert len(errors) == len(warnings) == MOST_ANNOTATIONS
    assert lines[-1] == (
        "::notice title=Audit of explanations::25 explanations: 12 narrow, 12 dishonest, 1 error"
    )
    assert errors[0] == (
        "::error file=data/rows%2C1.csv,line=26,title=Explanation 24%3A error::"
        'It says "<&>", 100 %25 of \x00 it:%0Ain two lines, and: more.'
    )
    assert warnings[0].endswith("line=14,title=Explanation 12%3A narrow::It is narrow.")
    assert all("file=" not in line for line in github_annotations(report))


def test_the_command_line_writes_junit_and_annotations(tmp_path, capsys):
    """Of explanations that miss the model by more than next to nothing: flagged, and allowed."""
    pandas.DataFrame(TRAIN, columns=NAMES).to_csv(tmp_path / "train.csv", index=False)
    pandas.DataFrame(ROWS[:2], columns=NAMES).to_csv(tmp_path / "rows.csv", index=False)
    files = ["--data", str(tmp_path / "train.csv"), "--rows", str(tmp_path / "rows.csv")]
    more = ["--junit", str(tmp_path / "audit.xml"), "--github", "--fail-on", "dishonest,off-manifold"]
    strict = ["--agreement", "value", "--tolerance", "1e-6", "--no-progress"]
    command = ["audit", "--model", "audit_models:predict", *files, "--out", str(tmp_path), *strict]
    assert main([*command, *more]) == 0
    report = AuditReport.from_json((tmp_path / "audit.json").read_text())
    assert report.counts["unfaithful"] == 2
    suite = ElementTree.parse(tmp_path / "audit.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    lines = capsys.readouterr().out.splitlines()
    expected = list(github_annotations(report, ["dishonest", "off-manifold"], str(tmp_path / "rows.csv")))
    assert lines[-3:] == expected
    assert [line.split(" ")[0] for line in expected] == ["::warning", "::warning", "::notice"]
    assert main([*command, "--junit", str(tmp_path / "audit.xml")]) == 1
    suite = ElementTree.parse(tmp_path / "audit.xml").getroot().find("testsuite")
    assert suite.get("failures") == "2"


# ----------------------------------------------------------------------------------------- MLflow


def test_a_report_is_logged_to_mlflow(earlier, tmp_path, monkeypatch):
    """To a store in a folder, which needs no server."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    import mlflow

    with mlflow.start_run() as run:
        earlier.log_to_mlflow()
        replace(earlier, records=()).log_to_mlflow(prefix="empty", artifact_path="empty")
    client = mlflow.MlflowClient()
    logged = client.get_run(run.info.run_id).data
    assert logged.metrics["audit.trusted_share"] == earlier.counts["trusted"] / 5
    for verdict, count in earlier.counts.items():
        assert logged.metrics[f"audit.{verdict}_count"] == count
    covered = np.median([record.coverage for record in earlier])
    assert logged.metrics["audit.coverage_median"] == pytest.approx(covered)
    assert logged.metrics["audit.evaluations"] == sum(record.evaluations for record in earlier)
    assert logged.metrics["empty.trusted_count"] == 0
    assert "empty.trusted_share" not in logged.metrics
    assert (logged.params["audit.purity"], logged.params["audit.explanations"]) == ("0.9", "5")
    page = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="audit/audit.html")
    assert Path(page).read_text(encoding="utf-8") == earlier.to_html()
    written = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="audit/audit.json")
    assert Path(written).read_text(encoding="utf-8") == earlier.to_json()
