"""What-if pages in a real browser: curves, marks, the model's answers, texts, pictures, access for all."""

import dataclasses
import re

import numpy as np
import pytest
import whatif_cases
from accessibility import LOOKS, PHONE, overflow, violations
from browser import Pages, photograph, values_of
from html_cases import TEXT, region
from pictures import explained, region_of
from whatif_cases import SIDE, SIZE

from lime_guarantee import Domain, GuaranteeRegion, Problem, SameChange, SameClass
from lime_guarantee.problem.surrogates import LinearSurrogate, Terms
from lime_guarantee.views.feature_row import instance_coordinates


@pytest.fixture(scope="module")
def mixed():
    return whatif_cases.mixed()


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """Pages that several tests look at; each starts from the instance."""
    made = Pages(browser, tmp_path_factory.mktemp("pages"))
    cases = {
        "mixed": whatif_cases.mixed,
        "wide": whatif_cases.wide,
        "image": whatif_cases.image,
        "text": lambda: region("text"),
        "categories": lambda: region("categories"),
        "unfaithful": lambda: region("unfaithful"),
        "from JSON": lambda: GuaranteeRegion.from_json(region("tabular").to_json()),
    }
    kept = {}

    def page_of(name):
        if name not in kept:
            kept[name] = made.open(cases[name]().to_html(), width=1_280)
        kept[name].locator("#reset").click()
        return kept[name]

    yield page_of
    made.close()


def points(page, selector):
    """The corners of a path."""
    drawn = page.locator(selector).get_attribute("d")
    return np.array(re.findall(r"[ML]([-\d.]+) ([-\d.]+)", drawn), dtype=float)


def straight(pixels, numbers):
    """Slope and offset of the line through (number, pixel); all lie on it, to what a pixel shows."""
    slope, offset = np.polyfit(numbers, pixels, 1)
    assert np.abs(slope * np.array(numbers) + offset - pixels).max() < 0.2
    return slope, offset


def set_value(page, name, value):
    number = page.get_by_label(f"{name}, exact value")
    number.fill(str(value))
    number.press("Enter")


# Curves


def test_curves_stand_where_the_numbers_are(opened):
    page = opened("mixed")
    features = page.evaluate("whatIf.features.map(f => [f.name, f.curve ?? null])")
    scales = []
    for i, (name, curve) in enumerate(features):
        if name not in ("income", "balance", "rooms"):
            continue
        model = points(page, f"#c{i} path.model")
        straight(model[:, 0], curve["at"])
        scales.append(straight(model[:, 1], curve["model"][0]))
        along = page.evaluate("i => explanationAlong(whatIf.features[i])", i)
        drawn = points(page, f"#c{i} path.explanation")
        straight(drawn[:, 0], along["at"])
        scales.append(straight(drawn[:, 1], np.ravel(along["says"])))
    assert len(scales) == 6
    np.testing.assert_allclose(scales, np.tile(scales[0], (6, 1)), atol=0.5)  # one scale for all
    assert scales[0][0] < 0


def test_the_explanation_along_a_feature_is_the_surrogate(opened, mixed):
    page, home = opened("mixed"), instance_coordinates(mixed)
    for i, position in enumerate(page.evaluate("whatIf.features.map(f => f.position)")):
        if mixed.domain.axes[position].constant:
            continue
        along = page.evaluate("i => explanationAlong(whatIf.features[i])", i)
        rows = np.tile(home, (len(along["at"]), 1))
        rows[:, position] = along["at"]
        said = mixed.problem.surrogate(mixed.domain.decode(rows))
        np.testing.assert_allclose(np.ravel(along["says"]), said, atol=1e-9)
        ends = (mixed.domain.axes[position].low, mixed.domain.axes[position].high)
        assert (along["at"][0], along["at"][-1]) == ends


def test_where_changes_are_compared_the_curves_start_at_the_model(pages):
    case = whatif_cases.mixed()
    model, surrogate = (float(part[0]) for part in case.problem.answers(case.instance[np.newaxis]))
    about = explained(case.explained.weights, model_at_instance=(model,), surrogate_at_instance=(surrogate,))
    problem = dataclasses.replace(case.problem, agreement=SameChange(0.5, model, surrogate))
    page = pages.open(dataclasses.replace(case, explained=about, problem=problem).to_html())
    assert abs(model - surrogate) > 0.1
    marks = page.locator("circle.now").evaluate_all("all => all.map(one => Number(one.getAttribute('cy')))")
    i = page.evaluate("whatIf.features.findIndex(f => f.name === 'income')")
    x, y = re.match(r"M([\d.]+) ([\d.]+)", page.locator(f"#c{i} path.instance").get_attribute("d")).groups()
    drawn = points(page, f"#c{i} path.explanation")
    assert np.interp(float(x), *drawn.T) == pytest.approx(float(y) + 5, abs=0.3)
    assert marks[0] == pytest.approx(float(y) + 5, abs=0.2)
    assert "from where the model is" in page.locator("#legend").inner_text()


