"""Heads of attention as a certificate states them: queries, keys, values and an output, and who sees what."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certattn.kernel.document.matrices import MatrixInput, Numbers, Tensor
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Choice, Count, Field, Kind, Listing, Reading, Record, Rule, Scale, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import Real, describe
from certattn.kernel.theorems.attention.score_rules import ALIBI, SINKS, SOFT_CAP, ScoreRule

TOP_LEFT, BOTTOM_RIGHT = "top-left", "bottom-right"
ZERO = "zero"
# Every one has obligations of its own, which are listed before any array is read.
MOST_HEADS = 2**16
# Types of masks in array files that are a byte for each token.
MASK_TYPES = ("uint8", "int8")


class Offset(Kind[int | str]):
    """How far the diagonal of a causal mask is moved: a number of tokens, or where it begins or ends."""

    _named, _number = Choice((TOP_LEFT, BOTTOM_RIGHT)), Count(0)
    written = (_named, _number)

    def read(self, node: Node, reading: Reading) -> int | str:
        if isinstance(node.value, str) and node.value in self._named.words:
            return self._named.read(node, reading)
        try:
            return self._number.read(node, reading)
        except MalformedError:
            raise node.malformed(f"{TOP_LEFT}, {BOTTOM_RIGHT}, or an integer >= 0") from None


QUERIES = Field("queries", Tensor(), "queries: a matrix with one per row, or such matrices by head, or batch and head")
KEYS = Field("keys", Tensor(), "keys, likewise; of fewer heads, where several query heads share one")
VALUES = Field("values", Tensor(), "values, paired with the keys")
OUTPUT = Field("output", Tensor(), "what a kernel has computed, a row for each query")
SCALE = Field("scale", Scale(), "factor of the scores, such as 1/sqrt(64)")
CAUSAL = Field(
    "causal",
    Offset(),
    "query i sees the tokens up to i plus this number: top-left is 0, bottom-right lets the last query see all",
    required=False,
)
WINDOW = Field("window", Count(1), "how many tokens a query sees at most, the last of a causal mask", required=False)
LENGTHS = Field("lengths", Listing(Count(1)), "how many tokens each batch has; the rest is unseen", required=False)
OF_QUERIES = Field("queries", Listing(Count(1)), "how many queries each sequence has")
OF_KEYS = Field("keys", Listing(Count(1)), "how many tokens it has")
SEQUENCES = Field(
    "sequences", Record(OF_QUERIES, OF_KEYS), "packed sequences, which do not see each other", required=False
)
MASK = Field("mask", Tensor(), "1 where a query may see a token, m x n, by head or batch and head", required=False)
EMPTY = Field("empty", Choice((ZERO,)), "what a query that sees no token should have returned", required=False)
LOGARITHMS = Field("value", Numbers(), "log Z, a number per query")
BASE = Field("base", Choice(("e", "2")), "the base of the logarithm")
LSE = Field("lse", Record(LOGARITHMS, BASE), "what the kernel returned as log-sum-exp of the scores", required=False)


def _window_is_causal(values: Values) -> None:
    if WINDOW in values and CAUSAL not in values:
        raise values.node(WINDOW).malformed("a window of a causal mask", "no causal mask beside it")


def _one_partition(values: Values) -> None:
    if LENGTHS in values and SEQUENCES in values:
        raise values.node(LENGTHS).malformed("lengths, or sequences", "both")


SIGHT_RULES: Sequence[Rule] = (_window_is_causal, _one_partition)
GIVEN = Record(
    QUERIES, KEYS, VALUES, OUTPUT, SCALE, CAUSAL, WINDOW, LENGTHS, SEQUENCES, MASK, EMPTY, SOFT_CAP, ALIBI, SINKS, LSE,
    rules=SIGHT_RULES,
)  # fmt: skip


@dataclass(frozen=True)
class Sight:
    """Of each query of a head the tokens that it sees, but for a mask: from first[i] on, up to and without last[i].

    `diagonal` is the token on the diagonal of a query, which there need not be; first <= last.
    """

    first: tuple[int, ...]
    last: tuple[int, ...]
    diagonal: tuple[int, ...]

    def runs(self) -> Iterator[tuple[range, range]]:
        """Queries one after the other that see the same tokens, and these."""
        start = 0
        for i in range(1, len(self.first) + 1):
            if i == len(self.first) or (self.first[i], self.last[i]) != (self.first[start], self.last[start]):
                yield range(start, i), range(self.first[start], self.last[start])
                start = i


def sight_of(queries: Sequence[int], keys: Sequence[int], causal: int | str | None, window: int | None) -> Sight:
    """What queries of sequences with so many queries and tokens see, one sequence after the other."""
    first, last, diagonal, token = list[int](), list[int](), list[int](), 0
    for m, n in zip(queries, keys, strict=True):
        offset = _offset(causal, m, n)
        for i in range(m):
            place = i + (n - m if offset is None else offset)
            end = n if offset is None else max(0, min(n, place + 1))
            begin = 0 if offset is None or window is None else min(end, max(0, place + 1 - window))
            first.append(token + begin)
            last.append(token + end)
            diagonal.append(token + place)
        token += n
    return Sight(tuple(first), tuple(last), tuple(diagonal))


def blind_query(
    queries: Sequence[int], keys: Sequence[int], causal: int | str | None, window: int | None
) -> int | None:
    """The first query that sees nothing, from the sizes alone: these are stated, and no array may be so large."""
    before = 0
    for m, n in zip(queries, keys, strict=True):
        offset = _offset(causal, m, n)
        if offset is not None:
            if offset < 0:
                return before
            # The window has left the tokens behind.
            beyond = m if window is None else n + window - offset - 1
            if beyond < m:
                return before + max(0, beyond)
        before += m
    return None


def _offset(causal: int | str | None, m: int, n: int) -> int | None:
    return {TOP_LEFT: 0, BOTTOM_RIGHT: n - m}[causal] if isinstance(causal, str) else causal


@dataclass(frozen=True)
class StatedHeads:
    """Query heads in their order, with checked shapes; arrays are read when first needed.

    `batches` x `heads` matrices of m queries and of the output, `shared` times fewer of n keys and values.
    """

    given: Values
    batches: int
    heads: int
    shared: int

    @property
    def arrays(self) -> tuple[MatrixInput, MatrixInput, MatrixInput, MatrixInput]:
        """Queries, keys, values and the output."""
        return self.given[QUERIES], self.given[KEYS], self.given[VALUES], self.given[OUTPUT]

    @property
    def scale(self) -> Real:
        return self.given[SCALE]

    @property
    def count(self) -> int:
        """The number of query heads, over all batches."""
        return self.batches * self.heads

    @property
    def queries(self) -> int:
        """m."""
        return self.given[QUERIES].extents[-2]

    @property
    def tokens(self) -> int:
        """n."""
        return self.given[KEYS].extents[-2]

    def place(self, head: int) -> str:
        """[batch][head], as names of obligations have it."""
        return f"[{head // self.heads}][{head % self.heads}]"

    def sight(self, head: int) -> Sight:
        """What the queries of a head see."""
        return self._sights[head // self.heads if LENGTHS in self.given else 0]

    @cached_property
    def _sights(self) -> list[Sight]:
        causal, window = self.given.get(CAUSAL), self.given.get(WINDOW)
        return [sight_of(queries, keys, causal, window) for queries, keys in self._sizes]

    @property
    def _sizes(self) -> list[tuple[list[int], list[int]]]:
        """How many queries and tokens there are, by sequence; for each batch where these differ."""
        given = self.given
        if SEQUENCES in given:
            queries, keys = given[SEQUENCES][OF_QUERIES], given[SEQUENCES][OF_KEYS]
            return [(queries, keys)]
        return [([self.queries], [length]) for length in given.items(LENGTHS) or [self.tokens]]

    def rule(self, head: int) -> ScoreRule:
        """What is done to the scores of a head."""
        given, place = self.given, head % self.heads
        slope = given[ALIBI].load().entry(0, place) if ALIBI in given else fmpq(0)
        sink = given[SINKS].load().entry(0, place) if SINKS in given else None
        return ScoreRule(given.get(SOFT_CAP), slope, sink)

    @property
    def empty_allowed(self) -> bool:
        """Whether a query may see nothing: the output of it is stated, or is that of the sink, which is 0, too."""
        return EMPTY in self.given or SINKS in self.given

    def refuse_empty(self, query: int) -> MalformedError:
        """For a query that sees nothing where it is not said what that means."""
        field = MASK if MASK in self.given else CAUSAL
        # Where there is no output, nothing is expected of it.
        hint = "state what a kernel returns there, with 'empty: zero'" if OUTPUT in self.given else ""
        expected, found = "a mask under which every query sees a token", f"query {query}, which sees none"
        return self.given.node(field).malformed(expected, found, hint)

    def require_sight(self) -> None:
        """Raises MalformedError for a query that sees nothing, as far as that follows from sizes."""
        if self.empty_allowed:
            return
        for queries, keys in self._sizes:
            blind = blind_query(queries, keys, self.given.get(CAUSAL), self.given.get(WINDOW))
            if blind is not None:
                raise self.refuse_empty(blind)

    def visible(self, head: int, query: int, tokens: range) -> Sequence[int]:
        """Of some tokens those that the stated mask lets a query see. Raises MalformedError for a mask that is none."""
        if MASK not in self.given:
            return tokens
        which = self.mask_of(head) * self.queries + query
        row = self.mask.row(which)
        for place, number in enumerate(row):
            if number not in (0, 1):
                raise self.not_a_mask(describe(number), which * len(row) + place)
        return [j for j in tokens if row[j] == 1]

    def not_a_mask(self, number: str, index: int) -> MalformedError:
        """For a mask with another number, counted row by row over all masks."""
        place = list[int]()
        for extent in reversed(self.given[MASK].extents):
            index, last = divmod(index, extent)
            place.insert(0, last)
        return self.given.node(MASK).malformed("a mask of 0 and 1", f"{number} at {place} (counted from 0)")

    @cached_property
    def mask(self) -> ExactMatrix:
        """The stated masks, one below the other."""
        return self.given[MASK].load()

    def mask_of(self, head: int) -> int:
        """Which of the stated masks is that of a head: an extent of 1 stands for all."""
        *outer, _, _ = self.given[MASK].extents
        batches, heads = [1] * (2 - len(outer)) + outer
        batch, place = divmod(head, self.heads)
        return (batch if batches > 1 else 0) * heads + (place if heads > 1 else 0)

    @cached_property
    def exact(self) -> tuple[ExactMatrix, ExactMatrix, ExactMatrix, ExactMatrix]:
        """The numbers of `arrays`, matrices one below the other."""
        queries, keys, values, output = (part.load() for part in self.arrays)
        return queries, keys, values, output

    @cached_property
    def logarithms(self) -> ExactMatrix:
        """The returned log-sum-exps, a row for each head."""
        return self.given[LSE][LOGARITHMS].load()


def read_heads(given: Values) -> StatedHeads:
    """The heads in a record of GIVEN, or of one without an output; every dimension checked. Raises MalformedError."""
    queries, keys, values, output = given[QUERIES], given[KEYS], given[VALUES], given.get(OUTPUT)
    for part in (keys, values, *([output] if output is not None else [])):
        if len(part.extents) != len(queries.extents):
            expected = f"{len(queries.extents)} dimensions, like the queries"
            raise part.node.malformed(expected, f"{len(part.extents)} dimensions")
    *outer, m, d = queries.extents
    *fewer, n, _ = keys.extents
    heads, key_heads = (outer[-1], fewer[-1]) if outer else (1, 1)
    if outer[:-1] != fewer[:-1]:
        raise keys.node.malformed(f"a batch of {outer[0]}, like the queries", f"a batch of {fewer[0]}")
    if outer and math.prod(outer) > MOST_HEADS:
        raise queries.node.malformed(f"at most {MOST_HEADS} heads over all batches", f"{math.prod(outer)}")
    if heads % key_heads:
        raise keys.node.malformed(f"a number of heads that divides {heads}, that of the queries", f"{key_heads} heads")
    _require_extents(keys, (*fewer, n, d), "of the queries' dimension")
    _require_extents(values, (*fewer, n, values.extents[-1]), "paired with the keys")
    if output is not None:
        _require_extents(output, (*outer, m, values.extents[-1]), "a row for each query, of the values' dimension")
    if LSE in given:
        logarithms = given[LSE][LOGARITHMS]
        wanted = (1, m) if not outer and len(logarithms.extents) == 2 else (*outer, m)
        _require_extents(logarithms, wanted, "a number for each query")
    stated = StatedHeads(given, outer[0] if len(outer) == 2 else 1, heads, heads // key_heads)
    for each in (ALIBI, SINKS):
        if each in given:
            _require_extents(given[each], (heads,), "a number for each query head")
    if MASK in given:
        _require_mask(given[MASK], (stated.batches, heads), (m, n))
    if LENGTHS in given:
        lengths = given[LENGTHS]
        if len(lengths) != stated.batches:
            expected = f"{counted(stated.batches, 'length')}, one for each of the batch"
            raise given.node(LENGTHS).malformed(expected, counted(len(lengths), "length"))
        if max(lengths) > n:
            raise given.node(LENGTHS).malformed(f"lengths of at most {n}, the number of keys", f"{max(lengths)}")
    if SEQUENCES in given:
        of = given[SEQUENCES]
        if len(of[OF_QUERIES]) != len(of[OF_KEYS]):
            expected = f"{counted(len(of[OF_QUERIES]), 'length')}, one for each sequence"
            raise of.node(OF_KEYS).malformed(expected, counted(len(of[OF_KEYS]), "length"))
        for field, whole, what in ((OF_QUERIES, m, "queries"), (OF_KEYS, n, "keys")):
            total = sum(length for length in of[field])
            if total != whole:
                raise of.node(field).malformed(f"lengths that sum to {whole}, the {what}", f"a sum of {total}")
    stated.require_sight()
    return stated


def _require_extents(part: MatrixInput, wanted: tuple[int, ...], why: str) -> None:
    if part.extents != wanted:
        shown = " x ".join(map(str, wanted))
        raise part.node.malformed(f"{shown} numbers ({why})", " x ".join(map(str, part.extents)))


def _require_mask(part: MatrixInput, outer: tuple[int, int], inner: tuple[int, int]) -> None:
    """A row for each query and a column for each token, of as many heads and batches, or of 1 for all."""
    *found, m, n = part.extents
    fits = all(extent in (1, whole) for extent, whole in zip(reversed(found), reversed(outer), strict=False))
    if (m, n) != inner or not fits:
        expected = f"a mask of {inner[0]} x {inner[1]}, for all heads, or {outer[0]} x {outer[1]} of them"
        raise part.node.malformed(expected, " x ".join(map(str, part.extents)))
