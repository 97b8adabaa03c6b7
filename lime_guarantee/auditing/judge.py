"""From one explanation to its record: region, evidence, real rows, reliance, verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lime_guarantee.api import find_region
from lime_guarantee.auditing.answered import Answered, KeptAnswers
from lime_guarantee.auditing.evidence import Examination, Finding
from lime_guarantee.auditing.need import Need, measure_needs
from lime_guarantee.auditing.own_row import OwnRow, look_at_own_row, named_first
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
    kept: KeptAnswers | None = None,
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
    kept : KeptAnswers, optional
        What the model said of real rows when other explanations were judged.
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
        how = (data_rng, batch_rows, kept or KeptAnswers())
        try:
            record = _on_real_rows(*given, audited, *how)
        except Exception:
            if audited is None:
                raise
            # The model may fail on another of the rows that are audited: that is the result of that row.
            record = _on_real_rows(*given, None, *how)
    verdict, reason = verdict_of(record, rules)
    asked += 0 if record.data_check is None else record.data_check.evaluations
    asked += 0 if record.reliance is None else record.reliance.evaluations
    asked += 0 if record.own_row is None else record.own_row.evaluations
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
    kept: KeptAnswers,
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
        sources = (data if data_table is None else data_table, audited_table)
        answered = kept.of(problem, sources, data, audited, batch_rows)
        answers = answered.answers if answered.asked.size else None
        record = replace(
            record,
            data_check=check_data(problem, region, known, rules.error / 2, rng, batch_rows, answers),
            coverage=inside / len(known),
            coverage_interval=share_interval(inside, len(known)),
            needs=_needs(problem, known, answered, weights, rules),
            own_row=_own_row(problem, known, answered, weights, batch_rows),
            shared_evaluations=problem.rows_each * answered.asked.size,
        )
    else:
        known = RealRows.around(region, _drawn(problem, rng))
    reliance = measure_reliance(
        problem,
        known,
        weights,
        rules.error / 4,
        rng,
        min_honesty=rules.min_honesty,
        real=real,
        batch_rows=batch_rows,
    )
    return replace(record, reliance=reliance)


def _needs(
    problem: Problem, known: RealRows, answered: Answered, weights: FloatArray, rules: Rules
) -> tuple[Need, ...]:
    """What is needed to tell the model's answers to real rows as they are."""
    nearest = answered.among_asked(known.places)
    if nearest.size == 0:
        return ()
    label = 0 if problem.explained is None else problem.explained.label or 0
    column = label if answered.answers.ndim == 2 else 0
    claimed = claimed_shares(problem, known.domain.decode(known.coordinates), weights)
    hardly, first = _hardly(problem, answered), named_first(weights)
    return measure_needs(answered.students, nearest, column, claimed, rules.error / 4, hardly, first)


def _own_row(
    problem: Problem, known: RealRows, answered: Answered, weights: FloatArray, batch_rows: int
) -> OwnRow | None:
    """What changes with every cell of the row itself."""
    if answered.asked.size == 0:
        return None
    span = max(float(np.ptp(_explained(problem, answered), axis=0).max()), _hardly(problem, answered))
    return look_at_own_row(problem, known, weights, span or 1.0, batch_rows)


def _explained(problem: Problem, answered: Answered) -> FloatArray:
    """The answers to real rows that are explained; all scores, where no label says which."""
    answers = answered.answers[answered.asked].reshape(answered.asked.size, -1)
    label = None if problem.explained is None else problem.explained.label
    return answers if label is None or answers.shape[1] == 1 else answers[:, label : label + 1]


def _hardly(problem: Problem, answered: Answered) -> float:
    """An answer that differs by less hardly differs: the tolerance, or a tenth of the range."""
    tolerance = getattr(problem.agreement, "tolerance", None)
    return tolerance or 0.1 * float(np.ptp(answered.answers[answered.asked]))


def claimed_shares(problem: Problem, rows: AnyArray, weights: FloatArray) -> FloatArray:
    """What an explanation claims of every feature, as a share of variance: its share of the squared weights.

    Of attributions, which are 0 where a value is average, it is the larger of this and of the share of how
    much the surrogate's answers to real rows vary with the feature, when that is drawn from other rows.
    """
    shares = _shares(weights**2)
    if problem.explained is None or not problem.explained.attributions:
        return shares
    some = rows[:: max(1, len(rows) // CLAIM_POINTS)][:CLAIM_POINTS]
    moved = np.repeat(some[np.newaxis], weights.size + 1, axis=0)
    for i in range(weights.size):
        moved[i + 1, :, i] = np.roll(some[:, i], len(some) // 2)
    answers = problem.surrogate_answers(moved.reshape(-1, weights.size))
    if answers.ndim == 2:
        answers = answers[:, problem.explained.label or 0]
    answers = answers.reshape(weights.size + 1, -1)
    return np.maximum(shares, _shares(((answers[1:] - answers[0]) ** 2).mean(axis=1)))


def _shares(amounts: FloatArray) -> FloatArray:
    total = amounts.sum()
    return amounts / total if total > 0 else np.zeros(amounts.size)


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
