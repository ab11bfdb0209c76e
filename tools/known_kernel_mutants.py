"""Ten changes of the kernel that would verify what is false or misread a number, and a test that notices each.

    python tools/known_kernel_mutants.py

The short form of `mutate_kernel.py`, with fixed changes and no library for mutation: seconds instead of an hour.
A line says what became of each; exit status 1 if one was not noticed, or if the tests fail without a change too.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mutant_runs import Collected, applied, changed_functions, copy_tree

SECONDS = 30


@dataclass(frozen=True)
class Known:
    """Text that stands once in a module of the kernel, what it becomes, and the test that fails then."""

    module: str
    before: str
    after: str
    test: str


KNOWN: tuple[Known, ...] = ()


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
        # Unchanged code in the place of changed code: the tests must pass where there is nothing to notice.
        first = KNOWN[0]
        source = (tree / first.module).read_text()
        functions = changed_functions(source, changed(first, source), str(tree / first.module)) or {}
        unchanged = runs.run(first.module, dict(zip(functions, functions, strict=True)), tests, SECONDS)
        print(f"unchanged: {unchanged.outcome} {unchanged.by} ({unchanged.ran} tests)")
        wrong = unchanged.outcome != "passed" or unchanged.ran != len(tests)
        for known in KNOWN:
            source = (tree / known.module).read_text()
            code = changed(known, source)
            functions = changed_functions(source, code, str(tree / known.module)) or {}
            with applied(tree, known.module, code):
                answer = runs.run(known.module, functions, [known.test], SECONDS)
            print(f"{answer.outcome}: {known.module}  {known.before}  =>  {known.after}  [{known.test}]")
            wrong |= answer.outcome != "killed" or answer.by != known.test
        runs.stop()
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
