"""How many explanations a second the audit does, on one worker and on several.

LIME explanations of the breast-cancer data by a gradient-boosted model. Run it as
``python -m benchmarks.throughput``; rows repeat where more are asked for than the data has, each with a
seed of its own.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier

from benchmarks.datasets import machine
from lime_guarantee import audit


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, run, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--explanations", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args(arguments)
    data = load_breast_cancer()
    train, rest = data.data[:400], data.data[400:]
    model = GradientBoostingClassifier(random_state=0).fit(train, data.target[:400])
    explainer = LimeTabularExplainer(train, feature_names=data.feature_names, random_state=0)
    X = rest[np.arange(options.explanations) % len(rest)]
    print(f"{machine()}; {options.explanations:,} explanations\n")
    print("| workers | seconds | explanations a second | verdicts |\n|---|---|---|---|")
    audit(explainer=explainer, X=X[:2], predict_fn=model.predict_proba, training_data=train)  # compiles
    reports = []
    for jobs in options.jobs:
        start = time.perf_counter()
        report = audit(
            explainer=explainer, X=X, predict_fn=model.predict_proba, training_data=train, n_jobs=jobs
        )
        seconds = time.perf_counter() - start
        counts = ", ".join(f"{count} {verdict}" for verdict, count in report.counts.items() if count)
        print(f"| {jobs} | {seconds:.0f} | {options.explanations / seconds:.2f} | {counts} |", flush=True)
        reports.append(report.to_json())
    if len(set(reports)) > 1:
        raise SystemExit("the reports differ between numbers of workers")


if __name__ == "__main__":
    main()
