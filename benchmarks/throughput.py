"""How many explanations a second the audit does, on one worker and on several, and what it costs the parent.

LIME explanations of the breast-cancer data. Run it as ``python -m benchmarks.throughput --rows 20000``; rows
repeat where more are asked for than the data has, each with a seed of its own. By default the model is a
fast one (logistic regression on eight features) and the workers are those of a local dask cluster; one worker
alone is the audit's own process, for joblib sends nothing to a cluster of one. Bytes are those of the
machine's loopback device, so nothing else should use it meanwhile. A device of one's own:
``unshare -rn sh -c "ip link set lo up && python -m benchmarks.throughput"``.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import machine
from lime_guarantee import audit

MODELS = {
    "linear": (8, make_pipeline(StandardScaler(), LogisticRegression())),
    "forest": (30, RandomForestClassifier(random_state=0)),
    "boosting": (30, GradientBoostingClassifier(random_state=0)),
}
"""How many features, and the model."""

LEAN = {
    "distributed.worker.profile.enabled": False,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**27,
}
"""Without dask's sampling of what workers do, a hundred times a second, and without giving memory back to the
system at every chance, which costs whoever works with arrays."""


@dataclass(frozen=True)
class Run:
    """What one run took."""

    jobs: int
    seconds: float
    sent: int
    peak: float
    counts: dict[str, int]
    digest: str


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--model", choices=sorted(MODELS), default="linear")
    parser.add_argument("--backend", choices=("dask", "loky"), default="dask")
    parser.add_argument("--lean", action="store_true", help="dask's workers without what `LEAN` says")
    options = parser.parse_args(arguments)
    asked = _asked(options.model, options.rows)
    audit(**{**asked, "X": asked["X"][:2]})  # compiles
    print(f"{machine()}; {options.rows:,} explanations, {options.model} model, {options.backend}\n")
    print("| workers | seconds | explanations a second | a worker | MB sent | parent's peak MB | verdicts |")
    print("|---|---|---|---|---|---|---|")
    runs = []
    for jobs in options.jobs:
        runs.append(_run(asked, jobs, options.backend, LEAN if options.lean else {}))
        print(_line(runs[-1]), flush=True)
    if len({run.digest for run in runs}) > 1:
        raise SystemExit("the reports differ between numbers of workers")


def _asked(model: str, rows: int) -> dict[str, Any]:
    """What is audited."""
    data = load_breast_cancer()
    columns, estimator = MODELS[model]
    train, rest = data.data[:400, :columns], data.data[400:, :columns]
    estimator.fit(train, data.target[:400])
    names = data.feature_names[:columns]
    return {
        "explainer": LimeTabularExplainer(train, feature_names=names, random_state=0),
        "X": rest[np.arange(rows) % len(rest)],
        "predict_fn": estimator.predict_proba,
        "training_data": train,
    }


def _run(asked: dict[str, Any], jobs: int, backend: str, config: dict[str, Any]) -> Run:
    with tempfile.TemporaryDirectory() as folder, _workers(backend, jobs, config):
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
        before, start = _loopback(), time.perf_counter()
        everybody = jobs if backend == "loky" else None
        report = audit(**asked, n_jobs=everybody, checkpoint=Path(folder) / "audit.jsonl")
        seconds, sent, peak = time.perf_counter() - start, _loopback() - before, _peak()
        saved = Path(folder) / "audit.json"
        report.save(saved)
        with saved.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Run(jobs, seconds, sent, peak, report.counts, digest)


@contextlib.contextmanager
def _workers(backend: str, jobs: int, config: dict[str, Any]) -> Iterator[None]:
    """Workers of a kind, ready to work; dask's with a configuration."""
    if backend == "loky":
        yield
        return
    import dask
    import distributed

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dask's own
        with (
            dask.config.set(config),
            distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, dashboard_address=None) as cluster,
            distributed.Client(cluster) as client,
            joblib.parallel_config(backend="dask"),
        ):
            client.wait_for_workers(jobs)
            yield


def _line(run: Run) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in run.counts.items() if count)
    speed = sum(run.counts.values()) / run.seconds
    return (
        f"| {run.jobs} | {run.seconds:.0f} | {speed:.2f} | {speed / run.jobs:.2f} | {run.sent / 1e6:.1f} | "
        f"{run.peak:.0f} | {counts} |"
    )


def _loopback() -> int:
    """Bytes sent over the loopback device so far."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.strip().startswith("lo:"))


def _peak() -> float:
    """The most memory that this process has had, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
