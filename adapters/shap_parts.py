"""shap's explanations of texts and images: the words or patches that may be masked, in any combination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.layout import Layout, PictureLayout, TextLayout
from lime_guarantee.space.domain import Domain, ordered_axis
from lime_guarantee.support.arrays import AnyArray, FloatArray
from lime_guarantee.support.checks import check_count

from .base import CAPTURED, Adapter, CapturedCall, unique_names
from .lime_image import BATCH_BYTES
from .predictors import PartsModel, like_probabilities
from .shap_connect import matched
from .shap_facts import ShapFacts, read_explainer
from .shap_model import Answers, Row, wanted_output
from .shap_surrogates import sum_surrogate

PATCHES = 8
"""An image is cut into so many patches, each way."""

MISSING_MASKER = (
    "explainer: the explanation does not keep what masks its parts. Pass explainer=, the shap explainer that "
    "made it, with a masker of shap.maskers.{kind}; or make explanations with wrap(explainer) or after "
    "install()."
)


class ShapPartsAdapter(Adapter):
    """What texts and images share: parts that are there or masked, and values that add up."""

    explanation_class = "shap.Explanation"
    space = "presence"
    keeps_model = True
    masker_class: ClassVar[str] = ""
    """The class of shap's masker that knows how to mask the parts."""
    facts: ShapFacts

    @classmethod
    def recognises(cls, explanation: Any) -> bool:
        captured: CapturedCall | None = getattr(explanation, CAPTURED, None)
        masker = None if captured is None or captured.facts is None else captured.facts.masker
        if masker is not None:
            return is_masker(masker, cls.masker_class)
        return bool(cls.masker_class) and cls.looks_alike(explanation)

    @classmethod
    def looks_alike(cls, explanation: Any) -> bool:
        """Whether an explanation of which nothing is known looks like one of this kind."""
        raise NotImplementedError

    @classmethod
    def missing_input(cls, explanation: Any, *, explainer: Any = None, predict_fn: Any = None) -> str:  # noqa: ARG003
        captured: CapturedCall | None = getattr(explanation, CAPTURED, None)
        seen = captured is not None and captured.facts is not None and captured.facts.masker is not None
        return "" if seen or explainer is not None else MISSING_MASKER.format(kind=cls.masker_class)

    def read_parts(self, values: FloatArray, names: list[str], build: Any) -> None:
        """Read the values of all parts, and find the output that they add up to."""
        base = np.ravel(np.asarray(self.explanation.base_values, dtype=np.float64))
        if values.shape[1] != base.size:
            raise InvalidInputError(
                f"explanation: its values have {values.shape[1]} outputs, its base values {base.size}. Slice "
                "one text or image, explanation[0]."
            )
        outputs = self.explanation.output_names
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.instance = np.ones(len(names))
        row = Row(values, base, self.instance, names, None if outputs is None else list(map(str, outputs)))
        position = wanted_output(row, self.given_label, self.facts.output_names)
        ask = self.facts.model if self._predict_fn is None else self._predict_fn
        answers = Answers(PartsModel(ask or self.predict_fn, build), self.facts.link, None, None)
        check = np.stack([self.instance, np.zeros(len(names))])
        model, seen, asked = matched(
            row, position, [answers], check, self.given_label, self.facts, "the model"
        )
        self.evaluations, self.calls = asked * len(check), asked
        self.label = model.column
        self.label_name = None if row.outputs is None else row.outputs[min(position, len(row.outputs) - 1)]
        self.classifier = self.facts.probable and like_probabilities(seen)
        self.scale = 1.0 if self.classifier else float(np.ptp(seen))
        self.weights = np.ascontiguousarray(values[:, position])
        self.domain = Domain(tuple(ordered_axis(name, 0, 1, integer=True) for name in names))
        self.use(model=model, surrogate=sum_surrogate(float(base[position]), self.weights))

    def read_facts(self) -> ShapFacts:
        """What is known of the explainer, its masker above all."""
        facts: ShapFacts | None = self.captured.facts
        if self.explainer is not None:
            facts = read_explainer(self.explainer)
        if facts is None or not is_masker(facts.masker, self.masker_class):
            raise InvalidInputError(MISSING_MASKER.format(kind=self.masker_class))
        return facts


