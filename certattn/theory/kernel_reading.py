"""One formula, two readings: the kernel's own source, over symbols.

The modules that compute with python-flint are executed a second time, from the same source, with
`symbolic_flint` in the place of `flint`. The kernel that checks certificates is neither changed nor
replaced by this.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import sympy

from certattn.theory.symbolic_flint import SymbolicMatrix, SymbolicNumber, SymbolicPolynomial

_ROOT = "certattn"
# Executed again; everything else in the kernel (documents, verdicts) is used as it is.
_READ_AGAIN = (
    "certattn.kernel.mathematics.", "certattn.kernel.given.", "certattn.kernel.theorems.",
    "certattn.fast.",
)  # fmt: skip


def _by_name() -> dict[str, str]:
    """The place of each module in the package; of several with one name the first in this order."""
    package, found = Path(__file__).resolve().parent.parent, dict[str, str]()
    for folder in ("mathematics", "theorems/*/mathematics", "given", "../fast", "theorems/*"):
        for path in sorted(package.glob(f"kernel/{folder}/*.py")):
            found.setdefault(path.stem, ".".join(path.resolve().relative_to(package).with_suffix("").parts))
    return found


_FOLDERS = _by_name()


def source_of(name: str) -> str:
    """The source text of a module of the package, such as "kernel.mathematics.laws"."""
    spec = importlib.util.find_spec(f"{_ROOT}.{name}")
    text = getattr(spec.loader, "get_source", lambda _: None)(spec.name) if spec is not None else None
    if text is None:
        raise ImportError(f"no source of {_ROOT}.{name} to read")
    return str(text)


@dataclass(frozen=True)
class StatedMatrix:
    """A matrix of a certificate, already read: what claims ask of `MatrixInput`."""

    matrix: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def load(self) -> Any:
        return self.matrix


class Kernel:
    """The kernel's modules over symbols. `edited` puts other source texts in the place of some.

    Edited sources serve the tests: a derivation must notice when a formula is not the derived one.
    """

    def __init__(self, edited: Mapping[str, str] | None = None) -> None:
        self._edited = {f"{_ROOT}.{name}": text for name, text in (edited or {}).items()}
        self._modules: dict[str, ModuleType] = {}
        self._replaced = {"flint": _symbolic_flint()}

    def __getattr__(self, name: str) -> Any:
        """The module of this name, `kernel.laws`: mathematics first, then what is given, binary64, theorems."""
        if name not in _FOLDERS:
            raise AttributeError(name)
        return self.module(_FOLDERS[name])

    def module(self, name: str) -> Any:
        """A module by its place in the package, such as "kernel.mathematics.laws"."""
        return self._module(f"{_ROOT}.{name}")

    def exact(self, numerators: sympy.Matrix, denominator: int = 1) -> Any:
        """A table of expressions as the kernel's ExactMatrix."""
        return self.exact_matrix.ExactMatrix(SymbolicMatrix(numerators), denominator)

    def stated(self, numerators: sympy.Matrix, denominator: int = 1) -> StatedMatrix:
        """The same as a claim finds it in a certificate."""
        return StatedMatrix(self.exact(numerators, denominator))

    def _module(self, name: str) -> ModuleType:
        if name not in self._modules:
            self._modules[name] = self._execute(name)
        return self._modules[name]

    def _execute(self, name: str) -> ModuleType:
        text = self._edited.get(name) or source_of(name.removeprefix(f"{_ROOT}."))
        importlib.import_module(name)  # dataclasses look the module of that name up
        module = ModuleType(name)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        exec(compile(text, f"<{name} over symbols>", "exec"), module.__dict__)
        return module

    def _import(self, name: str, globals_: Any = None, locals_: Any = None, names: Any = (), level: int = 0) -> Any:
        """What `from name import ...` finds in a module that is read over symbols."""
        if name in self._replaced:
            return self._replaced[name]
        if name.startswith(_READ_AGAIN) and names and level == 0:
            if _is_folder(name):
                return SimpleNamespace(**{module: self._module(f"{name}.{module}") for module in names})
            return self._module(name)
        return importlib.__import__(name, globals_, locals_, names or (), level)


def _is_folder(name: str) -> bool:
    """Whether a name of the package is a folder of modules."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.submodule_search_locations is not None


def _symbolic_flint() -> ModuleType:
    module = ModuleType("flint")
    numbers = dict.fromkeys(("arb", "acb", "fmpq", "fmpz"), SymbolicNumber)
    matrices = dict.fromkeys(("arb_mat", "acb_mat", "fmpq_mat", "fmpz_mat"), SymbolicMatrix)
    # Nothing is rounded here: there is no working precision.
    precision = SimpleNamespace(prec=None)
    polynomials = dict.fromkeys(("arb_poly", "acb_poly", "fmpq_poly"), SymbolicPolynomial)
    module.__dict__.update(numbers, **matrices, **polynomials, ctx=precision, __FLINT_VERSION__="symbolic")
    return module


KERNEL = Kernel()
