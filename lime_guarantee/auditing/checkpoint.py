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
from lime_guarantee.auditing.record import VERDICTS, AuditRecord
from lime_guarantee.auditing.stored import Scanned, scan
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
        self.finished: frozenset[int] = frozenset()
        """The explanations that are done; those that ended in an error are not."""
        self._file: IO[str] | None = None

    def __enter__(self) -> Checkpoint:
        known = self._known()
        if known is not None:
            done = known.records.codes != VERDICTS.index("error")
            self.finished = frozenset(known.places[done].tolist())
        self._file = self.path.open("a", encoding="utf-8")
        if known is None:
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
        """Write a record; when this returns, it is on the disk."""
        self._write(record.to_dict())

    def _write(self, data: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(data, allow_nan=False) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _known(self) -> Scanned | None:
        """What the file holds, if it is about the same; what was cut off at its end is taken away."""
        if not self.path.exists():
            return None
        known = scan(self.path)
        if known.size < self.path.stat().st_size:
            with self.path.open("r+b") as file:
                file.truncate(known.size)
        if known.about is None:
            return None
        different = differences(known.about, self.about)
        if different:
            raise InvalidInputError(
                f"checkpoint: {self.path} belongs to another audit: {', '.join(different)} differ. Give "
                "another file, or the same model, explainer, arguments and random_state as before."
            )
        return known
