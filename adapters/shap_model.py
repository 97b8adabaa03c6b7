"""Which output of which model was explained, in which units: found by asking, never taken for granted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lime_guarantee.errors import GuaranteeError, InvalidInputError, ModelError
from lime_guarantee.problem.surrogates import Formula, formula_of
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray

from .base import one_row, unique_names
from .predictors import FrameKind, FrameModel, like_probabilities

ADDITIVITY = 1e-2
"""How far base + sum(values) may be from the model's answer, as a share of the sum of absolute values."""

APPROXIMATE = 0.5
"""The same, for explainers whose values add up to the model's answer only about: that is told, no more."""

METHODS = ("decision_function", "predict_proba", "predict")
"""Of an estimator: one of them has to agree with shap's copy of it."""


@dataclass(frozen=True, eq=False)
class Link:
    """From the units of a model's answer to those explained."""

    name: str
    function: Callable[[Any], Any] | None = None

    @classmethod
    def of(cls, link: Any) -> Link:
        """A link of shap, in either of its two forms."""
        for name in ("identity", "logit"):
            if link is None or name in (str(link), getattr(link, "__name__", "")):
                return cls("identity" if link is None else name)
        return cls("other", link.f if hasattr(link, "f") else link)

    def __call__(self, answer: FloatArray) -> FloatArray:
        if self.name == "identity":
            return answer
        if self.name == "logit":
            if like_probabilities(answer):
                answer = np.clip(answer, 0.0, 1.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(np.log(answer / (1.0 - answer)))
        assert self.function is not None
        return np.asarray(self.function(answer), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Answers:
    """One output of a model, in the units explained.

    Parameters
    ----------
    predict_fn : callable
    link : Link
    column : int or None
        Of several outputs; None if there is one.
    frame : FrameKind or None
        Where the model is asked with a DataFrame, its columns.
    """

    predict_fn: Callable[[Any], Any]
    link: Link
    column: int | None
    frame: FrameKind | None

    def every(self, X: AnyArray) -> FloatArray:
        """All outputs, (n, K), in the units explained."""
        ask = self.predict_fn if self.frame is None else FrameModel(self.predict_fn, self.frame)
        try:
            answer = np.asarray(ask(X), dtype=np.float64)
        except Exception as error:
            if isinstance(error, GuaranteeError):
                raise
            raise ModelError(
                f"the model must answer rows of features with numbers; it raised {type(error).__name__}: "
                f"{error}. If it needs a DataFrame, pass training_data=, a DataFrame like the one it was "
                "fitted on."
            ) from error
        if answer.ndim not in (1, 2) or len(answer) != len(X):
            raise ModelError(f"the model must answer {len(X)} rows with as many; got shape {answer.shape}.")
        return self.link(answer.reshape(len(X), -1))

    def __call__(self, X: AnyArray) -> FloatArray:
        every = self.every(X)
        return every[:, 0 if self.column is None else self.column]


@dataclass(frozen=True, eq=False)
class Row:
    """One row of an explanation.

    Parameters
    ----------
    values : array of shape (D, K)
        SHAP values; K is 1 unless several outputs were kept.
    base : array of shape (K,)
    instance : array of shape (D,)
    names : list of str
        The features' names.
    outputs : list of str, or None
        The outputs' names.
    error : float
        How far the sum may be from the model's answer, as a share of the sum of absolute values.
    """

    values: FloatArray
    base: FloatArray
    instance: AnyArray
    names: list[str]
    outputs: list[str] | None
    error: float = ADDITIVITY

    @property
    def target(self) -> FloatArray:
        """What the model must have answered, for every output."""
        return np.asarray(self.base + self.values.sum(axis=0))

    @property
    def like_probabilities(self) -> bool:
        """Whether the outputs are probabilities of classes; shap's sums may miss them by a little."""
        return bool(abs(self.target.sum() - 1.0) < ADDITIVITY and np.all(self.target > -ADDITIVITY))

    def near(self, answer: FloatArray, target: FloatArray, k: int) -> BoolArray:
        """Whether answers are what they should be, within the explainer's own error."""
        allowed = self.error * np.abs(self.values[:, k]).sum() + 1e-6 * (1.0 + np.abs(target))
        return np.asarray(np.abs(answer - target) <= allowed)


def row_of(explanation: Any, given: Any, base_values: Any) -> Row:
    """One row of an explanation, checked."""
    values = np.asarray(explanation.values)
    base = np.asarray(base_values)
    data = explanation.data if given is None else given
    if base_values is None:
        raise InvalidInputError(
            "explanation: it has no base value. Pass explainer=, the shap explainer that made it; or give it "
            "one, or use `from_shap_values`."
        )
    if data is None:
        raise InvalidInputError("explanation: it keeps no data. Pass instance=, the row that was explained.")
    instance = instance_of(data)
    if values.ndim >= 2 and values.shape[0] == 1 and values.shape[1] == instance.size:
        values, base = values[0], base[0] if base.ndim else base
    if values.ndim not in (1, 2) or values.shape[0] != instance.size:
        raise InvalidInputError(
            f"explanation: one row with a value for each of its features is required; got values of shape "
            f"{values.shape} for {instance.size} features. Slice one row, explanation[0]; keep all its "
            "features; interaction values have no region."
        )
    values = values.reshape(instance.size, -1).astype(np.float64)
    base = np.ravel(base).astype(np.float64)
    if values.shape[1] != base.size:
        raise InvalidInputError(
            f"explanation: its values have {values.shape[1]} outputs, its base values {base.size}. "
            "Interaction values have no region; slice one row, explanation[0]. Slices of what "
            "SamplingExplainer explains lose their base values, unless it is wrapped: wrap(explainer)."
        )
    if not (np.isfinite(values).all() and np.isfinite(base).all()):
        raise InvalidInputError(
            "explanation: some of its values are NaN or infinite. A logit link makes them so where the model "
            "is certain; explain probabilities instead, or clip the model's."
        )
    names = explanation.feature_names
    names = [f"x{i}" for i in range(instance.size)] if names is None else [str(n) for n in names]
    outputs = explanation.output_names
    if outputs is not None:
        outputs = [outputs] if isinstance(outputs, str) else [str(name) for name in outputs]
    return Row(values, base, instance, unique_names(names), outputs)


def instance_of(data: Any) -> AnyArray:
    """The row of an explanation."""
    shape = tuple(np.shape(data))
    if len(shape) != 1 and shape[:1] != (1,):
        raise InvalidInputError(
            f"explanation: one row is required; its data has shape {shape}. Slice one: explanation[0]."
        )
    return one_row(data)


def wanted_output(row: Row, label: int | str | None, known: Sequence[str] | None) -> int:
    """The position, among the outputs kept in the explanation, of the one to look at."""
    count = row.base.size
    names = row.outputs or (known if known and len(known) == count else None)
    names = list(names or [f"Output {k}" for k in range(count)])
    if count == 1:
        return 0  # which of the model's outputs it is, `matching_column` finds out
    if label is None:
        if row.like_probabilities:
            return int(np.argmax(row.target))  # the likeliest
        raise InvalidInputError(
            f"label: the explanation has {count} outputs. Choose one with label= ({', '.join(names)}), or "
            "slice it: explanation[row, :, output]."
        )
    if isinstance(label, str) and label in names:
        return names.index(label)
    if isinstance(label, (int, np.integer)) and 0 <= label < count:
        return int(label)
    raise InvalidInputError(f"label: {label!r} was not explained. Explained: {', '.join(names)}.")


def matching_column(
    row: Row, position: int, answer: FloatArray, label: int | str | None, names: Sequence[str] | None
) -> int | None:
    """The column of a model's answer at the instance, (K,), that was explained; None if none matches.

    Raises
    ------
    InvalidInputError
        If the label asked for is another one, or several columns match and nothing says which it is.
    """
    target = row.target[position]
    if row.base.size > 1:
        fits = position < answer.size and bool(row.near(answer[position], target, position))
        return position if fits else None
    near = np.flatnonzero(row.near(answer, target, position))
    if near.size == 0:
        return None
    wanted = _columns_of_label(row, label, names, answer.size)
    if label is not None and not set(near.tolist()) & wanted:
        raise InvalidInputError(
            f"label: {label!r} was not explained. The values are those of output "
            f"{' or '.join(map(str, near.tolist()))} of {answer.size}. Slice the other one, explanation[row, "
            ":, output], or leave label= out."
        )
    if near.size > 1:
        near = near[[k in wanted for k in near]]
    if near.size > 1:
        raise InvalidInputError(
            f"label: the explanation fits outputs {near.tolist()} of the model alike. Say which was "
            "explained with label=."
        )
    return int(near[0]) if near.size else None


def _columns_of_label(row: Row, label: int | str | None, names: Sequence[str] | None, count: int) -> set[int]:
    """The columns that a label, or the output's own name, points to; all, if they do not point anywhere.

    Raises
    ------
    InvalidInputError
        If the label is none of the outputs'.
    """
    known = list(names) if names is not None and len(names) == count else []
    if label is not None and count == 1:
        own = row.outputs[0] if row.outputs else None
        if label in (0, own, *known):
            return {0}
    if isinstance(label, (int, np.integer)) and 0 <= label < count:
        return {int(label)}
    name = label if label is not None else (row.outputs[0] if row.outputs else None)
    if name is not None and name in known:
        return {known.index(str(name))}
    numbered = re.fullmatch(r"Output (\d+)", str(name))
    if numbered and int(numbered[1]) < count:
        return {int(numbered[1])}
    if label is None or (row.outputs is not None and label == row.outputs[0]):
        return set(range(count))
    outputs = known or row.outputs or [f"Output {k}" for k in range(count)]
    raise InvalidInputError(f"label: {label!r} is none of the model's outputs: {', '.join(outputs)}.")


@dataclass(frozen=True, eq=False)
class Coalitions:
    """shap's own game: the features that are present keep their value, background rows replace the others."""

    model: Answers
    instance: AnyArray
    rows: AnyArray
    shares: FloatArray

    def __call__(self, present: AnyArray) -> FloatArray:
        count = len(present)
        stays = np.repeat(present > 0, len(self.rows), axis=0)
        asked = np.where(stays, self.instance, np.tile(self.rows, (count, 1)))
        answer = self.model(asked.astype(self.rows.dtype, copy=False))
        return np.asarray(answer.reshape(count, len(self.rows)) @ self.shares)


@dataclass(frozen=True, eq=False)
class Probability:
    """Log-odds turned into probabilities."""

    log_odds: Callable[[Any], FloatArray]

    def __call__(self, X: AnyArray) -> FloatArray:
        from scipy.special import expit

        return np.asarray(expit(self.log_odds(X)))

    def to_formula(self, domain: Domain) -> Formula | None:
        """See `lime_guarantee.problem.surrogates.Formula`; None if the log-odds have none."""
        formula = formula_of(self.log_odds, domain)
        return formula and {**formula, "link": "logistic"}
