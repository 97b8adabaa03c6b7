"""The notebooks run from a clean kernel, and show what they say without machinery."""

import nbformat
import pytest
from nbclient import NotebookClient

PATIENCE = 600
"""What a busy machine may take to start a kernel or to run a cell, in seconds."""

NAMES = [
    "01_first_guarantee",
    "02_lime_tabular",
    "03_lime_text_and_image",
    "04_shap",
    "05_auditing_a_pipeline",
    "06_choosing",
    "07_worth",
]


@pytest.fixture(params=NAMES)
def path(request, root):
    return root / "notebooks" / f"{request.param}.ipynb"


def outputs(notebook):
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def kinds(notebook):
    """What each code cell puts out: the kinds of it, not the numbers."""
    return [
        sorted({kind for output in cell.outputs for kind in output.get("data", [output.output_type])})
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_all_notebooks_are_tested(root):
    assert sorted(found.stem for found in (root / "notebooks").glob("*.ipynb")) == NAMES


@pytest.mark.compiled
def test_a_notebook_runs_and_puts_out_what_is_stored(path):
    stored = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    client = NotebookClient(
        fresh,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        iopub_timeout=PATIENCE,  # by itself it is four seconds, after which outputs are lost without a word
        raise_on_iopub_timeout=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    assert not [output for output in outputs(fresh) if output.get("name") == "stderr"]
    assert kinds(fresh) == kinds(stored)


def test_a_notebook_is_stored_small_and_clean(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < 500_000
    assert "site-packages" not in text
    assert "<script" not in text
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    assert stored.metadata.kernelspec.name == "python3"
    assert any(output.get("data", {}).get("image/png") for output in outputs(stored))
    assert not [output for output in outputs(stored) if output.get("name") == "stderr"]
