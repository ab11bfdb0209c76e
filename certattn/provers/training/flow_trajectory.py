"""State where the gradient flow of training in context is at given times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.proof import Proof
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import l2_norm, working_precision
from certattn.kernel.mathematics.enclosure import around
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.mathematics.validated_flow import MOST_STEPS, integrate, steps
from certattn.kernel.theorems.training.flow_trajectory import (
    GIVEN,
    LEAST_ORDER,
    MOST_ORDER,
    THEOREM,
    is_at_rest,
    obligations,
    taylor_order,
)
from certattn.kernel.theorems.training.regression import Parameters, balls_around, bayes_point, flat, read_task
from certattn.kernel.theorems.training.regression_flow import RegressionFlow
from certattn.provers.commands import Argument, Command, Option, Yaml, entries, to_plot
from certattn.provers.exact_inputs import Number, exact, exact_rational, positive, require_within
from certattn.provers.output import Draft
from certattn.provers.rounding import (
    last_place,
    lower_rational,
    midpoint,
    round_down,
    round_nearest,
    round_up,
    upper_rational,
)
from certattn.provers.training.training_inputs import scaled_start

RADIUS = "1e-20"
# Precisions to try: the first whose enclosures are far narrower than the radius.
_BITS = (64, 96, 128, 160, 192, 256, 384, 512, 1024)
_SHARP = 2**4
_RISK_DIGITS, _DISTANCE_DIGITS = 6, 3
# Obligations about where the points are: all others are of bounds, which are rounded to the safe side.
_PLACES = (".invariant", ".distance")

Asserted = dict[str, Plain]


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    times: Sequence[Number] = (),
    within: Number | None = None,
    points: int = 1,
    radius: Number = RADIUS,
    tube: bool = False,
    order: int | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `flow-trajectory` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `covariance` and `start`. The
        start may be `alpha` and `P` for A = alpha P and b = alpha. `training: {rule: flow}` may stand there, too.
    times : sequence of exact numbers
        When to state where the flow is.
    within : exact number, optional
        Instead, until the flow is so near to the zero of R with the same invariant and sign of b.
    points : int
        With one time T or `within`: at so many times T (k / points)^2, denser where the flow is fast.
    radius : exact number
        What is stated is so near to the truth.
    tube : bool
        Whether to bound the distance from the straight lines between the points as well.
    order : int, optional
        Of the Taylor polynomials; chosen by the checker if left out.
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
        The flow could not be enclosed.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, section 4.
    Statement and proof: docs/claims/training/flow-trajectory.md.

    Examples
    --------
    >>> import certattn, numpy as np
    >>> start = {"A": [["3/10", 0], [0, "2/5"]], "b": "1/2"}
    >>> certificate = certattn.generate("flow-trajectory", covariance=np.eye(2), start=start, times=[1])
    >>> float(certificate.numbers["points[0].b"])
    1.0513017172461445
    """
    if order is not None:
        require_within(LEAST_ORDER, MOST_ORDER, order, "order")
    draft = Draft(THEOREM, out, _given(given), note)
    task = draft.read(lambda written: read_task(GIVEN.read(written.given, written.reading)))
    setting = _Setting(draft, *task, order or 0)
    stated_radius = positive(radius, "radius")
    points_found, bits = _stated(setting, _times(setting, times, within, points), stated_radius, tube)
    asserts: Asserted = {"points": points_found}
    witness: Asserted = {"bits": str(bits), **setting.stated_order}
    return draft.write(asserts, witness)


def _given(given: dict[str, Any]) -> Plain:
    """As certificates write it; a file about training by the flow says the same. Raises UsageError."""
    if given.get("training", {"rule": "flow"}) != {"rule": "flow"}:
        raise UsageError("training is not by the flow; expected training: {rule: flow}, or none")
    kept = {key: value for key, value in given.items() if key != "training"}
    start = kept.get("start")
    if isinstance(start, dict) and "alpha" in start:
        kept["start"] = scaled_start(start)
    return exact(kept, "given")


# -- when


