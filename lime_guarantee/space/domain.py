"""Domains: the allowed range and kind of every feature, as axes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.space.axis import LARGEST_CELL as LARGEST_CELL
from lime_guarantee.space.axis import Axis as Axis
from lime_guarantee.space.axis import categorical_axis as categorical_axis
from lime_guarantee.space.axis import ordered_axis as ordered_axis
from lime_guarantee.space.discrete_axis import axis_of_values as axis_of_values
from lime_guarantee.space.observed import Observed
from lime_guarantee.space.tables import Table, as_row, as_table
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray, frozen

FeatureKey = int | str


@dataclass(frozen=True)
class Domain:
    """The axes of a problem, in the order of the model's features.

    Build one with `Domain.from_bounds` or `Domain.from_data`.

    Examples
    --------
    >>> domain = Domain.from_bounds([0, 1, 0], [1, 5, 0], names=["age", "rooms", "colour"],
    ...                             integer=["rooms"], categories={"colour": ["red", "blue"]})
    >>> domain.kinds
    ('continuous', 'integer', 'categorical')
    >>> [axis.width for axis in domain.axes]
    [1.0, 5.0, 2.0]
    """

    axes: tuple[Axis, ...]
    observed: Observed | None = field(default=None, compare=False, repr=False)
    """What is known of data, where there are any: not compared, and never written to JSON."""

    def __post_init__(self) -> None:
        if not self.axes:
            raise InvalidInputError("domain: it has no features. Give bounds for at least one.")
        counts = Counter(axis.name for axis in self.axes)
        repeated = sorted(name for name, count in counts.items() if count > 1)
        if repeated:
            raise InvalidInputError(f"names: every feature needs a name of its own; {repeated} repeat.")
        for axis in self.axes:
            if not np.isfinite(axis.high - axis.low):
                raise InvalidInputError(
                    f"domain: feature {axis.name!r} spans [{axis.low}, {axis.high}], wider than a float "
                    "can hold. Give narrower bounds."
                )

    @classmethod
    def from_bounds(
        cls,
        lower: Sequence[float] | AnyArray,
        upper: Sequence[float] | AnyArray,
        *,
        names: Sequence[str] | None = None,
        integer: Sequence[FeatureKey] = (),
        categories: Mapping[FeatureKey, Sequence[Hashable]] | None = None,
    ) -> Domain:
        """A domain from the lowest and highest value of every feature.

        Parameters
        ----------
        lower, upper : sequences of length D
            Bounds. On a categorical feature they are not looked at.
        names : sequence of str, optional
            By default ``x0``, ``x1``, ...
        integer : sequence of int or str
            The features, by position or name, on which only whole numbers exist.
        categories : mapping of int or str to sequence
            The categorical features and the values each may take.
        """
        low, high = _bounds_array("lower", lower), _bounds_array("upper", upper)
        if low.size != high.size:
            raise InvalidInputError(
                f"lower and upper must have one entry a feature each; got {low.size} and {high.size}."
            )
        names = _feature_names(names, low.size)
        whole = {feature_index(key, names, "integer") for key in integer}
        listed = {
            feature_index(key, names, "categories"): values for key, values in (categories or {}).items()
        }
        both = sorted(names[i] for i in whole & listed.keys())
        if both:
            raise InvalidInputError(f"features {both} are named in both `integer=` and `categories=`.")
        return cls(
            tuple(
                categorical_axis(name, listed[i])
                if i in listed
                else ordered_axis(name, low[i], high[i], integer=i in whole)
                for i, name in enumerate(names)
            )
        )

    @classmethod
    def from_data(
        cls,
        X: Any,
        *,
        names: Sequence[str] | None = None,
        integer: Sequence[FeatureKey] | Literal["auto"] = "auto",
        categories: Mapping[FeatureKey, Sequence[Hashable]] | None = None,
    ) -> Domain:
        """A domain spanned by data: an (n, D) array or a DataFrame.

        Columns of text, objects or pandas categories become categorical, booleans binary. With
        ``integer="auto"`` a column of whole numbers becomes integer, and one of a few numbers that are met
        often discrete: it has none between them. Missing values are passed over.

        Examples
        --------
        >>> Domain.from_data([[0.5, 1.0], [1.5, 7.0]]).kinds
        ('continuous', 'integer')
        """
        table = as_table(X)
        if table.values.shape[0] == 0:
            raise InvalidInputError("X: it has no rows, so it spans no domain. Give at least one row.")
        names = _feature_names(names if names is not None else table.names, table.values.shape[1])
        listed = {
            feature_index(key, names, "categories"): tuple(values)
            for key, values in (categories or {}).items()
        }
        whole = None if integer == "auto" else {feature_index(key, names, "integer") for key in integer}
        axes = tuple(_axis_from_column(table, i, name, listed, whole) for i, name in enumerate(names))
        return cls(axes, Observed.of(table.values))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names."""
        return tuple(axis.name for axis in self.axes)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The features' kinds."""
        return tuple(axis.kind for axis in self.axes)

    @cached_property
    def lower(self) -> FloatArray:
        """The lowest axis coordinate of every axis."""
        return frozen([axis.low for axis in self.axes])

    @cached_property
    def upper(self) -> FloatArray:
        """The highest axis coordinate of every axis."""
        return frozen([axis.high for axis in self.axes])

    @cached_property
    def unit(self) -> FloatArray:
        """What a single point adds to a width. A constant axis counts as one cell."""
        return frozen([axis.unit for axis in self.axes])

    @cached_property
    def numeric(self) -> bool:
        """Whether rows of raw values are plain float arrays (else arrays of objects)."""
        return all(axis.numeric for axis in self.axes)

    def __len__(self) -> int:
        return len(self.axes)

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume in the features' own units; cells are counted."""
        return float(sum(np.log(axis.width) for axis in self.axes))

    def contains(self, coordinates: FloatArray) -> BoolArray:
        """Which rows, as `encode` gives them, lie in the domain."""
        inside = (coordinates >= self.lower) & (coordinates <= self.upper)
        return np.asarray(inside.all(axis=1))

    @cached_property
    def observed_rows(self) -> FloatArray:
        """The rows of data that are remembered, as `encode` gives them; none if there are none.

        There are none, too, where their values are not of the kinds that the axes have: text among numbers.
        """
        if self.observed is None or len(self.observed.rows) == 0:
            return np.empty((0, len(self)))
        try:
            return self.encode(self.observed.rows)
        except InvalidInputError:
            return np.empty((0, len(self)))

    def without_data(self) -> Domain:
        """The same ranges and kinds, with nothing remembered of data."""
        return replace(self, observed=None)

    def encode(self, X: Any) -> FloatArray:
        """Axis coordinates of rows of raw values; NaN where a value does not exist on its axis."""
        table = as_table(X, self.names)
        self._check_width(table.values.shape[1], "X")
        return np.column_stack([axis.encode(table.values[:, i]) for i, axis in enumerate(self.axes)]).astype(
            np.float64, copy=False
        )

    def decode(self, coordinates: FloatArray) -> AnyArray:
        """Rows of raw values at axis coordinates; always a fresh array."""
        if all(axis.values_are_coordinates for axis in self.axes):
            return np.array(coordinates, dtype=np.float64)
        rows = np.empty(coordinates.shape, dtype=np.float64 if self.numeric else object)
        for i, axis in enumerate(self.axes):
            rows[:, i] = axis.decode(coordinates[:, i])
        return rows

    def row(self, instance: Any) -> AnyArray:
        """An instance given as a list, Series, (D,) or (1, D) array or one-row frame, as a (D,) array."""
        row = as_row(instance, self.names)
        self._check_width(row.size, "instance")
        return row

    def including(self, instance: AnyArray) -> tuple[Domain, tuple[str, ...]]:
        """The domain widened to hold the instance, and the names of the features that had to give."""
        axes = tuple(axis.including(value) for axis, value in zip(self.axes, instance, strict=True))
        widened = tuple(new.name for old, new in zip(self.axes, axes, strict=True) if new != old)
        return replace(self, axes=axes), widened

    def to_dict(self) -> dict[str, Any]:
        """The domain in plain types, fit for JSON."""
        return {"axes": [axis.to_dict() for axis in self.axes]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Domain:
        """The domain that `to_dict` described."""
        return cls(tuple(Axis.from_dict(axis) for axis in data["axes"]))

    def _check_width(self, width: int, parameter: str) -> None:
        if width != len(self.axes):
            raise InvalidInputError(
                f"{parameter}: it must have {len(self.axes)} features, as the domain has; got {width}."
            )


def _axis_from_column(
    table: Table,
    index: int,
    name: str,
    listed: Mapping[int, Sequence[Hashable]],
    whole: set[int] | None,
) -> Axis:
    if index in listed:
        return categorical_axis(name, listed[index])
    if index in table.categories:
        return categorical_axis(name, table.categories[index])
    column = table.values[:, index].astype(np.float64)
    known = column[~np.isnan(column)]
    if known.size == 0:
        raise InvalidInputError(
            f"X: feature {name!r} has no value but missing ones. Drop it, or name its `categories=`."
        )
    if whole is not None:
        return ordered_axis(name, known.min(), known.max(), integer=index in whole)
    integer = bool(np.all(known == np.round(known)) and np.abs(known).max() <= LARGEST_CELL)
    return axis_of_values(name, *np.unique(known, return_counts=True), integer=integer)


def _bounds_array(parameter: str, values: Sequence[float] | AnyArray) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{parameter}: bounds must be numbers; {error}.") from error
    if array.ndim != 1:
        raise InvalidInputError(
            f"{parameter}: one bound a feature is required; got an array of shape {array.shape}."
        )
    return array


def _feature_names(names: Sequence[str] | None, count: int) -> list[str]:
    if names is None:
        return [f"x{i}" for i in range(count)]
    names = [str(name) for name in names]
    if len(names) != count:
        raise InvalidInputError(f"names: {count} features need as many names; got {len(names)}.")
    return names


def feature_index(key: FeatureKey, names: Sequence[str], parameter: str) -> int:
    """The position of a feature that is given by its name or its position."""
    if isinstance(key, str):
        if key in names:
            return names.index(key)
        raise InvalidInputError(f"{parameter}: there is no feature {key!r}. The features are {list(names)}.")
    if isinstance(key, (int, np.integer)) and 0 <= key < len(names):
        return int(key)
    raise InvalidInputError(
        f"{parameter}: a feature is named by its name or its position 0..{len(names) - 1}; got {key!r}."
    )
