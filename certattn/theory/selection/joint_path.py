"""Checks: the label-margin condition and the steps of the joint regularisation path."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, equal_logarithms, positive
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, expression, forms
from certattn.theory.symbols import positive_symbol, positive_vector, real, vector

Expr = Any


def _number(value: Expr) -> SymbolicNumber:
    return SymbolicNumber(value)


def check_condition(kernel: Kernel) -> Iterator[Check]:
    """|Gamma u - q|^2 = Gamma^2 - 2 Gamma <u, q> + |q|^2, and |q|^2 is at most the mean of squares."""
    gamma, angle = positive_symbol("Gamma"), real("phi")
    u = sympy.Matrix([sympy.cos(angle), sympy.sin(angle)])
    q = sympy.Matrix(vector("q", 2))
    gap = gamma**2 - (gamma * u - q).dot(gamma * u - q)
    yield equal("the gap of the squares", sympy.trigsimp(sympy.expand(gap)), 2 * gamma * u.dot(q) - q.dot(q))
    for count in (2, 3):
        masses = positive_vector("m", count)
        weights = [mass / sum(masses) for mass in masses]
        points = [sympy.Matrix(vector(f"w{i}", 2)) for i in range(count)]
        mean = sum((w * x for w, x in zip(weights, points, strict=True)), sympy.zeros(2, 1))
        squares = sum(w * x.dot(x) for w, x in zip(weights, points, strict=True))
        spread = sum(
            weights[i] * weights[k] * (points[i] - points[k]).dot(points[i] - points[k])
            for i, k in itertools.combinations(range(count), 2)
        )
        yield equal(f"mean of squares - square of the mean, {count} points", squares - mean.dot(mean), spread)
    yield from _check_pairs(kernel)


def _check_pairs(kernel: Kernel) -> Iterator[Check]:
    """2 Gamma h - |x - x'|^2 for one pair, as the kernel has it, with u = v / |v| and Gamma = 1 / |v|."""
    v, x, other = (sympy.Matrix([positive_vector(name, 2)]) for name in ("v", "x", "y"))
    module, exact = kernel.joint_path, kernel.exact
    tokens = kernel.token_selection.Tokens(exact(sympy.Matrix.vstack(x, other)), (2,))
    selection = kernel.token_selection.Selection(tokens, (0,))
    solution = kernel.margin_points.MaxMargin(exact(v), {0: _number(1)}, (_number(1),))
    found = module.LabelMargin(tokens.keys, selection, solution)
    size = sympy.sqrt(v.dot(v))
    pair = 2 / size * (v / size).dot(x - other) - (x - other).dot(x - other)
    yield equal("2 Gamma h - |x - x'|^2 over 2 Gamma", expression(found.drop_by_pairs()), pair * size / 2)


def check_second_order(kernel: Kernel) -> Iterator[Check]:
    """The combination of Gamma u with one input whose weight x on other tokens leads away from it; and with the mean of
    inputs that attend to other tokens, whose norm is at most Gamma - nu."""
    gamma, h, rho, nu, x, tau = (positive_symbol(name) for name in ("Gamma", "h", "rho", "nu", "x", "tau"))
    u, other, theta = sympy.Matrix([1, 0]), sympy.Matrix(vector("d", 2)), real("theta")
    mixed = (1 - theta) * gamma * u + theta * (gamma * u - other)
    square = gamma**2 - 2 * theta * gamma * u.dot(other) + theta**2 * other.dot(other)
    yield equal("the square of the combination", sympy.expand(mixed.dot(mixed)), sympy.expand(square))
    taken = tau * h - tau**2 * rho**2 / (2 * gamma)
    least = (gamma**2 - 2 * tau * x * gamma * (x * h) + (tau * x) ** 2 * rho**2).expand()
    yield equal("with theta = tau x, <u, d> = x h and |d| = rho", least, (gamma**2 - 2 * gamma * taken * x**2).expand())
    share = sympy.Min(gamma * h / rho**2, nu / (h + rho + nu))
    found = expression(kernel.joint_path.second_order(*map(_number, (gamma, h, rho, nu))))
    yield equal("what the kernel takes off", found, taken.subs(tau, share))
    largest = nu / (h + rho + nu)
    far = (1 - largest) * (gamma - nu) + largest * (gamma + rho)
    yield equal("with the largest tau other choices lose tau h", sympy.together(gamma - far), largest * h)


