"""Problems, their faithful tests, and surrogates fitted as the paper does."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier

from lime_guarantee import Domain, InvalidInputError, ModelError, find_region
from lime_guarantee.problem.agreement import SameChange, SameClass, SameValue
from lime_guarantee.problem.problem import Problem
from lime_guarantee.problem.surrogates import ConstantSurrogate, fit_surrogate


def test_same_class_takes_the_class_or_the_score_of_the_models_class():
    model = np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.6, 0.3, 0.1]])
    surrogate = np.array([[0.9, 0.1, 0.0], [0.45, 0.55, 0.0], [0.55, 0.6, 0.0]])
    assert SameClass(0.1)(model, surrogate).tolist() == [True, False, True]


def test_same_value_needs_every_column():
    model, surrogate = np.zeros((2, 2)), np.array([[0.0, 0.05], [0.0, 0.2]])
    assert SameValue(0.1)(model, surrogate).tolist() == [True, False]


def test_same_change_leaves_the_intercept_out():
    rule = SameChange(0.1, model_at_instance=5.0, surrogate_at_instance=0.0)
    assert rule(np.array([5.5, 5.5]), np.array([0.45, 0.7])).tolist() == [True, False]


@pytest.mark.parametrize("rule", [SameClass, SameValue, lambda t: SameChange(t, 0.0, 0.0)])
@pytest.mark.parametrize("tolerance", [0.0, -1.0, float("nan"), float("inf")])
def test_a_tolerance_must_be_positive(rule, tolerance):
    with pytest.raises(InvalidInputError, match="tolerance"):
        rule(tolerance)


def problem(model, surrogate=lambda X: X[:, 0]):
    return Problem(model, surrogate, SameValue(0.1), np.array([0.5]), Domain.from_bounds([0], [1]))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda X: np.full(len(X), np.nan), "the model answered NaN or infinity to 4 of 4 rows"),
        (lambda X: np.ones(len(X) - 1), "the model must answer 4 rows"),
        (lambda X: ["a"] * len(X), "the model must answer with numbers"),
        (lambda X: np.ones((len(X), 3)), r"the model answers with shape \(4, 3\), the surrogate with \(4,\)"),
    ],
)
def test_a_model_that_answers_badly_is_named(model, message):
    with pytest.raises(ModelError, match=message):
        problem(model).faithful(np.zeros((4, 1)))


def test_lists_and_single_columns_will_do():
    X = np.array([[0.2], [0.9]])
    assert problem(lambda X: X[:, :1].tolist()).faithful(X).all()


def test_an_error_of_a_problem_reaches_the_caller_as_it_is():
    with pytest.raises(ModelError, match="answered NaN"):
        find_region(problem(lambda X: X[:, 0] * np.nan).faithful, [0.5], Domain.from_bounds([0], [1]))


@pytest.fixture(scope="module")
def forest():
    X, y = make_moons(400, noise=0.2, random_state=0)
    return RandomForestClassifier(50, random_state=0).fit(X, y), X


@pytest.mark.parametrize("kind", ["logistic", "tree"])
def test_a_fitted_surrogate_is_faithful_around_its_instance_and_pickles(forest, kind):
    model, X = forest
    surrogate = fit_surrogate(model.predict_proba, X[0], SameClass(0.1), kind=kind, random_state=0)
    near = X[0] + 0.01 * np.random.default_rng(0).standard_normal((500, 2))
    assert SameClass(0.1)(model.predict_proba(near), surrogate(near)).mean() > 0.95
    again = pickle.loads(pickle.dumps(surrogate))
    assert (again(near) == surrogate(near)).all()


def test_where_the_model_gives_one_class_the_surrogate_is_constant():
    def certain(X):
        return np.tile([0.9, 0.1], (len(X), 1))

    surrogate = fit_surrogate(certain, np.zeros(2), SameClass(0.1), random_state=0)
    assert isinstance(surrogate, ConstantSurrogate)
    assert surrogate(np.zeros((2, 2))) == pytest.approx(np.array([[0.9, 0.1]] * 2))


def test_an_unknown_kind_of_surrogate_is_refused():
    with pytest.raises(InvalidInputError, match="kind"):
        fit_surrogate(lambda X: X, np.zeros(2), SameClass(0.1), kind="magic")


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["logistic", "tree"])
def test_a_region_for_a_forest_and_its_surrogate_is_truly_pure(forest, kind):
    model, X = forest
    agreement = SameClass(0.1)
    surrogate = fit_surrogate(model.predict_proba, X[1], agreement, kind=kind, random_state=0)
    task = Problem(model.predict_proba, surrogate, agreement, X[1], Domain.from_data(X))
    region = find_region(task.faithful, task.instance, task.domain, random_state=0)
    assert region
    fresh = np.random.default_rng(1).uniform(region.lower, region.upper, (20_000, 2))
    assert task.faithful(fresh).mean() > 0.99


@pytest.mark.parametrize("rounded", [0.1, np.nextafter(0.1, 0.0), np.nextafter(0.1, 1.0)])
def test_rounding_does_not_decide_whether_an_answer_at_the_tolerance_is_near(rounded):
    """A sum is rounded otherwise in another batch: the answer must not change with it."""
    assert not SameValue(0.1)(np.array([rounded]), np.zeros(1))[0]
    assert not SameChange(0.1, 0.5, 0.0)(np.array([0.5 + rounded]), np.zeros(1))[0]
    assert SameValue(0.1)(np.array([0.0999]), np.zeros(1))[0]
