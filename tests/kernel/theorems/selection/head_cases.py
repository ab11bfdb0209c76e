"""Accept and reject cases of `selection-on-a-head`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Family, array

NAME = "selection-on-a-head"
family = partial(Family, NAME)

# Three keys of the authors' single input, and one inside their triangle. Logits at (1, 3): 2.9, 1, 0, 1.2; at (-1, -1):
# -0.9, -1, 0, -0.6. The largest margin of both choices at once is 0.594, and key 0 is 0.80623 from the others' hull.
WRITTEN_OUT = family(
    "four keys that are written out",
    """
given:
  keys: [[-1/10, 1], [1, 0], [0, 0], [3/10, 3/10]]
  values: [[1], [0.9], [0.5], [2]]
  queries: [[1, 3], [-1, -1]]
  score: {kind: direction, v: [1]}
asserts:
  selected: [0, 2]
  margin: {at_least: 0.59, at_most: [1.8, 0.61]}
  weight: {at_least: [0.72, 0.4], at_most: 0.75}
  rank: [1, 3]
  best: [3, 3]
  separability:
  - {of: selected, at_least: 0.42, at_most: 0.61}
  - {of: best, at_most: 0}
  exposure:
  - {token: 0, at_least: 0.8, at_most: 0.81}
  - {token: 3, at_most: 0}
witness:
  bits: 32
  separability:
  - {of: selected, W: [[0.76, 0.63], [0.88, 1]], multipliers: [{query: 1, token: 3, multiplier: 3}]}
  - of: best
    multipliers:
    - {query: 0, token: 0, multiplier: 30}
    - {query: 0, token: 1, multiplier: 33}
    - {query: 0, token: 2, multiplier: 37}
  exposure:
  - {token: 0, direction: [-0.571, 1], multipliers: [{token: 3, multiplier: 1}]}
  - token: 3
    multipliers: [{token: 0, multiplier: 0.3}, {token: 1, multiplier: 0.33}, {token: 2, multiplier: 0.37}]
