"""More is never less: regions of more effort, and of more evaluations, beside those of less.

Problems are those of `benchmarks.shapes`, with seeds that nothing was tuned on. Each is solved with every
effort, and with several limits on evaluations. A larger one should find a region at least as large; what is
counted is how often it does not, and by how much. Run it as ``python -m benchmarks.monotone``.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np

from benchmarks.datasets import machine
from benchmarks.shapes import CONTINUOUS, Shape, problem
from lime_guarantee import find_region

FIRST_SEED = 400
"""Seeds below 100 are for other reports, those up to 399 are for tuning."""

DIMS = (2, 3, 5, 8, 12)
LIMITS = (2_000, 5_000, 10_000, 20_000, None)
EFFORTS = ("low", "normal", "high")

NOISE = 0.1
"""Decades by which a region may be smaller, and still counts as large: another seed changes as much."""


def share(asked: Shape, seed: int, **settings: object) -> float:
    """log10 of the share of the domain that a region has; minus infinity where there is none."""
    region = find_region(asked.faithful, asked.instance, asked.domain, random_state=seed, **settings)
    return float(region.log10_share) if region else -np.inf


def losses(shares: list[list[float]], more: int) -> np.ndarray:
    """By how many decades the next setting's regions are smaller than those of this one."""
    both = np.array([(row[more - 1], row[more]) for row in shares])
    lost = np.full(len(both), -np.inf)
    had = np.isfinite(both[:, 0])
    lost[had] = both[had, 0] - both[had, 1]
    return lost


def report(name: str, settings: tuple[object, ...], shares: list[list[float]]) -> None:
    """Print a line for every step from one setting to the next."""
    for k, (less, more) in enumerate(pairwise(settings), start=1):
        lost = losses(shares, k)
        certified = sum(np.isfinite(row[k - 1]) for row in shares), sum(np.isfinite(row[k]) for row in shares)
        print(
            f"| {name} | {less} | {more} | {certified[0]} | {certified[1]} | {np.sum(lost > 0)} "
            f"| {np.sum(lost > NOISE)} | {max(0.0, lost.max()):.2f} |",
            flush=True,
        )


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED, help="up to 399: problems for tuning")
    options = parser.parse_args(arguments)
    families = list(CONTINUOUS)
    by_effort, by_limit = [], []
    for k in range(options.problems):
        seed = options.first_seed + k
        asked = problem(families[k % len(families)], DIMS[k // len(families) % len(DIMS)], seed)
        by_effort.append([share(asked, seed, effort=effort) for effort in EFFORTS])
        by_limit.append([share(asked, seed, max_evaluations=limit) for limit in LIMITS])
    print(f"{machine()}; {options.problems} problems\n")
    print("| what | from | to | certified | then | smaller | by more than noise | most, in decades |")
    print("|---|---|---|---|---|---|---|---|")
    report("effort", EFFORTS, by_effort)
    report("max_evaluations", LIMITS, by_limit)


if __name__ == "__main__":
    main()
