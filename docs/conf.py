"""The documentation site: how Sphinx builds it.

Its source is the whole repository, so that a Markdown file is read where it lies, and its links work on the
site as they do on the git host: ``sphinx-build -c docs . build/site``, or ``python docs/site.py``, which is
strict.
"""

from __future__ import annotations

import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from readable import readable_to_all, with_named_switches  # noqa: E402 - found on the path above

from lime_guarantee import __version__  # noqa: E402

project = "lime-guarantee"
author = "lime-guarantee contributors"
version = release = __version__
language = "en"

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "notebooks/*",
    "benchmarks/README.md",
    "benchmarks/paper/README.md",
    "tests/first_calls.md",
    "CHANGELOG.md",
    "README.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [".*", "build", "dist", "**/.*", "**/results", "**/_*"]
source_suffix = {
    ".rst": "restructuredtext",
    ".md": "myst-nb",
    ".ipynb": "myst-nb",
}  # autosummary takes the first
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_nb", "sphinx_design"]
templates_path = [str(ROOT / "docs" / "_templates")]  # autosummary looks in the source, others beside conf.py

# Every reference must lead somewhere. A name between single backticks in a docstring is a link if it is
# public, and code if it is a parameter or the like.
nitpicky = True
default_role = "obj"
nitpick_ignore_regex = [("py:obj", ".*")]

autosummary_generate = True
autosummary_generate_overwrite = True
autosummary_ignore_module_all = False
autosummary_imported_members = True
autodoc_typehints = "none"  # the types are in the text of the parameters
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["colon_fence", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the stored outputs are shown; tests/test_notebooks.py runs them
nb_merge_streams = True

html_theme = "pydata_sphinx_theme"
html_title = "lime-guarantee"
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"docs/index": [], "CHANGELOG": [], "docs/start": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "lime-guarantee"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_depth": 2,
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "back_to_top_button": False,
}
html_show_sphinx = False

CHILDREN = {
    "notebooks/README": "/notebooks/[0-9]*",
    "benchmarks/README": "/benchmarks/paper/README",
}
"""Pages below pages whose files shall not show it, because people read them on the git host, too."""

MOST_FIELDS = 9
"""The most fields of a dataclass whose signature is shown: those of `Settings`."""


def add_children(_app: Sphinx, page: str, source: list[str]) -> None:
    """Give some pages a table of contents."""
    if page in CHILDREN:
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n\n{CHILDREN[page]}\n```\n"


def shorten(_app: Sphinx, _what: str, _name: str, thing: Any, *_: Any) -> tuple[str, str] | None:
    """Leave out the signature of results, which nobody makes by hand: dataclasses of many fields."""
    many = isinstance(thing, type) and is_dataclass(thing) and len(fields(thing)) > MOST_FIELDS
    return ("(...)", "") if many else None


def mend_page(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], *_: Any) -> None:
    """Mend what Sphinx and the theme write, before the page is put together."""
    if "body" in context:
        context["body"] = readable_to_all(context["body"])
    context["with_named_switches"] = with_named_switches


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.connect("html-page-context", mend_page)
    app.connect("source-read", add_children)
    app.connect("autodoc-process-signature", shorten)
