"""The documentation: its links lead somewhere, it has all public names, and its scripts do what they say."""

import importlib.util
import re
from pathlib import Path

import pytest
from PIL import Image

import lime_guarantee
from lime_guarantee import auditing

ROOT = Path(__file__).parent.parent
GENERATED = ROOT / "docs" / "api" / "generated"
PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "notebooks/README.md")),
    *sorted((ROOT / "benchmarks").rglob("README.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if GENERATED not in page.parents),
]


def script(name):
    """A script of docs/, which is no package: others have a folder of that name."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def regenerate():
    return script("regenerate")


@pytest.fixture(scope="module")
def site():
    return script("site")


# ------------------------------------------------------------------------------------------- the pages


def prose(text):
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(page):
    """The headings of a page, as a git host names them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = [title.lower() for title in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere_on_a_git_host(page):
    links = re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8")))
    for path, _, anchor in [link.partition("#") for link in links if "://" not in link]:
        target = (page.parent / path).resolve() if path else page
        assert target.is_file(), path
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), f"{path}#{anchor}"


def test_the_reference_has_every_public_name():
    listed = set(
        re.findall(r"^   ([\w.]+)$", (ROOT / "docs/api/index.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert {name for name in lime_guarantee.__all__ if not name.startswith("_")} <= listed
    assert set(auditing.__all__) <= listed


def test_every_verdict_is_explained():
    page = (ROOT / "docs/concepts/verdicts.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE) == list(auditing.VERDICTS)


def test_the_table_of_constants_is_that_of_the_code(regenerate):
    text = (ROOT / "docs/search.md").read_text(encoding="utf-8")
    assert "`FIRST_LOOK` = `" in text
    assert regenerate.with_constants(text) == text, "run python docs/regenerate.py"


# ----------------------------------------------------------------------------------------- the scripts

PAGE = """
```python
def double(x):
    return 2 * x
```

Prose.

```python
print(double(21), "rows")
```

```text
41 rows
```

```text
not ours
```

```python
from matplotlib import pyplot

pyplot.plot([1, 2])
```

![a line](line.png)

```sh
lime-guarantee --version
```

```text
```

```sh
rm -rf everything
```
"""


def test_a_page_is_rewritten_with_what_its_code_prints_and_draws(regenerate, tmp_path):
    new = regenerate.rewritten(PAGE, tmp_path)
    version = f"```text\nlime-guarantee {lime_guarantee.__version__}\n```"
    assert new == PAGE.replace("41 rows", "42 rows").replace("```text\n```", version)
    assert (tmp_path / "line.png").read_bytes().startswith(b"\x89PNG")
    assert regenerate.rewritten(new) == new


def test_a_check_sees_other_words_and_no_other_numbers(regenerate, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(regenerate, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(PAGE.replace("```text\n```", "```text\nlime-guarantee 9.8\n```"), encoding="utf-8")
    before = page.read_text(encoding="utf-8")
    assert regenerate.main(["--check", str(page)]) == 0
    page.write_text(before.replace("41 rows", "41 columns"), encoding="utf-8")
    assert regenerate.main(["--check", str(page)]) == 1
    assert "41 columns" in page.read_text(encoding="utf-8")
    assert "+42 rows" in capsys.readouterr().err
    assert regenerate.main([str(page)]) == 0
    assert "42 rows" in page.read_text(encoding="utf-8")
    assert not list(tmp_path.glob("*.html"))


def test_marks_must_be_there(regenerate):
    with pytest.raises(ValueError, match="no marks <!-- constants -->"):
        regenerate.between_marks("a page", "constants", "new")


def test_screenshots_are_listed_as_they_are(regenerate, tmp_path, monkeypatch):
    monkeypatch.setattr(regenerate, "SCREENSHOTS", tmp_path)
    page = "<!-- screenshots: why -->\nold\n<!-- end of screenshots -->\n"
    assert "None have been made yet." in regenerate.with_screenshots(page)
    for name in ("whatif-iris-phone.png", "audit-dark.png"):
        (tmp_path / name).touch()
    listed = re.findall(r"^(#+ .*|!\[.*)$", regenerate.with_screenshots(page), re.MULTILINE)
    assert listed == [
        "## Audit",
        "![audit: dark](_static/screenshots/audit-dark.png)",
        "## Whatif",
        "![whatif: iris, phone](_static/screenshots/whatif-iris-phone.png)",
    ]


def test_first_screens_are_kept_in_few_colours(regenerate, tmp_path, monkeypatch):
    monkeypatch.setattr(regenerate, "SCREENSHOTS", tmp_path / "kept")
    taken = tmp_path / "taken"
    taken.mkdir()
    colours = Image.radial_gradient("L").convert("RGB")
    for name, height in {"a": 3_000, "a-first": 40, "a-tried": 40, "b": 40, "c": 3_000}.items():
        colours.resize((60, height)).save(taken / f"{name}.png")
    regenerate.keep_screenshots(taken, "page-")
    assert sorted(file.name for file in (tmp_path / "kept").iterdir()) == ["page-a.png", "page-b.png"]
    with Image.open(tmp_path / "kept" / "page-a.png") as kept:
        assert kept.size == (60, 40)
        assert len(kept.getcolors()) <= regenerate.COLOURS < len(colours.resize(kept.size).getcolors())


def test_pages_that_run_code_are_found(regenerate):
    found = {page.relative_to(ROOT).as_posix() for page in regenerate.pages()}
    assert {"README.md", "docs/start.md", "docs/howto/lime.md", "docs/howto/command_line.md"} <= found
    assert not {"docs/gallery.md", "docs/pipelines.md", "docs/concepts/index.md"} & found


@pytest.mark.parametrize(
    "loaded",
    [
        '<script src="https://cdn.example/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/a.css">',
        '<img src="http://example/a.png" alt="">',
        "<style>@import 'https://example/a.css';</style>",
    ],
)
def test_what_a_page_loads_from_a_network_is_found(site, tmp_path, loaded):
    page = tmp_path / "page.html"
    page.write_text('<a href="https://example">out</a><link rel="canonical" href="https://example">')
    assert list(site.from_network(tmp_path)) == []
    page.write_text(loaded)
    assert len(list(site.from_network(tmp_path))) == 1


def test_fonts_from_a_network_are_found(site, tmp_path):
    (tmp_path / "a.css").write_text("@font-face{src:url('https://fonts.example/a.woff2')}")
    assert list(site.from_network(tmp_path)) == ["a.css loads https://fonts.example/a.woff2"]


def test_links_between_pages_are_followed(site, tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">b</a><a href="#top">top</a><p id="top">')
    (tmp_path / "b.html").write_text('<p id="here"><a href="gone.html">gone</a>')
    assert list(site.broken_links(tmp_path)) == ["b.html links to gone.html, which is not there"]
    (tmp_path / "b.html").write_text("<p>")
    assert list(site.broken_links(tmp_path)) == ["a.html links to b.html#here, which is not there"]


# ---------------------------------------------------------------------------- the site, for everybody


def test_what_sphinx_writes_is_mended_for_those_who_listen():
    readable = script("readable")
    parameters = '<dl>\n<dd><em class="sig-param">a</em>,</dd>\n<dd><em class="sig-param">b</em></dd>\n</dl>'
    mended = readable.readable_to_all(f"<dl class=x><dt>f(</dt>{parameters}<dd>said</dd></dl>")
    assert mended.count("<dl") == mended.count("</dl>") == mended.count("<dd>") == 1
    assert mended.count("<div") == mended.count("</div>") == 3
    cells = '<th class="head"><p></p></th><th></th><th>of</th><th><p>a</p></th>'
    assert readable.readable_to_all(cells) == '<td class="head"></td><td></td><th>of</th><th><p>a</p></th>'
    tree = '<li><a href="a">A</a></li><li><a href="b">B</a><details><summary><i></i></summary></details></li>'
    assert readable.with_named_switches(tree) == tree.replace(
        "<summary>", '<summary aria-label="Pages below B">'
    )


def test_the_site_is_looked_at_in_a_browser_without_a_network(browser, tmp_path):
    look = script("site_in_browser")
    page = tmp_path / "docs" / "index.html"
    page.parent.mkdir()
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "part.html").write_text("<th></th>")  # of the theme
    kept = "<!doctype html><html lang=en><head><title>T</title></head><body><main><h1>T</h1>{}</main></body>"
    page.write_text(kept.format("<p>Fine.</p>"))
    assert list(look.faults(browser, tmp_path)) == []
    wrong = {
        "<img alt=x src=https://example.invalid/a.png>": "asks for https://example.invalid/a.png",
        "<table><tr><th></th><td>1</td></tr></table>": "empty-table-header",
        "<div style='width: 2000px'>wide</div>": "pixels wider than its window",
    }
    page.write_text(kept.format("".join(wrong)))
    found = list(look.faults(browser, tmp_path))
    assert len(found) == 9, found  # light, dark and on a phone: it is the page of its kind
    assert all(one.startswith("docs/index.html (") for one in found)
    assert all(sum(told in one for one in found) == 3 for told in wrong.values())
