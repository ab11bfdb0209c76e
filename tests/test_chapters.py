"""A claim has one chapter, the same in every room."""

from __future__ import annotations

from pathlib import Path

import pytest

from certattn.kernel.decide.checker import CLAIMS
from certattn.kernel.theorems import CHAPTER_OF, CHAPTERS
from certattn.provers import PROVERS
from certattn.theory import DERIVATIONS

ROOT = Path(__file__).resolve().parent.parent
# Rooms with a folder for each chapter, and what a claim is called there.
ROOMS = {
    "certattn/provers": "{module}.py",
    "certattn/theory": "{claim}.yaml",
    "certattn/report/codes/obligations": "{claim}.yaml",
    "certificates": "{claim}",
    "docs/claims": "{claim}.md",
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_has_the_same_chapter_everywhere(claim: str) -> None:
    for room, name in ROOMS.items():
        name = name.format(claim=claim, module=claim.replace("-", "_"))
        assert [path.parent.name for path in (ROOT / room).rglob(name)] == [CHAPTER_OF[claim]], room


def test_the_tables_name_the_modules_of_the_chapters() -> None:
    assert set(PROVERS) == set(DERIVATIONS) == set(CLAIMS) == set(CHAPTER_OF)
    assert {name: claim.name for name, claim in CLAIMS.items()} == {name: name for name in CLAIMS}
    for claim, generate in PROVERS.items():
        assert generate.__module__ == f"certattn.provers.{CHAPTER_OF[claim]}.{claim.replace('-', '_')}"


@pytest.mark.parametrize("room", ROOMS)
def test_there_are_no_other_chapters(room: str) -> None:
    folders = {path.name for path in (ROOT / room).iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(CHAPTERS)
