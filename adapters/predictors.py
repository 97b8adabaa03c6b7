"""Models as the engine asks them: callables that pickle if the user's function does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from lime_guarantee.errors import ModelError
from lime_guarantee.problem.layout import Layout
from lime_guarantee.problem.problem import Problem
from lime_guarantee.space.tables import is_frame
from lime_guarantee.support.arrays import AnyArray, FloatArray
from lime_guarantee.support.imports import require

ROUNDING = 1e-5
"""How far beyond 0 or 1 a probability may be: sums of many float32 numbers."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """Some columns of what a function answers, whatever container it answers in.

    Parameters
    ----------
    predict_fn : callable
    columns : tuple of int, or None
        The classes that are wanted; None for a regression.
    """

    predict_fn: Callable[[Any], Any]
    columns: tuple[int, ...] | None

    def __call__(self, rows: Any) -> FloatArray:
        answer = self.predict_fn(rows)
        try:
            scores = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"predict_fn must answer with numbers; {error}. For a classifier pass predict_proba."
            ) from error
        if self.columns is None:
            return scores[:, 0] if scores.ndim == 2 else scores  # LIME, too, takes the first column
        single = scores.ndim == 2 and scores.shape[1] == 1
        # A single column that was explained is column 0 to LIME, whatever it is the probability of.
        if scores.ndim == 1 or (single and self.columns != (0,)):
            scores = _of_class_one(scores.ravel())
        if scores.ndim != 2:
            raise ModelError(
                "predict_fn must answer with a row of class scores for each row asked; got shape "
                f"{scores.shape}."
            )
        if max(self.columns) >= scores.shape[1]:
            raise ModelError(
                f"predict_fn answers with {scores.shape[1]} classes, but class {max(self.columns)} was "
                "explained. Pass the function that was explained."
            )
        return scores[:, self.columns[0]] if len(self.columns) == 1 else scores[:, list(self.columns)]


def like_probabilities(scores: FloatArray) -> bool:
    """Whether numbers could be probabilities; sums of many reach 1.0000000000000007.

    Examples
    --------
    >>> like_probabilities(np.array([0.0, 1.0000000000000007])), like_probabilities(np.array([1.1]))
    (True, False)
    """
    return bool(np.all((scores >= -ROUNDING) & (scores <= 1.0 + ROUNDING)))


def _of_class_one(scores: FloatArray) -> FloatArray:
    """Scores of both classes, from those of class 1."""
    if not like_probabilities(scores):
        raise ModelError(
            "predict_fn answers with a single number a row, and not all are probabilities. For a classifier "
            "pass predict_proba."
        )
    return np.column_stack([1.0 - scores, scores])


@dataclass(frozen=True, eq=False)
class FrameKind:
    """The columns of a DataFrame as they came, so that the model sees them again: names and types, in order.

    Parameters
    ----------
    columns : tuple
        Their names, which need not be text.
    dtypes : tuple
        Their types, categories included; empty if they are not known.

    Examples
    --------
    >>> import pandas as pd
    >>> kind = FrameKind.of(pd.DataFrame({"age": [3, 4], "owner": [True, False]}))
    >>> kind.frame([[5.0, 1.0]]).dtypes.tolist()
    [dtype('int64'), dtype('bool')]
    """

    columns: tuple[Any, ...]
    dtypes: tuple[Any, ...] = ()

    @classmethod
    def of(cls, data: Any) -> FrameKind | None:
        """The columns of a DataFrame; None of anything else."""
        return cls(tuple(data.columns), tuple(data.dtypes)) if is_frame(data) else None

    @property
    def names(self) -> list[str]:
        """The columns' names as text."""
        return [str(column) for column in self.columns]

    def frame(self, X: Any) -> Any:
        """Rows of raw values as such a DataFrame; a type that would change a value is not forced on it."""
        pandas = require("pandas", "a model that was fitted on a DataFrame", extra="pandas")
        frame = pandas.DataFrame(X, columns=list(self.columns)).infer_objects()
        pairs = zip(self.columns, self.dtypes, strict=False)
        return frame.astype({column: kind for column, kind in pairs if _keeps(frame[column], kind)})

    def like(self, *known: FrameKind | None) -> FrameKind:
        """The first of those known that has the same names, blanks aside; else these columns themselves."""
        for other in known:
            if other is not None and _plain_names(other) == _plain_names(self):
                return other
        return self


