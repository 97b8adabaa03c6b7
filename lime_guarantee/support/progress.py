"""Telling how a search is getting on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.imports import require


@dataclass(frozen=True)
class Progress:
    """What is known while a region is being looked for."""

    phase: str
    attempts: int
    evaluations: int
    log10_volume: float


Watcher = Callable[[Progress], None]


@contextmanager
def watching(progress: bool | Watcher | None, max_evaluations: int | None) -> Iterator[Watcher]:
    """Something to tell progress to: nothing, the caller's own function, or a bar."""
    if progress is None or progress is False:
        yield lambda _: None
    elif progress is True:
        with _bar(max_evaluations) as watcher:
            yield watcher
    else:
        yield progress


def check_progress(progress: object) -> None:
    """Refuse what is neither a switch nor a callable."""
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise InvalidInputError(f"progress: True, False, None or a callable is required; got {progress!r}.")


@contextmanager
def progress_bar(*, shown: bool, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:
    """Something to tell how many are done; tqdm is needed only where it is shown."""
    if not shown:
        yield lambda _: None
        return
    with _tqdm()(total=total, unit=unit) as bar:
        yield bar.update


@contextmanager
def _bar(max_evaluations: int | None) -> Iterator[Watcher]:
    """A bar that counts evaluations, in a notebook or a terminal."""
    with _tqdm()(total=max_evaluations, unit=" evaluations", leave=False) as bar:

        def watcher(told: Progress) -> None:
            bar.set_description(told.phase, refresh=False)
            bar.set_postfix_str(f"volume 10^{told.log10_volume:.2f}, tried {told.attempts}", refresh=False)
            bar.update(told.evaluations - bar.n)

        yield watcher


def _tqdm() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # tqdm warns where a notebook lacks ipywidgets, and works all the same
        return require("tqdm.auto", "progress=True", extra="progress").tqdm
