"""The risk that the flow on given prompts comes to at a time, for `risk-transfer`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

from certattn.kernel.decide.proof import Answer, Outcome, Proof
from certattn.kernel.document.certificate import Certificate
from certattn.kernel.document.tree import Plain
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.mathematics.reals import format_rational
from certattn.kernel.theorems.training.risk_transfer import DEFAULT_TRAVEL, THEOREM, obligations, read
from certattn.provers.array_inputs import placed
from certattn.provers.exact_inputs import exact
from certattn.provers.output import Draft
from certattn.provers.rounding import round_up, upper_rational
from certattn.statements.training.risk_transfer import WORDING

_BITS = 64
_DIGITS = 3
# Legs are shortened so often, to a half each time, until the enclosed risk is known to this part of it.
_TRIES = 6
_PART = fmpq(1, 10)
# A risk below this is as good as 0, of which no part can be known.
_NOTHING = fmpq(1, 10**12)

Asserted = dict[str, Plain]


def generate_empirical(
    out: Path, given: dict[str, Any], risk: fmpq | None, time: fmpq | None, pieces: int, note: str
) -> Certificate:
    """Write a certificate about given prompts. Raises UsageError, NotProvedError."""
    if time is None:
        raise UsageError("given prompts need a time until which the flow is followed (--time)")
    arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    plain = exact({name: value for name, value in given.items() if name not in arrays}, "given")
    assert isinstance(plain, dict)
    with placed(out, arrays, "auto") as references:
        draft = Draft(THEOREM, out, {**plain, **references}, note)
        return draft.write(*_found(draft, risk, time, pieces))


def _found(draft: Draft, risk: fmpq | None, time: fmpq, pieces: int) -> tuple[Asserted, Asserted]:
    """What is stated, and with which legs. Raises NotProvedError."""
    travel, reason = DEFAULT_TRAVEL, ""
    for _ in range(_TRIES):
        asserts: Asserted = {"risk": format_rational(fmpq(1) if risk is None else risk), "time": format_rational(time)}
        witness: Asserted = {"pieces": str(pieces), "travel": format_rational(travel)}
        stated = draft.read(read, asserts, witness)
        proof = Proof(list(obligations(stated)))
        proof.ask(proof.obligations, _BITS)
        found = proof.answers
        if found["infinite"].outcome is not Outcome.PROVED:
            raise NotProvedError("over infinite prompts the risk is not known to tend to 0; expected another start")
        reason = WORDING.sentence(stated, "path")
        if found["path"].outcome is Outcome.PROVED:
            if risk is not None and found["risk"].outcome is Outcome.PROVED:
                return asserts, witness
            if risk is not None and found["risk"].outcome is Outcome.REFUTED:
                raise NotProvedError("the risk of these prompts is larger at that time; expected a larger risk")
            if risk is None and _is_narrow(found["risk"]):
                return {**asserts, "risk": _up(found["risk"])}, witness
        travel, pieces = travel / 2, 2 * pieces
    raise NotProvedError(f"the flow on these prompts could not be enclosed well enough: {reason}; expected less time")


def _is_narrow(found: Answer) -> bool:
    assert isinstance(found.left, arb)
    return (found.left.rad() <= _PART * found.left.mid()) is True or (found.left <= _NOTHING) is True


def _up(found: Answer) -> str:
    assert isinstance(found.left, arb)
    return format_rational(round_up(upper_rational(found.left), _DIGITS))
