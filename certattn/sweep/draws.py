"""Arrays drawn from a seed by a distribution that the spec names.

    {draw: normal, shape: [8, 2], seed: 5}                    mean, deviation
    {draw: uniform, shape: [8, 2], seed: 5}                   low, high
    {draw: integers, shape: [8, 2], seed: 5, low: -3, high: 3}
    {draw: signs, shape: [8, 2], seed: 5}

The stream is numpy's PCG64, seeded by the seed and the name of the array, so that the keys and the values of one seed
are not the same numbers. What a version of numpy makes of the stream may differ from what another does; the
certificate's hashes say what was drawn.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

from flint import fmpq

from certattn.kernel.document.schema import (
    Choice,
    Count,
    Field,
    Listing,
    Rational,
    Reading,
    Record,
    Scale,
    Values,
    Variant,
)
from certattn.kernel.document.tree import Node
from certattn.kernel.mathematics.reals import Real, Surd, format_real

MOST_ENTRIES = 10**8

SHAPE = Field("shape", Listing(Count(1)), "its extents, one or two")
SEED = Field("seed", Count(0), "the seed")
DTYPE = Field("dtype", Choice(("float64", "float32", "float16")), "its number type", required=False)
MEAN = Field("mean", Rational(), "the mean; 0 by default", required=False)
DEVIATION = Field("deviation", Scale(), "the standard deviation; 1 by default", required=False)
LOW = Field("low", Rational(), "the lower end; 0 by default", required=False)
HIGH = Field("high", Rational(), "the upper end; 1 by default", required=False)
LEAST = Field("low", Rational(), "the least integer")
MOST = Field("high", Rational(), "the largest integer")
DRAW = Variant(
    "draw",
    {
        "normal": Record(SHAPE, SEED, DTYPE, MEAN, DEVIATION),
        "uniform": Record(SHAPE, SEED, DTYPE, LOW, HIGH),
        "integers": Record(SHAPE, SEED, DTYPE, LEAST, MOST),
        "signs": Record(SHAPE, SEED, DTYPE),
    },
)


def is_draw(node: Node) -> bool:
    return isinstance(node.value, dict) and "draw" in node.value


def read_draw(node: Node, name: str, reading: Reading) -> dict[str, Any]:
    """What is drawn, as plain data for JSON; `name` is that of the array. Raises MalformedError."""
    kind, values = DRAW.read(node, reading)
    shape = values[SHAPE]
    if len(shape) > 2 or math.prod(shape) > MOST_ENTRIES:
        raise values.node(SHAPE).malformed(f"one or two extents, of at most {MOST_ENTRIES} entries", f"{shape}")
    draw: dict[str, Any] = {"draw": kind, "shape": shape, "seed": values[SEED], "name": name}
    draw["dtype"] = values.get(DTYPE) or "float64"
    if kind == "normal":
        draw |= {"mean": _text(values.get(MEAN), 0), "deviation": _text(values.get(DEVIATION), 1)}
    elif kind == "uniform":
        draw |= {"low": _text(values.get(LOW), 0), "high": _text(values.get(HIGH), 1)}
        _require_order(values, HIGH)
    elif kind == "integers":
        draw |= {"low": _integer(values, LEAST), "high": _integer(values, MOST)}
        _require_order(values, MOST)
    return draw


def _text(value: Real | None, default: int) -> str:
    return str(default) if value is None else format_real(value)


def _integer(values: Values, field: Field[fmpq]) -> int:
    value = values[field]
    if value.q != 1 or abs(value.p) >= 2**53:
        raise values.node(field).malformed("an integer of at most 53 bits")
    return int(value.p)


def _require_order(values: Values, high: Field[fmpq]) -> None:
    low = values.get(LOW) or fmpq(0)
    top = values.get(high)
    if (fmpq(1) if top is None else top) <= low:
        raise values.at.malformed("low < high")


def drawn(draw: dict[str, Any]) -> Any:
    """The array (a numpy array of the shape and number type of the draw)."""
    import numpy as np

    word = int.from_bytes(hashlib.sha256(str(draw["name"]).encode()).digest()[:8], "big")
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence([int(draw["seed"]), word])))
    shape = tuple(draw["shape"])
    array: np.ndarray[Any, Any]
    if draw["draw"] == "normal":
        array = _double(draw["mean"]) + _double(draw["deviation"]) * stream.standard_normal(shape)
    elif draw["draw"] == "uniform":
        low, high = _double(draw["low"]), _double(draw["high"])
        array = low + (high - low) * stream.random(shape)
    elif draw["draw"] == "integers":
        array = stream.integers(draw["low"], draw["high"], size=shape, endpoint=True)
    else:
        array = 2 * stream.integers(0, 1, size=shape, endpoint=True) - 1
    return array.astype(draw["dtype"])


def drawn_texts(draw: dict[str, Any]) -> Any:
    """The same as certificates write numbers: nested lists of exact texts."""
    from certattn.kernel.mathematics.reals import format_rational

    def text(value: Any) -> Any:
        if isinstance(value, list):
            return [text(item) for item in value]
        return format_rational(fmpq(*value.as_integer_ratio()))

    return text(drawn(draw).tolist())


def _double(text: str) -> float:
    from certattn.kernel.document.numbers import parse_real
    from certattn.kernel.limits import DEFAULT_LIMITS

    value = parse_real(text, DEFAULT_LIMITS)
    if isinstance(value, Surd):
        return math.sqrt(int(value.radicand.p) / int(value.radicand.q))
    return int(value.p) / int(value.q)
