"""The notebooks run from a clean kernel, and show what they say without machinery."""

import re
import runpy

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
    "08_adult",
    "09_pipeline",
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


def pictures(notebook):
    """The cells that show a picture, each with its picture."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [(cell, out) for cell in cells for out in cell.outputs if "image/png" in out.get("data", {})]


def test_all_notebooks_are_tested(root):
    assert sorted(found.stem for found in (root / "notebooks").glob("*.ipynb")) == NAMES


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name", [NAMES[0], *[pytest.param(name, marks=pytest.mark.notebook) for name in NAMES[1:]]]
)
def test_a_notebook_runs_and_puts_out_what_is_stored(name, root):
    path = root / "notebooks" / f"{name}.ipynb"
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
    written = re.sub(r'"image/png": "[^"]*"', "", text)  # in which any letters may follow one another
    assert not re.search(r"site-packages|/home/|/tmp/|/root/|/opt/|\\u001b", written)  # paths, colours
    assert "<script" not in text
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    assert stored.metadata.kernelspec.name == "python3"
    assert pictures(stored)
    assert not [output for output in outputs(stored) if output.get("name") == "stderr"]


def test_every_picture_is_described_where_it_is_looked_for(path):
    """At the output and in the cell, for nbconvert; below "mystnb", for the documentation."""
    for cell, output in pictures(nbformat.read(path, as_version=4)):
        described = cell.metadata["alt"]
        assert len(described) > 60
        assert not re.search(
            r"\d\.\d|\d %", described
        )  # figures change with the search, and are in the output
        assert output.metadata["image/png"]["alt"] == described
        assert cell.metadata["mystnb"]["image"]["alt"] == described
        assert described.count('"') == 0


def test_the_command_stores_what_was_run_and_refuses_pictures_without_a_description(
    root, tmp_path, monkeypatch
):
    command = runpy.run_path(str(root / "notebooks" / "run.py"))
    drawn = "import matplotlib.pyplot as plt\nprint(6 * 7)\nplt.plot([1, 2]);"
    cell = nbformat.v4.new_code_cell(drawn, metadata={"alt": "A line that rises."})
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    path = tmp_path / "x.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), path)
    monkeypatch.setitem(command["main"].__globals__, "HERE", tmp_path)
    command["main"]([])
    (stored,) = nbformat.read(path, as_version=4).cells
    assert stored.outputs[0].text == "42\n"
    assert stored.outputs[1].metadata["image/png"]["alt"] == "A line that rises."
    assert stored.metadata["mystnb"] == {"image": {"alt": "A line that rises."}}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.ipynb"]
    before = path.read_text()
    del stored.metadata["alt"]
    with pytest.raises(RuntimeError, match=r"needs an 'alt' in its metadata:\nimport matplotlib"):
        command["describe_pictures"](nbformat.v4.new_notebook(cells=[stored]))
    assert path.read_text() == before
