"""Accept and reject cases of `softmax-mean`, in titled families.

Radii are the true errors of the stated values rounded up in the third digit, and bounds on eigenvalues
the true ones rounded outwards in the sixth: one unit less (or more) is false.
"""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, Case, Family, array

NAME = "softmax-mean"
family = partial(Family, NAME)

# T(q) = (0.868919057..., 1/2) and (2.27635278..., 0.230604363...)
KEYS = "[[1, 0], [0, 1], [-1, 1/2]]"
VALUES = "[[1, 2], [0, -1], [3, 0.5]]"
QUERIES = "[[1, 1], [-2, 0.5]]"
GIVEN = f"""
given:
  keys: {KEYS}
  values: {VALUES}
  queries: {QUERIES}
  scale: 1/sqrt(2)
asserts:
"""
MEAN = "  mean: {value: [[0.8689, 0.5], [2.2764, 0.2306]], radius: 4.73e-5}\n"
FIRST, SECOND = "[[0.9993, 0.6393], [0.6393, 1.918]]", "[[1.5733, 0.6687], [0.6687, 0.4979]]"
COVARIANCE = f"  covariance: {{value: [{FIRST}, {SECOND}], radius: [2.72e-5, 3.40e-5]}}\n"
EIGENVALUES = "  eigenvalues: {at_least: 0.177532, at_most: [2.24587, 1.89370]}\n"
LOG = "  log_normaliser: {value: [1.5599, 1.8834], radius: 1.54e-5}\n"

