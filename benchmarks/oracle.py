"""The synthetic oracle of the paper's table 3, for any search and number of features.

A point is faithful when the sum of ``|x_i|`` over half of the features is below D/4. The domain is
[-D/2, D/2] and the instance is uniform in [-0.5, 0.5]. Run it as ``python -m benchmarks.oracle``.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import comb, factorial, log10
from pathlib import Path

import numpy as np

from benchmarks.measure import Measurement, measure
from lime_guarantee import Divide, Domain, Greedy, Radial

SEARCHES = ("boundary", "divide", "radial", "greedy")


@dataclass(frozen=True)
class L1Oracle:
    """Faithful where the sum of ``|x_i|`` over the first half of the features is below D/4."""

    dims: int

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return np.abs(X[:, : self.dims // 2]).sum(axis=1) < self.dims / 4

    def domain(self) -> Domain:
        """The domain [-D/2, D/2]."""
        return Domain.from_bounds([-self.dims / 2] * self.dims, [self.dims / 2] * self.dims)

    def instance(self, seed: int) -> np.ndarray:
        """A point uniform in [-0.5, 0.5]."""
        return np.random.default_rng(seed).uniform(-0.5, 0.5, self.dims)


def best_log10_volume(dims: int, purity: float) -> float:
    """The largest volume a box of this purity can have on the oracle (irrelevant features are free).

    By symmetry it is a cube around 0 in the relevant features: with half-width w the sum of their
    magnitudes over w has the Irwin-Hall distribution, whose value at (D/4)/w must be the purity.
    """
    relevant = dims // 2
    low, high = Fraction(dims, 4 * relevant), Fraction(dims, 2)  # a smaller cube has purity 1
    if purity >= 1:
        high = low
    for _ in range(40 if purity < 1 else 0):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _irwin_hall(relevant, Fraction(dims, 4) / middle) >= purity else (low, middle)
        )
        low, high = low.limit_denominator(10**9), high.limit_denominator(10**9)
    return relevant * log10(2 * float(low)) + (dims - relevant) * log10(dims)


def cube_purity(dims: int, log10_volume: float) -> float:
    """The purity of a box of some volume that is a cube around 0 in the relevant features."""
    relevant = dims // 2
    half_width = 10 ** ((log10_volume - (dims - relevant) * log10(dims)) / relevant) / 2
    return _irwin_hall(relevant, Fraction(dims / (4 * half_width)))


def _irwin_hall(count: int, x: Fraction) -> float:
    """Probability that the sum of `count` uniforms on [0, 1] is at most x, exactly."""
    if x >= count:
        return 1.0
    terms = sum((-1) ** j * comb(count, j) * (x - j) ** count for j in range(int(x) + 1))
    return float(terms / factorial(count))


def run(options: argparse.Namespace) -> dict[int, list[Measurement]]:
    """Measure every number of features asked for; prints a line for each."""
    search = {
        "divide": Divide(options.positives, options.nodes),
        "radial": Radial(),
        "greedy": Greedy(),
    }.get(options.search, options.search)
    results: dict[int, list[Measurement]] = {}
    measure(L1Oracle(4), [0.1] * 4, L1Oracle(4).domain(), search=search, random_state=0)  # compiles
    setting = f", N = {options.positives}, T = {options.nodes}" if options.search == "divide" else ""
    print(
        f"search {options.search}{setting}, {options.certifier} test, {options.points} points, "
        f"purity {options.purity}, confidence {options.confidence}"
    )
    print(
        f"{'D':>4} {'optimum':>8} {'log10 volume':>16} {'evaluations':>12} {'calls':>7} "
        f"{'engine s':>9} {'model s':>8} {'purity: mean':>12} {'lowest':>8} {'certified':>10}"
    )
    for dims in options.dims:
        oracle = L1Oracle(dims)
        results[dims] = [
            measure(
                oracle,
                oracle.instance(seed),
                oracle.domain(),
                search=search,
                certifier=options.certifier,
                purity=options.purity,
                confidence=options.confidence,
                random_state=seed,
            )[0]
            for seed in range(options.points)
        ]
        rows = results[dims]
        volume = np.array([row.log10_volume for row in rows])
        purity = np.array([row.purity for row in rows])
        print(
            f"{dims:>4} {best_log10_volume(dims, options.purity):>8.2f} "
            f"{volume.mean():>9.3f} ± {volume.std():>4.2f} {_mean(rows, 'evaluations'):>12,.0f} "
            f"{_mean(rows, 'calls'):>7,.0f} {_mean(rows, 'engine_seconds'):>9.3f} "
            f"{_mean(rows, 'model_seconds'):>8.3f} {purity.mean():>12.5f} {purity.min():>8.5f} "
            f"{sum(row.certified for row in rows):>5} of {len(rows)}",
            flush=True,
        )
    return results


def _mean(rows: list[Measurement], name: str) -> float:
    return float(np.mean([getattr(row, name) for row in rows]))


def plot(results: dict[int, list[Measurement]], path: Path) -> None:
    """Draw evaluations against the number of features, beside a line that grows like D log D."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    dims = np.array(sorted(results))
    means = np.array([_mean(results[d], "evaluations") for d in dims])
    figure, axes = pyplot.subplots(figsize=(5, 3.4), layout="constrained")
    start = int(np.argmin(np.abs(dims - 10)))
    growth = dims * np.log(dims) / (dims[start] * np.log(dims[start]))
    axes.loglog(dims[start:], means[start] * growth[start:], "--", color="0.5", label="D log D")
    axes.loglog(dims, means, "o-", color="C0", label="measured")
    axes.set(xlabel="features D", ylabel="evaluations a region")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--search", default="boundary", choices=SEARCHES)
    parser.add_argument(
        "--certifier", choices=("anytime", "zero-failure"), help="zero-failure for divide, else anytime"
    )
    parser.add_argument("--dims", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--positives", type=int, default=100, help="N of the paper (divide only)")
    parser.add_argument("--nodes", type=int, default=100, help="T of the paper (divide only)")
    parser.add_argument("--points", type=int, default=10, help="instances for each number of features")
    parser.add_argument("--purity", type=float, default=0.99)
    parser.add_argument("--confidence", type=float, default=0.99)
    parser.add_argument("--json", type=Path, help="also write every measurement here")
    parser.add_argument("--plot", type=Path, help="also draw evaluations against D here (a PNG file)")
    options = parser.parse_args(arguments)
    options.certifier = options.certifier or ("zero-failure" if options.search == "divide" else "anytime")
    results = run(options)
    if options.json:
        data = {str(dims): [asdict(row) for row in rows] for dims, rows in results.items()}
        options.json.write_text(json.dumps(data, indent=1))
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
