"""The region at a glance: one row for every feature."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.region.report import in_presence, measure_of, reach_text
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.support.checks import check_count
from lime_guarantee.views.feature_row import FeatureRow, feature_rows, shown_order
from lime_guarantee.views.plots import drawing
from lime_guarantee.views.plots.overview_painter import RowPainter
from lime_guarantee.views.plots.scales import histogram

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

LONGEST_EXTENT = 26
"""Characters of a line that says what is certified; a set of categories may take two."""

LONGEST_VALUE = 18


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
            return cls((), "", "", drawing.no_region(region))
        order = shown_order(region, parts_in_place=False)
        shown, rest = order[:max_features], order[max_features:]
        return cls(short_rows(region, shown, data), summary(region, rest) if rest else "", headline(region))

    def plot(self, ax: Any = None) -> RegionDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        height = (0.42 if self._has_data else 0.3) * (len(self.rows) + bool(self.rest)) + 1.1
        ax = drawing.open_axes("RegionDisplay.plot", ax, (9.8, 2.2 if self.notice else height))
        self.ax_, self.figure_ = ax, ax.figure
        if self.notice:
            drawing.draw_notice(ax, self.notice)
            return self
        painter = RowPainter(ax, self.rows, self.rest)
        drawing.title(ax, self.headline)
        drawing.settle(ax)
        painter.paint()
        return self

    @property
    def _has_data(self) -> bool:
        return any(row.data is not None for row in self.rows)


def short_rows(region: GuaranteeRegion, shown: list[int], data: Any = None) -> tuple[FeatureRow, ...]:
    """The rows of these features in texts that have room in a picture, with the data behind them."""
    names = drawing.short_names(region.names)
    points = None if data is None else region.domain.encode(data)
    return tuple(
        replace(
            row,
            name=names[row.position],
            extent=_short_extent(row, parts=in_presence(region)),
            instance_text="" if in_presence(region) else _short_value(row),
            data=_heights(row, points),
        )
        for row in feature_rows(region, shown)
    )


def _heights(row: FeatureRow, points: FloatArray | None) -> FloatArray | None:
    """The histogram of the data behind a feature."""
    return None if points is None or row.constant else histogram(row.axis, points[:, row.position])


def _short_extent(row: FeatureRow, *, parts: bool) -> str:
    """The certified values in few characters."""
    free = row.reach == 1
    if row.constant:
        return row.extent
    if parts:
        return "may go" if free else "must stay"
    if free:
        return "free"
    if row.choices and not row.axis.ordered:
        return _short_set(row)
    if len(row.extent) > LONGEST_EXTENT:  # so narrow that its ends differ in the last digits only
        return f"near {drawing.value(row.axis, row.bar[0])}"
    return row.extent.replace("-", "\N{MINUS SIGN}")


def _short_set(row: FeatureRow) -> str:
    """The allowed categories on a line or two; else those that are not allowed; else how many are."""
    inside = sorted(
        (label for label, held in row.choices if held), key=lambda label: label != row.instance_text
    )
    outside = [label for label, held in row.choices if not held]
    for text in ("{" + ", ".join(inside) + "}", "all but " + ", ".join(outside)):
        lines = textwrap.wrap(text, LONGEST_EXTENT, break_long_words=False, break_on_hyphens=False)
        if len(lines) <= 2 and max(map(len, lines)) <= LONGEST_EXTENT:
            return "\n".join(lines)
    return f"{len(inside)} of {len(row.cells)} categories"


def _short_value(row: FeatureRow) -> str:
    """The instance's value in few characters."""
    text = drawing.short(row.instance_text, LONGEST_VALUE)
    return text.replace("-", "\N{MINUS SIGN}") if row.axis.ordered else text  # a hyphen in a name is no minus


def headline(region: GuaranteeRegion) -> str:
    """The promise, on a line."""
    promise = f"at least {100 * region.purity:.12g} %"
    confidence = f"confidence {100 * region.confidence:.12g} %"
    if in_presence(region):
        parts = f"{len(region.removable)} of {len(region.domain)} parts may go"
        return f"{parts}; faithful on {promise} of the combinations, {confidence}"
    shape = "" if region.radius is None else f" within {region.radius:.3g} of the instance"
    return f"Faithful on {promise} of {measure_of(region).rows}{shape}; {confidence}"


def summary(region: GuaranteeRegion, rest: list[int]) -> str:
    """The features that have no row of their own."""
    constant = np.array([axis.constant for axis in region.domain.axes])[rest]
    reach = np.where(constant, np.inf, region.reach[rest])
    facts = [f"{np.sum(reach == 1)} free"]
    if constant.any():
        facts.append(f"{constant.sum()} constant")
    if np.any(reach < 1):
        shortest = rest[int(np.argmin(reach))]
        facts.append(f"shortest reach {reach_text(reach.min())} ({drawing.short(region.names[shortest])})")
    return f"and {len(rest)} more: {', '.join(facts)}"
