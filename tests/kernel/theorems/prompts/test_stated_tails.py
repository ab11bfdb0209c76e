"""Findings of the claims about tails and mean squares: what is said of a bound that was reached."""

from __future__ import annotations

from pathlib import Path

import pytest
from flint import arb, fmpq

import certattn
from certattn.kernel.decide.checker import theorem_of
from certattn.kernel.decide.obligation import Obligation
from certattn.kernel.decide.proof import Proof
from certattn.statements.wording import WORDINGS

GALLERY = Path(__file__).resolve().parents[4] / "certificates"
CLAIMS = {
    "prompts/output-tail/gaussian-norm": "norm: probability at most 0.125, stated 0.5",
    "prompts/gradient-tail/gaussian-v": "probability at most 0.125, stated 0.5",
    "prompts/gradient-mean-square/gaussian-v": "mean square: 0.125000000000000",
}


def findings(name: str, reached: arb) -> list[str]:
    certificate = certattn.load(GALLERY / f"{name}.yaml")
    proof = Proof([Obligation("norm", reached, "<=", fmpq(1, 2))])
    proof.ask(["norm"], 64)
    return WORDINGS[certificate.claim].findings(theorem_of(certificate).read(certificate), [proof.answers["norm"]])


@pytest.mark.parametrize("name", CLAIMS)
def test_a_finite_bound_is_said(name: str) -> None:
    assert findings(name, arb(1) / 8) == [CLAIMS[name]]


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize(
    "reached", [arb.nan(), arb.pos_inf(), arb.neg_inf(), arb(0, arb.pos_inf())], ids=["nan", "inf", "-inf", "[± inf]"]
)
def test_of_a_bound_that_is_not_finite_nothing_is_said(name: str, reached: arb) -> None:
    assert findings(name, reached) == []
