"""Settings: what is asked of a region. The one place for every default and check; kept in every result."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, TypedDict, TypeVar

import numpy as np

from lime_guarantee.engine.certify.certificate import CertifierName
from lime_guarantee.engine.certify.decisions import TESTS
from lime_guarantee.engine.search.base import Effort, Proposals, Search, Task
from lime_guarantee.engine.search.boundary import Boundary
from lime_guarantee.engine.search.catalogue import SEARCHES
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.cube import Cube
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.measure import MEASURES, Measure
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.support.checks import check_choice, check_count, check_open_share

Function = TypeVar("Function", bound=Callable[..., Any])


class SettingsOptions(TypedDict, total=False):
    """The fields of `Settings`, as keywords of the functions that take them."""

    purity: float
    confidence: float
    search: str | Search
    effort: Effort | None
    measure: str | Measure
    certifier: CertifierName
    max_evaluations: int | None
    batch_rows: int | None
    random_state: int | np.random.Generator | np.random.RandomState | None


@dataclass(frozen=True)
class Settings:
    """What is asked of a region: checked once, shared by all functions, kept whole in every result.

    Parameters
    ----------
    purity : float in (0, 1)
        Share of the region that is faithful: of its `measure`.
    confidence : float in (0, 1)
        Probability that the promise holds.
    search : {"boundary", "divide", "radial", "greedy"} or Search
        How boxes are proposed. A search object, such as ``Divide(positives=300)``, sets its own options.
    effort : {"low", "normal", "high"}, optional
        How much the boundary search spends; "normal" by default.
    measure : {"auto", "marginal", "joint", "uniform"} or Measure
        What shares are shares of. "marginal": each feature is drawn as it is distributed in the training
        data, independently. "joint": rows like those of the data; no promise for questions that move one
        feature alone. "uniform": the volume, as in the paper. "auto" is "marginal" where data are known, else
        "uniform"; words and superpixels are always uniform. A measure object, such as ``Marginal(X)``,
        brings data of its own.
    certifier : {"anytime", "zero-failure"}
        How boxes are tested. "zero-failure" is the paper's test, which a single failure sinks.
    max_evaluations : int, optional
        The number of rows never to be passed. The boundary search certifies the best box it has before it
        comes to that. If no box is certified by then, the region says so. A limit with which nothing could
        be certified, even if nothing failed, is refused before anything is asked.
    batch_rows : int, optional
        The most rows that the model is asked at once; by default 10,000, or what an adapter finds fitting.
    random_state : int, Generator, RandomState or None
        With the same integer, the same region, bit for bit. Of a RandomState a seed is drawn.

    Examples
    --------
    >>> settings = Settings(purity=0.95, effort="high")
    >>> settings.search
    Boundary(effort='high')
    >>> settings.but(search="divide").search
    Divide(positives=100, nodes=100, expansion='largest')
    """

    purity: float = 0.99
    confidence: float = 0.99
    search: str | Search = "boundary"
    effort: Effort | None = None
    measure: str | Measure = "auto"
    certifier: CertifierName = "anytime"
    max_evaluations: int | None = None
    batch_rows: int | None = None
    random_state: int | np.random.Generator | np.random.RandomState | None = None

    def __post_init__(self) -> None:
        search = _checked_search(self.search, self.effort)
        checked: dict[str, Any] = {
            "purity": check_open_share("purity", self.purity),
            "confidence": check_open_share("confidence", self.confidence),
            "search": search,
            "effort": getattr(search, "effort", None),
        }
        _check_measure(self.measure)
        check_choice("certifier", self.certifier, sorted(TESTS))
        if self.max_evaluations is not None:
            requirement = "a positive integer or None"
            checked["max_evaluations"] = check_count("max_evaluations", self.max_evaluations, requirement)
        if self.batch_rows is not None:
            checked["batch_rows"] = check_count("batch_rows", self.batch_rows)
        checked["random_state"] = _checked_random_state(self.random_state)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def but(self, **changes: Any) -> Settings:
        """The same settings with some of them changed; a new search brings its own effort."""
        if "search" in changes:
            changes.setdefault("effort", None)
        return replace(self, **changes)

    @property
    def searcher(self) -> Search:
        """The search itself."""
        assert not isinstance(self.search, str)
        return self.search

    @property
    def recorded(self) -> Settings:
        """The settings as a result keeps them: a generator, which has moved on since, is left out."""
        given = isinstance(self.random_state, int)
        return self if given or self.random_state is None else replace(self, random_state=None)

    def random_streams(self) -> list[np.random.Generator]:
        """One stream for the search, and one that no search can see for the certifier."""
        return np.random.default_rng(self.random_state).spawn(2)

    def to_dict(self) -> dict[str, Any]:
        """The settings in plain types, fit for JSON."""
        plain = {entry.name: getattr(self.recorded, entry.name) for entry in fields(self)}
        search = {"name": self.searcher.name, **_parameters(self.searcher)}
        return {**plain, "search": search, "measure": getattr(self.measure, "name", self.measure)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Settings:
        """The settings that `to_dict` described."""
        parameters = dict(data["search"])
        name = parameters.pop("name")
        search = SEARCHES[name](**parameters) if name in SEARCHES else UnknownSearch(name, parameters)
        measure = data["measure"]
        known = measure == "auto" or measure in MEASURES
        return cls(**{**data, "search": search, "measure": measure if known else UnknownMeasure(measure)})


SETTINGS = tuple(entry.name for entry in fields(Settings))
"""The names of all settings."""


@dataclass(frozen=True)
class UnknownSearch:
    """A search of somebody's own that a result remembers by name: its code is not here to be run again."""

    name: str
    parameters: Mapping[str, Any]

    def propose(self, task: Task) -> Proposals:  # noqa: ARG002 - the protocol's
        """Refuse: there is nothing to propose with."""
        raise InvalidInputError(
            f"search: {self.name!r} was given as an object, and only its name was written down. Pass the "
            "search object again with search=."
        )


