"""A proved oracle for tests of attention kernels: how far an output is from exact attention, whatever computed it.

    from certattn.testing import assert_attention_close
    assert_attention_close(kernel(q, k, v), q, k, v, causal=True, ulps=1.5)

Arrays are those of numpy, torch, jax or anything with `__array__` or `__dlpack__`, in float64, float32, float16,
bfloat16 or float8, inputs also of integers, shaped (batch, heads, rows, columns), or without batch, or without both; of
fewer key heads, where query heads share them. What is measured is the distance from the mathematical value for exactly
these inputs, enclosed in binary64 with proved bounds (docs/binary64.md): no reference implementation whose own error is
unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.decide.floating_point import default_floating_point
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Field
from certattn.kernel.errors import RefusedError as RefusedError
from certattn.kernel.errors import UsageError as UsageError
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.attention.attention_error import ERROR, RELATIVE, RMS, ULPS
from certattn.testing.arrays import Numbers
from certattn.testing.certificates import keep_certificate
from certattn.testing.diagnosis import likely_causes
from certattn.testing.errors import AttentionError as AttentionError
from certattn.testing.errors import Enclosed as Enclosed
from certattn.testing.errors import Entry as Entry
from certattn.testing.errors import HeadError as HeadError
from certattn.testing.errors import unbounded
from certattn.testing.exact_numbers import Bound, exact_bound, exact_scale
from certattn.testing.heads import Heads, Masks, heads_of
from certattn.testing.measuring import measured
from certattn.testing.rules import Rules
from certattn.testing.threads import one_thread_each

__all__ = [
    "AttentionError",
    "Enclosed",
    "Entry",
    "HeadError",
    "RefusedError",
    "UsageError",
    "assert_attention_close",
    "attention_error",
]


def attention_error(
    output: Any,
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float | str | Fraction | None = None,
    causal: bool | int | str = False,
    window: int | None = None,
    lengths: Sequence[int] | None = None,
    sequences: tuple[Sequence[int], Sequence[int]] | None = None,
    mask: Any = None,
    empty: str | None = None,
    soft_cap: float | Fraction | None = None,
    alibi: Any = None,
    sinks: Any = None,
    lse: Any = None,
    lse_base: str = "e",
    layout: str = "bhsd",
) -> AttentionError:
    """Enclose how far `output` is from softmax(scale q k') v, whatever computed it.

    Parameters
    ----------
    output, q, k, v : array_like
        Of 2 dimensions (rows, columns), 3 (heads first) or 4 (batch, heads first).
    scale : float, str or Fraction, optional
        Factor of the scores; 1/sqrt(d), exactly, if left out. A float means its exact value.
    causal : bool, int or {"top-left", "bottom-right"}
        True for a square mask, "top-left" (as torch has it) or "bottom-right" (as flash-attention) where there are
        more keys or more queries, or an offset: query i sees the keys up to i + offset.
    window : int, optional
        How many keys a query sees at most under a causal mask, the last ones.
    lengths : sequence of int, optional
        How many keys each of the batch has; what follows is padding.
    sequences : pair of sequences of int, optional
        Lengths of packed sequences, those of queries and those of keys.
    mask : array_like of bool, optional
        True or 1 where a query sees a key: (queries, keys), or batches and heads before them, or 1 of these.
    empty : {"zero"}, optional
        What is expected of a query that sees no key; without it there must be none such.
    soft_cap : float or Fraction, optional
        The c of c tanh(x / c), where scores x are made that (Gemma 2).
    alibi : array_like, optional
        A slope a for each query head: scores are lowered by a |r - j|, r the key on the diagonal of the query.
        Axes of 1 do not matter, here and in `sinks`.
    sinks : array_like, optional
        A logit for each query head, of one more key whose value is 0 (gpt-oss).
    lse : array_like, optional
        The log-sum-exp of the scores that the kernel returned, a number for each query.
    lse_base : {"e", "2"}
        Base of the logarithms in `lse`.
    layout : {"bhsd", "bshd"}
        Order of the axes: (batch, heads, rows, columns), or (batch, rows, heads, columns).

    Returns
    -------
    AttentionError
        The errors, each an enclosure with `lower` and `upper`, in total and by head.

    Raises
    ------
    UsageError
        Inputs that do not fit together.
    RefusedError
        Binary64 bounds nothing here: scores beyond 11,000, numbers beyond 2^400, NaN among the inputs.

    References
    ----------
    Statement and proof: docs/claims/attention/attention-error.md, docs/binary64.md.

    Examples
    --------
    >>> from certattn.testing import attention_error
    >>> found = attention_error([[1.731]], q=[[1.0, 0.0]], k=[[0.0, 1.0], [1.0, 0.0]], v=[[1.0], [2.0]], scale=1)
    >>> print(found.max_abs)
    5.857863e-05
    """
    arrays = _arrays(output, q, k, v)
    masks, rules = Masks.of(causal, window, lengths, sequences, mask, empty), Rules.of(soft_cap, alibi, sinks)
    heads = heads_of(arrays, exact_scale(scale), layout, masks, rules)
    return _measured(heads, lse, lse_base)


def _arrays(output: Any, q: Any, k: Any, v: Any) -> list[Numbers]:
    inputs = (Numbers.of(array, name) for array, name in ((q, "q"), (k, "k"), (v, "v")))
    return [Numbers.of(output, "output", computed=True), *inputs]


def _measured(heads: Heads, lse: Any, lse_base: str) -> AttentionError:
    with default_floating_point(), one_thread_each():
        return measured(heads, None if lse is None else Numbers.of(lse, "lse"), lse_base)[0]


def assert_attention_close(
    output: Any,
    q: Any,
    k: Any,
    v: Any,
    *,
    max_abs: Bound | None = None,
    relative: Bound | None = None,
    ulps: Bound | None = None,
    rms: Bound | None = None,
    keep: str | Path | None = None,
    scale: float | str | Fraction | None = None,
    causal: bool | int | str = False,
    window: int | None = None,
    lengths: Sequence[int] | None = None,
    sequences: tuple[Sequence[int], Sequence[int]] | None = None,
    mask: Any = None,
    empty: str | None = None,
    soft_cap: float | Fraction | None = None,
    alibi: Any = None,
    sinks: Any = None,
    layout: str = "bhsd",
) -> AttentionError:
    """Prove that `output` is within the stated bounds of exact attention.

    Parameters
    ----------
    output, q, k, v : array_like
        As for `attention_error`, and so are the other parameters that are not described here.
    max_abs, relative, ulps : float, str or Fraction, optional
        Bounds of `max_abs`, `max_relative` and `max_ulps` of an `AttentionError`. A float means the decimal that it is
        written as.
    rms : float, str or Fraction, optional
        A bound of the root mean square of the errors of each head.
    keep : path-like, optional
        A folder; a certificate of the statement, with its arrays, is written there, whether it holds or not.

    Returns
    -------
    AttentionError
        The errors that were proved.

    Raises
    ------
    AssertionError
        A bound does not hold, or is not proved. The message says which entries are worst, and which kind of mistake
        gives an output like this one, where one does.
    UsageError, RefusedError
        As `attention_error` does.

    References
    ----------
    Statement and proof: docs/claims/attention/attention-error.md, docs/binary64.md.

    Examples
    --------
    >>> from certattn.testing import assert_attention_close
    >>> q, k, v = [[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[1.0], [2.0]]
    >>> assert_attention_close([[1.7310586]], q, k, v, scale=1, max_abs=1e-6).dtype
    'float64'
    """
    __tracebackhide__ = True  # pytest shows the line of the test, and what is said here
    stated = {"max_abs": (ERROR, max_abs), "relative": (RELATIVE, relative), "ulps": (ULPS, ulps), "rms": (RMS, rms)}
    bounds = {field: exact_bound(bound, name) for name, (field, bound) in stated.items() if bound is not None}
    if not bounds:
        raise UsageError("nothing to assert, expected max_abs, relative, ulps or rms")
    arrays = _arrays(output, q, k, v)
    masks, rules = Masks.of(causal, window, lengths, sequences, mask, empty), Rules.of(soft_cap, alibi, sinks)
    heads = heads_of(arrays, exact_scale(scale), layout, masks, rules)
    found = _measured(heads, None, "e")
    kept = "" if keep is None else str(keep_certificate(Path(keep), arrays, heads, layout, bounds))
    beyond = {field: bound for field, bound in bounds.items() if not _measure(found, field).upper <= bound}
    if not beyond:
        return found
    exceeded = any(_measure(found, field).lower > bound for field, bound in beyond.items())
    with default_floating_point(), one_thread_each():
        # Of an error that is only not proved to be small nothing is guessed.
        causes = likely_causes(found, heads) if exceeded else []
    failures = [_failure(_measure(found, field), field, bound) for field, bound in beyond.items()]
    raise AssertionError(_message(found, failures, causes, kept))


def _measure(found: AttentionError, field: Field[Any]) -> Enclosed:
    return {
        ERROR: found.max_abs,
        RELATIVE: found.max_relative,
        ULPS: found.max_ulps,
        RMS: max((head.rms for head in found.heads), key=lambda rms: rms.upper),
    }[field]


def _failure(measured: Enclosed, field: Field[Any], bound: Fraction) -> str:
    """What is wrong."""
    verdict = "exceeds" if measured.lower > bound else "is not proved to be at most"
    why = f": {unbounded(measured, field is RELATIVE)}" if measured.upper == inf else ""
    return f"{field.doc}: {measured} {verdict} {describe(fmpq(bound.numerator, bound.denominator))}{why}"


def _message(found: AttentionError, failures: Sequence[str], causes: Sequence[str], kept: str) -> str:
    bad = [f"{counted(found.not_finite, 'entry')} of the output that are NaN or infinite"] if found.not_finite else []
    lines = [*failures, *bad, f"worst entry at {found.worst}", *causes]
    table = ["", found.table(), *(["", f"certificate: {kept}"] if kept else [])]
    return "\n".join(
        ["the output is not as near to exact attention as asserted", *(f"  {line}" for line in lines), *table]
    )
