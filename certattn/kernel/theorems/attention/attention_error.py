"""Theorem `attention-error`: how far the output of an attention kernel is from attention as it is defined.

Given, by batch and head, queries q_i, keys k_j, values v_j, a scale s and which tokens S_i each query sees, put

    Z_i = sum_{j in S_i} e^{y_ij},   T_i = sum_{j in S_i} e^{y_ij} v_j / Z_i,   y_ij = s <q_i, k_j>

or what `score_rules` makes of that, with e^z more in Z_i for a sink z; T_i = 0 where S_i is empty, if that is stated.
Several query heads may share a head of keys. Given is an output o_i, too, with finite entries, and l_i if the kernel
returned log Z_i or log2 Z_i. A certificate asserts bounds of one or more of

    error     max |o_ij - T_ij|                     relative  max_i |o_i - T_i|_2 / |T_i|_2
    ulps      max |o_ij - T_ij| / ulp(T_ij)         rms       sqrt of the mean of |o_ij - T_ij|^2
    beyond    how many |o_ij - T_ij| > radius       lse       max_i |l_i - log Z_i|

where a row without any error has the relative error 0, and ulp(x) is the unit in the last place of x in the number type
of the output: 2^(max(e, e_min) - p + 1) for 2^e <= |x| < 2^(e + 1), p bits and a least exponent e_min. `at_most` is
about every head, `at_least` about the worst one; `beyond` counts over all heads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Gathered, Obligation, Side, Tier, Together
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Count, Field, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST, NONNEGATIVE
from certattn.kernel.given.prompts import DEFAULT, NO_DOUBLES
from certattn.kernel.mathematics.balls import l2_norm, row_of_balls
from certattn.kernel.mathematics.softmax import Prompt
from certattn.kernel.mathematics.softmax_moments import WeightedPrompt, weighted_prompts
from certattn.kernel.theorems.attention.stated_heads import (
    BASE,
    GIVEN,
    LSE,
    MASK,
    MASK_TYPES,
    OUTPUT,
    StatedHeads,
    read_heads,
)

if TYPE_CHECKING:
    from certattn.fast.output_errors import OutputErrors
    from certattn.kernel.theorems.attention.stored_heads import Logarithms

RADIUS = Field("radius", Rational(minimum=0), "the error that is counted beyond")
NO_MORE = Field("at_most", Count(0), "no more entries, over all heads", required=False)
NO_FEWER = Field("at_least", Count(0), "no fewer entries", required=False)

ERROR = Field("error", NONNEGATIVE, "the largest absolute error", required=False)
RELATIVE = Field("relative", NONNEGATIVE, "the largest error of a row, by the exact row's norm", required=False)
ULPS = Field("ulps", NONNEGATIVE, "the largest error in units in the last place of the exact value", required=False)
RMS = Field("rms", NONNEGATIVE, "the root mean square of the errors of a head", required=False)
OF_LSE = Field("lse", NONNEGATIVE, "the largest error of the returned log-sum-exp", required=False)
BEYOND = Field(
    "beyond",
    Record(RADIUS, NO_MORE, NO_FEWER, rules=[some_of(NO_MORE, NO_FEWER)]),
    "how many entries have a larger error",
    required=False,
)
MEASURES = (ERROR, RELATIVE, ULPS, RMS, OF_LSE)
ASSERTS = Record(*MEASURES, BEYOND, rules=[some_of(*MEASURES, BEYOND)])
WITNESS = Record(BITS)

# Bits of precision, and the exponent of the least normal number.
FORMATS = {
    "float8_e4m3fn": (4, -6), "float8_e5m2": (3, -14),
    "float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022),
}  # fmt: skip


@dataclass(frozen=True)
class AssertedErrors:
    """Heads with an output, and what is asserted of it."""

    heads: StatedHeads
    asserts: Values

    @property
    def tiers(self) -> Sequence[Tier]:
        """Those that it can be computed in: binary64 where everything stands in array files of doubles."""
        arrays = [part.stored for part in self.heads.arrays]
        mask = self.heads.given.get(MASK)
        if mask is not None and (mask.stored is None or mask.stored.dtype not in MASK_TYPES):
            return []
        in_doubles = all(array is not None and array.dtype not in NO_DOUBLES for array in arrays)
        return [DEFAULT] if in_doubles else []

    @property
    def format(self) -> tuple[int, int]:
        """Of the output's number type."""
        stored = self.heads.given[OUTPUT].stored
        assert stored is not None
        return FORMATS[stored.dtype]

    def not_finite(self) -> fmpq:
        """How many entries of the output are NaN or infinite."""
        stored = self.heads.given[OUTPUT].stored
        return fmpq(0) if stored is None else fmpq(stored.not_finite(self.heads.queries))


