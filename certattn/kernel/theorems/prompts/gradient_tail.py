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

Of Gaussian tokens the witness may name the method moment instead, with an order p: by Markov's inequality the
probability is at most E D^p / eps^p, and the moment of the norm D is exact (`norm_moments`). That is for one length,
and in V, where D is the norm of an output's error, with a list `from` for every length from one on (`length_ranges`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from flint import arb, fmpq

from certattn.kernel.decide.obligation import Obligation, Part
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.matrices import Matrix
from certattn.kernel.document.schema import Choice, Field, Listing, Record, Values, all_or_none, at_most_one_of
from certattn.kernel.mathematics.exact_matrix import ExactMatrix
from certattn.kernel.theorems.prompts.length_ranges import STARTS, require_ranges
from certattn.kernel.theorems.prompts.random_prompts import GRADIENT, RANDOM_PROMPT, GradientError, read_gradient
from certattn.kernel.theorems.prompts.tail_rules import (
    COVARIANCE_ORDERS,
    ENTRY_RULES,
    EXCEEDS,
    FRAMED,
    MOMENT,
    NORM_ORDER,
    PROBABILITY,
    Framed,
    ProductTail,
    Rule,
    StatedRules,
    paired,
    read_framed,
    sum_of_bounds,
)

ENTRY_LEVELS = Field("levels", Matrix(), "levels >= 0, a row per output, a column per token direction")
ENTRY_BOUNDS: Field[StatedRules] = Field(
    "bounds", Listing(ENTRY_RULES), "a rule for + and - of every entry, row by row; entries i <= j where V = I"
)
OUTPUTS = Field("outputs", FRAMED, "U: a frame of outputs; left out where V is the identity", required=False)
TOKENS = Field("tokens", FRAMED, "a frame of tokens", required=False)
ENTRIES = Field("entries", Record(ENTRY_LEVELS, ENTRY_BOUNDS), "U: the entries of the covariance", required=False)
METHOD = Field("method", Choice((MOMENT,)), "Gaussian tokens: by a moment, without rules", required=False)

ASSERTS = Record(GRADIENT, EXCEEDS, PROBABILITY)
WITNESS = Record(
    METHOD, NORM_ORDER, STARTS, OUTPUTS, TOKENS, ENTRIES,
    rules=[
        all_or_none(METHOD, NORM_ORDER),
        *(at_most_one_of(part, other) for part in (METHOD, STARTS) for other in (OUTPUTS, TOKENS, ENTRIES)),
    ],
)  # fmt: skip


@dataclass(frozen=True)
class Entries:
    """Levels of the entries, a row per output, and a rule for both signs of each."""

    levels: list[list[fmpq]]
    rules: list[Rule]


@dataclass(frozen=True)
class StatedGradientTail:
    """A gradient's error, what is asserted of it, the frames of the witness by name, and for U its entries.

    Or the order of the norm's moment, and where ranges of lengths begin.
    """

    error: GradientError
    asserts: Values
    frames: Mapping[str, Framed]
    entries: Entries | None
    order: int | None = None
    starts: Sequence[int] = ()

    @property
    def rules(self) -> list[Rule]:
        """One for every one-sided tail."""
        framed = [rule for frame in self.frames.values() for rule in frame.rules]
        return framed + (self.entries.rules if self.entries is not None else [])

    @property
    def reach(self) -> fmpq:
        """Where all levels are kept, the square of the norm is at most this."""
        tokens = self.frames[TOKENS.name]
        if self.entries is None:
            return tokens.square
        outputs = self.frames.get(OUTPUTS.name, tokens)
        rows = zip(self.entries.levels, outputs.levels, strict=True)
        squares = [(e + a * b) ** 2 for row, a in rows for e, b in zip(row, tokens.levels, strict=True)]
        return self.error.factor * sum(squares, fmpq(0))


