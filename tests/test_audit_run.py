"""Many explanations: the same report whatever the workers, whatever is cut off."""

import ctypes
import json
import os
import signal
import sys
import time

import audit_models
import numpy as np
import pandas as pd
import pytest
import shap
from lime.lime_tabular import LimeTabularExplainer
from sklearn.linear_model import Ridge as Fitted

from lime_guarantee import (
    AuditReport,
    Divide,
    FlaggedExplanations,
    InvalidInputError,
    Problem,
    SameValue,
    audit,
)
from lime_guarantee.auditing import VERDICTS, AuditRecord

X, Y, NAMES = audit_models.data()
TRAIN, ROWS = X[:400], X[400:408]
SETTINGS = {"purity": 0.9, "confidence": 0.9, "effort": "low", "training_data": TRAIN}


def lime():
    return LimeTabularExplainer(
        TRAIN, feature_names=NAMES, class_names=["malignant", "benign"], random_state=0
    )


def run(**changes):
    settings = {
        "explainer": lime(),
        "X": ROWS,
        "predict_fn": audit_models.predict,
        "explain_kwargs": {"num_samples": 300},
        **SETTINGS,
    }
    return audit(**{**settings, **changes})


@pytest.fixture(scope="module")
def serial():
    return run()


def test_every_row_has_a_verdict_and_a_reason(serial):
    assert [record.index for record in serial] == list(range(len(ROWS)))
    assert {record.verdict for record in serial} <= set(VERDICTS)
    assert all(record.reason.endswith(".") for record in serial)
    assert sum(serial.counts.values()) == len(serial) == len(ROWS)


def test_frames_have_a_row_for_each(serial):
    frame = serial.to_frame()
    assert len(frame) == len(ROWS)
    assert list(frame["verdict"]) == [record.verdict for record in serial]
    features = serial.features_frame()
    assert len(features) == len(ROWS) * audit_models.COLUMNS
    assert set(features["feature"]) == set(NAMES)


def test_a_report_survives_json(serial):
    again = AuditReport.from_json(serial.to_json())
    assert again == serial
    assert again.to_json() == serial.to_json()


