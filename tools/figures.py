"""The house in figures: what has to be read to believe a verdict, what a check costs, how modules hang together.

    python tools/figures.py                  all of it; the last part takes a minute or more
    python tools/figures.py code audit       lines of code; what each verdict rests on
    python tools/figures.py imports          cycles between files, arrows against the layers
    python tools/figures.py times            what a small check, a head and the gallery cost

A line of code is a physical line that holds a token other than a comment or a docstring. Beside a figure stands what
it is to be at most. An audit path is what a claim's modules and the core of the checker import, within the trusted
folders, read from the sources: wherever an import stands, but for those that only type checkers see; these count for
cycles and layers. Where modules lie is not known here, but for the names of folders, so that trees of different
layouts can be compared with `--tree`.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import re
import resource
import statistics
import subprocess
import sys
import time
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

PACKAGE = "certattn"
ROOMS = ("certattn", "certificates", "docs", "tests", "tools")
# What decides, with the folder of binary64 where it stands for itself; what confines, and what says it in words.
TRUSTED = ("kernel", "fast")
ASIDE = ("isolation", "statements")
# The folders whose modules are named after claims; theorems lie below them in chapters.
THEOREMS = ("claims", "theorems")
CHAPTERS = ("attention", "prompts", "selection", "training", "spectrum", "arithmetic")
# Binary64 is trusted by verdicts that name it.
FAST = ("fast", "binary64")
# What reads array files, and hands their rows to it.
READERS = ("arrays", "array_formats", "bit_patterns", "stored_arrays", "stored_prompts")
# What these import of the trusted folders is the core of the checker, whatever the claim.
CORE = ("_api", "statements.checking")
_CLAIM = re.compile(r"^claim: *(\S+)", re.M)
_IMPORTED = re.compile(r"^import time: +(\d+) \| +\d+ \| +(\S+)", re.M)
_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT,
    tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A number with its title. `most` is the goal, what it is to be at most, and `note` how it came about."""

    title: str
    value: float
    most: float | None = None
    note: str = ""

    def __str__(self) -> str:
        shown = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:.2f}"
        words = f"goal: {self.most:,}" if self.most is not None else ""
        return f"{shown:>10}  {words:<16}{self.title}{f' ({self.note})' if self.note else ''}"


# -- lines


def code_lines(source: str) -> int:
    """The number of lines that hold code."""
    documented = list(_docstrings(source))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        in_docstring = any(start <= token.start and token.end <= end for start, end in documented)
        if token.type not in _LAYOUT and not in_docstring:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines)


