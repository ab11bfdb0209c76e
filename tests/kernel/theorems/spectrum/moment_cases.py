"""Accept and reject cases of `finite-moments`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, Family

NAME = "finite-moments"
family = partial(Family, NAME)

# E m_4 / m_4 = 1.2669653 at d = 23 and 1.2527656 at d = 24; moments of order 8 are finite from p = 15 on.
SMALL = family(
    "twenty-four keys",
    """
given: {beta: 1/2, lambda: 1, d: 24}
asserts:
  moments: [{order: 2, at_least: 0.2874208943, at_most: 0.2874208944}, {order: 6, at_least: 0.4568, at_most: 0.4569}]
  ratios: [{order: 4, at_least: 1.252765694, at_most: 1.252765695}]
  entry_parts: [{order: 4, at_least: 0.1883, at_most: 0.1884}]
  variance: {at_least: 0.0025398, at_most: 0.0025399}
  smallest: [{order: 4, within: 0.26, from: 20}]
  thresholds: [{order: 4, beta: below}]
""",
    {
        "numbers written in other ways": ("beta: 1/2,", "beta: 0x1p-1,"),
        "one bound": ("at_least: 0.2874208943, at_most: 0.2874208944", "at_most: 0.2874208944"),
        "another bound": ("{at_least: 0.0025398, at_most: 0.0025399}", "{at_least: 0.0025398}"),
        "no variance": ("  variance: {at_least: 0.0025398, at_most: 0.0025399}\n", ""),
        "no thresholds": ("  thresholds: [{order: 4, beta: below}]\n", ""),
        "from the first size": ("from: 20", "from: 1"),
        "from the size before": ("from: 20", "from: 23"),
        "a distance between the two ratios": ("within: 0.26", "within: 0.2527656944"),
        "an empty witness": ("asserts:", "witness: {}\nasserts:"),
        "order 8 too": ("{order: 6,", "{order: 8, at_least: 3.2083, at_most: 3.2084}, {order: 6,"),
        "thresholds of higher orders": ("beta: below}]", "beta: below}, {order: 8, beta: below}]"),
    },
    {
        "a second moment of the limit": ("at_most: 0.2874208944", "at_most: 0.2840254167", REFUTED, "E m_2(T) <="),
        "a second moment too large": ("at_least: 0.2874208943", "at_least: 0.28742089434", REFUTED, "E m_2(T) >="),
        "a sixth moment too small": ("at_most: 0.4569", "at_most: 0.4568", REFUTED, "E m_6(T) <= at_most"),
        "a sixth moment too large": ("at_least: 0.4568,", "at_least: 0.4569,", REFUTED, "E m_6(T) >= at_least"),
        "the moment in the place of the ratio": ("at_least: 1.252765694", "at_least: 1.2527656944", REFUTED, "m_4"),
        "a ratio of 1": ("at_most: 1.252765695", "at_most: 1", REFUTED, "E m_4(T) / m_4 <= at_most"),
        "too small a part of the entries": ("at_most: 0.1884", "at_most: 0.1883", REFUTED, "d^(1-k) E t^4 / m_4"),
        "too large a part of the entries": ("at_least: 0.1883", "at_least: 0.1884", REFUTED, "d^(1-k) E t^4 / m_4"),
        "too small a variance": ("at_most: 0.0025399", "at_most: 0.0025398", REFUTED, "Var m_2(T) <= at_most"),
        "too large a variance": ("at_least: 0.0025398", "at_least: 0.0025399", REFUTED, "Var m_2(T) >= at_least"),
        "a distance that is not kept": ("within: 0.26", "within: 0.25", REFUTED, "|E m_4(T) / m_4 - 1| <= within"),
        "a distance that is kept before": ("within: 0.26", "within: 0.27", REFUTED, "of the sizes before"),
        "a distance that is kept far before": ("within: 0.26, from: 20", "within: 0.4, from: 18", REFUTED, "before"),
        "beyond the threshold": ("beta: below}", "beta: above}", REFUTED, "log(d)"),
        "another order of the ratio": ("ratios: [{order: 4,", "ratios: [{order: 2,", REFUTED, "E m_2(T) / m_2"),
        "another order of the smallest size": ("smallest: [{order: 4,", "smallest: [{order: 6,", REFUTED, "m_6"),
        "another beta": ("beta: 1/2,", "beta: 0.500000001,", REFUTED, "E m_2(T)"),
        "another lambda": ("lambda: 1,", "lambda: 2,", REFUTED, "E m_2(T)"),
        "another size": ("d: 24}", "d: 25}", REFUTED, "E m_2(T)"),
        "a finite moment called infinite": ("  variance:", "  infinite: [6]\n  variance:", REFUTED, "is infinite"),
        "an infinite moment": ("beta: 1/2, lambda: 1,", "beta: 4, lambda: 1,", REFUTED, "p > 2 * 1 beta^2"),
        "a width below the condition of order 6": ("lambda: 1, d: 24", "lambda: 7/24, d: 24", REFUTED, "is false"),
        "order 10": ("{order: 6,", "{order: 10,", MALFORMED, "2, 4, 6 or 8"),
        "order 3": ("{order: 6,", "{order: 3,", MALFORMED, "2, 4, 6 or 8"),
        "order 0": ("{order: 6,", "{order: 0,", MALFORMED, "an integer >= 2"),
        "order 4.0": ("ratios: [{order: 4,", "ratios: [{order: 4.0,", MALFORMED, "an integer >= 2"),
        "no bound": ("order: 2, at_least: 0.2874208943, at_most: 0.2874208944", "order: 2", MALFORMED, "no bound"),
        "no bound of the variance": ("{at_least: 0.0025398, at_most: 0.0025399}", "{}", MALFORMED, "no bound"),
        "beta = 0": ("beta: 1/2,", "beta: 0,", MALFORMED, "a number > 0"),
        "a negative beta": ("beta: 1/2,", "beta: -1/2,", MALFORMED, "a number > 0"),
        "lambda = 0": ("lambda: 1,", "lambda: 0,", MALFORMED, "a number > 0"),
        "a negative lambda": ("lambda: 1,", "lambda: -1,", MALFORMED, "a number > 0"),
        "a width that is no whole number": ("lambda: 1,", "lambda: 1/7,", MALFORMED, "lambda d = 24/7"),
        "d = 1": ("d: 24}", "d: 1}", MALFORMED, "an integer >= 2"),
        "d = 24.0": ("d: 24}", "d: 24.0}", MALFORMED, "an integer >= 2"),
        "no d": (", d: 24}", "}", MALFORMED, "no 'd'"),
        "no lambda": ("lambda: 1, ", "", MALFORMED, "no 'lambda'"),
        "no beta": ("beta: 1/2, ", "", MALFORMED, "no 'beta'"),
        "a distance of 0": ("within: 0.26", "within: 0", MALFORMED, "a number > 0"),
        "sizes from d on": ("from: 20", "from: 24", MALFORMED, "a size below d = 24"),
        "sizes from 0 on": ("from: 20", "from: 0", MALFORMED, "an integer >= 1"),
        "no first size": (", from: 20", "", MALFORMED, "no 'from'"),
        "no side": ("beta: below}", "beta: under}", MALFORMED, "'below' or 'above'"),
        "an empty list": ("thresholds: [{order: 4, beta: below}]", "thresholds: []", MALFORMED, "at least one item"),
        "an unknown key": ("asserts:", "asserts:\n  mean: 1", MALFORMED, "the unknown key 'mean'"),
        "an unknown key under given": ("d: 24}", "d: 24, p: 24}", MALFORMED, "the unknown key 'p'"),
        "a hint": ("asserts:", "witness: {bits: 64}\nasserts:", MALFORMED, "the unknown key 'bits'"),
        "a NaN": ("beta: 1/2,", "beta: nan,", MALFORMED, "an exact number"),
        "an infinity": ("at_most: 0.2874208944", "at_most: inf", MALFORMED, "an exact number"),
    },
)  # fmt: skip

# p = 6 and 4 * 3 beta^2 = 6.75; 2 beta^2 = 1.125.
NARROW = family(
    "where the fourth moment is infinite",
    """
