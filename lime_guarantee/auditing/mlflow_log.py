"""A report in MLflow: figures as metrics, the page and the JSON as artefacts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.support.imports import require

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport

PARAMETERS = ("explanations", "purity", "confidence", "measure", "certifier", "random_state", "version")


def log_to_mlflow(report: AuditReport, prefix: str, artifact_path: str) -> None:
    """Write to the active run; without one, MLflow starts one."""
    mlflow = require("mlflow", "AuditReport.log_to_mlflow", extra="mlflow")
    mlflow.log_metrics({f"{prefix}.{name}": value for name, value in metrics(report).items()})
    known = {name: report.about[name] for name in PARAMETERS if name in report.about}
    mlflow.log_params({f"{prefix}.{name}": value for name, value in known.items()})
    with tempfile.TemporaryDirectory() as folder:
        report.to_html(Path(folder) / "audit.html")
        report.save(Path(folder) / "audit.json")
        mlflow.log_artifacts(folder, artifact_path)


def metrics(report: AuditReport) -> dict[str, float]:
    """The figures of a report: how often each verdict was given, and what the regions are like."""
    found: dict[str, float] = {f"{verdict}_count": count for verdict, count in report.counts.items()}
    if len(report) == 0:
        return found
    found["trusted_share"] = report.counts["trusted"] / len(report)
    figures = [_figures(record) for record in report]
    for name in ("coverage", "share", "lowest_reach"):
        values = [one[name] for one in figures if one[name] is not None]
        if values:
            found[f"{name}_median"] = float(np.median(values))
    found["evaluations"] = float(sum(one["evaluations"] for one in figures))
    return found


def _figures(record: Any) -> dict[str, Any]:
    certified = bool(record.region)
    return {
        "coverage": record.coverage,
        "share": record.region.share if certified else None,
        "lowest_reach": float(record.region.reach.min()) if certified else None,
        "evaluations": record.evaluations,
    }
