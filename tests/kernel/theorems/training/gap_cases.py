"""Accept and reject cases of `risk-gap`, in titled families.

Over a ball stated bounds are what the majorant proves, rounded up in the sixth digit: one unit lower is not proved, and
need not be false. At given parameters the range is an enclosure: outside of it is false.
"""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Case, Family

# What is said where a condition of the witness is false.
CONDITIONS = ("theta, the exponent", "from the one before", "the first variance", "the rate d", "misses of the fits")

NAME = "risk-gap"
family = partial(Family, NAME)

BOUND = "an upper bound of"

LOGISTIC = family(
    "a ball in the plane, by the logistic bound",
    """
given:
  covariance: [[1, 1/2], [1/2, 1]]
  ball: {A_squared: 1/4, b_squared: sqrt(2)}
asserts: {length: 100, excess: 0.123077, shortfall: 0.295656}
witness: {majorant: logistic}
""",
    {
        "the excess alone": (", shortfall: 0.295656", ""),
        "the shortfall alone": (", excess: 0.123077", ""),
        "longer prompts": ("length: 100", "length: 101"),
        "much longer prompts": ("length: 100", "length: 1000000"),
        "a smaller ball": ("A_squared: 1/4", "A_squared: 1/5"),
        "fewer values of b": ("b_squared: sqrt(2)", "b_squared: 7/5"),
        "a root for a rational": ("A_squared: 1/4", "A_squared: sqrt(1/16)"),
        "a larger excess": ("excess: 0.123077", "excess: 1"),
    },
    {
        "an excess one unit lower": ("excess: 0.123077", "excess: 0.123076", REJECTED, f"{BOUND} R_L - R"),
        "a shortfall one unit lower": ("shortfall: 0.295656", "shortfall: 0.295655", REJECTED, f"{BOUND} R - R_L"),
        "an excess of 0": ("excess: 0.123077", "excess: 0", REJECTED, "excess"),
        "a negative shortfall": ("shortfall: 0.295656", "shortfall: -1", REJECTED, "shortfall"),
        "shorter prompts": ("length: 100", "length: 99", REJECTED, "excess"),
        "two tokens": ("length: 100", "length: 2", REJECTED, "excess"),
        "one token": ("length: 100", "length: 1", MALFORMED, "an integer >= 2"),
        "a length with an exponent": ("length: 100", "length: 1e30", MALFORMED, "write at most 18 digits"),
        "a length of 19 digits": ("length: 100", "length: 1000000000000000000", MALFORMED, "write at most 18 digits"),
        "a larger ball": ("A_squared: 1/4", "A_squared: 0.2501", REJECTED, "excess"),
        "larger b": ("b_squared: sqrt(2)", "b_squared: 1.4143", REJECTED, "excess"),
        "the other covariance": ("[[1, 1/2], [1/2, 1]]", "[[1, 2/3], [2/3, 1]]", REJECTED, "excess"),
        "a singular covariance": ("[[1, 1/2], [1/2, 1]]", "[[1, 1], [1, 1]]", MALFORMED, "positive definite"),
        "an indefinite covariance": ("[[1, 1/2], [1/2, 1]]", "[[1, 2], [2, 1]]", MALFORMED, "positive definite"),
        "a covariance that is not symmetric": ("[[1, 1/2], [1/2, 1]]", "[[1, 1/2], [0, 1]]", MALFORMED, "symmetric"),
        "a covariance that is not square": ("[[1, 1/2], [1/2, 1]]", "[[1, 1/2]]", MALFORMED, "covariance"),
        "no covariance": ("  covariance: [[1, 1/2], [1/2, 1]]\n", "", MALFORMED, "covariance"),
        "a ball of radius 0": ("A_squared: 1/4", "A_squared: 0", MALFORMED, "other than 0"),
        "a negative square": ("A_squared: 1/4", "A_squared: -1/4", MALFORMED, "a number > 0"),
        "a negative square of b": ("b_squared: sqrt(2)", "b_squared: -1", MALFORMED, "a number > 0"),
        "no bound on b": (", b_squared: sqrt(2)", "", MALFORMED, "b_squared"),
        "parameters beside the ball": (
            "  ball:", "  parameters: {A: [[1, 0], [0, 1]], b: 1}\n  ball:", MALFORMED, "parameters"),
        "nothing asserted": (", excess: 0.123077, shortfall: 0.295656", "", MALFORMED, "excess or shortfall"),
        "no length": ("length: 100, ", "", MALFORMED, "length"),
        "a range": ("excess: 0.123077", "gap: {at_most: 1}", MALFORMED, "gap"),
        "not a number": ("excess: 0.123077", "excess: nan", MALFORMED, "excess"),
        "no witness": ("witness: {majorant: logistic}\n", "", MALFORMED, "a witness"),
        "no majorant": ("{majorant: logistic}", "{}", MALFORMED, "majorant: logistic or power or table"),
        "another majorant": ("majorant: logistic", "majorant: exact", MALFORMED, "'logistic'"),
        "a parameter of another": ("majorant: logistic", "majorant: logistic, theta: 1/2", MALFORMED, "theta"),
        "a power without theta": ("majorant: logistic", "majorant: power", MALFORMED, "the keys majorant, theta"),
        "a table without one": ("majorant: logistic", "majorant: table", MALFORMED, "the keys majorant, table"),
    },
)  # fmt: skip

