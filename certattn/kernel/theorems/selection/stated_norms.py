"""Norms as certificates state them: an exponent l of |p|_l, or the nuclear norm of a matrix with its factors."""

from __future__ import annotations

from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.schema import Choice, Field, Kind, Rational, Reading, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.errors import MalformedError
from certattn.kernel.theorems.selection.mathematics.margin_norms import NuclearNorm, PowerNorm

NUCLEAR, INFINITY = "nuclear", "infinity"
# Powers of longer exponents take a check too long.
_LONGEST_EXPONENT = 64


class NormKind(Kind[str | PowerNorm]):
    """The nuclear norm, or the exponent l of |p|_l."""

    written = (Choice((NUCLEAR, INFINITY)), Rational(minimum=1))

    def read(self, node: Node, reading: Reading) -> str | PowerNorm:
        if node.value == NUCLEAR:
            return NUCLEAR
        if node.value == INFINITY:
            return PowerNorm(None)
        try:
            exponent = Rational(minimum=1).read(node, reading)
        except MalformedError:
            raise node.malformed(f"a number l >= 1, {INFINITY!r} or {NUCLEAR!r}") from None
        if max(exponent.p.bit_length(), exponent.q.bit_length()) > _LONGEST_EXPONENT:
            raise node.malformed(f"a fraction of two numbers of at most {_LONGEST_EXPONENT} bits")
        return PowerNorm(exponent)


NORM = Field("norm", NormKind(), "the norm that is least, the Euclidean one if left out", required=False)

K = Field("K", Matrix(), "K, with as many rows as Q")
Q = Field("Q", Matrix(), "Q")
FACTOR_PAIR = Record(K, Q)


def read_norm(
    stated: str | PowerNorm, shape: tuple[int, int], witness: Values, factors: Field[Values]
) -> PowerNorm | NuclearNorm:
    """The norm that is given, with the factors of a nuclear one. Raises MalformedError."""
    if isinstance(stated, PowerNorm):
        return stated
    if factors not in witness:
        raise witness.at.malformed("factors, which this is proved with", f"no {factors.name!r}")
    return nuclear_norm(witness[factors], shape)


def nuclear_norm(stated: Values, shape: tuple[int, int]) -> NuclearNorm:
    """Of a pair of factors. Raises MalformedError for other shapes."""
    stated[K].require_shape(None, shape[0], "(columns as keys have)")
    stated[Q].require_shape(stated[K].shape[0], shape[1], "(rows as K has, columns as queries have)")
    return NuclearNorm(shape, stated[K].load(), stated[Q].load())
