"""Descent converges to the max-margin direction of a locally optimal selection: Lemmas 3 and 4, Theorems D and F.

Near the limit, the gradient of a softmax loss is that of the good tokens alone, up to factors close to 1.

For chosen tokens alpha put (see `token_selection`) E_j = e^{-<z_j, p>}, and with c_i = -l'(gamma_{i alpha_i})

    P(p) = sum over good j of c_j g_j E_j,     -grad F(p) = sum_j omega_j z_j,

where F = sum_i f_i(G_i) is n times the excess loss. With x = <p, u>, u the max-margin direction, put
r_t(p) = E_t e^{Xi x} for a bad token t. Lemma 3: where P(p) <= P and r_t(p) <= r_t, the weights of the good tokens are
omega_j = c_j g_j E_j (1 + eta_j) with theta_- <= 1 + eta_j <= theta_+, and those of the bad ones are at most
kappa_t r_t(p) in units of W = sum of the good weights. Every factor of theta_- has to be positive. Good tokens that
are not neighbours may be counted among the bad ones, whatever their gaps: then this is said of the others alone.

Let W_k be the sum of the good weights at p_k, m_k = h_k W_k the move of a step h_k on F, sigma_k = m_0 + ... + m_{k-1}:

    gradient     theta_- h P_k <= m_k <= theta_+ h P_k
    flow         k is time, and theta_- h P <= d sigma/dt
    normalised   s / (max |z_j| + e) <= m_k <= s / (Xi - pull)

Theorem D: from one point. A trial (`LocalTrial`) names numbers that a prover found; `LocalConvergence` computes the
sides of the conditions under which they prove that p_k -> infinity in the direction u, and the bound

    tan angle(p_k, u) <= (|q| + E + sqrt(B^2 + 2 kappa (x_k - x_0 + E_u) / Xi)) / x_k.

Theorem F, the paper's third in numbers: from every point of a cone. The starts are p with angle(p, u) at most that of
cosine 1 - mu, and |p| >= R: then x = <p, u> >= X = (1 - mu) R and |p^| <= tau_0 x with tau_0 = sqrt(1/(1 - mu)^2 - 1).
For a slope tau > tau_0 with delta_t > tau zeta_t for every bad pair and b_j > tau zeta_j for every good one, on the
cone x >= X, |p^| <= tau x

    P(p) <= sum over good j of c_j g_j e^{-(b_j - tau zeta_j) X},  r_t(p) <= e^{-nu_t X},  nu_t = delta_t - tau zeta_t,

and Lemma 3 holds with these bounds. With xi = Xi - sum kappa_t b_t r_t, moves at most m, q_P = chi Xi^2 and
kappa = (1/w) sum over good j of c_j g_j e^{-delta_j X} - 1, descent stays in that cone and goes to infinity in the
direction u if

    kappa / (2 tau xi) + zeta_g sqrt(a) + d Lambda(q_P) + sum kappa_t zeta_t r_t Lambda(nu_t xi) < (tau - tau_0) X,

where the squares of moves sum to at most a + b sigma, and zeta_g^2 b / 2 is added to kappa. Ataee Tarzanagh, Li, Zhang
and Oymak 2023, Theorem 3, which names neither mu nor R.

Notation and proofs: docs/claims/selection/selection-direction.md. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flint import arb, arb_mat, fmpq

from certattn.kernel.mathematics.balls import l2_norm
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.mathematics.functions import exp_remainder, root
from certattn.kernel.theorems.selection.mathematics.selection_constants import (
    NORMALISED,
    Cone,
    Rule,
    SelectionConstants,
    largest,
    least,
)

# -- Lemmas 3 and 4


def input_factors(slope: arb, curvature: arb, gap: fmpq, lost: arb, top: arb, bottom: arb) -> list[arb]:
    """The factors of theta_- at one input: 1 - s, 1 - A/g, 1 - M0 B / c.

    c is the slope -l' at the chosen score, M0 the largest curvature of the loss on the scores, g the smallest gap of
    a good token. At most s is what the chosen token's weight lacks of 1; and -B <= G <= A for the gap G of the mean.
    """
    return [1 - lost, 1 - top / gap, 1 - curvature * bottom / slope]


def smallest_weight(factors: Sequence[arb]) -> arb:
    """theta_- at one input: (1 - s) min(1 - A/g, 1 - M0 B / c)."""
    chosen, above, below = factors
    return chosen * minimum(above, below)


def largest_weight(slope: arb, curvature: arb, gap: fmpq, top: arb, bottom: arb) -> arb:
    """theta_+ at one input: 1 + max(M0 A / c, B / g)."""
    return 1 + (curvature * top / slope).max(bottom / gap)


def other_weight(slope: arb, curvature: arb, steepest: arb, gap: fmpq, top: arb, bottom: arb) -> arb:
    """min(M1, c + M0 A) max(A - g_t, B + g_t), of a token of any gap g_t: kappa_t is this over theta_- w."""
    return minimum(steepest, slope + curvature * top) * (top - gap).max(bottom + gap)


def spread_of_means(low: arb, high: arb, diameter: arb) -> arb:
    """(r - 1)/4 D for r = theta_+/theta_-: how far the means of points of diameter D under both weights are apart.

    Two probability vectors whose ratio lies within a factor r of itself have total variation distance at most
    (sqrt r - 1)/(sqrt r + 1) <= (r - 1)/4.
    """
    return (high / low - 1) * diameter / 4


def progress(spread: arb, error: arb, move: arb, diameter: arb, margin: arb) -> arb:
    """chi of Lemma 4: a step that moves sum of weights * step = m multiplies P by at most e^{-chi Xi^2 m}.

    chi = 1 - d/Xi - (1 + d/Xi) e/Xi - D^2/8 m (1 + e/Xi)^2.
    """
    apart, off = spread / margin, error / margin
    return 1 - apart - (1 + apart) * off - diameter * diameter / 8 * move * (1 + off) * (1 + off)


def decaying_sum(rate: arb, move: arb) -> arb:
    """Lambda(s) = m / (1 - e^{-s m}), 1/s for m = 0: at least sum_k m_k e^{-s (m_0 + ... + m_{k-1})} for 0 <= m_k <= m.

    For s > 0. For small s m it is written as 1 / (s phi(-s m)) with phi(y) = (e^y - 1)/y, which loses no digits.
    """
    if rate * move >= 1:
        return move / (1 - (-rate * move).exp())
    return 1 / (rate * exp_remainder(1, -rate * move))


def minimum(x: arb, y: arb) -> arb:
    return -(-x).max(-y)


class NearbyWeights:
    """Lemma 3 where P(p) <= `level` and r_t(p) <= `reaches[t]` for every bad pair t, with the constants of a selection.

    What is said of the weights holds only where `smallest_factor`, the smallest factor of theta_- over the inputs with
    good tokens, is proved to be positive.

    Attributes: `low` is theta_- and `high` theta_+; the weight of a bad token t is at most `kappas[t]` r_t W in size;
    `spread` is d: the mean of the good z_j under the weights omega_j is within d of that under c_j g_j E_j; `error`
    is e: the bad tokens contribute at most e W to the gradient, in norm; `forward` is Xi - sum of kappa_t b_t r_t: the
    progress along u is at least this, per W.
    """

    def __init__(self, constants: SelectionConstants, level: arb, reaches: Mapping[int, arb]) -> None:
        self.constants = k = constants
        self.level, self.reaches = level, reaches
        # R_i = sum r_t / w of the inputs; A_i / P and B_i / P, with the sums of |g_t| r_t / w of gaps of either sign.
        self.sums = sums = dict.fromkeys(k.scores, arb(0))
        rises = {i: 1 / k.slopes[i] if i in k.smallest_gaps else arb(0) for i in k.scores}
        falls = dict.fromkeys(k.scores, arb(0))
        for t, reach in reaches.items():
            i, gap = k.input_of[t], k.selection.gaps[t]
            sums[i] += reach / k.concentration
            (rises if gap > 0 else falls)[i] += abs(gap) * (reach / k.concentration)
        good, parts = k.smallest_gaps.items(), {i: (level * rises[i], level * falls[i]) for i in k.scores}
        lost = {i: level * (1 / (k.slopes[i] * gap) + sums[i]) for i, gap in good}
        factors = [input_factors(k.slopes[i], k.bends[i], gap, lost[i], *parts[i]) for i, gap in good]
        self.smallest_factor = least(factor for found in factors for factor in found)
        self.low = least(smallest_weight(found) for found in factors)
        self.high = largest(largest_weight(k.slopes[i], k.bends[i], gap, *parts[i]) for i, gap in good)
        self.kappas = {}
        for t in reaches:
            i = k.input_of[t]
            weight = other_weight(k.slopes[i], k.bends[i], k.steepest[i], k.selection.gaps[t], *parts[i])
            self.kappas[t] = weight / (self.low * k.concentration)
        self.spread = arb(spread_of_means(self.low, self.high, k.good_diameter))
        self.error = self.total(k.lengths)
        self.forward = k.margin - self.total(k.heights)

    def total(self, factors: Mapping[int, arb] | Sequence[arb]) -> arb:
        """sum of kappa_t r_t factor_t over the bad tokens."""
        return sum((self.kappas[t] * factors[t] * reach for t, reach in self.reaches.items()), arb(0))

    def least_weight(self, level: arb) -> arb:
        """Of the chosen tokens' softmax weights, where P(p) is at most `level`: 1 / (1 + P (1 / (c_i g_i) + R_i))."""
        k, gaps = self.constants, self.constants.smallest_gaps
        good = {i: 1 / (k.slopes[i] * gaps[i]) if i in gaps else arb(0) for i in k.scores}
        return least(1 / (1 + level * (good[i] + self.sums[i])) for i in k.scores)

    def excess(self, level: arb) -> arb:
        """A bound of F where P(p) is at most `level`: Q (1 + Q/2 max_i M0_i / c_i^2) with Q = P (1 + the sum of c_i g_t
        r_t / w over those t with g_t > 0), over inputs with tokens of a smaller score."""
        k, rising = self.constants, [t for t in self.reaches if self.constants.selection.gaps[t] > 0]
        inputs = dict.fromkeys([*k.smallest_gaps, *(k.input_of[t] for t in rising)])
        parts = (k.slopes[k.input_of[t]] * k.selection.gaps[t] * self.reaches[t] / k.concentration for t in rising)
        total, bend = level * (1 + sum(parts, arb(0))), largest(k.bends[i] / k.slopes[i] ** 2 for i in inputs)
        return total * (1 + total * bend / 2)


