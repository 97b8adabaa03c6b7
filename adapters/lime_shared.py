"""What the explanations of LIME have in common: labels, weights, and a check that they are read right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.problem import Predictor
from lime_guarantee.support.arrays import AnyArray, FloatArray

MISREAD = 1e-6
"""How far, relatively, a rebuilt surrogate may be from LIME's own value at the instance."""


@dataclass(frozen=True, eq=False)
class Reading:
    """The part of an explanation that a surrogate is made of.

    Parameters
    ----------
    label : int or None
        The class explained; None for a regression.
    keys : tuple
        The labels read, as LIME's dictionaries have them: all classes, or `label` alone.
    columns : tuple of int, or None
        The columns of the model's answer that belong to them.
    intercept : array of shape (K,)
    features : integer array of shape (m,)
        The features that have a weight.
    weights : array of shape (m, K)
    """

    label: int | None
    keys: tuple[Any, ...]
    columns: tuple[int, ...] | None
    intercept: FloatArray
    features: AnyArray
    weights: FloatArray

    @property
    def own_column(self) -> int:
        """Where the weights of the label itself are."""
        return 0 if self.label is None or self.columns is None else self.columns.index(self.label)

    def weight_of_features(self, count: int) -> FloatArray:
        """The weight of each of so many features for the label itself."""
        weights = np.zeros(count)
        weights[self.features] = self.weights[:, self.own_column]
        return weights


def read(explanation: Any, label: int | str | None, test: str, class_names: Sequence[Any] | None) -> Reading:
    """Read what an explanation says about a label, or about all classes if all were explained.

    The classes are compared together only where none was named and the test is about the class chosen.
    """
    if getattr(explanation, "mode", "classification") == "regression":
        if label is not None:
            raise InvalidInputError(f"label: a regression has none; got {label!r}. Leave label= out.")
        return _read_keys(explanation, None, (explanation.dummy_label,), None)
    keys = {int(key): key for key in explanation.local_exp}
    scores = getattr(explanation, "predict_proba", None)
    if label is None and test in ("auto", "class") and scores is not None and len(keys) == len(scores) > 1:
        own = int(np.argmax(scores))
        columns = tuple(sorted(keys))
        return _read_keys(explanation, own, tuple(keys[c] for c in columns), columns)
    own = _chosen_label(label, keys, scores, getattr(explanation, "top_labels", None), class_names)
    return _read_keys(explanation, own, (keys[own],), (own,))


def read_last(explanation: Any) -> Reading:
    """Read what an explanation says about the label explained last, whose value LIME always keeps."""
    if getattr(explanation, "mode", "classification") == "regression":
        return _read_keys(explanation, None, (explanation.dummy_label,), None)
    key = list(explanation.local_exp)[-1]
    return _read_keys(explanation, int(key), (key,), (int(key),))


def _chosen_label(
    label: int | str | None,
    keys: dict[int, Any],
    scores: Any,
    top_labels: Sequence[Any] | None,
    class_names: Sequence[Any] | None,
) -> int:
    """The label asked for; else the one explained that the model finds likeliest."""
    if not keys:
        raise InvalidInputError("explanation: it explains no label at all.")
    if label is None:
        if top_labels:
            return int(top_labels[0])
        return max(keys, key=lambda k: float(scores[k])) if scores is not None else next(iter(keys))
    names = [str(name) for name in class_names or ()]
    number = names.index(label) if isinstance(label, str) and label in names else label
    if isinstance(number, (int, np.integer)) and int(number) in keys:
        return int(number)
    known = [f"{k} ({names[k]})" if k < len(names) else str(k) for k in sorted(keys)]
    raise InvalidInputError(
        f"label: {label!r} was not explained. Explained: {', '.join(known)}. Explain others with labels= or "
        "top_labels= of explain_instance."
    )


def _read_keys(
    explanation: Any, label: int | None, keys: tuple[Any, ...], columns: tuple[int, ...] | None
) -> Reading:
    pairs = [_weight_of(explanation.local_exp[key]) for key in keys]
    features = np.array(sorted(set().union(*pairs)), dtype=np.int64)
    return Reading(
        label=label,
        keys=keys,
        columns=columns,
        intercept=np.array([float(np.ravel(explanation.intercept[key])[0]) for key in keys]),
        features=features,
        weights=np.array([[of.get(f, 0.0) for of in pairs] for f in features.tolist()]).reshape(
            -1, len(keys)
        ),
    )


def _weight_of(pairs: Any) -> dict[int, float]:
    """The weight of every feature; where LIME lists one more than once (short sparse rows), the sum."""
    if any(np.size(weight) != 1 for _, weight in pairs):
        raise InvalidInputError(
            "explanation: a feature has several weights, so LIME could not read its own regressor "
            "(SVR(kernel='linear') and others keep their weights in two dimensions). Explain with another "
            "model_regressor, such as LIME's default."
        )
    weights: dict[int, float] = {}
    for feature, weight in pairs:
        weights[int(feature)] = weights.get(int(feature), 0.0) + float(np.ravel(weight)[0])
    return weights


def check_reading(explanation: Any, reading: Reading, surrogate: Predictor, instance: AnyArray) -> None:
    """Compare the rebuilt surrogate with the value that LIME kept, if it kept one for a label read.

    The release keeps that of the last label explained, the development version those of all labels.
    """
    kept = explanation.local_pred
    if not isinstance(kept, dict):
        last = list(explanation.local_exp)[-1]
        kept = {last: kept} if kept is not None else {}
    elif reading.label is None:
        kept = dict.fromkeys(reading.keys, next(iter(kept.values())))  # a regression's is under another key
    own = np.ravel(surrogate(instance[np.newaxis]))
    for key, value in zip(reading.keys, own, strict=True):
        if key in kept:
            theirs = float(np.ravel(kept[key])[0])
            if not abs(value - theirs) <= MISREAD * (1 + abs(theirs)):
                raise InvalidInputError(
                    f"explanation: its weights give {value:.6g} at the instance, but LIME's own regressor "
                    f"gave {theirs:.6g}. Either this is another instance or explainer than the one "
                    "explained, or the model_regressor is not linear in its weights (PoissonRegressor has a "
                    "logarithmic link)."
                )