WHOLE = family(
    "everything about keys and values",
    GIVEN + MEAN + COVARIANCE + EIGENVALUES + LOG,
    {
        "only the mean": (COVARIANCE + EIGENVALUES + LOG, ""),
        "only the covariance": (MEAN + COVARIANCE + EIGENVALUES + LOG, COVARIANCE),
        "only the eigenvalues": (MEAN + COVARIANCE + EIGENVALUES + LOG, EIGENVALUES),
        "only the log-normaliser": (MEAN + COVARIANCE + EIGENVALUES + LOG, LOG),
        "a radius for each mean": ("radius: 4.73e-5", "radius: [1.91e-5, 4.73e-5]"),
        "one radius for the covariances": ("[2.72e-5, 3.40e-5]", "3.40e-5"),
        "the covariances one below the other": (
            f"[{FIRST}, {SECOND}]", "[[0.9993, 0.6393], [0.6393, 1.918], [1.5733, 0.6687], [0.6687, 0.4979]]"),
        "whose covariance, said": ("covariance: {", "covariance: {of: values, "),
        "whose eigenvalues, said": ("eigenvalues: {", "eigenvalues: {of: values, "),
        "only a lower bound on eigenvalues": (", at_most: [2.24587, 1.89370]", ""),
        "only an upper bound on eigenvalues": ("at_least: 0.177532, ", ""),
        "lower bounds for each query": ("at_least: 0.177532", "at_least: [0.671413, 0.177532]"),
        "one upper bound": ("[2.24587, 1.89370]", "2.24587"),
        "a lower bound of zero": ("at_least: 0.177532", "at_least: 0"),
        "a negative lower bound": ("at_least: 0.177532", "at_least: [-7, 0.177532]"),
        "a radius for each logarithm": ("radius: 1.54e-5", "radius: [1.54e-5, 2.80e-6]"),
        "a stated covariance that is not symmetric": ("[[0.9993, 0.6393],", "[[0.9993, 0.63931],"),
        "tokens in another order": (
            f"keys: {KEYS}\n  values: {VALUES}",
            "keys: [[0, 1], [-1, 1/2], [1, 0]]\n  values: [[0, -1], [3, 0.5], [1, 2]]"),
        "a few bits to begin with": ("asserts:", "witness: {bits: 2}\nasserts:"),
        "many bits to begin with": ("asserts:", "witness: {bits: 1000000000}\nasserts:"),
        "fewer digits": ("[[0.8689, 0.5], [2.2764, 0.2306]], radius: 4.73e-5", "[[1, 1/2], [2, 0]], radius: 0.276353"),
    },
    {
        "radius of the mean one unit lower": ("4.73e-5", "4.72e-5", REFUTED, "|T(q) - value|_linf at query 1"),
        "first radius of the mean one unit lower": (
            "radius: 4.73e-5", "radius: [1.90e-5, 4.73e-5]", REFUTED, "|T(q) - value|_linf at query 0"),
        "radius zero": ("4.73e-5", "0", REFUTED, "(and 1 more)"),
        "radii of the mean exchanged": ("radius: 4.73e-5", "radius: [4.73e-5, 1.91e-5]", REFUTED, "at query 1"),
        "a negative radius of a query": ("radius: 4.73e-5", "radius: [-1, 1]", REFUTED, "at query 0"),
        "a mean moved": ("0.8689", "0.8688", REFUTED, "|T(q) - value|_linf at query 0"),
        "a mean turned round": ("[2.2764, 0.2306]", "[0.2306, 2.2764]", REFUTED, "at query 1"),
        "means exchanged": (
            "[0.8689, 0.5], [2.2764, 0.2306]", "[2.2764, 0.2306], [0.8689, 0.5]", REFUTED, "(and 1 more)"),
        "radius of the first covariance one unit lower": ("2.72e-5", "2.71e-5", REFUTED, "|Cov - value| at query 0"),
        "radius of the last covariance one unit lower": ("3.40e-5", "3.39e-5", REFUTED, "|Cov - value| at query 1"),
        "covariances exchanged": (f"{FIRST}, {SECOND}", f"{SECOND}, {FIRST}", REFUTED, "(and 1 more)"),
        "an entry off the diagonal": ("[0.6393, 1.918]", "[0.6392, 1.918]", REFUTED, "|Cov - value| at query 0"),
        "an entry of another sign": ("[0.6393, 1.918]", "[-0.6393, 1.918]", REFUTED, "|Cov - value| at query 0"),
        "the diagonal alone": (FIRST, "[[0.9993, 0], [0, 1.918]]", REFUTED, "at query 0"),
        "the covariance of the keys": ("covariance: {", "covariance: {of: keys, ", REFUTED, "(and 1 more)"),
        "the cross-covariance": ("covariance: {", "covariance: {of: values-keys, ", REFUTED, "(and 1 more)"),
        "the eigenvalues of the keys": ("eigenvalues: {", "eigenvalues: {of: keys, ", REFUTED, "the smallest"),
        "at_least one unit higher": ("0.177532", "0.177533", REFUTED, "the smallest eigenvalue at query 1"),
        "first at_least one unit higher": (
            "at_least: 0.177532", "at_least: [0.671414, 0.177532]", REFUTED, "the smallest eigenvalue at query 0"),
        "first at_most one unit lower": ("2.24587", "2.24586", REFUTED, "the largest eigenvalue at query 0"),
        "last at_most one unit lower": ("1.89370", "1.89369", REFUTED, "the largest eigenvalue at query 1"),
        "upper bounds exchanged": (
            "[2.24587, 1.89370]", "[1.89370, 2.24587]", REFUTED, "the largest eigenvalue at query 0"),
        "at_most of zero": ("[2.24587, 1.89370]", "0", REFUTED, "(and 1 more)"),
        "at_most below zero": ("[2.24587, 1.89370]", "-1", REFUTED, "(and 1 more)"),
        "the trace for the smallest": ("0.177532", "2.07122", REFUTED, "the smallest"),
        "at_least and at_most exchanged": (
            "{at_least: 0.177532, at_most: [2.24587, 1.89370]}", "{at_most: 0.177532, at_least: [2.24587, 1.89370]}",
            REFUTED, "(and 3 more)"),
        "the diagonal for the largest": ("[2.24587, 1.89370]", "[1.91798, 1.89370]", REFUTED, "the largest"),
        "the diagonal for the smallest": ("at_least: 0.177532", "at_least: [0.9993, 0.1775]", REFUTED, "the smallest"),
        "radius of the logarithm one unit lower": ("1.54e-5", "1.53e-5", REFUTED, "|log Z(q) - value| at query 0"),
        "logarithms exchanged": ("[1.5599, 1.8834]", "[1.8834, 1.5599]", REFUTED, "(and 1 more)"),
        "the log of the mean of e^score": ("[1.5599, 1.8834]", "[0.4613, 0.7848]", REFUTED, "(and 1 more)"),
        "keys and values exchanged": (
            f"keys: {KEYS}\n  values: {VALUES}", f"values: {KEYS}\n  keys: {VALUES}", REFUTED, "is false"),
        "keys moved, which log Z sees": ("[[1, 0], [0, 1], [-1, 1/2]]", "[[2, 0], [1, 1], [0, 1/2]]", REFUTED, "log Z"),
        "values moved": (VALUES, "[[2, 2], [1, -1], [4, 0.5]]", REFUTED, "|T(q)"),
        "queries in another order": (QUERIES, "[[-2, 0.5], [1, 1]]", REFUTED, "is false"),
        "a query of the other sign": ("[-2, 0.5]]", "[2, -0.5]]", REFUTED, "is false"),
        "a key changed": ("[-1, 1/2]]", "[-1, 0.51]]", REFUTED, "is false"),
        "a value changed": ("[3, 0.5]]", "[3, 0.51]]", REFUTED, "is false"),
        "a token added": (
            f"keys: {KEYS}\n  values: {VALUES}",
            "keys: [[1, 0], [0, 1], [-1, 1/2], [0, 0]]\n  values: [[1, 2], [0, -1], [3, 0.5], [0, 0]]", REFUTED,
            "is false"),
        "every token twice, which log Z sees": (
            f"keys: {KEYS}\n  values: {VALUES}",
            "keys: [[1, 0], [0, 1], [-1, 1/2], [1, 0], [0, 1], [-1, 1/2]]\n"
            "  values: [[1, 2], [0, -1], [3, 0.5], [1, 2], [0, -1], [3, 0.5]]",
            REFUTED, "log Z"),
        "scale changed": ("1/sqrt(2)", "0.7071", REFUTED, "is false"),
        "scale inverted": ("1/sqrt(2)", "sqrt(2)", REFUTED, "is false"),
        "scale left out": ("  scale: 1/sqrt(2)\n", "", REFUTED, "is false"),
        "scale of the other sign": ("1/sqrt(2)", "-0.7071", REFUTED, "is false"),
        "nothing asserted": (MEAN + COVARIANCE + EIGENVALUES + LOG, "  {}\n", MALFORMED, "nothing that is asserted"),
        "eigenvalues of nothing": (
            "{at_least: 0.177532, at_most: [2.24587, 1.89370]}", "{of: values}", MALFORMED, "nothing that is asserted"),
        "eigenvalues of what is not square": (
            "eigenvalues: {", "eigenvalues: {of: values-keys, ", MALFORMED, "'values' or 'keys'"),
        "the covariance of queries": ("covariance: {", "covariance: {of: queries, ", MALFORMED, "'values' or 'keys'"),
        "no radius": (", radius: 4.73e-5", "", MALFORMED, "no 'radius'"),
        "no value": ("value: [1.5599, 1.8834], ", "", MALFORMED, "no 'value'"),
        "a negative radius": ("4.73e-5", "-4.73e-5", MALFORMED, "a number >= 0"),
        "a radius that is no number": ("4.73e-5", "4.73e-5x", MALFORMED, "an exact number"),
        "a radius that is infinite": ("4.73e-5", "inf", MALFORMED, "an exact number"),
        "a radius that is not a number": ("4.73e-5", "nan", MALFORMED, "an exact number"),
        "a radius too few": ("[2.72e-5, 3.40e-5]", "[2.72e-5]", MALFORMED, "2 numbers, one per query"),
        "a radius too many": ("[2.72e-5, 3.40e-5]", "[2.72e-5, 3.40e-5, 1]", MALFORMED, "2 numbers, one per query"),
        "no radii": ("[2.72e-5, 3.40e-5]", "[]", MALFORMED, "a list of at least one item"),
        "an upper bound too few": ("[2.24587, 1.89370]", "[2.24587]", MALFORMED, "2 numbers, one per query"),
        "a table of upper bounds": ("[2.24587, 1.89370]", "[[2.24587, 1.89370]]", MALFORMED, "an exact number"),
        "a bound that is a root": ("at_least: 0.177532", "at_least: sqrt(1)", MALFORMED, "an exact number"),
        "a mean too few": (", [2.2764, 0.2306]]", "]", MALFORMED, "2 x 2 (queries x outputs)"),
        "means of another dimension": (
            "[[0.8689, 0.5], [2.2764, 0.2306]]", "[[0.8689], [2.2764]]", MALFORMED, "2 x 2 (queries x outputs)"),
        "a mean of another dimension": ("[2.2764, 0.2306]", "[2.2764]", MALFORMED, "like the first row"),
        "no means": ("[[0.8689, 0.5], [2.2764, 0.2306]]", "[]", MALFORMED, "a list of at least one item"),
        "a covariance too few": (f"{FIRST}, {SECOND}", FIRST, MALFORMED, "2 matrices, one per query"),
        "a covariance too many": (f"{FIRST}, {SECOND}", f"{FIRST}, {SECOND}, {FIRST}", MALFORMED, "one per query"),
        "one covariance for two queries": (f"[{FIRST}, {SECOND}]", FIRST, MALFORMED, "4 x 2 (2 matrices of 2 x 2"),
        "a covariance of another shape": (SECOND, "[[1.5733, 0.6687]]", MALFORMED, "2 x 2 like each of these matrices"),
        "an empty covariance": (SECOND, "[]", MALFORMED, "a list of at least one item"),
        "no covariances": (f"[{FIRST}, {SECOND}]", "[]", MALFORMED, "a list of at least one item"),
        "a number among the covariances": (f"{FIRST}, {SECOND}", f"{FIRST}, 1", MALFORMED, "a matrix: a list of rows"),
        "a covariance among the rows": (
            f"[{FIRST}, {SECOND}]", f"[[0.9993, 0.6393], [0.6393, 1.918], {SECOND}]", MALFORMED, "an exact number"),
        "a number for the covariances": (f"[{FIRST}, {SECOND}]", "1", MALFORMED, "a matrix: a list of rows"),
        "a logarithm too few": ("[1.5599, 1.8834]", "[1.5599]", MALFORMED, "2 numbers, the dimension of"),
        "one logarithm for all": ("[1.5599, 1.8834]", "1.5599", MALFORMED, "a vector"),
        "a limit, which this claim has not": (
            "  scale:", "  limit: {kind: empirical}\n  scale:", MALFORMED, "the unknown key 'limit'"),
        "a deviation, which this claim has not": (
            "  mean:", "  deviation: {norm: l2, at_most: 1}\n  mean:", MALFORMED, "the unknown key 'deviation'"),
        "an unknown key of the mean": ("mean: {", "mean: {of: values, ", MALFORMED, "the unknown key 'of'"),
        "a mean twice": ("  mean:", MEAN + "  mean:", MALFORMED, "a second time"),
        "an unknown key in the witness": ("asserts:", "witness: {queries: [[1, 1]]}\nasserts:", MALFORMED, "'queries'"),
        "a single bit": ("asserts:", "witness: {bits: 1}\nasserts:", MALFORMED, "an integer >= 2"),
        "a value too few": ("[0, -1], [3, 0.5]]", "[0, -1]]", MALFORMED, "(one value per key)"),
        "queries of another dimension": (QUERIES, "[[1], [-2]]", MALFORMED, "of the keys' dimension"),
        "an empty list of queries": (QUERIES, "[]", MALFORMED, "a list of at least one item"),
        "an empty prompt": (f"keys: {KEYS}", "keys: []", MALFORMED, "a list of at least one item"),
        "no queries": (f"  queries: {QUERIES}\n", "", MALFORMED, "no 'queries'"),
        "a scale of zero": ("1/sqrt(2)", "0", MALFORMED, "a factor other than 0"),
        "another claim": (NAME, "output-deviation", MALFORMED, "no 'limit'"),
    },
)  # fmt: skip

