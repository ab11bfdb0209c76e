"""Checks: means, covariances and log-normalisers under softmax weights, as the kernel has them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.attention.finite_prompts import KeysAndValues
from certattn.theory.exactness import Check, equal, equal_logarithms
from certattn.theory.first_principles import split_sums
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import softmax
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import gradient, hessian, matrix, positive_symbol, real, vector

Expr = Any

# Prompts of L tokens, keys in R^d, values in R^o.
SHAPES = ((1, 1, 1), (1, 2, 2), (2, 1, 1), (2, 2, 1), (2, 1, 2), (3, 1, 1))
_PAIRS = ("values", "keys", "values-keys")


def _prompts() -> list[KeysAndValues]:
    return [KeysAndValues(*shape) for shape in SHAPES]


def _weights(prompt: KeysAndValues) -> list[Expr]:
    """p_i = e^{s <q, k_i>} / sum_j e^{s <q, k_j>}."""
    masses = [sympy.exp(prompt.s * (prompt.k[i, :] * prompt.q.T)[0]) for i in range(prompt.length)]
    return [mass / sum(masses) for mass in masses]


def covariance(prompt: KeysAndValues, x: sympy.Matrix, y: sympy.Matrix) -> sympy.Matrix:
    """sum_i p_i (x_i - X)(y_i - Y)', the definition."""
    p = _weights(prompt)
    mean_x = sum((w * x[i, :] for i, w in enumerate(p)), sympy.zeros(1, x.cols))
    mean_y = sum((w * y[i, :] for i, w in enumerate(p)), sympy.zeros(1, y.cols))
    terms = (w * (x[i, :] - mean_x).T * (y[i, :] - mean_y) for i, w in enumerate(p))
    return sum(terms, sympy.zeros(x.cols, y.cols))


def _covariance_of(prompt: KeysAndValues, of: str) -> sympy.Matrix:
    x, y = {"values": (prompt.v, prompt.v), "keys": (prompt.k, prompt.k), "values-keys": (prompt.v, prompt.k)}[of]
    return covariance(prompt, x, y)


def _log_normaliser(prompt: KeysAndValues, b: list[Expr]) -> Expr:
    """log sum_i e^{s <q, k_i> + <b, v_i>}; for b = 0 it is log Z(q)."""
    tilts = [
        prompt.s * (prompt.k[i, :] * prompt.q.T)[0] + (prompt.v[i, :] * sympy.Matrix(b))[0]
        for i in range(prompt.length)
    ]
    return sympy.log(sum(sympy.exp(tilt) for tilt in tilts))


def _weighted(kernel: Kernel, prompt: KeysAndValues) -> Any:
    """The kernel's view of the prompt at its query."""
    query = kernel.exact(matrix("q", 1, prompt.keys), 5)
    (found,) = kernel.softmax_moments.weighted_prompts(prompt.stated(kernel).exact, query)
    return found


def check_gradient(kernel: Kernel) -> Iterator[Check]:
    """T(q) is the gradient in b, at b = 0, of log sum_i e^{s <q, k_i> + <b, v_i>}; s K(q) is that in q."""
    for prompt in _prompts():
        b, q = vector("b", prompt.values), list(matrix("q", 1, prompt.keys))
        origin = dict.fromkeys(b, sympy.Integer(0))
        log_z = _log_normaliser(prompt, b)
        slope = [derivative.subs(origin) for derivative in gradient(log_z, b)]
        yield equal(f"gradient in b, {prompt}", slope, prompt.attention())
        # The stated query is q / 5, so that the derivative by it is five times that by q.
        slope = [5 * derivative.subs(origin) for derivative in gradient(log_z, q)]
        mean_key = softmax(prompt.k, prompt.k, prompt.q, prompt.s)
        yield equal(f"gradient in q, {prompt}", slope, [prompt.s * entry for entry in mean_key])
        joint = first_principles.atoms(prompt.v.tolist(), _weights(prompt), b).log_mgf()
        yield equal_logarithms(f"log-MGF of the weighted values, {prompt}", joint, log_z - log_z.subs(origin))


