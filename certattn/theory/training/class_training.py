"""Checks: what a class and a law say of tilted tokens, of errors over queries, and of the distance of two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import sympy
from flint import arb, ctx, fmpq

from certattn.theory.exactness import Check, Expr, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, plain
from certattn.theory.symbols import positive_symbol, real

S, SIGMA, U, V, D, ETA, LENGTH, RADIUS = (
    positive_symbol(name) for name in ("s", "sigma", "U", "V", "d", "eta", "L", "r")
)
_Q, _CELLS, _END = fmpq(27, 20), 240, fmpq(6, 5)
# Tilts of a box: up to the last one, in so many parts, at so many bits.
_LAST, _PARTS, _BITS = 4, 1280, 256
_PURE = sympy.Function("M", positive=True)


@dataclass(frozen=True)
class _Queries:
    """E |z|^power e^{rate |z|^2} = M(power, rate)."""

    def moment(self, power: int, rate: Any) -> SymbolicNumber:
        return SymbolicNumber(_PURE(power, plain(rate)))


@dataclass(frozen=True)
class _Bounded:
    """|z| = r."""

    def moment(self, power: int, rate: Any) -> SymbolicNumber:
        return SymbolicNumber(RADIUS**power * sympy.exp(plain(rate) * RADIUS**2))


def _error(kernel: Kernel) -> Any:
    """With polynomials of two symbols each."""

    def of(letter: str) -> list[SymbolicNumber]:
        return [SymbolicNumber(positive_symbol(f"{letter}{n}")) for n in range(2)]

    return kernel.tilted_tokens.Error(of("a"), of("m"), lambda log_length, eta: of("b"))


def _polynomial(coefficients: Sequence[Any], of: Expr) -> Expr:
    return sum((plain(c) * of**n for n, c in enumerate(coefficients)), sympy.Integer(0))


def _class(kernel: Kernel) -> Any:
    return kernel.tilted_tokens.of_class(*map(SymbolicNumber, (SIGMA, D)))


def _region(kernel: Kernel, queries: Any) -> Any:
    return kernel.class_region.Region(queries, _class(kernel), *map(SymbolicNumber, (U, V)))


def _has_no_root(polynomial: Expr, of: Expr, least: Expr) -> bool:
    """Whether it is positive from there on."""
    found = sympy.Poly(polynomial, of)
    return bool(found.eval(least) > 0 and found.count_roots(least, None) == 0)


def check_shift(kernel: Kernel) -> Iterator[Check]:
    """tau is the integral of C along the tilt."""
    q = positive_symbol("q")
    size = _polynomial(kernel.tilted_tokens.SPREAD, S)
    yield equal("|C|", size, (1 + S) ** 2)
    yield equal("the integral", _polynomial(kernel.tilted_tokens.SHIFTS[1], S),
                sympy.integrate(sympy.expand(size.subs(S, q * S) * S), (q, 0, 1)))  # fmt: skip


def check_third(kernel: Kernel) -> Iterator[Check]:
    """The two bounds of third moments, and the kernel's polynomial above one of them everywhere."""
    v, x, c, g = positive_symbol("v"), positive_symbol("x"), real("c"), real("g")
    series = sum(v ** (2 * k) / sympy.factorial(2 * k) for k in range(1, 5))
    rest = sympy.Rational(1, 2) - 20 * v / 61 + v**2 / 24 + v**4 / 720 + v**6 / 40320
    yield equal("cosh v - 1 less 20 v^3 / 61, up to v^8", series - 20 * v**3 / 61, v**2 * rest)
    yield Check("is positive", _has_no_root(rest, v, sympy.Integer(0)))
    ends = [_END * n / _CELLS for n in range(_CELLS + 1)]
    skew = [fmpq(*(int(part) for part in sympy.fraction(plain(k)))) for k in kernel.tilted_tokens.SKEW]
    values = [sum((k * end**n for n, k in enumerate(skew)), fmpq(0)) for end in ends]
    bounds = [fmpq(61, 20) / _Q**3 * ((arb(end + _Q) ** 2 / 2).exp() - 1) for end in ends]
    holds = all((bound <= value) is True for bound, value in zip(bounds[1:], values, strict=False))
    yield Check("up to 6/5 it is below the polynomial", holds)
    half = sympy.Rational(1, 2)
    yield equal("the exponent of the Gaussian mean", g * c + g**2 / 2 - g**2, -half * (g - c) ** 2 + c**2 / 2)
    curve = sympy.diff(sympy.log(x) ** sympy.Rational(3, 2), x, 2)
    yield equal("(ln x)^(3/2) is concave where ln x >= 1/2", curve,
                3 * (half - sympy.log(x)) / (2 * x**2 * sympy.sqrt(sympy.log(x))))  # fmt: skip
    root = 1 + 3 * x / 2 + 3 * x**2 / 8
    yield equal("(1 + x)^(3/2) <= 1 + 3x/2 + 3x^2/8", root**2 - (1 + x) ** 3, x**3 / 8 + 9 * x**4 / 64)
    beyond = sympy.expand((_polynomial(kernel.tilted_tokens.SKEW, S) - 8 * S**3 * root.subs(x, 1 / S**2)) * S)
    yield Check("from 6/5 on that is below the polynomial", _has_no_root(beyond, S, sympy.Rational(6, 5)))


