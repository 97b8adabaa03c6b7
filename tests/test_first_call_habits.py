"""What newcomers write, and what they are told: rounding, missing values, seeds, files, bare arrays."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from lime.lime_tabular import LimeTabularExplainer, RecurrentTabularExplainer
from lime.submodular_pick import SubmodularPick
from lime_guarantee.adapters.ranges import TrainingData
from scipy.sparse import csc_matrix
from shap_cases import CASES, QUICK, fitted, shap, theirs
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.preprocessing import StandardScaler

from lime_guarantee import (
    GuaranteeRegion,
    InvalidInputError,
    Settings,
    find_region,
    guarantee_region,
    install,
    tune,
    wrap,
)
from lime_guarantee.api import problem_of
from lime_guarantee.errors import GuaranteeWarning
from lime_guarantee.problem.info import ExplanationInfo
from lime_guarantee.space.axis import Extent, categorical_axis
from lime_guarantee.space.discrete_axis import DiscreteAxis
from lime_guarantee.space.domain import Domain

IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def iris_forest():
    return RandomForestClassifier(100, random_state=0).fit(IRIS, SPECIES)


# -- slack for rounding ------------------------------------------------------------------------------


def test_probabilities_that_add_up_to_a_little_more_than_1_choose_a_class(iris_forest):
    explainer = wrap(theirs(shap.TreeExplainer, iris_forest), training_data=IRIS)
    assert explainer.model.predict(IRIS).max() > 1.0  # 1.0000000000000007, as shap adds them up
    explained = problem_of(theirs(explainer, IRIS[:2])[0, :, 0]).explained
    assert (explained.agreement, explained.tolerance) == ("class", 0.1)
    assert theirs(explainer, IRIS[:2])[0, :, 0].guarantee_region(agreement="class", **QUICK)


def test_the_values_of_a_probability_may_add_up_to_a_little_more_than_1():
    """The answers of LightGBM stay below 1; it is shap's sum that does not."""
    model = theirs(LGBMClassifier(n_estimators=60, learning_rate=1.0, verbose=-1).fit, IRIS, SPECIES == 2)
    explainer = wrap(
        theirs(shap.TreeExplainer, model, IRIS[::4], model_output="probability"), training_data=IRIS
    )
    batch = theirs(explainer, IRIS[100:])
    summed = batch.base_values + batch.values.sum(axis=1)
    assert 1.0 < summed.max() < 1.0 + 1e-6
    row = batch[int(np.argmax(summed))]
    assert theirs(row.guarantee_region, agreement="class", **QUICK).status == "certified"
    assert problem_of(row).explained.agreement == "class"


def test_a_probability_a_little_below_0_is_one_of_several_still():
    forest = RandomForestClassifier(30, random_state=0).fit(IRIS, SPECIES)
    explainer = wrap(theirs(shap.TreeExplainer, forest, IRIS), training_data=IRIS)
    row = theirs(explainer, IRIS[118:119], check_additivity=False)[0]
    summed = row.base_values + row.values.sum(axis=0)
    assert -0.01 < summed.min() < -0.001
    assert problem_of(row).explained.label == forest.predict(IRIS[118:119])[0]


def test_a_single_score_may_be_rounded_beyond_1():
    explainer = LimeTabularExplainer(IRIS, class_names=["other", "virginica"], random_state=0)

    def model(rows):
        score = (rows[:, 3] > 1.7) * (1.0 + 4e-16)
        return np.column_stack([1.0 - score, score])

    explanation = explainer.explain_instance(IRIS[140], model, num_samples=100)
    options = {"explainer": explainer, "instance": IRIS[140], "training_data": IRIS}
    region = guarantee_region(explanation, predict_fn=lambda rows: model(rows)[:, 1], **options, **QUICK)
    assert region.explained.model_at_instance == pytest.approx((1.0,))


