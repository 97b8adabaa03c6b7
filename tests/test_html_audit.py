"""The page of an audit, in a real browser."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from accessibility import LOOKS, overflow, violations
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


def how_bad(record):
    """The worst verdict first; then by what is missed, honesty, fidelity, coverage, and their order."""
    missed = None if record.missed_by is None else -record.missed_by
    figures = (missed, record.honesty, record.fidelity, record.coverage if record.region else None)
    return (-record.severity, *(np.inf if f is None else float(f"{f:.5g}") for f in figures), record.index)


def test_the_worst_are_shown_first(pages, audited):
    page = pages.open(audited.to_html())
    assert len({record.verdict for record in audited}) >= 4
    assert indices(page) == [record.index for record in sorted(audited, key=how_bad)]
    assert f"{audited.counts['trusted']} of {len(audited)} explanations are trusted." in page.inner_text(
        "header"
    )
    photograph(page, "audit")


def test_the_more_an_explanation_misses_its_own_row_the_higher_it_stands(pages):
    """Of two that are unfaithful; neither their order nor their honesty says so."""
    missing = region("unfaithful")
    values = missing.explained.surrogate_at_instance
    further = dataclasses.replace(
        missing,
        explained=dataclasses.replace(
            missing.explained, surrogate_at_instance=tuple(value + 5 for value in values)
        ),
    )
    records = [AuditRecord(i, "unfaithful", "Missed.", one) for i, one in enumerate([missing, further])]
    assert records[0].missed_by < records[1].missed_by
    assert AuditRecord(2, "trusted", "Fine.", missing).missed_by is None
    assert indices(pages.open(AuditReport(tuple(records), {}).to_html())) == [1, 0]


def test_a_long_reason_is_cut_until_it_is_opened(pages):
    reason = "A reason of many words, " * 40
    page = pages.open(AuditReport((AuditRecord(0, "trusted", reason, region("tabular")),), {}).to_html())
    told = page.locator("tr.record .why > bdi")
    closed = told.bounding_box()["height"]
    page.locator("tr.record button").click()
    assert closed < 90 < 2 * closed < told.bounding_box()["height"]
    assert told.inner_text().strip() == reason.strip()


def test_columns_sort_both_ways_by_mouse_and_by_keys(pages, audited):
    page = pages.open(audited.to_html())
    sort(page, "#")
    assert indices(page) == list(range(len(audited)))
    assert head(page, "#").get_attribute("aria-sort") == "ascending"
    assert head(page, "verdict").get_attribute("aria-sort") is None
    head(page, "#").get_by_role("button").press("Enter")
    assert indices(page) == list(range(len(audited)))[::-1]
    assert head(page, "#").get_attribute("aria-sort") == "descending"
    for title, key in [
        ("honesty", lambda record: record.honesty),
        ("lowest reach", lambda record: record.region.reach.min() if record.region else None),
    ]:
        known = [record for record in audited if key(record) is not None]
        expected = sorted(map(key, known))
        assert 1 < len(set(expected)) <= len(expected) < len(audited)
        sort(page, title)
        assert [key(audited[i]) for i in indices(page)[: len(expected)]] == expected
        sort(page, title)
        # What has no number stays last.
        assert [key(audited[i]) for i in indices(page)[: len(expected)]] == expected[::-1]


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
    page.get_by_role("button", name="Show all").click()
    assert len(indices(page)) == len(audited)


def shortest(record):
    return record.region.names[record.region.reach.argmin()]


def spoken_of(audited, name):
    """The explanations in which a feature is the shortest, or left out though it matters, or relied on."""
    found = {r.index for r in audited if r.region and shortest(r) == name}
    found |= {r.index for r in audited for f in r.findings if f.incomplete and f.feature == name}
    return found | {r.index for r in audited if f"'{name}'" in r.reason}


def test_a_search_finds_what_is_meant(pages, audited):
    page = pages.open(audited.to_html())

    def found(query):
        page.get_by_label("Search").fill(query)
        return sorted(indices(page))

    assert found("#1") == [1]  # and neither 10 nor 11
    assert found("10") == [10]
    assert found("#99") == []
    row = next(record for record in audited if record.region)
    value = f"{row.region.instance[0]:.4g}"
    same = [r.index for r in audited if r.region is not None and f"{r.region.instance[0]:.4g}" == value]
    assert found(value) == same
    name = "mean compactness"
    assert found(f'"{name}"') == sorted(spoken_of(audited, name))
    both = [r.index for r in audited if r.verdict == "flat" and "faithful" in r.reason]
    assert both
    assert found("faithful flat") == both


def opened(page, index):
    button = page.get_by_role("button", name=f"#{index}", exact=True)
    button.press("Enter")
    assert button.get_attribute("aria-expanded") == "true"
    detail = page.locator(f"tr.record:has(button:text-is('#{index}')) + tr.detail")
    detail.and_(page.locator("[data-ready]")).wait_for(state="attached")
    return detail


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
        assert float(left[:-1]) == pytest.approx(start, abs=0.06)
        assert float(width[:-1]) == pytest.approx(100 * region.reach[i], abs=0.11)
    page.locator(f"tr.record:has(button:text-is('#{record.index}')) td").nth(2).click()
    assert not detail.is_visible()


def opened_items(page, index):
    return page.locator(f"tr.record:has(button:text-is('#{index}')) + tr.detail ol").first.locator("li")


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
    for row, (model, surrogate) in zip(finding.counterexamples, finding.answers, strict=True):
        differs = [i for i, value in enumerate(row) if value != caught.region.instance[i]]
        assert differs
        assert all(f"{HOSTILE[i]}: " in told and f"\u2192 {row[i]:.4g}" in told for i in differs)
        assert f"the model says {model[0]:.4g} for" in told
        assert f"the explanation {surrogate[0]:.4g}" in told
    first = opened_items(page, caught.index).first.locator(".change")
    assert first.count() == sum(finding.counterexamples[0] != caught.region.instance)
    assert f"{caught.data_check.real_failures} of {caught.data_check.real_rows} real rows" in told
    photograph(page, "audit-dishonest")


def test_an_error_opens_and_says_that_there_is_no_region(pages, audited):
    failed = next(record for record in audited if record.verdict == "error")
    page = pages.open(audited.to_html())
    assert "There is no region" in opened(page, failed.index).inner_text()


def test_an_address_opens_its_explanation(pages, audited):
    page = pages.open(audited.to_html(), "#9")
    page.locator("tr.detail[data-ready]").wait_for(state="attached")
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
    page.locator("tr.detail[data-ready]").wait_for(state="attached")
    page.get_by_label("Search").fill(region.names[3])
    assert indices(page) == [7]
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
    assert page.locator("tr.record td:nth-child(3)").first.bounding_box()["width"] > width / 3
    photograph(page, f"audit-{scheme}-{width}")


def test_on_paper_the_table_is_all_there_is(pages, audited):
    page = pages.open(audited.to_html(), scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("#filters").is_visible()
    assert sorted(indices(page)) == list(range(len(audited)))
    assert head(page, "why").is_visible()
    assert not page.locator("#pages").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    photograph(page, "audit-print")


def test_of_a_thousand_explanations_only_a_page_is_built(pages, big_page):
    page = pages.open(big_page)
    assert page.locator("#shown").inner_text() == "1,000 explanations"
    assert page.locator("tr.record").count() == 50
    assert page.locator("tr.detail").count() == 0
    sort(page, "#")
    page.get_by_role("button", name="Next").click()
    assert indices(page) == list(range(50, 100))
    assert page.locator("#pages span").inner_text() == "51 to 100 of 1,000"
    page.get_by_role("button", name="Last").click()
    assert indices(page) == list(range(950, 1_000))
    assert page.get_by_role("button", name="Next").is_disabled()
    page.get_by_label("Search").fill("#500")
    opened(page, 500)
    assert page.locator("tr.detail tbody tr").count() == page.locator(".bar").count() == FEATURES
    page.get_by_label("Search").fill("")
    page.evaluate("location.hash = '#501'")
    page.locator("tr.detail[data-ready]").nth(1).wait_for(state="attached")
    assert page.locator(
        "tr.record:has(button:text-is('#500')) + tr.detail"
    ).is_visible()  # it goes with its row
    assert page.locator("tr.record").count() == 50


def test_an_address_finds_its_explanation_among_a_thousand(pages, big_page):
    page = pages.open(big_page, "#987")
    page.locator("tr.detail[data-ready]").wait_for(state="attached")
    assert page.locator("tr.open button").inner_text() == "#987"
    assert page.locator("tr.record").count() == 50
    page.wait_for_function("document.querySelector('tr.open').getBoundingClientRect().top < 900")


def test_on_paper_more_rows_are_printed_than_a_page_has(pages, big_page):
    page = pages.open(big_page)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("tr.record").count() == 500
    assert page.locator("#not-printed").inner_text().startswith("500 more are not printed")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("tr.record").count() == 50


# ------------------------------------------------------------------------------------ the front


def test_every_verdict_is_counted_and_defined(pages, audited):
    page = pages.open(audited.to_html())
    items = page.locator("#verdicts li")
    assert items.count() == len(audited.counts)
    most = max(audited.counts.values())
    for item, (verdict, count) in zip(items.all(), audited.counts.items(), strict=True):
        assert item.locator("b").inner_text() == verdict
        assert item.locator(".count").inner_text() == str(count)
        assert item.locator(".meaning").inner_text() == audited.definitions[verdict]
        widths = item.locator("rect").evaluate_all("all => all.map(one => one.width.baseVal.value)")
        assert sum(widths) == pytest.approx(100 * count / most, abs=0.01)


def test_features_at_fault_are_counted_and_lead_to_their_explanations(pages, audited):
    page = pages.open(audited.to_html())
    short = Counter(
        r.region.names[r.region.reach.argmin()] for r in audited if r.region and r.region.reach.min() < 1
    )
    left = Counter(f.feature for r in audited for f in r.findings if f.incomplete)
    assert left.total() > 0
    for row in page.locator("#features tbody tr").all():
        name = row.locator("th").inner_text()
        counts = [int(text) for text in row.locator("td.number").all_inner_texts()]
        assert counts[1:] == [left[name], short[name]]
    worst = page.locator("#features tbody button").first
    name = worst.inner_text()
    worst.click()
    assert set(indices(page)) == spoken_of(audited, name)


def test_real_rows_are_summed_up(pages, audited):
    page = pages.open(audited.to_html())
    told = page.locator("#real-rows").inner_text()
    for figure in ("coverage", "fidelity", "honesty"):
        some = [record for record in audited if record.region] if figure == "coverage" else audited
        known = [getattr(record, figure) for record in some if getattr(record, figure) is not None]
        below = sum(value < getattr(audited.rules, f"min_{figure}") for value in known)
        assert f"{below} of {len(known)} are below" in told
    assert page.locator("#real-rows svg[role=img]").count() == 3


def test_groups_compare_verdicts_and_narrow_the_list(pages, audited):
    page = pages.open(audited.to_html())
    page.get_by_label("Compare verdicts by").select_option(label="mean smoothness")
    rows = page.locator("#cohorts tbody tr")
    values = {r.index: r.region.instance[4] for r in audited if r.region is not None}
    sizes = [int(row.locator("td").nth(1).inner_text()) for row in rows.all()]
    assert sum(sizes) == len(values)
    assert len(sizes) > 2
    titles = page.locator("#cohorts tbody button").all_inner_texts()
    page.locator("#cohorts tbody button").nth(1).click()
    inside = indices(page)
    assert len(inside) == sizes[1]
    low, high = (float(part) for part in titles[1].removeprefix("above ").split(", up to "))
    assert sorted(inside) == [i for i, v in values.items() if low < float(f"{v:.4g}") <= high]
    flagged = sum(audited[i].verdict not in ("trusted", "flat") for i in inside)
    assert rows.nth(1).locator("td").nth(2).inner_text().startswith(f"{flagged} (")
    page.locator("#cohorts tbody button").nth(1).click()  # once more, and all are back
    assert len(indices(page)) == len(audited)


def test_rows_are_known_by_their_names(pages, audited):
    named = [dataclasses.replace(record, row_id=f"A-{record.index:03d} {SCRIPT}") for record in audited]
    page = pages.open(AuditReport(tuple(named), audited.about).to_html())
    page.get_by_label("Search").fill("a-007")
    assert indices(page) == [7]
    assert f"A-007 {SCRIPT}" in page.locator("tr.record td").first.inner_text()


def test_an_empty_report_has_a_page(pages):
    page = pages.open(AuditReport((), {}).to_html())
    assert "0 of 0 explanations are trusted." in page.inner_text("header")


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_everybody_can_use_it(pages, audited, scheme, width):
    page = pages.open(audited.to_html(), scheme=scheme, width=width)
    page.get_by_label("Compare verdicts by").select_option(index=1)
    page.locator("#asked summary").click()
    for record in audited.flagged:
        opened(page, record.index)
    assert violations(page) == []
    assert overflow(page) <= 0


def big_report(audited):
    """A thousand records, each of thirty features: real ones, side by side and again and again."""
    good = [record for record in audited if record.region]
    return AuditReport(
        tuple(dataclasses.replace(widened(good[i % len(good)]), index=i) for i in range(BIG)), audited.about
    )


def widened(record):
    region, times = record.region, FEATURES // len(HOSTILE)
    check = record.data_check
    axes = tuple(
        dataclasses.replace(axis, name=f"{axis.name} {k}")
        for k in range(times)
        for axis in region.domain.axes
    )
    return dataclasses.replace(
        record,
        findings=(),
        data_check=None if check is None else dataclasses.replace(check, rows=(), answers=()),
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
