"""Generating certificates about the kernel's own exponential."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import fmpq

import certattn
from certattn import Verdict
from certattn.fast import exponential
from certattn.fast.exponential import relative_error
from certattn.kernel.document.numbers import parse_rational
from certattn.kernel.errors import NotProvedError, UsageError
from certattn.kernel.limits import DEFAULT_LIMITS

CLAIM = "binary64-exponential"


def number(text: Any) -> fmpq:
    return parse_rational(text, DEFAULT_LIMITS)


def asserted(certificate: certattn.Certificate) -> Any:
    return certificate.plain["asserts"]["relative_error"]  # type: ignore[call-overload,index]


@pytest.mark.parametrize("tail", [False, True])
def test_what_is_generated_verifies_and_is_sharp(tail: bool, tmp_path: Path) -> None:
    out = tmp_path / "exponential.yaml"
    certificate = certattn.generate(CLAIM, out, tail=tail, note="for you")
    report = certattn.check(out)
    assert report.verdict is Verdict.VERIFIED
    assert report.counts["proved"] == (7 if tail else 6)
    stated = asserted(certificate)
    # Six digits, rounded up: above what is proved, by less than one unit of the sixth digit.
    proved = fmpq(*relative_error(tail=tail).as_integer_ratio())
    assert 0 < number(stated["at_most"]) - proved < fmpq(1, 10**21)
    # The lower bound is within a hundredth of the upper one.
    assert number(stated["at_most"]) * fmpq(99, 100) < number(stated["at"]["at_least"]) < proved
    assert certificate.provenance["note"] == "for you"
    assert ("tail_up_to" in certificate.plain["given"]) is tail  # type: ignore[operator]


def test_the_table_lies_beside_the_certificate_and_is_that_of_the_kernel(tmp_path: Path) -> None:
    certattn.generate(CLAIM, tmp_path / "one.yaml")
    assert (np.load(tmp_path / "exponential-table.npy") == exponential.TABLE).all()
    # A second certificate shares it.
    certattn.generate(CLAIM, tmp_path / "two.yaml", tail=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exponential-table.npy", "one.yaml", "two.yaml"]


def test_another_file_of_that_name_is_left_alone(tmp_path: Path) -> None:
    table = tmp_path / "exponential-table.npy"
    table.write_text("mine")
    with pytest.raises(UsageError, match="exists with other content"):
        certattn.generate(CLAIM, tmp_path / "one.yaml")
    assert table.read_text() == "mine"
    table.unlink()
    table.mkdir()
    with pytest.raises(UsageError, match="exists with other content"):
        certattn.generate(CLAIM, tmp_path / "one.yaml")


@pytest.mark.parametrize("at_most", ["2.3e-16", "1/1000000", "0x1p-51", "2.2635587605e-16"])
def test_a_larger_bound_may_be_stated(at_most: str, tmp_path: Path) -> None:
    out = tmp_path / "one.yaml"
    assert asserted(certattn.generate(CLAIM, out, at_most=at_most))["at_most"] == at_most
    assert certattn.check(out).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("at_most", ["2.26355e-16", "0", "1e-300"])
def test_a_smaller_one_is_not_proved_and_nothing_is_left(at_most: str, tmp_path: Path) -> None:
    with pytest.raises(NotProvedError, match=r"too small: what is proved is about 2\.263558760e-16"):
        certattn.generate(CLAIM, tmp_path / "one.yaml", at_most=at_most)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("at_most", ["-1", "nan", "two", ""])
def test_a_bound_that_is_no_number_is_malformed_and_nothing_is_left(at_most: str, tmp_path: Path) -> None:
    with pytest.raises(certattn.MalformedError, match=r"not written\): asserts\.relative_error\.at_most"):
        certattn.generate(CLAIM, tmp_path / "one.yaml", at_most=at_most)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_none_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        certattn.generate(CLAIM, tmp_path / "nowhere" / "one.yaml")
    with pytest.raises(UsageError, match="a certificate is a YAML file"):
        certattn.generate(CLAIM, tmp_path / "one.npy")
    assert list(tmp_path.iterdir()) == []
