"""The explanations of interpret's LimeTabular: LIME's own weights, in the object of another library."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import AnyArray

from .base import CAPTURED, CapturedCall
from .lime_table import LimeFacts, LimeTableAdapter, asked_with_frames, read_explainer
from .predictors import FrameKind, asked_with_arrays

MISSING_EXPLAINER = (
    "explainer: an explanation of interpret does not tell who made it. Pass explainer=, the LimeTabular; or "
    "make explanations with wrap(explainer) or after install(). Of interpret's explainers this one alone has "
    "regions: explain with shap itself in place of ShapKernel and ShapTree."
)


class InterpretLimeAdapter(LimeTableAdapter):
    """Explanations of `interpret.blackbox.LimeTabular`: of many rows, of which one is asked for."""

    explanation_class = "interpret.api.templates.FeatureValueExplanation"
    explainer_class = "interpret.blackbox.LimeTabular"
    explain_method = "explain_local"
    explain_arguments: ClassVar[tuple[str, ...]] = ("X", "y")
    explainer_parts: ClassVar[tuple[str, ...]] = ("lime_",)
    watched_explainers: ClassVar[tuple[str, ...]] = ()
    requires: ClassVar[tuple[str, ...]] = ("lime",)
    kind = "interpret's lime"
    keeps_model = True

    @classmethod
    def recognises(cls, explanation: Any) -> bool:
        return bool(explanation.explanation_type == "local")

    @classmethod
    def capture(cls, explainer: Any, arguments: Mapping[str, Any], explanation: Any) -> CapturedCall:  # noqa: ARG003
        try:
            facts: LimeFacts | str = read_explainer(explainer.lime_)
        except InvalidInputError as error:  # explaining goes on as ever; the region, if asked for, is refused
            facts = str(error)
        return CapturedCall(_function(explainer.model), None, facts)

    @classmethod
    def methods(cls) -> dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]:
        return {}

    @classmethod
    def reseeded(cls, explainer: Any, seed: int) -> Any:
        fresh = copy.copy(explainer)
        fresh.lime_ = super().reseeded(explainer.lime_, seed)
        return fresh

    @classmethod
    def explain_row(
        cls,
        explainer: Any,
        row: Any,
        predict_fn: Callable[[Any], Any] | None,  # noqa: ARG003 - the explainer holds it
        seed: int,  # noqa: ARG003 - LIME's random numbers are set by `reseeded`
        **call: Any,
    ) -> Any:
        rows = np.asarray(row)[np.newaxis]
        if hasattr(row, "to_frame"):  # a row of a DataFrame has lost the columns' types
            known = vars(explainer).get("_data")
            rows = FrameKind(tuple(row.index)).like(None if known is None else known.frame).frame(rows)
        return explainer.explain_local(rows, **call)

    @classmethod
    def missing_input(cls, explanation: Any, *, explainer: Any = None, predict_fn: Any = None) -> str:  # noqa: ARG003
        captured: CapturedCall | None = getattr(explanation, CAPTURED, None)
        return MISSING_EXPLAINER if explainer is None and (captured is None or not captured.facts) else ""

    def read(self, row: int | None = None) -> None:
        """Read one of the rows that were explained together.

        Parameters
        ----------
        row : int, optional
            Its number; not needed if there is but one.
        """
        explanation = self.explanation
        self._take_explainer()
        X = _rows(explanation)
        place = self._place(row, len(X))
        self.given_instance = X[place]
        asked = asked_with_frames(self.predict_fn, X[place], self.data)
        answer = np.asarray(asked(X[[place]]), dtype=np.float64)
        self.evaluations, self.calls = 1, 1
        self.explanation = _as_lime_has_it(explanation, place, answer)
        super().read()
        self.explanation, self.said = explanation, None  # what the model said is not kept

    def _take_explainer(self) -> None:
        """Let LIME's own explainer be the explainer, and its model the model, where they were given."""
        missing = self.missing_input(self.explanation, explainer=self.explainer)
        if missing:
            raise InvalidInputError(missing)
        if self.explainer is None:
            return
        if not hasattr(self.explainer, "lime_"):
            raise InvalidInputError(MISSING_EXPLAINER)
        if self._predict_fn is None:
            self._predict_fn = asked_with_arrays(_function(self.explainer.model))
        self.explainer = self.explainer.lime_

    def _place(self, row: int | None, count: int) -> int:
        if row is None and count == 1:
            return 0
        if row is None or not 0 <= row < count:
            got = "none was given" if row is None else f"got {row!r}"
            raise InvalidInputError(
                f"row: {count} rows were explained together, and one of 0 to {count - 1} is required; {got}. "
                "Write guarantee_region(row=0)."
            )
        return int(row)

    def _check_row(self, facts: LimeFacts) -> None:
        """The row is the explanation's own."""

    @property
    def effective_tolerance(self) -> float:
        if self.tolerance is None and not self.classifier:
            raise InvalidInputError(
                "tolerance: there is no default, because interpret does not keep the range of the model's "
                "values that LIME saw. Pass tolerance=, in the units of the model."
            )
        return super().effective_tolerance


def _function(model: Any) -> Any:
    """What interpret asks: an estimator's probabilities or values, or the function itself."""
    for method in ("predict_proba", "predict"):
        if hasattr(model, method):
            return getattr(model, method)
    return model


def _rows(explanation: Any) -> AnyArray:
    """The rows that were explained, as LIME was given them."""
    for part in explanation.data(-1).get("mli", ()):
        if part["explanation_type"] == "evaluation_dataset":
            return np.asarray(part["value"]["dataset_x"], dtype=np.float64)
    raise InvalidInputError("explanation: it does not keep the rows that were explained.")


def _as_lime_has_it(explanation: Any, row: int, answer: AnyArray) -> SimpleNamespace:
    """One row's explanation with the names that LIME uses: of class 1, as interpret has it, or a value."""
    entry, places = explanation.data(row), list(explanation.feature_names)
    weights = [(places.index(name), w) for name, w in zip(entry["names"], entry["scores"], strict=True)]
    chooses = answer.ndim == 2 and answer.shape[1] == 2
    return SimpleNamespace(
        mode="classification" if chooses else "regression",
        dummy_label=1,
        local_exp={1: weights},
        intercept={1: entry["extra"]["scores"][0]},
        local_pred=None,
        class_names=None,
        predict_proba=answer[0] if chooses else None,
        predicted_value=None if chooses else float(answer.ravel()[0]),
        min_value=0.0,
        max_value=0.0,
    )
