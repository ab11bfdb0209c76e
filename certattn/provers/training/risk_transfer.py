"""Generate `risk-transfer` certificates: the shortest prompts that are proved to reach a risk, or what some reach."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.mathematics.weight_fits import ExponentialSum, WeightTable
from certattn.kernel.theorems.training.length_tube import Piece, follow, risk_bound
from certattn.kernel.theorems.training.risk_transfer import (
    DEFAULT_PIECES,
    LENGTH,
    MOST_LENGTH,
    MOST_PIECES,
    THEOREM,
    Range,
    read,
)
from certattn.provers.commands import Argument, Command, Option, Yaml, to_plot
from certattn.provers.doubts import long
from certattn.provers.exact_inputs import Number, exact, exact_rational, positive
from certattn.provers.output import Draft, require_place
from certattn.provers.rounding import round_up, upper_rational
from certattn.provers.training.empirical_transfer import generate_empirical
from certattn.provers.training.length_ranges import Covered, Ranges, Reached, decimal
from certattn.provers.training.length_ranges import Path as FlowPath

Said = Callable[[int, int], None]

RISK = "0.1"
_BITS = 64
_DIGITS = 3
# What the ranges say where nothing is known yet.
_NOTHING: dict[str, Plain] = {"time": "1", "pieces": "1", "sums": [["0"] * 5], "errors": [["0", "0", "0"]]}
_UNKNOWN: dict[str, Plain] = {"spacing": "1", "ranges": [_NOTHING]}
# Lengths that are tried: from the first by this factor, up to the last; between two of them to a few per cent.
_SHORTEST, _LONGEST, _FACTOR, _NEAR = 8, 40_000, 1.6, 1.03
# These are so many at most, with those between two of them.
_MOST_TRIED = 25
# The ranges begin at this multiple of the first length that does, at most.
_LATEST = 1.5
# Ranges before the last end at one of these multiples of the length at most.
_FAR = 200, 10**6
# Moments up to variances that are so many times those of interest are used as well.
_NEAR_REACH = 1.4
# Over infinite prompts the risk is then this part of the wanted one, and finite ones may take so much longer.
_REST, _LATER = 3, fmpq(8)
# Next to Bayes points it may fall slowly.
_SHORTEST_TIME, _LONGEST_TIME = fmpq(16), fmpq(64)


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    risk: Number | None = None,
    time: Number | None = None,
    pieces: int | None = None,
    note: str = "",
    said: Said = lambda done, everything: None,
) -> Certificate:
    """Write a certificate of `risk-transfer` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        `covariance` and `start` as certificates write them, and `length`, which may be left out: then the smallest one,
        to a few per cent, is found for which the risk is proved. Or, with `tokens`, `labels`, `queries` and `targets`,
        prompts as certificates write them; numpy arrays are written to a file beside the certificate.
    risk : exact number, optional
        The final risk; with a length it may be left out, for about the smallest one that is proved.
    time : exact number, optional
        Until when the runs are followed; if left out, no longer than is needed. Given prompts need it.
    pieces : int, optional
        Intervals into which that time is cut; as many as are needed if left out.
    note : str
        A line for the certificate's readers, kept under `provenance`.
    said : callable
        Where a risk or a length is sought, told how many were tried, and how many may be.

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
    >>> start = {"A": [[1]], "b": 1}
    >>> certificate = certattn.generate("risk-transfer", covariance=[[1]], start=start, risk="0.2")
    >>> certificate.plain["given"]["length"]
    '8'
    """
    require_place(out)
    if pieces is not None and pieces < 1:
        raise UsageError(f"{pieces} pieces; expected at least 1")
    if "tokens" in given:
        if "length" in given:
            raise UsageError(
                "the task has a length and tokens; expected one of the two: a length is that of random prompts, "
                "tokens are those of given prompts"
            )
        return generate_empirical(out, given, _bound(risk), _positive(time, "time"), pieces or DEFAULT_PIECES, note)
    plain = exact(given, "given")
    assert isinstance(plain, dict)
    goal = _positive(risk if risk is not None or "length" in plain else RISK, "risk")
    length = str(plain.get("length", "2"))
    finder = _Finder(
        Draft(THEOREM, out, {"length": length, **plain}, note), length, goal, _positive(time, "time"), pieces, said
    )
    with working_precision(_BITS):
        found = finder.at_length(finder.length) if "length" in plain else finder.shortest()
        asserts, witness = finder.stated(found)
    stated = Draft(THEOREM, out, {**plain, "length": str(found.first)}, note)
    return stated.write(asserts, witness)


class _Finder:
    """Asks the kernel's own tube about lengths."""

    def __init__(
        self, draft: Draft, length: str, goal: fmpq | None, time: fmpq | None, pieces: int | None, said: Said
    ) -> None:
        self._said = said
        self._stated = draft.read(read, {"risk": "1", "time": "1"}, {**_UNKNOWN, "lengths": [length]})
        self._goal, self._time = goal, time
        if self._stated.known_at_the_start and not self._stated.falls_from_the_start:
            raise NotProvedError(
                "over infinite prompts the flow rests at its start, which is a saddle: b = 0 and tr(A'Sigma^2) = 0, "
                "and the risk is tr(Sigma)/2 at all times; expected another start"
            )
        wanted = decimal(goal or exact_rational(RISK, "risk"))
        self._path = FlowPath.of(self._stated.flow(None), lambda found: found < wanted / _REST)
        if self._path.risk >= wanted / _REST:
            raise NotProvedError(
                f"over infinite prompts the risk is not seen to fall below {wanted / _REST:.3g}; "
                "expected another start, or a larger risk (--risk)"
            )
        reached = self._path.time * _LATER
        self._horizon = time if time is not None else max(reached, _SHORTEST_TIME)
        self._longest = time if time is not None else max(reached, _LONGEST_TIME)
        self._duration = self._path.duration if pieces is None else self._horizon / pieces
        self._table: WeightTable | None = None

    @property
    def length(self) -> int:
        """As it is given."""
        return self._stated.given[LENGTH]

    def _between(self, shortest: int, longest: int) -> Ranges:
        table, path = self._table, self._path
        if table is None or not _serves(table, path, shortest, longest):
            table = WeightTable(path.spacing, path.reach, (shortest, longest))
        self._table = table
        return Ranges(self._stated.flow, path, table, longest, self._horizon, self._longest, self._duration)

    def _from(self, first: int, goal: fmpq | None) -> Ranges:
        """For lengths that are so long that the risk is reached by all longer ones, if some are."""
        for far in _FAR:
            most = min(far * first, MOST_LENGTH)
            ranges = self._between(first, most)
            if goal is None or ranges.ends(goal):
                break
        return ranges

    def shortest(self) -> Covered:
        """From about the smallest length that is proved to do. Raises NotProvedError."""
        assert self._goal is not None
        bad, good, ranges = _SHORTEST - 1, _SHORTEST, self._between(_SHORTEST, _LONGEST)
        tried = 0
        while ranges.at_first(good, self._goal) is None:
            tried += 1
            self._said(tried, _MOST_TRIED)
            bad, good = good, round(good * _FACTOR)
            if good > _LONGEST:
                raise NotProvedError(
                    f"no risk <= {describe(self._goal)} could be proved for prompts of up to {_LONGEST} tokens; "
                    "expected a larger risk, a start nearer to a Bayes point, or more pieces"
                )
        # Where the flow of prompts of about that length goes is known now.
        self._path = ranges.path
        ranges = self._between(bad, good)
        while good > bad * _NEAR + 1:
            tried += 1
            self._said(tried, _MOST_TRIED)
            middle = max(bad + 1, round((bad * good) ** 0.5))
            if ranges.at_first(middle, self._goal) is None:
                bad = middle
            else:
                good = middle
        self._said(tried + 1, tried + 1)
        self._path = ranges.path
        found = self._from(good, self._goal).from_on(good, self._goal, round(good * _LATEST))
        if found is not None:
            return found
        raise NotProvedError("no ranges of lengths could be proved; expected a larger risk, or another start")

    def at_length(self, length: int) -> Covered:
        """From the given length on, with the risk, or about the smallest that is proved. Raises NotProvedError."""
        ranges = self._from(length, self._goal)
        # Its flow may go far from that over infinite prompts.
        ranges.at_first(length, self._goal or fmpq(0))
        self._path = ranges.path
        assert self._table is not None
        if not _serves(self._table, self._path, length, length):
            ranges = self._from(length, self._goal)
        if self._goal is not None:
            found = ranges.from_on(length, self._goal)
            if found is None:
                raise NotProvedError(
                    f"no risk <= {describe(self._goal)} could be proved for prompts of {length} tokens; "
                    "expected longer ones, a larger risk, another start, or more pieces"
                )
            return found
        goals = list(ranges.risks(length))
        for k, goal in enumerate(goals):
            self._said(k, len(goals))
            found = ranges.from_on(length, goal)
            if found is not None:
                self._said(k + 1, k + 1)
                self._goal = goal
                return found
        tried = f"of {', '.join(map(describe, goals))}, which were tried, " if goals else ""
        raise NotProvedError(
            f"no risk {tried}could be proved for prompts of {length} tokens; "
            "expected longer ones, another start, or more pieces"
        )

    def stated(self, covered: Covered) -> tuple[dict[str, Plain], dict[str, Plain]]:
        """What is asserted, and the witness."""
        assert self._goal is not None
        assert self._table is not None
        found = covered.ranges
        if not self._stated.known_at_the_start:
            self._require_falling(found[-1].range)
        until = self._time or max(each.range.time for each in found)
        asserts: dict[str, Plain] = {"risk": format_rational(self._goal), "time": format_rational(until)}
        distance = self._distance(found, until)
        if distance is not None:
            asserts["tube"] = format_rational(round_up(upper_rational(distance), _DIGITS))
        return asserts, {
            "spacing": format_rational(self._table.spacing),
            "reach": str(self._table.reach),
            "lengths": [str(x) for x in covered.lengths],
            "ranges": [_written(each.range) for each in found],
        }

    def _require_falling(self, last: Range) -> None:
        """Raises NotProvedError where the risk over infinite prompts may not tend to 0."""
        alone = self._stated.flow(None)
        *_, end = follow(alone, last.durations(last.time))
        if not end.is_proved or (2 * risk_bound(alone, end) < self._stated.covariance.trace()) is not True:
            raise NotProvedError(
                f"at t = {describe(last.time)} the risk over infinite prompts is not known to tend to 0, as 2R is not "
                "proved to be below tr Sigma; expected a smaller risk (--risk), which is reached later"
            )

    def _distance(self, found: list[Reached], until: fmpq) -> arb | None:
        """Of the runs up to the time; None where not all are followed so long."""
        alone, worst, beside = self._stated.flow(None), arb(0), dict[tuple[fmpq, ...], list[Piece]]()
        for each in found:
            more = each.range.more(until)
            if more.q != 1 or each.range.pieces + more > MOST_PIECES:
                return None
            durations = tuple(each.range.durations(until))
            if durations not in beside:
                beside[durations] = list(follow(alone, durations))
            pieces = follow(self._stated.flow(each.range.fit), durations)
            for one, other in zip(pieces, beside[durations], strict=False):
                if not one.is_proved or not other.is_proved:
                    return None
                worst = worst.max(one.apart(other, alone.counts))
        return worst