given: {beta: 3/4, lambda: 1/2, d: 12}
asserts:
  moments: [{order: 2, at_least: 0.86436, at_most: 0.86437}]
  infinite: [4, 6, 8]
  thresholds: [{order: 4, beta: below}]
""",
    {
        "fewer orders": ("infinite: [4, 6, 8]", "infinite: [8]"),
        "the smallest size, as far as the second moment goes": (
            "  infinite:", "  smallest: [{order: 2, within: 0.15, from: 1}]\n  infinite:"),
    },
    {
        "the second moment called infinite": ("[4, 6, 8]", "[2, 4]", REFUTED, "p <= 2 * 1 beta^2"),
        "bounds of an infinite moment": ("{order: 2,", "{order: 4,", REFUTED, "p > 4 * 3 beta^2"),
        "a lower bound of an infinite moment": (
            "  infinite:", "  ratios: [{order: 6, at_least: 1}]\n  infinite:", REFUTED, "p > 6 * 5 beta^2"),
        "a bound of an infinite variance": (
            "  infinite:", "  variance: {at_most: 1e9}\n  infinite:", REFUTED, "p > 4 * 3 beta^2"),
        "the naive value of an infinite moment": (
            "  infinite:", "  entry_parts: [{order: 8, at_most: 1e99}]\n  infinite:", REFUTED, "p > 8 * 7 beta^2"),
        "a smallest size without a moment": (
            "  infinite:", "  smallest: [{order: 4, within: 9, from: 1}]\n  infinite:", REFUTED, "p > 4 * 3 beta^2"),
        "order 5": ("[4, 6, 8]", "[5]", MALFORMED, "orders 2, 4, 6 or 8"),
        "no orders": ("[4, 6, 8]", "[]", MALFORMED, "at least one item"),
    },
)  # fmt: skip

# p = 14 = 8 * 7 beta^2: the eighth moment is infinite at p = 14 and finite at p = 15.
EDGE = family(
    "on the edge of the moment condition",
    """
