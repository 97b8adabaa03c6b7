"""Problems whose purity is known exactly for every region."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lime_guarantee import Domain


@dataclass(frozen=True)
class KnownProblem:
    name: str
    domain: Domain
    faithful: Callable
    draw_instance: Callable  # rng -> a faithful instance
    purity: Callable  # region -> its true purity


def box_purity(volume_of_part):
    """Purity of a box from the faithful volume between two corners; sides of no width drop out."""

    def purity(region):
        return volume_of_part(region.lower, region.upper) / np.prod(region.upper - region.lower)

    return purity


def disc():
    """|x| < 1 in two dimensions."""

    def area(lower, upper):
        edges = np.linspace(lower[0], upper[0], 20_001)
        x = (edges[1:] + edges[:-1]) / 2
        half = np.sqrt(np.clip(1 - x**2, 0, None))
        chord = np.minimum(upper[1], half) - np.maximum(lower[1], -half)
        return np.sum(np.clip(chord, 0, None)) * (edges[1] - edges[0])

    def lens_share(region):
        d, r = float(np.linalg.norm(region.instance)), region.radius
        if d + r <= 1:
            return 1.0
        if d + 1 <= r:
            return 1 / r**2
        a = math.acos((d**2 + r**2 - 1) / (2 * d * r))
        b = math.acos((d**2 + 1 - r**2) / (2 * d))
        kite = math.sqrt((-d + r + 1) * (d + r - 1) * (d - r + 1) * (d + r + 1)) / 2
        return (r**2 * a + b - kite) / (math.pi * r**2)

    def purity(region):
        return box_purity(area)(region) if region.radius is None else lens_share(region)

    return KnownProblem(
        "disc",
        Domain.from_bounds([-4, -4], [4, 4]),
        lambda X: np.sum(X**2, axis=1) < 1,
        lambda rng: rng.uniform(-0.4, 0.4, 2),
        purity,
    )


def l1_ball():
    """|x| + |y| + |z| < 1.5; the volume of a piece of it in one octant is a sum over corners."""
    size = 1.5

    def octant_volume(low, high):
        total = 0.0
        for corner in itertools.product(*zip(low, high, strict=True)):
            upper_ends = sum(c == h for c, h in zip(corner, high, strict=True))
            total += (-1) ** upper_ends * max(0.0, size - sum(corner)) ** 3 / 6
        return total

    def volume(lower, upper):
        pieces = []
        for lo, hi in zip(lower, upper, strict=True):
            pieces.append([(max(0.0, -min(0.0, hi)), -lo)] if lo < 0 else [])
            pieces[-1] += [(max(0.0, lo), hi)] if hi > 0 else []
        return sum(octant_volume(*zip(*sides, strict=True)) for sides in itertools.product(*pieces))

    return KnownProblem(
        "l1 ball",
        Domain.from_bounds([-2] * 3, [2] * 3),
        lambda X: np.abs(X).sum(axis=1) < size,
        lambda rng: rng.uniform(-0.3, 0.3, 3),
        box_purity(volume),
    )


def stripes():
    """A failing stripe of width 0.11 in every unit along x, and y does not matter."""
    width = 0.11

    def failing_length(x):
        return math.floor(x) * width + min(x - math.floor(x), width)

    def purity(region):
        low, high = region.lower[0], region.upper[0]
        return 1 - (failing_length(high) - failing_length(low)) / (high - low)

    return KnownProblem(
        "stripes",
        Domain.from_bounds([-3, 0], [3, 1]),
        lambda X: X[:, 0] % 1 >= width,
        lambda rng: np.array([rng.integers(-2, 2) + rng.uniform(0.3, 0.8), rng.random()]),
        purity,
    )


def two_boxes():
    """The union of a flat and a tall box, which makes an L; the corner between them fails."""
    boxes = [(np.array([0.0, 0.0]), np.array([3.0, 1.0])), (np.array([0.0, 0.0]), np.array([1.0, 3.0]))]

    def overlap(lower, upper, box):
        return np.prod(np.clip(np.minimum(upper, box[1]) - np.maximum(lower, box[0]), 0, None))

    def area(lower, upper):
        both = (np.maximum(boxes[0][0], boxes[1][0]), np.minimum(boxes[0][1], boxes[1][1]))
        return sum(overlap(lower, upper, box) for box in boxes) - overlap(lower, upper, both)

    return KnownProblem(
        "two boxes",
        Domain.from_bounds([-1, -1], [4, 4]),
        lambda X: ((X >= 0) & (X <= 3)).all(axis=1) & (X <= 1).any(axis=1),
        lambda rng: rng.uniform(0.1, 0.9, 2),
        box_purity(area),
    )


def cells():
    """Integer, categorical and binary axes; the purity of a region is counted cell by cell."""
    colours = ["red", "green", "blue", "grey", "pink"]

    def faithful(X):
        number, colour, flag = X[:, 0].astype(int), X[:, 1], X[:, 2].astype(int)
        code = np.array([colours.index(c) for c in colour])
        scattered = (7 * number + 3 * code + 5 * flag) % 19 == 4
        return ~(scattered | (number > 15) | ((colour == "pink") & (flag == 1)))

    def purity(region):
        grid = [
            row
            for row in itertools.product(range(20), region.allowed["colour"], (0, 1))
            if region.lower[0] <= row[0] <= region.upper[0] and region.lower[2] <= row[2] <= region.upper[2]
        ]
        return faithful(np.array(grid, dtype=object)).mean()

    return KnownProblem(
        "cells",
        Domain.from_bounds(
            [0, 0, 0],
            [19, 0, 1],
            names=["number", "colour", "flag"],
            integer=["number", "flag"],
            categories={"colour": colours},
        ),
        faithful,
        lambda rng: np.array([int(rng.integers(1, 3)), "blue", int(rng.integers(2))], dtype=object),
        purity,
    )


def words():
    """Eight binary axes, as for the words of a text; the failing combinations of a region are counted."""
    weight = np.array([0.9, -0.8, 0.7, -0.6, 0.5, 0.3, 1.5, 0.0])

    def faithful(X):
        return np.abs((1 - X) @ weight) < 1.25

    def purity(region):
        free = np.flatnonzero(region.lower < region.upper)
        grid = np.tile(region.instance, (2**free.size, 1))
        grid[:, free] = list(itertools.product((0.0, 1.0), repeat=free.size))
        return faithful(grid).mean()

    return KnownProblem(
        "words",
        Domain.from_bounds([0] * 8, [1] * 8, integer=range(8)),
        faithful,
        lambda rng: np.ones(8),
        purity,
    )


def boundary():
    """One dimension, faithful below 0.5; every region that reaches far past it is bad."""

    def purity(region):
        low, high = region.lower[0], region.upper[0]
        return float(np.clip((0.5 - low) / (high - low), 0, 1))

    return KnownProblem(
        "boundary",
        Domain.from_bounds([0], [1]),
        lambda X: X[:, 0] < 0.5,
        lambda rng: rng.uniform(0.1, 0.49, 1),
        purity,
    )


def data_rows(rows=600):
    """A zero-inflated column of counts, a skewed category, a switch and a long-tailed whole number."""
    rng = np.random.default_rng(11)
    frame = np.empty((rows, 4), dtype=object)
    frame[:, 0] = np.where(rng.random(rows) < 0.6, 0, 1 + rng.poisson(3.0, rows)).tolist()
    frame[:, 1] = rng.choice(["red", "green", "blue", "grey", "pink"], rows, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    frame[:, 2] = (rng.random(rows) < 0.2).astype(int).tolist()
    frame[:, 3] = np.round(rng.exponential(4.0, rows)).astype(int).tolist()
    return frame


def data_cells():
    """Each feature as it is distributed in data; the purity is counted, value by value, from the data."""
    X = data_rows()
    colours = ["red", "green", "blue", "grey", "pink"]

    def faithful(rows):
        count, size = rows[:, 0].astype(int), rows[:, 3].astype(int)
        code, flag = np.array([colours.index(c) for c in rows[:, 1]]), rows[:, 2].astype(int)
        scattered = (5 * count + 3 * code + 7 * size) % 23 == 4
        return ~(scattered | (count + size > 9) | ((code == 1) & (flag == 1)))

    def purity(region):
        kept = []
        for i, name in enumerate(region.names):
            column = X[:, i].tolist()
            held = region.allowed.get(name)
            inside = [v for v in column if (v in held if held else region.lower[i] <= v <= region.upper[i])]
            values = sorted(set(inside))
            kept.append([(value, inside.count(value) / len(inside)) for value in values])
        grid = list(itertools.product(*kept))
        rows = np.array([[value for value, _ in combination] for combination in grid], dtype=object)
        weight = np.array([math.prod(share for _, share in combination) for combination in grid])
        return float(weight[faithful(rows)].sum())

    def draw_instance(rng):
        rows = X[faithful(X)]
        return rows[rng.integers(len(rows))]

    return KnownProblem("data cells", Domain.from_data(X), faithful, draw_instance, purity)


def data_curve():
    """Two columns of numbers, one of which is 0 in half of the rows; faithful below a line.

    The purity is counted over all pairs of values of the two columns, which differ from the quantile
    function through a few knots by less than a hundredth; that is allowed for.
    """
    rng = np.random.default_rng(12)
    X = np.column_stack(
        [np.where(rng.random(800) < 0.5, 0.0, rng.exponential(2.0, 800)), rng.normal(size=800)]
    )

    def faithful(rows):
        return rows[:, 0] + rows[:, 1] < 2.5

    def purity(region):
        inside = (region.lower <= X) & (region.upper >= X)
        first, second = X[inside[:, 0], 0], X[inside[:, 1], 1]
        return float(np.mean(first[:, np.newaxis] + second < 2.5)) + 0.01

    def draw_instance(rng):
        rows = X[X.sum(axis=1) < 1.5]
        return rows[rng.integers(len(rows))]

    return KnownProblem("data curve", Domain.from_data(X), faithful, draw_instance, purity)


PROBLEMS = {
    make().name: make()
    for make in (disc, l1_ball, stripes, two_boxes, cells, words, boundary, data_cells, data_curve)
}
