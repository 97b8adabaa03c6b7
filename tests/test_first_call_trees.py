"""The commonest call there is: `shap.TreeExplainer(model)(X)`, then `exp[0].guarantee_region()`."""

import pickle

import numpy as np
import pandas as pd
import pytest
from shap_cases import CATEGORIES, CLASSES, PRICE, QUICK, STEPS, X, fitted, shap, theirs
from sklearn.base import clone

from lime_guarantee import InvalidInputError, audit, from_shap_values, guarantee_region, install, wrap
from lime_guarantee.api import problem_of
from lime_guarantee.errors import GuaranteeWarning

TREES = ["forest", "forest class", "hist", "boosting", "xgboost", "xgboost class", "lightgbm class"]


@pytest.fixture(autouse=True)
def _installed():
    with install():
        yield


def explained(model, rows):
    """As a newcomer does it: after install(), without a background."""
    return theirs(lambda: shap.TreeExplainer(model)(rows))


def region_of(explanation, **options):
    return theirs(explanation.guarantee_region, **QUICK, **options)


@pytest.mark.parametrize("name", TREES)
def test_trees_alone_take_the_explained_rows(name):
    batch = explained(fitted(name), X[:100])
    row = batch[0, :, 1] if batch.values.ndim == 3 else batch[0]
    region = region_of(row)
    assert region.status == "certified"
    assert region.domain.lower == pytest.approx(X[:100].min(axis=0))
    assert region.domain.upper == pytest.approx(X[:100].max(axis=0))
    assert "100 rows that were explained together" in str(region)
    assert "training_data=" in str(region)


def test_the_explained_rows_are_warned_about():
    row = explained(fitted("forest"), X[:50])[0]
    with pytest.warns(GuaranteeWarning, match="50 rows that were explained together"):
        row.guarantee_region(**QUICK)


@pytest.mark.parametrize("name", TREES)
def test_a_single_explained_row_takes_the_trees_own_cover(name):
    batch = explained(fitted(name), X[:1])
    region = region_of(batch[0, :, 1] if batch.values.ndim == 3 else batch[0])
    assert region.status == "certified"
    assert region.measure == "uniform"
    assert "the trees' own splits" in str(region)
    width = np.ptp(X, axis=0)
    assert (region.domain.lower > X.min(axis=0) - width).all()
    assert (region.domain.upper < X.max(axis=0) + width).all()


def test_rows_made_from_the_cover_are_spread_like_the_data():
    from lime_guarantee.adapters.shap_trees import SplitRanges

    trees = theirs(shap.TreeExplainer, fitted("forest")).model.trees
    made = SplitRanges.of(trees, X[0]).rows(trees, np.random.default_rng(0), 400)
    # The forest splits its features where they matter: the first about 0, the second about 0.5 (see STEPS).
    for feature, split in ((0, 0.02), (1, 0.6)):
        share = (X[:, feature] > split).mean()
        assert (made[:, feature] > split).mean() == pytest.approx(share, abs=0.1)


def test_training_data_wins_over_the_explained_rows():
    row = explained(fitted("forest"), X[:50])[0]
    region = row.guarantee_region(training_data=X, **QUICK)
    assert region.domain.upper == pytest.approx(X.max(axis=0))
    assert "explained together" not in str(region)


def test_bare_values_of_trees_alone():
    explainer = shap.TreeExplainer(fitted("forest"))
    values = theirs(explainer.shap_values, X[:50])
    region = theirs(from_shap_values(values, explainer, X[:50])[0].guarantee_region, **QUICK)
    assert "50 rows that were explained together" in str(region)


def test_an_explanation_that_forgot_its_trees_asks_for_data():
    row = pickle.loads(pickle.dumps(theirs(wrap(shap.TreeExplainer(fitted("forest"))), X[:1])))[0]
    with pytest.raises(InvalidInputError, match="Pass training_data="):
        guarantee_region(row, predict_fn=fitted("forest").predict, **QUICK)


# -- frames, as they came ---------------------------------------------------------------------------

BLANKS = pd.DataFrame(X, columns=["age in years", "bmi", "dose [mg]", "rest"])


@pytest.mark.parametrize("name", ["xgboost colours", "lightgbm colours"])
@pytest.mark.parametrize("how", ["install", "wrap", "explainer="])
def test_category_columns_need_nothing_else(name, how):
    model, rows = fitted(name), CATEGORIES[:80]
    if how == "install":
        region = region_of(explained(model, rows)[3])
    else:
        explainer = shap.TreeExplainer(model)
        if how == "wrap":
            region = theirs(theirs(wrap(explainer), rows)[3].guarantee_region, **QUICK)
        else:
            row = theirs(explainer, rows)[3]
            region = guarantee_region(row, explainer=explainer, training_data=CATEGORIES, **QUICK)
    assert region.status == "certified"
    assert region.explained.model_at_instance == pytest.approx((model.predict(rows[3:4])[0],), rel=1e-4)
    colour = next(axis for axis in region.domain.axes if axis.name == "colour")
    assert set(colour.categories) == {"red", "green", "blue"}
    assert region.domain.kinds[1:] == ("integer", "categorical")


