"""What is asked of a model, and the first question: what cannot be audited is told before the audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lime_guarantee.cli.tables import listed
from lime_guarantee.errors import InvalidInputError, ModelError
from lime_guarantee.support.arrays import AnyArray

METHODS = ("predict_proba", "predict", "decision_function")
Method = Literal["predict_proba", "predict", "decision_function"]

FIRST_ROWS = 8
"""Rows of the data that a model is asked about before anything else."""

ROUNDING = 1e-6
"""What a probability may lie beyond 0 and 1 by."""


def chosen_method(model: Any, *, regression: bool, method: str | None) -> str | None:
    """The method to ask; None if the model is itself a function."""
    if method is not None:
        if not hasattr(model, method):
            raise InvalidInputError(f"--method: the model, a {_kind(model)}, has no {method}.")
        if method == "predict":
            _refuse_class_numbers(model)
        return method
    if regression and hasattr(model, "predict"):
        _refuse_class_numbers(model)
        return "predict"
    if not regression and hasattr(model, "predict_proba"):
        return "predict_proba"
    if hasattr(model, "predict"):
        _refuse_class_numbers(model)
        return "predict"
    if callable(model):
        return None
    wanted = "predict" if regression else "predict_proba"
    raise InvalidInputError(f"--model: it has no {wanted} and cannot be called. Give a function.")


def _refuse_class_numbers(model: Any) -> None:
    """Refuse to take the classes that a classifier predicts for numbers."""
    if not is_classifier(model):
        return
    if hasattr(model, "predict_proba"):
        ways = "Leave out --regression and --method predict: predict_proba is asked then"
    else:
        ways = (
            "Fit sklearn.calibration.CalibratedClassifierCV around it, which has predict_proba; or add "
            "--method decision_function, which explains its score as a number, in the score's own scale"
        )
    raise InvalidInputError(
        f"--model: {_kind(model)} is a classifier, and what it predicts are classes, not probabilities. "
        f"{ways}."
    )


def is_classifier(model: Any) -> bool:
    """Whether a fitted model knows classes."""
    return len(getattr(model, "classes_", ())) > 0


def class_names(model: Any) -> list[str] | None:
    """The names of the classes, unless they are their numbers."""
    names = [str(name) for name in getattr(model, "classes_", ())]
    return names if names and names != [str(i) for i in range(len(names))] else None


def check_columns(model: Any, columns: list[str], path: Any) -> None:
    """Raise unless the columns are those that the model was fitted on, as far as it tells."""
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is not None:
        wanted = [str(name) for name in fitted]
        if _plain(wanted) == _plain(columns):
            return
        more = [name for name in columns if name not in wanted]
        missing = [name for name in wanted if name not in columns]
        if more and not missing:
            raise InvalidInputError(
                f"--data: the model was fitted without {listed(more)}. If {path} holds the target, take it "
                "out of the file, and out of --rows."
            )
        what = f"it lacks {listed(missing)}" if missing else f"they stand in another order: {listed(wanted)}"
        raise InvalidInputError(
            f"--data: the columns of {path} must be those that the model was fitted on; {what}."
        )
    count = getattr(model, "n_features_in_", None)
    if count is not None and count != len(columns):
        raise InvalidInputError(
            f"--data: the model was fitted on {count} columns; {path} has {len(columns)}: {listed(columns)}. "
            "Leave out what is no feature, the target above all."
        )


def ask_first(ask: Callable[[Any], Any], rows: Any, *, regression: bool) -> None:
    """Ask about a few rows of the data; raise what would be the error of every row."""
    count = len(rows)
    try:
        answer = np.asarray(ask(rows))
    except Exception as error:
        raise ModelError(
            f"--model: asked about the first {count} rows of --data, it raised {type(error).__name__}: "
            f"{error}. Check that the columns are its features alone, without the target; --debug shows more."
        ) from error
    if answer.dtype.kind not in "fiub":
        raise ModelError(
            f"--model: numbers are required as answers; got {answer.ravel()[:1].tolist()}. For a classifier, "
            "give its predict_proba."
        )
    if answer.ndim == 0 or len(answer) != count:
        raise ModelError(f"--model: asked about {count} rows, it answered with shape {answer.shape}.")
    _check_shape(answer, regression=regression)
    if not np.isfinite(answer.astype(np.float64)).all():
        raise ModelError(
            f"--model: asked about the first {count} rows of --data, it answered with NaN or infinity. Mend "
            "it, or leave out the rows and columns that it cannot deal with."
        )
    if not regression and np.any((answer < -ROUNDING) | (answer > 1 + ROUNDING)):
        raise ModelError(
            f"--model: probabilities are required, from 0 to 1; it answered {float(answer.max()):.4g}. Add a "
            "softmax to the model; or, if it predicts numbers, --regression."
        )


def _check_shape(answer: AnyArray, *, regression: bool) -> None:
    if not regression and answer.ndim != 2:
        raise ModelError(
            "--model: a probability for every class is required, a table of rows and classes; it answered in "
            f"shape {answer.shape}. Return what predict_proba returns; or, if it predicts numbers, add "
            "--regression."
        )
    if regression and answer.size != len(answer):
        raise ModelError(
            f"--model: one number a row is required; it answered in shape {answer.shape}. If these are "
            "probabilities of classes, give a function that returns them (module:function), without "
            "--regression and --method."
        )


def _plain(names: list[str]) -> list[str]:
    """Names without blanks: LightGBM replaces them."""
    return [name.replace(" ", "_") for name in names]


def _kind(model: Any) -> str:
    steps = getattr(model, "steps", None)
    return type(steps[-1][1] if steps else model).__name__
