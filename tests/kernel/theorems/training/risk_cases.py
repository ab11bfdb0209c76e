"""Accept and reject cases of `regression-risk`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, Family

NAME = "regression-risk"
family = partial(Family, NAME)

# b Sigma A = [[1/2, 1/2], [1/4, 1]] and E = [[-1/2, 1/2], [1/4, 0]].
ANYWHERE = family(
    "a point in the plane",
    """
given:
  covariance: [[1, 1/2], [1/2, 1]]
  parameters: {A: [[1, 0], [0, 2]], b: 1/2}
asserts:
  risk: 5/32
  gradient: {A: [[-1/16, 5/32], [1/16, 1/8]], b: 3/8}
  invariant: 19/4
  second_derivative: {along: {A: [[1, 0], [0, 0]], b: 0}, value: 5/16}
  predictions: [{w: [1, 0], query: [0, 1], value: 1/2}, {w: [2, 3], query: [1, -1], value: -9/4}]
  endpoint: {A: [[1, 1], [1, 1]], b: 1, radius: 3, trace: 40/9}
""",
    {
        "numbers written in other ways": ("b: 1/2}", "b: 0x1p-1}"),
        "a decimal": ("invariant: 19/4", "invariant: 4.75"),
        "an empty witness": ("asserts:", "witness: {}\nasserts:"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
        "no predictions": (
            "  predictions: [{w: [1, 0], query: [0, 1], value: 1/2}, {w: [2, 3], query: [1, -1], value: -9/4}]\n", ""),
        "no risk": ("  risk: 5/32\n", ""),
        "no trace": (", trace: 40/9", ""),
        "a larger radius": ("radius: 3,", "radius: 4,"),
    },
    {
        "risk too large by 10^-20": ("risk: 5/32", "risk: 0.15625000000000000001", REFUTED, "R = 1/2 tr(E Sigma E')"),
        "risk too small by 10^-20": ("risk: 5/32", "risk: 0.15624999999999999999", REFUTED, "R = 1/2 tr(E Sigma E')"),
        "risk without the half": ("risk: 5/32", "risk: 5/16", REFUTED, "R = 1/2 tr(E Sigma E')"),
        "risk of the other sign": ("risk: 5/32", "risk: -5/32", REFUTED, "R = 1/2 tr(E Sigma E')"),
        "gradient transposed": ("[[-1/16, 5/32], [1/16, 1/8]]", "[[-1/16, 1/16], [5/32, 1/8]]", REFUTED, "dR/dA"),
        "gradient of the other sign": ("[[-1/16, 5/32]", "[[1/16, 5/32]", REFUTED, "entry 0, 0"),
        "last entry of the gradient": ("[1/16, 1/8]]", "[1/16, 1/4]]", REFUTED, "entry 1, 1"),
        "gradient in b changed": ("b: 3/8}", "b: 3/4}", REFUTED, "dR/db"),
        "gradient in b of the other sign": ("b: 3/8}", "b: -3/8}", REFUTED, "dR/db"),
        "invariant with + b^2": ("invariant: 19/4", "invariant: 21/4", REFUTED, "invariant = |A|_F^2 - b^2"),
        "second derivative halved": ("value: 5/16}", "value: 1/8}", REFUTED, "h tr(H'Sigma E Sigma)"),
        "second derivative of the other sign": ("value: 5/16}", "value: -5/16}", REFUTED, "h tr(H'Sigma E Sigma)"),
        "another direction": ("along: {A: [[1, 0]", "along: {A: [[1, 1]", REFUTED, "h tr(H'Sigma E Sigma)"),
        "a direction in b": ("[0, 0]], b: 0}", "[0, 0]], b: 1}", REFUTED, "h tr(H'Sigma E Sigma)"),
        "prediction changed": ("value: 1/2}", "value: 1/3}", REFUTED, "value 0"),
        "second prediction changed": ("value: -9/4}", "value: 9/4}", REFUTED, "value 1"),
        "w and the query exchanged": ("w: [1, 0], query: [0, 1]", "w: [0, 1], query: [1, 0]", REFUTED, "value 0"),
        "trace changed": ("trace: 40/9", "trace: 41/9", REFUTED, "tr(Sigma^-2)"),
        "trace of the inverse": ("trace: 40/9", "trace: 8/3", REFUTED, "tr(Sigma^-2)"),
        "endpoint too near": ("radius: 3,", "radius: 1.7,", REFUTED, "|A* - A| <= radius"),
        "a Bayes point that is none": ("asserts:", "asserts:\n  stationary: bayes", REFUTED, "b Sigma A = I"),
        "a saddle that is none": ("asserts:", "asserts:\n  stationary: saddle", REFUTED, "tr(Sigma^2 A) = 0"),
        "A changed": ("A: [[1, 0], [0, 2]]", "A: [[1, 0], [0, 1]]", REFUTED, "R = 1/2"),
        "b changed": ("b: 1/2}", "b: 0.50000000000000000001}", REFUTED, "R = 1/2"),
        "covariance changed": ("[[1, 1/2], [1/2, 1]]", "[[1, 1/2], [1/2, 2]]", REFUTED, "R = 1/2"),
        "b = 0 with an endpoint": ("b: 1/2}", "b: 0}", MALFORMED, "b other than 0"),
        "singular covariance": ("[[1, 1/2], [1/2, 1]]", "[[1, 1/2], [1/2, 1/4]]", MALFORMED, "a singular matrix"),
        "indefinite covariance": ("[[1, 1/2], [1/2, 1]]", "[[1, 2], [2, 1]]", MALFORMED, "a negative eigenvalue"),
        "covariance that is not symmetric": ("[[1, 1/2], [1/2, 1]]", "[[1, 1/2], [1/3, 1]]", MALFORMED, "symmetric"),
        "covariance that is not square": ("[[1, 1/2], [1/2, 1]]", "[[1, 1/2]]", MALFORMED, "covariance"),
        "covariance in dimension 1": ("[[1, 1/2], [1/2, 1]]", "[[1]]", MALFORMED, "like the covariance"),
        "A too wide": ("A: [[1, 0], [0, 2]]", "A: [[1, 0, 0], [0, 2, 0]]", MALFORMED, "like the covariance"),
        "gradient too small": ("[[-1/16, 5/32], [1/16, 1/8]]", "[[-1/16]]", MALFORMED, "asserts.gradient.A"),
        "direction too tall": (
            "{A: [[1, 0], [0, 0]], b: 0}", "{A: [[1, 0], [0, 0], [0, 0]], b: 0}", MALFORMED, "along.A"),
        "endpoint too small": ("A: [[1, 1], [1, 1]]", "A: [[1, 1]]", MALFORMED, "asserts.endpoint.A"),
        "w too long": ("w: [1, 0]", "w: [1, 0, 0]", MALFORMED, "the dimension of a token"),
        "query too short": ("query: [0, 1]", "query: [0]", MALFORMED, "the dimension of a token"),
        "a negative radius": ("radius: 3,", "radius: -3,", MALFORMED, "a number >= 0"),
        "no covariance": ("  covariance: [[1, 1/2], [1/2, 1]]\n", "", MALFORMED, "no 'covariance'"),
        "no parameters": ("  parameters: {A: [[1, 0], [0, 2]], b: 1/2}\n", "", MALFORMED, "no 'parameters'"),
        "no b": (", b: 1/2}", "}", MALFORMED, "no 'b'"),
        "no A": ("{A: [[1, 0], [0, 2]], b: 1/2}", "{b: 1/2}", MALFORMED, "no 'A'"),
        "no radius": ("radius: 3, ", "", MALFORMED, "no 'radius'"),
        "an empty list of predictions": (
            "[{w: [1, 0], query: [0, 1], value: 1/2}, {w: [2, 3], query: [1, -1], value: -9/4}]", "[]", MALFORMED,
            "at least one item"),
        "another kind of point": ("asserts:", "asserts:\n  stationary: maximum", MALFORMED, "'bayes' or 'saddle'"),
        "an unknown key": ("asserts:", "asserts:\n  rate: 1", MALFORMED, "the unknown key 'rate'"),
        "an unknown key under given": ("  parameters:", "  length: 3\n  parameters:", MALFORMED, "'length'"),
        "a hint": ("asserts:", "witness: {bits: 64}\nasserts:", MALFORMED, "the unknown key 'bits'"),
        "a NaN": ("risk: 5/32", "risk: nan", MALFORMED, "an exact number"),
        "an infinity": ("b: 1/2}", "b: inf}", MALFORMED, "an exact number"),
        "a root": ("b: 1/2}", "b: sqrt(2)}", MALFORMED, "b"),
    },
)  # fmt: skip

# Sigma = diag(1/4, 1, 2), A = Sigma^-1 / b.
INVERSE = family(
    "the inverse of an anisotropic covariance",
    """
