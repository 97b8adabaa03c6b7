"""Learn the boundary of the faithful set around the instance, and take the largest box within it.

1. Start from the whole domain, if that seldom fails, as with most real data; else from a box around the
   instance that fails often, because failures are what tells, and let it grow (`Steering`).
2. Draw in the box, fit a small model of the boundary to what failed (`Slopes`), and take the largest box that
   fails less often, as all draws (`Draws`) and the model say; draw in that, and look again, with fewer and
   fewer failures aimed at. Where one feature moved alone fails on most of its way, its side is drawn in.
3. Propose nested boxes; after a rejection learn from its points, and propose smaller ones.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np

from lime_guarantee.engine.certify.bounds import attempt_level
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.certify.decisions import draws_to_accept
from lime_guarantee.engine.certify.proposal import Proposal
from lime_guarantee.engine.oracle import REASKED_ROWS
from lime_guarantee.engine.search.base import Effort, Proposals, Task
from lime_guarantee.engine.search.rays import drawn_in
from lime_guarantee.engine.search.sides import OutOfBudget, Sides
from lime_guarantee.engine.search.slopes import PRIOR_FAILURES
from lime_guarantee.engine.search.steering import AGAIN_SHARE, LEARNING_SHARE, MOST_FAILING, Steering
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import FloatArray

EFFORTS = ("low", "normal", "high")
"""All search alike. "low" proposes smaller boxes, whose tests take fewer draws; "high" begins as "normal"
does, and goes on after a box was accepted: so it never finds less."""

FIRST_LOOK = 30
"""Draws in the whole domain; if none fails, it is proposed at once."""

CAUTIONS, AIM_AFTER_REJECTION, MOST_ATTEMPTS = np.array([0.8, 1.8, 2.8]), 0.8, 30
"""By how many standard deviations, of what is known of a box's failing share, nested boxes aim below the
allowed one; a factor after every rejection; the most attempts."""

MOST_LOSS, RESTART_SHARES = 3.0, (0.04, 0.04)
"""The most log volume by which boxes differ that are proposed together. Where those to be proposed are so
much smaller than what the rounds came to (with many features in proportion more), the search starts again
from a smaller box that fails this often, and once more, with other draws: so it sees what fails next to the
instance, which larger boxes hide."""

LEAST_LOSS = 0.01
"""The least log volume by which a nested box is smaller than the one before."""

SCARCE, MODEST_AIM = 12.0, 0.5
"""Where evaluations are left for fewer certificates than so many, the aims are lower; with little effort, by
this factor: smaller boxes take fewer draws, and are likelier to pass."""

RESERVE, ENOUGH = 4.0, 6.0
"""Where evaluations are limited, some are left for so many certificates, in the end; and for so many there
must be some before any other test, which takes more than that of a box without a failure."""

SMALL_SCALES, SMALL_PLACES = (1.0, 0.3, 0.1, 0.03, 0.01), (0, 2)
"""The common factors by which the domain, and the smallest box in which nothing failed, are drawn in if
evaluations run out; and which of the small boxes are proposed together, the largest first, with the smallest
of all."""

SMALL_DRAWS, SMALL_STEP = 60, 0.5
"""Draws in a small box before it is proposed, of which none may fail: a test that is not passed may cost as
much as several that are; and the least log volume by which small boxes differ."""


@dataclass(frozen=True)
class Boundary:
    """Learn the boundary around the instance, and take the largest box within it.

    Parameters
    ----------
    effort : {"low", "normal", "high"}
        "low" takes fewer draws, for a box that is a little smaller. "high" takes more, for a larger one.

    Examples
    --------
    >>> from lime_guarantee import Domain, find_region
    >>> def faithful(X):
    ...     return np.abs(X[:, 0]) < 1
    >>> domain = Domain.from_bounds([-2], [2])
    >>> region = find_region(faithful, [0.0], domain, search=Boundary(), random_state=0)
    >>> region.status, region.search
    ('certified', 'boundary')
    """

    effort: Effort = "normal"
    name: ClassVar[str] = "boundary"

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise InvalidInputError(f"effort: one of {list(EFFORTS)} is required; got {self.effort!r}.")

    def propose(self, task: Task) -> Proposals:
        """Propose boxes until one is accepted, or the search has nothing more to offer."""
        if task.free_axes.size == 0:
            yield task.domain
        else:
            yield from _Run(task, self.effort).propose()


class _Run:
    """One search: the phases, and what they share."""

    def __init__(self, task: Task, effort: Effort) -> None:
        self.task, self.effort = task, effort
        self.allowed = 1.0 - task.purity
        self.certificate = draws_to_accept(0, 0, task.purity, attempt_level(1, task.confidence))
        self.sides = Sides(task, int(RESERVE * self.certificate) + REASKED_ROWS)
        self.steering = Steering(self.sides)
        self.seldom = False  # whether the domain itself seldom fails

    def propose(self) -> Proposals:
        """Propose boxes until one is accepted; with much effort, look for larger ones then.

        A limit on evaluations changes nothing before it comes: so a larger one finds no less. What is left
        then is for a small box first, which is better than nothing, and for what is known by then.
        """
        known: tuple[Box, ...] = ()
        try:
            if (yield from self._look()):
                return
        except OutOfBudget:
            known = self._known()
        for boxes in (self._small_boxes(), known):
            if boxes:
                yield _proposal(boxes)

    def _look(self) -> Generator[Proposal, Attempt, bool]:
        """Look for a large box; whether one was accepted, or there is none."""
        _, faithful = self.sides.draw(self.task.domain, FIRST_LOOK)
        if faithful.all() and self._rays_hold() and (yield self.task.domain).accepted:
            return True
        self.seldom = bool(np.mean(~faithful) <= MOST_FAILING)
        if self.seldom and self.steering.look_inwards() and (yield from self._settle()):
            return True
        self._grow(AGAIN_SHARE if self.seldom else self.steering.learning_share)
        return (yield from self._settle())

    def _grow(self, share: float) -> None:
        """Let a box grow around the instance, failing this often at first, and lower that."""
        self.steering.grow(share)
        self.steering.lower(share)
        if self.seldom:
            self.steering.draw_in_along_rays()

    def _settle(self) -> Generator[Proposal, Attempt, bool]:
        """Propose boxes until one is accepted; with much effort, larger ones then. Whether one was."""
        accepted = yield from self._propose_nested()
        if accepted is None:
            return False
        if self.effort == "high":
            with contextlib.suppress(OutOfBudget):
                self.steering.lower(AGAIN_SHARE)
                yield from self._propose_nested(larger_than=accepted.log_share)
        return True

    def _known(self) -> tuple[Box, ...]:
        """Boxes that are likely to hold, as far as that is known when evaluations run out."""
        if not self.steering.slopes.failed.any():
            return ()
        return self._nested(self.steering.nested(self._modesty() * self.allowed * np.exp(-CAUTIONS)))

    def _propose_nested(self, larger_than: float = -np.inf) -> Generator[Proposal, Attempt, Box | None]:
        """Propose nested boxes, smaller ones after each rejection; returns the one that is accepted."""
        highest = self.allowed * (MODEST_AIM if self.effort == "low" else 1.0)
        rejected: list[Box] = []
        known: tuple[Box, ...] = ()
        failures, count = self.steering.counts()
        in_vain = not self.steering.inwards and failures > LEARNING_SHARE * count
        restarts: tuple[float, ...] = () if in_vain else RESTART_SHARES  # it would come to nothing again
        lowest = self._lowest()
        for _ in range(MOST_ATTEMPTS):
            self._check_enough()
            aims = highest * np.exp(-CAUTIONS / np.sqrt(self.steering.counts()[0] + PRIOR_FAILURES))
            sizes = self.steering.nested(self._modesty() * aims)
            boxes = self._nested(sizes)
            if not boxes or boxes[0].log_share <= larger_than:
                return None
            self.steering.extent = sizes[0]
            try:
                if boxes[0].log_share < lowest and restarts:
                    self._grow(restarts[0])
                    restarts = restarts[1:]
                    lowest = self._lowest()
                    continue
                highest *= AIM_AFTER_REJECTION
                if rejected and not known:
                    known = self._known_at_start(boxes[0].log_share)
                    boxes = known or boxes
                if any(boxes[0].holds(box) and box.holds(boxes[0]) for box in rejected):
                    continue
                attempt = yield _proposal(boxes)
                if attempt.shape is not None:
                    assert isinstance(attempt.shape, Box)
                    return attempt.shape
                rejected.append(boxes[0])
                self.steering.learn(attempt, boxes)
            except OutOfBudget:
                return None
        return None

    def _lowest(self) -> float:
        """The log volume below which boxes are much smaller than what the rounds came to."""
        settled = self.sides.box(self.steering.extent).log_share
        return float(settled - MOST_LOSS * self.steering.many**2)

    def _known_at_start(self, larger_than: float) -> tuple[Box, ...]:
        """The largest box in which nothing failed at first, if it is larger than that, and holds."""
        known = (one for one in self.steering.faithful if one.log_share > larger_than)
        holding = (one for one in known if self.sides.draw(one, SMALL_DRAWS)[1].all())
        return tuple(islice(holding, 1))

    def _small_boxes(self) -> tuple[Box, ...]:
        """Small boxes, nested, the largest of which is one that a few draws find faithful."""
        tried, chains = self.steering.faithful, [self._chain([], self.steering.furthest)]
        if tried:
            chains.append(self._chain(tried, self.sides.extent(tried[-1])))
        if self._remaining <= 2 * self.certificate:  # there is one try
            return tuple(chains[-1][-1:])
        holding = [chain[self._first_holding(chain) :] for chain in chains if chain]
        best = max(holding, key=lambda chain: chain[0].log_share, default=[])
        return (*(best[i] for i in SMALL_PLACES if i < len(best) - 1), *best[-1:])

    def _chain(self, boxes: list[Box], smallest: FloatArray) -> list[Box]:
        """Some boxes and smaller ones, those that are nested and differ enough."""
        chain: list[Box] = []
        for box in [*boxes, *(self.sides.box(self._smaller(smallest, scale)) for scale in SMALL_SCALES)]:
            if not self.sides.home.holds(box) and (
                not chain or (chain[-1].holds(box) and box.log_share < chain[-1].log_share - SMALL_STEP)
            ):
                chain.append(box)
        return chain

    def _smaller(self, extent: FloatArray, scale: float) -> FloatArray:
        """Extents by a factor smaller; of the sides of few cells, that share stays where it is."""
        smaller, cells = scale * extent, extent[self.sides.coarse]
        staying = np.cumsum(cells > 0) <= scale * np.sum(cells > 0)
        smaller[self.sides.coarse] = np.where(staying, cells, 0.0)
        return smaller

    def _first_holding(self, chain: list[Box]) -> int:
        """Which of some nested boxes a few draws find faithful first; the last is believed to be."""
        low, high = 0, len(chain) - 1
        while low < high:
            middle = (low + high) // 2
            points = chain[middle].sample(self.sides.rng, SMALL_DRAWS)
            low, high = (low, middle) if self.task.oracle.evaluate(points).all() else (middle + 1, high)
        return high

    def _rays_hold(self) -> bool:
        """Whether no feature, moved alone, fails on most of its way; not asked if evaluations are too few."""
        try:
            return not np.any(drawn_in(self.sides, self.sides.edge) < self.sides.edge)
        except OutOfBudget:
            return True

    def _check_enough(self) -> None:
        """Raise `OutOfBudget` if a test might use up what is reserved."""
        if self._remaining < ENOUGH * self.certificate:
            raise OutOfBudget

    def _modesty(self) -> float:
        """What aims are multiplied by where few evaluations are left."""
        return float(min(1.0, self._remaining / (SCARCE * self.certificate)) ** 2)

    @property
    def _remaining(self) -> float:
        remaining = self.task.oracle.remaining
        return np.inf if remaining is None else remaining

    def _nested(self, sizes: list[FloatArray]) -> tuple[Box, ...]:
        """The boxes of some extents that are more than the instance's home; each holds the next."""
        boxes: list[Box] = []
        for extent in sizes:
            box = self.sides.box(extent)
            if self.sides.home.holds(box) or (boxes and box.log_share < boxes[0].log_share - MOST_LOSS):
                break
            if not boxes or (box.log_share < boxes[-1].log_share - LEAST_LOSS and boxes[-1].holds(box)):
                boxes.append(box)
        return tuple(boxes)


def _proposal(boxes: tuple[Box, ...]) -> Proposal:
    return boxes if len(boxes) > 1 else boxes[0]
