"""What changes when one cell of the very row that is explained is replaced, beside what the explanation says.

The cells come from the real rows that are most alike elsewhere, all of which are asked: what is said of the
row is a count, and no estimate. A model may be itself on few rows only, or on rows that it was not trained
on; the row that is explained is one on which it has to answer, and is asked first of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lime_guarantee.auditing.real_rows import RealRows
from lime_guarantee.auditing.reliance import DONORS, POOL, Donors, Swap, ask_swaps, decoded_swaps
from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.problem.problem import Problem
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import FloatArray

WEIGHT = 0.7
"""What a unit of change counts in honesty: less than one of reliance, because it is seen on one row only. A
gap of 0.5 is then one of 0.35, which `Rules.min_honesty` allows: half of the range, more than which no
probability moves without another class."""

NAMED = 3
"""Features that are named: of a row that is answered like no other, any change may change the answer."""


@dataclass(frozen=True)
class OwnRow:
    """How far the answer to the row moves with each of its cells, in the model and in the explanation.

    Parameters
    ----------
    changes : tuple of float
        Of every feature: how much the model's answer changes, in the mean over the cells that were tried; in
        shares of the range of its answers to real rows.
    claimed : tuple of float
        How much the explanation says that it changes; at least the feature's share of the weight.
    first : int or None
        The feature that has most of the weight: the explanation names it first, so it is not denied.
    cells : int
        Cells that were tried of every feature, from the rows that are most alike elsewhere.
    evaluations : int
        Rows that were asked of the model.
    examples : tuple of Swap
        Of the feature that is denied most.
    """

    changes: tuple[float, ...]
    claimed: tuple[float, ...]
    first: int | None
    cells: int
    evaluations: int
    examples: tuple[Swap, ...] = ()

    @property
    def gaps(self) -> tuple[float, ...]:
        """How much more the answer changes than is claimed; 0 of the feature that is named first."""
        pairs = zip(self.changes, self.claimed, strict=True)
        return tuple(0.0 if i == self.first else change - claim for i, (change, claim) in enumerate(pairs))

    @property
    def worst(self) -> int:
        """The position of the feature that is denied most."""
        return int(np.argmax(self.gaps))

    @property
    def honesty(self) -> float:
        """From 0 to 1: the less, the more the answer changes with a feature beyond what is claimed."""
        return float(np.clip(1.0 - WEIGHT * self.gaps[self.worst], 0.0, 1.0))

    def denied(self, by: float) -> tuple[int, ...]:
        """Positions of features whose gap counts more than this, the largest first."""
        found = [i for i, gap in enumerate(self.gaps) if WEIGHT * gap > by]
        return tuple(sorted(found, key=lambda i: -self.gaps[i]))


def look_at_own_row(
    problem: Problem,
    known: RealRows,
    weights: FloatArray,
    span: float,
    batch_rows: int = BATCH_ROWS,
) -> OwnRow:
    """Replace every cell of the row by those of the real rows that are most alike elsewhere.

    Parameters
    ----------
    problem : Problem
    known : RealRows
        At least one.
    weights : array of shape (D,)
        What the explanation says of every feature.
    span : float
        The range of the model's answers to real rows, above 0.
    batch_rows : int
        The most rows that the model is asked at once.
    """
    domain = known.domain
    home = domain.encode(problem.domain.row(problem.instance)[np.newaxis])
    cells = cells_to_try(home, known.coordinates[:POOL], domain)
    bases = np.repeat(home, DONORS, axis=0)
    label = None if problem.explained is None else problem.explained.label
    given = (bases, cells, domain, label, batch_rows)
    changes, asked = ask_swaps(problem.model_answers, *given)
    says, _ = ask_swaps(problem.surrogate_answers, *given)
    total = np.abs(weights).sum()
    shares = np.abs(weights) / total if total > 0 else np.zeros(len(domain))
    changed, claimed = changes.mean(axis=0) / span, np.maximum(says.mean(axis=0) / span, shares)
    first = named_first(weights)
    worst = int(np.argmax(np.where(np.arange(len(domain)) == first, -np.inf, changed - claimed)))
    different = np.unique(cells[:, worst], return_index=True)[1]
    return OwnRow(
        changes=tuple(changed.tolist()),
        claimed=tuple(claimed.tolist()),
        first=first,
        cells=DONORS,
        evaluations=asked,
        examples=decoded_swaps(bases[different], cells[different], changes[different, worst], worst, domain),
    )


def named_first(weights: FloatArray) -> int | None:
    """The feature that has most of the weight; None if none has any."""
    return int(np.argmax(np.abs(weights))) if np.any(weights) else None


def cells_to_try(home: FloatArray, pool: FloatArray, domain: Domain) -> FloatArray:
    """What the cells of a row are replaced by, of shape (DONORS, D).

    Where fewer rows have another value, these repeat; where none has, it is the row's own.
    """
    donors, cells = Donors(home, pool, domain), np.repeat(home, DONORS, axis=0)
    for i in range(len(domain)):
        alike, known = donors.alike(i)
        if known[0] > 0:
            cells[:, i] = pool[alike[0, np.arange(DONORS) % known[0]], i]
    return cells
