"""Theorem `selection-on-a-head`: which token a head selects at each query, how clearly, and what could be selected.

Given a prompt (keys k_t and values v_t, or tokens with K, Q, V or U, V), queries z_i, a scale s and on request
scores of the tokens (<v, v_t> for a direction v, or |v_t|^2), put with M = Q, U or the identity

    l_it = s <k_t, M z_i>,     p_it = e^{l_it} / sum_r e^{l_ir},

where t and r run over the tokens that query i sees: all of them, or with `causal: c` the first c + i. A certificate
asserts, for every listed query i,

    selected       l_it is largest at the stated token t = alpha_i, and at no other
    margin         at_least <= min_{t != alpha_i} (l_{i alpha_i} - l_it) <= at_most
    weight         at_least <= p_{i alpha_i} <= at_most
    rank           so many of the seen tokens have a larger score than alpha_i
    best           the stated token has a larger score than every other seen token

and of the keys, with the largest margin Xi of a choice,

    separability   at_least <= Xi <= at_most for one matrix W in the place of M that is to select at all queries the
                   selected tokens, or the best ones; Xi = 0 says that no matrix does
    exposure       at_least <= Xi <= at_most for a vector that is to select one token among all: the distance of its
                   key from the convex hull of the others; 0 says that no query of a head with these keys selects it

For keys k_t, queries z_i, chosen tokens alpha_i and a matrix W, the gap of another token t that query i sees is

    <k_{alpha_i} - k_t, W z_i> = <W, (k_{alpha_i} - k_t) z_i'>.

The largest margin of the choice is the best smallest gap, by a matrix that is not too large:

    Xi = max_{|W|_F <= 1} min_{i, t} <k_{alpha_i} - k_t, W z_i>.

It is positive if and only if one matrix selects all chosen tokens at once, and otherwise 0. Theorem (weak duality):
for any W other than 0 and any multipliers mu_it >= 0 that are not all 0

    min_{i, t} <k_{alpha_i} - k_t, W z_i> / |W|_F  <=  Xi  <=  |sum_it mu_it (k_{alpha_i} - k_t) z_i'|_F / sum mu_it,

the first because W / |W|_F is one of the matrices, the second because the smallest gap is at most any average of
the gaps, and that average is the product of W with the average of the matrices.

With the one query z = 1 the matrix W is a vector a, and Xi is how far the key of the chosen token is from the convex
hull of the other keys: 0 if and only if no vector selects it.

Ataee Tarzanagh, Li, Zhang and Oymak 2023: token selection, problem (Att-SVM) over W and over p.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeVar

from flint import arb, fmpq, fmpz

from certattn.kernel.decide.obligation import NoProof, Obligation, Part
from certattn.kernel.decide.theorem import BITS, Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Choice, Count, Field, Listing, Rational, Record, Values, Variant, some_of
from certattn.kernel.document.tree import Node
from certattn.kernel.given.each_query import Bounds, StatedBounds
from certattn.kernel.given.prompts import (
    StatedPrompt,
    causal_field,
    prompt_forms,
    read_causal,
    read_prompt,
    seen_tokens,
)
from certattn.kernel.mathematics.balls import scale_ball
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import root

T = TypeVar("T", str, int)

# -- what is given

SCORE_DIRECTION = Field("v", Vector(), "the score of a token is <v, value>")
_WORTH = Variant("kind", {"direction": Record(SCORE_DIRECTION), "value-norm": Record()})
SCORE = Field("score", _WORTH, "what tokens are worth: a direction of the values, or their norms", required=False)
# Of one token there is nothing to select from.
CAUSAL = causal_field(2)
GIVEN = prompt_forms(CAUSAL, SCORE)


# -- fields of `asserts`

SELECTED = Field("selected", Listing(Count(0)), "the token of the largest logit at each query, counted from 0")
AT_LEAST = Field("at_least", Bounds(), "a lower bound: one number, or one per query", required=False)
AT_MOST = Field("at_most", Bounds(), "an upper bound: one number, or one per query", required=False)
RANGE = Record(AT_LEAST, AT_MOST, rules=[some_of(AT_LEAST, AT_MOST)])
MARGIN = Field("margin", RANGE, "by how much the logit of the selected token exceeds every other", required=False)
WEIGHT = Field("weight", RANGE, "the softmax weight of the selected token", required=False)
RANK = Field("rank", Listing(Count(0)), "how many tokens a query sees score higher than the selected one", False)
BEST = Field("best", Listing(Count(0)), "the token of the largest score among those each query sees, from 0", False)
OF = Field("of", Choice(("selected", "best")), "which tokens one matrix is to select")
TOKEN = Field("token", Count(0), "the token, counted from 0")
MARGIN_AT_LEAST = Field("at_least", Rational(above=0), "a lower bound > 0 of the largest margin", required=False)
MARGIN_AT_MOST = Field("at_most", Rational(minimum=0), "an upper bound of it; 0 where it cannot be done", False)
_BOUNDED = [some_of(MARGIN_AT_LEAST, MARGIN_AT_MOST)]
_ALL_QUERIES = Listing(Record(OF, MARGIN_AT_LEAST, MARGIN_AT_MOST, rules=_BOUNDED))
_MATRIX_SELECTS = "the largest margin with which one matrix selects the tokens at all queries"
SEPARABILITY = Field("separability", _ALL_QUERIES, _MATRIX_SELECTS, required=False)
_ONE_TOKEN = Listing(Record(TOKEN, MARGIN_AT_LEAST, MARGIN_AT_MOST, rules=_BOUNDED))
EXPOSURE = Field("exposure", _ONE_TOKEN, "how far keys are from the convex hull of the others", required=False)
ASSERTS = Record(SELECTED, MARGIN, WEIGHT, RANK, BEST, SEPARABILITY, EXPOSURE)

# -- fields of `witness`

QUERY = Field("query", Count(0), "the query, counted from 0")
MULTIPLIER = Field("multiplier", Rational(above=0), "its multiplier, > 0")
MATRIX = Field("W", Matrix(), "a matrix that selects them; the head's own if left out", required=False)
DIRECTION = Field("direction", Vector(), "a vector that selects the token", required=False)
_PAIRS, _TOKENS = Listing(Record(QUERY, TOKEN, MULTIPLIER)), Listing(Record(TOKEN, MULTIPLIER))
PAIR_MULTIPLIERS = Field("multipliers", _PAIRS, "of the gaps between the chosen token at a query and another", False)
TOKEN_MULTIPLIERS = Field("multipliers", _TOKENS, "multipliers of the gaps to other tokens", required=False)
_MATRICES = Listing(Record(OF, MATRIX, PAIR_MULTIPLIERS))
_DIRECTIONS = Listing(Record(TOKEN, DIRECTION, TOKEN_MULTIPLIERS))
SEPARABILITY_WITNESS = Field("separability", _MATRICES, "what bounds each largest margin", required=False)
EXPOSURE_WITNESS = Field("exposure", _DIRECTIONS, "what bounds each distance", required=False)
WITNESS = Record(BITS, SEPARABILITY_WITNESS, EXPOSURE_WITNESS)


# -- chosen tokens, and what sets them apart


@dataclass(frozen=True)
class ChosenTokens:
    """Keys (L x d), queries (n x e), and for each query the chosen token and how many of the first tokens it sees.

    Every query sees the chosen token and at least one more.
    """

    keys: ExactMatrix
    queries: ExactMatrix
    chosen: Sequence[int]
    seen: Sequence[int]

    def gaps(self, matrix: ExactMatrix) -> Gaps:
        """The gaps <k_{alpha_i} - k_t, W z_i> for W = `matrix`, d x e."""
        return Gaps(self.queries @ matrix.T @ self.keys.T, self.chosen, self.seen)

    def from_matrix(self, matrix: ExactMatrix) -> arb:
        """A lower bound of Xi at the working precision: the margin that W = `matrix` attains."""
        if matrix.is_zero():
            # The matrix 0 has no direction, but is itself one of norm at most 1.
            return arb(0)
        return attained_margin(arb(self.gaps(matrix).smallest()), arb(matrix.inner(matrix)))

    def from_multipliers(self, multipliers: Mapping[tuple[int, int], fmpq]) -> arb:
        """An upper bound of Xi at the working precision; `multipliers` hold the mu_it > 0 by (i, t), at least one."""
        total = sum(multipliers.values(), fmpq(0))
        combination = self.combination(multipliers)
        return margin_ceiling(arb(combination.inner(combination)), arb(total))

    def combination(self, multipliers: Mapping[tuple[int, int], fmpq]) -> ExactMatrix:
        """sum_it mu_it (k_{alpha_i} - k_t) z_i', d x e."""
        rows = sorted({i for i, _ in multipliers})
        coefficients = {i: [fmpq(0)] * self.keys.rows for i in rows}
        for (i, t), value in multipliers.items():
            coefficients[i][self.chosen[i]] += value
            coefficients[i][t] -= value
        differences = ExactMatrix.rational([coefficients[i] for i in rows]) @ self.keys
        return differences.T @ self.queries.take_rows(rows)