@pytest.mark.parametrize("suffix", ["json", "csv", "parquet"])
def test_a_report_is_written_to_files(serial, tmp_path, suffix):
    import pandas

    path = tmp_path / f"audit.{suffix}"
    serial.save(path)
    if suffix == "json":
        assert AuditReport.from_json(path.read_text()) == serial
    else:
        read = pandas.read_csv(path) if suffix == "csv" else pandas.read_parquet(path)
        assert list(read["verdict"]) == [record.verdict for record in serial]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_file_that_cannot_be_written_leaves_the_old_one(serial, tmp_path):
    path = tmp_path / "audit.json"
    path.write_text("old")
    unwritable = AuditRecord(8, "trusted", "JSON has no such number.", evaluations=1j)
    with pytest.raises(TypeError, match="not JSON serializable"):
        AuditReport((*serial.records, unwritable), serial.about).save(path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["audit.json"]


def test_raise_if_raises_for_these_verdicts_only(serial):
    present = {record.verdict for record in serial}
    for verdict in VERDICTS:
        if verdict in present:
            with pytest.raises(FlaggedExplanations, match=verdict) as raised:
                serial.raise_if(verdict)
            assert all(record.verdict == verdict for record in raised.value.records)
        else:
            serial.raise_if(verdict)
    with pytest.raises(InvalidInputError, match="suspicious"):
        serial.raise_if("suspicious")


def test_the_same_seed_gives_the_same_report_and_another_seed_another(serial):
    assert run().to_json() == serial.to_json()
    assert run(random_state=1).to_json() != serial.to_json()


def test_an_error_in_one_row_is_that_row_s_result(serial):
    report = run(predict_fn=audit_models.FailsOn(ROWS[3, 0]))
    assert report[3].verdict == "error"
    assert "the database is down" in report[3].reason
    others = [record for record in report if record.index != 3]
    assert all(record.verdict != "error" for record in others), report.summary()
    same = [serial[record.index].region.to_json() == record.region.to_json() for record in others]
    assert all(same)  # only what is asked about the audited rows may differ: row 3 is one of them
    assert AuditReport.from_json(report.to_json()) == report


def test_shap_explanations_are_audited():
    explainer = shap.PermutationExplainer(audit_models.predict, shap.maskers.Independent(TRAIN))
    settings = {**SETTINGS, "explainer": explainer, "X": ROWS[:2], "explain_kwargs": {"silent": True}}
    report = audit(predict_fn=audit_models.predict, allowance=1_500, **settings)
    assert all(record.verdict != "error" for record in report), report.summary()
    again = audit(predict_fn=audit_models.predict, allowance=1_500, n_jobs=2, **settings)
    assert again.to_json() == report.to_json()


def test_explanations_made_before_are_audited_as_they_are():
    explainer = lime()
    made = [explainer.explain_instance(row, audit_models.predict, num_samples=300) for row in ROWS[:2]]
    with pytest.raises(InvalidInputError, match="explanations"):
        audit(made, X=ROWS)
    settings = {**SETTINGS, "explainer": explainer, "predict_fn": audit_models.predict}
    records = audit(made, **settings)
    # A plain LIME explanation does not keep its row: each such record says so.
    assert [record.verdict for record in records] == ["error", "error"]
    assert "instance" in records[0].reason


class Ridge(Fitted):
    """A regressor whose repr has its address, as plain objects have."""

    def __repr__(self):
        return object.__repr__(self)


@pytest.fixture(scope="module")
def checkpoint_lines(tmp_path_factory):
    """The lines of the checkpoint of a run that was not cut off."""
    path = tmp_path_factory.mktemp("checkpoint") / "audit.jsonl"
    run(checkpoint=path)
    return path.read_bytes().splitlines(keepends=True)


class TestCheckpoint:
    """A run that is cut off goes on from where it was."""

    def test_a_second_run_repeats_nothing(self, serial, tmp_path):
        path = tmp_path / "audit.jsonl"
        assert run(checkpoint=path).to_json() == serial.to_json()

        asked = []

        def watched(X):
            asked.append(len(X))
            return audit_models.predict(X)

        watched.__name__ = audit_models.predict.__name__
        assert run(checkpoint=path, predict_fn=watched).to_json() == serial.to_json()
        assert asked == [len(ROWS)]  # whether it is the same model

    @pytest.mark.parametrize("kept", [0, 1, 5])
    @pytest.mark.parametrize("cut", [0, 1, 40])
    def test_a_file_cut_off_anywhere_ends_with_the_same_report(
        self, serial, checkpoint_lines, tmp_path, kept, cut
    ):
        path, lines = tmp_path / "audit.jsonl", checkpoint_lines
        path.write_bytes(b"".join(lines[: kept + 1]) + lines[kept + 1][:cut])
        assert run(checkpoint=path).to_json() == serial.to_json()
        assert len(path.read_bytes().splitlines()) == len(ROWS) + 1

    def test_another_audit_is_refused(self, tmp_path):
        path = tmp_path / "audit.jsonl"
        run(checkpoint=path, X=ROWS[:1])
        with pytest.raises(InvalidInputError, match="belongs to another audit: purity"):
            run(checkpoint=path, X=ROWS[:1], purity=0.8)
        with pytest.raises(InvalidInputError, match="rows"):
            run(checkpoint=path, X=ROWS[1:2])
        with pytest.raises(InvalidInputError, match="training_data"):
            run(checkpoint=path, X=ROWS[:1], training_data=TRAIN[1:])
        with pytest.raises(InvalidInputError, match="bounds"):
            run(checkpoint=path, X=ROWS[:1], bounds={NAMES[0]: (0, 50)})

    def test_other_explanations_are_refused(self, tmp_path):
        path = tmp_path / "audit.jsonl"
        made = [Problem(np.sum, np.sum, SameValue(1.0), np.full(2, x), None) for x in (0.1, 0.2)]
        audit(made[:1], checkpoint=path)  # its record is an error: it has no domain
        assert audit(made[:1], checkpoint=path)[0].verdict == "error"
        with pytest.raises(InvalidInputError, match="rows"):
            audit(made[1:], checkpoint=path)

    def test_options_that_are_objects_are_the_same_in_the_next_run(self, tmp_path):
        path = tmp_path / "audit.jsonl"
        once = {"checkpoint": path, "X": ROWS[:1], "purity": 0.9, "effort": None}
        report = run(
            **once, search=Divide(20, 10), explain_kwargs={"num_samples": 300, "model_regressor": Ridge()}
        )
        again = run(
            **once, search=Divide(20, 10), explain_kwargs={"num_samples": 300, "model_regressor": Ridge()}
        )
        assert again.to_json() == report.to_json()
        assert "0x" not in path.read_text().splitlines()[0]

    def test_a_damaged_file_is_refused(self, tmp_path):
        path = tmp_path / "audit.jsonl"
        run(checkpoint=path, X=ROWS[:2])
        lines = path.read_text().splitlines()
        lines[1] = lines[1][:50]
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(InvalidInputError, match=r"line 2 .* is not JSON"):
            run(checkpoint=path, X=ROWS[:2])

    def test_every_line_is_on_the_disk_when_its_row_is_done(self, tmp_path):
        path = tmp_path / "audit.jsonl"
        seen = []

        def watching(X):
            seen.append(len(path.read_text().splitlines()))
            return audit_models.predict(X)

        run(checkpoint=path, predict_fn=watching)
        assert sorted(set(seen)) == list(range(1, len(ROWS) + 1))
        assert [json.loads(line).get("index") for line in path.read_text().splitlines()[1:]] == list(range(8))


def test_data_is_read_by_its_names(serial):
    frame = pd.DataFrame(TRAIN, columns=NAMES)
    assert [record.coverage for record in run(data=frame[NAMES[::-1]])] == [
        record.coverage for record in serial
    ]


def test_numbers_may_be_those_of_numpy(serial, tmp_path):
    report = run(
        random_state=np.int64(0), purity=np.float64(0.9), label=np.int64(1), checkpoint=tmp_path / "a.jsonl"
    )
    assert [record.verdict for record in report] == [record.verdict for record in serial]
    assert AuditReport.from_json(report.to_json()) == report


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": None}, "either explanations"),
        ({"explainer": None}, "explainer: it is needed"),
        ({"min_reach": 1.5}, "min_reach"),
        ({"error": -0.1}, "error"),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        run(**changes)


def test_a_verdict_per_problem(serial):
    """The summary names the worst first, and nothing that is not flagged."""
    text = serial.summary()
    assert text.startswith(f"{serial.counts['trusted']} of {len(ROWS)}")
    for record in serial.flagged[:10]:
        assert f"#{record.index} {record.verdict}: {record.reason}" in text
    severities = [record.severity for record in serial.flagged]
    assert severities == sorted(severities, reverse=True)


def test_coverage_decides_what_is_narrow():
    report = run(min_coverage=1.0, X=ROWS[:3])
    assert not any(record.verdict == "trusted" for record in report)
    assert np.all([record.coverage < 1 for record in report if record.verdict == "narrow"])


def test_ctrl_c_that_a_callback_of_c_swallows_still_ends_the_audit(tmp_path, capfd):
    """Python prints such a KeyboardInterrupt, and forgets it; compilers have such callbacks."""
    pressed = []

    @ctypes.CFUNCTYPE(None)
    def press():
        os.kill(os.getpid(), signal.SIGINT)
        pressed.append(time.sleep(0.01))  # where it is raised

    def predict(X):
        if path.exists() and path.read_text().count("\n") == 3 and not pressed:
            press()
            pressed.append("asked")
        return audit_models.predict(X)

    path, before = tmp_path / "kept.jsonl", (signal.getsignal(signal.SIGINT), sys.unraisablehook)
    listening = signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            run(predict_fn=predict, checkpoint=path)
    finally:
        signal.signal(signal.SIGINT, listening)
    assert pressed == ["asked"]
    assert path.read_text().count("\n") == 4  # what was going on is done and kept
    assert capfd.readouterr().err == ""
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before
