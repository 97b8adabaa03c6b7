"""Write anew what README.md and the pages of the site show, from real runs: ``python docs/regenerate.py``.

- A block of Python in a page is run, after those before it, in an empty folder. The block of text that
  follows it is what it printed, and the picture that follows it is what it drew.
- A command of ours (``lime-guarantee ...``) is run if a block of text follows it.
- What docs/search.md (constants, from the code), docs/gallery.md (screenshots) and benchmarks/paper/README.md
  (tables, from its CSV files) show stands between two marks.

``--check`` writes nothing, and fails if a page shows something else; numbers alone may differ, because
another version of scikit-learn grows another forest. ``--all`` also makes the screenshots and runs the
notebooks, which takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
ENGINE = ROOT / "lime_guarantee" / "engine"
SCREENSHOTS = DOCS / "_static" / "screenshots"

RUN_BY_TESTS = {DOCS / "pipelines.md"}
"""tests/test_docs_pipelines.py runs it; it shows no output."""

SHOWN = re.compile(
    r"^```(?P<language>\w+)\n(?P<code>.*?)^```$|^!\[[^\]]*\]\((?P<picture>[^)]+)\)", re.MULTILINE | re.DOTALL
)
"""A block of code or text, or a picture."""

CONSTANTS_OF = (
    "search/boundary.py",
    "search/steering.py",
    "search/rays.py",
    "search/slopes.py",
    "search/likelihood.py",
    "search/draws.py",
    "search/sides.py",
    "search/cells.py",
    "failure_model.py",
    "category_order.py",
    "kernels/bins.py",
    "kernels/slopes.py",
    "kernels/peel.py",
)
"""The files of the default search, as docs/search.md lists them."""

SCREENSHOT_SCRIPTS = {"make_screenshots.py": "whatif-", "screenshots_audit.py": ""}
"""Scripts in docs/ that take screenshots into a folder, and how the names of theirs begin in the gallery."""

TALLEST, COLOURS = 1_000, 64
"""Screenshots that are taller are left out of the gallery, and the others have so many colours at most."""

WIDTH = "100"
"""Columns of the command line's help."""


def pages() -> list[Path]:
    """README.md and all pages with a block of Python, or with a command whose output is shown."""
    found = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("[!_]*/*.md"))]
    return [page for page in found if page not in RUN_BY_TESTS and runs(page.read_text(encoding="utf-8"))]


def runs(text: str) -> bool:
    """Whether a page has something to run."""
    return any(_language(found) == "python" or shown for found, shown in _with_output(text))


def rewritten(text: str, folder: Path | None = None) -> str:
    """The page with what its code prints now; its pictures are drawn into the folder, if one is given."""
    known: dict[str, Any] = {}
    pieces, end, printed = [], 0, None
    with _somewhere_empty():
        for found, output_follows in _with_output(text):
            if _language(found) == "python":
                printed = _printed_by(lambda code=found["code"]: exec(code, known))
            elif _language(found) == "sh" and output_follows:
                printed = _printed_by(lambda code=found["code"]: _command(code))
            elif _language(found) == "text" and printed is not None:
                pieces += [text[end : found.start("code")], f"{printed}\n"]
                end, printed = found.end("code"), None
            elif found["picture"] is not None:
                _draw(found["picture"], folder)
        _figures().close("all")
    return "".join([*pieces, text[end:]])


def without_numbers(text: str) -> str:
    """The words of a page: what may not differ from version to version."""
    return re.sub(r"\s+", " ", re.sub(r"-{3,}", "-", re.sub(r"[-+]?\d[\d.,]*", "0", text)))


