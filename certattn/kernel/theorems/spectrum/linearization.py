"""Theorem `linearization`: how far softmax attention over given queries and keys is from its linear part.

For d queries q_i and keys k_j, A_ij the softmax of s <q_i, k_j> over j, Pi = I - 11'/d,

    M = sqrt(d) (A - 11'/d),    L = (s <q_i, k_j>) Pi/sqrt(d),    N = M - L.

If beta is given, s = beta u^2/sqrt(p) for the unit u and the dimension p, and with t_ij = exp(s <q_i, k_j> - beta^2 u^2
|q_i|^2/(2p)) - 1, T = (t_ij)/sqrt(d) and tbar_i the mean of row i of (t_ij), T Pi = diag(1 + tbar) M exactly. A
certificate asserts bounds of one or more of

    remainder   |N|, and the Kolmogorov distance of its singular values to the quarter circle of variance alpha^2 =
                e^(beta^2) - 1 - beta^2, which is their limit for random queries and keys, not 0
    normaliser  max_i |tbar_i|, |M - T Pi|, max_i |tbar_i| |M|, and W_2 of the singular values of M and T Pi
    stages      spectral and Frobenius norms of M, T Pi, L and their differences, and these over those of M

The stages are those of Hayase, Collins and Karakida (AISTATS 2026, arXiv 2510.06685). What is proved is about the given
matrices, and about no limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.schema import Field, Rational, Record, Scale, Values, some_of
from certattn.kernel.given.bounds import NONNEGATIVE
from certattn.kernel.mathematics.balls import linf_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root
from certattn.kernel.mathematics.linearization import ATTENTION, CHANGE, SCORES, STAGES, Parts, parts, wasserstein
from certattn.kernel.mathematics.linearization import REMAINDER as REMAINDER_STAGE
from certattn.kernel.mathematics.reals import Real, describe, real_root, square
from certattn.kernel.mathematics.singular_values import FixedPoint
from certattn.kernel.theorems.spectrum import stated_matrix as matrices
from certattn.kernel.theorems.spectrum.equivalent_formulas import LARGEST_BETA, nonlinear_energy
from certattn.kernel.theorems.spectrum.law_distance import kolmogorov_distance, quarter_circle_tail

if TYPE_CHECKING:
    from certattn.fast.attention_matrix import Parts as FloatParts
    from certattn.fast.rows import Dense

GIVEN_SCALE = Field("scale", Scale(), "factor of the scores; with beta it may be left out", required=False)
GIVEN_BETA = Field("beta", Rational(above=0), "the inverse temperature of softmax(beta S)", required=False)
UNIT = Field("unit", Rational(above=0), "what numbers of queries and keys are multiples of; 1 by default", False)
GIVEN = Record(matrices.QUERIES, matrices.KEYS, GIVEN_SCALE, GIVEN_BETA, UNIT)

NORM = Field("norm", NONNEGATIVE, "bounds of the spectral norm", required=False)
DISTANCE = Field("distance", NONNEGATIVE, "bounds of the distance to the quarter circle of variance alpha^2", False)
LARGEST = Field("largest", NONNEGATIVE, "bounds of max_i |tbar_i|", required=False)
DIFFERENCE = Field("difference", NONNEGATIVE, "bounds of the spectral norm |M - T Pi|", required=False)
BOUND = Field("bound", NONNEGATIVE, "bounds of max_i |tbar_i| |M|, which is at least that", required=False)
WASSERSTEIN = Field("wasserstein", NONNEGATIVE, "bounds of W_2 of the singular values of M and of T Pi", required=False)
FROBENIUS = Field("frobenius", NONNEGATIVE, "bounds of the Frobenius norm", required=False)
RELATIVE_NORM = Field("relative_norm", NONNEGATIVE, "bounds of the spectral norm over that of M", required=False)
RELATIVE_FROBENIUS = Field("relative_frobenius", NONNEGATIVE, "bounds of the Frobenius norm over that of M", False)

_SIZES = (NORM, FROBENIUS, RELATIVE_NORM, RELATIVE_FROBENIUS)
# Nothing is said of M relative to itself.
_SIZES_OF = {name: _SIZES[:2] if name == ATTENTION else _SIZES for name in STAGES}


def _group(name: str, doc: str, fields: Sequence[Field[Values]]) -> Field[Values]:
    return Field(name, Record(*fields, rules=[some_of(*fields)]), doc, required=False)


_STAGES = [_group(name, f"sizes of {name.replace('_', ' ')}", _SIZES_OF[name]) for name in STAGES]
REMAINDER = _group("remainder", "N = M - L: its norm, its singular values", (NORM, DISTANCE))
NORMALISER = _group("normaliser", "what the normaliser changes", (LARGEST, DIFFERENCE, BOUND, WASSERSTEIN))
STAGES_FIELD = _group("stages", "sizes of M (attention), T Pi (scores), L (linear), of their differences", _STAGES)
GROUPS = (REMAINDER, NORMALISER, STAGES_FIELD)
ASSERTS = Record(*GROUPS, rules=[some_of(*GROUPS)])
_FIELDS = {
    field.name: field for field in (*GROUPS, *_STAGES, *_SIZES, DISTANCE, LARGEST, DIFFERENCE, BOUND, WASSERSTEIN)
}
WITNESS = Record(matrices.HINT)

# That M is not 0, which nothing has a size relative to.
NONZERO = "nonzero"


@dataclass(frozen=True)
class Quantity:
    """What is bounded: `kind` of a matrix among the stages, or of all of them where `stage` is empty."""

    kind: str
    stage: str = ""

    @property
    def needs_beta(self) -> bool:
        """Whether it is about the quarter circle or about T."""
        return STAGES[self.stage].slope != 0 if self.stage else True

    @property
    def is_relative(self) -> bool:
        """Whether it is divided by a norm of M."""
        return self.kind.startswith("relative")


# By the names that obligations have, which are the fields where bounds stand, in their order.
QUANTITIES: Mapping[str, Quantity] = {
    "remainder.norm": Quantity("norm", REMAINDER_STAGE),
    "remainder.distance": Quantity("distance"),
    "normaliser.largest": Quantity("largest"),
    "normaliser.difference": Quantity("norm", CHANGE),
    "normaliser.bound": Quantity("bound"),
    "normaliser.wasserstein": Quantity("wasserstein"),
    **{f"stages.{name}.{size.name}": Quantity(size.name, name) for name in STAGES for size in _SIZES_OF[name]},
}


# -- what is stated


@dataclass(frozen=True)
class Temperature:
    """beta, and the unit u: tokens have the queries u q_i and the keys u k_j."""

    beta: fmpq
    unit: fmpq

    def scale_square(self, width: int) -> fmpq:
        """s^2 = beta^2 u^4/p, p the dimension of queries and keys."""
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
    def stages(self) -> dict[str, StageMatrix]:
        """All of them, by name."""
        return {name: StageMatrix(self, name) for name in STAGES}

    @cached_property
    def exact(self) -> tuple[ExactMatrix, ExactMatrix]:
        """Queries and keys."""
        return self.queries.load(), self.keys.load()

    def parts(self, bits: int) -> Parts:
        """M, L and tbar at the working precision, which is `bits`; of large matrices the same from 64 bits on."""
        return self._parts(self.stages[REMAINDER_STAGE].own_bits(bits))

    @cached_property
    def _parts(self) -> Callable[[int], Parts]:
        return cache(lambda _: parts(*self.exact, self.scale, self.rate))

    @cached_property
    def parts_in_doubles(self) -> FloatParts:
        """The same in doubles, within proved distances. Raises Binary64Error."""
        from certattn.fast.attention_matrix import parts

        return matrices.in_doubles([self.queries, self.keys], lambda q, k: parts(q, k, self.scale, self.rate))


@dataclass(frozen=True)
class StageMatrix(matrices.StatedMatrix):
    """One of STAGES, d x d."""

    attention: Attention
    name: str

    @property
    def inputs(self) -> Sequence[MatrixInput]:
        return [self.attention.queries, self.attention.keys]

    @property
    def rank_bound(self) -> int:
        # All end with Pi; L = s Q K' Pi / sqrt(d).
        rank = self.count - 1
        return min(rank, self.attention.width) if self.name == "linear" else rank

    def fixed_point(self, bits: int) -> FixedPoint | None:
        return FixedPoint.rounded(self.attention.parts(bits).rows(STAGES[self.name]), bits)

    def dense(self) -> Dense:
        return self.attention.parts_in_doubles.stage(STAGES[self.name])


@dataclass(frozen=True)
class StatedStages:
    """Queries and keys, what is asserted of them, and a hint: approximate factors of M - L, not trusted."""

    attention: Attention
    asserts: Values
    hint: matrices.Hint | None

    @property
    def ranges(self) -> dict[str, Values]:
        """All bounds, by the names of QUANTITIES and in their order."""
        found = {name: self._bounds(name) for name in QUANTITIES}
        return {name: bounds for name, bounds in found.items() if bounds is not None}

    def _bounds(self, name: str) -> Values | None:
        values = self.asserts
        for key in name.split("."):
            if _FIELDS[key] not in values:
                return None
            values = values[_FIELDS[key]]
        return values


def read(certificate: Certificate) -> StatedStages:
    """Everything stated. Raises MalformedError."""
    reading, hint = certificate.reading, certificate.witness
    attention = read_attention(GIVEN.read(certificate.given, reading))
    stated = StatedStages(attention, ASSERTS.read(certificate.asserts, reading), None)
    for name, bounds in stated.ranges.items():
        if QUANTITIES[name].needs_beta and attention.temperature is None:
            raise bounds.at.malformed("beta in given, which this is about", f"{name} and no given.beta")
    witness = None if hint is None else WITNESS.read(hint, reading)
    return StatedStages(attention, stated.asserts, matrices.read_hint(witness, attention.stages[REMAINDER_STAGE]))


def read_attention(given: Values) -> Attention:
    """Shapes that fit, and a scale that is beta's. Raises MalformedError."""
    queries, keys = given[matrices.QUERIES], given[matrices.KEYS]
    beta, stated = given.get(GIVEN_BETA), given.get(GIVEN_SCALE)
    matrices.require_tokens(queries, keys)
    if keys.shape[0] < 2:
        raise keys.node.malformed("at least 2 queries and keys", "1 of each: of one token A is 1, and M and L are 0")
    if beta is None:
        if UNIT in given:
            raise given.node(UNIT).malformed("no unit without beta", f"the unit {describe(given[UNIT])} and no beta")
        if stated is None:
            raise given.at.malformed("scale, or beta")
        return Attention(queries, keys, stated, None)
    if beta > LARGEST_BETA:
        raise given.node(GIVEN_BETA).malformed(f"a number of at most {LARGEST_BETA}")
    temperature = Temperature(beta, given[UNIT] if UNIT in given else fmpq(1))
    scale = real_root(temperature.scale_square(keys.shape[1]))
    if stated is not None:
        negative = isinstance(stated, fmpq) and stated < 0
        if negative or square(stated) != square(scale):
            expected = f"scale = beta unit^2/sqrt(p) = {describe(scale)}, or none"
            raise given.node(GIVEN_SCALE).malformed(expected, describe(stated))
    return Attention(queries, keys, scale, temperature)