def check_hessian(kernel: Kernel) -> Iterator[Check]:
    """Second derivatives: Cov(v, v) in b, s Cov(v, k) in b and q, s^2 Cov(k, k) in q."""
    for prompt in _prompts():
        b, q = vector("b", prompt.values), list(matrix("q", 1, prompt.keys))
        origin = dict.fromkeys(b, sympy.Integer(0))
        log_z = _log_normaliser(prompt, b)

        def at(table: list[list[Expr]], factor: int, origin: dict[Expr, Expr] = origin) -> list[list[Expr]]:
            return [[factor * entry.subs(origin) for entry in row] for row in table]

        values, keys = _covariance_of(prompt, "values"), _covariance_of(prompt, "keys")
        yield equal(f"Hessian in b, {prompt}", at(hessian(log_z, b), 1), values)
        yield equal(f"Hessian in q, {prompt}", at(hessian(log_z, q), 25), prompt.s**2 * keys)
        mixed = [gradient(first, q) for first in gradient(log_z, b)]
        yield equal(f"mixed, {prompt}", at(mixed, 5), prompt.s * _covariance_of(prompt, "values-keys"))
        slope = [[5 * entry for entry in gradient(output, q)] for output in prompt.attention()]
        yield equal(f"dT/dq = s Cov(v, k), {prompt}", slope, prompt.s * _covariance_of(prompt, "values-keys"))
        tilted = first_principles.atoms(prompt.v.tolist(), _weights(prompt), [sympy.Integer(0)] * prompt.values)
        yield equal(f"the covariance of the weighted values, {prompt}", tilted.covariance(), values)


def check_identities(kernel: Kernel) -> Iterator[Check]:
    """Mean product less product of means, shifts, and squares: for sums over L tokens, L a symbol."""
    L = sympy.Symbol("L", integer=True, positive=True)
    i = sympy.Symbol("i", integer=True)
    x, y, score = (sympy.IndexedBase(name)[i] for name in ("x", "y", "a"))

    def total(term: Expr) -> Expr:
        return split_sums(sympy.Sum(term, (i, 1, L)))

    def mean(term: Expr) -> Expr:
        return total(term * sympy.exp(score)) / total(sympy.exp(score))

    def spread(left: Expr, right: Expr) -> Expr:
        """The mean of (left - its mean)(right - its mean); the means are constants."""
        first, second = sympy.symbols("X Y", real=True)
        product = mean((left - first) * (right - second))
        return product.subs({first: mean(left), second: mean(right)}, simultaneous=True)

    s, t, u = real("s"), real("t"), real("u")
    yield equal("mean product less product of means, any L", mean(x * y) - mean(x) * mean(y), spread(x, y))
    yield equal("both moved, any L", spread(x + s, y + t), spread(x, y))
    first = sympy.IndexedBase("a")[1]
    log_z = first + sympy.log(total(sympy.exp(score - first)))
    yield equal_logarithms("log Z from the first score, any L", log_z, sympy.log(total(sympy.exp(score))))
    # One coordinate <u, x - X> of a vector: the quadratic form of a covariance is a sum of squares.
    form = u**2 * spread(x, x) + 2 * u * spread(x, y) + spread(y, y)
    yield equal("<u, Cov u> is a mean of squares, any L", form, spread(u * x + y, u * x + y))


def check_sums(kernel: Kernel) -> Iterator[Check]:
    """The kernel's sums, over keys relative to the first and vectors relative to their plain mean."""
    for prompt in _prompts():
        weighted = _weighted(kernel, prompt)
        wanted = list(sympy.Matrix([prompt.attention()]) - prompt.mean_value())
        yield equal(f"T(q) - v_bar, {prompt}", plain(weighted.output_from_mean()), wanted)
        log_z = _log_normaliser(prompt, [sympy.Integer(0)] * prompt.values)
        yield equal_logarithms(f"log Z, {prompt}", plain(weighted.log_normaliser()), log_z)
        for of in _PAIRS:
            found = plain(weighted.covariance(of).tolist())
            yield equal(f"covariance of {of}, {prompt}", found, _covariance_of(prompt, of))
    k, v, q, rho = matrix("k", 2, 1), matrix("v", 2, 1), matrix("q", 2, 1), positive_symbol("rho")
    surd = kernel.softmax.Prompt(kernel.exact(k), kernel.exact(v), kernel.reals.Surd(SymbolicNumber(rho)))
    found = kernel.softmax_moments.weighted_prompts(surd, kernel.exact(q))
    scores = [[sympy.sqrt(rho) * k[i] * q[j] for i in range(2)] for j in range(2)]
    for row, weighted in zip(scores, found, strict=True):
        log_z = sympy.log(sum(sympy.exp(score) for score in row))
        yield equal_logarithms("log Z, two queries, s = sqrt(rho)", plain(weighted.log_normaliser()), log_z)


