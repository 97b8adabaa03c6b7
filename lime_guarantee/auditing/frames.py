"""Records as rows of tables."""

from __future__ import annotations

from typing import Any

from lime_guarantee.auditing.record import AuditRecord
from lime_guarantee.region.report import extent_of

COLUMNS = [
    "index",
    "verdict",
    "reason",
    "status",
    "label",
    "log10_volume",
    "share",
    "coverage",
    "coverage_low",
    "coverage_high",
    "fidelity",
    "fidelity_low",
    "fidelity_high",
    "honesty",
    "under_claimed",
    "gain",
    "lowest_reach",
    "lowest_reach_feature",
    "incomplete_features",
    "real_failing",
    "synthetic_failing",
    "evaluations",
    "row_id",
]


def row_of(record: AuditRecord) -> dict[str, Any]:
    """The row of one explanation."""
    region, check = record.region, record.data_check
    row: dict[str, Any] = {"index": record.index, "verdict": record.verdict, "reason": record.reason}
    row["incomplete_features"] = ", ".join(f.feature for f in record.findings if f.incomplete)
    row.update(coverage=record.coverage, evaluations=record.evaluations)
    row.update(honesty=record.honesty, fidelity=record.fidelity, row_id=record.row_id)
    if record.coverage_interval is not None:
        row["coverage_low"], row["coverage_high"] = record.coverage_interval
    if check is not None and check.inside:
        row["fidelity_low"], row["fidelity_high"] = check.fidelity_interval
    if record.under_claimed is not None and region is not None:
        row["under_claimed"] = region.names[record.under_claimed]
    if region is not None:
        row["gain"] = region.gain
    if check is not None:
        row.update(real_failing=check.real_rate, synthetic_failing=check.synthetic_rate)
    if region is not None:
        explained = region.explained
        row.update(
            status=region.status,
            label=None if explained is None else explained.label_name or explained.label,
        )
        if region:
            shortest = min(range(len(region.names)), key=lambda i: region.reach[i])
            row.update(
                log10_volume=region.log10_volume,
                share=region.share,
                lowest_reach=float(region.reach[shortest]),
                lowest_reach_feature=region.names[shortest],
            )
    return row


FEATURE_COLUMNS = [
    "index",
    "feature",
    "instance",
    "weight",
    "reach",
    "lower",
    "upper",
    "reliance",
    "reliance_low",
    "reliance_high",
    "claimed",
    "claimed_irrelevant",
    "incomplete",
    "failing_lower_bound",
    "break_below",
    "break_above",
]


def feature_rows_of(record: AuditRecord) -> list[dict[str, Any]]:
    """The rows of one explanation, one for every feature."""
    region = record.region
    if region is None:
        return []
    found = {finding.feature: finding for finding in record.findings}
    rows = []
    for i, axis in enumerate(region.domain.axes):
        finding = found.get(axis.name)
        value = region.instance[i]
        row: dict[str, Any] = {
            "index": record.index,
            "feature": axis.name,
            "instance": axis.value_entry(value),
            "weight": None if region.explained is None else region.explained.weights[i],
            "claimed_irrelevant": finding is not None,
            "incomplete": finding is not None and finding.incomplete,
        }
        if record.reliance is not None:
            low, high = record.reliance.intervals[i]
            row.update(reliance=record.reliance.shares[i], reliance_low=low, reliance_high=high)
            row["claimed"] = record.reliance.claimed[i]
        if region:
            row["reach"] = float(region.reach[i])
            lower, upper = axis.bounds_entry(extent_of(region, i))
            row.update(lower=lower, upper=upper)
        if finding is not None and finding.incomplete:
            row.update(
                failing_lower_bound=finding.failing_lower_bound,
                break_below=finding.break_below,
                break_above=finding.break_above,
            )
        rows.append(row)
    return rows
