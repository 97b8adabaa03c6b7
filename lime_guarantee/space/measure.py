"""Measures: what the shares are shares of.

A certificate says that an explanation is faithful on at least 99 % of a region. The measure says of what:
of the region's volume, every value alike (`Uniform`, the paper's); of rows whose features are drawn from the
data, each on its own (`Marginal`); of rows like those of the data (`Joint`).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar
from weakref import WeakSet

from lime_guarantee.errors import GuaranteeWarning, InvalidInputError
from lime_guarantee.space.coordinate import Coordinate
from lime_guarantee.space.cube import Cube
from lime_guarantee.space.domain import Domain
from lime_guarantee.space.joint_cube import JointCube
from lime_guarantee.space.observed import FEWEST_ROWS, Observed
from lime_guarantee.space.tables import as_table
from lime_guarantee.support.arrays import FloatArray
from lime_guarantee.support.checks import check_open_share


class Measure(ABC):
    """What the shares are shares of. A measure of one's own gives a `name`, words for it, and a `Cube`.

    Attributes
    ----------
    name : str
        What it is called in results.
    drawn : str
        How a row is drawn, in words: "Draw each feature ...".
    rows : str
        What such rows are called, in a few words.
    measured : str
        What a share is a share of, in a few words.
    needs_data : bool
        Whether it makes no sense without data.

    Examples
    --------
    >>> import numpy as np
    >>> from lime_guarantee.space.coordinate import Curve
    >>> class MostlySmall(Measure):
    ...     name, drawn = "mostly small", "Draw small values nine times as often as large ones"
    ...     def cube(self, domain, instance):
    ...         curve = Curve(np.array([0, 0.9, 1.0]), np.array([0.0, 0.5, 1.0]))
    ...         return Cube(domain, (curve,), instance)
    >>> cube = MostlySmall().cube(Domain.from_bounds([0], [1]), np.array([0.2]))
    >>> bool(np.mean(cube.decode(cube.whole.sample(np.random.default_rng(0), 1_000)) < 0.5) > 0.85)
    True
    """

    name: ClassVar[str]
    drawn: ClassVar[str]
    rows: ClassVar[str] = "rows drawn so"
    measured: ClassVar[str] = "measure"
    needs_data: ClassVar[bool] = False

    @abstractmethod
    def cube(self, domain: Domain, instance: FloatArray) -> Cube:
        """The unit cube of a domain.

        Parameters
        ----------
        domain : Domain
            It holds the instance.
        instance : array of shape (D,)
            As `Domain.encode` gives it.
        """

    def notes(self, domain: Domain, instance: FloatArray) -> tuple[str, ...]:  # noqa: ARG002 - for others
        """What is to be known about the measure here."""
        return ()


@dataclass(frozen=True)
class Uniform(Measure):
    """All values alike: a share is a share of the volume, as in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> domain = Domain.from_bounds([0], [10])
    >>> Uniform().cube(domain, np.array([5.0])).decode(np.array([[0.1]]))
    array([[1.]])
    """

    name: ClassVar[str] = "uniform"
    drawn: ClassVar[str] = (
        "Draw each feature uniformly within these limits, every value as likely as the other"
    )
    rows: ClassVar[str] = "the volume, every value alike"
    measured: ClassVar[str] = "domain's volume"

    def cube(self, domain: Domain, instance: FloatArray) -> Cube:
        axes = zip(domain.axes, instance, strict=True)
        return Cube(domain, tuple(axis.coordinate(float(home)) for axis, home in axes), instance)


@dataclass(frozen=True)
class Marginal(Measure):
    """Each feature is drawn as it is distributed in the data, independently of the others.

    Parameters
    ----------
    data : array or DataFrame, optional
        By default what the domain was made from: the training data.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.concatenate([np.zeros(300), np.linspace(1, 2, 100)])[:, np.newaxis]
    >>> cube = Marginal(X).cube(Domain.from_data(X), np.array([1.5]))
    >>> cube.decode(np.array([[0.1], [0.7], [1.0]])).ravel()
    array([0., 0., 2.])
    """

    data: Any = field(default=None, repr=False, compare=False)

    name: ClassVar[str] = "marginal"
    drawn: ClassVar[str] = (
        "Draw each feature independently from its own values in the data, within these limits"
    )
    rows: ClassVar[str] = "rows drawn feature by feature from the data"
    measured: ClassVar[str] = "data, feature by feature"
    needs_data: ClassVar[bool] = True

    def cube(self, domain: Domain, instance: FloatArray) -> Cube:
        coordinates = _data_coordinates(self, self.data, domain, instance)
        return Cube(domain, coordinates, instance, counts_rows=True)

    def notes(self, domain: Domain, instance: FloatArray) -> tuple[str, ...]:
        return _data_notes(_observed(self, self.data, domain), domain, instance)


@dataclass(frozen=True)
class Joint(Measure):
    """A row of the data; each feature is redrawn from all its values, or moved a little, or stays.

    Closer to the data than `Marginal`, but it promises nothing for questions that move one feature alone.

    Parameters
    ----------
    data : array or DataFrame, optional
        By default what the domain was made from: the training data.
    mix : float in (0, 1)
        The probability that a feature is redrawn, as in `Marginal`.
    move : float in (0, 1)
        How far the others are moved at most, as a share of the data; values that many rows have stay.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> cube = Joint(X).cube(Domain.from_data(X), X[0])
    >>> cube.whole.sample(np.random.default_rng(0), 3).shape
    (3, 2)
    """

    data: Any = field(default=None, repr=False, compare=False)
    mix: float = 0.2
    move: float = 0.05

    name: ClassVar[str] = "joint"
    drawn: ClassVar[str] = (
        "Take a row like those of the data (one of them, some features redrawn, the others moved a little) "
        "within these limits"
    )
    rows: ClassVar[str] = "rows like those of the data"
    measured: ClassVar[str] = "rows like those of the data"
    needs_data: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("mix", "move"):
            object.__setattr__(self, name, check_open_share(name, getattr(self, name)))

    def cube(self, domain: Domain, instance: FloatArray) -> Cube:
        coordinates = _data_coordinates(self, self.data, domain, instance)
        observed = _observed(self, self.data, domain)
        if len(observed.rows) == 0:
            raise InvalidInputError(
                "measure: 'joint' needs rows of data, and sparse data are remembered by column only. Use "
                "measure='marginal', or Joint(X) with some dense rows."
            )
        values = domain.encode(observed.rows)
        return JointCube(domain, coordinates, instance, rows=values, mix=self.mix, move=self.move)

    def notes(self, domain: Domain, instance: FloatArray) -> tuple[str, ...]:
        return _data_notes(_observed(self, self.data, domain), domain, instance)


MEASURES: dict[str, type[Measure]] = {"marginal": Marginal, "joint": Joint, "uniform": Uniform}
"""The measures that a user can name."""


def chosen_measure(measure: str | Measure, domain: Domain, *, presence: bool = False) -> Measure:
    """The measure that was asked for; "auto" is the data's where data are known.

    Parameters
    ----------
    measure : str or Measure
    domain : Domain
    presence : bool
        Whether the axes are parts of the instance, there or removed: of these there are no data.
    """
    if isinstance(measure, Measure):
        return measure
    if measure == "auto":
        return Uniform() if presence or domain.observed is None else Marginal()
    if presence and MEASURES[measure].needs_data:
        raise InvalidInputError(
            f"measure: {measure!r} is about data, but the features here are parts of the instance, there or "
            "removed. Leave measure= out."
        )
    return MEASURES[measure]()


def _observed(measure: Measure, data: Any, domain: Domain) -> Observed:
    if data is not None:
        read: dict[tuple[str, ...], Observed] = measure.__dict__.setdefault("_read", {})
        if domain.names in read:  # data are read once, whatever the number of regions
            return read[domain.names]
        table = as_table(data, domain.names)
        if table.values.shape[1] != len(domain):
            raise InvalidInputError(
                f"measure: the data of {measure.name!r} have {table.values.shape[1]} columns, the domain has "
                f"{len(domain)} features."
            )
        if table.names is not None and set(table.names) != set(domain.names):
            raise InvalidInputError(
                f"measure: the columns of {measure.name!r}'s data are {table.names}, the features are "
                f"{list(domain.names)}. Give data with the same columns."
            )
        return read.setdefault(domain.names, Observed.of(table.values))
    if domain.observed is None:
        raise InvalidInputError(
            f"measure: {measure.name!r} needs data, and none are known. Pass training_data=, make the domain "
            "with Domain.from_data, or use measure='uniform'."
        )
    return domain.observed


def _data_coordinates(
    measure: Measure, data: Any, domain: Domain, instance: FloatArray
) -> tuple[Coordinate, ...]:
    observed = _observed(measure, data, domain)
    if observed.count < 2:
        raise InvalidInputError(
            f"measure: {measure.name!r} needs data, and there is {observed.count} row. One row has no "
            "distribution; give more, or use measure='uniform' with bounds."
        )
    triples = zip(observed.columns, domain.axes, instance, strict=True)
    return tuple(column.coordinate(axis, float(home)) for column, axis, home in triples)


_WARNED: WeakSet[Observed] = WeakSet()


def _data_notes(observed: Observed, domain: Domain, instance: FloatArray) -> tuple[str, ...]:
    notes = []
    if observed.count < FEWEST_ROWS:
        notes.append(
            f"The data have {observed.count} rows. With fewer than {FEWEST_ROWS}, many rows to come lie "
            "outside what was seen, and fewer of them may be faithful than promised."
        )
        if observed not in _WARNED:  # once for these data; the note is in every region
            _WARNED.add(observed)
            warnings.warn(notes[-1], GuaranteeWarning, stacklevel=2)
    triples = zip(observed.columns, domain.axes, instance, strict=True)
    unseen = [axis.name for column, axis, home in triples if not column.has(axis, float(home))]
    if unseen:
        notes.append(
            f"The data have no value like the instance's in: {', '.join(unseen)}. It was given a small share "
            "of its own."
        )
    return tuple(notes)
