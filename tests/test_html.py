"""The what-if page of a region, in a real browser."""

import dataclasses
import json
import re

import lime_rows
import numpy as np
import pytest
import shap_cases
from browser import LOWEST_CONTRAST, Pages, photograph, values_of
from cubes import cube_of
from html_cases import CERTIFIED, HOSTILE, SCRIPT, region

from lime_guarantee import Domain, GuaranteeRegion, InvalidInputError, Problem, SameValue, find_region
from lime_guarantee.api import problem_of
from lime_guarantee.engine.session import bounding_box
from lime_guarantee.problem.surrogates import ConstantSurrogate, formula_of
from lime_guarantee.views.html import page as page_module


def coordinates(region, count=60):
    """Engine coordinates of the instance, and of rows of the region, of its box and of the domain."""
    rng = np.random.default_rng(0)
    inside = region.sample(count, random_state=0)
    whole = cube_of(region.domain, region.instance).whole
    box = bounding_box(region.certified_shape("test"))
    around = box.cube.decode(box.sample(rng, count))
    known = np.concatenate([[region.instance], inside, around])
    return np.concatenate([region.domain.encode(known), whole.cube.values(whole.sample(rng, count))])


def departures(page, rows):
    """How many features the page says have left the region, row by row."""
    counted = "rows => rows.map(row => departures(whatIf.features.map(f => row[f.position])).length)"
    return np.array(page.evaluate(counted, rows.tolist()))


@pytest.mark.parametrize("name", CERTIFIED)
def test_inside_and_outside_are_what_contains_says(pages, name):
    page = pages.open(region(name).to_html())
    rows = coordinates(region(name))
    expected = region(name).contains(region(name).domain.decode(rows))
    assert 0.2 < expected.mean() < 1
    assert ((departures(page, rows) == 0) == expected).all()


def test_the_bounds_are_inside_and_the_next_number_is_not(pages):
    page = pages.open(region("tabular").to_html())
    bounds = np.array(region("tabular").search_bounds)
    assert departures(page, bounds).tolist() == [0, 0]
    assert departures(page, np.nextafter(bounds, [[-np.inf], [np.inf]])).tolist() == [len(HOSTILE)] * 2


# What the explanation predicts

LIME = [
    "quartile",
    "not discretised",
    "categories, discretised",
    "categories, not discretised",
    "sparse csr",
    "all top labels",
    "whole numbers",
]
SHAP = {
    "profile": ("forest, background", {}),
    "profile with categories": ("xgboost colours", {}),
    "profile as probability": ("xgboost class, raw as probability", {}),
    "profile of text": ("kernel, text columns", {}),
    "slopes of a line": ("linear, line", {"surrogate": "linear"}),
    "presence": ("forest, background", {"surrogate": "presence"}),
    "coalition": ("forest, background", {"space": "coalition"}),
}


def lime_problem(name):
    made = lime_rows.VARIANTS[name]()
    return problem_of(made.explanation, training_data=made.training_data, **made.given)


def shap_problem(name):
    case, options = SHAP[name]
    case = shap_cases.CASES[case]
    return dataclasses.replace(case, options=case.options | options).subject


def constant_problem():
    surrogate = ConstantSurrogate(np.array([0.25, 0.75]))
    domain = Domain.from_bounds([0, 0], [1, 1])
    return Problem(surrogate, surrogate, SameValue(0.1), np.array([0.5, 0.5]), domain)


PROBLEMS = {
    **{f"lime, {name}": (lime_problem, name) for name in LIME},
    **{f"shap, {name}": (shap_problem, name) for name in SHAP},
    "text": (lambda _: region("text").problem, None),
    "constant": (lambda _: constant_problem(), None),
}


@pytest.fixture(scope="module")
def any_page(browser, tmp_path_factory):
    """A page whose functions are used on other formulas than its own."""
    opened = Pages(browser, tmp_path_factory.mktemp("page"))
    yield opened.open(region("ball").to_html())
    opened.close()


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_formula_gives_what_the_surrogate_gives(any_page, name):
    make, argument = PROBLEMS[name]
    problem = make(argument)
    domain, _ = problem.domain.including(problem.instance)
    turned = {
        i: range(len(axis.categories))[::-1]
        for i, axis in enumerate(domain.axes)
        if axis.kind == "categorical"
    }
    # The page's order of categories need not be the surrogate's.
    domain = Domain(tuple(a.reordered(turned[i]) if i in turned else a for i, a in enumerate(domain.axes)))
    cube = cube_of(domain, problem.instance)
    points = cube.values(cube.whole.sample(np.random.default_rng(1), 200))
    formula = json.loads(json.dumps(formula_of(problem.surrogate, domain), allow_nan=False))
    said = any_page.evaluate(
        "([formula, rows]) => rows.map(row => predict(formula, row))", [formula, points.tolist()]
    )
    expected = np.asarray(problem.surrogate(domain.decode(points))).reshape(len(points), -1)
    assert expected.std() > 0
    np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-9)


