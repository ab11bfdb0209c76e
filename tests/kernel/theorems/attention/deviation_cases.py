"""Accept and reject cases of `output-deviation`, in titled families.

The bounds of six digits are the true deviations rounded up (or down, for lower bounds) in the sixth:
one unit less (or more) is false.
"""

from __future__ import annotations

import re
from functools import partial

import mask_cases
import region_cases
from corpus import INCONCLUSIVE, MALFORMED, REFUTED, Case, Change, Family, array

NAME = "output-deviation"
family = partial(Family, NAME)

# Deviations 0.12484137... and 0.61732679...
KEY_VALUE = family(
    "keys and values against their own moments",
    """
given:
  keys: [[1, 0], [0, 1], [-1, 1/2]]
  values: [[1, 2], [0, -1], [3, 0.5]]
  queries: [[1, 1], [-2, 0.5]]
  scale: 1/sqrt(2)
  limit: {kind: empirical}
asserts:
  deviation:
    norm: l2
    at_most: 0.617327
    at_least: 0.617326
    per_query: {at_most: [0.124842, 0.617327], at_least: [0.124841, 0.617326]}
""",
    {
        "only the upper bound": (
            "    at_least: 0.617326\n    per_query: {at_most: [0.124842, 0.617327], at_least: [0.124841, 0.617326]}\n",
            ""),
        "only the lower bound": (
            "    at_most: 0.617327\n    at_least: 0.617326\n"
            "    per_query: {at_most: [0.124842, 0.617327], at_least: [0.124841, 0.617326]}\n",
            "    at_least: 0.617326\n"),
        "a lower bound of zero": ("at_least: 0.617326\n", "at_least: 0\n"),
        "a negative lower bound of a query": ("at_least: [0.124841,", "at_least: [-5,"),
        "the same scale as one root": ("1/sqrt(2)", "sqrt(0.5)"),
        "tokens in another order": (
            "keys: [[1, 0], [0, 1], [-1, 1/2]]\n  values: [[1, 2], [0, -1], [3, 0.5]]",
            "keys: [[0, 1], [-1, 1/2], [1, 0]]\n  values: [[0, -1], [3, 0.5], [1, 2]]"),
        "all keys moved": ("keys: [[1, 0], [0, 1], [-1, 1/2]]", "keys: [[1000001, -7], [1000000, -6], [999999, -6.5]]"),
        "every token twice": (
            "keys: [[1, 0], [0, 1], [-1, 1/2]]\n  values: [[1, 2], [0, -1], [3, 0.5]]",
            "keys: [[1, 0], [0, 1], [-1, 1/2], [1, 0], [0, 1], [-1, 1/2]]\n"
            "  values: [[1, 2], [0, -1], [3, 0.5], [1, 2], [0, -1], [3, 0.5]]"),
        "a few bits to begin with": ("asserts:", "witness: {bits: 2}\nasserts:"),
        "many bits to begin with": ("asserts:", "witness: {bits: 1000000000}\nasserts:"),
        "its own moments written out as an affine map": (
            "limit: {kind: empirical}",
            # v_bar and Cov(v, k) by hand: sums over three tokens.
            "limit: {kind: affine, offset: [4/3, 1/2], matrix: [[-2/3, -1/6], [1/2, -1/2]], scale: 1/sqrt(2)}",
        ),
    },
    {
        "at_most one unit lower": ("at_most: 0.617327\n", "at_most: 0.617326\n", REFUTED, "at query 1"),
        "at_least one unit higher": ("at_least: 0.617326\n", "at_least: 0.617327\n", REFUTED, "the largest"),
        "at_most of zero": ("at_most: 0.617327\n", "at_most: 0\n", REFUTED, "(and 1 more)"),
        "first upper bound of a query one unit lower": (
            "[0.124842, 0.617327]", "[0.124841, 0.617327]", REFUTED, "query 0"),
        "last upper bound of a query one unit lower": (
            "[0.124842, 0.617327]", "[0.124842, 0.617326]", REFUTED, "query 1"),
        "upper bounds of queries exchanged": ("[0.124842, 0.617327]", "[0.617327, 0.124842]", REFUTED, "at query 1"),
        "first lower bound of a query one unit higher": (
            "[0.124841, 0.617326]", "[0.124842, 0.617326]", REFUTED, "query 0"),
        "last lower bound of a query one unit higher": (
            "[0.124841, 0.617326]", "[0.124841, 0.617327]", REFUTED, "query 1"),
        "a negative upper bound of a query": ("[0.124842, 0.617327]", "[-0.1, 0.617327]", REFUTED, "at query 0"),
        "the smaller norm": ("norm: l2", "norm: linf", REFUTED, "the largest"),
        "keys and values exchanged": (
            "  keys: [[1, 0], [0, 1], [-1, 1/2]]\n  values:", "  values: [[1, 0], [0, 1], [-1, 1/2]]\n  keys:", REFUTED,
            "is false"),
        "values in another order": ("values: [[1, 2], [0, -1]", "values: [[0, -1], [1, 2]", REFUTED, "is false"),
        "keys in another order": ("keys: [[1, 0], [0, 1]", "keys: [[0, 1], [1, 0]", REFUTED, "is false"),
        "queries in another order": (
            "queries: [[1, 1], [-2, 0.5]]", "queries: [[-2, 0.5], [1, 1]]", REFUTED, "is false"),
        "a query twice": ("queries: [[1, 1], [-2, 0.5]]", "queries: [[1, 1], [1, 1]]", REFUTED, "is false"),
        "a query of the other sign": ("[-2, 0.5]]", "[2, -0.5]]", REFUTED, "is false"),
        "a key changed": ("[-1, 1/2]]", "[-1, 0.51]]", REFUTED, "is false"),
        "a value changed": ("[3, 0.5]]", "[3, 0.51]]", REFUTED, "is false"),
        "a token added": (
            "keys: [[1, 0], [0, 1], [-1, 1/2]]\n  values: [[1, 2], [0, -1], [3, 0.5]]",
            "keys: [[1, 0], [0, 1], [-1, 1/2], [0, 0]]\n  values: [[1, 2], [0, -1], [3, 0.5], [0, 0]]", REFUTED,
            "is false"),
        "scale changed": ("1/sqrt(2)", "1/sqrt(3)", REFUTED, "is false"),
        "scale inverted": ("1/sqrt(2)", "sqrt(2)", REFUTED, "is false"),
        "scale left out": ("  scale: 1/sqrt(2)\n", "", REFUTED, "is false"),
        "scale of the other sign": ("1/sqrt(2)", "-0.7071", REFUTED, "is false"),
        "another limit": (
            "{kind: empirical}", "{kind: affine, matrix: [[0, 0], [0, 0]], offset: [0, 0]}", REFUTED, "is false"),
        "covariance divided by L - 1": (
            "{kind: empirical}",
            "{kind: affine, offset: [4/3, 1/2], matrix: [[-1, -1/4], [3/4, -3/4]], scale: 1/sqrt(2)}", REFUTED,
            "is false"),
        "no limit": ("  limit: {kind: empirical}\n", "", MALFORMED, "no 'limit'"),
        "an unknown limit": ("kind: empirical", "kind: linear", MALFORMED, "'empirical' or 'affine' or 'law'"),
        "a key beside the empirical limit": (
            "{kind: empirical}", "{kind: empirical, scale: 1}", MALFORMED, "unknown key 'scale'"),
        "a value too few": ("[0, -1], [3, 0.5]]", "[0, -1]]", MALFORMED, "(one value per key)"),
        "a key too few": ("[0, 1], [-1, 1/2]]", "[0, 1]]", MALFORMED, "(one value per key)"),
        "queries of another dimension": ("[[1, 1], [-2, 0.5]]", "[[1], [-2]]", MALFORMED, "of the keys' dimension"),
        "a query of another dimension": ("[-2, 0.5]]", "[-2]]", MALFORMED, "2 numbers, like the first row"),
        "no queries": ("  queries: [[1, 1], [-2, 0.5]]\n", "", MALFORMED, "no 'queries'"),
        "an empty list of queries": ("[[1, 1], [-2, 0.5]]", "[]", MALFORMED, "a list of at least one item"),
        "an empty prompt": ("keys: [[1, 0], [0, 1], [-1, 1/2]]", "keys: []", MALFORMED, "a list of at least one item"),
        "no values": ("  values: [[1, 2], [0, -1], [3, 0.5]]\n", "", MALFORMED, "no 'values'"),
        "tokens beside keys": ("  values:", "  tokens: [[1, 0]]\n  values:", MALFORMED, "the unknown key 'tokens'"),
        "V beside keys": ("  values:", "  V: [[1, 0]]\n  values:", MALFORMED, "the unknown key 'V'"),
        "a bound too few": ("[0.124842, 0.617327]", "[0.617327]", MALFORMED, "2 bounds, one per query"),
        "a bound too many": ("[0.124841, 0.617326]", "[0.124841, 0.617326, 0]", MALFORMED, "2 bounds, one per query"),
        "no bounds of queries": (
            "{at_most: [0.124842, 0.617327], at_least: [0.124841, 0.617326]}", "{}", MALFORMED,
            "nothing that is asserted"),
        "a negative upper bound": ("at_most: 0.617327\n", "at_most: -0.617327\n", MALFORMED, "a number >= 0"),
        "a negative lower bound": ("at_least: 0.617326\n", "at_least: -1\n", MALFORMED, "a number >= 0"),
        "an unknown norm": ("norm: l2", "norm: l1", MALFORMED, "'l2' or 'linf'"),
        "no norm": ("    norm: l2\n", "", MALFORMED, "no 'norm'"),
        "nothing asserted": (
            "    at_most: 0.617327\n    at_least: 0.617326\n"
            "    per_query: {at_most: [0.124842, 0.617327], at_least: [0.124841, 0.617326]}\n",
            "", MALFORMED, "nothing that is asserted"),
        "no deviation": ("  deviation:", "  operator:", MALFORMED, "the unknown key 'operator'"),
        "an unknown key of the deviation": ("norm: l2", "norm: l2\n    slack: 1", MALFORMED, "the unknown key 'slack'"),
        "a bound twice": ("norm: l2", "norm: l2\n    at_most: 9", MALFORMED, "a second time"),
        "an unknown key under given": (
            "  scale:", "  temperature: 1\n  scale:", MALFORMED, "the unknown key 'temperature'"),
        "an unknown key in the witness": ("asserts:", "witness: {queries: [[1, 1]]}\nasserts:", MALFORMED, "'queries'"),
        "a single bit": ("asserts:", "witness: {bits: 1}\nasserts:", MALFORMED, "an integer >= 2"),
        "half a bit": ("asserts:", "witness: {bits: 64.5}\nasserts:", MALFORMED, "an integer >= 2"),
        "a scale of zero": ("1/sqrt(2)", "0", MALFORMED, "a factor other than 0"),
        "a bound that is no number": ("at_most: 0.617327\n", "at_most: .617327\n", MALFORMED, "an exact number"),
        "a bound that is infinite": ("at_most: 0.617327\n", "at_most: inf\n", MALFORMED, "an exact number"),
        "a bound that is a root": ("at_most: 0.617327\n", "at_most: sqrt(1)\n", MALFORMED, "an exact number"),
        "a number that is a list": ("at_most: 0.617327\n", "at_most: [0.617327]\n", MALFORMED, "an exact number"),
        "a bound without a number": ("at_most: 0.617327\n", "at_most: \n", MALFORMED, "expected: a value"),
        "another claim": (NAME, "infinite-prompt-operator", MALFORMED, "given"),
    },
)  # fmt: skip

