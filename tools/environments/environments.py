"""What a check assumes of its process, measured: every environment must give the verdicts of the clean one.

    python tools/environments/environments.py                        a sample of gallery and arena, in every environment
    python tools/environments/environments.py --all --jobs 2         every certificate: hours
    python tools/environments/environments.py --only rounding --arithmetic arb --gallery all
    python tools/environments/environments.py --list                 the environments, and how each is made

Who is asked (--how): `api`, certattn.check(path) in the process itself; `isolated`, the same with isolated=True;
`command`, `certattn check`; `recheck`, the second checker in an isolated Python without site-packages. Compared are
verdict, digest, statement and reason, and of each obligation name, outcome, precision, arithmetic, and both sides as
printed where they are exact or Arb's. Binary64 may add in another order, or be left out for Arb where the report says
why.

Exit status 1 if an environment made something verified that is not, changed anything without the report saying why, was
not in force, or was itself changed by a check.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tools.arena.files import sample, write
from tools.environments import traps
from tools.environments.records import (
    API,
    CLEAN,
    COMMAND,
    ISOLATED,
    LOCALES,
    RECHECK,
    SOURCE,
    Environment,
    environments,
)

ROOT = Path(__file__).resolve().parents[2]
CHILD = ROOT / "tools" / "environments" / "child.py"
WAYS = (API, COMMAND, ISOLATED, RECHECK)
# Of the second checker's time for a certificate: whether it gets done is to be no question of the environment.
SECONDS = "3600"
# What is checked so that bytecode is written.
WRITING = [
    str(ROOT / "certificates" / "attention" / "softmax-mean" / name)
    for name in ("three-tokens.yaml", "gaussian-prompt.yaml")
]
# What no environment of a check is made of, unless a record says so.
FOREIGN = ("PYTHON", "LC_", "LANG", "OPENBLAS", "OMP_", "NPY_", "MALLOC_", "LD_", "GOTO_", "MKL_", "GITHUB_", "CI")
VERIFIED, NO_ANSWER = "verified", "no answer"
# Verdicts that claim nothing about the statement.
OPEN = ("inconclusive", "error", "exception", "undecided", "not covered", NO_ANSWER)
SHOWN = 12
NUMBER = re.compile(r"[0-9][0-9.]*(e[+-]?[0-9]+)?")

Report = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What a process said: a report for each path, what its probes saw before and after the checks, how it ended."""

    reports: dict[str, Report]
    seen: dict[str, str]
    after: dict[str, str]
    ended: str


@dataclass
class Finding:
    """What came of one environment, asked in one way.

    `wrong` is what must not be, `stopped` what has no verdict and says why, `other` counts what may differ and does.
    """

    environment: Environment
    how: str
    certificates: int = 0
    wrong: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    other: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


