"""Accept and reject cases of `output-deviation` with masks and with bounds in units of the output.

The bounds of six digits are the true numbers rounded up (or down, for lower bounds) in the sixth.
"""

from __future__ import annotations

from corpus import MALFORMED, REFUTED, Case, Family

NAME = "output-deviation"

# With a mask the deviations are 0, 0.61732679... and 0.17536067..., over the outputs 0, 0.26981023..., 0.16766111...
# Without it they are 0.15726724..., 0.85941472..., 0.17536067..., and 0.21849007..., 0.37892129..., 0.16766111...
MASKED = Family(
    NAME,
    "queries that see the first tokens alone, beside their outputs",
    """
given:
  keys: [[1, 0], [0, 1], [-1, 1/2], [2, -1]]
  values: [[1, 2], [0, -1], [3, 0.5], [-1, 1]]
  queries: [[1, 1], [-2, 0.5], [1/2, -1]]
  scale: 1/sqrt(2)
  causal: 2
  limit: {kind: empirical}
asserts:
  deviation:
    norm: l2
    at_most: 0.617327
    at_least: 0.617326
    relative_at_most: 0.269811
    per_query:
      at_most: [0, 0.617327, 0.175361]
      at_least: [0, 0.617326, 0.175360]
      relative_at_most: [0, 0.269811, 0.167662]
""",
    {
        "only the relative bounds": (
            "    at_most: 0.617327\n    at_least: 0.617326\n    relative_at_most: 0.269811\n    per_query:\n"
            "      at_most: [0, 0.617327, 0.175361]\n      at_least: [0, 0.617326, 0.175360]\n",
            "    per_query:\n"),
        "only one relative bound": (
            "    at_most: 0.617327\n    at_least: 0.617326\n    relative_at_most: 0.269811\n    per_query:\n"
            "      at_most: [0, 0.617327, 0.175361]\n      at_least: [0, 0.617326, 0.175360]\n"
            "      relative_at_most: [0, 0.269811, 0.167662]\n",
            "    relative_at_most: 0.269811\n"),
        "a query fewer": (
            "queries: [[1, 1], [-2, 0.5], [1/2, -1]]\n  scale: 1/sqrt(2)\n  causal: 2\n  limit: {kind: empirical}\n"
            "asserts:\n  deviation:\n    norm: l2\n    at_most: 0.617327\n    at_least: 0.617326\n"
            "    relative_at_most: 0.269811\n    per_query:\n      at_most: [0, 0.617327, 0.175361]\n"
            "      at_least: [0, 0.617326, 0.175360]\n      relative_at_most: [0, 0.269811, 0.167662]",
            "queries: [[-2, 0.5], [1/2, -1]]\n  scale: 1/sqrt(2)\n  causal: 3\n  limit: {kind: empirical}\n"
            "asserts:\n  deviation:\n    norm: l2\n    at_most: 0.617327\n    at_least: 0.617326\n"
            "    relative_at_most: 0.269811"),
        "a token after all that are seen": (
            "[2, -1]]\n  values: [[1, 2], [0, -1], [3, 0.5], [-1, 1]]",
            "[2, -1], [50, 7]]\n  values: [[1, 2], [0, -1], [3, 0.5], [-1, 1], [9, 9]]"),
    },
    {
        "no mask": ("  causal: 2\n", "", REFUTED, "is false"),
        "the mask one token shorter": ("causal: 2", "causal: 1", REFUTED, "is false"),
        "the mask one token longer than there are": ("causal: 2", "causal: 3", MALFORMED, "at most 2"),
        "a mask that sees nothing": ("causal: 2", "causal: 0", MALFORMED, "causal"),
        "a mask that is no count": ("causal: 2", "causal: 2.0", MALFORMED, "causal"),
        "relative_at_most one unit lower": (
            "relative_at_most: 0.269811", "relative_at_most: 0.269810", REFUTED,
            "at query 1, at most 0.26981 |T(q)|_l2"),
        "relative_at_most of zero": ("relative_at_most: 0.269811", "relative_at_most: 0", REFUTED, "at query"),
        "relative_at_most below zero": ("relative_at_most: 0.269811", "relative_at_most: -1", MALFORMED, ">= 0"),
        "the last relative bound one unit lower": ("0.167662]", "0.167661]", REFUTED, "at query 2"),
        "a relative bound below zero": ("relative_at_most: [0,", "relative_at_most: [-1,", REFUTED, "at query 0"),
        "relative bounds exchanged": (
            "relative_at_most: [0, 0.269811, 0.167662]", "relative_at_most: [0, 0.167662, 0.269811]", REFUTED,
            "at query 1"),
        "a relative bound too few": (
            "relative_at_most: [0, 0.269811, 0.167662]", "relative_at_most: [0, 0.269811]", MALFORMED, "3 bounds"),
        "a relative bound too many": (
            "relative_at_most: [0, 0.269811, 0.167662]", "relative_at_most: [0, 0.269811, 0.167662, 1]", MALFORMED,
            "3 bounds"),
        "at_most one unit lower": ("at_most: 0.617327\n", "at_most: 0.617326\n", REFUTED, "at query 1"),
        "at_least one unit higher": ("at_least: 0.617326\n", "at_least: 0.617327\n", REFUTED, "the largest"),
        "absolute and relative bounds exchanged": (
            "at_most: [0, 0.617327, 0.175361]", "at_most: [0, 0.269811, 0.167662]", REFUTED, "at query 1"),
        "the other norm": ("norm: l2", "norm: linf", REFUTED, "is false"),
        "smaller values": ("values: [[1, 2], [0, -1], [3,", "values: [[1, 2], [0, -1], [2.99,", REFUTED, "is false"),
        "queries in another order": (
            "queries: [[1, 1], [-2, 0.5], [1/2, -1]]", "queries: [[-2, 0.5], [1, 1], [1/2, -1]]", REFUTED, "is false"),
        "two keys exchanged": ("keys: [[1, 0], [0, 1],", "keys: [[0, 1], [1, 0],", REFUTED, "is false"),
        "a region in the place of queries": (
            "queries: [[1, 1], [-2, 0.5], [1/2, -1]]", "region: {kind: ball, centre: [1, 1], radius: 0}", MALFORMED,
            "a region lists no"),
        "nothing in per_query": (
            "    per_query:\n      at_most: [0, 0.617327, 0.175361]\n      at_least: [0, 0.617326, 0.175360]\n"
            "      relative_at_most: [0, 0.269811, 0.167662]\n",
            "    per_query: {}\n", MALFORMED, "at_most or at_least or relative_at_most"),
    },
)  # fmt: skip

