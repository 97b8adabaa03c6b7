"""A region in words."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING

from lime_guarantee.space.axis import Extent
from lime_guarantee.space.measure import MEASURES, Measure

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion
    from lime_guarantee.region.worth import Interval, Worth

MOST_FEATURES = 60

FAITHFUL = {
    "class": "the same class, or the same score within",
    "value": "the same value within",
    "change": "the same change within",
}


def describe(region: GuaranteeRegion) -> str:
    """The report that ``str(region)`` gives: the answer first, then the features, then the evidence."""
    lines = [answer(region), *worth_lines(region)]
    if region:
        lines += ["", *(_parts(region) if in_presence(region) else _feature_table(region))]
    lines += ["", *evidence(region)]
    return "\n".join(lines)


def in_presence(region: GuaranteeRegion) -> bool:
    """Whether the axes are parts of the instance, there or removed."""
    return region.explained is not None and region.explained.space == "presence"


def answer(region: GuaranteeRegion) -> str:
    """The answer, in a sentence."""
    if region.status == "certified":
        if in_presence(region):
            return (
                f"Certified: {len(region.removable)} of {len(region.domain)} parts may be removed in any "
                f"combination; the explanation is faithful on at least {region.purity!r} of the "
                f"combinations, with confidence {region.confidence!r}."
            )
        return (
            f"Certified: {_drawn(region)}: the explanation is faithful on at least {region.purity!r} of such "
            f"rows, with confidence {region.confidence!r}."
        )
    if region.status == "unfaithful":
        return f"Unfaithful: {region.reason}"
    return f"Uncertified: {region.reason}"


def worth_lines(region: GuaranteeRegion) -> list[str]:
    """What the explanation is worth there, in a line; none where that is not known."""
    worth = region.worth
    if worth is None:
        return []
    return [f"{_gain_text(region, worth)} {_weights_text(worth)}".strip()]


def _gain_text(region: GuaranteeRegion, worth: Worth) -> str:
    """Whether a constant would do, in a sentence."""
    if worth.gain is None or worth.gain_interval is None:
        return ""
    most = upper_text(100 * worth.gain_interval[1], 2)
    if worth.score_gain is None or worth.score_gain_interval is None:
        if worth.flat:
            tested = (
                "what weights are needed make up for one another"
                if worth.needed_weights
                else "no weight is tested"
            )
            does = f"a constant does as well (on all but {most} % of it at most)"
            return f"The model is flat here: {does}, and {tested}."
        return f"A constant would be wrong on {_gain_share(worth.gain, worth.gain_interval)}."
    tolerance = getattr(region.problem and region.problem.agreement, "tolerance", None)
    if region.explained is not None:
        tolerance = region.explained.tolerance
    within = "" if tolerance is None else f", within {tolerance:.3g},"
    if worth.flat_in_score:
        score = f"In the score{within} a constant does as well, too."
    else:
        share = _gain_share(worth.score_gain, worth.score_gain_interval)
        score = f"In the score{within} a constant would be wrong on {share}."
    if worth.flat:
        stays = f"The class stays the same here (on all but {most} % of it at most)"
        return f"{stays}, so the weights are not tested by it. {score}"
    return f"A constant class would be wrong on {_gain_share(worth.gain, worth.gain_interval)}. {score}"


def _gain_share(gain: float, interval: Interval) -> str:
    low, high = lower_text(100 * interval[0], 2), upper_text(100 * interval[1], 2)
    return f"{share_text(gain)} of it ({low} to {high} %), where the explanation is right"


def _weights_text(worth: Worth) -> str:
    """How many of the weights are needed; nothing where no weight is tested."""
    count, needed = len(worth.weights), len(worth.needed_weights)
    if worth.flat or count == 0:
        return ""
    are = "is" if needed == 1 else "are"
    return f"Of {count} weights {needed} {are} shown to be needed, and {worth.droppable} can go together."


def _parts(region: GuaranteeRegion) -> list[str]:
    """The words or superpixels that may go and those that must stay; a weight is shown where there is one."""
    assert region.explained is not None
    free = set(region.removable)
    shown = {
        axis.name: f"{axis.name} ({weight:+.3g})" if weight else axis.name
        for axis, weight in zip(region.domain.axes, region.explained.weights, strict=True)
    }
    may_go = [text for name, text in shown.items() if name in free]
    fixed = {axis.name for axis in region.domain.axes if axis.constant}  # stands for nothing in the instance
    must_stay = [text for name, text in shown.items() if name not in free | fixed]
    return [f"May go:    {_listed(may_go)}", f"Must stay: {_listed(must_stay)}"]


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - MOST_FEATURES} more (see to_frame())" if len(names) > MOST_FEATURES else ""
    return ", ".join(names[:MOST_FEATURES]) + more or "none"


def _feature_table(region: GuaranteeRegion) -> list[str]:
    weights = None if region.explained is None else region.explained.weights
    needed = None if region.worth is None else needed_texts(region.worth)
    more = [*([] if weights is None else ["weight"]), *([] if needed is None else ["needed"])]
    rows = [["feature", "instance", *more, "region", "reach"]]
    shown = region.domain.axes[:MOST_FEATURES]
    for i, axis in enumerate(shown):
        rows.append(
            [
                axis.name,
                instance_text(region, i),
                *([] if weights is None else [weight_text(weights[i])]),
                *([] if needed is None else [needed[i]]),
                extent_text(region, i),
                reach_text(float(region.reach[i])),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    if len(region.domain) > len(shown):
        lines.append(f"... and {len(region.domain) - len(shown)} features more (see to_frame()).")
    return [line.rstrip() for line in lines]


def extent_of(region: GuaranteeRegion, index: int) -> Extent:
    """The values of one feature that lie in the region."""
    allowed = region.allowed.get(region.names[index], ())
    return Extent(float(region.lower[index]), float(region.upper[index]), tuple(allowed))


def extent_text(region: GuaranteeRegion, index: int) -> str:
    """The values of one feature that lie in the region, in words."""
    return region.domain.axes[index].extent_text(extent_of(region, index), region.instance[index])


def instance_text(region: GuaranteeRegion, index: int) -> str:
    """The instance's value of one feature; it lies between the bounds that `extent_text` gives."""
    extent = extent_of(region, index) if region else None
    return region.domain.axes[index].text(region.instance[index], extent)


