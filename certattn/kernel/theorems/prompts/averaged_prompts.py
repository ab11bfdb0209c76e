"""What a claim about random prompts and random queries is given: two Gaussian laws, attention weights, a length.

L independent tokens x ~ N(m, Gamma) and, independent of them, a query z ~ N(m_z, S_z). The tilt is
a = s U z, so that the variance of the scores is v = a'Gamma a = z'N z with N = s^2 U'Gamma U.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import ByKey, Field, Record, Values
from certattn.kernel.given.attention import (
    BILINEAR,
    GAUSSIAN,
    KEY_WEIGHTS,
    MEAN,
    QUERY_WEIGHTS,
    SCALE,
    VALUE_WEIGHTS,
    StatedLaw,
    Weights,
    gaussian_words,
    read_gaussian,
    read_scale,
    read_weights,
)
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.reals import Real, describe, square
from certattn.kernel.theorems.prompts.random_prompts import LENGTH, TOKEN_LAW

QUERY_LAW = Field("queries", GAUSSIAN, "Gaussian law of the query z, independent of the tokens")


def averaged_prompt_forms(*others: Field[Any]) -> ByKey:
    """The record of a random prompt for random queries, with U or with K and Q."""
    shared: tuple[Field[Any], ...] = (TOKEN_LAW, VALUE_WEIGHTS, LENGTH, SCALE, QUERY_LAW, *others)
    return ByKey({"U": Record(BILINEAR, *shared), "law": Record(KEY_WEIGHTS, QUERY_WEIGHTS, *shared)})


@dataclass(frozen=True)
class AveragedPrompt:
    """L independent Gaussian tokens and a Gaussian query, all exact."""

    law: StatedLaw
    tokens: Gaussian
    queries: Gaussian
    weights: Weights
    scale: Real
    length: int
    query_words: str

    def average(self) -> QueryAverage:
        """E_z of (tr V Gamma V' + |V Gamma a|^2) times a function of v."""
        V, Gamma = self.weights.values(), ExactMatrix.rational(self.tokens.covariance)
        U = self.weights.bilinear()
        outer, factor = V @ Gamma @ U, square(self.scale)
        spread = (V @ Gamma @ V.T).trace()
        return QueryAverage(
            ExactMatrix.row_vector(self.queries.mean),
            ExactMatrix.rational(self.queries.covariance),
            spread,
            (outer.T @ outer).scaled(factor),
            (U.T @ Gamma @ U).scaled(factor),
        )

    def words(self) -> str:
        values = "" if self.weights.V is None else f" and values V x, V = {self.weights.V.words()}"
        return (
            f"{counted(self.length, 'independent token')} x: {self.law.words}, "
            f"with the score {describe(self.scale)} * <x, U z> for {self.weights.score_words()}{values}, and an "
            f"independent Gaussian query z of {self.query_words}"
        )


def read_averaged_prompt(values: Values) -> AveragedPrompt:
    """What a section `given` states, shapes checked against each other."""
    law = values[TOKEN_LAW]
    if not isinstance(law.law, Gaussian):
        raise law.node.malformed("kind: gaussian, for averages over queries", "another law")
    weights = read_weights(values, law.dimension)
    stated = values[QUERY_LAW]
    stated[MEAN].require_length(weights.query_dimension, "what U or Q acts on")
    queries, words = read_gaussian(stated), gaussian_words(stated)
    return AveragedPrompt(law, law.law, queries, weights, read_scale(values), values[LENGTH], words)
