"""Accept and reject cases of `regularization-path`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REJECTED, Family

NAME = "regularization-path"
family = partial(Family, NAME)

# The bounds are 0.982258... and 0.999641...
SINGLE = family(
    "one input of three tokens",
    """
given:
  keys: [[[-0.1, 1], [1, 0], [0, 0]]]
  scores: [[1, 0.9, 0.9]]
  loss: logistic
asserts:
  indices: [0]
  path: [{radius: 10, cosine: 0.98225}, {radius: 40, cosine: 0.9996414}]
witness:
  multipliers: [{input: 0, token: 2, multiplier: 100/101}]
  comparators: [[-2.072251940485, 9.782932683748], [-4.439140905116, 39.752912195512]]
""",
    {
        "a smaller cosine": ("cosine: 0.98225", "cosine: -1"),
        "a radius that is a little larger": ("radius: 10,", "radius: 10.00001,"),
        "another comparator that is good enough": ("[-2.072251940485, 9.782932683748]", "[-2.07225, 9.782932]"),
        "worse scores of the others": ("[[1, 0.9, 0.9]]", "[[1, 0.9, 0.8999999999]]"),
        "the linear loss": ("loss: logistic", "loss: linear"),
        "the exponential loss": ("loss: logistic", "loss: exponential"),
        "keys moved together": ("[[[-0.1, 1], [1, 0], [0, 0]]]", "[[[4.9, 3], [6, 2], [5, 2]]]"),
        "provenance": ("asserts:", "provenance: {when: long ago}\nasserts:"),
    },
    {
        "a cosine just above what is shown": ("0.98225}", "0.98226}", REJECTED, "cosine of the angle"),
        "a cosine of 1": ("0.9996414}", "1}", REJECTED, "cosine of the angle"),
        "a cosine above 1": ("0.9996414}", "1.0001}", REJECTED, "not proved"),
        "a cosine below -1": ("0.9996414}", "-1.0001}", MALFORMED, "a number >= -1"),
        "a smaller radius": ("radius: 10,", "radius: 9.99,", REJECTED, "against R^2"),
        "a comparator outside by 1e-9": ("9.782932683748]", "9.782932685]", REJECTED, "against R^2"),
        "a comparator at the origin": ("[-2.072251940485, 9.782932683748]", "[0, 0]", REJECTED, "not proved"),
        "a comparator on the other side": ("[-2.072251940485, 9.782932683748]", "[2, -9.7]", REJECTED, "not proved"),
        "a comparator too many": ("39.752912195512]]", "39.752912195512], [0, 1]]", MALFORMED, "one per radius"),
        "a comparator too few": (", [-4.439140905116, 39.752912195512]]", "]", MALFORMED, "one per radius"),
        "a comparator of another dimension": ("9.782932683748]", "9.782932683748, 0]", MALFORMED, "dimension of a key"),
        "a radius of 0": ("radius: 10,", "radius: 0,", MALFORMED, "> 0"),
        "a negative radius": ("radius: 10,", "radius: -10,", MALFORMED, "> 0"),
        "a selection that is not the best": ("indices: [0]", "indices: [1]", REJECTED, "not proved"),
        "a tie with the chosen score": ("[[1, 0.9, 0.9]]", "[[1, 0.9, 1]]", REJECTED, "smallest score gap"),
        "a better score than the chosen one": ("[[1, 0.9, 0.9]]", "[[1, 1.1, 0.9]]", REJECTED, "smallest score gap"),
        "a multiplier that does not fit": ("100/101", "99/101", REJECTED, "smallest slack"),
        "a multiplier of another token": ("token: 2, multiplier", "token: 1, multiplier", REJECTED, "not proved"),
        "a multiplier of the chosen token": ("token: 2, multiplier", "token: 0, multiplier", MALFORMED, "chosen one"),
        "two equal keys": ("[[[-0.1, 1], [1, 0], [0, 0]]]", "[[[-0.1, 1], [1, 0], [-0.1, 1]]]", REJECTED, "not proved"),
        "an unknown loss": ("loss: logistic", "loss: hinge", MALFORMED, "'linear' or 'logistic'"),
        "no loss": ("  loss: logistic\n", "", MALFORMED, "loss"),
        "a head without tokens": ("  loss: logistic", "  loss: logistic\n  head: {kind: tanh}", MALFORMED, "'head'"),
        "an index out of range": ("indices: [0]", "indices: [3]", MALFORMED, "3 tokens"),
        "no radii": (
            "[{radius: 10, cosine: 0.98225}, {radius: 40, cosine: 0.9996414}]", "[]", MALFORMED, "at least one"),
        "no witness": (
            """witness:
  multipliers: [{input: 0, token: 2, multiplier: 100/101}]
  comparators: [[-2.072251940485, 9.782932683748], [-4.439140905116, 39.752912195512]]
