"""Accept and reject cases of `linearization`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Family

NAME = "linearization"
family = partial(Family, NAME)

STAGES = """\
  stages:
    attention: {norm: {at_most: 0.428317}, frobenius: {at_least: 0.53918}}
    scores: {norm: {at_most: 0.441631}, relative_frobenius: {at_least: 1.0228, at_most: 1.02281}}
    linear: {norm: {at_least: 0.445326}, frobenius: {at_most: 0.552771}, relative_norm: {at_most: 1.0398}}
    attention_less_scores: {frobenius: {at_most: 0.157117}, relative_norm: {at_least: 0.327998}}
    scores_less_linear: {norm: {at_least: 0.114424}, relative_frobenius: {at_least: 0.2968}}
    attention_less_linear: {relative_frobenius: {at_most: 0.1155}}
"""
EVERY_SIZE = """\
  stages:
    attention:
      norm: {at_least: 0.428316, at_most: 0.428317}
      frobenius: {at_least: 0.539187, at_most: 0.539188}
    scores:
      norm: {at_least: 0.441630, at_most: 0.441631}
      frobenius: {at_least: 0.551485, at_most: 0.551486}
      relative_norm: {at_least: 1.03108, at_most: 1.03109}
      relative_frobenius: {at_least: 1.02280, at_most: 1.02281}
    linear:
      norm: {at_least: 0.445326, at_most: 0.445327}
      frobenius: {at_least: 0.552770, at_most: 0.552771}
      relative_norm: {at_least: 1.03971, at_most: 1.03972}
      relative_frobenius: {at_least: 1.02519, at_most: 1.02520}
    attention_less_scores:
      norm: {at_least: 0.140487, at_most: 0.140488}
      frobenius: {at_least: 0.157116, at_most: 0.157117}
      relative_norm: {at_least: 0.327998, at_most: 0.327999}
      relative_frobenius: {at_least: 0.291394, at_most: 0.291395}
    scores_less_linear:
      norm: {at_least: 0.114424, at_most: 0.114425}
      frobenius: {at_least: 0.160034, at_most: 0.160035}
      relative_norm: {at_least: 0.267149, at_most: 0.267150}
      relative_frobenius: {at_least: 0.296806, at_most: 0.296807}
    attention_less_linear:
      norm: {at_least: 0.0496434, at_most: 0.0496435}
      frobenius: {at_least: 0.0622759, at_most: 0.0622760}
      relative_norm: {at_least: 0.115903, at_most: 0.115904}
      relative_frobenius: {at_least: 0.115499, at_most: 0.115500}
"""

# beta = 1/2, p = 2, d = 3: the numbers are those of the script of the second opinion.
TOKENS = family(
    "three tokens",
    """
given:
  queries: [[1, 0], [0, 1], [1, -1]]
  keys: [[1, 2], [1/2, 0], [-1, 1]]
  beta: 1/2
asserts:
  remainder: {norm: {at_least: 0.0496434, at_most: 0.0496435}, distance: {at_least: 0.829185, at_most: 0.829186}}
  normaliser:
    largest: {at_least: 0.394162, at_most: 0.394163}
    difference: {at_least: 0.140487, at_most: 0.140488}
    bound: {at_least: 0.168826, at_most: 0.168827}
    wasserstein: {at_least: 0.00785263, at_most: 0.00785264}
