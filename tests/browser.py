"""A real browser, pages opened in it, and all that goes wrong there."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

PATIENCE = 300_000
"""What a busy machine may take to start a browser or to show a page, in milliseconds."""
ARTEFACTS = Path(__file__).parent / "artefacts"  # screenshots, to look at; git does not keep them
UNUSED = [
    # The suggestions of an address bar that nobody sees: two thirds of what a small page takes.
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup",
    # What playwright switches off. Of two such lists, chromium reads the last.
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding",
    "ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints",
    "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch",
]  # fmt: skip
OPTIONS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    f"--disable-component-update --disable-sync --disable-features={','.join(UNUSED)}"
)

HANDLERS = """[...document.querySelectorAll("*")].flatMap(one => one.getAttributeNames())
    .filter(name => name.startsWith("on"))"""
"""Code in attributes; a policy stops it without a word until it would run."""


@contextmanager
def chromium():
    """Debian's browser; without it the pages are untested, which is a failure."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("the pages are tested in chromium, which is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS.split(), timeout=PATIENCE)
        yield browser
        browser.close()


class Pages:
    """Opens pages, each in a context of its own; `close` fails if any of them did what it must not."""

    def __init__(self, browser, folder):
        self.browser = browser
        self.folder = folder
        self.contexts = []
        self.faults = []

    def open(self, text, place="", *, scheme="light", width=1_200):
        file = self.folder / f"{len(self.contexts)}.html"
        file.write_text(text, encoding="utf-8")
        context = self.browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", self._note_request)
        page.goto(f"{file.as_uri()}{place}")
        self.faults += [f"handler: {name}" for name in page.evaluate(HANDLERS)]
        return page

    def _note_request(self, request):
        if not request.url.startswith("file://"):
            self.faults.append(f"request: {request.url}")

    def close(self):
        for context in self.contexts:
            context.close()
        assert self.faults == []


def photograph(page, name):
    """Keep what a page looks like."""
    ARTEFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTEFACTS / f"{name}.png", full_page=True)


def values_of(locator):
    """The numbers that <data> elements hold, in full."""
    return np.array([float(value) for value in locator.evaluate_all("all => all.map(one => one.value)")])


LOWEST_CONTRAST = """() => {
  const parse = (text) => {
    if (text.startsWith("color(srgb")) {
      const parts = text.match(/[\\d.e-]+/g).map(Number);
      return [...parts.slice(0, 3).map((part) => 255 * part), parts[3] ?? 1];
    }
    const parts = text.match(/[\\d.]+/g).map(Number);
    return [parts[0], parts[1], parts[2], parts[3] ?? 1];
  };
  const over = (top, below, alpha) => top.slice(0, 3).map((part, i) => alpha * part + (1 - alpha) * below[i]);
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255)
      .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {  // what is behind an element's text, from the page's own colour on
    const line = [];
    for (let one = element; one !== null; one = one.parentElement) line.unshift(one);
    let colour = [255, 255, 255];
    for (const one of line) {
      const fill = parse(getComputedStyle(one).backgroundColor);
      colour = over(fill, colour, fill[3]);
    }
    return colour;
  };
  const opacity = (element) => (element === null ? 1
    : Number(getComputedStyle(element).opacity) * opacity(element.parentElement));
  let worst = { ratio: 99, text: "" };
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].filter((node) => node.nodeType === 3);
    const text = own.map((node) => node.data).join("");
    if (text.trim() === "" || !element.checkVisibility() || element.closest(":disabled, script")) continue;
    const below = behind(element);
    const ink = parse(getComputedStyle(element).color);
    const seen = over(ink, below, ink[3] * opacity(element));
    const [light, dark] = [luminance(seen), luminance(below)].sort((a, b) => b - a);
    const ratio = (light + 0.05) / (dark + 0.05);
    if (ratio < worst.ratio) worst = { ratio, text };
  }
  return worst;
}"""
"""The text that is hardest to read, by the rule of the Web Content Accessibility Guidelines."""
