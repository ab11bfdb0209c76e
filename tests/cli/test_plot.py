"""`certattn plot`, and the table from claims to pictures."""

from __future__ import annotations

import ast
import importlib
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from certattn import CLAIMS
from certattn.kernel.document.certificate import load
from certattn.provers import figures
from certattn.provers.plots import PICTURES, as_svg

GALLERY = Path(__file__).resolve().parent.parent.parent / "certificates"
QUICK = {
    "max-margin": "single-input",
    "output-deviation": "gaussian-prompt",
    "regularization-path": "two-inputs-linear-1",
    "selection-direction": "local-normalised",
}


@pytest.mark.parametrize("claim", QUICK)
def test_a_picture_of_a_claim(certattn_run: Any, folder: Path, claim: str) -> None:
    done = certattn_run("plot", next(GALLERY.glob(f"*/{claim}/{QUICK[claim]}.yaml")), "-o", "picture.svg")
    assert (done.status, done.out) == (0, "drew picture.svg; a picture is not a proof\n")
    assert "</svg>" in (folder / "picture.svg").read_text()


def words_of(picture: Path) -> str:
    """What is written in a picture that was drawn with its letters as text."""
    return " ".join(element.text or "" for element in ElementTree.parse(picture).iter() if element.tag.endswith("text"))


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures with their letters as text."""
    monkeypatch.setitem(figures._SETTINGS, "svg.fonttype", "none")


def copy_of(folder: Path, old: str = "", new: str = "") -> Path:
    text = (GALLERY / "attention" / "output-deviation" / "gaussian-prompt.yaml").read_text()
    assert old in text
    shutil.copytree(GALLERY / "attention" / "output-deviation" / "data", folder / "data")
    (folder / "cert.yaml").write_text(text.replace(old, new))
    return folder / "cert.yaml"


@pytest.mark.usefixtures("letters")
def test_what_was_not_checked_is_stated_and_the_picture_says_so(certattn_run: Any, folder: Path) -> None:
    assert certattn_run("plot", copy_of(folder), "-o", "a.svg").status == 0
    words = words_of(folder / "a.svg")
    assert "stated: every query at most" in words
    assert "certified" not in words
    assert figures.UNCHECKED in words


@pytest.mark.usefixtures("letters")
def test_what_was_checked_is_certified(certattn_run: Any, folder: Path) -> None:
    done = certattn_run("plot", copy_of(folder), "--check", "-o", "a.svg")
    assert (done.status, done.out) == (0, "verified, and drew a.svg\n")
    words = words_of(folder / "a.svg")
    assert "certified: every query at most" in words
    assert figures.UNCHECKED not in words
    assert figures.CHECKED in words


def test_what_is_not_verified_is_not_drawn_as_checked(certattn_run: Any, folder: Path) -> None:
    path = copy_of(folder)
    path.write_text(re.sub("at_most: .*", "at_most: 1e-9", path.read_text(), count=1))
    done = certattn_run("plot", path, "--check", "-o", "a.svg")
    assert done.status == 1
    assert done.out.startswith("refuted  ")
    assert not (folder / "a.svg").exists()


def test_no_picture_calls_anything_certified_by_itself() -> None:
    """`standing` alone knows whether what is drawn was verified."""
    for path in Path(figures.__file__).parent.rglob("*.py"):
        if "draw_certificate" not in path.read_text() or path.name == "plots.py":
            continue
        tree = ast.parse(path.read_text())
        docstrings = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert "certified" not in node.value, f"{path.name}:{node.lineno}"


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")])
def test_the_ending_says_the_format(certattn_run: Any, folder: Path, name: str, begins: bytes) -> None:
    assert certattn_run("plot", GALLERY / "selection" / "max-margin" / "single-input.yaml", "-o", name).status == 0
    assert (folder / name).read_bytes().startswith(begins)


def test_every_picture_is_of_a_claim_and_can_be_drawn() -> None:
    assert set(PICTURES) == set(CLAIMS)
    for module, words in PICTURES.values():
        assert callable(importlib.import_module(f"certattn.provers.{module}").draw_certificate)
        assert words


# Quick ones, by claim.
EACH = {
    "attention-error": "two-tokens", "binary64-exponential": "exponential", "cache-error": "three-tokens",
    "causal-law": "quarter",
    "descent-trajectory": "plane", "equivalent-law": "square", "finite-moments": "size-100",
    "full-batch-descent": "line",
    "flow-trajectory": "isotropic", "gradient-mean-square": "box", "gradient-tail": "box",
    "held-out-risk": "two-lengths",
    "infinite-prompt-operator": "atoms", "joint-max-margin": "random-relaxed", "linearization": "three-tokens",
    "max-margin": "drawn-d16", "normalizer-bound": "warm-1000", "not-marchenko-pastur": "cool",
    "output-deviation": "gaussian-prompt", "output-mean-square": "queries-onwards", "output-tail": "box",
    "proposition-3-1": "repaired-box", "proposition-3-4": "repaired-box-v", "regression-risk": "small-start",
    "regularization-path": "random", "risk-gap": "logistic-d2", "risk-transfer": "line-large-b",
    "selection-basins": "two-inputs", "selection-counterexample": "from-afar",
    "selection-direction": "seven-tokens-space",
    "selection-on-a-head": "authors-keys", "singular-values": "plane", "softmax-mean": "three-tokens",
    "spectral-distance": "three-tokens-truncated", "stochastic-descent": "line-four-steps",
    "theorem-4-3": "flow-bounded", "token-optimality": "middle-token",
    "training-convergence": "small-outside", "typical-prompt": "gaussian-prompt-direction",
    "observed-prompt": "signs-1000", "universality-bound": "queries-3", "attention-spectrum": "cool-10000",
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("claim", CLAIMS)
def test_every_claim_has_a_picture_that_is_small(claim: str) -> None:
    certificate = load(next(GALLERY.glob(f"*/{claim}/{EACH[claim]}.yaml")))
    picture = as_svg(certificate)
    assert 5_000 < len(picture) < 100_000
    assert picture == as_svg(certificate)


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        ("selection/max-margin/not-separable", "a figure shows an exact solution; this certificate states none"),
        ("attention/output-deviation/gaussian-prompt-ball", "a figure shows listed queries"),
        ("attention/cache-error/int8-ball", "a figure shows the error at each query"),
        ("prompts/proposition-3-1/published", "a figure shows a repaired form"),
        ("selection/selection-direction/toy-every-start", "a figure shows runs from a point or a box"),
    ],
)
def test_a_statement_without_a_picture(certattn_run: Any, certificate: str, message: str) -> None:
    done = certattn_run("plot", GALLERY / f"{certificate}.yaml", "-o", "a.svg")
    assert done.status == 2
    assert message in done.err


def test_another_ending(certattn_run: Any) -> None:
    done = certattn_run("plot", GALLERY / "selection" / "max-margin" / "single-input.yaml", "-o", "a.jpg")
    assert done.status == 2
    assert "a figure ends in .svg, .png, .pdf" in done.err


def test_a_file_that_is_no_certificate(certattn_run: Any, write: Callable[..., Path]) -> None:
    assert certattn_run("plot", write("malformed"), "-o", "a.svg").status == 2


def test_matplotlib_is_missing(certattn_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = certattn_run("plot", GALLERY / "selection" / "max-margin" / "single-input.yaml", "-o", "a.svg")
    assert done.status == 2
    assert "figures need matplotlib: pip install matplotlib" in done.err
