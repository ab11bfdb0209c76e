"""What `selection-on-a-head` asserts of the queries of a head and of its keys, and what its witness holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from flint import fmpq

from certattn.kernel.decide.theorem import BITS
from certattn.kernel.document.matrices import Matrix, MatrixInput, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Choice, Count, Field, Listing, Rational, Record, Values
from certattn.kernel.document.tree import Node
from certattn.kernel.given.bounds import Bounds, StatedBounds
from certattn.kernel.mathematics.exact_matrix import ExactMatrix

T = TypeVar("T", str, int)

# -- fields of `asserts`

SELECTED = Field("selected", Listing(Count(0)), "the token of the largest logit at each query, counted from 0")
AT_LEAST = Field("at_least", Bounds(), "a lower bound: one number, or one per query", required=False)
AT_MOST = Field("at_most", Bounds(), "an upper bound: one number, or one per query", required=False)
RANGE = Record(AT_LEAST, AT_MOST)
MARGIN = Field("margin", RANGE, "by how much the logit of the selected token exceeds every other", required=False)
WEIGHT = Field("weight", RANGE, "the softmax weight of the selected token", required=False)
RANK = Field(
    "rank", Listing(Count(0)), "how many of the tokens a query sees score higher than the selected one", required=False
)
BEST = Field(
    "best", Listing(Count(0)), "the token of the largest score among those each query sees, from 0", required=False
)
OF = Field("of", Choice(("selected", "best")), "which tokens one matrix is to select")
TOKEN = Field("token", Count(0), "the token, counted from 0")
MARGIN_AT_LEAST = Field("at_least", Rational(above=0), "a lower bound > 0 of the largest margin", required=False)
MARGIN_AT_MOST = Field(
    "at_most", Rational(minimum=0), "an upper bound of it; 0 where it cannot be done", required=False
)
SEPARABILITY = Field(
    "separability",
    Listing(Record(OF, MARGIN_AT_LEAST, MARGIN_AT_MOST)),
    "the largest margin with which one matrix selects the tokens at all queries",
    required=False,
)
EXPOSURE = Field(
    "exposure",
    Listing(Record(TOKEN, MARGIN_AT_LEAST, MARGIN_AT_MOST)),
    "how far keys are from the convex hull of the others",
    required=False,
)
ASSERTS = Record(SELECTED, MARGIN, WEIGHT, RANK, BEST, SEPARABILITY, EXPOSURE)

# -- fields of `witness`

QUERY = Field("query", Count(0), "the query, counted from 0")
MULTIPLIER = Field("multiplier", Rational(above=0), "its multiplier, > 0")
MATRIX = Field("W", Matrix(), "a matrix that selects them; the head's own if left out", required=False)
DIRECTION = Field("direction", Vector(), "a vector that selects the token", required=False)
PAIR_MULTIPLIERS = Field(
    "multipliers",
    Listing(Record(QUERY, TOKEN, MULTIPLIER)),
    "multipliers of the gaps between the chosen token at a query and another token",
    required=False,
)
TOKEN_MULTIPLIERS = Field(
    "multipliers", Listing(Record(TOKEN, MULTIPLIER)), "multipliers of the gaps to other tokens", required=False
)
SEPARABILITY_WITNESS = Field(
    "separability", Listing(Record(OF, MATRIX, PAIR_MULTIPLIERS)), "what bounds each largest margin", required=False
)
EXPOSURE_WITNESS = Field(
    "exposure", Listing(Record(TOKEN, DIRECTION, TOKEN_MULTIPLIERS)), "what bounds each distance", required=False
)
WITNESS = Record(BITS, SEPARABILITY_WITNESS, EXPOSURE_WITNESS)


@dataclass(frozen=True)
class StatedRange:
    """Bounds on a number of each query."""

    lower: StatedBounds | None
    upper: StatedBounds | None


@dataclass(frozen=True)
class StatedMargin:
    """Bounds on a largest margin, and what the witness has for each.

    `matrix` is None where none is stated; `multipliers` are by query and token, with query 0 for a key's distance.
    """

    lower: fmpq | None
    upper: fmpq | None
    matrix: ExactMatrix | None
    multipliers: Mapping[tuple[int, int], fmpq]


def read_range(values: Values, count: int) -> StatedRange:
    """Bounds for each of `count` queries. Raises MalformedError."""
    lower, upper = values.get(AT_LEAST), values.get(AT_MOST)
    if lower is None and upper is None:
        raise values.at.malformed("at_least or at_most", "nothing that is asserted")
    for bounds in (lower, upper):
        if bounds is not None:
            bounds.require_count(count)
    return StatedRange(lower, upper)


def read_per_query(values: Values, field: Field[list[int]], count: int) -> tuple[int, ...] | None:
    """A number for each query. Raises MalformedError."""
    stated = values.get(field)
    if stated is not None and len(stated) != count:
        raise values.node(field).malformed(f"{counted(count, 'number')}, one per query", f"{len(stated)}")
    return tuple(stated) if stated is not None else None


def read_tokens(values: Values, field: Field[list[int]], seen: tuple[int, ...]) -> tuple[int, ...] | None:
    """A token for each query, among those that it sees. Raises MalformedError."""
    tokens = read_per_query(values, field, len(seen))
    for i, token in enumerate(tokens or ()):
        require_token(token, seen[i], values.node(field), f"that query {i} sees")
    return tokens


def require_token(token: int, length: int, node: Node, what: str = "") -> None:
    """Refuse the index of a token that is not there."""
    if token >= length:
        which = f" {what}" if what else ""
        raise node.malformed(f"the index of one of the {counted(length, 'token')}{which}, counted from 0", f"{token}")


def read_separability(asserts: Values, witness: Values | None) -> dict[str, tuple[Values, Values | None]]:
    """The records of `asserts` by `of`, each with that of the witness. Raises MalformedError."""
    return _paired(asserts.get(SEPARABILITY), witness.get(SEPARABILITY_WITNESS) if witness else None, OF)


def read_exposure(asserts: Values, witness: Values | None) -> dict[int, tuple[Values, Values | None]]:
    """The records of `asserts` by token, each with that of the witness. Raises MalformedError."""
    return _paired(asserts.get(EXPOSURE), witness.get(EXPOSURE_WITNESS) if witness else None, TOKEN)


def _paired(
    asserted: list[Values] | None, witnessed: list[Values] | None, key: Field[T]
) -> dict[T, tuple[Values, Values | None]]:
    stated, shown = _by_key(asserted or [], key), _by_key(witnessed or [], key)
    for name, values in shown.items():
        if name not in stated:
            raise values.at.malformed("a witness of what is asserted", f"one of {key.name} {name}, which is not")
    for values in stated.values():
        if values.get(MARGIN_AT_LEAST) is None and values.get(MARGIN_AT_MOST) is None:
            raise values.at.malformed("at_least or at_most", "nothing that is asserted")
    return {name: (values, shown.get(name)) for name, values in stated.items()}


def _by_key(records: list[Values], key: Field[T]) -> dict[T, Values]:
    found: dict[T, Values] = {}
    for values in records:
        if values[key] in found:
            raise values.at.malformed(f"every {key.name} at most once", f"{values[key]} again")
        found[values[key]] = values
    return found


def read_margin(
    asserted: Values, witness: Values | None, chosen: tuple[int, ...], seen: tuple[int, ...], shape: tuple[int, int]
) -> StatedMargin:
    """Bounds on the largest margin of chosen tokens, W being of that shape. Raises MalformedError."""
    lower, upper = asserted.get(MARGIN_AT_LEAST), asserted.get(MARGIN_AT_MOST)
    if witness is None:
        return StatedMargin(lower, upper, None, {})
    stated = witness.get(MATRIX) if OF in witness else witness.get(DIRECTION)
    multipliers = {}
    for values in (witness.get(PAIR_MULTIPLIERS) if OF in witness else witness.get(TOKEN_MULTIPLIERS)) or []:
        query, token = values.get(QUERY) or 0, values[TOKEN]
        if query >= len(chosen):
            raise values.node(QUERY).malformed(
                f"the index of one of the {counted(len(chosen), 'query')}, from 0", f"{query}"
            )
        require_token(token, seen[query], values.node(TOKEN), f"that query {query} sees" if OF in witness else "")
        if token == chosen[query]:
            raise values.node(TOKEN).malformed("another token than the chosen one", f"{token}")
        if (query, token) in multipliers:
            raise values.at.malformed("every pair at most once", f"token {token} again")
        multipliers[query, token] = values[MULTIPLIER]
    return StatedMargin(lower, upper, _shaped(stated, shape, OF in witness), multipliers)


def _shaped(stated: MatrixInput | None, shape: tuple[int, int], is_matrix: bool) -> ExactMatrix | None:
    """A stated matrix of the shape, or a stated vector as a matrix of one column."""
    if stated is None:
        return None
    if is_matrix:
        stated.require_shape(*shape, "(keys' dimension x queries' dimension)")
        return stated.load()
    stated.require_length(shape[0], "a key")
    return stated.load().T