class ShapTextAdapter(ShapPartsAdapter):
    """One text of a `shap.Explanation` that was made with `shap.maskers.Text`."""

    kind = "shap text"
    masker_class = "Text"

    @classmethod
    def looks_alike(cls, explanation: Any) -> bool:
        tokens, names = explanation.data, explanation.feature_names
        if not isinstance(tokens, np.ndarray) or tokens.ndim != 1 or names is None:
            return False
        text = all(isinstance(token, str) for token in tokens.tolist())
        return text and [token.strip() for token in tokens.tolist()] == list(map(str, names))

    def read(self) -> None:
        tokens = self.explanation.data
        if not isinstance(tokens, np.ndarray) or tokens.ndim != 1:
            raise InvalidInputError("explanation: one text is required. Slice one: explanation[0].")
        self.facts = self.read_facts()
        parts = [str(token) for token in tokens.tolist()]
        text, masker = "".join(parts), self.facts.masker
        if list(masker.token_segments(text)[0]) != parts:
            raise InvalidInputError(
                f"explanation: its tokens, put together again as {text!r}, are cut into others by the "
                "masker's tokenizer. Pass the explainer that made it, or explain with "
                "shap.maskers.Text(r'\\W+')."
            )
        values = np.asarray(self.explanation.values, dtype=np.float64).reshape(len(parts), -1)
        names = unique_names([part.strip() or repr(part) for part in parts])
        self.notes.append(f"A word that is removed is replaced by {masker.mask_token!r}, as shap does it.")
        self.read_parts(values, names, MaskedParts(masker, text, np.arange(len(parts))))


class ShapImageAdapter(ShapPartsAdapter):
    """One image of a `shap.Explanation` that was made with `shap.maskers.Image`."""

    kind = "shap image"
    masker_class = "Image"

    @classmethod
    def looks_alike(cls, explanation: Any) -> bool:
        data, values = explanation.data, explanation.values  # of several inputs these are lists
        return getattr(data, "ndim", 0) == 3 and getattr(values, "ndim", 0) in (3, 4)

    def read(self, *, segments: Any = None, patches: int = PATCHES) -> None:
        """Read the patches.

        Parameters
        ----------
        segments : array of shape (height, width), optional
            The number of every pixel's superpixel, from 0 on. By default the image is cut into patches.
        patches : int
            How many of these there are, each way.
        """
        image = np.asarray(self.explanation.data)
        if image.ndim != 3:
            raise InvalidInputError(
                f"explanation: one image of height, width and channels is required; got shape {image.shape}. "
                "Slice one: explanation[0]."
            )
        self.facts = self.read_facts()
        if segments is None:
            segments = grid_of_patches(image.shape[:2], check_count("patches", patches))
        numbers, where = np.unique(np.asarray(segments), return_inverse=True)
        if where.size != image.shape[0] * image.shape[1]:
            raise InvalidInputError(
                f"segments: a number for each of {image.shape[:2]} pixels is required; got shape "
                f"{np.shape(segments)}."
            )
        where = np.repeat(where.reshape(-1), image.shape[2])  # every channel of a pixel goes with it
        pixels = np.asarray(self.explanation.values, dtype=np.float64).reshape(where.size, -1)
        values = np.zeros((numbers.size, pixels.shape[1]))
        np.add.at(values, where, pixels)
        self.batch_rows = int(np.clip(BATCH_BYTES // image.nbytes, 1, BATCH_ROWS))
        names = [f"patch {number}" for number in numbers.tolist()]
        self.read_parts(values, names, MaskedParts(self.facts.masker, image, where))


@dataclass(frozen=True, eq=False)
class MaskedParts:
    """A text or an image without some of its parts, made by shap's own masker.

    Parameters
    ----------
    masker : object
    whole : str or array
    part_of : array
        The part that each position of the masker's mask belongs to.
    """

    masker: Any
    whole: Any
    part_of: AnyArray

    def __call__(self, present: AnyArray) -> AnyArray:
        masks = present[:, self.part_of] > 0
        return np.concatenate([self.masker(mask, self.whole)[0] for mask in masks])

    def layout(self) -> Layout:
        """The text in the masker's tokens, or the image and its patches."""
        if isinstance(self.whole, str):
            tokens = self.masker.token_segments(self.whole)[0]
            return TextLayout(tuple((str(token), part) for part, token in enumerate(tokens)))
        part_of = self.part_of.reshape(self.whole.shape)[..., 0]
        return PictureLayout(self.whole, self(np.zeros((1, int(part_of.max()) + 1)))[0], part_of)


def grid_of_patches(shape: tuple[int, ...], patches: int) -> AnyArray:
    """The number of every pixel's patch, row by row.

    Examples
    --------
    >>> grid_of_patches((2, 4), 2)
    array([[0, 0, 1, 1],
           [2, 2, 3, 3]])
    """
    height, width = (np.arange(size) * min(patches, size) // size for size in shape)
    return np.asarray(height[:, np.newaxis] * (width.max() + 1) + width)


def is_masker(masker: Any, name: str) -> bool:
    """Whether it is a masker of shap of that class."""
    return any(kind.__name__ == name for kind in type(masker).__mro__)
