"""A derivation: steps in words and formulas, each with the exact checks that prove it.

What a step says stands in the file `CHAPTER/CLAIM.yaml` beside the modules of the checks, which it names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from certattn.kernel.theorems import CHAPTER_OF
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


def read(claim: str) -> Derivation:
    """The derivation of a claim, as it is written down."""
    path = Path(__file__).parent / CHAPTER_OF[claim] / f"{claim}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Derivation(claim, content["title"], content["source"], tuple(map(_step, content["steps"])))


def _step(written: dict[str, Any]) -> Step:
    """A step that is written out, or that stands `as` it is, under its title, in the derivation of another claim."""
    title = written["title"]
    if "as" in written:
        (step,) = [step for step in read(written["as"]).steps if step.title == title]
        return step
    checks = [_check(name) for name in written["checks"]]
    formula, latex = tuple(written["formula"]), tuple(written["latex"])
    return Step(title, written["words"], formula, latex, lambda kernel: chain.from_iterable(c(kernel) for c in checks))


def _check(name: str) -> Callable[[Kernel], Iterable[Check]]:
    """The function of this name, such as `training.weight_growth.check_lengths`, from here."""
    module, _, function = name.rpartition(".")
    found: Callable[[Kernel], Iterable[Check]] = getattr(import_module(f"{__package__}.{module}"), function)
    return found


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
