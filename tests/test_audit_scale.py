"""Many explanations: what is shared is sent once, data are scanned once, and records stay in their file."""

import json
import re
import tracemalloc
from collections import Counter
from dataclasses import replace

import audit_models
import cloudpickle
import numpy as np
import pytest
from joblib.parallel import get_active_backend
from lime.lime_tabular import LimeTabularExplainer
from lime_guarantee.adapters.ranges import TrainingData

from lime_guarantee import AuditReport, Domain, InvalidInputError, Problem, SameValue, audit, wrap
from lime_guarantee.auditing import AuditRecord
from lime_guarantee.auditing import run as run_module
from lime_guarantee.auditing.sharing import packed, unpacked
from lime_guarantee.auditing.stored import StoredRecords
from lime_guarantee.auditing.workers import CHUNK, _calls
from lime_guarantee.views.html import audit_page

X, _, NAMES = audit_models.data()
TRAIN, ROWS = X[:400], X[400:406]
QUICK = {"purity": 0.9, "confidence": 0.9, "effort": "low"}


def lime():
    return LimeTabularExplainer(TRAIN, feature_names=NAMES, random_state=0)


def run(**changes):
    asked = {
        "explainer": lime(),
        "X": ROWS,
        "predict_fn": audit_models.predict,
        "explain_kwargs": {"num_samples": 300},
        "training_data": TRAIN,
        **QUICK,
    }
    return audit(**{**asked, **changes})


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return tmp_path_factory.mktemp("scale") / "audit.jsonl"


@pytest.fixture(scope="module")
def report(checkpoint):
    return run(checkpoint=checkpoint)


# ------------------------------------------------------------------------------ records in a file


def test_a_report_that_stays_in_its_checkpoint_is_the_same(report, checkpoint, tmp_path):
    stored = AuditReport.from_checkpoint(checkpoint)
    assert isinstance(stored.records, StoredRecords)
    assert stored == report
    assert report == stored
    assert stored.to_json() == report.to_json()
    assert stored.summary() == report.summary()
    assert stored.to_html() == report.to_html()
    assert list(stored.flagged) == list(report.flagged)
    assert stored[-1] == report[-1]
    assert stored.records[1:3] == report.records[1:3]
    assert stored.to_frame().equals(report.to_frame())
    stored.save(tmp_path / "audit.json")
    assert (tmp_path / "audit.json").read_text() == report.to_json()
    assert stored != AuditReport(report.records[:-1], report.about)
    worse = replace(report.records[0], verdict="error")
    assert stored.records != (worse, *report.records[1:])


def test_an_audit_of_many_holds_none_of_them(report, monkeypatch, tmp_path):
    monkeypatch.setattr(run_module, "MOST_HELD", len(ROWS) - 1)
    made = run(checkpoint=tmp_path / "audit.jsonl")
    assert isinstance(made.records, StoredRecords)
    assert made.to_json() == report.to_json()
    again = run(checkpoint=tmp_path / "audit.jsonl")
    assert again.to_json() == report.to_json()


def test_the_report_of_an_audit_that_was_cut_off_says_so(report, checkpoint, tmp_path):
    lines = checkpoint.read_bytes().splitlines(keepends=True)
    part = tmp_path / "part.jsonl"
    part.write_bytes(b"".join(lines[:4]) + lines[4][:100])
    found = AuditReport.from_checkpoint(part)
    assert list(found) == list(report)[:3]
    assert found.unfinished == 3
    assert "The audit was cut off: 3 explanations are not in it." in found.summary()
    assert "The audit was cut off: 3 explanations are not in it." in found.to_html()
    assert report.unfinished == 0
    assert "cut off" not in report.summary()
    part.write_bytes(b"")
    with pytest.raises(InvalidInputError, match="is no checkpoint of an audit"):
        AuditReport.from_checkpoint(part)


def test_of_a_row_that_was_tried_again_the_last_record_counts(report, checkpoint, tmp_path):
    head, *lines = checkpoint.read_text().splitlines(keepends=True)
    failed = json.dumps(AuditRecord(2, "error", "The disk was full.").to_dict()) + "\n"
    path = tmp_path / "again.jsonl"
    path.write_text(head + failed + "".join(lines[::-1]))
    assert AuditReport.from_checkpoint(path) == report
    path.write_text(head + "".join(lines) + failed)
    assert AuditReport.from_checkpoint(path).counts["error"] == 1


def test_a_line_that_was_changed_is_told_when_it_is_read(report, checkpoint, tmp_path):
    head, first, *_ = checkpoint.read_text().splitlines(keepends=True)
    path = tmp_path / "changed.jsonl"
    path.write_text(head + first.replace('"region": ', '"region" ', 1))
    found = AuditReport.from_checkpoint(path)
    with pytest.raises(InvalidInputError, match="is not JSON"):
        found[0]


