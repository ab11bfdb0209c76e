"""Accept and reject cases of `training-convergence`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Family

NAME = "training-convergence"
family = partial(Family, NAME)

# R(0) = 0.145, delta = 0, the limit is b = tr(Sigma^-2)^(1/4), A = Sigma^-1/b.
FLOW = family(
    "the flow in the plane",
    """
given:
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[3/5, 0], [0, 4/5]], b: 1}
  training: {rule: flow}
asserts:
  risk: 0.145
  rate: 0.1553
  length: 1.076
  limit: {sign: positive, A: [[0.945, -0.378], [-0.378, 0.756]], b: 1.323, radius: 0.0002}
  risks: [{at: 0, at_most: 0.1450}, {at: 5, at_most: 0.01434}]
""",
    {
        "a larger bound of the risk": ("risk: 0.145\n", "risk: 0.146\n"),
        "a smaller rate": ("rate: 0.1553", "rate: 1e-30"),
        "no length": ("  length: 1.076\n", ""),
        "no risks": ("  risks: [{at: 0, at_most: 0.1450}, {at: 5, at_most: 0.01434}]\n", ""),
        "a limit without numbers": (", A: [[0.945, -0.378], [-0.378, 0.756]], b: 1.323, radius: 0.0002", ""),
        "the invariant, exactly": ("radius: 0.0002}", "radius: 0.0002, invariant: {lower: 0, upper: 0}}"),
        "b of the other sign": (
            "{A: [[3/5, 0], [0, 4/5]], b: 1}\n  training: {rule: flow}\nasserts:\n  risk: 0.145\n  rate: 0.1553\n"
            "  length: 1.076\n  limit: {sign: positive, A: [[0.945, -0.378], [-0.378, 0.756]], b: 1.323,",
            "{A: [[-3/5, 0], [0, -4/5]], b: -1}\n  training: {rule: flow}\nasserts:\n  risk: 0.145\n  rate: 0.1553\n"
            "  length: 1.076\n  limit: {sign: negative, A: [[-0.945, 0.378], [0.378, -0.756]], b: -1.323,"),
        "a time very much later": ("{at: 5, at_most: 0.01434}", "{at: 10000, at_most: 1e-3000}"),
        "an order that is not used": ("asserts:", "witness: {order: 7}\nasserts:"),
        "from a time that is reached by rates": ("  risk: 0.145\n", "  from: 0\n  risk: 0.145\n"),
    },
    {
        "a risk below that of the start": ("risk: 0.145\n", "risk: 0.1449999999999\n", REFUTED, "R at t = 0"),
        "a rate a little too large": ("rate: 0.1553", "rate: 0.15535", REJECTED, "the rate that is proved"),
        "a rate above that of the limit": ("rate: 0.1553", "rate: 10", REJECTED, "the rate that is proved"),
        "a length a little too short": ("length: 1.076", "length: 1.075", REJECTED, "the bound of the length"),
        "a length of 0": ("length: 1.076", "length: 0", REJECTED, "the bound of the length"),
        "b of the wrong sign": ("sign: positive", "sign: negative", REFUTED, "b at t = 0"),
        "b = 0 at the start": ("b: 1}\n", "b: 0}\n", REFUTED, "R at t = 0"),
        "a limit too far away": ("radius: 0.0002", "radius: 0.0001", REFUTED, "the distance from the Bayes point"),
        "Sigma in the place of its inverse": (
            "[[0.945, -0.378], [-0.378, 0.756]]", "[[0.945, 0.378], [0.378, 0.756]]", REFUTED, "the distance"),
        "I in the place of the inverse": (
            "[[0.945, -0.378], [-0.378, 0.756]]", "[[0.756, 0], [0, 0.756]]", REFUTED, "the distance"),
        "a radius of 0": ("radius: 0.0002", "radius: 0", REFUTED, "the distance"),
        "an invariant that is not the start's": (
            "radius: 0.0002}", "radius: 0.0002, invariant: {lower: 1e-20, upper: 1}}", REFUTED, "|A|_F^2 - b^2"),
        "an invariant above the stated one": (
            "radius: 0.0002}", "radius: 0.0002, invariant: {lower: -1, upper: -1e-20}}", REFUTED, "|A|_F^2 - b^2"),
        "a risk at the start that is too small": ("at_most: 0.1450", "at_most: 0.144", REFUTED, "R at t = 0"),
        "a later risk that is too small": ("at_most: 0.01434", "at_most: 0.01433", REJECTED, "R at t = 5"),
        "a risk of 0": ("at_most: 0.01434", "at_most: 0", REJECTED, "R at t = 5"),
        "an earlier time": ("{at: 5,", "{at: 4.9,", REJECTED, "R at t = 4.9"),
        "a start too far away": ("A: [[3/5, 0], [0, 4/5]], b: 1}", "A: [[3, 0], [0, 4]], b: 1}", REFUTED, "R at"),
        "another covariance": ("[1/2, 5/4]]", "[1/2, 3/2]]", REFUTED, "R at t = 0"),
        "a covariance that is not symmetric": ("[1/2, 5/4]]", "[1/3, 5/4]]", MALFORMED, "symmetric"),
        "a singular covariance": ("[1/2, 5/4]]", "[1/2, 1/4]]", MALFORMED, "a singular matrix"),
        "an indefinite covariance": ("[1/2, 5/4]]", "[1/2, 1/5]]", MALFORMED, "a negative eigenvalue"),
        "a covariance that is not square": ("[[1, 1/2], [1/2, 5/4]]", "[[1, 1/2]]", MALFORMED, "1 x 1"),
        "A of another shape": ("A: [[3/5, 0], [0, 4/5]]", "A: [[3/5]]", MALFORMED, "2 x 2 like the covariance"),
        "a limit of another shape": (
            "[[0.945, -0.378], [-0.378, 0.756]]", "[[0.945, -0.378]]", MALFORMED, "2 x 2 like the covariance"),
        "a limit in part": (", b: 1.323", "", MALFORMED, "A and b and radius together"),
        "a limit without a radius": (", radius: 0.0002", "", MALFORMED, "A and b and radius together"),
        "a limit without a sign": ("sign: positive, ", "", MALFORMED, "no 'sign'"),
        "a sign that is a number": ("sign: positive", "sign: 1", MALFORMED, "'positive' or 'negative'"),
        "bounds of the invariant exchanged": (
            "radius: 0.0002}", "radius: 0.0002, invariant: {lower: 1, upper: 0}}", REFUTED, "|A|_F^2 - b^2: "),
        "a negative radius": ("radius: 0.0002", "radius: -0.0002", MALFORMED, "a number >= 0"),
        "a rate of 0": ("rate: 0.1553", "rate: 0", MALFORMED, "a number > 0"),
        "a negative risk": ("risk: 0.145\n", "risk: -1\n", MALFORMED, "a number >= 0"),
        "no risk": ("  risk: 0.145\n", "", MALFORMED, "no 'risk'"),
        "no rate": ("  rate: 0.1553\n", "", MALFORMED, "no 'rate'"),
        "no start": ("  start: {A: [[3/5, 0], [0, 4/5]], b: 1}\n", "", MALFORMED, "no 'start'"),
        "no covariance": ("  covariance: [[1, 1/2], [1/2, 5/4]]\n", "", MALFORMED, "no 'covariance'"),
        "no rule": ("{rule: flow}", "{}", MALFORMED, "a mapping with rule"),
        "a rule that is none": ("{rule: flow}", "{rule: newton}", MALFORMED, "'flow' or 'descent'"),
        "a step of the flow": ("{rule: flow}", "{rule: flow, step: 1}", MALFORMED, "the unknown key 'step'"),
        "descent without a step": ("{rule: flow}", "{rule: descent}", MALFORMED, "no 'step'"),
        "no times": ("[{at: 0, at_most: 0.1450}, {at: 5, at_most: 0.01434}]", "[]", MALFORMED, "at least one item"),
        "a negative time": ("{at: 5,", "{at: -5,", MALFORMED, "a number >= 0"),
        "enclosed beyond from": ("asserts:", "witness: {enclosed: 1}\nasserts:", REJECTED, "not after asserts.from"),
        "an order of 0": ("asserts:", "witness: {order: 0}\nasserts:", MALFORMED, "an integer >= 1"),
        "an order that is too high": ("asserts:", "witness: {order: 61}\nasserts:", MALFORMED, "at most 60"),
        "a NaN": ("rate: 0.1553", "rate: nan", MALFORMED, "an exact number"),
        "an infinity": ("length: 1.076", "length: inf", MALFORMED, "an exact number"),
        "an unknown key": ("  rate:", "  speed: 1\n  rate:", MALFORMED, "the unknown key 'speed'"),
        "b = 1 in the limit": ("b: 1.323", "b: 1", REFUTED, "the distance"),
    },
)  # fmt: skip

LATER = family(
    "the flow from an enclosed time on",
    """