# Moving the controls


def state(page):
    return page.locator("#verdict").inner_text()


def predicted(page):
    return values_of(page.locator("#prediction data"))


def raw_row(page, region):
    """The row that the controls show, in raw values."""
    place = page.evaluate("whatIf.features.map(f => f.position)")
    shown = np.empty(len(place))
    shown[place] = page.evaluate("values")
    return region.domain.decode(shown[np.newaxis])


def assert_says_the_truth(page, region):
    row = raw_row(page, region)
    inside = "Inside the guarantee" if region.contains(row)[0] else "Outside the guarantee"
    assert state(page) == inside
    assert (page.locator("#left li").count() == 0) == (inside == "Inside the guarantee")
    if region.problem is not None and formula_of(region.problem.surrogate, region.domain):
        np.testing.assert_allclose(
            predicted(page), np.ravel(region.problem.surrogate(row)), rtol=1e-9, atol=1e-9
        )


def test_a_slider_moved_by_keys_and_by_hand_is_answered(pages):
    case = region("tabular")
    page = pages.open(case.to_html())
    assert state(page) == "Inside the guarantee"
    first = page.locator("#f0")
    position = page.evaluate("whatIf.features[0].position")
    at_first = predicted(page)
    for key, value in [("Home", case.domain.lower[position]), ("End", case.domain.upper[position])]:
        first.press(key)
        assert raw_row(page, case)[0, position] == value
        assert_says_the_truth(page, case)
        if not case.contains(raw_row(page, case))[0]:
            assert state(page) == "Outside the guarantee"
            photograph(page, "region-outside")
    assert predicted(page) != at_first
    before = raw_row(page, case)[0, position]
    first.press("ArrowLeft")
    step = before - raw_row(page, case)[0, position]
    assert 0 < step < 0.2 * (case.domain.upper[position] - case.domain.lower[position])
    assert_says_the_truth(page, case)
    page.get_by_role("button", name="Reset to the instance").press("Enter")
    assert (raw_row(page, case)[0] == case.instance).all()
    np.testing.assert_array_equal(predicted(page), at_first)
    photograph(page, "region")


def test_what_left_the_region_is_named_with_how_far(pages):
    case = region("undescribed")
    page = pages.open(case.to_html())
    number = page.get_by_label("x1, exact value")
    number.fill(str(case.upper[1] + 0.25))
    number.press("Enter")
    assert page.locator("#left li").all_inner_texts() == ["x1: 0.25 above the region"]
    number.fill(str(case.lower[1] - 1.5))
    number.press("Enter")
    assert page.locator("#left li").all_inner_texts() == ["x1: 1.5 below the region"]
    number.fill("")
    number.press("Enter")
    assert number.input_value() != ""
    assert page.locator(".slider.out").count() == 1
    assert page.locator("#where").get_attribute("aria-live") == "polite"


def test_categories_and_whole_numbers_are_chosen(pages):
    case = region("shap")
    axis = next(axis for axis in case.domain.axes if axis.kind == "categorical")
    page = pages.open(case.to_html())
    select = page.get_by_label(axis.name, exact=True)
    for category in axis.categories:
        select.select_option(str(axis.position(category)))
        assert_says_the_truth(page, case)
        if category not in case.allowed[axis.name]:
            assert f"{axis.name}: {category} is not allowed" in page.locator("#left li").all_inner_texts()
    assert len(case.allowed[axis.name]) < len(axis.categories)
    page.get_by_label("count", exact=True).press("End")
    assert_says_the_truth(page, case)
    number = page.get_by_label("count, exact value")
    number.fill("2.4")
    number.press("Enter")
    assert raw_row(page, case)[0, case.names.index("count")] == 2
    photograph(page, "region-categories")


def test_large_numbers_are_shown_in_full(pages):
    domain = Domain.from_bounds([0, 1.6e9], [9_999_999, 1.6e9 + 50], names=["count", "time"], integer=[0])
    problem = Problem(len_of, len_of, SameValue(1.0), np.array([1_234_567, 1.6e9 + 12.5]), domain)
    case = find_region(problem, random_state=0, purity=0.9)
    assert "1234567" in str(case)
    page = pages.open(case.to_html())
    assert page.get_by_label("count, exact value").input_value() == "1234567"
    assert float(page.get_by_label("time, exact value").input_value()) == 1.6e9 + 12.5


def len_of(X):
    return np.zeros(len(X))


