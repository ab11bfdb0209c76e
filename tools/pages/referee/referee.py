"""What the referee's page asks of Python, in the browser: files are put somewhere, described, and checked one by one.

Runs in Pyodide on the standard library, the second checker, and what certattn takes for a sound archive. Answers are
JSON. It proves nothing: `program.decide` of the second checker does.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import documents
import program
import statements

from certattn.bundle.container import BROKEN, sound
from certattn.bundle.names import is_inner
from certattn.kernel.errors import MalformedError

PLACE, LOCK = Path("/dropped"), "certattn.lock"
LOOSE, ARCHIVES = PLACE / "files", PLACE / "archives"
LARGEST, ALL = 2**28, 2**29  # bytes of a file, and of all: a browser gives no more than 4 GiB
SHOWN, ROWS, TEXT = 160, 60, 20_000
_refused: list[str] = []
_sums: dict[str, Path] = {}


class RefusedError(Exception):
    """Why nothing of a file is taken."""


# -- files


def clear() -> None:
    """Forget what was put before."""
    shutil.rmtree(PLACE, ignore_errors=True)
    lock_of.cache_clear()
    _refused.clear()
    _sums.clear()


def put(path: str, data: Any) -> None:
    """Take a file as the browser names it: an archive into a folder of its own, others beside each other."""
    content = bytes(data.to_py() if hasattr(data, "to_py") else data)
    try:
        if not is_inner(path):
            raise RefusedError("expected a path that leads down, in characters that can be printed")
        if path.endswith(".zip"):
            unpack(path, content)
        else:
            write(LOOSE / path, content)
            _sums.setdefault(hashlib.sha256(content).hexdigest(), LOOSE / path)
    except (RefusedError, MalformedError, OSError) as error:
        _refused.append(str(error) if isinstance(error, MalformedError) else f"{path[:200]}: {error}")


def write(place: Path, content: bytes) -> None:
    """One file; not more than a browser's memory holds."""
    held = sum(file.stat().st_size for file in PLACE.rglob("*") if file.is_file()) if len(content) > 2**20 else 0
    if len(content) > LARGEST or held + len(content) > ALL:
        raise RefusedError("too large for a browser: use certattn check, or python tools/recheck")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def unpack(name: str, content: bytes) -> None:
    """The files of a sound archive. Nothing is written before its directory has been looked at."""
    packed = PLACE / "archive"
    write(packed, content)
    try:
        with packed.open("rb") as file, sound(Path(name), file, LARGEST) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            if sum(info.file_size for info in infos) > ALL:
                raise RefusedError("too large for a browser: use certattn check, or python tools/recheck")
            for info in infos:
                with archive.open(info) as stream:  # one byte more: the checksum is looked at where a member ends
                    data = stream.read(info.file_size + 1)
                if len(data) != info.file_size:
                    raise RefusedError(f"{info.filename} has another size than the archive's directory says")
                write(ARCHIVES / name / info.filename, data)
    except (*BROKEN, RefusedError) as error:
        shutil.rmtree(ARCHIVES / name, ignore_errors=True)
        raise RefusedError(f"a broken archive ({error})" if isinstance(error, BROKEN) else str(error)) from None
    except MalformedError:
        shutil.rmtree(ARCHIVES / name, ignore_errors=True)
        raise
    finally:
        packed.unlink()


def root_of(path: Path) -> Path:
    """The folder that array files of a certificate may lie in: an archive, or all files that were not in one."""
    if path.is_relative_to(LOOSE):
        return LOOSE
    return next(parent for parent in reversed(path.parents) if parent.suffix == ".zip")


# -- what there is


def opened() -> str:
    """What was refused, and every certificate with what it states."""
    found = sorted(certificates())
    return json.dumps(
        {
            "refused": _refused,
            "certificates": [described(path) for path in found],
            "locks": [lock for file in sorted(ARCHIVES.glob(f"**/*.zip/{LOCK}")) for lock in promised(file)],
        }
    )


def certificates() -> Iterator[Path]:
    """The certificates of what was dropped, by their names; hidden files are none."""
    return iter(program.below_folder(PLACE)) if PLACE.is_dir() else iter(())


def shown_path(path: Path) -> str:
    """A file as a person knows it."""
    return path.relative_to(LOOSE if path.is_relative_to(LOOSE) else ARCHIVES).as_posix()


def described(path: Path) -> dict[str, Any]:
    """What a certificate says, as far as it is one; nothing is checked here."""
    entry: dict[str, Any] = {"path": str(path), "name": shown_path(path)}
    try:
        data = program.content(path)
        entry["sha256"] = hashlib.sha256(data).hexdigest()
        entry["text"] = data[:TEXT].decode("utf-8", "replace") + ("\n…" if len(data) > TEXT else "")
        top = documents.opened(data)
        entry |= {"claim": top["claim"], "digest": statements.digest(top), "missing": missing(path, top)}
        entry |= {key: list(rows(top[key], "")) for key in ("asserts", "given")}
        entry |= {"lock": promise(path)}
    except program.BROKEN as error:
        entry["unread"] = f"{type(error).__name__}: {error}"
    return entry


