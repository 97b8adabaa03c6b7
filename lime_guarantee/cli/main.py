"""The command ``lime-guarantee``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lime_guarantee.cli.demo import run_demo
from lime_guarantee.cli.question import METHODS
from lime_guarantee.engine.search.catalogue import SEARCHES
from lime_guarantee.errors import GuaranteeError
from lime_guarantee.settings import Settings
from lime_guarantee.space.measure import MEASURES
from lime_guarantee.version import __version__

INTERRUPTED = 130
"""The exit code of a command that was stopped with Ctrl-C, as shells know it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code: 0 clean, 1 flagged, 2 an error, 130 interrupted."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except KeyboardInterrupt:
        _say(_interrupted(options), debug=options.debug)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - exit code 1 means flagged, and nothing else
        _say(_in_one_line(error), debug=options.debug)
        return 2
    return code


def _say(sentence: str, *, debug: bool = False) -> None:
    """One line, on stderr; before it the traceback, if it is asked for."""
    if debug:
        traceback.print_exc()
    sys.stderr.write(f"lime-guarantee: {sentence}\n")


def _in_one_line(error: Exception) -> str:
    said = " ".join(str(error).split())
    if isinstance(error, GuaranteeError | ModuleNotFoundError | OSError):
        return said
    return f"{type(error).__name__}: {said}. This should not happen; --debug shows where it did."


def _interrupted(options: argparse.Namespace) -> str:
    out: Path | None = getattr(options, "out", None)
    checkpoint = None if out is None else out / "checkpoint.jsonl"
    if checkpoint is None or not checkpoint.exists():
        return "interrupted."
    return f"interrupted. What is done is in {checkpoint}; the same command goes on from there."


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lime-guarantee", description="How far can a local explanation be trusted?"
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="explain one row of the breast-cancer data and print its region")
    demo.add_argument("--row", type=int, default=0, help="the row of the test data to explain (default: 0)")
    demo.add_argument("--seed", type=int, default=0, help="the seed of everything random (default: 0)")
    _add_debug(demo)
    demo.set_defaults(run=_demo)
    explain = commands.add_parser("explain", help="explain one row of a table and print its region")
    _add_model_options(explain)
    explain.add_argument("--row", type=int, default=0, help="the number of the row (default: 0)")
    explain.add_argument("--json", action="store_true", help="print the region as JSON")
    explain.add_argument("--html", type=Path, metavar="FILE", help="write a page to try values on")
    explain.add_argument(
        "--certificate", type=Path, metavar="FILE", help="write a sheet to print, sign and file"
    )
    explain.set_defaults(run=_explain)
    audit = commands.add_parser("audit", help="audit the explanations of many rows")
    _add_model_options(audit)
    audit.add_argument(
        "--out", type=Path, required=True, help="the folder for the results; resumes from there"
    )
    audit.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    audit.add_argument(
        "--fail-on",
        type=lambda text: tuple(filter(None, text.split(","))),
        default=(),
        metavar="VERDICTS",
        help="verdicts, separated by commas, that end the command with 1 (default: all that are flagged, but "
        "errors, of which --allow-errors speaks)",
    )
    audit.add_argument(
        "--allow-errors",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="the share of rows that may end in an error; more end the command with 2 (default: 0)",
    )
    audit.add_argument("--junit", type=Path, metavar="FILE", help="write the verdicts as JUnit XML, too")
    audit.add_argument(
        "--certificate", type=Path, metavar="FILE", help="write a sheet to print, sign and file, too"
    )
    audit.add_argument("--github", action="store_true", help="print annotations for GitHub Actions")
    audit.add_argument("--no-progress", action="store_true", help="show no bar")
    audit.set_defaults(run=_audit)
    return parser


def _share(text: str) -> float:
    """A share, as an option says it; argparse tells what is wrong with any other."""
    share = float(text)
    if not 0.0 <= share <= 1.0:
        raise argparse.ArgumentTypeError(f"a number from 0 to 1 is required; got {text}")
    return share