class Laboratory:
    """Runs jobs in environments, with what they share: a folder, the compiled helper, the locales, bytecode."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o755)
        self.library = self._compiled("words", ())
        self._lock = threading.RLock()
        self._number = 0

    def run(
        self, environment: Environment, how: str, paths: Sequence[str], probes: Sequence[str], arithmetic: str
    ) -> Run:
        """One process, with all these certificates."""
        with self._lock:
            self._number += 1
            place = self.folder / f"job{self._number}"
            place.mkdir()
            place.chmod(0o777)
            command, variables = self._command(environment, how, place, arithmetic)
        job = {
            "how": how, "paths": list(paths), "probes": list(probes), "arithmetic": arithmetic,
            "place": environment.place, "prelude": environment.prelude, "interlude": environment.interlude,
            "library": str(self.library),
            "answer": str(place / "answer"), "report": str(place / "report.json"), "seconds": SECONDS,
            "recheck": str(ROOT / "tools" / "recheck"),
        }  # fmt: skip
        (place / "job.json").write_text(json.dumps(job))
        (place / "answer").touch()
        (place / "answer").chmod(0o666)
        with (place / "stdout").open("wb") as out, (place / "stderr").open("wb") as err:
            done = subprocess.run([*command, str(CHILD), str(place / "job.json")], stdin=subprocess.DEVNULL,
                                  stdout=out, stderr=err, env=variables, cwd=ROOT, timeout=36_000)  # fmt: skip
        run = self._read(place, done.returncode, how)
        shutil.rmtree(place)
        return run

    def _command(
        self, environment: Environment, how: str, place: Path, arithmetic: str
    ) -> tuple[list[str], dict[str, str]]:
        variables = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
        variables |= {"LC_ALL": "C.UTF-8", "HOME": str(self.folder), **environment.variables}
        options = list(environment.options) + (["-I", "-S"] if how == RECHECK else ["-P"])
        options += ["-X", f"pycache_prefix={self._bytecode(environment, how, place, arithmetic)}"]
        if environment is not CLEAN and not Path(environment.bytecode).is_absolute():
            options.append("-B")
        if environment.customize:
            (place / "sitecustomize.py").write_text(environment.customize)
        if how != RECHECK:
            variables["PYTHONPATH"] = os.pathsep.join([str(place), str(ROOT)])
        preload = (
            self._compiled(f"preload{self._number}", environment.preload)
            if environment.preload
            else environment.library
        )
        launcher = list(environment.launcher)
        if preload:
            # By `env`, so that no launcher gets it.
            launcher += ["env", f"LD_PRELOAD={preload}"]
        if variables["LC_ALL"].split(".")[0] in LOCALES:
            variables["LOCPATH"] = str(self._locales(variables["LC_ALL"].split(".")[0]))
        return [*launcher, sys.executable, *options], variables

    def _compiled(self, name: str, definitions: Iterable[str]) -> Path:
        library = self.folder / f"{name}.so"
        flags = ["-shared", "-fPIC", "-O1", *(f"-D{definition}" for definition in definitions)]
        command = ["gcc", *flags, "-x", "c", "-", "-o", str(library)]
        subprocess.run(command, input=SOURCE, text=True, check=True, capture_output=True)
        library.chmod(0o755)
        return library

    def _locales(self, name: str) -> Path:
        folder = self.folder / "locales"
        if not (folder / f"{name}.UTF-8").exists():
            folder.mkdir(exist_ok=True)
            # A warning, as of what fa_IR leaves out, is an exit status of 1.
            subprocess.run(["localedef", "-i", name, "-f", "UTF-8", str(folder / f"{name}.UTF-8")], capture_output=True)
        return folder

    def _bytecode(self, environment: Environment, how: str, place: Path, arithmetic: str) -> Path:
        """The folder of compiled files; what another environment compiles is made by a check of its own."""
        if environment.bytecode == "warm":
            return self.folder / "bytecode"
        if environment.bytecode == "none":
            return place / "none"
        if Path(environment.bytecode).is_absolute():
            return Path(environment.bytecode)
        writer = next(one for one in environments() if one.name == environment.bytecode)
        folder = place / "written"
        folder.mkdir()
        self.run(replace(writer, bytecode=str(folder)), how, WRITING, [], arithmetic)
        for stem in environment.afresh:
            for file in folder.rglob(f"{stem}.*.pyc"):
                file.unlink()
        return folder

    def _read(self, place: Path, status: int, how: str) -> Run:
        said: dict[str, list[Any]] = {"seen": [], "after": [], "report": []}
        for line in (place / "answer").read_text().splitlines():
            what, content = json.loads(line)
            said[what].append(content)
        if how == RECHECK:
            text = (place / "stdout").read_text(errors="replace")
            start = text.find("{")
            with_seconds = json.loads(text[start:])["certificates"] if start >= 0 else []
            said["report"] = [{**one, "reason": one.pop("why")} for one in with_seconds]
        lines = (place / "stderr").read_text(errors="replace").strip().splitlines()
        last = next((line.strip()[:200] for line in reversed(lines) if "import time" not in line), "")
        how_it_ended = f"status {status}" if status >= 0 else signal.Signals(-status).name
        if status == 0 and not said["after"]:
            how_it_ended += ", without a last word"
        ended = "" if status == 0 and said["after"] else f"{how_it_ended}{': ' if last else ''}{last}"
        seen, after = (dict(said[what][0]) if said[what] else {} for what in ("seen", "after"))
        return Run({one["path"]: one for one in said["report"]}, seen, after, ended)


# -- comparing


def compare(finding: Finding, path: str, clean: Report, found: Report | None, run: Run, lie: bool) -> None:
    """Hold one report against the clean one."""
    finding.certificates += 1
    name = f"{Path(path).parent.name}/{Path(path).name}"
    if found is None:
        found = {"verdict": NO_ANSWER, "reason": run.ended}
    before, after = clean["verdict"], found["verdict"]
    said = found.get("reason", "")
    if after == VERIFIED and (before != VERIFIED or lie):
        finding.wrong.append(f"FALSE VERIFIED {name}: {before} in the clean environment")
    elif after != before:
        words = f"{name}: {before} became {after}: {said}"
        (finding.stopped if after in OPEN and said else finding.wrong).append(words)
    elif complaint := _difference(clean, found, finding.other):
        finding.wrong.append(f"{name}: {after}, but {complaint}")


def _difference(clean: Report, found: Report, other: Counter[str]) -> str:
    """What two reports of the same verdict disagree about, if they may not."""
    for key in ("digest", "statement", "claim"):
        if clean.get(key) != found.get(key):
            return f"the {key} is {found.get(key)!r}, not {clean.get(key)!r}"[:400]
    one, two = clean.get("obligations") or (), found.get("obligations") or ()
    if [(o["name"], o["outcome"], o["sentence"]) for o in one] != [
        (o["name"], o["outcome"], o["sentence"]) for o in two
    ]:
        return "the obligations or their outcomes differ"
    left_out = any("arithmetic was not used" in line for line in found.get("findings", ()))
    for first, second in zip(one, two, strict=True):
        binary64 = ["binary64" in o["arithmetic"] for o in (first, second)]
        if binary64 == [True, False] and left_out:
            other["decided in Arb, as the report says"] += 1
        elif (first["arithmetic"], first["bits"]) != (second["arithmetic"], second["bits"]):
            return f"{second['name']} is by {second['arithmetic']} in {second['bits']} bits, not {first['arithmetic']}"
        elif (sides := (first["left"], first["right"])) != (second["left"], second["right"]):
            if not all(binary64):
                return f"{second['name']} prints {second['left']}, {second['right']}, not {', '.join(sides)}"
            other["other digits in binary64"] += 1
    before, after = (report.get("reason") or "" for report in (clean, found))
    if not one and before != after:
        # The second checker prints the numbers of a message as doubles, which decide nothing.
        if "seconds" in clean and NUMBER.sub("", before) == NUMBER.sub("", after):
            other["other digits in a message"] += 1
            return ""
        return f"the reason is {after!r}, not {before!r}"[:400]
    return ""


def in_force(environment: Environment, how: str, run: Run, clean: Run) -> str:
    """Why an environment is not what its record says; nothing if it is."""
    probe = environment.probe
    seen, usual = run.seen.get(probe), clean.seen.get(probe)
    if usual is None:
        return "the probe does not work in the clean environment"
    if seen is None:
        return "" if run.ended else "the probe said nothing"
    if environment.shows is not None and seen != environment.shows:
        return f"not in force: the probe sees {seen}, expected {environment.shows}"
    if seen == usual and not environment.usual:
        return f"not in force: the probe sees {seen}, as in the clean environment"
    # A program may do with its process what it likes.
    if how in (API, ISOLATED) and run.after and run.after[probe] != seen:
        return f"a check changes the process: the probe sees {run.after[probe]} afterwards, {seen} before"
    return ""


# -- the matrix


@dataclass(frozen=True)
class Certificates:
    """Paths, and those of them that state what is false."""

    paths: list[str]
    lies: frozenset[str]


def gathered(folder: Path, gallery: str, arena: str, names: Sequence[str] = ()) -> Certificates:
    """The gallery (`all`, or so many files of each claim), the arena (likewise, of each kind) and the traps."""
    chosen: list[Path] = []
    for claim in sorted(path for path in (ROOT / "certificates").glob("*/*") if path.is_dir()):
        files = sorted(claim.glob("*.yaml"), key=lambda path: (path.stat().st_size, path.name))
        chosen += files if gallery == "all" else files[: int(gallery)]
    lies = set()
    if arena != "0":
        entries = write(folder / "arena")
        for entry in sample(entries, None if arena == "all" else int(arena), 0):
            chosen.append(folder / "arena" / entry.file)
            lies |= set() if entry.accepted else {str(chosen[-1])}
    (folder / "traps").mkdir()
    for trap in traps.write(folder / "traps"):
        chosen.append(trap.path)
        lies |= set() if trap.true else {str(trap.path)}
    paths = [str(path) for path in chosen if not names or any(name in str(path) for name in names)]
    if not paths:
        raise SystemExit("no certificate of the sample has such a name: --gallery all takes more")
    return Certificates(paths, frozenset(lies.intersection(paths)))


@dataclass
class Matrix:
    laboratory: Laboratory
    certificates: Certificates
    arithmetic: str = "auto"
    longest: float = 0.3
    _clean: dict[str, Run] = field(default_factory=dict)
    _left_out: dict[str, set[str]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def paths(self, how: str) -> list[str]:
        """What is asked: not what took too long in the clean run; where the API takes long, nobody else is asked."""
        without: set[str] = set()
        if how != API:
            self.clean(API)
        for asked in (API, how):
            without |= self._left_out.get(asked, set())
        return [path for path in self.certificates.paths if path not in without]

    def clean(self, how: str) -> Run:
        """The run that all others are compared with, made once. Raises ValueError where it is not clean."""
        with self._lock:
            if how not in self._clean:
                probes = sorted({one.probe for one in environments() if how in one.how})
                run = self.laboratory.run(CLEAN, how, self.paths(how), probes, self.arithmetic)
                if run.ended or len(run.reports) != len(self.paths(how)):
                    raise ValueError(f"the clean run of {how} ended: {run.ended}")
                lies = self.certificates.lies & run.reports.keys()
                if wrong := [path for path in lies if run.reports[path]["verdict"] == VERIFIED]:
                    raise ValueError(f"{how} verifies in the clean environment what is false: {wrong[:3]}")
                self._clean[how] = run
                self._left_out[how] = {path for path, report in run.reports.items() if spent(report) > self.longest}
            return self._clean[how]

    def ask(self, environment: Environment, how: str) -> Finding:
        finding, started, clean = Finding(environment, how), time.monotonic(), self.clean(how)
        reports = clean.reports
        paths = self.paths(how)
        try:
            run = self.laboratory.run(environment, how, paths, [environment.probe], self.arithmetic)
        except subprocess.SubprocessError as error:
            finding.wrong.append(f"could not be tried: {error}")
            return finding
        if complaint := in_force(environment, how, run, clean):
            finding.wrong.append(complaint)
        for path in paths:
            compare(finding, path, reports[path], run.reports.get(path), run, path in self.certificates.lies)
        if finding.stopped and how not in environment.stops:
            finding.wrong += finding.stopped
        elif how in environment.stops and not finding.stopped:
            finding.wrong.append(f"nothing was stopped, but the record says why it may be: {environment.stops[how]}")
        finding.seconds = time.monotonic() - started
        return finding


def spent(report: Report) -> float:
    """What a check took, in seconds."""
    if "seconds" in report:
        return float(report["seconds"])
    return sum(report.get("nanoseconds", {}).values()) / 1e9


def row(finding: Finding) -> str:
    environment = finding.environment
    state = "WRONG" if finding.wrong else "stopped" if finding.stopped else "same"
    words = "; ".join(f"{count} {what}" for what, count in finding.other.items())
    if finding.stopped:
        words = "; ".join(filter(None, (words, f"{len(finding.stopped)} of them stopped")))
    return (
        f"{environment.name:56} {finding.how:8} {finding.certificates:6,} {state:8} {finding.seconds:6.0f} s  {words}"
    ).rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", action="append", default=[], metavar="WORD", help="environments with this in the name"
    )
    parser.add_argument(
        "--how", action="append", choices=WAYS, help="who is asked; all that a record names if not given"
    )
    parser.add_argument("--arithmetic", choices=("auto", "arb", "binary64"), default="auto")
    parser.add_argument(
        "--gallery", default="1", metavar="N", help="so many files of each claim (the smallest), or all"
    )
    parser.add_argument(
        "--arena", default="1", metavar="N", help="so many accepts and rejects of each claim, 0, or all"
    )
    parser.add_argument("--certificate", action="append", default=[], metavar="WORD", help="only paths with this")
    parser.add_argument(
        "--longest", type=float, default=0.3, metavar="S", help="leave out what took longer, in seconds"
    )
    parser.add_argument("--all", action="store_true", help="the whole gallery and the whole arena")
    parser.add_argument("--jobs", type=int, default=1, help="environments at once")
    parser.add_argument("--list", action="store_true", help="only print the environments")
    parser.add_argument("--verbose", action="store_true", help="print every difference, and what was stopped")
    options = parser.parse_args(arguments)
    chosen = [one for one in environments() if not options.only or any(word in one.name for word in options.only)]
    if not chosen:
        parser.error("no environment has such a name: see --list")
    if options.list:
        for one in chosen:
            print(f"{one.name:56} {one.changes}{f' (not here: {why})' if (why := one.missing()) else ''}")
        return 0
    if options.all:
        options.gallery = options.arena = "all"
        options.longest = float("inf")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="environments-")))
        matrix = Matrix(
            Laboratory(folder),
            gathered(folder, options.gallery, options.arena, options.certificate),
            options.arithmetic,
            options.longest,
        )
        return _run(matrix, chosen, options, stack)


def _run(matrix: Matrix, chosen: list[Environment], options: argparse.Namespace, stack: ExitStack) -> int:
    missing = {one.name: why for one in chosen if (why := one.missing())}
    cells = [
        (one, how)
        for one in chosen
        for how in one.how
        if one.name not in missing and (not options.how or how in options.how)
        if options.arithmetic == "auto" or (one.arb and how != RECHECK)
    ]
    if not cells:
        raise SystemExit("no environment can be tried so here")
    shown = sys.stderr.isatty()
    for how in dict.fromkeys(how for _, how in cells):
        if shown:
            print(f"\rclean, {how} ...\x1b[K", end="", file=sys.stderr, flush=True)
        matrix.clean(how)
    pool = stack.enter_context(ThreadPoolExecutor(max(1, options.jobs)))
    found = []
    for done, finding in enumerate(pool.map(lambda cell: matrix.ask(*cell), cells)):
        found.append(finding)
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        print(row(finding), flush=True)
        said = finding.wrong + (finding.stopped if options.verbose else [])
        for line in said if options.verbose else said[:SHOWN]:
            print(f"    {line}")
        if len(said) > SHOWN and not options.verbose:
            print(f"    and {len(said) - SHOWN} more (--verbose)")
        if shown:
            print(f"{done + 1} of {len(cells)} ...", end="", file=sys.stderr, flush=True)
    for name, why in missing.items():
        print(f"{name:56} not tried: {why} is not here")
    wrong = [finding for finding in found if finding.wrong]
    checks = sum(finding.certificates for finding in found)
    names = {finding.environment.name for finding in found}
    print(f"{checks:,} checks in {len(names)} environments: {len(wrong)} of {len(found)} rows wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
