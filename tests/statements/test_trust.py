"""What verdicts rest on: that the list is what a check runs, and that it stays short."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

import pytest
import yaml
from click.testing import CliRunner

import certattn
from certattn.cli.trust import trust
from certattn.kernel.decide.checker import CheckOptions, check
from certattn.kernel.document.certificate import load
from certattn.kernel.theorems import CHAPTER_OF
from certattn.statements.trust import PACKAGE, code_lines, is_method, trust_of

ROOT = PACKAGE.parent
ATOMS = ROOT / "certificates" / "prompts" / "output-tail" / "atoms.yaml"
# The checker alone: words for people, which `certattn.check` adds afterwards, import some of the kernel for themselves.
CHECK = """
import json, sys
from pathlib import Path
from certattn.kernel.decide.checker import CheckOptions, check
from certattn.kernel.document.certificate import load
check(load(Path(sys.argv[1])), CheckOptions())
names = [name for name in sys.modules if name.startswith(("certattn.kernel", "certattn.fast"))]
import certattn
print(json.dumps([certattn.check(sys.argv[1]).to_dict()["rests_on"]["uses"], names]))
"""


def _examples(claim: str) -> Iterator[Path]:
    """The smallest certificate, and the smallest of each method."""
    folder, seen = ROOT / "certificates" / CHAPTER_OF[claim] / claim, set[str]()
    paths = sorted(folder.glob("*.yaml"), key=lambda path: (path.stat().st_size, path.name))
    wanted = {file.module for file in trust_of(claim).files if is_method(file.module)}
    if not any("truncated" in path.read_text() for path in paths):
        wanted -= {"certattn.kernel.mathematics.truncated_normals"}
    for path in paths:
        # No other certificate has a method more.
        if seen and wanted <= seen:
            return
        used = check(load(path), CheckOptions()).methods if wanted else set()
        if not seen or not used <= seen:
            seen |= {"", *used}
            yield path


# Arrays that are computed with as doubles alone are not read as integers.
NOT_ALWAYS = {"certattn.kernel.document.bit_patterns"}


# Much of their gallery is checked in search of methods, which takes seconds.
HEAVY = {"gradient-tail", "output-mean-square", "risk-gap"}


@pytest.mark.parametrize(
    "claim", [pytest.param(each, marks=[pytest.mark.heavy] if each in HEAVY else []) for each in CHAPTER_OF]
)
def test_what_a_check_imports_is_listed(claim: str) -> None:
    for path in _examples(claim):
        command = [sys.executable, "-c", CHECK, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
        uses, imported = json.loads(done.stdout)
        listed = {file.module for file in trust_of(claim, frozenset(uses)).files}
        with_code = {name for name in imported if code_lines(_source(name))}
        assert with_code <= listed, f"{path.name}: not listed: {sorted(with_code - listed)}"
        assert listed - with_code <= NOT_ALWAYS, f"{path.name}: not imported: {sorted(listed - with_code)}"


def test_a_method_counts_where_it_is_used() -> None:
    folder, inversion = ATOMS.parent, "certattn.kernel.theorems.prompts.inversion_rule"
    without, by_it = (certattn.check(folder / name).rests_on for name in ("atoms.yaml", "gaussian-enough.yaml"))
    assert (inversion in without["uses"], inversion in by_it["uses"]) == (False, True)
    assert without["lines"] < by_it["lines"]


def test_functions_by_which_a_method_is_entered_note_it() -> None:
    """A method that some module imports later, and calls by a function that notes nothing, would not be listed."""
    silent = [
        f"{file.module} calls {function} of {module}"
        for file in {file for claim in CHAPTER_OF for file in trust_of(claim).files}
        for module in file.later
        if is_method(module)
        for function in re.findall(rf"^ +from {module} import (.*)$", file.path.read_text(), re.M)
        for name in function.split(", ")
        if isinstance(entry := getattr(import_module(module), name), FunctionType) and not hasattr(entry, "__wrapped__")
    ]
    assert silent == []


def _source(module: str) -> str:
    base = ROOT.joinpath(*module.split("."))
    path = base.with_suffix(".py")
    return (path if path.is_file() else base / "__init__.py").read_text()


def test_every_trusted_file_is_in_the_path_of_a_claim() -> None:
    listed = {file.path for claim in CHAPTER_OF for file in trust_of(claim).files}
    trusted = [path for room in ("kernel", "fast") for path in (PACKAGE / room).rglob("*.py")]
    dead = [path for path in trusted if code_lines(path.read_text()) and path not in listed]
    assert not dead, f"no verdict rests on {dead}: they lie elsewhere, or go"


@pytest.mark.heavy
def test_both_countings_of_lines_agree(tool: Callable[[str], ModuleType]) -> None:
    figures = tool("figures")
    for file in {file for claim in CHAPTER_OF for file in trust_of(claim).files}:
        assert file.lines == figures.code_lines(file.path.read_text()), file.name


def test_every_claim_keeps_its_budget() -> None:
    budgets = yaml.safe_load((ROOT / "tools" / "audit_budgets.yaml").read_text())
    assert set(budgets) == set(CHAPTER_OF)
    for claim, most in budgets.items():
        lines = trust_of(claim).lines
        assert lines <= most, (
            f"verdicts on {claim} rest on {lines} lines, more than {most}: shorten what they rest on, or raise the "
            "number in tools/audit_budgets.yaml and say why in the commit"
        )


def test_text_and_json_say_the_same() -> None:
    for what in ("output-tail", str(ATOMS)):
        text = CliRunner().invoke(trust, [what])
        told = json.loads(CliRunner().invoke(trust, [what, "--format", "json"]).output)
        assert text.exit_code == 0
        assert told["sha256"] in text.output
        assert told["lines"] == sum(file["lines"] for file in told["listed"])
        assert all(f"{file['lines']:>6}  {file['file']}" in text.output for file in told["listed"])
        assert told["verdict"] == ("" if what == "output-tail" else "verified")


def test_what_is_neither_a_claim_nor_a_certificate_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("certattn: [\n")
    for what in ("no-such-claim", str(broken)):
        assert CliRunner().invoke(trust, [what]).exit_code != 0


def test_a_picture_is_written(tmp_path: Path) -> None:
    result = CliRunner().invoke(trust, ["max-margin", "--plot", str(tmp_path / "imports.png")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "imports.png").read_bytes().startswith(b"\x89PNG")


def test_the_hash_is_another_when_a_listed_file_is(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "certattn", ignore=shutil.ignore_patterns("__pycache__"))
    program = "from certattn.statements.trust import trust_of; print(trust_of('max-margin').sha256)"

    def printed() -> str:
        command = [sys.executable, "-c", program]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout.strip()

    assert printed() == trust_of("max-margin").sha256
    with (tmp_path / "certattn" / "kernel" / "decide" / "proof.py").open("a") as file:
        file.write("# another\n")
    assert printed() != trust_of("max-margin").sha256
