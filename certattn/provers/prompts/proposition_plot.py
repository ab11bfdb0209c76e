"""A figure of a certificate of `proposition-3-1` or `proposition-3-4`: the repaired display against the length."""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts.propositions import (
    C1,
    C2,
    GRADIENT,
    REPAIRED,
    SIGMA,
    Display,
    Error,
    read_given,
)
from certattn.provers.figures import BOUND, Target, canvas, standing
from certattn.provers.rounding import as_float

_BITS, _LONGEST, _POINTS = 64, 10**6, 60


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError for a published form, which is about one length."""
    setting, reading = read_given(certificate), certificate.reading
    asserts = certificate.asserts.value
    if not isinstance(asserts, dict) or REPAIRED.name not in asserts:
        raise UsageError("a figure shows a repaired form; this certificate says whether the published one holds")
    constants = REPAIRED.kind.read(asserts[REPAIRED.name], reading)
    gradient = asserts.get(GRADIENT.name)
    error = Error.OUTPUT if gradient is None else Error(gradient.value)
    display = Display.of(constants, setting.values[SIGMA], error)
    lengths = sorted({round(at) for at in np.geomspace(2, _LONGEST, _POINTS)})
    with working_precision(_BITS):
        bounds = [as_float(display.c1) * float(display.at(length).mid()) for length in lengths]
    c1, c2 = as_float(constants[C1]), as_float(constants[C2])
    with canvas(target, (5.6, 3.8)) as (_, axes):
        grows = r"\sigma^{12} (\ln L)^2" if error.power == 2 else r"\sigma^6 \ln L"
        label = rf"{standing()}, at most ${c1:.6g}\,{grows}\, /\, L^{{{c2:.3g}/\sigma^2}}$"
        axes.loglog(lengths, bounds, color=BOUND, lw=1.8, label=label)
        axes.set_xlabel("number of tokens $L$")
        axes.set_ylabel("mean square error")
        what = "output" if certificate.claim == "proposition-3-1" else "gradient"
        axes.set_title(f"{what} over $L$ tokens against the law, $\\sigma$ = {as_float(display.sigma):.3g}")
        axes.grid(True)
        axes.legend(loc="lower left")
