"""Every length from one on, range by range.

With the softmax weights p of n tokens and T^(j) the output over all of them but the j-th,

    T_n = sum_j (1 - p_j)/(n - 1) T^(j),      sum_j (1 - p_j)/(n - 1) = 1,

so E f(T_n - T) <= n/(n - 1) E f(T_(n-1) - T) for every convex f >= 0: E f(T_L - T)/L falls with L, for every law. A
number m that is known at L bounds it from L to L' by m L'/L, and a few lengths suffice up to where a bound that falls
is good enough. `docs/claims/prompts/output-mean-square.md` has the proof, under "One token fewer".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from flint import arb

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Count, Field, Listing, Values
from certattn.kernel.theorems.prompts.random_prompts import Lengths, RandomPrompt

FROM = Field("from", Listing(Count(1)), "the first length of each range; the last range has no end")
STARTS = replace(
    FROM, doc="exact numbers for every length: the first of each range; from the last on by a bound that falls",
    required=False,
)  # fmt: skip


def require_ranges(values: Values, field: Field[list[int]], lengths: Lengths, count: int | None = None) -> None:
    """Raises MalformedError unless so many ranges begin at the first of the lengths, and rise."""
    starts = values[field]
    if not lengths.onwards:
        raise values.node(field).malformed("no ranges, as one length is stated", counted(len(starts), "length"))
    if count is not None and len(starts) != count:
        raise values.node(field).malformed(
            f"{counted(count, 'length')}, one for each rule", counted(len(starts), "length")
        )
    if starts[0] != lengths.first or any(after <= before for before, after in pairwise(starts)):
        found = ", ".join(map(str, starts[:5]))
        raise values.node(field).malformed(f"lengths that rise, from {lengths.first} on", found)


def one_length(prompt: RandomPrompt, length: int) -> RandomPrompt:
    """The prompt with that many tokens."""
    return replace(prompt, length=length, onwards=False)


def every_length(prompt: RandomPrompt, first: int) -> RandomPrompt:
    """The prompt with that many tokens or more."""
    return replace(prompt, length=first, onwards=True)


def worst(starts: Sequence[int], mean_at: Callable[[int], arb], falling: Callable[[int], arb]) -> arb:
    """A bound of E f(T_L - T), f convex and not negative, for every L from the first of the starts on.

    `mean_at` bounds it at one length, `falling` from a length on; the latter may bound less: a probability that is at
    most the mean.
    """
    largest = falling(starts[-1])
    for first, after in pairwise(starts):
        largest = largest.max(mean_at(first) * (after - 1) / first)
    return largest
