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
QUERIES = 256
TOKENS = 512
# Scores from which on a second thread is worth while.
_FEW_SCORES = 2**17

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Head:
    """A head: queries (m x d) and how far the true ones are from them, keys (n x d) and values (n x d_v) in doubles.

    Scores are products of queries and keys: the scale is in the queries. Query i sees the tokens from first[i] on, up
    to and without last[i]: at least one.
    """

    queries: Floats
    radius: Floats
    keys: Floats
    values: Floats
    first: Sequence[int]
    last: Sequence[int]

    def __post_init__(self) -> None:
        sees = all(0 <= start < stop <= len(self.keys) for start, stop in zip(self.first, self.last, strict=True))
        if not (sees and len(self.first) == len(self.queries)):
            raise ValueError("every query sees at least one token, and only such as there are")


@np.errstate(all="ignore")
def scaled(queries: Floats, scale: float) -> tuple[Floats, Floats]:
    """Queries and their radius, for a scale that is within 2 u of the true one, as `rounded_scale` gives it."""
    found = queries * scale
    # 2 u for the scale, u for the product.
    radius = 4 * UNIT * norm_bounds(found) + 4 * queries.shape[1] * UNDERFLOW * (1 + abs(scale))
    return found, radius * UP


@np.errstate(all="ignore")
def attended(head: Head, threads: int = 0) -> Moments:
    """The softmax means of what every query sees, and normalisers. Raises Binary64Error.

    threads: how many share the queries; 0 for one per processor.
    """
    require_sound_arithmetic()
    # Proved by Arb, whose precision is one for all threads: before there are others.
    relative_error()
    parts = [slice(start, start + QUERIES) for start in range(0, len(head.queries), QUERIES)]
    many = len(head.queries) * len(head.keys) > _FEW_SCORES
    shares = min(len(parts), threads or processors()) if many else 1
    if shares == 1:
        found = _of_parts(head, parts)
    else:
        with ThreadPoolExecutor(shares) as pool:
            # The later a part, the more tokens it sees under a causal mask: every share has early and late ones.
            jobs = [pool.submit(_in_thread, head, parts[share::shares]) for share in range(shares)]
            taken = [iter(job.result()) for job in jobs]
        found = [next(taken[index % shares]) for index in range(len(parts))]
    normalisers, means = [part.normaliser for part in found], [part.means for part in found]
    return Moments(np.concatenate([part.exponent for part in found]), joined(normalisers), joined(means), [])


def joined(parts: Sequence[Ball]) -> Ball:
    """Rows one below the other."""
    return Ball(np.concatenate([part.middle for part in parts]), np.concatenate([part.radius for part in parts]))


def _in_thread(head: Head, parts: Sequence[slice]) -> list[Moments]:
    # Threads inherit how the one that starts them rounds, which may not be the one that was tried.
    set_default()
    require_sound_arithmetic()
    with np.errstate(all="ignore"):
        return _of_parts(head, parts)


def _of_parts(head: Head, parts: Sequence[slice]) -> list[Moments]:
    scratch, found = Scratch(), []
    for part in parts:
        sums = Sums(head.queries[part], head.values.shape[1], (), second_of_keys=False)
        first, last = np.asarray(head.first[part]), np.asarray(head.last[part])
        start, stop = int(first.min()), int(last.max())
        for token in range(start, stop, TOKENS):
            tokens = slice(token, min(token + TOKENS, stop))
            sums.add(Block(head.keys[tokens], head.values[tokens]), scratch, _hidden(first, last, tokens))
        enclosed = Enclosures(sums, head.radius[part])
        mean = enclosed.mean()
        _set_zeros(mean, head.values, first, last)
        found.append(Moments(*enclosed.normaliser(), mean, []))
    return found


def _set_zeros(mean: Ball, values: Floats, first: Counts, last: Counts) -> None:
    """The mean of values that are all 0 is 0, exactly: bounds of other tokens' values do not show that."""
    near = (np.abs(mean.middle) <= mean.radius).all(axis=1)
    known: dict[tuple[int, int], bool] = {}
    for row in np.flatnonzero(near).tolist():
        seen = int(first[row]), int(last[row])
        if seen not in known:
            known[seen] = not values[slice(*seen)].any()
        if known[seen]:
            mean.middle[row] = mean.radius[row] = 0.0


def _hidden(first: Counts, last: Counts, tokens: slice) -> NDArray[np.bool_] | None:
    """Which of the tokens are not seen, a row for each query; None where all are."""
    if int(first.max()) <= tokens.start and int(last.min()) >= tokens.stop:
        return None
    each = np.arange(tokens.start, tokens.stop)
    hidden: NDArray[np.bool_] = (each < first[:, None]) | (each >= last[:, None])
    return hidden