def test_the_region_is_a_band_and_categories_are_cells(opened, mixed):
    page = opened("mixed")
    order = page.evaluate("whatIf.features.map(f => f.name)")
    at = order.index("income"), order.index("balance"), order.index("colour")
    band = page.locator(f"#c{at[1]} rect.held")
    x, width = (float(band.get_attribute(name)) for name in ("x", "width"))
    whole = float(page.locator(f"#c{at[0]} rect.held").get_attribute("width"))  # it is free
    assert width / whole == pytest.approx((0.75 + 0.5) / 2, abs=0.01)
    assert x > 34 + 0.2 * whole
    assert page.locator(f"#c{at[2]} rect.held").count() == 2  # blue and red of four
    assert page.locator("path.data").count() == 5
    assert page.locator("path.instance").count() == 5


def test_places_where_it_fails_are_crossed(opened):
    page = opened("mixed")
    for i, fails in enumerate(page.evaluate("whatIf.features.map(f => f.curve ? f.curve.fails.length : -1)")):
        if fails >= 0:
            drawn = page.locator(f"#c{i} path.fails").get_attribute("d")
            assert drawn.count("M") == fails


# Marks and words


def test_a_slider_moves_all_marks(opened, mixed):
    page = opened("mixed")
    heights = page.locator("circle.now").evaluate_all("all => all.map(one => Number(one.getAttribute('cy')))")
    assert len(set(heights)) == 1
    i = page.evaluate("whatIf.features.findIndex(f => f.name === 'income')")
    before = page.locator(f"#c{i} line.now").get_attribute("x1")
    page.locator(f"#f{i}").press("End")
    moved = page.locator("circle.now").evaluate_all("all => all.map(one => Number(one.getAttribute('cy')))")
    assert len(set(moved)) == 1
    assert moved[0] < heights[0] - 3  # the explanation rises with income
    assert float(page.locator(f"#c{i} line.now").get_attribute("x1")) > float(before) + 50
    page.locator(f"#c{i} svg").click(position={"x": 60, "y": 40})  # a click on the chart moves it, too
    assert page.evaluate("i => values[i]", i) < 4


def test_what_the_model_said_is_told_at_the_nearest_place(opened, mixed):
    page = opened("mixed")
    assert page.locator("#said .label").inner_text() == "The model said at the instance"
    np.testing.assert_allclose(values_of(page.locator("#said data")), mixed.explained.model_at_instance)
    set_value(page, "income", 10)
    assert page.locator("#said .label").inner_text().startswith("The model said at income = 10, the rest as")
    row = mixed.instance.copy()
    row[0] = 10.0
    said = mixed.problem.model(row[np.newaxis])
    np.testing.assert_allclose(values_of(page.locator("#said data")), said, rtol=1e-4)
    page.get_by_label("colour", exact=True).select_option("green (outside)")
    assert " alone; not asked with " in page.locator("#said").inner_text()


def test_the_nearest_place_is_nearest(opened, mixed):
    page, rng = opened("mixed"), np.random.default_rng(0)
    features = page.evaluate("whatIf.features")
    home = np.array([f["value"] for f in features])

    def apart(k, one, other):
        axis = mixed.domain.axes[features[k]["position"]]
        return 0.0 if axis.constant else float(axis.distance(np.array([one]), other)[0])

    asked = [home]
    for k, feature in enumerate(features):
        for place in feature.get("curve", {"at": []})["at"]:
            asked.append(np.where(np.arange(len(home)) == k, place, home))
    for _ in range(40):
        row = home.copy()
        for k in rng.choice(len(home), rng.integers(1, 4), replace=False):
            axis = mixed.domain.axes[features[k]["position"]]
            row[k] = axis.nearest(np.array([rng.uniform(axis.low, axis.high)]))[0]
        best = page.evaluate(
            "row => { values.splice(0, row.length, ...row); return nearestAsked(); }", row.tolist()
        )
        least = min(sum(apart(k, row[k], one[k]) for k in range(len(home))) for one in asked)
        assert best["distance"] == pytest.approx(least, abs=1e-6)


def test_curves_of_another_class_are_chosen(opened):
    page = opened("categories")
    chosen = page.evaluate("whatIf.chosen")
    assert page.locator("#output option").all_inner_texts() == ["low", "middle", "high"]
    assert page.locator("#output").input_value() == str(chosen)
    before = page.locator("#c0 path.model").get_attribute("d")
    page.locator("#output").select_option("low")
    assert page.locator("#c0 path.model").get_attribute("d") != before
    assert not re.search(r"output \d", page.locator("body").inner_text())
    page.locator("#output").select_option(str(chosen))
    assert page.locator("#c0 path.model").get_attribute("d") == before


