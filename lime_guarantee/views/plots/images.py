"""An image with the superpixels marked that may be hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray
from lime_guarantee.support.imports import require
from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

MOST_SIGNS = 12
"""Superpixels whose sign is written on them: those with the largest weights."""


@dataclass(eq=False)
class ImageDisplay:
    """An image: superpixels that may be hidden are pale and hatched, the largest weights are signed.

    Make one with `ImageDisplay.from_region` or ``region.plot_image(image, segments)``.

    Parameters
    ----------
    image : array of shape (height, width, 3)
        From 0 to 1.
    segments : integer array of shape (height, width)
    may_go : array of bool of shape (height, width)
    weights : dict of int to float
        The largest weights, by superpixel.
    headline : str
    notice : str
        Why there is nothing to draw; empty for a certified region.
    """

    image: FloatArray
    segments: AnyArray
    may_go: BoolArray
    weights: dict[int, float]
    headline: str
    notice: str = ""
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_region(cls, region: GuaranteeRegion, image: Any, segments: Any) -> ImageDisplay:
        """The display of the region of an image.

        Parameters
        ----------
        region : GuaranteeRegion
            Of a LIME explanation of an image.
        image : array of shape (height, width) or (height, width, 3)
            Bytes, or floats; floats beyond 0 to 1 are scaled.
        segments : integer array of shape (height, width)
            The superpixel of every pixel: the explanation's ``segments``.
        """
        segments = np.asarray(segments)
        may_go = region.mask(segments)
        pixels = pixels_of(image)
        if segments.shape != pixels.shape[:2]:
            raise InvalidInputError(
                f"segments: one superpixel for each of {pixels.shape[:2]} pixels is required; got shape "
                f"{segments.shape}."
            )
        assert region.explained is not None
        weights = np.array(region.explained.weights)
        largest = [k for k in np.argsort(-np.abs(weights), kind="stable")[:MOST_SIGNS].tolist() if weights[k]]
        parts = f"{len(region.removable)} of {len(region.domain)} superpixels"
        return cls(
            pixels,
            segments,
            may_go,
            {k: float(weights[k]) for k in largest if np.any(segments == k)},
            f"{parts} may go, in any combination",
            drawing.no_region(region),
        )

    def plot(self, ax: Any = None) -> ImageDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        high, wide = self.segments.shape
        size = (5.0, 2.2 if self.notice else float(np.clip(5.0 * high / wide, 2, 10)) + 0.6)
        ax = drawing.open_axes("ImageDisplay.plot", ax, size)
        self.ax_, self.figure_ = ax, ax.figure
        if self.notice:
            drawing.draw_notice(ax, self.notice)
            return self
        ax.set_axis_off()
        pale = np.where(self.may_go[..., np.newaxis], 0.45 * self.image + 0.55, self.image)
        ax.imshow(pale, interpolation="nearest")
        self._draw_hatch(ax)
        self._draw_borders(ax)
        for superpixel, weight in self.weights.items():
            self._draw_sign(ax, superpixel, weight)
        drawing.title(ax, self.headline)
        drawing.legend_below(ax, self._key())
        return self

    def _draw_hatch(self, ax: Any) -> None:
        """Stripes on what may go, which is pale already: an image may be pale itself."""
        if self.may_go.any():
            edges = np.pad(self.may_go, 1).astype(np.float64)  # so that the image's border closes a shape
            places = [np.arange(-1, size + 1) for size in reversed(self.may_go.shape)]
            hatched = ax.contourf(*places, edges, levels=[0.5, 1.5], colors="none", hatches=["//"])
            hatched.set(edgecolor=drawing.SOFT, linewidth=0)
        high, wide = self.may_go.shape
        ax.set_xlim(-0.5, wide - 0.5)
        ax.set_ylim(high - 0.5, -0.5)

    def _draw_borders(self, ax: Any) -> None:
        """Lines between superpixels: thick between one that may go and one that must stay."""
        collections = require("matplotlib.collections", "ImageDisplay.plot", extra="plot")
        thick = [((x, y), (x2, y2)) for x, y, x2, y2 in _borders(self.may_go)]
        thin = [((x, y), (x2, y2)) for x, y, x2, y2 in _borders(self.segments)]
        ax.add_collection(collections.LineCollection(thin, colors="white", linewidths=0.8, zorder=3))
        ax.add_collection(collections.LineCollection(thick, colors="white", linewidths=3.4, zorder=3.1))
        ax.add_collection(collections.LineCollection(thick, colors=drawing.INK, linewidths=1.6, zorder=3.2))

    def _draw_sign(self, ax: Any, superpixel: int, weight: float) -> None:
        rows, columns = np.nonzero(self.segments == superpixel)
        # The pixel nearest to the middle: the middle itself may lie outside.
        nearest = np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2)
        sign, back = ("+", drawing.PLUS) if weight > 0 else ("\N{MINUS SIGN}", drawing.MINUS)
        ax.text(
            columns[nearest],
            rows[nearest],
            sign,
            ha="center",
            va="center",
            size=10,
            weight="bold",
            color="white" if weight > 0 else drawing.INK,
            zorder=4,
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": back, "edgecolor": "white", "lw": 0.8},
        )

    def _key(self) -> list[Any]:
        patches = require("matplotlib.patches", "ImageDisplay.plot", extra="plot")
        pale = {"facecolor": "white", "edgecolor": drawing.SOFT, "hatch": "//", "lw": 0.6}
        key = [
            patches.Patch(label="may go", **pale),
            patches.Patch(label="must stay", facecolor=drawing.SOFT, edgecolor=drawing.INK),
        ]
        for sign, colour in (("+", drawing.PLUS), ("\N{MINUS SIGN}", drawing.MINUS)):
            if any(drawing.sign_colour(weight) == colour for weight in self.weights.values()):
                key.append(patches.Patch(label=f"weight {sign}", facecolor=colour))
        return key


def pixels_of(image: Any) -> FloatArray:
    """An image in colours from 0 to 1."""
    array = np.asarray(image)
    if array.ndim == 2:
        array = np.repeat(array[..., np.newaxis], 3, axis=2)
    if array.ndim != 3 or array.shape[2] not in (3, 4) or array.size == 0:
        raise InvalidInputError(
            f"image: shape (height, width) or (height, width, 3) is required; got {array.shape}."
        )
    pixels = np.nan_to_num(array[..., :3].astype(np.float64))
    if array.dtype == np.uint8:
        return pixels / 255
    low, high = min(0.0, float(pixels.min())), max(1.0, float(pixels.max()))
    return (pixels - low) / (high - low)


def _borders(areas: AnyArray) -> list[tuple[float, float, float, float]]:
    """The sides of pixels whose neighbours belong to another area."""
    y, x = np.nonzero(areas[:, 1:] != areas[:, :-1])
    upright = [(a + 0.5, b - 0.5, a + 0.5, b + 0.5) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    y, x = np.nonzero(areas[1:] != areas[:-1])
    level = [(a - 0.5, b + 0.5, a + 0.5, b + 0.5) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return upright + level
