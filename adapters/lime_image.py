"""LIME's explanations of images: the superpixels that may be hidden, in any combination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.space.domain import Domain, ordered_axis
from lime_guarantee.support.arrays import AnyArray

from . import lime_shared
from .lime_text import checked_surrogate
from .predictors import Outputs, PartsModel
from .request import CONTEXT, Call, Context, Request, Subject
from .subject import Sides

BATCH_BYTES = 128 * 2**20
"""The most memory that the images of one call take."""

AS_EXPLAINED = "as explained"


def capture(call: Call) -> Context:
    """What to remember when an explainer is asked to explain."""
    hide_color = call.arguments.get("hide_color")
    return Context(call.arguments.get("classifier_fn"), options={"hide_color": hide_color})


def adapt(explanation: Any, request: Request, hide_color: Any = AS_EXPLAINED) -> Subject:
    """Adapt an explanation of an image.

    Parameters
    ----------
    explanation, request
    hide_color
        What hides a superpixel, as LIME's ``explain_instance`` takes it: None for its mean colour. It need
        not be given where the explanation was seen being made.
    """
    if isinstance(hide_color, str) and hide_color == AS_EXPLAINED:
        context = getattr(explanation, CONTEXT, None)
        hide_color = None if context is None else context.options["hide_color"]
        if context is None:
            request.notes.append("hide_color is not known; LIME's default, the mean colour, was taken.")
    predict_fn = request.model()
    reading = lime_shared.read(explanation, request.label, request.test, None)
    present = np.unique(explanation.segments)
    count = present.size  # LIME makes a column of every superpixel, and takes column j for superpixel j
    surrogate = checked_surrogate(explanation, reading, count)
    empty = np.setdiff1d(np.arange(count), present)
    if empty.size:
        request.warn(
            f"LIME numbers superpixels from 0 to {count - 1}, but the segmentation does not: {empty.size} of "
            f"its columns hide nothing, and as many superpixels are never hidden. Number them from 0 "
            "(slic(start_label=0))."
        )
    axes = [ordered_axis(f"superpixel {j}", float(j in empty), 1, integer=True) for j in range(count)]
    images = Images(explanation.image, explanation.segments, hide_color, count)
    return Sides(
        kind="lime image",
        space="presence",
        label=reading.label,
        label_name=None,
        weights=reading.weight_of_features(count),
        model=Outputs(PartsModel(predict_fn, images), reading.columns),
        surrogate=surrogate,
        instance=np.ones(count),
        domain=Domain(tuple(axes)),
        classifier=True,
        batch_rows=int(np.clip(BATCH_BYTES // explanation.image.nbytes, 1, BATCH_ROWS)),
    ).subject(request)


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

    def _hidden(self) -> AnyArray:
        hidden = self.image.copy()
        if self.hide_color is not None:
            hidden[:] = self.hide_color
            return hidden
        for segment in np.unique(self.segments):
            where = self.segments == segment
            hidden[where] = [np.mean(self.image[where][:, channel]) for channel in range(3)]
        return hidden