"""
    + STAGES,
    {
        "every size of every stage": (STAGES, EVERY_SIZE),
        "a unit": ("beta: 1/2\n", "beta: 1/2\n  unit: 1\n"),
        "the scale of beta": ("beta: 1/2\n", "beta: 1/2\n  scale: 1/sqrt(8)\n"),
        "weights in halves": (
            "queries: [[1, 0], [0, 1], [1, -1]]\n  keys: [[1, 2], [1/2, 0], [-1, 1]]\n  beta: 1/2\n",
            "queries: [[2, 0], [0, 2], [2, -2]]\n  keys: [[2, 4], [1, 0], [-2, 2]]\n  beta: 1/2\n  unit: 1/2\n"),
        "without stages but one": (
            "    scores_less_linear: {norm: {at_least: 0.114424}, relative_frobenius: {at_least: 0.2968}}\n", ""),
        "an empty witness": ("asserts:", "witness: {}\nasserts:"),
    },
    {
        "norm a hair too small": ("at_most: 0.0496435}", "at_most: 0.049643457488}", REFUTED, "|M - L| <= bound"),
        "norm a hair too large": ("at_least: 0.0496434,", "at_least: 0.04964345749,", REFUTED, "|M - L| >= bound"),
        "norm of the limit": ("at_most: 0.0496435}", "at_most: 0}", REFUTED, "|M - L|"),
        "norm without Pi": (
            "norm: {at_least: 0.0496434, at_most: 0.0496435}", "norm: {at_least: 0.33}", REFUTED, "|M - L|"),
        "distance a hair too small": ("at_most: 0.829186}", "at_most: 0.82918572}", REFUTED, "sup_x"),
        "distance a hair too large": ("at_least: 0.829185,", "at_least: 0.82918573,", REFUTED, "sup_x"),
        "largest mean too small": ("at_most: 0.394163}", "at_most: 0.394162}", REFUTED, "max_i |tbar_i| <= bound"),
        "largest mean too large": ("largest: {at_least: 0.394162", "largest: {at_least: 0.394163", REFUTED, "max_i"),
        "difference too small": ("at_most: 0.140488}", "at_most: 0.140487}", REFUTED, "|M - T Pi| <= bound"),
        "difference as large as its bound": (
            "difference: {at_least: 0.140487", "difference: {at_least: 0.16", REFUTED, "|M - T Pi| >= bound"),
        "bound too small": ("at_most: 0.168827}", "at_most: 0.168826}", REFUTED, "max_i |tbar_i| |M|"),
        "squared W_2": ("{at_least: 0.00785263, at_most: 0.00785264}", "{at_most: 6.2e-5}", REFUTED, "W_2(M, T Pi)"),
        "sum in the place of a mean in W_2": (
            "{at_least: 0.00785263, at_most: 0.00785264}", "{at_least: 0.0136}", REFUTED, "W_2(M, T Pi)"),
        "norm of M too small": ("{norm: {at_most: 0.428317}", "{norm: {at_most: 0.428316}", REFUTED, "|M| <= bound"),
        "norm of T Pi too small": ("{norm: {at_most: 0.441631}", "{norm: {at_most: 0.44163}", REFUTED, "|T Pi| <="),
        "Frobenius norm of M too large": ("{at_least: 0.53918}", "{at_least: 0.5392}", REFUTED, "|M|_F >= bound"),
        "relative size of T Pi": ("at_most: 1.02281}", "at_most: 1.0228}", REFUTED, "|T Pi|_F/|M|_F <= bound"),
        "norm of L without Pi": ("{norm: {at_least: 0.445326}", "{norm: {at_least: 0.5}", REFUTED, "|L| >= bound"),
        "relative norm of L": (
            "relative_norm: {at_most: 1.0398}", "relative_norm: {at_most: 1.03}", REFUTED, "|L|/|M|"),
        "relative size of the remainder": ("{at_most: 0.1155}", "{at_most: 0.1154}", REFUTED, "|M - L|_F/|M|_F"),
        "T Pi - L": ("{norm: {at_least: 0.114424}", "{norm: {at_least: 0.114425}", REFUTED, "|T Pi - L|"),
        "relative M - T Pi": ("{at_least: 0.327998}", "{at_least: 0.33}", REFUTED, "|M - T Pi|/|M|"),
        "another beta": ("beta: 1/2\n", "beta: 0.5001\n", REFUTED, "bound"),
        "another unit": ("beta: 1/2\n", "beta: 1/2\n  unit: 1.0001\n", REFUTED, "bound"),
        "unit and beta exchanged": ("beta: 1/2\n", "beta: 1\n  unit: 1/2\n", REFUTED, "bound"),
        "queries for keys": (
            "queries: [[1, 0], [0, 1], [1, -1]]\n  keys: [[1, 2], [1/2, 0], [-1, 1]]",
            "keys: [[1, 0], [0, 1], [1, -1]]\n  queries: [[1, 2], [1/2, 0], [-1, 1]]", REFUTED, "bound"),
        "an entry changed": ("keys: [[1, 2],", "keys: [[1, 2.001],", REFUTED, "bound"),
        "scale of another beta": (
            "beta: 1/2\n", "beta: 1/2\n  scale: 1/sqrt(2)\n", MALFORMED, "scale = beta unit^2/sqrt(p) = sqrt(1/8)"),
        "scale that leaves out the dimension": ("beta: 1/2\n", "beta: 1/2\n  scale: 1/2\n", MALFORMED, "scale = beta"),
        "scale off by 10^-20": (
            "beta: 1/2\n", "beta: 1/2\n  scale: 0.35355339059327376220\n", MALFORMED, "scale = beta"),
        "scale of the other sign": ("beta: 1/2\n", "beta: 1/2\n  scale: -1/2\n", MALFORMED, "scale = beta"),
        "scale 0": ("beta: 1/2\n", "scale: 0\n", MALFORMED, "other than 0"),
        "beta 0": ("beta: 1/2\n", "beta: 0\n", MALFORMED, "> 0"),
        "negative beta": ("beta: 1/2\n", "beta: -1/2\n", MALFORMED, "> 0"),
        "huge beta": ("beta: 1/2\n", "beta: 1e9\n", MALFORMED, "at most 1000"),
        "beta NaN": ("beta: 1/2\n", "beta: nan\n", MALFORMED, "beta"),
        "unit 0": ("beta: 1/2\n", "beta: 1/2\n  unit: 0\n", MALFORMED, "> 0"),
        "scale alone": ("beta: 1/2\n", "scale: 1/sqrt(8)\n", MALFORMED, "beta in given"),
        "neither scale nor beta": ("  beta: 1/2\n", "", MALFORMED, "scale, or beta"),
        "one key too few": ("[[1, 2], [1/2, 0], [-1, 1]]", "[[1, 2], [1/2, 0]]", MALFORMED, "like the keys"),
        "keys of another dimension": ("[[1, 2], [1/2, 0], [-1, 1]]", "[[1], [1/2], [-1]]", MALFORMED, "like the keys"),
        "no keys": ("  keys: [[1, 2], [1/2, 0], [-1, 1]]\n", "", MALFORMED, "keys"),
        "an empty stage": ("{relative_frobenius: {at_most: 0.1155}}", "{}", MALFORMED, "nothing that is asserted"),
        "an empty range": ("{relative_frobenius: {at_most: 0.1155}}", "{norm: {}}", MALFORMED, "at_least or at_most"),
        "M relative to itself": (
            "frobenius: {at_least: 0.53918}", "relative_norm: {at_most: 1}", MALFORMED, "relative_norm"),
        "an unknown stage": ("    attention_less_linear:", "    remainder:", MALFORMED, "remainder"),
        "a negative bound": ("at_most: 0.0496435}", "at_most: -1}", MALFORMED, ">= 0"),
        "an infinite bound": ("at_most: 0.0496435}", "at_most: inf}", MALFORMED, "at_most"),
        "a hint for numbers written out": (
            "asserts:", "witness: {hint: {U: [[1]], s: [1], V: [[1]]}}\nasserts:", MALFORMED, "leave the hint out"),
    },
)  # fmt: skip

SCALED = family(
    "a scale alone",
    """
