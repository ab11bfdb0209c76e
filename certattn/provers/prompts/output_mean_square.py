"""State how far a random prompt's attention is from the infinite prompt's, in mean square."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.prompts.mean_squares import Bounds, Enclosure, Method, general_bounds
from certattn.kernel.theorems.prompts.output_mean_square import (
    THEOREM,
    AveragedPrompt,
    averaged_at,
    averaged_onwards,
    bounds_of,
    methods_for,
    read_given,
)
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.provers.commands import Argument, Command, Option, Whole, Yaml
from certattn.provers.exact_inputs import Number, exact, exact_rational, positive
from certattn.provers.output import Draft
from certattn.provers.prompts.norm_moments import exact_is_sharper, log_mean_squares, ranges, starts_of_mean_square
from certattn.provers.prompts.options import OF_STATED_LENGTHS, STATED_LENGTH, with_length
from certattn.provers.prompts.tail_lengths import starts_of
from certattn.provers.rounding import (
    as_float,
    decimal_exponent,
    lower_rational,
    midpoint,
    nearest,
    round_down,
    round_nearest,
    round_up,
    upper_rational,
)

AUTO = "auto"
DIGITS = 9
# Parameters of a witness are hints: a few digits lose next to nothing.
_HINT_DIGITS = 4
_GRID = 32
_REFINEMENTS = 3
# What `auto` falls back to, the first that fits.
_FALL_BACKS = {"exact": ("logistic", "general", "integral"), "moments": ("general",)}


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    method: str = AUTO,
    digits: int = DIGITS,
    at_most: Number | None = None,
    t: Number | None = None,
    rate: Number | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `output-mean-square` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `law`, `length`, `tilt` (or
        `query`, or a law of `queries`, with `U`, or `K` and `Q`, and `scale`), `V`.
    method : {"auto", "exact", "logistic", "moments", "general", "integral"}
        How the bounds are proved; `auto` takes the sharpest way that applies.
    digits : int
        Significant digits of the stated bounds, which are rounded to the safe side.
    at_most : exact number, optional
        A bound of the mean square, to hold for every length from one on, the least that is found; then no length is
        given.
    t, rate : exact number, optional
        The parameters t and lambda of `general`; both are searched for if left out.
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
        No bound is found.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, Proposition
    3.1. Statement and proof: docs/claims/prompts/output-mean-square.md.

    Examples
    --------
    >>> import certattn
    >>> law = {"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 0], [0, 1]]}
    >>> certificate = certattn.generate("output-mean-square", law=law, tilt=[1, 0], length=1000)
    >>> float(certificate.numbers["mean_square.at_most"])
    0.00802415303
    """
    if at_most is not None:
        return _from_a_length_on(out, given, positive(at_most, "at_most"), note)
    draft = Draft(THEOREM, out, exact(given, "given"), note)
    prompt = draft.read(read_given)
    stated = {"t": t, "lambda": rate}
    hints = {name: _parameter(value, name) for name, value in stated.items() if value is not None}
    with working_precision(_bits(digits)):
        chosen = _method(prompt, method, hints, digits)
        bounds = bounds_of(prompt, chosen, QUANTITIES)
        if chosen.name == "exact" and isinstance(prompt, AveragedPrompt):
            digits = min(digits, _known_digits(bounds))
        asserts = _asserts(bounds, digits)
        parameters = {name: format_rational(value) for name, value in chosen.parameters.items()}
    if not asserts:
        raise NotProvedError(f"the method {chosen.name} finds no bound here")
    return draft.write(asserts, {"method": chosen.name, **parameters, **ranges(chosen.starts)})


def _known_digits(bounds: Bounds) -> int:
    """Of the mean over queries, at the working precision: more would ask the checker for more bits."""
    value = bounds.ranges["mean_square"].upper
    try:
        known = value is not None and value().is_finite() and value().mid() > 0
    except NoBound as reason:
        raise NotProvedError(str(reason)) from None
    if value is None or not known:
        raise NotProvedError("the mean is not known closely; use the method integral")
    if value().rad() == 0:
        return DIGITS
    return max(1, decimal_exponent(midpoint(value())) - decimal_exponent(midpoint(arb(value().rad()))) + 1)


