"""Accept and reject cases of `spectral-distance` and `not-marchenko-pastur`, in titled families."""

from __future__ import annotations

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Family

DISTANCE, OTHER = "spectral-distance", "not-marchenko-pastur"


# Four tokens, beta^2 = 1/4, lambda = 1/2 from their size and scale.
TOKENS = Family(
    DISTANCE,
    "four tokens",
    """
given:
  queries: [[1, 0], [0, 1], [1, -1], [-2, 1]]
  keys: [[1, 2], [1/2, 0], [-1, 1], [0, -1]]
  scale: 1/sqrt(8)
  centred: true
  law: {from: weights}
asserts:
  law: {at_least: 0.40788, at_most: 0.40789}
  quarter_circle: {at_least: 0.45706, at_most: 0.45707}
  scaled_law: {at_least: 0.33706, at_most: 0.33707}
  scaled_quarter_circle: {at_least: 0.4157, at_most: 0.41571}
  separation: {at_least: 0.00782, at_most: 0.00783}
  scaled_separation: {at_least: 0.07863, at_most: 0.07864}
witness: {law_scale: 0.56151483668, quarter_circle_scale: 0.27131395731}
""",
    {
        "the law by its numbers": ("law: {from: weights}", "law: {beta: 1/2, lambda: 1/2}"),
        "the weights in another unit": (
            "queries: [[1, 0], [0, 1], [1, -1], [-2, 1]]\n  keys: [[1, 2], [1/2, 0], [-1, 1], [0, -1]]\n"
            "  scale: 1/sqrt(8)\n  centred: true\n  law: {from: weights}",
            "queries: [[2, 0], [0, 2], [2, -2], [-4, 2]]\n  keys: [[2, 4], [1, 0], [-2, 2], [0, -2]]\n"
            "  scale: 1/sqrt(128)\n  centred: true\n  law: {from: weights, unit: 2}"),
        "alpha^2 to five digits": ("law: {from: weights}", "law: {alpha2: 0.0340254, beta2: 1/4, lambda: 1/2}"),
        "lower bounds alone": ("law: {at_least: 0.40788, at_most: 0.40789}", "law: {at_least: 0.4}"),
        "a scale of fewer digits": (
            "law_scale: 0.56151483668, quarter_circle_scale: 0.27131395731",
            "law_scale: 0.5615148, quarter_circle_scale: 0.2713140"),
        "keys moved by one vector": ("[[1, 2], [1/2, 0], [-1, 1], [0, -1]]", "[[2, 5], [3/2, 3], [0, 4], [1, 2]]"),
        "keys in another order": ("[[1, 2], [1/2, 0],", "[[1/2, 0], [1, 2],"),
        "a difference that may be negative": ("{at_least: 0.00782, at_most: 0.00783}", "{at_least: -1}"),
    },
    {
        "hi a hair too small": ("at_most: 0.40789}", "at_most: 0.40788}", REFUTED, "distance to mu <= bound"),
        "lo a hair too large": ("law: {at_least: 0.40788,", "law: {at_least: 0.40789,", REFUTED, "distance to mu >="),
        "distances exchanged": (
            "law: {at_least: 0.40788, at_most: 0.40789}\n  quarter_circle: {at_least: 0.45706, at_most: 0.45707}",
            "quarter_circle: {at_least: 0.40788, at_most: 0.40789}\n  law: {at_least: 0.45706, at_most: 0.45707}",
            REFUTED, "distance to"),
        "scaled distances exchanged": (
            "scaled_law: {at_least: 0.33706, at_most: 0.33707}\n  scaled_quarter_circle: {at_least: 0.4157, ",
            "scaled_quarter_circle: {at_least: 0.33706, at_most: 0.33707}\n  scaled_law: {at_least: 0.4157, ", REFUTED,
            "smallest distance"),
        "scales exchanged": (
            "law_scale: 0.56151483668, quarter_circle_scale: 0.27131395731",
            "quarter_circle_scale: 0.56151483668, law_scale: 0.27131395731", REJECTED, "by the witness's scale"),
        "a scale that is too large": (
            "law_scale: 0.56151483668", "law_scale: 0.57", REJECTED, "by the witness's scale"),
        "a scale that is too small": (
            "quarter_circle_scale: 0.27131395731", "quarter_circle_scale: 0.27", REJECTED, "by the witness's scale"),
        "a scale that leaves all below it": (
            "law_scale: 0.56151483668", "law_scale: 1e-9", REJECTED, "witness's scale"),
        "no scaled distance so large": (
            "scaled_law: {at_least: 0.33706", "scaled_law: {at_least: 0.338", REFUTED, "refutes"),
        "none so small": (
            "at_most: 0.33707}", "at_most: 0.3370}", REFUTED, "its value at the witness's scale refutes it"),
        "a larger separation": ("at_least: 0.00782", "at_least: 0.00784", REFUTED, "less that to mu"),
        "a separation of the other sign": ("at_most: 0.00783}", "at_most: -0.00782}", REFUTED, "less that to mu"),
        "separations exchanged": (
            "  separation: {at_least: 0.00782, at_most: 0.00783}\n  scaled_separation: {at_least: 0.07863, ",
            "  scaled_separation: {at_least: 0.00782, at_most: 0.00783}\n  separation: {at_least: 0.07863, ", REFUTED,
            "less that to mu"),
        "another beta": ("law: {from: weights}", "law: {beta: 0.501, lambda: 1/2}", REFUTED, "distance to"),
        "another lambda": ("law: {from: weights}", "law: {beta: 1/2, lambda: 0.49}", REFUTED, "distance to"),
        "lambda and beta exchanged with those of d = p": (
            "law: {from: weights}", "law: {beta: 1/2, lambda: 1}", REFUTED, "distance to mu <= bound"),
        "another unit": ("{from: weights}", "{from: weights, unit: 1.01}", REFUTED, "distance to"),
        "a query off by 10^-4": ("queries: [[1, 0]", "queries: [[1.0001, 0]", REFUTED, "distance to"),
        "another scale of scores": ("scale: 1/sqrt(8)", "scale: 1/sqrt(8.01)", REFUTED, "distance to"),
        "not centred": ("centred: true", "centred: false", REFUTED, "distance to"),
        "queries for keys in part": ("[[1, 0], [0, 1],", "[[1, 2], [0, 1],", REFUTED, "distance to"),
        "a negative bound of a distance": ("law: {at_least: 0.40788,", "law: {at_least: -1,", MALFORMED, ">= 0"),
        "no bound": ("{at_least: 0.40788, at_most: 0.40789}", "{}", MALFORMED, "at_least or at_most"),
        "a scale of 0": ("law_scale: 0.56151483668", "law_scale: 0", MALFORMED, "> 0"),
        "a negative scale": ("law_scale: 0.5", "law_scale: -0.5", MALFORMED, "> 0"),
        "no witness": (
            "witness: {law_scale: 0.56151483668, quarter_circle_scale: 0.27131395731}\n", "", MALFORMED, "law_scale"),
        "one scale left out": ("law_scale: 0.56151483668, ", "", MALFORMED, "law_scale in the witness"),
        "a third scale": ("witness: {", "witness: {scale: 1, ", MALFORMED, "unknown key"),
        "scales of no use": (
            "  scaled_law: {at_least: 0.33706, at_most: 0.33707}\n"
            "  scaled_quarter_circle: {at_least: 0.4157, at_most: 0.41571}\n"
            "  separation: {at_least: 0.00782, at_most: 0.00783}\n"
            "  scaled_separation: {at_least: 0.07863, at_most: 0.07864}\n",
            "", MALFORMED, "no such scale"),
        "no law": ("  law: {from: weights}\n", "", MALFORMED, "law"),
        "a law from elsewhere": ("from: weights", "from: keys", MALFORMED, "'weights'"),
        "a law from weights with a beta": (
            "{from: weights}", "{from: weights, beta: 1/2}", MALFORMED, "from or beta, not both"),
        "a unit of 0": ("{from: weights}", "{from: weights, unit: 0}", MALFORMED, "> 0"),
        "a unit that is too large": ("{from: weights}", "{from: weights, unit: 1e6}", MALFORMED, "beta^2 = 25"),
        "beta of 0": ("{from: weights}", "{beta: 0, lambda: 1}", MALFORMED, "> 0"),
        "one key too few": ("[-1, 1], [0, -1]]", "[-1, 1]]", MALFORMED, "like the keys"),
    },
)  # fmt: skip

