"""Ctrl-C at a moment when nothing can be left behind; signals in a worker."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


def end_with_parent(pipe: int) -> None:
    """Signals end this process, a worker, as ever, but for Ctrl-C: the parent decides what that means.

    Where the system can, the end of the parent ends it too: SIGIO comes when nobody is left to read
    from `pipe`, as it does after `kill -9`.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGIO):
        signal.signal(name, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
