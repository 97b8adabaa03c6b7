"""Which module may import which, and what importing the package must not do."""

import ast
import json
import os
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).parent.parent
JIT = "lime_guarantee.engine.kernels.jit"
OPTIONAL = {"dask", "lime", "matplotlib", "pandas", "ray", "shap"}


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


def within(name, packages):
    """Is this one of the packages, or something in one of them?"""
    return any(name == package or name.startswith(package + ".") for package in packages)


def runs_at_import(node):
    """Does a statement's body run when its module is imported?"""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    return not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def imports(module, *, anywhere=True):
    """All that a module imports, by full name: anywhere, or only while it is imported itself."""
    path = MODULES[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    waiting, found = [ast.parse(path.read_text(encoding="utf-8"))], set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            found |= {source} | {f"{source}.{alias.name}" for alias in node.names}
        elif anywhere or runs_at_import(node):
            waiting += ast.iter_child_nodes(node)
    return found


def offenders(modules, is_wrong, **options):
    """What is wrong among the imports of each module; nothing, if all is well."""
    wrong = {module: sorted(filter(is_wrong, imports(module, **options))) for module in modules}
    return {module: names for module, names in wrong.items() if names}


def run(code, **environment):
    """What Python code prints, run from the repository's root with numba's compiler on; it must succeed."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=settings | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kernels_import_numpy_and_numba_alone():
    kernels = [name for name in MODULES if name.startswith(("lime_guarantee.engine.kernels.max_box", JIT))]
    assert len(kernels) >= 2
    allowed = {"numpy", "numba", JIT, "lime_guarantee.support.arrays", *sys.stdlib_module_names}
    assert offenders(kernels, lambda name: not within(name, allowed)) == {}


def test_the_engine_imports_nothing_above_it():
    engine = [name for name in MODULES if within(name, ["lime_guarantee.engine"])]
    layers = (
        "__main__",
        "adapters",
        "api",
        "auditing",
        "cli",
        "guarantee",
        "problem",
        "region",
        "views",
    )
    above = {"adapters", *(f"lime_guarantee.{layer}" for layer in layers)}
    # The package itself is above the engine too: it imports everything.
    assert offenders(engine, lambda name: name == "lime_guarantee" or within(name, above)) == {}


def test_pictures_are_above_all_that_they_show():
    # Methods that draw import them when they are called; nothing does while it is imported itself.
    below = [name for name in MODULES if not within(name, ["lime_guarantee.views.plots"])]
    assert offenders(below, lambda name: within(name, ["lime_guarantee.views.plots"]), anywhere=False) == {}
    pictures = MODULES.keys() - set(below)
    assert pictures
    apart = ["lime_guarantee.adapters", "lime_guarantee.auditing"]
    assert offenders(pictures, lambda name: within(name, apart), anywhere=False) == {}


def test_pages_are_made_of_results_which_do_not_know_them_until_they_are_asked():
    html = [name for name in MODULES if within(name, ["lime_guarantee.views.html"])]
    assert len(html) >= 4
    others = MODULES.keys() - set(html)
    assert offenders(others, lambda name: within(name, ["lime_guarantee.views.html"]), anywhere=False) == {}
    results = ["lime_guarantee.adapters", "lime_guarantee.auditing", "lime_guarantee.region.region"]
    assert offenders(html, lambda name: within(name, results), anywhere=False) == {}


def test_nothing_imports_the_command():
    command = {"lime_guarantee.__main__", "lime_guarantee.cli"}
    others = {name for name in MODULES if not within(name, command)}
    assert offenders(others, lambda name: within(name, command)) == {}


def test_optional_packages_are_imported_inside_functions():
    assert offenders(MODULES, lambda name: within(name, OPTIONAL), anywhere=False) == {}


def test_no_adapter_is_named_like_a_library():
    adapters = [name for name in MODULES if within(name, ["lime_guarantee.adapters"])]
    assert adapters
    assert not {part for name in adapters for part in name.split(".")} & OPTIONAL


def test_adapters_are_imported_by_one_name():
    # From the repository's root `import adapters` works, and makes a second copy of every class.
    assert offenders(MODULES, lambda name: within(name, ["adapters"])) == {}


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
