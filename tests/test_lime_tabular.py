"""LIME's explanations of rows: the surrogate is LIME's own, and its regions keep what they promise."""

import json
import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from lime.lime_tabular import LimeTabularExplainer
from lime_rows import (
    BOOSTED,
    COLOURS,
    FOREST,
    LOGISTIC,
    MLP,
    NAMES,
    PLAIN,
    SEQUENCES,
    SPARSE,
    SPARSE_MODEL,
    VARIANTS,
    X,
    Y,
    by_hand,
    categorical,
    explain,
    recurrent,
    regression,
    sparse,
    statistics,
    tabular,
)
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVR

from lime_guarantee import ExplanationInfo, GuaranteeRegion, guarantee_region, install, problem_of, wrap
from lime_guarantee.errors import GuaranteeWarning, InconsistentModelError, InvalidInputError, ModelError

pytestmark = pytest.mark.compiled

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}

explained_variant = cache(lambda name: VARIANTS[name]())


def region_of(explained, **options):
    """The region of an explanation whose features' ranges are known, in little time."""
    return guarantee_region(
        explained.explanation,
        **{**explained.given, "training_data": explained.training_data, **QUICK, **options},
    )


def subject(explained, **options):
    return problem_of(
        explained.explanation, **{**explained.given, "training_data": explained.training_data, **options}
    )


def flat(explained, rows):
    """Rows as the surrogate takes them."""
    if scipy.sparse.issparse(rows):
        return rows[:, np.unique(explained.row.nonzero()[1])].toarray()
    return np.transpose(rows, (0, 2, 1)).reshape(len(rows), -1) if rows.ndim == 3 else rows


def full(explained, rows):
    """Rows that the region speaks of as the model takes them."""
    if scipy.sparse.issparse(explained.row):
        wide = np.zeros((len(rows), explained.row.shape[1]))
        wide[:, np.unique(explained.row.nonzero()[1])] = rows
        return scipy.sparse.csr_matrix(wide)
    if np.ndim(explained.row) == 2:
        steps, features = explained.row.shape
        return np.transpose(rows.reshape(len(rows), features, steps), (0, 2, 1))
    return rows