# -- sizes


@dataclass(frozen=True)
class Sizes:
    """Every quantity, from the spectra of stages and tbar in one arithmetic or another, each enclosed once."""

    attention: Attention
    spectrum: Callable[[str], matrices.Spectrum]
    excess: Callable[[], Sequence[arb]]
    _known: dict[Quantity, arb] = field(default_factory=dict)

    def __getitem__(self, quantity: Quantity) -> arb:
        if quantity not in self._known:
            self._known[quantity] = self._enclosed(quantity)
        return self._known[quantity]

    def _enclosed(self, quantity: Quantity) -> arb:
        kind = quantity.kind
        if quantity.is_relative:
            size = kind.removeprefix("relative_")
            return self[Quantity(size, quantity.stage)] / self[Quantity(size, ATTENTION)]
        if kind == "norm":
            return self.spectrum(quantity.stage).singular.value(1)
        if kind == "frobenius":
            return root(arb(self.spectrum(quantity.stage).energy))
        if kind == "distance":
            variance = alpha_square(self.attention)
            values = self.spectrum(REMAINDER_STAGE).singular.values()
            return kolmogorov_distance(values, lambda x: quarter_circle_tail(x, variance))
        if kind == "wasserstein":
            attention, scores = (self.spectrum(name).singular.values() for name in (ATTENTION, SCORES))
            return wasserstein(attention, scores)
        largest = linf_norm(self.excess())
        if kind == "largest":
            return largest
        bound = largest * self[NORM_OF_M]
        # Neither factor is negative; their product's ball may reach below 0 all the same.
        return bound.nonnegative_part() if bound.is_finite() is True else bound