""",
    {
        "a multiple of the direction": ("direction: [-0.571, 1]", "direction: [-571, 1000]"),
        "multiples of the multipliers": (
            "[{query: 1, token: 3, multiplier: 3}]", "[{query: 1, token: 3, multiplier: 1/7}]"),
        "two queries' multipliers": (
            "[{query: 1, token: 3, multiplier: 3}]",
            "[{query: 1, token: 3, multiplier: 98}, {query: 0, token: 1, multiplier: 2}]"),
        "the head's own matrix": ("W: [[0.76, 0.63], [0.88, 1]], ", ""),
        "a lower bound just below the truth": (
            "at_least: 0.59, at_most: [", "at_least: 0.5999999999999999999999, at_most: ["),
        "margins exactly, without a bound above": ("at_least: 0.59, at_most: [1.8, 0.61]", "at_least: [1.7, 0.6]"),
        "no witness for what is not asserted": (
            "  - {of: best, at_most: 0}\n  exposure:\n  - {token: 0, at_least: 0.8, at_most: 0.81}\n"
            "  - {token: 3, at_most: 0}\nwitness:\n  bits: 32\n  separability:\n"
            "  - {of: selected, W: [[0.76, 0.63], [0.88, 1]], multipliers: [{query: 1, token: 3, multiplier: 3}]}\n"
            "  - of: best\n    multipliers:\n    - {query: 0, token: 0, multiplier: 30}\n"
            "    - {query: 0, token: 1, multiplier: 33}\n    - {query: 0, token: 2, multiplier: 37}\n  exposure:\n"
            "  - {token: 0, direction: [-0.571, 1], multipliers: [{token: 3, multiplier: 1}]}\n  - token: 3\n"
            "    multipliers: [{token: 0, multiplier: 0.3}, {token: 1, multiplier: 0.33}, "
            "{token: 2, multiplier: 0.37}]\n",
            "witness:\n  separability:\n  - {of: selected, multipliers: [{query: 1, token: 3, multiplier: 3}]}\n"),
        "provenance": ("witness:", "provenance: {when: long ago}\nwitness:"),
    },
    {
        "another selected token": ("selected: [0, 2]", "selected: [1, 2]", REFUTED, "gap of token 1 at query 0"),
        "a margin just above the truth": (
            "at_least: 0.59, at_most: [", "at_least: 0.6000000000000000000001, at_most: [", REFUTED, "the margin"),
        "a margin just below the truth": ("[1.8, 0.61]", "[1.699999999999999999999, 0.61]", REFUTED, "the margin"),
        "a weight above the truth": ("[0.72, 0.4]", "[0.72084, 0.4]", REFUTED, "the softmax weight of token 0"),
        "a weight below the truth": ("at_most: 0.75", "at_most: 0.7208", REFUTED, "the softmax weight of token 0"),
        "weights of other queries": ("[0.72, 0.4]", "[0.4, 0.72]", REFUTED, "the softmax weight of token 2"),
        "twice the logits": ("  score:", "  scale: 2\n  score:", REFUTED, "at query"),
        "a negative scale": ("  score:", "  scale: -1\n  score:", REFUTED, "gap of token 0"),
        "another rank": ("rank: [1, 3]", "rank: [0, 3]", REFUTED, "score higher than token 0"),
        "a score that is turned round": ("v: [1]", "v: [-1]", REFUTED, "score higher"),
        "two tokens of the best score": ("[0.5], [2]]", "[0.5], [1]]", REFUTED, "score"),
        "another best token": ("best: [3, 3]", "best: [3, 0]", REFUTED, "token 0 scores higher than every other"),
        "a key that is moved": ("[3/10, 3/10]]", "[3/10, 4/10]]", REFUTED, "the margin of token 2"),
        "a key that is moved a little": ("[3/10, 3/10]]", "[3/10, 0.300001]]", REJECTED, "best tokens"),
        "a matrix that selects something else": ("[[0.76, 0.63]", "[[-0.76, 0.63]", REJECTED, "selects the selected"),
        "a matrix of zeros": ("W: [[0.76, 0.63], [0.88, 1]]", "W: [[0, 0], [0, 0]]", REJECTED, "0 >= 0.42"),
        "a largest margin above the truth": ("at_least: 0.42", "at_least: 0.6", REJECTED, "a lower bound of"),
        "a largest margin below the truth": ("at_most: 0.61}", "at_most: 0.59}", REJECTED, "an upper bound of the"),
        "a distance above the truth": ("at_least: 0.8,", "at_least: 0.8063,", REJECTED, "a lower bound of"),
        "a distance below the truth": ("at_most: 0.81}", "at_most: 0.806}", REJECTED, "an upper bound of the distance"),
        "a multiplier that is off in the last digit": (
            "multiplier: 0.33}", "multiplier: 0.33001}", REJECTED, "distance of key 3"),
        "a direction of zeros": ("[-0.571, 1]", "[0, 0]", REJECTED, "0 >= 0.8"),
        "no direction": ("direction: [-0.571, 1], ", "", REJECTED, "no direction for it"),
        "no multipliers": (
            ", multipliers: [{query: 1, token: 3, multiplier: 3}]", "", REJECTED, "no multipliers for it"),
        "a token that is not there": ("selected: [0, 2]", "selected: [0, 4]", MALFORMED, "one of the 4 tokens"),
        "a token of a negative index": ("selected: [0, 2]", "selected: [0, -2]", MALFORMED, "an integer >= 0"),
        "a selected token left out": ("selected: [0, 2]", "selected: [0]", MALFORMED, "2 numbers, one per query"),
        "no selected tokens": ("  selected: [0, 2]\n", "", MALFORMED, "no 'selected'"),
        "an empty list": ("selected: [0, 2]", "selected: []", MALFORMED, "at least one item"),
        "nothing said of the margin": (
            "margin: {at_least: 0.59, at_most: [1.8, 0.61]}", "margin: {}", MALFORMED, "at_least or at_most"),
        "too many margins": ("[1.8, 0.61]", "[1.8, 0.61, 1]", MALFORMED, "2 numbers, one per query"),
        "NaN": ("at_least: 0.59", "at_least: nan", MALFORMED, "'nan'"),
        "no score": ("  score: {kind: direction, v: [1]}\n", "", MALFORMED, "a score in given"),
        "a score in another dimension": ("v: [1]", "v: [1, 0]", MALFORMED, "a value"),
        "an unknown score": ("{kind: direction, v: [1]}", "{kind: key-norm}", MALFORMED, "'direction' or 'value-norm'"),
        "ranks left out": ("rank: [1, 3]", "rank: [1]", MALFORMED, "one per query"),
        "a negative rank": ("rank: [1, 3]", "rank: [1, -1]", MALFORMED, "an integer >= 0"),
        "no best tokens that are to be selected": ("  best: [3, 3]\n", "", MALFORMED, "the tokens under best"),
        "a largest margin of 0": ("at_least: 0.42", "at_least: 0", MALFORMED, "a number > 0"),
        "a negative distance": ("- {token: 3, at_most: 0}", "- {token: 3, at_most: -1}", MALFORMED, "a number >= 0"),
        "nothing said of a distance": ("- {token: 3, at_most: 0}", "- {token: 3}", MALFORMED, "at_least or at_most"),
        "one token twice": ("- {token: 3, at_most: 0}", "- {token: 0, at_most: 1}", MALFORMED, "at most once"),
        "the distance of another key than the witness's": (
            "- {token: 3, at_most: 0}", "- {token: 4, at_most: 0}", MALFORMED, "one of token 3, which is not"),
        "one choice twice": ("{of: best, at_most: 0}", "{of: selected, at_most: 1}", MALFORMED, "at most once"),
        "a witness of nothing": ("  - token: 3\n    mult", "  - token: 2\n    mult", MALFORMED, "which is not"),
        "a matrix of another shape": ("[0.88, 1]]", "[0.88, 1], [0, 0]]", MALFORMED, "keys' dimension x queries'"),
        "a direction in another dimension": ("[-0.571, 1]", "[-0.571, 1, 0]", MALFORMED, "a key"),
        "a multiplier of 0": ("multiplier: 3}", "multiplier: 0}", MALFORMED, "a number > 0"),
        "a negative multiplier": ("multiplier: 3}", "multiplier: -3}", MALFORMED, "a number > 0"),
        "a multiplier of the chosen token": ("query: 1, token: 3,", "query: 1, token: 2,", MALFORMED, "another token"),
        "a multiplier of no query": ("query: 1, token: 3,", "query: 2, token: 3,", MALFORMED, "one of the 2 queries"),
        "a multiplier twice": (
            "{token: 1, multiplier: 0.33}", "{token: 0, multiplier: 0.33}", MALFORMED, "every pair at most once"),
        "a query of another dimension": ("[[1, 3], [-1, -1]]", "[[1, 3, 0], [-1, -1, 0]]", MALFORMED, "given.queries"),
        "a value left out": (", [0.5], [2]]", ", [0.5]]", MALFORMED, "one value per key"),
        "a query that sees more than there is": ("  score:", "  causal: 4\n  score:", MALFORMED, "at most 3"),
        "an unknown key": ("  rank:", "  ranks:", MALFORMED, "the unknown key 'ranks'"),
    },
)  # fmt: skip

# Keys 1, 2, 0, 3, queries -1, 2, -3 after Q, and the logits are taken with the factor -sqrt(1/4) = -1/2: query 0 sees
# the first two, 1/2 and 1; query 1 three, -1, -2, 0; query 2 all, 3/2, 3, 0, 9/2. The norms of the values are 2, 4,
# 0, 18.
CAUSAL = family(
    "tokens with weights, seen one by one",
    """
