"""Checks: attention over an infinite prompt as an operator, for any law and for Gaussian tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal, equal_matrices
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicMatrix, SymbolicNumber, numbers, plain
from certattn.theory.symbols import column, matrix, positive_symbol, real, vector

Expr = Any

# Shapes of the weights: tokens x in R^d, keys in R^p, queries z in R^q, outputs in R^o.
SHAPES = ((1, 1, 1, 1), (2, 1, 2, 1), (2, 3, 1, 2), (3, 2, 2, 2), (4, 2, 1, 1))


@dataclass(frozen=True)
class UnspecifiedLaw:
    """A law whose tilted mean is an unspecified function tau of the tilt."""

    dimension: int

    def map(self, lift: Any) -> UnspecifiedLaw:
        return self

    def tilted_mean(self, tilt: Sequence[Any]) -> list[SymbolicNumber]:
        return [SymbolicNumber(entry) for entry in self.tau(plain(list(tilt)))]

    def tau(self, tilt: Sequence[Expr]) -> list[Expr]:
        at = [sympy.expand(entry) for entry in tilt]
        return [sympy.Function(f"tau_{j + 1}")(*at) for j in range(self.dimension)]


def gaussian(kernel: Kernel, mean: list[Expr], covariance: sympy.Matrix) -> Any:
    """N(mean, covariance) as the kernel's law, over symbols."""
    return kernel.laws.Gaussian(numbers(mean), numbers(covariance))


def entries(matrix: Any) -> list[list[Expr]]:
    """An ExactMatrix as rows of expressions."""
    return plain(matrix.to_rows())


def outputs(kernel: Kernel, operator: Any, queries: sympy.Matrix) -> list[list[Expr]]:
    """T(z) for every row z, as the kernel evaluates it."""
    origin = kernel.exact(sympy.zeros(1, operator.V.rows))
    return plain(operator.from_point(origin, kernel.exact(queries)))


def check_attention(kernel: Kernel) -> Iterator[Check]:
    """E[V x e^{s <Kx, Qz>}] / E[e^{s <Kx, Qz>}] = V tau(s U z) with U = K'Q, for any law."""
    s = positive_symbol("s")
    for d, p, q, o in SHAPES:
        K, Q, V = matrix("K", p, d), matrix("Q", p, q), matrix("V", o, d)
        x, z, point = column(vector("x", d)), column(vector("z", q)), matrix("y", 1, o)
        shape = f"K {p} x {d}, Q {p} x {q}"
        stated = {name: kernel.stated(weights) for name, weights in (("K", K), ("Q", Q), ("V", V))}
        weights = kernel.attention.Weights(d, **stated, U=None)
        U = sympy.Matrix(entries(weights.bilinear()))
        yield equal(f"<Kx, Qz> = <x, Uz>, {shape}", [((K * x).T * (Q * z))[0]], [(x.T * (U * z))[0]])
        operator = kernel.operator.Operator(UnspecifiedLaw(d), weights.bilinear(), weights.values(), SymbolicNumber(s))
        queries = matrix("z", 2, q)
        found = plain(operator.from_point(kernel.exact(point), kernel.exact(queries)))
        tilts = [list(s * U * queries[i, :].T) for i in range(2)]
        wanted = [V * column(UnspecifiedLaw(d).tau(tilt)) - point.T for tilt in tilts]
        yield equal(f"the kernel's T(z) - y = V tau(s U z) - y, {shape}", found, [list(row) for row in wanted])
    for d in (1, 2):
        K, Q, V, z = matrix("K", 1, d), matrix("Q", 1, 1), matrix("V", 1, d), matrix("z", 1, 1)
        law = first_principles.density(d, list(s * K.T * Q * z))
        attention = law.weigh(_value(V)) / law.normaliser()
        yield equal(f"attention of any density in dimension {d}", attention, (V * column(law.mean()))[0])
    yield from _check_left_out(kernel)


def _value(V: sympy.Matrix) -> first_principles.Function:
    return lambda x: (V * column(list(x)))[0]


