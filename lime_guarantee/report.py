"""A region in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from lime_guarantee.domain import Axis

if TYPE_CHECKING:
    from lime_guarantee.region import GuaranteeRegion

MOST_FEATURES = 60


def describe(region: GuaranteeRegion) -> str:
    """The report that ``str(region)`` gives: the answer first, then the features, then the evidence."""
    lines = [_answer(region)]
    if region:
        lines += ["", *_feature_table(region)]
    lines += ["", *_evidence(region)]
    return "\n".join(lines)


def _answer(region: GuaranteeRegion) -> str:
    if region.status == "certified":
        shape = "box" if region.radius is None else f"ball of radius {region.radius:.4g}"
        return (
            f"Certified: in this {shape} the explanation is faithful on at least {region.purity!r} of the "
            f"volume, with confidence {region.confidence!r}."
        )
    if region.status == "unfaithful":
        return f"Unfaithful: {region.reason}"
    return f"Uncertified: {region.reason}"


def _feature_table(region: GuaranteeRegion) -> list[str]:
    rows = [("feature", "instance", "region", "reach")]
    shown = region.domain.axes[:MOST_FEATURES]
    for i, axis in enumerate(shown):
        rows.append(
            (axis.name, _value(region.instance[i]), _extent(region, i, axis), _share(region.reach[i]))
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    if len(region.domain) > len(shown):
        lines.append(f"... and {len(region.domain) - len(shown)} features more (see to_frame()).")
    return [line.rstrip() for line in lines]


def _extent(region: GuaranteeRegion, index: int, axis: Axis) -> str:
    if axis.constant:
        return "constant"
    if axis.kind == "categorical":
        return "{" + ", ".join(map(_value, region.allowed[axis.name])) + "}"
    lower, upper = region.lower[index], region.upper[index]
    text = f"[{_inward(lower, upper, axis, math.ceil)}, {_inward(upper, lower, axis, math.floor)}]"
    if (lower, upper) == (axis.low, axis.high):
        text += " free"
    return text


def _evidence(region: GuaranteeRegion) -> list[str]:
    lines = []
    certificate = region.certificate
    if certificate is not None:
        lines.append(
            f"Evidence: {certificate.failures} of {certificate.draws:,} fresh draws failed; purity at least "
            f"{_rounded_down(certificate.purity_lower_bound)} ({certificate.certifier} test, attempt "
            f"{certificate.attempts})."
        )
        lines.append(f"Volume: 10^{region.log10_volume:.2f}, {_share(region.volume_fraction)} of the domain.")
    lines.append(
        f"Cost: {region.evaluations:,} evaluations in {region.calls:,} calls; search {region.search}."
    )
    if region.widened:
        lines.append(f"The domain was widened to hold the instance in: {', '.join(region.widened)}.")
    return lines


def _inward(bound: float, other: float, axis: Axis, towards: Callable[[float], int]) -> str:
    """A bound to about four digits of the width, rounded into the region, so that none too much is said."""
    if axis.has_cells:
        return str(int(bound))
    width = abs(bound - other)
    decimals = 3 - math.floor(math.log10(width)) if width > 0 else 17
    if not 0 <= decimals <= 12:
        return repr(float(bound))
    return f"{towards(bound * 10**decimals) / 10**decimals:.{decimals}f}"


def _rounded_down(bound: float) -> str:
    return f"{math.floor(bound * 1e5) / 1e5:.5f}"


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _share(share: float) -> str:
    return f"{100 * share:.3g} %"
