"""The folder of a cache and the key that authenticates its entries: this user's alone, or not used."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from certattn.cache.errors import UnusableError
from certattn.kernel.document.regular_files import reason, regular_file

KEY = "key"
_BYTES = 32


def users_folder() -> Path:
    """Where this user's caches are: $XDG_CACHE_HOME/certattn, or ~/.cache/certattn."""
    stated = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative path is to be ignored, says the specification of the variable.
    if stated.is_absolute():
        return stated / "certattn"
    stated_home = os.environ.get("HOME")
    # Of a relative one, the working folder, which may be a stranger's, would bring the key.
    if stated_home is not None and not Path(stated_home).is_absolute():
        raise UnusableError(f"HOME is {stated_home!r}, expected a folder with its whole path")
    try:
        home = Path.home()
    except RuntimeError as error:
        raise UnusableError(f"there is no folder for caches ({error}); set XDG_CACHE_HOME") from None
    return home / ".cache" / "certattn"


def private_folder(folder: Path) -> Path:
    """The folder, made if need be, as a path without links.

    Nobody else may enter it, and nobody but this user and the system's may put another one in its place.
    Raises UnusableError.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.is_symlink():
            raise UnusableError(f"{folder} is a link; name the folder that it leads to")
        real = Path(os.path.realpath(folder))
        status = real.lstat()
        if status.st_uid != os.geteuid():
            raise UnusableError(f"{folder} belongs to the user {status.st_uid}; expected a folder of your own")
        if status.st_mode & 0o077:
            raise UnusableError(f"{folder} is open to others (mode {stat.S_IMODE(status.st_mode):04o}); chmod 700 it")
        for above in real.parents:
            _require_kept(above)
    except OSError as error:
        raise UnusableError(f"{folder} cannot be used ({reason(error)})") from None
    return real


def _require_kept(folder: Path) -> None:
    status = folder.stat()
    if status.st_uid not in (0, os.geteuid()):
        raise UnusableError(f"{folder}, which is above the cache, belongs to the user {status.st_uid}")
    # With the sticky bit, as /tmp has it, others may add files and not replace them.
    if status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX:
        raise UnusableError(f"{folder}, which is above the cache, may be changed by others; chmod go-w it")


def secret(folder: Path) -> bytes:
    """The key in a private folder, made if there is none. Raises UnusableError."""
    path = folder / KEY
    try:
        if not os.path.lexists(path):
            _make(path)
        with regular_file(path, follow_link=False) as file:
            status = os.fstat(file.fileno())
            key = file.read(_BYTES + 1)
    except OSError as error:
        raise UnusableError(f"{path} cannot be used ({reason(error)}); remove it, and a new one is made") from None
    if status.st_uid != os.geteuid():
        raise UnusableError(f"{path} belongs to the user {status.st_uid}; remove it, and a new one is made")
    if status.st_mode & 0o077:
        raise UnusableError(
            f"{path} is open to others (mode {stat.S_IMODE(status.st_mode):04o}); remove it, and a new one is made"
        )
    if len(key) != _BYTES:
        raise UnusableError(f"{path} is no key of {_BYTES} bytes; remove it, and a new one is made")
    return key


def _make(path: Path) -> None:
    """Put a new key there, whole, unless another program has done so meanwhile."""
    new = path.with_name(f".{KEY}-{secrets.token_hex(8)}")
    try:
        write_new(new, secrets.token_bytes(_BYTES))
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)


def write_new(path: Path, content: bytes) -> None:
    """A file that was not there before, for this user alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o600)
        file.write(content)