given:
  covariance: [[1/4, 0, 0], [0, 1, 0], [0, 0, 2]]
  parameters: {A: [[-2, 0, 0], [0, -1/2, 0], [0, 0, -1/4]], b: -2}
asserts:
  risk: 0
  stationary: bayes
  predictions: [{w: [1, 2, 3], query: [5, 7, 11], value: 52}]
  endpoint: {A: [[-2, 0, 0], [0, -0.5, 0], [0, 0, -0.25]], b: -2, radius: 1e-40, trace: 17.25}
""",
    {
        "with the gradient": ("asserts:", "asserts:\n  gradient: {A: [[0, 0, 0], [0, 0, 0], [0, 0, 0]], b: 0}"),
        "the other sign": (
            "{A: [[-2, 0, 0], [0, -1/2, 0], [0, 0, -1/4]], b: -2}\nasserts:\n  risk: 0\n  stationary: bayes\n"
            "  predictions: [{w: [1, 2, 3], query: [5, 7, 11], value: 52}]\n"
            "  endpoint: {A: [[-2, 0, 0], [0, -0.5, 0], [0, 0, -0.25]], b: -2,",
            "{A: [[2, 0, 0], [0, 1/2, 0], [0, 0, 1/4]], b: 2}\nasserts:\n  risk: 0\n  stationary: bayes\n"
            "  endpoint: {A: [[2, 0, 0], [0, 0.5, 0], [0, 0, 0.25]], b: 2,"),
    },
    {
        # The control: what would be learnt if Sigma^-1 were I.
        "the wrong control": (
            "parameters: {A: [[-2, 0, 0], [0, -1/2, 0], [0, 0, -1/4]], b: -2}",
            "parameters: {A: [[-1/2, 0, 0], [0, -1/2, 0], [0, 0, -1/2]], b: -2}", REFUTED,
            "no Bayes point: the risk there is 1.0703125"),
        "the other sign of b alone": ("[0, 0, -1/4]], b: -2}", "[0, 0, -1/4]], b: 2}", REFUTED, "no Bayes point"),
        "an entry off by 10^-20": ("[[-2, 0, 0], [0, -1/2, 0]", "[[-2, 1e-20, 0], [0, -1/2, 0]", REFUTED, "R ="),
        "an entry of the covariance": ("[[1/4, 0, 0]", "[[1/5, 0, 0]", REFUTED, "R = 1/2"),
        "a saddle": ("stationary: bayes", "stationary: saddle", REFUTED, "tr(Sigma^2 A) = 0"),
        "endpoint of the other sign": ("-0.25]], b: -2,", "-0.25]], b: 2,", REFUTED, "|b* - b| <= radius"),
        "endpoint off by 10^-39": (
            "-0.25]], b: -2,", "-0.25]], b: -2.000000000000000000000000000000000000001,", REFUTED, "|b* - b| <= radius"
        ),
        "entry of the endpoint off by 10^-39": (
            "[[-2, 0, 0], [0, -0.5", "[[-2, 1e-39, 0], [0, -0.5", REFUTED, "|A* - A| <= radius"),
        "a radius of nothing": ("radius: 1e-40", "radius: 0", INCONCLUSIVE, "undecided"),
        "another prediction": ("value: 52", "value: 52.00000000000000000001", REFUTED, "value 0"),
        "b = 0": ("[0, 0, -1/4]], b: -2}", "[0, 0, -1/4]], b: 0}", MALFORMED, "b other than 0"),
    },
)  # fmt: skip

SADDLE = family(
    "a saddle",
    """
