"""Models and tables as pipelines have them: words, models that were fitted on frames, ONNX files."""

import json
import pickle
import sys

import audit_models
import joblib
import lightgbm
import numpy as np
import pandas
import pytest
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType as Floats
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from lime_guarantee import AuditReport, GuaranteeRegion
from lime_guarantee.cli.coding import Coding
from lime_guarantee.cli.load_model import load_model
from lime_guarantee.cli.main import main

QUICK = ["--purity", "0.9", "--confidence", "0.9", "--effort", "low"]


@pytest.fixture(scope="module")
def adult(root_folder):
    """Adult with its words, a pipeline that was fitted on them, and both in files."""
    folder, root = root_folder
    table = pandas.read_csv(root / "benchmarks" / "data" / "adult.csv")
    income = table.pop("income")
    words = [name for name in table if not pandas.api.types.is_numeric_dtype(table[name])]
    table.iloc[:500].to_csv(folder / "train.csv", index=False)
    table.iloc[500:502].to_parquet(folder / "rows.parquet")
    encode = ColumnTransformer(
        [("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), words)],
        remainder="passthrough",
    )
    model = make_pipeline(encode, RandomForestClassifier(10, max_depth=6, random_state=0))
    joblib.dump(model.fit(table.iloc[:500], income.iloc[:500]), folder / "model.joblib")
    return folder, table, model


@pytest.fixture(scope="module")
def root_folder(tmp_path_factory, request):
    return tmp_path_factory.mktemp("models"), request.config.rootpath


def command(folder, name, *more, model="model.joblib", rows="rows.parquet"):
    given = [
        "--model",
        str(folder / model),
        "--data",
        str(folder / "train.csv"),
        "--rows",
        str(folder / rows),
    ]
    return [name, *given, *QUICK, *more]


def check_words(region, row, model):
    """Categories have their names, and the model said what it says of the words themselves."""
    axis = region.domain.axes[region.names.index("marital_status")]
    assert axis.kind == "categorical"
    assert {"Divorced", "Never-married"} <= set(axis.labels)
    assert axis.text(region.instance[4]) == row["marital_status"].item()
    answer = model.predict_proba(row)[0, region.explained.label]
    assert region.explained.model_at_instance[0] == pytest.approx(answer)


def test_a_pipeline_on_words_is_audited_and_categories_have_their_names(adult, tmp_path):
    folder, table, model = adult
    more = ["--trust-pickle", "--out", str(tmp_path), "--no-progress"]
    assert main(command(folder, "audit", *more)) in (0, 1)
    report = AuditReport.from_json((tmp_path / "audit.json").read_text())
    assert report.counts["error"] == 0, report.summary()
    for record in report:
        check_words(record.region, table.iloc[[500 + record.index]], model)
        explained = record.region.explained
        assert explained.label_name == str(model.classes_[explained.label])
    page = (tmp_path / "audit.html").read_text()
    assert all(table["marital_status"].iloc[500 + record.index] in page for record in report)


def test_shap_explains_a_pipeline_on_words(adult, capsys):
    folder, table, model = adult
    more = ["--trust-pickle", "--explainer", "shap", "--json", "--max-evaluations", "4000"]
    assert main(command(folder, "explain", *more)) in (0, 1)
    check_words(GuaranteeRegion.from_json(capsys.readouterr().out), table.iloc[[500]], model)


def test_the_model_is_asked_with_frames_as_it_was_fitted_on(adult, tmp_path, monkeypatch):
    """A column named otherwise, or codes instead of words, would raise in this model."""
    folder, table, _ = adult
    (tmp_path / "asking.py").write_text(
        "import numpy as np\n"
        "seen = []\n"
        "def predict(rows):\n"
        "    seen.append((list(rows.columns), {str(kind) for kind in rows.dtypes}, set(rows['sex'])))\n"
        "    one = 1 / (1 + np.exp(-(rows['sex'] == 'Male') + (rows['age'] - 40) / 10))\n"
        "    return np.column_stack([1 - one, one])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    given = command(folder, "explain", "--json")
    given[given.index("--model") + 1] = "asking:predict"
    assert main(given) in (0, 1)
    import asking

    assert len(asking.seen) > 5
    for columns, kinds, sexes in asking.seen:
        assert columns == list(table.columns)
        assert kinds <= {"str", "object", "float64", "int64"}
        assert sexes <= {"Male", "Female"}


@pytest.mark.parametrize(
    "made", [RandomForestClassifier(5, max_depth=3), lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)]
)
def test_models_fitted_on_frames_of_numbers_get_frames(onnx, tmp_path, capsys, made):
    """Asked with arrays they would warn, which is an error here; LightGBM has no blanks in its names."""
    folder = onnx[0]
    frame = pandas.read_csv(folder / "train.csv")
    assert any(" " in name for name in frame)
    model = made.fit(frame, audit_models.data()[1][:400])
    joblib.dump(model, tmp_path / "model.joblib")
    more = ["--trust-pickle", "--json"]
    assert main(command(folder, "explain", *more, model=tmp_path / "model.joblib", rows="rows.csv")) in (0, 1)
    explained = json.loads(capsys.readouterr().out)["explained"]
    answer = model.predict_proba(pandas.read_csv(folder / "rows.csv")[:1])[0, explained["label"]]
    assert explained["model_at_instance"] == pytest.approx([answer])


def test_words_truth_values_and_empty_cells_come_back_as_they_were():
    table = pandas.DataFrame(
        {
            "job": ["cook", None, "nurse"],
            "owner": [True, False, True],
            "rank": pandas.Categorical(["low", "high", "low"], ["low", "high"], ordered=True),
            "age": [30, 40, 50],
        }
    )
    new = table.iloc[:1].assign(job="pilot")
    coding = Coding.of(table, new)
    again = coding.frame(coding.codes(table))
    assert again.dtypes.iloc[:3].tolist() == table.dtypes.iloc[:3].tolist()
    pandas.testing.assert_frame_equal(again, table, check_dtype=False)
    assert coding.names[0] == ["cook", "nurse", "missing", "pilot"]
    assert coding.frame(coding.codes(new))["job"].tolist() == ["pilot"]
    axes = coding.training_data(coding.codes(table)).domain.axes
    assert [axis.kind for axis in axes] == ["categorical", "categorical", "categorical", "integer"]
    assert axes[0].label(1.0) == "nurse"


# ------------------------------------------------------------------------------------------ ONNX


@pytest.fixture(scope="module")
def onnx(root_folder):
    folder = root_folder[0] / "onnx"
    folder.mkdir()
    X, _, names = audit_models.data()
    pandas.DataFrame(X[:400], columns=names).to_csv(folder / "train.csv", index=False)
    pandas.DataFrame(X[400:402], columns=names).to_csv(folder / "rows.csv", index=False)
    kind = [("X", FloatTensorType([None, X.shape[1]]))]
    forest = audit_models.forest()
    regression = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X[:400], X[:400, 3] / 100)
    for name, model, options in (
        ("maps", forest, None),
        ("tensor", forest, {"zipmap": False}),
        ("regression", regression, None),
    ):
        made = to_onnx(model, initial_types=kind, options=options and {id(model): options})
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())
    return folder, X, regression


