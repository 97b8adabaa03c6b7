"""LIME's explanations of texts: the words that may be removed, in any combination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.layout import TextLayout
from lime_guarantee.space.domain import Domain, ordered_axis
from lime_guarantee.support.arrays import AnyArray

from .base import unique_names
from .lime_base import LimeAdapter, presence_surrogate
from .predictors import Outputs, PartsModel


class LimeTextAdapter(LimeAdapter):
    """Explanations of `LimeTextExplainer`."""

    explainer_class = "lime.lime_text.LimeTextExplainer"
    explain_arguments = ("text_instance", "classifier_fn")
    mapper = "TextDomainMapper"
    kind = "lime text"
    space = "presence"

    def read(self) -> None:
        text = self.explanation.domain_mapper.indexed_string
        count = text.num_words()
        if count == 0:
            raise InvalidInputError("explanation: its text has no words, so there is nothing to remove.")
        self.instance = np.ones(count)
        self.read_label(self.explanation.class_names)
        self.read_surrogate(count, presence_surrogate, self.instance)
        names = unique_names([str(text.word(i)) for i in range(count)])
        self.domain = Domain(tuple(ordered_axis(name, 0, 1, integer=True) for name in names))
        self.said = np.asarray(self.explanation.predict_proba)[list(self.columns or ())]
        parts = PartsModel(self.predict_fn, Texts(text))
        self.use(model=Outputs(parts, self.columns))


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts without some of their words, made by LIME's own string."""

    text: Any

    def __call__(self, present: AnyArray) -> list[str]:
        return [
            self.text.raw_string() if row.all() else self.text.inverse_removing(np.flatnonzero(row == 0))
            for row in present
        ]

    def layout(self) -> TextLayout:
        """The text in LIME's own pieces; a word stands for all its places, or each of them for itself."""
        part_at = {
            int(place): part
            for part, places in enumerate(self.text.positions)
            for place in np.atleast_1d(places).tolist()
        }
        return TextLayout(tuple((str(piece), part_at.get(k)) for k, piece in enumerate(self.text.as_list)))
