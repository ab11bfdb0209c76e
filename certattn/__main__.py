"""The program `certattn`, which is also `python -m certattn`: Ctrl-C never shows a traceback.

Most of the start is spent on imports. Until the command line can deal with Ctrl-C itself, a handler
stands in that needs nothing.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import FrameType


def main() -> None:
    """Run the command line as the program of this process and exit."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # it may be ignored, and stays so
    if heard:
        signal.signal(signal.SIGINT, _leave)
    # A library that was loaded with the interpreter may have left another floating-point environment.
    from certattn.kernel.decide.floating_point import set_default

    set_default()
    from certattn.cli.main import main as command_line

    try:
        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        command_line()
    except KeyboardInterrupt:
        _leave(signal.SIGINT)


def _leave(number: int, frame: FrameType | None = None) -> None:
    with suppress(OSError):
        os.write(2, b"certattn: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
