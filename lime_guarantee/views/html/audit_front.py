"""The front of an audit's page: how often each verdict was given, which features are at fault, real rows."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from lime_guarantee.region.report import share_text
from lime_guarantee.views.html.audit_data import AuditColumns

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport

MOST_FEATURES = 10
BARS = 20
"""Of a histogram of shares."""

FEATURE_FAULTS = {
    "under": ("relied on, not claimed", "The model relies on it more than the rules allow."),
    "left": ("left out, but matters", "The explanation leaves it out and fails beyond its limits along it."),
    "short": ("limits the region most", "No other feature may move less far."),
}
"""What may be said against a feature, from the worst: in short, and in a sentence."""


def verdicts_html(counts: Mapping[str, int], definitions: Mapping[str, str]) -> str:
    """A bar for every verdict, its count, and what it means."""
    total, most = max(1, sum(counts.values())), max(1, *counts.values())
    items = "".join(
        f'<li class="{"" if count else "none"}"><b class="verdict-name {verdict}">{verdict}</b>'
        f'{_bar([(verdict, count / most)])}<span class="count">{count:,}</span>'
        f'<span class="part">{share_text(count / total)}</span>'
        f'<span class="meaning">{html.escape(definitions[verdict])}</span></li>'
        for verdict, count in counts.items()
    )
    return f'<section id="verdicts"><h2>Verdicts</h2><ul class="bars">{items}</ul></section>'


def features_html(columns: AuditColumns) -> str:
    """The features that are most often at fault, or limit a region most."""
    faults = _faults(columns)
    named = dict.fromkeys(name for counts in faults.values() for name in counts)
    under, left, short = faults.values()
    ranked = sorted(named, key=lambda name: (-under[name] - left[name], -under[name], -short[name]))
    worst = ranked[:MOST_FEATURES]
    if not worst:
        return ""
    most = max(sum(faults[kind][name] for kind in FEATURE_FAULTS) for name in worst)
    rows = "".join(_feature_row(name, {k: faults[k][name] for k in FEATURE_FAULTS}, most) for name in worst)
    heads = "".join(
        f'<th scope="col" class="number"><span class="swatch {kind}"></span>{title}</th>'
        for kind, (title, _) in FEATURE_FAULTS.items()
    )
    more = len(ranked) - len(worst)
    notes = " ".join(f"<b>{title}</b>: {meaning}" for title, meaning in FEATURE_FAULTS.values())
    return (
        '<section id="features"><h2>Features most often short or at fault</h2>'
        '<div class="scrolls" tabindex="0" role="group" aria-label="Features most often short or at fault">'
        f'<table class="faults"><thead><tr><th scope="col">feature</th><td></td>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
        f'<p class="muted">{notes}{f" {more:,} more features are named less often." if more else ""}</p>'
        "</section>"
    )


def _faults(columns: AuditColumns) -> dict[str, Counter[str]]:
    """How often each feature is under-claimed, left out though it matters, and the shortest."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in FEATURE_FAULTS}
    for i, group in enumerate(columns.group):
        if group is None:
            continue
        names, shortest, reach = columns.groups[group].names, columns.shortest[i], columns.reach[i]
        found["under"].update(names[k] for k in columns.under_claimed[i])
        found["left"].update(names[k] for k in columns.left_out[i])
        if shortest is not None and reach is not None and reach < 1.0:
            found["short"][names[shortest]] += 1
    return found


def _feature_row(name: str, counts: Mapping[str, int], most: int) -> str:
    cells = "".join(f'<td class="number">{count:,}</td>' for count in counts.values())
    bar = _bar([(kind, count / most) for kind, count in counts.items()])
    shown = html.escape(name)
    return (
        f'<tr><th scope="row"><button type="button" class="find" value="{shown}"><bdi>{shown}</bdi></button>'
        f"</th><td>{bar}</td>{cells}</tr>"
    )


def real_rows_html(columns: AuditColumns, report: AuditReport) -> str:
    """How coverage, fidelity and honesty are distributed over the explanations."""
    rules = report.rules
    figures = [
        ("Coverage", "the share of real rows that lie in the region", columns.coverage, rules.min_coverage),
        (
            "Fidelity",
            "the share of these on which the explanation is faithful",
            columns.fidelity,
            rules.min_fidelity,
        ),
        (
            "Honesty",
            "1 less the most that a feature is relied on beyond what is claimed",
            columns.honesty,
            rules.min_honesty,
        ),
    ]
    shown = "".join(_figure(*figure) for figure in figures)
    return f'<section id="real-rows"><h2>On real rows</h2><div class="figures">{shown}</div></section>'


def _figure(name: str, meaning: str, column: Sequence[float | None], limit: float) -> str:
    known = [value for value in column if value is not None]
    title = f"<h3>{name}</h3><p>{meaning[0].upper()}{meaning[1:]}.</p>"
    if not known:
        return f'<div class="figure">{title}<p class="muted">Not known: no real rows were asked.</p></div>'
    below = sum(value < limit for value in known)
    said = (
        f"Median {share_text(median(known))}; {below:,} of {len(known):,} are below {share_text(limit)}, "
        "which the rules ask for."
    )
    return (
        f'<div class="figure">{title}{_histogram(known, limit, f"{name}: {said}")}'
        f'<p class="ends"><span>0 %</span><span>100 %</span></p><p class="muted">{said}</p></div>'
    )


def _histogram(values: Sequence[float], limit: float, label: str) -> str:
    """A bar for every twentieth; those below the limit stand out, and a line marks it."""
    counts = Counter(min(BARS - 1, int(BARS * value)) for value in values)
    most, width = max(counts.values()), 200 / BARS
    bars = "".join(
        f'<rect class="{"low" if (place + 0.5) / BARS < limit else "high"}" x="{place * width + 0.5:g}" '
        f'y="{60 - max(1.5, 58 * count / most):.1f}" width="{width - 1:g}" '
        f'height="{max(1.5, 58 * count / most):.1f}"/>'
        for place, count in sorted(counts.items())
    )
    line = f'<path class="limit" d="M{200 * limit:.1f} 0V60"/>'
    return (
        f'<svg class="histogram" viewBox="0 0 200 60" preserveAspectRatio="none" role="img" '
        f'aria-label="{html.escape(label)}">{bars}{line}</svg>'
    )


def _bar(parts: Sequence[tuple[str, float]]) -> str:
    """Parts side by side, each of a kind and so long; all together at most 1."""
    pieces, at = "", 0.0
    for kind, length in parts:
        if length > 0:
            pieces += f'<rect class="{kind}" x="{100 * at:.2f}" width="{100 * length:.2f}" height="10"/>'
        at += length
    shape = 'viewBox="0 0 100 10" preserveAspectRatio="none"'
    return f'<svg class="parts" {shape} aria-hidden="true">{pieces}</svg>'


def asked_html(report: AuditReport) -> str:
    """What was audited, and what was asked: for whoever has to say so later."""
    rows = "".join(
        f"<dt>{name}</dt><dd><bdi>{html.escape(value)}</bdi></dd>" for name, value in report.facts.items()
    )
    return f'<details id="asked"><summary>What was audited</summary><dl>{rows}</dl></details>'
