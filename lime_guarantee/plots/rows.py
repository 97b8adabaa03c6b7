"""The region at a glance: one row for every feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.arrays import BoolArray, FloatArray
from lime_guarantee.find import check_count
from lime_guarantee.optional import require
from lime_guarantee.plots import canvas
from lime_guarantee.plots.scales import (
    allowed_cells,
    cell_labels,
    encoded,
    ends,
    histogram,
    in_presence_space,
    instance_coordinates,
    interval,
)
from lime_guarantee.report import extent

if TYPE_CHECKING:
    from lime_guarantee.region import GuaranteeRegion

LONGEST_EXTENT = 24
NOTCH = 0.14
"""How far the instance's tick stands out of a bar, in rows."""


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
            return cls((), "", "", canvas.no_region(region))
        order = np.arange(len(region.domain))
        if region.explained is not None:
            order = np.argsort(-np.abs(region.explained.weights), kind="stable")
        shown, rest = order[:max_features], order[max_features:]
        names = canvas.short_names(region.names)
        home, points = instance_coordinates(region), encoded(region, data)
        rows = tuple(_row(region, int(i), names[i], home, points) for i in shown)
        return cls(rows, _summary(region, rest) if rest.size else "", _headline(region))

    def plot(self, ax: Any = None) -> RegionDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        height = (0.42 if self._has_data else 0.3) * (len(self.rows) + bool(self.rest)) + 1.1
        ax = canvas.open_axes("RegionDisplay.plot", ax, (9.0, 2.2 if self.notice else height))
        self.ax_, self.figure_ = ax, ax.figure
        if self.notice:
            canvas.draw_notice(ax, self.notice)
            return self
        painter = _RowPainter(ax, self)
        canvas.settle(ax)
        painter.paint()
        return self

    @property
    def _has_data(self) -> bool:
        return any(row.data is not None for row in self.rows)


def _row(
    region: GuaranteeRegion, i: int, name: str, home: FloatArray, points: FloatArray | None
) -> FeatureRow:
    axis = region.domain.axes[i]
    presence = in_presence_space(region)
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
        else (canvas.number(axis.low), "" if axis.constant else canvas.number(axis.high)),
        extent=_extent(region, i),
        data=None if points is None or axis.constant else histogram(axis, points[:, i]),
        constant=axis.constant,
    )


def _extent(region: GuaranteeRegion, i: int) -> str:
    """The certified values in few characters."""
    axis, free = region.domain.axes[i], bool(region.reach[i] == 1)
    if axis.constant:
        return "constant"
    if in_presence_space(region):
        return "may go" if free else "must stay"
    text = "free" if free else extent(region, i, axis)
    if axis.kind == "categorical":
        return canvas.short(text, LONGEST_EXTENT)
    if len(text) > LONGEST_EXTENT:  # so narrow that its ends differ in the last digits only
        return f"near {canvas.number(region.lower[i])}"
    return text.replace("-", "\N{MINUS SIGN}")


def _headline(region: GuaranteeRegion) -> str:
    promise = f"at least {100 * region.purity:.6g} %"
    confidence = f"confidence {100 * region.confidence:.6g} %"
    if in_presence_space(region):
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
        facts.append(f"shortest reach {canvas.percent(reach.min())} ({canvas.short(region.names[shortest])})")
    return f"and {len(rest)} more: {', '.join(facts)}"


