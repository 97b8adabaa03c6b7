"""The benchmark of worth runs, and its figures are those of the regions."""

import json

import pytest

from benchmarks.worth import METHODS, main


@pytest.mark.compiled
def test_every_method_is_measured_on_the_same_rows(tmp_path, capsys):
    methods = [method for method in METHODS if method != "shap"]  # its explainer compiles for a long time
    main(
        [
            "--cells",
            "iris/forest",
            "--rows",
            "2",
            "--methods",
            *methods,
            "--json",
            str(tmp_path / "found.json"),
        ]
    )
    found = {entry["method"]: entry for entry in json.loads((tmp_path / "found.json").read_text())}
    assert list(found) == methods
    assert [row["row"] for row in found["refit"]["rows"]] == [0, 1]
    refit, constant = found["refit"]["summary"], found["best constant"]["summary"]
    assert refit["log10_share"] >= constant["log10_share"] - 0.1
    assert constant["gain"] < 0.01
    table = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| iris/forest | ") for line in table) == len(methods)