# How much more than the mean at the first length a bound for every longer one may be, as a logarithm.
_SPARE = 0.1


def starts_over_queries(prompt: AveragedPrompt) -> list[int]:
    """Where ranges of lengths begin. Raises NotProvedError."""

    log_mean, log_falling = _log_means(prompt)
    return starts_of(log_mean, log_falling, prompt.length, log_mean(prompt.length) + _SPARE)


def _log_means(prompt: RandomPrompt | AveragedPrompt) -> tuple[Callable[[int], float], Callable[[int], float]]:
    """At a length, and what bounds it from there on and falls."""
    if isinstance(prompt, RandomPrompt):
        return log_mean_squares(prompt)

    def log_mean(length: int) -> float:
        return log(float(averaged_at(prompt, length)))

    def log_falling(length: int) -> float:
        return log(float(averaged_onwards(prompt, [length])()))

    return log_mean, log_falling


# The longest prompts that are tried, and how far below the bound asked for numbers of few bits have to be.
_LONGEST, _CLOSE = 10**12, 1e-3


def _from_a_length_on(out: Path, given: dict[str, Any], bound: fmpq, note: str) -> Certificate:
    """The least length that is found from which on the mean square is at most the bound. Raises NotProvedError."""
    if "length" in given:
        raise UsageError("--at-most finds the length; leave the length out, or --at-most")

    def from_on(length: int) -> Draft:
        return Draft(THEOREM, out, exact({**given, "length": {"at_least": length}}, "given"), note)

    prompt = from_on(1).read(read_given)
    if methods_for(prompt)[0] != "exact":
        raise UsageError("--at-most is not for this law of tokens, whose mean square is not known exactly")
    try:
        with working_precision(_bits(DIGITS)):
            length, starts = _shortest(*_log_means(prompt), log(as_float(bound)) - _CLOSE)
            upper = bounds_of(replace(prompt, length=length), Method("exact", starts=starts), ("mean_square",))
            kept = upper.ranges["mean_square"].upper
            if kept is None or (kept() <= bound) is not True:
                raise NotProvedError(f"no length was found from which on the mean square is at most {describe(bound)}")
    except NoBound as reason:
        raise NotProvedError(str(reason)) from None
    asserts: dict[str, Plain] = {"mean_square": {"at_most": format_rational(bound)}}
    return from_on(length).write(asserts, {"method": "exact", **ranges(starts)})


def _shortest(
    log_mean: Callable[[int], float], log_falling: Callable[[int], float], log_most: float
) -> tuple[int, list[int]]:
    """The least length, by bisection, at which the mean is small enough, or little more, and ranges from there on."""
    low, high = 1, 2
    while not log_mean(high) <= log_most:
        low, high = high, 2 * high
        if high > _LONGEST:
            raise NotProvedError(f"the mean square is not as small for any length up to {_LONGEST}")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if log_mean(middle) <= log_most else (middle, high)
    return high, starts_of(log_mean, log_falling, high, log_most)


QUANTITIES = ("mean_square", "collision")


def _bits(digits: int) -> int:
    """Enough for so many digits, and what the checker comes to when it doubles its precision."""
    bits = DEFAULT_LIMITS.start_bits
    while bits < 6 * digits:
        bits *= 2
    return min(bits, DEFAULT_LIMITS.max_bits)


def _parameter(stated: Number, name: str) -> fmpq:
    """A parameter of a witness, in its range."""
    value = exact_rational(stated, name)
    if value > 0 and (name != "t" or value < 1):
        return value
    ranges = {"t": "0 < t < 1", "lambda": "lambda > 0"}
    raise UsageError(f"{name} is {describe(value)}, expected {ranges[name]}")


# -- methods and their parameters


