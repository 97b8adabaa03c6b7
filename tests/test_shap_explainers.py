"""Every explainer of shap, on lines, curves and trees: what its explanations stand for, and their regions."""

import numpy as np
import pytest
from shap_cases import BACKGROUND, CASES, QUICK, STEPS, X, fitted, shap, theirs

from lime_guarantee import InvalidInputError, guarantee_region, wrap

NAMES = list(CASES)


def of_shape(*shapes):
    return [name for name, case in CASES.items() if case.shape in shapes]


@pytest.mark.parametrize("name", NAMES)
def test_explanation_and_model_agree_at_the_instance(name):
    case = CASES[name]
    explained, explanation = case.subject.explained, case.explanation
    added = float(np.ravel(explanation.base_values)[0]) + explanation.values.sum(dtype=np.float64)
    added, truth = case.told(added), case.told(case.truth(case.instance)[0])
    assert explained.surrogate_at_instance == pytest.approx((added,), abs=1e-9)
    assert explained.model_at_instance == pytest.approx((truth,), rel=1e-5, abs=1e-5)
    assert explained.gap <= abs(added - truth) + 1e-5


@pytest.mark.parametrize("name", of_shape("line"))
def test_the_profile_of_a_line_is_the_line(name):
    case = CASES[name]
    rows = case.draws()
    # what the explainer itself misses at the instance, g misses everywhere
    missed = case.subject.explained.gap
    assert case.subject.surrogate(rows) == pytest.approx(case.truth(rows), abs=1e-6 + missed)


@pytest.mark.parametrize("name", of_shape("curves", "steps"))
def test_the_profile_of_an_additive_model_errs_by_its_grid_alone(name):
    case = CASES[name]
    rows = case.draws(2_000)
    truth = case.truth(rows)
    error = np.abs(case.subject.surrogate(rows) - truth) / np.ptp(truth)
    assert np.median(error) < 0.01
    assert error.max() < (0.02 if case.shape == "curves" else 0.2)  # steps become narrow ramps


@pytest.mark.parametrize("name", NAMES)
def test_the_region_is_certified_and_as_pure_as_promised(name):
    case = CASES[name]
    region = case.region
    assert region.status == "certified"
    assert region.contains(case.instance).all()
    rows = region.sample(2_000, random_state=99)
    truth, surrogate = case.told(case.truth(rows)), case.subject.surrogate(rows)
    faithful = np.abs(truth - surrogate) < region.explained.tolerance
    if region.explained.agreement == "class":
        faithful |= (truth >= 0.5) == (surrogate >= 0.5)
    assert faithful.mean() >= 0.9 - 0.02  # three standard errors of a share of 2,000


@pytest.mark.parametrize("name", of_shape("line"))
def test_a_line_is_faithful_everywhere(name):
    assert CASES[name].region.share == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_probabilities_are_judged_by_class_and_everything_else_by_value(name):
    case = CASES[name]
    explained = case.subject.explained
    answers = case.told(case.truth(case.draws(100)))
    probabilities = bool(np.all((answers >= 0) & (answers <= 1)))
    assert explained.agreement == ("class" if probabilities else "value")
    if probabilities:
        assert explained.tolerance == 0.1


def test_a_regression_between_0_and_1_is_no_classifier():
    from sklearn.ensemble import RandomForestRegressor

    shares = RandomForestRegressor(10, random_state=0).fit(X, STEPS / 3)
    explanation = theirs(wrap(shap.TreeExplainer(shares, BACKGROUND), training_data=X), X[:2])
    assert explanation[0].guarantee_region(**QUICK).explained.agreement == "value"


def test_values_follow_the_row_and_the_output():
    """All rows and outputs of a batch have regions of their own, around their own instance."""
    batch = CASES["forest three"].batch
    for row in range(3):
        for output in range(3):
            region = batch[row, :, output].guarantee_region(**QUICK)
            assert region.instance == pytest.approx(X[row])
            assert region.explained.label == output
            truth = fitted("forest three").predict_proba(X[[row]])[0, output]
            assert region.explained.model_at_instance == pytest.approx((truth,))


def test_a_row_that_shap_gets_wrong_is_refused():
    """The sums of shap's interventional trees miss HistGradientBoosting on some rows."""
    model = fitted("hist stumps")
    explainer = shap.TreeExplainer(model, X[:50])
    batch = theirs(wrap(explainer, training_data=X), X, check_additivity=False)
    missed = np.abs(batch.base_values + batch.values.sum(axis=1) - model.predict(X))
    missed /= np.abs(batch.values).sum(axis=1)
    wrong, right = int(np.argmax(missed)), int(np.argmin(missed))
    assert batch[right].guarantee_region(**QUICK)
    if missed[wrong] < 0.01:
        pytest.skip(f"shap {shap.__version__} gets every row right")
    with pytest.raises(shap.utils._exceptions.ExplainerError, match="Additivity check failed"):
        theirs(explainer, X[[wrong]])
    with pytest.raises(InvalidInputError, match=r"base \+ sum\(values\) is .* but shap's copy of the model"):
        batch[wrong].guarantee_region(**QUICK)


def test_sums_may_miss_by_one_percent_of_the_values():
    row = CASES["forest, background"].explanation
    # shap multiplies the base, too
    off = np.abs(row.values).sum() / abs(row.base_values + row.values.sum())
    region = (row * (1 + 0.008 * off)).guarantee_region(**QUICK)
    assert region.explained.gap == pytest.approx(0.008 * np.abs(row.values).sum(), rel=1e-3)
    with pytest.raises(InvalidInputError, match=r"base \+ sum\(values\)"):
        (row * (1 + 0.012 * off)).guarantee_region(**QUICK)


def test_trees_without_background_take_the_training_data_as_background():
    explanation = theirs(shap.TreeExplainer(fitted("hist")), X[:2])
    explainer = shap.TreeExplainer(fitted("hist"))
    assert guarantee_region(explanation[0], explainer=explainer, training_data=X, **QUICK)
