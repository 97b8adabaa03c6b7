"""What has no region is refused: with what is wrong, why, and what to do next."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from shap_cases import BACKGROUND, CASES, CATEGORIES, PRICE, QUICK, X, fitted, margins, shap, theirs
from sklearn.ensemble import HistGradientBoostingRegressor

from lime_guarantee import InvalidInputError, from_shap_values, guarantee_region, install, wrap

forest = CASES["forest, background"]
classes = CASES["forest class, output 1"]


def refused(explanation, *parts, **options):
    """Assert that there is no region, and that the message has all these parts."""
    with pytest.raises(InvalidInputError) as caught:
        guarantee_region(explanation, **QUICK, **options)
    for part in parts:
        assert re.search(part, str(caught.value), re.IGNORECASE), str(caught.value)


def test_interactions():
    explainer = wrap(shap.TreeExplainer(fitted("forest")), training_data=X)
    batch = theirs(explainer, X[:3], interactions=True)
    refused(batch[0], "interaction values have no region", "Slice one row")
    refused(batch, "explanation: one row is required", r"explanation\[0\]")


def test_interactions_of_several_outputs():
    batch = theirs(
        wrap(shap.TreeExplainer(fitted("forest class")), training_data=X), X[:3], interactions=True
    )
    refused(batch[0], "interaction values have no region")


def test_features_sliced_off():
    refused(forest.batch[0, :3], "explanation: it has 3 features", "background has 4", "Do not slice")
    refused(classes.batch[0, :3, 1], "Do not slice")


def test_one_feature_alone():
    refused(forest.batch[:, 0], r"explanation\[0\]|Do not slice|one row")


def test_values_that_are_no_numbers():
    certain = shap.ExactExplainer(
        lambda rows: (rows[:, 0] > 0).astype(float), BACKGROUND, link=shap.links.logit
    )
    explanation = theirs(wrap(certain, training_data=X), X[:2])
    assert not np.isfinite(explanation.values).all()
    refused(explanation[0], "NaN or infinite", "logit link", "explain probabilities instead")


def test_the_loss():
    explainer = shap.TreeExplainer(fitted("xgboost class"), BACKGROUND, model_output="log_loss")
    explanation = theirs(wrap(explainer, training_data=X), X[:2], np.array([0, 1]))
    refused(explanation[0], "explains the loss", "true label of every row", "Explain the model's output")


def test_an_unseen_explainer_without_background_or_training_data():
    explanation = theirs(shap.TreeExplainer(fitted("forest")), X[:1])
    model = fitted("forest").predict
    refused(
        explanation[0], "training_data: neither .* knows the range", "Pass training_data=", predict_fn=model
    )
    for options in ({"surrogate": "profile"}, {"space": "coalition"}):
        refused(
            explanation[0],
            f"background: {next(iter(options))}=.* needs rows",
            "Pass background= or training_data=",
            predict_fn=model,
            bounds=[(-3, 3)] * 4,
            **options,
        )


def test_a_whole_batch():
    refused(forest.batch, "one row is required", r"Slice one: explanation\[0\]")
    refused(classes.batch, "one row is required", r"Slice one: explanation\[0\]")


def test_several_outputs_without_a_choice():
    margin = CASES["xgboost three"]
    options = {"predict_fn": lambda rows: margins("xgboost three", rows)}
    refused(margin.batch[0], "label: the explanation has 3 outputs", "label=", "slice it", **options)
    refused(margin.batch[0], "label: 7 was not explained", "Output 0, Output 1", label=7, **options)
    refused(margin.batch[0], "label: 'x' was not explained", label="x", **options)
    assert guarantee_region(margin.batch[0], label=2, **QUICK, **options).explained.label == 2


def test_probabilities_choose_their_likeliest_output():
    region = classes.batch[0].guarantee_region(**QUICK)
    assert region.explained.label == fitted("forest class").predict_proba(X[:1])[0].argmax()


def test_another_model_shows_both_numbers():
    other = fitted("boosting")
    added = forest.explanation.base_values + forest.explanation.values.sum()
    refused(
        forest.explanation,
        re.escape(f"base + sum(values) is {float(added):.6g}"),
        re.escape(f"the model answers {other.predict(X[:1])[0]:.6g} at the instance"),  # no logit, "or nan"
        "another model or row",
        "pass predict_fn=",
        predict_fn=other.predict,
    )


def test_another_model_that_agrees_at_the_instance_alone():
    def other(rows):
        near = np.isclose(rows, X[0]).all(axis=1)
        return np.where(near, fitted("forest").predict(rows), 100.0)

    copy = fitted("forest").predict(BACKGROUND)
    refused(
        forest.explanation,
        "disagree: at background row",
        "the model says 100",
        "|".join(re.escape(f"the copy {number:.6g}") for number in copy),
        "What was explained is the copy",
        predict_fn=other,
    )


def coded():
    """Categories as the numbers by which HistGradientBoosting keeps them: shap can read them."""
    return CATEGORIES.assign(colour=CATEGORIES["colour"].cat.codes.astype(float)).to_numpy(dtype=float)


@pytest.fixture(scope="module")
def misread():
    """A model that shap's TreeExplainer takes for another, and its data."""
    rows = coded()
    order = np.array([1.0, 0.0, 2.0])  # so that a categorical split is not a threshold
    target = 4.0 * (order[rows[:, 2].astype(int)] == 0) + PRICE.to_numpy()
    return HistGradientBoostingRegressor(max_iter=20, categorical_features=[2]).fit(rows, target), rows


