"""The error budget of a region: how often, and at what level, it may be tried."""

from __future__ import annotations

from typing import Any

from lime_guarantee.engine.certify import bounds


class ErrorBudget:
    """What may be spent on wrong decisions: made once for a region, passed down, never restarted.

    To go on where an earlier run stopped, `attempts` says how many were made; they stay spent.
    """

    def __init__(self, confidence: float, attempts: int = 0) -> None:
        self.confidence = confidence
        self.attempts = attempts

    def next_level(self) -> float:
        """The error level of the next attempt, which is spent by asking for it."""
        self.attempts += 1
        return bounds.attempt_level(self.attempts, self.confidence)

    def __copy__(self) -> ErrorBudget:
        raise TypeError("an error budget cannot be copied: it would be spent twice")

    def __deepcopy__(self, memo: Any) -> ErrorBudget:
        return self.__copy__()
