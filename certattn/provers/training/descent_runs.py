"""Both descents at a precision that leaves every number sharp, and what is stated of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from flint import arb, arb_mat, fmpq

from certattn.kernel.decide.obligation import Tier
from certattn.kernel.decide.proof import AFTER_BINARY64
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import Binary64Error, NotProvedError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.training.context_losses import Trained
from certattn.kernel.theorems.training.descent_trajectory import REGRESSION, STEP, Descents, Pair, growth, tube_around
from certattn.provers.rounding import lower_rational, nearest, round_down, round_up, upper_rational

# Called with the steps that are done, of how many.
Said = Callable[[int, int], None]

# Bounds are stated with so many digits, those of the tube with fewer, and points with so many places.
_DIGITS = 4
_TUBE_DIGITS = 3
_POINT_PLACES = 13
# The iterates are to be known to 2^-60 in the end; the precision of the first run.
_KNOWN_BITS = 60
_FIRST_BITS = 128
_MOST_BITS = 2**16
# An iterate that is known no better has grown beyond bounds.
_LOST = fmpq(1, 2**16)
# Binary64 gives four digits of what is stated where the iterates are known so well.
_LOST_IN_DOUBLES = fmpq(1, 2**24)
# Tokens times steps, beyond which binary64 is tried first.
_MOST_IN_BALLS = 2**20
# Tubes that are tried, each by so much wider than what it has to hold.
_TRIES = 40
_ROOM = fmpq(33, 32)
# What the checker leaves to rounding where it compares bounds over a tube.
_SLACK = fmpq(1025, 1024)


@dataclass(frozen=True)
class Wanted:
    """What to state: gaps compared `at`, the checkpoints, and for how many steps the Gronwall bound; 0 for none."""

    at: str
    checkpoints: frozenset[int]
    gronwall: int
    said: Said | None = None


@dataclass
class Run:
    """Rows of stated bounds for k = 0, ..., and checkpoints; `lost` is the bits lost to rounding in the end."""

    setting: Descents
    wanted: Wanted
    bits: int
    tier: Tier | None = None
    bounds: dict[str, list[Plain]] = field(default_factory=lambda: {"distance": [], "risk_gap": [], "gradient_gap": []})
    checkpoints: list[Plain] = field(default_factory=list)
    early: list[Pair] = field(default_factory=list)
    lost: float = 0.0

    def note(self, pair: Pair, error: arb) -> None:
        """What is stated of a pair of iterates, whose weights are known so well."""
        at = self.wanted.at
        for name, value in (
            ("distance", pair.distance()),
            ("risk_gap", pair.risk_gap(at)),
            ("gradient_gap", pair.gradient_gap(at)),
        ):
            self.bounds[name].append(_up(value))
        if pair.k in self.wanted.checkpoints:
            self.checkpoints.append(self._checkpoint(pair, error))
        if pair.k < self.wanted.gronwall:
            self.early.append(pair)

    def _checkpoint(self, pair: Pair, error: arb) -> Plain:
        found: dict[str, Plain] = {"step": str(pair.k)}
        # The last place is a hundred times what the weights may be off.
        places = min(_POINT_PLACES, math.floor(-_log2(100 * error) / math.log2(10))) if error > 0 else _POINT_PLACES
        if pair.k > 0:
            found["distance"] = _range(pair.distance())
            found["finite"] = self._point(pair.finite.point, places)
            found["infinite"] = self._point(pair.infinite.point, places)
        found["finite_risk"] = _range(pair.finite.evaluation.risk)
        found["infinite_risk"] = _range(pair.infinite.evaluation.risk)
        return found

    def _point(self, point: Trained, places: int) -> dict[str, Plain]:
        """Decimals near the iterate, and a radius that holds it."""
        first, last = ("A", "b") if self.setting.model == REGRESSION else ("U", "V")
        U, V = _table(point.U, places), _table(point.V, places)
        numbers = len(point.entries())
        radius = round_up(upper_rational(arb(numbers).sqrt() * arb(fmpq(52, 100 * 10**places))), 1)
        b = _decimal(point.V[0, 0], places)
        return {first: U, last: b if self.setting.model == REGRESSION else V, "radius": format_rational(radius)}

    def asserts(self) -> dict[str, Plain]:
        """The section of the certificate."""
        at: dict[str, Plain] = {"at": self.wanted.at}
        found: dict[str, Plain] = {
            name: {**({} if name == "distance" else at), "at_most": bounds} for name, bounds in self.bounds.items()
        }
        found["checkpoints"] = self.checkpoints
        if self.wanted.gronwall > 0:
            with working_precision(self.bits):
                found["gronwall"] = _gronwall(self.early, self.setting)
        return found

    def bits_enough(self) -> int:
        """A precision for the checker, a multiple of 64; after binary64 the first one."""
        if self.tier is not None:
            return _FIRST_BITS
        return math.ceil((self.lost + _KNOWN_BITS) / 64) * 64


def find_run(setting: Descents, wanted: Wanted) -> Run:
    """The first run that leaves the iterates known well enough. Raises NotProvedError where none is found."""
    if wanted.gronwall == 0 and setting.prompts.tokens * setting.steps > _MOST_IN_BALLS:
        for tier in setting.prompts.tiers:
            with suppress(Binary64Error):
                run, _ = _run(setting, wanted, AFTER_BINARY64, tier)
                if run.lost < math.inf:
                    return run
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        run, lost_per_step = _run(setting, wanted, bits)
        if run.lost + _KNOWN_BITS <= bits:
            return run
        # At least half as much again, and what the bits lost so far foretell; fewer are lost where descent slows down.
        foretold = math.ceil(1.1 * lost_per_step * setting.steps) + 2 * _KNOWN_BITS
        bits = max(bits + bits // 2, min(4 * bits, foretold))
    raise NotProvedError("the iterates grow so fast that no precision encloses them: take smaller steps, or fewer")


def _run(setting: Descents, wanted: Wanted, bits: int, tier: Tier | None = None) -> tuple[Run, float]:
    """A run, cut short where an iterate is lost; and the bits that it lost in a step."""
    run = Run(setting, wanted, bits, tier=tier)
    lost = _LOST if tier is None else _LOST_IN_DOUBLES
    with working_precision(bits):
        k = -1
        for k, pair in enumerate(setting.pairs(setting.steps, tier)):
            error = pair.finite.point.error().max(pair.infinite.point.error())
            run.lost = max(run.lost, bits + _log2(error))
            if (error < lost) is not True:
                run.lost = math.inf
                return run, bits / max(k, 1)
            run.note(pair, error)
            if wanted.said is not None:
                wanted.said(k, setting.steps)
    if k < setting.steps:
        run.lost = math.inf
        return run, bits / max(k, 1)
    return run, run.lost / setting.steps


def _log2(error: arb) -> float:
    """About log2 of a radius, -inf for 0."""
    return float(error.log() / arb(2).log()) if (error > 0) is True else -math.inf


def _gronwall(early: list[Pair], setting: Descents) -> dict[str, Plain]:
    """The narrowest tube that is found to hold its own bound. Raises NotProvedError."""
    steps, step = len(early), setting.given[STEP]
    radius = fmpq(1, 10**9)
    for _ in range(_TRIES):
        tubes = [tube_around(pair, radius, arb(step)) for pair in early]
        gap, rate = arb(0), arb(fmpq(1, 10**6))
        for tube in tubes:
            gap, rate = gap.max(tube.gap), rate.max(tube.rate)
        if gap.is_finite() is not True or rate.is_finite() is not True:
            break
        g, nu = (round_up(upper_rational(value) * _SLACK, _TUBE_DIGITS) for value in (gap, rate))
        needed = round_up(upper_rational(growth(arb(g), arb(nu), arb(step), steps)), _TUBE_DIGITS)
        if needed <= radius:
            stated = {"radius": radius, "gap": g, "rate": nu}
            return {**{name: format_rational(value) for name, value in stated.items()}, "steps": str(steps)}
        radius = round_up(needed * _ROOM, _TUBE_DIGITS)
    raise NotProvedError(
        f"no tube around the infinite iterates holds its own Gronwall bound of {steps} steps: take fewer or smaller"
    )


def _up(value: arb) -> str:
    return format_rational(round_up(upper_rational(value), _DIGITS))


def _range(value: arb) -> dict[str, Plain]:
    low = lower_rational(value)
    found: dict[str, Plain] = {"at_least": format_rational(round_down(low, _DIGITS))} if low > 0 else {}
    return {**found, "at_most": _up(value)}


def _table(matrix: arb_mat, places: int) -> list[Plain]:
    return [[_decimal(entry, places) for entry in row] for row in matrix.tolist()]


def _decimal(entry: arb, places: int) -> str:
    return format_rational(nearest(entry, places))