TOKENS = family(
    "tokens with K, Q and V, and the covariance of the keys",
    """
given:
  tokens: [[1, 0], [0, 1], [1, 2]]
  K: [[1, 0], [1, 1]]
  Q: [[1], [-1/2]]
  V: [[2, 0], [0, 1], [1, -1]]
  queries: [[1], [-1/3]]
asserts:
  mean: {value: [[1.5761, 0.6358, 0.1522], [1.2638, 1.1043, -0.4725]], radius: 4.96e-5}
  covariance:
    {of: keys, value: [[[0.167, 0.0898], [0.0898, 0.6681]], [[0.2326, 0.271], [0.271, 0.9304]]], radius: 3.85e-5}
  eigenvalues: {of: keys, at_least: [0.151401, 0.139713], at_most: 1.02332}
  log_normaliser: {value: [1.0514, 1.166], radius: [4.48e-5, 2.25e-5]}
""",
    {
        "the same scores from another Q and a scale": ("Q: [[1], [-1/2]]\n", "Q: [[4], [-2]]\n  scale: 1/4\n"),
        "a scale of one, said": ("  queries:", "  scale: 1\n  queries:"),
    },
    {
        "radius of the mean one unit lower": ("4.96e-5", "4.95e-5", REFUTED, "|T(q) - value|_linf at query 1"),
        "radius of the covariance one unit lower": ("3.85e-5", "3.84e-5", REFUTED, "|Cov - value| at query 0"),
        "at_most one unit lower": ("1.02332", "1.02331", REFUTED, "the largest eigenvalue at query 1"),
        "first at_least one unit higher": ("0.151401", "0.151402", REFUTED, "the smallest eigenvalue at query 0"),
        "last at_least one unit higher": ("0.139713", "0.139714", REFUTED, "the smallest eigenvalue at query 1"),
        "last radius of the logarithm one unit lower": ("2.25e-5", "2.24e-5", REFUTED, "|log Z(q) - value| at query 1"),
        "the eigenvalues of the values, one of which is 0": (
            "eigenvalues: {of: keys", "eigenvalues: {of: values", REFUTED, "the smallest eigenvalue at query 0"),
        "the covariance of the tokens": ("  K: [[1, 0], [1, 1]]\n", "  K: [[1, 0], [0, 1]]\n", REFUTED, "is false"),
        "K transposed": ("K: [[1, 0], [1, 1]]", "K: [[1, 1], [0, 1]]", REFUTED, "is false"),
        "entry of Q changed": ("Q: [[1], [-1/2]]", "Q: [[1], [1/2]]", REFUTED, "is false"),
        "entry of V changed": ("V: [[2, 0], [0, 1]", "V: [[2, 0], [0, 1.001]", REFUTED, "|T(q)"),
        "token changed": ("[1, 2]]\n  K", "[1, 2.001]]\n  K", REFUTED, "is false"),
        "the covariance of the values, of another shape": (
            "{of: keys, value", "{of: values, value", MALFORMED, "3 x 3 like each of these matrices"),
        "V left out, and the means of another shape": (
            "  V: [[2, 0], [0, 1], [1, -1]]\n", "", MALFORMED, "2 x 2 (queries x outputs)"),
        "values beside tokens": ("  K:", "  values: [[1]]\n  K:", MALFORMED, "the unknown key 'values'"),
        "U beside K and Q": ("  K:", "  U: [[1/2], [-1/2]]\n  K:", MALFORMED, "the unknown key 'K'"),
    },
)  # fmt: skip

