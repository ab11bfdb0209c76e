"""A figure of a certificate of `typical-prompt`: this prompt's deviation among those of random prompts, simulated."""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.output_tail import DIRECTION, NORM_NAME
from certattn.kernel.theorems.prompts.tail_rules import EXCEEDS, PROBABILITY
from certattn.kernel.theorems.prompts.typical_prompt import read
from certattn.provers.figures import BOUND, MARK, RUN, Target, canvas, standing
from certattn.provers.prompts.prompt_simulation import errors
from certattn.provers.prompts.tail_figures import deviations
from certattn.provers.rounding import as_float, doubles

_BITS, _NUMBERS, _BARS = 64, 2_000_000, 40


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure, of the first direction or else of the norm."""
    stated = read(certificate)
    with working_precision(_BITS):
        own = np.array([[float(entry.mid()) for entry in stated.compared.difference()]])
    if stated.tail.directions:
        bound, norm = stated.tail.directions[0], None
        direction = doubles(bound[DIRECTION].load())[0]
        words = "deviation along the direction"
    else:
        assert stated.tail.norm is not None
        bound = stated.tail.norm.stated
        norm, direction, words = bound[NORM_NAME], None, "size of the deviation"
    prompt = stated.compared.random()
    sample = deviations(errors(prompt, prompt.length, _NUMBERS // prompt.length), direction, norm)
    exceeds, chance = as_float(bound[EXCEEDS]), as_float(bound[PROBABILITY])
    with canvas(target, (5.6, 3.8)) as (_, axes):
        axes.hist(
            sample, _BARS, density=True, histtype="stepfilled", color="#c9d9e8", label="random prompts, simulated"
        )
        axes.axvline(float(deviations(own, direction, norm)[0]), color=RUN, lw=2, label="this prompt")
        label = f"{standing()}: random ones exceed\n{exceeds:.4g} with probability $\\leq$ {chance:g}"
        axes.axvline(exceeds, color=BOUND, lw=1.6, ls="--", label=label)
        axes.plot([0], [0], marker="|", ms=8, color=MARK, ls="")
        axes.set_xlabel(words)
        axes.set_ylabel("density")
        axes.set_title(f"output over {prompt.length} tokens against the infinite prompt")
        axes.set_ylim(0, 1.9 * axes.get_ylim()[1])
        axes.legend(loc="upper left")
