"""From one explanation to its record: region, evidence, data check, verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lime_guarantee.api import find_region
from lime_guarantee.auditing.evidence import Examination, Finding
from lime_guarantee.auditing.real_rows import MARGIN, DataCheck, check_data
from lime_guarantee.auditing.record import AuditRecord, Verdict
from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.problem.problem import Problem
from lime_guarantee.region.region import GuaranteeRegion
from lime_guarantee.region.report import lower_text, measure_of
from lime_guarantee.settings import Settings
from lime_guarantee.space.measure import Uniform
from lime_guarantee.space.tables import Table
from lime_guarantee.support.arrays import FloatArray

CLAIM_POINTS = 64
"""Points at which a surrogate is asked what it claims, where no weights came with it."""


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
        A region that covers less of the data is narrow.
    error : float
        The probability that an explanation is wrongly called dishonest or off-manifold.
    """

    claim_share: float = 0.01
    min_reach: float = 0.9
    min_coverage: float = 0.01
    error: float = 0.01

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0.0 <= value <= 1.0:
                raise InvalidInputError(f"{name}: a number from 0 to 1 is required; got {value!r}.")


def judge(
    problem: Problem,
    index: int,
    rules: Rules,
    data: Table | None,
    settings: Settings,
    evidence_rng: np.random.Generator,
    data_rng: np.random.Generator,
) -> AuditRecord:
    """Audit one explanation, given as the problem that it poses."""
    if problem.explained is None:
        weights = claimed_weights(problem, evidence_rng)
    else:
        weights = np.array(problem.explained.weights)
    batch_rows = settings.batch_rows or problem.batch_rows or BATCH_ROWS
    region = find_region(problem, settings=settings)
    findings: tuple[Finding, ...] = ()
    asked = 0
    if region:
        examination = Examination(
            problem,
            region,
            weights,
            rules.claim_share,
            rules.min_reach,
            rules.error / 2,
            evidence_rng,
            batch_rows,
        )
        findings = examination.findings()
        region, asked = examination.region, examination.oracle.evaluations
    check = coverage = None
    if data is not None and (region.explained is None or region.explained.space == "features"):
        rows = data.in_order(region.names)
        check = check_data(problem, region, rows, rules.error / 2, data_rng, batch_rows)
        coverage = region.coverage(rows) if region else 0.0
    verdict, reason = _verdict(region, findings, check, coverage, rules)
    asked += 0 if check is None else check.evaluations
    asked = region.evaluations + problem.rows_each * asked
    region = replace(region, problem=None, shape=None)  # a thousand of them would not fit into memory
    return AuditRecord(index, verdict, reason, region, findings, check, coverage, asked)


def claimed_weights(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """How much a surrogate's answer changes, on average, when one feature is drawn anew."""
    row = problem.domain.row(problem.instance)
    domain, _ = problem.domain.including(row)
    cube = Uniform().cube(domain, domain.encode(row[np.newaxis])[0])
    points = cube.whole.sample(rng, CLAIM_POINTS)
    before = np.asarray(problem.surrogate(cube.decode(points)), dtype=np.float64)
    weights = np.zeros(len(domain))
    for i in range(len(domain)):
        moved = points.copy()
        moved[:, i] = cube.whole.sample(rng, CLAIM_POINTS)[:, i]
        after = np.asarray(problem.surrogate(cube.decode(moved)), dtype=np.float64)
        weights[i] = np.abs(after - before).mean()
    return weights


def _verdict(
    region: GuaranteeRegion,
    findings: tuple[Finding, ...],
    check: DataCheck | None,
    coverage: float | None,
    rules: Rules,
) -> tuple[Verdict, str]:
    """The worst thing that there is to say, in one sentence."""
    if check is not None and check.off_manifold:
        where = "real rows in the region" if check.inside else "real rows nearest to the instance"
        return "off-manifold", (
            f"The explanation fails on {check.real_rate:.0%} of the {check.real_rows} {where}, but on "
            f"{check.synthetic_rate:.0%} of synthetic rows around them: the model treats real rows "
            "differently."
        )
    caught = [finding for finding in findings if finding.dishonest]
    if caught:
        worst = max(caught, key=lambda finding: finding.failing_lower_bound)
        others = f" (and {len(caught) - 1} more)" if len(caught) > 1 else ""
        weight = "next to no weight" if any(finding.weight_share for finding in caught) else "no weight"
        least = lower_text(100 * worst.failing_lower_bound, 2)
        return "dishonest", (
            f"The explanation gives {worst.feature!r}{others} {weight}, but outside the region along it the "
            f"explanation fails on at least {least}% of {measure_of(region).rows}."
        )
    if region.status == "unfaithful":
        gap = "" if region.explained is None else f", by {region.explained.gap:.3g}"
        return "unfaithful", f"The explanation misses the model at its own instance{gap}."
    if region.status == "uncertified":
        return "uncertified", f"No region could be certified: {region.reason}"
    if check is not None and check.inside and check.real_lower_bound > 1.0 - region.purity + MARGIN:
        return "narrow", (
            f"The explanation holds on most of its region, but fails on {check.real_rate:.0%} of "
            f"the {check.real_rows} real rows in it: the data lie where it does not hold."
        )
    if coverage is not None and coverage < rules.min_coverage:
        return "narrow", f"The explanation holds, but its region covers only {coverage:.2%} of the data."
    return "trusted", (
        f"The explanation holds on at least {region.purity!r} of its region, and the features it leaves out "
        "do not matter there."
    )
