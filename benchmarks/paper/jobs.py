"""One region each: the smallest piece of work that is kept when a run is killed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.honesty import pairs
from benchmarks.measure import Measurement, measure
from benchmarks.oracle import L1Oracle
from benchmarks.paper.subjects import Numbered, Subject, local_cluster, problem
from lime_guarantee import Divide, Greedy, GuaranteeRegion, Radial
from lime_guarantee.errors import GuaranteeError
from lime_guarantee.problem.problem import Problem

Result = dict[str, Any]

GREEDY_STEPS = 20
"""Steps a side. The paper says 100, but its counts of evaluations are those of 20 (see README.md)."""

SEARCHES: dict[str, Any] = {
    "radial": Radial(),
    "greedy": Greedy(GREEDY_STEPS),
    "divide": Divide(),
    "random": Divide(expansion="random"),
    "balanced": "balanced",
}
FRESH_DRAWS = 20_000
MOST_PAIRS = 20


@dataclass(frozen=True)
class Settings:
    """What a job must be told, but what does not name it."""

    boston: Path | None = None
    seconds: float = 60.0
    """The longest that one region of table 3 may take, in seconds of the processor."""


@dataclass(frozen=True)
class RegionJob:
    """A region around a test point of a dataset, or of the clusters."""

    subject: Subject
    method: str
    point: int

    @property
    def chunk(self) -> tuple[Any, ...]:
        """Jobs of a chunk are done one after the other, because they share what is dear to prepare."""
        return (self.subject, self.point)

    def run(self, settings: Settings) -> Result:
        """Find and measure the region."""
        found = problem(self.subject, self.point, settings.boston)
        if found is None:
            return {"missing": True}
        index, task = found
        measurement, region = _measure(self.method, task.faithful, task.instance, task.domain, index)
        result = _result(measurement, region)
        result["confidence"] = float(task.model(task.instance[np.newaxis]).max())
        if self.subject.dims:
            rows = local_cluster(self.subject, task.instance)
            result["size"] = 100.0 * region.coverage(rows) if region else 0.0
        if self.subject.dims == 2:
            result |= {"lower": region.lower.tolist(), "upper": region.upper.tolist()}
            result["radius"] = region.radius
        return result


@dataclass(frozen=True)
class OracleJob:
    """A region of the synthetic oracle."""

    dims: int
    method: str
    point: int

    @property
    def chunk(self) -> tuple[Any, ...]:
        return (self.dims, self.method)

    def run(self, settings: Settings) -> Result:
        """Find and measure the region; a search that takes too long has timed out."""
        oracle = L1Oracle(self.dims)
        limited = Limited(oracle, settings.seconds)
        try:
            measurement, region = _measure(
                self.method, limited, oracle.instance(self.point), oracle.domain(), self.point
            )
        except TimeUpError:
            return {"timeout": settings.seconds}
        return _result(measurement, region)


@dataclass(frozen=True)
class HonestyJob:
    """The reach along feature k, against the honest and the dishonest model."""

    dataset: str
    method: str
    point: int

    @property
    def chunk(self) -> tuple[Any, ...]:
        return (self.dataset, self.point)

    def run(self, settings: Settings) -> Result:
        """Find both regions."""
        pair = _pairs(self.dataset, settings.boston).nth(self.point)
        if pair is None:
            return {"missing": True}
        k, *tasks = pair
        result: Result = {"feature": k, "name": tasks[0].domain.names[k]}
        for side, task in zip(("honest", "dishonest"), tasks, strict=True):
            _, region = _measure(
                self.method, task.faithful, task.instance, task.domain, self.point, fresh_draws=1
            )
            result[side] = float(region.reach[k]) if region else 0.0
        return result


Job = RegionJob | OracleJob | HonestyJob


def key(job: Job) -> str:
    """The name of a job in the file of finished ones."""
    return json.dumps({"kind": type(job).__name__, **asdict(job)}, sort_keys=True)


class TimeUpError(GuaranteeError):
    """A search took longer than it may."""


@dataclass
class Limited:
    """A function that refuses to answer when its time is over."""

    function: Callable[[Any], Any]
    seconds: float

    def __post_init__(self) -> None:
        self.deadline = time.process_time() + self.seconds

    def __call__(self, X: Any) -> Any:
        if time.process_time() > self.deadline:
            raise TimeUpError(f"more than {self.seconds:g} s")
        return self.function(X)


def search_of(method: str) -> Any:
    """The search that a name stands for; ``N=100 T=10`` is divide with these settings."""
    if method in SEARCHES:
        return SEARCHES[method]
    positives, nodes = (int(part.partition("=")[2]) for part in method.split())
    return Divide(positives, nodes)


def _measure(
    method: str,
    faithful: Callable[[Any], Any],
    instance: np.ndarray,
    domain: Any,
    seed: int,
    fresh_draws: int = FRESH_DRAWS,
) -> tuple[Measurement, GuaranteeRegion]:
    return measure(
        faithful,
        instance,
        domain,
        search=search_of(method),
        certifier="anytime" if method == "balanced" else "zero-failure",
        random_state=seed,
        fresh_draws=fresh_draws,
    )


def _result(measurement: Measurement, region: GuaranteeRegion) -> Result:
    certified = measurement.certified
    return {
        "certified": certified,
        "size": measurement.log10_volume if certified else None,
        "evaluations": measurement.evaluations,
        "seconds": measurement.engine_seconds,
        "purity": measurement.purity if certified else None,
        "draws": region.certificate.draws if region.certificate else None,
    }


@lru_cache(maxsize=8)
def _pairs(dataset: str, boston: Path | None) -> Numbered[tuple[int, Problem, Problem]]:
    return Numbered(pairs(dataset, MOST_PAIRS, boston))