given:
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[3/5, 0], [0, 4/5]], b: 1}
  training: {rule: flow}
asserts:
  from: 3
  risk: 0.008589
  rate: 0.3377
  length: 0.2172
  limit: {sign: positive}
  risks: [{at: 1, at_most: 0.06075}, {at: 5, at_most: 0.00211}]
""",
    {
        "by polynomials of order 8": ("asserts:", "witness: {order: 8}\nasserts:"),
        "a time between": ("  from: 3\n", "  from: 3.00001\n"),
        "a risk at the time itself": ("{at: 1, at_most: 0.06075}", "{at: 3, at_most: 0.008589}"),
    },
    {
        "a risk a little too small": ("risk: 0.008589", "risk: 0.008588", REFUTED, "R at t = 3"),
        "a risk on the way that is too small": ("at_most: 0.06075", "at_most: 0.0607", REFUTED, "R at t = 1"),
        "a rate a little too large": ("rate: 0.3377", "rate: 0.3378", REJECTED, "the rate that is proved"),
        "from earlier on": ("from: 3", "from: 2.9", REFUTED, "R at t = 2.9"),
        "not enclosed": ("asserts:", "witness: {enclosed: 0}\nasserts:", REJECTED, "the bound of R at t = 3"),
        "the wrong sign": ("positive", "negative", REFUTED, "b at t = 3"),
        "a negative time": ("from: 3", "from: -3", MALFORMED, "a number >= 0"),
        "enclosed until later": ("asserts:", "witness: {enclosed: 4}\nasserts:", REJECTED, "not after asserts.from"),
    },
)

STAIRS = family(
    "the flow from a time that rates reach",
    """
