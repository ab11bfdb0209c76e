"""The second reading of the kernel: the same source, and the kernel itself untouched."""

from __future__ import annotations

import sys

import flint
import pytest
import sympy
from flint import arb, fmpq, fmpz_mat

from certattn.kernel.mathematics import exact_matrix, functions, laws, operator, softmax
from certattn.theory.kernel_reading import KERNEL, Kernel, source_of
from certattn.theory.operators import softmax as softmax_by_definition
from certattn.theory.symbolic_flint import SymbolicNumber, numbers, plain
from certattn.theory.symbols import matrix


def test_modules_that_compute_are_read_again_and_the_kernel_keeps_its_own() -> None:
    assert KERNEL.softmax is not softmax
    assert KERNEL.laws is not laws
    assert KERNEL.softmax is not sys.modules["certattn.kernel.mathematics.softmax"]
    assert KERNEL.exact_matrix.fmpz_mat is not exact_matrix.fmpz_mat
    assert exact_matrix.fmpz_mat is fmpz_mat
    assert operator.arb is arb
    assert KERNEL.operator.ExactMatrix is KERNEL.exact_matrix.ExactMatrix
    assert KERNEL.infinite_prompt_operator.Operator is KERNEL.operator.Operator


def test_both_readings_of_softmax_agree_at_a_point() -> None:
    keys, values, query = [[1, 2], [-3, 1], [2, 2]], [[5], [-2], [4]], [[1, -1]]

    def exact(rows: list[list[int]]) -> exact_matrix.ExactMatrix:
        return exact_matrix.ExactMatrix.rational([[fmpq(x) for x in row] for row in rows])

    ((ball,),) = softmax.Prompt(exact(keys), exact(values), fmpq(1, 2)).outputs_from_mean(exact(query))
    k, v, q = matrix("k", 3, 2), matrix("v", 3, 1), matrix("q", 1, 2)
    prompt = KERNEL.softmax.Prompt(KERNEL.exact(k), KERNEL.exact(v), SymbolicNumber(1, 2))
    ((formula,),) = plain(prompt.outputs_from_mean(KERNEL.exact(q)))
    point = {**_at(k, keys), **_at(v, values), **_at(q, query)}
    assert arb(str(sympy.N(formula.subs(point), 40))).overlaps(ball + arb(0, 1e-12))
    definition = softmax_by_definition(k, v, q, sympy.Rational(1, 2))[0] - sum(v) / 3
    assert abs(sympy.N((formula - definition).subs(point), 30)) < 1e-25


def _at(symbols: sympy.Matrix, values: list[list[int]]) -> dict[sympy.Expr, int]:
    return dict(zip(symbols, sympy.Matrix(values), strict=True))


def test_both_readings_of_a_law_agree_at_a_point() -> None:
    law = laws.Gaussian([fmpq(1), fmpq(2)], [[fmpq(2), fmpq(1)], [fmpq(1), fmpq(3)]])
    tilt = [fmpq(1, 2), fmpq(-1)]
    balls = law.map(arb).tilted_mean([arb(t) for t in tilt])
    formula = plain(law.map(SymbolicNumber).tilted_mean(numbers([1, 2])))
    assert formula == [1 + 2 * 1 + 1 * 2, 2 + 1 * 1 + 3 * 2]
    assert [ball.unique_fmpz() for ball in balls] == [1, None]
    assert balls[1].overlaps(arb(fmpq(-1, 2)))


def test_edited_source_is_what_is_read() -> None:
    text = source_of("kernel.mathematics.functions").replace("coth x - 1/x", "edited")
    assert "edited" in str(Kernel({"kernel.mathematics.functions": text}).functions.langevin.__doc__)
    assert "edited" not in str(functions.langevin.__doc__)


def test_an_edited_function_reaches_the_laws() -> None:
    source = source_of("kernel.mathematics.functions")
    kernel = Kernel({"kernel.mathematics.functions": source})
    assert kernel.laws is not KERNEL.laws
    assert kernel.laws.langevin is kernel.functions.langevin


def test_no_source_is_an_error() -> None:
    with pytest.raises(ImportError, match="no source"):
        source_of("kernel.nothing")


def test_the_verdict_of_an_identity_is_for_all_values() -> None:
    a = KERNEL.exact(matrix("a", 1, 2))
    assert a == KERNEL.exact(matrix("a", 1, 2))
    assert a != KERNEL.exact(matrix("b", 1, 2))
    assert a != a.T
    assert flint.fmpq is fmpq
