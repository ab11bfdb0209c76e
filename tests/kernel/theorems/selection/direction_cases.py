"""Accept and reject cases of `selection-direction`, theorems A and A2, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import INCONCLUSIVE, MALFORMED, REFUTED, REJECTED, Family

NAME = "selection-direction"
family = partial(Family, NAME)

# z = (-1.1, 1), (-0.1, 1) with gaps 0.1 and 0.2: p_mm = (-0.1, 1) / 1.01.
ONE = family(
    "one input of three tokens, from a point",
    """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0.8]]
  loss: logistic
  descent: {rule: gradient, step: 20}
  start: [0, 0.5]
asserts:
  indices: [0]
  limit: [-10/101, 100/101]
  angles: [{step: 3, at_most: 0.00106}, {step: 12, at_most: 0.00852}, {step: 1000000000, at_most: 0.0261}]
  rate: {form: logarithm, from: 12, numerator: 0.523, offset: 8.67, slope: 0.518}
witness:
  multipliers: [{input: 0, token: 2, multiplier: 100/101}]
  steps: 12
  theorem: {name: global}
""",
    {
        "the theorem at the start itself": (
            "angles: [{step: 3, at_most: 0.00106}, {step: 12, at_most: 0.00852}, {step: 1000000000, at_most: 0.0261}]\n"
            "  rate: {form: logarithm, from: 12, numerator: 0.523, offset: 8.67, slope: 0.518}\nwitness:\n"
            "  multipliers: [{input: 0, token: 2, multiplier: 100/101}]\n  steps: 12",
            "angles: [{step: 1000000000, at_most: 0.72}]\nwitness:\n"
            "  multipliers: [{input: 0, token: 2, multiplier: 100/101}]"),
        "no more than the direction": (
            "  limit: [-10/101, 100/101]\n"
            "  angles: [{step: 3, at_most: 0.00106}, {step: 12, at_most: 0.00852}, "
            "{step: 1000000000, at_most: 0.0261}]\n"
            "  rate: {form: logarithm, from: 12, numerator: 0.523, offset: 8.67, slope: 0.518}\n",
            ""),
        "a rate from a later step": ("from: 12,", "from: 12.5,"),
        "a rate with a larger offset from a later step": (
            "from: 12, numerator: 0.523, offset: 8.67", "from: 1000, numerator: 0.523, offset: 500"),
        "a precision to begin with": ("steps: 12", "steps: 12\n  bits: 300"),
    },
    {
        "an angle below the truth": ("0.00106", "0.00105", REFUTED, "1 - cos angle(p(3), p_mm)"),
        "an angle of 0": ("0.00106", "0", REFUTED, "is false"),
        "a later angle below what is proved": ("0.0261", "0.026", REJECTED, "the bound of 1 - cos angle"),
        "a numerator below what is proved": ("numerator: 0.523", "numerator: 0.522", REJECTED, "A >= the numerator"),
        "an offset above what is proved": ("offset: 8.67", "offset: 8.68", REJECTED, "B <= the offset"),
        "a slope above what is proved": ("slope: 0.518", "slope: 0.519", REJECTED, "C <= the slope"),
        "an offset of 1": ("offset: 8.67", "offset: 1", MALFORMED, "a number > 1"),
        "a slope of 0": ("slope: 0.518", "slope: 0", MALFORMED, "a number > 0"),
        "a negative angle": ("0.00106", "-0.00106", MALFORMED, "a number >= 0"),
        "a rate before the theorem applies": ("from: 12,", "from: 11,", REJECTED, "where the rate begins"),
        "a rate of another form": ("form: logarithm", "form: power", MALFORMED, "'logarithm'"),
        "limit off by one unit in the last digit": (
            "[-10/101, 100/101]", "[-10/101, 0.99009900990099009900990099]", REFUTED, "limit = p_mm"),
        "limit turned round": ("[-10/101, 100/101]", "[10/101, -100/101]", REFUTED, "limit = p_mm"),
        "limit normalised": ("[-10/101, 100/101]", "[-0.1, 1]", REFUTED, "limit = p_mm"),
        "limit of another dimension": ("[-10/101, 100/101]", "[-10/101]", MALFORMED, "the dimension of a key"),
        "another token, which is not optimal": ("indices: [0]", "indices: [1]", REJECTED, "slack"),
        "an index out of range": ("indices: [0]", "indices: [3]", MALFORMED, "one of the 3 tokens"),
        "a negative index": ("indices: [0]", "indices: [-1]", MALFORMED, "an integer >= 0"),
        "two indices for one input": ("indices: [0]", "indices: [0, 0]", MALFORMED, "one per input"),
        "no index": ("indices: [0]", "indices: []", MALFORMED, "at least one item"),
        "a multiplier off by 10^-20": (
            "multiplier: 100/101", "multiplier: 0.99009900990099009901", REJECTED, "not proved"),
        "the multiplier of another pair": ("token: 2, multiplier", "token: 1, multiplier", REJECTED, "slack"),
        "a multiplier of 0": ("multiplier: 100/101", "multiplier: 0", MALFORMED, "a number > 0"),
        "a multiplier of the chosen token": ("token: 2, multiplier", "token: 0, multiplier", MALFORMED, "other than"),
        "no witness": (
            "witness:\n  multipliers: [{input: 0, token: 2, multiplier: 100/101}]\n  steps: 12\n"
            "  theorem: {name: global}\n",
            "", MALFORMED, "no witness"),
        "no theorem": ("\n  theorem: {name: global}", "", MALFORMED, "no 'theorem'"),
        "an unknown theorem": ("name: global", "name: universal", MALFORMED, "'global'"),
        "scores that are not equal, for every start": (
            "name: global",
            "name: every-start",
            REJECTED,
            "differ by nothing",
        ),
        "a tie with the best score": ("[1, 0.9, 0.8]", "[1, 0.9, 1]", REFUTED, "angle(p(3), p_mm)"),
        "a better token": ("[1, 0.9, 0.8]", "[1, 0.9, 1.1]", REFUTED, "angle(p(3), p_mm)"),
        "a duplicate of the chosen token": ("[1, 0], [0, 0]]]", "[1, 0], [-0.1, 1]]]", REJECTED, "slack"),
        "an input of one token": (
            "keys: [[[-0.1, 1], [1, 0], [0, 0]]]\n  scores: [[1, 0.9, 0.8]]", "keys: [[[-0.1, 1]]]\n  scores: [[1]]",
            MALFORMED, "nothing to select from"),
        "a step of 0": ("step: 20}", "step: 0}", MALFORMED, "a number > 0"),
        "a step that is too long": ("step: 20}", "step: 20000}", REFUTED, "angle(p(3), p_mm)"),
        "no step": ("{rule: gradient, step: 20}", "{rule: gradient}", MALFORMED, "no 'step'"),
        "a flow with a step": ("{rule: gradient, step: 20}", "{rule: flow, step: 20}", MALFORMED, "unknown key"),
        "a flow with steps": ("{rule: gradient, step: 20}", "{rule: flow}", MALFORMED, "a time"),
        "normalised steps, which theorem A is not about": (
            "{rule: gradient, step: 20}", "{rule: normalised, step: 20}", REJECTED,
            "not about normalised descent"),
        "every start, which theorem A is not about": ("[0, 0.5]", "every", REJECTED, "'every-start'"),
        "a start of another dimension": ("[0, 0.5]", "[0, 0.5, 0]", MALFORMED, "the dimension of a key"),
        "a start that is a number": ("[0, 0.5]", "0.5", MALFORMED, "a vector, a box"),
        "a box turned round": ("[0, 0.5]", "{lower: [0, 0.5], upper: [0, 0.4]}", MALFORMED, "lower <= upper"),
        "a box that is too large": ("[0, 0.5]", "{lower: [-9, -9], upper: [9, 9]}", INCONCLUSIVE, "undecided"),
        "more steps than are enclosed": ("steps: 12", "steps: 1000001", REJECTED, "at most 1000000"),
        "negative steps": ("steps: 12", "steps: -1", MALFORMED, "an integer >= 0"),
        "an angle at a time": ("{step: 3,", "{time: 3,", MALFORMED, "a step"),
        "an angle at half a step": ("{step: 3,", "{step: 3.5,", MALFORMED, "an integer"),
        "a negative numerator": ("numerator: 0.523", "numerator: -1", MALFORMED, "a number >= 0"),
        "an unknown loss": ("loss: logistic", "loss: hinge", MALFORMED, "'exponential'"),
        "another loss": ("loss: logistic", "loss: linear", REFUTED, "angle(p(3), p_mm)"),
        "scores of another number": ("[1, 0.9, 0.8]", "[1, 0.9]", MALFORMED, "3 scores"),
    },
)  # fmt: skip

# p_mm = (4/3, 1/3). The step eta on L is h = eta / 3 on the sum.
BOX = family(
    "three inputs as tokens with W, v and labels, from a box",
    """
