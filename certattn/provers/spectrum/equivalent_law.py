"""State moments, edges and other numbers of the limit law of attention's singular values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flint import acb, arb, fmpq, fmpz

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.spectrum.equivalent_formulas import LARGEST_BETA, LawNumbers
from certattn.kernel.theorems.spectrum.equivalent_law import ASSERTS, LARGEST_ORDER, NONE, OPEN, THEOREM
from certattn.kernel.theorems.spectrum.limit_law import EquivalentLaw, beta_at_share, critical_beta
from certattn.provers.commands import Command, Option, pair_for, to_plot
from certattn.provers.exact_inputs import Number, exact_rational, positive, require_within
from certattn.provers.output import Draft
from certattn.provers.rounding import TooLongError, decimal_exponent, last_place, midpoint, precisions, round_nearest

DIGITS = 15
MOMENTS = 4
_MOST_DIGITS = 1000
_FIRST_BITS = 128

Point = tuple[Number, Number]
# What is enclosed, at the working precision.
_Value = Callable[[EquivalentLaw], arb]


class LawFinder:
    """The law of some numbers at the precision that an answer needs, and roundings of its numbers."""

    def __init__(self, given: dict[str, fmpq], digits: int) -> None:
        self.given = given
        self.digits = digits
        self._laws: dict[int, EquivalentLaw] = {}

    @property
    def exact(self) -> LawNumbers[fmpq] | None:
        """The law's numbers as rationals, where beta is not given."""
        if "beta" in self.given:
            return None
        return LawNumbers(self.given["alpha2"], self.given["beta2"], self.lambda_)

    @property
    def lambda_(self) -> fmpq:
        return self.given["lambda"]

    def law(self, bits: int) -> EquivalentLaw:
        """Made once for each precision, which is the working one."""
        if bits not in self._laws:
            if "beta" in self.given:
                self._laws[bits] = EquivalentLaw.from_square(self.given["beta"] ** 2, self.lambda_)
            else:
                alpha2, beta2 = arb(self.given["alpha2"]), arb(self.given["beta2"])
                self._laws[bits] = EquivalentLaw(alpha2, beta2, arb(self.lambda_))
        return self._laws[bits]

    def has_gap(self) -> bool | None:
        """Whether there is one; None where the checker's precision does not show it."""
        if self.exact is not None and (self.exact.discriminant() <= 0) is True:
            return False
        for bits in precisions(_FIRST_BITS):
            with working_precision(bits):
                if self.law(bits).gap is not None:
                    return True
                if has_no_gap(self.law(bits)):
                    return False
        return None

    def stated(self, what: str, *values: _Value) -> tuple[list[str], str]:
        """Decimals near some numbers, and the one radius of them: a unit of the last digit of the largest.

        Raises NotProvedError where the checker's default precision does not show so many digits, or one of the numbers
        is too long to be written.
        """
        try:
            return self._rounded(what, values)
        except TooLongError:
            raise NotProvedError(
                f"{what} is too large to be written, as alpha^2 = e^(beta^2) - 1 - beta^2 grows with beta; expected a "
                "smaller beta"
            ) from None

    def _rounded(self, what: str, values: Sequence[_Value]) -> tuple[list[str], str]:
        """The same. Raises NotProvedError, and TooLongError for what is too long."""
        for bits in precisions(_FIRST_BITS):
            with working_precision(bits):
                balls = [value(self.law(bits)) for value in values]
                if all(ball.is_finite() and ball.is_exact() for ball in balls):
                    return [format_rational(midpoint(ball)) for ball in balls], "0"
                unit = self._unit(balls)
                if unit is not None and all((arb(ball.rad()) < unit / 10) is True for ball in balls):
                    return [format_rational(round_nearest(midpoint(ball), unit)) for ball in balls], _short(unit)
        raise NotProvedError(
            f"{what} could not be enclosed to {self.digits} digits at {DEFAULT_LIMITS.max_bits} bits, the most that a "
            "check takes by default; expected fewer digits, or numbers that are less extreme"
        )

    def _unit(self, balls: Sequence[arb]) -> fmpq | None:
        """The last of the digits of the largest number; None where one is unbounded."""
        if not all(ball.is_finite() for ball in balls):
            return None
        largest = max(abs(midpoint(ball)) for ball in balls)
        return last_place(largest, self.digits) if largest != 0 else None


