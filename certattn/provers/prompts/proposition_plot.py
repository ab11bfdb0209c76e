"""A figure of a certificate of `proposition-3-1` or `proposition-3-4`: the repaired display against the length."""

from __future__ import annotations

import numpy as np
from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.prompts import every_law
from certattn.kernel.theorems.prompts.proposition_forms import names_a_class
from certattn.kernel.theorems.prompts.propositions import (
    C1,
    C2,
    GRADIENT,
    REPAIRED,
    Display,
    Error,
    read_given,
)
from certattn.provers.figures import BOUND, Target, canvas, standing
from certattn.provers.rounding import as_float

_BITS, _LONGEST, _POINTS = 64, 10**6, 60


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError for a published form, which is about one length."""
    reading = certificate.reading
    sigma = _sigma(certificate)
    asserts = certificate.asserts.value
    if not isinstance(asserts, dict) or REPAIRED.name not in asserts or sigma is None:
        raise UsageError("a figure shows a repaired form; this certificate says whether the published one holds")
    constants = REPAIRED.kind.read(asserts[REPAIRED.name], reading)
    gradient = asserts.get(GRADIENT.name)
    error = Error.OUTPUT if gradient is None else Error(gradient.value)
    display = Display.of(constants, sigma, error)
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


def _sigma(certificate: Certificate) -> fmpq | None:
    if names_a_class(certificate):
        return every_law.read_given(certificate).sigma
    return read_given(certificate).sigma
