"""Accept and reject cases of `max-margin`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Case, Family

NAME = "max-margin"
MULTIPLIERS = "multipliers: [{input: 1, token: 0, multiplier: 7/9}, {input: 2, token: 0, multiplier: 10/9}]"
WEIGHTS = "weights: [{input: 0, token: 1, weight: 1}, {input: 0, token: 2, weight: 1}, {input: 0, token: 3, weight: 1}]"
family = partial(Family, NAME)

# z = (1, 1), (1, -1), (1/2, 1) and p = 7/9 (1, -1) + 10/9 (1/2, 1) = (4/3, 1/3), |p|^2 = 17/9.
THREE_INPUTS = family(
    "three inputs of two tokens",
    """
given:
  keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [1/2, 1]]]
  indices: [1, 1, 1]
asserts:
  solution: [4/3, 1/3]
  neighbours: [{input: 1, token: 0}, {input: 2, token: 0}]
  support: [{input: 2, token: 0}, {input: 1, token: 0}]
  gap: 2/3
  margin: {at_least: 0.7276068, at_most: 0.7276069}
witness:
  multipliers: [{input: 1, token: 0, multiplier: 7/9}, {input: 2, token: 0, multiplier: 10/9}]
""",
    {
        "one matrix of keys, with lengths": (
            "keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [1/2, 1]]]",
            "keys: [[0, 0], [1, 1], [0, 0], [1, -1], [0, 0], [1/2, 1]]\n  lengths: [2, 2, 2]"),
        "tokens, W being the identity": ("keys:", "tokens:"),
        "tokens with W": ("  keys:", "  W: [[1, 0], [0, 1]]\n  tokens:"),
        "no solution stated": ("  solution: [4/3, 1/3]\n", ""),
        "no support stated": ("  support: [{input: 2, token: 0}, {input: 1, token: 0}]\n", ""),
        "no gap stated": ("  gap: 2/3\n", ""),
        "a smaller gap": ("gap: 2/3", "gap: 1e-30"),
        "margins on one side": (", at_most: 0.7276069", ""),
        "a margin of at least nothing": ("at_least: 0.7276068", "at_least: 0"),
        "the solution as a matrix of one row": ("solution: [4/3, 1/3]", "solution: [[4/3, 1/3]]"),
        "weights that are not used": ("witness:", "witness:\n  weights: [{input: 0, token: 0, weight: 1}]"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
    },
    {
        "p off by one unit in the last digit": ("[4/3, 1/3]", "[1.3333333333333333333, 1/3]", REFUTED, "p as stated"),
        "p off by 10^-30": (
            "4/3, 1/3]", "4/3, 333333333333333333333333333334/1000000000000000000000000000000]", REFUTED, "p"),
        "p turned round": ("[4/3, 1/3]", "[1/3, 4/3]", REFUTED, "p as stated (entry 0, 0)"),
        "p of the other sign": ("[4/3, 1/3]", "[-4/3, -1/3]", REFUTED, "p as stated"),
        "p twice as long": ("[4/3, 1/3]", "[8/3, 2/3]", REFUTED, "p as stated"),
        "p of the third dimension": ("[4/3, 1/3]", "[4/3, 1/3, 0]", MALFORMED, "for p of that shape"),
        "p in another shape": ("[4/3, 1/3]", "[[4/3], [1/3]]", MALFORMED, "for p of that shape"),
        "p that is nothing": ("[4/3, 1/3]", "[]", MALFORMED, "at least one"),
        "a neighbour too few": (
            "[{input: 1, token: 0}, {input: 2, token: 0}]\n  s", "[{input: 1, token: 0}]\n  s", REFUTED,
            "slack of the others"),
        "a neighbour too many": ("neighbours: [", "neighbours: [{input: 0, token: 0}, ", MALFORMED, "asserts.gap"),
        "a neighbour twice": ("neighbours: [", "neighbours: [{input: 2, token: 0}, ", MALFORMED, "(2, 0) again"),
        "a neighbour that is another": (
            "neighbours: [{input: 1,", "neighbours: [{input: 0,", REFUTED, "stated to be tight: 2/3"),
        "a neighbour that is the chosen token": (
            "neighbours: [{input: 1, token: 0}", "neighbours: [{input: 1, token: 1}", MALFORMED,
            "other than the chosen one"),
        "a neighbour of no input": ("neighbours: [{input: 1,", "neighbours: [{input: 3,", MALFORMED, "(3, 0)"),
        "neighbours that are points": (
            "neighbours: [{input: 1, token: 0}", "neighbours: [{point: 1}", MALFORMED, "an input and a token"),
        "no neighbours at all": (
            "neighbours: [{input: 1, token: 0}, {input: 2, token: 0}]", "neighbours: []", MALFORMED,
            "at least one item"),
        "a support too large": ("support: [", "support: [{input: 0, token: 0}, ", REFUTED, "in the support"),
        "a support too small": ("support: [{input: 2, token: 0}, ", "support: [", REFUTED, "in the support"),
        "a gap too large by 10^-20": ("gap: 2/3", "gap: 0.66666666666666666667", REFUTED, "slack of the others"),
        "a gap of nothing": ("gap: 2/3", "gap: 0", MALFORMED, "> 0"),
        "a margin too large": ("0.7276068,", "0.7276069,", REFUTED, "squared margin"),
        "a margin too small": ("0.7276069}", "0.7276068}", REFUTED, "squared bound"),
        "a negative margin": ("at_least: 0.7276068", "at_least: -0.8", MALFORMED, ">= 0"),
        "a margin without bounds": (
            "{at_least: 0.7276068, at_most: 0.7276069}", "{}", MALFORMED, "at_least or at_most"),
        "a multiplier off by 10^-20": (
            "multiplier: 7/9", "multiplier: 0.77777777777777777778", REJECTED, "smallest slack"),
        "a multiplier of the other sign": ("multiplier: 7/9", "multiplier: -7/9", MALFORMED, "> 0"),
        "a multiplier of 0": ("multiplier: 7/9", "multiplier: 0", MALFORMED, "> 0"),
        "a multiplier that is no number": ("multiplier: 7/9", "multiplier: nan", MALFORMED, "an exact number"),
        "multipliers of another point, and a p to match": (
            "multipliers: [{input: 1, token: 0, multiplier: 7/9}",
            "multipliers: [{input: 0, token: 0, multiplier: 7/9}", REJECTED, "not proved"),
        "multipliers twice": (
            "multipliers: [", "multipliers: [{input: 1, token: 0, multiplier: 1}, ", MALFORMED, "(1, 0) again"),
        "a multiplier too few": (", {input: 2, token: 0, multiplier: 10/9}", "", REJECTED, "smallest slack"),
        "no witness": (f"witness:\n  {MULTIPLIERS}\n", "", MALFORMED, "no witness"),
        "no multipliers": (
            "multipliers: [{input: 1, token: 0, multiplier: 7/9}, {input: 2, token: 0, multiplier: 10/9}]",
            "weights: [{input: 1, token: 0, weight: 1}]", MALFORMED, "no 'multipliers'"),
        "a key moved by 10^-30": (
            "[1/2, 1]]]", "[1/2, 1.000000000000000000000000000001]]]", REJECTED, "smallest slack"),
        "an index of another token": (
            "indices: [1, 1, 1]", "indices: [1, 1, 0]", MALFORMED, "other than the chosen one"),
        "an index out of range": (
            "indices: [1, 1, 1]", "indices: [1, 1, 2]", MALFORMED, "one of the 2 tokens of input 2"),
        "a negative index": ("indices: [1, 1, 1]", "indices: [1, 1, -1]", MALFORMED, "an integer >= 0"),
        "an index too few": ("indices: [1, 1, 1]", "indices: [1, 1]", MALFORMED, "one per input"),
        "no indices": ("  indices: [1, 1, 1]\n", "", MALFORMED, "no 'indices'"),
        "scores, which matter to none of this": (
            "  indices", "  scores: [1, 0, 1, 0, 1, 0]\n  indices", MALFORMED, "the unknown key 'scores'"),
        "lengths beside a list": ("  indices", "  lengths: [2, 2, 2]\n  indices", MALFORMED, "no lengths"),
        "keys of different dimensions": ("[1/2, 1]]]", "[1/2, 1, 0]]]", MALFORMED, "keys"),
        "a relaxed input whose constraint is tight": (
            "  indices", "  relaxed: [2]\n  indices", REJECTED, "multipliers times slacks"),
        "a direction beside the solution": ("  gap", "  direction: [4, 1]\n  gap", MALFORMED, "beside each other"),
        "a radius beside the solution": ("  gap", "  within: 1\n  gap", MALFORMED, "beside each other"),
        "a contradiction beside the solution": (
            "  gap", "  constraints: contradictory\n  gap", MALFORMED, "beside each other"),
        "an unknown key": ("  gap", "  bias: 0\n  gap", MALFORMED, "the unknown key 'bias'"),
    },
)  # fmt: skip

# z = (1, 0), (3, -5), (1, 0), (2, 0): as (1, 0) stands twice, the multipliers of p = (1, 0) are not unique.
DEGENERATE = family(
    "constraints that stand twice",
    """
