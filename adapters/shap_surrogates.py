"""What else a SHAP explanation can be read as: slopes, dependence in other rows, presence, plain sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.surrogates import AdditiveSurrogate, LinearSurrogate, Terms
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import AnyArray, FloatArray

NEAR_MEAN = 0.05
"""Nearer to the mean, in standard deviations, a slope is a number divided by almost nothing."""

NEGLIGIBLE = 1e-9
DEPENDENCE_BINS = 20
FEWEST_ROWS = 20


def linear_surrogate(
    base: float,
    values: FloatArray,
    instance: FloatArray,
    rows: FloatArray,
    shares: FloatArray,
    names: Sequence[str],
    coefficients: FloatArray | None,
) -> LinearSurrogate:
    """Every value in proportion to the feature's distance from the background's mean.

    For a linear model its own coefficients are taken; they are the same slopes, without the division.
    """
    mean = shares @ rows
    gap = instance - mean
    if coefficients is None:
        spread = np.sqrt(shares @ (rows - mean) ** 2)
        matters = np.abs(values) > NEGLIGIBLE * np.abs(values).sum()
        unsafe = matters & (np.abs(gap) <= NEAR_MEAN * spread)
        if unsafe.any():
            raise InvalidInputError(
                "surrogate: 'linear' divides a value by its feature's distance from the mean, which is "
                f"almost nothing for {', '.join(names[i] for i in np.flatnonzero(unsafe).tolist())}. Use "
                "surrogate='profile'."
            )
        coefficients = np.where(matters, values / np.where(matters, gap, 1.0), 0.0)
    at_instance = base + values.sum()
    intercept = np.array([at_instance - coefficients @ instance])  # pinned to the explanation
    return _linear(intercept, slopes=(np.arange(values.size), coefficients))


def presence_surrogate(
    base: float, values: FloatArray, instance: FloatArray, rows: FloatArray
) -> LinearSurrogate:
    """Every value holds while its feature stays in its quarter of the background, and is 0 elsewhere."""
    above, upto = np.empty(values.size), np.empty(values.size)
    for i, value in enumerate(instance):
        edges = np.unique(np.nanpercentile(rows[:, i], [25, 50, 75]))
        place = int(np.searchsorted(edges, value))
        above[i] = edges[place - 1] if place > 0 else -np.inf
        upto[i] = edges[place] if place < edges.size else np.inf
    steps = Terms(np.arange(values.size), values[:, np.newaxis], above, upto)
    return LinearSurrogate(np.array([base]), steps, Terms([], np.empty((0, 1)), [], []))


def sum_surrogate(base: float, values: FloatArray) -> LinearSurrogate:
    """In the space of coalitions: the base, and the values of the features that are present."""
    return _linear(np.array([base]), slopes=(np.arange(values.size), values))


def dependence_surrogate(
    base: float,
    values: FloatArray,
    instance: AnyArray,
    domain: Domain,
    others: tuple[FloatArray, AnyArray],
) -> AdditiveSurrogate:
    """Every value as it depends on its feature among the rows explained together, pinned at the instance.

    Rows are grouped by the feature, about as many in each group; within, value and feature are averaged.
    """
    their_values, their_data = others
    if len(their_data) < FEWEST_ROWS:
        raise InvalidInputError(
            f"surrogate: 'dependence' needs at least {FEWEST_ROWS} rows explained together; got "
            f"{len(their_data)}. Explain a batch, and slice it; or use surrogate='profile'."
        )
    wide, _ = domain.including(instance)
    home = wide.encode(instance[np.newaxis])[0]
    coordinates = wide.encode(their_data)
    grids, effects = [], []
    for i, axis in enumerate(wide.axes):
        known = np.isfinite(coordinates[:, i])
        if axis.constant or not known.any():
            grids.append(home[[i]])
            effects.append(values[[i]])
            continue
        bins = DEPENDENCE_BINS if axis.ordered else None
        grid, effect = _averaged(coordinates[known, i], their_values[known, i], bins)
        shift = values[i] - np.interp(home[i], grid, effect)
        grids.append(np.union1d(grid, home[[i]]))
        effects.append(np.interp(grids[-1], grid, effect) + shift)
    return AdditiveSurrogate(wide, base, tuple(grids), tuple(effects))


def _averaged(at: FloatArray, values: FloatArray, bins: int | None) -> tuple[FloatArray, FloatArray]:
    """Means of groups of rows: rows of the same place, or so many groups of about the same size."""
    places = np.unique(at)
    if bins is not None and places.size > bins:
        edges = np.unique(np.quantile(at, np.linspace(0, 1, bins + 1)[1:-1]))
        group = np.searchsorted(edges, at)
    else:
        group = np.searchsorted(places, at)
    counts = np.bincount(group)
    filled = counts > 0
    grid = np.bincount(group, at)[filled] / counts[filled]
    return grid, np.bincount(group, values)[filled] / counts[filled]


def _linear(intercept: FloatArray, slopes: tuple[AnyArray, FloatArray]) -> LinearSurrogate:
    features, weights = slopes
    count = len(features)
    return LinearSurrogate(
        intercept,
        steps=Terms([], np.empty((0, 1)), [], []),
        slopes=Terms(features, weights[:, np.newaxis], np.zeros(count), np.ones(count)),
    )
