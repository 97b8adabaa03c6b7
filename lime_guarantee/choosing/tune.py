"""Tune an explainer: which kernel width, discretizer and number of features hold on most real rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from lime_guarantee.adapters.base import check_function
from lime_guarantee.adapters.hooks import wrap
from lime_guarantee.adapters.lime_variants import is_table_explainer, lime_with
from lime_guarantee.api import guarantee_region, problem_of
from lime_guarantee.choosing.refit import best_constant
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.region.report import share_text
from lime_guarantee.settings import SETTINGS, Settings, settings_from, shows_settings
from lime_guarantee.support.imports import require

GRID: dict[str, tuple[Any, ...]] = {
    "kernel_width": (0.5, 1.0, 2.0),
    "discretizer": ("quartile", "decile", None),
    "num_features": (5, 10),
}
"""What is tried unless a grid is given; widths are in units of LIME's default."""

OF_THE_CALL = ("num_features", "num_samples", "distance_metric", "model_regressor")
"""Settings that belong to `explain_instance`; all others belong to the explainer."""


@dataclass(frozen=True)
class Tried:
    """One setting, and what its explanations of the rows are worth on average.

    Parameters
    ----------
    setting : dict
    certified : float
        Share of the rows whose explanation has a region.
    coverage : float
        Share of the held-out rows in a region; 0 where there is none.
    gain : float
        Gain over the best admissible constant; 0 where there is no region.
    explained : float
        Coverage times the lower end of the gain's interval: the held-out rows that lie in a region, as far as
        a constant is shown to be wrong there.
    """

    setting: Mapping[str, Any]
    certified: float
    coverage: float
    gain: float
    explained: float

    @property
    def score(self) -> float:
        """Coverage, in which what is explained counts twice: so settings are ordered."""
        return self.coverage + self.explained


