"""What is shown of every feature of a region, in words and shares: by notebooks and by pages alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lime_guarantee.region.report import extent, share_text, value_on, weight_text
from lime_guarantee.space.domain import Kind

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion


@dataclass(frozen=True)
class Bar:
    """An interval of a domain, in shares of the domain: both ends, and where the instance is."""

    start: float
    end: float
    tick: float


@dataclass(frozen=True)
class FeatureRow:
    """One feature of a region.

    Parameters
    ----------
    position : int
        Among the domain's features.
    name, kind
        Of its axis.
    instance, weight, extent, reach : str
        As ``str(region)`` has them; the weight is empty where there is none, and extent and reach are where
        nothing is certified.
    bar : Bar or None
        None for categories and constants.
    categories : tuple of (str, bool)
        Every category, and whether it is allowed.
    may_vary : bool
        Whether the region holds more than one value.
    """

    position: int
    name: str
    kind: Kind
    instance: str
    weight: str
    extent: str
    reach: str
    bar: Bar | None
    categories: tuple[tuple[str, bool], ...]
    may_vary: bool


def feature_rows(region: GuaranteeRegion) -> list[FeatureRow]:
    """The features, those with the largest weights first."""
    return [_row(region, i) for i in shown_order(region)]


def shown_order(region: GuaranteeRegion) -> list[int]:
    """The features' positions by their weights; words keep the order of their text."""
    explained = region.explained
    if explained is None or explained.space == "presence":
        return list(range(len(region.domain)))
    order: list[int] = np.argsort(-np.abs(explained.weights), kind="stable").tolist()
    return order


def _row(region: GuaranteeRegion, i: int) -> FeatureRow:
    axis, explained = region.domain.axes[i], region.explained
    allowed = {axis.position(value) for value in region.allowed.get(axis.name, ())} if region else set()
    return FeatureRow(
        position=i,
        name=axis.name,
        kind=axis.kind,
        instance=value_on(axis, region.instance[i]),
        weight="" if explained is None else weight_text(explained.weights[i]),
        extent=extent(region, i, axis) if region else "",
        reach=share_text(region.reach[i]) if region else "",
        bar=_bar(region, i),
        categories=tuple((axis.label(value), k in allowed) for k, value in enumerate(axis.categories)),
        may_vary=bool(region) and bool(region.lower[i] < region.upper[i] or len(allowed) > 1),
    )


def _bar(region: GuaranteeRegion, i: int) -> Bar | None:
    """Of a feature that is a number; a cell is as wide as the others of its axis."""
    axis = region.domain.axes[i]
    if axis.kind == "categorical" or axis.constant or not region:
        return None
    cell = float(axis.has_cells)
    width = axis.high - axis.low + cell

    def share(coordinate: float) -> float:
        return round((coordinate - axis.low) / width, 4)

    home = float(region.instance[i])
    return Bar(share(region.lower[i]), share(region.upper[i] + cell), share(home + cell / 2))
