"""Pictures of regions: what is drawn is what the region says, and it can be read."""

import dataclasses
import pickle
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, Rectangle
from pictures import (
    MIXED,
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

from lime_guarantee import (
    Domain,
    GuaranteeRegion,
    InvalidInputError,
    Problem,
    SameChange,
    SameClass,
    SameValue,
)
from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.views.plots import (
    ProfileDisplay,
    RegionDisplay,
    SliceDisplay,
    drawing,
    evaluate,
    profile,
    slices,
)


def settings():
    """Matplotlib's settings, without the backend: other tests choose theirs."""
    return {name: value for name, value in mpl.rcParams.items() if name != "backend"}


SETTINGS = settings()  # before anything is drawn


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def many(count=60, certified_share=0.5):
    """A region of many features, every fourth of them free."""
    weights = np.random.default_rng(0).normal(size=count) * np.exp(-np.arange(count) / 15)
    names = [f"mean concavity {i}" for i in range(count)]
    upper = np.where(np.arange(count) % 4 == 0, 3.0, 3 * certified_share)
    lower = np.where(np.arange(count) % 4 == 0, -3.0, -0.5)
    domain = Domain.from_bounds([-3] * count, [3] * count, names=names)
    return region_of(domain, np.zeros(count), lower, upper, explained=explained(weights))


class Asked:
    """A model that remembers how many rows it was asked at once."""

    def __init__(self, answer):
        self.answer, self.rows = answer, []

    def __call__(self, X):
        self.rows.append(len(X))
        return self.answer(X)


def column(X, i):
    return np.asarray(X[:, i], dtype=np.float64)


def mixed_model(X):
    return (
        column(X, 0) + np.sin(4 * column(X, 1)) + column(X, 2) ** 2 / 9 + np.where(X[:, 3] == "green", 2, 0)
    )


def mixed_surrogate(X):
    return column(X, 0) + 2 * column(X, 1) + column(X, 2) - 2


def mixed_problem(agreement=None, model=mixed_model, surrogate=mixed_surrogate):
    instance = np.array([4.0, 0.25, 5.0, "blue", 1.0, 5.0], dtype=object)
    return Problem(model, surrogate, agreement or SameValue(1.0), instance, MIXED)


# Rows.


def test_rows_are_sorted_by_weight_and_in_the_domains_order_without():
    by_weight = RegionDisplay.from_region(mixed_region()).rows
    assert [row.name for row in by_weight] == ["balance", "income", "rooms", "colour", "owner", "planet"]
    plain = RegionDisplay.from_region(mixed_region(None)).rows
    assert [row.name for row in plain] == list(MIXED.names)


def test_bars_are_the_certified_intervals_as_shares_of_the_domain():
    display = mixed_region().plot()
    drawn = {round(y): (x, x + width) for x, y, width, _ in bars(display.ax_, [drawing.PLUS, drawing.MINUS])}
    region = display.rows
    assert drawn[0] == pytest.approx((0.25, 0.875))  # -0.5 to 0.75 of -1 to 1
    assert drawn[1] == pytest.approx((0, 1))
    assert drawn[2] == pytest.approx((2 / 9, 6 / 9))  # the cells 3 to 6 of 1 to 9
    assert [row.extent for row in region] == [
        "[\N{MINUS SIGN}0.500, 0.750]",
        "free",
        "[3, 6]",
        "{blue, red}",
        "[1, 1]",
        "constant",
    ]
    for row in region[:3]:
        assert row.share(row.bar[1]) - row.share(row.bar[0]) == pytest.approx(row.reach)


def test_categories_are_cells_filled_where_they_are_allowed():
    row = RegionDisplay.from_region(mixed_region()).rows[3]
    assert row.cells == ("red", "green", "blue", "violet")
    assert row.allowed.tolist() == [True, False, True, False]
    display = mixed_region().plot()
    cells = [(x, width) for x, y, width, _ in bars(display.ax_, [drawing.MINUS]) if round(y) == 3]
    empty = [(x, width) for x, y, width, _ in bars(display.ax_, ["white"]) if round(y) == 3]
    assert cells == [(0, 0.25), (0.5, 0.25)]
    assert empty == [(0.25, 0.25), (0.75, 0.25)]


def test_the_tick_stands_where_the_instance_is():
    region = mixed_region()
    display = region.plot()
    ticks = [path.vertices[0] for lines in display.ax_.collections for path in lines.get_paths()]
    upright = sorted({(round(y + 0.4), round(x, 6)) for x, y in ticks if x != 0 or y > 4})
    assert (0, 0.625) in upright
    assert (1, 0.4) in upright
    assert (3, 0.625) in upright  # the middle of the third of four cells


def test_signs_are_told_by_colour_hatch_and_character():
    display = mixed_region().plot()
    hatched = {round(p.get_y()) for p in display.ax_.patches if p.get_hatch() and isinstance(p, Rectangle)}
    assert hatched == {0}  # a name on a hatch would look struck out, and the colours of row 3 have names
    assert {text.get_text() for text in display.ax_.texts} >= {"red", "blue"}
    written = {text.get_text() for text in texts(display.figure_)}
    assert {"+0.3", "\N{MINUS SIGN}1.4", "0"} <= written


def test_signs_differ_in_greyscale():
    def lightness(colour):
        linear = np.array(
            [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        )
        return 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16

    for colours in (
        [drawing.PLUS, drawing.MINUS, drawing.NEITHER, "white"],
        [slices.FAITHFUL, slices.UNFAITHFUL, drawing.INK],
        [profile.SURROGATE, profile.BAND, drawing.INK, "white"],
        [drawing.INK, drawing.DATA, "white"],
    ):
        ordered = sorted(map(lightness, colours))
        assert np.diff(ordered).min() > 10, colours
    assert abs(lightness(drawing.PLUS) - lightness(drawing.MINUS)) > 20


def test_features_beyond_the_most_are_summed_up():
    region = many()
    display = region.plot(max_features=20)
    assert len(display.rows) == 20
    rest = np.argsort(-np.abs(region.explained.weights), kind="stable")[20:]
    free = int(np.sum(rest % 4 == 0))
    assert display.rest.startswith(f"and 40 more: {free} free, shortest reach 33.3 % (mean concavity ")
    assert display.rest in {text.get_text() for text in texts(display.figure_)}
    assert region.plot(max_features=60).rest == ""
    with pytest.raises(InvalidInputError, match="max_features"):
        region.plot(max_features=0)


def test_data_is_drawn_where_it_is_and_missing_values_are_passed_over():
    data = mixed_data()
    data[0, 0] = data[1, 1] = np.nan
    data[2, 3] = None
    data[3, 0] = 1e9  # outside the domain
    rows = {row.name: row.data for row in RegionDisplay.from_region(mixed_region(), data).rows}
    counts = [np.sum(data[:, 3] == colour) for colour in ("red", "green", "blue", "violet")]
    np.testing.assert_allclose(rows["colour"], np.array(counts) / max(counts))
    assert rows["rooms"].size == 9
    assert rows["income"].max() == 1
    assert rows["planet"] is None
    frame = pd.DataFrame(data, columns=MIXED.names)[list(MIXED.names)[::-1]]
    again = {row.name: row.data for row in RegionDisplay.from_region(mixed_region(), frame).rows}
    np.testing.assert_array_equal(again["colour"], rows["colour"])
    mixed_region().plot(data).figure_.draw_without_rendering()
    nothing = np.full((3, 6), np.nan, dtype=object)
    assert RegionDisplay.from_region(mixed_region(), nothing).rows[0].data.max() == 0


@pytest.mark.parametrize("data", [False, True])
def test_no_text_hides_another_with_few_features(data):
    assert overlapping(mixed_region().plot(mixed_data() if data else None).figure_) == []


@pytest.mark.parametrize("size", [20, 60])
def test_no_text_hides_another_with_many_features(size):
    assert overlapping(many().plot(max_features=size).figure_) == []


def test_no_text_hides_another_where_bounds_are_long():
    region = many(5, certified_share=1e-9)
    lower = np.full(5, -1e-10)
    assert overlapping(dataclasses.replace(region, lower=lower).plot().figure_) == []


def test_names_are_no_formulas():
    names = ["$x_1$", "$\\frac{$", "a_b^c", "\\alpha", "two\nlines\t$$", "<script>"]
    domain = Domain.from_bounds([0] * 6, [1] * 6, names=names)
    region = region_of(domain, [0.5] * 6, [0.2] * 6, [0.8] * 6, explained=explained([1, -1, 2, 3, 0, 0]))
    problem = Problem(lambda X: X[:, 0], lambda X: X[:, 0], SameValue(1), np.full(6, 0.5), domain)
    shown = [
        region.plot(),
        region.plot_profile(names[1], problem=problem),
        region.plot_slice(names[1], names[4], problem=problem, resolution=3),
    ]
    for display in shown:
        display.figure_.draw_without_rendering()  # a formula that cannot be read would raise
        named = [text for text in texts(display.figure_) if set("$\\_") & set(text.get_text())]
        assert named
        assert not any(text.get_parse_math() for text in named)
    assert "two lines $$" in {text.get_text() for text in texts(shown[0].figure_)}


def test_long_names_are_cut_and_still_differ():
    stem = "the average of the monthly income in the region of "
    names = [f"{stem}{place} over the last twelve months" for place in ("Aargau", "Bern", "Zug")]
    short = drawing.short_names([*names, "age"])
    assert len(set(short)) == 4
    assert max(map(len, short)) <= drawing.LONGEST_NAME
    assert short[3] == "age"


@pytest.mark.parametrize("status", ["unfaithful", "uncertified"])
def test_a_region_that_is_none_is_not_drawn(status):
    region = mixed_region(status=status, reason="at the instance itself the model says $0.9$.")
    display = region.plot()
    assert not display.ax_.patches
    written = " ".join(text.get_text() for text in texts(display.figure_))
    assert "No region is certified" in written
    assert f"{status.capitalize()}: at the instance itself the model says $0.9$." in written
    along = region.plot_profile("balance", problem=mixed_problem())
    assert along.held == ()
    assert along.headline.startswith(status.capitalize())
    across = region.plot_slice("balance", "rooms", problem=mixed_problem(), resolution=4)
    for other in (along, across):
        shown = {text.get_text() for text in texts(other.figure_)}
        assert "No region is certified: nothing is guaranteed" in shown
    assert across.box is None
    assert not across.ax_.patches
    assert across.headline.startswith(status.capitalize())


def test_parts_are_present_or_absent():
    domain = Domain.from_bounds([0, 0, 1], [1, 1, 1], names=["good", "film", "empty"], integer=[0, 1, 2])
    words = explained([0.5, 0, 0], kind="lime text", space="presence")
    display = region_of(domain, [1, 1, 1], [1, 0, 1], [1, 1, 1], explained=words).plot()
    assert [row.extent for row in display.rows] == ["must stay", "may go", "constant"]
    assert [row.allowed.tolist() for row in display.rows] == [[False, True], [True, True], []]
    assert display.rows[0].cells == ("absent", "present")
    assert display.headline.startswith("1 of 3 parts may go")


def test_a_ball_is_not_called_a_box():
    domain = Domain.from_bounds([0, 0], [1, 1])
    region = region_of(domain, [0.5, 0.5], [0.3, 0.3], [0.7, 0.7], radius=0.2)
    assert "within 0.2 of the instance" in region.plot().headline
    problem = Problem(lambda X: X[:, 0], lambda X: X[:, 0], SameValue(1), np.array([0.5, 0.5]), domain)
    patches = region.plot_slice(0, 1, problem=problem, resolution=3).ax_.patches
    assert all(isinstance(patch, Ellipse) and patch.width == 0.4 for patch in patches)


def test_a_ball_stays_at_the_instance_s_cell():
    domain = Domain.from_bounds([0, 0], [1, 9], integer=[1])
    region = region_of(domain, [0.5, 4], [0.2, 4], [0.8, 4], radius=0.3)
    problem = Problem(lambda X: X[:, 0], lambda X: X[:, 0], SameValue(1), np.array([0.5, 4]), domain)
    patches = region.plot_slice(0, 1, problem=problem, resolution=3).ax_.patches
    for patch in patches:
        assert patch.get_bbox().bounds == pytest.approx((0.2, 3.5, 0.6, 1))


JOBS = (
    "clerk",
    "craft and repair",
    "sales",
    "machine operator",
    "protective services",
    "farmer",
    "handlers and cleaners",
    "private household service",
)


def region_of_jobs(allowed):
    domain = Domain.from_bounds([0, 0], [0, 99_999], names=["job", "gain"], categories={"job": JOBS})
    chosen = [JOBS.index(job) for job in allowed]
    bounds = [min(chosen), 0], [max(chosen), 33_399.9]
    return region_of(domain, ["sales", 2_000.5], *bounds, allowed={"job": allowed})


@pytest.mark.parametrize(
    ("allowed", "shown"),
    [
        (("clerk", "sales"), "{sales, clerk}"),
        (("clerk", "craft and repair", "sales"), "{sales, clerk, craft and\nrepair}"),
        (JOBS[:7], "all but private household\nservice"),
        (JOBS[2:7], "5 of 8 categories"),
        (JOBS, "free"),
    ],
)
def test_sets_of_categories_are_listed_wrapped_or_counted(allowed, shown):
    display = region_of_jobs(allowed).plot()
    assert display.rows[0].extent == shown
    assert shown in {text.get_text() for text in texts(display.figure_)}
    assert overlapping(display.figure_) == []


def test_the_instance_is_written_down_and_reach_is_rounded_down():
    region = region_of_jobs(("sales",))
    written = {text.get_text() for text in texts(region.plot().figure_)}
    assert {"instance", "sales", "2000"} <= written
    less = dataclasses.replace(region, reach=[1 / 8, 0.33399])
    for text in (str(less), " ".join(t.get_text() for t in texts(less.plot().figure_)), less._repr_html_()):
        assert "33.3 %" in text
        assert "33.4 %" not in text
    assert "99999" in written  # and not 1e+05


# Profiles.


def test_a_profile_is_what_model_and_surrogate_say():
    problem, region = mixed_problem(), mixed_region()
    display = region.plot_profile("balance", problem=problem)
    rows = np.tile(problem.instance, (len(display.coordinates), 1))
    rows[:, 1] = display.coordinates
    np.testing.assert_array_equal(display.model, mixed_model(rows))
    np.testing.assert_array_equal(display.surrogate, mixed_surrogate(rows))
    np.testing.assert_array_equal(display.faithful, problem.faithful(rows))
    assert display.held == ((-0.5, 0.75),)
    assert {-1.0, -0.5, 0.25, 0.75, 1.0} <= set(display.coordinates)
    bad = np.array([any(a <= x <= b for a, b in display.failing) for x in display.coordinates])
    np.testing.assert_array_equal(bad, ~display.faithful)
    assert bad.any()
    assert not bad.all()


def test_the_certified_interval_is_shaded_and_failing_places_are_marked():
    display = mixed_region().plot_profile("balance", problem=mixed_problem())
    edges = [line.get_xdata()[0] for line in display.ax_.lines if line.get_color() == drawing.SOFT]
    assert edges == pytest.approx([-0.5, 0.75])
    spans = [p.get_extents().transformed(display.ax_.transData.inverted()) for p in display.ax_.patches]
    assert (spans[0].x0, spans[0].x1) == pytest.approx((-0.5, 0.75))
    strips = [(span.x0, span.x1) for span in spans[1:]]
    assert strips == [pytest.approx(pair) for pair in display.failing]
    assert all(patch.get_hatch() for patch in display.ax_.patches[1:])
    band = display.ax_.collections[0].get_paths()[0].get_extents()
    assert band.y0 == pytest.approx(display.surrogate.min() - 1)
    assert band.y1 == pytest.approx(display.surrogate.max() + 1)


@pytest.mark.parametrize(("feature", "cells"), [("rooms", 9), ("colour", 4), ("owner", 2), (5, 1)])
def test_profiles_of_cells_ask_each_cell_once(feature, cells):
    asked = Asked(mixed_model)
    display = mixed_region().plot_profile(feature, problem=mixed_problem(model=asked))
    assert asked.rows == [cells]
    assert len(display.coordinates) == cells
    display.figure_.draw_without_rendering()


def test_allowed_categories_are_shaded_one_by_one():
    display = mixed_region().plot_profile("colour", problem=mixed_problem())
    assert display.held == ((-0.5, 0.5), (1.5, 2.5))
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["red", "green", "blue", "violet"]


def test_an_integer_axis_with_many_values_is_asked_in_part():
    domain = Domain.from_bounds([0, 0], [10**6, 1], integer=[0])
    asked = Asked(lambda X: X[:, 0] * 1e-6)
    problem = Problem(asked, lambda X: X[:, 1], SameValue(0.5), np.array([12_345.0, 0.0]), domain)
    region = region_of(domain, problem.instance, [0, 0], [4e5, 1], problem=problem)
    display = region.plot_profile(0)
    assert sum(asked.rows) <= profile.PLACES + 1
    assert 12_345 in display.coordinates
    assert region.plot_slice(0, 1, resolution=20).faithful.shape == (20, 20)


def test_where_changes_are_compared_the_surrogate_meets_the_model_at_the_instance():
    model, surrogate = (f(mixed_problem().instance[np.newaxis])[0] for f in (mixed_model, mixed_surrogate))
    problem = mixed_problem(SameChange(0.5, model, surrogate))
    display = ProfileDisplay.from_region(mixed_region(), "balance", problem=problem)
    home = int(np.searchsorted(display.coordinates, 0.25))
    assert display.model[home] == pytest.approx(display.surrogate[home])
    np.testing.assert_array_equal(display.faithful, np.abs(display.model - display.surrogate) < 0.5)


def test_one_score_has_a_threshold_and_several_show_the_models_class():
    domain = Domain.from_bounds([-1, 0], [1, 1], names=["x", "y"])
    instance = np.array([-0.5, 0.5])
    region = region_of(domain, instance, [-0.8, 0], [-0.1, 1])

    def score(X):
        return 1 / (1 + np.exp(-4 * X[:, 0]))

    single = Problem(score, lambda X: 1 - score(X), SameClass(0.1), instance, domain)
    display = region.plot_profile("x", problem=single)
    assert display.threshold == 0.5
    key = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert {"class changes", "faithful: within 0.1", "or the same class"} <= set(key)

    def three(X):
        return np.column_stack([score(X), 1 - score(X), np.zeros(len(X))])

    several = Problem(three, lambda X: three(X)[:, [1, 0, 2]], SameClass(0.1), instance, domain)
    display = region.plot_profile("x", problem=several)
    assert display.threshold is None
    np.testing.assert_allclose(display.model, 1 - score(display.coordinates[:, np.newaxis]))
    np.testing.assert_allclose(display.surrogate, score(display.coordinates[:, np.newaxis]))
    assert "model's class" in display.ax_.get_ylabel()


def rival_scores(X):
    """Three scores, each of which is the highest somewhere along x."""
    x = X[:, 0]
    return np.column_stack([0.4 - 0.5 * x, 0.35 + 0.1 * np.sin(9 * x), 0.4 + 0.5 * x])


RULES = {
    "value": (SameValue(0.1), lambda X: X[:, 0] ** 2),
    "change": (SameChange(0.1, 0.25, 0.4), lambda X: X[:, 0] ** 2),
    "class": (SameClass(0.1), lambda X: 1 / (1 + np.exp(-6 * X[:, 0]))),
    "class of several": (SameClass(0.16), rival_scores),
    "value of several": (SameValue(0.176), rival_scores),
}


@pytest.mark.parametrize("name", RULES)
def test_what_counts_as_faithful_is_what_the_rule_says(name):
    """The model is faithful exactly where its curve runs through what is shaded."""
    agreement, model = RULES[name]
    domain, instance = Domain.from_bounds([-1, 0], [1, 1], names=["x", "y"]), np.array([-0.5, 0.5])

    def surrogate(X):
        return model(X[:, [0, 0]] + 0.35) if model is rival_scores else 0.4 + 0.3 * (X[:, 0] + 0.5)

    problem = Problem(model, surrogate, agreement, instance, domain)
    region = region_of(domain, instance, [-0.6, 0], [-0.4, 1])
    display = ProfileDisplay.from_region(region, "x", problem=problem)
    low, high = display.counted
    with np.errstate(invalid="ignore"):
        inside = (display.model > low) & (display.model < high)
    np.testing.assert_array_equal(inside, display.faithful)
    assert 0.05 < display.faithful.mean() < 0.95
    beyond = np.abs(display.model - display.surrogate) >= agreement.tolerance
    assert np.any(display.faithful & beyond) == ("class" in name)  # which a band alone would not show


def test_the_same_class_is_shaded_beyond_the_band():
    domain, instance = Domain.from_bounds([-1, 0], [1, 1], names=["x", "y"]), np.array([-0.5, 0.5])
    model, surrogate = RULES["class"][1], lambda X: np.full(len(X), 0.3)
    problem = Problem(model, surrogate, SameClass(0.1), instance, domain)
    region = region_of(domain, instance, [-0.6, 0], [-0.4, 1])
    display = region.plot_profile("x", problem=problem)
    shaded, band = (fill.get_paths()[0].get_extents() for fill in display.ax_.collections[:2])
    assert (band.y0, band.y1) == pytest.approx((0.2, 0.4))
    assert (shaded.y0, shaded.y1) == pytest.approx((display.ax_.get_ylim()[0], 0.5))
    assert display.ax_.get_ylim()[0] < 0


def test_a_rule_of_ones_own_has_no_band():
    problem = mixed_problem(lambda model, surrogate: model > surrogate)
    display = mixed_region().plot_profile("balance", problem=problem)
    assert display.tolerance is None
    assert display.counted is None
    np.testing.assert_array_equal(display.faithful, display.model > display.surrogate)


# Slices.


def test_a_slice_is_asked_at_the_middle_of_every_cell():
    problem, data = mixed_problem(), mixed_data()
    data[0, 1] = np.nan
    display = mixed_region(problem=problem).plot_slice("balance", "rooms", data, resolution=10)
    assert display.faithful.shape == (9, 10)
    for y, room in enumerate(range(1, 10)):
        rows = np.tile(problem.instance, (10, 1))
        rows[:, 1], rows[:, 2] = np.arange(-0.9, 1, 0.2), float(room)
        np.testing.assert_array_equal(display.faithful[y], problem.faithful(rows))
    assert display.faithful.any()
    assert not display.faithful.all()
    assert display.edges[0] == pytest.approx(np.linspace(-1, 1, 11))
    assert display.edges[1] == pytest.approx(np.arange(0.5, 10))
    assert display.box == ((-0.5, 0.75), (2.5, 6.5))
    box = display.ax_.patches[-1]
    assert (*box.get_xy(), box.get_width(), box.get_height()) == (-0.5, 2.5, 1.25, 4.0)
    assert len(display.data) == len(data) - 1


def test_the_categories_of_a_region_are_neighbours_in_a_slice():
    display = mixed_region().plot_slice(
        "balance", "colour", mixed_data(), problem=mixed_problem(), resolution=5
    )
    assert display.cells[1] == ("blue", "red", "green", "violet")
    assert display.box[1] == (-0.5, 1.5)
    assert display.instance == (0.25, 0.0)
    assert not display.faithful[2].all()  # green is where the model differs
    assert display.faithful[0].any()


def test_the_model_is_asked_in_batches_that_memory_can_hold(monkeypatch):
    asked = Asked(mixed_model)
    region = mixed_region(problem=mixed_problem(model=asked))
    SliceDisplay.from_region(region, 0, 1, resolution=120)
    assert sum(asked.rows) == 120**2
    assert max(asked.rows) == BATCH_ROWS
    monkeypatch.setattr(evaluate, "FLOATS_AT_ONCE", 600)
    asked.rows.clear()
    whole = SliceDisplay.from_region(mixed_region(problem=mixed_problem()), 0, 1, resolution=30)
    batched = SliceDisplay.from_region(region, 0, 1, resolution=30)
    assert max(asked.rows) == 100
    np.testing.assert_array_equal(batched.faithful, whole.faithful)


# Mistakes.


def test_a_region_that_lost_its_problem_says_what_to_pass():
    region = mixed_region(problem=mixed_problem())
    for lost in (GuaranteeRegion.from_json(region.to_json()), pickle.loads(pickle.dumps(region))):
        for draw in (lambda r: r.plot_profile("income"), lambda r: r.plot_slice(0, 1)):
            with pytest.raises(InvalidInputError, match=r"Pass problem=Problem\("):
                draw(lost)
        assert lost.plot_profile("income", problem=mixed_problem()).held == ((0, 10),)


def test_mistakes_name_the_parameter_and_the_features():
    region = mixed_region(problem=mixed_problem())
    with pytest.raises(InvalidInputError, match=r"feature: there is no feature 'age'.*'balance'"):
        region.plot_profile("age")
    with pytest.raises(InvalidInputError, match=r"j: .* 0..5; got 6"):
        region.plot_slice(0, 6)
    with pytest.raises(InvalidInputError, match="i, j: two different"):
        region.plot_slice("income", 0)
    with pytest.raises(InvalidInputError, match="resolution"):
        region.plot_slice(0, 1, resolution=0)
    other = Problem(mixed_model, mixed_surrogate, SameValue(1), np.zeros(1), Domain.from_bounds([0], [1]))
    with pytest.raises(InvalidInputError, match="its features must be the region's"):
        region.plot_profile(0, problem=other)


# Manners.


DRAWN = {
    "rows": lambda ax=None: mixed_region().plot(mixed_data(), ax=ax),
    "rows without weights": lambda ax=None: mixed_region(None).plot(ax=ax),
    "profile": lambda ax=None: mixed_region().plot_profile("balance", problem=mixed_problem(), ax=ax),
    "profile of cells": lambda ax=None: mixed_region().plot_profile("colour", problem=mixed_problem(), ax=ax),
    "slice": lambda ax=None: mixed_region().plot_slice(
        "balance", "colour", mixed_data(), problem=mixed_problem(), resolution=30, ax=ax
    ),
    "notice": lambda ax=None: mixed_region(status="unfaithful", reason="why " * 100).plot(ax=ax),
}


@pytest.mark.parametrize("name", DRAWN)
def test_displays_draw_on_given_axes_and_change_nothing_else(name, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("pictures are shown by those who asked for them"))
    ax = empty_axes()
    display = DRAWN[name](ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert plt.get_fignums() == []
    assert display.plot(empty_axes()) is display
    alone = DRAWN[name]()
    assert plt.get_fignums() == [alone.figure_.number]
    assert settings() == SETTINGS
    assert "\n" not in alone.ax_.get_title(loc="left")
    assert overlapping(alone.figure_) == []


@pytest.mark.parametrize("layout", ["constrained", "tight", None])
def test_displays_draw_on_parts_of_figures(layout):
    whole = Figure(figsize=(14, 4), layout=layout)
    left, right = whole.subfigures(1, 2)
    assert mixed_region().plot(ax=left.subplots()).figure_ is left
    mixed_region().plot_profile("balance", problem=mixed_problem(), ax=right.subplots())
    whole.draw_without_rendering()


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"RegionDisplay.plot needs matplotlib.*lime-guarantee\[plot\]"
    ):
        mixed_region().plot()


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "notice"])
def test_pictures_look_as_they_did(name, tmp_path):
    assert difference(DRAWN[name](empty_axes()).ax_, name.replace(" ", "_"), tmp_path) is None


def test_a_changed_picture_is_noticed(tmp_path):
    """A bar that is too long by a tenth, a cell too many, a shift of the surrogate."""
    display = RegionDisplay.from_region(mixed_region(), mixed_data())
    first = display.rows[0]
    longer = dataclasses.replace(first, bar=(first.bar[0], first.bar[1] + 0.2))
    rows = RegionDisplay((longer, *display.rows[1:]), display.rest, display.headline)
    assert difference(rows.plot(empty_axes()).ax_, "rows", tmp_path) is not None
    cells = dataclasses.replace(display.rows[3], allowed=np.array([True, True, True, False]))
    rows = RegionDisplay((*display.rows[:3], cells, *display.rows[4:]), display.rest, display.headline)
    assert difference(rows.plot(empty_axes()).ax_, "rows", tmp_path) is not None
    shifted = mixed_problem(surrogate=lambda X: mixed_surrogate(X) + 0.3)
    moved = mixed_region().plot_profile("balance", problem=shifted, ax=empty_axes())
    assert difference(moved.ax_, "profile", tmp_path) is not None
