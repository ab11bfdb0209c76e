"""Claim `spectral-distance`: how far the singular values of one matrix are from the equivalent law, and from others.

The n x n matrix M is given exactly, or is that of softmax attention over given queries and keys; F_n is the
distribution function of its singular values, mu the law of `equivalent-law` for stated numbers. With
K(F_n, F) = sup |F_n - F|, a certificate asserts bounds of one or more of

    law                    K(F_n, mu)
    quarter_circle         K(F_n, the quarter circle law of the same variance)
    scaled_law             inf over c > 0 of K(F_n, the law of c x for x of mu)
    scaled_quarter_circle  inf over c > 0 of K(F_n, the quarter circle law of variance c^2)
    separation             scaled_quarter_circle - law
    scaled_separation      scaled_quarter_circle - scaled_law

An infimum over all scales is between the smaller and the larger of the two one-sided distances at any one scale, which
the witness names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.arithmetic.balls import ARB, working_precision
from certattn.kernel.claims.attention_inputs import SCALE
from certattn.kernel.claims.claim import AFTER_BINARY64, Claim, Statement
from certattn.kernel.claims.distance_words import distance_words, latex_of_range, sign_found, words_of_range
from certattn.kernel.claims.matrix_inputs import (
    ATTENTION_FORM,
    CENTRED,
    KEYS,
    MATRIX,
    MATRIX_FORM,
    QUERIES,
    Spectrum,
    StatedMatrix,
    read_matrix,
)
from certattn.kernel.claims.ranges import Range
from certattn.kernel.claims.spectral_distances import (
    DISTANCE_FIELDS,
    QUANTITIES,
    SCALES,
    SEPARATION_FIELDS,
    Distances,
    ranges_names,
    ranges_proved,
    read_ranges,
    read_scales,
    require_square,
    wanted_scales,
)
from certattn.kernel.claims.spectral_law import LAW_FORMS, SpectralLaw, read_spectral_law
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import ByKey, Field, Record
from certattn.kernel.verdict import DOUBLE, Obligation

LAW = Field("law", LAW_FORMS, "the law mu: beta and lambda, alpha2, beta2 and lambda, or from: weights")


@dataclass(frozen=True)
class Problem:
    """A square matrix, a law, bounds by the names of QUANTITIES, and scales by the names of their fields."""

    matrix: StatedMatrix
    law: SpectralLaw
    ranges: Mapping[str, Range]
    scales: Mapping[str, fmpq]


class SpectralDistance(Claim[Problem]):
    name = "spectral-distance"
    title = "how far the singular values of one matrix are from the limit law of attention, and from quarter circles"
    arithmetic = ARB
    given = ByKey({ATTENTION_FORM: Record(QUERIES, KEYS, SCALE, CENTRED, LAW), MATRIX_FORM: Record(MATRIX, LAW)})
    asserts = Record(*DISTANCE_FIELDS, *SEPARATION_FIELDS)
    witness = Record(*SCALES)

    def read(self, certificate: Certificate) -> Problem:
        matrix, law = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        ranges = read_ranges(asserts, (*DISTANCE_FIELDS, *SEPARATION_FIELDS))
        if len(ranges) == 0:
            raise asserts.at.malformed(" or ".join(QUANTITIES), "nothing that is asserted")
        witness = None
        if certificate.witness is not None:
            witness = self.witness.read(certificate.witness, certificate.reading)
        return Problem(matrix, law, ranges, read_scales(witness, wanted_scales(ranges), asserts))

    def read_given(self, certificate: Certificate) -> tuple[StatedMatrix, SpectralLaw]:
        """The section `given` alone. Raises MalformedError."""
        form, values = self.given.read(certificate.given, certificate.reading)
        matrix = require_square(read_matrix(form, values))
        return matrix, read_spectral_law(values[LAW], matrix)

    def statement(self, problem: Problem) -> Statement:
        words = [words_of_range(name, stated) for name, stated in problem.ranges.items()]
        formulas = [latex_of_range(name, stated) for name, stated in problem.ranges.items()]
        if problem.matrix.latex:
            formulas.insert(0, problem.matrix.latex)
        head = distance_words(problem.matrix.words(), problem.law.words())
        return Statement(f"{head} {'; '.join(words)}.", r",\qquad ".join(formulas))

    def names(self, problem: Problem) -> list[str]:
        return ranges_names(problem.ranges)

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        return _proved(problem, names, problem.matrix.spectrum(bits), bits, ARB)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        return problem.matrix.tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.kernel.arithmetic.binary64.attention import BINARY64
        from certattn.kernel.claims.matrix_binary64 import spectrum_in_binary64

        with working_precision(AFTER_BINARY64):
            return _proved(problem, names, spectrum_in_binary64(problem.matrix, None), DOUBLE, BINARY64)

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        return sign_found(obligations)


def _proved(
    problem: Problem, names: Collection[str], spectrum: Spectrum, bits: int, arithmetic: str
) -> list[Obligation]:
    distances = Distances(spectrum.singular.values(), problem.law.at_precision(), problem.scales)
    return ranges_proved(problem.ranges, names, distances, bits, arithmetic)


CLAIM = SpectralDistance()