def check_derivatives(kernel: Kernel) -> Iterator[Check]:
    """Mean squares of DT, and the largest eigenvalue for D^2 T."""
    region, zero, unit = _region(kernel, _Queries()), sympy.Integer(0), SIGMA * U

    def mean(polynomial: Expr, power: int) -> Expr:
        coefficients = reversed(sympy.Poly(polynomial, S).all_coeffs())
        return sum(c * unit**n * _PURE(n + power, zero) for n, c in enumerate(coefficients))

    shift, spread, skew = S + S**2 + S**3 / 3, (1 + S) ** 2, 2 + 4 * S + 8 * S**2 + 8 * S**3
    found = {sympy.expand(each) for each in sympy.Min.make_args(plain(region.limit_square()))}
    limit = {sympy.expand(SIGMA**2 * mean(square, 0)) for square in (4 * S**2, shift**2)}
    yield Check("E |tau|^2", found == limit)
    slope = plain(region.slope_square()) - plain(region.limit_square())
    yield equal("E |DT|^2", slope, V**2 * SIGMA**4 * mean(spread**2, 2))
    found = plain(region.bend())
    mixed, pure = SIGMA**4 * mean(spread**2, 2), V**2 * SIGMA**6 * mean(skew**2, 4)
    # The larger root of x^2 = m x + n^2.
    yield equal("the largest eigenvalue", sympy.expand((2 * found - sympy.sqrt(pure)) ** 2), pure + 4 * mixed)


def check_normaliser(kernel: Kernel) -> Iterator[Check]:
    """The exponents that Lambda <= sigma^2 |u|^2 / 2 leaves of the tilts 2a + b, a + b and b = -2a/L, over s^2."""
    b = -2 / LENGTH
    own = (2 + b) ** 2 / 2 + (LENGTH - 1) * b**2 / 2
    yield equal("of one token", own, 2 * (1 - 1 / LENGTH))
    yield equal("of two tokens", (1 + b) ** 2 + (LENGTH - 2) * b**2 / 2, 1 - 2 / LENGTH)
    error = _error(kernel)
    a, m, _ = _parts(error)
    after = _polynomial(error.after(SymbolicNumber(LENGTH)), S)
    yield equal("A + J^2 / L", after, _polynomial(a, S) + _polynomial(m, S) / LENGTH)
    by = [SymbolicNumber(positive_symbol(name)) for name in ("c0", "c1")]
    product = error.times(by)
    for part, times in zip(_parts(error), _parts(product), strict=True):
        yield equal("times a bound of |C|", _polynomial(times, S), _polynomial(part, S) * _polynomial(by, S))


def _parts(error: Any) -> list[list[Any]]:
    return [list(part) for part in (error.own, error.moved_square, error.largest(None, None))]