def true_purity(explained, region, draws=20_000):
    """The share of fresh draws at which LIME's model, written out by hand, follows the user's model."""
    rows = region.sample(draws, random_state=123)
    label, tolerance = region.explained.label, region.explained.tolerance
    instance = region.instance[np.newaxis]

    def model(some):
        answer = explained.predict_fn(full(explained, some))
        return answer if label is None else answer[:, label]

    def surrogate(some):
        wide = full(explained, some)
        wide = wide.toarray() if scipy.sparse.issparse(wide) else some
        return by_hand(explained, label)(wide)

    f, g = model(rows), surrogate(rows)
    if region.explained.agreement == "change":
        return np.mean(np.abs((f - model(instance)) - (g - surrogate(instance))) < tolerance)
    if region.explained.agreement == "class":
        return np.mean(((f >= 0.5) == (g >= 0.5)) | (np.abs(f - g) < tolerance))
    return np.mean(np.abs(f - g) < tolerance)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_surrogate_is_limes_own_regressor_on_limes_own_neighbourhood(name):
    explained = explained_variant(name)
    rows = flat(explained, explained.neighbourhood)
    for label, said in explained.said.items():
        made = subject(explained, label=label, agreement="value")
        np.testing.assert_allclose(made.surrogate(rows), said, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(made.explained.surrogate_at_instance, said[:1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_region_is_certified_and_truly_pure(name):
    explained = explained_variant(name)
    region = region_of(explained, label=next(iter(explained.said)), agreement="change", confidence=0.999)
    assert region.status == "certified"
    assert region.contains(region.instance[np.newaxis]).all()
    assert true_purity(explained, region) >= 0.9


def test_all_classes_are_compared_where_all_were_explained():
    explained = tabular(FOREST.predict_proba, row=PLAIN[1], explain_options={"labels": (0, 1, 2)})
    region = region_of(explained)
    assert region
    assert region.explained.agreement == "class"
    np.testing.assert_allclose(region.explained.model_at_instance, explained.explanation.predict_proba)
    rows = region.sample(20_000, random_state=1)
    f = FOREST.predict_proba(rows)
    g = np.column_stack([by_hand(explained, label)(rows) for label in range(3)])
    chosen = f.argmax(axis=1)
    near = np.abs(f - g)[np.arange(len(f)), chosen] < 0.1
    assert np.mean(near | (chosen == g.argmax(axis=1))) >= 0.9


@pytest.mark.parametrize(
    ("name", "label"),
    [("all top labels", "the top one"), ("top labels", "the top one"), ("label 2 of three", 2)],
)
def test_without_a_label_the_explained_one_that_the_model_finds_likeliest_is_taken(name, label):
    explained = explained_variant(name)
    top = int(np.argmax(explained.explanation.predict_proba))
    region = region_of(explained, agreement="change")
    assert region.explained.label == (top if label == "the top one" else label)
    assert len(region.explained.model_at_instance) == 1


def test_a_label_is_named_by_its_number_or_its_name():
    explained = explained_variant("two labels of three")
    by_name, by_number = (region_of(explained, label=label, agreement="change") for label in ("high", 2))
    assert by_name == by_number
    assert by_name.explained.label_name == "high"
    assert "lime tabular of 'high'" in str(by_name)


@pytest.mark.parametrize("label", [1, "middle", "none of them", 7])
def test_a_label_that_was_not_explained_gets_a_list_of_those_that_were(label):
    with pytest.raises(InvalidInputError, match=r"was not explained. Explained: 0 \(low\), 2 \(high\)"):
        region_of(explained_variant("two labels of three"), label=label)


# Integers and categories

PEOPLE = np.column_stack(
    [
        np.random.default_rng(4).integers(18, 80, 300),
        np.random.default_rng(5).normal(30, 9, 300),
        np.random.default_rng(6).integers(-3, 30, 300),
    ]
).astype(float)
PEOPLE_NAMES = ["age", "income", "visits"]
PEOPLE_MODEL = RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0).fit(
    PEOPLE, PEOPLE[:, 0] + PEOPLE[:, 1] > 80
)


def people_explainer():
    return LimeTabularExplainer(PEOPLE, feature_names=PEOPLE_NAMES, random_state=0)


def given_to_the_call():
    explainer = people_explainer()
    explanation = explainer.explain_instance(PEOPLE[0], PEOPLE_MODEL.predict_proba, num_samples=300)
    return guarantee_region(
        explanation,
        explainer=explainer,
        predict_fn=PEOPLE_MODEL.predict_proba,
        instance=PEOPLE[0],
        training_data=PEOPLE,
        agreement="change",
        **QUICK,
    )


def given_to_wrap():
    explainer = wrap(people_explainer(), training_data=PEOPLE)
    explanation = explainer.explain_instance(PEOPLE[0], PEOPLE_MODEL.predict_proba, num_samples=300)
    return explanation.guarantee_region(agreement="change", **QUICK)


def seen_by_install():
    with install():
        explainer = people_explainer()
        explanation = explainer.explain_instance(PEOPLE[0], PEOPLE_MODEL.predict_proba, num_samples=300)
        return explanation.guarantee_region(agreement="change", **QUICK)


@pytest.mark.parametrize("way", [given_to_the_call, given_to_wrap, seen_by_install])
def test_columns_of_whole_numbers_are_found_in_the_training_data_and_sampled_as_such(way):
    region = way()
    assert region
    assert region.domain.kinds == ("integer", "continuous", "integer")
    rows = region.sample(1_000, random_state=0)
    np.testing.assert_array_equal(rows[:, [0, 2]], np.round(rows[:, [0, 2]]))
    assert not np.any(rows[:, 1] == np.round(rows[:, 1]))
    assert region.domain.lower.tolist() == PEOPLE.min(axis=0).tolist()
    assert region.domain.upper.tolist() == PEOPLE.max(axis=0).tolist()


def test_all_three_ways_to_give_the_training_data_find_the_same_region():
    assert given_to_the_call() == given_to_wrap() == seen_by_install()


def test_a_column_of_whole_numbers_is_continuous_where_the_instance_is_not_whole():
    row = PEOPLE[0] + [0.5, 0, 0]
    explained = explain(people_explainer(), row, PEOPLE_MODEL.predict_proba, PEOPLE)
    assert region_of(explained, agreement="change").domain.kinds == ("continuous", "continuous", "integer")


def test_the_bounds_of_a_column_of_whole_numbers_are_rounded_inward():
    explained = explain(people_explainer(), PEOPLE[0], PEOPLE_MODEL.predict_proba, PEOPLE)
    region = region_of(explained, bounds={"visits": (-2.5, 20.5)}, agreement="change")
    assert (region.domain.lower[2], region.domain.upper[2]) == (-2, 20)
    assert region.domain.kinds[2] == "integer"


@pytest.mark.parametrize("name", ["categories, discretised", "categories, not discretised"])
def test_categories_are_shown_by_their_names(name):
    region = region_of(explained_variant(name), agreement="change")
    allowed = [COLOURS[int(code)] for code in region.allowed["colour"]]
    assert allowed
    assert "{" + ", ".join(allowed) + "}" in str(region)
    frame = region.to_frame().set_index("feature")
    assert frame.loc["colour", "allowed"] == tuple(allowed)
    line = next(line for line in str(region).splitlines() if line.startswith("colour"))
    assert line.split()[1] == COLOURS[int(region.instance[3])]
    assert set(np.unique(region.sample(500, random_state=0)[:, 3])) <= set(region.allowed["colour"])


# Models as users have them

FRAME = pd.DataFrame(X, columns=NAMES).astype({"colour": int, "size": int})


def frame_check(rows):
    """A step of a pipeline that insists on what it was fitted with."""
    assert isinstance(rows, pd.DataFrame)
    assert [kind.kind for kind in rows.dtypes] == ["f", "f", "f", "i", "i"]
    return rows


def in_a_frame(model):
    """What users write to explain such a model."""
    kinds = FRAME.dtypes.to_dict()
    return lambda rows: model.predict_proba(pd.DataFrame(rows, columns=NAMES).astype(kinds))


def frame_models():
    columns = ColumnTransformer(
        [("numbers", StandardScaler(), NAMES[:3]), ("codes", OneHotEncoder(), ["colour", "size"])]
    )
    return {
        "bare forest": RandomForestClassifier(n_estimators=5, max_depth=4, random_state=0),
        "bare boosting": GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
        "column transformer": make_pipeline(columns, LogisticRegression()),
        "insists on integers": make_pipeline(FunctionTransformer(frame_check), columns, LogisticRegression()),
    }


@pytest.mark.parametrize("name", frame_models())
def test_models_fitted_on_a_frame_are_asked_with_one_and_warn_of_nothing(name):
    model = frame_models()[name].fit(FRAME, Y)
    explained = categorical(predict_fn=in_a_frame(model))
    wrapped = region_of(explained, agreement="change")
    bare = region_of(explained, predict_fn=model.predict_proba, training_data=FRAME, agreement="change")
    assert bare
    assert bare == wrapped
    assert true_purity(explained, bare) >= 0.9


def test_a_bare_model_fitted_on_a_frame_is_asked_with_one_after_lime_was_warned_about_it():
    model = frame_models()["bare forest"].fit(FRAME, Y)
    explainer = wrap(
        LimeTabularExplainer(X, feature_names=NAMES, categorical_features=[3, 4], random_state=0),
        training_data=FRAME,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        explanation = explainer.explain_instance(X[7], model.predict_proba, num_samples=300)
    assert explanation.guarantee_region(agreement="change", **QUICK)


class SinglePrecision:
    """A model that computes in float32 and refuses anything else, as networks do."""

    def __init__(self):
        self.weights = LOGISTIC.coef_.astype(np.float32)
        self.intercept = LOGISTIC.intercept_.astype(np.float32)

    def predict_proba(self, rows):
        scores = rows.astype(np.float32) @ self.weights.T + self.intercept
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("options", [{}, {"discretize_continuous": False}], ids=["bins", "no bins"])
def test_models_that_compute_in_single_precision_are_as_good_as_others(options):
    explained = tabular(SinglePrecision().predict_proba, **options)
    assert SinglePrecision().predict_proba(X[:2]).dtype == np.float32
    region = region_of(explained, agreement="change")
    assert region
    assert true_purity(explained, region) >= 0.9


def test_the_surrogate_sees_double_precision_where_rounding_would_change_the_bin():
    explained = explained_variant("quartile")
    edge = explained.explainer.discretizer.lambdas[0].__defaults__[0][1]
    row = explained.row.copy()
    row[0] = np.nextafter(edge, np.inf)
    assert np.float32(row[0]) == np.float32(edge)
    made = explain(explained.explainer, row, SinglePrecision().predict_proba, explained.training_data)
    surrogate = subject(made).surrogate
    at_edge = row.copy()
    at_edge[0] = edge
    weight = dict(made.explanation.local_exp[1])[0]
    assert surrogate(row[np.newaxis])[0] - surrogate(at_edge[np.newaxis])[0] == pytest.approx(weight)


@pytest.mark.parametrize(
    "form",
    [
        lambda row: row.tolist(),
        lambda row: row[np.newaxis],
        lambda row: pd.Series(row, index=NAMES),
        lambda row: pd.DataFrame([row], columns=NAMES),
    ],
    ids=["list", "(1, D)", "Series", "frame"],
)
def test_an_instance_may_come_in_any_form(form):
    explained = explained_variant("categories, discretised")
    region = region_of(explained, instance=form(explained.row), agreement="change")
    assert region == region_of(explained, agreement="change")


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        (PEOPLE[:2], "one row is required"),
        ([1.0, 2.0], "5 features; got a row of 2"),
        (["a"] * 5, "numbers are required"),
        (scipy.sparse.csr_matrix(np.ones((1, 3))), r"shape \(1, 5\) is required"),
        (scipy.sparse.csr_matrix((1, 5)), "all its features are 0"),
    ],
)
def test_an_instance_that_cannot_be_the_one_explained_is_refused(instance, message):
    with pytest.raises(InvalidInputError, match=message):
        region_of(explained_variant("quartile"), instance=instance)


BINARY = LogisticRegression(max_iter=5_000).fit(X[:, :3], Y == 1)


@cache
def binary():
    explainer = LimeTabularExplainer(X[:, :3], feature_names=NAMES[:3], random_state=0)
    return explain(explainer, X[7, :3], BINARY.predict_proba, X[:, :3])


ANSWERS = {
    "lists": lambda scores: scores.tolist(),
    "frame": lambda scores: pd.DataFrame(scores, columns=["no", "yes"]),
    "one column": lambda scores: scores[:, 1:],
    "one number": lambda scores: scores[:, 1],
    "list of numbers": lambda scores: scores[:, 1].tolist(),
    "Series": lambda scores: pd.Series(scores[:, 1]),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_classifier_may_answer_in_any_container(answer):
    region = region_of(binary(), predict_fn=lambda rows: answer(BINARY.predict_proba(rows)))
    assert region == region_of(binary())


@pytest.mark.parametrize(
    "answer",
    [lambda v: v[:, np.newaxis], lambda v: pd.DataFrame({"v": v}), list],
    ids=["(n, 1)", "frame", "list"],
)
def test_a_regression_may_answer_in_any_container(answer):
    explained = explained_variant("regression")
    region = region_of(explained, predict_fn=lambda rows: answer(MLP.predict(rows)), agreement="change")
    assert region == region_of(explained, agreement="change")


def test_a_classifier_that_was_explained_with_a_single_column_is_taken_as_it_is():
    def one_column(rows):
        return BINARY.predict_proba(rows)[:, 1:]

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\s*Prediction probabilties do not sum to 1", UserWarning)
        explained = explain(binary().explainer, X[7, :3], one_column, X[:, :3], labels=(0,))
    region = region_of(explained, agreement="change")
    assert region.explained.model_at_instance == pytest.approx(one_column(X[7:8, :3])[0])
    assert true_purity(explained, region) >= 0.9


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda scores: [["much", "little"]] * len(scores), "must answer with numbers"),
        (lambda scores: scores[:, 1] * 10 - 20, "not all are probabilities"),
        (lambda scores: scores[:, :, np.newaxis], "a row of class scores"),
        (lambda scores: np.full_like(scores, np.nan), "finite numbers at the instance"),
        (lambda scores: np.where(len(scores) > 1, np.nan, scores), "NaN or infinity"),
        (lambda scores: scores[: max(1, len(scores) - 1)], "must answer"),
    ],
    ids=["text", "log odds", "three dimensions", "NaN", "NaN elsewhere", "too few rows"],
)
def test_answers_that_cannot_be_used_are_refused(answer, message):
    with pytest.raises(ModelError, match=message):
        region_of(binary(), predict_fn=lambda rows: answer(BINARY.predict_proba(rows)))


