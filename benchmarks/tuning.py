"""Does tuning LIME pay on rows that it was not tuned on? Breast cancer, with a forest and with a network.

`tune` chooses a setting on some held-out rows; LIME's own settings and the chosen ones then explain other
held-out rows, and cover others again: no row has two of these parts. Run it as ``python -m
benchmarks.tuning``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from lime.lime_tabular import LimeTabularExplainer
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from benchmarks.datasets import machine
from benchmarks.worth import MODELS
from lime_guarantee import Tuning, tune

DEFAULT: dict[str, Any] = {"kernel_width": 1.0, "discretizer": "quartile", "num_features": 10}
"""What LIME does unless it is told otherwise."""


def line(model: str, what: str, found: Tuning) -> str:
    """A line of the table, of the first setting."""
    best = found.tried[0]
    setting = ", ".join(f"{name}={value}" for name, value in best.setting.items())
    figures = f"{best.certified:.2f} | {best.coverage:.3f} | {best.gain:.3f} | {best.explained:.4f}"
    return f"| {model} | {what} | {setting} | {found.rows} | {figures} | {found.constant_coverage:.3f} |"


HEADER = (
    "| model | rows | setting | explained rows | certified | coverage | gain | coverage times gain "
    f"| constants cover |\n|{'---|' * 9}"
)


def run(model: str, options: argparse.Namespace) -> None:
    """Tune on some rows and report on others; prints the table's lines."""
    data = load_breast_cancer()
    train, held_out, y, _ = train_test_split(data.data, data.target, train_size=0.5, random_state=0)
    fitted = MODELS[model][0]().fit(train, y)
    explainer = LimeTabularExplainer(train, feature_names=data.feature_names, random_state=0)
    first, second = options.tuned_on, options.tuned_on + options.rows
    middle = (second + len(held_out)) // 2

    def tried(rows: slice, covered: slice, grid: Mapping[str, Sequence[Any]] | None = None) -> Tuning:
        return tune(
            explainer,
            held_out[rows],
            fitted.predict_proba,
            training_data=train,
            validation_data=held_out[covered],
            grid=grid,
            agreement=options.agreement,
            random_state=0,
        )

    tuning = tried(slice(first), slice(second, middle))
    print(line(model, "tuned on", tuning), flush=True)
    if options.all:
        print(tuning.to_frame().to_string())
    others, covered = slice(first, second), slice(middle, None)
    for what, setting in (("others, LIME's own", DEFAULT), ("others, tuned", tuning.best)):
        found = tried(others, covered, {name: [value] for name, value in setting.items()})
        print(line(model, what, found), flush=True)
    print(f"\n{tuning}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", default=["forest", "network"], choices=list(MODELS))
    parser.add_argument("--tuned-on", type=int, default=10, help="rows that the setting is chosen on")
    parser.add_argument("--rows", type=int, default=30, help="other rows, that the figures are about")
    parser.add_argument("--agreement", choices=("class", "value", "change"), default="class")
    parser.add_argument("--all", action="store_true", help="show all settings")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    print(f"{machine()}; agreement {options.agreement}\n\n{HEADER}", flush=True)
    for model in options.models:
        run(model, options)


if __name__ == "__main__":
    main()
