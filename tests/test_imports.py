"""Which module may import which, and what importing the package must not do."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OPTIONAL = {"dask", "lime", "matplotlib", "pandas", "ray", "shap", "tqdm"}
ABOVE_RESULTS = tuple(f"lime_guarantee.{room}" for room in ("__main__", "auto", "cli", "views"))


def module_name(path):
    """The name that a source file is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "adapters":
        parts = ("lime_guarantee", *parts)
    return ".".join(parts).removesuffix(".__init__")


MODULES = {
    module_name(path): path
    for folder in ("lime_guarantee", "adapters")
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def run(code, **environment):
    """What Python code prints, run from the repository's root with numba's compiler on; it must succeed."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=settings | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def installed_copy(folder):
    """The package as it is installed, with adapters inside: only so does a graph of imports show them."""
    package = folder / "lime_guarantee"
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "lime_guarantee", package, ignore=without)
    shutil.copytree(ROOT / "adapters", package / "adapters", ignore=without)
    return package


def check_contracts(package):
    """Whether the contracts in pyproject.toml are kept by a copy of the package, and what is said of them."""
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache", "--config", ROOT / "pyproject.toml"],
        cwd=package.parent,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )
    return done.returncode == 0, " ".join((done.stdout + done.stderr).split())


def test_rooms_import_only_what_their_contracts_allow(tmp_path):
    kept, said = check_contracts(installed_copy(tmp_path))
    assert kept, said
    assert "0 broken" in said


ROOMS = "Rooms import the rooms below them"
KERNELS = "Kernels import numpy, numba and the names of arrays"
FORBIDDEN = [
    ("space.box", "import lime_guarantee.engine.oracle", "lime_guarantee.engine.oracle", ROOMS),
    (
        "engine.oracle",
        "from lime_guarantee.problem.problem import Problem",
        "lime_guarantee.problem.problem",
        ROOMS,
    ),
    ("region.report", "from lime_guarantee.views import plots", "lime_guarantee.views.plots", ROOMS),
    ("adapters.base", "from lime_guarantee.auditing import run", "lime_guarantee.auditing.run", ROOMS),
    ("views.plots.drawing", "from lime_guarantee.cli import main", "lime_guarantee.cli.main", ROOMS),
    (
        "engine.batches",
        "from lime_guarantee.engine.search import base",
        "lime_guarantee.engine.search.base",
        "Searches use the certifier",
    ),
    (
        "engine.certify.bounds",
        "from lime_guarantee.engine.certify import budget",
        "lime_guarantee.engine.certify.budget",
        "The certifier decides",
    ),
    (
        "engine.kernels.max_box",
        "from lime_guarantee.space.box import Box",
        "lime_guarantee.space.box",
        KERNELS,
    ),
    ("engine.kernels.bins", "from scipy import stats", "scipy", KERNELS),
    (
        "cli.commands",
        "from lime_guarantee import find_region",
        "lime_guarantee",
        "The package's front door",
    ),
    ("auditing.run", "import adapters.hooks", "adapters", "Adapters are imported by one name"),
]


@pytest.mark.parametrize("where", ["{}\n", "def lazily():\n    {}\n"], ids=["at import", "in a function"])
def test_forbidden_imports_are_reported(tmp_path, where):
    package = installed_copy(tmp_path)
    for module, statement, _, _ in FORBIDDEN:
        with (package / f"{module.replace('.', '/')}.py").open("a", encoding="utf-8") as source:
            source.write("\n\n" + where.format(statement))
    kept, said = check_contracts(package)
    assert not kept
    told, _, found = said.partition("Broken contracts")
    for module, _, imported, contract in FORBIDDEN:
        assert re.search(rf"{contract}[^:]*? BROKEN", told), contract
        assert f"lime_guarantee.{module} -> {imported} (l." in found, module


def test_a_room_without_a_place_is_reported(tmp_path):
    package = installed_copy(tmp_path)
    (package / "attic.py").touch()
    kept, said = check_contracts(package)
    assert not kept
    assert "attic" in said


def test_results_import_their_pictures_when_they_are_asked_for_them():
    # The contracts let them do so, and cannot tell whether they wait.
    # A report's certificate is a page, and reports import it when they are asked for one.
    pages = (*ABOVE_RESULTS, "lime_guarantee.auditing.certificate")
    below = [name for name in MODULES if not name.startswith(pages)]
    code = f"""
import importlib, json, sys
for module in {below}:
    importlib.import_module(module)
print(json.dumps([name for name in sys.modules if name.startswith("lime_guarantee.views")]))
"""
    assert run(code) == []


def test_no_adapter_is_named_like_a_library():
    adapters = [name for name in MODULES if name.startswith("lime_guarantee.adapters.")]
    assert adapters
    assert not {part for name in adapters for part in name.split(".")} & OPTIONAL


def test_importing_the_package_compiles_nothing(tmp_path):
    code = """
import json, sys
import lime_guarantee
from numba.core.dispatcher import Dispatcher
print(json.dumps({
    f"{name}.{key}": len(value.signatures)
    for name, module in sys.modules.items() if name.startswith("lime_guarantee")
    for key, value in vars(module).items() if isinstance(value, Dispatcher)
}))
"""
    signatures = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert "lime_guarantee.engine.kernels.max_box.max_box" in signatures
    assert [name for name, count in signatures.items() if count] == []
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == []


def test_importing_the_package_leaves_optional_packages_alone():
    code = f"""
import importlib, importlib.util, json, sys
for module in {sorted(MODULES.keys() - {"lime_guarantee.auto"})}:
    importlib.import_module(module)
print(json.dumps([bool(importlib.util.find_spec("pandas")), sorted({OPTIONAL} & sys.modules.keys())]))
"""
    pandas_is_there, imported = run(code)
    assert pandas_is_there
    assert imported == []
