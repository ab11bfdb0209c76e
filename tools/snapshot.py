"""What the checker says of the whole gallery and the whole arena, as a file; what differs between two such files.

    python tools/snapshot.py cases FOLDER                            the arena's cases, as folders of certificates
    python tools/snapshot.py write FILE --cases FOLDER --jobs 2      what this tree says of them and of its gallery
    python tools/snapshot.py write FILE --cases FOLDER --tree OTHER  what another checkout says
    python tools/snapshot.py compare OLD NEW --allow LINES           every difference, by kind

For changes that must change nothing. Of the package only `certattn.check` is used, in processes of its own, so
that one tool, and cases that were written once, serve trees whose modules lie elsewhere. Without `--cases` the
arena of the tree itself is taken.

A line of the file that `--allow` names is `case,kind,from,to,reason` (CSV; `#` starts a comment). `*` matches
anything in the first four; without a reason a line counts for nothing. Differences are printed in this form.
Exit status 1 if a difference is not listed, or a line is listed that no difference needs; 2 for bad input.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import importlib
import io
import json
import os
import queue
import random
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import astuple, dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

# Of a report, and of each of its obligations; what is long goes by its hash. What is named here can differ.
TEXTS = ("verdict", "claim", "digest", "reason", "obligation", "arithmetic", "bits", "limit", "place")
HASHED = ("statement", "findings")
COLUMNS = ("relation", "outcome", "part", "bits", "arithmetic")
# By weight, the heaviest first.
KINDS = (
    "case", "verdict", "claim", "digest", "names", "order", "outcome", "part", "relation", "bits", "arithmetic",
    "sides", "sentence", "statement", "findings", "reason", "obligation", "place", "limit",
)  # fmt: skip
# Of these a report has no obligations, so that nothing but the verdict can be compared with another's.
EMPTY = ("malformed", "crashed")
CRASHED = "crashed"
# Of one certificate; the slowest of the gallery takes seconds.
SECONDS = 600
SHOWN = 20
_CLAIM = re.compile(r"^claim: *(\S+)", re.M)
_ABSENT = ("there is no such case", "a case")


@dataclass(frozen=True)
class Case:
    """A certificate. `name` is the same in every tree; `kind` is what it is drawn by for a sample."""

    name: str
    claim: str
    kind: str
    path: Path


@dataclass(frozen=True)
class Difference:
    case: str
    kind: str
    old: str
    new: str


@dataclass(frozen=True)
class Allowed:
    """A line of the file of allowed differences: patterns, and why."""

    case: str
    kind: str
    old: str
    new: str
    reason: str

    def covers(self, difference: Difference) -> bool:
        # Names of obligations hold square brackets, which patterns would take for character sets.
        return all(
            fnmatchcase(found, pattern.replace("[", "[[]"))
            for found, pattern in zip(astuple(difference), astuple(self), strict=False)
        )


# -- cases


def tree_of(path: Path) -> Path:
    """The checkout that a file of `tools` lies in, however deep."""
    return next(folder for folder in path.resolve().parents if (folder / "pyproject.toml").is_file())


def write_cases(tree: Path, folder: Path) -> None:
    """Write the arena's cases of a tree into a new or empty folder. Raises ValueError with what its script says."""
    scripts = sorted((tree / "tools").rglob("arena.py"))
    if len(scripts) != 1:
        raise ValueError(f"expected one arena.py below {tree / 'tools'}, found {len(scripts)}")
    done = subprocess.run(
        [sys.executable, scripts[0], "write", folder],
        env={**os.environ, "PYTHONPATH": str(tree)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise ValueError(f"{scripts[0]}: {done.stderr.strip()}")


def arena(folder: Path) -> list[Case]:
    """The cases that `write_cases` has written."""
    found = []
    for entry in json.loads((folder / "expected.json").read_text(encoding="utf-8")):
        kind = "accept" if entry["verdict"] == "verified" else "reject"
        found.append(Case(f"arena: {entry['claim']}: {entry['case']}", entry["claim"], kind, folder / entry["file"]))
    return found


def gallery(tree: Path) -> list[Case]:
    """The certificates of a tree, named by their last folder and file, whatever folders these lie in."""
    found = []
    for path in sorted((tree / "certificates").rglob("*.yaml")):
        claim = _CLAIM.search(path.read_text(encoding="utf-8"))
        found.append(Case(f"gallery: {path.parent.name}/{path.name}", claim[1] if claim else "", "gallery", path))
    return found


def chosen(cases: list[Case], only: Sequence[str], sample: int | None, seed: int) -> list[Case]:
    """Those of some claims, and at most `sample` of each kind of each claim."""
    if unknown := set(only) - {case.claim for case in cases}:
        raise ValueError(f"there is no case of the claim {', '.join(sorted(unknown))}")
    kinds: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        if not only or case.claim in only:
            kinds.setdefault((case.claim, case.kind), []).append(case)
    if sample is None:
        return [case for kind in kinds.values() for case in kind]
    draws = {key: random.Random(f"{seed} {' '.join(key)}") for key in kinds}
    return [case for key, kind in kinds.items() for case in draws[key].sample(kind, min(sample, len(kind)))]


# -- what a checker says


def record(check: Callable[..., Any], path: Path) -> dict[str, Any]:
    """What is kept of the report on a file. It is checked from its own folder, and no message keeps where that is."""
    os.chdir(path.parent)
    try:
        said = check(path.name, detail=True).to_dict()
    except Exception as error:
        return {"verdict": CRASHED, "reason": f"{type(error).__name__}: {error}"}
    reason = said["reason"].replace(str(path.parent), ".").replace(str(path.parent.parent), "..")
    return {
        **{name: said[name] for name in TEXTS},
        "reason": reason,
        **{name: _hash(said[name]) for name in HASHED},
        "obligations": [
            [obligation["name"], *(obligation[column] for column in COLUMNS),
             _hash([obligation["left"], obligation["right"]]), _hash(obligation["sentence"])]
            for obligation in said["obligations"]
        ],
    }  # fmt: skip


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def answer(tree: Path) -> None:
    """Check with `tree` what standard input names, a path a line: for each a line of JSON on standard output."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # nothing else may get among the lines
        sys.path.insert(0, str(tree))
        certattn = importlib.import_module("certattn")
        if not Path(str(certattn.__file__)).resolve().is_relative_to(tree):
            raise ImportError(f"certattn was found in {certattn.__file__}, not in {tree}")
        for line in sys.stdin:
            print(json.dumps(record(certattn.check, Path(json.loads(line)))), file=out, flush=True)


class Worker:
    """A process that answers for one certificate after another, and is started anew if one of them ends it."""

    def __init__(self, tree: Path) -> None:
        # -P: what lies beside this file must not be found where the package looks for something.
        self._command = [sys.executable, "-P", str(Path(__file__).resolve()), "answer", str(tree)]
        self._process: subprocess.Popen[str] | None = None

    def ask(self, path: Path) -> dict[str, Any]:
        process = self._process or subprocess.Popen(
            self._command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        watch = threading.Timer(SECONDS, process.kill)
        watch.start()
        try:
            process.stdin.write(json.dumps(str(path.resolve())) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watch.cancel()
        if line:
            content: dict[str, Any] = json.loads(line)
            return content
        self._process = None
        status = process.wait()
        if status >= 0:
            raise ValueError(f"the process that checks ended with status {status} at {path}; it has said why above")
        return {"verdict": CRASHED, "reason": f"ended by signal {-status}"}

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def records(cases: Sequence[Case], tree: Path, jobs: int) -> list[dict[str, Any]]:
    """What the checker of `tree` says of each case, sorted by name."""
    found: list[dict[str, Any]] = []
    with ExitStack() as stack:
        free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for _ in range(jobs):
            worker = Worker(tree)
            stack.callback(worker.end)
            free.put(worker)

        def ask(case: Case) -> dict[str, Any]:
            worker = free.get()
            try:
                return {"case": case.name, **worker.ask(case.path)}
            finally:
                free.put(worker)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        stack.callback(pool.shutdown, cancel_futures=True)
        for content in pool.map(ask, cases):
            found.append(content)
            if sys.stderr.isatty():
                print(f"\r{len(found):,} of {len(cases):,}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    return sorted(found, key=lambda content: str(content["case"]))


# -- what differs


def read(path: Path) -> dict[str, dict[str, Any]]:
    """A file that `write` has written, by case. Raises ValueError for any other."""
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            content = json.loads(line)
            name, _ = content["case"], content["verdict"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path}:{number}: not a line of a snapshot") from None
        if name in found:
            raise ValueError(f"{path}:{number}: the case {name!r} stands there already")
        found[name] = content
    if not found:
        raise ValueError(f"{path}: no case in it, so nothing can be compared")
    return found


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[Difference]:
    """What differs between two records of a case."""
    case = old["case"]
    if old["verdict"] != new["verdict"] and (old["verdict"] in EMPTY or new["verdict"] in EMPTY):
        yield Difference(case, "verdict", old["verdict"], new["verdict"])
        return
    for kind in (*TEXTS, *HASHED):
        if old.get(kind) != new.get(kind):
            yield Difference(case, kind, _text(old.get(kind)), _text(new.get(kind)))
    before, after = _by_name(old), _by_name(new)
    yield from (Difference(case, "names", name, "") for name in before if name not in after)
    yield from (Difference(case, "names", "", name) for name in after if name not in before)
    orders = [name for name in before if name in after], [name for name in after if name in before]
    if moved := next((pair for pair in zip(*orders, strict=True) if pair[0] != pair[1]), None):
        yield Difference(case, "order", *moved)
    for name in orders[0]:
        for kind, one, other in zip((*COLUMNS, "sides", "sentence"), before[name], after[name], strict=True):
            if one != other:
                yield Difference(case, kind, f"{name}: {_text(one)}", f"{name}: {_text(other)}")


def _by_name(content: dict[str, Any]) -> dict[str, list[Any]]:
    """The obligations in their order. One whose name was there before gets a number: none hides another."""
    found: dict[str, list[Any]] = {}
    times: Counter[str] = Counter()
    for name, *columns in content.get("obligations", ()):
        times[name] += 1
        found[name if times[name] == 1 else f"{name} (time {times[name]})"] = columns
    return found


def _text(value: Any) -> str:
    """A value on one line."""
    return value.replace("\n", "\\n") if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def all_differences(
    old: dict[str, dict[str, Any]], new: dict[str, dict[str, Any]], sampled: bool = False
) -> list[Difference]:
    """What differs between two snapshots; where the new one is a sample, cases that only the old one has do not."""
    found = [Difference(name, "case", *_ABSENT) for name in sorted(new.keys() - old.keys())]
    if not sampled:
        found += [Difference(name, "case", *_ABSENT[::-1]) for name in sorted(old.keys() - new.keys())]
    for name in sorted(old.keys() & new.keys()):
        found += differences(old[name], new[name])
    return found


def read_allowed(path: Path) -> list[Allowed]:
    """The lines of a file of allowed differences. Raises ValueError for one that says too little."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        (fields,) = csv.reader([line])
        if len(fields) != 5 or not fields[4].strip():
            raise ValueError(f"{path}:{number}: expected case,kind,from,to,reason, found {line!r}")
        if fields[1] != "*" and fields[1] not in KINDS:
            raise ValueError(f"{path}:{number}: the kind {fields[1]!r} is none of {', '.join(KINDS)}")
        found.append(Allowed(*fields))
    return found


@dataclass
class Comparison:
    """The differences that are not allowed, how many are, and the lines that nothing needs."""

    open: list[Difference] = field(default_factory=list)
    allowed: int = 0
    unused: list[Allowed] = field(default_factory=list)

    def shown(self, most: int | None = SHOWN) -> Iterator[str]:
        """Line by line, by kind."""
        for kind in KINDS:
            group = [difference for difference in self.open if difference.kind == kind]
            if group:
                cases = len({difference.case for difference in group})
                yield f"{kind}: {len(group):,} differences in {cases:,} cases"
                yield from (f"  {_csv(difference)}" for difference in group[:most])
            if most is not None and len(group) > most:
                yield f"  and {len(group) - most:,} more (--all)"
        yield from (f"no difference needs this line any more: {_csv(line)}" for line in self.unused)


def compared(found: Sequence[Difference], lines: Sequence[Allowed], sampled: bool = False) -> Comparison:
    """Differences against what is allowed. Of a sample, lines that nothing needs say nothing."""
    result, used = Comparison(), set()
    for difference in found:
        covering = [line for line in lines if line.covers(difference)]
        used.update(covering)
        if covering:
            result.allowed += 1
        else:
            result.open.append(difference)
    result.unused = [line for line in lines if line not in used and not sampled]
    return result


def _csv(line: Difference | Allowed) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(astuple(line))
    return stream.getvalue()


# -- the commands


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    exporting = commands.add_parser("cases", help="write the arena's cases once, for trees to come")
    exporting.add_argument("folder", type=Path, help="a new or an empty folder")
    writing = commands.add_parser("write", help="write what the checker says")
    writing.add_argument("file", type=Path)
    writing.add_argument("--cases", type=Path, help="a folder that `cases` has written; made anew if not given")
    writing.add_argument("--jobs", type=int, default=1, help="processes")
    writing.add_argument("--only", action="append", default=[], metavar="CLAIM", help="can be repeated")
    writing.add_argument("--sample", type=int, help="so many of the gallery, accepts and rejects of each claim")
    writing.add_argument("--seed", type=int, default=0, help="of the sample")
    for command in (exporting, writing):
        command.add_argument("--tree", type=Path, default=tree_of(Path(__file__)), help="another checkout")
    comparing = commands.add_parser("compare", help="say what differs")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--allow", type=Path, metavar="FILE", help="the differences that there may be")
    comparing.add_argument("--sampled", action="store_true", help="NEW is of some of the cases only")
    comparing.add_argument("--all", action="store_true", help="print every difference")
    commands.add_parser("answer").add_argument("tree", type=Path)  # how `write` runs this file again
    options = parser.parse_args(arguments)
    try:
        return int(_COMMANDS[options.command](options))
    except (OSError, ValueError) as error:
        parser.error(str(error))


def _cases(options: argparse.Namespace) -> int:
    write_cases(options.tree.resolve(), options.folder.resolve())
    print(f"{len(arena(options.folder)):,} cases in {options.folder}")
    return 0


def _write(options: argparse.Namespace) -> int:
    tree = options.tree.resolve()
    if not (tree / "certattn" / "__init__.py").is_file():
        raise ValueError(f"{tree} is no checkout: there is no package certattn in it")
    with tempfile.TemporaryDirectory(prefix="snapshot-") as scratch:
        folder = options.cases
        if folder is None:
            folder = Path(scratch) / "cases"
            write_cases(tree, folder)
        cases = chosen([*gallery(tree), *arena(folder)], options.only, options.sample, options.seed)
        found = records(cases, tree, max(1, options.jobs))
    options.file.write_text("".join(json.dumps(content) + "\n" for content in found), encoding="utf-8")
    read(options.file)  # what cannot be compared is said now
    obligations = sum(len(content.get("obligations", ())) for content in found)
    verdicts = Counter(content["verdict"] for content in found)
    said = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(f"{tree}: {len(found):,} cases, {obligations:,} obligations: {said}")
    return 0


def _compare(options: argparse.Namespace) -> int:
    old, new = read(options.old), read(options.new)
    lines = read_allowed(options.allow) if options.allow else []
    result = compared(all_differences(old, new, options.sampled), lines, options.sampled)
    for line in result.shown(None if options.all else SHOWN):
        print(line)
    print(
        f"{len(old.keys() & new.keys()):,} cases in both: {len(result.open):,} differences,"
        f" {result.allowed:,} more that are allowed"
    )
    return 1 if result.open or result.unused else 0


def _answer(options: argparse.Namespace) -> int:
    answer(options.tree)
    return 0


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "cases": _cases, "write": _write, "compare": _compare, "answer": _answer,
}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
