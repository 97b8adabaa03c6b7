"""The result: a region, what certifies it and where it came from."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lime_guarantee.engine.certify.certificate import Certificate
from lime_guarantee.engine.certify.proposal import Shape
from lime_guarantee.engine.oracle import Oracle
from lime_guarantee.engine.session import Found, bounding_box
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.info import ExplanationInfo
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.codec import from_plain, leaves_out, to_plain, to_text
from lime_guarantee.region.report import describe, extent_of
from lime_guarantee.settings import Settings
from lime_guarantee.space.ball import Ball
from lime_guarantee.space.box import Box
from lime_guarantee.space.domain import Domain, FeatureKey
from lime_guarantee.space.tables import plain
from lime_guarantee.support.arrays import AnyArray, BoolArray, FloatArray, frozen
from lime_guarantee.support.imports import require
from lime_guarantee.version import __version__

if TYPE_CHECKING:
    from lime_guarantee.views.plots import (
        ImageDisplay,
        ProfileDisplay,
        RegionDisplay,
        SliceDisplay,
        TextDisplay,
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
    settings : Settings
        What was asked for: with the same settings and an integer seed, the same region again.
    certificate : Certificate or None
        Why the region can be believed; None unless it is certified.
    evaluations, calls : int
        Rows asked of the model, and in how many calls.
    log10_volume : float
        Logarithm of the volume in the features' own units; cells are counted, constant features left out.
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
    settings: Settings
    certificate: Certificate | None
    evaluations: int
    calls: int
    log10_volume: float
    widened: tuple[str, ...]
    reason: str
    radius: float | None
    version: str
    explained: ExplanationInfo | None = None
    attempts: int = 0
    problem: Problem | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        values = [plain(value) for value in self.instance]
        instance = np.array(values, dtype=np.float64 if self.domain.numeric else object)
        instance.setflags(write=False)
        object.__setattr__(self, "instance", instance)
        object.__setattr__(self, "lower", frozen(self.lower))
        object.__setattr__(self, "upper", frozen(self.upper))

    def __bool__(self) -> bool:
        return self.status == "certified"

    def __str__(self) -> str:
        return describe(self)

    def __repr__(self) -> str:
        return (
            f"<GuaranteeRegion: {self.status}, {len(self.domain)} features, purity {self.purity!r}, "
            f"confidence {self.confidence!r}, {self.volume_fraction:.3g} of the domain>"
        )

    def _repr_html_(self) -> str:
        from lime_guarantee.views.html.notebook import region_view

        return region_view(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GuaranteeRegion):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "problem": None}  # a model often cannot be pickled, or is large

    @property
    def purity(self) -> float:
        """The share of the volume that was asked to be faithful."""
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

    @cached_property
    def reach(self) -> FloatArray:
        """Width of the region over the width of the domain, for every feature (cells are counted)."""
        width = self.search_box.width / self.domain.box().width
        return frozen(width)

    @property
    def volume_fraction(self) -> float:
        """Share of the domain's volume that the region takes up."""
        if self.radius is None:
            return float(np.prod(self.reach))
        return float(min(1.0, np.exp(np.log(10.0) * self.log10_volume - self.domain.box().log_volume)))

    def contains(self, X: Any) -> BoolArray:
        """Which rows of raw values, an array or a DataFrame, lie in the region."""
        return self.search_shape.contains(self.search_domain.encode(X))

    def sample(self, count: int, random_state: int | np.random.Generator | None = None) -> AnyArray:
        """Draw rows of raw values uniformly in the region: those that its purity speaks of."""
        points = self.search_shape.sample(np.random.default_rng(random_state), count)
        return self.search_domain.decode(points)

    def coverage(self, X: Any) -> float:
        """Share of the given rows that lie in the region."""
        inside = self.contains(X)
        if inside.size == 0:
            raise InvalidInputError("X: coverage needs at least one row.")
        return float(inside.mean())

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
        if self.explained is None or self.explained.kind != "lime image":
            raise InvalidInputError("mask: only the region of an image explanation has one.")
        may_go = np.append(self.lower < self.upper, False)
        known = (segments >= 0) & (segments < len(self.domain))
        return np.asarray(may_go[np.where(known, segments, -1)])

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

    def plot_image(self, image: Any, segments: Any, *, ax: Any = None) -> ImageDisplay:
        """Draw the image with the superpixels marked that may be hidden; needs matplotlib.

        Parameters
        ----------
        image : array of shape (height, width) or (height, width, 3)
        segments : integer array of shape (height, width)
            The explanation's ``segments``.
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
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the problem, in types that JSON has; `from_dict` makes the same region of it."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GuaranteeRegion:
        """The region that `to_dict` described."""
        return from_plain(data, cls)

    def to_json(self) -> str:
        """Everything but the problem, as JSON."""
        return to_text(self)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """A page to try values on: whether they are inside the guarantee, and what the explanation predicts.

        It predicts if the region has its `problem` still and the surrogate a formula; those of LIME and
        shap have one.

        Parameters
        ----------
        path : path, optional
            The file to write it to, whole or not at all. It needs no other file, and no network.

        Returns
        -------
        str
            The page.
        """
        from lime_guarantee.views.html.page import written
        from lime_guarantee.views.html.region_page import region_page

        return written(region_page(self), path)

    @classmethod
    def from_json(cls, text: str) -> GuaranteeRegion:
        """The region that `to_json` wrote."""
        return cls.from_dict(json.loads(text))

    @cached_property
    def search_domain(self) -> Domain:
        """The domain with the allowed categories first, so that they are an interval."""
        return Domain(tuple(axis.search_axis(extent_of(self, i)) for i, axis in enumerate(self.domain.axes)))

    @cached_property
    def search_box(self) -> Box:
        """The region's bounds as a box of `search_domain`."""
        bounds = [axis.search_bounds(extent_of(self, i)) for i, axis in enumerate(self.domain.axes)]
        return Box(
            np.array([low for low, _ in bounds]), np.array([high for _, high in bounds]), self.domain.unit
        )

    @cached_property
    def search_shape(self) -> Shape:
        """What was certified: the box, or the ball, of `search_domain`."""
        if self.radius is None:
            return self.search_box
        instance = self.search_domain.encode(self.instance[np.newaxis])[0]
        return Ball(instance, self.radius, self.search_domain.box())


