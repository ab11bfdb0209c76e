"""Where scores vary so much that no tail bound is of use, and searches in floats leave their range."""

from __future__ import annotations

from flint import arb

from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt

_BITS = 128


def require_light_scores(prompt: RandomPrompt, most: int) -> None:
    """Raises NotProvedError unless E w^2 <= e^most for the weights w = e^(<a, x> - Lambda(a)) of the tokens."""
    with working_precision(_BITS):
        law, tilt = prompt.law.law.map(arb), prompt.tilt()
        heaviness = law.log_mgf([2 * a for a in tilt]) - 2 * law.log_mgf(tilt)
        if (heaviness <= most) is True:
            return
        shown = heaviness.str(3, radius=False)
    raise NotProvedError(
        f"the scores vary too much for a useful bound: E w^2 is about e^{shown} for weights w of mean 1, "
        f"and the search goes up to e^{most}; one token carries nearly all the weight of such a prompt"
    )
