"""The table of the search's constants is what the code says."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_page_lists_every_constant_as_it_is():
    spec = importlib.util.spec_from_file_location("constants", DOCS / "constants.py")
    constants = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(constants)
    written = (DOCS / "search.md").read_text(encoding="utf-8")
    assert written == constants.page(), "run python docs/constants.py"
    assert "`SLOPE`, `BEND`, `STEP` = " in written
