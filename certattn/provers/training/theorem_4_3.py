"""Generate `theorem-4-3` certificates: the shortest prompts on which training stays so near, or how near it stays."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log
from pathlib import Path
from typing import Any

from flint import fmpq

from certattn.kernel.decide.obligation import NoBound
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.training.theorem_4_3 import CLASS, RADIUS, STEP, THEOREM, read
from certattn.provers.commands import Argument, Command, Option, Whole, Yaml
from certattn.provers.doubts import long
from certattn.provers.exact_inputs import Number, exact, exact_number, positive, require_within
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import as_float, round_up

DISTANCE = "0.1"
_BITS = 64
_DIGITS = 3
# Values of the numbers of the proof that are tried, and with how many pieces at first.
_VALUES = {
    "theta": tuple(fmpq(n, 10) for n in range(10, 0, -1)),
    "eta": tuple(fmpq(n, 10) for n in (3, 5, 7, 8, 9)),
}
_FIRST = {"theta": fmpq(1), "eta": fmpq(4, 5)}
_COARSE, _FEWER, _PIECES = 4, 12, 32
# Logarithms: of the longest prompt, of how near the shortest one is found at first and in the end, and of a bit less.
_LONGEST, _ROUGH, _NEAR, _SHORTER = 41.0, 0.2, 0.001, 0.2
# How often a distance is put in for the radius of the tube that it is the bound of.
_TIMES = 60


def generate(
    out: Path, *, given: dict[str, Any], distance: Number | None = None, pieces: int | None = None, note: str = ""
) -> Certificate:
    """Write a certificate of `theorem-4-3` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `class` (`dimension` and
        `sigma`, or `law`; and `query_radius` or `query_dimension` and `query_sigma`), `loss` (`smoothness`, `shape`,
        and `at_zero` or `risk`), `start` (`U`, `V`), `time` or `step` and `steps`, and `length`, which may be left out:
        then the smallest one, in three digits, is found for which the distance is proved.
    distance : exact number, optional
        How far apart the runs may be; 0.1 if left out, and with a length about the smallest that is proved.
    pieces : int, optional
        Into how many parts the time is cut; if left out 32, and 12 with `query_sigma`, which takes longer.
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
        Nothing is proved.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, Theorem 4.3.
    Statement and proof: docs/claims/training/theorem-4-3.md.

    Examples
    --------
    >>> import certattn
    >>> laws = {"dimension": 1, "sigma": "1/2", "query_radius": 1}
    >>> losses = {"smoothness": 1, "shape": "quadratic", "at_zero": "1/8"}
    >>> start = {"U": "1/4", "V": "1/4"}
    >>> given = {"class": laws, "loss": losses, "start": start, "time": 1}
    >>> certattn.generate("theorem-4-3", given=given, pieces=4).plain["given"]["length"]
    '10'
    """
    require_place(out)
    require_within(1, 1000, _PIECES if pieces is None else pieces, "pieces")
    plain = exact(given, "given")
    assert isinstance(plain, dict)
    if "length" in plain and distance is not None:
        raise UsageError("a length and a distance; expected one of the two: the other one is found")
    search = _Search(Draft(THEOREM, out, plain, note), plain, pieces)
    with working_precision(_BITS):
        if "length" in plain:
            return search.nearest()
        return search.shortest(positive(DISTANCE if distance is None else distance, "distance"))


@dataclass
class _Search:
    """Asks the kernel's own bound about lengths, distances and the numbers of the proof, `numbers`."""

    draft: Draft
    plain: dict[str, Plain]
    given_pieces: int | None

    def __post_init__(self) -> None:
        about = self.plain.get(CLASS.name)
        has_radius = isinstance(about, dict) and RADIUS.name in about
        self.numbers: dict[str, fmpq] = {} if has_radius else dict(_FIRST)
        self.pieces = self.given_pieces or (_PIECES if has_radius else _FEWER)

    def shortest(self, goal: fmpq) -> Certificate:
        """The smallest length, about, from which on the distance is proved. Raises NotProvedError."""
        coarse, starts = min(_COARSE, self.pieces), _VALUES["theta"][::3] if "theta" in self.numbers else (fmpq(1),)
        found = []
        for theta in starts:
            if "theta" in self.numbers:
                self.numbers["theta"] = theta
            found.append((self._least(goal, coarse, _ROUGH), -theta))
        least, theta = min(found)
        if least == inf:
            raise NotProvedError(
                f"no distance <= {describe(goal)} is proved for prompts of up to 10^17 tokens: the bound grows "
                f"exponentially with the time; expected {self._shorter}, smaller norms of the start, or a smaller loss"
            )
        if "theta" in self.numbers:
            self.numbers["theta"] = -theta
        # The numbers that are best at a length need not prove a shorter one: those of one are taken in the end.
        self._choose(round(exp(self._least(goal, coarse, _ROUGH))), goal, coarse)
        self._choose(round(exp(self._least(goal, self.pieces, _ROUGH) - _SHORTER)), goal, self.pieces)
        length = int(round_up(exact_number(exp(self._least(goal, self.pieces, _NEAR))), _DIGITS).ceil())
        return self._write(length, goal)

    def nearest(self) -> Certificate:
        """About the smallest distance that is proved at the given length. Raises NotProvedError."""
        length, goal = int(str(self.plain["length"])), fmpq(0)
        for _ in range(_TIMES):
            tube = max(goal, fmpq(1, 10**6))
            self._choose(length, tube, min(_COARSE, self.pieces))
            reached = self._distance(length, tube, self.pieces)
            if reached == inf:
                break
            goal = round_up(exact_number(reached), _DIGITS)
            if goal <= tube:
                return self._write(length, tube)
        raise NotProvedError(
            f"no distance is proved for prompts of {length} tokens; expected longer ones, or {self._shorter}"
        )

    @property
    def _shorter(self) -> str:
        return "a smaller step, fewer steps" if STEP.name in self.plain else "a shorter time"

    def _write(self, length: int, goal: fmpq) -> Certificate:
        draft = self.draft.about({**self.plain, "length": str(length)})
        return draft.write({"distance": format_rational(goal)}, self._witness(self.pieces))

    def _witness(self, pieces: int) -> dict[str, Plain]:
        return {"pieces": str(pieces), **{name: format_rational(number) for name, number in self.numbers.items()}}

    def _least(self, goal: fmpq, pieces: int, near: float) -> float:
        """The logarithm of the least length for which the distance is proved; infinity for none."""
        bad, good, most = log(2), _LONGEST, as_float(goal)
        if self._distance(2, goal, pieces) <= most:
            return bad
        if not self._distance(round(exp(good)), goal, pieces) <= most:
            return inf
        while good - bad > near:
            middle = (bad + good) / 2
            if self._distance(round(exp(middle)), goal, pieces) <= most:
                good = middle
            else:
                bad = middle
        return good

    def _choose(self, length: int, tube: fmpq, pieces: int) -> None:
        """For each number the value with which the distance is least, one after the other."""
        for name in self.numbers:
            before, found = self.numbers[name], []
            for value in {before: None, **dict.fromkeys(_VALUES[name])}:
                self.numbers[name] = value
                found.append((self._distance(length, tube, pieces), value))
            self.numbers[name] = min(found, key=lambda pair: pair[0])[1]

    def _distance(self, length: int, tube: fmpq, pieces: int) -> float:
        """What the kernel proves of a tube of this radius; infinity where it proves nothing."""
        draft = self.draft.about({**self.plain, "length": str(length)})
        training = draft.read(read, {"distance": format_rational(tube)}, self._witness(pieces))
        try:
            run = training.run()
        except NoBound:
            return inf
        step = training.stated.given.get(STEP) or fmpq(0)
        falls = not self.numbers or (training.fall() >= 2) is True
        holds = falls and (step * run.steepest <= 1) is True
        found = float(run.distance.upper())
        return found if holds and found < inf else inf


COMMAND = Command(
    Argument("TASK", Yaml("given")),
    Option(
        "--distance", "How far apart the runs may be; 0.1, or with a length the smallest that is proved.", metavar="D"
    ),
    Option("--pieces", "Into how many parts the time is cut; 32, or 12 with query_sigma.", Whole(1, 1000), "N"),
    doubts=[long],
)
