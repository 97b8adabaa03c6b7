"""Families of faithful sets whose best box is known: the judge of every search, beside the paper's oracle.

Each family is a set in [-1, 1]^D; every axis is then scaled by 10^U(-3, 3) and shifted. What is reported is
the mean of log10(share / best): how many decades a region is short of the best box of the asked purity. Run
it as ``python -m benchmarks.shapes``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.measure import Measurement, measure
from lime_guarantee import Divide, Domain

PURITY = 0.99
"""What a best box has to have."""

LIKELY_DRAWS, LIKELY_CELLS = 40_000, 6_000_000
"""Draws on which a best box is found, and the most numbers that they may be."""

WALL_TOLERANCE = 0.01
"""What a box between walls may be longer on one side: the purity allows so much."""


FRESH_DRAWS = 20_000
"""Draws on which the purity of a region is measured."""


@dataclass(frozen=True, eq=False)
class Shape:
    """One problem: a faithful set, an instance in it, and log10 of the best box's share of the domain."""

    faithful: Callable[[np.ndarray], np.ndarray]
    instance: np.ndarray
    domain: Domain
    best: float


@dataclass(frozen=True)
class Row:
    """What one search did on one problem: decades to the best box, and what it took."""

    family: str
    dims: int
    seed: int
    short: float
    measured: Measurement


def half_space(dims: int, rng: np.random.Generator) -> Shape:
    """w.z < w.z0 + .3 |w|: a box that goes to the edge on one side of every axis."""
    weight, start = rng.normal(size=dims), rng.uniform(-0.5, 0.5, dims)
    bound = weight @ start + 0.3 * np.linalg.norm(weight)

    def faithful(Z: np.ndarray) -> np.ndarray:
        return Z @ weight < bound

    def box(size: float) -> tuple[np.ndarray, np.ndarray]:
        width = size / np.abs(weight)
        up = weight > 0
        return (
            np.where(up, -1.0, np.clip(1.0 - width, -1.0, start)),
            np.where(up, np.clip(width - 1.0, start, 1.0), 1.0),
        )

    return _scaled(faithful, start, _largest(faithful, box, rng), rng)


def stripe(dims: int, rng: np.random.Generator) -> Shape:
    """|w.(z - z0)| < .3 |w|: two boundaries across all axes."""
    weight, start = rng.normal(size=dims), rng.uniform(-0.5, 0.5, dims)
    bound = 0.3 * np.linalg.norm(weight)

    def faithful(Z: np.ndarray) -> np.ndarray:
        return np.abs((Z - start) @ weight) < bound

    def box(size: float) -> tuple[np.ndarray, np.ndarray]:
        width = size / np.abs(weight)
        return np.maximum(start - width, -1.0), np.minimum(start + width, 1.0)

    return _scaled(faithful, start, _largest(faithful, box, rng), rng)


def ellipsoid(dims: int, rng: np.random.Generator) -> Shape:
    """An ellipsoid with axes in any direction, the instance halfway from its centre."""
    turned = np.linalg.qr(rng.normal(size=(dims, dims)))[0]
    radii = np.sqrt(dims) * np.geomspace(0.15, 0.6, dims)
    direction = rng.normal(size=dims)
    start = np.clip(0.5 * turned @ (radii * direction / np.linalg.norm(direction)), -0.9, 0.9)
    form = turned / radii

    def faithful(Z: np.ndarray) -> np.ndarray:
        return np.sum((Z @ form) ** 2, axis=1) < 1.0

    return _scaled(faithful, start, _balanced(faithful, start, rng), rng)


def ball(dims: int, rng: np.random.Generator) -> Shape:
    """|z|^2 < D / 10 around an instance off its centre."""
    start = np.full(dims, 0.05)

    def faithful(Z: np.ndarray) -> np.ndarray:
        return np.sum(Z**2, axis=1) < dims / 10

    def box(size: float) -> tuple[np.ndarray, np.ndarray]:
        return np.full(dims, -min(size, 1.0)), np.full(dims, min(size, 1.0))

    return _scaled(faithful, start, _largest(faithful, box, rng), rng)


def corner(dims: int, rng: np.random.Generator) -> Shape:
    """Two boxes around the instance, each wide on one half of the axes and narrow on the other: an L."""
    start = rng.uniform(-0.1, 0.1, dims)
    first = np.arange(dims) < dims // 2
    wide, narrow = rng.uniform(0.7, 0.9, (2, 2, dims)), rng.uniform(0.2, 0.3, (2, 2, dims))
    boxes = []
    for k, half in enumerate((first, ~first)):
        reach = np.where(half, wide[k], narrow[k])
        boxes.append((np.maximum(start - reach[0], -1.0), np.minimum(start + reach[1], 1.0)))

    def faithful(Z: np.ndarray) -> np.ndarray:
        inside = [np.all((lower <= Z) & (upper >= Z), axis=1) for lower, upper in boxes]
        return inside[0] | inside[1]

    best = max(_log_share(lower, upper) for lower, upper in boxes)
    return _scaled(faithful, start, best + WALL_TOLERANCE, rng)


