"""Checks of arguments: each error names the parameter, what is required and what came."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from lime_guarantee.errors import InvalidInputError


def check_count(parameter: str, value: object, requirement: str = "a positive integer") -> int:
    """A positive integer, or the error.

    Examples
    --------
    >>> check_count("batch_rows", 10)
    10
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < 1:
        raise InvalidInputError(f"{parameter}: {requirement} is required; got {value!r}.")
    return int(value)


def check_open_share(parameter: str, value: object) -> float:
    """A number strictly between 0 and 1, or the error."""
    if not isinstance(value, numbers.Real) or not 0.0 < float(value) < 1.0 or 1.0 - float(value) == 1.0:
        raise InvalidInputError(
            f"{parameter}: a number between 0 and 1, both excluded, is required; got {value!r}."
        )
    return float(value)


def check_choice(parameter: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless a value is one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInputError(f"{parameter}: one of {list(choices)} is required; got {value!r}.")