@pytest.mark.parametrize("name", ["maps", "tensor"])
def test_a_classifier_in_an_onnx_file_is_explained(onnx, capsys, name):
    folder, X, _ = onnx
    assert main(command(folder, "explain", "--json", model=f"{name}.onnx", rows="rows.csv")) in (0, 1)
    explained = json.loads(capsys.readouterr().out)["explained"]
    answer = audit_models.predict(X[400:401])[0, explained["label"]]
    assert explained["model_at_instance"] == pytest.approx([answer], abs=1e-5)


def test_a_regression_in_an_onnx_file_is_explained(onnx, capsys):
    folder, X, regression = onnx
    assert main(command(folder, "explain", "--json", model="regression.onnx", rows="rows.csv")) in (0, 1)
    explained = json.loads(capsys.readouterr().out)["explained"]
    assert explained["agreement"] == "value"
    assert explained["model_at_instance"] == pytest.approx(regression.predict(X[400:401]), rel=1e-4)


BOOSTED = {
    "xgboost": (xgboost.XGBClassifier, xgboost.XGBRegressor, {}, convert_xgboost),
    "lightgbm": (lightgbm.LGBMClassifier, lightgbm.LGBMRegressor, {"verbose": -1}, convert_lightgbm),
}


@pytest.mark.parametrize("task", ["classes", "values"])
@pytest.mark.parametrize("library", BOOSTED)
def test_boosted_trees_are_handed_over_as_onnx(onnx, tmp_path, capsys, library, task):
    folder, X, _ = onnx
    *makers, options, convert = BOOSTED[library]
    _, y, _ = audit_models.data()
    made, target = (makers[0], y) if task == "classes" else (makers[1], X[:, 3] / 100)
    model = made(n_estimators=8, max_depth=3, n_jobs=1, **options).fit(X[:400], target[:400])
    file = tmp_path / "model.onnx"
    file.write_bytes(convert(model, initial_types=[("X", Floats([None, X.shape[1]]))]).SerializeToString())
    assert main(command(folder, "explain", "--json", model=file, rows="rows.csv")) in (0, 1)
    explained = json.loads(capsys.readouterr().out)["explained"]
    if task == "classes":
        answer = model.predict_proba(X[400:401])[0, explained["label"]]
    else:
        answer = model.predict(X[400:401])[0]
    assert explained["agreement"] == ("class" if task == "classes" else "value")
    assert explained["model_at_instance"] == pytest.approx([answer], rel=1e-4)


def test_a_machine_without_onnxruntime_is_told_which_extra_has_it(onnx, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # as if it were not installed
    assert main(command(onnx[0], "explain", model="tensor.onnx", rows="rows.csv")) == 2
    assert "pip install 'lime-guarantee[onnx]'" in capsys.readouterr().err


def test_an_onnx_model_travels_to_workers(onnx):
    folder, X, _ = onnx
    model = load_model(str(folder / "tensor.onnx"))
    before = model.predict_proba(X[400:402])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X[400:402]), before)
    np.testing.assert_allclose(before, audit_models.predict(X[400:402]), atol=1e-5)


def test_an_onnx_model_with_an_input_a_column_takes_words(adult, capsys):
    folder, table, model = adult
    numbers = set(table.select_dtypes("number"))
    kinds = [
        (name, FloatTensorType([None, 1]) if name in numbers else StringTensorType([None, 1]))
        for name in table
    ]
    made = to_onnx(model, initial_types=kinds, options={id(model): {"zipmap": False}})
    (folder / "words.onnx").write_bytes(made.SerializeToString())
    assert main(command(folder, "explain", "--json", model="words.onnx")) in (0, 1)
    explained = json.loads(capsys.readouterr().out)["explained"]
    answer = model.predict_proba(table.iloc[500:501])[0, explained["label"]]
    assert explained["model_at_instance"] == pytest.approx([answer], abs=1e-5)