def test_thousands_of_records_are_summed_up_and_written_in_little_memory(report, checkpoint, tmp_path):
    """Held at once, they would take more than the file."""
    head, *lines = checkpoint.read_text().splitlines()
    path = tmp_path / "many.jsonl"
    with path.open("w") as file:
        file.write(head + "\n")
        for i in range(3_000):
            own = lines[i % len(lines)]
            file.write(own.replace(f'"index": {i % len(lines)},', f'"index": {i},', 1) + "\n")
    size = path.stat().st_size
    tracemalloc.start()
    found = AuditReport.from_checkpoint(path)
    summary = found.summary()
    found.save(tmp_path / "many.json")
    read = sum(1 for record in found.records[:200] if record.region is not None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert read == 200
    assert (tmp_path / "many.json").stat().st_size > size
    assert summary.startswith(f"{500 * report.counts['trusted']} of 3000 explanations are trusted.")
    assert peak < size / 10, (peak, size)


def test_a_page_lists_the_worst_and_sums_over_all(monkeypatch):
    monkeypatch.setattr(audit_page, "MOST_LISTED", 200)
    good = [AuditRecord(i, "trusted", "It holds.") for i in range(270)]
    bad = [AuditRecord(len(good) + i, "dishonest", f"It leaves out feature {i}.") for i in range(30)]
    page = AuditReport((*good, *bad), {}).to_html()
    table = json.loads(re.search(r'id="audit">(.*?)</script>', page).group(1))
    verdicts = [table["verdicts"][code] for code in table["verdict"]]
    assert Counter(verdicts) == {"dishonest": 30, "trusted": 170}
    assert "<strong>270 of 300 explanations are trusted.</strong>" in page
    assert "The list has the 200 worst of 300 explanations." in page
    assert "trusted <b>270</b>" in page
    small = AuditReport(tuple(bad), {}).to_html()
    assert "The list has the" not in small


# --------------------------------------------------------------------------------- sent only once


class Heavy:
    """A model that weighs two megabytes."""

    def __init__(self):
        self.ballast = np.random.default_rng(0).random(250_000)

    def __call__(self, rows):
        return audit_models.predict(rows)

    def first(self, rows):
        return rows[:, 0] + 0 * self.ballast[0]


def work_of(monkeypatch, *args, **asked):
    """The work and the tasks of an audit that is not run."""
    caught = []

    def stop(work, tasks, n_jobs, timeout):
        caught.append((work, list(tasks)))
        raise InterruptedError

    monkeypatch.setattr(run_module, "work_done", stop)
    with pytest.raises(InterruptedError):
        audit(*args, **{**QUICK, **asked})
    return caught[0]


def test_the_model_is_sent_once_and_not_with_every_few_rows(monkeypatch):
    asked = {"explainer": lime(), "X": ROWS, "predict_fn": Heavy(), "training_data": TRAIN}
    work, tasks = work_of(monkeypatch, **asked)
    assert len(packed(work)) > 2e6
    with _calls(work, tasks, get_active_backend()[0]) as calls:
        sent = [len(cloudpickle.dumps(call)) for call in calls]
    assert len(sent) == -(-len(ROWS) // CHUNK)
    assert max(sent) < 5_000


@pytest.mark.parametrize("kind", ["problems", "methods", "explanations"])
def test_what_explanations_have_in_common_is_sent_once(monkeypatch, kind):
    model = Heavy()
    if kind == "explanations":
        large = np.tile(TRAIN, (60, 1)) + np.random.default_rng(0).random((24_000, 6))
        explainer = wrap(lime(), training_data=large)
        made = [explainer.explain_instance(row, audit_models.predict, num_samples=100) for row in ROWS]
        assert len(cloudpickle.dumps(made[0]._guarantee_captured.data)) > 10_000
        asked = {"predict_fn": audit_models.predict}
    else:
        domain = Domain.from_data(TRAIN)
        made = [
            Problem(model.first if kind == "methods" else model, len, SameValue(0.1), row, domain)
            for row in ROWS
        ]
        asked = {}
    work, tasks = work_of(monkeypatch, made, **asked)
    alone = len(packed(tasks[0][1]))
    sent = len(packed(tasks[0][1], work.known_objects))
    assert sent < alone / 2, (sent, alone)
    copy = unpacked(packed(tasks[0][1], work.known_objects), work.known_objects)
    assert type(copy) is type(made[0])


def test_training_data_are_scanned_once(monkeypatch):
    """Not for every explanation, whether these were made before or are made by the audit."""
    scanned = []
    scan = TrainingData.of.__func__
    monkeypatch.setattr(
        TrainingData, "of", classmethod(lambda cls, data: scanned.append(len(data)) or scan(cls, data))
    )
    explainer = wrap(lime())
    made = [explainer.explain_instance(row, audit_models.predict, num_samples=100) for row in ROWS[:3]]
    report = audit(made, predict_fn=audit_models.predict, training_data=TRAIN, **QUICK)
    assert report.counts["error"] == 0, report.summary()
    assert scanned == [400]
    scanned.clear()
    run(X=ROWS[:3])
    assert scanned == [400]


def test_seeds_are_those_that_spawn_gives():
    spawned = np.random.SeedSequence(7).spawn(3)
    for i, seed in enumerate(spawned):
        np.testing.assert_array_equal(run_module._seed_of_row(7, i).generate_state(4), seed.generate_state(4))
