"""What provers of statements about spectra share: the order of arithmetics, bounds in decimals, and stored hints."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from flint import arb, fmpq

from certattn.kernel.decide.claim import AFTER_BINARY64
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import Binary64Error, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.spectrum.matrix_inputs import StatedMatrix
from certattn.provers.output import write_file
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational

if TYPE_CHECKING:
    from certattn.fast.rows import Dense

T = TypeVar("T")
HINTS = ("recompute", "float32", "float64")


def enclosures(
    matrix: StatedMatrix, in_binary64: Callable[[], T], in_arb: Callable[[int], T]
) -> Iterator[tuple[int, T]]:
    """What the checker's arithmetics enclose, in its order, each with the working precision that goes with it."""
    if matrix.tiers:
        found = None
        with working_precision(AFTER_BINARY64), suppress(Binary64Error):
            found = in_binary64()
        if found is not None:
            yield AFTER_BINARY64, found
    bits, before = DEFAULT_LIMITS.start_bits, 0
    while bits <= DEFAULT_LIMITS.max_bits and matrix.own_bits(bits) != before:
        with working_precision(bits):
            enclosed = in_arb(bits)
        yield bits, enclosed
        bits, before = 2 * bits, matrix.own_bits(bits)


def bounds_around(value: arb | fmpq, digits: int) -> dict[str, Plain]:
    """at_least and at_most of a number >= 0, as decimals of so many digits. Raises NotProvedError."""
    low, high = (value, value) if isinstance(value, fmpq) else (lower_rational(value), upper_rational(value))
    return {
        "at_least": format_rational(round_down(max(fmpq(0), low), digits)),
        "at_most": format_rational(round_up(high, digits)),
    }


def require_hint(kind: str) -> None:
    """Raises UsageError for what is none of HINTS."""
    if kind not in HINTS:
        raise UsageError(f"hint is {kind!r}, expected one of {', '.join(HINTS)}")


@contextmanager
def stored_hint(out: Path, matrix: StatedMatrix, kind: str, dense: Callable[[], Dense]) -> Iterator[dict[str, Plain]]:
    """The witness, whose arrays are in a file beside the certificate; removed again if the block raises.

    dense: the matrix in doubles.
    """
    if kind == "recompute":
        yield {}
        return
    if not matrix.tiers:
        raise UsageError("a hint is for a matrix in array files of floats, or of integers up to 32 bits; leave it out")
    import numpy as np

    left, values, right = np.linalg.svd(dense().values, full_matrices=False)
    arrays: dict[str, Any] = {"U": left.astype(kind), "s": values, "V": np.ascontiguousarray(right.T.astype(kind))}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    target, content = out.parent / f"{out.stem}-hint.npz", buffer.getvalue()
    if target.exists() and (not target.is_file() or target.read_bytes() != content):
        raise UsageError(f"{target} exists with other content; move it away, or choose another name for -o")
    there = target.exists()
    if not there:
        write_file(target, content)
    digest = hashlib.sha256(content).hexdigest()
    try:
        yield {"hint": {name: _reference(target, name, digest, array) for name, array in arrays.items()}}
    except BaseException:
        if not there:
            target.unlink(missing_ok=True)
        raise


def _reference(target: Path, name: str, digest: str, array: Any) -> Plain:
    shape: list[Plain] = [str(extent) for extent in array.shape]
    return {"file": target.name, "array": name, "sha256": digest, "dtype": array.dtype.name, "shape": shape}