given:
  keys: [[[1, 0], [0, 0], [-2, 5], [0, 0], [-1, 0]]]
  indices: [0]
asserts:
  solution: [1, 0]
  neighbours: [{input: 0, token: 1}, {input: 0, token: 3}]
  support: [{input: 0, token: 1}]
witness:
  multipliers: [{input: 0, token: 1, multiplier: 1}]
""",
    {
        "no support stated": ("  support: [{input: 0, token: 1}]\n", ""),
        "the margin, which is 1": ("  support", "  margin: {at_least: 1, at_most: 1}\n  support"),
        "a gap, met to the last digit": ("  support", "  gap: 1\n  support"),
    },
    {
        "the support of other multipliers": (
            "support: [{input: 0, token: 1}]", "support: [{input: 0, token: 3}]", REJECTED, "in the support"),
        "the support of all multipliers": (
            "support: [", "support: [{input: 0, token: 3}, ", REJECTED, "in the support"),
        "a duplicate that is forgotten": (
            ", {input: 0, token: 3}]\n  support", "]\n  support", REFUTED, "slack of the others"),
        "a key that makes the duplicate loose by 10^-30": (
            "[-2, 5], [0, 0]", "[-2, 5], [-0.000000000000000000000000000001, 0]", REFUTED, "stated to be tight"),
        "a constraint that is not satisfied": ("[-2, 5]", "[1/2, 5]", REJECTED, "smallest slack"),
        "multipliers that sum to more": ("multiplier: 1}", "multiplier: 2}", REJECTED, "multipliers times slacks"),
        "a token that is the chosen one again": ("[-2, 5]", "[1, 0]", REJECTED, "smallest slack"),
        "one token": ("[[[1, 0], [0, 0], [-2, 5], [0, 0], [-1, 0]]]", "[[[1, 0]]]", MALFORMED, "more than one token"),
        "a margin above 1 by 10^-30": (
            "  support", "  margin: {at_least: 1.000000000000000000000000000001}\n  support", REFUTED,
            "squared margin"),
        "a margin below 1 by 10^-30": (
            "  support", "  margin: {at_most: 0.999999999999999999999999999999}\n  support", REFUTED, "squared bound"),
    },
)  # fmt: skip

# p = (1, 1): z_1 = (1, 0) tight at 1, z_2 = (-1, 1) relaxed and tight at 0; p = 2 (1, 0) + (-1, 1).
RELAXED = family(
    "a relaxed input",
    """
