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
from certattn.kernel.claims.stored_prompts import naming_what_is_not_finite, stored_prompt
from certattn.kernel.errors import RefusedError

if TYPE_CHECKING:
    from certattn.kernel.claims.output_deviation import Problem

# Precision of what Arb contributes.
_ARB_BITS = 96


def deviations(problem: Problem, rows: Sequence[int], *, tight: bool = False) -> list[arb]:
    """|T(q) - T_inf(q)| for these queries. Raises Binary64Error where binary64 has no answer."""
    with naming_what_is_not_finite(problem.prompt):
        return arb_balls(NORMS[problem.bounds.norm](_off_limit(problem, rows, tight=tight)))


def _off_limit(problem: Problem, rows: Sequence[int], *, tight: bool) -> Ball:
    """T(q) - T_inf(q), a row for each query."""
    stored = stored_prompt(problem.prompt)
    stated = problem.prompt.stated_queries.take_rows(rows)
    if problem.limit_kind == "empirical":
        if tight:
            raise RefusedError("covariances have no tight tier")
        return stored.off_surrogate(stated)
    with working_precision(_ARB_BITS):
        limit = enclose(problem.limit.from_point(ExactMatrix.zero(1, problem.prompt.output_dimension), stated))
    return difference(stored.tight_moments(stated).means if tight else stored.means(stated), limit)