# -- the moves of a rule where `near` holds from p_0 on


def longest_move(rule: Rule, near: NearbyWeights) -> arb:
    """A bound of every move m_k; 0 for the flow."""
    if rule.kind == NORMALISED:
        return rule.unit / near.forward
    return rule.unit * near.high * near.level if rule.discrete else arb(0)


def squares(rule: Rule, move: arb, rate: arb) -> tuple[arb, arb]:
    """(a, b) with m_0^2 + ... + m_{k-1}^2 <= a + b sigma_k, where P_k <= P e^{-rate sigma_k} and m_k <= `move`."""
    if rule.kind == NORMALISED:
        return arb(0), move
    return (move * decaying_sum(rate, move) if rule.discrete else arb(0)), arb(0)


def level_after(rule: Rule, near: NearbyWeights, rate: arb, elapsed: fmpq, total: arb) -> arb:
    """A bound of P_k for every k from `elapsed` after p_0 on, where P falls by e^{-rate m} with every move m.

    sigma_k >= `total` then. And 1/P_{k+1} >= e^{rate m_k} / P_k with m_k >= h theta_- P_k, but for normalised steps.
    """
    pace = arb(0) if rule.kind == NORMALISED else rate * near.low * rule.unit
    return (1 / (1 / near.level + pace * elapsed)).min(near.level * (-rate * total).exp())