def read(certificate: Certificate) -> AssertedErrors:
    reading = certificate.reading
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, reading)
    heads = read_heads(GIVEN.read(certificate.given, reading))
    asserts = ASSERTS.read(certificate.asserts, reading)
    output = heads.given[OUTPUT].stored
    if ULPS in asserts and (output is None or output.dtype not in FORMATS):
        found = "numbers that are written out" if output is None else f"an output of {output.dtype}"
        raise asserts.node(ULPS).malformed(f"an output in an array file of {', '.join(FORMATS)}", found)
    if OF_LSE in asserts and LSE not in heads.given:
        raise asserts.node(OF_LSE).malformed("given.lse beside it, what the kernel returned", "none")
    if LSE in heads.given and OF_LSE not in asserts:
        # What nothing is said of is not read, so that it may hold anything.
        raise heads.given.node(LSE).malformed("asserts.lse beside it, or no log-sum-exp", "one that nothing is said of")
    return AssertedErrors(heads, asserts)


FINITE = "finite"


def obligations(stated: AssertedErrors) -> Iterator[Obligation]:
    heads, asserts = stated.heads, stated.asserts
    by_tier: dict[Tier, tuple[Side, Side]] = {tier: (stated.not_finite, fmpq(0)) for tier in stated.tiers}
    yield Obligation(FINITE, stated.not_finite, "=", fmpq(0), fast=by_tier)
    enclosed = _enclosed(stated)

    def side(number: Callable[..., arb], field: Field[Values], of: Collection[int]) -> Gathered[_Item, arb]:
        return enclosed.side(number, *((field.name, head) for head in of), tiers=stated.tiers)

    for field in MEASURES:
        if field not in asserts:
            continue
        most, least = asserts[field].get(AT_MOST), asserts[field].get(AT_LEAST)
        if most is not None:
            for head in range(heads.count):
                name = f"{field.name}.at_most{heads.place(head)}"
                yield Obligation(name, side(_as_it_is, field, [head]), "<=", most, needs=[FINITE])
        if least is not None:
            worst = side(largest, field, range(heads.count))
            yield Obligation(f"{field.name}.at_least", worst, ">=", least, needs=[FINITE])
    if BEYOND in asserts:
        more, fewer = asserts[BEYOND].get(NO_MORE), asserts[BEYOND].get(NO_FEWER)
        total = side(_sum, BEYOND, range(heads.count))
        if more is not None:
            yield Obligation("beyond.at_most", total, "<=", fmpq(more), needs=[FINITE])
        if fewer is not None:
            yield Obligation("beyond.at_least", total, ">=", fmpq(fewer), needs=[FINITE])


def _as_it_is(value: arb) -> arb:
    return value


def largest(*values: arb) -> arb:
    largest = values[0]
    for value in values[1:]:
        largest = largest.max(value)
    return largest


def _sum(*values: arb) -> arb:
    return sum(values, arb(0))


# A measure by its name, and a head.
_Item = tuple[str, int]


def _enclosed(stated: AssertedErrors) -> Together[_Item, arb]:
    """The measures by head: what a head is asked for takes its softmax weights once."""

    def compute(items: Collection[_Item], tier: Tier | None) -> Mapping[_Item, arb]:
        wanted: dict[int, list[str]] = {head: [] for head in sorted({head for _, head in items})}
        for name, head in items:
            wanted[head].append(name)
        if tier is None:
            errors = {head: exact_errors(stated, head) for head in wanted}
        else:
            errors = errors_in_binary64(stated, wanted)
        return {(name, head): errors[head][name]() for head, names in wanted.items() for name in names}

    return Together(compute)


# Enclosures of the measures of a head, by name, when they are asked for.
Measured = Mapping[str, Callable[[], arb]]


# -- at the working precision


def exact_errors(stated: AssertedErrors, head: int) -> Measured:
    """The measures of a head in Arb's balls."""
    rows, asserts = list(exact_rows(stated.heads, head)), stated.asserts
    return {
        ERROR.name: lambda: largest(*(abs(entry) for row in rows for entry in row.off)),
        RELATIVE.name: lambda: largest(*(row.relative() for row in rows)),
        ULPS.name: lambda: largest(
            *(abs(x) / unit(abs(t), *stated.format) for row in rows for x, t in zip(row.off, row.exact, strict=True))
        ),
        RMS.name: lambda: (_sum(*(l2_norm(row.off) ** 2 for row in rows)) / (len(rows) * len(rows[0].off))).sqrt(),
        OF_LSE.name: lambda: largest(*lse_off(stated.heads, head, (row.logarithm for row in rows))),
        BEYOND.name: lambda: _sum(*(above(abs(x), asserts[BEYOND][RADIUS]) for row in rows for x in row.off)),
    }


