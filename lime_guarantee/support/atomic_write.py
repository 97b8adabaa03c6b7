"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new file beside `path`, which takes its place when the block ends well, and goes when it does not.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "page.html"
    >>> with replacing(target) as part:
    ...     _ = part.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    target = Path(path)
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
