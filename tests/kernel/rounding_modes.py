"""Setting the rounding mode and the treatment of subnormal numbers of the current thread."""

from __future__ import annotations

import ctypes
import ctypes.util
import platform
from collections.abc import Iterator
from contextlib import contextmanager

# FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO of <fenv.h>.
_MODES = {
    "x86_64": {"down": 0x400, "up": 0x800, "to zero": 0xC00},
    "aarch64": {"down": 0x800000, "up": 0x400000, "to zero": 0xC00000},
    "arm64": {"down": 0x800000, "up": 0x400000, "to zero": 0xC00000},
}
MODES = ("down", "up", "to zero")
_libm = ctypes.CDLL(ctypes.util.find_library("m"))


def set_rounding(mode: str) -> None:
    """Until this thread sets another; threads that it starts inherit it."""
    assert _libm.fesetround(_MODES[platform.machine()][mode]) == 0


@contextmanager
def rounding(mode: str) -> Iterator[None]:
    before = _libm.fegetround()
    set_rounding(mode)
    try:
        yield
    finally:
        _libm.fesetround(before)


@contextmanager
def flushing_subnormals() -> Iterator[None]:
    """Subnormal operands and results count as zero, on x86-64 and ARM."""
    environment = (ctypes.c_uint32 * 64)()
    assert _libm.fegetenv(environment) == 0
    changed = (ctypes.c_uint32 * 64)(*environment)
    if platform.machine() == "x86_64":
        # 28 bytes of the x87 environment, then MXCSR: flush to zero, denormals are zero.
        changed[7] |= 1 << 15 | 1 << 6
    else:
        # The control register: flush to zero.
        changed[0] |= 1 << 24
    _libm.fesetenv(changed)
    try:
        yield
    finally:
        _libm.fesetenv(environment)
