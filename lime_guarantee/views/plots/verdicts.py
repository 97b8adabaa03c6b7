"""How often an audit gave each verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport


@dataclass(eq=False)
class VerdictsDisplay:
    """The verdicts of an audit, counted.

    Make one with `VerdictsDisplay.from_report` or ``report.plot_verdicts()``.

    Parameters
    ----------
    counts : mapping of str to int
        From the best verdict to the worst.
    """

    counts: Mapping[str, int]
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_report(cls, report: AuditReport) -> VerdictsDisplay:
        """The display of an audit."""
        return cls(report.counts)

    def plot(self, ax: Any = None) -> VerdictsDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        ax = drawing.open_axes("VerdictsDisplay.plot", ax, (5.6, 2.6))
        self.ax_, self.figure_ = ax, ax.figure
        total = sum(self.counts.values())
        names, counts = list(self.counts), list(self.counts.values())
        colours = [drawing.PLUS if name == "trusted" else drawing.MINUS for name in names]
        hatches = [drawing.HATCHES[colour] for colour in colours]
        bars = ax.barh(range(len(names)), counts, 0.66, color=colours, hatch=hatches, ec=drawing.INK, lw=0.6)
        labels = [f"{count:,}  ({100 * count / total:.0f} %)" if count else "0" for count in counts]
        texts = ax.bar_label(bars, labels, padding=4, fontsize=9)
        for text, count in zip(texts, counts, strict=True):
            text.set_color(drawing.INK if count else drawing.TRACK)
        ax.set_yticks(range(len(names)), labels=names)
        ax.set(ylim=(len(names) - 0.5, -0.5), xlim=(0, 1.22 * max([1, *counts])))
        ax.set_xticks([])
        drawing.bare(ax, "left")
        ax.tick_params(axis="y", length=0)
        drawing.title(ax, f"{self.counts.get('trusted', 0):,} of {total:,} explanations are trusted")
        return self
