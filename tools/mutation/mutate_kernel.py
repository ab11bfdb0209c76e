"""Change the code of the kernel in small ways, and see whether the tests notice.

    python tools/mutation/kernel_test_map.py FOLDER tests/{kernel,fast} tests/test_gallery.py once: which test runs what
    python tools/mutation/mutate_kernel.py run FOLDER --critical        every site of the modules that decide and read
    python tools/mutation/mutate_kernel.py run FOLDER --sample 600      a stratified sample of all the others
    python tools/mutation/mutate_kernel.py run FOLDER --module causal.py every site of the modules of this name
    python tools/mutation/mutate_kernel.py again FOLDER                 the survivors, after tests were added
    python tools/mutation/mutate_kernel.py confirm FOLDER               all that were noticed, once more
    python tools/mutation/mutate_kernel.py report FOLDER

Needs the extra `mutation`. FOLDER lies outside the tree: it has a copy of the tree, in which the changes are made,
and `results.jsonl`, to which each mutant is added when it is done; a run that was interrupted goes on behind it.

What is changed and what is left out by rule is said in `kernel_mutants.py`. A mutant is judged by the tests that run
its lines, fastest first, those in front that killed other mutants of its module, in processes that are forked after
the libraries are imported. It is *killed* when one fails; *timeout*, when they take ten times as long as they should;
it *survived* when all of them passed, and is *open* when those passed for which there was time (`--budget`). Killed
and timeouts count as noticed. Survivors that are explained stand in `kernel_survivors.yaml`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutation import kernel_mutants
from tools.mutation.kernel_mutants import Change, Mutant
from tools.mutation.kernel_survivors import Explained, explained, unexplained
from tools.mutation.kernel_test_map import MAP, Test, covering, read
from tools.mutation.mutant_runs import ROOT, Answer, Collected, afresh, applied, changed_functions, copy_tree

RESULTS = "results.jsonl"
TREE = "tree"
# What decides, what compares, and what turns text into numbers: every site of these is mutated.
CRITICAL = tuple(
    f"certattn/kernel/{name}.py"
    for name in (
        "decide/proof", "decide/obligation", "decide/checker", "document/numbers", "document/reader",
        "mathematics/reals", "mathematics/exact_matrix", "mathematics/balls", "mathematics/softmax",
    )
)  # fmt: skip
NOTICED = ("killed", "timeout")
# Batches of tests, by the seconds they normally take: most mutants are noticed by the first.
_BATCHES = (0.5, 4.0, 30.0, math.inf)
_SLOWER = 10
# Seconds for starting, whatever the tests take; with importing and collecting where that is done each time.
_QUICK_START = 5
_START = 30
# Seconds for all parameters of the tests; ordinary runs of them take a part of it.
_WHOLE_SECONDS = 1200
# Files of tests that are imported at once where all is imported afresh, and about what that takes for each.
_FILES = 4
_SECONDS_PER_FILE = 1.0


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: `by` names the test that failed, `ran` of `covering` tests passed or failed."""

    outcome: str
    by: str
    ran: int
    covering: int


@dataclass(frozen=True)
class How:
    """`budget`: seconds of tests per mutant. `whole`: of those that pass, all parameters of the tests as well.

    `afresh`: never exchange functions. `until`: the time to stop at.
    """

    budget: float
    whole: bool
    afresh: bool
    until: float


# -- judging


def _preload() -> None:
    """Import what tests need and mutants do not change, once for all processes."""
    import flint  # noqa: F401
    import hypothesis  # noqa: F401
    import mpmath  # noqa: F401
    import numpy  # noqa: F401


