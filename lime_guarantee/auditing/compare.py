"""Two audits of the same rows, of a model and of the one that was retrained: what got worse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lime_guarantee.auditing.record import VERDICTS, AuditRecord, Verdict
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.tables import plain
from lime_guarantee.support.imports import require

if TYPE_CHECKING:
    from lime_guarantee.auditing.report import AuditReport

MAY_DIFFER = ("version", "model", "explainer", "rows", "training_data", "data", "random_state")
"""What two audits may differ in and still be compared: all that is not asked of an explanation."""

SHOWN = 10


@dataclass(frozen=True)
class Change:
    """An explanation whose verdict changed.

    Parameters
    ----------
    index : int
        Its place in both audits.
    before, after : str
        The verdicts.
    reason : str
        Of the later one.
    row : dict
        The values that were explained, by feature; empty where both audits ended in an error.
    coverage_before, coverage_after : float or None
        Share of the data inside the regions.
    """

    index: int
    before: Verdict
    after: Verdict
    reason: str
    row: Mapping[str, Any]
    coverage_before: float | None
    coverage_after: float | None

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={_text(value)}" for name, value in list(self.row.items())[:SHOWN])
        more = ", ..." if len(self.row) > SHOWN else ""
        row = f" ({shown}{more})" if shown else ""
        return f"#{self.index} was {self.before}, is {self.after}: {self.reason}{row}"


@dataclass(frozen=True)
class AuditComparison:
    """What changed between two audits of the same rows. Made by `AuditReport.compare`.

    Parameters
    ----------
    worse, better : tuple of Change
        The explanations whose verdict changed, those that are worst now first.
    before, after : dict
        How often each verdict was given.
    asked_differently : tuple of str
        What the audits did not ask alike, such as the purity: verdicts then differ for that, too.

    Examples
    --------
    >>> from lime_guarantee import Domain, Problem, SameValue, audit
    >>> def model(X):
    ...     return X[:, 0]
    >>> def retrained(X):
    ...     return X[:, 0] + (X[:, 1] > 0.5)
    >>> domain = Domain.from_bounds([0, 0], [1, 1], names=["age", "income"])
    >>> earlier = audit([Problem(model, model, SameValue(0.1), [0.5, 0.2], domain)])
    >>> later = audit([Problem(retrained, model, SameValue(0.1), [0.5, 0.2], domain)])
    >>> compared = later.compare(earlier)
    >>> [(change.index, change.before, change.after, change.row) for change in compared.worse]
    [(0, 'trusted', 'dishonest', {'age': 0.5, 'income': 0.2})]
    >>> print(str(compared).splitlines()[0])
    1 of 1 explanations got worse, 0 got better.
    """

    worse: tuple[Change, ...]
    better: tuple[Change, ...]
    before: Mapping[str, int]
    after: Mapping[str, int]
    asked_differently: tuple[str, ...] = ()

    def __str__(self) -> str:
        total = sum(self.after.values())
        lines = [f"{len(self.worse)} of {total} explanations got worse, {len(self.better)} got better."]
        if self.asked_differently:
            lines.append(f"The audits asked differently: {', '.join(self.asked_differently)}.")
        lines += ["", *_counts(self.before, self.after)]
        if self.worse:
            lines += ["", *map(str, self.worse[:SHOWN])]
        if len(self.worse) > SHOWN:
            lines.append(f"... and {len(self.worse) - SHOWN} more (see worse).")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every explanation whose verdict changed, and its values."""
        pandas = require("pandas", "AuditComparison.to_frame", extra="pandas")
        changes = [*self.worse, *self.better]
        rows = [{**_fields(change), **change.row} for change in changes]
        return pandas.DataFrame(rows, columns=None if rows else list(FIELDS))


FIELDS = ("index", "before", "after", "reason", "coverage_before", "coverage_after")


def compare(later: AuditReport, earlier: AuditReport) -> AuditComparison:
    """What changed from one audit to the next."""
    if len(later) != len(earlier):
        raise InvalidInputError(
            f"earlier: an audit of the same {len(later)} rows is required; it has {len(earlier)}."
        )
    if later.about.get("rows") != earlier.about.get("rows"):
        _check_rows(later, earlier)
    changes = list(_changes(later, earlier))
    keys = sorted((later.about.keys() | earlier.about.keys()) - set(MAY_DIFFER))
    return AuditComparison(
        worse=_worst_first([one for one in changes if _severity(one.after) > _severity(one.before)]),
        better=_worst_first([one for one in changes if _severity(one.after) < _severity(one.before)]),
        before=earlier.counts,
        after=later.counts,
        asked_differently=tuple(key for key in keys if later.about.get(key) != earlier.about.get(key)),
    )


def _changes(later: AuditReport, earlier: AuditReport) -> Iterator[Change]:
    for i, (after, before) in enumerate(zip(later.verdicts, earlier.verdicts, strict=True)):
        if after == before:
            continue
        new, old = later[i], earlier[i]
        row = _row(new) or _row(old)
        yield Change(new.index, old.verdict, new.verdict, new.reason, row, old.coverage, new.coverage)


def _check_rows(later: AuditReport, earlier: AuditReport) -> None:
    """Raise unless the rows are the same; of a row that ended in an error they are not known."""
    for new, old in zip(later, earlier, strict=True):
        mine, other = _row(new), _row(old)
        if mine and other and mine != other:
            name = next(name for name in (*mine, *other) if mine.get(name) != other.get(name))
            raise InvalidInputError(
                f"earlier: row {new.index} is another one: {name!r} is {mine.get(name)!r}, and was "
                f"{other.get(name)!r}. Audit the same rows in the same order."
            )


def _row(record: AuditRecord) -> dict[str, Any]:
    region = record.region
    if region is None:
        return {}
    return {name: plain(value) for name, value in zip(region.names, region.instance, strict=True)}


def _severity(verdict: Verdict) -> int:
    return VERDICTS.index(verdict)


def _worst_first(changes: Sequence[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda change: (-_severity(change.after), change.index)))


def _counts(before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[str]:
    for verdict, count in after.items():
        if count or before[verdict]:
            yield f"{before[verdict]:>7,} -> {count:>7,}  {verdict}"


def _fields(change: Change) -> dict[str, Any]:
    return {name: getattr(change, name) for name in FIELDS}


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
