"""State how long prompts must be for training on them to end with a small risk.

Find how long prompts have to be for a stated final risk, or which final risk follows for prompts of a length.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.enclosure import around
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.training.regression import balls_around, flat
from certattn.kernel.theorems.training.risk_transfer import (
    DEFAULT_ORDER,
    DEFAULT_PIECES,
    LENGTH,
    THEOREM,
    FinitePrompts,
    Piece,
    bound_of_risk,
    read,
    tube,
)
from certattn.kernel.theorems.training.validated_flow import steps
from certattn.provers.commands import Argument, Command, Option, Yaml, to_plot
from certattn.provers.doubts import long
from certattn.provers.exact_inputs import Number, exact, exact_rational, positive
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import round_up, upper_rational
from certattn.provers.training.empirical_transfer import generate_empirical

RISK = "0.1"
_BITS = 64
_DIGITS = 3
# Lengths are found to two digits, and not looked for beyond this power of ten.
_MOST_ZEROS = 60
# The infinite-prompt flow is followed until its risk is this part of the wanted one, or for so many steps.
_REST = fmpq(1, 30)
_MOST_STEPS = 1000
_LATEST = fmpq(10**9)
# What is found has to hold with a little room: the last piece ends elsewhere in the certificate.
_ROOM = fmpq(999, 1000)


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    risk: Number | None = None,
    time: Number | None = None,
    pieces: int = DEFAULT_PIECES,
    note: str = "",
) -> Certificate:
    """Write a certificate of `risk-transfer` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        `covariance` and `start` as certificates write them, and `length`, which may be left out: then the smallest one,
        to two digits, is found for which the risk is proved. Or, with `tokens`, `labels`, `queries` and `targets`,
        prompts as certificates write them; numpy arrays are written to a file beside the certificate.
    risk : exact number, optional
        The final risk; with a length it may be left out, for the smallest one that is proved.
    time : exact number, optional
        Until when the two runs are followed; if left out, no longer than is needed. Given prompts need it.
    pieces : int
        Intervals into which that time is cut: more of them give a slightly narrower tube.
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
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784. Statement and
    proof: docs/claims/training/risk-transfer.md.

    Examples
    --------
    >>> import certattn
    >>> start = {"A": [["3/5", 0], [0, "4/5"]], "b": 1}
    >>> certificate = certattn.generate("risk-transfer", covariance=[[1, 0], [0, 1]], start=start, risk="0.5")
    >>> certificate.plain["given"]["length"]
    '170'
    """
    require_place(out)
    if "tokens" in given:
        if "length" in given:
            raise UsageError(
                "the task has a length and tokens; expected one of the two: a length is that of random prompts, "
                "tokens are those of given prompts"
            )
        return generate_empirical(out, given, _bound(risk), _positive(time, "time"), pieces, note)
    plain = exact(given, "given")
    assert isinstance(plain, dict)
    goal = _positive(risk if risk is not None or "length" in plain else RISK, "risk")
    draft = Draft(THEOREM, out, {"length": "2", **plain}, note)
    finder = _Finder(draft, _positive(time, "time"), pieces)
    found = finder.shortest(goal) if "length" not in plain and goal is not None else finder.at_length(goal)
    asserts: dict[str, Plain] = {
        "risk": format_rational(found.risk if goal is None else goal),
        "time": format_rational(found.time),
        "tube": format_rational(found.distance),
    }
    stated = draft.about({**plain, "length": format_rational(found.length)})
    return stated.write(asserts, {"pieces": str(found.pieces)})


@dataclass(frozen=True)
class _Found:
    """What is proved at a length: the risk from the time on, and the distance of the runs until then."""

    length: fmpq
    time: fmpq
    pieces: int
    risk: fmpq
    distance: fmpq


class _Finder:
    """Runs the kernel's own tube at different lengths."""

    def __init__(self, draft: Draft, time: fmpq | None, pieces: int) -> None:
        if pieces < 1:
            raise UsageError(f"{pieces} pieces; expected at least 1")
        self._setting = draft.read(read, {"risk": "1", "time": "1"}, {"pieces": str(pieces)})
        self._length = self._setting.given[LENGTH]
        self._known = self._setting.known_at_the_start
        if self._known and not self._setting.falls_from_the_start:
            raise NotProvedError(
                "over infinite prompts the flow rests at its start, which is a saddle: b = 0 and tr(A'Sigma^2) = 0, "
                "and the risk is tr(Sigma)/2 at all times; expected another start"
            )
        self._time = time
        self._pieces = pieces

    def at_length(self, goal: fmpq | None) -> _Found:
        """At the given length: the first time with this risk, or that with the least. Raises NotProvedError."""
        with working_precision(_BITS):
            horizon = self._time or self._horizon(goal or exact_rational(RISK, "risk"))
            found = self._trial(self._length, horizon, goal)
        if found is None:
            reached = "" if goal is None else f" <= {describe(goal)}"
            raise NotProvedError(
                f"no risk{reached} could be proved for prompts of {describe(self._length)} tokens; "
                "expected longer ones, a larger risk, another start, or more pieces"
            )
        return found

    def shortest(self, goal: fmpq) -> _Found:
        """The smallest length of two digits at which the risk is proved. Raises NotProvedError."""
        with working_precision(_BITS):
            horizon = self._time or self._horizon(goal)
            zeros, found = 0, None
            while found is None:
                zeros += 1
                if zeros > _MOST_ZEROS:
                    raise NotProvedError(
                        f"no risk <= {describe(goal)} could be proved for prompts of up to 1e{_MOST_ZEROS} tokens; "
                        "expected a larger risk, a start nearer to a Bayes point, or more pieces"
                    )
                found = self._trial(fmpq(10) ** (zeros + 1), horizon, goal)
            low, high = 10, 100
            while high - low > 1:
                middle = (low + high) // 2
                better = self._trial(middle * fmpq(10) ** (zeros - 1), horizon, goal)
                if better is None:
                    low = middle
                else:
                    high, found = middle, better
        return found

    def _horizon(self, goal: fmpq) -> fmpq:
        """A time at which the infinite-prompt risk is far below the wanted one. Raises NotProvedError."""
        prompts, start = self._prompts(fmpq(2)), around(flat(balls_around(self._setting.start)))
        risk, wanted = prompts.field.risk(start), goal * _REST
        for step in islice(steps(prompts.field, start, _LATEST, DEFAULT_ORDER), _MOST_STEPS):
            risk = prompts.field.risk(step.end)
            if (risk < wanted) is True:
                return round_up(step.last, 2)
        why = f"over infinite prompts the risk is not seen to fall below {describe(wanted)}"
        if not self._tends_to_zero(risk):
            # No time helps: the flow may go to a saddle.
            raise NotProvedError(f"{why}, and it is not known to tend to 0; expected another start")
        raise NotProvedError(
            f"{why}; expected a larger risk (--risk), or a time until which the runs are followed (--time)"
        )

    def _tends_to_zero(self, risk: arb) -> bool:
        """Whether it is proved over infinite prompts: by the start, or by the risk at some time."""
        return self._known or (2 * risk < self._setting.covariance.trace()) is True

    def _prompts(self, length: fmpq) -> FinitePrompts:
        return FinitePrompts(self._setting.covariance, length)

    def _tube(self, length: fmpq, until: fmpq, pieces: int) -> list[Piece]:
        start = flat(balls_around(self._setting.start))
        return list(tube(self._prompts(length), start, until, DEFAULT_ORDER, pieces))

    def _trial(self, length: fmpq, horizon: fmpq, goal: fmpq | None) -> _Found | None:
        """At the first time with a risk below the goal, or that with the least; None where nothing is proved."""
        prompts, width = self._prompts(length), horizon / self._pieces
        best: tuple[fmpq, arb] | None = None
        for piece in self._tube(length, horizon, self._pieces):
            count = piece.last / width
            if piece.distance.closed is not True or count.q != 1 or (self._time is not None and piece.last < horizon):
                continue
            bound = bound_of_risk(prompts, piece.end)
            if goal is not None and (bound <= goal * _ROOM) is True:
                return self._checked(length, count, width, goal)
            if goal is None and (best is None or (bound < best[1]) is True):
                best = count, bound
        return None if best is None else self._checked(length, best[0], width, None)

    def _checked(self, length: fmpq, count: fmpq, width: fmpq, goal: fmpq | None) -> _Found | None:
        """What the certificate's own pieces prove."""
        pieces = int(count.p)
        last = self._tube(length, count * width, pieces)[-1]
        if (last.distance.closed and last.last == count * width) is not True:
            return None
        prompts = self._prompts(length)
        if not self._tends_to_zero(prompts.field.risk(last.flow)):
            return None
        bound = upper_rational(bound_of_risk(prompts, last.end))
        if goal is not None and bound > goal:
            return None
        distance = round_up(upper_rational(last.distance.reached), _DIGITS)
        return _Found(length, count * width, pieces, round_up(bound, _DIGITS), distance)


def _bound(risk: Number | None) -> fmpq | None:
    """A risk >= 0, which given prompts may have exactly, or None. Raises UsageError."""
    found = None if risk is None else exact_rational(risk, "risk")
    return found if found == 0 else _positive(risk, "risk")


def _positive(value: Number | None, what: str) -> fmpq | None:
    """An exact number > 0, or None. Raises UsageError."""
    return None if value is None else positive(value, what)


def _inputs(options: dict[str, Any]) -> dict[str, Any]:
    """The options. Raises UsageError for a picture of given prompts."""
    if options["plot"] is not None and "tokens" in options["given"]:
        raise UsageError("--plot: no figure is drawn for given prompts, only for prompts of a length")
    return options


COMMAND = Command(
    Argument("TASK", Yaml("given")),
    Option("--risk", "The final risk; 0.1, or with a length the smallest that is proved.", metavar="R"),
    Option("--time", "Until when the runs are followed; no longer than needed if left out.", metavar="T"),
    Option("--pieces", "Intervals into which that time is cut.", int, "N"),
    to_plot("Draw the risk, its bound and the tube."),
    inputs=_inputs,
    doubts=[long],
)
