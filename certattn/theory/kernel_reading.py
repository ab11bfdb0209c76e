"""One formula, two readings: the kernel's own source, over symbols.

The laws and the transcendental functions of the kernel are generic in their number type and are
called as they are. The modules that compute with python-flint are executed a second time, from the
same source, with `symbolic_flint` in the place of `flint`. The kernel that checks certificates is
neither changed nor replaced by this.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType, SimpleNamespace
from typing import Any

import sympy

from certattn.kernel.mathematics import functions, laws
from certattn.theory.symbolic_flint import SymbolicMatrix, SymbolicNumber, SymbolicPolynomial

_ROOT = "certattn"
# Executed again; everything else in the kernel (documents, verdicts) is used as it is.
_READ_AGAIN = (
    "certattn.kernel.mathematics.", "certattn.kernel.given.", "certattn.kernel.theorems.",
    "certattn.fast.",
)  # fmt: skip
# Generic in their number type, so there is nothing to replace.
_GENERIC = {module.__name__: module for module in (functions, laws)}


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
        # An edited function must reach the laws that call it, so then all of them are read again.
        self._modules: dict[str, ModuleType] = {} if self._edited else dict(_GENERIC)
        self._replaced = {"flint": _symbolic_flint()}

    @cached_property
    def laws(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.laws")

    @cached_property
    def functions(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.functions")

    @cached_property
    def reals(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.reals")

    @cached_property
    def exact_matrix(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.exact_matrix")

    @cached_property
    def balls(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.balls")

    @cached_property
    def operator(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.operator")

    @cached_property
    def softmax(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.softmax")

    @cached_property
    def equivalent_formulas(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.spectrum.mathematics.equivalent_formulas")

    @cached_property
    def equivalent_law(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.spectrum.mathematics.equivalent_law")

    @cached_property
    def law_distance(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.spectrum.mathematics.law_distance")

    @cached_property
    def exponential_bound(self) -> Any:
        return self._module(f"{_ROOT}.fast.exponential_bound")

    @cached_property
    def binary64_exponential(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.arithmetic.binary64_exponential")

    @cached_property
    def chosen_tokens(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.chosen_tokens")

    @cached_property
    def law_moments(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.law_moments")

    @cached_property
    def mean_square(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.mathematics.mean_square")

    @cached_property
    def softmax_powers(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.softmax_powers")

    @cached_property
    def softmax_moments(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.softmax_moments")

    @cached_property
    def spectrum(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.spectrum")

    @cached_property
    def attention_matrix(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.attention_matrix")

    @cached_property
    def singular_values(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.singular_values")

    @cached_property
    def spectrum_shape(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.spectrum.mathematics.spectrum_shape")

    @cached_property
    def cells(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.attention.cells")

    @cached_property
    def context_descent(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.context_descent")

    @cached_property
    def context_losses(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.context_losses")

    @cached_property
    def covariance_error(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.mathematics.covariance_error")

    @cached_property
    def every_length(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.every_length")

    @cached_property
    def over_queries(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.mathematics.over_queries")

    @cached_property
    def propositions(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.propositions")

    @cached_property
    def gradient_bounds(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.mathematics.gradient_bounds")

    @cached_property
    def series(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.mathematics.series")

    @cached_property
    def weighted_sums(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.mathematics.weighted_sums")

    @cached_property
    def capped_sums(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.capped_sums")

    @cached_property
    def joint_path(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.joint_path")

    @cached_property
    def label_margin(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.label_margin")

    @cached_property
    def token_selection(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.token_selection")

    @cached_property
    def margin_points(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.margin_points")

    @cached_property
    def max_margin(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.max_margin")

    @cached_property
    def typical_prompt(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.typical_prompt")

    @cached_property
    def attention(self) -> Any:
        return self._module(f"{_ROOT}.kernel.given.attention")

    @cached_property
    def token_laws(self) -> Any:
        return self._module(f"{_ROOT}.kernel.given.token_laws")

    @cached_property
    def prompts(self) -> Any:
        return self._module(f"{_ROOT}.kernel.given.prompts")

    @cached_property
    def infinite_prompt_operator(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.prompts.infinite_prompt_operator")

    @cached_property
    def output_deviation(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.attention.output_deviation")

    @cached_property
    def softmax_mean(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.attention.softmax_mean")

    @cached_property
    def global_selection(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.global_selection")

    @cached_property
    def gradient_weights(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.gradient_weights")

    @cached_property
    def token_optimality(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.token_optimality")

    @cached_property
    def losses(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.losses")

    @cached_property
    def mixing(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.mixing")

    @cached_property
    def path_bound(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.path_bound")

    @cached_property
    def finite_prompts(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.finite_prompts")

    @cached_property
    def finite_moments(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.spectrum.mathematics.finite_moments")

    @cached_property
    def gaussian_equivalence(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.spectrum.mathematics.gaussian_equivalence")

    @cached_property
    def linearization(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.linearization")

    @cached_property
    def stated_linearization(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.spectrum.linearization")

    @cached_property
    def regression(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.regression")

    @cached_property
    def regression_flow(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.regression_flow")

    @cached_property
    def validated_flow(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.validated_flow")

    @cached_property
    def regression_rates(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.regression_rates")

    @cached_property
    def selection_constants(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.selection.mathematics.selection_constants")

    @cached_property
    def selection_landscape(self) -> Any:
        return self._module(f"{_ROOT}.kernel.mathematics.selection_landscape")

    @cached_property
    def risk_gap(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.risk_gap")

    @cached_property
    def exponential_fits(self) -> Any:
        return self._module(f"{_ROOT}.kernel.theorems.training.mathematics.exponential_fits")

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
        if name.startswith(_READ_AGAIN) and names and level == 0 and not _is_folder(name):
            return self._module(name)
        return importlib.__import__(name, globals_, locals_, names or (), level)


def _is_folder(name: str) -> bool:
    """Whether a name of the package is a folder of modules."""
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.submodule_search_locations is not None


def _symbolic_flint() -> ModuleType:
    module = ModuleType("flint")
    numbers = dict.fromkeys(("arb", "acb", "fmpq", "fmpz"), SymbolicNumber)
    matrices = dict.fromkeys(("arb_mat", "fmpq_mat", "fmpz_mat"), SymbolicMatrix)
    # Nothing is rounded here: there is no working precision.
    precision = SimpleNamespace(prec=None)
    polynomials = dict.fromkeys(("arb_poly", "acb_poly"), SymbolicPolynomial)
    module.__dict__.update(numbers, **matrices, **polynomials, ctx=precision, __FLINT_VERSION__="symbolic")
    return module


KERNEL = Kernel()
