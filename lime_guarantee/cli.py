"""The command ``lime-guarantee``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from lime_guarantee.demo import run_demo
from lime_guarantee.errors import GuaranteeError
from lime_guarantee.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="lime-guarantee", description="How far can a local explanation be trusted?"
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="explain one row of the breast-cancer data and print its region")
    demo.add_argument("--row", type=int, default=0, help="the row of the test data to explain (default: 0)")
    demo.add_argument("--seed", type=int, default=0, help="the seed of everything random (default: 0)")
    options = parser.parse_args(arguments)
    try:
        sys.stdout.write(run_demo(row=options.row, seed=options.seed) + "\n")
    except GuaranteeError as error:
        sys.stderr.write(f"lime-guarantee: {error}\n")
        return 2
    return 0