class Gaps:
    """What sets the chosen tokens apart: the products of every query with every key, over one denominator."""

    def __init__(self, products: ExactMatrix, chosen: Sequence[int], seen: Sequence[int]) -> None:
        self.products, self.denominator = products.numerators.tolist(), products.denominator
        self.chosen, self.seen = chosen, seen

    def of_query(self, i: int) -> Iterator[fmpz]:
        """The gaps of query i, times the denominator."""
        row, chosen = self.products[i], self.chosen[i]
        return (row[chosen] - row[t] for t in range(self.seen[i]) if t != chosen)

    def smallest_of(self, i: int) -> fmpq:
        """The smallest gap of query i."""
        return fmpq(min(self.of_query(i)), self.denominator)

    def smallest(self) -> fmpq:
        """The smallest gap of all."""
        return min(self.smallest_of(i) for i in range(len(self.chosen)))

    def weight(self, i: int, scale: arb) -> arb:
        """The softmax weight of the chosen token of query i, the logits being the products times `scale`."""
        unit = scale / self.denominator
        return selected_weight([gap * unit for gap in self.of_query(i)])

    def other_weight(self, i: int, scale: arb) -> arb:
        """1 - weight, which a ball near 1 would not tell from 0."""
        unit = scale / self.denominator
        return unselected_weight([gap * unit for gap in self.of_query(i)])


