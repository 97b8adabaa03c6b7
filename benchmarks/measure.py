"""One region, measured: size, cost, time in the engine and in the model, and its true purity."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee import Domain, GuaranteeRegion, find_region

FRESH_DRAWS = 200_000
BATCH = 20_000


@dataclass(frozen=True)
class Measurement:
    """What finding one region took, and what came of it."""

    certified: bool
    log10_volume: float
    evaluations: int
    calls: int
    engine_seconds: float
    model_seconds: float
    purity: float


class Timed:
    """A function that knows how long it took, by a clock."""

    def __init__(self, function: Callable[..., Any], clock: Callable[[], float] = time.perf_counter) -> None:
        self.function, self.clock = function, clock
        self.seconds = 0.0

    def __call__(self, *given: Any) -> Any:
        start = self.clock()
        try:
            return self.function(*given)
        finally:
            self.seconds += self.clock() - start


def measure(
    faithful: Callable[[Any], Any],
    instance: Any,
    domain: Domain,
    *,
    fresh_draws: int = FRESH_DRAWS,
    **options: Any,
) -> tuple[Measurement, GuaranteeRegion]:
    """Find a region of the uniform measure, if no other is given, and measure it; see `find_region`."""
    options = {"measure": "uniform", **options}
    timed = Timed(faithful)
    start = time.perf_counter()
    region = find_region(timed, instance, domain, **options)
    total = time.perf_counter() - start
    measurement = Measurement(
        certified=bool(region),
        log10_volume=region.log10_volume,
        evaluations=region.evaluations,
        calls=region.calls,
        engine_seconds=total - timed.seconds,
        model_seconds=timed.seconds,
        purity=true_purity(faithful, region, fresh_draws),
    )
    return measurement, region


def true_purity(faithful: Callable[[Any], Any], region: GuaranteeRegion, draws: int) -> float:
    """Share of fresh draws in the region that are faithful."""
    rng = np.random.default_rng(20_240)
    batches = [min(BATCH, draws - start) for start in range(0, draws, BATCH)]
    return float(sum(np.sum(faithful(region.sample(size, rng))) for size in batches) / draws)
