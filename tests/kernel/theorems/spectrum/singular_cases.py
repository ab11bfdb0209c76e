"""Accept and reject cases of `singular-values`, in titled families."""

from __future__ import annotations

from functools import partial

import causal_spectrum_cases
from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Family

NAME = "singular-values"
family = partial(Family, NAME)

# sigma = 3 sqrt(5), sqrt(5): shares 3/4 and 1/4, of the squares 9/10 and 1/10; |M|_F^2 = 50.
GIVEN = family(
    "a given matrix",
    """
given: {matrix: [[3, 0], [4, 5]]}
asserts:
  values: {value: [6.7082039, 2.236068], radius: [1e-7, 1e-6]}
  counts: [{above: 5, count: 1, at_least: 6, at_most: 5/2}]
  norm: {at_least: 6.7, at_most: 6.71}
  energy: {at_least: 49, at_most: 51}
  stable_rank: {at_least: 1.1, at_most: 1.2}
  entropy: {values: {at_least: 0.5, at_most: 0.6}, squares: {at_least: 0.3, at_most: 0.4}}
  effective_rank: {values: {at_least: 1.7, at_most: 1.8}, squares: {at_least: 1.3, at_most: 1.4}}
""",
    {
        "one radius": ("radius: [1e-7, 1e-6]", "radius: 1e-6"),
        "the largest alone": ("value: [6.7082039, 2.236068], radius: [1e-7, 1e-6]", "value: [6.7082039], radius: 1e-7"),
        "more places": ("[6.7082039, 2.236068]", "[6.70820393249936908922, 2.23606797749978969641]"),
        "transposed": ("[[3, 0], [4, 5]]", "[[3, 4], [0, 5]]"),
        "with a row of zeros": ("[[3, 0], [4, 5]]", "[[3, 0], [0, 0], [4, 5]]"),
        "wide": ("[[3, 0], [4, 5]]", "[[3, 0, 0], [4, 0, 5]]"),
        "the energy itself": ("energy: {at_least: 49, at_most: 51}", "energy: {at_least: 50, at_most: 50}"),
        "no values": ("  values: {value: [6.7082039, 2.236068], radius: [1e-7, 1e-6]}\n", ""),
        "none above": ("{above: 5, count: 1, at_least: 6, at_most: 5/2}", "{above: 7, count: 0, at_most: 6.71}"),
        "all above": ("{above: 5, count: 1, at_least: 6, at_most: 5/2}", "{above: 2, count: 2, at_least: 2.2}"),
        "an empty witness": ("asserts:", "witness: {}\nasserts:"),
    },
    {
        "values exchanged": ("[6.7082039, 2.236068]", "[2.236068, 6.7082039]", REFUTED, "|sigma_1 - value|"),
        "first value off by 10^-6": ("6.7082039,", "6.7082049,", REFUTED, "|sigma_1 - value|"),
        "second value off by 10^-5": ("2.236068]", "2.236078]", REFUTED, "|sigma_2 - value|"),
        "a value of the other sign": ("6.7082039,", "-6.7082039,", REFUTED, "|sigma_1 - value|"),
        "squares for values": ("[6.7082039, 2.236068]", "[45, 5]", REFUTED, "|sigma_1 - value|"),
        "eigenvalues for values": ("[6.7082039, 2.236068]", "[5, 3]", REFUTED, "|sigma_1 - value|"),
        "radius too small by 10^-20": ("radius: [1e-7,", "radius: [3.24e-8,", REFUTED, "|sigma_1 - value|"),
        "radius 0": ("radius: [1e-7, 1e-6]", "radius: 0", REFUTED, "|sigma_1 - value|"),
        "an entry changed": ("[[3, 0]", "[[3, 1e-4]", REFUTED, "sigma"),
        "rows exchanged in part": ("[[3, 0], [4, 5]]", "[[3, 5], [4, 0]]", REFUTED, "sigma"),
        "two above": ("count: 1, at_least: 6, at_most: 5/2", "count: 2", REFUTED, "sigma_2 > threshold"),
        "none above a smaller threshold": ("count: 1, at_least: 6, at_most: 5/2", "count: 0", REFUTED, "sigma_1 <="),
        "those above too large": ("at_least: 6, ", "at_least: 6.8, ", REFUTED, "sigma_1 >= bound"),
        "the others too small": ("at_most: 5/2}", "at_most: 2}", REFUTED, "sigma_2 <= bound"),
        "norm too small": ("at_most: 6.71}", "at_most: 6.70820393}", REFUTED, "sigma_1 <= bound"),
        "norm too large": ("norm: {at_least: 6.7,", "norm: {at_least: 6.70820394,", REFUTED, "sigma_1 >= bound"),
        "energy off by 10^-20": ("at_most: 51}", "at_most: 49.99999999999999999999}", REFUTED, "|M|_F^2"),
        "stable rank too small": ("at_most: 1.2}", "at_most: 1.11}", REFUTED, "|M|_F^2 / sigma_1^2"),
        "entropy in bits": (
            "entropy: {values: {at_least: 0.5, at_most: 0.6}", "entropy: {values: {at_least: 0.8, at_most: 0.82}",
            REFUTED, "entropy of sigma_k / sum sigma"),
        "entropies exchanged": (
            "values: {at_least: 0.5, at_most: 0.6}, squares: {at_least: 0.3, at_most: 0.4}",
            "squares: {at_least: 0.5, at_most: 0.6}, values: {at_least: 0.3, at_most: 0.4}", REFUTED, "entropy"),
        "effective rank too large": ("at_least: 1.7,", "at_least: 1.76,", REFUTED, "e^entropy"),
        "effective rank of squares too small": ("at_most: 1.4}", "at_most: 1.38}", REFUTED, "e^entropy"),
        "three values of two": ("[6.7082039, 2.236068]", "[6.7, 2.2, 0]", MALFORMED, "at most 2 singular values"),
        "one radius too few": ("radius: [1e-7, 1e-6]", "radius: [1e-7]", MALFORMED, "2 numbers"),
        "negative radius": ("radius: [1e-7, 1e-6]", "radius: -1", MALFORMED, ">= 0"),
        "one negative radius": ("radius: [1e-7, 1e-6]", "radius: [1e-7, -1]", MALFORMED, "a negative one at index 1"),
        "negative threshold": ("above: 5", "above: -1/2", MALFORMED, ">= 0"),
        "count of three": ("count: 1,", "count: 3,", MALFORMED, "at most 2"),
        "count that is none": ("count: 1,", "count: 1.0,", MALFORMED, "an integer"),
        "a lower bound below the threshold": ("at_least: 6, ", "at_least: 4, ", MALFORMED, "not below the threshold"),
        "an upper bound above it": ("at_most: 5/2}", "at_most: 6}", MALFORMED, "not above the threshold"),
        "a lower bound of nothing": ("{above: 5, count: 1,", "{above: 5, count: 0,", MALFORMED, "no lower bound"),
        "no bound of the norm": ("{at_least: 6.7, at_most: 6.71}", "{}", MALFORMED, "at_least or at_most"),
        "no shares": (
            "{values: {at_least: 0.5, at_most: 0.6}, squares: {at_least: 0.3, at_most: 0.4}}", "{}", MALFORMED,
            "values or squares"),
        "no counts": ("[{above: 5, count: 1, at_least: 6, at_most: 5/2}]", "[]", MALFORMED, "at least one item"),
        "rows of different lengths": ("[[3, 0], [4, 5]]", "[[3, 0], [4]]", MALFORMED, "matrix"),
        "no matrix": ("matrix: [[3, 0], [4, 5]]", "", MALFORMED, "matrix"),
        "centred": ("5]]}", "5]], centred: true}", MALFORMED, "centred"),
        "a hint for numbers written out": (
            "asserts:", "witness: {hint: {U: [[1, 0], [0, 1]], s: [2, 1], V: [[1, 0], [0, 1]]}}\nasserts:", MALFORMED,
            "leave the hint out"),
    },
)  # fmt: skip