def between_marks(text: str, name: str, new: str) -> str:
    r"""The page with something else between the two marks of this name.

    Examples
    --------
    >>> between_marks("a <!-- x: why --> b <!-- end of x --> c", "x", "new")
    'a <!-- x: why -->\nnew\n<!-- end of x --> c'
    """
    pattern = re.compile(rf"(<!-- {name}\b[^>]*-->).*?(<!-- end of {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"the page has no marks <!-- {name} --> and <!-- end of {name} -->")
    return pattern.sub(lambda marks: f"{marks[1]}\n{new}\n{marks[2]}", text)


def with_constants(text: str) -> str:
    """docs/search.md with the constants as the code has them."""
    lines = ["| file | constants | what they bound |", "|---|---|---|"]
    for file in CONSTANTS_OF:
        for names, value, what in _constants((ENGINE / file).read_text(encoding="utf-8")):
            named = ", ".join(f"`{name}`" for name in names)
            lines.append(f"| `{file}` | {named} = `{value}` | {what} |")
    return between_marks(text, "constants", "\n".join(lines))


def with_screenshots(text: str) -> str:
    """docs/gallery.md with every screenshot that is there, under a heading for each kind of page."""
    lines: list[str] = []
    for picture in sorted(SCREENSHOTS.glob("*.png")):
        kind, *words = picture.stem.replace("_", "-").split("-")
        if (heading := f"## {kind.capitalize()}") not in lines:
            lines += [heading, ""]
        lines += [f"![{kind}: {', '.join(words) or 'page'}](_static/screenshots/{picture.name})", ""]
    return between_marks(text, "screenshots", "\n".join(lines).strip() or "None have been made yet.")


def keep_screenshots(folder: Path, prefix: str) -> None:
    """Keep what is seen first of every page, in few colours: small files, which git keeps."""
    from PIL import Image

    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for taken in sorted(folder.glob("*.png")):
        first = taken.stem.removesuffix("-first")
        better = first == taken.stem and taken.with_stem(f"{first}-first").exists()
        with Image.open(taken) as picture:
            if not better and not first.endswith("-tried") and picture.height <= TALLEST:
                small = picture.convert("RGB").quantize(COLOURS)
                small.save(SCREENSHOTS / f"{prefix}{first}.png", optimize=True)


WRITTEN_FROM_FILES: dict[Path, Callable[[str], str]] = {
    DOCS / "search.md": with_constants,
    DOCS / "gallery.md": with_screenshots,
}


def main(arguments: list[str] | None = None) -> int:
    """Write what is asked for, or check it; 1 if a page shows something else."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, help="only these (default: all that run code)")
    parser.add_argument("--check", action="store_true", help="write nothing; say which pages are out of date")
    parser.add_argument("--all", action="store_true", help="make screenshots, and run notebooks, too")
    options = parser.parse_args(arguments)
    os.environ["COLUMNS"] = WIDTH
    if options.all:
        _run_long_ones()
    if not options.pages:
        _write_paper(options.check)
    stale = []
    for page in [page.resolve() for page in options.pages] or [*WRITTEN_FROM_FILES, *pages()]:
        text = page.read_text(encoding="utf-8")
        make = WRITTEN_FROM_FILES.get(page)
        new = make(text) if make else rewritten(text, None if options.check else page.parent)
        same = new == text if make else without_numbers(new) == without_numbers(text)
        print(f"{page.relative_to(ROOT)}: {'as it is' if same else 'new'}", flush=True)
        if not same:
            stale.append(page)
        if not options.check:
            page.write_text(new, encoding="utf-8")
        elif not same:
            _tell_difference(text, new)
    if options.check and stale:
        print("Run python docs/regenerate.py, and look at what is new.", file=sys.stderr)
    return int(options.check and bool(stale))


def _with_output(text: str) -> Iterator[tuple[re.Match[str], bool]]:
    """Every block and picture of a page, and whether a command whose output is shown is in it."""
    for this, following in pairwise([*SHOWN.finditer(text), None]):
        assert this is not None  # it is the last one alone
        command = _language(this) == "sh" and this["code"].startswith("lime-guarantee ")
        yield this, command and following is not None and _language(following) == "text"


def _language(found: re.Match[str]) -> str | None:
    language: str | None = found["language"]
    return language


@contextlib.contextmanager
def _somewhere_empty() -> Iterator[None]:
    """Run in a folder of its own, where pages may write files."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield


def _printed_by(run: Callable[[], Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        run()
    return "\n".join(line.rstrip() for line in printed.getvalue().rstrip().splitlines())


def _command(code: str) -> None:
    from lime_guarantee.cli.main import main as command

    with contextlib.suppress(SystemExit):  # of --help
        command(shlex.split(code)[1:])


def _figures() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _draw(name: str, folder: Path | None) -> None:
    """Keep the figure that was drawn last; a picture that no code drew stays as it is."""
    figures = _figures()
    if figures.get_fignums() and folder is not None:
        figures.gcf().savefig(folder / name, dpi=100, bbox_inches="tight", metadata={"Software": None})
    figures.close("all")


def _constants(code: str) -> Iterator[tuple[list[str], str, str]]:
    """The names, the value and the docstring of every public constant of a module."""
    body = ast.parse(code).body
    for made, said in pairwise(body):
        if not (isinstance(made, ast.Assign) and isinstance(said, ast.Expr)):
            continue
        names = [name.id for name in ast.walk(made.targets[0]) if isinstance(name, ast.Name)]
        if isinstance(said.value, ast.Constant) and all(name.isupper() for name in names):
            source = ast.get_source_segment(code, made.value) or ""
            yield names, re.sub(r"\s+", " ", source), re.sub(r"\s+", " ", str(said.value.value))


def _write_paper(check: bool) -> None:
    """The paper's tables, from their CSV files; tests/test_paper.py compares the two."""
    if not check:
        subprocess.run([sys.executable, "-m", "benchmarks.paper", "page"], cwd=ROOT, check=True)


def _run_long_ones() -> None:
    for name, prefix in SCREENSHOT_SCRIPTS.items():
        if (DOCS / name).exists():
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run([sys.executable, str(DOCS / name), folder], cwd=ROOT, check=True)
                keep_screenshots(Path(folder), prefix)
    subprocess.run([sys.executable, str(ROOT / "notebooks" / "run.py")], cwd=ROOT, check=True)


def _tell_difference(old: str, new: str) -> None:
    import difflib

    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "shown", "now", lineterm="", n=1)
    print("\n".join(lines), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
