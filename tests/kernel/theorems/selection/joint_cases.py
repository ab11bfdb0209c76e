"""Accept and reject cases of `joint-max-margin`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Case, Family

NAME = "joint-max-margin"
family = partial(Family, NAME)

# The authors' data where every input is a support input: Y x = (1, 1), (-1, 1), (1/2, 1), so v = (0, 1), and
# (1, 1) / 5 + 2 (-1, 1) / 5 + 2 (1/2, 1) / 5 = (0, 1). p = 7/9 (1, -1) + 10/9 (1/2, 1).
TIGHT = family(
    "every input a support input",
    """
given:
  tokens: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [1/2, 1]]]
  labels: [1, -1, 1]
  indices: [1, 1, 1]
asserts:
  v: [0, 1]
  support: [0, 1, 2]
  p: [4/3, 1/3]
  label_margin: {at_least: 1, at_most: 1}
  drop: 0.17
  path:
    loss: logistic
    at: [{head_norm: 40, attention_norm: 40, head_cosine: 0.999, attention_cosine: 0.95, mass: 0.9999}]
witness:
  head_multipliers: [{input: 0, multiplier: 0.2}, {input: 1, multiplier: 0.4}, {input: 2, multiplier: 2/5}]
  multipliers: [{input: 1, token: 0, multiplier: 7/9}, {input: 2, token: 0, multiplier: 10/9}]
  comparators: [{entry: 0, head: [0.22, 39.999]}]