def test_a_model_with_too_few_classes_is_refused():
    with pytest.raises(ModelError, match="answers with 2 classes, but class 2 was explained"):
        region_of(
            explained_variant("label 2 of three"), predict_fn=lambda rows: BINARY.predict_proba(rows[:, :3])
        )


# Edge cases


def with_column(values):
    """The plain explanation with a further column that the model does not look at."""
    data = np.column_stack([X[:, :3], values])
    explainer = LimeTabularExplainer(data, feature_names=[*NAMES[:3], "other"], random_state=0)
    return explain(explainer, data[7], lambda rows: BINARY.predict_proba(rows[:, :3]), data)


def test_a_constant_feature_stays_and_counts_for_nothing():
    region = region_of(with_column(np.zeros(len(X))), agreement="change", measure="uniform")
    assert region.lower[3] == region.upper[3] == 0
    assert region.log10_volume == pytest.approx(np.log10(np.prod((region.upper - region.lower)[:3])))
    line = next(line for line in str(region).splitlines() if line.startswith("other"))
    assert "constant" in line


def test_a_bin_that_lime_samples_wrongly_is_warned_about():
    explained = with_column(np.full(len(X), 3.0))
    assert (explained.neighbourhood[1:, 3] == 0).all()  # LIME's fault
    with pytest.warns(GuaranteeWarning, match="learnt little about: other"):
        region = region_of(explained, agreement="change")
    assert any("learnt little about: other" in note for note in region.explained.notes)
    assert "Note: LIME samples the value 0" in str(region)


