"""What a notebook shows of regions and reports, as JupyterLab leaves it of an untrusted notebook."""

import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
from browser import LOWEST_CONTRAST, photograph
from html_cases import CERTIFIED, HOSTILE, SCRIPT, region, report

from lime_guarantee import AuditReport, Domain, find_region
from lime_guarantee.auditing import AuditRecord
from lime_guarantee.region.report import reach_text

STRIPPED = {"script", "style", "svg", "iframe", "link", "meta", "object"}
KEPT_ATTRIBUTES = {"style", "title", "colspan", "rowspan", "align", "width", "height"}
KEPT_STYLES = re.compile(
    "background-color|border|border-bottom|border-collapse|border-radius|border-right|display|font-size|"
    "font-weight|height|line-height|margin|opacity|overflow|padding|text-align|text-decoration|"
    "vertical-align|white-space|width"
)
KEPT_VALUE = re.compile(  # no colour but with a 0 before the point, and none that is called by the text's
    r"((rgba\(\d+, \d+, \d+, 0\.\d+\)|[\d.]+(px|%)?|transparent|solid|dashed|bold|normal|left|right|middle|"
    r"hidden|collapse|nowrap|block|inline-block)\s*)+"
)


class Sanitizer(HTMLParser):
    """Takes away what JupyterLab takes away: elements, attributes, and styles that it does not know."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.kept, self.lost, self.inside = [], [], 0

    def handle_starttag(self, tag, attributes):
        if tag in STRIPPED:
            self.inside += 1
            self.lost.append(tag)
        shown = "".join(self.attribute(name, value) for name, value in attributes)
        if not self.inside:
            self.kept.append(f"<{tag}{shown}>")

    def handle_endtag(self, tag):
        if not self.inside:
            self.kept.append(f"</{tag}>")
        self.inside -= tag in STRIPPED

    def handle_data(self, data):
        if not self.inside:
            self.kept.append(escape(data))

    def attribute(self, name, value):
        if name not in KEPT_ATTRIBUTES:
            self.lost.append(name)
            return ""
        if name == "style":
            rules = [rule.strip().split(": ") for rule in value.split(";") if rule.strip()]
            kept = [(key, v) for key, v in rules if KEPT_STYLES.fullmatch(key) and KEPT_VALUE.fullmatch(v)]
            self.lost += [f"{key}: {v}" for key, v in rules if (key, v) not in kept]
            value = "; ".join(f"{key}: {v}" for key, v in kept)
        return f' {name}="{escape(value)}"'


def sanitized(view):
    sanitizer = Sanitizer()
    sanitizer.feed(view)
    assert sanitizer.lost == []  # so the view is all there
    return "".join(sanitizer.kept)


def notebook(*views):
    """A page like a notebook's: its own colours, light or dark."""
    return (
        '<!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><style>'
        "body { font: 13px sans-serif; color: #222; background: #fff } table { font-size: 12px }"
        "@media (prefers-color-scheme: dark) { body { color: #e0e0e0; background: #111 } }</style>"
        + "".join(f"<section>{sanitized(view)}</section>" for view in views)
    )


def told(page):
    return page.locator("body").inner_text()


@pytest.mark.parametrize("name", [*CERTIFIED, "unfaithful"])
def test_a_region_is_told_in_full(pages, name):
    case = region(name)
    page = pages.open(notebook(case._repr_html_()))
    parts = str(case).split("\n\n")
    assert all(line in told(page) for line in (parts[0], *parts[-1].splitlines()))
    if not case:
        assert page.locator("td").count() == 0
        return
    if case.explained is not None and case.explained.space == "presence":
        rows = [row.locator("td").all() for row in page.locator("tr").all()]
        assert [cells[0].inner_text() for cells in rows] == ["may go", "must stay"]
        goes = rows[0][1].locator("> span").all_inner_texts()
        assert [chip.split(" ")[0] for chip in goes] == list(case.removable)
        assert all(
            chip.split(" ")[0] not in case.removable
            for chip in rows[1][1].locator("> span").all_inner_texts()
        )
        return
    rows = {
        cells[0]: cells[1:]
        for cells in (row.locator("td").all_inner_texts() for row in page.locator("tbody tr").all())
    }
    assert list(rows) == sorted(case.names, key=lambda name: -abs(weight(case, name)))
    for i, axis in enumerate(case.domain.axes):
        cells = rows[axis.name]
        assert cells[-1] == reach_text(float(case.reach[i]))
        if axis.kind == "categorical":
            assert all(axis.label(value) in cells[-2] for value in axis.categories)
        else:
            assert cells[-2] in parts[1]


