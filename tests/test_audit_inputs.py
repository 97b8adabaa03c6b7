"""What an audit is given: wrong options raise at once, and a checkpoint knows what it is about."""

import json

import numpy as np
import pandas
import pytest
from lime.lime_tabular import LimeTabularExplainer
from sklearn.linear_model import LogisticRegression

from lime_guarantee import AuditReport, Domain, InvalidInputError, Problem, SameValue, Settings, audit, wrap
from lime_guarantee.auditing import run as run_module

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = (X @ [1.0, -1.0, 0.2] > 0).astype(int)
MODEL = LogisticRegression().fit(X, Y)
QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low"}


def lime(**options):
    return LimeTabularExplainer(X, feature_names=["a", "b", "c"], random_state=0, **options)


def run(**changes):
    asked = {
        "explainer": lime(),
        "X": X[:3],
        "predict_fn": MODEL.predict_proba,
        "training_data": X,
        "explain_kwargs": {"num_samples": 200},
        **QUICK,
    }
    return audit(**{**asked, **changes})


class Counting:
    """The model, which counts how often it is asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self, rows):
        self.calls += 1
        return MODEL.predict_proba(rows)


def explanations(model=MODEL.predict_proba):
    explainer = wrap(lime(), training_data=X)
    return [explainer.explain_instance(row, model, num_samples=200) for row in X[:2]]


# ------------------------------------------------------------------------------------------ at once


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n_job": 2}, "n_job: this kind of explanation has no such option"),
        ({"n_jobs": 0}, "n_jobs: at least one worker"),
        ({"agreement": "best"}, "agreement: one of"),
        ({"tolerance": -1.0}, "tolerance: a positive number"),
        ({"max_evaluations": 5}, "max_evaluations: at least"),
        ({"measure": "volume"}, "measure: one of"),
        ({"hide_color": 0}, "hide_color: this kind of explanation has no such option"),
        ({"predict_fn": None}, r"predict_fn: .*pass predict_fn="),
        ({"predict_fn": MODEL}, r"predict_fn: .*LogisticRegression.*predict_fn=model\.predict_proba"),
        ({"training_data": "train.csv"}, r"training_data: .*read_csv\('train\.csv'\)"),
        ({"seed": 1}, r"seed: .*random_state=1"),
        ({"certifier": "best"}, "certifier: one of"),
        ({"batch_rows": 0}, "batch_rows: a positive integer"),
        ({"purity": 2}, "purity: a number between 0 and 1"),
        ({"max_evaluations": 0}, "max_evaluations: a positive integer"),
        ({"explainer": MODEL}, "cannot be wrapped"),
        ({"training_data": np.where(X > 2, np.inf, X)}, "has infinite values"),
        ({"search": "best", "effort": None}, "search: one of"),
    ],
)
def test_what_cannot_be_audited_raises_at_once(changes, said):
    model = Counting()
    with pytest.raises(InvalidInputError, match=said):
        run(**{"predict_fn": model, **changes})
    assert model.calls == 0


def test_explanations_are_looked_at_before_any_is_audited():
    plain = lime().explain_instance(X[0], MODEL.predict_proba, num_samples=100)
    model = Counting()
    remembered = explanations(model)
    before = model.calls
    with pytest.raises(InvalidInputError, match=r"explanation 2: explainer: .*wrap\(explainer\)"):
        audit([*remembered, plain], **QUICK)
    with pytest.raises(InvalidInputError, match="explanation 0: predict_fn: the explanation does not keep"):
        audit([plain], explainer=lime(), **QUICK)
    with pytest.raises(InvalidInputError, match="surrogate: this kind of explanation has no such option"):
        audit(remembered, surrogate="profile", **QUICK)
    with pytest.raises(InvalidInputError, match=r"there is no adapter for builtins\.int"):
        audit([*remembered, 3], **QUICK)
    with pytest.raises(InvalidInputError, match="n_job: this kind of explanation has no such option"):
        audit(remembered, training_data=X, n_job=2, **QUICK)
    assert model.calls == before


def test_bare_shap_values_are_pointed_to_their_function():
    with pytest.raises(InvalidInputError, match=r"from_shap_values\(values, explainer, data\)"):
        audit(np.zeros((3, 4)))


@pytest.mark.parametrize("state", [np.random.RandomState, np.random.default_rng])
def test_a_seed_is_drawn_from_a_random_state_and_kept(state):
    report = run(X=X[:1], random_state=state(3))
    seed = report.about["random_state"]
    assert isinstance(seed, int)
    assert run(X=X[:1], random_state=state(3)) == report
    assert run(X=X[:1], random_state=seed) == report


def test_a_problem_takes_no_options_of_adapters():
    domain = Domain.from_bounds([0], [1])
    problem = Problem(lambda X: X[:, 0], lambda X: X[:, 0], SameValue(0.1), np.array([0.5]), domain)
    with pytest.raises(InvalidInputError, match="n_job: no such option; a Problem takes none"):
        audit([problem], n_job=2)


def test_every_setting_is_accepted_and_kept():
    report = run(certifier="zero-failure", batch_rows=50, max_evaluations=20_000)
    assert [record.verdict == "error" for record in report] == [False] * 3
    for record in report:
        settings = record.region.settings
        assert (settings.certifier, settings.batch_rows) == ("zero-failure", 50)
    same = run(settings=Settings(certifier="zero-failure", batch_rows=50, max_evaluations=20_000))
    assert same.to_json() == report.to_json()


# -------------------------------------------------------------------------------------- checkpoints


def refused(path, **changes):
    with pytest.raises(InvalidInputError, match="belongs to another audit: ") as caught:
        run(checkpoint=path, **changes)
    return str(caught.value).split("another audit: ")[1].split(" differ")[0]


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    path = tmp_path / "audit.jsonl"
    first = run(checkpoint=path)
    retrained = LogisticRegression().fit(X, (X[:, 0] > 0).astype(int))  # the same type and parameters
    assert refused(path, predict_fn=retrained.predict_proba) == "model"
    stronger = LogisticRegression(C=1 + 1e-9).fit(X, Y)  # other parameters, nearly the same answers
    assert refused(path, predict_fn=stronger.predict_proba) == "model"
    again = LogisticRegression().fit(X, Y)
    assert run(checkpoint=path, predict_fn=again.predict_proba).to_json() == first.to_json()


def test_a_checkpoint_of_another_explainer_or_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "audit.jsonl"
    run(checkpoint=path)
    assert refused(path, explainer=lime(discretizer="decile")) == "explainer"
    assert refused(path, explainer=lime(kernel_width=0.3)) == "explainer"
    assert refused(path, explain_kwargs={"num_samples": 100}) == "explain_kwargs"
    monkeypatch.setattr(run_module, "__version__", "9.9")
    assert refused(path) == "version"


def test_rows_that_ended_in_an_error_are_tried_again(tmp_path):
    path = tmp_path / "audit.jsonl"
    expected = run()
    run(checkpoint=path)
    head, *records = [json.loads(line) for line in path.read_text().splitlines()]
    records[1] = {**records[1], "verdict": "error", "reason": "the disk was full", "region": None}
    path.write_text("".join(json.dumps(line) + "\n" for line in (head, *records)))
    assert run(checkpoint=path).to_json() == expected.to_json()
    written = path.read_text()
    assert len(written.splitlines()) == 5  # the head, three rows, and the one tried again
    assert run(checkpoint=path).to_json() == expected.to_json()
    assert path.read_text() == written  # which is done by now


def test_rows_of_a_frame_are_called_by_their_index(tmp_path):
    frame = pandas.DataFrame(X[:3], columns=["a", "b", "c"])
    assert [record.row_id for record in run(X=frame)] == [None] * 3  # they are merely numbered
    frame.index = ["A-7", "A-8", 9]
    named = run(X=frame, checkpoint=tmp_path / "audit.jsonl")
    assert [record.row_id for record in named] == ["A-7", "A-8", "9"]
    assert named.to_frame()["row_id"].tolist() == ["A-7", "A-8", "9"]
    again = AuditReport.from_checkpoint(tmp_path / "audit.jsonl")
    assert [record.row_id for record in again] == ["A-7", "A-8", "9"]