def _docstrings(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where each docstring begins and ends."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if ast.get_docstring(node) is not None else None
            if first is not None:
                yield (first.lineno, first.col_offset), (first.end_lineno or 0, first.end_col_offset or 0)


# -- modules


@dataclass(frozen=True)
class Module:
    """A file of the package, by its dotted name."""

    name: str
    path: Path

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def folder(self) -> str:
        """The package that its file lies in."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @cached_property
    def source(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def parsed(self) -> ast.Module:
        return ast.parse(self.source)

    @cached_property
    def lines(self) -> int:
        return code_lines(self.source)

    def within(self, *folders: str) -> bool:
        """Whether it lies in a folder of one of these names, however deep."""
        return bool(set(folders) & set(self.folder.split(".")[1:]))


@dataclass(frozen=True)
class House:
    """The modules of a tree, and who imports whom."""

    tree: Path

    @cached_property
    def modules(self) -> dict[str, Module]:
        found = {}
        for path in sorted((self.tree / PACKAGE).rglob("*.py")):
            parts = path.relative_to(self.tree).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path)
        if not found:
            raise ValueError(f"{self.tree} is no checkout: there is no package {PACKAGE} in it")
        return found

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """Of each module the modules of the package that it names in its imports, those for type checkers too."""
        return {name: set(self._named(module, ast.walk(module.parsed))) for name, module in self.modules.items()}

    @cached_property
    def needs(self) -> dict[str, set[str]]:
        """Of each module those that it imports when it runs, at its start or later."""
        return {name: set(self._named(module, _run(module.parsed))) for name, module in self.modules.items()}

    def _named(self, module: Module, nodes: Iterable[ast.AST]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names if alias.name in self.modules)
            elif isinstance(node, ast.ImportFrom):
                parents = module.folder.split(".")
                base = ".".join(parents[: len(parents) - node.level + 1]) if node.level else ""
                source = ".".join(filter(None, (base, node.module)))
                for alias in node.names:
                    inner = f"{source}.{alias.name}"
                    if inner in self.modules or source in self.modules:
                        yield inner if inner in self.modules else source

    # -- audit paths

    @cached_property
    def claims(self) -> list[str]:
        """Those that the gallery has certificates of."""
        texts = (path.read_text(encoding="utf-8") for path in (self.tree / "certificates").rglob("*.yaml"))
        return sorted({match[1] for text in texts if (match := _CLAIM.search(text))})

    def theorem(self, claim: str) -> set[str]:
        """The modules that are named after a claim: a file, or a folder of them."""
        stem = claim.replace("-", "_")
        named = {name for name, module in self.modules.items() if module.within(*TRUSTED) and module.within(*THEOREMS)}
        found = {name for name in named if name.rpartition(".")[2] == stem or f".{stem}." in name}
        if not found:
            raise ValueError(f"the claim {claim} has no module {stem} below a folder {' or '.join(THEOREMS)}")
        return found

    @cached_property
    def core(self) -> set[str]:
        """What a check of any claim imports at its start, theorems left out."""
        theorems = {name for claim in self.claims for name in self.theorem(claim)}
        entrances = [self.modules[name] for name in (f"{PACKAGE}.{each}" for each in CORE) if name in self.modules]
        first = {name for each in entrances for name in self._named(each, _run(each.parsed, deferred=False))}
        return self._closure({name for name in first if self._is_trusted(name)}, theorems)

    def audit_path(self, claim: str) -> list[Module]:
        """The files that a verdict on a claim rests on, by the sources; files without code are left out."""
        # What leads from a theorem to the checker, and so to all theorems, is a mistake that is to be seen.
        found = self.core | self._closure(self.theorem(claim), set())
        return [self.modules[name] for name in sorted(found) if self.modules[name].lines]

    def least_path(self, claim: str) -> list[Module]:
        """Those of a certificate whose numbers are all written out, checked without binary64."""
        path = self.audit_path(claim)
        return [m for m in path if not m.within(*FAST) and m.name.rpartition(".")[2] not in READERS]

    def _is_trusted(self, name: str) -> bool:
        module = self.modules[name]
        return module.within(*TRUSTED) and not module.within(*ASIDE)

    def _closure(self, roots: set[str], without: set[str]) -> set[str]:
        """Roots and what they import in trusted folders, with the packages that these lie in."""
        found: set[str] = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name in found or name in without or name not in self.modules or not self._is_trusted(name):
                continue  # a folder without an __init__.py is no module
            found.add(name)
            parts = name.split(".")
            waiting += [".".join(parts[:length]) for length in range(2, len(parts))]
            waiting += self.needs[name]
        return found

    # -- the picture of imports

    @property
    def cycles(self) -> list[list[str]]:
        """Groups of modules that import each other, each sorted."""
        reached = {name: self._reached(name) for name in self.modules}
        groups = {
            tuple(sorted({name} | {other for other in reached[name] if name in reached[other]}))
            for name in self.modules
            if name in reached[name]
        }
        return sorted(map(list, groups))

    def _reached(self, name: str) -> set[str]:
        found: set[str] = set()
        waiting = list(self.imports[name])
        while waiting:
            other = waiting.pop()
            if other not in found:
                found.add(other)
                waiting += self.imports[other]
        return found

    @property
    def layers(self) -> list[list[set[str]]]:
        """Of each stack of layers in pyproject.toml its layers, from the top: packages or modules by their names."""
        settings = tomllib.loads((self.tree / "pyproject.toml").read_text(encoding="utf-8"))
        contracts = settings.get("tool", {}).get("importlinter", {}).get("contracts", [])
        return [
            [{f"{container}.{name.strip(' ()')}" for name in re.split("[|:]", layer)} for layer in contract["layers"]]
            for contract in contracts
            if contract["type"] == "layers"
            for container in contract.get("containers", [PACKAGE])
        ]

    @property
    def upward(self) -> list[tuple[str, str]]:
        """Imports that lead from a layer to one above it or beside it."""
        found = set()
        for stack in self.layers:
            places = {name: place for place, layer in enumerate(stack) for name in layer}
            for name, others in self.imports.items():
                for other in others:
                    one, two = _layer(name, places), _layer(other, places)
                    if one and two and one != two and places[one] >= places[two]:
                        found.add((name, other))
        return sorted(found)

    @property
    def across(self) -> list[tuple[str, str]]:
        """Imports from the theorems of a chapter to those of another."""
        return sorted(
            (name, other)
            for name, others in self.imports.items()
            for other in others
            if (one := self._chapter(name)) and (two := self._chapter(other)) and one != two
        )

    def _chapter(self, name: str) -> str:
        parts = name.split(".")
        if "theorems" not in parts[:-1]:
            return ""
        chapter = parts[parts.index("theorems") + 1]
        return chapter if chapter in CHAPTERS else ""


def _layer(name: str, places: dict[str, int]) -> str:
    """The layer that a module lies in."""
    return next((layer for layer in places if name == layer or name.startswith(f"{layer}.")), "")


def _run(node: ast.AST, *, deferred: bool = True) -> Iterator[ast.AST]:
    """Everything but what is for type checkers alone, and without `deferred` but what stands in functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).rpartition(".")[2] == "TYPE_CHECKING":
            for other in child.orelse:
                yield other
                yield from _run(other, deferred=deferred)
        elif deferred or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _run(child, deferred=deferred)