LINF = family(
    "the linf norm",
    KEY_VALUE.text[: KEY_VALUE.text.index("  deviation")] + "  deviation: {norm: linf, at_most: 0.614488}\n",
    {"a bound with much slack": ("0.614488", "1e30"), "a lower bound": ("at_most: 0.614488", "at_least: 0.614487")},
    {
        "at_most one unit lower": ("0.614488", "0.614487", REFUTED, "|_linf at query 1"),
        "the larger norm": ("norm: linf", "norm: l2", REFUTED, "|_l2 at query 1"),
        "at_least for at_most": ("at_most", "at_least", REFUTED, "the largest"),
    },
)

# K'Q = (1/2, -1/2)'.
TOKENS = family(
    "tokens with K, Q and V",
    """
given:
  tokens: [[1, 2], [-1, 0], [0, 1/2]]
  K: [[1, 0], [1, 1]]
  Q: [[1], [-1/2]]
  V: [[2, 0], [0, 1], [1, -1]]
  queries: [[1], [-1], [3]]
  scale: 1/2
  limit: {kind: empirical}
asserts:
  deviation:
    norm: linf
    at_most: 0.00223035
    at_least: 0.00223034
    per_query: {at_most: [0.000276676, 0.000300774, 0.00223035]}
""",
    {
        "V left out, when the largest coordinate stays": ("  V: [[2, 0], [0, 1], [1, -1]]\n", ""),
        "U in the place of K and Q": ("  K: [[1, 0], [1, 1]]\n  Q: [[1], [-1/2]]\n", "  U: [[1/2], [-1/2]]\n"),
        "the scale in Q": (
            "Q: [[1], [-1/2]]\n  V: [[2, 0], [0, 1], [1, -1]]\n  queries: [[1], [-1], [3]]\n  scale: 1/2",
            "Q: [[1/2], [-1/4]]\n  V: [[2, 0], [0, 1], [1, -1]]\n  queries: [[1], [-1], [3]]"),
    },
    {
        "at_most one unit lower": ("at_most: 0.00223035\n", "at_most: 0.00223034\n", REFUTED, "at query 2"),
        "at_least one unit higher": ("at_least: 0.00223034", "at_least: 0.00223035", REFUTED, "the largest"),
        "a middle bound one unit lower": ("0.000300774", "0.000300773", REFUTED, "at query 1"),
        "queries turned round": ("queries: [[1], [-1], [3]]", "queries: [[3], [-1], [1]]", REFUTED, "at query 0"),
        "norm changed": ("norm: linf", "norm: l2", REFUTED, "is false"),
        "entry of K changed": ("K: [[1, 0], [1, 1]]", "K: [[1, 0], [1, 1.01]]", REFUTED, "is false"),
        "K transposed": ("K: [[1, 0], [1, 1]]", "K: [[1, 1], [0, 1]]", REFUTED, "is false"),
        "entry of Q changed": ("Q: [[1], [-1/2]]", "Q: [[1], [1/2]]", REFUTED, "is false"),
        "entry of V changed": ("V: [[2, 0], [0, 1]", "V: [[2, 0], [0, 1.001]", REFUTED, "is false"),
        "the rows of V that matter left out": ("[[2, 0], [0, 1], [1, -1]]", "[[2, 0]]", REFUTED, "the largest"),
        "token changed": ("[-1, 0], [0, 1/2]]", "[-1, 0], [0, 0.51]]", REFUTED, "is false"),
        "scale changed": ("scale: 1/2", "scale: 0.501", REFUTED, "is false"),
        "K left out": ("  K: [[1, 0], [1, 1]]\n", "", REFUTED, "is false"),
        "Q left out": ("  Q: [[1], [-1/2]]\n", "", MALFORMED, "of the dimension that Q or U takes"),
        "K too wide": ("K: [[1, 0], [1, 1]]", "K: [[1, 0, 0], [1, 1, 0]]", MALFORMED, "given.K"),
        "K of a row more": ("K: [[1, 0], [1, 1]]", "K: [[1, 0], [1, 1], [0, 0]]", MALFORMED, "so that K'Q is defined"),
        "Q of a row more": ("Q: [[1], [-1/2]]", "Q: [[1], [-1/2], [0]]", MALFORMED, "so that K'Q is defined"),
        "Q too wide": ("Q: [[1], [-1/2]]", "Q: [[1, 0], [-1/2, 0]]", MALFORMED, "of the dimension that Q or U takes"),
        "V too wide": ("V: [[2, 0], [0, 1], [1, -1]]", "V: [[2, 0, 0]]", MALFORMED, "given.V"),
        "tokens too wide": ("tokens: [[1, 2], [-1, 0], [0, 1/2]]", "tokens: [[1, 2, 0]]", MALFORMED, "given.K"),
        "queries too wide": ("queries: [[1], [-1], [3]]", "queries: [[1, 1]]", MALFORMED, "given.queries"),
        "U beside K and Q": ("  K:", "  U: [[1/2], [-1/2]]\n  K:", MALFORMED, "the unknown key 'K'"),
        "values beside tokens": ("  K:", "  values: [[1]]\n  K:", MALFORMED, "the unknown key 'values'"),
        "keys beside tokens": ("  K:", "  keys: [[1]]\n  K:", MALFORMED, "the unknown key 'tokens'"),
        "no tokens": ("  tokens: [[1, 2], [-1, 0], [0, 1/2]]\n", "", MALFORMED, "no 'tokens'"),
    },
)  # fmt: skip

