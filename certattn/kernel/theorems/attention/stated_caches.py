"""A cache of keys and values as a certificate states it: tokens that were kept, quantised, or merged.

A part of a cache, its keys or its values, is an array of numbers, or codes with a scale z and, if stated, a zero point
o before it and an offset r after it:

    x = z (code - o) + r

Scales, zero points and offsets have the dimensions of the codes, and each of their extents divides that of the codes:
entry i of an axis with a codes takes entry floor(i g / a) of one with g scales. So (n, 1) is a scale for each
token, (1, d) one for each channel, (n, d / 32) one for groups of 32 channels.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from flint import fmpq, fmpz_mat

from certattn.kernel.document.matrices import MatrixInput, Numbers, Tensor
from certattn.kernel.document.schema import Choice, Field, Kind, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.attention.stated_heads import CAUSAL, KEYS, LENGTHS, SEQUENCES, VALUES, Sight, StatedHeads

LOW_FIRST, HIGH_FIRST = "low-first", "high-first"
# Number types of packed codes.
_BYTES = ("uint8", "int8")

CODES = Field("codes", Tensor(), "what is stored of each number: integers, or floats of eight bits")
STEP = Field("scale", Tensor(), "scales, each for as many codes as its extents say")
ZERO = Field("zero", Tensor(), "zero points, which are taken from the codes before they are scaled", required=False)
SHIFT = Field("offset", Tensor(), "numbers that are added to the scaled codes", required=False)
PACKED = Field(
    "packed",
    Choice((LOW_FIRST, HIGH_FIRST)),
    "a byte holds two codes that follow each other: of uint8 from 0 to 15, of int8 from -8 to 7; which half is first",
    required=False,
)
QUANTISED = Record(CODES, STEP, ZERO, SHIFT, PACKED)


@dataclass(frozen=True)
class CachedArray:
    """Keys or values of a cache: `numbers` as they stand, or codes, and what makes numbers of them."""

    numbers: MatrixInput
    steps: Values | None = None

    @property
    def node(self) -> Node:
        return self.numbers.node

    @property
    def packed(self) -> str | None:
        return None if self.steps is None else self.steps.get(PACKED)

    @property
    def extents(self) -> tuple[int, ...]:
        """Of the numbers that are meant."""
        *outer, last = self.numbers.extents
        return *outer, last if self.packed is None else 2 * last

    @property
    def scale(self) -> MatrixInput | None:
        return None if self.steps is None else self.steps[STEP]

    @property
    def zero(self) -> MatrixInput | None:
        return None if self.steps is None else self.steps.get(ZERO)

    @property
    def offset(self) -> MatrixInput | None:
        return None if self.steps is None else self.steps.get(SHIFT)

    @property
    def inputs(self) -> list[MatrixInput]:
        """Everything that it is made of."""
        return [part for part in (self.numbers, self.scale, self.zero, self.offset) if part is not None]

    def load(self) -> ExactMatrix:
        """The numbers, exactly; matrices one below the other."""
        codes = self.numbers.load()
        if self.packed is not None:
            codes = unpacked(codes, first_is_low=self.packed == LOW_FIRST, signed=self.is_signed)
        if self.scale is None:
            return codes
        if self.zero is not None:
            codes = codes - self._for_each_code(self.zero)
        found = entrywise_product(self._for_each_code(self.scale), codes)
        return found if self.offset is None else found + self._for_each_code(self.offset)

    @property
    def is_signed(self) -> bool:
        """Whether packed codes may be negative."""
        stored = self.numbers.stored
        return stored is not None and stored.dtype == "int8"

    def _for_each_code(self, part: MatrixInput) -> ExactMatrix:
        """Scales, or what else there is, in the shape of the codes."""
        flat, fine = part.load(), self.extents
        entries = flat.numerators.entries()
        spread = [entries[index] for index in coarse_indices(fine, part.extents)]
        return ExactMatrix(fmpz_mat(len(spread) // fine[-1], fine[-1], spread), flat.denominator)

    def require_fit(self) -> None:
        """Raises MalformedError where scales do not divide the codes, or packed codes are no bytes."""
        stored = self.numbers.stored
        if self.packed is not None and (stored is None or stored.dtype not in _BYTES):
            found = "numbers that are written out" if stored is None else stored.dtype
            raise self.numbers.node.malformed(f"packed codes in an array file of {' or '.join(_BYTES)}", found)
        for part in self.inputs[1:]:
            fits = len(part.extents) == len(self.extents) and not any(
                whole % groups for whole, groups in zip(self.extents, part.extents, strict=True)
            )
            if not fits:
                shown = " x ".join(map(str, self.extents))
                expected = f"as many extents as the codes have, each a divisor of theirs ({shown})"
                raise part.node.malformed(expected, " x ".join(map(str, part.extents)))


def coarse_indices(fine: Sequence[int], coarse: Sequence[int]) -> list[int]:
    """For each entry of an array the place, row after row, of that entry of a coarser one which covers it."""
    places = [0]
    for whole, groups in zip(fine, coarse, strict=True):
        places = [place * groups + i * groups // whole for place, i in product(places, range(whole))]
    return places


def unpacked(stored: ExactMatrix, *, first_is_low: bool, signed: bool) -> ExactMatrix:
    """The two codes of four bits of each byte, next to each other."""
    flat = []
    for byte in map(int, stored.numerators.entries()):
        halves = [byte & 15, byte >> 4 & 15]
        flat += halves if first_is_low else halves[::-1]
    # Two's complement: from 8 on a half is negative.
    codes = [half - 16 if signed and half >= 8 else half for half in flat]
    return ExactMatrix(fmpz_mat(stored.rows, 2 * stored.columns, codes))


def entrywise_product(left: ExactMatrix, right: ExactMatrix) -> ExactMatrix:
    pairs = zip(left.numerators.entries(), right.numerators.entries(), strict=True)
    return ExactMatrix(fmpz_mat(*left.shape, [x * y for x, y in pairs]), left.denominator * right.denominator)


class CachedPart(Kind[CachedArray]):
    """Numbers as they stand, or a mapping with codes."""

    _plain = Tensor()
    written = (_plain, QUANTISED)

    def read(self, node: Node, reading: Reading) -> CachedArray:
        if not isinstance(node.value, dict) or CODES.name not in node.value:
            return CachedArray(self._plain.read(node, reading))
        steps = QUANTISED.read(node, reading)
        found = CachedArray(steps[CODES], steps)
        found.require_fit()
        return found


KEPT = Field(
    "kept",
    Numbers(),
    "which tokens the cache holds, counted from 0, in their order: a row for all heads of keys, or one for each",
    required=False,
)
CACHED_KEYS = Field("keys", CachedPart(), "keys of the cache; those of the kept tokens if left out", required=False)
CACHED_VALUES = Field("values", CachedPart(), "values of the cache, likewise", required=False)
MULTIPLICITIES = Field(
    "multiplicities", Numbers(), "how many tokens each one of the cache stands for; 1 if left out", required=False
)
_PARTS = (KEPT, CACHED_KEYS, CACHED_VALUES, MULTIPLICITIES)


def _something(values: Values) -> None:
    if not any(field in values for field in _PARTS):
        raise values.at.malformed(" or ".join(field.name for field in _PARTS), "a cache of which nothing is said")


CACHE = Field("cache", Record(*_PARTS, rules=[_something]), "the cache that is compared with them", required=False)


@dataclass(frozen=True)
class StatedCache:
    """A cache of n' tokens for each head of keys of `heads`; its shapes are checked, arrays are read when needed."""

    heads: StatedHeads
    given: Values
    tokens: int

    @property
    def key_heads(self) -> int:
        """Over all batches."""
        return self.heads.count // self.heads.shared

    @property
    def keys(self) -> CachedArray | None:
        return self.given.get(CACHED_KEYS)

    @property
    def values(self) -> CachedArray | None:
        return self.given.get(CACHED_VALUES)

    @property
    def inputs(self) -> list[MatrixInput]:
        """Arrays of keys and values that belong to the cache alone."""
        return [part for each in (self.keys, self.values) if each is not None for part in each.inputs]

    def kept(self, key_head: int) -> Sequence[int]:
        """The tokens that the cache holds for a head of keys. Raises MalformedError."""
        if self._kept is None:
            return range(self.tokens)
        return self._kept[key_head if len(self._kept) > 1 else 0]

    @cached_property
    def _kept(self) -> list[list[int]] | None:
        part = self.given.get(KEPT)
        if part is None:
            return None
        rows = part.load().to_rows()
        n = self.heads.tokens
        for row in rows:
            for token in row:
                if token.q != 1 or token < 0 or token >= n:
                    raise part.node.malformed(f"tokens, from 0 to {n - 1}", f"{token}")
            for before, after in pairwise(row):
                if before >= after:
                    raise part.node.malformed("tokens in their order, each once", f"{after} after {before}")
        return [[int(token.p) for token in row] for row in rows]

    def multiplicities(self, key_head: int) -> list[fmpq]:
        """How many tokens each one stands for. Raises MalformedError."""
        if self._multiplicities is None:
            return [fmpq(1)] * self.tokens
        return self._multiplicities[key_head if len(self._multiplicities) > 1 else 0]

    @cached_property
    def _multiplicities(self) -> list[list[fmpq]] | None:
        part = self.given.get(MULTIPLICITIES)
        if part is None:
            return None
        rows = part.load().to_rows()
        for number in (number for row in rows for number in row):
            if (number > 0) is not True:
                raise part.node.malformed("multiplicities > 0", f"{number}")
        return rows

    def sight(self, head: int) -> Sight:
        """Which tokens of the cache, counted there, the queries of a head see. Raises MalformedError for none."""
        whole = self.heads.sight(head)
        if KEPT not in self.given and self.tokens != self.heads.tokens:
            # Nothing is hidden, as was made sure of.
            return Sight((0,) * self.heads.queries, (self.tokens,) * self.heads.queries, ())
        kept = self.kept(head // self.heads.shared)
        first, last = (tuple(bisect_left(kept, end) for end in ends) for ends in (whole.first, whole.last))
        for i, (start, stop) in enumerate(zip(first, last, strict=True)):
            if start >= stop:
                batch, place = divmod(head, self.heads.heads)
                found = f"query {i} of batch {batch}, head {place}, which sees none"
                raise self.given.node(KEPT).malformed("a cache of which every query sees a token", found)
        return Sight(first, last, ())

    def exact(self, key_head: int, keys: ExactMatrix, values: ExactMatrix) -> tuple[ExactMatrix, ExactMatrix]:
        """Keys and values of the cache for a head of keys, whose own keys and values these are."""
        kept, own = self.kept(key_head), range(key_head * self.tokens, (key_head + 1) * self.tokens)
        cached = zip(self._exact, (keys, values), strict=True)
        of_keys, of_values = (
            part.take_rows(own) if part is not None else whole.take_rows(kept) for part, whole in cached
        )
        return of_keys, of_values

    @cached_property
    def _exact(self) -> tuple[ExactMatrix | None, ExactMatrix | None]:
        keys, values = self.keys, self.values
        return keys.load() if keys is not None else None, values.load() if values is not None else None


def read_cache(heads: StatedHeads, given: Values) -> StatedCache:
    """The cache in a record of CACHE; every dimension checked. Raises MalformedError."""
    keys, values = given.get(CACHED_KEYS), given.get(CACHED_VALUES)
    *outer, n, d = heads.given[KEYS].extents
    width = heads.given[VALUES].extents[-1]
    tokens = n
    if KEPT in given:
        tokens = given[KEPT].extents[-1]
    elif keys is not None and values is not None:
        tokens = keys.extents[-2]
    for part, columns, whose in ((keys, d, "keys"), (values, width, "values")):
        if part is not None and part.extents != (*outer, tokens, columns):
            shown = " x ".join(map(str, (*outer, tokens, columns)))
            found = " x ".join(map(str, part.extents))
            raise part.node.malformed(f"{shown} numbers (tokens of the cache, in the heads of the {whose})", found)
    for field in (KEPT, MULTIPLICITIES):
        if field in given:
            *rows, columns = given[field].extents
            if columns != tokens or tuple(rows) not in {(), (1,), tuple(outer)}:
                expected = f"a number for each of the {tokens} tokens of the cache, for all heads of keys or for each"
                raise given[field].node.malformed(expected, " x ".join(map(str, given[field].extents)))
    if KEPT not in given and tokens != n:
        for mask in (CAUSAL, LENGTHS, SEQUENCES):
            if mask in heads.given:
                found = f"{tokens} tokens without places among {n}, and {mask.name}"
                raise given.at.malformed("kept, which says where the tokens of a cache stand under a mask", found)
    return StatedCache(heads, given, tokens)
