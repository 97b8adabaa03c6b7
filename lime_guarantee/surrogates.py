"""Surrogates: small picklable callables that an explanation stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lime_guarantee.arrays import AnyArray, FloatArray
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem import Agreement, Predictor

SurrogateKind = Literal["logistic", "tree"]

SAMPLES = 2_000
HALVINGS = 20


@dataclass(frozen=True, eq=False)
class ClassifierSurrogate:
    """A fitted scikit-learn classifier, with a column for every class of the model it stands for."""

    classifier: Any
    classes: int

    def __call__(self, X: AnyArray) -> FloatArray:
        scores = np.zeros((len(X), self.classes))
        scores[:, np.asarray(self.classifier.classes_, dtype=np.int64)] = self.classifier.predict_proba(X)
        return scores


@dataclass(frozen=True, eq=False)
class ConstantSurrogate:
    """Always the same scores: what a surrogate is where the model gives a single class."""

    scores: FloatArray

    def __call__(self, X: AnyArray) -> FloatArray:
        return np.tile(self.scores, (len(X), 1))


def fit_surrogate(
    model: Predictor,
    instance: FloatArray,
    agreement: Agreement,
    *,
    kind: SurrogateKind = "logistic",
    scale: FloatArray | float = 1.0,
    faithful_share: float = 0.99,
    random_state: int | np.random.Generator | None = None,
) -> ClassifierSurrogate | ConstantSurrogate:
    """Fit a local surrogate to a classifier, as the paper does.

    It is trained on Gaussian samples around the instance, whose spread is the largest, among ever
    smaller ones, at which it is faithful to the model on `faithful_share` of them.

    Parameters
    ----------
    model : callable
        Maps an (n, D) array to n rows of class scores.
    instance : array of shape (D,)
    agreement : Agreement
        Tells where the surrogate is faithful.
    kind : {"logistic", "tree"}
        Logistic regression, or a decision tree of depth 3.
    scale : float or array of shape (D,)
        The features' standard deviations; 1 where they are standardised.
    faithful_share : float
        Share of the samples on which the surrogate must be faithful.
    random_state : int, Generator or None

    Returns
    -------
    callable, mapping an (n, D) array to n rows of class scores
    """
    makers: dict[str, Callable[[], Any]] = {"logistic": _logistic, "tree": _tree}
    if kind not in makers:
        raise InvalidInputError(f"kind: one of {sorted(makers)} is required; got {kind!r}.")
    rng = np.random.default_rng(random_state)
    directions = rng.standard_normal((SAMPLES, instance.size)) * scale
    surrogate: ClassifierSurrogate | ConstantSurrogate | None = None
    for spread in 2.0 ** np.linspace(1.0, 1.0 - HALVINGS / 2, HALVINGS + 1):
        X = instance + spread * directions
        scores = np.asarray(model(X), dtype=np.float64)
        chosen = scores.argmax(axis=1)
        if np.all(chosen == chosen[0]):
            surrogate = ConstantSurrogate(scores.mean(axis=0))
        else:
            surrogate = ClassifierSurrogate(makers[kind]().fit(X, chosen), scores.shape[1])
        if np.mean(agreement(scores, surrogate(X))) >= faithful_share:
            break
    assert surrogate is not None
    return surrogate


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))


def _tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=3, random_state=0)