class UnknownMeasure(Measure):
    """A measure of somebody's own that a result remembers by name: its code is not here to be run again."""

    drawn = "Draw rows from a measure that is not known here any more"

    def __init__(self, name: str) -> None:
        self.name = name  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def cube(self, domain: Domain, instance: FloatArray) -> Cube:  # noqa: ARG002 - the base's
        """Refuse: there is nothing to draw from."""
        raise InvalidInputError(
            f"measure: {self.name!r} was given as an object, and only its name was written down. Pass the "
            "measure object again with measure=."
        )


def settings_from(settings: Any, options: Mapping[str, Any]) -> Settings:
    """The settings given, with single options on top.

    Raises
    ------
    InvalidInputError
        If there is no such option, or its value does not meet its requirement.
    """
    if not isinstance(settings, Settings | None):
        raise InvalidInputError(f"settings: Settings are required; got {type(settings).__name__}.")
    unknown = sorted(set(options) - set(SETTINGS))
    if unknown:
        raise InvalidInputError(
            f"{', '.join(unknown)}: no such option. The options are {list(SETTINGS)}."
            + random_state_hint(options)
        )
    base: Settings = settings or Settings()
    return base.but(**options) if options else base


def random_state_hint(options: Mapping[str, Any]) -> str:
    """What to write in place of ``seed=``, if that is among the options."""
    return f" Write random_state={options['seed']!r} for seed=." if "seed" in options else ""


def shows_settings(function: Function) -> Function:
    """Let a function that takes settings as ``**options`` show each of them, so that completion works."""
    function.__signature__ = with_settings(inspect.signature(function))  # type: ignore[attr-defined]
    return function


def with_settings(signature: inspect.Signature) -> inspect.Signature:
    """A signature with every setting by name; ``**options`` stays where it takes more than these."""
    own = list(signature.parameters.values())
    rest = [p for p in own if p.kind is p.VAR_KEYWORD and p.annotation in (Any, "Any")]
    named = [p for p in own if p.kind is not p.VAR_KEYWORD]
    taken = {p.name for p in named}
    added = [
        inspect.Parameter(e.name, inspect.Parameter.KEYWORD_ONLY, default=e.default, annotation=e.type)
        for e in fields(Settings)
        if e.name not in taken
    ]
    return signature.replace(parameters=[*named, *added, *rest])


def _parameters(search: Search) -> Mapping[str, Any]:
    """The parameters of a search, where it is a dataclass."""
    if isinstance(search, UnknownSearch):
        return search.parameters
    return asdict(search) if is_dataclass(search) else {}


def _checked_search(search: object, effort: object) -> Search:
    if effort is not None:
        made = SEARCHES.get(search) if isinstance(search, str) else type(search)
        if made is not Boundary:
            raise InvalidInputError(
                f"effort: it belongs to the search 'boundary'; got search={search!r}. Leave one of them out."
            )
        return made(effort)  # type: ignore[arg-type]
    if isinstance(search, str):
        if search not in SEARCHES:
            raise InvalidInputError(
                f"search: one of {sorted(SEARCHES)} or a Search is required; got {search!r}."
            )
        return SEARCHES[search]()
    if not hasattr(search, "propose") or isinstance(search, type):
        raise InvalidInputError(
            f"search: a name or a Search object, such as Divide(), is required; got {search!r}."
        )
    return search  # type: ignore[return-value]


def _check_measure(measure: object) -> None:
    if isinstance(measure, Measure):
        return
    if not isinstance(measure, str) or measure not in ("auto", *MEASURES):
        raise InvalidInputError(
            f"measure: one of {['auto', *MEASURES]} or a Measure, such as Marginal(X), is required; got "
            f"{measure!r}."
        )


def _checked_random_state(random_state: Any) -> int | np.random.Generator | None:
    if isinstance(random_state, np.random.RandomState):  # as scikit-learn does: a seed drawn from it
        random_state = int(random_state.randint(2**31 - 1))
    try:
        if not isinstance(random_state, np.random.Generator):
            np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"random_state: a non-negative integer, a Generator, a RandomState or None is required; {error}."
        ) from error
    return int(random_state) if isinstance(random_state, numbers.Integral) else random_state
