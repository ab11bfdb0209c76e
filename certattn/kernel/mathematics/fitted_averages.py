"""Means over a Gaussian x of functions that need the softmax weights' moments q and kappa at the variance v = x'N x.

With f(x) = c + x'F x and g(x) = x'G x, which are at most F_1 and G_1 in size,

    E[q(v) f(x) + kappa(v) g(x)]

is a sum of determinants where sums of exponentials stand for q and kappa (`query_averages`), and misses it by at most
e_q E[e^(theta v) F_1(x)] + e_kappa E[e^(theta v) G_1(x)], where these miss by e_q e^(theta v) and e_kappa e^(theta v)
at most (`exponential_fits`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from flint import arb, ctx, fmpq

from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exponential_fits import ExponentialSum, Miss, Samples, samples
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.reals import describe

# Bits of q and kappa at the nodes near v = 0.
NODE_BITS = 32
# Misses that agree to this part at two precisions are no matter of rounding.
_SURE = fmpq(1023, 1024)


@dataclass(frozen=True)
class Fits:
    """Fits of q and kappa, of the same theta.

    `nodes` 0 = v_0 < v_1 < ... are the ends of the pieces on which they are compared; `orders` has for each of them
    but the first the number of points, less one.
    """

    nodes: tuple[fmpq, ...]
    orders: tuple[int, ...]
    q: ExponentialSum
    kappa: ExponentialSum

    @property
    def growth(self) -> fmpq:
        """theta."""
        return self.q.growth


@dataclass(frozen=True)
class Factor:
    """What q or kappa is multiplied by, and what is as large as that in size for every x: of the same x and v."""

    signed: QueryAverage
    largest: QueryAverage


@dataclass(frozen=True)
class FittedAverage:
    """E[q(v) f(x) + kappa(v) g(x)] for prompts of `length` tokens, by these fits."""

    length: int
    fits: Fits
    of_q: Factor
    of_kappa: Factor

    @property
    def is_finite(self) -> bool:
        """Whether averages of e^(theta v) are, exactly: otherwise `value` says nothing."""
        return self.of_kappa.largest.admits(self.fits.growth)

    def value(self) -> arb:
        """The average, at the working precision."""
        return self._fitted(ctx.prec) + within(_total(self._missed(ctx.prec)))

    def _fitted(self, bits: int) -> arb:
        """With the fits in the place of q and kappa."""
        total = arb(0)
        for name, factor in self._factors.items():
            fit, _ = self._fits[name]
            with working_precision(bits + fit.extra_bits()):
                for c, w in zip(fit.coefficients, fit.exponents(), strict=True):
                    total += c * factor.signed.exponential(w)
        return total

    def _missed(self, bits: int) -> dict[str, arb]:
        """At least what each of the fits misses of the average."""
        theta = self.fits.growth
        return {
            name: self._fits[name][0].miss(self._fits[name][1], bits) * factor.largest.exponential(theta)
            for name, factor in self._factors.items()
        }

    @cached_property
    def _factors(self) -> Mapping[str, Factor]:
        return {"q": self.of_q, "kappa": self.of_kappa}

    @cached_property
    def _fits(self) -> Mapping[str, tuple[ExponentialSum, Samples]]:
        """The fits of q and of kappa, each beside what is known of it, once for every precision."""
        with working_precision(2 * NODE_BITS):
            of_q, of_kappa = samples(self.length, self.fits.nodes, self.fits.orders, self.fits.growth, NODE_BITS)
        return {"q": (self.fits.q, of_q), "kappa": (self.fits.kappa, of_kappa)}

    # -- fits that are too coarse

    def hopeless(self, value: arb, bound: fmpq) -> str:
        """Why no precision decides on which side of a bound the `value` is; "" where one may.

        What the fits miss does not shrink with the precision, but for rounding: where twice the bits leave it as it
        is, and the bound is well inside of what it leaves open, so it is at every precision.
        """
        if value.contains(arb(bound)) is not True:
            return ""
        bits = ctx.prec
        missed = self._missed(bits)
        with working_precision(2 * bits):
            sharper, fitted = self._missed(2 * bits), self._fitted(2 * bits)
            for name in missed:
                if missed[name].is_finite() is not True and sharper[name].is_finite() is not True:
                    return (
                        f"nothing bounds what witness.{name} misses {self._worst(name, bits)}; more bits do not help. "
                        "A piece may not be long beside its distance from 0: divide it by more nodes"
                    )
            total, apart = _total(sharper), abs(bound - fitted)
            if (total * _SURE > apart) is not True or (total > _total(missed) * _SURE) is not True:
                return ""
            name = "q" if (sharper["q"] >= sharper["kappa"]) is True else "kappa"
            return (
                f"the fits of the witness give a value {_shown(apart)} from {describe(bound)}, and may be off by "
                f"{_shown(total)}; more bits do not help. witness.{name} has {_shown(sharper[name])} of this, and "
                f"misses most {self._worst(name, bits)}: it needs a closer fit, shorter pieces or larger orders"
            )

    def _worst(self, name: str, bits: int) -> str:
        """Where a fit misses most, in words."""
        fit, truth = self._fits[name]
        worst: Miss = max(fit.misses(truth, bits), key=lambda part: part.bound)
        first = describe(worst.first)
        return f"beyond v = {first}" if worst.last is None else f"for {first} <= v <= {describe(worst.last)}"


def _total(missed: Mapping[str, arb]) -> arb:
    return sum(missed.values(), arb(0))


def _shown(value: arb) -> str:
    return str(value.mid().str(3, radius=False))