def test_a_bin_that_lime_never_samples_is_not_warned_about():
    values = np.where(np.arange(len(X)) % 2 == 0, 1.0, 0.0)  # the bin above 1 is empty
    explained = with_column(values)
    assert explained.explainer.discretizer.mins[3][-1] == explained.explainer.discretizer.maxs[3][-1] == 1
    assert region_of(explained, agreement="change").explained.notes == ()


MISSING = X[7] * np.array([1, np.nan, 1, 1, 1])
HIST = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, Y)


@pytest.mark.filterwarnings("ignore:The instance has no value")
def test_a_missing_value_stays_missing_where_the_model_takes_it():
    explained = categorical(predict_fn=HIST.predict_proba, row=MISSING)
    np.testing.assert_allclose(
        subject(explained).surrogate(explained.neighbourhood), explained.said[1], atol=1e-9
    )
    region = region_of(explained, agreement="change")
    assert region
    assert np.isnan(region.sample(500, random_state=0)[:, 1]).all()
    assert np.isnan(region.allowed["income"]).all()
    assert np.isfinite([region.lower, region.upper, region.reach]).all()
    assert np.isfinite(region.log10_share)
    assert true_purity(explained, region) >= 0.9
    assert GuaranteeRegion.from_json(region.to_json()) == region