given:
  tokens: [[1, 0], [2, 1], [0, 0], [3, -3/2]]
  K: [[1, 0]]
  Q: [[-1, 0]]
  V: [[2, -8], [0, 0]]
  queries: [[1, 5], [-2, 0], [3, 1]]
  scale: -1/2
  causal: 2
  score: {kind: value-norm}
asserts:
  selected: [1, 2, 3]
  margin: {at_least: 0.49, at_most: 1.51}
  weight: {at_least: [0.62, 0.66, 0.77]}
  rank: [0, 2, 0]
  best: [1, 1, 3]
  separability:
  - {of: selected, at_least: 0.9}
  exposure:
  - {token: 2, at_least: 0.99, at_most: 1.01}
  - {token: 1, at_most: 0}
witness:
  separability:
  - {of: selected, W: [[1, 0]]}
  exposure:
  - {token: 2, direction: [-2], multipliers: [{token: 0, multiplier: 1}]}
  - {token: 1, multipliers: [{token: 0, multiplier: 1}, {token: 3, multiplier: 1}]}
""",
    {
        "the head's own matrix, the scale's sign included": ("  - {of: selected, W: [[1, 0]]}", "  - {of: selected}"),
        "bounds that are met": ("margin: {at_least: 0.49, at_most: 1.51}", "margin: {at_least: 0.5, at_most: 1.5}"),
        "distances that are met": ("at_least: 0.99, at_most: 1.01", "at_least: 1, at_most: 1"),
        "V left out": ("  V: [[2, -8], [0, 0]]\n", ""),
        "another first value": ("V: [[2, -8], [0, 0]]", "V: [[0, 0], [2, -8]]"),
        "queries that differ where Q is 0": ("[[1, 5], ", "[[1, -7], "),
    },
    {
        "all queries see all tokens": ("  causal: 2\n", "", REFUTED, "gap of token 1 at query 0"),
        "queries that see one more": ("causal: 2", "causal: 3", MALFORMED, "at most 2"),
        "queries that see one less": ("causal: 2", "causal: 1", MALFORMED, "an integer >= 2"),
        "a token that is not seen yet": ("selected: [1, 2, 3]", "selected: [2, 2, 3]", MALFORMED, "that query 0 sees"),
        "a best token that is not seen yet": ("best: [1, 1, 3]", "best: [1, 3, 3]", MALFORMED, "that query 1 sees"),
        "a best token of those that are not seen": ("best: [1, 1, 3]", "best: [1, 1, 1]", REFUTED, "token 1 scores"),
        "a rank among all": ("rank: [0, 2, 0]", "rank: [1, 2, 0]", REFUTED, "token 1 at query 0"),
        "a scale of 0": ("scale: -1/2", "scale: 0", MALFORMED, "other than 0"),
        "a scale of the other sign": ("scale: -1/2", "scale: 1/2", REFUTED, "gap of token"),
        "half the scale": ("scale: -1/2", "scale: -1/4", REFUTED, "margin"),
        "two tokens of the largest logit": ("[0, 0], [3, -3/2]]", "[0, 0], [2, -3/2]]", REFUTED, "gap of token 3"),
        "a matrix of the wrong sign": ("W: [[1, 0]]", "W: [[-1, 0]]", REJECTED, "a lower bound"),
        "multipliers that nearly cancel": (
            "{token: 3, multiplier: 1}]}", "{token: 3, multiplier: 1.000000000001}]}", REJECTED, "distance of key 1"),
        "a distance just below the truth": ("at_most: 1.01}", "at_most: 0.999}", REJECTED, "key 2"),
        "a token beyond the last": ("- {token: 1, at_most: 0}", "- {token: 4, at_most: 0}", MALFORMED, "which is not"),
        "one token": (
            "tokens: [[1, 0], [2, 1], [0, 0], [3, -3/2]]", "tokens: [[1, 0]]", MALFORMED, "at least two tokens"),
    },
)  # fmt: skip

# Logits at (-2, 1/2), over the root of 2: -2, 1/2, 9/4. The squared norms of the values are 5, 1 and 37/4.
IN_FILES = family(
    "a head in array files",
    f"""
