"""Norms as certificates state them: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from flint import fmpq

from certattn.kernel.document.reader import parse_tree
from certattn.kernel.document.schema import Reading
from certattn.kernel.errors import MalformedError
from certattn.kernel.limits import DEFAULT_LIMITS, Watch
from certattn.kernel.theorems.selection.mathematics.margin_norms import PowerNorm
from certattn.kernel.theorems.selection.stated_norms import NUCLEAR, NormKind


def read(text: str) -> str | PowerNorm:
    reading = Reading(DEFAULT_LIMITS, Path(), Path(), Watch())
    tree = parse_tree(f"norm: {text}", "norm.yaml", DEFAULT_LIMITS).value
    assert isinstance(tree, dict)
    return NormKind().read(tree["norm"], reading)


@pytest.mark.parametrize(
    ("text", "norm"),
    [
        ("1", PowerNorm(fmpq(1))),
        ("3/2", PowerNorm(fmpq(3, 2))),
        ("2.5", PowerNorm(fmpq(5, 2))),
        ("infinity", PowerNorm(None)),
        ("nuclear", NUCLEAR),
    ],
)
def test_a_norm_is_an_exponent_or_a_name(text: str, norm: str | PowerNorm) -> None:
    assert read(text) == norm


@pytest.mark.parametrize("text", ["99/100", "0", "-2", "inf", "frobenius", "[2]", f"{2**64}/3", f"{2**65 + 1}/{2**65}"])
def test_other_norms_are_refused(text: str) -> None:
    with pytest.raises(MalformedError, match=r"norm"):
        read(text)
