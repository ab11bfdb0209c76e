"""The contracts of the code base: who may import whom, and what the kernel may not contain."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "certattn"
KERNEL = PACKAGE / "kernel"
# What is trusted: the kernel, binary64 by verdicts that name it, and confinement.
MODULES = sorted(path for room in ("kernel", "fast", "isolation") for path in (PACKAGE / room).rglob("*.py"))
BIT_PATTERNS = KERNEL / "document" / "bit_patterns.py"
# The one folder that computes in floating point.
BINARY64 = PACKAGE / "fast"
CERTIFICATE = ROOT / "certificates" / "prompts" / "infinite-prompt-operator" / "gaussian-d1.yaml"
WITH_ARRAYS = ROOT / "certificates" / "attention" / "output-deviation" / "gaussian-prompt.yaml"

# What Python has no function for is asked of the system itself; a new interpreter is a program.
SYSTEM_CALLS = PACKAGE / "isolation" / "system_calls.py"
FLOATING_POINT = KERNEL / "decide" / "floating_point.py"
FRESH = PACKAGE / "isolation" / "fresh.py"
BESIDES = {SYSTEM_CALLS: {"ctypes"}, FLOATING_POINT: {"ctypes"}, FRESH: {"subprocess"}}

ALLOWED = {"flint"}
# Confinement sends reports, whose words decide nothing.
CONFINES = {f"certattn.statements.{module}" for module in ("checking", "reports", "wording")}
# The standard library is allowed where it cannot run what it reads.
UNSAFE = {"pickle", "marshal", "shelve", "code", "runpy", "subprocess", "ctypes", "cffi", "random", "urllib", "socket"}
NARROWING = r"isinstance\(.*\)|.* is not None"
UNSAFE_CALLS = {"eval", "exec", "compile", "__import__", "sympify", "float", "complex", "breakpoint", "input"}


def name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


# -- imports


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""


def unwanted_imports(source: str, *, numpy: bool, besides: Collection[str] = ()) -> list[str]:
    allowed = ALLOWED | ({"numpy"} if numpy else set()) | set(besides)
    found = []
    for module in imports(ast.parse(source)):
        top = module.partition(".")[0]
        inside = re.match(r"certattn\.(kernel|fast|isolation)(\.|$)", module)
        standard = top in sys.stdlib_module_names and top not in UNSAFE
        if not (inside or standard or top in allowed or module in allowed):
            found.append(module)
    return found


def test_the_kernel_imports_nothing_else() -> None:
    found = {}
    for path in MODULES:
        numpy = path == BIT_PATTERNS or BINARY64 in path.parents
        besides = set(BESIDES.get(path, ())) | (CONFINES if path.parent == SYSTEM_CALLS.parent else set())
        found[name(path)] = unwanted_imports(path.read_text(), numpy=numpy, besides=besides)
    assert {module: unwanted for module, unwanted in found.items() if unwanted} == {}


@pytest.mark.parametrize(
    "line",
    [
        "import sympy", "import numpy", "import numpy.linalg as la", "from scipy.linalg import inv", "import mpmath",
        "import certattn", "from certattn import check", "from certattn.provers import output", "import pickle",
        "def f():\n    import click", "import subprocess", "from certattn import _version", "import certattn.kernels",
    ],
)  # fmt: skip
def test_an_unwanted_import_is_found(line: str) -> None:
    assert unwanted_imports(f"import json\n{line}\n", numpy=False)


def test_numpy_is_wanted_where_it_is_allowed() -> None:
    for module in (BIT_PATTERNS, BINARY64 / "exponential.py"):
        assert module in MODULES
        assert "numpy" in set(imports(ast.parse(module.read_text())))


def test_what_binary64_proves_with_balls_needs_no_numpy() -> None:
    at_import = ast.parse((BINARY64 / "exponential_bound.py").read_text()).body
    assert "numpy" not in {module for node in at_import for module in imports(node)}


def lint_imports(folder: Path) -> str:
    """What import-linter says of a checkout."""
    program = str(Path(sys.executable).parent / "lint-imports")
    command = [program, "--no-cache", "--no-logo", "--config", "pyproject.toml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    text = " ".join(done.stdout.split())
    assert ("0 broken" in text) == (done.returncode == 0), done.stdout + done.stderr
    return text


def test_every_contract_is_kept() -> None:
    assert "Contracts: 9 kept, 0 broken." in lint_imports(ROOT)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, to break contracts in."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "certattn", folder / "certattn", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


OFFENCES = [
    ("kernel/decide/proof.py", "import sympy", "The kernel stands alone"),
    ("kernel/document/tree.py", "import certattn.report.text", "The kernel stands alone"),
    ("kernel/mathematics/balls.py", "import numpy", "numpy enters the kernel where bits of arrays are read"),
    ("isolation/worker.py", "import numpy", "numpy enters the kernel where bits of arrays are read"),
    ("fast/units.py", "import scipy", "The kernel stands alone"),
    ("report/text.py", "import sympy", "Checking and showing need no prover"),
    ("cli/show.py", "import certattn.provers", "Checking and showing need no prover"),
    ("provers/output.py", "import certattn.cli.options", "Layers: nothing imports the command line"),
    ("_api.py", "import certattn.cli.main", "Layers: nothing imports the command line"),
    ("theory/symbols.py", "import certattn.provers", "Layers: nothing imports the command line"),
    ("provers/prompts/tail_goals.py", "import certattn.provers.spectrum.truncation", "Chapters of provers"),
    ("theory/training/weight_growth.py", "from certattn.theory.prompts import token_boxes", "Chapters of provers"),
    ("extra.py", "import json", "Layers: nothing imports the command line"),
    ("kernel/document/digest.py", "import certattn.kernel.decide.checker", "What is trusted"),
    ("kernel/decide/checker.py", "import certattn.isolation.worker", "What is trusted"),
    ("kernel/decide/adapter.py", "import certattn.statements.wording", "The kernel stands alone"),
    ("kernel/mathematics/laws.py", "import certattn.fast.units", "What is trusted"),
    (
        "kernel/theorems/training/risk_gap.py", "import certattn.kernel.theorems.spectrum.limit_law",
        "A chapter of theorems"),
    ("kernel/theorems/prompts/mathematics/series.py", "import certattn.kernel.document.tree", "Mathematics knows"),
    ("kernel/extra.py", "import json", "Inside the kernel"),
]  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize(("module", "line", "contract"), OFFENCES, ids=[f"{m}: {line}" for m, line, _ in OFFENCES])
def test_every_contract_can_be_broken(checkout: Path, module: str, line: str, contract: str) -> None:
    path = checkout / "certattn" / module
    before = path.read_text() if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n")
    try:
        said = lint_imports(checkout)
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before)
    start = said.index(contract)
    assert "BROKEN" in said[start : start + 130].replace("KEPT", "\n").split("\n")[0]


# -- what checking loads


def loaded(*arguments: str) -> set[str]:
    """The top-level modules that a run of certattn loads, in the process itself and in its workers."""
    script = (
        "import os, sys\n"
        "fork = os.fork\n"
        "def forked():\n"
        "    pid = fork()\n"
        "    if pid == 0:\n"
        "        leave = os._exit\n"
        "        def tell(status):\n"
        "            os.write(told, (' '.join(sys.modules) + ' ').encode())\n"
        "            leave(status)\n"
        "        os._exit = tell\n"
        "        # Standard streams are the worker's own; its other descriptors are closed.\n"
        "        os.closerange = lambda low, high: None\n"
        "    return pid\n"
        "os.fork = forked\n"
        "ear, told = os.pipe()\n"
        "from certattn.cli.main import run\n"
        "status = run(sys.argv[1:])\n"
        "os.close(told)\n"
        "print('\\nMODULES', *sys.modules, open(ear).read())\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    return {module.partition(".")[0] for module in done.stdout.split("\nMODULES ")[1].split()}


HEAVY = {"numpy", "scipy", "sympy", "mpmath", "matplotlib", "multiprocessing", "asyncio"}


@pytest.mark.parametrize("command", ["check", "show"])
def test_a_certificate_without_arrays_is_read_with_no_heavy_library(command: str) -> None:
    modules = loaded(command, str(CERTIFICATE))
    assert {"flint", "click", "certattn"} <= modules
    assert not modules & (HEAVY | {"yaml"})


def test_arrays_are_read_with_numpy_and_no_other_heavy_library() -> None:
    assert loaded("check", str(WITH_ARRAYS)) & HEAVY == {"numpy"}


@pytest.mark.parametrize("arguments", [["--help"], ["schema"], ["check", "--help"], ["generate", "--help"]])
def test_help_is_instant(arguments: list[str]) -> None:
    assert not loaded(*arguments) & HEAVY


# -- the kernel's own rules


def forbidden_constructs(source: str, *, floats: bool = False) -> list[str]:
    """Calls that run text or round numbers, and floating-point literals: decisions need neither.

    `floats` allows the literals and conversions.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, complex if floats else float | complex):
            found.append(f"line {node.lineno}: the literal {node.value}")
        elif isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            # re.compile is no compile.
            if called in UNSAFE_CALLS - ({"float"} if floats else set()) and ast.unparse(node.func) != "re.compile":
                found.append(f"line {node.lineno}: {called}()")
        elif isinstance(node, ast.Assert) and not re.fullmatch(NARROWING, ast.unparse(node.test)):
            # `python -O` leaves assertions out: they may help the type checker, and decide nothing.
            found.append(f"line {node.lineno}: assert {ast.unparse(node.test)}")
        elif isinstance(node, ast.ExceptHandler) and node.type is None:
            found.append(f"line {node.lineno}: a bare except")
    return found


