"""The statistics behind a certificate: one idea, one short function, one citation.

Throughout, a box has an unknown purity (the share of its measure that is faithful), `draws` points have been
drawn from the measure in it and `failures` of them were not faithful.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy import special, stats

from lime_guarantee.support.arrays import BoolArray, FloatArray

MIXTURE = np.arange(16) / 16
"""Failing rates against which evidence is gathered, as fractions of the highest allowed one."""

with np.errstate(divide="ignore"):
    _LOG_MIXTURE = np.log(MIXTURE)

ROUNDING = 1e-9
"""Evidence (a logarithm) must pass its threshold by this much, so that rounding cannot help it over."""


@cache
def series_bound(terms: int = 100_000) -> float:
    """An upper bound on the sum of ``1 / (j log(j + 1)^2)`` over all j >= 1.

    The terms fall, so those after the n-th add up to at most the integral of ``1 / (x log(x + 1)^2)`` from
    n on. There 1 / x <= (1 + 1/n) / (x + 1), and the integral of ``1 / ((x + 1) log(x + 1)^2)`` from n on
    is ``1 / log(n + 1)``.

    Examples
    --------
    >>> round(series_bound(), 4)
    3.3877
    """
    j = np.arange(1.0, terms + 1)
    head = float(np.sum(1.0 / (j * np.log1p(j) ** 2)))
    tail = (1.0 + 1.0 / terms) / np.log1p(terms)
    return float((head + tail) * (1.0 + 1e-12))  # rounding in the sum is far below this


def attempt_level(attempt: int, confidence: float) -> float:
    """The error level of the i-th attempt, i = 1, 2, ...: all of them sum to at most 1 - confidence.

    Havasi et al. (2024), algorithm 2.

    Examples
    --------
    >>> sum(attempt_level(i, 0.99) for i in range(1, 10_000)) < 0.01
    True
    """
    return float((1.0 - confidence) / (attempt * np.log1p(attempt) ** 2 * series_bound()))


def draws_without_failure(purity: float, level: float) -> int:
    """How many faithful draws in a row reject "at most `purity`": the least n with purity^n <= level.

    Havasi et al. (2024), algorithm 2.

    Examples
    --------
    >>> draws_without_failure(0.99, 0.01)
    459
    """
    draws = max(1, int(np.ceil(np.log(level) / np.log(purity))) - 1)
    while draws * np.log(purity) > np.log(level):
        draws += 1
    return draws


def log_evidence(draws: int, failures: int, purity: float) -> float:
    """Logarithm of the evidence against "the purity is at most `purity`", valid whenever one looks.

    With q0 = 1 - purity, the likelihood ratio of a failing rate q = t q0 to q0 itself, averaged over t in
    `MIXTURE`. If the true failing rate is q0 or more, each ratio is a non-negative supermartingale that
    starts at 1, and so is their mean: by Ville's inequality it ever reaches 1 / level with
    probability at most `level`. (Ville 1939; Robbins 1970; Howard et al. 2021.)

    For given draws and failures it rises with q0, that is, falls as `purity` rises.
    """
    ratios = (draws - failures) * _gain_per_success(purity)
    if failures:
        ratios = ratios + failures * _LOG_MIXTURE
    largest = ratios.max()
    return float(largest + np.log(np.exp(ratios - largest).mean()))


@lru_cache
def _gain_per_success(purity: float) -> FloatArray:
    """What a faithful draw adds to the logarithm of each likelihood ratio."""
    q0 = 1.0 - purity
    return np.asarray(np.log1p(-q0 * MIXTURE) - np.log1p(-q0))


def reaches(evidence: float, level: float) -> bool:
    """Whether evidence (a logarithm) is enough to reject at the level."""
    return bool(evidence >= -np.log(level) + ROUNDING)


def anytime_lower_bound(draws: int, failures: int, level: float) -> float:
    """The largest purity that `log_evidence` rejects at the level: a lower bound on the true one.

    The values not rejected form a confidence sequence, so the bound holds with probability at
    least 1 - level at all times together. It is 0 where nothing is rejected.
    """
    if not reaches(log_evidence(draws, failures, _ALMOST_ZERO), level):
        return 0.0
    low, high = _ALMOST_ZERO, 1.0
    while high - low > 1e-9:  # `low` is rejected throughout, so the result errs on the safe side
        middle = (low + high) / 2.0
        if reaches(log_evidence(draws, failures, middle), level):
            low = middle
        else:
            high = middle
    return low


_ALMOST_ZERO = 1e-12


def surprise(draws: int, failures: int, purity: float) -> float:
    """The probability of that many failures, or more, in a box of exactly this purity.

    Examples
    --------
    >>> round(surprise(100, 5, 0.99), 4)
    0.0034
    """
    if failures == 0:
        return 1.0
    return float(special.bdtrc(failures - 1, draws, 1.0 - purity))


def exact_lower_bound(draws: int, failures: int, level: float) -> float:
    """Clopper and Pearson's (1934) lower bound on the purity, for a number of draws fixed beforehand.

    Examples
    --------
    >>> round(exact_lower_bound(459, 0, 0.01), 4)
    0.99
    """
    if failures == draws:
        return 0.0
    return float(stats.beta.ppf(level, draws - failures, failures + 1))


def anytime_interval(draws: int, counts: Any, level: float) -> tuple[FloatArray, FloatArray]:
    """Intervals for shares of which `counts` were seen in so many draws, valid whenever one looks.

    The likelihood of the draws, averaged over all shares with Beta(1/2, 1/2) weights, over that at the true
    share p is a martingale that starts at 1. So the p at which it stays below 1 / level form a confidence
    sequence: they hold the true one at all times together with probability at least 1 - level. (Ville 1939;
    Robbins 1970; Howard et al. 2021, conjugate mixtures.)

    Examples
    --------
    >>> low, high = anytime_interval(1_000, [0, 310], 0.05)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.2584]), array([0.007, 0.365]))
    """
    counts = np.asarray(counts, dtype=np.float64)
    if draws == 0:
        return np.zeros(counts.shape), np.ones(counts.shape)
    mixed = special.betaln(counts + 0.5, draws - counts + 0.5) - special.betaln(0.5, 0.5)

    def rejected(share: FloatArray) -> BoolArray:
        likelihood = special.xlogy(counts, share) + special.xlog1py(draws - counts, -share)
        return np.asarray(mixed - likelihood >= -np.log(level) + ROUNDING)

    seen = counts / draws
    return _edge(np.zeros(counts.shape), seen, rejected), _edge(np.ones(counts.shape), seen, rejected)


def mean_interval(values: Any, level: float) -> tuple[FloatArray, FloatArray]:
    """Intervals for the means of numbers from 0 to 1, of which independent draws were seen.

    Each column of `values` holds the draws of one number. A gambler who puts the share c of what he has on
    "the mean is above m", draw by draw, multiplies it by 1 - c + c x / m. If the mean is at most m, this is a
    supermartingale, and so is its average over several c: it passes 2 / level with probability level / 2 at
    most. (Waudby-Smith and Ramdas 2023, betting; Markov's inequality.) The more m, the less he wins, so the m
    at which he wins that much lie below a bound. The upper bound is that of 1 - x.

    Examples
    --------
    >>> low, high = mean_interval(np.repeat([[0.0], [1.0]], [2, 58], axis=0), 0.05)
    >>> low.round(3), high.round(3)
    (array([0.839]), array([0.999]))
    """
    draws = np.asarray(values, dtype=np.float64)
    return _mean_lower(draws, level / 2), 1.0 - _mean_lower(1.0 - draws, level / 2)


def _mean_lower(draws: FloatArray, level: float) -> FloatArray:
    """The lower bounds of `mean_interval`, each at this level."""

    def rejected(mean: FloatArray) -> BoolArray:
        ratio = draws[:, :, np.newaxis] / np.maximum(mean, 1e-300)[:, np.newaxis]
        won = np.log1p(BETS * (ratio - 1.0)).sum(axis=0)
        return np.asarray(special.logsumexp(won, axis=1) - np.log(BETS.size) >= -np.log(level) + ROUNDING)

    means = np.asarray(draws.mean(axis=0))
    return _edge(np.zeros(means.size), means, rejected)


BETS = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9])
"""Shares of what he has that a gambler puts on a mean."""


def _edge(outer: FloatArray, inner: FloatArray, rejected: Callable[[FloatArray], BoolArray]) -> FloatArray:
    """Where rejection ends on the way from each outer number to its inner one, a little on the outer side."""
    inner = np.where(rejected(outer), inner, outer)
    for _ in range(INTERVAL_HALVINGS):
        middle = (outer + inner) / 2.0
        beyond = rejected(middle)
        outer, inner = np.where(beyond, middle, outer), np.where(beyond, inner, middle)
    return outer


INTERVAL_HALVINGS = 30
"""After so many, an end of an interval is exact to nine digits."""


def least_count(accepts: Callable[[int], bool], limit: int = 2**62) -> int:
    """The least positive number that is accepted (or `limit`), by doubling and halving.

    Examples
    --------
    >>> least_count(lambda count: count * count >= 50)
    8
    """
    high = 1
    while not accepts(high):
        high *= 2
        if high >= limit:
            return limit
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accepts(middle) else (middle, high)
    return high
