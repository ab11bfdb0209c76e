"""Theorem `held-out-risk`: what prompts that were held out tell of the risk of attention with given parameters.

Given are N prompts of tokens x_i with labels y_i, a query x and its target t each; parameters (A, b), and a probability
delta. Attention predicts b sum_i p_i y_i for t, p the softmax of <x_i, A x>, with the losses and the risk

    l_n = 1/2 (b sum_i p_i y_i - t)^2,      R = 1/N sum_n E l_n,

the expectation over the drawing of the prompts: of one prompt where all are of one law. Losses are >= 0. Where labels
and targets have absolute values of at most Y, so has sum_i p_i y_i, and losses are at most

    B = 1/2 ((|b| + 1) Y)^2.

Of independent numbers X_n >= 0, for every c in [0, 1] and r > 0 at or above the average of their means,

    E prod_n (1 + c (X_n - r) / r) <= 1:

the product of numbers >= 0 whose average is at most 1. So it is of the average M(r) of these products over the shares c
of `betting`, which falls while r grows: where M(r) >= 2/delta, that the average mean is at most r has the probability
delta/2 at most, however r was found. A certificate asserts at_least or at_most or both, and is verified where

    1 / M(at_least) <= delta/2  of X_n = l_n,      1 / M(B - at_most) <= delta/2  of X_n = B - l_n,

so that with probability >= 1 - delta over the prompts every certificate that is verified for them states what is true.
Nothing is assumed of what happens within a prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Shared
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import MatrixInput
from certattn.kernel.document.schema import Field, Rational, Record, Values, some_of
from certattn.kernel.given.bounds import Probability
from certattn.kernel.mathematics.betting import wealth
from certattn.kernel.theorems.training import regression as task
from certattn.kernel.theorems.training.stated_prompts import (
    LABELS,
    QUERIES,
    REGRESSION_PROMPTS,
    TARGETS,
    TOKENS,
    StatedPrompts,
    read_regression_prompts,
)

AT = Field("parameters", task.PARAMETERS, "A and b, chosen without looking at these prompts")
LARGEST = Field("largest", Rational(above=0), "Y, which no label or target of the laws exceeds", required=False)
PROBABILITY = Field("probability", Probability(), "delta, with which the rule may err: 1 minus the confidence")
GIVEN = Record(AT, *REGRESSION_PROMPTS, LARGEST, PROBABILITY)

AT_LEAST = Field("at_least", Rational(), "the risk is at least this", required=False)
AT_MOST = Field("at_most", Rational(), "the risk is at most this; with largest", required=False)
ASSERTS = Record(AT_LEAST, AT_MOST, rules=[some_of(AT_LEAST, AT_MOST)])
WITNESS = Record()


@dataclass(frozen=True)
class HeldOut:
    """The prompts and the parameters."""

    given: Values
    prompts: StatedPrompts
    at: task.Parameters

    @property
    def chance(self) -> fmpq:
        """delta / 2, the probability with which each of the two one-sided rules may err."""
        return self.given[PROBABILITY] / 2

    @property
    def largest_loss(self) -> fmpq:
        """B."""
        reach: fmpq = (abs(self.at.b) + 1) * self.given[LARGEST]
        return reach * reach / 2

    def losses(self) -> list[arb]:
        """l_n at the working precision."""
        queries, targets = self.prompts.asked
        tilts = queries @ self.at.A.T
        found = []
        for n, prompt in enumerate(self.prompts.prompts):
            ((output,),) = prompt.outputs_from_mean(tilts.take_rows([n]))
            mean = prompt.values.mean_row().entry(0, 0)
            found.append(loss(self.at.b, output, mean, targets.entry(n, 0)))
        return found


def loss(b: fmpq, beyond: arb, mean: fmpq, target: fmpq) -> arb:
    """1/2 (b m - t)^2 for a softmax mean m that is so far beyond the mean of the labels."""
    error = b * beyond + (b * mean - target)
    return error * error / 2


def p_value(numbers: Sequence[arb], mean: fmpq) -> arb:
    """1 / M(mean), or 1, for numbers >= 0; 0 where mean <= 0, as no mean of theirs is below that.

    It bounds the probability that independent ones, whose means are at most that on average, would look like this.
    """
    if mean <= 0:
        return arb(0)
    return 1 / wealth([number / mean - 1 for number in numbers]).max(arb(1))


@dataclass(frozen=True)
class StatedRisk:
    """What is asserted of the risk."""

    held_out: HeldOut
    asserts: Values


def read(certificate: Certificate) -> StatedRisk:
    """Every dimension checked. Raises MalformedError."""
    held_out = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    if certificate.witness is not None:
        WITNESS.read(certificate.witness, certificate.reading)
    if AT_MOST in asserts and LARGEST not in held_out.given:
        expected = "no at_most without given.largest: a loss that was not seen may be of any size"
        raise asserts.node(AT_MOST).malformed(expected)
    return StatedRisk(held_out, asserts)


def read_given(certificate: Certificate) -> HeldOut:
    """The section `given` alone. Raises MalformedError."""
    given = GIVEN.read(certificate.given, certificate.reading)
    dimension = given[TOKENS].shape[1]
    for matrix, rows in ((given[AT][task.A], dimension), (given[QUERIES], None)):
        matrix.require_shape(rows, dimension, "for tokens of this dimension")
    at = task.read_parameters(given[AT], dimension)
    return HeldOut(given, read_regression_prompts(given, dimension), at)


def obligations(stated: StatedRisk) -> Iterator[Obligation]:
    held_out, asserts = stated.held_out, stated.asserts
    losses, share, kept = Shared[list[arb]](held_out.losses), held_out.chance, []
    if LARGEST in held_out.given:
        for field in (LABELS, TARGETS):
            kept.append(f"largest.{field.name}")
            yield Obligation(kept[-1], partial(_largest, held_out.given[field]), "<=", held_out.given[LARGEST])
    if AT_LEAST in asserts:
        low = asserts[AT_LEAST]
        yield Obligation("at_least", lambda: p_value(losses(), low), "<=", share)
    if AT_MOST in asserts:
        most, room = held_out.largest_loss, held_out.largest_loss - asserts[AT_MOST]
        yield Obligation("at_most", lambda: p_value([most - loss for loss in losses()], room), "<=", share, needs=kept)


def _largest(column: MatrixInput) -> fmpq:
    """The largest absolute value."""
    return max(abs(entry) for entry in column.load().T.row(0))


THEOREM = Theorem(
    name="held-out-risk",
    title="the risk of attention with given parameters, from prompts that were held out",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
