"""The commands explain and audit: files in, files out, exit codes, and what survives being killed."""

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
from lime_guarantee.adapters import registry
from skops import io as skops_io

from lime_guarantee import AuditReport
from lime_guarantee.cli.main import main

X, _, NAMES = audit_models.data()
QUICK = ["--purity", "0.9", "--confidence", "0.9", "--effort", "low", "--no-progress"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("audit")
    pandas.DataFrame(X[:400], columns=NAMES).to_csv(path / "train.csv", index=False)
    pandas.DataFrame(X[400:405], columns=NAMES).to_csv(path / "rows.csv", index=False)
    pandas.DataFrame(X[:400], columns=NAMES).to_parquet(path / "train.parquet")
    pandas.DataFrame(X[400:405], columns=NAMES).to_parquet(path / "rows.parquet")
    skops_io.dump(audit_models.forest(), path / "model.skops")
    joblib.dump(audit_models.forest(), path / "model.joblib")
    return path


def arguments(folder, command="audit", model="model.skops", kind="csv", **options):
    model = model if ":" in model else str(folder / model)
    given = [
        command,
        "--model",
        model,
        "--data",
        str(folder / f"train.{kind}"),
        "--rows",
        str(folder / f"rows.{kind}"),
    ]
    for name, value in options.items():
        given += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return given


def verdicts(out):
    return [record.verdict for record in AuditReport.from_json((out / "audit.json").read_text())]


@pytest.fixture(scope="module")
def reference(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("reference")
    assert main([*arguments(folder, out=out, certificate=out / "certificate.html"), *QUICK]) in (0, 1)
    return out


def test_an_audit_writes_a_report_and_a_table(reference, capsys):
    found = verdicts(reference)
    assert len(found) == 5
    assert list(pandas.read_csv(reference / "audit.csv")["verdict"]) == found
    report = AuditReport.from_json((reference / "audit.json").read_text())
    assert (reference / "audit.html").read_text(encoding="utf-8") == report.to_html()
    certificate = (reference / "certificate.html").read_text(encoding="utf-8")
    assert "RandomForestClassifier.predict_proba" in certificate
    assert report.about["training_data"] in certificate


def test_the_exit_code_says_whether_something_is_flagged(folder, reference, tmp_path, capsys):
    found = set(verdicts(reference))
    absent = next(v for v in ("off-manifold", "error") if v not in found)
    present = next(iter(found))
    assert main([*arguments(folder, out=tmp_path / "a", fail_on=absent), *QUICK]) == 0
    assert main([*arguments(folder, out=tmp_path / "b", fail_on=f"{absent},{present}"), *QUICK]) == 1
    printed = capsys.readouterr()
    assert "explanations are trusted" in printed.out
    assert printed.err == ""


def test_parquet_a_trusted_pickle_and_an_import_path_give_the_same_report(
    folder, reference, tmp_path, monkeypatch
):
    expected = (reference / "audit.json").read_text()
    main([*arguments(folder, kind="parquet", out=tmp_path / "parquet"), *QUICK])
    assert (tmp_path / "parquet" / "audit.json").read_text() == expected
    main([*arguments(folder, model="model.joblib", out=tmp_path / "pickle", trust_pickle=True), *QUICK])
    assert (tmp_path / "pickle" / "audit.json").read_text() == expected
    main([*arguments(folder, model="audit_models:predict", out=tmp_path / "import"), *QUICK])
    assert (
        json.loads((tmp_path / "import" / "audit.json").read_text())["records"]
        == json.loads(expected)["records"]
    )


STEPS = """
import numpy as np

from lime_guarantee import Adapter, register


class Step:
    def __init__(self, row, class_scores):
        self.row, self.class_scores, self.weights = row, class_scores, np.eye(len(row))[0]


class StepExplainer:
    def explain(self, instance, predict_fn):
        return Step(np.asarray(instance), predict_fn(np.array([instance]))[0])


def make(data, predict_fn):
    assert list(data.columns)[:1] == ["mean radius"]
    return StepExplainer()


@register
class StepAdapter(Adapter):
    explanation_class, explainer_class, explain_method = Step, StepExplainer, "explain"
    classifier = True

    def read(self):
        self.instance, self.weights = self.explanation.row, self.explanation.weights

    def surrogate(self, X):
        return np.tile(self.explanation.class_scores, (len(X), 1))
"""


def test_an_explainer_of_ones_own_is_named_like_a_model(folder, tmp_path, monkeypatch, capsys):
    (tmp_path / "steps.py").write_text(STEPS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    monkeypatch.setattr(registry, "_registered", [])
    given = arguments(folder, explainer="steps:make", out=tmp_path / "out")
    assert main([*given, *QUICK]) in (0, 1)
    report = AuditReport.from_json((tmp_path / "out" / "audit.json").read_text())
    assert {record.region.explained.kind for record in report} == {"StepAdapter"}
    for wrong, said in (
        ("steps:Nothing", "--explainer: steps:Nothing cannot be imported"),
        ("anchors", "--explainer: lime, shap or module:function is required; got 'anchors'"),
        ("steps:Step", "cannot be wrapped"),
    ):
        assert main(arguments(folder, explainer=wrong, out=tmp_path / "wrong")) == 2
        assert said in capsys.readouterr().err


def test_two_jobs_give_the_same_report(folder, reference, tmp_path):
    main([*arguments(folder, out=tmp_path, jobs=2), *QUICK])
    assert (tmp_path / "audit.json").read_text() == (reference / "audit.json").read_text()


def test_a_pickle_is_not_opened_unless_trusted(folder, tmp_path, capsys):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    joblib.dump(Evil(), tmp_path / "evil.joblib")
    assert main([*arguments(folder, model=str(tmp_path / "evil.joblib"), out=tmp_path / "out")]) == 2
    assert "unpickling runs whatever code it holds" in capsys.readouterr().err
    assert not (tmp_path / "ran").exists()


def test_a_skops_file_with_unknown_types_is_refused(folder, tmp_path, capsys):
    skops_io.dump(audit_models.FailsOn(1.0), tmp_path / "odd.skops")
    assert main([*arguments(folder, model=str(tmp_path / "odd.skops"), out=tmp_path / "out")]) == 2
    assert "FailsOn" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "nowhere:predict"}, "cannot be imported"),
        ({"model": "audit_models:nothing"}, "cannot be imported"),
        ({"model": "missing.skops"}, "there is no file"),
        ({"kind": "txt"}, "there is no file"),
        ({"fail_on": "suspicious"}, "suspicious"),
    ],
)
def test_what_is_wrong_is_said_and_ends_with_2(folder, tmp_path, capsys, changes, message):
    assert main(arguments(folder, out=tmp_path / "out", **changes)) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""