def check_exponentials(kernel: Kernel) -> Iterator[Check]:
    """sum_i e^{-y_i} for both losses, from their sum."""
    bounds, losses = kernel.joint_path, kernel.losses
    margins = vector("y", 3)
    numbers = [_number(y) for y in margins]
    for name in ("exponential", "logistic"):
        total = expression(bounds.exponential_sum(name, numbers))
        powers = [sympy.exp(-y) for y in margins]
        loss = losses.LOSSES[name]
        for y, number, power in zip(margins, numbers, powers, strict=True):
            value = expression(loss.value(number))
            undone = value if name == "exponential" else sympy.exp(value) - 1
            yield equal(f"{name}: e^(-y) from the loss at {y}", undone, power)
        wanted = sum(powers) if name == "exponential" else sympy.prod([1 + power for power in powers]) - 1
        yield equal(f"{name}: the bound of the sum", total, wanted)
        steps = [a * b for a, b in itertools.combinations(powers, 2)] + [sympy.prod(powers)]
        more = sum(steps) if name == "logistic" else 0
        yield equal(f"{name}: by how much it exceeds the sum, a sum of products", total - sum(powers), more)


def _simplex(count: int) -> list[Expr]:
    return [sympy.Rational(i + 1, count * (count + 1) // 2) for i in range(count)]


def check_entropy(kernel: Kernel) -> Iterator[Check]:
    """log sum e^{-y_i} + sum w_i y_i is convex and stationary, with the value H(w), at y_i = -log w_i."""
    bounds = kernel.joint_path
    for count in (2, 3):
        weights, y = _simplex(count), vector("y", count)
        total = sum(sympy.exp(-x) for x in y)
        bound = sympy.log(total) + sum(w * x for w, x in zip(weights, y, strict=True))
        at = {x: -sympy.log(w) for x, w in zip(y, weights, strict=True)}
        for x in y:
            slope = sympy.simplify(sympy.diff(bound, x).subs(at))
            yield equal(f"no slope in {x} of {count}", slope, 0)
        shares = [sympy.exp(-x) / total for x in y]
        for i, k in itertools.product(range(count), repeat=2):
            covariance = shares[i] * int(i == k) - shares[i] * shares[k]
            yield equal(
                f"second derivative {i}, {k} of {count}: a covariance", sympy.diff(bound, y[i], y[k]), covariance
            )
        log_e0 = real("L")
        lost = expression(bounds.deficit(_number(log_e0), [_number(w) for w in weights]))
        yield equal_logarithms(f"K = log E0 - H, {count} weights", lost, log_e0 - sympy.simplify(bound.subs(at)))


def check_tilt(kernel: Kernel) -> Iterator[Check]:
    """Probabilities as a multiple of mu^ less a multiple of others; and the bound that Jensen gives for these."""
    bounds = kernel.joint_path
    log_e0 = real("L")
    thirds = [sympy.Rational(1, 2), sympy.Rational(1, 3), sympy.Rational(1, 6)]
    for share in ([1, 0, 0], [sympy.Rational(1, 4), sympy.Rational(3, 4), 0], thirds):
        theta = max(s / w for s, w in zip(share, thirds, strict=True))
        gammas = vector("g", 3)
        rest = [theta * w - s for s, w in zip(share, thirds, strict=True)]
        split = theta * _mean(thirds, gammas) - _mean(rest, gammas)
        yield equal(f"Lambda = theta mu - rest for {share}", split, _mean(share, gammas))
        yield Check(f"the rest is nonnegative for {share}", all(x >= 0 for x in rest))
        size = sum(rest)
        wanted = size * log_e0 + sum(x * sympy.log(x / size) for x in rest if x > 0)
        found = bounds.tilt(
            {i: _number(s) for i, s in enumerate(share)},
            {i: _number(w) for i, w in enumerate(thirds)},
            _number(log_e0),
        )  # fmt: skip
        yield equal_logarithms(f"(theta - 1) (log E0 - H) for {share}", expression(found), wanted)


def _mean(weights: list[Expr], values: list[Expr]) -> Expr:
    return sum(w * x for w, x in zip(weights, values, strict=True))


def check_alignment(kernel: Kernel) -> Iterator[Check]:
    """c from the loss, and the least product with a vector over all v of that alignment."""
    bounds = kernel.joint_path
    gamma, lost, moved, t, c = (positive_symbol(name) for name in ("Gamma", "k", "m", "t", "c"))
    found = expression(bounds.first_alignment(*map(_number, (gamma, lost, moved))))
    (solved,) = sympy.solve(sympy.Eq(gamma * c, gamma - lost - moved), c)
    yield equal("Gamma c = Gamma - K/r - e Z", found, solved)
    # Every c in (0, 1).
    c = 1 / sympy.sqrt(1 + t)
    sine = expression(bounds.sine(_number(c)))
    yield equal("v = c u + s w of length 1", c**2 + sine**2, 1)
    along, across = positive_symbol("a"), positive_symbol("b")
    least = -sympy.Max(-along, -c * along) - sine * across
    found = expression(bounds.least_product(*map(_number, (c, along, across))))
    yield equal("<v, a> at v = c u - s w, and at <v, u> = 1", found, least)


def check_comparison(kernel: Kernel) -> Iterator[Check]:
    """How much worse attention makes a loss, and its slope, against e^{-gamma}."""
    bounds, losses = kernel.joint_path, kernel.losses
    gap, score = positive_symbol("G"), real("gamma")
    with forms(large=True):
        rise = expression(bounds.raised(_number(gap)))
    yield equal("e^G - 1", rise, sympy.exp(gap) - 1)
    with forms(large=False):
        series = sympy.hyperexpand(expression(bounds.raised(_number(gap))))
    yield equal("e^G - 1 by its series", sympy.simplify(series), sympy.exp(gap) - 1)
    exponential, logistic = losses.LOSSES["exponential"], losses.LOSSES["logistic"]
    pair = (_number(score), _number(gap))
    yield equal(
        "exponential: l(gamma - G) - l(gamma) = e^-gamma (e^G - 1)",
        expression(exponential.excess(*pair)), sympy.exp(-score) * rise,
    )  # fmt: skip
    power = sympy.exp(expression(logistic.excess(*pair)))
    smaller = rise * sympy.exp(-score) / (1 + sympy.exp(-score))
    yield equal("logistic: e^(l(gamma - G) - l(gamma)) - 1", power - 1, smaller)
    t = positive_symbol("t")
    over = t - t / (1 + t)
    yield positive("t / (1 + t) is below t", sympy.together(over))
    slope = expression(logistic.slope(_number(score)))
    yield equal("logistic: -l' = e^-gamma / (1 + e^-gamma)", slope, sympy.exp(-score) / (1 + sympy.exp(-score)))
    yield equal("exponential: -l' = e^-gamma", expression(exponential.slope(_number(score))), sympy.exp(-score))
    bound = _number(t)
    yield equal("logistic: log(1 + t) is at most t", expression(bounds.slope_correction("logistic", bound)), t)
    yield equal("exponential: nothing to correct", expression(bounds.slope_correction("exponential", bound)), 0)


def check_attention(kernel: Kernel) -> Iterator[Check]:
    """From a softmax weight to products with p, and from these to the angle."""
    bounds = kernel.joint_path
    least, others, chosen, x = (real(name) for name in ("m", "o", "c", "x"))
    share = expression(bounds.least_share(*map(_number, (least, others, chosen))))
    yield equal("s chosen + (1 - s) others = required", share * chosen + (1 - share) * others, least)
    weight = 1 / (1 + sympy.exp(-x))
    found = expression(bounds.log_odds(_number(weight)))
    yield equal("log(s / (1 - s)) where the other token weighs e^-x", sympy.exp(found), sympy.exp(x))
    rows = [sympy.Matrix(vector(f"z{j}", 2)) for j in range(3)]
    multipliers = positive_vector("lambda", 3)
    p = sum((m * z for m, z in zip(multipliers, rows, strict=True)), sympy.zeros(2, 1))
    products = sum(m * z.dot(p) for m, z in zip(multipliers, rows, strict=True))
    yield equal("|p_mm|^2 = sum_j lambda_j <z_j, p_mm>", p.dot(p), products)


def check_ball(kernel: Kernel) -> Iterator[Check]:
    """The curvature of a ball, the largest distance, and the least cosine at a distance."""
    near = kernel.near_comparators
    point, other, r = vector("x", 2), vector("y", 2), positive_symbol("r")
    inner = sum(a * (b - a) for a, b in zip(point, other, strict=True))
    squares = [sum(a * a for a in x) for x in (point, other)]
    apart = sum((b - a) ** 2 for a, b in zip(point, other, strict=True))
    less = (r**2 - squares[0] - apart) / 2 - (r**2 - squares[1]) / 2
    yield equal("<x, y - x> is (r^2 - |x|^2 - |x - y|^2) / 2 less (r^2 - |y|^2) / 2", inner, less)
    curvature, residual, spare = (positive_symbol(name) for name in ("k", "h", "s"))
    far = expression(near.farthest(*map(_number, (curvature, residual, spare))))
    yield equal("at the largest distance both sides are equal", curvature * far**2 / 2, residual * far + spare)
    yield positive("the other root is negative", sympy.expand((far * curvature - 2 * residual) * far * curvature))
    along, across = (positive_symbol(name) for name in ("a", "b"))
    found = expression(near.least_cosine(*map(_number, (along + residual, across, residual))))
    yield equal("the cosine of (a, b + h)", found, along / sympy.sqrt(along**2 + (across + residual) ** 2))


def check_losses(kernel: Kernel) -> Iterator[Check]:
    """Slope, excess and its inverse are those of the losses, written without cancellation."""
    near, losses = kernel.near_comparators, kernel.losses
    score, gap, more = real("gamma"), positive_symbol("G"), positive_symbol("A")
    for name in ("exponential", "logistic"):
        loss = losses.LOSSES[name]
        slope = expression(near.slope(name, _number(score)))
        yield equal(f"{name}: -l'", slope, -sympy.diff(expression(loss.value(_number(score))), score))
        found = expression(near.excess(name, _number(score), _number(gap)))
        yield equal_logarithms(
            f"{name}: l(gamma - G) - l(gamma)", found, expression(loss.excess(_number(score), _number(gap)))
        )
        found = expression(near.gap_of_excess(name, _number(score), _number(more)))
        wanted = expression(loss.inverse_excess(_number(score), _number(more)))
        yield equal_logarithms(f"{name}: the gap of an excess", found, wanted)


def check_convexity(kernel: Kernel) -> Iterator[Check]:
    """The second derivative of sum_t s_t g_t along q, and why it is >= 0 where s_0 min g >= (1 - s_0) max g."""
    x = real("x")
    others, products, gaps = positive_vector("e", 2), vector("a", 2), positive_vector("g", 2)
    powers = [1, *(e * sympy.exp(-a * x) for e, a in zip(others, products, strict=True))]
    weights = [power / sum(powers) for power in powers]
    a, g = [0, *products], [0, *gaps]
    cost, mean = _mean(weights, g), _mean(weights, a)
    third = sum(s * (b - cost) * (c - mean) ** 2 for s, b, c in zip(weights, g, a, strict=True))
    yield equal("the second derivative of the cost", sympy.diff(cost, x, 2).subs(x, 0), third.subs(x, 0))
    here = [s.subs(x, 0) if hasattr(s, "subs") else s for s in weights]
    spread = _mean(here, [c**2 for c in a]) - _mean(here, a) ** 2
    rest = spread - here[0] * _mean(here, a) ** 2 / (1 - here[0])
    within = sum(here[k] * (products[k - 1] - _mean(here, a) / (1 - here[0])) ** 2 for k in (1, 2))
    yield equal("Var - s_0 abar^2 / (1 - s_0) is the spread of the other tokens", rest, within)
    share, gap = _number(weights[1]), _number(gaps[0])
    one = {others[1]: 0, x: 0}
    found = expression(kernel.near_comparators.convexity(share, gap, gap)).subs(one) * spread.subs(one)
    yield equal("with one other token it is the variance times the kernel's number", third.subs(one), found)