given:
  keys: {array("keys.npy", "float32", "[3, 2]")}
  values: {array("values.npy", "float32", "[3, 2]")}
  queries: {array("queries.npy", "float64", "[4, 2]", rows="2:3")}
  scale: 1/sqrt(2)
  score: {{kind: value-norm}}
asserts:
  selected: [2]
  margin: {{at_least: 1.23, at_most: 1.24}}
  weight: {{at_least: 0.74, at_most: 0.75}}
  rank: [0]
  best: [2]
  separability:
  - {{of: selected, at_least: 1.2}}
""",
    {
        "a margin further below": ("margin: {at_least: 1.23,", "margin: {at_least: 1.2,"),
        "a matrix of its own": (
            "  - {of: selected, at_least: 1.2}\n",
            "  - {of: selected, at_least: 1.2}\nwitness:\n  separability:\n  - {of: selected, W: [[1, 0], [0, 1]]}\n"),
    },
    {
        "two tokens of the largest logit": ("rows: 2:3", "rows: 1:2", REFUTED, "gap of token 2"),
        "all queries": (", rows: 2:3", "", MALFORMED, "4 numbers, one per query"),
        "a row that is not there": ("rows: 2:3", "rows: 4:5", MALFORMED, "rows"),
        "another scale": ("1/sqrt(2)", "sqrt(2)", REFUTED, "the margin"),
        "keys that are not numbers": (
            array("keys.npy", "float32", "[3, 2]"), array("nan.npy", "float32", "[3, 2]"), MALFORMED, "a NaN"),
        "another number type": ("float64, shape", "float32, shape", MALFORMED, "queries"),
    },
)  # fmt: skip

FAMILIES = [WRITTEN_OUT, CAUSAL, IN_FILES]
CASES = [case for each in FAMILIES for case in each.cases()]