given:
  keys: [[[1, 0], [0, 0]], [[-1, 1], [0, 0]], [[0, 0]]]
  indices: [0, 0, 0]
  relaxed: [1]
asserts:
  solution: [1, 1]
  neighbours: [{input: 0, token: 1}, {input: 1, token: 1}]
  support: [{input: 0, token: 1}, {input: 1, token: 1}]
witness:
  multipliers: [{input: 0, token: 1, multiplier: 2}, {input: 1, token: 1, multiplier: 1}]
""",
    {"an input of one token, relaxed": ("relaxed: [1]", "relaxed: [1, 2]")},
    {
        "not relaxed": ("  relaxed: [1]\n", "", REJECTED, "smallest slack"),
        "the other input relaxed": ("relaxed: [1]", "relaxed: [0]", REJECTED, "not proved"),
        "all inputs relaxed": ("relaxed: [1]", "relaxed: [0, 1]", MALFORMED, "p = 0 solves this problem"),
        "relaxed twice": ("relaxed: [1]", "relaxed: [1, 1]", MALFORMED, "at most once"),
        "an input that is not there": ("relaxed: [1]", "relaxed: [3]", MALFORMED, "3 inputs, counted from 0"),
        "no input": ("relaxed: [1]", "relaxed: []", MALFORMED, "at least one item"),
        "the solution without the relaxed input": ("solution: [1, 1]", "solution: [1, 0]", REFUTED, "p as stated"),
        "only the unrelaxed neighbour": (
            "neighbours: [{input: 0, token: 1}, {input: 1, token: 1}]", "neighbours: [{input: 0, token: 1}]", REFUTED,
            "others"),
    },
)  # fmt: skip

# q_1 = (1, 0), q_2 = (0, 1): W = z_1 q_1' + z_2 q_2' / 4 for z_1 = (1, 0), z_2 = (0, 2).
MATRICES = family(
    "a matrix W with a query for each input",
    """