given: {queries: [[1, 0], [0, 1], [1, -1]], keys: [[1, 2], [1/2, 0], [-1, 1]], scale: -2/3}
asserts:
  remainder: {norm: {at_least: 0.187798, at_most: 0.187799}}
  stages:
    attention: {norm: {at_most: 0.84}}
    linear: {norm: {at_most: 0.9}}
    attention_less_linear: {relative_norm: {at_most: 1}}
""",
    {"one stage less": ("    linear: {norm: {at_most: 0.9}}\n", "")},
    {
        "the other sign": ("scale: -2/3", "scale: 2/3", REFUTED, "bound"),
        "a distance": (
            "{norm: {at_least: 0.187798, at_most: 0.187799}}", "{distance: {at_most: 1}}", MALFORMED, "beta in given"),
        "a stage of T": ("linear: {norm", "scores: {norm", MALFORMED, "beta in given"),
        "a normaliser": (
            "remainder: {norm: {at_least: 0.187798, at_most: 0.187799}}", "normaliser: {difference: {at_most: 9}}",
            MALFORMED, "beta in given"),
        "a unit": ("scale: -2/3", "scale: -2/3, unit: 1", MALFORMED, "no unit without beta"),
        "no stages": ("stages:\n", "stages: {}\nwitness:\n", MALFORMED, "nothing that is asserted"),
        "an empty remainder": (
            "{norm: {at_least: 0.187798, at_most: 0.187799}}", "{}", MALFORMED, "nothing that is asserted"),
    },
)  # fmt: skip

# A = 11'/3 exactly, so that M, L and T Pi are 0; tbar is not.
UNIFORM = family(
    "equal keys",
    """
