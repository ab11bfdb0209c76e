"""Tasks and checks on the workers of a Dask cluster, which see the same files as this machine.

A worker process of Dask does no task itself: it gives them to slots, programs of their own without Dask's threads.
Tasks travel in batches, because what a cluster takes to hand one out is near to what a small one takes.
"""

from __future__ import annotations

import os
import queue
import re
import secrets
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from certattn._version import __version__
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.errors import UsageError
from certattn.statements.reports import Report
from certattn.sweep.results import Result
from certattn.sweep.slots import CHECKS, MOST_ATTEMPTS, TASKS, LostError, Slot, lost, request_of
from certattn.sweep.tasks import Settings, Task

# At most so many tasks in a batch, and at least so many batches for each thread of the cluster.
_LARGEST_BATCH = 32
_BATCHES = 4
_SECONDS = "10s"
_ENCRYPTED = ("tls", "wss")

# The slots of this worker process that have nothing to do; each of its threads takes one for a batch.
_idle: queue.LifoQueue[Slot] = queue.LifoQueue()


# -- in a worker


def answers(request: dict[str, Any], asked: str, things: Sequence[Any]) -> list[dict[str, Any]]:
    """What slots say of each of the things that are `asked` for; where they end again and again, {"lost": why}."""
    found: list[dict[str, Any]] = []
    attempts = 1
    while len(found) < len(things):
        before = len(found)
        try:
            slot = _idle.get_nowait()
        except queue.Empty:
            slot = Slot()
        slot.ask({asked: things[before:], **request})
        try:
            for _ in things[before:]:
                found.append(slot.answer())
        except LostError as error:
            slot.end()
            attempts = attempts + 1 if len(found) == before else 2
            if attempts > MOST_ATTEMPTS:
                found.append({"lost": f"{error}, {MOST_ATTEMPTS} times"})
                attempts = 1
        else:
            _idle.put(slot)
    return found


def _looked(path: str) -> tuple[str, str]:
    """The version of certattn in a worker, and what it sees in a file."""
    try:
        return __version__, Path(path).read_text(encoding="ascii")
    except OSError as error:
        return __version__, f"({error.strerror})"


# -- in the program that asks


def do_on_cluster(
    tasks: Sequence[Task], folder: Path, settings: Settings, address: str
) -> Generator[Result | None, None, None]:
    """Do every task; results come as they are there, and None now and then while none does.

    What lost workers had is done by others; closing the iterator takes back what has not been begun.
    Raises UsageError for a scheduler that does not answer, and for workers with another version or other files.
    """
    with _client(address) as client:
        _require_same(client, folder)
        things = [task.to_dict() for task in tasks]
        with closing(_done(client, request_of(folder, settings), TASKS, things)) as done:
            for number, answer in done:
                if answer is None:
                    yield None
                else:
                    failed = "lost" in answer
                    yield lost(tasks[number], answer["lost"]) if failed else Result.from_dict(answer)


def check_on_cluster(paths: Sequence[Path], options: CheckOptions, address: str) -> Generator[Report, None, None]:
    """Check every file on the cluster; reports come in the order of `paths`. Raises UsageError as `do_on_cluster`."""
    content = {
        "limits": asdict(options.limits),
        "root": str(options.root) if options.root is not None else None,
        "only": options.only,
        "detail": options.detail,
        "arithmetic": options.arithmetic,
    }
    with _client(address) as client:
        _require_same(client, None)
        request = {"folder": str(Path.cwd()), "options": content}
        ready: dict[int, Report] = {}
        following = 0
        with closing(_done(client, request, CHECKS, [str(path) for path in paths])) as done:
            for number, answer in done:
                if answer is not None:
                    ready[number] = _report(paths[number], answer)
                while following in ready:
                    yield ready.pop(following)
                    following += 1


def _report(path: Path, answer: dict[str, Any]) -> Report:
    if "lost" in answer:
        return Report(str(path), Verdict.INCONCLUSIVE, reason=answer["lost"], limit="processes")
    report = Report.from_dict(answer)
    if report.path != str(path):
        return Report(str(path), Verdict.ERROR, reason=f"a worker sent a report of another file, {report.path!r}")
    return report


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        from distributed import Client
        from distributed.comm.addressing import parse_address
        from distributed.comm.registry import get_backend
        from distributed.security import Security
    except ImportError:
        raise UsageError("--scheduler needs Dask: pip install 'certattn[dask]'") from None
    if re.search(r":\d+$", address) is None:
        # Dask takes it, and tells only in a traceback that it could not.
        raise UsageError(f"--scheduler is {address!r}, expected an address with a port, such as tcp://host:8786")
    try:
        # First, for a Client that is not made whole tells so in a traceback at the end.
        scheme = parse_address(address)[0]
        get_backend(scheme)
        if scheme in _ENCRYPTED and Security().get_connection_args("client").get("ssl_context") is None:
            raise ValueError("this machine's configuration of Dask has no TLS certificate, distributed.comm.tls")
        client = Client(address, timeout=_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(f"--scheduler {address}: no Dask scheduler answers there ({error})") from None
    try:
        yield client
    finally:
        client.close()


def _require_same(client: Any, folder: Path | None) -> None:
    """Every worker has this version of certattn and, where a folder is named, sees what is in it."""
    token = secrets.token_hex(16)
    seen = (folder or Path("/")) / f".seen-{token}"
    if folder is not None:
        seen.write_text(token, encoding="ascii")
    try:
        looks: dict[str, tuple[str, str]] = client.run(_looked, str(seen) if folder is not None else os.devnull)
    except Exception as error:  # whatever Dask makes of a worker without certattn
        raise UsageError(f"a worker of the cluster cannot run certattn {__version__} ({error})") from None
    finally:
        if folder is not None:
            seen.unlink(missing_ok=True)
    if not looks:
        raise UsageError("the cluster has no workers; start some with `dask worker ADDRESS`")
    for worker, (version, text) in looks.items():
        if version != __version__:
            raise UsageError(f"the worker {worker} has certattn {version}; this is {__version__}: install the same")
        if folder is not None and text != token:
            raise UsageError(f"the worker {worker} does not see {folder}; use a folder that all machines share")


def _done(
    client: Any, request: dict[str, Any], asked: str, things: Sequence[Any]
) -> Generator[tuple[int, dict[str, Any] | None], None, None]:
    """The answers with the numbers of the things that are asked for, as they come; (-1, None) while none does.

    Dask gives what a lost worker had to another one, some times. After that the tasks of a batch go one by one, so
    that the one that ends workers takes no other with it.
    """
    from distributed import as_completed

    threads = max(1, sum(client.nthreads().values()))
    size = min(_LARGEST_BATCH, -(-len(things) // (_BATCHES * threads)))
    numbers = [range(start, min(start + size, len(things))) for start in range(0, len(things), size)]
    batches: dict[Any, range] = {}

    def submit(batch: range) -> Any:
        # One function by its name, and requests as plain data: nothing else is pickled.
        future = client.submit(answers, request, asked, things[batch.start : batch.stop], pure=False)
        batches[future] = batch
        return future

    coming = as_completed([submit(batch) for batch in numbers], loop=client.loop)
    try:
        for future in coming:
            batch = batches.pop(future)
            try:
                found = future.result()
            except Exception as error:
                if len(batch) > 1 and client.status == "running":
                    coming.update([submit(range(number, number + 1)) for number in batch])
                    yield -1, None
                    continue
                found = [{"lost": f"the cluster lost it ({type(error).__name__}: {error})"}] * len(batch)
            yield from zip(batch, found, strict=True)
    finally:
        client.cancel(list(batches))
