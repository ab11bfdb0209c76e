"""Errors of the output of an attention kernel: `attention-error`.

The theorem is about all heads: attention of each query over the tokens that it sees, as the certificate's masks say,
beside the output. Coq encloses every weight once for all measures of the output, and once more for the log-sum-exps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

from flint import arb, fmpq

from certattn.coq.attention_heads import ExactHeads, marks_of
from certattn.coq.instance import COMPUTED, Conjunct, Instance, NotExportableError, required_slack
from certattn.coq.softmax_terms import (
    SLACK_BITS,
    Builder,
    Side,
    Size,
    distances,
    largest,
    largest_score,
    precision_for,
    softmax_instance,
)
from certattn.coq.terms import Hint, integer, natural
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Field, Record, Values
from certattn.kernel.given.bounds import AT_LEAST, AT_MOST
from certattn.kernel.mathematics.balls import l2_norm, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.attention_error import (
    ASSERTS,
    BEYOND,
    ERROR,
    NO_FEWER,
    NO_MORE,
    OF_LSE,
    RADIUS,
    RELATIVE,
    RMS,
    ULPS,
    AssertedErrors,
    Row,
    exact_rows,
    lse_off,
    unit,
)
from certattn.kernel.theorems.attention.score_rules import ALIBI, SINKS, SOFT_CAP
from certattn.kernel.theorems.attention.stated_heads import (
    BASE,
    CAUSAL,
    EMPTY,
    GIVEN,
    KEYS,
    LENGTHS,
    LSE,
    MASK,
    OUTPUT,
    QUERIES,
    SCALE,
    SEQUENCES,
    VALUES,
    WINDOW,
    StatedHeads,
)

# How Coq's library bounds these, from above for every head or row, and from below for some.
_DISTANCES = {
    ERROR: ("by_head linf", "at_most_each", "at_least_somewhere"),
    RMS: ("by_head rms", "at_most_each", "at_least_somewhere"),
    RELATIVE: ("by_row l2", "at_most_times_each", "at_least_times_somewhere"),
}
# The parts of a certificate that the theorem has.
_GIVEN = (
    QUERIES, KEYS, VALUES, OUTPUT, SCALE, CAUSAL, WINDOW, LENGTHS, SEQUENCES, MASK, EMPTY, SOFT_CAP, ALIBI, SINKS, LSE,
)  # fmt: skip
_ASSERTED = (ERROR, RELATIVE, ULPS, RMS, OF_LSE, BEYOND)


def attention_error_instance(certificate: Certificate, *, fast: bool) -> Instance:
    """The whole statement. Raises NotExportableError where it has other parts, or a bound leaves no slack."""
    stated: AssertedErrors = CLAIMS["attention-error"].read(certificate)
    heads, asserts = stated.heads, stated.asserts
    _require_known(heads.given, GIVEN, _GIVEN)
    _require_known(asserts, ASSERTS, _ASSERTED)
    measured = _Measured(stated)
    with working_precision(SLACK_BITS):
        slack = measured.slack()
    size = _size(heads)
    bits = precision_for(slack, size)
    builder, count = Builder(), heads.count
    exact = ExactHeads.of(builder, heads, bits)
    conjuncts, sums = list[Conjunct](), list[int]()
    output = heads.exact[3]
    outputs = builder.tables("output", output, count)
    if asserted := list(_asserted(builder, stated)):
        exponents = Hint("exponents", "Z", [integer(e) for e in measured.exponents] if ULPS in asserts else [])
        builder.constants.append(exponents)
        shape = f"{natural(count)} {natural(heads.queries)} {natural(output.columns)}"
        listed = "[" + ";\n     ".join(asserted) + "]"
        attention = exact.attention()
        check = (
            f"S.errors_sound {bits.sums_term} {exponents.name} {shape} {listed} _ _ _ _ "
            f"{attention.proof} (S.stated_heads_correct {bits.sums_term} {outputs.arguments}) _"
        )
        conjuncts.append(
            Conjunct(
                f"errors {shape}\n    {attention.term}\n    {outputs.term}\n    {listed}",
                f"rewrite ?shared_map. refine ({check}); {COMPUTED}",
            )
        )
        sums.append(output.columns)
    if OF_LSE in asserts:
        if SINKS not in heads.given and any(not any(row) for head in range(count) for row in marks_of(heads, head)):
            raise NotExportableError("log-sum-exps beside a query that sees nothing have no form in Coq here")
        logs, stated_logs = exact.logarithms(heads.given[LSE][BASE]), builder.table("log_sums", heads.logarithms)
        bounds = f"[{'; '.join(_bounds(builder, OF_LSE, asserts[OF_LSE], count, *_DISTANCES[ERROR][1:]))}]"
        left = Side(f"(map (@concat R) {logs.term})", f"(S.by_head_correct _ _ {logs.proof})")
        right = Side(stated_logs.term, f"(S.stated_rows_correct {bits.sums_term} {stated_logs.arguments})")
        logs_beside = distances("linf", left, right, bounds, bits.sums_term)
        # Heads of keys that are shared.
        conjuncts.append(replace(logs_beside, proof=f"rewrite ?shared_map. {logs_beside.proof}"))
        sums.append(1)
    return softmax_instance(builder, conjuncts, sums, size, bits, fast=fast)


def _require_known(stated: Values, record: Record, known: Sequence[Field[Any]]) -> None:
    """A theorem that left out what it does not know would be another statement. Raises NotExportableError."""
    unknown = [field.name for field in record.fields.values() if field in stated and field not in known]
    if unknown:
        names = ", ".join(field.name for field in known)
        raise NotExportableError(f"{', '.join(unknown)} has no form in Coq here; what has is {names}")


def _asserted(builder: Builder, stated: AssertedErrors) -> Iterator[str]:
    """What is asserted of the output, as `assertion` of the library has it."""
    heads, asserts = stated.heads, stated.asserts
    for measure, (whose, every, some) in _DISTANCES.items():
        if measure in asserts:
            count = heads.count * (heads.queries if measure is RELATIVE else 1)
            yield f"{whose} [{'; '.join(_bounds(builder, measure, asserts[measure], count, every, some))}]"
    if ULPS in asserts:
        precision, least = stated.format
        for field in (AT_MOST, AT_LEAST):
            if field in asserts[ULPS]:
                bound = builder.number(f"ulps_{field.name}", asserts[ULPS][field])
                yield f"ulps_{field.name} {integer(precision)} ({integer(least)}) {bound.arguments}"
    if BEYOND in asserts:
        radius = builder.number("radius", asserts[BEYOND][RADIUS])
        for counted in (NO_MORE, NO_FEWER):
            if counted in asserts[BEYOND]:
                yield f"beyond_{counted.name} {radius.arguments} {integer(asserts[BEYOND][counted])}"


def _bounds(
    builder: Builder, measure: Field[Values], stated: Values, count: int, every: str, some: str
) -> Iterator[str]:
    """The bounds of a distance: one from above for each of so many, and one from below."""
    if AT_MOST in stated:
        yield f"{every} {builder.row(f'{measure.name}_at_most', [stated[AT_MOST]] * count).arguments}"
    if AT_LEAST in stated:
        yield f"{some} {builder.number(f'{measure.name}_at_least', stated[AT_LEAST]).arguments}"


# -- precision


def _size(heads: StatedHeads) -> Size:
    queries, keys, values, output = heads.exact
    # tanh takes an exponential, too.
    exponentials = 2 if SOFT_CAP in heads.given else 1
    weights = exponentials * sum(sum(row) for head in range(heads.count) for row in marks_of(heads, head))
    score = arb(0)
    for head in range(heads.count):
        of_head = (_part(queries, head, heads.queries), _part(keys, head // heads.shared, heads.tokens))
        rule, farthest = heads.rule(head), max(map(abs, heads.sight(head).diagonal)) + heads.tokens
        beside = (rule.cap or fmpq(0)) + abs(rule.slope) * farthest + abs(rule.sink or fmpq(0))
        score = score.max(largest_score(of_head[1], of_head[0], heads.scale) + beside)
    value = max(largest(values), largest(output), fmpq(1))
    return Size(weights, heads.tokens, values.columns, value, score)


def _part(stacked: ExactMatrix, index: int, rows: int) -> ExactMatrix:
    """One of several matrices of so many rows, which stand one below the other."""
    return stacked.take_rows(range(index * rows, (index + 1) * rows))


@dataclass(frozen=True)
class _Compared:
    """An error beside the unit that its bound is in; Coq has to decide numbers as far apart as `beside`, too."""

    error: arb
    unit: arb
    beside: arb

    def below(self, bound: fmpq) -> arb:
        """By how much the error is less than so many units."""
        return ((bound * self.unit - self.error) / (1 + bound)).min(self.beside)

    def above(self, bound: fmpq) -> arb:
        return ((self.error - bound * self.unit) / (1 + bound)).min(self.beside)


_ONE = arb(1)
# An output of 0 where 0 is exact, of a query that sees nothing: that is no matter of enclosures.
_NOTHING = _Compared(arb(0), _ONE, _ONE)


@dataclass(frozen=True)
class _Measured:
    """What is compared with bounds, as balls of a working precision of SLACK_BITS."""

    stated: AssertedErrors

    @cached_property
    def rows(self) -> list[list[Row]]:
        """The rows of each head."""
        return [list(exact_rows(self.stated.heads, head)) for head in range(self.stated.heads.count)]

    @property
    def entries(self) -> list[tuple[arb, arb]]:
        """T - o and T for every entry."""
        return [pair for rows in self.rows for row in rows for pair in zip(row.off, row.exact, strict=True)]

    @cached_property
    def exponents(self) -> list[int]:
        """That of the unit in the last place of every exact value. Raises NotExportableError where one may have two."""
        units = [unit(abs(t), *self.stated.format) for _, t in self.entries]
        if not all(each.is_exact() for each in units):
            raise NotExportableError(
                "an exact value is a power of two or nearly so, and intervals never tell which unit in the last place "
                "it has: a certificate without `ulps` can be exported"
            )
        return [int(each.man_exp()[1]) for each in units]

    def slack(self) -> arb:
        """The least distance of an error from its bound: more than 0. Raises NotExportableError where it is not."""
        slack = _ONE
        for field, compared in self._compared.items():
            if field in self.stated.asserts:
                slack = slack.min(_slack(compared(), self.stated.asserts[field]))
        if BEYOND in self.stated.asserts:
            slack = slack.min(self._beyond(self.stated.asserts[BEYOND]))
        return required_slack(slack)

    @property
    def _compared(self) -> dict[Field[Values], Callable[[], list[_Compared]]]:
        return {
            ERROR: lambda: [_Compared(abs(x), _ONE, _ONE) for x, _ in self.entries],
            RMS: lambda: [_Compared(_root_mean_square(rows), _ONE, _ONE) for rows in self.rows],
            RELATIVE: self._by_row,
            ULPS: self._in_units,
            OF_LSE: self._log_sums,
        }

    def _by_row(self) -> list[_Compared]:
        sizes = [(l2_norm(row.off), l2_norm(row.exact)) for rows in self.rows for row in rows]
        return [_NOTHING if exact == 0 and off == 0 else _Compared(off, exact, exact) for off, exact in sizes]

    def _in_units(self) -> list[_Compared]:
        """That a value has its unit is decided by the powers of two around it."""
        precision, least = self.stated.format
        found = []
        for (x, t), exponent in zip(self.entries, self.exponents, strict=True):
            if x == 0 and t == 0:
                found.append(_NOTHING)
                continue
            size, below, above = abs(t), *(arb(2) ** (exponent + precision - k) for k in (1, 0))
            is_least = exponent == least - precision + 1
            beside = above - size if is_least else (above - size).min(size - below)
            found.append(_Compared(abs(x), arb(2) ** exponent, beside))
        return found

    def _log_sums(self) -> list[_Compared]:
        heads = self.stated.heads
        off = (lse_off(heads, head, (row.logarithm for row in rows)) for head, rows in enumerate(self.rows))
        return [_Compared(x, _ONE, _ONE) for of_head in off for x in of_head]

    def _beyond(self, stated: Values) -> arb:
        """The least distance of an error from the radius; 0 where other numbers are beyond it than are stated."""
        errors = [abs(x) - stated[RADIUS] for x, _ in self.entries]
        count = sum((error > 0) is True for error in errors)
        fewest, most = stated.get(NO_FEWER), stated.get(NO_MORE)
        if (fewest is not None and count < fewest) or (most is not None and count > most):
            return arb(0)
        return reduce(arb.min, (abs(error) for error in errors))


def _root_mean_square(rows: Sequence[Row]) -> arb:
    entries = [x for row in rows for x in row.off]
    return l2_norm(entries) / arb(len(entries)).sqrt()


def _slack(compared: Sequence[_Compared], stated: Values) -> arb:
    """How far all of them are below one bound, and one of them is above the other."""
    slack = _ONE
    if AT_MOST in stated:
        slack = reduce(arb.min, (each.below(stated[AT_MOST]) for each in compared), slack)
    if AT_LEAST in stated:
        slack = slack.min(reduce(arb.max, (each.above(stated[AT_LEAST]) for each in compared)))
    return slack
