"""The tiers of binary64 arithmetic that a stated prompt has."""

from __future__ import annotations

from functools import cache

from certattn.kernel.decide.obligation import Tier
from certattn.kernel.given.prompt_inputs import DEFAULT_TIER, TIGHT_TIER, StatedPrompt


@cache
def _binary64() -> str:
    # Imported where a tier was used, which needs numpy.
    from certattn.fast.units import BINARY64

    return BINARY64


DEFAULT, TIGHT = Tier(DEFAULT_TIER, _binary64), Tier(TIGHT_TIER, _binary64)


def tiers_of(prompt: StatedPrompt) -> list[Tier]:
    """Those that the prompt can be computed in, the fastest first."""
    return [tier for tier in (DEFAULT, TIGHT) if tier.name in prompt.tiers]