# A matrix that is far from its law and nearer to a quarter circle: separations are negative.
GIVEN = Family(
    DISTANCE,
    "a given matrix",
    """
given:
  matrix: [[0.3, -0.2, 0.1], [0.4, 0.1, -0.3], [0, 0.2, 0.5]]
  law: {beta: 1/2, lambda: 1/4}
asserts:
  law: {at_least: 0.72025, at_most: 0.72026}
  quarter_circle: {at_least: 0.33516, at_most: 0.33517}
  separation: {at_least: -0.40322, at_most: -0.40321}
witness: {quarter_circle_scale: 0.56413152268}
""",
    {
        "transposed": (
            "[[0.3, -0.2, 0.1], [0.4, 0.1, -0.3], [0, 0.2, 0.5]]",
            "[[0.3, 0.4, 0], [-0.2, 0.1, 0.2], [0.1, -0.3, 0.5]]"),
        "of the other sign": ("[[0.3, -0.2, 0.1]", "[[-0.3, 0.2, -0.1]"),
        "without a separation": (
            "  separation: {at_least: -0.40322, at_most: -0.40321}\nwitness: {quarter_circle_scale: 0.56413152268}\n",
            ""),
    },
    {
        "a separation where it is negative": (
            "{at_least: -0.40322, at_most: -0.40321}", "{at_least: 0.0001}", REFUTED, "less that to mu >= bound"),
        "no separation where it is negative": ("{at_least: -0.40322, ", "{at_least: 0, ", REFUTED, "less that to mu"),
        "entries exchanged": ("[[0.3, -0.2, 0.1]", "[[-0.2, 0.3, 0.1]", REFUTED, "distance to"),
        "twice the matrix": (
            "[[0.3, -0.2, 0.1], [0.4, 0.1, -0.3], [0, 0.2, 0.5]]", "[[0.6, -0.4, 0.2], [0.8, 0.2, -0.6], [0, 0.4, 1]]",
            REFUTED, "distance to"),
        "not square": (", [0, 0.2, 0.5]]", "]", MALFORMED, "2 x 2 (square"),
        "a law from weights that are not there": (
            "{beta: 1/2, lambda: 1/4}", "{from: weights}", MALFORMED, "beside a given"),
        "a law without lambda": ("{beta: 1/2, lambda: 1/4}", "{beta: 1/2}", MALFORMED, "lambda"),
        "a beta that is too large": ("{beta: 1/2,", "{beta: 1001,", MALFORMED, "at most 1000"),
        "a bound that is met": ("at_most: 0.72026}", "at_most: 0.72025}", REFUTED, "distance to mu"),
        "nothing asserted": (
            "asserts:\n  law: {at_least: 0.72025, at_most: 0.72026}\n"
            "  quarter_circle: {at_least: 0.33516, at_most: 0.33517}\n"
            "  separation: {at_least: -0.40322, at_most: -0.40321}\nwitness: {quarter_circle_scale: 0.56413152268}\n",
            "asserts: {}\n", MALFORMED, "nothing that is asserted"),
    },
)  # fmt: skip

