"""The result of auditing one explanation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lime_guarantee.auditing.evidence import Finding
from lime_guarantee.auditing.need import Need
from lime_guarantee.auditing.own_row import OwnRow
from lime_guarantee.auditing.real_rows import DataCheck
from lime_guarantee.auditing.reliance import Reliance
from lime_guarantee.region.codec import from_plain, to_plain
from lime_guarantee.region.region import GuaranteeRegion

Verdict = Literal[
    "trusted", "flat", "narrow", "uncertified", "unfaithful", "dishonest", "off-manifold", "error"
]
"""From the best to the worst."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FLAGGED: tuple[Verdict, ...] = VERDICTS[2:]
"""What `AuditReport.flagged` lists: all that is neither trusted nor merely flat, which is a remark."""


@dataclass(frozen=True)
class AuditRecord:
    """What the audit says about one explanation.

    Parameters
    ----------
    index : int
        Its place among those audited.
    verdict : str
        One of `VERDICTS`.
    reason : str
        One sentence.
    region : GuaranteeRegion or None
        None where the row ended in an error.
    findings : tuple of Finding
        One for every feature that the explanation calls irrelevant.
    data_check : DataCheck or None
        What real rows say; None where none are known, or none lies in the region.
    coverage : float or None
        Share of the real rows inside the region.
    evaluations : int
        Rows asked of the model, for the region and for the evidence.
    coverage_interval : pair of float or None
        The share of rows like these, with confidence 0.95. Training rows have a part in the region, so that
        its lower end flatters: of other rows there may be fewer.
    reliance : Reliance or None
        What the model relies on near the instance, beside what the explanation claims; None for words and
        superpixels.
    row_id : str or None
        What the row is called, where rows came with names: the index of their DataFrame.
    needs : tuple of Need
        What is needed to tell the model's answers to real rows as they are, of some features; the most
        under-claimed first.
    shared_evaluations : int
        Real rows that were asked once for all explanations of the model: they are not in `evaluations`.
    own_row : OwnRow or None
        How far the answer to this very row moves with each of its cells; None where no real rows are known.
    """

    index: int
    verdict: Verdict
    reason: str
    region: GuaranteeRegion | None = None
    findings: tuple[Finding, ...] = ()
    data_check: DataCheck | None = None
    coverage: float | None = None
    evaluations: int = 0
    coverage_interval: tuple[float, float] | None = None
    reliance: Reliance | None = None
    row_id: str | None = None
    needs: tuple[Need, ...] = ()
    shared_evaluations: int = 0
    own_row: OwnRow | None = None

    @property
    def honesty(self) -> float | None:
        """From 0 to 1: the less, the more a feature is under-claimed; None if not measured.

        The least of `Reliance.honesty`, `OwnRow.honesty` and every `Need.honesty`.
        """
        return min((honesty for honesty, _ in self._measured), default=None)

    @property
    def under_claimed(self) -> int | None:
        """The position of the feature that `honesty` is about; None if not measured."""
        return min(self._measured, key=lambda found: found[0])[1] if self._measured else None

    @property
    def _measured(self) -> list[tuple[float, int]]:
        """Every honesty that was measured, with its feature."""
        found = [(part.honesty, part.worst) for part in (self.reliance, self.own_row) if part is not None]
        return found + [(need.honesty, need.feature) for need in self.needs]

    def denied(self, min_honesty: float) -> tuple[int, ...]:
        """Positions of features that the answers go with and that are not claimed, where so much is asked.

        First what is relied on nearby, then what the row itself shows, then what is needed.
        """
        relied = () if self.reliance is None else self.reliance.under_claimed(1.0 - min_honesty)
        moved = () if self.own_row is None else self.own_row.denied(1.0 - min_honesty)
        needed = (need.feature for need in self.needs if need.honesty < min_honesty)
        return tuple(dict.fromkeys((*relied, *moved, *needed)))

    @property
    def fidelity(self) -> float | None:
        """Share of the real rows in the region on which the explanation is faithful; None without any."""
        check = self.data_check
        return check.fidelity if check is not None and check.inside else None

    @property
    def missed_by(self) -> float | None:
        """By how much an unfaithful explanation misses the model at its own instance; None for others."""
        explained = None if self.region is None else self.region.explained
        if self.verdict != "unfaithful" or explained is None or not math.isfinite(explained.gap):
            return None
        return explained.gap

    @property
    def severity(self) -> int:
        """0 for trusted, and the higher the worse."""
        return VERDICTS.index(self.verdict)

    def _repr_html_(self) -> str:
        from lime_guarantee.views.html.notebook import record_view

        return record_view(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AuditRecord:
        """The record that `to_dict` described."""
        return from_plain(data, cls)
