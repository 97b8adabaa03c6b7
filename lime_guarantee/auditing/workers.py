"""The work of an audit, done here, in other processes, or on a cluster.

joblib starts the workers; some of its engines wait for ever when a worker cannot load what it is sent, or
when all of them are gone. So everything is packed here and unpacked by our own code, which tells what went
wrong; and all waiting has an end.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

import numpy as np

from lime_guarantee.adapters.base import Adapter
from lime_guarantee.adapters.ranges import TrainingData
from lime_guarantee.adapters.registry import adapter_for, adapter_of_explainer
from lime_guarantee.api import problem_of
from lime_guarantee.auditing.answered import KeptAnswers
from lime_guarantee.auditing.judge import judge
from lime_guarantee.auditing.record import AuditRecord
from lime_guarantee.auditing.reexplain import explain_row
from lime_guarantee.auditing.sharing import packed, received, sharing, unpacked
from lime_guarantee.auditing.verdict import Rules
from lime_guarantee.errors import GuaranteeError, GuaranteeWarning, InvalidInputError, WorkersError
from lime_guarantee.problem.problem import Problem
from lime_guarantee.settings import Settings
from lime_guarantee.space.tables import Table

CHUNK = 4
"""Explanations sent to a worker at once."""

WAVE = 2
"""Chunks for every worker at once, where a cluster tells of results only when all are there."""

Task = tuple[int, Any, np.random.SeedSequence]
"""The place of an explanation, it itself or the row to explain, and its seed."""


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
    known : dict of str to TrainingData
        What is known of the training data, for every kind of explanation, by `kind_name`.
    rules : Rules
    data : Table or None
        Real rows.
    settings : Settings
    known_objects : list
        What several explanations hold: it is sent with this, and not with each of them.
    audited : Table or None
        The rows to explain: they are real, too.
    kept : KeptAnswers
        What the model said of real rows, in this process.
    """

    explainer: Any
    explain_kwargs: dict[str, Any]
    given: dict[str, Any]
    known: dict[str, TrainingData | None]
    rules: Rules
    data: Table | None
    settings: Settings
    known_objects: list[Any] = field(default_factory=list)
    audited: Table | None = None
    kept: KeptAnswers = field(default_factory=KeptAnswers)

    def do(self, index: int, row: Any, seed: np.random.SeedSequence) -> AuditRecord:
        """Audit one explanation; a failure is its result, and ends nothing else."""
        explain_seed, rest = seed.spawn(2)
        region_rng, evidence_rng, data_rng = np.random.default_rng(rest).spawn(3)
        settings = self.settings.but(random_state=region_rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GuaranteeWarning)  # the region's notes have them
                problem = self._problem(row, int(explain_seed.generate_state(1)[0]))
                given = (problem, index, self.rules, self.data, settings, evidence_rng, data_rng)
                return judge(*given, self.audited, self.kept)
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
            known = self.known[kind_name(adapter_of_explainer(self.explainer))]
            row = explain_row(self.explainer, row, self.given["predict_fn"], self.explain_kwargs, known, seed)
        else:
            known = self.known[kind_name(adapter_for(row))]
        return problem_of(row, settings=self.settings, training_data=known, **self.given)

    def do_chunk(self, tasks: list[Task]) -> list[AuditRecord]:
        """Audit a few explanations, without starting more threads or processes inside this one."""
        from joblib import parallel_config
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1), parallel_config(backend="sequential"):
            return [self.do(*task) for task in tasks]


def kind_name(adapter: type[Adapter]) -> str:
    """The name of an adapter, the same in every process."""
    return f"{adapter.__module__}.{adapter.__qualname__}"


def work_done(
    work: Work, tasks: Iterable[Task], n_jobs: int | None, timeout: float | None
) -> Generator[AuditRecord, None, None]:
    """Finished records, in the order in which they are finished; tasks are taken as they are needed."""
    from joblib import effective_n_jobs
    from joblib.parallel import get_active_backend

    workers = effective_n_jobs(n_jobs)
    if workers == 1:
        for task in tasks:
            yield from work.do_chunk([task])
        return
    backend, _ = get_active_backend()
    options: dict[str, Any] = {"n_jobs": n_jobs, "timeout": timeout, "batch_size": 1}
    if getattr(backend, "supports_return_generator", False):
        options["return_as"], wave = "generator_unordered", None
    else:  # Ray's: a few chunks at a time, so that there is something to write down
        wave = WAVE * workers
    with _calls(work, tasks, backend) as calls:
        while some := list(islice(calls, 1)):
            yield from _results(chain(some, calls if wave is None else islice(calls, wave - 1)), options)


@contextmanager
def _calls(work: Work, tasks: Iterable[Task], backend: Any) -> Iterator[Iterator[Any]]:
    """What workers are to do, a few tasks at a time; what all of them need is sent beforehand."""
    from joblib import delayed

    tasks = iter(tasks)
    chunks = iter(lambda: list(islice(tasks, CHUNK)), [])
    if getattr(backend, "uses_threads", False):
        yield (delayed(work.do_chunk)(chunk) for chunk in chunks)
        return
    with sharing(work, backend) as (key, reference):
        yield (delayed(_do_chunk_there)(key, reference, _packed_chunk(chunk, work)) for chunk in chunks)


def _results(calls: Iterable[Any], options: dict[str, Any]) -> Iterator[AuditRecord]:
    """The records of all calls, or the error that tells why there are none."""
    from joblib import Parallel

    found: Any = ()
    try:
        found = Parallel(**options)(calls)
        for done in found:
            if isinstance(done, InvalidInputError):
                raise done
            if isinstance(done, str):
                raise WorkersError(
                    f"n_jobs: a worker cannot load the model, the explainer or the rows ({done}). "
                    "Install what they need on the workers, or use n_jobs=1."
                )
            yield from done
    except (WorkersError, InvalidInputError):
        raise
    except Exception as error:
        raise WorkersError(
            "the workers failed, or took longer than a few explanations may "
            f"(timeout={options['timeout']}, in seconds): {type(error).__name__}: {error}. They may have "
            "been killed, or have run out of memory. With checkpoint=, the same call goes on from here; "
            "n_jobs=1 needs no workers."
        ) from error
    finally:
        if hasattr(found, "close"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib's, that results are not used
                found.close()


def _packed_chunk(chunk: list[Task], work: Work) -> bytes | InvalidInputError:
    """A few tasks; or why they cannot be sent: joblib asks in a thread of its own, and tells of no error."""
    try:
        return packed(chunk, work.known_objects)
    except InvalidInputError as error:
        return error


def _do_chunk_there(
    key: str, reference: Any, tasks: bytes | InvalidInputError
) -> list[AuditRecord] | str | InvalidInputError:
    """In a worker: unpack and audit; or what went wrong with unpacking, which some clusters never tell."""
    if isinstance(tasks, InvalidInputError):
        return tasks
    try:
        work: Work = received(key, reference)
        rows = unpacked(tasks, work.known_objects)
    except Exception as error:  # noqa: BLE001 - a model's module may do anything when it is imported
        return f"{type(error).__name__}: {error}"
    return work.do_chunk(rows)