@pytest.mark.filterwarnings("ignore:The instance has no value")
def test_a_missing_value_in_a_column_of_integers_stays_missing_in_a_frame():
    frame = FRAME.astype({"income": int})
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(frame, Y)
    explained = categorical(
        predict_fn=lambda rows: model.predict_proba(pd.DataFrame(rows, columns=NAMES)), row=MISSING
    )
    assert region_of(explained, predict_fn=model.predict_proba, training_data=frame, agreement="change")


def test_a_model_that_refuses_missing_values_is_an_error_that_names_the_features():
    explained = categorical(predict_fn=HIST.predict_proba, row=MISSING)
    with pytest.raises(ModelError, match=r"contains NaN[\s\S]*no value \(NaN\) for: income"):
        region_of(explained, predict_fn=LogisticRegression(max_iter=5_000).fit(X, Y).predict_proba)


def test_a_model_that_fails_at_the_instance_is_an_error_that_says_so():
    def broken(rows):
        raise ZeroDivisionError("no such thing")

    with pytest.raises(ModelError, match="about the instance, raised ZeroDivisionError: no such thing"):
        region_of(explained_variant("quartile"), predict_fn=broken)


@pytest.mark.parametrize("options", [{}, {"discretize_continuous": False}], ids=["bins", "no bins"])
def test_an_instance_outside_the_training_data_widens_the_domain(options):
    row = explained_variant("quartile").row.copy()
    row[1] = 500.0
    explained = tabular(LOGISTIC.predict_proba, row=row, **options)
    region = region_of(explained, agreement="change")
    assert region.widened == ("income",)
    assert region.domain.upper[1] == 500
    assert "widened to hold the instance in: income" in str(region)


@pytest.mark.parametrize(("names", "shown"), [({3: [*COLOURS, "pink"]}, "pink"), (None, "4")])
def test_an_unseen_category_is_added_and_shown_by_its_name(names, shown):
    row = X[7].copy()
    row[3] = 4
    explained = categorical(row=row, categorical_names=names)
    region = region_of(explained, agreement="change")
    assert 4.0 in region.allowed["colour"]
    assert any(note.endswith("was added to them: colour.") for note in region.explained.notes)
    line = next(line for line in str(region).splitlines() if line.startswith("colour"))
    assert line.split()[1] == shown
    assert shown in region.to_frame().set_index("feature").loc["colour", "allowed"]
    assert true_purity(explained, region) >= 0.9


def test_a_model_that_changes_its_mind_about_the_instance_is_refused():
    rng = np.random.default_rng(0)

    def moody(rows):
        p = rng.random(len(rows))
        return np.column_stack([1 - p, p])

    explained = explain(people_explainer(), PEOPLE[0], moody, PEOPLE)
    with pytest.raises(InconsistentModelError, match=r"asked about the instance twice.*Fix its seed"):
        region_of(explained)


def test_a_model_that_changes_its_mind_elsewhere_is_refused():
    rng = np.random.default_rng(0)

    def moody(rows):
        p = np.where((rows == PEOPLE[0]).all(axis=1), 0.9, rng.random(len(rows)))
        return np.column_stack([1 - p, p])

    explained = explain(people_explainer(), PEOPLE[0], moody, PEOPLE)
    with pytest.raises(InconsistentModelError, match="Fix its seed"):
        region_of(explained, agreement="change")


def test_another_model_than_the_one_explained_is_refused():
    with pytest.raises(InvalidInputError, match=r"but said .* when it was explained"):
        region_of(explained_variant("quartile"), predict_fn=LOGISTIC.predict_proba)


def test_another_instance_than_the_one_explained_is_refused():
    explained = explained_variant("not discretised")
    with pytest.raises(InvalidInputError, match="Pass the row that was explained"):
        region_of(explained, instance=explained.training_data[8])
    discretised = explained_variant("quartile")
    with pytest.raises(InvalidInputError, match="Pass the row and the explainer that it was made with"):
        region_of(discretised, instance=discretised.training_data[8])


class Counted:
    """A model that counts what it is asked."""

    def __init__(self, function):
        self.function, self.batches = function, []

    def __call__(self, rows):
        self.batches.append(len(rows))
        return self.function(rows)


def test_the_model_is_asked_in_batches_and_every_row_is_counted():
    model = Counted(BOOSTED.predict_proba)
    region = region_of(explained_variant("quartile"), predict_fn=model, batch_rows=16, agreement="change")
    assert max(model.batches) == 16
    assert region.evaluations == sum(model.batches)
    assert region.calls == len(model.batches)


def test_a_batch_is_never_huge():
    model = Counted(BINARY.predict_proba)
    region_of(
        binary(), predict_fn=model, purity=0.9995, certifier="zero-failure", effort=None, agreement="change"
    )
    assert sum(model.batches) > 10_000 >= max(model.batches)


