"""What the explanations of LIME have in common: labels, weights, pages, and checks of what was read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.surrogates import LinearSurrogate, Terms
from lime_guarantee.support.arrays import AnyArray, FloatArray

from .base import Adapter, CapturedCall, reseeded

MISREAD = 1e-6
"""How far, relatively, a rebuilt surrogate may be from LIME's own value at the instance."""

Coefficients = tuple[FloatArray, AnyArray, FloatArray]
"""Intercepts (K,), features (m,) and their weights (m, K) for K labels."""


class LimeAdapter(Adapter):
    """The base of LIME's adapters: it knows the label, its columns, and LIME's own regressor.

    Attributes
    ----------
    keys : tuple
        The labels compared, as LIME's dictionaries have them: all classes, or the one looked at.
    columns : tuple of int, or None
        The columns of the model's answer that belong to them; None for a regression.
    """

    explanation_class = "lime.explanation.Explanation"
    explain_arguments: ClassVar[tuple[str, ...]] = ("data_row", "predict_fn")
    explainer_parts: ClassVar[tuple[str, ...]] = ("base",)  # it holds the kernel
    mapper = ""
    """The domain mapper's class: LIME's Explanation is one class for tables and texts."""

    keys: tuple[Any, ...]
    columns: tuple[int, ...] | None

    @classmethod
    def recognises(cls, explanation: Any) -> bool:
        mapper = getattr(explanation, "domain_mapper", None)
        return not cls.mapper or any(kind.__name__ == cls.mapper for kind in type(mapper).__mro__)

    @classmethod
    def capture(cls, explainer: Any, arguments: Mapping[str, Any], explanation: Any) -> CapturedCall:  # noqa: ARG003
        return CapturedCall(arguments.get("classifier_fn"))

    @classmethod
    def methods(cls) -> dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]:
        return {"as_html": with_region, "show_in_notebook": showing}

    @classmethod
    def reseeded(cls, explainer: Any, seed: int) -> Any:
        return reseeded(explainer, seed, "base", "discretizer")  # LIME keeps random numbers in three places

    @classmethod
    def explain_row(
        cls, explainer: Any, row: Any, predict_fn: Callable[[Any], Any] | None, seed: int, **call: Any
    ) -> Any:
        values = row.to_numpy() if hasattr(row, "to_numpy") else row
        return super().explain_row(explainer, values, predict_fn, seed, **call)

    def read_label(self, class_names: Sequence[Any] | None) -> None:
        """Choose what is compared: all classes if all were explained and none was named, else one label."""
        explanation = self.explanation
        self.classifier = getattr(explanation, "mode", "classification") != "regression"
        if not self.classifier:
            if self.given_label is not None:
                raise InvalidInputError(
                    f"label: a regression has none; got {self.given_label!r}. Leave label= out."
                )
            self.keys, self.columns = (explanation.dummy_label,), None
            return
        keys = {int(key): key for key in explanation.local_exp}
        scores = getattr(explanation, "predict_proba", None)
        by_class = self.given_label is None and self.given_agreement in ("auto", "class")
        if by_class and scores is not None and len(keys) == len(scores) > 1:
            self.label, self.columns = int(np.argmax(scores)), tuple(sorted(keys))
        else:
            self.label = self._chosen_label(keys, scores, class_names)
            self.columns = (self.label,)
        self.keys = tuple(keys[column] for column in self.columns)
        if class_names is not None:
            self.label_name = str(class_names[self.label])
            self.outputs = tuple(str(class_names[column]) for column in self.columns)

    def read_surrogate(
        self, width: int, made: Callable[[Coefficients], LinearSurrogate], instance: AnyArray
    ) -> None:
        """Rebuild LIME's regressor, and compare it with the values that LIME kept at the instance.

        The release of LIME keeps that of the last label explained, the development version those of all.
        """
        surrogate = made(self._coefficients(self.keys))
        last = self.keys if self.columns is None else (list(self.explanation.local_exp)[-1],)
        self._check_surrogate(self.keys, surrogate, instance)
        self._check_surrogate(last, made(self._coefficients(last)), instance)
        own = 0 if self.label is None or self.columns is None else self.columns.index(self.label)
        self.weights = np.zeros(width)
        for terms in (surrogate.steps, surrogate.slopes):
            self.weights[terms.features] = terms.weights[:, own]
        self.use(surrogate=surrogate)

    def _chosen_label(self, keys: dict[int, Any], scores: Any, class_names: Sequence[Any] | None) -> int:
        """The label asked for; else the one explained that the model finds likeliest."""
        label, top_labels = self.given_label, getattr(self.explanation, "top_labels", None)
        if not keys:
            raise InvalidInputError("explanation: it explains no label at all.")
        if label is None:
            if top_labels:
                return int(top_labels[0])
            return max(keys, key=lambda k: float(scores[k])) if scores is not None else next(iter(keys))
        names = [str(name) for name in class_names or ()]
        number = names.index(label) if isinstance(label, str) and label in names else label
        if isinstance(number, (int, np.integer)) and int(number) in keys:
            return int(number)
        known = [f"{k} ({names[k]})" if k < len(names) else str(k) for k in sorted(keys)]
        raise InvalidInputError(
            f"label: {label!r} was not explained. Explained: {', '.join(known)}. Explain others with labels= "
            "or top_labels= of explain_instance."
        )

    def _coefficients(self, keys: Sequence[Any]) -> Coefficients:
        pairs = [_weight_of(self.explanation.local_exp[key]) for key in keys]
        features = np.array(sorted(set().union(*pairs)), dtype=np.int64)
        weights = np.array([[of.get(f, 0.0) for of in pairs] for f in features.tolist()])
        intercept = [float(np.ravel(self.explanation.intercept[key])[0]) for key in keys]
        return np.array(intercept), features, weights.reshape(-1, len(keys))

    def _check_surrogate(self, keys: Sequence[Any], surrogate: LinearSurrogate, instance: AnyArray) -> None:
        kept = self.explanation.local_pred
        if not isinstance(kept, dict):
            last = list(self.explanation.local_exp)[-1]
            kept = {last: kept} if kept is not None else {}
        elif self.columns is None:
            kept = dict.fromkeys(keys, next(iter(kept.values())))  # a regression's is under another key
        own = np.ravel(surrogate(instance[np.newaxis]))
        for key, value in zip(keys, own, strict=True):
            theirs = float(np.ravel(kept[key])[0]) if key in kept else value
            if not abs(value - theirs) <= MISREAD * (1 + abs(theirs)):
                raise InvalidInputError(
                    f"explanation: its weights give {value:.6g} at the instance, but LIME's own regressor "
                    f"gave {theirs:.6g}. Either this is another instance or explainer than the one "
                    "explained, or the model_regressor is not linear in its weights (PoissonRegressor has a "
                    "logarithmic link)."
                )


