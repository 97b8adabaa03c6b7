"""What the commands ``explain`` and ``audit`` do: files in, a region or a report out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lime_guarantee.adapters.registry import adapter_of_explainer
from lime_guarantee.api import guarantee_region
from lime_guarantee.auditing import VERDICTS, AuditReport, audit
from lime_guarantee.auditing.reexplain import explain_row
from lime_guarantee.cli.load_model import import_by_name, is_regression, load_model, predict_function
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
    explanation = explain_row(
        job.explainer, job.rows[options.row], job.predict_fn, job.explain_kwargs, job.data, options.seed
    )
    return guarantee_region(explanation, settings=job.settings, **job.asked)


def run_audit(options: argparse.Namespace) -> AuditReport:
    """Audit all rows; the results and the checkpoint are in the folder."""
    unknown = sorted(set(filter(None, options.fail_on.split(","))) - set(VERDICTS))
    if unknown:
        raise InvalidInputError(f"--fail-on: {', '.join(unknown)} are none of {', '.join(VERDICTS)}.")
    job = _Job(options)
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    report = audit(
        explainer=job.explainer,
        X=job.rows,
        predict_fn=job.predict_fn,
        training_data=job.data,
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
    return report


class _Job:
    """Model, data and explainer, as the options name them."""

    def __init__(self, options: argparse.Namespace) -> None:
        data, rows = _read(options.data, "--data"), _read(options.rows, "--rows")
        if list(data.columns) != list(rows.columns):
            raise InvalidInputError(
                f"--rows: the columns of {options.rows} must be those of {options.data}, in the same order."
            )
        model = load_model(options.model, trust_pickle=options.trust_pickle, trust_types=options.trust_type)
        regression = options.regression or is_regression(model)
        self.predict_fn = predict_function(model, regression=regression)
        self.data, self.rows = data.to_numpy(), rows.to_numpy()
        names = [str(name) for name in data.columns]
        self.explain_kwargs: dict[str, Any] = {}
        if options.explainer == "lime":
            lime = require("lime.lime_tabular", "--explainer lime", extra="lime")
            self.explainer = lime.LimeTabularExplainer(
                self.data,
                mode="regression" if regression else "classification",
                feature_names=names,
                random_state=options.seed,
            )
            if not regression:
                self.explain_kwargs["top_labels"] = 1
        elif options.explainer == "shap":
            shap = require("shap", "--explainer shap", extra="shap")
            self.explainer = shap.PermutationExplainer(
                self.predict_fn, shap.maskers.Independent(self.data), feature_names=names, seed=options.seed
            )
            self.explain_kwargs["silent"] = True
        elif ":" in options.explainer:
            made: Any = import_by_name(options.explainer, "--explainer")
            self.explainer = made(data, self.predict_fn)
            adapter_of_explainer(self.explainer)  # raises if there is none
        else:
            raise InvalidInputError(
                f"--explainer: lime, shap or module:function is required; got {options.explainer!r}."
            )
        label = options.label
        self.asked = {
            "agreement": options.agreement,
            "tolerance": options.tolerance,
            "label": int(label) if label is not None and label.isdecimal() else label,
        }
        self.settings = Settings(
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


def _read(path: Path, option: str) -> Any:
    pandas = require("pandas", "the command line", extra="cli")
    if not path.is_file():
        raise InvalidInputError(f"{option}: there is no file {path}.")
    if path.suffix == ".parquet":
        require("pyarrow", "Parquet files", extra="parquet")
        table = pandas.read_parquet(path)
    elif path.suffix == ".csv":
        table = pandas.read_csv(path)
    else:
        raise InvalidInputError(f"{option}: a .csv or .parquet file is required; got {path.name!r}.")
    words = [str(name) for name in table.columns if table[name].dtype.kind not in "fiub"]
    if words:
        raise InvalidInputError(f"{option}: columns of numbers are required; {', '.join(words)} are not.")
    return table
