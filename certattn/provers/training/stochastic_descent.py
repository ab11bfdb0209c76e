"""State that training on drawn prompts ends with a small risk, and how many prompts are enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.errors import NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.training.descent_tube import Point, Tube, follow
from certattn.kernel.theorems.training.stochastic_descent import (
    BATCH,
    LENGTH,
    MOST_PROMPTS,
    MOST_TOKENS,
    PROBABILITY,
    RISK,
    STEP,
    STEPS,
    THEOREM,
    StatedDescent,
    read,
)
from certattn.provers.commands import Argument, Command, Option, Yaml
from certattn.provers.doubts import long, rare
from certattn.provers.exact_inputs import Number, exact, positive
from certattn.provers.output import Draft
from certattn.provers.rounding import as_float, round_down, upper_rational
from certattn.provers.training.descent_steps import CHANCE, DRAWN_RISK, counts, steps_near

# Lengths that are tried where none is given.
LENGTHS = (10**5, 10**7, 10**9)
_BITS = 64
_FIRST, _BISECTIONS, _ROUNDS = 1 / 8, 6, 8
# Smaller batches widen the tube: the next is so much larger than it would have to be.
_ROOM = 1.02


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    risk: Number = DRAWN_RISK,
    probability: Number = CHANCE,
    note: str = "",
) -> Certificate:
    """Write a certificate of `stochastic-descent` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `covariance` and `start`, and
        maybe `length`, `step`, `steps` and `batch`. Those that are left out are searched for: few prompts in all.
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
    Statement and proof: docs/claims/training/stochastic-descent.md.

    Examples
    --------
    >>> import certattn
    >>> start = {"A": [["1/2"]], "b": "1/2"}
    >>> certificate = certattn.generate("stochastic-descent", covariance=[[1]], start=start, step="1/2", steps=2)
    >>> {name: float(number) for name, number in certificate.numbers.items()}
    {'risk': 0.15, 'probability': 0.05}
    """
    plain = exact(given, "given")
    assert isinstance(plain, dict)
    asserts = {"risk": format_rational(positive(risk, "risk")), "probability": exact(probability, "probability")}
    unknown = {LENGTH.name: str(LENGTHS[0]), STEP.name: "1", STEPS.name: "1", BATCH.name: "1"}
    draft = Draft(THEOREM, out, {**unknown, **plain}, note)
    stated = draft.read(read, asserts, {"radius": "1"})
    with working_precision(_BITS):
        found = _found(_Search(stated, set(plain)), [stated.given[LENGTH]] if LENGTH.name in plain else LENGTHS)
    chosen = {
        LENGTH.name: str(found.length),
        STEP.name: format_rational(found.step),
        STEPS.name: str(found.steps),
        BATCH.name: str(found.batch),
    }
    return draft.about({**chosen, **plain}).write(asserts, {"radius": format_rational(found.radius)})


@dataclass(frozen=True)
class _Found:
    """What proves it."""

    length: int
    step: fmpq
    steps: int
    batch: int
    radius: fmpq


def _found(search: _Search, lengths: Sequence[int]) -> _Found:
    for length in lengths:
        best = min(search.at(length), key=lambda found: found.steps * found.batch, default=None)
        if best is not None:
            return best
    risk, most = describe(search.stated.asserts[RISK]), f"{lengths[-1]:,}"
    others = [
        "a larger risk",
        *(["longer prompts"] if lengths[-1] < MOST_TOKENS else []),
        *(["a larger batch"] if search.has_batch else []),
        "other steps",
    ]
    raise NotProvedError(
        f"no tube is found in which the risk is at most {risk} at the end, for prompts of {most} tokens or more; "
        f"expected {', '.join(others)}, or a start that is nearer to the Bayes points"
    )


class _Search:
    """Steps, batches and radii that the kernel's own tube proves the statement for."""

    def __init__(self, stated: StatedDescent, fixed: set[str]) -> None:
        self.stated, self._fixed = stated, fixed
        self._risk, self._chance = (stated.asserts[field] for field in (RISK, PROBABILITY))

    @property
    def has_batch(self) -> bool:
        """Whether the number of prompts of a step is given."""
        return BATCH.name in self._fixed

    def at(self, length: int) -> Iterator[_Found]:
        """For this length, by all steps that are tried."""
        start = self.stated.first(length)
        for step in self._steps:
            for steps in self._counts(start, step):
                found = self._narrowed(start, step, steps)
                if found is not None:
                    yield _Found(length, step, steps, *found)

    @cached_property
    def _steps(self) -> list[fmpq]:
        if STEP.name in self._fixed:
            return [self.stated.given[STEP]]
        return steps_near(self.stated.first(LENGTHS[0]), self.stated.covariance, self.stated.start)

    def _counts(self, start: Point, step: fmpq) -> list[int]:
        """So many steps leave some of the risk to chance."""
        if STEPS.name in self._fixed:
            return [self.stated.given[STEPS]]
        return counts(start, step, self._risk)

    def _narrowed(self, start: Point, step: fmpq, steps: int) -> tuple[int, fmpq] | None:
        """The batch and the radius: about the largest radius with which the risk is small enough at the end."""
        low, high, middle, best = 0.0, 0.0, _FIRST, None
        for _ in range(_BISECTIONS):
            radius = round_down(fmpq(*middle.as_integer_ratio()), 3)
            batch = self._batch(start, step, steps, radius)
            if batch is None:
                high = middle
            else:
                low = middle
                if best is None or batch < best[0]:
                    best = batch, radius
            middle = (low + high) / 2 if low > 0 and high > 0 else low * 1.5 or high / 3
        return best

    def _batch(self, start: Point, step: fmpq, steps: int, radius: fmpq) -> int | None:
        """The smallest batch that is found for a radius; None where the risk or the probability is too large."""
        fixed = BATCH.name in self._fixed
        batch = self.stated.given[BATCH] if fixed else MOST_PROMPTS
        for _ in range(_ROUNDS):
            tube = follow(start, step, steps, batch, radius)
            if not self._is_small(tube):
                return None
            if batch < MOST_PROMPTS and (tube.probability <= self._chance) is True:
                return batch
            needed = as_float(upper_rational(tube.probability * batch / self._chance))
            if fixed or needed * _ROOM >= MOST_PROMPTS:
                return None
            batch = int(needed * _ROOM) + 1
        return None

    def _is_small(self, tube: Tube) -> bool:
        return tube.radius.is_finite() is True and (tube.risk() <= self._risk) is True


def _whole(certificate: Certificate, inputs: Mapping[str, Any]) -> str:
    """How many prompts are drawn in all."""
    given = read(certificate).given
    return f"{given[STEPS] * given[BATCH]:,} prompts in all"


COMMAND = Command(
    Argument("TASK", Yaml("given")),
    Option("--risk", "What the risk is at most after the last step, an exact number.", metavar="EPS"),
    Option("--probability", "With which the risk may be larger, an exact number.", metavar="DELTA"),
    finding=_whole,
    doubts=[rare, long],
)