given:
  tokens: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [0.5, 1]]]
  W: [[1, 0], [0, 1]]
  v: [1, 0.5]
  labels: [1, 1, 1]
  loss: exponential
  descent: {rule: gradient, step: 1/2}
  start: {lower: [0.5, 0], upper: [0.51, 0.01]}
asserts:
  indices: [1, 1, 1]
  limit: [4/3, 1/3]
  angles: [{step: 0, at_most: 0.031}, {step: 20, at_most: 0.0271}, {step: 1000000, at_most: 0.92}]
  rate: {form: logarithm, from: 1608, numerator: 6.19, offset: 2, slope: 0.000871}
witness:
  multipliers: [{input: 1, token: 0, multiplier: 7/9}, {input: 2, token: 0, multiplier: 10/9}]
  steps: 20
  theorem: {name: global}
""",
    {
        "a smaller box": ("[0.51, 0.01]", "[0.505, 0.005]"),
        "a box that is a point": ("[0.51, 0.01]", "[0.5, 0]"),
        "no W, which is the identity": ("  W: [[1, 0], [0, 1]]\n", ""),
        "no labels, which are 1": ("  labels: [1, 1, 1]\n", ""),
        "the tokens one below the other": (
            "[[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [0.5, 1]]]",
            "[[0, 0], [1, 1], [0, 0], [1, -1], [0, 0], [0.5, 1]]\n  lengths: [2, 2, 2]"),
    },
    {
        "the step on the sum in place of the average": ("step: 1/2", "step: 1/6", INCONCLUSIVE, "undecided"),
        "an angle at the start that no point of the box keeps": ("0.031", "0.024", REFUTED, "angle(p(0), p_mm)"),
        "an angle at the start that some points keep": ("0.031", "0.028", INCONCLUSIVE, "undecided"),
        "another label": ("labels: [1, 1, 1]", "labels: [1, -1, 1]", REFUTED, "angle(p(20), p_mm)"),
        "a label of 2": ("labels: [1, 1, 1]", "labels: [1, 2, 1]", MALFORMED, "labels 1 or -1"),
        "the multipliers exchanged": (
            "7/9}, {input: 2, token: 0, multiplier: 10/9", "10/9}, {input: 2, token: 0, multiplier: 7/9", REJECTED,
            "slack"),
        "a pair twice": ("{input: 2, token: 0", "{input: 1, token: 0", MALFORMED, "at most once"),
        "v of another sign": ("v: [1, 0.5]", "v: [-1, 0.5]", REFUTED, "angle(p(20), p_mm)"),
        "tokens that are not separable": ("[[0, 0], [1, -1]]", "[[0, 0], [-1, -1]]", REJECTED, "slack"),
        "keys given too": ("  v:", "  keys: [[[1]]]\n  v:", MALFORMED, "unknown key"),
    },
)  # fmt: skip

EVERY = family(
    "equal scores, from every start",
    """
