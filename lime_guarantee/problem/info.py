"""What was explained, and when the explanation counts as faithful."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from lime_guarantee.problem.agreement import Agreement, AgreementName, SameChange, SameClass, SameValue

Space = Literal["features", "presence"]

MEANINGFUL = 0.3
"""Tolerances beyond this share of the scale are not proposed: almost anything would be faithful."""


@dataclass(frozen=True)
class ExplanationInfo:
    """What a problem and its region say of the explanation that they belong to.

    Parameters
    ----------
    kind : str
        Such as ``"lime tabular"``.
    space : {"features", "presence"}
        "features": the axes are the model's features. "presence": they are parts of the instance (words,
        superpixels), 1 while it is there and 0 once it is removed.
    label : int or None
        The class that the explanation is about; None for a regression.
    label_name : str or None
        What that class is called.
    agreement : {"class", "value", "change"}
        When the explanation counts as faithful: it chooses the same class, gives the same value, or changes
        by the same amount.
    tolerance : float
        How far apart the two may be.
    model_at_instance, surrogate_at_instance : tuple of float
        What the model and the explanation say about the instance: one number, or a score for every class
        where all of them were explained.
    weights : tuple of float
        What the explanation says of every feature; 0 where it says nothing.
    notes : tuple of str
        What was guessed, and faults of the explanation library that touch this explanation.
    options : dict
        The adapter's own options, where they were given: what the explanation was read as.
    scale : float
        What a tolerance is a tenth of by default: 1 for probabilities, else the range seen.
    attributions : bool
        Whether a weight tells what the feature's own value contributes, as a SHAP value does, and is 0 where
        that value is average; else it tells what a change of the feature would do.
    outputs : tuple of str
        What each of the compared numbers is called, such as the names of the classes; empty if not known.

    Examples
    --------
    >>> info = ExplanationInfo("lime tabular", "features", 1, "yes", "class", 0.1, (0.9,), (0.7,), (0.4, 0.0))
    >>> round(info.gap, 3)
    0.2
    """

    kind: str
    space: Space
    label: int | None
    label_name: str | None
    agreement: AgreementName
    tolerance: float
    model_at_instance: tuple[float, ...]
    surrogate_at_instance: tuple[float, ...]
    weights: tuple[float, ...]
    notes: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    scale: float = 1.0
    attributions: bool = False
    outputs: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """How far apart model and explanation are at the instance, in the score of the model's class."""
        chosen = int(np.argmax(self.model_at_instance))
        return abs(self.model_at_instance[chosen] - self.surrogate_at_instance[chosen])

    @property
    def rule(self) -> Agreement:
        """The rule that decides where the explanation is faithful."""
        if self.agreement == "class":
            return SameClass(self.tolerance)
        if self.agreement == "value":
            return SameValue(self.tolerance)
        one = len(self.model_at_instance) == 1
        model, surrogate = self.model_at_instance, self.surrogate_at_instance
        return SameChange(
            self.tolerance,
            model[0] if one else np.array(model),
            surrogate[0] if one else np.array(surrogate),
        )

    def miss(self, changes: tuple[int, int] | None = None) -> str:
        """Why the explanation is not faithful at the instance itself, and the ways out.

        Parameters
        ----------
        changes : tuple of int, optional
            Of how many rows asked, and drawn across the domain, changes would be faithful: (faithful, asked).
        """
        chosen = int(np.argmax(self.model_at_instance))
        model, surrogate = self.model_at_instance[chosen], self.surrogate_at_instance[chosen]
        about = "" if self.label_name is None else f" for {self.label_name!r}"
        return (
            f"at the instance itself the model says {model:.4g}{about}, the explanation {surrogate:.4g}: a "
            f"gap of {self.gap:.4g}, and the tolerance is {self.tolerance:.4g}. Ways out: "
            "agreement='change', which compares changes from the instance on, as the bar chart shows them, "
            f"and leaves the intercept out{_would_give(changes)}; {self._other_ways}"
        )

    @property
    def _other_ways(self) -> str:
        """A tolerance above the gap, where it means something, and a better explanation."""
        needed = _above(self.gap)
        if needed <= MEANINGFUL * self.scale:
            return f"tolerance={needed:.4g} or more; or a better explanation."
        return f"or a better explanation (a tolerance above {self.gap:.4g} would say next to nothing)."


def _would_give(changes: tuple[int, int] | None) -> str:
    if changes is None:
        return ""
    return (
        f" (with it, the explanation is faithful at the instance and on {changes[0]} of {changes[1]} rows "
        "drawn across the domain)"
    )


def _above(gap: float) -> float:
    """A round number above the gap."""
    step = 10.0 ** np.floor(np.log10(gap)) / 10 if gap > 0 else 0.01
    above = float(np.floor(gap / step) + 1) * step
    return above if above - gap > step / 1000 else above + step  # rounding may have taken the gap itself
