"""Texts and images as a page has them: pieces of text, or pixels and the superpixel of each."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.adapters.predictors import layout_of
from lime_guarantee.problem.layout import PictureLayout, TextLayout
from lime_guarantee.support.arrays import AnyArray, FloatArray
from lime_guarantee.views.plots.images import pixels_of

if TYPE_CHECKING:
    from lime_guarantee.problem.problem import Problem

LONGEST_SIDE = 256
"""Pixels that a page keeps of a picture, along its longer side."""


def whole_of(problem: Problem | None) -> dict[str, Any]:
    """The text or the picture that a problem is about, for a page's data; nothing if it is about neither."""
    layout = None if problem is None else layout_of(problem)
    if isinstance(layout, TextLayout):
        return {"text": [[piece, -1 if part is None else part] for piece, part in layout.pieces]}
    return {} if layout is None else {"picture": _picture(layout)}


def _picture(layout: PictureLayout) -> dict[str, Any]:
    """Pixels in bytes, compressed, and the part of each; of hidden parts one colour each, their mean."""
    both = np.concatenate([layout.image, layout.hidden])  # scaled together, where floats need that
    pixels, hidden = np.split(pixels_of(both[..., 0] if both.shape[-1] == 1 else both), 2)
    step = -(-max(layout.part_of.shape) // LONGEST_SIDE)
    small, parts = _shrunk(pixels, step), layout.part_of[::step, ::step]
    parts = parts[: small.shape[0], : small.shape[1]]
    return {
        "height": small.shape[0],
        "width": small.shape[1],
        "pixels": _packed(_bytes(small)),
        "parts": _packed(parts.astype("<i2")),
        "hidden": {
            str(part): _bytes(hidden[layout.part_of == part].mean(axis=0)).tolist()
            for part in np.unique(parts[parts >= 0]).tolist()
        },
    }


def _shrunk(pixels: FloatArray, step: int) -> FloatArray:
    """Every square of so many pixels as one, of their mean colour; what is left over at the edges goes."""
    height, width = pixels.shape[0] // step, pixels.shape[1] // step
    squares = pixels[: height * step, : width * step].reshape(height, step, width, step, 3)
    return np.asarray(squares.mean(axis=(1, 3)))


def _bytes(colours: FloatArray) -> AnyArray:
    return np.round(255 * colours).astype(np.uint8)


def _packed(array: AnyArray) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
