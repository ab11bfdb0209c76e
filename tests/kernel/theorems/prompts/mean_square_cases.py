"""Accept and reject cases of `output-mean-square`, in titled families.

Exact bounds are rounded outwards in the sixth digit: one unit inwards is false. Upper bounds of the
other methods are what they prove, rounded up: one unit lower is not proved, and need not be false.
"""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Case, Family

NAME = "output-mean-square"
family = partial(Family, NAME)

TOKENS = """
given:
  law: {kind: gaussian, mean: [1, 0], covariance: [[1, 1/2], [1/2, 1]]}
  query: [1, -1/2]
  U: [[1, 0], [1/2, 1]]
  scale: 1/sqrt(2)
  V: [[1, 0], [1, 2]]
  length: 50
asserts:
"""
SQUARE = "  mean_square: {at_least: 0.328675, at_most: 0.328676}\n"
MEAN = "  mean: {value: [-0.0226843, -0.0453687], radius: 1e-7}\n"
COLLISION = "  collision: {at_least: 0.0320805, at_most: 0.0320806}\n"

EXACT = family(
    "Gaussian tokens, exactly",
    TOKENS + SQUARE + MEAN + COLLISION + "witness: {method: exact}\n",
    {
        "no witness": ("witness: {method: exact}\n", ""),
        "only the mean square": (MEAN + COLLISION, ""),
        "only the mean": (SQUARE + MEAN + COLLISION, MEAN),
        "only the collision probability": (SQUARE + MEAN, ""),
        "only an upper bound": ("at_least: 0.328675, ", ""),
        "only a lower bound": (", at_most: 0.328676", ""),
        "a negative lower bound": ("at_least: 0.328675", "at_least: -1"),
        "another mean of the tokens": ("mean: [1, 0]", "mean: [-7, 1e9]"),
        "the tilt itself": (
            "query: [1, -1/2]\n  U: [[1, 0], [1/2, 1]]\n  scale: 1/sqrt(2)", "query: [1, 0]\n  scale: 1/sqrt(2)"),
        "keys and queries for U": ("U: [[1, 0], [1/2, 1]]", "K: [[1, 0], [0, 1]]\n  Q: [[1, 0], [1/2, 1]]"),
        "the other root": ("scale: 1/sqrt(2)", "scale: sqrt(1/2)"),
        "the opposite query, and the opposite mean": (
            "query: [1, -1/2]\n  U: [[1, 0], [1/2, 1]]\n  scale: 1/sqrt(2)\n  V: [[1, 0], [1, 2]]",
            "query: [-1, 1/2]\n  U: [[1, 0], [1/2, 1]]\n  scale: 1/sqrt(2)\n  V: [[-1, 0], [-1, -2]]"),
    },
    {
        "at_most one unit lower": ("at_most: 0.328676", "at_most: 0.328675", REFUTED, "<= the stated bound"),
        "at_least one unit higher": ("at_least: 0.328675", "at_least: 0.328676", REFUTED, ">= the stated bound"),
        "both far above": (
            "{at_least: 0.328675, at_most: 0.328676}", "{at_least: 1, at_most: 2}", REFUTED, ">= the stated bound"),
        "bounds exchanged": (
            "{at_least: 0.328675, at_most: 0.328676}", "{at_most: 0.328675, at_least: 0.328676}", REFUTED,
            "E|T_L - T|^2 (exact)"),
        "without the shift along the tilt": ("at_most: 0.328676", "at_most: 0.320", REFUTED, "<= the stated bound"),
        "the collision probability one unit lower": (
            "at_most: 0.0320806", "at_most: 0.0320805", REFUTED, "q = E sum p_i^2"),
        "the collision probability one unit higher": (
            "at_least: 0.0320805", "at_least: 0.0320806", REFUTED, ">= the stated bound"),
        "a radius that is too small": ("radius: 1e-7", "radius: 1e-9", REFUTED, "|E(T_L - T) - value|_linf"),
        "radius zero": ("radius: 1e-7", "radius: 0", REFUTED, "|E(T_L - T) - value|_linf"),
        "a mean of the wrong sign": (
            "[-0.0226843, -0.0453687]", "[0.0226843, 0.0453687]", REFUTED, "|E(T_L - T) - value|_linf"),
        "a mean turned round": (
            "[-0.0226843, -0.0453687]", "[-0.0453687, -0.0226843]", REFUTED, "|E(T_L - T) - value|_linf"),
        "the second entry of the mean moved": ("-0.0453687]", "-0.0453680]", REFUTED, "|E(T_L - T) - value|_linf"),
        "no mean error": ("[-0.0226843, -0.0453687]", "[0, 0]", REFUTED, "|E(T_L - T) - value|_linf"),
        "one token fewer": ("length: 50", "length: 49", REFUTED, "<= the stated bound"),
        "one token more": ("length: 50", "length: 51", REFUTED, ">= the stated bound"),
        "another scale": ("scale: 1/sqrt(2)", "scale: sqrt(2)", REFUTED, "<= the stated bound"),
        "no scale": ("  scale: 1/sqrt(2)\n", "", REFUTED, "<= the stated bound"),
        "U transposed": ("[[1, 0], [1/2, 1]]\n  scale", "[[1, 1/2], [0, 1]]\n  scale", REFUTED, ">= the stated bound"),
        "V transposed": ("V: [[1, 0], [1, 2]]", "V: [[1, 1], [0, 2]]", REFUTED, ">= the stated bound"),
        "V forgotten": ("  V: [[1, 0], [1, 2]]\n", "", REFUTED, ">= the stated bound"),
        "a covariance swapped after the bound was found": (
            "[[1, 1/2], [1/2, 1]]}", "[[1, 0], [0, 1]]}", REFUTED, ">= the stated bound"),
        "the law swapped after the bound was found": (
            "{kind: gaussian, mean: [1, 0], covariance: [[1, 1/2], [1/2, 1]]}", "{kind: rademacher, sizes: [1, 1]}",
            MALFORMED, "'general', for what is given"),
        "closed bounds for what is exact": ("method: exact", "method: logistic", REJECTED, "a lower bound of"),
        "a bound for any law for what is exact": (
            "method: exact", "method: general, t: 1/2, lambda: 1/2", REJECTED, "no such bound"),
        "a method for random queries": ("method: exact", "method: integral", MALFORMED, "for what is given"),
        "an unknown method": ("method: exact", "method: monte-carlo", MALFORMED, "'exact' or"),
        "a parameter too many": ("method: exact", "method: exact, t: 1/2", MALFORMED, "no parameters"),
        "an empty witness": ("{method: exact}", "{}", MALFORMED, "no 'method'"),
        "a covariance with a negative eigenvalue": (
            "[[1, 1/2], [1/2, 1]]}", "[[1, 2], [2, 1]]}", MALFORMED, "negative eigenvalue"),
        "a covariance that is not symmetric": ("[[1, 1/2], [1/2, 1]]}", "[[1, 1/2], [0, 1]]}", MALFORMED, "symmetric"),
        "no tokens": ("length: 50", "length: 0", MALFORMED, "an integer >= 1"),
        "a negative length": ("length: 50", "length: -50", MALFORMED, "an integer >= 1"),
        "half a token": ("length: 50", "length: 50.5", MALFORMED, "an integer >= 1"),
        "no length": ("  length: 50\n", "", MALFORMED, "no 'length'"),
        "no law": (
            "  law: {kind: gaussian, mean: [1, 0], covariance: [[1, 1/2], [1/2, 1]]}\n", "", MALFORMED, "no 'law'"),
        "a query and a tilt": ("  length: 50\n", "  length: 50\n  tilt: [1, 0]\n", MALFORMED, "unknown key"),
        "a query and a law of queries": (
            "  length: 50\n", "  length: 50\n  queries: {mean: [0, 0], covariance: [[1, 0], [0, 1]]}\n", MALFORMED,
            "unknown key"),
        "a query of another dimension": ("query: [1, -1/2]", "query: [1, -1/2, 0]", MALFORMED, "2 numbers"),
        "values for other tokens": ("V: [[1, 0], [1, 2]]", "V: [[1], [2]]", MALFORMED, "2 x 2"),
        "a mean of another dimension": ("[-0.0226843, -0.0453687]", "[-0.0226843]", MALFORMED, "2 numbers"),
        "nothing asserted": (SQUARE + MEAN + COLLISION, "  {}\n", MALFORMED, "nothing that is asserted"),
        "no bound": ("{at_least: 0.328675, at_most: 0.328676}", "{}", MALFORMED, "no bound"),
        "a negative radius": ("radius: 1e-7", "radius: -1e-7", MALFORMED, "a number >= 0"),
        "a bound that is no number": ("at_most: 0.328676", "at_most: nan", MALFORMED, "an exact number"),
        "an infinite bound": ("at_most: 0.328676", "at_most: .inf", MALFORMED, "an exact number"),
        "an empty mean": ("[-0.0226843, -0.0453687]", "[]", MALFORMED, "a list of at least one item"),
    },
)  # fmt: skip