def _method(prompt: RandomPrompt | AveragedPrompt, name: str, hints: dict[str, fmpq], digits: int) -> Method:
    fitting = methods_for(prompt)
    if name != AUTO and name not in fitting:
        raise UsageError(f"the method {name!r} is not for what is given; expected {' or '.join(fitting)}")
    chosen = _sharpest(prompt, fitting) if name == AUTO else name
    if chosen == "exact" and isinstance(prompt, AveragedPrompt) and prompt.onwards and not hints:
        try:
            return Method(chosen, starts=starts_over_queries(prompt))
        except NoBound as reason:
            if name != AUTO:
                raise NotProvedError(str(reason)) from None
            return Method("integral")
    if chosen == "exact" and isinstance(prompt, RandomPrompt) and prompt.onwards:
        if name == AUTO and (hints or not exact_is_sharper(prompt)):
            chosen = fitting[1]
        elif not hints:
            return Method(chosen, starts=starts_of_mean_square(prompt))
    if name == AUTO and chosen in _FALL_BACKS and not _is_sharp(prompt, chosen, digits):
        chosen = next(method for method in _FALL_BACKS[chosen] if method in fitting)
    if chosen == "general" and isinstance(prompt, RandomPrompt):
        return Method(chosen, general_parameters(prompt, hints))
    if hints:
        raise UsageError(f"the method {chosen} has no parameters, found {', '.join(hints)}")
    return Method(chosen, {})


# Scores of a larger variance, in the mean over queries, are not enclosed closely.
_MOST_VARIANCE = 64


def _sharpest(prompt: RandomPrompt | AveragedPrompt, fitting: Sequence[str]) -> str:
    """The first, but the integral where scores vary without measure."""
    if isinstance(prompt, AveragedPrompt):
        average = prompt.logistic()
        of_scores = (average.N @ average.covariance).trace() + (average.mean @ average.N @ average.mean.T).trace()
        return fitting[1] if of_scores > _MOST_VARIANCE else fitting[0]
    return fitting[0]


def _is_sharp(prompt: RandomPrompt | AveragedPrompt, method: str, digits: int) -> bool:
    """Whether quadrature encloses the numbers at all closely: it is not made for scores of huge variance.

    And whether the bound by moments is below that for any law, which it is but for a few tokens.
    """
    wanted = "mean_square" if isinstance(prompt, AveragedPrompt) else "collision"
    ranges = bounds_of(prompt, Method(method, {}), (wanted,)).ranges.values()
    try:
        uppers = [found.upper() for found in ranges if found.upper is not None]
    except NoBound:
        return False
    if not uppers or not all(upper.is_finite() and (upper.rad() < upper.mid() / 1000) is True for upper in uppers):
        return False
    if method != "moments" or not isinstance(prompt, RandomPrompt):
        return True
    general = Method("general", general_parameters(prompt, {}))
    moments, other = (bounds_of(prompt, each, ()).ranges["mean_square"].upper for each in (Method(method), general))
    try:
        return moments is not None and other is not None and (other() < moments()) is not True
    except NoBound:
        return True


def general_parameters(prompt: RandomPrompt, hints: dict[str, fmpq]) -> dict[str, fmpq]:
    """t and lambda that make the bound small: t on a grid, refined, and the best lambda for each."""
    law, a = prompt.law.law.map(arb), prompt.tilt()
    doubled = (law.log_mgf([2 * entry for entry in a]) - 2 * law.log_mgf(a)).exp()

    def rate(t: fmpq) -> fmpq:
        return hints["lambda"] if "lambda" in hints else _best_rate(t, doubled)

    def value(t: fmpq) -> arb:
        bound = general_bounds(prompt, t, rate(t)).ranges["mean_square"].upper
        upper = arb("inf") if bound is None else bound()
        return upper.upper() if upper.is_finite() else arb("inf")

    t = hints["t"] if "t" in hints else _least(value)
    return {"t": t, "lambda": rate(t)}