POWER = family(
    "a ball on the line, by a power",
    """
given:
  covariance: [[1]]
  ball: {A_squared: 1/4, b_squared: 1}
asserts: {length: 100, excess: 0.0207681, shortfall: 0.0222668}
witness: {majorant: power, theta: 31/32}
""",
    {
        "the same theta": ("theta: 31/32", "theta: 0.96875"),
        "longer prompts": ("length: 100", "length: 200"),
        "a smaller covariance": ("covariance: [[1]]", "covariance: [[9/10]]"),
    },
    {
        "an excess one unit lower": ("excess: 0.0207681", "excess: 0.0207680", REJECTED, "excess"),
        "a shortfall one unit lower": ("shortfall: 0.0222668", "shortfall: 0.0222667", REJECTED, "shortfall"),
        "a worse theta": ("theta: 31/32", "theta: 1/2", REJECTED, "excess"),
        "theta above 1": ("theta: 31/32", "theta: 33/32", REJECTED, "theta, the exponent"),
        "theta of 0": ("theta: 31/32", "theta: 0", REJECTED, "theta, the exponent"),
        "scores of too large a variance": (
            "A_squared: 1/4", "A_squared: 16/31", REJECTED, "2 theta lambda^2 A_squared >= 1"),
        "scores of a far too large variance": ("A_squared: 1/4", "A_squared: 3", REJECTED, "for theta = 0.96875"),
        "a root, and infinite averages": ("A_squared: 1/4", "A_squared: sqrt(3/8)", REJECTED, "are infinite"),
        "a larger covariance": ("covariance: [[1]]", "covariance: [[11/10]]", REJECTED, "excess"),
    },
)  # fmt: skip

