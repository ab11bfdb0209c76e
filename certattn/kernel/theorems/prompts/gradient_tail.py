"""Claim `gradient-tail`: how rarely attention's gradients over a random prompt are far from their limits.

Given a law of tokens, a query (for the gradient in V a tilt is enough), values V and a length L, a certificate
asserts that the norm of the difference of a gradient over L independent tokens and over their law exceeds eps with
a probability of at most delta:

    V    |tau_L - tau|                        the operator norm of the difference
    U    |s| |V (C_L - C)|_F |z|              its Hilbert-Schmidt norm

With S and Z as in `weighted_products`, C_L - C = S / Z - (tau_L - tau)(tau_L - tau)'. The witness has a frame of
outputs f_i with levels a_i, a frame of tokens g_j with levels b_j, levels e_ij of entries, and rules. Where

    |<f_i, V (tau_L - tau)>| <= a_i,    |<g_j, tau_L - tau>| <= b_j,    |<V'f_i, S g_j>| / Z <= e_ij

for all i and j, the norm for U is at most |s| |z| sqrt(sum_ij (e_ij + a_i b_j)^2) and that for V is at most
sqrt(sum_j b_j^2). The bounds of the contrary, for both signs, add up to the probability. Where V is the
identity, one frame serves for both, and entries i <= j are enough. That frames are frames, that levels are >= 0 and
that the norm is at most eps where they are kept is proved first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from flint import fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.schema import Field, Listing, Record, Values
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts.gradient_inputs import (
    GIVEN,
    GRADIENT,
    GradientError,
    read_given,
    read_gradient,
)
from certattn.kernel.theorems.prompts.product_rules import Pair, ProductTail, read_product_rule
from certattn.kernel.theorems.prompts.random_prompts import RandomPrompt
from certattn.kernel.theorems.prompts.stated_tails import (
    BOUNDS,
    EXCEEDS,
    FRAME,
    LEVELS,
    PROBABILITY,
    Framed,
    StatedRules,
    read_framed,
    read_probability,
    require_count,
    sum_of_bounds,
    sum_of_squares,
)
from certattn.kernel.theorems.prompts.tail_rules import RULES, Rule

ENTRY_LEVELS = Field("levels", Matrix(), "levels >= 0, a row per output, a column per token direction")
ENTRY_BOUNDS: Field[StatedRules] = Field(
    "bounds", Listing(RULES), "a rule for + and - of every entry, row by row; entries i <= j where V = I"
)
_FRAMED = Record(FRAME, LEVELS, BOUNDS)
OUTPUTS = Field("outputs", _FRAMED, "U: a frame of outputs; left out where V is the identity", required=False)
TOKENS = Field("tokens", _FRAMED, "a frame of tokens")
ENTRIES = Field("entries", Record(ENTRY_LEVELS, ENTRY_BOUNDS), "U: the entries of the covariance", required=False)


ASSERTS = Record(GRADIENT, EXCEEDS, PROBABILITY)
WITNESS = Record(OUTPUTS, TOKENS, ENTRIES)


@dataclass(frozen=True)
class StatedGradientTail:
    """A gradient's error, what its norm exceeds rarely, and a rule for every one-sided tail.

    `frames` are those of the witness by name, `entries` the levels of the entries. Where all levels are kept, the
    square of the norm is at most `reach`.
    """

    error: GradientError
    eps: fmpq
    delta: fmpq
    rules: Sequence[Rule]
    frames: Mapping[str, Framed]
    entries: Sequence[fmpq]
    reach: fmpq


def read(certificate: Certificate) -> StatedGradientTail:
    given = read_given(certificate)
    asserts = ASSERTS.read(certificate.asserts, certificate.reading)
    error = read_gradient(asserts, given)
    stated = error, asserts[EXCEEDS], read_probability(asserts)
    if certificate.witness is None:
        raise asserts.at.malformed("a witness that names the rules", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    return (_read_in_V if error.gradient == "V" else _read_in_U)(witness, *stated)


def read_error(certificate: Certificate) -> GradientError:
    """The sections `given` and `asserts`, which say what a bound is sought for. Raises MalformedError."""
    return read_gradient(ASSERTS.read(certificate.asserts, certificate.reading), read_given(certificate))


def _read_in_V(witness: Values, error: GradientError, eps: fmpq, delta: fmpq) -> StatedGradientTail:  # noqa: N802
    """|tau_L - tau|^2 <= sum_j <g_j, tau_L - tau>^2."""
    for field in (OUTPUTS, ENTRIES):
        if field in witness:
            raise witness.node(field).malformed(f"no {field.name} for the gradient in V")
    prompt = error.prompt
    tokens = read_framed(witness[TOKENS], ExactMatrix.identity(prompt.dimension), prompt, "tokens")
    return StatedGradientTail(error, eps, delta, tokens.rules, {TOKENS.name: tokens}, [], sum_of_squares(tokens.levels))


def _read_in_U(witness: Values, error: GradientError, eps: fmpq, delta: fmpq) -> StatedGradientTail:  # noqa: N802
    """|V (C_L - C)|_F^2 <= sum_ij <f_i, V (C_L - C) g_j>^2."""
    prompt = error.prompt
    if ENTRIES not in witness:
        raise witness.at.malformed("entries, for the gradient in U", "no entries")
    tokens = read_framed(witness[TOKENS], ExactMatrix.identity(prompt.dimension), prompt, "tokens")
    outputs, frames, rules = tokens, {TOKENS.name: tokens}, list(tokens.rules)
    if OUTPUTS in witness:
        outputs = frames[OUTPUTS.name] = read_framed(witness[OUTPUTS], prompt.values(), prompt, "outputs")
        rules += outputs.rules
    elif prompt.values() != ExactMatrix.identity(prompt.dimension):
        raise witness.at.malformed("outputs, as V is not the identity", "no outputs")
    symmetric = OUTPUTS not in witness
    entries = witness[ENTRIES]
    levels = _entry_levels(entries, outputs.frame.rows, tokens.frame.rows, symmetric)
    total = sum(
        ((e + a * b) ** 2 for row, a in zip(levels, outputs.levels, strict=True)
         for e, b in zip(row, tokens.levels, strict=True)),
        fmpq(0),
    )  # fmt: skip
    left = outputs.frame @ prompt.values()
    tails = list(_product_tails(prompt, left, tokens.frame, levels, symmetric))
    bounds = entries[ENTRY_BOUNDS]
    require_count(bounds, len(tails), entries, ENTRY_BOUNDS, "two per entry, for + and -")
    rules += [read_product_rule(rule, tail) for rule, tail in zip(bounds, tails, strict=True)]
    each = [level for row in levels for level in row]
    return StatedGradientTail(error, eps, delta, rules, frames, each, error.factor * total)


def _entry_levels(entries: Values, rows: int, columns: int, symmetric: bool) -> list[list[fmpq]]:
    entries[ENTRY_LEVELS].require_shape(rows, columns, "(rows of the frame of outputs x rows of that of tokens)")
    levels = entries[ENTRY_LEVELS].load()
    if symmetric and levels.is_symmetric() is not True:
        raise entries.node(ENTRY_LEVELS).malformed("symmetric levels, as V is the identity", "a matrix that is not")
    return levels.to_rows()


def _product_tails(
    prompt: RandomPrompt, left: ExactMatrix, right: ExactMatrix, levels: list[list[fmpq]], symmetric: bool
) -> Iterator[ProductTail]:
    """Both signs of every entry, row by row; of a symmetric matrix those on and above the diagonal."""
    for i in range(left.rows):
        for j in range(i if symmetric else 0, right.rows):
            pair = Pair(prompt, left.take_rows([i]), right.take_rows([j]))
            for sign in (1, -1):
                yield ProductTail(pair, sign, levels[i][j])


def obligations(stated: StatedGradientTail) -> Iterator[Obligation]:
    conditions = [each for name, framed in stated.frames.items() for each in framed.conditions(name)]
    if stated.entries:
        conditions.append(Obligation("entries.levels", min(stated.entries), ">=", fmpq(0), Part.WITNESS))
    conditions.append(Obligation("exceeds", stated.reach, "<=", stated.eps * stated.eps, Part.WITNESS))
    yield from conditions
    bound, needs = partial(sum_of_bounds, stated.rules), [condition.name for condition in conditions]
    yield Obligation("probability", bound, "<=", stated.delta, Part.WITNESS, needs)


THEOREM = Theorem(
    name="gradient-tail",
    title="how rarely attention's gradients over a random prompt are far from their limits",
    given=GIVEN,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
