"""State the rate at which training in context converges, and to which Bayes point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.decide.obligation import Number as Side
from certattn.kernel.decide.proof import Answer, Outcome, Proof
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe, format_rational
from certattn.kernel.theorems.training.regression import Parameters, bayes_point, exact_regression, inverse
from certattn.kernel.theorems.training.shifted_risk import SHIFT
from certattn.kernel.theorems.training.training_convergence import (
    ASSERTS,
    THEOREM,
    DescentRates,
    FlowRates,
    StatedTraining,
    covariance_constants,
    obligations,
)
from certattn.provers.array_inputs import placed
from certattn.provers.commands import Argument, Command, Option, Yaml, to_plot
from certattn.provers.exact_inputs import Number, exact, exact_rational
from certattn.provers.output import Draft, require_place, text_rows
from certattn.provers.rounding import (
    last_place,
    lower_rational,
    nearest,
    precisions,
    round_down,
    round_up,
    upper_rational,
)
from certattn.provers.training.shifts import TEST_TIME, stated_shift
from certattn.provers.training.training_inputs import scaled_start
from certattn.provers.training.training_runs import FloatRun, Point, first_where
from certattn.statements.digits import show
from certattn.statements.training.training_convergence import WORDING

AUTO = "auto"
# Where `auto` begins, the rate is this part of the one at the limit.
GOAL = "0.9"
MOST_STEPS = 20_000
_DIGITS = 4
_PLACES = 15
_FIRST_BITS = 64
# The limit of larger problems is stated in numbers only where that is asked for.
_MOST_ROWS = 8
# What is asserted while it is not yet known.
_ANY: dict[str, Plain] = {"risk": "0", "rate": "1"}


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    begins: Number = "0",
    enclosed: Number | None = None,
    risks: Sequence[Number] = (),
    numbers: bool | None = None,
    most_steps: int = MOST_STEPS,
    shift: dict[str, Any] | None = None,
    note: str = "",
) -> Certificate:
    """Write a certificate of `training-convergence` to `out` and return it.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords: `covariance`, `start` and
        `training`. The start may be `alpha` and `P` for A = alpha P and b = alpha; `covariance` and `start.A` may be
        numpy arrays, which are written to a file beside the certificate.
    begins : exact number or "auto"
        The time or step from which the rate is stated, or "auto": where it is nine tenths of that at the limit.
    enclosed : exact number, optional
        Until when the run is enclosed step by step, at most `begins`, which it is if left out.
    risks : sequence of exact numbers
        Times or steps at which to bound R as well.
    numbers : bool, optional
        Whether to state the limit in numbers; if left out, for matrices up to 8 x 8.
    most_steps : int
        How far "auto" looks.
    shift : mapping, optional
        Covariances `tokens`, `query` or `tasks` at test time, where they are not those of training: exact numbers. The
        risk of the limit there is stated.
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
        The theorem does not apply.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784, section 5.
    Statement and proof: docs/claims/training/training-convergence.md.

    Examples
    --------
    >>> import certattn
    >>> start = {"A": [["3/5", 0], [0, "4/5"]], "b": 1}
    >>> certificate = certattn.generate(
    ...     "training-convergence", covariance=[[1, 0], [0, 1]], start=start, training={"rule": "flow"}
    ... )
    >>> float(certificate.numbers["rate"])
    0.9669
    """
    require_place(out)
    arrays, plain = _given(given)
    with placed(out, arrays, "auto") as references:
        _put(plain, references)
        draft = Draft(THEOREM, out, plain, note)
        finder = _Finder(draft, most_steps)
        wanted = finder.chosen(begins, enclosed)
        stated = [exact_rational(time, "risks") for time in risks]
        late = wanted.enclosed != wanted.begins
        witness: dict[str, Plain] = {"enclosed": format_rational(wanted.enclosed)} if late else {}
        asserts = finder.asserts(wanted, stated, numbers)
        if shift is not None:
            covariance, limit = finder.covariance, asserts["limit"]
            assert isinstance(limit, dict)
            limit[SHIFT.name] = stated_shift(draft, shift, covariance, inverse(covariance))
        return draft.write(asserts, witness)


def _given(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Plain]]:
    """Arrays by name, and the rest as certificates write it. Raises UsageError."""
    start = given.get("start")
    if isinstance(start, dict) and "alpha" in start:
        start = scaled_start(start)
    arrays = {}
    if isinstance(given.get("covariance"), np.ndarray):
        arrays["covariance"] = given["covariance"]
    if isinstance(start, dict) and isinstance(start.get("A"), np.ndarray):
        arrays["A"] = start["A"]
    kept = {key: value for key, value in given.items() if key not in ("start", *arrays)}
    plain = exact(kept, "given")
    assert isinstance(plain, dict)
    if start is not None:
        rest = {key: value for key, value in start.items() if key not in arrays} if isinstance(start, dict) else start
        plain["start"] = exact(rest, "given.start")
    return arrays, plain


def _put(plain: dict[str, Plain], references: dict[str, dict[str, Plain]]) -> None:
    """References to array files in the place of the arrays."""
    if "covariance" in references:
        plain["covariance"] = references["covariance"]
    if "A" in references:
        start = plain["start"]
        assert isinstance(start, dict)
        plain["start"] = {"A": references["A"], **start}


@dataclass(frozen=True)
class _Wanted:
    """From when on the rate is stated, and until when the run is enclosed."""

    begins: fmpq
    enclosed: fmpq


class _Finder:
    """Reads the task once; what is stated comes from the kernel's own enclosures."""

    def __init__(self, draft: Draft, most_steps: int) -> None:
        self._draft = draft
        self._problem = draft.read(THEOREM.read, _ANY)
        self._most_steps = most_steps

    @property
    def covariance(self) -> ExactMatrix:
        return self._problem.covariance

    # -- where to begin

    def chosen(self, begins: Number, enclosed: Number | None) -> _Wanted:
        """The times to use. Raises UsageError, NotProvedError."""
        time = self._good_start() if begins == AUTO else self._time(begins, "from")
        until = time if enclosed is None else self._time(enclosed, "enclosed")
        if until > time:
            raise UsageError(f"enclosed is {describe(until)}, expected at most {describe(time)}, where the rate begins")
        return _Wanted(time, until)

    def _time(self, value: Number, what: str) -> fmpq:
        time = exact_rational(value, what)
        if time < 0 or (self._problem.step is not None and time.q != 1):
            kind = "a number of steps" if self._problem.step is not None else "a time >= 0"
            raise UsageError(f"{what} is {describe(time)}, expected {kind}")
        return time

    def _good_start(self) -> fmpq:
        """Where the rate is about nine tenths of what it is at the limit. Raises NotProvedError."""
        with working_precision(_FIRST_BITS):
            constants = covariance_constants(self._problem.covariance)

            def good(point: Point) -> bool:
                rates, risk = self._rates(constants, point), arb(point.risk)
                if isinstance(rates, DescentRates) and (rates.step * rates.smoothness(risk) <= 1) is not True:
                    return False
                return (rates.rate(risk) >= arb(GOAL) * rates.rate(arb(0))) is True

            found = first_where(
                FloatRun(self._problem.covariance, self._problem.start, self._problem.step), good, self._most_steps
            )
        if found is None:
            gradient = exact_regression(self._problem.covariance).gradient(self._problem.start)
            if gradient.inner(gradient) == 0:
                raise NotProvedError("the gradient vanishes at the start, which training never leaves")
            shorter = ", or a shorter step: with this one descent may diverge" if self._problem.step is not None else ""
            raise NotProvedError(
                f"within {self._most_steps} steps the run does not reach a point where a good rate can be proved; "
                f"expected more of them (--most-steps), a time to begin at (--from){shorter}"
            )
        if self._problem.step is not None:
            return fmpq(int(found.time))
        time = fmpq(*found.time.as_integer_ratio())
        return round_up(time, 2)

    def _rates(self, constants: Any, point: Point) -> FlowRates | DescentRates:
        step = self._problem.step
        if step is None:
            return FlowRates(constants, arb(self._problem.start.invariant()))
        invariant = arb(float((point.A * point.A).sum()) - point.b**2)
        return DescentRates(constants, invariant, arb(step), arb(point.risk))

    # -- what to state

    def asserts(self, wanted: _Wanted, risks: list[fmpq], numbers: bool | None) -> dict[str, Plain]:
        """The section, every number rounded to the safe side. Raises NotProvedError."""
        size = self._problem.covariance.rows
        times = [format_rational(time) for time in risks]
        begins: dict[str, Plain] = {"from": format_rational(wanted.begins)} if wanted.begins != 0 else {}
        draft: dict[str, Plain] = {
            **begins,
            **_ANY,
            "length": "0",
            "limit": {"sign": "positive"},
            **({"risks": [{"at": time, "at_most": "0"} for time in times]} if times else {}),
        }
        found = self._proved(draft, wanted.enclosed)
        positive = (_ball(found["limit.sign"]) > 0) is True
        limit: dict[str, Plain] = {"sign": "positive" if positive else "negative"}
        if numbers if numbers is not None else size <= _MOST_ROWS:
            limit.update(self._limit(draft, wanted.enclosed, limit, positive))
        return {
            **begins,
            "risk": _up(found["risk"]),
            "rate": format_rational(round_down(lower_rational(_ball(found["rate"])), _DIGITS)),
            "length": _up(found["length"]),
            "limit": limit,
            **({"risks": [
                {"at": time, "at_most": _up(found[f"risks[{index}]"])} for index, time in enumerate(times)
            ]} if times else {}),
        }  # fmt: skip

    def _limit(
        self, draft: dict[str, Plain], enclosed: fmpq, sign: dict[str, Plain], positive: bool
    ) -> dict[str, Plain]:
        """The limit in decimals, and the radius; for descent bounds of the invariant as well."""
        limit: dict[str, Plain] = {}
        invariant = self._problem.start.invariant()
        if self._problem.step is not None:
            asked: dict[str, Plain] = {**sign, "invariant": {"lower": "0", "upper": "0"}}
            found = self._proved({**draft, "limit": asked}, enclosed)
            low = lower_rational(_ball(found["limit.invariant.lower"]))
            high = upper_rational(_ball(found["limit.invariant.upper"]))
            invariant = (low + high) / 2
            unit = last_place(max(high - low, fmpq(1, 10**_PLACES)), 2)
            bounds = (low / unit).floor() * unit, (high / unit).ceil() * unit
            limit["invariant"] = {"lower": format_rational(bounds[0]), "upper": format_rational(bounds[1])}
        point = self._bayes_point(invariant, positive)
        near: dict[str, Plain] = {"A": text_rows(point.A), "b": format_rational(point.b)}
        found = self._proved({**draft, "limit": {**sign, **near, "radius": "0"}}, enclosed)
        radius = round_up(upper_rational(_ball(found["limit.point"])), 2)
        return {**near, "radius": format_rational(radius), **limit}

    def _bayes_point(self, invariant: fmpq, positive: bool) -> Parameters:
        """The zero of R with this invariant and sign of b, in decimals."""
        with working_precision(4 * _FIRST_BITS):
            truth = bayes_point(self._problem.covariance, invariant, positive)
            table = [[nearest(entry, _PLACES) for entry in row] for row in truth.A.balls.tolist()]
            return Parameters(ExactMatrix.rational(table), nearest(truth.b, _PLACES))

    def _proved(self, asserts: dict[str, Plain], enclosed: fmpq) -> dict[str, Answer]:
        """The obligations, all of them enclosed, with the conditions proved. Raises NotProvedError."""
        stated = self._draft.read(lambda written: ASSERTS.read(written.asserts, written.reading), asserts)
        problem = replace(self._problem, asserts=stated, enclosed=enclosed)
        for bits in precisions(2 * _FIRST_BITS):
            proof = Proof(list(obligations(problem)))
            proof.ask(proof.obligations, bits)
            _require_conditions(problem, proof)
            if all(_narrow(name, answer) for name, answer in proof.answers.items()):
                return proof.answers
        raise NotProvedError("the run could not be enclosed at the default precision of a check")


