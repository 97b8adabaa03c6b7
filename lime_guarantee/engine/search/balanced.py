"""The default search: steer all sides of one box until every free face fails equally often.

Write q for the failing share of a box and r for the failing share on one of its faces. Moving that face
out changes q and the logarithm of the volume in the proportion r - q, whatever the face. So in the largest
box of a given purity all faces that are not at the domain's edge have the same r.

The search starts small around the instance and lets the box grow, a batch of draws a round, while faces that
fail more than the others are moved in, and sides that alone hold the failures are cut back at once. A failing
share somewhat above the allowed one is kept up all the while, because failures are the signal. When the box
has stopped growing, that share is lowered round by round; at last the box is drawn in to what can be
certified.

With few features the search first tries the largest box that nothing seen speaks against (`ConsistentBox`);
only where that does not settle are the sides steered.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from lime_guarantee.engine.batches import Batch, rows_at, worth_keeping
from lime_guarantee.engine.certify.bounds import attempt_level
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.certify.decisions import draws_to_accept
from lime_guarantee.engine.certify.proposal import Proposal
from lime_guarantee.engine.search.base import Effort, Proposals, Task
from lime_guarantee.engine.search.consistent_box import ConsistentBox
from lime_guarantee.engine.search.coverage import CoveragePolish
from lime_guarantee.engine.search.face_balancing import (
    CONTEXT_DRAWS,
    SCALE_DRAWS,
    SCALES,
    SWEEP,
    TINY,
    FaceBalancing,
)
from lime_guarantee.engine.search.free_cells import FreeCells, few_cells, is_binary
from lime_guarantee.engine.search.max_box import MaxBoxProblem
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import FloatArray


@dataclass(frozen=True)
class _Plan:
    """How much is spent.

    Draws a round and rounds of balancing both grow with the square root of the number of features; `aim` is
    the failing share of a proposal as a fraction of the allowed one.
    """

    batch: float
    growing: int
    balancing: float
    settling: int
    aim: float


PLANS = {
    "low": _Plan(batch=40, growing=30, balancing=2.0, settling=3, aim=0.3),
    "normal": _Plan(batch=60, growing=40, balancing=3.0, settling=4, aim=0.35),
    "high": _Plan(batch=140, growing=90, balancing=5.0, settling=8, aim=0.55),
}

MANY_DIMENSIONS = 50
"""From so many features on, a sweep in context pays."""

MANY_CELLS = 6
"""From so many axes of few cells on, it is decided first which of them vary at all."""

ROOM_FOR_CELLS, BACKGROUND_DRAWS = 0.5, 100
"""While that is decided, other sides are drawn in by this factor; draws that tell what still fails there."""

FEW_DIMENSIONS = 5
"""Up to so many features, the draws cover the box well enough for a maximum box among them."""

MOST_FAILING_FOR_CONSISTENT_BOX = 0.02
"""The largest 1 - purity at which a search in so few features begins with a `ConsistentBox`."""

SETTLING_ROUNDS, SETTLING_ROUNDS_PER_AXIS = 16, 4
"""The most rounds that a `ConsistentBox` has to settle: so many, and so many more for each axis."""

MOST_NESTED_PROPOSALS = 8
"""The most times that it may propose."""

POLISH_POSITIVES, POLISH_NEGATIVES, POLISH_NODES = 300, 1_000, 200
"""The most points of either kind that a maximum box starts from, and the most nodes searched for it."""

LEAST_GAIN_OF_MAXIMUM_BOX = 0.01
"""The least log volume by which a maximum box must be larger than the balanced one."""

MOST_SCREENING_DRAWS, CLEAN_SCREENING_DRAWS = 10, 1.5
"""The most draws to try a maximum box on, and how many without a failure will do, times 1 / (1 - purity)."""

DRAWING_IN_DRAWS, DRAWING_IN_DRAWS_IF_FEW, DRAWING_IN_STEPS = 3.0, 1.0, 3
"""The fewest draws, times 1 / aim, to draw a box in before it is proposed; fewer do in few dimensions, where
a maximum box is tried, too. And the number of steps this takes."""

AIM_AFTER_REJECTION = 0.6
"""The aim after a rejection, as a fraction of the aim before."""

MOST_RESTARTS, LOSS_BEFORE_RESTART = 1, 6.0
"""The most times that the search starts again, more calmly, and the log volume that its box has lost then."""

MOST_ATTEMPTS = 40
"""The most proposals of one kind."""


@dataclass(frozen=True)
class Balanced:
    """Steer one box by the failures on its faces.

    Parameters
    ----------
    effort : {"low", "normal", "high"}
        More draws make a larger box. With "high", its sides are moved at last to cover more of the data.

    Examples
    --------
    >>> from lime_guarantee import Domain, find_region
    >>> def faithful(X):
    ...     return np.abs(X[:, 0]) < 1
    >>> domain = Domain.from_bounds([-2], [2])
    >>> region = find_region(faithful, [0.0], domain, search=Balanced(effort="low"), random_state=0)
    >>> region.status, region.search
    ('certified', 'balanced')
    """

    effort: Effort = "normal"
    name: ClassVar[str] = "balanced"

    def __post_init__(self) -> None:
        if self.effort not in PLANS:
            raise InvalidInputError(f"effort: one of {list(PLANS)} is required; got {self.effort!r}.")

    def propose(self, task: Task) -> Proposals:
        """Propose boxes until one is accepted, or the search has nothing more to offer."""
        best = yield from _largest_accepted(self._propose(task))
        if self.effort == "high" and best is not None:
            yield from CoveragePolish(task, best).propose()

    def _propose(self, task: Task) -> Proposals:
        if task.free_axes.size == 0:
            yield task.domain
            return
        if is_binary(task):
            yield from FreeCells(task, self.effort).propose()
            return
        run = _Run(task, self.effort)
        try:
            yield from run.propose()
        except _OutOfBudget:
            yield from run.propose_at_once()


def _largest_accepted(proposals: Proposals) -> Generator[Proposal, Attempt, Attempt | None]:
    """Pass proposals on; returns the attempt in which the largest box was accepted, if any was."""
    best: Attempt | None = None
    proposal = next(proposals, None)
    while proposal is not None:
        attempt = yield proposal
        if attempt.shape is not None and (
            best is None or best.shape is None or attempt.shape.log_share > best.shape.log_share
        ):
            best = attempt
        try:
            proposal = proposals.send(attempt)
        except StopIteration:
            break
    return best


class _OutOfBudget(Exception):  # noqa: N818 - not an error: the search ends and proposes what it has
    """What is left of the evaluations is needed for the certificate."""


class _Run:
    """One search: the phases, and what they share."""

    def __init__(self, task: Task, effort: Effort) -> None:
        self.task = task
        self.effort = effort
        self.plan = plan = PLANS[effort]
        self.dims = int(task.instance.size)
        self.few = self.dims <= FEW_DIMENSIONS
        self.allowed = 1.0 - task.purity
        self.batch = int(np.clip(plan.batch * np.sqrt(self.dims), 2 * plan.batch, 25 * plan.batch))
        self.certificate = draws_to_accept(0, 0, task.purity, attempt_level(1, task.confidence))
        self.steering = FaceBalancing(task)
        self.seen: list[Batch] = []

    def propose(self) -> Proposals:
        steering = self.steering
        scaling = SCALES.size * SCALE_DRAWS
        if self._affords(2 * self.dims * SWEEP.size + scaling + 100, certificates=1.0):
            steering.sweep()
        if self.few and self.allowed <= MOST_FAILING_FOR_CONSISTENT_BOX and (yield from self._hope()):
            return
        self._leave_reserve(scaling, certificates=1.0)
        whole = bool(np.all(steering.extent >= steering.edge))
        swept = steering.extent.copy()
        if steering.draw_in_until_faithful(steering.free) and whole:
            attempt = yield steering.box()
            if attempt.accepted:
                return
        if few_cells(self.task).size >= MANY_CELLS:
            steering = self._with_chosen_cells(swept)
        elif self.dims >= MANY_DIMENSIONS:
            self._leave_reserve(2 * self.dims * CONTEXT_DRAWS + scaling)
            steering.sweep_in_context()
        start = steering.extent.copy()
        rivals = [steering.restarted(start)]  # even the start may be the largest, if all others dwindle
        for calm in range(MOST_RESTARTS + 1):
            if calm:
                self.steering = steering.restarted(start)
            self._balance(0.5**calm)
            least = self.steering.box().log_share - LOSS_BEFORE_RESTART - 0.03 * self.dims
            self._draw_in()
            rivals.append(self.steering)
            if (yield from self._certify(rivals, least if calm < MOST_RESTARTS else -np.inf)):
                return

    def _hope(self) -> Generator[Proposal, Attempt, bool]:
        """Propose what an optimist settles on; False if it does not settle, or nothing is accepted.

        Out of budget, it proposes what it has.
        """

        def spend(count: int) -> None:
            self._leave_reserve(count, certificates=1.4)

        optimist = ConsistentBox(self.task, self.effort, self.steering, spend)
        try:
            ready = optimist.settle(SETTLING_ROUNDS + SETTLING_ROUNDS_PER_AXIS * self.dims)
        except _OutOfBudget:
            ready = True
        for _ in range(MOST_NESTED_PROPOSALS if ready else 0):
            boxes = optimist.nested()
            attempt = yield boxes
            if attempt.accepted:
                return True
            optimist.note_attempt(boxes, attempt)
        self.seen.extend(optimist.seen)
        return False

    def _with_chosen_cells(self, swept: FloatArray) -> FaceBalancing:
        """Decide which axes of few cells vary at all, and pin the others: a side of cells cannot move a bit.

        The other axes vary meanwhile, in a box drawn in so far that most of what fails is due to the cells.
        """
        steering, task = self.steering, self.task
        axes = few_cells(task)
        few = np.tile(np.isin(np.arange(self.dims), axes), 2)
        steering.extent = np.where(few, 0.0, swept)
        reach = steering.box(swept)
        if not few[steering.free].all():
            self._leave_reserve(SCALES.size * SCALE_DRAWS)
            steering.draw_in_until_faithful(steering.free & ~few)
        around = steering.box(np.where(few, 0.0, ROOM_FOR_CELLS * steering.extent))
        self._leave_reserve(BACKGROUND_DRAWS)
        background = ~task.oracle.evaluate(around.sample(task.rng, BACKGROUND_DRAWS))
        chosen = FreeCells(
            task,
            self.effort,
            axes=axes[(reach.width > task.home.width)[axes]],  # what fails alone stays
            around=around,
            reach=reach,
            allowed=self.allowed + float(background.mean()),
            reserve=4.0,
        ).choose()
        pinned = np.setdiff1d(axes, chosen)
        lower, upper = task.domain.lower.copy(), task.domain.upper.copy()
        lower[pinned], upper[pinned] = task.home.lower[pinned], task.home.upper[pinned]
        self.task = replace(task, domain=Box(lower, upper, task.cube))
        rigid = few & ~few[steering.free].all()  # where all axes are such, they have to give way, too
        self.steering = FaceBalancing(
            self.task, np.where(few, swept, ROOM_FOR_CELLS * steering.extent), rigid
        )
        self.steering.single = swept
        return self.steering

    def propose_at_once(self) -> Proposals:
        """Propose what there is, drawn in with caution: what is left is needed for certificates."""
        batch = self.seen[-1] if self.seen else None
        for _ in range(MOST_ATTEMPTS):
            if batch is not None:
                self.steering.draw_in(*batch, aim=0.0)
            self.steering.tighten(0.5 if batch is None else 0.9)
            attempt = yield self.steering.box()
            if attempt.accepted:
                return
            batch = attempt.points, attempt.faithful

    def _balance(self, calm: float) -> None:
        """Grow, then lower the failing share; leaves the mean box of the last rounds."""
        plan, steering = self.plan, self.steering
        grow = float(np.clip(4.0 * calm * self.allowed, 0.02, 0.25))
        low = float(np.clip(1.5 * calm * self.allowed, 0.006, 0.2))
        lowest = min(low, max(0.6 * calm * self.allowed, 0.005))
        volumes: list[float] = []
        while len(volumes) < plan.growing:
            volumes.append(steering.box().log_share)
            self._round(self.batch, grow, pace=1.0, phase="growing")
            if _stopped_growing(volumes, 0.03 * self.task.free_axes.size):
                break
        logs: list[FloatArray] = []
        rounds = max(6, round(plan.balancing * np.sqrt(self.dims)))
        for k in range(1, rounds + 1):
            done = k / rounds
            self._round(self.batch, grow * (low / grow) ** done, pace=0.2**done, phase="balancing")
            logs.append(np.log(np.maximum(steering.extent, TINY)))
        settling = 0 if self.few else plan.settling  # a maximum box wants failures all around
        for k in range(1, settling + 1):
            aim = low * (lowest / low) ** (k / settling)
            self._round(int(self.batch * low / aim), aim, pace=0.2, phase="settling")
            logs.append(np.log(np.maximum(steering.extent, TINY)))
        steering.average(logs[-(settling + rounds // 2) :])

    def _round(self, count: int, aim: float, pace: float, phase: str) -> None:
        self.task.report(phase, self.steering.box())
        self.steering.steer(*self._draw(count), aim, pace)

    def _draw_in(self) -> None:
        """Draw the box in step by step, each on fresh draws: what was drawn before has shaped the box."""
        steering, aim = self.steering, self.plan.aim * self.allowed
        share = DRAWING_IN_DRAWS_IF_FEW if self.few else DRAWING_IN_DRAWS
        count = max(int(1.5 * len(self.seen[-1][0])), int(share / aim)) // DRAWING_IN_STEPS
        for step in range(1, DRAWING_IN_STEPS + 1):
            self.task.report("settling", steering.box())
            steering.draw_in(*self._draw(count), aim * DRAWING_IN_STEPS / step)

    def _certify(self, rivals: list[FaceBalancing], least: float) -> Generator[Proposal, Attempt, bool]:
        """Propose the largest of the boxes, drawn in after a rejection; False if all are below the least."""
        aim = self.plan.aim * self.allowed
        polish = self._maximum_box() if self.few else None
        if polish is not None:
            self._screen(polish)
        for _ in range(MOST_ATTEMPTS):
            self.steering = max(rivals, key=lambda rival: rival.box().log_share)
            box = self.steering.box()
            polished = None if polish is None else self.task.cube.snapped(*polish.expanded())
            if polished is not None and polished.log_share > box.log_share + LEAST_GAIN_OF_MAXIMUM_BOX:
                box = polished
            if box.log_share < least:
                return False
            attempt = yield box
            if attempt.accepted:
                return True
            if polish is not None:
                polish.add_negatives(attempt.failures)
            if box is not polished:
                aim *= AIM_AFTER_REJECTION
                self.steering.draw_in(attempt.points, attempt.faithful, aim)
        return True

    def _maximum_box(self) -> MaxBoxProblem:
        """The maximum box among all draws: in few dimensions it is often the larger one."""
        faithful = np.concatenate([good for _, good in self.seen])
        positives, negatives = np.flatnonzero(faithful), np.flatnonzero(~faithful)
        some = self.task.rng.permutation(positives.size)[:POLISH_POSITIVES]
        domain = self.task.domain
        problem = MaxBoxProblem(
            self.task.cube,
            rows_at(self.seen, positives[some])[0],
            domain.lower,
            domain.upper,
            POLISH_NODES,
        )
        problem.add_negatives(rows_at(self.seen, negatives[-POLISH_NEGATIVES:])[0])
        return problem

    def _screen(self, polish: MaxBoxProblem) -> None:
        """Try the maximum box on fresh draws until hardly any fail: a certificate would cost more."""
        left, count = int(MOST_SCREENING_DRAWS / self.allowed), self.batch // 2
        while count <= left:
            box = self.task.cube.snapped(*polish.expanded())
            if box.log_share <= self.steering.box().log_share + LEAST_GAIN_OF_MAXIMUM_BOX:
                return
            self._leave_reserve(count)
            points = box.sample(self.task.rng, count)
            faithful = self.task.oracle.evaluate(points)
            polish.add_negatives(points[~faithful])
            left -= count
            if faithful.all():
                if count >= CLEAN_SCREENING_DRAWS / self.allowed:
                    return
                count *= 2

    def _draw(self, count: int) -> Batch:
        self._leave_reserve(count)
        points = self.steering.box().sample(self.task.rng, count)
        batch = points, self.task.oracle.evaluate(points)
        if not self.few:
            self.seen.clear()  # many points of many features fill the memory, and the last ones will do
        self.seen.append(worth_keeping(*batch))
        return batch

    def _leave_reserve(self, count: int, certificates: float = 2.2) -> None:
        """Stop before draws that would leave too little for certificates: by default, two attempts."""
        if not self._affords(count, certificates):
            raise _OutOfBudget

    def _affords(self, count: int, certificates: float) -> bool:
        remaining = self.task.oracle.remaining
        return remaining is None or remaining - count >= certificates * self.certificate + 100


def _stopped_growing(volumes: list[float], least: float) -> bool:
    """Whether the last three rounds brought less than that over the four before them."""
    return len(volumes) >= 7 and max(volumes[-3:]) - max(volumes[-7:-3]) < least