# -- a point, and the direction u


def product(row: list[fmpq], point: list[arb]) -> arb:
    """<z, p>."""
    return sum((entry * x for entry, x in zip(row, point, strict=True)), arb(0))


def across_direction(k: SelectionConstants, vector: ExactMatrix) -> ExactMatrix:
    """The part of a vector across u, exactly."""
    solution = k.solution.solution
    return vector - solution.scaled(vector.inner(solution) / k.solution.norm_squared)


def level_at(k: SelectionConstants, point: list[arb]) -> arb:
    """P."""
    products = (k.differences * arb_mat([[x] for x in point])).entries()
    return sum((gain * (-products[j]).exp() for j, gain in k.gains.items()), arb(0))


def shortfall_of_tangent(tangent: arb) -> arb:
    """1 - cos of an acute angle, 1 - 1/r with r^2 = 1 + tan^2; at most 1."""
    square = tangent**2
    root = (1 + square).sqrt()
    # 1 - 1/r = (r^2 - 1) / (r (r + 1)), without cancellation
    return (square / (root * (root + 1))).min(arb(1))


# -- Theorem D


@dataclass(frozen=True)
class LocalTrial:
    """The numbers of a proof: hints, which can only make it fail.

    `reference` is any vector: its part across u is q. lambda_t = `fractions[t]` delta_t Xi for a bad token t,
    0 < fraction < 1. `inflation` is Omega, `setback` E_u, `progress` chi and `move` the bound of a step's move.
    Good tokens of slack at most `near` are counted with the neighbours; so much of the sideways drift E_s as `sideways`
    is allowed for in the reaches beforehand.
    """

    reference: ExactMatrix
    fractions: dict[int, fmpq]
    inflation: fmpq
    setback: fmpq
    progress: fmpq
    move: fmpq
    near: fmpq
    sideways: fmpq


