"""The compiler's cache: first calls at the same time, and installations where nothing can be written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PATIENCE = 1_800
"""What a busy machine may take to compile everything, in seconds."""

pytestmark = pytest.mark.compiled

# A ball, so that every kernel is needed.
PROBLEM = """
import sys
import numpy as np
from lime_guarantee import Divide, Domain, find_region
from lime_guarantee.engine.kernels import max_box as kernels
from numba.core.dispatcher import Dispatcher

def all_kernels():
    return [
        value
        for name, module in list(sys.modules.items()) if name.startswith("lime_guarantee")
        for value in vars(module).values() if isinstance(value, Dispatcher)
    ]

def solve(**options):
    def faithful(X):
        return (X**2).sum(axis=1) < 1
    domain = Domain.from_bounds([-2] * 3, [2] * 3)
    return find_region(faithful, [0.1, 0.2, 0], domain, random_state=0, **options).to_json()
"""


def start(code, *, cwd=ROOT, through=(), **settings):
    """Start Python code after the problem's, without the settings of numba, homes and paths around us."""
    dropped = ("NUMBA_", "PYTHON", "XDG_", "HOME")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return subprocess.Popen(
        [*through, sys.executable, "-c", PROBLEM + code],
        cwd=cwd,
        env=environment | {name: str(value) for name, value in settings.items()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    """The lines that a process prints; it must succeed."""
    try:
        stdout, stderr = process.communicate(timeout=PATIENCE)  # threads that wait for each other never end
    finally:
        process.kill()  # does nothing to a process that has ended
    assert process.returncode == 0, stderr
    return stdout.splitlines()


# The kernels of one search take a third of the time of all.
@pytest.mark.parametrize(
    ("options", "compiled"),
    [
        pytest.param("search=Divide(30, 10)", ["max_box.max_box"], id="one search"),
        pytest.param("", ["max_box.max_box", "peel.peeled"], id="all", marks=pytest.mark.slow),
    ],
)
def test_two_processes_of_two_threads_compile_at_once(tmp_path, options, compiled):
    code = f"""
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

barrier = Barrier(2)

def solve_together(_):
    barrier.wait()
    return solve({options})

print(len(all_kernels()) > 10, [k for k in all_kernels() if k.targetoptions.get("parallel")], flush=True)
input()
with ThreadPoolExecutor(2) as pool:
    print(*pool.map(solve_together, range(2)), sep="\\n")
"""
    # This layer takes one caller at a time: a kernel with parallel=True would end the process.
    settings = {"NUMBA_CACHE_DIR": tmp_path, "NUMBA_THREADING_LAYER": "workqueue"}
    processes = [start(code, **settings) for _ in range(2)]
    for process in processes:
        ready = process.stdout.readline()
        assert ready, process.stderr.read()
        assert ready == "True []\n"  # not one of all the kernels is parallel
    assert not list(tmp_path.rglob("*.nbi"))
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    first, *others = [line for process in processes for line in finish(process)]
    assert '"certified"' in first
    assert others == [first] * 3
    for kernel in compiled:
        assert list(tmp_path.rglob(f"{kernel}*.nbi"))


@pytest.fixture
def read_only(tmp_path):
    """A folder with the package as it is installed, in which nothing can be written."""
    folder = tmp_path / "site"
    shutil.copytree(
        ROOT / "lime_guarantee", folder / "lime_guarantee", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(ROOT / "adapters", folder / "lime_guarantee" / "adapters")
    paths = [folder, *folder.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(modes[path] & ~0o222)
    yield folder
    for path in paths:
        path.chmod(modes[path])


def test_nothing_can_be_written(read_only):
    code = """
from pathlib import Path
import lime_guarantee, lime_guarantee.adapters, numba

def refused(action):
    try:
        action()
    except (OSError, RuntimeError) as error:
        return type(error).__name__

engine = Path(kernels.__file__).parent
print(engine)
print(refused((engine / "new").touch))
print(refused(lambda: Path.home().mkdir()))
print(refused(lambda: numba.njit(cache=True)(kernels.hull.py_func)))
print(len(all_kernels()) > 10, {kernel.stats.cache_path for kernel in all_kernels()})
print(solve(search=Divide(30, 10)))  # the kernels of one search: each is compiled in the same way
print(kernels.max_box.stats.cache_path, len(kernels.max_box.signatures))
"""
    # Root writes where it likes, unless these capabilities are taken away.
    taken = "-dac_override,-dac_read_search"
    like_others = ["setpriv", f"--bounding-set={taken}", f"--inh-caps={taken}"] if os.geteuid() == 0 else []
    process = start(
        code,
        cwd=read_only.parent,
        through=like_others,
        HOME=read_only / "home",
        PYTHONPATH=read_only,
        PYTHONDONTWRITEBYTECODE=1,
    )
    engine, package, home, cache, places, region, compiled = finish(process)
    assert engine == str(read_only / "lime_guarantee" / "engine" / "kernels")
    assert (package, home, cache) == ("PermissionError", "PermissionError", "RuntimeError")
    assert places == "True {None}"
    assert '"certified"' in region
    assert compiled == "None 1"
