"""LIME's explanations of texts: the words that may be removed, in any combination."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.surrogates import LinearSurrogate, Terms
from lime_guarantee.space.domain import Domain, ordered_axis
from lime_guarantee.support.arrays import AnyArray

from . import lime_shared
from .predictors import Outputs, PartsModel
from .request import Call, Context, Request, Subject, unique_names
from .subject import Sides


def capture(call: Call) -> Context:
    """What to remember when an explainer is asked to explain."""
    return Context(call.arguments.get("classifier_fn"))


def adapt(explanation: Any, request: Request) -> Subject:
    """Adapt an explanation of a text."""
    text = explanation.domain_mapper.indexed_string
    count = text.num_words()
    if count == 0:
        raise InvalidInputError("explanation: its text has no words, so there is nothing to remove.")
    predict_fn = request.model()
    reading = lime_shared.read(explanation, request.label, request.test, explanation.class_names)
    surrogate = checked_surrogate(explanation, reading, count)
    names = unique_names([str(text.word(i)) for i in range(count)])
    return Sides(
        kind="lime text",
        space="presence",
        label=reading.label,
        label_name=None if reading.label is None else str(explanation.class_names[reading.label]),
        weights=reading.weight_of_features(count),
        model=Outputs(PartsModel(predict_fn, Texts(text)), reading.columns),
        surrogate=surrogate,
        instance=np.ones(count),
        domain=Domain(tuple(ordered_axis(name, 0, 1, integer=True) for name in names)),
        classifier=True,
        seen=np.asarray(explanation.predict_proba)[list(reading.columns or ())],
    ).subject(request)


def checked_surrogate(explanation: Any, reading: lime_shared.Reading, count: int) -> LinearSurrogate:
    """The surrogate of so many parts, compared with what LIME kept: of its label, and of the last one."""
    for read in (reading, lime_shared.read_last(explanation)):
        lime_shared.check_reading(explanation, read, presence_surrogate(read), np.ones(count))
    return presence_surrogate(reading)


def presence_surrogate(reading: lime_shared.Reading) -> LinearSurrogate:
    """A surrogate whose features are 1 while a part is there, and 0 once it is removed."""
    count, outputs = reading.weights.shape
    return LinearSurrogate(
        reading.intercept,
        steps=Terms([], np.empty((0, outputs)), [], []),
        slopes=Terms(reading.features, reading.weights, np.zeros(count), np.ones(count)),
    )


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts without some of their words, made by LIME's own string."""

    text: Any

    def __call__(self, present: AnyArray) -> list[str]:
        return [
            self.text.raw_string() if row.all() else self.text.inverse_removing(np.flatnonzero(row == 0))
            for row in present
        ]
