"""An explanation's weights as a waterfall, each with the values that it is certified for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.report import in_presence
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.support.checks import check_count
from lime_guarantee.support.imports import require
from lime_guarantee.views.feature_row import FeatureRow
from lime_guarantee.views.plots import drawing
from lime_guarantee.views.plots.evaluate import problem_of
from lime_guarantee.views.plots.overview import headline, short_rows, summary
from lime_guarantee.views.plots.overview_painter import RowPainter

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

SPLIT = 0.37
"""The part of the axes that the waterfall takes; what is certified takes the rest."""

HEAD = 5.0
"""How long an arrow's head is, in points."""


@dataclass(eq=False)
class WaterfallDisplay:
    """What every feature adds to the explanation's answer and, beside it, what it is certified for.

    Make one with `WaterfallDisplay.from_region` or ``region.plot_waterfall()``. From bottom to top, the
    arrows lead from the base value to what the explanation says about the instance, as in shap's plot.

    Parameters
    ----------
    rows : tuple of FeatureRow
        From top to bottom, the largest contributions first.
    contributions : array
        What each of them adds at the instance: of shap its value, of LIME its weight in the bin, or times the
        scaled value.
    rest : float
        What the features beyond add together.
    rest_text : str
        What is certified of those; empty if there are none.
    base : float
        What is left of the explanation's answer without all of them.
    model : float
        What the model says about the instance.
    output : str
        What the numbers are.
    headline : str
    notice : str
        Why nothing is certified; empty for a certified region.
    """

    rows: tuple[FeatureRow, ...]
    contributions: FloatArray
    rest: float
    rest_text: str
    base: float
    model: float
    output: str
    headline: str
    notice: str = ""
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_region(
        cls,
        region: GuaranteeRegion,
        data: Any = None,
        *,
        max_features: int = 10,
        problem: Problem | None = None,
    ) -> WaterfallDisplay:
        """The display of a region of an explanation.

        Parameters
        ----------
        region : GuaranteeRegion
        data : array or DataFrame, optional
            Rows whose distribution is drawn behind what is certified.
        max_features : int
            Features beyond the so many that add most are summed up in a row.
        problem : Problem, optional
            What the region was found for; needed where the region no longer has it and LIME explained a row.
        """
        check_count("max_features", max_features, "a positive integer")
        if region.explained is None:
            raise InvalidInputError(
                "plot_waterfall: this region belongs to no explanation with weights. Use plot()."
            )
        values, output = _contributions(region, problem), _column(region)
        order = np.argsort(-np.abs(values), kind="stable").tolist()
        shown, rest = order[:max_features], order[max_features:]
        return cls(
            rows=short_rows(region, shown, data),
            contributions=values[shown],
            rest=float(values[rest].sum()),
            rest_text=summary(region, rest) if rest else "",
            base=float(region.explained.surrogate_at_instance[output] - values.sum()),
            model=float(region.explained.model_at_instance[output]),
            output=_output(region),
            headline=headline(region) if region else "What the explanation says; none of it is certified",
            notice=drawing.no_region(region),
        )

    @property
    def surrogate(self) -> float:
        """What the explanation says about the instance."""
        return self.base + float(self.contributions.sum()) + self.rest

    @property
    def arrows(self) -> list[tuple[float, float]]:
        """Where every arrow starts and ends, from top to bottom; that of the rest is the last."""
        steps = np.append(self.contributions, self.rest if self.rest_text else [])
        ends = self.base + np.cumsum(steps[::-1])[::-1]
        return [(float(end - step), float(end)) for step, end in zip(steps, ends, strict=True)]

    def plot(self, ax: Any = None) -> WaterfallDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        lines = len(self.rows) + bool(self.rest_text)
        ax = drawing.open_axes("WaterfallDisplay.plot", ax, (11.5, 0.44 * lines + 1.8))
        self.ax_, self.figure_ = ax, ax.figure
        ax.set_axis_off()
        drawing.title(ax, self.headline)
        left, right = ax.inset_axes([0, 0, SPLIT, 1]), ax.inset_axes([SPLIT + 0.03, 0, 0.97 - SPLIT, 1])
        painter = None
        if not self.notice:
            painter = RowPainter(right, _without_instances(self.rows), self.rest_text, alone=False)
        self._frame(left, lines)
        right.set_ylim(left.get_ylim())
        drawing.legend_below(ax, [*self._key(), *(painter.key() if painter else [])], points=38)
        drawing.settle(ax)
        self._draw_arrows(left)
        if painter is None:
            drawing.draw_notice(right, self.notice)
        else:
            painter.paint()
        return self

    def _frame(self, ax: Any, lines: int) -> None:
        """The axes of the waterfall: names to the left, the scale below."""
        drawing.bare(ax, "bottom")
        ax.set_ylim(lines, -1.2)  # below the last arrow there is room for the base value
        labels = [_label(row) for row in self.rows]
        if self.rest_text:
            count = self.rest_text.split()[1]
            labels.append(f"{count} other features")
        ax.set_yticks(range(lines), labels=labels, parse_math=False)
        ax.tick_params(axis="y", length=0)
        seen = np.array([*np.ravel(self.arrows), self.base, self.model])
        margin = 0.2 * float(np.ptp(seen)) or 0.5
        ax.set_xlim(seen.min() - margin, seen.max() + margin)
        ax.set_xlabel(drawing.short(self.output, 60), fontsize=8, labelpad=1, parse_math=False)
        ax.tick_params(axis="x", labelsize=8)

    def _draw_arrows(self, ax: Any) -> None:
        arrows = self.arrows
        across = float(np.ptp(ax.get_xlim())) / drawing.size_in_points(ax)[0]
        for y, (start, end) in enumerate(arrows):
            self._draw_arrow(ax, y, start, end, across)
            ax.vlines(end, y - (1 if y else 0.75), y, color=drawing.TRACK, lw=0.8, ls=":", zorder=1)
        bottom = float(len(arrows))
        ax.vlines(self.base, len(arrows) - 1, bottom, color=drawing.TRACK, lw=0.8, ls=":", zorder=1)
        low, high = ax.get_xlim()
        words = {"va": "bottom", "size": 8, "color": drawing.INK, "zorder": 6}
        base = f"base {drawing.number(self.base, 3)}"
        ax.text(self.base, bottom - 0.06, base, ha=_side((self.base - low) / (high - low)), **words)
        says = f"explanation {drawing.number(self.surrogate, 3)}   model {drawing.number(self.model, 3)}"
        ax.text(self.surrogate, -0.82, says, ha=_side((self.surrogate - low) / (high - low)), **words)
        ax.plot(self.model, -0.62, "D", color=drawing.INK, mec="white", ms=6, zorder=7)

    def _draw_arrow(self, ax: Any, y: int, start: float, end: float, across: float) -> None:
        """An arrow as long as the contribution, with its number in it or, if that is longer, beside it."""
        patches = require("matplotlib.patches", "WaterfallDisplay.plot", extra="plot")
        step = end - start
        colour, text = drawing.sign_colour(step), drawing.signed(step)
        tip = float(np.sign(step)) * min(abs(step), HEAD * across)
        shape = [(start, y - 0.3), (end - tip, y - 0.3), (end, y), (end - tip, y + 0.3), (start, y + 0.3)]
        ax.add_patch(
            patches.Polygon(shape, closed=True, facecolor=colour, edgecolor=drawing.INK, lw=0.6, zorder=3)
        )
        room = abs(step) > (len(text) * 8 * drawing.WIDTH_OF_A_CHARACTER + 8) * across
        beside = max(start, end) + 4 * across if step >= 0 else min(start, end) - 4 * across
        style = {"va": "center", "size": 8, "zorder": 6}
        if room:
            inside = "white" if colour == drawing.PLUS else drawing.INK
            ax.text((start + end - tip / 2) / 2, y, text, ha="center", color=inside, **style)
        else:
            ax.text(beside, y, text, ha="left" if step >= 0 else "right", color=drawing.INK, **style)

    def _key(self) -> list[Any]:
        lines = require("matplotlib.lines", "WaterfallDisplay.plot", extra="plot")
        return [
            lines.Line2D(
                [],
                [],
                color=drawing.INK,
                mec="white",
                marker="D",
                ms=6,
                ls="none",
                label="what the model says",
            )
        ]