# sigma = (2, 1, 1, 0) beside the law of beta = 1: equal values, and one that is 0. 2 is inside, 4 is not.
EQUAL = Family(
    DISTANCE,
    "equal singular values",
    """
given:
  matrix: [[0, 1, 0, 0], [0, 0, 0, 2], [1, 0, 0, 0], [0, 0, 0, 0]]
  law: {beta: 1, lambda: 1}
asserts: {law: {at_least: 1/4, at_most: 1/2}, quarter_circle: {at_least: 1/4, at_most: 1/2}}
""",
    {
        "closer to it": ("law: {at_least: 1/4, at_most: 1/2}", "law: {at_least: 0.2712931, at_most: 0.2712932}"),
    },
    {
        "more than there is": ("law: {at_least: 1/4,", "law: {at_least: 0.4,", REFUTED, "distance to mu"),
    },
)

ALL_ZERO = Family(
    DISTANCE,
    "a matrix of zeros",
    """
given: {matrix: [[0, 0], [0, 0]], law: {beta: 1, lambda: 1}}
asserts: {law: {at_least: 1, at_most: 1}, quarter_circle: {at_least: 1, at_most: 1}}
""",
    {},
    {
        "nearer than it is": (
            "law: {at_least: 1, at_most: 1}", "law: {at_most: 0.999999999}", REFUTED, "distance to mu"),
        "no scale is near": (
            "asserts: {law: {at_least: 1, at_most: 1}, quarter_circle: {at_least: 1, at_most: 1}}",
            "asserts: {scaled_law: {at_least: 1}}\nwitness: {law_scale: 1}", REJECTED, "by the witness's scale"),
    },
)  # fmt: skip

