"""What is measured of a head in doubles, beside what is proved: nothing here has a certificate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from certattn.audit.head import Doubles, Head

# What a cache of a masked head keeps of the tokens that a query sees: so many first ones, and of the last ones as many
# as one in RECENT of the prompt.
FIRST, RECENT = 4, 4
# Scores that are held at a time.
_BLOCK = 2**21


def measures(head: Head, shares: Doubles | None) -> dict[str, Any]:
    """None in place of a number that there is not.

    share: the length of what the head adds to the residual stream by that of the stream there, the median over tokens.
    sink: the token with the largest mean weight, and that weight. evicted: the mean weight that is lost when a masked
    head keeps the first tokens and the last ones alone; none is lost of prompts that are no longer.
    """
    count, tokens = len(head.queries), head.tokens
    recent = -(-tokens // RECENT)
    total, gone = np.zeros(tokens), 0.0
    token = np.arange(tokens)[None, :]
    rows = max(1, _BLOCK // tokens)
    for first in range(0, count, rows):
        query = np.arange(first, min(first + rows, count))[:, None]
        weights = _weights(head, query[:, 0])
        total += weights.sum(axis=0)
        gone += float((weights * ((token >= FIRST) & (token <= query - recent))).sum())
    weight = _finite(float(total.max()) / count)
    return {
        "share": None if shares is None else _finite(float(np.median(shares))),
        "sink": None if weight is None else {"token": int(total.argmax()), "weight": weight},
        "evicted": _finite(gone / count) if head.causal and tokens > FIRST + recent else None,
    }


def _weights(head: Head, queries: np.ndarray[Any, Any]) -> Doubles:
    """The weight of each token at these queries."""
    scores = head.queries[queries].astype(np.float64) @ head.keys.T.astype(np.float64) * head.factor
    if head.cap is not None:
        scores = np.tanh(scores / head.cap) * head.cap
    visible = np.arange(head.tokens)[None, :] < head.seen[queries][:, None]
    scores = np.where(visible, scores, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        found: Doubles = weights / weights.sum(axis=1, keepdims=True)
    return found


def _finite(found: float) -> float | None:
    return found if math.isfinite(found) else None