def test_weights_are_bars_that_lead_to_their_features(opened):
    page = opened("mixed")
    weights = page.evaluate("whatIf.features.filter(f => f.size).map(f => f.size)")
    widths = page.locator(".weigh > span:first-child").evaluate_all("all => all.map(one => one.offsetWidth)")
    assert len(widths) == len(weights) == 4
    shares = np.abs(weights) / np.max(np.abs(weights))
    np.testing.assert_allclose(np.array(widths) / max(widths), shares, atol=0.03)
    page.locator("#weights").get_by_role("button", name="income").click()
    assert page.evaluate("document.activeElement.id") == page.get_by_label(
        "income", exact=True
    ).get_attribute("id")


def test_number_boxes_step_with_the_range(pages):
    domain = Domain.from_bounds(
        [0, 1_000, 0], [0.004, 90_000, 9], names=["small", "large", "whole"], integer=[2]
    )
    case = region_of(domain, [0.002, 3_000.0, 4.0], domain.lower, domain.upper)
    page = pages.open(case.to_html())
    steps = {"small": 0.00001, "large": 1_000, "whole": 1}
    for name, step in steps.items():
        number = page.get_by_label(f"{name}, exact value")
        assert float(number.get_attribute("step")) == pytest.approx(step)
        before = float(number.input_value())
        number.press("ArrowUp")
        assert 0 < float(number.input_value()) - before <= step * 1.001


# Many features


def test_of_many_features_few_are_built(opened):
    page = opened("wide")
    assert page.locator(".slider").count() == 24
    assert page.evaluate("document.documentElement.scrollHeight") < 5_000
    assert page.locator("#shown").inner_text() == "24 of 300 features; 75 limit the region"
    page.get_by_role("button", name="Show 48 more").click()
    assert page.locator(".slider").count() == 72
    page.get_by_label("Find").fill("break 017")
    assert page.locator(".slider .name").all_inner_texts() == [
        "a_very_long_name_of_a_feature_that_nobody_can_break_017"
    ]
    page.get_by_label("Find").fill("")
    page.get_by_label("only what limits the region").check()
    assert page.locator("#shown").inner_text() == "24 of 75 found, of 300 features; 75 limit the region"
    page.get_by_label("only what limits the region").uncheck()


def test_a_feature_that_is_not_shown_is_led_to(opened):
    page = opened("wide")
    i = page.evaluate("whatIf.features.findIndex(f => f.name.endsWith('_200'))")
    assert i > 24
    page.evaluate("i => change(i, 0.9)", i)
    assert page.locator("#left li").count() == 1
    page.locator("#left button").click()
    assert page.evaluate("document.activeElement.id") == f"f{i}"
    assert page.locator(".slider.out").count() == 1


# Texts and pictures


def test_the_text_itself_is_shown_and_struck(opened):
    page, case = opened("text"), region("text")
    text = page.locator("#whole .text")
    shown = text.evaluate(
        "one => { const copy = one.cloneNode(true); for (const sign of copy.querySelectorAll('sup'))"
        " sign.remove(); return copy.textContent; }"
    )
    assert shown == TEXT
    word = next(name for name in case.names if TEXT.split().count(name) > 1)
    boxes = text.locator("label").filter(has_text=re.compile(rf"^{word}[+\u2212]?$"))
    assert boxes.count() > 1
    boxes.first.get_by_role("checkbox").uncheck()
    assert text.locator(".word.gone").count() == boxes.count()  # everywhere
    assert f"without {word} alone" in page.locator("#said").inner_text()
    row = np.array([[float(name != word) for name in case.names]])
    np.testing.assert_allclose(values_of(page.locator("#said data")), case.problem.model(row), rtol=1e-4)
    assert text.locator(".word.fixed").count() == sum(
        name not in case.removable
        for name in page.evaluate("whatIf.text.filter(p => p[1] >= 0).map(p => whatIf.features[p[1]].name)")
    )


INSIDE = """([part, side, size]) => {
  const { canvas, zoom } = wholes[0];
  const own = { willReadFrequently: true };
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", own);
  copy.drawImage(canvas, 0, 0);
  const [x, y, inner] = [(part % side) * size + 1, Math.floor(part / side) * size + 1, size - 2];
  const { data } = copy.getImageData(x * zoom, y * zoom, inner * zoom, inner * zoom);
  return data.reduce((sum, one) => sum + one, 0);
}"""
"""The sum of all colours in a square superpixel, without its edges."""