given:
  keys: [[[1, 0], [0, 0]], [[0, 2], [0, 0]]]
  queries: [[1, 0], [0, 1]]
  indices: [0, 0]
asserts:
  solution: [[1, 0], [0, 1/2]]
  neighbours: [{input: 0, token: 1}, {input: 1, token: 1}]
  margin: {at_least: 0.8944271, at_most: 0.8944272}
witness:
  multipliers: [{input: 0, token: 1, multiplier: 1}, {input: 1, token: 1, multiplier: 1/4}]
""",
    {
        "a decimal": ("[0, 1/2]]", "[0, 0.5]]"),
        "a direction near it": (
            "solution: [[1, 0], [0, 1/2]]\n  neighbours: [{input: 0, token: 1}, {input: 1, token: 1}]\n"
            "  margin: {at_least: 0.8944271, at_most: 0.8944272}\n",
            "direction: [[1.01, 0], [0, 1/2]]\n  within: 0.2\n"),
    },
    {
        "W transposed in one entry": ("[[1, 0], [0, 1/2]]", "[[1, 1/2], [0, 0]]", REFUTED, "W as stated (entry 0, 1)"),
        "W as a vector": ("[[1, 0], [0, 1/2]]", "[1, 0, 0, 1/2]", MALFORMED, "for W of that shape"),
        "a query of another length": ("queries: [[1, 0], [0, 1]]", "queries: [[1, 0], [0, 2]]", REJECTED, "not proved"),
        "a query too many": (
            "queries: [[1, 0], [0, 1]]", "queries: [[1, 0], [0, 1], [1, 1]]", MALFORMED,
            "1 query for all inputs, or 2"),
        "one query, as if it were two": ("queries: [[1, 0], [0, 1]]", "queries: [[1, 0]]", REFUTED, "W as stated"),
        "queries beside tokens": ("keys:", "tokens:", MALFORMED, "the unknown key 'tokens'"),
        "a margin too large": ("0.8944271,", "0.8944272,", REFUTED, "squared margin"),
    },
)  # fmt: skip

# Y_i x_i = (1, 0), (0, 1), (1, 1).
LABELS = family(
    "labelled points",
    """
given:
  points: [[1, 0], [0, -1], [1, 1]]
  labels: [1, -1, 1]
asserts:
  solution: [1, 1]
  neighbours: [{point: 0}, {point: 1}]
  support: [{point: 1}, {point: 0}]
  gap: 1
witness:
  multipliers: [{point: 0, multiplier: 1}, {point: 1, multiplier: 1}]
""",
    {
        "a decimal": ("gap: 1", "gap: 0.5"),
        "points among which the tight ones are": (
            "  solution: [1, 1]\n  neighbours: [{point: 0}, {point: 1}]\n"
            "  support: [{point: 1}, {point: 0}]\n  gap: 1\n",
            "  direction: [1, 1.01]\n  within: 0.2\n  neighbours_among: [{point: 0}, {point: 1}]\n  gap: 0.5\n"),
    },
    {
        "a label turned round": ("labels: [1, -1, 1]", "labels: [1, 1, 1]", REJECTED, "smallest slack"),
        "a label that is none": ("labels: [1, -1, 1]", "labels: [1, -1, 2]", MALFORMED, "labels 1 or -1"),
        "a label too few": ("labels: [1, -1, 1]", "labels: [1, -1]", MALFORMED, "labels"),
        "no labels": ("  labels: [1, -1, 1]\n", "", MALFORMED, "no 'labels'"),
        "a point that is none": (
            "neighbours: [{point: 0}", "neighbours: [{point: 3}", MALFORMED, "the number of a point"),
        "a pair": ("neighbours: [{point: 0}", "neighbours: [{input: 0, token: 0}", MALFORMED, "the number of a point"),
        "a pair beside a point": (
            "[{point: 0}, {point: 1}]", "[{point: 0, token: 0}, {point: 1}]", MALFORMED, "the unknown key 'token'"),
        "a gap too large": ("gap: 1", "gap: 1.1", REFUTED, "others"),
        "v off": ("solution: [1, 1]", "solution: [1, 1.0000000001]", REFUTED, "v as stated"),
        "indices beside points": ("  labels", "  indices: [0]\n  labels", MALFORMED, "the unknown key 'indices'"),
    },
)  # fmt: skip

# The same three inputs; d/m = d, |d|^2 = 1.89 against 17/9 = 1.888...
NEAR = family(
    "a direction near the solution",
    """
