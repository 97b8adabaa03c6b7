"""What an explanation shows when it is opened on an audit's page: its region, and the evidence in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from lime_guarantee.region.report import (
    answer,
    evidence,
    lower_text,
    share_text,
    upper_text,
    worth_lines,
)
from lime_guarantee.space.axis import Axis
from lime_guarantee.space.number_text import number_text
from lime_guarantee.views.feature_row import FeatureRow, feature_rows, shown_order

if TYPE_CHECKING:
    from lime_guarantee.auditing.evidence import Finding
    from lime_guarantee.auditing.need import Need
    from lime_guarantee.auditing.own_row import OwnRow
    from lime_guarantee.auditing.real_rows import DataCheck, Said
    from lime_guarantee.auditing.record import AuditRecord
    from lime_guarantee.auditing.reliance import Reliance
    from lime_guarantee.region.region import GuaranteeRegion

MOST_DIFFERENCES = 8
"""Features by which a row is told from the instance; real rows differ in nearly all of them."""


def detail_of(record: AuditRecord) -> dict[str, Any] | None:
    """All that is shown of a record besides its row; None without a region."""
    region = record.region
    if region is None:
        return None
    rows = feature_rows(region, shown_order(region, parts_in_place=True))
    return {
        "answer": answer(region),
        "worth": worth_lines(region),
        "evidence": evidence(region),
        "certified": bool(region),
        "rows": [_row(row, region.instance[row.position]) for row in rows],
        "findings": [_finding(finding, region) for finding in record.findings if finding.draws],
        "real": _on_real_rows(record, region),
    }


def table_cell(axis: Axis, value: Any) -> float | int | str | None:
    """A value as the table has it: a number where it is its own coordinate, else its text."""
    if not (axis.ordered and axis.values_are_coordinates and isinstance(value, int | float)):
        return axis.text(value)
    if not math.isfinite(value):
        return None
    return int(value) if axis.has_cells else float(f"{value:.4g}")


def _row(row: FeatureRow, value: Any) -> list[Any]:
    """A feature, as short as can be: there are a great many of them."""
    bar = row.bar_in_shares
    own = row.instance_text
    shown = [
        row.position,
        None if own == str(table_cell(row.axis, value)) and "e" not in own else own,  # the table has it
        row.weight_text,
        row.extent,
        row.reach_text,
        None if bar is None else [round(1_000 * place) for place in (bar.start, bar.end, bar.tick)],
        int(row.may_vary),
    ]
    return [*shown, [[label, int(allowed)] for label, allowed in row.choices]] if row.choices else shown


def _finding(finding: Finding, region: GuaranteeRegion) -> dict[str, Any]:
    """A feature that the explanation leaves out and the region is short along, in words."""
    failed = f"{finding.failures:,} of {finding.draws:,} points drawn were not faithful"
    if finding.incomplete:
        failed += f": at least {lower_text(100 * finding.failing_lower_bound, 3)} % of what was drawn there"
    position = region.names.index(finding.feature)
    axis = region.domain.axes[position]
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
        "feature": position,
        "incomplete": finding.incomplete,
        "lines": lines,
        "examples": _examples(finding.counterexamples, finding.answers, region),
    }


def _on_real_rows(record: AuditRecord, region: GuaranteeRegion) -> dict[str, Any] | None:
    """What real rows say, and what the model relies on there, in words; None if nothing is known."""
    check, reliance = record.data_check, record.reliance
    if check is None and reliance is None:
        return None
    found: dict[str, Any] = {"lines": [], "examples": [], "swaps": []}
    if check is not None:
        found["lines"].append(_check(check))
        found["examples"] = _examples(check.rows, check.answers, region)
    if reliance is not None:
        found["lines"].append(_reliance(reliance, region))
        found["swaps"] = _swaps(reliance, region)
    if record.own_row is not None:
        found["lines"].append(_own_row(record.own_row, region))
    if record.needs and record.needs[0].lower > 0:
        found["lines"].append(_need(record.needs[0], region))
    return found


def _own_row(own: OwnRow, region: GuaranteeRegion) -> str:
    """The cell of the row with which the answer moves most beyond what is claimed, in words."""
    worst = own.worst
    return (
        f"In this very row, with {region.names[worst]!r} from the {own.cells} real rows that are most alike "
        f"elsewhere, the model's answer moves by {share_text(own.changes[worst])} of its range in the mean, "
        f"and the explanation claims {share_text(own.claimed[worst])}."
    )


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


def _swaps(reliance: Reliance, region: GuaranteeRegion) -> list[list[Any]]:
    """Real rows in which one cell was swapped: the feature, its two values, what changed."""
    axis, i = region.domain.axes[reliance.worst], reliance.worst
    swaps = (
        (i, axis.text(swap.row[i]), axis.text(swap.swapped[i]), number_text(float(swap.change)))
        for swap in reliance.examples
    )
    return [list(swap) for swap in dict.fromkeys(swaps)]


def _check(check: DataCheck) -> str:
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
    return f"{line}."


def _examples(
    rows: tuple[tuple[Any, ...], ...], answers: tuple[Said, ...], region: GuaranteeRegion
) -> list[dict[str, Any]]:
    """Rows by what differs from the instance, each with what was said about it."""
    said = [said_text(one, region) for one in answers] or [""] * len(rows)
    return [{**_differences(row, region), "said": text} for row, text in zip(rows, said, strict=True)]


def _differences(row: tuple[Any, ...], region: GuaranteeRegion) -> dict[str, Any]:
    """Where a row is not as the instance, the farthest first: features, values, and how many more."""
    axes, found = region.domain.axes, []
    for i, (own, value) in enumerate(zip(region.instance.tolist(), row, strict=True)):
        if value == own or (value != value and own != own):
            continue
        numbers = axes[i].values_are_coordinates and isinstance(value, float) and isinstance(own, float)
        found.append((abs(value - own) / axes[i].width if numbers else 1.0, i, value))
    found.sort(key=lambda one: -one[0])
    shown = [[i, _unlike(axes[i], value, region.instance[i])] for _, i, value in found[:MOST_DIFFERENCES]]
    return {"differs": shown, "more": len(found) - len(shown)}


def _unlike(axis: Axis, value: Any, own: Any) -> str:
    """A value in words that are not those of the instance's own."""
    text = axis.text(value)
    return text if text != axis.text(own) else str(value)


def said_text(said: Said, region: GuaranteeRegion) -> str:
    """What the model and the explanation say about a row, in words."""
    model, surrogate = said
    explained = region.explained
    if len(model) == 1:
        name = None if explained is None else explained.label_name
        about = "" if name is None else f" for {name!r}"
        return f"the model says {model[0]:.4g}{about}, the explanation {surrogate[0]:.4g}"
    chosen, other = (max(range(len(scores)), key=scores.__getitem__) for scores in said)
    own = None if explained is None or explained.label_name is None else explained.label
    names = [repr(explained.label_name) if explained and k == own else f"class {k}" for k in (chosen, other)]
    also = "" if chosen == other else f" and chooses {names[1]}"
    return f"the model says {model[chosen]:.4g} for {names[0]}, the explanation {surrogate[chosen]:.4g}{also}"