def test_the_kernel_neither_runs_text_nor_rounds() -> None:
    found = {name(path): forbidden_constructs(path.read_text(), floats=BINARY64 in path.parents) for path in MODULES}
    assert {module: forbidden for module, forbidden in found.items() if forbidden} == {}


@pytest.mark.parametrize(
    "line",
    [
        "x = 0.5", "x = 1e9", "x = 2j", "float('1')", "eval('1')", "exec('1')", "compile('1', '', 'eval')",
        "sympy.sympify('1')", "__import__('os')", "builtins.eval('1')", "assert x > 0",
        "try:\n    pass\nexcept:\n    pass",
    ],
)  # fmt: skip
def test_a_forbidden_construct_is_found(line: str) -> None:
    assert forbidden_constructs(line)


def test_only_floats_are_allowed_where_there_are_floats() -> None:
    assert forbidden_constructs("x = float(y) + 0.5", floats=True) == []
    assert forbidden_constructs("x = eval('1')", floats=True)
    assert forbidden_constructs("x = complex('1')", floats=True)


# Where outcomes are made and counted; nothing else in the kernel knows them.
DECIDES = {KERNEL / "decide" / "proof.py", KERNEL / "decide" / "checker.py"}
DECIDING = r"certattn\.kernel\.decide(\.(proof|checker))?"
DECIDED = {"Outcome", "Answer", "Verdict", "Proof", "decide"}


