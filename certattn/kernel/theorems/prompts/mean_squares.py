"""What claims about mean squares share: methods with their parameters, and what each of them encloses.

Formulas of `mathematics`, at the numbers that are given.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial

from flint import arb, ctx, fmpq

from certattn.kernel.decide.obligation import NoBound, NoProof, Obligation, Part, Relation, Shared
from certattn.kernel.document.schema import Field, Rational, Values
from certattn.kernel.given.bounds import BOUNDS
from certattn.kernel.mathematics.balls import row_of_balls, scale_ball, table_of_balls
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.law_moments import form, fourth, minus, product_trace, tilted_covariance
from certattn.kernel.mathematics.laws import Gaussian, Law
from certattn.kernel.mathematics.reals import square
from certattn.kernel.mathematics.softmax_powers import PowerSums
from certattn.kernel.methods import method
from certattn.kernel.theorems.prompts.length_ranges import STARTS, every_length, one_length, require_ranges, worst
from certattn.kernel.theorems.prompts.mathematics.finite_means import (
    FEWEST_TOKENS,
    FiniteMeans,
    Groups,
    groups_of,
)
from certattn.kernel.theorems.prompts.mathematics.finite_scores import TooManyError, has_finite_scores
from certattn.kernel.theorems.prompts.mathematics.mean_square import (
    GaussianShape,
    bias_factor,
    gaussian_mean_square,
    general_mean_square,
    largest_weighed_tail,
    logistic,
    logistic_floor,
    markov,
    normaliser_tail,
    tilted_second_moment,
)
from certattn.kernel.theorems.prompts.random_prompts import Lengths, RandomPrompt

SHARE = Field("t", Rational(above=0), "general: 0 < t < 1, prompts with Z < 1 - t are told apart", required=False)
RATE = Field("lambda", Rational(above=0), "general: lambda > 0 of the Chernoff bound", required=False)
PARAMETERS: Mapping[str, tuple[Field[fmpq], ...]] = {"general": (SHARE, RATE)}
# Below which values of its parameters a method proves something.
_CONDITIONS: tuple[tuple[Field[fmpq], Relation], ...] = ((SHARE, "<"),)


@dataclass(frozen=True)
class Method:
    """A way of proof and its parameters."""

    name: str
    parameters: Mapping[str, fmpq] = field(default_factory=dict)
    # exact, for every length from one on: the first length of each range.
    starts: Sequence[int] = ()

    def conditions(self) -> Iterator[Obligation]:
        """What a proof by these parameters rests on."""
        for parameter, relation in _CONDITIONS:
            if parameter.name in self.parameters:
                yield Obligation(parameter.name, self.parameters[parameter.name], relation, fmpq(1), Part.WITNESS)


def read_method(named: Field[str], values: Values, lengths: Lengths) -> Method:
    """The method of this name, with exactly its parameters. Raises MalformedError."""
    method = values[named]
    wanted = PARAMETERS.get(method, ())
    for parameter in (SHARE, RATE):
        if (parameter in values) is not (parameter in wanted):
            names = " and ".join(each.name for each in wanted) or "no parameters"
            found = f"{parameter.name} too" if parameter in values else f"no {parameter.name}"
            raise values.at.malformed(f"{names} for the method {method}", found)
    if STARTS in values:
        if method != "exact":
            raise values.node(STARTS).malformed("no ranges but for the method exact", f"the method {method}")
        require_ranges(values, STARTS, lengths)
    return Method(method, {each.name: values[each] for each in wanted}, values.items(STARTS))


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


NOTHING = Enclosure(None, None)


def for_every_length(enclosure: Enclosure) -> Enclosure:
    """What bounds a number at every length from one on, where the upper bound falls with the length."""
    return Enclosure(None, enclosure.upper)


@dataclass(frozen=True)
class Bounds:
    """What a method says: of the ranges by name, and E(T_L - T) where it knows that."""

    ranges: Mapping[str, Enclosure] = field(default_factory=dict)
    mean: Callable[[], list[arb]] | None = None


def keeps(name: str, enclosure: Enclosure, stated: Values, method: Method) -> Iterator[Obligation | NoProof]:
    """That a number keeps the stated bounds, as far as the method bounds it."""
    needs = [condition.name for condition in method.conditions()]
    for (side, relation), value in zip(BOUNDS, (enclosure.lower, enclosure.upper), strict=True):
        if side in stated and value is None:
            yield NoProof(f"{name}.{side.name}", no_bound(method, side.doc))
        elif side in stated and value is not None:
            part = Part.STATEMENT if enclosure.exact else Part.WITNESS
            yield Obligation(f"{name}.{side.name}", value, relation, stated[side], part, needs)


def no_bound(method: Method, what: str) -> str:
    return f"the method {method.name} with its parameters gives no such bound here: {what}"


def _shape(prompt: RandomPrompt, tokens: Gaussian[fmpq]) -> GaussianShape:
    return GaussianShape.of(tokens, prompt.values(), prompt.base, square(prompt.scale))


def methods_of(law: Law[fmpq]) -> tuple[str, ...]:
    """The methods for one query that can prove something of these tokens; the sharpest comes first."""
    if isinstance(law, Gaussian):
        return ("exact", "logistic", "general")
    return ("exact", "moments", "general") if has_finite_scores(law) else ("general",)


def closed_bounds(method: str, prompt: RandomPrompt, wanted: Collection[str]) -> Bounds:
    """Those of a method without parameters, which is one of `methods_of` the law."""
    law = prompt.law.law
    if method == "exact":
        return exact_bounds(prompt, wanted)
    if method == "logistic" and isinstance(law, Gaussian):
        return logistic_bounds(prompt, law)
    if method == "moments":
        return moment_bounds(prompt)
    raise ValueError(f"the method {method} for kind: {prompt.law.kind}")


def exact_onwards(prompt: RandomPrompt, starts: Sequence[int], wanted: Collection[str]) -> Bounds:
    """For every length from one on, the numbers themselves at all of these but the last, and a bound that falls.

    q is such a mean too: that of |T_L - T|^2 with independent random signs in the place of V x.
    """
    exact = {first: exact_bounds(one_length(prompt, first), wanted).ranges for first in starts[:-1]}
    falling = closed_bounds(methods_of(prompt.law.law)[1], every_length(prompt, starts[-1]), wanted).ranges

    def bound(name: str) -> arb:
        return worst(starts, lambda first: _upper(exact[first], name), lambda last: _upper(falling, name))

    return Bounds({name: Enclosure(None, partial(bound, name)) for name in falling})


def _upper(ranges: Mapping[str, Enclosure], name: str) -> arb:
    upper = ranges.get(name, NOTHING).upper
    return arb("inf") if upper is None else upper()


def mean_square_onwards(prompt: RandomPrompt, starts: Sequence[int]) -> arb:
    """A bound of E|T_L - T|^2 for every length from one on, by ranges that begin there. Raises NoBound."""
    return worst(
        starts,
        lambda first: least_mean_square(one_length(prompt, first)),
        lambda last: least_mean_square(every_length(prompt, last)),
    )


@method
def tail_of_mean_square(prompt: RandomPrompt, eps: fmpq, starts: Sequence[int] = ()) -> arb:
    """E|T_L - T|^2 / eps^2, or for every length from one on a bound of it, by ranges where there are starts.

    Raises NoBound.
    """
    return markov(mean_square_onwards(prompt, starts) if starts else least_mean_square(prompt), eps)


def least_mean_square(prompt: RandomPrompt) -> arb:
    """E|T_L - T|^2 itself, or for every length from one on a bound that falls, at the working precision.

    Raises NoBound where neither is known.
    """
    methods = methods_of(prompt.law.law)
    if methods == ("general",):
        raise NoBound(
            "the method mean-square is for Gaussian tokens, atoms, signs and mixtures of the last two, "
            f"not for kind: {prompt.law.kind}; use rules"
        )
    # Of Gaussian tokens the closed bound is the smaller one where quadrature is not made for the scores.
    names = methods[1:2] if prompt.onwards else methods[:2] if "logistic" in methods else methods[:1]
    uppers = [closed_bounds(name, prompt, ["mean_square"]).ranges.get("mean_square", NOTHING).upper for name in names]
    found = [upper() for upper in uppers if upper is not None]
    if not found:
        raise NoBound(f"no bound that falls with the length is known from {prompt.length} tokens on; use rules")
    least = found[0]
    for other in found[1:]:
        least = least.min(other)
    return least


def exact_bounds(prompt: RandomPrompt, wanted: Collection[str]) -> Bounds:
    """The numbers themselves, of Gaussian tokens or of those whose scores take finitely many values."""
    law = prompt.law.law
    if isinstance(law, Gaussian):
        return _gaussian_bounds(prompt, law, wanted)
    means = _finite_means(prompt)
    ranges = {
        "mean_square": Enclosure.of(lambda: means().mean_square),
        "collision": Enclosure.of(lambda: means().collision),
    }
    return Bounds(ranges, lambda: means().mean())


def moment_bounds(prompt: RandomPrompt) -> Bounds:
    """Upper bounds by negative moments of the normaliser, for tokens whose scores take finitely many values."""
    means = _finite_means(prompt)
    ranges = {
        "mean_square": Enclosure(None, lambda: means().falling_mean_square()),
        "collision": Enclosure(None, lambda: means().falling_collision()),
    }
    return Bounds(ranges) if prompt.length >= FEWEST_TOKENS else Bounds()


def _finite_means(prompt: RandomPrompt) -> Shared[FiniteMeans]:
    @cache
    def groups() -> Groups:
        with all_listed():
            return groups_of(prompt.law.law, prompt.base, prompt.values())

    return Shared(lambda: FiniteMeans.of(groups(), scale_ball(prompt.scale), prompt.length))


@contextmanager
def all_listed() -> Iterator[None]:
    """Where there are too many tokens or scores to be listed, nothing bounds the mean square."""
    try:
        yield
    except TooManyError as error:
        raise NoBound(f"{error}; use the method general") from None


def _gaussian_bounds(prompt: RandomPrompt, tokens: Gaussian[fmpq], wanted: Collection[str]) -> Bounds:
    """From enclosures of the power sums; kappa only where it is asked for."""
    shape, base = _shape(prompt, tokens), prompt.base @ ExactMatrix.rational(tokens.covariance) @ prompt.values().T
    degree = 4 if "mean_square" in wanted else 2
    powers = Shared(lambda: PowerSums(prompt.length, shape.variance, degree, ctx.prec))
    q = Shared(lambda: powers().mean(2))

    def mean_square() -> arb:
        kappa = powers().mean(3) - powers().mean(2, 2)
        return arb(gaussian_mean_square(q(), kappa, shape.spread, shape.shift))

    def mean() -> list[arb]:
        """V Gamma a, times what it is multiplied by."""
        (direction,) = table_of_balls(base, scale_ball(prompt.scale))
        return [bias_factor(q()) * entry for entry in direction]

    ranges = {"collision": Enclosure.of(q)}
    if "mean_square" in wanted:
        ranges["mean_square"] = Enclosure.of(Shared(mean_square))
    return Bounds(ranges, mean)


def logistic_bounds(prompt: RandomPrompt, tokens: Gaussian[fmpq]) -> Bounds:
    """1/L <= q <= 1/(1 + (L-1) e^(-v)), with 0 <= kappa <= q/4."""
    shape, least = _shape(prompt, tokens), fmpq(1, prompt.length)
    lower = least * logistic_floor(shape.spread, shape.shift)

    def collision() -> arb:
        return logistic(prompt.length, arb(shape.variance))

    def mean_square() -> arb:
        return gaussian_mean_square(collision(), arb(0), shape.spread, shape.shift)

    bounded = {"mean_square": (lower, mean_square), "collision": (least, collision)}
    return Bounds({name: Enclosure(partial(arb, low), high) for name, (low, high) in bounded.items()})


def general_bounds(prompt: RandomPrompt, t: fmpq, rate: fmpq) -> Bounds:
    """An upper bound of the mean square for any law."""
    return Bounds({"mean_square": Enclosure(None, lambda: _general(prompt, t, rate))})


def _general(prompt: RandomPrompt, t: fmpq, rate: fmpq) -> arb:
    law, a, V = prompt.law.law.map(arb), prompt.tilt(), prompt.values()
    G = [row_of_balls(row) for row in (V.T @ V).to_rows()]
    twice = [2 * entry for entry in a]
    tau = law.tilted_mean(a)
    doubled = (law.log_mgf(twice) - 2 * law.log_mgf(a)).exp()
    shift = form(G, minus(law.tilted_mean(twice), tau))
    spread = product_trace(G, tilted_covariance(law, twice))
    second = tilted_second_moment(doubled, spread, shift)
    if prompt.onwards and (normaliser_tail(1, t, arb(rate), doubled) >= 1) is True:
        raise NoBound("the Chernoff bound of this t and lambda does not fall with the length; use a smaller lambda")
    if prompt.onwards:
        weighed = largest_weighed_tail(prompt.length, t, arb(rate), doubled)
    else:
        weighed = prompt.length * normaliser_tail(prompt.length, t, arb(rate), doubled).min(arb(1))
    rest = (weighed * fourth(law, tau, G)).nonnegative_part().sqrt()
    return arb(general_mean_square(second, prompt.length, t, rest))
