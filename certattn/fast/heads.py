"""Softmax attention of one head, of queries that each see some of its tokens. Docs: binary64.md.

The sums and their bounds are those of `sums` and `enclosures`: a token that is not seen has the weight 0, exactly, and
whatever bounds the sums over all tokens bounds those over some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from certattn.fast.score_rules import ScoreRule

# Queries and tokens in a table of scores, which stays in the cache.
QUERIES = 256
TOKENS = 512
# Scores from which on a second thread is worth while.
_FEW_SCORES = 2**17

Counts = NDArray[np.int64]
# A row for each query: True where it does not see a token.
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Head:
    """A head: queries (m x d) and how far the true ones are from them, keys (n x d) and values (n x d_v) in doubles.

    Scores are products of queries and keys, changed by the rule: the scale is in the queries. Query i sees the tokens
    from first[i] on, up to and without last[i], but for those that the mask (m x n) hides; `diagonal` is where the
    distances begin that a rule has.
    """

    queries: Floats
    radius: Floats
    keys: Floats
    values: Floats
    first: Sequence[int]
    last: Sequence[int]
    mask: Mask | None = None
    rule: ScoreRule | None = None
    diagonal: Sequence[int] = ()

    def __post_init__(self) -> None:
        there = all(0 <= start <= stop <= len(self.keys) for start, stop in zip(self.first, self.last, strict=True))
        if not (there and len(self.first) == len(self.queries)):
            raise ValueError("queries see only tokens that there are")
        if self.mask is not None and self.mask.shape != (len(self.queries), len(self.keys)):
            raise ValueError("a mask has a row for each query, and a column for each token")
        if self.rule is not None and self.rule.slope != 0 and len(self.diagonal) != len(self.queries):
            raise ValueError("a slope needs a diagonal")

    @cached_property
    def empty(self) -> NDArray[np.bool_]:
        """Which queries see nothing."""
        first, last = np.asarray(self.first), np.asarray(self.last)
        found: NDArray[np.bool_] = first == last
        if self.mask is not None:
            seen = zip(self.mask, self.first, self.last, strict=True)
            found = found | np.array([bool(row[start:stop].all()) for row, start, stop in seen])
        return found

    @property
    def without_weights(self) -> NDArray[np.bool_]:
        """Which see no sink either."""
        return self.empty & (self.rule is None or self.rule.sink is None)


def hidden_by(stored: memoryview, dtype: str, tokens: int) -> tuple[Mask, tuple[int, int] | None]:
    """What a mask of bytes hides, 0 where a token is hidden and 1 where it is seen; another number and its place."""
    numbers = np.frombuffer(stored, dtype)
    others = np.flatnonzero((numbers != 0) & (numbers != 1))
    other = (int(numbers[others[0]]), int(others[0])) if len(others) else None
    return (numbers == 0).reshape(-1, tokens), other


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

    The mean of a query that sees nothing is 0; unless there is a sink, its normaliser is not bounded.

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
    scratch, found, rule = Scratch(), [], head.rule
    for part in parts:
        sums = Sums(head.queries[part], head.values.shape[1], (), second_of_keys=False)
        first, last = np.asarray(head.first[part]), np.asarray(head.last[part])
        # Whoever sees nothing is shown all, so that there are sums of it, and the mean is set after that.
        empty = head.without_weights[part]
        first, last = np.where(empty, 0, first), np.where(empty, len(head.keys), last)
        start = min(int(first.min()), len(head.keys) - 1)
        stop = max(int(last.max()), start + 1)
        for token in range(start, stop, TOKENS):
            tokens = slice(token, min(token + TOKENS, stop))
            hidden = _hidden(first, last, tokens, None if head.mask is None else head.mask[part, tokens], empty)
            change = None if rule is None else rule.on(tokens, head.diagonal[part], scratch)
            sums.add(Block(head.keys[tokens], head.values[tokens]), scratch, hidden, change)
        slack = None if rule is None else _rest_of_rule(rule, head, part, slice(start, stop), sums, scratch)
        enclosed = Enclosures(sums, head.radius[part], slack)
        mean, (exponent, normaliser) = enclosed.mean(), enclosed.normaliser()
        _set_zeros(mean, head, part)
        normaliser.radius[empty] = np.inf
        found.append(Moments(exponent, normaliser, mean, []))
    return found


def _rest_of_rule(rule: ScoreRule, head: Head, part: slice, seen: slice, sums: Sums, scratch: Scratch) -> Floats:
    """Add the sink; how far scores of some queries are off by what was done to them."""
    if rule.sink is not None:
        sink = Block(np.zeros_like(head.keys[:1]), np.zeros_like(head.values[:1]))
        sums.add(sink, scratch, change=partial(_fill, rule.sink))
    farthest = 0
    if rule.slope != 0:
        farthest = max(abs(place - end) for place in head.diagonal[part] for end in (seen.start, seen.stop))
        # Any of them may have been raised.
        sums.clamped += seen.stop - seen.start
        rule.require_far_above_lowest(sums.exponent)
    sizes = norm_bounds(head.queries[part]) * float(norm_bounds(head.keys).max())
    return rule.slack(sizes, farthest)


def _fill(number: float, scores: Floats) -> None:
    scores[...] = number


def _set_zeros(mean: Ball, head: Head, part: slice) -> None:
    """The mean of values that are all 0, or of none, is 0, exactly: bounds of other tokens' values do not show that."""
    near = (np.abs(mean.middle) <= mean.radius).all(axis=1) | head.empty[part]
    known: dict[tuple[int, int], bool] = {}
    for row in np.flatnonzero(near).tolist():
        query = part.start + row
        seen = head.first[query], head.last[query]
        if head.mask is not None:
            zeros = not head.values[slice(*seen)][~head.mask[query, slice(*seen)]].any()
        else:
            if seen not in known:
                known[seen] = not head.values[slice(*seen)].any()
            zeros = known[seen]
        if zeros:
            mean.middle[row] = mean.radius[row] = 0.0


def _hidden(first: Counts, last: Counts, tokens: slice, mask: Mask | None, empty: NDArray[np.bool_]) -> Mask | None:
    """Which of the tokens are not seen, a row for each query; None where all are."""
    if mask is None and int(first.max()) <= tokens.start and int(last.min()) >= tokens.stop:
        return None
    each = np.arange(tokens.start, tokens.stop)
    hidden: Mask = (each < first[:, None]) | (each >= last[:, None])
    return hidden if mask is None else hidden | (mask & ~empty[:, None])
