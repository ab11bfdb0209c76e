"""Deviations of `output-deviation` in binary64: the same numbers as in Arb, as wider balls, much faster.

For the empirical limit T(q) - T_inf(q) comes out of one pass over the prompt; for an affine one or
that of a law, T_inf(q) is enclosed by Arb.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flint import arb

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.binary64.ball_algebra import NORMS, difference
from certattn.kernel.arithmetic.binary64.conversions import arb_balls, enclose
from certattn.kernel.arithmetic.binary64.enclosures import Ball
from certattn.kernel.arithmetic.exact_matrix import ExactMatrix
from certattn.kernel.arithmetic.operator import AffineMap, Operator
from certattn.kernel.claims.prompt_inputs import StatedPrompt
from certattn.kernel.claims.stored_prompts import naming_what_is_not_finite, stored_prompt
from certattn.kernel.errors import RefusedError

if TYPE_CHECKING:
    from certattn.kernel.claims.output_deviation import Problem

# Precision of what Arb contributes.
_ARB_BITS = 96


def deviations(problem: Problem, rows: Sequence[int], *, tight: bool = False) -> list[arb]:
    """|T(q) - T_inf(q)| for these queries. Raises Binary64Error where binary64 has no answer."""
    stated = problem.prompt.stated_queries.take_rows(rows)
    if problem.limit_kind == "empirical":
        if tight:
            raise RefusedError("covariances have no tight tier")
        with naming_what_is_not_finite(problem.prompt):
            off = stored_prompt(problem.prompt).off_surrogate(stated)
    else:
        off = off_limit(problem.prompt, problem.limit, stated, tight=tight)
    return arb_balls(NORMS[problem.bounds.norm](off))


def off_limit(prompt: StatedPrompt, limit: AffineMap | Operator, stated: ExactMatrix, *, tight: bool = False) -> Ball:
    """T(q) - T_inf(q) for every row q of `stated`. Raises Binary64Error where binary64 has no answer."""
    stored = stored_prompt(prompt)
    with working_precision(_ARB_BITS):
        far = enclose(limit.from_point(ExactMatrix.zero(1, prompt.output_dimension), stated))
    with naming_what_is_not_finite(prompt):
        near = stored.tight_moments(stated).means if tight else stored.means(stated)
    return difference(near, far)
