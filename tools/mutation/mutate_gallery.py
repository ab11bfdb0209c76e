"""Change the certificates of the gallery in every small way, for as long as you like, and count what comes out.

    python tools/mutation/mutate_gallery.py --sample 50 --seed 1           so many changes of each certificate, drawn
    python tools/mutation/mutate_gallery.py --seconds 3600 --state FILE    an hour of it; the same command goes on
    python tools/mutation/mutate_gallery.py --state FILE --report          the totals so far, by claim

The changes, the second opinion and what counts as an error are those of `mutate_certificates`; here every
certificate for which the second opinion has an answer in good time is changed, all of them in turn, and each
claim gets the same share of the time. The order in which a certificate's changes are tried is drawn from the
seed, so that stopping early leaves a sample and going on ends with all of them.

Each turn runs in a process of its own. A change that takes longer than `--each` seconds, in the kernel or in
the second opinion, ends that process and is counted as given up; so is one that wants too much memory. An
exception is neither: it is a bug, and listed with the errors. Exit status 1 if there is any error.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from certattn.isolation.worker import bug
from certattn.kernel.document.certificate import load
from tools.mutation.mutate_certificates import Mutant, NotAStatement, Tally, Truth, judge, mutants, sweep

GALLERY = Path(__file__).resolve().parents[2] / "certificates"
# A certificate's share of a claim's time is spent in turns of so many seconds.
TURN = 4.0
# So many changes of one certificate are held in memory at a time.
HELD = 1000
MEMORY = 4 * 2**30
REPORT_EVERY = 300
# Processes are forked: what they need has been imported, and changes need not be sent to them.
FORK = multiprocessing.get_context("fork")


@dataclass
class Progress:
    """How far a certificate has come: `tried` of its changes, in the order that the seed draws, and what came out.

    `left_out` says why it is not changed at all. Of the true statements that did not verify there is a
    number in `missed`; lines are kept of errors.
    """

    claim: str
    tried: int = 0
    seconds: float = 0.0
    finished: bool = False
    left_out: str = ""
    mutants: int = 0
    verified_true: int = 0
    refuted_false: int = 0
    refused: int = 0
    undecided_false: int = 0
    missed: int = 0
    given_up: int = 0
    false_refutations: list[str] = field(default_factory=list)
    false_accepts: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        return [*self.false_accepts, *self.false_refutations, *self.others]

    def add(self, tally: Tally) -> None:
        for name in ("mutants", "verified_true", "refuted_false", "refused", "undecided_false"):
            setattr(self, name, getattr(self, name) + getattr(tally, name))
        self.missed += len(tally.not_verified)
        self.false_accepts += tally.false_accepts
        self.false_refutations += tally.false_refutations
        self.others += tally.collisions


class Sweep:
    """The gallery, certificate by certificate; `state` (a file, if any) is where it goes on and what it leaves."""

    def __init__(self, paths: list[Path], seed: int, each: float, state: Path | None) -> None:
        self.paths = {name_of(path): path for path in paths}
        self.seed, self.each, self.state = seed, each, state
        self.progress: dict[str, Progress] = {}
        # Of each certificate, the changes with the numbers from `start` on, in the order that the seed draws.
        self._held: dict[str, tuple[int, list[Mutant]]] = {}
        if state is not None and state.exists():
            stored = json.loads(state.read_text())
            if stored["seed"] != seed:
                raise SystemExit(f"{state} was begun with --seed {stored['seed']}, not {seed}: give that seed")
            self.progress = {name: Progress(**values) for name, values in stored["certificates"].items()}

    def save(self) -> None:
        if self.state is not None:
            content = {"seed": self.seed, "certificates": {n: asdict(p) for n, p in self.progress.items()}}
            beside = self.state.with_suffix(".new")
            beside.write_text(json.dumps(content, indent=1))
            beside.replace(self.state)

    def read(self) -> None:
        """Ask for the second opinion on every certificate as it stands; where there is none, it is left out."""
        for name, path in self.paths.items():
            if name not in self.progress:
                self.progress[name] = self._begin(path)
                self.save()

    def _begin(self, path: Path) -> Progress:
        progress = Progress(load(path).claim)
        for answer in within(lambda send: send(opinion(path)), self.each):
            if answer is None:
                progress.left_out = f"no second opinion within {self.each:g} s"
            else:
                progress.left_out, wrong = answer
                progress.others += [f"the certificate as it stands: {progress.left_out}"] if wrong else []
        return progress

    def turn(self, sample: int | None) -> bool:
        """Change the certificate whose claim, and which of its claim, has had the least time; false at the end."""
        spent: dict[str, float] = defaultdict(float)
        for progress in self.progress.values():
            spent[progress.claim] += progress.seconds
        open_ = [
            (spent[progress.claim], progress.seconds, name)
            for name, progress in self.progress.items()
            if name in self.paths and not progress.left_out and not progress.finished
            if sample is None or progress.tried < sample
        ]
        if open_:
            self._change(min(open_)[2], sample)
            self.save()
        return bool(open_)

    def _change(self, name: str, sample: int | None) -> None:
        path, progress = self.paths[name], self.progress[name]
        started = time.monotonic()
        queue = self._queue(name)[: None if sample is None else sample - progress.tried]
        progress.finished = not queue

        def work(send: Callable[[Tally | str], None]) -> None:
            known: dict[str, tuple[Truth, str]] = {}
            for mutant in queue:
                send(outcome(mutant, path.parent, known))

        # A turn ends early, or with an answer that never came: there are fewer answers than changes.
        for mutant, answer in zip(queue, within(work, self.each, TURN), strict=False):
            before = set(progress.errors)
            progress.tried += 1
            if isinstance(answer, Tally):
                progress.add(answer)
            else:
                progress.mutants += 1
                progress.given_up += answer is None
                progress.others += [] if answer is None else [f"{answer}: {mutant.change}"]
            for line in [line for line in progress.errors if line not in before]:
                print(f"{name}: {line}", flush=True)
        progress.seconds += time.monotonic() - started

    def _queue(self, name: str) -> list[Mutant]:
        """The changes of a certificate that are still to be tried, up to so many at a time."""
        tried = self.progress[name].tried
        start, held = self._held.get(name, (0, []))
        if not start <= tried < start + len(held):
            tree = load(self.paths[name]).plain
            order = list(range(sum(1 for _ in mutants(tree))))
            random.Random(f"{self.seed} {name}").shuffle(order)
            wanted = {number: place for place, number in enumerate(order[tried : tried + HELD])}
            found = {wanted[n]: mutant for n, mutant in enumerate(mutants(tree)) if n in wanted}
            start, held = tried, [found[place] for place in range(len(found))]
            self._held[name] = start, held
        return held[tried - start :]


def name_of(path: Path) -> str:
    """A certificate's name in the state and in messages: its path in the gallery."""
    return str(path.resolve().relative_to(GALLERY))


