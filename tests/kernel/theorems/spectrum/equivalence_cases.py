"""Accept and reject cases of `normalizer-bound` and `universality-bound`, in titled families."""

from __future__ import annotations

from corpus import MALFORMED, REFUTED, REJECTED, Family

# The bound is 0.00014274..., its root 0.011947...
NORMALISER = Family(
    "normalizer-bound",
    "a thousand keys",
    """
given: {beta: 1/2, lambda: 1, d: 1000}
asserts:
  mean_square: {at_most: 0.000151}
  distance: {at_most: 0.0123}
witness: {theta: 1/4, cut: 2}
""",
    {
        "numbers written in other ways": ("beta: 1/2,", "beta: 0x1p-1,"),
        "a better witness": ("theta: 1/4, cut: 2", "theta: 0.24, cut: 1.6"),
        "the square alone": ("  distance: {at_most: 0.0123}\n", ""),
        "the distance alone": ("  mean_square: {at_most: 0.000151}\n", ""),
        "larger bounds": ("at_most: 0.000151", "at_most: 1"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
    },
    {
        "a bound below the typical part": ("0.000151", "0.00008", REJECTED, "E W_2^2 <= bound"),
        "a bound just below": ("0.000151", "0.00015", REJECTED, "E W_2^2 <= bound"),
        "a distance that is the square": ("0.0123", "0.000151", REJECTED, "E W_2 <= bound^(1/2)"),
        "a negative bound": ("0.000151", "-0.000151", REJECTED, "E W_2^2 <= bound"),
        "a theta too small": ("theta: 1/4", "theta: 1/100", REJECTED, "E W_2^2 <= bound"),
        "a theta too large": ("theta: 1/4", "theta: 99/100", REJECTED, "E W_2^2 <= bound"),
        "a cut too small": ("cut: 2", "cut: 1.01", REJECTED, "E W_2^2 <= bound"),
        "a cut too large": ("cut: 2", "cut: 20", REJECTED, "E W_2^2 <= bound"),
        "fewer keys": ("d: 1000}", "d: 900}", REJECTED, "E W_2^2 <= bound"),
        "a larger beta": ("beta: 1/2", "beta: 0.51", REJECTED, "E W_2^2 <= bound"),
        "a smaller width": ("lambda: 1,", "lambda: 1/2,", REJECTED, "E W_2^2 <= bound"),
        "a width below the condition": ("beta: 1/2", "beta: 10", REJECTED, "p > 12 beta^2"),
        "a width on the edge": ("beta: 1/2, lambda: 1,", "beta: 1, lambda: 12/1000,", REJECTED, "p > 12 beta^2"),
        "the naive value beyond the condition": (
            "beta: 1/2, lambda: 1,", "beta: 4, lambda: 24/1000,", REJECTED, "12 beta"),
        "theta = 0": ("theta: 1/4", "theta: 0", REJECTED, "theta"),
        "theta = 1": ("theta: 1/4", "theta: 1", REJECTED, "theta"),
        "theta beyond 1": ("theta: 1/4", "theta: 3/2", REJECTED, "theta"),
        "a negative theta": ("theta: 1/4", "theta: -1/4", REJECTED, "theta"),
        "cut = 1": ("cut: 2", "cut: 1", REJECTED, "cut"),
        "no cut": (", cut: 2", "", MALFORMED, "no 'cut'"),
        "no witness": ("witness: {theta: 1/4, cut: 2}\n", "", MALFORMED, "no witness"),
        "nothing asserted": (
            "asserts:\n  mean_square: {at_most: 0.000151}\n  distance: {at_most: 0.0123}\n", "asserts: {}\n", MALFORMED,
            "nothing that is asserted"),
        "beta = 0": ("beta: 1/2", "beta: 0", MALFORMED, "a number > 0"),
        "lambda = 0": ("lambda: 1,", "lambda: 0,", MALFORMED, "a number > 0"),
        "a width that is no whole number": ("lambda: 1,", "lambda: 1/3,", MALFORMED, "lambda d = 1000/3"),
        "d = 1": ("d: 1000}", "d: 1}", MALFORMED, "an integer >= 2"),
        "a lower bound": ("at_most: 0.0123", "at_least: 0.0123", MALFORMED, "'at_least'"),
        "an infinity": ("0.000151", "inf", MALFORMED, "an exact number"),
    },
)  # fmt: skip

# The mean of |Sigma - Sigma_lin|^2 is 0.013087429..., the bounds 0.0112275... and 0.0328903...
RANDOM = Family(
    "universality-bound",
    "random queries",
    """
given: {beta: 1/2, eta: 1, lambda: 1, d: 1000}
asserts:
  universality: {at_most: 0.0119}
  concentration: {deviation: 0.1, at_most: 1e-4}
  linearisation: {at_least: 0.013087, at_most: 0.013088}
  equivalence: {at_most: 0.0331}
witness: {theta: 6/25, cut: 1.3, excess: 5}
""",
    {
        "no universality": ("  universality: {at_most: 0.0119}\n", ""),
        "no concentration": ("  concentration: {deviation: 0.1, at_most: 1e-4}\n", ""),
        "no linearisation": ("  linearisation: {at_least: 0.013087, at_most: 0.013088}\n", ""),
        "no equivalence": ("  equivalence: {at_most: 0.0331}\n", ""),
        "one bound": ("at_least: 0.013087, at_most: 0.013088", "at_most: 0.013088"),
        "a larger eta": ("eta: 1,", "eta: 2,"),
    },
    {
        "universality too small": ("0.0119", "0.0111", REJECTED, "E |E[s_T | X] - E[s_N | X]| <= bound"),
        "equivalence too small": ("0.0331", "0.0328", REJECTED, "|E s_M - E s_Y| <= bound"),
        "equivalence of universality alone": ("0.0331", "0.0119", REJECTED, "|E s_M - E s_Y| <= bound"),
        "a probability too small": ("at_most: 1e-4", "at_most: 9e-5", REJECTED, "2 exp(-d eta^2 deviation^2)"),
        "the probability given the queries": ("at_most: 1e-4", "at_most: 4.2e-9", REJECTED, "2 exp(-d eta^2"),
        "a deviation too small": ("deviation: 0.1", "deviation: 0.099", REJECTED, "2 exp(-d eta^2 deviation^2)"),
        "the mean too large": ("at_least: 0.013087", "at_least: 0.0130875", REFUTED, "|Sigma - Sigma_lin|_F^2 >="),
        "the mean too small": ("at_most: 0.013088", "at_most: 0.0130874", REFUTED, "|Sigma - Sigma_lin|_F^2 <="),
        "the mean of the limit": ("at_most: 0.013088", "at_most: 0.0130", REFUTED, "|Sigma - Sigma_lin|_F^2 <="),
        "a smaller eta": ("eta: 1,", "eta: 1/2,", REJECTED, "<= bound"),
        "another size": ("d: 1000}", "d: 990}", REFUTED, "|Sigma - Sigma_lin|_F^2"),
        "a width below every condition": ("beta: 1/2", "beta: 100", REFUTED, "p > 4 beta^2"),
        "a cut too near 1": ("cut: 1.3", "cut: 1.01", REJECTED, "<= bound"),
        "a cut too large": ("cut: 1.3", "cut: 4", REJECTED, "<= bound"),
        "an excess too small": ("excess: 5", "excess: 1", REJECTED, "<= bound"),
        "an excess too large": ("excess: 5", "excess: 60", REJECTED, "<= bound"),
        "a theta near 1": ("theta: 6/25", "theta: 0.99", REJECTED, "|E s_M - E s_Y|"),
        "theta = 1": ("theta: 6/25", "theta: 1", REJECTED, "theta"),
        "theta = 0": ("theta: 6/25", "theta: 0", REJECTED, "theta"),
        "cut = 1": ("cut: 1.3", "cut: 1", REJECTED, "cut"),
        "excess = 0": ("excess: 5", "excess: 0", REJECTED, "excess"),
        "a negative excess": ("excess: 5", "excess: -5", REJECTED, "excess"),
        "eta = 0": ("eta: 1,", "eta: 0,", MALFORMED, "a number > 0"),
        "a negative eta": ("eta: 1,", "eta: -1,", MALFORMED, "a number > 0"),
        "deviation 0": ("deviation: 0.1", "deviation: 0", MALFORMED, "a number > 0"),
        "no witness": ("witness: {theta: 6/25, cut: 1.3, excess: 5}\n", "", MALFORMED, "no witness"),
        "no eta": ("eta: 1, ", "", MALFORMED, "no 'eta'"),
        "queries and a size": ("d: 1000}", "d: 1000, queries: [[1], [2]]}", MALFORMED, "unknown key"),
        "d = 1": ("d: 1000}", "d: 1}", MALFORMED, "an integer >= 2"),
    },
)

EXACT = Family(
    "universality-bound",
    "the covariance alone, where other means are infinite",
    """
given: {beta: 1, eta: 1, lambda: 1/4, d: 20}
asserts: {linearisation: {at_least: 10, at_most: 1000000}}
""",
    {"concentration": ("asserts: {", "asserts: {concentration: {deviation: 1, at_most: 1e-8}, ")},
    {
        "a width on the edge": ("lambda: 1/4, d: 20", "lambda: 1/5, d: 20", REFUTED, "p > 4 beta^2"),
        "a width below": ("beta: 1,", "beta: 2,", REFUTED, "p > 4 beta^2"),
        "universality where means are infinite": (
            "}}\n", "}, universality: {at_most: 1000000}}\nwitness: {theta: 1/2, cut: 2, excess: 1}\n", REJECTED,
            "p > 8 beta^2"),
        "equivalence where means are infinite": (
            "}}\n", "}, equivalence: {at_most: 1000000}}\nwitness: {theta: 1/2, cut: 2, excess: 1}\n", REJECTED,
            "p > 12 beta^2"),
        "a witness for nothing": ("}}\n", "}}\nwitness: {theta: 1/2, cut: 2, excess: 1}\n", MALFORMED, "no witness"),
        "no bound": ("at_least: 10, at_most: 1000000", "", MALFORMED, "no bound"),
    },
)  # fmt: skip

# The bound is 0.17198..., 2 exp(-6 * 0.81) is 0.0155...
QUERIES = Family(
    "universality-bound",
    "three given queries",
    """
given: {beta: 1/2, eta: 1, queries: [[1, 0, 1/2], [0, 1, -1], [1/2, 1/2, 1]]}
asserts:
  universality: {at_most: 0.173}
  concentration: {deviation: 0.9, at_most: 0.016}
""",
    {
        "universality alone": ("  concentration: {deviation: 0.9, at_most: 0.016}\n", ""),
        "concentration alone": ("  universality: {at_most: 0.173}\n", ""),
        "a shorter query": ("[0, 1, -1]", "[0, 1, -0.9]"),
        "queries exchanged": ("[1, 0, 1/2], [0, 1, -1]", "[0, 1, -1], [1, 0, 1/2]"),
    },
    {
        "too small": ("0.173", "0.171", REJECTED, "|E s_T - E s_N| <= bound"),
        "a probability too small": ("0.016", "0.015", REJECTED, "2 exp(-2 d eta^2 deviation^2)"),
        "a longer query": ("[0, 1, -1]", "[0, 1, -1.1]", REJECTED, "|E s_T - E s_N| <= bound"),
        "a query more": ("[1/2, 1/2, 1]]", "[1/2, 1/2, 1], [3, 3, 3]]", REJECTED, "|E s_T - E s_N| <= bound"),
        "a larger beta": ("beta: 1/2", "beta: 0.51", REJECTED, "|E s_T - E s_N| <= bound"),
        "a smaller eta": ("eta: 1,", "eta: 0.9,", REJECTED, "<= bound"),
        "linearisation of given queries": (
            "asserts:", "asserts:\n  linearisation: {at_most: 1}", MALFORMED, "about random queries"),
        "equivalence of given queries": (
            "asserts:", "asserts:\n  equivalence: {at_most: 1}", MALFORMED, "about random queries"),
        "a witness": ("asserts:", "witness: {theta: 1/2, cut: 2, excess: 1}\nasserts:", MALFORMED, "no witness"),
        "one query": ("[[1, 0, 1/2], [0, 1, -1], [1/2, 1/2, 1]]", "[[1, 0, 1/2]]", MALFORMED, "at least 2 queries"),
        "queries of different lengths": ("[0, 1, -1]", "[0, 1]", MALFORMED, "like the first row"),
        "eta = 0": ("eta: 1,", "eta: 0,", MALFORMED, "a number > 0"),
        "beta = 0": ("beta: 1/2", "beta: 0", MALFORMED, "a number > 0"),
        "nothing asserted": (
            "asserts:\n  universality: {at_most: 0.173}\n  concentration: {deviation: 0.9, at_most: 0.016}\n",
            "asserts: {}\n", MALFORMED, "nothing that is asserted"),
    },
)  # fmt: skip

FAMILIES = (NORMALISER, RANDOM, EXACT, QUERIES)
CASES = [case for one in FAMILIES for case in one.cases()]