def check_scatter(kernel: Kernel) -> Iterator[Check]:
    """The kernel's polynomials of a class."""
    log, tokens = positive_symbol("l"), _class(kernel)
    square = 4 * (1 + S**2) * (D + S**2)
    spread, skew = SIGMA**2 * (1 + S) ** 2, SIGMA**3 * (2 + 4 * S + 8 * S**2 + 8 * S**3)
    off = 2 * S / SIGMA * spread
    yield equal("A", _polynomial(tokens.mean.own, S), SIGMA**2 * (D + 2 + 4 * S**2))
    yield equal("J", _polynomial(tokens.mean.moved_square, S), off**2)
    yield equal("A_S", _polynomial(tokens.scatter.own, S), SIGMA**4 * ((D + 4 + 4 * S**2) ** 2 + square))
    turned = 2 * S / SIGMA * sympy.sqrt(D) * skew + off**2 / 2
    yield equal("J_S", _polynomial(tokens.scatter.moved_square, S), turned**2)
    given, rest = [SymbolicNumber(log), SymbolicNumber(ETA)], (D + 4 * S**2) / (1 - ETA)
    yield equal("B", _polynomial(tokens.mean.largest(*given), S), SIGMA**2 * (2 * log / ETA + rest))
    most = 2 * (1 + log) / ETA + rest
    yield equal("B_S", _polynomial(tokens.scatter.largest(*given), S), SIGMA**4 * (most**2 + square))


def check_law(kernel: Kernel) -> Iterator[Check]:
    """The kernel's polynomials of the four numbers of a law, where kappa decides and where Psi does."""
    y, off = (sympy.Matrix([real(f"{name}{n}") for n in (1, 2)]) for name in ("y", "delta"))
    mixed, own = y * off.T + off * y.T, y * y.T
    yield equal("what y and its mean's shift mix in y y'", (y + off) * (y + off).T, own + mixed + off * off.T)
    size, along = (y.T * y)[0], (y.T * off)[0]
    yield equal("its square", _frobenius(mixed, mixed), 2 * size * (off.T * off)[0] + 2 * along**2)
    yield equal("its product with y y'", _frobenius(mixed, own), 2 * size * along)
    v, trace, kappa, psi = (positive_symbol(name) for name in ("v", "T", "kappa", "Psi"))
    for by_skew in (True, False):
        known = kernel.tilted_tokens.Tilted(*map(SymbolicNumber, (D, v, trace, kappa, psi)))
        tokens = known.tokens()
        limit = sympy.sqrt(v * psi)
        lesser = {True: (sympy.sqrt(D) * kappa, D * kappa), False: (limit, limit)}[by_skew]
        twist, lean = lesser
        chosen = {sympy.Min(sympy.sqrt(D) * kappa, limit): twist, sympy.Min(D * kappa, limit): lean}

        def read(polynomial: Any, chosen: Any = chosen) -> Expr:
            return _polynomial(polynomial, S).subs(chosen)

        s = sympy.sqrt(v) * S
        yield equal("|tau|", read(tokens.shifts[0]), s)
        yield equal("|C| and |D^3 Lambda|", [read(tokens.spread), read(tokens.skew)], [v, kappa])
        yield equal("A", read(tokens.mean.own), trace + s**2)
        yield equal("J", read(tokens.mean.moved_square), 4 * s**2)
        off = twist * S / sympy.sqrt(v) + s**2
        own = psi + 4 * lean * s + 2 * (trace + v) * s**2 + off**2
        yield equal("A_S", read(tokens.scatter.own), own)
        yield equal("J_S", read(tokens.scatter.moved_square), (2 * twist * S / sympy.sqrt(v) + 2 * s**2) ** 2)


def _frobenius(left: Expr, right: Expr) -> Expr:
    return sympy.expand((left.T * right).trace())