def misread_row(model, rows):
    """A row at which shap's copy happens to say the same as the model, so that only others betray it."""
    copy = shap.TreeExplainer(model).model.predict(rows)
    same = np.isclose(copy, model.predict(rows))
    assert not same.all()  # else shap was mended, and there is nothing to show
    return int(np.flatnonzero(same)[0]), int(np.flatnonzero(~same)[0])


def test_trees_that_shap_misreads_are_caught_by_the_model_itself(misread):
    model, rows = misread
    same, other = misread_row(model, rows)
    batch = theirs(wrap(shap.TreeExplainer(model), training_data=rows), rows)
    refused(batch[other], "the model answers", "base", predict_fn=model.predict)
    refused(batch[same], "disagree", "the model says", "HistGradientBoosting", predict_fn=model.predict)


def test_trees_that_shap_misreads_are_caught_after_install_without_the_model(misread):
    model, rows = misread
    with install():
        batch = theirs(shap.TreeExplainer(model), rows)
        for row in misread_row(model, rows):
            refused(batch[row], "disagree", "HistGradientBoosting", training_data=rows)


def test_arithmetic():
    row = forest.batch[0]
    refused(row + 1, r"base \+ sum\(values\)", "sums and differences of explanations have no region")
    refused(row * 2, r"base \+ sum\(values\)")
    assert (row.values < 0).any()
    refused(row.abs, r"base \+ sum\(values\)")


def test_means_over_rows():
    refused(forest.batch.mean(0), "explanation: ")


def test_slopes_near_the_mean():
    middle = BACKGROUND.mean(axis=0)
    middle[0] += 1e-6
    explanation = theirs(
        wrap(shap.ExactExplainer(fitted("curves").predict, BACKGROUND), training_data=X), middle[None]
    )
    refused(
        explanation[0],
        "surrogate: 'linear' divides",
        "almost nothing for Feature 0",
        "Use surrogate='profile'",
        surrogate="linear",
    )


def test_dependence_without_a_batch():
    explanation = theirs(shap.TreeExplainer(fitted("forest"), BACKGROUND), X[:1])
    refused(
        explanation[0],
        "'dependence' needs the rows that were explained together",
        "surrogate='profile'",
        explainer=shap.TreeExplainer(fitted("forest"), BACKGROUND),
        training_data=X,
        surrogate="dependence",
    )
    refused(forest.batch[0], "at least 20 rows explained together; got 3", surrogate="dependence")


@pytest.mark.parametrize("surrogate", ["linear", "presence"])
def test_readings_that_need_numbers(surrogate):
    refused(
        CASES["kernel, text columns"].explanation,
        f"{surrogate!r} needs features that are numbers",
        "profile",
        surrogate=surrogate,
    )


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"surrogate": "shap"}, r"surrogate: one of \['profile', 'linear'"),
        ({"space": "pixels"}, r"space: one of \['features', 'coalition'\]"),
        ({"units": "percent"}, r"units: one of \['explained', 'probability'\]"),
        ({"agreement": "same"}, "agreement: one of"),
        ({"hide_color": 0}, "hide_color: this kind of explanation has no such option.*surrogate"),
    ],
)
def test_unknown_choices(options, part):
    refused(forest.explanation, part, **options)


def test_units_of_probability_need_log_odds():
    for explanation in (forest.explanation, CASES["xgboost stumps"].explanation):
        refused(explanation, "units: ", "no log-odds", "Leave units= out", units="probability")
    refused(classes.explanation, "units: ", "probabilities already", units="probability")
    several = CASES["linear, three"].explanation
    refused(several, "several classes", "Explain probabilities", units="probability")


def test_training_data_of_another_width():
    refused(forest.explanation, "training_data", "4 features", "3 columns", training_data=X[:, :3])


def test_explanations_without_data_or_base():
    row = forest.explanation
    bare = shap.Explanation(row.values, row.base_values, None)
    refused(bare, "keeps no data", "Pass instance=", predict_fn=fitted("forest").predict, training_data=X)
    assert guarantee_region(
        bare, instance=X[0], predict_fn=fitted("forest").predict, training_data=X, **QUICK
    )
    unbased = shap.Explanation(row.values, None, row.data)
    refused(unbased, "no base value", "from_shap_values")


def test_explanations_of_an_unseen_explainer_ask_for_the_model():
    row = forest.explanation
    bare = shap.Explanation(row.values, row.base_values, row.data)
    refused(bare, "predict_fn: the explanation does not keep the model", "Pass predict_fn=", training_data=X)


def test_models_that_answer_nonsense():
    from lime_guarantee import ModelError

    for nonsense in (lambda rows: ["a"] * len(rows), lambda rows: np.zeros(3), lambda rows: None):
        with pytest.raises(ModelError, match="the model must answer"):
            guarantee_region(forest.explanation, predict_fn=nonsense, **QUICK)


def test_bare_values_of_another_shape():
    explainer = shap.TreeExplainer(fitted("forest"), BACKGROUND)
    with pytest.raises(InvalidInputError, match=r"values: one for every row and feature.*\(2, 4\)"):
        from_shap_values(np.zeros((2, 3)), explainer, X[:2])


def test_only_explainers_are_wrapped():
    with pytest.raises(InvalidInputError, match=r"cannot be wrapped.*shap\.TreeExplainer"):
        wrap(SimpleNamespace(shap_values=None))
