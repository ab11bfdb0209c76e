"""Accept and reject cases of the theorems `local` and `cone` of `selection-direction`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Family

NAME = "selection-direction"
family = partial(Family, NAME)

# The paper's local example: the second token is locally optimal, the first one is better.
TOY = family(
    "the second token of three, after a thousand steps",
    """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0]]
  loss: logistic
  descent: {rule: gradient, step: 1}
  start: [4, 0]
asserts:
  indices: [1]
  angles:
  - {step: 10000, at_most: 0.24}
  - {step: 1000000000000, at_most: 0.025}
  rate: {form: root, from: 10000, lateral: 6.3, square: 1e-20, growth: 1e-20, offset: 590, slope: 0.04}
witness:
  multipliers: [{input: 0, token: 2, multiplier: 1}]
  steps: 1000
  theorem:
    name: local
    reference: [0, 0.1461025718699959]
    progress: 0.18746193
    fractions: [1e-6]
    inflation: 7.051203598574408
    setback: 6.0441078
    move: 0.00091118891
""",
    {
        "a reference with a part along p_mm, which does not count": ("[0, 0.146", "[5, 0.146"),
        "another fraction": ("[1e-6]", "[1e-3]"),
        "less progress": ("0.18746193", "0.187"),
        "a longer move": ("0.00091118891", "0.000912"),
        "an inflation that is larger by little": ("7.051203598574408", "7.0513"),
        "good tokens of some slack counted with the neighbours": ("    progress", "    near: 1/2\n    progress"),
        "the limit": ("  angles:", "  limit: [1, 0]\n  angles:"),
        "an angle that is enclosed": ("step: 10000,", "step: 999,"),
        "a looser rate": ("lateral: 6.3", "lateral: 7"),
        "a flatter rate": ("slope: 0.04", "slope: 0.001"),
    },
    {
        "the better token": ("indices: [1]", "indices: [0]", REJECTED, "multipliers times slacks"),
        "the worst token": ("indices: [1]", "indices: [2]", MALFORMED, "other than the chosen one"),
        "a third token of the same score": ("[[1, 0.9, 0]]", "[[1, 0.9, 0.9]]", REJECTED, "2 fractions"),
        "a bad token that is a neighbour": ("[-0.1, 1]", "[0, 1]", REJECTED, "the chosen one: 0 > 0"),
        "a bad token within the margin": ("[-0.1, 1]", "[0.1, 1]", REJECTED, "the smallest slack of the constraints"),
        "a descent that ends on the better token": ("start: [4, 0]", "start: [0, 1]", REJECTED, "factor of theta_-"),
        "a start on the other side of the boundary": ("start: [4, 0]", "start: [1, 1]", REJECTED, "factor of theta_-"),
        "fewer steps": ("steps: 1000\n", "steps: 700\n", REJECTED, "against its bound Delta"),
        "a longer step": ("step: 1}", "step: 4}", REJECTED, "against its bound Delta"),
        "a limit elsewhere": ("  angles:", "  limit: [1, 1e-30]\n  angles:", REFUTED, "limit"),
        "an angle that is wrong": ("step: 10000, at_most: 0.24", "step: 1000, at_most: 1e-7", REFUTED, "angle"),
        "an angle below what is proved": ("at_most: 0.025", "at_most: 0.0248", REJECTED, "the bound of 1 - cos"),
        "a rate that falls too fast": ("slope: 0.04", "slope: 0.5", REJECTED, "slope"),
        "a rate that begins too low": ("lateral: 6.3", "lateral: 5.5", REJECTED, "A >="),
        "a rate with an offset too large": ("offset: 590", "offset: 2000", REJECTED, "offset"),
        "a rate with no square": ("square: 1e-20", "square: 0", REJECTED, "S >="),
        "a rate of another form": (
            "{form: root, from: 10000, lateral: 6.3, square: 1e-20, growth: 1e-20, offset: 590, slope: 0.04}",
            "{form: logarithm, from: 10000, numerator: 9, offset: 590, slope: 0.04}", REJECTED, "form root"),
        "a rate from before": ("from: 10000", "from: 999", REJECTED, "from 1000 on"),
        "a fraction of 1": ("[1e-6]", "[1]", REJECTED, "fraction"),
        "a fraction above 1, whose Lambda would be negative": ("[1e-6]", "[3/2]", REJECTED, "fraction"),
        "a fraction of 0": ("[1e-6]", "[0]", MALFORMED, "a number > 0"),
        "a fraction that leaves too little": ("[1e-6]", "[0.999]", REJECTED, "S, against 1 - 1/Omega"),
        "no fractions": ("    fractions: [1e-6]\n", "", REJECTED, "1 fraction"),
        "two fractions for one bad token": ("[1e-6]", "[1e-6, 1e-6]", REJECTED, "1 fraction"),
        "an inflation of 1": ("7.051203598574408", "1", MALFORMED, "a number > 1"),
        "an inflation too small": ("7.051203598574408", "6.9", REJECTED, "S, against 1 - 1/Omega"),
        "no inflation": ("    inflation: 7.051203598574408\n", "", REJECTED, "inflation"),
        "a setback too small": ("6.0441078", "5.9", REJECTED, "E_u"),
        "a negative setback": ("6.0441078", "-1", MALFORMED, "a number >= 0"),
        "no setback": ("    setback: 6.0441078\n", "", REJECTED, "E_u"),
        "more progress than is proved": ("0.18746193", "0.2", REJECTED, "chi"),
        "no progress": ("progress: 0.18746193", "progress: 0", MALFORMED, "a number > 0"),
        "a move that is too short": ("0.00091118891", "0.0009", REJECTED, "the longest move"),
        "no move": ("    move: 0.00091118891\n", "", REJECTED, "move"),
        "a reference far off": ("[0, 0.1461025718699959]", "[0, 3]", REJECTED, "factor of theta_-"),
        "a reference of another dimension": ("[0, 0.1461025718699959]", "[0]", MALFORMED, "a key"),
        "negative near": ("    progress", "    near: -1\n    progress", MALFORMED, "a number >= 0"),
        "a multiplier of another token": ("token: 2, multiplier: 1", "token: 0, multiplier: 1", REJECTED, "slack"),
        "a multiplier off by one unit": ("multiplier: 1}", "multiplier: 1.0000000001}", REJECTED, "multipliers"),
        "the theorem for globally optimal tokens": (
            "name: local\n    reference: [0, 0.1461025718699959]\n    progress: 0.18746193\n    fractions: [1e-6]\n"
            "    inflation: 7.051203598574408\n    setback: 6.0441078\n    move: 0.00091118891",
            "name: global", REJECTED, "the least gap between the score of a chosen token and another"),
        "every start": ("start: [4, 0]", "start: every", REJECTED, "the kind 'every'"),
        "a cone of starts": ("[4, 0]", "{cone: {opening: 0, norm: 9}}", REJECTED, "the kind 'cone'"),
    },
)  # fmt: skip

FLOW = family(
    "the flow",
    """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0]]
  loss: logistic
  descent: {rule: flow}
  start: [7, 0.1]
