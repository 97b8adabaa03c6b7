"""What an explanation is worth: gain over the best admissible constant, and the weights that are needed."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from cubes import cube_of
from lime.lime_image import LimeImageExplainer
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer
from scipy import integrate, stats

from lime_guarantee import (
    Domain,
    GuaranteeRegion,
    Problem,
    SameChange,
    SameClass,
    SameValue,
    Settings,
    find_region,
    guarantee_region,
    wrap,
)
from lime_guarantee.api import region_after
from lime_guarantee.engine.certify.bounds import anytime_interval, attempt_level
from lime_guarantee.problem.holding import holding, used_features
from lime_guarantee.problem.surrogates import AdditiveSurrogate, LinearSurrogate, Terms
from lime_guarantee.region.constants import gain_over_constants
from lime_guarantee.region.widen import extend_region
from lime_guarantee.views.feature_row import feature_rows

UNIT = Domain.from_bounds([0, 0], [1, 1])
CENTRE = np.array([0.5, 0.5])


def line(weights, intercept=0.0):
    """A linear surrogate, which says what every feature adds."""
    weights = np.asarray(weights, dtype=float)
    slopes = Terms(
        np.arange(weights.size), weights[:, np.newaxis], np.zeros(weights.size), np.ones(weights.size)
    )
    return LinearSurrogate(np.array([intercept]), Terms([], np.empty((0, 1)), [], []), slopes)


def region_of_line(weights, tolerance=0.1, **settings):
    """The region of a linear model on the unit cube that is explained by itself."""
    own, width = line(weights), len(weights)
    domain = Domain.from_bounds(np.zeros(width), np.ones(width))
    problem = Problem(own, own, SameValue(tolerance), np.full(width, 0.5), domain)
    return find_region(problem, **{"random_state": 0, **settings})


# -- intervals ---------------------------------------------------------------------------------------


def test_an_interval_is_where_the_mixed_likelihood_stays_below_its_threshold():
    draws, count, level = 50, 7, 0.02
    mixed, _ = integrate.quad(
        lambda p: stats.beta(0.5, 0.5).pdf(p) * p**count * (1 - p) ** (draws - count), 0, 1
    )

    def ratio(p):
        return mixed / (p**count * (1 - p) ** (draws - count))

    low, high = anytime_interval(draws, count, level)
    assert ratio(low) == pytest.approx(1 / level, rel=1e-4)
    assert ratio(high) == pytest.approx(1 / level, rel=1e-4)
    assert low < count / draws < high
    assert anytime_interval(draws, 0, level)[0] == 0
    assert anytime_interval(draws, draws, level)[1] == 1
    assert [end.tolist() for end in anytime_interval(0, [0], level)] == [[0], [1]]


@pytest.mark.parametrize("share", [0.003, 0.3, 0.9])
def test_intervals_hold_at_all_times_together(share):
    # Stopping when it suits does not make them miss more often than the level, give or take 3 deviations.
    runs, level = 500, 0.1
    counts = np.cumsum(np.random.default_rng(1).random((runs, 1_500)) < share, axis=1)
    missed = np.zeros(runs, dtype=bool)
    for draws in (10, 20, 50, 100, 200, 300, 400, 600, 800, 1_000, 1_250, 1_500):
        low, high = anytime_interval(draws, counts[:, draws - 1], level)
        missed |= (share < low) | (share > high)
    assert missed.mean() <= level + 3 * np.sqrt(level * (1 - level) / runs)


def smallest_gain(agreement, model, faithful, constants):
    """The gain over the best of some constants, by asking the rule itself about each of them."""
    answers = [np.broadcast_to(constant, model.shape) for constant in constants]
    return min(np.mean(faithful & ~agreement(model, answer)) for answer in answers)


def test_the_gain_is_that_over_the_best_constant_which_the_rule_admits():
    rng = np.random.default_rng(0)
    model, faithful, home = rng.beta(0.5, 2.0, 2_000), rng.random(2_000) < 0.99, 0.35
    admissible = np.linspace(home - 0.1, home + 0.1, 2_001)[1:-1]
    for rule in (SameValue(0.1), SameChange(0.1, home, 7.0)):
        gain = gain_over_constants(rule, model, faithful, np.array(home), 0.05)
        best = smallest_gain(SameValue(0.1), model, faithful, admissible)
        assert gain.interval[0] <= best <= gain.share <= best + 0.02
        assert gain.share < smallest_gain(SameValue(0.1), model, faithful, [home])  # not what f(x*) gives
        assert abs(gain.constant - home) < 0.1


@pytest.mark.parametrize("home", [0.9, 0.55, 0.45, 0.1])
def test_under_the_class_rule_the_best_constant_names_a_class(home):
    rng = np.random.default_rng(1)
    model, faithful, rule = rng.beta(2.0, 1.5, 2_000), np.ones(2_000, dtype=bool), SameClass(0.1)
    constants = np.append(np.linspace(0, 1, 2_001), np.nextafter(0.5, 0))
    admissible = [c for c in constants if rule(np.array([home]), np.array([c]))[0]]
    best = smallest_gain(rule, model, faithful, admissible)
    for answers, at_home in ((model, home), (np.column_stack([1 - model, model]), [1 - home, home])):
        gain = gain_over_constants(rule, answers, faithful, np.array(at_home), 0.05)
        assert gain.share == pytest.approx(best, abs=1e-3)
        assert gain.interval[0] <= best <= gain.interval[1]


def test_of_three_classes_the_constant_names_that_of_the_instance():
    rng = np.random.default_rng(2)
    scores = rng.dirichlet([4.0, 1.0, 1.0], 3_000)
    everywhere = np.ones(3_000, dtype=bool)
    gain = gain_over_constants(SameClass(0.05), scores, everywhere, np.array([0.8, 0.1, 0.1]), 0.05)
    assert gain.constant == 0
    other = scores.argmax(axis=1) != 0
    assert gain.share <= other.mean()
    assert gain.share >= np.mean(other & (scores.max(axis=1) > 0.6))


def test_the_interval_of_the_gain_holds_for_the_best_constant():
    # f = x^2 on [0, 1] falls in density: the best admissible constant is the lowest one, f(x*) - tolerance.
    home, tolerance, level, draws = 0.3, 0.05, 0.1, 800
    truth = 1 - (np.sqrt(home) - np.sqrt(home - 2 * tolerance))
    missed, widths = 0, []
    for seed in range(200):
        model = np.random.default_rng(seed).random(draws) ** 2
        everywhere = np.ones(draws, dtype=bool)
        low, high = gain_over_constants(
            SameValue(tolerance), model, everywhere, np.array(home), level
        ).interval
        missed += not low <= truth <= high
        widths.append(high - low)
    assert missed <= 200 * level + 3 * np.sqrt(200 * level * (1 - level))
    assert np.mean(widths) < 0.12


def cell_fails(score, low, high, tolerance):
    """How many scores are the tolerance or more away from every constant from low to high."""
    return sum(value <= low - tolerance or value >= high + tolerance for value in score)


def test_the_level_of_the_gain_is_shared_by_all_that_is_bounded():
    # By value: 31 constants are tried, and the lower bound must hold for 32 cells between them.
    rng = np.random.default_rng(3)
    model, faithful, home, tolerance = rng.random(400), rng.random(400) < 0.98, 0.5, 0.1
    edges = np.linspace(home - tolerance, home + tolerance, 33)
    score = model[faithful].tolist()
    fails = [cell_fails(score, constant, constant, tolerance) for constant in edges[1:-1]]
    cells = [cell_fails(score, *ends, tolerance) for ends in pairwise(edges)]
    gain = gain_over_constants(SameValue(tolerance), model, faithful, np.array(home), 0.06)
    assert gain.share == min(fails) / 400
    assert gain.interval[1] == anytime_interval(400, min(fails), 0.06 / 63)[1]
    assert gain.interval[0] == anytime_interval(400, min(cells), 0.06 / 63)[0]
    # By class, next to the border: two classes may be named, each with 33 constants and 32 cells.
    gain = gain_over_constants(SameClass(tolerance), model, faithful, np.array(0.55), 0.06)
    upper, lower = (
        np.where(model >= 0.5, model, 1 - model)[faithful & ((model >= 0.5) != named)].tolist()
        for named in (True, False)
    )
    edges = {True: np.linspace(0.0, 0.5, 33), False: np.linspace(0.45, 0.5, 33)}
    fails = [cell_fails(upper, c, c, tolerance) for c in edges[True]]
    fails += [cell_fails(lower, c, c, tolerance) for c in edges[False]]
    assert gain.share == min(fails) / 400
    highs = [anytime_interval(400, min(part), 0.06 / 2 / 65)[1] for part in (fails[:33], fails[33:])]
    assert gain.interval[1] == min(highs)


@pytest.mark.parametrize("attempts", [0, 4])
def test_all_intervals_together_have_the_part_of_the_error_that_the_attempt_has(attempts):
    # Of 0.05, the part that this attempt has of 0.01: a third for the gain, a third for that in the score,
    # and a third for the weights, shared by all of them.
    own = line([0.8, 0.4, 0.3])
    domain = Domain.from_bounds(np.zeros(3), np.ones(3))
    problem = Problem(own, own, SameValue(0.1), np.full(3, 0.5), domain)
    region = region_after(problem, Settings(random_state=0), attempts)
    worth, draws = region.worth, region.worth.draws
    assert region.certificate.attempts == attempts + 1
    assert region.certificate.level <= attempt_level(attempts + 1, 0.99)
    level = 0.05 * region.certificate.level / 0.01
    for share, interval in zip(worth.needed, worth.needed_intervals, strict=True):
        ends = anytime_interval(draws, [round(share * draws)], level / 3 / 3)
        np.testing.assert_allclose(interval, np.ravel(ends), rtol=1e-12)
    high = anytime_interval(draws, round(worth.gain * draws), level / 3 / 63)[1]
    assert worth.gain_interval[1] == pytest.approx(float(high), rel=1e-12)
    assert 0 < worth.gain < 1


def test_the_interval_of_the_gain_in_the_score_has_a_third_as_well():
    region = class_region(0.05)
    worth = region.worth
    level = 0.05 * region.certificate.level / 0.01 / 3
    high = anytime_interval(worth.draws, round(worth.score_gain * worth.draws), level / 63)[1]
    assert worth.score_gain_interval[1] == pytest.approx(float(high), rel=1e-12)


def true_worth(region, weight, curve, tolerance):
    """Gain, and how much x0 is needed, where the model is weight * x0 + curve * x0^2; by quadrature."""
    x = np.linspace(region.lower[0], region.upper[0], 20_001)
    model, surrogate = weight * x + curve * x**2, weight * x
    right = np.abs(model - surrogate) < tolerance
    held = right & (np.abs(model - weight * region.instance[0]) >= tolerance)
    home = weight * region.instance[0] + curve * region.instance[0] ** 2
    constants = np.linspace(home - tolerance, home + tolerance, 201)
    return min(np.mean(right & (np.abs(model - c) >= tolerance)) for c in constants), np.mean(held)


def test_intervals_of_regions_that_a_search_chose_hold():
    domain = Domain.from_bounds([-1, 0], [1, 1])
    weight, curve, tolerance, missed = 0.8, 0.6, 0.1, 0

    def model(X):
        return weight * X[:, 0] + curve * X[:, 0] ** 2

    for seed in range(20):
        problem = Problem(model, line([weight, 0.0]), SameValue(tolerance), np.array([0.1, 0.5]), domain)
        region = find_region(problem, random_state=seed)
        assert region.worth.draws == region.certificate.draws
        gain, needed = true_worth(region, weight, curve, tolerance)
        (low, high), own = region.gain_interval, region.needed_intervals[0]
        missed += not (low <= gain <= high and own[0] <= needed <= own[1])
        assert abs(region.gain - gain) < 0.1
    assert missed <= 3  # of 20, each of which may miss with probability 0.05: more has probability 0.016


# -- what is known beforehand ------------------------------------------------------------------------


def test_a_constant_model_has_no_gain_and_needs_no_weight():
    problem = Problem(lambda X: np.full(len(X), 3.0), line([0.01, 0.0], 3.0), SameValue(0.1), CENTRE, UNIT)
    region = find_region(problem, random_state=0)
    assert region.gain == 0
    assert region.needed.tolist() == [0, 0]
    assert region.worth.droppable == 2
    assert region.worth.needed_weights == ()
    assert "The model is flat here: a constant does as well" in str(region).splitlines()[1]
    assert "no weight is tested" in str(region).splitlines()[1]


def test_a_model_that_differs_at_the_instance_alone_is_flat():
    def model(X):
        return np.where((X == CENTRE).all(axis=1), 0.842, 0.9)

    problem = Problem(model, line([0.0, 0.0], 0.9), SameValue(0.1), CENTRE, UNIT)
    worth = find_region(problem, random_state=0).worth
    assert worth.gain == 0
    assert worth.model_at_instance == (0.842,)


def test_of_a_line_every_weight_is_needed_that_moves_the_answer_past_the_tolerance():
    region = region_of_line([3.0, 1.0, 0.1, 0.0])
    assert region.worth.needed_weights == (0, 1)
    truth = [1 - 2 * 0.1 / 3, 1 - 2 * 0.1 / 1, 0, 0]
    np.testing.assert_allclose(region.needed, truth, atol=0.05)
    assert region.worth.droppable == 2  # 0.1 x moves the answer by 0.05 at most
    assert region.worth.weights == (0, 1, 2, 3)


def test_weights_that_make_up_for_each_other_are_needed_one_by_one_only():
    # x0 and x1 are 0.06 each: without one the answer is off by 0.03 at most, without both by 0.06.
    region = region_of_line([0.06, 0.06, 1.0], tolerance=0.05)
    assert region.needed[:2].tolist() == [0, 0]
    assert region.worth.droppable == 1
    assert region.worth.needed_weights == (2,)


def test_a_steep_line_has_a_gain_near_one():
    region = region_of_line([100.0, 0.0])
    assert region.gain > 0.99
    assert region.gain_interval[0] > 0.95
    assert "A constant would be wrong on" in str(region).splitlines()[1]


def test_neither_gain_nor_needed_weights_ask_the_model():
    asked = []

    def model(X):
        asked.append(len(X))
        return X[:, 0] ** 2

    problem = Problem(model, line([1.0, 0.0], -0.25), SameValue(0.1), CENTRE, UNIT)
    region = find_region(problem, random_state=0)
    assert region.gain is not None
    assert (region.evaluations, region.calls) == (sum(asked), len(asked))
    bare = find_region(problem.faithful, CENTRE, UNIT, random_state=0)
    assert (bare.evaluations, bare.calls, bare.worth, bare.gain, bare.needed) == (
        region.evaluations,
        region.calls,
        None,
        None,
        None,
    )


def test_without_a_certificate_nothing_is_known():
    problem = Problem(lambda X: X[:, 0], lambda X: X[:, 0] + 1, SameValue(0.1), CENTRE, UNIT)
    region = find_region(problem, random_state=0)
    assert region.status == "unfaithful"
    assert (
        region.worth
        is region.gain
        is region.gain_interval
        is region.needed
        is region.needed_intervals
        is None
    )


# -- the class rule ----------------------------------------------------------------------------------


def class_region(offset, **settings):
    """A logistic score along x0, explained by itself; the class changes at x0 = offset."""

    def score(X):
        return 1 / (1 + np.exp(-8 * (X[:, 0] - offset)))

    return find_region(Problem(score, score, SameClass(0.1), CENTRE, UNIT), **{"random_state": 0, **settings})


def test_where_the_class_stays_the_weights_are_not_tested_by_it():
    region = class_region(0.05)
    assert region.gain < 0.01
    assert region.worth.score_gain > 0.2
    assert region.worth.flat
    assert not region.worth.flat_in_score
    second = str(region).splitlines()[1]
    assert second.startswith("The class stays the same here")
    assert "so the weights are not tested by it" in second
    assert "In the score, within 0.1, a constant would be wrong on" in second


def test_where_the_class_changes_a_constant_class_is_wrong():
    region = class_region(0.4)
    # The constant fails where the score is below 0.4, that is x0 < 0.4 - log(1.5) / 8.
    assert region.gain == pytest.approx(0.4 - np.log(1.5) / 8, abs=0.06)
    assert "A constant class would be wrong on" in str(region).splitlines()[1]
    assert region.worth.needed_weights == (0,)


def test_the_score_of_several_classes_is_that_of_the_explained_one():
    def scores(X):
        first = 0.3 + 0.4 * X[:, 0]
        return np.column_stack([first, 1 - first])

    region = find_region(Problem(scores, scores, SameClass(0.01), np.array([0.9, 0.5]), UNIT), random_state=0)
    assert region.worth.score_gain == pytest.approx(1 - 0.02 / 0.4, abs=0.05)
    assert region.worth.model_at_instance == pytest.approx((0.66, 0.34))


# -- surrogates --------------------------------------------------------------------------------------


def test_an_opaque_surrogate_is_worth_the_same():
    own = line([1.0, 0.5])
    known, opaque = (
        find_region(Problem(own, surrogate, SameValue(0.1), CENTRE, UNIT), random_state=0).worth
        for surrogate in (own, lambda X: own(X))
    )
    assert known == opaque


def test_what_features_add_is_told_by_lines_and_profiles():
    X = np.random.default_rng(0).uniform(0, 4, (50, 3))
    steps = Terms([0, 1], [[1.0, 2.0], [3.0, -1.0]], first=[1.0, -np.inf], second=[2.0, 3.0])
    slopes = Terms([1], [[0.5, 0.25]], first=[1.0], second=[2.0])
    linear = LinearSurrogate(np.array([0.5, -0.5]), steps, slopes)
    domain = Domain.from_bounds([0, 0, 0], [4, 4, 4])
    grids = (np.array([0.0, 2.0, 4.0]), np.array([1.0]), np.array([0.0, 4.0]))
    effects = (np.array([0.0, 1.0, -1.0]), np.array([0.3]), np.array([2.0, 0.0]))
    additive = AdditiveSurrogate(domain, 0.2, grids, effects)
    instance = np.array([1.5, 3.5, 0.5])
    for surrogate, used in ((linear, (0, 1)), (additive, (0, 2))):
        assert used_features(surrogate, 3, instance) == used
        answers = surrogate(X)
        told = holding(surrogate, X, instance, answers)
        asked = holding(lambda rows, ask=surrogate: ask(rows), X, instance, answers)
        for features in ([0], [1], [2], [0, 1], [2, 0]):
            np.testing.assert_allclose(told(features), asked(features), atol=1e-12)


def test_a_rule_of_ones_own_has_no_constants_but_its_weights_are_tested():
    def above(model, surrogate):
        return model >= surrogate - 0.1

    region = find_region(Problem(line([2.0, 0.0]), line([2.0, 0.0]), above, CENTRE, UNIT), random_state=0)
    assert region.gain is None
    assert region.gain_interval is None
    assert region.needed[0] == pytest.approx(0.45, abs=0.05)
    assert str(region).splitlines()[1].startswith("Of 2 weights 1 is shown to be needed")


@pytest.fixture(scope="module")
def lime_case():
    X = np.random.default_rng(0).normal(size=(300, 3))

    def model(rows):
        return 4 * rows[:, 0] + rows[:, 1]

    explainer = wrap(
        LimeTabularExplainer(X, mode="regression", discretize_continuous=False, random_state=0),
        training_data=X,
    )
    explanation = explainer.explain_instance(X[0], model, num_samples=300)
    return explanation, explanation.guarantee_region(tolerance=1.0, random_state=0)


def test_an_explanation_of_lime_has_its_worth(lime_case):
    _, region = lime_case
    assert region.worth.needed_weights[:1] == (0,)
    assert region.gain > 0.5
    frame = region.to_frame()
    assert frame["needed"].tolist() == list(region.worth.needed)
    assert (frame["needed_lower"] <= frame["needed"]).all()
    assert (frame["needed"] <= frame["needed_upper"]).all()
    assert "  needed  " in str(region)
    row = feature_rows(region, [0])[0]
    assert row.needed == region.needed[0]
    texts = [text.get_text() for text in region.plot().ax_.texts]
    assert "needed" in texts
    assert row.needed_text in texts
    assert ">needed</th>" in region._repr_html_()
    assert f">{row.needed_text}</td>" in region._repr_html_()
    second = str(region).splitlines()[1]
    assert second in region.to_html().replace("&#x27;", "'")
    again = GuaranteeRegion.from_json(region.to_json())
    assert again.worth == region.worth


def test_words_and_superpixels_have_their_worth():
    def texts(given):
        good = np.array([0.1 + 0.4 * ("good" in text) + 0.4 * ("best" in text) for text in given])
        return np.column_stack([1 - good, good])

    explanation = LimeTextExplainer(random_state=0).explain_instance(
        "good and best of all", texts, num_samples=200, num_features=5
    )
    region = guarantee_region(explanation, predict_fn=texts, agreement="value", random_state=0)
    needed = dict(zip(region.names, region.worth.needed, strict=True))
    assert min(needed["good"], needed["best"]) > 0.3
    assert max(needed["and"], needed["of"], needed["all"]) == 0
    assert region.gain > 0.2

    def images(given):
        left = given[:, :, :4].mean(axis=(1, 2, 3)) / 255
        return np.column_stack([1 - left, left])

    image = np.zeros((8, 8, 3), dtype=np.uint8)
    image[:, :4] = 255
    halves = np.repeat([[0] * 4 + [1] * 4], 8, axis=0)
    explanation = LimeImageExplainer(random_state=0).explain_instance(
        image, images, hide_color=0, num_samples=100, segmentation_fn=lambda _: halves
    )
    region = guarantee_region(
        explanation, predict_fn=images, label=1, agreement="value", hide_color=0, random_state=0
    )
    assert region.needed[0] > 0.4
    assert region.needed[1] == 0


# -- what becomes of it ------------------------------------------------------------------------------


def test_a_region_that_is_made_wider_has_its_worth_read_anew():
    def model(X):
        return X[:, 0]

    problem = Problem(model, line([1.0, 0.0]), SameValue(0.1), CENTRE, UNIT)
    region = find_region(problem, random_state=0)
    box = dataclasses.replace(region.shape, lower=np.array([0.45, 0.0]), upper=np.array([0.55, 1.0]))
    narrow = dataclasses.replace(region, shape=box, worth=dataclasses.replace(region.worth, gain=0.0))
    wider = extend_region(problem, narrow, 0, random_state=0)
    assert wider.gain == pytest.approx(0.8, abs=0.06)
    assert wider.worth.draws == wider.certificate.draws
    assert extend_region(problem.faithful, narrow, 0, random_state=0).worth is None


def test_draws_made_in_a_larger_shape_count_only_inside_the_accepted_one():
    # Failures beyond x0 = 0.5 sink the larger of two nested boxes.
    from lime_guarantee.engine.certify.budget import ErrorBudget
    from lime_guarantee.engine.certify.certifier import Certifier
    from lime_guarantee.engine.oracle import Judged, Oracle

    cube = cube_of(UNIT, [0.2, 0.2])
    oracle = Oracle(lambda rows: Judged(rows[:, 0] < 0.5, (rows[:, 0],)), cube)
    inner = cube.snapped(np.zeros(2), np.array([0.45, 1.0]))
    certifier = Certifier(oracle, 0.99, ErrorBudget(0.99), np.random.default_rng(0))
    attempt = certifier.attempt((cube.whole, inner))
    assert attempt.shape is inner
    assert len(attempt.answered.points) == attempt.certificate.draws
    np.testing.assert_array_equal(attempt.answered.points[:, 0], attempt.answered.answers[0])
    assert attempt.answered.points[:, 0].max() <= 0.45