ATTENTION = family(
    "three tokens",
    """
given:
  queries: [[1, 0], [0, 1], [1, -1]]
  keys: [[1, 2], [1/2, 0], [-1, 1]]
  scale: 1/sqrt(2)
  centred: true
asserts:
  values: {value: [0.8068813929, 0.6111279849], radius: 1e-9}
  counts: [{above: 1/5, count: 2}]
  norm: {at_most: 0.807}
  effective_rank: {values: {at_least: 1.98}}
""",
    {
        "keys moved by one vector": ("[[1, 2], [1/2, 0], [-1, 1]]", "[[2, 5], [3/2, 3], [0, 4]]"),
        "the last value, which is 0": (
            "value: [0.8068813929, 0.6111279849], radius: 1e-9",
            "value: [0.8068813929, 0.6111279849, 0], radius: [1e-9, 1e-9, 0]"),
        "counted above 0": ("{above: 1/5, count: 2}", "{above: 0, count: 2, at_most: 0}"),
        "scale in the keys": (
            "keys: [[1, 2], [1/2, 0], [-1, 1]]\n  scale: 1/sqrt(2)",
            "keys: [[1/2, 1], [1/4, 0], [-1/2, 1/2]]\n  scale: sqrt(2)"),
    },
    {
        "not centred": ("centred: true", "centred: false", REFUTED, "sigma"),
        "without the scale": ("  scale: 1/sqrt(2)\n", "", REFUTED, "sigma"),
        "another scale": ("scale: 1/sqrt(2)", "scale: 1/sqrt(2.0000001)", REFUTED, "sigma"),
        "scale of the other sign": ("scale: 1/sqrt(2)", "scale: -0.70710678118654752", REFUTED, "sigma"),
        "queries for keys": (
            "queries: [[1, 0], [0, 1], [1, -1]]\n  keys: [[1, 2], [1/2, 0], [-1, 1]]",
            "keys: [[1, 0], [0, 1], [1, -1]]\n  queries: [[1, 2], [1/2, 0], [-1, 1]]", REFUTED, "sigma"),
        "first value off by 10^-8": ("[0.8068813929,", "[0.8068814029,", REFUTED, "|sigma_1 - value|"),
        "a rank that is not there": ("{above: 1/5, count: 2}", "{above: 0, count: 3}", REFUTED, "sigma_3 > threshold"),
        "norm too small": ("at_most: 0.807}", "at_most: 0.8068}", REFUTED, "sigma_1"),
        "rank above what is possible": ("at_least: 1.98}", "at_least: 2.01}", REFUTED, "e^entropy"),
        "without centred": ("  centred: true\n", "", MALFORMED, "centred"),
        "centred: yes": ("centred: true", "centred: yes", MALFORMED, "'true' or 'false'"),
        "one key too few": ("[[1, 2], [1/2, 0], [-1, 1]]", "[[1, 2], [1/2, 0]]", MALFORMED, "like the keys"),
        "keys of another dimension": ("[[1, 2], [1/2, 0], [-1, 1]]", "[[1], [1/2], [-1]]", MALFORMED, "like the keys"),
        "scale 0": ("scale: 1/sqrt(2)", "scale: 0", MALFORMED, "other than 0"),
        "a matrix beside": ("  centred: true", "  centred: true\n  matrix: [[1]]", MALFORMED, "matrix"),
    },
)  # fmt: skip