BILINEAR = family(
    "tokens with U and V, and the covariance of values and keys",
    """
given:
  tokens: [[1, 0], [0, 1], [1, 2], [-1, 1]]
  U: [[1, 0], [1/2, 1]]
  V: [[1, 1]]
  queries: [[1, 1/2]]
  scale: 1/3
asserts:
  mean: {value: [[1.6816]], radius: 4.86e-5}
  covariance: {of: values-keys, value: [[0.6628, 0.6967]], radius: 3.33e-5}
  eigenvalues: {at_least: 1.35945, at_most: 1.35946}
""",
    {
        "a list of one matrix": ("value: [[0.6628, 0.6967]]", "value: [[[0.6628, 0.6967]]]"),
        "a list of one radius": ("radius: 4.86e-5", "radius: [4.86e-5]"),
        "the covariance of the keys, which are the tokens": (
            "{of: values-keys, value: [[0.6628, 0.6967]], radius: 3.33e-5}",
            "{of: keys, value: [[0.55677, 0.10599], [0.10599, 0.5907]], radius: 4.70e-6}"),
        "the eigenvalues of the keys": (
            "{at_least: 1.35945, at_most: 1.35946}", "{of: keys, at_least: 0.466394, at_most: 0.681076}"),
        "the eigenvalue in a list": ("at_most: 1.35946", "at_most: [1.35946]"),
    },
    {
        "radius of the mean one unit lower": ("4.86e-5", "4.85e-5", REFUTED, "|T(q) - value|_linf at query 0"),
        "radius of the covariance one unit lower": ("3.33e-5", "3.32e-5", REFUTED, "|Cov - value| at query 0"),
        "at_least one unit higher": ("1.35945", "1.35946", REFUTED, "the smallest"),
        "at_most one unit lower": ("1.35946", "1.35945", REFUTED, "the largest"),
        "U transposed": ("U: [[1, 0], [1/2, 1]]", "U: [[1, 1/2], [0, 1]]", REFUTED, "is false"),
        "scale changed": ("scale: 1/3", "scale: 0.333", REFUTED, "is false"),
        "rows and columns exchanged": (
            "value: [[0.6628, 0.6967]]", "value: [[0.6628], [0.6967]]", MALFORMED, "1 x 2 (one query)"),
        "U of another height": ("U: [[1, 0], [1/2, 1]]", "U: [[1, 0]]", MALFORMED, "2 x 2 for tokens"),
    },
)  # fmt: skip

