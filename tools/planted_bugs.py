"""Kernels with mistakes planted into them, and which way of testing notices them.

    python tools/planted_bugs.py            every mistake at every shape
    python tools/planted_bugs.py --few      the two smallest shapes

A kernel for half-precision arrays is written in numpy as kernels are: blocks of keys, a running maximum, sums in single
precision. Each mistake is one that has been made in a real kernel. A correct kernel passes at the tolerances below,
proved by `certattn.testing`; beside whether the mistake is proved to exceed them stands whether `allclose` with
customary tolerances lets it pass, and the rule "at most twice the error of a reference in half precision".
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certattn.testing import AttentionError, attention_error

Array = NDArray[Any]

# Of a row, relative to its norm; and of a log-sum-exp. Half precision rounds to 2^-11.
RELATIVE, LSE = 2.0**-10, 1e-3
ALLCLOSE = {"allclose 1e-2": 1e-2, "allclose 2e-2": 2e-2}
TWICE = "twice the reference"


@dataclass(frozen=True)
class Shape:
    """What a kernel is asked for."""

    name: str
    heads: int
    key_heads: int
    queries: int
    tokens: int
    d: int
    causal: int | None = None
    window: int | None = None
    length: int | None = None
    cap: float | None = None
    sink: float | None = None

    @property
    def how(self) -> dict[str, Any]:
        """As `attention_error` takes it."""
        return {
            "causal": False if self.causal is None else self.causal,
            "window": self.window,
            "lengths": None if self.length is None else [self.length],
            "soft_cap": self.cap,
            "sinks": None if self.sink is None else np.full(self.heads, self.sink, np.float32),
        }

    def visible(self) -> Array:
        i, j = np.arange(self.queries)[:, None], np.arange(self.tokens)
        seen = np.ones((self.queries, self.tokens), bool)
        if self.causal is not None:
            seen &= j <= i + self.causal
        if self.causal is not None and self.window is not None:
            seen &= j > i + self.causal - self.window
        return seen & (j < (self.tokens if self.length is None else self.length))


SHAPES = (
    Shape("square", 4, 4, 128, 128, 64),
    Shape("causal", 4, 4, 200, 200, 64, causal=0),
    Shape("grouped, causal", 8, 2, 256, 256, 64, causal=0),
    Shape("decoding", 8, 2, 1, 1000, 128, causal=999),
    Shape("window", 4, 2, 300, 300, 64, causal=0, window=64),
    Shape("padded", 4, 4, 96, 320, 32, length=250),
    Shape("capped, with a sink", 4, 4, 150, 150, 64, causal=0, cap=4.0, sink=2.0),
)


@dataclass(frozen=True)
class Kernel:
    """The steps of a kernel, each of which a mistake may replace."""

    shape: Shape
    tile: int = 64
    scale: Callable[[float], float] = lambda scale: scale
    see: Callable[[Array], Array] = lambda seen: seen
    cache: Callable[[Array, Array], tuple[Array, Array]] = lambda k, v: (k, v)
    share: Callable[[int, int], int] = lambda head, group: head // group
    exponential: Callable[[Array], Array] = np.exp
    subtract: bool = True
    capped_first: bool = True
    sink: bool = True
    rescale: bool = True
    accumulate: type = np.float32
    weights: Callable[[Array], Array] = lambda p: p
    last_in_sum: bool = True
    output: Callable[[Array], Array] = lambda o: o
    lse: Callable[[Array], Array] = lambda lse: lse

    def __call__(self, q: Array, k: Array, v: Array) -> tuple[Array, Array]:
        """The output in half precision and the log-sum-exps."""
        k, v = self.cache(k, v)
        seen, scale = self.see(self.shape.visible()), np.float32(self.scale(q.shape[-1] ** -0.5))
        group = len(q) // len(k)
        heads = [
            self._head(q[h], *(x[self.share(h, group) % len(k)] for x in (k, v)), seen, scale) for h in range(len(q))
        ]
        output, lse = (np.stack(part) for part in zip(*heads, strict=True))
        return self.output(output.astype(np.float16)), self.lse(lse)

    def _head(self, q: Array, k: Array, v: Array, seen: Array, scale: np.float32) -> tuple[Array, Array]:
        m = np.full(len(q), -np.inf, np.float32)
        total = np.zeros(len(q), self.accumulate)
        moment = np.zeros((len(q), v.shape[1]), self.accumulate)
        for start in range(0, len(k), self.tile):
            part = slice(start, start + self.tile)
            scores = (q.astype(np.float32) @ k[part].astype(np.float32).T) * scale
            if self.shape.cap is not None and self.capped_first:
                scores = capped(scores, self.shape.cap)
            scores = np.where(seen[:, part], scores, -np.inf).astype(np.float32)
            if self.shape.cap is not None and not self.capped_first:
                scores = capped(scores, self.shape.cap)
            new = np.maximum(m, scores.max(axis=1)) if self.subtract else np.zeros_like(m)
            # A block of which nothing is seen leaves everything as it is.
            base = np.where(np.isfinite(new), new, 0)
            p = self.exponential(scores - base[:, None]).astype(np.float32)
            old = (
                np.exp(np.where(np.isfinite(m), m - base, -np.inf))
                if self.subtract and self.rescale
                else np.ones_like(m)
            )
            p16 = self.weights(p)
            total = (total * old).astype(self.accumulate)
            if self.last_in_sum or start + self.tile < len(k):
                total = (total + p.sum(axis=1)).astype(self.accumulate)
            moment = (moment * old[:, None]).astype(self.accumulate)
            moment = (moment + (p16 @ v[part].astype(np.float32))).astype(self.accumulate)
            m = new
        if self.shape.sink is not None and self.sink:
            total = total + np.exp(np.float32(self.shape.sink) - m)
        return moment / total[:, None], (m + np.log(total)).astype(np.float32)


def capped(scores: Array, cap: float) -> Array:
    found: Array = (np.float32(cap) * np.tanh(scores / np.float32(cap))).astype(np.float32)
    return found


def to_fp8(p: Array) -> Array:
    """Rounded to e4m3: four bits of precision, multiples of 2^-9 at least."""
    exponent = np.frexp(p)[1]
    step = np.ldexp(1.0, np.maximum(exponent, -5) - 4)
    return (np.round(p / step) * step).astype(np.float32)


def stale_page(k: Array, v: Array) -> tuple[Array, Array]:
    """Sixteen tokens in the middle are those of the page before."""
    k, v = k.copy(), v.copy()
    middle = k.shape[1] // 2
    k[:, middle : middle + 16], v[:, middle : middle + 16] = k[:, middle - 16 : middle], v[:, middle - 16 : middle]
    return k, v


def without_last(seen: Array) -> Array:
    """The last key that is seen, dropped where another one is left."""
    last = seen.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)
    found = seen.copy()
    found[np.arange(len(seen)), last] = seen.sum(axis=1) == 1
    return found


def shifted(seen: Array) -> Array:
    """One token more at the end."""
    found = seen.copy()
    found[:, 1:] |= seen[:, :-1]
    return found


def window_edge(seen: Array) -> Array:
    """One token more at the beginning."""
    found = seen.copy()
    found[:, :-1] |= seen[:, 1:]
    return found


def nan_row(o: Array) -> Array:
    o[0, -1] = np.nan
    return o


def empty_tail(o: Array) -> Array:
    """The rows of an incomplete block are not written."""
    o[:, o.shape[1] // 64 * 64 if o.shape[1] % 64 and o.shape[1] > 64 else -1 :] = 0
    return o


@dataclass(frozen=True)
class Mistake:
    """What is done otherwise, and at which shapes it is one."""

    name: str
    changes: Mapping[str, Any]
    where: Callable[[Shape], bool] = field(default=lambda shape: True)


MISTAKES = (
    Mistake("the last key is dropped", {"see": without_last}),
    Mistake("the causal mask is off by one", {"see": shifted}, lambda s: s.causal is not None and s.queries > 1),
    Mistake("a page of the cache is stale", {"cache": stale_page}),
    Mistake("the wrong group of keys", {"share": lambda h, g: h // g + 1}, lambda s: s.key_heads > 1),
    Mistake("query heads share keys in turns", {"share": lambda h, g: h}, lambda s: s.heads > s.key_heads),
    Mistake("no maximum is subtracted, in half precision",
            {"subtract": False, "exponential": lambda x: np.exp(x).astype(np.float16)}, lambda s: s.cap is None),
    Mistake("sums in half precision", {"accumulate": np.float16}, lambda s: s.cap is None),
    Mistake("weights in fp8, without a scale", {"weights": to_fp8}),
    Mistake("log-sum-exp to base 2", {"lse": lambda lse: lse / np.float32(np.log(2))}),
    Mistake("heads are swapped", {"output": lambda o: o[[1, 0, *range(2, len(o))]]}),
    Mistake("the scale is applied twice", {"scale": lambda s: s * s}),
    Mistake("the scale is left out", {"scale": lambda s: 1.0}),
    Mistake("the edge of the window is off by one", {"see": window_edge}, lambda s: s.window is not None),
    Mistake("padding is seen", {"see": lambda seen: seen | True}, lambda s: s.length is not None),
    Mistake("a row of NaN", {"output": nan_row}),
    Mistake("the tail is not written", {"output": empty_tail}),
    Mistake("sums are not rescaled to a new maximum", {"rescale": False}, lambda s: s.tokens > 64),
    Mistake("the last block is not in the normaliser", {"last_in_sum": False},
            lambda s: s.window is None and s.length is None),
    Mistake("the soft cap comes after the mask", {"capped_first": False}, lambda s: s.cap is not None),
    Mistake("the sink is left out", {"sink": False}, lambda s: s.sink is not None),
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One kernel at one shape: what is proved, and what other tests say."""

    found: AttentionError
    passes: Mapping[str, bool]

    @property
    def holds(self) -> bool:
        """Proved to keep the tolerances."""
        lse = self.found.lse
        return (
            not self.found.not_finite
            and self.found.max_relative.upper <= RELATIVE
            and (lse is None or lse.upper <= LSE)
        )

    @property
    def refuted(self) -> bool:
        """Proved to exceed one of them."""
        lse = self.found.lse
        exceeds = self.found.max_relative.lower > RELATIVE or (lse is not None and lse.lower > LSE)
        return exceeds or self.found.not_finite > 0


