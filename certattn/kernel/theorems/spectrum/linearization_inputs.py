"""What `linearization` is given: queries, keys, and the scale of their scores or what it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.schema import Field, Rational, Record, Scale, Values
from certattn.kernel.mathematics.attention_matrix import is_uniform
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.linearization import STAGES, Parts, parts
from certattn.kernel.mathematics.reals import Real, describe, real_root, square
from certattn.kernel.mathematics.singular_values import FixedPoint
from certattn.kernel.theorems.spectrum.law_numbers import BETA, LARGEST_BETA
from certattn.kernel.theorems.spectrum.stated_matrix import KEYS, QUERIES, Spectrum, StatedMatrix, require_tokens

GIVEN_SCALE = Field("scale", Scale(), "factor of the scores; with beta it may be left out", required=False)
GIVEN_BETA = Field("beta", BETA.kind, BETA.doc, required=False)
UNIT = Field(
    "unit", Rational(above=0), "what numbers of queries and keys are multiples of; 1 by default", required=False
)
GIVEN = Record(QUERIES, KEYS, GIVEN_SCALE, GIVEN_BETA, UNIT)
LINEAR = "linear"


@dataclass(frozen=True)
class Temperature:
    """beta, and the unit u: tokens have the queries u q_i and the keys u k_j."""

    beta: fmpq
    unit: fmpq

    def scale(self, width: int) -> Real:
        """s = beta u^2/sqrt(p), p the dimension of queries and keys."""
        return real_root(self.scale_square(width))

    def scale_square(self, width: int) -> fmpq:
        """s^2 = beta^2 u^4/p."""
        root = self.beta * self.unit * self.unit
        return root * root / width

    def rate(self, width: int) -> fmpq:
        """beta^2 u^2/(2p): times |q_i|^2 it is half the variance of a score given the query."""
        root = self.beta * self.unit
        return root * root / (2 * width)


@dataclass(frozen=True)
class Attention:
    """d >= 2 queries and keys with the scale of their scores, and beta where it is given."""

    queries: MatrixInput
    keys: MatrixInput
    scale: Real
    temperature: Temperature | None

    @property
    def size(self) -> int:
        """d."""
        return self.keys.shape[0]

    @property
    def width(self) -> int:
        """p."""
        return self.keys.shape[1]

    @property
    def rate(self) -> fmpq | None:
        """What c_i is |q_i|^2 times; None without beta."""
        return None if self.temperature is None else self.temperature.rate(self.width)

    @cached_property
    def exact(self) -> tuple[ExactMatrix, ExactMatrix]:
        """Queries and keys."""
        return self.queries.load(), self.keys.load()

    @cached_property
    def is_uniform(self) -> bool:
        """Whether A = 11'/d exactly, so that M is 0."""
        return is_uniform(*self.exact)

    @cached_property
    def stages(self) -> dict[str, StageMatrix]:
        """All of them, by name."""
        return {name: StageMatrix(self, name) for name in STAGES}

    def parts(self, bits: int) -> Parts:
        """M, L and tbar at the working precision."""
        if bits not in self._parts:
            self._parts[bits] = parts(*self.exact, self.scale, self.rate)
        return self._parts[bits]

    @cached_property
    def _parts(self) -> dict[int, Parts]:
        return {}

    # -- what obligations are made of, in Arb

    def spectrum(self, stage: str, bits: int) -> Spectrum:
        """Of a stage, at the working precision, which is `bits`."""
        return self.stages[stage].spectrum(bits)

    def excess(self, bits: int) -> Sequence[arb]:
        """tbar_i, likewise."""
        return self.parts(self.stages[LINEAR].own_bits(bits)).excess


@dataclass(frozen=True)
class StageMatrix(StatedMatrix):
    """One of STAGES, d x d."""

    attention: Attention
    name: str

    @property
    def shape(self) -> tuple[int, int]:
        return self.attention.size, self.attention.size

    @property
    def inputs(self) -> Sequence[MatrixInput]:
        return [self.attention.queries, self.attention.keys]

    def words(self) -> str:
        return self.name

    @property
    def latex(self) -> str:
        return ""

    def fixed_point(self, bits: int) -> FixedPoint | None:
        return FixedPoint.rounded(self.attention.parts(bits).rows(STAGES[self.name]), bits)

    @property
    def rank_bound(self) -> int:
        # All end with Pi; L = s Q K' Pi / sqrt(d).
        rank = self.count - 1
        return min(rank, self.attention.width) if self.name == LINEAR else rank

    @property
    def is_zero(self) -> bool:
        # Where M is 0, all scores of a query are equal: so are L and T Pi.
        return self.attention.is_uniform


def read_attention(given: Values) -> Attention:
    """Shapes that fit, and a scale that is beta's. Raises MalformedError."""
    queries, keys = given[QUERIES], given[KEYS]
    require_tokens(queries, keys)
    if keys.shape[0] < 2:
        raise keys.node.malformed("at least 2 queries and keys", "1 of each: of one token A is 1, and M and L are 0")
    temperature = _read_temperature(given)
    if temperature is None:
        if GIVEN_SCALE not in given:
            raise given.at.malformed("scale, or beta")
        return Attention(queries, keys, given[GIVEN_SCALE], None)
    scale = temperature.scale(keys.shape[1])
    stated = given.get(GIVEN_SCALE)
    if stated is not None:
        negative = isinstance(stated, fmpq) and stated < 0
        if negative or square(stated) != square(scale):
            expected = f"scale = beta unit^2/sqrt(p) = {describe(scale)}, or none"
            raise given.node(GIVEN_SCALE).malformed(expected, describe(stated))
    return Attention(queries, keys, scale, temperature)


def _read_temperature(given: Values) -> Temperature | None:
    if GIVEN_BETA not in given:
        if UNIT in given:
            raise given.node(UNIT).malformed("no unit without beta", f"the unit {describe(given[UNIT])} and no beta")
        return None
    beta = given[GIVEN_BETA]
    if beta > LARGEST_BETA:
        raise given.node(GIVEN_BETA).malformed(f"a number of at most {LARGEST_BETA}")
    return Temperature(beta, given[UNIT] if UNIT in given else fmpq(1))
