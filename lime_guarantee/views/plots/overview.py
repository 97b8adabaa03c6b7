"""The region at a glance: one row for every feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.region.report import extent, in_presence
from lime_guarantee.support.arrays import BoolArray, FloatArray
from lime_guarantee.support.checks import check_count
from lime_guarantee.views.plots import drawing
from lime_guarantee.views.plots.overview_painter import RowPainter
from lime_guarantee.views.plots.scales import (
    allowed_cells,
    cell_labels,
    encoded,
    ends,
    histogram,
    instance_coordinates,
    interval,
)

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

LONGEST_EXTENT = 24


@dataclass(frozen=True, eq=False)
class FeatureRow:
    """What is drawn of one feature.

    Parameters
    ----------
    name : str
        Short, and different from the others'.
    ends, bar : pair of float
        The domain and the certified interval, in the domain's coordinates; a cell is 1 wide.
    instance : float
        Where the instance lies.
    weight : float or None
        What the explanation says of it; None without an explanation.
    reach : float
        Width of the bar over that of the domain.
    allowed : array of bool
        Of every category, in their order in the domain, whether it lies in the region; empty for numbers.
    cells : tuple of str
        What the categories are called.
    end_texts : pair of str
    extent : str
        The certified values in words.
    data : array or None
        Heights, up to 1, of the data's histogram.
    constant : bool
        Whether the feature has a single value.
    """

    name: str
    ends: tuple[float, float]
    bar: tuple[float, float]
    instance: float
    weight: float | None
    reach: float
    allowed: BoolArray
    cells: tuple[str, ...]
    end_texts: tuple[str, str]
    extent: str
    data: FloatArray | None
    constant: bool

    def share(self, coordinate: float) -> float:
        """Where a coordinate lies between the ends, from 0 to 1."""
        return (coordinate - self.ends[0]) / (self.ends[1] - self.ends[0])


@dataclass(eq=False)
class RegionDisplay:
    """A region, one row for every feature, the most important first.

    Make one with `RegionDisplay.from_region` or ``region.plot()``.

    Parameters
    ----------
    rows : tuple of FeatureRow
        What is drawn, from top to bottom.
    rest : str
        What is said of the features beyond; empty if there are none.
    headline : str
        The title.
    notice : str
        Why there is nothing to draw; empty for a certified region.

    Attributes
    ----------
    ax_, figure_
        The axes drawn on and their figure, once plotted.
    """

    rows: tuple[FeatureRow, ...]
    rest: str
    headline: str
    notice: str = ""
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_region(
        cls, region: GuaranteeRegion, data: Any = None, *, max_features: int = 20
    ) -> RegionDisplay:
        """The display of a region.

        Parameters
        ----------
        region : GuaranteeRegion
        data : array or DataFrame, optional
            Rows whose distribution is drawn behind the features.
        max_features : int
            Features beyond the so many most important ones are summed up in a row.
        """
        check_count("max_features", max_features, "a positive integer")
        if not region:
            return cls((), "", "", drawing.no_region(region))
        order = np.arange(len(region.domain))
        if region.explained is not None:
            order = np.argsort(-np.abs(region.explained.weights), kind="stable")
        shown, rest = order[:max_features], order[max_features:]
        names = drawing.short_names(region.names)
        home, points = instance_coordinates(region), encoded(region, data)
        rows = tuple(_row(region, int(i), names[i], home, points) for i in shown)
        return cls(rows, _summary(region, rest) if rest.size else "", _headline(region))

    def plot(self, ax: Any = None) -> RegionDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        height = (0.42 if self._has_data else 0.3) * (len(self.rows) + bool(self.rest)) + 1.1
        ax = drawing.open_axes("RegionDisplay.plot", ax, (9.0, 2.2 if self.notice else height))
        self.ax_, self.figure_ = ax, ax.figure
        if self.notice:
            drawing.draw_notice(ax, self.notice)
            return self
        painter = RowPainter(ax, self)
        drawing.settle(ax)
        painter.paint()
        return self

    @property
    def _has_data(self) -> bool:
        return any(row.data is not None for row in self.rows)


def _row(
    region: GuaranteeRegion, i: int, name: str, home: FloatArray, points: FloatArray | None
) -> FeatureRow:
    axis = region.domain.axes[i]
    presence = in_presence(region)
    cells = () if axis.constant else cell_labels(axis, presence=presence)
    return FeatureRow(
        name=name,
        ends=ends(axis),
        bar=interval(axis, region.lower[i], region.upper[i]),
        instance=float(home[i]),
        weight=None if region.explained is None else region.explained.weights[i],
        reach=float(region.reach[i]),
        allowed=allowed_cells(region, i) if cells else np.empty(0, dtype=np.bool_),
        cells=cells,
        end_texts=("", "")
        if cells
        else (drawing.number(axis.low), "" if axis.constant else drawing.number(axis.high)),
        extent=_extent(region, i),
        data=None if points is None or axis.constant else histogram(axis, points[:, i]),
        constant=axis.constant,
    )


def _extent(region: GuaranteeRegion, i: int) -> str:
    """The certified values in few characters."""
    axis, free = region.domain.axes[i], bool(region.reach[i] == 1)
    if axis.constant:
        return "constant"
    if in_presence(region):
        return "may go" if free else "must stay"
    text = "free" if free else extent(region, i, axis)
    if axis.kind == "categorical":
        return drawing.short(text, LONGEST_EXTENT)
    if len(text) > LONGEST_EXTENT:  # so narrow that its ends differ in the last digits only
        return f"near {drawing.number(region.lower[i])}"
    return text.replace("-", "\N{MINUS SIGN}")


def _headline(region: GuaranteeRegion) -> str:
    promise = f"at least {100 * region.purity:.12g} %"
    confidence = f"confidence {100 * region.confidence:.12g} %"
    if in_presence(region):
        parts = f"{len(region.removable)} of {len(region.domain)} parts may go"
        return f"{parts}; faithful on {promise} of the combinations, {confidence}"
    shape = "this box" if region.radius is None else f"the ball of radius {region.radius:.3g} in this box"
    return f"Faithful on {promise} of {shape}, {confidence}"


def _summary(region: GuaranteeRegion, rest: Any) -> str:
    """The features that have no row of their own."""
    constant = np.array([axis.constant for axis in region.domain.axes])[rest]
    reach = np.where(constant, np.inf, region.reach[rest])
    facts = [f"{np.sum(reach == 1)} free"]
    if constant.any():
        facts.append(f"{constant.sum()} constant")
    if np.any(reach < 1):
        shortest = int(rest[np.argmin(reach)])
        facts.append(
            f"shortest reach {drawing.percent(reach.min())} ({drawing.short(region.names[shortest])})"
        )
    return f"and {len(rest)} more: {', '.join(facts)}"
