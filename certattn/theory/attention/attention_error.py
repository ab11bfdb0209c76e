"""Checks: rows of attention, the errors of an output, and units in the last place, as the kernel has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

import sympy

from certattn.theory.exactness import Check, all_of, equal, equal_logarithms
from certattn.theory.first_principles import split_sums
from certattn.theory.kernel_reading import Kernel
from certattn.theory.operators import softmax
from certattn.theory.symbolic_flint import SymbolicNumber, numbers, plain
from certattn.theory.symbols import matrix, positive_symbol, real, vector

Expr = Any

# Masks: the diagonal is moved by a number, or begins or ends in a corner; beside it a window.
_OFFSETS, _WINDOWS, _SIZES = (None, 0, 2, "top-left", "bottom-right"), (None, 1, 2), range(1, 5)


def check_shift(kernel: Kernel) -> Iterator[Check]:
    """A constant beside all scores leaves T and moves log Z: for sums over L tokens, L a symbol; and by blocks."""
    L, i = sympy.Symbol("L", integer=True, positive=True), sympy.Symbol("i", integer=True)
    c, x, score = real("c"), sympy.IndexedBase("v")[i], sympy.IndexedBase("a")[i]

    def total(term: Expr) -> Expr:
        return split_sums(sympy.Sum(term, (i, 1, L)))

    def mean(scores: Expr) -> Expr:
        return total(x * sympy.exp(scores)) / total(sympy.exp(scores))

    yield equal("T is unchanged, any L", mean(score + c), mean(score))
    log_z = sympy.log(total(sympy.exp(score)))
    yield equal_logarithms("log Z is moved by it, any L", sympy.log(total(sympy.exp(score + c))), log_z + c)
    # Two blocks of tokens with sums N and Z, taken relative to scores b and d.
    N, Z, b, d = vector("N", 2), vector("Z", 2), real("b"), real("d")
    whole = [sympy.exp(b) * first + sympy.exp(d) * second for first, second in (N, Z)]
    moved = [first + sympy.exp(d - b) * second for first, second in (N, Z)]
    yield equal("two blocks, relative to the score of one", whole[0] / whole[1], moved[0] / moved[1])


# -- rows of heads


@dataclass(frozen=True)
class StoredTable:
    """Matrices of symbols one below the other, as a claim finds them in an array file."""

    extents: tuple[int, ...]
    table: Any

    def load(self) -> Any:
        return self.table


class Given:
    """What a certificate states, by the names of fields."""

    def __init__(self, **stated: Any) -> None:
        self._stated = stated

    def __getitem__(self, field: Any) -> Any:
        return self._stated[field.name]

    def __contains__(self, field: Any) -> bool:
        return field.name in self._stated

    def get(self, field: Any) -> Any:
        return self._stated.get(field.name)

    def items(self, field: Any) -> list[Any]:
        return self._stated.get(field.name) or []


def check_rows(kernel: Kernel) -> Iterator[Check]:
    """T_i, T_i - o_i and log Z_i by their definitions: heads that share keys, without a mask and with one."""
    m, n, d, d_v, s = 2, 2, 1, 2, positive_symbol("s")
    for heads, key_heads, causal in ((4, 2, None), (2, 1, "top-left")):
        q, o = matrix("q", heads * m, d), matrix("o", heads * m, d_v)
        k, v = matrix("k", key_heads * n, d), matrix("v", key_heads * n, d_v)
        stated = Given(
            queries=StoredTable((heads, m, d), kernel.exact(q, 2)),
            keys=StoredTable((key_heads, n, d), kernel.exact(k, 3)),
            values=StoredTable((key_heads, n, d_v), kernel.exact(v, 5)),
            output=StoredTable((heads, m, d_v), kernel.exact(o, 7)),
            scale=SymbolicNumber(s),
            **({"causal": causal} if causal else {}),
        )
        found = kernel.stated_heads.StatedHeads(stated, 1, heads, heads // key_heads)
        for head in range(heads):
            below = n * (head * key_heads // heads)
            for i, row in enumerate(kernel.attention_error.exact_rows(found, head)):
                seen = [below + j for j in range(n) if causal is None or j <= i]
                keys, values = k.extract(seen, range(d)) / 3, v.extract(seen, range(d_v)) / 5
                query, output = q[head * m + i, :] / 2, o[head * m + i, :] / 7
                exact = softmax(keys, values, query, s)
                what = f"query {i} of head {head} of {heads}, {key_heads} of keys, mask {causal}"
                yield equal(f"T, {what}", plain(row.exact), exact)
                off = [t - x for t, x in zip(exact, output, strict=True)]
                yield equal(f"T - o, {what}", plain(row.off), off)
                log_z = sympy.log(sum(sympy.exp(score) for score in s * keys * query.T))
                yield equal_logarithms(f"log Z, {what}", plain(row.logarithm), log_z)


def check_rules(kernel: Kernel) -> Iterator[Check]:
    """T_i and log Z_i with a soft cap, slopes and sinks, and with all three; and 0 where nothing is seen."""
    m, n, heads, s, cap = 2, 2, 2, positive_symbol("s"), positive_symbol("c")
    q, o, k, v = (matrix(name, heads * n, 1) for name in "qokv")
    slopes, sinks, mask = matrix("a", 1, heads), matrix("z", 1, heads), sympy.Matrix([[1, 1], [0, 0]])
    arrays = {"queries": q, "keys": k, "values": v, "output": o}
    stated = {name: StoredTable((heads, n, 1), kernel.exact(table, 2)) for name, table in arrays.items()}
    rules = {
        "soft_cap": SymbolicNumber(cap),
        "alibi": StoredTable((heads,), kernel.exact(slopes, 3)),
        "sinks": StoredTable((heads,), kernel.exact(sinks, 5)),
        "mask": StoredTable((m, n), kernel.exact(mask, 1)),
    }
    for chosen in (["soft_cap"], ["alibi"], ["sinks"], ["soft_cap", "alibi", "sinks"], ["sinks", "mask"]):
        given = Given(**stated, scale=SymbolicNumber(s), **{name: rules[name] for name in chosen})
        found = kernel.stated_heads.StatedHeads(given, 1, heads, 1)
        for head in range(heads):
            below = n * head
            for i, row in enumerate(kernel.attention_error.exact_rows(found, head)):
                seen = [j for j in range(n) if "mask" not in chosen or mask[i, j] == 1]
                scores = [s * q[below + i] * k[below + j] / 4 for j in seen]
                if "soft_cap" in chosen:
                    scores = [cap * sympy.tanh(score / cap) for score in scores]
                if "alibi" in chosen:
                    scores = [score - slopes[head] / 3 * abs(i - j) for score, j in zip(scores, seen, strict=True)]
                sink = sympy.exp(sinks[head] / 5) if "sinks" in chosen else 0
                z = sum((sympy.exp(score) for score in scores), sink)
                means = sum(sympy.exp(score) * v[below + j] / 2 for score, j in zip(scores, seen, strict=True)) / z
                what = f"query {i} of head {head}, {', '.join(chosen)}"
                yield equal(f"T, {what}", plain(row.exact), [means])
                yield equal_logarithms(f"log Z, {what}", plain(row.logarithm), sympy.log(z))


def check_soft_caps(kernel: Kernel) -> Iterator[Check]:
    """The hyperbolic tangent by exponentials, and that it makes no error larger."""
    x, c = positive_symbol("x"), positive_symbol("c")
    t = sympy.exp(-2 * x / c)
    yield equal("tanh by exponentials", c * (1 - t) / (1 + t), (c * sympy.tanh(x / c)).rewrite(sympy.exp))
    slope = sympy.diff(c * sympy.tanh(x / c), x)
    yield equal("its derivative is 1 - tanh^2", slope, 1 - sympy.tanh(x / c) ** 2)


def check_masks(kernel: Kernel) -> Iterator[Check]:
    """The tokens that queries see, by the inequalities of the masks: every mask for up to four queries and tokens."""
    sight_of = kernel.stated_heads.sight_of
    for offset, window in product(_OFFSETS, _WINDOWS):
        found, wanted = [], []
        for m, n in product(_SIZES, _SIZES):
            sight = sight_of([m, 1], [n, 1], offset, window)
            found.append([list(range(*ends)) for ends in zip(sight.first, sight.last, strict=True)])
            # A sequence of one query and one token stands behind the first.
            behind = [n] if _sees(0, 0, 0, offset, window) else []
            wanted.append([[j for j in range(n) if _sees(i, j, n - m, offset, window)] for i in range(m)] + [behind])
        yield Check(f"causal {offset}, window {window}", found == wanted)


def _sees(i: int, j: int, corner: int, offset: int | str | None, window: int | None) -> bool:
    """Whether query i sees token j."""
    if offset is None:
        return True
    c = {"top-left": 0, "bottom-right": corner}[offset] if isinstance(offset, str) else offset
    return j <= i + c and (window is None or j > i + c - window)


# -- errors of a head


@contextmanager
def _with_rows(module: Any, rows: Iterable[Any]) -> Iterator[None]:
    """The theorem's module, where every head has these rows."""
    computed, module.exact_rows = module.exact_rows, lambda heads, head: rows
    try:
        yield
    finally:
        module.exact_rows = computed


