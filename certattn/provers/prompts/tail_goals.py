"""The parts of an `output-tail` certificate that are sought: one for each direction, one for a norm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from flint import fmpq

from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import UsageError
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts.ball_of_queries import BallOfQueries
from certattn.kernel.theorems.prompts.mean_squares import methods_of
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.provers.exact_inputs import exact_rational
from certattn.provers.output import text_rows, texts
from certattn.provers.prompts.ball_of_queries import over_ball
from certattn.provers.prompts.norm_moments import MeanSquare, by_moments_of_output, log_mean_squares
from certattn.provers.prompts.tail_directions import family_of
from certattn.provers.prompts.tail_frames import frame_of
from certattn.provers.prompts.tail_rules import Family, Rule
from certattn.provers.prompts.tail_targets import Target
from certattn.provers.rounding import as_float, round_down

NORMS = ("l2", "linf")
_LEVEL_DIGITS = 5
# A direction in which the output hardly varies still gets this share of the threshold.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Goal:
    """A bound to be found: of a direction, or of a norm; the l2 norm comes with a frame."""

    target: Target
    direction: list[Plain] | None = None
    norm: str | None = None
    frame: ExactMatrix | None = None
    whole: bool = False

    @property
    def words(self) -> str:
        if self.direction is None:
            return f"in the norm {self.norm}"
        return f"in the direction ({', '.join(map(str, self.direction))})"

    def tuned(self, eps: float, length: float) -> Goal:
        """With the levels of an l2 norm chosen well there."""
        return replace(self, target=self.target.tuned(eps, length)) if self.frame is not None else self

    def assertion(self, eps: fmpq, delta: fmpq) -> dict[str, Plain]:
        stated: dict[str, Plain] = {"exceeds": format_rational(eps), "probability": format_rational(delta)}
        if self.direction is not None:
            return {"direction": self.direction, **stated}
        return {"norm": self.norm or "", **stated}

    def witness(self, eps: fmpq, length: int, log_delta: float | None = None) -> dict[str, Plain]:
        """The best rules at that threshold and length, as certificates write them.

        With `log_delta` rules for every larger length, too, whose bounds add up to at most that.
        """
        if log_delta is None:
            rules: list[Rule] = [found.rule for found in self.target.candidates(as_float(eps), float(length))]
        else:
            rules = self.target.for_every_length(as_float(eps), length, log_delta)
        if self.direction is not None or self.whole:
            (rule,) = rules
            return rule
        if self.frame is None:
            return {"bounds": list(rules)}
        levels = [round_down(fmpq(*share.as_integer_ratio()) * eps, _LEVEL_DIGITS) for share in self.target.shares]
        return {"frame": text_rows(self.frame), "levels": texts(levels), "bounds": list(rules)}


FamilyOf = Callable[[RandomPrompt, ExactMatrix], Family]


def goals_of(
    prompt: RandomPrompt, directions: Plain, norm: str | None, of_direction: FamilyOf = family_of
) -> list[Goal]:
    """A goal for each direction and one for the norm. Raises UsageError."""
    if not isinstance(directions, list):
        raise UsageError(f"directions is {directions!r:.60}, expected a list of directions")
    if norm is not None and norm not in NORMS:
        raise UsageError(f"norm is {norm!r}, expected {' or '.join(NORMS)}")
    if not directions and norm is None:
        raise UsageError("nothing to bound: expected directions, or a norm, or both (--direction, --norm)")
    goals = [_direction_goal(prompt, direction, of_direction) for direction in directions]
    if norm is not None:
        goals.append(_l2_goal(prompt) if norm == "l2" else _linf_goal(prompt))
    return goals


def mean_square_goal(prompt: RandomPrompt, norm: str | None) -> Goal:
    """A goal for the norm by its mean square. Raises UsageError."""
    if norm not in NORMS:
        raise UsageError(f"norm is {norm!r}, expected {' or '.join(NORMS)} for the method mean-square")
    if methods_of(prompt.law.law) == ("general",):
        raise UsageError(
            "the method mean-square is for Gaussian tokens, atoms, signs and mixtures of the last two; "
            "expected --method rules for this law"
        )
    log_mean_square, falling = log_mean_squares(prompt)
    family = MeanSquare(log_mean_square, falling if prompt.onwards else None)
    return Goal(Target([[family]], [1.0]), norm=norm, whole=True)


def moment_goal(prompt: RandomPrompt, norm: str | None) -> Goal:
    """A goal for the norm by its moments. Raises UsageError."""
    if norm not in NORMS:
        raise UsageError(f"norm is {norm!r}, expected {' or '.join(NORMS)} for the method moment")
    family = by_moments_of_output(prompt)
    if family is None:
        raise UsageError("the method moment is for Gaussian tokens; expected --method rules for this law")
    return Goal(Target([[family]], [1.0]), norm=norm, whole=True)


def over_ball_goal(prompt: BallOfQueries, directions: Plain, norm: str | None) -> Goal:
    """A goal for the norm at every query of a ball. Raises UsageError."""
    if directions or norm not in NORMS:
        raise UsageError("every query of a ball is for a norm, not for directions; expected --norm l2 or linf")
    return Goal(Target([[over_ball(prompt)]], [1.0]), norm=norm, whole=True)


def _direction_goal(prompt: RandomPrompt, direction: Plain, of_direction: FamilyOf) -> Goal:
    size = prompt.output_dimension
    if not isinstance(direction, list):
        raise UsageError(f"the direction {direction!r:.60}: expected a list of {counted(size, 'number')}")
    if len(direction) != size:
        shown = ", ".join(map(str, direction))
        raise UsageError(f"the direction ({shown}) has {counted(len(direction), 'number')}, expected {size}")
    entries = [exact_rational(entry, "direction") for entry in direction]
    family = of_direction(prompt, ExactMatrix.row_vector(entries) @ prompt.values())
    return Goal(Target([[family]], [1.0]), direction=texts(entries))


def _linf_goal(prompt: RandomPrompt) -> Goal:
    groups = _two_sided(prompt, ExactMatrix.identity(prompt.output_dimension))
    return Goal(Target(groups, [1.0] * len(groups)), norm="linf")


def _l2_goal(prompt: RandomPrompt) -> Goal:
    frame, deviations = frame_of(prompt)
    groups = _two_sided(prompt, frame)
    largest = float(deviations.max())
    shares = np.maximum(deviations / largest, _LEAST_SHARE) if largest > 0 else np.ones(len(deviations))
    shares /= np.linalg.norm(shares)
    return Goal(Target(groups, [float(share) for share in shares]), norm="l2", frame=frame)


def _two_sided(prompt: RandomPrompt, frame: ExactMatrix) -> list[list[Family]]:
    rows = [ExactMatrix.row_vector(row) for row in (frame @ prompt.values()).to_rows()]
    return [[family_of(prompt, row), family_of(prompt, -row)] for row in rows]
