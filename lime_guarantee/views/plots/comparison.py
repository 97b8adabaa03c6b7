"""Explanations side by side: how large the region of each is, and how much of it a constant would miss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.choosing.compare import Comparison


@dataclass(eq=False)
class ComparisonDisplay:
    """The regions of several explanations of one row.

    Make one with `ComparisonDisplay.from_comparison` or ``comparison.plot()``.

    Parameters
    ----------
    names : tuple of str
    sizes : array
        Logarithms of the regions' shares; NaN where nothing is certified.
    gains : array
        NaN where they are not known.
    """

    names: tuple[str, ...]
    sizes: Any
    gains: Any
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> ComparisonDisplay:
        """The display of a comparison."""
        regions = comparison.regions.values()
        sizes = [region.log10_share if region else np.nan for region in regions]
        gains = [np.nan if region.gain is None else region.gain for region in regions]
        return cls(tuple(comparison.regions), np.array(sizes), np.array(gains))

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        ax = drawing.open_axes("ComparisonDisplay.plot", ax, (6.4, 0.5 * len(self.names) + 1.2))
        self.ax_, self.figure_ = ax, ax.figure
        least = min([-1.0, *self.sizes[np.isfinite(self.sizes)]]) * 1.05
        lengths = np.where(np.isnan(self.sizes), 0.0, self.sizes - least)
        gains = np.where(np.isnan(self.gains), 0.0, self.gains)
        places = np.arange(len(self.names))
        ax.barh(places, lengths, 0.6, left=least, color=drawing.NEITHER, ec=drawing.INK, lw=0.6)
        ax.barh(places, gains * lengths, 0.6, left=least, color=drawing.PLUS, ec=drawing.INK, lw=0.6)
        for place, size, gain in zip(places, self.sizes, self.gains, strict=True):
            ax.text(0.02 * least, place, _said(size, gain), va="center", ha="right", fontsize=8)
        ax.set_yticks(places, labels=[drawing.short(name) for name in self.names], parse_math=False)
        ax.set(ylim=(len(self.names) - 0.5, -0.5), xlim=(least, 0))
        ax.set_xlabel("log10 of the region's share; filled: the part on which a constant would be wrong")
        drawing.bare(ax, "left", "bottom")
        ax.tick_params(axis="y", length=0)
        return self


def _said(size: float, gain: float) -> str:
    """What is written on a bar."""
    if np.isnan(size):
        return "not certified"
    return "" if np.isnan(gain) else f"gain {drawing.percent(gain) if gain else '0 %'}"
