"""Where the parts of a text or an image stand in it: what views need to show it without some."""

from __future__ import annotations

from dataclasses import dataclass

from lime_guarantee.support.arrays import AnyArray, IntArray


@dataclass(frozen=True)
class TextLayout:
    """A text in pieces, in their order.

    Parameters
    ----------
    pieces : tuple of pairs
        What stands there, and the part that it belongs to; None for what stands between parts. A part may
        stand in several places.

    Examples
    --------
    >>> TextLayout((("good", 0), (", ", None), ("very", 1), (" ", None), ("good", 0))).text
    'good, very good'
    """

    pieces: tuple[tuple[str, int | None], ...]

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(piece for piece, _ in self.pieces)


@dataclass(frozen=True, eq=False)
class PictureLayout:
    """An image and the superpixel of each of its pixels.

    Parameters
    ----------
    image, hidden : arrays of shape (height, width) or (height, width, channels)
        The image, and the same with all its superpixels hidden.
    part_of : integer array of shape (height, width)
        The part that a pixel belongs to; -1 where it belongs to none.
    """

    image: AnyArray
    hidden: AnyArray
    part_of: IntArray


Layout = TextLayout | PictureLayout
