"""Derivation of the formulas of the claim `selection-on-a-head`: weights from gaps, and largest margins by duality.

Ataee Tarzanagh, Li, Zhang and Oymak 2023 (arXiv 2306.13596), problem (Att-SVM) over W.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import Any

import sympy

from certattn.theory.exactness import Check, equal
from certattn.theory.kernel_reading import Kernel
from certattn.theory.symbolic_flint import SymbolicNumber, evaluated, plain
from certattn.theory.symbols import matrix, positive_symbol, positive_vector, real, vector

# Tokens, queries, dimensions of keys and of queries.
SHAPES = ((2, 1, 1, 1), (3, 1, 2, 1), (2, 2, 2, 2), (3, 2, 1, 2))


def check_weights(kernel: Kernel) -> Iterator[Check]:
    """The kernel's weight from gaps is the softmax weight, and grows with each gap."""
    formula = kernel.selection_on_a_head.selected_weight
    for length in (2, 3, 4):
        logits = vector("l", length)
        masses = [sympy.exp(logit) for logit in logits]
        for chosen in range(length):
            gaps = [logits[chosen] - logit for t, logit in enumerate(logits) if t != chosen]
            yield equal(
                f"the weight of token {chosen} of {length}", evaluated(formula, gaps), masses[chosen] / sum(masses)
            )
    g, h = real("g"), real("h")
    weight = evaluated(formula, [g, h])
    yield equal("its derivative in a gap is e^-g times its square", sympy.diff(weight, g), sympy.exp(-g) * weight**2)


def check_gaps(kernel: Kernel) -> Iterator[Check]:
    """The kernel's gaps are differences of logits over the scale, and products of W with (k_alpha - k_t) z'."""
    scale = positive_symbol("s")
    for length, count, d, e in SHAPES:
        k, z, W, chosen = *_instance(length, count, d, e), tuple(i % length for i in range(count))
        tokens = _chosen(kernel, k, z, chosen)
        gaps = tokens.gaps(kernel.exact(W))
        for i in range(count):
            found = plain([gap / gaps.denominator for gap in gaps.of_query(i)])
            logits = [scale * (k[t, :] * W * z[i, :].T)[0] for t in range(length)]
            others = [t for t in range(length) if t != chosen[i]]
            what = f"query {i} of {count}, {length} tokens, W {d} x {e}"
            yield equal(f"gaps from logits, {what}", found, [(logits[chosen[i]] - logits[t]) / scale for t in others])
            points = [_point(k, z, chosen, i, t) for t in others]
            yield equal(f"gaps as products with W, {what}", found, [_product(W, point) for point in points])


def check_duality(kernel: Kernel) -> Iterator[Check]:
    """An average of the gaps is a product with an average of the points, and Cauchy and Schwarz bound it."""
    for length, count, d, e in SHAPES:
        k, z, W, chosen = *_instance(length, count, d, e), tuple(i % length for i in range(count))
        tokens = _chosen(kernel, k, z, chosen)
        pairs = [(i, t) for i in range(count) for t in range(length) if t != chosen[i]]
        mu = dict(zip(pairs, positive_vector("mu", len(pairs)), strict=True))
        combination = tokens.combination({pair: SymbolicNumber(value) for pair, value in mu.items()})
        found = sympy.Matrix(plain(combination.to_rows()))
        what = f"{count} queries, {length} tokens, W {d} x {e}"
        points = {(i, t): _point(k, z, chosen, i, t) for i, t in pairs}
        summed = sum((mu[pair] * points[pair] for pair in pairs), sympy.zeros(d, e))
        yield equal(f"the combination, {what}", found, summed)
        average = sum(mu[pair] * _product(W, points[pair]) for pair in pairs)
        yield equal(f"the sum of multipliers times gaps, {what}", average, _product(W, found))
        w, c = list(W), list(found)
        squares = sum((w[a] * c[b] - w[b] * c[a]) ** 2 for a, b in combinations(range(len(w)), 2))
        gap = _product(W, W) * _product(found, found) - _product(W, found) ** 2
        yield equal(f"|W|^2 |C|^2 - <W, C>^2 is a sum of squares, {what}", gap, squares)
        ceiling = plain(tokens.from_multipliers({pair: SymbolicNumber(value) for pair, value in mu.items()}))
        total = sum(mu.values())
        yield equal(f"the square of the upper bound, {what}", ceiling**2, _product(found, found) / total**2)
    smallest, norm, total, c = (positive_symbol(name) for name in ("m", "n", "t", "c"))
    lower = partial(evaluated, kernel.selection_on_a_head.attained_margin)
    upper = partial(evaluated, kernel.selection_on_a_head.margin_ceiling)
    yield equal("the lower bound is the smallest product over the norm", lower(smallest, norm**2), smallest / norm)
    yield equal("it does not change with c W", lower(c * smallest, (c * norm) ** 2), smallest / norm)
    yield equal("nor the upper bound with c mu", upper((c * norm) ** 2, c * total), upper(norm**2, total))


def check_nearest_point(kernel: Kernel) -> Iterator[Check]:
    """At the nearest point x of the hull both bounds are |x|, and p = x / |x|^2 has the margin one over its norm."""
    lower = partial(evaluated, kernel.selection_on_a_head.attained_margin)
    upper = partial(evaluated, kernel.selection_on_a_head.margin_ceiling)
    x = vector("x", 3)
    square = _dot(x, x)
    p = [entry / square for entry in x]
    yield equal("the norm of p is 1 / |x|", _dot(p, p), 1 / square)
    g = positive_symbol("g")
    yield equal(
        "a larger product than |x|^2 is a loose constraint, by g / |x|^2", (square + g) / square - 1, g / square
    )
    first, second = vector("y", 2), vector("z", 2)
    edge = [a - b for a, b in zip(first, second, strict=True)]
    best = -_dot(second, edge) / _dot(edge, edge)
    nearest = [best * a + (1 - best) * b for a, b in zip(first, second, strict=True)]
    square = _dot(nearest, nearest)
    for name, end in (("first", first), ("second", second)):
        yield equal(f"the {name} end of a segment has the product |x|^2", _dot(end, nearest), square)
        # Squares, as roots of sums are not rewritten.
        found = lower(_dot(end, nearest), square) ** 2
        yield equal(f"and the margin is the upper bound, {name} end", found, upper(square, 1) ** 2)


def _instance(length: int, count: int, d: int, e: int) -> tuple[Any, Any, Any]:
    return matrix("k", length, d), matrix("z", count, e), matrix("W", d, e)


def _chosen(kernel: Kernel, k: Any, z: Any, chosen: tuple[int, ...]) -> Any:
    seen = (k.rows,) * z.rows
    return kernel.selection_on_a_head.ChosenTokens(kernel.exact(k), kernel.exact(z), chosen, seen)


def _point(k: Any, z: Any, chosen: tuple[int, ...], i: int, t: int) -> Any:
    """(k_alpha - k_t) z'."""
    return (k[chosen[i], :] - k[t, :]).T * z[i, :]


def _product(left: Any, right: Any) -> Any:
    """<A, B>, entry by entry."""
    return _dot(list(left), list(right))


def _dot(left: list[Any], right: list[Any]) -> Any:
    return sum(a * b for a, b in zip(left, right, strict=True))