""",
    {
        "the exponential loss": ("loss: logistic", "loss: exponential"),
        "no drop": ("  drop: 0.17\n", ""),
        "no label margin": ("  label_margin: {at_least: 1, at_most: 1}\n", ""),
        "only a lower bound of the label margin": ("{at_least: 1, at_most: 1}", "{at_least: 1}"),
        "only an upper bound of it": ("{at_least: 1, at_most: 1}", "{at_most: 1}"),
        "wider bounds of it": ("{at_least: 1, at_most: 1}", "{at_least: 0, at_most: 1.5}"),
        "a smaller drop": ("drop: 0.17", "drop: 1e-30"),
        "the head's angle alone": (", attention_cosine: 0.95, mass: 0.9999}", "}"),
        "the angle of p alone": ("head_cosine: 0.999, attention_cosine: 0.95, mass: 0.9999", "attention_cosine: 0.95"),
        "the mass alone": ("head_cosine: 0.999, attention_cosine: 0.95, mass: 0.9999", "mass: 0.9999"),
        "attention to compare with": ("head: [0.22, 39.999]}", "head: [0.22, 39.999], attention: [38.8, 9.7]}"),
        "W stated": ("  labels:", "  W: [[1, 0], [0, 1]]\n  labels:"),
        "multipliers in another order": (
            "[{input: 0, multiplier: 0.2}, {input: 1, multiplier: 0.4}",
            "[{input: 1, multiplier: 0.4}, {input: 0, multiplier: 0.2}"),
        "two pairs of norms": ("mass: 0.9999}]", "mass: 0.9999}, {head_norm: 60, attention_norm: 50, mass: 0.99}]"),
        "provenance": ("witness:", "provenance: {when: long ago}\nwitness:"),
    },
    {
        "v off by 10^-20": ("v: [0, 1]", "v: [1e-20, 1]", REFUTED, "v_mm is the sum"),
        "v of twice the length": ("v: [0, 1]", "v: [0, 2]", REFUTED, "v_mm is the sum"),
        "v of zeros": ("v: [0, 1]", "v: [0, 0]", REFUTED, "v_mm is the sum"),
        "p off by 10^-20": ("p: [4/3, 1/3]", "p: [4/3, 0.33333333333333333333]", REFUTED, "p_mm is the sum"),
        "p turned round": ("p: [4/3, 1/3]", "p: [1/3, 4/3]", REFUTED, "p_mm is the sum"),
        "a support input too few": ("support: [0, 1, 2]", "support: [0, 1]", REFUTED, "the support inputs"),
        "label margin too large by 10^-20": (
            "at_least: 1, at_most: 1}", "at_least: 1.00000000000000000001}", REFUTED, "1/|v_mm|"),
        "label margin too small by 10^-20": (
            "at_least: 1, at_most: 1}", "at_most: 0.99999999999999999999}", REFUTED, "1/|v_mm|"),
        "bounds of the label margin exchanged": (
            "at_least: 1, at_most: 1}", "at_least: 2, at_most: 1}", REFUTED, "1/|v_mm|"),
        "no bound of the label margin": ("{at_least: 1, at_most: 1}", "{}", MALFORMED, "at_least or at_most"),
        "a negative bound of it": ("at_least: 1, at", "at_least: -1, at", MALFORMED, "a number >= 0"),
        "a drop that is not shown": ("drop: 0.17", "drop: 0.18", REJECTED, "by every choice"),
        "a drop of zero": ("drop: 0.17", "drop: 0", MALFORMED, "a number > 0"),
        "a negative drop": ("drop: 0.17", "drop: -0.17", MALFORMED, "a number > 0"),
        "a head's angle that is not shown": ("head_cosine: 0.999,", "head_cosine: 0.9999,", REJECTED, "minimiser's v"),
        "a cosine of 1": ("head_cosine: 0.999,", "head_cosine: 1,", REJECTED, "minimiser's v"),
        "an angle of p that is not shown": (
            "attention_cosine: 0.95", "attention_cosine: 0.98", REJECTED, "minimiser's p"),
        "an angle of p from a smaller norm": (
            "attention_norm: 40, head_cosine: 0.999, attention_cosine: 0.95, mass: 0.9999",
            "attention_norm: 10, attention_cosine: 0.95", REJECTED, "minimiser's p"),
        "a mass that is not shown": ("mass: 0.9999}", "mass: 0.9999999999999}", REJECTED, "softmax weight"),
        "a mass of 1": ("mass: 0.9999}", "mass: 1}", REJECTED, "softmax weight"),
        "a cosine of 0": ("attention_cosine: 0.95", "attention_cosine: 0", MALFORMED, "a number > 0"),
        "a negative cosine": ("head_cosine: 0.999,", "head_cosine: -0.9999,", MALFORMED, "a number > 0"),
        "a norm of 0": ("head_norm: 40", "head_norm: 0", MALFORMED, "a number > 0"),
        "a negative norm": ("attention_norm: 40", "attention_norm: -40", MALFORMED, "a number > 0"),
        "a norm left out": ("head_norm: 40, ", "", MALFORMED, "head_norm"),
        "a small norm of the head": ("head_norm: 40", "head_norm: 1/100", REJECTED, "comparator"),
        "nothing at a pair of norms": (
            ", head_cosine: 0.999, attention_cosine: 0.95, mass: 0.9999}", "}", MALFORMED, "nothing that is asserted"),
        "no pairs of norms": (
            "at: [{head_norm: 40, attention_norm: 40, head_cosine: 0.999, attention_cosine: 0.95, mass: 0.9999}]",
            "at: []", MALFORMED, "asserts.path.at"),
        "another loss": ("loss: logistic", "loss: linear", MALFORMED, "logistic"),
        "no loss": ("    loss: logistic\n", "", MALFORMED, "loss"),
        "multipliers of v that are others": (
            "{input: 1, multiplier: 0.4}", "{input: 1, multiplier: 0.5}", REJECTED, "times slacks"),
        "multipliers of v on two inputs alone": (
            "{input: 0, multiplier: 0.2}, {input: 1, multiplier: 0.4}, {input: 2, multiplier: 2/5}",
            "{input: 0, multiplier: 0.5}, {input: 1, multiplier: 0.5}", REJECTED, "multiplier of a support input"),
        "a multiplier of zero": ("{input: 1, multiplier: 0.4}", "{input: 1, multiplier: 0}", MALFORMED, "> 0"),
        "a negative multiplier": ("{input: 1, multiplier: 0.4}", "{input: 1, multiplier: -0.4}", MALFORMED, "> 0"),
        "a multiplier of an input that is none": (
            "{input: 2, multiplier", "{input: 3, multiplier", MALFORMED, "below 3"),
        "a multiplier twice": ("{input: 2, multiplier", "{input: 1, multiplier", MALFORMED, "again"),
        "multipliers of p that are others": ("multiplier: 7/9}", "multiplier: 8/9}", REJECTED, "slack"),
        "a multiplier of p dropped": ("{input: 1, token: 0, multiplier: 7/9}, ", "", REJECTED, "slack"),
        "a multiplier of the chosen token": ("{input: 1, token: 0,", "{input: 1, token: 1,", MALFORMED, "other than"),
        "a comparator beyond its norm": ("[0.22, 39.999]", "[0.3, 39.999]", REJECTED, "comparator's head"),
        "a comparator that is no good": ("[0.22, 39.999]", "[0, 1]", REJECTED, "below 1"),
        "a comparator of the wrong length": ("[0.22, 39.999]", "[0.22, 39.999, 0]", MALFORMED, "dimension of a token"),
        "a comparator of no entry": ("entry: 0", "entry: 1", MALFORMED, "counted from 0"),
        "a comparator with nothing in it": (
            "{entry: 0, head: [0.22, 39.999]}", "{entry: 0}", MALFORMED, "head or attention"),
        "a comparator twice": (
            "[{entry: 0, head: [0.22, 39.999]}]",
            "[{entry: 0, head: [0, 40]}, {entry: 0, head: [0, 40]}]", MALFORMED, "again"),
        "no comparators": ("[{entry: 0, head: [0.22, 39.999]}]", "[]", MALFORMED, "witness.comparators"),
        "comparators without a path": (
            "  path:\n    loss: logistic\n    at: [{head_norm: 40, attention_norm: 40, head_cosine: 0.999, "
            "attention_cosine: 0.95, mass: 0.9999}]\n", "", MALFORMED, "no comparators"),
        "a chosen token that is another": ("indices: [1, 1, 1]", "indices: [1, 1, 0]", MALFORMED, "other than"),
        "a chosen token that is none": (
            "indices: [1, 1, 1]", "indices: [1, 1, 2]", MALFORMED, "of one of the 2 tokens"),
        "a negative index": ("indices: [1, 1, 1]", "indices: [1, 1, -1]", MALFORMED, "an integer >= 0"),
        "an index too few": ("indices: [1, 1, 1]", "indices: [1, 1]", MALFORMED, "one per input"),
        "a label changed": ("labels: [1, -1, 1]", "labels: [1, 1, 1]", REJECTED, "slack"),
        "a label that is none": ("labels: [1, -1, 1]", "labels: [1, -1, 2]", MALFORMED, "labels 1 or -1"),
        "labels left out": ("  labels: [1, -1, 1]\n", "", REJECTED, "slack"),
        "a token changed": ("[1/2, 1]]]", "[1/2, 1.00000000000000000001]]]", REJECTED, "times slacks"),
        "a token that is not chosen changed": ("[[[0, 0], [1, 1]]", "[[[0, 0.5], [1, 1]]", REJECTED, "by every choice"),
        "a token twice": ("[[[0, 0], [1, 1]]", "[[[1, 1], [1, 1]]", REJECTED, "slack"),
        "tokens of different dimensions": ("[1/2, 1]]]", "[1/2, 1, 0]]]", MALFORMED, "given.tokens"),
        "W that turns keys round": ("  labels:", "  W: [[0, 1], [1, 0]]\n  labels:", REFUTED, "p_mm is the sum"),
        "W too wide": ("  labels:", "  W: [[1, 0, 0], [0, 1, 0]]\n  labels:", MALFORMED, "given.W"),
        "lengths beside a list": ("  labels:", "  lengths: [2, 2, 2]\n  labels:", MALFORMED, "no lengths"),
        "v too long": ("v: [0, 1]", "v: [0, 1, 0]", MALFORMED, "dimension of a token"),
        "p too long": ("p: [4/3, 1/3]", "p: [4/3, 1/3, 0]", MALFORMED, "dimension of a key"),
        "v left out": ("  v: [0, 1]\n", "", MALFORMED, "'v'"),
        "p left out": ("  p: [4/3, 1/3]\n", "", MALFORMED, "'p'"),
        "the support left out": ("  support: [0, 1, 2]\n", "", MALFORMED, "'support'"),
        "an empty support": ("support: [0, 1, 2]", "support: []", MALFORMED, "asserts.support"),
        "a support that is not in order": ("support: [0, 1, 2]", "support: [1, 0, 2]", MALFORMED, "in order"),
        "a support input twice": ("support: [0, 1, 2]", "support: [0, 1, 1]", MALFORMED, "in order"),
        "a support input that is none": ("support: [0, 1, 2]", "support: [0, 1, 3]", MALFORMED, "below 3"),
        "NaN": ("v: [0, 1]", "v: [nan, 1]", MALFORMED, "an exact number"),
        "an infinity": ("drop: 0.17", "drop: inf", MALFORMED, "an exact"),
        "an unknown key": ("  drop: 0.17", "  drops: 0.17", MALFORMED, "the unknown key"),
    },
)  # fmt: skip

# Input 2 is outside the support, and the relaxed constraint of its pair (1, 0) - (1/2, 3/2) is tight with a multiplier;
# input 3 has one token. p = 5/2 (1, -1) + 2 (-1/2, 3/2). The comparator's attention breaks the tie of input 2.
RELAXED = family(
    "an input outside the support that holds p back",
    """
