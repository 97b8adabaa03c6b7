"""Load a model that the command line names: an import path, a skops, ONNX or, if trusted, pickle file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from lime_guarantee.cli.onnx_model import load_onnx
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.imports import require

PICKLES = (".joblib", ".pkl", ".pickle")

KNOWN_TYPES = ("sklearn.tree._tree.Tree",)
"""What skops leaves to the user to trust, and every scikit-learn forest holds."""


def load_model(name: str, *, trust_pickle: bool = False, trust_types: Sequence[str] = ()) -> Any:
    """The model that a name stands for.

    Parameters
    ----------
    name : str
        ``module:attribute``, or the path of a ``.skops``, ``.onnx``, ``.joblib`` or ``.pkl`` file.
    trust_pickle : bool
        Whether to unpickle, which runs whatever code the file holds.
    trust_types : sequence of str
        Types in a skops file that are trusted besides those that skops knows.
    """
    suffix = Path(name).suffix
    if suffix == ".skops":
        return _load_skops(Path(name), [*KNOWN_TYPES, *trust_types])
    if suffix == ".onnx":
        return load_onnx(_existing(Path(name)))
    if suffix in PICKLES:
        if not trust_pickle:
            raise InvalidInputError(
                f"--model: {name} is a pickle, and unpickling runs whatever code it holds. If you trust "
                "where it came from, add --trust-pickle; else save the model with skops or as ONNX (safe), "
                "or give module:callable."
            )
        return _load_pickle(_existing(Path(name)))
    if ":" not in name:
        raise InvalidInputError(
            f"--model: module:callable, or a .skops, .onnx, .joblib or .pkl file, is required; got {name!r}."
        )
    return import_by_name(name, "--model")


def import_by_name(name: str, option: str) -> Any:
    """What ``module:attribute`` stands for; the module may lie beside the caller, as for `python -m`."""
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module may do anything when it is imported
        kind = "" if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: "
        raise InvalidInputError(f"{option}: {name} cannot be imported: {kind}{error}.") from error
    return found


def _load_pickle(path: Path) -> Any:
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:
        raise InvalidInputError(
            f"--model: {path} cannot be opened ({type(error).__name__}: {error}). It may be damaged, or made "
            "with packages or versions that are not installed here; save the model anew."
        ) from error


def _load_skops(path: Path, trusted: list[str]) -> Any:
    io = require("skops.io", "a .skops model", extra="cli")
    try:
        found = io.get_untrusted_types(file=_existing(path))
    except (BadZipFile, KeyError, ValueError) as error:
        raise InvalidInputError(
            f"--model: {path} is no skops file ({error}). Save the model with "
            f"skops.io.dump(model, {path.name!r})."
        ) from error
    unknown = [name for name in found if name not in trusted]
    if unknown:
        raise InvalidInputError(
            f"--model: {path} holds types that skops does not know to be safe: {', '.join(unknown)}. If you "
            "trust them, add --trust-type with each of their names."
        )
    return io.load(path, trusted=found)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InvalidInputError(f"--model: there is no file {path}.")
    return path
