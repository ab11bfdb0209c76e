"""What may be asserted of the softmax weights of a query: the mean, a covariance, its eigenvalues, log Z.

Each assertion reads its record, says itself in words, and encloses what is to be compared. The formulas
stand in `softmax_moments` and `spectrum`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

from flint import arb, arb_mat, fmpq

from certattn.kernel.decide.verdict import Obligation, at_least, at_most
from certattn.kernel.document.fields import Choice, Field, Record, Values
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.given.prompt_inputs import StatedPrompt
from certattn.kernel.given.query_inputs import Bounds, Matrices, StatedBounds
from certattn.kernel.mathematics.balls import ARB, linf_norm, row_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.softmax_moments import COVARIANCES
from certattn.kernel.mathematics.spectrum import largest_eigenvalue, smallest_eigenvalue

RADIUS = Field("radius", Bounds(minimum=0), "largest error: one number, or one per query")
MEAN_VALUE = Field("value", Matrix(), "T(q), a row per query")
COVARIANCE_VALUE = Field("value", Matrices(), "a matrix per query: a list of them, or their rows in one matrix")
LOG_VALUE = Field("value", Vector(), "log Z(q), a number per query")
OF = Field("of", Choice(tuple(COVARIANCES)), "whose covariance; `values` if left out", required=False)
SPECTRUM_OF = Field("of", Choice(("values", "keys")), "whose covariance; `values` if left out", required=False)
AT_LEAST = Field("at_least", Bounds(), "no eigenvalue is smaller: one number, or one per query", required=False)
AT_MOST = Field("at_most", Bounds(), "no eigenvalue is larger: one number, or one per query", required=False)

MEAN_RECORD = Record(MEAN_VALUE, RADIUS)
COVARIANCE_RECORD = Record(OF, COVARIANCE_VALUE, RADIUS)
EIGENVALUES_RECORD = Record(SPECTRUM_OF, AT_LEAST, AT_MOST)
LOG_RECORD = Record(LOG_VALUE, RADIUS)

_LATEX = {of: rf"\operatorname{{Cov}}_{{q_i}}({x[0]}, {y[0]})" for of, (x, y) in COVARIANCES.items()}

# The obligations at a query, by the first part of their names.
MEAN, COVARIANCE, EIGENVALUES, LOG_NORMALISER = "mean", "covariance", "eigenvalues", "log_normaliser"
SMALLEST, LARGEST = f"{EIGENVALUES}.at_least", f"{EIGENVALUES}.at_most"


class Weighted(Protocol):
    """A prompt under the softmax weights of a query, in one arithmetic or another."""

    def output_off(self, stated: ExactMatrix) -> list[arb]:
        """T(q) - stated."""

    def log_normaliser(self) -> arb:
        """log Z(q)."""

    def covariance(self, of: str) -> arb_mat:
        """Cov(x, y) as COVARIANCES has them."""


class Assertion(ABC):
    """Something asserted at every listed query.

    `kinds` are its obligations at a query: the first part of the name, and the left side in words.
    """

    kinds: Mapping[str, str]

    @abstractmethod
    def words(self) -> str:
        """What is asserted, every number in it."""

    @abstractmethod
    def latex(self) -> str:
        """The same as a formula."""

    @abstractmethod
    def obligation(self, kind: str, query: int, weighted: Weighted, bits: int, arithmetic: str = ARB) -> Obligation:
        """The obligation of a kind at a query, enclosed at the working precision `bits`."""


class Closeness(Assertion):
    """The distance between what the prompt gives and what is stated is at most `radius`."""

    radius: StatedBounds

    @abstractmethod
    def error(self, query: int, weighted: Weighted) -> arb:
        """The distance."""

    def obligation(self, kind: str, query: int, weighted: Weighted, bits: int, arithmetic: str = ARB) -> Obligation:
        sentence = f"{self.kinds[kind]} at query {query}"
        error, radius = self.error(query, weighted), self.radius.at(query)
        return at_most(f"{kind}[{query}]", sentence, error, radius, bits, arithmetic)


class MeanAssertion(Closeness):
    """|T(q_i) - row i of value|_linf <= radius."""

    def __init__(self, values: Values, prompt: StatedPrompt) -> None:
        self.kinds = {MEAN: "|T(q) - value|_linf"}
        self.value, self.radius = values[MEAN_VALUE], values[RADIUS]
        self.value.require_shape(prompt.count, prompt.output_dimension, "(queries x outputs)")
        self.radius.require_count(prompt.count)

    @cached_property
    def stated(self) -> ExactMatrix:
        """The stated means, a row per query."""
        return self.value.load()

    def error(self, query: int, weighted: Weighted) -> arb:
        """|T(q) - value|_linf."""
        return linf_norm(weighted.output_off(self.stated.take_rows([query])))

    def words(self) -> str:
        return f"the mean T(q) of the values is {self.value.words()} up to {self.radius.words()} in every coordinate"

    def latex(self) -> str:
        return r"\| T(q_i) - t_i \|_\infty \le r_i"


class CovarianceAssertion(Closeness):
    """|Cov_q(x, y) - value_i| <= radius in every entry."""

    def __init__(self, values: Values, prompt: StatedPrompt) -> None:
        self.kinds = {COVARIANCE: "the largest entry of |Cov - value|"}
        self.of = values.get(OF) or "values"
        self.value, self.radius = values[COVARIANCE_VALUE], values[RADIUS]
        self.whose = _whose(self.of, prompt)
        sides = {"values": prompt.output_dimension, "keys": _key_dimension(prompt)}
        rows, columns = (sides[side] for side in COVARIANCES[self.of])
        self.value.require_shape(prompt.count, rows, columns)
        self.radius.require_count(prompt.count)

    def error(self, query: int, weighted: Weighted) -> arb:
        found = weighted.covariance(self.of)
        stated = row_of_balls(self.value.entries(query, found.nrows()))
        return linf_norm([x - y for x, y in zip(found.entries(), stated, strict=True)])

    def words(self) -> str:
        value = f"{self.value.words()} up to {self.radius.words()} in every entry"
        return f"the covariance Cov of {self.whose} is {value}"

    def latex(self) -> str:
        return rf"\| {_LATEX[self.of]} - C_i \|_{{\max}} \le \rho_i"


class LogAssertion(Closeness):
    """|log Z(q_i) - value_i| <= radius."""

    def __init__(self, values: Values, prompt: StatedPrompt) -> None:
        self.kinds = {LOG_NORMALISER: "|log Z(q) - value|"}
        self.value, self.radius = values[LOG_VALUE], values[RADIUS]
        self.value.require_length(prompt.count, "a list of one number per query")
        self.radius.require_count(prompt.count)

    @cached_property
    def stated(self) -> list[fmpq]:
        """The stated numbers, one per query."""
        return self.value.load().row(0)

    def error(self, query: int, weighted: Weighted) -> arb:
        return abs(weighted.log_normaliser() - self.stated[query])

    def words(self) -> str:
        return f"log Z(q) is {self.value.words()} up to {self.radius.words()}"

    def latex(self) -> str:
        return r"| \log Z(q_i) - z_i | \le \epsilon_i"


class RangeAssertion(Assertion):
    """at_least <= l <= at_most for every eigenvalue l of Cov_q(x, x)."""

    def __init__(self, values: Values, prompt: StatedPrompt) -> None:
        self.of = values.get(SPECTRUM_OF) or "values"
        self.whose = _whose(self.of, prompt)
        self.lower, self.upper = values.get(AT_LEAST), values.get(AT_MOST)
        ends = {SMALLEST: (self.lower, "smallest eigenvalue"), LARGEST: (self.upper, "largest eigenvalue")}
        self.kinds = {kind: what for kind, (bounds, what) in ends.items() if bounds is not None}
        if not self.kinds:
            raise values.at.malformed("at_least or at_most", "nothing that is asserted")
        for bounds in (self.lower, self.upper):
            if bounds is not None:
                bounds.require_count(prompt.count)

    def obligation(self, kind: str, query: int, weighted: Weighted, bits: int, arithmetic: str = ARB) -> Obligation:
        name, sentence = f"{kind}[{query}]", f"the {self.kinds[kind]} at query {query}"
        covariance = weighted.covariance(self.of)
        if kind == SMALLEST and self.lower is not None:
            return at_least(
                name, sentence, smallest_eigenvalue(covariance, bits), self.lower.at(query), bits, arithmetic
            )
        assert self.upper is not None
        return at_most(name, sentence, largest_eigenvalue(covariance, bits), self.upper.at(query), bits, arithmetic)

    def words(self) -> str:
        ends = (("at least", self.lower), ("at most", self.upper))
        stated = " and ".join(f"{side} {bounds.words()}" for side, bounds in ends if bounds is not None)
        return f"every eigenvalue of the covariance of {self.whose} is {stated}"

    def latex(self) -> str:
        low = r"a_i \le " if self.lower is not None else ""
        high = r" \le b_i" if self.upper is not None else ""
        return rf"{low}\lambda({_LATEX[self.of]}){high}"


def _key_dimension(prompt: StatedPrompt) -> int:
    return prompt.weights.key_dimension if prompt.weights is not None else prompt.inputs[0].shape[1]


def _whose(of: str, prompt: StatedPrompt) -> str:
    """Whose covariance, in words; with U there is no other key than the token itself."""
    keys = "the keys" if prompt.weights is None or prompt.weights.U is None else "the keys, which are the tokens"
    return {"values": "the values", "keys": keys, "values-keys": f"the values (rows) and {keys} (columns)"}[of]