def check_laws(kernel: Kernel) -> Iterator[Check]:
    """The numbers of balls, signs and boxes, and those of products and of sums."""
    module, m, x, half = kernel.tilted_tokens, real("m"), positive_symbol("x"), sympy.Rational(1, 2)
    ball_skew, ball_scatter = plain(module.BALL_SKEW), plain(module.BALL_SCATTER)
    # In an interval of length 2, from -alpha to beta about the mean.
    alpha, beta, y = positive_symbol("alpha"), positive_symbol("beta"), real("y")
    touching = sympy.expand((y - beta) * (y + alpha) ** 2)
    cubic = y**3 + (2 * alpha - beta) * y**2 + (alpha**2 - 2 * alpha * beta) * y - alpha**2 * beta
    yield equal("a cubic that is at most 0 up to beta", touching, cubic)
    most = alpha**2 * beta + (beta - 2 * alpha) * alpha * beta
    yield equal("with the largest variance", most, alpha * beta * (beta - alpha))
    along = most.subs(alpha, 2 - beta)
    peaks = [root for root in sympy.solve(sympy.diff(along, beta), beta) if root >= sympy.Rational(4, 3)]
    yield Check("above 4/3: at most kappa", all(bool(along.subs(beta, root) <= ball_skew) for root in [*peaks, 2]))
    yield Check("up to 4/3: beta^3 / 4 is", bool(sympy.Rational(4, 3) ** 3 / 4 <= ball_skew))
    size = (1 + m) ** 2 * (1 - m**2)
    yield equal("in a ball: the largest", sympy.diff(size, m), 2 * (1 + m) ** 2 * (1 - 2 * m))
    yield equal("Psi of a ball", size.subs(m, half), ball_scatter)
    up, down = (1 + m) / 2, (1 - m) / 2
    third, fourth = (up * (1 - m) ** n + down * (-1 - m) ** n for n in (3, 4))
    yield equal("a sign: third cumulant", third, -2 * m * (1 - m**2))
    yield Check("at most kappa", bool(sympy.Abs(third.subs(m, 1 / sympy.sqrt(3))) <= ball_skew))
    yield equal("at its largest", sympy.diff(third, m).subs(m, 1 / sympy.sqrt(3)), 0)
    yield equal("a sign: Psi", plain(module.SIGN_SCATTER) - (fourth - (1 - m**2) ** 2), (1 - 2 * m**2) ** 2)
    langevin = sympy.coth(x) - 1 / x
    coth, sinh = sympy.coth(x), sympy.sinh(x)
    cumulants = [1 / x**2 - 1 / sinh**2, 2 * coth / sinh**2 - 2 / x**3, 6 / x**4 - 4 * coth**2 / sinh**2 - 2 / sinh**4]
    for order, cumulant in enumerate(cumulants, 1):
        rest = (sympy.diff(langevin, x, order) - cumulant).rewrite(sympy.exp)
        yield equal(f"a box: cumulant {order + 1}", sympy.simplify(rest), 0)
    yield Check("a box: kappa and Psi", _box_holds(module))
    yield from _of_products(module)


def _box_holds(module: Any) -> bool:
    """On small parts: the third cumulant changes by at most 4/3 a unit of tilt, Var y^2 by at most 4; and a tail."""
    skew, scatter = (fmpq(*map(int, sympy.fraction(plain(k)))) for k in (module.BOX_SKEW, module.BOX_SCATTER))
    half, before = fmpq(_LAST, 2 * _PARTS), ctx.prec
    ctx.prec = _BITS
    try:
        for n in range(_PARTS):
            x = arb((2 * n + 1) * half)
            coth, square = x.coth(), x.sinh() ** 2
            variance, third = 1 / x**2 - 1 / square, 2 * coth / square - 2 / x**3
            fourth = 6 / x**4 - 4 * coth**2 / square - 2 / square**2
            if (abs(third) + half * 4 / 3 <= skew) is not True:
                return False
            if (fourth + 2 * variance**2 + half * 4 <= scatter) is not True:
                return False
        last = arb(_LAST)
        sharp = (2 / last**3).max(2 * last.coth() / last.sinh() ** 2)
        return (sharp <= skew) is True and (8 / last**4 <= scatter) is True
    finally:
        ctx.prec = before


