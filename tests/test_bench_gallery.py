"""What checking the gallery takes: the tool, and what the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
Tool = Callable[[str], ModuleType]
# A minute on two processors; on slow ones the same gallery takes twice as long.
MOST_SECONDS = 160


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A gallery of two families with a certificate each."""
    families = ("prompts/infinite-prompt-operator", "gaussian-d1"), ("selection/max-margin", "single-input")
    for family, name in families:
        (tmp_path / family).mkdir(parents=True)
        shutil.copy(ROOT / "certificates" / family / f"{name}.yaml", tmp_path / family)
    return tmp_path


@pytest.mark.heavy
def test_the_tables_have_every_family_and_certificate(tool: Tool, small: Path) -> None:
    shown = tool("bench.gallery").tables(small, 5)
    rows = re.findall(r"^\| (?:`([^`]+)`|all of 2, in one command) .*?([\d.]+) \|$", shown, re.MULTILINE)
    names = {"", "infinite-prompt-operator", "max-margin"}
    names |= {"prompts/infinite-prompt-operator/gaussian-d1.yaml", "selection/max-margin/single-input.yaml"}
    assert {name for name, _ in rows} == names
    assert all(0 < float(seconds) < 10 for _, seconds in rows)


def test_a_gallery_that_does_not_verify_is_not_measured(tool: Tool, small: Path) -> None:
    path = small / "prompts" / "infinite-prompt-operator" / "gaussian-d1.yaml"
    path.write_text(path.read_text().replace("certattn: 1", "certattn: 2"))
    with pytest.raises(subprocess.CalledProcessError):
        tool("bench.gallery").tables(small, 5)


def test_the_gallery_takes_a_minute_on_two_processors() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    (said,) = re.findall(r"^\| all of (\d+), in one command \| (\d+) \| ([\d.]+) \|$", page, re.MULTILINE)
    families = [path for path in (ROOT / "certificates").glob("*/*") if path.is_dir()]
    assert int(said[0]) == len(families)
    assert float(said[2]) < MOST_SECONDS
