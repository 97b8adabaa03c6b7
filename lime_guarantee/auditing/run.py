"""audit(): many explanations, in parallel, safe against being cut off."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, replace
from typing import Any, get_args

import numpy as np

from lime_guarantee.adapters.base import CAPTURED, Adapter, check_function
from lime_guarantee.adapters.ranges import TrainingData
from lime_guarantee.adapters.registry import adapter_for, adapter_of_explainer
from lime_guarantee.auditing.checkpoint import Checkpoint
from lime_guarantee.auditing.fingerprint import explainer_facts, fingerprint_of_explanations
from lime_guarantee.auditing.record import AuditRecord
from lime_guarantee.auditing.report import AuditReport
from lime_guarantee.auditing.stored import scan
from lime_guarantee.auditing.verdict import Rules
from lime_guarantee.auditing.workers import Work, kind_name, work_done
from lime_guarantee.engine.certify.limit import check_limit_allows_certificate
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.agreement import AgreementName, check_tolerance
from lime_guarantee.problem.fingerprint import fingerprint, in_words, model_facts
from lime_guarantee.problem.problem import Problem
from lime_guarantee.settings import SETTINGS, Settings, settings_from, shows_settings
from lime_guarantee.space.tables import Table, as_table, is_frame, plain
from lime_guarantee.support import interrupts
from lime_guarantee.support.checks import check_choice
from lime_guarantee.support.progress import counting
from lime_guarantee.version import __version__

MOST_HELD = 10_000
"""Of more explanations, a report with a checkpoint reads the records there when they are asked for."""

MOST_AUDITED = 2_000
"""Of more rows that are audited, about so many are taken as real rows."""


@shows_settings
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
    min_fidelity: float = Rules.min_fidelity,
    min_honesty: float = Rules.min_honesty,
    error: float = Rules.error,
    agreement: str = "auto",
    tolerance: float | None = None,
    label: int | str | None = None,
    bounds: Any = None,
    random_state: int | np.random.Generator | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
    timeout: float | None = 3_600.0,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
    settings: Settings | None = None,
    **options: Any,
) -> AuditReport:
    """Audit explanations: which can be trusted, and which cannot, with evidence on both sides.

    Give either `explanations` (of LIME, shap or another library that has an adapter, or `Problem` objects),
    or an `explainer` and rows `X` that it will explain.

    Parameters
    ----------
    explanations : sequence, optional
        What is to be audited. LIME's must remember their rows: make them with `wrap` or after `install`.
    explainer : object, optional
        An explainer that has an adapter; with `X`, it makes the explanations.
    X : array or DataFrame, optional
        The rows to explain.
    predict_fn : callable, optional
        The model.
    training_data : array or DataFrame, optional
        Gives features their range; and, unless `data` is given, the real rows to compare with.
    data : array or DataFrame, optional
        Real rows: how many the region holds, whether the explanation is faithful on them, and what the model
        relies on there. The rows of `X` are real rows, too.
    explain_kwargs : dict, optional
        Passed to the explainer with every row.
    claim_share : float
        A feature with less than this share of all weight is claimed irrelevant.
    min_reach : float
        A claimed-irrelevant feature that reaches less far is looked at closely.
    min_coverage : float
        A region that holds less of the real rows is narrow.
    min_fidelity : float
        A region in which the explanation is faithful on less of the real rows is narrow.
    min_honesty : float
        An explanation is dishonest if a feature's share of what the model relies on exceeds its share of the
        weight by more than 1 - min_honesty, beyond doubt; it can be trusted only if it is shown that none
        does.
    error : float
        The probability that an explanation is called dishonest that is not, or off-manifold though its model
        fails real rows hardly more often than the same rows moved a little.
    agreement, tolerance, label, bounds
        As in `guarantee_region`.
    random_state : int, Generator, RandomState or None
        The same integer gives the same report, however many workers there are. From a Generator or a
        RandomState an integer is drawn, which the report keeps.
    n_jobs : int, optional
        Workers, as joblib counts them. Under ``joblib.parallel_config(backend="dask")``, or Ray's, the
        cluster does the work.
    timeout : float or None
        Seconds that a few explanations may take in a worker before the audit gives up: a cluster that has
        lost its workers would wait for ever.
    checkpoint : path, optional
        A file to which every finished explanation is written; a run that was cut off goes on from there, and
        tries rows again that ended in an error. A checkpoint of another model, explainer, version or other
        arguments is refused. The report of more than 10,000 explanations reads them there: keep the file.
    progress : bool
        Whether to show a bar (tqdm).
    settings : Settings, optional
        What is asked of every region.
    **options
        Single settings, by name (see `Settings`); and options of the adapter, such as ``surrogate=`` for
        shap.

    Returns
    -------
    AuditReport

    Examples
    --------
    >>> import numpy as np
    >>> from lime_guarantee import Domain, Problem, SameValue
    >>> def model(X):
    ...     return X[:, 0] + 5 * X[:, 1]
    >>> domain = Domain.from_bounds([0, 0], [1, 1], names=["a", "b"])
    >>> problem = Problem(model, lambda X: X[:, 0], SameValue(0.1), np.array([0.5, 0.0]), domain)
    >>> report = audit([problem])
    >>> report[0].verdict
    'dishonest'
    """
    rows = _checked_input(explanations, explainer, X)
    mine = {name: value for name, value in options.items() if name in SETTINGS}
    theirs = {name: value for name, value in options.items() if name not in SETTINGS}
    asked = settings_from(settings, {**mine, "random_state": random_state})
    seed = _one_seed(asked)
    asked = asked.but(random_state=seed)
    rules = Rules(claim_share, min_reach, min_coverage, error, min_fidelity, min_honesty)
    check_function(predict_fn)
    _check_values(asked, agreement, tolerance, n_jobs)
    given = {
        "predict_fn": predict_fn,
        "bounds": bounds,
        "label": label,
        "agreement": agreement,
        "tolerance": tolerance,
        **theirs,
    }
    parts: tuple[str, ...] = ()
    if X is not None:
        adapter = adapter_of_explainer(explainer)
        adapter.check_options(theirs)
        parts = adapter.explainer_parts
        if predict_fn is None and not adapter.keeps_model:
            raise InvalidInputError("predict_fn: the explainer explains a function; pass predict_fn=.")
        known = {kind_name(adapter): _known(training_data, adapter, explainer)}
    else:
        kinds = _check_explanations(rows, explainer, predict_fn, theirs)
        known = {kind_name(adapter): _known(training_data, adapter, explainer) for adapter in kinds}
        given["explainer"] = explainer
    real = training_data if data is None and not isinstance(training_data, TrainingData) else data
    work = Work(
        explainer=None if X is None else explainer,
        explain_kwargs=dict(explain_kwargs or {}),
        given=given,
        known=known,
        rules=rules,
        data=None if real is None else as_table(real),
        audited=_some_rows(X),
        settings=asked,
        known_objects=[] if explanations is None else _held_by_several(explanations),
    )
    about = {
        "version": __version__,
        "explanations": len(rows),
        "rows": fingerprint_of_explanations(rows) if X is None else fingerprint(X),
        "model": model_facts(_model(predict_fn, rows), training_data if X is None else X),
        "explainer": explainer_facts(explainer, parts),
        "training_data": fingerprint(training_data),
        "data": fingerprint(data),
        **asdict(rules),
        **asked.to_dict(),
        "agreement": agreement,
        "tolerance": tolerance,
        "label": label,
        "bounds": in_words(bounds),
        "options": {key: in_words(value) for key, value in theirs.items()},
        "explain_kwargs": {key: in_words(value) for key, value in work.explain_kwargs.items()},
    }
    about = {key: plain(value) for key, value in about.items()}
    keeping = nullcontext() if checkpoint is None else Checkpoint(checkpoint, about)
    held: dict[int, AuditRecord] = {}
    called = _row_ids(X)
    with (
        keeping as kept,
        counting(progress, len(rows), " explanations") as advance,
        interrupts.heeded() as raise_if_interrupted,
    ):
        done = frozenset[int]() if kept is None else kept.finished
        advance(len(done))
        tasks = ((i, rows[i], _seed_of_row(seed, i)) for i in range(len(rows)) if i not in done)
        with closing(work_done(work, tasks, n_jobs, timeout)) as records:
            for found in records:
                record = found if called is None else replace(found, row_id=str(called[found.index]))
                if kept is not None:
                    kept.add(record)
                if kept is None or len(rows) <= MOST_HELD:
                    held[record.index] = record
                advance(1)
                raise_if_interrupted()
    if checkpoint is None:
        return AuditReport(tuple(held[i] for i in range(len(rows))), about)
    stored = scan(checkpoint).records
    if len(rows) > MOST_HELD:
        return AuditReport(stored, about)
    return AuditReport(tuple(held[i] if i in held else stored[i] for i in range(len(rows))), about)


def _one_seed(settings: Settings) -> int | None:
    """The seed that rows are counted from: settings have drawn it from a RandomState, here a Generator's."""
    state = settings.random_state
    if isinstance(state, np.random.Generator):
        return int(state.integers(2**31 - 1))
    assert not isinstance(state, np.random.RandomState)
    return state


