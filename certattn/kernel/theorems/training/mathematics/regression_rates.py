"""How fast the regression risk falls along gradient flow and descent, from where a run is.

R(A, b) = 1/2 tr(E Sigma E'), E = b Sigma A - I, and delta = |A|_F^2 - b^2. Let l and lam be the extreme eigenvalues of
Sigma, and r = sqrt(2R) = |E Sigma^(1/2)|_F. Because bA = Sigma^-1 (I + E),

    m <= |bA|_F <= M,   m = max(0, (tr Sigma - r sqrt(tr Sigma)) / sqrt(tr Sigma^4),
                                   (tr Sigma^-2 - r sqrt(tr Sigma^-5)) / sqrt(tr Sigma^-2)),
                        M = sqrt(tr Sigma^-2) + r / l^(3/2).

b^2 (b^2 + delta) = |bA|_F^2 turns a bound p of |bA|_F into one of b^2,

    z(delta, p) = (sqrt(delta^2 + 4p^2) - delta) / 2,

and |grad R|^2 >= b^2 |Sigma E Sigma|_F^2 >= 2 l^3 b^2 R. m and the rates fall as R and delta grow, M and the curvature
grow with R: what is proved at one point of a run, where R only falls, holds ever after.

Levels. Let log R fall at least at the rate s(r) wherever R <= r, with s >= 0 and decreasing in r. From R_0, R is at
most R_j = f^j R_0 (f = 3/4) after

    T_j = sum_{i < j} n_i,     n_i >= log(1/f) / s(R_i),  rounded up to whole steps for descent,

and at most R_j e^(-s(R_j) (t - T_j)) at every later t: a staircase that costs no step of the run itself, and reaches
the rate of the limit however small the first one is. The flow's path is as short: -d sqrt(R) >= sqrt(c/2) |d theta|
where R falls at the rate 2c, so between two levels it is no longer than sqrt(2/c(R_j)) (sqrt(R_j) - sqrt(R_(j+1))), and
from the last one on than sqrt(2R_j/c(R_j)).

Proofs: docs/claims/training/training-convergence.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flint import arb, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import Functions, Number
from certattn.kernel.mathematics.spectrum import largest_eigenvalue
from certattn.kernel.theorems.training.mathematics.regression import (
    BallMatrix,
    Parameters,
    Regression,
    flat,
    shaped,
    squared_factor,
)


@dataclass(frozen=True)
class CovarianceConstants:
    """What the rates know of Sigma: its extreme eigenvalues, and traces of its powers."""

    smallest: Number
    largest: Number
    trace: Number
    trace_fourth: Number
    trace_inverse_second: Number
    trace_inverse_fifth: Number

    def least_product(self, risk: Number, fn: Functions) -> Number:
        """m: a lower bound of |bA|_F where the risk is at most so large."""
        root = fn.sqrt(2 * risk)
        far = (self.trace - root * fn.sqrt(self.trace)) / fn.sqrt(self.trace_fourth)
        inverse_second = self.trace_inverse_second
        near = (inverse_second - root * fn.sqrt(self.trace_inverse_fifth)) / fn.sqrt(inverse_second)
        return fn.maximum(fn.maximum(far, near), 0 * risk)

    def bayes_product(self, fn: Functions) -> Number:
        """sqrt(tr Sigma^-2): |bA|_F where R = 0."""
        return fn.sqrt(self.trace_inverse_second)

    def largest_product(self, risk: Number, fn: Functions) -> Number:
        """M: an upper bound of |bA|_F there."""
        return self.bayes_product(fn) + fn.sqrt(2 * risk) / fn.sqrt(self.smallest) / self.smallest


def covariance_constants(covariance: ExactMatrix, bits: int) -> CovarianceConstants:
    """The constants of a positive definite Sigma at the working precision `bits`; not finite where that is too low."""
    sigma = BallMatrix.around(covariance)
    inverse = BallMatrix(sigma.balls.inv(nonstop=True))
    square, inverse_square = sigma @ sigma, inverse @ inverse
    return CovarianceConstants(
        smallest=1 / largest_eigenvalue(inverse.balls, bits),
        largest=largest_eigenvalue(sigma.balls, bits),
        trace=sigma.trace(),
        trace_fourth=square.inner(square),
        trace_inverse_second=inverse_square.trace(),
        trace_inverse_fifth=inverse_square.inner(inverse_square @ inverse),
    )


@dataclass(frozen=True)
class FlowRates:
    """The flow (A, b)' = -grad R with the invariant delta, from a point whose risk is given."""

    constants: CovarianceConstants
    invariant: Number
    fn: Functions

    def rate(self, risk: Number) -> Number:
        """c = l^3 z(delta, m): from there on R falls at least like e^(-2ct), and b^2 >= c / l^3."""
        l = self.constants.smallest  # noqa: E741 - the mathematical name
        return l * l * l * squared_factor(self.invariant, self.constants.least_product(risk, self.fn), self.fn)

    def decay(self, risk: Number) -> Number:
        """2c: log R falls at least so fast there, and no path from there is longer than sqrt(2R/c)."""
        return 2 * self.rate(risk)

    def limit_square(self) -> Number:
        """z(delta, sqrt(tr Sigma^-2)): b^2 of the Bayes points with this invariant."""
        return squared_factor(self.invariant, self.constants.bayes_product(self.fn), self.fn)