@dataclass(frozen=True)
class Row:
    """T_i and T_i - o_i, and log Z_i; of a query that sees nothing there is none."""

    exact: Sequence[arb]
    off: Sequence[arb]
    logarithm: arb | None

    def relative(self) -> arb:
        """|o_i - T_i|_2 / |T_i|_2; 0 where the first is 0, exactly."""
        return arb(0) if all(x == 0 for x in self.off) else l2_norm(self.off) / l2_norm(self.exact)


def exact_rows(heads: StatedHeads, head: int) -> Iterator[Row]:
    """The queries of a head, one after the other."""
    output, sink = heads.exact[3], heads.rule(head).sink
    for i, weighted in enumerate(_weighted(heads, head)):
        of_query = output.take_rows([head * heads.queries + i])
        stated = row_of_balls(of_query.row(0))
        if weighted is None:
            yield Row([arb(0)] * len(stated), [-x for x in stated], None if sink is None else arb(sink))
        else:
            off = weighted.output_off(of_query)
            yield Row([x + o for x, o in zip(off, stated, strict=True)], off, weighted.log_normaliser())


def _weighted(heads: StatedHeads, head: int) -> Iterator[WeightedPrompt | None]:
    """What every query of a head sees, under its weights; None where that is nothing."""
    queries, keys, values, _ = heads.exact
    sight, rule, n = heads.sight(head), heads.rule(head), heads.tokens
    start = head // heads.shared * n

    def prompt(tokens: Sequence[int]) -> Prompt:
        rows = [start + j for j in tokens]
        return Prompt(keys.take_rows(rows), values.take_rows(rows), heads.scale)

    for same, seen in sight.runs():
        asked = queries.take_rows(range(head * heads.queries + same.start, head * heads.queries + same.stop))
        if seen and MASK not in heads.given and rule.changes_nothing:
            yield from weighted_prompts(prompt(seen), asked)
            continue
        for i in same:
            tokens = heads.visible(head, i, seen)
            if not (tokens or heads.empty_allowed):
                raise heads.refuse_empty(i)
            distances = [abs(sight.diagonal[i] - j) for j in tokens]
            query = asked.take_rows([i - same.start])
            yield rule.weighted(prompt(tokens), query, distances) if tokens else None


def lse_off(heads: StatedHeads, head: int, logarithms: Iterable[arb | None]) -> list[arb]:
    """|l_i - log Z_i| for every query that sees something, in the base that is stated."""
    base = arb(2).log() if heads.given[LSE][BASE] == "2" else arb(1)
    pairs = zip(logarithms, heads.logarithms.row(head), strict=True)
    off = [abs(log / base - stated) for log, stated in pairs if log is not None]
    # Of nothing nothing is shown.
    return off or [arb.nan()]


def unit(size: arb, precision: int, least: int) -> arb:
    """The unit in the last place of a number of this size, or of two where it may have two; NaN of unbounded balls."""
    if size.is_finite() is not True:
        return arb.nan()
    ends = [_exponent(end, least) for end in (size.lower(), size.upper())]
    lower, upper = (arb(2) ** (end - precision + 1) for end in ends)
    return lower.union(upper)


def _exponent(size: arb, least: int) -> int:
    """e with 2^e <= size < 2^(e + 1) for an exact number, or the least one."""
    if (size > 0) is not True:
        return least
    mantissa, exponent = size.man_exp()
    return max(int(mantissa.bit_length() + exponent - 1), least)


def above(size: arb, radius: fmpq) -> arb:
    """1 if it is above, 0 if not, and both where that is not known."""
    if (size > radius) is True:
        return arb(1)
    return arb(0) if (size <= radius) is True else arb(0).union(arb(1))


# -- in binary64, imported where it is tried


def errors_in_binary64(stated: AssertedErrors, wanted: Collection[int]) -> dict[int, Measured]:
    """The measures of heads. Raises Binary64Error."""
    from certattn.kernel.theorems.attention.stored_heads import stored_errors

    found = stored_errors(stated.heads, wanted)
    return {head: _measured(stated, head, errors, logarithms) for head, errors, logarithms in found}


def _measured(stated: AssertedErrors, head: int, errors: OutputErrors, logarithms: Logarithms) -> Measured:
    return {
        ERROR.name: lambda: errors.largest().ball(),
        RELATIVE.name: lambda: errors.relative().ball(),
        ULPS.name: lambda: errors.ulps(*stated.format).ball(),
        RMS.name: lambda: errors.mean_square().root(),
        OF_LSE.name: lambda: largest(*lse_off(stated.heads, head, logarithms())),
        BEYOND.name: lambda: errors.beyond(stated.asserts[BEYOND][RADIUS]).ball(),
    }


THEOREM = Theorem(
    name="attention-error",
    title="how far the output of an attention kernel is from attention as it is defined",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
