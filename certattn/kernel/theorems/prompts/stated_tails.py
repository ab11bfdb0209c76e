"""What claims about tails share: what is asserted, and how a witness bounds an l2 norm.

A certificate asserts P(D > eps) <= delta. For an l2 norm its witness has a frame of rows u_c with
sum_c u_c u_c' >= I, a level e_c for each, and a rule for both signs of every row: where |<u_c, y>| <= e_c for all c,
|y|^2 <= sum_c e_c^2, and the bounds of the contrary add up. An orthonormal basis is a frame; rounded to rational
numbers and multiplied by a little more than 1 it still is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.document.matrices import Matrix, Vector
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.schema import Field, Listing, Rational, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.tail_rules import RULES, Rule, Tail, read_rule

StatedRules = list[tuple[str, Values]]

EXCEEDS = Field("exceeds", Rational(above=0), "eps, what is exceeded rarely")
PROBABILITY = Field("probability", Rational(above=0), "delta, a bound of the probability: above 0 and below 1")

FRAME = Field("frame", Matrix(), "vectors u_c, one per row, with sum u_c u_c' - I positive semidefinite")
LEVELS = Field("levels", Vector(), "levels >= 0, one per row of the frame")
BOUNDS: Field[StatedRules] = Field("bounds", Listing(RULES), "a rule for +u_1, -u_1, +u_2, -u_2, ...")


@dataclass(frozen=True)
class Framed:
    """A frame with its levels, and the rules for both signs of every row."""

    frame: ExactMatrix
    levels: list[fmpq]
    rules: list[Rule]

    def conditions(self, name: str) -> Iterator[Obligation]:
        """That the rows bound the l2 norm, and that levels are >= 0: what bounds by this frame rest on."""
        excess = self.frame.T @ self.frame - ExactMatrix.identity(self.frame.columns)
        too_small = fmpq(0) if excess.is_positive_semidefinite() is True else fmpq(1)
        yield Obligation(f"{name}.frame", too_small, "<=", fmpq(0), Part.WITNESS)
        yield Obligation(f"{name}.levels", min(self.levels), ">=", fmpq(0), Part.WITNESS)


def read_probability(values: Values) -> fmpq:
    """delta, above 0 and below 1. Raises MalformedError."""
    delta = values[PROBABILITY]
    if (delta < 1) is not True:
        raise values.node(PROBABILITY).malformed("a probability above 0 and below 1", describe(delta))
    return delta


def read_framed(hint: Values, map_: ExactMatrix, prompt: RandomPrompt, what: str) -> Framed:
    """A frame in the space that `map_` leads to from tokens, with a rule for both signs of each row."""
    hint[FRAME].require_shape(None, map_.rows, f"for {what} of that dimension")
    frame = hint[FRAME].load()
    hint[LEVELS].require_length(frame.rows, "the rows of the frame")
    levels = hint[LEVELS].load().row(0)
    return Framed(frame, levels, two_sided_rules(hint, frame @ map_, levels, prompt))


def sum_of_squares(levels: Sequence[fmpq]) -> fmpq:
    return sum((level * level for level in levels), fmpq(0))


def sum_of_bounds(rules: Sequence[Rule]) -> arb:
    """A bound of the probability that some tail of these is met, at the working precision."""
    return sum((rule.bound() for rule in rules), arb(0))


def two_sided_rules(hint: Values, directions: ExactMatrix, levels: Sequence[fmpq], prompt: RandomPrompt) -> list[Rule]:
    """The rules for + and - of every row, a direction of tokens, at its level. Raises MalformedError."""
    bounds = hint[BOUNDS]
    require_count(bounds, 2 * directions.rows, hint, BOUNDS, "two per direction, for + and -")
    tails = []
    for row, level in zip(directions.to_rows(), levels, strict=True):
        direction = ExactMatrix.row_vector(row)
        tails += [Tail(prompt, direction, level), Tail(prompt, -direction, level)]
    return [read_rule(rule, tail) for rule, tail in zip(bounds, tails, strict=True)]


def require_count(rules: StatedRules, count: int, at: Values, field: Field[StatedRules], why: str) -> None:
    """Raises MalformedError unless there are so many rules."""
    if len(rules) != count:
        raise at.node(field).malformed(f"{counted(count, 'rule')}, {why}", counted(len(rules), "rule"))
