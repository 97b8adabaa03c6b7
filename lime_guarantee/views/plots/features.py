"""An audit, feature by feature: how far all explanations reach along each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.region.report import reach_text
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray
from lime_guarantee.support.checks import check_count
from lime_guarantee.support.imports import require
from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport

HIGHEST = 0.4
"""How far from the middle of its row a point may stand, in rows."""

SIZES = ((150, 6.0), (600, 4.5), (np.inf, 2.4))
"""Of points in a row, up to so many of them."""

MOST_MARKS = 600
"""Points beyond so many in a row are dots of one kind, so that no verdict is drawn above all others."""

FREE = (1.07, 1.32)
"""Where the bars stand that count explanations that are free along a feature."""

STYLES = {
    "trusted": (drawing.PLUS, "o"),
    "flat": ("#8FBFDD", "o"),
    "narrow": (drawing.MINUS, "^"),
    "dishonest": (drawing.FAILING, "X"),
    "off-manifold": ("#8A3B72", "D"),
}
"""Colour and mark of a verdict, from the best on; one that is not listed has those of `OTHER`."""

OTHER = (drawing.SOFT, "s")


@dataclass(eq=False)
class FeaturesDisplay:
    """The reach of every explanation along every feature: a swarm of points for each, coloured by verdict.

    Make one with `FeaturesDisplay.from_report` or ``report.plot_features()``.

    Parameters
    ----------
    reach : array of shape (features, explanations)
        The share of the feature that the region holds; NaN where the explanation does not know the feature.
    incomplete : array of bool of the same shape
        Where the explanation calls the feature irrelevant, and was shown to be wrong.
    features : tuple of str
        From top to bottom: those with the shortest reach, in the middle, first.
    verdicts : tuple of str
        Those of the explanations, column by column.
    without : dict of str to int
        The explanations that have no certified region, counted by verdict.
    of : int
        How many features there are in all.
    """

    reach: FloatArray
    incomplete: BoolArray
    features: tuple[str, ...]
    verdicts: tuple[str, ...]
    without: dict[str, int]
    of: int
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_report(cls, report: AuditReport, *, max_features: int = 20) -> FeaturesDisplay:
        """The display of an audit.

        Parameters
        ----------
        report : AuditReport
        max_features : int
            Of more features, so many of those with the shortest reach are shown.
        """
        check_count("max_features", max_features, "a positive integer")
        names: dict[str, int] = {}
        verdicts, columns, wrong, without = [], [], [], dict[str, int]()
        for record in report:
            if not record.region:
                without[record.verdict] = without.get(record.verdict, 0) + 1
                continue
            rows = [names.setdefault(name, len(names)) for name in record.region.names]
            columns.append((rows, record.region.reach))
            wrong.append([names[finding.feature] for finding in record.findings if finding.incomplete])
            verdicts.append(record.verdict)
        if not columns:
            raise InvalidInputError("plot_features: no explanation of this report has a region to show.")
        reach = np.full((len(names), len(columns)), np.nan)
        incomplete = np.zeros(reach.shape, dtype=np.bool_)
        for column, ((rows, share), features) in enumerate(zip(columns, wrong, strict=True)):
            reach[rows, column] = share
            incomplete[features, column] = True
        order = np.lexsort((np.nanmean(reach, axis=1), np.nanmedian(reach, axis=1)))[:max_features]
        every = list(names)
        return cls(
            reach[order],
            incomplete[order],
            tuple(every[row] for row in order),
            tuple(verdicts),
            without,
            len(names),
        )

    @property
    def medians(self) -> FloatArray:
        """Half the explanations reach at least so far, feature by feature."""
        return np.asarray(np.nanmedian(self.reach, axis=1))

    def plot(self, ax: Any = None) -> FeaturesDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        high = len(self.features)
        size = (9.2, float(np.clip(0.42 * high + 1.8, 2.6, 14)))
        ax = drawing.open_axes("FeaturesDisplay.plot", ax, size)
        self.ax_, self.figure_ = ax, ax.figure
        drawing.bare(ax)
        ax.set(xlim=(-0.02, 1.6), ylim=(high - 0.5, -1.1))
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25 %", "50 %", "75 %", "100 %"])
        ax.set_yticks(range(high), labels=drawing.short_names(self.features), parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("reach: the share of the feature that the region holds", fontsize=9, x=0.32)
        ax.hlines(range(high), 0, 1, color=drawing.NEITHER, lw=0.8, zorder=1)
        drawing.title(ax, self._headline())
        drawing.legend_below(ax, self._key(), points=40)
        drawing.settle(ax)
        self._draw_points(ax)
        self._draw_free(ax)
        self._draw_medians(ax)
        return self

    def _draw_points(self, ax: Any) -> None:
        """A point for every explanation that is limited along the feature."""
        width, height = drawing.size_in_points(ax)
        limited = np.where(self.reach < 1, self.reach, np.nan)
        most = int(np.isfinite(limited).sum(axis=1).max())
        size = next(size for count, size in SIZES if most <= count)
        rows, across = height / (len(self.features) + 0.6), width / 1.62
        y = np.arange(len(limited))[:, np.newaxis] + [
            _swarm(row, int(across / size), size / rows) for row in limited
        ]
        style = {"ls": "none", "ms": size, "mec": "white", "mew": 0.5, "zorder": 3}
        if most > MOST_MARKS:
            self._draw_dots(ax, limited, y, size)
        else:
            for verdict in self._shown():
                colour, mark = STYLES.get(verdict, OTHER)
                own = np.broadcast_to(np.array(self.verdicts) == verdict, y.shape)
                ax.plot(limited[own], y[own], mark, color=colour, **style)
        ring = {"mfc": "none", "mec": drawing.INK, "mew": 0.15 * size, "ms": size + 3, "zorder": 4}
        ax.plot(limited[self.incomplete], y[self.incomplete], "o", ls="none", **ring)

    def _draw_dots(self, ax: Any, limited: FloatArray, y: FloatArray, size: float) -> None:
        """All points in the order of the explanations, whatever their verdicts are."""
        colours = np.array([STYLES.get(verdict, OTHER)[0] for verdict in self.verdicts])
        where = np.isfinite(limited).T
        colours = np.broadcast_to(colours[:, np.newaxis], where.shape)[where]
        ax.scatter(limited.T[where], y.T[where], s=size**2, c=colours, lw=0, zorder=3, rasterized=True)

    def _draw_free(self, ax: Any) -> None:
        """A bar of those that are not limited along the feature, coloured by verdict."""
        start, end = FREE
        ax.barh(range(len(self.features)), end - start, 0.5, start, color="none", ec=drawing.NEITHER, lw=0.8)
        free = self.reach == 1
        known = np.isfinite(self.reach).sum(axis=1)
        left = np.full(len(free), start)
        for verdict in self._shown():
            share = (free & (np.array(self.verdicts) == verdict)).sum(axis=1) / known
            colour = STYLES.get(verdict, OTHER)[0]
            ax.barh(
                range(len(free)), share * (end - start), 0.5, left, color=colour, ec="white", lw=0.4, zorder=3
            )
            left += share * (end - start)
        words = {"va": "center", "size": 9, "color": drawing.INK}
        for y, share in enumerate(free.sum(axis=1) / known):
            ax.text(end + 0.02, y, reach_text(float(share)), **words)
        ax.text(start, -0.8, "free (any value)", **{**words, "color": drawing.SOFT})

    def _draw_medians(self, ax: Any) -> None:
        """A bar at the median of every feature, and the figure to the right."""
        for y, median in enumerate(self.medians):
            ax.vlines(median, y - 0.45, y + 0.45, color=drawing.INK, lw=2, zorder=2)  # it hides no point
            ax.text(1.6, y, reach_text(float(median)), ha="right", va="center", size=9, color=drawing.INK)
        ax.text(1.6, -0.8, "median", ha="right", va="center", size=9, color=drawing.SOFT)

    def _shown(self) -> list[str]:
        """The verdicts of explanations that have a region; the worst come last, and are drawn on top."""
        ranks = {verdict: rank for rank, verdict in enumerate(STYLES)}
        return sorted(set(self.verdicts), key=lambda verdict: (ranks.get(verdict, len(ranks)), verdict))

    def _headline(self) -> str:
        shown, count = len(self.features), len(self.verdicts)
        line = (
            f"{count:,} regions, {shown} of {self.of} features" if shown < self.of else f"{count:,} regions"
        )
        if not self.without:
            return line
        missing = ", ".join(f"{many:,} {verdict}" for verdict, many in self.without.items())
        return f"{line}; without one: {missing}"

    def _key(self) -> list[Any]:
        lines = require("matplotlib.lines", "FeaturesDisplay.plot", extra="plot")
        key = []
        for verdict in self._shown():
            colour, mark = STYLES.get(verdict, OTHER)
            label = f"{verdict} {self.verdicts.count(verdict):,}"
            key.append(lines.Line2D([], [], color=colour, marker=mark, mec="white", ls="none", label=label))
        if self.incomplete.any():
            ring = {"mfc": "none", "mec": drawing.INK, "ms": 8, "marker": "o", "ls": "none"}
            key.append(lines.Line2D([], [], label="called irrelevant, and is not", **ring))
        key.append(
            lines.Line2D([], [], color=drawing.INK, marker="|", ms=9, mew=1.8, ls="none", label="median")
        )
        return key


def _swarm(reach: FloatArray, bins: int, least: float) -> FloatArray:
    """How far each point stands from the middle of its row: points of one part of the scale side by side.

    Parameters
    ----------
    reach : array
        From 0 to 1; NaN is no point.
    bins : int
        Into how many equal parts the scale is cut.
    least : float
        The distance from one point to the next, in rows, where there is room for it.

    Examples
    --------
    >>> _swarm(np.array([0.2, 0.9, 0.21, 0.22]), 10, 0.1)
    array([ 0. ,  0. ,  0.1, -0.1])
    """
    known = np.flatnonzero(np.isfinite(reach))
    parts = np.minimum((reach[known] * bins).astype(np.int64), bins - 1)
    turns = _turns(parts)
    heights = np.zeros(reach.shape)
    if known.size:
        usual = max(1.0, float(np.quantile(np.abs(turns), 0.98)))  # one crowded place narrows no other
        heights[known] = np.clip(turns * min(least, HIGHEST / usual), -HIGHEST, HIGHEST)
    return heights


def _turns(parts: AnyArray) -> AnyArray:
    """0, 1, -1, 2, -2 and so on among equal numbers, in their order."""
    order = np.argsort(parts, kind="stable")
    rank = np.empty(len(parts), dtype=np.int64)
    rank[order] = np.arange(len(parts)) - np.searchsorted(parts[order], parts[order])
    return (rank + 1) // 2 * np.where(rank % 2, 1, -1)