def judge(
    tree: Path, mutant: Mutant, change: Change, tests: Sequence[Test], how: How, quick: Collected | None
) -> Outcome:
    """What the tests say of a mutant, batch after batch: quickly where that is wanted and possible, or afresh."""
    source = (tree / mutant.module).read_text()
    functions = changed_functions(source, change.code, str(tree / mutant.module)) if quick else None
    with applied(tree, mutant.module, change.code):
        answer = Answer("passed", "", 0)
        if quick and functions:
            answer = _answers(
                _batches(tests, how.budget), lambda names, seconds: quick.run(mutant.module, functions, names, seconds)
            )
            if answer.outcome == "passed" and answer.ran > 0 and how.whole:
                names = list(dict.fromkeys(test.name.split("[")[0] for test in tests))
                answer = quick.run(mutant.module, functions, names, _WHOLE_SECONDS)
        if answer == Answer("passed", "", 0):
            answer = _answers(
                _by_files(tests, mutant.module, how.budget),
                lambda names, seconds: afresh(tree, names, _START + seconds),
            )
    if answer.outcome != "passed":
        return Outcome(answer.outcome, answer.by, answer.ran, len(tests))
    # A test that was not found does not count as one that passed.
    return Outcome("survived" if answer.ran >= len(tests) else "open", "", answer.ran, len(tests))


def _answers(batches: Iterable[list[Test]], ask: Callable[[list[str], float], Answer]) -> Answer:
    """What batches of tests say together: the first that does not pass."""
    ran = 0
    for batch in batches:
        names = [test.name for test in batch]
        seconds = _QUICK_START + _SLOWER * sum(test.seconds for test in batch)
        answer = ask(names, seconds)
        if answer.by in names and ask([answer.by], seconds).outcome == "passed":
            # Not by itself: after the others once more, since a test may also fail for lack of time or room.
            answer = ask(names, seconds)
        ran += answer.ran
        if answer.outcome != "passed":
            return Answer(answer.outcome, answer.by, ran)
    return Answer("passed", "", ran)


def _by_files(tests: Sequence[Test], module: str, budget: float) -> Iterator[list[Test]]:
    """The tests of a few files at a time, since importing these takes longer than most tests: the nearest first."""
    stem = Path(module).stem
    files: dict[str, list[Test]] = {}
    for test in tests:
        files.setdefault(test.name.split("::")[0], []).append(test)
    # The order of the tests has what killed before in front, and so has that of their files, behind the own one.
    order = sorted(files, key=lambda file: Path(file).stem != f"test_{stem}")
    spent = 0.0
    while order and spent < budget:
        near, order = order[:_FILES], order[_FILES:]
        batch = [test for file in near for test in files[file]]
        chosen = list(itertools.chain(*_batches(sorted(batch, key=lambda test: test.seconds), budget - spent)))
        spent += sum(test.seconds for test in chosen) + _SECONDS_PER_FILE * len(near)
        yield chosen


def _batches(tests: Sequence[Test], budget: float) -> Iterator[list[Test]]:
    """Tests in their order, cut where the seconds together reach the next of _BATCHES; up to the budget."""
    batch: list[Test] = []
    spent = 0.0
    limits = iter(_BATCHES)
    limit = next(limits)
    for test in tests:
        if spent + test.seconds > budget and spent > 0:
            break
        if batch and spent + test.seconds > limit:
            yield batch
            batch = []
            while spent + test.seconds > limit:
                limit = next(limits)
        batch.append(test)
        spent += test.seconds
    if batch:
        yield batch


def in_order(tests: Sequence[Test], module: str, killers: Counter[str]) -> list[Test]:
    """What killed before in front, most often first; then the fastest of all files, of the own file before others.

    Tests of a file are alike: the n-th of a file counts as n times as slow.
    """
    own, seen, cost = Path(module).stem, Counter[str](), {}
    for test in sorted(tests, key=lambda test: test.seconds):
        seen[test.stem] += 1
        cost[test.name] = test.seconds * seen[test.stem] / (1 + (test.stem == own))
    return sorted(tests, key=lambda test: (-killers[test.name], cost[test.name]))


# -- results


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """The last result of each mutant, by its key."""
    path = folder / RESULTS
    if not path.exists():
        return {}
    return {entry["key"]: entry for entry in map(json.loads, path.read_text().splitlines())}


