"""Ten changes of the kernel that would verify what is false or misread a number, and a test that notices each.

    python tools/mutation/known_kernel_mutants.py

The short form of `mutate_kernel.py`, with fixed changes and no library for mutation: seconds instead of an hour.
A line says what became of each; exit status 1 if one was not noticed, or if the tests fail without a change too.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.mutation.mutant_runs import Collected, applied, changed_functions, copy_tree

SECONDS = 30


@dataclass(frozen=True)
class Known:
    """Text that stands once in a module of the kernel, what it becomes, and the test that fails then."""

    module: str
    before: str
    after: str
    test: str


_PROOF = "tests/kernel/decide/test_proof.py::test_"
_NUMBERS = "tests/kernel/document/test_numbers.py::test_"
_MATRIX = "tests/kernel/mathematics/test_exact_matrix.py::test_"
KNOWN = (
    Known(
        "certattn/kernel/decide/proof.py",
        "side.is_finite() is not True",
        "side.is_finite() is not False",
        f"{_PROOF}a_ball_decides_only_if_all_its_points_agree",
    ),
    Known(
        "certattn/kernel/decide/proof.py",
        "if holds is True:",
        "if fails is not True:",
        f"{_PROOF}a_ball_decides_only_if_all_its_points_agree",
    ),
    Known(
        "certattn/kernel/decide/proof.py",
        "complete = list(wanted) == list(self.obligations) and",
        "complete =",
        f"{_PROOF}what_is_not_exactly_the_obligations_never_verifies",
    ),
    Known(
        "certattn/kernel/decide/proof.py",
        "all(answer.outcome is Outcome.PROVED for answer in answers)",
        "any(answer.outcome is Outcome.PROVED for answer in answers)",
        f"{_PROOF}every_combination_of_outcomes",
    ),
    Known(
        "certattn/kernel/decide/checker.py",
        "            verdict = Verdict.INCONCLUSIVE",
        "            verdict = Verdict.VERIFIED",
        "tests/kernel/decide/test_checker.py::test_the_only_obligation_asked_for_by_name_does_not_verify_either",
    ),
    Known(
        "certattn/kernel/document/numbers.py",
        "_exponent(match[4], limits) - 4 * len(fraction)",
        "_exponent(match[4], limits) + 4 * len(fraction)",
        f"{_NUMBERS}accepted",
    ),
    Known(
        "certattn/kernel/document/numbers.py",
        "        radicand = 1 / radicand",
        "        radicand = 1 * radicand",
        f"{_NUMBERS}irrational_roots_stay_roots",
    ),
    Known(
        "certattn/kernel/mathematics/exact_matrix.py",
        "return sum((-1) ** (degree - k) * c < 0",
        "return sum((-1) ** (degree - k) * c > 0",
        f"{_MATRIX}definiteness_by_hand",
    ),
    Known(
        "certattn/kernel/mathematics/balls.py",
        "largest = largest.max(abs(entry))",
        "largest = largest.min(abs(entry))",
        "tests/kernel/mathematics/test_balls.py::test_norms_by_hand",
    ),
    Known(
        "certattn/kernel/mathematics/softmax.py",
        "moment / (normaliser * values.denominator)",
        "moment / normaliser",
        "tests/kernel/mathematics/test_softmax.py::test_scales",
    ),
)


def changed(known: Known, source: str) -> str:
    """The module with the change; AssertionError where the text does not stand in it once."""
    assert source.count(known.before) == 1, (
        f"{known.module}: {known.before!r} stands {source.count(known.before)} times"
    )
    return source.replace(known.before, known.after)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        copy_tree(tree)
        tests = list(dict.fromkeys(known.test for known in KNOWN))
        runs = Collected(tree, sorted({test.split("::")[0] for test in tests}))
        # Where there is nothing to notice the tests must pass.
        unchanged = runs.run("", {}, tests, SECONDS)
        print(f"unchanged: {unchanged.outcome} {unchanged.by} ({unchanged.ran} tests)")
        wrong = unchanged.outcome != "passed" or unchanged.ran < len(tests)
        for known in KNOWN:
            source = (tree / known.module).read_text()
            code = changed(known, source)
            functions = changed_functions(source, code, str(tree / known.module)) or {}
            with applied(tree, known.module, code):
                answer = runs.run(known.module, functions, [known.test], SECONDS)
            print(f"{answer.outcome}: {known.module}  {known.before}  =>  {known.after}  [{known.test}]")
            wrong |= answer.outcome != "killed" or not answer.by.startswith(known.test)
        runs.stop()
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
