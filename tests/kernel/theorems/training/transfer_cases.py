"""Accept and reject cases of `risk-transfer`, in titled families."""

from __future__ import annotations

from corpus import MALFORMED, REFUTED, REJECTED, Family

NAME = "risk-transfer"

LINE = Family(
    NAME,
    "one dimension",
    """
given:
  covariance: [[1]]
  start: {A: [[1/2]], b: 1/2}
  length: 27000
asserts:
  risk: 0.1
  time: 0.741
  tube: 0.0267
witness: {pieces: 39}
""",
    {
        "longer prompts": ("length: 27000", "length: 27001"),
        "far longer prompts": ("length: 27000", "length: 1e40"),
        "a larger risk": ("risk: 0.1\n", "risk: 0.11\n"),
        "a wider tube": ("tube: 0.0267", "tube: 1"),
        "no tube": ("  tube: 0.0267\n", ""),
        "more pieces": ("pieces: 39", "pieces: 60"),
        "another order": ("pieces: 39", "pieces: 39, order: 12"),
        "the usual number of pieces": ("witness: {pieces: 39}\n", ""),
        "both of the other sign": ("{A: [[1/2]], b: 1/2}", "{A: [[-1/2]], b: -1/2}"),
        "a start with another b": ("b: 1/2}\n  length: 27000", "b: 5/8}\n  length: 1e30"),
    },
    {
        "prompts a little too short": ("length: 27000", "length: 25000", REJECTED, "the bound of the distance"),
        "one piece": ("pieces: 39", "pieces: 1", REJECTED, "what the distance of the runs comes to"),
        "prompts of two tokens": ("length: 27000", "length: 2", REJECTED, "what the distance of the runs comes to"),
        "a risk a little too small": ("risk: 0.1\n", "risk: 0.099\n", REJECTED, "the bound of R_L at t = 0.741"),
        "a tiny risk": ("risk: 0.1\n", "risk: 1e-9\n", REJECTED, "the bound of R_L"),
        "a tube one part in 10^6 too thin": ("tube: 0.0267", "tube: 0.02662", REJECTED, "the distance of the runs"),
        "a time too early": ("time: 0.741", "time: 0.7", REJECTED, "the bound of R_L at t = 0.7"),
        "a time too late": ("time: 0.741", "time: 3", REJECTED, "what the distance of the runs comes to"),
        "a saddle": ("{A: [[1/2]], b: 1/2}", "{A: [[0]], b: 0}", REJECTED, "below tr Sigma"),
        "b of the other sign": ("b: 1/2}", "b: -1/2}", REJECTED, "below tr Sigma"),
        "a larger covariance": ("covariance: [[1]]", "covariance: [[2]]", REJECTED, "the distance of the runs"),
        "a singular covariance": ("covariance: [[1]]", "covariance: [[0]]", MALFORMED, "a singular matrix"),
        "a negative variance": ("covariance: [[1]]", "covariance: [[-1]]", MALFORMED, "a negative eigenvalue"),
        "a covariance that is not square": ("covariance: [[1]]", "covariance: [[1, 0]]", MALFORMED, "1 x 1"),
        "A of another shape": ("A: [[1/2]]", "A: [[1/2, 0], [0, 1/2]]", MALFORMED, "1 x 1 like the covariance"),
        "prompts of one token": ("length: 27000", "length: 1", MALFORMED, "a number >= 2"),
        "no length of prompts": ("  length: 27000\n", "", MALFORMED, "no 'length'"),
        "a length that is no integer": ("length: 27000", "length: 27000.5", MALFORMED, "an integer >= 2"),
        "no risk": ("  risk: 0.1\n", "", MALFORMED, "no 'risk'"),
        "no time": ("  time: 0.741\n", "", MALFORMED, "no 'time'"),
        "a risk of 0": ("risk: 0.1\n", "risk: 0\n", REJECTED, "the bound of R_L"),
        "a negative risk": ("risk: 0.1\n", "risk: -0.1\n", MALFORMED, "a number >= 0"),
        "a time of 0": ("time: 0.741", "time: 0", MALFORMED, "a number > 0"),
        "a negative tube": ("tube: 0.0267", "tube: -0.0267", MALFORMED, "a number > 0"),
        "no pieces": ("pieces: 39", "pieces: 0", MALFORMED, "an integer >= 1"),
        "too many pieces": ("pieces: 39", "pieces: 10001", MALFORMED, "at most 10000"),
        "an order of 1": ("pieces: 39", "order: 1", MALFORMED, "an integer >= 2"),
        "an order that is too high": ("pieces: 39", "order: 61", MALFORMED, "at most 60"),
        "no start": ("  start: {A: [[1/2]], b: 1/2}\n", "", MALFORMED, "no 'start'"),
        "a start without b": (", b: 1/2}", "}", MALFORMED, "no 'b'"),
        "an unknown key": ("  risk: 0.1\n", "  risk: 0.1\n  loss: 0.1\n", MALFORMED, "the unknown key 'loss'"),
        "a NaN": ("time: 0.741", "time: nan", MALFORMED, "an exact number"),
        "an infinite length": ("length: 27000", "length: inf", MALFORMED, "an exact number"),
        "a list of lengths": ("length: 27000", "length: [27000]", MALFORMED, "an exact number"),
        "a witness that is a number": ("witness: {pieces: 39}", "witness: 39", MALFORMED, "a mapping"),
    },
)  # fmt: skip

