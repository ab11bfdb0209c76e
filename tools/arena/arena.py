"""An arena for checkers: certificates that must verify, certificates that must not, and who gets which right.

    python tools/arena/arena.py write DIR                                    the corpus as files, with expected.json
    python tools/arena/arena.py run                                          every checker that is here, over all of it
    python tools/arena/arena.py run --checker kernel --checker recheck --claim max-margin --by-claim
    python tools/arena/arena.py run --checker coq --sample 3 --seed 1        three accepts and three rejects a claim

A *false accept* verifies a certificate that must not verify. *True, not verified* is a certificate that must
verify and is refused. *Other verdict* (of the kernel) is a refusal with another verdict or for another reason
than the corpus says. *Not covered*: the checker says that it cannot check such a certificate. *Crashed*: it
ended without an answer, which is not the right answer to anything.

Exit status 1 if a checker differs from the corpus in a case that it is not excused from, or is excused from one
in which it does not differ, or if a control checker, which is wrong on purpose, gets nothing wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.arena.checkers import CHECKERS, Answer, Checker, Outcome
from tools.arena.files import EXPECTED, Entry, read, sample, write

COLUMNS = (
    AGREED, FALSE_ACCEPT, NOT_VERIFIED, OTHER, NOT_COVERED, CRASHED,
) = "agreed", "false accepts", "true, not verified", "other verdict", "not covered", "crashed"  # fmt: skip
WRONG = (FALSE_ACCEPT, NOT_VERIFIED, OTHER, CRASHED)
SHOWN = 20


def standing(entry: Entry, answer: Answer) -> tuple[str, str]:
    """The column that an answer falls into, and in words what is wrong with it, if anything."""
    if answer.outcome is Outcome.CRASHED:
        return CRASHED, answer.said
    if answer.outcome is Outcome.NOT_COVERED:
        return NOT_COVERED, ""
    if answer.outcome is Outcome.VERIFIED and not entry.accepted:
        return FALSE_ACCEPT, f"verified, expected {entry.verdict}"
    if answer.outcome is Outcome.REFUSED and entry.accepted:
        return NOT_VERIFIED, answer.said
    if answer.report is not None and (complaint := entry.complaint(answer.report)):
        return OTHER, complaint
    return AGREED, ""


@dataclass
class Score:
    """What a checker did: cases by claim and column, and every difference from the corpus, by case."""

    checker: Checker
    claims: dict[str, Counter[str]] = field(default_factory=dict)
    differences: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, entry: Entry, answer: Answer) -> None:
        column, words = standing(entry, answer)
        self.claims.setdefault(entry.claim, Counter())[column] += 1
        if column in WRONG:
            self.differences[f"{entry.claim}: {entry.case}"] = f"{column}: {words}" if words else column

    @property
    def total(self) -> Counter[str]:
        return sum(self.claims.values(), Counter())

    def errors(self, chosen: Iterable[Entry]) -> list[str]:
        """Why this score fails the arena."""
        if self.checker.control:
            return [] if self.differences else ["a control checker that gets nothing wrong: the arena measures nothing"]
        names = {f"{entry.claim}: {entry.case}" for entry in chosen}
        stale = names & (self.checker.excused.keys() - self.differences.keys())
        wrong = [f"{name}: {words}" for name, words in self.differences.items() if name not in self.checker.excused]
        return wrong + [f"{name}: excused, but there is no difference any more" for name in sorted(stale)]


def run(checker: Checker, chosen: Sequence[Entry], folder: Path, jobs: int = 1) -> Score:
    """Hold one checker against entries of the corpus in `folder`."""
    score, started = Score(checker), time.monotonic()
    paths = [folder / entry.file for entry in chosen]
    with multiprocessing.get_context("fork").Pool(jobs) if jobs > 1 else contextlib.nullcontext() as pool:
        answers = pool.imap(functools.partial(_ask, checker.name), paths, 8) if pool else map(checker, paths)
        for entry, answer in zip(chosen, answers, strict=True):
            score.add(entry, answer)
    score.seconds = time.monotonic() - started
    return score


def _ask(name: str, path: Path) -> Answer:
    """By name: checkers themselves do not travel between processes."""
    return CHECKERS[name](path)


# -- tables


def rows(scores: Sequence[Score], by_claim: bool) -> list[tuple[str, ...]]:
    """A row for each checker, and with `by_claim` one for each claim below it."""
    found: list[tuple[str, ...]] = [("checker", "cases", *COLUMNS)]
    for score in scores:
        found.append(_row(score.checker.name, score.total))
        found += [_row(f"  {claim}", score.claims[claim]) for claim in sorted(score.claims) if by_claim]
    return found


def _row(title: str, counts: Counter[str]) -> tuple[str, ...]:
    return title, f"{counts.total():,}", *(f"{counts[column]:,}" for column in COLUMNS)


def text(table: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(row, widths, strict=True)) for row in table)
    )
    return "\n".join(lines)


def markdown(table: Sequence[Sequence[str]]) -> str:
    head, *body = (f"| {' | '.join(cell.strip() for cell in row)} |" for row in table)
    return "\n".join([head, f"|---|{'---:|' * (len(table[0]) - 1)}", *body])


def as_json(scores: Sequence[Score], missing: dict[str, str]) -> str:
    content: dict[str, Any] = {"missing": missing, "checkers": {}}
    for score in scores:
        claims = {claim: {"cases": counts.total(), **counts} for claim, counts in sorted(score.claims.items())}
        content["checkers"][score.checker.name] = {
            "control": score.checker.control, "seconds": round(score.seconds, 1), "cases": score.total.total(),
            **{column: score.total[column] for column in COLUMNS}, "claims": claims, "differences": score.differences,
        }  # fmt: skip
    return json.dumps(content, indent=1, ensure_ascii=False)


# -- the commands


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="write the corpus as files")
    writing.add_argument("folder", type=Path, help="a new or an empty folder")
    running = commands.add_parser("run", help="hold checkers against the corpus")
    running.add_argument("--checker", action="append", choices=CHECKERS, help="all that are here, if none is named")
    running.add_argument("--corpus", type=Path, help="a folder that `write` has written; made anew if not given")
    running.add_argument("--sample", type=int, help="so many accepts and so many rejects of each claim")
    running.add_argument("--seed", type=int, default=0, help="of the sample")
    running.add_argument("--jobs", type=int, default=1, help="processes")
    running.add_argument("--by-claim", action="store_true")
    running.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    for command in (writing, running):
        command.add_argument("--claim", action="append", metavar="NAME", help="only this claim; can be repeated")
    options = parser.parse_args(arguments)
    try:
        return _write(options) if options.command == "write" else _run(options)
    except (OSError, ValueError) as error:
        parser.error(str(error))


def _write(options: argparse.Namespace) -> int:
    written = write(options.folder, options.claim)
    if not written:
        raise ValueError(f"no claim of the corpus is called {' or '.join(options.claim)}")
    accepted = sum(entry.accepted for entry in written)
    claims = len({entry.claim for entry in written})
    print(f"{len(written)} certificates of {claims} claims: {accepted} accept, {len(written) - accepted} reject")
    print(f"what is expected of each: {options.folder / EXPECTED}")
    return 0


def _run(options: argparse.Namespace) -> int:
    named = options.checker or list(CHECKERS)
    missing = {name: why for name in named if (why := CHECKERS[name].missing())}
    if options.corpus is not None:
        return _report(options, missing, named, options.corpus)
    with tempfile.TemporaryDirectory(prefix="arena-") as folder:
        write(Path(folder), options.claim)
        return _report(options, missing, named, Path(folder))


def _report(options: argparse.Namespace, missing: dict[str, str], named: list[str], folder: Path) -> int:
    chosen = [entry for entry in read(folder) if not options.claim or entry.claim in options.claim]
    chosen = sample(chosen, options.sample, options.seed)
    if not chosen:
        raise ValueError("there are no such cases: see the names of claims in docs/claims")
    scores = [run(CHECKERS[name], chosen, folder, options.jobs) for name in named if name not in missing]
    errors = {score.checker.name: found for score in scores if (found := score.errors(chosen))}
    if options.format == "json":
        print(as_json(scores, missing))
    else:
        show = markdown if options.format == "markdown" else text
        print(show(rows(scores, options.by_claim)))
        # Not in the table: somebody may paste it into a page.
        for name, why in missing.items():
            print(f"{name}: not here: {why}", file=sys.stderr)
    for name, found in errors.items():
        for line in found[:SHOWN]:
            print(f"{name}: {line}", file=sys.stderr)
        if len(found) > SHOWN:
            print(f"{name}: and {len(found) - SHOWN} more (--format json has all)", file=sys.stderr)
    # Whoever asks for a checker by name and does not get it must not take silence for agreement.
    return 1 if errors or (options.checker and missing) else 0


if __name__ == "__main__":
    sys.exit(main())
