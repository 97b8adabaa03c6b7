"""Find the model, the output and the units that an explanation is about; compare all copies of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import AnyArray, FloatArray

from .predictors import fitted_on_frame, like_probabilities
from .ranges import TrainingData
from .shap_facts import ShapFacts
from .shap_model import METHODS, Answers, Link, Row, matching_column, wanted_output

CHECKED_ROWS = 100
"""Background rows on which copies of a model are compared, and the range of its answers is seen."""


@dataclass(frozen=True, eq=False)
class Connection:
    """The model that a row belongs to.

    Parameters
    ----------
    position : int
        The output looked at, among those kept in the row.
    model : Answers
        The model's answer for that output, in the units explained.
    seen : array
        Its answers to the instance and to background rows.
    evaluations, calls : int
        What was asked of the model for this.
    """

    position: int
    model: Answers
    seen: FloatArray
    evaluations: int
    calls: int

    @property
    def like_probabilities(self) -> bool:
        """Whether the answers seen could be probabilities, so that they choose a class."""
        return like_probabilities(self.seen)


def connect(
    row: Row,
    facts: ShapFacts,
    predict_fn: Callable[[Any], Any] | None,
    label: int | str | None,
    estimator: Any,
    data: TrainingData | None,
) -> Connection:
    """Find the output explained, and compare all copies of the model that there are.

    Parameters
    ----------
    row : Row
    facts : ShapFacts
    predict_fn : callable or None
        The model as the user gave it, if so.
    label : int, str or None
        The output wanted.
    estimator : object
        What the explainer was made from, where that was seen.
    data : TrainingData or None
    """
    position = wanted_output(row, label, facts.output_names)
    check = row.instance[np.newaxis]
    if facts.background is not None:
        if facts.background.shape[1] != row.instance.size:
            raise InvalidInputError(
                f"explanation: it has {row.instance.size} features, its explainer's background has "
                f"{facts.background.shape[1]}. Do not slice features off: their values are part of the sum."
            )
        check = np.concatenate([check, facts.background[:CHECKED_ROWS]])
    elif facts.batch is not None:
        check = np.concatenate([check, facts.batch[1][:CHECKED_ROWS]])
    own = None
    if facts.model is not None:
        own = Answers(facts.model, facts.link, None, facts.asked_frame(data))
    copied = "shap's copy of the model"
    if predict_fn is None:
        model, answer, asked = matched(row, position, [own], check, label, facts, copied)
        if estimator is not None and not facts.native:
            asked += _same_estimator(estimator, answer, check, row, position)
    else:
        candidates = _candidates(predict_fn, facts, data, check)
        model, answer, asked = matched(row, position, candidates, check, label, facts, "the model")
        if own is not None:
            _, theirs, more = matched(row, position, [own], check, label, facts, copied)
            asked += more
            _compare(answer, theirs, row, position)
    return Connection(position, model, answer, asked * len(check), asked)


def _candidates(
    predict_fn: Callable[[Any], Any], facts: ShapFacts, data: TrainingData | None, check: AnyArray
) -> list[Answers]:
    """The user's function, as it is and, where the units explained are open, as log-odds."""
    if facts.kind not in ("none", "TreeExplainer", "LinearExplainer"):  # it asked a function: ask it alike
        return [Answers(predict_fn, facts.link, None, facts.asked_frame(data))]
    given = None if data is None else data.frame
    known = given or (facts.explained_frame if check.dtype == object else None)
    fitted = fitted_on_frame(predict_fn, check.shape[1])
    frame = known if fitted is None else fitted.like(given, facts.explained_frame)
    return [Answers(predict_fn, Link(name), None, frame) for name in ("identity", "logit")]


def matched(
    row: Row,
    position: int,
    candidates: list[Any],
    check: AnyArray,
    label: int | str | None,
    facts: ShapFacts,
    who: str,
) -> tuple[Answers, FloatArray, int]:
    """The candidate whose answer at the instance is what the values add up to; how many were asked."""
    said: list[str] = []
    for asked, candidate in enumerate(candidates, start=1):
        answers = candidate.every(check)
        column = matching_column(row, position, answers[0], label, facts.output_names)
        if column is not None:
            several = answers.shape[1] > 1
            chosen = replace(candidate, column=column if several else None)
            return chosen, answers[:, column], asked
        if not np.isnan(answers[0]).all():  # a logit of what is no probability says nothing
            said.append(", ".join(f"{number:.6g}" for number in answers[0]))
    raise InvalidInputError(
        f"explanation: base + sum(values) is {row.target[position]:.6g}, but {who} answers "
        f"{' or '.join(said) or 'nan'} at the instance. Slices that drop features, sums and differences of "
        "explanations have no region; else this is another model or row than the one explained, or other "
        "units: pass predict_fn= in the units explained."
    )


def _same_estimator(estimator: Any, answer: FloatArray, check: AnyArray, row: Row, position: int) -> int:
    """Compare shap's copy of an estimator with the estimator; returns how often that was asked."""
    asked, worst = 0, None
    for method in METHODS:
        predict_fn = getattr(estimator, method, None)
        if predict_fn is None:
            continue
        frame = fitted_on_frame(predict_fn, check.shape[1])
        labels = method == "predict" and hasattr(estimator, "predict_proba")
        for link in (Link("identity"), Link("logit")):
            theirs = Answers(predict_fn, link, None, frame).every(check)
            asked += 1
            scores = not labels and link.name == "identity" and theirs.shape[1] <= 2
            near = row.near(theirs, answer[:, np.newaxis], position)
            if near.all(axis=0).any():
                return asked
            if near[0].any():
                worst = theirs[:, int(np.argmax(near[0]))]
            elif worst is None and scores and not _same_order(theirs[:, -1], answer, row, position):
                worst = theirs[:, -1]
    if worst is not None:
        _compare(worst, answer, row, position)
    return asked


def _same_order(one: FloatArray, other: FloatArray, row: Row, position: int) -> bool:
    """Whether two answers rise together, or against each other: they may be the same, in other units."""
    ordered = other[np.argsort(one, kind="stable")]
    for rising in (ordered, ordered[::-1]):
        if row.near(rising, np.maximum.accumulate(rising), position).all():
            return True
    return False


def _compare(model: FloatArray, copy: FloatArray, row: Row, position: int) -> None:
    """Refuse a model that answers otherwise than the copy that was explained."""
    near = row.near(model, copy, position)
    if not near.all():
        worst = int(np.argmax(np.abs(model - copy)))
        where = "the instance" if worst == 0 else f"background row {worst - 1}"
        raise InvalidInputError(
            f"the model and the explainer's copy of it disagree: at {where} the model says "
            f"{model[worst]:.6g}, the copy {copy[worst]:.6g}. What was explained is the copy. (shap does not "
            "read all tree models right: HistGradientBoosting with categorical features is one.) Explain the "
            "model's own function, with shap.PermutationExplainer or KernelExplainer."
        )