asserts:
  indices: [1]
  angles: [{time: 10000, at_most: 0.0323}]
  rate: {form: root, from: 0, lateral: 2.1, square: 1e-6, growth: 1e-30, offset: 1090, slope: 0.179}
witness:
  multipliers: [{input: 0, token: 2, multiplier: 1}]
  theorem:
    name: local
    reference: [0, 0.1]
    progress: 0.69297942
    fractions: [1e-6]
    inflation: 3.19889943604575
    setback: 2.1887962
""",
    {"a box of starts": ("[7, 0.1]", "{lower: [7, 0.1], upper: [7.0001, 0.1]}"), "later": ("10000", "20000")},
    {
        "a move": ("    setback", "    move: 1e-3\n    setback", REJECTED, "no move, as the flow has no steps"),
        "a step in the place of a time": ("time: 10000", "step: 10000", MALFORMED, "a time"),
        "a start too near to 0": ("[7, 0.1]", "[5, 0.1]", REJECTED, "the progress chi, against that of Lemma 4"),
        "a wide box of starts": ("[7, 0.1]", "{lower: [6, 0.1], upper: [8, 0.1]}", INCONCLUSIVE, "undecided"),
        "a time before": ("10000", "9000", REJECTED, "the bound of 1 - cos"),
    },
)  # fmt: skip

# Two inputs; every other token scores less: nothing is bad.
NOTHING_BAD = family(
    "two inputs whose best tokens are selected",
    """
given:
  keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]]]
  scores: [[0, 1], [0, 1]]
  loss: linear
  descent: {rule: normalised, step: 1/10}
  start: [5, 0]
asserts:
  indices: [1, 1]
  angles: [{step: 1000, at_most: 1e-3}]
witness:
  multipliers: [{input: 0, token: 0, multiplier: 1/2}, {input: 1, token: 0, multiplier: 1/2}]
  theorem: {name: local, reference: [0, 0], progress: 0.92, move: 0.1001}
