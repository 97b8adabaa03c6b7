"""The paper's search: divide the features, solve the halves, merge them feature by feature.

Havasi, Parbhoo and Doshi-Velez (2024), algorithms 1 and 2. It differs from the pseudocode where that is
unclear or wasteful: halves are merged by intersection; a box is tested before anything is cut off it; only
boxes over all features are put to the certifier, because only they can be returned, while the tests on fewer
features steer the search and are not part of the guarantee.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from lime_guarantee.engine.certify.bounds import attempt_level, draws_without_failure
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.certify.proposal import Shape
from lime_guarantee.engine.search.base import Proposals, Task
from lime_guarantee.engine.search.max_box import MaxBoxProblem
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

FEWEST_CAPTURED = 0.05
"""When a box captures a smaller share of the positives, they say too little: draw new ones in it."""

MOST_DRAWS_FOR_POSITIVES = 50
"""Stop looking for positives after this many times the draws that would do if all were positive."""

Solved = Generator[Shape, Attempt, tuple[FloatArray, FloatArray]]


@dataclass(frozen=True)
class Divide:
    """Divide and conquer over the features.

    Parameters
    ----------
    positives : int
        N of the paper: how many faithful points a restricted problem starts from.
    nodes : int
        T of the paper: how many nodes of the maximum-box tree are searched.
    expansion : {"largest", "random"}
        Which side of a maximum box is expanded first.

    Examples
    --------
    >>> from lime_guarantee import Domain, find_region
    >>> def faithful(X):
    ...     return np.abs(X[:, 0]) < 1
    >>> domain = Domain.from_bounds([-2], [2])
    >>> region = find_region(faithful, [0.0], domain, search=Divide(positives=50), random_state=0)
    >>> region.status, region.search
    ('certified', 'divide')
    """

    positives: int = 100
    nodes: int = 100
    expansion: Literal["largest", "random"] = "largest"
    name: ClassVar[str] = "divide"

    def __post_init__(self) -> None:
        for parameter in ("positives", "nodes"):
            value = getattr(self, parameter)
            if not isinstance(value, int) or value < 1:
                raise InvalidInputError(f"{parameter}: a positive integer is required; got {value!r}.")
        if self.expansion not in ("largest", "random"):
            raise InvalidInputError(f"expansion: 'largest' or 'random' is required; got {self.expansion!r}.")

    def propose(self, task: Task) -> Proposals:
        """Propose boxes until one is accepted."""
        lower, upper = task.domain.lower, task.domain.upper
        if task.free_axes.size == 0:
            yield task.domain
            return
        yield from self._find_anchor(task, task.rng.permutation(task.free_axes), lower, upper)

    def _find_anchor(self, task: Task, axes: IntArray, lower: FloatArray, upper: FloatArray) -> Solved:
        """The paper's FindAnchor, on axes already in random order."""
        if axes.size == 1:
            return (yield from self._solve_restricted(task, axes, lower, upper))
        first, second = np.array_split(axes, 2)
        first_lower, first_upper = yield from self._find_anchor(task, first, lower, upper)
        second_lower, second_upper = yield from self._find_anchor(task, second, lower, upper)
        lower = np.maximum(first_lower, second_lower)
        upper = np.minimum(first_upper, second_upper)
        for some in _merge_order(first, second):
            lower, upper = yield from self._solve_restricted(task, some, lower, upper)
        return lower, upper

    def _solve_restricted(self, task: Task, axes: IntArray, lower: FloatArray, upper: FloatArray) -> Solved:
        """The paper's SolveRestricted: a box in which only these axes vary."""
        whole = axes.size == task.free_axes.size
        low, high = lower[axes], upper[axes]
        problem = None
        rounds = 0
        while True:
            rounds += 1
            new_lower, new_upper = lower.copy(), upper.copy()
            new_lower[axes], new_upper[axes] = low, high
            if whole:
                attempt = yield task.cube.snapped(new_lower, new_upper)
                passed, points, faithful = attempt.accepted, attempt.points[:, axes], attempt.faithful
            else:
                level = attempt_level(rounds, task.confidence)
                draws = draws_without_failure(task.purity, level)
                points, faithful = _draw(task, axes, low, high, draws)
                passed = bool(faithful.all())
            if passed:
                return new_lower, new_upper
            negatives = points[~faithful][: self.positives]
            if problem is None:
                problem = MaxBoxProblem(
                    task.cube,
                    self._positives(task, axes, low, high, points[faithful]),
                    low,
                    high,
                    self.nodes,
                    task.rng if self.expansion == "random" else None,
                    axes,
                )
            problem.add_negatives(negatives)
            low, high = problem.expanded()
            if problem.captured < FEWEST_CAPTURED * self.positives:
                problem = None

    def _positives(
        self, task: Task, axes: IntArray, low: FloatArray, high: FloatArray, known: FloatArray
    ) -> FloatArray:
        """Faithful points between the bounds, those known first."""
        found = [known[: self.positives]]
        missing = self.positives - len(found[0])
        drawn = 0
        while missing > 0 and drawn < MOST_DRAWS_FOR_POSITIVES * self.positives:
            points, faithful = _draw(task, axes, low, high, self.positives)
            found.append(points[faithful][:missing])
            missing -= len(found[-1])
            drawn += self.positives
        return np.concatenate(found)


def _merge_order(first: IntArray, second: IntArray) -> list[IntArray]:
    """The sets of axes solved when two halves are merged; the last one is both halves.

    Examples
    --------
    >>> [some.tolist() for some in _merge_order(np.array([0, 1]), np.array([2, 3]))]
    [[0, 1, 2], [2, 3, 0], [0, 1, 2, 3]]
    """
    sets = []
    for i in range(1, min(first.size, second.size) + 1):
        for some in (np.concatenate([first, second[:i]]), np.concatenate([second, first[:i]])):
            sets.append(some)
            if some.size == first.size + second.size:
                return sets
    raise AssertionError("halves of unequal size by more than one")


def _draw(
    task: Task, axes: IntArray, low: FloatArray, high: FloatArray, count: int
) -> tuple[FloatArray, BoolArray]:
    """Points that vary along some axes only, there between the bounds."""
    lower, upper = task.instance.copy(), task.instance.copy()
    lower[axes], upper[axes] = low, high
    box = task.cube.snapped(lower, upper)
    drawn = box.lower[axes] + task.rng.random((count, axes.size)) * box.width[axes]
    points = np.tile(task.instance, (count, 1))
    points[:, axes] = np.minimum(drawn, box.upper[axes])
    points = task.cube.within(points, box.lower, box.upper)
    return points[:, axes], task.oracle.evaluate(points)
