"""Several explanations side by side, and an explainer that is tuned."""

import numpy as np
import pytest
import shap
from lime.lime_tabular import LimeTabularExplainer
from lime_guarantee.adapters.lime_variants import lime_with
from matplotlib import pyplot
from sklearn.linear_model import LinearRegression

from lime_guarantee import Domain, InvalidInputError, Problem, SameValue, compare, tune, wrap
from lime_guarantee.choosing.tune import Tried

UNIT = Domain.from_bounds([0, 0], [1, 1])


def problem(surrogate, row=(0.5, 0.5)):
    def model(X):
        return X[:, 0] + 0.2 * X[:, 1]

    return Problem(model, surrogate, SameValue(0.05), np.array(row), UNIT)


@pytest.fixture(scope="module")
def comparison():
    return compare(
        {
            "both": problem(lambda X: X[:, 0] + 0.2 * X[:, 1]),
            "x0 alone": problem(lambda X: X[:, 0] + 0.1),
            "wrong": problem(lambda X: X[:, 0] + 1),
        },
        validation_data=np.random.default_rng(0).random((200, 2)),
        random_state=0,
    )


def test_explanations_stand_side_by_side_with_the_best_constant(comparison):
    frame = comparison.to_frame().set_index("explanation")
    assert list(frame.index) == ["both", "x0 alone", "wrong", "best constant"]
    assert frame.loc["both", "log10_share"] == 0
    assert frame.loc["both", "needed"] == 2
    assert frame.loc["both", "gain"] > 0.8
    # x0 alone is off by 0.2 (x1 - 0.5): half of x1's range; a constant holds where |x0 - 0.5| is small.
    assert frame.loc["x0 alone", "log10_share"] == pytest.approx(np.log10(0.5), abs=0.05)
    assert frame.loc["best constant", "log10_share"] < frame.loc["x0 alone", "log10_share"] - 0.3
    assert frame.loc["best constant", "gain"] < 0.01
    assert frame.loc["wrong", "status"] == "unfaithful"
    assert frame.loc["both", "coverage"] == frame.loc["both", "fidelity"] == 1
    assert comparison.largest == "both"


def test_the_table_and_the_picture_say_the_same(comparison):
    lines = str(comparison).splitlines()
    assert lines[0] == "both has the largest region."
    assert [line.split("  ")[0] for line in lines[3:]] == list(comparison.regions)
    assert "unfaithful" in lines[5]
    display = comparison.plot()
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts[2] == "not certified"
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list(comparison.regions)
    assert display.gains[0] == comparison.regions["both"].gain
    pyplot.close("all")


def test_where_a_constant_is_larger_that_is_the_answer():
    def flat(X):
        return np.where(X[:, 0] < 0.9, 1.0, 2.0)

    def tilted(X):
        return 1.0 + 0.2 * (X[:, 0] - 0.5)

    given = Problem(flat, tilted, SameValue(0.05), np.array([0.5, 0.5]), UNIT)
    found = compare([given], random_state=0)
    assert list(found.regions) == ["explanation 1", "best constant"]
    assert str(found).splitlines()[0] == "None of these explanations has a larger region than a constant has."
    alone = compare([given], constant=False, random_state=0)
    assert list(alone.regions) == ["explanation 1"]
    assert str(alone).splitlines()[0].endswith("but a constant does as well there.")


def test_lime_and_shap_are_compared_on_one_row():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = LinearRegression().fit(X, X @ [2.0, -1.0, 0.0])
    lime = wrap(LimeTabularExplainer(X, mode="regression", random_state=0), training_data=X)
    row = lime.explain_instance(X[0], model.predict, num_samples=300)
    values = wrap(shap.LinearExplainer(model, X[:50]), training_data=X)(X[:1])[0]
    found = compare({"lime": row, "shap": values}, tolerance=0.8, random_state=0)
    assert found.largest == "shap"  # exact for a model that adds up
    assert found.regions["shap"].gain > 0.5
    other = lime.explain_instance(X[1], model.predict, num_samples=300)
    with pytest.raises(InvalidInputError, match="all must be about one row; 'b'"):
        compare({"a": row, "b": other}, tolerance=0.8)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InvalidInputError, match="at least one"):
        compare([])
    with pytest.raises(InvalidInputError, match="'best constant' is ours"):
        compare({"best constant": problem(lambda X: X[:, 0])})