# Attention over the first token is that token's value; the surrogate is the value too.
FIRST = Family(
    NAME,
    "a first query that sees one token",
    """
given:
  keys: [[3], [5]]
  values: [[7], [-2]]
  queries: [[100], [0]]
  causal: 1
  limit: {kind: empirical}
asserts:
  deviation: {norm: linf, at_most: 0, relative_at_most: 0}
""",
    {},
    {
        "a query that tells both tokens apart": ("[[100], [0]]", "[[100], [1]]", REFUTED, "at query 1"),
        "both queries see both": ("causal: 1", "causal: 2", MALFORMED, "at most 1"),
        "no mask": ("  causal: 1\n", "", REFUTED, "at query 0"),
    },
)

# An output of 0, at a distance from the affine map: no multiple of it is enough.
NO_OUTPUT = Family(
    NAME,
    "an output of zero",
    """
given:
  keys: [[1], [1]]
  values: [[1], [-1]]
  queries: [[2]]
  limit: {kind: affine, matrix: [[0]], offset: [0]}
asserts:
  deviation: {norm: l2, relative_at_most: 0}
""",
    {"any multiple": ("relative_at_most: 0", "relative_at_most: 5")},
    {
        "a limit that is not zero": ("offset: [0]", "offset: [1e-30]", REFUTED, "at query 0"),
        "over a region": ("queries: [[2]]", "region: {kind: box, lower: [0], upper: [1]}", MALFORMED, "absolute"),
    },
)

# The same limit for every query, whatever it sees: T is 1, then 1 + 1/(1 + e^-2) = 1.88079...
AFFINE = Family(
    NAME,
    "a mask beside an affine map",
    """
given:
  keys: [[0], [1]]
  values: [[1], [2]]
  queries: [[9], [2]]
  causal: 1
  limit: {kind: affine, matrix: [[0]], offset: [1]}
asserts:
  deviation: {norm: l2, per_query: {at_most: [0, 0.880798], relative_at_most: [0, 0.468314]}}
""",
    {},
    {
        "the bound one unit lower": ("0.880798]", "0.880797]", REFUTED, "at query 1"),
        "the relative bound one unit lower": ("0.468314]", "0.468310]", REFUTED, "at query 1"),
        "no mask": ("  causal: 1\n", "", REFUTED, "at query 0"),
    },
)

FAMILIES = [MASKED, FIRST, NO_OUTPUT, AFFINE]
CASES: list[Case] = [case for each in FAMILIES for case in each.cases()]