def test_the_limit_on_evaluations_is_never_passed_and_may_be_reached():
    reached = []
    for limit in range(102, 702, 20):
        model = Counted(BOOSTED.predict_proba)
        region = region_of(
            explained_variant("quartile"), predict_fn=model, agreement="change", max_evaluations=limit
        )
        assert sum(model.batches) == region.evaluations <= limit
        assert region or "Allow more with max_evaluations=" in region.reason
        reached.append(region.evaluations == limit)
    assert any(reached)


@pytest.mark.parametrize(
    ("limit", "message"), [(1, r"at least \d+ are needed to certify"), (0, "got 0"), ("many", "got 'many'")]
)
def test_a_limit_that_leaves_nothing_to_ask_is_refused(limit, message):
    with pytest.raises(InvalidInputError, match=f"max_evaluations: .*{message}"):
        region_of(explained_variant("quartile"), max_evaluations=limit)


@pytest.mark.parametrize("name", ["categories, discretised", "sparse csr", "recurrent", "regression"])
def test_a_region_comes_back_from_json_as_it_was(name):
    region = region_of(explained_variant(name), agreement="change")
    text = region.to_json()
    again = GuaranteeRegion.from_json(text)
    assert again == region
    assert again.explained == region.explained
    assert str(again) == str(region)
    assert json.loads(text)["explained"]["kind"] == "lime tabular"
    assert pickle.loads(pickle.dumps(region)) == region


# The three tests


def test_a_classifier_is_tested_by_its_class_and_a_tenth():
    region = region_of(binary())
    assert (region.explained.agreement, region.explained.tolerance) == ("class", 0.1)
    assert "faithful: the same class, or the same score within 0.1" in str(region)
    assert true_purity(binary(), region) >= 0.9


def test_a_regression_is_tested_by_its_value_and_a_tenth_of_its_range():
    explained = explained_variant("regression")
    region = region_of(explained)
    values = MLP.predict(explained.neighbourhood)
    assert region.explained.agreement == "value"
    assert region.explained.tolerance == pytest.approx(0.1 * (values.max() - values.min()))
    assert "faithful: the same value within" in str(region)
    assert region.explained.label is None


@pytest.mark.parametrize("name", ["regression", "regression, not discretised", "quartile"])
def test_a_region_of_equal_values_is_truly_pure(name):
    explained = explained_variant(name)
    gap = region_of(explained, agreement="value").explained.gap
    region = region_of(explained, agreement="value", tolerance=1.5 * gap)
    assert region
    assert region.explained.agreement == "value"
    assert true_purity(explained, region) >= 0.9


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("regression", {"agreement": "class"}, "'class' is for classifiers"),
        ("quartile", {"agreement": "mood"}, "one of .* is required; got 'mood'"),
        ("quartile", {"tolerance": 0.0}, "a positive number is required"),
        ("quartile", {"tolerance": float("nan")}, "a positive number is required"),
    ],
)
def test_a_test_that_makes_no_sense_is_refused(name, options, message):
    with pytest.raises(InvalidInputError, match=message):
        region_of(explained_variant(name), **options)


def test_a_regression_that_never_changes_has_no_default_tolerance():
    explainer = LimeTabularExplainer(PEOPLE, mode="regression", random_state=0)
    explained = explain(explainer, PEOPLE[0], lambda rows: np.full(len(rows), 5.0), PEOPLE)
    with pytest.raises(InvalidInputError, match="Pass tolerance="):
        region_of(explained)
    assert region_of(explained, tolerance=0.1).reach.tolist() == [1, 1, 1]


UNFAITHFUL = {
    "class of one label": (
        lambda row: tabular(FOREST.predict_proba, row=row, explain_options={"labels": (2,)}),
        {"agreement": "class"},
    ),
    "class of all labels": (
        lambda row: tabular(FOREST.predict_proba, row=row, explain_options={"labels": (0, 1, 2)}),
        {"agreement": "class"},
    ),
    "value": (lambda row: tabular(row=row), {"agreement": "value"}),
    "value of a regression": (lambda row: regression(row=row), {"agreement": "value"}),
}


def first_missed(explained_row, options):
    """The first row of some whose explanation misses the model."""
    for row in PLAIN[:60]:
        explained = explained_row(row)
        made = subject(explained, **options)
        if not made.faithful(made.instance[np.newaxis])[0]:
            return explained
    return pytest.fail("LIME misses the model nowhere")