def test_the_picture_itself_is_shown_and_its_superpixels_go(opened):
    page, case = opened("image"), whatif_cases.image()
    page.wait_for_function("wholes[0].ready")
    build = case.problem.model.predict_fn.build
    assert page.evaluate("Array.from(wholes[0].pixels)") == build.image.ravel().tolist()
    assert page.evaluate("Array.from(wholes[0].parts)") == build.segments.ravel().tolist()
    assert 0 < len(case.removable) < SIDE**2
    goes = int(case.removable[0].split()[1])
    stays = next(part for part in range(SIDE**2) if f"superpixel {part}" not in case.removable)
    before = [page.evaluate(INSIDE, [part, SIDE, SIZE // SIDE]) for part in range(SIDE**2)]
    canvas = page.locator("#whole canvas")
    size = canvas.bounding_box()["width"] / SIDE
    canvas.click(position={"x": (goes % SIDE + 0.5) * size, "y": (goes // SIDE + 0.5) * size})
    page.mouse.move(0, 0)
    assert page.locator("#verdict").inner_text() == "Inside the guarantee"
    after = [page.evaluate(INSIDE, [part, SIDE, SIZE // SIDE]) for part in range(SIDE**2)]
    assert [part for part in range(SIDE**2) if after[part] != before[part]] == [goes]
    assert after[goes] < 0.75 * before[goes]  # LIME hides with black here
    page.get_by_text("superpixels as a list").click()
    page.locator(f"#f{stays}").uncheck()
    assert page.locator("#left li").all_inner_texts() == [f"superpixel {stays}: must stay"]
    assert "2 of 9 superpixels hidden" in canvas.get_attribute("aria-label")
    page.get_by_label("colour by weight").check()
    photograph(page, "region-image")


# Access


def test_axe_finds_nothing_on_any_page_in_any_look(opened):
    for name in ("mixed", "wide", "image", "text", "categories", "unfaithful", "from JSON"):
        page = opened(name)
        page.evaluate("change(0, whatIf.features[0].low)")  # mostly outside: more is shown
        for scheme, width in LOOKS:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            assert violations(page) == [], (name, scheme, width)
            assert overflow(page) == 0, (name, scheme, width)
        page.set_viewport_size({"width": 1_280, "height": 900})
        page.emulate_media(color_scheme="light")


def test_names_keep_to_themselves(pages):
    names = ["\u202egnorw", "\u05e9\u05dc\u05d5\u05dd", "x" * 300]
    domain = Domain.from_bounds(np.zeros(3), np.ones(3), names=names)
    case = region_of(domain, np.full(3, 0.5), np.full(3, 0.4), np.ones(3))
    page = pages.open(case.to_html(), width=PHONE)
    page.evaluate("values.forEach((_, i) => change(i, 0))")
    assert overflow(page) == 0
    assert page.locator(".slider .name > bdi").all_inner_texts() == names
    assert page.locator("#left bdi").all_inner_texts() == names


def test_scores_of_very_many_classes_scroll_and_take_the_focus(pages):
    domain = Domain.from_bounds([0], [1])
    told = {"label_name": "class 7", "agreement": "class", "model_at_instance": (1 / 40,) * 40}
    about = explained([1.0], surrogate_at_instance=(1 / 40,) * 40, **told)
    terms = Terms([0], np.linspace(-1, 1, 40)[np.newaxis], [0.0], [1.0])
    line = LinearSurrogate(np.full(40, 1 / 40), Terms([], np.empty((0, 40)), [], []), terms)
    problem = Problem(line, line, SameClass(0.1), np.array([0.0]), domain)
    page = pages.open(
        region_of(domain, [0.0], [0], [1], explained=about, problem=problem).to_html(), width=PHONE
    )
    assert page.locator("#prediction data").count() == 40
    assert page.locator("#status").bounding_box()["height"] < 400
    page.locator("#says").focus()
    assert page.evaluate("document.activeElement.id") == "says"
    assert violations(page) == []


def test_the_panel_on_top_hides_nothing_that_has_the_focus(pages, mixed):
    page = pages.open(mixed.to_html(), width=PHONE)
    covered, seen = [], set()
    for key in ["Tab"] * 30 + ["Shift+Tab"] * 30:
        page.keyboard.press(key)
        found = page.evaluate("""() => {
            const one = document.activeElement, panel = document.getElementById("status");
            if (one === document.body || panel.contains(one)) return null;
            const box = one.getBoundingClientRect();
            const pinned = panel.getBoundingClientRect();
            return { id: one.id || one.textContent, top: box.top - (pinned.top <= 0 ? pinned.bottom : 0),
                     bottom: innerHeight - box.bottom };
        }""")
        if found is not None:
            seen.add(found["id"])
            if min(found["top"], found["bottom"]) < -1:
                covered.append(found)
    assert len(seen) > 8
    assert covered == []
