"""An image with its superpixels: coloured by weight, outlined by whether they may be hidden."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray
from lime_guarantee.support.imports import require
from lime_guarantee.views.plots import drawing

if TYPE_CHECKING:
    from lime_guarantee.region.region import GuaranteeRegion

MOST_SIGNS = 8
"""Superpixels whose sign is written on them: those with the largest weights."""

STRONGEST = 0.75
"""How much of a colour there is on the superpixel with the largest weight; the picture is the rest."""

FINE = 480
"""Outlines are drawn on a grid of so many points or more along the longer side."""

INSET = 0.006
"""How far an outline keeps from the superpixel's border, over the longer side: neighbours have their own."""

MAY_GO = (0, (2.2, 1.8))


@dataclass(eq=False)
class ImageDisplay:
    """An image in grey: superpixels are coloured by weight, and outlined by whether they may be hidden.

    Make one with `ImageDisplay.from_region` or ``region.plot_image(image, segments)``.

    Parameters
    ----------
    image : array of shape (height, width, 3)
        From 0 to 1.
    segments : integer array of shape (height, width)
    may_go : array of bool of shape (height, width)
    weights : dict of int to float
        By superpixel, the largest first; those of 0 are left out.
    headline : str
    notice : str
        Why there is nothing to draw; empty for a certified region.
    about : str
        What the weights speak for.
    """

    image: FloatArray
    segments: AnyArray
    may_go: BoolArray
    weights: dict[int, float]
    headline: str
    notice: str = ""
    about: str = ""
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_region(cls, region: GuaranteeRegion, image: Any, segments: Any = None) -> ImageDisplay:
        """The display of the region of an image.

        Parameters
        ----------
        region : GuaranteeRegion
            Of an explanation of an image.
        image : array of shape (height, width) or (height, width, 3)
            Bytes, or floats; floats beyond 0 to 1 are scaled.
        segments : integer array of shape (height, width)
            The superpixel of every pixel: the ``segments`` of LIME's explanation. Of shap's, those that the
            region was asked with; it needs none if there were none.
        """
        pixels = pixels_of(image)
        segments = _patches(region, pixels) if segments is None else np.asarray(segments)
        may_go = region.mask(segments)
        if segments.shape != pixels.shape[:2]:
            raise InvalidInputError(
                f"segments: one superpixel for each of {pixels.shape[:2]} pixels is required; got shape "
                f"{segments.shape}."
            )
        assert region.explained is not None
        weights = np.array(region.explained.weights)
        numbers, present = region.part_numbers, set(np.unique(segments).tolist())
        order = [k for k in np.argsort(-np.abs(weights), kind="stable").tolist() if weights[k]]
        name = region.explained.label_name
        return cls(
            pixels,
            segments,
            may_go,
            {int(numbers[k]): float(weights[k]) for k in order if int(numbers[k]) in present},
            f"{len(region.removable)} of {len(region.domain)} superpixels may be hidden, in any combination",
            drawing.no_region(region),
            "" if name is None else f" for {drawing.short(name)}",
        )

    def plot(self, ax: Any = None) -> ImageDisplay:
        """Draw it, on the axes given or on those of a new figure."""
        high, wide = self.segments.shape
        size = (6.0, 2.2 if self.notice else float(np.clip(5.0 * high / wide, 2, 10)) + 0.7)
        ax = drawing.open_axes("ImageDisplay.plot", ax, size)
        self.ax_, self.figure_ = ax, ax.figure
        if self.notice:
            drawing.draw_notice(ax, self.notice)
            return self
        ax.set_axis_off()
        ax.imshow(self.tinted, interpolation="nearest")
        self._draw_outlines(ax)
        ax.set(xlim=(-0.5, wide - 0.5), ylim=(high - 0.5, -0.5))
        for superpixel in list(self.weights)[:MOST_SIGNS]:
            self._draw_sign(ax, superpixel)
        drawing.title(ax, self.headline)
        if self.weights:
            self._draw_scale(ax)
        drawing.legend_below(ax, self._key())
        return self

    @property
    def tinted(self) -> FloatArray:
        """The picture in grey, every superpixel with as much colour as it has weight."""
        grey = np.repeat((self.image @ [0.299, 0.587, 0.114])[..., np.newaxis], 3, axis=2)
        strength = np.zeros(self.segments.shape)
        for superpixel, weight in self.weights.items():
            strength[self.segments == superpixel] = weight / self._largest
        return _blended(grey, strength)

    @property
    def _largest(self) -> float:
        return max(map(abs, self.weights.values()), default=1.0)

    def _draw_outlines(self, ax: Any) -> None:
        """A line inside every superpixel, along its border: dashed where it may go, solid where not."""
        times = math.ceil(FINE / max(self.segments.shape))
        parts = np.kron(self.segments, np.ones((times, times), dtype=np.int64))
        depth = _depth(parts)
        places = [(np.arange(size) + 0.5) / times - 0.5 for size in reversed(parts.shape)]
        held = np.kron(self.may_go, np.ones((times, times), dtype=np.bool_))
        level = [max(1.0, INSET * max(parts.shape))]
        for inside, dashes, width in ((held, MAY_GO, 1.0), (~held, "-", 2.0)):
            field = np.where(inside, depth, 0.0)
            if field.max() > level[0]:
                ax.contour(*places, field, level, colors="white", linewidths=width + 1.2, alpha=0.85)
                ax.contour(*places, field, level, colors=drawing.INK, linewidths=width, linestyles=[dashes])

    def _draw_sign(self, ax: Any, superpixel: int) -> None:
        weight = self.weights[superpixel]
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
            size=9,
            weight="bold",
            color="white" if weight > 0 else drawing.INK,
            zorder=4,
            bbox={"boxstyle": "circle,pad=0.12", "facecolor": back, "edgecolor": "white", "lw": 0.8},
        )

    def _draw_scale(self, ax: Any) -> None:
        """A bar beside the picture that says which colour is which weight."""
        colors = require("matplotlib.colors", "ImageDisplay.plot", extra="plot")
        cm = require("matplotlib.cm", "ImageDisplay.plot", extra="plot")
        strength = np.linspace(-1, 1, 101)
        map_ = colors.ListedColormap(_blended(np.full((101, 3), 0.85), strength))
        scale = cm.ScalarMappable(colors.Normalize(-self._largest, self._largest), map_)
        bar = ax.figure.colorbar(scale, ax=ax, fraction=0.04, pad=0.02, aspect=30)
        ends = [-self._largest, 0.0, self._largest]
        bar.set_ticks(ends, labels=[drawing.signed(end) for end in ends])
        bar.set_label(f"weight{self.about}", fontsize=8, parse_math=False)
        bar.ax.tick_params(labelsize=8)
        bar.outline.set_visible(False)

    def _key(self) -> list[Any]:
        lines = require("matplotlib.lines", "ImageDisplay.plot", extra="plot")
        return [
            lines.Line2D([], [], color=drawing.INK, lw=1.4, ls=MAY_GO, label="dashed: may be hidden, or not"),
            lines.Line2D([], [], color=drawing.INK, lw=2, label="solid: must stay"),
        ]


