"""Causal masks: how many of the first tokens each query of a prompt sees."""

from __future__ import annotations

from certattn.kernel.document.schema import Count, Field, Values
from certattn.kernel.given.prompt_inputs import StatedPrompt


def causal_field(least: int) -> Field[int]:
    """The field of a mask whose first query sees at least so many tokens."""
    return Field(
        "causal",
        Count(least),
        "how many of the first tokens the first query sees; every further query sees one more; all see all if left out",
        required=False,
    )


def read_causal(given: Values, field: Field[int], prompt: StatedPrompt) -> int | None:
    """How many tokens the first query sees, None for all. Raises MalformedError where the last would see too many."""
    causal = given.get(field)
    if causal is not None and causal + prompt.count - 1 > prompt.length:
        expected = f"at most {prompt.length - prompt.count + 1}, so that the last query sees tokens that are there"
        raise given.node(field).malformed(expected, f"{causal}")
    return causal


def seen_tokens(prompt: StatedPrompt, causal: int | None) -> tuple[int, ...]:
    """How many of the first tokens each query sees."""
    return tuple(prompt.length if causal is None else causal + i for i in range(prompt.count))


def sight_words(prompt: StatedPrompt, causal: int | None) -> str:
    """What a sentence says of it after it has named the queries and the prompt."""
    return "" if causal is None else sight_of_queries(prompt.count, causal)


def sight_of_queries(count: int, first: int) -> str:
    """That the first of so many queries sees the first tokens alone, after a sentence has named these."""
    more = ", every further query one more" if count > 1 else ""
    return f", of which the first query sees the first {first}{more}"