SQUARE = family(
    "tokens with a square U",
    """
given:
  tokens: [[1, 2], [-1, 0], [0, 1/2]]
  U: [[1/2, 1], [-1/2, 0]]
  V: [[1, 1]]
  queries: [[1, 0], [2, -3]]
  limit: {kind: empirical}
asserts:
  deviation: {norm: l2, per_query: {at_most: [0.00105122, 2.34490], at_least: [0.00105121, 2.34489]}}
""",
    {
        "U in the place of Q, with K = I": ("  U:", "  Q:"),
        "U transposed in the place of K, with Q = I": ("  U: [[1/2, 1], [-1/2, 0]]", "  K: [[1/2, -1/2], [1, 0]]"),
    },
    {
        "U transposed": ("U: [[1/2, 1], [-1/2, 0]]", "U: [[1/2, -1/2], [1, 0]]", REFUTED, "is false"),
        "U in the place of K": ("  U:", "  K:", REFUTED, "is false"),
        "U left out": ("  U: [[1/2, 1], [-1/2, 0]]\n", "", REFUTED, "is false"),
        "U of another sign": ("U: [[1/2, 1], [-1/2, 0]]", "U: [[1/2, 1], [1/2, 0]]", REFUTED, "is false"),
        "U of another height": ("U: [[1/2, 1], [-1/2, 0]]", "U: [[1/2, 1]]", MALFORMED, "2 x 2 for tokens"),
        "queries of another dimension": ("[[1, 0], [2, -3]]", "[[1], [2]]", MALFORMED, "that Q or U takes"),
    },
)

