"""Jobs, done in parallel, each kept as soon as it is finished: a killed run goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.kept import read_finished
from benchmarks.paper.cells import grouped
from benchmarks.paper.jobs import Job, Result, Settings, key


def run(jobs: Iterable[Job], path: Path, settings: Settings, n_jobs: int, title: str) -> dict[Job, Result]:
    """Do the jobs that are not finished; returns the results of all of them, in order."""
    jobs = list(dict.fromkeys(jobs))
    finished = read_finished(path)
    todo = [job for job in jobs if key(job) not in finished]
    chunks = grouped(todo, lambda job: (type(job), *job.chunk))
    path.parent.mkdir(parents=True, exist_ok=True)
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run_chunk)(chunk, settings) for chunk in chunks.values()
    )
    with path.open("a", encoding="utf-8") as file, tqdm(total=len(todo), desc=title, unit="region") as bar:
        for done in work:
            for job, result in done:
                finished[key(job)] = result
                file.write(json.dumps({"job": key(job), "result": result}, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
            bar.update(len(done))
    return {job: finished[key(job)] for job in jobs}


def _run_chunk(chunk: list[Job], settings: Settings) -> list[tuple[Job, Result]]:
    """Do jobs one after the other; what has timed out once is not tried again."""
    done: list[tuple[Job, Result]] = []
    for job in chunk:
        before = done[-1][1] if done else {}
        done.append((job, before if "timeout" in before else job.run(settings)))
    return done
