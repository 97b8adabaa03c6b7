"""What a shap explainer knows and its explanations do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import AnyArray, FloatArray

from .base import CapturedCall
from .predictors import FrameKind, TorchModel, as_array, asked_with_arrays
from .ranges import TrainingData
from .shap_model import Link
from .shap_trees import LIBRARIES, LibraryTrees


@dataclass(eq=False)
class ShapFacts:
    """What a shap explainer knows and its explanations do not.

    Parameters
    ----------
    kind : str
        The explainer's class.
    background : array of shape (B, D), or None
        The rows that stand for missing features.
    shares : array of shape (B,)
        Their weights; they sum to 1.
    frame : FrameKind or None
        The columns of the DataFrame that the explainer asks the model with, if it does.
    link : Link
        From the model's units to those explained.
    coefficients : array, or None
        Of a linear model.
    output_names : list of str, or None
    refused : str
        Why no region can be found for explanations of this explainer; empty if one can.
    model : callable or None
        The explainer's own copy of the model, in the units explained.
    batch : tuple of arrays, or None
        Values and data of all rows that were explained together.
    explained_frame : FrameKind or None
        The columns of the DataFrame that was explained, if it was one.
    trees : list or None
        The trees of a model that is explained without a background: their splits tell of the data.
    native : bool
        Whether the model is the library's own. XGBoost, LightGBM and CatBoost explain themselves if there is
        no background; then shap's copy is not asked, and may not even take their categories.
    masker : object
        What masks the words of a text or the patches of an image; None for rows of a table.
    approximate : bool
        Whether the explainer's values add up to the model's answer only about.
    probable, odds : bool
        Whether the units explained can be probabilities, or log-odds.
    """

    kind: str
    background: AnyArray | None
    shares: FloatArray
    frame: FrameKind | None
    link: Link
    coefficients: FloatArray | None
    output_names: list[str] | None
    refused: str
    model: Callable[[Any], Any] | None
    batch: tuple[AnyArray, AnyArray] | None = None
    explained_frame: FrameKind | None = None
    trees: list[Any] | None = None
    native: bool = False
    masker: Any = None
    approximate: bool = False
    probable: bool = True
    odds: bool = True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "model": None, "trees": None, "masker": None}

    def asked_frame(self, data: TrainingData | None) -> FrameKind | None:
        """The columns of the DataFrame that the explainer's own model is asked with; None for arrays."""
        known = (self.explained_frame, None if data is None else data.frame)
        if self.native:
            return next((frame for frame in known if frame is not None), None)
        return None if self.frame is None else self.frame.like(*known)

    def some_rows(self, who: str, most: int | None = None) -> tuple[AnyArray, FloatArray]:
        """The first background rows and their weights, or the error that asks for them."""
        if self.background is None:
            raise InvalidInputError(
                f"background: {who} needs rows that stand for missing features, and the explainer has none "
                "(a TreeExplainer made without data). Pass background= or training_data=."
            )
        rows, shares = self.background[:most], self.shares[:most]
        return rows, shares / shares.sum()


def read_explainer(explainer: Any) -> ShapFacts:
    """The facts of an explainer, by the family that it belongs to."""
    family = _family(explainer)
    background, shares, frame = _background(explainer, family)
    native = family == "tree" and background is None and explainer.model.model_type in LIBRARIES
    output = str(getattr(explainer, "model_output", ""))
    link = Link.of(getattr(explainer, "link", None)) if family in ("kernel", "masker") else Link("identity")
    probable, odds = family != "linear" and link.name != "logit", True
    if family == "tree":
        leaves = explainer.model.tree_output
        probable = output != "raw" or leaves == "probability"
        odds = output == "raw" and leaves == "log_odds"
    return ShapFacts(
        kind=type(explainer).__name__,
        background=background,
        shares=shares,
        frame=frame,
        link=link,
        coefficients=np.atleast_2d(explainer.coef) if family == "linear" else None,
        output_names=_names(getattr(explainer, "output_names", None)),
        refused=_refusal(explainer, family, output),
        masker=_parts_masker(explainer),
        approximate=family == "network",
        model=LibraryTrees(explainer.model.model_type, explainer.model)
        if native
        else _own_model(explainer, family),
        trees=explainer.model.trees if family == "tree" and background is None else None,
        native=native,
        probable=probable,
        odds=odds,
    )


