"""The wheel holds the package and nothing else, and works where only its requirements are installed."""

import email
import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
NOT_SOURCES = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
BUILD = """
import sys, tarfile
from pathlib import Path
from build import ProjectBuilder
from build.env import DefaultIsolatedEnv

source, folder = map(Path, sys.argv[1:])
with DefaultIsolatedEnv() as env:

    def build(kind, source, place):
        builder = ProjectBuilder.from_isolated_env(env, source)
        env.install(builder.get_requires_for_build(kind))
        return builder.build(kind, folder / place)

    env.install(ProjectBuilder.from_isolated_env(env, source).build_system_requires)
    with tarfile.open(build("sdist", source, "direct")) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    build("wheel", source, "direct")
    (unpacked,) = (folder / "unpacked").iterdir()
    build("wheel", unpacked, "indirect")
"""
"""What `python -m build` does, with one environment for all: each has to be filled from PyPI."""
OPTIONAL = ["dask", "lime", "matplotlib", "pandas", "ray", "shap"]


def run(*command, cwd):
    """What a command prints; it sees no Python settings of ours, and must succeed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def not_sources(folder, names):
    """Leave out builds, caches and virtual environments of whatever name."""
    environments = {name for name in names if (Path(folder) / name / "pyvenv.cfg").is_file()}
    return environments | set(NOT_SOURCES(folder, names))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the repository, the wheel built from it, and the wheel built from its sdist."""
    folder = tmp_path_factory.mktemp("built").resolve()
    checkout = shutil.copytree(ROOT, folder / "checkout", ignore=not_sources)
    (checkout / "notebooks").mkdir(exist_ok=True)
    source = shutil.copytree(checkout, folder / "source")  # the build leaves its own files here
    run(sys.executable, "-c", BUILD, source, folder, cwd=folder)
    (wheel,) = (folder / "direct").glob("*.whl")
    (from_sdist,) = (folder / "indirect").glob("*.whl")
    return SimpleNamespace(checkout=checkout, wheel=wheel, from_sdist=from_sdist)


def contents(wheel):
    """The checksum of every file of a wheel; RECORD only repeats them, in any order."""
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
    return {entry.filename: entry.CRC for entry in entries if not entry.filename.endswith("/RECORD")}


@pytest.fixture(scope="module")
def names(built):
    return set(contents(built.wheel))


@pytest.fixture(scope="module")
def metadata(built):
    with zipfile.ZipFile(built.wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def runtime_requirements(requirements):
    """Names of the requirements that hold here without any extra."""
    parsed = map(Requirement, requirements or [])
    return {
        canonicalize_name(one.name)
        for one in parsed
        if one.marker is None or one.marker.evaluate({"extra": ""})
    }


def link_distributions(requirements, site_packages):
    """Make installed distributions, and all that they require, importable from another folder."""
    waiting, linked = set(requirements), set()
    while waiting:
        name = waiting.pop()
        linked.add(name)
        found = distribution(name)
        for entry in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
            link = site_packages / entry
            if not link.exists():
                link.symlink_to(found.locate_file(entry))
        waiting |= runtime_requirements(found.requires) - linked


@pytest.fixture(scope="module")
def bare(built, metadata, tmp_path_factory):
    """A virtual environment with the wheel and its runtime requirements, and its folder of packages."""
    folder = tmp_path_factory.mktemp("bare").resolve()
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site_packages = Path(run(python, "-c", find, cwd=folder))
    with zipfile.ZipFile(built.wheel) as archive:
        archive.extractall(site_packages)
    link_distributions(runtime_requirements(metadata.get_all("Requires-Dist")), site_packages)
    return SimpleNamespace(python=python, site_packages=site_packages)


def test_a_wheel_from_the_sdist_is_the_same_wheel(built):
    assert contents(built.from_sdist) == contents(built.wheel)


def test_the_wheel_holds_every_module(built, names):
    modules = {
        target / path.relative_to(folder).as_posix()
        for folder, target in [
            (built.checkout / "lime_guarantee", PurePosixPath("lime_guarantee")),
            (built.checkout / "adapters", PurePosixPath("lime_guarantee/adapters")),
        ]
        for path in folder.rglob("*.py")
    }
    assert {str(module) for module in modules} <= names
    assert "lime_guarantee/py.typed" in names
    assets = {path.name for path in (built.checkout / "lime_guarantee/views/html/assets").iterdir()}
    assert {f"lime_guarantee/views/html/assets/{asset}" for asset in assets} <= names
    assert len(assets) == 13


def test_the_wheel_holds_nothing_else(names):
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"lime_guarantee"}
    folders = {part for name in names for part in PurePosixPath(name).parent.parts}
    assert not folders & {"tests", "benchmarks", "notebooks"}


