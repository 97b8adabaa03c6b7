"""Numbers in words: short ones, and bounds that say none too much and leave no instance out.

A printed number stands for the float that is nearest to it, so ``0.1`` is taken to be 0.1 exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

FEWEST_DIGITS, MOST_DIGITS = 4, 16
"""Of a number that is shown; if even these leave it outside its bounds, it is shown in full."""

MOST_DECIMALS = 12
"""Of a bound that is shown; one that needs more is shown in full."""

EXACT = Context(prec=400)
"""No float below the largest has more digits, with those decimals."""


def number_text(value: object) -> str:
    """A raw value, a float to four digits.

    Examples
    --------
    >>> number_text(0.123456), number_text(12345), number_text("red")
    ('0.1235', '12345', 'red')
    """
    return f"{value:.{FEWEST_DIGITS}g}" if isinstance(value, float) else str(value)


def number_text_within(value: float, lower: float, upper: float) -> str:
    """A number of an interval, to four digits, or as many as it takes for the text to lie in it too.

    Examples
    --------
    >>> number_text_within(0.123456, 0.0, 1.0), number_text_within(0.123456, 0.0, 0.12347)
    ('0.1235', '0.12346')
    """
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        text = f"{value:.{digits}g}"
        # Rounding keeps the order: only where the text is a bound to the last bit do its decimals decide.
        if lower < float(text) < upper or decimal(lower) <= Decimal(text) <= decimal(upper):
            return text
    return repr(float(value))


def bound_texts_around(lower: float, upper: float, value: float | None) -> tuple[str, str]:
    """Bounds to about four digits of the width, rounded inwards, so that none too much is said.

    A bound has more digits if it would else leave the value out, or the value's text.

    Examples
    --------
    >>> bound_texts_around(-0.00259233, 0.14507, 0.05)
    ('-0.0025', '0.1450')
    >>> bound_texts_around(-0.00259233, 0.14507, -0.00259217)
    ('-0.0025923', '0.1450')
    """
    first, last = decimal(upper), decimal(lower)
    if value is not None:
        shown = decimal(value), Decimal(number_text_within(value, lower, upper))
        first, last = min(shown), max(shown)
    width = upper - lower
    decimals = 3 - math.floor(math.log10(width)) if width > 0 else MOST_DECIMALS + 1
    return (
        _rounded(lower, decimals, ROUND_CEILING, lambda bound: bound <= first),
        _rounded(upper, decimals, ROUND_FLOOR, lambda bound: bound >= last),
    )


def decimal(number: float) -> Decimal:
    """The shortest decimal number that stands for a float."""
    return Decimal(repr(float(number)))


def _rounded(bound: float, decimals: int, rounding: str, fits: Callable[[Decimal], bool]) -> str:
    """A bound with so many decimals, or as many more as it takes to fit; in full, if that are too many."""
    if decimals >= 0:  # wide intervals have bounds that are shown in full, too
        for count in range(decimals, MOST_DECIMALS + 1):
            rounded = decimal(bound).quantize(Decimal(1).scaleb(-count), rounding, EXACT)
            if fits(rounded):
                return f"{rounded:zf}"
    return repr(float(bound))
