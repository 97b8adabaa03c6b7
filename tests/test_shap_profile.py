"""The profile surrogate: what it costs, and what it looks like. And shap's own space of coalitions."""

import numpy as np
import pytest
from scipy.special import expit
from shap_cases import BACKGROUND, CASES, QUICK, X, fitted, shap, theirs

from lime_guarantee import Settings, wrap
from lime_guarantee.api import problem_of


class Counted:
    """A function that counts what it is asked."""

    def __init__(self, function):
        self.function, self.rows, self.calls = function, 0, 0

    def __call__(self, rows):
        self.rows += len(rows)
        self.calls += 1
        return self.function(rows)


def counted(function, rows=X[:1], make=shap.ExactExplainer):
    """An explanation of a function, and the function, which has counted nothing yet."""
    function = Counted(function)
    explanation = theirs(wrap(make(function, BACKGROUND), training_data=X), rows)
    function.rows = function.calls = 0
    return explanation, function


def one_step(rows):
    return np.where(rows[:, 0] > 0.3, 1.0, -1.0) * 5


def interacting(rows):
    return np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2] ** 2


def wavy(rows):
    return 5 * np.sin(6 * rows).sum(axis=1)


def line(rows):
    return rows @ [1.0, -2.0, 0.5, 0.0]


def curve(rows):
    return (rows**2).sum(axis=1)


@pytest.mark.parametrize(
    "options",
    [{}, {"surrogate": "presence"}, {"space": "coalition"}, {"allowance": 700}, {"max_evaluations": 5_000}],
    ids=str,
)
def test_every_row_that_the_model_was_asked_is_reported(options):
    explanation, function = counted(interacting)
    region = explanation[0].guarantee_region(tolerance=2.0, **QUICK, **options)
    assert region.evaluations == function.rows
    assert region.calls == function.calls


@pytest.mark.parametrize("make", [shap.KernelExplainer, shap.PermutationExplainer])
def test_rows_that_other_explainers_ask_are_reported(make):
    explanation, function = counted(interacting, make=make)
    region = explanation[0].guarantee_region(tolerance=2.0, **QUICK)
    assert (region.evaluations, region.calls) == (function.rows, function.calls)


def test_rows_asked_of_the_model_and_of_its_copy_are_reported():
    """With predict_fn both are asked at the background: the sum of both is what was asked."""
    explanation, copy = counted(interacting)
    model = Counted(interacting)
    region = explanation[0].guarantee_region(tolerance=2.0, predict_fn=model, **QUICK)
    assert copy.rows == 1 + len(BACKGROUND)
    assert (region.evaluations, region.calls) == (model.rows + copy.rows, model.calls + copy.calls)


def test_units_that_are_tried_in_vain_are_reported():
    """The probabilities that the user gives are tried as they are, then as log-odds."""
    model = Counted(fitted("boosting class").predict_proba)
    explanation = CASES["boosting class, raw"].explanation
    region = explanation.guarantee_region(predict_fn=model, **QUICK)
    copies = 1 + 100  # rows of training data that stand for a background: the copy was asked there, too
    assert (region.evaluations, region.calls) == (model.rows + copies, model.calls + 1)


def profile_rows(function, *, tolerance=0.5, **options):
    """Rows asked for the profile alone."""
    explanation, asked = counted(function)
    settings = Settings(max_evaluations=options.pop("max_evaluations", None))
    subject = problem_of(explanation[0], tolerance=tolerance, settings=settings, **options)
    assert subject.evaluations == asked.rows
    return asked.rows - (1 + len(BACKGROUND)) - 1, subject.surrogate  # the check, and the instance


@pytest.mark.parametrize("allowance", [200, 1_000, 3_000, 10_000])
@pytest.mark.parametrize("function", [one_step, interacting, wavy])
def test_the_profile_stays_within_its_allowance(function, allowance):
    rows, _ = profile_rows(function, allowance=allowance)
    assert rows <= allowance


@pytest.mark.parametrize("limit", [1_000, 4_000])
def test_the_profile_stays_within_the_limit_on_all_evaluations(limit):
    rows, _ = profile_rows(wavy, max_evaluations=limit)
    assert rows <= limit // 2
    explanation, function = counted(wavy)
    explanation[0].guarantee_region(tolerance=2.0, max_evaluations=limit, **QUICK)
    assert function.rows <= limit


def test_the_profile_spends_more_where_there_is_more_to_see():
    flat, _ = profile_rows(line)
    smooth, _ = profile_rows(curve, tolerance=5.0)
    rough, _ = profile_rows(wavy, tolerance=0.5)
    assert flat <= 4 * 10 * 40  # the first, even grid, and nothing more
    assert flat <= smooth < rough / 2


