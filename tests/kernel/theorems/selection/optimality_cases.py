"""Accept and reject cases of `token-optimality`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Family

NAME = "token-optimality"
family = partial(Family, NAME)

# p_mm(0, 0) = (1, 4); p_mm(1, 0) = (1, 0), where input 0 has no neighbour.
TWO_INPUTS = family(
    "two inputs, of which one may settle on its worse token",
    """
given:
  keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]
  scores: [[1, 0], [1, 0]]
asserts:
  optimal: [[0], [0]]
  locally_optimal: [[0, 0], [1, 0]]
  not_locally_optimal:
  - {indices: [0, 1], because: {input: 1, token: 0}}
witness:
  locally_optimal:
  - [{input: 0, token: 1, multiplier: 4}, {input: 1, token: 1, multiplier: 13}]
  - [{input: 1, token: 1, multiplier: 1}]
  not_locally_optimal:
  - [{input: 1, token: 0, multiplier: 1}]
""",
    {
        "scores in one vector": ("scores: [[1, 0], [1, 0]]", "scores: [1, 0, 1, 0]"),
        "keys in one matrix": (
            "keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]",
            "keys: [[-3, 1], [0, 0], [1, 0], [0, 0]]\n  lengths: [2, 2]"),
        "a number written in another way": ("multiplier: 13}]", "multiplier: 26/2}]"),
        "scores that differ by 1e-30": ("scores: [[1, 0]", "scores: [[1e-30, 0]"),
        "the keys of an input moved together": ("[[1, 0], [0, 0]]]", "[[8, 5], [7, 5]]]"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
    },
    {
        "the worse token called optimal": ("optimal: [[0], [0]]", "optimal: [[1], [0]]", REFUTED, "input 0"),
        "both tokens called optimal": ("optimal: [[0], [0]]", "optimal: [[0], [0, 1]]", REFUTED, "input 1"),
        "a tie of scores": ("scores: [[1, 0]", "scores: [[0, 0]", REFUTED, "tokens of input 0"),
        "the better score with the other token": ("scores: [[1, 0]", "scores: [[0, 1e-30]", REFUTED, "input 0"),
        "a key moved by 1e-30": ("[[1, 0], [0, 0]]]", "[[1, 1e-30], [0, 0]]]", REJECTED, "not proved"),
        "a multiplier off by 1e-30": (
            "multiplier: 4}, {", "multiplier: 4.000000000000000000000000000001}, {", REJECTED, "-3e-30 >= 0"),
        "a multiplier left out": ("{input: 0, token: 1, multiplier: 4}, ", "", REJECTED, "smallest slack"),
        "a multiplier of 0": ("multiplier: 4}, {", "multiplier: 0}, {", MALFORMED, "> 0"),
        "a negative multiplier": ("multiplier: 4}, {", "multiplier: -4}, {", MALFORMED, "> 0"),
        "a multiplier of the chosen token": (
            "0, token: 1, multiplier: 4", "0, token: 0, multiplier: 4", MALFORMED, "(0, 0)"),
        "a pair stated twice": (
            "{input: 0, token: 1, multiplier: 4}", "{input: 1, token: 1, multiplier: 4}", MALFORMED, "at most once"),
        "a token that is no neighbour as the reason": (
            "because: {input: 1, token: 0}", "because: {input: 0, token: 1}", REFUTED, "slack of token (0, 1)"),
        "a neighbour with a smaller score after all": (
            "[1, 0]]\nasserts", "[1, 2]]\nasserts", REFUTED, "tokens of input 1"),
        "said to be inseparable without a proof": (
            "because: {input: 1, token: 0}", "because: not-separable", REJECTED, "entry| of sum mu z"),
        "an unknown reason": ("because: {input: 1, token: 0}", "because: close", MALFORMED, "not-separable"),
        "the chosen token as the reason": (
            "because: {input: 1, token: 0}", "because: {input: 1, token: 1}", MALFORMED, "other than the chosen one"),
        "an index out of range": ("locally_optimal: [[0, 0]", "locally_optimal: [[0, 2]", MALFORMED, "2 tokens"),
        "a negative index": ("locally_optimal: [[0, 0]", "locally_optimal: [[0, -1]", MALFORMED, "an integer >= 0"),
        "an index too few": ("locally_optimal: [[0, 0]", "locally_optimal: [[0]", MALFORMED, "one per input"),
        "a selection twice": (
            "locally_optimal: [[0, 0], [1, 0]]", "locally_optimal: [[1, 0], [1, 0]]", MALFORMED, "listed twice"),
        "an optimal token out of range": ("optimal: [[0], [0]]", "optimal: [[0], [2]]", MALFORMED, "below 2"),
        "a negative optimal token": ("optimal: [[0], [0]]", "optimal: [[0], [-1]]", MALFORMED, "an integer >= 0"),
        "an optimal token twice": ("optimal: [[0], [0]]", "optimal: [[0], [0, 0]]", MALFORMED, "at most once"),
        "an input without optimal tokens": ("optimal: [[0], [0]]", "optimal: [[0], []]", MALFORMED, "at least one"),
        "optimal tokens of one input only": ("optimal: [[0], [0]]", "optimal: [[0]]", MALFORMED, "one per input"),
        "multipliers of one selection only": (
            "  - [{input: 1, token: 1, multiplier: 1}]\n", "", MALFORMED, "2 selections"),
        "a score too many": ("scores: [[1, 0]", "scores: [[1, 0, 2]", MALFORMED, "vectors of 2, 2, one per input"),
        "NaN as a score": ("scores: [[1, 0]", "scores: [[nan, 0]", MALFORMED, "an exact number"),
        "keys of another width": ("[[1, 0], [0, 0]]]", "[[1, 0, 0], [0, 0, 0]]]", MALFORMED, "columns"),
        "inputs of one token": (
            "keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]\n  scores: [[1, 0], [1, 0]]",
            "keys: [[[-3, 1]], [[1, 0]]]\n  scores: [[1], [1]]", MALFORMED, "nothing to select from"),
        "no scores": ("  scores: [[1, 0], [1, 0]]\n", "", MALFORMED, "scores"),
        "an unknown assertion": ("asserts:", "asserts:\n  nearly_optimal: [[0, 0]]", MALFORMED, "unknown key"),
    },
)  # fmt: skip

# The worse tokens of both inputs: either better one is a reason, and scores more by 2 and by 1.
REASONS = family(
    "a selection with two reasons",
    """
