"""Heads of attention as terms of Coq: what each query sees, under which rules, and what it computes.

Where queries see ranges of tokens and nothing changes their scores, two lists say which. Under masks that are arrays,
soft caps, slopes or sinks each query has a mark for every token, 1 where it is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpz_mat

from certattn.coq.softmax_terms import Bits, Builder, Points, Side
from certattn.coq.terms import Row, natural
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.score_rules import ALIBI, SINKS, SOFT_CAP
from certattn.kernel.theorems.attention.stated_heads import EMPTY, MASK, StatedHeads


@dataclass(frozen=True)
class ExactHeads:
    """Constants of all heads, and what is computed at their queries: see `at_heads` of the library.

    `shown` are the constants with what each query sees; under rules that change scores, slopes and sinks as well.
    """

    scale: str
    bits: Bits
    keys: Points
    values: Points
    queries: Points
    shown: str
    rules: _Rules | None

    @classmethod
    def of(cls, builder: Builder, heads: StatedHeads, bits: Bits) -> ExactHeads:
        queries, keys, values, _ = heads.exact
        scale = builder.factor("scale", heads.scale)
        if _is_ruled(heads):
            rules = _Rules.of(builder, heads)
            shown = rules.shown
        else:
            rules, sights = None, [heads.sight(head) for head in range(heads.count)]
            shown = builder.sights([each.first for each in sights], [each.last for each in sights], heads.tokens)
        points = builder.tables("queries", queries, heads.count)
        key_heads = heads.count // heads.shared
        shared = _shared(builder.tables("keys", keys, key_heads), heads.shared)
        of_values = _shared(builder.tables("values", values, key_heads), heads.shared)
        return cls(scale, bits, shared, of_values, points, shown, rules)

    def attention(self) -> Side:
        if self.rules is not None:
            return self._ruled(self.rules, "ruled_attention", "enc_ruled_attention", "visible")
        return self._at_heads(f"(attention {self.scale})", "enc_attention_seen")

    def logarithms(self, base: str) -> Side:
        """log Z, to this base."""
        suffix = "2" if base == "2" else ""
        if self.rules is not None:
            return self._ruled(self.rules, f"ruled_log{suffix}", f"enc_ruled_log{suffix}", "weighed")
        return self._at_heads(f"(fun K _ => log{suffix}_normaliser {self.scale} K)", f"enc_log{suffix}_seen")

    @property
    def _precisions(self) -> str:
        return f"{self.bits.sums_term} {self.bits.exponentials_term}"

    @property
    def _denominators(self) -> str:
        return f"{self.keys.denominator} {self.values.denominator} {self.queries.denominator}"

    def _at_heads(self, function: str, enclosed: str) -> Side:
        """A function of keys, values and queries; `enclosed` is the lemma about it."""
        lemma = f"(S.{enclosed} {self._precisions} {self.scale} {self._denominators})"
        lists = f"{self.keys.integers} {self.values.integers} {self.shown} {self.queries.integers}"
        return Side(
            f"(at_heads {function} {self.keys.term} {self.values.term} {self.shown} {self.queries.term})",
            f"(S.heads_correct _ _ _ {self._denominators} {lemma} {lists} _)",
        )

    def _ruled(self, rules: _Rules, function: str, enclosed: str, condition: str) -> Side:
        """The same under rules; `condition` is what the lemma wants of marks."""
        lemma = f"(S.{enclosed} {self._precisions} {rules.cap} {self.scale} {self._denominators})"
        lists = f"{rules.slopes.name} {self.shown} {self.keys.integers} {self.values.integers} {self.queries.integers}"
        return Side(
            f"(ruled_heads ({function} {rules.cap} {self.scale}) {rules.slopes.term} {self.shown} "
            f"{self.keys.term} {self.values.term} {self.queries.term})",
            f"(S.ruled_heads_correct _ _ (S.{condition} {rules.cap}) {self.bits.sums_term} {rules.slopes.name}_den "
            f"{self._denominators} {lemma} {lists} _)",
        )


@dataclass(frozen=True)
class _Rules:
    """What is done to scores as constants; `shown`: sinks, diagonals and marks of what is seen, by head and query."""

    cap: str
    slopes: Row
    shown: str

    @classmethod
    def of(cls, builder: Builder, heads: StatedHeads) -> _Rules:
        count, given = heads.count, heads.given
        rules = [heads.rule(head) for head in range(count)]
        cap, sinks = "uncapped", f"(repeat no_sink {natural(count)})"
        if SOFT_CAP in given:
            cap = f"(capped {builder.number('cap', given[SOFT_CAP]).arguments})"
        slopes = builder.row("slopes", [rule.slope for rule in rules])
        if SINKS in given:
            constant = builder.row("sinks", [rule.sink for rule in rules if rule.sink is not None])
            sinks = f"(map (sink_of {constant.name}_den) {constant.name})"
        diagonal = builder.table("diagonal", _whole([heads.sight(head).diagonal for head in range(count)]))
        marks = builder.tables("marks", _whole([row for head in range(count) for row in marks_of(heads, head)]), count)
        return cls(cap, slopes, f"{sinks} {diagonal.integers} {marks.integers}")


def _is_ruled(heads: StatedHeads) -> bool:
    """Whether there is more than ranges of tokens under scores as they are."""
    return any(field in heads.given for field in (MASK, EMPTY, SOFT_CAP, ALIBI, SINKS))


def marks_of(heads: StatedHeads, head: int) -> list[list[int]]:
    """A row for each query, 1 for every token that it sees."""
    sight, found = heads.sight(head), []
    for query, (first, last) in enumerate(zip(sight.first, sight.last, strict=True)):
        seen = set(heads.visible(head, query, range(first, last)))
        found.append([int(token in seen) for token in range(heads.tokens)])
    return found


def _whole(rows: Sequence[Sequence[int]]) -> ExactMatrix:
    return ExactMatrix(fmpz_mat(len(rows), len(rows[0]), [entry for row in rows for entry in row]))


def _shared(heads: Points, count: int) -> Points:
    """Heads of keys or values, each so many times, one after the other."""
    if count == 1:
        return heads
    term, integers = (f"(shared_by {natural(count)} {each})" for each in (heads.term, heads.integers))
    return Points(term, heads.denominator, integers)