# -- deviations that are exactly 0

_ZERO_CASES: dict[str, tuple[str, str, str]] = {
    "one token": (
        "keys: [[3, -1]]\n  values: [[7/3, 2]]", "keys: [[3, -1]]\n  values: [[7/3, 2]]",
        "keys: [[3, -1], [3.00000000000001, -1]]\n  values: [[7/3, 2], [7/3, 2.00000000000001]]"),
    "d = 1 and one token": ("keys: [[3]]\n  values: [[7/3]]", "", ""),
    "equal keys": (
        "keys: [[1, 2], [1, 2], [1, 2]]\n  values: [[1], [5], [1/3]]", "[1, 2], [1, 2]]",
        "[1, 2], [1.00000000000001, 2]]"),
    "equal values": ("keys: [[1, 2], [-4, 2], [1, 1/7]]\n  values: [[1/3], [1/3], [1/3]]", "[1/3]]", "[0.3333333333]]"),
    "keys that the queries cannot tell apart": (
        "keys: [[1, 5], [1, -2], [1, 1/3]]\n  values: [[1], [5], [1/3]]", "[1, 1/3]]", "[1.0001, 1/3]]"),
    "zero tokens": ("keys: [[0, 0], [0, 0]]\n  values: [[0], [0]]", "", ""),
}  # fmt: skip
_ZERO_REJECTS: dict[str, Change] = {
    "at_least a little": ("at_most: 0", "at_least: 1e-300", REFUTED, "the largest"),
    "a bound of a query that is negative": ("at_most: 0", "per_query: {at_most: [-1e-300]}", REFUTED, "at query 0"),
}


def _zero(name: str, prompt: str, old: str, new: str) -> Family:
    query = "[[1000000]]" if name.startswith("d = 1") else "[[1000000, 0]]"
    text = f"""
given:
  {prompt}
  queries: {query}
  limit: {{kind: empirical}}
asserts:
  deviation: {{norm: l2, at_most: 0}}
"""
    rejects = dict(_ZERO_REJECTS)
    if old:
        rejects["one token changed"] = (old, new, REFUTED, "at query 0")
    return family(
        f"no deviation at all: {name}",
        text,
        {
            "in the other norm": ("norm: l2", "norm: linf"),
            "nothing at least": ("at_most: 0", "at_most: 0, at_least: 0"),
        },
        rejects,
    )


