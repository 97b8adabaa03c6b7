"""The search where every free axis has two atoms: which words of a text may be removed at will.

A box around the instance is then a set of axes that may flip in any combination while the others stay. A
box of one axis more is twice as large, so the longest set is looked for in which few combinations fail.

1. Look: flip axes at random, many and few. If nothing fails with half of them flipped, propose them all.
2. Learn: draw where about half of the points fail, which tells most, and fit a small model to what failed:
   log-odds of failing = bias + effect . flips + (pull . flips)^2. The effects are axes that do harm by
   themselves; the square stands for axes whose pulls add up, or cancel, until model and surrogate are too
   far apart in one direction or the other.
3. Peel: let the model drop the axis that does most harm, again and again; draw in what is left, fit again,
   and so on, with fewer failures aimed at every round.
4. Extend: try the axes left out, one by one on real draws, and let those join that do no harm.
5. Propose; after a rejection learn from its points, and peel on.

The model only ranks the axes: how many of them may flip is decided by draws, and certified by others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lime_guarantee.engine.certify.bounds import attempt_level
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.certify.decisions import draws_to_accept
from lime_guarantee.engine.failure_model import FailureModel
from lime_guarantee.engine.search.base import Effort, Proposals, Task
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray


class _Plan(NamedTuple):
    """What numbers of draws are multiplied by, and the failing share aimed at, over the allowed one."""

    draws: float
    aim: float


PLANS = {"low": _Plan(0.5, 0.3), "normal": _Plan(1.0, 0.45), "high": _Plan(2.0, 0.5)}

LOOK_DRAWS = 24
"""Draws at every share of flipped axes in the first look."""

LEARN_DRAWS = 12
"""Draws for each axis before the first peel."""

ROUNDS, ROUND_DRAWS = 8, 25
"""Rounds of peeling, and draws in each: so many times the square root of the number of axes."""

FIRST_AIM = 0.4
"""The failing share from which the rounds go down to the one aimed at."""

MOST_EXCESS = 3.0
"""How much the model's prediction for a set is corrected, at most, by what was drawn in the last one."""

MOST_FAILING_IF_PURE = 0.6
"""A set seems pure if its failing share, with one failure more, is below this part of the allowed one."""

ALL_SEEN = 16
"""With so many draws for each combination of a set, all of them will have been seen."""

AIM_IF_OUT_OF_BUDGET = 0.3
"""What is aimed at, over the usual, if the evaluations run out before a set could be tested."""

SEEN_FAILURES = 3
"""A set is drawn in until so many failures are to be expected at the share aimed at."""

MORE_ROUNDS = 6
"""Further rounds, if the last set still fails too often."""

CANDIDATES, CANDIDATE_DRAWS = 150, 12
"""How many of the axes left out are tried, and the draws each has to pass without a failure."""

EXTENSIONS, LEAST_GROWTH = 4, 1.05
"""The most times that more axes are let join, and the least growth after which it is tried again."""

GROUP_TESTS, GROUP_DRAWS, MOST_FAILING_TOGETHER = 12, 50, 0.3
"""How often groups of those that passed are tried together, the fewest draws for that, and the failing share
at which a group is halved."""

RESERVE = 2.2
"""For how many certificates evaluations are left, where these are limited."""

MOST_ATTEMPTS = 20
"""The most sets that are proposed after the set of all axes."""

FIT_POINTS = 2_000
"""The most points of one rejected proposal that are learnt from."""


def _enough(chosen: IntArray) -> int:
    """So many draws will have seen every combination of a small set."""
    return int(ALL_SEEN * 2 ** min(chosen.size, 30))


def _hitting(flips: BoolArray) -> BoolArray:
    """Columns to drop so that every row loses a flip, if it has any: the one in most rows, and so on."""
    dropped = np.zeros(flips.shape[1], dtype=np.bool_)
    while flips.any():
        worst = int(np.argmax(flips.sum(axis=0)))
        dropped[worst] = True
        flips = flips[~flips[:, worst]]
    return dropped


def is_binary(task: Task) -> bool:
    """Whether all free axes have two cells."""
    return bool(np.all(task.cube.cells[task.free_axes] == 2.0))


