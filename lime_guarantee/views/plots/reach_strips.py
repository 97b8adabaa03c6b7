"""How far groups of explanations reach along one feature: the paper's second figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport

GOLDEN = 0.6180339887498949
STYLES = [(drawing.PLUS, "o"), (drawing.MINUS, "s"), ("#009E73", "^"), ("#CC79A7", "D")]
"""Colours and marks: groups are told apart without colour, too."""


@dataclass(eq=False)
class ReachStripsDisplay:
    """The reach of groups of explanations along one feature, a strip of points for each group.

    Where explanations call the feature irrelevant, honest ones reach far along it and dishonest ones do not.

    Parameters
    ----------
    groups : mapping of str to array
        The reaches of every group, from 0 to 1; NaN stands for an explanation without a certified region.
    feature : str
        What the reach is along; shown below the axis.

    Examples
    --------
    >>> display = ReachStripsDisplay({"honest": [0.9, 1.0], "dishonest": [0.1, 0.3]}, "age")
    >>> display.medians
    {'honest': 0.95, 'dishonest': 0.2}
    """

    groups: Mapping[str, Any]
    feature: str = ""
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.groups:
            raise InvalidInputError("groups: at least one group of reaches is required; got none.")
        self.groups = {str(k): np.asarray(v, dtype=np.float64).ravel() for k, v in self.groups.items()}
        for label, reach in self.groups.items():
            if np.any((reach < 0) | (reach > 1)):
                raise InvalidInputError(f"groups: reaches lie between 0 and 1; those of {label!r} do not.")

    @classmethod
    def from_reports(cls, reports: Mapping[str, AuditReport], feature: str) -> ReachStripsDisplay:
        """The strips of audits, each with its label, along one feature.

        Parameters
        ----------
        reports : mapping of str to AuditReport
        feature : str
        """
        return cls({label: _reaches(report, feature) for label, report in reports.items()}, feature)

    @property
    def medians(self) -> dict[str, float]:
        """Half the explanations of a group reach at least so far; NaN for a group without any region."""
        known = {label: reach[np.isfinite(reach)] for label, reach in self.groups.items()}
        return {label: float(np.median(reach)) if reach.size else np.nan for label, reach in known.items()}

    def plot(self, ax: Any = None) -> ReachStripsDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        ax = drawing.open_axes("ReachStripsDisplay.plot", ax, (6.0, 0.75 * len(self.groups) + 1.1))
        self.ax_, self.figure_ = ax, ax.figure
        drawing.bare(ax, "bottom")
        labels = drawing.short_names(list(self.groups))
        for row, reach in enumerate(self.groups.values()):
            known = np.sort(reach[np.isfinite(reach)])
            colour, mark = STYLES[row % len(STYLES)]
            ax.hlines(row, 0, 1, color=drawing.NEITHER, lw=1, zorder=1)
            ax.plot(
                known,
                row + _scatter(known.size),
                mark,
                color=colour,
                mec="white",
                mew=0.6,
                ms=6,
                clip_on=False,
            )
            labels[row] += f"\n{known.size} regions"
            if known.size < reach.size:
                labels[row] += f", {reach.size - known.size} without"
        for row, median in enumerate(self.medians.values()):
            ax.vlines(median, row - 0.36, row + 0.36, color="white", lw=5, zorder=4)
            ax.vlines(median, row - 0.36, row + 0.36, color=drawing.INK, lw=2.5, zorder=5)
        ax.set(xlim=(0, 1), ylim=(len(labels) - 0.5, -0.5))
        ax.set_yticks(range(len(labels)), labels=labels, parse_math=False)
        ax.set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0", "25 %", "50 %", "75 %", "free"])
        ax.tick_params(axis="y", length=0)
        along = f" along {drawing.short(self.feature)}" if self.feature else ""
        ax.set_xlabel(f"reach{along} (bar: median)", parse_math=False)
        return self


def _scatter(count: int) -> FloatArray:
    """Up or down by a little, so that equal points stand beside each other; the same every time."""
    return np.asarray(0.5 * ((np.arange(1, count + 1) * GOLDEN) % 1 - 0.5), dtype=np.float64)


def _reaches(report: AuditReport, feature: str) -> FloatArray:
    """Reach along a feature, explanation by explanation; NaN without a certified region."""
    regions = [record.region for record in report.records if record.region is not None]
    known = list(dict.fromkeys(name for region in regions for name in region.names))
    if feature not in known:
        raise InvalidInputError(f"feature: there is no feature {feature!r}. The features are {known}.")
    return np.array(
        [
            record.region.reach[record.region.names.index(feature)]
            if record.region and feature in record.region.names
            else np.nan
            for record in report.records
        ]
    )
