"""The part of `tools/truth/certificate.py` about `attention-error`: every entry of every head from the definition.

Which query sees which token is asked of each pair by itself; the softmax is one of scores less their mean, by mpmath;
and what a unit in the last place is comes from numpy's description of the number type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, Truth, judge_all
from tools.truth.prompt import require_bits
from tools.truth.reading import (
    Scale,
    Table,
    Vector,
    read_array,
    read_number,
    read_positive,
    read_scale,
    read_table,
    read_vector,
    require,
    require_record,
    root_of,
    to_real,
)

# A matrix for each batch and head.
Heads = list[list[Table]]
# Exponents of the least normal number, and bits of the fraction.
_NOT_IN_NUMPY = {
    "float8_e4m3fn": SimpleNamespace(minexp=-6, nmant=3),
    "float8_e5m2": SimpleNamespace(minexp=-14, nmant=2),
    "bfloat16": SimpleNamespace(minexp=-126, nmant=7),
}
MEASURES = ("error", "relative", "ulps", "rms", "lse")


def judge_attention_error(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    require_bits(witness)
    require_record(asserts, "asserts", set(), {*MEASURES, "beyond"})
    require(asserts != {}, "nothing is asserted")
    stated = read_kernel(given, folder)
    require("lse" in asserts or stated.logarithms is None, "a log-sum-exp that nothing is said of")
    comparisons: list[Comparison] = []
    for name in MEASURES:
        if name in asserts:
            require_record(asserts[name], name, set(), {"at_most", "at_least"})
            require(asserts[name] != {}, f"{name} without a bound")
            require(name != "ulps" or "float" in stated.dtype, "ulps of no number type")
            require(name != "lse" or stated.logarithms is not None, "no log-sum-exp")
            for end, text in asserts[name].items():
                bound = read_number(text)
                require(bound >= 0, "a negative bound")
                measure = lambda name=name: max(stated.measures(name))  # noqa: E731
                comparisons.append(Comparison(f"{name}.{end}", measure, bound, upper=end == "at_most"))
    if "beyond" in asserts:
        counts = asserts["beyond"]
        require_record(counts, "beyond", {"radius"}, {"at_most", "at_least"})
        radius = read_number(counts["radius"])
        require(radius >= 0 and len(counts) > 1, "beyond")
        for end in ("at_most", "at_least"):
            if end in counts:
                # A count is at most n where it is below n + 1/2.
                upper = end == "at_most"
                bound = _count(counts[end], 0) + Fraction(1 if upper else -1, 2)
                comparisons.append(Comparison(f"beyond.{end}", lambda: mpf(stated.beyond(radius)), bound, upper))
    if not stated.finite:
        return Judgement(Truth.FALSE, 1.0, "finite")
    return judge_all(comparisons)


def _count(text: Any, least: int) -> int:
    require(isinstance(text, str) and re.fullmatch("0|[1-9][0-9]{0,17}", text, re.ASCII) is not None, f"{text!r}")
    require(int(text) >= least, "a count that is too small")
    return int(text)


def _counts(node: Any) -> list[int]:
    require(isinstance(node, list) and node != [], "a list of counts")
    return [_count(text, 1) for text in node]


@dataclass
class Kernel:
    """What a kernel was given and gave back. `sees[b][i]`: the tokens that query i of batch b sees, but for `mask`.

    `place(b, i, j)` is how far token j is from the diagonal of query i.
    """

    queries: Heads
    keys: Heads
    values: Heads
    output: Heads
    finite: bool
    dtype: str
    scale: Scale
    sees: list[list[list[int]]]
    logarithms: list[list[Vector]] | None
    base: str
    mask: np.ndarray[Any, Any] | None
    empty: bool
    cap: Fraction | None
    slopes: Vector | None
    sinks: Vector | None
    place: Callable[[int, int, int], int]

    def __post_init__(self) -> None:
        self.softmax = cache(self._softmax)

    def heads(self) -> list[tuple[int, int]]:
        return [(b, h) for b, batch in enumerate(self.queries) for h in range(len(batch))]

    def _softmax(self, b: int, h: int, precision: int) -> tuple[list[list[mpf]], list[mpf | None]]:
        """T, and log Z, of every query of a head; none of one that sees nothing."""
        values = self.values[b][h // (len(self.queries[b]) // len(self.keys[b]))]
        means: list[list[mpf]] = []
        logs: list[mpf | None] = []
        sink = None if self.sinks is None else self.sinks[h]
        for i, query in enumerate(self.queries[b][h]):
            seen = [j for j in self.sees[b][i] if self.mask is None or self.mask[b, h, i, j] == 1]
            require(bool(seen) or self.empty or sink is not None, "a query that sees nothing")
            scores = [self._score(b, h, query, i, j) for j in seen]
            rows = [values[j] for j in seen]
            if sink is not None:
                scores, rows = [*scores, sink], [*rows, [Fraction(0)] * len(values[0])]
            if not scores:
                means.append([mpf(0)] * len(values[0]))
                logs.append(None)
                continue
            # Exact scores are of one factor that is not, which is taken out for their differences.
            exact = all(isinstance(score, Fraction) for score in scores) and self.plain
            factor, top = (root_of(self.scale), sum(scores) / len(scores)) if exact else (mpf(1), _largest(scores))
            weights = [mp.exp(factor * (_real(score - top) if exact else _real(score) - top)) for score in scores]
            total = mp.fsum(weights)
            means.append([mean_of(weights, list(column), total) for column in zip(*rows, strict=True)])
            logs.append(mp.log(total) + factor * _real(top))
        return means, logs

    @property
    def plain(self) -> bool:
        return self.cap is None and self.slopes is None and self.sinks is None

    def _score(self, b: int, h: int, query: Vector, i: int, j: int) -> Fraction | mpf:
        """Before the scale where nothing else is done to it."""
        key = self.keys[b][h // (len(self.queries[b]) // len(self.keys[b]))][j]
        product = sum((x * y for x, y in zip(query, key, strict=True)), Fraction(0))
        if self.plain:
            return product
        score = root_of(self.scale) * to_real(product)
        if self.cap is not None:
            cap = to_real(self.cap)
            score = cap * mp.tanh(score / cap)
        return score if self.slopes is None else score - to_real(self.slopes[h]) * self.place(b, i, j)

    def off(self, b: int, h: int) -> list[tuple[list[mpf], list[mpf]]]:
        """By query: o - T, and T."""
        means, _ = self.softmax(b, h, mp.prec)
        return [
            ([to_real(o) - t for o, t in zip(out, mean, strict=True)], mean)
            for out, mean in zip(self.output[b][h], means, strict=True)
        ]

    def beyond(self, radius: Fraction) -> int:
        entries = (x for b, h in self.heads() for off, _ in self.off(b, h) for x in off)
        return sum(abs(x) > to_real(radius) for x in entries)

    def measures(self, name: str) -> list[mpf]:
        """A number for each head."""
        found: dict[str, Callable[[int, int], mpf]] = {
            "error": lambda b, h: max(abs(x) for off, _ in self.off(b, h) for x in off),
            "relative": lambda b, h: max(quotient(length_of(off), length_of(mean)) for off, mean in self.off(b, h)),
            "ulps": lambda b, h: max(
                abs(x) / self.unit(t) for off, mean in self.off(b, h) for x, t in zip(off, mean, strict=True)
            ),
            "rms": lambda b, h: mp.sqrt(_average([x * x for off, _ in self.off(b, h) for x in off])),
            "lse": self._off_logarithm,
        }
        return [found[name](b, h) for b, h in self.heads()]

    def unit(self, size: mpf) -> mpf:
        described = _NOT_IN_NUMPY.get(self.dtype) or np.finfo(self.dtype)
        _, above = mp.frexp(size)
        least = described.minexp
        return mpf(2) ** (max(above - 1 if size else least, least) - described.nmant)

    def _off_logarithm(self, b: int, h: int) -> mpf:
        assert self.logarithms is not None
        unit = mp.log(2) if self.base == "2" else mpf(1)
        _, logs = self.softmax(b, h, mp.prec)
        known = [(x, log) for x, log in zip(self.logarithms[b][h], logs, strict=True) if log is not None]
        require(bool(known), "no query sees anything")
        return max(abs(to_real(x) - log / unit) for x, log in known)


def _real(number: Fraction | mpf) -> mpf:
    return to_real(number) if isinstance(number, Fraction) else number


def _largest(scores: list[Any]) -> mpf:
    return max(_real(score) for score in scores)


def mean_of(weights: list[mpf], column: Vector, total: mpf) -> mpf:
    """Exact where there is but one value."""
    if min(column) == max(column):
        return to_real(column[0])
    return mp.fsum(w * to_real(v) for w, v in zip(weights, column, strict=True)) / total


def length_of(vector: list[mpf]) -> mpf:
    return mp.sqrt(mp.fsum(x * x for x in vector))


def _average(numbers: list[mpf]) -> mpf:
    return mp.fsum(numbers) / len(numbers)


def quotient(number: mpf, size: mpf) -> mpf:
    require(size != 0 or number == 0, "an error by the size of 0")
    return number / size if number else mpf(0)


# -- reading


def read_kernel(given: Any, folder: Path) -> Kernel:
    masks = {"causal", "window", "lengths", "sequences", "mask", "empty"}
    rules = {"soft_cap", "alibi", "sinks"}
    require_record(given, "given", {"queries", "keys", "values", "output", "scale"}, masks | rules | {"lse"})
    dtype = given["output"].get("dtype", "") if isinstance(given["output"], dict) else ""
    tensors = {name: tensor_of(given[name], folder) for name in ("queries", "keys", "values", "output")}
    (*outer, m, d), (*fewer, n, _), (*_, width) = (tensors[name].shape for name in ("queries", "keys", "values"))
    require(len(fewer) == len(outer) and fewer[:-1] == outer[:-1], "keys of other batches")
    require(not outer or outer[-1] % fewer[-1] == 0, "heads that do not share keys evenly")
    for name, shape in (("keys", (*fewer, n, d)), ("values", (*fewer, n, width)), ("output", (*outer, m, width))):
        require(tensors[name].shape == shape, f"the shape of {name}")
    require(all(x is not None for name in ("queries", "keys", "values") for x in tensors[name].flat), "not finite")
    batches = outer[0] if len(outer) == 2 else 1
    heads = {name: [list(batch) for batch in by_batch(tensor)] for name, tensor in tensors.items()}
    logarithms, base = None, "e"
    if "lse" in given:
        require_record(given["lse"], "lse", {"value", "base"})
        base = given["lse"]["base"]
        require(base in ("e", "2"), "a base")
        numbers = numbers_of(given["lse"]["value"], folder)
        require(numbers.shape == (*outer, m) or (not outer and numbers.shape == (1, m)), "the shape of lse")
        logarithms = numbers.reshape(batches, -1, m).tolist()
    return Kernel(
        **heads,
        finite=all(x is not None for x in tensors["output"].flat),
        dtype=dtype,
        scale=read_scale(given),
        sees=[seen(given, b, batches, m, n) for b in range(batches)],
        logarithms=logarithms,
        base=base,
        mask=_mask(given, folder, batches, outer[-1] if outer else 1, m, n),
        empty=_one_of(given, "empty", ("zero",)) is not None,
        cap=read_positive(given["soft_cap"]) if "soft_cap" in given else None,
        slopes=_by_head(given, "alibi", folder, outer),
        sinks=_by_head(given, "sinks", folder, outer),
        place=lambda b, i, j: _distance(given, _parts(given, b, batches, m, n), i, j),
    )


def _one_of(given: Any, name: str, words: tuple[str, ...]) -> str | None:
    require(given.get(name) in (None, *words) and given.get(name, words[0]) is not None, f"{name}")
    found: str | None = given.get(name)
    return found


def _by_head(given: Any, name: str, folder: Path, outer: tuple[int, ...]) -> Vector | None:
    if name not in given:
        return None
    found = read_vector(given[name], folder)
    require(len(found) == (outer[-1] if outer else 1), f"{name} of another number of heads")
    return found


def _mask(given: Any, folder: Path, batches: int, heads: int, m: int, n: int) -> np.ndarray[Any, Any] | None:
    if "mask" not in given:
        return None
    found = tensor_of(given["mask"], folder)
    require(all(x in (0, 1) for x in found.flat), "a mask of other numbers")
    found = found.reshape((1,) * (4 - found.ndim) + found.shape)
    require(found.shape[2:] == (m, n), "the shape of a mask")
    require(found.shape[0] in (1, batches) and found.shape[1] in (1, heads), "the heads of a mask")
    return np.broadcast_to(found, (batches, heads, m, n))


def by_batch(tensor: np.ndarray[Any, Any]) -> list[Any]:
    return tensor.reshape((1,) * (4 - tensor.ndim) + tensor.shape).tolist()  # type: ignore[no-any-return]


def tensor_of(node: Any, folder: Path) -> np.ndarray[Any, Any]:
    """Fractions in an array; None for what is not finite, which an output may have."""
    if not isinstance(node, dict):
        return np.array(read_table(node, folder), object)
    return _exact(node, folder, 2, 4)


def numbers_of(node: Any, folder: Path) -> np.ndarray[Any, Any]:
    if not isinstance(node, dict):
        return np.array(read_table(node, folder), object)
    found = _exact(node, folder, 1, 3)
    require(all(x is not None for x in found.flat), "a log-sum-exp that is not finite")
    return found


def _exact(node: dict[str, Any], folder: Path, least: int, most: int) -> np.ndarray[Any, Any]:
    shape = node.get("shape")
    require(isinstance(shape, list) and least <= len(shape) <= most, "the dimensions of an array")
    assert isinstance(shape, list)
    array = read_array(node, folder, len(shape), finite=False)
    flat = [Fraction(x) if array.dtype.kind != "f" or np.isfinite(x) else None for x in array.ravel().tolist()]
    found = np.empty(len(flat), object)
    found[:] = flat
    return found.reshape(array.shape)


def _offset(given: Any) -> int | None:
    """Of the diagonal; None where it depends on the sizes."""
    causal = given.get("causal")
    if causal is None or causal == "bottom-right":
        return None
    return 0 if causal == "top-left" else _count(causal, 0)


def _parts(given: Any, batch: int, batches: int, m: int, n: int) -> list[tuple[int, int]]:
    """How many queries and tokens there are, by sequence."""
    require(not {"lengths", "sequences"} <= set(given), "lengths and sequences")
    if "lengths" in given:
        lengths = _counts(given["lengths"])
        require(len(lengths) == batches and max(lengths) <= n, "lengths")
        return [(m, lengths[batch])]
    if "sequences" in given:
        require_record(given["sequences"], "sequences", {"queries", "keys"})
        of_queries, of_keys = (_counts(given["sequences"][name]) for name in ("queries", "keys"))
        require(len(of_queries) == len(of_keys) and sum(of_queries) == m and sum(of_keys) == n, "sequences")
        return list(zip(of_queries, of_keys, strict=True))
    return [(m, n)]


def _behind(given: Any, parts: list[tuple[int, int]], i: int, j: int) -> int | None:
    """How far token j is behind the diagonal of query i; None in another sequence."""
    offset = _offset(given)
    starts = accumulate(parts, lambda start, part: (start[0] + part[0], start[1] + part[1]), initial=(0, 0))
    for (queries, tokens), (first, token) in zip(parts, starts, strict=False):
        if first <= i < first + queries and token <= j < token + tokens:
            return i - first + (tokens - queries if offset is None else offset) - (j - token)
    return None


def _distance(given: Any, parts: list[tuple[int, int]], i: int, j: int) -> int:
    behind = _behind(given, parts, i, j)
    assert behind is not None
    return abs(behind)


def seen(given: Any, batch: int, batches: int, m: int, n: int) -> list[list[int]]:
    """By query of a batch the tokens that it sees, but for a mask."""
    window = given.get("window")
    require(window is None or "causal" in given, "a window without a mask")
    reach = None if window is None else _count(window, 1)
    parts = _parts(given, batch, batches, m, n)

    def sees(i: int, j: int) -> bool:
        behind = _behind(given, parts, i, j)
        if behind is None or "causal" not in given:
            return behind is not None
        return behind >= 0 and (reach is None or behind < reach)

    return [[j for j in range(n) if sees(i, j)] for i in range(m)]
