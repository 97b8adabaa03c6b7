"""Axes: what each kind knows of its values, and a new kind that is one class."""

import json
import re
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from pictures import explained, region_of, texts

from lime_guarantee import Axis, Domain, GuaranteeRegion, InvalidInputError, Problem, SameValue, find_region
from lime_guarantee.problem.surrogates import AdditiveSurrogate, formula_of
from lime_guarantee.space.axis import (
    BinaryAxis,
    CategoricalAxis,
    ContinuousAxis,
    Extent,
    IntegerAxis,
    categorical_axis,
    ordered_axis,
)

SHARE = ContinuousAxis("share", 0.0, 8.0)
ROOMS = IntegerAxis("rooms", 1.0, 9.0)
OWNER = BinaryAxis("owner")
COLOUR = CategoricalAxis("colour", ("red", "green", "blue", "violet"))
FIXED = ContinuousAxis("planet", 5.0, 5.0)
ALL = [SHARE, ROOMS, OWNER, COLOUR, FIXED]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("axis", ALL, ids=lambda axis: axis.name)
def test_every_kind_round_trips_through_json(axis):
    again = Axis.from_dict(json.loads(json.dumps(axis.to_dict())))
    assert again == axis
    assert type(again) is type(axis)


def test_an_unknown_kind_in_json_is_refused_with_the_way_out():
    with pytest.raises(InvalidInputError, match=r"'x' is of the kind 'lunar'; known are .*Import the module"):
        Axis.from_dict({**SHARE.to_dict(), "name": "x", "kind": "lunar"})


def test_the_factories_choose_the_class():
    assert type(ordered_axis("x", 0, 1, integer=False)) is ContinuousAxis
    assert ordered_axis("x", 0.5, 3.5, integer=True) == IntegerAxis("x", 1.0, 3.0)
    assert ordered_axis("x", 0, 1, integer=True) == BinaryAxis("x")
    assert categorical_axis("x", [np.int64(3), "b"]) == CategoricalAxis("x", (3, "b"))


def test_an_axis_widens_to_the_kind_that_holds_the_value():
    assert OWNER.including(1) == OWNER
    assert OWNER.including(3) == IntegerAxis("owner", 0.0, 3.0)
    assert SHARE.including(-1) == ContinuousAxis("share", -1.0, 8.0)
    assert COLOUR.including("pink").categories[-1] == "pink"
    with pytest.raises(InvalidInputError, match=r"'rooms' is integer, but the instance has 2\.5"):
        ROOMS.including(2.5)
    with pytest.raises(InvalidInputError, match="'rooms' must be a finite number"):
        ROOMS.including(np.inf)


def test_coordinates_that_exist():
    some = np.array([1.4, 2.6])
    assert SHARE.nearest(some).tolist() == SHARE.at_or_below(some).tolist() == [1.4, 2.6]
    assert ROOMS.nearest(some).tolist() == [1, 3]
    assert ROOMS.at_or_below(some).tolist() == [1, 2]


def test_distance_is_a_share_of_the_axis_and_categories_only_differ():
    places = np.array([0.0, 2.0])
    assert SHARE.distance(places, 2.0).tolist() == [0.25, 0]
    assert ROOMS.distance(np.array([1.0, 4.0]), 4.0).tolist() == [3 / 9, 0]
    assert COLOUR.distance(places, 2.0).tolist() == [1, 0]


def test_places_along_an_axis():
    assert SHARE.evenly(5).tolist() == [0, 2, 4, 6, 8]
    assert SHARE.middles(2).tolist() == [2, 6]
    assert ROOMS.evenly(100).tolist() == ROOMS.middles(100).tolist() == list(range(1, 10))
    assert ROOMS.evenly(3).tolist() == [1, 5, 9]
    assert FIXED.evenly(5).tolist() == FIXED.middles(5).tolist() == FIXED.cells.tolist() == [5]
    with pytest.raises(ValueError, match="'share' is continuous and has no cells"):
        assert SHARE.cells.size


def test_the_first_grid_holds_the_instance_or_all_cells():
    assert SHARE.first_grid(3.0, 2, 32).tolist() == [0, 3, 4, 8]
    assert ROOMS.first_grid(3.0, 2, 9).tolist() == list(range(1, 10))
    assert ROOMS.first_grid(3.0, 2, 8).tolist() == [1, 3, 5, 9]
    assert COLOUR.first_grid(3.0, 2, 1).tolist() == [0, 1, 2, 3]
    assert FIXED.first_grid(5.0, 2, 32).tolist() == [5]


def test_cells_have_a_width_when_they_are_drawn():
    assert SHARE.ends_as_drawn == (0, 8)
    assert ROOMS.ends_as_drawn == (0.5, 9.5)
    assert FIXED.ends_as_drawn == (4.5, 5.5)
    held = Extent(0.0, 2.0, allowed=("blue", "red"))
    assert COLOUR.intervals_as_drawn(held) == ((-0.5, 0.5), (1.5, 2.5))
    assert COLOUR.cells_in(held).tolist() == [True, False, True, False]
    assert OWNER.cells_in(Extent(1.0, 1.0)).tolist() == [False, True]
    assert [axis.bars(8) for axis in ALL] == [8, 8, 2, 4, 8]