EQUAL = family(
    "no tilt: equal weights",
    """
given:
  law: {kind: gaussian, mean: [3], covariance: [[2]]}
  tilt: [0]
  length: 8
asserts:
  mean_square: {at_least: 0.2499999999, at_most: 0.2500000001}
  mean: {value: [0], radius: 0}
  collision: {at_least: 1/8, at_most: 1/8}
""",
    {
        "a tilt that no token feels": (
            "covariance: [[2]]}\n  tilt: [0]", "covariance: [[2]]}\n  V: [[1]]\n  tilt: [0]"),
    },
    {
        "one token": ("length: 8", "length: 1", REFUTED, "<= the stated bound"),
        "a tilt": ("tilt: [0]", "tilt: [1]", REFUTED, "<= the stated bound"),
        "less than the variance over L": (
            "at_most: 0.2500000001", "at_most: 0.2499999999", REFUTED, "<= the stated bound"),
        "a mean error": ("value: [0]", "value: [1e-30]", REFUTED, "|E(T_L - T) - value|_linf"),
    },
)  # fmt: skip

SINGLE = family(
    "a single token is off by its own spread, and the tilt's shift",
    """
given:
  law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1]]}
  tilt: [2, 0]
  length: 1
asserts:
  mean_square: {at_least: 6, at_most: 6}
  mean: {value: [-2, 0], radius: 0}
  collision: {at_least: 1, at_most: 1}
""",
    {
        "closed bounds are exact too": (
            "asserts:\n  mean_square: {at_least: 6, at_most: 6}\n  mean: {value: [-2, 0], radius: 0}\n",
            "witness: {method: logistic}\nasserts:\n",
        )
    },
    {
        "without the shift": ("at_most: 6", "at_most: 2", REFUTED, "<= the stated bound"),
        "the shift of another sign": ("value: [-2, 0]", "value: [2, 0]", REFUTED, "|E(T_L - T) - value|_linf"),
        "two tokens": ("length: 1", "length: 2", REFUTED, ">= the stated bound"),
    },
)