ZERO_QUERY = family(
    "a zero query",
    """
given:
  keys: [[1, 2], [3, -4], [0, 1/3]]
  values: [[1], [5], [1/7]]
  queries: [[0, 0]]
  limit: {kind: empirical}
asserts:
  deviation: {norm: l2, at_most: 0}
""",
    {"negative zeros": ("[[0, 0]]", "[[-0, -0.0]]")},
    {
        "a query of 10^-20": ("[[0, 0]]", "[[0, 1e-20]]", REFUTED, "at query 0"),
        "a query of 10^-300": ("[[0, 0]]", "[[0, 1e-300]]", REFUTED, "at query 0"),
    },
)

# -- the affine limit

# With equal keys T is the mean (3, 4); the limit is 0.
EXACT_FIVE = family(
    "a deviation that is exactly 5",
    """
given:
  keys: [[1], [1]]
  values: [[2, 3], [4, 5]]
  queries: [[7]]
  limit: {kind: affine, matrix: [[0], [0]], offset: [0, 0]}
asserts:
  deviation: {norm: l2, at_most: 5, at_least: 5}
""",
    {
        "a scale that multiplies nothing": ("offset: [0, 0]}", "offset: [0, 0], scale: 1/sqrt(7)}"),
        "slope and offset that cancel": ("matrix: [[0], [0]], offset: [0, 0]", "matrix: [[1], [0]], offset: [-7, 0]"),
    },
    {
        "at_most a bit less": (
            "at_most: 5,", "at_most: 4.99999999999999999999999999999999999999,", REFUTED, "at query 0"),
        "at_least a bit more": (
            "at_least: 5", "at_least: 5.00000000000000000000000000000000000001", REFUTED, "largest"),
        "the other norm": ("norm: l2", "norm: linf", REFUTED, "the largest"),
        "offset changed": ("offset: [0, 0]", "offset: [0, -1e-30]", REFUTED, "at query 0"),
        "slope changed": ("matrix: [[0], [0]]", "matrix: [[0], [1e-30]]", REFUTED, "the largest"),
        "a scale that multiplies a slope": (
            "matrix: [[0], [0]], offset: [0, 0]", "matrix: [[1], [0]], offset: [-7, 0], scale: 2", REFUTED,
            "at query 0"),
        "matrix transposed": ("matrix: [[0], [0]]", "matrix: [[0, 0]]", MALFORMED, "2 x 1 (outputs x queries)"),
        "matrix too wide": ("matrix: [[0], [0]]", "matrix: [[0, 0], [0, 0]]", MALFORMED, "2 x 1 (outputs x queries)"),
        "offset too short": ("offset: [0, 0]", "offset: [0]", MALFORMED, "the dimension of an output"),
        "no offset": (", offset: [0, 0]", "", MALFORMED, "no 'offset'"),
        "no matrix": ("matrix: [[0], [0]], ", "", MALFORMED, "no 'matrix'"),
        "a scale of zero": ("offset: [0, 0]}", "offset: [0, 0], scale: 0}", MALFORMED, "a factor other than 0"),
        "a law beside the matrix": (
            "offset: [0, 0]}", "offset: [0, 0], law: {kind: box, sizes: [1]}}", MALFORMED, "the unknown key 'law'"),
        "a rational that is no binary fraction, met exactly": (
            "values: [[2, 3], [4, 5]]\n  queries: [[7]]\n  limit: {kind: affine, matrix: [[0], [0]], offset: [0, 0]}\n"
            "asserts:\n  deviation: {norm: l2, at_most: 5, at_least: 5}",
            "values: [[2/7, 3/7], [4/7, 5/7]]\n  queries: [[7]]\n"
            "  limit: {kind: affine, matrix: [[0], [0]], offset: [0, 0]}\n"
            "asserts:\n  deviation: {norm: l2, at_most: 5/7}",
            INCONCLUSIVE, "1 obligation still undecided"),
    },
)  # fmt: skip

AFFINE = family(
    "an affine limit with a scale of its own",
    """
given:
  keys: [[1, 0], [0, 1], [-1, 1/2]]
  values: [[1, 2], [0, -1], [3, 0.5]]
  queries: [[1, 1], [-2, 0.5]]
  scale: 1/sqrt(2)
  limit: {kind: affine, matrix: [[1, 0], [1/2, -1]], offset: [1, 1/2], scale: 2}
asserts:
  deviation: {norm: l2, at_most: 5.94106, at_least: 5.94105}
""",
    {
        "the scale in the matrix": (
            "[[1, 0], [1/2, -1]], offset: [1, 1/2], scale: 2",
            "[[2, 0], [1, -2]], offset: [1, 1/2]",
        )
    },
    {
        "at_most one unit lower": ("at_most: 5.94106", "at_most: 5.94105", REFUTED, "at query 1"),
        "at_least one unit higher": ("at_least: 5.94105", "at_least: 5.94106", REFUTED, "the largest"),
        "scale of the limit left out": (", scale: 2}", "}", REFUTED, "the largest"),
        "scale of the prompt left out": ("  scale: 1/sqrt(2)\n", "", REFUTED, "is false"),
        "scales exchanged": (
            "scale: 1/sqrt(2)\n  limit: {kind: affine, matrix: [[1, 0], [1/2, -1]], offset: [1, 1/2], scale: 2}",
            "scale: 2\n  limit: {kind: affine, matrix: [[1, 0], [1/2, -1]], offset: [1, 1/2], scale: 1/sqrt(2)}",
            REFUTED, "is false"),
        "matrix transposed": ("[[1, 0], [1/2, -1]]", "[[1, 1/2], [0, -1]]", REFUTED, "is false"),
        "offset turned round": ("offset: [1, 1/2]", "offset: [1/2, 1]", REFUTED, "is false"),
        "the empirical limit": (
            "{kind: affine, matrix: [[1, 0], [1/2, -1]], offset: [1, 1/2], scale: 2}", "{kind: empirical}", REFUTED,
            "largest"),
    },
)  # fmt: skip

