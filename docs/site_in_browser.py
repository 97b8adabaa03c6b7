"""Look at the site in a real browser: ``python docs/site_in_browser.py``, after ``python docs/site.py``.

axe-core looks at a page of each kind, at a desk, in the dark and on a phone; with ``--all`` at every page, at
a desk. The browser has no network, and whatever a page asks of one is told. Needs the extra ``test``, for
playwright and axe, and chromium.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
sys.path.insert(0, str(ROOT / "tests"))

from accessibility import LOOKS, overflow, violations  # noqa: E402 - found on the path above
from browser import PATIENCE, chromium  # noqa: E402

OF_EACH_KIND = {
    "docs/index.html",
    "docs/start.html",
    "docs/concepts/verdicts.html",
    "docs/howto/lime.html",
    "docs/howto/pictures.html",
    "docs/gallery.html",
    "docs/api/index.html",
    "docs/api/generated/lime_guarantee.GuaranteeRegion.html",
    "docs/api/generated/lime_guarantee.audit.html",
    "docs/architecture.html",
    "notebooks/02_lime_tabular.html",
    "notebooks/08_adult.html",
    "benchmarks/README.html",
    "CHANGELOG.html",
    "search.html",
}
"""A page of each kind, which is looked at in every look."""


def pages_of(site: Path) -> list[Path]:
    """All pages that people read: not what the theme keeps, and not the one that leads to another."""
    found = [page for page in sorted(site.rglob("*.html")) if page != site / "index.html"]
    return [page for page in found if not any(part.startswith("_") for part in page.relative_to(site).parts)]


def faults(browser: Any, site: Path, all_pages: bool = False) -> Iterator[str]:
    """What is wrong with pages, each with the page and the look."""
    of_each_kind = [page for page in pages_of(site) if page.relative_to(site).as_posix() in OF_EACH_KIND]
    for scheme, width in LOOKS:
        wanted = pages_of(site) if all_pages and (scheme, width) == LOOKS[0] else of_each_kind
        yield from _faults_in_look(browser, site, wanted, scheme, width)


def _faults_in_look(browser: Any, site: Path, wanted: list[Path], scheme: str, width: int) -> Iterator[str]:
    size = {"width": width, "height": 900}
    context = browser.new_context(color_scheme=scheme, viewport=size, offline=True)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    for file in wanted:
        asked.clear()
        page.goto(file.as_uri())
        wrong = [*violations(page), *[f"asks for {url}" for url in asked if _from_network(url)]]
        if (beyond := overflow(page)) > 0:
            wrong.append(f"is {beyond} pixels wider than its window")
        yield from (f"{file.relative_to(site)} ({scheme}, {width}): {what}" for what in wrong)
    context.close()


def _from_network(url: str) -> bool:
    return not url.startswith(("file:", "data:", "blob:"))


def main(all_pages: bool) -> int:
    """Look at pages; 0 if all is well."""
    missing = sorted(page for page in OF_EACH_KIND if not (SITE / page).exists())
    if missing:
        print(f"The site has no {', '.join(missing)}: run python docs/site.py first.", file=sys.stderr)
        return 2
    with chromium() as browser:
        found = 0
        for what in faults(browser, SITE, all_pages):
            found += 1
            print(what, file=sys.stderr, flush=True)
    print(f"{len(pages_of(SITE) if all_pages else OF_EACH_KIND)} pages were looked at; {found} faults.")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main("--all" in sys.argv[1:]))