@pytest.mark.parametrize(("explained_row", "options"), UNFAITHFUL.values(), ids=UNFAITHFUL)
def test_an_explanation_that_misses_its_instance_says_by_how_much_and_its_ways_out_lead_out(
    explained_row, options
):
    explained = first_missed(explained_row, options)
    region = region_of(explained, **options)
    assert region.status == "unfaithful"
    assert not region
    gap = region.explained.gap
    assert gap >= region.explained.tolerance
    assert f"a gap of {gap:.4g}" in region.reason
    assert str(region).startswith("Unfaithful: at the instance itself the model says")
    if gap < 0.25 * region.explained.scale:
        advised = float(region.reason.split("tolerance=")[1].split(" ")[0])
        assert gap < advised < 1.2 * gap
        assert region_of(explained, **{**options, "tolerance": advised}).status != "unfaithful"
    assert region_of(explained, **{**options, "agreement": "change"}).status == "certified"
    assert np.isfinite([region.lower, region.upper, region.reach]).all()
    assert GuaranteeRegion.from_json(region.to_json()) == region


def test_the_tolerance_advised_is_always_above_the_gap():
    for gap in [*np.arange(1, 1_000) / 1_000, *np.arange(1, 100) / 100, 123.0, 9.99]:
        explained = ExplanationInfo(
            "lime tabular", "features", 1, None, "value", 1e-9, (gap,), (0.0,), (), scale=1_000.0
        )
        assert float(explained.miss().split("tolerance=")[1].split(" ")[0]) > gap


# Regressors and explainers that LIME lets through, and that mean something else


@pytest.mark.parametrize("label", [None, 0, 1])
def test_a_regressor_with_a_link_is_refused_whatever_label_is_asked_for(label):
    explained = tabular(
        FOREST.predict_proba, explain_options={"labels": (0, 1), "regressor": PoissonRegressor(alpha=0.01)}
    )
    with pytest.raises(InvalidInputError, match="PoissonRegressor has a logarithmic link"):
        region_of(explained, label=label, agreement="change")


def test_a_regressor_whose_weights_lime_misreads_is_refused():
    explained = tabular(FOREST.predict_proba, explain_options={"regressor": SVR(kernel="linear")})
    with pytest.raises(InvalidInputError, match=r"several weights.*another model_regressor"):
        region_of(explained)


def test_statistics_without_bins_are_refused():
    explained = categorical(training_data_stats=statistics(with_bins=False))
    with pytest.raises(InvalidInputError, match=r"without bins for 'age'.*Give the stats a 'bins' entry"):
        region_of(explained)


def test_a_discretizer_whose_bins_cannot_be_read_is_refused():
    explained = tabular()
    edges = explained.explainer.discretizer.lambdas[2].__defaults__[0]
    explained.explainer.discretizer.lambdas[2] = lambda x: np.searchsorted(edges, x)
    with pytest.raises(InvalidInputError, match="bins of 'debt' cannot be read"):
        region_of(explained)


@pytest.mark.parametrize("name", ["two labels of three", "all labels", "regression", "quartile"])
def test_the_development_version_keeps_a_value_for_every_label(name):
    explained = VARIANTS[name]()
    right = {0 if label is None else label: said[0] for label, said in explained.said.items()}
    label = next(iter(explained.said))
    before = region_of(explained, agreement="change", label=label)
    explained.explanation.local_pred = right
    assert region_of(explained, agreement="change", label=label) == before
    first = next(iter(right))
    explained.explanation.local_pred = {**right, first: right[first] + 0.01}
    with pytest.raises(InvalidInputError, match="LIME's own regressor gave"):
        region_of(explained, agreement="change", label=label)


# The range of every feature


@pytest.mark.parametrize("around", [False, True], ids=["around the mean", "around the instance"])
def test_a_range_that_is_guessed_is_warned_about(around):
    explained = explained_variant("around the instance" if around else "not discretised")
    with pytest.warns(GuaranteeWarning, match="is guessed: the (instance|mean) plus and minus 3 standard"):
        region = region_of(explained, training_data=None, agreement="change")
    data = explained.training_data
    middle = explained.row if around else data.mean(axis=0)
    np.testing.assert_allclose(region.domain.lower, middle - 3 * data.std(axis=0))
    np.testing.assert_allclose(region.domain.upper, middle + 3 * data.std(axis=0))
    assert any("Pass training_data= or bounds=" in note for note in region.explained.notes)
    assert "Note: The range of age" in str(region)


def test_only_ranges_that_are_not_given_are_guessed():
    explained = explained_variant("not discretised")
    some = {"age": (10, 90), 1: (0, 200), "debt": (-2, 2)}
    with pytest.warns(GuaranteeWarning, match="range of height, weight is guessed"):
        region = region_of(explained, training_data=None, bounds=some, agreement="change")
    assert region.domain.lower[:3].tolist() == [10, 0, -2]
    every = np.column_stack(
        [explained.training_data.min(axis=0) - 1, explained.training_data.max(axis=0) + 1]
    )
    region = region_of(explained, training_data=None, bounds=every, agreement="change")
    np.testing.assert_array_equal(region.domain.lower, every[:, 0])
    assert region.explained.notes == ()


