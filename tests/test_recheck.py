"""The second checker, tools/recheck.py: what it proves, what it must not, and its functions against mpmath."""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath
import pytest

from certattn.kernel.checker import CLAIMS

ROOT = Path(__file__).parents[1]
SOURCE, PAGE, GALLERY = ROOT / "tools/recheck.py", ROOT / "docs/second-checker.md", ROOT / "certificates"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recheck", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["recheck"] = module
    spec.loader.exec_module(module)
    return module


recheck = load()

# A certificate of every kind that is covered, a text in it, and what makes it a false statement or a false proof.
CHANGES = [
    ("descent-trajectory/signs-regression.yaml", "step: 1/20", "step: 1/19"),
    ("equivalent-law/narrow-gap.yaml", "0.917726613228703", "0.917726613228705"),
    ("equivalent-law/closing.yaml", "value: 192513408", "value: 192513409"),
    ("finite-moments/size-100.yaml", "at_most: 0.234926", "at_most: 0.234925"),
    ("finite-moments/smallest-4.yaml", "within: 0.05\n", "within: 0.0495\n"),
    ("gradient-mean-square/mixture.yaml", "at_most: 0.0", "at_most: 0.00"),
    ("gradient-mean-square/gaussian-singular.yaml", "at_most: 0.", "at_most: 0.0"),
    ("gradient-tail/atoms.yaml", "probability: 0.001", "probability: 0.0005"),
    ("infinite-prompt-operator/gaussian-d1.yaml", "[-3]", "[-4]"),
    ("infinite-prompt-operator/rademacher.yaml", "0.761594155955765", "0.761594155955767"),
    ("joint-max-margin/tight.yaml", "drop: 0.", "drop: 1."),
    ("max-margin/three-inputs.yaml", "4/3", "1.3333333333333333"),
    ("normalizer-bound/cool-1000.yaml", "0.0001428", "0.0001427"),
    ("not-marchenko-pastur/rational.yaml", "value: ", "value: 1"),
    ("output-deviation/gaussian-prompt.yaml", "at_most: 1.19161", "at_most: 1.19160"),
    ("output-mean-square/mixture.yaml", "at_most: 0.0", "at_most: 0.00"),
    ("output-tail/rademacher.yaml", "probability: 0.001", "probability: 0.0009"),
    ("proposition-3-1/published.yaml", "fails", "holds"),
    ("proposition-3-1/repaired-gaussian.yaml", "1.11095", "1.11094"),
    ("proposition-3-4/repaired-gaussian-u.yaml", "9.22213", "9.22212"),
    ("regression-risk/plane-start.yaml", "0.5903625", "0.5903626"),
    ("regularization-path/single-input.yaml", "0.98225", "0.98230"),
    ("selection-on-a-head/authors-keys.yaml", "at_least: 0.578", "at_least: 0.579"),
    ("softmax-mean/three-tokens.yaml", "3.81e-13", "3.80e-13"),
    ("softmax-mean/three-tokens.yaml", "at_least: 0.0598920245448", "at_least: 0.0598920245449"),
    ("token-optimality/two-inputs.yaml", "multiplier: 1\n", "multiplier: 2\n"),
    ("universality-bound/random-cool-1000.yaml", "0.01123", "0.01122"),
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


@pytest.mark.parametrize("name", sorted({name for name, _, _ in CHANGES}))
def test_the_gallery_is_verified(name: str) -> None:
    assert recheck.check(GALLERY / name, 60)[0] == "verified"


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_a_false_neighbour_is_not_verified(tmp_path: Path, name: str, old: str, new: str) -> None:
    assert verdict(altered(tmp_path, name, lambda text: text.replace(old, new, 1))) == "not proved"


PLAIN = "softmax-mean/three-tokens.yaml"
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
    name = "softmax-mean/gaussian-prompt.yaml"
    assert verdict(altered(tmp_path, name, lambda text: text.replace(old, new, 1))) == "rejected"


def test_what_is_not_covered_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert recheck.main([str(GALLERY / "singular-values/plane.yaml")]) == 3
    assert "singular-values" in capsys.readouterr().out


def test_exit_statuses_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recheck.main([]) == 2
    assert recheck.main(["--no-such-option"]) == 2
    assert recheck.main([str(GALLERY / "normalizer-bound"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["verified"] == len(found["certificates"]) == 4
    assert recheck.main([str(altered(tmp_path, PLAIN, BROKEN["NaN"]))]) == 1


@pytest.mark.parametrize("bits", [96, 384])
def test_functions_enclose_those_of_mpmath(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    monkeypatch.setattr(recheck, "P", bits)
    draw = random.Random(bits)
    functions: dict[str, tuple[Any, Any, int]] = {
        "exp": (recheck.exp, mpmath.exp, 4000),
        "log": (lambda x: recheck.log(abs(x)), lambda x: mpmath.log(abs(x)), 500),
        "root": (lambda x: recheck.root(abs(x)), lambda x: mpmath.sqrt(abs(x)), 1000),
        "tanh": (recheck.tanh, mpmath.tanh, 1000),
        "cosh": (recheck.cosh, mpmath.cosh, 1000),
        "sinhc": (recheck.sinhc, lambda x: mpmath.sinh(x) / x, 500),
        "langevin": (recheck.langevin, lambda x: mpmath.coth(x) - 1 / x, 500),
        "upper": (recheck.upper, lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2, 500),
        "arctan": (recheck.arctan, mpmath.atan, 500),
        "odd moment": (
            lambda x: recheck.raw_moments("box", x, 1)[1],
            lambda x: (mpmath.cosh(x) - mpmath.sinh(x) / x) / x,
            500,
        ),
    }
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
    assert abs(mpmath.mpf(found.a) / 2**recheck.P - true) < 1e-12
    assert found.b - found.a < 2 ** (recheck.P - 60)


def test_it_imports_the_standard_library_alone() -> None:
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= {*sys.stdlib_module_names}


def test_the_page_lists_what_is_covered() -> None:
    rows = dict(re.findall(r"^\| \[`([a-z0-9-]+)`\]\S* \| (\w+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert set(rows) == set(CLAIMS) == set(recheck.KINDS)
    assert {name for name, word in rows.items() if word != "no"} == set(recheck.CLAIMS)


def test_every_function_has_a_docstring_and_the_file_stays_as_long_as_the_page_says() -> None:
    source = SOURCE.read_text(encoding="utf-8")
    functions = [
        n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef) and not n.name.startswith("__")
    ]
    assert not [n.name for n in functions if not ast.get_docstring(n)]
    assert len(source.splitlines()) <= 4250