LAWS = Family(
    OTHER,
    "softmax",
    """
given: {beta: 1/2, lambda: 1}
asserts:
  fourth_moment: {value: 1/16}
  excess: {at_least: 0.7747, at_most: 0.7748}
  distance: {at_least: 0.114, at_most: 0.116}
  scaled_distance: {at_least: 0.087, at_most: 0.089}
witness: {scale: 0.4897406909}
""",
    {
        "the moment alone": (
            "  excess: {at_least: 0.7747, at_most: 0.7748}\n  distance: {at_least: 0.114, at_most: 0.116}\n"
            "  scaled_distance: {at_least: 0.087, at_most: 0.089}\nwitness: {scale: 0.4897406909}\n",
            ""),
        "the distance to four digits": ("{at_least: 0.114, at_most: 0.116}", "{at_least: 0.1147, at_most: 0.1149}"),
        "a scale near the best": ("scale: 0.4897406909", "scale: 0.49"),
        "the excess to 15 digits": (
            "excess: {at_least: 0.7747, at_most: 0.7748}",
            "excess: {at_least: 0.774757173417552, at_most: 0.774757173417554}"),
    },
    {
        "the moment off by 10^-20": ("value: 1/16", "value: 0.06250000000000000001", REFUTED, "beta^4/lambda"),
        "the moment of a quarter circle": ("value: 1/16", "value: 0", REFUTED, "beta^4/lambda"),
        "beta^4 lambda": ("lambda: 1}", "lambda: 2}", REFUTED, "m_4 - 2 m_2^2 = beta^4/lambda = value"),
        "another beta": ("beta: 1/2", "beta: 0.5001", REFUTED, "m_4 - 2 m_2^2 = beta^4/lambda = value"),
        "excess a hair too large": ("at_least: 0.7747,", "at_least: 0.7748,", REFUTED, "m_4/m_2^2 - 2 >= bound"),
        "excess of no sign": ("at_most: 0.7748}", "at_most: 0}", REFUTED, "m_4/m_2^2 - 2 <= bound"),
        "distance a hair too large": (
            "distance: {at_least: 0.114, ", "distance: {at_least: 0.115, ", REFUTED, "same variance"),
        "distance a hair too small": ("at_most: 0.116}", "at_most: 0.1147}", REFUTED, "same variance"),
        "no distance": (
            "distance: {at_least: 0.114, at_most: 0.116}", "distance: {at_most: 0}", REFUTED, "same variance"),
        "scaled distance too large": ("at_least: 0.087", "at_least: 0.0882", REFUTED, "refutes it"),
        "scaled distance too small": ("at_most: 0.089}", "at_most: 0.0878}", REFUTED, "refutes it"),
        "the scale of the same variance": ("scale: 0.4897406909", "scale: 0.533", REJECTED, "by the witness's scale"),
        "a scale that is far too small": ("scale: 0.4897406909", "scale: 0.01", REJECTED, "by the witness's scale"),
        "distances exchanged": (
            "distance: {at_least: 0.114, at_most: 0.116}\n  scaled_distance: {at_least: 0.087, at_most: 0.089}",
            "scaled_distance: {at_least: 0.114, at_most: 0.116}\n  distance: {at_least: 0.087, at_most: 0.089}",
            REFUTED, "quarter circle"),
        "no scale": ("witness: {scale: 0.4897406909}\n", "", MALFORMED, "scale in the witness"),
        "a scale of a matrix": ("{scale: 0.4897406909}", "{scale: 0.48974, law_scale: 1}", MALFORMED, "no such scale"),
        "a negative distance": ("distance: {at_least: 0.114,", "distance: {at_least: -1,", MALFORMED, ">= 0"),
        "a separation of no matrix": (
            "  fourth_moment: {value: 1/16}", "  separation: {at_least: 0}", MALFORMED,
            "separation and no given.finite"),
        "a matrix of which nothing is stated": (
            "lambda: 1}", "lambda: 1, finite: {matrix: [[1]]}}", MALFORMED,
            "as given.finite is a matrix, or no matrix"),
        "lambda of 0": ("lambda: 1}", "lambda: 0}", MALFORMED, "> 0"),
        "beta and alpha2": ("lambda: 1}", "lambda: 1, alpha2: 1}", MALFORMED, "beta or alpha2, not both"),
    },
)  # fmt: skip

