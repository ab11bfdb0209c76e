"""The second checker, tools/recheck: what it proves, what it must not, and its functions against mpmath."""

from __future__ import annotations

import ast
import hashlib
import io
import itertools
import json
import math
import operator
import os
import random
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest

import certattn
from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.document.certificate import statement_digest
from certattn.kernel.document.reader import parse_tree
from certattn.kernel.limits import DEFAULT_LIMITS

sys.path.append(str(Path(__file__).parents[1]))
from tools.fuzz.two_readers import recheck

ROOT = Path(__file__).parents[1]
PROGRAM, PAGE, GALLERY = ROOT / "tools/recheck", ROOT / "docs/second-checker.md", ROOT / "certificates"
MODULES = {path.relative_to(PROGRAM).as_posix(): path for path in sorted(PROGRAM.rglob("*.py"))}
SOURCES = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}


# A certificate of every kind that is covered, a text in it, and what makes it a false statement or a false proof.
CHANGES = [
    ("arithmetic/binary64-exponential/exponential.yaml", "at_most: 2.26356e-16", "at_most: 2.26355e-16"),
    ("arithmetic/binary64-exponential/exponential.yaml", "at_least: 2.24681e-16", "at_least: 2.24682e-16"),
    ("arithmetic/binary64-exponential/exponential.yaml", "0x400000021f6e3p-51", "0x400000021f6e5p-51"),
    ("arithmetic/binary64-exponential/exponential-with-tail.yaml", "scores_up_to: 11000", "scores_up_to: 10999"),
    ("prompts/infinite-prompt-operator/mixture.yaml", "radius: 1e-15", "radius: 1e-18"),
    ("spectrum/linearization/three-tokens.yaml", "beta: 1/2", "beta: 0.5001"),
    ("prompts/observed-prompt/signs-1000.yaml", "0.6858", "0.6859"),
    ("prompts/observed-prompt/positions.yaml", "radius: 1\n", "radius: 0.9\n"),
    ("prompts/output-mean-square/queries-onwards.yaml", "0.0014818066", "0.0014818065"),
    ("prompts/output-tail/gaussian-enough.yaml", "length: 1006", "length: 1005"),
    ("prompts/output-tail/gaussian-too-short.yaml", "length: 1005", "length: 1006"),
    ("spectrum/singular-values/plane.yaml", "radius: 1.9e-15", "radius: 0.9e-15"),
    ("spectrum/singular-values/plane.yaml", "at_least: 6.7082\n", "at_least: 6.7083\n"),
    ("spectrum/singular-values/hilbert.yaml", "radius: 1e-25", "radius: 1e-28"),
    ("spectrum/singular-values/three-tokens.yaml", "[1, 2]", "[1, 2.001]"),
    ("spectrum/singular-values/three-tokens.yaml", "centred: true", "centred: true\n  causal: true"),
    ("prompts/output-tail/layer0-head6-mean-square.yaml", "probability: 0.01\n", "probability: 0.00999\n"),
    ("spectrum/spectral-distance/matrix.yaml", "at_most: 0.72026", "at_most: 0.72025"),
    ("spectrum/spectral-distance/four-tokens.yaml", "at_least: 0.00782", "at_least: 0.00783"),
    ("training/descent-trajectory/signs-regression.yaml", "step: 1/20", "step: 1/19"),
    ("spectrum/equivalent-law/narrow-gap.yaml", "0.917726613228703", "0.917726613228705"),
    ("spectrum/equivalent-law/closing.yaml", "value: 192513408", "value: 192513409"),
    ("spectrum/finite-moments/size-100.yaml", "at_most: 0.234926", "at_most: 0.234925"),
    ("spectrum/finite-moments/smallest-4.yaml", "within: 0.05\n", "within: 0.0495\n"),
    ("prompts/gradient-mean-square/mixture.yaml", "at_most: 0.0", "at_most: 0.00"),
    ("prompts/gradient-mean-square/gaussian-singular.yaml", "at_most: 0.", "at_most: 0.0"),
    ("prompts/gradient-tail/atoms.yaml", "probability: 0.001", "probability: 0.0005"),
    ("prompts/infinite-prompt-operator/gaussian-d1.yaml", "[-3]", "[-4]"),
    ("prompts/infinite-prompt-operator/rademacher.yaml", "0.761594155955765", "0.761594155955767"),
    ("selection/joint-max-margin/tight.yaml", "drop: 0.", "drop: 1."),
    ("selection/max-margin/three-inputs.yaml", "4/3", "1.3333333333333333"),
    ("spectrum/normalizer-bound/cool-1000.yaml", "0.0001428", "0.0001427"),
    ("spectrum/not-marchenko-pastur/rational.yaml", "value: ", "value: 1"),
    ("attention/output-deviation/gaussian-prompt.yaml", "at_most: 1.19161", "at_most: 1.19160"),
    ("prompts/output-mean-square/mixture.yaml", "at_most: 0.0", "at_most: 0.00"),
    ("prompts/output-mean-square/signs.yaml", "at_most: 4.44544046282817e-6", "at_most: 4.44544046282816e-6"),
    ("prompts/output-mean-square/signs-and-atoms-onwards.yaml", "at_least: 1000", "at_least: 999"),
    ("prompts/gradient-mean-square/signs.yaml", "at_least: 0.00991232", "at_least: 0.00991233"),
    ("prompts/output-tail/signs-mean-square.yaml", "at_least: 1201", "at_least: 1200"),
    ("prompts/output-tail/gaussian-ball.yaml", "probability: 0.01\n", "probability: 0.0095\n"),
    ("prompts/output-tail/atoms-ball.yaml", "probability: 0.01\n", "probability: 0.0098\n"),
    ("prompts/output-tail/rademacher.yaml", "probability: 0.001", "probability: 0.0009"),
    ("prompts/proposition-3-1/published.yaml", "fails", "holds"),
    ("prompts/proposition-3-1/repaired-gaussian.yaml", "1.14152", "1.14151"),
    ("prompts/proposition-3-1/repaired-box.yaml", "1.34347", "1.34346"),
    ("prompts/proposition-3-4/repaired-gaussian-u.yaml", "14.2597", "14.2596"),
    ("prompts/proposition-3-1/class.yaml", "34.9707", "34.9706"),
    ("prompts/proposition-3-4/class-u.yaml", "912.841", "912.84"),
    ("training/regression-risk/plane-start.yaml", "0.5903625", "0.5903626"),
    ("training/regression-risk/plane-shifted.yaml", "risk: 3.75", "risk: 3.76"),
    ("training/held-out-risk/signs-line.yaml", "at_most: 0.071", "at_most: 0.0709"),
    ("training/held-out-risk/gaussian-below.yaml", "at_least: 0.0648", "at_least: 0.0649"),
    ("selection/regularization-path/single-input.yaml", "0.98225", "0.98230"),
    ("selection/selection-on-a-head/authors-keys.yaml", "at_least: 0.578", "at_least: 0.579"),
    ("attention/softmax-mean/three-tokens.yaml", "3.81e-13", "3.80e-13"),
    ("attention/softmax-mean/three-tokens.yaml", "at_least: 0.0598920245448", "at_least: 0.0598920245449"),
    ("attention/softmax-mean/four-tokens-spread.yaml", "1.16440621778", "1.16440621777"),
    ("attention/softmax-mean/four-tokens-spread.yaml", "[0.5, 0.73105857863,", "[0.5, 0.731058578631,"),
    ("selection/token-optimality/two-inputs.yaml", "multiplier: 1\n", "multiplier: 2\n"),
    ("spectrum/universality-bound/random-cool-1000.yaml", "0.005595", "0.005594"),
    ("spectrum/universality-bound/random-cool-1000.yaml", "0.01736", "0.01735"),
    ("spectrum/universality-bound/queries-3.yaml", "0.1495", "0.1494"),
    ("spectrum/attention-spectrum/cool-apart.yaml", "within: 0.00686", "within: 0.00685"),
    ("spectrum/attention-spectrum/cool-apart.yaml", "0.0000368", "0.0000369"),
    ("spectrum/attention-spectrum/cool-apart.yaml", "from: 10000", "from: 9900"),
    ("spectrum/attention-spectrum/cool-apart.yaml", "share: 0.002533", "share: 0.002633"),
    ("spectrum/attention-spectrum/cool-apart.yaml", "tail: 0.0002714", "tail: 0.0004714"),
    ("spectrum/attention-spectrum/cool-apart.yaml", "moment: 0.23879725", "moment: 0.2389"),
]