def _side(share: float) -> str:
    """How a text is aligned that stands there, from 0 to 1, so that it does not leave the axes."""
    return "left" if share < 0.35 else "right" if share > 0.65 else "center"


def _without_instances(rows: tuple[FeatureRow, ...]) -> list[FeatureRow]:
    """Rows without the instance's values: the names beside the arrows have them."""
    return [replace(row, instance_text="") for row in rows]


def _label(row: FeatureRow) -> str:
    return f"{row.name} = {row.instance_text}" if row.instance_text else row.name


def _column(region: GuaranteeRegion) -> int:
    """Which of the explanation's outputs its weights speak of."""
    explained = region.explained
    assert explained is not None
    return explained.label or 0 if len(explained.surrogate_at_instance) > 1 else 0


def _output(region: GuaranteeRegion) -> str:
    explained = region.explained
    assert explained is not None
    name = explained.label if explained.label_name is None else explained.label_name
    return "prediction" if name is None else f"score of class {name}"


def _contributions(region: GuaranteeRegion, problem: Problem | None) -> FloatArray:
    """What every feature adds to the explanation's answer at the instance."""
    explained = region.explained
    assert explained is not None
    weights = np.array(explained.weights)
    if explained.attributions or in_presence(region):
        return weights
    found = problem_of(region, problem, "plot_waterfall")
    parts = getattr(found.surrogate, "parts", None)
    if parts is None:
        raise InvalidInputError("plot_waterfall: this explanation is no sum of its features. Use plot().")
    values = np.zeros(len(weights))
    for i, added in parts(found.instance[np.newaxis]).items():
        values[i] = np.ravel(added)[_column(region)]
    return values