given:
  keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]]]
  scores: [[0, 2], [0, 1]]
  loss: linear
  descent: {rule: gradient, step: 1}
  start: every
asserts:
  indices: [1, 1]
  limit: [1, 0]
witness:
  multipliers: [{input: 0, token: 0, multiplier: 0.5}, {input: 1, token: 0, multiplier: 0.5}]
  theorem: {name: every-start}
""",
    {
        "a point": ("start: every", "start: [-2, 3]"),
        "the flow": ("{rule: gradient, step: 1}", "{rule: flow}"),
        "a step that is just short enough": ("step: 1}", "step: 5.3}"),
    },
    {
        "inputs whose differences oppose each other": ("[1, -1]]]", "[1, -1.1]]]", REJECTED, "slack"),
        "a step that is too long": ("step: 1}", "step: 5.4}", REJECTED, "h B_F < 2"),
        "a tie": ("[0, 1]]", "[1, 1]]", REJECTED, "the least gap"),
        "an angle": ("  limit: [1, 0]", "  angles: [{step: 5, at_most: 2}]", REJECTED, "leads to no rate"),
        "a rate": (
            "  limit: [1, 0]", "  rate: {form: logarithm, from: 1, numerator: 9, offset: 2, slope: 1}", REJECTED,
            "leads to no rate"),
        "steps": ("  theorem:", "  steps: 1\n  theorem:", REJECTED, "may have no steps"),
        "steps after which": ("name: every-start", "name: every-start, after: 4", REJECTED, "no rate"),
        "theorem A": ("name: every-start", "name: global", REJECTED, "'every-start'"),
    },
)  # fmt: skip

ALONE = family(
    "one input with equal scores, from every start",
    """
given:
  keys: [[[0, 0], [1, 1], [-1, 0]]]
  scores: [[0, 2, 0]]
  loss: linear
  descent: {rule: gradient, step: 1/2}
  start: every
asserts:
  indices: [1]
witness:
  multipliers: [{input: 0, token: 0, multiplier: 0.5}]
  theorem: {name: every-start}