given:
  keys: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [1/2, 1]]]
  indices: [1, 1, 1]
asserts:
  direction: [1.3334, 0.3333]
  within: 0.02
  neighbours_among: [{input: 1, token: 0}, {input: 2, token: 0}]
  gap: 0.6
  margin: {at_least: 0.7275, at_most: 0.7277}
witness:
  multipliers: [{input: 1, token: 0, multiplier: 0.7778}, {input: 2, token: 0, multiplier: 1.1111}]
""",
    {
        "a direction twice as long": ("[1.3334, 0.3333]", "[2.6668, 0.6666]"),
        "no neighbours": ("  neighbours_among: [{input: 1, token: 0}, {input: 2, token: 0}]\n  gap: 0.6\n", ""),
        "no gap": ("  gap: 0.6\n", ""),
        "more constraints to be among": (
            "  neighbours_among: [{input: 1, token: 0}, {input: 2, token: 0}]\n  gap: 0.6\n",
            "  neighbours_among: [{input: 0, token: 0}, {input: 1, token: 0}, {input: 2, token: 0}]\n"),
        "no margin": ("  margin: {at_least: 0.7275, at_most: 0.7277}\n", ""),
        "a multiplier of a loose constraint": (
            "multipliers: [", "multipliers: [{input: 0, token: 0, multiplier: 1e-9}, "),
    },
    {
        "a radius that is not proved": ("within: 0.02", "within: 0.001", REJECTED, "squared radius"),
        "a radius of nothing": ("within: 0.02", "within: 0", REJECTED, "squared radius"),
        "a negative radius": ("within: 0.02", "within: -0.02", MALFORMED, ">= 0"),
        "a radius so large that constraints may be tight": (
            "within: 0.02", "within: 0.5", REJECTED, "how far the others stay"),
        "a direction against a constraint": (
            "[1.3334, 0.3333]", "[1.3334, -1.3333]", REFUTED, "constraints that are not relaxed"),
        "a direction of nothing": ("[1.3334, 0.3333]", "[0, 0]", REFUTED, "not relaxed: 0 > 0"),
        "a direction along a constraint": ("[1.3334, 0.3333]", "[1, 1]", REFUTED, "not relaxed: 0 > 0"),
        "a direction far from the solution": ("[1.3334, 0.3333]", "[1.3334, 0]", REJECTED, "squared radius"),
        "a direction of another dimension": ("[1.3334, 0.3333]", "[1.3334]", MALFORMED, "for p of that shape"),
        "multipliers of other constraints": (
            "multipliers: [{input: 1, token: 0, multiplier: 0.7778}",
            "multipliers: [{input: 0, token: 0, multiplier: 0.7778}", REJECTED, "squared radius"),
        "multipliers too large": ("multiplier: 1.1111", "multiplier: 2.1111", REJECTED, "squared radius"),
        "a negative multiplier": ("multiplier: 0.7778", "multiplier: -0.7778", MALFORMED, "> 0"),
        "a gap too large": ("gap: 0.6\n", "gap: 0.65\n", REJECTED, "how far the others stay"),
        "a neighbour too few": (
            "neighbours_among: [{input: 1, token: 0}, ", "neighbours_among: [", REJECTED, "how far the others stay"),
        "neighbours in full": ("neighbours_among:", "neighbours:", MALFORMED, "beside each other"),
        "a gap about nothing": (
            "  neighbours_among: [{input: 1, token: 0}, {input: 2, token: 0}]\n", "", MALFORMED,
            "neighbours_among beside it"),
        "a gap with all constraints among": (
            "neighbours_among: [", "neighbours_among: [{input: 0, token: 0}, ", MALFORMED, "not listed"),
        "a margin too large": ("at_least: 0.7275", "at_least: 0.7277", REJECTED, "squared margin"),
        "a margin too small": ("at_most: 0.7277", "at_most: 0.7276", REJECTED, "squared bound"),
        "no radius": ("  within: 0.02\n", "", MALFORMED, "direction and within together"),
        "no direction": ("  direction: [1.3334, 0.3333]\n", "", MALFORMED, "direction and within together"),
        "an input relaxed": ("  indices", "  relaxed: [1]\n  indices", REJECTED, "squared radius"),
    },
)  # fmt: skip

# A relaxed constraint at 0: feasible only with an exact direction.
NEAR_RELAXED = family(
    "a direction with a relaxed input",
    """
