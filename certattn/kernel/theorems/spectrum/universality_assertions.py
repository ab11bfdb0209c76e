"""What `universality-bound` is given and asserts: the fields, how they are read, and the words."""

from __future__ import annotations

from dataclasses import dataclass

from flint import fmpq

from certattn.kernel.document.fields import Field, Rational, Record, Values
from certattn.kernel.document.matrices import Matrix, MatrixInput
from certattn.kernel.given.ranges import SIGNED, Range, read_range
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.spectrum.mathematics.finite_moments import ScoreMatrix
from certattn.kernel.theorems.spectrum.score_matrix_inputs import (
    BETA,
    CUT,
    MOST,
    random_attention_words,
    read_score_matrix,
    read_theta,
)

ETA = Field("eta", Rational(above=0), "eta > 0: resolvents are taken at -eta")
QUERIES = Field("queries", Matrix(), "the queries, d x p: one a row")
UNIVERSALITY = Field("universality", Record(MOST), "bound of what Gaussian columns change", required=False)
DEVIATION = Field("deviation", Rational(above=0), "how far from its mean")
CONCENTRATION = Field("concentration", Record(DEVIATION, MOST), "bound of a probability", required=False)
LINEARISATION = Field("linearisation", SIGNED, "bounds of E |Sigma - Sigma_lin|_F^2", required=False)
EQUIVALENCE = Field("equivalence", Record(MOST), "bound of the whole way from attention to Y", required=False)
EXCESS = Field("excess", Rational(above=0), "excess > 0: |X| <= sqrt(d) + sqrt(p) + excess is typical")

ASSERTS = Record(UNIVERSALITY, CONCENTRATION, LINEARISATION, EQUIVALENCE)


@dataclass(frozen=True)
class Witness:
    """What is typical, for random queries."""

    theta: fmpq
    cut: fmpq
    excess: fmpq


@dataclass(frozen=True)
class Problem:
    """What is given and asserted, all exact: `queries`, or `scores` of random ones; None where nothing is asserted."""

    beta2: fmpq
    eta: fmpq
    queries: MatrixInput | None
    scores: ScoreMatrix | None
    universality: fmpq | None
    concentration: tuple[fmpq, fmpq] | None
    linearisation: Range | None
    equivalence: fmpq | None
    witness: Witness | None
    words: str

    def matrix(self) -> ExactMatrix:
        assert self.queries is not None
        return self.queries.load()

    @property
    def size(self) -> int:
        """d."""
        return self.scores.d if self.scores is not None else self.matrix().rows

    def latex(self) -> list[str]:
        latex = []
        if self.universality is not None:
            latex.append(r"\lvert \mathbb E_K s_T(-\eta) - \mathbb E_Z s_N(-\eta) \rvert \le u")
        if self.concentration is not None:
            latex.append(r"\mathbb P(\lvert s_T(-\eta) - \mathbb E s_T(-\eta) \rvert \ge x) \le u")
        if self.linearisation is not None:
            latex.append(r"\ell \le \mathbb E \lVert \Sigma - \Sigma_{\mathrm{lin}} \rVert_F^2 \le u")
        if self.equivalence is not None:
            latex.append(r"\lvert \mathbb E s_{\sqrt d A_\perp}(-\eta) - \mathbb E s_Y(-\eta) \rvert \le u")
        return latex


def read_given(given: Values) -> ScoreMatrix | None:
    """The sizes of random queries; None for given ones, whose shape is looked at. Raises MalformedError."""
    if QUERIES not in given:
        return read_score_matrix(given)
    if given[QUERIES].shape[0] < 2:
        raise given.node(QUERIES).malformed("at least 2 queries", "1 query")
    return None


def read_problem(given: Values, asserts: Values, witness: Values | None) -> Problem:
    """Everything stated. Raises MalformedError."""
    scores = read_given(given)
    if not any(field in asserts for field in ASSERTS.fields.values()):
        raise asserts.at.malformed(" or ".join(ASSERTS.fields), "nothing that is asserted")
    for field in (LINEARISATION, EQUIVALENCE):
        if scores is None and field in asserts:
            raise asserts.node(field).malformed(f"no {field.name}, which is about random queries", field.name)
    needs_witness = scores is not None and (UNIVERSALITY in asserts or EQUIVALENCE in asserts)
    if needs_witness and witness is None:
        raise asserts.at.malformed("a witness, which this is proved with", "no witness")
    if not needs_witness and witness is not None:
        raise witness.at.malformed("no witness, as none is needed here", "a witness")
    concentration = asserts.get(CONCENTRATION)
    return Problem(
        given[BETA] * given[BETA],
        given[ETA],
        given[QUERIES] if scores is None else None,
        scores,
        asserts[UNIVERSALITY][MOST] if UNIVERSALITY in asserts else None,
        (concentration[DEVIATION], concentration[MOST]) if concentration is not None else None,
        read_range(asserts[LINEARISATION]) if LINEARISATION in asserts else None,
        asserts[EQUIVALENCE][MOST] if EQUIVALENCE in asserts else None,
        Witness(read_theta(witness), witness[CUT], witness[EXCESS]) if witness is not None else None,
        _words(given, asserts, scores),
    )


def _words(given: Values, asserts: Values, scores: ScoreMatrix | None) -> str:
    eta = describe(given[ETA])
    found = []
    if scores is None:
        d, p = given[QUERIES].shape
        head = (
            f"For the d = {d} queries x_i in dimension p = {p} that are the rows of X = {given[QUERIES].words()}, as "
            "many keys k_j, independent N(0, I_p), scores S_ij = x_i.k_j/sqrt(p), "
            f"beta = {describe(given[BETA])} and the matrix T of the entries (exp(beta S_ij - beta^2 |x_i|^2/(2p)) - "
            "1)/sqrt(d)"
        )
        difference, over = "|E s_T - E s_N|", "over keys, the queries being fixed"
    else:
        head = random_attention_words(given, scores)
        difference, over = "E |E[s_T | X] - E[s_N | X]|, X the queries,", "over queries and keys"
    head += (
        f", with s_M = tr((MM' + eta)^-1)/d for d x d matrices M, eta = {eta}, and N with independent Gaussian columns "
        "of the covariance Sigma/d that those of T have given the queries, Sigma_ij = exp(beta^2 x_i.x_j/p) - 1: "
    )
    if UNIVERSALITY in asserts:
        found.append(f"{difference} is at most {describe(asserts[UNIVERSALITY][MOST])}")
    if CONCENTRATION in asserts:
        stated = asserts[CONCENTRATION]
        found.append(f"P(|s_T - E s_T| >= {describe(stated[DEVIATION])}) <= {describe(stated[MOST])}, {over}")
    if LINEARISATION in asserts:
        found.append(
            "E |Sigma - Sigma_lin|_F^2 with Sigma_lin = alpha^2 I + beta^2 XX'/p, alpha^2 = exp(beta^2) - 1 - beta^2, "
            f"is finite and {read_range(asserts[LINEARISATION]).words()}"
        )
    if EQUIVALENCE in asserts:
        found.append(
            "|E s_M - E s_Y| for M = sqrt(d) (A - 11'/d) and Y = (alpha Z + beta S)/sqrt(d), Z of independent N(0, 1), "
            f"alpha^2 = exp(beta^2) - 1 - beta^2, is at most {describe(asserts[EQUIVALENCE][MOST])}"
        )
    return head + "; ".join(found)