def verdict(path: Path) -> str:
    found: str = recheck.check(path, 60)[0]
    return found


def altered(tmp_path: Path, name: str, change: Callable[[str], str]) -> Path:
    """A copy of a certificate, with its array files, in which the text is changed."""
    text = (GALLERY / name).read_text(encoding="utf-8")
    for file in set(re.findall(r"file: (\S+)", text)):
        target = tmp_path / file
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((GALLERY / name).parent.joinpath(file).read_bytes())
    changed = change(text)
    assert changed != text
    path = tmp_path / "changed.yaml"
    path.write_text(changed, encoding="utf-8")
    return path


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted({name for name, _, _ in CHANGES}))
def test_the_gallery_is_verified(name: str) -> None:
    assert recheck.check(GALLERY / name, 60)[0] == "verified"


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_a_false_neighbour_is_not_verified(tmp_path: Path, name: str, old: str, new: str) -> None:
    assert verdict(altered(tmp_path, name, lambda text: text.replace(old, new, 1))) == "not proved"


PLAIN = "attention/softmax-mean/three-tokens.yaml"
BROKEN: dict[str, Callable[[str], str]] = {
    "an unknown key": lambda t: t.replace("given:\n", "given:\n  more: 1\n"),
    "an unknown key at the top": lambda t: t + "signed: yes\n",
    "a key that is missing": lambda t: t.replace("radius: 3.77e-13", ""),
    "a key twice": lambda t: t.replace("given:\n", "given:\n  scale: 1\n  scale: 1\n"),
    "a section twice": lambda t: t + "claim: softmax-mean\n",
    "NaN": lambda t: t.replace("3.81e-13", "nan"),
    "infinity": lambda t: t.replace("3.81e-13", ".inf"),
    "a number with a leading zero": lambda t: t.replace("[1, 0]", "[01, 0]"),
    "a sign before a number": lambda t: t.replace("[1, 0]", "[+1, 0]"),
    "a division by zero": lambda t: t.replace("[1, 0]", "[1/0, 0]"),
    "a huge exponent": lambda t: t.replace("3.81e-13", "1e999999"),
    "a ragged matrix": lambda t: t.replace("[-1, -1]", "[-1]"),
    "an empty list": lambda t: t.replace("[0, 0]", "[]"),
    "text behind a list": lambda t: t.replace("[-1, -1]", "[-1, -1] 2"),
    "a second document": lambda t: t + "---\ncertattn: 1\n",
    "an anchor": lambda t: t.replace("radius: 3.81e-13", "radius: &r 3.81e-13"),
    "a tag": lambda t: t.replace("radius: 3.81e-13", "radius: !!float 3.81e-13"),
    "a tab": lambda t: t.replace("claim: ", "claim:\t"),
    "another version": lambda t: t.replace("certattn: 1", "certattn: 2"),
    "another claim": lambda t: t.replace("claim: softmax-mean", "claim: softmax-median"),
    "no assertion": lambda t: t[: t.index("asserts:")] + "asserts: {}\n",
    "a nested file": lambda t: t.replace("[-1, -1]", "[" * 100 + "]" * 100),
    "half a file": lambda t: t[: t.index("radius: 3.77e-13") + 5],
}


@pytest.mark.parametrize("what", [*BROKEN])
def test_what_is_no_certificate_is_rejected(tmp_path: Path, what: str) -> None:
    assert verdict(altered(tmp_path, PLAIN, BROKEN[what])) == "rejected"


@pytest.mark.parametrize(
    ("old", "new"),
    [("sha256: ", "sha256: 0"), ("float32", "float64"), ("[1000, 4]", "[1000, 5]"), ("array: tokens", "array: taken"),
     ("file: data", "file: ../data"), ("rows: 0:3", "rows: 99:103")],
)  # fmt: skip
def test_array_files_are_those_that_are_hashed(tmp_path: Path, old: str, new: str) -> None:
    name = "attention/softmax-mean/gaussian-prompt.yaml"
    assert verdict(altered(tmp_path, name, lambda text: text.replace(old, new, 1))) == "rejected"


def safetensors(folder: Path, header: str, body: bytes) -> dict[str, Any]:
    data = len(header).to_bytes(8, "little") + header.encode() + body
    (folder / "x.safetensors").write_bytes(data)
    sha = hashlib.sha256(data).hexdigest()
    return {"file": "x.safetensors", "sha256": sha, "dtype": "float64", "shape": ["1", "1"], "array": "a"}


ENTRY = '"a": {"dtype": "F64", "shape": [1, 1], "data_offsets": [%s]}'


@pytest.mark.parametrize(
    "header",
    ["{" + ENTRY % "0, 8" + ", " + ENTRY % "8, 16" + "}", "{" + ENTRY % "-8, 0" + "}", "{" + ENTRY % "16, 24" + "}",
     "{" + ENTRY % "0.0, 8" + "}", "{" + (ENTRY % "0, 8").replace("[1, 1]", "[true, 1]") + "}"],
    ids=["a tensor twice", "before its data", "behind its data", "offsets that are no integers", "a shape of booleans"],
)  # fmt: skip
def test_tensors_are_where_the_file_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, header: str) -> None:
    monkeypatch.setattr(recheck.arrays, "folder", tmp_path)
    body = struct.pack("<2d", 1, 2)
    assert recheck.array(safetensors(tmp_path, "{" + ENTRY % "8, 16" + "}", body), "x") == ([2], [1, 1])
    with pytest.raises(recheck.Rejected):
        recheck.array(safetensors(tmp_path, header, body), "x")


def test_a_direction_of_scores_cannot_be_left_out(tmp_path: Path) -> None:
    text = """certattn: 1
claim: token-optimality
given: {tokens: [[[1, 0], [0, 0]]]}
asserts: {optimal: [[0, 1]]}
"""
    (tmp_path / "one.yaml").write_text(text, encoding="utf-8")
    assert verdict(tmp_path / "one.yaml") == "rejected"
    (tmp_path / "one.yaml").write_text(text.replace("given: {", "given: {v: [0, 1], "), encoding="utf-8")
    assert verdict(tmp_path / "one.yaml") == "verified"


def test_a_truncated_probability_of_one_is_no_bound_below_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recheck.intervals, "P", 96)
    tokens = law(kind="gaussian", mean=["0"], covariance=[["0"]])
    rules = recheck.Tails(tokens, [Fraction(0)], 1, (Fraction(1), 1), [Fraction(0)])
    monkeypatch.setattr(rules, "part", lambda *_: (recheck.iv(1), recheck.iv(0)))
    found = rules.truncated([Fraction(1)], Fraction(1, 9), Fraction(1), Fraction(1, 9), 1, 1)
    assert found.b >= 1 << 96


def test_what_is_exact_is_decided_exactly(tmp_path: Path) -> None:
    texts = [
        """certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: rademacher, sizes: [1, 2]}}
asserts: {values: [{query: [1e9, -1e9], value: [1, -2], radius: 1e-20}]}
""",
        """certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: box, sizes: [1, 2]}}
asserts: {values: [{query: [1e9, -1e9], value: [0.999999999, -1.999999999], radius: 1e-20}]}
""",
        """certattn: 1
claim: infinite-prompt-operator
given: {law: {kind: atoms, points: [[1/3, 2]]}}
asserts: {values: [{query: [1, 1], value: [1/3, 2], radius: 0}]}
""",
        """certattn: 1
claim: linearization
given: {queries: [[1], [2]], keys: [[1/3], [1/3]], beta: 1/2}
asserts: {remainder: {norm: {at_most: 0}, distance: {at_least: 1, at_most: 1}}}
""",
        """certattn: 1
claim: spectral-distance
given: {matrix: [[0, 0], [0, 0]], law: {beta: 1/2, lambda: 1}}
asserts: {quarter_circle: {at_least: 1}, law: {at_least: 1}}
""",
    ]
    for text in texts:
        (tmp_path / "one.yaml").write_text(text, encoding="utf-8")
        assert verdict(tmp_path / "one.yaml") == "verified"