def _of_products(module: Any) -> Iterator[Check]:
    """Two independent coordinates c y, and the sum of two independent vectors."""
    c, e = positive_symbol("c"), positive_symbol("e")
    v, k, p = (positive_symbol(name) for name in ("v", "k", "p"))
    # Of the sizes c >= e.
    sizes = [SymbolicNumber(c + e), SymbolicNumber(e)]
    found = module._product(sizes, *map(SymbolicNumber, (v, k, p)))
    squares = [v * (c + e) ** 2, v * e**2]
    yield equal("a product", [plain(found.variance), plain(found.trace), plain(found.skew)],
                [squares[0], sum(squares), k * (c + e) ** 3])  # fmt: skip
    yield equal("its Psi", plain(found.scatter), 2 * squares[0] * squares[1] + p * ((c + e) ** 4 + e**4))
    names = [[positive_symbol(f"{name}{n}") for name in ("v", "T", "k", "P")] for n in (1, 2)]
    left, right = (module.Tilted(SymbolicNumber(D), *map(SymbolicNumber, part)) for part in names)
    added = module._sum(left, right)
    yield equal("a sum", [plain(added.variance), plain(added.trace), plain(added.skew)],
                [sum(pair) for pair in zip(*names, strict=True)][:3])  # fmt: skip
    (v1, t1, _, p1), (v2, t2, _, p2) = names
    yield equal("its Psi", plain(added.scatter), p1 + p2 + 2 * t1 * t2 + 2 * sympy.Min(v1 * t2, v2 * t1))


def check_powers(kernel: Kernel) -> Iterator[Check]:
    """x^j against (e^{cx} - 1): 0 at 0, and the slope is no less, with equality at cx = j - 1."""
    x, c = positive_symbol("x"), positive_symbol("c")
    for j in (1, 2, 3, 4):
        factor = j / c * (sympy.Integer(j - 1) / (sympy.E * c)) ** (j - 1)
        bound = factor * (sympy.exp(c * x) - 1)
        yield equal(f"x^{j}: at 0", bound.subs(x, 0), 0)
        slope = sympy.diff(bound, x)
        if j > 1:
            place = sympy.Integer(j - 1) / c
            yield equal(f"x^{j}: equal slopes", slope.subs(x, place), j * place ** (j - 1))
            apart = c * x - (j - 1) - (j - 1) * sympy.log(c * x / (j - 1))
            yield equal(f"x^{j}: elsewhere more", sympy.diff(apart, x), (c * x - (j - 1)) / x)
        else:
            yield equal("x: the slope", slope, sympy.exp(c * x))


def check_errors(kernel: Kernel) -> Iterator[Check]:
    """Mean squares of errors and of biases, and their squares, for bounded queries and for sub-Gaussian ones."""
    module, error, length = kernel.class_region, _error(kernel), SymbolicNumber(LENGTH)
    a, m, b = (list(map(plain, part)) for part in _parts(error))
    kept = [x + y / LENGTH for x, y in zip(a, m, strict=True)]
    region, proof = _region(kernel, _Bounded()), module.Numbers(length, None)
    size = SIGMA * U * RADIUS
    square = _polynomial(kept, size) * sympy.exp(2 * size**2) / LENGTH
    yield equal("bounded: errors", plain(region.error_square(error, 2, proof)), RADIUS**2 * square)
    share = (sympy.exp(2 * size**2) - 1) / LENGTH
    yield equal("bounded: biases", plain(region.bias_square(error, 2, proof)), RADIUS**2 * square * share)
    yield equal("bounded: squares", plain(region.error_fourth(error, 2, proof)), RADIUS**2 * square**2)
    region, unit = _region(kernel, _Queries()), SIGMA * U

    def mean(coefficients: Sequence[Expr], power: int, rate: Expr) -> Expr:
        return sum(c * unit**n * _PURE(n + power, rate * unit**2) for n, c in enumerate(coefficients))

    proof = module.Numbers(length, (SymbolicNumber(1), SymbolicNumber(ETA)))
    two, four = sympy.Integer(2), sympy.Integer(4)
    yield equal("errors, theta = 1", plain(region.error_square(error, 2, proof)), mean(kept, 2, two) / LENGTH)
    biased = 2 * unit**2 * mean(kept, 4, four) / LENGTH**2
    yield equal("biases, theta = 1", plain(region.bias_square(error, 2, proof)), biased)
    fourth = mean(_square(kept), 2, four) / LENGTH**2
    yield equal("squares, theta = 1", plain(region.error_fourth(error, 2, proof)), fourth)
    half = sympy.Rational(1, 2)
    proof = module.Numbers(length, (SymbolicNumber(half), SymbolicNumber(ETA)))

    def root(power: int) -> Expr:
        return sympy.sqrt(mean(b, power, two)) * sympy.sqrt(mean(kept, power, two) / LENGTH)

    found = plain(region.bias_square(error, 2, proof))
    yield equal("biases, theta = 1/2", found, (half * root(2) + unit**2 * root(4)) / sympy.sqrt(LENGTH))
    squares = sympy.sqrt(mean(_square(b), 2, two)) * sympy.sqrt(mean(_square(kept), 2, two)) / LENGTH
    yield equal("squares, theta = 1/2", plain(region.error_fourth(error, 2, proof)), squares)
    theta, x = positive_symbol("theta"), positive_symbol("x")
    apart = 1 - theta + theta * x - x**theta
    yield equal("1 - theta + theta x touches x^theta at 1", [apart.subs(x, 1), sympy.diff(apart, x).subs(x, 1)], [0, 0])
    yield equal("which is concave", sympy.diff(apart, x, 2), theta * (1 - theta) * x ** (theta - 2))


