"""A session: one search and one certifier at work on one problem.

A search proposes, the certifier disposes. All attempts are paid for from one budget, so the best of several
accepted shapes may be chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lime_guarantee.engine.category_order import order_categories
from lime_guarantee.engine.certify.certificate import Certificate
from lime_guarantee.engine.certify.certifier import Certifier
from lime_guarantee.engine.certify.proposal import Shape, shapes_of
from lime_guarantee.engine.search.base import Search, Task
from lime_guarantee.errors import EvaluationLimitError, InvalidInputError
from lime_guarantee.space.ball import Ball
from lime_guarantee.space.box import Box
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.support.progress import Progress

FEWEST_FLOATS = 1024
"""A continuous side that spans fewer floats than this is no interval."""


@dataclass(frozen=True, eq=False)
class Found:
    """The largest shape that was certified, or the reason why there is none.

    Parameters
    ----------
    shape : Shape or None
        In coordinates of `domain`.
    certificate : Certificate or None
    domain : Domain
        The domain with its categories in the order in which they were searched.
    reason : str
        Empty where there is a shape.
    """

    shape: Shape | None
    certificate: Certificate | None
    domain: Domain
    reason: str = ""


def search_and_certify(
    search: Search,
    instance: FloatArray,
    certifier: Certifier,
    rng: np.random.Generator,
    watcher: Callable[[Progress], None],
) -> Found:
    """Put what a search proposes to the test, until it has no more to propose or the limit comes.

    Parameters
    ----------
    search : Search
    instance : array of shape (D,)
        In coordinates of the certifier's oracle; it is faithful.
    certifier : Certifier
    rng : Generator
        The search's own stream.
    watcher : callable
        Told how it is getting on.
    """
    session = _Session(search, certifier, watcher)
    try:
        session.run(instance, rng)
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
    return Found(session.shape, session.certificate, session.certifier.oracle.domain, "" if found else why)


class _Session:
    """What has been certified so far."""

    def __init__(self, search: Search, certifier: Certifier, watcher: Callable[[Progress], None]) -> None:
        self.search, self.certifier, self.watcher = search, certifier, watcher
        self.shape: Shape | None = None
        self.certificate: Certificate | None = None

    def run(self, instance: FloatArray, rng: np.random.Generator) -> None:
        """Let the search propose, and send it what became of each proposal."""
        given = self.certifier.oracle
        oracle = given.in_domain(order_categories(given, instance, rng))
        self.certifier = replace(self.certifier, oracle=oracle)
        start = oracle.domain.encode(given.domain.decode(instance[np.newaxis]))[0]
        purity, confidence = self.certifier.purity, self.certifier.budget.confidence
        task = Task(oracle, start, oracle.domain.box(), purity, confidence, rng, self.report)
        proposals = self.search.propose(task)
        proposal = next(proposals, None)
        while proposal is not None:
            shapes = shapes_of(proposal)
            if not shapes[-1].contains(start[np.newaxis])[0]:
                raise InvalidInputError(f"search: {self.search.name!r} proposed a box without the instance.")
            attempt = self.certifier.attempt(proposal)
            shape = shapes[0] if attempt.shape is None else attempt.shape
            larger = self.shape is None or shape.log_volume > self.shape.log_volume
            if attempt.certificate and larger and _has_room(shape, oracle.domain):
                self.shape, self.certificate = shape, attempt.certificate
            self.report("accepted" if attempt.accepted else "rejected", shape)
            try:
                proposal = proposals.send(attempt)
            except StopIteration:
                break

    def report(self, phase: str, shape: Shape) -> None:
        """Tell the watcher."""
        volume = shape.log_volume / float(np.log(10.0))
        evaluations = self.certifier.oracle.evaluations
        self.watcher(Progress(phase, self.certifier.budget.attempts, evaluations, volume))


def bounding_box(shape: Shape) -> Box:
    """The smallest box around a shape."""
    box = shape.bounding_box if isinstance(shape, Ball) else shape
    assert isinstance(box, Box)
    return box


def _has_room(shape: Shape, domain: Domain) -> bool:
    """Whether every continuous side spans many floats: else a few values, not a volume, were tested."""
    box = bounding_box(shape)
    lengths = domain.unit == 0
    spacing = np.spacing(np.maximum(np.abs(box.lower), np.abs(box.upper)))
    return bool(np.all(box.width[lengths] > FEWEST_FLOATS * spacing[lengths]))
