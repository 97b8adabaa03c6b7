"""The faithful set in two features, with the region in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.problem import Problem
from lime_guarantee.space.domain import Axis, FeatureKey, feature_index
from lime_guarantee.support.arrays import BoolArray, FloatArray
from lime_guarantee.support.checks import check_count
from lime_guarantee.support.imports import require
from lime_guarantee.views.feature_row import cell_labels
from lime_guarantee.views.plots import drawing
from lime_guarantee.views.plots.evaluate import ask, problem_of
from lime_guarantee.views.plots.scales import cell_edges

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

MOST_POINTS = 2_000
"""Rows of data that are drawn; of more, so many, evenly chosen."""

FAITHFUL, UNFAITHFUL = "#F3F7FA", "#E8A983"
GOLDEN = 0.6180339887498949


@dataclass(eq=False)
class SliceDisplay:
    """Where the explanation is faithful as two features move, the others staying where the instance has them.

    Make one with `SliceDisplay.from_region` or ``region.plot_slice(i, j)``. Categories stand in such an
    order that those of the region are neighbours.

    Parameters
    ----------
    names : pair of str
        The features across and up.
    edges : pair of arrays
        The borders of the grid's cells.
    faithful : array of bool
        A row for every step up, a column for every step across; each cell was asked at its middle.
    box : pair of pairs, or None
        The region's interval across and up; None where nothing is certified.
    radius : float or None
        The region is the part of the box within this distance of the instance, where it is a ball; along
        axes of cells a ball is as wide as its box.
    instance : pair of float
    data : array of shape (n, 2)
        Rows of data, where given.
    cells : pair of tuples of str
        What cells are called, on axes that have names for them.
    headline : str
    """

    names: tuple[str, str]
    edges: tuple[FloatArray, FloatArray]
    faithful: BoolArray
    box: tuple[tuple[float, float], tuple[float, float]] | None
    radius: float | None
    instance: tuple[float, float]
    data: FloatArray
    cells: tuple[tuple[str, ...], tuple[str, ...]]
    stepped: tuple[bool, bool]
    headline: str
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_region(
        cls,
        region: GuaranteeRegion,
        i: FeatureKey,
        j: FeatureKey,
        data: Any = None,
        *,
        problem: Problem | None = None,
        resolution: int = 100,
    ) -> SliceDisplay:
        """The slice in two features, each given by its name or position.

        Parameters
        ----------
        region : GuaranteeRegion
        i, j : str or int
            The features across and up.
        data : array or DataFrame, optional
            Rows to draw as points.
        problem : Problem, optional
            What the region was found for; needed where the region no longer has it.
        resolution : int
            Steps along an axis of numbers; the model is asked once for each pair of steps.
        """
        features = feature_index(i, region.names, "i"), feature_index(j, region.names, "j")
        if features[0] == features[1]:
            raise InvalidInputError(f"i, j: two different features are required; got {i!r} twice.")
        check_count("resolution", resolution, "a positive integer")
        found = problem_of(region, problem, "plot_slice")
        domain = region.search_domain  # there the allowed categories are neighbours
        lower, upper = region.search_bounds
        home = domain.encode(region.instance[np.newaxis])[0]
        axes = [domain.axes[k] for k in features]
        places = [axis.middles(resolution) for axis in axes]
        up, across = np.meshgrid(places[1], places[0], indexing="ij")
        answers = ask(found, domain, home, {features[0]: across.ravel(), features[1]: up.ravel()})
        spans = [axis.interval_as_drawn(lower[k], upper[k]) for axis, k in zip(axes, features, strict=True)]
        edges = [cell_edges(place, axis.ends_as_drawn) for place, axis in zip(places, axes, strict=True)]
        labels = [cell_labels(region, axis) for axis in axes]
        points = np.empty((0, 2)) if data is None else domain.encode(data)[:, features]
        others = len(region.domain) - 2
        return cls(
            names=(region.names[features[0]], region.names[features[1]]),
            edges=(edges[0], edges[1]),
            faithful=found.agreement(*answers).reshape(across.shape),
            box=(spans[0], spans[1]) if region else None,
            radius=region.radius if _round(region, axes) else None,
            instance=(float(home[features[0]]), float(home[features[1]])),
            data=_some(points[np.isfinite(points).all(axis=1)]),
            cells=(labels[0], labels[1]),
            stepped=(axes[0].has_cells, axes[1].has_cells),
            headline=drawing.no_region(region)
            or ("The faithful set" + (f" (the other {others} at the instance)" if others else "")),
        )

    def plot(self, ax: Any = None) -> SliceDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        ax = drawing.open_axes("SliceDisplay.plot", ax, (5.4, 5.2))
        self.ax_, self.figure_ = ax, ax.figure
        colors = require("matplotlib.colors", "SliceDisplay.plot", extra="plot")
        two = colors.ListedColormap([UNFAITHFUL, FAITHFUL])
        ax.pcolormesh(*self.edges, self.faithful, cmap=two, vmin=0, vmax=1, rasterized=True)
        if len(self.data):
            spread = self._spread_over_cells()
            ax.plot(*spread.T, "o", color=drawing.SOFT, ms=3.5, mec="white", mew=0.4, alpha=0.8, zorder=3)
        self._draw_region(ax)
        ax.plot(*self.instance, "D", color=drawing.INK, ms=8, mec="white", zorder=6)
        ax.set_xlim(self.edges[0][0], self.edges[0][-1])
        ax.set_ylim(self.edges[1][0], self.edges[1][-1])
        drawing.bare(ax, "left", "bottom")
        drawing.title(ax, self.headline)
        ax.set_xlabel(drawing.short(self.names[0], 50), parse_math=False)
        ax.set_ylabel(drawing.short(self.names[1], 50), parse_math=False)
        width, height = drawing.size_in_points(ax)
        if self.cells[0]:
            drawing.cell_ticks(ax.xaxis, self.cells[0], width, self.edges[0][0])
        if self.cells[1]:
            drawing.cell_ticks(ax.yaxis, self.cells[1], 4 * height, self.edges[1][0])
        drawing.legend_below(ax, self._key(), points=40)
        return self

    def _draw_region(self, ax: Any) -> None:
        if self.box is None:
            drawing.draw_banner(ax)
            return
        patches = require("matplotlib.patches", "SliceDisplay.plot", extra="plot")
        (left, right), (bottom, top) = self.box
        for colour, width in (("white", 4.5), (drawing.INK, 2.2)):
            style = {"fill": False, "edgecolor": colour, "lw": width, "zorder": 5}
            if self.radius is not None:
                ax.add_patch(patches.Ellipse(self.instance, 2 * self.radius, 2 * self.radius, **style))
            else:
                ax.add_patch(patches.Rectangle((left, bottom), right - left, top - bottom, **style))

    def _spread_over_cells(self) -> FloatArray:
        """The data, with rows of one cell beside each other; where there are no cells, as it is."""
        spread = self.data.copy()
        turns = np.arange(1, len(spread) + 1)
        for k, step in enumerate((GOLDEN, GOLDEN**2)):
            if self.stepped[k]:
                spread[:, k] += 0.7 * ((turns * step) % 1 - 0.5)
        return spread

    def _key(self) -> list[Any]:
        lines = require("matplotlib.lines", "SliceDisplay.plot", extra="plot")
        patches = require("matplotlib.patches", "SliceDisplay.plot", extra="plot")
        key = [
            patches.Patch(facecolor=FAITHFUL, edgecolor=drawing.TRACK, label="faithful"),
            patches.Patch(facecolor=UNFAITHFUL, edgecolor=drawing.TRACK, label="not faithful"),
        ]
        if self.box is not None:
            key.append(patches.Patch(fill=False, edgecolor=drawing.INK, lw=2, label="the region"))
        key.append(lines.Line2D([], [], color=drawing.INK, marker="D", ls="none", label="the instance"))
        if len(self.data):
            key.append(lines.Line2D([], [], color=drawing.SOFT, marker="o", ms=4, ls="none", label="data"))
        return key


def _round(region: GuaranteeRegion, axes: list[Axis]) -> bool:
    """Whether a ball is one in these two features: only where distances are those of the features."""
    return region.measure == "uniform" and not any(axis.unit > 0 for axis in axes)


def _some(points: FloatArray) -> FloatArray:
    if len(points) <= MOST_POINTS:
        return points
    return points[np.linspace(0, len(points) - 1, MOST_POINTS).astype(np.int64)]
