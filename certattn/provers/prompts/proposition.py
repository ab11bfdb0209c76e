"""Propositions 3.1 and 3.4: decide the published display at an instance, or find constants for a repaired form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flint import arb, fmpq

from certattn.kernel.decide.obligation import NoProof
from certattn.kernel.decide.proof import Outcome, Proof
from certattn.kernel.decide.theorem import Theorem
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.laws import Box
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.prompts import every_law
from certattn.kernel.theorems.prompts.every_law import CLASS, tokens_of
from certattn.kernel.theorems.prompts.proposition_forms import Stated
from certattn.kernel.theorems.prompts.propositions import (
    GRADIENT,
    LENGTH,
    NORM,
    PUBLISHED,
    REPAIRED,
    STEPS,
    Error,
    Setting,
    read_given,
)
from certattn.provers.commands import Option, Whole
from certattn.provers.exact_inputs import Number, exact, positive
from certattn.provers.output import Draft
from certattn.provers.prompts.class_search import find_class_steps, find_norm
from certattn.provers.prompts.repaired_search import find_box_witness, find_steps
from certattn.provers.rounding import round_up, upper_rational

_BITS = 128
_DIGITS = 6
C2 = Option(
    "--c2",
    "The constant c2 of a repaired form; by default the best that is found at --sharpest-at tokens.",
    metavar="X",
)
SHARPEST_AT = Option(
    "--sharpest-at",
    "Without --c2: the length at which the display is least, 100 if left out.",
    Whole(2),
)
_SHARPEST_AT = 100


def generate(
    claim: Theorem[Stated],
    out: Path,
    given: dict[str, Any],
    asserts: dict[str, Plain],
    c2: Number | None,
    sharpest_at: int | None,
    note: str,
) -> Certificate:
    """Write the certificate of the claim; `asserts` holds what it says besides its form."""
    draft = Draft(claim, out, exact(given, "given"), note)
    if c2 is not None and sharpest_at is not None:
        raise UsageError("sharpest_at is the length at which the best c2 is looked for, and c2 is stated; expected one")
    at = _SHARPEST_AT if sharpest_at is None else sharpest_at
    if CLASS.name in given:
        return _for_a_class(claim, draft, asserts, c2, at)
    setting = draft.read(read_given)
    if LENGTH in setting.values:
        if c2 is not None or sharpest_at is not None:
            found = "sharpest_at" if c2 is None else "c2"
            raise UsageError(
                f"{found} is for a repaired form, and 'length' in the input for the published one; expected one"
            )
        return _published(claim, draft, asserts)
    return _repaired(claim, draft, setting, asserts, c2, at)


def _published(claim: Theorem[Stated], draft: Draft, asserts: dict[str, Plain]) -> Certificate:
    """The display at the instance: fails or holds, whichever is proved."""
    proof = _proof(claim, draft, {**asserts, PUBLISHED.name: "fails"})
    outcome = proof.answers[PUBLISHED.name].outcome
    if outcome is Outcome.UNDECIDED:
        raise NotProvedError(f"both sides of the display agree to {_BITS} bits; expected other constants")
    word = "fails" if outcome is Outcome.PROVED else "holds"
    return draft.write({**asserts, PUBLISHED.name: word})


def _repaired(
    claim: Theorem[Stated],
    draft: Draft,
    setting: Setting,
    asserts: dict[str, Plain],
    c2: Number | None,
    sharpest_at: int,
) -> Certificate:
    """The smallest c1 that the search finds, rounded up."""
    if setting.sigma is None:
        raise UsageError("no 'sigma' and no 'length' in the input; expected sigma for a repaired form, or a length")
    error, variance = _error(asserts), setting.sigma * setting.sigma
    rho = None if c2 is None else positive(c2, "c2") / variance
    if setting.are_both(Box):
        rho, witness = find_box_witness(setting, error, rho, sharpest_at)
    else:
        rho, witness = find_steps(setting, error, rho, sharpest_at)
    stated: dict[str, Plain] = {"c1": "1", "c2": format_rational(rho * variance)}
    return _least(claim, draft, asserts, stated, witness)


def _for_a_class(
    claim: Theorem[Stated], draft: Draft, asserts: dict[str, Plain], c2: Number | None, sharpest_at: int
) -> Certificate:
    """The same for every law of a class."""
    setting, error = draft.read(every_law.read_given), _error(asserts)
    variance = setting.sigma * setting.sigma
    V = setting.values_matrix(error)
    norm = None if V is None else find_norm(V)
    if norm == 0:
        raise UsageError("V is 0, and so is the error of every law; expected a V that is not 0")
    wanted = None if c2 is None else positive(c2, "c2") / variance
    rho, steps = find_class_steps(setting, error, tokens_of(setting, error, norm), wanted, sharpest_at)
    stated: dict[str, Plain] = {"c1": "1", "c2": format_rational(rho * variance)}
    witness: dict[str, Plain] = {NORM.name: format_rational(norm)} if norm is not None else {}
    return _least(claim, draft, asserts, stated, {**witness, STEPS.name: steps})


def _least(
    claim: Theorem[Stated],
    draft: Draft,
    asserts: dict[str, Plain],
    stated: dict[str, Plain],
    witness: dict[str, Plain],
) -> Certificate:
    """The certificate with the smallest c1 that this witness proves."""
    proof = _proof(claim, draft, {**asserts, REPAIRED.name: stated}, witness)
    return draft.write({**asserts, REPAIRED.name: {**stated, "c1": format_rational(_least_c1(proof))}}, witness)


def _proof(claim: Theorem[Stated], draft: Draft, asserts: dict[str, Plain], witness: Mapping[str, Plain] = {}) -> Proof:
    """The obligations of a draft, asked for at `_BITS`. Raises NotProvedError where one has no proof."""
    listed = list(claim.obligations(draft.read(claim.read, asserts, witness)))
    for each in listed:
        if isinstance(each, NoProof):
            raise NotProvedError(f"{each.name} is not proved: {each.reason}")
    proof = Proof(listed)
    proof.ask(list(proof.obligations), _BITS)
    return proof


def _least_c1(proof: Proof) -> fmpq:
    """The smallest c1 of few digits with which the obligations are proved."""
    ratios = [answer.left for name, answer in proof.answers.items() if name != "monotone"]
    largest = max(upper_rational(ratio) for ratio in ratios if isinstance(ratio, arb))
    return round_up(largest, _DIGITS) if largest > 0 else fmpq(1)


def _error(asserts: dict[str, Plain]) -> Error:
    return Error(asserts.get(GRADIENT.name, Error.OUTPUT.value))
