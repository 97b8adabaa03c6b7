"""The best constant: what "the prediction stays what it is" would be worth in place of an explanation.

A constant is admissible if it is faithful at the instance, by the same rule. The best one is chosen on the
draws on which the explanation is compared with it, so the interval allows for the choice: the one parameter
is cut into cells that are fixed before anything is drawn, and bounds hold for all cells together
(Bonferroni). Whatever constant a cell holds, it fails wherever both ends of the cell fail on the same side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lime_guarantee.engine.certify.bounds import anytime_interval
from lime_guarantee.problem.agreement import Agreement, SameChange, SameClass, SameValue
from lime_guarantee.support.arrays import BoolArray, FloatArray, IntArray

CELLS = 32
"""Into so many cells the values that a constant may have are cut."""


@dataclass(frozen=True)
class Gain:
    """How much of a region an explanation explains and the best admissible constant does not.

    Parameters
    ----------
    share : float
        Share of the draws on which the constant fails and the explanation does not.
    interval : pair of float
        Holds the share of the region, for the very best admissible constant.
    constant : float
        The best constant that was tried. Under the class rule it is the position of the class that it names.
    """

    share: float
    interval: tuple[float, float]
    constant: float


@dataclass(frozen=True, eq=False)
class Family:
    """Constants that differ in one number: those from `low` to `high`.

    On rows that are `exempt` none of them fails; on others, one fails where it is the tolerance or more away
    from the row's `score`.

    Parameters
    ----------
    name : float or None
        What the constant is called, where it is not called by its number.
    score : array of shape (n,)
    exempt : array of bool
    low, high : float
    closed : bool
        Whether the ends belong to it.
    """

    name: float | None
    score: FloatArray
    exempt: BoolArray
    low: float
    high: float
    closed: bool


def gain_over_constants(
    agreement: Agreement, model: FloatArray, faithful: BoolArray, at_instance: FloatArray, level: float
) -> Gain | None:
    """The gain over the best admissible constant; None where the rule is not one of ours.

    Parameters
    ----------
    agreement : Agreement
    model : array of shape (n,) or (n, K)
        The model's answers to draws from the region.
    faithful : array of bool
        Where the explanation is faithful.
    at_instance : array of shape () or (K,)
        The model's answer at the instance.
    level : float
        The probability with which the interval may fail.

    Examples
    --------
    >>> model = np.linspace(0, 1, 1_000)
    >>> gain = gain_over_constants(SameValue(0.1), model, np.ones(1_000, bool), np.array(0.5), 0.05)
    >>> gain.share, [round(end, 2) for end in gain.interval]
    (0.8, [0.73, 0.85])
    """
    if isinstance(agreement, SameClass):
        families = class_families(model, at_instance, agreement.tolerance)
    elif isinstance(agreement, SameValue | SameChange) and model.ndim == 1:
        families = [value_family(model, float(at_instance), agreement.tolerance)]
    else:
        return None
    each = level / len(families)
    gains = [_gain(family, faithful, agreement.tolerance, each) for family in families]
    best = min(gains, key=lambda gain: gain.share)
    low, high = (min(gain.interval[end] for gain in gains) for end in (0, 1))
    return Gain(best.share, (low, high), best.constant)


def value_family(score: FloatArray, at_instance: float, tolerance: float) -> Family:
    """All values that are within the tolerance of the model's at the instance."""
    nowhere = np.zeros(len(score), dtype=np.bool_)
    return Family(None, score, nowhere, at_instance - tolerance, at_instance + tolerance, closed=False)


def class_families(model: FloatArray, at_instance: FloatArray, tolerance: float) -> list[Family]:
    """Constants that name a class, and give every other one some score up to 1/2.

    Under the class rule such a constant is faithful where the model chooses its class, or where its score of
    the class that the model chooses is within the tolerance. It is admissible if that holds at the instance.
    """
    chosen, leading = _chosen_class(model)
    home, at_home = _chosen_class(np.asarray(at_instance)[np.newaxis])
    own, nearest = int(home[0]), max(0.0, float(at_home[0]) - tolerance)
    classes = 2 if model.ndim == 1 else model.shape[1]
    others = [k for k in range(classes) if k != own and nearest < 0.5]
    ranges = [(own, 0.0), *((k, nearest) for k in others)]
    return [Family(float(k), leading, chosen == k, low, 0.5, closed=True) for k, low in ranges]


def _chosen_class(scores: FloatArray) -> tuple[IntArray, FloatArray]:
    """The class that is chosen, row by row, and its score; a single score chooses class 1 from 0.5 on."""
    if scores.ndim == 1:
        chosen = (scores >= 0.5).astype(np.int64)
        return chosen, np.where(chosen, scores, 1.0 - scores)
    chosen = scores.argmax(axis=1)
    return chosen, scores[np.arange(len(scores)), chosen]


def _gain(family: Family, faithful: BoolArray, tolerance: float, level: float) -> Gain:
    edges = np.linspace(family.low, family.high, CELLS + 1)
    tried = edges if family.closed else edges[1:-1]
    score = np.sort(family.score[faithful & ~family.exempt])
    draws = len(faithful)
    each = level / (len(tried) + CELLS)
    fails = _below(score, tried - tolerance) + _above(score, tried + tolerance)
    surely = _below(score, edges[:-1] - tolerance) + _above(score, edges[1:] + tolerance)
    best = int(np.argmin(fails))
    high = anytime_interval(draws, fails[best], each)[1]
    low = anytime_interval(draws, surely.min(), each)[0]
    constant = float(tried[best]) if family.name is None else family.name
    return Gain(float(fails[best] / draws), (float(low), float(high)), constant)


def _below(score: FloatArray, limits: FloatArray) -> IntArray:
    """How many of the sorted scores are at most each of the limits."""
    return np.asarray(np.searchsorted(score, limits, side="right"))


def _above(score: FloatArray, limits: FloatArray) -> IntArray:
    """How many of the sorted scores are at least each of the limits."""
    return np.asarray(len(score) - np.searchsorted(score, limits, side="left"))
