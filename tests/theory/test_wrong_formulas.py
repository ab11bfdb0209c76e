"""A derivation must notice a kernel that runs another formula than the derived one.

What is tried stands in `CHAPTER/CLAIM.yaml`: under a step of the claim's derivation and a module of the kernel, what
stands there once and what is written instead; a third text says how the name of the check begins that fails first. The
step is then re-proved with the same checks that `certattn derive --check` runs. An edit whose old text is no longer in
the kernel fails the test: it must then be brought up to date.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from certattn.theory import DERIVATIONS
from certattn.theory.derivation import Outcome, prove
from certattn.theory.kernel_reading import Kernel, source_of

# An edit is to be caught as a wrong formula, not as text that Python cannot run.
_NO_FORMULA = ("SyntaxError", "NameError", "AttributeError", "ImportError", "TypeError")


def _wrong() -> Iterator[tuple[str, str, str, list[str]]]:
    """The claim, the title of a step, the module; what stands there, what is written instead, and what then fails."""
    for path in sorted(Path(__file__).parent.glob("*/*.yaml")):
        for title, modules in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            for module, edits in modules.items():
                yield from ((path.stem, title, module, edit) for edit in edits)


def _proved(claim: str, title: str, module: str, old: str, new: str, *, fail_fast: bool = False) -> Outcome:
    """What comes of proving a step where `old`, once in a module, reads `new`."""
    source = source_of(module)
    assert source.count(old) == 1, f"{source.count(old)} places in {module} read {old!r}"
    (step,) = (step for step in DERIVATIONS[claim].steps if step.title == title)
    return prove(step, Kernel({module: source.replace(old, new)}), fail_fast=fail_fast)


WRONG = list(_wrong())


@pytest.mark.parametrize(("claim", "title", "module", "edit"), WRONG, ids=[f"{w[1]}: {w[3][1].strip()}" for w in WRONG])
def test_a_wrong_formula_is_noticed(claim: str, title: str, module: str, edit: list[str]) -> None:
    old, new, *fails = edit
    outcome = _proved(claim, title, module, old, new, fail_fast=True)
    assert not outcome.holds
    assert not outcome.failed[0].startswith(_NO_FORMULA), outcome.failed[0]
    assert outcome.failed[0].startswith("".join(fails))


# Other formulas for the same thing: what counts is equality, not the text.
LAWS, MOMENTS = "kernel.mathematics.laws", "kernel.mathematics.softmax_moments"
SUMS = "The sums that the kernel evaluates"
RIGHT = [
    ("infinite-prompt-operator", "Mixtures of laws", LAWS, "w * (part - parts[0]).exp()", "w * part.exp()"),
    (
        "infinite-prompt-operator", "The functions that the kernel evaluates, in all their forms",
        "kernel.mathematics.functions", "x.coth() - 1 / x", "1 / x.tanh() - 1 / x"),
    (
        "output-deviation", SUMS, "kernel.mathematics.softmax", "self.keys.centred(self.keys.take_rows([0])).T",
        "self.keys.T"),
    (
        "output-deviation", "The prompt's own moments", "kernel.mathematics.exact_matrix", "(centred.T @ right)",
        "(centred.T @ right.centred(right.mean_row()))"),
    ("softmax-mean", SUMS, MOMENTS, "prompt.keys.centred(self.prompt.keys.mean_row())", "prompt.keys"),
    (
        "softmax-mean", "Between two traces", "kernel.mathematics.spectrum", "scale * scale * square_trace / trace",
        "square_trace / trace * scale * scale"),
    (
        "output-tail", "Cantelli's inequality", "kernel.theorems.prompts.mathematics.weighted_sums",
        "variance / (variance + length * eps * eps)", "1 / (1 + length * eps * eps / variance)"),
    (
        "output-tail", "Outputs without noise of their own", "kernel.mathematics.capped_sums",
        "-1 / plane.s - plane.mu / plane.c", "-(1 / plane.s + plane.mu / plane.c)"),
]  # fmt: skip


@pytest.mark.parametrize("edit", RIGHT, ids=[f"{edit[1]}: {edit[4]}" for edit in RIGHT])
def test_an_equal_formula_is_accepted(edit: tuple[str, str, str, str, str]) -> None:
    assert _proved(*edit).holds
