"""Domains and boxes: raw values to axis coordinates and back, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from cubes import cube_of
from hypothesis import given, settings
from hypothesis import strategies as st

from lime_guarantee import Domain, InvalidInputError


@pytest.fixture
def mixed():
    return Domain.from_bounds(
        [0.0, -2, 0, 0],
        [1.0, 7, 1, 0],
        names=["share", "count", "flag", "colour"],
        integer=["count", 2],
        categories={"colour": ["red", "green", "blue"]},
    )


def test_the_four_kinds(mixed):
    assert mixed.kinds == ("continuous", "integer", "binary", "categorical")
    assert [axis.width for axis in mixed.axes] == [1.0, 10.0, 2.0, 3.0]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_decoding_and_encoding_gives_the_coordinates_back(seed):
    domain = Domain.from_bounds([0, -2, 0], [1, 7, 0], integer=[1], categories={2: ["a", 5, "c"]})
    cube = cube_of(domain, np.array([0.5, 3, "a"], dtype=object))
    values = cube.values(cube.whole.sample(np.random.default_rng(seed), 20))
    assert (domain.encode(domain.decode(values)) == values).all()


def test_rows_are_floats_where_all_categories_are_numbers():
    domain = Domain.from_bounds([0, 0], [1, 0], categories={1: [3, 1, 2]})
    rows = domain.decode(np.array([[0.5, 0.0], [0.25, 2.0]]))
    assert rows.dtype == np.float64
    assert rows.tolist() == [[0.5, 3.0], [0.25, 2.0]]


def test_decoding_hands_out_a_copy():
    domain = Domain.from_bounds([0], [1])
    points = np.array([[0.5]])
    domain.decode(points)[0, 0] = 9
    assert points[0, 0] == 0.5


def test_values_that_do_not_exist_lie_in_no_domain(mixed):
    rows = np.array([[0.5, 2.5, 1, "red"], [0.5, 2, 1, "pink"], [0.5, 2, 1, "red"]], dtype=object)
    assert mixed.contains(mixed.encode(rows)).tolist() == [False, False, True]


def test_from_data_reads_a_frame_by_its_dtypes():
    frame = pd.DataFrame(
        {
            "height": [1.5, np.nan, 1.9],
            "rooms": [1, 4, 2],
            "garden": [True, False, True],
            "town": ["A", None, "B"],
            "size": pd.Categorical(["s", "m", "s"], categories=["s", "m", "l"]),
            "visits": pd.array([1, None, 5], dtype="Int64"),
        }
    )
    domain = Domain.from_data(frame)
    assert domain.names == tuple(frame.columns)
    assert domain.kinds == ("continuous", "integer", "binary", "categorical", "categorical", "integer")
    assert domain.axes[3].categories == ("A", "B")
    assert domain.axes[4].categories == ("s", "m", "l")
    assert (domain.axes[0].low, domain.axes[0].high) == (1.5, 1.9)


def test_from_data_reads_an_array_of_objects():
    domain = Domain.from_data([[1, "a", 0.5], [2, "b", 1.5]])
    assert domain.kinds == ("integer", "categorical", "continuous")


def test_missing_values_of_an_object_array_are_passed_over():
    domain = Domain.from_data(np.array([[1.5, "a"], [None, None], [2.5, float("nan")]], dtype=object))
    assert domain.kinds == ("continuous", "categorical")
    assert domain.axes[1].categories == ("a",)


def test_from_data_takes_the_callers_word_for_integers_and_categories():
    X = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert Domain.from_data(X, integer=[1]).kinds == ("continuous", "integer")
    assert Domain.from_data(X, integer=(), categories={0: [1, 2, 3]}).kinds == ("categorical", "continuous")


def test_a_frame_is_read_by_name_whatever_the_order_of_its_columns(mixed):
    frame = pd.DataFrame({"colour": ["blue"], "flag": [1], "share": [0.5], "count": [3], "more": [0]})
    assert mixed.encode(frame).tolist() == [[0.5, 3.0, 1.0, 2.0]]
    assert mixed.row(frame.iloc[0][["colour", "flag", "share", "count"]]).tolist() == [0.5, 3, 1, "blue"]


@pytest.mark.parametrize(
    "instance",
    [[0.2, 0.4], (0.2, 0.4), np.array([[0.2, 0.4]]), pd.Series([0.4, 0.2], index=["b", "a"]),
     pd.DataFrame({"b": [0.4], "a": [0.2]})],
    ids=["list", "tuple", "row", "series", "frame"],
)  # fmt: skip
def test_an_instance_may_come_in_many_forms(instance):
    domain = Domain.from_bounds([0, 0], [1, 1], names=["a", "b"])
    assert domain.row(instance).tolist() == [0.2, 0.4]


def test_a_constant_axis_has_a_width_of_one_and_stays_put():
    domain = Domain.from_bounds([0, 3], [2, 3])
    assert [axis.width for axis in domain.axes] == [2.0, 1.0]
    assert domain.log_volume == pytest.approx(np.log(2))
    cube = cube_of(domain, [1.0, 3.0])
    assert set(cube.decode(cube.whole.sample(np.random.default_rng(0), 50))[:, 1]) == {3.0}


def test_a_domain_is_widened_to_hold_the_instance(mixed):
    wider, names = mixed.including(np.array([1.5, 3, 1, "pink"], dtype=object))
    assert names == ("share", "colour")
    assert wider.axes[0].high == 1.5
    assert wider.axes[3].categories == ("red", "green", "blue", "pink")
    assert mixed.including(np.array([0.5, 3, 1, "red"], dtype=object)) == (mixed, ())


def test_a_domain_round_trips_through_plain_types(mixed):
    assert Domain.from_dict(mixed.to_dict()) == mixed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lower": [0, 2], "upper": [1, 1]}, "lower bound 2.0 above its upper bound 1.0"),
        ({"lower": [0, np.nan], "upper": [1, 1]}, "finite bounds"),
        ({"lower": [0], "upper": [np.inf]}, "finite bounds"),
        ({"lower": [0], "upper": [1, 2]}, "got 1 and 2"),
        ({"lower": [], "upper": []}, "no features"),
        ({"lower": ["a"], "upper": ["b"]}, "must be numbers"),
        ({"lower": [[0]], "upper": [[1]]}, "shape"),
        ({"lower": [-1.7e308], "upper": [1.7e308]}, "wider than a float"),
        ({"lower": [0], "upper": [1], "names": ["a", "b"]}, "as many names"),
        ({"lower": [0, 0], "upper": [1, 1], "names": ["a", "a"]}, "name of its own"),
        ({"lower": [0], "upper": [1], "integer": ["b"]}, "no feature 'b'"),
        ({"lower": [0], "upper": [1], "integer": [1]}, "position 0..0"),
        ({"lower": [0.2], "upper": [0.8], "integer": [0]}, "holds no integer"),
        ({"lower": [0], "upper": [1e17], "integer": [0]}, "2\\*\\*40"),
        ({"lower": [0], "upper": [1], "categories": {0: []}}, "has none"),
        ({"lower": [0], "upper": [1], "categories": {0: [1, 1.0]}}, "twice"),
        ({"lower": [0], "upper": [1], "integer": [0], "categories": {0: [1]}}, "both"),
    ],
)
def test_bad_bounds_are_refused_with_a_reason(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        Domain.from_bounds(**arguments)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 3)), "no rows"),
        (np.empty((3, 0)), "no columns"),
        (np.ones(3), "2-D"),
        ([[np.nan], [np.nan]], "missing"),
        ([[np.inf], [0.0]], "finite"),
    ],
)
def test_bad_data_is_refused_with_a_reason(X, message):
    with pytest.raises(InvalidInputError, match=message):
        Domain.from_data(X)


def test_values_that_no_set_can_hold_are_refused():
    X = np.empty((2, 1), dtype=object)
    X[:, 0] = [[1], [2]]
    with pytest.raises(InvalidInputError, match="cannot be one of a set"):
        Domain.from_data(X)
