"""State moments and the transform of the limit law of singular values under a causal mask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flint import arb, arb_mat, ctx, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.quadrature import tolerance_bits
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.spectrum import causal_formulas
from certattn.kernel.theorems.spectrum.causal_formulas import Turn
from certattn.kernel.theorems.spectrum.causal_law import LARGEST_ORDER, THEOREM, Solution
from certattn.kernel.theorems.spectrum.equivalent_formulas import LawNumbers
from certattn.kernel.theorems.spectrum.limit_law import SpectralLaw
from certattn.provers.commands import Command, Option, to_plot
from certattn.provers.exact_inputs import Number, positive, require_within
from certattn.provers.output import Draft
from certattn.provers.rounding import decimal_exponent, last_place, midpoint, precisions, round_nearest
from certattn.provers.spectrum.equivalent_law import LAW_OPTIONS, MOMENTS, LawFinder, require_law, stated_moments

DIGITS = 15
_MOST_DIGITS = 200
# Of the search that comes near to a solution, its bits, Newton's steps at one place, and the way to the next place.
_SEARCH_BITS, _MOST_STEPS, _SHORTEST = 64, 8, arb(2) ** -12

Point = tuple[arb, arb]


def generate(
    out: Path,
    *,
    lambda_: Number,
    beta: Number | None = None,
    alpha2: Number | None = None,
    beta2: Number | None = None,
    moments: int = MOMENTS,
    etas: Sequence[Number] = (),
    digits: int = DIGITS,
    note: str = "",
) -> Certificate:
    """Write a certificate of `causal-law` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    lambda_ : exact number
        The ratio d_qk / d.
    beta : exact number, optional
        The inverse temperature, which gives alpha^2 = e^(beta^2) - 1 - beta^2.
    alpha2, beta2 : exact number, optional
        The alpha^2 and beta^2 of the law, in the place of `beta`.
    moments : int
        How many moments of even order, from the second on; 0 for none, at most 20.
    etas : sequence of exact numbers
        Numbers eta > 0 at which the mean of 1/(x^2 + eta) is stated.
    digits : int
        How many digits are stated of each number.
    note : str
        A line for the certificate's readers, kept under `provenance`.

    Returns
    -------
    Certificate
        What was written.

    Raises
    ------
    UsageError, MalformedError
        As `certattn.generate` does.
    NotProvedError
        The search finds no solution, as for numbers that are too extreme.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685, for attention
    without a mask. Statement and proof: docs/claims/spectrum/causal-law.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("causal-law", beta="1/2", lambda_="1/4", moments=2, etas=["1/10"])
    >>> float(certificate.numbers["transform[0].value"])
    6.92722830609721
    """
    require_within(1, _MOST_DIGITS, digits, "digits")
    given = require_law(lambda_, beta, alpha2, beta2)
    require_within(0, LARGEST_ORDER // 2, moments, "moments")
    points = [positive(eta, "eta") for eta in etas]
    if moments == 0 and not points:
        raise UsageError("nothing is asked for; expected an eta or moments")
    draft = Draft(THEOREM, out, {name: format_rational(value) for name, value in given.items()}, note)
    asserts: dict[str, Plain] = {}
    if moments > 0:
        asserts["moments"] = stated_moments(LawFinder(given, digits), moments, causal_formulas.moments)
    found = [_transform(given, eta, digits) for eta in points]
    if not found:
        return draft.write(asserts)
    return draft.write(
        {**asserts, "transform": [stated for stated, _ in found]}, {"solutions": [solution for _, solution in found]}
    )


def _transform(given: dict[str, fmpq], eta: fmpq, digits: int) -> tuple[Plain, Plain]:
    """The transform to so many digits, and a solution that is near enough."""
    # 1 - u is about 1/eta, and so are the integrals.
    first = _SEARCH_BITS + 4 * max(0, decimal_exponent(eta)) * 4
    with working_precision(first):
        near = _search(_numbers(given), eta)
    for bits in precisions(2 * first):
        with working_precision(bits):
            numbers = _numbers(given)
            improved = _improved(numbers, near, arb(eta).log())
            near = near if improved is None else improved
            # Of the digits that the integrals have, as few as are enough.
            for places in range(digits + 2, tolerance_bits(bits) * 3 // 10, 4):
                found = _stated(numbers, _rounded(numbers, near, places), eta, digits)
                if found is not None:
                    return found
    raise NotProvedError(
        f"the transform at {describe(eta)} could not be enclosed to {digits} digits at {DEFAULT_LIMITS.max_bits} bits, "
        "the most that a check takes by default; expected fewer digits, or numbers that are less extreme"
    )


def _stated(numbers: LawNumbers[arb], witness: tuple[fmpq, fmpq], eta: fmpq, digits: int) -> tuple[Plain, Plain] | None:
    """What a certificate states and its witness; None where the enclosure is wider than the digits."""
    value, factor = _solution(numbers, arb(witness[0]), arb(witness[1])).near(eta)
    if not value.is_finite():
        return None
    unit = last_place(midpoint(value), digits)
    if (value * (factor - 1) + arb(value.rad()) < arb(unit) / 10) is not True:
        return None
    stated = {"eta": eta, "value": round_nearest(midpoint(value), unit), "radius": unit}
    return _written(stated), _written(dict(zip(("turn", "level"), witness, strict=True)))


def _written(numbers: dict[str, fmpq]) -> Plain:
    return {name: format_rational(number) for name, number in numbers.items()}


def _numbers(given: dict[str, fmpq]) -> LawNumbers[arb]:
    """The law's numbers at the working precision."""
    beta2 = given["beta"] ** 2 if "beta" in given else given["beta2"]
    return SpectralLaw(None, given.get("alpha2"), beta2, given["lambda"]).at_precision().numbers


