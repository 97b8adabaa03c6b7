"""Pages of one file: style, script and data inside, nothing fetched, nothing else allowed to run."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from lime_guarantee.support.atomic_write import replacing
from lime_guarantee.version import __version__

UNSAFE = {character: f"\\u{ord(character):04x}" for character in "<>&"}
"""What could end a script element or begin another thing; JSON has it only inside strings."""


def make_page(
    kind: str, title: str, body: str, data: Mapping[str, Any], *, scripts: Sequence[str] = ()
) -> str:
    """A page: its template, style and script are files of this package.

    Parameters
    ----------
    kind : {"region", "audit"}
        Names the style and the script that it has besides the common ones.
    title : str
    body : str
        HTML, all names in it escaped.
    data : dict
        What the script reads, in types that JSON has, by the id of the element that holds it.
    scripts : sequence of str
        Further scripts among the assets, which run before the page's own.
    """
    style = _asset("common.css") + _asset(f"{kind}.css")
    script = "".join(_asset(name) for name in ("common.js", *scripts, f"{kind}.js"))
    policy = (
        f"default-src 'none'; style-src '{_fingerprint(style)}'; script-src '{_fingerprint(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return Template(_asset("page.html")).substitute(
        policy=policy,
        title=html.escape(title),
        style=style,
        body=body,
        version=__version__,
        data="\n".join(_data_element(key, value) for key, value in data.items()),
        script=script,
    )


def paragraphs(lines: list[str]) -> str:
    """Lines of text as HTML."""
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def written(page: str, path: str | os.PathLike[str] | None) -> str:
    """The page, after it was written to a path, where one is given."""
    if path is not None:
        with replacing(path) as part:
            part.write_text(page, encoding="utf-8", newline="\n")
    return page


def _asset(name: str) -> str:
    return (files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _fingerprint(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _data_element(key: str, value: Any) -> str:
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character, escaped in UNSAFE.items():
        text = text.replace(character, escaped)
    return f'<script type="application/json" id="{key}">{text}</script>'
