"""Claim `not-marchenko-pastur`: the singular values of attention have no quarter circle as their limit law.

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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.claim import AFTER_BINARY64, Claim, Statement
from certattn.kernel.decide.verdict import DOUBLE, Enclosure, Obligation, identical
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.fields import Field, Rational, Record
from certattn.kernel.document.forms import EitherKey
from certattn.kernel.given.ranges import NONNEGATIVE, SIGNED, Range
from certattn.kernel.mathematics.balls import ARB, working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.distance_words import distance_words, latex_of_range, sign_found, words_of_range
from certattn.kernel.theorems.spectrum.limit_law import ALPHA2, BETA, BETA2, LAMBDA, SpectralLaw
from certattn.kernel.theorems.spectrum.mathematics.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.mathematics.equivalent_law import EquivalentLaw
from certattn.kernel.theorems.spectrum.mathematics.law_distance import differences
from certattn.kernel.theorems.spectrum.mathematics.quarter_circle import quarter_circle_tail
from certattn.kernel.theorems.spectrum.matrix_inputs import MATRIX_FORMS, Spectrum, StatedMatrix, read_matrix
from certattn.kernel.theorems.spectrum.spectral_distances import (
    SCALES,
    SEPARATION_FIELDS,
    Between,
    Distances,
    circle_tail,
    range_names,
    range_obligations,
    ranges_names,
    ranges_proved,
    read_ranges,
    read_scales,
    require_square,
    wanted_scales,
)
from certattn.kernel.theorems.spectrum.spectral_law import read_spectral_law

FINITE = Field("finite", MATRIX_FORMS, "one matrix: given, or that of queries and keys", required=False)
VALUE = Field("value", Rational(), "the number")
FOURTH_MOMENT = Field("fourth_moment", Record(VALUE), "m_4 - 2 m_2^2, exactly", required=False)
EXCESS = Field("excess", SIGNED, "bounds of m_4/m_2^2 - 2", required=False)
DISTANCE = Field(
    "distance", NONNEGATIVE, "bounds of the distance of mu to the quarter circle of the same variance", required=False
)
SCALED_DISTANCE = Field(
    "scaled_distance", NONNEGATIVE, "bounds of the smallest distance of mu to any quarter circle", required=False
)
SCALE = Field(
    "scale", Rational(above=0), "c > 0: the quarter circle of variance c^2 is about the nearest to mu", required=False
)

_OF_LAW = (EXCESS, DISTANCE, SCALED_DISTANCE)
_SENTENCES = {
    EXCESS.name: "m_4/m_2^2 - 2",
    DISTANCE.name: "distance of mu to the quarter circle of the same variance",
    SCALED_DISTANCE.name: "smallest distance of mu to any quarter circle",
}
_WORDS = {
    EXCESS.name: "m_4/m_2^2 - 2, which is 0 for every quarter circle law, is {}",
    DISTANCE.name: "the distance of mu to the quarter circle law of the same variance is {}",
    SCALED_DISTANCE.name: "the smallest distance of mu to a quarter circle law of any variance is {}",
}
_FORMULAS = {
    EXCESS.name: "m_4/m_2^2 - 2",
    DISTANCE.name: r"K(\mu, q_{m_2})",
    SCALED_DISTANCE.name: r"\inf_{c > 0} K(\mu, q_{c^2})",
}


@dataclass(frozen=True)
class Problem:
    """A law, what is stated of it, and a matrix or None with bounds of its separations.

    ranges: of the law; separations: of the matrix; scales: by the names of their fields.
    """

    law: SpectralLaw
    fourth_moment: fmpq | None
    ranges: Mapping[str, Range]
    matrix: StatedMatrix | None
    separations: Mapping[str, Range]
    scales: Mapping[str, fmpq]


class NotMarchenkoPastur(Claim[Problem]):
    name = "not-marchenko-pastur"
    title = "the limit law of the singular values of attention is no quarter circle: by moments, and by how much"
    arithmetic = ARB
    given = EitherKey({BETA.name: Record(BETA, LAMBDA, FINITE), ALPHA2.name: Record(ALPHA2, BETA2, LAMBDA, FINITE)})
    asserts = Record(FOURTH_MOMENT, *_OF_LAW, *SEPARATION_FIELDS)
    witness = Record(SCALE, *SCALES)

    def read(self, certificate: Certificate) -> Problem:
        law, matrix = self.read_given(certificate)
        asserts = self.asserts.read(certificate.asserts, certificate.reading)
        ranges, separations = read_ranges(asserts, _OF_LAW), read_ranges(asserts, SEPARATION_FIELDS)
        fourth = asserts.get(FOURTH_MOMENT)
        if fourth is None and len(ranges) + len(separations) == 0:
            raise asserts.at.malformed(" or ".join(self.asserts.fields), "nothing that is asserted")
        for field in SEPARATION_FIELDS:
            if field.name in separations and matrix is None:
                expected = "no separation, which is one of a matrix, or a matrix under given.finite"
                raise asserts.node(field).malformed(expected, f"{field.name} and no given.finite")
        if matrix is not None and len(separations) == 0:
            expected = "separation or scaled_separation, as given.finite is a matrix, or no matrix"
            raise asserts.at.malformed(expected)
        witness = None
        if certificate.witness is not None:
            witness = self.witness.read(certificate.witness, certificate.reading)
        wanted = wanted_scales(separations) + ([SCALE] if SCALED_DISTANCE.name in ranges else [])
        scales = read_scales(witness, wanted, asserts, (SCALE, *SCALES))
        return Problem(law, None if fourth is None else fourth[VALUE], ranges, matrix, separations, scales)

    def read_given(self, certificate: Certificate) -> tuple[SpectralLaw, StatedMatrix | None]:
        """The section `given` alone. Raises MalformedError."""
        form, values = self.given.read(certificate.given, certificate.reading)
        matrix = require_square(read_matrix(*values[FINITE])) if FINITE in values else None
        return read_spectral_law((form, values), matrix), matrix

    def statement(self, problem: Problem) -> Statement:
        words = []
        formulas = []
        if problem.fourth_moment is not None:
            value = describe(problem.fourth_moment)
            words.append(f"m_4 - 2 m_2^2, m_n the moments of mu, is {value}, and 0 for every quarter circle law")
            formulas.append(f"m_4 - 2 m_2^2 = {value}")
        for name, stated in problem.ranges.items():
            words.append(_WORDS[name].format(stated.words()))
            formulas.append(stated.latex(_FORMULAS[name]))
        words += [words_of_range(name, stated, problem.law) for name, stated in problem.separations.items()]
        formulas += [latex_of_range(name, stated, problem.law) for name, stated in problem.separations.items()]
        subject = None if problem.matrix is None else problem.matrix.words()
        return Statement(
            f"{distance_words(subject, problem.law.words())} {'; '.join(words)}.", r",\qquad ".join(formulas)
        )

    def names(self, problem: Problem) -> list[str]:
        names = [] if problem.fourth_moment is None else [FOURTH_MOMENT.name]
        for name, stated in problem.ranges.items():
            names += range_names(name, stated, exact=name != SCALED_DISTANCE.name)
        return names + ranges_names(problem.separations)

    def prove(self, problem: Problem, names: Collection[str], bits: int) -> list[Obligation]:
        spectrum = None
        if problem.matrix is not None and _about_matrix(problem, names):
            spectrum = problem.matrix.spectrum(bits)
        return _proved(problem, names, spectrum, bits, ARB)

    def tiers(self, problem: Problem) -> tuple[str, ...]:
        return () if problem.matrix is None else problem.matrix.tiers

    def prove_binary64(self, problem: Problem, names: Collection[str], tier: str) -> list[Obligation]:
        from certattn.fast.attention import BINARY64
        from certattn.kernel.theorems.spectrum.matrix_binary64 import spectrum_in_binary64

        assert problem.matrix is not None
        with working_precision(AFTER_BINARY64):
            spectrum = spectrum_in_binary64(problem.matrix, None) if _about_matrix(problem, names) else None
            return _proved(problem, names, spectrum, DOUBLE, BINARY64)

    def findings(self, problem: Problem, obligations: Sequence[Obligation]) -> list[str]:
        return sign_found(obligations)


def _about_matrix(problem: Problem, names: Collection[str]) -> bool:
    return any(name in names for name in ranges_names(problem.separations))


def _proved(
    problem: Problem, names: Collection[str], spectrum: Spectrum | None, bits: int, arithmetic: str
) -> list[Obligation]:
    law = problem.law.at_precision()
    # What needs no matrix has balls of the working precision, also beside doubles.
    own = bits if arithmetic == ARB else AFTER_BINARY64
    made: list[Obligation] = []
    if problem.fourth_moment is not None:
        made.append(_fourth_moment(problem.law, problem.fourth_moment))
    for name, stated in problem.ranges.items():
        exact = name != SCALED_DISTANCE.name
        if not any(found in names for found in range_names(name, stated, exact=exact)):
            continue
        found = of_law(problem.law, law, name, problem.scales, list(stated.bounds.values()))
        sentence = _SENTENCES[name]
        made += range_obligations(name, sentence, stated, found, exact=exact, bits=own, arithmetic=ARB)
    made = [obligation for obligation in made if obligation.name in names]
    if spectrum is not None:
        distances = Distances(spectrum.singular.values(), law, problem.scales)
        made += ranges_proved(problem.separations, names, distances, bits, arithmetic)
    return made


def _fourth_moment(law: SpectralLaw, stated: fmpq) -> Obligation:
    """m_4 - 2 m_2^2 needs beta^2 and lambda alone, which are rational."""
    truth = LawNumbers(fmpq(0), law.beta2, law.lambda_).fourth_excess
    left, right = ExactMatrix.row_vector([truth]), ExactMatrix.row_vector([stated])
    return identical(FOURTH_MOMENT.name, "m_4 - 2 m_2^2 = beta^4/lambda = value", left, right)


def of_law(
    stated: SpectralLaw, law: EquivalentLaw, name: str, scales: Mapping[str, fmpq], goals: Sequence[fmpq]
) -> Between:
    """What may be bounded of a law, from it at the working precision; sharp enough to be told from the goals."""
    if name == EXCESS.name:
        numbers = stated.exact
        excess: Enclosure = law.numbers.relative_excess if numbers is None else numbers.relative_excess
        return Between(excess, excess)
    if name == DISTANCE.name:
        variance = law.numbers.variance
        ends = [*law.piece_ends(), 2 * variance.sqrt()]
        found = differences(law.tail, lambda x: quarter_circle_tail(x, variance), ends, goals).distance
        return Between(found, found)
    scale = scales[SCALE.name]
    ends = [*law.piece_ends(), arb(2 * scale)]
    return Between.at_best_scale(differences(law.tail, circle_tail(scale), ends, goals))


CLAIM = NotMarchenkoPastur()
