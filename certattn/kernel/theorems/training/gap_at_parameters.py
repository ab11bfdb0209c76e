"""The part of `risk-gap` about given parameters: R_L - R between two numbers, from its exact identity.

    R_L - R = 1/2 E_x[ q (b^2 T - b^2 |tau|^2 + 2b <tau, x>) - 6 b^2 kappa |tau|^2 ],   x ~ N(0, Sigma),

where q and kappa are functions of v = x'Nx, N = A'Sigma A. The witness has sums of exponentials p of e^(-d v) for
each; |q - p| <= e e^(theta v) with e from `mathematics.exponential_fits`, and averages of e^(-w v) times quadratic
forms of x are determinants. With K = A'Sigma^2 A and 2 |<tau, x>| <= eta v + x'Sigma x / eta for any eta > 0, what
the fits miss is at most

    1/2 e_q E[e^(theta v) (b^2 T + x'(b^2 K + |b| (eta N + Sigma / eta)) x)] + 3 b^2 e_kappa E[e^(theta v) x'K x].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

from flint import arb, ctx, fmpq, fmpz

from certattn.kernel.decide.obligation import NoBound, Obligation, Part, Shared
from certattn.kernel.mathematics.balls import working_precision
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.lognormal_laplace import within
from certattn.kernel.mathematics.query_averages import QueryAverage
from certattn.kernel.mathematics.reals import describe
from certattn.kernel.theorems.training.mathematics.exponential_fits import ExponentialSum, Miss, Samples
from certattn.kernel.theorems.training.mathematics.regression import Parameters
from certattn.kernel.theorems.training.mathematics.risk_gap import QueryTerms, collision_factor, spread_factor
from certattn.kernel.theorems.training.mathematics.weight_samples import samples

# Bits of q and kappa at the nodes.
NODE_BITS = 32
# Misses that agree to this part at two precisions are no matter of rounding.
_SURE = fmpq(1023, 1024)


NODES_INCREASE = ("nodes.first", "nodes.increase")


def nodes_increase(nodes: Sequence[fmpq]) -> Iterator[Obligation]:
    """That variances 0 = v_0 < v_1 < ... stand at the nodes, of which there are two or more."""
    yield Obligation("nodes.first", nodes[0], "=", fmpq(0), Part.WITNESS)
    yield Obligation("nodes.increase", min(b - a for a, b in pairwise(nodes)), ">", fmpq(0), Part.WITNESS)


@dataclass(frozen=True)
class Fits:
    """The witness: fits of q and kappa, and theta, with which their misses are weighed.

    `nodes` 0 = v_0 < v_1 < ... are the ends of the pieces on which they are compared; `orders` has for each of them
    but the first the number of points, less one.
    """

    nodes: tuple[fmpq, ...]
    orders: tuple[int, ...]
    q: ExponentialSum
    kappa: ExponentialSum
    growth: fmpq


@dataclass(frozen=True)
class GapAtParameters:
    """Bounds of R_L - R at (A, b), None where there is none."""

    covariance: ExactMatrix
    parameters: Parameters
    length: int
    least: fmpq | None
    most: fmpq | None
    fits: Fits

    def obligations(self) -> Iterator[Obligation]:
        gap, fits = Shared(self.gap), self.fits
        yield Obligation("rate", fits.q.rate, ">", fmpq(0), Part.WITNESS)
        yield Obligation("growth", fits.growth, ">=", fmpq(0), Part.WITNESS)
        yield from nodes_increase(fits.nodes)
        needs = ("rate", "growth", *NODES_INCREASE)
        if self.least is not None:
            yield Obligation("gap.at_least", partial(self._side, gap, self.least), ">=", self.least, needs=needs)
        if self.most is not None:
            yield Obligation("gap.at_most", partial(self._side, gap, self.most), "<=", self.most, needs=needs)

    def _side(self, gap: Shared[arb | None], bound: fmpq) -> arb:
        """R_L - R, where it may be compared with a bound at some precision."""
        found = gap()
        if found is None:
            raise NoBound(f"averages of e^(theta v) are infinite for theta = {describe(self.fits.growth)}")
        if reason := self._hopeless(found, bound, ctx.prec):
            raise NoBound(reason)
        return found

    def gap(self) -> arb | None:
        """R_L - R; None where the growth of the witness is not admitted."""
        if self._average(fmpq(0), self._K).admits(self.fits.growth) is not True:
            return None
        return self._fitted(ctx.prec) + within(_total(self._missed(ctx.prec)))

    # -- the two averages

    def _fitted(self, bits: int) -> arb:
        """The identity with the fits in the place of q and kappa."""
        b, Sigma = self.parameters.b, self.covariance
        moved: ExactMatrix = self.parameters.A.T @ Sigma
        forms = QueryTerms(_Form(fmpq(0), self._K), _Form(fmpq(0), moved + moved.T), _Form(Sigma.trace(), _zero(Sigma)))
        total = arb(0)
        for fit, form in ((self.fits.q, collision_factor(b, forms)), (self.fits.kappa, spread_factor(b, forms))):
            average = self._average(form.constant, form.matrix)
            with working_precision(bits + fit.extra_bits()):
                for c, w in zip(fit.coefficients, fit.exponents(), strict=True):
                    total += c * average.exponential(w)
        return total / 2

    def _missed(self, bits: int) -> dict[str, arb]:
        """At least what each of the fits misses of R_L - R."""
        b, theta, Sigma = self.parameters.b, self.fits.growth, self.covariance
        size = abs(b)
        eta = self._balance()
        cross = self._N.scaled(eta * size) + Sigma.scaled(size / eta)
        collision = self._average(b * b * Sigma.trace(), self._K.scaled(b * b) + cross).exponential(theta)
        spread = self._average(fmpq(0), self._K.scaled(6 * b * b)).exponential(theta)
        of_q, of_kappa = self._samples
        miss_q, miss_kappa = self.fits.q.miss(of_q, theta, bits), self.fits.kappa.miss(of_kappa, theta, bits)
        return {"q": miss_q * collision / 2, "kappa": miss_kappa * spread / 2}

    def _average(self, constant: fmpq, form: ExactMatrix) -> QueryAverage:
        mean = ExactMatrix.row_vector([fmpq(0)] * self.covariance.rows)
        return QueryAverage(mean, self.covariance, constant, form, self._N)

    def _balance(self) -> fmpq:
        """A rational eta near (E x'Sigma x / E v)^(1/2); any eta > 0 is right."""
        plain, moved = (self.covariance @ self.covariance).trace(), (self._N @ self.covariance).trace()
        return _near_root(plain / moved) if moved > 0 else fmpq(1)

    @cached_property
    def _N(self) -> ExactMatrix:  # noqa: N802 - the mathematical name
        """A'Sigma A: v = x'N x."""
        A: ExactMatrix = self.parameters.A
        return A.T @ self.covariance @ A

    @cached_property
    def _K(self) -> ExactMatrix:  # noqa: N802 - the mathematical name
        """A'Sigma^2 A: |tau|^2 = x'K x."""
        moved: ExactMatrix = self.covariance @ self.parameters.A
        return moved.T @ moved

    # -- fits that are too coarse

    def _hopeless(self, gap: arb, bound: fmpq, bits: int) -> str:
        """Why no precision decides about a bound; "" where one may.

        What the fits miss does not shrink with the precision, but for rounding: where twice the bits leave it as it
        is, and the bound is well inside of what it leaves open, so it is at every precision.
        """
        if gap.contains(arb(bound)) is not True:
            return ""
        missed = self._missed(bits)
        with working_precision(2 * bits):
            sharper, fitted = self._missed(2 * bits), self._fitted(2 * bits)
            for name in missed:
                if missed[name].is_finite() is not True and sharper[name].is_finite() is not True:
                    return self._unbounded(name, bits)
            total, apart = _total(sharper), abs(bound - fitted)
            if (total * _SURE > apart) is not True or (total > _total(missed) * _SURE) is not True:
                return ""
            return self._coarse(sharper, apart, bound, bits)

    def _coarse(self, missed: dict[str, arb], apart: arb, bound: fmpq, bits: int) -> str:
        total = _total(missed)
        name = "q" if (missed["q"] >= missed["kappa"]) is True else "kappa"
        fit, of_fit = self._fit(name)
        first, *others = fit.misses(of_fit, self.fits.growth, bits)
        for other in others:
            if (other.bound > first.bound) is True:
                first = other
        return (
            f"the fits of the witness give a value {_shown(apart)} from {describe(bound)}, and may be off by "
            f"{_shown(total)}; more bits do not help. witness.{name} has {_shown(missed[name])} of this, and misses "
            f"most {_range(first)}: it needs a closer fit, shorter pieces or larger orders"
        )

    def _unbounded(self, name: str, bits: int) -> str:
        fit, of_fit = self._fit(name)
        part = next(each for each in fit.misses(of_fit, self.fits.growth, bits) if each.bound.is_finite() is not True)
        return (
            f"nothing bounds what witness.{name} misses {_range(part)}; more bits do not help. A piece may not be long "
            "beside its distance from 0: divide it by more nodes"
        )

    def _fit(self, name: str) -> tuple[ExponentialSum, Samples]:
        of_q, of_kappa = self._samples
        return (self.fits.q, of_q) if name == "q" else (self.fits.kappa, of_kappa)

    # -- q and kappa

    @cached_property
    def _samples(self) -> tuple[Samples, Samples]:
        """Of q and of kappa, once for every precision."""
        with working_precision(2 * NODE_BITS):
            return samples(self.length, self.fits.nodes, self.fits.orders, NODE_BITS)


@dataclass(frozen=True)
class _Form:
    """constant + x'Mx, M symmetric, with the arithmetic that the formulas of `mathematics.risk_gap` need."""

    constant: fmpq
    matrix: ExactMatrix

    def __add__(self, other: _Form) -> _Form:
        return _Form(self.constant + other.constant, self.matrix + other.matrix)

    def __sub__(self, other: _Form) -> _Form:
        return _Form(self.constant - other.constant, self.matrix - other.matrix)

    def __rmul__(self, factor: fmpq) -> _Form:
        return _Form(factor * self.constant, self.matrix.scaled(factor))


def _total(missed: dict[str, arb]) -> arb:
    return sum(missed.values(), arb(0))


def _shown(value: arb) -> str:
    return str(value.mid().str(3, radius=False))


def _range(part: Miss) -> str:
    """Where it is, in words."""
    first = describe(part.first)
    return f"beyond v = {first}" if part.last is None else f"for {first} <= v <= {describe(part.last)}"


def _zero(matrix: ExactMatrix) -> ExactMatrix:
    return matrix - matrix


def _near_root(value: fmpq) -> fmpq:
    """A positive rational near the root of a positive one."""
    root = (value.p * value.q).isqrt()
    return fmpq(root if root > 0 else fmpz(1), value.q)