given:
  keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]
  scores: [[2, 0], [1, 0]]
asserts:
  not_locally_optimal:
  - {indices: [1, 1], because: {input: 0, token: 0}}
witness:
  not_locally_optimal:
  - [{input: 0, token: 0, multiplier: 4}, {input: 1, token: 0, multiplier: 13}]
""",
    {"the other one": ("because: {input: 0,", "because: {input: 1,")},
    {
        "a reason that scores less": ("scores: [[2, 0]", "scores: [[-2, 0]", REFUTED, "is false"),
        "a reason that is chosen": ("input: 0, token: 0}}", "input: 0, token: 1}}", MALFORMED, "the pair (0, 1)"),
    },
)

# The keys and scores of the authors' figure: token 1 is locally optimal, token 2 is not.
ALL = family(
    "all selections of one input",
    """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0]]
asserts:
  optimal: [[0]]
  all_locally_optimal: [[0], [1]]
witness:
  supports: [[2], [2], [0, 1]]
""",
    {
        "in the other order": ("[[0], [1]]", "[[1], [0]]"),
        "a support in the other order": ("[0, 1]]", "[1, 0]]"),
    },
    {
        "one left out": ("[[0], [1]]", "[[0]]", REFUTED, "left out"),
        "one too many": ("[[0], [1]]", "[[0], [1], [2]]", REFUTED, "not locally optimal"),
        "another one": ("[[0], [1]]", "[[0], [2]]", REFUTED, "is false"),
        "none": ("[[0], [1]]", "none", REFUTED, "left out"),
        "one that is listed twice": ("[[0], [1]]", "[[0], [1], [1]]", MALFORMED, "at most once"),
        "an empty list": ("[[0], [1]]", "[]", MALFORMED, "at least one"),
        "a support left out": ("[[2], [2], [0, 1]]", "[[2], [2]]", REJECTED, "without a support"),
        "a support too many": ("[[2], [2], [0, 1]]", "[[2], [2], [0, 1], [0]]", REJECTED, "without a support"),
        "supports exchanged": ("[[2], [2], [0, 1]]", "[[2], [0, 1], [2]]", REJECTED, "chosen token"),
        "a support of the wrong token": ("[[2], [2], [0, 1]]", "[[1], [2], [0, 1]]", REJECTED, "smallest slack"),
        "a support with a negative multiplier": (
            "[[2], [2], [0, 1]]", "[[1, 2], [2], [0, 1]]", REJECTED, "smallest multiplier"),
        "a token twice in a support": ("[0, 1]]", "[0, 0]]", REJECTED, "linearly dependent"),
        "a support beyond the tokens": ("[0, 1]]", "[0, 3]]", REJECTED, "chosen token"),
        "no witness": ("witness:\n  supports: [[2], [2], [0, 1]]\n", "", MALFORMED, "cuts or supports"),
        "a tie with a neighbour": ("scores: [[1, 0.9, 0]]", "scores: [[1, 0.9, 0.9]]", REFUTED, "is false"),
        "a neighbour that is better by 1e-30": (
            "scores: [[1, 0.9, 0]]", "scores: [[1, 0.9, 0.900000000000000000000000000001]]", REFUTED, "is false"),
    },
)  # fmt: skip

# The token in the middle of input 0 cannot be separated from those on both sides.
CUTS = family(
    "selections that are cut off",
    """
