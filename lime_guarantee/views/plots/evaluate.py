"""Asking a region's model and surrogate again, for the pictures that need it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.problem import Problem
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import FloatArray

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

FLOATS_AT_ONCE = 2**22
"""A batch is never larger, however many features there are: 32 MB."""


def problem_of(region: GuaranteeRegion, problem: Problem | None, caller: str) -> Problem:
    """The problem given, or the one that the region was found for."""
    found = region.problem if problem is None else problem
    if found is None:
        raise InvalidInputError(
            f"problem: {caller} asks model and surrogate again, but this region does not have them: it was "
            "read from JSON or a pickle, which leave them out, or found with a bare `faithful` function. "
            "Pass problem=Problem(model, surrogate, agreement, instance, domain)."
        )
    if found.domain.names != region.names:
        raise InvalidInputError(
            f"problem: its features must be the region's, {list(region.names)}; "
            f"got {list(found.domain.names)}."
        )
    return found


def ask(
    problem: Problem, domain: Domain, home: FloatArray, moved: Mapping[int, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """What model and surrogate say of an instance with some of its coordinates moved.

    Parameters
    ----------
    problem : Problem
    domain : Domain
        In whose coordinates the others are.
    home : array of shape (D,)
        The instance.
    moved : mapping of int to array of shape (n,)
        The coordinates that features take, row by row.
    """
    count = len(next(iter(moved.values())))
    batch = max(1, min(problem.batch_rows or BATCH_ROWS, FLOATS_AT_ONCE // home.size))
    answers = []
    for start in range(0, count, batch):
        points = np.tile(home, (min(batch, count - start), 1))
        for i, coordinates in moved.items():
            points[:, i] = coordinates[start : start + batch]
        answers.append(problem.answers(domain.decode(points)))
    return np.concatenate([model for model, _ in answers]), np.concatenate([other for _, other in answers])