def _plain_names(kind: FrameKind) -> list[str]:
    return [name.replace(" ", "_") for name in kind.names]  # LightGBM replaces them, too


def _keeps(column: Any, kind: Any) -> bool:
    """Whether a column can be of a type, and all its values stay what they are."""
    categories = getattr(kind, "categories", None)
    if categories is not None:
        return bool(column.isna().eq(~column.isin(categories)).all())
    if getattr(kind, "kind", "O") not in "iub":
        return True
    numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
    allowed = np.isin(numbers, (0.0, 1.0)) if kind.kind == "b" else numbers == np.round(numbers)
    return bool(allowed.all())


@dataclass(frozen=True, eq=False)
class FrameModel:
    """A model that was fitted on a DataFrame, and is asked with one."""

    predict_fn: Callable[[Any], Any]
    kind: FrameKind

    def __call__(self, X: AnyArray) -> Any:
        return self.predict_fn(self.kind.frame(X))


def fitted_on_frame(predict_fn: Callable[[Any], Any], width: int) -> FrameKind | None:
    """The columns that the estimator behind a bound method was fitted with, if that was a DataFrame."""
    names = getattr(getattr(predict_fn, "__self__", None), "feature_names_in_", None)
    return None if names is None or len(names) != width else FrameKind(tuple(str(name) for name in names))


@dataclass(frozen=True, eq=False)
class TorchModel:
    """A network of torch, asked with arrays."""

    module: Any

    def __call__(self, X: AnyArray) -> Any:
        torch = import_module("torch")
        first = next(self.module.parameters(), None)
        kind = {} if first is None else {"dtype": first.dtype, "device": first.device}
        with torch.no_grad():
            return self.module(torch.as_tensor(np.asarray(X, dtype=np.float64), **kind)).cpu().numpy()


def asked_with_arrays(model: Any) -> Any:
    """A model that takes arrays: a network of torch takes tensors, all others stay as they are."""
    torch = sys.modules.get("torch")  # nobody has such a network who has not imported it
    module = getattr(getattr(torch, "nn", None), "Module", None)
    return TorchModel(model) if module is not None and isinstance(model, module) else model


def as_array(data: Any) -> AnyArray:
    """An array of numbers, a frame or a tensor as an array."""
    if hasattr(data, "detach"):
        data = data.detach().cpu()
    return np.asarray(data.to_numpy() if is_frame(data) else data)


@dataclass(frozen=True, eq=False)
class SparseModel:
    """A model of sparse rows, of which only some columns vary."""

    predict_fn: Callable[[Any], Any]
    columns: AnyArray
    width: int

    def __call__(self, X: AnyArray) -> Any:
        from scipy.sparse import csr_matrix

        count, varying = X.shape
        rows = (X.ravel(), np.tile(self.columns, count), np.arange(0, X.size + 1, varying))
        return self.predict_fn(csr_matrix(rows, shape=(count, self.width)))


@dataclass(frozen=True, eq=False)
class PartsModel:
    """A model of something made of parts, asked with rows that say which of them are present.

    Where a batch asks the same combination more than once, the model is asked once.
    """

    predict_fn: Callable[[Any], Any]
    build: Callable[[AnyArray], Any]

    def __call__(self, present: AnyArray) -> Any:
        distinct, back = np.unique(present, axis=0, return_inverse=True)
        answer = np.asarray(self.predict_fn(self.build(distinct)))
        if answer.ndim == 0 or len(answer) != len(distinct):
            raise ModelError(
                f"predict_fn was asked {len(distinct)} times and must answer as often; got shape "
                f"{answer.shape}."
            )
        return answer[back.reshape(-1)]


def whole(problem: Problem) -> Any:
    """What a problem about parts was made of, with all of them there: the text or the image; else None."""
    model = getattr(problem.model, "predict_fn", None)
    if not isinstance(model, PartsModel):
        return None
    return model.build(np.ones((1, len(problem.domain))))[0]


def layout_of(problem: Problem) -> Layout | None:
    """Where the parts of a text or an image stand in it; None where the problem is about neither."""
    build = getattr(getattr(problem.model, "predict_fn", None), "build", None)
    return None if build is None or not hasattr(build, "layout") else build.layout()