def test_a_category_that_no_explained_row_has_is_known_from_the_type():
    rows = CATEGORIES[CATEGORIES["colour"] != "blue"][:60]
    region = region_of(explained(fitted("lightgbm colours"), rows)[0])
    assert set(region.domain.axes[2].categories) == {"red", "green", "blue"}


def test_digits_that_are_categories_stay_text():
    import lightgbm

    digits = CATEGORIES.assign(colour=CATEGORIES["colour"].cat.rename_categories(["1", "2", "3"]))
    model = theirs(lightgbm.LGBMRegressor(n_estimators=10, verbose=-1).fit, digits, PRICE)
    region = region_of(explained(model, digits[:80])[0])
    assert region.domain.axes[2].categories == ("1", "2", "3")
    assert region.explained.model_at_instance == pytest.approx((model.predict(digits[:1])[0],))


@pytest.mark.parametrize("kind", ["XGBClassifier", "LGBMClassifier"])
def test_blanks_and_brackets_in_column_names(kind):
    import lightgbm
    import xgboost

    made = {
        "XGBClassifier": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1),
        "LGBMClassifier": lambda: lightgbm.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1),
    }[kind]()
    frame = BLANKS.rename(columns={"dose [mg]": "dose mg"})  # XGBoost takes no brackets
    model = theirs(made.fit, frame, CLASSES)
    row = explained(model, frame[:80])[0]
    for options in (
        {},
        {"training_data": frame},
        {"predict_fn": model.predict_proba, "training_data": frame},
    ):
        region = region_of(row, **options)
        assert region.status == "certified"
        assert region.names == tuple(frame.columns)


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_blanks_in_the_names_of_category_columns(library):
    """LightGBM remembers names without their blanks; the columns' types are found all the same."""
    frame = CATEGORIES.rename(columns={"size": "size in cm", "colour": "main colour"})
    model = theirs(clone(fitted(f"{library} colours")).fit, frame, PRICE)
    row = explained(model, frame[:80])[3]
    for options in ({}, {"predict_fn": model.predict}, {"predict_fn": model.predict, "training_data": frame}):
        region = region_of(row, **options)
        assert region.names == tuple(frame.columns)
        assert region.explained.model_at_instance == pytest.approx((model.predict(frame[3:4])[0],), rel=1e-4)


def test_a_frame_goes_to_the_model_as_it_came():
    """Names, order, types and categories; the names need not be text."""
    frame = pd.DataFrame(
        {3: X[:, 0], 1: np.arange(300) % 3, 0: X[:, 2] > 0, 2: pd.Categorical(["a", "b"] * 150)}
    )
    asked = []

    def model(rows):
        asked.append(rows)
        return rows[3] + rows[1] * 0.5 + rows[0] + (rows[2] == "b")

    values = np.zeros((1, 4))
    base = np.asarray(model(frame[:1]), dtype=float)
    explanation = shap.Explanation(values, base, frame[:1].to_numpy(), feature_names=[str(c) for c in frame])
    problem_of(explanation[0], predict_fn=model, training_data=frame)
    for rows in asked:
        assert list(rows.columns) == list(frame.columns)
        assert rows.dtypes.to_dict() == frame.dtypes.to_dict()


def test_whole_columns_are_never_cut_to_whole_numbers():
    """A value between two whole numbers reaches the model as it is, whatever the frame's type was."""
    from lime_guarantee.adapters.predictors import FrameKind

    kind = FrameKind.of(pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}))
    assert kind.frame(np.array([[1.5, 1.0]]))["a"].tolist() == [1.5]
    assert kind.frame(np.array([[2.0, 1.0]]))["a"].dtype.kind == "i"


def test_catboost_with_text_categories():
    import catboost

    frame = CATEGORIES.astype({"colour": str})
    model = catboost.CatBoostRegressor(
        iterations=20, verbose=0, cat_features=["colour"], allow_writing_files=False
    )
    model.fit(frame, STEPS + (frame["colour"] == "red"))
    region = region_of(explained(model, frame[:80])[0])
    assert region.status == "certified"
    assert set(region.domain.axes[2].categories) == {"red", "green", "blue"}
    assert region.explained.model_at_instance == pytest.approx((model.predict(frame[:1])[0],))


def test_an_audit_of_category_columns():
    explainer = theirs(shap.TreeExplainer, fitted("lightgbm colours"))
    report = theirs(audit, explainer=explainer, X=CATEGORIES[:2], training_data=CATEGORIES, **QUICK)
    assert {record.verdict for record in report.records} <= {"trusted", "narrow", "uncertified"}


def test_an_explainer_that_cannot_be_read_explains_as_ever():
    class Odd(shap.Explainer):
        def __init__(self):
            """Keep nothing that others keep."""

        def __call__(self, rows):
            return shap.Explanation(np.zeros(rows.shape), np.zeros(len(rows)), rows)

    row = wrap(Odd())(X[:2])[0]
    with pytest.raises(InvalidInputError, match="its explainer, cannot be read"):
        row.guarantee_region(**QUICK)
