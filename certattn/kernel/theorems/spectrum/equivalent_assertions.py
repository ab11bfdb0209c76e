"""What `equivalent-law` is given and asserts: the fields, and how they are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import fmpq

from certattn.kernel.document.fields import Count, Field, Kind, Listing, Rational, Record, Values
from certattn.kernel.document.forms import EitherKey, Variant
from certattn.kernel.document.tree import Node
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import LawNumbers

# Beyond, alpha^2 has more digits than can be handled.
LARGEST_BETA = 1000
LARGEST_ORDER = 100
OPEN, NONE = "open", "none"

BETA = Field("beta", Rational(above=0), "the inverse temperature of softmax(beta S)")
LAMBDA = Field("lambda", Rational(above=0), "d_qk/d, the dimension of queries and keys over the number of tokens")
ALPHA2 = Field("alpha2", Rational(above=0), "alpha^2, the variance that is not linear in the scores")
BETA2 = Field("beta2", Rational(above=0), "beta^2, the variance that is")
GIVEN: Kind[tuple[str, Values]] = EitherKey({"beta": Record(BETA, LAMBDA), "alpha2": Record(ALPHA2, BETA2, LAMBDA)})

VALUE = Field("value", Rational(), "the number")
RADIUS = Field("radius", Rational(minimum=0), "how far it may be from the true one")
_STATED = Record(VALUE, RADIUS)

ORDER = Field("order", Count(2), f"2n, an even number up to {LARGEST_ORDER}")
AT = Field("at", Rational(minimum=0), "the point x >= 0")
SHARE = Field("share", Rational(above=0), "alpha^2/(alpha^2 + beta^2), a number below 1")
RE = Field("re", Rational(), "the real part")
IM = Field("im", Rational(), "the imaginary part")
UPPER_IM = Field("im", Rational(above=0), "the imaginary part, positive")
Z = Field("z", Record(RE, UPPER_IM), "a point of the upper half plane")
G = Field("value", Record(RE, IM), "G(z)")
LOWER = Field("lower", Rational(), "where the gap begins")
UPPER = Field("upper", Rational(), "where it ends")
OUTER_MASS = Field("outer_mass", Rational(), "the mass of mu above the gap, which is lambda", required=False)

MOMENTS = Field("moments", Listing(Record(ORDER, VALUE, RADIUS)), "moments of mu of even order", required=False)
RIGHT_EDGE = Field("right_edge", _STATED, "the largest point of the support", required=False)
GAP = Field(
    "gap",
    Variant("kind", {OPEN: Record(LOWER, UPPER, RADIUS, OUTER_MASS), NONE: Record()}),
    "the gap of the support, or that there is none",
    required=False,
)
THRESHOLD = Field("threshold", _STATED, "beta_c(lambda), below which the support has a gap", required=False)
STIELTJES = Field("stieltjes", Listing(Record(Z, G, RADIUS)), "the Stieltjes transform at points", required=False)
DENSITY = Field("density", Listing(Record(AT, VALUE, RADIUS)), "the density of mu at points", required=False)
CDF = Field("cdf", Listing(Record(AT, VALUE, RADIUS)), "mu([0, x]) at points", required=False)
DENSITY_BOUND = Field("density_bound", _STATED, "the density at 0, its largest value", required=False)
NONLINEAR_SHARE = Field("nonlinear_share", _STATED, "alpha^2/(alpha^2 + beta^2)", required=False)
SHARE_REACHED = Field(
    "share_reached",
    Listing(Record(SHARE, VALUE, RADIUS)),
    "the beta at which softmax has a stated share alpha^2/(alpha^2 + beta^2)",
    required=False,
)

ASSERTS = Record(
    MOMENTS, RIGHT_EDGE, GAP, THRESHOLD, STIELTJES, DENSITY, CDF, DENSITY_BOUND, NONLINEAR_SHARE, SHARE_REACHED
)


@dataclass(frozen=True)
class Stated:
    """A number up to a radius."""

    value: fmpq
    radius: fmpq


@dataclass(frozen=True)
class StatedAt:
    """The same of a function at a point: x, the order of a moment, or a share."""

    at: fmpq
    value: fmpq
    radius: fmpq


@dataclass(frozen=True)
class StatedTransform:
    """|G(z) - value| <= radius; z and the value as real and imaginary part."""

    z: tuple[fmpq, fmpq]
    value: tuple[fmpq, fmpq]
    radius: fmpq


@dataclass(frozen=True)
class StatedGap:
    """Both ends up to a radius, and the mass above if that is stated."""

    lower: fmpq
    upper: fmpq
    radius: fmpq
    outer_mass: fmpq | None


@dataclass(frozen=True)
class Problem:
    """What is given and asserted, all exact. `alpha2` is None where beta is given: alpha^2 = e^(beta^2) - 1 - beta^2.

    `gap` is NONE where it is asserted that there is none.
    """

    beta: fmpq | None
    alpha2: fmpq | None
    beta2: fmpq
    lambda_: fmpq
    moments: list[StatedAt]
    right_edge: Stated | None
    gap: StatedGap | str | None
    threshold: Stated | None
    stieltjes: list[StatedTransform]
    density: list[StatedAt]
    cdf: list[StatedAt]
    density_bound: Stated | None
    nonlinear_share: Stated | None
    share_reached: list[StatedAt]

    @cached_property
    def exact(self) -> LawNumbers | None:
        """The law's numbers as rationals, where alpha^2 is given."""
        return None if self.alpha2 is None else LawNumbers(self.alpha2, self.beta2, self.lambda_)

    @cached_property
    def highest(self) -> int:
        """Half of the largest order of a stated moment."""
        return max((int(moment.at.p) // 2 for moment in self.moments), default=0)

    @cached_property
    def exact_moments(self) -> list[fmpq] | None:
        """m_2, m_4, ... as rationals, where alpha^2 is given."""
        return None if self.exact is None else self.exact.moments(self.highest)


def read_law(given: tuple[str, Values]) -> tuple[fmpq | None, fmpq | None, fmpq, fmpq]:
    """beta or alpha^2 (the other is None), beta^2 and lambda. Raises MalformedError."""
    form, values = given
    if form != BETA.name:
        return None, values[ALPHA2], values[BETA2], values[LAMBDA]
    beta = values[BETA]
    if beta > LARGEST_BETA:
        raise values.node(BETA).malformed(f"a number of at most {LARGEST_BETA}")
    return beta, None, beta * beta, values[LAMBDA]


def read_stated(stated: Values | None) -> Stated | None:
    return None if stated is None else Stated(stated[VALUE], stated[RADIUS])


def read_points(items: list[Values] | None) -> list[StatedAt]:
    return [StatedAt(item[AT], item[VALUE], item[RADIUS]) for item in items or []]


def read_moments(items: list[Values] | None) -> list[StatedAt]:
    for item in items or []:
        if item[ORDER] % 2 != 0 or item[ORDER] > LARGEST_ORDER:
            raise item.node(ORDER).malformed(f"an even number from 2 to {LARGEST_ORDER}")
    return [StatedAt(fmpq(item[ORDER]), item[VALUE], item[RADIUS]) for item in items or []]


def read_shares(items: list[Values] | None) -> list[StatedAt]:
    for item in items or []:
        if (item[SHARE] < 1) is not True:
            raise item.node(SHARE).malformed("a number between 0 and 1")
    return [StatedAt(item[SHARE], item[VALUE], item[RADIUS]) for item in items or []]


def read_transforms(items: list[Values] | None) -> list[StatedTransform]:
    return [
        StatedTransform((item[Z][RE], item[Z][UPPER_IM]), (item[G][RE], item[G][IM]), item[RADIUS])
        for item in items or []
    ]


def read_gap(stated: tuple[str, Values] | None) -> StatedGap | str | None:
    if stated is None:
        return None
    kind, values = stated
    if kind == NONE:
        return NONE
    return StatedGap(values[LOWER], values[UPPER], values[RADIUS], values.get(OUTER_MASS))


def nothing_asserted(node: Node) -> Exception:
    """What is raised for an empty section."""
    return node.malformed(" or ".join(ASSERTS.fields), "nothing that is asserted")
