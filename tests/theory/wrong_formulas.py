"""Whether a derivation notices a kernel that runs another formula than the derived one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from certattn.theory import DERIVATIONS
from certattn.theory.derivation import Step, prove
from certattn.theory.kernel_reading import Kernel, source_of

# An edit is to be caught as a wrong formula, not as text that Python cannot run.
_NO_FORMULA = ("SyntaxError", "NameError", "AttributeError", "ImportError", "TypeError")


# The title of a step, or how it begins; the module, where not all are edits of one; what stands there once; instead.
Row = tuple[str, str, str, str] | tuple[str, str, str]


def noticed(rows: Sequence[Row], *derivations: str, module: str = "") -> Callable[[Row], None]:
    """A test, to be given a name in a module: a step of these derivations fails wherever a module reads otherwise."""

    @pytest.mark.parametrize("row", rows, ids=[f"{row[0]}: {row[-1].strip()[:40]}" for row in rows])
    def test(row: Row) -> None:
        title, where, old, new = row if len(row) == 4 else (row[0], module, *row[1:])
        # Two claims can share a step.
        every = (step for name in derivations for step in DERIVATIONS[name].steps)
        steps = {step.title: step for step in every if step.title.startswith(title)}
        assert_noticed(list(steps.values()), where, old, new)

    return test


def assert_noticed(steps: Sequence[Step], module: str, old: str, new: str) -> None:
    """The one step fails where `old`, once in a module, reads `new`."""
    (step,) = steps
    source = source_of(module)
    assert source.count(old) == 1, f"{source.count(old)} places in {module} read {old!r}"
    outcome = prove(step, Kernel({module: source.replace(old, new)}), fail_fast=True)
    assert not outcome.holds
    assert not outcome.failed[0].startswith(_NO_FORMULA), outcome.failed[0]