# -- where nothing is rounded: equality is proved

ONE_TOKEN = family(
    "one token",
    """
given:
  keys: [[3, -1]]
  values: [[7/3, 2]]
  queries: [[1/2, 8]]
asserts:
  mean: {value: [[7/3, 2]], radius: 0}
  covariance: {value: [[0, 0], [0, 0]], radius: 0}
  eigenvalues: {at_least: 0, at_most: 0}
  log_normaliser: {value: [-6.5], radius: [0]}
""",
    {
        "the keys' eigenvalues": ("eigenvalues: {", "eigenvalues: {of: keys, "),
        "numbers written otherwise": ("[-6.5]", "[-13/2]"),
    },
    {
        "a mean off by 10^-30": (
            "[7/3, 2]], radius", "[7/3, 2.000000000000000000000000000001]], radius", REFUTED, "|T"),
        "a covariance off by 10^-30": ("[[0, 0], [0, 0]]", "[[0, 0], [0, 1e-30]]", REFUTED, "|Cov"),
        "a smallest eigenvalue of 10^-300": ("at_least: 0", "at_least: 1e-300", REFUTED, "the smallest"),
        "a largest eigenvalue below 0": ("at_most: 0", "at_most: -1e-300", REFUTED, "the largest"),
        "a logarithm off by 10^-30": ("-6.5]", "-6.500000000000000000000000000001]", REFUTED, "|log Z"),
        "another key": ("[[3, -1]]", "[[3, -1.00000000000000000001]]", REFUTED, "|log Z"),
    },
)  # fmt: skip

