"""The command line."""

import subprocess
import sys

import pytest

from lime_guarantee import __version__
from lime_guarantee.cli.main import main


def test_the_version_is_printed():
    printed = subprocess.run(
        [sys.executable, "-m", "lime_guarantee", "--version"], capture_output=True, text=True, check=True
    )
    assert printed.stdout == f"lime-guarantee {__version__}\n"


@pytest.mark.compiled
def test_the_demo_prints_a_certified_region(capsys):
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    assert "Certified: draw each feature independently from its own values in the data" in printed
    assert "worst concave points" in printed
    assert "Explained: lime tabular of 'benign'" in printed


def test_a_row_that_is_not_there_is_refused(capsys):
    assert main(["demo", "--row", "1000"]) == 2
    said = capsys.readouterr()
    assert said.err == "lime-guarantee: row: a number from 0 to 142 is required; got 1000.\n"
    assert said.out == ""


def test_no_command_is_an_error(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "demo" in capsys.readouterr().err
