"""An audit at a glance: how far every explanation reaches along every feature."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import BoolArray, FloatArray
from lime_guarantee.support.checks import check_count
from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.auditing.record import AuditRecord
    from lime_guarantee.auditing.report import AuditReport


SLANTED = 15
"""Points from one slanted label to the next."""


@dataclass(eq=False)
class ReachDisplay:
    """How far every explanation reaches along every feature.

    Make one with `ReachDisplay.from_report` or ``report.plot_reach()``.

    Parameters
    ----------
    reach : array of shape (features, explanations)
        Certified width over the domain's; NaN where nothing is certified or the feature does not exist.
    incomplete : array of bool of the same shape
        Where the explanation calls the feature irrelevant, and was shown to be wrong.
    features : tuple of str
        From top to bottom: those with most incomplete explanations first, then the shortest.
    indices : tuple of int
        The explanations' places in the report, from left to right.
    verdicts : tuple of str
        Theirs; equal ones are neighbours, the worst to the right.
    of : pair of int
        How many features and explanations there are in all.
    """

    reach: FloatArray
    incomplete: BoolArray
    features: tuple[str, ...]
    indices: tuple[int, ...]
    verdicts: tuple[str, ...]
    of: tuple[int, int]
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_report(
        cls, report: AuditReport, *, max_features: int = 30, max_explanations: int = 100
    ) -> ReachDisplay:
        """The display of an audit.

        Parameters
        ----------
        report : AuditReport
        max_features, max_explanations : int
            Of more features or explanations, so many of the worst are shown.
        """
        check_count("max_features", max_features, "a positive integer")
        check_count("max_explanations", max_explanations, "a positive integer")
        worst = sorted(report.records, key=lambda record: (-record.severity, record.index))
        records = sorted(worst[:max_explanations], key=lambda record: (record.severity, record.index))
        if not any(record.region is not None for record in records):
            raise InvalidInputError("plot_reach: no explanation of this report has a region to show.")
        names = list(dict.fromkeys(name for record in records for name in _names(record)))
        reach = np.full((len(names), len(records)), np.nan)
        incomplete = np.zeros(reach.shape, dtype=np.bool_)
        rows = {name: row for row, name in enumerate(names)}
        for column, record in enumerate(records):
            if record.region:
                reach[[rows[name] for name in record.region.names], column] = record.region.reach
            for finding in record.findings:
                incomplete[rows[finding.feature], column] = finding.incomplete
        known = ~np.isnan(reach)
        mean = np.where(known, reach, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        order = np.lexsort((mean + ~known.any(axis=1), -incomplete.sum(axis=1)))[:max_features]
        return cls(
            reach[order],
            incomplete[order],
            tuple(names[row] for row in order),
            tuple(record.index for record in records),
            tuple(record.verdict for record in records),
            (len(names), len(report)),
        )

    def plot(self, ax: Any = None) -> ReachDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        high, wide = self.reach.shape
        size = (float(np.clip(0.16 * wide + 3.4, 5.5, 14)), float(np.clip(0.24 * high + 1.9, 2.8, 14)))
        ax = drawing.open_axes("ReachDisplay.plot", ax, size)
        self.ax_, self.figure_ = ax, ax.figure
        drawing.bare(ax)
        # Dark is short: what an auditor looks for. The scale's lightness only rises, so greyscale keeps it.
        image = ax.pcolormesh(np.ma.masked_invalid(self.reach), cmap="Blues_r", vmin=0, vmax=1)
        points = drawing.size_in_points(ax)
        room = min(points[0] / wide, points[1] / high)
        if room > 6:  # lines between narrower cells would hide them
            image.set(edgecolor=drawing.NEITHER, linewidth=0.5)
        ax.set(xlim=(0, wide), ylim=(high, 0))
        y, x = np.nonzero(np.isnan(self.reach))
        ax.plot(x + 0.5, y + 0.5, "_", color=drawing.TRACK, ms=4, zorder=2)
        y, x = np.nonzero(self.incomplete)
        mark = {
            "ms": float(np.clip(0.6 * room, 2.5, 8)),
            "color": drawing.FAILING,
            "mec": "white",
            "mew": 0.7,
        }
        ax.plot(x + 0.5, y + 0.5, "X", zorder=3, **mark)
        ax.set_yticks(np.arange(high) + 0.5, labels=drawing.short_names(self.features), parse_math=False)
        ax.tick_params(length=0, labelsize=8)
        self._label_explanations(ax)
        bar = ax.figure.colorbar(image, ax=ax, fraction=0.04, pad=0.02, aspect=30)
        bar.set_label("reach (share of the domain)", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        bar.outline.set_visible(False)
        drawing.title(ax, self._headline())
        return self

    def _headline(self) -> str:
        features, explanations = self.of
        high, wide = self.reach.shape
        line = f"{self.incomplete.sum()} incomplete claims (\N{MULTIPLICATION SIGN}); "
        line += f"{high} of {features} features" if high < features else f"{features} features"
        return line + (f", the worst {wide} of {explanations:,} explanations" if wide < explanations else "")

    def _label_explanations(self, ax: Any) -> None:
        """The verdicts above groups of columns, and as many numbers below as have room."""
        width = drawing.size_in_points(ax)[0]
        digits = len(str(max(self.indices)))
        every = max(1, math.ceil((6 * digits + 6) * len(self.indices) / width))
        chosen = range(0, len(self.indices), every)
        ax.set_xticks([k + 0.5 for k in chosen], labels=[str(self.indices[k]) for k in chosen])
        ax.set_xlabel("explanation", fontsize=9)
        groups = [(verdict, len(list(group))) for verdict, group in groupby(self.verdicts)]
        ends = np.cumsum([count for _, count in groups])
        ax.vlines(ends[:-1], 0, len(self.features), color=drawing.INK, lw=1.5, zorder=4)
        narrow = any(count * width / len(self.indices) < 5 * len(verdict) + 16 for verdict, count in groups)
        above = ax.secondary_xaxis("top")
        labels = [f"{verdict} {count}" for verdict, count in groups]
        middles = ends - [count / 2 for _, count in groups]
        places = _apart(middles, len(self.indices) * SLANTED / width, ends[-1])
        turned = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"} if narrow else {}
        above.set_xticks(places, labels=labels, color=drawing.SOFT, **turned)
        above.tick_params(length=0, labelsize=8)
        above.spines["top"].set_visible(False)


def _apart(places: FloatArray, least: float, end: float) -> FloatArray:
    """Increasing places, moved as little as need be to have that distance, and to stay before the end."""
    apart = places.copy()
    for k in range(1, len(apart)):
        apart[k] = max(apart[k], apart[k - 1] + least)
    apart[-1] = min(apart[-1], end)
    for k in reversed(range(len(apart) - 1)):
        apart[k] = min(apart[k], apart[k + 1] - least)
    return apart


def _names(record: AuditRecord) -> tuple[str, ...]:
    return () if record.region is None else record.region.names