def evidence(region: GuaranteeRegion) -> list[str]:
    """What the answer rests on, and what it cost."""
    lines = []
    certificate, explained = region.certificate, region.explained
    if explained is not None:
        about = "" if explained.label_name is None else f" of {explained.label_name!r}"
        lines.append(
            f"Explained: {explained.kind}{about}; faithful: {FAITHFUL[explained.agreement]} "
            f"{explained.tolerance:.3g}."
        )
    if certificate is not None:
        lines.append(
            f"Evidence: {certificate.failures} of {certificate.draws:,} fresh draws failed; purity at least "
            f"{purity_bound_text(certificate.purity_lower_bound)} ({certificate.certifier} test, attempt "
            f"{certificate.attempts})."
        )
        lines.append(_size(region))
    lines += [] if region.validation is None else [str(region.validation)]
    lines.append(
        f"Cost: {region.evaluations:,} evaluations in {region.calls:,} calls; search {region.search}."
    )
    if region.widened:
        lines.append(f"The domain was widened to hold the instance in: {', '.join(region.widened)}.")
    lines += [f"Note: {note}" for note in region.notes]
    lines += [] if explained is None else [f"Note: {note}" for note in explained.notes]
    return lines


def measure_of(region: GuaranteeRegion) -> Measure | type[Measure]:
    """The region's measure, for its words."""
    known = MEASURES.get(region.measure)
    if known is not None:
        return known
    asked = region.settings.measure
    assert isinstance(asked, Measure)
    return asked


def _drawn(region: GuaranteeRegion) -> str:
    """How rows are drawn, in words that begin small."""
    words = measure_of(region).drawn
    if region.radius is not None:
        words = f"{words}, and within {region.radius:.4g} of the instance"
    return words[0].lower() + words[1:]


def _size(region: GuaranteeRegion) -> str:
    if in_presence(region):
        return f"Size: {share_text(region.share)} of all combinations."
    size = f"Size: {share_text(region.share)} of the {measure_of(region).measured}"
    size += "" if region.log10_volume is None else f", 10^{region.log10_volume:.2f} in all"
    if region.covered is not None:
        size += f"; {region.covered[0]:,} of {region.covered[1]:,} rows of the data lie inside"
    return f"{size}."


def purity_bound_text(bound: float) -> str:
    """A lower bound on a purity, rounded down."""
    return f"{math.floor(bound * 1e5) / 1e5:.5f}"


def weight_text(weight: float) -> str:
    """What an explanation says of a feature."""
    return f"{weight:+.3g}" if weight else "0"


def share_text(share: float) -> str:
    """A share, in per cent; 100 only if it is all.

    Examples
    --------
    >>> share_text(1 / 3), share_text(0.9999), share_text(1.0)
    ('33.3 %', '> 99.9 %', '100 %')
    """
    return "> 99.9 %" if 0.9995 <= share < 1 else f"{100 * share:.3g} %"


def reach_text(share: float) -> str:
    """A reach, in per cent and rounded down: no more is said than is certified.

    Examples
    --------
    >>> reach_text(1 / 3), reach_text(0.6257), reach_text(0.9999), reach_text(1.0), reach_text(1e-9)
    ('33.3 %', '62.5 %', '99.9 %', '100 %', '< 0.01 %')
    """
    return "< 0.01 %" if 0 < share < 1e-4 else f"{lower_text(100 * share, 3)} %"


def needed_texts(worth: Worth) -> list[str]:
    """How much each weight is needed, in words; a dash where there is no weight."""
    return [share_text(share) if i in worth.weights else "-" for i, share in enumerate(worth.needed)]


def lower_text(value: float, digits: int) -> str:
    """A number to so many digits, and never more than it is.

    Examples
    --------
    >>> lower_text(99.987, 3), lower_text(0.129, 2), lower_text(100.0, 2)
    ('99.9', '0.12', '100')
    """
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    exact = context.create_decimal_from_float(value * (1 + 1e-12))  # 100 * 0.29 is 28.999999999999996
    return f"{exact.normalize():f}"


def upper_text(value: float, digits: int) -> str:
    """A number to so many digits, and never less than it is.

    Examples
    --------
    >>> upper_text(0.121, 2), upper_text(35.1, 2), upper_text(100.0, 2)
    ('0.13', '36', '100')
    """
    context = Context(prec=digits, rounding=ROUND_CEILING)
    exact = context.create_decimal_from_float(value * (1 - 1e-12))
    return f"{exact.normalize():f}"