given:
  tokens: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[1, 0], [1/2, 3/2]], [[1, 4]]]
  labels: [1, -1, 1, 1]
  indices: [1, 1, 1, 0]
asserts:
  v: [0, 1]
  support: [0, 1]
  p: [3/2, 1/2]
  drop: 0.292
  path:
    loss: exponential
    at: [{head_norm: 40, attention_norm: 40, head_cosine: 0.99999, attention_cosine: 0.84, mass: 0.99999}]
witness:
  head_multipliers: [{input: 0, multiplier: 1/2}, {input: 1, multiplier: 1/2}]
  multipliers: [{input: 1, token: 0, multiplier: 5/2}, {input: 2, token: 0, multiplier: 2}]
  comparators: [{entry: 0, attention: [37.17, 14.75]}]
""",
    {
        "the logistic loss": ("loss: exponential", "loss: logistic"),
        "without the angle of p": ("attention_cosine: 0.84, ", ""),
        "a smaller cosine": ("attention_cosine: 0.84", "attention_cosine: 1e-9"),
    },
    {
        "all inputs in the support": ("support: [0, 1]", "support: [0, 1, 2, 3]", REFUTED, "the support inputs"),
        "p of the problem that is not relaxed": ("p: [3/2, 1/2]", "p: [1.75, 0.75]", REFUTED, "p_mm is the sum"),
        "p that leaves input 2 out": ("p: [3/2, 1/2]", "p: [1, 0]", REFUTED, "p_mm is the sum"),
        "no comparator, so that input 2 attends to both of its tokens": (
            "\n  comparators: [{entry: 0, attention: [37.17, 14.75]}]", "", REJECTED, "above 0"),
        "a comparator of the wrong length": ("[37.17, 14.75]", "[37.17]", MALFORMED, "dimension of a key"),
        "a comparator beyond its norm": ("[37.17, 14.75]", "[38, 14.75]", REJECTED, "comparator's attention"),
        "an angle of p that is not shown": (
            "attention_cosine: 0.84", "attention_cosine: 0.85", REJECTED, "minimiser's p"),
        "another token of input 2 with as large a label margin": (
            "[[1, 0], [1/2, 3/2]]", "[[1, 1], [1/2, 5/2]]", REJECTED, "short of their margin"),
        "a drop that is not shown": ("drop: 0.292", "drop: 0.293", REJECTED, "by every choice"),
        "only multipliers of the support for p": (", {input: 2, token: 0, multiplier: 2}", "", REJECTED, "slack"),
        "a multiplier for an input of one token": (
            "{input: 2, token: 0, multiplier: 2}", "{input: 3, token: 0, multiplier: 2}", MALFORMED, "other than"),
    },
)  # fmt: skip

# One matrix of tokens with lengths, three keys for two coordinates, and no minimisers.
LENGTHS = family(
    "tokens in one matrix, with W",
    """
