"""Measurements of benchmarks are kept one by one, and a run goes on where it was cut off."""

from functools import partial

from benchmarks.kept import read_finished, run_jobs


def jobs(done, count=3):
    """Jobs that note when they are done."""

    def job(row):
        done.append(row)
        return {"square": row**2}

    return [(("cell", row), partial(job, row)) for row in range(count)]


def test_what_is_kept_is_not_done_again(tmp_path):
    path, done = tmp_path / "results" / "found.jsonl", []
    found = run_jobs(jobs(done, 2), path)
    assert found == {("cell", 0): {"square": 0}, ("cell", 1): {"square": 1}}
    assert run_jobs(jobs(done), path) == {**found, ("cell", 2): {"square": 4}}
    assert done == [0, 1, 2]
    assert len(read_finished(path)) == 3


def test_a_line_that_was_cut_off_is_done_again(tmp_path):
    path, done = tmp_path / "found.jsonl", []
    whole = run_jobs(jobs(done), path)
    path.write_bytes(path.read_bytes()[:-4])
    assert run_jobs(jobs(done), path) == whole
    assert done == [0, 1, 2, 2]
    assert run_jobs(jobs(done), path) == whole
    assert done == [0, 1, 2, 2]


def test_when_the_time_is_over_nothing_is_begun_but_what_is_known_is_told(tmp_path):
    path, done = tmp_path / "found.jsonl", []
    first = run_jobs(jobs(done, 1), path)
    assert run_jobs(jobs(done), path, minutes=0) == first
    assert done == [0]
    assert run_jobs(jobs(done, 1), minutes=-1) == {}
