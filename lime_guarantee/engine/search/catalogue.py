"""The searches that a user can name. A new search is a file beside this one, and a row here."""

from __future__ import annotations

from collections.abc import Callable

from lime_guarantee.engine.search.base import Search
from lime_guarantee.engine.search.boundary import Boundary
from lime_guarantee.engine.search.divide import Divide
from lime_guarantee.engine.search.greedy import Greedy
from lime_guarantee.engine.search.radial import Radial

SEARCHES: dict[str, Callable[..., Search]] = {
    "boundary": Boundary,
    "balanced": Boundary,  # what the default was called before
    "divide": Divide,
    "radial": Radial,
    "greedy": Greedy,
}
