"""The showcase: what the unsound code says, what is true, and that the page's certificates say so.

The truth is computed here, with Arb at 400 bits or with integers, from the formula of each section.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from flint import arb, ctx, fmpq

import certattn
from certattn import Verdict

PAGE = Path(__file__).resolve().parent.parent / "docs" / "showcase.md"
BLOCK = re.compile(r"```yaml\n# (?P<name>[\w-]+)\.yaml(?: \((?P<verdict>\w+)\))?\n(?P<text>.*?)```", re.DOTALL)
CERTIFICATES = {match["name"]: match for match in BLOCK.finditer(PAGE.read_text())}


@pytest.fixture(autouse=True)
def bits() -> Iterator[None]:
    before, ctx.prec = ctx.prec, 400
    yield
    ctx.prec = before


def verdict(name: str, folder: Path, text: str | None = None) -> Verdict:
    path = folder / f"{name}.yaml"
    path.write_text(text if text is not None else CERTIFICATES[name]["text"])
    return certattn.check(path, isolated=True).verdict


def logistic(x: Fraction) -> arb:
    return 1 / (1 + (-arb(fmpq(x.numerator, x.denominator))).exp())


@pytest.mark.parametrize("name", CERTIFICATES)
@pytest.mark.parametrize("arithmetic", ["auto", "arb"])
def test_the_kernel_says_what_the_page_says(name: str, arithmetic: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(CERTIFICATES[name]["text"])
    found = certattn.check(path, arithmetic=arithmetic).verdict
    assert found.value == (CERTIFICATES[name]["verdict"] or "verified")


def test_every_section_has_a_claim_that_is_false_and_one_that_is_true() -> None:
    sections = PAGE.read_text().split("\n## ")[1:-1]
    assert len(sections) == 9
    for section in sections:
        verdicts = {match["verdict"] for match in BLOCK.finditer(section)}
        assert {"refuted", None} <= verdicts


# -- mpmath


def test_mpmath_misses_an_exponential(tmp_path: Path) -> None:
    claimed = Fraction(float.fromhex("0x1.0000040000080p+0"))
    off = arb(fmpq(1, 2**22)).exp() - fmpq(claimed.numerator, claimed.denominator)
    assert off > fmpq(1, 2**70)
    assert off < fmpq(11, 10**6) / 2**52
    share = claimed / (1 + claimed)
    assert f"[[{share.numerator * 2**7}/{share.denominator * 2**7}]]" in CERTIFICATES["mpmath"]["text"]
    enclosure = mpmath.iv.exp(mpmath.iv.mpf(2.0**-22))
    ends = float(enclosure.a).hex(), float(enclosure.b).hex()
    # Later versions may be right; what 1.3 says is on the page.
    if mpmath.__version__.startswith("1.3."):
        assert ends == ("0x1.0000040000080p+0",) * 2


def test_mpmath_misses_more_than_one() -> None:
    if not mpmath.__version__.startswith("1.3."):
        return
    for k in (22, 23, 24, 25):
        enclosure = mpmath.iv.exp(mpmath.iv.mpf(2.0**-k))
        exact = Fraction(float(enclosure.b))
        assert arb(fmpq(1, 2**k)).exp() > fmpq(exact.numerator, exact.denominator)


# -- the others


def test_an_added_denominator_bounds_nothing() -> None:
    claimed = np.exp(-50) / (np.exp(-50) + np.exp(-50) + 1e-12)
    assert claimed < 1.93e-10
    # At the scores (-50, -50) both weights are one half.
    assert (arb(-50).exp() / (2 * arb(-50).exp())).overlaps(arb(fmpq(1, 2)))


def test_a_tangent_bounds_from_below(tmp_path: Path) -> None:
    """A line that touches p, as a function of log p, at its upper end; what auto_LiRPA 0.7.1 says of the same box."""
    high = logistic(Fraction(-12))
    for x in (-20, -16, -13):
        p = logistic(Fraction(x))
        assert high * (1 - high.log()) + high * p.log() < p
    middle = high * (1 - high.log()) + high * logistic(Fraction(-16)).log()
    assert fmpq(-18433, 10**9) < middle
    assert middle < fmpq(-18432, 10**9)
    assert logistic(Fraction(-16)) > fmpq(1125, 10**10)
    assert high > fmpq(613422, 10**11)
    assert high > fmpq(614417, 10**11)
    assert high < fmpq(614418, 10**11)
    assert "at_most: 0.999981559}" in CERTIFICATES["tangent-middle"]["text"]
    assert 1 - fmpq(999981559, 10**9) < fmpq(18442, 10**9)


def test_nan_passes_for_small(tmp_path: Path) -> None:
    with np.errstate(all="ignore"):
        weights = np.exp([0.0, 1000.0]) / np.exp([0.0, 1000.0]).sum()
    error = abs(float(weights[1]) - 0.25)
    assert math.isnan(error)
    assert max([0.0, error]) <= 1e-6
    assert not error > 1e-6
    assert abs(logistic(Fraction(1000)) - fmpq(1, 4)) > fmpq(1, 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_array_file_brings_a_nan(value: float, tmp_path: Path) -> None:
    import hashlib

    array = np.array([[0.0], [value]])
    np.save(tmp_path / "v.npy", array)
    digest = hashlib.sha256((tmp_path / "v.npy").read_bytes()).hexdigest()
    reference = f"{{file: v.npy, sha256: {digest}, dtype: float64, shape: [2, 1]}}"
    text = CERTIFICATES["nan"]["text"].replace("[[0], [1]], queries", f"{reference}, queries")
    assert reference in text
    assert verdict("array", tmp_path, text) is Verdict.MALFORMED


def test_float32_loses_a_weight() -> None:
    scores = np.array([0, -110], np.float32)
    weights = np.exp(scores) / np.exp(scores).sum()
    assert weights[1] == 0
    true = logistic(Fraction(-110))
    assert true > fmpq(168, 10**50)
    assert true < fmpq(169, 10**50)


def test_a_point_is_not_an_enclosure() -> None:
    stated = Fraction("0.7310585786300049")
    assert abs(1 / (1 + math.exp(-1)) - float(stated)) < 1e-15
    off = abs(logistic(Fraction(1)) - fmpq(stated.numerator, stated.denominator))
    assert off > fmpq(2, 10**17)
    assert off < fmpq(1, 10**16)


def test_a_negation_proves_nothing() -> None:
    bound = fmpq(524979187, 10**9)
    assert logistic(Fraction(1, 10)) > bound
    ctx.prec = 30
    weight = 1 / (1 + (-arb(fmpq(1, 10))).exp())
    assert not weight > bound
    assert not weight <= bound


def test_a_variance_cancels() -> None:
    values = np.array([1e8, 1e8 + 1])
    assert (values * values).mean() - values.mean() ** 2 == 0
    exact = [Fraction(10**8), Fraction(10**8 + 1)]
    assert sum(x * x for x in exact) / 2 - (sum(exact) / 2) ** 2 == Fraction(1, 4)