@dataclass(frozen=True)
class _Stated:
    """A stated table, whatever its shape: what assertions ask of it."""

    table: Any

    def load(self) -> Any:
        return self.table

    def entries(self, query: int, rows: int) -> list[SymbolicNumber]:
        return [entry for i in range(query * rows, (query + 1) * rows) for entry in self.table.row(i)]


@contextmanager
def _entry_by_entry(kernel: Kernel) -> Iterator[Any]:
    """The assertions' module, with vectors of differences in the place of their norms."""
    assertions = kernel.softmax_mean
    norm, assertions.linf_norm = assertions.linf_norm, list
    try:
        yield assertions
    finally:
        assertions.linf_norm = norm


def check_entropy(kernel: Kernel) -> Iterator[Check]:
    """The entropy from the largest score on, and the mass of the largest weights, are those of the definitions."""
    L = sympy.Symbol("L", integer=True, positive=True)
    i = sympy.Symbol("i", integer=True)
    score, top = sympy.IndexedBase("a")[i], real("a_r")

    def total(term: Expr) -> Expr:
        return split_sums(sympy.Sum(term, (i, 1, L)))

    # log p_i = a_i - log Z for the sums over any number of tokens.
    whole, moment = total(sympy.exp(score)), total(score * sympy.exp(score))
    shifted, gaps = total(sympy.exp(score - top)), total((top - score) * sympy.exp(score - top))
    found = sympy.log(shifted) + gaps / shifted
    yield equal_logarithms("H = log Z - mean score, any L", found, sympy.log(whole) - moment / whole)
    for length in (1, 2, 3):
        # Scores a_r - g_i, sorted, by the weights e^-g_i times any factor.
        falls = [sympy.Integer(0), *(positive_symbol(f"g_{j}") for j in range(1, length))]
        factor = positive_symbol("w")
        weights = [factor * sympy.exp(-fall) for fall in falls]
        share = [weight / sum(weights) for weight in weights]
        # H is the mean of -log p_i, which is log(sum of e^-g) + g_i.
        unit = sum(sympy.exp(-fall) for fall in falls)
        for p, fall in zip(share, falls, strict=True):
            yield equal_logarithms(f"-log p, L = {length}, fall {fall}", sympy.log(1 / p), sympy.log(unit) + fall)
        balls = [SymbolicNumber(weight) for weight in weights]
        found = plain(kernel.softmax_shares.entropy(balls, [SymbolicNumber(fall) for fall in falls]))
        logarithm = sum(term for term in sympy.Add.make_args(found) if term.has(sympy.log))
        mean_fall = sum(p * fall for p, fall in zip(share, falls, strict=True))
        yield equal_logarithms(f"the entropy's logarithm, L = {length}", logarithm, sympy.log(unit))
        yield equal(f"the rest of the entropy, L = {length}", found - logarithm, mean_fall)
        for count in range(1, length + 1):
            outside = plain(kernel.softmax_shares.mass_outside(balls, count))
            yield equal(f"outside the {count} largest of {length}", outside, 1 - sum(share[:count]))


def check_assertions(kernel: Kernel) -> Iterator[Check]:
    """What is compared with a radius is the difference of the definitions and what is stated."""
    with _entry_by_entry(kernel) as assertions:
        for prompt in _prompts():
            stated, weighted = prompt.stated(kernel), _weighted(kernel, prompt)
            y, z = matrix("y", 1, prompt.values), matrix("z", 1, 1)

            def error(field: Any, values: dict[Any, Any], stated: Any = stated, weighted: Any = weighted) -> Any:
                """What is compared with the radius, where this much is asserted."""
                asserted = assertions.AssertedMoments(stated, {field: {**values, assertions.RADIUS: None}})
                return plain(asserted.compared[field.name].value(0, weighted, 0))

            found = error(assertions.MEAN, {assertions.MEAN_VALUE: _Stated(kernel.exact(y, 7))})
            wanted = list(sympy.Matrix([prompt.attention()]) - y / 7)
            yield equal(f"T(q) - value, {prompt}", found, wanted)
            found = error(assertions.LOG_NORMALISER, {assertions.LOG_VALUE: _Stated(kernel.exact(z, 7))})
            log_z = _log_normaliser(prompt, [sympy.Integer(0)] * prompt.values)
            # An absolute value: of the difference, as its argument says.
            yield equal_logarithms(f"log Z - value, {prompt}", found.args[0], log_z - z[0] / 7)
            for of in _PAIRS:
                definition = _covariance_of(prompt, of)
                C = matrix("C", *definition.shape)
                values = {assertions.OF: of, assertions.COVARIANCE_VALUE: _Stated(kernel.exact(C, 7))}
                found = error(assertions.COVARIANCE, values)
                yield equal(f"Cov - value of {of}, {prompt}", found, list(definition - C / 7))