# -- what is printed


@dataclass
class Part:
    """Figures, and lines with more about them."""

    figures: list[Figure] = field(default_factory=list)
    more: list[str] = field(default_factory=list)


def code(house: House) -> Part:
    """Lines of code and files, by folder."""
    part = Part()
    trusted = [module for module in house.modules.values() if module.within(*TRUSTED)]
    isolated = [module for module in house.modules.values() if module.within("isolation")]
    inside = [module for module in trusted if not module.within(*ASIDE)]
    folders = Counter(module.folder for module in trusted)
    largest, files = folders.most_common(1)[0]
    part.figures += [
        Figure("lines of code in kernel and fast", sum(module.lines for module in inside), 14_500),
        Figure("files of them", len(inside), 150),
        Figure("files in the largest of their folders", files, 40, largest),
    ]
    deciding = [module for module in trusted if module.within("decide", "document")]
    there = " and ".join(name for name in ("decide", "document") if any(module.within(name) for module in deciding))
    part.figures.append(
        Figure(
            "lines of code in decide and document", sum(module.lines for module in deciding), 1_700, f"there is {there}"
        )
    )
    isolation = sum(module.lines for module in isolated)
    part.figures.append(Figure("lines of code in isolation", isolation, 600, "" if isolated else "no such folder"))
    python = [path for room in ROOMS for path in sorted((house.tree / room).rglob("*.py"))]
    physical = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in python)
    part.figures.append(Figure(f"lines of all Python in {', '.join(ROOMS)}", physical, 130_000))
    shown = Counter({module.folder: 0 for module in house.modules.values() if module.within(*TRUSTED, *ASIDE)})
    for module in house.modules.values():
        if module.folder in shown:
            shown[module.folder] += module.lines
    every = Counter(module.folder for module in house.modules.values())
    part.more += [f"{lines:>10,} lines {every[folder]:>5} files  {folder}" for folder, lines in sorted(shown.items())]
    return part


def audit(house: House) -> Part:
    """What each verdict rests on."""
    part, paths = Part(), {claim: house.audit_path(claim) for claim in house.claims}
    lines = {claim: sum(module.lines for module in path) for claim, path in paths.items()}
    files = {claim: len(path) for claim, path in paths.items()}
    least = {claim: house.least_path(claim) for claim in house.claims}
    written = {claim: sum(module.lines for module in path) for claim, path in least.items()}
    longest = max(lines, key=lambda claim: lines[claim])
    core = [house.modules[name] for name in house.core if house.modules[name].lines]
    part.figures += [
        Figure("lines of code of an audit path, median", int(statistics.median(lines.values())), 2_100),
        Figure("files of an audit path, median", int(statistics.median(files.values())), 20),
        Figure("lines of code of the longest audit path", lines[longest], 4_300, longest),
        Figure("files of the audit path that has most", max(files.values())),
        Figure("lines of the median where numbers are written out", int(statistics.median(written.values()))),
        Figure("files of it", int(statistics.median(map(len, least.values())))),
        Figure("lines of the longest where numbers are written out", max(written.values())),
        Figure("lines of code of the core, in every path", sum(m.lines for m in core), None, f"{len(core)} files"),
    ]  # fmt: skip
    part.more += [
        f"{lines[claim]:>10,} lines {files[claim]:>5} files  {claim:<26}{written[claim]:>7,} written out"
        for claim in house.claims
    ]
    return part