# A = 11'/2, exactly.
UNIFORM = family(
    "equal keys",
    """
given: {queries: [[1], [2]], keys: [[3], [3]], centred: true}
asserts: {values: {value: [0, 0], radius: 1e-30}, norm: {at_most: 1e-30}, energy: {at_most: 1e-60}}
""",
    {"counted": ("energy: {at_most: 1e-60}", "counts: [{above: 1e-30, count: 0}]")},
    {
        "a stable rank of nothing": ("norm: {at_most: 1e-30}", "stable_rank: {at_least: 1}", REJECTED, "M is 0"),
        "an entropy of nothing": ("norm: {at_most: 1e-30}", "entropy: {values: {at_most: 1}}", REJECTED, "M is 0"),
        "a positive norm": ("norm: {at_most: 1e-30}", "norm: {at_least: 1e-30}", REFUTED, "sigma_1 >= bound"),
        "keys that differ": ("[[3], [3]]", "[[3], [3.001]]", REFUTED, "sigma_1"),
    },
)

ZERO = family(
    "the matrix 0",
    """
given: {matrix: [[0, 0, 0], [0, 0, 0]]}
asserts: {values: {value: [0, 0], radius: 0}, counts: [{above: 0, count: 0, at_most: 0}], energy: {at_most: 0}}
""",
    {"a norm": ("energy: {at_most: 0}", "norm: {at_most: 0, at_least: 0}")},
    {
        "an effective rank": ("energy: {at_most: 0}", "effective_rank: {squares: {at_least: 1}}", REJECTED, "M is 0"),
        "one entry": ("[[0, 0, 0]", "[[0, 1e-300, 0]", REFUTED, "sigma_1"),
    },
)

