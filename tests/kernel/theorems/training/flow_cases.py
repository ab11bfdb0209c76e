"""Accept and reject cases of `flow-trajectory`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, Family

NAME = "flow-trajectory"
family = partial(Family, NAME)

# A = b = (1 + 3 e^(-2t))^(-1/2): 0.843347256014... at t = 1 and 0.996302480779... at t = 3.
LINE = family(
    "a balanced start on the line",
    """
given:
  covariance: [[1]]
  start: {A: [[1/2]], b: 1/2}
asserts:
  points:
  - time: 1
    A: [[0.8]]
    b: 0.8
    radius: 0.0613023
    risk: {lower: 0.0416927, upper: 0.0416928}
    bayes: 0.221541
    tube: 0.0697
  - {time: 3, A: [[1]], b: 1.0, radius: 0.00522909, tube: 0.119}
""",
    {
        "numbers written in other ways": ("A: [[1/2]], b: 1/2", "A: [[0.5]], b: 0x1p-1"),
        "a precision to begin with": ("asserts:", "witness: {bits: 120}\nasserts:"),
        "an order": ("asserts:", "witness: {order: 8}\nasserts:"),
        "the largest order": ("asserts:", "witness: {order: 100}\nasserts:"),
        "an empty witness": ("asserts:", "witness: {}\nasserts:"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
        "no risk": ("    risk: {lower: 0.0416927, upper: 0.0416928}\n", ""),
        "no bayes": ("    bayes: 0.221541\n", ""),
        "no tube": ("    tube: 0.0697\n", ""),
        "a single point": ("  - {time: 3, A: [[1]], b: 1.0, radius: 0.00522909, tube: 0.119}\n", ""),
        "a larger radius": ("radius: 0.0613023", "radius: 100"),
        "the flow at rest": (
            "{time: 3, A: [[1]], b: 1.0, radius: 0.00522909, tube: 0.119}",
            "{time: 1e6, A: [[1]], b: 1.0, radius: 1e-8}"),
    },
    {
        "a radius one part in a million too thin": (
            "radius: 0.0613023", "radius: 0.0613022", REFUTED, "distance of (A, b) at t = 1"),
        "a second radius too thin": ("radius: 0.00522909", "radius: 0.00522908", REFUTED, "at t = 3"),
        "A one part in a million off": ("A: [[0.8]]", "A: [[0.7999999]]", REFUTED, "from what is stated"),
        "b one part in a million off": ("b: 0.8", "b: 0.7999999", REFUTED, "from what is stated"),
        "A and b of the other sign": (
            "A: [[0.8]]\n    b: 0.8", "A: [[-0.8]]\n    b: -0.8", REFUTED, "from what is stated"),
        "b of the other sign": ("b: 0.8", "b: -0.8", REFUTED, "from what is stated"),
        "a radius of 0": ("radius: 0.0613023", "radius: 0", REFUTED, "from what is stated"),
        "a little earlier": ("time: 1\n", "time: 0.999999\n", REFUTED, "R at t = 0.999999"),
        "a little later": ("time: 3,", "time: 2.99999,", REFUTED, "from what is stated"),
        "the risk less": ("upper: 0.0416928", "upper: 0.04169272", REFUTED, "R at t = 1"),
        "the risk more": ("lower: 0.0416927", "lower: 0.04169273", REFUTED, "R at t = 1"),
        "the risk without its half": (
            "{lower: 0.0416927, upper: 0.0416928}", "{lower: 0.083, upper: 0.084}", REFUTED, "R at"),
        "a risk of 0": ("{lower: 0.0416927, upper: 0.0416928}", "{lower: 0, upper: 0}", REFUTED, "R at t = 1"),
        "nearer to the Bayes point": ("bayes: 0.221541", "bayes: 0.221540", REFUTED, "the zero of R"),
        "at the Bayes point": ("bayes: 0.221541", "bayes: 0", REFUTED, "the zero of R"),
        "a tube too thin": ("tube: 0.0697", "tube: 0.0695", REFUTED, "from the line that ends at t = 1"),
        "a tube as thin as at its ends": ("tube: 0.119", "tube: 0.0613", REFUTED, "from the line that ends at t = 3"),
        "a tube of no width": ("tube: 0.119", "tube: 0", REFUTED, "from the line that ends at t = 3"),
        "another start": ("A: [[1/2]], b: 1/2", "A: [[1/2]], b: 0.500001", REFUTED, "from what is stated"),
        "a start with the same invariant": (
            "A: [[1/2]], b: 1/2", "A: [[0.499999]], b: 0.499999", REFUTED, "R at t = 1"),
        "another covariance": ("[[1]]\n  start", "[[1.000001]]\n  start", REFUTED, "from what is stated"),
        "a point off the invariant": (
            "A: [[1]], b: 1.0", "A: [[1.01]], b: 1.0", REFUTED, "the change of |A|_F^2 - b^2"),
        "times in another order": ("time: 3,", "time: 1/2,", MALFORMED, "a time after that of the point before, 1"),
        "a time twice": ("time: 3,", "time: 1.0,", MALFORMED, "a time after that of the point before, 1"),
        "time 0": ("time: 1\n", "time: 0\n", MALFORMED, "a number > 0"),
        "a negative time": ("time: 1\n", "time: -1\n", MALFORMED, "a number > 0"),
        "a negative radius": ("radius: 0.0613023", "radius: -0.0613023", MALFORMED, "a number >= 0"),
        "a negative tube": ("tube: 0.119", "tube: -1", MALFORMED, "a number >= 0"),
        "bounds turned round": (
            "{lower: 0.0416927, upper: 0.0416928}", "{lower: 0.0416928, upper: 0.0416927}", REFUTED, "R at t = 1"),
        "half of the risk": ("{lower: 0.0416927, upper: 0.0416928}", "{lower: 0.0416927}", MALFORMED, "no 'upper'"),
        "no points": (
            """points:
  - time: 1
    A: [[0.8]]
    b: 0.8
    radius: 0.0613023
    risk: {lower: 0.0416927, upper: 0.0416928}
    bayes: 0.221541
    tube: 0.0697
  - {time: 3, A: [[1]], b: 1.0, radius: 0.00522909, tube: 0.119}