def selected_weight(gaps: Sequence[arb]) -> arb:
    """The softmax weight of a token whose logit exceeds those of the others by `gaps`: 1 / (1 + sum_t e^(-gap_t))."""
    total = arb(1)
    for gap in gaps:
        total = total + (-gap).exp()
    return 1 / total


def unselected_weight(gaps: Sequence[arb]) -> arb:
    """The softmax weight of all other tokens: 1 less that of the selected one, without cancellation."""
    others = sum([(-x).exp() for x in gaps], arb(0))
    return others / (1 + others)


def attained_margin(smallest: arb, norm_squared: arb) -> arb:
    """min_j <z_j, w> / |w|."""
    return smallest / root(norm_squared)


def margin_ceiling(norm_squared: arb, total: arb) -> arb:
    """|sum_j mu_j z_j| / sum_j mu_j."""
    return root(norm_squared) / total


# -- what is stated


@dataclass(frozen=True)
class StatedMargin:
    """Bounds on a largest margin, and what the witness has for each.

    `matrix` is None where none is stated; `multipliers` are by query and token, with query 0 for a key's distance.
    """

    lower: fmpq | None
    upper: fmpq | None
    matrix: ExactMatrix | None
    multipliers: Mapping[tuple[int, int], fmpq]


@dataclass(frozen=True)
class Head:
    """What is given: a prompt with its queries, how many tokens they see, and what tokens are worth.

    `causal` counts the tokens that the first query sees, None where every query sees all; `score` is a kind and its
    fields, or None.
    """

    prompt: StatedPrompt
    causal: int | None
    score: tuple[str, Values] | None

    @cached_property
    def seen(self) -> tuple[int, ...]:
        """How many of the first tokens each query sees."""
        return seen_tokens(self.prompt, self.causal)

    @cached_property
    def own_map(self) -> ExactMatrix:
        """M, or -M where the scale is negative: the matrix whose products order the tokens as the logits do."""
        scale = self.prompt.scale
        return -self.prompt.query_map if isinstance(scale, fmpq) and scale < 0 else self.prompt.query_map

    @cached_property
    def scores(self) -> list[fmpq]:
        """What the tokens are worth; of values their squared norm, which orders them as the norm does."""
        assert self.score is not None
        kind, values = self.score
        rows = self.prompt.exact.values
        if kind == "direction":
            return (rows @ values[SCORE_DIRECTION].load().T).T.row(0)
        return [sum((entry * entry for entry in row), fmpq(0)) for row in rows.to_rows()]


