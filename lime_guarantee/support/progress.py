"""Telling how far long work has come: a bar, the caller's own function, or nobody."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.imports import require


@dataclass(frozen=True)
class Progress:
    """What is known while a region is being looked for.

    Parameters
    ----------
    phase : str
        What the search does, or what became of a proposal: "accepted" or "rejected".
    attempts : int
        Proposals put to the test so far.
    evaluations : int
        Rows asked so far.
    log10_share : float
        Logarithm of the present shape's share of the measure.

    Examples
    --------
    >>> from lime_guarantee import Domain, find_region
    >>> def faithful(X):
    ...     return X[:, 0] < 2
    >>> domain, told = Domain.from_bounds([0], [1]), []
    >>> region = find_region(faithful, [0.5], domain, progress=told.append, random_state=0)
    >>> told[-1].phase, told[-1].attempts
    ('accepted', 1)
    """

    phase: str
    attempts: int
    evaluations: int
    log10_share: float


Watcher = Callable[[Progress], None]


def check_progress(progress: object) -> None:
    """Refuse what is neither a switch nor a callable."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InvalidInputError(f"progress: True, False, None or a callable is required; got {progress!r}.")


def watching(progress: bool | Watcher | None, max_evaluations: int | None) -> AbstractContextManager[Watcher]:
    """Something to tell progress to: nobody, the caller's own function, or a bar."""
    if progress is True:
        return _watching_bar(max_evaluations)
    return nullcontext(progress if callable(progress) else _ignore)


def counting(progress: bool, total: int, unit: str) -> AbstractContextManager[Callable[[int], object]]:
    """Something to tell how many more are done: a bar, or nobody; only the bar needs tqdm.

    Examples
    --------
    >>> with counting(False, total=2, unit=" explanations") as advance:
    ...     advance(1)
    """
    return _counting_bar(total, unit) if progress else nullcontext(_ignore)


def _ignore(_: object) -> None:
    """Nobody wants to know."""


@contextmanager
def _watching_bar(max_evaluations: int | None) -> Iterator[Watcher]:
    """A bar that counts evaluations."""
    with _bar(total=max_evaluations, unit=" evaluations", leave=False) as bar:

        def watcher(told: Progress) -> None:
            bar.set_description(told.phase, refresh=False)
            bar.set_postfix_str(f"share 10^{told.log10_share:.2f}, tried {told.attempts}", refresh=False)
            bar.update(told.evaluations - bar.n)

        yield watcher


@contextmanager
def _counting_bar(total: int, unit: str) -> Iterator[Callable[[int], object]]:
    with _bar(total=total, unit=unit) as bar:
        yield bar.update


def _bar(**options: Any) -> Any:
    """A bar of tqdm, in a notebook or a terminal."""
    with warnings.catch_warnings():
        # tqdm warns where a notebook lacks ipywidgets, and works all the same.
        warnings.simplefilter("ignore")
        tqdm = require("tqdm.auto", "progress=True", extra="progress").tqdm
    return tqdm(**options)
