"""Accept and reject cases of `singular-values` under a causal mask, in titled families."""

from __future__ import annotations

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Family

NAME = "singular-values"

# Of the same tokens without the mask they are 0.8068813929 and 0.6111279849.
CENTRED = Family(
    NAME,
    "three tokens under a causal mask",
    """
given:
  queries: [[1, 0], [0, 1], [1, -1]]
  keys: [[1, 2], [1/2, 0], [-1, 1]]
  scale: 1/sqrt(2)
  centred: true
  causal: true
asserts:
  values: {value: [0.9600568627793, 0.3637989596711], radius: 1e-12}
  counts: [{above: 1/5, count: 2}]
  energy: {at_least: 1.05405886282, at_most: 1.05405886283}
  effective_rank: {values: {at_least: 1.80034, at_most: 1.80035}}
""",
    {
        "the last value, which is 0": (
            "value: [0.9600568627793, 0.3637989596711], radius: 1e-12",
            "value: [0.9600568627793, 0.3637989596711, 0], radius: [1e-12, 1e-12, 0]"),
        "counted above 0": ("{above: 1/5, count: 2}", "{above: 0, count: 2, at_most: 0}"),
        "keys moved by one vector": ("[[1, 2], [1/2, 0], [-1, 1]]", "[[2, 5], [3/2, 3], [0, 4]]"),
        "another first query, which sees one token": ("[[1, 0], [0, 1]", "[[100, -70], [0, 1]"),
        "another second query of the same scores there": ("[0, 1], [1, -1]]", "[4, 0], [1, -1]]"),
        # Whoever sees one of them sees both, but for the first query, of which nothing is left.
        "the first two keys exchanged": ("[[1, 2], [1/2, 0], [-1, 1]]", "[[1/2, 0], [1, 2], [-1, 1]]"),
        "quoted": ("causal: true", "causal: 'true'"),
        "scale in the keys": (
            "keys: [[1, 2], [1/2, 0], [-1, 1]]\n  scale: 1/sqrt(2)",
            "keys: [[1/2, 1], [1/4, 0], [-1/2, 1/2]]\n  scale: sqrt(2)"),
    },
    {
        "no mask": ("  causal: true\n", "", REFUTED, "sigma_1 - value"),
        "a mask that is denied": ("causal: true", "causal: false", REFUTED, "sigma_1 - value"),
        "not centred": ("centred: true", "centred: false", REFUTED, "sigma_1 - value"),
        "the values without a mask": (
            "[0.9600568627793, 0.3637989596711]", "[0.8068813929, 0.6111279849]", REFUTED, "sigma_1 - value"),
        "the last two keys exchanged": ("[[1, 2], [1/2, 0], [-1, 1]]", "[[1, 2], [-1, 1], [1/2, 0]]", REFUTED, "sigma"),
        "another last key": ("[-1, 1]]", "[-1, 1.00001]]", REFUTED, "sigma"),
        "another last query": ("[1, -1]]", "[1, -1.00001]]", REFUTED, "sigma"),
        "first value off by 10^-11": ("[0.9600568627793,", "[0.9600568627893,", REFUTED, "|sigma_1 - value|"),
        "second value off by 10^-11": ("0.3637989596711]", "0.3637989596611]", REFUTED, "|sigma_2 - value|"),
        "a rank that is not there": ("{above: 1/5, count: 2}", "{above: 0, count: 3}", REFUTED, "sigma_3 > threshold"),
        "energy too small": ("at_most: 1.05405886283}", "at_most: 1.05405886282}", REFUTED, "|M|_F^2 <= bound"),
        "energy too large": ("at_least: 1.05405886282,", "at_least: 1.05405886283,", REFUTED, "|M|_F^2 >= bound"),
        "energy of the matrix over its root": ("at_least: 1.05405886282, ", "at_least: 1.8256, ", REFUTED, "|M|_F^2"),
        "effective rank too small": ("at_most: 1.80035}", "at_most: 1.80034}", REFUTED, "e^entropy"),
        "effective rank too large": ("at_least: 1.80034,", "at_least: 1.80035,", REFUTED, "e^entropy"),
        "a radius that meets the error": ("radius: 1e-12", "radius: 0", REFUTED, "|sigma_1 - value|"),
        "a number of tokens": ("causal: true", "causal: 1", MALFORMED, "'true' or 'false'"),
        "causal: yes": ("causal: true", "causal: yes", MALFORMED, "'true' or 'false'"),
        "an empty mask": ("causal: true", "causal:", MALFORMED, "expected: a value"),
        "two masks": ("causal: true", "causal: true\n  causal: true", MALFORMED, "causal"),
        "another name": ("causal: true", "masked: true", MALFORMED, "masked"),
        "one query too few": ("[[1, 0], [0, 1], [1, -1]]", "[[1, 0], [0, 1]]", MALFORMED, "like the keys"),
        "without centred": ("  centred: true\n", "", MALFORMED, "centred"),
    },
)  # fmt: skip

