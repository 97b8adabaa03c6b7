"""What cannot be audited ends with 2 and one line that says what is wrong and what to do; Ctrl-C with 130."""

import json
import os
import signal
import subprocess
import sys
import time

import audit_models
import joblib
import numpy as np
import pandas
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from lime_guarantee import AuditReport
from lime_guarantee.cli.main import main

X, Y, NAMES = audit_models.data()
QUICK = ["--purity", "0.9", "--confidence", "0.9", "--effort", "low", "--no-progress"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("refusals")
    train, rows = frame(X[:400]), frame(X[400:403])
    train.to_csv(path / "train.csv", index=False)
    rows.to_csv(path / "rows.csv", index=False)
    (path / "empty.csv").write_bytes(b"")
    (path / "binary.csv").write_bytes(bytes(range(256)) * 40)
    (path / "zeros.csv").write_bytes(b"a,b\n1,\0\n2,3\n")
    (path / "latin.csv").write_bytes("größe,x\n1,2\n".encode("latin-1"))
    train[:0].to_csv(path / "header.csv", index=False)
    train.mask(train > 20).to_csv(path / "holes.csv", index=False)
    train.replace(train.iloc[3, 0], np.inf).to_csv(path / "infinite.csv", index=False)
    train.assign(diagnosis=Y[:400]).to_csv(path / "target.csv", index=False)
    rows.assign(diagnosis=Y[400:403]).to_csv(path / "target_rows.csv", index=False)
    (path / "broken.parquet").write_bytes(b"PAR1 nothing")
    (path / "broken.skops").write_bytes(b"no zip")
    (path / "broken.joblib").write_bytes(b"\x80\x04no pickle")
    (path / "broken.onnx").write_bytes(b"no model")
    joblib.dump(audit_models.forest(), path / "array.joblib")
    named = LogisticRegression(max_iter=10_000).fit(train, Y[:400])
    joblib.dump(named, path / "frame.joblib")
    joblib.dump(LinearSVC().fit(X[:400], Y[:400]), path / "svc.joblib")
    joblib.dump(LinearRegression().fit(X[:400, 1:], X[:400, 0]), path / "narrow.joblib")
    return path


def frame(rows):
    return pandas.DataFrame(rows, columns=NAMES)


def command(folder, out, *more, model="array.joblib", data="train.csv", rows="rows.csv", name="audit"):
    model = model if ":" in model else str(folder / model)
    given = [name, "--model", model, "--data", str(folder / data), "--rows", str(folder / rows)]
    out = ["--out", str(out), *QUICK] if name == "audit" else QUICK[:-1]
    return [*given, "--trust-pickle", *out, *more]


TARGET = {"data": "target.csv", "rows": "target_rows.csv"}
BAD = [
    ({"data": "empty.csv"}, "--data: * is empty. Give a table"),
    ({"data": "binary.csv"}, "--data: * cannot be read as CSV (*). Write the table anew"),
    ({"data": "zeros.csv"}, "--data: * cannot be read as CSV (it holds zero bytes*). Write the table anew"),
    ({"data": "latin.csv"}, "--data: * cannot be read as CSV ('utf-8' codec*). Write the table anew"),
    ({"data": "broken.parquet"}, "--data: * cannot be read as Parquet (*). Write the table anew"),
    ({"rows": "header.csv"}, "--rows: * has no rows under its header. Give a table"),
    ({"model": "broken.skops"}, "--model: * is no skops file (*). Save the model with skops.io.dump"),
    ({"model": "broken.joblib"}, "--model: * cannot be opened (*). It may be damaged*; save the model anew"),
    ({"model": "broken.onnx"}, "--model: * cannot be opened as ONNX (*). Export the model anew"),
    (
        {"data": "holes.csv"},
        "--data: *: column 'mean radius' has no value (NaN) in * of 400 rows, *",
    ),
    (
        {"data": "infinite.csv"},
        "--data: *: column 'mean radius' is infinite in 1 of 400 rows",
    ),
    (TARGET, "--data: the model was fitted on 6 columns; * has 7: *the target above all"),
    (
        {**TARGET, "model": "frame.joblib"},
        "--data: the model was fitted without 'diagnosis'*the target",
    ),
    (
        {**TARGET, "model": "audit_models:predict"},
        "it raised ValueError*without the target",
    ),
    (
        {"model": "audit_models:always_raises"},
        "it raised RuntimeError: no such table*--debug",
    ),
    ({"model": "audit_models:one_dimension"}, "*a probability for every class is required*(8,)*--regression"),
    ({"model": "audit_models:not_a_number"}, "*the first 8 rows of --data, it answered with NaN*Mend it"),
    ({"model": "audit_models:log_odds"}, "*probabilities are required, from 0 to 1; it answered *softmax"),
    ({"model": "audit_models:words"}, "*numbers are required as answers; got [*]*predict_proba"),
    ({"model": "audit_models:data"}, "it raised TypeError"),
    ({"model": "svc.joblib"}, "LinearSVC is a classifier*CalibratedClassifierCV*--method decision_function"),
]


def in_order(parts, text):
    """Whether the parts between the stars of a pattern stand in a text, one after the other."""
    at = 0
    for part in parts.split("*"):
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


@pytest.mark.parametrize(("changes", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_bad_input_is_told_in_one_line(folder, tmp_path, capsys, changes, said):
    assert main(command(folder, tmp_path / "out", **changes)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1, told.err
    assert told.err.startswith("lime-guarantee: ")
    assert in_order(said, told.err), told.err
    assert not (tmp_path / "out").exists()


def test_debug_shows_where_an_error_comes_from(folder, tmp_path, capsys):
    given = command(folder, tmp_path, "--debug", model="audit_models:always_raises")
    assert main(given) == 2
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert 'raise RuntimeError("no such table")' in told
    assert told.splitlines()[-1].startswith("lime-guarantee: --model")


def test_a_module_that_raises_when_it_is_imported_is_told_in_one_line(folder, tmp_path, capsys, monkeypatch):
    (tmp_path / "bad_module.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert main(command(folder, tmp_path / "out", model="bad_module:predict")) == 2
    told = capsys.readouterr().err
    assert in_order("--model: bad_module:predict cannot be imported: ZeroDivisionError*.\n", told)
    assert told.count("\n") == 1


def test_what_nobody_thought_of_is_told_in_one_line_and_is_not_flagged(folder, tmp_path, capsys):
    """1 means flagged: an error that is not ours must not end with it."""
    (tmp_path / "out").write_text("a file, where a folder is wanted")
    assert main(command(folder, tmp_path / "out")) == 2
    told = capsys.readouterr().err
    assert in_order("lime-guarantee: *File exists*out", told)
    assert told.count("\n") == 1


def test_probabilities_may_be_rounded_beyond_0_and_1(folder, tmp_path, capsys):
    given = command(folder, tmp_path, "--json", model="audit_models:rounded_beyond_1", name="explain")
    assert main(given) in (0, 1)
    assert json.loads(capsys.readouterr().out)["explained"]["agreement"] == "class"


def test_a_table_of_words_where_numbers_were_is_refused(folder, tmp_path, capsys):
    frame(X[400:403]).assign(**{NAMES[1]: "rough"}).to_csv(tmp_path / "words.csv", index=False)
    given = command(folder, tmp_path / "out")
    given[given.index("--rows") + 1] = str(tmp_path / "words.csv")
    assert main(given) == 2
    assert "'mean texture' must hold numbers in both" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["array.joblib", "svc.joblib"])
def test_classes_are_never_taken_for_numbers(folder, tmp_path, capsys, model):
    for more in (["--regression"], ["--method", "predict"]):
        assert main(command(folder, tmp_path / "out", *more, model=model)) == 2
        assert "what it predicts are classes, not probabilities" in capsys.readouterr().err


def test_a_score_is_explained_in_its_own_scale(folder, tmp_path, capsys):
    given = {"model": "svc.joblib", "name": "explain"}
    assert main(command(folder, tmp_path, "--json", "--method", "decision_function", **given)) in (0, 1)
    explained = json.loads(capsys.readouterr().out)["explained"]
    svc = joblib.load(folder / "svc.joblib")
    assert explained["model_at_instance"] == pytest.approx(svc.decision_function(X[400:401]))
    assert explained["agreement"] == "value"
    assert explained["tolerance"] > 1  # a tenth of the range of the scores


# --------------------------------------------------------------------------------- rows that fail


def test_rows_that_ended_in_an_error_end_with_2_unless_they_are_allowed(folder, tmp_path, capsys):
    """The model answers the first question, and fails on the rows that are explained."""
    given = {"model": "audit_models:fails_on_row_401"}
    assert main(command(folder, tmp_path, **given)) == 2
    told = capsys.readouterr()
    report = AuditReport.from_json((tmp_path / "audit.json").read_text())
    failed = report.counts["error"]
    assert 0 < failed < 3
    assert told.err.count("\n") == 1
    assert in_order(f"{failed} of 3 rows ended in an error*allows 0 *database is down", told.err)
    assert f"{failed}  error" in told.out
    absent = next(verdict for verdict in ("off-manifold", "uncertified") if not report.counts[verdict])
    enough, too_few = str(failed / 3 + 0.01), str(failed / 3 - 0.01)
    assert main(command(folder, tmp_path, "--fail-on", absent, "--allow-errors", enough, **given)) == 0
    assert main(command(folder, tmp_path, "--fail-on", absent, "--allow-errors", too_few, **given)) == 2
    assert main(command(folder, tmp_path, "--fail-on", "error", "--allow-errors", "1", **given)) == 1
    with pytest.raises(SystemExit):
        main(command(folder, tmp_path, "--allow-errors", "5"))


@pytest.mark.filterwarnings(r"ignore:\s*Prediction prob:UserWarning")  # LIME's own
def test_a_row_that_is_answered_with_nan_is_that_rows_error(folder, tmp_path, capsys):
    """The rows of --data are answered with numbers; a checkpoint, which is JSON, has no NaN."""
    assert main(command(folder, tmp_path, model="audit_models:nan_on_row_400")) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert in_order("1 of 3 rows ended in an error*Row 0: *NaN", told), told
    report = AuditReport.from_json((tmp_path / "audit.json").read_text())
    assert report.about["model"]["answers"][0] == [None, None]
    assert main(command(folder, tmp_path, "--allow-errors", "0.5", model="audit_models:nan_on_row_400")) < 2


# ---------------------------------------------------------------------------------------- Ctrl-C


def test_ctrl_c_before_there_is_a_checkpoint(folder, tmp_path, capsys):
    assert main(command(folder, tmp_path, model="audit_models:interrupted")) == 130
    assert capsys.readouterr().err == "lime-guarantee: interrupted.\n"


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_ctrl_c_names_the_checkpoint(folder, tmp_path, jobs):
    """Sent to all of its processes, as a terminal does."""
    frame(np.tile(X[400:500], (20, 1))).to_csv(tmp_path / "many.csv", index=False)
    given = command(folder, tmp_path, "--jobs", jobs, model="audit_models:predict")
    given[given.index("--rows") + 1] = str(tmp_path / "many.csv")
    started = subprocess.Popen(
        [sys.executable, "-m", "lime_guarantee", *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # jobs in the background ignore it
        env={**os.environ, "PYTHONPATH": os.path.dirname(__file__)},
    )
    checkpoint = tmp_path / "checkpoint.jsonl"
    while not checkpoint.exists() or checkpoint.read_text().count("\n") < 3:
        assert started.poll() is None, started.communicate()
        time.sleep(0.05)
    os.killpg(started.pid, signal.SIGINT)
    out, err = started.communicate()
    assert started.returncode == 130
    assert out == ""
    assert err.count("\n") == 1
    assert err.endswith(f"What is done is in {checkpoint}; the same command goes on from there.\n")
