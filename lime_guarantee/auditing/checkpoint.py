"""A file of finished records that survives being cut off at any moment: JSON Lines, one flushed at a time.

The first line says what is being audited: rows, model, explainer, version, arguments; a run that resumes must
be about the same. A last line that was cut off while it was written is dropped, and its row done again. Rows
that ended in an error are done again, too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from lime_guarantee.auditing.fingerprint import differences
from lime_guarantee.auditing.record import AuditRecord
from lime_guarantee.errors import InvalidInputError


class Checkpoint:
    """Records on disk.

    Parameters
    ----------
    path : path
        Created if it is not there; else it is read, and added to.
    about : dict
        What is being audited, in types that JSON has.
    """

    def __init__(self, path: str | os.PathLike[str], about: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self.about = json.loads(json.dumps(about))
        self.records: dict[int, AuditRecord] = {}
        self._file: IO[str] | None = None

    def __enter__(self) -> Checkpoint:
        lines = self._whole_lines()
        if lines:
            self._check_head(lines[0])
            for number, line in enumerate(lines[1:], start=2):
                record = AuditRecord.from_dict(self._read(line, number))
                self.records[record.index] = record  # of a row that was tried again, the last one counts
            self.records = {i: one for i, one in self.records.items() if one.verdict != "error"}
        self._file = self.path.open("a", encoding="utf-8")
        if not lines:
            self._write(self.about)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._file is not None
        self._file.close()

    def add(self, record: AuditRecord) -> None:
        """Keep a record; when this returns, it is on the disk."""
        self.records[record.index] = record
        self._write(record.to_dict())

    def _write(self, data: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(data, allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _whole_lines(self) -> list[str]:
        """The lines that end; what follows the last of them was cut off, and is taken away."""
        if not self.path.exists():
            return []
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        return whole.decode("utf-8").splitlines()

    def _check_head(self, line: str) -> None:
        found = self._read(line, 1)
        different = differences(found, self.about)
        if different:
            raise InvalidInputError(
                f"checkpoint: {self.path} belongs to another audit: {', '.join(different)} differ. Give "
                "another file, or the same model, explainer, arguments and random_state as before."
            )

    def _read(self, line: str, number: int) -> dict[str, Any]:
        try:
            data: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise InvalidInputError(
                f"checkpoint: line {number} of {self.path} is not JSON ({error}). The file was changed by "
                "something else; give another one."
            ) from error
        return data