def presence_surrogate(coefficients: Coefficients) -> LinearSurrogate:
    """A surrogate whose features are 1 while a part is there, and 0 once it is removed."""
    intercept, features, weights = coefficients
    count, outputs = weights.shape
    return LinearSurrogate(
        intercept,
        steps=Terms([], np.empty((0, outputs)), [], []),
        slopes=Terms(features, weights, np.zeros(count), np.ones(count)),
    )


def with_region(as_html: Callable[..., str]) -> Callable[..., str]:
    """LIME's page, with the region under LIME's own view once there is one."""

    @functools.wraps(as_html)
    def page(self: Any, *args: Any, **kwargs: Any) -> str:
        whole = as_html(self, *args, **kwargs)
        if getattr(self, "region", None) is None:
            return whole
        body, end, rest = whole.rpartition("</body>")
        return f"{body}<div>{self.region._repr_html_()}</div>{end}{rest}"

    return page


def showing(show_in_notebook: Callable[..., None]) -> Callable[..., None]:
    """LIME's view in a notebook, also where IPython has moved what LIME imports (from version 9 on)."""

    @functools.wraps(show_in_notebook)
    def show(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            show_in_notebook(self, *args, **kwargs)
        except ImportError:
            from IPython.display import HTML, display

            display(HTML(self.as_html(*args, **kwargs)))

    return show


def _weight_of(pairs: Any) -> dict[int, float]:
    """The weight of every feature; where LIME lists one more than once (short sparse rows), the sum."""
    if any(np.size(weight) != 1 for _, weight in pairs):
        raise InvalidInputError(
            "explanation: a feature has several weights, so LIME could not read its own regressor "
            "(SVR(kernel='linear') and others keep their weights in two dimensions). Explain with another "
            "model_regressor, such as LIME's default."
        )
    weights: dict[int, float] = {}
    for feature, weight in pairs:
        weights[int(feature)] = weights.get(int(feature), 0.0) + float(np.ravel(weight)[0])
    return weights
