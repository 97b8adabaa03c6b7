"""Views for notebooks: tables and inline styles alone.

JupyterLab shows an untrusted notebook without scripts, style sheets, pictures in SVG, ids and roles, and
keeps only some inline styles: no `currentColor`, no `inherit`, no variables. What is left has to be complete,
on a light page and on a dark one. So text has no colour of its own, bars are half transparent, a border
without a colour is as the text is, and every bar is said in words beside it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from lime_guarantee.region.report import MOST_FEATURES, answer, evidence, in_presence, worth_lines
from lime_guarantee.views.feature_row import Bar, FeatureRow, feature_rows, shown_order

if TYPE_CHECKING:
    from lime_guarantee.auditing.record import AuditRecord
    from lime_guarantee.auditing.report import AuditReport
    from lime_guarantee.region.region import GuaranteeRegion

MOST_EXPLANATIONS = 20

TRACK = "rgba(128, 128, 128, 0.3)"
CERTIFIED = "rgba(20, 120, 210, 0.6)"
MAY, MUST, MUST_NOT = (
    "background-color: rgba(20, 120, 210, 0.3)",
    "border: 1px solid; font-weight: bold",
    "border: 1px dashed; opacity: 0.75",
)
CHIP = "display: inline-block; margin: 1px 3px 1px 0; padding: 0 6px; border-radius: 4px"
CELL = "text-align: left; padding: 3px 14px 3px 0; vertical-align: middle"
NUMBER = "text-align: right; padding: 3px 14px 3px 0; vertical-align: middle; white-space: nowrap"


def region_view(region: GuaranteeRegion) -> str:
    """A region: the answer, a row for every feature, the evidence."""
    rows = feature_rows(region, shown_order(region, parts_in_place=True))
    shown = _parts(rows) if in_presence(region) else _table(rows)
    return (
        f'<div style="line-height: 1.45"><div style="font-weight: bold">{escape(answer(region))}</div>'
        f"{''.join(f'<div>{escape(line)}</div>' for line in worth_lines(region))}"
        f"{shown if region else ''}{_lines(evidence(region))}</div>"
    )


def report_view(report: AuditReport) -> str:
    """A report: how often each verdict was given, and the worst explanations."""
    total = max(1, len(report))
    counts = "".join(
        f'<tr><td style="{CELL}">{escape(verdict)}</td><td style="{NUMBER}">{count:,}</td>'
        f'<td style="{CELL}">{_bar(Bar(0.0, count / total, 0.0), tick=False)}</td></tr>'
        for verdict, count in report.counts.items()
        if count
    )
    worst = report.flagged[:MOST_EXPLANATIONS]
    listed = "".join(
        f'<tr><td style="{NUMBER}">#{record.index}</td><td style="{CELL}; white-space: nowrap">'
        f'{escape(record.verdict)}</td><td style="{CELL}">{escape(record.reason)}</td></tr>'
        for record in worst
    )
    more = len(report.flagged) - len(worst)
    trusted = report.counts["trusted"]
    return (
        f'<div style="line-height: 1.45"><div style="font-weight: bold">{trusted:,} of {len(report):,} '
        f"explanations are trusted.</div>{_rows(counts)}{_rows(listed, _head('>row', 'verdict', 'reason'))}"
        f"{_lines([f'and {more:,} more (see flagged, or to_html())'] if more > 0 else [])}</div>"
    )


def record_view(record: AuditRecord) -> str:
    """One explanation of a report: its verdict and its region."""
    region = "" if record.region is None else region_view(record.region)
    heading = escape(f"#{record.index} {record.verdict}: {record.reason}")
    return f'<div style="line-height: 1.45; margin: 0 0 8px 0">{heading}</div>{region}'


def _table(rows: list[FeatureRow]) -> str:
    weighted = any(row.weight is not None for row in rows)
    known = any(row.needed is not None for row in rows)
    beside = [*([">weight"] if weighted else []), *([">needed"] if known else [])]
    head = _head("feature", ">instance", *beside, "range", "region", ">reach")
    shown = "".join(
        f'<tr><td style="{CELL}">{escape(row.name)}</td><td style="{NUMBER}">{escape(row.instance_text)}</td>'
        + (f'<td style="{NUMBER}">{escape(row.weight_text)}</td>' if weighted else "")
        + (f'<td style="{NUMBER}">{escape(row.needed_text)}</td>' if known else "")
        + f'<td style="{CELL}">{"" if row.bar_in_shares is None else _bar(row.bar_in_shares)}</td>'
        f'<td style="{CELL}">{_extent(row)}</td><td style="{NUMBER}">{escape(row.reach_text)}</td></tr>'
        for row in rows[:MOST_FEATURES]
    )
    more = len(rows) - MOST_FEATURES
    return _rows(shown, head) + _lines([f"and {more:,} more (see to_frame())"] if more > 0 else [])


def _head(*titles: str) -> str:
    """Column titles; those that begin with > stand over numbers."""
    cells = (
        f'<th style="{NUMBER if title.startswith(">") else CELL}; font-weight: normal; opacity: 0.75">'
        f"{title.removeprefix('>')}</th>"
        for title in titles
    )
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def _rows(rows: str, head: str = "") -> str:
    return (
        f'<table style="border-collapse: collapse; margin: 8px 0">{head}<tbody>{rows}</tbody></table>'
        if rows
        else ""
    )


def _extent(row: FeatureRow) -> str:
    if len(row.choices) < 2:
        return escape(row.extent)
    shown = row.choices[:MOST_FEATURES]
    chips = "".join(_chip(label, "", MAY if allowed else MUST_NOT) for label, allowed in shown)
    return chips + _more(len(row.choices))


def _parts(rows: list[FeatureRow]) -> str:
    """Words or superpixels: those that may go, and those that must stay."""
    may_go = [row for row in rows if row.may_vary]
    must_stay = [row for row in rows if not row.may_vary and row.extent != "constant"]
    shown = (
        f'<tr><td style="{CELL}; white-space: nowrap">{title}</td>'
        f'<td style="{CELL}">{_listed(parts, look)}</td></tr>'
        for title, parts, look in (("may go", may_go, MAY), ("must stay", must_stay, MUST))
    )
    return _rows("".join(shown))


def _listed(parts: list[FeatureRow], look: str) -> str:
    chips = "".join(
        _chip(part.name, part.weight_text if part.weight else "", look) for part in parts[:MOST_FEATURES]
    )
    return (chips or "none") + _more(len(parts))


def _chip(name: str, weight: str, look: str) -> str:
    """A name in a box, with its weight if it has one."""
    beside = f' <span style="font-size: 85%; font-weight: normal">{escape(weight)}</span>' if weight else ""
    return f'<span style="{CHIP}; {look}">{escape(name)}{beside}</span> '


def _more(count: int) -> str:
    return f"and {count - MOST_FEATURES:,} more" if count > MOST_FEATURES else ""


def _bar(bar: Bar, *, tick: bool = True) -> str:
    """The domain as a track, the certified part in it, and a tick (it has room) at the instance."""
    middle = bar.tick if tick else bar.start
    pieces = [
        (bar.start, "transparent", ""),
        (middle - bar.start, CERTIFIED, "border-right: 2px solid" if tick else ""),
        (bar.end - middle, CERTIFIED, ""),
    ]
    inner = "".join(
        f'<span style="display: inline-block; height: 10px; width: {100 * width:.2f}%; '
        f'background-color: {colour}; {extra}"></span>'
        for width, colour, extra in pieces
        if width > 0 or extra
    )
    return (
        '<div style="width: 158px; height: 10px; padding: 0 2px 0 0; border-radius: 3px; overflow: hidden; '
        "white-space: nowrap; font-size: 0; line-height: 0; text-align: left; "
        f'background-color: {TRACK}">{inner}</div>'
    )


def _lines(lines: list[str]) -> str:
    return "".join(f'<div style="opacity: 0.8">{escape(line)}</div>' for line in lines)
