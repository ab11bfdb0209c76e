"""Accept and reject cases of `typical-prompt`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Family, array

NAME = "typical-prompt"
family = partial(Family, NAME)

# T - T_inf is about -0.17, and a random prompt exceeds 2 with probability at most 0.03, -2 with 0.31.
WRITTEN_OUT = family(
    "four tokens that are written out",
    """
given:
  tokens: [[1, 0], [0, 1], [-1, 1/2], [1/2, -1]]
  queries: [[1/2, 1/4]]
  V: [[1, 1]]
  law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1/2]]}
asserts:
  directions:
  - {direction: [1], exceeds: 2, probability: 0.35}
  norm: {norm: l2, exceeds: 2, probability: 0.5}
witness:
  directions: [{rule: cantelli}]
  norm: {frame: [[1]], levels: [2], bounds: [{rule: cantelli}, {rule: moment, order: 2}]}
""",
    {
        "K and Q that say the same": ("  V:", "  K: [[1, 0], [0, 1]]\n  Q: [[1, 0], [0, 1]]\n  V:"),
        "U that says the same": ("  V:", "  U: [[1, 0], [0, 1]]\n  V:"),
        "a scale": ("  V:", "  scale: 1/sqrt(2)\n  V:"),
        "another token": ("[1/2, -1]]", "[1/2, 3]]"),
        "a direction that is turned round": ("direction: [1], exceeds", "direction: [-1], exceeds"),
        "a direction in which this prompt is far, but on the other side": (
            "direction: [1], exceeds: 2, probability: 0.35", "direction: [1], exceeds: 0.1, probability: 0.999"),
        "linf": (
            "norm: {norm: l2, exceeds: 2, probability: 0.5}\nwitness:\n  directions: [{rule: cantelli}]\n"
            "  norm: {frame: [[1]], levels: [2], bounds:",
            "norm: {norm: linf, exceeds: 2, probability: 0.5}\nwitness:\n  directions: [{rule: cantelli}]\n"
            "  norm: {bounds:"),
        "another rule": ("directions: [{rule: cantelli}]", "directions: [{rule: truncated, lambda: 1, cap: 4}]"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
    },
    {
        "a height below this prompt's": (
            "exceeds: 2, probability: 0.5}\nwitness:\n  directions: [{rule: cantelli}]\n"
            "  norm: {frame: [[1]], levels: [2]",
            "exceeds: 0.1, probability: 0.5}\nwitness:\n  directions: [{rule: cantelli}]\n"
            "  norm: {frame: [[1]], levels: [0.1]",
            REFUTED, "how rarely 4 independent tokens of the law do so is not proved"),
        "a token that is far off": ("[1/2, -1]]", "[1/2, 30]]", REFUTED, "one of the exceptional ones"),
        "a law elsewhere": ("mean: [0, 0]", "mean: [0, -5]", REFUTED, "one of the exceptional ones"),
        "a probability below what the rule gives": ("probability: 0.35}", "probability: 0.01}", REJECTED, "not proved"),
        "a norm's probability too small": ("probability: 0.5}", "probability: 0.1}", REJECTED, "not proved"),
        "a wider law": ("[0, 1/2]]}", "[0, 3]]}", REJECTED, "not proved"),
        "a larger scale": ("  V:", "  scale: 3\n  V:", REJECTED, "not proved"),
        "tokens left out": ("[-1, 1/2], [1/2, -1]]", "[-1, 1/2]]", REJECTED, "not proved"),
        "two queries": ("[[1/2, 1/4]]", "[[1/2, 1/4], [0, 0]]", MALFORMED, "one query"),
        "no query": ("  queries: [[1/2, 1/4]]\n", "", MALFORMED, "no 'queries'"),
        "a query of another dimension": ("[[1/2, 1/4]]", "[[1/2]]", MALFORMED, "given.queries"),
        "no law": (
            "  law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1/2]]}\n", "", MALFORMED, "no 'law'"),
        "a law in dimension 1": (
            "{kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1/2]]}", "{kind: box, sizes: [1]}", MALFORMED,
            "a law in dimension 2"),
        "a covariance with a negative eigenvalue": ("[[1, 0], [0, 1/2]]", "[[1, 2], [2, 1/2]]", MALFORMED, "negative"),
        "keys in the place of tokens": ("  tokens:", "  keys:", MALFORMED, "the unknown key 'keys'"),
        "a length": ("  V:", "  length: 4\n  V:", MALFORMED, "the unknown key 'length'"),
        "a tilt": ("  V:", "  tilt: [1, 1]\n  V:", MALFORMED, "the unknown key 'tilt'"),
        "a direction of another dimension": ("direction: [1]", "direction: [1, 0]", MALFORMED, "an output"),
        "a height of 0": ("direction: [1], exceeds: 2", "direction: [1], exceeds: 0", MALFORMED, "a number > 0"),
        "a probability of 1": ("probability: 0.35", "probability: 1", MALFORMED, "below 1"),
        "levels beyond the height": ("levels: [2]", "levels: [2.1]", REJECTED, "squares of levels"),
        "no witness": (
            "witness:\n  directions: [{rule: cantelli}]\n  norm: {frame: [[1]], levels: [2], "
            "bounds: [{rule: cantelli}, {rule: moment, order: 2}]}\n",
            "", MALFORMED, "a witness that names the rules"),
        "no rule for a direction": ("  directions: [{rule: cantelli}]\n", "", MALFORMED, "directions in the witness"),
        "nothing asserted": (
            "asserts:\n  directions:\n  - {direction: [1], exceeds: 2, probability: 0.35}\n"
            "  norm: {norm: l2, exceeds: 2, probability: 0.5}\n",
            "asserts: {}\n", MALFORMED, "directions or norm"),
        "an unknown rule": ("directions: [{rule: cantelli}]", "directions: [{rule: markov}]", MALFORMED, "witness"),
    },
)  # fmt: skip

# Rows of an array file; a law of atoms.
IN_A_FILE = family(
    "tokens in a file, against a law of atoms",
    f"""
given:
  tokens: {array("keys.npy", "float32", "[3, 2]")}
  queries: {array("queries.npy", "float64", "[4, 2]", rows="1:2")}
  U: [[1/4, 0], [0, 1/4]]
  law: {{kind: atoms, points: [[1, 0], [0, 1], [-1, 1/2]]}}
asserts:
  norm: {{norm: linf, exceeds: 1, probability: 0.9}}
witness:
  norm:
    bounds:
    - {{rule: chernoff, lambda: 2}}
    - {{rule: moment, order: 4}}
    - {{rule: cantelli}}
    - {{rule: cantelli}}
""",
    {
        "another query": ("rows: 1:2", "rows: 2:3"),
        "a smaller height": ("exceeds: 1,", "exceeds: 0.9,"),
    },
    {
        "all queries": (", rows: 1:2", "", MALFORMED, "one query"),
        "a row that is not there": ("rows: 1:2", "rows: 4:5", MALFORMED, "rows"),
        "tokens that are not numbers": (
            array("keys.npy", "float32", "[3, 2]"), array("nan.npy", "float32", "[3, 2]"), MALFORMED, "a NaN"),
        "a height below what is proved": ("exceeds: 1,", "exceeds: 1/10,", REJECTED, "not proved"),
        "too few rules": (
            "    - {rule: cantelli}\n    - {rule: cantelli}\n", "    - {rule: cantelli}\n", MALFORMED, "4 rules"),
    },
)  # fmt: skip

FAMILIES = [WRITTEN_OUT, IN_A_FILE]
CASES = [case for each in FAMILIES for case in each.cases()]