def read(certificate: Certificate) -> StatedGradientTail:
    error, asserts = read_gradient(certificate, ASSERTS)
    if certificate.witness is None:
        raise asserts.at.malformed("a witness that names the rules", "no witness")
    witness = WITNESS.read(certificate.witness, certificate.reading)
    if NORM_ORDER in witness:
        if error.gradient == "U" and witness[NORM_ORDER] not in COVARIANCE_ORDERS:
            orders = " or ".join(map(str, COVARIANCE_ORDERS))
            expected, found = f"the order {orders} for the gradient in U", str(witness[NORM_ORDER])
            raise witness.node(NORM_ORDER).malformed(expected, found)
        if STARTS in witness:
            if error.gradient == "U":
                raise witness.node(STARTS).malformed("no ranges for the gradient in U")
            require_ranges(witness, STARTS, error.prompt.lengths)
        return StatedGradientTail(error, asserts, {}, None, witness[NORM_ORDER], witness.items(STARTS))
    if TOKENS not in witness:
        raise witness.at.malformed("tokens, or a method", "neither")
    prompt = error.prompt
    if error.gradient == "V":
        for field in (OUTPUTS, ENTRIES):
            if field in witness:
                raise witness.node(field).malformed(f"no {field.name} for the gradient in V")
    elif ENTRIES not in witness:
        raise witness.at.malformed("entries, for the gradient in U", "no entries")
    elif OUTPUTS not in witness and prompt.values() != ExactMatrix.identity(prompt.dimension):
        raise witness.at.malformed("outputs, as V is not the identity", "no outputs")
    frames = {TOKENS.name: read_framed(witness[TOKENS], ExactMatrix.identity(prompt.dimension), prompt, "tokens")}
    if OUTPUTS in witness:
        frames[OUTPUTS.name] = read_framed(witness[OUTPUTS], prompt.values(), prompt, "outputs")
    entries = _read_entries(witness[ENTRIES], error, frames) if ENTRIES in witness else None
    return StatedGradientTail(error, asserts, frames, entries)


def _read_entries(stated: Values, error: GradientError, frames: Mapping[str, Framed]) -> Entries:
    """|V (C_L - C)|_F^2 <= sum_ij <f_i, V (C_L - C) g_j>^2: both signs of every entry, row by row.

    Where V is the identity the matrix is symmetric, and entries on and above the diagonal are enough.
    """
    prompt, tokens = error.prompt, frames[TOKENS.name]
    symmetric, outputs = OUTPUTS.name not in frames, frames.get(OUTPUTS.name, tokens)
    stated[ENTRY_LEVELS].require_shape(
        outputs.frame.rows, tokens.frame.rows, "(rows of the frame of outputs x rows of that of tokens)"
    )
    levels = stated[ENTRY_LEVELS].load()
    if symmetric and levels.is_symmetric() is not True:
        raise stated.node(ENTRY_LEVELS).malformed("symmetric levels, as V is the identity", "a matrix that is not")
    left, right, tails = outputs.frame @ prompt.values(), tokens.frame, []
    for i in range(left.rows):
        for j in range(i if symmetric else 0, right.rows):
            tails += ProductTail.both(prompt, left.take_rows([i]), right.take_rows([j]), levels.entry(i, j))
    return Entries(levels.to_rows(), paired(stated, ENTRY_BOUNDS, tails, "two per entry, for + and -"))


def _by_moment(error: GradientError, order: int, eps: fmpq, starts: Sequence[int]) -> arb:
    from certattn.kernel.theorems.prompts.moment_method import gradient_bound

    return gradient_bound(error, order, eps, starts)


def obligations(stated: StatedGradientTail) -> Iterator[Obligation]:
    eps = stated.asserts[EXCEEDS]
    if stated.order is not None:
        by_moment = partial(_by_moment, stated.error, stated.order, eps, stated.starts)
        yield Obligation("probability", by_moment, "<=", stated.asserts[PROBABILITY], Part.WITNESS)
        return
    conditions = [each for name, framed in stated.frames.items() for each in framed.conditions(name)]
    if stated.entries is not None:
        least = min(min(row) for row in stated.entries.levels)
        conditions.append(Obligation("entries.levels", least, ">=", fmpq(0), Part.WITNESS))
    conditions.append(Obligation("exceeds", stated.reach, "<=", eps * eps, Part.WITNESS))
    yield from conditions
    bound, needs = partial(sum_of_bounds, stated.rules), [condition.name for condition in conditions]
    yield Obligation("probability", bound, "<=", stated.asserts[PROBABILITY], Part.WITNESS, needs)


THEOREM = Theorem(
    name="gradient-tail",
    title="how rarely attention's gradients over a random prompt are far from their limits",
    given=RANDOM_PROMPT,
    asserts=ASSERTS,
    witness=WITNESS,
    read=read,
    obligations=obligations,
)