def test_words_are_taken_away(pages):
    case = region("text")
    page = pages.open(case.to_html())
    stays = next(name for name in case.names if name not in case.removable)
    goes = max(case.removable, key=len)  # another label begins with "the", too
    page.get_by_label(re.compile(rf"^{goes}\b")).uncheck()
    assert state(page) == "Inside the guarantee"
    assert_says_the_truth(page, case)
    page.get_by_label(re.compile(rf"^{stays}\b")).press("Space")
    assert page.locator("#left li").all_inner_texts() == [f"{stays}: must stay"]
    assert_says_the_truth(page, case)
    photograph(page, "region-text")


def test_scores_of_several_classes_are_all_shown(pages):
    case = region("categories")
    page = pages.open(case.to_html())
    assert len(predicted(page)) == 3
    np.testing.assert_allclose(predicted(page), case.explained.surrogate_at_instance, rtol=1e-9)
    assert_says_the_truth(page, case)


# What else is on the page


def test_without_a_formula_the_page_says_so_and_works(pages):
    for case in (region("undescribed"), GuaranteeRegion.from_json(region("tabular").to_json())):
        page = pages.open(case.to_html())
        assert "prediction is not available here" in page.locator("#prediction").inner_text()
        page.locator("#f1").press("Home")
        assert_says_the_truth(page, case)


def test_where_nothing_is_certified_nothing_is_promised(pages):
    case = region("unfaithful")
    assert case.status == "unfaithful"
    page = pages.open(case.to_html())
    for _ in range(2):
        assert state(page) == "No guarantee: nothing is certified"
        assert page.locator("#left li, .out, .track .bar > span").count() == 0
        page.locator("#f0").press("Home")
    assert case.reason in page.locator("header").inner_text()
    photograph(page, "region-unfaithful")


def test_the_certificate_is_told_and_can_be_taken_along(pages):
    case = region("tabular")
    page = pages.open(case.to_html())
    told = page.locator("body").inner_text()
    report = str(case).split("\n\n")
    assert len(report[0].splitlines()) == 2
    assert all(line in told for line in [*report[0].splitlines(), *report[-1].splitlines()])
    assert f"{case.explained.model_at_instance[0]:.4g}" in page.locator("#evidence table").inner_text()
    with page.expect_download() as download:
        page.get_by_text("Download the certificate").click()
    assert GuaranteeRegion.from_json(download.value.path().read_text()) == case


def test_names_are_text_and_nothing_else(pages):
    page = pages.open(region("tabular").to_html())
    labels = page.locator(".slider .name").all_inner_texts()
    assert sorted(labels) == sorted(HOSTILE)
    assert SCRIPT in page.locator("h1").inner_text()
    assert SCRIPT in page.title()
    assert page.locator("body script:not([type])").count() == 1
    assert page.locator("img, b").count() == 0


def test_the_policy_lets_nothing_else_run(pages):
    page = pages.open(region("tabular").to_html())
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
    }""")
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in fault for fault in pages.faults)
    pages.faults.clear()


def test_data_cannot_end_its_element():
    text = page_module.make_page("region", "t", "", {"what-if": ["</script><!-- & \u2028"]})
    assert text.count("</script>") == 2
    data = re.search(r'id="what-if">(.*?)</script>', text)[1]
    assert not set(data) & set("<>&\u2028")
    assert json.loads(data) == ["</script><!-- & \u2028"]


@pytest.mark.parametrize("width", [1_200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark_wide_and_narrow(pages, scheme, width):
    for name in ("tabular", "text", "categories"):
        page = pages.open(region(name).to_html(), scheme=scheme, width=width)
        if name == "tabular":
            page.locator("#f0").press("Home")
        worst = page.evaluate(LOWEST_CONTRAST)
        assert worst["ratio"] >= 4.5, worst
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        photograph(page, f"region-{name}-{scheme}-{width}")


def test_on_paper_it_is_black_on_white_without_buttons(pages):
    page = pages.open(region("tabular").to_html(), scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("#reset").is_visible()
    assert page.locator("#verdict").is_visible()
    assert page.locator("#evidence").is_visible()
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf()[:4] == b"%PDF"
    photograph(page, "region-print")


def test_a_page_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    case, path = region("ball"), tmp_path / "region.html"
    assert case.to_html(path) == path.read_text(encoding="utf-8") == case.to_html()

    def cut_off(self, text, **options):
        self.write_bytes(text.encode()[:100])
        raise OSError("the disk is full")

    monkeypatch.setattr("pathlib.Path.write_text", cut_off)
    with pytest.raises(OSError, match="full"):
        region("tabular").to_html(path)
    assert path.read_bytes() == case.to_html().encode()
    assert [file.name for file in tmp_path.iterdir()] == ["region.html"]


def test_categories_that_json_cannot_hold_are_refused():
    case = dataclasses.replace(region("ball"), allowed={"x0": (object(),)})
    with pytest.raises(InvalidInputError, match="JSON"):
        case.to_html()