def check_tokens(kernel: Kernel) -> Iterator[Check]:
    """Tokens with K, Q, V, or with U and V: the keys are K x or x, and dT/dz = s Cov(v, k) Q or U."""
    s = positive_symbol("s")
    for length, d, p, q, o in ((2, 2, 1, 1, 1), (2, 1, 1, 1, 2), (3, 1, 1, 1, 1)):
        x, z = matrix("x", length, d), matrix("z", 1, q)
        K, Q, U, V = matrix("K", p, d), matrix("Q", p, q), matrix("U", d, q), matrix("V", o, d)
        given = {name: kernel.stated(weights) for name, weights in (("K", K), ("Q", Q), ("U", U), ("V", V))}
        for names, keys, query_map in (("KQV", x * K.T, Q), ("UV", x, U)):
            chosen = {name: given[name] if name in names else None for name in "KQVU"}
            weights = kernel.attention.Weights(d, **chosen)
            prompt = kernel.prompts.StatedPrompt((kernel.stated(x), None), kernel.stated(z), SymbolicNumber(s), weights)
            (weighted,) = kernel.softmax_mean.weighted_queries(prompt, [0])
            attention = softmax(keys, x * V.T, z * query_map.T, s)
            what = f"L = {length}, tokens in R^{d}, weights {', '.join(names)}"
            mean = sum((V * x[i, :].T for i in range(length)), sympy.zeros(o, 1)) / length
            found = plain(weighted.output_from_mean())
            yield equal(f"T(z) - V m, {what}", found, list(sympy.Matrix(attention) - mean))
            cross = sympy.Matrix(plain(weighted.covariance("values-keys").tolist()))
            slope = [gradient(output, list(z)) for output in attention]
            yield equal(f"dT/dz, {what}", slope, s * cross * query_map)


def check_exact_cases(kernel: Kernel) -> Iterator[Check]:
    """One token has no spread; equal keys leave the prompt's own covariance; two tokens have 1/cosh^2."""
    one = _weighted(kernel, KeysAndValues(1, 1, 2))
    yield equal("one token: no covariance", plain(one.covariance("values").tolist()), sympy.zeros(2, 2))
    prompt = KeysAndValues(1, 2, 1)
    score = prompt.s * (prompt.k * prompt.q.T)[0]
    yield equal("one token: log Z is its score", plain(_weighted(kernel, prompt).log_normaliser()), score)
    s, q, k, delta = positive_symbol("s"), real("q"), real("k"), real("delta")
    v = matrix("v", 3, 2)
    same = kernel.softmax.Prompt(kernel.exact(sympy.ones(3, 1) * k), kernel.exact(v), SymbolicNumber(s))
    (weighted,) = kernel.softmax_moments.weighted_prompts(same, kernel.exact(sympy.Matrix([[q]])))
    own = kernel.exact_matrix.covariance(kernel.exact(v), kernel.exact(v))
    found = plain(weighted.covariance("values").tolist())
    yield equal("equal keys: the prompt's own covariance", found, plain(own.to_rows()))
    log_z = s * q * k + sympy.log(3)
    yield equal_logarithms("equal keys: log Z = score + log L", plain(weighted.log_normaliser()), log_z)
    (v_1, v_2), h = vector("v", 2), s * q * delta / 2
    keys, values = sympy.Matrix([k + delta, k]), sympy.Matrix([v_1, v_2])
    two = kernel.softmax.Prompt(kernel.exact(keys), kernel.exact(values), SymbolicNumber(s))
    (weighted,) = kernel.softmax_moments.weighted_prompts(two, kernel.exact(sympy.Matrix([[q]])))
    found = plain(weighted.covariance("values").tolist())
    yield equal("two tokens: the covariance", found, [[(v_1 - v_2) ** 2 / (4 * sympy.cosh(h) ** 2)]])