class _RowPainter:
    """Draws rows on axes: every track runs from 0 to 1, and what is beside it is laid out in points."""

    def __init__(self, ax: Any, display: RegionDisplay) -> None:
        self.ax, self.rows, self.rest = ax, display.rows, display.rest
        self.headline = display.headline
        self.patches = require("matplotlib.patches", "RegionDisplay.plot", extra="plot")
        self.has_data = any(row.data is not None for row in self.rows)
        self.has_weights = any(row.weight is not None for row in self.rows)
        # With data, the bar is the floor on which the histogram stands.
        self.top, self.bottom = (0.12, 0.42) if self.has_data else (-0.28, 0.28)
        self.middle = (self.top + self.bottom) / 2
        self.lines = len(self.rows) + bool(self.rest) + 1.2  # a line of headings
        self.size = 9.0
        ax.set_ylim(self.lines - 1.7, -1.2)
        self._frame()

    def _frame(self) -> None:
        """What stands around the axes, and so decides how large they are."""
        canvas.bare(self.ax)
        self.ax.set_xticks([])
        names = [row.name for row in self.rows]
        places = np.arange(len(names)) + self.middle
        self.ax.set_yticks(places, labels=names, parse_math=False, fontsize=self.size)
        self.ax.tick_params(axis="y", length=0)
        canvas.legend_below(self.ax, self._key())
        canvas.title(self.ax, self.headline)

    def _columns(self, width: float) -> dict[str, float]:
        """Where the columns beside the tracks start, so that the longest text of each has its place."""

        def room(texts: list[str]) -> float:
            return (max(map(len, texts)) * canvas.WIDTH_OF_A_CHARACTER + 1.0) * self.size

        weights = [canvas.signed(row.weight) for row in self.rows if row.weight is not None]
        low = room([row.end_texts[0] for row in self.rows] + [""])
        weight = room(["weight", *weights]) if weights else 0.0
        high = room([row.end_texts[1] for row in self.rows] + [""])
        values = room(["guaranteed", *(row.extent for row in self.rows)])
        reach = room(["< 0.01 %"])
        track = max(width - (low + weight + high + values + reach), 0.25 * width)
        self.ax.set_xlim(-(low + weight) / track, 1 + (high + values + reach) / track)
        gap = 0.5 * self.size
        return {
            "weight": -(low + gap) / track,
            "low": -gap / track,
            "high": 1 + gap / track,
            "guaranteed": 1 + (high + gap) / track,
            "reach": 1 + (high + values + reach) / track,
        }

    def paint(self) -> None:
        """Draw the rows; the axes have their final size by now."""
        width, height = canvas.size_in_points(self.ax)
        self.size = float(np.clip(0.62 * height / self.lines, 3, 9))
        for label in self.ax.get_yticklabels():
            label.set_fontsize(self.size)
        self.columns = self._columns(width)
        self._text("guaranteed", -0.95, "guaranteed", color=canvas.SOFT)
        self._text("reach", -0.95, "reach", ha="right", color=canvas.SOFT)
        if self.has_weights:
            self._text("weight", -0.95, "weight", ha="right", color=canvas.SOFT)
        for y, row in enumerate(self.rows):
            self._paint_row(y, row)
        if self.rest:
            self.ax.text(
                0,
                len(self.rows),
                self.rest,
                va="center",
                size=self.size,
                style="italic",
                color=canvas.SOFT,
                parse_math=False,
            )

    def _text(self, column: str, y: float, text: str, **style: Any) -> None:
        style = {"ha": "left", "color": canvas.INK, **style}
        self.ax.text(self.columns[column], y, text, va="center", size=self.size, parse_math=False, **style)

    def _paint_row(self, y: int, row: FeatureRow) -> None:
        line = y + self.middle
        self._text("low", line, row.end_texts[0], ha="right", color=canvas.SOFT)
        self._text("high", line, row.end_texts[1], color=canvas.SOFT)
        self._text("guaranteed", line, row.extent)
        if row.weight is not None:
            self._text("weight", line, canvas.signed(row.weight), ha="right")
        if row.data is not None:
            step = 1 / len(row.data)
            places = step * np.arange(len(row.data))
            floor = y + self.top
            self.ax.bar(places, -0.52 * row.data, step, floor, align="edge", color=canvas.DATA, zorder=1)
        if row.constant:
            self._tick(0.0, y + self.top, y + self.bottom)
            return
        self._text("reach", line, canvas.percent(row.reach), ha="right")
        if row.cells:
            self._paint_cells(y, row)
            return
        self.ax.hlines(line, 0, 1, color=canvas.TRACK, lw=1.5, zorder=2)
        self._bar(y, row.share(row.bar[0]), row.share(row.bar[1]), row.weight)
        self._tick(row.share(row.instance), y + self.top - NOTCH, y + self.bottom + NOTCH)

    def _bar(self, y: int, start: float, end: float, weight: float | None) -> None:
        colour = canvas.sign_colour(weight)
        self.ax.add_patch(
            self.patches.Rectangle(
                (start, y + self.top),
                end - start,
                self.bottom - self.top,
                facecolor=colour,
                edgecolor=canvas.INK,
                lw=0.6,
                hatch=canvas.HATCHES[colour],
                zorder=3,
            )
        )

    def _tick(self, x: float, start: float, end: float) -> None:
        self.ax.vlines(x, start, end, color="white", lw=4, zorder=4)  # seen on dark bars, too
        self.ax.vlines(x, start, end, color=canvas.INK, lw=2, zorder=5)

    def _paint_cells(self, y: int, row: FeatureRow) -> None:
        """Cells, filled where the region has them; the instance's has a notch above and below its label."""
        step = 1 / len(row.cells)
        room = int(step * self._track_points() / (canvas.WIDTH_OF_A_CHARACTER * 0.85 * self.size))
        for k, (label, inside) in enumerate(zip(row.cells, row.allowed, strict=True)):
            if inside:
                self._bar(y, k * step, (k + 1) * step, row.weight)
            else:
                self.ax.add_patch(
                    self.patches.Rectangle(
                        (k * step, y + self.top),
                        step,
                        self.bottom - self.top,
                        facecolor="white",
                        edgecolor=canvas.TRACK,
                        lw=0.8,
                        zorder=2.5,
                    )
                )
            if room >= min(6, max(map(len, row.cells))):
                self._cell_label(y, (k + 0.5) * step, canvas.short(label, room), row, inside=bool(inside))
        place = row.share(row.instance)
        self._tick(place, y + self.top - NOTCH, y + self.top)
        self._tick(place, y + self.bottom, y + self.bottom + NOTCH)

    def _cell_label(self, y: int, x: float, label: str, row: FeatureRow, *, inside: bool) -> None:
        colour = canvas.sign_colour(row.weight)
        dark = inside and colour in (canvas.PLUS, canvas.SOFT)
        hatched = inside and bool(canvas.HATCHES[colour])
        self.ax.text(
            x,
            y + self.middle,
            label,
            ha="center",
            va="center",
            size=0.85 * self.size,
            color="white" if dark else canvas.INK if inside else canvas.SOFT,
            parse_math=False,
            zorder=6,
            bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.8} if hatched else None,
        )

    def _track_points(self) -> float:
        left, right = self.ax.get_xlim()
        return float(canvas.size_in_points(self.ax)[0] / (right - left))

    def _key(self) -> list[Any]:
        lines = require("matplotlib.lines", "RegionDisplay.plot", extra="plot")

        def box(label: str, colour: str, **style: Any) -> Any:
            style = {"edgecolor": canvas.INK, "lw": 0.6, "hatch": canvas.HATCHES.get(colour, ""), **style}
            return self.patches.Patch(facecolor=colour, label=label, **style)

        weights = [row.weight for row in self.rows]
        signs = [
            (canvas.PLUS, "weight +", any(w is not None and w > 0 for w in weights)),
            (canvas.MINUS, "weight \N{MINUS SIGN}", any(w is not None and w < 0 for w in weights)),
            (canvas.NEITHER, "no weight", any(w == 0 for w in weights)),
            (canvas.SOFT, "guaranteed", None in weights),
        ]
        key = [box(label, colour) for colour, label, used in signs if used]
        if any(not row.allowed.all() for row in self.rows):
            key.append(box("not guaranteed", "white", edgecolor=canvas.TRACK))
        style = {"marker": "|", "markersize": 9, "markeredgewidth": 2, "linestyle": "none"}
        key.append(lines.Line2D([], [], color=canvas.INK, label="the instance", **style))
        if self.has_data:
            key.append(box("data", canvas.DATA, edgecolor="none"))
        return key