def test_the_runtime_requirements_are_few(metadata):
    requirements = runtime_requirements(metadata.get_all("Requires-Dist"))
    assert requirements == {
        "cattrs",
        "cloudpickle",
        "joblib",
        "numba",
        "numpy",
        "scikit-learn",
        "scipy",
        "threadpoolctl",
    }


def test_the_extras_exist(metadata):
    assert {"lime", "shap", "plot", "all", "test", "dev"} <= set(metadata.get_all("Provides-Extra"))


def test_every_module_works_without_the_optional_packages(bare, names, tmp_path):
    modules = sorted(
        name.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        for name in names
        if name.endswith(".py") and name != "lime_guarantee/auto.py"  # which is there to patch them
    )
    code = f"""
import importlib, importlib.util, sys
for module in {modules}:
    importlib.import_module(module)
print([name for name in {OPTIONAL} if name in sys.modules])
print([name for name in {[*OPTIONAL, "adapters"]} if importlib.util.find_spec(name)])
print(sys.modules["lime_guarantee"].__file__)
"""
    imported, importable, file = run(bare.python, "-c", code, cwd=tmp_path).splitlines()
    assert imported == "[]"
    assert importable == "[]"
    assert bare.site_packages in Path(file).parents


def test_a_page_is_made_of_what_is_installed(bare, tmp_path):
    code = """
from lime_guarantee import Domain, find_region
region = find_region(lambda X: X[:, 0] < 2, [0.5], Domain.from_bounds([0], [1]), purity=0.9, random_state=0)
print(len(region.to_html("region.html")) > 10_000, "Certified" in region._repr_html_())
"""
    assert run(bare.python, "-c", code, cwd=tmp_path) == "True True"


@pytest.mark.parametrize("place", [".", "notebooks"])
def test_the_adapters_are_found_from_a_checkout(built, bare, place):
    cwd = built.checkout / place
    code = """
import lime_guarantee, lime_guarantee.adapters
print(lime_guarantee.__file__, lime_guarantee.adapters.__file__, sep="\\n")
"""
    package, adapters = (Path(file).parent for file in run(bare.python, "-c", code, cwd=cwd).splitlines())
    if place == ".":
        assert (package, adapters) == (cwd / "lime_guarantee", cwd / "adapters")
    else:
        assert package == bare.site_packages / "lime_guarantee"
        assert adapters == package / "adapters"


@pytest.mark.parametrize("place", [".", "notebooks"])
def test_the_command_runs_from_a_checkout(built, bare, metadata, place):
    cwd = built.checkout / place
    printed = run(bare.python, "-m", "lime_guarantee", "--version", cwd=cwd)
    assert printed == f"lime-guarantee {metadata['Version']}"


def test_without_an_explanation_library_install_says_what_to_install(bare, tmp_path):
    code = """
import lime_guarantee
for call in (lime_guarantee.install, lambda: __import__("lime_guarantee.auto")):
    try:
        call()
    except ModuleNotFoundError as error:
        print(error, lime_guarantee.is_installed())
"""
    said = run(bare.python, "-c", code, cwd=tmp_path).splitlines()
    assert len(said) == 2
    assert all("pip install 'lime-guarantee[lime]' or 'lime-guarantee[shap]' False" in line for line in said)
