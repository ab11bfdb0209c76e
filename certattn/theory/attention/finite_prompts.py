"""Checks: softmax attention over a concrete prompt, its limit and their distance, as the kernel has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sympy

from certattn.theory import first_principles
from certattn.theory.exactness import Check, equal
from certattn.theory.first_principles import split_sums
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import UnspecifiedLaw, entries, outputs, softmax
from certattn.theory.symbolic_flint import SymbolicNumber, numbers, plain
from certattn.theory.symbols import column, matrix, positive_symbol, real, vector

Expr = Any

# Prompts of L tokens, keys in R^d, values in R^o.
SHAPES = ((1, 1, 1), (1, 2, 2), (2, 1, 1), (2, 2, 2), (3, 1, 2), (3, 2, 1), (4, 1, 1))


@dataclass(frozen=True)
class KeysAndValues:
    """A prompt with keys k, values v, one query q and the scale s, all symbols.

    The numerators stand over the denominators 2, 3 and 5, which differ so that none can be lost.
    """

    length: int
    keys: int
    values: int

    @property
    def k(self) -> sympy.Matrix:
        return matrix("k", self.length, self.keys) / 2

    @property
    def v(self) -> sympy.Matrix:
        return matrix("v", self.length, self.values) / 3

    @property
    def q(self) -> sympy.Matrix:
        return matrix("q", 1, self.keys) / 5

    @property
    def s(self) -> Expr:
        return positive_symbol("s")

    def __str__(self) -> str:
        return f"L = {self.length}, keys in R^{self.keys}, values in R^{self.values}"

    def mean_value(self) -> sympy.Matrix:
        return sum((self.v[i, :] for i in range(self.length)), sympy.zeros(1, self.values)) / self.length

    def attention(self) -> list[Expr]:
        """T(q) by definition."""
        return softmax(self.k, self.v, self.q, self.s)

    def covariance(self) -> sympy.Matrix:
        """Cov(v, k) of the empirical law by definition: E[(v - v_bar)(k - k_bar)']."""
        mean_key = sum((self.k[i, :] for i in range(self.length)), sympy.zeros(1, self.keys)) / self.length
        terms = ((self.v[i, :] - self.mean_value()).T * (self.k[i, :] - mean_key) for i in range(self.length))
        return sum(terms, sympy.zeros(self.values, self.keys)) / self.length

    def stated(self, kernel: Kernel) -> Any:
        """The same as the claim reads it."""
        inputs = (
            kernel.stated(matrix("k", self.length, self.keys), 2),
            kernel.stated(matrix("v", self.length, self.values), 3),
        )
        query = kernel.stated(matrix("q", 1, self.keys), 5)
        return kernel.prompts.StatedPrompt(inputs, query, SymbolicNumber(self.s), None)


def _prompts() -> list[KeysAndValues]:
    return [KeysAndValues(*shape) for shape in SHAPES]


def deviations(kernel: Kernel, prompt: Any, kind: str, limit: Any) -> list[Expr]:
    """T(q) - T_inf(q) at the first query, entry by entry, as the claim `output-deviation` computes it."""
    claims = kernel.output_deviation
    # The claim reports a norm; the norm "entries" leaves the vector as it is.
    claims.NORMS["entries"] = list
    ((found, _),) = claims.AssertedDeviation(prompt, kind, limit, {claims.NORM: "entries"}).compared([0])
    return plain(found)


def check_definition(kernel: Kernel) -> Iterator[Check]:
    """Softmax attention is the tilted mean of the values under the empirical law of the pairs (k_i, v_i)."""
    for prompt in _prompts():
        pairs = prompt.k.row_join(prompt.v).tolist()
        weights = [sympy.Rational(1, prompt.length)] * prompt.length
        tilt = [*(prompt.s * prompt.q), *[sympy.Integer(0)] * prompt.values]
        derived = first_principles.atoms(pairs, weights, tilt).mean()[prompt.keys :]
        yield equal(f"the tilted mean of the empirical law, {prompt}", derived, prompt.attention())
        law = kernel.laws.Atoms(numbers(pairs), numbers(weights))
        found = outputs(kernel, prompt.stated(kernel).operator(law), prompt.q)
        yield equal(f"the kernel's T of the empirical law, {prompt}", found, [prompt.attention()])


def check_invariance(kernel: Kernel) -> Iterator[Check]:
    """One vector added to all keys changes nothing; one added to all values is added to the output."""
    for prompt in _prompts():
        ones, r = sympy.ones(prompt.length, 1), matrix("r", 1, prompt.keys)
        moved = softmax(prompt.k + ones * r, prompt.v, prompt.q, prompt.s)
        yield equal(f"keys moved together, {prompt}", moved, prompt.attention())
        shift = matrix("t", 1, prompt.values)
        moved = softmax(prompt.k, prompt.v + ones * shift, prompt.q, prompt.s)
        yield equal(f"values moved together, {prompt}", moved, list(sympy.Matrix([prompt.attention()]) + shift))
    yield from _check_any_length()


def _check_any_length() -> Iterator[Check]:
    """The same and its consequences for sums over L tokens, L a symbol.

    Keys enter through their scores alone, and outputs are read one by one, so numbers stand for both.
    """
    L = sympy.Symbol("L", integer=True, positive=True)
    i = sympy.Symbol("i", integer=True)
    value, score, key = (sympy.IndexedBase(name)[i] for name in ("v", "a", "k"))

    def total(term: Expr) -> Expr:
        return split_sums(sympy.Sum(term, (i, 1, L)))

    def attention(v: Expr, a: Expr) -> Expr:
        return total(v * sympy.exp(a)) / total(sympy.exp(a))

    r, t = real("r"), real("t")
    yield equal("keys moved together, any L", attention(value, score + r), attention(value, score))
    yield equal("values moved together, any L", attention(value + t, score), attention(value, score) + t)
    mean_value, mean_key = total(value) / L, total(key) / L
    centred = attention(value - mean_value, score - sympy.IndexedBase("a")[1])
    yield equal("both centred, any L", centred, attention(value, score) - mean_value)
    covariance = total((value - mean_value) * (key - mean_key)) / L
    yield equal("one side centred, any L", total((value - mean_value) * key) / L, covariance)
    yield equal("mean product less product of means, any L", total(value * key) / L - mean_value * mean_key, covariance)
    slope = sympy.diff(attention(value, t * key), t).subs(t, 0)
    yield equal("dT/dq at 0 is Cov(v, k), any L", split_sums(slope), covariance)


def check_sums(kernel: Kernel) -> Iterator[Check]:
    """The kernel's sums, over keys relative to the first and values relative to their mean."""
    for prompt in _prompts():
        exact, query = prompt.stated(kernel).exact, kernel.exact(matrix("q", 1, prompt.keys), 5)
        mean = prompt.mean_value()
        yield equal(f"v_bar, {prompt}", entries(exact.values.mean_row()), mean)
        wanted = [list(sympy.Matrix([prompt.attention()]) - mean)]
        yield equal(f"T(q) - v_bar, {prompt}", plain(exact.outputs_from_mean(query)), wanted)
    k, v, q, rho = matrix("k", 2, 1), matrix("v", 2, 1), matrix("q", 3, 1), positive_symbol("rho")
    irrational = kernel.softmax.Prompt(kernel.exact(k), kernel.exact(v), kernel.reals.Surd(SymbolicNumber(rho)))
    wanted = [[softmax(k, v, q[i, :], sympy.sqrt(rho))[0] - (v[0] + v[1]) / 2] for i in range(3)]
    yield equal("three queries, s = sqrt(rho)", plain(irrational.outputs_from_mean(kernel.exact(q))), wanted)


def check_moments(kernel: Kernel) -> Iterator[Check]:
    """Cov(v, k) = E[(v - v_bar)(k - k_bar)'] = E[v k'] - v_bar k_bar', every mean over L."""
    for prompt in _prompts():
        exact = prompt.stated(kernel).exact
        found = entries(kernel.exact_matrix.covariance(exact.values, exact.keys))
        yield equal(f"the kernel's Cov(v, k), {prompt}", found, prompt.covariance())
        weights = [sympy.Rational(1, prompt.length)] * prompt.length
        pairs, still = prompt.k.row_join(prompt.v).tolist(), [sympy.Integer(0)] * (prompt.keys + prompt.values)
        joint = sympy.Matrix(first_principles.atoms(pairs, weights, still).covariance())
        yield equal(f"a block of the joint covariance, {prompt}", joint[prompt.keys :, : prompt.keys], found)
        second = prompt.v.T * prompt.k / prompt.length
        mean_key = sum((prompt.k[i, :] for i in range(prompt.length)), sympy.zeros(1, prompt.keys)) / prompt.length
        yield equal(f"E[v k'] - v_bar k_bar', {prompt}", second - prompt.mean_value().T * mean_key, found)


def check_linear_part(kernel: Kernel) -> Iterator[Check]:
    """v_bar + s Cov(v, k) q is T(q) to first order at q = 0, and T of the Gaussian with the same moments."""
    for prompt in _prompts():
        q = list(matrix("q", 1, prompt.keys))
        origin = dict.fromkeys(q, sympy.Integer(0))
        linear = prompt.mean_value().T + prompt.s * prompt.covariance() * prompt.q.T
        attention = prompt.attention()
        yield equal(f"T(0) = v_bar, {prompt}", [t.subs(origin) for t in attention], list(linear.subs(origin)))
        jacobian = [[sympy.diff(t, x).subs(origin) for x in q] for t in attention]
        yield equal(f"dT/dq at 0, {prompt}", jacobian, [[sympy.diff(t, x) for x in q] for t in linear])
        affine = kernel.output_deviation.AssertedDeviation(prompt.stated(kernel), "empirical", None, None).limit
        zero = kernel.exact(sympy.zeros(1, prompt.values))
        found = plain(affine.from_point(zero, kernel.exact(matrix("q", 1, prompt.keys), 5)))
        yield equal(f"the kernel's empirical limit, {prompt}", found, [list(linear)])
        # Centred pairs / sqrt(L) as columns are a square root of the joint covariance.
        pairs = prompt.k.row_join(prompt.v)
        mean = sum((pairs[i, :] for i in range(prompt.length)), sympy.zeros(1, pairs.cols)) / prompt.length
        root = (pairs - sympy.ones(prompt.length, 1) * mean).T / sympy.sqrt(prompt.length)
        tilt = [*(prompt.s * prompt.q), *[sympy.Integer(0)] * prompt.values]
        derived = first_principles.gaussian(list(mean), root, tilt).mean()[prompt.keys :]
        yield equal(f"the Gaussian with these moments, {prompt}", derived, list(linear))


def check_masks(kernel: Kernel) -> Iterator[Check]:
    """A query that sees the first n tokens: the prompt is these, and its limit has their moments."""
    claims = kernel.output_deviation
    claims.NORMS["entries"] = list
    for prompt in _prompts():
        for seen in range(1, prompt.length + 1):
            first = KeysAndValues(seen, prompt.keys, prompt.values)
            linear = first.mean_value().T + first.s * first.covariance() * first.q.T
            bounds = {claims.NORM: "entries"}
            problem = claims.AssertedDeviation(prompt.stated(kernel), "empirical", None, bounds, None, seen)
            ((gap, output),) = problem.compared([0])
            what = f"{prompt}, of which {seen} are seen"
            yield equal(f"the output, {what}", plain(output), first.attention())
            derived = [x - y for x, y in zip(first.attention(), linear, strict=True)]
            yield equal(f"the deviation, {what}", plain(gap), derived)
            scores = [first.s * (first.q * first.k[t, :].T)[0] for t in range(seen)]
            mean = sum(scores, sympy.Integer(0)) / seen
            weighed = (first.v[t, :] * (1 + scores[t] - mean) / seen for t in range(seen))
            yield equal(f"by scores alone, {what}", list(sum(weighed, sympy.zeros(1, first.values))), list(linear))


def check_tokens(kernel: Kernel) -> Iterator[Check]:
    """Tokens with K, Q, V, or with U and V: keys K x, values V x, scores s <x, U z>."""
    s = positive_symbol("s")
    for length, d, p, q, o in ((2, 2, 1, 1, 1), (2, 2, 2, 1, 2), (3, 1, 1, 1, 1)):
        x, z = matrix("x", length, d), matrix("z", 1, q)
        K, Q, U, V = matrix("K", p, d), matrix("Q", p, q), matrix("U", d, q), matrix("V", o, d)
        given = {name: kernel.stated(weights) for name, weights in (("K", K), ("Q", Q), ("U", U), ("V", V))}
        for names, bilinear in (("KQV", K.T * Q), ("UV", U)):
            chosen = {name: given[name] if name in names else None for name in "KQVU"}
            weights = kernel.attention.Weights(d, **chosen)
            inputs = (kernel.stated(x), None)
            prompt = kernel.prompts.StatedPrompt(inputs, kernel.stated(z), SymbolicNumber(s), weights)
            yield equal(
                f"keys as the stated queries see them, {names}", entries(prompt.seen_by_queries().keys), x * bilinear
            )
            attention = softmax(x, x * V.T, (bilinear * z.T).T, s)
            mean = sum((V * x[i, :].T for i in range(length)), sympy.zeros(o, 1)) / length
            what = f"L = {length}, tokens in R^{d}, weights {', '.join(names)}"
            centre = sum((x[i, :] for i in range(length)), sympy.zeros(1, d)) / length
            around = x - sympy.ones(length, 1) * centre
            linear = mean + s * V * (around.T * around / length) * bilinear * z.T
            found = deviations(kernel, prompt, "empirical", None)
            yield equal(f"T(z) - V m - s V Gamma U z, {what}", found, list(sympy.Matrix(attention) - linear))
            law = UnspecifiedLaw(d)
            found = deviations(kernel, prompt, "law", {kernel.output_deviation.TOKEN_LAW: _Stated(law)})
            limit = V * column(law.tau(list(s * bilinear * z.T)))
            yield equal(f"T(z) - V tau(s U z), {what}", found, list(sympy.Matrix(attention) - limit))


@dataclass(frozen=True)
class _Stated:
    """A law as a certificate states it."""

    law: Any


def check_deviation(kernel: Kernel) -> Iterator[Check]:
    """T(q) - T_inf(q) as the claim computes it, for the three kinds of limit."""
    claims = kernel.output_deviation
    for shape in _prompts():
        prompt, attention = shape.stated(kernel), sympy.Matrix(shape.attention())
        linear = shape.mean_value().T + shape.s * shape.covariance() * shape.q.T
        yield equal(
            f"empirical limit, {shape}", deviations(kernel, prompt, "empirical", None), list(attention - linear)
        )
        A, b, r = matrix("A", shape.values, shape.keys), matrix("b", 1, shape.values), positive_symbol("r")
        stated = {
            claims.LIMIT_MATRIX: kernel.stated(A, 7),
            claims.LIMIT_OFFSET: kernel.stated(b, 11),
            kernel.attention.SCALE: SymbolicNumber(r),
        }
        wanted = attention - b.T / 11 - r * A / 7 * shape.q.T
        yield equal(f"affine limit, {shape}", deviations(kernel, prompt, "affine", stated), list(wanted))
        del stated[kernel.attention.SCALE]
        wanted = attention - b.T / 11 - A / 7 * shape.q.T
        yield equal(f"affine limit, scale 1, {shape}", deviations(kernel, prompt, "affine", stated), list(wanted))
        law = UnspecifiedLaw(shape.keys + shape.values)
        found = deviations(kernel, prompt, "law", {claims.TOKEN_LAW: _Stated(law)})
        tau = law.tau([*(shape.s * shape.q), *[sympy.Integer(0)] * shape.values])[shape.keys :]
        yield equal(f"the limit of any law, {shape}", found, list(attention - column(tau)))


def check_norms(kernel: Kernel) -> Iterator[Check]:
    """l2 is the root of the sum of squares, linf the largest absolute value."""
    for size in (1, 2, 3):
        x = vector("x", size)
        l2, linf = (plain(kernel.balls.NORMS[name](numbers(x))) for name in ("l2", "linf"))
        yield equal(f"l2 squared in R^{size}", l2**2, sum(entry**2 for entry in x))
        yield Check(f"l2 is not negative in R^{size}", l2.is_nonnegative is True)
        yield Check(f"linf in R^{size}", linf == sympy.Max(*(sympy.Abs(entry) for entry in x)))


def check_exact_cases(kernel: Kernel) -> Iterator[Check]:
    """One token, equal keys, a zero query: no deviation. Two tokens: tanh against its tangent."""
    for shape in (KeysAndValues(1, 1, 1), KeysAndValues(1, 2, 2)):
        nothing = [0] * shape.values
        yield equal(f"one token, {shape}", deviations(kernel, shape.stated(kernel), "empirical", None), nothing)
    s, delta = positive_symbol("s"), real("delta")
    v, q = matrix("v", 3, 2), matrix("q", 1, 2)
    same_key = sympy.ones(3, 1) * matrix("k", 1, 2)
    for what, k, query in (("equal keys", same_key, q), ("query 0", matrix("k", 3, 2), sympy.zeros(1, 2))):
        inputs = kernel.stated(k), kernel.stated(v)
        prompt = kernel.prompts.StatedPrompt(inputs, kernel.stated(query), SymbolicNumber(s), None)
        yield equal(what, deviations(kernel, prompt, "empirical", None), [0, 0])
    # Two tokens whose keys are delta apart: T - T_inf = (v_1 - v_2)/2 (tanh(h) - h), h = s q delta / 2.
    key, (v_1, v_2), query = real("k"), vector("v", 2), real("q")
    inputs = kernel.stated(sympy.Matrix([key + delta, key])), kernel.stated(sympy.Matrix([v_1, v_2]))
    prompt = kernel.prompts.StatedPrompt(inputs, kernel.stated(sympy.Matrix([query])), SymbolicNumber(s), None)
    h = s * query * delta / 2
    wanted = [(v_1 - v_2) / 2 * (sympy.tanh(h) - h)]
    yield equal("two tokens", deviations(kernel, prompt, "empirical", None), wanted)