LOGISTIC = family(
    "Gaussian tokens, closed bounds",
    TOKENS
    + "  mean_square: {at_least: 0.134999, at_most: 0.341797}\n  collision: {at_least: 0.0199999, at_most: 0.0325521}\n"
    + "witness: {method: logistic}\n",
    {
        "the exact way proves them too": ("method: logistic", "method: exact"),
        "only the mean square": ("  collision: {at_least: 0.0199999, at_most: 0.0325521}\n", ""),
    },
    {
        "at_most one unit lower": ("at_most: 0.341797", "at_most: 0.341796", REJECTED, "<= the stated bound"),
        "at_least above what is proved": ("at_least: 0.134999", "at_least: 0.135001", REJECTED, ">= the stated bound"),
        "the collision probability one unit lower": (
            "at_most: 0.0325521", "at_most: 0.0325520", REJECTED, "q = E sum p_i^2"),
        "more than equal weights": ("at_least: 0.0199999", "at_least: 0.0200001", REJECTED, ">= the stated bound"),
        "a mean": (
            "witness:", "  mean: {value: [-0.0226843, -0.0453687], radius: 1}\nwitness:", REJECTED,
            "|E(T_L - T) - value|_linf"),
        "theta": ("method: logistic", "method: logistic, theta: 1/2", MALFORMED, "theta too"),
    },
)  # fmt: skip

MIXED = """
given:
  law:
    kind: mixture
    components:
    - {weight: 1/4, law: {kind: box, sizes: [1, 2]}}
    - {weight: 1/4, law: {kind: rademacher, sizes: [1, 1/2]}}
    - {weight: 1/4, law: {kind: gaussian, mean: [0, 1], covariance: [[1, 0], [0, 0]]}}
    - {weight: 1/4, law: {kind: atoms, points: [[0, 1], [1, 1]], weights: [1/3, 2/3]}}
  tilt: [1/2, -1/2]
  V: [[1, 1]]
  length: 1000
asserts:
  mean_square: {at_most: 0.00398188}
witness: {method: general, t: 0.1792, lambda: 0.2635}
"""