# -- missing values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["lime", "shap"])
def test_a_missing_value_of_the_instance_is_warned_about_and_noted(library):
    rows = IRIS.copy()
    rows[::7, 1] = np.nan
    model = HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(rows, SPECIES == 2)
    if library == "lime":
        explainer = wrap(LimeTabularExplainer(IRIS, random_state=0), training_data=rows)
        explanation = theirs(explainer.explain_instance, rows[0], model.predict_proba, num_samples=100)
    else:
        explainer = wrap(theirs(shap.TreeExplainer, model), training_data=rows)
        explanation = theirs(explainer, rows[:1])[0]
    with pytest.warns(GuaranteeWarning, match=r"no value \(NaN\) for: .*(Feature 1|1)"):
        region = explanation.guarantee_region(**QUICK)
    assert "no value (NaN) for: " in str(region)
    assert "rows that have a value there" in str(region)


# -- the explanation misses the model at the instance ------------------------------------------------


def info(gap, agreement="class", scale=1.0):
    return ExplanationInfo(
        "lime tabular", "features", 1, None, agreement, 0.1 * scale, (gap,), (0.0,), (), scale=scale
    )


def test_changes_are_proposed_first_and_a_tolerance_only_where_it_means_something():
    small, large = info(0.2).miss(), info(0.82).miss()
    assert small.index("agreement='change'") < small.index("tolerance=0.21 or more")
    assert "agreement='change'" in large
    assert "tolerance=" not in large
    assert "0.82" in large
    assert "tolerance=210 or more" in info(200, "value", scale=1_000.0).miss()
    assert "tolerance=" not in info(820, "value", scale=1_000.0).miss()


def test_what_changes_would_give_was_asked_of_the_model():
    forest = RandomForestClassifier(5, random_state=0).fit(IRIS, SPECIES)
    explainer = wrap(LimeTabularExplainer(IRIS, random_state=0), training_data=IRIS)
    for row in IRIS[50:]:
        explanation = theirs(explainer.explain_instance, row, forest.predict_proba, num_samples=200)
        if not theirs(problem_of, explanation).faithful(row[np.newaxis])[0]:
            break
    region = explanation.guarantee_region(**QUICK)
    assert region.status == "unfaithful"
    found = re.search(
        r"agreement='change'.* faithful at the instance and on (\d+) of (\d+) rows", region.reason
    )
    faithful, asked = int(found[1]), int(found[2])
    assert region.evaluations >= asked
    problem = problem_of(explanation, agreement="change")
    rows = np.random.default_rng(5).permuted(IRIS, axis=0)  # each feature as the data have it
    assert faithful / asked == pytest.approx(problem.faithful(rows).mean(), abs=0.2)
    limited = explanation.guarantee_region(**QUICK, max_evaluations=80)
    assert limited.evaluations <= 80
    assert "agreement='change'" in limited.reason


def test_a_regression_is_told_a_tolerance_in_its_own_units():
    rows, target = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(rows, target)
    explainer = wrap(LimeTabularExplainer(rows, mode="regression", random_state=0), training_data=rows)
    for row in rows:
        explanation = theirs(explainer.explain_instance, row, forest.predict, num_samples=200)
        if not theirs(problem_of, explanation).faithful(row[np.newaxis])[0]:
            break
    region = theirs(explanation.guarantee_region, **QUICK)
    assert region.status == "unfaithful"
    assert region.reason.index("agreement='change'") < region.reason.index("tolerance=")
    tolerance = float(re.search(r"tolerance=([\d.]+) or more", region.reason)[1])
    assert region.explained.gap < tolerance < 0.3 * (explanation.max_value - explanation.min_value)
    assert theirs(explanation.guarantee_region, tolerance=tolerance, **QUICK).status != "unfaithful"


# -- errors that name the fix ------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["train.csv", Path("train.csv")])
def test_the_name_of_a_file_is_no_data(file):
    with pytest.raises(InvalidInputError, match=r"training_data: .*'train\.csv'.*read_csv\('train\.csv'\)"):
        TrainingData.of(file)
    with pytest.raises(InvalidInputError, match=r"read_csv"):
        wrap(shap.TreeExplainer(fitted("forest")), training_data=file)
    with pytest.raises(InvalidInputError, match=r"X: .*read_csv"):
        Domain.from_data(file)