def _blended(grey: FloatArray, strength: FloatArray) -> FloatArray:
    """Colours from 0 to 1: grey, and as much of a sign's colour as the strength, from -1 to 1, says."""
    colours = np.array([_rgb(drawing.MINUS), _rgb(drawing.PLUS)])[(strength > 0).astype(np.int64)]
    share = STRONGEST * np.abs(strength)[..., np.newaxis]
    return np.asarray((1 - share) * grey + share * colours, dtype=np.float64)


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))


def _depth(parts: AnyArray) -> FloatArray:
    """How far every pixel is from the border of its part, in pixels; the image's own border is one."""
    from scipy.ndimage import distance_transform_edt

    padded = np.pad(parts, 1, constant_values=parts.min() - 1)
    own = padded[1:-1, 1:-1]
    same = np.ones(parts.shape, dtype=np.bool_)
    for other in (padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]):
        same &= own == other
    return np.asarray(distance_transform_edt(np.pad(same, 1))[1:-1, 1:-1], dtype=np.float64)


def _patches(region: GuaranteeRegion, pixels: FloatArray) -> AnyArray:
    """The patches that shap's images are cut into where no segments are given."""
    from lime_guarantee.adapters.shap_parts import PATCHES, grid_of_patches

    explained = region.explained
    if explained is None or explained.kind != "shap image" or "segments" in explained.options:
        raise InvalidInputError(
            "segments: the superpixel of every pixel is required: LIME's explanation.segments, or the "
            "segments= that the region was asked with."
        )
    return grid_of_patches(pixels.shape[:2], int(explained.options.get("patches", PATCHES)))


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