def _check_left_out(kernel: Kernel) -> Iterator[Check]:
    """Weights that a certificate leaves out are the identity."""
    Weights, d = kernel.attention.Weights, 2
    K, Q, U = matrix("K", d, d), matrix("Q", d, 3), matrix("U", d, 3)
    given = {name: kernel.stated(weights) for name, weights in (("K", K), ("Q", Q), ("U", U))}
    nothing = dict.fromkeys("KQVU")
    for names, wanted in (("", sympy.eye(d)), ("K", K.T), ("Q", Q), ("KQ", K.T * Q), ("U", U)):
        weights = Weights(d, **{**nothing, **{name: given[name] for name in names}})
        yield equal(f"U from {names or 'nothing'}", entries(weights.bilinear()), wanted)
        yield equal(f"V left out, with {names or 'nothing'}", entries(weights.values()), sympy.eye(d))


def check_gaussian_operator(kernel: Kernel) -> Iterator[Check]:
    """V tau(s U z) = V m + s V Gamma U z: in every dimension, then the kernel's affine map entry by entry."""
    yield from _check_scale(kernel)
    d, p, q, o = sympy.symbols("d p q o", integer=True, positive=True)
    sizes = (("m", d, 1), ("Gamma", d, d), ("K", p, d), ("Q", p, q), ("V", o, d), ("z", q, 1))
    m_, Gamma_, K_, Q_, V_, z_ = (sympy.MatrixSymbol(*size) for size in sizes)
    s = positive_symbol("s")
    output = V_ * (m_ + Gamma_ * (s * K_.T * Q_ * z_))
    yield equal_matrices("T(z) in every dimension", output, V_ * m_ + s * V_ * Gamma_ * K_.T * Q_ * z_)
    for d, _, q, o in SHAPES:
        m, U, V, z, y = vector("m", d), matrix("U", d, q), matrix("V", o, d), matrix("z", 1, q), matrix("y", 1, o)
        for rank in (0, 1, d):
            B = matrix("B", d, rank)
            law = gaussian(kernel, m, B * B.T)
            operator = kernel.operator.Operator(law, kernel.exact(U), kernel.exact(V), SymbolicNumber(s))
            affine, what = operator.affine(), f"d = {d}, B {d} x {rank}, {o} outputs"
            yield equal(f"matrix V Gamma U, {what}", entries(affine.matrix), V * B * B.T * U)
            yield equal(f"offset V m, {what}", entries(affine.offset), (V * column(m)).T)
            derived = V * column(first_principles.gaussian(m, B, list(s * U * z.T)).mean()) - y.T
            found = plain(operator.from_point(kernel.exact(y), kernel.exact(z)))
            yield equal(f"T(z) - y, {what}", found, [list(derived)])


def _check_scale(kernel: Kernel) -> Iterator[Check]:
    """A scale that is a square root: its ball, its square, and its place in the affine map."""
    rho = positive_symbol("rho")
    surd = kernel.reals.Surd(SymbolicNumber(rho))
    yield equal("the scale sqrt(rho)", plain(kernel.balls.scale_ball(surd)), sympy.sqrt(rho))
    yield equal("the square of sqrt(rho)", plain(kernel.reals.square(surd)), rho)
    yield equal("the square of a rational scale", plain(kernel.reals.square(SymbolicNumber(rho))), rho**2)
    table = kernel.balls.table_of_balls(
        kernel.exact_matrix.ExactMatrix(SymbolicMatrix(matrix("M", 1, 2)), 6), SymbolicNumber(rho)
    )
    yield equal("a factor times a matrix over a denominator", plain(table), rho * matrix("M", 1, 2) / 6)


def check_pushforward(kernel: Kernel) -> Iterator[Check]:
    """z = m_z + R h under T: the MGF of T(z), and the claim's two obligations with what follows from it."""
    yield from _check_irrational_scale(kernel)
    s = positive_symbol("s")
    for d, _, q, o in SHAPES[:4]:
        m, Gamma, U, V = vector("m", d), _symmetric("G", d), matrix("U", d, q), matrix("V", o, d)
        mean_z, b = vector("mu", q), vector("b", o)
        for rank in sorted({0, 1, q}):
            R = matrix("R", q, rank)
            A, offset = s * V * Gamma * U, V * column(m)
            # E e^{<b, T(z)>} = e^{<b, V m>} E e^{<A'b, z>}
            query_law = first_principles.gaussian(mean_z, R, list(A.T * column(b)))
            log_mgf = (column(b).T * offset)[0] + query_law.log_mgf()
            mean, covariance = offset + A * column(mean_z), A * R * R.T * A.T
            pushed = gaussian(kernel, list(mean), covariance)
            what = f"d = {d}, R {q} x {rank}, {o} outputs"
            yield equal(f"MGF of T(z), {what}", sympy.exp(log_mgf), sympy.exp(pushed.log_mgf(numbers(b))))
            given = gaussian(kernel, m, Gamma), U, V, gaussian(kernel, mean_z, R * R.T)
            stated = (V * Gamma * U, offset), (list(mean), covariance)
            for name, holds in _claimed(kernel, *given, SymbolicNumber(s), *stated).items():
                yield Check(f"{name}, {what}", holds)


