"""Both tiers on hard prompts, in a process of its own: what a small run on another kind of machine does.

    python compact_check.py

Prints how many enclosures were compared, and exits with status 1 if one is false.
"""

from __future__ import annotations

import sys

import numpy as np
from exact_attention import Truth, swept, swept_tightly, worst, worst_of_normaliser
from prompts import prompts


def shares() -> list[float]:
    """Errors over radii; more than 1 is a false enclosure."""
    found = []
    for _, keys, values, query in prompts(seed=2):
        truth = Truth.of(keys, values, query)
        default, tightly = swept(keys, values, query, with_second=(0,)), swept_tightly(keys, values, query)
        for each in (default, tightly):
            found += [worst(each.mean(), truth.mean()), worst_of_normaliser(each.normaliser(), truth.normaliser)]
        found.append(worst(default.covariance(0), truth.covariance()))
    return found + large_shares()


def large_shares() -> list[float]:
    """Prompts large enough for a library of matrix products to use threads: the tiers against each other."""
    rng = np.random.default_rng(3)
    keys, queries = rng.standard_normal((20000, 64)), rng.standard_normal((70, 64)) / 4
    many = swept(keys, keys, queries).mean()
    found = []
    for index in (0, 69):
        exact = swept_tightly(keys, keys, queries[index]).mean()
        off = np.abs(many.middle[index] - exact.middle)
        found.append(float((off / (many.radius[index] + exact.radius)).max()))
    return found


def main() -> int:
    found = shares()
    print(f"{len(found)} enclosures, the worst error is {max(found):.3g} of its radius")
    return 0 if max(found) <= 1 else 1


if __name__ == "__main__":
    sys.exit(main())
