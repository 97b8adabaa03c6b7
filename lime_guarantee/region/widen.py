"""Make a certified region larger along a feature, at the expense of the same error budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lime_guarantee.engine.certify.budget import ErrorBudget
from lime_guarantee.engine.certify.certifier import Certifier
from lime_guarantee.engine.oracle import BATCH_ROWS, Oracle
from lime_guarantee.engine.session import bounding_box
from lime_guarantee.region.build import raw_bounds, sizes
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.space.box import Box


def extend_region(
    faithful: Callable[[Any], Any],
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
    faithful : callable
        As in `find_region`.
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
    oracle = Oracle(faithful, cube, batch_rows=batch_rows)
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
    )
