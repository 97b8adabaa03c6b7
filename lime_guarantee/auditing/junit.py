"""A report for pipelines: JUnit's XML, which all of them read, and annotations, which GitHub shows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from lime_guarantee.auditing.record import FLAGGED, AuditRecord

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport

NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

MOST_ANNOTATIONS = 10
"""Of each kind: GitHub shows no more of a step."""


def junit_xml(report: AuditReport, fail_on: Collection[str] = ()) -> Iterator[str]:
    """The lines of a JUnit file: a test case an explanation; it fails if its verdict is one of these."""
    wanted = set(fail_on or FLAGGED) - {"error"}
    counts = report.counts
    failed = sum(counts[verdict] for verdict in wanted)
    sums = f'tests="{len(report)}" failures="{failed}" errors="{counts["error"]}" skipped="0"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites {sums}>\n<testsuite name="lime-guarantee" {sums}>\n'
    for place, verdict in enumerate(report.verdicts):
        record = report[place] if verdict == "error" or verdict in wanted else None
        yield _case(place if record is None else record.index, record)
    yield "</testsuite>\n</testsuites>\n"


def _case(index: int, record: AuditRecord | None) -> str:
    start = f'<testcase classname="lime_guarantee.audit" name="explanation {index}"'
    if record is None:
        return f"{start}/>\n"
    kind = "error" if record.verdict == "error" else "failure"
    said = quoteattr(NOT_IN_XML.sub("\ufffd", record.reason))
    return f'{start}><{kind} type="{record.verdict}" message={said}/></testcase>\n'


def github_annotations(
    report: AuditReport, fail_on: Collection[str] = (), rows: str | None = None
) -> Iterator[str]:
    """Lines that GitHub turns into annotations: errors for what fails, warnings for what else is flagged.

    Parameters
    ----------
    report : AuditReport
    fail_on : collection of str
        The verdicts that fail; by default all that are flagged.
    rows : str, optional
        The CSV file of the rows, so that annotations stand at their lines.
    """
    failing = set(fail_on or FLAGGED) | {"error"}
    for level, verdicts in (("error", failing), ("warning", set(FLAGGED) - failing)):
        for record in report.worst(verdicts, MOST_ANNOTATIONS):
            place = "" if rows is None else f"file={_property(rows)},line={record.index + 2},"
            title = f"Explanation {record.index}: {record.verdict}"
            yield f"::{level} {place}title={_property(title)}::{_message(record.reason)}"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report.counts.items() if count)
    yield f"::notice title=Audit of explanations::{_message(f'{len(report)} explanations: {counts}')}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