# -- the limit of a law

_LAWS: dict[str, tuple[str, str, str]] = {
    # law, deviation rounded up, the same less one unit
    "Gaussian": ("{kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}", "1.10671", "1.10670"),
    "signs": ("{kind: rademacher, sizes: [1, 2]}", "1.48914", "1.48913"),
    "box": ("{kind: box, sizes: [1, 2]}", "1.47632", "1.47631"),
    "atoms": ("{kind: atoms, points: [[1, 2], [-1, 0], [0, 1]]}", "0.122365", "0.122364"),
    "mixture": (
        "{kind: mixture, components:"
        " [{weight: 1/4, law: {kind: gaussian, mean: [0, 1], covariance: [[1, 1/2], [1/2, 1]]}},"
        " {weight: 3/4, law: {kind: mixture, components: [{weight: 1, law: {kind: box, sizes: [1, 2]}}]}}]}",
        "0.975854", "0.975853"),
}  # fmt: skip


def _law(name: str) -> Family:
    law, bound, less = _LAWS[name]
    return family(
        f"the law of a token: {name}",
        f"""
given:
  tokens: [[1, 2], [-1, 0], [0, 1/2]]
  queries: [[1, 0], [-1, 2]]
  limit:
    kind: law
    law: {law}
asserts:
  deviation: {{norm: l2, at_most: {bound}}}
""",
        {"at least one unit less": (f"at_most: {bound}", f"at_least: {less}")},
        {
            "at_most one unit lower": (bound, less, REFUTED, "is false"),
            "at_least one unit more": (f"at_most: {bound}", f"at_least: {bound}", REFUTED, "the largest"),
            "another law": (law, "{kind: gaussian, mean: [9, 9], covariance: [[1, 0], [0, 1]]}", REFUTED, "is false"),
            "a law of another dimension": (
                law, "{kind: box, sizes: [1]}", MALFORMED, "a law in dimension 2, that of a token"),
            "a law of keys and values side by side": (
                law, "{kind: box, sizes: [1, 2, 1, 2]}", MALFORMED, "dimension 2"),
            "no law": (f"law: {law}", "scale: 1", MALFORMED, "the unknown key 'scale'"),
            "the empirical limit with a law": ("kind: law", "kind: empirical", MALFORMED, "the unknown key 'law'"),
        },
    )  # fmt: skip


OWN_ATOMS = family(
    "the prompt itself as a law",
    """
given:
  tokens: [[1, 2], [-1, 0], [0, 1/2]]
  queries: [[1, 0], [-1, 2]]
  scale: 1/sqrt(2)
  limit: {kind: law, law: {kind: atoms, points: [[1, 2], [-1, 0], [0, 1/2]]}}
asserts:
  deviation: {norm: l2, at_most: 1e-300}
""",
    {
        "another order": ("points: [[1, 2], [-1, 0], [0, 1/2]]", "points: [[-1, 0], [1, 2], [0, 1/2]]"),
        "a lower bound of zero, which every distance meets": ("at_most: 1e-300", "at_least: 0"),
        "the same in linf": ("norm: l2, at_most: 1e-300", "norm: linf, at_least: 0"),
        "lower bounds of zero for each query": ("at_most: 1e-300", "per_query: {at_least: [0, 0]}"),
    },
    {
        "a bound of zero, which no ball can meet": ("1e-300", "0", INCONCLUSIVE, "2 obligations still undecided"),
        "the smallest positive lower bound": ("at_most: 1e-300", "at_least: 1e-300", REFUTED, "the largest"),
        "an atom moved by 10^-20": (
            "points: [[1, 2], [-1, 0], [0, 1/2]]", "points: [[1, 2], [-1, 0], [0, 0.50000000000000000001]]", REFUTED,
            "is false"),
        "weights off by 10^-20": (
            "[0, 1/2]]}}",
            "[0, 1/2]], weights: [0.33333333333333333333, 0.33333333333333333333, 0.33333333333333333334]}}", REFUTED,
            "is false"),
        "weights that do not sum to 1": (
            "[0, 1/2]]}}", "[0, 1/2]], weights: [0.33333333333333333333, 1/3, 1/3]}}", MALFORMED, "sum to exactly 1"),
    },
)  # fmt: skip

