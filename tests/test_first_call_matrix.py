"""Eight models, six explainers: every cell gives a region or says why not, and none crashes."""

import functools

import pytest
from first_calls import EXPLAINERS, MODELS, TABLE, X, Y, line_of, outcomes, write_table
from shap_cases import theirs

CELLS = [
    (model, explainer)
    for model in MODELS
    for explainer in EXPLAINERS
    if explainer != "its own" or model not in ("MLP", "SVC")  # shap has none for these
]


@functools.cache
def fitted(name):
    return theirs(MODELS[name]().fit, X, Y)


@pytest.mark.parametrize(("model", "explainer"), CELLS)
def test_a_first_call_gives_a_region_or_a_reason(model, explainer):
    quick = {"purity": 0.9, "confidence": 0.9, "effort": "low"}
    found, failures = outcomes(fitted(model), EXPLAINERS[explainer], 1, **quick)
    if found is None:
        pytest.fail(f"the library itself fails: {failures[0]}")
    assert not found["crash"], failures
    assert found["certified"] + found["uncertified"] + found["unfaithful"] == 1, failures


def test_the_table_has_every_cell():
    lines = TABLE.read_text().splitlines()
    for model, explainer in [*CELLS, ("torch MLP", "LIME"), ("torch MLP", "its own")]:
        assert any(line.startswith(f"| {model} | {explainer} |") for line in lines), (model, explainer)


@pytest.mark.slow
def test_first_calls_of_many_rows(capsys):
    """20 rows a cell, at the default settings; writes the table."""
    lines, good, rows = {}, 0, 0
    for model, explainer in CELLS:
        found, failures = outcomes(fitted(model), EXPLAINERS[explainer], 20)
        lines[model, explainer] = line_of(model, explainer, found, failures)
        with capsys.disabled():
            print(lines[model, explainer], *failures[:2], flush=True)
        if found is not None:
            rows += sum(found.values())
            good += found["certified"] + found["uncertified"] + found["unfaithful"]
            assert not found["crash"], failures
    write_table(lines)
    assert good >= 0.95 * rows