@dataclass(frozen=True)
class HeadStatement:
    """A head with its queries, and what is asserted of it.

    `ranges` are those of `margin` and `weight`, by name. `largest` holds what is asserted of largest margins: of the
    tokens chosen at all queries under "selected" and "best", of single tokens under their index.
    """

    head: Head
    selected: Sequence[int]
    ranges: Mapping[str, Values]
    rank: Sequence[int] | None
    best: Sequence[int] | None
    largest: Mapping[str | int, StatedMargin]

    def chosen_as(self, of: str | int) -> ChosenTokens:
        """The selected tokens, the best tokens, or one token at the query 1, among all."""
        keys = self.head.prompt.exact.keys
        if isinstance(of, int):
            return ChosenTokens(keys, ExactMatrix.identity(1), (of,), (keys.rows,))
        tokens = self.selected if of == "selected" else self.best
        assert tokens is not None
        return ChosenTokens(keys, self.head.prompt.stated_queries, tokens, self.head.seen)

    @cached_property
    def gaps(self) -> Gaps:
        """What sets the selected tokens apart, in units of 1/|s|."""
        return self.chosen_as("selected").gaps(self.head.own_map)

    def margin(self, i: int) -> arb | fmpq:
        """By how much the logit of the selected token exceeds the largest other one; exact for a rational scale."""
        scale, smallest = self.head.prompt.scale, self.gaps.smallest_of(i)
        return abs(scale) * smallest if isinstance(scale, fmpq) else scale_ball(scale) * smallest

    @property
    def scale(self) -> arb:
        """|s|."""
        return abs(scale_ball(self.head.prompt.scale))

    def better(self, i: int) -> int:
        """How many of the tokens that query i sees have a larger score than the selected one."""
        scores = self.head.scores[: self.head.seen[i]]
        return sum(score > scores[self.selected[i]] for score in scores)

    def lead(self, i: int, token: int) -> fmpq:
        """By how much the score of a token exceeds the largest other one that query i sees."""
        scores = self.head.scores[: self.head.seen[i]]
        return scores[token] - max(score for t, score in enumerate(scores) if t != token)


# -- reading


def read(certificate: Certificate) -> HeadStatement:
    """Raises MalformedError."""
    asserts, hint = ASSERTS.read(certificate.asserts, certificate.reading), certificate.witness
    head = read_head(certificate)
    witness = WITNESS.read(hint, certificate.reading) if hint is not None else None
    per_query = {field: read_per_query(asserts, field, head) for field in (SELECTED, RANK, BEST) if field in asserts}
    ranges = {field.name: asserts[field] for field in (MARGIN, WEIGHT) if field in asserts}
    for values in ranges.values():
        for end in (AT_LEAST, AT_MOST):
            if end in values:
                values[end].require_count(head.prompt.count)
    selected, rank, best = per_query[SELECTED], per_query.get(RANK), per_query.get(BEST)
    prompt, largest = head.prompt, dict[str | int, StatedMargin]()
    shape, tokens = (prompt.key_dimension, prompt.query_dimension), {"selected": selected, "best": best}
    for of, (values, shown) in _paired(asserts, SEPARABILITY, witness, SEPARABILITY_WITNESS, OF).items():
        chosen = tokens[of]
        if chosen is None:
            raise values.at.malformed(f"the tokens under {of} in asserts", "none")
        largest[of] = _read_margin(values, shown, chosen, head.seen, shape)
    for token, (values, shown) in _paired(asserts, EXPOSURE, witness, EXPOSURE_WITNESS, TOKEN).items():
        require_token(token, prompt.length, values.node(TOKEN))
        largest[token] = _read_margin(values, shown, [token], [prompt.length], (prompt.key_dimension, 1))
    return HeadStatement(head, selected, ranges, rank, best, largest)


