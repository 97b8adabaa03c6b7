"""Certificates of an audit, and of one of its explanations: what may be signed, and what not."""

from __future__ import annotations

import json
from statistics import median
from typing import TYPE_CHECKING

from lime_guarantee.auditing.record import FLAGGED, AuditRecord
from lime_guarantee.region.report import lower_text, share_text, upper_text
from lime_guarantee.region.statement import figures, guaranteed, not_guaranteed
from lime_guarantee.views.html.certificate_page import Sheet, certificate_page, limits_of, region_facts

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport

SAME_AGAIN = "With the same explainer, rows, model, data and version it gives the same report."
RELIABLE = ("trusted", "flat")

WORST_SHOWN = 3

SAID_BY_REGION = ("Explanation", "Notes")
"""Of an audited explanation the model, the data and the settings are the audit's."""

FACTS_SHOWN = (
    "model",
    "model fingerprint",
    "explainer",
    "rows audited",
    "training data",
    "data",
    "settings",
    "agreement",
    "rules",
    "options",
    "seed",
)


def audit_certificate(report: AuditReport) -> str:
    """The certificate of a whole audit, as a page."""
    counts, about = report.counts, report.about
    reliable = sum(counts[verdict] for verdict in RELIABLE)
    content = {"counts": counts, "about": dict(about), "version": report.version}
    sheet = Sheet(
        title="Certificate of an audit of explanations",
        status=f"{reliable:,} of {len(report):,} trusted or flat",
        good=reliable == len(report) and not report.unfinished,
        facts=[(name.capitalize(), report.facts[name]) for name in FACTS_SHOWN if name in report.facts],
        promise=_promise(report),
        not_promised=_not_promised(report),
        figures=_figures(report),
        again=_again(report),
        again_note=SAME_AGAIN,
        content=json.loads(json.dumps(content)),
        verdicts=[(verdict, counts[verdict], meaning) for verdict, meaning in report.definitions.items()],
    )
    return certificate_page(sheet)


def record_certificate(record: AuditRecord, report: AuditReport) -> str:
    """The certificate of one explanation of an audit, as a page."""
    region, facts = record.region, report.facts
    row = f"#{record.index}" + ("" if record.row_id is None else f" ({record.row_id})")
    known = [] if region is None else [pair for pair in region_facts(region) if pair[0] in SAID_BY_REGION]
    shown = ("model", "model fingerprint", "training data", "settings", "rules", "seed")
    audited = [(name.capitalize(), facts[name]) for name in shown if name in facts]
    reliable = record.verdict in RELIABLE
    sheet = Sheet(
        title="Certificate of a local explanation",
        status=f"Verdict: {record.verdict}",
        good=reliable,
        facts=[("Row", row), *known, *audited],
        promise="Nothing is guaranteed: the row ended in an error." if region is None else guaranteed(region),
        not_promised=[] if region is None else not_guaranteed(region),
        figures=_record_figures(record),
        again=f"{_again(report)}[{record.index}]",
        again_note=SAME_AGAIN,
        judged=[
            (record.verdict.capitalize(), record.reason),
            ("Meaning", report.definitions[record.verdict]),
        ],
        content=record.to_dict(),
        **({} if region is None else limits_of(region)),
    )
    return certificate_page(sheet)


def _record_figures(record: AuditRecord) -> list[tuple[str, str]]:
    found = [] if record.region is None else figures(record.region)
    if record.coverage is not None and record.coverage_interval is not None:
        between = _between(record.coverage_interval)
        found.append(("Real rows inside (coverage)", f"{share_text(record.coverage)} ({between})"))
    check = record.data_check
    if check is not None and check.inside:
        counts = f"{check.real_rows - check.real_failures:,} of {check.real_rows:,}"
        between = _between(check.fidelity_interval)
        found.append(("Explanation faithful on these (fidelity)", f"{counts} ({between})"))
    if record.reliance is not None:
        low, high = record.reliance.honesty_interval
        nearby = f"{record.reliance.honesty:.2f} ({low:.2f} to {high:.2f})"
        lower = record.honesty is not None and record.honesty < record.reliance.honesty
        found.append(("Honesty", f"{record.honesty:.2f}; on rows nearby {nearby}" if lower else nearby))
    return found


def _between(interval: tuple[float, float]) -> str:
    low, high = lower_text(100 * interval[0], 3), upper_text(100 * interval[1], 3)
    return f"{low} to {high} % of rows like them"


def _promise(report: AuditReport) -> str:
    purity, confidence = report.about.get("purity"), report.about.get("confidence")
    if purity is None or confidence is None:
        return "Each explanation that is called trusted or flat has a certified region of its own."
    return (
        "For each explanation that is called trusted or flat, taken by itself: with confidence "
        f"{confidence!r} it agrees with the model on at least {purity!r} of what is drawn within the limits "
        "of its own region; and the probability of calling an honest explanation dishonest or off-manifold "
        f"is at most {report.rules.error!r}."
    )


def _not_promised(report: AuditReport) -> list[str]:
    lines = [
        "The confidence is that of each explanation alone: of many certified ones, some may be wrong.",
        "Nothing is said beyond the limits of a region, of rows that were not audited, or of another model.",
        "An explanation that is not flagged may leave out what real rows nearby do not show.",
        "It is not said that the model is right, fair or causal: only that explanations and model agree.",
    ]
    if report.unfinished:
        lines.insert(0, f"The audit was cut off: {report.unfinished:,} explanations are not in it.")
    return lines


def _figures(report: AuditReport) -> list[tuple[str, str]]:
    """Medians over the explanations, and the worst of them."""
    columns: dict[str, list[float]] = {"coverage": [], "fidelity": [], "honesty": []}
    certified, evaluations = 0, 0
    for record in report.records:
        certified += bool(record.region)
        evaluations += record.evaluations
        for name, values in columns.items():
            value = getattr(record, name)
            if value is not None:
                values.append(value)
    found = [("Certified regions", f"{certified:,} of {len(report):,}")]
    found += [
        (f"Median {name}", f"{share_text(median(values))} (lowest {share_text(min(values))})")
        for name, values in columns.items()
        if values
    ]
    worst = report.worst(FLAGGED, WORST_SHOWN)
    if worst:
        found.append(("Worst", "; ".join(f"#{record.index} {record.verdict}" for record in worst)))
    return [*found, ("Cost", f"{evaluations:,} evaluations of the model")]


def _again(report: AuditReport) -> str:
    about = report.about
    names = (
        "purity",
        "confidence",
        "measure",
        "effort",
        "certifier",
        "max_evaluations",
        "agreement",
        "tolerance",
    )
    asked = [f"{name}={about[name]!r}" for name in names if about.get(name) is not None]
    rules = [
        f"{name}={value!r}"
        for name, value in vars(report.rules).items()
        if value != getattr(type(report.rules), name)
    ]
    given = ["explainer=explainer", "X=rows", "predict_fn=predict_fn", "training_data=X_train"]
    seed = about.get("random_state", 0)
    return f"audit({', '.join([*given, *asked, *rules, f'random_state={seed!r}'])})"
