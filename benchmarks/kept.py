"""Measurements that are kept as soon as they are made: a run that is cut off goes on where it was."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Key = tuple[str | int, ...]
"""What names a measurement among those of a benchmark, such as cell, method and row."""

Result = dict[str, Any]
Job = tuple[Key, Callable[[], Result]]


def read_finished(path: Path) -> dict[str, Result]:
    """The results kept so far; a last line that was cut off is taken away."""
    if not path.exists():
        return {}
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        path.write_bytes(whole)
    records = (json.loads(line) for line in whole.decode("utf-8").splitlines())
    return {record["job"]: record["result"] for record in records}


def run_jobs(
    jobs: Iterable[Job], path: Path | None = None, minutes: float = float("inf")
) -> dict[Key, Result]:
    """Do the jobs that are not finished, one after the other; returns the results of all that are.

    Parameters
    ----------
    jobs : iterable of key and function
        A function is called only if its result is not known.
    path : Path, optional
        Where results are kept, a line each. Those of other code or other options belong in other files.
    minutes : float
        No job is begun later than this; the same call goes on with the rest.
    """
    finished = {} if path is None else read_finished(path)
    end, found = time.monotonic() + 60.0 * minutes, {}
    for key, job in jobs:
        name = json.dumps(key)
        if name not in finished:
            if time.monotonic() > end:
                continue
            finished[name] = job()
            if path is not None:
                _keep(path, name, finished[name])
        found[key] = finished[name]
    return found


def _keep(path: Path, name: str, result: Result) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"job": name, "result": result}) + "\n")
        file.flush()
        os.fsync(file.fileno())