GENERAL = family(
    "any law",
    MIXED,
    {
        "more tokens": ("length: 1000", "length: 2000"),
        "another t, a larger bound": (
            "at_most: 0.00398188}\nwitness: {method: general, t: 0.1792",
            "at_most: 0.0042}\nwitness: {method: general, t: 0.2"),
    },
    {
        "at_most one unit lower": ("at_most: 0.00398188", "at_most: 0.00398187", REJECTED, "<= the stated bound"),
        "a lower bound": ("{at_most: 0.00398188}", "{at_least: 0, at_most: 0.00398188}", REJECTED, "no such bound"),
        "a mean": (
            "{at_most: 0.00398188}", "{at_most: 0.00398188}\n  mean: {value: [0], radius: 9}", REJECTED,
            "|E(T_L - T) - value|_linf <= radius"),
        "a collision probability": (
            "{at_most: 0.00398188}", "{at_most: 0.00398188}\n  collision: {at_most: 1}", REJECTED, "no such bound"),
        "fewer tokens": ("length: 1000", "length: 999", REJECTED, "<= the stated bound"),
        "a larger box": ("sizes: [1, 2]", "sizes: [1, 3]", REJECTED, "<= the stated bound"),
        "larger signs": ("sizes: [1, 1/2]", "sizes: [1, 1]", REJECTED, "<= the stated bound"),
        "other atoms": ("[[0, 1], [1, 1]]", "[[0, 1], [1, 4]]", REJECTED, "<= the stated bound"),
        "a wider Gaussian": ("[[1, 0], [0, 0]]", "[[2, 0], [0, 0]]", REJECTED, "<= the stated bound"),
        "other values": ("V: [[1, 1]]", "V: [[1, 2]]", REJECTED, "<= the stated bound"),
        "a tilt twice as long": ("tilt: [1/2, -1/2]", "tilt: [1, -1]", REJECTED, "<= the stated bound"),
        "t too small": ("t: 0.1792", "t: 0.01", REJECTED, "<= the stated bound"),
        "t too large": ("t: 0.1792", "t: 0.9", REJECTED, "<= the stated bound"),
        "lambda too large": ("lambda: 0.2635", "lambda: 3", REJECTED, "<= the stated bound"),
        "lambda too small": ("lambda: 0.2635", "lambda: 1e-9", REJECTED, "<= the stated bound"),
        "t of one": ("t: 0.1792", "t: 1", REJECTED, "t < 1"),
        "t of zero": ("t: 0.1792", "t: 0", MALFORMED, "> 0"),
        "t above one": ("t: 0.1792", "t: 1.5", REJECTED, "t < 1"),
        "a negative t": ("t: 0.1792", "t: -0.1792", MALFORMED, "> 0"),
        "lambda of zero": ("lambda: 0.2635", "lambda: 0", MALFORMED, "> 0"),
        "a negative lambda": ("lambda: 0.2635", "lambda: -1", MALFORMED, "> 0"),
        "no lambda": (", lambda: 0.2635", "", MALFORMED, "no lambda"),
        "no t": ("t: 0.1792, ", "", MALFORMED, "no t"),
        "no witness": ("witness: {method: general, t: 0.1792, lambda: 0.2635}\n", "", MALFORMED, "method: general"),
        "exact for a law that is not Gaussian": (
            "{method: general, t: 0.1792, lambda: 0.2635}", "{method: exact}", MALFORMED,
            "'general', for what is given"),
        "closed bounds for a law that is not Gaussian": (
            "{method: general, t: 0.1792, lambda: 0.2635}", "{method: logistic}", MALFORMED,
            "'general', for what is given"),
        "weights that do not sum to one": ("weights: [1/3, 2/3]", "weights: [1/3, 1/3]", MALFORMED, "sum"),
    },
)  # fmt: skip

AVERAGED = """
given:
  law: {kind: gaussian, mean: [0, 1], covariance: [[1/4, 0], [0, 1/2]]}
  K: [[1, 0], [1, 1]]
  Q: [[1, 1], [0, 1]]
  V: [[1, 1], [0, 1], [1, 0]]
  scale: 1/2
  queries: {mean: [1/2, 0], covariance: [[1, 1/2], [1/2, 1]]}
  length: 100
asserts:
"""

