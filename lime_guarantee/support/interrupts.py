"""Ctrl-C that is not lost.

Python raises KeyboardInterrupt wherever it happens to be. In a callback from C, or while an object is
deleted, it is printed and forgotten, and a long run goes on as if nothing had been pressed.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def heeded() -> Iterator[Callable[[], None]]:
    """Give a function that raises KeyboardInterrupt if Ctrl-C was pressed, and it was lost.

    Only the main thread hears of signals; elsewhere, and where nobody listens, nothing is changed.
    """
    before, unraisable = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield lambda: None
        return
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        before(number, frame)

    def look_again() -> None:
        if pressed:
            raise KeyboardInterrupt

    def tell(lost: Any) -> None:
        if not (pressed and lost.exc_type is KeyboardInterrupt):  # that one is raised again
            unraisable(lost)

    signal.signal(signal.SIGINT, note)
    sys.unraisablehook = tell
    try:
        yield look_again
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = unraisable
