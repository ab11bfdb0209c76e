"""A derivation: steps in words and formulas, each with the exact checks that prove it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from certattn.theory.exactness import Check
from certattn.theory.kernel_reading import KERNEL, Kernel


@dataclass(frozen=True)
class Step:
    """One step.

    `words` are plain ASCII sentences, `formula` the lines shown in a terminal, `latex` the same
    lines for an align environment. `check` re-proves the step for a reading of the kernel.
    """

    title: str
    words: str
    formula: tuple[str, ...]
    latex: tuple[str, ...]
    check: Callable[[Kernel], Iterable[Check]]


@dataclass(frozen=True)
class Outcome:
    """What came of re-proving a step: the identities that hold, and those that do not."""

    step: Step
    proved: int
    failed: tuple[str, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Proved only if something was checked and nothing failed."""
        return self.proved > 0 and not self.failed


@dataclass(frozen=True)
class Derivation:
    """The formulas of one claim, derived from first principles."""

    name: str
    title: str
    source: str
    steps: tuple[Step, ...]

    def prove(self, kernel: Kernel = KERNEL) -> Iterator[Outcome]:
        """Re-prove every step, one after the other."""
        for step in self.steps:
            yield prove(step, kernel)


def prove(step: Step, kernel: Kernel = KERNEL, *, fail_fast: bool = False) -> Outcome:
    """Re-prove one step. A check that breaks down has not proved anything."""
    start = time.perf_counter()
    proved = 0
    failed: list[str] = []
    try:
        for check in step.check(kernel):
            if check.holds is True:
                proved += 1
            else:
                failed.append(check.name)
            if failed and fail_fast:
                break
    except Exception as error:
        failed.append(f"{type(error).__name__}: {error}")
    return Outcome(step, proved, tuple(failed), time.perf_counter() - start)
