"""The result: a region, what certifies it and where it came from."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lime_guarantee.engine.certify.certificate import Certificate
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.fingerprint import Origin
from lime_guarantee.problem.info import ExplanationInfo
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.codec import (
    from_plain,
    leaves_out,
    shape_from_dict,
    shape_to_dict,
    to_plain,
    to_text,
)
from lime_guarantee.region.on_rows import OnRows, count_rows, seen_before
from lime_guarantee.region.report import describe, extent_of
from lime_guarantee.region.worth import Interval, Worth
from lime_guarantee.settings import Settings
from lime_guarantee.space.ball import Ball
from lime_guarantee.space.box import Box
from lime_guarantee.space.domain import Domain, FeatureKey
from lime_guarantee.space.measure import Uniform
from lime_guarantee.space.tables import plain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray, frozen
from lime_guarantee.support.checks import check_open_share
from lime_guarantee.support.imports import require

if TYPE_CHECKING:
    from lime_guarantee.views.plots import (
        ImageDisplay,
        ProfileDisplay,
        RegionDisplay,
        SliceDisplay,
        TextDisplay,
        WaterfallDisplay,
    )

Status = Literal["certified", "unfaithful", "uncertified"]


@dataclass(frozen=True, eq=False, repr=False)
class GuaranteeRegion:
    """An axis-aligned box around an instance in which an explanation is faithful to the model.

    It is truthy if and only if it is certified. ``str(region)`` is a report; `to_frame` is a table.

    Parameters
    ----------
    status : {"certified", "unfaithful", "uncertified"}
        "unfaithful": the explanation misses the model at the instance itself. "uncertified": no box
        could be certified, usually because the limit on evaluations came first. In both cases the box is the
        instance alone and nothing is promised.
    domain : Domain
        Range and kind of every feature, widened where the instance lay outside it.
    instance : array of shape (D,)
        The instance, in raw values.
    lower, upper : arrays of shape (D,)
        The bounds, both inside the region. On a categorical feature they are the first and last
        position, in the domain's list, of the categories allowed; `allowed` has the categories themselves.
    allowed : dict of str to tuple
        The categories allowed on every categorical feature.
    measure : str
        What its shares are shares of: "marginal", "joint", "uniform", or the name of a measure of one's own.
    reach : array of shape (D,)
        The share of every feature that the region holds.
    log10_share : float
        Logarithm of the region's share of the measure.
    log10_volume : float or None
        Under the uniform measure, logarithm of the volume in the features' own units; cells are counted,
        constant features left out.
    settings : Settings
        What was asked for: with the same settings and an integer seed, the same region again.
    certificate : Certificate or None
        Why the region can be believed; None unless it is certified.
    evaluations, calls : int
        Rows asked of the model, and in how many calls.
    widened : tuple of str
        Features whose range had to be widened to hold the instance.
    reason : str
        Why there is no certified box; empty where there is one.
    radius : float or None
        Set by the radial baseline: the region is the part of the box within this distance of the instance.
    version : str
        The version of this package.
    explained : ExplanationInfo or None
        The explanation that the region belongs to, where it came from one.
    attempts : int
        How many boxes were put to the test, whether accepted or not.
    covered : tuple of int or None
        How many rows of the data that the measure was made from lie in the region, and of how many.
    validation : OnRows or None
        What held-out rows say, where `validation_data` was given.
    notes : tuple of str
        What is to be known about the measure here: few data, an instance outside them.
    worth : Worth or None
        What the explanation is worth here: its gain over a constant, and which of its weights are needed.
        None where nothing is certified, or model and surrogate are not known.
    origin : Origin or None
        Which model and which data the region speaks of, where that is known. It is not compared. Those of an
        audit are told by its report.
    shape : Box or Ball or None
        What was certified, in the unit cube of the measure; None where there is nothing. It is not compared,
        and written to JSON only if asked for, because the cube tells how the data are distributed.
    problem : Problem or None
        The model and the surrogate, for pictures. It lives as long as the region does: it is not compared,
        and neither pickled nor written to JSON.

    Examples
    --------
    >>> from lime_guarantee import find_region
    >>> def faithful(X):
    ...     return X[:, 0] < 1
    >>> domain = Domain.from_bounds([0, 0], [2, 5], names=["dose", "age"])
    >>> region = find_region(faithful, [0.5, 3.0], domain, random_state=0)
    >>> bool(region), region.names
    (True, ('dose', 'age'))
    >>> region.contains([[0.7, 1.0], [1.5, 1.0]])
    array([ True, False])
    >>> bool(region.reach[1] == 1)  # all ages
    True
    >>> GuaranteeRegion.from_json(region.to_json()) == region
    True
    """

    status: Status
    domain: Domain
    instance: AnyArray
    lower: FloatArray
    upper: FloatArray
    allowed: Mapping[str, tuple[Hashable, ...]]
    measure: str
    reach: FloatArray
    log10_share: float
    log10_volume: float | None
    settings: Settings
    certificate: Certificate | None
    evaluations: int
    calls: int
    widened: tuple[str, ...]
    reason: str
    radius: float | None
    version: str
    explained: ExplanationInfo | None = None
    attempts: int = 0
    covered: tuple[int, int] | None = None
    validation: OnRows | None = None
    notes: tuple[str, ...] = ()
    worth: Worth | None = None
    origin: Origin | None = None
    shape: Box | Ball | None = field(default=None, compare=False)
    problem: Problem | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        values = [plain(value) for value in self.instance]
        instance = np.array(values, dtype=np.float64 if self.domain.numeric else object)
        instance.setflags(write=False)
        object.__setattr__(self, "instance", instance)
        for name in ("lower", "upper", "reach"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __bool__(self) -> bool:
        return self.status == "certified"

    def __str__(self) -> str:
        return describe(self)

    def __repr__(self) -> str:
        return (
            f"<GuaranteeRegion: {self.status}, {len(self.domain)} features, purity {self.purity!r}, "
            f"confidence {self.confidence!r}, {self.share:.3g} of the {self.measure} measure>"
        )

    def _repr_html_(self) -> str:
        from lime_guarantee.views.html.notebook import region_view

        return region_view(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GuaranteeRegion):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(to_text(self._compared()))

    def _compared(self) -> dict[str, Any]:
        """What makes two regions equal: all but what model and data are called, which may differ."""
        return {name: value for name, value in self.to_dict().items() if name != "origin"}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "problem": None}  # a model often cannot be pickled, or is large

    @property
    def purity(self) -> float:
        """The share of the region that was asked to be faithful."""
        return self.settings.purity

    @property
    def confidence(self) -> float:
        """The probability, asked for, that the promise holds."""
        return self.settings.confidence

    @property
    def search(self) -> str:
        """The name of the search that found the region."""
        return self.settings.searcher.name

    @property
    def random_state(self) -> int | None:
        """The seed, where an integer was given."""
        seed = self.settings.random_state
        return seed if isinstance(seed, int) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names."""
        return self.domain.names

    @property
    def share(self) -> float:
        """The region's share of the measure: for the uniform one, of the domain's volume."""
        return float(10.0**self.log10_share)

    @property
    def gain(self) -> float | None:
        """Share of the region on which the best admissible constant fails and the explanation does not.

        None where it is not known; see `Worth`.
        """
        return None if self.worth is None else self.worth.gain

    @property
    def gain_interval(self) -> Interval | None:
        """An interval that holds the gain, with the confidence of `worth`."""
        return None if self.worth is None else self.worth.gain_interval

    @property
    def needed(self) -> FloatArray | None:
        """A share for every feature: where the explanation becomes wrong once that feature is held.

        None where it is not known; see `Worth`.
        """
        return None if self.worth is None else np.array(self.worth.needed)

    @property
    def needed_intervals(self) -> FloatArray | None:
        """An interval for each of the `needed` shares, (D, 2): all hold with the confidence of `worth`."""
        return None if self.worth is None else np.array(self.worth.needed_intervals)

    def contains(self, X: Any) -> BoolArray:
        """Which rows of raw values, an array or a DataFrame, lie in the region."""
        if self.radius is not None and self:
            shape = self.certified_shape("contains")
            return shape.contains(shape.cube.encode(X))
        coordinates = self.search_domain.encode(X)
        lower, upper = self.search_bounds
        return np.asarray(((coordinates >= lower) & (coordinates <= upper)).all(axis=1))

    def sample(self, count: int, random_state: int | np.random.Generator | None = None) -> AnyArray:
        """Draw rows of raw values from the measure, in the region: those that its purity speaks of."""
        shape = self.certified_shape("sample")
        return shape.cube.decode(shape.sample(np.random.default_rng(random_state), count))

    def coverage(self, X: Any) -> float:
        """Share of the given rows that lie in the region."""
        inside = self.contains(X)
        if inside.size == 0:
            raise InvalidInputError("X: coverage needs at least one row.")
        return float(inside.mean())

    def on_rows(
        self,
        X: Any,
        *,
        faithful: Callable[[Any], Any] | Problem | None = None,
        confidence: float = 0.95,
        fresh: bool | None = None,
    ) -> OnRows:
        """Ask the model about real rows: a second certificate, on rows as they come.

        Parameters
        ----------
        X : array or DataFrame
            Rows of raw values.
        faithful : callable or Problem, optional
            As in `find_region`; needed where the region no longer has its problem.
        confidence : float in (0, 1)
            The probability with which each lower bound holds.
        fresh : bool, optional
            Whether the rows neither fitted the model nor chose the region; of those that did nothing but
            counts follow. By default rows count as fresh, unless half of them or more seem to be rows of the
            training data.

        Returns
        -------
        OnRows

        Examples
        --------
        >>> from lime_guarantee import Domain, find_region
        >>> def faithful(X):
        ...     return X[:, 0] < 1
        >>> region = find_region(faithful, [0.5], Domain.from_bounds([0], [2]), random_state=0)
        >>> rows = region.on_rows(np.linspace(0, 1.9, 500)[:, np.newaxis], faithful=faithful)
        >>> rows.rows == rows.faithful, round(rows.fidelity_lower, 2)
        (True, 0.99)
        """
        asked = self.problem if faithful is None else faithful
        if asked is None:
            raise InvalidInputError(
                "on_rows: the region no longer has its model. Pass faithful=, the Problem or the function "
                "that it was found for."
            )
        confidence = check_open_share("confidence", confidence)
        inside = self.contains(X)
        if inside.size == 0:
            raise InvalidInputError("X: at least one row is required.")
        ask = asked.faithful if isinstance(asked, Problem) else asked
        coordinates = self.domain.encode(X)
        if fresh is None:
            observed = asked.domain.observed if isinstance(asked, Problem) else None
            fresh = not seen_before(coordinates, replace(self.domain, observed=observed))
        coordinates = coordinates[inside]
        answers = Oracle(ask, self.domain).evaluate(coordinates) if len(coordinates) else inside[:0]
        return count_rows(inside, answers, purity=self.purity, confidence=confidence, fresh=fresh)

    @property
    def removable(self) -> tuple[str, ...]:
        """The words, superpixels or other cells of which any combination may go: those that vary freely."""
        return tuple(
            axis.name
            for axis, low, high in zip(self.domain.axes, self.lower, self.upper, strict=True)
            if axis.is_switch and low < high
        )

    def mask(self, segments: AnyArray) -> BoolArray:
        """Where the superpixels are that may be hidden, in any combination.

        Parameters
        ----------
        segments : integer array
            The superpixel of every pixel: an image explanation's ``segments``.

        Returns
        -------
        bool array of the same shape
        """
        return np.isin(segments, self.part_numbers[self.lower < self.upper])

    @property
    def part_numbers(self) -> AnyArray:
        """The number that every superpixel or patch has in the segments; only images have these."""
        if self.explained is None or self.explained.kind not in ("lime image", "shap image"):
            raise InvalidInputError("mask: only the region of an image explanation has one.")
        return np.array([int(name.rpartition(" ")[2]) for name in self.names])

    def plot(self, data: Any = None, *, max_features: int = 20, ax: Any = None) -> RegionDisplay:
        """Draw the region, one row for every feature, the largest weights first; needs matplotlib.

        Parameters
        ----------
        data : array or DataFrame, optional
            Rows whose distribution is drawn behind the features.
        max_features : int
            Features beyond so many are summed up in a row.
        ax : matplotlib axes, optional
            Where to draw; by default, in a new figure.
        """
        from lime_guarantee.views.plots import RegionDisplay

        return RegionDisplay.from_region(self, data, max_features=max_features).plot(ax)

    def plot_waterfall(
        self,
        data: Any = None,
        *,
        max_features: int = 10,
        ax: Any = None,
        problem: Problem | None = None,
    ) -> WaterfallDisplay:
        """Draw what every feature adds to the explanation's answer, as shap does, and the values certified.

        Needs matplotlib.

        Parameters
        ----------
        data : array or DataFrame, optional
            Rows whose distribution is drawn behind what is certified.
        max_features : int
            Features beyond the so many that add most are summed up in a row.
        ax : matplotlib axes, optional
            Where to draw; by default, in a new figure.
        problem : Problem, optional
            What the region was found for; needed where the region no longer has it and LIME explained a row.
        """
        from lime_guarantee.views.plots import WaterfallDisplay

        display = WaterfallDisplay.from_region(self, data, max_features=max_features, problem=problem)
        return display.plot(ax)

    def plot_profile(
        self, feature: FeatureKey, *, ax: Any = None, problem: Problem | None = None
    ) -> ProfileDisplay:
        """Draw model and surrogate along one feature, the others staying at the instance; needs matplotlib.

        Parameters
        ----------
        feature : str or int
            Its name or position.
        ax : matplotlib axes, optional
        problem : Problem, optional
            What the region was found for; needed where the region no longer has it.
        """
        from lime_guarantee.views.plots import ProfileDisplay

        return ProfileDisplay.from_region(self, feature, problem=problem).plot(ax)

    def plot_slice(
        self,
        i: FeatureKey,
        j: FeatureKey,
        data: Any = None,
        *,
        ax: Any = None,
        problem: Problem | None = None,
        resolution: int = 100,
    ) -> SliceDisplay:
        """Draw the faithful set in two features, the others staying at the instance; needs matplotlib.

        Parameters
        ----------
        i, j : str or int
            The features across and up, by name or position.
        data : array or DataFrame, optional
            Rows to draw as points.
        ax : matplotlib axes, optional
        problem : Problem, optional
            What the region was found for; needed where the region no longer has it.
        resolution : int
            Steps along an axis of numbers; the model is asked once for each pair of steps.
        """
        from lime_guarantee.views.plots import SliceDisplay

        return SliceDisplay.from_region(self, i, j, data, problem=problem, resolution=resolution).plot(ax)

    def plot_text(self, text: str | None = None, *, ax: Any = None) -> TextDisplay:
        """Draw the text with the words marked that may be removed; needs matplotlib.

        Parameters
        ----------
        text : str, optional
            The text that was explained. Where the region no longer has it, its words are shown without it.
        ax : matplotlib axes, optional
        """
        from lime_guarantee.views.plots import TextDisplay

        return TextDisplay.from_region(self, text).plot(ax)

    def plot_image(self, image: Any, segments: Any = None, *, ax: Any = None) -> ImageDisplay:
        """Draw the image, superpixels coloured by weight and outlined if they may go; needs matplotlib.

        Parameters
        ----------
        image : array of shape (height, width) or (height, width, 3)
        segments : integer array of shape (height, width)
            The ``segments`` of LIME's explanation. Of shap's, those that the region was asked with; it needs
            none if there were none.
        ax : matplotlib axes, optional
        """
        from lime_guarantee.views.plots import ImageDisplay

        return ImageDisplay.from_region(self, image, segments).plot(ax)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every feature."""
        pandas = require("pandas", "GuaranteeRegion.to_frame", extra="all")
        axes = [(axis, extent_of(self, i)) for i, axis in enumerate(self.domain.axes)]
        return pandas.DataFrame(
            {
                "feature": list(self.names),
                "kind": list(self.domain.kinds),
                "instance": list(self.instance),
                "lower": [axis.bounds_entry(extent)[0] for axis, extent in axes],
                "upper": [axis.bounds_entry(extent)[1] for axis, extent in axes],
                "allowed": [axis.allowed_entry(extent) for axis, extent in axes],
                "reach": self.reach,
                **({} if self.explained is None else {"weight": self.explained.weights}),
                **({} if self.worth is None else _needed_columns(self.worth)),
            }
        )

    def to_dict(self, *, knots: bool = False) -> dict[str, Any]:
        """Everything but the problem, in types that JSON has; `from_dict` makes the same region of it.

        Parameters
        ----------
        knots : bool
            Whether to write down how the data are distributed, too, so that the region can be drawn from
            again. With few rows that is almost the data themselves.
        """
        data = to_plain(self)
        if knots:
            data["shape"] = shape_to_dict(self.certified_shape("to_dict"))
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GuaranteeRegion:
        """The region that `to_dict` described."""
        region = from_plain({name: value for name, value in data.items() if name != "shape"}, cls)
        if "shape" not in data:
            return region
        home = region.domain.encode(region.instance[np.newaxis])[0]
        return replace(region, shape=shape_from_dict(data["shape"], region.domain, home))

    def to_json(self, *, knots: bool = False) -> str:
        """Everything but the problem, as JSON; see `to_dict`."""
        return to_text(self.to_dict(knots=knots))

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, model: bool = True, data: Any = None
    ) -> str:
        """A page to try values on: inside the guarantee or not, and what explanation and model say.

        For every feature it has the model's curve and the explanation's, over the data, with the region as a
        band. The model is asked when the page is written, at up to 32 places a feature, in one batch; that is
        not counted among the region's `evaluations`. Texts and images are shown themselves, and their words
        and superpixels can be taken away. What needs model or explanation is left out where the region no
        longer has its `problem`, and the page says so.

        Parameters
        ----------
        path : path, optional
            The file to write it to, whole or not at all. It needs no other file, and no network.
        model : bool
            Whether to ask the model for its curves.
        data : array, DataFrame or False, optional
            Rows whose distribution is drawn behind the curves; False for none. By default those that are
            remembered of the training data. The page has 32 bars a feature, and no row.

        Returns
        -------
        str
            The page.

        Examples
        --------
        >>> from lime_guarantee import Problem, SameValue, find_region
        >>> domain = Domain.from_bounds([0], [2], names=["dose"])
        >>> problem = Problem(lambda X: X[:, 0] ** 2, lambda X: X[:, 0], SameValue(0.3),
        ...                   np.array([0.5]), domain)
        >>> page = find_region(problem, random_state=0).to_html()
        >>> "Inside the guarantee" in page, " src=" in page  # nothing is loaded
        (True, False)
        """
        from lime_guarantee.views.html.page import written
        from lime_guarantee.views.html.region_page import region_page

        return written(region_page(self, model=model, data=data), path)

    def to_certificate(
        self, path: str | os.PathLike[str] | None = None, *, row: Any = None, problem: Problem | None = None
    ) -> str:
        """A sheet to print, sign and file: what is guaranteed, what is not, figures, and how to repeat it.

        It names the model and the data by their fingerprints. Where the region still has its `problem`, the
        model is asked about 16 fixed rows for that.

        Parameters
        ----------
        path : path, optional
            The file to write it to, an HTML page, whole or not at all. Printed, it is one page of A4.
        row : optional
            What the row is called: its number, or whatever identifies it.
        problem : Problem, optional
            What the region was found for; needed for the model's fingerprint where the region has lost it.

        Returns
        -------
        str
            The page.

        Examples
        --------
        >>> from lime_guarantee import Domain, find_region
        >>> region = find_region(lambda X: X[:, 0] < 1, [0.5], Domain.from_bounds([0], [2]), random_state=0)
        >>> "What is not guaranteed" in region.to_certificate(row=17)
        True
        """
        from lime_guarantee.views.html.certificate_page import region_certificate
        from lime_guarantee.views.html.page import written

        return written(region_certificate(self, row, problem), path)

    @classmethod
    def from_json(cls, text: str) -> GuaranteeRegion:
        """The region that `to_json` wrote."""
        return cls.from_dict(json.loads(text))

    @cached_property
    def search_domain(self) -> Domain:
        """The domain with the allowed categories first, so that they are an interval."""
        return Domain(tuple(axis.search_axis(extent_of(self, i)) for i, axis in enumerate(self.domain.axes)))

    @cached_property
    def search_bounds(self) -> tuple[FloatArray, FloatArray]:
        """The region's bounds in the coordinates of `search_domain`."""
        bounds = [axis.search_bounds(extent_of(self, i)) for i, axis in enumerate(self.domain.axes)]
        return np.array([low for low, _ in bounds]), np.array([high for _, high in bounds])

    def certified_shape(self, who: str) -> Box | Ball:
        """What was certified, in the unit cube of its measure; the instance alone, if nothing was.

        Raises
        ------
        InvalidInputError
            If the region no longer has it, because it was read from JSON without it.
        """
        if self.shape is not None:
            return self.shape
        if self.measure != "uniform":
            raise InvalidInputError(
                f"{who}: the region was read from JSON, which does not tell how the data are distributed. "
                "Write it with to_json(knots=True) to keep that."
            )
        cube = Uniform().cube(self.search_domain, self.search_domain.encode(self.instance[np.newaxis])[0])
        if self.radius is not None:
            return Ball(self.radius, cube)
        ends = [cube.places(bounds[np.newaxis])[0] for bounds in self.search_bounds]
        return cube.snapped(*ends)


def _needed_columns(worth: Worth) -> dict[str, Any]:
    low, high = zip(*worth.needed_intervals, strict=True)
    return {"needed": worth.needed, "needed_lower": low, "needed_upper": high}


leaves_out(GuaranteeRegion, "problem", "shape")
