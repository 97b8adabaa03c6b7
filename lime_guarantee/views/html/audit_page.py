"""The page of an audit: all verdicts in a table, and behind each its region and its evidence."""

from __future__ import annotations

import html
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from lime_guarantee.region.report import (
    answer,
    evidence,
    in_presence,
    lower_text,
    share_text,
    upper_text,
)
from lime_guarantee.views.feature_row import FeatureRow, feature_rows, shown_order
from lime_guarantee.views.html.page import make_page

if TYPE_CHECKING:
    from lime_guarantee.auditing.evidence import Finding
    from lime_guarantee.auditing.need import Need
    from lime_guarantee.auditing.real_rows import DataCheck
    from lime_guarantee.auditing.record import AuditRecord
    from lime_guarantee.auditing.reliance import Reliance
    from lime_guarantee.auditing.report import AuditReport
    from lime_guarantee.region.region import GuaranteeRegion

TITLE = "Audit of explanations"


MOST_LISTED = 2_000
"""Explanations that a page lists, the worst: a browser would take long over more."""


def audit_page(report: AuditReport) -> str:
    """The page, as text: sums over all explanations, and a list of the worst."""
    names: dict[tuple[str, ...], int] = {}
    listed = report.records if len(report) <= MOST_LISTED else report.worst(most=MOST_LISTED)
    records = [_record(record, names) for record in listed]
    data = {"verdicts": list(report.counts), "names": [list(some) for some in names], "records": records}
    return make_page("audit", TITLE, _body(report), {"audit": data})


def _record(record: AuditRecord, names: dict[tuple[str, ...], int]) -> dict[str, Any]:
    """A record as the page has it: texts, and numbers to sort by; names are kept once for all records."""
    data: dict[str, Any] = {
        "index": record.index,
        "verdict": record.verdict,
        "reason": record.reason,
        "coverage": record.coverage,
    }
    region = record.region
    if region is None:
        return data
    rows = feature_rows(region, shown_order(region, parts_in_place=True))
    explained = region.explained
    data.update(
        label=None if explained is None else explained.label_name or explained.kind,
        names=names.setdefault(region.names, len(names)),
        answer=answer(region),
        evidence=evidence(region),
        presence=in_presence(region),
        rows=[_row(row) for row in rows],
        findings=[_finding(finding, region) for finding in record.findings if finding.draws],
        check=_on_real_rows(record, region),
    )
    if region:
        shortest = int(region.reach.argmin())
        data.update(share=region.share, reach=float(region.reach[shortest]), shortest=shortest)
    return data


def _row(row: FeatureRow) -> list[Any]:
    """A feature, as short as can be: there are a great many of them."""
    bar = None if row.bar_in_shares is None else list(astuple(row.bar_in_shares))
    shown = [
        row.position,
        row.instance_text,
        row.weight_text,
        row.extent,
        row.reach_text,
        bar,
        int(row.may_vary),
    ]
    return [*shown, [[label, int(allowed)] for label, allowed in row.choices]] if row.choices else shown


def _finding(finding: Finding, region: GuaranteeRegion) -> dict[str, Any]:
    """A feature that the explanation leaves out and the region is short along, in words."""
    failed = f"{finding.failures:,} of {finding.draws:,} points drawn were not faithful"
    if finding.incomplete:
        failed += f": at least {lower_text(100 * finding.failing_lower_bound, 3)} % of what was drawn there"
    axis = region.domain.axes[region.names.index(finding.feature)]
    others = ", with all else as in the instance" if finding.alone else ""
    lines = [f"Beyond the region along it{others}, {failed}."]
    if finding.outside:
        drawn = " and ".join(f"[{axis.text(low)}, {axis.text(high)}]" for low, high in finding.outside)
        lines.append(f"They were drawn in {drawn}.")
    breaks = [
        f"{way} at {axis.text(place)}"
        for way, place in (("below", finding.break_below), ("above", finding.break_above))
        if place is not None
    ]
    if breaks:
        lines.append(f"Moved alone, it breaks the explanation {' and '.join(breaks)}.")
    return {
        "feature": finding.feature,
        "incomplete": finding.incomplete,
        "lines": lines,
        "rows": _shown_rows(finding.counterexamples, region),
    }


