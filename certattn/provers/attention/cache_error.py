"""Bound how far attention over a cache of keys and values is from attention over the originals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import DOUBLE
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import NUMBERS, TENSOR
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import Binary64Error, NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.attention.cache_error import (
    DEVIATION,
    EVICTED,
    MASS,
    MEASURES,
    RELATIVE,
    THEOREM,
    AssertedCache,
    measures,
)
from certattn.kernel.theorems.attention.query_regions import CELLS as CELLS_FIELD
from certattn.kernel.theorems.attention.query_regions import MOST_CELLS, REGION
from certattn.kernel.theorems.attention.stated_caches import HIGH_FIRST, KEPT, LOW_FIRST, MULTIPLICITIES, PACKED
from certattn.kernel.theorems.attention.stated_heads import KEYS, QUERIES, VALUES
from certattn.provers.array_files import open_array_file
from certattn.provers.array_inputs import Source, found_arrays, placed
from certattn.provers.attention.cache_regions import Reached, hints, reached
from certattn.provers.attention.deviation_search import BITS
from certattn.provers.attention.heads_given import scale_and_masks
from certattn.provers.attention.region_options import BOX, CELLS, CENTRE, MOST_CELLS_OF_EACH, described_region
from certattn.provers.commands import ARRAY, DATA_OR_AUTO, Argument, Arrays, Command, Option, Whole, Yaml, to_state
from certattn.provers.doubts import relative
from certattn.provers.exact_inputs import exact, exact_rational, require_states, require_within
from certattn.provers.output import Draft
from certattn.provers.rounding import lower_rational, round_down, round_up, upper_rational

STATES = tuple(field.name for field in MEASURES)
DIGITS = 3
_FIELDS = (QUERIES.name, KEYS.name, VALUES.name)
# What a part of a cache is made of, after `key_` or `value_`.
_STEPS = ("codes", "scale", "zero", "offset")
_PARTS = {"key": KEYS.name, "value": VALUES.name}
_CACHED = tuple(f"cached_{name}" for name in _PARTS.values())
_QUANTISED = tuple(f"{part}_{step}" for part in _PARTS for step in _STEPS)
_BY_TOKEN = (KEPT.name, MULTIPLICITIES.name)
ARRAYS = (*_FIELDS, *_CACHED, *_QUANTISED, *_BY_TOKEN)
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
    keep: Sequence[int] | None = None,
    packed: str | None = None,
    tokens: Sequence[int] | None = None,
    region: Mapping[str, Any] | None = None,
    cells: int = CELLS,
    states: Sequence[str] = (),
    at_most: Mapping[str, Any] = {},
    lower: bool = False,
    everywhere: bool = False,
    per_query: bool = False,
    digits: int = DIGITS,
    data: str = "auto",
    note: str = "",
    **arrays: Any,
) -> Certificate:
    """Write a certificate of `cache-error` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    source : path-like, optional
        .npz or .safetensors file holding `queries`, `keys`, `values`: of 2 dimensions (rows, columns), 3 (heads first)
        or 4 (batch and heads first). Of the cache `kept`, which tokens it holds; `cached_keys` and `cached_values`; or
        of each `key_codes`, `key_scale`, `key_zero`, `key_offset`, and the same for `value`; and `multiplicities`. What
        is left out is as in the originals.
    names : mapping of str to str
        Names in the file that differ, as {"kept": "indices"}.
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
    keep : sequence of int, optional
        The tokens that the cache holds, for all heads, instead of an array `kept`.
    packed : {"low-first", "high-first"}, optional
        How a byte of the codes holds two, where it does.
    tokens : sequence of int, optional
        Tokens whose softmax weight is stated as `mass`.
    region : mapping, optional
        A region in the place of queries, of one head, as certificates write it under `given.region`.
    cells : int
        Cut the region into at most so many cells; one subdivision, and one query, is for all that is stated.
    states : sequence of str
        What is stated, of "error", "deviation", "relative", "evicted", "mass"; by default deviation and relative where
        there is a cache, evicted where it keeps some tokens, and mass where tokens are named. Over a region there is no
        relative deviation.
    at_most : mapping of str to exact number
        Bounds to state, by these names, instead of the measured ones.
    lower : bool
        State lower bounds of the largest numbers too.
    everywhere : bool
        State lower bounds for all queries; over a region, of shares of the weight alone.
    per_query : bool
        State bounds for each query, of one head.
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
        A measure has no bound.

    References
    ----------
    Statement and proof: docs/claims/attention/cache-error.md.

    Examples
    --------
    >>> import certattn
    >>> arrays = dict(queries=[[1, 0]], keys=[[0, 1], [1, 0], [1, 1]], values=[[1], [2], [3]])
    >>> certificate = certattn.generate("cache-error", scale=1, keep=[0, 2], **arrays)
    >>> float(certificate.numbers["deviation.at_most"])
    0.196
    """
    require_within(1, 15, digits, "digits")
    require_states([*states, *at_most], STATES)
    require_within(1, MOST_CELLS, cells, "cells")
    wanted = _Wanted(states, at_most, tokens, lower, everywhere, per_query, digits, cells)
    if given is not None:
        beside = (source, scale, causal, window, lengths, sequences, keep, packed, region)
        if names or arrays or any(each is not None for each in beside):
            raise UsageError("with a whole head, leave out arrays, names, scale, mask, region and cache")
        return _write(Draft(THEOREM, out, dict(given), note), wanted)
    stated = scale_and_masks(scale, causal, window, lengths, sequences)
    fields: Sequence[str] = _FIELDS
    if region is not None:
        stated[REGION.name], fields = exact(region, REGION.name), (KEYS.name, VALUES.name)
    sources = _sources(source, names, arrays, fields)
    if keep is not None:
        if KEPT.name in sources:
            raise UsageError("kept tokens, or an array of them, not both")
        stated_kept: dict[str, Plain] = {KEPT.name: [[str(token) for token in keep]]}
    else:
        stated_kept = {}
    with placed(out, sources, data, dict.fromkeys(_BY_TOKEN, NUMBERS), TENSOR) as references:
        cache = {**stated_kept, **_cache(references, packed)}
        described: dict[str, Plain] = {**{field: references[field] for field in fields}, **stated}
        if cache:
            described["cache"] = cache
        return _write(Draft(THEOREM, out, described, note), wanted)


def _sources(
    source: str | Path | None, names: Mapping[str, str], arrays: Mapping[str, Any], fields: Sequence[str]
) -> dict[str, Source]:
    found = found_arrays(None if source is None else open_array_file(Path(source)), ARRAYS, names, arrays)
    missing = [field for field in fields if field not in found]
    if missing:
        raise UsageError(f"no array {' and no '.join(missing)}; expected {', '.join(fields)} (--array keys=NAME)")
    # A region stands in the place of queries.
    return {field: array for field, array in found.items() if field in fields or field not in _FIELDS}


def _cache(references: Mapping[str, Plain], packed: str | None) -> dict[str, Plain]:
    """The section of the cache, from references to its arrays. Raises UsageError."""
    found: dict[str, Plain] = {name: references[name] for name in _BY_TOKEN if name in references}
    for part, name in _PARTS.items():
        steps: dict[str, Plain] = {
            step: references[f"{part}_{step}"] for step in _STEPS if f"{part}_{step}" in references
        }
        if f"cached_{name}" in references:
            if steps:
                raise UsageError(f"cached_{name}, or {part}_codes with their scales, not both")
            found[name] = references[f"cached_{name}"]
        elif steps:
            missing = [f"{part}_{step}" for step in ("codes", "scale") if step not in steps]
            if missing:
                raise UsageError(f"no array {' and no '.join(missing)} beside {part}_{next(iter(steps))}")
            found[name] = {**steps, **({PACKED.name: packed} if packed is not None else {})}
    if packed is not None and not any(isinstance(part, dict) and PACKED.name in part for part in found.values()):
        raise UsageError("packed codes, and no codes")
    return found


class _Wanted:
    """What is to be stated."""

    def __init__(
        self,
        states: Sequence[str],
        at_most: Mapping[str, Any],
        tokens: Sequence[int] | None,
        lower: bool,
        everywhere: bool,
        per_query: bool,
        digits: int,
        cells: int,
    ) -> None:
        self.states = list(dict.fromkeys([*states, *at_most]))
        if MASS.name in self.states and tokens is None:
            raise UsageError("no tokens for the mass; expected some, such as --mass 0,1")
        if tokens is not None and MASS.name not in self.states and self.states:
            self.states.append(MASS.name)
        self.bounds = {name: exact_rational(bound, f"at_most of {name}") for name, bound in at_most.items()}
        self.tokens, self.lower, self.everywhere = tokens, lower, everywhere
        self.per_query, self.digits, self.cells = per_query, digits, cells

    def probe(self, name: str) -> dict[str, Plain]:
        """A measure with a bound that everything reads."""
        if name != MASS.name or self.tokens is None:
            return {"at_most": "0"}
        return {"tokens": [str(token) for token in self.tokens], "at_most": "0"}


def _write(draft: Draft, wanted: _Wanted) -> Certificate:
    """Measure, round outwards, write."""
    states = wanted.states or _by_default(draft.given, wanted)
    if not states:
        raise UsageError("neither a cache nor tokens for a mass are given: there is nothing to state")
    stated = draft.read(THEOREM.read, {name: wanted.probe(name) for name in states})
    if stated.over is not None:
        return _over_region(draft, wanted, stated, states)
    if wanted.cells != CELLS:
        raise UsageError("cells are for a region of queries; none is given")
    if wanted.per_query and stated.heads.count > 1:
        raise UsageError("bounds for each query can be stated for one head at a time")
    found = _measured(stated, states)
    asserts: dict[str, Plain] = {}
    for name in states:
        rows = found[name]
        highest, lowest = ([[end(ball) for ball in row] for row in rows] for end in (upper_rational, lower_rational))
        most = wanted.bounds.get(name, round_up(max(map(max, highest)), wanted.digits))
        ends: dict[str, Plain] = {**wanted.probe(name), "at_most": format_rational(most)}
        # A lower bound of 0 would say nothing.
        if wanted.lower and max(map(max, lowest)) > 0:
            ends["at_least"] = _down(max(map(max, lowest)), wanted.digits)
        if wanted.everywhere and min(map(min, lowest)) > 0:
            ends["at_least_everywhere"] = _down(min(map(min, lowest)), wanted.digits)
        if wanted.per_query:
            each: dict[str, Plain] = {
                "at_most": [[format_rational(round_up(max(x, fmpq(0)), wanted.digits)) for x in highest[0]]]
            }
            if wanted.lower:
                each["at_least"] = [[_down(x, wanted.digits) for x in lowest[0]]]
            ends["per_query"] = each
        asserts[name] = ends
    return draft.write(asserts)


def _over_region(draft: Draft, wanted: _Wanted, stated: AssertedCache, states: Sequence[str]) -> Certificate:
    """The same over a region: search for cells, enclose with them, round outwards, write."""
    if wanted.per_query:
        raise UsageError("per_query is for listed queries; a region has none")
    probes = {name: wanted.probe(name) for name in states}
    witness = hints(stated, states[0], wanted.cells)
    found, bits = reached(draft.read(THEOREM.read, probes, witness), states)
    if not wanted.lower:
        witness = {name: words for name, words in witness.items() if name == CELLS_FIELD.name}
    if bits != BITS[0]:
        witness["bits"] = str(bits)
    return draft.write({name: _ends(name, found[name], wanted) for name in states}, witness)


def _ends(name: str, over: Reached, wanted: _Wanted) -> dict[str, Plain]:
    most = wanted.bounds.get(name, round_up(over.highest, wanted.digits))
    if over.highest > most:
        nearly = arb(over.highest).str(6, radius=False)
        raise NotProvedError(
            f"at_most {format_rational(most)} of {name} is not proved: with {wanted.cells} cells {nearly} is"
        )
    ends: dict[str, Plain] = {**wanted.probe(name), "at_most": format_rational(most)}
    if wanted.lower and over.some > 0:
        ends["at_least"] = _down(over.some, wanted.digits)
    if wanted.everywhere and over.lowest > 0:
        ends["at_least_everywhere"] = _down(over.lowest, wanted.digits)
    return ends


def _by_default(given: Plain, wanted: _Wanted) -> list[str]:
    assert isinstance(given, dict)
    cache = given.get("cache")
    states = [DEVIATION.name, *([] if REGION.name in given else [RELATIVE.name])] if cache is not None else []
    if isinstance(cache, dict) and KEPT.name in cache:
        states.append(EVICTED.name)
    return [*states, *([MASS.name] if wanted.tokens is not None else [])]


def _down(value: fmpq, digits: int) -> str:
    return format_rational(round_down(value, digits) if value > 0 else fmpq(0))


def _measured(stated: AssertedCache, names: Sequence[str]) -> dict[str, list[Sequence[arb]]]:
    """Every measure of every head, query by query, in binary64 where it has an answer."""
    heads = range(stated.heads.count)
    items = [(name, head) for name in names for head in heads]
    for tier, bits in (*((tier, 2 * DOUBLE) for tier in stated.tiers), (None, _BITS)):
        try:
            with working_precision(bits):
                found = measures(stated, items, tier)
        except Binary64Error:
            continue
        if tier is None or all(ball.is_finite() for row in found.values() for ball in row):
            break
    return {name: [found[name, head] for head in heads] for name in names}


def _ranges(option: str) -> Any:
    """Reads tokens such as "0:4, 10, 20:32"."""

    def read(text: str) -> list[int]:
        tokens: list[int] = []
        for part in text.split(","):
            match = re.fullmatch(r"([0-9]{1,9})(?::([0-9]{1,9}))?", part.strip(), re.ASCII)
            if match is None:
                raise UsageError(f"{option} {text!r}: expected tokens and ranges counted from 0, such as 0:4,10,20:32")
            first = int(match[1])
            tokens += range(first, int(match[2]) if match[2] else first + 1)
        return tokens

    return read


def _bound(text: str) -> tuple[str, str]:
    name, separator, bound = text.partition("=")
    if not separator or not bound:
        raise UsageError(f"--at-most {text!r}: expected MEASURE=BOUND, such as deviation=1/10")
    return name, bound


COMMAND = Command(
    Argument("ARRAYS", Arrays("given")),
    Option("--scale", "Factor of the scores, an exact number such as 1/sqrt(64).", metavar="S"),
    Option("--causal", "A causal mask: top-left, bottom-right, or an offset.", metavar="MASK"),
    Option("--window", "With --causal: how many tokens a query sees at most.", Whole(1)),
    Option(
        "--keep", "The tokens that the cache holds, such as 0:4,480:512.", metavar="TOKENS", parse=_ranges("--keep")
    ),
    Option("--packed", "A byte holds two codes; which half comes first.", (LOW_FIRST, HIGH_FIRST)),
    Option(
        "--mass",
        "State the softmax weight on these tokens, such as 0:4.",
        metavar="TOKENS",
        sets="tokens",
        parse=_ranges("--mass"),
    ),
    Option("--radius", "Bound it over a ball of this radius around a centre, for one head.", metavar="R"),
    CENTRE,
    BOX,
    Option("--region", "Bound it over the region in a YAML file.", Yaml("given.region"), "FILE"),
    MOST_CELLS_OF_EACH,
    to_state("What to bound; deviation, relative and evicted by default.", STATES),
    Option("--at-most", "A bound to state.", metavar="MEASURE=R", many=True, parse=_bound, gather=dict),
    Option("--lower", "Also state lower bounds.", bool),
    Option("--everywhere", "State lower bounds that hold at every query.", bool),
    Option("--per-query", "State a bound for each query.", bool),
    Option("--digits", "Digits of the bounds.", Whole(1, 15)),
    ARRAY,
    DATA_OR_AUTO,
    inputs=described_region,
    doubts=[relative],
)