def run(folder: Path, mutants: Iterable[Mutant], how: How, say: Callable[[str], None]) -> None:
    """Judge mutants, and add what becomes of them to the results."""
    tree = folder / TREE
    tests = read(folder / MAP)
    before = results(folder)
    killers: dict[str, Counter[str]] = {}
    for entry in before.values():
        killers.setdefault(entry["module"], Counter())[entry["by"]] += 1
    _preload()
    quick = None if how.afresh else Collected(tree, sorted({test.name.split("::")[0] for test in tests}))
    sound: dict[str, bool] = {}
    for mutant in mutants:
        if time.time() > how.until:
            break
        change = kernel_mutants.change(mutant, (ROOT / mutant.module).read_text())
        if change is None:
            continue
        of_module = killers.setdefault(mutant.module, Counter())
        last = before[mutant.key]["by"] if mutant.key in before else ""
        start = time.perf_counter()
        outcome = Outcome("killed", "", 0, 0)
        while not sound.get(outcome.by, False):
            usable = [test for test in tests if sound.get(test.name, True)]
            chosen = covering(usable, mutant.module, frozenset(mutant.lines))
            chosen = sorted(in_order(chosen, mutant.module, of_module), key=lambda test: test.name != last)
            outcome = judge(tree, mutant, change, chosen, how, quick)
            if outcome.outcome != "killed" or "::" not in outcome.by:
                break
            # A test that fails without a change too says nothing.
            if outcome.by not in sound:
                sound[outcome.by] = _passes_unchanged(tree, outcome.by, quick)
        of_module[outcome.by] += 1
        entry = {
            "key": mutant.key,
            "module": mutant.module,
            "operator": mutant.operator,
            "line": mutant.line,
            "source": mutant.source,
            "before": change.before,
            "after": change.after,
            "seconds": round(time.perf_counter() - start, 1),
            **outcome.__dict__,
        }
        with (folder / RESULTS).open("a") as file:
            file.write(json.dumps(entry) + "\n")
        say(f"{outcome.outcome:8} {mutant.module}:{mutant.line}  {change.before}  =>  {change.after}  [{outcome.by}]")
    if quick is not None:
        quick.stop()


def _passes_unchanged(tree: Path, test: str, quick: Collected | None) -> bool:
    answer = quick.run("", {}, [test], _WHOLE_SECONDS) if quick else Answer("passed", "", 0)
    if answer == Answer("passed", "", 0):
        answer = afresh(tree, [test], _WHOLE_SECONDS)
    return answer.outcome == "passed"


def all_sites(only: Callable[[str], bool]) -> list[list[kernel_mutants.Site]]:
    """The sites of chosen modules, module by module."""
    return [
        kernel_mutants.sites(module, (ROOT / module).read_text())[0]
        for module in kernel_mutants.modules(ROOT)
        if only(module)
    ]


# -- what is said of them