def check_measures(kernel: Kernel) -> Iterator[Check]:
    """Largest entries, rows and log-sum-exps; the mean square as squared norms of rows over the number of entries."""
    module, heads = kernel.attention_error, kernel.stated_heads

    def errors(base: str, logarithms: sympy.Matrix) -> Any:
        stated = SimpleNamespace(given={heads.LSE: Given(base=base)}, logarithms=kernel.exact(logarithms, 3))
        return module.exact_errors(SimpleNamespace(asserts=None, heads=stated), 0)

    for m, d_v in ((1, 1), (2, 1), (2, 3)):
        t, x = matrix("t", m, d_v).tolist(), matrix("x", m, d_v).tolist()
        z, stated = matrix("z", 1, m), matrix("l", 1, m)
        rows = [
            module.Row(numbers(exact), numbers(off), SymbolicNumber(log))
            for exact, off, log in zip(t, x, z, strict=True)
        ]
        entries, what = [entry for row in x for entry in row], f"{m} rows of {d_v}"
        with _with_rows(module, rows):
            found = errors("e", stated)
            yield equal(f"error, {what}", plain(found["error"]()), sympy.Max(*map(sympy.Abs, entries)))
            ratios = [_norm(off) / _norm(exact) for off, exact in zip(x, t, strict=True)]
            yield equal(f"relative, {what}", plain(found["relative"]()), sympy.Max(*ratios))
            mean_square = sum(entry**2 for entry in entries) / len(entries)
            yield equal(f"rms squared, {what}", plain(found["rms"]()) ** 2, mean_square)
            for base, unit in (("e", sympy.Integer(1)), ("2", sympy.log(2))):
                wrong = [sympy.Abs(log / unit - value / 3) for log, value in zip(z, stated, strict=True)]
                yield equal(f"lse to the base {base}, {what}", plain(errors(base, stated)["lse"]()), sympy.Max(*wrong))


