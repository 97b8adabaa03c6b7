"""LIME's explainers of tables with other settings than the one that was given."""

from __future__ import annotations

from typing import Any

import numpy as np

from lime_guarantee.errors import InvalidInputError

from .registry import is_instance

TABLE_EXPLAINER = "lime.lime_tabular.LimeTabularExplainer"

DISCRETIZERS = ("quartile", "decile", "entropy", None)


def is_table_explainer(explainer: Any) -> bool:
    """Whether it is LIME's explainer of tables."""
    return is_instance(explainer, TABLE_EXPLAINER)


def lime_with(
    explainer: Any,
    training_data: Any,
    *,
    kernel_width: float | None = None,
    discretizer: str | None = "quartile",
    random_state: int | None = None,
) -> Any:
    """An explainer like the one given, with another kernel and other bins.

    Parameters
    ----------
    explainer : LimeTabularExplainer
    training_data : array of shape (n, D)
        What it was made from; it does not keep that.
    kernel_width : float, optional
        In units of LIME's default, 0.75 times the square root of the number of features.
    discretizer : {"quartile", "decile", "entropy"} or None
        None leaves numbers as they are.
    random_state : int, optional
    """
    if discretizer not in DISCRETIZERS:
        raise InvalidInputError(
            f"discretizer: one of {', '.join(map(repr, DISCRETIZERS))} is required; got {discretizer!r}."
        )
    data = np.asarray(training_data, dtype=np.float64)
    binned = [] if explainer.discretizer is None else explainer.discretizer.to_discretize
    all_columns, own = range(len(explainer.feature_names)), explainer.categorical_features
    codes = [i for i in all_columns if i not in binned] if explainer.discretizer is not None else list(own)
    default = 0.75 * np.sqrt(data.shape[1])
    return type(explainer)(
        data,
        mode=explainer.mode,
        feature_names=list(explainer.feature_names),
        categorical_features=codes,
        categorical_names=dict(explainer.categorical_names),
        kernel_width=None if kernel_width is None else float(kernel_width * default),
        class_names=explainer.class_names,
        feature_selection=explainer.feature_selection,
        discretize_continuous=discretizer is not None,
        **({} if discretizer is None else {"discretizer": discretizer}),
        sample_around_instance=explainer.sample_around_instance,
        random_state=random_state,
    )