def _check_irrational_scale(kernel: Kernel) -> Iterator[Check]:
    """s = sqrt(rho), rho no square: V m + s V Gamma U m_z is rational only where V Gamma U m_z = 0."""
    m, Gamma, U, V, S = vector("m", 2), _symmetric("G", 2), matrix("U", 2, 1), matrix("V", 1, 2), _symmetric("S", 1)
    rho, offset, slope = positive_symbol("rho"), V * column(m), V * Gamma * U
    surd = kernel.reals.Surd(SymbolicNumber(rho))
    for mean_z, rational in ((sympy.Integer(0), True), (real("mu"), False)):
        given = gaussian(kernel, m, Gamma), U, V, gaussian(kernel, [mean_z], S)
        held = _claimed(kernel, *given, surd, (slope, offset), (list(offset), rho * slope * S * slope.T))
        yield Check(f"covariance with s^2 = rho, mean of z {mean_z}", held["pushforward.covariance"])
        yield Check(f"mean V m with s irrational, mean of z {mean_z}", held["pushforward.mean"] is rational)


class _Asserted:
    """Fields of a certificate as a claim finds them."""

    def __init__(self, **content: Any) -> None:
        self._content = content

    def __contains__(self, field: Any) -> bool:
        return field.name in self._content

    def __getitem__(self, field: Any) -> Any:
        return self._content[field.name]

    def items(self, field: Any) -> list[Any]:
        return []


def _claimed(
    kernel: Kernel, law: Any, U: Any, V: Any, query_law: Any, scale: Any, operator: Any, pushed: Any
) -> dict[str, bool]:
    """Obligations of the claim `infinite-prompt-operator` for what is stated here, and which are proved."""
    claims = kernel.infinite_prompt_operator
    truth = kernel.operator.Operator(law, kernel.exact(U), kernel.exact(V), scale)
    given = claims.GivenOperator(None, None, query_law, None, truth, truth.affine())
    (slope, offset), (mean, covariance) = operator, pushed
    row = kernel.stated(sympy.Matrix(1, len(mean), list(mean)))
    asserts = _Asserted(
        operator=_Asserted(matrix=kernel.stated(slope), offset=kernel.stated(offset.T)),
        pushforward=_Asserted(mean=row, covariance=kernel.stated(covariance)),
    )
    content = claims.StatedOperator(given, asserts, kernel.exact(sympy.zeros(1, 1)))
    names = ["operator.matrix", "operator.offset", "pushforward.mean", "pushforward.covariance"]
    outcomes = {identity.name: identity.left == identity.right for identity in claims.obligations(content)}
    return {name: outcomes.get(name, False) for name in names}


def _symmetric(name: str, size: int) -> sympy.Matrix:
    return sympy.Matrix(size, size, lambda i, j: real(f"{name}_{min(i, j) + 1}{max(i, j) + 1}"))


def check_keys_and_values(kernel: Kernel) -> Iterator[Check]:
    """Joint Gaussian (k, v) = (m_k, m_v) + (B_k, B_v) g: T(q) = v_bar + s Cov(v, k) q."""
    s = positive_symbol("s")
    for keys, values in ((1, 1), (2, 1), (1, 2), (2, 2), (3, 1)):
        m = vector("m", keys + values)
        for rank in (0, 1, 2, keys + values):
            B = matrix("B", keys + values, rank)
            B_k, B_v = B[:keys, :], B[keys:, :]
            q = matrix("q", 1, keys)
            # The score reads the key alone: the tilt of (k, v) is (s q, 0).
            joint = first_principles.gaussian(m, B, [*(s * q), *[sympy.Integer(0)] * values])
            derived, what = joint.mean()[keys:], f"keys in R^{keys}, values in R^{values}, rank {rank}"
            linear = column(m[keys:]) + s * B_v * B_k.T * q.T
            yield equal(f"v_bar + s Cov(v, k) q, {what}", derived, list(linear))
            prompt = _prompt_of_shape(kernel, keys, values, s)
            operator = prompt.operator(gaussian(kernel, m, B * B.T))
            yield equal(f"the kernel's operator, {what}", outputs(kernel, operator, q), [derived])
            affine = operator.affine()
            yield equal(f"matrix Cov(v, k), {what}", entries(affine.matrix), B_v * B_k.T)
            yield equal(f"offset v_bar, {what}", entries(affine.offset), [m[keys:]])


