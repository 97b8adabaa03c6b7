"""Trees that are explained without data: their own function, and what their splits tell of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from lime_guarantee.space.domain import Domain, categorical_axis, ordered_axis
from lime_guarantee.space.tables import is_number
from lime_guarantee.support.arrays import AnyArray, FloatArray

from .predictors import FrameKind

BEYOND = 0.5
"""How far the data are taken to reach beyond the outermost splits, as a share of their distance."""

MOST_TREES = 100
"""A row is led through so many trees at most."""

LIBRARIES = ("xgboost", "lightgbm", "catboost")


@dataclass(frozen=True, eq=False)
class LibraryTrees:
    """A model of XGBoost, LightGBM or CatBoost, in the units that it explains: before any link.

    Without a background, shap lets these libraries explain themselves. So this is the model that was
    explained, and it takes all that the library takes: DataFrames, with their categories.

    Parameters
    ----------
    library : str
    trees : object
        shap's TreeEnsemble, which keeps the library's own model.
    """

    library: str
    trees: Any

    def __call__(self, X: Any) -> Any:
        model = self.trees.original_model
        if self.library == "lightgbm":
            return model.predict(X, raw_score=True)
        if self.library == "catboost":
            return model.predict(X, prediction_type="RawFormulaVal")
        xgboost = import_module("xgboost")
        rounds = (self.trees.tree_limit or 0) // self.trees.num_stacked_models
        known = {**getattr(self.trees, "_xgb_dmatrix_props", {}), "enable_categorical": True}
        return model.predict(
            xgboost.DMatrix(X, **known),
            iteration_range=(0, rounds),
            output_margin=True,
            validate_features=False,
        )


@dataclass(frozen=True, eq=False)
class SplitRanges:
    """The range of every feature, as far as the splits of trees tell it, and rows that follow their cover.

    Parameters
    ----------
    lower, upper : arrays of shape (D,)
        Ends of the ranges; both are the instance's value where no tree looks at the feature.
    """

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, trees: Sequence[Any], instance: AnyArray) -> SplitRanges:
        """The ranges, widened to hold the instance."""
        home = np.array([float(value) if is_number(value) else np.nan for value in instance.tolist()])
        lower, upper = home.copy(), home.copy()
        for i, splits in enumerate(_splits(trees, home.size)):
            if splits.size == 0 or np.isnan(home[i]):
                continue
            low, high = min(splits.min(), home[i]), max(splits.max(), home[i])
            beyond = BEYOND * (high - low) or 1.0
            lower[i], upper[i] = low - beyond, high + beyond
        return cls(lower, upper)

    def domain(self, names: Sequence[str], instance: AnyArray, frame: FrameKind | None) -> Domain:
        """The ranges as axes; what the model sees as whole numbers stays whole."""
        kinds = () if frame is None else frame.dtypes
        whole = [getattr(kind, "kind", "O") in "iub" for kind in kinds] or [False] * len(names)
        axes = [
            categorical_axis(name, (value,))
            if np.isnan(low)
            else ordered_axis(name, low, high, integer=integer and float(value).is_integer())
            for name, value, low, high, integer in zip(
                names, instance, self.lower, self.upper, whole, strict=True
            )
        ]
        return Domain(tuple(axes))

    def rows(self, trees: Sequence[Any], rng: np.random.Generator, count: int) -> FloatArray:
        """Rows that go down every tree about as often as the training data did.

        A row is led through the trees in a random order. Where it may still go either way, it goes as many of
        the data did; then its feature lies on that side. At last values are drawn between what is left.
        """
        lower, upper = np.tile(self.lower, (count, 1)), np.tile(self.upper, (count, 1))
        for row in range(count):
            chosen = rng.permutation(len(trees))[:MOST_TREES]
            for tree in chosen.tolist():
                _descend(trees[tree], lower[row], upper[row], rng)
        return np.asarray(lower + rng.random(lower.shape) * (upper - lower))


def _splits(trees: Sequence[Any], width: int) -> list[FloatArray]:
    """The thresholds of every feature."""
    features = np.concatenate([tree.features[tree.children_left >= 0] for tree in trees])
    thresholds = np.concatenate([tree.thresholds[tree.children_left >= 0] for tree in trees])
    finite = np.isfinite(thresholds)
    return [thresholds[(features == i) & finite].astype(np.float64) for i in range(width)]


def _descend(tree: Any, lower: FloatArray, upper: FloatArray, rng: np.random.Generator) -> None:
    """Lead a row from a tree's root to a leaf, and narrow the bounds of the features that it passes."""
    node = 0
    while tree.children_left[node] >= 0:
        left, right = tree.children_left[node], tree.children_right[node]
        feature, threshold = tree.features[node], float(tree.thresholds[node])
        goes_left = upper[feature] <= threshold
        if lower[feature] < threshold < upper[feature]:
            cover = tree.node_sample_weight[left], tree.node_sample_weight[right]
            goes_left = rng.random() * (cover[0] + cover[1]) < cover[0]
            (upper if goes_left else lower)[feature] = threshold
        node = left if goes_left else right
