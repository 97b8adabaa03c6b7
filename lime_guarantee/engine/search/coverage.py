"""The last step of a search with much effort: move single sides of an accepted box to cover more of the data.

A box is as large as its measure allows, but rows of data lie where features go together, and not where a
measure of single features has its mass. So some sides are better moved a little further than others. Every
move is tried on fresh draws in the slice that it adds; trades on old draws lose coverage.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.search.base import Proposals, Task
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray

PARTS = (1.0, 0.5, 0.25)
"""How many of the rows that a side keeps out a move lets in, as shares: the most first."""

MOST_SIDES, OTHER_SIDE = 3, 0.25
"""Rows that more sides keep out are not looked at; each side beside the one moved makes a row count less."""

LEAST_GAIN = 0.01
"""The least growth of the coverage, as a share of it, for which a side is moved."""

SLICE_DRAWS = 0.6
"""Draws in a slice, times 1 / (1 - purity)."""

PRIOR_FAILURES = 0.1
"""Failures added to those seen in a slice. Little, because they add up over many slices."""

MOST_FAILING = 0.6
"""The largest failing share of the box, as a fraction of the allowed one."""

MOST_MOVES = 3
"""The most tries, times the number of sides."""

MOST_NESTED = 4
"""The most boxes on the way that are proposed together: moves chosen by their draws are not all as good as
they seemed."""

CHECK_DRAWS = 3.0
"""Draws in the whole box before it is proposed, times 1 / (1 - purity)."""


@dataclass(frozen=True)
class _Move:
    """A side moved out: the box that it makes, the slice that it adds, and what the rows let in count for."""

    box: Box
    added: Box
    gain: float


class CoveragePolish:
    """Moves the sides of a box that was accepted, so that it covers more rows of the data.

    Parameters
    ----------
    task : Task
    accepted : Attempt
    """

    def __init__(self, task: Task, accepted: Attempt) -> None:
        assert isinstance(accepted.shape, Box)
        assert accepted.certificate is not None
        self.task, self.box = task, accepted.shape
        self.allowed = 1.0 - task.purity
        self.rows = task.rows
        certificate = accepted.certificate
        self.failing = (certificate.failures + 0.5) / (certificate.draws + 1)
        self.slice_draws = int(SLICE_DRAWS / self.allowed)

    def propose(self) -> Proposals:
        """Propose the box with its sides moved, if any was."""
        if len(self.rows) == 0 or self.box.holds(self.task.domain):
            return
        path: list[Box] = []
        tries = MOST_MOVES * 2 * len(self.task.cube)
        refused: set[tuple[int, float]] = set()
        while tries > 0:
            move = self._best_move(refused)
            if move is None or not self._affords(self.slice_draws):
                break
            tries -= 1
            if self._take(move[1]):
                path.append(self.box)
            else:
                refused.add(move[0])
        path = self._holding(path)
        if not path:
            return
        self.task.report("settling", path[-1])
        chosen = np.unique(np.linspace(0, len(path) - 1, MOST_NESTED).round().astype(int))[::-1]
        yield tuple(path[k] for k in chosen)

    def _best_move(self, refused: set[tuple[int, float]]) -> tuple[tuple[int, float], _Move] | None:
        """The move that lets most rows in, of those not refused yet."""
        above, below = self.rows <= self.box.upper, self.rows >= self.box.lower
        missed = (~(above & below)).sum(axis=1)
        counts = OTHER_SIDE ** (missed - 1.0)
        least = max(1.0, LEAST_GAIN * float(np.sum(missed == 0)))
        best: tuple[tuple[int, float], _Move] | None = None
        dims = len(self.task.cube)
        for side in range(2 * dims):
            axis = side % dims
            out: BoolArray = (missed <= MOST_SIDES) & ~(below if side < dims else above)[:, axis]
            for part in PARTS:
                if (side, part) in refused or counts[out].sum() < least:
                    continue
                move = self._move(side, axis, self.rows[out, axis], counts[out], part)
                if move is not None and (best is None or move.gain > best[1].gain):
                    best = (side, part), move
        return best

    def _move(
        self, side: int, axis: int, places: FloatArray, counts: FloatArray, part: float
    ) -> _Move | None:
        """The move of one side that lets a part of the rows in."""
        lower, upper = self.box.lower.copy(), self.box.upper.copy()
        down = side < lower.size
        if down:
            lower[axis] = np.quantile(places, 1.0 - part, method="closest_observation")
        else:
            upper[axis] = np.quantile(places, part, method="closest_observation")
        wider = self.task.cube.snapped(lower, upper)
        added_lower, added_upper = wider.lower.copy(), wider.upper.copy()
        if down:
            added_upper[axis] = self.box.lower[axis]
        else:
            added_lower[axis] = self.box.upper[axis]
        if not added_lower[axis] < added_upper[axis]:
            return None
        gain = float(counts[(places >= wider.lower[axis]) & (places <= wider.upper[axis])].sum())
        return _Move(wider, Box(added_lower, added_upper, self.task.cube), gain)

    def _take(self, move: _Move) -> bool:
        """Move the side, if what it adds does not fail too often on fresh draws."""
        points = move.added.sample(self.task.rng, self.slice_draws)
        failed = int(np.sum(~self.task.oracle.evaluate(points)))
        added = float(np.exp(move.added.log_share - move.box.log_share))
        rate = (failed + PRIOR_FAILURES) / (self.slice_draws + 1)
        failing = (1.0 - added) * self.failing + added * rate
        if failing > max(MOST_FAILING * self.allowed, self.failing):
            return False
        self.box, self.failing = move.box, failing
        return True

    def _holding(self, path: list[Box]) -> list[Box]:
        """The way as far as it seems pure on fresh draws: choosing moves by their draws flatters them."""
        count = int(CHECK_DRAWS / self.allowed)
        if not path or not self._affords(count):
            return path
        points = path[-1].sample(self.task.rng, count)
        faithful = self.task.oracle.evaluate(points)
        while path:
            inside = path[-1].contains(points)
            if np.sum(~faithful & inside) <= self.allowed * inside.sum():
                break
            path = path[:-1]
        return path

    def _affords(self, count: int) -> bool:
        remaining = self.task.oracle.remaining
        return remaining is None or remaining >= count + 2 * int(CHECK_DRAWS / self.allowed)
