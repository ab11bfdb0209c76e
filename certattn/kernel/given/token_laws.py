"""Laws of tokens and of queries, as they are stated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.schema import (
    Count,
    Field,
    Kind,
    Length,
    Listing,
    Rational,
    Reading,
    Record,
    Values,
    Variant,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.laws import (
    Atoms,
    Box,
    Gaussian,
    Law,
    Mixture,
    Rademacher,
    Radial,
    Shifted,
    TruncatedGaussian,
    truncated_gaussian,
)
from certattn.kernel.mathematics.reals import describe, square

MEAN = Field("mean", Vector(), "mean of the Gaussian")
COVARIANCE = Field(
    "covariance", Matrix(), "covariance of the Gaussian: symmetric, positive semidefinite, may be singular"
)
SIZES = Field("sizes", Vector(), "the sizes c_j >= 0, one per coordinate")
DIMENSION = Field("dimension", Count(1), "the dimension d of the space, at most 10000")
RADIUS = Field("radius", Length(), "the radius of the sphere or ball, such as sqrt(768)")
VARIANCES = Field("variances", Vector(), "variances > 0 of the coordinates before they are truncated")


class Ends(Vector):
    """A vector; infinity, which is no number, is refused with what to do instead."""

    def read(self, node: Node, reading: Reading) -> MatrixInput:
        for entry in node.value if isinstance(node.value, list) else ():
            if isinstance(entry.value, str) and entry.value.lower().lstrip("+-.") in ("inf", "infinity"):
                expected = (
                    "a finite end: one that is 9 standard deviations beyond the mean, and beyond that of the law under "
                    "every tilt a, mean + variance * a, cuts off less than 1e-18 where these means are between the ends"
                )
                raise entry.malformed(expected, repr(entry.value))
        return super().read(node, reading)


LOWER = Field("lower", Ends(), "the lower end of every coordinate")
UPPER = Field("upper", Ends(), "the upper end of every coordinate, above the lower one")
CENTRE = Field("centre", Vector(), "the centre m of the law; 0 if left out", required=False)
POINTS = Field("points", Matrix(), "the atoms, one per row")
WEIGHTS = Field(
    "weights", Listing(Rational(above=0)), "probabilities of the atoms; equal ones if left out", required=False
)
COMPONENT_WEIGHT = Field("weight", Rational(above=0), "probability of the component")

_MOST_DIMENSIONS = 10000
# Of the exponents of a truncated Gaussian: beyond, nothing of it is enclosed (`mathematics/truncated_normals`).
_MOST_EXPONENT = 1 << 15

GAUSSIAN = Record(MEAN, COVARIANCE)


@dataclass(frozen=True)
class StatedLaw:
    """A law with exact parameters, and how it is stated: the form and its fields."""

    kind: str
    values: Values
    law: Law[fmpq]

    @property
    def node(self) -> Node:
        """Where it stands."""
        return self.values.at

    @property
    def dimension(self) -> int:
        return self.law.dimension

    def require_dimension(self, dimension: int, what: str) -> None:
        """Refuse a law of vectors of another dimension than `what`."""
        if self.dimension != dimension:
            expected = f"a law in dimension {dimension}, that of {what}"
            raise self.node.malformed(expected, f"one in dimension {self.dimension}")


class LawKind(Kind[StatedLaw]):
    """A law of tokens; a mixture's components are laws again."""

    def read(self, node: Node, reading: Reading) -> StatedLaw:
        kind, values = LAW_FORMS.read(node, reading)
        return StatedLaw(kind, values, _BUILD[kind](values))


LAW = LawKind()
COMPONENT_LAW = Field("law", LAW, "law of the component")
COMPONENTS = Field("components", Listing(Record(COMPONENT_WEIGHT, COMPONENT_LAW)), "the components of the mixture")

LAW_FORMS = Variant(
    "kind",
    {
        "gaussian": GAUSSIAN,
        "rademacher": Record(SIZES, CENTRE),
        "box": Record(SIZES, CENTRE),
        "sphere": Record(DIMENSION, RADIUS, CENTRE),
        "ball": Record(DIMENSION, RADIUS, CENTRE),
        "truncated-gaussian": Record(MEAN, VARIANCES, LOWER, UPPER),
        "atoms": Record(POINTS, WEIGHTS),
        "mixture": Record(COMPONENTS),
    },
)