given:
  keys: [[[1, 0], [0, 0]], [[-1, 1], [0, 0]]]
  indices: [0, 0]
  relaxed: [1]
asserts:
  direction: [1, 1]
  within: 0
witness:
  multipliers: [{input: 0, token: 1, multiplier: 2}, {input: 1, token: 1, multiplier: 1}]
""",
    {"a little inside": ("direction: [1, 1]\n  within: 0", "direction: [1, 1.01]\n  within: 0.15")},
    {
        "a little outside": (
            "direction: [1, 1]", "direction: [1, 0.999999999999999999999]", REFUTED, "relaxed constraints"),
        "not relaxed": ("  relaxed: [1]\n", "", REFUTED, "not relaxed: 0 > 0"),
        "a multiplier too few": (", {input: 1, token: 1, multiplier: 1}", "", REJECTED, "squared radius"),
    },
)  # fmt: skip

# z = (1, 1), (-1, 0), (0, -1).
CONTRADICTION = family(
    "constraints that contradict each other",
    """
given:
  keys: [[[0, 0], [-1, -1], [1, 0], [0, 1]]]
  indices: [0]
asserts:
  constraints: contradictory
witness:
  weights: [{input: 0, token: 1, weight: 1}, {input: 0, token: 2, weight: 1}, {input: 0, token: 3, weight: 1}]
""",
    {"multipliers that are not used": ("witness:", "witness:\n  multipliers: [{input: 0, token: 1, multiplier: 1}]")},
    {
        "a weight off by 10^-20": (
            "token: 1, weight: 1", "token: 1, weight: 1.00000000000000000001", REJECTED, "sum mu z"),
        "a weight too few": (", {input: 0, token: 3, weight: 1}", "", REJECTED, "sum mu z"),
        "a weight of the other sign": ("token: 1, weight: 1", "token: 1, weight: -1", MALFORMED, "> 0"),
        "a weight of 0": ("token: 1, weight: 1", "token: 1, weight: 0", MALFORMED, "> 0"),
        "data that can be separated": ("[-1, -1]", "[-1, 1]", REJECTED, "sum mu z"),
        "a solution": ("constraints: contradictory", "solution: [1, 1]", MALFORMED, "no 'multipliers'"),
        "consistent": ("contradictory", "consistent", MALFORMED, "'contradictory'"),
        "no weights": (WEIGHTS, "multipliers: [{input: 0, token: 1, multiplier: 1}]", MALFORMED, "no 'weights'"),
    },
)  # fmt: skip

# z_1 = (1, 0) >= 1 and z_2 = (-1, 0) >= 0; weights on relaxed constraints alone prove nothing.
RELAXED_CONTRADICTION = family(
    "a relaxed constraint that contradicts another",
    """
given:
  keys: [[[1, 0], [0, 0]], [[-1, 0], [0, 0], [-2, 0]]]
  indices: [0, 0]
  relaxed: [1]
asserts:
  constraints: contradictory
witness:
  weights: [{input: 0, token: 1, weight: 1}, {input: 1, token: 1, weight: 1}]
""",
    {"not relaxed": ("  relaxed: [1]\n", "")},
    {
        "weights on relaxed constraints alone": (
            "[{input: 0, token: 1, weight: 1}, {input: 1, token: 1, weight: 1}]",
            "[{input: 1, token: 1, weight: 1}, {input: 1, token: 2, weight: 1}]", REJECTED, "right sides"),
        "a key that lets p pass": ("[-1, 0], [0, 0], ", "[-1, 1], [0, 0], ", REJECTED, "sum mu z"),
    },
)  # fmt: skip

# A token that is the chosen one again: z = 0.
DUPLICATE = family(
    "a token that is the chosen one again",
    """
given:
  keys: [[[1, 1], [1, 1], [0, 0]]]
  indices: [0]
asserts:
  constraints: contradictory
witness:
  weights: [{input: 0, token: 1, weight: 1}]
""",
    {},
    {
        "a token that differs by 10^-30": (
            "[1, 1], [0, 0]",
            "[1, 1.000000000000000000000000000001], [0, 0]",
            REJECTED,
            "sum mu z",
        )
    },
)

FAMILIES = [
    THREE_INPUTS,
    DEGENERATE,
    RELAXED,
    MATRICES,
    LABELS,
    NEAR,
    NEAR_RELAXED,
    CONTRADICTION,
    RELAXED_CONTRADICTION,
    DUPLICATE,
]
CASES: list[Case] = [case for family in FAMILIES for case in family.cases()]