def _times(setting: _Setting, times: Sequence[Number], within: Number | None, points: int) -> list[fmpq]:
    """The times to state, in their order. Raises UsageError, NotProvedError."""
    if not times and within is None:
        raise UsageError("no time; expected --time, once or more, or the distance from a zero of R to go to (--within)")
    if times and within is not None:
        raise UsageError("both times and a distance from a zero of R are given; expected either --time or --within")
    if points < 1:
        raise UsageError(f"points is {points}, expected at least 1")
    if within is not None:
        chosen = [_arrival(setting, positive(within, "within"))]
    else:
        chosen = sorted(exact_rational(time, "times") for time in times)
        for earlier, later in pairwise(chosen):
            if earlier == later:
                raise UsageError(f"the time {describe(later)} is there twice; expected each time once (--time)")
    if chosen[0] <= 0:
        raise UsageError(f"a time is {describe(chosen[0])}, expected times > 0")
    if points > 1 and len(chosen) > 1:
        raise UsageError(f"{len(chosen)} times and points = {points}: expected one time to divide, or points = 1")
    return [chosen[0] * fmpq(k * k, points * points) for k in range(1, points + 1)] if points > 1 else chosen


def _arrival(setting: _Setting, within: fmpq) -> fmpq:
    """When the flow is so near to the zero of R that it goes to, about. Raises UsageError, NotProvedError."""
    if is_at_rest(setting.covariance, setting.start):
        raise UsageError("the flow rests at its start: b = 0 and tr(A'Sigma^2) = 0; expected another start")
    bits = _BITS[1]
    with working_precision(bits):
        field = RegressionFlow(setting.covariance)
        start = around(flat(balls_around(setting.start)))
        ends = {sign: flat(bayes_point(setting.covariance, setting.start.invariant(), sign)) for sign in (True, False)}
        count = 0
        for count, step in enumerate(steps(field, start, fmpq(MOST_STEPS) ** 2, taylor_order(setting.order, bits))):
            end = ends[(step.end.centre[-1] > 0) is True]
            gap = l2_norm([x - y for x, y in zip(step.end.centre, end, strict=True)])
            if (gap + step.end.error <= within) is True:
                return round_up(step.last, 3)
            if count == MOST_STEPS:
                break
    why = f"in {MOST_STEPS} steps" if count == MOST_STEPS else f"as far as it is enclosed with {bits} bits"
    raise NotProvedError(
        f"{why} the flow does not come within {describe(within)} of a zero of R; "
        f"expected a larger distance (--within), or a time (--time){_other_order(setting)}"
    )


def _other_order(setting: _Setting) -> str:
    """What else to do where the order was asked for: a low one takes many steps."""
    return "" if setting.order == 0 else f", or a higher order than {setting.order}, or none (--order)"


# -- what


def _stated(setting: _Setting, times: list[fmpq], radius: fmpq, tube: bool) -> tuple[list[Plain], int]:
    """Points with all bounds, rounded to the safe side, and the precision. Raises NotProvedError."""
    for bits in _BITS:
        # An enclosure is no narrower than the last place of a number of about 1.
        if fmpq(_SHARP, 2**bits) >= radius and bits != _BITS[-1]:
            continue
        with working_precision(bits):
            points = _located(setting, times, radius, bits)
            if points is not None:
                return _bounded(setting, points, bits, tube), bits
    raise NotProvedError(
        f"the flow is not enclosed as narrowly as {describe(radius)} up to t = {describe(times[-1])} with "
        f"{_BITS[-1]} bits and {MOST_STEPS} steps; expected an earlier time (--time) or a larger radius (--radius)"
        f"{_other_order(setting)}"
    )


def _located(setting: _Setting, times: list[fmpq], radius: fmpq, bits: int) -> list[Asserted] | None:
    """The points in decimals; None where their enclosures are too wide."""
    start = around(flat(balls_around(setting.start)))
    found = integrate(RegressionFlow(setting.covariance), start, times, taylor_order(setting.order, bits)).found
    size = setting.covariance.rows
    # So many numbers, each rounded by half a unit, are at a distance of less than the radius.
    unit = last_place(radius / (size + 1), 1)
    points: list[Asserted] = []
    for time in times:
        if time not in found or (found[time].error * _SHARP < radius) is not True:
            return None
        *entries, b = [format_rational(round_nearest(midpoint(entry), unit)) for entry in found[time].centre]
        A: list[Plain] = [list[Plain](entries[i * size : (i + 1) * size]) for i in range(size)]
        points.append({"time": format_rational(time), "A": A, "b": b, "radius": format_rational(radius)})
    return points