given: {queries: [[1], [2], [0]], keys: [[3], [3], [3]], beta: 1}
asserts:
  remainder: {norm: {at_most: 1e-40}, distance: {at_least: 1, at_most: 1}}
  normaliser: {largest: {at_least: 53, at_most: 54}, difference: {at_most: 1e-40}, wasserstein: {at_most: 1e-40}}
  stages: {attention: {norm: {at_most: 0}}, scores: {frobenius: {at_most: 0}}}
""",
    {},
    {
        "relative sizes": (
            "scores: {frobenius: {at_most: 0}}", "linear: {relative_norm: {at_most: 1}}", REJECTED, "M is 0"),
        "a positive norm": ("norm: {at_most: 1e-40}", "norm: {at_least: 1e-40}", REFUTED, "|M - L|"),
        "a key that differs": ("[3], [3]]", "[3], [3.01]]", REFUTED, "bound"),
    },
)  # fmt: skip

TWO = family(
    "two tokens",
    """
given: {queries: [[1], [-1]], keys: [[1], [-1]], scale: 1}
asserts: {remainder: {norm: {at_least: 0.337156, at_most: 0.337157}}}
""",
    {"all in one entry": ("[[1], [-1]], scale", "[[2], [0]], scale")},
    {
        "nothing asserted": (
            "{remainder: {norm: {at_least: 0.337156, at_most: 0.337157}}}", "{}", MALFORMED,
            "nothing that is asserted"),
        "one token": (
            "queries: [[1], [-1]], keys: [[1], [-1]]", "queries: [[1]], keys: [[1]]", MALFORMED,
            "at least 2 queries and keys"),
        "a scale near 0": ("scale: 1}", "scale: 1e-30}", REFUTED, "|M - L|"),
    },
)  # fmt: skip

# |L| = 2 exactly, which no ball proves.
FLAT = family(
    "a rational norm",
    """
given: {queries: [[1], [-1]], keys: [[1], [-1]], scale: sqrt(2)}
asserts: {stages: {linear: {norm: {at_least: 1.9999999999999999999999, at_most: 2.0000000000000000000001}}}}
""",
    {"rank one": ("norm: {at_least: 1.9999999999999999999999,", "frobenius: {at_least: 1.9999999999999999999999,")},
    {
        "a bound that is met": ("at_most: 2.0000000000000000000001", "at_most: 2", INCONCLUSIVE, "undecided"),
        "below it": ("at_most: 2.0000000000000000000001", "at_most: 1.9999999999999999999999", REFUTED, "|L| <= bound"),
    },
)

FAMILIES = [TOKENS, SCALED, UNIFORM, TWO, FLAT]
CASES = [case for one in FAMILIES for case in one.cases()]