def _short(unit: fmpq) -> str:
    """A power of ten."""
    exponent = decimal_exponent(unit)
    return f"1e{exponent}" if exponent < 0 else format_rational(fmpq(fmpz(10) ** exponent))


def generate(
    out: Path,
    *,
    lambda_: Number,
    beta: Number | None = None,
    alpha2: Number | None = None,
    beta2: Number | None = None,
    moments: int = MOMENTS,
    cdf: Sequence[Number] = (),
    density: Sequence[Number] = (),
    stieltjes: Sequence[Point] = (),
    shares: Sequence[Number] = (),
    digits: int = DIGITS,
    note: str = "",
) -> Certificate:
    """Write a certificate of `equivalent-law` to `out` and return it.

    It states the moments, the right edge, the gap or that there is none, for softmax with lambda < 1 the threshold
    beta_c, the largest density and the nonlinear share, and what is asked for.

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
        How many moments of even order, from the second on; 0 for none, at most 50.
    cdf, density : sequence of exact numbers
        Points x >= 0 at which to state mu([0, x]) and the density.
    stieltjes : sequence of pairs of exact numbers
        Points z of the upper half plane, each a pair of its real and imaginary part.
    shares : sequence of exact numbers
        Numbers between 0 and 1: at which beta softmax has such a share alpha^2/(alpha^2 + beta^2).
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
        The checker's default precision does not prove the digits.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685. Statement and
    proof: docs/claims/spectrum/equivalent-law.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("equivalent-law", beta="1/2", lambda_="1/4", moments=1)
    >>> float(certificate.numbers["right_edge.value"])
    1.78520436178676
    """
    require_within(1, _MOST_DIGITS, digits, "digits")
    require_within(0, LARGEST_ORDER // 2, moments, "moments")
    given = require_law(lambda_, beta, alpha2, beta2)
    draft = Draft(THEOREM, out, {name: format_rational(value) for name, value in given.items()}, note)
    finder = LawFinder(given, digits)
    asserts: dict[str, Plain] = {
        "moments": stated_moments(finder, moments),
        "right_edge": _one(finder, "the right edge", lambda law: law.right_edge),
        "gap": _gap(finder),
        "threshold": _threshold(finder),
        "stieltjes": [_transform(finder, point) for point in stieltjes],
        "density": [_at(finder, "density", point, lambda law, x: law.density(x)) for point in density],
        "cdf": [_at(finder, "cdf", point, lambda law, x: 1 - law.tail(x)) for point in cdf],
        "density_bound": _one(finder, "the largest density", lambda law: law.density_bound),
        "nonlinear_share": _nonlinear_share(finder),
        "share_reached": [_share(finder, share) for share in shares],
    }
    return draft.write({name: asserts[name] for name in ASSERTS.fields if asserts[name]})


def require_law(lambda_: Number, beta: Number | None, alpha2: Number | None, beta2: Number | None) -> dict[str, fmpq]:
    """The numbers of the law. Raises UsageError."""
    if beta is not None and (alpha2 is not None or beta2 is not None):
        raise UsageError("beta and alpha2 with beta2 are both given; expected one of them")
    if beta is None and (alpha2 is None or beta2 is None):
        missing = "alpha2" if beta2 is not None else "beta2"
        found = "no law is given" if alpha2 is None and beta2 is None else f"{missing} is missing"
        raise UsageError(f"{found}; expected beta, or alpha2 and beta2")
    named = {"beta": beta, "alpha2": alpha2, "beta2": beta2, "lambda": lambda_}
    given = {name: positive(value, name) for name, value in named.items() if value is not None}
    if "beta" in given and given["beta"] > LARGEST_BETA:
        raise UsageError(f"beta is {describe(given['beta'])}, expected a number of at most {LARGEST_BETA}")
    return given


def stated_moments(
    finder: LawFinder, count: int, formula: Callable[[LawNumbers[Any], int], list[Any]] = LawNumbers.moments
) -> list[Plain]:
    """Of even orders from 2 on, so many, by what computes them of the law's numbers."""
    exact = finder.exact
    if exact is not None:
        values = [format_rational(moment) for moment in formula(exact, count)] if count else []
        return [{"order": str(2 * n), "value": value, "radius": "0"} for n, value in enumerate(values, start=1)]
    found: list[Plain] = []
    for n in range(1, count + 1):
        value = _one(finder, f"moment {2 * n}", lambda law, n=n: formula(law.numbers, count)[n - 1])  # type: ignore[misc]
        found.append({"order": str(2 * n), **value})
    return found


def has_no_gap(law: EquivalentLaw) -> bool:
    """Whether it is proved that the support has none."""
    return (law.numbers.lambda_ >= 1) is True or (law.numbers.discriminant() < 0) is True


def _nonlinear_share(finder: LawFinder) -> Plain:
    if finder.exact is not None:
        return {"value": format_rational(finder.exact.share), "radius": "0"}
    return _one(finder, "the nonlinear share", lambda law: law.numbers.share)


def _one(finder: LawFinder, what: str, value: _Value) -> dict[str, Plain]:
    (text,), radius = finder.stated(what, value)
    return {"value": text, "radius": radius}


def _gap(finder: LawFinder) -> Plain:
    """The gap, or that there is none; nothing where neither is proved."""
    known = finder.has_gap()
    if known is not True:
        return {"kind": NONE} if known is False else {}
    ends = [finder.stated("the gap", partial(_end, end)) for end in (0, 1)]
    (lower,), (upper,) = (values for values, _ in ends)
    radius = max((exact_rational(unit, "radius"), unit) for _, unit in ends)[1]
    return {
        "kind": OPEN,
        "lower": lower,
        "upper": upper,
        "radius": radius,
        "outer_mass": format_rational(finder.lambda_),
    }


def _end(end: int, law: EquivalentLaw) -> arb:
    return arb.nan() if law.gap is None else law.gap[end]


def _threshold(finder: LawFinder) -> Plain:
    """beta_c, of softmax with a lambda below 1."""
    if "beta" not in finder.given or (finder.lambda_ < 1) is not True:
        return {}
    return _one(finder, "beta_c", lambda law: critical_beta(law.numbers.lambda_))


def _transform(finder: LawFinder, point: Point) -> Plain:
    re, im = exact_rational(point[0], "the real part"), exact_rational(point[1], "the imaginary part")
    if (im > 0) is not True:
        raise UsageError(f"z has the imaginary part {describe(im)}, expected a positive one")

    def transform(law: EquivalentLaw) -> acb:
        found = law.stieltjes(acb(arb(re), arb(im)))
        return acb(arb.nan()) if found is None else found

    (x, y), radius = finder.stated("G(z)", lambda law: transform(law).real, lambda law: transform(law).imag)
    z: Plain = {"re": format_rational(re), "im": format_rational(im)}
    return {"z": z, "value": {"re": x, "im": y}, "radius": radius}


def _at(finder: LawFinder, what: str, point: Number, value: Callable[[EquivalentLaw, arb], arb]) -> Plain:
    x = exact_rational(point, what)
    if (x >= 0) is not True:
        raise UsageError(f"{what} at {describe(x)}: expected a point >= 0")
    stated = _one(finder, f"{what} at {describe(x)}", lambda law: value(law, arb(x)))
    return {"at": format_rational(x), **stated}


def _share(finder: LawFinder, share: Number) -> Plain:
    exact = exact_rational(share, "share")
    if (exact > 0) is not True or (exact < 1) is not True:
        raise UsageError(f"share is {describe(exact)}, expected a number between 0 and 1")
    return {"share": format_rational(exact), **_one(finder, "beta", lambda law: beta_at_share(arb(exact)))}


_point = pair_for("--stieltjes", "a real and an imaginary part, such as '1, 1/2'")


# What says which law it is, and how many moments are stated.
LAW_OPTIONS = (
    Option("--lambda", "d_qk/d.", metavar="LAMBDA", sets="lambda_", required=True),
    Option("--beta", "The inverse temperature of softmax; or", metavar="BETA"),
    Option("--alpha2", "alpha^2 and", metavar="NUMBER"),
    Option("--beta2", "beta^2.", metavar="NUMBER"),
    Option("--moments", "How many moments of even order; 0 for none.", int, "N"),
)

COMMAND = Command(
    *LAW_OPTIONS,
    Option("--cdf", "State mu([0, X]).", metavar="X", many=True),
    Option("--density", "State the density at X.", metavar="X", many=True),
    Option("--stieltjes", "State G(RE + IM i).", metavar="'RE, IM'", many=True, parse=_point),
    Option(
        "--share", "State the beta at which R of the variance is not linear.", metavar="R", sets="shares", many=True
    ),
    Option("--digits", "Digits of every stated number.", int),
    to_plot("Draw the density and a quarter circle."),
)
