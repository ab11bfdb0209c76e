"""Softmax attention of one head, of queries that each see a range of its tokens. Docs: binary64.md.

The sums and their bounds are those of `sums` and `enclosures`: a token that is not seen has the weight 0, exactly, and
whatever bounds the sums over all tokens bounds those over some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from certattn.fast.attention import Moments
from certattn.fast.balls import Ball
from certattn.fast.enclosures import Enclosures
from certattn.fast.exponential import relative_error
from certattn.fast.rows import Block, norm_bounds
from certattn.fast.sums import Scratch, Sums, processors
from certattn.fast.units import UNDERFLOW, UNIT, UP, Floats, require_sound_arithmetic
from certattn.kernel.decide.floating_point import set_default

# Queries and tokens in a table of scores, which stays in the cache.
_QUERIES = 256
_TOKENS = 512
# Scores from which on a second thread is worth while.
_FEW_SCORES = 2**17

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Head:
    """A head: queries (m x d), keys (n x d) and values (n x d_v) in doubles, exactly.

    The scale of the scores is a double within 2 u of it, as `rounded_scale` gives.
    Query i sees the tokens from first[i] on, up to and without last[i]: at least one.
    """

    queries: Floats
    keys: Floats
    values: Floats
    scale: float
    first: Sequence[int]
    last: Sequence[int]

    def __post_init__(self) -> None:
        sees = all(0 <= start < stop <= len(self.keys) for start, stop in zip(self.first, self.last, strict=True))
        if not (sees and len(self.first) == len(self.queries)):
            raise ValueError("every query sees at least one token, and only such as there are")


@np.errstate(all="ignore")
def attended(head: Head, threads: int = 0) -> Moments:
    """The softmax means of what every query sees, and normalisers. Raises Binary64Error.

    threads: how many share the queries; 0 for one per processor.
    """
    require_sound_arithmetic()
    # Proved by Arb, whose precision is one for all threads: before there are others.
    relative_error()
    queries = head.queries * head.scale
    # 2 u for the scale, u for the product.
    radius = (4 * UNIT * norm_bounds(queries) + 4 * queries.shape[1] * UNDERFLOW * (1 + abs(head.scale))) * UP
    parts = [slice(start, start + _QUERIES) for start in range(0, len(queries), _QUERIES)]
    many = len(queries) * len(head.keys) > _FEW_SCORES
    shares = min(len(parts), threads or processors()) if many else 1
    if shares == 1:
        found = _of_parts(head, queries, radius, parts)
    else:
        with ThreadPoolExecutor(shares) as pool:
            # The later a part, the more tokens it sees under a causal mask: every share has early and late ones.
            jobs = [pool.submit(_in_thread, head, queries, radius, parts[share::shares]) for share in range(shares)]
            taken = [iter(job.result()) for job in jobs]
        found = [next(taken[index % shares]) for index in range(len(parts))]
    normalisers, means = [part.normaliser for part in found], [part.means for part in found]
    return Moments(np.concatenate([part.exponent for part in found]), _joined(normalisers), _joined(means), [])


def _joined(parts: Sequence[Ball]) -> Ball:
    return Ball(np.concatenate([part.middle for part in parts]), np.concatenate([part.radius for part in parts]))


def _in_thread(head: Head, queries: Floats, radius: Floats, parts: Sequence[slice]) -> list[Moments]:
    # Threads inherit how the one that starts them rounds, which may not be the one that was tried.
    set_default()
    require_sound_arithmetic()
    with np.errstate(all="ignore"):
        return _of_parts(head, queries, radius, parts)


def _of_parts(head: Head, queries: Floats, radius: Floats, parts: Sequence[slice]) -> list[Moments]:
    scratch, found = Scratch(), []
    for part in parts:
        sums = Sums(queries[part], head.values.shape[1], (), second_of_keys=False)
        first, last = np.asarray(head.first[part]), np.asarray(head.last[part])
        start, stop = int(first.min()), int(last.max())
        for token in range(start, stop, _TOKENS):
            tokens = slice(token, min(token + _TOKENS, stop))
            sums.add(Block(head.keys[tokens], head.values[tokens]), scratch, _hidden(first, last, tokens))
        enclosed = Enclosures(sums, radius[part])
        found.append(Moments(*enclosed.normaliser(), enclosed.mean(), []))
    return found


def _hidden(first: Counts, last: Counts, tokens: slice) -> NDArray[np.bool_] | None:
    """Which of the tokens are not seen, a row for each query; None where all are."""
    if int(first.max()) <= tokens.start and int(last.min()) >= tokens.stop:
        return None
    each = np.arange(tokens.start, tokens.stop)
    hidden: NDArray[np.bool_] = (each < first[:, None]) | (each >= last[:, None])
    return hidden