NORM_OF_M = Quantity("norm", ATTENTION)


def alpha_square(attention: Attention) -> arb:
    """alpha^2 = e^(beta^2) - 1 - beta^2, where beta is given."""
    assert attention.temperature is not None
    beta = attention.temperature.beta
    return nonlinear_energy(arb(beta * beta))


def sizes_in_arb(attention: Attention, bits: int) -> Sizes:
    """At the working precision, which is `bits`."""
    return Sizes(attention, lambda stage: attention.stages[stage].spectrum(bits), lambda: attention.parts(bits).excess)


def sizes_in_binary64(stated: StatedStages) -> Sizes:
    """Balls at the working precision, as wide as doubles make them. Raises Binary64Error."""
    attention = stated.attention

    @cache
    def spectrum(stage: str) -> matrices.Spectrum:
        return attention.stages[stage].spectrum_in_doubles(stated.hint if stage == REMAINDER_STAGE else None)

    return Sizes(attention, spectrum, lambda: attention.parts_in_doubles.excess)


def obligations(stated: StatedStages) -> Iterator[Obligation]:
    attention, ranges = stated.attention, stated.ranges
    doubles = partial(sizes_in_binary64, stated) if attention.stages[ATTENTION].stands_in_doubles else None
    sizes = matrices.InTiers[Sizes](lambda: sizes_in_arb(attention, ctx.prec), doubles)
    if any(QUANTITIES[name].is_relative for name in ranges):
        yield sizes.compared(NONZERO, partial(_size, NORM_OF_M), ">", fmpq(0), Part.WITNESS)
    for name, bounds in ranges.items():
        needs = [NONZERO] if QUANTITIES[name].is_relative else []
        yield from sizes.within(name, partial(_size, QUANTITIES[name]), bounds, needs)


def _size(quantity: Quantity, sizes: Sizes) -> arb:
    return sizes[quantity]


_TITLE = "softmax attention beside its linear part: norms, singular values, and what the normaliser changes"
THEOREM = Theorem("linearization", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
