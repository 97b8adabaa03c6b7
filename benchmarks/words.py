"""Texts and other features of two values: how many of them may vary in any combination.

Each problem is a model of the words that were removed, one feature a word; the instance is the whole text. A
region is a set of words of which any may be removed, and the larger, the better. Run it as ``python -m
benchmarks.words``, also for another version of the package.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from benchmarks.measure import Measurement, measure
from lime_guarantee import Domain

MATTERING = 10
"""Words that matter, in most families."""

FRESH_DRAWS = 20_000
"""Draws on which the purity of a region is measured."""

Faithful = Callable[[np.ndarray], np.ndarray]


def weights(rng: np.random.Generator, count: int) -> Faithful:
    """Some words with weights that add up, or cancel."""
    weight = rng.normal(size=count)
    return lambda gone: np.abs(gone @ weight) < 1.0


def one_way(rng: np.random.Generator, count: int) -> Faithful:
    """The class stays until too much of what speaks for it is gone."""
    weight = rng.exponential(size=count)
    return lambda gone: gone @ weight < 2.0


def fatal(_: np.random.Generator, __: int) -> Faithful:
    """Each word that matters must stay."""
    return lambda gone: ~gone.any(axis=1)


def count_of_three(_: np.random.Generator, __: int) -> Faithful:
    """No more than three of the words that matter may go."""
    return lambda gone: gone.sum(axis=1) <= 3


def pairs(rng: np.random.Generator, count: int) -> Faithful:
    """Random pairs of words may not go together, as many as there are words that matter."""
    both = np.array([rng.choice(count, 2, replace=False) for _ in range(count)])
    return lambda gone: ~(gone[:, both[:, 0]] & gone[:, both[:, 1]]).any(axis=1)


def threes(rng: np.random.Generator, count: int) -> Faithful:
    """One of every three words must stay."""
    groups = rng.permutation(count)[: count // 3 * 3].reshape(-1, 3)
    return lambda gone: ~gone[:, groups].all(axis=2).any(axis=1)


def trees(rng: np.random.Generator, count: int) -> Faithful:
    """The mean of ten trees that have learnt a score with products of words."""
    rows = rng.random((2_000, count)) < 0.5
    score = rows @ rng.normal(size=count) + (rows @ rng.normal(size=count)) ** 2 / count
    fitted = []
    for k in range(10):
        some = rng.integers(len(rows), size=len(rows))
        fitted.append(DecisionTreeRegressor(max_depth=6, random_state=k).fit(rows[some], score[some]))

    def predict(gone: np.ndarray) -> np.ndarray:
        return np.asarray(np.mean([tree.predict(gone) for tree in fitted], axis=0))

    own = predict(np.zeros((1, count), dtype=bool))[0]
    bound = 0.7 * score.std()
    return lambda gone: np.abs(predict(gone) - own) < bound


def network(rng: np.random.Generator, count: int) -> Faithful:
    """A small random network that should stay near what it says of the whole text."""
    first, bias, second = rng.normal(size=(count, 16)), rng.normal(size=16), rng.normal(size=16)

    def predict(gone: np.ndarray) -> np.ndarray:
        return np.asarray(np.tanh((1.0 - gone) @ first / np.sqrt(count) + bias) @ second)

    own = predict(np.zeros((1, count), dtype=bool))[0]
    return lambda gone: np.abs(predict(gone) - own) < 1.0


FAMILIES = {
    "weights": (weights, True),
    "one way": (one_way, True),
    "fatal": (fatal, True),
    "three": (count_of_three, True),
    "pairs": (pairs, True),
    "threes": (threes, True),
    "trees": (trees, True),
    "network": (network, True),
    "all weigh": (weights, False),
    "all in pairs": (pairs, False),
    "all in network": (network, False),
}
"""The families, and whether only some of the words matter."""


def problem(family: str, dims: int, seed: int) -> Faithful:
    """A problem of a family; seeds below 100 are for reports, others for tuning."""
    rng = np.random.default_rng([seed, dims, sum(family.encode())])
    make, some = FAMILIES[family]
    which = rng.permutation(dims)[:MATTERING] if some else np.arange(dims)
    said = make(rng, which.size)
    return lambda X: said(np.asarray(X)[:, which] < 0.5)


def solved(family: str, dims: int, seed: int, options: dict[str, str]) -> tuple[int, Measurement]:
    """How many words the region of a problem sets free, and what it took."""
    domain = Domain.from_bounds([0] * dims, [1] * dims, integer=range(dims))
    faithful = problem(family, dims, seed)
    measured, region = measure(
        faithful, np.ones(dims), domain, random_state=seed, fresh_draws=FRESH_DRAWS, **options
    )
    return int(np.sum(region.lower < region.upper)), measured


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--effort", choices=("low", "normal", "high"))
    parser.add_argument("--dims", type=int, nargs="+", default=[20, 50, 100])
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--points", type=int, default=5, help="problems a cell")
    parser.add_argument("--first-seed", type=int, default=0, help="from 100 on: problems for tuning")
    asked = parser.parse_args(arguments)
    options = {"effort": asked.effort} if asked.effort else {}
    print("| D | family | free | certified | lowest purity | evaluations | calls | engine s |")
    print("|---|---|---|---|---|---|---|---|")
    for dims in asked.dims:
        rows: list[tuple[int, Measurement]] = []
        for family in asked.families:
            seeds = range(asked.first_seed, asked.first_seed + asked.points)
            cell = [solved(family, dims, seed, options) for seed in seeds]
            _line(dims, family, cell)
            rows += cell
        _line(dims, "all", rows)


def _line(dims: int, name: str, rows: list[tuple[int, Measurement]]) -> None:
    free, measured = zip(*rows, strict=True)
    evaluations, calls, seconds = np.mean(
        [(one.evaluations, one.calls, one.engine_seconds) for one in measured], axis=0
    )
    print(
        f"| {dims} | {name} | {np.mean(free):.2f} | {sum(one.certified for one in measured)} of {len(rows)} "
        f"| {min(one.purity for one in measured):.4f} | {evaluations:,.0f} | {calls:.0f} | {seconds:.2f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
