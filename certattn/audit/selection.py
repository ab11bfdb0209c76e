"""Which token each query selects, by what margin and with what weight."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np

from certattn.audit.deviation import QUANTILES, quantile
from certattn.audit.head import Head, Statement, mapping
from certattn.provers import selection_on_a_head

NAME = "selection"
# Of runs of queries with a clear choice, the longest so many have certificates.
MOST_RUNS = 4
_FEWEST = 1
# Margins below this part of the largest score are not told from ties in doubles.
_CLEAR = 2.0**-36


def state(head: Head) -> Statement:
    """Write a certificate for each run of queries that select one token clearly. Raises NotProvedError."""
    clear = margins(head) > _CLEAR * np.abs(head.scores).max()
    if head.causal:
        # Query 0 sees one token: there is nothing to select.
        clear[0] = False
    found = sorted(runs(clear), key=lambda run: run[0] - run[1])[:MOST_RUNS]
    if not found:
        return Statement(missing="no query has one token whose score is clearly the largest")
    certificates, tokens, margin, weight = [], Counter[str](), [], []
    for first, stop in sorted(found):
        name = f"selection-{first}-{stop}.yaml" if len(found) > 1 else "selection.yaml"
        made = selection_on_a_head.generate(
            head.folder / name,
            source=head.source,
            scale=head.scale,
            query_rows=f"{first}:{stop}",
            causal=first + 1 if head.causal else None,
            per_query=True,
        )
        stated = mapping(made.plain["asserts"])
        certificates.append(name)
        tokens.update(stated["selected"])
        margin += mapping(stated["margin"])["at_least"]
        weight += mapping(stated["weight"])["at_least"]
    (token, times), count = tokens.most_common(1)[0], sum(stop - first for first, stop in found)
    figures = {
        "queries": count,
        "distinct_tokens": len(tokens),
        "most_selected": {"token": int(token), "queries": times},
        "least_margin": min(margin, key=Fraction),
        "least_weight": min(weight, key=Fraction),
        "median_weight": quantile(weight, QUANTILES["median"]),
    }
    left = len(head.queries) - count - (1 if head.causal else 0)
    missing = f"{left} queries with a tie, too little margin, or between such ones" if left else ""
    return Statement(certificates, figures, missing)


def margins(head: Head) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """By query, the largest score less the second largest of what it sees, in doubles; infinite for one token."""
    visible = np.arange(head.tokens)[None, :] < head.seen[:, None]
    scores = np.where(visible, head.scores, -np.inf)
    if head.tokens < 2:
        return np.full(len(scores), -np.inf)
    two = np.partition(scores, -2, axis=1)[:, -2:]
    found: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = two[:, 1] - two[:, 0]
    return found


def runs(clear: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[tuple[int, int]]:
    """Maximal ranges first:stop of queries that are all clear."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], clear, [False]]).astype(np.int8)))
    return [(int(first), int(stop)) for first, stop in edges.reshape(-1, 2) if stop - first >= _FEWEST]
