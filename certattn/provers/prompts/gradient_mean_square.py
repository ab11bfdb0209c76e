"""State how far gradients of attention over a random prompt are from their limits, in mean square."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts.gradient_mean_square import THEOREM, enclosure_by, read, square_parts
from certattn.kernel.theorems.prompts.mean_squares import Method, methods_of
from certattn.kernel.theorems.prompts.random_prompts import GradientError
from certattn.provers.commands import Argument, Command, Option, Whole, Yaml
from certattn.provers.exact_inputs import exact, require_one_of, require_within
from certattn.provers.output import Draft
from certattn.provers.prompts.norm_moments import exact_is_sharper, ranges, starts_of_mean_square
from certattn.provers.prompts.options import GRADIENT, OF_STATED_LENGTHS, STATED_LENGTH, with_length
from certattn.provers.rounding import last_place, lower_rational, round_down, round_nearest, round_up, upper_rational

METHODS = ("auto", "exact", "logistic", "moments", "general")
_BITS = (64, 128, 256, 512)
# Thresholds k / 200 are tried; a rate is written with so many digits, and is no smaller than this.
_SHARES = 200
_RATE_DIGITS = 3
_LEAST_RATE = 1e-12


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    gradient: str = "U",
    method: str = "auto",
    digits: int = 6,
    note: str = "",
) -> Certificate:
    """Write a certificate of `gradient-mean-square` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `law`, `length`, and `tilt`, or
        `query` with `U` or `K`, `Q`; `V`, `scale`.
    gradient : {"U", "V"}
        What attention is differentiated with respect to.
    method : {"auto", "exact", "logistic", "moments", "general"}
        "exact" states the mean square from both sides (Gaussian tokens, atoms, signs and mixtures of the last two), the
        others from above; "auto" takes the first that applies.
    digits : int
        Significant digits to state.
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
        No number could be enclosed.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784. Statement and
    proof: docs/claims/prompts/gradient-mean-square.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> law = {"kind": "gaussian", "mean": [0, 1], "covariance": [[1, 0], [0, 1]]}
    >>> certificate = certattn.generate("gradient-mean-square", law=law, U=np.eye(2), query=[1, 0], length=1000)
    >>> float(certificate.numbers["mean_square.at_most"])
    0.0327408
    """
    require_one_of(METHODS, method, "method")
    require_within(1, 100, digits, "digits")
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    asserted: dict[str, Plain] = {"gradient": gradient, "mean_square": {"at_most": "0"}}
    error = draft.read(read, asserted, {"method": "general", "t": "1/2", "lambda": "1"}).error
    tried = [method] if method != "auto" else _methods(error)
    for name in tried:
        found = _stated(error, name, digits)
        if found is not None:
            asserts, witness = found
            return draft.write({"gradient": gradient, "mean_square": asserts}, witness)
    raise NotProvedError(
        f"the mean square could not be enclosed by the method {' or '.join(tried)}: "
        "the scores vary too much for this length of prompt"
    )


def _methods(error: GradientError) -> list[str]:
    known = methods_of(error.prompt.law.law)
    if not error.prompt.onwards:
        # No bound of the gradient in U is by moments.
        return [name for name in known if name != "moments" or error.gradient == "V"]
    falls = [name for name in known if name == "logistic" or (name == "moments" and error.gradient == "V")]
    if error.gradient == "V" and "exact" in known and exact_is_sharper(error.prompt_without_values):
        falls.insert(0, "exact")
    if not falls:
        raise UsageError(
            f"a length with at_least is not for this law and the gradient in {error.gradient}; expected one length"
        )
    return falls


def _stated(error: GradientError, method: str, digits: int) -> tuple[dict[str, Plain], dict[str, Plain]] | None:
    """The bounds and the witness, or None where the method encloses nothing."""
    known = methods_of(error.prompt.law.law)
    if method not in known:
        raise UsageError(f"the method {method} is not for this law; expected {' or '.join(known)}")
    witness: dict[str, Plain] = {"method": method}
    way, is_exact = Method(method), method == "exact" and not error.prompt.onwards
    if method == "exact" and error.prompt.onwards and error.gradient == "V":
        way = Method(method, starts=starts_of_mean_square(error.prompt_without_values))
        witness |= ranges(way.starts)
    if method == "general":
        share, rate = best_parameters(error)
        witness |= {"t": format_rational(share), "lambda": format_rational(rate)}
        way = Method(method, {"t": share, "lambda": rate})
    bound = enclosure_by(way, error).upper
    if bound is None:
        raise UsageError(f"the method {method} has no bound of what is given; expected another, or auto")
    for bits in _BITS:
        try:
            with working_precision(bits):
                value, least = bound(), fmpq(0)
        except NoBound:
            return None
        if value.is_finite() is not True:
            continue
        most = round_up(upper_rational(value), digits)
        if is_exact:
            least = round_down(lower_rational(value.nonnegative_part()), digits)
        if not is_exact or most - least <= 2 * last_place(most, digits):
            stated: dict[str, Plain] = {"at_least": format_rational(least)} if is_exact else {}
            return {**stated, "at_most": format_rational(most)}, witness
    return None


# -- the parameters of the method `general`


def best_parameters(error: GradientError) -> tuple[fmpq, fmpq]:
    """About the best share and rate, as short decimals."""
    with working_precision(_BITS[0]):
        parts = square_parts(error)
    numbers = [float(part) for part in (parts.first, parts.second, parts.unlikely, parts.doubled)]
    if not all(map(math.isfinite, numbers)):
        raise NotProvedError("moments of the weights under the tilt are too large for the working precision")
    length = error.prompt.length
    best, rate = min(
        ((k, _rate(numbers[3], k / _SHARES, length)) for k in range(1, _SHARES)),
        key=lambda pair: _bound(numbers, pair[0] / _SHARES, pair[1], length),
    )
    exactly = fmpq(*map(int, rate.as_integer_ratio()))
    return fmpq(best, _SHARES), round_nearest(exactly, last_place(exactly, _RATE_DIGITS))


def _rate(doubled: float, t: float, length: int) -> float:
    """Where e^{x L (1-t)} (1 - x + x^2 R/2)^(L-1) is smallest: a root of a quadratic.

    From L (1-t) (1 - x + x^2 R/2) = (L-1)(1 - x R).
    """
    a = length * (1 - t) * doubled / 2
    b = (length - 1) * doubled - length * (1 - t)
    c = length * (1 - t) - (length - 1)
    root = (-b + math.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    return max(root, _LEAST_RATE)


def _bound(numbers: list[float], t: float, rate: float, length: int) -> float:
    first, second, unlikely, doubled = numbers
    one = 1 - rate + rate * rate * doubled / 2
    exponent = rate * length * (1 - t) + (length - 1) * math.log(one)
    likely = math.sqrt(max(first, 0)) / (1 - t) + math.sqrt(max(second, 0)) / (1 - t) ** 2
    return likely**2 + (math.exp(exponent) * unlikely if exponent < 700 else math.inf)


COMMAND = Command(
    Argument("PROMPT", Yaml("given")),
    STATED_LENGTH,
    OF_STATED_LENGTHS,
    GRADIENT,
    Option("--method", "How the bounds are proved; auto takes the sharpest that applies.", METHODS),
    Option("--digits", "Significant digits to state.", Whole(1, 100)),
    inputs=with_length,
)
