"""A figure of a certificate of `risk-transfer`: the bound of the risk along the way, for each range of lengths.

It is computed once more by the kernel's arithmetic; the certificate states only its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from flint import arb_mat, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.training.length_tube import Flow, Piece, risk_bound
from certattn.kernel.theorems.training.risk_transfer import LENGTH, RISK, read
from certattn.provers.figures import BOUND, RUN, Target, canvas, standing
from certattn.provers.rounding import as_float

_BITS = 64
# The risk is looked at after so many pieces.
_LOOK = 2
_FAINTEST = 0.25
_LOWEST, _HIGHEST = 0.1, 30


def draw_certificate(certificate: Certificate, path: Target) -> None:
    """Draw the figure into a file."""
    problem = read(certificate)
    if problem.prompts is not None or problem.lengths is None:
        raise UsageError("no figure is drawn for given prompts, only for prompts of a length")
    length, risk = problem.given[LENGTH], as_float(problem.asserts[RISK])
    with working_precision(_BITS):
        finite = [_risks(run.flow, run.pieces) for run in problem.flows()]
        run = problem.infinite()[-1]
        infinite = _risks(run.flow, run.pieces)
    ranges = problem.lengths.ranges
    with canvas(path, (5.6, 3.8)) as (_, axes):
        axes.set_title(f"prompts of {length:,} or more tokens")
        axes.semilogy(*infinite, color=RUN, lw=1.6, label="infinite prompts")
        for k, ((times, risks), each) in enumerate(zip(finite, ranges, strict=True)):
            shade = 1 - (1 - _FAINTEST) * k / max(1, len(ranges) - 1)
            label = _label(each.fit.first, each.fit.last) if k in (0, len(ranges) - 1) else None
            axes.semilogy(times, risks, color=BOUND, lw=1.4, ls="--", alpha=shade, label=label)
        axes.axhline(risk, color=BOUND, lw=0.8, ls=":", label=f"{standing()} at the end: {risk:.3g}")
        # The risk over infinite prompts tends to 0; what is of interest is above a part of the least bound.
        seen = [bound for _, risks in finite for bound in risks]
        axes.set_ylim(min(seen) * _LOWEST, max(seen) * _HIGHEST)
        axes.set_xlabel("time")
        axes.set_ylabel("risk")
        axes.legend(loc="upper right")


def _risks(flow: Flow, pieces: Sequence[Piece]) -> tuple[list[float], list[float]]:
    """Times from 0 on, and bounds of the risk, which never grows."""
    start = [x.mid() for x in flow.start]
    error = arb_mat(len(start), len(start))
    for i, x in enumerate(flow.start):
        error[i, i] = x.rad()
    begin = Piece(fmpq(0), fmpq(0), start, start, bend=[], most=[], error=error)
    chosen = [begin, *[piece for piece in pieces if piece.is_proved][_LOOK - 1 :: _LOOK]]
    times = [as_float(piece.last) for piece in chosen]
    return times, list(accumulate((float(risk_bound(flow, piece).upper()) for piece in chosen), min))


def _label(first: int, last: int | None) -> str:
    return f"at most, L from {first:,} on" if last is None else f"at most, L from {first:,} to {last:,}"
