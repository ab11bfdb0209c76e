"""State that training on prompts that are drawn once ends with a small risk, and how many of them are enough."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.training.descent_tube import Point
from certattn.kernel.theorems.training.full_batch_descent import (
    AFTER,
    PROMPTS,
    SETTLED,
    THEOREM,
    WITHIN,
    Reached,
    Settled,
    StatedDescent,
    follow,
    gentlest,
    read,
)
from certattn.kernel.theorems.training.stochastic_descent import (
    MOST_PROMPTS,
    MOST_STEPS,
    PROBABILITY,
    RISK,
    STEP,
    STEPS,
)
from certattn.provers.commands import Argument, Command, Option, Yaml
from certattn.provers.doubts import rare
from certattn.provers.exact_inputs import Number, exact, positive
from certattn.provers.output import Draft
from certattn.provers.rounding import as_float, round_down, upper_rational
from certattn.provers.training.descent_steps import CHANCE, DRAWN_RISK, counts, steps_near

_BITS = 64
# How far second moments may be off: above 1 only small steps keep to the tube, and a single step does not ask for it.
_SPREADS = (fmpq(1, 5), fmpq(3, 10), fmpq(2, 5), fmpq(1, 2), fmpq(7, 10), fmpq(1), fmpq(3, 2), fmpq(5, 2), fmpq(4))
_ANY_SPREAD = fmpq(1000)
_FIRST, _BISECTIONS = 1 / 8, 7
# Runs settle with steps that are so much smaller, when so much of the risk is left; balls are shares of the largest.
_SLOWER, _REMAINING, _LATEST = fmpq(1, 2), (fmpq(1, 30), fmpq(1, 150), fmpq(1, 1000)), 100
_SETTLED_SPREADS, _BALLS = (fmpq(1, 5), fmpq(1, 4), fmpq(3, 10)), [i / 20 for i in range(2, 16)]


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    risk: Number = DRAWN_RISK,
    probability: Number = CHANCE,
    note: str = "",
) -> Certificate:
    """Write a certificate of `full-batch-descent` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `covariance` and `start`, and
        maybe `step`, `steps` and `prompts`. Those that are left out are searched for: few prompts.
    risk : exact number
        What the risk is at most after the last step.
    probability : exact number
        With which it may be larger.
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
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, section 4.
    Statement and proof: docs/claims/training/full-batch-descent.md.

    Examples
    --------
    >>> import certattn
    >>> start = {"A": [["1/2"]], "b": "1/2"}
    >>> certificate = certattn.generate("full-batch-descent", covariance=[[1]], start=start, step="2/5", steps=3)
    >>> {name: float(number) for name, number in certificate.numbers.items()}
    {'risk': 0.15, 'probability': 0.05}
    """
    plain = exact(given, "given")
    assert isinstance(plain, dict)
    asserts = {"risk": format_rational(positive(risk, "risk")), "probability": exact(probability, "probability")}
    unknown = {STEP.name: "1", STEPS.name: "1", PROMPTS.name: "1"}
    draft = Draft(THEOREM, out, {**unknown, **plain}, note)
    stated = draft.read(read, asserts, {"radius": "1", "spread": "1"})
    with working_precision(_BITS):
        found = _found(_Search(stated, set(plain)))
    chosen = {
        STEP.name: format_rational(found.step),
        STEPS.name: str(found.steps),
        PROMPTS.name: str(found.prompts),
    }
    witness: dict[str, Any] = {"radius": format_rational(found.radius), "spread": format_rational(found.spread)}
    if found.settled is not None:
        after, within = found.settled
        witness[SETTLED.name] = {AFTER.name: str(after), WITHIN.name: format_rational(within)}
    return draft.about({**chosen, **plain}).write(asserts, witness)


@dataclass(frozen=True)
class _Found:
    """What proves it."""

    step: fmpq
    steps: int
    prompts: int
    radius: fmpq
    spread: fmpq
    settled: tuple[int, fmpq] | None = None


def _found(search: _Search) -> _Found:
    best = min(search.all(), key=lambda found: (found.prompts, found.steps), default=None)
    most = search.stated.given[PROMPTS] if search.has(PROMPTS.name) else MOST_PROMPTS
    if best is not None and best.prompts <= most:
        return best
    risk = describe(search.stated.asserts[RISK])
    if best is not None:
        raise NotProvedError(f"{best.prompts:,} prompts are enough for a risk of at most {risk}, not {most:,}")
    raise NotProvedError(
        f"no tube is found in which the risk is at most {risk} at the end; "
        "expected a larger risk, other steps, or a start that is nearer to the Bayes points"
    )


class _Search:
    """Steps, numbers of prompts, radii and spreads that the kernel's own tube proves the statement for."""

    def __init__(self, stated: StatedDescent, fixed: set[str]) -> None:
        self.stated, self._fixed = stated, fixed
        self._risk, self._chance = stated.asserts[RISK], stated.asserts[PROBABILITY]

    def has(self, name: str) -> bool:
        """Whether it is given."""
        return name in self._fixed

    def all(self) -> Iterator[_Found]:
        """By all steps and spreads that are tried."""
        start = self.stated.first()
        for step in self._steps:
            for steps in [self.stated.given[STEPS]] if self.has(STEPS.name) else counts(start, step, self._risk):
                for spread in [_ANY_SPREAD] if steps == 1 else _SPREADS:
                    yield from self._narrowed(step, steps, spread)
        for step in self._steps if self.has(STEP.name) else [_SLOWER * each for each in self._steps[-2:]]:
            for after in self._rests(start, step):
                for spread in _SETTLED_SPREADS:
                    yield from self._settled(step, after, spread)

    @cached_property
    def _steps(self) -> list[fmpq]:
        if self.has(STEP.name):
            return [self.stated.given[STEP]]
        return steps_near(self.stated.first(), self.stated.covariance, self.stated.start)

    def _rests(self, start: Point, step: fmpq) -> list[int]:
        """After so many steps little of the risk is left."""
        most = self.stated.given[STEPS] if self.has(STEPS.name) else _LATEST
        found, point, left = [], start, list(_REMAINING)
        for count in range(1, min(most, _LATEST) + 1):
            point = point.after(step)
            share = point.error / start.error
            if left and (share * share < left[0]) is True:
                found.append(count)
                left = [each for each in left if (share * share < each) is not True]
        return found

    def _settled(self, step: fmpq, after: int, spread: fmpq) -> Iterator[_Found]:
        """With about the largest radius with which a run settles there."""
        start = self.stated.first()

        def proves(radius: fmpq) -> _Found | None:
            tube = follow(start, step, after, radius, spread)
            return self._ball(tube, step, after, radius) if tube.radius.is_finite() is True else None

        yield from self._widest(proves)

    def _ball(self, tube: Reached, step: fmpq, after: int, radius: fmpq) -> _Found | None:
        """The first ball in which a run stays, with steps enough."""
        farthest = as_float(upper_rational(gentlest(tube.end, arb(0)) / tube.end.problem.bend))
        for share in _BALLS:
            within = round_down(fmpq(*(share * farthest).as_integer_ratio()), 2)
            ball = Settled(tube, step, arb(within))
            if (gentlest(tube.end, arb(within)) > 0) is not True or (step * ball.stiffness <= 1) is not True:
                return None
            if (ball.reach() < within) is not True:
                continue
            left = self._left(ball, after)
            prompts = self._enough(tube) if left is not None else None
            if left is not None and prompts is not None:
                return _Found(step, after + left, prompts, radius, tube.spread, (after, within))
        return None

    def _left(self, ball: Settled, after: int) -> int | None:
        """So many steps more are enough, or as many as are stated."""
        most = (self.stated.given[STEPS] if self.has(STEPS.name) else MOST_STEPS) - after
        if (ball.risk(most) < self._risk) is not True:
            return None
        enough = lambda n: (ball.risk(n) < self._risk) is True  # noqa: E731
        return most if self.has(STEPS.name) else bisect_left(range(most), True, key=enough)

    def _narrowed(self, step: fmpq, steps: int, spread: fmpq) -> Iterator[_Found]:
        """With about the largest radius with which the risk is small enough at the end."""
        start = self.stated.first()

        def proves(radius: fmpq) -> _Found | None:
            tube = follow(start, step, steps, radius, spread)
            if tube.radius.is_finite() is not True or (tube.risk() < self._risk) is not True:
                return None
            prompts = self._enough(tube)
            return None if prompts is None else _Found(step, steps, prompts, radius, spread)

        yield from self._widest(proves)

    def _widest(self, proves: Callable[[fmpq], _Found | None]) -> Iterator[_Found]:
        """What is found on the way to the largest radius that proves something."""
        low, high, middle = 0.0, 0.0, _FIRST
        for _ in range(_BISECTIONS):
            found = proves(round_down(fmpq(*middle.as_integer_ratio()), 3))
            if found is not None:
                low = middle
                yield found
            else:
                high = middle
            middle = (low + high) / 2 if low > 0 and high > 0 else low * 1.5 or high / 3

    def _enough(self, tube: Reached) -> int | None:
        """How many prompts keep the tube as often as is stated."""
        if (tube.chance(MOST_PROMPTS) <= self._chance) is not True:
            return None
        enough = lambda n: (tube.chance(n) <= self._chance) is True  # noqa: E731
        return bisect_left(range(MOST_PROMPTS), True, lo=1, key=enough)


COMMAND = Command(
    Argument("TASK", Yaml("given")),
    Option("--risk", "What the risk is at most after the last step, an exact number.", metavar="EPS"),
    Option("--probability", "With which the risk may be larger, an exact number.", metavar="DELTA"),
    doubts=[rare],
)