given:
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[3/5, 0], [0, 4/5]], b: 1}
  training: {rule: flow}
asserts:
  from: 20
  risk: 1.55e-7
  rate: 0.3962
  length: 0.0008844
  limit: {sign: positive}
  risks: [{at: 1, at_most: 0.1058}]
witness:
  enclosed: 0
""",
    {"enclosed for a while": ("enclosed: 0", "enclosed: 1"), "a later time": ("from: 20", "from: 20.1")},
    {
        "a risk that rates do not reach": ("risk: 1.55e-7", "risk: 1.54e-7", REJECTED, "the bound of R at t = 20"),
        "a risk at a time before": ("at_most: 0.1058", "at_most: 0.1057", REJECTED, "the bound of R at t = 1"),
        "an earlier time": ("from: 20", "from: 19.9", REJECTED, "the bound of R at t = 19.9"),
        "the wrong sign": ("positive", "negative", REJECTED, "b at t = 0"),
        "a start outside the theorem": ("[[3/5, 0], [0, 4/5]]", "[[-3/5, 0], [0, -4/5]]", REJECTED, "below tr Sigma"),
        "b = 0, A = 0": ("A: [[3/5, 0], [0, 4/5]], b: 1}", "A: [[0, 0], [0, 0]], b: 0}", REJECTED, "below tr Sigma"),
    },
)

DESCENT = family(
    "descent in the plane",
    """