def test_texts():
    held = Extent(0.0, 2.0, allowed=("blue", "red"))
    assert SHARE.extent_text(SHARE.widest(), 1.0) == "[0.000, 8.000] free"
    assert ROOMS.extent_text(Extent(3.0, 6.0), 4) == "[3, 6]"
    assert OWNER.extent_text(OWNER.widest(), 1.0) == "[0, 1] free"
    assert COLOUR.extent_text(held, "blue") == "{blue, red}"
    assert FIXED.extent_text(FIXED.widest(), 5.0) == "constant"
    assert [axis.text(5.0) for axis in (SHARE, ROOMS, FIXED)] == ["5", "5", "5"]
    assert ROOMS.text(123456.0) == "123456"
    assert CategoricalAxis("c", (1, 2), ("one", "two")).text(2.0) == "two"


def test_entries_of_tables():
    held = Extent(0.0, 2.0, allowed=("blue", "red"))
    assert (ROOMS.bounds_entry(Extent(3.0, 6.0)), ROOMS.allowed_entry(Extent(3.0, 6.0))) == ((3, 6), None)
    assert (COLOUR.bounds_entry(held), COLOUR.allowed_entry(held)) == ((None, None), ("blue", "red"))
    labelled = CategoricalAxis("c", (1, 2), ("one", "two"))
    assert (labelled.value_entry(2), ROOMS.value_entry(2)) == ("two", 2)


@settings(max_examples=60, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 3), st.integers(0, 3))
def test_an_interval_of_reordered_categories_is_the_same_set_on_the_axis(order, first, last):
    first, last = min(first, last), max(first, last)
    searched = COLOUR.reordered(order)
    extent = COLOUR.extent_of(np.array(order[first : last + 1], dtype=float))
    assert set(extent.allowed) == set(searched.categories[first : last + 1])
    again = COLOUR.search_axis(extent)
    lower, upper = COLOUR.search_bounds(extent)
    assert again.categories[int(lower) : int(upper) + 1] == extent.allowed
    assert sorted(again.categories) == sorted(COLOUR.categories)


def test_numbers_keep_their_order():
    assert ROOMS.search_axis(Extent(3.0, 6.0)) is ROOMS
    assert ROOMS.search_bounds(Extent(3.0, 6.0)) == (3, 6)
    with pytest.raises(ValueError, match="'rooms' is integer: its values have an order"):
        ROOMS.reordered([1, 0])
    with pytest.raises(ValueError, match="no permutation of 4 categories"):
        COLOUR.reordered([0, 0, 1, 2])


# A new kind: categories that have an order.


@dataclass(frozen=True)
class OrdinalAxis(Axis):
    """Named values with an order: a region holds an interval of them."""

    low: float = field(default=0.0, init=False)
    high: float = field(init=False)
    levels: tuple[str, ...]

    kind: ClassVar[str] = "ordinal"
    has_cells: ClassVar[bool] = True
    values_are_coordinates: ClassVar[bool] = False
    numeric: ClassVar[bool] = False

    def __post_init__(self):
        object.__setattr__(self, "high", len(self.levels) - 1.0)

    def encode(self, column):
        return np.array([self.levels.index(v) if v in self.levels else np.nan for v in column], dtype=float)

    def decode(self, coordinates):
        return np.array(self.levels, dtype=object)[coordinates.astype(int)]

    def including(self, value):
        return self if value in self.levels else OrdinalAxis(self.name, (*self.levels, value))

    @property
    def cell_labels(self):
        return self.levels

    def to_dict(self):
        return {**super().to_dict(), "levels": list(self.levels)}

    @classmethod
    def _from_fields(cls, data):
        return cls(data["name"], tuple(data["levels"]))


LEVELS = ("tiny", "small", "medium", "large", "huge")


@pytest.fixture(scope="module")
def ordinal_problem():
    """The surrogate is right from small to large, and where x is below 0.5."""
    domain = Domain((OrdinalAxis("size", LEVELS), ContinuousAxis("x", 0.0, 1.0)))

    def model(X):
        sizes = domain.axes[0].encode(X[:, 0])
        return np.where((sizes >= 1) & (sizes <= 3) & (X[:, 1].astype(float) < 0.5), sizes, 9.0)

    grids = (np.arange(5.0), np.array([0.0, 1.0]))
    surrogate = AdditiveSurrogate(domain, 0.0, grids, (np.arange(5.0), np.zeros(2)))
    return Problem(model, surrogate, SameValue(0.1), np.array(["medium", 0.2], dtype=object), domain)


@pytest.fixture(scope="module")
def ordinal_region(ordinal_problem):
    return find_region(ordinal_problem, purity=0.95, confidence=0.95, random_state=0)


