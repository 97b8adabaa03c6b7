"""Learn the boundary of the faithful set around the instance, and take the largest box within it.

1. Inwards: where the domain itself seldom fails, as with most real data, draws of it tell of all boxes in it.
   Take the largest one that fails less often, as draws and a small model of the boundary say (`Draws`,
   `Slopes`), draw in it, and look again, with fewer and fewer failures aimed at.
2. Walls: elsewhere, see which rays from the instance end at a wall, reduce failures to their causes, and take
   the largest box that avoids them all, until one holds (`Walls`). Where that settles it, this is the box.
3. Slopes: if not, start from a box that fails often, because failures are what tells, and fit the model to
   the draws. Take the largest box under it, draw in it, fit again: first until it has stopped growing, then
   with fewer and fewer failures aimed at. Sides that alone hold the failures are cut back at once.
4. Propose nested boxes; after a rejection learn from its points, and propose smaller ones.

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lime_guarantee.engine.batches import Batch
from lime_guarantee.engine.certify.bounds import attempt_level
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.certify.decisions import draws_to_accept
from lime_guarantee.engine.certify.proposal import Proposal
from lime_guarantee.engine.kernels.cut import best_cut
from lime_guarantee.engine.oracle import REASKED_ROWS
from lime_guarantee.engine.search.base import Effort, Proposals, Task
from lime_guarantee.engine.search.coverage import CoveragePolish
from lime_guarantee.engine.search.draws import Draws
from lime_guarantee.engine.search.free_cells import FreeCells, few_cells, is_binary
from lime_guarantee.engine.search.sides import OutOfBudget, Sides
from lime_guarantee.engine.search.slopes import Slopes
from lime_guarantee.engine.search.walls import MOST_FEATURES, Walls
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray

EFFORTS = ("low", "normal", "high")
"""All search alike. "low" proposes smaller boxes, whose tests take fewer draws; "high" begins as "normal"
does, and goes on after a box was accepted: so it never finds less."""

FIRST_LOOK = 30
"""Draws in the whole domain; if none fails, it is proposed at once."""

LEARNING_SHARE, AGAIN_SHARE = 0.3, 0.1
"""The failing share at which a box is steered while it grows, and at which much effort begins again: a draw
tells most about a slope where 10 to 30 % fail. Of what is allowed, the same share is added; see
`_Run.share`."""

GROWING_ROUNDS, GROWING_DRAWS, LEAST_GROWTH = 30, 20, 0.03
"""The most rounds of growing; draws in each, times the square root of the number of features; and the least
growth of the log volume in three rounds, times the number of features, for which it goes on."""

SETTLING_ROUNDS, SETTLING_DRAWS = 8, 30
"""Rounds in which the failing share is lowered, and draws in each, times the square root of the number of
features; more where few fail."""

MOST_FAILING = 0.4
"""Where the domain fails no more often, boxes are looked for from the outside inwards. Elsewhere they grow
around the instance."""

INWARD_DRAWS, MOST_INWARDS = 30, 6
"""Draws of the domain, for each feature, before boxes are looked for within it; and how many may be rejected
before they are looked for around the instance."""

FIRST_DRAWS, CELL_DRAWS = 20, 12
"""Draws before these rounds, for each feature; and draws for each axis, where some have few cells, that tell
which of these may vary."""

CALIBRATION = 5
"""Draws after these rounds, times 1 / (1 - purity): so many failures tell how often the box fails."""

FIRST_TRUST, LAST_TRUST = 0.7, 0.15
"""How far sides move in a round while the box grows, and in the last round; between nested boxes, twice as
far as that (in logarithms)."""

MANY_FEATURES = 20
"""With more features than so many, sides move less in a round, and more is drawn, by the square root of the
ratio: what the model gets wrong about every side adds up."""

TOO_MANY_FAIL = 0.7
"""A box that fails so often has grown too fast, and goes back half of the way."""

START_SCALES, START_DRAWS, SMALL_START = 0.5 ** np.arange(15), 15, 6
"""Common factors at which a box is tried to start from, draws at each, and which of them if all fail
often."""

AIMS, AIM_AFTER_REJECTION, MOST_ATTEMPTS = (1.0, 0.75, 0.56, 0.42), 0.8, 30
"""The failing shares of nested boxes, over the allowed one; a factor after every rejection; the most
attempts."""

CUT_SCORE, CUT_CAUTION, CUT_FAILURES = 0.5, 0.5, 400
"""After the third rejection, a side is cut back when that pays this well (see `best_cut`); before, twice as
much is asked, and so on. So many failures are looked at. Failures next to the instance stay, however small a
box with the same sides."""

RESTART_LOSS, RESTART_SHARE = 3.0, 0.04
"""When rejections have cost so much log volume, the search starts again, once, from a smaller box that fails
less often: so it sees what fails next to the instance, which larger boxes hide."""

MANY_CELLS, ROOM_FOR_CELLS, BACKGROUND_DRAWS = 6, 0.5, 100
"""From so many axes of few cells on, it is decided first which of them vary at all. Meanwhile the other sides
are drawn in by this factor, and so many draws tell what still fails there."""

MARGINS, LEAST_LOSS = (0.0, 0.01, 0.03), 0.01
"""How much nested boxes between walls keep away from these, as shares of their extents; and the least log
volume by which any nested box is smaller than the one before."""

SCARCE, MODEST_AIM = 12.0, 0.5
"""Where evaluations are left for fewer certificates than so many, the aims are lower; with little effort, by
this factor: smaller boxes take fewer draws, and are likelier to pass."""

RESERVE, SMALL_SCALES, SMALL_PLACES = 3.0, (0.3, 0.1, 0.03, 0.01), (0, 1, 2, 4, 8)
"""Where evaluations are limited, some are left for so many certificates, and small boxes are certified before
larger ones are looked for; the common factors by which the domain is drawn in if evaluations run out before
anything else is known; and which of the small boxes are proposed together, the largest first."""


@dataclass(frozen=True)
class Boundary:
    """Learn the boundary around the instance, and take the largest box within it.

    Parameters
    ----------
    effort : {"low", "normal", "high"}
        "low" takes fewer draws, for a box that is a little smaller. "high" takes more, for a larger one, the
        sides of which are moved at last to cover more of the data.

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
        best = yield from _largest_accepted(self._propose(task))
        if self.effort == "high" and best is not None:
            yield from CoveragePolish(task, best).propose()

    def _propose(self, task: Task) -> Proposals:
        if task.free_axes.size == 0:
            yield task.domain
        elif is_binary(task):
            for effort in ("normal", "high") if self.effort == "high" else (self.effort,):
                yield from FreeCells(task, effort).propose()
        else:
            yield from _Run(task, self.effort).propose()


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


