"""The result of auditing one explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from lime_guarantee.auditing.evidence import Finding
from lime_guarantee.auditing.real_rows import DataCheck
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.space.tables import from_json, to_json

Verdict = Literal["trusted", "narrow", "uncertified", "unfaithful", "dishonest", "off-manifold", "error"]
"""From the best to the worst."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FLAGGED: tuple[Verdict, ...] = VERDICTS[1:]
"""What `AuditReport.flagged` lists: all that is not trusted."""


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
        None where no data was given.
    coverage : float or None
        Share of the data inside the region.
    evaluations : int
        Rows asked of the model, for the region and for the evidence.
    """

    index: int
    verdict: Verdict
    reason: str
    region: GuaranteeRegion | None = None
    findings: tuple[Finding, ...] = ()
    data_check: DataCheck | None = None
    coverage: float | None = None
    evaluations: int = 0

    @property
    def severity(self) -> int:
        """0 for trusted, and the higher the worse."""
        return VERDICTS.index(self.verdict)

    def _repr_html_(self) -> str:
        from lime_guarantee.views.html.notebook import record_view

        return record_view(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything, in types that JSON has."""
        return {
            "index": self.index,
            "verdict": self.verdict,
            "reason": self.reason,
            "region": None if self.region is None else self.region.to_dict(),
            "findings": [_plain(asdict(finding)) for finding in self.findings],
            "data_check": None if self.data_check is None else _plain(asdict(self.data_check)),
            "coverage": self.coverage,
            "evaluations": self.evaluations,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AuditRecord:
        """The record that `to_dict` described."""
        return cls(
            **{
                **data,
                "region": None if data["region"] is None else GuaranteeRegion.from_dict(data["region"]),
                "findings": tuple(Finding(**_tuples(finding)) for finding in data["findings"]),
                "data_check": None
                if data["data_check"] is None
                else DataCheck(**_tuples(data["data_check"])),
            }
        )


def _plain(value: Any) -> Any:
    """Tuples as lists, NaN as JSON can hold it."""
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return to_json(value)


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    def back(value: Any) -> Any:
        return tuple(back(v) for v in value) if isinstance(value, list) else from_json(value)

    return {key: back(value) for key, value in data.items()}
