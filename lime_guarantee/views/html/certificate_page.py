"""A certificate to print, sign and file: one sheet of paper, with everything that it rests on."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.problem.fingerprint import Origin, digest, fingerprint_of_answers, known_rows
from lime_guarantee.region.report import evidence, in_presence
from lime_guarantee.region.statement import (
    figures,
    guaranteed,
    not_guaranteed,
    settings_in_words,
    settings_text,
)
from lime_guarantee.version import __version__
from lime_guarantee.views.feature_row import FeatureRow, feature_rows, shown_order
from lime_guarantee.views.html.page import make_page

if TYPE_CHECKING:
    from lime_guarantee.problem.problem import Problem
    from lime_guarantee.region.region import GuaranteeRegion

MOST_LIMITS = 18
"""Features whose limits are printed: more do not go on a sheet."""

IN_ONE_TABLE = 6
"""The most limits that stand below each other; more stand side by side, in two tables."""

LONGEST_NAME, LONGEST_LIMIT, LONGEST_BESIDE = 30, 320, 64
"""Letters of a name that are printed, and of limits: in one table, and in two."""

SIGNED_BY = ("Prepared by", "Reviewed by", "Approved by")

TITLES = {"certified": "Certified", "uncertified": "Not certified", "unfaithful": "Not certified: unfaithful"}

SAME_AGAIN = (
    "With the same explanation, model, data and version it gives the same region, and its JSON the same "
    "fingerprint."
)

Pairs = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Limit:
    """What is printed of one feature: its name, the row's value, its weight, and its limits."""

    name: str
    instance: str
    weight: str
    extent: str


@dataclass(frozen=True)
class Sheet:
    """What a certificate says; nothing in it is HTML.

    Parameters
    ----------
    title, status : str
        What it is, and how it ended.
    good : bool
        Whether something is guaranteed.
    facts : pairs of str
        What it is about: row, model, data, settings, seed.
    promise : str
        What is guaranteed, in a sentence.
    not_promised : sequence of str
        What is not.
    figures : pairs of str
    again : str
        Code that runs it again, and `again_note` what to expect of that.
    content : dict
        The result itself, which rides in the file.
    limits : sequence of Limit
        Of a region; `limits_note` says what is left out.
    verdicts : sequence of (verdict, count, definition)
        Of an audit.
    judged : pairs of str
        The verdict on one explanation: the reason, and what it means.
    """

    title: str
    status: str
    good: bool
    facts: Pairs
    promise: str
    not_promised: Sequence[str]
    figures: Pairs
    again: str
    again_note: str
    content: Mapping[str, Any]
    limits: Sequence[Limit] = ()
    limits_note: str = ""
    verdicts: Sequence[tuple[str, int, str]] = ()
    judged: Pairs = ()


def certificate_page(sheet: Sheet) -> str:
    """The page, as text."""
    return make_page("certificate", sheet.title, _body(sheet), {"content": dict(sheet.content)})


def region_certificate(region: GuaranteeRegion, row: Any = None, problem: Problem | None = None) -> str:
    """The certificate of a region, as a page."""
    seeded = region.random_state is not None
    sheet = Sheet(
        title="Certificate of a local explanation",
        status=TITLES[region.status],
        good=bool(region),
        facts=[("Row", "not named" if row is None else str(row)), *region_facts(region, problem)],
        promise=guaranteed(region),
        not_promised=not_guaranteed(region),
        figures=figures(region),
        again=_again(region),
        again_note=SAME_AGAIN if seeded else "No seed was given: another run gives another region.",
        content=json.loads(region.to_json()),
        **limits_of(region),
    )
    return certificate_page(sheet)