@dataclass(frozen=True)
class DescentRates:
    """Descent with a step eta from a point with risk R_0 and invariant delta_0.

    Let D = 2 eta R_0 and beta be the bound of second derivatives for |delta - delta_0| <= D and R <= R_0. Where
    eta beta <= 1, with kappa = 1 - eta beta / 2,

        R_(k+1) <= R_k - eta kappa |grad R_k|^2,      |delta_k - delta_0| <= eta (R_0 - R_k) / kappa <= D,

    and so with the rate c = kappa l^3 z(delta_0 + D, m): R_(k+1) <= (1 - 2 eta c) R_k, and no path from a point with
    risk R is longer than sqrt(2R / (kappa c)).
    """

    constants: CovarianceConstants
    invariant: Number
    step: Number
    first_risk: Number
    fn: Functions

    @property
    def drift(self) -> Number:
        """D = 2 eta R_0."""
        return 2 * self.step * self.first_risk

    def least_square(self, risk: Number) -> Number:
        """z(delta_0 + D, m) <= b^2."""
        return squared_factor(self.invariant + self.drift, self.constants.least_product(risk, self.fn), self.fn)

    def largest_square(self, risk: Number) -> Number:
        """z(delta_0 - D, M) >= b^2."""
        return squared_factor(self.invariant - self.drift, self.constants.largest_product(risk, self.fn), self.fn)

    def curvature_by_norms(self, risk: Number) -> Number:
        """lam^3 (|A|_F^2 + b^2), where |A|_F^2 + b^2 <= sqrt((|delta_0| + D)^2 + 4M^2)."""
        lam, M = self.constants.largest, self.constants.largest_product(risk, self.fn)
        invariant = self.fn.absolute(self.invariant) + self.drift
        return lam * lam * lam * self.fn.sqrt(invariant * invariant + 4 * M * M)

    def curvature_at(self, square: Number, risk: Number) -> Number:
        """lam^3 b^2 + (sqrt(tr Sigma) + r)^2 / b^2 for a value of b^2."""
        lam = self.constants.largest
        root = self.fn.sqrt(self.constants.trace) + self.fn.sqrt(2 * risk)
        return lam * lam * lam * square + root * root / square

    def rest_of_curvature(self, risk: Number) -> Number:
        """lam^(3/2) r >= |Sigma E Sigma|_F."""
        lam = self.constants.largest
        return lam * self.fn.sqrt(lam) * self.fn.sqrt(2 * risk)

    def smoothness(self, risk: Number) -> Number:
        """beta >= |Hess R|: by norms, or by the convex bound in b^2 at the ends of its range where b is not near 0."""
        bound = self.curvature_by_norms(risk)
        least, largest = self.least_square(risk), self.largest_square(risk)
        if (least > 0) is True:
            ends = self.fn.maximum(self.curvature_at(least, risk), self.curvature_at(largest, risk))
            bound = -self.fn.maximum(-ends, -bound)
        return bound + self.rest_of_curvature(risk)

    def share(self, risk: Number) -> Number:
        """kappa = 1 - eta beta / 2."""
        return 1 - self.step * self.smoothness(risk) / 2

    def rate(self, risk: Number) -> Number:
        """c = kappa l^3 z(delta_0 + D, m)."""
        l = self.constants.smallest  # noqa: E741 - the mathematical name
        return self.share(risk) * l * l * l * self.least_square(risk)

    def wander(self, risk: Number) -> Number:
        """eta R / kappa: |A|_F^2 - b^2 changes by no more from there on."""
        return self.step * risk / self.share(risk)

    def factor(self, risk: Number) -> Number:
        """1 - 2 eta c: by which every step from there on multiplies the risk at most."""
        return 1 - 2 * self.step * self.rate(risk)

    def decay(self, risk: Number) -> Number:
        """-log(1 - 2 eta c): log R falls at least so much in a step."""
        return -self.fn.log(self.factor(risk))

    def length(self, risk: Number) -> Number:
        """sqrt(2R / (kappa c)): no path from there is longer."""
        return self.fn.sqrt(2 * risk / (self.share(risk) * self.rate(risk)))