given:
  tokens: [[0, 0], [1, 1], [-1/2, -1/2], [0, 0], [1, -1], [1, 3]]
  lengths: [3, 2, 1]
  W: [[2, 0], [0, 1], [1, 1]]
  labels: [1, -1, 1]
  indices: [1, 1, 0]
asserts:
  v: [0, 1]
  support: [0, 1]
  p: [4/9, -1/9, 1/9]
  label_margin: {at_most: 1.25}
  drop: 0.2094
witness:
  head_multipliers: [{input: 0, multiplier: 1/2}, {input: 1, multiplier: 1/2}]
  multipliers: [{input: 0, token: 0, multiplier: 1/18}, {input: 1, token: 0, multiplier: 1/6}]
""",
    {
        "no drop": ("  drop: 0.2094\n", ""),
        "decimals": ("[-1/2, -1/2]", "[-0.5, -0x0.8p0]"),
    },
    {
        "lengths that do not fit": ("lengths: [3, 2, 1]", "lengths: [3, 2]", MALFORMED, "lengths that sum"),
        "other lengths": ("lengths: [3, 2, 1]", "lengths: [2, 3, 1]", REJECTED, "slack"),
        "a drop that is not shown": ("drop: 0.2094", "drop: 0.2095", REJECTED, "by every choice"),
        "p in the space of tokens": ("p: [4/9, -1/9, 1/9]", "p: [4/9, -1/9]", MALFORMED, "dimension of a key"),
        "an entry of p off by 10^-20": ("1/9]\n", "0.11111111111111111111]\n", REFUTED, "p_mm is the sum"),
        "inputs of one token each": (
            "lengths: [3, 2, 1]\n  W: [[2, 0], [0, 1], [1, 1]]\n  labels: [1, -1, 1]\n  indices: [1, 1, 0]",
            "lengths: [1, 1, 1, 1, 1, 1]\n  labels: [1, -1, 1, 1, 1, 1]\n  indices: [0, 0, 0, 0, 0, 0]",
            MALFORMED, "nothing to select from"),
        "no witness": (
            "witness:\n  head_multipliers: [{input: 0, multiplier: 1/2}, {input: 1, multiplier: 1/2}]\n"
            "  multipliers: [{input: 0, token: 0, multiplier: 1/18}, {input: 1, token: 0, multiplier: 1/6}]\n",
            "", MALFORMED, "no witness"),
    },
)  # fmt: skip

FAMILIES = [TIGHT, RELAXED, LENGTHS]
CASES: list[Case] = [case for one in FAMILIES for case in one.cases()]
