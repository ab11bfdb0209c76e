"""Theorem `not-marchenko-pastur`: the singular values of attention have no quarter circle as their limit law.

The squares of a quarter circle law are a Marchenko-Pastur law of ratio 1. Of the law mu of `equivalent-law` for stated
numbers, a certificate asserts one or more of

    fourth_moment    m_4 - 2 m_2^2 = beta^4/lambda, which is 0 for every quarter circle law
    excess           bounds of m_4/m_2^2 - 2, which no scale changes
    distance         bounds of sup |F - Q|, Q the quarter circle law of the same variance
    scaled_distance  bounds of the smallest such distance over quarter circle laws of all variances

and of one finite matrix beside it

    separation, scaled_separation    as `spectral-distance` does
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import EitherKey, Field, Rational, Record, some_of
from certattn.kernel.given.bounds import BOUNDS, NONNEGATIVE, SIGNED
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.spectrum import spectral_distance as distances
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.law_distance import differences, quarter_circle_tail
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw, law_forms, read_law
from certattn.kernel.theorems.spectrum.stated_matrix import InTiers, StatedMatrix, matrix_forms, read_matrix

FINITE = Field("finite", matrix_forms(), "one matrix: given, or that of queries and keys", required=False)
VALUE = Field("value", Rational(), "the number")
FOURTH_MOMENT = Field("fourth_moment", Record(VALUE), "m_4 - 2 m_2^2, exactly", required=False)
EXCESS = Field("excess", SIGNED, "bounds of m_4/m_2^2 - 2", required=False)
DISTANCE = Field("distance", NONNEGATIVE, "bounds of that of mu to the quarter circle of the same variance", False)
SCALED_DISTANCE = Field("scaled_distance", NONNEGATIVE, "bounds of the smallest of mu to any quarter circle", False)
SCALE = Field("scale", Rational(above=0), "c > 0: the quarter circle of variance c^2 is about the nearest to mu", False)

OF_LAW = (EXCESS, DISTANCE, SCALED_DISTANCE)
_ASSERTED = (FOURTH_MOMENT, *OF_LAW, *distances.SEPARATION_FIELDS)

GIVEN = EitherKey(law_forms([FINITE], [FINITE]))
ASSERTS = Record(*_ASSERTED, rules=[some_of(*_ASSERTED)])
WITNESS = Record(SCALE, *distances.SCALES)


def read_given(certificate: Certificate) -> tuple[SpectralLaw, StatedMatrix | None]:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    matrix = distances.require_square(read_matrix(*values[FINITE])) if FINITE in values else None
    return read_law(form, values), matrix


def read(certificate: Certificate) -> distances.StatedDistances:
    """Everything stated. Raises MalformedError."""
    law, matrix = read_given(certificate)
    asserts, hint = ASSERTS.read(certificate.asserts, certificate.reading), certificate.witness
    separations = [field for field in distances.SEPARATION_FIELDS if field in asserts]
    if matrix is None and separations:
        expected = "no separation, which is one of a matrix, or a matrix under given.finite"
        raise asserts.node(separations[0]).malformed(expected, f"{separations[0].name} and no given.finite")
    if matrix is not None and not separations:
        raise asserts.at.malformed("separation or scaled_separation, as given.finite is a matrix, or no matrix")
    witness = None if hint is None else WITNESS.read(hint, certificate.reading)
    wanted = distances.wanted_scales([field.name for field in separations])
    wanted += [SCALE] if SCALED_DISTANCE in asserts else []
    scales = distances.read_scales(witness, wanted, asserts, (SCALE, *distances.SCALES))
    return distances.StatedDistances(law, matrix, asserts, scales)


def obligations(stated: distances.StatedDistances) -> Iterator[Obligation]:
    asserts = stated.asserts
    if FOURTH_MOMENT in asserts:
        # m_4 - 2 m_2^2 needs beta^2 and lambda alone, which are rational.
        truth = LawNumbers(fmpq(0), stated.law.beta2, stated.law.lambda_).fourth_excess
        left, right = ExactMatrix.row_vector([truth]), ExactMatrix.row_vector([asserts[FOURTH_MOMENT][VALUE]])
        yield Obligation(FOURTH_MOMENT.name, left, "=", right)
    for field in OF_LAW:
        if field in asserts:
            bounds, exact = asserts[field], field is not SCALED_DISTANCE
            goals = [bounds[bound] for bound, _ in BOUNDS if bound in bounds]
            between = InTiers[distances.Between](partial(of_law, stated.law, field.name, stated.scales, goals))
            yield from distances.between_bounds(field.name, between, lambda found: found, bounds, exact=exact)
    yield from distances.of_matrix(stated, distances.SEPARATION_FIELDS)


def of_law(stated: SpectralLaw, name: str, scales: Mapping[str, fmpq], goals: Sequence[fmpq]) -> distances.Between:
    """What may be bounded of a law, at the working precision; sharp enough to be told from the goals."""
    law = stated.enclosed()
    if name == EXCESS.name:
        excess: arb | fmpq = (law.numbers if stated.exact is None else stated.exact).relative_excess
        return distances.Between(excess, excess)
    if name == DISTANCE.name:
        variance = law.numbers.variance
        ends = [*law.piece_ends(), 2 * variance.sqrt()]
        found = differences(law.tail, lambda x: quarter_circle_tail(x, variance), ends, goals).distance
        return distances.Between(found, found)
    scale = scales[SCALE.name]
    ends = [*law.piece_ends(), arb(2 * scale)]
    return distances.Between.at_best_scale(differences(law.tail, distances.circle_tail(scale), ends, goals))


_TITLE = "the limit law of the singular values of attention is no quarter circle: by moments, and by how much"
THEOREM = Theorem("not-marchenko-pastur", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
