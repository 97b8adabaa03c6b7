"""How the rows of a region are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.support.imports import require
from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.views.feature_row import FeatureRow

NOTCH = 0.14
"""How far the instance's tick stands out of a bar, in rows."""


WRAPPED = 0.8
"""Size of what takes two lines, over that of other texts."""

FEWEST_LETTERS = 10
"""Cells have labels where these, or so many letters of them, have room."""


class RowPainter:
    """Draws rows on axes: every track runs from 0 to 1, and what is beside it is laid out in points.

    Parameters
    ----------
    ax : matplotlib axes
    rows : sequence of FeatureRow
    rest : str
        A last line.
    alone : bool
        Whether names and weights are drawn, too, with a key; else something beside the rows has them.
    """

    def __init__(self, ax: Any, rows: Sequence[FeatureRow], rest: str, *, alone: bool = True) -> None:
        self.ax, self.rows, self.rest = ax, rows, rest
        self.patches = require("matplotlib.patches", "RegionDisplay.plot", extra="plot")
        self.has_data = any(row.data is not None for row in self.rows)
        self.has_weights = alone and any(row.weight is not None for row in self.rows)
        self.has_needed = any(row.needed is not None for row in self.rows)
        # With data, the bar is the floor on which the histogram stands.
        self.top, self.bottom = (0.12, 0.42) if self.has_data else (-0.28, 0.28)
        self.middle = (self.top + self.bottom) / 2
        self.lines = len(self.rows) + bool(self.rest) + 1.2  # a line of headings
        self.size = 9.0
        ax.set_ylim(self.lines - 1.7, -1.2)
        drawing.bare(ax)
        ax.set_xticks([])
        ax.set_yticks([])
        if alone:
            self._frame()

    def _frame(self) -> None:
        """What stands around the axes, and so decides how large they are."""
        names = [row.name for row in self.rows]
        places = np.arange(len(names)) + self.middle
        self.ax.set_yticks(places, labels=names, parse_math=False, fontsize=self.size)
        self.ax.tick_params(axis="y", length=0)
        drawing.legend_below(self.ax, self.key())

    def _columns(self, width: float) -> dict[str, float]:
        """Where the columns beside the tracks start, so that the longest text of each has its place."""

        def room(texts: list[str]) -> float:
            longest = max(
                WRAPPED * max(map(len, text.split("\n"))) if "\n" in text else len(text) for text in texts
            )
            return (longest * drawing.WIDTH_OF_A_CHARACTER + 1.0) * self.size

        weights = [_weight_text(row) for row in self.rows] if self.has_weights else []
        instances = [row.instance_text for row in self.rows if row.instance_text]
        instance = room(["instance", *instances]) if instances else 0.0
        low = room([_end_texts(row)[0] for row in self.rows] + [""])
        weight = room(["weight", *weights]) if weights else 0.0
        high = room([_end_texts(row)[1] for row in self.rows] + [""])
        values = room(["guaranteed", *(row.extent for row in self.rows)])
        reach = room(["< 0.01 %"])
        needed = room(["> 99.9 %"]) if self.has_needed else 0.0
        right = high + values + reach + needed
        left = low + weight + instance
        track = max(width - (left + right), 0.25 * width)
        self.ax.set_xlim(-left / track, 1 + right / track)
        gap = 0.5 * self.size
        return {
            "instance": -(low + weight + gap) / track,
            "weight": -(low + gap) / track,
            "low": -gap / track,
            "high": 1 + gap / track,
            "guaranteed": 1 + (high + gap) / track,
            "reach": 1 + (high + values + reach) / track,
            "needed": 1 + right / track,
            "rest": 0.0,
        }

    def paint(self) -> None:
        """Draw the rows; the axes have their final size by now."""
        width, height = drawing.size_in_points(self.ax)
        self.size = float(np.clip(0.62 * height / self.lines, 3, 9))
        for label in self.ax.get_yticklabels():
            label.set_fontsize(self.size)
        self.columns = self._columns(width)
        headings = {
            "instance": any(row.instance_text for row in self.rows),
            "weight": self.has_weights,
            "guaranteed": True,
            "reach": True,
            "needed": self.has_needed,
        }
        for heading in (name for name, shown in headings.items() if shown):
            side = "left" if heading == "guaranteed" else "right"
            self._text(heading, -0.95, heading, ha=side, color=drawing.SOFT)
        for y, row in enumerate(self.rows):
            self._paint_row(y, row)
        if self.rest:
            self._text("rest", len(self.rows), self.rest, color=drawing.SOFT, style="italic")

    def _text(self, column: str, y: float, text: str, **style: Any) -> None:
        style = {"ha": "left", "va": "center", "color": drawing.INK, "size": self.size, **style}
        self.ax.text(self.columns[column], y, text, parse_math=False, zorder=6, **style)

    def _paint_row(self, y: int, row: FeatureRow) -> None:
        line = y + self.middle
        low, high = _end_texts(row)
        self._text("low", line, low, ha="right", color=drawing.SOFT)
        self._text("high", line, high, color=drawing.SOFT)
        wrapped = {"size": WRAPPED * self.size, "linespacing": 1.0} if "\n" in row.extent else {}
        self._text("guaranteed", line, row.extent, **wrapped)
        self._text("instance", line, row.instance_text, ha="right")
        if self.has_weights:
            self._text("weight", line, _weight_text(row), ha="right")
        if row.needed is not None:
            self._text("needed", line, row.needed_text, ha="right")
        if row.data is not None:
            step = 1 / len(row.data)
            places = step * np.arange(len(row.data))
            floor = y + self.top
            self.ax.bar(places, -0.52 * row.data, step, floor, align="edge", color=drawing.DATA, zorder=1)
        if row.constant:
            self._tick(0.0, y + self.top, y + self.bottom)
            return
        self._text("reach", line, row.reach_text, ha="right")
        if row.cells:
            self._paint_cells(y, row)
            return
        self.ax.hlines(line, 0, 1, color=drawing.TRACK, lw=1.5, zorder=2)
        self._bar(y, row.share(row.bar[0]), row.share(row.bar[1]), row.weight)
        self._tick(row.share(row.instance), y + self.top - NOTCH, y + self.bottom + NOTCH)

    def _bar(self, y: int, start: float, end: float, weight: float | None, *, hatched: bool = True) -> None:
        colour = drawing.sign_colour(weight)
        hatch = drawing.HATCHES[colour] if hatched else ""
        self._box(y, start, end, facecolor=colour, edgecolor=drawing.INK, lw=0.6, hatch=hatch, zorder=3)

    def _box(self, y: int, start: float, end: float, **style: Any) -> None:
        corner, height = (start, y + self.top), self.bottom - self.top
        self.ax.add_patch(self.patches.Rectangle(corner, end - start, height, **style))

    def _tick(self, x: float, start: float, end: float) -> None:
        for colour, width in (("white", 4), (drawing.INK, 2)):  # the rim is seen on dark bars
            self.ax.vlines(x, start, end, color=colour, lw=width, capstyle="butt", zorder=5)

    def _paint_cells(self, y: int, row: FeatureRow) -> None:
        """Cells, filled where the region has them; the instance's has a notch above and below its label."""
        step = 1 / len(row.cells)
        room = int(step * self._track_points() / (drawing.WIDTH_OF_A_CHARACTER * 0.85 * self.size))
        labelled = room >= min(FEWEST_LETTERS, max(map(len, row.cells)))
        for k, (label, inside) in enumerate(zip(row.cells, row.allowed, strict=True)):
            if inside:  # a name on a hatch would look struck out
                self._bar(y, k * step, (k + 1) * step, row.weight, hatched=not labelled)
            else:
                empty = {"facecolor": "white", "edgecolor": drawing.TRACK, "lw": 0.8, "zorder": 2.5}
                self._box(y, k * step, (k + 1) * step, **empty)
            if labelled:
                self._cell_label(y, (k + 0.5) * step, drawing.short(label, room), row, inside=bool(inside))
        place = row.share(row.instance)
        self._tick(place, y + self.top - NOTCH, y + self.top)
        self._tick(place, y + self.bottom, y + self.bottom + NOTCH)

    def _cell_label(self, y: int, x: float, label: str, row: FeatureRow, *, inside: bool) -> None:
        colour = drawing.sign_colour(row.weight)
        dark = inside and colour in (drawing.PLUS, drawing.SOFT)
        self.ax.text(
            x,
            y + self.middle,
            label,
            ha="center",
            va="center",
            size=0.85 * self.size,
            color="white" if dark else drawing.INK if inside else drawing.SOFT,
            parse_math=False,
            zorder=6,
        )

    def _track_points(self) -> float:
        left, right = self.ax.get_xlim()
        return float(drawing.size_in_points(self.ax)[0] / (right - left))

    def key(self) -> list[Any]:
        """What colours and marks mean."""
        lines = require("matplotlib.lines", "RegionDisplay.plot", extra="plot")

        def box(label: str, colour: str, **style: Any) -> Any:
            style = {"edgecolor": drawing.INK, "lw": 0.6, "hatch": drawing.HATCHES.get(colour, ""), **style}
            return self.patches.Patch(facecolor=colour, label=label, **style)

        weights = [row.weight for row in self.rows]
        signs = [
            (drawing.PLUS, "weight +", any(w is not None and w > 0 for w in weights)),
            (drawing.MINUS, "weight \N{MINUS SIGN}", any(w is not None and w < 0 for w in weights)),
            (drawing.NEITHER, "no weight", any(w == 0 for w in weights)),
            (drawing.SOFT, "guaranteed", None in weights),
        ]
        key = [box(label, colour) for colour, label, used in signs if used]
        if any(not row.allowed.all() for row in self.rows):
            key.append(box("not guaranteed", "white", edgecolor=drawing.TRACK))
        style = {"marker": "|", "markersize": 9, "markeredgewidth": 2, "linestyle": "none"}
        key.append(lines.Line2D([], [], color=drawing.INK, label="the instance", **style))
        if self.has_data:
            key.append(box("data", drawing.DATA, edgecolor="none"))
        return key


def _weight_text(row: FeatureRow) -> str:
    return "" if row.weight is None else drawing.signed(row.weight)


def _end_texts(row: FeatureRow) -> tuple[str, str]:
    """What stands at the ends of a track; cells that have names need nothing there, a constant is one end."""
    if row.cells:
        return "", ""
    low, high = drawing.value(row.axis, row.axis.low), drawing.value(row.axis, row.axis.high)
    return low, "" if row.constant else high