TABLE = family(
    "a ball on the line, by a table",
    """
given:
  covariance: [[1]]
  ball: {A_squared: 1/4, b_squared: 1}
asserts: {length: 10, excess: 0.149126, shortfall: 0.140698}
witness:
  majorant: table
  table:
  - [0, 0.10104414244]
  - [0.25, 0.12508478802]
  - [0.5, 0.1491254336]
  - [0.75, 0.17316607918]
  - [1, 0.19720672476]
  - [1.25, 0.22124737034]
  - [1.5, 0.24528801592]
  - [1.75, 0.2693286615]
  - [2.25, 0.31740995266]
  - [2.75, 0.36549124382]
  - [3.25, 0.41357253498]
  - [4.25, 0.5097351173]
  - [5.25, 0.60589769962]
  - [6.25, 0.70206028194]
  - [7.25, 0.79822286426]
  - [9.25, 0.9905480289]
  - [11.25, 1.18287319354]
""",
    {
        "longer prompts": ("length: 10,", "length: 11,"),
        "a higher last value": ("1.18287319354", "1.19"),
        "a node on the line": ("  - [2.75,", "  - [2.5, 0.34145059824]\n  - [2.75,"),
    },
    {
        "an excess one unit lower": ("excess: 0.149126", "excess: 0.149125", REJECTED, "excess"),
        "a shortfall one unit lower": ("shortfall: 0.140698", "shortfall: 0.140697", REJECTED, "shortfall"),
        "shorter prompts": ("length: 10,", "length: 9,", REJECTED, "the table less"),
        "below 1/L at 0": ("[0, 0.10104414244]", "[0, 0.0999]", REJECTED, "the first slope"),
        "equal to 1/L at 0": ("[0, 0.10104414244]", "[0, 0.1]", REJECTED, "the first slope"),
        "a value too low": ("[0.5, 0.1491254336]", "[0.5, 0.149]", REJECTED, "every growth of its slopes"),
        "a value too high": ("[0.5, 0.1491254336]", "[0.5, 0.15]", REJECTED, "every growth of its slopes"),
        "an end below 1": ("  - [11.25, 1.18287319354]\n", "", REJECTED, "the last value of the table"),
        "a cell too wide": (
            "  - [5.25, 0.60589769962]\n  - [6.25, 0.70206028194]\n  - [7.25, 0.79822286426]\n", "", REJECTED,
            "the table less"),
        "falling": (
            """
  - [0, 0.10104414244]
  - [0.25, 0.12508478802]""",
            """
  - [0, 0.2]
  - [0.25, 0.12508478802]""",
            REJECTED,
            "the first slope",
        ),
        "nodes out of order": ("[0.75, 0.17316607918]", "[0.5, 0.17316607918]", REJECTED, "from the one before"),
        "not from 0 on": ("  - [0, 0.10104414244]\n", "", REJECTED, "the first variance"),
        "three columns": (
            """
  - [0, 0.10104414244]
  - [0.25, 0.12508478802]
  - [0.5, 0.1491254336]
  - [0.75, 0.17316607918]
  - [1, 0.19720672476]
  - [1.25, 0.22124737034]
  - [1.5, 0.24528801592]
  - [1.75, 0.2693286615]
  - [2.25, 0.31740995266]
  - [2.75, 0.36549124382]
  - [3.25, 0.41357253498]
  - [4.25, 0.5097351173]
  - [5.25, 0.60589769962]
  - [6.25, 0.70206028194]
  - [7.25, 0.79822286426]
  - [9.25, 0.9905480289]
  - [11.25, 1.18287319354]""",
            "\n  - [0, 0.2, 0]\n  - [20, 1, 0]",
            MALFORMED,
            "rows [variance, value]",
        ),
    },
)  # fmt: skip

FITS = """witness:
  rate: 0.39599609375
  growth: 0.958
  nodes: [0, 0.125, 0.5, 2, 7]
  orders: [12, 12, 18]
  q: [0.7177166744479, -1.3724737067386, 7.4524048241063, -37.2232774841548, 127.4869485271976, -298.4822701808091,
    474.597555790257, -503.147660743287, 339.9986856940419, -132.3638304830318, 22.5862058147803]
  kappa: [0.0369520779295, 0.0887269108686, -0.6393361131424, 2.9955069770531, -9.9038364978175, 21.8809104048173,
    -32.2189189727805, 30.7712169573896, -17.999103110546, 5.6754563276698, -0.6875762080216]
"""

