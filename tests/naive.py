"""Slow, obvious twins of the kernels and bounds. Nothing here is imported from the package."""

import itertools
import math

import numpy as np


def points_inside(points, lower, upper):
    return np.array(
        [all(lo <= v <= hi for v, lo, hi in zip(p, lower, upper, strict=True)) for p in points], dtype=bool
    )


def hull(points, member):
    chosen = points[member]
    return chosen.min(axis=0), chosen.max(axis=0)


def max_box_count(positives, negatives, anchor):
    """The most positives any box around the anchor can hold without a negative, by trying all boxes."""
    low_choices = [sorted(set(column[column <= a])) for column, a in zip(positives.T, anchor, strict=True)]
    high_choices = [sorted(set(column[column >= a])) for column, a in zip(positives.T, anchor, strict=True)]
    best = 0
    for lower in itertools.product(*low_choices):
        for upper in itertools.product(*high_choices):
            if not points_inside(negatives, lower, upper).any():
                best = max(best, int(points_inside(positives, lower, upper).sum()))
    return best


def cell_stops(points, anchor, cells):
    """Where a side stops before a point: half a cell before it, or at the point's own place."""
    return np.where(cells, points - 0.5 * np.sign(points - anchor), points)


def expand_box(negatives, stops, lower, upper, low_edge, high_edge, home_width, priority):
    """Move one side at a time as far as it goes: the largest relative gain, or the order given."""
    lower, upper = lower.astype(float).copy(), upper.astype(float).copy()
    dims = len(lower)

    def limit(side):
        d = side % dims
        others = [i for i in range(dims) if i != d]
        wall = low_edge[d] if side < dims else high_edge[d]
        for p, stop in zip(negatives, stops, strict=True):
            if not all(lower[i] <= p[i] <= upper[i] for i in others):
                continue
            if side < dims and p[d] < lower[d]:
                wall = max(wall, stop[d] if stop[d] != p[d] else math.nextafter(p[d], math.inf))
            if side >= dims and p[d] > upper[d]:
                wall = min(wall, stop[d] if stop[d] != p[d] else math.nextafter(p[d], -math.inf))
        return min(wall, lower[d]) if side < dims else max(wall, upper[d])

    def gain(side):
        d = side % dims
        grown = lower[d] - limit(side) if side < dims else limit(side) - upper[d]
        width = upper[d] - lower[d] + home_width[d]
        if grown <= 0:
            return 0.0
        return grown / width if width > 0 else math.inf

    def move(side):
        if side < dims:
            lower[side] = limit(side)
        else:
            upper[side - dims] = limit(side)

    if len(priority):
        for side in priority:
            move(side)
        return lower, upper
    while max(gain(side) for side in range(2 * dims)) > 0:
        move(max(range(2 * dims), key=gain))
    return lower, upper


def log_evidence(draws, failures, purity, fractions):
    """The mean of the likelihood ratios, each multiplied out draw by draw."""
    q0 = 1 - purity
    ratios = []
    for t in fractions:
        ratio = 1.0
        for _ in range(failures):
            ratio *= t
        for _ in range(draws - failures):
            ratio *= (1 - t * q0) / (1 - q0)
        ratios.append(ratio)
    return math.log(sum(ratios) / len(ratios))