FLAT = family(
    "a zero query, for which every token weighs the same",
    """
given:
  keys: [[1, 0], [0, 1], [-1, 0], [0, -1]]
  values: [[1, 0], [0, 1], [-1, 0], [0, -1]]
  queries: [[0, 0]]
  scale: 1/sqrt(3)
asserts:
  mean: {value: [[0, 0]], radius: 0}
  covariance: {value: [[1/2, 0], [0, 1/2]], radius: 0}
  eigenvalues: {at_least: 0.4999999999999999999999999, at_most: 0.5000000000000000000000001}
  log_normaliser: {value: [1.3862943611198906188344642], radius: 4.30e-26}
""",
    {
        "the covariance of values and keys": ("covariance: {", "covariance: {of: values-keys, "),
        "one coordinate that is constant": (
            "values: [[1, 0], [0, 1], [-1, 0], [0, -1]]\n  queries: [[0, 0]]\n  scale: 1/sqrt(3)\nasserts:\n"
            "  mean: {value: [[0, 0]], radius: 0}\n"
            "  covariance: {value: [[1/2, 0], [0, 1/2]], radius: 0}\n"
            "  eigenvalues: {at_least: 0.4999999999999999999999999, at_most: 0.5000000000000000000000001}",
            "values: [[1, 1/3], [0, 1/3], [-1, 1/3], [0, 1/3]]\n  queries: [[0, 0]]\nasserts:\n"
            "  mean: {value: [[0, 1/3]], radius: 0}\n"
            "  covariance: {value: [[1/2, 0], [0, 0]], radius: 0}\n"
            "  eigenvalues: {at_least: 0, at_most: 1/2}"),
    },
    {
        "a largest eigenvalue met exactly, which no ball shows": (
            "0.5000000000000000000000001", "0.5", INCONCLUSIVE, "1 obligation still undecided"),
        "a smallest eigenvalue met exactly": ("0.4999999999999999999999999", "1/2", INCONCLUSIVE, "1 obligation"),
        "a largest eigenvalue below by 10^-25": (
            "0.5000000000000000000000001", "0.4999999999999999999999999", REFUTED, "the largest"),
        "a smallest eigenvalue above by 10^-25": (
            "0.4999999999999999999999999", "0.5000000000000000000000001", REFUTED, "the smallest"),
        "a query of 10^-20": ("[[0, 0]]\n  scale", "[[0, 1e-20]]\n  scale", REFUTED, "|T(q)"),
        "a radius of the logarithm one unit lower": ("4.30e-26", "4.29e-26", REFUTED, "|log Z"),
    },
)  # fmt: skip