def trial(shape: Shape, kernel: Kernel) -> Trial:
    rng = np.random.default_rng(7)
    sizes = ((shape.heads, shape.queries), (shape.key_heads, shape.tokens), (shape.key_heads, shape.tokens))
    q, k, v = (rng.standard_normal((h, n, shape.d)).astype(np.float16) for h, n in sizes)
    q[1::2] *= 4  # every second head is a peaked one
    with np.errstate(all="ignore"):
        output, lse = kernel(q, k, v)
        exact, _ = Kernel(shape, accumulate=np.float64)(q, k, v)
        half, _ = Kernel(shape, accumulate=np.float16, weights=lambda p: p.astype(np.float16))(q, k, v)
        passes = {name: bool(np.allclose(output, exact, rtol=t, atol=t)) for name, t in ALLCLOSE.items()}
        errors = [np.abs(o.astype(np.float64) - exact).max() for o in (output, half)]
        passes[TWICE] = bool(errors[0] <= 2 * errors[1])
    finite = np.where(np.isfinite(lse), lse, 0).astype(np.float32)
    four = (x[None] for x in (output, q, k, v))
    return Trial(attention_error(*four, lse=finite[None], **shape.how), passes)


def main(arguments: list[str] | None = None) -> int:
    """1 if a correct kernel is not proved right, or a mistake not proved wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", action="store_true", help="the two smallest shapes")
    shapes = SHAPES[:2] if parser.parse_args(arguments).few else SHAPES
    right = [trial(shape, Kernel(shape)) for shape in shapes]
    worst = max(each.found.max_relative.upper for each in right)
    holding = sum(each.holds for each in right)
    print(f"correct kernels: {holding} of {len(right)} proved within {RELATIVE:.3g} of each row (worst {worst:.3g})\n")
    print(f"{'mistake':<45}{'shapes':>8}{'refuted':>9}" + "".join(f"{name:>21}" for name in (*ALLCLOSE, TWICE)))
    missed = sum(not each.holds for each in right)
    total = [0] * (2 + len(ALLCLOSE) + 1)
    for mistake in MISTAKES:
        meant = [shape for shape in shapes if mistake.where(shape)]
        trials = [trial(shape, replace(Kernel(shape), **mistake.changes)) for shape in meant]
        refuted = sum(each.refuted for each in trials)
        passed = [sum(each.passes[name] for each in trials) for name in (*ALLCLOSE, TWICE)]
        missed += len(trials) - refuted
        total = [sum(pair) for pair in zip(total, (len(trials), refuted, *passed), strict=True)]
        print(f"{mistake.name:<45}{len(trials):>8}{refuted:>9}" + "".join(f"{f'passes {n}':>21}" for n in passed))
    print(f"{'all':<45}{total[0]:>8}{total[1]:>9}" + "".join(f"{f'passes {n}':>21}" for n in total[2:]))
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
