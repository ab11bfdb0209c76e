"""Upper bounds of the deviations of listed queries, sharp to the digits that are stated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flint import arb, fmpq

from certattn.kernel.errors import Binary64Error, NotProvedError, UsageError
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.theorems.attention.output_deviation import AssertedDeviation
from certattn.provers.attention.long_runs import Said, in_parts, notes_beside
from certattn.provers.rounding import round_up, upper_rational

DIGITS = 6
# Every obligation gets slack of at least this many bits at the precision of the first try.
BITS = (64, 128, 256, 512, 1024)
# Products of queries, tokens and columns in one part of a long run: about a quarter of a minute of work.
_PART = 2**34
# Numbers of a prompt that Arb can hold in memory.
_MOST_FOR_ARB = 2**25


def upper_bounds(
    problem: AssertedDeviation, out: Path, task: str, arithmetic: str, said: Said = lambda done, parts, left: None
) -> tuple[list[fmpq], int]:
    """An upper bound for each query, and the bits of Arb's precision that it takes to prove them.

    Work that takes long is done in parts and noted beside `out`: begun again with the same `task`, it
    goes on where it was.
    """
    prompt = problem.prompt
    columns = prompt.inputs[0].shape[1] + prompt.output_dimension
    size = max(1, _PART // (prompt.length * columns))
    rows = range(problem.count)
    if size >= len(rows):
        return _bounds(problem, rows, arithmetic)
    with notes_beside(out, f"{task}\n{arithmetic}") as notes:

        def work(part: Sequence[int]) -> list[str]:
            bounds, bits = _bounds(problem, part, arithmetic)
            return [f"{bits} {bound}" for bound in bounds]

        found = [line.split() for line in in_parts(rows, size, work, notes, said)]
    return [fmpq(*map(int, bound.split("/"))) for _, bound in found], max(int(bits) for bits, _ in found)


def _bounds(problem: AssertedDeviation, rows: Sequence[int], arithmetic: str) -> tuple[list[fmpq], int]:
    """Upper bounds: by binary64 where its balls settle the digits, by Arb for the rest."""
    found: dict[int, fmpq] = {}
    if arithmetic != "arb" and problem.tiers:
        try:
            found = _binary64_bounds(problem, rows, every=arithmetic == "binary64" or not _within_arb(problem))
        except Binary64Error:
            if arithmetic == "binary64":
                raise
    elif arithmetic == "binary64":
        raise UsageError("binary64 needs a prompt in array files whose numbers are doubles")
    rest = [row for row in rows if row not in found]
    bits = BITS[0]
    if rest:
        bounds, bits = arb_bounds(problem, rest)
        found |= zip(rest, bounds, strict=True)
    return [found[row] for row in rows], bits


def _binary64_bounds(problem: AssertedDeviation, rows: Sequence[int], *, every: bool) -> dict[int, fmpq]:
    """Upper bounds from binary64, of every row or of those whose stated digits do not depend on the radius."""
    found = {}
    for row, (ball, _) in zip(rows, problem.compared_in_binary64(rows), strict=True):
        if every or _is_settled(ball):
            found[row] = upper_rational(ball)
    return found


def _is_settled(ball: arb) -> bool:
    if ball.is_finite() is not True or (ball > 0) is not True:
        return False
    lowest = -upper_rational(-ball)
    return lowest > 0 and round_up(lowest, DIGITS) == round_up(upper_rational(ball), DIGITS)


def _within_arb(problem: AssertedDeviation) -> bool:
    """Whether Arb can hold the prompt."""
    prompt = problem.prompt
    return prompt.length * (prompt.inputs[0].shape[1] + prompt.output_dimension) <= _MOST_FOR_ARB


def arb_bounds(problem: AssertedDeviation, rows: Sequence[int]) -> tuple[list[fmpq], int]:
    """Upper bounds by Arb at the first precision that is sharp, and that precision."""
    for bits in BITS:
        with working_precision(bits):
            deviations = [deviation for deviation, _ in problem.compared(rows)]
            if all(map(sharp, deviations)):
                break
    return [upper_rational(deviation) for deviation in deviations], bits


def sharp(deviation: arb) -> bool:
    """Whether the ball's radius is far below the printed digits, or the deviation is about nothing."""
    return deviation.is_finite() and (deviation.rel_accuracy_bits() > 4 * DIGITS or deviation < arb(2) ** -200)


def relative_bounds(problem: AssertedDeviation, arithmetic: str) -> list[fmpq]:
    """An upper bound of |T(q) - T_inf(q)| / |T(q)| for each query. Raises NotProvedError where T(q) may be 0."""
    found = {}
    if arithmetic != "arb" and problem.tiers:
        try:
            found = _ratios(range(problem.count), problem.compared_in_binary64(range(problem.count)))
        except Binary64Error:
            if arithmetic == "binary64":
                raise
    for bits in BITS:
        rest = [row for row in range(problem.count) if row not in found]
        if not rest:
            return [found[row] for row in range(problem.count)]
        with working_precision(bits):
            found |= _ratios(rest, problem.compared(rest))
    with working_precision(BITS[-1]):
        ((_, size),) = problem.compared(rest[:1])
    if (size > 0) is True:
        raise NotProvedError(
            f"the deviation at query {rest[0]} is 2^64 times the output, or more, or not known well enough: "
            "the scores are too large"
        )
    raise NotProvedError(f"the output at query {rest[0]} may be 0, and no deviation is a multiple of it")


def _ratios(rows: Sequence[int], pairs: Sequence[tuple[arb, arb]]) -> dict[int, fmpq]:
    """Upper bounds of ratios a little above them, where they are known well enough."""
    found = {}
    for row, (deviation, size) in zip(rows, pairs, strict=True):
        if (size > 0) is True and ((ratio := deviation / size) < arb(2) ** 64) is True:
            found[row] = upper_rational(ratio * (1 + arb(2) ** -30))
    return found