JOINT_LAW = family(
    "the law of a key and a value side by side",
    """
given:
  keys: [[1, 0], [0, 1], [-1, 1/2]]
  values: [[1, 2], [0, -1], [3, 0.5]]
  queries: [[1, 1], [-2, 0.5]]
  scale: 1/sqrt(2)
  limit:
    kind: law
    law: {kind: gaussian, mean: [0, 0, 1, 0], covariance: [[1, 0, -1, 0], [0, 1, 0, -1], [-1, 0, 2, 0], [0, -1, 0, 2]]}
asserts:
  deviation: {norm: l2, at_most: 1.33751, at_least: 1.33750}
""",
    {
        "the covariance of the values is not read": ("[-1, 0, 2, 0]", "[-1, 0, 3, 0]"),
        "nor is the mean of the keys": ("mean: [0, 0, 1, 0]", "mean: [5, 5, 1, 0]"),
    },
    {
        "at_most one unit lower": ("at_most: 1.33751", "at_most: 1.33750", REFUTED, "at query 0"),
        "at_least one unit higher": ("at_least: 1.33750", "at_least: 1.33751", REFUTED, "the largest"),
        "keys and values side by side the other way round": (
            "mean: [0, 0, 1, 0]", "mean: [1, 0, 0, 0]", REFUTED, "is false"),
        "the mean of the values changed": ("mean: [0, 0, 1, 0]", "mean: [0, 0, 1.001, 0]", REFUTED, "is false"),
        "a law of the values alone": (
            "{kind: gaussian, mean: [0, 0, 1, 0],"
            " covariance: [[1, 0, -1, 0], [0, 1, 0, -1], [-1, 0, 2, 0], [0, -1, 0, 2]]}",
            "{kind: box, sizes: [1, 1]}", MALFORMED, "a law in dimension 4, that of key and value side by side"),
        "indefinite": ("[0, 1, 0, -1]", "[0, 1, 0, -1.5]", MALFORMED, "symmetric"),
        "scale changed": ("1/sqrt(2)", "1/sqrt(3)", REFUTED, "is false"),
    },
)  # fmt: skip

# -- extreme scores

MILLION = family(
    "scores of a million",
    """
given:
  keys: [[1000000], [-1000000], [999999]]
  values: [[1], [2], [4]]
  queries: [[1], [-1], [0.000001]]
  limit: {kind: affine, matrix: [[0]], offset: [0]}
asserts:
  deviation: {norm: l2, per_query: {at_most: [1.80683, 2.00001, 2.46831], at_least: [1.80682, 1.99999, 2.46830]}}
""",
    {"a distance of e^(-10^6)": ("[1.80683, 2.00001,", "[1.80683, 2.000000000000000000000000000001,")},
    {
        "a bound one unit lower": ("[1.80683, 2.00001,", "[1.80682, 2.00001,", REFUTED, "at query 0"),
        "the last bound one unit lower": ("2.46831]", "2.46830]", REFUTED, "at query 2"),
        "the score of the other sign": ("queries: [[1], [-1]", "queries: [[-1], [1]", REFUTED, "at query 0"),
        "a bound below two": ("[1.80683, 2.00001,", "[1.80683, 1.999999999999999999999,", REFUTED, "at query 1"),
        "two, which is false by e^(-2000000)": (
            "[1.80683, 2.00001,", "[1.80683, 2,", INCONCLUSIVE, "1 obligation still undecided"),
    },
)  # fmt: skip

NEGLIGIBLE = family(
    "a weight of e^(-10^30)",
    """
given:
  keys: [[0], [1]]
  values: [[0], [1]]
  queries: [[1e30]]
  limit: {kind: affine, matrix: [[0]], offset: [1]}
asserts:
  deviation: {norm: linf, at_most: 1e-1000}
""",
    {
        "the other token": (
            "queries: [[1e30]]\n  limit: {kind: affine, matrix: [[0]], offset: [1]}",
            "queries: [[-1e30]]\n  limit: {kind: affine, matrix: [[0]], offset: [0]}",
        )
    },
    {
        "at least as much": ("at_most: 1e-1000", "at_least: 1e-1000", REFUTED, "the largest"),
        "the other token in the limit": ("offset: [1]", "offset: [0]", REFUTED, "at query 0"),
    },
)

# -- array files