@pytest.mark.parametrize("values", [np.zeros((3, 4)), [np.zeros((3, 4)), np.ones((3, 4))]])
def test_a_bare_array_of_shap_values_is_pointed_to_its_function(values):
    with pytest.raises(InvalidInputError, match=r"from_shap_values\(values, explainer, data\)"):
        guarantee_region(values)


def test_a_random_state_of_numpy_is_accepted():
    def faithful(rows):
        return np.abs(rows[:, 0]) < 1

    domain = Domain.from_bounds([-2], [2])
    once, again = (
        find_region(faithful, [0.1], domain, random_state=np.random.RandomState(3)) for _ in range(2)
    )
    assert once == again
    assert isinstance(once.settings.random_state, int)
    rerun = find_region(faithful, [0.1], domain, settings=once.settings)
    assert rerun == once
    state = np.random.RandomState(3)
    assert Settings(random_state=state).random_state != Settings(random_state=state).random_state


@pytest.mark.parametrize("ask", ["explanation", "function"])
def test_seed_is_called_random_state(ask):
    arguments = (lambda rows: rows[:, 0] < 1, [0.1], Domain.from_bounds([-2], [2]))
    call = find_region
    if ask == "explanation":
        call, arguments = guarantee_region, (CASES["forest, background"].explanation,)
    with pytest.raises(InvalidInputError, match=r"seed: .*random_state=1"):
        call(*arguments, seed=1)


@pytest.mark.parametrize(("name", "method"), [("forest class", "predict_proba"), ("forest", "predict")])
def test_a_model_in_place_of_its_function(name, method):
    row = CASES["forest, background"].explanation
    with pytest.raises(InvalidInputError, match=rf"predict_fn: .*RandomForest.*\.{method}"):
        guarantee_region(row, predict_fn=fitted(name))
    with pytest.raises(InvalidInputError, match=rf"predict_fn: .*RandomForest.*\.{method}"):
        wrap(shap.TreeExplainer(fitted("forest")), predict_fn=fitted(name))
    lime, data = LimeTabularExplainer(IRIS), {"training_data": IRIS, "validation_data": IRIS}
    with pytest.raises(InvalidInputError, match=rf"predict_fn: .*RandomForest.*\.{method}"):
        tune(lime, IRIS[:1], fitted(name), **data)


# -- long lists of categories ------------------------------------------------------------------------

COUNTRIES = tuple(f"country number {i}" for i in range(60))


def test_long_lists_of_categories_are_cut_with_a_count():
    axis = categorical_axis("country", COUNTRIES)
    text = axis.extent_text(Extent(0.0, 59.0, COUNTRIES[5:45]), COUNTRIES[30])
    assert text.startswith("{country number 30, country number 5, country number 6")  # its own in front
    assert text.endswith(" and 36 more of 60}")
    assert axis.extent_text(Extent(0, 2, COUNTRIES[:3]), COUNTRIES[0]).count(",") == 2
    assert axis.extent_text(Extent(0, 59, COUNTRIES), COUNTRIES[0]) == "all 60 free"
    letters = categorical_axis("letter", "abcdefghijkl")
    assert letters.extent_text(Extent(0, 11, tuple("abcdefghijkl")), "a").count(",") == 11  # it is short


def test_all_categories_are_in_the_table_of_a_region_with_long_lists():
    data = pd.DataFrame({"country": list(COUNTRIES) * 5, "x": np.linspace(0, 1, 300)})
    domain = Domain.from_data(data)

    def faithful(rows):
        return np.array([not str(value).endswith("9") for value in rows[:, 0]])

    region = find_region(faithful, ["country number 1", 0.5], domain, purity=0.9, random_state=0)
    assert region
    assert max(map(len, str(region).splitlines())) < 300
    allowed = region.to_frame().set_index("feature").loc["country", "allowed"]
    assert set(allowed) == set(region.allowed["country"])
    assert len(allowed) > 40


# -- few different values are cells ------------------------------------------------------------------


