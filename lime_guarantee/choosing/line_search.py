"""Fit a line and the box in which it holds together: every batch of answers serves all that follow.

Nothing here is part of a guarantee. The line that comes out is certified afterwards, on fresh draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from lime_guarantee.choosing.line_fit import Fit
from lime_guarantee.problem.line import Line
from lime_guarantee.space.box import Box
from lime_guarantee.space.cube import Cube
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

Answer = Callable[[AnyArray], FloatArray]
"""The model: a number for every row of raw values."""

Faithful = Callable[[FloatArray, FloatArray], BoolArray]
"""Whether a line is faithful to the model, by the answers of both."""

GROWTH = 30.0
"""At first, draws come from a box that holds so many times the share of the one in hand; later from less."""

RECENT = 3
"""Sides are cut by the draws of so many rounds, the latest ones."""

FIRST_TARGET, LAST_TARGET = 0.05, 0.005
"""The failing share down to which sides are cut: at first, and at last."""

MOST_FITTED = 3_000
"""The most draws that a line is fitted to: the latest in its box."""

FIRST_SCALES = 0.5 ** np.arange(7)
FIRST_DRAWS = 40
"""The first box: the largest of these, as shares of the way to the edges, that holds on most of its draws."""


@dataclass(eq=False)
class Pool:
    """All rows that the model was asked about, with its answers.

    Parameters
    ----------
    ask : callable
        The model.
    cube : Cube
    rng : Generator
    batch_rows : int
        The most rows of a call.
    """

    ask: Answer
    cube: Cube
    rng: np.random.Generator
    batch_rows: int
    calls: int = 0
    values: FloatArray = field(init=False)
    answers: FloatArray = field(init=False)
    points: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.values = self.points = np.empty((0, len(self.cube)))
        self.answers = np.empty(0)

    @property
    def asked(self) -> int:
        """How many rows there are."""
        return len(self.answers)

    def draw(self, box: Box, count: int) -> None:
        """Ask about fresh draws from a box."""
        points = box.sample(self.rng, count)
        values = self.cube.values(points)
        rows = self.cube.domain.decode(values)
        starts = range(0, count, self.batch_rows)
        answers = np.concatenate([self.ask(rows[at : at + self.batch_rows]) for at in starts])
        self.calls += len(starts)
        self.points = np.concatenate([self.points, points])
        self.values = np.concatenate([self.values, values])
        self.answers = np.concatenate([self.answers, answers])

    def move_to(self, cube: Cube) -> None:
        """See the same rows in another cube of the same domain."""
        self.cube = cube
        self.points = cube.settled(cube.places(self.values))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A line, and the box in which it seems to hold."""

    line: Line
    box: Box