def read_head(certificate: Certificate) -> Head:
    """The section `given`. Raises MalformedError."""
    form, given = GIVEN.read(certificate.given, certificate.reading)
    prompt = read_prompt(form, given)
    if prompt.length < 2:
        raise given.at.malformed("at least two tokens", "nothing to select from")
    causal, score = read_causal(given, CAUSAL, prompt), given.get(SCORE)
    if score is not None and score[0] == "direction":
        score[1][SCORE_DIRECTION].require_length(prompt.output_dimension, "a value")
    return Head(prompt, causal, score)


def read_per_query(asserts: Values, field: Field[list[int]], head: Head) -> list[int]:
    """A number for each query; but for a rank, a token among those that it sees."""
    stated, node = asserts[field], asserts.node(field)
    if len(stated) != head.prompt.count:
        raise node.malformed(f"{counted(head.prompt.count, 'number')}, one per query", f"{len(stated)}")
    for i, token in enumerate(stated if field is not RANK else []):
        require_token(token, head.seen[i], node, f" that query {i} sees")
    if field is not SELECTED and head.score is None:
        raise node.malformed(f"a score in given, which {field.name} is about", "none")
    return stated


def require_token(token: int, length: int, node: Node, what: str = "") -> None:
    """Refuse the index of a token that is not there."""
    if token >= length:
        raise node.malformed(f"the index of one of the {counted(length, 'token')}{what}, counted from 0", f"{token}")


def _paired(
    asserts: Values, stated: Field[list[Values]], witness: Values | None, shown: Field[list[Values]], key: Field[T]
) -> dict[T, tuple[Values, Values | None]]:
    """The records that `asserts` states, by their key, each with that of the witness."""
    found = dict[T, tuple[Values, Values | None]]()
    for values in asserts.items(stated):
        if values[key] in found:
            raise values.at.malformed(f"every {key.name} at most once", f"{values[key]} again")
        found[values[key]] = values, None
    for values in witness.items(shown) if witness is not None else []:
        name = values[key]
        if name not in found:
            raise values.at.malformed("a witness of what is asserted", f"one of {key.name} {name}, which is not")
        if found[name][1] is not None:
            raise values.at.malformed(f"every {key.name} at most once", f"{name} again")
        found[name] = found[name][0], values
    return found


def _read_margin(
    asserted: Values, witness: Values | None, chosen: Sequence[int], seen: Sequence[int], shape: tuple[int, int]
) -> StatedMargin:
    """Bounds on the largest margin of chosen tokens, W being of that shape."""
    lower, upper = asserted.get(MARGIN_AT_LEAST), asserted.get(MARGIN_AT_MOST)
    if witness is None:
        return StatedMargin(lower, upper, None, {})
    at_queries, multipliers = OF in witness, dict[tuple[int, int], fmpq]()
    for values in witness.items(PAIR_MULTIPLIERS if at_queries else TOKEN_MULTIPLIERS):
        query, token = values.get(QUERY) or 0, values[TOKEN]
        if query >= len(chosen):
            expected = f"the index of one of the {counted(len(chosen), 'query')}, from 0"
            raise values.node(QUERY).malformed(expected, f"{query}")
        require_token(token, seen[query], values.node(TOKEN), f" that query {query} sees" if at_queries else "")
        if token == chosen[query]:
            raise values.node(TOKEN).malformed("another token than the chosen one", f"{token}")
        if (query, token) in multipliers:
            raise values.at.malformed("every pair at most once", f"token {token} again")
        multipliers[query, token] = values[MULTIPLIER]
    matrix = None
    if MATRIX in witness:
        witness[MATRIX].require_shape(*shape, "(keys' dimension x queries' dimension)")
        matrix = witness[MATRIX].load()
    elif DIRECTION in witness:
        witness[DIRECTION].require_length(shape[0], "a key")
        matrix = witness[DIRECTION].load().T
    return StatedMargin(lower, upper, matrix, multipliers)


