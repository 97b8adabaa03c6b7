"""Waterfalls: arrows add up to what the explanation says, and stand beside what is certified."""

import dataclasses

import numpy as np
import pytest
import shap
from lime.lime_tabular import LimeTabularExplainer
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from pictures import (
    bars,
    difference,
    empty_axes,
    explained,
    mixed_data,
    mixed_region,
    overlapping,
    region_of,
    texts,
)
from shap_cases import theirs
from sklearn.linear_model import LinearRegression

from lime_guarantee import Domain, GuaranteeRegion, InvalidInputError, guarantee_region
from lime_guarantee.views.plots import WaterfallDisplay, drawing

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3)) * [1, 2, 0.5] + [0, 5, 1]
NAMES = ["age", "income", "rooms"]
MODEL = LinearRegression().fit(X, X @ [1.0, -0.5, 2.0] + 0.1 * RNG.normal(size=200))
QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low", "random_state": 0, "training_data": X}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def lime_region(*, binned):
    explainer = LimeTabularExplainer(
        X, mode="regression", feature_names=NAMES, discretize_continuous=binned, random_state=0
    )
    explanation = explainer.explain_instance(X[0], MODEL.predict, num_samples=300)
    region = guarantee_region(
        explanation, explainer=explainer, predict_fn=MODEL.predict, instance=X[0], tolerance=2, **QUICK
    )
    return region, explanation


def by_hand(**changes):
    """Weights that are contributions, as shap's are: they lead from 0.35 to 0.1."""
    region = mixed_region(**changes)
    about = {"attributions": True, "model_at_instance": (0.2,), "surrogate_at_instance": (0.1,)}
    return dataclasses.replace(region, explained=explained((0.3, -0.7, 0.1, -0.05, 0.1, 0.0), **about))


def left_and_right(display):
    """The waterfall, and what is certified."""
    return display.ax_.child_axes


def test_shap_values_lead_from_the_base_value_to_the_prediction():
    row = theirs(shap.LinearExplainer(MODEL, X), X[:1])[0]
    explainer = shap.LinearExplainer(MODEL, X)
    region = guarantee_region(row, explainer=explainer, predict_fn=MODEL.predict, **QUICK)
    display = region.plot_waterfall()
    largest = np.argsort(-np.abs(row.values))
    np.testing.assert_allclose(display.contributions, row.values[largest])
    assert display.base == pytest.approx(float(row.base_values))
    assert display.surrogate == pytest.approx(MODEL.predict(X[:1])[0])
    assert display.model == pytest.approx(MODEL.predict(X[:1])[0])
    again = GuaranteeRegion.from_json(region.to_json()).plot_waterfall()  # shap's values say it all
    np.testing.assert_allclose(again.contributions, display.contributions)


@pytest.mark.parametrize("binned", [True, False])
def test_lime_s_contributions_are_what_its_own_terms_add_at_the_row(binned):
    region, explanation = lime_region(binned=binned)
    display = region.plot_waterfall()
    found = dict(zip([row.name for row in display.rows], display.contributions, strict=True))
    weights = {NAMES[i]: weight for i, weight in explanation.as_map()[1]}
    scaled = dict(zip(NAMES, (X[0] - X.mean(axis=0)) / X.std(axis=0), strict=True))
    expected = {name: weight * (1 if binned else scaled[name]) for name, weight in weights.items()}
    assert found == pytest.approx(expected, rel=1e-6)
    assert display.base == pytest.approx(float(explanation.intercept[1]), rel=1e-6)
    assert display.surrogate == pytest.approx(float(explanation.local_pred[0]), rel=1e-6)
    with pytest.raises(InvalidInputError, match=r"plot_waterfall asks .* Pass problem="):
        GuaranteeRegion.from_json(region.to_json()).plot_waterfall()


def test_arrows_are_the_contributions_end_to_end():
    display = by_hand().plot_waterfall(mixed_data())
    left, _ = left_and_right(display)
    assert [row.name for row in display.rows] == ["balance", "income", "rooms", "owner", "colour", "planet"]
    starts, ends = zip(*display.arrows, strict=True)
    assert ends[0] == pytest.approx(0.1)
    assert starts[-1] == pytest.approx(display.base)
    np.testing.assert_allclose(starts[:-1], ends[1:])
    drawn = [patch for patch in left.patches if isinstance(patch, Polygon)]
    for (start, end), arrow in zip(display.arrows, drawn, strict=True):
        xs = arrow.get_xy()[:, 0]
        assert (xs.min(), xs.max()) == pytest.approx((min(start, end), max(start, end)))
        assert arrow.get_xy()[2, 0] == end  # the tip
        sign = drawing.sign_colour(end - start if abs(end - start) > 1e-12 else 0.0)
        assert arrow.get_facecolor() == plt.matplotlib.colors.to_rgba(sign)
    written = {text.get_text() for text in texts(display.figure_)}
    assert {"+0.3", "\N{MINUS SIGN}0.7", "balance = 0.25", "colour = blue", "base 0.35"} <= written
    assert "explanation 0.1   model 0.2" in written
    assert overlapping(display.figure_) == []


