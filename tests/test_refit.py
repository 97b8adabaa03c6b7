"""Refit: a sparse line for the largest certified region, where it pays over the best constant."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import shap
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer
from matplotlib import pyplot
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lime_guarantee import (
    Domain,
    InvalidInputError,
    Problem,
    SameChange,
    SameClass,
    SameValue,
    Settings,
    find_region,
    refit,
    wrap,
)
from lime_guarantee.choosing.line_fit import Fit
from lime_guarantee.choosing.line_search import peeled
from lime_guarantee.choosing.refit_case import RefitCase
from lime_guarantee.problem.line import Line, line_of
from lime_guarantee.problem.surrogates import LinearSurrogate, Terms
from lime_guarantee.space.measure import Uniform

CUBE = Domain.from_bounds([-1] * 4, [1] * 4)
HOME = np.array([0.1, -0.2, 0.0, 0.3])


def nothing(X):
    return np.zeros(len(X))


def bent(X):
    """Slopes in x0 and x1, and a bend in x0 that no line follows far."""
    return 2 * X[:, 0] - X[:, 1] + 0.6 * X[:, 0] ** 2


@pytest.fixture(scope="module")
def counted():
    asked = []

    def model(X):
        asked.append(len(X))
        return bent(X)

    return refit(Problem(model, nothing, SameValue(0.3), HOME, CUBE), num_features=2, random_state=0), asked


def test_a_sloping_model_gets_a_line_with_a_far_larger_region(counted):
    found, _ = counted
    assert found.pays
    assert found.line.features.tolist() == [0, 1]
    assert found.region.log10_share > found.constant.log10_share + 1
    assert found.region.gain > 0.4
    assert found.region.worth.needed_weights == (0, 1)
    slopes = found.line.weights[:2] / found.line.scale[:2]
    np.testing.assert_allclose(slopes, [2.0, -1.0], atol=0.4)
    assert abs(found.line.offset) <= 0.15


def test_all_that_is_asked_is_counted_and_bounded(counted):
    found, asked = counted
    assert (found.evaluations, found.region.calls) == (sum(asked), len(asked))
    assert found.evaluations <= 4 * found.constant.evaluations


def test_constant_and_line_are_paid_for_from_one_budget(counted):
    found, _ = counted
    assert found.region.certificate.attempts > found.constant.attempts >= 1
    assert found.region.certificate.level < found.constant.certificate.level
    again = refit(
        Problem(bent, nothing, SameValue(0.3), HOME, CUBE), num_features=2, settings=found.region.settings
    )
    assert again.region == found.region


@pytest.mark.parametrize("rule", [SameValue(0.3), SameChange(0.3, 1.0, 0.0), SameClass(0.3)])
def test_a_flat_model_gets_the_constant(rule):
    def model(X):
        return 1.0 + 0.02 * np.sign(X[:, 0])

    found = refit(Problem(model, nothing, rule, HOME, CUBE), random_state=0)
    assert not found.pays
    assert found.line.features.size == 0
    assert found.region.gain == 0
    assert "the model is flat here" in str(found.region)
    assert found.region.log10_share == found.constant.log10_share


def test_a_line_that_a_constant_would_match_is_not_offered():
    # Steps of a staircase: flat up to the next step, and no line holds further than a constant.
    def model(X):
        return np.floor(2 * X[:, 0]) + np.floor(2 * X[:, 1])

    found = refit(Problem(model, nothing, SameValue(0.3), HOME, CUBE), random_state=0)
    assert not found.pays
    assert found.region.gain < 0.01


def test_a_larger_region_in_which_a_constant_does_as_well_does_not_pay():
    # By changes, the constant is the model's answer at the instance, which is wrong from 0.2 on. The line
    # holds everywhere; but so does 0.9, a constant that is within the tolerance at the instance.
    def model(X):
        return 0.842 + 0.12 * (X[:, 0] > 0.2)

    own = line_through(0.842, [0.15])
    rule, domain = SameChange(0.1, 0.842, 0.842), Domain.from_bounds([0], [1])
    problem = Problem(model, own, rule, np.array([0.0]), domain)
    assert find_region(problem, random_state=0).share == 1
    found = refit(problem, random_state=0)
    assert found.constant.share == pytest.approx(0.2, abs=0.02)
    assert not found.pays
    assert found.line.features.size == 0
    assert "the model is flat here" in str(found.region)


def line_through(value, weights, at=None):
    """A linear surrogate, with this value at the instance."""
    weights = np.asarray(weights, dtype=float)[:, np.newaxis]
    shift = np.zeros(len(weights)) if at is None else at
    slopes = Terms(np.arange(len(weights)), weights, shift, np.ones(len(weights)))
    return LinearSurrogate(np.array([value]), Terms([], np.empty((0, 1)), [], []), slopes)


def cubic(X):
    """Nearly a line: what a fit to few draws does not find to the digit."""
    return 2 * X[:, 0] - X[:, 1] + 0.2 * X[:, 2] ** 3


def test_the_explanations_own_line_is_kept_where_nothing_is_larger():
    own = line_through(cubic(HOME[np.newaxis])[0], [2.0, -1.0, 0.0, 0.0], HOME)
    asked = []

    def model(X):
        asked.append(len(X))
        return cubic(X)

    problem = Problem(model, own, SameValue(0.3), HOME, CUBE)
    found = refit(problem, num_features=2, random_state=0)
    assert found.pays
    assert found.region.share == 1
    np.testing.assert_allclose(found.line.weights / found.line.scale, [2.0, -1.0, 0.0, 0.0], atol=1e-9)
    assert (found.evaluations, found.region.calls) == (sum(asked), len(asked))
    assert found.evaluations <= 4 * found.constant.evaluations


def test_an_own_line_that_misses_the_instance_is_moved_to_the_model():
    at_home = cubic(HOME[np.newaxis])[0]

    def own_line(missed, most_features=2, rule=None):
        own = line_through(at_home + missed, [2.0, -1.0, 0.0, 0.0], HOME)
        problem = Problem(cubic, own, rule or SameValue(0.3), HOME, CUBE)
        return RefitCase(problem, Settings(random_state=0), 0.5, most_features).own_line()

    assert own_line(0.14).offset == pytest.approx(0.14)  # up to half the tolerance it stays where it is
    assert own_line(0.16).offset == own_line(-2.0).offset == 0
    assert own_line(0.14, rule=SameChange(0.3, at_home, at_home + 0.14)).offset == 0
    assert own_line(0.6, rule=SameClass(0.05)).offset == 0  # on the other side of the border
    assert own_line(0.0, most_features=1) is None
    border = line_through(0.9, [0.1, 0.0, 0.0, 0.0], HOME)
    problem = Problem(lambda X: np.full(len(X), 0.6), border, SameClass(0.05), HOME, CUBE)
    by_class = RefitCase(problem, Settings(random_state=0), 0.5, 2).own_line()
    assert by_class.intercept == pytest.approx(0.9)  # the same class: nothing is missed


def test_an_own_line_that_is_wrong_does_no_harm(counted):
    own = line_through(bent(HOME[np.newaxis])[0], [-5.0, 9.0, 0.0, 0.0], HOME)
    found = refit(Problem(bent, own, SameValue(0.3), HOME, CUBE), num_features=2, random_state=0)
    assert found.pays
    assert found.region.log10_share > counted[0].region.log10_share - 0.3


def test_the_rules_of_change_and_class_are_refitted_too():
    change = refit(
        Problem(bent, nothing, SameChange(0.3, bent(HOME[np.newaxis])[0], 0.0), HOME, CUBE), random_state=0
    )
    assert change.pays
    assert change.line.offset == 0

    def scores(X):
        first = 1 / (1 + np.exp(-6 * (X[:, 0] + X[:, 1])))
        return np.column_stack([first, 1 - first])

    by_class = refit(Problem(scores, scores, SameClass(0.1), HOME, CUBE), random_state=0)
    assert by_class.pays
    assert by_class.region.share > 0.9  # a line crosses 0.5 where the model does
    assert by_class.region.gain > 0.2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_on_diabetes_is_explained_far_better_by_a_line():
    X, y = load_diabetes(return_X_y=True)
    network = MLPRegressor(hidden_layer_sizes=(50,), max_iter=300, random_state=0)
    model = make_pipeline(StandardScaler(), network).fit(X, y).predict
    tolerance = 0.1 * np.ptp(model(X))
    problem = Problem(model, lambda rows: model(rows), SameValue(tolerance), X[0], Domain.from_data(X))
    found = refit(problem, random_state=0)
    assert found.pays
    assert found.region.log10_share > found.constant.log10_share + 2
    assert found.region.gain > 0.2


# -- its parts ---------------------------------------------------------------------------------------


def test_a_fit_leaves_alone_what_it_cannot_follow():
    rng = np.random.default_rng(0)
    z = rng.uniform(-1, 1, (400, 2))
    above = 2 * z[:, 0] + rng.uniform(-0.05, 0.05, 400)
    above[:60] += 5.0  # far off: given up
    offset, weights = Fit(0.1, 0.05).fitted(z, above, np.array([True, True]), (0.0, np.zeros(2)))
    assert abs(offset) <= 0.05
    np.testing.assert_allclose(weights, [2.0, 0.0], atol=0.1)


def test_sides_are_cut_where_the_failures_are():
    cube = Uniform().cube(Domain.from_bounds([0, 0], [1, 1]), np.array([0.2, 0.5]))
    points = np.random.default_rng(0).random((2_000, 2))
    box = peeled(points, points[:, 0] > 0.6, cube.whole, target=0.02)
    assert box.upper[0] == pytest.approx(0.61, abs=0.03)
    assert (box.lower[0], box.lower[1], box.upper[1]) == (0, 0, 1)


def test_a_line_is_a_surrogate_of_raw_values():
    domain = Domain.from_bounds([0, 0], [4, 0], categories={1: ["a", "b", "c"]})
    instance = np.array([1.0, "b"], dtype=object)
    home = domain.encode(instance[np.newaxis])[0]
    line = Line(domain, home, np.array([2.0, 1.0]), 10.0, 0.5, np.array([4.0, -3.0]))
    rows = np.array([[1.0, "b"], [3.0, "b"], [1.0, "c"]], dtype=object)
    np.testing.assert_allclose(line.surrogate()(rows), [10.5, 14.5, 7.5])
    codes = Domain.from_bounds([0, 0], [4, 0], categories={1: [5, 6, 7]})
    line = Line(codes, np.array([1.0, 1.0]), np.array([2.0, 1.0]), 10.0, 0.5, np.array([4.0, -3.0]))
    np.testing.assert_allclose(line.surrogate()(np.array([[1.0, 6], [3.0, 6], [1.0, 7]])), [10.5, 14.5, 7.5])


def test_a_surrogate_that_is_a_line_is_known_as_one():
    domain = Domain.from_bounds([0, 0, 1], [4, 0, 3], categories={1: [5, 6, 7]}, integer=[2])
    blank = Line(domain, np.array([1.0, 1.0, 2.0]), np.array([2.0, 1.0, 2.0]), 10.0, 0.0, np.zeros(3))
    rows = np.array([[1.0, 6, 2], [3.0, 6, 2], [1.0, 7, 3], [0.5, 5, 1]])
    for weights in ([4.0, -3.0, 0.5], [0.0, 0.0, 1.0]):
        line = replace(blank, offset=0.5, weights=np.array(weights))
        for surrogate in (line.surrogate(), line._additive()):
            found = line_of(surrogate, blank)
            np.testing.assert_allclose(found.weights, line.weights)
            assert found.offset == pytest.approx(0.5)
            np.testing.assert_allclose(found.surrogate()(rows), surrogate(rows))
    assert line_of(lambda X: X[:, 0], blank) is None
    nothing_else = Terms([], np.empty((0, 2)), [], [])
    bin_of_its_own = Terms([0], [[1.0, 2.0]], first=[0.9], second=[1.1])
    assert line_of(LinearSurrogate(np.zeros(2), bin_of_its_own, nothing_else), blank, 1) is None
    both = LinearSurrogate(np.array([1.0, 2.0]), nothing_else, Terms([0], [[1.0, 3.0]], [1.0], [1.0]))
    second = line_of(both, blank, 1)
    assert second.weights.tolist() == [6.0, 0.0, 0.0]
    assert second.intercept == 2.0


# -- explanations ------------------------------------------------------------------------------------


def rows_and_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[:, 3] = rng.integers(0, 3, 400)

    def model(rows):
        return 3 * rows[:, 0] - 2 * rows[:, 1] + 0.3 * rows[:, 0] ** 2 + (rows[:, 3] == X[0, 3])

    return X, model


def test_an_explanation_of_lime_becomes_a_better_one_of_lime():
    X, model = rows_and_model()
    explainer = LimeTabularExplainer(X, mode="regression", categorical_features=[3], random_state=0)
    explanation = wrap(explainer, training_data=X).explain_instance(X[0], model, num_samples=500)
    before = explanation.as_list()
    better = explanation.refit(tolerance=0.8, random_state=0)
    assert type(better) is type(explanation)
    assert explanation.as_list() == before
    assert explanation.region is None
    assert [name for name, _ in better.as_list()][:2] == ["0", "1"]
    assert better.region.explained.weights[:2] == tuple(better.as_map()[1][k][1] for k in range(2))
    own = find_region(better.region.problem, random_state=1)
    read = better.guarantee_region(tolerance=0.8, random_state=1)
    assert own.log10_share == pytest.approx(read.log10_share)
    np.testing.assert_allclose(read.problem.surrogate(X), own.problem.surrogate(X))
    assert read.share > 2 * explanation.guarantee_region(tolerance=0.8, random_state=0).share
    again = pickle.loads(pickle.dumps(better))
    assert (again.as_list(), again.region) == (better.as_list(), better.region)


def test_limes_own_line_is_not_made_worse():
    X, model = rows_and_model()
    explainer = LimeTabularExplainer(X, mode="regression", discretize_continuous=False, random_state=0)
    explanation = wrap(explainer, training_data=X).explain_instance(X[0], model, num_samples=500)
    own = explanation.guarantee_region(agreement="change", tolerance=0.8, random_state=0)
    better = explanation.refit(agreement="change", tolerance=0.8, random_state=0)
    assert better.region.log10_share >= own.log10_share - 0.1


def test_a_label_of_a_classifier_is_refitted():
    X, number = rows_and_model()

    def model(rows):
        score = 1 / (1 + np.exp(-number(rows) / 6))
        return np.column_stack([1 - score, score])

    explanation = wrap(LimeTabularExplainer(X, random_state=0), training_data=X).explain_instance(
        X[0], model, labels=(0, 1), num_samples=500
    )
    better = explanation.refit(agreement="value", tolerance=0.1, label=0, random_state=0)
    assert list(better.local_exp) == [0]
    assert better.region.explained.label == 0
    signs = dict(better.as_map()[0])
    assert signs[0] < 0 < signs[1]


def test_a_row_of_shap_becomes_a_better_one_of_shap():
    X, model = rows_and_model()
    model = LinearRegression().fit(X, model(X))
    row = wrap(shap.LinearExplainer(model, X[:50]), training_data=X)(X[:1])[0]
    before = row.values.copy()
    better = row.refit(tolerance=0.8, num_features=3, random_state=0)
    np.testing.assert_array_equal(row.values, before)
    assert np.count_nonzero(better.values) == 3
    assert better.base_values + better.values.sum() == pytest.approx(model.predict(X[:1])[0])
    assert better.region.explained.weights == tuple(better.values)
    assert better.region.gain > 0.4
    shap.plots.waterfall(better, show=False)
    pyplot.close("all")
    assert pickle.loads(pickle.dumps(better)).region == better.region


def test_what_cannot_be_refitted_is_refused_with_the_reason():
    def texts(given):
        good = np.array([0.9 if "good" in text else 0.1 for text in given])
        return np.column_stack([1 - good, good])

    words = wrap(LimeTextExplainer(random_state=0)).explain_instance("good and best", texts, num_samples=50)
    with pytest.raises(InvalidInputError, match="no side of a box to move"):
        words.refit(random_state=0)
    problem = Problem(bent, nothing, SameValue(0.3), HOME, CUBE)
    with pytest.raises(InvalidInputError, match="a Problem has its own"):
        refit(problem, tolerance=0.3)
    with pytest.raises(InvalidInputError, match="num_features"):
        refit(problem, num_features=0)
    own = Problem(bent, nothing, lambda f, g: f >= g, HOME, CUBE)
    with pytest.raises(InvalidInputError, match="agreement: a refit needs"):
        refit(own)


def test_a_limit_is_kept():
    problem = Problem(bent, nothing, SameValue(0.3), HOME, CUBE)
    found = refit(problem, max_evaluations=14_000, random_state=0)
    assert found.region
    assert found.evaluations <= 14_000
    hopeless = refit(problem, max_evaluations=2_500, random_state=0)
    assert hopeless.evaluations <= 2_500
