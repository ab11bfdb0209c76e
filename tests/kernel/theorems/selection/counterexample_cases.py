"""Accept and reject cases of `selection-counterexample`, in titled families."""

from __future__ import annotations

from functools import partial

from corpus import MALFORMED, REFUTED, REJECTED, Family

NAME = "selection-counterexample"
family = partial(Family, NAME)

# Descent along the first axis: the second input wins, the first ends on its worse token.
FROM_AFAR = family(
    "two inputs, from (3, 0)",
    """
given:
  keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]
  scores: [[1, 0], [1, 0]]
  loss: linear
  descent: {rule: gradient, step: 1/60}
  start: [3, 0]
asserts:
  indices: [1, 0]
  limit: [1, 0]
  apart: 0.7574
  smoothness: 58.97
witness:
  multipliers: [{input: 1, token: 1, multiplier: 1}]
  theorem:
    name: local
    reference: [0, 0]
    progress: 0.97
    fractions: [1e-6]
    inflation: 1.01
    setback: 0.005
    move: 0.000415
  best_multipliers: [{input: 0, token: 1, multiplier: 4}, {input: 1, token: 1, multiplier: 13}]
""",
    {
        "no smoothness": ("  smoothness: 58.97\n", ""),
        "no limit": ("  limit: [1, 0]\n", ""),
        "a larger smoothness": ("58.97", "60"),
        "an angle that is less": ("0.7574", "0.5"),
        "a shorter step": ("step: 1/60", "step: 1/100"),
        "a box of starts": ("start: [3, 0]", "start: {lower: [3, 0], upper: [3.0001, 0]}"),
        "a score that is a little different": ("[[1, 0], [1, 0]]", "[[1, 0], [1, 1e-9]]"),
        "farther away": ("start: [3, 0]", "start: [4, 0]"),
        "tokens in the place of keys": (
            "  keys: [[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]\n  scores: [[1, 0], [1, 0]]\n",
            "  tokens: [[[-3, 1, 1], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]]]\n"
            "  W: [[1, 0, 0], [0, 1, 0]]\n  v: [0, 0, 1]\n"),
    },
    {
        "points less far apart than stated": ("0.7574", "0.7575", REFUTED, "1 - cos angle(p_best, p_mm)"),
        "an angle of 0": ("0.7574", "0", MALFORMED, "a number > 0"),
        "a smoothness below the paper's": ("58.97", "58.96", REJECTED, "L_p"),
        "a step above 1/L": ("step: 1/60", "step: 1/58", REFUTED, "eta L"),
        "a step above 1 over a larger L": ("58.97", "61", REFUTED, "eta L"),
        "a limit that is not it": ("limit: [1, 0]", "limit: [1, 4]", REFUTED, "limit"),
        "scores that tie": ("[[1, 0], [1, 0]]", "[[1, 1], [1, 0]]", REFUTED, "the least lead of a best score"),
        "a third token of another score": (
            "[[1, 0], [0, 0]]]\n  scores: [[1, 0], [1, 0]]",
            "[[1, 0], [0, 0], [-9, 0]]]\n  scores: [[1, 0], [1, 0, 0.5]]", REFUTED,
            "the largest difference of two other scores"),
        "the best tokens": ("indices: [1, 0]", "indices: [0, 0]", MALFORMED, "other tokens than the best"),
        "a start from which the best tokens win": ("start: [3, 0]", "start: [0, 5]", REJECTED, "factor of theta_-"),
        "the origin": ("start: [3, 0]", "start: [0, 0]", REJECTED, "factor of theta_-"),
        "one input": (
            "[[[-3, 1], [0, 0]], [[1, 0], [0, 0]]]\n  scores: [[1, 0], [1, 0]]",
            "[[[1, 0], [0, 0]]]\n  scores: [[1, 0]]", MALFORMED, "1 index, one per input"),
        "the flow": ("{rule: gradient, step: 1/60}", "{rule: flow}", MALFORMED, "the rule gradient"),
        "normalised descent": ("{rule: gradient,", "{rule: normalised,", MALFORMED, "the rule gradient"),
        "every start": ("start: [3, 0]", "start: every", MALFORMED, "the kind 'every'"),
        "multipliers of other points": ("multiplier: 4}", "multiplier: 5}", REJECTED, "p_best"),
        "no multipliers of the best tokens": (
            "  best_multipliers: [{input: 0, token: 1, multiplier: 4}, {input: 1, token: 1, multiplier: 13}]\n", "",
            MALFORMED, "best_multipliers"),
        "a multiplier of the chosen token": (
            "token: 1, multiplier: 13}", "token: 0, multiplier: 13}", MALFORMED, "the pair (1, 0)"),
        "best tokens that cannot be separated": ("[[-3, 1], [0, 0]]", "[[-3, 0], [0, 0]]", REJECTED, "at p_best"),
        "angles": ("  apart", "  angles: [{step: 5, at_most: 1}]\n  apart", MALFORMED, "unknown key 'angles'"),
        "no angle": ("  apart: 0.7574\n", "", MALFORMED, "apart"),
        "a negative smoothness": ("58.97", "-1", MALFORMED, "a number > 0"),
    },
)  # fmt: skip

# From 0, by steps that the paper allows.
FROM_ZERO = family(
    "two inputs, from 0",
    """
given:
  keys: [[[-2, 1], [0, 0]], [[1, 0], [0, 0]]]
  scores: [[0.1, 0], [1, 0]]
  loss: linear
  descent: {rule: gradient, step: 1/22}
  start: [0, 0]
asserts:
  indices: [1, 0]
  apart: 0.6837
  smoothness: 22
witness:
  multipliers: [{input: 1, token: 1, multiplier: 1}]
  steps: 1000
  theorem:
    name: local
    reference: [0, 0.15]
    progress: 0.96
    fractions: [1e-6]
    inflation: 1.03
    setback: 0.018
    move: 0.00146
  best_multipliers: [{input: 0, token: 1, multiplier: 3}, {input: 1, token: 1, multiplier: 7}]
""",
    {"more steps": ("steps: 1000", "steps: 1100"), "a step that is shorter by little": ("1/22", "0.04545")},
    {
        "too few steps": ("steps: 1000", "steps: 100", REJECTED, "Xi - sum kappa_t b_t r_t"),
        "a stronger first input": ("[0.1, 0]", "[2, 0]", REJECTED, "factor of theta_-"),
        "keys exchanged": ("[[-2, 1], [0, 0]]", "[[0, 0], [-2, 1]]", REJECTED, "the sum of multipliers times slacks"),
    },
)  # fmt: skip

FAMILIES = [FROM_AFAR, FROM_ZERO]
CASES = [case for each in FAMILIES for case in each.cases()]
