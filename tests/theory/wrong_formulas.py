"""Whether a derivation notices a kernel that runs another formula than the derived one."""

from __future__ import annotations

from certattn.theory import DERIVATIONS
from certattn.theory.derivation import prove
from certattn.theory.kernel_reading import Kernel, source_of

# An edit is to be caught as a wrong formula, not as text that Python cannot run.
_NO_FORMULA = ("SyntaxError", "NameError", "AttributeError", "ImportError", "TypeError")


def assert_noticed(derivation: str, title: str, module: str, old: str, new: str) -> None:
    """The one step of a derivation whose title begins like this fails where `old`, once in a module, reads `new`."""
    (step,) = [step for step in DERIVATIONS[derivation].steps if step.title.startswith(title)]
    source = source_of(module)
    assert source.count(old) == 1, f"{source.count(old)} places in {module} read {old!r}"
    outcome = prove(step, Kernel({module: source.replace(old, new)}), fail_fast=True)
    assert not outcome.holds
    assert not outcome.failed[0].startswith(_NO_FORMULA), outcome.failed[0]