class LocalConvergence:
    """Theorem D from the point p_0 = `start`, a ball for every coordinate: what is enclosed holds at all its points.

    Attributes: `level` is P_0; `first_reaches` are the r~_t = exp(-delta_t x_0 - <z_t^, q> + zeta_t (B + s)
    + zeta_t^2 kappa / (2 lambda_t)), s = `sideways`, and `fades` the Lambda_t = Lambda(delta_t Xi - lambda_t); `near`
    is Lemma 3 with the bounds that hold along the whole run, P_0 and r_t = Omega r~_t.
    What conditions ask: `longest_move` is what the trial's move has to bound, `proved_progress` the chi of Lemma 4,
    which its progress must not exceed; `contraction` is S = zeta_bad (E_s - s)^+ + sum of kappa_t beta_t r~_t Lambda_t
    with beta_t = max_j (delta_j b_t + zeta_j zeta_t) and E_s = d Lambda(q_P) = `spread_total`, and
    `drift` the sum of kappa_t b_t r_t Lambda_t that E_u has to bound.
    What follows: tan angle(p_k, u) <= C/x + sqrt(A/x^2 + G/x) for x = x_k, with C = |q| + E the `lateral` part,
    E = E_s + sum of kappa_t zeta_t r_t Lambda_t, `growth` G = 2 kappa / Xi, and `square`
    A = B^2 - 2 kappa (x_0 - E_u) / Xi.
    """

    def __init__(self, constants: SelectionConstants, rule: Rule, start: list[arb], trial: LocalTrial) -> None:
        self.constants, self.rule, self.start, self.trial = constants, rule, start, trial
        k, slacks, widths, move = constants, constants.slacks, constants.widths, arb(trial.move)
        solution, norm_squared = k.solution.solution, k.solution.norm_squared
        # x_0 = <p_0, u>, and x_0 - E_u: no x_k is smaller.
        along = product(solution.row(0), start)
        distance = along * k.margin
        self.closest = distance - trial.setback
        # q, the part of the reference across u, exactly; y_0 = |p_0^ - q|, where p_0^ is the part of p_0 across u.
        q = across_direction(k, trial.reference)
        point, share, reference = solution.row(0), along / norm_squared, q.row(0)
        offset = l2_norm([p - share * m - x for p, m, x in zip(start, point, reference, strict=True)])
        self.level = level_at(k, start)
        # q_P = chi Xi^2: P_k <= P_0 e^{-q_P sigma_k}.
        self.rate = trial.progress * k.margin**2
        squares_of_moves, lasting_squares = squares(rule, move, self.rate)
        # c_j g_j / w e^{-delta_j x - <z_j^, q>} of a good token j; the <z_j^, q> are exact.
        # The <z_j^, q> are the <z_j, q>: q has no part along u.
        tilts = (k.selection.differences @ q.T).T.row(0)
        shares = {j: k.gains[j] / k.concentration * (-slacks[j] * self.closest - tilts[j]).exp() for j in k.good}
        lasting = [j for j in k.good if k.solution.slacks[j] <= trial.near]
        # kappa: what the neighbours' part of Phi(q)/w - 1 and the squares of moves add per unit of sigma_k. The
        # neighbours' part is >= 0 (Jensen's inequality), whatever its ball holds.
        neighbours = sum((shares[j] for j in lasting), arb(0)) - 1
        excess = neighbours.nonnegative_part() + k.good_width**2 * lasting_squares / 2
        # B = sqrt(y_0^2 + 2 K + zeta_g^2 a): the part of |p_k^ - q| that does not grow.
        faded = [shares[j] * decaying_sum(slacks[j] * k.margin, move) for j in k.good if j not in lasting]
        width = root(offset**2 + 2 * sum(faded, arb(0)) + k.good_width**2 * squares_of_moves)
        # The reaches, with lambda_t a fraction of delta_t Xi.
        exponents = {t: trial.fractions[t] * slacks[t] * k.margin for t in k.bad}
        self.first_reaches = {}
        for t, exponent in exponents.items():
            lateral = widths[t] * (width + trial.sideways) + widths[t] ** 2 * excess / (2 * exponent)
            self.first_reaches[t] = (-slacks[t] * distance - tilts[t] + lateral).exp()
        rates = {t: (1 - trial.fractions[t]) * slacks[t] * k.margin for t in k.bad}
        self.fades = {t: decaying_sum(rate, move) for t, rate in rates.items()}
        reaches = {t: trial.inflation * reach for t, reach in self.first_reaches.items()}
        self.near = near = NearbyWeights(k, self.level, reaches)
        # The sides of the conditions.
        self.longest_move = longest_move(rule, near)
        self.proved_progress = arb(progress(near.spread, near.error, move, k.good_diameter, k.margin))
        self.spread_total = spread_total = near.spread * decaying_sum(self.rate, move)
        beyond = (spread_total - trial.sideways).max(arb(0))
        # zeta_bad is the largest zeta_t, 0 without any bad token.
        self.contraction = largest([arb(0), *(widths[t] for t in k.bad)]) * beyond
        for t, reach in self.first_reaches.items():
            beta = largest(slacks[s] * k.heights[t] + widths[s] * widths[t] for s in k.bad)
            self.contraction += near.kappas[t] * beta * reach * self.fades[t]
        self.drift = near.total({t: k.heights[t] * fade for t, fade in self.fades.items()})
        # What follows.
        bad_total = near.total({t: widths[t] * fade for t, fade in self.fades.items()})
        self.lateral = l2_norm([arb(entry) for entry in reference]) + (spread_total + bad_total)
        self.growth = 2 * excess / k.margin
        self.square = width**2 - self.growth * self.closest

    def pace(self, elapsed: fmpq) -> tuple[arb, arb]:
        """(b, c) with Xi x_k >= log(b + c (k - k0)) for k >= k0, k0 being `elapsed` after p_0.

        1/P_k >= 1/P_0 + pace k for every k: 1/P_{k+1} >= e^{rate m_k} / P_k, m_k >= h theta_- P_k. Of normalised
        steps P_k falls faster than that, which <p_k, u> grows with by itself.
        """
        weight, rule = self.constants.concentration, self.rule
        pace = arb(0) if rule.kind == NORMALISED else self.rate * self.near.low * rule.unit
        return weight * (1 / self.level + pace * elapsed), weight * pace

    def moved(self, elapsed: fmpq) -> arb:
        """A lower bound of sigma_k for every k from `elapsed` after p_0 on: of normalised steps, 0 for the others."""
        k = self.constants
        if self.rule.kind != NORMALISED:
            return arb(0)
        return self.rule.unit * elapsed / (largest(k.lengths[j] for j in k.good) + self.near.error)

    def farthest(self, elapsed: fmpq) -> arb:
        """A lower bound of x_k for every k from `elapsed` after p_0 on; positive under the conditions."""
        k = self.constants
        return arb((self.closest + k.margin * self.moved(elapsed)).max(self.pace(elapsed)[0].log() / k.margin))

    def tangent(self, elapsed: fmpq) -> arb:
        """A bound of tan angle(p_k, u) for every k from `elapsed` after p_0 on.

        Of x = x_k only a lower bound is known. In v = 1/x the bound is C v + sqrt(A v^2 + G v), and A v^2 + G v
        increases on (0, 1/x] where 2 A/x + G >= 0; where this is not proved, A is replaced by max(A, 0), with which
        it does.
        """
        inverse, square = 1 / self.farthest(elapsed), self.square
        if (2 * square * inverse + self.growth >= 0) is not True:
            square = square.max(arb(0))
        return arb(self.lateral * inverse + root(square * inverse**2 + self.growth * inverse))

    def at(self, elapsed: fmpq) -> arb:
        """A bound of 1 - cos angle(p_k, u) for every k from `elapsed` after p_0 on: 1 - 1/sqrt(1 + tan^2), at most 1 as
        the angle is acute."""
        return shortfall_of_tangent(self.tangent(elapsed))

    def _level(self, elapsed: fmpq) -> arb:
        return level_after(self.rule, self.near, self.rate, elapsed, self.moved(elapsed))

    def least_weight(self, elapsed: fmpq) -> arb:
        """A lower bound of the chosen tokens' weights for every k from `elapsed` after p_0 on."""
        return self.near.least_weight(self._level(elapsed))

    def loss_gap(self, elapsed: fmpq) -> arb:
        """An upper bound of L less its limit then."""
        return self.near.excess(self._level(elapsed)) / self.rule.inputs

    def least_norm(self, elapsed: fmpq) -> arb:
        """A lower bound of |p_k| >= x_k then."""
        return self.farthest(elapsed)

    def proved(self, elapsed: fmpq) -> tuple[arb, arb, arb, arb, arb]:
        """(A, S, G, B, C) with tan <= (A + sqrt(S + G l)) / l, l = log(B + C (k - k0)), k0 being `elapsed` after p_0.

        A = Xi (|q| + E), S = Xi^2 (B^2 - 2 kappa (x_0 - E_u) / Xi), G = 2 kappa; and 1 - cos <= tan^2 / 2.
        """
        margin = self.constants.margin
        return margin * self.lateral, margin**2 * self.square, margin * self.growth, *self.pace(elapsed)


