"""The audit: which explanations can be trusted, and which cannot, with evidence on both sides."""

from lime_guarantee.auditing.assertion import assert_trusted
from lime_guarantee.auditing.compare import AuditComparison, Change
from lime_guarantee.auditing.record import VERDICTS, AuditRecord
from lime_guarantee.auditing.report import AuditReport, FlaggedExplanations
from lime_guarantee.auditing.run import audit
from lime_guarantee.auditing.verdict import Rules

__all__ = [
    "VERDICTS",
    "AuditComparison",
    "AuditRecord",
    "AuditReport",
    "Change",
    "FlaggedExplanations",
    "Rules",
    "assert_trusted",
    "audit",
]
