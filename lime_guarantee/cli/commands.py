"""What the commands ``explain`` and ``audit`` do: files in, a region or a report out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lime_guarantee.adapters.registry import adapter_of_explainer
from lime_guarantee.api import guarantee_region
from lime_guarantee.auditing import VERDICTS, AuditReport, audit
from lime_guarantee.auditing.record import FLAGGED
from lime_guarantee.auditing.reexplain import explain_row
from lime_guarantee.cli.coding import CodedFunction, Coding, FrameFunction
from lime_guarantee.cli.load_model import import_by_name, load_model
from lime_guarantee.cli.question import FIRST_ROWS, ask_first, check_columns, chosen_method, class_names
from lime_guarantee.cli.tables import read_table, same_columns
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.settings import Settings
from lime_guarantee.support.imports import require


def explain_one(options: argparse.Namespace) -> GuaranteeRegion:
    """Explain one row, and find its region."""
    job = _Job(options)
    if not 0 <= options.row < len(job.rows):
        raise InvalidInputError(
            f"--row: a number from 0 to {len(job.rows) - 1} is required; got {options.row}."
        )
    row = job.rows.iloc[options.row] if hasattr(job.rows, "iloc") else job.rows[options.row]
    explanation = explain_row(job.explainer, row, job.predict_fn, job.explain_kwargs, job.known, options.seed)
    return guarantee_region(explanation, settings=job.settings, **job.asked)


def run_audit(options: argparse.Namespace) -> AuditReport:
    """Audit all rows; the results and the checkpoint are in the folder."""
    unknown = sorted(set(options.fail_on) - set(VERDICTS))
    if unknown:
        raise InvalidInputError(f"--fail-on: {', '.join(unknown)} are none of {', '.join(VERDICTS)}.")
    options.fail_on = options.fail_on or tuple(verdict for verdict in FLAGGED if verdict != "error")
    job = _Job(options)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    report = audit(
        explainer=job.explainer,
        X=job.rows,
        predict_fn=job.predict_fn,
        training_data=job.known,
        data=job.data,
        explain_kwargs=job.explain_kwargs,
        random_state=options.seed,
        settings=job.settings,
        n_jobs=options.jobs,
        checkpoint=out / "checkpoint.jsonl",
        progress=not options.no_progress,
        **job.asked,
    )
    report.save(out / "audit.json")
    report.save(out / "audit.csv")
    report.to_html(out / "audit.html")
    if options.junit is not None:
        report.to_junit(options.junit, fail_on=options.fail_on)
    if options.certificate is not None:
        report.to_certificate(options.certificate)
    return report


class _Job:
    """Model, data and explainer, as the options name them."""

    data: Any
    rows: Any
    known: Any
    """What an adapter is told of the data: it may be the data."""

    def __init__(self, options: argparse.Namespace) -> None:
        data, rows = read_table(options.data, "--data"), read_table(options.rows, "--rows")
        same_columns(data, rows, options.data, options.rows)
        model = load_model(options.model, trust_pickle=options.trust_pickle, trust_types=options.trust_type)
        check_columns(model, list(data.columns), options.data)
        method = chosen_method(model, regression=options.regression, method=options.method)
        self.regression = options.regression or method in ("predict", "decision_function")
        ask = model if method is None else getattr(model, method)
        coding = Coding.of(data, rows)
        with_frames = bool(coding.words) or getattr(model, "feature_names_in_", None) is not None
        first = data.iloc[:FIRST_ROWS]
        ask_first(ask, first if with_frames else first.to_numpy(), regression=self.regression)
        self.seed, self.explain_kwargs = options.seed, dict[str, Any]()
        if ":" in options.explainer:
            self.predict_fn = FrameFunction(ask, coding) if with_frames else ask
            self._use_own(options.explainer, data, rows, words=bool(coding.words))
        else:
            self.predict_fn = CodedFunction(ask, coding) if with_frames else ask
            self.data, self.rows = coding.codes(data), coding.codes(rows)
            self.known = coding.training_data(self.data)
            self.explainer = self._made(options.explainer, coding, class_names(model))
        label = options.label
        self.asked = {
            "agreement": options.agreement,
            "tolerance": options.tolerance,
            "label": int(label) if label is not None and label.isdecimal() else label,
        }
        self.settings = _settings(options)

    def _use_own(self, name: str, data: Any, rows: Any, *, words: bool) -> None:
        """Take an explainer of the user's, who is given the tables as they are."""
        made: Any = import_by_name(name, "--explainer")
        self.explainer = made(data, self.predict_fn)
        adapter_of_explainer(self.explainer)  # raises if there is none
        self.data, self.rows = (data, rows) if words else (data.to_numpy(), rows.to_numpy())
        self.known = self.data

    def _made(self, kind: str, coding: Coding, classes: list[str] | None) -> Any:
        """LIME's or shap's explainer of coded rows."""
        if kind == "lime":
            lime = require("lime.lime_tabular", "--explainer lime", extra="lime")
            if not self.regression:
                self.explain_kwargs["top_labels"] = 1
            return lime.LimeTabularExplainer(
                self.data,
                mode="regression" if self.regression else "classification",
                feature_names=coding.columns,
                categorical_features=list(coding.words) or None,
                categorical_names=coding.names or None,
                class_names=classes,
                random_state=self.seed,
            )
        if kind == "shap":
            shap = require("shap", "--explainer shap", extra="shap")
            self.explain_kwargs["silent"] = True
            masker = shap.maskers.Independent(self.data)
            return shap.PermutationExplainer(
                self.predict_fn, masker, feature_names=coding.columns, seed=self.seed
            )
        raise InvalidInputError(f"--explainer: lime, shap or module:function is required; got {kind!r}.")


def _settings(options: argparse.Namespace) -> Settings:
    return Settings(
        purity=options.purity,
        confidence=options.confidence,
        search=options.search,
        effort=options.effort,
        measure=options.measure,
        certifier=options.certifier,
        max_evaluations=options.max_evaluations,
        batch_rows=options.batch_rows,
        random_state=options.seed,
    )
