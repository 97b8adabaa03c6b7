"""audit(): many explanations, in parallel, safe against being cut off."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import numpy as np

from lime_guarantee.adapters.request import Request
from lime_guarantee.auditing.checkpoint import Checkpoint
from lime_guarantee.auditing.judge import Rules
from lime_guarantee.auditing.report import AuditReport
from lime_guarantee.auditing.workers import Work, work_done
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.tables import as_table, is_frame, plain
from lime_guarantee.support.imports import require


def audit(
    explanations: Sequence[Any] | None = None,
    *,
    explainer: Any = None,
    X: Any = None,
    predict_fn: Callable[[Any], Any] | None = None,
    training_data: Any = None,
    data: Any = None,
    explain_kwargs: Mapping[str, Any] | None = None,
    claim_share: float = Rules.claim_share,
    min_reach: float = Rules.min_reach,
    min_coverage: float = Rules.min_coverage,
    error: float = Rules.error,
    purity: float = 0.99,
    confidence: float = 0.99,
    test: str = "auto",
    tolerance: float | None = None,
    label: int | str | None = None,
    bounds: Any = None,
    search: Any = "balanced",
    effort: Any = None,
    max_evaluations: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    timeout: float | None = 3_600.0,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
    **options: Any,
) -> AuditReport:
    """Audit explanations: which can be trusted, and which cannot, with evidence on both sides.

    Give either `explanations` (of LIME or shap, or `Problem` objects), or an `explainer` and rows `X` that
    it will explain.

    Parameters
    ----------
    explanations : sequence, optional
        What is to be audited. LIME's must remember their rows: make them with `wrap` or after `install`.
    explainer : object, optional
        An explainer of LIME or shap; with `X`, it makes the explanations.
    X : array or DataFrame, optional
        The rows to explain.
    predict_fn : callable, optional
        The model.
    training_data : array or DataFrame, optional
        Gives features their range; and, unless `data` is given, the real rows to compare with.
    data : array or DataFrame, optional
        Real rows, for the coverage and for the check that real rows are treated as synthetic ones are.
    explain_kwargs : dict, optional
        Passed to the explainer with every row.
    claim_share : float
        A feature with less than this share of all weight is claimed irrelevant.
    min_reach : float
        A claimed-irrelevant feature that reaches less far is looked at closely.
    min_coverage : float
        A region that covers less of the data is narrow.
    error : float
        The probability that an explanation is called dishonest that is not, or off-manifold though its model
        fails real rows hardly more often than the same rows moved a little.
    purity, confidence, test, tolerance, label, bounds, search, effort, max_evaluations
        As in `guarantee_region`.
    random_state : int
        The same integer gives the same report, however many workers there are.
    n_jobs : int, optional
        Workers, as joblib counts them. Under ``joblib.parallel_config(backend="dask")``, or Ray's, the
        cluster does the work.
    timeout : float or None
        Seconds that a few explanations may take in a worker before the audit gives up: a cluster that has
        lost its workers would wait for ever.
    checkpoint : path, optional
        A file to which every finished explanation is written; a run that was cut off goes on from there.
    progress : bool
        Whether to show a bar (tqdm).
    **options
        Options of the adapter, such as ``surrogate=`` for shap.

    Returns
    -------
    AuditReport
    """
    rows = _checked_input(explanations, explainer, X)
    rules = Rules(claim_share, min_reach, min_coverage, error)
    real = training_data if data is None else data
    work = Work(
        explainer=explainer,
        explain_kwargs=dict(explain_kwargs or {}),
        request=Request(
            explainer=None if X is not None else explainer,
            predict_fn=predict_fn,
            training_data=training_data,
            bounds=bounds,
            label=label,
            test=test,
            tolerance=tolerance,
            max_evaluations=max_evaluations,
        ),
        rules=rules,
        data=None if real is None else as_table(real),
        options={
            "purity": purity,
            "confidence": confidence,
            "search": search,
            "effort": effort,
            "max_evaluations": max_evaluations,
        },
        adapter_options=options,
        makes=X is not None,
    )
    about = {
        "explanations": len(rows),
        "rows": _identity(explanations) if X is None else _fingerprint(X),
        "training_data": _fingerprint(training_data),
        "data": _fingerprint(data),
        **asdict(rules),
        "purity": purity,
        "confidence": confidence,
        "test": test,
        "tolerance": tolerance,
        "label": label,
        "bounds": _said(bounds),
        "search": _said(search),
        "effort": effort,
        "max_evaluations": max_evaluations,
        "random_state": random_state,
        "options": {key: _said(value) for key, value in options.items()},
        "explain_kwargs": {key: _said(value) for key, value in work.explain_kwargs.items()},
    }
    about = {key: plain(value) for key, value in about.items()}
    seeds = np.random.SeedSequence(random_state).spawn(len(rows))
    keeping = nullcontext() if checkpoint is None else Checkpoint(checkpoint, about)
    with keeping as kept, _bar(progress, len(rows)) as bar:
        records = {} if kept is None else dict(kept.records)
        bar.update(len(records))
        tasks = [(i, rows[i], seeds[i]) for i in range(len(rows)) if i not in records]
        for record in work_done(work, tasks, n_jobs, timeout):
            records[record.index] = record
            if kept is not None:
                kept.add(record)
            bar.update(1)
    return AuditReport(tuple(records[i] for i in range(len(rows))), about)


def _checked_input(explanations: Sequence[Any] | None, explainer: Any, X: Any) -> Any:
    if (explanations is None) == (X is None):
        raise InvalidInputError(
            "explanations: give either explanations, or explainer= and X=, the rows to explain."
        )
    if explanations is not None:
        return explanations
    if explainer is None:
        raise InvalidInputError("explainer: it is needed to explain the rows of X=.")
    return [X.iloc[i] for i in range(len(X))] if is_frame(X) else np.asarray(X)


def _said(option: Any) -> str:
    """An option in words that are the same in every run: without addresses."""
    return re.sub(r" at 0x[0-9a-f]+", "", option if isinstance(option, str) else repr(option))


def _identity(explanations: Any) -> str:
    """The same for the same explanations: for what they say, or for the instance of a problem."""
    content = hashlib.sha256()
    for one in explanations:
        for name in ("values", "local_exp", "instance"):  # of shap, of LIME, of a Problem
            content.update(repr(np.asarray(getattr(one, name, None)).tolist()).encode())
    return content.hexdigest()[:16]


def _fingerprint(X: Any) -> str:
    """The same for the same rows; empty where there are none."""
    if X is None:
        return ""
    values = as_table(X).values
    content = values.tobytes() if values.dtype != object else repr(values.tolist()).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def _bar(progress: bool, total: int) -> Any:
    if not progress:
        return _NoBar()
    return require("tqdm.auto", "progress=True", extra="progress").tqdm(total=total, unit=" explanations")


class _NoBar:
    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, count: int) -> None:
        """Nothing to show."""
