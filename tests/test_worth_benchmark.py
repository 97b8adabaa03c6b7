"""The benchmark of worth runs, and its figures are those of the regions."""

import json

import pytest

from benchmarks.kept import read_finished
from benchmarks.worth import METHODS, main


@pytest.mark.compiled
def test_every_method_is_measured_on_the_same_rows(tmp_path, capsys):
    methods = [method for method in METHODS if method != "shap"]  # its explainer compiles for a long time
    path = tmp_path / "found.jsonl"
    asked = ["--cells", "iris/forest", "--rows", "2", "--methods", *methods, "--records", str(path)]
    main(asked)
    found = {tuple(json.loads(key)[1:3]): row for key, row in read_finished(path).items()}
    assert list(found) == [(method, row) for row in (0, 1) for method in methods]
    for row in (0, 1):
        refit, constant = found["refit", row], found["best constant", row]
        assert refit["log10_share"] >= constant["log10_share"] - 0.1
        assert refit["evaluations"] <= 4 * constant["evaluations"] + 10
        assert constant["gain"] < 0.01
        assert 0 < constant["worth_seconds"] < constant["engine_seconds"] < constant["seconds"]
    table, refits = capsys.readouterr().out.split("\n\n")[1:]
    assert sum(line.startswith("| iris/forest | ") for line in table.splitlines()) == len(methods)
    assert [line.count("|") for line in refits.splitlines()] == [8, 8, 8]
    main([*asked, "--minutes", "0"])  # all is known
    assert capsys.readouterr().out.split("\n\n")[2] == refits