def _serves(table: WeightTable, path: FlowPath, shortest: int, longest: int) -> bool:
    """Whether a table for other lengths does as well as one of its own, which takes long to make."""
    first, *_, last = table.lengths
    near = path.reach <= table.reach <= _NEAR_REACH * path.reach
    return first <= shortest and longest <= last and table.spacing <= path.spacing and near


def _written(of: Range) -> dict[str, Plain]:
    until: dict[str, Plain] = {} if of.fit.last is None else {"until": str(of.fit.last)}
    later: dict[str, Plain] = {}
    if len(of.stages) > 1:
        later["later"] = {"time": format_rational(of.time), "pieces": str(of.stages[-1].pieces)}
    return {
        **until,
        "time": format_rational(of.stages[0].time),
        "pieces": str(of.stages[0].pieces),
        **later,
        "sums": _rows(of.fit.q.near, of.fit.q.share, of.fit.w.near, of.fit.w.share),
        "errors": _rows(of.fit.q.error, of.fit.w.error),
    }


def _rows(*sums: ExponentialSum) -> Plain:
    """A row for each rate, with the factor of each sum."""
    factors = [{rate: factor for factor, rate in each.terms} for each in sums]
    rates = sorted({rate for each in factors for rate in each}, reverse=True)
    return [[format_rational(x) for x in (rate, *(each.get(rate, fmpq(0)) for each in factors))] for rate in rates]


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
    Option("--risk", "The final risk; 0.1, or with a length about the smallest that is proved.", metavar="R"),
    Option("--time", "Until when the runs are followed; no longer than needed if left out.", metavar="T"),
    Option("--pieces", "Intervals into which that time is cut; as many as needed if left out.", int, "N"),
    to_plot("Draw the risk of both runs and its bounds."),
    inputs=_inputs,
    doubts=[long],
    progress="risks or lengths tried",
)
