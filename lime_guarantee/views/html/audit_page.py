"""The page of an audit: what was found at a glance, then every explanation with its evidence."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from lime_guarantee.views.html.audit_data import AuditColumns
from lime_guarantee.views.html.audit_front import asked_html, features_html, real_rows_html, verdicts_html
from lime_guarantee.views.html.page import make_page

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport

TITLE = "Audit of explanations"

MOST_LISTED = 10_000
"""Explanations that a page lists, the worst: of more, a browser would have to hold too much."""


def audit_page(report: AuditReport) -> str:
    """The page, as text: verdicts of all explanations, and a list of them, or of the worst."""
    listed = report.records if len(report) <= MOST_LISTED else report.worst(most=MOST_LISTED)
    columns = AuditColumns.of(listed, 1.0 - report.rules.min_honesty)
    data: dict[str, Any] = {"audit": columns.to_dict(list(report.counts))}
    data |= {f"details-{place}": packed for place, packed in enumerate(columns.packed)}
    return make_page("audit", TITLE, _body(report, columns), data)


def _body(report: AuditReport, columns: AuditColumns) -> str:
    """All that does not depend on what is looked for."""
    front = (
        verdicts_html(report.counts, report.definitions)
        + features_html(columns)
        + real_rows_html(columns, report)
    )
    return f"""
<header><h1>{TITLE}</h1>
<p class="answer"><strong>{report.counts["trusted"]:,} of {len(report):,} explanations are trusted.</strong>
{_also(report)}</p>
{"".join(f"<p>{note}</p>" for note in _notes(report))}{asked_html(report)}</header>
<main>
{front}
<noscript><p>Groups and the list of explanations need JavaScript.</p></noscript>
<section id="groups" hidden><h2>Groups</h2>
<p><label>Compare verdicts by <select id="group-by"></select></label></p>
<div id="cohorts" class="scrolls" tabindex="0" role="group" aria-label="Verdicts by group"></div></section>
<section id="list"><h2>Explanations</h2>
{_filters(report)}
<table id="table"><thead><tr></tr></thead><tbody></tbody></table>
<p id="not-printed" hidden></p>
<nav id="pages" aria-label="Pages of the list"></nav></section>
</main>
"""


def _also(report: AuditReport) -> str:
    """How many besides are merely flat, and how many are flagged."""
    flat, total = report.counts["flat"], len(report)
    flagged = total - report.counts["trusted"] - flat
    return f"{flat:,} more are flat, which is a remark; {flagged:,} are flagged."


def _notes(report: AuditReport) -> list[str]:
    notes = []
    if report.unfinished:
        notes.append(f"The audit was cut off: {report.unfinished:,} explanations are not in it.")
    if len(report) > MOST_LISTED:
        notes.append(
            f"The list has the {MOST_LISTED:,} worst of {len(report):,} explanations. Verdicts are counted "
            "over all; features, real rows and groups over those listed."
        )
    return notes


def _filters(report: AuditReport) -> str:
    choices = "".join(
        f'<label class="verdict"><input type="checkbox" name="verdict" '
        f'value="{html.escape(verdict)}" checked><span class="swatch {html.escape(verdict)}"></span> '
        f"{html.escape(verdict)} <b>{count:,}</b></label>"
        for verdict, count in report.counts.items()
        if count
    )
    return f"""<form id="filters" role="search" aria-label="Explanations">
<fieldset><legend>Verdicts</legend>{choices}</fieldset>
<label class="search">Search
<input type="search" id="search" placeholder="#17, a feature, a value, words"></label>
<button type="button" id="clear" hidden></button>
<p id="shown" role="status"></p></form>"""
