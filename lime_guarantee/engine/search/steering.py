"""A box that is steered: draw in it, learn what failed, move its sides, and draw again.

It starts from the whole domain, or grows around the instance; then it fails less and less often, round by
round. What is known of the boundary is a small model of it (`Slopes`) and all draws themselves (`Draws`).

Nothing here is part of the guarantee: every rule is a heuristic.
"""

from __future__ import annotations

import numpy as np

from lime_guarantee.engine.batches import Batch, joined
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.search.cells import learnt, let_in
from lime_guarantee.engine.search.draws import Draws
from lime_guarantee.engine.search.rays import drawn_in, reach_alone
from lime_guarantee.engine.search.sides import Sides
from lime_guarantee.engine.search.slopes import Slopes
from lime_guarantee.space.box import Box
from lime_guarantee.support.arrays import BoolArray, FloatArray

LEARNING_SHARE, AGAIN_SHARE, FOR_EACH_FEATURE = 0.3, 0.1, 0.02
"""The failing share at which a box is steered while it grows, and at which it is with few features, where the
domain itself seldom fails, or where much effort begins again: a draw tells most about a slope where 10 to
30 % fail, and the more sides there are, the more failures it takes. Of what is allowed, the same share is
added; see `_above_allowed`."""

GROWING_DRAWS, LEAST_GROWTH, PATIENCE = 20, 0.03, 1.7
"""Draws in a round of growing, the least growth of the log volume, and the rounds without it after which the
box no longer grows: times the root of the number of features, this number itself, and its root, which no
longer grows with many of them. Between two ways out that fail together a box stands still for some rounds,
until draws choose one; the model does not, and where it alone is asked, twice so many rounds do. Where few
fail, rounds have more draws and are fewer. One that fails too often tells less, and counts half."""

SETTLING_ROUNDS, SETTLING_DRAWS = 8, 30
"""Rounds in which the failing share is lowered, and draws in each, times the square root of the number of
features; more where few fail."""

MOST_FAILING = 0.4
"""Where the domain fails no more often, boxes are looked for from the outside inwards. Elsewhere they grow
around the instance."""

INWARD_DRAWS = 30
"""Draws of the domain, for each feature, before boxes are looked for within it."""

MOST_TOLD, MOST_SETTLING = 64, 40
"""With more features there are too few draws to tell sides apart, and the model alone is asked: at all, and
where a box that grew settles."""

CELL_ROUND, SEEN_FAILURES = 25, 3
"""Draws in a round where all sides have few cells, times the square root of the number of features; and so
many failures at least are to be expected."""

CALIBRATION = 5
"""Draws after these rounds, times 1 / (1 - purity): so many failures tell how often the box fails."""

FIRST_TRUST, LAST_TRUST = 0.7, 0.15
"""How far sides move in a round while the box grows, and in the last round; between nested boxes, twice as
far as that (in logarithms)."""

MANY_FEATURES = 20
"""With more features than so many, sides move less in a round, and more is drawn, by the square root of the
ratio: what the model gets wrong about every side adds up."""

TOO_MANY_FAIL = 0.7
"""A box that fails so often has grown too fast: it goes back half of the way to the last that did not."""

START_SCALES, START_DRAWS = 0.5 ** np.arange(15), 15
"""Common factors at which a box is tried to start from, and draws at each."""


