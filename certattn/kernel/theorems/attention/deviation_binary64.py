"""Deviations of `output-deviation` in binary64: the same numbers as in Arb, as wider balls, much faster.

For the empirical limit T(q) - T_inf(q) comes out of one pass over the prompt; for an affine one or that of a law,
T_inf(q) is enclosed by Arb.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certattn.fast.balls import NORMS, arb_balls, difference
from certattn.fast.prefixes import beside_surrogate_of_prefixes
from certattn.kernel.errors import RefusedError
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.given.stored_prompts import limit_values, means, naming_its_infinities, stored_prompt
from certattn.kernel.mathematics.operator import AffineMap, Operator


def deviations(
    prompt: StatedPrompt,
    rows: Sequence[int],
    limit: AffineMap | Operator | None,
    seen: Sequence[int] | None,
    norm: str,
    *,
    tight: bool,
) -> list[tuple[arb, arb]]:
    """|T(q) - T_inf(q)| and |T(q)| for these queries. Raises Binary64Error where binary64 has no answer.

    limit: T_inf, or None for that of the moments of the tokens that a query sees.
    seen: how many of the first tokens each query of the prompt sees, or None for all.
    """
    stated = prompt.stated_queries.take_rows(rows)
    if limit is None or seen is not None:
        if tight:
            raise RefusedError("covariances and masks have no tight tier")
        stored = stored_prompt(prompt)
        with naming_its_infinities(prompt):
            if seen is None:
                found = stored.beside_surrogate(stated)
            else:
                found = beside_surrogate_of_prefixes(stored, stated, [seen[row] for row in rows])
        outputs, off = found.means, found.off
    else:
        outputs = means(prompt, stated, tight=tight)
    if limit is not None:
        off = difference(outputs, limit_values(prompt, limit, stated))
    return list(zip(arb_balls(NORMS[norm](off)), arb_balls(NORMS[norm](outputs)), strict=True))
