"""The page of an audit, in a real browser."""

import dataclasses

import numpy as np
import pytest
from browser import LOWEST_CONTRAST, photograph
from html_cases import HOSTILE, SCRIPT, region, report

from lime_guarantee import AuditReport
from lime_guarantee.auditing import AuditRecord
from lime_guarantee.region.report import lower_text, reach_text

BIG = 1_000
FEATURES = 30


@pytest.fixture(scope="module")
def audited():
    return report()


@pytest.fixture(scope="module")
def big_page(audited):
    return big_report(audited).to_html()


@pytest.fixture(scope="module")
def text_report():
    """Regions in a space of words have no reach to draw, but chips."""
    return AuditReport((AuditRecord(7, "trusted", "Words.", region("text")),), {})


def indices(page):
    """The numbers of the explanations that are shown, from top to bottom."""
    return [int(text[1:]) for text in page.locator("tr.record:visible button").all_inner_texts()]


def head(page, title):
    return page.get_by_role("columnheader", name=title, exact=True)


def sort(page, title):
    head(page, title).get_by_role("button").click()


def test_the_worst_are_shown_first(pages, audited):
    page = pages.open(audited.to_html())
    flagged = [record.index for record in audited.flagged]
    assert len({record.verdict for record in audited}) >= 4
    assert indices(page)[: len(flagged)] == flagged
    assert f"{audited.counts['trusted']} of {len(audited)} explanations are trusted." in page.inner_text(
        "header"
    )
    photograph(page, "audit")


def test_columns_sort_both_ways_by_mouse_and_by_keys(pages, audited):
    page = pages.open(audited.to_html())
    sort(page, "#")
    assert indices(page) == list(range(len(audited)))
    assert head(page, "#").get_attribute("aria-sort") == "ascending"
    assert head(page, "verdict").get_attribute("aria-sort") is None
    head(page, "#").get_by_role("button").press("Enter")
    assert indices(page) == list(range(len(audited)))[::-1]
    assert head(page, "#").get_attribute("aria-sort") == "descending"
    with_region = [record for record in audited if record.region]
    for title, key in [
        ("share", lambda record: record.region.share),
        ("lowest reach", lambda record: record.region.reach.min()),
    ]:
        expected = [record.index for record in sorted(with_region, key=key)]
        sort(page, title)
        assert indices(page)[: len(expected)] == expected
        sort(page, title)
        assert indices(page)[: len(expected)] == expected[::-1]  # what has no number stays last


def test_verdicts_and_words_filter(pages, audited):
    page = pages.open(audited.to_html())
    page.get_by_label("trusted").uncheck()
    rest = [record.index for record in audited if record.verdict != "trusted"]
    assert sorted(indices(page)) == sorted(rest)
    page.get_by_label("trusted").check()
    page.get_by_label("Search").fill("the database is DOWN")
    assert [audited[i].verdict for i in indices(page)] == ["error"]
    assert page.locator("#shown").inner_text() == f"1 of {len(audited)} explanations"
    page.get_by_label("Search").fill("no such thing")
    assert indices(page) == []
    page.get_by_label("Search").fill(SCRIPT)
    assert len(indices(page)) == len([record for record in audited if record.region is not None])


def opened(page, index):
    button = page.get_by_role("button", name=f"#{index}", exact=True)
    button.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    return page.locator(f"tr.record:has(button:text-is('#{index}')) + tr.detail")


def test_an_explanation_opens_with_its_region(pages, audited):
    record = next(record for record in audited if record.region and record.verdict == "trusted")
    page = pages.open(audited.to_html())
    assert page.locator("tr.detail").count() == 0
    detail = opened(page, record.index)
    rows = detail.locator("tbody tr")
    assert rows.count() == len(HOSTILE)
    shown = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows.all()}
    table = str(record.region).split("\n\n")[1]
    for i, name in enumerate(HOSTILE):
        instance, weight, bar, extent, reach = shown[name]
        assert bar == ""
        assert reach == reach_text(float(record.region.reach[i]))
        assert f"{record.region.instance[i]:.4g}" == instance
        assert extent in table
        assert weight in table
    assert page.evaluate("location.hash") == f"#{record.index}"
    bars = detail.locator(".bar > span").evaluate_all(
        "all => all.map(one => [one.style.left, one.style.width])"
    )
    order = [HOSTILE.index(row.locator("th").inner_text()) for row in rows.all()]
    domain, region = record.region.domain, record.region
    for i, (left, width) in zip(order, bars, strict=True):
        whole = domain.upper[i] - domain.lower[i]
        start = 100 * (region.lower[i] - domain.lower[i]) / whole
        assert float(left[:-1]) == pytest.approx(start, abs=0.02)
        assert float(width[:-1]) == pytest.approx(100 * region.reach[i], abs=0.02)
    page.locator(f"tr.record:has(button:text-is('#{record.index}')) td").nth(3).click()
    assert not detail.is_visible()