class Steering:
    """The sides of a box, and what is known of the boundary around it.

    Parameters
    ----------
    sides : Sides
    """

    def __init__(self, sides: Sides) -> None:
        self.sides, self.task = sides, sides.task
        self.allowed = 1.0 - self.task.purity
        self.extent = sides.edge.copy()
        self.slopes = Slopes(sides)
        self.draws: Draws | None = None
        self.inwards = False  # whether the box is looked for from the whole domain inwards
        self.faithful: list[Box] = []  # boxes in which nothing failed, the largest first
        self._alone: FloatArray | None = None  # how far sides go alone
        self._held: FloatArray | None = None  # the largest box that hardly failed, as extents
        self.last: Batch = (np.empty((0, sides.dims)), np.empty(0, dtype=np.bool_))
        self._before = self.extent  # that of the last box that did not fail too often
        self.root = float(np.sqrt(sides.dims))
        self.many = max(1.0, sides.dims / MANY_FEATURES) ** 0.5
        self.trust = FIRST_TRUST / self.many
        self.learning_share = min(max(FOR_EACH_FEATURE * sides.dims, AGAIN_SHARE), LEARNING_SHARE)

    def look_inwards(self) -> bool:
        """Look for the box among all of the domain, as draws of ever smaller ones say.

        False if the domain fails too often for that.
        """
        domain, count = self.task.domain, INWARD_DRAWS * self.sides.dims
        points, faithful = self.sides.draw(domain, count)
        if np.mean(~faithful) > MOST_FAILING:
            return False
        self._begin(self.sides.edge.copy(), inwards=True)
        self._note(points, faithful, domain)
        self.lower(float(np.mean(~faithful)))
        self.draw_in_along_rays()
        return True

    def draw_in_along_rays(self) -> None:
        """Draw in sides along which the instance, moved alone, fails on most of the way, unless all do."""
        along_rays = drawn_in(self.sides, self.extent)
        if np.any(along_rays < self.extent) and not self.sides.home.holds(self.sides.box(along_rays)):
            self.extent, self._held = along_rays, None  # nor is a larger box, that fails there, to come back
            self._see()

    def grow(self, share: float) -> None:
        """Let the box grow, failing this often, until it no longer does."""
        self.start(self._above_allowed(share))
        if self.sides.all_coarse:
            return
        more = float(np.sqrt(LEARNING_SHARE / share))
        draws = int(self._draws(GROWING_DRAWS) * more)
        patience = self.root / self.many / more if self.draws is not None else 2.0
        self._draw(2 * draws)
        most, in_vain = -np.inf, 0.0
        while in_vain < PATIENCE * patience:
            self._round("growing", self._above_allowed(share), self.trust, draws)
            failures, count = self.counts()
            size = self.sides.box(self.extent).log_share
            too_fast = failures > 2 * self._above_allowed(share) * count
            in_vain += 0.5 if too_fast else 1.0
            if size > most + LEAST_GROWTH * self.sides.dims and not too_fast:
                most, in_vain = size, 0.0
        self._draw(draws)

    def lower(self, first: float) -> None:
        """Lower the failing share round by round, with ever smaller steps; then see what the box is worth."""
        start = self._above_allowed(first)
        if not self.inwards and self.sides.dims > MOST_SETTLING:
            self.draws = None
        elif self.draws is None and self.sides.dims <= MOST_TOLD:
            self.draws = Draws(self.sides)  # what cells do together, draws tell, and no sum of sides
        for k in range(1, SETTLING_ROUNDS + 1):
            done = k / SETTLING_ROUNDS
            aim = start * (self.allowed / start) ** done
            draws = self._draws(SETTLING_DRAWS) * min(np.sqrt(LEARNING_SHARE / aim), 4.0)
            if self.sides.all_coarse:
                draws = max(CELL_ROUND * self.root, SEEN_FAILURES / aim)
            trust = self.trust * (LAST_TRUST / FIRST_TRUST) ** done
            self._round("settling", aim, trust, int(draws))
            if self.sides.home.holds(self.sides.box(self.extent)):
                break  # there is nothing left to learn from
        held = self._held
        if held is not None and self.sides.box(held).log_share > self.sides.box(self.extent).log_share:
            self.extent = held
        if self.sides.all_coarse:
            self.extent = let_in(self.sides, self.extent, self.furthest)
        self._see()

    def _see(self) -> None:
        """See what the box is worth."""
        self._draw(int(CALIBRATION / self.allowed))
        self.slopes.fit(self.extent, *self.counts())

    def start(self, share: float) -> None:
        """Draw the sides in by one factor until the box fails less often: those that rays stop, or all."""
        sides = self.sides
        if self._alone is None:
            self._alone = reach_alone(sides)
        start = self._alone
        free = sides.edge > 0
        stopped = free & (start < sides.edge)
        self._begin(start, inwards=False)
        for moved in (stopped, free) if stopped.any() and not stopped[free].all() else (free,):
            extents = [self._drawn_in(start, moved, scale) for scale in START_SCALES]
            tried = zip(extents, START_SCALES, strict=True)
            points = np.concatenate([sides.thinned(e, scale, START_DRAWS) for e, scale in tried])
            faithful = sides.evaluate(points)
            self.slopes.note(points, faithful)
            failing = (~faithful).reshape(START_SCALES.size, START_DRAWS).mean(axis=1)
            pure = np.flatnonzero(failing == 0.0).tolist()
            self.faithful = [sides.box(self._drawn(extents[i], i)) for i in pure]
            often = np.flatnonzero(failing > share)
            first = int(often[-1]) + 1 if often.size else 0
            if first < START_SCALES.size:
                break
        first = min(first, START_SCALES.size - 1)
        self.extent = extents[first]
        if sides.coarse.size:
            half = START_SCALES[np.argmin(np.abs(failing - 0.5))]
            self.slopes.note(*learnt(sides, self.extent, half))
            self.extent[sides.coarse] = 0.0

    def _begin(self, extent: FloatArray, *, inwards: bool) -> None:
        """Begin with a box, and know nothing."""
        self.extent, self.inwards, self._held = extent, inwards, None
        self._before = extent
        self.slopes = Slopes(self.sides)
        told = (inwards or self.sides.coarse.size == 0) and self.sides.dims <= MOST_TOLD
        self.draws = Draws(self.sides) if told else None

    def nested(self, aims: FloatArray) -> list[FloatArray]:
        """Extents of nested boxes that fail as often as the aims under the model.

        Sides move inwards only: where they move outwards, the model is believed where it is wrong.
        """
        sizes = [self.extent]
        for aim in map(float, aims):
            if self.draws is not None and self.inwards:
                sizes.append(self.draws.largest(self.slopes, aim, sizes[-1]))
                continue
            extent = self.slopes.largest(sizes[-1], aim, 2 * LAST_TRUST, sizes[-1])
            if self.draws is not None:
                by_draws = self.draws.largest(self.slopes, aim, sizes[-1])
                extent = self.draws.better(self.slopes, aim, extent, by_draws)
            sizes.append(extent)
        return sizes[1:]

    def learn(self, attempt: Attempt, boxes: tuple[Box, ...]) -> None:
        """Learn from the draws of rejected boxes; what comes last is of the largest.

        How often that fails is told by these and by what was known before: by themselves they fail too often.
        """
        ends, before = np.cumsum(attempt.drawn), self.last
        for box, count, end in reversed(list(zip(boxes, attempt.drawn, ends, strict=True))):
            if count:
                drawn = slice(end - count, end)
                self._note(attempt.points[drawn], attempt.faithful[drawn], box)
        self.last = joined((before, self.last))
        self._keep_inside()
        self.slopes.fit(self.extent, *self.counts())

    def counts(self) -> tuple[int, int]:
        """Failures among the last draws, and all of these."""
        return int(np.sum(~self.last[1])), len(self.last[1])

    @property
    def furthest(self) -> FloatArray:
        """How far sides may go: of few cells, where there are no others, none that fails alone."""
        known = self._alone if self.sides.all_coarse else None
        return self.sides.edge if known is None else known

    def _drawn_in(self, start: FloatArray, moved: BoolArray, scale: float) -> FloatArray:
        """Extents drawn in by a factor; sides of few cells stay where they are."""
        extent = np.where(moved, scale * start, start)
        extent[self.sides.coarse] = start[self.sides.coarse]
        return extent

    def _drawn(self, extent: FloatArray, step: int) -> FloatArray:
        """Extents that draws of a step of the start stand for: features of few cells soon hardly vary."""
        held = extent.copy()
        if step > 0:
            held[self.sides.coarse] = 0.0
        return held

    def _round(self, phase: str, aim: float, trust: float, draws: int) -> None:
        """Learn from the last draws, move the sides, and draw anew."""
        self.task.report(phase, self.sides.box(self.extent))
        failures, count = self.counts()
        if failures > TOO_MANY_FAIL * count:
            self.extent = np.minimum(self.extent, np.sqrt(self.extent * self._before))
            trust /= 2
        else:
            self._before = self.extent
        self._keep_inside()
        self.slopes.fit(self.extent, *self.counts())
        self.extent = self._largest(aim, trust, phase == "settling")
        self._draw(draws)

    def _largest(self, aim: float, trust: float, settling: bool) -> FloatArray:
        """Extents of the largest box that fails no more than the aim, by the draws or by the model.

        The model tells finer places than draws do, which matters where the box settles. While it grows, the
        model holds it back: of two ways out that fail together, a sum of sides takes neither.
        """
        if self.draws is not None and self.inwards:  # anew from the whole domain: no step is final
            return self.draws.largest(self.slopes, aim, self.sides.edge)
        extent = self.extent
        if settling or self.draws is None:
            extent = self.slopes.largest(extent, aim, trust, self.furthest)
        if self.draws is None:
            return extent
        limit = self.slopes.limit(self.extent, trust)
        by_draws = [self.draws.largest(self.slopes, aim, start, limit) for start in (limit, extent)]
        return self.draws.better(self.slopes, aim, extent, *by_draws)

    def _draw(self, count: int) -> None:
        box = self.sides.box(self.extent)
        self._note(*self.sides.draw(box, count), box)
        failures, count = self.counts()
        if failures <= self.allowed * count >= 1 and (
            self._held is None or box.log_share > self.sides.box(self._held).log_share
        ):
            self._held = self.extent.copy()

    def _note(self, points: FloatArray, faithful: BoolArray, box: Box) -> None:
        """Take note of draws of a box."""
        self.last = points, faithful
        if self.draws is not None:
            self.draws.learn(self.slopes, self.sides.extent(box), *self.counts())
            self.draws.note(points, faithful, box)
        self.slopes.note(points, faithful)

    def _draws(self, count: int) -> int:
        return max(60, int(count * self.root * self.many))

    def _keep_inside(self) -> None:
        """Forget those of the last draws that the box no longer holds."""
        inside = self.sides.box(self.extent).contains(self.last[0])
        self.last = self.last[0][inside], self.last[1][inside]

    def _above_allowed(self, base: float) -> float:
        """A failing share above the allowed one."""
        return base + self.allowed * (1.0 - base)
