"""From one explanation to its record: region, evidence, real rows, reliance, verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lime_guarantee.api import find_region
from lime_guarantee.auditing.evidence import Examination, Finding
from lime_guarantee.auditing.real_rows import RealRows, check_data, share_interval
from lime_guarantee.auditing.record import AuditRecord
from lime_guarantee.auditing.reliance import POOL, measure_reliance
from lime_guarantee.auditing.verdict import Rules, verdict_of
from lime_guarantee.engine.oracle import BATCH_ROWS
from lime_guarantee.problem.problem import Problem
from lime_guarantee.settings import Settings
from lime_guarantee.space.measure import Uniform
from lime_guarantee.space.tables import Table
from lime_guarantee.support.arrays import AnyArray, FloatArray

CLAIM_POINTS = 64
"""Points at which a surrogate is asked what it claims, where no weights came with it."""


def judge(
    problem: Problem,
    index: int,
    rules: Rules,
    data: Table | None,
    settings: Settings,
    evidence_rng: np.random.Generator,
    data_rng: np.random.Generator,
    audited: Table | None = None,
) -> AuditRecord:
    """Audit one explanation, given as the problem that it poses.

    Parameters
    ----------
    problem : Problem
    index : int
        Its place among those audited.
    rules : Rules
    data : Table or None
        Real rows; by default those that the problem's domain remembers.
    settings : Settings
    evidence_rng, data_rng : Generator
        For the evidence about features, and for what is asked about real rows.
    audited : Table or None
        The rows that are audited: they are real, too.
    """
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
            rules.error,
            evidence_rng,
            batch_rows,
        )
        findings = examination.findings()
        region, asked = examination.region, examination.oracle.evaluations
    record = AuditRecord(index, "error", "", region, findings)
    if region.explained is None or region.explained.space == "features":
        given = (record, problem, weights, rules, data)
        try:
            record = _on_real_rows(*given, audited, data_rng, batch_rows)
        except Exception:
            if audited is None:
                raise
            # The model may fail on another of the rows that are audited: that is the result of that row.
            record = _on_real_rows(*given, None, data_rng, batch_rows)
    verdict, reason = verdict_of(record, rules)
    asked += 0 if record.data_check is None else record.data_check.evaluations
    asked += 0 if record.reliance is None else record.reliance.evaluations
    asked = region.evaluations + problem.rows_each * asked
    # A thousand of them would not fit into memory; and model and data are the report's to tell.
    region = replace(region, problem=None, shape=None, origin=None)
    return replace(record, verdict=verdict, reason=reason, region=region, evaluations=asked)


def _on_real_rows(
    record: AuditRecord,
    problem: Problem,
    weights: FloatArray,
    rules: Rules,
    data_table: Table | None,
    audited_table: Table | None,
    rng: np.random.Generator,
    batch_rows: int,
) -> AuditRecord:
    """The record with what real rows say; without any, with the reliance on rows drawn from the measure."""
    region = record.region
    assert region is not None
    data, audited = (
        None if table is None else table.in_order(region.names) for table in (data_table, audited_table)
    )
    if data is None and problem.domain.observed is not None:
        data = problem.domain.observed.rows
    known = RealRows.around(region, data, audited)
    real = len(known) >= 2
    if real:
        inside = int(known.inside(region).sum()) if region else 0
        record = replace(
            record,
            data_check=check_data(problem, region, known, rules.error / 2, rng, batch_rows),
            coverage=inside / len(known),
            coverage_interval=share_interval(inside, len(known)),
        )
    else:
        known = RealRows.around(region, _drawn(problem, rng))
    reliance = measure_reliance(
        problem,
        known,
        weights,
        rules.error / 2,
        rng,
        min_honesty=rules.min_honesty,
        real=real,
        batch_rows=batch_rows,
    )
    return replace(record, reliance=reliance)


def _drawn(problem: Problem, rng: np.random.Generator) -> AnyArray:
    """Rows drawn from the measure, where no real ones are known."""
    row = problem.domain.row(problem.instance)
    domain, _ = problem.domain.including(row)
    cube = Uniform().cube(domain, domain.encode(row[np.newaxis])[0])
    return cube.decode(cube.whole.sample(rng, POOL))


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
