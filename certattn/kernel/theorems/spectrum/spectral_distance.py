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

and of a law that is truncated at tau that tau^2 = n m(tau) has a solution near tau (`truncation`).

An infimum over all scales is between the smaller and the larger of the two one-sided distances at any one scale, which
the witness names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.decide.claim import AFTER_BINARY64, Claim, Statement
from certattn.kernel.decide.verdict import DOUBLE, Obligation
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Field, Record
from certattn.kernel.document.forms import ByKey
from certattn.kernel.given.attention_inputs import SCALE
from certattn.kernel.given.ranges import Range
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.theorems.spectrum.distance_words import distance_words, latex_of_range, sign_found, words_of_range
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.kernel.theorems.spectrum.matrix_inputs import (
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
from certattn.kernel.theorems.spectrum.spectral_distances import (
    DISTANCE_FIELDS,
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
from certattn.kernel.theorems.spectrum.spectral_law import LAW_FORMS, read_spectral_law
from certattn.kernel.theorems.spectrum.truncation import FIXED_POINT, FixedPoint, read_fixed_point

LAW = Field(
    "law", LAW_FORMS, "the law mu: beta and lambda, or from: weights, truncated or not; or alpha2, beta2 and lambda"
)


@dataclass(frozen=True)
class Problem:
    """A square matrix, a law, bounds by the names of QUANTITIES, and scales by the names of their fields.

    fixed_point: what is stated of the law's tau, if anything.
    """

    matrix: StatedMatrix
    law: SpectralLaw
    fixed_point: FixedPoint | None
    ranges: Mapping[str, Range]
    scales: Mapping[str, fmpq]


class SpectralDistance(Claim[Problem]):
    name = "spectral-distance"
    title = "how far the singular values of one matrix are from the limit law of attention, and from quarter circles"
    arithmetic = ARB
    given = ByKey({ATTENTION_FORM: Record(QUERIES, KEYS, SCALE, CENTRED, LAW), MATRIX_FORM: Record(MATRIX, LAW)})
    asserts = Record(FIXED_POINT, *DISTANCE_FIELDS, *SEPARATION_FIELDS)
    witness = Record(*SCALES)

    def read(self, certificate: Certificate) -> Problem:
        matrix, law = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        ranges = read_ranges(asserts, (*DISTANCE_FIELDS, *SEPARATION_FIELDS))
        fixed_point = read_fixed_point(asserts, law, matrix.count)
        if len(ranges) == 0 and fixed_point is None:
            raise asserts.at.malformed(" or ".join(self.asserts.fields), "nothing that is asserted")
        witness = None
        if certificate.witness is not None:
            witness = self.witness.read(certificate.witness, certificate.reading)
        return Problem(matrix, law, fixed_point, ranges, read_scales(witness, wanted_scales(ranges), asserts))

    def read_given(self, certificate: Certificate) -> tuple[StatedMatrix, SpectralLaw]:
        """The section `given` alone. Raises MalformedError."""
        form, values = self.given.read(certificate.given, certificate.reading)
        matrix = require_square(read_matrix(form, values))
        return matrix, read_spectral_law(values[LAW], matrix)

    def statement(self, problem: Problem) -> Statement:
        words = [words_of_range(name, stated, problem.law) for name, stated in problem.ranges.items()]
        formulas = [latex_of_range(name, stated, problem.law) for name, stated in problem.ranges.items()]
        if problem.fixed_point is not None:
            words.insert(0, problem.fixed_point.words())
            formulas.insert(0, problem.fixed_point.latex)
        if problem.matrix.latex:
            formulas.insert(0, problem.matrix.latex)
        head = distance_words(problem.matrix.words(), problem.law.words())
        return Statement(f"{head} {'; '.join(words)}.", r",\qquad ".join(formulas))

    def names(self, problem: Problem) -> list[str]:
        own = [] if problem.fixed_point is None else problem.fixed_point.names
        return own + ranges_names(problem.ranges)

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        spectrum = problem.matrix.spectrum(bits) if _about_matrix(problem, names) else None
        return _proved(problem, names, spectrum, bits, ARB)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        return problem.matrix.tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.fast.attention import BINARY64
        from certattn.kernel.theorems.spectrum.matrix_binary64 import spectrum_in_binary64

        with working_precision(AFTER_BINARY64):
            spectrum = spectrum_in_binary64(problem.matrix, None) if _about_matrix(problem, names) else None
            return _proved(problem, names, spectrum, DOUBLE, BINARY64)

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        return sign_found(obligations)


def _about_matrix(problem: Problem, names: Collection[str]) -> bool:
    return any(name in names for name in ranges_names(problem.ranges))


def _proved(
    problem: Problem, names: Collection[str], spectrum: Spectrum | None, bits: int, arithmetic: str
) -> list[Obligation]:
    made: list[Obligation] = []
    if problem.fixed_point is not None:
        # What needs no matrix has balls of the working precision, also beside doubles.
        own = bits if arithmetic == ARB else AFTER_BINARY64
        made = [found for found in problem.fixed_point.proved(own) if found.name in names]
    if spectrum is not None:
        distances = Distances(spectrum.singular.values(), problem.law.at_precision(), problem.scales)
        made += ranges_proved(problem.ranges, names, distances, bits, arithmetic)
    return made


CLAIM = SpectralDistance()
