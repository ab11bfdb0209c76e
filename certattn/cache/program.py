"""Which program decides: one digest of all that a verdict rests on beside the certificate and the options.

The kernel's sources, the interpreter, the libraries with all their files, the processor, and the variables of the
environment that change how these compute. Another digest is another program, whose verdicts are not believed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
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
    content = {
        "kernel": dict(_kernel(Path(certattn.kernel.__path__[0]))),
        "python": [sys.version, sys.implementation.name, sys.flags.optimize, sys.byteorder],
        "system": [sys.platform, platform.machine(), _c_library(), *_processor()],
        "libraries": {name: _library(name, project) for name, project in _LIBRARIES.items()},
        "versions": [flint.__version__, flint.__FLINT_VERSION__, yaml.__version__],
        "environment": {name: os.environ[name] for name in sorted(os.environ) if name.startswith(_ENVIRONMENT)},
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _kernel(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and SHA-256 of every source file."""
    sources = sorted(folder.rglob("*.py"))
    if not sources:
        raise UnusableError(f"{folder} has no source files; expected certattn's kernel")
    for source in sources:
        try:
            with source.open("rb") as file:
                status = os.fstat(file.fileno())
                yield source.relative_to(folder).as_posix(), hashlib.sha256(file.read()).hexdigest()
        except OSError as error:
            raise UnusableError(f"{source} cannot be read ({(error.strerror or str(error)).lower()})") from None
        _require_loaded(source, status)


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
        found = [(each, _status(folder / each)) for each in names if "__pycache__" not in each]
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
