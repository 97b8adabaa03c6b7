"""What a user gives belongs together: the row, the explainer, the class, the data, and what shap expects."""

import inspect
import io
import pickle
import warnings

import numpy as np
import pytest
from lime.lime_tabular import LimeTabularExplainer
from lime_guarantee.adapters.ranges import TrainingData
from sklearn.linear_model import LinearRegression, LogisticRegression

from lime_guarantee import InvalidInputError, guarantee_region, install, problem_of, wrap

with warnings.catch_warnings():  # of its own use of matplotlib
    warnings.simplefilter("ignore")
    import shap

QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0}
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(300, 2)), RNG.integers(0, 3, 300)])
THREE = np.digitize(X[:, 0] - X[:, 1], [-0.5, 0.5])
MODEL = LogisticRegression(max_iter=500).fit(X, THREE)
NAMES = ["low", "middle", "high"]


def lime(**options):
    names = {2: ["red", "green", "blue"]}
    return LimeTabularExplainer(
        X, feature_names=["a", "b", "colour"], categorical_features=[2], categorical_names=names,
        class_names=NAMES, random_state=0, **options,
    )  # fmt: skip


def ask(explainer, instance, made_by=None):
    made_by = explainer if made_by is None else made_by
    explanation = made_by.explain_instance(X[0], MODEL.predict_proba, num_samples=200)
    return guarantee_region(
        explanation,
        explainer=explainer,
        predict_fn=MODEL.predict_proba,
        instance=instance,
        training_data=X,
        **QUICK,
    )


@pytest.mark.parametrize("options", [{}, {"discretizer": "decile"}, {"discretize_continuous": False}])
def test_the_row_that_was_explained_is_accepted_and_others_are_not(options):
    explainer = lime(**options)
    assert ask(explainer, X[0]).status in ("certified", "unfaithful")
    for other in (X[0] + [0.02, 0, 0], X[0] - [0, 3, 0], [X[0, 0], X[0, 1], (X[0, 2] + 1) % 3]):
        with pytest.raises(InvalidInputError, match=r"^instance.* Pass the row"):
            ask(explainer, np.array(other))


def test_an_explainer_with_other_bins_is_refused():
    with pytest.raises(InvalidInputError, match="Pass the row and the explainer that it was made with"):
        ask(lime(discretizer="decile"), X[0], made_by=lime())


def three_classes():
    explainer = shap.PermutationExplainer(MODEL.predict_proba, X[:50])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explanation = wrap(explainer, training_data=X)(X[:2])
    explanation.output_names = NAMES
    return explanation


def test_a_label_of_shap_is_a_number_or_a_name_and_never_ignored():
    explanation = three_classes()
    for label, column in ((0, 0), (2, 2), ("high", 2), ("middle", 1)):
        assert problem_of(explanation[0], label=label, surrogate="presence").explained.label == column
    for label in (3, -1, "nonsense"):
        with pytest.raises(InvalidInputError, match=r"^label: .* was not explained.*low, middle, high"):
            problem_of(explanation[0], label=label, surrogate="presence")
    sliced = explanation[0, :, 1]
    assert problem_of(sliced, surrogate="presence").explained.label == 1
    for right in (1, "middle"):
        assert problem_of(sliced, label=right, surrogate="presence").explained.label == 1
    for wrong in (0, 2):
        with pytest.raises(InvalidInputError, match=r"^label: .* was not explained.*output 1 of 3"):
            problem_of(sliced, label=wrong, surrogate="presence")
    for wrong in (3, "high", "nonsense"):  # a slice knows the name of its own output alone
        with pytest.raises(InvalidInputError, match=r"^label: .* is none of the model's outputs"):
            problem_of(sliced, label=wrong, surrogate="presence")


@pytest.mark.parametrize("make", ["lime", "shap", "wrap"])
def test_infinite_training_data_is_refused_by_all(make):
    data = X.copy()
    data[3, 1] = np.inf
    explainer = lime()
    explanation = explainer.explain_instance(X[0], MODEL.predict_proba, num_samples=100)
    given = {"explainer": explainer, "predict_fn": MODEL.predict_proba, "instance": X[0]}
    calls = {
        "lime": lambda: guarantee_region(explanation, training_data=data, **given),
        "shap": lambda: three_classes()[0].guarantee_region(training_data=data),
        "wrap": lambda: wrap(lime(), training_data=data),
    }
    with pytest.raises(InvalidInputError, match=r"^training_data: column 1 has infinite values"):
        calls[make]()


def test_what_is_wrong_with_data_seen_by_the_way_is_told_when_a_region_is_asked_for():
    seen = TrainingData.seen(np.array([[1.0, np.nan], [2.0, np.nan]]))
    assert "has no value but missing ones" in seen.refused
    explanation = wrap(lime()).explain_instance(X[0], MODEL.predict_proba, num_samples=100)
    explanation._guarantee_captured.data = seen
    with pytest.raises(InvalidInputError, match="has no value but missing ones"):
        explanation.guarantee_region()


LINE = LinearRegression().fit(X, X @ [1.0, 2.0, 0.0])
SAVED = {
    "KernelExplainer": lambda: shap.KernelExplainer(LINE.predict, X[:20]),
    "PermutationExplainer": lambda: shap.PermutationExplainer(LINE.predict, X[:20]),
    "ExactExplainer": lambda: shap.ExactExplainer(LINE.predict, X[:20]),
    "LinearExplainer": lambda: shap.LinearExplainer(LINE, X[:20]),
}


def test_the_arguments_that_shap_reads_off_its_classes_are_its_own():
    names = ["TreeExplainer", "SamplingExplainer", "PartitionExplainer", "AdditiveExplainer", *SAVED]
    classes = [getattr(shap, name) for name in names]

    def read():
        return [inspect.getfullargspec(getattr(c, m)) for c in classes for m in ("__init__", "__call__")]

    before = read()
    with install():
        assert read() == before


@pytest.mark.parametrize("kind", SAVED)
def test_shap_saves_and_loads_its_explainers_while_installed(kind):
    with install(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = SAVED[kind]()
        expected = explainer(X[:2])
        file = io.BytesIO()
        explainer.save(file)
        file.seek(0)
        loaded = getattr(shap, kind).load(file)
        again = loaded(X[:2])
        row = pickle.loads(pickle.dumps(again[0]))  # afterwards, a slice would carry nothing of ours
    assert np.allclose(again.values, expected.values)
    assert np.array_equal(row.values, again.values[0])