def _seed_of_row(seed: int | None, i: int) -> np.random.SeedSequence:
    """The i-th of the seeds that `SeedSequence.spawn` gives, made when it is needed."""
    return np.random.SeedSequence(seed, spawn_key=(i,))


def _known(training_data: Any, adapter: type[Adapter], explainer: Any) -> TrainingData | None:
    """What is to be remembered of training data: scanned here once, not in every row."""
    if training_data is None or isinstance(training_data, TrainingData):
        return training_data
    return adapter.data_of(training_data, explainer)


def _checked_input(explanations: Sequence[Any] | None, explainer: Any, X: Any) -> Any:
    if (explanations is None) == (X is None):
        raise InvalidInputError(
            "explanations: give either explanations, or explainer= and X=, the rows to explain."
        )
    if explanations is not None:
        return explanations
    if explainer is None:
        raise InvalidInputError("explainer: it is needed to explain the rows of X=.")
    return _FrameRows(X) if is_frame(X) else np.asarray(X)


class _FrameRows:
    """The rows of a DataFrame, each made when it is asked for."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, place: int) -> Any:
        return self.frame.iloc[place]


def _row_ids(X: Any) -> Sequence[Any] | None:
    """What the rows of a DataFrame are called; None where they are merely numbered, from 0 on."""
    if not is_frame(X):
        return None
    names: list[Any] = X.index.tolist()
    return None if names == list(range(len(names))) else names


def _some_rows(X: Any) -> Table | None:
    """The rows to explain, as real rows, where they are rows of features; of very many, some."""
    if X is None or not (is_frame(X) or np.ndim(X) == 2) or len(X) == 0:
        return None
    step = -(-len(X) // MOST_AUDITED)
    return as_table(X.iloc[::step] if is_frame(X) else np.asarray(X)[::step])


def _check_values(settings: Settings, agreement: str, tolerance: float | None, n_jobs: int | None) -> None:
    """Raise at once what would otherwise be the error of every row: values that cannot be used."""
    check_choice("agreement", agreement, ["auto", *get_args(AgreementName)])
    if tolerance is not None:
        check_tolerance(tolerance)
    if n_jobs == 0:
        raise InvalidInputError("n_jobs: at least one worker is required, or None; got 0.")
    check_limit_allows_certificate(
        settings.max_evaluations, settings.purity, settings.confidence, settings.certifier
    )


def _check_explanations(
    explanations: Sequence[Any], explainer: Any, predict_fn: Any, options: Mapping[str, Any]
) -> set[type[Adapter]]:
    """The adapters of explanations; what would be the error of every row is raised at once.

    That is: unknown options, missing inputs.
    """
    kinds = set()
    for i, explanation in enumerate(explanations):
        if isinstance(explanation, Problem):
            if options:
                raise InvalidInputError(
                    f"{', '.join(sorted(options))}: no such option; a Problem takes none."
                )
            continue
        adapter = adapter_for(explanation)
        adapter.check_options(options)
        missing = adapter.missing_input(explanation, explainer=explainer, predict_fn=predict_fn)
        if missing:
            raise InvalidInputError(f"explanation {i}: {missing}")
        kinds.add(adapter)
    return kinds


def _held_by_several(explanations: Sequence[Any]) -> list[Any]:
    """What several explanations hold, the very same object: a model, a domain, what is known of data."""
    found: dict[int, Any] = {}
    counts = Counter[int]()
    for explanation in explanations:
        captured = getattr(explanation, CAPTURED, None)
        parts = [getattr(explanation, name, None) for name in ("model", "domain")]  # of a Problem
        parts += [getattr(part, "__self__", None) for part in parts]  # of a method, its model
        parts.append(getattr(captured, "data", None))
        for part in parts:
            if part is not None:
                found[id(part)] = part
                counts[id(part)] += 1
    return [found[key] for key, count in counts.items() if count > 1]


def _model(predict_fn: Callable[[Any], Any] | None, rows: Any) -> Callable[[Any], Any] | None:
    """The model given; else the one of the first explanation."""
    if predict_fn is not None or not len(rows):
        return predict_fn
    if isinstance(rows[0], Problem):
        model: Callable[[Any], Any] = rows[0].model
        return model
    found: Callable[[Any], Any] | None = getattr(getattr(rows[0], CAPTURED, None), "predict_fn", None)
    return found