def _add_debug(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="show where an error comes from")


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    _add_debug(parser)
    parser.add_argument(
        "--model", required=True, help="module:callable, or a .skops, .onnx, .joblib or .pkl file"
    )
    parser.add_argument(
        "--trust-type", action="append", default=[], metavar="TYPE", help="a type in a .skops file to trust"
    )
    parser.add_argument("--trust-pickle", action="store_true", help="unpickle the model, which runs its code")
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="the training data: CSV or Parquet, features only, numbers or words",
    )
    parser.add_argument("--rows", type=Path, required=True, help="the rows to explain: the same columns")
    parser.add_argument(
        "--explainer",
        default="lime",
        help="lime, shap, or module:function, which is given the training data and the model's function and "
        "returns an explainer that has an adapter (default: lime)",
    )
    parser.add_argument("--regression", action="store_true", help="the model predicts numbers, not classes")
    parser.add_argument(
        "--method",
        choices=METHODS,
        help="what is asked of the model (default: predict_proba, of a regression predict); "
        "decision_function is explained as a number",
    )
    parser.add_argument("--agreement", choices=("auto", "class", "value", "change"), default="auto")
    parser.add_argument("--tolerance", type=float)
    parser.add_argument("--label", help="the class, or the output, to look at: its number or its name")
    _add_settings(parser)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    """The settings that a command line can say, with their own defaults."""
    default = Settings()
    parser.add_argument("--purity", type=float, default=default.purity)
    parser.add_argument("--confidence", type=float, default=default.confidence)
    parser.add_argument("--search", choices=sorted(SEARCHES), default=default.searcher.name)
    parser.add_argument("--effort", choices=("low", "normal", "high"), help="of the search boundary")
    parser.add_argument(
        "--measure",
        choices=("auto", *MEASURES),
        default=default.measure,
        help="what shares are shares of (default: auto, which is marginal: the data, feature by feature)",
    )
    parser.add_argument("--certifier", choices=("anytime", "zero-failure"), default=default.certifier)
    parser.add_argument(
        "--max-evaluations", type=int, metavar="ROWS", help="rows of the model never to be passed"
    )
    parser.add_argument("--batch-rows", type=int, metavar="ROWS", help="the most rows of the model at once")
    parser.add_argument("--seed", type=int, default=0, help="the seed of everything random (default: 0)")


def _demo(options: argparse.Namespace) -> int:
    sys.stdout.write(run_demo(row=options.row, seed=options.seed) + "\n")
    return 0


def _explain(options: argparse.Namespace) -> int:
    from lime_guarantee.cli.commands import explain_one

    region = explain_one(options)
    if options.html is not None:
        # The limit is on all that is asked of the model: within one, its curves are left out.
        region.to_html(options.html, model=options.max_evaluations is None)
    if options.certificate is not None:
        region.to_certificate(options.certificate, row=f"{options.row} of {options.rows}")
    sys.stdout.write((region.to_json() if options.json else str(region)) + "\n")
    return 0 if region else 1


def _audit(options: argparse.Namespace) -> int:
    from lime_guarantee.auditing.junit import github_annotations
    from lime_guarantee.cli.commands import run_audit

    report: Any = run_audit(options)
    sys.stdout.write(report.summary() + "\n")
    if options.github:
        rows = str(options.rows) if options.rows.suffix == ".csv" else None
        sys.stdout.writelines(f"{line}\n" for line in github_annotations(report, options.fail_on, rows))
    failed = report.counts["error"]
    if failed > options.allow_errors * len(report):
        first = report.worst(("error",), 1)[0]
        _say(
            f"{failed} of {len(report)} rows ended in an error, and --allow-errors allows "
            f"{options.allow_errors:g} of them. Row {first.index}: {' '.join(first.reason.split())}"
        )
        return 2
    return 1 if any(report.counts[verdict] for verdict in options.fail_on) else 0