def test_queries_may_have_no_spread(tmp_path: Path) -> None:
    """A covariance of rank 0 leaves nothing to eliminate: the bound is above the exact value for the one query."""
    text = """certattn: 1
claim: output-mean-square
given: {law: {kind: gaussian, mean: [0, 0], covariance: [[1, 0], [0, 1/2]]}, length: 5, QUERIES}
asserts: {mean_square: {BOUNDS}}
"""
    none = "queries: {mean: [1/2, 1/3], covariance: [[0, 0], [0, 0]]}"
    for queries, bounds, found in (
        ("query: [1/2, 1/3]", "at_least: 0.42174, at_most: 0.42175", "verified"),
        (none, "at_most: 0.45043", "verified"),
        (none, "at_most: 0.45042", "not proved"),
    ):
        witness = "witness: {method: integral}\n" if queries == none else ""
        (tmp_path / "c.yaml").write_text(text.replace("QUERIES", queries).replace("BOUNDS", bounds) + witness)
        assert verdict(tmp_path / "c.yaml") == found


def test_an_end_that_is_looked_for_is_not_looked_for_without_end(tmp_path: Path) -> None:
    """At 96 bits alpha^2 of a tiny beta may be 0, and then h is nowhere positive beyond the gap."""
    text = """certattn: 1
claim: equivalent-law
given: {beta: 1e-9, lambda: 1/3}
asserts: {right_edge: {value: 1.1547e-9, radius: 0}}
"""
    (tmp_path / "c.yaml").write_text(text)
    assert recheck.check(tmp_path / "c.yaml", 20)[0] == "not proved"
    with pytest.raises(recheck.Undecided):
        recheck.zero_beyond(lambda x: -x, Fraction(0), Fraction(1))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("attention/softmax-mean/three-tokens.yaml", "eigenvalues:\n", "eigenvalues:\n    of: []\n"),
        ("spectrum/linearization/three-tokens.yaml", "beta: 1/2\n", "beta: 1/2\n  unit: []\n"),
    ],
)
def test_an_empty_list_is_not_what_was_left_out(name: str, old: str, new: str, tmp_path: Path) -> None:
    assert verdict(altered(tmp_path, name, lambda text: text.replace(old, new, 1))) == "rejected"


def test_a_table_of_two_dimensions_is_no_vector(tmp_path: Path) -> None:
    flat = Path(GALLERY / "arithmetic/binary64-exponential/exponential-table.npy").read_bytes()
    head = flat[:128].replace(b"(2048,), }", b"(1, 2048), }").ljust(128)[:127] + b"\n"
    data = head[:128] + flat[128:]
    change = lambda t: re.sub(r"sha256: \w+", f"sha256: {hashlib.sha256(data).hexdigest()}", t).replace(  # noqa: E731
        "[2048]", "[1, 2048]"
    )
    path = altered(tmp_path, "arithmetic/binary64-exponential/exponential.yaml", change)
    (tmp_path / "exponential-table.npy").write_bytes(data)
    (verdict_, why) = recheck.check(path, 60)
    assert verdict_ == "rejected"
    assert "one extent" in why


def test_what_is_not_covered_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert recheck.main([str(GALLERY / "training" / "risk-gap")]) == 3
    assert "risk-gap" in capsys.readouterr().out