def test_tables_that_do_not_match_are_refused(folder, tmp_path, capsys):
    pandas.DataFrame(X[400:402, :5], columns=NAMES[:5]).to_csv(tmp_path / "few.csv", index=False)
    given = arguments(folder, out=tmp_path / "out")
    given[given.index("--rows") + 1] = str(tmp_path / "few.csv")
    assert main(given) == 2
    assert "the columns of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("explainer", "limit"), [("lime", {}), ("shap", {"max_evaluations": 20_000})], ids=["lime", "shap"]
)
def test_one_row_is_explained(folder, tmp_path, capsys, explainer, limit):
    page = tmp_path / "region.html"
    sheet = tmp_path / "certificate.html"
    asked = {"row": 2, "explainer": explainer, "json": True, "html": page, "certificate": sheet, **limit}
    code = main([*arguments(folder, "explain", **asked), *QUICK[:-1]])
    region = json.loads(capsys.readouterr().out)
    assert code == (0 if region["status"] == "certified" else 1)
    np.testing.assert_allclose(region["instance"], X[402])
    assert '"formula":{"link"' in page.read_text(encoding="utf-8")
    assert ('"curve":{' in page.read_text(encoding="utf-8")) == (not limit)  # it asks the model, too
    assert f"2 of {folder / 'rows.csv'}" in sheet.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("named", "used"), [("auto", "marginal"), ("uniform", "uniform"), ("joint", "joint")]
)
def test_the_measure_of_a_row_can_be_named(folder, capsys, named, used):
    main([*arguments(folder, "explain", row=2, json=True, measure=named), *QUICK[:-1]])
    region = json.loads(capsys.readouterr().out)
    assert (region["measure"], region["settings"]["measure"]) == (used, named)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_an_audit_killed_at_any_moment_resumes_to_the_same_report(folder, reference, tmp_path, seed):
    """kill -9 at random moments (two here, ten in the slow run), then once to the end."""
    given = [*arguments(folder, out=tmp_path), *QUICK]
    command = [sys.executable, "-m", "lime_guarantee", *given]
    rng = np.random.default_rng(seed)
    killed = 0
    for _ in range(10 if seed else 2):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        checkpoint = tmp_path / "checkpoint.jsonl"
        before = checkpoint.stat().st_size if checkpoint.exists() else 0
        while process.poll() is None and (not checkpoint.exists() or checkpoint.stat().st_size == before):
            time.sleep(0.01)  # so that every run gets somewhere, and none is killed while it starts
        time.sleep(float(rng.random()) * 0.3)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed >= 1
    assert main(given) in (0, 1)
    assert (tmp_path / "audit.json").read_text() == (reference / "audit.json").read_text()
