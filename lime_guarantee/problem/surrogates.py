"""Surrogates: small picklable callables that an explanation stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.agreement import Agreement
from lime_guarantee.problem.problem import Predictor
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import AnyArray, FloatArray

SurrogateKind = Literal["logistic", "tree"]

SAMPLES = 2_000
HALVINGS = 20

Formula = dict[str, Any]
"""A surrogate in plain types, for a page to evaluate: ``link(intercept + sum of terms)``.

``intercept`` has a number for each of K outputs, ``link`` is "identity" or "logistic". Each of ``terms``
looks at one ``feature``, in axis coordinates, and is of a ``kind``:

===== ================================================================================================
step  ``weights`` where the feature lies in ``(above, upto]``, else 0; None is infinity
slope ``weights * (feature - shift) / scale``
grid  ``values``, a row for every place in ``at``; interpolated between them, and constant beyond
table ``values``, a row for every category
===== ================================================================================================
"""

Parts = dict[int, FloatArray]
"""What single features add to a surrogate's answers, by the feature's position: those that may add anything.

Each array has the shape of the answers. With the intercept they add up to these. A surrogate that has such
parts is additive, and one of them can be taken out without asking it again.
"""

BLOCK = 4_096
"""Rows computed at once: what they need stays in the processor's cache."""


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

    def parts(self, X: AnyArray) -> Parts:  # noqa: ARG002 - no feature adds anything
        """See `Parts`."""
        return {}

    def to_formula(self, domain: Domain) -> Formula:  # noqa: ARG002 - the same everywhere
        """See `Formula`."""
        return {"link": "identity", "intercept": self.scores.tolist(), "terms": []}