""",
            "",
            MALFORMED,
            "a witness",
        ),
    },
)  # fmt: skip

# Three inputs of the authors' joint experiment, with labels 1, -1, 1.
TANH = family(
    "an increasing activation and labels",
    """
given:
  tokens: [[[0, 0], [1, 1]], [[0, 0], [1, -1]], [[0, 0], [1/2, 1]]]
  labels: [1, -1, 1]
  v: [0, 1]
  head: {kind: tanh}
  loss: logistic
asserts:
  indices: [1, 1, 1]
  path: [{radius: 20, cosine: 0.97}]
witness:
  multipliers: [{input: 1, token: 0, multiplier: 7/9}, {input: 2, token: 0, multiplier: 10/9}]
  comparators: [[19.4426978143555758, 4.6884434196919651]]
""",
    {
        "softplus": ("kind: tanh", "kind: softplus"),
        "a leaky rectifier": ("kind: tanh", "kind: leaky-relu, slope: 1/10"),
        "a rectifier that is linear": ("kind: tanh", "kind: leaky-relu, slope: 1"),
        "a linear head": ("  head: {kind: tanh}\n", ""),
        "a linear head that is stated": ("kind: tanh", "kind: linear"),
    },
    {
        "an unknown head": ("kind: tanh", "kind: relu", MALFORMED, "'linear' or 'tanh'"),
        "a rectifier without a slope": ("kind: tanh", "kind: leaky-relu", MALFORMED, "slope"),
        "a rectifier that is flat": ("kind: tanh", "kind: leaky-relu, slope: 0", MALFORMED, "> 0"),
        "a rectifier that is steeper below": ("kind: tanh", "kind: leaky-relu, slope: 1.01", MALFORMED, "at most 1"),
        "a slope of tanh": ("kind: tanh", "kind: tanh, slope: 1", MALFORMED, "unknown key"),
        "a label turned round": ("labels: [1, -1, 1]", "labels: [1, 1, 1]", REJECTED, "smallest score gap"),
        "a larger cosine": ("cosine: 0.97", "cosine: 0.99999", REJECTED, "cosine of the angle"),
        "a smaller radius": ("radius: 20", "radius: 19", REJECTED, "against R^2"),
    },
)

# x'Ax + v'x with a curvature of either sign.
QUADRATIC = family(
    "a quadratic head",
    """
given:
  tokens: [[[1, 1], [0, 0], [-1, 1/2]], [[2, 0], [0, 1]]]
  v: [2, 1]
  head: {kind: quadratic, A: [[1/4, 0], [0, -1/4]]}
  loss: exponential
asserts:
  indices: [0, 0]
  path: [{radius: 30, cosine: 0.98}]
witness:
  multipliers: [{input: 0, token: 1, multiplier: 4/9}, {input: 1, token: 1, multiplier: 1/9}]
  comparators: [[26.8133024586732292, 13.4553636613696356]]
""",
    {
        "the linear loss": ("loss: exponential", "loss: linear"),
        "no curvature": ("[[1/4, 0], [0, -1/4]]", "[[0, 0], [0, 0]]"),
        "labels of 1": ("  v: [2, 1]", "  v: [2, 1]\n  labels: [1, 1]"),
    },
    {
        "a curvature that makes another token better": (
            "[[1/4, 0], [0, -1/4]]", "[[-2, 0], [0, -1/4]]", REJECTED, "largest curvature"),
        "a matrix that is not symmetric": ("[[1/4, 0]", "[[1/4, 1e-9]", MALFORMED, "symmetric"),
        "a matrix of another size": ("[[1/4, 0], [0, -1/4]]", "[[1/4]]", MALFORMED, "2 x 2"),
        "no matrix": (", A: [[1/4, 0], [0, -1/4]]", "", MALFORMED, "'A'"),
        "a label turned round": ("  v: [2, 1]", "  v: [2, 1]\n  labels: [1, -1]", REJECTED, "not proved"),
        "a larger cosine": ("cosine: 0.98", "cosine: 0.9999999", REJECTED, "cosine of the angle"),
    },
)  # fmt: skip

FAMILIES = [SINGLE, TANH, QUADRATIC]
