"""The verdict on an explanation: the worst thing to say of it, in a sentence that is true as it stands.

Two verdicts accuse, and each has an error rate: "off-manifold" (real rows fail more often than their twins)
and "dishonest" (a feature is relied on or needed, and not claimed). Half of `Rules.error` goes to each;
reliance and need have a quarter each, and what the row itself says is counted, not estimated. "trusted"
needs a certificate, which has a confidence of its own, and is given only where it is shown that no feature is
relied on by much more than is claimed; a quarter of `Rules.error` is the probability that this is shown
wrongly. The other verdicts rest on counts, and the sentence has them.
"""

from __future__ import annotations

from dataclasses import dataclass

from lime_guarantee.auditing.need import Need
from lime_guarantee.auditing.own_row import NAMED, OwnRow
from lime_guarantee.auditing.own_row import WEIGHT as OWN_WEIGHT
from lime_guarantee.auditing.real_rows import MARGIN, DataCheck
from lime_guarantee.auditing.record import AuditRecord, Verdict
from lime_guarantee.auditing.reliance import Reliance
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.region.report import lower_text, share_text, upper_text

CLOSE = 0.5
"""A feature that explains so much of the variance of the answers to real rows is named."""


@dataclass(frozen=True)
class Rules:
    """What is asked of an explanation.

    Parameters
    ----------
    claim_share : float
        A feature with less than this share of all weight is claimed irrelevant.
    min_reach : float
        A claimed-irrelevant feature that reaches less far is looked at closely.
    min_coverage : float
        A region that holds less of the real rows is narrow.
    error : float
        The probability that an explanation is wrongly called dishonest or off-manifold.
    min_fidelity : float
        A region in which the explanation is faithful on less of the real rows is narrow.
    min_honesty : float
        An explanation of less honesty, beyond doubt, is dishonest; one of at least this much may be trusted.
    """

    claim_share: float = 0.01
    min_reach: float = 0.9
    min_coverage: float = 0.01
    error: float = 0.01
    min_fidelity: float = 0.9
    min_honesty: float = 0.65

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0.0 <= value <= 1.0:
                raise InvalidInputError(f"{name}: a number from 0 to 1 is required; got {value!r}.")


def definitions(rules: Rules) -> dict[str, str]:
    """What each verdict means under these rules, in a sentence, from the best to the worst."""
    beyond = share_text(1.0 - rules.min_honesty)
    moved = share_text(min(1.0, (1.0 - rules.min_honesty) / OWN_WEIGHT))
    return {
        "trusted": "A region is certified, the explanation is faithful on the real rows in it, its weights "
        "are tested there, and it is shown that the model relies on no feature by more than "
        f"{beyond} beyond what is claimed.",
        "flat": "As trusted, but a constant score would do in the region, so the weights are not tested: a "
        "remark, no alarm.",
        "narrow": f"A region is certified, but it holds less than {share_text(rules.min_coverage)} of the "
        f"real rows, or the explanation is faithful on less than {share_text(rules.min_fidelity)} of those "
        "in it.",
        "uncertified": "No region could be certified, or it stays open how far the model relies on a "
        "feature.",
        "unfaithful": "The explanation misses the model at its own input.",
        "dishonest": "On real rows nearby, a feature's share of what the model relies on exceeds what the "
        f"explanation claims by more than {beyond}, beyond doubt; or the answer to this very row moves with "
        f"it by {moved} of the range more than is claimed; "
        "or the model's answers to real rows cannot be told without a feature that is hardly claimed.",
        "off-manifold": f"The explanation fails on real rows by {share_text(MARGIN)} more often, beyond "
        "doubt, than on the same rows with every feature moved a little: the model may tell real rows from "
        "made-up ones.",
        "error": "The model or the explainer failed on the row: nothing is said of the explanation.",
    }


def verdict_of(record: AuditRecord, rules: Rules) -> tuple[Verdict, str]:
    """The verdict on a record that has all but its verdict, and the reason in one sentence."""
    region, check, reliance = record.region, record.data_check, record.reliance
    assert region is not None
    hidden = _hidden(record, rules)
    if check is not None and check.off_manifold:
        return (
            "off-manifold",
            f"{_off_manifold(check)} {hidden or _companion(region, check, reliance)}".strip(),
        )
    if hidden:
        return "dishonest", hidden
    if region.status == "unfaithful":
        gap = "" if region.explained is None else f", by {region.explained.gap:.3g}"
        return "unfaithful", f"The explanation misses the model at its own instance{gap}."
    if region.status == "uncertified":
        return "uncertified", f"No region could be certified: {region.reason}"
    if record.fidelity is not None and record.fidelity < rules.min_fidelity:
        assert check is not None
        return "narrow", f"The region is certified, but the data lie where it fails: {_faithful_on(check)}."
    if record.coverage is not None and record.coverage < rules.min_coverage:
        return "narrow", f"The region is certified, but it holds {_coverage(record)}."
    if reliance is not None and reliance.honesty_interval[0] < rules.min_honesty:
        return "uncertified", _undecided(region, reliance)
    holds = f"The explanation holds on at least {region.purity!r} of its region"
    if region.worth is not None and region.worth.flat_in_score:
        return "flat", f"{holds}, but a constant would do: its weights are not tested there{_tail(record)}."
    return "trusted", f"{holds}{_tail(record)}."


