"""The records of an audit as its page has them: columns for the table, and what opens, packed.

Ten thousand explanations of thirty features make forty megabytes of JSON. So what the table shows, sorts,
searches and groups by is kept by columns; what an explanation shows when it is opened is compressed, some
explanations together, and unpacked by the page when one of them is asked for.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lime_guarantee.region.report import in_presence
from lime_guarantee.space.axis import Axis
from lime_guarantee.views.feature_row import shown_order
from lime_guarantee.views.html.audit_detail import detail_of, table_cell

if TYPE_CHECKING:
    from lime_guarantee.auditing.record import AuditRecord
    from lime_guarantee.region.region import GuaranteeRegion

TOGETHER = 40
"""Explanations that are packed together: some ten milliseconds to unpack."""

VALUES_SHOWN = 3
"""Features whose values the table shows in every row: those with the largest weights."""


@dataclass(eq=False)
class Group:
    """Explanations of the same features: a table has one, texts have one each.

    Parameters
    ----------
    names : tuple of str
    presence : bool
        Whether the features are parts of the instance.
    axes : tuple of Axis
        Those of the first record.
    rows : list
        The instance of every record, as numbers and texts.
    """

    names: tuple[str, ...]
    presence: bool
    axes: tuple[Axis, ...]
    rows: list[list[Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """The names, and the values of every feature: numbers, or labels and their places."""
        columns = [] if self.presence else [_coded(column) for column in zip(*self.rows, strict=True)]
        return {"names": list(self.names), "presence": self.presence, "columns": columns}


@dataclass(eq=False)
class AuditColumns:
    """What the table knows of every record, column by column; `None` where nothing is known.

    Parameters
    ----------
    index, row_id, verdict, label, reason
        As in the record.
    coverage, fidelity, honesty, reach : lists of float or None
        What real rows say, and how far the region reaches along its shortest feature.
    gap : list of float or None
        By how much an unfaithful explanation misses the model at its own instance.
    shortest : list of int or None
        The position of that feature.
    left_out, under_claimed : lists of lists of int
        Positions of features that matter beyond the region though the explanation leaves them out, and of
        those that the model is shown to rely on more than the rules allow.
    group, place : lists of int or None
        The group of features, and the place of the record's values in it.
    largest : lists of lists of int
        Positions of the features with the largest weights.
    """

    index: list[int] = field(default_factory=list)
    row_id: list[str | None] = field(default_factory=list)
    verdict: list[str] = field(default_factory=list)
    label: list[str | None] = field(default_factory=list)
    reason: list[str] = field(default_factory=list)
    coverage: list[float | None] = field(default_factory=list)
    fidelity: list[float | None] = field(default_factory=list)
    honesty: list[float | None] = field(default_factory=list)
    reach: list[float | None] = field(default_factory=list)
    gap: list[float | None] = field(default_factory=list)
    shortest: list[int | None] = field(default_factory=list)
    left_out: list[list[int]] = field(default_factory=list)
    under_claimed: list[list[int]] = field(default_factory=list)
    group: list[int | None] = field(default_factory=list)
    place: list[int | None] = field(default_factory=list)
    largest: list[list[int]] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    packed: list[str] = field(default_factory=list)
    _known: dict[tuple[tuple[str, ...], bool], int] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[AuditRecord], allowed_gap: float) -> AuditColumns:
        """Read records, one after the other; none of them is held.

        Parameters
        ----------
        records : iterable of AuditRecord
        allowed_gap : float
            By how much a feature may be relied on beyond what is claimed.
        """
        columns, waiting = cls(), list[Any]()
        for record in records:
            columns._add(record, allowed_gap)
            waiting.append(detail_of(record))
            if len(waiting) == TOGETHER:
                columns.packed.append(_packed(waiting))
                waiting = []
        if waiting:
            columns.packed.append(_packed(waiting))
        return columns

    def _add(self, record: AuditRecord, allowed_gap: float) -> None:
        region = record.region
        self.index.append(record.index)
        self.row_id.append(record.row_id)
        self.verdict.append(record.verdict)
        self.reason.append(record.reason)
        self.coverage.append(_short(record.coverage) if region else None)  # without a region, of nothing
        self.fidelity.append(_short(record.fidelity))
        self.honesty.append(_short(record.honesty))
        self.under_claimed.append(list(record.denied(1.0 - allowed_gap)))
        incomplete = [finding.feature for finding in record.findings if finding.incomplete]
        self.left_out.append([] if region is None else [region.names.index(name) for name in incomplete])
        explained = None if region is None else region.explained
        self.label.append(None if explained is None else explained.label_name or explained.kind)
        self.gap.append(_short(record.missed_by))
        shortest = int(region.reach.argmin()) if region else None
        self.shortest.append(shortest)
        self.reach.append(_short(float(region.reach[shortest])) if region and shortest is not None else None)
        self._add_values(region)

    def _add_values(self, region: GuaranteeRegion | None) -> None:
        if region is None:
            self.group.append(None)
            self.place.append(None)
            self.largest.append([])
            return
        key = region.names, in_presence(region)
        if key not in self._known:
            self._known[key] = len(self.groups)
            self.groups.append(Group(*key, region.domain.axes))
        group = self.groups[self._known[key]]
        self.group.append(self._known[key])
        self.place.append(len(group.rows))
        pairs = zip(region.domain.axes, region.instance.tolist(), strict=True)
        group.rows.append([] if group.presence else [table_cell(axis, value) for axis, value in pairs])
        first = [] if group.presence else shown_order(region, parts_in_place=True)[:VALUES_SHOWN]
        self.largest.append(first)

    def to_dict(self, verdicts: list[str]) -> dict[str, Any]:
        """What the page's script reads: short columns, texts that repeat kept once."""
        return {
            "verdicts": verdicts,
            "index": self.index,
            "rowId": self.row_id if any(name is not None for name in self.row_id) else None,
            "verdict": [verdicts.index(verdict) for verdict in self.verdict],
            "label": _coded(self.label),
            "reason": self.reason,
            "coverage": self.coverage,
            "fidelity": self.fidelity,
            "honesty": self.honesty,
            "gap": self.gap,
            "reach": self.reach,
            "shortest": self.shortest,
            "leftOut": self.left_out,
            "underClaimed": self.under_claimed,
            "group": self.group,
            "place": self.place,
            "largest": self.largest,
            "groups": [group.to_dict() for group in self.groups],
            "together": TOGETHER,
        }


def _short(share: float | None) -> float | None:
    """A share to five digits; 1 only if it is all."""
    if share is None:
        return None
    short = float(f"{share:.5g}")
    return 0.99999 if short >= 1.0 > share else short


def _coded(column: Iterable[Any]) -> dict[str, Any]:
    """A column of numbers as it is; of texts, every text once, and the place of each."""
    cells = list(column)
    if all(cell is None or not isinstance(cell, str) for cell in cells):
        return {"numbers": cells}
    labels = list(dict.fromkeys(cell for cell in cells if cell is not None))
    places = {label: place for place, label in enumerate(labels)}
    return {
        "labels": [str(label) for label in labels],
        "codes": [None if cell is None else places[cell] for cell in cells],
    }


def _packed(details: list[Any]) -> str:
    """Compressed JSON, in letters that a page can hold."""
    rows = [None if detail is None else detail.pop("rows") for detail in details]
    text = json.dumps([details, rows], allow_nan=False, separators=(",", ":"))  # like beside like
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()