def test_bounds_win_over_the_training_data_and_that_over_the_bins():
    explained = explained_variant("quartile")
    wide = np.vstack([explained.training_data, explained.training_data.max(axis=0) + 7])
    region = region_of(explained, training_data=wide, bounds={"age": (0, 150)}, agreement="change")
    assert region.domain.upper.tolist() == [150, *wide.max(axis=0)[1:]]
    alone = region_of(explained, training_data=None, agreement="change")
    np.testing.assert_array_equal(alone.domain.upper, explained.training_data.max(axis=0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": {"wealth": (0, 1)}}, "there is no feature 'wealth'"),
        ({"bounds": {9: (0, 1)}}, "there is no feature 9"),
        ({"bounds": {"age": 3}}, "'age' needs a pair"),
        ({"bounds": [(0, 1)]}, "a .* pair for each of 5 features"),
        ({"bounds": {"age": (90, 10)}}, "Swap them"),
        ({"training_data": X[:, :3]}, "5 features; got 3 columns"),
    ],
)
def test_bounds_and_data_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InvalidInputError, match=message):
        region_of(explained_variant("quartile"), **options)


def test_missing_and_foreign_values_in_the_training_data_are_passed_over():
    frame = pd.DataFrame(explained_variant("not discretised").training_data).astype(object)
    frame.iloc[0, 0] = np.nan
    frame[4] = "text"
    with pytest.warns(GuaranteeWarning, match="range of weight is guessed"):
        region = region_of(explained_variant("not discretised"), training_data=frame, agreement="change")
    assert region.domain.lower[0] == explained_variant("not discretised").training_data[1:, 0].min()


# Sparse rows and sequences


def test_a_sparse_row_varies_where_it_is_not_0():
    explained = explained_variant("sparse csr")
    columns = np.unique(explained.row.nonzero()[1])
    region = region_of(explained, agreement="change")
    assert region.names == tuple(str(i) for i in columns)
    assert region.domain.lower.tolist() == SPARSE[:, columns].min(axis=0).toarray()[0].tolist()
    assert f"only the {columns.size} features that are not 0 vary" in str(region)


def test_sparse_rows_of_any_format_have_the_same_region():
    regions = [
        region_of(explained_variant(name), agreement="change") for name in ("sparse csr", "sparse coo")
    ]
    assert regions[0] == regions[1]
    wrapped = wrap(LimeTabularExplainer(SPARSE, random_state=0), training_data=SPARSE)
    explanation = wrapped.explain_instance(SPARSE[4], SPARSE_MODEL.predict_proba, num_samples=400)
    assert explanation.guarantee_region(agreement="change", **QUICK) == regions[0]


def test_a_feature_that_lime_lists_twice_has_both_weights():
    explained = sparse(explain_options={"num_features": 20})
    listed = [int(feature) for feature, _ in explained.explanation.local_exp[1]]
    assert len(listed) > len(set(listed))
    assert 0 in explained.row.nonzero()[1]
    weights = region_of(explained, agreement="change").explained.weights
    assert weights[0] == pytest.approx(sum(w for i, w in explained.explanation.local_exp[1] if i == 0))


def test_a_sequence_is_explained_as_it_is_however_it_was_remembered():
    explained = recurrent()
    given = region_of(explained, agreement="change")
    assert given.names[:5] == ("a_t-3", "a_t-2", "a_t-1", "a_t-0", "b_t-3")
    assert given.domain.upper.tolist() == SEQUENCES.max(axis=0).T.ravel().tolist()
    wrapped = wrap(explained.explainer, training_data=SEQUENCES)
    explanation = wrapped.explain_instance(explained.row, explained.predict_fn, num_samples=300)
    region = explanation.guarantee_region(agreement="change", **QUICK)
    assert region.domain == given.domain
    with install():
        explanation = recurrent().explainer.explain_instance(
            explained.row, explained.predict_fn, num_samples=300
        )
        assert explanation.guarantee_region(agreement="change", **QUICK).domain == given.domain


# What has to be given


@pytest.mark.parametrize("missing", ["explainer", "predict_fn", "instance"])
def test_what_an_explanation_does_not_keep_is_asked_for(missing):
    with pytest.raises(InvalidInputError, match=f"{missing}: .*Pass {missing}="):
        region_of(explained_variant("quartile"), **{missing: None})


def test_an_explanation_without_bins_or_categories_keeps_its_row():
    explained = explained_variant("not discretised")
    region = region_of(explained, instance=None, agreement="change")
    np.testing.assert_allclose(region.instance, explained.row)
    assert region


def test_weights_are_those_of_the_explanation():
    explained = explained_variant("few features")
    weights = region_of(explained, agreement="change").explained.weights
    told = {int(feature): weight for feature, weight in explained.explanation.local_exp[1]}
    assert weights == pytest.approx([told.get(i, 0) for i in range(5)])


def test_features_that_share_a_name_are_told_apart():
    explained = tabular(feature_names=["a", "b", "a", "c", "a"])
    assert region_of(explained, agreement="change").names == ("a #1", "b", "a #2", "c", "a #3")
