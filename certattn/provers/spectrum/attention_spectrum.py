"""State how near the singular values of drawn attention are to their limit law, for every d from one on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.spectrum.attention_spectrum import THEOREM
from certattn.kernel.theorems.spectrum.drawn_spectrum import (
    SHARES,
    TAILS,
    TAILS_AT_ETA,
    Draw,
    limit_transform,
    quarter_circle_transform,
)
from certattn.kernel.theorems.spectrum.equivalent_formulas import LARGEST_BETA, LawNumbers
from certattn.kernel.theorems.spectrum.typical_queries import TypicalQueries
from certattn.provers.commands import Command, Option, Whole
from certattn.provers.exact_inputs import Number, positive
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import lower_rational, midpoint, round_down, round_up, upper_rational
from certattn.provers.spectrum.score_matrices import SCORE_OPTIONS
from certattn.statements.spectrum.attention_spectrum import trivial

ETAS = ("1/4", "1", "4")
PROBABILITY = "0.01"
DIGITS = 3
# Of what may fail, the part that queries and normalisers have which are not typical.
_PARTS = (fmpq(1, 100), fmpq(1, 20), fmpq(1, 5))
# Of the rest, the part of steps that have exponential tails.
_TAILS = fmpq(1, 5)
_PARAMETER_DIGITS = 4
_BITS = 96
_LARGEST_SIZE = 10**12
# Where laws are told apart: eta in units of the second moment.
_NEAR = tuple(fmpq(10) ** -2 * fmpq(3, 2) ** k for k in range(16))


def generate(
    out: Path,
    *,
    beta: Number,
    lambda_: Number = 1,
    from_: int | None = None,
    within: Number | None = None,
    eta: Sequence[Number] = ETAS,
    apart: bool = False,
    probability: Number = PROBABILITY,
    digits: int = DIGITS,
    note: str = "",
) -> Certificate:
    """Write a certificate of `attention-spectrum` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    beta, lambda_ : exact number
        The inverse temperature of the scores and p / d, exact numbers > 0.
    from_ : int, optional
        The least number of tokens. Left out, it is about the smallest that is found with `within`, or with `apart`.
    within : exact number, optional
        Look for the smallest number of tokens from which on all transforms are this near to those of the limit law.
    eta : sequence of exact number
        Transforms are taken at -eta.
    apart : bool
        State a distance to every quarter circle law too; transforms are added that tell them apart.
    probability : exact number
        With which something of what is stated may fail.
    digits : int
        Significant digits of the bounds.
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
        So few tokens that the bounds say nothing or are above `within`, or no number of tokens is found.

    References
    ----------
    Hayase, Collins and Karakida (2026), *Gaussian Equivalence for Self-Attention*, arXiv:2510.06685: the limit law.
    Statement and proof: docs/claims/spectrum/attention-spectrum.md.

    Examples
    --------
    >>> import certattn
    >>> certificate = certattn.generate("attention-spectrum", beta="1/2", from_=10000, eta=["1"])
    >>> float(certificate.numbers["transform[0].within"])
    0.00676
    """
    require_place(out)
    exact_beta, ratio, chance = (
        positive(beta, "beta"),
        positive(lambda_, "lambda"),
        positive(probability, "probability"),
    )
    if not chance < 1:
        raise UsageError(f"probability is {describe(chance)}, expected a number between 0 and 1")
    if exact_beta > LARGEST_BETA:
        raise UsageError(f"beta is {describe(exact_beta)}, expected a number of at most {LARGEST_BETA}")
    etas = list(dict.fromkeys(positive(each, "eta") for each in eta))
    if not etas:
        raise UsageError("no eta; expected at least one")
    search = _Search(exact_beta, ratio, chance, etas, None if within is None else positive(within, "within"), apart)
    size = search.size() if from_ is None else from_
    found = search.at(size)
    if search.within is not None and not search.near(found):
        most = describe(search.within)
        raise NotProvedError(f"a bound for {size} tokens is above {most}; leave from out, to look for the least number")
    given: dict[str, Plain] = {"beta": format_rational(exact_beta), "lambda": format_rational(ratio), "from": str(size)}
    transforms = search.transforms(found, digits)
    asserts: dict[str, Plain] = {"probability": format_rational(chance), "transform": transforms.plain()}
    witness = found.witness()
    if apart:
        asserts["apart"] = {"at_least": format_rational(round_down(transforms.distance(), digits))}
        witness["moment"] = format_rational(transforms.moment)
    return Draft(THEOREM, out, given, note).write(asserts, witness)


@dataclass(frozen=True)
class _Transforms:
    """Bounds at every eta, what the limit law has there, and the second moment that parts quarter circle laws."""

    transform: Callable[[fmpq], arb]
    largest_moment: fmpq
    within: dict[fmpq, fmpq]

    def plain(self) -> list[Plain]:
        return [{"eta": format_rational(eta), "within": format_rational(most)} for eta, most in self.within.items()]

    @cached_property
    def moment(self) -> fmpq:
        """By bisection: with a larger moment the law is told apart by larger transforms less well."""
        low, high = fmpq(0), self.largest_moment
        for _ in range(40):
            middle = (low + high) / 2
            larger, smaller = self._margin(middle, 1), self._margin(middle, -1)
            low, high = (middle, high) if larger > smaller else (low, middle)
        return round_up(low, 2 * _PARAMETER_DIGITS)

    def distance(self) -> fmpq:
        """Raises NotProvedError where nothing is told apart."""
        found = min(self._margin(self.moment, 1), self._margin(self.moment, -1))
        if found <= 0:
            raise NotProvedError(
                "these transforms are not near enough to tell quarter circle laws apart; expected more tokens, or "
                "none, to look for the least number"
            )
        return found

    def _margin(self, moment: fmpq, sign: int) -> fmpq:
        return max(each for each, _ in self.margins(moment, sign))

    def margins(self, moment: fmpq, sign: int) -> Iterator[tuple[fmpq, fmpq]]:
        """eta (sign (s(-eta) - s_mu(-eta)) - within), and eta."""
        with working_precision(_BITS):
            for eta, most in self.within.items():
                difference = quarter_circle_transform(moment, eta) - self.transform(eta)
                yield lower_rational(arb(eta) * (sign * difference - arb(most))), eta


@dataclass(frozen=True)
class _Found:
    """What is typical, at one number of tokens, with about the smallest bounds."""

    draw: Draw
    etas: Sequence[fmpq]

    def bound(self, eta: fmpq) -> fmpq:
        with working_precision(_BITS):
            return upper_rational(self.draw.bound(eta))

    def within(self, digits: int) -> dict[fmpq, fmpq]:
        return {eta: round_up(self.bound(eta), digits) for eta in self.etas}

    def witness(self) -> dict[str, Plain]:
        typical, draw = self.draw.typical, self.draw
        values = {
            "cut": typical.cut,
            "coherence": typical.coherence,
            "excess": typical.excess,
            "theta": draw.theta,
            "share": draw.share,
            "tail": draw.tail,
        }
        return {name: format_rational(value) for name, value in values.items()}


@dataclass(frozen=True)
class _Search:
    beta: fmpq
    lambda_: fmpq
    failing: fmpq
    etas: Sequence[fmpq]
    within: fmpq | None
    apart: bool

    @cached_property
    def law(self) -> LawNumbers[arb]:
        with working_precision(_BITS):
            x = arb(self.beta * self.beta)
            return LawNumbers(x.exp() - 1 - x, x, arb(self.lambda_))

    @cached_property
    def known(self) -> dict[fmpq, arb]:
        """Transforms of the limit law that have been enclosed."""
        return {}

    def transform(self, eta: fmpq) -> arb:
        if eta not in self.known:
            with working_precision(_BITS):
                self.known[eta] = limit_transform(self.law, eta)
        return self.known[eta]

    def transforms(self, found: _Found, digits: int) -> _Transforms:
        return _Transforms(self.transform, 4 * midpoint(self.law.variance), found.within(digits))

    def size(self) -> int:
        """About the smallest number of tokens that serves, to two digits. Raises NotProvedError."""
        if self.within is None and not self.apart:
            raise UsageError(
                "nothing to state: give --from, or --within or --apart to look for the smallest number of tokens"
            )
        high = 16
        while not self._serves(high):
            high *= 2
            if high > _LARGEST_SIZE:
                raise NotProvedError(
                    f"no number of tokens up to {_LARGEST_SIZE} serves; expected a larger --within, eta or "
                    "probability, or a smaller beta"
                )
        low = high // 2
        while 50 * (high - low) > high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._serves(middle) else (middle, high)
        return next((size for size in (int(round_up(fmpq(high), 2)),) if self._serves(size)), high)

    def near(self, found: _Found) -> bool:
        """Whether the transforms that were asked for are as near as they are to be."""
        return self.within is None or all(found.bound(eta) <= self.within for eta in self.etas)

    def _serves(self, size: int) -> bool:
        try:
            found = self.at(size)
            return self.near(found) and (not self.apart or self.transforms(found, DIGITS).distance() > 0)
        except NotProvedError:
            return False

    def at(self, size: int) -> _Found:
        """Raises NotProvedError where nothing is typical, or no transform is bounded by less than 1/eta."""
        etas = list(self.etas)
        if self.apart:
            # All that might tell laws apart, and of these the two that do.
            unit = midpoint(self.law.variance)
            many = self._best(size, [*etas, *(round_up(unit * each, 2) for each in _NEAR)])
            transforms = self.transforms(many, DIGITS)
            telling = [max(transforms.margins(transforms.moment, sign))[1] for sign in (1, -1)]
            etas = list(dict.fromkeys([*etas, *telling]))
        found = self._best(size, etas)
        if all(found.bound(eta) * eta >= 1 for eta in self.etas):
            raise NotProvedError(
                f"every bound for {size} tokens is at least 1/eta, which holds without proof; expected more tokens, a "
                "larger eta or probability, or a smaller beta"
            )
        return found

    def _best(self, size: int, etas: Sequence[fmpq]) -> _Found:
        """The part of what may fail by which the bounds, in units of 1/eta, are smallest together."""
        candidates = [_Found(draw, etas) for part in _PARTS for draw in self._draw(size, part, len(etas))]
        if not candidates:
            raise NotProvedError(f"{size} tokens are too few for anything to be typical; expected more tokens")
        return min(candidates, key=lambda found: sum(found.bound(eta) * eta for eta in etas[: len(self.etas)]))

    def _draw(self, size: int, part: fmpq, count: int) -> Iterator[Draw]:
        """What is typical: each of five kinds of exceptions has a fifth of the part. Nothing where theta would be 1."""
        exceptions, x = part * self.failing / 5, self.beta * self.beta
        # Logarithms of the tail enter alone: it may be small.
        steps = (1 - part) * self.failing
        tail = round_down(_TAILS * steps / (TAILS + TAILS_AT_ETA * count), _PARAMETER_DIGITS)
        share = round_down((1 - _TAILS) * steps / SHARES, _PARAMETER_DIGITS)
        p = self.lambda_ * size
        with working_precision(_BITS):
            needed = (arb(size) / arb(exceptions)).log()
            pairs = (arb(size * size) / arb(exceptions)).log()
            cut = _least(lambda c: (arb(c) - 1 - arb(c).log()) * arb(min(p, fmpq(size - 1))) / 2 - needed)
            excess = _up((-2 * arb(exceptions).log()).sqrt())
            coherence = _up((2 * arb(cut) * pairs / arb(p)).sqrt())
            theta = _up((2 * needed * arb(cut * x).exp() / size).sqrt())
        if theta < 1:
            yield Draw(size, self.lambda_, x, TypicalQueries(cut, coherence, excess), theta, share, tail)


def _up(value: arb) -> fmpq:
    return round_up(upper_rational(value), _PARAMETER_DIGITS)


def _least(excess: Callable[[fmpq], arb]) -> fmpq:
    """A number above 1 at which what grows is not negative, about the smallest."""
    low, high = fmpq(1), fmpq(2)
    while (excess(high) >= 0) is not True:
        high *= 2
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if (excess(middle) >= 0) is True else (middle, high)
    return round_up(high, 2 * _PARAMETER_DIGITS)


COMMAND = Command(
    *SCORE_OPTIONS,
    Option("--from", "The least number of tokens; found with --within or --apart by default.", Whole(2), sets="from_"),
    Option("--within", "Look for the least number of tokens with all transforms this near.", metavar="U"),
    Option("--eta", "Transforms are taken at -eta; 1/4, 1 and 4 by default.", many=True),
    Option("--apart", "State how far every quarter circle law is, too.", bool),
    Option("--probability", "The probability with which something of it may fail."),
    Option("--digits", "Digits of bounds.", Whole(1, 12)),
    doubts=[lambda certificate: trivial(THEOREM.read(certificate))],
)