def _norm(row: list[Expr]) -> Expr:
    return sympy.sqrt(sum(entry**2 for entry in row))


# -- units in the last place


@dataclass(frozen=True)
class _Dyadic:
    """mantissa 2^exponent, one end of a ball."""

    mantissa: int
    exponent: int

    @property
    def value(self) -> Expr:
        return self.mantissa * sympy.Integer(2) ** self.exponent

    def __gt__(self, other: int) -> bool:
        return bool(self.value > other)

    def is_finite(self) -> bool:
        return True

    def man_exp(self) -> tuple[int, int]:
        return self.mantissa, self.exponent


@dataclass(frozen=True)
class _Ball:
    """All numbers between two ends: as balls are, it is above a number where its lower end is."""

    ends: tuple[_Dyadic, _Dyadic]

    def is_finite(self) -> bool:
        return True

    def lower(self) -> _Dyadic:
        return self.ends[0]

    def upper(self) -> _Dyadic:
        return self.ends[1]

    def __gt__(self, other: SymbolicNumber) -> bool:
        return bool(self.ends[0].value > other.expr)

    def __le__(self, other: SymbolicNumber) -> bool:
        return bool(self.ends[1].value <= other.expr)


def check_exponents(kernel: Kernel) -> Iterator[Check]:
    """Exponents do not decrease; and those that the checker finds are those of the definition."""
    f = sympy.Symbol("f", integer=True)
    k = sympy.Symbol("k", integer=True, nonnegative=True)
    # Were e = f + 1 + k above f although 2^e <= a <= b < 2^(f + 1), then 2^k would be less than 1.
    yield equal("a larger exponent", 2 ** (f + 1 + k) / 2 ** (f + 1), 2**k)
    yield Check("2^k is a positive integer", bool((2**k).is_integer and (2**k).is_positive))
    exponent = kernel.attention_error._exponent
    for least in (-3, 2):
        yield Check(f"the exponent of 0 is {least}", exponent(_Dyadic(0, 0), least) == least)
        for mantissa, power in product((1, 3, 4, 7, 8, 1023, 1025), (-9, -1, 0, 5)):
            number = _Dyadic(mantissa, power)
            e = exponent(number, least)
            below = e == least or sympy.Integer(2) ** e <= number.value
            yield Check(
                f"2^e <= x < 2^(e + 1), x = {number.value}, e >= {least}",
                bool(below and e >= least and number.value < sympy.Integer(2) ** (e + 1)),
            )