# A is invertible: its determinant is the product of its diagonal.
WHOLE = Family(
    NAME,
    "three tokens under a causal mask, not centred",
    """
given: {queries: [[1, 0], [0, 1], [1, -1]], keys: [[1, 2], [1/2, 0], [-1, 1]], scale: 1/sqrt(2),
        centred: false, causal: true}
asserts:
  values: {value: [2.3063729681301, 1.1102738494604, 0.0446606528248], radius: 1e-12}
  counts: [{above: 0, count: 3, at_least: 0.04466}]
  norm: {at_least: 2.306372, at_most: 2.306373}
""",
    {"no mask is asked for": ("  norm: {at_least: 2.306372, at_most: 2.306373}\n", "  norm: {at_most: 2.31}\n")},
    {
        "no mask": (", causal: true", "", REFUTED, "sigma"),
        "centred": ("centred: false", "centred: true", REFUTED, "sigma"),
        "a value of 0": ("0.0446606528248]", "0]", REFUTED, "|sigma_3 - value|"),
        "two above 0": ("{above: 0, count: 3, at_least: 0.04466}", "{above: 0, count: 2}", REFUTED, "sigma_3 <="),
        "norm without the root of d": ("at_least: 2.306372, at_most: 2.306373", "at_most: 1.3316", REFUTED, "sigma_1"),
    },
)

# Every query has one score for what it sees: A = C, although the last key is another one for the first two queries.
LEVEL = Family(
    NAME,
    "equal scores of all that is seen",
    """
given: {queries: [[7, 1], [0, 2], [1, 0]], keys: [[3, 1], [3, 1], [3, 5]], centred: true, causal: true}
asserts: {values: {value: [0, 0, 0], radius: 1e-30}, norm: {at_most: 1e-30}, energy: {at_most: 1e-60}}
""",
    {"counted": ("energy: {at_most: 1e-60}", "counts: [{above: 1e-30, count: 0}]")},
    {
        "a stable rank of nothing": ("norm: {at_most: 1e-30}", "stable_rank: {at_least: 1}", REJECTED, "M is 0"),
        "an effective rank of nothing": (
            "norm: {at_most: 1e-30}", "effective_rank: {values: {at_least: 1}}", REJECTED, "M is 0"),
        "no mask": (", causal: true", "", REFUTED, "sigma_1"),
        "a query that tells them apart": ("[1, 0]], keys", "[1, 1/1000]], keys", REFUTED, "sigma_1"),
        "a key that is told apart": ("[3, 1], [3, 5]", "[3, 1.001], [3, 5]", REFUTED, "sigma_1"),
    },
)  # fmt: skip

ONE = Family(
    NAME,
    "one token under a causal mask",
    """
given: {queries: [[5]], keys: [[7]], scale: 1e10, centred: true, causal: true}
asserts: {values: {value: [0], radius: 1e-40}}
""",
    {
        "not centred": (
            "centred: true, causal: true}\nasserts: {values: {value: [0]",
            "centred: false, causal: true}\nasserts: {values: {value: [1]",
        )
    },
    {"a value that is not 0": ("value: [0]", "value: [1e-30]", REFUTED, "sigma_1")},
)

# A token that is not seen has a score e^(10^13) times those that are.
STEEP = Family(
    NAME,
    "a huge score that is not seen",
    """
given: {queries: [[1], [1]], keys: [[0], [10]], scale: 1e12, centred: false, causal: true}
asserts: {values: {value: [1.41421356237, 1.41421356237], radius: 1e-11}}
""",
    {},
    {
        "a value that is not sqrt(2)": ("[1.41421356237, ", "[1.4142135, ", REFUTED, "sigma_1"),
        "no mask": (", causal: true", "", REFUTED, "sigma"),
        "a stable rank at its bound": (
            "values: {value: [1.41421356237, 1.41421356237], radius: 1e-11}", "stable_rank: {at_least: 2}",
            INCONCLUSIVE, "undecided"),
    },
)  # fmt: skip

FAMILIES = [CENTRED, WHOLE, LEVEL, ONE, STEEP]
