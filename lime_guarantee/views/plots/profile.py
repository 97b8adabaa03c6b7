"""Model and surrogate along one feature: the paper's first figure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.problem.agreement import Agreement, SameChange, SameClass, SameValue
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.report import extent_of, extent_text
from lime_guarantee.space.domain import FeatureKey, feature_index
from lime_guarantee.support.arrays import BoolArray, FloatArray
from lime_guarantee.support.imports import require
from lime_guarantee.views.feature_row import cell_labels, instance_coordinates
from lime_guarantee.views.plots import drawing
from lime_guarantee.views.plots.evaluate import ask, problem_of
from lime_guarantee.views.plots.scales import cell_edges

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

PLACES = 201
"""How often the model is asked along an axis of numbers."""

MOST_MARKS = 40
"""Cells beyond so many are drawn as lines."""

SURROGATE, BAND, COUNTED, HELD = "#009E73", "#8FCFB9", "#CDEBE0", "#DCDCDC"

Counted = tuple[FloatArray, FloatArray]
"""Between what the model's answers count as faithful, place by place: infinite where nothing limits them on
that side, NaN where none would count."""


@dataclass(eq=False)
class ProfileDisplay:
    """What model and surrogate say as one feature moves, the others staying where the instance has them.

    Make one with `ProfileDisplay.from_region` or ``region.plot_profile(feature)``.

    Parameters
    ----------
    name : str
        The feature.
    coordinates : array of shape (n,)
        Where both were asked, in the domain's coordinates, increasing.
    model, surrogate : arrays of shape (n,)
        What they said: of several scores, that of `output`. Where changes are compared, the surrogate is
        moved so that it meets the model at the instance.
    faithful : array of bool of shape (n,)
        By the region's own rule, which looks at all the scores.
    tolerance : float or None
        Half the width of the band around the surrogate; None where the rule has no such number.
    counted : pair of arrays, or None
        Between what the model's answers count as faithful, by the whole rule; infinite where the class alone
        decides, NaN where none would count. None for a rule of one's own.
    by_class : bool
        Whether the two need not be near each other where they choose the same class.
    threshold : float or None
        Where the class changes, if a single score decides it.
    output : str
        What the numbers are.
    instance : float
        Where the instance is.
    held : tuple of pairs
        The certified interval, or the cells that are certified; empty without a certified region.
    ends : pair of float
        The ends of the axis.
    cells : tuple of str
        What the cells are called, on an axis that has names for them.
    stepped : bool
        Whether only separate values exist.
    headline : str
    """

    name: str
    coordinates: FloatArray
    model: FloatArray
    surrogate: FloatArray
    faithful: BoolArray
    tolerance: float | None
    counted: Counted | None
    by_class: bool
    threshold: float | None
    output: str
    instance: float
    held: tuple[tuple[float, float], ...]
    ends: tuple[float, float]
    cells: tuple[str, ...]
    stepped: bool
    headline: str
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_region(
        cls, region: GuaranteeRegion, feature: FeatureKey, *, problem: Problem | None = None
    ) -> ProfileDisplay:
        """The profile of a feature, given by its name or position.

        Parameters
        ----------
        region : GuaranteeRegion
        feature : str or int
        problem : Problem, optional
            What the region was found for; needed where the region no longer has it.
        """
        i = feature_index(feature, region.names, "feature")
        found = problem_of(region, problem, "plot_profile")
        axis, home = region.domain.axes[i], instance_coordinates(region)
        where = np.union1d(axis.evenly(PLACES), home[i])
        if not axis.has_cells:
            where = np.union1d(where, [region.lower[i], region.upper[i]])
        at_home = int(np.searchsorted(where, home[i]))
        model, surrogate = ask(found, region.domain, home, {i: where})
        faithful = found.agreement(model, surrogate)
        several, by_class = model.ndim == 2, isinstance(found.agreement, SameClass)
        if isinstance(found.agreement, SameChange):
            surrogate = surrogate + (model[at_home] - surrogate[at_home])
        chosen = int(model[at_home].argmax()) if several else None
        counted = _counted(found.agreement, model, surrogate, chosen)
        if several:
            model, surrogate = model[:, chosen], surrogate[:, chosen]
        return cls(
            name=region.names[i],
            coordinates=where,
            model=model,
            surrogate=surrogate,
            faithful=faithful,
            tolerance=_tolerance(found.agreement),
            counted=counted,
            by_class=by_class,
            threshold=0.5 if by_class and not several else None,
            output=_output(region, several=several),
            instance=float(home[i]),
            held=_held(region, i),
            ends=axis.ends_as_drawn,
            cells=() if axis.constant else cell_labels(region, axis),
            stepped=axis.unit > 0,
            headline=_headline(region, i),
        )

    def plot(self, ax: Any = None) -> ProfileDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        ax = drawing.open_axes("ProfileDisplay.plot", ax, (6.4, 4.0))
        self.ax_, self.figure_ = ax, ax.figure
        drawing.bare(ax, "left", "bottom")
        drawing.title(ax, self.headline)
        ax.set_xlim(*self.ends)
        ax.set_ylim(*self._limits())
        ax.set_xlabel(drawing.short(self.name, 60), parse_math=False)
        ax.set_ylabel(drawing.short(self.output, 44), parse_math=False)
        for start, end in self.held:
            ax.axvspan(start, end, facecolor=HELD, lw=0, zorder=0)
            for edge in (start, end):  # seen through what is shaded, too
                ax.axvline(edge, color=drawing.SOFT, lw=1, zorder=2.5)
        if not self.held:
            drawing.draw_banner(ax)
        if self.threshold is not None:
            ax.axhline(self.threshold, color=drawing.SOFT, lw=1, ls="--", zorder=1)
        if self.stepped and len(self.coordinates) <= MOST_MARKS:
            self._draw_marks(ax)
        else:
            self._draw_lines(ax)
        if self.cells:
            drawing.cell_ticks(ax.xaxis, self.cells, drawing.size_in_points(ax)[0], self.ends[0])
        self._draw_failing(ax)
        at_home = int(np.searchsorted(self.coordinates, self.instance))
        ax.axvline(self.instance, color=drawing.INK, lw=1, ls=":", zorder=3)
        ax.plot(self.instance, self.model[at_home], "D", color=drawing.INK, mec="white", ms=8, zorder=7)
        drawing.legend_below(ax, self._key(), points=40)
        return self

    def _limits(self) -> tuple[float, float]:
        """The ends of the axis upwards: model, surrogate and its band lie between them."""
        near = self.tolerance or 0.0
        seen = [self.model, self.surrogate - near, self.surrogate + near]
        threshold = [] if self.threshold is None else [self.threshold]
        low, high = (float(end([*map(end, seen), *threshold])) for end in (np.min, np.max))
        margin = 0.06 * (high - low) or 0.5
        return low - margin, high + margin

    def _fills(self) -> list[tuple[FloatArray, FloatArray, dict[str, Any]]]:
        """What is shaded: all that counts as faithful and, darker in it, what is near the surrogate."""
        fills = []
        if self.counted is not None and self.by_class:
            low, high = (np.clip(bound, *self._limits()) for bound in self.counted)
            fills.append((low, high, {"color": COUNTED, "alpha": 0.7, "zorder": 1}))
        if self.tolerance is not None:
            low, high = self.surrogate - self.tolerance, self.surrogate + self.tolerance
            fills.append((low, high, {"color": BAND, "alpha": 0.6, "zorder": 2}))
        return fills

    def _draw_lines(self, ax: Any) -> None:
        style = "steps-mid" if self.stepped else "default"
        x, g = self.coordinates, self.surrogate
        for low, high, fill in self._fills():
            step = "mid" if self.stepped else None
            ax.fill_between(x, low, high, step=step, lw=0, **fill)
        ax.plot(x, g, color=SURROGATE, lw=2, ls=(0, (5, 2)), drawstyle=style, zorder=4)
        ax.plot(x, self.model, color=drawing.INK, lw=2, drawstyle=style, zorder=5)
        failing = np.where(self.faithful, np.nan, self.model)
        ax.plot(x, failing, color=drawing.FAILING, lw=2.5, drawstyle=style, zorder=6)

    def _draw_marks(self, ax: Any) -> None:
        x, g, good = self.coordinates, self.surrogate, self.faithful
        for low, high, fill in self._fills():
            ax.bar(x, np.nan_to_num(high - low), 0.6, np.nan_to_num(low), **fill)
        ax.hlines(g, x - 0.3, x + 0.3, color=SURROGATE, lw=2, ls=(0, (5, 2)), zorder=4)
        ax.plot(x[good], self.model[good], "o", color=drawing.INK, ms=6, zorder=5)
        ax.plot(x[~good], self.model[~good], "X", color=drawing.FAILING, ms=9, mec="white", zorder=6)

    def _draw_failing(self, ax: Any) -> None:
        """A strip at the bottom wherever the two disagree: seen in greyscale, and where lines lie close."""
        for start, end in self.failing:
            ax.axvspan(
                start,
                end,
                0,
                0.03,
                facecolor="white",
                edgecolor=drawing.FAILING,
                hatch="xxxxxx",
                lw=1,
                zorder=6,
            )

    @property
    def failing(self) -> list[tuple[float, float]]:
        """The intervals in which the explanation is not faithful, as far as the places asked can tell."""
        edges = cell_edges(self.coordinates, self.ends)
        bad = np.concatenate([[False], ~self.faithful, [False]])
        starts, stops = np.flatnonzero(bad[1:] & ~bad[:-1]), np.flatnonzero(bad[:-1] & ~bad[1:])
        return [(float(edges[a]), float(edges[b])) for a, b in zip(starts, stops, strict=True)]

    def _key(self) -> list[Any]:
        lines = require("matplotlib.lines", "ProfileDisplay.plot", extra="plot")
        patches = require("matplotlib.patches", "ProfileDisplay.plot", extra="plot")
        marked = self.stepped and len(self.coordinates) <= MOST_MARKS
        model = {"marker": "o", "ls": "none"} if marked else {"lw": 2}
        key = [
            lines.Line2D([], [], color=drawing.INK, label="model", **model),
            lines.Line2D([], [], color=SURROGATE, lw=2, ls=(0, (4, 1.5)), label="explanation"),
        ]
        if self.tolerance is not None:
            near = f"faithful: within {drawing.number(self.tolerance, 3)}"
            key.append(patches.Patch(color=BAND, alpha=0.8, label=near))
        if self.by_class:
            key.append(patches.Patch(facecolor=COUNTED, edgecolor=BAND, lw=0.8, label="or the same class"))
        if self.held:
            key.append(patches.Patch(facecolor=HELD, edgecolor=drawing.SOFT, lw=0.8, label="the region"))
        if not self.faithful.all():
            style = {"facecolor": "white", "edgecolor": drawing.FAILING, "hatch": "xxxxxx"}
            key.append(patches.Patch(label="not faithful", **style))
        if self.threshold is not None:
            key.append(lines.Line2D([], [], color=drawing.SOFT, lw=1, ls="--", label="class changes"))
        key.append(lines.Line2D([], [], color=drawing.INK, marker="D", ls="none", label="the instance"))
        return key


def _tolerance(agreement: Agreement) -> float | None:
    known = isinstance(agreement, (SameClass, SameValue, SameChange))
    return float(agreement.tolerance) if known else None  # type: ignore[attr-defined]


def _counted(
    agreement: Agreement, model: FloatArray, surrogate: FloatArray, chosen: int | None
) -> Counted | None:
    """Between what the model's answers count as faithful; of several scores, those of the chosen one."""
    near = _tolerance(agreement)
    if near is None:
        return None
    if chosen is None:
        low, high = surrogate - near, surrogate + near
        if not isinstance(agreement, SameClass):
            return low, high
        yes = surrogate >= 0.5
        return np.where(yes, np.minimum(low, 0.5), -np.inf), np.where(yes, np.inf, np.maximum(high, 0.5))
    low, high = surrogate[:, chosen] - near, surrogate[:, chosen] + near
    if isinstance(agreement, SameClass):
        # Where the model chooses another class, that one's score decides, whatever this one's is.
        by_band = (model.argmax(axis=1) == chosen) & (surrogate.argmax(axis=1) != chosen)
        counts = by_band | agreement(model, surrogate)
        low, high = np.where(by_band, low, -np.inf), np.where(by_band, high, np.inf)
    else:
        gaps = np.abs(model - surrogate)
        gaps[:, chosen] = 0.0
        counts = (gaps < near).all(axis=1)
    return np.where(counts, low, np.nan), np.where(counts, high, np.nan)


def _output(region: GuaranteeRegion, *, several: bool) -> str:
    """What the numbers are that model and surrogate answer with."""
    if several:
        return "score of the model's class at the instance"
    explained = region.explained
    if explained is None or (explained.label is None and explained.label_name is None):
        return "prediction"
    return f"score of class {explained.label if explained.label_name is None else explained.label_name}"


def _held(region: GuaranteeRegion, i: int) -> tuple[tuple[float, float], ...]:
    """What to shade: an interval, or the allowed cells one by one."""
    return region.domain.axes[i].intervals_as_drawn(extent_of(region, i)) if region else ()


def _headline(region: GuaranteeRegion, i: int) -> str:
    if not region:
        return drawing.no_region(region)
    return f"In the region: {extent_text(region, i)}"
