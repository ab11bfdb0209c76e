"""Accept and reject cases of `gradient-mean-square` and `gradient-tail`, in titled families.

The numbers are those of `tools/truth/gradient.py`, which shares no code with the kernel.
"""

from __future__ import annotations

from corpus import MALFORMED, REFUTED, REJECTED, Case, Change, Family

MEAN_SQUARE, TAIL = "gradient-mean-square", "gradient-tail"

_NUMBERS: dict[str, Change] = {
    "no token": ("length: 20", "length: 0", MALFORMED, "an integer >= 1"),
    "a part of a token": ("length: 20", "length: 20.5", MALFORMED, "an integer >= 1"),
    "no length": ("  length: 20\n", "", MALFORMED, "no 'length'"),
    "an unknown gradient": ("gradient: U", "gradient: Q", MALFORMED, "'V' or 'U'"),
    "no gradient": ("gradient: U, ", "", MALFORMED, "no 'gradient'"),
    "an unknown key": ("gradient: U, ", "gradient: U, norm: l2, ", MALFORMED, "the unknown key 'norm'"),
    "a covariance with a negative eigenvalue": ("[[1, 1/2], [1/2, 1]]", "[[1, 2], [2, 1]]", MALFORMED, "negative"),
    "values too wide": ("V: [[1, 2]]", "V: [[1, 2, 3]]", MALFORMED, "given.V"),
    "a query too long": ("query: [1/2, -1]", "query: [1/2, -1, 0]", MALFORMED, "what U or Q acts on"),
}
_GAUSSIAN = """
given:
  law: {kind: gaussian, mean: [1, -1], covariance: [[1, 1/2], [1/2, 1]]}
  U: [[1, 0], [0, 1/2]]
  query: [1/2, -1]
  scale: 1/sqrt(2)
  V: [[1, 2]]
  length: 20
"""
EXACT_U = Family(
    MEAN_SQUARE,
    "the gradient in U, exactly",
    _GAUSSIAN
    + """asserts: {gradient: U, mean_square: {at_least: 0.82296, at_most: 0.82297}}
witness: {method: exact}
""",
    {
        "ten digits": ("at_least: 0.82296, at_most: 0.82297", "at_least: 0.8229672361, at_most: 0.8229672362"),
        "from above only": ("at_least: 0.82296, ", ""),
        "from below only": (", at_most: 0.82297", ""),
        "another mean, which does not count": ("mean: [1, -1]", "mean: [7, -3]"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
    },
    {
        **_NUMBERS,
        "at_most just below": ("at_most: 0.82297", "at_most: 0.8229672361", REFUTED, "at most the stated bound"),
        "at_least just above": ("at_least: 0.82296", "at_least: 0.8229672362", REFUTED, "at least the stated bound"),
        "at_most far below": ("at_least: 0.82296, at_most: 0.82297", "at_most: 0.1", REFUTED, "mean square: [0.82"),
        "at_most 0": ("at_most: 0.82297", "at_most: 0", REFUTED, "at most the stated bound"),
        "a negative bound": ("at_most: 0.82297", "at_most: -1", MALFORMED, "a number >= 0"),
        "a token fewer": ("length: 20", "length: 19", REFUTED, "at most the stated bound"),
        "a token more": ("length: 20", "length: 21", REFUTED, "at least the stated bound"),
        "larger values": ("V: [[1, 2]]", "V: [[1, 2.01]]", REFUTED, "at most the stated bound"),
        "values left out": ("  V: [[1, 2]]\n", "", REFUTED, "at least the stated bound"),
        "a longer query": ("query: [1/2, -1]", "query: [1/2, -1.01]", REFUTED, "at most the stated bound"),
        "no scale": ("  scale: 1/sqrt(2)\n", "", REFUTED, "at most the stated bound"),
        "a larger variance": ("[1/2, 1]]}", "[1/2, 1.001]]}", REFUTED, "at most the stated bound"),
        "the gradient in V": ("gradient: U", "gradient: V", REFUTED, "at least the stated bound"),
        "nothing asserted": ("{at_least: 0.82296, at_most: 0.82297}", "{}", MALFORMED, "at_least or at_most"),
        "no mean square": (", mean_square: {at_least: 0.82296, at_most: 0.82297}", "", MALFORMED, "no 'mean_square'"),
        "no witness": ("witness: {method: exact}\n", "", MALFORMED, "a witness that names the method"),
        "an unknown method": ("method: exact", "method: markov", MALFORMED, "'exact' or"),
        "a parameter too many": ("method: exact", "method: exact, t: 1/2", MALFORMED, "no parameters for the"),
        "the method logistic, with a lower bound": ("method: exact", "method: logistic", REJECTED, "no such bound"),
        "the method general, with a lower bound": (
            "method: exact", "method: general, t: 1/2, lambda: 1/5", REJECTED, "no such bound"),
        "a tilt, which does not say what z is": (
            "  U: [[1, 0], [0, 1/2]]\n  query: [1/2, -1]\n  scale: 1/sqrt(2)\n", "  tilt: [1, 0]\n", MALFORMED,
            "a query with U"),
        "signs": (
            "kind: gaussian, mean: [1, -1], covariance: [[1, 1/2], [1/2, 1]]", "kind: rademacher, sizes: [1, 1]",
            REJECTED, "no such bound"),
    },
)  # fmt: skip
EXACT_V = Family(
    MEAN_SQUARE,
    "the gradient in V, exactly",
    _GAUSSIAN
    + """asserts: {gradient: V, mean_square: {at_least: 0.115755, at_most: 0.115756}}
witness: {method: exact}
""",
    {
        "other values, which do not count": ("V: [[1, 2]]", "V: [[3, 4], [5, 6]]"),
        "the logistic form, from below": (
            "at_least: 0.115755, at_most: 0.115756}}\nwitness: {method: exact}",
            "at_least: 0.0984, at_most: 0.1161}}\nwitness: {method: logistic}"),
    },
    {
        "at_most just below": ("at_most: 0.115756", "at_most: 0.1157553", REFUTED, "at most the stated bound"),
        "at_least just above": ("at_least: 0.115755", "at_least: 0.1157554", REFUTED, "at least the stated bound"),
        "the gradient in U": ("gradient: V", "gradient: U", REFUTED, "at most the stated bound"),
        "the logistic form, too low": (
            "at_least: 0.115755, at_most: 0.115756}}\nwitness: {method: exact}",
            "at_most: 0.1160}}\nwitness: {method: logistic}", REJECTED, "the logistic bound"),
        "the logistic form, too high": (
            "at_least: 0.115755, at_most: 0.115756}}\nwitness: {method: exact}",
            "at_least: 0.0985}}\nwitness: {method: logistic}", REJECTED, "the logistic lower bound"),
        "a smaller tilt": ("scale: 1/sqrt(2)", "scale: 1/2", REFUTED, "at least the stated bound"),
    },
)  # fmt: skip
LOGISTIC = Family(
    MEAN_SQUARE,
    "the gradient in U, by the logistic form",
    _GAUSSIAN
    + """asserts: {gradient: U, mean_square: {at_most: 0.872891}}
witness: {method: logistic}
""",
    {"with room": ("at_most: 0.872891", "at_most: 1"), "exactly": ("at_most: 0.872891", "at_most: 0.8728906472")},
    {
        **_NUMBERS,
        "at_most just below": ("at_most: 0.872891", "at_most: 0.872890", REJECTED, "the logistic bound"),
        "at_most below the truth": ("at_most: 0.872891", "at_most: 0.8", REJECTED, "the logistic bound"),
        "a token fewer": ("length: 20", "length: 19", REJECTED, "the logistic bound"),
        "a lower bound": ("at_most: 0.872891", "at_least: 0.8", REJECTED, "no such bound"),
    },
)
GENERAL_U = Family(
    MEAN_SQUARE,
    "the gradient in U, a box",
    """
given: {law: {kind: box, sizes: [1, 1/2]}, K: [[1, 1]], Q: [[1, -1]], query: [1, 1/2], length: 400}
asserts: {gradient: U, mean_square: {at_most: 0.00162336}}
witness: {method: general, t: 2/5, lambda: 3/10}
""",
    {"with room": ("at_most: 0.00162336", "at_most: 0.002")},
    {
        "at_most just below": ("at_most: 0.00162336", "at_most: 0.00162335", REJECTED, "the general bound"),
        "a token fewer": ("length: 400", "length: 399", REJECTED, "the general bound"),
        "a wider box": ("[1, 1/2]}, K", "[1, 0.501]}, K", REJECTED, "the general bound"),
        "a negative size": ("[1, 1/2]}, K", "[1, -1/2]}, K", MALFORMED, "sizes >= 0"),
        "signs": ("kind: box", "kind: rademacher", REJECTED, "the general bound"),
        "a longer query": ("query: [1, 1/2]", "query: [1, 0.51]", REJECTED, "the general bound"),
        "a poor t": ("t: 2/5", "t: 99/100", REJECTED, "the general bound"),
        "a poor lambda": ("lambda: 3/10", "lambda: 3", REJECTED, "the general bound"),
        "t 0": ("t: 2/5", "t: 0", MALFORMED, "a number > 0"),
        "t 1": ("t: 2/5", "t: 1", REJECTED, "t < 1"),
        "lambda 0": ("lambda: 3/10", "lambda: 0", MALFORMED, "a number > 0"),
        "a negative lambda": ("lambda: 3/10", "lambda: -1", MALFORMED, "a number > 0"),
        "no t": ("t: 2/5, ", "", MALFORMED, "t and lambda"),
        "no lambda": (", lambda: 3/10", "", MALFORMED, "t and lambda"),
        "the method exact": ("general, t: 2/5, lambda: 3/10", "exact", REJECTED, "no such bound"),
        "the method logistic": ("general, t: 2/5, lambda: 3/10", "logistic", REJECTED, "no such bound"),
        "a lower bound": ("at_most: 0.00162336", "at_least: 0", REJECTED, "no such bound"),
    },
)
_MIXTURE = (
    "law: {kind: mixture, components: [{weight: 1/4, law: {kind: rademacher, sizes: [1, 2]}}, {weight: 3/4, "
    "law: {kind: atoms, points: [[0, 0], [1, 1]], weights: [1/3, 2/3]}}]}"
)
GENERAL_V = Family(
    MEAN_SQUARE,
    "the gradient in V, a mixture",
    f"""
given: {{{_MIXTURE}, tilt: [1/2, 1/4], length: 400}}
asserts: {{gradient: V, mean_square: {{at_most: 0.00540568}}}}
witness: {{method: general, t: 2/5, lambda: 3/10}}
""",
    {"with room": ("at_most: 0.00540568", "at_most: 0.01")},
    {
        "at_most just below": ("at_most: 0.00540568", "at_most: 0.00540567", REJECTED, "the general bound"),
        "a token fewer": ("length: 400", "length: 399", REJECTED, "the general bound"),
        "another tilt": ("tilt: [1/2, 1/4]", "tilt: [-1/2, 1/4]", REJECTED, "the general bound"),
        "a tilt too short": ("tilt: [1/2, 1/4]", "tilt: [1/2]", MALFORMED, "the tokens"),
        "another atom": ("[1, 1]]", "[1, 2]]", REJECTED, "the general bound"),
        "the gradient in U": ("gradient: V", "gradient: U", MALFORMED, "a query with U"),
    },
)

# -- tails

_PROBABILITIES: dict[str, Change] = {
    "probability 1": ("probability: 0.08", "probability: 1", MALFORMED, "above 0 and below 1"),
    "probability 0": ("probability: 0.08", "probability: 0", MALFORMED, "a number > 0"),
    "nothing exceeded": ("exceeds: 1/2", "exceeds: 0", MALFORMED, "a number > 0"),
    "a negative excess": ("exceeds: 1/2", "exceeds: -1/2", MALFORMED, "a number > 0"),
    "a third row without a level": (
        "frame: [[1, 0], [0, 1]]", "frame: [[1, 0], [0, 1], [0, 0]]", MALFORMED, "the rows of the frame"),
    "a frame that is too small": ("frame: [[1, 0], [0, 1]]", "frame: [[1, 0], [0, 0.999]]", REJECTED, "too small"),
    "a frame of one vector": ("frame: [[1, 0], [0, 1]]", "frame: [[1, 0]]", MALFORMED, "the rows of the frame"),
    "a frame of other vectors": ("frame: [[1, 0], [0, 1]]", "frame: [[1], [1]]", MALFORMED, "for tokens of that"),
}  # fmt: skip
TAIL_V = Family(
    TAIL,
    "the tail of the gradient in V",
    """
given: {law: {kind: gaussian, mean: [1, -1], covariance: [[1, 1/2], [1/2, 1]]}, tilt: [1/2, 0], length: 400}
asserts: {gradient: V, exceeds: 1/2, probability: 0.08}
witness:
  tokens:
    frame: [[1, 0], [0, 1]]
    levels: [0.4, 0.3]
    bounds:
    - {rule: truncated, lambda: 0.3, cap: 20}
    - {rule: moment, order: 6}
    - {rule: moment, order: 4}
    - {rule: cantelli}
""",
    {
        "other values, which do not count": ("length: 400", "length: 400, V: [[1, 1]]"),
        "a wider frame": ("frame: [[1, 0], [0, 1]]", "frame: [[1, 0], [0, 1.0001]]"),
        "more exceeded": ("exceeds: 1/2", "exceeds: 0.6"),
        "a probability with room": ("probability: 0.08", "probability: 0.9"),
    },
    {
        **_PROBABILITIES,
        "probability too small": ("probability: 0.08", "probability: 0.0636", REJECTED, "one-sided bounds"),
        "less exceeded than the levels": ("exceeds: 1/2", "exceeds: 0.4999", REJECTED, "exceeds^2"),
        "a smaller level": ("levels: [0.4, 0.3]", "levels: [0.4, 0.2]", REJECTED, "one-sided bounds"),
        "a larger level": ("levels: [0.4, 0.3]", "levels: [0.41, 0.3]", REJECTED, "exceeds^2"),
        "a negative level": ("levels: [0.4, 0.3]", "levels: [-0.4, 0.3]", REJECTED, "levels >= 0"),
        "a level too few": ("levels: [0.4, 0.3]", "levels: [0.4]", MALFORMED, "the rows of the frame"),
        "fewer tokens": ("length: 400", "length: 300", REJECTED, "one-sided bounds"),
        "a rule too few": ("    - {rule: cantelli}\n", "", MALFORMED, "4 rules"),
        "a rule too many": ("    - {rule: cantelli}\n", "    - {rule: cantelli}\n" * 2, MALFORMED, "4 rules"),
        "an odd order": ("order: 6", "order: 5", MALFORMED, "an even order"),
        "Chernoff, which is infinite": ("{rule: cantelli}", "{rule: chernoff, lambda: 1/10}", REJECTED, "not known"),
        "the rule exact": ("{rule: cantelli}", "{rule: exact}", REJECTED, "vary"),
        "lambda 0": ("lambda: 0.3", "lambda: 0", MALFORMED, "a number > 0"),
        "entries": (
            "witness:\n", "witness:\n  entries: {levels: [[1]], bounds: [{rule: exact}]}\n", MALFORMED,
            "no entries for the gradient in V"),
        "no witness": (
            "witness:\n  tokens:\n    frame: [[1, 0], [0, 1]]\n    levels: [0.4, 0.3]\n    bounds:\n"
            "    - {rule: truncated, lambda: 0.3, cap: 20}\n    - {rule: moment, order: 6}\n"
            "    - {rule: moment, order: 4}\n    - {rule: cantelli}\n",
            "", MALFORMED, "a witness that names the rules"),
        "the gradient in U": ("gradient: V", "gradient: U", MALFORMED, "a query with U"),
    },
)  # fmt: skip
TAIL_U = Family(
    TAIL,
    "the tail of the gradient in U",
    """
given:
  law: {kind: gaussian, mean: [0, 0], covariance: [[1/2, 1/8], [1/8, 1/4]]}
  U: [[1, 0], [0, 1]]
  query: [1, -1]
  length: 2000
asserts: {gradient: U, exceeds: 1/2, probability: 0.06202}
witness:
  tokens:
    frame: [[1, 0], [0, 1]]
    levels: [0.2, 0.15]
    bounds: [{rule: moment, order: 4}, {rule: moment, order: 4}, {rule: moment, order: 6}, {rule: cantelli}]
  entries:
    levels: [[0.15, 0.1], [0.1, 0.1]]
    bounds:
    - {rule: moment, order: 8}
    - {rule: cantelli}
    - {rule: moment, order: 6}
    - {rule: moment, order: 4}
    - {rule: moment, order: 4}
    - {rule: moment, order: 10}
""",
    {
        "another mean, which does not count": ("mean: [0, 0]", "mean: [5, 1]"),
        "a shorter query": ("query: [1, -1]", "query: [0.9, -0.9]"),
    },
    {
        "probability just below": ("probability: 0.06202", "probability: 0.06201", REJECTED, "one-sided bounds"),
        "a tenth of the probability": ("probability: 0.06202", "probability: 0.0062", REJECTED, "one-sided bounds"),
        "fewer tokens": ("length: 2000", "length: 500", REJECTED, "one-sided bounds"),
        "less exceeded than the levels": ("exceeds: 1/2", "exceeds: 0.4", REJECTED, "scale^2 |z|^2"),
        "a longer query": ("query: [1, -1]", "query: [2, -1]", REJECTED, "scale^2 |z|^2"),
        "a larger scale": ("  length:", "  scale: 2\n  length:", REJECTED, "scale^2 |z|^2"),
        "levels that are not symmetric": ("[0.1, 0.1]]", "[0.09, 0.1]]", MALFORMED, "symmetric levels"),
        "a smaller level": ("[[0.15, 0.1], [0.1, 0.1]]", "[[0.05, 0.1], [0.1, 0.1]]", REJECTED, "one-sided bounds"),
        "a negative level": ("[[0.15,", "[[-0.15,", REJECTED, "levels >= 0"),
        "a level of 0": ("[[0.15,", "[[0,", REJECTED, "the rule exact, as the level is 0"),
        "levels of another shape": ("[[0.15, 0.1], [0.1, 0.1]]", "[[0.15, 0.1]]", MALFORMED, "rows of the frame"),
        "a rule too few": ("    - {rule: moment, order: 10}\n", "", MALFORMED, "6 rules"),
        "a truncated entry": (
            "{rule: moment, order: 8}", "{rule: truncated, lambda: 1, cap: 1}", MALFORMED, "'cantelli' or"),
        "Chernoff of an unbounded law": (
            "{rule: moment, order: 8}", "{rule: chernoff, lambda: 1}", REJECTED, "a law of bounded support"),
        "an odd order": ("order: 8", "order: 7", MALFORMED, "an even order"),
        "order 26": ("order: 8", "order: 26", MALFORMED, "an even order from 2 to 24"),
        "order 102": ("order: 8", "order: 102", MALFORMED, "an even order from 2 to 24"),
        "the rule exact": ("{rule: moment, order: 8}", "{rule: exact}", REJECTED, "tokens are constant"),
        "values without a frame of outputs": ("  length:", "  V: [[1, 1]]\n  length:", MALFORMED, "as V is not"),
        "no entries": ("  entries:", "  outputs:", MALFORMED, "no 'frame'"),
    },
)  # fmt: skip
TAIL_ATOMS = Family(
    TAIL,
    "the tail of the gradient in U, atoms and values",
    """
given:
  law: {kind: atoms, points: [[0, 0], [1, 0], [1/2, -1]], weights: [1/4, 1/4, 1/2]}
  U: [[1, 0], [0, 1]]
  query: [1, 1/2]
  V: [[1, 2]]
  length: 300
asserts: {gradient: U, exceeds: 1, probability: 0.0264}
witness:
  outputs: {frame: [[1]], levels: [0.6], bounds: [{rule: moment, order: 4}, {rule: chernoff, lambda: 0.4}]}
  tokens:
    frame: [[1, 0], [0, 1]]
    levels: [0.2, 0.2]
    bounds: [{rule: moment, order: 6}, {rule: moment, order: 6}, {rule: chernoff, lambda: 1}, {rule: cantelli}]
  entries:
    levels: [[0.3, 0.5]]
    bounds:
    - {rule: chernoff, lambda: 1.5}
    - {rule: chernoff, lambda: 1}
    - {rule: chernoff, lambda: 1/2}
    - {rule: moment, order: 6}
""",
    {"a probability with room": ("probability: 0.0264", "probability: 0.5")},
    {
        "probability just below": ("probability: 0.0264", "probability: 0.0263", REJECTED, "one-sided bounds"),
        "fewer tokens": ("length: 300", "length: 290", REJECTED, "one-sided bounds"),
        "another atom": ("[1/2, -1]]", "[1/2, -1.1]]", REJECTED, "one-sided bounds"),
        "larger values": ("V: [[1, 2]]", "V: [[1, 2.5]]", REJECTED, "one-sided bounds"),
        "a longer query": ("query: [1, 1/2]", "query: [1.5, 1/2]", REJECTED, "scale^2 |z|^2"),
        "an order that atoms have not": ("lambda: 1.5", "lambda: 1.5, order: 4", REJECTED, "no order for this law"),
        "lambda 0": ("lambda: 1.5", "lambda: 0", MALFORMED, "a number > 0"),
        "no outputs": (
            "  outputs: {frame: [[1]], levels: [0.6], bounds: [{rule: moment, order: 4}, "
            "{rule: chernoff, lambda: 0.4}]}\n",
            "", MALFORMED, "outputs, as V is not the identity"),
        "a frame of outputs that is too small": ("frame: [[1]]", "frame: [[0.9]]", REJECTED, "too small"),
        "a level of the outputs too large": ("levels: [0.6]", "levels: [2]", REJECTED, "scale^2 |z|^2"),
    },
)  # fmt: skip
TAIL_BOX = Family(
    TAIL,
    "the tail of the gradient in U, a box with a constant coordinate",
    """
given: {law: {kind: box, sizes: [1, 0]}, U: [[1, 0], [0, 1]], query: [1, 1/2], length: 300}
asserts: {gradient: U, exceeds: 1/2, probability: 0.0000953}
witness:
  tokens:
    frame: [[1, 0], [0, 1]]
    levels: [0.3, 0]
    bounds: [{rule: chernoff, lambda: 1, order: 4}, {rule: moment, order: 6}, {rule: exact}, {rule: exact}]
  entries:
    levels: [[0.2, 0], [0, 0]]
    bounds:
    - {rule: chernoff, lambda: 1, order: 4}
    - {rule: chernoff, lambda: 1, order: 6}
    - {rule: exact}
    - {rule: exact}
    - {rule: exact}
    - {rule: exact}
""",
    {"a probability with room": ("probability: 0.0000953", "probability: 0.001")},
    {
        "probability just below": ("probability: 0.0000953", "probability: 0.0000952", REJECTED, "one-sided bounds"),
        "fewer tokens": ("length: 300", "length: 290", REJECTED, "one-sided bounds"),
        "a coordinate that varies": ("sizes: [1, 0]", "sizes: [1, 0.1]", REJECTED, "vary"),
        "signs": ("kind: box", "kind: rademacher", REJECTED, "one-sided bounds"),
        "no order": ("- {rule: chernoff, lambda: 1, order: 4}", "- {rule: chernoff, lambda: 1}", REJECTED, "no order"),
        "an odd order": (
            "order: 6}\n    - {rule: exact}", "order: 5}\n    - {rule: exact}", MALFORMED, "an even order"),
        "a poor lambda": (
            "- {rule: chernoff, lambda: 1, order: 4}", "- {rule: chernoff, lambda: 1/10, order: 4}", REJECTED,
            "one-sided bounds"),
    },
)  # fmt: skip

FAMILIES = [
    EXACT_U, EXACT_V, LOGISTIC, GENERAL_U, GENERAL_V, TAIL_V, TAIL_U, TAIL_ATOMS, TAIL_BOX,
]  # fmt: skip
CASES: list[Case] = [case for family in FAMILIES for case in family.cases()]