def checker(dims: int, rng: np.random.Generator) -> Shape:
    """Cells, three an axis, that are faithful in turn; the best box is the instance's own cell."""
    phase, start = rng.uniform(0.0, 1.0, dims), rng.uniform(-0.5, 0.5, dims)

    def cell(Z: np.ndarray) -> np.ndarray:
        return np.floor(1.5 * Z + phase)

    own = cell(start)

    def faithful(Z: np.ndarray) -> np.ndarray:
        return (cell(Z) - own).sum(axis=1) % 2 == 0

    lower, upper = np.maximum((own - phase) / 1.5, -1.0), np.minimum((own + 1.0 - phase) / 1.5, 1.0)
    return _scaled(faithful, start, _log_share(lower, upper) + WALL_TOLERANCE, rng)


CONTINUOUS = {
    "half-space": half_space,
    "ellipsoid": ellipsoid,
    "stripe": stripe,
    "L": corner,
    "checker": checker,
    "ball": ball,
}


def mixed(_: int, rng: np.random.Generator) -> Shape:
    """Ten binary axes, five of eight categories, four continuous and one integer; an additive score.

    Always 20 axes, whatever number is asked for.
    """
    cells = [2] * 10 + [8] * 5
    effects = [rng.normal(size=k) for k in cells]
    slopes = rng.normal(size=5)
    start = np.array([*(rng.integers(k) for k in cells), *rng.uniform(-0.5, 0.5, 4), rng.integers(5, 16)])
    domain = Domain.from_bounds(
        [0] * 15 + [-1] * 4 + [0],
        [1] * 15 + [1] * 4 + [20],
        integer=[*range(10), 19],
        categories={i: list(range(8)) for i in range(10, 15)},
    )

    def score(Z: np.ndarray) -> np.ndarray:
        total = Z[:, 15:] @ (slopes * np.array([1.0, 1.0, 1.0, 1.0, 0.1]))
        for i, effect in enumerate(effects):
            total = total + effect[Z[:, i].astype(np.int64)]
        return np.asarray(total)

    own = score(start[np.newaxis])[0]

    def faithful(Z: np.ndarray) -> np.ndarray:
        return np.abs(score(np.asarray(Z, dtype=np.float64)) - own) < 1.5

    held = [np.arange(k) for k in cells] + [np.linspace(-1.0, 1.0, 41)] * 4 + [np.arange(21)]
    return Shape(faithful, start, domain, _hill_climb(faithful, start, held, rng))


def _scaled(
    faithful: Callable[[np.ndarray], np.ndarray], start: np.ndarray, best: float, rng: np.random.Generator
) -> Shape:
    """The problem with every axis scaled and shifted."""
    scale = 10.0 ** rng.uniform(-3.0, 3.0, start.size)
    shift = scale * rng.uniform(-1.0, 1.0, start.size)
    domain = Domain.from_bounds(shift - scale, shift + scale)
    return Shape(lambda X: faithful((X - shift) / scale), shift + scale * start, domain, best)


def _log_share(lower: np.ndarray, upper: np.ndarray) -> float:
    """log10 of the share of [-1, 1]^D that a box is."""
    return float(np.sum(np.log10((upper - lower) / 2.0)))