given:
  keys: [[[-1, 0], [0, 0], [2, 0]], [[0, 1], [0, -1]]]
  scores: [[1, 3, 2], [0, 1]]
asserts:
  optimal: [[1], [1]]
  not_locally_optimal: [{indices: [1, 0], because: not-separable}]
  all_locally_optimal: none
witness:
  not_locally_optimal: [[{input: 0, token: 0, multiplier: 2}, {input: 0, token: 2, multiplier: 1}]]
  cuts: [[{input: 0, chosen: 1, other: 0, multiplier: 2}, {input: 0, chosen: 1, other: 2, multiplier: 1}]]
  supports: [[1, 4], [1, 3], [1, 4], [1, 3]]
""",
    {
        "a cut twice as long": (
            "[{input: 0, chosen: 1, other: 0, multiplier: 2}, {input: 0, chosen: 1, other: 2, multiplier: 1}]",
            "[{input: 0, chosen: 1, other: 0, multiplier: 4}, {input: 0, chosen: 1, other: 2, multiplier: 2}]"),
    },
    {
        "a cut that is none": ("other: 0, multiplier: 2", "other: 0, multiplier: 2.1", REJECTED, "every cut"),
        "a cut about another token": (
            "[{input: 0, chosen: 1, other: 0, multiplier: 2}, {input: 0, chosen: 1, other: 2, multiplier: 1}]",
            "[{input: 0, chosen: 0, other: 1, multiplier: 2}, {input: 0, chosen: 0, other: 2, multiplier: 1}]",
            REJECTED, "every cut"),
        "a cut of the chosen token with itself": (
            "{input: 0, chosen: 1, other: 2, multiplier: 1}]]\n  supports: [[1, 4], [1, 3], [1, 4], [1, 3]]",
            "{input: 0, chosen: 1, other: 2, multiplier: 1}], "
            "[{input: 1, chosen: 0, other: 0, multiplier: 1}]]\n  supports: [[1, 3], [1, 3]]",
            MALFORMED, "another token"),
        "a cut with two chosen tokens": (
            "{input: 0, chosen: 1, other: 2, multiplier: 1}]]", "{input: 0, chosen: 0, other: 2, multiplier: 1}]]",
            MALFORMED, "one chosen token"),
        "a cut about an unknown input": ("cuts: [[{input: 0", "cuts: [[{input: 2", MALFORMED, "an input below 2"),
        "a cut about an unknown token": ("other: 0, multiplier: 2", "other: 3, multiplier: 2", MALFORMED, "below 3"),
        "no cut": (
            "  cuts: [[{input: 0, chosen: 1, other: 0, multiplier: 2}, "
            "{input: 0, chosen: 1, other: 2, multiplier: 1}]]\n",
            "", REJECTED, "without a support"),
        "a locally optimal one that is cut off": (
            "all_locally_optimal: none", "all_locally_optimal: [[1, 1]]", REFUTED, "not locally optimal"),
        "another combination": ("token: 2, multiplier: 1", "token: 2, multiplier: 2", REJECTED, "sum mu z"),
        "an inseparable selection called locally optimal": (
            "not_locally_optimal: [{indices: [1, 0], because: not-separable}]", "locally_optimal: [[1, 0]]", MALFORMED,
            "multipliers for each"),
    },
)  # fmt: skip

# gamma = Y v'x: input 0 has scores 0, 3 and input 1, of label -1, has 0, 1.
LABELS = family(
    "tokens with weights and labels",
    """