@dataclass(frozen=True)
class Tuning:
    """What `tune` found, the best setting first.

    It was chosen on these rows, so its figures are a little too good: look at others before you rely on them.

    Parameters
    ----------
    tried : tuple of Tried
        From the best to the worst: by their `score`, which is coverage and what they explain beyond a
        constant.
    constant_coverage : float
        What the best constants of the same rows cover.
    rows : int
        How many rows were explained.

    Examples
    --------
    >>> tuning = Tuning((Tried({"num_features": 5}, 1.0, 0.2, 0.0, 0.0),), constant_coverage=0.3, rows=8)
    >>> tuning.best, tuning.pays
    ({'num_features': 5}, False)
    """

    tried: tuple[Tried, ...]
    constant_coverage: float
    rows: int

    @property
    def best(self) -> Mapping[str, Any]:
        """The best setting."""
        return self.tried[0].setting

    @property
    def pays(self) -> bool:
        """Whether the best setting beats a constant: it covers more, or is shown to explain something."""
        best = self.tried[0]
        return best.coverage > self.constant_coverage or best.explained > 0

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every setting."""
        pandas = require("pandas", "Tuning.to_frame", extra="all")
        kept = ("certified", "coverage", "gain", "explained")
        rows = [{**t.setting, **{name: getattr(t, name) for name in kept}} for t in self.tried]
        return pandas.DataFrame(rows)

    def __str__(self) -> str:
        best, setting = self.tried[0], ", ".join(f"{k}={v!r}" for k, v in self.best.items())
        lines = [
            f"Best of {len(self.tried)} settings on {self.rows} rows: {setting}.",
            f"It covers {share_text(best.coverage)} of the held-out rows, with a gain of "
            f"{share_text(best.gain)}; the best constants cover {share_text(self.constant_coverage)}.",
        ]
        if not self.pays:
            lines.append("No setting beats a constant: the model is flat around these rows.")
        return "\n".join(lines)


@shows_settings
def tune(
    explainer: Any,
    rows: Any,
    predict_fn: Callable[[Any], Any],
    *,
    training_data: Any,
    validation_data: Any,
    grid: Mapping[str, Sequence[Any]] | None = None,
    settings: Settings | None = None,
    **options: Any,
) -> Tuning:
    """Find the settings with which explanations hold on most real rows, and say more than a constant.

    Every setting explains the same rows, from the same seed; every explanation gets a region by the same
    search, and so does the best constant of every row.

    Parameters
    ----------
    explainer : LimeTabularExplainer, or callable
        A callable is given a setting by name and returns an explainer of any kind that has an adapter.
    rows : array of shape (n, D)
        A handful of rows to explain.
    predict_fn : callable
        The model.
    training_data : array
        What the explainer was made from.
    validation_data : array
        Held-out rows, of which the regions are to hold many.
    grid : mapping of name to values, optional
        What to try, in all combinations: ``kernel_width`` (in units of LIME's default), ``discretizer`` (None
        for none), and arguments of ``explain_instance`` such as ``num_features``.
    settings : Settings, optional
    **options
        As in `guarantee_region`.

    Returns
    -------
    Tuning

    Examples
    --------
    >>> from lime.lime_tabular import LimeTabularExplainer
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> def model(rows):
    ...     return 2 * rows[:, 0] + rows[:, 1]
    >>> explainer = LimeTabularExplainer(X, mode="regression", random_state=0)
    >>> tuning = tune(explainer, X[:2], model, training_data=X[100:], validation_data=X[2:100],
    ...               grid={"discretizer": ["quartile", None]}, tolerance=0.5, random_state=0)
    >>> tuning.best, tuning.pays
    ({'discretizer': None}, True)
    """
    asked = settings_from(settings, {name: v for name, v in options.items() if name in SETTINGS})
    rest = {name: value for name, value in options.items() if name not in SETTINGS}
    check_function(predict_fn)
    chosen = dict(GRID if grid is None else grid)
    if not chosen or not all(len(values) for values in chosen.values()):
        raise InvalidInputError("grid: at least one value of at least one setting is required; got none.")
    given, held_out = np.atleast_2d(np.asarray(rows)), np.asarray(validation_data)
    job = _Job(explainer, given, predict_fn, training_data, held_out, asked, rest)
    settings_tried = [dict(zip(chosen, values, strict=True)) for values in product(*chosen.values())]
    tried = [job.tried(setting) for setting in settings_tried]
    order = sorted(tried, key=lambda t: t.score, reverse=True)
    return Tuning(tuple(order), job.constant_coverage(settings_tried[0]), len(given))


@dataclass(frozen=True, eq=False)
class _Job:
    """Explains rows with one setting after the other."""

    explainer: Any
    rows: Any
    predict_fn: Callable[[Any], Any]
    training_data: Any
    held_out: Any
    settings: Settings
    options: Mapping[str, Any]

    def tried(self, setting: Mapping[str, Any]) -> Tried:
        """What the explanations of one setting are worth."""
        regions = [
            guarantee_region(explanation, settings=self.settings, **self.options)
            for explanation in self._explanations(setting)
        ]
        covered = np.array([self._coverage(region) for region in regions])
        return Tried(
            dict(setting),
            certified=float(np.mean([bool(region) for region in regions])),
            coverage=float(covered.mean()),
            gain=float(np.mean([region.gain or 0.0 for region in regions])),
            explained=float(np.mean(covered * [_shown_gain(region) for region in regions])),
        )

    def constant_coverage(self, setting: Mapping[str, Any]) -> float:
        """What the best constants of the rows cover."""
        problems = [
            problem_of(explanation, settings=self.settings, **self.options)
            for explanation in self._explanations(setting)
        ]
        regions = [best_constant(problem, settings=self.settings) for problem in problems]
        return float(np.mean([self._coverage(region) for region in regions]))

    def _coverage(self, region: GuaranteeRegion) -> float:
        return region.coverage(self.held_out) if region else 0.0

    def _explanations(self, setting: Mapping[str, Any]) -> list[Any]:
        call = {name: value for name, value in setting.items() if name in OF_THE_CALL}
        own = {name: value for name, value in setting.items() if name not in OF_THE_CALL}
        made = [self._explainer(own) for _ in self.rows]  # one for each row: the same seed for all settings
        return [
            explainer.explain_instance(row, self.predict_fn, **call)
            if hasattr(explainer, "explain_instance")
            else explainer(row[np.newaxis])[0]
            for explainer, row in zip(made, self.rows, strict=True)
        ]

    def _explainer(self, setting: Mapping[str, Any]) -> Any:
        """A wrapped explainer with this setting."""
        if is_table_explainer(self.explainer):
            seed = self.settings.random_state
            whole = seed if isinstance(seed, int) else None
            made = lime_with(self.explainer, self.training_data, random_state=whole, **setting)
        elif callable(self.explainer):
            made = self.explainer(**setting)
        else:
            raise InvalidInputError(
                "explainer: a LimeTabularExplainer, or a function that makes an explainer of a setting, is "
                f"required; got {type(self.explainer).__name__}."
            )
        return wrap(made, training_data=self.training_data)


def _shown_gain(region: GuaranteeRegion) -> float:
    """The lower end of the gain's interval; 0 where a constant does as well."""
    interval = region.gain_interval
    return 0.0 if interval is None or region.worth is None or region.worth.flat else interval[0]
