"""Several explanations of one row, side by side, with the best constant among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lime_guarantee.api import find_region, problem_of
from lime_guarantee.choosing.refit import best_constant
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.region.report import share_text
from lime_guarantee.settings import SETTINGS, Settings, settings_from, shows_settings
from lime_guarantee.support.imports import require

if TYPE_CHECKING:
    from lime_guarantee.views.plots import ComparisonDisplay

CONSTANT = "best constant"


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found: a region for every explanation, all by the same search.

    Each region keeps its own promise, with its own confidence. Whoever looks at several and takes the best
    has that promise for each, not for the choice.

    Parameters
    ----------
    regions : dict of str to GuaranteeRegion
        By the names of the explanations; "best constant" is among them, unless it was left out.

    Examples
    --------
    >>> from lime_guarantee import Domain, Problem, SameValue
    >>> def model(X):
    ...     return 2 * X[:, 0]
    >>> domain, row = Domain.from_bounds([0, 0], [1, 1]), np.array([0.5, 0.5])
    >>> problem = Problem(model, model, SameValue(0.1), row, domain)
    >>> comparison = compare({"own": problem}, random_state=0)
    >>> list(comparison.regions), comparison.largest
    (['own', 'best constant'], 'own')
    """

    regions: Mapping[str, GuaranteeRegion]

    @property
    def largest(self) -> str | None:
        """The name of the explanation with the largest certified region; None if there is none."""
        certified = [name for name, region in self.regions.items() if region]
        return max(certified, key=lambda name: self.regions[name].log10_share, default=None)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for every explanation."""
        pandas = require("pandas", "Comparison.to_frame", extra="all")
        return pandas.DataFrame([_entries(name, region) for name, region in self.regions.items()])

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """Draw the sizes of the regions and their gains; needs matplotlib."""
        from lime_guarantee.views.plots import ComparisonDisplay

        return ComparisonDisplay.from_comparison(self).plot(ax)

    def __str__(self) -> str:
        rows = [["explanation", "size", "rows inside", "faithful", "gain", "needed"]]
        rows += [_texts(_entries(name, region)) for name, region in self.regions.items()]
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        table = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([self._answer(), "", *table])

    def _answer(self) -> str:
        """The first line: which one to take, or that none says more than a constant."""
        largest = self.largest
        if largest is None:
            return "None of these explanations could be certified."
        if largest == CONSTANT:
            return "None of these explanations has a larger region than a constant has."
        worth = self.regions[largest].worth
        flat = worth is not None and worth.flat
        return f"{largest} has the largest region" + (", but a constant does as well there." if flat else ".")


def _entries(name: str, region: GuaranteeRegion) -> dict[str, Any]:
    """A row of the table."""
    worth, rows = region.worth, region.validation
    low, high = (None, None) if worth is None or worth.gain_interval is None else worth.gain_interval
    covered = None if region.covered is None else region.covered[0] / max(region.covered[1], 1)
    return {
        "explanation": name,
        "status": region.status,
        "log10_share": region.log10_share if region else None,
        "coverage": covered if rows is None else rows.coverage,
        "fidelity": None if rows is None else rows.fidelity,
        "gain": region.gain,
        "gain_lower": low,
        "gain_upper": high,
        "score_gain": None if worth is None else worth.score_gain,
        "needed": None if worth is None else len(worth.needed_weights),
        "weights": None if worth is None else len(worth.weights),
        "evaluations": region.evaluations,
    }


def _texts(entries: Mapping[str, Any]) -> list[str]:
    """A row of the table, in words."""

    def share(name: str) -> str:
        return "-" if entries[name] is None else share_text(entries[name])

    size = entries["status"] if entries["log10_share"] is None else f"10^{entries['log10_share']:.2f}"
    needed = "-" if entries["needed"] is None else f"{entries['needed']} of {entries['weights']}"
    return [entries["explanation"], size, share("coverage"), share("fidelity"), share("gain"), needed]


@shows_settings
def compare(
    explanations: Mapping[str, Any] | Sequence[Any],
    *,
    constant: bool = True,
    validation_data: Any = None,
    settings: Settings | None = None,
    **options: Any,
) -> Comparison:
    """Put several explanations of one row side by side, and the best constant beside them.

    Parameters
    ----------
    explanations : mapping of name to explanation, or sequence
        Explanations of LIME or shap, or `Problem` objects. They must be about the same row, and are compared
        by the same search, each by its own rule.
    constant : bool
        Whether the best admissible constant is compared, too, by the rule of the first explanation.
    validation_data : array or DataFrame, optional
        As in `find_region`: gives coverage and fidelity on real rows.
    settings : Settings, optional
    **options
        As in `guarantee_region`; they hold for every explanation.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from lime_guarantee import Domain, Problem, SameValue
    >>> def model(X):
    ...     return X[:, 0] + 0.2 * X[:, 1]
    >>> domain, row = Domain.from_bounds([0, 0], [1, 1]), np.array([0.5, 0.5])
    >>> def problem(surrogate):
    ...     return Problem(model, surrogate, SameValue(0.05), row, domain)
    >>> problems = {"both": problem(model), "x0 alone": problem(lambda X: X[:, 0] + 0.1)}
    >>> print(str(compare(problems, random_state=0)).splitlines()[0])
    both has the largest region.
    """
    asked = settings_from(settings, {name: v for name, v in options.items() if name in SETTINGS})
    rest = {name: value for name, value in options.items() if name not in SETTINGS}
    named = _named(explanations)
    problems = {
        name: given if isinstance(given, Problem) else problem_of(given, settings=asked, **rest)
        for name, given in named.items()
    }
    first = next(iter(problems.values()))
    _check_same_row(problems)
    regions = {
        name: find_region(problem, validation_data=validation_data, settings=asked)
        for name, problem in problems.items()
    }
    if constant and (first.explained is None or first.explained.space == "features"):
        regions[CONSTANT] = best_constant(first, settings=asked, validation_data=validation_data)
    return Comparison(regions)


def _named(explanations: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Explanations by name; without names they are numbered."""
    if isinstance(explanations, Mapping):
        named = {str(name): explanation for name, explanation in explanations.items()}
    else:
        named = {f"explanation {k + 1}": explanation for k, explanation in enumerate(explanations)}
    if not named:
        raise InvalidInputError("explanations: at least one is required; got none.")
    if CONSTANT in named:
        raise InvalidInputError(f"explanations: the name {CONSTANT!r} is ours. Choose another one.")
    return named


def _check_same_row(problems: Mapping[str, Problem]) -> None:
    (name, first), *others = problems.items()
    for other, problem in others:
        if not np.array_equal(problem.instance, first.instance):
            raise InvalidInputError(
                f"explanations: all must be about one row; {other!r} is about another one than {name!r}. "
                "Explain the same row with each, and compare those."
            )