INTEGRAL = family(
    "averaged over queries, by an integral",
    AVERAGED + "  mean_square: {at_most: 0.0922062}\nwitness: {method: integral}\n",
    {
        "no witness": ("witness: {method: integral}\n", ""),
        "another mean of the tokens": ("mean: [0, 1]", "mean: [5, 1/3]"),
        "U for K and Q": ("K: [[1, 0], [1, 1]]\n  Q: [[1, 1], [0, 1]]", "U: [[1, 2], [0, 1]]"),
        "the opposite mean of the queries": ("mean: [1/2, 0]", "mean: [-1/2, 0]"),
        "more tokens": ("length: 100", "length: 101"),
        "queries that do not vary, at their mean": (
            "covariance: [[1, 1/2], [1/2, 1]]}\n  length", "covariance: [[0, 0], [0, 0]]}\n  length"),
    },
    {
        "at_most one unit lower": ("0.0922062", "0.0922061", REJECTED, "<= the stated bound"),
        "a lower bound": ("{at_most: 0.0922062}", "{at_least: 0, at_most: 1}", REJECTED, "no such bound"),
        "a mean": (
            "{at_most: 0.0922062}", "{at_most: 1}\n  mean: {value: [0, 0, 0], radius: 9}", REJECTED,
            "|E(T_L - T) - value|_linf <= radius"),
        "fewer tokens": ("length: 100", "length: 99", REJECTED, "<= the stated bound"),
        "queries that vary more": ("[[1, 1/2], [1/2, 1]]", "[[2, 1/2], [1/2, 1]]", REJECTED, "<= the stated bound"),
        "queries of another mean": ("mean: [1/2, 0]", "mean: [1, 0]", REJECTED, "<= the stated bound"),
        "another scale": ("scale: 1/2", "scale: 1", REJECTED, "<= the stated bound"),
        "a law of another covariance": (
            "[[1/4, 0], [0, 1/2]]", "[[1/2, 0], [0, 1/2]]", REJECTED, "<= the stated bound"),
        "the method for one query": ("method: integral", "method: exact", MALFORMED, "for what is given"),
        "tokens that are not Gaussian": (
            "{kind: gaussian, mean: [0, 1], covariance: [[1/4, 0], [0, 1/2]]}", "{kind: box, sizes: [1, 1]}", MALFORMED,
            "kind: gaussian"),
        "queries of another dimension": (
            "{mean: [1/2, 0], covariance: [[1, 1/2], [1/2, 1]]}", "{mean: [0], covariance: [[1]]}", MALFORMED,
            "2 numbers"),
        "a covariance of queries with a negative eigenvalue": (
            "[[1, 1/2], [1/2, 1]]", "[[1, 2], [2, 1]]", MALFORMED, "negative eigenvalue"),
        "U beside K and Q": ("  scale: 1/2\n", "  scale: 1/2\n  U: [[1, 0], [0, 1]]\n", MALFORMED, "unknown key"),
        "no queries": ("  queries: {mean: [1/2, 0], covariance: [[1, 1/2], [1/2, 1]]}\n", "", MALFORMED, "no 'query'"),
    },
)  # fmt: skip

CLOSED = family(
    "averaged over queries, in closed form",
    AVERAGED + "  mean_square: {at_most: 0.173397}\nwitness: {method: closed, theta: 0.625}\n",
    {
        "another theta": (
            "at_most: 0.173397}\nwitness: {method: closed, theta: 0.625}",
            "at_most: 0.6}\nwitness: {method: closed, theta: 1/4}"),
        "the integral proves it too": ("{method: closed, theta: 0.625}", "{method: integral}"),
    },
    {
        "at_most one unit lower": ("0.173397", "0.173396", REJECTED, "<= the stated bound"),
        "theta that the queries do not admit": ("theta: 0.625", "theta: 1", REJECTED, "no such bound"),
        "queries that do not admit theta": ("[[1, 1/2], [1/2, 1]]", "[[2, 1/2], [1/2, 2]]", REJECTED, "no such bound"),
        "theta of zero": ("theta: 0.625", "theta: 0", MALFORMED, "> 0"),
        "theta above one": ("theta: 0.625", "theta: 1.01", REJECTED, "theta <= 1"),
        "a negative theta": ("theta: 0.625", "theta: -1", MALFORMED, "> 0"),
        "no theta": (", theta: 0.625", "", MALFORMED, "no theta"),
        "lambda": ("theta: 0.625", "theta: 0.625, lambda: 1", MALFORMED, "lambda too"),
        "fewer tokens": ("length: 100", "length: 99", REJECTED, "<= the stated bound"),
    },
)  # fmt: skip

# q depends on the variance of the scores alone, which is beyond what quadrature is made for.
WIDE = family(
    "scores of a huge variance",
    """
given:
  law: {kind: gaussian, mean: [0], covariance: [[1]]}
  tilt: [20]
  length: 10
asserts:
  collision: {at_least: 0.0999, at_most: 1}
witness: {method: logistic}
""",
    {},
    {
        "more than is known": ("at_least: 0.0999", "at_least: 1/2", REJECTED, ">= the stated bound"),
        "quadrature": (
            "asserts:\n  collision: {at_least: 0.0999, at_most: 1}\nwitness: {method: logistic}",
            "asserts:\n  collision: {at_least: 1/2}\nwitness: {method: exact}", INCONCLUSIVE, "still undecided"),
    },
)  # fmt: skip

FAMILIES = [EXACT, EQUAL, SINGLE, LOGISTIC, GENERAL, INTEGRAL, CLOSED, WIDE]
CASES: list[Case] = [case for one in FAMILIES for case in one.cases()]