def opinion(path: Path) -> tuple[str, bool]:
    """Why a certificate of the gallery, which verifies, is not changed, if so; and whether that is an error."""
    try:
        judgement = judge(load(path).plain, path.parent)
    except NotAStatement as error:
        return f"not read by the second opinion: {error}", False
    if judgement.truth is Truth.FALSE:
        return f"false, by the second opinion (by {judgement.slack:.3g} at {judgement.where})", True
    if judgement.truth is Truth.UNKNOWN:
        return f"the second opinion has none: {judgement.where}", False
    return "" if judgement.provable else "not shown by its witness, by the second opinion", not judgement.provable


def outcome(mutant: Mutant, folder: Path, known: dict[str, tuple[Truth, str]]) -> Tally | str:
    """What came out for one change; in words where an exception did."""
    try:
        return sweep([mutant], folder, known)
    except MemoryError:
        raise
    except Exception as error:
        return bug(error)


def within(work: Callable[[Callable[[Any], None]], None], each: float, total: float = float("inf")) -> Iterator[Any]:
    """What `work` sends from a process of its own, as long as that is less than `each` seconds apart.

    Then, or where the process dies, a None follows, and that is the end. It ends without one after the
    first answer that comes later than `total` seconds after the start.
    """
    receiving, sending = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_work, args=(work, sending))
    process.start()
    sending.close()
    started = time.monotonic()
    try:
        while time.monotonic() - started < total:
            try:
                answer = receiving.recv() if receiving.poll(each) else None
            except EOFError:
                process.join()
                answer = None
                if process.exitcode == 0:
                    return
            yield answer
            if answer is None:
                return
    finally:
        process.kill()
        process.join()
        receiving.close()


def _work(work: Callable[[Callable[[Any], None]], None], sending: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        work(sending.send)
    except MemoryError:
        sys.exit(1)


# -- totals

COLUMNS = {
    "mutants": "changes", "verified_true": "verified, true", "refuted_false": "refuted, false", "refused": "refused",
    "undecided_false": "open, false", "missed": "true, not verified", "given_up": "given up",
    "false_refutations": "false refutations", "false_accepts": "false accepts", "others": "other errors",
}  # fmt: skip


def table(progress: dict[str, Progress]) -> str:
    """The totals by claim, with the certificates that are changed and those of the claim."""
    lines = [f"{'':<26}  certificates  {'  '.join(COLUMNS.values())}"]
    claims = sorted({each.claim for each in progress.values()})
    for title, chosen in [*((claim, {claim}) for claim in claims), ("all", set(claims))]:
        rows = [each for each in progress.values() if each.claim in chosen]
        changed = f"{sum(not each.left_out for each in rows)} of {len(rows)}"
        cells = ((words, sum(count(getattr(each, name)) for each in rows)) for name, words in COLUMNS.items())
        lines.append(f"{title:<26}  {changed:>12}" + "".join(f"  {cell:>{len(words)}}" for words, cell in cells))
    return "\n".join(lines)


def count(value: int | list[str]) -> int:
    return len(value) if isinstance(value, list) else value


def summary(progress: dict[str, Progress]) -> str:
    left_out = [f"left out: {name}: {each.left_out}" for name, each in progress.items() if each.left_out]
    errors = [f"{name}: {line}" for name, each in progress.items() for line in each.errors]
    seconds = sum(each.seconds for each in progress.values())
    return "\n".join([table(progress), *left_out, *errors, f"{seconds:.0f} s"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("certificates", nargs="*", type=Path, help="of the gallery; all of it if none is named")
    parser.add_argument("--sample", type=int, help="at most so many changes of each certificate")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--each", type=float, default=5.0, help="seconds after which a change is given up")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, help="where it goes on, and leaves what it has counted")
    parser.add_argument("--report", action="store_true", help="only print what the state holds")
    options = parser.parse_args()
    # Whoever ends this process ends the one that it has forked, too.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    paths = options.certificates or sorted(GALLERY.rglob("*.yaml"))
    started = shown = time.monotonic()
    for path in paths:
        if not path.exists() or GALLERY not in path.resolve().parents:
            parser.error(f"{path}: expected a certificate of the gallery, {GALLERY}")
    run = Sweep(paths, options.seed, options.each, options.state)
    if not options.report:
        run.read()
        while time.monotonic() - started < options.seconds and run.turn(options.sample):
            if time.monotonic() - shown > REPORT_EVERY:
                print(table(run.progress), flush=True)
                shown = time.monotonic()
    print(summary(run.progress))
    return 1 if any(each.errors for each in run.progress.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
