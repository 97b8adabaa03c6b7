"""Build the site, strictly, and without a network: ``python docs/site.py``; it is then in build/site.

Warnings are errors. Afterwards no page may load anything (scripts, styles, fonts, pictures) from a network,
and every link from one page to another must lead somewhere; what people click on to leave is their own
business.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}
"""The attribute by which an element loads something."""

LINKS_ONLY = {"canonical", "next", "prev", "index", "search", "author", "license"}
"""What a <link> may be without loading anything."""

FROM_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?\s*((?:https?:)?//[^\"')\s]+)")


class _Page(HTMLParser):
    """What a page loads, what it links to, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = FROM_STYLES.findall(text)
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADED and not set(given.get("rel", "").split()) & LINKS_ONLY:
            self.loaded += [given[name] for name in (LOADED[tag], "srcset") if name in given]


def from_network(site: Path) -> Iterator[str]:
    """What pages and styles load from a network, each with the file that does so."""
    for file in sorted(site.rglob("*.html")):
        for address in _Page(file.read_text(encoding="utf-8")).loaded:
            if urlsplit(address).netloc:
                yield f"{file.relative_to(site)} loads {address}"
    for file in sorted(site.rglob("*.css")):
        for address in FROM_STYLES.findall(file.read_text(encoding="utf-8")):
            yield f"{file.relative_to(site)} loads {address}"


def broken_links(site: Path) -> Iterator[str]:
    """Links from page to page that lead nowhere."""
    pages = {file: _Page(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            known = pages.get(target)
            anchor = unquote(parts.fragment)
            if not target.exists() or (known and anchor and anchor not in known.anchors):
                yield f"{file.relative_to(site)} links to {link}, which is not there"


def main() -> int:
    """Build and check; 0 if all is well."""
    strict = ["-W", "--keep-going", "-q", "-j", "auto"]
    command = [sys.executable, "-m", "sphinx", "-b", "html", *strict, "-c", "docs", ".", str(SITE)]
    built = subprocess.run(command, cwd=ROOT, check=False)
    if built.returncode:
        return built.returncode
    wrong = [*from_network(SITE), *broken_links(SITE)]
    print("\n".join(wrong) or f"The site is {SITE / 'index.html'}.", file=sys.stderr if wrong else sys.stdout)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
