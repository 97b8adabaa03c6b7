"""What the README shows is what happens."""

import contextlib
import io
import re

import pytest
from matplotlib import pyplot


@pytest.fixture
def readme(root):
    return (root / "README.md").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def printed_by(code):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    pyplot.close("all")  # other tests look at what is open
    return printed.getvalue().strip()


def shown_after(text, code):
    """The block of text that follows a block of code."""
    return blocks(text.partition(code)[2], "text")[0].strip()


@pytest.mark.compiled
def test_the_example_prints_what_is_shown(readme):
    example = next(code for code in blocks(readme, "python") if "def surrogate(X):" in code)
    assert printed_by(example) == shown_after(readme, example)


@pytest.mark.compiled
def test_the_lime_example_prints_what_is_shown(readme):
    # Another version of scikit-learn grows another forest: its numbers may differ, nothing else may.
    def without_numbers(text):
        return re.sub(r"[ ]+", " ", re.sub(r"[-+]?\d[\d.,]*", "0", text))

    example = blocks(readme, "python")[0]
    assert without_numbers(printed_by(example)) == without_numbers(shown_after(readme, example))


def test_ci_runs_the_test_command_of_the_readme(readme, root):
    command = blocks(readme, "sh")[1].strip()
    assert "pytest" in command
    assert command in (root / ".ci" / "run").read_text(encoding="utf-8")
