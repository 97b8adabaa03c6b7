"""Packages that are only needed by some functions."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(package: str, caller: str, *, extra: str) -> Any:
    """Import an optional package, or say who needs it and how to get it."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{caller} needs {package}, which is not installed. "
            f"Install it with: pip install 'lime-guarantee[{extra}]'",
            name=error.name,
        ) from error