SINGULAR = family(
    "two tokens in three dimensions, whose covariance is singular",
    """
given:
  keys: [[0], [1]]
  values: [[1, 0, 2], [0, 1, -1]]
  queries: [[1]]
asserts:
  eigenvalues: {at_least: 0, at_most: 2.16274}
""",
    {
        "a negative lower bound": ("at_least: 0", "at_least: -1e-300"),
        "the key's own": ("{at_least: 0, at_most: 2.16274}", "{of: keys, at_least: 0.196611, at_most: 0.196612}"),
        "thirty digits": ("2.16274", "2.162731265656300377911672069445"),
    },
    {
        "at_least a little": ("at_least: 0", "at_least: 1e-300", REFUTED, "the smallest"),
        "at_most one unit lower": ("2.16274", "2.16273", REFUTED, "the largest"),
        "the last of thirty digits lower": ("2.16274", "2.162731265656300377911672069444", REFUTED, "the largest"),
        "the second eigenvalue": ("2.16274", "0", REFUTED, "the largest"),
    },
)

PEAKED = family(
    "softmax weights of scores of a million",
    """
given:
  keys: [[1000000], [-1000000], [999999]]
  values: [[1], [2], [4]]
  queries: [[1], [-1]]
asserts:
  mean: {value: [[1.80682426411], [2]], radius: 1e-11}
  covariance: {value: [[[1.76950739917]], [[0]]], radius: 1e-11}
  eigenvalues: {at_least: [1.76950, 0], at_most: [1.76951, 1e-300]}
  log_normaliser: {value: [1000000.3132616875, 1000000], radius: 1e-10}
""",
    {},
    {
        "weights of the other token": ("[[1.80682426411], [2]]", "[[1.80682426411], [1]]", REFUTED, "|T(q)"),
        "a smallest eigenvalue of 10^-300": ("[1.76950, 0]", "[1.76950, 1e-300]", REFUTED, "the smallest"),
        "the score alone": ("[1000000.3132616875, ", "[1000000, ", REFUTED, "|log Z"),
        "a mean that no precision tells from 2": (
            "[[1.80682426411], [2]], radius: 1e-11", "[[1.80682426411], [2]], radius: [1e-11, 0]", INCONCLUSIVE,
            "1 obligation still undecided"),
    },
)  # fmt: skip

