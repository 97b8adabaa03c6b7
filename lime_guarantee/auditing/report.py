"""The result of an audit."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lime_guarantee.auditing.record import FLAGGED, VERDICTS, AuditRecord
from lime_guarantee.errors import GuaranteeError, InvalidInputError
from lime_guarantee.region.report import extent_of
from lime_guarantee.support.atomic_write import replacing
from lime_guarantee.support.imports import require
from lime_guarantee.version import __version__

if TYPE_CHECKING:
    from lime_guarantee.views.plots import ReachDisplay, VerdictsDisplay


class FlaggedExplanations(GuaranteeError):  # noqa: N818 - it is what happened, not a mistake of the caller
    """Explanations were flagged that must not be; `records` has them.

    Examples
    --------
    >>> report = AuditReport((AuditRecord(0, "dishonest", "It leaves out a feature that matters."),), {})
    >>> try:
    ...     report.raise_if("dishonest", "off-manifold")
    ... except FlaggedExplanations as flagged:
    ...     [record.index for record in flagged.records]
    [0]
    """

    def __init__(self, message: str, records: tuple[AuditRecord, ...]) -> None:
        super().__init__(message)
        self.records = records


@dataclass(frozen=True, repr=False)
class AuditReport:
    """What an audit found, explanation by explanation.

    Parameters
    ----------
    records : tuple of AuditRecord
        In the order in which explanations were given.
    about : dict
        What was asked: rules, purity, confidence, seed and so on.
    version : str
        The version of this package.

    Examples
    --------
    >>> from lime_guarantee import Domain, Problem, SameValue, audit
    >>> def model(X):
    ...     return X[:, 0]
    >>> report = audit([Problem(model, model, SameValue(0.1), [0.5], Domain.from_bounds([0], [1]))])
    >>> report
    <AuditReport: 1 explanations: 1 trusted>
    >>> report.counts["dishonest"], len(report.flagged)
    (0, 0)
    >>> AuditReport.from_json(report.to_json()) == report
    True
    """

    records: tuple[AuditRecord, ...]
    about: Mapping[str, Any]
    version: str = __version__

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[AuditRecord]:
        return iter(self.records)

    def __getitem__(self, index: int) -> AuditRecord:
        return self.records[index]

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        found = ", ".join(f"{count} {verdict}" for verdict, count in self.counts.items() if count)
        return f"<AuditReport: {len(self)} explanations: {found or 'none'}>"

    @property
    def counts(self) -> dict[str, int]:
        """How often each verdict was given, from the best to the worst."""
        found = Counter(record.verdict for record in self.records)
        return {verdict: found[verdict] for verdict in VERDICTS}

    @property
    def flagged(self) -> tuple[AuditRecord, ...]:
        """The records that are flagged, the worst first: all that are neither trusted nor flat."""
        bad = [record for record in self.records if record.verdict in FLAGGED]
        return tuple(sorted(bad, key=lambda record: (-record.severity, record.index)))

    def summary(self) -> str:
        """A report in words: the counts, then the worst explanations and why."""
        total = len(self.records)
        lines = [f"{self.counts['trusted']} of {total} explanations are trusted.", ""]
        lines += [f"{count:>7,}  {verdict}" for verdict, count in self.counts.items() if count]
        shown = self.flagged[:10]
        if shown:
            lines += ["", *(f"#{record.index} {record.verdict}: {record.reason}" for record in shown)]
        if len(self.flagged) > len(shown):
            lines.append(f"... and {len(self.flagged) - len(shown)} more (see flagged).")
        return "\n".join(lines)

    def raise_if(
        self,
        *verdicts: str,
        honesty_below: float | None = None,
        fidelity_below: float | None = None,
        coverage_below: float | None = None,
    ) -> None:
        """Raise `FlaggedExplanations` if an explanation has one of these verdicts, or too low a figure.

        Parameters
        ----------
        *verdicts : str
            If neither these nor figures are given: all that are flagged. "flat" counts only if it is named.
        honesty_below, fidelity_below, coverage_below : float, optional
            The least honesty, share of faithful real rows in the region, and share of real rows in it.
        """
        unknown = sorted(set(verdicts) - set(VERDICTS))
        if unknown:
            raise InvalidInputError(f"verdicts: {unknown} are none of {list(VERDICTS)}.")
        limits = {"honesty": honesty_below, "fidelity": fidelity_below, "coverage": coverage_below}
        limits = {name: limit for name, limit in limits.items() if limit is not None}
        wanted = verdicts or (() if limits else FLAGGED)
        bad = tuple(
            record
            for record in self.records
            if record.verdict in wanted or any(_is_below(record, *limit) for limit in limits.items())
        )
        if bad:
            shown = "; ".join(f"#{record.index} {record.verdict}: {record.reason}" for record in bad[:3])
            raise FlaggedExplanations(f"{len(bad)} of {len(self)} explanations are flagged. {shown}", bad)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every explanation."""
        pandas = require("pandas", "AuditReport.to_frame", extra="pandas")
        return pandas.DataFrame([_row(record) for record in self.records], columns=COLUMNS)

    def features_frame(self) -> Any:
        """A pandas DataFrame with a row for every explanation and feature."""
        pandas = require("pandas", "AuditReport.features_frame", extra="pandas")
        rows = [row for record in self.records for row in _feature_rows(record)]
        return pandas.DataFrame(rows, columns=FEATURE_COLUMNS)

    def plot_reach(
        self, *, ax: Any = None, max_features: int = 30, max_explanations: int = 100
    ) -> ReachDisplay:
        """Draw the reach of every explanation along every feature; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default, in a new figure.
        max_features, max_explanations : int
            Of more features or explanations, so many of the worst are shown.
        """
        from lime_guarantee.views.plots import ReachDisplay

        display = ReachDisplay.from_report(self, max_features=max_features, max_explanations=max_explanations)
        return display.plot(ax)

    def plot_verdicts(self, *, ax: Any = None) -> VerdictsDisplay:
        """Draw how often each verdict was given, on the axes given or in a new figure; needs matplotlib."""
        from lime_guarantee.views.plots import VerdictsDisplay

        return VerdictsDisplay.from_report(self).plot(ax)

    def to_json(self) -> str:
        """Everything, as JSON."""
        data = {
            "version": self.version,
            "about": dict(self.about),
            "records": [record.to_dict() for record in self.records],
        }
        return json.dumps(data, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> AuditReport:
        """The report that `to_json` wrote."""
        data = json.loads(text)
        records = tuple(AuditRecord.from_dict(record) for record in data["records"])
        return cls(records, data["about"], data["version"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the report to a file, whole or not at all; JSON, or the table as CSV or Parquet."""
        target = Path(path)
        if target.suffix not in (".json", ".csv", ".parquet"):
            raise InvalidInputError(f"path: .json, .csv or .parquet is required; got {target.name!r}.")
        with replacing(target) as part:
            if target.suffix == ".json":
                part.write_text(self.to_json(), encoding="utf-8")
            elif target.suffix == ".csv":
                self.to_frame().to_csv(part, index=False)
            else:
                require("pyarrow", "Parquet files", extra="parquet")
                self.to_frame().to_parquet(part, index=False)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page with all verdicts, to sort and to filter; an explanation opens with its region and evidence.

        Parameters
        ----------
        path : path, optional
            The file to write it to, whole or not at all. It needs no other file, and no network.

        Returns
        -------
        str
            The page.
        """
        from lime_guarantee.views.html.audit_page import audit_page
        from lime_guarantee.views.html.page import written

        return written(audit_page(self), path)

    def _repr_html_(self) -> str:
        from lime_guarantee.views.html.notebook import report_view

        return report_view(self)


def _is_below(record: AuditRecord, figure: str, limit: float | None) -> bool:
    """Whether a figure of the record is known, and too low."""
    found = getattr(record, figure)
    return found is not None and limit is not None and found < limit


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
]


def _row(record: AuditRecord) -> dict[str, Any]:
    region, check = record.region, record.data_check
    row: dict[str, Any] = {"index": record.index, "verdict": record.verdict, "reason": record.reason}
    row["incomplete_features"] = ", ".join(f.feature for f in record.findings if f.incomplete)
    row.update(coverage=record.coverage, evaluations=record.evaluations)
    row.update(honesty=record.honesty, fidelity=record.fidelity)
    if record.coverage_interval is not None:
        row["coverage_low"], row["coverage_high"] = record.coverage_interval
    if check is not None and check.inside:
        row["fidelity_low"], row["fidelity_high"] = check.fidelity_interval
    if record.reliance is not None and region is not None:
        row["under_claimed"] = region.names[record.reliance.worst]
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


def _feature_rows(record: AuditRecord) -> list[dict[str, Any]]:
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