""",
            "points: []\n",
            MALFORMED,
            "at least one item",
        ),
        "a point without a time": ("  - time: 1\n    A", "  - A", MALFORMED, "no 'time'"),
        "a point without b": ("    b: 0.8\n", "", MALFORMED, "no 'b'"),
        "a point without A": ("    A: [[0.8]]\n", "", MALFORMED, "no 'A'"),
        "a point without a radius": ("    radius: 0.0613023\n", "", MALFORMED, "no 'radius'"),
        "a point in the plane": ("A: [[0.8]]", "A: [[0.8, 0], [0, 0.8]]", MALFORMED, "like the covariance"),
        "a start in the plane": ("A: [[1/2]]", "A: [[1/2, 0], [0, 1/2]]", MALFORMED, "like the covariance"),
        "a covariance of 0": ("[[1]]\n  start", "[[0]]\n  start", MALFORMED, "a singular matrix"),
        "a negative covariance": ("[[1]]\n  start", "[[-1]]\n  start", MALFORMED, "a negative eigenvalue"),
        "no start": ("  start: {A: [[1/2]], b: 1/2}\n", "", MALFORMED, "no 'start'"),
        "no covariance": ("  covariance: [[1]]\n", "", MALFORMED, "no 'covariance'"),
        "a start without b": (", b: 1/2}", "}", MALFORMED, "no 'b'"),
        "an order too low": ("asserts:", "witness: {order: 7}\nasserts:", MALFORMED, "an integer >= 8"),
        "an order too high": ("asserts:", "witness: {order: 101}\nasserts:", MALFORMED, "at most 100"),
        "one bit": ("asserts:", "witness: {bits: 1}\nasserts:", MALFORMED, "an integer >= 2"),
        "an unknown hint": ("asserts:", "witness: {step: 1}\nasserts:", MALFORMED, "the unknown key 'step'"),
        "an unknown key": ("    bayes:", "    limit:", MALFORMED, "the unknown key 'limit'"),
        "an unknown key under given": ("  start:", "  training: {rule: flow}\n  start:", MALFORMED, "'training'"),
        "a NaN": ("b: 0.8", "b: nan", MALFORMED, "an exact number"),
        "an infinite radius": ("radius: 0.0613023", "radius: inf", MALFORMED, "an exact number"),
    },
)  # fmt: skip

# Sigma = [[1, 1/2], [1/2, 5/4]], and an A that does not commute with it; b < 0.
PLANE = family(
    "a start in the plane",
    """
given:
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[-1/5, 1/10], [0, -2/5]], b: -1/2}
asserts:
  points:
  - time: 0.5
    A: [[-0.424880244, -0.034649594], [-0.132391032, -0.650795195]]
    b: -0.814116446
    radius: 1e-8
    risk: {lower: 0.20886, upper: 0.208861}
    tube: 0.0598
  - time: 20
    A: [[-0.939525924, 0.375809267], [0.375809267, -0.751621292]]
    b: -1.330454335
    radius: 1.1e-8
    risk: {lower: 4.02889e-12, upper: 4.0289e-12}
    bayes: 3.38e-6
