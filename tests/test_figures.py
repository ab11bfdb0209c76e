"""The figures of the house: counted by hand for a small one, whose modules lie where those of this one do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import certattn

ROOT = Path(__file__).resolve().parent.parent

RULES = "certattn/kernel/theorems/prompts/output_tail/rules.py"
HOUSE = {
    "pyproject.toml": """
[[tool.importlinter.contracts]]
type = "layers"
containers = ["certattn"]
layers = ["cli", "_api", "report | statements", "kernel"]
""",
    "certattn/__init__.py": "from certattn._api import check\n",
    "certattn/__main__.py": "",
    "certattn/_api.py": """
from certattn.kernel.decide import search
from certattn.statements import words

def check(path):
    from certattn.isolation import worker
""",
    "certattn/kernel/__init__.py": '"""Nothing but words."""\n',
    "certattn/kernel/decide/__init__.py": "",
    "certattn/kernel/decide/search.py": """
import typing
if typing.TYPE_CHECKING:
    from certattn.kernel.mathematics import unseen
from ..document import schema
""",
    "certattn/kernel/document/schema.py": "from certattn.kernel.theorems import output_tail_is_no_claim\n",
    "certattn/kernel/theorems/__init__.py": "TABLE = 1\n",
    "certattn/kernel/theorems/output_tail_is_no_claim.py": "X = 1\n",
    "certattn/kernel/mathematics/balls.py": "def f():\n    from certattn.fast import double\n",
    "certattn/kernel/mathematics/unseen.py": "X = 1\n",
    "certattn/kernel/theorems/selection/max_margin.py": "from certattn.kernel.mathematics.balls import f\n",
    "certattn/kernel/theorems/prompts/output_tail/__init__.py": "from . import rules\n",
    RULES: "X = 1\nY = 2\n",
    "certattn/fast/double.py": "X = 1\nY = 2\nZ = 3\n",
    "certattn/isolation/worker.py": "import os\n",
    "certattn/statements/words.py": "X = 1\n",
    "certattn/cli/main.py": "from certattn import _api\n",
    "certificates/selection/max-margin/a.yaml": "certattn: 1\nclaim: max-margin\n",
    "certificates/prompts/output-tail/a.yaml": "certattn: 1\nclaim: output-tail\n",
    "certificates/attention/output-deviation/layer0-head6.yaml": "claim: max-margin\n",
    "certificates/attention/infinite-prompt-operator/gaussian-d1.yaml": "claim: max-margin\n",
}
DECIDING = ["certattn.kernel.decide.search", "certattn.kernel.document.schema", "certattn.kernel.theorems",
            "certattn.kernel.theorems.output_tail_is_no_claim"]  # fmt: skip


@pytest.fixture(scope="module")
def figures(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("figures")


@pytest.fixture(scope="module")
def here(figures: ModuleType) -> Any:
    """This house."""
    return figures.House(ROOT)


def _house(figures: ModuleType, folder: Path, **more: str) -> Any:
    for name, text in {**HOUSE, **more}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return figures.House(folder)


def _values(part: Any) -> dict[str, float]:
    return {figure.title: figure.value for figure in part.figures}


def test_code_is_counted_and_not_words_about_it(figures: ModuleType) -> None:
    documented = 'def f():\n    """Doc\n    string."""\n    # comment\n    return (1,\n            2)\n\n'
    source = documented + 'X = """not\na docstring"""\n'
    assert figures.code_lines(source) == 5
    assert figures.code_lines('class E(Exception): """Words."""\n') == 1
    assert figures.code_lines('async def f():\n    """Words."""\n    "no words"\n') == 2
    assert figures.code_lines("") == figures.code_lines('"""Words."""\n') == 0


def test_lines_and_files_are_counted_by_folder(
    figures: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = figures.code(_house(figures, tmp_path))
    assert figures.main(["code", "audit", "imports", "--tree", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert all(f"{line}\n" in printed for line in [*map(str, part.figures), *part.more])
    values = _values(part)
    assert values["lines of code in kernel and fast"] == 17
    assert values["files of them"] == 12
    assert values["files in the largest of their folders"] == 2
    assert values["lines of code in decide and document"] == 5
    assert values["lines of code in isolation"] == 1
    assert values["lines of all Python in certattn, certificates, docs, tests, tools"] == 29
    assert any(line.split() == ["3", "lines", "1", "files", "certattn.fast"] for line in part.more)
    assert any("certattn.statements" in line for line in part.more)


def test_an_audit_path_is_what_a_theorem_and_the_core_import(figures: ModuleType, tmp_path: Path) -> None:
    house = _house(figures, tmp_path)
    assert house.claims == ["max-margin", "output-tail"]

    def names(claim: str) -> list[str]:
        return [module.name for module in house.audit_path(claim)]

    rules = "certattn.kernel.theorems.prompts.output_tail"
    assert names("output-tail") == sorted([*DECIDING, rules, f"{rules}.rules"])
    # Binary64 where it is imported late; neither words nor confinement, no other theorem, nothing for type checkers.
    assert names("max-margin") == sorted([*DECIDING, "certattn.fast.double", "certattn.kernel.mathematics.balls",
                                          "certattn.kernel.theorems.selection.max_margin"])  # fmt: skip
    values = _values(figures.audit(house))
    assert values["lines of code of the longest audit path"] == 13
    assert values["files of the audit path that has most"] == 7
    assert values["lines of the longest where numbers are written out"] == 10
    assert values["lines of code of an audit path, median"] == 11
    assert values["lines of code of the core, in every path"] == 7


def test_a_theorem_that_imports_another_has_it_in_its_path(figures: ModuleType, tmp_path: Path) -> None:
    other = "certattn.kernel.theorems.selection.max_margin"
    house = _house(figures, tmp_path, **{RULES: f"import {other}\n"})
    assert other in [module.name for module in house.audit_path("output-tail")]
    (across,) = house.across
    assert across == ("certattn.kernel.theorems.prompts.output_tail.rules", other)


def test_a_claim_without_a_module_is_said(
    figures: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _house(figures, tmp_path, **{"certificates/x/risk-gap/a.yaml": "claim: risk-gap\n"})
    with pytest.raises(SystemExit, match="2"):
        figures.main(["audit", "--tree", str(tmp_path)])
    assert "the claim risk-gap has no module risk_gap" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        figures.main(["code", "--tree", str(tmp_path / "docs")])
    with pytest.raises(SystemExit, match="2"):
        figures.main(["sizes"])


def test_cycles_and_arrows_upwards_are_found(figures: ModuleType, tmp_path: Path) -> None:
    house = _house(figures, tmp_path)
    assert (house.cycles, house.upward, house.across) == ([], [], [])
    house = _house(figures, tmp_path / "other", **{
        "certattn/fast/double.py": "import typing\nif typing.TYPE_CHECKING:\n    from certattn.fast import two\n",
        "certattn/fast/two.py": "import certattn.fast.double\n",
        "certattn/statements/words.py": "from certattn.cli import main\n",
        "certattn/report/text.py": "from certattn.statements.words import X\n",
        "certattn/kernel/mathematics/unseen.py": "def f():\n    from certattn._api import check\n",
    })  # fmt: skip
    # What is for type checkers alone counts, too: in the picture it is an arrow.
    assert house.cycles == [
        ["certattn._api", "certattn.cli.main", "certattn.kernel.decide.search", "certattn.kernel.mathematics.unseen",
         "certattn.statements.words"],
        ["certattn.fast.double", "certattn.fast.two"],
    ]  # fmt: skip
    assert house.upward == [
        ("certattn.kernel.mathematics.unseen", "certattn._api"),
        ("certattn.report.text", "certattn.statements.words"),
        ("certattn.statements.words", "certattn.cli.main"),
    ]
    assert list(_values(figures.imports(house)).values()) == [2, 3, 0]


def test_what_processes_cost_is_measured(figures: ModuleType, tmp_path: Path) -> None:
    part = figures.times(_house(figures, tmp_path), runs=1)
    assert all(figure.value > 0 for figure in part.figures)
    # The small house's checker imports next to nothing.
    assert part.figures[0].value < 1


# -- this house


@pytest.mark.heavy
def test_the_page_about_trust_says_how_large_the_kernel_is(figures: ModuleType, here: Any) -> None:
    lines = figures.code(here).figures[0].value
    (said,) = re.findall(r"The kernel has about ([\d,]+) lines", (ROOT / "docs" / "trust.md").read_text())
    assert abs(int(said.replace(",", "")) - lines) < lines / 10


@pytest.mark.heavy
def test_the_page_about_trust_says_what_each_claim_rests_on(
    figures: ModuleType, here: Any, tool: Callable[[str], ModuleType]
) -> None:
    lines = tool("pages.lines_page").page
    page, house = (ROOT / "docs" / "trust.md").read_text(), here
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d,]+) \| (\d+) \| ([\d,]+) \| (\d+) \|$", lines(), re.M)
    assert [claim for claim, *_ in rows] == house.claims
    values = {**_values(figures.code(house)), **_values(figures.imports(house))}
    (files,) = re.findall(r"in (\d+) files, without", page)
    (largest, cycles) = re.findall(r"The largest\nfolder has (\d+) files, and there are (\d+) cycles", page)[0]
    assert abs(int(files) - values["files of them"]) <= 8
    assert abs(int(largest) - values["files in the largest of their folders"]) <= 2
    assert int(cycles) == values["cycles of imports between files"]


@pytest.mark.heavy
def test_every_claim_has_an_audit_path(figures: ModuleType, here: Any) -> None:
    assert here.claims == sorted(certattn.CLAIMS)
    shown = "\n".join(figures.audit(here).more)
    assert all(re.search(rf"lines +\d+ files  {claim} ", shown) for claim in certattn.CLAIMS)
