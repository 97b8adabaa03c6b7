"""What the README shows is what happens."""

import contextlib
import io
import re

import pytest


@pytest.fixture
def readme(root):
    return (root / "README.md").read_text(encoding="utf-8")


def blocks(text, language):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.compiled
def test_the_example_prints_what_is_shown(readme):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(blocks(readme, "python")[0], {})
    assert printed.getvalue().strip() == blocks(readme, "text")[0].strip()


def test_ci_runs_the_test_command_of_the_readme(readme, root):
    command = blocks(readme, "sh")[1].strip()
    assert "pytest" in command
    assert command in (root / ".ci" / "run").read_text(encoding="utf-8")