def decided(source: str) -> list[str]:
    """Lines that see or make an outcome, and functions that list the names of obligations a second time."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and re.fullmatch(
            r"certattn\.kernel\.decide(\.(proof|checker))?", node.module or ""
        ):
            found.append(f"line {node.lineno}: an import of {node.module}")
        elif isinstance(node, ast.Name | ast.Attribute):
            named = node.id if isinstance(node, ast.Name) else node.attr
            if named in DECIDED:
                found.append(f"line {node.lineno}: {named}")
        elif isinstance(node, ast.FunctionDef) and node.name in {"names", "obligation_names"}:
            found.append(f"line {node.lineno}: {node.name}()")
    return found


def test_no_theorem_sees_an_outcome_or_makes_one() -> None:
    outside = [path for path in MODULES if path not in DECIDES and PACKAGE / "isolation" not in path.parents]
    assert {name(path): lines for path in outside if (lines := decided(path.read_text()))} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from certattn.kernel.decide.proof import Outcome", "from certattn.kernel.decide import proof",
        "if answer.outcome is proof.Outcome.PROVED:\n    pass", "yield Answer(name, found, part)",
        "def names(stated):\n    return ['at_least']",
    ],
)  # fmt: skip
def test_a_theorem_that_decides_is_found(line: str) -> None:
    assert decided(line)


def test_every_rule_looks_at_every_module() -> None:
    tracked = {
        "kernel/decide/checker.py", "kernel/decide/proof.py", "kernel/document/tree.py", "fast/sums.py",
        "kernel/theorems/attention/output_deviation.py", "isolation/worker.py",
    }  # fmt: skip
    assert tracked <= {name(path) for path in MODULES}
