"""What all pictures share: colours, axes, short names and the picture of a region that is none."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.region.report import lower_text
from lime_guarantee.space.axis import Axis
from lime_guarantee.support.imports import require

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

# Okabe and Ito's palette: told apart with any colour vision. In greyscale the three signs differ in
# lightness, and each has a hatch or a character of its own besides.
PLUS, MINUS, NEITHER = "#0072B2", "#E69F00", "#DDDDDD"
FAILING = "#D55E00"
INK, SOFT, TRACK, DATA = "#1A1A1A", "#6B6B6B", "#B5B5B5", "#D2D2D2"
HATCHES = {PLUS: "", MINUS: "////", NEITHER: "", SOFT: ""}

LONGEST_NAME = 26
WIDTH_OF_A_CHARACTER = 0.6
"""Of a typical one, over the size of its font."""


def pyplot(caller: str) -> Any:
    """matplotlib.pyplot, imported when a picture is drawn and not before."""
    return require("matplotlib.pyplot", caller, extra="plot")


def open_axes(caller: str, ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or those of a new figure of that size."""
    plt = pyplot(caller)
    if ax is None:
        ax = plt.subplots(figsize=size, layout="constrained")[1]
        settle(ax)
    return ax


def settle(ax: Any) -> None:
    """Let the figure's layout, if it has one, place the axes before they are measured."""
    whole = ax.figure.canvas.figure  # the axes may belong to a part of it
    engine = whole.get_layout_engine()
    if engine is not None:
        engine.execute(whole)


def size_in_points(ax: Any) -> tuple[float, float]:
    """Width and height of axes."""
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return 72 * box.width, 72 * box.height


def sign_colour(weight: float | None) -> str:
    """The colour of a weight's sign; of something without weights, a dark grey."""
    if weight is None:
        return SOFT
    return NEITHER if weight == 0 else PLUS if weight > 0 else MINUS


def number(value: float, digits: int = 4) -> str:
    """A number with a minus as long as a plus; whole ones below a million are shown in full."""
    shown = f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.{digits}g}"
    return shown.replace("-", "\N{MINUS SIGN}")


def value(axis: Axis, coordinate: float) -> str:
    """The raw value at a coordinate of an axis."""
    raw = axis.decode(np.array([coordinate])).tolist()[0]
    return number(raw) if isinstance(raw, float) else axis.text(raw)


def signed(weight: float) -> str:
    """A weight with its sign, which a picture in greyscale needs."""
    return f"{weight:+.2g}".replace("-", "\N{MINUS SIGN}") if weight else "0"


def percent(share: float) -> str:
    """A share, rounded so that no more is said than is true.

    Examples
    --------
    >>> percent(0.9996), percent(1 / 3), percent(0.0996), percent(0.0004), percent(1e-9)
    ('99 %', '33 %', '9.9 %', '0.04 %', '< 0.01 %')
    """
    if share < 1e-4:
        return "< 0.01 %"
    return f"{lower_text(100 * share, 2)} %"


def short(text: object, longest: int = LONGEST_NAME) -> str:
    r"""A name on one line, with its middle left out where it is too long.

    Examples
    --------
    >>> short("the mean of the last twelve months"), short("two\nlines", 12)
    ('the mean of …twelve months', 'two lines')
    """
    printable = "".join(c if c.isprintable() else " " for c in str(text))
    line = " ".join(printable.split())
    if len(line) <= longest:
        return line
    tail = longest // 2
    return f"{line[: longest - tail - 1]}…{line[-tail:]}"


def short_names(names: Sequence[str], longest: int = LONGEST_NAME) -> list[str]:
    """Short names that still differ: where two have become the same, their positions tell them apart."""
    made = [short(name, longest) for name in names]
    return [
        f"{short(name, longest - 6)} [{i}]" if made.count(new) > 1 else new
        for i, (name, new) in enumerate(zip(names, made, strict=True))
    ]


def title(ax: Any, text: str) -> None:
    """One line above the axes, cut to their width; names in it are no formulas."""
    fits = max(20, int(size_in_points(ax)[0] / (10 * 0.53)))
    line = short(text, 10 * fits)
    ax.set_title(
        line if len(line) <= fits else f"{line[: fits - 1]}…",
        loc="left",
        fontsize=10,
        color=INK,
        parse_math=False,
    )


def bare(ax: Any, *sides: str) -> None:
    """Take away the frame, but for these sides of it."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
        spine.set_color(TRACK)
    ax.tick_params(color=TRACK, labelsize=9, labelcolor=INK)


def cell_ticks(axis: Any, labels: Sequence[str], points: float, start: float) -> None:
    """Ticks at cells, the first of which starts there: as many labels as have room in so many points."""
    every = max(1, math.ceil(len(labels) * 24 / points))
    room = max(3, int(every * points / len(labels) / (9 * WIDTH_OF_A_CHARACTER)))
    chosen = range(0, len(labels), every)
    places = [start + 0.5 + k for k in chosen]
    axis.set_ticks(places, labels=[short(labels[k], room) for k in chosen], parse_math=False)


def legend_below(ax: Any, handles: Sequence[Any], *, points: float = 6) -> None:
    """A key under the axes, so many points away, where it hides nothing."""
    transforms = require("matplotlib.transforms", "a key", extra="plot")
    longest = max(len(handle.get_label()) for handle in handles)
    columns = max(1, min(len(handles), int(size_in_points(ax)[0] / (4.2 * longest + 36))))
    down = transforms.ScaledTranslation(0, -points / 72, ax.figure.dpi_scale_trans)
    key = ax.legend(
        handles=list(handles),
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=ax.transAxes + down,
        ncols=columns,
        frameon=False,
        fontsize=8,
        borderaxespad=0,
        handlelength=1.6,
        columnspacing=1.4,
    )
    for text in key.get_texts():
        text.set_parse_math(False)


def no_region(region: GuaranteeRegion) -> str:
    """Why there is nothing to draw; empty where there is a certified region."""
    return "" if region else f"{region.status.capitalize()}: {region.reason}"


def draw_banner(ax: Any) -> None:
    """Say across a picture of model and surrogate that it shows no region."""
    ax.text(
        0.5,
        0.97,
        "No region is certified: nothing is guaranteed",
        transform=ax.transAxes,
        ha="center",
        va="top",
        weight="bold",
        size=9,
        color=FAILING,
        zorder=8,
        bbox={"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": FAILING, "lw": 1.2},
    )


def draw_notice(ax: Any, why: str) -> None:
    """Say in the place of a picture that nothing is guaranteed, and why."""
    width, height = size_in_points(ax)
    ax.set_axis_off()
    ax.text(
        0,
        1,
        "No region is certified",
        transform=ax.transAxes,
        va="top",
        weight="bold",
        color=FAILING,
        size=12,
    )
    lines = textwrap.wrap(short(why, 2_000), max(20, int(width / (9 * WIDTH_OF_A_CHARACTER))))
    fitting = max(1, int((height - 24) / 13))
    if len(lines) > fitting:
        lines = [*lines[: fitting - 1], short(" ".join(lines[fitting - 1 :]), len(lines[0]))]
    ax.text(
        0,
        1 - 24 / height,
        "\n".join(lines),
        transform=ax.transAxes,
        va="top",
        color=INK,
        size=9,
        parse_math=False,
    )