class _Run:
    """One search: the phases, and what they share."""

    def __init__(self, task: Task, effort: Effort) -> None:
        self.task, self.effort = task, effort
        self.allowed = 1.0 - task.purity
        self.certificate = draws_to_accept(0, 0, task.purity, attempt_level(1, task.confidence))
        self.sides = Sides(task, int(RESERVE * self.certificate) + REASKED_ROWS)
        self.walls = Walls(self.sides)
        self.slopes = Slopes(self.sides, self.walls.best)
        self.draws: Draws | None = None  # where boxes are looked for from the outside inwards
        self.extent = self.walls.best
        self._before = self.extent
        self.last: Batch = (np.empty((0, self.sides.dims)), np.empty(0, dtype=np.bool_))
        self.root = float(np.sqrt(self.sides.dims))
        self.many = max(1.0, self.sides.dims / MANY_FEATURES) ** 0.5
        self.trust = FIRST_TRUST / self.many

    def propose(self) -> Proposals:
        """Propose boxes until one is accepted; with much effort, look for larger ones then."""
        try:
            _, faithful = self.sides.draw(self.task.domain, FIRST_LOOK)
            if faithful.all() and (yield self.task.domain).accepted:
                return
            inwards = bool(np.mean(~faithful) <= MOST_FAILING)
            if inwards and self.sides.dims > MOST_FEATURES and not self._limited:
                if self._look_inwards() and (yield from self._settle()):
                    return
                inwards = False
            self.walls.find()
        except OutOfBudget:
            small = self._small_boxes()
            if small:
                yield _proposal(small)
            return
        if self.sides.home.holds(self.sides.box(self.walls.best)):
            return
        small = self._small_boxes() if self._limited else ()
        if self.walls.holds and (yield from self._between_walls(small)):
            return
        if small and not self.walls.holds:
            yield _proposal(small)
        try:
            if not (inwards and self._look_inwards()):
                if few_cells(self.task).size >= MANY_CELLS and not self.sides.all_coarse:
                    self._choose_cells()
                self._grow(LEARNING_SHARE)
                self._lower(LEARNING_SHARE)
        except OutOfBudget:
            if not self.slopes.failed.any():
                return
        accepted = yield from self._settle()
        if not accepted and not self._limited:
            small = self._small_boxes()
            if small:
                yield _proposal(small)  # better than nothing

    def _settle(self) -> Generator[Proposal, Attempt, bool]:
        """Propose boxes until one is accepted; with much effort, larger ones then. Whether one was."""
        accepted = yield from self._propose_nested()
        if accepted is None:
            return False
        if self.effort == "high":
            try:
                self._lower(AGAIN_SHARE)
            except OutOfBudget:
                return True
            yield from self._propose_nested(larger_than=accepted.log_share)
        return True

    def _look_inwards(self) -> bool:
        """Look for the box among all of the domain, as draws of ever smaller ones say.

        False, and nothing more, if the domain fails too often for that.
        """
        domain, count = self.task.domain, INWARD_DRAWS * self.sides.dims
        points, faithful = self.sides.draw(domain, count)
        if np.mean(~faithful) > MOST_FAILING:
            return False
        self.slopes, self.draws = Slopes(self.sides, self.sides.edge.copy()), Draws(self.sides)
        self.extent = self.sides.edge.copy()
        self._note(points, faithful, domain)
        self._lower(float(np.mean(~faithful)))
        return True

    def share(self, base: float) -> float:
        """A failing share above the allowed one."""
        return base + self.allowed * (1.0 - base)

    def _between_walls(self, small: tuple[Box, ...]) -> Generator[Proposal, Attempt, bool]:
        """Propose the box between walls, smaller ones that keep away from them, and small ones with them."""
        extent = self.walls.best
        inner = extent < self.sides.edge
        boxes = self._nested([np.where(inner, (1.0 - margin) * extent, extent) for margin in MARGINS])
        if not boxes:
            return False
        attempt = yield _proposal(boxes + tuple(box for box in small if boxes[-1].holds(box)))
        return isinstance(attempt.shape, Box) and attempt.shape.holds(boxes[-1])

    def _choose_cells(self) -> None:
        """Decide which axes of few cells vary at all, and pin the others: a side of cells cannot move a bit.

        The other axes vary meanwhile, in a box drawn in so far that most of what fails is due to the cells.
        """
        task, sides = self.task, self.sides
        axes = few_cells(task)
        few = np.tile(np.isin(np.arange(sides.dims), axes), 2)
        reach = sides.box(np.where(few, self.walls.single, 0.0))
        self._start(LEARNING_SHARE, closed=few)
        around = sides.box(np.where(few, 0.0, ROOM_FOR_CELLS * self.extent))
        _, background = sides.draw(around, BACKGROUND_DRAWS)
        chosen = FreeCells(
            task,
            "normal",
            axes=axes[(reach.width > task.home.width)[axes]],  # what fails alone stays
            around=around,
            reach=reach,
            allowed=self.allowed + float(np.mean(~background)),
            reserve=4.0,
        ).choose()
        pinned = np.tile(np.isin(np.arange(sides.dims), np.setdiff1d(axes, chosen)), 2)
        self.walls.best = np.where(pinned, 0.0, np.where(few, self.walls.single, self.walls.best))
        sides.rigid = True

    def _start(self, share: float, closed: BoolArray | None = None) -> None:
        """Draw the sides in by one factor until the box fails less often: those that rays stop, or all."""
        sides = self.sides
        edge = self.walls.best if closed is None else np.where(closed, 0.0, self.walls.best)
        start = np.minimum(self.walls.single, edge)
        stopped = (edge > 0) & (start < edge)
        free = edge > 0
        self.slopes, self.draws = Slopes(sides, edge.copy()), None
        for batch in self.walls.drawn:
            self.slopes.note(*batch)
        for moved in (stopped, free) if stopped.any() and not stopped[free].all() else (free,):
            extents = [self._drawn_in(start, moved, scale) for scale in START_SCALES]
            tried = zip(extents, START_SCALES, strict=True)
            points = np.concatenate([self._scattered(e, scale, START_DRAWS) for e, scale in tried])
            faithful = sides.evaluate(points)
            self.slopes.note(points, faithful)
            failing = (~faithful).reshape(START_SCALES.size, START_DRAWS).mean(axis=1)
            often = np.flatnonzero(failing > share)
            first = int(often[-1]) + 1 if often.size else 0
            if first < START_SCALES.size:
                break
        first = first if first < START_SCALES.size else SMALL_START
        self.extent = extents[first]
        if sides.coarse.size and not sides.rigid and closed is None:
            self._learn_cells(START_SCALES[max(first - 1, 0)])

    def _scattered(self, extent: FloatArray, share: float, count: int) -> FloatArray:
        """Points of a box; unless it is settled which cells vary, they leave the instance less often."""
        return self.sides.thinned(extent, 1.0 if self.sides.rigid else share, count)

    def _drawn_in(self, start: FloatArray, moved: BoolArray, scale: float) -> FloatArray:
        """Extents drawn in by a factor; sides of few cells stay where they are."""
        extent = np.where(moved, scale * start, start)
        extent[self.sides.coarse] = start[self.sides.coarse]
        return extent

    def _learn_cells(self, share: float) -> None:
        """Draw points in which few features of few cells leave the instance, and close all sides of these."""
        count = CELL_DRAWS * max(self.sides.dims, 16)
        points = np.concatenate(
            [self.sides.thinned(self.extent, part * share, count // 2) for part in (1.0, 0.5)]
        )
        self.slopes.note(points, self.sides.evaluate(points))
        self.extent[self.sides.coarse] = 0.0

    def _grow(self, share: float) -> None:
        """Let the box grow, failing this often, until it no longer does."""
        self._start(self.share(share))
        draws = int(self._draws(GROWING_DRAWS) * np.sqrt(LEARNING_SHARE / share))
        self._draw(2 * draws)
        volumes: list[float] = []
        for _ in range(0 if self.sides.all_coarse else GROWING_ROUNDS):
            self._round("growing", self.share(share), self.trust, draws)
            failures, count = self._counts()
            if failures > 2 * self.share(share) * count:
                continue  # it has grown too fast: its size tells nothing
            volumes.append(self.sides.box(self.extent).log_share)
            if len(volumes) > 4 and max(volumes[-3:]) < max(volumes[:-3]) + LEAST_GROWTH * self.sides.dims:
                break
        missing = FIRST_DRAWS * self.sides.dims - len(self.slopes.points)
        self._draw(max(missing, 0) + draws)

    def _lower(self, first: float) -> None:
        """Lower the failing share round by round, with ever smaller steps; then see what the box is worth."""
        start = self.share(first)
        self.slopes.edge = self.walls.best.copy()  # what was cut before may come back
        for k in range(1, SETTLING_ROUNDS + 1):
            done = k / SETTLING_ROUNDS
            aim = start * (self.allowed / start) ** done
            draws = self._draws(SETTLING_DRAWS) * min(np.sqrt(LEARNING_SHARE / aim), 4.0)
            trust = self.trust * (LAST_TRUST / FIRST_TRUST) ** done
            self._round("settling", aim, trust, int(draws))
        self._draw(int(CALIBRATION / self.allowed))
        self.slopes.fit(self.extent, *self._counts())

    def _round(self, phase: str, aim: float, trust: float, draws: int) -> None:
        """Learn from the last draws, move the sides, and draw anew."""
        self.task.report(phase, self.sides.box(self.extent))
        failures, count = self._counts()
        if failures > TOO_MANY_FAIL * count:
            self.extent = np.minimum(self.extent, np.sqrt(self.extent * self._before))
            trust /= 2
        self._before = self.extent.copy()
        self._keep_inside()
        self.slopes.fit(self.extent, *self._counts())
        self.extent = self._largest(aim, trust)
        self._draw(draws)

    def _largest(self, aim: float, trust: float) -> FloatArray:
        """Extents of the largest box that fails no more than the aim, by the model or by the draws."""
        by_model = self.slopes.largest(self.extent, aim, trust)
        if self.draws is None:
            return by_model
        return self.draws.better(self.slopes, aim, by_model, self.draws.largest(self.slopes, aim))

    def _cut_back(self, score: float) -> None:
        """Cut sides that alone hold many of the failures."""
        home, dims, slopes = self.sides.home, self.sides.dims, self.slopes
        failures = slopes.points[slopes.failed][-CUT_FAILURES:]
        failures = failures[self.sides.box(self.extent).contains(failures)]
        while len(failures) > 5:
            failures = np.ascontiguousarray(failures)
            stops = np.ascontiguousarray(self.sides.cube.stops(failures))
            side, extent, gain = best_cut(
                failures, stops, home.lower, home.upper, self.extent, CUT_CAUTION, 0.0
            )
            if side < 0 or gain < score:
                break
            axis = side % dims
            places = failures[:, axis]
            gap = places - home.upper[axis] if side >= dims else home.lower[axis] - places
            failures = failures[gap <= extent]
            self.extent = self.extent.copy()
            self.extent[side] = extent
            slopes.edge[side] = min(slopes.edge[side], extent)

    def _propose_nested(self, larger_than: float = -np.inf) -> Generator[Proposal, Attempt, Box | None]:
        """Propose nested boxes, smaller ones after each rejection; returns the one that is accepted."""
        aims = np.array(AIMS) * self.allowed * (MODEST_AIM if self.effort == "low" else 1.0)
        rejected: list[Box] = []
        attempt: Attempt | None = None
        restarted = False
        for k in range(MOST_ATTEMPTS):
            sizes = self._sizes(self._modesty() * aims)
            boxes = self._nested(sizes)
            if attempt and (not boxes or boxes[-1].holds(rejected[-1])):  # the model knows no better one
                sizes = [self._cut_as_drawn(rejected[-1], attempt, float(aims[0]))]
                boxes = self._nested(sizes)
            if not boxes or boxes[0].log_share <= larger_than:
                return None
            self.extent = sizes[0]
            aims = AIM_AFTER_REJECTION * aims
            if any(boxes[0].holds(box) and box.holds(boxes[0]) for box in rejected):
                continue
            attempt = yield _proposal(boxes)
            if attempt.shape is not None:
                assert isinstance(attempt.shape, Box)
                return attempt.shape
            rejected.append(boxes[0])
            try:
                self._learn(attempt, boxes[0], CUT_SCORE * 2.0 ** (2 - k))
                if self.draws is not None and len(rejected) == MOST_INWARDS:
                    return None
                if not restarted and rejected[0].log_share - boxes[0].log_share > RESTART_LOSS:
                    restarted = True
                    self._grow(RESTART_SHARE)
                    self._lower(RESTART_SHARE)
            except OutOfBudget:
                return None
        return None

    def _cut_as_drawn(self, rejected: Box, attempt: Attempt, aim: float) -> FloatArray:
        """Extents within a rejected box that fail no more than the aim, as its own draws say."""
        draws, first = self.draws, attempt.drawn[0]
        if draws is None:
            draws = Draws(self.sides)
            draws.note(attempt.points[:first], attempt.faithful[:first], rejected)
        return draws.largest(self.slopes, aim, self.sides.extent(rejected))

    def _sizes(self, aims: FloatArray) -> list[FloatArray]:
        """Extents of nested boxes that fail as often as the aims under the model.

        Sides move inwards only: where they move outwards, the model is believed where it is wrong.
        """
        sizes = [self.extent]
        for aim in aims:
            extent = self.slopes.largest(sizes[-1], float(aim), 2 * LAST_TRUST, sizes[-1])
            if self.draws is not None:
                by_draws = self.draws.largest(self.slopes, float(aim), sizes[-1])
                extent = self.draws.better(self.slopes, float(aim), extent, by_draws)
            sizes.append(extent)
        return sizes[1:]

    def _learn(self, attempt: Attempt, box: Box, score: float) -> None:
        """Learn from a rejection, most of all from its draws in the largest box."""
        points, faithful = attempt.points, attempt.faithful
        first = attempt.drawn[0]
        self._note(points[:first], faithful[:first], box)
        if self.draws is None:
            self.slopes.note(points[first:], faithful[first:])
            self._cut_back(score)
        self._keep_inside()
        self.slopes.fit(self.extent, *self._counts())

    def _small_boxes(self) -> tuple[Box, ...]:
        """Small boxes in which nothing has failed yet, and others that nobody has looked into; nested."""
        boxes = [self.sides.box(scale * self.sides.edge) for scale in SMALL_SCALES]
        tried = self.walls.faithful
        boxes = [box for box in boxes if not tried or box.log_share > tried[0].log_share] + tried
        nested: list[Box] = []
        for box in boxes:
            if not self.sides.home.holds(box) and (not nested or nested[-1].holds(box)):
                nested.append(box)
        chosen = tuple(nested[i] for i in SMALL_PLACES if i < len(nested))
        return chosen if self._remaining > 2 * self.certificate else chosen[-1:]  # there is one try

    @property
    def _limited(self) -> bool:
        return self.task.oracle.remaining is not None

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
            if self.sides.home.holds(box):
                break
            if not boxes or (box.log_share < boxes[-1].log_share - LEAST_LOSS and boxes[-1].holds(box)):
                boxes.append(box)
        return tuple(boxes)

    def _draw(self, count: int) -> None:
        box = self.sides.box(self.extent)
        self._note(*self.sides.draw(box, count), box)

    def _note(self, points: FloatArray, faithful: BoolArray, box: Box) -> None:
        """Take note of draws of a box."""
        self.last = points, faithful
        if self.draws is not None:
            self.draws.learn(self.slopes, self.sides.extent(box), *self._counts())
            self.draws.note(points, faithful, box)
        self.slopes.note(points, faithful)

    def _draws(self, count: int) -> int:
        return max(60, int(count * self.root * self.many))

    def _keep_inside(self) -> None:
        """Forget those of the last draws that the box no longer holds."""
        inside = self.sides.box(self.extent).contains(self.last[0])
        self.last = self.last[0][inside], self.last[1][inside]

    def _counts(self) -> tuple[int, int]:
        """Failures among the last draws, and all of these."""
        return int(np.sum(~self.last[1])), len(self.last[1])


def _proposal(boxes: tuple[Box, ...]) -> Proposal:
    return boxes if len(boxes) > 1 else boxes[0]
