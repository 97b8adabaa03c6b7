"""What model and explanation say as each feature moves alone: asked once, when a page is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lime_guarantee.errors import ModelError
from lime_guarantee.region.report import extent_of
from lime_guarantee.support.arrays import BoolArray, FloatArray
from lime_guarantee.views.feature_row import instance_coordinates
from lime_guarantee.views.plots.evaluate import ask

if TYPE_CHECKING:
    from lime_guarantee.problem.problem import Problem
    from lime_guarantee.region.region import GuaranteeRegion

PLACES = 32
"""The most places that are asked along a feature."""

MOST_ROWS, FEWEST_PLACES = 10_000, 5
"""Rows for all features together: of very many features each is asked at fewer places, but never at fewer."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Model and explanation along one feature, the others staying where the instance has them.

    Parameters
    ----------
    places : array of shape (n,)
        Where both were asked, in the domain's coordinates, rising; the instance's own place is among them.
    model, surrogate : arrays of shape (n, K)
        What they said: K numbers each.
    faithful : array of bool of shape (n,)
    """

    places: FloatArray
    model: FloatArray
    surrogate: FloatArray
    faithful: BoolArray


@dataclass(frozen=True, eq=False)
class Curves:
    """The curves of all features.

    Parameters
    ----------
    asked : int
        Rows that the model was asked for them.
    model, surrogate : arrays of shape (K,)
        What both said of the instance.
    along : tuple of Curve
    """

    asked: int
    model: FloatArray
    surrogate: FloatArray
    along: tuple[Curve, ...]


def ask_along(region: GuaranteeRegion, problem: Problem, data: FloatArray | None = None) -> Curves:
    """Ask model and explanation along all features, in one batch unless the model takes fewer rows at once.

    Parameters
    ----------
    region : GuaranteeRegion
    problem : Problem
        What the region was found for.
    data : array, optional
        Rows in the domain's coordinates: more places are asked where they lie.
    """
    home = instance_coordinates(region)
    places = [places_along(region, i, home[i], data) for i in range(home.size)]
    moved = [where[where != home[i]] for i, where in enumerate(places)]
    ends = np.cumsum([1, *map(len, moved)])  # the first row is the instance itself, for all features
    points = np.tile(home, (int(ends[-1]), 1))
    for i, where in enumerate(moved):
        points[ends[i] : ends[i + 1], i] = where
    try:
        model, surrogate = ask(problem, region.domain, home, dict(enumerate(points.T)))
    except Exception as error:
        raise ModelError(
            f"to_html asked the model along every feature, and it raised {type(error).__name__}: {error} "
            "Pass model=False for a page without the model's curves."
        ) from error
    faithful = np.asarray(problem.agreement(model, surrogate), dtype=np.bool_)
    model, surrogate = model.reshape(len(points), -1), surrogate.reshape(len(points), -1)
    along = []
    for i, where in enumerate(places):
        rows = np.zeros(len(where), dtype=np.int64)
        rows[where != home[i]] = np.arange(ends[i], ends[i + 1])
        along.append(Curve(where, model[rows], surrogate[rows], faithful[rows]))
    return Curves(len(points) * problem.rows_each, model[0], surrogate[0], tuple(along))


def places_along(region: GuaranteeRegion, i: int, home: float, data: FloatArray | None = None) -> FloatArray:
    """Where to ask along a feature: the instance's place, both ends of the region, and places between.

    Half of these are evenly spread over the axis, and half as the data are, where there are any.
    """
    axis, extent = region.domain.axes[i], extent_of(region, i)
    if axis.constant:
        return np.array([home])
    most = int(np.clip(MOST_ROWS // len(region.domain), FEWEST_PLACES, PLACES))
    if axis.has_cells and axis.width <= most:
        return axis.cells
    known = [home, extent.lower, extent.upper] if axis.ordered else [home]
    free = most - len(known)
    column = np.empty(0) if data is None else data[:, i]
    inside = column[(column >= axis.low) & (column <= axis.high)]
    if inside.size and axis.ordered and free > 3:
        levels = np.linspace(0, 1, free // 2 + 2)[1:-1]
        spread = axis.nearest(np.quantile(inside, levels))
        return np.unique(np.concatenate([axis.evenly(free - free // 2), spread, known]))
    return np.unique(np.concatenate([axis.evenly(free), known]))