given:
  tokens: [[[0, 0], [1, 1]], [[0, 0], [1, -1]]]
  W: [[1, 0], [1, 1]]
  v: [1, 2]
  labels: [1, -1]
asserts:
  optimal: [[1], [1]]
  locally_optimal: [[1, 1]]
witness:
  locally_optimal: [[{input: 1, token: 0, multiplier: 1}]]
""",
    {"another direction of the same signs": ("v: [1, 2]", "v: [3, 4]")},
    {
        "the other label": ("labels: [1, -1]", "labels: [1, 1]", REFUTED, "input 1"),
        "no labels": ("  labels: [1, -1]\n", "", REFUTED, "input 1"),
        "a label that is none": ("labels: [1, -1]", "labels: [1, 2]", MALFORMED, "1 or -1"),
        "a label too many": ("labels: [1, -1]", "labels: [1, -1, 1]", MALFORMED, "2 numbers"),
        "no weights": ("  W: [[1, 0], [1, 1]]\n", "", REJECTED, "not proved"),
        "the direction turned round": ("v: [1, 2]", "v: [-1, -2]", REFUTED, "input 0"),
        "scores beside v": ("  v: [1, 2]", "  scores: [[0, 3], [0, 1]]\n  v: [1, 2]", MALFORMED, "unknown key"),
    },
)

LOCAL = family(
    "one selection of one input",
    """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0]]
asserts:
  locally_optimal: [[1]]
witness:
  locally_optimal: [[{input: 0, token: 2, multiplier: 1}]]
""",
    {
        "a score just below": ("0.9, 0]]", "0.9, 0.899999999999999999999999999999]]"),
        "a better token that is no neighbour": ("scores: [[1,", "scores: [[100,"),
    },
    {
        "a neighbour of the same score": (
            "0.9, 0]]", "0.9, 0.9]]", REFUTED, "smallest score gap of a neighbour of (1)"),
        "a neighbour that is better by 1e-30": (
            "0.9, 0]]", "0.9, 0.900000000000000000000000000001]]", REFUTED, "-1e-30 > 0 is false"),
        "a better token that is a neighbour": ("[[-0.1, 1]", "[[0, 1]", REFUTED, "smallest score gap"),
        "a better token within the margin": ("[[-0.1, 1]", "[[1e-30, 1]", REJECTED, "smallest slack"),
        "another selection": ("locally_optimal: [[1]]\nwitness", "locally_optimal: [[0]]\nwitness", REJECTED, "slack"),
    },
)  # fmt: skip

FAMILIES = [TWO_INPUTS, REASONS, ALL, CUTS, LABELS, LOCAL]