given: {beta: 1/2, lambda: 1, d: 14}
asserts: {infinite: [8]}
""",
    {"another beta": ("beta: 1/2", "beta: 0.6")},
    {
        "one more": ("d: 14}", "d: 15}", REFUTED, "15 <= 14"),
        "a slightly smaller beta": ("beta: 1/2", "beta: 0.4999999999999999999999", REFUTED, "beta^2"),
        "bounds on the edge": ("{infinite: [8]}", "{moments: [{order: 8, at_least: 0}]}", REFUTED, "14 > 14"),
    },
)

FIRST = family(
    "the first size with a finite moment",
    """
given: {beta: 1/2, lambda: 1, d: 15}
asserts: {smallest: [{order: 8, within: 5e17, from: 1}]}
""",
    {},
    {
        "too near": ("within: 5e17", "within: 1", REFUTED, "<= within"),
        "sizes beyond all limits": ("d: 15}", "d: 100000000000000000}", MALFORMED, "at most 20000 sizes"),
    },
)

FAR = family(
    "beta beyond all exponents",
    """
given: {beta: 1e3000, lambda: 1, d: 100}
asserts: {infinite: [2]}
""",
    {},
    {
        "with a width as large": (
            "lambda: 1, d: 100}\nasserts: {infinite: [2]}",
            "lambda: 1e6010, d: 100}\nasserts: {ratios: [{order: 2, at_least: 1}]}", INCONCLUSIVE, "undecided"),
    },
)  # fmt: skip

# What changes of numbers and keys are tried on: no moment of a higher order, whose second opinion is slow.
FOURTH = family(
    "the fourth moment",
    """
given: {beta: 1/2, lambda: 1/2, d: 16}
asserts:
  moments: [{order: 4, at_least: 0.48, at_most: 0.49}]
  ratios: [{order: 2, at_least: 1.01}]
  entry_parts: [{order: 4, at_most: 1}]
  variance: {at_least: 0.012, at_most: 0.013}
  smallest: [{order: 4, within: 0.7, from: 13}]
  thresholds: [{order: 4, beta: below}]
""",
    {},
    {},
)

FAMILIES = (SMALL, FOURTH, NARROW, EDGE, FIRST, FAR)
CASES = [case for one in FAMILIES for case in one.cases()]