def region_facts(region: GuaranteeRegion, problem: Problem | None = None) -> list[tuple[str, str]]:
    """What a region is about: the explanation, the model, the data, and what was asked."""
    problem = problem or region.problem
    origin = region.origin or (None if problem is None else Origin.of(problem.model))
    explained = region.explained
    about = "" if explained is None or explained.label_name is None else f" of {explained.label_name!r}"
    found = [("Explanation", "given as a function" if explained is None else f"{explained.kind}{about}")]
    found += _model_facts(origin, problem)
    if origin is not None and origin.data:
        rows = "" if origin.rows is None else f" ({origin.rows:,} rows)"
        found.append(("Training data", f"fingerprint {origin.data}{rows}"))
    seed = region.random_state
    found += [
        ("Settings", settings_in_words({**region.settings.to_dict(), "measure": region.measure})),
        ("Seed", "none" if seed is None else str(seed)),
    ]
    notes = [line.removeprefix("Note: ") for line in evidence(region) if line.startswith("Note: ")]
    return [*found, *([("Notes", " ".join(notes))] if notes else [])]


def _model_facts(origin: Origin | None, problem: Problem | None) -> list[tuple[str, str]]:
    if origin is None:
        return [("Model", "not known: only where the explanation is faithful was given")]
    told = [f"parameters {origin.parameters}"] if origin.parameters else []
    if problem is not None:
        rows = known_rows(problem.domain)
        told.append(
            f"answers to {len(rows)} fixed rows {fingerprint_of_answers(problem.model_answers(rows))}"
        )
    return [("Model", origin.model), *([("Model fingerprint", ", ".join(told))] if told else [])]


def limits_of(region: GuaranteeRegion) -> dict[str, Any]:
    """The limits of a region, as fields of a sheet: those that are limited, the largest weights first."""
    if not region:
        return {}
    rows = feature_rows(region, shown_order(region, parts_in_place=False))
    if in_presence(region):
        return {"limits_note": _parts_note(rows)}
    limited = [row for row in rows if row.reach < 1.0 and not row.constant]
    shown = limited[:MOST_LIMITS]
    free = [row.name for row in rows if row.reach >= 1.0 and not row.constant]
    notes = []
    if len(limited) > len(shown):
        notes.append(f"{len(limited) - len(shown)} more features have limits, which are in this file.")
    if free:
        notes.append(f"Free, within what the data have: {_some(free)}.")
    longest = LONGEST_LIMIT if len(shown) <= IN_ONE_TABLE else LONGEST_BESIDE
    limits = [_limit(row, longest) for row in shown]
    if any(" more of " in limit.extent for limit in limits):
        notes.insert(0, "Values that are only counted here are in this file.")
    return {"limits": limits, "limits_note": " ".join(notes)}


def _limit(row: FeatureRow, longest: int) -> Limit:
    extent = _cut(row.extent, longest) if row.axis.ordered or not row.choices else _set_text(row, longest)
    return Limit(_cut(row.name, LONGEST_NAME), _cut(row.instance_text, 18), row.weight_text, extent)


def _set_text(row: FeatureRow, longest: int) -> str:
    """Values without an order, the row's own first: whole ones, as many as there is room for, and a count."""
    allowed = [label for label, kept in row.choices if kept]
    held = sorted(allowed, key=lambda label: label != row.instance_text)
    ends = np.cumsum([len(label) + 2 for label in held])
    fitting = max(1, int(np.sum(ends <= longest)))
    some = ", ".join(_cut(label, longest) for label in held[:fitting])
    more = f" and {len(held) - fitting} more of {len(row.choices)}" if fitting < len(held) else ""
    return f"{{{some}{more}}}"


def _parts_note(rows: Sequence[FeatureRow]) -> str:
    may, must = (
        [row.name for row in rows if row.may_vary == wanted and row.extent != "constant"]
        for wanted in (True, False)
    )
    return f"May go: {_some(may, 40)}. Must stay: {_some(must, 40)}."


