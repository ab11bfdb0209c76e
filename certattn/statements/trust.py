"""What a verdict rests on: the trusted files that its check has run, how long they are, and one hash over them.

Read from the sources: what a module imports when it is imported, and what functions in it import when they are called.
Of the second kind binary64 counts for verdicts that name it, what reads arrays for certificates that have some, and a
method, whose module notes its use, for checks that have used it. What opens archives counts for certificates that lie
in one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from certattn.kernel.theorems import CHAPTERS, module_of

PACKAGE = Path(__file__).resolve().parent.parent
_ROOT = PACKAGE.name
ARCHIVES = f"{_ROOT}.bundle.archive"
TRUSTED = (f"{_ROOT}.kernel", f"{_ROOT}.fast", ARCHIVES, f"{_ROOT}.bundle.container", f"{_ROOT}.bundle.names")
# What a check begins with, whatever the claim is.
CORE = f"{_ROOT}.kernel.decide.checker"
ARRAYS = f"{_ROOT}.kernel.document.arrays"
FAST = f"{_ROOT}.fast"
METHODS = f"{_ROOT}.kernel.methods"
# The order in which rooms are read; what else there is comes first.
_ROOMS = ("decide", "document", "mathematics", "given", *CHAPTERS, "fast", "bundle")

_DOCSTRING = re.compile(r'^ *r?"""(?:[^"\\]|\\.|"(?!""))*"""$', re.M)
_IMPORT = re.compile(rf"^( *)from ({_ROOT}[\w.]*) import (\([^)]*\)|[^\n]*)", re.M)
_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:(?: .*)?\n)+", re.M)


@dataclass(frozen=True)
class TrustedFile:
    """A module, its file, and what it imports at its start and later."""

    module: str
    path: Path
    lines: int
    at_start: tuple[str, ...]
    later: tuple[str, ...]

    @property
    def name(self) -> str:
        """From the package on, as a reader finds it."""
        return self.path.relative_to(PACKAGE.parent).as_posix()

    @property
    def room(self) -> str:
        """The part of the trusted code that it lies in; of theorems their chapter."""
        parts = self.module.removeprefix(f"{_ROOT}.").removeprefix("kernel.").removeprefix("theorems.").split(".")
        return parts[0] if parts[0] in _ROOMS else ""


@dataclass(frozen=True)
class Trust:
    """The files that a verdict rests on, in an order in which they can be read.

    `uses` says what it has used of what not every check needs: "arrays", "binary64", "archives", and methods by the
    names of their modules.
    """

    files: tuple[TrustedFile, ...]
    uses: tuple[str, ...]

    @cached_property
    def lines(self) -> int:
        """Lines of code: neither empty nor a comment or a docstring."""
        return sum(file.lines for file in self.files)

    @cached_property
    def rooms(self) -> list[str]:
        """Where the files lie, in their order."""
        return list(dict.fromkeys(file.room for file in self.files if file.room))

    @property
    def uses_numpy(self) -> bool:
        """Whether a file of these imports it."""
        return any("import numpy" in file.path.read_text(encoding="utf-8") for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """For reports."""
        return {
            "files": len(self.files),
            "lines": self.lines,
            "rooms": self.rooms,
            "uses": list(self.uses),
            "sha256": self.sha256,
        }

    @cached_property
    def sha256(self) -> str:
        """One hash over the names and the contents of all files."""
        whole = hashlib.sha256()
        for file in self.files:
            whole.update(f"{file.name} {hashlib.sha256(file.path.read_bytes()).hexdigest()}\n".encode("ascii"))
        return whole.hexdigest()


# Of a verdict on a certificate that lies in no archive.
ALL = frozenset({"arrays", "binary64"})


@cache
def trust_of(claim: str, uses: frozenset[str] | None = None) -> Trust:
    """What verdicts on a claim rest on that use this; where it is left out, all that checks of files may use."""
    # A theorem about binary64 itself rests on it, whatever the arithmetic of the proof.
    own = {"binary64"} if _reaches_binary64(module_of("kernel.theorems", claim)) else set()
    walk = _Walk(ALL if uses is None else uses | own, every_method=uses is None)
    for module in (CORE, module_of("kernel.theorems", claim), *([ARCHIVES] if "archives" in walk.uses else [])):
        walk.follow(module)
    # What is imported stands before what imports it, room by room; files without code are not read.
    files = sorted((file for file in walk.found.values() if file.lines), key=_place)
    named = {"arrays": ARRAYS, "binary64": FAST, "archives": ARCHIVES}
    there = [name for name, module in named.items() if any(file.module.startswith(module) for file in files)]
    return Trust(tuple(files), (*there, *(file.module for file in files if file.module in walk.methods)))


@dataclass
class _Walk:
    """Modules, and what they import, what is imported first."""

    uses: frozenset[str]
    every_method: bool
    found: dict[str, TrustedFile] = field(default_factory=dict)
    methods: set[str] = field(default_factory=set)

    def follow(self, module: str) -> None:
        file = _file(module)
        if file is None or module in self.found:
            return
        parents = module.split(".")
        for length in range(2, len(parents)):
            self.follow(".".join(parents[:length]))
        for other in file.at_start:
            self.follow(other)
        self.found.setdefault(module, file)
        for other in file.later:
            if self._counts(other):
                self.follow(other)

    def _counts(self, other: str) -> bool:
        if is_method(other):
            self.methods.add(other)
            return self.every_method or other in self.uses
        return (other != ARRAYS or "arrays" in self.uses) and ("binary64" in self.uses or not _reaches_binary64(other))


def is_method(module: str) -> bool:
    """Whether the module's functions note their use."""
    file = _file(module)
    return file is not None and METHODS in file.at_start and module != CORE


@cache
def _reaches_binary64(module: str) -> bool:
    """Whether a module lies in binary64, or imports it at its start."""
    file = _file(module)
    return f"{module}.".startswith(f"{FAST}.") or (file is not None and any(map(_reaches_binary64, file.at_start)))


def _place(file: TrustedFile) -> int:
    return _ROOMS.index(file.room) if file.room else -1


@cache
def _file(module: str) -> TrustedFile | None:
    """A trusted module of this name; None for another module, or for a name in one."""
    if not module.startswith(TRUSTED):
        return None
    base = PACKAGE.joinpath(*module.split(".")[1:])
    path = next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)
    if path is None:
        return None
    text = path.read_text(encoding="utf-8")
    named = [(bool(indent), each) for indent, each in _imports(_FOR_TYPES.sub("", text))]
    return TrustedFile(
        module,
        path,
        code_lines(text),
        tuple(dict.fromkeys(each for later, each in named if not later)),
        tuple(dict.fromkeys(each for later, each in named if later)),
    )


def _imports(text: str) -> Iterator[tuple[str, str]]:
    """The names of modules, or of what is in them, with the indentation of the import."""
    for indent, module, names in _IMPORT.findall(text):
        yield indent, module
        for name in re.findall(r"\w+", re.sub(r" as \w+|#.*", "", names)):
            yield indent, f"{module}.{name}"


def code_lines(text: str) -> int:
    """Lines that are neither empty nor a comment, nor part of a docstring."""
    lines = _DOCSTRING.sub("", text).splitlines()
    return sum(1 for line in lines if line.strip() and not line.lstrip().startswith("#"))
