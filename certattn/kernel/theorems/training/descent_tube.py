"""A tube around gradient descent over infinite prompts that descent on drawn prompts is unlikely to leave.

theta_(k+1) = theta_k - eta g_k with g_k the mean gradient on B fresh prompts, theta-bar is descent on R from the same
start with the same step, e_k = theta_k - theta-bar_k. While |e_k| <= r_k = t_k + s_k let

    rho_k  >= |I - eta H|  for the mean H of Hess R over the segment from theta-bar_k to theta_k,
    gamma_k >= |grad R_L - grad R|,      E|g|^2 <= n_k + m_k dist^2   on one prompt,

dist the distance of e_k from the ball of radius t_k. With t_1 = eta gamma_0 and any s_1 > 0, as e_0 = 0, and for k >= 1

    t_(k+1) = rho_k t_k + eta gamma_k,   s_(k+1)^2 = (rho_k^2 + eta^2 m_k / B) s_k^2,

the probability that |e_k| > r_k for some k <= K is at most  sum_k eta^2 n_k / (B s_(k+1)^2).

R = 1/2 |G|_F^2 with G = F (b M - I) quadratic in theta, |G''(e, h)| <= lam^(3/2) |e| |h| and
|G'| <= ell = (lam^3 b^2 + |F M|_F^2)^(1/2). So on |e| <= r, for every 0 < kappa <= 1,

    |G| <= (2R)^(1/2) + ell r + lam^(3/2) r^2 / 2
    H >= (1 - kappa) G'^T G' + <G, G''> - (1/kappa - 1) lam^3 r^2 / 4 - lam^(3/2) (ell r / 2 + lam^(3/2) r^2 / 6)
    H <= (ell + lam^(3/2) r)^2 + lam^(3/2) |G|.

Prompts that are used in every step have the risk 1/2 <G, S G>: see `full_batch_descent`.

`docs/claims/training/stochastic-descent.md` has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import natural_power, root
from certattn.kernel.mathematics.query_averages import triangular_factor
from certattn.kernel.mathematics.spectrum import largest_eigenvalue, smallest_eigenvalue
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training.drawn_gradients import Profiles, Region

# Any kappa proves a bound of the curvature; the best of these is taken.
_KAPPAS = (fmpq(1, 8), fmpq(1, 4), fmpq(1, 2), fmpq(1))
_NONE = fmpq(0)
# Shares of s_k: the noise grows with the distance from the core, and is looked at so far from it.
_SHARES = (fmpq(1, 8), fmpq(1, 4), fmpq(3, 8), fmpq(1, 2), fmpq(3, 4), fmpq(1))
# One of the first so many is where the bound of the noise stops to be flat.
_FLAT = 3
# ||M|| is at most so large where it is 0.
_TINY = fmpq(1, 2**20)


@dataclass(frozen=True)
class Problem:
    """Sigma, in balls, and what the moments of weights are for the lengths that are meant: None of infinite prompts."""

    covariance: ExactMatrix
    profiles: Profiles | None
    bits: int

    @cached_property
    def regression(self) -> task.Regression:
        return task.regression_of_balls(self.covariance)

    @cached_property
    def factor(self) -> arb_mat:
        """F."""
        parts = triangular_factor(self.covariance)
        assert parts is not None
        columns, pivots = parts
        each = range(len(pivots))
        roots = arb_mat([[root(arb(pivots[i])) if i == j else arb(0) for j in each] for i in each])
        found: arb_mat = task.BallMatrix.around(columns).balls * roots
        return found

    @cached_property
    def largest(self) -> arb:
        """lam."""
        return largest_eigenvalue(self.regression.covariance.balls, self.bits)

    @cached_property
    def bend(self) -> arb:
        """lam^(3/2)."""
        return self.largest * root(self.largest)

    def at(self, point: task.Parameters) -> Point:
        return Point(self, point)


def _norm(matrix: arb_mat, bits: int) -> arb:
    """The operator norm."""
    return root(largest_eigenvalue(matrix.transpose() * matrix, bits))


def square_product(P: arb_mat, Q: arb_mat) -> arb:
    """E[(g'P g) (g'Q g)] = tr P tr Q + 2 tr(P Q) for g ~ N(0, I) and symmetric P and Q."""
    found: arb = P.trace() * Q.trace() + 2 * (P * Q).trace()
    return found


@dataclass(frozen=True)
class Point:
    """What is known at theta-bar, and so of a ball around it."""

    problem: Problem
    at: task.Parameters

    @cached_property
    def scores(self) -> arb_mat:
        """M."""
        F = self.problem.factor
        found: arb_mat = F.transpose() * self.at.A.balls * F
        return found

    @cached_property
    def scores_norm(self) -> arb:
        return _norm(self.scores, self.problem.bits)

    @cached_property
    def error_norm(self) -> arb:
        """||b M - I||."""
        return _norm(self.scores * self.at.b - self.problem.regression.identity.balls, self.problem.bits)

    @cached_property
    def long_noise(self) -> arb:
        """E|gradient|^2 on one infinitely long prompt.

        Of |u|^2 |t|^2 + 2 <u, t>^2 + b^2 |x|^2 (|u|^2 tr Sigma^2 + 2 |Sigma u|^2), u = F (b M - I) g, t = F M g,
        x = F g.
        """
        F, Sigma, b = self.problem.factor, self.problem.regression.covariance.balls, self.at.b
        u, t = F * (self.scores * b - self.problem.regression.identity.balls), F * self.scores
        turned, cross = Sigma * u, u.transpose() * t
        X, U, both = F.transpose() * F, u.transpose() * u, (cross + cross.transpose()) / 2
        along_b = square_product(U, t.transpose() * t) + 2 * square_product(both, both)
        along_A = (Sigma * Sigma).trace() * square_product(X, U) + 2 * square_product(X, turned.transpose() * turned)
        found: arb = along_b + b * b * along_A
        return found

    @cached_property
    def error(self) -> arb:
        """(2R)^(1/2)."""
        return root(2 * self.problem.regression.risk(self.at))

    @cached_property
    def steepness(self) -> arb:
        """ell."""
        lam, b = self.problem.largest, self.at.b
        return root(
            natural_power(lam, 3) * b * b + natural_power(l2_norm((self.problem.factor * self.scores).entries()), 2)
        )

    def error_within(self, radius: arb) -> arb:
        """|G| on the ball."""
        return self.error + self.steepness * radius + self.problem.bend * radius * radius / 2

    def region(self, radius: arb) -> Region:
        """The ball, for what depends on draws."""
        lam, b = self.problem.largest, abs(self.at.b)
        mu = self.scores_norm + lam * radius
        slope = root(natural_power(lam * b, 2) + natural_power(self.scores_norm, 2))
        moved = slope * radius + lam * radius * radius / 2
        assert self.problem.profiles is not None
        averages = self.problem.profiles.at(mu.max(arb(_TINY)).upper())
        trace = self.problem.regression.covariance.trace()
        return Region(averages, b + radius, radius, self.error_norm, self.long_noise, moved, lam, trace)

    def expansion(self, step: fmpq, radius: arb, spread: fmpq = _NONE) -> arb:
        """rho, of 1/2 <G, S G> in the place of R, for every S >= 0 with |S - I| <= spread."""
        bend, ell = self.problem.bend, self.steepness
        kept = max(1 - spread, _NONE)
        lowest = arb.neg_inf()
        for kappa in _KAPPAS:
            lost = kept * (1 / kappa - 1) * bend * bend * radius * radius / 4
            lowest = lowest.max(self._least_curvature(kept * (1 - kappa)) - lost)
        lowest -= bend * ((1 + spread) * (ell * radius / 2 + bend * radius * radius / 6) + spread * self.error)
        return (1 - step * lowest).max(step * self.stiffest(radius, spread) - 1)

    def stiffest(self, radius: arb, spread: fmpq) -> arb:
        """The second derivatives of 1/2 <G, S G> are at most this."""
        steepest = self.steepness + self.problem.bend * radius
        return (1 + spread) * (steepest * steepest + self.problem.bend * self.error_within(radius))

    def _least_curvature(self, share: fmpq) -> arb:
        """The least eigenvalue of share G'^T G' + <G, G''>."""
        Sigma, b = self.problem.regression.covariance.balls, self.at.b
        residual = self.problem.regression.residual(self.at)
        d = Sigma.nrows()
        square, moved = Sigma * Sigma, Sigma * Sigma * self.at.A.balls * Sigma
        product = Sigma * self.at.A.balls
        last = task.BallMatrix(product * Sigma).inner(task.BallMatrix(product))
        each = [(i, j) for i in range(d) for j in range(d)]
        rows = [[share * b * b * square[i, k] * Sigma[j, m] for k, m in each] for i, j in each]
        for row, (i, j) in zip(rows, each, strict=True):
            row.append(share * b * moved[i, j] + residual.balls[i, j])
        rows.append([*(row[-1] for row in rows), share * last])
        # <G, G''> is at least -|Sigma E Sigma|_F.
        shift = l2_norm(residual.entries()).upper()
        for i in range(d * d + 1):
            rows[i][i] += shift
        return smallest_eigenvalue(arb_mat(rows), self.problem.bits) - shift

    def after(self, step: fmpq) -> Point:
        """One step of descent on R."""
        slope = self.problem.regression.gradient(self.at)
        return Point(self.problem, self.at - slope.scaled(arb(step)))


@dataclass(frozen=True)
class Tube:
    """After the last step: theta-bar, its radius, and what the probability of having left it is at most."""

    end: Point
    radius: arb
    probability: arb

    def risk(self) -> arb:
        """R_L in the tube."""
        return natural_power(self.end.error_within(self.radius), 2) / 2 + self.end.region(self.radius).gap()


def noise_near(point: Point, core: arb, width: arb, likely: arb) -> tuple[arb, arb]:
    """n and m: E|g|^2 <= n + m dist^2 up to the distance `width` from the core, best where dist^2 is `likely`."""
    noises = [point.region(core + share * width).noise() for share in _SHARES]
    best = noises[-1], arb(0)
    for i in range(_FLAT):
        slope = arb(0)
        for share, value in zip(_SHARES[i:], noises[i + 1 :], strict=False):
            slope = slope.max((value - noises[i]) / natural_power(share * width, 2))
        if (noises[i] + slope * likely < best[0] + best[1] * likely) is True:
            best = noises[i], slope
    return best


def follow(point: Point, step: fmpq, steps: int, batch: int, width: fmpq) -> Tube:
    """The tube, of which s_1 is the width; not finite where no bound is found."""
    at_start = point.region(arb(0))
    core, around = (step * at_start.slope_gap()).upper(), arb(width)
    lost = step * step * at_start.noise() / (batch * around * around)
    for _ in range(1, steps):
        point = point.after(step)
        radius = (core + around).upper()
        rho = point.expansion(step, radius).upper()
        noise, growth = noise_near(point, core, around, lost * around * around)
        core = (rho * core + step * point.region(radius).slope_gap()).upper()
        around = (around * root(rho * rho + step * step * growth / batch)).upper()
        lost += step * step * noise / (batch * around * around)
        if around.is_finite() is not True or core.is_finite() is not True:
            return Tube(point, arb.nan(), arb.nan())
    return Tube(point.after(step), (core + around).upper(), lost)