# -- what proves it


def obligations(stated: HeadStatement) -> Iterator[Obligation | NoProof]:
    queries = range(stated.head.prompt.count)
    yield from (_selected(stated, i) for i in queries)
    for kind, values in stated.ranges.items():
        for end in (AT_LEAST, AT_MOST):
            if end in values:
                yield from (_bounded(stated, kind, end, values[end].at(i), i) for i in queries)
    if stated.rank is not None:
        yield from (_ranked(stated, stated.rank[i], i) for i in queries)
    if stated.best is not None:
        yield from (_best(stated, stated.best[i], i) for i in queries)
    for of, margin in stated.largest.items():
        yield from _largest(stated, of, margin)


def _selected(stated: HeadStatement, i: int) -> Obligation:
    """That no other logit is as large: exactly, as the scale is left out."""
    return Obligation(f"{SELECTED.name}[{i}]", lambda: stated.gaps.smallest_of(i), ">", fmpq(0))


def _bounded(stated: HeadStatement, kind: str, end: Field[StatedBounds], bound: fmpq, i: int) -> Obligation:
    """A bound of the margin or of the softmax weight of the selected token."""
    name, below = f"{kind}.{end.name}[{i}]", end is AT_LEAST
    if compares_others(kind, bound):
        return Obligation(name, lambda: stated.gaps.other_weight(i, stated.scale), "<=" if below else ">=", 1 - bound)
    number = lambda: stated.margin(i) if kind == MARGIN.name else stated.gaps.weight(i, stated.scale)  # noqa: E731
    return Obligation(name, number, ">=" if below else "<=", bound)


def compares_others(kind: str, bound: fmpq) -> bool:
    """Whether it is the other tokens' weight that is compared: no precision tells a weight near 1 from 1."""
    return kind == WEIGHT.name and bool(bound >= 1)


def _ranked(stated: HeadStatement, rank: int, i: int) -> Obligation:
    """How the selected token compares by score."""
    better = lambda: ExactMatrix.row_vector([fmpq(stated.better(i))])  # noqa: E731
    return Obligation(f"{RANK.name}[{i}]", better, "=", ExactMatrix.row_vector([fmpq(rank)]))


def _best(stated: HeadStatement, token: int, i: int) -> Obligation:
    """Which token is the best."""
    return Obligation(f"{BEST.name}[{i}]", lambda: stated.lead(i, token), ">", fmpq(0))


def _largest(stated: HeadStatement, of: str | int, margin: StatedMargin) -> Iterator[Obligation | NoProof]:
    """The bounds of a largest margin from below and above, by weak duality."""
    named, part = f"exposure[{of}]" if isinstance(of, int) else f"separability.{of}", Part.WITNESS
    lower, upper = f"{named}.{AT_LEAST.name}", f"{named}.{AT_MOST.name}"
    chosen = cache(lambda: stated.chosen_as(of))
    if margin.lower is not None:
        matrix = margin.matrix if margin.matrix is not None or isinstance(of, int) else stated.head.own_map
        if matrix is None:
            yield NoProof(lower, "the witness has no direction for it")
        else:
            yield Obligation(lower, lambda: chosen().from_matrix(matrix), ">=", margin.lower, part)
    if margin.upper is not None:
        if not margin.multipliers:
            yield NoProof(upper, "the witness has no multipliers for it")
        else:
            yield Obligation(upper, lambda: chosen().from_multipliers(margin.multipliers), "<=", margin.upper, part)


_TITLE = "which token a head selects at each query, how clearly, and which tokens could be selected"
THEOREM = Theorem("selection-on-a-head", _TITLE, GIVEN, ASSERTS, WITNESS, read, obligations)
