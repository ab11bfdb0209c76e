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

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Obligation, Part, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.decide.verdict import Enclosure
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import Field, Record, Values, some_of
from certattn.kernel.given.bounds import NONNEGATIVE, within
from certattn.kernel.mathematics.balls import linf_norm
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.linearization import ATTENTION, SCORES, STAGES, wasserstein
from certattn.kernel.mathematics.linearization import REMAINDER as REMAINDER_STAGE
from certattn.kernel.theorems.spectrum.linearization_inputs import GIVEN, Attention, read_attention
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import nonlinear_energy
from certattn.kernel.theorems.spectrum.mathematics.kolmogorov import kolmogorov_distance
from certattn.kernel.theorems.spectrum.mathematics.quarter_circle import quarter_circle_tail
from certattn.kernel.theorems.spectrum.matrix_inputs import IN_DOUBLES, Spectrum
from certattn.kernel.theorems.spectrum.singular_values import HINT, Hint, read_hint

# The matrices of STAGES, as the documentation of fields calls them.
_MATRICES = {
    "attention": "M",
    "scores": "T Pi",
    "linear": "L",
    "attention_less_scores": "M - T Pi",
    "scores_less_linear": "T Pi - L",
    "attention_less_linear": "M - L",
}


def _something(values: Values) -> None:
    record = values.at
    assert isinstance(record.value, dict)
    if len(record.value) == 0:
        raise record.malformed("at least one number that is bounded", "none")


NORM = Field("norm", NONNEGATIVE, "bounds of the spectral norm", required=False)
DISTANCE = Field(
    "distance",
    NONNEGATIVE,
    "bounds of the Kolmogorov distance to the quarter circle law of variance alpha^2",
    required=False,
)
LARGEST = Field("largest", NONNEGATIVE, "bounds of max_i |tbar_i|", required=False)
DIFFERENCE = Field("difference", NONNEGATIVE, "bounds of the spectral norm |M - T Pi|", required=False)
BOUND = Field("bound", NONNEGATIVE, "bounds of max_i |tbar_i| |M|, which is at least that", required=False)
WASSERSTEIN = Field("wasserstein", NONNEGATIVE, "bounds of W_2 of the singular values of M and of T Pi", required=False)
FROBENIUS = Field("frobenius", NONNEGATIVE, "bounds of the Frobenius norm", required=False)
RELATIVE_NORM = Field("relative_norm", NONNEGATIVE, "bounds of the spectral norm over that of M", required=False)
RELATIVE_FROBENIUS = Field(
    "relative_frobenius", NONNEGATIVE, "bounds of the Frobenius norm over that of M", required=False
)

_OWN = (NORM, FROBENIUS)
_SIZES = (*_OWN, RELATIVE_NORM, RELATIVE_FROBENIUS)
# Nothing is said of M relative to itself.
_SIZES_OF = {name: _OWN if name == ATTENTION else _SIZES for name in STAGES}
_STAGES = [
    Field(name, Record(*_SIZES_OF[name], rules=[_something]), f"sizes of {_MATRICES[name]}", required=False)
    for name in STAGES
]
_OF_REMAINDER = (NORM, DISTANCE)
_OF_NORMALISER = (LARGEST, DIFFERENCE, BOUND, WASSERSTEIN)
REMAINDER = Field(
    "remainder",
    Record(*_OF_REMAINDER, rules=[_something]),
    "N = M - L: its norm, its singular values",
    required=False,
)
NORMALISER = Field(
    "normaliser", Record(*_OF_NORMALISER, rules=[_something]), "what the normaliser changes", required=False
)
STAGES_FIELD = Field(
    "stages",
    Record(*_STAGES, rules=[_something]),
    "sizes of the stages and of their differences",
    required=False,
)
GROUPS = (REMAINDER, NORMALISER, STAGES_FIELD)
ASSERTS = Record(*GROUPS, rules=[some_of(*GROUPS)])
WITNESS = Record(HINT)

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
        return self.kind in _OF_BETA or (self.stage != "" and STAGES[self.stage].slope != 0)

    @property
    def is_relative(self) -> bool:
        """Whether it is divided by a norm of M."""
        return self.kind.startswith("relative")


_OF_BETA = (DISTANCE.name, LARGEST.name, BOUND.name, WASSERSTEIN.name)
# By the names that obligations have, in their order.
QUANTITIES: Mapping[str, Quantity] = {
    "remainder.norm": Quantity("norm", "attention_less_linear"),
    "remainder.distance": Quantity("distance"),
    "normaliser.largest": Quantity("largest"),
    "normaliser.difference": Quantity("norm", "attention_less_scores"),
    "normaliser.bound": Quantity("bound"),
    "normaliser.wasserstein": Quantity("wasserstein"),
    **{
        f"stages.{name}.{field.name}": Quantity(field.name, name)
        for name, fields in _SIZES_OF.items()
        for field in fields
    },
}