@dataclass(frozen=True)
class RegressionStep:
    """theta -> theta - eta grad R(theta), for `descend`; `largest` is lam.

    With S = Sigma E Sigma, the second derivatives of R lie between -|S|_F and lam^3 |theta|^2 + |S|_F: along (H, h)
    they are |D Sigma^(1/2)|^2 + 2 h tr(H'S) with D = h Sigma A + b Sigma H. So a step changes distances at most by the
    factor max(1 + eta |S|_F, eta (lam^3 |theta|^2 + |S|_F) - 1).
    """

    regression: Regression
    largest: arb
    step: arb

    def of(self, point: list[arb]) -> list[arb]:
        """Where the step leads."""
        slope = flat(self.regression.gradient(self._at(point)))
        return [x - self.step * g for x, g in zip(point, slope, strict=True)]

    def expansion(self, box: list[arb]) -> arb:
        """A bound of how much the step expands distances in the box."""
        residual, length = l2_norm(self.regression.residual(self._at(box)).entries()), l2_norm(box)
        upward = self.largest**3 * length * length + residual
        return (1 + self.step * residual).max(self.step * upward - 1)

    def _at(self, point: list[arb]) -> Parameters:
        return shaped(point, self.regression.covariance.rows)


# -- the risk at a later time, bounded by rates alone

# The risk falls by the factor f from level to level; after so many the last rate is kept.
_FALL = fmpq(3, 4)
_LEVELS = 256


def risk_after(duration: fmpq, risk: arb, decay: Callable[[arb], arb], whole: bool) -> arb:
    """A bound of R so long after it was `risk`; `whole` for descent, whose time goes in steps."""
    level, spent = risk, arb(0)
    fall = -arb(_FALL).log()
    for _ in range(_LEVELS):
        need = (fall / decay(level)).upper()
        if need.is_finite() is not True:
            break
        reached = (spent + (need.ceil() if whole else need)).upper()
        if (reached <= duration) is not True:
            break
        level, spent = level * _FALL, reached
    return level * (-decay(level) * (arb(duration) - spent)).exp()


def length_below(risk: arb, rate: Callable[[arb], arb]) -> arb:
    """A bound of the length of the flow's path from where R is `risk`; `rate` is c."""
    level, total = risk, arb(0)
    kept = 1 - arb(_FALL).sqrt()
    for _ in range(_LEVELS):
        total += (2 * level / rate(level)).sqrt() * kept
        level = level * _FALL
    return total + (2 * level / rate(level)).sqrt()
