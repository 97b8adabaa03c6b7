"""What Sphinx, its theme, Markdown and pandas write, mended for those who listen; docs/conf.py uses it."""

from __future__ import annotations

import re
from typing import Any

PARAMETERS = re.compile(r"<dl>\s*((?:<dd><em class=\"sig-param\">.*?</dd>\s*)+)</dl>", re.DOTALL)
EMPTY_HEADER = re.compile(r"<th\b([^>]*)>\s*(?:<p></p>)?\s*</th>")
BELOW = re.compile(r"(<a\b[^>]*>)([^<]*)(</a><details\b[^>]*>)<summary>")


def readable_to_all(body: str) -> str:
    r"""A page's body as a screen reader can tell it: no list without terms, no header without a word.

    Sphinx writes the parameters of a long signature as definitions of nothing; Markdown and pandas write a
    header above the names of rows, where there is none.

    Examples
    --------
    >>> readable_to_all('<dl>\n<dd><em class="sig-param">a</em>,</dd>\n</dl>')
    '<div class="parameters">\n<div><em class="sig-param">a</em>,</div>\n</div>'
    >>> readable_to_all('<th class="head"><p></p></th><th>of</th>')
    '<td class="head"></td><th>of</th>'
    """
    body = PARAMETERS.sub(
        lambda found: (
            f'<div class="parameters">\n{found[1].replace("<dd>", "<div>").replace("</dd>", "</div>")}</div>'
        ),
        body,
    )
    return EMPTY_HEADER.sub(r"<td\1></td>", body)


def with_named_switches(tree: Any) -> str:
    """The table of contents at the side; what opens a part of it says which.

    Examples
    --------
    >>> with_named_switches('<a href="#">Plots</a><details><summary><i></i></summary></details>')
    '<a href="#">Plots</a><details><summary aria-label="Pages below Plots"><i></i></summary></details>'
    """
    return BELOW.sub(r'\1\2\3<summary aria-label="Pages below \2">', str(tree))
