"""`certattn plot`, and the table from claims to pictures."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certattn import CLAIMS
from certattn.provers.plots import PICTURES

GALLERY = Path(__file__).resolve().parent.parent.parent / "certificates"
QUICK = {
    "max-margin": "single-input",
    "output-deviation": "gaussian-prompt",
    "regularization-path": "two-inputs-linear-1",
    "selection-direction": "local-normalised",
}


@pytest.mark.parametrize("claim", QUICK)
def test_a_picture_of_a_claim(certattn_run: Any, folder: Path, claim: str) -> None:
    done = certattn_run("plot", GALLERY / claim / f"{QUICK[claim]}.yaml", "-o", "picture.svg")
    assert (done.status, done.out) == (0, "drew picture.svg; nothing is checked by that\n")
    assert "</svg>" in (folder / "picture.svg").read_text()


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")])
def test_the_ending_says_the_format(certattn_run: Any, folder: Path, name: str, begins: bytes) -> None:
    assert certattn_run("plot", GALLERY / "max-margin" / "single-input.yaml", "-o", name).status == 0
    assert (folder / name).read_bytes().startswith(begins)


def test_every_picture_is_of_a_claim_and_can_be_drawn() -> None:
    assert set(PICTURES) <= set(CLAIMS)
    for module, words in PICTURES.values():
        assert callable(importlib.import_module(f"certattn.provers.{module}").draw_certificate)
        assert words


def test_a_claim_without_a_picture(certattn_run: Any, write: Callable[..., Path]) -> None:
    done = certattn_run("plot", write("verified"), "-o", "a.svg")
    assert done.status == 2
    assert "infinite-prompt-operator has no picture; there is one for descent-trajectory, " in done.err


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        ("max-margin/drawn-d16", "a figure shows the plane; these points have 16 entries"),
        ("max-margin/not-separable", "a figure shows an exact solution; this certificate states none"),
        ("output-deviation/gaussian-prompt-ball", "a figure shows listed queries"),
        ("regularization-path/random", "a figure shows keys in two dimensions"),
    ],
)
def test_a_statement_without_a_picture(certattn_run: Any, certificate: str, message: str) -> None:
    done = certattn_run("plot", GALLERY / f"{certificate}.yaml", "-o", "a.svg")
    assert done.status == 2
    assert message in done.err


def test_another_ending(certattn_run: Any) -> None:
    done = certattn_run("plot", GALLERY / "max-margin" / "single-input.yaml", "-o", "a.jpg")
    assert done.status == 2
    assert "a figure ends in .svg, .png, .pdf" in done.err


def test_a_file_that_is_no_certificate(certattn_run: Any, write: Callable[..., Path]) -> None:
    assert certattn_run("plot", write("malformed"), "-o", "a.svg").status == 2


def test_matplotlib_is_missing(certattn_run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = certattn_run("plot", GALLERY / "max-margin" / "single-input.yaml", "-o", "a.svg")
    assert done.status == 2
    assert "a figure needs matplotlib: pip install 'certattn[plot]'" in done.err


def test_the_page_lists_every_picture() -> None:
    page = (GALLERY.parent / "docs" / "report.md").read_text()
    for claim, (_, words) in PICTURES.items():
        assert f"| `{claim}` | {words} |" in page
