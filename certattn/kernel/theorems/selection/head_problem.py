"""The problem of `selection-on-a-head`: a head with its queries, and what is asserted of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Vector
from certattn.kernel.document.schema import Field, Record, Values, Variant
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
from certattn.kernel.theorems.selection.head_assertions import (
    BEST,
    MARGIN,
    RANK,
    SELECTED,
    TOKEN,
    WEIGHT,
    StatedMargin,
    StatedRange,
    read_exposure,
    read_margin,
    read_per_query,
    read_range,
    read_separability,
    read_tokens,
    require_token,
)
from certattn.kernel.theorems.selection.mathematics.chosen_tokens import ChosenTokens, Gaps

DIRECTION = Field("v", Vector(), "the score of a token is <v, value>")
SCORE = Field(
    "score",
    Variant("kind", {"direction": Record(DIRECTION), "value-norm": Record()}),
    "what tokens are worth: a direction of the values, or their norms",
    required=False,
)
# Of one token there is nothing to select from.
CAUSAL = causal_field(2)
GIVEN = prompt_forms(CAUSAL, SCORE)


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
            column = rows @ values[DIRECTION].load().T
            return [column.entry(t, 0) for t in range(column.rows)]
        return [sum((entry * entry for entry in row), fmpq(0)) for row in rows.to_rows()]


@dataclass(frozen=True)
class HeadStatement:
    """A head with its queries, and what is asserted of it.

    `ranges` are those of `margin` and `weight`, by name. `largest` holds what is asserted of largest margins: of the
    tokens chosen at all queries under "selected" and "best", of single tokens under their index.
    """

    head: Head
    selected: tuple[int, ...]
    ranges: Mapping[str, StatedRange]
    rank: tuple[int, ...] | None
    best: tuple[int, ...] | None
    largest: Mapping[str | int, StatedMargin]

    @cached_property
    def chosen(self) -> ChosenTokens:
        """The selected tokens at the stated queries."""
        return self.chosen_as("selected")

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
        return self.chosen.gaps(self.head.own_map)

    def margin(self, i: int) -> arb | fmpq:
        """By how much the logit of the selected token exceeds the largest other one; exact for a rational scale."""
        scale, smallest = self.head.prompt.scale, self.gaps.smallest_of(i)
        return abs(scale) * smallest if isinstance(scale, fmpq) else scale_ball(scale) * smallest

    def weight(self, i: int) -> arb:
        """The softmax weight of the selected token."""
        return self.gaps.weight(i, abs(scale_ball(self.head.prompt.scale)))

    def other_weight(self, i: int) -> arb:
        """1 - weight: a weight is below 1, however close."""
        return self.gaps.other_weight(i, abs(scale_ball(self.head.prompt.scale)))

    def better(self, i: int) -> int:
        """How many of the tokens that query i sees have a larger score than the selected one."""
        scores = self.head.scores[: self.head.seen[i]]
        return sum(score > scores[self.selected[i]] for score in scores)

    def lead(self, i: int, token: int) -> fmpq:
        """By how much the score of a token exceeds the largest other one that query i sees."""
        scores = self.head.scores[: self.head.seen[i]]
        return scores[token] - max(score for t, score in enumerate(scores) if t != token)


def read_head(certificate: Certificate) -> Head:
    """The section `given`. Raises MalformedError."""
    form, given = GIVEN.read(certificate.given, certificate.reading)
    prompt = read_prompt(form, given)
    if prompt.length < 2:
        raise given.at.malformed("at least two tokens", "nothing to select from")
    causal, score = read_causal(given, CAUSAL, prompt), given.get(SCORE)
    if score is not None and score[0] == "direction":
        score[1][DIRECTION].require_length(prompt.output_dimension, "a value")
    return Head(prompt, causal, score)


def read_problem(head: Head, asserts: Values, witness: Values | None) -> HeadStatement:
    """What is asserted of the head. Raises MalformedError."""
    count = head.prompt.count
    selected = read_tokens(asserts, SELECTED, head.seen)
    assert selected is not None
    rank, best = read_per_query(asserts, RANK, count), read_tokens(asserts, BEST, head.seen)
    for field in (RANK, BEST):
        if field in asserts and head.score is None:
            raise asserts.node(field).malformed(f"a score in given, which {field.name} is about", "none")
    ranges = {field.name: read_range(asserts[field], count) for field in (MARGIN, WEIGHT) if field in asserts}
    largest = _read_largest(head, asserts, witness, {"selected": selected, "best": best})
    return HeadStatement(head, selected, ranges, rank, best, largest)


def _read_largest(
    head: Head, asserts: Values, witness: Values | None, tokens: Mapping[str, tuple[int, ...] | None]
) -> dict[str | int, StatedMargin]:
    """What is asserted of largest margins, with its witnesses. Raises MalformedError."""
    prompt = head.prompt
    found: dict[str | int, StatedMargin] = {}
    for of, (asserted, shown) in read_separability(asserts, witness).items():
        chosen = tokens[of]
        if chosen is None:
            raise asserted.at.malformed(f"the tokens under {of} in asserts", "none")
        found[of] = read_margin(asserted, shown, chosen, head.seen, (prompt.key_dimension, prompt.query_dimension))
    for token, (asserted, shown) in read_exposure(asserts, witness).items():
        require_token(token, prompt.length, asserted.node(TOKEN))
        found[token] = read_margin(asserted, shown, (token,), (prompt.length,), (prompt.key_dimension, 1))
    return found
