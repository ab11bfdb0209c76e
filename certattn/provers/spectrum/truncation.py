"""Where softmax weights are cut off for a number of tokens: the largest tau with tau^2 = d m(tau), found from above."""

from __future__ import annotations

from flint import arb, fmpq

from certattn.kernel.decide.proof import Outcome, Proof
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.spectrum.equivalent_formulas import nonlinear_energy
from certattn.kernel.theorems.spectrum.limit_law import TruncatedWeights
from certattn.kernel.theorems.spectrum.spectral_distance import LARGEST, SOME, Solution, change_of_sign
from certattn.provers.rounding import midpoint

_BITS, _STEPS = 192, 2000


def largest_cut(beta2: fmpq, tokens: int) -> fmpq:
    """About the largest solution of t^2 = d m(t). Raises NotProvedError where none is found.

    m does not fall, so that t -> sqrt(d m(t)) comes down to it from where m is that of weights that are not cut off.
    """
    with working_precision(_BITS):
        square = arb(beta2)
        found = midpoint((tokens * (nonlinear_energy(square) + square)).sqrt())
        for _ in range(_STEPS):
            variance = TruncatedWeights(beta2, found).variance
            if (variance > 0) is not True:
                break
            after = midpoint((tokens * variance).sqrt())
            if abs(after - found) <= found / 2 ** (_BITS // 2):
                return after
            found = after
    raise NotProvedError(
        f"no tau with tau^2 = {tokens} m(tau) was found at beta^2 = {format_rational(beta2)}: the tokens are too few; "
        "expected tau as a number (--truncate-at)"
    )


def stated_cut(tau: fmpq, beta2: fmpq, tokens: int, places: int) -> Plain:
    """How far tau is from the largest solution, rounded up. Raises NotProvedError where that shows no solution."""
    unit = fmpq(10) ** -places
    off = abs(largest_cut(beta2, tokens) - tau)
    radius = max((off / unit).ceil() * unit, unit)
    if radius < tau:
        with working_precision(_BITS):
            proof = Proof(list(change_of_sign(Solution(beta2, tau, tokens, radius, largest=True))))
            proof.ask(proof.obligations, _BITS)
        proved = {name for name, answer in proof.answers.items() if answer.outcome is Outcome.PROVED}
        if proved.issuperset(("fixed_point.below", "fixed_point.above")):
            which = LARGEST if "fixed_point.growth" in proved else SOME
            return {"radius": format_rational(radius), "which": which}
    raise NotProvedError(
        f"no solution of tau^2 = {tokens} m(tau) could be enclosed within {format_rational(radius)} of "
        f"{format_rational(tau)}"
    )
