"""The audit: which explanations can be trusted, and which cannot, with evidence on both sides."""

from lime_guarantee.auditing.assertion import assert_trusted
from lime_guarantee.auditing.compare import Change, AuditComparison
from lime_guarantee.auditing.judge import Rules
from lime_guarantee.auditing.record import VERDICTS, AuditRecord
from lime_guarantee.auditing.report import AuditReport, FlaggedExplanations
from lime_guarantee.auditing.run import audit

__all__ = [
    "VERDICTS",
    "AuditRecord",
    "AuditReport",
    "Change",
    "AuditComparison",
    "FlaggedExplanations",
    "Rules",
    "assert_trusted",
    "audit",
]
