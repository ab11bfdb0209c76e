"""What each method of `output-mean-square` encloses: formulas of `arithmetic`, at the numbers that are given."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import row_of_balls, scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.law_moments import form, fourth, minus, spread
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import square
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.theorems.prompts.averaged_prompts import AveragedPrompt
from certattn.kernel.theorems.prompts.mathematics.mean_square import (
    bias_factor,
    gaussian_mean_square,
    general_mean_square,
    logistic,
    logistic_floor,
    normaliser_tail,
    tilted_second_moment,
)
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt


@dataclass(frozen=True)
class Enclosure:
    """Balls around a lower and an upper bound of a number, None for none; `exact` where both are the number itself."""

    lower: arb | None
    upper: arb | None
    exact: bool

    @classmethod
    def of(cls, value: arb) -> Enclosure:
        return cls(value, value, True)


@dataclass(frozen=True)
class Bounds:
    """What a method says: of the ranges by name, and E(T_L - T) where it knows that."""

    ranges: Mapping[str, Enclosure] = field(default_factory=dict)
    mean: list[arb] | None = None


@dataclass(frozen=True)
class GaussianPrompt:
    """Exact numbers of a prompt of Gaussian tokens: v = a'Gamma a, S = tr V Gamma V', B = |V Gamma a|^2."""

    variance: fmpq
    spread: fmpq
    shift: fmpq
    direction: list[arb]
    """V Gamma a."""

    @classmethod
    def of(cls, prompt: RandomPrompt, tokens: Gaussian) -> GaussianPrompt:
        V, Gamma, factor = prompt.values(), ExactMatrix.rational(tokens.covariance), square(prompt.scale)
        moved = prompt.base @ Gamma @ V.T
        (direction,) = table_of_balls(moved, scale_ball(prompt.scale))
        return cls(
            (prompt.base @ Gamma @ prompt.base.T).entry(0, 0) * factor,
            (V @ Gamma @ V.T).trace(),
            (moved @ moved.T).entry(0, 0) * factor,
            list(direction),
        )


def exact_bounds(prompt: RandomPrompt, tokens: Gaussian, wanted: Collection[str], bits: int) -> Bounds:
    """The numbers themselves, from enclosures of the power sums; kappa only where it is asked for."""
    known = GaussianPrompt.of(prompt, tokens)
    powers = PowerSums(prompt.length, known.variance, 4 if "mean_square" in wanted else 2, bits)
    q = powers.mean(2)
    ranges = {"collision": Enclosure.of(q)}
    if "mean_square" in wanted:
        kappa = powers.mean(3) - powers.mean(2, 2)
        ranges["mean_square"] = Enclosure.of(gaussian_mean_square(q, kappa, known.spread, known.shift))
    return Bounds(ranges, [bias_factor(q) * entry for entry in known.direction])


def logistic_bounds(prompt: RandomPrompt, tokens: Gaussian) -> Bounds:
    """1/L <= q <= 1/(1 + (L-1) e^(-v)), with 0 <= kappa <= q/4."""
    known = GaussianPrompt.of(prompt, tokens)
    q = logistic(prompt.length, arb(known.variance), BALLS)
    least = fmpq(1, prompt.length)
    upper = gaussian_mean_square(q, 0, known.spread, known.shift)
    lower = least * logistic_floor(known.spread, known.shift)
    return Bounds(
        {"mean_square": Enclosure(arb(lower), upper, False), "collision": Enclosure(arb(least), q, False)},
    )


def general_bounds(prompt: RandomPrompt, t: fmpq, rate: fmpq) -> Bounds:
    """An upper bound of the mean square for any law."""
    law, a, V = prompt.law.law.map(arb), prompt.tilt(), prompt.values()
    G = [row_of_balls(row) for row in (V.T @ V).to_rows()]
    twice = [2 * entry for entry in a]
    tau = law.tilted_mean(a, BALLS)
    doubled = (law.log_mgf(twice, BALLS) - 2 * law.log_mgf(a, BALLS)).exp()
    shift = form(G, minus(law.tilted_mean(twice, BALLS), tau))
    second = tilted_second_moment(doubled, spread(law, twice, G, BALLS), shift)
    tail = normaliser_tail(prompt.length, t, arb(rate), doubled, BALLS).min(arb(1))
    rest = (prompt.length * fourth(law, tau, G) * tail).nonnegative_part().sqrt()
    upper = general_mean_square(second, prompt.length, t, rest)
    return Bounds({"mean_square": Enclosure(None, upper, False)})


def averaged_bounds(prompt: AveragedPrompt, theta: fmpq | None, bits: int) -> Bounds:
    """Upper bounds over queries: the closed form for `theta`, the integral for None. One token is exact."""
    average = prompt.average()
    if prompt.length == 1:
        return Bounds({"mean_square": Enclosure.of(arb(average.plain()))})
    if theta is None:
        return Bounds({"mean_square": Enclosure(None, average.integral(prompt.length, bits), False)})
    if average.admits(theta) is not True:
        return Bounds()
    return Bounds({"mean_square": Enclosure(None, average.closed(prompt.length, theta), False)})