def _require_conditions(problem: StatedTraining, proof: Proof) -> None:
    for name in ("inside", "step"):
        answer = proof.answers.get(name)
        if answer is None or answer.outcome is not Outcome.REFUTED:
            continue
        sentence, hint = WORDING.sentence(problem, name), "a start nearer to a Bayes point, or a later time to begin at"
        if answer.because:
            raise NotProvedError(f"{sentence}: {answer.because}")
        expected = "a shorter step, or a later one to begin at" if name == "step" else f"{hint} (--from auto)"
        relation = "<=" if name == "step" else "<"
        left, right = (show(_exact_or_ball(side)) for side in (answer.left, answer.right))
        raise NotProvedError(f"{sentence}: {left} {relation} {right} is false; expected {expected}")


def _narrow(name: str, answer: Answer) -> bool:
    """Whether the left side has some digits; the point that descent reaches is not known to many."""
    value = answer.left
    if not isinstance(value, arb) or value.is_finite() is not True:
        return isinstance(value, fmpq)
    return name == "limit.point" or (value.rad() * 10**8 <= abs(value) + arb(10) ** -30) is True


def _exact_or_ball(side: Side | None) -> arb | fmpq:
    assert isinstance(side, arb | fmpq)
    return side


def _ball(answer: Answer) -> arb:
    return arb(_exact_or_ball(answer.left))


def _up(answer: Answer) -> str:
    left = answer.left
    value = left if isinstance(left, fmpq) else upper_rational(_ball(answer))
    return format_rational(round_up(max(value, fmpq(0)), _DIGITS))


COMMAND = Command(
    Argument("TRAINING", Yaml("given")),
    Option(
        "--from",
        "The time or step from which to state the rate; auto: where it is nine tenths of the rate at the limit.",
        metavar="TIME",
        sets="begins",
    ),
    Option(
        "--enclosed",
        "The time until which the run is enclosed step by step; that of --from if left out.",
        metavar="TIME",
    ),
    Option("--risk-at", "A time or step at which to bound the risk.", metavar="TIME", sets="risks", many=True),
    Option("--numbers/--no-numbers", "State the limit in numbers; by default up to 8 x 8.", bool),
    Option("--most-steps", "How far --from auto looks.", int, "K"),
    TEST_TIME,
    to_plot("Draw the risk of the run and what is certified."),
)
