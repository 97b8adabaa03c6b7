"""Is an explanation complete: do the features that it calls irrelevant not matter? Evidence before words.

Where a certified region is short along such a feature, either the model uses it there, or the search was
merely short. Points are drawn with this feature outside the region: first with all others as in the instance,
then with the others anywhere in the region. If they fail significantly more often than the region allows, the
explanation is incomplete about the feature, and some of them are kept as counterexamples. If not, the region
is extended along it and certified again.

That is a finding, and no accusation: a feature may matter a little, somewhere. Whether the model relies on it
near the instance is measured on real rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.auditing.real_rows import Said, distance, said_about
from lime_guarantee.engine.certify.bounds import exact_lower_bound
from lime_guarantee.engine.oracle import BATCH_ROWS, Oracle
from lime_guarantee.engine.session import bounding_box
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.region.widen import extend_region
from lime_guarantee.region.worth import judging
from lime_guarantee.space.axis_base import Axis
from lime_guarantee.space.tables import plain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

LOOKS = (400, 2_000)
"""Points drawn outside a region along a feature: at first, and once more if that did not decide."""

ALONE = 60
"""Points at which a feature alone lies outside, all else as in the instance: looked at before the others."""

COUNTEREXAMPLES = 3
BREAK_STEPS, BISECTIONS = 32, 12
"""Steps at which a feature is moved alone, to each side, and halvings of the step in which it breaks."""


@dataclass(frozen=True)
class Finding:
    """What was found out about one feature that the explanation calls irrelevant.

    Parameters
    ----------
    feature : str
    weight_share : float
        Its weight over the sum of all weights.
    reach : float
        Certified width over the domain's, after any extension.
    incomplete : bool
        Whether the explanation fails outside the region along the feature more often than the region allows.
    draws, failures : int
        Points drawn with the feature outside the region, and how many were not faithful.
    failing_lower_bound : float
        The failing share there is at least that, at the level of the test.
    outside : tuple of (low, high)
        The intervals outside the region in which they were drawn; for categories, empty.
    break_below, break_above : float or None
        Where faithfulness first breaks when the feature alone moves down, or up, from the instance; None if
        it does not, or the feature is categorical.
    counterexamples : tuple of tuples
        Rows that are not faithful: the one that differs from the instance in fewest features first, then
        the closest.
    answers : tuple of Said
        What the model and the explanation say about each counterexample.
    alone : bool
        Whether the other features of the points drawn were those of the instance; else they were anywhere in
        the region.
    """

    feature: str
    weight_share: float
    reach: float
    incomplete: bool
    draws: int = 0
    failures: int = 0
    failing_lower_bound: float = 0.0
    outside: tuple[tuple[float, float], ...] = ()
    break_below: float | None = None
    break_above: float | None = None
    counterexamples: tuple[tuple[Any, ...], ...] = ()
    answers: tuple[Said, ...] = ()
    alone: bool = False


@dataclass(eq=False)
class Examination:
    """One explanation under examination: its problem, its region and what has been asked of the model.

    Parameters
    ----------
    problem : Problem
    region : GuaranteeRegion
        Certified.
    weights : array of shape (D,)
        What the explanation says of every feature.
    claim_share : float
        Below this share of all weight, a feature is claimed irrelevant.
    min_reach : float
        Below this reach, evidence is asked for.
    error : float
        The probability that any feature is wrongly found incomplete.
    rng : Generator
    batch_rows : int
        The most rows to ask of the model at once.
    """

    problem: Problem
    region: GuaranteeRegion
    weights: FloatArray
    claim_share: float
    min_reach: float
    error: float
    rng: np.random.Generator
    batch_rows: int = BATCH_ROWS

    def __post_init__(self) -> None:
        self.cube = self.region.certified_shape("audit").cube
        self.oracle = Oracle(judging(self.problem), self.cube, batch_rows=self.batch_rows)

    @property
    def shares(self) -> FloatArray:
        """Every feature's share of the weight."""
        total = np.abs(self.weights).sum()
        return np.abs(self.weights) / total if total > 0 else np.zeros(self.weights.size)

    def findings(self) -> tuple[Finding, ...]:
        """One for every feature that is claimed irrelevant, and not constant."""
        axes = self.region.domain.axes
        claimed = [
            i for i, axis in enumerate(axes) if self.shares[i] < self.claim_share and not axis.constant
        ]
        short = [i for i in claimed if self._is_short(i)]
        level = self.error / (len(short) * (1 + len(LOOKS))) if short else 0.0
        tested = {i: self._tested(i, level) for i in short}
        return tuple(tested.get(i) or self._finding(i, incomplete=False) for i in claimed)

    def _is_short(self, i: int) -> bool:
        return bool(self.region.reach[i] < self.min_reach)

    def _finding(self, i: int, *, incomplete: bool, **found: Any) -> Finding:
        return Finding(
            feature=self.region.names[i],
            weight_share=float(self.shares[i]),
            reach=float(self.region.reach[i]),
            incomplete=incomplete,
            **found,
        )

    def _tested(self, i: int, level: float) -> Finding:
        """Look outside the region along a feature; extend the region if nothing is wrong there."""
        alone = np.tile(self._home, (ALONE, 1))
        alone[:, i] = self._outside(i, ALONE)[:, i]
        failing = alone[~self.oracle.evaluate(alone)]
        bound = exact_lower_bound(ALONE, ALONE - len(failing), level)
        if bound > 1.0 - self.region.purity:
            return self._incomplete(i, failing, ALONE, bound, alone=True)
        points: FloatArray = np.empty((0, self.weights.size))
        faithful: BoolArray = np.empty(0, dtype=np.bool_)
        for count in LOOKS:
            fresh = self._outside(i, count)
            points = np.concatenate([points, fresh])
            faithful = np.concatenate([faithful, self.oracle.evaluate(fresh)])
            failures = int(np.sum(~faithful))
            bound = exact_lower_bound(len(points), len(points) - failures, level)
            if bound > 1.0 - self.region.purity:
                return self._incomplete(i, points[~faithful], len(points), bound)
            self.region = extend_region(
                self.problem, self.region, i, random_state=self.rng, batch_rows=self.batch_rows
            )
            if not self._is_short(i):
                break
        return self._finding(
            i,
            incomplete=False,
            draws=len(points),
            failures=int(np.sum(~faithful)),
            failing_lower_bound=float(bound),
        )

    def _outside(self, i: int, count: int) -> FloatArray:
        """Points of the region, but with one feature outside it, drawn from the measure."""
        shape = self.region.certified_shape("audit")
        box = bounding_box(shape)
        points = shape.sample(self.rng, count)
        low, width = box.lower[i], box.width[i]
        places = self.rng.random(count) * (1.0 - width)
        points[:, i] = np.minimum(np.where(places >= low, places + width, places), 1.0)
        return self.cube.settled(points)

    def _incomplete(
        self, i: int, failures: FloatArray, draws: int, bound: float, *, alone: bool = False
    ) -> Finding:
        axis, lower, upper = self.region.domain.axes[i], self.region.lower[i], self.region.upper[i]
        outside: tuple[tuple[float, float], ...] = ()
        below, above = None, None
        if axis.ordered:
            sides = ((axis.low, lower - axis.unit), (upper + axis.unit, axis.high))
            outside = tuple(
                (_number(axis, low), _number(axis, high)) for low, high in sides if low < high + axis.unit
            )
            below, above = (
                None if place is None else _number(axis, place) for place in self._break_points(i)
            )
        return self._finding(
            i,
            incomplete=True,
            draws=draws,
            failures=len(failures),
            failing_lower_bound=float(bound),
            outside=outside,
            break_below=below,
            break_above=above,
            **self._counterexamples(i, failures),
            alone=alone,
        )

    @property
    def _home(self) -> FloatArray:
        return self.cube.instance

    def _counterexamples(self, i: int, failures: FloatArray) -> dict[str, Any]:
        """Failing rows, with what was said about them, as fields of a finding.

        The first differs from the instance in as few features as can be; the closest follow.
        """
        home = self._home
        values, own = self.cube.values(failures), self.cube.instance_values
        nearest = failures[np.argsort(distance(values, own, self.region.domain))]
        alone = np.tile(home, (len(nearest), 1))
        alone[:, i] = nearest[:, i]
        still = ~self.oracle.evaluate(alone)
        simplest = alone[np.argmax(still)] if still.any() else self._simplified(nearest[0], i)
        rows = np.concatenate([simplest[np.newaxis], nearest[:COUNTEREXAMPLES]])
        raw = self.cube.decode(rows)
        return {
            "counterexamples": tuple(tuple(plain(value) for value in row) for row in raw.tolist()),
            "answers": said_about(self.oracle.judge(rows), np.arange(len(rows))),
        }

    def _simplified(self, point: FloatArray, i: int) -> FloatArray:
        """A failing point with features put back to the instance, as long as it still fails."""
        home = self._home
        while True:
            others = np.flatnonzero((point != home) & (np.arange(point.size) != i))
            if others.size == 0:
                return point
            tries = np.tile(point, (others.size, 1))
            tries[np.arange(others.size), others] = home[others]
            still = np.flatnonzero(~self.oracle.evaluate(tries))
            if still.size == 0:
                return point
            together = point.copy()
            together[others[still]] = home[others[still]]
            point = together if not self.oracle.evaluate(together[np.newaxis])[0] else tries[still[0]]

    def _break_points(self, i: int) -> tuple[float | None, float | None]:
        """Where faithfulness first breaks when one feature moves alone, to each side."""
        axis, start = self.region.domain.axes[i], float(self.cube.instance_values[i])
        return self._first_break(i, start, axis.low), self._first_break(i, start, axis.high)

    def _first_break(self, i: int, start: float, end: float) -> float | None:
        if start == end:
            return None
        axis = self.region.domain.axes[i]
        steps = np.unique(axis.nearest(np.linspace(start, end, BREAK_STEPS + 1)))[:: 1 if end > start else -1]
        bad = np.flatnonzero(~self._moved_alone(i, steps))
        if bad.size == 0 or bad[0] == 0:
            return None
        good_at, bad_at = float(steps[bad[0] - 1]), float(steps[bad[0]])
        for _ in range(BISECTIONS):
            middle = float(axis.nearest(np.array((good_at + bad_at) / 2)))
            if middle in (good_at, bad_at):
                break
            if self._moved_alone(i, np.array([middle]))[0]:
                good_at = middle
            else:
                bad_at = middle
        return bad_at

    def _moved_alone(self, i: int, places: AnyArray) -> BoolArray:
        values = np.tile(self.cube.instance_values, (len(places), 1))
        values[:, i] = places
        return self.oracle.in_space(self.region.domain).evaluate(values)


def _number(axis: Axis, coordinate: float) -> float:
    """The number that a coordinate stands for; where values are words, their place in the order."""
    return float(axis.decode(np.array([coordinate]))[0]) if axis.numeric else float(coordinate)
