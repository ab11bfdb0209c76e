"""Bound how far the output of an attention kernel is from exact attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.decide.obligation import DOUBLE
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import NUMBERS, TENSOR, VECTOR
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import Binary64Error, NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.attention.attention_error import (
    BEYOND,
    ERROR,
    MEASURES,
    OF_LSE,
    RELATIVE,
    RMS,
    THEOREM,
    AssertedErrors,
    errors_in_binary64,
    exact_errors,
)
from certattn.kernel.theorems.attention.score_rules import ALIBI, SINKS
from certattn.kernel.theorems.attention.stated_heads import KEYS, LSE, MASK, OUTPUT, QUERIES, VALUES
from certattn.provers.array_files import open_array_file
from certattn.provers.array_inputs import InFile, Source, found_arrays, placed
from certattn.provers.attention.heads_given import scale_and_masks
from certattn.provers.commands import ARRAY, DATA_OR_AUTO, Argument, Arrays, Command, Option, Whole, to_state
from certattn.provers.doubts import relative
from certattn.provers.exact_inputs import exact_rational, exact_text, require_states, require_within
from certattn.provers.output import Draft
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational

STATES = tuple(field.name for field in MEASURES)
DIGITS = 3
_FIELDS = (QUERIES.name, KEYS.name, VALUES.name, OUTPUT.name)
# What there may be beside these, if it is no tensor.
_DIMENSIONS = {"lse": NUMBERS, ALIBI.name: VECTOR, SINKS.name: VECTOR}
_BITS = 128


def generate(
    out: Path,
    *,
    source: str | Path | None = None,
    names: Mapping[str, str] = {},
    given: Mapping[str, Plain] | None = None,
    scale: str | None = None,
    causal: str | int | None = None,
    window: int | None = None,
    lengths: Sequence[int] | None = None,
    sequences: tuple[Sequence[int], Sequence[int]] | None = None,
    empty: str | None = None,
    soft_cap: Any = None,
    lse_base: str = "e",
    states: Sequence[str] = (),
    at_most: Mapping[str, Any] = {},
    lower: bool = False,
    beyond: Any = None,
    digits: int = DIGITS,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `attention-error` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npz or .safetensors file holding `queries`, `keys`, `values`, `output`, and `lse` if the kernel returned it: of
        2 dimensions (rows, columns), 3 (heads first) or 4 (batch and heads first); `lse` of one less. Also `mask`, of
        True or 1 where a query sees a token, and `alibi` and `sinks`, a number for each head.
    names : mapping of str to str
        Names in the file that differ, as {"output": "o"}.
    given : mapping, optional
        Instead of all that: what the certificate is about, whole.
    scale : exact number, optional
        Factor of the scores, such as "1/sqrt(64)"; it has to be there, unless `given` is.
    causal : str or int, optional
        "top-left", "bottom-right" or an offset; no mask by default.
    window : int, optional
        How many tokens a query sees at most under a causal mask.
    lengths : sequence of int, optional
        How many tokens each of the batch has.
    sequences : pair of sequences of int, optional
        Lengths of packed sequences, of their queries and of their keys.
    empty : {"zero"}, optional
        What a query that sees no token should have returned.
    soft_cap : exact number, optional
        The c of c tanh(x / c), where scores x are made that.
    lse_base : {"e", "2"}
        Base of the logarithms in `lse`.
    states : sequence of str
        What is stated, of "error", "relative", "ulps", "rms", "lse"; by default error, relative and rms, and lse where
        there is one.
    at_most : mapping of str to exact number
        Bounds to state, by these names, instead of the measured ones; what is proved to be larger is refused.
    lower : bool
        State lower bounds too.
    beyond : exact number, optional
        State how many entries are off by more than this number.
    digits : int
        Digits of measured bounds.
    data : {"auto", "copy", "reference"}
        Copy the arrays beside the certificate, refer to them where they are, or whichever is possible.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    **arrays : array_like
        What `source` would hold, as numpy arrays, by keyword; they are written beside the certificate.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        A measure has no bound, or exceeds the stated one.

    References
    ----------
    Statement and proof: docs/claims/attention/attention-error.md.

    Examples
    --------
    >>> import certattn
    >>> arrays = dict(queries=[[1, 0]], keys=[[0, 1], [1, 0]], values=[[1.0], [2.0]], output=[[1.731]])
    >>> certificate = certattn.generate("attention-error", scale=1, **arrays)
    >>> float(certificate.numbers["error.at_most"])
    5.86e-05
    """
    require_within(1, 15, digits, "digits")
    require_states([*states, *at_most], STATES)
    wanted = _Wanted(states, at_most, lower, beyond, digits)
    if given is not None:
        beside = (source, scale, causal, window, lengths, sequences, empty, soft_cap)
        if names or arrays or lse_base != "e" or any(each is not None for each in beside):
            raise UsageError("with a whole head, leave out arrays, names, scale and mask")
        return _write(Draft(THEOREM, out, dict(given), note), wanted)
    stated = scale_and_masks(scale, causal, window, lengths, sequences)
    if empty is not None:
        stated["empty"] = empty
    if soft_cap is not None:
        stated["soft_cap"] = exact_text(soft_cap, "soft_cap")
    sources = _sources(source, names, arrays)
    logarithms = {"lse": sources.pop("lse")} if "lse" in sources else {}
    if wanted.states and OF_LSE.name not in wanted.states:
        # Certificates have no log-sum-exps that nothing is said of.
        logarithms = {}
    with placed(out, {**sources, **logarithms}, data, _DIMENSIONS, TENSOR) as references:
        lse: dict[str, Plain] = {LSE.name: {"value": references["lse"], "base": lse_base}} if logarithms else {}
        described = {**{field: references[field] for field in sources}, **stated, **lse}
        return _write(Draft(THEOREM, out, described, note), wanted)