RATIONAL = Family(
    OTHER,
    "rational numbers",
    """
given: {alpha2: 1/3, beta2: 2, lambda: 1/8}
asserts:
  fourth_moment: {value: 32}
  excess: {at_least: 288/49, at_most: 288/49}
""",
    {"bounds with room": ("at_least: 288/49, at_most: 288/49", "at_least: 5.8, at_most: 5.9")},
    {
        "off by 10^-20": ("at_most: 288/49}", "at_most: 5.87755102040816326530}", REFUTED, "m_4/m_2^2 - 2"),
        "excess and moment exchanged": (
            "fourth_moment: {value: 32}\n  excess: {at_least: 288/49, at_most: 288/49}",
            "fourth_moment: {value: 288/49}\n  excess: {at_least: 32, at_most: 32}", REFUTED,
            "m_4 - 2 m_2^2 = beta^4/lambda = value"),
        "another alpha^2": ("alpha2: 1/3", "alpha2: 0.3333333333333", REFUTED, "m_4/m_2^2 - 2"),
        "nothing asserted": (
            "  fourth_moment: {value: 32}\n  excess: {at_least: 288/49, at_most: 288/49}\n", "  {}\n", MALFORMED,
            "nothing that is asserted"),
    },
)  # fmt: skip

FINITE = Family(
    OTHER,
    "a matrix beside it",
    """
given: {beta: 1/2, lambda: 1/4, finite: {matrix: [[0.3, -0.2, 0.1], [0.4, 0.1, -0.3], [0, 0.2, 0.5]]}}
asserts:
  fourth_moment: {value: 1/4}
  separation: {at_least: -0.4033, at_most: -0.4032}
  scaled_separation: {at_least: -0.0126, at_most: -0.0125}
witness: {law_scale: 2.5387549797, quarter_circle_scale: 0.56413152268}
""",
    {
        "one separation": (
            "  scaled_separation: {at_least: -0.0126, at_most: -0.0125}\nwitness: {law_scale: 2.5387549797, ",
            "witness: {",
        )
    },
    {
        "a separation where it is negative": ("at_most: -0.4032}", "at_most: -0.5}", REFUTED, "less that to mu"),
        "of the other sign": ("{at_least: -0.0126, at_most: -0.0125}", "{at_least: 0.0125}", REFUTED, "at any scale"),
        "a bad scale": ("law_scale: 2.5387549797", "law_scale: 2.6", REJECTED, "by the witness's scale"),
        "not square": (", [0, 0.2, 0.5]]", "]", MALFORMED, "2 x 2 (square"),
        "no matrix": (
            ", finite: {matrix: [[0.3, -0.2, 0.1], [0.4, 0.1, -0.3], [0, 0.2, 0.5]]}", "", MALFORMED,
            "separation and no given.finite"),
    },
)  # fmt: skip