def _draws(dims: int, rng: np.random.Generator) -> np.ndarray:
    return rng.random((min(LIKELY_DRAWS, LIKELY_CELLS // dims), dims))


def _largest(
    faithful: Callable[[np.ndarray], np.ndarray],
    box: Callable[[float], tuple[np.ndarray, np.ndarray]],
    rng: np.random.Generator,
) -> float:
    """The largest pure box of boxes that grow with one parameter."""
    low, high = 0.0, 1e3
    draws = _draws(box(1.0)[0].size, rng)
    for _ in range(60):
        size = np.sqrt(max(low, 1e-6) * high)
        lower, upper = box(size)
        if np.mean(faithful(lower + draws * (upper - lower))) >= PURITY:
            low = size
        else:
            high = size
    return _log_share(*box(low))


def _balanced(
    faithful: Callable[[np.ndarray], np.ndarray], start: np.ndarray, rng: np.random.Generator
) -> float:
    """A long local search: all faces come to fail alike, on many draws, from loose to strict."""
    dims = start.size
    reach = np.concatenate([start + 1.0, 1.0 - start])
    extent = 0.02 * reach

    def box(extents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return start - extents[:dims], start + extents[dims:]

    for k in range(160):
        lower, upper = box(extent)
        draws = _draws(dims, rng)
        points = lower + draws * (upper - lower)
        failed = draws[~faithful(points)]
        share = (len(failed) + 0.5) / (len(draws) + 1)
        aim = 0.2 * (0.1 / 0.2) ** min(k / 80, 1.0) if k < 100 else 0.1 * (0.01 / 0.1) ** ((k - 100) / 59)
        near = (
            np.concatenate([np.mean(failed < 0.1, axis=0), np.mean(failed > 0.9, axis=0)])
            if len(failed)
            else 0
        )
        rate = (np.asarray(near) * len(failed) + 20.0) / (0.1 * len(failed) + 20.0)
        step = np.clip(0.3 * np.log(aim / share), -0.2, 0.3) / (1.0 if share < 0.5 * aim else np.sqrt(dims))
        extent = np.minimum(extent * np.exp(step - (0.3 if k < 100 else 0.1) * np.log(rate)), reach)

    def drawn_in(size: float) -> tuple[np.ndarray, np.ndarray]:
        return box(np.minimum(extent * min(size, 2.0), reach))

    return _largest(faithful, drawn_in, rng)


def _hill_climb(
    faithful: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    held: list[np.ndarray],
    rng: np.random.Generator,
) -> float:
    """Add a value here and there, as long as the box stays pure: sets of values for all axes, many climbs."""
    uniforms = _draws(len(held), rng)[:10_000]
    best = -np.inf
    for _ in range(30):
        chosen = [np.array([np.argmin(np.abs(values - x))]) for values, x in zip(held, start, strict=True)]
        columns = [held[i][chosen[i]][np.zeros(len(uniforms), dtype=int)] for i in range(len(held))]
        refused: set[tuple[int, int]] = set()
        while True:
            moves = [
                (i, j)
                for i, values in enumerate(held)
                for j in (
                    range(values.size)
                    if values.size in (2, 8)
                    else (chosen[i].min() - 1, chosen[i].max() + 1)
                )
                if 0 <= j < values.size and j not in chosen[i] and (i, int(j)) not in refused
            ]
            if not moves:
                break
            i, j = moves[rng.integers(len(moves))]
            wider = np.append(chosen[i], j)
            column = held[i][wider[(uniforms[:, i] * wider.size).astype(int)]]
            trial = [*columns[:i], column, *columns[i + 1 :]]
            if np.mean(faithful(np.column_stack(trial))) >= PURITY:
                chosen[i], columns = wider, trial
            else:
                refused.add((i, int(j)))
        best = max(best, sum(np.log10(c.size / v.size) for c, v in zip(chosen, held, strict=True)))
    return float(best)


def problem(family: str, dims: int, seed: int) -> Shape:
    """A problem of a family; seeds below 100 are for reports, others for tuning."""
    rng = np.random.default_rng([seed, dims, sum(family.encode())])
    return mixed(dims, rng) if family == "mixed" else CONTINUOUS[family](dims, rng)


def run(options: argparse.Namespace) -> list[Row]:
    """Measure every family and number of features asked for; prints a line for each."""
    search = Divide(100, 100) if options.search == "divide" else options.search
    extra = {"effort": options.effort} if options.effort else {}
    print(f"search {options.search}, {options.points} points a cell, purity {PURITY}, confidence 0.99")
    print(
        f"{'D':>5} {'family':>10} {'decades short: mean':>20} {'worst':>7} {'certified':>10} "
        f"{'evaluations':>12} {'calls':>6} {'engine s':>9}"
    )
    rows: list[Row] = []
    for dims in options.dims:
        for family in options.families:
            cell = []
            for seed in range(options.first_seed, options.first_seed + options.points):
                shape = problem(family, dims, seed)
                measured, region = measure(
                    shape.faithful,
                    shape.instance,
                    shape.domain,
                    search=search,
                    random_state=seed,
                    fresh_draws=FRESH_DRAWS,
                    **extra,
                )
                short = region.log10_share - shape.best if region else -np.inf
                cell.append(Row(family, dims, seed, short, measured))
            rows += cell
            short = np.array([row.short for row in cell])
            print(
                f"{dims:>5} {family:>10} {short.mean():>20.2f} {short.min():>7.2f} "
                f"{sum(row.measured.certified for row in cell):>5} of {len(cell)} "
                f"{_mean(cell, 'evaluations'):>12,.0f} {_mean(cell, 'calls'):>6,.0f} "
                f"{_mean(cell, 'engine_seconds'):>9.2f}",
                flush=True,
            )
        here = [row.short for row in rows if row.dims == dims]
        print(f"{dims:>5} {'all':>10} {np.mean(here):>20.2f} {np.min(here):>7.2f}", flush=True)
    return rows


def _mean(rows: list[Row], name: str) -> float:
    return float(np.mean([getattr(row.measured, name) for row in rows]))


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    families = [*CONTINUOUS, "mixed"]
    parser.add_argument("--search", default="boundary", choices=("boundary", "divide"))
    parser.add_argument("--effort", choices=("low", "normal", "high"))
    parser.add_argument("--dims", type=int, nargs="+", default=[5, 8, 12, 20])
    parser.add_argument("--families", nargs="+", default=list(CONTINUOUS), choices=families)
    parser.add_argument("--points", type=int, default=5, help="problems a cell")
    parser.add_argument("--first-seed", type=int, default=0, help="from 100 on: problems for tuning")
    parser.add_argument("--json", type=Path, help="also write every measurement here")
    options = parser.parse_args(arguments)
    rows = run(options)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
