"""What a region guarantees, in sentences to sign; what it does not; and the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from lime_guarantee.region.report import (
    in_presence,
    lower_text,
    measure_of,
    purity_bound_text,
    share_text,
    upper_text,
)
from lime_guarantee.settings import Settings

if TYPE_CHECKING:
    from lime_guarantee.region.on_rows import OnRows
    from lime_guarantee.region.region import GuaranteeRegion
    from lime_guarantee.region.worth import Worth

AGREES = {
    "class": "the same class as the model, or the same score within {tolerance:.3g}",
    "value": "the same value as the model within {tolerance:.3g}",
    "change": "the same change from this row on as the model, within {tolerance:.3g}",
}

UNLIKE_REAL_ROWS = {
    "marginal": "Real rows combine features their own way; the rows of this statement are drawn feature by "
    "feature.",
    "uniform": "Real rows are not spread evenly; the rows of this statement are, and most of them look "
    "unlike real ones.",
    "joint": "The rows of this statement are like those of the data; nothing is said of rows in which one "
    "feature alone was moved.",
}

SAID_ELSEWHERE = ("random_state", "batch_rows", "effort")
"""What settings in words leave out: the seed, what changes nothing, and what the search says."""

Figures = list[tuple[str, str]]


def guaranteed(region: GuaranteeRegion) -> str:
    """What is guaranteed, in one sentence that stands alone."""
    if not region:
        return f"Nothing is guaranteed: {region.reason}"
    explained = region.explained
    agrees = "is faithful, by the rule that was given,"
    if explained is not None:
        agrees = f"gives {AGREES[explained.agreement].format(tolerance=explained.tolerance)},"
    begin = (
        f"With confidence {region.confidence!r}, the explanation {agrees} on at least {region.purity!r} of"
    )
    if in_presence(region):
        return (
            f"{begin} the versions of this input that one gets by removing any combination of the "
            f"{len(region.removable)} parts that may go, every combination being as likely as the other."
        )
    drawn = measure_of(region).drawn.replace("these limits", "the limits below")
    near = "" if region.radius is None else f", and within {region.radius:.4g} of the row"
    return f"{begin} the rows that one gets like this: {drawn[0].lower()}{drawn[1:]}{near}."


def not_guaranteed(region: GuaranteeRegion) -> list[str]:
    """What a reader might believe, and is not said."""
    if not region:
        return ["There is no region in which the explanation may be relied on."]
    beyond = "If a part goes that must stay" if in_presence(region) else "Outside the limits"
    lines = [
        f"{beyond}, nothing is said.",
        f"Within them up to {_rest(region.purity)} of the rows may be wrong, and it is not known which; with "
        f"a probability of {_rest(region.confidence)} at most, over the draws of this test, the statement is "
        "wrong.",
    ]
    if not in_presence(region) and region.measure in UNLIKE_REAL_ROWS:
        lines.append(f"{UNLIKE_REAL_ROWS[region.measure]} What real rows say is a figure of its own.")
    if region.worth is not None and region.worth.flat_in_score:
        lines.append("The weights are not tested: a constant would do as well here.")
    return [
        *lines,
        "It is not said that the model is right, fair or causal: only that explanation and model agree.",
        "It holds for the model and the data named here, and for no other: a retrained model needs its own.",
    ]


def figures(region: GuaranteeRegion) -> Figures:
    """What was counted and measured, each with its name."""
    found: Figures = []
    certificate, explained = region.certificate, region.explained
    if explained is not None and len(explained.model_at_instance) == 1:
        model, surrogate = explained.model_at_instance[0], explained.surrogate_at_instance[0]
        found.append(("At the row itself", f"model {model:.4g}, explanation {surrogate:.4g}"))
    if certificate is None:
        return [*found, ("Cost", f"{region.evaluations:,} evaluations of the model")]
    bound = purity_bound_text(certificate.purity_lower_bound)
    found += [
        ("Purity, lower bound", f"{bound} (asked: {region.purity!r}, confidence {region.confidence!r})"),
        ("Fresh draws", f"{certificate.draws:,}, of which {certificate.failures:,} failed"),
        ("Test", f"{certificate.certifier}, attempt {certificate.attempts}"),
    ]
    what = "all combinations" if in_presence(region) else f"the {measure_of(region).measured}"
    found.append(("Size", f"{share_text(region.share)} of {what}"))
    if region.covered is not None:
        found.append(("Rows of the data inside", f"{region.covered[0]:,} of {region.covered[1]:,}"))
    if region.validation is not None:
        found += _on_rows(region.validation)
    if region.worth is not None:
        found += _worth(region.worth)
    return [*found, ("Cost", f"{region.evaluations:,} evaluations in {region.calls:,} calls")]


def _on_rows(rows: OnRows) -> Figures:
    which = "Held-out rows" if rows.fresh else "Training rows"
    inside, faithful = f"{rows.rows:,} of {rows.given:,}", f"{rows.faithful:,} of {rows.rows:,}"
    sure = f", confidence {rows.confidence!r}"
    return [
        (f"{which} inside (coverage)", inside + _at_least(rows.coverage_lower, sure)),
        ("Explanation faithful on these (fidelity)", faithful + _at_least(rows.fidelity_lower, sure)),
    ]


def _at_least(bound: float | None, sure: str) -> str:
    return "" if bound is None else f" (at least {lower_text(100 * bound, 3)} % of rows like them{sure})"


def _worth(worth: Worth) -> Figures:
    found: Figures = []
    pairs = (
        ("Gain over a constant", worth.gain, worth.gain_interval),
        ("Gain in the score", worth.score_gain, worth.score_gain_interval),
    )
    for name, gain, interval in pairs:
        if gain is not None and interval is not None:
            low, high = lower_text(100 * interval[0], 2), upper_text(100 * interval[1], 2)
            found.append((name, f"{share_text(gain)} ({low} to {high} %)"))
    if worth.weights:
        found.append(("Weights shown to be needed", f"{len(worth.needed_weights)} of {len(worth.weights)}"))
    return found


def settings_text(settings: Settings) -> str:
    """Settings as they are written in code: those that differ from the defaults."""
    default = Settings()
    asked = [
        f"{entry.name}={_written(getattr(settings, entry.name))}"
        for entry in fields(Settings)
        if getattr(settings, entry.name) != getattr(default, entry.name)
        and not (entry.name == "effort" and settings.effort == getattr(settings.searcher, "effort", None))
    ]
    return f"Settings({', '.join(asked)})"


def settings_in_words(settings: Mapping[str, Any]) -> str:
    """Settings as `Settings.to_dict` has them, in words; the seed is told elsewhere."""
    told = {name: value for name, value in settings.items() if name not in SAID_ELSEWHERE}
    return ", ".join(f"{name} {_in_words(value)}" for name, value in told.items() if value is not None)


def _in_words(value: Any) -> str:
    if not isinstance(value, Mapping):
        return str(value)
    name, *rest = value.values()  # a search, with its parameters
    return f"{name} ({', '.join(map(str, rest))})" if rest else str(name)


def _written(value: Any) -> str:
    return repr(getattr(value, "name", value)) if type(value).__module__.endswith("measure") else repr(value)


def _rest(share: float) -> str:
    """What is left of 1, in words, and never less than it is."""
    return f"{upper_text(1.0 - share, 3)}"
