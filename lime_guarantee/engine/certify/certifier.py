"""The certifier: it alone draws fresh points in a proposed shape and decides.

What it draws comes from a random stream no search can see, and every decision is paid for from one
`ErrorBudget` a region. So whatever a search does, and however many of its proposals are accepted, the
probability that any accepted shape has less than the asked purity is at most 1 - confidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lime_guarantee.engine.certify.budget import ErrorBudget
from lime_guarantee.engine.certify.certificate import Attempt, Certificate, CertifierName
from lime_guarantee.engine.certify.decisions import TESTS, Evidence
from lime_guarantee.engine.certify.proposal import Proposal, shapes_of
from lime_guarantee.engine.oracle import Oracle


@dataclass(frozen=True, eq=False)
class Certifier:
    """Draws in proposed shapes and accepts or rejects them."""

    oracle: Oracle
    purity: float
    budget: ErrorBudget
    rng: np.random.Generator
    name: CertifierName = "anytime"

    def attempt(self, proposal: Proposal) -> Attempt:
        """Put a shape, or nested ones together, to the test, at the budget's next level."""
        shapes = shapes_of(proposal)
        evidence = Evidence(self.oracle, self.rng, shapes)
        verdict = TESTS[self.name](evidence, self.purity, self.budget.next_level())
        shape = certificate = None
        if verdict is not None:
            self.oracle.reask(*evidence.to_reask())
            shape = shapes[verdict.place]
            certificate = Certificate(
                certifier=self.name,
                purity=self.purity,
                confidence=self.budget.confidence,
                attempts=self.budget.attempts,
                level=verdict.level,
                draws=evidence.draws[verdict.place],
                failures=evidence.failures[verdict.place],
                purity_lower_bound=max(self.purity, verdict.lower_bound),
            )
        batches, answers = tuple(evidence.batches), tuple(evidence.answers)
        return Attempt(batches, tuple(evidence.drawn), shape, certificate, answers)
