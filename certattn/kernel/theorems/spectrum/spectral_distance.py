"""Theorem `spectral-distance`: how far the singular values of one matrix are from the equivalent law, and from others.

The n x n matrix M is given exactly, or is that of softmax attention over given queries and keys; F_n is the
distribution function of its singular values, mu the law of `equivalent-law` for stated numbers. With
K(F_n, F) = sup |F_n - F|, a certificate asserts bounds of one or more of

    law                    K(F_n, mu)
    quarter_circle         K(F_n, the quarter circle law of the same variance)
    scaled_law             inf over c > 0 of K(F_n, the law of c x for x of mu)
    scaled_quarter_circle  inf over c > 0 of K(F_n, the quarter circle law of variance c^2)
    separation             scaled_quarter_circle - law
    scaled_separation      scaled_quarter_circle - scaled_law

and of a law that is truncated at tau that tau^2 = n m(tau) has a solution near tau (`truncation`).

An infimum over all scales is between the smaller and the larger of the two one-sided distances at any one scale, which
the witness names.
"""

from __future__ import annotations

from collections.abc import Iterator

from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.schema import ByKey, Field, Record, some_of
from certattn.kernel.given.attention import SCALE
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.kernel.theorems.spectrum.matrix_inputs import (
    ATTENTION_FORM,
    CENTRED,
    KEYS,
    MATRIX,
    MATRIX_FORM,
    QUERIES,
    StatedMatrix,
    read_matrix,
)
from certattn.kernel.theorems.spectrum.spectral_distances import (
    DISTANCE_FIELDS,
    SCALES,
    SEPARATION_FIELDS,
    StatedDistances,
    of_matrix,
    read_scales,
    require_square,
    wanted_scales,
)
from certattn.kernel.theorems.spectrum.spectral_law import LAW_FORMS, read_spectral_law
from certattn.kernel.theorems.spectrum.truncation import FIXED_POINT, FixedPoint, read_fixed_point

LAW = Field(
    "law", LAW_FORMS, "the law mu: beta and lambda, or from: weights, truncated or not; or alpha2, beta2 and lambda"
)
GIVEN = ByKey({ATTENTION_FORM: Record(QUERIES, KEYS, SCALE, CENTRED, LAW), MATRIX_FORM: Record(MATRIX, LAW)})
BOUNDED = (*DISTANCE_FIELDS, *SEPARATION_FIELDS)
ASSERTS = Record(FIXED_POINT, *BOUNDED, rules=[some_of(FIXED_POINT, *BOUNDED)])
WITNESS = Record(*SCALES)


def read_given(certificate: Certificate) -> tuple[StatedMatrix, SpectralLaw]:
    """The section `given` alone. Raises MalformedError."""
    form, values = GIVEN.read(certificate.given, certificate.reading)
    matrix = require_square(read_matrix(form, values))
    return matrix, read_spectral_law(values[LAW], matrix)


def read(certificate: Certificate) -> StatedDistances:
    """Everything stated. Raises MalformedError."""
    matrix, law = read_given(certificate)
    asserts, hint = ASSERTS.read(certificate.asserts, certificate.reading), certificate.witness
    read_fixed_point(asserts, law, matrix.count)
    witness = None if hint is None else WITNESS.read(hint, certificate.reading)
    wanted = wanted_scales([field.name for field in BOUNDED if field in asserts])
    return StatedDistances(law, matrix, asserts, read_scales(witness, wanted, asserts))


def fixed_point(stated: StatedDistances) -> FixedPoint | None:
    """What is stated of the law's tau, if anything."""
    assert stated.matrix is not None
    return read_fixed_point(stated.asserts, stated.law, stated.matrix.count)


def obligations(stated: StatedDistances) -> Iterator[Obligation]:
    point = fixed_point(stated)
    if point is not None:
        yield from point.obligations()
    yield from of_matrix(stated, BOUNDED)


THEOREM = Theorem(
    name="spectral-distance",
    title="how far the singular values of one matrix are from the limit law of attention, and from quarter circles",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