@dataclass(frozen=True)
class StatedStages:
    """Queries and keys, what is asserted of them, and a hint: approximate factors of M - L, not trusted."""

    attention: Attention
    asserts: Values
    hint: Hint | None

    @property
    def ranges(self) -> dict[str, Values]:
        """All bounds, by the names of QUANTITIES and in their order."""
        found: dict[str, Values] = {}
        for group, fields in ((REMAINDER, _OF_REMAINDER), (NORMALISER, _OF_NORMALISER)):
            if group in self.asserts:
                found |= _there(group.name, self.asserts[group], fields)
        if STAGES_FIELD in self.asserts:
            stages = self.asserts[STAGES_FIELD]
            for stage in _STAGES:
                if stage in stages:
                    found |= _there(f"{STAGES_FIELD.name}.{stage.name}", stages[stage], _SIZES_OF[stage.name])
        return found


def _there(group: str, values: Values, fields: Iterable[Field[Values]]) -> dict[str, Values]:
    return {f"{group}.{one.name}": values[one] for one in fields if one in values}


def read(certificate: Certificate) -> StatedStages:
    """Everything stated. Raises MalformedError."""
    attention = read_attention(GIVEN.read(certificate.given, certificate.reading))
    asserts, hint = ASSERTS.read(certificate.asserts, certificate.reading), None
    for name, bounds in StatedStages(attention, asserts, None).ranges.items():
        if QUANTITIES[name].needs_beta and attention.temperature is None:
            raise bounds.at.malformed("beta in given, which this is about", f"{name} and no given.beta")
    if certificate.witness is not None:
        witness = WITNESS.read(certificate.witness, certificate.reading)
        hint = read_hint(witness[HINT], attention.stages[REMAINDER_STAGE]) if HINT in witness else None
    return StatedStages(attention, asserts, hint)


@dataclass(frozen=True)
class Sizes:
    """Every quantity, from the spectra of stages and tbar in one arithmetic or another, each enclosed once."""

    attention: Attention
    spectrum: Callable[[str], Spectrum]
    excess: Callable[[], list[arb]]
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
            return BALLS.sqrt(arb(self.spectrum(quantity.stage).energy))
        if kind == "distance":
            return self._distance()
        if kind == "wasserstein":
            attention, scores = (self.spectrum(name).singular.values() for name in (ATTENTION, SCORES))
            found: arb = wasserstein(attention, scores, BALLS)
            return found
        largest = linf_norm(self.excess())
        if kind == "largest":
            return largest
        bound = largest * self[Quantity("norm", ATTENTION)]
        # Neither factor is negative; their product's ball may reach below 0 all the same.
        return bound.nonnegative_part() if bound.is_finite() is True else bound

    def _distance(self) -> arb:
        variance = alpha_square(self.attention)
        values = self.spectrum(REMAINDER_STAGE).singular.values()
        return kolmogorov_distance(values, lambda x: quarter_circle_tail(x, variance))


def alpha_square(attention: Attention) -> arb:
    """alpha^2 = e^(beta^2) - 1 - beta^2, where beta is given."""
    assert attention.temperature is not None
    beta = attention.temperature.beta
    found: arb = nonlinear_energy(arb(beta * beta), BALLS)
    return found


def sizes_in_arb(attention: Attention, bits: int) -> Sizes:
    """At the working precision, which is `bits`."""
    return Sizes(attention, lambda stage: attention.spectrum(stage, bits), lambda: list(attention.excess(bits)))


def sizes_in_binary64(problem: StatedStages) -> Sizes:
    """Balls at the working precision, as wide as doubles make them. Raises Binary64Error."""
    from certattn.kernel.theorems.spectrum.linearization_binary64 import FloatStages

    stages = FloatStages(problem.attention, problem.hint)
    return Sizes(problem.attention, stages.spectrum, lambda: list(stages.excess))


def obligations(stated: StatedStages) -> Iterator[Obligation]:
    attention, ranges = stated.attention, stated.ranges
    in_arb = Shared(lambda: sizes_in_arb(attention, ctx.prec))
    tiers = {IN_DOUBLES: Shared(lambda: sizes_in_binary64(stated))} if attention.stages[REMAINDER_STAGE].tiers else {}
    if any(QUANTITIES[name].is_relative for name in ranges):
        zero = fmpq(0)
        fast = {tier: (partial(_norm, attention, sizes), zero) for tier, sizes in tiers.items()}
        yield Obligation(NONZERO, partial(_norm, attention, in_arb), ">", zero, Part.WITNESS, fast=fast)
    for name, bounds in ranges.items():
        quantity = QUANTITIES[name]
        doubles = {tier: partial(_size, sizes, quantity) for tier, sizes in tiers.items()}
        needs = [NONZERO] if quantity.is_relative else []
        yield from within(name, partial(_size, in_arb, quantity), bounds, needs=needs, fast=doubles)


def _size(sizes: Shared[Sizes], quantity: Quantity) -> arb:
    return sizes()[quantity]


def _norm(attention: Attention, sizes: Shared[Sizes]) -> Enclosure:
    """|M|, which is 0 where A is 11'/d: no ball shows that."""
    norm = sizes()[Quantity("norm", ATTENTION)]
    return fmpq(0) if (norm > 0) is not True and attention.is_uniform else norm


THEOREM = Theorem(
    name="linearization",
    title="softmax attention beside its linear part: norms, singular values, and what the normaliser changes",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