def _family(explainer: Any) -> str:
    names = {c.__name__ for c in type(explainer).__mro__}
    if "TreeExplainer" in names:
        return "tree"
    if "LinearExplainer" in names:
        return "linear"
    if names & {"DeepExplainer", "GradientExplainer"}:
        return "network"
    return "kernel" if "KernelExplainer" in names else "masker"


def _background(explainer: Any, family: str) -> tuple[AnyArray | None, FloatArray, FrameKind | None]:
    if family == "network":
        rows = _network_rows(explainer.explainer)
        return rows, np.full(0 if rows is None else len(rows), 1.0 / (1 if rows is None else len(rows))), None
    masker = getattr(explainer, "masker", None)
    columns = getattr(masker, "feature_names", None) if getattr(masker, "output_dataframe", False) else None
    frame = None if columns is None else FrameKind(tuple(columns))
    if family == "kernel":
        weights = np.asarray(explainer.data.weights, dtype=np.float64)
        if "Frame" in type(explainer.data).__name__ or getattr(explainer, "keep_index", False):
            frame = FrameKind(tuple(explainer.data.group_names))
        return np.asarray(explainer.data.data), weights / weights.sum(), frame
    rows = explainer.data if family == "tree" else getattr(masker, "data", None)
    if rows is None or np.ndim(rows) != 2:
        return None, np.empty(0), frame
    if family == "tree":
        frame = None  # shap's copy of the trees takes arrays
    return np.asarray(rows), np.full(len(rows), 1.0 / len(rows)), frame


def _own_model(explainer: Any, family: str) -> Callable[[Any], Any] | None:
    if family == "tree":
        predict: Callable[[Any], Any] = explainer.model.predict
        return predict
    if family == "linear":
        return LinearModel(np.asarray(explainer.coef), explainer.intercept)
    if family == "network":
        network = asked_with_arrays(getattr(explainer.explainer, "model", None))
        return network if isinstance(network, TorchModel) else None
    inner = explainer.model.f if family == "kernel" else explainer.model
    return inner if callable(inner) else None


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The linear model that a LinearExplainer read from its model."""

    coefficients: FloatArray
    intercept: Any

    def __call__(self, X: AnyArray) -> FloatArray:
        return np.asarray(np.asarray(X, dtype=np.float64) @ self.coefficients.T + self.intercept)


def _refusal(explainer: Any, family: str, output: str) -> str:
    if output == "log_loss":
        return "it explains the loss, which needs the true label of every row"
    if family == "network" and getattr(explainer.explainer, "layer", None) is not None:
        return "it explains an inner layer, whose values are no features"
    return ""


def _network_rows(inner: Any) -> AnyArray | None:
    """The background of an explainer of networks, if it is one table."""
    data = getattr(inner, "data", None)
    data = data[0] if isinstance(data, list) and len(data) == 1 else data
    rows = None if data is None or isinstance(data, list) else as_array(data)
    return rows.astype(np.float64) if rows is not None and rows.ndim == 2 else None


def _parts_masker(explainer: Any) -> Any:
    masker = getattr(explainer, "masker", None)
    return masker if {"Text", "Image"} & {kind.__name__ for kind in type(masker).__mro__} else None


def _names(names: Any) -> list[str] | None:
    return None if names is None or isinstance(names, str) else [str(name) for name in names]


def capture(explainer: Any, explained: Any, explanation: Any) -> CapturedCall:
    """What to remember when an explainer is called, also of the rows that were explained together."""
    try:
        facts = replace(read_explainer(explainer), explained_frame=FrameKind.of(explained))
        values = np.asarray(explanation.values)
        if explanation.data is not None and values.ndim in (2, 3):
            facts = replace(facts, batch=(values, as_array(explanation.data)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:  # explaining goes on as ever
        facts = unread(type(explainer).__name__, f"it, or its explainer, cannot be read ({error})")
    return CapturedCall(facts=facts)


def unread(kind: str = "none", refused: str = "") -> ShapFacts:
    """The facts of an explainer of which nothing is known."""
    return ShapFacts(kind, None, np.empty(0), None, Link("identity"), None, None, refused, None)


def mend(explanation: Any) -> None:
    """Give every row its base values, where shap gives one an output, of which slices take the wrong one.

    SamplingExplainer does so.
    """
    shape = np.shape(explanation.values)
    if len(shape) == 3 and np.shape(explanation.base_values) == shape[2:]:
        explanation.base_values = np.tile(explanation.base_values, (shape[0], 1))