@dataclass(frozen=True, eq=False)
class LinearSurrogate:
    """``intercept + sum of weights * z``, where z are simple functions of single features.

    Every row of the parameters is one z. On a row of `steps` it is 1 where the feature lies in
    ``(above, upto]`` and 0 elsewhere; on a row of `slopes` it is ``(feature - shift) / scale``.

    Parameters
    ----------
    intercept : array of shape (K,)
        One for each of K outputs.
    steps, slopes : Terms
        Both kinds of z.

    Examples
    --------
    >>> steps = Terms([0], [[1.0]], first=[2.0], second=[4.0])
    >>> slopes = Terms([1], [[10.0]], first=[1.0], second=[2.0])
    >>> LinearSurrogate(np.array([0.5]), steps, slopes)(np.array([[2.0, 1.0], [4.0, 3.0]]))
    array([ 0.5, 11.5])
    """

    intercept: FloatArray
    steps: Terms
    slopes: Terms

    def __call__(self, X: AnyArray) -> FloatArray:
        X = np.asarray(X, dtype=np.float64)
        answer = np.tile(self.intercept, (len(X), 1))
        for start in range(0, len(X), BLOCK):
            answer[start : start + BLOCK] += self._terms(X[start : start + BLOCK])
        return answer[:, 0] if answer.shape[1] == 1 else answer

    def _terms(self, X: FloatArray) -> FloatArray:
        steps, slopes = self.steps, self.slopes
        value = X[:, steps.features]
        # A missing value lies in the last bin, as it does in numpy's order.
        held = ~(value <= steps.first) & ~(value > steps.second)
        scaled = (X[:, slopes.features] - slopes.first) / slopes.second
        return np.asarray(held @ steps.weights + scaled @ slopes.weights)

    def parts(self, X: AnyArray) -> Parts:
        """See `Parts`."""
        X = np.asarray(X, dtype=np.float64)
        parts: Parts = {}
        for i in np.union1d(self.steps.features, self.slopes.features).tolist():
            own = LinearSurrogate(self.intercept, self.steps.of(i), self.slopes.of(i))._terms(X)
            parts[i] = own[:, 0] if own.shape[1] == 1 else own
        return parts

    def to_formula(self, domain: Domain) -> Formula:
        """See `Formula`; coordinates are those of the domain."""
        terms: list[Formula] = []
        for i in np.union1d(self.steps.features, self.slopes.features).tolist():
            own = LinearSurrogate(self.intercept, self.steps.of(i), self.slopes.of(i))
            terms += own._category_terms(domain, i) or own._number_terms()
        return {"link": "identity", "intercept": self.intercept.tolist(), "terms": terms}

    def _category_terms(self, domain: Domain, feature: int) -> list[Formula]:
        """A table with what every cell adds; nothing, if the coordinates are the values."""
        axis = domain.axes[feature]
        if axis.values_are_coordinates:
            return []
        X = np.zeros((axis.cells.size, len(domain)))
        X[:, feature] = axis.decode(axis.cells)
        return [{"kind": "table", "feature": feature, "values": self._terms(X).tolist()}]

    def _number_terms(self) -> list[Formula]:
        steps = [
            {"kind": "step", "feature": i, "weights": w, "above": _or_none(above), "upto": _or_none(upto)}
            for i, w, above, upto in self.steps.rows()
        ]
        slopes = [
            {"kind": "slope", "feature": i, "weights": w, "shift": shift, "scale": scale}
            for i, w, shift, scale in self.slopes.rows()
        ]
        return steps + slopes


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms of a linear surrogate.

    Parameters
    ----------
    features : integer sequence of length m
        The feature that each term looks at.
    weights : (m, K) array
        A weight for each of K outputs.
    first, second : sequences of length m
        ``above`` and ``upto`` of steps; ``shift`` and ``scale`` of slopes.
    """

    features: Any
    weights: Any
    first: Any
    second: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", np.asarray(self.features, dtype=np.int64))
        for name in ("first", "second", "weights"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))

    def of(self, feature: int) -> Terms:
        """The terms that look at one feature."""
        own = self.features == feature
        return Terms(self.features[own], self.weights[own], self.first[own], self.second[own])

    def rows(self) -> Iterator[tuple[int, list[float], float, float]]:
        """Term by term: feature, weights, first, second."""
        parts = (self.features, self.weights, self.first, self.second)
        return zip(*(part.tolist() for part in parts), strict=True)


@dataclass(frozen=True, eq=False)
class AdditiveSurrogate:
    """``base + sum of effects``, where each effect is a function of one feature, given on a grid.

    Between two grid points the effect is interpolated; beyond the last one it stays what it was.

    Parameters
    ----------
    domain : Domain
        Turns raw values into coordinates: those of the grids.
    base : float
    grids, effects : tuples of arrays
        The coordinates at which a feature's effect is known, and the effect there.

    Examples
    --------
    >>> domain = Domain.from_bounds([0, 0], [4, 0], categories={1: ["a", "b"]})
    >>> grids = (np.array([0.0, 4.0]), np.array([0.0, 1.0]))
    >>> effects = (np.array([0.0, 8.0]), np.array([0.5, -0.5]))
    >>> AdditiveSurrogate(domain, 1.0, grids, effects)(np.array([[1, "a"], [4, "b"]], dtype=object))
    array([3.5, 8.5])
    """

    domain: Domain
    base: float
    grids: tuple[FloatArray, ...]
    effects: tuple[FloatArray, ...]

    def __call__(self, X: AnyArray) -> FloatArray:
        coordinates = self.domain.encode(X)
        answer = np.full(len(coordinates), self.base)
        for i, (grid, effect) in enumerate(zip(self.grids, self.effects, strict=True)):
            if grid.size == 1:
                answer += effect[0]
            else:
                answer += np.interp(coordinates[:, i], grid, effect)
        return answer

    def parts(self, X: AnyArray) -> Parts:
        """See `Parts`; a feature with a single grid point adds the same everywhere."""
        coordinates = self.domain.encode(X)
        return {
            i: np.interp(coordinates[:, i], grid, effect)
            for i, (grid, effect) in enumerate(zip(self.grids, self.effects, strict=True))
            if grid.size > 1
        }

    def to_formula(self, domain: Domain) -> Formula:
        """See `Formula`; coordinates are those of the domain given, whose categories may be ordered anew."""
        terms: list[Formula] = []
        for i, (axis, grid, effect) in enumerate(zip(domain.axes, self.grids, self.effects, strict=True)):
            if axis.ordered:
                values = np.asarray(effect)[:, np.newaxis].tolist()
                terms.append({"kind": "grid", "feature": i, "at": grid.tolist(), "values": values})
            else:
                places = self.domain.axes[i].encode(axis.decode(axis.cells))
                values = np.interp(places, grid, effect)[:, np.newaxis].tolist()
                terms.append({"kind": "table", "feature": i, "values": values})
        return {"link": "identity", "intercept": [float(self.base)], "terms": terms}


def formula_of(surrogate: Predictor, domain: Domain) -> Formula | None:
    """A surrogate's formula in a domain's coordinates; None if it has none.

    Examples
    --------
    >>> slopes = Terms([0], [[10.0]], first=[1.0], second=[2.0])
    >>> surrogate = LinearSurrogate(np.array([0.5]), Terms([], np.empty((0, 1)), [], []), slopes)
    >>> formula_of(surrogate, Domain.from_bounds([0], [4]))["terms"]
    [{'kind': 'slope', 'feature': 0, 'weights': [10.0], 'shift': 1.0, 'scale': 2.0}]
    >>> formula_of(np.sin, Domain.from_bounds([0], [4])) is None
    True
    """
    describe = getattr(surrogate, "to_formula", None)
    # A formula speaks of values or of cells; an axis that is scaled otherwise has neither for coordinates.
    readable = all(axis.values_are_coordinates or axis.has_cells for axis in domain.axes)
    return None if describe is None or not readable else describe(domain)


def _or_none(bound: float) -> float | None:
    return bound if np.isfinite(bound) else None


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