given:
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[-3/5, 0], [0, -4/5]], b: -1}
  training: {rule: descent, step: 1/80}
asserts:
  risk: 0.145
  rate: 0.1401
  length: 1.513
  limit:
    sign: negative
    A: [[-0.9449, 0.378], [0.378, -0.7559]]
    b: -1.3229
    radius: 0.0007
    invariant: {lower: -0.0021, upper: 0.0021}
  risks: [{at: 0, at_most: 0.1450}, {at: 3, at_most: 0.1435}]
""",
    {
        "a shorter step with the same rate": ("step: 1/80", "step: 1/81"),
        "a limit without numbers": (
            "    A: [[-0.9449, 0.378], [0.378, -0.7559]]\n    b: -1.3229\n    radius: 0.0007\n", ""),
        "no invariant": ("    invariant: {lower: -0.0021, upper: 0.0021}\n", ""),
        "a million steps": ("{at: 3, at_most: 0.1435}", "{at: 1000000, at_most: 1e-2000}"),
        "b and A of the other sign": (
            "[[-3/5, 0], [0, -4/5]], b: -1}\n  training: {rule: descent, step: 1/80}\nasserts:\n  risk: 0.145\n"
            "  rate: 0.1401\n  length: 1.513\n  limit:\n    sign: negative\n"
            "    A: [[-0.9449, 0.378], [0.378, -0.7559]]\n    b: -1.3229",
            "[[3/5, 0], [0, 4/5]], b: 1}\n  training: {rule: descent, step: 1/80}\nasserts:\n  risk: 0.145\n"
            "  rate: 0.1401\n  length: 1.513\n  limit:\n    sign: positive\n"
            "    A: [[0.9449, -0.378], [-0.378, 0.7559]]\n    b: 1.3229"),
    },
    {
        "a step that is too long": ("step: 1/80", "step: 1/12", REJECTED, "eta beta"),
        "a step that diverges": ("step: 1/80", "step: 10", REJECTED, "eta beta"),
        "a longer step with the same rate": ("step: 1/80", "step: 1/79", REJECTED, "the rate that is proved"),
        "a rate a little too large": ("rate: 0.1401", "rate: 0.1402", REJECTED, "the rate that is proved"),
        "a risk too small": ("risk: 0.145\n", "risk: 0.1449\n", REFUTED, "R at k = 0"),
        "a length too short": ("length: 1.513", "length: 1.512", REJECTED, "the bound of the length"),
        "the wrong sign": ("negative", "positive", REFUTED, "b at k = 0"),
        "a limit too far away": ("radius: 0.0007", "radius: 0.0001", REJECTED, "the Bayes points that are possible"),
        "another limit": ("b: -1.3229", "b: 1.3229", REJECTED, "the Bayes points that are possible"),
        "an invariant too near": ("lower: -0.0021", "lower: -0.0020", REJECTED, "is at least"),
        "an invariant too near above": ("upper: 0.0021", "upper: 0.0020", REJECTED, "is at most"),
        "a later risk that is too small": ("at_most: 0.1435", "at_most: 0.1434", REJECTED, "R at k = 3"),
        "a step between": ("{at: 3,", "{at: 2.5,", MALFORMED, "a whole number of steps"),
        "from a step between": ("  risk: 0.145\n", "  from: 1/2\n  risk: 0.145\n", MALFORMED, "a whole number"),
        "a step of 0": ("step: 1/80", "step: 0", MALFORMED, "a number > 0"),
        "a negative step": ("step: 1/80", "step: -1/80", MALFORMED, "a number > 0"),
        "the flow with a step": ("rule: descent", "rule: flow", MALFORMED, "the unknown key 'step'"),
        "more steps than are enclosed": (
            "  risk: 0.145\n", "  from: 100001\n  risk: 0.145\n", MALFORMED, "at most 100000 steps"),
    },
)  # fmt: skip

# b starts below 0 and passes it.
CROSSING = family(
    "descent that leads b through 0",
    """