""",
    {"the limit": ("  indices: [1]", "  indices: [1]\n  limit: [0.5, 0.5]")},
    {
        "another token that has another score": ("[0, 2, 0]", "[0, 2, 0.1]", REJECTED, "differ by nothing"),
        "another token that is as good": ("[0, 2, 0]", "[0, 2, 2]", REJECTED, "the least gap"),
        "other scores that differ by 10^-30": ("[0, 2, 0]", "[0, 2, 1e-30]", REJECTED, "differ by nothing"),
        "the best token left": ("indices: [1]", "indices: [2]", REJECTED, "slack"),
    },
)

# Proposition C: from (3, 0) descent goes to (1, 0), not to p_mm = (1, 4).
MISSED = family(
    "equal scores that are not enough for two inputs",
    """
given:
  keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]
  scores: [[1, 0], [1, 0]]
  loss: linear
  descent: {rule: gradient, step: 1}
  start: [1, 4]
asserts:
  indices: [0, 0]
  limit: [1, 4]
witness:
  multipliers: [{input: 0, token: 1, multiplier: 4}, {input: 1, token: 1, multiplier: 13}]
  theorem: {name: global}
""",
    {"a later step": ("  theorem:", "  steps: 50\n  theorem:")},
    {
        "a start that leads elsewhere": ("start: [1, 4]", "start: [3, 0]", REJECTED, "below the threshold a*"),
        "that start, 300 steps later": (
            "start: [1, 4]\nasserts:\n  indices: [0, 0]\n  limit: [1, 4]\nwitness:\n",
            "start: [3, 0]\nasserts:\n  indices: [0, 0]\n  limit: [1, 4]\nwitness:\n  steps: 300\n", REJECTED,
            "below the threshold a*"),
        "every start": (
            "start: [1, 4]\nasserts:\n  indices: [0, 0]\n  limit: [1, 4]\nwitness:\n  multipliers: [{input: 0, "
            "token: 1, multiplier: 4}, {input: 1, token: 1, multiplier: 13}]\n  theorem: {name: global}",
            "start: every\nasserts:\n  indices: [0, 0]\nwitness:\n  multipliers: [{input: 0, token: 1, "
            "multiplier: 4}, {input: 1, token: 1, multiplier: 13}]\n  theorem: {name: every-start}",
            REJECTED, "pairs of different inputs"),
        "the theorem about every start": ("name: global", "name: every-start", REJECTED, "pairs of different inputs"),
    },
)  # fmt: skip

FLOW = family(
    "the gradient flow",
    """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0.8]]
  loss: exponential
  descent: {rule: flow}
  start: [0, 0.5]
asserts:
  indices: [0]
  angles: [{time: 0, at_most: 0.00497}, {time: 1000000, at_most: 1.03}]
  rate: {form: logarithm, from: 3796, numerator: 6.21, offset: 2, slope: 0.000417}
witness:
  multipliers: [{input: 0, token: 2, multiplier: 100/101}]
  theorem: {name: global}
""",
    {"a time that is no whole number": ("{time: 1000000,", "{time: 1000000.5,")},
    {
        "an angle at the start below the truth": ("0.00497", "0.00496", REFUTED, "angle(p(0), p_mm)"),
        "a later angle below what is proved": ("1.03}", "1.02}", REJECTED, "the bound of"),
        "a step": ("{time: 0,", "{step: 0,", MALFORMED, "a time"),
        "steps": ("  theorem:", "  steps: 1\n  theorem:", REJECTED, "may have no steps"),
        "the start 0, which has no direction": ("start: [0, 0.5]", "start: [0, 0]", REJECTED, "no direction"),
    },
)

LATER = family(
    "the theorem about every start, with a rate",
    """
given:
  keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]]]
  scores: [[0, 2], [0, 1]]
  loss: linear
  descent: {rule: gradient, step: 1}
  start: [-2, -1]
asserts:
  indices: [1, 1]
  rate: {form: logarithm, from: 4100, numerator: 77.4, offset: 9.89, slope: 0.591}
witness:
  multipliers: [{input: 0, token: 0, multiplier: 0.5}, {input: 1, token: 0, multiplier: 0.5}]
  steps: 4
  theorem: {name: every-start, after: 4096}
""",
    {"an angle": ("  rate:", "  angles: [{step: 1000000000000000, at_most: 2}]\n  rate:")},
    {
        "fewer steps than the threshold needs": ("after: 4096", "after: 1", REJECTED, "below the threshold a*"),
        "half a step": ("after: 4096", "after: 4095.5", REJECTED, "a whole number"),
        "negative steps": ("after: 4096", "after: -1", MALFORMED, "a number >= 0"),
        "no such steps": (", after: 4096", "", REJECTED, "leads to no rate"),
        "a numerator below what is proved": ("77.4", "77.3", REJECTED, "A >= the numerator"),
    },
)

FAMILIES = [ONE, BOX, EVERY, ALONE, MISSED, FLOW, LATER]
