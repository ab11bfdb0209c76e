"""Deviations of `output-deviation` in binary64: the same numbers as in Arb, as wider balls, much faster.

For the empirical limit T(q) - T_inf(q) comes out of one pass over the prompt; for an affine one or
that of a law, T_inf(q) is enclosed by Arb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flint import arb

from certattn.fast.attention import BesideSurrogate
from certattn.fast.ball_algebra import NORMS, difference
from certattn.fast.conversions import arb_balls, enclose
from certattn.fast.enclosures import Ball
from certattn.fast.prefixes import beside_surrogate_of_prefixes
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.causal import seen_tokens
from certattn.kernel.given.prompt_inputs import StatedPrompt
from certattn.kernel.given.stored_prompts import naming_what_is_not_finite, stored_prompt
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.operator import AffineMap, Operator

if TYPE_CHECKING:
    from certattn.kernel.theorems.attention.output_deviation import AssertedDeviation

# Precision of what Arb contributes.
_ARB_BITS = 96


def deviations(problem: AssertedDeviation, rows: Sequence[int], *, tight: bool = False) -> list[arb]:
    """|T(q) - T_inf(q)| for these queries. Raises Binary64Error where binary64 has no answer."""
    return [deviation for deviation, _ in compared(problem, rows, tight=tight)]


def compared(problem: AssertedDeviation, rows: Sequence[int], *, tight: bool = False) -> list[tuple[arb, arb]]:
    """|T(q) - T_inf(q)| and |T(q)| for these queries. Raises Binary64Error where binary64 has no answer."""
    stated = problem.prompt.stated_queries.take_rows(rows)
    prompt = problem.prompt
    if problem.limit_kind == "empirical" or problem.causal is not None:
        if tight:
            raise RefusedError("covariances and masks have no tight tier")
        with naming_what_is_not_finite(prompt):
            found = _masked(problem, rows, stated) if problem.causal is not None else _whole(prompt, stated)
        means, off = found.means, found.off
        if problem.limit_kind != "empirical":
            off = difference(means, _far(prompt, problem.limit, stated))
    else:
        means = _means(prompt, stated, tight=tight)
        off = difference(means, _far(prompt, problem.limit, stated))
    norm = NORMS[problem.bounds.norm]
    return list(zip(arb_balls(norm(off)), arb_balls(norm(means)), strict=True))


def _whole(prompt: StatedPrompt, stated: ExactMatrix) -> BesideSurrogate:
    return stored_prompt(prompt).beside_surrogate(stated)


def _masked(problem: AssertedDeviation, rows: Sequence[int], stated: ExactMatrix) -> BesideSurrogate:
    seen = seen_tokens(problem.prompt, problem.causal)
    return beside_surrogate_of_prefixes(stored_prompt(problem.prompt), stated, [seen[row] for row in rows])


def off_limit(prompt: StatedPrompt, limit: AffineMap | Operator, stated: ExactMatrix, *, tight: bool = False) -> Ball:
    """T(q) - T_inf(q) for every row q of `stated`. Raises Binary64Error where binary64 has no answer."""
    return difference(_means(prompt, stated, tight=tight), _far(prompt, limit, stated))


def _means(prompt: StatedPrompt, stated: ExactMatrix, *, tight: bool) -> Ball:
    """T(q) for every row."""
    stored = stored_prompt(prompt)
    with naming_what_is_not_finite(prompt):
        return stored.tight_moments(stated).means if tight else stored.means(stated)


def _far(prompt: StatedPrompt, limit: AffineMap | Operator, stated: ExactMatrix) -> Ball:
    """T_inf(q) for every row."""
    with working_precision(_ARB_BITS):
        return enclose(limit.from_point(ExactMatrix.zero(1, prompt.output_dimension), stated))