def check_units(kernel: Kernel) -> Iterator[Check]:
    """Between the units of both ends lies that of every number between them, in each format; so do counts."""
    module, one = kernel.attention_error, _Dyadic(1, 0)
    for name, (precision, least) in module.FORMATS.items():
        spacing = sympy.Integer(2) ** (1 - precision)
        smallest = spacing * sympy.Integer(2) ** least

        def unit(*ends: _Dyadic, precision: int = precision, least: int = least) -> Any:
            found = plain(module.unit(_Ball((ends[0], ends[-1])), precision, least))
            return [found.min, found.max] if isinstance(found, sympy.AccumBounds) else [found, found]

        yield equal(f"{name}: the spacing of [1, 2)", unit(one, _Dyadic(7, -2)), [spacing, spacing])
        yield equal(f"{name}: about 1", unit(_Dyadic(7, -3), one), [spacing / 2, spacing])
        yield equal(f"{name}: subnormal numbers", unit(_Dyadic(0, 0), _Dyadic(1, least)), [smallest, smallest])
        yield equal(f"{name}: a ball that is wide", unit(_Dyadic(0, 0), _Dyadic(1, 5)), [smallest, 32 * spacing])
    radius = SymbolicNumber(2)
    counts = {"beyond": ((5, 5), [1, 1]), "at the radius": ((4, 4), [0, 0]), "within": ((1, 3), [0, 0])}
    for name, (ends, wanted) in {**counts, "not known": ((3, 5), [0, 1])}.items():
        found = plain(module.above(_Ball((_Dyadic(ends[0], -1), _Dyadic(ends[1], -1))), radius))
        yield all_of(
            f"an entry {name} is counted {wanted}",
            [equal("", [getattr(found, "min", found), getattr(found, "max", found)], wanted)],
        )