# Weights of four tokens at beta = 2 that are cut off where four tokens ask for it, 3.352985...
CUT = Family(
    DISTANCE,
    "a truncated law",
    """
given:
  queries: [[1, 0], [0, 1], [1, -1], [-2, 1]]
  keys: [[1, 2], [1/2, 0], [-1, 1], [0, -1]]
  scale: 1/sqrt(8)
  centred: true
  law: {from: weights, unit: 2, truncated_at: 3.35299}
asserts:
  fixed_point: {radius: 0.00001, which: largest}
  law: {at_least: 0.6202, at_most: 0.62021}
  quarter_circle: {at_least: 0.70043, at_most: 0.70044}
  scaled_law: {at_least: 0.38844, at_most: 0.38845}
  separation: {at_least: -0.20451, at_most: -0.2045}
witness: {law_scale: 0.15933663178, quarter_circle_scale: 0.27131395731}
""",
    {
        "the law by its numbers": (
            "{from: weights, unit: 2, truncated_at: 3.35299}", "{beta: 2, lambda: 1/2, truncated_at: 3.35299}"),
        "more digits": (
            "truncated_at: 3.35299}\nasserts:\n  fixed_point: {radius: 0.00001,",
            "truncated_at: 3.3529855615}\nasserts:\n  fixed_point: {radius: 1e-10,"),
        "some solution": ("which: largest", "which: some"),
        "a wider bracket": ("radius: 0.00001", "radius: 0.01"),
        "nothing of the cut": ("  fixed_point: {radius: 0.00001, which: largest}\n", ""),
        "the cut alone": (
            "  law: {at_least: 0.6202, at_most: 0.62021}\n  quarter_circle: {at_least: 0.70043, at_most: 0.70044}\n"
            "  scaled_law: {at_least: 0.38844, at_most: 0.38845}\n"
            "  separation: {at_least: -0.20451, at_most: -0.2045}\n"
            "witness: {law_scale: 0.15933663178, quarter_circle_scale: 0.27131395731}\n",
            ""),
    },
    {
        "a bracket above the solution": ("radius: 0.00001", "radius: 0.000001", REFUTED, "<= d m(tau - r)"),
        "a bracket below it": ("truncated_at: 3.35299}", "truncated_at: 3.35297}", REFUTED, ">= d m(tau + r)"),
        "no cut to speak of": ("truncated_at: 3.35299}", "truncated_at: 1e9}", REFUTED, "<= d m(tau - r)"),
        "another unit": ("unit: 2,", "unit: 2.001,", REFUTED, "d m(tau"),
        "another beta": (
            "{from: weights, unit: 2, truncated_at: 3.35299}", "{beta: 2.001, lambda: 1/2, truncated_at: 3.35299}",
            REFUTED, "d m(tau"),
        "another lambda": (
            "{from: weights, unit: 2, truncated_at: 3.35299}", "{beta: 2, lambda: 0.501, truncated_at: 3.35299}",
            REFUTED, "distance to mu"),
        "a bracket so wide that m may not be tame in it": ("radius: 0.00001", "radius: 3", REJECTED, "d Q(c) <= "),
        "the law without a cut": (
            "unit: 2, truncated_at: 3.35299}\nasserts:\n  fixed_point: {radius: 0.00001, which: largest}\n",
            "unit: 2}\nasserts:\n", REFUTED, "distance to mu"),
        "a cut of no tokens": (
            "3.35299}\nasserts:\n  fixed_point: {radius: 0.00001, which: largest}\n", "3.4}\nasserts:\n", REFUTED,
            "distance to mu"),
        "the distance to mu a hair too small": ("at_most: 0.62021}", "at_most: 0.6202}", REFUTED, "mu <= bound"),
        "the circle of the law without a cut": ("0.70043, at_most: 0.70044", "0.9, at_most: 1", REFUTED, "same var"),
        "a separation of the other sign": (
            "{at_least: -0.20451, at_most: -0.2045}", "{at_least: 0.2045}", REFUTED, "less that to mu"),
        "a fixed point of no cut": (", truncated_at: 3.35299", "", MALFORMED, "no given.law.truncated_at"),
        "a fixed point of a law by its numbers": (
            "{from: weights, unit: 2, truncated_at: 3.35299}",
            "{alpha2: 1, beta2: 1, lambda: 1, truncated_at: 3.35299}", MALFORMED, "the unknown key 'truncated_at'"),
        "a radius of 0": ("radius: 0.00001", "radius: 0", MALFORMED, "> 0"),
        "a radius that reaches 0": ("radius: 0.00001", "radius: 3.35299", MALFORMED, "a radius below truncated_at"),
        "no radius": ("radius: 0.00001, ", "", MALFORMED, "no 'radius'"),
        "not said which": (", which: largest", "", MALFORMED, "no 'which'"),
        "the only one": ("which: largest", "which: only", MALFORMED, "'some' or 'largest'"),
        "a cut at 0": ("truncated_at: 3.35299", "truncated_at: 0", MALFORMED, "> 0"),
    },
)  # fmt: skip

