"""What each method of `output-mean-square` encloses: formulas of `mathematics`, at the numbers that are given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import Shared
from certattn.kernel.given.bounds import AT_LEAST
from certattn.kernel.mathematics.balls import row_of_balls, scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import BALLS
from certattn.kernel.mathematics.law_moments import form, fourth, minus, spread
from certattn.kernel.mathematics.laws import Gaussian
from certattn.kernel.mathematics.reals import Real, square
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

Bound = Callable[[], arb]


@dataclass(frozen=True)
class Enclosure:
    """A lower and an upper bound of a number, None for none, each at the working precision when it is asked for.

    `exact` where both are the number itself.
    """

    lower: Bound | None
    upper: Bound | None
    exact: bool = False

    @classmethod
    def of(cls, value: Bound) -> Enclosure:
        return cls(value, value, True)

    def side(self, name: str) -> Bound | None:
        """The bound that an `at_least` or an `at_most` is compared with."""
        return self.lower if name == AT_LEAST.name else self.upper


NOTHING = Enclosure(None, None)


@dataclass(frozen=True)
class Bounds:
    """What a method says: of the ranges by name, and E(T_L - T) where it knows that."""

    ranges: Mapping[str, Enclosure] = field(default_factory=dict)
    mean: Callable[[], list[arb]] | None = None


@dataclass(frozen=True)
class GaussianPrompt:
    """Exact numbers of a prompt of Gaussian tokens: v = a'Gamma a, S = tr V Gamma V', B = |V Gamma a|^2."""

    variance: fmpq
    spread: fmpq
    shift: fmpq
    base: ExactMatrix
    scale: Real

    @classmethod
    def of(cls, prompt: RandomPrompt, tokens: Gaussian) -> GaussianPrompt:
        V, Gamma, factor = prompt.values(), ExactMatrix.rational(tokens.covariance), square(prompt.scale)
        moved = prompt.base @ Gamma @ V.T
        return cls(
            (prompt.base @ Gamma @ prompt.base.T).entry(0, 0) * factor,
            (V @ Gamma @ V.T).trace(),
            (moved @ moved.T).entry(0, 0) * factor,
            moved,
            prompt.scale,
        )

    def direction(self) -> list[arb]:
        """V Gamma a, at the working precision."""
        (row,) = table_of_balls(self.base, scale_ball(self.scale))
        return list(row)


def exact_bounds(prompt: RandomPrompt, tokens: Gaussian, wanted: Collection[str]) -> Bounds:
    """The numbers themselves, from enclosures of the power sums; kappa only where it is asked for."""
    known = GaussianPrompt.of(prompt, tokens)
    degree = 4 if "mean_square" in wanted else 2
    powers = Shared(lambda: PowerSums(prompt.length, known.variance, degree, ctx.prec))
    q = Shared(lambda: powers().mean(2))

    def mean_square() -> arb:
        kappa = powers().mean(3) - powers().mean(2, 2)
        found: arb = gaussian_mean_square(q(), kappa, known.spread, known.shift)
        return found

    ranges = {"collision": Enclosure.of(q)}
    if "mean_square" in wanted:
        ranges["mean_square"] = Enclosure.of(Shared(mean_square))
    return Bounds(ranges, lambda: [bias_factor(q()) * entry for entry in known.direction()])


def logistic_bounds(prompt: RandomPrompt, tokens: Gaussian) -> Bounds:
    """1/L <= q <= 1/(1 + (L-1) e^(-v)), with 0 <= kappa <= q/4."""
    known = GaussianPrompt.of(prompt, tokens)
    least = fmpq(1, prompt.length)
    lower = least * logistic_floor(known.spread, known.shift)

    def collision() -> arb:
        found: arb = logistic(prompt.length, arb(known.variance), BALLS)
        return found

    def mean_square() -> arb:
        found: arb = gaussian_mean_square(collision(), 0, known.spread, known.shift)
        return found

    return Bounds(
        {
            "mean_square": Enclosure(lambda: arb(lower), mean_square),
            "collision": Enclosure(lambda: arb(least), collision),
        }
    )


def general_bounds(prompt: RandomPrompt, t: fmpq, rate: fmpq) -> Bounds:
    """An upper bound of the mean square for any law."""
    return Bounds({"mean_square": Enclosure(None, lambda: _general(prompt, t, rate))})


def _general(prompt: RandomPrompt, t: fmpq, rate: fmpq) -> arb:
    law, a, V = prompt.law.law.map(arb), prompt.tilt(), prompt.values()
    G = [row_of_balls(row) for row in (V.T @ V).to_rows()]
    twice = [2 * entry for entry in a]
    tau = law.tilted_mean(a, BALLS)
    doubled = (law.log_mgf(twice, BALLS) - 2 * law.log_mgf(a, BALLS)).exp()
    shift = form(G, minus(law.tilted_mean(twice, BALLS), tau))
    second = tilted_second_moment(doubled, spread(law, twice, G, BALLS), shift)
    tail = normaliser_tail(prompt.length, t, arb(rate), doubled, BALLS).min(arb(1))
    rest = (prompt.length * fourth(law, tau, G) * tail).nonnegative_part().sqrt()
    found: arb = general_mean_square(second, prompt.length, t, rest)
    return found


def averaged_bounds(prompt: AveragedPrompt, theta: fmpq | None) -> Bounds:
    """Upper bounds over queries: the closed form for `theta`, the integral for None. One token is exact."""
    average = prompt.average()
    if prompt.length == 1:
        return Bounds({"mean_square": Enclosure.of(lambda: arb(average.plain()))})
    if theta is None:
        return Bounds({"mean_square": Enclosure(None, lambda: average.integral(prompt.length, ctx.prec))})
    if average.admits(theta) is not True:
        return Bounds()
    return Bounds({"mean_square": Enclosure(None, lambda: average.closed(prompt.length, theta))})
