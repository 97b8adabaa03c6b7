"""What all workers need is sent to each of them once: model, explainer, data.

Processes of this machine read it from a file. A dask cluster makes it a task, whose result travels from
worker to worker, and which is done again if the workers that had it are lost. Ray has a store for it.
"""

from __future__ import annotations

import io
import pickle
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import cloudpickle

from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.imports import require

_kept: dict[str, Any] = {}  # in a worker: what it was sent last, by its key


def _library(backend: Any) -> str:
    return type(backend).__module__.partition(".")[0]


@contextmanager
def sharing(thing: Any, backend: Any) -> Iterator[tuple[str, Any]]:
    """A key and a small reference, which workers of joblib's backend turn into the thing with `received`.

    Dask puts the content in the place of its reference before a worker sees it.
    """
    content, key = packed(thing), uuid4().hex
    if _library(backend) == "ray":
        yield key, require("ray", "a Ray cluster", extra="all").put(content)
    elif hasattr(backend, "client"):  # dask's
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the model is large
            future = backend.client.submit(bytes, content, key=f"lime-guarantee-{key}")
        yield key, future
    elif _library(backend) == "joblib":
        with tempfile.TemporaryDirectory(prefix="lime-guarantee-") as folder:
            path = Path(folder) / key
            path.write_bytes(content)
            yield key, path
    else:
        yield key, content


def received(key: str, reference: Any) -> Any:
    """In a worker: what was shared, unpacked once for all that the worker is given."""
    thing = _kept.get(key)
    if thing is None:
        thing = pickle.loads(_content(reference))
        _kept.clear()
        _kept[key] = thing
    return thing


def _content(reference: Any) -> bytes:
    if isinstance(reference, Path):
        return reference.read_bytes()
    if isinstance(reference, bytes):
        return reference
    if hasattr(reference, "result"):  # dask's, if one worker is left: joblib works here then
        content: bytes = reference.result()
    else:
        content = require("ray", "a Ray cluster", extra="all").get(reference)
    return content


def packed(thing: Any, known: Sequence[Any] = ()) -> bytes:
    """What a worker is sent, without what is `known` there.

    It is refused here if it cannot be sent, for some clusters would wait for it for ever.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, {id(one): place for place, one in enumerate(known)}).dump(thing)
    except Exception as error:
        raise InvalidInputError(
            f"n_jobs: the model or the explainer cannot be sent to another process ({type(error).__name__}: "
            f"{error}). Use n_jobs=1, or define them at the top of a module."
        ) from error
    return file.getvalue()


def unpacked(content: bytes, known: Sequence[Any] = ()) -> Any:
    """What `packed` wrote, with what is known put in its places."""
    return _Unpickler(io.BytesIO(content), known).load()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Writes the place of an object that the other side has, instead of the object."""

    def __init__(self, file: io.BytesIO, places: Mapping[int, int]) -> None:
        super().__init__(file)
        self.places = places

    def persistent_id(self, obj: Any) -> int | None:
        return self.places.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """Puts an object that is known here in its place."""

    def __init__(self, file: io.BytesIO, known: Sequence[Any]) -> None:
        super().__init__(file)
        self.known = known

    def persistent_load(self, pid: int) -> Any:
        return self.known[pid]