""",
    {
        "no tube": ("    tube: 0.0598\n", ""),
        "a tube that ends later": ("bayes: 3.38e-6", "bayes: 3.38e-6\n    tube: 0.648"),
        "a tube of another line": ("bayes: 3.38e-6", "bayes: 3.38e-6\n    tube: 1"),
        "a higher order": ("asserts:", "witness: {order: 30, bits: 96}\nasserts:"),
    },
    {
        "transposed": ("-0.034649594], [-0.132391032", "-0.132391032], [-0.034649594", REFUTED, "from what is stated"),
        "of the other sign": ("b: -1.330454335", "b: 1.330454335", REFUTED, "at t = 20"),
        "a digit of A": ("0.375809267]", "0.375809287]", REFUTED, "at t = 20"),
        "a digit of b": ("-0.814116446", "-0.814116466", REFUTED, "the change of |A|_F^2 - b^2"),
        "a tube too thin": ("tube: 0.0598", "tube: 0.0596", REFUTED, "from the line that ends at t = 0.5"),
        "nearer to the Bayes point": ("bayes: 3.38e-6", "bayes: 3.3791e-6", REFUTED, "the zero of R"),
        "a smaller risk": ("upper: 4.0289e-12", "upper: 4.028897e-12", REFUTED, "R at t = 20"),
        "a start transposed": ("[[-1/5, 1/10], [0, -2/5]]", "[[-1/5, 0], [1/10, -2/5]]", REFUTED, "at t = 0.5"),
        "a start with an entry moved": (
            "[[-1/5, 1/10], [0, -2/5]]", "[[-1/5, 1/10], [1e-6, -2/5]]", REFUTED, "from what is stated"),
        "a covariance moved": ("[1/2, 5/4]]", "[1/2, 1.2501]]", REFUTED, "from what is stated"),
        "a covariance that is not symmetric": (
            "[[1, 1/2], [1/2, 5/4]]", "[[1, 1/2], [1/3, 5/4]]", MALFORMED, "symmetric"),
        "a singular covariance": ("[1/2, 5/4]]", "[1/2, 1/4]]", MALFORMED, "a singular matrix"),
        "an indefinite covariance": ("[1/2, 5/4]]", "[1/2, 1/5]]", MALFORMED, "a negative eigenvalue"),
        "a covariance of three": (
            "[[1, 1/2], [1/2, 5/4]]", "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", MALFORMED, "like the covariance"),
        "a ragged point": (
            "-0.034649594], [-0.132391032, -0.650795195]]", "-0.034649594], [-0.132391032]]", MALFORMED,
            "like the first row"),
    },
)  # fmt: skip

# b = 0 and tr(A'Sigma^2) = 0: the flow rests, at a saddle.
REST = family(
    "a flow that rests",
    """
given:
  covariance: [[1, 0], [0, 1]]
  start: {A: [[1, 2], [3, -1]], b: 0}
asserts:
  points: [{time: 1000, A: [[1, 2], [3, -1]], b: 0, radius: 1e-30, risk: {lower: 0.999, upper: 1.001}, tube: 1e-9}]
""",
    {},
    {
        "a start beside the saddle": (
            "[3, -1]], b: 0}\nasserts", "[3, -1]], b: 1/1000}\nasserts", REFUTED, "|A|_F^2 - b^2"),
        "another point": (
            "{time: 1000, A: [[1, 2]", "{time: 1000, A: [[1, 2.001]", REFUTED, "the change of |A|_F^2 - b^2"),
        "no Bayes point, as b = 0": ("radius: 1e-30", "radius: 1e-30, bayes: 9", MALFORMED, "a start that moves"),
    },
)  # fmt: skip

# From b = 0 the flow takes the sign of tr(A'Sigma^2).
FROM_0 = family(
    "a start with b = 0",
    """
given:
  covariance: [[2]]
  start: {A: [[1/4]], b: 0}
asserts:
  points:
  - time: 0.25
    A: [[0.363747054]]
    b: 0.264219453
    radius: 1e-8
    risk: {lower: 0.652511, upper: 0.652512}
    bayes: 0.558
""",
    {},
    {
        "of the other sign": ("b: 0.264219453", "b: -0.264219453", REFUTED, "from what is stated"),
        "from the other side": ("A: [[1/4]]", "A: [[-1/4]]", REFUTED, "from what is stated"),
    },
)

FAMILIES = [LINE, PLANE, REST, FROM_0]
CASES = [case for one in FAMILIES for case in one.cases()]