given:
  covariance: [[2, 0], [0, 1]]
  parameters: {A: [[1, 5], [-7, -4]], b: 0}
asserts:
  stationary: saddle
  risk: 3/2
  gradient: {A: [[0, 0], [0, 0]], b: 0}
  second_derivative: {along: {A: [[4, 0], [0, 1]], b: 1}, value: 188}
""",
    {
        "the origin": (
            "{A: [[1, 5], [-7, -4]], b: 0}\nasserts:\n  stationary: saddle\n  risk: 3/2\n"
            "  gradient: {A: [[0, 0], [0, 0]], b: 0}\n"
            "  second_derivative: {along: {A: [[4, 0], [0, 1]], b: 1}, value: 188}",
            "{A: [[0, 0], [0, 0]], b: 0}\nasserts:\n  stationary: saddle"),
        "along the other direction": ("b: 1}, value: 188}", "b: -1}, value: 256}"),
    },
    {
        "b is not 0": ("-4]], b: 0}", "-4]], b: 1e-20}", REFUTED, "and 4 more"),
        "tr(Sigma^2 A) is not 0": ("-4]], b: 0}", "-3]], b: 0}", REFUTED, "dR/db"),
        "a Bayes point": ("stationary: saddle", "stationary: bayes", REFUTED, "no Bayes point: the risk there is 1.5"),
        "another second derivative": ("value: 188}", "value: 189}", REFUTED, "h tr(H'Sigma E Sigma)"),
        "another covariance": ("[[2, 0], [0, 1]]\n", "[[1, 0], [0, 1]]\n", REFUTED, "R = 1/2"),
    },
)  # fmt: skip

# delta = 0: b^4 = tr(Sigma^-2) = 2, in dimension 2 with Sigma = I; b = 2^(1/4).
BALANCED = family(
    "the balanced manifold",
    """
