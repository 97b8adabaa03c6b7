"""One feature of a region, as pages, notebooks and pictures show it: numbers, and the words for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lime_guarantee.region.report import (
    extent_of,
    extent_text,
    in_presence,
    instance_text,
    reach_text,
    share_text,
    weight_text,
)
from lime_guarantee.space.axis import Axis
from lime_guarantee.support.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

PRESENCE = ("absent", "present")


@dataclass(frozen=True)
class Bar:
    """An interval of a domain, in shares of the domain: both ends, and where the instance is."""

    start: float
    end: float
    tick: float


@dataclass(frozen=True, eq=False)
class FeatureRow:
    """What is shown of one feature.

    Parameters
    ----------
    position : int
        Among the domain's features.
    name : str
    axis : Axis
    certified : bool
        Whether the region is.
    instance : float
        Where the instance lies, in the domain's coordinates.
    instance_text : str
        The instance's value, as ``str(region)`` has it.
    weight : float or None
        What the explanation says of the feature; None without an explanation.
    bar : pair of float
        The certified interval as it is drawn, in the domain's coordinates; a cell is 1 wide.
    reach : float
        Width of the bar over that of the domain.
    extent : str
        The certified values in words; empty where nothing is certified.
    may_vary : bool
        Whether the region holds more than one value.
    cells : tuple of str
        What the cells are called, where they have names.
    allowed : array of bool
        Of every cell that has a name, in their order in the domain, whether it lies in the region.
    data : array or None
        Heights, up to 1, of the data's histogram.
    needed : float or None
        Of the region, where the explanation becomes wrong without the feature's weight; None where there is
        no weight, or that is not known.
    """

    position: int
    name: str
    axis: Axis
    certified: bool
    instance: float
    instance_text: str
    weight: float | None
    bar: tuple[float, float]
    reach: float
    extent: str
    may_vary: bool
    cells: tuple[str, ...]
    allowed: BoolArray
    data: FloatArray | None = None
    needed: float | None = None

    @property
    def constant(self) -> bool:
        """Whether the feature has a single value."""
        return self.axis.constant

    @property
    def weight_text(self) -> str:
        """The weight in words; empty where there is none."""
        return "" if self.weight is None else weight_text(self.weight)

    @property
    def needed_text(self) -> str:
        """How much the weight is needed, in words; empty where that is not known."""
        return "" if self.needed is None else share_text(self.needed)

    @property
    def reach_text(self) -> str:
        """The reach in words; empty where nothing is certified."""
        return reach_text(self.reach) if self.certified else ""

    @property
    def choices(self) -> tuple[tuple[str, bool], ...]:
        """The values to choose from, and whether each is allowed; none for numbers and switches."""
        if self.axis.is_switch:
            return ()
        return tuple((cell, bool(held)) for cell, held in zip(self.cells, self.allowed, strict=True))

    @property
    def bar_in_shares(self) -> Bar | None:
        """The bar in shares of the domain; None for constants, and for values that have no order."""
        if self.constant or not (self.axis.ordered and self.certified):
            return None
        low, high = self.axis.ends_as_drawn
        start, end, tick = (round((place - low) / (high - low), 4) for place in (*self.bar, self.instance))
        return Bar(start, end, tick)

    def share(self, coordinate: float) -> float:
        """Where a coordinate lies between the ends of the domain, from 0 to 1."""
        low, high = self.axis.ends_as_drawn
        return (coordinate - low) / (high - low)


def feature_rows(region: GuaranteeRegion, positions: list[int]) -> list[FeatureRow]:
    """The rows of these features, in this order."""
    home = instance_coordinates(region)
    return [_row(region, i, float(home[i])) for i in positions]


def shown_order(region: GuaranteeRegion, *, parts_in_place: bool) -> list[int]:
    """The features' positions, those with the largest weights first.

    Parameters
    ----------
    region : GuaranteeRegion
    parts_in_place : bool
        Whether words and superpixels keep the order they have in the instance.
    """
    if region.explained is None or (parts_in_place and in_presence(region)):
        return list(range(len(region.domain)))
    order: list[int] = np.argsort(-np.abs(region.explained.weights), kind="stable").tolist()
    return order


def cell_labels(region: GuaranteeRegion, axis: Axis) -> tuple[str, ...]:
    """What the cells of an axis are called, where they have names; parts are absent or present."""
    return PRESENCE if axis.is_switch and in_presence(region) else axis.cell_labels


def instance_coordinates(region: GuaranteeRegion) -> FloatArray:
    """The instance in the coordinates of the region's domain."""
    return np.asarray(region.domain.encode(region.instance[np.newaxis])[0])


def _row(region: GuaranteeRegion, i: int, home: float) -> FeatureRow:
    axis, extent, certified = region.domain.axes[i], extent_of(region, i), bool(region)
    cells, worth = cell_labels(region, axis), region.worth
    held = axis.cells_in(extent) if cells else np.empty(0, dtype=np.bool_)
    return FeatureRow(
        position=i,
        name=axis.name,
        axis=axis,
        certified=certified,
        instance=home,
        instance_text=instance_text(region, i),
        weight=None if region.explained is None else region.explained.weights[i],
        bar=axis.interval_as_drawn(extent.lower, extent.upper),
        reach=float(region.reach[i]),
        extent=extent_text(region, i) if certified else "",
        may_vary=certified and extent.lower < extent.upper,
        cells=cells,
        allowed=held & certified,
        needed=None if worth is None or i not in worth.weights else worth.needed[i],
    )