def _some(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(_cut(name, LONGEST_NAME) for name in names[:most]) + more or "none"


def _cut(text: str, most: int) -> str:
    """A text that is not longer; of a longer one the beginning and the end, which tell it from others."""
    end = most // 3
    return text if len(text) <= most else f"{text[: most - end - 1]}\N{HORIZONTAL ELLIPSIS}{text[-end:]}"


def _again(region: GuaranteeRegion) -> str:
    settings = settings_text(region.settings)
    if region.explained is None:
        return f"find_region(faithful, instance, domain, settings={settings})"
    explained = region.explained
    return (
        f"guarantee_region(explanation, training_data=X, agreement={explained.agreement!r}, "
        f"tolerance={explained.tolerance!r}, settings={settings})"
    )


def _body(sheet: Sheet) -> str:
    content = json.dumps(dict(sheet.content), allow_nan=False)
    issued = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    promised = "none" if sheet.promise.startswith("Nothing ") else "something"
    facts = [*sheet.facts, ("Issued", f"{issued}, lime-guarantee {__version__}")]
    return f"""
<main><div class="sheet">
<header><h1>{_text(sheet.title)}</h1>
<p class="status {"good" if sheet.good else "bad"}">{_text(sheet.status)}</p></header>
<dl class="facts">{_pairs(facts)}</dl>
<section class="promise {promised}"><h2>What is guaranteed</h2><p>{_text(sheet.promise)}</p></section>
{_limits(sheet)}{_verdicts(sheet)}
{_judged(sheet)}<section><h2>What is not guaranteed</h2>
<ul>{"".join(f"<li>{_text(line)}</li>" for line in sheet.not_promised)}</ul></section>
<section><h2>Figures</h2><dl class="figures">{_pairs(sheet.figures)}</dl></section>
<section><h2>To run it again</h2><pre><code>{html.escape(sheet.again)}</code></pre>
<p>{_text(sheet.again_note)}</p></section>
<section class="signatures" aria-label="Signatures">{"".join(map(_line_to_sign, SIGNED_BY))}</section>
<p class="file">The whole result is in this file, as JSON (SHA-256, cut: {digest(content)}).
<a id="download" download="certificate.json">Download it</a></p>
</div><p class="actions"><button type="button" id="print">Print</button></p></main>
"""


def _limits(sheet: Sheet) -> str:
    if not sheet.limits and not sheet.limits_note:
        return ""
    weighted = any(limit.weight for limit in sheet.limits)
    weight = '<th scope="col" class="number">weight</th>' if weighted else ""
    head = (
        '<tr><th scope="col">feature</th><th scope="col" class="number">row</th>'
        f'{weight}<th scope="col">limits</th></tr>'
    )
    halves = np.array_split(np.arange(len(sheet.limits)), 2 if len(sheet.limits) > IN_ONE_TABLE else 1)
    tables = "".join(
        f"<table><thead>{head}</thead><tbody>"
        f"{''.join(_limit_row(sheet.limits[i], weighted=weighted) for i in half.tolist())}</tbody></table>"
        for half in halves
        if half.size
    )
    note = f"<p>{_text(sheet.limits_note)}</p>" if sheet.limits_note else ""
    return f'<section><h2>Limits</h2><div class="limits">{tables}</div>{note}</section>'


def _limit_row(limit: Limit, *, weighted: bool) -> str:
    weight = f'<td class="number">{_text(limit.weight)}</td>' if weighted else ""
    return (
        f'<tr><th scope="row">{_text(limit.name)}</th><td class="number">{_text(limit.instance)}</td>{weight}'
        f"<td>{_text(limit.extent)}</td></tr>"
    )


def _verdicts(sheet: Sheet) -> str:
    if not sheet.verdicts:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{_text(verdict)}</th><td class="number">{count:,}</td><td>{_text(meaning)}</td>'
        "</tr>"
        for verdict, count, meaning in sheet.verdicts
    )
    return (
        '<section class="verdicts"><h2>Verdicts</h2><table><thead><tr><th scope="col">verdict</th>'
        '<th scope="col" class="number">count</th><th scope="col">meaning</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></section>"
    )


def _judged(sheet: Sheet) -> str:
    if not sheet.judged:
        return ""
    return f'<section><h2>Verdict</h2><dl class="judged">{_pairs(sheet.judged)}</dl></section>'


def _line_to_sign(who: str) -> str:
    return f'<div><p class="line"></p><p>{who}: name, signature, date</p></div>'


def _pairs(pairs: Pairs) -> str:
    return "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in pairs)


def _text(text: str) -> str:
    return f"<bdi>{html.escape(text)}</bdi>"
