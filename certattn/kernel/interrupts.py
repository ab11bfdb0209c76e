"""Ctrl-C at a moment when nothing can be left behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Signals that end a program wait until the block is done.

    Handlers are put off rather than signals blocked: Python runs them in the main thread only,
    whichever thread the system gave the signal to.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    put_off = [number for number, handler in handlers.items() if callable(handler)]
    try:
        for number in put_off:
            signal.signal(number, lambda number, frame: came.append((number, frame)))
        yield
    finally:
        for number in reversed(put_off):
            signal.signal(number, handlers[number])
    for first, frame in came[:1]:
        handler = handlers[signal.Signals(first)]
        if callable(handler):
            handler(first, frame)
