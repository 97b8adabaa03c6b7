"""The table of the default search's constants in `docs/search.md`, from the code itself.

`python docs/constants.py` writes it anew; `tests/test_docs_search.py` compares.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "lime_guarantee" / "engine"
FILES = (
    *("search/boundary.py", "search/walls.py", "search/slopes.py", "search/sides.py", "search/free_cells.py"),
    *("search/coverage.py", "kernels/avoid.py", "kernels/slopes.py"),
)
PAGE = ROOT / "docs" / "search.md"
HEAD = "| file | constants | what they bound |\n|---|---|---|\n"


def constants(file: str) -> list[tuple[list[str], str, str]]:
    """Names, value and meaning of every constant of a file: an assignment with a docstring after it."""
    text = (ENGINE / file).read_text(encoding="utf-8")
    body = ast.parse(text).body
    found = []
    for node, after in zip(body, [*body[1:], ast.Pass()], strict=True):
        if not isinstance(node, ast.Assign) or not isinstance(after, ast.Expr):
            continue
        names = [name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)]
        meaning = after.value.value if isinstance(after.value, ast.Constant) else None
        if isinstance(meaning, str) and all(name.isupper() for name in names):
            found.append((names, ast.unparse(node.value), " ".join(meaning.split())))
    return found


def table() -> str:
    """The table, a row for each line of constants."""
    rows = [
        f"| `{file}` | {', '.join(f'`{name}`' for name in names)} = `{value}` | {meaning} |\n"
        for file in FILES
        for names, value, meaning in constants(file)
    ]
    return HEAD + "".join(rows)


def page() -> str:
    """The page with the table as it should be."""
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(HEAD)
    return before + table()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