def test_evidence_is_told_with_its_rows(pages, audited):
    caught, finding = next((r, f) for r in audited for f in r.findings if f.incomplete)
    page = pages.open(audited.to_html())
    told = opened(page, caught.index).inner_text()
    assert f"{finding.feature}: it matters beyond the region" in told
    assert f"Honesty {caught.honesty:.2f}" in told
    assert f"{finding.failures} of {finding.draws:,} points drawn were not faithful" in told
    assert f"at least {lower_text(100 * finding.failing_lower_bound, 3)} % of what was drawn there" in told
    for place in filter(None, (finding.break_below, finding.break_above)):
        assert f"at {place:.4g}" in told
    value = finding.counterexamples[0][HOSTILE.index(finding.feature)]
    assert f"{finding.feature} = {value:.4g}" in told
    assert f"{caught.data_check.real_failures} of {caught.data_check.real_rows} real rows" in told
    photograph(page, "audit-dishonest")


def test_an_error_opens_and_says_that_there_is_no_region(pages, audited):
    failed = next(record for record in audited if record.verdict == "error")
    page = pages.open(audited.to_html())
    assert "There is no region" in opened(page, failed.index).inner_text()


def test_an_address_opens_its_explanation(pages, audited):
    page = pages.open(audited.to_html(), "#9")
    assert page.locator("tr.detail").count() == 1
    assert page.locator("tr.open button").inner_text() == "#9"
    page.get_by_label("Search").fill("no such thing")
    page.evaluate("location.hash = '#2'")
    page.wait_for_function("document.querySelectorAll('tr.open').length === 2")
    assert page.locator("tr.detail:visible").count() == 2
    assert pages.open(audited.to_html(), "#nothing").locator("tr.detail").count() == 0


def test_words_are_shown_as_such(pages, text_report):
    page = pages.open(text_report.to_html(), "#7")
    region = text_report[0].region
    lines = page.locator(".detail p:has(.chip)").all_inner_texts()
    assert [line.split(":")[0] for line in lines] == ["May go", "Must stay"]
    assert page.locator(".chip.allowed").count() == len(region.removable)


def test_names_are_text_and_nothing_else(pages, audited):
    page = pages.open(audited.to_html())
    for record in audited:
        opened(page, record.index)
    told = page.locator("body").inner_text()
    assert all(name.replace("\u2028", "") in told.replace("\u2028", "") for name in HOSTILE)
    assert page.locator("body script:not([type])").count() == 1
    assert page.locator("img, td b").count() == 0


@pytest.mark.parametrize("width", [1_200, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_in_light_and_dark_wide_and_narrow(pages, audited, scheme, width):
    page = pages.open(audited.to_html(), scheme=scheme, width=width)
    for record in audited.flagged:
        opened(page, record.index)
    worst = page.evaluate(LOWEST_CONTRAST)
    assert worst["ratio"] >= 4.5, worst
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("tr.record td:nth-child(4)").first.bounding_box()["width"] > width / 3
    photograph(page, f"audit-{scheme}-{width}")


def test_on_paper_the_table_is_all_there_is(pages, audited):
    page = pages.open(audited.to_html(), scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("#filters").is_visible()
    assert sorted(indices(page)) == list(range(len(audited)))
    assert head(page, "reason").is_visible()
    assert not page.locator("#more").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    photograph(page, "audit-print")


def test_of_a_thousand_explanations_only_what_is_looked_at_is_built(pages, big_page):
    page = pages.open(big_page)
    assert page.locator("#shown").inner_text() == "1,000 explanations"
    assert page.locator("tr.record").count() == 100
    assert page.locator("tr.detail").count() == 0
    page.get_by_label("Search").fill("#50")
    assert sorted(indices(page)) == [50, *range(500, 510)]
    opened(page, 500)
    assert page.locator("tr.detail tbody tr").count() == page.locator(".bar").count() == FEATURES
    sort(page, "#")
    assert indices(page)[:2] == [50, 500]
    assert page.locator("tr.record:nth-child(2) + tr.detail").is_visible()  # it moves with its row
    page.get_by_label("Search").fill("")
    page.get_by_role("button", name="Show all 1,000").click()
    assert indices(page) == list(range(BIG))
    assert page.locator("tr.detail").count() == 1


def test_an_address_finds_its_explanation_among_a_thousand(pages, big_page):
    page = pages.open(big_page, "#987")
    assert page.locator("tr.open button").inner_text() == "#987"
    assert page.locator("tr.open").evaluate("row => row.getBoundingClientRect().top") < 900


def big_report(audited):
    """A thousand records, each of thirty features: real ones, side by side and again and again."""
    good = [record for record in audited if record.region]
    return AuditReport(
        tuple(dataclasses.replace(widened(good[i % len(good)]), index=i) for i in range(BIG)), audited.about
    )


def widened(record):
    region, times = record.region, FEATURES // len(HOSTILE)
    axes = tuple(
        dataclasses.replace(axis, name=f"{axis.name} {k}")
        for k in range(times)
        for axis in region.domain.axes
    )
    return dataclasses.replace(
        record,
        findings=(),
        data_check=None if record.data_check is None else dataclasses.replace(record.data_check, rows=()),
        region=dataclasses.replace(
            region,
            domain=dataclasses.replace(region.domain, axes=axes),
            instance=np.tile(region.instance, times),
            lower=np.tile(region.lower, times),
            upper=np.tile(region.upper, times),
            reach=np.tile(region.reach, times),
            explained=dataclasses.replace(region.explained, weights=region.explained.weights * times),
        ),
    )
