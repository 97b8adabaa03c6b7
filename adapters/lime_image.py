"""LIME's explanations of images: the superpixels that may be hidden, in any combination."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.problem.layout import PictureLayout
from lime_guarantee.space.domain import Domain, ordered_axis
from lime_guarantee.support.arrays import AnyArray

from .base import CapturedCall
from .lime_base import LimeAdapter, presence_surrogate
from .predictors import Outputs, PartsModel

BATCH_BYTES = 128 * 2**20
"""The most memory that the images of one call take."""

AS_EXPLAINED = "as explained"


class LimeImageAdapter(LimeAdapter):
    """Explanations of `LimeImageExplainer`."""

    explanation_class = "lime.lime_image.ImageExplanation"
    explainer_class = "lime.lime_image.LimeImageExplainer"
    explain_arguments = ("image", "classifier_fn", "labels", "hide_color")
    requires = ("skimage",)
    kind = "lime image"
    space = "presence"

    @classmethod
    def capture(cls, explainer: Any, arguments: Mapping[str, Any], explanation: Any) -> CapturedCall:  # noqa: ARG003
        return CapturedCall(arguments.get("classifier_fn"), facts={"hide_color": arguments.get("hide_color")})

    @classmethod
    def methods(cls) -> dict[str, Any]:
        return {}  # images have no page of LIME's

    def read(self, *, hide_color: Any = AS_EXPLAINED) -> None:
        """Read the superpixels.

        Parameters
        ----------
        hide_color
            What hides a superpixel, as LIME's ``explain_instance`` takes it: None for its mean colour. It
            need not be given where the explanation was seen being made.
        """
        if isinstance(hide_color, str) and hide_color == AS_EXPLAINED:
            facts = self.captured.facts
            hide_color = None if facts is None else facts["hide_color"]
            if facts is None:
                self.notes.append("hide_color is not known; LIME's default, the mean colour, was taken.")
        self.read_as = {"hide_color": hide_color}
        present = np.unique(self.explanation.segments)
        count = present.size  # LIME makes a column of every superpixel, and takes column j for superpixel j
        self.instance = np.ones(count)
        self.read_label(None)
        self.read_surrogate(count, presence_surrogate, self.instance)
        empty = np.setdiff1d(np.arange(count), present)
        if empty.size:
            self.warn(
                f"LIME numbers superpixels from 0 to {count - 1}, but the segmentation does not: "
                f"{empty.size} of its columns hide nothing, and as many superpixels are never hidden. Number "
                "them from 0 (slic(start_label=0))."
            )
        self.domain = Domain(
            tuple(ordered_axis(f"superpixel {j}", float(j in empty), 1, integer=True) for j in range(count))
        )
        self.batch_rows = int(np.clip(BATCH_BYTES // self.explanation.image.nbytes, 1, BATCH_ROWS))
        images = Images(self.explanation.image, self.explanation.segments, hide_color, count)
        parts = PartsModel(self.predict_fn, images)
        self.use(model=Outputs(parts, self.columns))


@dataclass(frozen=True, eq=False)
class Images:
    """An image with some of its superpixels hidden, as LIME hides them."""

    image: AnyArray
    segments: AnyArray
    hide_color: Any
    count: int

    def __call__(self, present: AnyArray) -> AnyArray:
        known = (self.segments >= 0) & (self.segments < self.count)
        padded = np.column_stack([present, np.ones(len(present))]) > 0  # the last column: never hidden
        shown = padded[:, np.where(known, self.segments, self.count)]
        return np.where(shown[..., np.newaxis], self.image, self._hidden())

    def layout(self) -> PictureLayout:
        """The image and its superpixels; one that LIME never hides belongs to none."""
        known = (self.segments >= 0) & (self.segments < self.count)
        return PictureLayout(self.image, self._hidden(), np.where(known, self.segments, -1))

    def _hidden(self) -> AnyArray:
        hidden = self.image.copy()
        if self.hide_color is not None:
            hidden[:] = self.hide_color
            return hidden
        for segment in np.unique(self.segments):
            where = self.segments == segment
            hidden[where] = [np.mean(self.image[where][:, channel]) for channel in range(3)]
        return hidden
