"""A text with the words marked that may be removed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.imports import require
from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

WIDTH = 7.0
LARGEST, SMALLEST = 12.0, 6.0
"""Sizes of the letters, in points: the largest at which the text fits the axes is taken."""

LEADING = 1.75
MOST_LINES = 40
"""Lines that a new figure is made for."""

LONGEST_WORD = 60
SIGN = 0.75
"""Size of a sign over that of the word it stands at."""

MAY_GO = "#757575"
DOTTED = (0, (1, 1.5))


@dataclass(frozen=True)
class Piece:
    """A word that the explanation knows, or what stands between two of them.

    Parameters
    ----------
    text : str
    part : int or None
        The word's place among the region's features.
    weight : float
        What the explanation says of it.
    may_go : bool
    """

    text: str
    part: int | None = None
    weight: float = 0.0
    may_go: bool = False


Line = list[list[Piece]]
"""Chunks, between which there is white space, of pieces, between which there is none."""


@dataclass(eq=False)
class TextDisplay:
    """A text: words that must stay are boxed, those that may go are dotted; weights are tints and signs.

    Make one with `TextDisplay.from_region` or ``region.plot_text()``.

    Parameters
    ----------
    pieces : tuple of Piece
        The whole text, in order.
    headline : str
    notice : str
        Why there is nothing to draw; empty for a certified region.
    """

    pieces: tuple[Piece, ...]
    headline: str
    notice: str = ""
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_region(cls, region: GuaranteeRegion, text: str | None = None) -> TextDisplay:
        """The display of the region of a text.

        Parameters
        ----------
        region : GuaranteeRegion
            Of an explanation of a text.
        text : str, optional
            The text that was explained. By default the one that the region still has; where it has none,
            because it was read from JSON or a pickle, the words alone are shown, in their order.
        """
        if region.explained is None or region.explained.kind not in ("lime text", "shap text"):
            raise InvalidInputError("plot_text: only the region of a text explanation has words.")
        if not region:
            return cls((), "", drawing.no_region(region))
        text = _text_of(region) if text is None else text
        words = _words(region)
        headline = f"{len(region.removable)} of {len(words)} words may be removed, in any combination"
        if text is None:
            spaced = [piece for word in words for piece in (word, Piece(" "))]
            return cls(tuple(map(_shortened, spaced[:-1])), headline)
        return cls(tuple(map(_shortened, _pieces(text, words))), headline)

    def plot(self, ax: Any = None) -> TextDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        metric = _Metric()
        if ax is None:
            lines = min(MOST_LINES, len(metric.lines(self.pieces, LARGEST, 72 * WIDTH)))
            height = 2.0 if self.notice else lines * LARGEST * LEADING / 72 + 0.8
            ax = drawing.open_axes("TextDisplay.plot", None, (WIDTH + 0.3, height))
        self.ax_, self.figure_ = ax, ax.figure
        if self.notice:
            drawing.draw_notice(ax, self.notice)
            return self
        ax.set_axis_off()
        drawing.title(ax, self.headline)
        drawing.legend_below(ax, self._key(), points=2)
        drawing.settle(ax)
        width, height = drawing.size_in_points(ax)
        ax.set_xlim(0, width)
        ax.set_ylim(height, 0)
        size = LARGEST
        while size > SMALLEST and len(metric.lines(self.pieces, size, width)) * size * LEADING > height:
            size -= 0.5
        most = max(1, round(height / (size * LEADING)))
        self._draw(ax, metric, size, _cut(metric.lines(self.pieces, size, width), most))
        return self

    def _draw(self, ax: Any, metric: _Metric, size: float, lines: list[Line]) -> None:
        strongest = max(abs(piece.weight) for piece in self.pieces) or 1.0
        for row, line in enumerate(lines):
            x, y = 1.0, (row + 0.62) * size * LEADING
            for chunk in line:
                for piece in chunk:
                    _draw_piece(ax, metric, piece, (x, y), size, abs(piece.weight) / strongest)
                    x += metric.width(piece, size)
                x += metric.space(size)

    def _key(self) -> list[Any]:
        lines = require("matplotlib.lines", "TextDisplay.plot", extra="plot")
        patches = require("matplotlib.patches", "TextDisplay.plot", extra="plot")

        boxed = {"facecolor": "none", "edgecolor": drawing.INK, "lw": 1.2}
        key = [
            patches.Patch(label="must stay", **boxed),
            lines.Line2D([], [], color=MAY_GO, lw=1.4, ls=DOTTED, label="may be removed, or not"),
        ]
        for colour, label in ((drawing.PLUS, "weight +"), (drawing.MINUS, "weight \N{MINUS SIGN}")):
            if any(drawing.sign_colour(piece.weight) == colour for piece in self.pieces):
                key.append(patches.Patch(facecolor=colour, alpha=0.5, label=label))
        return key


class _Metric:
    """How wide texts are, in points, without drawing them."""

    def __init__(self) -> None:
        paths = require("matplotlib.textpath", "TextDisplay.plot", extra="plot")
        fonts = require("matplotlib.font_manager", "TextDisplay.plot", extra="plot")
        self._paths, self._font = paths.text_to_path, fonts.FontProperties(size=100)
        self._known: dict[str, float] = {}

    def text_width(self, text: str, size: float) -> float:
        """The width of a text."""
        if text not in self._known:
            wide, _, _ = self._paths.get_text_width_height_descent(text, self._font, ismath=False)
            self._known[text] = float(wide) / 100
        return self._known[text] * size

    def width(self, piece: Piece, size: float) -> float:
        """The width of a piece, with the sign that stands beside it."""
        sign = self.text_width(_sign(piece), SIGN * size) + 2.0 if piece.weight else 0.0
        return self.text_width(piece.text, size) + sign

    def space(self, size: float) -> float:
        """The width of a space: more than a font's own, since words are marked."""
        return 0.45 * size

    def lines(self, pieces: tuple[Piece, ...], size: float, width: float) -> list[Line]:
        """The pieces, broken into lines at white space."""
        lines: list[Line] = [[]]
        used = 0.0
        for chunk in _chunks(pieces):
            wide = sum(self.width(piece, size) for piece in chunk) + self.space(size)
            if lines[-1] and used + wide > width:
                lines.append([])
                used = 0.0
            lines[-1].append(chunk)
            used += wide
        return lines