REPEATED = family(
    "an eigenvalue that is there three times",
    """
given:
  tokens: [[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]]
  queries: [[0, 0, 0]]
asserts:
  eigenvalues: {at_least: 0.33333333333333333333, at_most: 0.33333333333333333334}
""",
    {"less sharply": ("0.33333333333333333334", "0.34")},
    {
        "at_most one unit lower": ("0.33333333333333333334", "0.33333333333333333333", REFUTED, "the largest"),
        "at_least one unit higher": ("0.33333333333333333333", "0.33333333333333333334", REFUTED, "the smallest"),
    },
)

# -- array files

ARRAYS = family(
    "means and covariances in array files",
    f"""
given:
  keys: {array("prompt.npz", "float32", "[3, 2]", array="keys")}
  values: {array("prompt.npz", "float32", "[3, 2]", array="values")}
  queries: {array("prompt.npz", "float64", "[4, 2]", array="queries", rows="1:3")}
  scale: 1/sqrt(2)
asserts:
  mean: {{value: {array("means.npy", "float64", "[2, 2]")}, radius: {array("radii.npy", "float64", "[2]")}}}
  covariance: {{value: {array("covariances.npy", "float64", "[4, 2]")}, radius: 3.40e-5}}
  eigenvalues: {{at_least: {array("lower.npy", "float64", "[2]")}, at_most: 2.24587}}
  log_normaliser: {{value: {array("logs.npy", "float64", "[2]")}, radius: 1.54e-5}}
""",
    {
        "covariances in a list of references": (
            f"value: {array('covariances.npy', 'float64', '[4, 2]')}",
            f"value: [{array('covariances.npy', 'float64', '[4, 2]', rows='0:2')}, "
            f"{array('covariances.npy', 'float64', '[4, 2]', rows='2:4')}]"),
        "a reference beside a matrix": (
            f"value: {array('covariances.npy', 'float64', '[4, 2]')}",
            f"value: [{FIRST}, {array('covariances.npy', 'float64', '[4, 2]', rows='2:4')}]"),
    },
    {
        "another row of the queries": ("rows: 1:3", "rows: 0:2", REFUTED, "is false"),
        "one query": ("rows: 1:3", "rows: 1:2", MALFORMED, "1 x 2 (queries x outputs)"),
        "covariances turned round": (
            f"value: {array('covariances.npy', 'float64', '[4, 2]')}",
            f"value: [{array('covariances.npy', 'float64', '[4, 2]', rows='2:4')}, "
            f"{array('covariances.npy', 'float64', '[4, 2]', rows='0:2')}]",
            REFUTED, "|Cov - value| at query 0"),
        "three rows of covariances": (
            f"value: {array('covariances.npy', 'float64', '[4, 2]')}",
            f"value: {array('covariances.npy', 'float64', '[4, 2]', rows='0:3')}", MALFORMED,
            "4 x 2 (2 matrices of 2 x 2"),
        "a mean that is no number": (
            array("means.npy", "float64", "[2, 2]"), array("nan.npy", "float32", "[3, 2]", rows="0:2"), MALFORMED,
            "a NaN"),
        "radii as a table": (
            array("radii.npy", "float64", "[2]"), array("means.npy", "float64", "[2, 2]", rows="0:1"), MALFORMED,
            "one extent (a vector)"),
    },
)  # fmt: skip

FAMILIES: list[Family] = [WHOLE, TOKENS, BILINEAR, ONE_TOKEN, FLAT, SINGULAR, PEAKED, REPEATED, ARRAYS]
CASES: list[Case] = [case for each in FAMILIES for case in each.cases()]
