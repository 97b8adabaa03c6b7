"""Bare arrays of SHAP values become explanations that know their region."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.tables import is_frame
from lime_guarantee.support.imports import require

from .base import CAPTURED
from .hooks import guaranteed_class
from .ranges import TrainingData
from .shap_facts import capture


def from_shap_values(
    values: Any, explainer: Any, data: Any, *, feature_names: Any = None, training_data: Any = None
) -> Any:
    """A `shap.Explanation` that knows its region, of what ``explainer.shap_values(data)`` returned.

    Parameters
    ----------
    values : array, or list of arrays (one an output)
    explainer : object
        The shap explainer that made them.
    data : array or DataFrame
        The rows that were explained.
    feature_names : sequence of str, optional
        By default those of the DataFrame.
    training_data : array or DataFrame, optional
        As in `wrap`.

    Returns
    -------
    shap.Explanation
        Slice it as any other: ``explanation[0].guarantee_region()``.

    Examples
    --------
    >>> import shap
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = LinearRegression().fit(X, X @ [1.0, 2.0])
    >>> explainer = shap.LinearExplainer(model, X)
    >>> explanation = from_shap_values(explainer.shap_values(X[:3]), explainer, X[:3], training_data=X)
    >>> explanation[0].guarantee_region(random_state=0).status
    'certified'
    """
    shap = require("shap", "from_shap_values", extra="shap")
    values = np.stack(values, axis=-1) if isinstance(values, list) else np.asarray(values)
    rows = data.to_numpy() if is_frame(data) else np.asarray(data)
    if feature_names is None and is_frame(data):
        feature_names = [str(name) for name in data.columns]
    if values.ndim not in (2, 3) or values.shape[:2] != rows.shape:
        raise InvalidInputError(
            f"values: one for every row and feature is required (and output, as a third axis); got shape "
            f"{values.shape} for data of shape {rows.shape}."
        )
    base = np.asarray(explainer.expected_value, dtype=np.float64)
    base = (
        np.tile(np.ravel(base), (len(rows), 1))
        if values.ndim == 3
        else np.full(len(rows), float(base.ravel()[0]))
    )
    explanation = shap.Explanation(values, base, rows, feature_names=feature_names)
    captured = capture(explainer, data, explanation)
    if training_data is not None:
        captured = replace(captured, data=TrainingData.of(training_data))
    setattr(explanation, CAPTURED, captured)
    explanation.__class__ = guaranteed_class(shap.Explanation)
    return explanation
