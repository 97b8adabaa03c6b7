"""A sparse line around an instance: what a refitted explanation stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lime_guarantee.problem.problem import Predictor
from lime_guarantee.problem.surrogates import AdditiveSurrogate, LinearSurrogate, Terms
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Line:
    """``at_home + offset + weights @ z``, where z is 0 at the instance.

    A feature with an order has ``z = (value - home) / scale``; any other has 1 wherever it is not what it is
    at the instance.

    Parameters
    ----------
    domain : Domain
    home : array of shape (D,)
        The instance's values, as `Domain.encode` gives them.
    scale : array of shape (D,)
    at_home : float
        The model's answer at the instance.
    offset : float
    weights : array of shape (D,)
    """

    domain: Domain
    home: FloatArray
    scale: FloatArray
    at_home: float
    offset: float
    weights: FloatArray

    @property
    def intercept(self) -> float:
        """What it says at the instance."""
        return self.at_home + self.offset

    @property
    def features(self) -> IntArray:
        """The features that have a weight."""
        return np.flatnonzero(self.weights)

    def numbers(self, values: FloatArray) -> FloatArray:
        """The z of rows of values."""
        ordered = np.array([axis.ordered for axis in self.domain.axes])
        return np.where(ordered, (values - self.home) / self.scale, (values != self.home).astype(np.float64))

    def surrogate(self) -> Predictor:
        """The line as a surrogate of raw values."""
        plain = all(axis.values_are_coordinates or not axis.ordered for axis in self.domain.axes)
        return self._linear() if plain and self.domain.numeric else self._additive()

    def _linear(self) -> LinearSurrogate:
        axes = self.domain.axes
        slopes = [i for i in self.features.tolist() if axes[i].ordered]
        steps = [i for i in self.features.tolist() if not axes[i].ordered]
        same = np.array([float(axes[i].decode(self.home[[i]])[0]) for i in steps])
        held = Terms(steps, -self.weights[steps, np.newaxis], np.nextafter(same, -np.inf), same)
        sloped = Terms(slopes, self.weights[slopes, np.newaxis], self.home[slopes], self.scale[slopes])
        return LinearSurrogate(np.array([self.intercept + self.weights[steps].sum()]), held, sloped)

    def _additive(self) -> AdditiveSurrogate:
        grids, effects = [], []
        for i, axis in enumerate(self.domain.axes):
            constant = axis.constant or self.weights[i] == 0
            ends = np.array([axis.low, axis.high])
            grid = self.home[[i]] if constant else ends if axis.ordered else axis.cells
            z = (
                (grid - self.home[i]) / self.scale[i]
                if axis.ordered
                else (grid != self.home[i]).astype(float)
            )
            grids.append(grid)
            effects.append(self.weights[i] * z)
        return AdditiveSurrogate(self.domain, self.intercept, tuple(grids), tuple(effects))


PROBES = 33
"""So many places of a feature, from end to end, tell whether what it adds is a line."""


def line_of(surrogate: Predictor, like: Line, column: int | None = None) -> Line | None:
    """The line that a surrogate is; None if it is not one.

    Parameters
    ----------
    surrogate : callable
        A line if it tells its parts (see `Parts`), and each of them is one.
    like : Line
        Has domain, instance and scale.
    column : int, optional
        Which of several outputs.
    """
    parts = getattr(surrogate, "parts", None)
    if parts is None:
        return None
    weights = np.zeros(len(like.domain))
    for i, axis in enumerate(like.domain.axes):
        places = axis.nearest(np.linspace(axis.low, axis.high, PROBES)) if axis.ordered else axis.cells
        values = np.tile(like.home, (len(places) + 1, 1))  # the first row is the instance
        values[1:, i] = places
        part = parts(like.domain.decode(values)).get(i)
        if part is None or axis.constant:
            continue
        added, z = _output(part - part[0], column), like.numbers(values)[:, i]
        weights[i] = float(added @ z / (z @ z))
        if not np.allclose(added, weights[i] * z, rtol=0.0, atol=1e-9 * float(np.abs(added).max())):
            return None
    said = _output(np.asarray(surrogate(like.domain.decode(like.home[np.newaxis]))), column)
    return replace(like, offset=float(said[0]) - like.at_home, weights=weights)


def _output(answers: FloatArray, column: int | None) -> FloatArray:
    return answers if answers.ndim == 1 else answers[:, column or 0]