def test_exit_statuses_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recheck.main([]) == 2
    assert recheck.main(["--no-such-option"]) == 2
    assert recheck.main([str(GALLERY / "spectrum" / "normalizer-bound"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["verified"] == len(found["certificates"]) == 4
    assert all(one["statement"] == certattn.load(one["path"]).digest for one in found["certificates"])
    assert recheck.main([str(altered(tmp_path, PLAIN, BROKEN["NaN"]))]) == 1


@pytest.mark.heavy
@pytest.mark.parametrize("bits", [96, 384])
def test_functions_enclose_those_of_mpmath(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    monkeypatch.setattr(recheck.intervals, "P", bits)
    draw = random.Random(bits)
    functions: dict[str, tuple[Any, Any, int]] = {
        "exp": (recheck.exp, mpmath.exp, 4000),
        "log": (lambda x: recheck.log(abs(x)), lambda x: mpmath.log(abs(x)), 500),
        "root": (lambda x: recheck.root(abs(x)), lambda x: mpmath.sqrt(abs(x)), 1000),
        "tanh": (recheck.tanh, mpmath.tanh, 1000),
        "cosh": (recheck.cosh, mpmath.cosh, 1000),
        "sinhc": (recheck.sinhc, lambda x: mpmath.sinh(x) / x, 500),
        "log cosh": (recheck.log_cosh, lambda x: mpmath.log(mpmath.cosh(x)), 300),
        "log sinhc": (recheck.log_sinhc, lambda x: mpmath.log(mpmath.sinh(x) / x), 300),
        "langevin": (recheck.langevin, lambda x: mpmath.coth(x) - 1 / x, 500),
        "upper": (recheck.upper, lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2, 500),
        "arctan": (recheck.arctan, mpmath.atan, 500),
        "odd moment": (
            lambda x: recheck.raw_moments("box", x, 1)[1], lambda x: (mpmath.cosh(x) - mpmath.sinh(x) / x) / x, 500),
    }  # fmt: skip
    with mpmath.workprec(2 * bits + 200):
        for name, (ours, theirs, count) in functions.items():
            for _ in range(count):
                x = Fraction(draw.randint(1, 10**12) * draw.choice((-1, 1)), 10 ** draw.randint(11, 15))
                found, true = ours(x), theirs(mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** bits
                assert found.a <= true <= found.b, (name, x)
                # narrow beside the number itself: an enclosure that holds everything would prove nothing
                wide = 30 + (bits - 96) * (name == "upper")  # Mills's ratio is cut at a fixed depth
                assert found.b - found.a <= 2**wide * (1 + abs(true) / mpmath.mpf(2) ** bits), (name, x)
        assert recheck.pi().a <= mpmath.pi * mpmath.mpf(2) ** bits <= recheck.pi().b


def test_moments_of_weights_against_simulation_in_closed_cases() -> None:
    # two tokens whose scores differ by N(0, 2v): E P_2 = E (1 + tanh^2(D/2))/2, by mpmath's quadrature
    found = recheck.collisions(Fraction(1), 2)(2)
    density = lambda x: mpmath.exp(-(x**2) / 4) / mpmath.sqrt(4 * mpmath.pi)  # noqa: E731
    true = mpmath.quad(lambda x: density(x) * (1 + mpmath.tanh(x / 2) ** 2) / 2, [-25, 0, 25])
    assert abs(mpmath.mpf(found.a) / 2**recheck.intervals.P - true) < 1e-12
    assert found.b - found.a < 2 ** (recheck.intervals.P - 60)


# ---------------------------------------------------------------------------------------------------- numbers, by value


def law(**node: Any) -> Any:
    return recheck.Law(node)


def bell(x: Any) -> Any:
    """The density of N(1, 1/2), up to a factor."""
    return mpmath.exp(-((x - 1) ** 2))


LAWS: dict[str, tuple[Any, Callable[[Callable[[Any], Any]], Any]]] = {
    # a law on the line, and the expectation of a function by mpmath
    "gaussian": (
        law(kind="gaussian", mean=["1/4"], covariance=[["1/4"]]),
        # the midpoint rule, whose error falls like e^(-2 pi^2/h^2) for what is analytic times a Gaussian
        lambda f: (
            mpmath.fsum(f(0.25 + g / 2) * mpmath.npdf(g) for g in (mpmath.mpf(k) / 4 for k in range(-72, 73))) / 4
        ),
    ),
    "rademacher": (law(kind="rademacher", sizes=["3/2"]), lambda f: (f(mpmath.mpf(1.5)) + f(mpmath.mpf(-1.5))) / 2),
    "box": (law(kind="box", sizes=["2"]), lambda f: mpmath.quad(f, [-2, 0, 2]) / 4),
    "truncated-gaussian": (
        law(kind="truncated-gaussian", mean=["1"], variances=["1/2"], lower=["-2"], upper=["2"]),
        lambda f: mpmath.quad(lambda x: f(x) * bell(x), [-2, 0, 2]) / mpmath.quad(bell, [-2, 0, 2])),
    "atoms": (
        law(kind="atoms", points=[["1"], ["-2"], ["0"]], weights=["1/2", "1/4", "1/4"]),
        lambda f: f(mpmath.mpf(1)) / 2 + f(mpmath.mpf(-2)) / 4 + f(mpmath.mpf(0)) / 4),
}  # fmt: skip
LAWS["mixture"] = (
    law(
        kind="mixture",
        components=[
            {"weight": "1/3", "law": {"kind": "box", "sizes": ["2"]}},
            {"weight": "2/3", "law": {"kind": "rademacher", "sizes": ["3/2"]}},
        ],
    ),
    lambda f: LAWS["box"][1](f) / 3 + 2 * LAWS["rademacher"][1](f) / 3,
)
A, EPS, COUNT = Fraction(1, 3), Fraction(1, 5), 6


def value(x: Any) -> Any:
    """The middle of an interval, and half its width, as numbers of mpmath."""
    x = recheck.iv(x)
    return mpmath.mpf(x.a + x.b) / 2 ** (recheck.intervals.P + 1), mpmath.mpf(x.b - x.a) / 2 ** (
        recheck.intervals.P + 1
    )


def encloses(x: Any, true: Any, wide: float = 1e-20) -> bool:
    middle, radius = value(x)
    return bool(abs(middle - true) <= radius + mpmath.mpf(10) ** -40 and radius <= wide * (1 + abs(true)))


def tails(kind: str, count: int = COUNT) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]:
    """Rules for a law, its expectation, and the summand w (x - tau) by which softmax means are off."""
    found, mean = LAWS[kind]
    a = mpmath.mpf(A.numerator) / A.denominator
    norm = mean(lambda x: mpmath.exp(a * x))
    tau = mean(lambda x: x * mpmath.exp(a * x)) / norm
    rules = recheck.Tails(found, [A], count, (Fraction(1), 1), [A])
    return rules, mean, lambda x: mpmath.exp(a * x) / norm * (x - tau)


@pytest.fixture(autouse=True)
def _precise(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(recheck.intervals, "P", 192)
    with mpmath.workdps(60):
        yield


@pytest.mark.parametrize("kind", sorted(LAWS))
def test_moments_and_the_rules_made_of_them(kind: str) -> None:
    rules, mean, off = tails(kind)
    a, eps = mpmath.mpf(1) / 3, mpmath.mpf(1) / 5
    norm = mean(lambda x: mpmath.exp(a * x))
    # D = w (<u, y> - eps) + eps is what the rules are about: its mean is 0
    d = [mean(lambda x, p=p: (off(x) - mpmath.exp(a * x) / norm * eps + eps) ** p) for p in range(5)]
    assert abs(d[1]) < 1e-25
    ys = rules.moments([Fraction(1)], None, -EPS, 4)
    for p in range(1, 5):
        true = mean(lambda x, p=p: (off(x) - mpmath.exp(a * x) / norm * eps) ** p)
        assert encloses(ys[p], true), p
    cantelli = rules.bound({"rule": "cantelli"}, [Fraction(1)], None, Fraction(0), EPS)
    assert encloses(cantelli, d[2] / (d[2] + COUNT * eps**2))
    # E (sum of D)^4 of independent centred D
    fourth = COUNT * d[4] + 3 * COUNT * (COUNT - 1) * d[2] ** 2
    moment = rules.bound({"rule": "moment", "order": "4"}, [Fraction(1)], None, Fraction(0), EPS)
    assert encloses(moment, fourth / (COUNT * eps) ** 4)


@pytest.mark.parametrize("kind", sorted(LAWS))
def test_chernoff_is_above_the_moment_generating_function_and_near_it(kind: str) -> None:
    rules, mean, off = tails(kind)
    a, eps = mpmath.mpf(1) / 3, mpmath.mpf(1) / 5
    norm = mean(lambda x: mpmath.exp(a * x))
    for lam in (Fraction(1, 4), Fraction(1), Fraction(3)):
        size = mpmath.mpf(lam.numerator) / lam.denominator
        if kind == "gaussian":
            continue  # its moment generating function is infinite: the rule needs a cap
        true = mean(lambda x, s=size: mpmath.exp(s * (off(x) - mpmath.exp(a * x) / norm * eps))) ** COUNT
        for order in (2, 4, 12):
            rule = {"rule": "chernoff", "lambda": str(lam)} | ({} if kind == "atoms" else {"order": str(order)})
            middle, radius = value(rules.bound(rule, [Fraction(1)], None, Fraction(0), EPS))
            assert middle + radius >= true
            # what a wrong factor p! would change is seen where the terms from p on count
            if kind == "atoms":
                assert abs(middle - true) < 1e-30 * (1 + true)
            elif order == 12:
                assert middle - radius <= true * (1 + mpmath.mpf(10) ** -3 * size**12)


def test_covariances_of_a_tilted_truncated_gaussian_and_of_a_ball() -> None:
    """By the moments of one coordinate, and for the ball by differences of the mean."""
    found, mean = LAWS["truncated-gaussian"]
    first, second = (mean(lambda x, n=n: x**n * mpmath.exp(x / 3)) / mean(lambda x: mpmath.exp(x / 3)) for n in (1, 2))
    assert encloses(recheck.tilted_covariance(found, [Fraction(1, 3)])[0][0], second - first**2)
    ball, h = law(kind="ball", dimension="2", radius="sqrt(3)", centre=["1", "-2"]), Fraction(1, 10**12)
    covariance = recheck.tilted_covariance(ball, [Fraction(1), Fraction(2)])
    for j in range(2):
        ends = [ball.tilted([1 + s * h * (j == 0), 2 + s * h * (j == 1)])[1] for s in (1, -1)]
        for i in range(2):
            slope = (value(ends[0][i])[0] - value(ends[1][i])[0]) / 2 * 10**12
            assert abs(slope - value(covariance[i][j])[0]) < 1e-20


@pytest.mark.heavy
@pytest.mark.parametrize(("k", "slope"), [("1/3", "-5/7"), ("25", "3"), ("100", "-80"), ("1/1000000", "61/2")])
def test_moments_of_truncated_normals_against_quadrature(k: str, slope: str) -> None:
    exact, b = Fraction(k), Fraction(slope)
    found = recheck.laws.bump_moments(exact, recheck.iv(b), 5)
    size, tilt = (mpmath.mpf(x.numerator) / x.denominator for x in (exact, b))
    grid = [mpmath.mpf(j) / 16 for j in range(-16, 17)]
    for n, moment in enumerate(found):
        true = mpmath.quad(lambda y, n=n: y**n * mpmath.exp(tilt * y - size * y * y / 2), grid)
        assert abs(value(moment)[0] - true) <= value(moment)[1] + mpmath.mpf(10) ** -30 * abs(true)
        assert value(moment)[1] < 1e-5 * abs(true)


def test_chernoff_gets_its_last_coefficient_right() -> None:
    # one sign of size c: D takes two values, the larger one `top`; E e^(lam D) by hand, and the rule of order 2 over it
    rules, mean, off = tails("rademacher", 1)
    rule = {"rule": "chernoff", "lambda": "2", "order": "2"}
    a, eps = mpmath.mpf(1) / 3, mpmath.mpf(1) / 5
    norm = mean(lambda x: mpmath.exp(a * x))
    d = lambda x: off(x) - mpmath.exp(a * x) / norm * eps + eps  # noqa: E731
    top, second = value(rules.top(rules.law, [Fraction(1)], None, 0, EPS))[0], mean(lambda x: d(x) ** 2)
    assert top >= max(d(1.5), d(-1.5))
    by_hand = 1 + second * (mpmath.exp(2 * top) - 1 - 2 * top) / top**2
    assert encloses(rules.bound(rule, [Fraction(1)], None, 0, EPS), by_hand * mpmath.exp(-2 * eps), 1e-15)


def test_tops_are_above_all_values() -> None:
    for kind in ("rademacher", "box", "truncated-gaussian", "atoms", "mixture"):
        rules, mean, _ = tails(kind)
        norm = mean(lambda x: mpmath.exp(x / 3))
        points = [mpmath.mpf(k) / 50 for k in range(-100, 101)] if kind not in ("rademacher", "atoms") else [1.5, -1.5]
        points = [mpmath.mpf(x) for x in (1, -2, 0)] if kind == "atoms" else points
        tau = mean(lambda x: x * mpmath.exp(x / 3)) / norm
        for v in (None, [Fraction(1)]):
            mean_ = Fraction(0) if v is None else Fraction(1, 7)
            top = value(rules.top(rules.law, [Fraction(1)], v, mean_, EPS))
            for x in points:
                form = x - tau if v is None else (x - tau) ** 2 - mpmath.mpf(1) / 7
                assert mpmath.exp(x / 3) / norm * (form - mpmath.mpf(1) / 5) + mpmath.mpf(1) / 5 <= top[0] + top[1]


@pytest.mark.parametrize("pair", [False, True])
def test_every_rule_is_above_the_probability_itself(pair: bool) -> None:
    # all prompts of four atoms' tokens, with their probabilities
    rules, _, _ = tails("atoms", 4)
    points, weights = [1, -2, 0], [0.5, 0.25, 0.25]
    norm = sum(w * math.exp(x / 3) for x, w in zip(points, weights, strict=True))
    tau = sum(w * x * math.exp(x / 3) for x, w in zip(points, weights, strict=True)) / norm
    spread = sum(w * (x - tau) ** 2 * math.exp(x / 3) for x, w in zip(points, weights, strict=True)) / norm
    one = recheck.Tails.moments(rules, [Fraction(1)], [Fraction(1)], Fraction(0), 1)[1] if pair else Fraction(0)
    assert not pair or encloses(one, mpmath.mpf(spread), 1e-12) or abs(value(one)[0] - spread) < 1e-12
    for eps in (Fraction(1, 10), Fraction(1, 2), Fraction(1)):
        true = 0.0
        for prompt in itertools.product(range(3), repeat=4):
            e = [math.exp(points[i] / 3) for i in prompt]
            forms = [(points[i] - tau) ** 2 - spread if pair else points[i] - tau for i in prompt]
            if sum(map(operator.mul, e, forms)) / sum(e) > float(eps):
                true += math.prod(weights[i] for i in prompt)
        for rule in (
            {"rule": "cantelli"}, {"rule": "moment", "order": "2"}, {"rule": "moment", "order": "6"},
            {"rule": "chernoff", "lambda": "1/2"}, {"rule": "chernoff", "lambda": "2"},
        ):  # fmt: skip
            found = rules.bound(rule, [Fraction(1)], [Fraction(1)] if pair else None, one, eps)
            assert value(found)[0] + value(found)[1] >= true - 1e-12, rule


@pytest.mark.parametrize("across", [False, True])
def test_truncated_sums_of_gaussian_tokens_against_quadrature(monkeypatch: pytest.MonkeyPatch, across: bool) -> None:
    # tokens of N(0, I/4) in the plane; the direction is the tilt's, or has a part across it
    monkeypatch.setattr(recheck.intervals, "P", 96)
    monkeypatch.setattr(recheck.tails, "grid", lambda: (Fraction(1, 16), 9))  # coarser, for the time of this test
    tokens = law(kind="gaussian", mean=["0", "0"], covariance=[["1/4", "0"], ["0", "1/4"]])
    tilt, u = [Fraction(1), Fraction(0)], [Fraction(1), Fraction(int(across))]
    rules = recheck.Tails(tokens, tilt, 40, (Fraction(1), 1), tilt)
    eps, lam, cap = 0.4, 1.5, 1.0

    def off(g: float, h: float) -> float:
        """Y at x = (g, h)/2: w = e^(x_1 - 1/8), tau = (1/4, 0)."""
        return math.exp(g / 2 - 0.125) * (g / 2 - 0.25 + across * h / 2 - eps)

    # nodes of a fine midpoint rule in both coordinates; off A the exponential is at most e^(lam cap)
    step = 0.04
    grid = [(-8 + step * (i + 0.5)) for i in range(int(16 / step))]
    mass = [math.exp(-x * x / 2) * step / math.sqrt(2 * math.pi) for x in grid]
    bad = good = 0.0
    for g, p in zip(grid, mass, strict=True):
        for h, q in zip(grid, mass, strict=True) if across else ((0.0, 1.0),):
            y = off(g, h)
            if y > cap:
                bad += p * q
            else:
                good += p * q * math.exp(lam * y)
    true = 1 - (1 - bad) ** 40 + good**40
    rule = {"rule": "truncated", "lambda": "3/2", "cap": "1"}
    found = value(rules.bound(rule, u, None, Fraction(0), Fraction(2, 5)))
    upper = found[0] + found[1]
    assert true * 0.97 <= upper <= true * 1.1  # the rule of this test has an error of its own at the edge of A


@pytest.mark.heavy
@pytest.mark.parametrize("tilt", [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(0)]])
def test_inverted_tails_against_drawn_prompts(monkeypatch: pytest.MonkeyPatch, tilt: list[Fraction]) -> None:
    monkeypatch.setattr(recheck.intervals, "P", 96)
    wide, narrow = [["1/4", "0"], ["0", "1"]], [["1/4", "0"], ["0", "1/4"]]
    parts = [
        {"weight": "3/4", "law": {"kind": "gaussian", "mean": ["0", "0"], "covariance": narrow}},
        {"weight": "1/4", "law": {"kind": "gaussian", "mean": ["1", "1/2"], "covariance": wide}},
    ]
    rules = recheck.Tails(law(kind="mixture", components=parts), tilt, 40, (Fraction(1), 1), tilt)
    rule = {"rule": "inversion", "step": "1", "terms": "1"}
    middle, radius = value(rules.bound(rule, [Fraction(1), Fraction(1)], None, 0, Fraction(1, 4)))
    assert radius < 1e-7
    rng = np.random.default_rng(5)
    count = 100_000
    first = rng.random((count, 40)) < 0.75
    x = rng.normal(size=(count, 40, 2)) * [0.5, 1]
    x[..., 1] *= np.where(first, 0.5, 1)
    x += np.where(first, 0, 1)[..., None] * [1, 0.5]
    weights = np.exp(x @ [float(t) for t in tilt])
    output = (weights[..., None] * x).sum(axis=1).sum(axis=-1) / weights.sum(axis=1)
    seen = float((output > float(sum(value(t)[0] for t in rules.tau)) + 0.25).mean())
    assert abs(float(middle) - seen) < 4.5 * math.sqrt(seen * (1 - seen) / count)


def test_exact_tails_of_gaussian_means() -> None:
    tokens = law(kind="gaussian", mean=["0"], covariance=[["4"]])
    rules = recheck.Tails(tokens, [Fraction(0)], 25, (Fraction(1), 1), [Fraction(0)])
    found = rules.bound({"rule": "exact"}, [Fraction(1)], None, 0, Fraction(1))
    assert encloses(found, mpmath.erfc(mpmath.mpf(5) / 2 / mpmath.sqrt(2)) / 2)
    flat = recheck.Tails(law(kind="box", sizes=["0", "1"]), [Fraction(0)] * 2, 5, (Fraction(1), 1), [Fraction(0)] * 2)
    assert flat.bound({"rule": "exact"}, [Fraction(1), Fraction(0)], None, 0, Fraction(0)) == 0
    with pytest.raises(recheck.NotCovered):
        flat.bound({"rule": "exact"}, [Fraction(0), Fraction(1)], None, 0, Fraction(0))


def test_special_functions_by_value() -> None:
    draw = random.Random(7)
    for _ in range(60):
        x = Fraction(draw.randint(-(10**9), 10**9), 10**7)
        y = mpmath.mpf(x.numerator) / x.denominator
        c, s = recheck.turn(x)
        assert encloses(c, mpmath.cos(y))
        assert encloses(s, mpmath.sin(y))
        z = abs(x) / 20 + 1
        t = mpmath.mpf(z.numerator) / z.denominator
        assert encloses(recheck.mills(recheck.iv(z)), mpmath.exp(t**2 / 2) * mpmath.erfc(t / mpmath.sqrt(2)) / 2, 1e-9)
        r = Fraction(draw.randint(1, 10**6), 10**6)
        q = mpmath.mpf(r.numerator) / r.denominator
        tail = 2 / mpmath.pi * (mpmath.acos(q) - q * mpmath.sqrt(1 - q**2))
        assert encloses(recheck.quarter_tail(2 * r, recheck.iv(1)), tail)
        assert encloses(recheck.power(r, Fraction(7, 3)), q ** (mpmath.mpf(7) / 3))
        b = value(recheck.bayes(1 / r, r))[0]
        assert abs(b**4 + b**2 / q - q) < 1e-30
    assert value(recheck.quarter_tail(Fraction(3), recheck.iv(1)))[0] == 0
    shares = [Fraction(k, 10) for k in (1, 2, 3, 4)]
    assert encloses(
        recheck.entropy(shares), -sum(mpmath.mpf(k) / 10 * mpmath.log(mpmath.mpf(k) / 10) for k in (1, 2, 3, 4))
    )
    assert encloses(recheck.share_entropy([3 * x for x in shares], 4), value(recheck.entropy(shares))[0])


def test_more_moments_of_two_softmax_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recheck.intervals, "P", 96)
    found = recheck.collisions(Fraction(1), 2)
    density = lambda x: mpmath.exp(-(x**2) / 4) / mpmath.sqrt(4 * mpmath.pi)  # noqa: E731
    square = lambda x: mpmath.tanh(x / 2) ** 2  # noqa: E731
    for ks, f in (((3,), lambda t: (1 + 3 * t) / 4), ((2, 2), lambda t: ((1 + t) / 2) ** 2)):
        true = mpmath.quad(lambda x, f=f: density(x) * f(square(x)), [-40, -10, 0, 10, 40])
        assert encloses(found(*ks), true, 1e-14)


@pytest.mark.heavy
@pytest.mark.parametrize("order", [2, 4])
def test_moments_of_norms_of_two_tokens_against_quadrature(monkeypatch: pytest.MonkeyPatch, order: int) -> None:
    """d = 1: tau_2 - tau is normal given the difference x of the tokens, and C_2 = p (1 - p) x^2."""
    monkeypatch.setattr(recheck.intervals, "P", 192)
    variance, tilt = Fraction(3, 2), Fraction(2, 3)
    split = recheck.Split([[variance]], [tilt], Fraction(1))
    density = lambda x: mpmath.exp(-(x**2) / 6) / mpmath.sqrt(6 * mpmath.pi)  # noqa: E731
    share = lambda x: mpmath.tanh(x / 3)  # 2 p - 1  # noqa: E731
    moments = {2: lambda m: m**2 + 0.75, 4: lambda m: m**4 + 6 * m**2 * 0.75 + 3 * 0.75**2}
    for found, f in (
        (recheck.mean_moment, lambda x: moments[order](share(x) * x / 2 - 1) * 2**order),
        (recheck.covariance_moment, lambda x: (2 * ((1 - share(x) ** 2) / 4 * x**2 - 1.5)) ** order),
    ):
        true = mpmath.quad(lambda x, f=f: density(x) * f(x), [-40, -10, 0, 10, 40])
        assert encloses(found(split, [[Fraction(2)]], order, 2), true, 1e-9 * true)


@pytest.mark.parametrize("mean", ["0", "1/2"])
def test_means_over_queries_against_quadrature(monkeypatch: pytest.MonkeyPatch, mean: str) -> None:
    monkeypatch.setattr(recheck.intervals, "P", 96)
    given = dict.fromkeys(("K", "Q", "U", "V", "scale")) | {"queries": {"mean": [mean], "covariance": [["1/2"]]}}
    tokens, count = law(kind="gaussian", mean=["3"], covariance=[["1/3"]]), 50
    centre, third = mpmath.mpf(Fraction(mean).numerator) / Fraction(mean).denominator, mpmath.mpf(1) / 3
    with mpmath.workdps(30):
        true = mpmath.quad(
            lambda g: (third + ((centre + g / mpmath.sqrt(2)) * third) ** 2)
            / (1 + (count - 1) * mpmath.exp(-third * (centre + g / mpmath.sqrt(2)) ** 2)) * mpmath.npdf(g),
            [-12, -4, 0, 4, 12],
        )  # fmt: skip
    near = Fraction(int(true * 10**15), 10**15)
    # The bound is a number where it is stated, and an interval where a display gives it.
    for kind in (Fraction, recheck.intervals.iv):
        recheck.over_queries(given, tokens, count, None, kind(near * (1 + Fraction(1, 10**9))))
        with pytest.raises(recheck.NotProved):
            recheck.over_queries(given, tokens, count, None, kind(near * (1 - Fraction(1, 10**9))))


def test_singular_values_against_mpmath() -> None:
    draw = random.Random(3)
    for rows, columns in ((1, 1), (3, 5), (6, 4), (8, 8)):
        m = [[Fraction(draw.randint(-99, 99), 10) for _ in range(columns)] for _ in range(rows)]
        m[0] = [3 * x for x in m[-1]]  # a rank that falls short where there are two rows
        theirs = mpmath.svd_r(
            mpmath.matrix([[mpmath.mpf(x.numerator) / x.denominator for x in r] for r in m]), False, False
        )
        ours = recheck.singular(m)
        assert recheck.rank(m) == min(columns, max(rows - 1, 1))
        for x, true in zip(ours, sorted(theirs, reverse=True), strict=True):
            assert encloses(x, true, 1e-20 if true > 1e-9 else 1e-9) or abs(true) < 1e-20
    one = recheck.singular([[recheck.I(0, 1 << recheck.intervals.P)]])[0]  # of an interval all of it
    assert (one.a, one.b >= 1 << recheck.intervals.P) == (0, True)


@pytest.mark.parametrize("bits", [96, 1536])
def test_the_smallest_normal_number_is_not_rounded_away(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    # scores up to 2^-300 have errors of 2^-1022 beside them, which an upper bound counts at every precision
    monkeypatch.setattr(recheck.intervals, "P", bits)
    ours = recheck.KERNEL_EXPONENTIAL
    table = [recheck.nearest(Fraction(int(mpmath.mpf(2) ** (120 + mpmath.mpf(j) / 2048)), 2**120)) for j in range(2048)]
    found = value(recheck.exponential_error(ours, table, Fraction(11000), Fraction(0), recheck.log(2) / 2048))
    assert (
        mpmath.mpf("2.26355876042152e-16") - 1e-28 <= found[0] + found[1] <= mpmath.mpf("2.2635588e-16") + (bits == 96)
    )


def test_binary64_operations_and_the_kernels_constants() -> None:
    from certattn.fast import exponential

    draw = random.Random(11)
    for _ in range(2000):
        x, y = (math.ldexp(draw.uniform(-1, 1), draw.randint(-1070, 500)) for _ in range(2))
        assert recheck.nearest(Fraction(x) * Fraction(y)) == Fraction(x * y)
        assert recheck.nearest(Fraction(x) + Fraction(y)) == Fraction(x + y)
    ours = recheck.KERNEL_EXPONENTIAL
    theirs = {"L1": exponential.L1, "L2": exponential.L2, "inverse": exponential.INVERSE}
    theirs |= {"C2": exponential.C2, "C3": exponential.C3}
    assert ours == {k: Fraction(x) for k, x in theirs.items()}
    assert Fraction(exponential.SCORE_LIMIT) == recheck.KERNEL_SCORES
    assert Fraction(exponential.TAIL_LIMIT) == recheck.KERNEL_TAIL


def imported(source: str) -> set[str]:
    """The modules that a source names in its imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            found.add(node.module or "")
    return found


CHAPTERS = ("arithmetic", "attention", "prompts", "selection", "spectrum", "training")
OWN = {name.removesuffix(".py").replace("/", ".") for name in SOURCES}


def test_it_imports_the_standard_library_and_itself_alone() -> None:
    assert {top.split(".")[0] for top in OWN} & {*sys.stdlib_module_names} == set()
    for name, source in SOURCES.items():
        assert {x.split(".")[0] for x in imported(source) - OWN} <= {*sys.stdlib_module_names}, name


def test_a_chapter_can_be_read_without_the_others() -> None:
    """What two chapters need stands beside them, and knows none of them; the program alone knows all."""
    for name, source in SOURCES.items():
        chapter = name.removesuffix(".py").split("/")[0]
        others = {x.split(".")[0] for x in imported(source)} & {*CHAPTERS} - {chapter}
        assert not others or chapter == "program", name
    assert {name.removesuffix(".py").split("/")[0] for name in SOURCES} >= {*CHAPTERS}


def test_each_claim_stands_in_its_chapter() -> None:
    for name, function in recheck.CLAIMS.items():
        assert (GALLERY / function.__module__.split(".")[0] / name).is_dir(), name


def test_the_page_lists_what_is_covered() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[`([a-z0-9-]+)`\]\S* \| (\w+)", page, re.MULTILINE))
    assert set(rows) == set(CLAIMS) == set(recheck.KINDS)
    assert {name for name, word in rows.items() if word != "no"} == set(recheck.CLAIMS)
    assert f"{len(recheck.CLAIMS)} of {len(CLAIMS)} claims" in " ".join(page.split())


def test_every_function_has_a_docstring_and_the_parts_stay_as_long_as_the_page_says() -> None:
    for name, source in SOURCES.items():
        functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef)]
        assert not [n.name for n in functions if not n.name.startswith("__") and not ast.get_docstring(n)], name
    lengths = {name: len(source.splitlines()) for name, source in SOURCES.items()}
    total, longest = sum(lengths.values()), max(lengths.values())
    (said,) = re.findall(r"\*\*Length\.\*\* ([0-9,]+) lines in (\d+) files, none longer than (\d+)", PAGE.read_text())
    assert (math.ceil(total / 50) * 50, len(lengths)) == (int(said[0].replace(",", "")), int(said[1]))
    assert longest <= int(said[2])


# -- what it takes for a certificate, and for an array

VALUE = """\
certattn: 1
claim: softmax-mean
given: {keys: [[0], [1]], values: %s, queries: [[0]]}
asserts: {mean: {value: [[2]], radius: 0}}
"""


def entry(name: str, kind: str = "F64", offsets: str = "[0, 16]") -> bytes:
    return (f'{{"{name}": {{"dtype": "{kind}", "shape": [2, 1], "data_offsets": {offsets}}}}}').encode()


def packed(compression: int) -> bytes:
    held = io.BytesIO()
    np.save(held, np.array([[1.0], [3.0]]))
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", compression) as box:
        box.writestr("v.npy", held.getvalue())
    return whole.getvalue()


def tensors(header: bytes) -> bytes:
    return struct.pack("<Q", len(header)) + header + struct.pack("<2d", 1, 3)


@pytest.mark.parametrize(
    ("name", "data", "array", "rows", "status"),
    [
        ("deflated.npz", packed(zipfile.ZIP_DEFLATED), "v", "", 0),
        ("otherwise-compressed.npz", packed(zipfile.ZIP_LZMA), "v", "", 1),
        ("good.safetensors", tensors(entry("v")), "v", "", 0),
        ("some-rows.safetensors", tensors(entry("v")), "v", "0:2", 0),
        ("rows-with-zeros.safetensors", tensors(entry("v")), "v", "00:2", 1),
        ("notes.safetensors", tensors(entry("__metadata__")), "__metadata__", "", 1),
    ],
)
def test_an_array_file_that_the_kernel_refuses(
    name: str, data: bytes, array: str, rows: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    digest, more = hashlib.sha256(data).hexdigest(), f", rows: '{rows}'" if rows else ""
    fields = f"file: {name}, array: {array}, sha256: {digest}, dtype: float64, shape: [2, 1]{more}"
    (tmp_path / "cert.yaml").write_text(VALUE % f"{{{fields}}}")
    assert (
        subprocess.run([sys.executable, str(PROGRAM), tmp_path / "cert.yaml"], capture_output=True).returncode == status
    )
    kernel = certattn.check(tmp_path / "cert.yaml").verdict
    assert (kernel is certattn.Verdict.VERIFIED) == (status == 0)


def test_a_folder_means_what_it_means_to_certattn_check(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yml", ".hidden.yaml", ".folder/c.yaml", "d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(VALUE % "[[1], [3]]")
    (tmp_path / "folder.yaml").mkdir()
    done = subprocess.run([sys.executable, str(PROGRAM), "--json", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0
    assert [Path(one["path"]).name for one in json.loads(done.stdout)["certificates"]] == ["a.yaml", "b.yml"]
    empty = subprocess.run([sys.executable, str(PROGRAM), tmp_path / "folder.yaml"], capture_output=True, text=True)
    assert (empty.returncode, empty.stderr) == (
        2,
        f"recheck: no certificates (.yaml or .yml) in '{tmp_path}/folder.yaml'\n",
    )


def test_array_files_lie_below_the_certificate_or_a_root(tmp_path: Path) -> None:
    (tmp_path / "proofs").mkdir()
    np.save(tmp_path / "v.npy", np.array([[1.0], [3.0]]))
    digest = hashlib.sha256((tmp_path / "v.npy").read_bytes()).hexdigest()
    node = f"{{file: ../v.npy, sha256: {digest}, dtype: float64, shape: [2, 1]}}"
    (tmp_path / "proofs" / "a.yaml").write_text(VALUE % node)
    for root, status in ((tmp_path, 0), (tmp_path / "proofs", 1)):
        assert recheck.main(["--root", str(root), str(tmp_path / "proofs")]) == status
    assert recheck.main([str(tmp_path / "proofs")]) == 1


# -- what names a statement


def test_statements_have_the_digest_that_the_kernel_gives_them() -> None:
    for path in sorted(GALLERY.rglob("*.yaml")):
        assert recheck.digest(recheck.opened(path.read_bytes())) == certattn.load(path).digest, path


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.1", "1/10", True), ("0x1p-1", "5e-1", True), ("sqrt(4)", "2", True), ("1/sqrt(8)", "sqrt(1/8)", True),
        ("sqrt(2)", "2", False), ("-0", "0", True), ("sqrt(0)", "0", False), ("all", "ball", False),
        ("{file: a.npy, rows: 0:2, shape: [2]}", "{file: b/c.npy, shape: [2.0]}", True),
        ("{file: a.npy, rows: 0:2, shape: [3]}", "{file: a.npy, shape: [3]}", False),
        ("{file: a.npz, array: 1}", "{file: a.npz, array: 1.0}", False), ("{file: a.npy}", "{file: a.npz}", False),
        ("{a: 1, b: 2}", "{b: 2, a: 1}", True), ("[1, 2]", "[2, 1]", False), ("{file: [1]}", "{file: [1.0]}", True),
    ],
)  # fmt: skip
def test_what_counts_for_a_digest(one: str, other: str, same: bool) -> None:
    def both(value: str) -> set[str]:
        text = f"certattn: 1\nclaim: max-margin\ngiven: {{x: {value}}}\nasserts: {{}}\n"
        tree = parse_tree(text, "a.yaml", DEFAULT_LIMITS)
        return {recheck.digest(recheck.opened(text.encode())), statement_digest(tree.plain())}

    first, second = both(one), both(other)
    assert len(first) == len(second) == 1
    assert (first == second) == same


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), tmp_path / "pipe.yaml"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "no regular file" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seconds", "abc", "x"], "'--seconds': a number from 1 to 999999 belongs behind it"),
        (["nowhere.yaml"], "'nowhere.yaml': no file, folder or option"),
        (["--fast"], "'--fast': no file, folder or option"),
        (["--root", "nowhere", "x"], "'--root': a folder belongs behind it"),
        (["--sha256", "abc", "x"], "'--sha256': a hash belongs behind it"),
    ],
)
def test_wrong_usage_is_said(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "python tools/recheck " in done.stderr
    assert "Exit status" in subprocess.run([sys.executable, str(PROGRAM), "-h"], capture_output=True, text=True).stdout


def test_a_mask_is_not_ignored(tmp_path: Path) -> None:
    """Singular values of a triangle, by 50 digits of mpmath in `singular_cases`; neither whole nor less 11'/d."""
    text = """
certattn: 1
claim: singular-values
given: {queries: [[1, 0], [0, 1], [1, -1]], keys: [[1, 2], [1/2, 0], [-1, 1]], scale: 1/sqrt(2), MASK centred: true}
asserts: {values: {value: [0.9600568627793, 0.3637989596711, 0], radius: 1e-12}}
"""
    for mask, found in (("causal: true,", "verified"), ("causal: false,", "not proved"), ("", "not proved")):
        (tmp_path / "c.yaml").write_text(text.lstrip().replace("MASK", mask))
        assert verdict(tmp_path / "c.yaml") == found
    for wrong in ("causal: yes,", "causal: 1,"):
        (tmp_path / "c.yaml").write_text(text.lstrip().replace("MASK", wrong))
        assert verdict(tmp_path / "c.yaml") == "rejected"


# -- floats, by their bits


def by_definition(word: int, exponent_bits: int, fraction_bits: int) -> Fraction | None:
    """The number that the standard gives to the bits, IEEE 754-2019, 3.4; None for what is not finite."""
    sign = -1 if word >> (exponent_bits + fraction_bits) else 1
    biased, fraction = divmod(word % 2 ** (exponent_bits + fraction_bits), 2**fraction_bits)
    bias = 2 ** (exponent_bits - 1) - 1
    if biased == 2**exponent_bits - 1:
        return None
    if biased == 0:
        return sign * Fraction(2) ** (1 - bias) * Fraction(fraction, 2**fraction_bits)
    return sign * Fraction(2) ** (biased - bias) * (1 + Fraction(fraction, 2**fraction_bits))


FORMS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}


def words(dtype: str) -> list[int]:
    """All bits of the short types; of the long ones those around every place where something changes."""
    exponent_bits, fraction_bits = FORMS[dtype]
    size = 1 + exponent_bits + fraction_bits
    if size == 16:
        return list(range(2**16))
    edges = {0, 1, 2**fraction_bits, (2**exponent_bits - 1) << fraction_bits, 2 ** (size - 1) - 1}
    edges |= {biased << fraction_bits for biased in range(2**exponent_bits)} | {2**k for k in range(size)}
    edges |= {edge + step for edge in edges for step in (-2, -1, 1, 2)} | {random.Random(1).getrandbits(size)}
    near = {edge % 2 ** (size - 1) for edge in edges}
    return sorted(near | {edge + 2 ** (size - 1) for edge in near})


@pytest.mark.parametrize("dtype", FORMS)
def test_floats_are_what_the_standard_says_of_their_bits(dtype: str) -> None:
    exponent_bits, fraction_bits = FORMS[dtype]
    size = (1 + exponent_bits + fraction_bits) // 8
    for word in words(dtype):
        raw, true = word.to_bytes(size, "little"), by_definition(word, exponent_bits, fraction_bits)
        if true is None:
            with pytest.raises(recheck.Rejected, match="NaN or infinity"):
                recheck.unpack(raw, dtype, 1, "x")
        else:
            assert recheck.unpack(raw, dtype, 1, "x") == [true]


@pytest.mark.parametrize(
    ("dtype", "raw", "value"),
    [
        ("float16", b"\x01\x00", Fraction(1, 2**24)),
        ("float16", b"\xff\x7b", Fraction(65504)),
        ("bfloat16", b"\x01\x00", Fraction(1, 2**133)),
        ("bfloat16", b"\x80\xbf", Fraction(-1)),
        ("float32", b"\x01\x00\x00\x00", Fraction(1, 2**149)),
        ("float32", b"\xff\xff\x7f\x00", Fraction(2**23 - 1, 2**149)),
        ("float32", b"\x00\x00\x80\x00", Fraction(1, 2**126)),
        ("float32", b"\x00\x00\x00\x80", Fraction(0)),
        ("float64", b"\x01\0\0\0\0\0\0\0", Fraction(1, 2**1074)),
        ("float64", b"\xff\xff\xff\xff\xff\xff\x0f\x80", -Fraction(2**52 - 1, 2**1074)),
        ("float64", b"\xff\xff\xff\xff\xff\xff\xef\x7f", Fraction((2**53 - 1) * 2**971)),
        ("float64", b"\x9a\x99\x99\x99\x99\x99\xb9\x3f", Fraction(3602879701896397, 2**55)),
        ("int8", b"\x80", Fraction(-128)),
        ("uint8", b"\x80", Fraction(128)),
        ("int64", b"\xff\xff\xff\xff\xff\xff\xff\x7f", Fraction(2**63 - 1)),
        ("uint64", b"\xff" * 8, Fraction(2**64 - 1)),
    ],
)
def test_numbers_of_array_files_by_hand(dtype: str, raw: bytes, value: Fraction) -> None:
    assert recheck.unpack(raw, dtype, 1, "x") == [value]


def test_no_float_stands_between_a_file_and_its_numbers() -> None:
    """Nothing in what reads documents and arrays makes a float, and no module that unpacks them is imported."""
    trees = [ast.parse(SOURCES[name]) for name in ("scalars.py", "documents.py", "fields.py", "arrays.py")]
    for node in (node for tree in trees for node in ast.walk(tree)):
        assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
        assert not (isinstance(node, ast.Name) and node.id == "float")
        # The one division is of paths.
        assert (
            not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)) or ast.unparse(node) == "folder / name"
        )
    everywhere = {name for source in SOURCES.values() for name in imported(source)}
    assert not everywhere & {"struct", "array", "ctypes", "numpy"}


# -- statements that were other ones to the kernel


def tokens_named(folder: Path, **arrays: Any) -> str:
    np.savez(folder / "a.npz", **arrays)
    return hashlib.sha256((folder / "a.npz").read_bytes()).hexdigest()


@pytest.mark.parametrize("lines", ['"x\n#q\ny"', '"x\n\ny"', "'x\n  # q\n  y'", "x\n  #q\n  y", "x\n  y"])
def test_a_name_over_several_lines_names_nothing(lines: str, tmp_path: Path) -> None:
    """The kernel once read `x #q y`, whose mean is 2, and this checker `x y`, whose mean is 3."""
    digest = tokens_named(tmp_path, **{"x y": np.array([[2.0], [4.0]]), "x #q y": np.array([[1.0], [3.0]])})
    reference = f"\n    file: a.npz\n    array: NAME\n    sha256: {digest}\n    dtype: float64\n    shape: [2, 1]"
    text = (VALUE % reference).replace("given: {keys: [[0], [1]], values: ", "given:\n  values:")
    text = text.replace(", queries: [[0]]}", "\n  keys: [[0], [1]]\n  queries: [[0]]").replace("[[2]]", "[[3]]")
    (tmp_path / "c.yaml").write_text(text.replace("NAME", "'x y'"))
    assert verdict(tmp_path / "c.yaml") == "verified"
    assert certattn.check(tmp_path / "c.yaml").verdict is certattn.Verdict.VERIFIED
    (tmp_path / "c.yaml").write_text(text.replace("NAME", lines))
    assert verdict(tmp_path / "c.yaml") == "rejected"
    assert certattn.check(tmp_path / "c.yaml").verdict is certattn.Verdict.MALFORMED


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (1, 1, 2)])
def test_only_a_vector_is_a_vector(shape: tuple[int, ...], tmp_path: Path) -> None:
    digest = tokens_named(tmp_path, s=np.array([1.0, 2.0]).reshape(shape), v=np.array([1.0, 2.0]))
    text = """certattn: 1
claim: infinite-prompt-operator
given:
  law:
    kind: rademacher
    sizes: {file: a.npz, array: NAME, sha256: DIGEST, dtype: float64, shape: SHAPE}
asserts: {values: [{query: [1e9, -1e9], value: [1, -2], radius: 1e-20}]}
""".replace("DIGEST", digest)
    path = tmp_path / "c.yaml"
    path.write_text(text.replace("NAME", "v").replace("SHAPE", "[2]"))
    assert verdict(path) == "verified"
    path.write_text(text.replace("NAME", "s").replace("SHAPE", str(list(shape))))
    assert verdict(path) == "rejected"
    assert certattn.check(path).verdict is certattn.Verdict.MALFORMED


