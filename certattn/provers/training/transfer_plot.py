"""A figure of a certificate of `risk-transfer`: the bounds of the risk and of the tube along the way.

Both are computed once more by the kernel's arithmetic; the certificate states only their ends.
"""

from __future__ import annotations

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.regression import balls_around, flat
from certattn.kernel.theorems.training.risk_transfer import LENGTH, RISK, TIME, FinitePrompts, bound_of_risk, read, tube
from certattn.provers.figures import BOUND, RUN, THIRD, Target, canvas, standing
from certattn.provers.rounding import as_float

_BITS = 64
# The tube may be thinner than anything else by many powers of ten: then it is drawn where it is wide enough.
_DEEPEST = 1e-6
# From here on a length is written as a power of ten.
_LONGEST = 10**9


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file."""
    problem = read(certificate)
    if problem.prompts is not None:
        raise UsageError("no figure is drawn for given prompts, only for prompts of a length")
    length, time, risk = problem.given[LENGTH], problem.asserts[TIME], as_float(problem.asserts[RISK])
    with working_precision(_BITS):
        prompts, start = FinitePrompts(problem.covariance, length), flat(balls_around(problem.start))
        pieces = list(tube(prompts, start, time, problem.order, problem.pieces))
        times = [as_float(piece.last) for piece in pieces]
        risks = [float(arb(prompts.field.risk(piece.flow).mid())) for piece in pieces]
        bounds = [float(bound_of_risk(prompts, piece.end).upper()) for piece in pieces]
        distances = [float(piece.distance.reached) for piece in pieces]
    with canvas(path, (5.6, 5.6), 2, sharex=True, height_ratios=[3, 2]) as (_, (above, below)):
        above.set_title(f"prompts of {_length(length)} or more tokens")
        above.semilogy(times, risks, color=RUN, lw=1.6, label="infinite prompts")
        above.semilogy(times, bounds, color=BOUND, lw=1.6, ls="--", label="finite prompts, at most")
        above.axhline(risk, color=BOUND, lw=0.8, ls=":", label=f"{standing()} at the end: {risk:.3g}")
        above.set_ylabel("risk")
        above.set_ylim(*_limits([*risks, *bounds, risk]))
        above.legend()
        below.semilogy(times, distances, color=THIRD, lw=1.6, label="between the two runs, at most")
        below.set_ylabel("distance")
        below.set_ylim(*_limits(distances))
        below.set_xlim(0, times[-1])
        below.set_xlabel("time")
        below.legend(loc="lower right")


def _limits(values: list[float]) -> tuple[float, float]:
    """What holds every curve with some room, but no more than so many powers of ten."""
    largest = max(values)
    smallest = min((value for value in values if value > 0), default=largest)
    return max(smallest / 2, largest * _DEEPEST), largest * 2


def _length(length: fmpq) -> str:
    """1,700; a power of ten where there would be too many digits."""
    if length < _LONGEST:
        return f"{int(length.p):,}"
    digits, power = f"{as_float(length):.3g}".split("e+")
    return rf"${digits} \times 10^{{{int(power)}}}$"