POINT = family(
    "given parameters",
    """
given:
  covariance: [[1/2]]
  length: 4
  parameters: {A: [[1/2]], b: 1/2}
asserts: {gap: {at_least: 0.032, at_most: 0.034}}
"""
    + FITS,
    {
        "only an upper bound": ("at_least: 0.032, ", ""),
        "only a lower bound": (", at_most: 0.034", ""),
        "both of the other sign": ("{A: [[1/2]], b: 1/2}", "{A: [[-1/2]], b: -1/2}"),
        "a smaller growth": ("growth: 0.958", "growth: 0.95"),
        "a coefficient that is rounded": ("0.7177166744479", "0.71771667445"),
        "a point more": ("orders: [12, 12, 18]", "orders: [12, 13, 18]"),
    },
    {
        "at_most below": ("at_most: 0.034", "at_most: 0.0322", REFUTED, "<= the stated bound"),
        "at_least above": ("at_least: 0.032", "at_least: 0.0332", REFUTED, ">= the stated bound"),
        "a negative gap": ("{at_least: 0.032, at_most: 0.034}", "{at_most: 0}", REFUTED, "<= the stated bound"),
        "closer than the fits": ("at_least: 0.032", "at_least: 0.03265", REJECTED, "from 0.03265, and may be off by"),
        "b of the other sign": ("b: 1/2}", "b: -1/2}", REFUTED, ">= the stated bound"),
        "A of the other sign": ("A: [[1/2]]", "A: [[-1/2]]", REFUTED, ">= the stated bound"),
        "another covariance": ("covariance: [[1/2]]", "covariance: [[1/3]]", REFUTED, ">= the stated bound"),
        "growth beyond what averages have": ("growth: 0.958", "growth: 9", REJECTED, "theta = 9"),
        "another coefficient": ("0.7177166744479", "0.8177166744479", REJECTED, "witness.q has"),
        "too few points": ("orders: [12, 12, 18]", "orders: [12, 12, 1]", REJECTED, "misses most for 2 <= v <= 7"),
        "a piece too long": ("[0, 0.125, 0.5, 2, 7]", "[0, 0.125, 0.5, 2, 12]", REJECTED, "for 2 <= v <= 12"),
        "fits that end too early": (
            "nodes: [0, 0.125, 0.5, 2, 7]", "nodes: [0, 0.125, 0.5, 2, 2.5]", REJECTED, "v = 2.5"),
        "a first cell too long": ("nodes: [0, 0.125,", "nodes: [0, 0.49,", REJECTED, "for 0 <= v <= 0.49"),
        "a piece that no ellipse fits around": (
            "nodes: [0, 0.125, 0.5, 2, 7]", "nodes: [0, 0.001, 0.5, 2, 7]", REJECTED,
            "nothing bounds what witness.q misses for 0.001 <= v <= 0.5"),
        "another coefficient of kappa": ("0.0369520779295", "0.5369520779295", REJECTED, "witness.kappa has"),
        "no gap": ("gap: {at_least: 0.032, at_most: 0.034}", "excess: 1", MALFORMED, "gap"),
        "no bound": ("{at_least: 0.032, at_most: 0.034}", "{}", MALFORMED, "at_least or at_most"),
        "a length asserted": ("asserts: {", "asserts: {length: 4, ", MALFORMED, "length"),
        "no length": ("  length: 4\n", "", MALFORMED, "length"),
        "one token": ("length: 4", "length: 1", MALFORMED, "an integer >= 2"),
        "A of another shape": ("A: [[1/2]]", "A: [[1/2, 0]]", MALFORMED, "1 x 1"),
        "no b": (", b: 1/2", "", MALFORMED, "b"),
        "a rate of 0": ("rate: 0.39599609375", "rate: 0", REJECTED, "the rate d"),
        "a negative growth": ("growth: 0.958", "growth: -1", REJECTED, "misses of the fits"),
        "orders for fewer pieces": ("orders: [12, 12, 18]", "orders: [12, 12]", MALFORMED, "3 orders"),
        "an order of 0": ("orders: [12, 12, 18]", "orders: [12, 0, 18]", MALFORMED, "an integer >= 1"),
        "an order without end": ("orders: [12, 12, 18]", "orders: [12, 99999999999999, 18]", MALFORMED, "at most 1000"),
        "nodes that fall": ("nodes: [0, 0.125, 0.5,", "nodes: [0, 0.5, 0.125,", REJECTED, "from the one before"),
        "nodes not from 0 on": ("nodes: [0, ", "nodes: [0.01, ", REJECTED, "the first variance"),
        "one cell": (
            "nodes: [0, 0.125, 0.5, 2, 7]\n  orders: [12, 12, 18]", "nodes: [0, 7]\n  orders: [12]", MALFORMED,
            "at least 3"),
        "no growth": ("  growth: 0.958\n", "", MALFORMED, "growth"),
        "a majorant": ("  growth: 0.958\n", "  growth: 0.958\n  majorant: logistic\n", MALFORMED, "majorant"),
        "no witness": (FITS, "", MALFORMED, "a witness"),
    },
)  # fmt: skip

FAMILIES = [LOGISTIC, POWER, TABLE, POINT]
CASES: list[Case] = [case for each in FAMILIES for case in each.cases()]