# A given matrix of three rows, where the equation for the cut is not shown to grow.
CUT_MATRIX = Family(
    DISTANCE,
    "a truncated law of three tokens",
    """
given:
  matrix: [[0.3, -0.2, 0.1], [0.4, 0.1, -0.3], [0, 0.2, 0.5]]
  law: {beta: 3/2, lambda: 1, truncated_at: 1.76321}
asserts:
  fixed_point: {radius: 0.00001, which: some}
  law: {at_least: 0.51203, at_most: 0.51204}
""",
    {"nothing of the cut": ("  fixed_point: {radius: 0.00001, which: some}\n", "")},
    {
        "the largest": ("which: some", "which: largest", REJECTED, "d Q(c) <= (E f)^2"),
        "a matrix of four rows": (
            "[[0.3, -0.2, 0.1], [0.4, 0.1, -0.3], [0, 0.2, 0.5]]",
            "[[0.3, -0.2, 0.1, 0], [0.4, 0.1, -0.3, 0], [0, 0.2, 0.5, 0], [0, 0, 0, 0.1]]", REFUTED, ">= d m(tau + r)"),
        "a cut so low that nothing is known of alpha": (
            "truncated_at: 1.76321}\nasserts:\n  fixed_point: {radius: 0.00001, which: some}\n",
            "truncated_at: 1e-5000}\nasserts:\n", INCONCLUSIVE, "undecided at the limit of 4096 bits"),
        "nothing asserted": (
            "  fixed_point: {radius: 0.00001, which: some}\n  law: {at_least: 0.51203, at_most: 0.51204}\n", "  {}\n",
            MALFORMED, "fixed_point or law"),
    },
)  # fmt: skip

# Pieces of very different sizes: the part below the gap has the mass 1 - lambda, the other reaches to 5e14.
TWO_PIECES = Family(
    OTHER,
    "a lambda next to 0",
    """
given: {beta: 1/2, lambda: 1e-30}
asserts: {distance: {at_least: 0.5757, at_most: 0.5758}}
""",
    {
        "a larger lambda": ("1e-30", "1e-10"),
    },
    {
        "less than it is": ("at_most: 0.5758", "at_most: 0.5757", REFUTED, "of the same variance <="),
        "more than it is": ("at_least: 0.5757", "at_least: 0.5758", REFUTED, "of the same variance >="),
        "a lambda below 0": ("lambda: 1e-30", "lambda: -1e-30", MALFORMED, "> 0"),
        "a distance below 0": ("at_least: 0.5757", "at_least: -1", MALFORMED, ">= 0"),
        "of another beta": ("beta: 1/2", "beta: 3/5", REFUTED, "of the same variance"),
        "all of the mass": ("at_least: 0.5757, at_most: 0.5758", "at_least: 1", REFUTED, ">= bound"),
    },
)

# Nearly half of the mass on [0, 1.4e-150].
NEARLY_AN_ATOM = Family(
    OTHER,
    "an alpha next to 0",
    """
given: {alpha2: 1e-300, beta2: 1/4, lambda: 1/2}
asserts: {distance: {at_least: 0.4999, at_most: 0.5001}}
""",
    {
        "no gap": (
            "lambda: 1/2}\nasserts: {distance: {at_least: 0.4999, at_most: 0.5001}}",
            "lambda: 1}\nasserts: {distance: {at_least: 0.155, at_most: 0.156}}",
        )
    },
    {
        "less than it is": ("at_most: 0.5001", "at_most: 0.4999", REFUTED, "of the same variance <="),
        "more than it is": ("at_least: 0.4999", "at_least: 0.5001", REFUTED, "of the same variance >="),
        "no distance": ("at_least: 0.4999, at_most: 0.5001", "at_most: 0", REFUTED, "of the same variance <="),
        "another lambda": ("lambda: 1/2", "lambda: 1/3", REFUTED, "of the same variance"),
        "all of the mass": ("at_least: 0.4999, at_most: 0.5001", "at_least: 1", REFUTED, ">= bound"),
        "an alpha below 0": ("alpha2: 1e-300", "alpha2: -1e-300", MALFORMED, "> 0"),
        "an alpha of 0": ("alpha2: 1e-300", "alpha2: 0", MALFORMED, "> 0"),
    },
)

FAMILIES = [CUT, CUT_MATRIX, TOKENS, GIVEN, EQUAL, ALL_ZERO, LAWS, RATIONAL, FINITE]
# The second opinion looks at tails on one even grid, and its quartics have no roots in doubles for such numbers.
EXTREME = [TWO_PIECES, NEARLY_AN_ATOM]
CASES = [case for one in (*FAMILIES, *EXTREME) for case in one.cases()]