def test_more_allowance_makes_a_better_profile():
    rows = np.random.default_rng(3).uniform(-2, 2, (1_000, 4))
    errors = []
    for allowance in (600, 2_000, 10_000):
        _, surrogate = profile_rows(wavy, allowance=allowance)
        errors.append(np.mean(np.abs(surrogate(rows) - wavy(rows))))
    assert errors[0] > errors[1] > errors[2]


def test_a_step_becomes_a_narrow_ramp():
    _, surrogate = profile_rows(one_step)
    at = np.linspace(X[:, 0].min(), X[:, 0].max(), 20_001)
    rows = np.zeros((at.size, 4))
    rows[:, 0] = at
    wrong = np.abs(surrogate(rows) - one_step(rows)) > 1e-6
    assert wrong.mean() < 0.01
    assert np.abs(at[wrong] - 0.3).max() < 0.05 if wrong.any() else True


def test_the_profile_is_the_same_with_the_same_seed():
    rows = np.random.default_rng(3).normal(size=(50, 4))
    explanation = CASES["kernel, forest"].explanation
    first, again, other = (
        problem_of(explanation, settings=Settings(random_state=seed)).surrogate(rows) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)  # the seed decides which coalitions are asked


def test_the_profile_at_another_value_is_what_shap_says_there():
    """Moving one feature alone: its value follows the SHAP value of the moved row."""
    explainer = shap.ExactExplainer(interacting, X[:8])
    home = X[0]
    moved = np.tile(home, (9, 1))
    moved[:, 1] = np.linspace(-2, 2, 9)
    values = theirs(explainer, moved).values[:, 1]
    explanation = theirs(wrap(explainer, training_data=X), home[np.newaxis])
    subject = problem_of(explanation[0], tolerance=0.5, allowance=200_000)
    profile = subject.surrogate(moved) - explanation[0].base_values - explanation[0].values.sum()
    error = profile - (values - explanation[0].values[1])
    assert np.abs(error).max() < 0.25 * np.ptp(values)  # few coalitions are drawn
    assert np.abs(error).max() > 0  # it is an estimate


def test_log_odds_are_compared_as_probabilities():
    case = CASES["boosting class, raw"]
    rows = case.draws(200)
    seeded = Settings(random_state=0)
    raw = problem_of(case.explanation, tolerance=0.1, settings=seeded)
    probability = problem_of(case.explanation, units="probability", settings=seeded)
    assert probability.surrogate(rows) == pytest.approx(expit(raw.surrogate(rows)))
    truth = fitted("boosting class").predict_proba(rows)[:, 1]
    assert probability.model(rows) == pytest.approx(truth)
    assert (probability.explained.agreement, probability.explained.tolerance) == ("class", 0.1)
    assert raw.explained.agreement == "value"


COALITIONS = [
    "kernel, forest",
    "exact, logistic",
    "permutation, frame",
    "exact, logit",
    "kernel, text columns",
]


@pytest.mark.parametrize("name", COALITIONS)
def test_coalitions_of_all_and_of_none(name):
    case = CASES[name]
    subject = problem_of(case.explanation, space="coalition")
    everybody, nobody = (
        np.ones((1, len(case.explanation.values))),
        np.zeros((1, len(case.explanation.values))),
    )
    base, added = float(np.ravel(case.explanation.base_values)[0]), case.explanation.values.sum()
    assert subject.model(everybody) == pytest.approx(case.truth(case.instance))
    assert subject.surrogate(everybody) == pytest.approx([base + added])
    assert subject.surrogate(nobody) == pytest.approx([base])
    if name != "exact, logit":  # there shap takes the logit of the mean, we the mean of the logits
        assert subject.model(nobody) == pytest.approx([base])


def test_a_coalition_is_worth_the_mean_over_the_background():
    case = CASES["kernel, forest"]
    subject = problem_of(case.explanation, space="coalition")
    present = np.array([[1.0, 0.0, 1.0, 0.0]])
    rows = BACKGROUND.copy()
    rows[:, [0, 2]] = X[0, [0, 2]]
    assert subject.model(present) == pytest.approx([fitted("forest").predict(rows).mean()])
    phi = case.explanation.values
    assert subject.surrogate(present) == pytest.approx([case.explanation.base_values + phi[0] + phi[2]])


def test_regions_of_coalitions_name_the_features_that_may_go():
    region = CASES["kernel, line"].explanation.guarantee_region(space="coalition", **QUICK)
    assert region.explained.space == "presence"
    assert region.removable == region.names  # additive: any of them, in any combination
    assert region.instance == pytest.approx(np.ones(4))
