"""The errors of heads, measured with proved bounds."""

from __future__ import annotations

import math

import numpy as np
from flint import arb

from certattn.fast.attention import Moments
from certattn.fast.heads import attended
from certattn.fast.output_errors import OutputErrors
from certattn.fast.units import Floats
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention.attention_error import FORMATS
from certattn.testing.arrays import Numbers
from certattn.testing.errors import AttentionError, Enclosed, Entry, HeadError
from certattn.testing.heads import Heads

_INFINITE = Enclosed(math.inf, math.inf)
_BASES = ("e", "2")
# For the logarithms.
_BITS = 96


def measured(heads: Heads, lse: Numbers | None, base: str) -> AttentionError:
    """The errors of every head. Raises UsageError and Binary64Error."""
    logarithms = None if lse is None else _logarithms(heads, lse, base)
    found, not_finite = [], 0
    for batch, head in heads.places():
        moments = attended(heads.head(batch, head))
        output = heads.output[batch, head]
        bad = ~np.isfinite(output)
        count = int(bad.sum())
        not_finite += count
        # Where there is no number the exact value stands in, for the measures of the others.
        errors = OutputErrors.of(np.where(bad, moments.means.middle, output) if count else output, moments.means)
        off = None if logarithms is None else _lse_error(logarithms[batch, head], moments, base)
        found.append(_head_error(batch, head, output, errors, heads.dtype, off, bad if count else None))
    batches, count = heads.shape
    return AttentionError(heads.dtype, (batches, count, *heads.output.shape[2:]), found, not_finite)


def _head_error(
    batch: int, head: int, output: Floats, errors: OutputErrors, dtype: str, lse: Enclosed | None, bad: Floats | None
) -> HeadError:
    row, column = errors.worst() if bad is None else divmod(int(bad.argmax()), bad.shape[1])
    middle, radius = errors.means.middle[row, column].item(), errors.means.radius[row, column].item()
    exact = Enclosed(math.nextafter(middle - radius, -math.inf), math.nextafter(middle + radius, math.inf))
    worst = Entry(batch, head, row, column, output[row, column].item(), exact)
    known = dtype in FORMATS
    if bad is not None:
        return HeadError(batch, head, _INFINITE, _INFINITE, _INFINITE if known else None, _INFINITE, worst, lse)
    ulps = Enclosed.of(errors.ulps(*FORMATS[dtype])) if known else None
    square = errors.mean_square()
    rms = Enclosed(math.sqrt(square.low) * (1 - 2.0**-50), math.sqrt(square.high) * (1 + 2.0**-50))
    return HeadError(batch, head, Enclosed.of(errors.largest()), Enclosed.of(errors.relative()), ulps, rms, worst, lse)


def _logarithms(heads: Heads, lse: Numbers, base: str) -> Floats:
    if base not in _BASES:
        raise UsageError(f"lse_base is {base!r}, expected one of {', '.join(_BASES)}")
    wanted = heads.queries.shape[:3]
    stated = lse.doubles().reshape(lse.shape)
    if stated.size != math.prod(wanted) or stated.shape[-1] != wanted[2]:
        raise UsageError(f"lse has the shape {lse.shape}, expected {wanted}: a number for each query")
    return stated.reshape(wanted)


def _lse_error(stated: Floats, moments: Moments, base: str) -> Enclosed:
    largest = [0.0, 0.0]
    with working_precision(_BITS):
        unit = arb(2).log() if base == "2" else arb(1)
        for query, value in enumerate(stated.tolist()):
            if not math.isfinite(value):
                return _INFINITE
            off = abs(moments.log_normaliser(query) / unit - arb(value))
            ends = float(off.abs_lower()), float(off.abs_upper())
            largest = [max(pair) for pair in zip(largest, ends, strict=True)]
    return Enclosed(largest[0] * (1 - 2.0**-50), largest[1] * (1 + 2.0**-50))
