"""Make a certified region larger along a feature, at the expense of the same error budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lime_guarantee.engine.certify.budget import ErrorBudget
from lime_guarantee.engine.certify.certificate import Attempt
from lime_guarantee.engine.certify.certifier import Certifier
from lime_guarantee.engine.oracle import BATCH_ROWS, Oracle
from lime_guarantee.engine.session import bounding_box
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.build import raw_bounds, sizes
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.region.worth import Worth, judging, worth_of
from lime_guarantee.space.box import Box
from lime_guarantee.space.cube import Cube


def extend_region(
    faithful: Callable[[Any], Any] | Problem,
    region: GuaranteeRegion,
    feature: int,
    *,
    random_state: int | np.random.Generator | None = None,
    batch_rows: int = BATCH_ROWS,
) -> GuaranteeRegion:
    """Try to certify the same region, or the box around it if it is a ball, with one feature free.

    Every try is paid for from what the region's own budget has left, so confidence in all that was
    certified for this explanation stays what it was.

    Parameters
    ----------
    faithful : callable or Problem
        As in `find_region`; with a problem, the larger region knows what the explanation is worth there.
    region : GuaranteeRegion
        Certified.
    feature : int
        The feature to set free.
    random_state : int, Generator or None
    batch_rows : int
        The most rows that `faithful` is given at once.

    Returns
    -------
    GuaranteeRegion
        The larger region; or the same one, with the attempt counted, if that cannot be certified.
    """
    shape = region.certified_shape("extend_region")
    box, cube = bounding_box(shape), shape.cube
    lower, upper = box.lower.copy(), box.upper.copy()
    lower[feature], upper[feature] = 0.0, 1.0
    wider = Box(lower, upper, cube)
    ask = judging(faithful) if isinstance(faithful, Problem) else faithful
    oracle = Oracle(ask, cube, batch_rows=batch_rows)
    assert region.certificate is not None
    certifier = Certifier(
        oracle,
        region.purity,
        ErrorBudget(region.confidence, region.attempts),
        np.random.default_rng(random_state),
        region.certificate.certifier,
    )
    attempt = certifier.attempt(wider)
    tried = replace(
        region,
        evaluations=region.evaluations + oracle.evaluations,
        calls=region.calls + oracle.calls,
        attempts=certifier.budget.attempts,
    )
    if attempt.certificate is None:
        return tried
    return replace(
        tried,
        **raw_bounds(wider, region.domain),
        **sizes(wider, region.measure),
        certificate=attempt.certificate,
        radius=None,
        shape=wider,
        worth=_worth(faithful, region, attempt, cube),
    )


def _worth(
    faithful: Callable[[Any], Any] | Problem, region: GuaranteeRegion, attempt: Attempt, cube: Cube
) -> Worth | None:
    """What the explanation is worth in the larger region, where that can be known."""
    answered, certificate = attempt.answered, attempt.certificate
    if not isinstance(faithful, Problem) or answered is None or certificate is None or region.worth is None:
        return None
    at_instance = np.squeeze(region.worth.model_at_instance)
    return worth_of(faithful, answered, cube, certificate, at_instance)
