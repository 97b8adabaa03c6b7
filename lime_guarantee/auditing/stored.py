"""Records that stay in their file: of an audit of many explanations, one is read when it is asked for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, overload

import numpy as np

from lime_guarantee.auditing.record import VERDICTS, AuditRecord
from lime_guarantee.errors import InvalidInputError
from lime_guarantee.support.arrays import AnyArray

HEAD = re.compile(rb'\{"index": (\d+), "verdict": "([a-z-]+)", ')
"""How the line of a record begins, so that most of it need not be read to know its place and its verdict."""


@dataclass(frozen=True, eq=False)
class StoredRecords(Sequence[AuditRecord]):
    """Records in a checkpoint, by place; they look like a tuple of records.

    Parameters
    ----------
    path : Path
    offsets : array of int
        Where the line of each record begins.
    codes : array of int
        The verdict of each, by its place in `VERDICTS`.
    """

    path: Path
    offsets: AnyArray
    codes: AnyArray

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every record, without reading it."""
        return [VERDICTS[code] for code in self.codes.tolist()]

    def chosen(self, places: Sequence[int]) -> StoredRecords:
        """Some of the records, in the order of these places."""
        order = np.asarray(places, dtype=np.int64)
        return StoredRecords(self.path, self.offsets[order], self.codes[order])

    def lines(self) -> Iterator[str]:
        """The records as JSON, as `json.dumps` of their dictionaries writes it."""
        with self.path.open("rb") as file:
            for offset in self.offsets.tolist():
                yield _line_at(file, offset)

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[AuditRecord]:
        return (self._record(line) for line in self.lines())

    @overload
    def __getitem__(self, place: int) -> AuditRecord: ...
    @overload
    def __getitem__(self, place: slice) -> StoredRecords: ...
    def __getitem__(self, place: int | slice) -> AuditRecord | StoredRecords:
        if isinstance(place, slice):
            return StoredRecords(self.path, self.offsets[place], self.codes[place])
        with self.path.open("rb") as file:
            return self._record(_line_at(file, int(self.offsets[place])))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return NotImplemented if not isinstance(other, Sequence) else False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _record(self, line: str) -> AuditRecord:
        return AuditRecord.from_dict(parsed(line, self.path))


@dataclass(frozen=True)
class Scanned:
    """What a checkpoint holds.

    Parameters
    ----------
    about : dict or None
        Its first line; None if there is none.
    records : StoredRecords
        The last one of every explanation, in their order.
    places : tuple of int
        The explanations that have one.
    size : int
        Bytes of the lines that are whole.
    """

    about: dict[str, Any] | None
    records: StoredRecords
    places: AnyArray
    size: int


def scan(path: str | os.PathLike[str]) -> Scanned:
    """Look through a checkpoint, line by line; what was cut off at its end does not count."""
    path = Path(path)
    about: dict[str, Any] | None = None
    found: dict[int, tuple[int, int]] = {}
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            if number == 1:
                about = parsed(line.decode("utf-8"), path, number)
            else:
                index, code = _head(line, path, number)
                found[index] = offset, code  # of a row that was tried again, the last one counts
            offset += len(line)
    places = np.array(sorted(found), dtype=np.int64)
    pairs = np.array([found[place] for place in places.tolist()], dtype=np.int64).reshape(-1, 2)
    return Scanned(about, StoredRecords(path, pairs[:, 0], pairs[:, 1]), places, offset)


def parsed(line: str, path: Path, number: int | None = None) -> dict[str, Any]:
    """A line as JSON, or the error."""
    try:
        data: dict[str, Any] = json.loads(line)
    except ValueError as error:
        which = "a line" if number is None else f"line {number}"
        raise InvalidInputError(
            f"checkpoint: {which} of {path} is not JSON ({error}). The file was changed by something else; "
            "give another one."
        ) from error
    return data


def _head(line: bytes, path: Path, number: int) -> tuple[int, int]:
    """The place of a record, and the place of its verdict among all verdicts."""
    begins = HEAD.match(line)
    if begins is None or not line.endswith(b"}\n"):
        data = parsed(line.decode("utf-8"), path, number)
        return int(data["index"]), VERDICTS.index(data["verdict"])
    return int(begins[1]), VERDICTS.index(begins[2].decode())


def _line_at(file: IO[bytes], offset: int) -> str:
    file.seek(offset)
    return file.readline().decode("utf-8").rstrip("\n")