def _sources(source: str | Path | None, names: Mapping[str, str], arrays: Mapping[str, Any]) -> dict[str, Source]:
    known = (*_FIELDS, *_DIMENSIONS, MASK.name)
    found = found_arrays(None if source is None else open_array_file(Path(source)), known, names, arrays)
    if MASK.name in found:
        found[MASK.name] = _in_bytes(found[MASK.name])
    missing = [field for field in _FIELDS if field not in found]
    if missing:
        raise UsageError(f"no array {' and no '.join(missing)}; expected {', '.join(_FIELDS)} (--array output=NAME)")
    return found


def _in_bytes(mask: Source) -> Source:
    """A mask of booleans as one of 0 and 1, which is what certificates hold."""
    if isinstance(mask, InFile) and mask.header.dtype == "bool":
        return _in_bytes(mask.file.read(mask.name))
    return mask.astype(np.uint8) if isinstance(mask, np.ndarray) and mask.dtype == np.bool_ else mask


class _Wanted:
    """What is to be stated."""

    def __init__(
        self, states: Sequence[str], at_most: Mapping[str, Any], lower: bool, beyond: Any, digits: int
    ) -> None:
        self.states = list(dict.fromkeys([*states, *at_most]))
        self.bounds = {name: exact_rational(bound, f"at_most of {name}") for name, bound in at_most.items()}
        self.lower, self.digits = lower, digits
        self.beyond = None if beyond is None else exact_rational(beyond, "beyond")


def _write(draft: Draft, wanted: _Wanted) -> Certificate:
    """Measure, round outwards, write."""
    probe: dict[str, Plain] = {ERROR.name: {"at_most": "0"}}
    if wanted.beyond is not None:
        probe[BEYOND.name] = {"radius": format_rational(wanted.beyond), "at_most": "0"}
    logarithms = [OF_LSE.name] if isinstance(draft.given, Mapping) and LSE.name in draft.given else []
    by_default = [ERROR.name, RELATIVE.name, RMS.name, *logarithms]
    states = wanted.states or by_default
    stated = draft.read(THEOREM.read, {**probe, **{name: {"at_most": "0"} for name in states}})
    if stated.not_finite() != 0:
        raise UsageError("the output has entries that are NaN or infinite: no bound of its error holds")
    balls = _measured(stated, [*states, *([BEYOND.name] if wanted.beyond is not None else [])])
    if not wanted.states:
        # Beside a row of the exact output that is 0 no error has a bound: the others are stated all the same.
        states = [name for name in by_default if name != RELATIVE.name or all(ball.is_finite() for ball in balls[name])]
    asserts: dict[str, Plain] = {}
    for name in states:
        largest = max(upper_rational(ball) for ball in balls[name])
        least = max(fmpq(0), *(lower_rational(ball) for ball in balls[name]))
        most = wanted.bounds.get(name, round_up(largest, wanted.digits))
        if least > most:
            found = arb(least).str(10, radius=False)
            raise NotProvedError(f"at_most {format_rational(most)} of {name} is too small: it is about {found}")
        ends: dict[str, Plain] = {"at_most": format_rational(most)}
        if wanted.lower:
            ends["at_least"] = format_rational(round_down(least, wanted.digits) if least > 0 else fmpq(0))
        asserts[name] = ends
    if wanted.beyond is not None:
        count = sum(balls[BEYOND.name], arb(0))
        ends = {"at_most": str(int(upper_rational(count).floor()))}
        if wanted.lower:
            ends["at_least"] = str(int(lower_rational(count).ceil()))
        asserts[BEYOND.name] = {"radius": format_rational(wanted.beyond), **ends}
    return draft.write(asserts)


def _measured(stated: AssertedErrors, names: Sequence[str]) -> dict[str, list[arb]]:
    """Every measure of every head, in binary64 where it has an answer."""
    heads = range(stated.heads.count)
    if stated.tiers:
        try:
            with working_precision(2 * DOUBLE):
                errors = errors_in_binary64(stated, heads)
                return {name: [errors[head][name]() for head in heads] for name in names}
        except Binary64Error:
            pass
    with working_precision(_BITS):
        exact = [exact_errors(stated, head) for head in heads]
        return {name: [each[name]() for each in exact] for name in names}


def _bound(text: str) -> tuple[str, str]:
    name, separator, bound = text.partition("=")
    if not separator or not bound:
        raise UsageError(f"--at-most {text!r}: expected MEASURE=BOUND, such as error=1/1000")
    return name, bound


COMMAND = Command(
    Argument("ARRAYS", Arrays("given")),
    Option("--scale", "Factor of the scores, an exact number such as 1/sqrt(64).", metavar="S"),
    Option("--causal", "A causal mask: top-left, bottom-right, or an offset.", metavar="MASK"),
    Option("--window", "With --causal: how many tokens a query sees at most.", Whole(1)),
    Option("--empty", "What the kernel should return for a query that sees no token.", ("zero",)),
    Option("--soft-cap", "C, where scores x become C tanh(x / C).", metavar="C"),
    to_state("What to bound; error, relative and rms by default.", STATES),
    Option("--at-most", "A bound to state.", metavar="MEASURE=R", many=True, parse=_bound, gather=dict),
    Option("--lower", "Also state lower bounds.", bool),
    Option("--beyond", "State how many entries are off by more than R.", metavar="R"),
    Option("--lse-base", "The base of the logarithms in lse.", ("e", "2")),
    Option("--digits", "Digits of the bounds.", Whole(1, 15)),
    ARRAY,
    DATA_OR_AUTO,
    doubts=[relative],
)