def _hidden(record: AuditRecord, rules: Rules) -> str:
    """What the model's answers go with, and the explanation does not claim; or nothing.

    A feature is named once: by what is relied on nearby, by the row itself, or by what is needed.
    """
    region, reliance, own = record.region, record.reliance, record.own_row
    by = 1.0 - rules.min_honesty
    assert region is not None
    said, named = [], set[int]()
    denied = () if reliance is None else reliance.under_claimed(by)
    if reliance is not None and denied:
        said.append(_relies(region, reliance, denied[0]))
        named.add(denied[0])
    moved = [i for i in _moved_most(record, by) if i not in named]
    if own is not None and moved:
        said.append(_moves(region, own, moved))
        named.update(moved[:NAMED])
    needed = [need for need in record.needs if need.honesty < rules.min_honesty]
    if needed and needed[0].feature not in named:
        said.append(_needed(region, needed[0]))
    return " ".join(said)


def _moved_most(record: AuditRecord, by: float) -> tuple[int, ...]:
    """Denied features that move the answer to the row: of two alike, first what is relied on nearby."""
    own, reliance = record.own_row, record.reliance
    if own is None:
        return ()
    nearby = own.gaps if reliance is None else reliance.gaps
    return tuple(sorted(own.denied(by), key=lambda i: (-round(own.gaps[i], 1), -nearby[i])))


def _tail(record: AuditRecord) -> str:
    """What real rows, reliance and findings add about an explanation that holds."""
    parts = []
    if record.fidelity is not None and record.data_check is not None:
        parts.append(_faithful_on(record.data_check))
    if record.reliance is not None:
        most = upper_text(100 * (1.0 - record.reliance.honesty_interval[0]), 2)
        parts.append(f"no feature is relied on by more than {most} % beyond what is claimed")
    left_out = [finding.feature for finding in record.findings if finding.incomplete]
    if left_out:
        others = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        parts.append(f"it leaves out {left_out[0]!r}{others}, and fails beyond its limits along it")
    return "; " + "; ".join(parts) if parts else ""


def _faithful_on(check: DataCheck) -> str:
    low, high = (100 * end for end in check.fidelity_interval)
    faithful = check.real_rows - check.real_failures
    return (
        f"it is faithful on {faithful:,} of {check.real_rows:,} real rows in it "
        f"({lower_text(low, 3)} to {upper_text(high, 3)} % of rows like them)"
    )


def _coverage(record: AuditRecord) -> str:
    assert record.coverage is not None
    assert record.coverage_interval is not None
    most = upper_text(100 * record.coverage_interval[1], 3)
    return f"{share_text(record.coverage)} of the real rows (at most {most} % of rows like them)"


def _off_manifold(check: DataCheck) -> str:
    where = "in the region" if check.inside else "nearest to the instance"
    return (
        f"The explanation fails on {check.real_failures:,} of {check.real_rows:,} real rows {where} "
        f"({check.real_rate:.0%}), but on {check.synthetic_rate:.0%} of the same rows with every feature "
        "moved a little: the model treats real rows differently."
    )


def _companion(region: GuaranteeRegion, check: DataCheck, reliance: Reliance | None) -> str:
    """A feature to look at: what the answers to real rows go with, or what is under-claimed most."""
    if check.goes_with is not None and check.explained_by_it >= CLOSE:
        name, share = region.names[check.goes_with], check.explained_by_it
        return (
            f"Its answers to these real rows go with {name!r}, which explains {share:.0%} of their variance."
        )
    if reliance is None:
        return ""
    low, high = (100 * end for end in reliance.intervals[reliance.worst])
    return (
        f"On {_rows(reliance)}, {region.names[reliance.worst]!r} makes up {lower_text(low, 2)} to "
        f"{upper_text(high, 2)} % of what the model relies on, and {_weight(reliance, reliance.worst)}."
    )


def _rows(reliance: Reliance) -> str:
    return "real rows nearby" if reliance.real else "rows drawn nearby"


def _weight(reliance: Reliance, feature: int) -> str:
    return f"the explanation claims {100 * reliance.claimed[feature]:.2g} %"


def _moves(region: GuaranteeRegion, own: OwnRow, features: list[int]) -> str:
    parts = [
        f"with {region.names[i]!r} by {share_text(own.changes[i])} (claimed: {share_text(own.claimed[i])})"
        for i in features[:NAMED]
    ]
    if len(features) > NAMED:
        parts.append(f"and so with {len(features) - NAMED} more")
    return (
        "When cells of this very row are replaced by those of the real rows that are most alike elsewhere, "
        f"the model's answer moves {', '.join(parts)}, in the mean and of the range of its answers."
    )


def _relies(region: GuaranteeRegion, reliance: Reliance, feature: int) -> str:
    least = lower_text(100 * reliance.intervals[feature][0], 2)
    return (
        f"On {_rows(reliance)}, {region.names[feature]!r} makes up at least {least} % of what the model "
        f"relies on, and {_weight(reliance, feature)}."
    )


def _needed(region: GuaranteeRegion, need: Need) -> str:
    name, where = region.names[need.feature], "others nearby" if need.nearby else "others"
    return (
        f"A forest that learns the model's answers from real rows, and is not told {name!r}, loses at least "
        f"{lower_text(100 * need.lower, 2)} % of their variance on {where}; the explanation claims "
        f"{100 * need.claimed:.2g} %, by its squared weights."
    )


def _undecided(region: GuaranteeRegion, reliance: Reliance) -> str:
    feature = max(range(len(region.names)), key=lambda i: reliance.gap_intervals[i][1])
    low, high = (100 * end for end in reliance.intervals[feature])
    return (
        f"A region is certified, but it stays open how far the model relies on {region.names[feature]!r}: by "
        f"{lower_text(low, 2)} to {upper_text(high, 2)} % on {_rows(reliance)}, and "
        f"{_weight(reliance, feature)}."
    )