given:
  covariance: [[1, 0], [0, 1]]
  parameters: {A: [[3/5, 0], [0, 4/5]], b: 1}
asserts:
  invariant: 0
  endpoint: {A: [[0.8408964, 0], [0, 0.8408964]], b: 1.1892071, radius: 1.6e-8, trace: 2}
""",
    {
        "sharper": (
            "[[0.8408964, 0], [0, 0.8408964]], b: 1.1892071, radius: 1.6e-8",
            "[[0.84089641525, 0], [0, 0.84089641525]], b: 1.18920711500, radius: 1e-11"),
        "unbalanced": (
            "4/5]], b: 1}\nasserts:\n  invariant: 0\n"
            "  endpoint: {A: [[0.8408964, 0], [0, 0.8408964]], b: 1.1892071, radius: 1.6e-8",
            "4/5]], b: 1e-20}\nasserts:\n  endpoint: {A: [[1, 0], [0, 1]], b: 1, radius: 1e-9"),
    },
    {
        "a radius too small": ("radius: 1.6e-8", "radius: 1.5e-8", REFUTED, "|A* - A| <= radius"),
        "the other sign": ("b: 1}", "b: -1}", REFUTED, "|A* - A| <= radius"),
        "b changed by a digit": ("b: 1.1892071,", "b: 1.1892072,", REFUTED, "|b* - b| <= radius"),
        "an entry changed by a digit": ("[0, 0.8408964]]", "[0, 0.8408965]]", REFUTED, "|A* - A| <= radius"),
        "another invariant": ("invariant: 0", "invariant: 1e-30", REFUTED, "invariant = |A|_F^2 - b^2"),
        "a start that is not balanced": ("4/5]], b: 1}", "4/5]], b: 1.00001}", REFUTED, "invariant"),
        "another trace": ("trace: 2", "trace: 2.00000000000000000001", REFUTED, "tr(Sigma^-2)"),
    },
)  # fmt: skip

LINE = family(
    "one dimension",
    """
given:
  covariance: [[1/4]]
  parameters: {A: [[4]], b: 4}
asserts:
  risk: 9/8
  gradient: {A: [[3/4]], b: 3/4}
""",
    {},
    {
        "the risk of another b": ("b: 4}", "b: 2}", REFUTED, "R = 1/2"),
        "a negative variance": ("[[1/4]]", "[[-1/4]]", MALFORMED, "a negative eigenvalue"),
        "no variance": ("[[1/4]]", "[[0]]", MALFORMED, "a singular matrix"),
        "nothing asserted": ("  risk: 9/8\n  gradient: {A: [[3/4]], b: 3/4}", "  {}", MALFORMED, "nothing that is"),
    },
)

FAMILIES = [ANYWHERE, INVERSE, SADDLE, BALANCED, LINE]
CASES = [case for one in FAMILIES for case in one.cases()]