def rows(node: Any, where: str) -> list[tuple[str, str]]:
    """Names and values of a tree, long ones cut: the page shows the text beside them."""
    if isinstance(node, dict) and "file" in node:
        return [(where, reference(node))]
    if isinstance(node, dict) and where.endswith("]") and not any(isinstance(item, dict) for item in node.values()):
        return [(where, ", ".join(f"{key} {shortened(item)}" for key, item in node.items()))]
    if isinstance(node, dict):
        return [row for key, item in node.items() for row in rows(item, f"{where}.{key}" if where else key)][:ROWS]
    if isinstance(node, list) and any(isinstance(item, dict) for item in node):
        return [row for i, item in enumerate(node[:ROWS]) for row in rows(item, f"{where}[{i}]")][:ROWS]
    return [(where, shortened(node))]


def shortened(node: Any) -> str:
    """A value, and how much there is of it where it is long."""
    text = written(node)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({counted(node)} in all)"


def written(node: Any) -> str:
    """Numbers and lists of them, as much as is shown."""
    if not isinstance(node, list):
        return str(node)
    text = ""
    for item in node:
        text += (", " if text else "") + written(item)
        if len(text) > 2 * SHOWN:
            break
    return f"({text})"


def counted(node: Any) -> str:
    """How much there is of a list, or of a text."""
    if not isinstance(node, list):
        return f"{len(node)} characters"
    return f"{len(node)} x {counted(node[0])}" if isinstance(node[0], list) and node[0] else str(len(node))


def reference(node: dict[str, Any]) -> str:
    """An array in words."""
    shape = node.get("shape")
    shown = " x ".join(map(str, shape)) if isinstance(shape, list) else "?"
    part = f"[{node['array']}]" if "array" in node else ""
    some = f", rows {node['rows']}" if "rows" in node else ""
    return f"{shown} {node.get('dtype')}{some}, {node['file']}{part}, sha256 {str(node.get('sha256'))[:16]}…"


def references(node: Any) -> Iterator[tuple[str, str]]:
    """The array files that a tree refers to, with their hashes."""
    if isinstance(node, dict):
        if isinstance(node.get("file"), str):
            yield node["file"], str(node.get("sha256"))
        for item in node.values():
            yield from references(item)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def missing(path: Path, top: dict[str, Any]) -> list[str]:
    """Array files that are not there. One that lies elsewhere is found by its hash, which is compared again later."""
    found, root = [], root_of(path)
    for file, sha256 in dict(references([top["given"], top["asserts"], top["witness"]])).items():
        place = Path(posixpath.normpath(posixpath.join(path.parent.as_posix(), file)))
        if place.exists() or not place.is_relative_to(root):
            continue
        if root == LOOSE and sha256 in _sums:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(_sums[sha256])
        else:
            found.append(file)
    return found


# -- what an archive promises


@cache
def lock_of(folder: Path) -> dict[str, dict[str, str]]:
    """Digest and words by path, as far as the lock of an archive can be read."""
    try:
        read = documents.Reader((folder / LOCK).read_bytes().decode("utf-8")).document()["certificates"]
        return {str(entry["path"]): {"digest": str(entry["statement"]), "says": str(entry["says"])} for entry in read}
    except program.BROKEN:
        return {}


def promise(path: Path) -> dict[str, str] | None:
    """What the lock of its archive says of a certificate, if there is a lock."""
    root = root_of(path)
    if not (root / LOCK).is_file() or root == LOOSE:
        return None
    return lock_of(root).get(path.relative_to(root).as_posix(), {"digest": "", "says": ""})


def promised(lock: Path) -> list[str]:
    """What is wrong with a lock as a whole: certificates that are not there, or nothing that can be read."""
    found, name = lock_of(lock.parent), shown_path(lock)
    if not found:
        return [f"{name} cannot be read, or promises nothing."]
    gone = [path for path in found if not (lock.parent / path).is_file()]
    return [f"{name} promises {path[:200]}, which is not in the archive." for path in gone]


# -- a check


def checked(path: str) -> str:
    """The second checker's verdict on a certificate."""
    place, begin = Path(path), time.perf_counter()
    described(place)  # which brings array files to where they are looked for
    verdict, why = program.decide(place, root=root_of(place))
    return json.dumps({"verdict": verdict, "why": why, "seconds": round(time.perf_counter() - begin, 2)})
