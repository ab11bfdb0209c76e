"""The difference of `typical-prompt` in binary64: the same numbers as in Arb, as wider balls, much faster."""

from __future__ import annotations

from flint import arb

from certattn.fast.balls import Ball, arb_balls
from certattn.kernel.given.prompts import StatedPrompt
from certattn.kernel.given.stored_prompts import off_limit
from certattn.kernel.mathematics.operator import AffineMap, Operator


def difference(prompt: StatedPrompt, limit: AffineMap | Operator, *, tight: bool) -> list[arb]:
    """T - T_inf at the one query of the prompt. Raises Binary64Error where binary64 has no answer."""
    off = off_limit(prompt, limit, prompt.stated_queries, tight=tight)
    return arb_balls(Ball(off.middle[0], off.radius[0]))