# -- tuning ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(300, 3))


def tuned(rows, model, **options):
    explainer = LimeTabularExplainer(rows[100:], mode="regression", random_state=0)
    return tune(
        explainer,
        rows[:3],
        model,
        training_data=rows[100:],
        validation_data=rows[3:100],
        tolerance=0.8,
        random_state=0,
        **options,
    )


def test_a_line_is_best_explained_without_bins(rows):
    tuning = tuned(
        rows,
        lambda X: 2 * X[:, 0] - X[:, 1],
        grid={"discretizer": ["quartile", None], "kernel_width": [1.0, 3.0], "num_features": [1, 3]},
    )
    assert len(tuning.tried) == 8
    assert tuning.best["discretizer"] is None
    assert tuning.best["num_features"] == 3
    assert tuning.pays
    best = tuning.tried[0]
    default = next(t for t in tuning.tried if t.setting == {**tuning.best, "discretizer": "quartile"})
    assert best.coverage > default.coverage
    assert best.coverage > tuning.constant_coverage
    assert 0 < best.explained <= best.coverage
    frame = tuning.to_frame()
    assert (frame["coverage"] + frame["explained"]).is_monotonic_decreasing
    assert f"{best.setting['num_features']}" in str(tuning)
    assert "No setting beats" not in str(tuning)


def test_on_a_flat_model_nothing_pays(rows):
    def model(X):
        return 0.1 * np.sign(X[:, 0])

    tuning = tuned(rows, model, grid={"num_features": [1, 3]})
    assert not tuning.pays
    assert str(tuning).splitlines()[-1].startswith("No setting beats a constant: the model is flat")


def test_a_little_gain_does_not_make_up_for_much_coverage():
    wide, narrow = Tried({"a": 1}, 1.0, 0.3, 0.0, 0.0), Tried({"a": 2}, 1.0, 0.05, 0.2, 0.01)
    both = Tried({"a": 3}, 1.0, 0.25, 0.6, 0.15)
    assert sorted([narrow, wide, both], key=lambda t: -t.score) == [both, wide, narrow]


def test_explainers_of_ones_own_are_tuned_by_a_function(rows):
    model = LinearRegression().fit(rows, rows @ [2.0, -1.0, 0.0])
    made = []

    def explainer(background):
        made.append(background)
        return shap.LinearExplainer(model, rows[:background])

    tuning = tune(
        explainer,
        rows[:2],
        model.predict,
        training_data=rows[100:],
        validation_data=rows[2:100],
        grid={"background": [20, 50]},
        tolerance=0.8,
        random_state=0,
    )
    assert set(made) == {20, 50}
    assert tuning.pays


def test_an_explainer_with_other_settings_keeps_the_rest():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 2)), rng.integers(0, 3, 200)])
    given = LimeTabularExplainer(
        X,
        mode="regression",
        feature_names=["a", "b", "c"],
        categorical_features=[2],
        categorical_names={2: ["x", "y", "z"]},
        random_state=0,
    )
    for discretizer in ("decile", None):
        made = lime_with(given, X, kernel_width=2.0, discretizer=discretizer, random_state=0)
        assert made.feature_names == ["a", "b", "c"]
        assert made.categorical_names == given.categorical_names
        assert made.base.kernel_fn.keywords["kernel_width"] == pytest.approx(1.5 * np.sqrt(3))
        assert made.categorical_features == ([0, 1, 2] if discretizer else [2])
    with pytest.raises(InvalidInputError, match="discretizer: one of"):
        lime_with(given, X, discretizer="octile")


def test_bad_grids_and_explainers_are_refused(rows):
    with pytest.raises(InvalidInputError, match="grid: at least one value"):
        tuned(rows, lambda X: X[:, 0], grid={"num_features": []})
    with pytest.raises(InvalidInputError, match="explainer: a LimeTabularExplainer, or a function"):
        tune("lime", rows[:1], lambda X: X[:, 0], training_data=rows, validation_data=rows)
