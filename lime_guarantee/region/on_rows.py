"""A second certificate, on real rows: how many lie in a region, and on how many the explanation is faithful.

Bounds are for rows that neither fitted the model nor chose the region. Rows that did are counted, and no more
is said of them: a model knows its own training rows better than others.
"""

from __future__ import annotations

from dataclasses import dataclass

from lime_guarantee.engine.certify.bounds import exact_lower_bound, least_count
from lime_guarantee.region.report import lower_text
from lime_guarantee.space.domain import Domain
from lime_guarantee.support.arrays import BoolArray, FloatArray

FEWEST_FOR_A_SHARE = 59
"""With fewer rows inside, a share would say more than they do: even 59 faithful ones show but 95 %."""

SEEN_SHARE = 0.5
"""From this share of training rows on, rows do not count as fresh."""

MOST_NEEDED = 10_000_000
"""The most rows that are asked for."""


@dataclass(frozen=True)
class OnRows:
    """What real rows say about a region.

    Parameters
    ----------
    given, rows, faithful : int
        The rows given; those of them inside the region; those of these on which the explanation is faithful.
    purity : float
        What was asked of the region.
    confidence : float
        The probability with which each of the two lower bounds holds.
    fresh : bool
        Whether the rows neither fitted the model nor chose the region. If they did there are no bounds.

    Examples
    --------
    >>> seen = OnRows(given=1_700, rows=412, faithful=409, purity=0.99, confidence=0.95, fresh=True)
    >>> round(seen.fidelity, 4), round(seen.fidelity_lower, 4), round(seen.coverage_lower, 4)
    (0.9927, 0.9813, 0.2253)
    >>> seen.rows_needed
    361
    >>> few = OnRows(given=60, rows=20, faithful=20, purity=0.99, confidence=0.95, fresh=True)
    >>> few.rows_needed
    279
    """

    given: int
    rows: int
    faithful: int
    purity: float
    confidence: float
    fresh: bool

    @property
    def fidelity(self) -> float | None:
        """Share of the rows inside on which the explanation is faithful; None if there are none."""
        return self.faithful / self.rows if self.rows else None

    @property
    def coverage(self) -> float:
        """Share of the rows given that lie inside."""
        return self.rows / self.given

    @property
    def fidelity_lower(self) -> float | None:
        """Of rows like those inside at least this share is faithful; None for rows that are not fresh."""
        return self._lower(self.faithful, self.rows)

    @property
    def coverage_lower(self) -> float | None:
        """Of rows like those given at least this share lies inside; None for rows that are not fresh."""
        return self._lower(self.rows, self.given)

    @property
    def rows_needed(self) -> int:
        """How many more rows inside, all of them faithful, would show the purity that was asked for."""
        failures = self.rows - self.faithful
        level = 1.0 - self.confidence
        if self.rows and exact_lower_bound(self.rows, failures, level) >= self.purity:
            return 0
        return least_count(
            lambda more: exact_lower_bound(self.rows + more, failures, level) >= self.purity, MOST_NEEDED
        )

    def __str__(self) -> str:
        what = "held-out" if self.fresh else "training"
        counts = (
            f"Real rows: {self.rows:,} of {self.given:,} {what} rows lie inside, and {self.faithful:,} of "
            "these are faithful"
        )
        if not self.fresh:
            return f"{counts}; they had a part in the model or the region, so no more follows from them."
        if self.rows < FEWEST_FOR_A_SHARE:
            return (
                f"{counts}; {self.rows_needed:,} more inside, all faithful, would show {self.purity!r} "
                f"(confidence {self.confidence!r})."
            )
        faithful, covered = (
            lower_text(100 * (bound or 0.0), 3) for bound in (self.fidelity_lower, self.coverage_lower)
        )
        return (
            f"{counts}: at least {faithful} % of rows like them, and the limits hold at least {covered} % of "
            f"all (confidence {self.confidence!r} each)."
        )

    def _lower(self, happened: int, of: int) -> float | None:
        if not self.fresh or of == 0:
            return None
        return exact_lower_bound(of, of - happened, 1.0 - self.confidence)


def count_rows(
    inside: BoolArray, faithful: BoolArray, *, purity: float, confidence: float, fresh: bool
) -> OnRows:
    """What rows say: which of all lie inside, and which of those inside are faithful."""
    return OnRows(
        given=inside.size,
        rows=int(inside.sum()),
        faithful=int(faithful.sum()),
        purity=purity,
        confidence=confidence,
        fresh=fresh,
    )


def seen_before(coordinates: FloatArray, domain: Domain) -> bool:
    """Whether half of some rows, or more, seem to be rows of the data that a domain remembers in part."""
    if domain.observed is None or len(domain.observed_rows) == 0:
        return False
    known = {row.tobytes() for row in domain.observed_rows}
    found = sum(row.tobytes() in known for row in coordinates)
    return found * domain.observed.count >= SEEN_SHARE * len(coordinates) * len(domain.observed_rows)
