"""Models in ONNX files: run by onnxruntime, which runs no code of the file's own."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import AnyArray
from lime_guarantee.support.imports import require

TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}
"""What an input takes: onnxruntime's names, and numpy's types."""


def load_onnx(path: Path) -> OnnxModel:
    """The model in a file: a classifier if it answers with a score for each of several classes."""
    model = OnnxModel(path.read_bytes())
    try:
        unknown = sorted({one.type for one in model.session.get_inputs()} - TYPES.keys())
    except ModuleNotFoundError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"--model: {path} cannot be opened as ONNX ({error}). Export the model anew."
        ) from error
    if unknown:
        raise InvalidInputError(f"--model: {path} takes {', '.join(unknown)}; numbers or words are required.")
    return OnnxClassifier(model.content) if model.scores_classes else model


class OnnxModel:
    """A model that predicts a number for every row.

    Parameters
    ----------
    content : bytes
        Of the file; this is what travels to workers.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self.content}

    @cached_property
    def session(self) -> Any:
        """What runs the model, on one thread: an audit has a process for every core."""
        runtime = require("onnxruntime", "an .onnx model", extra="onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        return runtime.InferenceSession(self.content, options, providers=["CPUExecutionProvider"])

    @property
    def scores_classes(self) -> bool:
        """Whether there is a score for each of several classes: beside the class, or in several columns."""
        outputs = self.session.get_outputs()
        return len(outputs) > 1 or _columns(outputs[0]) > 1

    @property
    def n_features_in_(self) -> int | None:
        """How many columns it takes, if it tells."""
        inputs = self.session.get_inputs()
        return len(inputs) if len(inputs) > 1 else _columns(inputs[0]) or None

    @property
    def feature_names_in_(self) -> list[str] | None:
        """The columns that it takes, where each is an input of its own."""
        inputs = self.session.get_inputs()
        return [one.name for one in inputs] if len(inputs) > 1 else None

    def predict(self, rows: Any) -> AnyArray:
        """A number for every row."""
        return self._answers(rows, 0).reshape(len(rows), -1)[:, 0]

    def _answers(self, rows: Any, output: int) -> AnyArray:
        found = self.session.run([self.session.get_outputs()[output].name], self._fed(rows))[0]
        if isinstance(found, list):  # a dictionary a row, from class to score
            found = [list(scores.values()) for scores in found]
        return np.asarray(found)

    def _fed(self, rows: Any) -> dict[str, AnyArray]:
        """Rows as the inputs want them: one for all columns, or one each, in the order of the columns."""
        inputs = self.session.get_inputs()
        table = rows.to_numpy() if hasattr(rows, "to_numpy") else np.asarray(rows)
        if len(inputs) == 1:
            return {inputs[0].name: table.astype(TYPES[inputs[0].type])}
        return {one.name: table[:, [i]].astype(TYPES[one.type]) for i, one in enumerate(inputs)}


class OnnxClassifier(OnnxModel):
    """A model that gives every class a probability."""

    def predict_proba(self, rows: Any) -> AnyArray:
        """A probability for every class, the last of the outputs that have two dimensions."""
        return self._answers(rows, len(self.session.get_outputs()) - 1)


def _columns(tensor: Any) -> int:
    """The second length of a tensor; 0 if it is not known."""
    shape = tensor.shape or []
    return shape[1] if len(shape) == 2 and isinstance(shape[1], int) else 0