class FreeCells:
    """One search for a large set of axes that may flip, that is, leave the instance's cell.

    Parameters
    ----------
    task : Task
    effort : {"low", "normal", "high"}
        How much is spent.
    """

    def __init__(self, task: Task, effort: Effort) -> None:
        self.task = task
        self.plan = PLANS[effort]
        self.axes = task.free_axes
        self.allowed = 1.0 - task.purity
        self.aim = self.plan.aim * self.allowed
        self.every = np.arange(self.axes.size)
        # How often a draw leaves the instance's own cell.
        self.chance = 1.0 - task.home.width[self.axes] / task.domain.width[self.axes]
        self.certificate = draws_to_accept(0, 0, task.purity, attempt_level(1, task.confidence))
        self.model = FailureModel(self.axes.size, task.rng)
        self.flips = np.empty((0, self.axes.size), dtype=np.bool_)
        self.failed = np.empty(0, dtype=np.bool_)

    def propose(self) -> Proposals:
        """Propose sets of axes until one is accepted or none is left."""
        chosen = self.every
        if self._look():
            attempt = yield self._box(chosen)
            if attempt.accepted:
                return
            self._remember(attempt)
        self._learn()
        chosen, aim = self._chosen(), self.aim
        for _ in range(MOST_ATTEMPTS):
            if chosen.size == 0:
                return
            self.task.report("certifying", self._box(chosen))
            attempt = yield self._box(chosen)
            if attempt.accepted:
                return
            self._remember(attempt)
            aim *= 0.85
            chosen = self._smaller(chosen, float(np.mean(~attempt.faithful)), aim)

    def _chosen(self) -> IntArray:
        """Peel, and extend as long as that brings much."""
        chosen = self._peeled()
        for _ in range(EXTENSIONS):
            before = chosen.size
            chosen = self._extended(chosen)
            if chosen.size <= LEAST_GROWTH * before:
                break
        return chosen

    def _look(self) -> bool:
        """Flip many axes at random, and fewer; True if nothing fails with half of them flipped."""
        levels = 0.5 ** np.arange(int(np.log2(self.axes.size)) + 2)
        self.levels = levels[-2:]
        failed = self._ask(np.concatenate([self._company(LOOK_DRAWS, level) for level in levels]), 1.0)
        if failed.size < levels.size * LOOK_DRAWS:
            return False
        share = failed.reshape(levels.size, LOOK_DRAWS).mean(axis=1)
        half = int(np.argmin(np.abs(share - 0.5)))
        self.levels = levels[half : half + 2]
        return bool(share[0] == 0.0)

    def _learn(self) -> None:
        """Draw where about half of the points fail, and where fewer do."""
        count = int(self.plan.draws * LEARN_DRAWS * max(self.axes.size, 16)) // 2
        self._ask(np.concatenate([self._company(count, level) for level in self.levels]))

    def _peeled(self) -> IntArray:
        """Peel to fewer and fewer failures; returns the longest set that seems to fail little enough."""
        batch = int(self.plan.draws * ROUND_DRAWS * np.sqrt(max(self.axes.size, 16)))
        best, excess = self.every[:0], 1.0
        for k in range(1, ROUNDS + MORE_ROUNDS + 1):
            aim = max(FIRST_AIM * (self.aim / FIRST_AIM) ** (k / ROUNDS), self.aim)
            order, predicted = self._model().peel(self.every, self.chance, self.task.rng)
            few = np.flatnonzero(excess * predicted <= aim)
            first = int(few[0]) if few.size else order.size - 1
            chosen = order[first:]
            self.task.report("peeling", self._box(chosen))
            draws = max(batch, int(self.plan.draws * SEEN_FAILURES / aim))
            failed = self._ask(self._draws(chosen, min(draws, _enough(chosen))))
            if failed.size == 0:  # what is left is needed for certificates
                few = np.flatnonzero(predicted <= AIM_IF_OUT_OF_BUDGET * self.aim)
                return best if best.size else order[int(few[0]) if few.size else -1 :]
            if self._seems_pure(chosen, failed) and chosen.size > best.size:
                best = chosen
            if best.size and k >= ROUNDS:
                break
            share = (failed.sum() + 0.5) / (failed.size + 1)
            excess = float(np.clip(share / predicted[first], 1 / MOST_EXCESS, MOST_EXCESS))
        return best

    def _seems_pure(self, chosen: IntArray, failed: BoolArray) -> bool:
        count, failures = failed.size, int(failed.sum())
        all_seen = failures == 0 and count >= _enough(chosen)
        return all_seen or failures + 1 <= MOST_FAILING_IF_PURE * self.allowed * count

    def _smaller(self, chosen: IntArray, share: float, aim: float) -> IntArray:
        """Drop the worst axes of a set that fails too often, one at least."""
        order, predicted = self._model().peel(chosen, self.chance, self.task.rng)
        # Halfway to the aim, in logarithms: the model is less sharp than the truth, and would drop too many.
        few = np.flatnonzero(predicted / predicted[0] <= np.sqrt(aim / share))
        return order[max(int(few[0]) if few.size else order.size, 1) :]

    def _extended(self, chosen: IntArray) -> IntArray:
        """Let axes left out join: those that never failed when flipped, together or in smaller groups."""
        order, _ = self._model().peel(self.every, self.chance, self.task.rng)
        waiting = order[~np.isin(order, chosen)][::-1][:CANDIDATES]
        flips = self._draws(chosen, waiting.size * CANDIDATE_DRAWS)
        flips[np.arange(len(flips)), np.repeat(waiting, CANDIDATE_DRAWS)] = True
        failed = self._ask(flips)
        if failed.size < len(flips):
            return chosen
        waiting = waiting[~failed.reshape(waiting.size, CANDIDATE_DRAWS).any(axis=1)]
        size = waiting.size
        for _ in range(GROUP_TESTS):
            group = waiting[:size]
            longer = np.concatenate([chosen, group])
            flips = self._draws(longer, max(int(1.0 / self.allowed), GROUP_DRAWS))
            failed = self._ask(flips)
            if group.size == 0 or failed.size < len(flips):
                break
            if not failed.any():
                chosen, waiting = longer, waiting[size:]
            elif failed.mean() > MOST_FAILING_TOGETHER and size > 1:
                size = (size + 1) // 2
            else:
                harmful = group[_hitting(flips[failed][:, group])]
                waiting = waiting[~np.isin(waiting, harmful)]
                size -= harmful.size
        return chosen

    def _model(self) -> FailureModel:
        self.model.fit(self.flips, self.failed)
        return self.model

    def _company(self, count: int, level: float) -> BoolArray:
        """Points in which every axis is flipped that much as often as it is in a box that holds all cells."""
        return np.asarray(self.task.rng.random((count, self.axes.size)) < level * self.chance)

    def _draws(self, chosen: IntArray, count: int) -> BoolArray:
        """Points in which the chosen axes flip at random and the others do not."""
        flips = self._company(count, 1.0)
        return np.asarray(flips & np.isin(self.every, chosen))

    def _ask(self, flips: BoolArray, reserve: float = RESERVE) -> BoolArray:
        """Which of the points fail; only as many are asked as leave enough for certificates."""
        remaining = self.task.oracle.remaining
        if remaining is not None:
            flips = flips[: max(int(remaining - reserve * self.certificate - 100), 0)]
        if len(flips) == 0:
            return np.empty(0, dtype=np.bool_)
        failed = ~self.task.oracle.evaluate(self._points(flips))
        self._pool(flips, failed)
        return failed

    def _points(self, flips: BoolArray) -> FloatArray:
        """Points around the instance whose flipped axes are in the other cell."""
        axes, home, domain = self.axes, self.task.home, self.task.domain
        points = home.sample(self.task.rng, len(flips))
        others = domain.lower[axes] + self.task.rng.random(flips.shape) * (domain.width - home.width)[axes]
        others = np.where(others >= home.lower[axes], others + home.width[axes], others)
        points[:, axes] = np.where(flips, others, self.task.instance[axes])
        return self.task.cube.within(points, domain.lower, domain.upper)

    def _remember(self, attempt: Attempt) -> None:
        points = attempt.points[:FIT_POINTS, self.axes]
        self._pool(points != self.task.instance[self.axes], ~attempt.faithful[:FIT_POINTS])

    def _pool(self, flips: BoolArray, failed: BoolArray) -> None:
        self.flips = np.concatenate([self.flips, flips])
        self.failed = np.concatenate([self.failed, failed])

    def _box(self, chosen: IntArray) -> Box:
        axes, home = self.axes[chosen], self.task.home
        lower, upper = home.lower.copy(), home.upper.copy()
        lower[axes], upper[axes] = self.task.domain.lower[axes], self.task.domain.upper[axes]
        return Box(lower, upper, self.task.cube)