def test_a_new_kind_is_searched(ordinal_region):
    assert ordinal_region
    assert (ordinal_region.lower[0], ordinal_region.upper[0]) == (1, 3)
    rows = np.array([["tiny", 0.2], ["small", 0.2], ["large", 0.2], ["vast", 0.2]], dtype=object)
    assert ordinal_region.contains(rows).tolist() == [False, True, True, False]
    assert set(ordinal_region.sample(100, 0)[:, 0]) == {"small", "medium", "large"}
    assert ordinal_region.reach[0] == pytest.approx(3 / 5)


def test_a_new_kind_is_written_and_read(ordinal_region):
    again = GuaranteeRegion.from_json(ordinal_region.to_json())
    assert again == ordinal_region
    assert again.domain.axes[0] == OrdinalAxis("size", LEVELS)


def test_a_new_kind_is_told_in_words_and_in_a_table(ordinal_region):
    line = next(line for line in str(ordinal_region).splitlines() if line.startswith("size"))
    name, instance, *_, bounds, reach = re.split(r"\s\s+", line)
    assert (name, instance, bounds, reach) == ("size", "medium", "[small, large]", "60 %")
    frame = ordinal_region.to_frame().set_index("feature")
    assert frame.loc["size", "kind"] == "ordinal"
    assert frame.loc["size", ["instance", "lower", "upper", "allowed"]].tolist() == ["medium", 1, 3, None]


def test_a_new_kind_is_on_a_page_and_in_a_notebook(ordinal_region):
    data = re.search(r'id="what-if"[^>]*>(.*?)</script>', ordinal_region.to_html(), re.DOTALL).group(1)
    feature = next(one for one in json.loads(data)["features"] if one["name"] == "size")
    assert feature["labels"] == list(LEVELS)
    assert feature["allowed"] == [False, True, True, True, False]
    assert (feature["instance"], feature["extent"]) == ("medium", "[small, large]")
    shown = ordinal_region._repr_html_()
    assert all(f">{level}<" in shown for level in LEVELS)


def test_a_new_kind_is_tried_on_a_page(pages, ordinal_region):
    page = pages.open(ordinal_region.to_html())
    for level, inside in zip(LEVELS, (False, True, True, True, False), strict=True):
        page.get_by_label("size", exact=True).select_option(level if inside else f"{level} (outside)")
        assert page.locator("#left li").all_inner_texts() == (
            [] if inside else [f"size: {level} is not allowed"]
        )
        assert page.locator("#prediction data").get_attribute("value") == str(LEVELS.index(level))


def test_a_new_kind_is_drawn(ordinal_region):
    rows = ordinal_region.plot(ordinal_region.sample(50, 0))
    assert {"[small, large]", *LEVELS} <= {text.get_text() for text in texts(rows.figure_)}
    along = ordinal_region.plot_profile("size")
    assert along.held == ((0.5, 3.5),)
    assert [label.get_text() for label in along.ax_.get_xticklabels()] == list(LEVELS)
    across = ordinal_region.plot_slice("size", "x", resolution=6)
    assert across.faithful.tolist() == [[False, True, True, True, False]] * 3 + [[False] * 5] * 3


class LogAxis(ContinuousAxis):
    """Positive numbers, whose coordinates are their logarithms."""

    kind: ClassVar[str] = "logarithmic"
    values_are_coordinates: ClassVar[bool] = False

    def encode(self, column):
        return np.log10(super().encode(column))

    def decode(self, coordinates):
        return 10.0**coordinates


def test_a_kind_with_coordinates_of_its_own_has_no_formula():
    plain, scaled = (Domain((kind("x", 0.0, 3.0),)) for kind in (ContinuousAxis, LogAxis))
    surrogate = AdditiveSurrogate(plain, 0.0, (np.array([0.0, 3.0]),), (np.array([0.0, 1.0]),))
    assert formula_of(surrogate, plain)["terms"]
    assert formula_of(surrogate, scaled) is None


def test_named_cells_may_start_anywhere(pages):
    class MonthAxis(IntegerAxis):
        kind: ClassVar[str] = "month"
        cell_labels = ("March", "April", "May")

    domain = Domain((MonthAxis("month", 3.0, 5.0), ContinuousAxis("x", 0.0, 1.0)))
    instance = np.array([4.0, 0.5])
    problem = Problem(lambda X: X[:, 0], lambda X: X[:, 0], SameValue(1), instance, domain)
    region = region_of(domain, instance, [4, 0.2], [5, 0.8], explained=explained([1, 0]))
    assert region.plot().rows[0].allowed.tolist() == [False, True, True]
    page = pages.open(region.to_html())
    page.get_by_label("month", exact=True).select_option("March (outside)")
    assert page.locator("#left li").all_inner_texts() == ["month: March is not allowed"]
    for ticks in (
        region.plot_profile("month", problem=problem).ax_.xaxis,
        region.plot_slice("month", "x", problem=problem, resolution=3).ax_.xaxis,
    ):
        assert dict(
            zip(ticks.get_ticklocs(), (t.get_text() for t in ticks.get_ticklabels()), strict=True)
        ) == {
            3: "March",
            4: "April",
            5: "May",
        }
