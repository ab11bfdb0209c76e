"""The errors of heads, measured with proved bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
from flint import arb
from numpy.typing import NDArray

from certattn.fast.attention import Moments
from certattn.fast.balls import Ball
from certattn.fast.exponential import relative_error
from certattn.fast.heads import Head, attended
from certattn.fast.output_errors import Interval, OutputErrors
from certattn.fast.sums import processors
from certattn.fast.units import Floats
from certattn.kernel.decide.floating_point import set_default
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention.attention_error import FORMATS
from certattn.testing.arrays import Numbers
from certattn.testing.errors import AttentionError, Enclosed, Entry, HeadError
from certattn.testing.heads import Heads

Place = tuple[int, int]
Bad = NDArray[np.bool_]
Told = Callable[[int, int, int, OutputErrors, Bad | None], None]

_INFINITE = Enclosed(math.inf, math.inf)
_BASES = ("e", "2")
# For the logarithms.
_BITS = 96


def nothing(output: int, batch: int, head: int, errors: OutputErrors, bad: Bad | None) -> None:
    """What is done with the errors of a head where they are wanted in total only."""


def measured(
    heads: Heads, lse: Numbers | None, base: str, others: Sequence[Heads] = (), told: Told = nothing
) -> list[AttentionError]:
    """The errors of every head, and of the same heads with other outputs. Raises UsageError and Binary64Error.

    told : is called with the errors of each output (0, and then those of `others`) and head as they are found, and with
        where they are unknown because there is no number; by several threads at once.
    """
    logarithms = None if lse is None else _logarithms(heads, lse, base)
    outputs = [heads, *others]
    places, threads = list(heads.places()), processors()

    def of(place: Place, head: Head, threads: int = 0) -> tuple[list[HeadError], Moments, Bad]:
        moments = attended(head, threads=threads)
        found = [_of_head(each, *place, moments, partial(told, index, *place)) for index, each in enumerate(outputs)]
        return found, moments, head.without_weights

    def in_thread(place: Place, head: Head) -> tuple[list[HeadError], Moments, Bad]:
        # Threads inherit how the one that starts them rounds, which may not be the one that was tried.
        set_default()
        return of(place, head, 1)

    if len(places) < threads:
        found = [of(place, heads.head(*place)) for place in places]
    else:
        # What Arb proves, whose precision is one for all threads, and what they share, is made before they begin.
        relative_error()
        each = [heads.head(*place) for place in places]
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(in_thread, places, each))
    if logarithms is not None:
        for (batch, head), (errors, moments, nothing_seen) in zip(places, found, strict=True):
            lse_error, query = _lse_error(logarithms[batch, head], moments, base, nothing_seen)
            errors[0] = replace(errors[0], lse=lse_error, worst_lse=query)
    by_output = zip(*(errors for errors, *_ in found), strict=True)
    return [_in_total(each, list(errors)) for each, errors in zip(outputs, by_output, strict=True)]


def _in_total(heads: Heads, errors: list[HeadError]) -> AttentionError:
    not_finite = int((~np.isfinite(heads.output)).sum())
    return AttentionError(heads.dtype, (*heads.shape, *heads.output.shape[2:]), errors, not_finite)


@np.errstate(all="ignore")
def _of_head(
    heads: Heads, batch: int, head: int, moments: Moments, told: Callable[[OutputErrors, Bad | None], None]
) -> HeadError:
    output = heads.output[batch, head]
    bad = ~np.isfinite(output)
    # Where there is no number the exact value stands in, for the measures of the others.
    there = np.where(bad, moments.means.middle, output) if bad.any() else output
    errors = OutputErrors.of(there, moments.means)
    unknown = bad if bad.any() else None
    told(errors, unknown)
    return _head_error(batch, head, output, errors, heads.dtype, unknown)


def _head_error(batch: int, head: int, output: Floats, errors: OutputErrors, dtype: str, bad: Bad | None) -> HeadError:
    row, column = errors.worst() if bad is None else divmod(int(bad.argmax()), bad.shape[1])
    middle, radius = errors.means.middle[row, column].item(), errors.means.radius[row, column].item()
    exact = Enclosed(math.nextafter(middle - radius, -math.inf), math.nextafter(middle + radius, math.inf))
    worst = Entry(batch, head, row, column, output[row, column].item(), exact)
    if bad is not None:
        return HeadError(batch, head, _INFINITE, _INFINITE, _INFINITE, _INFINITE, worst)
    ulps = Enclosed.of(errors.ulps(*FORMATS[dtype]))
    return HeadError(
        batch, head, Enclosed.of(errors.largest()), _relative(errors), ulps, _root_mean_square(errors), worst
    )


def _relative(errors: OutputErrors) -> Enclosed:
    """Exact rows that may be 0 have no relative error, and refute nothing; the others have."""
    found = errors.relative()
    if found.high < math.inf:
        return Enclosed.of(found)
    size = np.abs(errors.means.middle)
    rest = (size > errors.means.radius).any(axis=1)
    if not rest.any():
        return Enclosed(0.0, math.inf)
    means = Ball(errors.means.middle[rest], errors.means.radius[rest])
    return replace(Enclosed.of(OutputErrors.of(errors.output[rest], means).relative()), upper=math.inf)


def _root_mean_square(errors: OutputErrors) -> Enclosed:
    try:
        square = errors.mean_square()
    except OverflowError:  # of a sum of finite numbers
        return Enclosed(0.0, math.inf)
    return Enclosed.of(Interval(math.sqrt(square.low) * (1 - 2.0**-50), math.sqrt(square.high) * (1 + 2.0**-50)))


def _logarithms(heads: Heads, lse: Numbers, base: str) -> Floats:
    if base not in _BASES:
        raise UsageError(f"lse_base is {base!r}, expected one of {', '.join(_BASES)}")
    wanted = heads.queries.shape[:3]
    stated = lse.doubles().reshape(lse.shape)
    if stated.size != math.prod(wanted) or stated.shape[-1] != wanted[2]:
        raise UsageError(f"lse has the shape {lse.shape}, expected {wanted}: a number for each query")
    return stated.reshape(wanted)


def _lse_error(stated: Floats, moments: Moments, base: str, nothing_seen: Bad) -> tuple[Enclosed, int | None]:
    """The largest error, and the query that has it, or the first one without a number.

    A query that sees nothing has no log Z, and may have anything; of nothing but such queries nothing is shown.
    """
    bad = np.flatnonzero(~np.isfinite(stated) & ~nothing_seen)
    if len(bad):
        return _INFINITE, int(bad[0])
    each: list[tuple[Enclosed, int]] = []
    with working_precision(_BITS):
        unit = arb(2).log() if base == "2" else arb(1)
        for query in np.flatnonzero(~nothing_seen).tolist():
            off = abs(moments.log_normaliser(query) / unit - arb(stated[query].item()))
            each.append((Enclosed.of(Interval(float(off.abs_lower()), float(off.abs_upper()))), query))
    if not each:
        return Enclosed(0.0, math.inf), None
    lower, (largest, worst) = max(one.lower for one, _ in each), max(each, key=lambda one: one[0].upper)
    return Enclosed(lower * (1 - 2.0**-50), largest.upper * (1 + 2.0**-50)), worst