@dataclass(eq=False)
class LineSearch:
    """Finds a line with few features that holds in a large box.

    Parameters
    ----------
    pool : Pool
    faithful : callable
    fit : Fit
    most_features : int
    """

    pool: Pool
    faithful: Faithful
    fit: Fit
    most_features: int

    def first_box(self, line: Line) -> Box:
        """The largest of some boxes in which a line holds on most of a few draws."""
        cube = self.pool.cube
        for scale in FIRST_SCALES:
            box = scaled(cube.whole, scale)
            if self.share_held(line, box, FIRST_DRAWS) > 0.5:
                break
        return box

    def share_held(self, line: Line, box: Box, draws: int) -> float:
        """The share of fresh draws from a box on which a line holds."""
        self.pool.draw(box, draws)
        return float(self._holds(line)[-draws:].mean())

    def run(self, start: Candidate, rows: int, rounds: int) -> Candidate:
        """Draw, fit and cut in turn; the box is let out by less and less, so that it settles."""
        now, batch = start, rows // rounds
        for number in range(rounds):
            wide = grown(now.box, GROWTH ** (1.0 - number / rounds))
            self.pool.draw(wide, batch)
            line = self._fitted(now.line, wide)
            target = FIRST_TARGET * (LAST_TARGET / FIRST_TARGET) ** (number / max(1, rounds - 1))
            now = Candidate(line, self._cut(line, wide, RECENT * batch, target))
        return now

    def resampled(self, found: Candidate, times: int) -> FloatArray:
        """The weights of the same features, fitted to the draws in the box resampled, a row for each time."""
        line = found.line
        inside = np.flatnonzero(found.box.contains(self.pool.points))
        inside = inside if inside.size else np.arange(self.pool.asked)
        chosen = self.pool.rng.integers(inside.size, size=(times, inside.size))
        z, above = line.numbers(self.pool.values), self.pool.answers - line.at_home
        start, used = (line.offset, line.weights), line.weights != 0
        fits = (self.fit.fitted(z[inside[c]], above[inside[c]], used, start, line.at_home) for c in chosen)
        return np.array([weights for _, weights in fits])

    def _holds(self, line: Line) -> BoolArray:
        """Where a line is faithful, of all rows in the pool."""
        said = line.intercept + line.numbers(self.pool.values) @ line.weights
        return self.faithful(self.pool.answers, said)

    def _fitted(self, line: Line, box: Box) -> Line:
        """The line fitted to the draws in a box, with no more than so many features."""
        inside = np.flatnonzero(box.contains(self.pool.points))[-MOST_FITTED:]
        z, above = line.numbers(self.pool.values[inside]), self.pool.answers[inside] - line.at_home
        if self.most_features == 0:
            return replace(line, offset=self.fit.best_offset(above))
        used = np.array([not axis.constant for axis in line.domain.axes])
        now = (line.offset, line.weights)
        spread = z.std(axis=0) if len(z) else np.ones(len(used))
        while True:
            now = self.fit.fitted(z, above, used, now, line.at_home)
            left = int(used.sum())
            if left <= self.most_features:
                break
            parts = np.abs(now[1]) * spread
            keep = max(self.most_features, left // 2)
            used = np.isin(np.arange(used.size), np.argsort(-np.where(used, parts, -1.0))[:keep])
        return replace(line, offset=now[0], weights=now[1])

    def _cut(self, line: Line, box: Box, recent: int, target: float) -> Box:
        """The box with sides cut until the line holds on nearly all of the draws inside.

        Only the latest draws count. Earlier ones came from smaller boxes: near the instance there would be
        too many of them.
        """
        points, fails = self.pool.points[-recent:], ~self._holds(line)[-recent:]
        inside = box.contains(points)
        return peeled(points[inside], fails[inside], box, target)


def scaled(box: Box, factor: float) -> Box:
    """A box with all its sides drawn in to the instance by a factor."""
    cube = box.cube
    lower = cube.instance - factor * (cube.instance - box.lower)
    return cube.snapped(lower, cube.instance + factor * (box.upper - cube.instance))


def grown(box: Box, times: float) -> Box:
    """A box whose sides are let out, all by one factor, to so many times the share or to the edges."""
    cube = box.cube
    movable = (box.lower > 0) | (box.upper < 1)
    factor = times ** (1.0 / max(1, int(movable.sum())))
    middle = cube.instance
    lower = np.maximum(0.0, middle - factor * (middle - box.lower) - 1e-3 * (factor - 1.0))
    upper = np.minimum(1.0, middle + factor * (box.upper - middle) + 1e-3 * (factor - 1.0))
    return cube.snapped(lower, upper)


def peeled(points: FloatArray, fails: BoolArray, box: Box, target: float) -> Box:
    """Cut sides off, each time where most failures go for the least share, until few are left."""
    cube = box.cube
    lower, upper = box.lower.copy(), box.upper.copy()
    while fails.sum() > target * max(1, fails.size):
        cut = _best_cut(points[fails], lower, upper, cube.home)
        if cut is None:
            break
        axis, place, side = cut
        (upper if side else lower)[axis] = place
        trimmed = cube.snapped(lower, upper)
        lower, upper = trimmed.lower.copy(), trimmed.upper.copy()
        keep = trimmed.contains(points)
        if keep.all():  # an atom that cannot be cut off
            break
        points, fails = points[keep], fails[keep]
    return cube.snapped(lower, upper)


def _best_cut(
    failing: FloatArray, lower: FloatArray, upper: FloatArray, home: Box
) -> tuple[int, float, bool] | None:
    """The side, and the place on it, at which a cut removes most failures for the logarithm of share lost."""
    best, price = None, 0.0
    order = np.sort(failing, axis=0)
    count = len(failing)
    for side in (False, True):
        outer = order if not side else order[::-1]
        beyond = outer > home.upper if side else outer < home.lower
        removed = np.arange(1, count + 1)[:, np.newaxis]
        width = (outer - lower) if side else (upper - outer)
        lost = np.log(upper - lower) - np.log(np.maximum(width, 1e-12))
        ratio = np.where(beyond, removed / (lost + 1e-3), 0.0)
        place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        if ratio[place] > price:
            price, axis = float(ratio[place]), int(place[1])
            best = (axis, _just_inside(float(outer[place]), side), side)
    return best


def _just_inside(place: float, side: bool) -> float:
    return place - 1e-9 if side else place + 1e-9