def read_gaussian(values: Values) -> Gaussian[fmpq]:
    """N(mean, covariance); the covariance proved positive semidefinite exactly."""
    mean, stated = values[MEAN], values[COVARIANCE]
    stated.require_shape(mean.shape[1], mean.shape[1], "for that mean")
    return Gaussian(mean.load().row(0), stated.load_semidefinite().to_rows())


def _sizes(values: Values) -> list[fmpq]:
    sizes = values[SIZES].load().row(0)
    for index, size in enumerate(sizes):
        if (size >= 0) is not True:
            raise values.node(SIZES).malformed("sizes >= 0", f"{describe(size)} at index {index}")
    return sizes


def _radial(values: Values, *, solid: bool) -> Law[fmpq]:
    if values[DIMENSION] > _MOST_DIMENSIONS:
        raise values.node(DIMENSION).malformed(f"a dimension of at most {_MOST_DIMENSIONS}", str(values[DIMENSION]))
    return _about_centre(Radial(square(values[RADIUS]), values[DIMENSION], solid), values)


def _about_centre(law: Rademacher[fmpq] | Box[fmpq] | Radial[fmpq], values: Values) -> Law[fmpq]:
    if CENTRE not in values:
        return law
    values[CENTRE].require_length(law.dimension, "the law")
    centre = values[CENTRE].load()
    return law if centre.is_zero() is True else Shifted(law, centre.row(0))


def _truncated(values: Values) -> Law[fmpq]:
    fields = (MEAN, VARIANCES, LOWER, UPPER)
    for field in fields[1:]:
        values[field].require_length(values[MEAN].shape[1], "the mean")
    means, variances, lower, upper = (values[field].load().row(0) for field in fields)
    for index, (variance, low, high) in enumerate(zip(variances, lower, upper, strict=True)):
        if (variance > 0) is not True:
            raise values.node(VARIANCES).malformed("variances > 0", f"{describe(variance)} at index {index}")
        if (low < high) is not True:
            found = f"{describe(low)} and {describe(high)} at index {index}"
            raise values.node(UPPER).malformed("upper ends above the lower ones", found)
    law = truncated_gaussian(means, variances, lower, upper)
    assert isinstance(law.law, TruncatedGaussian)
    for index, exponents in enumerate(zip(law.law.curvatures, law.law.slopes, strict=True)):
        if (max(map(abs, exponents)) <= _MOST_EXPONENT) is not True:
            expected = (
                "an interval of c standard deviations to each side of its middle, which is m of them off the mean, "
                f"with c^2 and c m at most {_MOST_EXPONENT}: beyond, nothing of this law is enclosed"
            )
            raise values.at.malformed(expected, f"a wider one, or one farther out, at index {index}")
    return law


def _atoms(values: Values) -> Atoms[fmpq]:
    points = values[POINTS].load()
    weights = values.get(WEIGHTS) or [fmpq(1, points.rows)] * points.rows
    if len(weights) != points.rows:
        raise values.node(WEIGHTS).malformed(f"{points.rows} weights, one per atom")
    return Atoms(points.to_rows(), _of_total_one(weights, values))


def _mixture(values: Values) -> Mixture[fmpq]:
    components = values[COMPONENTS]
    laws = [component[COMPONENT_LAW] for component in components]
    for law in laws:
        if law.dimension != laws[0].dimension:
            raise law.node.malformed(f"dimension {laws[0].dimension}, like the first component", f"{law.dimension}")
    weights = [component[COMPONENT_WEIGHT] for component in components]
    return Mixture([law.law for law in laws], _of_total_one(weights, values))


def _of_total_one(weights: list[fmpq], law: Values) -> list[fmpq]:
    total = sum(weights, fmpq(0))
    if total != 1:
        raise law.at.malformed("weights that sum to exactly 1", f"a sum of {describe(total)}")
    return weights


_BUILD: Mapping[str, Callable[[Values], Law[fmpq]]] = {
    "gaussian": read_gaussian,
    "rademacher": lambda values: _about_centre(Rademacher(_sizes(values)), values),
    "box": lambda values: _about_centre(Box(_sizes(values)), values),
    "sphere": lambda values: _radial(values, solid=False),
    "ball": lambda values: _radial(values, solid=True),
    "truncated-gaussian": _truncated,
    "atoms": _atoms,
    "mixture": _mixture,
}