_KEYS = array("prompt.npz", "float32", "[3, 2]", array="keys")
_VALUES = array("prompt.npz", "float32", "[3, 2]", array="values")
_QUERIES = array("prompt.npz", "float64", "[4, 2]", array="queries", rows="1:3")
_ANOTHER_DIGEST = re.sub("[0-9a-f]{64}", "0" * 64, _KEYS)
FILES = family(
    "numbers in an array file",
    f"""
given:
  keys: {_KEYS}
  values: {_VALUES}
  queries: {_QUERIES}
  scale: 1/sqrt(2)
  limit: {{kind: empirical}}
asserts:
  deviation: {{norm: l2, at_most: 0.617327, per_query: {{at_most: [0.124842, 0.617327]}}}}
""",
    {
        "keys of another file": (_KEYS, array("keys.npy", "float32", "[3, 2]")),
        "keys written out": (_KEYS, "[[1, 0], [0, 1], [-1, 1/2]]"),
        "an array in Fortran order of one column": ("limit: {kind: empirical}", "limit:\n    kind: empirical"),
    },
    {
        "at_most one unit lower": ("at_most: 0.617327,", "at_most: 0.617326,", REFUTED, "at query 1"),
        "keys and values exchanged": (f"keys: {_KEYS}\n  values:", f"values: {_KEYS}\n  keys:", REFUTED, "is false"),
        "values in the place of keys": (_KEYS, _VALUES, REFUTED, "is false"),
        "queries a row earlier": ("rows: 1:3", "rows: 0:2", REFUTED, "is false"),
        "queries a row later": ("rows: 1:3", "rows: 2:4", REFUTED, "is false"),
        "a query more": ("rows: 1:3", "rows: 1:4", MALFORMED, "3 bounds, one per query"),
        "all queries": (", rows: 1:3", "", MALFORMED, "4 bounds, one per query"),
        "rows that are not there": ("rows: 1:3", "rows: 3:5", MALFORMED, "rows among the 4 of the array"),
        "rows turned round": ("rows: 1:3", "rows: 3:1", MALFORMED, "first < stop"),
        "another sha256": (_KEYS, _ANOTHER_DIGEST, MALFORMED, "the array file is not the one"),
        "another number type": (_KEYS, _KEYS.replace("float32", "float64"), MALFORMED, "as stated"),
        "another shape": (_KEYS, _KEYS.replace("[3, 2]", "[2, 3]"), MALFORMED, "given.values"),
        "a vector": (_KEYS, _KEYS.replace("[3, 2]", "[6]"), MALFORMED, "two extents"),
        "no array of that name": (_KEYS, _KEYS.replace("array: keys", "array: key"), MALFORMED, "exactly one"),
        "no name": (_KEYS, _KEYS.replace(", array: keys", ""), MALFORMED, "the name of an array"),
        "no sha256": (
            _KEYS, "{file: prompt.npz, array: keys, dtype: float32, shape: [3, 2]}", MALFORMED, "no 'sha256'"),
        "a NaN": (_KEYS, array("nan.npy", "float32", "[3, 2]"), MALFORMED, "a NaN at row 1, column 1"),
        "an infinity": (_KEYS, array("infinite.npy", "float32", "[3, 2]"), MALFORMED, "an infinity at row 1, column 1"),
        "Fortran order": (_KEYS, array("fortran.npy", "float32", "[3, 2]"), MALFORMED, "Fortran order"),
        "big-endian numbers": (_KEYS, array("big.npy", "float32", "[3, 2]"), MALFORMED, "big-endian"),
        "Python objects": (_KEYS, array("objects.npy", "float32", "[3, 2]"), MALFORMED, "an array of Python objects"),
        "a file in the folder above": (
            _KEYS, _KEYS.replace("file: ", "file: ../"), MALFORMED, "a file inside the folder"),
    },
)  # fmt: skip

# Equal keys: T is the mean of the values, whose distance from 0 is exact.
_NUMBER_TYPES = {
    # file, dtype, shape -> mean, which is a binary fraction
    "subnormal float32": (array("tiny.npy", "float32", "[3, 1]", rows="0:2"), "0", "0x1p-149"),
    "one subnormal float32": (array("tiny.npy", "float32", "[3, 1]", rows="0:1"), "0x1p-149", "0x1.ffffffp-150"),
    "float16 as it is stored": (array("half.npy", "float16", "[3, 1]", rows="0:1"), "0x1.998p-4", "0.09997"),
    "subnormal float16": (array("half.npy", "float16", "[3, 1]", rows="1:2"), "0x1p-24", "0x1.fffp-25"),
    "largest float16": (array("half.npy", "float16", "[3, 1]", rows="2:3"), "65504", "65503.9"),
    "bfloat16": (array("bfloats.safetensors", "bfloat16", "[3, 1]", array="x", rows="1:2"), "0x1p-1", "0.4999"),
    "subnormal bfloat16": (
        array("bfloats.safetensors", "bfloat16", "[3, 1]", array="x", rows="2:3"), "0x1p-133", "0x1.fp-134"),
    "largest int64": (array("huge.npy", "int64", "[3, 1]", rows="0:1"), "9223372036854775807", "9223372036854775806.9"),
    "smallest int64": (array("huge.npy", "int64", "[3, 1]", rows="1:2"), "9223372036854775808", "9223372036854775807"),
    "int64 that cancel": (array("huge.npy", "int64", "[3, 1]", rows="0:2"), "1/2", "0.4999"),
}  # fmt: skip


def _number_type(name: str) -> Family:
    values, mean, other = _NUMBER_TYPES[name]
    keys = "[[1], [1]]" if "0:2" in values else "[[1]]"
    return family(
        f"number types: {name}",
        f"""
given:
  keys: {keys}
  values: {values}
  queries: [[1]]
  limit: {{kind: affine, matrix: [[0]], offset: [0]}}
asserts:
  deviation: {{norm: linf, at_most: {mean}, at_least: {mean}}}
""",
        {},
        {
            "another upper bound": (f"at_most: {mean}", f"at_most: {other}", REFUTED, "is false")
            if mean != "0"
            else (f"at_least: {mean}", f"at_least: {other}", REFUTED, "the largest"),
        },
    )


FAMILIES = [
    KEY_VALUE,
    LINF,
    TOKENS,
    SQUARE,
    *(_zero(name, *rest) for name, rest in _ZERO_CASES.items()),
    ZERO_QUERY,
    EXACT_FIVE,
    AFFINE,
    *(_law(name) for name in _LAWS),
    OWN_ATOMS,
    JOINT_LAW,
    MILLION,
    NEGLIGIBLE,
    FILES,
    *(_number_type(name) for name in _NUMBER_TYPES),
    *region_cases.FAMILIES,
    *mask_cases.FAMILIES,
]
CASES: list[Case] = [case for each in FAMILIES for case in each.cases()]
