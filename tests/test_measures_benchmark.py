"""The benchmark of measures: its table has a row for every measure, and its counts are the region's own."""

import json

import numpy as np
import pytest

from benchmarks import measures
from benchmarks.kept import read_finished
from lime_guarantee.space.measure import Marginal, Uniform

pytestmark = pytest.mark.compiled

NAMES = ["uniform", "marginal"]


def kept_measurements(path):
    return {tuple(json.loads(key)): row for key, row in read_finished(path).items()}


@pytest.fixture(scope="module")
def fitted():
    return measures.fit(measures.load("wine", measures.ADULT), "network")


def test_the_table_has_a_row_for_every_measure(capsys, tmp_path):
    asked = ["--cells", "iris", "--rows", "2", "--measures", *NAMES, "--records", str(tmp_path / "found")]
    measures.main(asked)
    first = capsys.readouterr().out
    table, together = first.split("\n\n")[1:]
    cells = [f"iris, {model}" for model in measures.CELLS["iris"]]
    lines = table.splitlines()[2:]
    assert [line.split(" | ")[:2] for line in lines] == [[f"| {c}", name] for c in cells for name in NAMES]
    assert {line.count("|") for line in lines} == {measures.HEADER.splitlines()[0].count("|")}
    assert [line.split(" | ")[0] for line in together.splitlines()[2:]] == [f"| {name}" for name in NAMES]
    kept = kept_measurements(tmp_path / "found")
    assert list(kept) == [(cell, name, row) for cell in cells for row in range(2) for name in NAMES]
    figures = measures.by_cell({key: row for key, row in kept.items() if key[:2] == (cells[0], NAMES[0])})
    coverages = [row["covered"] / row["others"] for row in kept.values()][::2][:2]
    assert figures[0]["summary"]["coverage"] == np.mean(coverages)
    measures.main([*asked, "--minutes", "0"])  # all is known, so nothing is left to be begun
    assert capsys.readouterr().out == first


def test_counts_are_what_the_region_and_its_problem_say(fitted):
    row = 0
    region = measures.explain(fitted, row).guarantee_region(random_state=row, measure="marginal")
    measured = measures.measure_region(region, fitted, row, seconds=0.0)
    inside = region.contains(fitted.held_out)
    assert inside[row]
    inside[row] = False  # the row that was explained counts neither way
    faithful = region.problem.faithful(fitted.held_out[inside])
    assert measured.certified
    assert (measured.covered, measured.faithful) == (inside.sum(), faithful.sum())
    assert measured.coverage == inside.sum() / (len(inside) - 1)
    figures = measures.summary([measured])
    assert (figures["coverage"], figures["fidelity"]) == (measured.coverage, faithful.mean())


@pytest.mark.parametrize("measure", [Uniform(), Marginal()])
def test_draws_lie_in_the_region_and_are_those_of_its_own_measure(fitted, measure):
    region = measures.explain(fitted, 0).guarantee_region(random_state=0, measure=measure.name)
    values = measures.values_of(measure, region, region.problem)
    rows = measures.draw(region, values, np.random.default_rng(0))
    assert region.contains(rows).all()
    own = region.sample(measures.DRAWS, 1)
    spread = own.std(axis=0) / np.sqrt(measures.DRAWS)
    assert (np.abs(rows.mean(axis=0) - own.mean(axis=0)) <= 6 * spread + 1e-3 * np.ptp(own, axis=0)).all()