def test_a_link_is_read_as_its_name_says(tmp_path: Path) -> None:
    """A name that ends in .npy is that of a .npy file to both readers, whatever the file is called that it leads to."""
    np.save(tmp_path / "a.npy", np.array([[1.0], [3.0]]))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    (tmp_path / "link.npy").symlink_to("a.npz")
    digest = hashlib.sha256((tmp_path / "a.npz").read_bytes()).hexdigest()
    for name, status in (("link.npy", "verified"), ("a.npz", "rejected")):
        fields = f"file: {name}, sha256: {digest}, dtype: float64, shape: [2, 1]"
        (tmp_path / "c.yaml").write_text(VALUE % f"{{{fields}}}")
        assert verdict(tmp_path / "c.yaml") == status
        kernel = certattn.check(tmp_path / "c.yaml").verdict
        assert (kernel is certattn.Verdict.VERIFIED) == (status == "verified")


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".npy"])
def test_broken_array_files_are_rejected_and_nothing_worse(suffix: str, tmp_path: Path) -> None:
    data = bytearray(packed(zipfile.ZIP_DEFLATED) if suffix == ".npz" else tensors(entry("v")))
    if suffix == ".npy":
        np.save(tmp_path / "v.npy", np.array([[1.0], [3.0]]))
        data = bytearray((tmp_path / "v.npy").read_bytes())
    for at in range(0, len(data), 3):
        changed = bytes(data[:at]) + bytes([data[at] ^ 0x5A]) + bytes(data[at + 1 :])
        (tmp_path / f"a{suffix}").write_bytes(changed)
        digest = hashlib.sha256(changed).hexdigest()
        name = "" if suffix == ".npy" else "array: v, "
        fields = f"file: a{suffix}, {name}sha256: {digest}, dtype: float64, shape: [2, 1]"
        (tmp_path / "c.yaml").write_text(VALUE % f"{{{fields}}}")
        assert verdict(tmp_path / "c.yaml") in ("rejected", "not proved", "verified", "not covered")


def test_numbers_are_read_whatever_the_limit_of_digits_is(tmp_path: Path) -> None:
    """Python's limit for turning texts into integers is 4300 digits, or 0, or what somebody has set."""
    long = "0." + "0" * 5000
    (tmp_path / "c.yaml").write_text(VALUE.replace("radius: 0", f"radius: {long}") % "[[1], [3]]")
    sys.set_int_max_str_digits(4300)
    try:
        assert verdict(tmp_path / "c.yaml") == "verified"
    finally:
        sys.set_int_max_str_digits(4300)