def _bounded(setting: _Setting, points: list[Asserted], bits: int, tube: bool) -> list[Plain]:
    """With bounds of the risk at all points, of the distance from the Bayes point at the last, and tubes."""
    moves = not is_at_rest(setting.covariance, setting.start)
    zero: Asserted = {"risk": {"lower": "0", "upper": "0"}, **({"tube": "0"} if tube else {})}
    last: Asserted = {"bayes": "0"} if moves else {}
    asked: list[Plain] = [{**point, **zero, **(last if point is points[-1] else {})} for point in points]
    sides = setting.sides(asked, bits)
    found: list[Plain] = []
    for index, point in enumerate(points):
        place = f"points[{index}]"
        risk = max(lower_rational(sides.ball(f"{place}.risk.lower")), fmpq(0))
        bounds: Asserted = {
            "lower": format_rational(round_down(risk, _RISK_DIGITS)),
            "upper": sides.above(f"{place}.risk.upper", _RISK_DIGITS),
        }
        others = [*(["bayes"] if moves and point is points[-1] else []), *(["tube"] if tube else [])]
        distances: Asserted = {name: sides.above(f"{place}.{name}", _DISTANCE_DIGITS) for name in others}
        found.append({**point, "risk": bounds, **distances})
    return found


@dataclass(frozen=True)
class _Sides:
    """The left sides of obligations, by name: what is stated beyond them is proved by the same enclosures."""

    found: dict[str, Any]

    def ball(self, name: str) -> arb:
        return arb(self.found[name])

    def above(self, name: str, digits: int) -> str:
        """A decimal that is at least as large."""
        return format_rational(round_up(max(upper_rational(self.ball(name)), fmpq(0)), digits))


@dataclass(frozen=True)
class _Setting:
    """The task, from the draft of a certificate, and the order that was asked for, or 0."""

    draft: Draft
    covariance: ExactMatrix
    start: Parameters
    order: int

    @property
    def stated_order(self) -> Asserted:
        return {"order": str(self.order)} if self.order else {}

    def sides(self, points: list[Plain], bits: int) -> _Sides:
        """What the checker compares with bounds of these points. Raises NotProvedError for where they are."""
        stated = self.draft.read(THEOREM.read, {"points": points}, self.stated_order)
        proof = Proof(list(obligations(stated)))
        proof.ask(proof.obligations, bits)
        sides: dict[str, tuple[Any, Any]] = {name: (each.left, each.right) for name, each in proof.answers.items()}
        for name, (left, right) in sides.items():
            if name.endswith(_PLACES) and (arb(left) <= arb(right)) is not True:
                raise NotProvedError(f"{name} is not proved; expected a larger radius (--radius)")
        return _Sides({name: left for name, (left, _) in sides.items()})


def _entry(text: str) -> tuple[int, int] | None:
    """The row and column of an entry of A, counted from 0; None for the norm. Raises UsageError."""
    parts = entries(text)
    if text == "norm":
        return None
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(f"--across {text!r}: expected norm, or a row and a column counted from 0, such as '0, 1'")
    return int(parts[0]), int(parts[1])


COMMAND = Command(
    Argument("FLOW", Yaml("given")),
    Option("--time", "A time at which to state where the flow is.", metavar="T", sets="times", many=True),
    Option(
        "--within",
        "Instead of --time: until it is this near to the zero of R with the same |A|_F^2 - b^2 and sign of b.",
        metavar="DISTANCE",
    ),
    Option("--points", "At N times up to then, T (k/N)^2 for k = 1 to N.", int, "N"),
    Option("--radius", "How far the stated point may be off."),
    Option("--tube", "Bound the distance from straight lines between the points as well.", bool),
    Option("--order", "Order of the Taylor polynomials; chosen if left out.", int, "N"),
    to_plot("Draw what is certified about the path and the risk."),
    Option(
        "--across",
        "With --plot: the entry of A to draw, or norm.",
        metavar="'I, J'",
        sets="entry",
        default="0, 0",
        parse=_entry,
        picture=True,
    ),
)
