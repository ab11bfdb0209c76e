"""A figure of a certificate of `binary64-exponential`: relative errors at scores that were tried, and the bound."""

from __future__ import annotations

import numpy as np

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.arithmetic.binary64_exponential import MOST, read
from certattn.provers.figures import BOUND, RUN, Target, canvas, standing
from certattn.provers.rounding import as_float

_BITS, _UNIT = 128, 2.0**-53


def draw_certificate(certificate: Certificate, target: Target) -> None:
    """Draw the figure. Raises UsageError where no bound is stated."""
    stated = read(certificate)
    if MOST not in stated.error:
        raise UsageError("a figure shows the bound of the error; this certificate states none")
    with working_precision(_BITS):
        tried = np.array([float(error.mid()) for _, error in stated.tried()])
    bound = as_float(stated.error[MOST])
    with canvas(target, (5.6, 3.8)) as (_, axes):
        errors = np.sort(tried) / _UNIT
        axes.plot(range(1, len(errors) + 1), errors, color=RUN, lw=1.6, label="at some scores, computed")
        axes.axhline(bound / _UNIT, color=BOUND, lw=1.6, label=f"{standing()}: every score, at most {bound:.4g}")
        axes.axhline(1, color="0.6", lw=0.9, ls=":", label="one rounding")
        axes.set_ylim(0, 1.5 * bound / _UNIT)
        axes.set_xlabel("scores that were tried, sorted by the error")
        axes.set_ylabel("relative error, of one rounding")
        axes.set_title("the exponential of the fast arithmetic")
        axes.legend(loc="upper left")
