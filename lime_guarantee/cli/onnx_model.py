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

BESIDE = "session.model_external_initializers_file_folder_path"
"""onnxruntime's name for the folder of weights that lie beside a model, as torch puts them."""


def load_onnx(path: Path) -> OnnxModel:
    """The model in a file: a classifier if it answers with a score for each of several classes."""
    model = OnnxModel(path.read_bytes(), path.absolute().parent)
    try:
        unknown = sorted({one.type for one in model.session.get_inputs()} - TYPES.keys())
    except ModuleNotFoundError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"--model: {path} cannot be opened as ONNX ({error}). Export the model anew; for weights in the "
            "same file, torch.onnx.export takes external_data=False."
        ) from error
    if unknown:
        raise InvalidInputError(f"--model: {path} takes {', '.join(unknown)}; numbers or words are required.")
    return OnnxClassifier(model.content, model.folder) if model.scores_classes else model


class OnnxModel:
    """A model that predicts a number for every row.

    Parameters
    ----------
    content : bytes
        Of the file; this is what travels to workers.
    folder : Path
        Where the file lies, and weights beside it, if there are any.
    """

    def __init__(self, content: bytes, folder: Path) -> None:
        self.content = content
        self.folder = folder

    def __getstate__(self) -> dict[str, Any]:
        return {"content": self.content, "folder": self.folder}

    @cached_property
    def session(self) -> Any:
        """What runs the model, on one thread: an audit has a process for every core."""
        runtime = require("onnxruntime", "an .onnx model", extra="onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.add_session_config_entry(BESIDE, str(self.folder))
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

    @property
    def rows_at_once(self) -> int | None:
        """How many rows it takes, no more and no less; None if any number, as it should be."""
        shape = self.session.get_inputs()[0].shape or [None]
        return shape[0] if isinstance(shape[0], int) else None

    def _answers(self, rows: Any, output: int) -> AnyArray:
        table = rows.to_numpy() if hasattr(rows, "to_numpy") else np.asarray(rows)
        many = self.rows_at_once
        if many is None:
            return self._answered(table, output)
        padded = np.vstack([table, np.repeat(table[-1:], -len(table) % many, axis=0)])
        parts = [self._answered(padded[i : i + many], output) for i in range(0, len(padded), many)]
        return np.concatenate(parts)[: len(table)]

    def _answered(self, table: AnyArray, output: int) -> AnyArray:
        found = self.session.run([self.session.get_outputs()[output].name], self._fed(table))[0]
        if isinstance(found, list):  # a dictionary a row, from class to score
            found = [list(scores.values()) for scores in found]
        return np.asarray(found)

    def _fed(self, table: AnyArray) -> dict[str, AnyArray]:
        """Rows as the inputs want them: one for all columns, or one each, in the order of the columns."""
        inputs = self.session.get_inputs()
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
