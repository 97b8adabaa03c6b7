"""A session: one search and one certifier at work on one problem.

A search proposes, the certifier disposes. All attempts are paid for from one budget, so the best of several
accepted shapes may be chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lime_guarantee.engine.category_order import order_categories
from lime_guarantee.engine.certify.certificate import Answered, Certificate
from lime_guarantee.engine.certify.certifier import Certifier
from lime_guarantee.engine.certify.proposal import Shape, shapes_of
from lime_guarantee.engine.search.base import Search, Task
from lime_guarantee.errors import EvaluationLimitError, InvalidInputError
from lime_guarantee.space.ball import Ball
from lime_guarantee.space.box import Box
from lime_guarantee.space.cube import Cube
from lime_guarantee.support.progress import Progress


@dataclass(frozen=True, eq=False)
class Found:
    """The largest shape that was certified, or the reason why there is none.

    Parameters
    ----------
    shape : Shape or None
        In `cube`.
    certificate : Certificate or None
    cube : Cube
        The cube with its atoms in the order in which they were searched.
    reason : str
        Empty where there is a shape.
    answered : Answered or None
        The certificate's own draws, with their answers, where the oracle tells these.
    """

    shape: Shape | None
    certificate: Certificate | None
    cube: Cube
    reason: str = ""
    answered: Answered | None = None


def search_and_certify(
    search: Search,
    cube: Cube,
    certifier: Certifier,
    rng: np.random.Generator,
    watcher: Callable[[Progress], None],
) -> Found:
    """Put what a search proposes to the test, until it has no more to propose or the limit comes.

    Parameters
    ----------
    search : Search
    cube : Cube
        The certifier's oracle takes its points; the instance is faithful.
    certifier : Certifier
    rng : Generator
        The search's own stream.
    watcher : callable
        Told how it is getting on.
    """
    session = _Session(search, cube, certifier, watcher)
    try:
        session.run(rng)
        why = (
            f"none of the {certifier.budget.attempts} boxes that were tried could be certified, or they "
            "had no width to speak of."
        )
    except EvaluationLimitError:
        why = (
            "the limit on evaluations came before a box was certified "
            f"({certifier.budget.attempts} tried). Allow more with max_evaluations=."
        )
    found = session.shape is not None
    return Found(
        session.shape, session.certificate, session.cube, "" if found else why, answered=session.answered
    )


class _Session:
    """What has been certified so far."""

    def __init__(
        self, search: Search, cube: Cube, certifier: Certifier, watcher: Callable[[Progress], None]
    ) -> None:
        self.search, self.cube, self.certifier, self.watcher = search, cube, certifier, watcher
        self.shape: Shape | None = None
        self.certificate: Certificate | None = None
        self.answered: Answered | None = None

    def run(self, rng: np.random.Generator) -> None:
        """Let the search propose, and send it what became of each proposal."""
        given = self.certifier.oracle
        self.cube = cube = order_categories(given, self.cube, rng)
        oracle = given.in_space(cube)
        self.certifier = replace(self.certifier, oracle=oracle)
        start = cube.instance
        purity, confidence = self.certifier.purity, self.certifier.budget.confidence
        task = Task(oracle, cube.whole, purity, confidence, rng, self.report)
        proposals = self.search.propose(task)
        proposal = next(proposals, None)
        while proposal is not None:
            shapes = shapes_of(proposal)
            if not shapes[-1].contains(start[np.newaxis])[0]:
                raise InvalidInputError(f"search: {self.search.name!r} proposed a box without the instance.")
            attempt = self.certifier.attempt(proposal)
            shape = shapes[0] if attempt.shape is None else attempt.shape
            larger = self.shape is None or shape.log_share > self.shape.log_share
            if attempt.certificate and larger and cube.has_room(bounding_box(shape)):
                self.shape, self.certificate = shape, attempt.certificate
                self.answered = attempt.answered
            self.report("accepted" if attempt.accepted else "rejected", shape)
            try:
                proposal = proposals.send(attempt)
            except StopIteration:
                break

    def report(self, phase: str, shape: Shape) -> None:
        """Tell the watcher."""
        share = shape.log_share / float(np.log(10.0))
        evaluations = self.certifier.oracle.evaluations
        self.watcher(Progress(phase, self.certifier.budget.attempts, evaluations, share))


def bounding_box(shape: Shape) -> Box:
    """The smallest box around a shape."""
    box = shape.bounding_box if isinstance(shape, Ball) else shape
    assert isinstance(box, Box)
    return box