def test_every_arrow_stands_beside_its_certified_interval():
    display = by_hand().plot_waterfall()
    left, right = left_and_right(display)
    assert left.get_ylim() == right.get_ylim()
    shown = {round(y + h / 2): (x, x + w) for x, y, w, h in bars(right, [drawing.PLUS, drawing.MINUS])}
    assert shown[0] == pytest.approx((0.25, 0.875))  # balance: -0.5 to 0.75 of -1 to 1
    written = {text.get_text() for text in right.texts}
    assert {"[\N{MINUS SIGN}0.500, 0.750]", "62.5 %", "free", "{blue, red}", "reach", "guaranteed"} <= written


def test_features_beyond_the_most_are_one_arrow():
    display = by_hand().plot_waterfall(max_features=2)
    assert len(display.rows) == 2
    assert display.rest == pytest.approx(0.15)
    assert display.arrows[-1] == pytest.approx((0.35, 0.5))
    assert display.surrogate == pytest.approx(0.1)
    left, right = left_and_right(display)
    assert [label.get_text() for label in left.get_yticklabels()][-1] == "4 other features"
    assert any(text.get_text().startswith("and 4 more: ") for text in right.texts)
    assert overlapping(display.figure_) == []
    with pytest.raises(InvalidInputError, match="max_features"):
        by_hand().plot_waterfall(max_features=0)


@pytest.mark.parametrize("status", ["unfaithful", "uncertified"])
def test_without_a_region_the_weights_are_drawn_and_nothing_beside_them(status):
    display = by_hand(status=status, reason="at the instance the model says $0.9$.").plot_waterfall()
    left, right = left_and_right(display)
    assert len(left.patches) == 6
    assert not right.patches
    assert "No region is certified" in {text.get_text() for text in right.texts}
    assert "none of it is certified" in display.ax_.get_title(loc="left")


def test_words_have_a_waterfall_too():
    domain = Domain.from_bounds([0, 0], [1, 1], names=["good", "film"], integer=[0, 1])
    words = explained([0.5, -0.1], kind="lime text", space="presence", surrogate_at_instance=(0.9,))
    display = region_of(domain, [1, 1], [1, 0], [1, 1], explained=words).plot_waterfall()
    assert display.base == pytest.approx(0.5)
    left, right = left_and_right(display)
    assert [label.get_text() for label in left.get_yticklabels()] == ["good", "film"]
    assert {"must stay", "may go"} <= {text.get_text() for text in right.texts}


def test_what_is_no_sum_has_no_waterfall():
    with pytest.raises(InvalidInputError, match="belongs to no explanation"):
        mixed_region(None).plot_waterfall()
    from test_plots import mixed_problem  # a surrogate that is any function

    with pytest.raises(InvalidInputError, match="no sum of its features"):
        mixed_region(problem=mixed_problem()).plot_waterfall()


def test_it_draws_on_given_axes_and_looks_as_it_did(tmp_path):
    ax = empty_axes(7, 2.6)
    display = by_hand().plot_waterfall(mixed_data(), ax=ax)
    assert display.ax_ is ax
    assert plt.get_fignums() == []
    assert difference(ax, "waterfall", tmp_path) is None


def test_a_changed_waterfall_is_noticed(tmp_path):
    display = WaterfallDisplay.from_region(by_hand(), mixed_data())
    less = dataclasses.replace(display.rows[0], bar=(0.1, 0.3))
    changed = dataclasses.replace(display, rows=(less, *display.rows[1:]))
    assert difference(changed.plot(empty_axes(7, 2.6)).ax_, "waterfall", tmp_path) is not None
    longer = dataclasses.replace(display, contributions=display.contributions * 1.2)
    assert difference(longer.plot(empty_axes(7, 2.6)).ax_, "waterfall", tmp_path) is not None


def test_it_draws_on_a_part_of_a_figure():
    whole = Figure(figsize=(14, 8), layout="constrained")
    upper, _ = whole.subfigures(2, 1)
    assert WaterfallDisplay.from_region(by_hand()).plot(upper.subplots()).figure_ is upper
    whole.draw_without_rendering()
