"""Which program decides: one digest of all that a verdict rests on beside the certificate and the options.

The kernel's sources and their bytecode, the package's other sources, the interpreter and what it runs when it starts,
the libraries with all their files, the processor, and the variables of the environment that change how these compute.
Another digest is another program, whose verdicts are not believed. Of the interpreter and its standard library only the
version counts.
"""

from __future__ import annotations

import compileall
import hashlib
import json
import os
import platform
import site
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source, find_spec
from pathlib import Path

import flint
import yaml

import certattn.kernel
from certattn._start import IMPORTED_NS
from certattn.cache.errors import UnusableError

# The names under which the libraries of the kernel are installed, by the names under which they are imported.
_LIBRARIES = {"flint": "python-flint", "numpy": "numpy", "yaml": "pyyaml"}
_ENVIRONMENT = ("DYLD_", "GLIBC_", "LD_", "MKL_", "NPY_", "OMP_", "OPENBLAS_", "PYTHON", "GOTO_", "BLIS_", "VECLIB_")
_PROCESSOR = (
    "vendor_id", "cpu family", "model", "model name", "stepping", "microcode", "flags",
    "Features", "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision",
)  # fmt: skip
# Clocks of file systems tick rarely, some every two seconds.
_TICK_NS = 2 * 10**9


def program_digest() -> str:
    """SHA-256 in hex. Raises UnusableError where files may not be what this process has loaded from them."""
    kernel = Path(certattn.kernel.__path__[0])
    content = {
        "kernel": dict(_kernel(kernel)),
        "python": [sys.version, sys.implementation.name, sys.flags.optimize, sys.byteorder],
        "startup": dict(_startup()),
        "package": dict(_sources(kernel.parent)),
        "system": [sys.platform, platform.machine(), _c_library(), *_processor()],
        "libraries": {name: _library(name, project) for name, project in _LIBRARIES.items()},
        "versions": [flint.__version__, flint.__FLINT_VERSION__, yaml.__version__],
        "environment": {name: os.environ[name] for name in sorted(os.environ) if name.startswith(_ENVIRONMENT)},
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _kernel(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and SHA-256 of every file: sources, their bytecode, and whatever else Python may find there."""
    if not sys.dont_write_bytecode:
        # Else the first check of each claim would write bytecode, and by that be another program.
        compileall.compile_dir(folder, quiet=2)
    files = _files(folder)
    if not any(file.suffix == ".py" for file in files):
        raise UnusableError(f"{folder} has no source files; expected certattn's kernel")
    for path in files:
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                yield path.relative_to(folder).as_posix(), hashlib.sha256(file.read()).hexdigest()
        except OSError as error:
            raise UnusableError(f"{path} cannot be read ({(error.strerror or str(error)).lower()})") from None
        if path.suffix == ".py":
            _require_loaded(path, status)


def _files(folder: Path) -> list[Path]:
    """All files in a folder and below, without the bytecode of other interpreters."""
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    tag = sys.implementation.cache_tag or ""
    return [path for path in found if path.parent.name != "__pycache__" or f".{tag}." in path.name]


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and SHA-256 of every source file: what calls the kernel could change it."""
    for path in sorted(folder.rglob("*.py")):
        try:
            yield path.relative_to(folder).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise UnusableError(f"{path} cannot be read ({(error.strerror or str(error)).lower()})") from None


def _startup() -> Iterator[tuple[str, str]]:
    """Name and SHA-256 of what the interpreter runs before any program."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    found = [path for folder in folders for path in sorted(Path(folder).glob("*.pth"))]
    for name in ("sitecustomize", "usercustomize"):
        try:
            spec = find_spec(name)
        except ValueError as error:
            raise UnusableError(f"{name} was loaded from nobody knows where ({error})") from None
        if spec is not None and spec.origin is not None:
            found.append(Path(spec.origin))
    for path in found:
        try:
            yield str(path), hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise UnusableError(f"{path} cannot be read ({(error.strerror or str(error)).lower()})") from None


def _require_loaded(source: Path, status: os.stat_result) -> None:
    """What this process runs is what the file says now. Raises UnusableError."""
    if status.st_ctime_ns > IMPORTED_NS - _TICK_NS:
        raise UnusableError(f"{source} was changed after this program had begun; run it again")
    try:
        compiled = os.stat(cache_from_source(str(source))).st_mtime_ns  # noqa: PTH116 - a text
    except OSError:
        return  # compiled anew by whoever imports it
    # Python takes bytecode for current whose source has the size and the second that it had when it was compiled.
    if compiled < status.st_mtime_ns and compiled // 10**9 == status.st_mtime_ns // 10**9:
        raise UnusableError(f"{source} was changed in the second in which it was compiled; remove its bytecode")


def _library(name: str, project: str) -> list[object]:
    """What is installed: the list of its files with their hashes, and what the system says of each.

    A change in place shows in the time of the last change, which no program can set.
    """
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise UnusableError(f"the library {name} is not to be found")
    folder = Path(spec.origin).parent.parent
    listed = [
        each / "RECORD"
        for each in folder.glob("*.dist-info")
        if each.name.lower().replace("_", "-").startswith(f"{project}-") and (each / "RECORD").is_file()
    ]
    if len(listed) != 1:
        raise UnusableError(
            f"{folder} has {len(listed) or 'no'} lists of the files of {project}; expected one, as pip writes it"
        )
    try:
        record = listed[0].read_text(encoding="utf-8")
        names = [line.rsplit(",", 2)[0] for line in record.splitlines()]
        listed_files = {folder / each for each in names if "__pycache__" not in each}
        # What lies there and is not listed may be imported, too.
        files = sorted(listed_files.union(_files(Path(spec.origin).parent)))
        found = [(str(each), _status(each)) for each in files]
    except (OSError, ValueError) as error:
        raise UnusableError(f"{listed[0]} does not list what is installed ({error})") from None
    return [hashlib.sha256(record.encode("utf-8")).hexdigest(), found]


def _status(file: Path) -> list[int]:
    status = file.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _c_library() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (OSError, ValueError, AttributeError):
        return platform.release()  # it comes with the system


def _processor() -> list[str]:
    """What decides how floating point is computed: which instructions there are, and whose."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return [platform.processor(), platform.version()]
    first = text.partition("\n\n")[0]
    return [line for line in first.splitlines() if line.partition(":")[0].strip() in _PROCESSOR]
