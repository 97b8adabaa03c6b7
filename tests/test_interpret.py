"""interpret's LIME: the same weights as LIME's own, so the same region; one row of many is asked for."""

import pickle

import numpy as np
import pandas as pd
import pytest
from interpret.blackbox import LimeTabular
from interpret.glassbox import LinearRegression
from lime.lime_tabular import LimeTabularExplainer
from shap_cases import theirs
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from lime_guarantee import InvalidInputError, audit, guarantee_region, install, wrap

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
DATA = load_breast_cancer(as_frame=True)
X, Y = DATA.data.iloc[:, :4].to_numpy(), DATA.target.to_numpy()
FOREST = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, Y)
VALUES = RandomForestRegressor(8, max_depth=4, random_state=0).fit(X, X[:, 3] / 100)
SOME = {"num_samples": 300}


def explained(model=FOREST, rows=X[:3], data=X):
    explainer = LimeTabular(model, data, random_state=0)
    return explainer, theirs(explainer.explain_local, rows, **SOME)


def region_of(explanation, **options):
    return theirs(guarantee_region, explanation, **QUICK, **options)


@pytest.fixture(scope="module")
def own():
    """What LIME itself says of the same row, and its region."""
    explainer = LimeTabularExplainer(X, mode="regression", feature_names=None, random_state=0)
    return explainer.explain_instance(X[0], lambda rows: FOREST.predict_proba(rows)[:, 1], **SOME)


@pytest.mark.parametrize("how", ["install", "wrap", "explainer="])
def test_a_row_has_the_weights_that_lime_gives_it(own, how):
    if how == "install":
        with install():
            _, explanation = explained()
            region = theirs(explanation.guarantee_region, row=0, **QUICK)
    elif how == "wrap":
        explainer = wrap(LimeTabular(FOREST, X, random_state=0), training_data=X)
        region = theirs(explainer.explain_local(X[:3], **SOME).guarantee_region, row=0, **QUICK)
    else:
        explainer, explanation = explained()
        region = region_of(explanation, explainer=explainer, row=0)
    weights = np.zeros(4)
    for feature, weight in own.as_map()[1]:
        weights[feature] = weight
    assert region.status in ("certified", "unfaithful")
    np.testing.assert_allclose(region.explained.weights, weights)
    np.testing.assert_array_equal(region.instance, X[0])
    told = region.explained
    assert (told.agreement, told.label) == ("class", 1)
    assert told.surrogate_at_instance == pytest.approx(own.local_pred)
    assert told.model_at_instance == pytest.approx((FOREST.predict_proba(X[:1])[0, 1],))


def test_the_surrogate_is_faithful_as_the_region_says():
    explainer, explanation = explained()
    asked = (region_of(explanation, explainer=explainer, row=row, training_data=X) for row in range(3))
    region = next(filter(None, asked))
    rows = region.sample(400, random_state=1)
    model, surrogate = FOREST.predict_proba(rows)[:, 1], region.problem.surrogate(rows)
    agree = (np.abs(model - surrogate) <= 0.1) | ((model >= 0.5) == (surrogate >= 0.5))
    assert agree.mean() >= 0.87


def test_one_row_of_many_is_asked_for():
    explainer, explanation = explained()
    for row in (None, 3, -1):
        with pytest.raises(InvalidInputError, match=r"row: 3 rows .* one of 0 to 2 is required"):
            guarantee_region(explanation, explainer=explainer, row=row)
    last = region_of(explanation, explainer=explainer, row=2)
    np.testing.assert_array_equal(last.instance, X[2])
    assert explanation.region == last
    assert region_of(explained(rows=X[:1])[1], explainer=explainer).names == last.names


def test_a_regression_needs_a_tolerance_because_interpret_forgets_the_range():
    explainer, explanation = explained(VALUES)
    with pytest.raises(InvalidInputError, match="tolerance: there is no default, because interpret"):
        guarantee_region(explanation, explainer=explainer, row=0)
    told = region_of(explanation, explainer=explainer, row=0, tolerance=2.0).explained
    assert (told.agreement, told.label) == ("value", None)
    assert told.model_at_instance == pytest.approx(tuple(VALUES.predict(X[:1])))


def test_frames_go_to_the_model_as_it_was_fitted():
    frame = DATA.data.iloc[:, :4]
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(frame, Y)
    explainer = wrap(LimeTabular(forest, frame, random_state=0), training_data=frame)
    region = theirs(explainer.explain_local(frame[:1], **SOME).guarantee_region, **QUICK)
    assert region.names == tuple(frame)
    report = audit(
        explainer=LimeTabular(forest, frame, random_state=0),
        X=frame[:2],
        training_data=frame,
        explain_kwargs=SOME,
        **{name: QUICK[name] for name in ("purity", "confidence", "effort")},
    )
    assert report.counts["error"] == 0, report.summary()
    assert report.records[0].region.names == tuple(frame)


def test_others_of_its_explanations_are_refused_with_the_way_out():
    other = LinearRegression(feature_names=["a", "b", "c", "d"]).fit(X, VALUES.predict(X))
    explanation = theirs(other.explain_local, pd.DataFrame(X[:1], columns=["a", "b", "c", "d"]))
    for options in ({}, {"explainer": other}):
        with pytest.raises(InvalidInputError, match=r"LimeTabular.*shap itself"):
            guarantee_region(explanation, **options)


def test_explaining_is_as_ever_and_explanations_pickle():
    _, before = explained()
    with install():
        _, explanation = explained()
    assert "guarantee_region" not in vars(type(explanation))
    assert [entry["scores"] for entry in explanation.data(-1)["specific"]] == [
        entry["scores"] for entry in before.data(-1)["specific"]
    ]
    again = pickle.loads(pickle.dumps(explanation))
    assert region_of(again, predict_fn=FOREST.predict_proba, row=1).status in ("certified", "unfaithful")