def _square(coefficients: Sequence[Expr]) -> list[Expr]:
    found = sympy.Poly(_polynomial(coefficients, S) ** 2, S).all_coeffs()
    return [sympy.expand(c) for c in reversed(found)]


def check_gap(kernel: Kernel) -> Iterator[Check]:
    """The bound of the difference of the gradients, and of quadratic losses that with biases."""
    module = kernel.theorem_4_3
    smooth, force, slope = (positive_symbol(name) for name in ("lambda", "F", "gamma"))
    e1, e2, b1, b2, b3 = (positive_symbol(name) for name in ("e1", "e2", "b1", "b2", "b3"))

    class Mean:
        def times(self, factor: Any) -> str:
            return "mixed"

    class Near:
        V = SymbolicNumber(V)
        tokens = SimpleNamespace(mean=Mean(), scatter="scatter", spread=None)

        def error_square(self, error: Any, power: int, proof: Any) -> SymbolicNumber:
            # 2 |C| |tau_hat - tau|^2, and the scatter: what is left of e_2^2.
            values = {"mixed": (2, e2**2 / 3), "scatter": (2, e2**2 / 3)}
            wanted, value = values.get(error, (0, e1**2)) if isinstance(error, str) else (0, e1**2)
            assert power == wanted
            return SymbolicNumber(value)

        def bias_square(self, error: Any, power: int, proof: Any) -> SymbolicNumber:
            return SymbolicNumber(b2**2 if power else b1**2)

        def error_fourth(self, error: Any, power: int, proof: Any) -> SymbolicNumber:
            return SymbolicNumber(b3**2)

    def gap(shape: str) -> Expr:
        loss = {module.SMOOTHNESS: SymbolicNumber(smooth), module.SHAPE: shape}
        stated = SimpleNamespace(given={module.LENGTH: 2, module.LOSS: loss}, hint={})
        return plain(module.Training(stated).gap(Near(), SymbolicNumber(force), SymbolicNumber(slope)))

    turned, moved = sympy.sqrt(e1**2 + V**2 * e2**2), smooth * V * e1
    first = (force + moved) * turned + moved * slope
    yield equal("(11)", gap("convex"), first)
    second = force * sympy.sqrt(b1**2 + V**2 * (b2 + b3) ** 2) + smooth * V * b1 * slope + moved * turned
    # The smaller one of the two.
    yield equal("(12)", sum(sympy.Min.make_args(gap("quadratic"))), first + second)
    b, g, h, E = (positive_symbol(name) for name in ("b", "g", "h", "E"))
    solution = sympy.exp(b * h) * E + g * (sympy.exp(b * h) - 1) / b
    yield equal("(13)", sympy.diff(solution, h), b * solution + g)
