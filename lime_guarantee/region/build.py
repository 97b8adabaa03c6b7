"""From what a session found to a region: bounds in raw values, sizes, and what the data have inside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lime_guarantee.engine.certify.proposal import Shape
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.engine.session import Found, bounding_box
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.region import GuaranteeRegion, Status
from lime_guarantee.region.worth import Worth, worth_of
from lime_guarantee.settings import Settings
from lime_guarantee.space.ball import Ball
from lime_guarantee.space.box import Box
from lime_guarantee.space.cube import Cube
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.measure import Measure
from lime_guarantee.support.arrays import AnyArray, FloatArray
from lime_guarantee.version import __version__


def region_from(
    found: Found,
    *,
    status: Status,
    measure: Measure,
    instance: AnyArray,
    settings: Settings,
    problem: Problem | None,
    oracle: Oracle,
    attempts: int,
    widened: tuple[str, ...],
    notes: tuple[str, ...] = (),
    at_instance: FloatArray | None = None,
) -> GuaranteeRegion:
    """The region of what a session found; the instance alone, where it found nothing."""
    domain = found.cube.domain.without_data()
    shape = in_cube(found.shape, replace(found.cube, domain=domain))
    bounds = raw_bounds(bounding_box(shape), domain)
    rows_each, evaluations, calls = 1, 0, 0
    if problem is not None:
        rows_each, evaluations, calls = problem.rows_each, problem.evaluations, problem.calls
    region = GuaranteeRegion(
        status=status,
        domain=domain,
        instance=instance,
        **bounds,
        measure=measure.name,
        **sizes(shape, measure.name),
        settings=settings.recorded,
        certificate=found.certificate,
        evaluations=oracle.evaluations * rows_each + evaluations,
        calls=oracle.calls + calls,
        widened=widened,
        reason=found.reason,
        radius=shape.radius if isinstance(shape, Ball) else None,
        version=__version__,
        attempts=attempts,
        notes=notes,
        explained=None if problem is None else problem.explained,
        origin=None if problem is None else problem.origin,
        shape=shape,
        problem=problem,
        worth=_worth(found, problem, at_instance),
    )
    return replace(region, covered=_covered(region, found.cube.domain))


def _worth(found: Found, problem: Problem | None, at_instance: FloatArray | None) -> Worth | None:
    """What the explanation is worth in what was found, where model and surrogate are known."""
    if problem is None or at_instance is None or found.answered is None or found.certificate is None:
        return None
    return worth_of(problem, found.answered, found.cube, found.certificate, at_instance)


def _covered(region: GuaranteeRegion, domain: Domain) -> tuple[int, int] | None:
    """How many rows of the data lie in the region, and of how many; None if there are none to count."""
    rows = domain.observed_rows
    if domain.observed is None or len(rows) == 0:
        return None
    return int(region.contains(domain.observed.rows).sum()), len(rows)


def in_cube(shape: Shape | None, cube: Cube) -> Box | Ball:
    """A shape as one of another cube, which means the same; the instance alone, if there is none."""
    if shape is None:
        return replace(cube.home, cube=cube)
    assert isinstance(shape, Box | Ball)
    return replace(shape, cube=cube)


def sizes(shape: Box | Ball, measure: str) -> dict[str, Any]:
    """How large a shape is, as fields of a region."""
    box = bounding_box(shape)
    share = shape.log_share / float(np.log(10.0))
    volume = share + shape.cube.domain.log_volume / float(np.log(10.0))
    return {
        "reach": box.width,
        "log10_share": share,
        "log10_volume": volume if measure == "uniform" else None,
    }


def raw_bounds(box: Box, domain: Domain) -> dict[str, Any]:
    """Bounds and allowed categories of a box, as fields of a region."""
    extents = [axis.extent_of(held) for axis, held in zip(domain.axes, box.cube.held(box), strict=True)]
    named = zip(domain.names, extents, strict=True)
    return {
        "lower": np.array([extent.lower for extent in extents]),
        "upper": np.array([extent.upper for extent in extents]),
        "allowed": {name: extent.allowed for name, extent in named if extent.allowed},
    }
