"""Run notebooks from clean kernels and store their outputs: all of them, or those that are named.

    python notebooks/run.py
    python notebooks/run.py 08_adult 09_pipeline

Pictures get the description that their cell has in its metadata as "alt", where each of those who show
notebooks looks for it: nbconvert in the cell and at the output, myst-nb below "mystnb" of the cell.
A notebook that fails, or writes to stderr, is not stored.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
PATIENCE = 600
"""What a busy machine may take to start a kernel or to run a cell, in seconds."""


def run(notebook: Any, folder: Path) -> None:
    """Run a notebook in that folder, so that it holds what it puts out now."""
    client = NotebookClient(
        notebook,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        iopub_timeout=PATIENCE,  # by itself it is four seconds, after which outputs are lost without a word
        raise_on_iopub_timeout=True,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    written = [output for output in outputs(notebook) if output.get("name") == "stderr"]
    if written:
        raise RuntimeError(f"a notebook may not write to stderr; this one wrote {written[0]['text']!r}")


def outputs(notebook: Any) -> list[Any]:
    """All that a notebook has put out."""
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def describe_pictures(notebook: Any) -> None:
    """Copy the description of a cell's picture to where it is looked for."""
    for cell in notebook.cells:
        pictures = [output for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
        if pictures and not cell.metadata.get("alt"):
            raise RuntimeError(
                f"this cell shows a picture and needs an 'alt' in its metadata:\n{cell.source}"
            )
        for output in pictures:
            output.metadata["image/png"] = {"alt": cell.metadata["alt"]}
            cell.metadata["mystnb"] = {"image": {"alt": cell.metadata["alt"]}}


def main(names: list[str]) -> None:
    """Run the notebooks of these names, or all."""
    for path in sorted(HERE.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        notebook = nbformat.read(path, as_version=4)
        run(notebook, HERE)
        describe_pictures(notebook)
        part = path.with_suffix(".part")
        nbformat.write(notebook, part)
        part.replace(path)
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
