"""Bound how rarely the output over a random prompt is far from that over an infinite one.

Find what a certificate of `output-tail` states: the threshold, the probability or the length of the prompt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.proof import Outcome, Proof
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.ball_of_queries import BALL, BallOfQueries
from certattn.kernel.theorems.prompts.output_tail import THEOREM, read_given
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.provers.commands import Argument, Command, Option, Yaml, to_plot
from certattn.provers.doubts import long, rare
from certattn.provers.exact_inputs import Number, exact, exact_rational
from certattn.provers.output import Draft, require_place
from certattn.provers.prompts.heavy_scores import require_light_scores
from certattn.provers.prompts.options import (
    DIRECTION,
    LENGTH,
    LENGTHS,
    OF_LENGTHS,
    ONWARDS,
    PROBABILITY,
    THRESHOLD,
    left_out,
)
from certattn.provers.prompts.tail_goals import NORMS, Goal, goals_of, mean_square_goal, moment_goal, over_ball_goal
from certattn.provers.prompts.tail_inversion import inversion_of
from certattn.provers.prompts.tail_search import MOST_TOKENS, smallest_eps, smallest_length
from certattn.provers.rounding import as_float, round_down, round_up, upper_rational

AUTO, RULES, MEAN_SQUARE, MOMENT, INVERSION = METHODS = ("auto", "rules", "mean-square", "moment", "inversion")
_EPS_DIGITS, _DELTA_DIGITS = 4, 3
# If what floats suggest is not proved, it is weakened by a part in 4000, then by twice that, and so on.
_ATTEMPTS = 9
# The largest log E w^2 that the search in floats is for.
MOST_HEAVINESS = 600
_SLACK = fmpq(1, 4000)


_BITS = (DEFAULT_LIMITS.start_bits, 2 * DEFAULT_LIMITS.start_bits, 4 * DEFAULT_LIMITS.start_bits)
# A bound is known well enough to so many bits.
_ACCURATE = 12
# The smallest threshold that is sought; and stated where the probability is 0, for a certificate's is positive.
_LEAST = fmpq(1, 10**100)
# Where the probability is found, bounds at larger lengths may have a logarithm larger by this.
AIM = 0.05
# Stands where a draft has to have a probability.
_SOME = fmpq(1, 2)


@dataclass(frozen=True)
class Wanted:
    """The three numbers of a tail bound; at most one of them is None, to be found."""

    eps: fmpq | None
    delta: fmpq | None
    length: int | None
    onwards: bool = False

    def stated(self, length: int) -> Plain:
        """A length as certificates write it."""
        return {"at_least": str(length)} if self.onwards else str(length)


@dataclass(frozen=True)
class Found:
    """A bound with the numbers to state; delta None where it is still to be read off the proof."""

    goal: Goal
    eps: fmpq
    delta: fmpq | None


def generate(
    out: Path,
    *,
    given: dict[str, Any],
    directions: Sequence[Sequence[Number]] = (),
    norm: str | None = None,
    exceeds: Number | None = None,
    probability: Number | None = None,
    at_least: Number | None = None,
    length: int | str | None = None,
    lengths: str | None = None,
    method: str = AUTO,
    note: str = "",
) -> Certificate:
    """Write a certificate of `output-tail` to `out` and return it.

    It states `P(<u, T_L - T> > exceeds) <= probability` in each direction u, and
    `P(|T_L - T| > exceeds) <= probability` in a norm. Give at least two of the threshold, the
    probability and the length; the third is found, as small as the rules allow.

    Parameters
    ----------
    out : path-like
        Where to write it.
    given : mapping
        What the certificate is about; `certattn.generate` takes the fields as keywords, with or without `length`:
        `law`, `tilt` (or `query` with `U`, or with `K` and `Q`, and `scale`), `V`. With `queries` of a `centre` and
        a `radius` in place of `query` a norm is bounded at all queries of the ball.
    directions : sequence of vectors of exact numbers
        Directions u of outputs.
    norm : {"l2", "linf"}, optional
        The norm that is bounded.
    exceeds : exact number, optional
        The threshold eps that is exceeded rarely.
    probability : exact number, optional
        How rarely, above 0 and below 1.
    at_least : exact number, optional
        In place of `probability`: how often at the least, which says that a prompt is too short. Give it with the
        threshold, and the largest such length that is found is stated, or with the length. For directions and laws
        that "inversion" is for.
    length : int, optional
        The number of tokens, unless it stands in `given`.
    lengths : {"one", "onwards"}, optional
        "onwards" states it for every larger number of tokens too, "one" for this one alone. By default a length that is
        found is one from which on it holds, and one that is given stands for itself.
    method : {"auto", "rules", "mean-square", "moment", "inversion"}
        "rules", the sharpest for each direction; or "mean-square", for a norm, by its mean square where that is known
        exactly: less sharp for small probabilities, and fast in any dimension. For Gaussian tokens "moment", often
        sharper for a norm, above all in many dimensions, and for one length "inversion", the probability itself for
        directions. "auto" takes rules, and for a norm the sharper of rules and moments.
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
        No rule proves what is asked for.

    References
    ----------
    Boursier and Boyer (2026), *Softmax as Linear Attention in the Large-Prompt Regime*, arXiv:2512.11784. Statement and
    proof: docs/claims/prompts/output-tail.md.

    Examples
    --------
    >>> import certattn
    >>> law = {"kind": "gaussian", "mean": [0, 0], "covariance": [[1, 0], [0, 1]]}
    >>> certificate = certattn.generate(
    ...     "output-tail", law=law, tilt=[1, 0], directions=[[1, 0]], exceeds="0.3", probability="0.01"
    ... )
    >>> certificate.plain["given"]["length"]
    {'at_least': '835'}
    """
    require_place(out)
    section = exact(given, "given")
    if not isinstance(section, dict):
        raise UsageError("given is not a mapping; expected law, tilt, V as certificates write them")
    if at_least is not None:
        if probability is not None or norm is not None or lengths == ONWARDS:
            raise UsageError("at_least is for directions and one length, and stands in place of a probability")
        probability, method = at_least, INVERSION
    over_ball = BALL.name in section
    if over_ball and method != AUTO:
        raise UsageError(f"the method {method} is for one query; a ball of queries has a way of its own")
    if method == INVERSION:
        if lengths == ONWARDS:
            raise UsageError(f"the method {method} is for one length; expected --method rules for every longer prompt")
        lengths = LENGTHS[0]
    wanted = wanted_numbers(section, exceeds, probability, length, lengths)
    draft = Draft(THEOREM, out, {**section, "length": wanted.stated(wanted.length or 1)}, note)
    prompt = draft.read(read_given)
    require_light_scores(prompt, MOST_HEAVINESS)
    goals = _goals(prompt, exact(directions, "directions"), norm, method)
    if at_least is not None:
        return _from_below(draft, section, goals, wanted)
    # Moments of a norm are often sharper than rules, in many dimensions above all, and from one length on.
    other = _moments(prompt, norm) if method == AUTO and norm is not None and not over_ball else None
    if other is None:
        return _stated(draft, section, [[goal] for goal in goals], wanted)
    try:
        return _stated(draft, section, [[other, goal] if goal.norm else [goal] for goal in goals], wanted)
    except NotProvedError:
        # Where numbers are extreme, what rules seem to give in doubles may be out of the kernel's reach.
        return _stated(draft, section, [[other] if goal.norm else [goal] for goal in goals], wanted)


# -- what is wanted


def _goals(prompt: RandomPrompt, directions: Plain, norm: str | None, method: str) -> list[Goal]:
    """What is to be bounded, and how. Raises UsageError."""
    if method not in METHODS:
        raise UsageError(f"method is {method!r}, expected {' or '.join(METHODS)}")
    if isinstance(prompt, BallOfQueries):
        return [over_ball_goal(prompt, directions, norm)]
    if method in (AUTO, RULES):
        return goals_of(prompt, directions, norm)
    if method == INVERSION:
        if norm is not None:
            raise UsageError("the method inversion is for directions; a norm has rules, or the method moment")
        return goals_of(prompt, directions, None, inversion_of)
    if directions:
        raise UsageError(f"the method {method} is for a norm; directions have rules")
    return [(mean_square_goal if method == MEAN_SQUARE else moment_goal)(prompt, norm)]


def _moments(prompt: RandomPrompt, norm: str) -> Goal | None:
    """The norm by its moments, or None for laws without."""
    try:
        return moment_goal(prompt, norm)
    except UsageError:
        return None


def wanted_numbers(
    section: dict[str, Plain], exceeds: Any, probability: Any, length: Any, lengths: str | None = None
) -> Wanted:
    """The three numbers, checked. Raises UsageError."""
    if lengths not in (None, *LENGTHS):
        raise UsageError(f"lengths is {lengths!r}, expected {' or '.join(LENGTHS)}")
    if length is not None and "length" in section:
        raise UsageError("the length is given twice: in the law's file and as an option")
    eps = None if exceeds is None else exact_rational(exceeds, "exceeds")
    delta = None if probability is None else exact_rational(probability, "probability")
    count = section.get("length") if length is None else length
    from_there = isinstance(count, dict) and list(count) == ["at_least"]
    if isinstance(count, dict) and from_there:
        count = count["at_least"]
    tokens = None if count is None else exact_rational(count, "length")
    if [eps, delta, tokens].count(None) > 1:
        raise UsageError("expected two of exceeds, probability and length; the third is found")
    if eps is not None and not _LEAST <= eps <= 1 / _LEAST:
        raise UsageError(f"exceeds is {describe(eps)}, expected a positive number from 1e-100 to 1e100")
    if delta is not None and not 0 < delta < 1:
        raise UsageError(f"probability is {describe(delta)}, expected a number above 0 and below 1")
    if tokens is not None and not (tokens.q == 1 and 1 <= tokens <= MOST_TOKENS):
        raise UsageError(f"length is {describe(tokens)}, expected a whole number from 1 to {MOST_TOKENS:.0e}")
    onwards = from_there or tokens is None if lengths is None else lengths == ONWARDS
    return Wanted(eps, delta, None if tokens is None else int(tokens.p), onwards)


# -- the search


def _stated(draft: Draft, section: dict[str, Plain], ways: list[list[Goal]], wanted: Wanted) -> Certificate:
    """The certificate with what is found, once the kernel has proved it; `ways` are goals that prove the same.

    Raises NotProvedError.
    """
    if wanted.length is None:
        assert wanted.eps is not None
        solved = [_shortest(goals, wanted) for goals in ways]
        length = max(count for _, count in solved)
        parts = [Found(goal, wanted.eps, wanted.delta) for goal, _ in solved]
    else:
        length = wanted.length
        parts = [_sharpest(goals, wanted, length) for goals in ways]
    slack = _SLACK
    for _ in range(_ATTEMPTS):
        draft = draft.about({**section, "length": wanted.stated(length)})
        composed = _composed(parts, length, wanted)
        bounds = _bounds(draft.read(THEOREM.read, *composed), wanted.delta is not None)
        if wanted.delta is None:
            asserts, _ = _composed(_read_off(parts, bounds), length, replace(wanted, onwards=False))
            return draft.write(asserts, composed[1])
        missed = [bound > wanted.delta for bound in bounds]
        if not any(missed):
            return draft.write(*composed)
        if wanted.eps is None:
            parts = [_raised(part, slack) if over else part for part, over in zip(parts, missed, strict=True)]
        elif wanted.length is None:
            length = int((length * (1 + slack)).ceil())
        else:
            raise NotProvedError(_too_small(parts, bounds, wanted.delta))
        slack *= 2
    raise NotProvedError("what the search found could not be proved: the numbers are too extreme")


def _from_below(draft: Draft, section: dict[str, Plain], goals: list[Goal], wanted: Wanted) -> Certificate:
    """The same with probabilities from below: the largest length or threshold that is found, proved by the kernel."""
    assert wanted.delta is not None
    length = wanted.length or min(_solve_length(goal, wanted)[1] for goal in goals) - 1
    parts = [
        Found(goal, wanted.eps, wanted.delta) if wanted.eps is not None else _solve_at(goal, wanted, length)
        for goal in goals
    ]
    slack = _SLACK
    for _ in range(_ATTEMPTS):
        if length < 1:
            raise NotProvedError("the probability is smaller than that even for one token, as far as is proved")
        draft = draft.about({**section, "length": str(length)})
        asserts, witness = _composed(parts, length, wanted)
        for item in _directions_of(asserts):
            item["at_least"] = item.pop("probability")
        obligations = list(THEOREM.obligations(draft.read(THEOREM.read, asserts, witness)))
        proof = Proof(obligations)
        proof.ask([one.name for one in obligations], _BITS[0])
        missed = [proof.answers[one.name].outcome is not Outcome.PROVED for one in obligations]
        if not any(missed):
            return draft.write(asserts, witness)
        if wanted.eps is None:
            lowered = [replace(part, eps=round_down(part.eps * (1 - slack), _EPS_DIGITS)) for part in parts]
            parts = [low if over else part for low, part, over in zip(lowered, parts, missed, strict=True)]
        elif wanted.length is None:
            length = int((length * (1 - slack)).floor())
        else:
            raise NotProvedError(
                f"that the probability is at least {describe(wanted.delta)} could not be proved: expected a smaller "
                "one, or a shorter prompt (without a length, one that is short enough is found)"
            )
        slack *= 2
    raise NotProvedError("what the search found could not be proved: the numbers are too extreme")


def _directions_of(asserts: dict[str, Plain]) -> list[dict[str, Plain]]:
    found: Any = asserts["directions"]
    return list(found)


def _shortest(goals: list[Goal], wanted: Wanted) -> tuple[Goal, int]:
    """The goal of the smallest length; a later one only where it does as well as the best before."""
    found: list[tuple[Goal, int]] = []
    reasons = []
    for goal in goals:
        try:
            found.append(_solve_length(goal, wanted, found[-1][1] if found else None))
        except NotProvedError as reason:
            reasons.append(reason)
    if not found:
        raise reasons[0]
    return found[-1]


def _sharpest(goals: list[Goal], wanted: Wanted, length: int) -> Found:
    """The smallest threshold or probability at that length."""
    solved, reasons = [], []
    for goal in goals:
        try:
            solved.append(_solve_at(goal, wanted, length))
        except NotProvedError as reason:
            reasons.append(reason)
    if not solved:
        raise reasons[-1]
    if wanted.eps is None:
        return min(solved, key=lambda part: part.eps)
    return min(solved, key=lambda part: part.goal.target.log_bound(as_float(part.eps), float(length)))


def _solve_length(goal: Goal, wanted: Wanted, most: int | None = None) -> tuple[Goal, int]:
    """The smallest length for a threshold and a probability, up to the most if that is stated."""
    assert wanted.eps is not None
    assert wanted.delta is not None
    eps, log_delta = as_float(wanted.eps), _log(wanted.delta)
    bounds = {} if most is None else {"start": float(most), "most": float(most)}
    goal = goal if most is None else goal.tuned(eps, float(most))
    length = smallest_length(lambda count: goal.target.log_bound(eps, count), log_delta, **bounds)
    tuned = goal.tuned(eps, float(length))
    if tuned is goal:
        return goal, length
    shorter = smallest_length(lambda count: tuned.target.log_bound(eps, count), log_delta, float(length))
    return min([(tuned, shorter), (goal, length)], key=lambda found: found[1])


def _solve_at(goal: Goal, wanted: Wanted, length: int) -> Found:
    """The smallest threshold for a probability at that length, or rules for a given threshold."""
    if wanted.eps is not None:
        return Found(goal.tuned(as_float(wanted.eps), float(length)), wanted.eps, wanted.delta)
    assert wanted.delta is not None
    log_delta, unit = _log(wanted.delta), goal.target.deviation / math.sqrt(length)
    if unit == 0:
        raise UsageError(f"{goal.words} the output is the same for every prompt: it exceeds no threshold")
    eps = smallest_eps(lambda threshold: goal.target.log_bound(threshold, float(length)), log_delta, 3 * unit)
    tuned = goal.tuned(eps, float(length))
    if tuned is not goal:
        eps = smallest_eps(lambda threshold: tuned.target.log_bound(threshold, float(length)), log_delta, eps)
    return Found(tuned, round_up(fmpq(*eps.as_integer_ratio()), _EPS_DIGITS), wanted.delta)


def _raised(part: Found, slack: fmpq) -> Found:
    return replace(part, eps=round_up(part.eps * (1 + slack), _EPS_DIGITS))


def _read_off(parts: list[Found], bounds: list[fmpq]) -> list[Found]:
    """Probabilities as proved, rounded up. Raises NotProvedError where they say nothing."""
    found = []
    for part, bound in zip(parts, bounds, strict=True):
        delta = round_up(bound, _DELTA_DIGITS) if bound > 0 else _LEAST
        if not delta < 1:
            raise NotProvedError(
                f"{part.goal.words} no rule proves a probability below 1 for exceeding {describe(part.eps)}: "
                "expected a larger threshold, or a longer prompt"
            )
        found.append(replace(part, delta=delta))
    return found


def _too_small(parts: list[Found], bounds: list[fmpq], delta: fmpq) -> str:
    part, bound = max(zip(parts, bounds, strict=True), key=lambda pair: pair[1])
    shown = describe(round_up(bound, _DELTA_DIGITS))
    return (
        f"probability {describe(delta)} could not be proved {part.goal.words}: the best bound that the rules give is "
        f"{shown} (the probability itself may be smaller; without a length, one that is long enough is found)"
    )


# -- drafts and proofs


def _composed(parts: list[Found], length: int, wanted: Wanted) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """What states these parts, and its witness."""

    def witness_of(part: Found) -> dict[str, Plain]:
        return part.goal.witness(part.eps, length, _aim(part, length) if wanted.onwards else None)

    asserts: dict[str, Plain] = {}
    witness: dict[str, Plain] = {}
    along = [part for part in parts if part.goal.direction is not None]
    if along:
        asserts["directions"] = [part.goal.assertion(part.eps, part.delta or _SOME) for part in along]
        witness["directions"] = [witness_of(part) for part in along]
    for part in parts:
        if part.goal.direction is None:
            asserts["norm"] = part.goal.assertion(part.eps, part.delta or _SOME)
            witness["norm"] = witness_of(part)
    return asserts, witness


def _aim(part: Found, length: int) -> float:
    """The logarithm of what bounds at larger lengths have to keep to: delta, or what is proved of this one."""
    if part.delta is not None:
        return _log(part.delta)
    return part.goal.target.log_bound(as_float(part.eps), float(length)) + AIM


def _bounds(stated: Any, settled: bool) -> list[fmpq]:
    """The probability that the kernel proves for each part, from above; if `settled`, against what is stated."""
    obligations = list(THEOREM.obligations(stated))
    found = []
    # Beside the parts there are conditions of their proofs, which have longer names.
    for name in (one.name for one in obligations if "." not in one.name):
        bound = arb.nan()
        for bits in _BITS:
            proof = Proof(obligations)
            proof.ask([name], bits)
            answer = proof.answers[name]
            bound = answer.left if isinstance(answer.left, arb) else arb.nan()
            if answer.outcome is not Outcome.UNDECIDED and (settled or bound.rel_accuracy_bits() >= _ACCURATE):
                break
        found.append(upper_rational(bound))
    return found


def _log(value: fmpq) -> float:
    return float(arb(value).log())


def _inputs(options: dict[str, Any]) -> dict[str, Any]:
    """The options, which describe one picture if one is wanted. Raises UsageError."""
    if options["plot"] is not None:
        if len(options["directions"]) + (options["norm"] is not None) != 1:
            raise UsageError("--plot shows one direction or one norm")
        if options["method"] not in (AUTO, RULES):
            raise UsageError("--plot shows bounds by rules; expected --method rules")
    return options


def _finding(certificate: Certificate, inputs: Mapping[str, Any]) -> str:
    """What was found, in a sentence; "" where nothing was to be found."""
    plain: Any = certificate.plain
    parts = [*plain["asserts"].get("directions", []), *filter(None, [plain["asserts"].get("norm")])]
    words = {"exceeds": "threshold", "probability": "probability"}
    below = inputs.get("at_least") is not None
    found = next((name for name in left_out(inputs) if not (below and name == "probability")), "")
    size = "largest" if below else "smallest"
    if found == "length":
        length = plain["given"]["length"]
        if isinstance(length, dict):
            return f"smallest length found: {length['at_least']} tokens, and every longer prompt"
        return f"{size} length found: {length} tokens"
    return f"{size} {words[found]} found: {', '.join(part[found] for part in parts)}" if found else ""


COMMAND = Command(
    Argument("LAW", Yaml("given")),
    DIRECTION,
    Option("--norm", "Bound a norm of the deviation.", NORMS),
    THRESHOLD,
    PROBABILITY,
    Option("--at-least", "How often at the least, in place of --probability: a prompt is too short.", metavar="DELTA"),
    LENGTH,
    OF_LENGTHS,
    Option(
        "--method",
        "auto takes rules, and for a norm moments where they are sharper. mean-square bounds a norm "
        "of Gaussian tokens, atoms, signs and mixtures of these two by Markov's inequality: fast, and less sharp. "
        "Gaussian tokens: moment is often sharper for a "
        "norm, inversion is the probability itself in a direction, of one length.",
        METHODS,
    ),
    to_plot("Draw the bound against the length."),
    inputs=_inputs,
    finding=_finding,
    doubts=[rare, long],
)