given:
  covariance: [[1, 1/2], [1/2, 5/4]]
  start: {A: [[3/5, 0.1], [0, 4/5]], b: -3/4}
  training: {rule: descent, step: 1/40}
asserts:
  from: 100
  risk: 0.07433
  rate: 0.152
  length: 1.079
  limit:
    sign: positive
    A: [[1.00327, -0.40131], [-0.40131, 0.80262]]
    b: 1.24592
    radius: 0.0006
    invariant: {lower: 0.4183, upper: 0.4228}
  risks: [{at: 7, at_most: 1.529}]
""",
    {"later": ("from: 100", "from: 101"), "enclosed until then": ("asserts:", "witness: {enclosed: 100}\nasserts:")},
    {
        "from the start": ("  from: 100\n", "", REFUTED, "R at k = 0"),
        "by rates alone": ("asserts:", "witness: {enclosed: 0}\nasserts:", REJECTED, "below tr Sigma"),
        "the sign of the start": ("positive", "negative", REFUTED, "b at k = 100"),
        "a risk too small": ("risk: 0.07433", "risk: 0.0743", REFUTED, "R at k = 100"),
        "a risk on the way too small": ("at_most: 1.529", "at_most: 1.528", REFUTED, "R at k = 7"),
        "a rate too large": ("rate: 0.152", "rate: 0.153", REJECTED, "the rate that is proved"),
        "enclosed for less than a step": ("asserts:", "witness: {enclosed: 1/2}\nasserts:", MALFORMED, "whole number"),
        "a step too early": ("from: 100", "from: 99", REFUTED, "R at k = 99"),
    },
)

# The published interval of starts holds it, R(0) = 1.125 is above tr(Sigma)/2 = 0.125.
OUTSIDE = family(
    "a start outside the theorem",
    """
given:
  covariance: [[1/4]]
  start: {A: [[4]], b: 4}
  training: {rule: flow}
asserts:
  from: 10
  risk: 0.0769
  rate: 0.01348
  limit: {sign: positive, A: [[2]], b: 2, radius: 0}
witness:
  enclosed: 4
""",
    {
        "enclosed to the end": ("  enclosed: 4\n", "  order: 20\n"),
        "delta < 0, from the start": (
            "b: 4}\n  training: {rule: flow}\nasserts:\n  from: 10\n  risk: 0.0769\n  rate: 0.01348\n"
            "  limit: {sign: positive, A: [[2]], b: 2, radius: 0}\nwitness:\n  enclosed: 4\n",
            "b: 5}\n  training: {rule: flow}\nasserts:\n  risk: 2\n  rate: 0.140625\n"
            "  limit: {sign: positive}\n"),
    },
    {
        "enclosed for too short a time": ("enclosed: 4", "enclosed: 3", REJECTED, "2R at t = 3, below tr Sigma"),
        "not enclosed": ("enclosed: 4", "enclosed: 0", REJECTED, "2R at t = 0, below tr Sigma"),
        "delta < 0, but a rate beyond": (
            "b: 4}\n  training: {rule: flow}\nasserts:\n  from: 10\n  risk: 0.0769\n  rate: 0.01348\n"
            "  limit: {sign: positive, A: [[2]], b: 2, radius: 0}\nwitness:\n  enclosed: 4\n",
            "b: 5}\n  training: {rule: flow}\nasserts:\n  risk: 2\n  rate: 0.140626\n"
            "  limit: {sign: positive}\n",
            REJECTED, "the rate that is proved"),
        "a rate too large": ("rate: 0.01348", "rate: 0.0135", REJECTED, "the rate that is proved"),
        "the other Bayes point": ("A: [[2]], b: 2", "A: [[-2]], b: -2", REFUTED, "the distance"),
    },
)  # fmt: skip

FAMILIES = [FLOW, LATER, STAIRS, DESCENT, CROSSING, OUTSIDE]
CASES = [case for each in FAMILIES for case in each.cases()]