""",
    {"a setback": ("progress:", "setback: 1/10, progress:")},
    {
        "fractions without bad tokens": ("progress:", "fractions: [1/2], progress:", REJECTED, "no fractions"),
        "an inflation without bad tokens": ("progress:", "inflation: 2, progress:", REJECTED, "no inflation"),
        "a move below the length of a step over the margin": ("0.1001", "0.0999", REJECTED, "the longest move"),
        "a long step": ("step: 1/10", "step: 3", REJECTED, "against its bound Delta"),
        "an angle too small": ("1e-3", "1e-9", REJECTED, "the bound of 1 - cos"),
        "a rate, which normalised descent has not": (
            "witness:",
            "  rate: {form: root, from: 0, lateral: 9, square: 9, growth: 9, offset: 2, slope: 1e-9}\nwitness:",
            REJECTED, "slope"),
        "scores of which one is not better": ("[[0, 1], [0, 1]]", "[[0, 1], [1, 1]]", REJECTED, "1 fraction"),
    },
)  # fmt: skip

# Every start of a cone: the paper's third theorem with its numbers.
CONE = family(
    "every start in a cone",
    """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0]]
  loss: logistic
  descent: {rule: gradient, step: 1}
  start: {cone: {opening: 1/1000, norm: 40}}
asserts: {indices: [1]}
witness:
  multipliers: [{input: 0, token: 2, multiplier: 1}]
  theorem: {name: cone, slope: 0.06}
""",
    {
        "a larger norm": ("norm: 40", "norm: 4000"),
        "the direction alone": ("opening: 1/1000", "opening: 0"),
        "another wider cone": ("slope: 0.06", "slope: 0.065"),
        "the limit": ("{indices: [1]}", "{indices: [1], limit: [1, 0]}"),
        "the flow": ("{rule: gradient, step: 1}", "{rule: flow}"),
        "normalised descent": ("{rule: gradient, step: 1}", "{rule: normalised, step: 1/10}"),
        "the linear loss": ("logistic", "linear"),
    },
    {
        "a norm too small": ("norm: 40", "norm: 10", REJECTED, "the deviation, against (tau - tau_0) X"),
        "a norm of 0": ("norm: 40", "norm: 0", MALFORMED, "a number > 0"),
        "an opening too wide": ("1/1000", "1/100", REJECTED, "the deviation, against (tau - tau_0) X"),
        "an opening of 1": ("1/1000", "1", MALFORMED, "an opening mu < 1"),
        "a negative opening": ("1/1000", "-1", MALFORMED, "a number >= 0"),
        "a wider cone that is narrower": ("slope: 0.06", "slope: 0.04", REJECTED, "deviation"),
        "a wider cone that reaches the bad token": ("slope: 0.06", "slope: 0.11", REJECTED, "tau zeta"),
        "the better token": ("[1]}", "[0]}", REJECTED, "slack"),
        "a long step": ("step: 1}", "step: 1e20}", REJECTED, "the deviation, against (tau - tau_0) X"),
        "steps before": ("  theorem", "  steps: 5\n  theorem", REJECTED, "no steps"),
        "an angle": ("{indices: [1]}", "{indices: [1], angles: [{step: 5, at_most: 1}]}", REJECTED, "leads to no rate"),
        "a point": ("{cone: {opening: 1/1000, norm: 40}}", "[40, 0]", REJECTED, "the kind 'box'"),
        "the theorem about a point": ("{name: cone, slope: 0.06}", "{name: every-start}", REJECTED, "start"),
        "no slope": (", slope: 0.06", "", MALFORMED, "slope"),
        "a norm and no opening": ("opening: 1/1000, ", "", MALFORMED, "opening"),
    },
)  # fmt: skip

# A cone in which both factors of theta_- would be negative, and their product positive: without the bound of every
# factor all conditions hold, and descent from there ends on the bad token.
BAD_KEYS = ", ".join(["[0, 1]"] * 100)
HUNDREDTHS = ", ".join(f"{{input: 0, token: {t}, multiplier: 1/100}}" for t in range(1, 101))
MANY_GOOD = family(
    "many good tokens and a bad one, from afar",
    f"""
given:
  keys: [[[1, 1], {BAD_KEYS}, [-0.5, -2]]]
  scores: [[0, {", ".join(["-1"] * 100)}, 1]]
  loss: linear
  descent: {{rule: gradient, step: 1/1000}}
  start: {{cone: {{opening: 0, norm: 60}}}}
asserts: {{indices: [0]}}
witness:
  multipliers: [{HUNDREDTHS}]
  theorem: {{name: cone, slope: 0.1}}
""",
    {"farther": ("norm: 60", "norm: 100")},
    {
        "from half, where two factors are negative and their product is positive": (
            "norm: 60", "norm: 1/2", REJECTED, "the smallest factor of theta_-"),
    },
)  # fmt: skip

FAMILIES = [TOY, FLOW, NOTHING_BAD, CONE, MANY_GOOD]
CASES = [case for each in FAMILIES for case in each.cases()]