PLANE = Family(
    NAME,
    "the plane",
    """
given:
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[3/20, 0], [0, 1/5]], b: 1/4}
  length: 17e17
asserts: {risk: 0.1, time: 3.696, tube: 0.0441}
witness: {pieces: 56}
""",
    {
        "transposed": ("[[3/20, 0], [0, 1/5]]", "[[0.15, 0], [0, 0.2]]"),
        "longer prompts": ("length: 17e17", "length: 18e17"),
    },
    {
        "shorter prompts": ("length: 17e17", "length: 1e17", REJECTED, "the distance of the runs"),
        "a larger variance": ("[1/2, 5/4]]", "[1/2, 3/2]]", REJECTED, "the distance of the runs"),
        "a covariance that is not symmetric": ("[[1, 1/2]", "[[1, 1/3]", MALFORMED, "symmetric"),
        "an indefinite covariance": ("[1/2, 5/4]]", "[1/2, 1/5]]", MALFORMED, "a negative eigenvalue"),
        "a singular covariance": ("[1/2, 5/4]]", "[1/2, 1/4]]", MALFORMED, "a singular matrix"),
    },
)

# At the start 2R = 9/4 is above tr Sigma = 1/4: only later the theorem about infinite prompts applies.
OUTSIDE = Family(
    NAME,
    "a start of large risk",
    """
given:
  covariance: [[1/4]]
  start: {A: [[4]], b: 4}
  length: 13000000
asserts: {risk: 0.1, time: 9, tube: 0.639}
witness: {pieces: 60}
""",
    {"a time a little earlier, without a tube": ("time: 9, tube: 0.639", "time: 8.99999")},
    {
        "before the theorem applies": ("time: 9, tube: 0.639", "time: 0.0001, tube: 1", REJECTED, "below tr Sigma"),
        "a smaller risk": ("risk: 0.1", "risk: 0.05", REJECTED, "the bound of R_L"),
    },
)

# |A|_F^2 < b^2: the risk tends to 0 however large it is.
INSIDE = Family(
    NAME,
    "a start with b larger than A",
    """
given:
  covariance: [[1]]
  start: {A: [[0]], b: 2}
  length: 1e6
asserts: {risk: 0.05, time: 1, tube: 0.05}
witness: {pieces: 80}
""",
    {"a little longer": ("time: 1,", "time: 1.01,")},
    {"shorter prompts": ("length: 1e6", "length: 20", REJECTED, "the distance of the runs")},
)