# Rank 2, with sigma_1 = sigma_2 = 2.
EQUAL = family(
    "two equal values and a 0",
    """
given: {matrix: [[2, 0, 0], [0, 0, 2], [0, 0, 0]]}
asserts:
  values: {value: [2, 2, 0], radius: [1e-40, 1e-40, 0]}
  counts: [{above: 1, count: 2}, {above: 0, count: 2, at_most: 0}]
  entropy: {values: {at_most: 0.69314718055994530942}, squares: {at_least: 0.69314718055994530941}}
  effective_rank: {values: {at_least: 1}, squares: {at_most: 2.1}}
""",
    {"with one more row": ("[[2, 0, 0], [0, 0, 2], [0, 0, 0]]", "[[2, 0, 0], [0, 0, 2], [0, 0, 0], [0, 0, 0]]")},
    {
        "three above 0": ("{above: 0, count: 2, at_most: 0}", "{above: 0, count: 3}", REFUTED, "sigma_3 > threshold"),
        "at a threshold": ("{above: 1, count: 2}", "{above: 2, count: 0}", INCONCLUSIVE, "undecided"),
        "radius 0 of a positive value": ("radius: [1e-40, 1e-40, 0]", "radius: 0", INCONCLUSIVE, "undecided"),
        "too many digits": (
            "at_least: 0.69314718055994530941}", "at_least: 0.69314718055994530942}", REFUTED, "entropy"),
    },
)  # fmt: skip

ONE = family(
    "one token",
    """
given: {queries: [[5]], keys: [[7]], scale: 1e10, centred: false}
asserts: {values: {value: [1], radius: 1e-40}, effective_rank: {values: {at_least: 1, at_most: 1.1}}}
""",
    {
        "centred": (
            "centred: false}\nasserts: {values: {value: [1], radius: 1e-40}, "
            "effective_rank: {values: {at_least: 1, at_most: 1.1}}}",
            "centred: true}\nasserts: {values: {value: [0], radius: 0}}"),
    },
    {"a value that is not 1": ("value: [1]", "value: [1.1]", REFUTED, "sigma_1")},
)  # fmt: skip

# Scores up to 10^13: the weights of all but one token are below 2^-10^12.
STEEP = family(
    "a huge scale",
    """
given: {queries: [[1], [-1]], keys: [[10], [-10]], scale: 1e12, centred: true}
asserts: {values: {value: [1.41421356237, 0], radius: [1e-11, 0]}}
""",
    {},
    {"a value that is not sqrt(2)": ("1.41421356237,", "1.4142135,", REFUTED, "sigma_1")},
)

FAMILIES = [GIVEN, ATTENTION, UNIFORM, ZERO, EQUAL, ONE, STEEP, *causal_spectrum_cases.FAMILIES]
CASES = [case for one in FAMILIES for case in one.cases()]