def _draw_piece(
    ax: Any, metric: _Metric, piece: Piece, at: tuple[float, float], size: float, strength: float
) -> None:
    (x, y), wide = at, metric.text_width(piece.text, size)
    if piece.weight:
        tint = {"facecolor": drawing.sign_colour(piece.weight), "alpha": 0.12 + 0.38 * strength, "lw": 0}
        ax.add_patch(_frame(metric, piece, at, size, zorder=1, **tint))
        ax.text(x + wide + 1.5, y - 0.32 * size, _sign(piece), size=SIGN * size, color=drawing.INK, zorder=3)
    ax.text(x, y, piece.text, size=size, color=drawing.INK, parse_math=False, zorder=3)
    if piece.may_go:
        ax.hlines(y + 0.24 * size, x, x + wide, color=MAY_GO, lw=0.12 * size, ls=DOTTED, zorder=4)
    elif piece.part is not None:
        ax.add_patch(
            _frame(metric, piece, at, size, fill=False, edgecolor=drawing.INK, lw=0.1 * size, zorder=4)
        )


def _frame(metric: _Metric, piece: Piece, at: tuple[float, float], size: float, **style: Any) -> Any:
    """A rectangle around a piece and its sign."""
    patches = require("matplotlib.patches", "TextDisplay.plot", extra="plot")
    corner, wide = (at[0] - 1, at[1] - 0.98 * size), metric.width(piece, size) + 2
    return patches.Rectangle(corner, wide, 1.32 * size, **style)


def _sign(piece: Piece) -> str:
    return "+" if piece.weight > 0 else "\N{MINUS SIGN}"


def _cut(lines: list[Line], most: int) -> list[Line]:
    """So many lines; the last one says how much is left out."""
    if len(lines) <= most:
        return lines
    left = [
        piece for line in lines[most - 1 :] for chunk in line for piece in chunk if piece.part is not None
    ]
    gone = sum(piece.may_go for piece in left)
    return [*lines[: most - 1], [[Piece(f"… and {len(left)} more words, of which {gone} may go")]]]


def _chunks(pieces: tuple[Piece, ...]) -> Line:
    """What belongs together on a line: a word, and the commas and quotes at it."""
    chunks: Line = [[]]
    for piece in pieces:
        if piece.part is not None:
            chunks[-1].append(piece)
            continue
        first, *others = re.split(r"\s+", piece.text)
        chunks[-1].append(Piece(first))
        chunks += [[Piece(other)] for other in others]
    filled = [[piece for piece in chunk if piece.text] for chunk in chunks]
    return [chunk for chunk in filled if chunk]


def _text_of(region: GuaranteeRegion) -> str | None:
    from lime_guarantee.adapters.predictors import whole

    return None if region.problem is None else whole(region.problem)


def _words(region: GuaranteeRegion) -> list[Piece]:
    """The words, without the numbers that tell equal ones apart."""
    assert region.explained is not None
    numbered = {name.removesuffix(" #1") for name in region.names if name.endswith(" #1")}
    words = []
    for i, name in enumerate(region.names):
        base, mark, _ = name.rpartition(" #")
        word = base if mark and base in numbered else name
        may_go = bool(region.lower[i] < region.upper[i])
        words.append(Piece(word, i, region.explained.weights[i], may_go))
    return words


def _shortened(piece: Piece) -> Piece:
    """A word that can be drawn on a line; what stands between words is broken there anyway."""
    drawable = len(piece.text) <= LONGEST_WORD and piece.text.isprintable()
    return (
        piece
        if piece.part is None or drawable
        else replace(piece, text=drawing.short(piece.text, LONGEST_WORD))
    )


def _pieces(text: str, words: list[Piece]) -> Iterator[Piece]:
    """The text in pieces: a word stands for all its occurrences, or each of equal ones for its own."""
    waiting: dict[str, list[Piece]] = {}
    for word in words:
        waiting.setdefault(word.text, []).append(word)
    found: Counter[str] = Counter()
    end = 0
    for match in _pattern(list(waiting)).finditer(text):
        same = waiting[match.group()]
        found[match.group()] += 1
        if len(same) > 1 and found[match.group()] > len(same):
            continue
        yield Piece(text[end : match.start()])
        yield same[0] if len(same) == 1 else same[found[match.group()] - 1]
        end = match.end()
    yield Piece(text[end:])
    missing = [word for word, same in waiting.items() if found[word] < len(same)]
    if missing:
        raise InvalidInputError(
            f"text: the explained words {missing[:5]} are not in it. Pass the text that was explained, "
            "or none, to see the words alone."
        )


def _pattern(words: list[str]) -> re.Pattern[str]:
    """Any of the words, the longest first, and not inside of others, unless all are single characters."""
    longest_first = sorted(words, key=len, reverse=True)
    whole = len(longest_first[0]) > 1
    edged = (
        (r"(?<!\w)" if whole and re.match(r"\w", word) else "")
        + re.escape(word)
        + (r"(?!\w)" if whole and re.search(r"\w$", word) else "")
        for word in longest_first
    )
    return re.compile("|".join(edged))