# A simulation ends at 0.220229.
PROMPTS = Family(
    NAME,
    "given prompts",
    """
given:
  covariance: [[1]]
  start: {A: [[1/2]], b: 3/2}
  tokens: [[1], [-1/2], [2], [1/4], [-1], [3/2]]
  labels: [[1], [-1/2], [2], [-1/2], [2], [-3]]
  queries: [[1], [-1/2]]
  targets: [[1], [1]]
asserts: {risk: 0.221, time: 1}
witness: {pieces: 50, travel: 1/1000}
""",
    {
        "prompts of different lengths": ("  queries:", "  lengths: [3, 3]\n  queries:"),
        "a larger risk": ("risk: 0.221", "risk: 0.3"),
        "a later time": ("time: 1}", "time: 1.01}"),
        "shorter legs": ("travel: 1/1000", "travel: 1/2000"),
        "the usual legs": ("witness: {pieces: 50, travel: 1/1000}\n", ""),
        "an order that is not used": ("pieces: 50", "order: 7, pieces: 50"),
    },
    {
        "a risk that is not reached yet": ("risk: 0.221", "risk: 0.219", REFUTED, "R_L at t = 1"),
        "no risk at all": ("risk: 0.221", "risk: 0", REFUTED, "R_L at t = 1"),
        "a time too early": ("time: 1}", "time: 0.9}", REFUTED, "R_L at t = 0.9"),
        "labels of the other sign": ("[[1], [-1/2], [2], [-1/2],", "[[-1], [1/2], [-2], [-1/2],", REFUTED, "R_L at"),
        "a query of the other sign": ("queries: [[1], [-1/2]]", "queries: [[-1], [-1/2]]", REFUTED, "R_L at t = 1"),
        "other targets": ("targets: [[1], [1]]", "targets: [[1], [2]]", REFUTED, "R_L at t = 1"),
        "two tokens less in a prompt": ("  queries:", "  lengths: [5, 1]\n  queries:", REFUTED, "R_L at t = 1"),
        "legs too long": ("50, travel: 1/1000", "1, travel: 100", REJECTED, "the distance of the flow"),
        "a saddle of infinite prompts": ("{A: [[1/2]], b: 3/2}", "{A: [[0]], b: 0}", REFUTED, "R_L at t = 1"),
        "infinite prompts of a large risk": ("{A: [[1/2]], b: 3/2}", "{A: [[3]], b: 2}", REJECTED, "below tr Sigma"),
        "a tube": ("time: 1}", "time: 1, tube: 1}", MALFORMED, "no tube"),
        "a length as well": ("  queries:", "  length: 3\n  queries:", MALFORMED, "the unknown key 'length'"),
        "no labels": ("  labels: [[1], [-1/2], [2], [-1/2], [2], [-3]]\n", "", MALFORMED, "no 'labels'"),
        "no targets": ("  targets: [[1], [1]]\n", "", MALFORMED, "no 'targets'"),
        "a target too few": ("targets: [[1], [1]]", "targets: [[1]]", MALFORMED, "2 x 1"),
        "a label too few": ("[-1/2], [2], [-3]]", "[-1/2], [2]]", MALFORMED, "6 x 1"),
        "a token too few": ("[1/4], [-1], [3/2]]", "[1/4], [-1]]", MALFORMED, "5 x 1 (one label per token)"),
        "lengths of other prompts": ("  queries:", "  lengths: [3, 4]\n  queries:", MALFORMED, "7 tokens"),
        "legs of no length": ("travel: 1/1000", "travel: 0", MALFORMED, "a number > 0"),
    },
)  # fmt: skip

# Every prediction is right at the start, and the flow of the loss rests there.
EXACT = Family(
    NAME,
    "given prompts without a risk",
    """
given:
  covariance: [[1]]
  start: {A: [[0]], b: 1}
  tokens: [[1], [2], [1/3], [-1]]
  labels: [[1], [1], [-1], [-1]]
  queries: [[1], [-1/2]]
  targets: [[1], [-1]]
asserts: {risk: 0, time: 1}
witness: {pieces: 10}
""",
    {"a risk above 0": ("risk: 0,", "risk: 1e-9,")},
    {
        "a target that is missed": ("targets: [[1], [-1]]", "targets: [[1], [-0.999]]", REFUTED, "R_L at t = 1"),
        "a negative risk": ("risk: 0,", "risk: -1e-30,", MALFORMED, "a number >= 0"),
    },
)

FAMILIES = [LINE, PLANE, OUTSIDE, INSIDE, PROMPTS, EXACT]
CASES = [case for family in FAMILIES for case in family.cases()]
