"""Printed bounds say none too much, and the instance beside them never lies outside."""

import json
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pictures import explained, region_of

from lime_guarantee import Domain
from lime_guarantee.views.plots import RegionDisplay

INTERVAL = re.compile(r"\[(\S+), (\S+)\]")


def region_between(lower, instance, upper, *, weights=(1.0,)):
    """A region of one feature, in a domain that is a little wider."""
    margin = max(upper - lower, abs(lower), abs(upper), 1e-6)
    domain = Domain.from_bounds([lower - margin], [upper + margin], names=["x"])
    return region_of(domain, [instance], [lower], [upper], explained=explained(weights))


def printed_in_text(region):
    """The instance and the bounds that ``str(region)`` has."""
    line = next(line for line in str(region).splitlines() if line.startswith("x "))
    return line.split()[1], *INTERVAL.search(line).groups()


def printed_on_page(region):
    data = re.search(r'id="what-if"[^>]*>(.*?)</script>', region.to_html(), re.DOTALL).group(1)
    feature = json.loads(data)["features"][0]
    return feature["instance"], *INTERVAL.fullmatch(feature["extent"]).groups()


def printed_in_notebook(region):
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", region._repr_html_())
    bounds = next(filter(None, map(INTERVAL.fullmatch, cells)))
    return cells[1], *bounds.groups()


def check_printed(texts, lower, instance, upper):
    """As a reader compares them: the numbers that stand there, digit by digit."""
    shown, first, last = map(Decimal, texts)
    assert first <= shown <= last
    assert float(first) <= instance <= float(last)
    assert lower <= float(first)
    assert float(last) <= upper


@st.composite
def triples(draw):
    """Bounds and an instance between them, often almost at one, or at both."""
    scale = 10.0 ** draw(st.integers(-9, 9))
    lower, upper = sorted(draw(st.floats(-1, 1)) * scale for _ in range(2))
    if draw(st.booleans()):
        upper = float(np.nextafter(lower + abs(lower) * 10.0 ** -draw(st.integers(1, 16)), np.inf))
    instance = draw(st.sampled_from([lower, upper, np.nextafter(lower, upper), np.nextafter(upper, lower)]))
    if draw(st.booleans()):
        instance = lower + draw(st.floats(0, 1)) * 10.0 ** -draw(st.integers(0, 8)) * (upper - lower)
    return lower, float(min(max(instance, lower), upper)), upper


@pytest.mark.parametrize("printed", [printed_in_text, printed_on_page, printed_in_notebook])
@settings(max_examples=150, deadline=None)
@given(triples())
@example((-0.00259233, -0.00259217, 0.14507))  # was printed as -0.002592 in [-0.0025, 0.1450]
@example((0.1, 0.1, 0.4))
@example((0.12344, 0.123449, 0.5))  # to four digits, the instance is 0.1234
@example((12_345.678, 12_345.679, 98_765.4))
def test_the_instance_lies_between_the_bounds_that_are_printed_beside_it(printed, triple):
    check_printed(printed(region_between(*triple)), *triple)


@settings(max_examples=150, deadline=None)
@given(triples())
@example((-0.00259233, -0.00259217, 0.14507))
def test_a_picture_s_bounds_hold_the_instance(triple):
    lower, instance, upper = triple
    text = RegionDisplay.from_region(region_between(*triple)).rows[0].extent.replace("\N{MINUS SIGN}", "-")
    if not text.startswith("near "):  # too long for a picture
        first, last = map(float, INTERVAL.fullmatch(text).groups())
        assert lower <= first <= instance <= last <= upper


def test_bounds_stay_short_where_nothing_is_left_out():
    assert printed_in_text(region_between(-0.00259233, 0.05, 0.14507)) == ("0.05", "-0.0025", "0.1450")
    assert printed_in_text(region_between(0.1, 0.1, 0.4)) == ("0.1", "0.1000", "0.4000")
    assert printed_in_text(region_between(-0.00000123, 0.5, 1.0)) == ("0.5", "0.000", "1.000")


def test_constants_are_not_printed_in_full():
    domain = Domain.from_bounds([1 / 3], [1 / 3], names=["x"])
    region = region_of(domain, [1 / 3], [1 / 3], [1 / 3], explained=explained([1.0]))
    assert "0.3333 " in str(region)
    assert "0.33333" not in str(region)
