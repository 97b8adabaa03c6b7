"""Whether people can use a page who do not see it, or see it otherwise: axe-core's rules, in the browser."""

from axe_playwright_python.sync_playwright import Axe

EVERY_RULE = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"],
}
"""The guidelines' rules of the levels A and AA, and what axe calls best practice."""

PHONE, DESK = 390, 1_280
LOOKS = [("light", DESK), ("dark", DESK), ("light", PHONE)]
"""Colour schemes and widths at which every page is looked at."""


def violations(page):
    """What axe objects to on an open page, as it is now: a line for each element, empty if there is nothing.

    axe comes from a package that holds it; nothing is loaded from a network.
    """
    found = Axe().run(page, options=EVERY_RULE).response
    assert len(found["passes"]) > 5, "axe has looked at next to nothing"
    return [
        f"{rule['id']} ({rule['impact']}): {node['html'][:120]} {node['failureSummary'].splitlines()[-1]}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


def overflow(page):
    """Pixels by which a page is wider than its window: nobody scrolls sideways on a phone."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