def _on_real_rows(record: AuditRecord, region: GuaranteeRegion) -> dict[str, Any] | None:
    """What real rows say, and what the model relies on there, in words; None if nothing is known."""
    check, reliance = record.data_check, record.reliance
    if check is None and reliance is None:
        return None
    found = {"lines": [], "rows": []} if check is None else _check(check, region)
    if reliance is not None:
        found["lines"].append(_reliance(reliance, region))
    if record.needs and record.needs[0].lower > 0:
        found["lines"].append(_need(record.needs[0], region))
    return found


def _need(need: Need, region: GuaranteeRegion) -> str:
    """What is needed most beyond what is claimed, in words."""
    where = "nearest to the instance" if need.nearby else "in all"
    return (
        f"Of {need.rows:,} real rows {where}, a forest that is not told {region.names[need.feature]!r} loses "
        f"{share_text(need.share)} of the variance of the model's answers (at least "
        f"{lower_text(100 * need.lower, 2)} %), and the explanation claims {share_text(need.claimed)}."
    )


def _reliance(reliance: Reliance, region: GuaranteeRegion) -> str:
    """What the model relies on and the explanation claims least of, in words."""
    worst = reliance.worst
    (low, high), (least, most) = reliance.intervals[worst], reliance.honesty_interval
    where = "real rows nearby" if reliance.real else "rows drawn nearby"
    return (
        f"Honesty {reliance.honesty:.2f} ({least:.2f} to {most:.2f}): on {where}, {region.names[worst]!r} "
        f"makes up {share_text(reliance.shares[worst])} of what the model relies on "
        f"({lower_text(100 * low, 2)} to {upper_text(100 * high, 2)} %), and the explanation claims "
        f"{share_text(reliance.claimed[worst])}."
    )


def _check(check: DataCheck, region: GuaranteeRegion) -> dict[str, Any]:
    """Real rows against their twins, in words."""
    where = "in the region" if check.inside else "nearest to the instance"
    line = (
        f"The explanation fails on {check.real_failures:,} of {check.real_rows:,} real rows {where} "
        f"({share_text(check.real_rate)})"
    )
    if check.synthetic_rows:
        line += (
            f" and on {check.synthetic_failures:,} of {check.synthetic_rows:,} of the same rows with every "
            f"feature moved a little ({share_text(check.synthetic_rate)})"
        )
    line += "."
    return {"lines": [line], "rows": _shown_rows(check.rows, region)}


def _shown_rows(rows: tuple[tuple[Any, ...], ...], region: GuaranteeRegion) -> list[list[str]]:
    """Rows of raw values, as texts in the order of the features."""
    return [[axis.text(value) for axis, value in zip(region.domain.axes, row, strict=True)] for row in rows]


def _body(report: AuditReport) -> str:
    """All that does not depend on what is looked for."""
    counts = report.counts
    asked = ", ".join(
        f"{key} {report.about[key]!r}" for key in ("purity", "confidence") if key in report.about
    )
    choices = "".join(
        f'<label class="verdict {html.escape(verdict)}"><input type="checkbox" name="verdict" '
        f'value="{html.escape(verdict)}" checked> {html.escape(verdict)} <b>{count:,}</b></label>'
        for verdict, count in counts.items()
        if count
    )
    notes = []
    if report.unfinished:
        notes.append(f"The audit was cut off: {report.unfinished:,} explanations are not in it.")
    if len(report) > MOST_LISTED:
        notes.append(f"The table lists the {MOST_LISTED:,} worst; the sums are over all {len(report):,}.")
    return f"""
<header><h1>{TITLE}</h1>
<p><strong>{counts["trusted"]:,} of {len(report):,} explanations are trusted.</strong>
{html.escape(asked)}</p>
{"".join(f"<p>{note}</p>" for note in notes)}</header>
<main>
<form id="filters" role="search"><fieldset><legend>Verdicts</legend>{choices}</fieldset>
<label class="search">Search
<input type="search" id="search" placeholder="number, class, reason, feature"></label>
<p id="shown" role="status"></p></form>
<noscript><p>The table needs JavaScript.</p></noscript>
<table id="table"><thead><tr></tr></thead><tbody></tbody></table>
<p><button type="button" id="more" hidden></button></p>
</main>
"""