def weight(case, name):
    return 0 if case.explained is None else case.explained.weights[case.names.index(name)]


def test_bars_show_domain_region_and_instance(pages):
    cases = [region("tabular"), at_the_edge()]
    page = pages.open(notebook(*(case._repr_html_() for case in cases)))
    boxes = """row => [row.querySelector("div"), ...row.querySelectorAll("div > span")].map(one => {
        const box = one.getBoundingClientRect();
        return [box.left, box.right];
    })"""
    for case, section in zip(cases, page.locator("section").all(), strict=True):
        for row in section.locator("tbody tr").all():
            i = case.names.index(row.locator("td").first.inner_text())
            (left, right), *spans = row.evaluate(boxes)
            low, high = case.domain.lower[i], case.domain.upper[i]
            ends = np.array([case.lower[i], case.instance[i], case.upper[i]])
            start, tick, end = left + (ends - low) / (high - low) * (right - left - 2)
            before = spans[-2] if end > tick else spans[-1]
            assert before == pytest.approx([start, tick + 2], abs=0.5)  # the tick is its border
            assert right >= spans[-1][1] - 0.5 == pytest.approx(end + 1.5, abs=0.5)


def at_the_edge():
    domain = Domain.from_bounds([0, 0], [1, 1])
    return find_region(lambda X: X[:, 0] > 0.4, [1.0, 0.0], domain, purity=0.9, random_state=0)


def test_categories_that_are_not_allowed_look_different(pages):
    case = region("shap")
    page = pages.open(notebook(case._repr_html_()))
    borders = page.locator("td > span").evaluate_all(
        "chips => chips.map(chip => [chip.innerText.trim(), getComputedStyle(chip).borderStyle])"
    )
    allowed = set(case.allowed["colour"])
    colours = set(case.domain.axes[case.names.index("colour")].categories)
    assert allowed
    assert colours - allowed
    assert {name for name, border in borders if border == "none"} == allowed
    assert {name for name, border in borders if border == "dashed"} == colours - allowed


def test_a_report_is_counted_and_the_worst_are_named(pages):
    case = report()
    page = pages.open(notebook(case._repr_html_()))
    for verdict, count in case.counts.items():
        assert (f"{verdict}\t{count}" in told(page)) == (count > 0)
    for record in case.flagged:
        assert f"#{record.index}" in told(page)
        assert " ".join(record.reason.split()) in " ".join(told(page).split())
    photograph(page, "notebook-report")


def test_a_record_is_shown_with_its_region(pages):
    page = pages.open(notebook(report()[0]._repr_html_(), report()[4]._repr_html_()))
    assert f"#0 {report()[0].verdict}" in told(page)
    assert "the database is down" in told(page)
    assert page.locator("tbody tr").count() == len(HOSTILE)


def test_long_ones_are_cut_and_say_so(pages):
    domain = Domain.from_bounds([0] * 70, [1] * 70)
    wide = find_region(lambda X: np.ones(len(X), dtype=bool), [0.5] * 70, domain, random_state=0)
    many = AuditReport(tuple(AuditRecord(i, "error", f"Reason {i}.") for i in range(25)), {})
    page = pages.open(notebook(wide._repr_html_(), many._repr_html_()))
    assert page.locator("section").first.locator("tbody tr").count() == 60
    assert "and 10 more" in page.locator("section").first.inner_text()
    assert "Reason 19." in told(page)
    assert "Reason 20." not in told(page)
    assert "and 5 more" in page.locator("section").last.inner_text()


def test_names_are_text_and_nothing_else(pages):
    views = [region("tabular")._repr_html_(), report()._repr_html_(), report()[0]._repr_html_()]
    trusted = "".join(f"<section>{view}</section>" for view in views)  # as a trusted notebook has it
    for page in (pages.open(notebook(*views)), pages.open(f"<!DOCTYPE html><meta charset='utf-8'>{trusted}")):
        assert all(" ".join(name.split()) in " ".join(told(page).split()) for name in HOSTILE)
        assert SCRIPT in told(page)
        assert page.locator("section script, img, b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark(pages, scheme):
    views = [region(name)._repr_html_() for name in ("tabular", "text", "shap", "unfaithful")]
    page = pages.open(notebook(*views, report()._repr_html_()), scheme=scheme)
    worst = page.evaluate(LOWEST_CONTRAST)
    assert worst["ratio"] >= 4.5, worst
    photograph(page, f"notebook-{scheme}")
