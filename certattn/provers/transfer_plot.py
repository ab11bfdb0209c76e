"""A figure of a certificate of `risk-transfer`: the bounds of the risk and of the tube along the way.

Both are computed once more by the kernel's arithmetic; the certificate states only their ends.
"""

from __future__ import annotations

from pathlib import Path

from flint import arb

from certattn.kernel.arithmetic.balls import working_precision
from certattn.kernel.arithmetic.finite_prompt_tube import FinitePrompts, bound_of_risk, tube
from certattn.kernel.arithmetic.regression_descent import flat
from certattn.kernel.claims.population_transfer import PopulationTransfer
from certattn.kernel.claims.regression_inputs import balls_around
from certattn.kernel.claims.risk_transfer import CLAIM
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.provers.figures import canvas
from certattn.provers.rounding import as_float

_BOUND, _RUN, _TUBE = "#c0562f", "#1f4e79", "#6a8f3c"
_BITS = 64


def draw_certificate(certificate: Certificate, path: Path) -> None:
    """Draw the figure into a file."""
    problem = CLAIM.read(certificate)
    if not isinstance(problem, PopulationTransfer):
        raise UsageError("a figure shows prompts of a length; of given prompts there is none")
    setting = problem.setting
    with working_precision(_BITS):
        prompts, start = FinitePrompts(setting.covariance, problem.length), flat(balls_around(setting.start))
        pieces = list(tube(prompts, start, setting.time, setting.order, setting.pieces))
        times = [as_float(piece.last) for piece in pieces]
        risks = [float(arb(prompts.field.risk(piece.flow).mid())) for piece in pieces]
        bounds = [float(bound_of_risk(prompts, piece.end).upper()) for piece in pieces]
        distances = [float(piece.reached) for piece in pieces]
    with canvas(path, (6.0, 3.8)) as (_, axes):
        axes.semilogy(times, risks, color=_RUN, lw=1.6, label="risk over infinite prompts")
        label = f"bound of the risk, L = {as_float(problem.length):.2g}"
        axes.semilogy(times, bounds, color=_BOUND, lw=1.6, ls="--", label=label)
        axes.semilogy(times, distances, color=_TUBE, lw=1.2, ls=":", label="distance of the runs, at most")
        axes.axhline(as_float(setting.risk), color=_BOUND, lw=0.8)
        axes.set_xlim(0, times[-1])
        axes.set_ylim(bottom=min(*risks, as_float(setting.risk)) / 3)
        axes.set_xlabel("time")
        axes.legend(frameon=False, fontsize=9)
