"""Checks: the risk of in-context regression, its derivatives, its stationary points, and bounds of both.

What holds for every Sigma is shown for matrices of symbols; bounds by eigenvalues in an eigenbasis of Sigma, where
Sigma = diag(s_i) and A and E are any matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal, positive
from certattn.theory.gaussian_queries import normal_mean
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import entries, gaussian
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, plain
from certattn.theory.symbols import column, gradient, matrix, positive_symbol, positive_vector, real, vector
from certattn.theory.training.regression_symbols import SymbolicTask, diagonal_task, general_task, parameters, table

Expr = Any


def frobenius(M: sympy.Matrix, N: sympy.Matrix) -> Expr:
    """tr(M'N)."""
    return sum((x * y for x, y in zip(M, N, strict=True)), sympy.Integer(0))


def check_prediction(kernel: Kernel) -> Iterator[Check]:
    """Tokens (x_i, <w, x_i>) are Gaussian with covariance Gamma_w; attention over them, by the kernel's operator."""
    for d in (1, 2, 3):
        B, w, A, b = matrix("B", d, d), column(vector("w", d)), matrix("a", d, d), real("b")
        root = B.col_join(w.T * B)
        Sigma = B * B.T
        U, V = sympy.diag(A, sympy.zeros(1, 1)), sympy.Matrix([[0] * d + [b]])
        stated = (Sigma.row_join(Sigma * w)).col_join((w.T * Sigma).row_join(w.T * Sigma * w))
        yield equal(f"covariance of (x, <w, x>), d = {d}", root * root.T, stated)
        law = gaussian(kernel, [sympy.Integer(0)] * (d + 1), root * root.T)
        found = kernel.operator.Operator(law, kernel.exact(U), kernel.exact(V), SymbolicNumber(1)).affine()
        yield equal(f"no offset, d = {d}", entries(found.offset), sympy.zeros(1, 1))
        wanted = (b * w.T * Sigma * A).row_join(sympy.zeros(1, 1))
        yield equal(f"prediction b w'Sigma A x, d = {d}", entries(found.matrix), wanted)


def check_risk(kernel: Kernel) -> Iterator[Check]:
    """1/2 E (b w'Sigma A x - w'x)^2 over standard normal w and g, x = B g, monomial by monomial."""
    for d in (1, 2):
        B, A, b = matrix("B", d, d), matrix("a", d, d), real("b")
        w, g = vector("w", d), vector("g", d)
        Sigma, x = B * B.T, B * column(g)
        error = (column(w).T * (b * Sigma * A - sympy.eye(d)) * x)[0]
        task = SymbolicTask(kernel, Sigma, A, b, A, b)
        found = plain(task.regression.risk(task.at))
        yield equal(f"R = 1/2 tr(E Sigma E'), d = {d}", found, normal_mean(error**2, w + g) / 2)
    for d in (2, 3, 4):
        task = diagonal_task(kernel, d)
        s, a = task.covariance.diagonal(), task.A.diagonal()
        wanted = sum(s[i] * (task.b * s[i] * a[i] - 1) ** 2 for i in range(d)) / 2
        yield equal(f"diagonal, d = {d}", plain(task.regression.risk(task.at)), wanted)


def check_shift(kernel: Kernel) -> Iterator[Check]:
    """The risk at test time for T = BB', Q = CC' and W = DD', and what it is where nothing is shifted."""
    for d in (1, 2):
        B, C, D, A, b = (*(matrix(name, d, d) for name in ("B", "C", "D", "a")), real("b"))
        g, h = vector("g", d), vector("h", d)
        x, w = C * column(g), D * column(h)
        root = B.col_join(w.T * B)
        law = gaussian(kernel, [sympy.Integer(0)] * (d + 1), root * root.T)
        U, V = sympy.diag(A, sympy.zeros(1, 1)), sympy.Matrix([[0] * d + [b]])
        operator = kernel.operator.Operator(law, kernel.exact(U), kernel.exact(V), SymbolicNumber(1)).affine()
        error = sympy.Matrix(entries(operator.matrix))[0, :d] * x - w.T * x
        covariances = [kernel.exact(M * M.T) for M in (B, C, D)]
        found = kernel.shifted_risk.Shift(*covariances, kernel.exact(sympy.eye(d))).risk(kernel.exact(b * A))
        yield equal(f"1/2 tr(W F Q F'), d = {d}", plain(found), normal_mean(error[0] ** 2, g + h) / 2)
        task = general_task(kernel, d)
        Sigma, unit = kernel.exact(task.covariance), kernel.exact(sympy.eye(d))
        same = kernel.shifted_risk.Shift(Sigma, Sigma, unit, unit).risk(kernel.exact(task.b * task.A))
        yield equal(f"nothing is shifted, d = {d}", plain(same), plain(task.regression.risk(task.at)))


def check_gradient(kernel: Kernel) -> Iterator[Check]:
    """The kernel's gradient and second derivative, by differentiation."""
    t = real("t")
    for d in (1, 2, 3):
        task = general_task(kernel, d)
        risk = (task.error * task.covariance * task.error.T).trace() / 2
        found, what = task.regression.gradient(task.at), f"d = {d}"
        slopes = sympy.Matrix(d, d, gradient(risk, list(task.A)))
        yield equal(f"R, {what}", plain(task.regression.risk(task.at)), risk)
        yield equal(f"dR/dA, {what}", table(found.A), slopes)
        yield equal(f"dR/db, {what}", plain(found.b), sympy.diff(risk, task.b))
        moved = SymbolicTask(kernel, task.covariance, task.A + t * task.H, task.b + t * task.h, task.H, task.h)
        line = (moved.error * task.covariance * moved.error.T).trace() / 2
        second = sympy.diff(line, t, 2).subs(t, 0)
        yield equal(f"second derivative, {what}", plain(task.regression.second_derivative(task.at, task.along)), second)


def check_flow(kernel: Kernel) -> Iterator[Check]:
    """The flow in an eigenbasis, and what flow and descent do to |A|_F^2 - b^2."""
    for d in (1, 2, 3):
        task = diagonal_task(kernel, d)
        s, a, b = task.covariance.diagonal(), task.A.diagonal(), task.b
        found = task.regression.gradient(task.at)
        velocity = sympy.diag(*(b * s[i] ** 2 * (1 - b * s[i] * a[i]) for i in range(d)))
        yield equal(f"a_i' = b s_i^2 (1 - b s_i a_i), d = {d}", -table(found.A), velocity)
        speed = sum(a[i] * s[i] ** 2 * (1 - b * s[i] * a[i]) for i in range(d))
        yield equal(f"b' = sum_i a_i s_i^2 (1 - b s_i a_i), d = {d}", -plain(found.b), speed)
    eta = real("eta")
    for d in (1, 2):
        task = general_task(kernel, d)
        at, found = task.at, task.regression.gradient(task.at)
        start = plain(at.invariant())
        yield equal(f"<A, dR/dA> = b dR/db, d = {d}", plain(at.A.inner(found.A)), task.b * plain(found.b))
        change = plain((at - found.scaled(SymbolicNumber(eta))).invariant()) - start
        square = plain(found.invariant())
        yield equal(f"what a step changes, d = {d}", change, eta**2 * square)
        yield equal(f"|A|_F^2 - b^2, d = {d}", start, frobenius(task.A, task.A) - task.b**2)


def check_stationary(kernel: Kernel) -> Iterator[Check]:
    """Where the gradient vanishes: E = 0 where b is not 0, tr(Sigma^2 A) = 0 where it is."""
    s = real("s")
    for d in (1, 2):
        task, what = general_task(kernel, d), f"d = {d}"
        Sigma, adjugate, det = task.covariance, task.covariance.adjugate(), task.covariance.det()
        slope = table(task.regression.gradient(task.at).A)
        yield equal(f"b E from dR/dA, {what}", adjugate * slope * adjugate, det**2 * task.b * task.error)
        flat = SymbolicTask(kernel, Sigma, task.A, sympy.Integer(0), s * Sigma**2, task.h)
        found = flat.regression.gradient(flat.at)
        yield equal(f"dR/dA at b = 0, {what}", table(found.A), sympy.zeros(d, d))
        yield equal(f"dR/db at b = 0, {what}", plain(found.b), -frobenius(Sigma**2, task.A))
        yield equal(f"R at b = 0, {what}", plain(flat.regression.risk(flat.at)), Sigma.trace() / 2)
        bent = plain(flat.regression.second_derivative(flat.at, flat.along))
        image = Sigma * task.A
        upward = task.h**2 * frobenius(image * Sigma, image)
        yield equal(f"Hess R at b = 0 along (s Sigma^2, h), {what}", bent, upward - 2 * task.h * s * (Sigma**4).trace())


def check_bayes(kernel: Kernel) -> Iterator[Check]:
    """A = Sigma^-1 / b: risk 0, and b^2 (b^2 + delta) = tr(Sigma^-2) with the root that the kernel takes."""
    b, delta, product = positive_symbol("b"), real("delta"), positive_symbol("p")
    for d in (1, 2, 3):
        task, what = general_task(kernel, d), f"d = {d}"
        inverse = task.covariance.inv()
        at = parameters(kernel, inverse / b, b)
        yield equal(f"E = 0, {what}", table(task.regression.error(at)), sympy.zeros(d, d))
        yield equal(f"R = 0, {what}", plain(task.regression.risk(at)), 0)
        squares, square = frobenius(inverse, inverse), b**2
        yield equal(f"b^2 (b^2 + delta), {what}", square * (square + plain(at.invariant())), squares)
    found = evaluated(kernel.regression.squared_factor, delta, product)
    yield equal("the kernel's b^2 is a root", found * (found + delta), product**2)
    other = (-sympy.sqrt(delta**2 + 4 * product**2) - delta) / 2
    yield equal("the other root has the other sign", found * other, -(product**2))
    yield equal("b^4 = p^2 where delta = 0", found.subs(delta, 0) ** 2, product**2)


def check_curvature(kernel: Kernel) -> Iterator[Check]:
    """Hess R >= -|Sigma E Sigma|_F, by a square, and |Sigma E Sigma|_F <= lam^(3/2) sqrt(2R)."""
    k = positive_symbol("k")
    for d in (1, 2):
        task, what = general_task(kernel, d), f"d = {d}"
        K, H, h = task.residual, task.H, task.h
        D = task.h * task.covariance * task.A + task.b * task.covariance * H
        bent = plain(task.regression.second_derivative(task.at, task.along))
        yield equal(f"Hess R = |D Sigma^(1/2)|^2 + 2h <K, H>, {what}", bent,
                    frobenius(D * task.covariance, D) + 2 * h * frobenius(K, H))  # fmt: skip
        # With k = |K|_F, so that k^2 stands for |K|_F^2.
        square = k**2 * h**2 + 2 * h * k * frobenius(K, H) + k**2 * frobenius(H, H)
        whole = frobenius(h * K + k * H, h * K + k * H)
        yield equal(f"|hK + kH|^2, {what}", whole - square, h**2 * (frobenius(K, K) - k**2))
        least = 2 * h * frobenius(K, H) + k * (frobenius(H, H) + h**2)
        yield equal(f"2h <K, H> + k (|H|^2 + h^2), {what}", k * least, square)
    yield from _check_eigenvalues(kernel)


def _check_eigenvalues(kernel: Kernel) -> Iterator[Check]:
    """lam^3 2R - |K|^2 and |K|^2 - l^3 2R as sums of E_ij^2 s_j times what is >= 0 for l <= s_i <= lam."""
    low, more, lam, x, y = (positive_symbol(name) for name in ("l", "g", "lam", "x", "y"))
    yield equal("lam^3 - x^2 y", lam**2 * (lam - y) + y * (lam + x) * (lam - x), lam**3 - x**2 * y)
    yield equal("x^2 y - l^3", x**2 * (y - low) + low * (x + low) * (x - low), x**2 * y - low**3)
    yield positive("x^2 y > l^3 for x = y = l + g", ((low + more) ** 3 - low**3).expand())
    for d in (1, 2, 3):
        s, A, b = positive_vector("s", d), matrix("a", d, d), real("b")
        task = SymbolicTask(kernel, sympy.diag(*s), A, b, A, b)
        E = task.error
        risk, residual = plain(task.regression.risk(task.at)), table(task.regression.residual(task.at))
        double = sum(E[i, j] ** 2 * s[j] for i in range(d) for j in range(d))
        square = sum(E[i, j] ** 2 * s[j] * s[i] ** 2 * s[j] for i in range(d) for j in range(d))
        yield equal(f"2R, d = {d}", 2 * risk, double)
        yield equal(f"|Sigma E Sigma|_F^2, d = {d}", frobenius(residual, residual), square)


def check_descent(kernel: Kernel) -> Iterator[Check]:
    """|grad R|^2 >= b^2 |K|^2, and b^2 (b^2 + delta) = |bA|^2: with |K|^2 >= 2 l^3 R, that R falls at a rate."""
    for d in (1, 2):
        task, what = general_task(kernel, d), f"d = {d}"
        found = task.regression.gradient(task.at)
        K = task.residual
        wanted = task.b**2 * frobenius(K, K) + frobenius(task.A, K) ** 2
        yield equal(f"|grad R|^2 = b^2 |K|^2 + <A, K>^2, {what}", plain(found.inner(found)), wanted)
        delta = plain(task.at.invariant())
        square = task.b**2
        yield equal(f"b^2 (b^2 + delta), {what}", square * (square + delta), square * frobenius(task.A, task.A))


def check_finite_prompt(kernel: Kernel) -> Iterator[Check]:
    """The prediction b sum_i y_i p_i of L tokens, differentiated in A and b."""
    for length, d in ((1, 1), (2, 1), (2, 2), (3, 2)):
        x, y, A, b = matrix("x", length, d), vector("y", length), matrix("a", d, d), real("b")
        query, target = column(vector("z", d)), real("t")
        masses = [sympy.exp(score) for score in x * A * query]
        shares = [mass / sum(masses) for mass in masses]
        output = sum(share * label for share, label in zip(shares, y, strict=True))
        mean = sympy.Matrix([[sum(p * x[i, k] for i, p in enumerate(shares)) for k in range(d)]]).T
        spread = sum((p * y[i] * x[i, :].T for i, p in enumerate(shares)), sympy.zeros(d, 1)) - output * mean
        what = f"{length} tokens in R^{d}"
        slopes = sympy.Matrix(d, d, gradient(b * output, list(A)))
        yield equal(f"prediction in A: b Cov_p(x, y) x', {what}", slopes, b * spread * query.T)
        loss = (b * output - target) ** 2 / 2
        yield equal(f"loss in A, {what}", gradient(loss, list(A)), list((b * output - target) * b * spread * query.T))
        yield equal(f"loss in b, {what}", sympy.diff(loss, b), (b * output - target) * output)