def imports(house: House) -> Part:
    """How modules hang together."""
    part, cycles, upward, across = Part(), house.cycles, house.upward, house.across
    part.figures += [
        Figure("cycles of imports between files", len(cycles), 0),
        Figure("imports upwards or sideways between the layers of pyproject.toml", len(upward), 0),
        Figure("imports between chapters of theorems", len(across), 0),
    ]
    part.more += [f"  cycle: {', '.join(cycle)}" for cycle in cycles]
    part.more += [f"  upwards: {one} -> {other}" for one, other in upward]
    part.more += [f"  across: {one} -> {other}" for one, other in across]
    return part


# -- what is measured

SMALL = "infinite-prompt-operator/gaussian-d1.yaml"
HEAD = "output-deviation/layer0-head6.yaml"
PACKAGES = "import click, yaml, numpy, flint"


def times(house: House, runs: int = 7) -> Part:
    """What checks cost, as medians. Processor time is the user's and the system's, with that of workers."""
    small, head = (_certificate(house, name) for name in (SMALL, HEAD))
    check = [sys.executable, "-m", PACKAGE, "check"]
    baseline = [sys.executable, "-c", PACKAGES]
    ratios: dict[str, list[float]] = {"imports": [], "wall": [], "processor": []}
    heads: list[float] = []
    spent(house, [*check, str(head)])  # compiles modules and fills the system's caches
    for _ in range(runs):
        ratios["imports"].append(_importing(house, small) / import_seconds(house, baseline[1:]))
        one, other = spent(house, [*check, str(small)]), spent(house, baseline)
        ratios["wall"].append(one[0] / other[0])
        ratios["processor"].append(one[1] / other[1])
        heads.append(spent(house, [*check, str(head)])[1])
    gallery = house.tree / "certificates"
    whole = spent(house, [*check, str(gallery), "--jobs", "2"])
    median = {name: statistics.median(found) for name, found in ratios.items()}
    return Part(
        [
            Figure(f"imports of a small check by those of `{PACKAGES}`", median["imports"], 1.2, "-X importtime"),
            Figure("processor time of the two processes, likewise", median["processor"]),
            Figure("time of the two processes by the clock, likewise", median["wall"]),
            Figure("seconds of processor for the README's head", statistics.median(heads), 0.30),
            Figure("seconds for the gallery, --jobs 2", whole[0], 18, f"{os.cpu_count()} processors, load {load()}"),
            Figure("seconds of processor for it", whole[1]),
        ]
    )


def load() -> str:
    """How busy the machine is: what the clock says holds for an idle one only."""
    return f"{os.getloadavg()[0]:.1f}"


def _certificate(house: House, name: str) -> Path:
    """A certificate of the gallery by claim and file, whatever folder these lie in."""
    found = list((house.tree / "certificates").rglob(name))
    if len(found) != 1:
        raise ValueError(f"the gallery has {len(found)} certificates {name}, expected one")
    return found[0]


def spent(house: House, command: Sequence[str]) -> tuple[float, float]:
    """Seconds by the clock and of the processor. Raises subprocess.CalledProcessError where a command fails."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=house.tree, env=_environment())
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _environment() -> dict[str, str]:
    """One in which modules are compiled once, as those of an installed package are, whatever this one says."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def import_seconds(house: House, arguments: Sequence[str]) -> float:
    """Seconds that a run of Python spends on imports."""
    return sum(_imported(house, arguments).values()) / 1e6


def _importing(house: House, certificate: Path) -> float:
    """Seconds that a check from the command line spends on imports.

    A worker's stay with it, so that what is imported by a check in one process is added.
    """
    alone = _imported(house, ["-c", f"import {PACKAGE}; {PACKAGE}.check({str(certificate)!r})"])
    return sum({**alone, **_imported(house, ["-m", PACKAGE, "check", str(certificate)])}.values()) / 1e6


def _imported(house: House, arguments: Sequence[str]) -> dict[str, int]:
    """Microseconds of each module of its own."""
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=house.tree, env=_environment())
    return {name: int(microseconds) for microseconds, name in _IMPORTED.findall(done.stderr)}


PARTS = {"code": code, "audit": audit, "imports": imports, "times": times}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all if none is named")
    here = next(folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").is_file())
    parser.add_argument("--tree", type=Path, default=here, help="another checkout")
    options = parser.parse_args(arguments)
    if unknown := set(options.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    house = House(options.tree.resolve())
    for name in options.parts or PARTS:
        try:
            part = PARTS[name](house)
        except ValueError as error:
            parser.error(str(error))
        print(f"{name}: {(PARTS[name].__doc__ or '').splitlines()[0]}")
        print("\n".join([*map(str, part.figures), *([""] if part.more else []), *part.more]) + "\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
