"""`index.sqlite` in a sweep's folder: its tasks and what came of them, for `certattn sweep --status` and other readers.

The schema is described in docs/sweep.md. `PRAGMA user_version` is its version. The index is made from the results in
the folder and can be made anew from them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certattn._version import __version__
from certattn.kernel.errors import CertattnError, LimitExceededError, UsageError
from certattn.statements.reports import Report
from certattn.sweep.results import CHANGED, CHECKED, Result
from certattn.sweep.tasks import Task

# What SQLite says of a file that is no index, or no whole one. All else that it says is about the disk, the rights or
# another program, and no reason to remove what may be whole.
_DAMAGED = (
    sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH,
)  # fmt: skip

INDEX = "index.sqlite"
VERSION = 1
WAITING = "waiting"

_SCHEMA = """
CREATE TABLE sweep (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tasks (
  key TEXT PRIMARY KEY,
  position INTEGER,
  fields TEXT NOT NULL,
  claim TEXT NOT NULL,
  state TEXT NOT NULL,
  verdict TEXT,
  statement TEXT,
  certificate TEXT,
  reason TEXT NOT NULL DEFAULT '',
  resource TEXT NOT NULL DEFAULT '',
  generate_ns INTEGER,
  check_ns INTEGER,
  version TEXT,
  report TEXT
) WITHOUT ROWID;
CREATE INDEX by_position ON tasks (position);
"""


@dataclass(frozen=True)
class Entry:
    """A task in the index: where it stands, its fields, its state, and the report if there is one."""

    position: int
    fields: dict[str, Any]
    claim: str
    state: str
    report: Report | None


class Index:
    """The index of a folder, open for writing: by the process that holds the folder's lock alone."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / INDEX
        self._connection = _connect(self._path)
        version = _version_of(self._connection, self._path)
        if version == 0:
            self._connection.executescript(f"BEGIN;{_SCHEMA}PRAGMA user_version = {VERSION};COMMIT;")

    def close(self) -> None:
        self._connection.close()

    def begin(self, tasks: Iterable[Task], facts: dict[str, str]) -> dict[str, str]:
        """Enter the tasks of a sweep in the place of those before; by key, the statements known from earlier runs.

        What is known of a statement stays in the index even when no task of the spec is about it any more.
        """
        with _reading(self._path), self._connection as connection:
            connection.execute("UPDATE tasks SET position = NULL")
            rows = ((task.key, task.position, json.dumps(task.fields), task.claim, WAITING) for task in tasks)
            connection.executemany(
                "INSERT INTO tasks (key, position, fields, claim, state) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET position = excluded.position, fields = excluded.fields",
                rows,
            )
            connection.executemany("INSERT OR REPLACE INTO sweep VALUES (?, ?)", facts.items())
        with _reading(self._path):
            found = self._connection.execute("SELECT key, statement FROM tasks WHERE statement IS NOT NULL")
            return dict(found.fetchall())

    def enter(self, results: Iterable[Result]) -> None:
        """Write down results, all or none."""
        with _reading(self._path), self._connection as connection:
            connection.executemany(
                "UPDATE tasks SET state = ?, verdict = ?, statement = coalesce(?, statement), certificate = ?, "
                "reason = ?, resource = ?, generate_ns = ?, check_ns = ?, version = ?, report = ? WHERE key = ?",
                map(_row, results),
            )


def _row(result: Result) -> tuple[Any, ...]:
    report = result.report
    made = result.state in (CHECKED, CHANGED)
    # A statement that has changed is told in the report; the column keeps the one that was recorded first.
    statement = report.digest if result.state == CHECKED and report.digest else None
    return (
        result.state,
        report.verdict.value,
        statement,
        report.path if made else None,
        report.reason,
        report.limit,
        result.nanoseconds.get("generate"),
        result.nanoseconds.get("check"),
        result.version,
        json.dumps(report.to_dict()),
        result.key,
    )


def read_index(folder: Path) -> list[Entry]:
    """The tasks of a sweep, in order. Raises UsageError for a folder without an index."""
    path = folder / INDEX
    if not path.is_file():
        raise UsageError(
            f"{folder}: no sweep's folder, for it has no {INDEX}; expected the DIR of `certattn sweep SPEC -o DIR`"
        )
    with closing(_connect(path)) as connection, _reading(path):
        _version_of(connection, path)
        rows = connection.execute(
            "SELECT position, fields, claim, state, report FROM tasks WHERE position IS NOT NULL ORDER BY position"
        ).fetchall()
        return [
            Entry(position, dict(json.loads(fields)), claim, state, _report_in(report))
            for position, fields, claim, state, report in rows
        ]


def _report_in(text: str | None) -> Report | None:
    return Report.from_dict(json.loads(text)) if text else None


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What SQLite or a damaged index makes of its users is a message that says what to do."""
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, KeyError, AttributeError) as error:
        # The lower byte is the kind of error.
        raise _failed(path, error, getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF) from None


def _connect(path: Path) -> sqlite3.Connection:
    with _reading(path):
        return sqlite3.connect(path, timeout=30)


def _version_of(connection: sqlite3.Connection, path: Path) -> int:
    with _reading(path):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, VERSION):
        raise UsageError(
            f"{path} has the schema {version}; certattn {__version__} knows {VERSION}: sweep into a new folder"
        )
    return int(version)


def _failed(path: Path, error: Exception, code: int) -> CertattnError:
    if code == sqlite3.SQLITE_FULL:
        return LimitExceededError(
            f"{path}: cannot be written, as the disk is full ({error}). Make room there and give the same command "
            "again: it goes on with what is in the folder. The index is whole: leave it"
        )
    if code not in _DAMAGED:
        return UsageError(
            f"{path}: cannot be used ({error}). Look at the disk, at the rights of the file and its folder, and for "
            "other programs that have it open; then give the command again. The index need not be damaged: leave it"
        )
    return UsageError(
        f"{path}: cannot be read ({error}); remove it, and the command that made the sweep makes it anew from the "
        "folders, but for statements of tasks that were changed or are in the spec no more"
    )
