"""Shared by all tests."""

import os
import sys
from itertools import islice
from pathlib import Path

import pytest

# One thread a process, for numpy, scipy, scikit-learn, xgboost and lightgbm: the suite runs a process a core,
# and threads that spin while they wait for a busy core cost ten times what they save. The libraries read this
# when they are loaded; the workers of xdist, and whatever tests start, inherit it.
for limit in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[limit] = "1"

# Some machines, containers above all, keep no bytecode. Then each of the dozens of processes that the suite
# starts would compile all it imports again, which takes longer than most tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

sys.path.insert(0, str(Path(__file__).parent))  # for naive.py and problems.py
sys.path.append(str(Path(__file__).parent.parent))  # for benchmarks/, which is not installed

# What tests import is no test. To look for examples there pytest would import it once more, by another name,
# and fit all its models again.
collect_ignore = [
    file.name for file in Path(__file__).parent.glob("*.py") if not file.stem.startswith("test_")
]

LONGEST = [
    ["test_guarantee"],
    ["test_jit"],
    ["test_scaffolding"],
    ["test_audit_run", "test_cli_audit", "test_audit_workers"],
    ["test_cells"],
    ["test_packaging"],
    ["test_paper"],
    ["test_imports"],
    ["test_hooks"],
    ["test_notebooks"],
]
"""Modules that take long. The second compiles in processes of its own: meanwhile one process, not two,
compiles the kernels and keeps them on disk for all the others. Those that stand together audit with two
processes, which joblib keeps for the next audit of the same worker; the last of them kills them."""


def longest_first(items, workers):
    """Deal the longest modules out to the workers of xdist, so that each starts with some of them.

    Every worker is given as many neighbouring items as any other, and takes from the end of another's when it
    has none left. So short tests come last: no worker waits long for another's last one.
    """
    by_module = {name: [] for names in LONGEST for name in names}
    others = []
    for item in items:
        by_module.get(item.path.stem, others).append(item)
    groups = [[item for name in names for item in by_module[name]] for names in LONGEST]
    ordered, rest = [], iter(others)
    for worker in range(workers):
        share = [item for group in groups[worker::workers] for item in group]
        room = (len(items) - len(ordered)) // (workers - worker) - len(share)
        ordered += share + list(islice(rest, max(room, 0)))
    return ordered + list(rest)


def pytest_collection_modifyitems(config, items):
    """Leave out what is too slow interpreted, and say so; what takes long runs when asked for by name."""
    unwanted = {mark for mark in ("slow", "notebook") if mark not in config.getoption("markexpr")}
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        unwanted.add("compiled")
    left_out = [item for item in items if unwanted & {mark.name for mark in item.iter_markers()}]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if hasattr(config, "workerinput"):
        items[:] = longest_first(items, config.workerinput["workercount"])


@pytest.fixture
def root():
    """The repository."""
    return Path(__file__).parent.parent


@pytest.fixture(scope="module")
def browser():
    """A real browser."""
    from browser import chromium

    with chromium() as started:
        yield started


@pytest.fixture
def pages(browser, tmp_path):
    """Opens pages; what goes wrong in them fails the test."""
    from browser import Pages

    opened = Pages(browser, tmp_path)
    yield opened
    opened.close()
