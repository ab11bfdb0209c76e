"""Which token each query selects, by what margin and with what weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from certattn.audit.deviation import QUANTILES, quantile
from certattn.audit.head import Head, Plan, Unfit, asserted, mapping, numbers, rational
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.quoting import counted
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError
from certattn.kernel.theorems.selection.selection_on_a_head import THEOREM
from certattn.provers.selection import selection_on_a_head

NAME = "selection"
# Of runs of queries with a clear choice, the longest so many have certificates.
MOST_RUNS = 4
_FEWEST = 1
# Margins below this part of the largest score are not told from ties in doubles.
_CLEAR = 2.0**-36


def plan(head: Head) -> Plan:
    """A certificate for each run of queries that select one token clearly. Raises NotProvedError."""
    clear = margins(head) > _CLEAR * np.abs(head.scores).max()
    if head.causal:
        # Query 0 sees one token: there is nothing to select.
        clear[0] = False
    found = sorted(sorted(runs(clear), key=lambda run: run[0] - run[1])[:MOST_RUNS])
    if not found:
        raise NotProvedError("no query has one token whose score is clearly the largest")
    files = [f"selection-{first}-{stop}.yaml" if len(found) > 1 else "selection.yaml" for first, stop in found]

    def write() -> None:
        for name, (first, stop) in zip(files, found, strict=True):
            selection_on_a_head.generate(
                head.folder / name,
                source=head.source,
                scale=head.scale,
                query_rows=f"{first}:{stop}",
                causal=first + 1 if head.causal else None,
                per_query=True,
            )

    left = len(head.queries) - sum(stop - first for first, stop in found) - (1 if head.causal else 0)
    missing = f"{counted(left, 'query')} with a tie, too little margin, or between such ones" if left else ""
    return Plan(files, write, lambda made: figures(head, found, made), missing)


def figures(head: Head, found: list[tuple[int, int]], made: Sequence[Certificate]) -> dict[str, Any]:
    """What the certificates of all runs state together. Raises Unfit."""
    tokens, margin, weight = Counter[str](), list[str](), list[str]()
    references = head.references("keys", "values", "queries")
    for (first, stop), certificate in zip(found, made, strict=True):
        queries: dict[str, Plain] = {**mapping(references["queries"]), "rows": f"{first}:{stop}"}
        given: dict[str, Plain] = {**references, "queries": queries, "scale": head.scale}
        if head.causal:
            given["causal"] = str(first + 1)
        stated = asserted(certificate, THEOREM.name, given)
        tokens.update(str(rational(token)) for token in numbers(stated.get("selected")))
        margin += numbers(mapping(stated.get("margin")).get("at_least"))
        weight += numbers(mapping(stated.get("weight")).get("at_least"))
    (token, times), count = tokens.most_common(1)[0], sum(stop - first for first, stop in found)
    if not token.isdecimal() or not len(margin) == len(weight) == tokens.total() == count:
        raise Unfit("expected a token, a margin and a weight for each query")
    return {
        "queries": count,
        "distinct_tokens": len(tokens),
        "most_selected": {"token": int(token), "queries": times},
        "least_margin": min(margin, key=rational),
        "least_weight": min(weight, key=rational),
        "median_weight": quantile(weight, QUANTILES["median"]),
    }


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
