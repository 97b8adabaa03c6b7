"""The work of an audit, done here, in other processes, or on a cluster.

joblib starts the workers; some of its engines wait for ever when a worker cannot load what it is sent, or
when all of them are gone. So everything is packed here and unpacked by our own code, which tells what went
wrong; and all waiting has an end.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lime_guarantee.api import problem_of
from lime_guarantee.auditing.judge import judge
from lime_guarantee.auditing.record import AuditRecord
from lime_guarantee.auditing.reexplain import explain_row
from lime_guarantee.auditing.verdict import Rules
from lime_guarantee.errors import GuaranteeError, GuaranteeWarning, InvalidInputError, WorkersError
from lime_guarantee.problem.problem import Problem
from lime_guarantee.settings import Settings
from lime_guarantee.space.tables import Table

CHUNK = 4
"""Explanations sent to a worker at once: the model travels with them."""

WAVE = 2
"""Chunks for every worker at once, where a cluster tells of results only when all are there."""


@dataclass(frozen=True, eq=False)
class Work:
    """Everything a worker needs besides the rows themselves.

    Parameters
    ----------
    explainer : object
        Makes the explanations of rows; None where explanations are audited.
    explain_kwargs : dict
        Passed to the explainer with every row.
    given : dict
        What an adapter is given besides the explanation.
    rules : Rules
    data : Table or None
        Real rows.
    settings : Settings
    audited : Table or None
        The rows to explain: they are real, too.
    """

    explainer: Any
    explain_kwargs: dict[str, Any]
    given: dict[str, Any]
    rules: Rules
    data: Table | None
    settings: Settings
    audited: Table | None = None

    def do(self, index: int, row: Any, seed: np.random.SeedSequence) -> AuditRecord:
        """Audit one explanation; a failure is its result, and ends nothing else."""
        explain_seed, rest = seed.spawn(2)
        region_rng, evidence_rng, data_rng = np.random.default_rng(rest).spawn(3)
        settings = self.settings.but(random_state=region_rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GuaranteeWarning)  # the region's notes have them
                problem = self._problem(row, int(explain_seed.generate_state(1)[0]))
                return judge(
                    problem, index, self.rules, self.data, settings, evidence_rng, data_rng, self.audited
                )
        except Exception as error:  # noqa: BLE001 - whatever a model or an explainer does, the others go on
            said = str(error) if isinstance(error, GuaranteeError) else f"{type(error).__name__}: {error}"
            return AuditRecord(index, "error", said)

    def _problem(self, row: Any, seed: int) -> Problem:
        """The problem of an explanation, or of a row that is explained first.

        All explanations are read with the audit's own seed: what differs between them is not the reading.
        """
        if isinstance(row, Problem):
            return row
        if self.explainer is not None:
            predict_fn, data = self.given["predict_fn"], self.given["training_data"]
            row = explain_row(self.explainer, row, predict_fn, self.explain_kwargs, data, seed)
        return problem_of(row, settings=self.settings, **self.given)

    def do_chunk(self, tasks: list[tuple[int, Any, np.random.SeedSequence]]) -> list[AuditRecord]:
        """Audit a few explanations, without starting more threads or processes inside this one."""
        from joblib import parallel_config
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1), parallel_config(backend="sequential"):
            return [self.do(*task) for task in tasks]


def work_done(
    work: Work, tasks: list[Any], n_jobs: int | None, timeout: float | None
) -> Iterator[AuditRecord]:
    """Finished records, in the order in which they are finished."""
    from joblib import Parallel, delayed, effective_n_jobs
    from joblib.parallel import get_active_backend

    workers = effective_n_jobs(n_jobs)
    if workers == 1:
        for task in tasks:
            yield from work.do_chunk([task])
        return
    backend, _ = get_active_backend()
    chunks = [tasks[start : start + CHUNK] for start in range(0, len(tasks), CHUNK)]
    if getattr(backend, "uses_threads", False):
        calls = [delayed(work.do_chunk)(chunk) for chunk in chunks]
    else:
        packed = _packed(work)
        calls = [delayed(_do_chunk_there)(packed, _packed(chunk)) for chunk in chunks]
    options: dict[str, Any] = {"n_jobs": n_jobs, "timeout": timeout, "batch_size": 1}
    if getattr(backend, "supports_return_generator", False):
        waves, options["return_as"] = [calls], "generator_unordered"
    else:  # Ray's: a few chunks at a time, so that there is something to write down
        wave = WAVE * workers
        waves = [calls[start : start + wave] for start in range(0, len(calls), wave)]
    for calls in waves:
        try:
            for done in Parallel(**options)(calls):
                if isinstance(done, str):
                    raise WorkersError(
                        f"n_jobs: a worker cannot load the model, the explainer or the rows ({done}). "
                        "Install what they need on the workers, or use n_jobs=1."
                    )
                yield from done
        except WorkersError:
            raise
        except Exception as error:
            raise WorkersError(
                f"the workers failed, or took longer than a few explanations may (timeout={timeout}, in "
                f"seconds): {type(error).__name__}: {error}. They may have been killed, or have run "
                "out of memory. With checkpoint=, the same call goes on from here; n_jobs=1 needs no workers."
            ) from error


def _packed(work: Any) -> bytes:
    """What a worker is sent; refused here if it cannot be, for some clusters would wait for it for ever."""
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(work))
    except Exception as error:
        raise InvalidInputError(
            f"n_jobs: the model or the explainer cannot be sent to another process ({type(error).__name__}: "
            f"{error}). Use n_jobs=1, or define them at the top of a module."
        ) from error


def _do_chunk_there(work: bytes, tasks: bytes) -> list[AuditRecord] | str:
    """In a worker: unpack and audit; or what went wrong with unpacking, which some clusters never tell."""
    import cloudpickle

    try:
        unpacked: Work = _unpacked(work)
        rows = cloudpickle.loads(tasks)
    except Exception as error:  # noqa: BLE001 - a model's module may do anything when it is imported
        return f"{type(error).__name__}: {error}"
    return unpacked.do_chunk(rows)


@lru_cache(maxsize=1)
def _unpacked(work: bytes) -> Work:
    """The model and the explainer, once for all the chunks that a worker is given."""
    import cloudpickle

    unpacked: Work = cloudpickle.loads(work)
    return unpacked