def _least(value: Any) -> fmpq:
    """A t in (0, 1) where the value is about smallest."""
    centre, width = fmpq(1, 2), fmpq(1, 2)
    for _ in range(_REFINEMENTS):
        points = [centre + width * fmpq(i, _GRID) for i in range(1 - _GRID, _GRID)]
        centre = min(points, key=lambda t: float(value(t)))
        width /= 8
        width = min(width, centre, 1 - centre)
    return _hint(arb(centre), below=fmpq(1))


def _best_rate(t: fmpq, doubled: arb) -> fmpq:
    """The lambda at which lambda (1 - t) + log(1 - lambda + lambda^2 R / 2) is smallest.

    Its derivative is 0 where (1-t) R/2 lambda^2 + (R - 1 + t) lambda - t = 0.
    """
    linear = doubled - 1 + t
    root = (linear * linear + 2 * (1 - t) * t * doubled).sqrt()
    # The root without cancellation.
    return _hint(2 * t / (linear + root))


def _hint(value: arb, below: fmpq | None = None) -> fmpq:
    """A number of few digits near the ball, positive."""
    middle = midpoint(value)
    if middle <= 0:
        raise NotProvedError("no parameters were found: the numbers are too extreme for the working precision")
    found = round_nearest(middle, fmpq(10) ** (decimal_exponent(middle) - _HINT_DIGITS + 1))
    return found if below is None or found < below else middle


# -- what is stated


def _asserts(bounds: Bounds, digits: int) -> dict[str, Plain]:
    asserts: dict[str, Plain] = {}
    for quantity, enclosure in bounds.ranges.items():
        stated = _range(enclosure, digits)
        if stated:
            asserts[quantity] = stated
    if bounds.mean is not None:
        asserts["mean"] = _mean(bounds.mean(), digits)
    return asserts


def _range(enclosure: Enclosure, digits: int) -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    if enclosure.lower is not None:
        lower = lower_rational(enclosure.lower())
        if lower > 0:
            found["at_least"] = format_rational(round_down(lower, digits))
    if enclosure.upper is not None:
        found["at_most"] = format_rational(round_up(max(upper_rational(enclosure.upper()), fmpq(0)), digits))
    return found


def _mean(mean: list[arb], digits: int) -> Plain:
    largest = max(abs(midpoint(entry)) for entry in mean)
    places = max(0, digits - (decimal_exponent(largest) + 1 if largest != 0 else 0))
    radius = fmpq(1) / fmpq(10) ** places
    if any((2 * entry.rad() < radius) is not True for entry in mean):
        raise NotProvedError(f"E(T_L - T) is not enclosed within {describe(radius)}; ask for fewer digits")
    return {"value": [format_rational(nearest(entry, places)) for entry in mean], "radius": format_rational(radius)}


def by_integral(certificate: Certificate) -> Iterator[str]:
    """An average over queries that is bounded from above alone."""
    witness: Any = certificate.plain.get("witness")
    if isinstance(witness, dict) and witness.get("method") == "integral":
        yield (
            "the method integral bounds the mean from above alone, often several times too large; exact is for scores "
            "of a variance up to 64 that vary at most about 400 times as much along one direction as along another"
        )


COMMAND = Command(
    Argument("PROMPT", Yaml("given")),
    STATED_LENGTH,
    OF_STATED_LENGTHS,
    Option(
        "--method",
        "How the bounds are proved; auto takes the sharpest way that applies.",
        (AUTO, "exact", "logistic", "moments", "general", "integral"),
    ),
    Option(
        "--at-most",
        "Find the least length from which on the mean square is at most this; no length is stated then.",
        metavar="BOUND",
    ),
    Option("--digits", "Significant digits of the bounds.", Whole(1, 300)),
    Option("--t", "general: share of the normaliser, 0 < T < 1; searched for by default.", metavar="T"),
    Option("--rate", "general: lambda of the Chernoff bound; the best one by default.", metavar="R"),
    inputs=with_length,
    doubts=[by_integral],
)
