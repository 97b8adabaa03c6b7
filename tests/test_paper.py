"""The paper's tables: the scripts run and go on after a stop, and the page shows what the files say.

The smoke test takes the smallest of the data (iris, and the clusters in two dimensions), one point a cell and
a fifth of a second for a region of table 3, so that it stays below a minute. The larger one is
`python -m benchmarks.paper all --points 3`.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from benchmarks.oracle import best_log10_volume, cube_purity
from benchmarks.paper import cells, grid, page, readings, running
from benchmarks.paper.__main__ import EXPERIMENTS, main
from benchmarks.paper.forest import BLOCK, CompiledForest
from benchmarks.paper.jobs import OracleJob, Settings, key
from benchmarks.paper.subjects import CLUSTER_SIZE, Subject, clusters, local_cluster

SMOKE = ["all", "--points", "1", "--datasets", "iris", "synthetic-2", "--seconds", "0.2"]


@dataclass(frozen=True)
class Counted:
    """A job that writes down that it was done."""

    folder: Path
    point: int
    times_out: bool = False

    @property
    def chunk(self):
        return (str(self.folder), self.times_out)

    def run(self, settings):
        with (self.folder / "done").open("a") as file:
            file.write(f"{self.point}\n")
        return {"timeout": settings.seconds} if self.times_out else {"point": self.point}


@pytest.fixture
def plain_keys(monkeypatch):
    monkeypatch.setattr(running, "key", lambda job: f"job {job.point}")


def done(folder):
    return [int(line) for line in (folder / "done").read_text().split()]


@pytest.mark.compiled
def test_all_of_it_runs_and_nothing_is_done_twice(tmp_path, capsys, monkeypatch):
    for name, some in (("READINGS", ["split 1", "unscaled logistic"]), ("CLUSTER_READINGS", ["draw 1"])):
        monkeypatch.setattr(readings, name, ["ours", *some])  # each of the others is like one of these
    main([*SMOKE, "--results", str(tmp_path)])
    printed = capsys.readouterr().out
    for name in EXPERIMENTS:
        assert f"\n{name}\n" in printed
        assert cells.read(tmp_path / f"{name}.csv")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "table_2_example.png").exists()
    kept = (tmp_path / "finished.jsonl").read_bytes()
    main(["table_1", *SMOKE[1:], "--results", str(tmp_path)])
    assert (tmp_path / "finished.jsonl").read_bytes() == kept


def test_boston_is_left_out_with_a_word(tmp_path, capsys):
    main(["honesty", "--datasets", "boston", "--results", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "boston is left out: it needs the path of its CSV file (--boston PATH)" in printed
    assert "honesty: none of its datasets was asked for" in printed


def test_a_stopped_run_goes_on(tmp_path, plain_keys):
    path = tmp_path / "finished.jsonl"
    jobs = [Counted(tmp_path, point) for point in range(3)]
    first = running.run(jobs[:2], path, Settings(), 1, "first")
    whole = path.read_text()
    path.write_text(whole + whole.splitlines()[0][:-9])  # killed while it wrote
    second = running.run(jobs, path, Settings(), 1, "second")
    assert done(tmp_path) == [0, 1, 2]
    assert list(second.values()) == [{"point": 0}, {"point": 1}, {"point": 2}]
    assert list(first.values()) == list(second.values())[:2]
    assert [json.loads(line)["result"]["point"] for line in path.read_text().splitlines()] == [0, 1, 2]


def test_what_has_timed_out_is_not_tried_on_other_points(tmp_path, plain_keys):
    jobs = [Counted(tmp_path, point, times_out=True) for point in range(3)]
    results = running.run(jobs, tmp_path / "finished.jsonl", Settings(seconds=5), 1, "all")
    assert done(tmp_path) == [0]
    assert list(results.values()) == [{"timeout": 5}] * 3


def test_a_region_that_takes_too_long_is_a_timeout():
    assert OracleJob(10, "N=100 T=100", 0).run(Settings(seconds=0.0)) == {"timeout": 0.0}


def test_jobs_have_names_of_their_own():
    jobs = [OracleJob(d, m, p) for d in (10, 30) for m in ("balanced", "N=10 T=10") for p in range(2)]
    assert len({key(job) for job in jobs}) == len(jobs)


@pytest.mark.compiled
@pytest.mark.parametrize("classes", [2, 3])
def test_the_compiled_forest_answers_to_the_last_bit(classes):
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((200, 4))
    forest = RandomForestClassifier(30, random_state=0).fit(X, rng.integers(0, classes, 200))
    rows = np.vstack([X, rng.uniform(-3, 3, (2 * BLOCK, 4))])
    assert np.array_equal(CompiledForest.of(forest).predict_proba(rows), forest.predict_proba(rows))


def test_the_local_cluster_is_the_one_drawn_with_the_instance():
    subject = Subject("synthetic-10", "tree")
    X, label = clusters(subject)
    found = local_cluster(subject, X[250])
    assert found.shape == (CLUSTER_SIZE, 10)
    assert np.array_equal(found, X[label == label[250]])


@pytest.mark.parametrize(("dims", "purity", "best"), [(10, 1.0, 5.0), (30, 1.0, 22.16), (30, 0.99, 24.75)])
def test_the_best_possible_volumes(dims, purity, best):
    assert best_log10_volume(dims, purity) == pytest.approx(best, abs=0.01)
    assert cube_purity(dims, best_log10_volume(dims, purity)) == pytest.approx(purity, abs=1e-6)


def row(method, size, evaluations, dataset="iris"):
    names = {"dataset": dataset, "surrogate": "logistic", "method": method}
    return {**names, "points": 1, "certified": 1, "size": size, "evaluations": evaluations, "draws": 1_500.0}


def test_the_sentences_count_what_misses_the_targets():
    rows = [
        row("radial", 0.5, 1),
        row("greedy", 0.4, 1),
        row("divide", 1.3, 30_000),
        row("balanced", 1.2, 9_000),
    ]
    assert (
        "in 1 of 1 cells; its evaluations are within a factor of 1.5 in 0 of 1 (not iris logistic (1.88))"
        in (grid.like_theirs("table_1", rows))
    )
    against = grid.balanced_against_divide("table_1", rows)
    assert "in 0 of 1 cells (not iris logistic (1.20 against 1.30))" in against
    assert "a quarter in 0 of 1 (not iris logistic (30%, 5% for its certificate))" in against
    assert "order in 0 of 1 cells (not iris logistic" in grid.ordering("table_1", rows)


def test_the_numbers_of_the_paper():
    assert len(cells.theirs()) == 148
    assert cells.theirs()[("table_1", "cancer", "tree", "divide")]["size"] == 21.5
    assert cells.theirs()[("table_3", "oracle-30", "", "N=300 T=1000")]["size"] is None  # a timeout


def test_the_page_shows_what_the_files_say():
    text = page.README.read_text(encoding="utf-8")
    assert page.rendered(text, EXPERIMENTS.values()) == text


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_a_number_altered_on_the_page_is_seen(name):
    text = page.README.read_text(encoding="utf-8")
    number = re.compile(r"\d").search(text, text.index("--- |", text.index(f"<!-- {name} -->"))).start()
    altered = text[:number] + str((int(text[number]) + 1) % 10) + text[number + 1 :]
    assert page.rendered(altered, EXPERIMENTS.values()) == text != altered
