"""What mixing tokens costs, and how minimisers over balls turn: the identities behind `regularization-path`."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import sympy

from certattn.theory.exactness import Check, Expr, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, expression, numbered, plain

_COUNTS = (1, 2, 3)


def _symbols(names: str, count: int, **kinds: bool) -> list[Expr]:
    return [sympy.Symbol(f"{names}{k}", **(kinds or {"real": True})) for k in range(count)]


def _moved_weights(kernel: Kernel, count: int) -> tuple[Expr, list[Expr], list[Expr]]:
    """The softmax weights at p + tau u, by the kernel: tau, the weights, and the b_t = <z_t, u>."""
    tau, products, b = sympy.Symbol("tau", real=True), _symbols("x", count), _symbols("b", count)
    moved = [x + tau * slope for x, slope in zip(products, b, strict=True)]
    return tau, evaluated(kernel.regularization_path.softmax_weights, moved), b


def check_weights(kernel: Kernel) -> Iterator[Check]:
    """s_t = e^{<k_t, p>} / sum, and how a score falls along a direction."""
    for count in _COUNTS:
        keys, chosen = _symbols("k", count), sympy.Symbol("k", real=True)
        weights = evaluated(kernel.regularization_path.softmax_weights, [chosen - key for key in keys])
        total = sympy.exp(chosen) + sum(sympy.exp(key) for key in keys)
        yield equal(f"softmax weights of {count} others", weights, [sympy.exp(key) / total for key in keys])
        tau, weights, b = _moved_weights(kernel, count)
        g = _symbols("g", count)
        drop = sum(s * gap for s, gap in zip(weights, g, strict=True))
        terms = zip(weights, b, g, strict=True)
        yield equal(
            f"dG = -sum s b (g - G), {count} others",
            sympy.diff(drop, tau),
            -sum(s * slope * (gap - drop) for s, slope, gap in terms),
        )


def check_weighted_means(kernel: Kernel) -> Iterator[Check]:
    """sum m e^{-x} - w e^{-X} (1 + ...) with y_j = log(m_j/lambda_j) - x_j - log w + X, whose weighted mean is 0."""
    for count in (1, 2, 3):
        masses = _symbols("m", count, positive=True)
        free = _symbols("l", count - 1, positive=True)
        shares = [*free, 1 - sum(free, sympy.Integer(0))]
        x = _symbols("x", count)
        logs = [sympy.log(m) - sympy.log(share) for m, share in zip(masses, shares, strict=True)]
        log_w = sum(share * entry for share, entry in zip(shares, logs, strict=True))
        given = expression(kernel.margin_points.log_weight(*map(numbered, (masses, shares))))
        yield equal(f"log w, {count} pairs", sympy.expand_log(given, force=True), log_w)
        mean = sum(share * entry for share, entry in zip(shares, x, strict=True))
        y = [entry - point - log_w + mean for entry, point in zip(logs, x, strict=True)]
        yield equal(
            f"the y_j have weighted mean 0, {count} pairs",
            sum(share * entry for share, entry in zip(shares, y, strict=True)),
            0,
        )
        left = [m * sympy.exp(-point) for m, point in zip(masses, x, strict=True)]
        right = [share * sympy.exp(log_w - mean + entry) for share, entry in zip(shares, y, strict=True)]
        for j in range(count):
            ratio = sympy.expand_log(sympy.log(left[j]) - sympy.log(right[j]), force=True)
            yield equal(f"m e^-x = lambda w e^-X e^y, pair {j} of {count}", sympy.expand(ratio), 0)
    t = sympy.Symbol("t", real=True)
    gap = sympy.exp(t) - 1 - t
    yield equal("e^t >= 1 + t: equality at 0", gap.subs(t, 0), 0)
    yield equal("e^t >= 1 + t: the slope is e^t - 1", sympy.diff(gap, t), sympy.exp(t) - 1)


def check_progress(kernel: Kernel) -> Iterator[Check]:
    """F = (1 - F/a) w e^{-X} at X = log(w (1/F - 1/a)), which falls with F."""
    F, a, log_w = sympy.Symbol("F", positive=True), sympy.Symbol("a", positive=True), sympy.Symbol("w", real=True)
    X = evaluated(kernel.margin_points.least_progress, log_w, F, a)
    yield equal("F = (1 - F/a) w e^-X", (1 - F / a) * sympy.exp(log_w) * sympy.exp(-sympy.expand(X)), F)
    yield equal("d/dF", sympy.diff(X, F), -1 / (F * (1 - F / a)))


def check_share(kernel: Kernel) -> Iterator[Check]:
    """F = (1 - F/a) a e^-X for X = log(a/F - 1), which L/R times is the share; and how far unit vectors are apart."""
    F, a, L, R, share = (sympy.Symbol(name, positive=True) for name in "FaLRs")
    bounds = SimpleNamespace(excess=SymbolicNumber(F), least=SymbolicNumber(a))
    read, norms = kernel.regularization_path, kernel.margin_norms
    found = plain(read.share_bound(SimpleNamespace(least=SymbolicNumber(L)), SymbolicNumber(R), bounds))
    X = sympy.expand(found * R / L)
    yield equal("F = (1 - F/a) a e^-X", (1 - F / a) * a * sympy.exp(-X), F)
    # A function with the second derivative c at least is this and one that is convex, which is below its chord.
    c, s, slope = sympy.symbols("c s slope", real=True)
    bent = c * s**2 / 2 + slope * s
    middle = (bent.subs(s, 0) + bent.subs(s, 1)) / 2 - c / 8
    yield equal("the middle of what is bent by c", bent.subs(s, sympy.Rational(1, 2)), middle)
    for l in (sympy.Rational(3, 2), sympy.Integer(2)):  # noqa: E741 - its name
        turned = plain(norms.turn(SymbolicNumber(l), SymbolicNumber(share)))
        stated = ((1 + share) / 2) ** 2 / 2 - (sympy.Rational(1, 2) - (l - 1) / 8 * turned)
        yield equal(f"the squares of unit vectors and of their middle, l = {l}", stated, sympy.Integer(0))
    turned = plain(norms.turn(SymbolicNumber(3), SymbolicNumber(share)))
    yield equal("Clarkson's inequality, l = 3", ((1 + share) / 2) ** 3 + turned / 8, sympy.Integer(1))


def _activations(kernel: Kernel) -> dict[str, Any]:
    read = kernel.regularization_path
    return {"linear": read.Identity(), "tanh": read.Tanh(), "softplus": read.Softplus()}


def check_activations(kernel: Kernel) -> Iterator[Check]:
    """The least slope is the derivative at one end, on which side the sign of the second derivative says."""
    r = sympy.Symbol("r", positive=True)
    sigma = 1 / (1 + sympy.exp(-r))
    for name, activation in _activations(kernel).items():
        value = evaluated(activation.value, r)
        slope = sympy.diff(value, r)
        yield equal(f"{name}: the slope at a point", evaluated(activation.least_slope, r, r), slope)
        bend = {"linear": 0, "tanh": -2 * value * slope, "softplus": sigma * (1 - sigma)}[name]
        yield equal(f"{name}: how the slope changes", sympy.diff(slope, r), bend)
    tanh = kernel.regularization_path.Tanh()
    low, high = sympy.Symbol("low", positive=True), sympy.Symbol("high", positive=True)
    both = evaluated(tanh.least_slope, -low, low + high)
    yield equal("tanh: the larger size decides", both, sympy.diff(sympy.tanh(r), r).subs(r, low + high))
    beta = sympy.Symbol("beta", positive=True)
    leaky = kernel.regularization_path.LeakyRelu(SymbolicNumber(beta))
    for name, end, slope in (("above", low, 1), ("across", -low, beta)):
        yield equal(f"leaky-relu: {name} 0", evaluated(leaky.least_slope, end, low + high), slope)


def check_scores(kernel: Kernel) -> Iterator[Check]:
    """e, and c g: a loss that falls at least as fast as at the largest output."""
    score, drop = sympy.Symbol("c", positive=True), sympy.Symbol("G", positive=True)
    gap = sympy.Symbol("g", positive=True)
    for loss_name, loss in kernel.losses.LOSSES.items():
        at = sympy.Symbol("z", real=True)
        yield equal(f"{loss_name}: the slope", evaluated(loss.slope, at), -sympy.diff(evaluated(loss.value, at), at))
        for name, activation in _activations(kernel).items():
            for label in (1, -1):
                mixing = kernel.regularization_path.ScoreMixing(
                    loss, activation, SymbolicNumber(label), SymbolicNumber(score), (SymbolicNumber(gap),)
                )
                output = [label * evaluated(activation.value, label * end) for end in (score - drop, score)]
                excess = evaluated(loss.value, output[0]) - evaluated(loss.value, output[1])
                found = expression(mixing.excess_of(SymbolicNumber(drop)))
                # Logarithms are compared by their exponentials.
                sides = [sympy.exp(side) if loss_name == "logistic" else side for side in (found, excess)]
                yield equal(f"e: {loss_name}, {name}, label {label}", *sides)


def check_quadratic(kernel: Kernel) -> Iterator[Check]:
    """The drop of a quadratic head, its lower bound and its derivatives, in dimension 2."""
    a11, a12, a22 = sympy.symbols("a11 a12 a22", real=True)
    A, v = sympy.Matrix([[a11, a12], [a12, a22]]), sympy.Matrix([sympy.symbols("v0 v1", real=True)])
    chosen = sympy.Matrix([sympy.symbols("c0 c1", real=True)])

    def psi(x: Any) -> Expr:
        return (x * A * x.T + v * x.T)[0]

    for count in (1, 2):
        others = sympy.Matrix(count, 2, _symbols("o", 2 * count))
        s = _symbols("s", count)
        for label in (1, -1):
            mixing = kernel.regularization_path.QuadraticMixing(
                None, SymbolicNumber(label), *map(kernel.exact, (chosen, others, A, v))
            )
            drop = expression(mixing.drop([SymbolicNumber(entry) for entry in s]))
            attended = chosen * (1 - sum(s)) + sympy.Matrix([s]) * others
            what = f"{count} others, label {label}"
            yield equal(f"D, {what}", drop, label * (psi(chosen) - psi(attended)))
            yield equal(f"Y psi(x_alpha), {what}", expression(mixing.score), label * psi(chosen))
            g = [expression(entry) for entry in mixing.gaps]
            Q = [[expression(entry) for entry in row] for row in mixing.products]
            up = _symbols("u", count)
            bound = sum(s[t] * (g[t] - sum(s) * up[t]) for t in range(count))
            rest = sum(s[t] * s[r] * (up[t] - Q[t][r]) for t in range(count) for r in range(count))
            yield equal(f"D above its bound, {what}", drop - bound, rest)
            slopes = [g[t] - 2 * sum(Q[t][r] * s[r] for r in range(count)) for t in range(count)]
            yield equal(f"dD/ds, {what}", [sympy.diff(drop, entry) for entry in s], slopes)


def check_turning(kernel: Kernel) -> Iterator[Check]:
    """dD = -sum s b (d - sum s d) along u, for any function D of the weights with derivatives d."""
    for count in (1, 2):
        tau, weights, b = _moved_weights(kernel, count)
        g, q = _symbols("g", count), _symbols("q", count)
        drop = sum(gap * s + bend * s**2 for gap, bend, s in zip(g, q, weights, strict=True))
        d = [gap + 2 * bend * s for gap, bend, s in zip(g, q, weights, strict=True)]
        mean = sum(s * slope for s, slope in zip(weights, d, strict=True))
        terms = zip(weights, b, d, strict=True)
        yield equal(
            f"dD along u, {count} others", sympy.diff(drop, tau), -sum(s * e * (slope - mean) for s, e, slope in terms)
        )