# -- the search, in the logarithms of (1 - u)/(u - 1/2) and of e = R(u)/N(u), which is exponentially small for small eta


def _solution(numbers: LawNumbers[arb], turn: arb, level: arb) -> Solution:
    return Solution(numbers, Turn(numbers.alpha2, numbers.beta2, turn, level))


def _turn_and_level(numbers: LawNumbers[arb], point: Point) -> tuple[arb, arb]:
    """u, and the k with R(u) = N(u)^2 (2u - 1)/(u (1-u)) - 2 N(u) (alpha^2 + beta^2 (2u - 1)) = e N(u)."""
    share, e = 1 / (1 + point[0].exp()), point[1].exp()
    turn = ((1 + share) / 2).mid()
    share = 2 * turn - 1
    above = turn * (1 - turn) * (e + 2 * (numbers.alpha2 + numbers.beta2 * share)) / share
    level = above + (numbers.alpha2 - numbers.beta2) * turn + numbers.beta2 * turn * turn
    return turn, level.mid()


def _rounded(numbers: LawNumbers[arb], point: Point, places: int) -> tuple[fmpq, fmpq]:
    """u and k, so that 1 - u and k - alpha^2 have so many digits."""
    turn, level = map(midpoint, _turn_and_level(numbers, point))
    units = last_place(1 - turn, places), last_place(level - midpoint(numbers.alpha2), places)
    return round_nearest(turn, units[0]), round_nearest(level, units[1])


def _search(numbers: LawNumbers[arb], eta: fmpq) -> Point:
    """Near a solution: from a large eta, where it is known, to this one. Raises NotProvedError."""
    wanted = arb(eta).log().mid()
    found = _followed(numbers, _start(numbers, wanted), wanted)
    if found is None:
        raise NotProvedError(
            f"the search for the transform at {describe(eta)} found no solution; "
            "expected a larger eta, or a smaller beta"
        )
    return found


def _start(numbers: LawNumbers[arb], at_least: arb) -> tuple[Point | None, arb]:
    """A solution for a large eta, and log eta."""
    b = numbers.pole
    now = (8 * (numbers.variance + b)).log().max(at_least).mid()
    # 1 - u is about b/(4 eta) there, and e about 4 eta.
    return _improved(numbers, ((b / 2).log() - now, arb(4).log() + now), now), now


def _followed(numbers: LawNumbers[arb], known: tuple[Point | None, arb], wanted: arb) -> Point | None:
    """From a solution for one log eta to that for a smaller one, in steps as large as Newton's method takes."""
    point, now = known
    step = arb(1)
    while point is not None and (now > wanted) is True:
        then = (now - step).max(wanted).mid()
        found = _improved(numbers, point, then)
        step = (2 * step if found is not None else step / 2).mid()
        if found is not None:
            now, point = then, found
        elif (step < _SHORTEST) is True:
            return None
    return point


def transforms(numbers: LawNumbers[arb], log_etas: Sequence[float]) -> list[float]:
    """About s at these, from the largest on down, at the working precision; NaN from where no solution is found."""
    found: list[float] = []
    point, far = _start(numbers, arb(log_etas[0]))
    for log_eta in map(arb, log_etas):
        point, far = _followed(numbers, (point, far), log_eta), log_eta
        if point is None:
            found.append(float("nan"))
        else:
            solution = _solution(numbers, *_turn_and_level(numbers, point))
            found.append(float(solution.turn.transform(solution.solved[0], solution.solved[2].exp()).mid()))
    return found


def _improved(numbers: LawNumbers[arb], point: Point, log_eta: arb) -> Point | None:
    """By Newton's method, with slopes from differences; None where it does not come near."""
    bits = tolerance_bits(ctx.prec)
    step, enough = arb(2) ** -(bits // 2), arb(2) ** -(bits * 3 // 4)
    for _ in range(_MOST_STEPS):
        residual = _residual(numbers, point, log_eta)
        if (abs(residual[0]).max(abs(residual[1])) < enough) is True:
            return point
        moved = [
            _residual(numbers, other, log_eta) for other in ((point[0] + step, point[1]), (point[0], point[1] + step))
        ]
        slopes = arb_mat([[(moved[j][i] - residual[i]) / step for j in range(2)] for i in range(2)])
        try:
            change = slopes.solve(arb_mat(2, 1, residual))
        except ZeroDivisionError:
            return None
        point = (point[0] - change[0, 0]).mid(), (point[1] - change[1, 0]).mid()
        if not (point[0].is_finite() and point[1].is_finite()):
            return None
    return None


def _residual(numbers: LawNumbers[arb], point: Point, log_eta: arb) -> Point:
    """How far log lambda and log eta of a solution are from the wanted ones; exact numbers, which may be NaN."""
    _, lambda_, found = _solution(numbers, *_turn_and_level(numbers, point)).solved
    return (lambda_ / numbers.lambda_).log().mid(), (found - log_eta).mid()


COMMAND = Command(
    *LAW_OPTIONS,
    Option("--eta", "State the mean of 1/(x^2 + ETA).", metavar="ETA", sets="etas", many=True),
    Option("--digits", "Digits of every stated number.", int),
    to_plot("Draw the transform beside that without a mask."),
)
