"""The floating-point environment of this thread: set to the default, then proved to be it.

A library that was loaded before may have left a thread rounding upward, or (when it was linked with
-ffast-math) taking subnormal numbers for zero; threads and processes that are started inherit it. Both
binary64 and the radii of Arb's balls are proved for rounding to nearest with subnormal numbers kept. So C's
`fesetenv` restores the default, and trials say whether it holds: operands and results are bit patterns, as
a number that is computed, converted or compared under another environment may be another number.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from os import uname

from certattn.kernel.errors import GuardError

try:
    import ctypes
except ImportError:  # a Python that was built without it
    ctypes = None  # type: ignore[assignment]

# More than the environment has on any system.
_ENVIRONMENT_BYTES = 512
# FE_DFL_ENV of <fenv.h> is this address where it is not that of a symbol: glibc and musl on these processors.
_DEFAULT = -1
_MACHINES = ("x86_64", "aarch64")
_SYMBOLS = ("_FE_DFL_ENV", "__fe_dfl_env")

_ONE, _ABOVE_ONE, _TWO_ABOVE_ONE = 0x3FF << 52, (0x3FF << 52) + 1, (0x3FF << 52) + 2
_HALF, _LEAST_NORMAL, _LEAST, _NEGATIVE = 0x3FE << 52, 1 << 52, 1, 1 << 63
# 2^-53, half of the unit in the last place of 1, and the next number above it.
_TIE, _ABOVE_TIE = (0x3FF - 53) << 52, ((0x3FF - 53) << 52) + 1
_ROUNDING = "does not round to nearest"
_FLUSHING = "flushes subnormal numbers to zero"
# first (operation) second = result, and what is wrong where it is not.
_TRIALS = (
    (_ONE, "+", _TIE, _ONE, _ROUNDING),
    (_ABOVE_ONE, "+", _TIE, _TWO_ABOVE_ONE, _ROUNDING),
    (_ONE, "+", _ABOVE_TIE, _ABOVE_ONE, _ROUNDING),
    (_ONE | _NEGATIVE, "+", _TIE | _NEGATIVE, _ONE | _NEGATIVE, _ROUNDING),
    (_ONE | _NEGATIVE, "+", _ABOVE_TIE | _NEGATIVE, _ABOVE_ONE | _NEGATIVE, _ROUNDING),
    (_ABOVE_ONE, "*", _ABOVE_ONE, _TWO_ABOVE_ONE, _ROUNDING),
    (_ABOVE_ONE | _NEGATIVE, "*", _ABOVE_ONE, _TWO_ABOVE_ONE | _NEGATIVE, _ROUNDING),
    (_LEAST, "*", _ONE, _LEAST, _FLUSHING),
    (_LEAST, "+", _LEAST, 2 * _LEAST, _FLUSHING),
    (_LEAST_NORMAL, "*", _HALF, _LEAST_NORMAL // 2, _FLUSHING),
)


@contextmanager
def default_floating_point() -> Iterator[None]:
    """The default environment inside the block, proved at both ends; afterwards that of before.

    Raises GuardError where it cannot be had, or where something has changed it meanwhile.
    """
    library = _library()
    before = ctypes.create_string_buffer(_ENVIRONMENT_BYTES) if library is not None else None
    if library is not None:
        library.fegetenv(before)
    try:
        set_default()
        require_default()
        yield
        require_default()
    finally:
        if library is not None:
            library.fesetenv(before)


def set_default() -> None:
    """Restore the default in this thread, where the system's library of C can be asked to."""
    library = _library()
    if library is not None:
        library.fesetenv(_default_environment(library))


def require_default() -> None:
    """Raises GuardError where this thread rounds in another way or loses subnormal numbers."""
    for first, operation, second, expected, wrong in _TRIALS:
        x, y = _number(first), _number(second)
        result = x + y if operation == "+" else x * y
        if struct.unpack("=Q", struct.pack("=d", result))[0] != expected:
            raise GuardError(f"this thread {wrong}")


def _number(bits: int) -> float:
    number: float
    (number,) = struct.unpack("=d", struct.pack("=Q", bits))
    return number


@cache
def _library() -> ctypes.CDLL | None:
    """The functions of <fenv.h>; None where they, or the default, are not to be found."""
    if ctypes is None:
        return None
    for name in (None, "libm.so.6"):
        try:
            library = ctypes.CDLL(name)
            library.fegetenv, library.fesetenv  # noqa: B018 - AttributeError where there are none
        except (OSError, AttributeError):
            continue
        return library if _default_environment(library) is not None else None
    return None


def _default_environment(library: ctypes.CDLL) -> ctypes.c_void_p | None:
    for symbol in _SYMBOLS:
        try:
            return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(library, symbol)))
        except ValueError:
            continue
    return ctypes.c_void_p(_DEFAULT) if sys.platform == "linux" and uname().machine in _MACHINES else None
