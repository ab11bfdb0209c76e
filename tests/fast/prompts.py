"""Prompts that are hard on floating point: (name, keys, values, query) for small dimensions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Case = tuple[str, Floats, Floats, Floats]


def same(name: str, tokens: Floats, query: Floats) -> Case:
    return name, tokens, tokens, query


def orthogonal(tokens: Floats, query: Floats) -> Floats:
    """The tokens with their scores nearly cancelled."""
    for _ in range(2):
        tokens = tokens - np.outer(tokens @ query, query) / (query @ query)
    return tokens


def prompts(seed: int = 0) -> Iterator[Case]:
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal
    for d, n in ((1, 1), (1, 2), (2, 1), (3, 7), (4, 129), (16, 40), (5, 300)):
        yield same(f"normal {n} x {d}", normal((n, d)), normal(d))
        yield f"keys and values {n} x {d}", normal((n, d)), normal((n, 3)), normal(d)
    d = 4
    query = normal(d)
    tokens = normal((60, d))
    scores = tokens @ query
    yield same("scores +-700", tokens * (700 / np.abs(scores))[:, None], query)
    yield "scores +-700, other values", tokens * (700 / np.abs(scores))[:, None], normal((60, 2)), query
    yield same("scores to +-10900", tokens * (10900 / np.abs(scores).max()), query)
    yield same("all scores far below 0", np.abs(tokens), -200 * np.abs(query))
    yield same("equal tokens", np.tile(normal(d), (50, 1)), query)
    yield same("scores near 0", orthogonal(tokens, query), query)
    yield same("cancelling 1e9", orthogonal(tokens * 1e6, query * 1e3), query * 1e3)
    yield same("cancelling 1e11", orthogonal(tokens * 1e8, query * 1e3), query * 1e3)
    yield same("signs that cancel", np.tile([1e5, -1e5], (40, 2)) * (1 + 1e-3 * normal((40, 4))), np.full(4, 1e-2))
    yield same("offset 1000", tokens + 1000, query / 10)
    yield "offset of the values", tokens, normal((60, 3)) + 1e6, query
    yield "long values of many coordinates", tokens, normal((60, 9)) * 1e7, query
    yield same("subnormal tokens", tokens * 1e-310, query)
    yield same("subnormal query", tokens, query * 1e-312)
    mixed = tokens.copy()
    mixed[:, ::2] *= 1e-310
    yield same("some coordinates subnormal", mixed, query)
    yield "subnormal values", tokens, normal((60, 2)) * 1e-309, query
    yield same("tiny", tokens * 1e-200, query * 1e-100)
    yield same("huge tokens, tiny query", tokens * 1e100, query * 1e-101)
    yield same("tiny tokens, huge query", tokens * 1e-101, query * 1e100)
    yield same("query 0", tokens, query * 0)
    yield same("tokens 0", tokens * 0, query)
    zeros = tokens.copy()
    zeros[::3] = 0
    yield same("rows of zeros", zeros, query)
    yield same("one dominates", np.vstack([tokens * 0.1, 100 * np.sign(query)[None]]), query)
    yield "one dominates, others far", np.vstack([tokens * 0.1, 9 * np.sign(query)[None]]), normal((61, 2)) * 1e8, query
    yield same("sizes mixed", rng.choice([1.0, 1e3, -1e3, 1e-8], (60, d)), rng.choice([1.0, -1.0, 1e-7], d))
    yield same("half units", rng.choice([1.0, 3.0, 1e-8, 2.0**-53], (200, d)), rng.choice([1.0, -1.0], d))
    yield same("lanes", np.where(np.arange(64) < 8, 1.0, 2.0**-53)[None].repeat(20, 0), np.ones(64))
    yield same("in sequence", np.where(np.arange(64) < 1, 1.0, 2.0**-53)[None].repeat(20, 0), np.ones(64))
    yield same("growing", np.sort(normal((400, 2)) * 20, axis=0), np.ones(2))
    yield same("more than a block", np.sort(normal((1100, 1)), axis=0), np.array([30.0]))