@pytest.fixture(scope="module")
def scaled():
    """Rows with a scaled column of zeros and ones, and a model that uses it."""
    rng = np.random.default_rng(0)
    raw = np.column_stack([rng.normal(size=300), rng.random(300) < 0.3])
    rows = StandardScaler().fit_transform(raw)
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(rows, raw[:, 0] + raw[:, 1] > 0.5)
    return rows, model, tuple(np.unique(rows[:, 1]).tolist())


@pytest.mark.parametrize("how", ["lime, data", "lime, explainer", "shap, data", "shap, background"])
def test_a_scaled_column_of_two_values_has_two_cells(scaled, how):
    rows, model, values = scaled
    data = {"training_data": rows} if how.endswith("data") else {}
    if how.startswith("lime"):
        lime = LimeTabularExplainer(rows, feature_names=["x", "owner"], random_state=0)
        explanation = theirs(wrap(lime, **data).explain_instance, rows[0], model.predict_proba)
    else:
        explainer = wrap(theirs(shap.TreeExplainer, model, rows[:100]), **data)
        explanation = theirs(explainer, rows[:2])[0, :, 1]
    region = theirs(explanation.guarantee_region, **QUICK)
    assert region.domain.kinds == ("continuous", "discrete")
    assert region.domain.axes[1].values == values
    assert set(region.sample(200, random_state=0)[:, 1]) <= set(values)
    entry = region.to_frame().iloc[1]
    assert {entry["lower"], entry["upper"]} <= set(values)
    assert GuaranteeRegion.from_json(region.to_json()) == region
    assert not region.contains(np.array([[region.instance[0], sum(values) / 2]])).any()


def test_discrete_axes_take_new_values_and_bounds(scaled):
    axis = DiscreteAxis("owner", (-0.5, 1.0, 2.5))
    assert axis.including(1.0) == axis
    assert axis.including(1.5).values == (-0.5, 1.0, 1.5, 2.5)
    assert axis.with_bounds(0.0, 2.5).values == (1.0, 2.5)
    assert axis.with_bounds(0.0, 5.0).kind == "continuous"
    with pytest.raises(InvalidInputError, match="finite number"):
        axis.including(np.nan)
    with pytest.raises(InvalidInputError, match="rising"):
        DiscreteAxis("owner", (2.0, 1.0))
    sparse = csc_matrix(np.repeat([[0.0, 0.5], [0.25, 0.5], [0.0, 0.0]], 20, axis=0))
    assert TrainingData.of(sparse).domain.kinds == ("discrete", "discrete")
    many = np.linspace(0, 1, 60)[:, np.newaxis]
    assert Domain.from_data(many).kinds == ("continuous",)
    assert Domain.from_data([[0.5], [1.5]]).kinds == ("continuous",)  # too few rows to tell


# -- what LIME has besides ---------------------------------------------------------------------------


def test_the_explanations_that_sp_lime_picks_have_regions():
    forest = RandomForestClassifier(5, random_state=0).fit(IRIS, SPECIES)
    with install():
        explainer = LimeTabularExplainer(IRIS, random_state=0)
        picked = theirs(
            SubmodularPick,
            explainer,
            IRIS,
            forest.predict_proba,
            sample_size=3,
            num_features=4,
            num_exps_desired=2,
            num_samples=200,
        )
        regions = [theirs(explanation.guarantee_region, **QUICK) for explanation in picked.sp_explanations]
    assert len(regions) == 2
    assert {region.status for region in regions} <= {"certified", "unfaithful"}
    assert any(regions)


def test_sequences_have_regions_of_their_flat_features():
    rows = np.random.default_rng(0).normal(size=(250, 3, 2))

    def model(sequences):
        score = 1 / (1 + np.exp(-sequences[:, :, 0].sum(axis=1)))
        return np.column_stack([1 - score, score])

    with install():
        explainer = RecurrentTabularExplainer(
            rows, feature_names=["a", "b"], discretize_continuous=False, random_state=0
        )
        region = explainer.explain_instance(rows[0], model, num_samples=300).guarantee_region(**QUICK)
    assert region.status == "certified"
    assert region.names == ("a_t-2", "a_t-1", "a_t-0", "b_t-2", "b_t-1", "b_t-0")