# -- Theorem F


class ConeConvergence:
    """Theorem F from every point of `cone`, inside the wider one of tangent `slope` = tau.

    Attributes: `narrowness` is the smallest b_j - tau zeta_j of the good pairs and nu_t of the bad ones: the wider
    cone is narrow enough where it is positive. `near` is Lemma 3 on it, `progress` the chi of Lemma 4. `deviation` is
    how far descent may stray from the narrower cone's side: below `room` = (tau - tau_0) X where the theorem holds.
    """

    def __init__(self, constants: SelectionConstants, rule: Rule, cone: Cone, slope: fmpq) -> None:
        k, distance = constants, arb((1 - cone.opening) * cone.norm)
        self.constants = constants
        approaches = {j: k.heights[j] - slope * k.widths[j] for j in k.good}
        retreats = {t: k.slacks[t] - slope * k.widths[t] for t in k.bad}
        self.narrowness = least([*approaches.values(), *retreats.values()])
        level = sum((k.gains[j] * (-approach * distance).exp() for j, approach in approaches.items()), arb(0))
        reaches = {t: (-retreat * distance).exp() for t, retreat in retreats.items()}
        self.near = near = NearbyWeights(k, level, reaches)
        move = longest_move(rule, near)
        self.progress = arb(progress(near.spread, near.error, move, k.good_diameter, k.margin))
        # q_P = chi Xi^2.
        rate = self.progress * k.margin**2
        squares_of_moves, lasting_squares = squares(rule, move, rate)
        # kappa >= 0 (Jensen's inequality), with what the squares of moves add per unit of sigma.
        excess = arb(-1)
        for j in k.good:
            excess += k.gains[j] / k.concentration * (-k.slacks[j] * distance).exp()
        excess = excess.nonnegative_part() + k.good_width**2 * lasting_squares / 2
        lasting = excess / (2 * slope * near.forward)
        lateral = k.good_width * root(squares_of_moves) + near.spread * decaying_sum(rate, move)
        fades = {t: decaying_sum(retreat * near.forward, move) for t, retreat in retreats.items()}
        self.deviation = lasting + lateral + near.total({t: k.widths[t] * fade for t, fade in fades.items()})
        self.room = (slope - cone.slope()) * distance
