"""The command line: ``python -m benchmarks.paper all --points 20 --boston PATH``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.paper import cells
from benchmarks.paper.expansion import EXPANSION
from benchmarks.paper.grid import DATASETS, SYNTHETIC
from benchmarks.paper.honesty import HONESTY
from benchmarks.paper.jobs import Settings
from benchmarks.paper.networks import NETWORKS
from benchmarks.paper.page import update
from benchmarks.paper.readings import READINGS_OF_TABLE_1
from benchmarks.paper.running import run
from benchmarks.paper.table_1 import TABLE_1
from benchmarks.paper.table_2 import TABLE_2
from benchmarks.paper.table_3 import TABLE_3

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (TABLE_1, TABLE_2, HONESTY, EXPANSION, NETWORKS, TABLE_3, READINGS_OF_TABLE_1)
}
RESULTS = Path("benchmarks/results/paper")


def main(arguments: list[str] | None = None) -> None:
    """Read the command line; run what is asked for, print the tables, write CSV files and pictures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description="The paper's tables and figures, made again. A run that was stopped goes on when it is "
        "started again with the same folder.",
    )
    parser.add_argument(
        "what", nargs="+", choices=["all", *EXPERIMENTS, "page"], help="page writes README.md's tables anew"
    )
    parser.add_argument("--points", type=int, default=20, help="test points a cell, at most")
    parser.add_argument("--greedy-points", type=int, help="fewer points for greedy, which is dear")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--boston", type=Path, help="the CSV file of the boston data; without it boston is left out"
    )
    parser.add_argument(
        "--datasets", nargs="+", choices=DATASETS + SYNTHETIC, default=[*DATASETS, *SYNTHETIC]
    )
    parser.add_argument(
        "--seconds", type=float, default=Settings.seconds, help="the longest a region of table 3 may take"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="where finished regions are kept")
    parser.add_argument("--tables", type=Path, help="where tables and pictures go (the same folder)")
    options = parser.parse_args(arguments)
    datasets = [name for name in options.datasets if name != "boston" or options.boston]
    if len(datasets) < len(options.datasets) and options.what != ["page"]:
        print("boston is left out: it needs the path of its CSV file (--boston PATH).\n")
    plan = cells.Plan(tuple(datasets), options.points, options.greedy_points or options.points)
    settings = Settings(options.boston, options.seconds)
    tables = options.tables or options.results
    tables.mkdir(parents=True, exist_ok=True)
    for name in EXPERIMENTS if "all" in options.what else options.what:
        if name == "page":
            update(EXPERIMENTS.values())
            continue
        experiment = EXPERIMENTS[name]
        results = run(
            experiment.jobs(plan),
            options.results / "finished.jsonl",
            settings,
            options.jobs,
            name,
        )
        if not results:
            print(f"{name}: none of its datasets was asked for.\n")
            continue
        cells.write(tables / f"{name}.csv", experiment.cells(results))
        cells.write(tables / f"{name}_regions.csv", cells.regions(results))
        rows = cells.read(tables / f"{name}.csv")
        print(f"\n{name}\n\n{experiment.table(rows)}\n", flush=True)
        experiment.draw(rows, tables / f"{name}.png")
        for file, picture in experiment.pictures.items():
            picture(results, tables / file)


if __name__ == "__main__":
    main()
