"""The errors of heads, measured with proved bounds."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from flint import arb
from numpy.typing import NDArray

from certattn.fast.attention import Moments
from certattn.fast.exponential import relative_error
from certattn.fast.heads import Head, attended
from certattn.fast.output_errors import OutputErrors
from certattn.fast.sums import processors
from certattn.fast.units import Floats
from certattn.kernel.decide.floating_point import set_default
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
    places, threads = list(heads.places()), processors()
    if len(places) < threads:
        found = [_of_head(heads, *place, attended(heads.head(*place))) for place in places]
    else:
        # What Arb proves, whose precision is one for all threads, and what they share, is made before they begin.
        relative_error()
        each = [heads.head(*place) for place in places]
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(lambda place, head: _in_thread(heads, place, head), places, each))
    errors = []
    for (batch, head), (error, moments) in zip(places, found, strict=True):
        lse_error = None if logarithms is None else _lse_error(logarithms[batch, head], moments, base)
        errors.append(replace(error, lse=lse_error))
    not_finite = int((~np.isfinite(heads.output)).sum())
    return AttentionError(heads.dtype, (*heads.shape, *heads.output.shape[2:]), errors, not_finite)


def _in_thread(heads: Heads, place: tuple[int, int], head: Head) -> tuple[HeadError, Moments]:
    # Threads inherit how the one that starts them rounds, which may not be the one that was tried.
    set_default()
    return _of_head(heads, *place, attended(head, threads=1))


@np.errstate(all="ignore")
def _of_head(heads: Heads, batch: int, head: int, moments: Moments) -> tuple[HeadError, Moments]:
    output = heads.output[batch, head]
    bad = ~np.isfinite(output)
    # Where there is no number the exact value stands in, for the measures of the others.
    there = np.where(bad, moments.means.middle, output) if bad.any() else output
    errors = OutputErrors.of(there, moments.means)
    return _head_error(batch, head, output, errors, heads.dtype, bad if bad.any() else None), moments


def _head_error(
    batch: int, head: int, output: Floats, errors: OutputErrors, dtype: str, bad: NDArray[np.bool_] | None
) -> HeadError:
    row, column = errors.worst() if bad is None else divmod(int(bad.argmax()), bad.shape[1])
    middle, radius = errors.means.middle[row, column].item(), errors.means.radius[row, column].item()
    exact = Enclosed(math.nextafter(middle - radius, -math.inf), math.nextafter(middle + radius, math.inf))
    worst = Entry(batch, head, row, column, output[row, column].item(), exact)
    known = dtype in FORMATS
    if bad is not None:
        return HeadError(batch, head, _INFINITE, _INFINITE, _INFINITE if known else None, _INFINITE, worst)
    ulps = Enclosed.of(errors.ulps(*FORMATS[dtype])) if known else None
    square = errors.mean_square()
    rms = Enclosed(math.sqrt(square.low) * (1 - 2.0**-50), math.sqrt(square.high) * (1 + 2.0**-50))
    return HeadError(batch, head, Enclosed.of(errors.largest()), Enclosed.of(errors.relative()), ulps, rms, worst)


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
            if math.isinf(moments.normaliser.radius[query].item()):
                continue  # it sees nothing, and log Z is no number
            if not math.isfinite(value):
                return _INFINITE
            off = abs(moments.log_normaliser(query) / unit - arb(value))
            ends = float(off.abs_lower()), float(off.abs_upper())
            largest = [max(pair) for pair in zip(largest, ends, strict=True)]
    return Enclosed(largest[0] * (1 - 2.0**-50), largest[1] * (1 + 2.0**-50))