leaves_out(GuaranteeRegion, "problem")


def region_from(
    found: Found,
    *,
    status: Status,
    domain: Domain,
    instance: AnyArray,
    settings: Settings,
    problem: Problem | None,
    oracle: Oracle,
    attempts: int,
    widened: tuple[str, ...],
) -> GuaranteeRegion:
    """The region of what a session found; the instance alone, where it found nothing."""
    home = domain.encode(instance[np.newaxis])[0]
    shape: Shape = Box(home, home, domain.unit) if found.shape is None else found.shape
    searched = domain if found.shape is None else found.domain
    lower, upper, allowed = _raw_bounds(bounding_box(shape), searched, domain)
    rows_each, evaluations, calls = 1, 0, 0
    if problem is not None:
        rows_each, evaluations, calls = problem.rows_each, problem.evaluations, problem.calls
    return GuaranteeRegion(
        status=status,
        domain=domain,
        instance=instance,
        lower=lower,
        upper=upper,
        allowed=allowed,
        settings=settings.recorded,
        certificate=found.certificate,
        evaluations=oracle.evaluations * rows_each + evaluations,
        calls=oracle.calls + calls,
        log10_volume=shape.log_volume / float(np.log(10.0)),
        widened=widened,
        reason=found.reason,
        radius=shape.radius if isinstance(shape, Ball) else None,
        version=__version__,
        attempts=attempts,
        explained=None if problem is None else problem.explained,
        problem=problem,
    )


def _raw_bounds(
    box: Box, searched: Domain, domain: Domain
) -> tuple[FloatArray, FloatArray, dict[str, tuple[Any, ...]]]:
    """Bounds and allowed categories of a box in a domain whose categories were reordered."""
    lower, upper = box.lower.copy(), box.upper.copy()
    allowed = {}
    for i, (axis, ordered) in enumerate(zip(domain.axes, searched.axes, strict=True)):
        extent = axis.extent_between(lower[i], upper[i], ordered)
        lower[i], upper[i] = extent.lower, extent.upper
        if extent.allowed:
            allowed[axis.name] = extent.allowed
    return lower, upper, allowed