def wilson(part: int, whole: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's interval of a share, at 95 %."""
    if whole == 0:
        return 0.0, 1.0
    share, square = part / whole, z * z / whole
    middle = share + square / 2
    half = z * math.sqrt(share * (1 - share) / whole + square / (4 * whole))
    return (middle - half) / (1 + square), (middle + half) / (1 + square)


def _line(name: str, entries: Sequence[Mapping[str, Any]], known: Iterable[Explained]) -> str:
    counts = Counter(entry["outcome"] for entry in entries)
    noticed = sum(counts[outcome] for outcome in NOTICED)
    low, high = wilson(noticed, len(entries))
    left = [entry for entry in entries if entry["outcome"] not in NOTICED]
    without = len(unexplained(left, known))
    cells = (name, len(entries), *(counts[o] for o in ("killed", "timeout", "survived", "open")), len(left) - without)
    share = f"{noticed / max(1, len(entries)):.1%}"
    return "| " + " | ".join(str(cell) for cell in (*cells, share, f"{low:.1%} to {high:.1%}")) + " |"


def report(folder: Path, say: Callable[[str], None], *, by_module: bool) -> int:
    """Say the counts; the number of survivors without an explanation is returned."""
    entries = [entry for entry in results(folder).values() if entry["source"] == _digest(entry["module"])]
    known = explained()
    say("| modules | mutants | killed | timeout | survived | open | of these explained | noticed | at 95 % |")
    say("|---|---|---|---|---|---|---|---|---|")
    critical = [entry for entry in entries if entry["module"] in CRITICAL]
    others = [entry for entry in entries if entry["module"] not in CRITICAL]
    for name, part in (("critical", critical), ("all others", others)):
        say(_line(name, part, known))
    if by_module:
        for module in sorted({entry["module"] for entry in entries}):
            of_module = [entry for entry in entries if entry["module"] == module]
            say(_line(f"`{module.removeprefix('certattn/')}`", of_module, known))
    left = unexplained([entry for entry in entries if entry["outcome"] not in NOTICED], known)
    for entry in left:
        say(f"{entry['outcome']}, not explained: {entry['module']}:{entry['line']}")
        say(f"    {entry['before']}\n    {entry['after']}")
    return len(left)


def _digest(module: str) -> str:
    path = ROOT / module
    return kernel_mutants.digest(path.read_text()) if path.exists() else ""


def _known(folder: Path, *, noticed: bool) -> Iterator[Mutant]:
    """The mutants of results, of modules as they are: those noticed, or those that were not and are not explained."""
    entries = [entry for entry in results(folder).values() if (entry["outcome"] in NOTICED) is noticed]
    keys = {entry["key"] for entry in (entries if noticed else unexplained(entries, explained()))}
    found = all_sites(lambda module: any(key.startswith(f"{module}:") for key in keys))
    for of_module in found:
        yield from (mutant for mutant in kernel_mutants.in_full(of_module) if mutant.key in keys)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "again", "confirm", "report"))
    parser.add_argument("folder", type=Path, help="where the map of the tests is, outside the tree")
    parser.add_argument("--critical", action="store_true", help="every site of the critical modules")
    parser.add_argument("--full", action="store_true", help="with --critical or --module: every mutant of every site")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="N mutants of all the other modules")
    parser.add_argument("--module", action="append", default=[], metavar="NAME", help="every site of these modules")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default 0)")
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests per mutant (default 60)")
    parser.add_argument("--whole", action="store_true", help="run also the parameters of tests that are not in the map")
    parser.add_argument("--afresh", action="store_true", help="import everything anew for each mutant")
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after this time; the run can go on later")
    parser.add_argument("--modules", action="store_true", help="report: a line for each module")
    options = parser.parse_args(arguments)
    if options.what == "report":
        return 1 if report(options.folder, print, by_module=options.modules) else 0
    copy_tree(options.folder / TREE)
    until = time.time() + 60 * options.minutes
    done = results(options.folder)

    def say(line: str) -> None:
        print(line, flush=True)

    def judged(mutants: Iterable[Mutant]) -> None:
        how = How(options.budget, options.whole, options.afresh, until)
        run(options.folder, mutants, how, say)

    if options.what in ("again", "confirm"):
        judged(_known(options.folder, noticed=options.what == "confirm"))
        return 0
    if unknown := set(options.module) - {Path(module).name for module in kernel_mutants.modules(ROOT)}:
        parser.error(f"no module of the kernel is called {', '.join(sorted(unknown))}")
    if options.critical or options.module:
        found = all_sites(
            lambda module: (options.critical and module in CRITICAL) or Path(module).name in options.module
        )
        every = (mutant for of_module in found for mutant in kernel_mutants.in_full(of_module))
        judged(m for m in (every if options.full else kernel_mutants.drawn(found, options.seed)) if m.key not in done)
    if options.sample:
        found = all_sites(lambda module: module not in CRITICAL)
        chosen = itertools.islice(kernel_mutants.drawn(found, options.seed), options.sample)
        judged(mutant for mutant in chosen if mutant.key not in done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
