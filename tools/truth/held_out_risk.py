"""Whether a certificate of `held-out-risk` is true: the ends of the rule, from its definition, by mpmath."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.truth.judgement import Comparison, Judgement, exactly, judge_all, worst
from tools.truth.reading import (
    dot,
    read_lengths,
    read_number,
    read_positive,
    read_table,
    require,
    require_record,
    split,
    times,
    to_real,
)


def judge_held_out(given: Any, asserts: Any, witness: Any, folder: Path) -> Judgement:
    """False where an end lies inside of the rule's interval, or a label or target is too large."""
    needed = {"parameters", "tokens", "labels", "queries", "targets", "probability"}
    require_record(given, "given", needed, {"lengths", "largest"})
    require_record(witness, "witness", set())
    require_record(asserts, "asserts", set(), {"at_least", "at_most"})
    require(len(asserts) > 0 and ("at_most" not in asserts or "largest" in given), "nothing that can be shown")
    tokens, labels, queries, targets = (
        read_table(given[k], folder) for k in ("tokens", "labels", "queries", "targets")
    )
    size = len(tokens[0])
    require(len(labels) == len(tokens) and len(targets) == len(queries), "other numbers of rows")
    require(all(len(table[0]) == 1 for table in (labels, targets)) and len(queries[0]) == size, "other dimensions")
    require_record(given["parameters"], "parameters", {"A", "b"})
    A, b = read_table(given["parameters"]["A"], folder), read_number(given["parameters"]["b"])
    require((len(A), len(A[0])) == (size, size), "A of another shape")
    share = read_positive(given["probability"]) / 2
    require(share < Fraction(1, 2), "a probability of 1 or more")
    lengths = read_lengths(given, len(tokens), len(queries))
    prompts = zip(split(tokens, lengths), split(labels, lengths), queries, targets, strict=True)
    shown = [([dot(x, times(A, q)) for x in keys], [y for (y,) in values], t) for keys, values, q, (t,) in prompts]

    def losses() -> list[mpf]:
        found = []
        for scores, values, t in shown:
            masses = [mp.exp(to_real(score - max(scores))) for score in scores]
            mean = mp.fsum(p * to_real(y) for p, y in zip(masses, values, strict=True)) / mp.fsum(masses)
            found.append((to_real(b) * mean - to_real(t)) ** 2 / 2)
        return found

    found: list[Judgement] = []
    comparisons = []
    if "at_least" in asserts:
        comparisons.append(_rarely("at_least", losses, read_number(asserts["at_least"]), share))
    if "largest" in given:
        largest = read_positive(given["largest"])
        most = ((abs(b) + 1) * largest) ** 2 / 2
        for name, table in (("labels", labels), ("targets", targets)):
            found.append(exactly(f"largest.{name}", all(abs(x) <= largest for (x,) in table)))
        if "at_most" in asserts:
            room = most - read_number(asserts["at_most"])
            comparisons.append(_rarely("at_most", lambda: [to_real(most) - x for x in losses()], room, share))
    return worst([*found, judge_all(comparisons)])


def _rarely(name: str, numbers: Callable[[], list[mpf]], mean: Fraction, share: Fraction) -> Comparison:
    """1 / M(mean) <= share: the bets are the shares 1, 1/2, 1/4, ..., a further one for four times as many numbers."""

    def p_value() -> mpf:
        if mean <= 0:
            return mpf(0)
        ratios = [x / to_real(mean) for x in numbers()]
        count = 1
        while 8 * 4 ** (count - 1) < len(ratios):
            count += 1
        shares = [mpf(1) / 2**k for k in range(count)]
        wealth = mp.fsum(mp.fprod([1 - c + c * ratio for ratio in ratios]) for c in shares) / count
        return 1 / max(wealth, mpf(1))

    return Comparison(name, p_value, share)
