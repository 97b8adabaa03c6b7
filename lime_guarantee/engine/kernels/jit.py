"""The one decorator of every kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function at its first call and keep the result on disk.

    numba refuses to import a cached function when no place for the cache can be written (a read-only
    package and home); such a function is compiled anew in every process instead. There is no
    ``fastmath``: a guarantee rests on exact comparisons.
    """
    try:
        return cast(F, njit(cache=True)(function))
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return cast(F, njit(function))
