"""The result of an audit."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lime_guarantee.auditing.compare import AuditComparison, compare
from lime_guarantee.auditing.facts import facts_of
from lime_guarantee.auditing.frames import COLUMNS, FEATURE_COLUMNS, feature_rows_of, row_of
from lime_guarantee.auditing.junit import junit_xml
from lime_guarantee.auditing.mlflow_log import log_to_mlflow
from lime_guarantee.auditing.record import FLAGGED, VERDICTS, AuditRecord
from lime_guarantee.auditing.stored import StoredRecords, scan
from lime_guarantee.auditing.verdict import Rules, definitions
from lime_guarantee.errors import GuaranteeError, InvalidInputError
from lime_guarantee.support.atomic_write import replacing
from lime_guarantee.support.imports import require
from lime_guarantee.version import __version__

if TYPE_CHECKING:
    from lime_guarantee.views.plots import FeaturesDisplay, ReachDisplay, VerdictsDisplay


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

    def __init__(self, message: str, records: Sequence[AuditRecord]) -> None:
        super().__init__(message)
        self.records = records


def check_verdicts(parameter: str, verdicts: Collection[str]) -> None:
    """Raise unless all of them are verdicts."""
    unknown = sorted(set(verdicts) - set(VERDICTS))
    if unknown:
        raise InvalidInputError(f"{parameter}: {unknown} are none of {list(VERDICTS)}.")


@dataclass(frozen=True, repr=False)
class AuditReport:
    """What an audit found, explanation by explanation.

    Parameters
    ----------
    records : tuple of AuditRecord, or StoredRecords
        In the order in which explanations were given. Those of `from_checkpoint` stay in their file, and each
        is read when it is asked for.
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

    records: Sequence[AuditRecord]
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
    def verdicts(self) -> list[str]:
        """The verdict of every explanation, in their order."""
        if isinstance(self.records, StoredRecords):
            return self.records.verdicts
        return [record.verdict for record in self.records]

    @property
    def counts(self) -> dict[str, int]:
        """How often each verdict was given, from the best to the worst."""
        found = Counter(self.verdicts)
        return {verdict: found[verdict] for verdict in VERDICTS}

    @property
    def rules(self) -> Rules:
        """What was asked of every explanation."""
        return Rules(**{rule.name: self.about.get(rule.name, rule.default) for rule in fields(Rules)})

    @property
    def definitions(self) -> dict[str, str]:
        """What each verdict means here, in a sentence, from the best to the worst."""
        return definitions(self.rules)

    @property
    def facts(self) -> dict[str, str]:
        """What was audited and asked, in words: model, data and their fingerprints, settings, seed."""
        return facts_of(self.about, self.version)

    @property
    def flagged(self) -> Sequence[AuditRecord]:
        """The records that are flagged, the worst first: all that are neither trusted nor flat."""
        return self.worst(FLAGGED)

    @property
    def unfinished(self) -> int:
        """How many explanations the audit has not come to: some only if it was cut off."""
        asked: int = self.about.get("explanations", len(self))
        return asked - len(self)

    def worst(self, verdicts: Collection[str] = VERDICTS, most: int | None = None) -> Sequence[AuditRecord]:
        """The records with these verdicts, the worst first, or the first of them."""
        wanted = [(-VERDICTS.index(v), i) for i, v in enumerate(self.verdicts) if v in verdicts]
        places = [i for _, i in sorted(wanted)[:most]]
        if isinstance(self.records, StoredRecords):
            return self.records.chosen(places)
        return tuple(self.records[i] for i in places)

    def summary(self) -> str:
        """A report in words: the counts, then the worst explanations and why."""
        total, counts = len(self.records), self.counts
        flagged = sum(counts[verdict] for verdict in FLAGGED)
        lines = [f"{counts['trusted']} of {total} explanations are trusted.", ""]
        if self.unfinished:
            lines.insert(1, f"The audit was cut off: {self.unfinished} explanations are not in it.")
        lines += [f"{count:>7,}  {verdict}" for verdict, count in counts.items() if count]
        shown = self.worst(FLAGGED, 10)
        if shown:
            lines += ["", *(f"#{record.index} {record.verdict}: {record.reason}" for record in shown)]
        if flagged > len(shown):
            lines.append(f"... and {flagged - len(shown)} more (see flagged).")
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
        check_verdicts("verdicts", verdicts)
        limits = {"honesty": honesty_below, "fidelity": fidelity_below, "coverage": coverage_below}
        limits = {name: limit for name, limit in limits.items() if limit is not None}
        bad = self.worst(verdicts or (() if limits else FLAGGED))
        if limits:
            known = {record.index for record in bad}
            low = (
                record for record in self.records if any(_is_below(record, *one) for one in limits.items())
            )
            bad = (*bad, *(record for record in low if record.index not in known))
        if bad:
            shown = "; ".join(f"#{record.index} {record.verdict}: {record.reason}" for record in bad[:3])
            raise FlaggedExplanations(f"{len(bad)} of {len(self)} explanations are flagged. {shown}", bad)

    def compare(self, earlier: AuditReport) -> AuditComparison:
        """What changed since an earlier audit of the same rows: a retrained model's, say.

        Parameters
        ----------
        earlier : AuditReport
            Of the same rows, in the same order; `from_json` and `from_checkpoint` bring one back.

        Returns
        -------
        AuditComparison
            Its `worse` has the explanations whose verdict is worse now, with their rows; see there for an
            example.
        """
        return compare(self, earlier)

    def to_junit(self, path: str | os.PathLike[str], *, fail_on: Collection[str] = ()) -> None:
        """Write a JUnit file, which pipelines read: a test case for every explanation.

        Parameters
        ----------
        path : path
            Written whole or not at all.
        fail_on : collection of str
            The verdicts that are failures; by default all that are flagged. What ended in an error is one.
        """
        check_verdicts("fail_on", fail_on)
        with replacing(path) as part, part.open("w", encoding="utf-8") as file:
            file.writelines(junit_xml(self, fail_on))

    def log_to_mlflow(self, *, prefix: str = "audit", artifact_path: str = "audit") -> None:
        """Log to MLflow's active run: figures as metrics, the page and the JSON as artefacts.

        What was asked (purity, confidence and so on) becomes parameters. Needs the extra ``mlflow``.

        Parameters
        ----------
        prefix : str
            What the names of metrics and parameters begin with: ``audit.trusted_share`` and so on.
        artifact_path : str
            The folder, among the run's artefacts, for ``audit.html`` and ``audit.json``, which has the
            certificates.
        """
        log_to_mlflow(self, prefix, artifact_path)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every explanation."""
        pandas = require("pandas", "AuditReport.to_frame", extra="pandas")
        return pandas.DataFrame([row_of(record) for record in self.records], columns=COLUMNS)

    def features_frame(self) -> Any:
        """A pandas DataFrame with a row for every explanation and feature."""
        pandas = require("pandas", "AuditReport.features_frame", extra="pandas")
        rows = [row for record in self.records for row in feature_rows_of(record)]
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

    def plot_features(self, *, ax: Any = None, max_features: int = 20) -> FeaturesDisplay:
        """Draw how far all explanations reach along every feature, coloured by verdict; needs matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default, in a new figure.
        max_features : int
            Of more features, so many of those with the shortest reach are shown.
        """
        from lime_guarantee.views.plots import FeaturesDisplay

        return FeaturesDisplay.from_report(self, max_features=max_features).plot(ax)

    def plot_verdicts(self, *, ax: Any = None) -> VerdictsDisplay:
        """Draw how often each verdict was given, on the axes given or in a new figure; needs matplotlib."""
        from lime_guarantee.views.plots import VerdictsDisplay

        return VerdictsDisplay.from_report(self).plot(ax)

    def to_json(self) -> str:
        """Everything, as JSON."""
        return "".join(self._json_parts())

    def _json_parts(self) -> Iterator[str]:
        """The same, record by record: all of them at once may not fit into memory."""
        head = json.dumps({"version": self.version, "about": dict(self.about)}, allow_nan=False)
        yield f'{head[:-1]}, "records": ['
        if isinstance(self.records, StoredRecords):
            lines = self.records.lines()
        else:
            lines = (json.dumps(record.to_dict(), allow_nan=False) for record in self.records)
        for i, line in enumerate(lines):
            yield f", {line}" if i else line
        yield "]}"

    @classmethod
    def from_checkpoint(cls, path: str | os.PathLike[str]) -> AuditReport:
        """The report of an audit's checkpoint, also of one that was cut off.

        Its records stay in the file, so keep that. A report of 100,000 explanations needs some hundred
        megabytes of memory, also while it is saved as JSON, CSV or Parquet or as a page.

        Examples
        --------
        >>> import tempfile
        >>> from lime_guarantee import Domain, Problem, SameValue, audit
        >>> def model(X):
        ...     return X[:, 0]
        >>> problem = Problem(model, model, SameValue(0.1), [0.5], Domain.from_bounds([0], [1]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     done = audit([problem], checkpoint=f"{folder}/audit.jsonl")
        ...     AuditReport.from_checkpoint(f"{folder}/audit.jsonl") == done
        True
        """
        found = scan(path)
        if found.about is None:
            raise InvalidInputError(f"path: {path} is no checkpoint of an audit: it has no first line.")
        return cls(found.records, found.about, found.about.get("version", __version__))

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
                with part.open("w", encoding="utf-8") as file:
                    file.writelines(self._json_parts())
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

    def to_certificate(self, path: str | os.PathLike[str] | None = None, *, index: int | None = None) -> str:
        """A sheet to print, sign and file: of the whole audit, or of one explanation.

        Parameters
        ----------
        path : path, optional
            The file to write it to, an HTML page, whole or not at all. Printed, it is one page of A4.
        index : int, optional
            The place of the explanation; by default the sheet is about the audit.

        Returns
        -------
        str
            The page.
        """
        from lime_guarantee.auditing.certificate import audit_certificate, record_certificate
        from lime_guarantee.views.html.page import written

        if index is None:
            return written(audit_certificate(self), path)
        record = next((record for record in self.records if record.index == index), None)
        if record is None:
            raise InvalidInputError(f"index: the report has no explanation {index}.")
        return written(record_certificate(record, self), path)

    def _repr_html_(self) -> str:
        from lime_guarantee.views.html.notebook import report_view

        return report_view(self)


def _is_below(record: AuditRecord, figure: str, limit: float | None) -> bool:
    """Whether a figure of the record is known, and too low."""
    found = getattr(record, figure)
    return found is not None and limit is not None and found < limit