def _prompt_of_shape(kernel: Kernel, keys: int, values: int, s: Expr) -> Any:
    """A prompt of keys and values; a law of tokens is then a law of both side by side."""
    inputs = kernel.stated(matrix("k", 1, keys)), kernel.stated(matrix("v", 1, values))
    return kernel.prompts.StatedPrompt(inputs, kernel.stated(matrix("q", 1, keys)), SymbolicNumber(s), None)


def check_gradients(kernel: Kernel) -> Iterator[Check]:
    """dT/dV[H] = H tau and dT/dU[H] = s V C H z, differentiated; for Gaussian tokens C = Gamma."""
    s, e = positive_symbol("s"), real("epsilon")
    for d, q in ((1, 1), (2, 1), (2, 2)):
        U, H, V, z = matrix("U", d, q), matrix("H", d, q), matrix("V", 1, d), matrix("z", q, 1)
        moved = first_principles.density(d, list(s * (U + e * H) * z))
        law = first_principles.density(d, list(s * U * z))
        change = [first_principles.split_integrals(sympy.diff(mean, e).subs(e, 0)) for mean in moved.mean()]
        wanted = s * V * sympy.Matrix(law.covariance()) * H * z
        yield equal(f"dT/dU[H] of any density, d = {d}, z in R^{q}", (V * column(change))[0], wanted[0])
    for d, _, q, o in SHAPES:
        U, V, z, m, Gamma = matrix("U", d, q), matrix("V", o, d), matrix("z", 1, q), vector("m", d), _symmetric("G", d)
        H, what = matrix("H", o, d), f"d = {d}, {o} outputs"
        any_law = UnspecifiedLaw(d)
        operator = kernel.operator.Operator(any_law, kernel.exact(U), kernel.exact(V + e * H), SymbolicNumber(s))
        change = [sympy.diff(t, e) for t in outputs(kernel, operator, z)[0]]
        yield equal(f"dT/dV[H] = H tau, {what}", change, list(H * column(any_law.tau(list(s * U * z.T)))))
        H = matrix("H", d, q)
        operator = kernel.operator.Operator(
            gaussian(kernel, m, Gamma), kernel.exact(U + e * H), kernel.exact(V), SymbolicNumber(s)
        )
        change = [sympy.diff(t, e).subs(e, 0) for t in outputs(kernel, operator, z)[0]]
        yield equal(f"dT/dU[H] = s V Gamma H z of Gaussian tokens, {what}", change, list(s * V * Gamma * H * z.T))


def check_empirical(kernel: Kernel) -> Iterator[Check]:
    """Softmax over L pairs is T of the law that gives each pair the probability 1/L."""
    s = positive_symbol("s")
    for length, keys, values in ((1, 1, 1), (2, 1, 1), (2, 2, 2), (3, 2, 1), (4, 1, 1)):
        k, v, q = matrix("k", length, keys), matrix("v", length, values), matrix("q", 1, keys)
        prompt = _prompt_of_shape(kernel, keys, values, s)
        law = kernel.laws.Atoms(numbers(k.row_join(v)), [SymbolicNumber(1, length)] * length)
        found = outputs(kernel, prompt.operator(law), q)
        what = f"{length} tokens, keys in R^{keys}, values in R^{values}"
        yield equal(f"T of the empirical law is softmax attention, {what}", found, [softmax(k, v, q, s)])


def softmax(k: sympy.Matrix, v: sympy.Matrix, q: sympy.Matrix, s: Expr) -> list[Expr]:
    """sum_i v_i e^{s <q, k_i>} / sum_i e^{s <q, k_i>}, the definition."""
    weights = [sympy.exp(s * (k[i, :] * q.T)[0]) for i in range(k.rows)]
    total = sum(weights)
    return [sum(w * v[i, j] for i, w in enumerate(weights)) / total for j in range(v.cols)]
