"""Heads of an attention kernel beside what it returned: attention-error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import intervals
from arrays import Matrix, Vector, tensor, vector
from decisions import at_most, below, bounds
from fields import fields, listed, one_of, optional, refuse, some, starting_bits
from functions import exp, log, tanh
from intervals import I, absolute, iv, largest, summed
from matrices import transposed
from outcomes import NotFinite, NotProved, Undecided
from scalars import natural, positive, rational
from softmax import Prompt, means, scale_iv, scale_of
from vectors import dot, integers, minus, norm2

# bits of precision, and the exponent of the least normal number, of number types with units in the last place
UNITS = {"float8_e4m3fn": (4, -6), "float8_e5m2": (3, -14), "float16": (11, -14)}
UNITS |= {"bfloat16": (8, -126), "float32": (24, -126), "float64": (53, -1022)}
MEASURES, SQUARED = "error relative ulps rms lse", ("relative", "rms")


def attention_error(g: dict[str, Any], a: dict[str, Any], w: Any) -> None:
    """docs/claims/attention/attention-error.md. Norms are compared by their squares."""
    starting_bits(w)
    given = fields(
        g,
        "given",
        "queries keys values output scale",
        "causal window lengths sequences mask empty soft_cap alibi sinks lse",
    )
    asserts = some(a, "asserts", f"{MEASURES} beyond")
    stated = {name: bounds(asserts[name], name) for name in MEASURES.split() if asserts[name] is not None}
    beyond = optional(some, asserts["beyond"], "beyond", "at_most at_least", "radius")
    if beyond is not None:
        radius = rational(beyond["radius"], "beyond.radius")
        refuse(radius < 0, "beyond.radius: a negative number")
        most, least = (optional(natural, beyond[key], f"beyond.{key}") for key in ("at_most", "at_least"))
    refuse(("lse" in stated) != (given["lse"] is not None), "asserts.lse: not that of what was returned")
    dtype = given["output"].get("dtype") if isinstance(given["output"], dict) else None
    refuse("ulps" in stated and dtype not in UNITS, "asserts.ulps: units of no number type")
    heads = read(given)
    for name, (low, high) in stated.items():
        found, power = [measure(name, head, dtype) for head in heads], 2 if name in SQUARED else 1
        if high is not None:
            for i, values in enumerate(found):
                for x in values:
                    at_most(x, high**power, f"{name}.at_most, head {i}")
        if low is not None:
            reached(low**power, [x for values in found for x in values], f"{name}.at_least")
    if beyond is not None:
        sizes = [size_of(x) for head in heads for row in head.rows for x in row.off]
        above, others = count(sizes, lambda x: below(radius, x, "")), count(sizes, lambda x: at_most(x, radius, ""))
        counted(above, len(sizes) - others, most, least)


@dataclass
class Row:
    """Of a query: T, o - T, and how far the log-sum-exp is from log Z, if one was returned."""

    exact: list[Any]
    off: list[Any]
    logarithm: Any


@dataclass
class Head:
    """A query head with its rows."""

    rows: list[Row]


def measure(name: str, head: Head, dtype: Any) -> list[Any]:
    """Numbers whose largest is the measure of a head, or its square for `relative` and `rms`."""
    rows = head.rows
    if name == "relative":
        return [quotient(norm2(row.off), norm2(row.exact)) for row in rows]
    if name == "rms":
        return [sum((norm2(row.off) for row in rows), start=Fraction(0)) * Fraction(1, len(rows) * len(rows[0].off))]
    if name == "lse":
        found = [row.logarithm for row in rows if row.logarithm is not None]
        if not found:
            raise Undecided("asserts.lse: no query sees anything")
        return found
    if name == "ulps":
        return [in_units(x, t, *UNITS[dtype]) for row in rows for x, t in zip(row.off, row.exact, strict=True)]
    return [size_of(x) for row in rows for x in row.off]


def size_of(x: Any) -> Any:
    """|x|, exactly where x is."""
    return absolute(x) if isinstance(x, I) else abs(x)


def quotient(x: Any, y: Any) -> Any:
    """x / y; 0 where x is, and otherwise no number by 0."""
    if not isinstance(x, I) and x == 0:
        return Fraction(0)
    if not isinstance(y, I) and y == 0:
        raise Undecided("an error by the size of 0")
    return x / y


def in_units(x: Any, t: Any, precision: int, least: int) -> Any:
    """|x| in units in the last place of t; of both where t may lie on two sides of a power of two."""
    size = size_of(t)
    ends = [Fraction(end, 1 << intervals.P) for end in (size.a, size.b)] if isinstance(size, I) else [size]
    factors = [Fraction(2) ** (precision - 1 - max(least, exponent(end, least))) for end in ends]
    scaled = [size_of(x) * factor for factor in factors]
    return scaled[0] if factors[0] == factors[-1] else intervals.hull(*scaled)


def exponent(x: Fraction, otherwise: int) -> int:
    """e with 2^e <= x < 2^(e + 1); of 0 another number."""
    if x == 0:
        return otherwise
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if x >= Fraction(2) ** e else e - 1


def reached(bound: Fraction, xs: Sequence[Any], what: str) -> None:
    """Prove that the largest of some numbers is no less."""
    if not any(not isinstance(x, I) and x >= bound for x in xs):
        exact = all(not isinstance(x, I) for x in xs)
        at_most(bound, max(xs) if exact else largest(xs), what)


def count(xs: Sequence[Any], prove: Callable[[Any], None]) -> int:
    """Of how many numbers something is proved."""
    proved = 0
    for x in xs:
        try:
            prove(x)
            proved += 1
        except (NotProved, Undecided):
            pass
    return proved


def counted(low: int, high: int, most: Any, least: Any) -> None:
    """Prove that a count, which lies between two numbers, lies between two others."""
    if (most is not None and low > most) or (least is not None and high < least):
        raise NotProved(f"beyond: {low} to {high} entries")
    if (most is not None and high > most) or (least is not None and low < least):
        raise Undecided(f"beyond: {low} to {high} entries")


# -- reading


def read(g: dict[str, Any]) -> list[Head]:
    """The query heads, batch after batch, with the softmax means of their queries."""
    queries, of_queries = tensor(g["queries"], "given.queries", 2, 4)
    keys, of_keys = tensor(g["keys"], "given.keys", 2, 4)
    values, of_values = tensor(g["values"], "given.values", 2, 4)
    scale = given_scale(g["scale"])
    *outer, m, d = of_queries
    *fewer, n, _ = of_keys
    refuse(len(outer) != len(fewer) or outer[:-1] != fewer[:-1], "given.keys: other batches than those of the queries")
    shared, uneven = divmod(outer[-1], fewer[-1]) if outer else (1, 0)
    refuse(uneven, "given.keys: heads that the heads of queries do not share evenly")
    refuse(of_keys != [*fewer, n, d] or of_values[:-1] != [*fewer, n], "given: keys and values that do not fit")
    width, batches = of_values[-1], outer[0] if len(outer) == 2 else 1
    count = outer[-1] if outer else 1
    mask = optional(masks, g["mask"], batches, count, m, n)
    sight = [seen(g, b, batches, m, n) for b in range(batches)]
    cap = optional(positive, g["soft_cap"], "given.soft_cap")
    slopes, sinks = (optional(vector, g[key], f"given.{key}", count) for key in ("alibi", "sinks"))
    if g["empty"] is not None:
        one_of(g["empty"], "given.empty", "zero")
    logarithms, unit = returned(g["lse"], outer, m)
    try:
        output, of_output = tensor(g["output"], "given.output", 2, 4)
    except NotFinite as error:
        raise NotProved("an entry of the output that is not finite") from error
    refuse(of_output != [*outer, m, width], "given.output: another shape than a row for each query")
    asked, out = blocks(queries, m, d), blocks(output, m, width)
    prompts = [Prompt.of(k, v, scale) for k, v in zip(blocks(keys, n, d), blocks(values, n, width), strict=True)]
    heads = []
    for i, (block, stated) in enumerate(zip(asked, out, strict=True)):
        prompt, rows, h = prompts[i // shared], [], i % count
        rule = Rule(cap, slopes[h] if slopes else Fraction(0), sinks[h] if sinks else None)
        for j, (query, o, (tokens, diagonal)) in enumerate(zip(block, stated, sight[i // count], strict=True)):
            visible = [t for t in tokens if mask is None or mask(i // count, h)[j][t] == 1]
            refuse(not visible and g["empty"] is None and sinks is None, f"given: query {j} sees no token")
            exact, logarithm = rule.softmax(prompt.some(visible), query, [abs(diagonal - t) for t in visible], width)
            of_log = None
            if logarithms is not None and logarithm is not None:
                of_log = size_of((logarithm / unit if unit is not None else logarithm) - logarithms[i * m + j])
            rows.append(Row(exact, minus(o, exact), of_log))
        heads.append(Head(rows))
    return heads


@dataclass
class Rule:
    """What is done to the scores of a head: x becomes cap tanh(x / cap), less the slope times a distance; a sink."""

    cap: Fraction | None
    slope: Fraction
    sink: Fraction | None

    def softmax(self, prompt: Prompt, query: Vector, distances: list[int], width: int) -> tuple[list[Any], Any]:
        """T, and log Z, of the tokens of a prompt; without any T is 0, and log Z the sink, or nothing."""
        if not distances:
            return [Fraction(0)] * width, self.sink
        columns = transposed(prompt.values)
        if (self.cap, self.slope, self.sink) == (None, 0, None):
            weights, top = prompt.softmax(query)
        else:
            scores = self.scores(prompt, query, distances)
            top = max(scores, key=lambda score: iv(score).a)
            weights = [exp(score - top) for score in scores]
            columns = [[*column, *([0] if self.sink is not None else [])] for column in columns]
        # Of one token log Z is its score.
        return means(weights, columns, prompt.dv), top if len(weights) == 1 else log(summed(weights)) + top

    def scores(self, prompt: Prompt, query: Vector, distances: list[int]) -> list[Any]:
        """Of every token, and of the sink."""
        (row,), d = integers([query])
        found = []
        for key, distance in zip(prompt.keys, distances, strict=True):
            score = scale_iv(prompt.scale) * Fraction(dot(key, row), d * prompt.dk)
            if self.cap is not None:
                score = tanh(score / self.cap) * self.cap
            found.append(score - self.slope * distance)
        return found if self.sink is None else [*found, self.sink]


def masks(node: Any, batches: int, heads: int, m: int, n: int) -> Callable[[int, int], Matrix]:
    """Of a batch and a head the rows of its mask; an extent of 1 stands for all."""
    flat, shape = tensor(node, "given.mask", 2, 4)
    refuse(any(x not in (0, 1) for x in flat), "given.mask: another number than 0 and 1")
    of_batch, of_head, *own = [1] * (4 - len(shape)) + shape
    refuse(own != [m, n] or of_batch not in (1, batches) or of_head not in (1, heads), "given.mask: another shape")
    each = blocks(flat, m, n)
    return lambda batch, head: each[batch % of_batch * of_head + head % of_head]


def given_scale(node: Any) -> tuple[Fraction, int]:
    """A scale that must be there."""
    refuse(node is None, "given.scale: missing")
    return scale_of(node)


def returned(node: Any, outer: list[int], m: int) -> tuple[Vector | None, I | None]:
    """The log-sum-exps of all queries, and log 2 where that is their unit."""
    if node is None:
        return None, None
    lse = fields(node, "given.lse", "value base")
    base = one_of(lse["base"], "given.lse.base", "e", "2")
    values, shape = tensor(lse["value"], "given.lse.value", 1, 3)
    refuse(shape != [*outer, m] and (outer or shape != [1, m]), "given.lse: another shape than a number for each query")
    return values, log(2) if base == "2" else None


def blocks(flat: Vector, rows: int, columns: int) -> list[Matrix]:
    """Matrices that stand one below the other."""
    lines = [flat[i : i + columns] for i in range(0, len(flat), columns)]
    return [lines[i : i + rows] for i in range(0, len(lines), rows)]


def seen(g: dict[str, Any], batch: int, batches: int, m: int, n: int) -> list[tuple[range, int]]:
    """By query of a batch the tokens that it sees, but for a mask, and the token on its diagonal."""
    causal, window = g["causal"], optional(natural, g["window"], "given.window", 1)
    refuse(window is not None and causal is None, "given.window: of no causal mask")
    refuse(g["lengths"] is not None and g["sequences"] is not None, "given: lengths beside sequences")
    named = causal in ("top-left", "bottom-right") if isinstance(causal, str) else False
    offset = 0 if named or causal is None else natural(causal, "given.causal")
    of_queries, of_keys = [m], [n]
    if g["lengths"] is not None:
        lengths = [natural(x, "given.lengths", 1, n) for x in listed(g["lengths"], "given.lengths")]
        refuse(len(lengths) != batches, "given.lengths: not one for each batch")
        of_keys = [lengths[batch]]
    if g["sequences"] is not None:
        both = fields(g["sequences"], "given.sequences", "queries keys")
        of_queries, of_keys = (
            [natural(x, f"given.sequences.{key}", 1) for x in listed(both[key], "given.sequences")] for key in both
        )
        refuse(len(of_queries) != len(of_keys), "given.sequences: not as many of queries as of tokens")
        refuse((sum(of_queries), sum(of_keys)) != (m, n), "given.sequences: lengths that do not add up")
    found, start = list[tuple[range, int]](), 0
    for queries, tokens in zip(of_queries, of_keys, strict=True):
        for i in range(queries):
            # Under a causal mask the token on the diagonal is the last that query i sees.
            diagonal = i + (tokens - queries if causal in (None, "bottom-right") else offset)
            last = tokens - 1 if causal is None else diagonal
            begin = 0 if window is None else max(0, last - window + 1)
            found.append((range(start + begin, start + min(tokens, last + 1)), start + diagonal))
        start += tokens
    return found
