"""The process of a check: it opens no network, writes no file, starts no program, and stays within its limits."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import syslog
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from certattn.isolation import sandbox, system_calls, worker
from certattn.isolation.sandbox import active_layers
from certattn.isolation.worker import check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.limits import Limits
from certattn.statements.checking import check_file
from certattn.statements.reports import Report

ROOT = Path(__file__).resolve().parent.parent.parent
CERTIFICATE = ROOT / "certificates/prompts/infinite-prompt-operator/gaussian-d1.yaml"
ARRAYS = ROOT / "certificates/attention/output-deviation/gaussian-prompt.yaml"
OPTIONS = CheckOptions(Limits(timeout_seconds=30))
LAYERS = active_layers()
linux = pytest.mark.skipif("seccomp" not in LAYERS, reason="this system filters no system calls")


def verified(path: Path) -> Report:
    return Report(str(path), Verdict.VERIFIED, statement="one is one")


def run(evil: Callable[[], Any], options: CheckOptions = OPTIONS) -> Report:
    """The report on a certificate during whose check `evil` happens; what it returns is the statement."""

    def check(path: Path, options: CheckOptions) -> Report:
        return replace(verified(path), statement=repr(evil()))

    (report,) = check_files([Path("evil.yaml")], options, check=check)
    return report


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with one file, that must be the same afterwards."""
    file = tmp_path / "precious.txt"
    file.write_text("precious")
    before = file.stat()
    yield tmp_path
    after = file.stat()
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]
    assert file.read_text() == "precious"
    assert (before.st_mode, before.st_nlink, before.st_mtime_ns) == (after.st_mode, after.st_nlink, after.st_mtime_ns)


# -- by Python

ATTEMPTS: dict[str, Callable[[Path], Any]] = {
    "socket.": lambda f: socket.socket(),
    "socket.getaddrinfo": lambda f: socket.getaddrinfo("localhost", 80),
    "subprocess.Popen": lambda f: subprocess.run(["true"], check=False),
    "os.system": lambda f: os.system("true"),
    "os.posix_spawn": lambda f: os.posix_spawn(sys.executable, [sys.executable], {}),
    "os.exec": lambda f: os.execv(sys.executable, [sys.executable]),
    "os.fork": lambda f: os.fork(),
    "os.forkpty": lambda f: os.forkpty(),
    "os.kill": lambda f: os.kill(os.getppid(), 0),
    "os.killpg": lambda f: os.killpg(os.getpgrp(), 0),
    "open w": lambda f: open(f / "new.txt", "w"),  # noqa: SIM115
    "open a": lambda f: open(f / "precious.txt", "a"),  # noqa: SIM115
    "open r+": lambda f: open(f / "precious.txt", "r+"),  # noqa: SIM115
    "open os": lambda f: os.open(f / "new.txt", os.O_CREAT | os.O_RDONLY),
    "os.remove": lambda f: (f / "precious.txt").unlink(),
    "os.rename": lambda f: (f / "precious.txt").rename(f / "other.txt"),
    "os.rename replace": lambda f: (f / "precious.txt").replace(f / "other.txt"),
    "os.mkdir": lambda f: (f / "new").mkdir(),
    "os.rmdir": lambda f: f.rmdir(),
    "os.symlink": lambda f: (f / "new").symlink_to("precious.txt"),
    "os.link": lambda f: os.link(f / "precious.txt", f / "new.txt"),
    "os.truncate": lambda f: os.truncate(f / "precious.txt", 0),
    "os.chmod": lambda f: (f / "precious.txt").chmod(0),
    "os.utime": lambda f: os.utime(f / "precious.txt", (0, 0)),
    "shutil.rmtree": lambda f: shutil.rmtree(f),
    "syslog.openlog": lambda f: syslog.openlog("x"),
}
if hasattr(resource, "prlimit"):
    ATTEMPTS["resource.prlimit"] = lambda f: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))


@pytest.mark.parametrize("event", ATTEMPTS)
def test_what_a_check_may_not_do_is_refused_and_is_an_error(event: str, folder: Path) -> None:
    report = run(lambda: ATTEMPTS[event](folder))
    assert report.verdict is Verdict.ERROR
    assert f"the check tried what its process may not do: {event.split()[0]}" in report.reason
    assert "do not believe the certificate" in report.reason


def test_an_attempt_that_is_hushed_up_is_an_error_all_the_same(folder: Path) -> None:
    def hushed() -> str:
        try:
            (folder / "new.txt").write_text("x")
        except OSError:
            return "nothing happened"
        raise AssertionError

    report = run(hushed)
    assert report.verdict is Verdict.ERROR
    assert "open" in report.reason
    assert "new.txt" in report.reason


def test_many_attempts_make_one_short_message(folder: Path) -> None:
    def many() -> None:
        for i in range(2000):
            try:
                os.mkdir(folder / ("x" * 100 + str(i % 50)))  # noqa: PTH102
            except OSError:
                continue

    reason = run(many).reason
    assert len(reason) < 2000
    assert reason.isprintable()


def test_what_a_check_does_need_is_allowed() -> None:
    def honest() -> list[Any]:
        done: list[Any] = [len(CERTIFICATE.read_bytes()), os.getpid() > 0]
        thread = threading.Thread(target=lambda: done.append("thread"))
        thread.start()
        thread.join()
        os.kill(os.getpid(), 0)
        done.append(len(bytearray(2**20)))
        return done

    report = run(honest)
    assert (report.verdict, report.statement) == (
        Verdict.VERIFIED,
        repr([CERTIFICATE.stat().st_size, True, "thread", 2**20]),
    )


# -- past Python, by the system's own functions


def in_c(name: str, *arguments: Any) -> tuple[int, int]:
    """What a function of the system's library answers: its value and the error."""
    ctypes.set_errno(0)
    value = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    return value, ctypes.get_errno()


CALLS: dict[str, Callable[[Path], tuple[int, int]]] = {
    "socket": lambda f: in_c("socket", 2, 1, 0),
    "datagram socket": lambda f: in_c("socket", 2, 2, 0),
    "local socket": lambda f: in_c("socket", 1, 1, 0),
    "fork": lambda f: in_c("fork"),
    "vfork": lambda f: in_c("syscall", {"x86_64": 58}.get(platform.machine(), 221), None, None, None),
    "execve": lambda f: in_c("execve", b"/bin/true", None, None),
    "kill another": lambda f: in_c("kill", os.getppid(), 0),
    "kill all": lambda f: in_c("kill", -1, 0),
    "create": lambda f: in_c("open", bytes(f / "new.txt"), os.O_CREAT | os.O_WRONLY, 0o600),
    "overwrite": lambda f: in_c("open", bytes(f / "precious.txt"), os.O_RDWR),
    "temporary": lambda f: in_c("open", bytes(f), getattr(os, "O_TMPFILE", 0) | os.O_RDWR, 0o600),
    "unlink": lambda f: in_c("unlink", bytes(f / "precious.txt")),
    "rename": lambda f: in_c("rename", bytes(f / "precious.txt"), bytes(f / "other.txt")),
    "mkdir": lambda f: in_c("mkdir", bytes(f / "new"), 0o700),
    "chmod": lambda f: in_c("chmod", bytes(f / "precious.txt"), 0),
    "truncate": lambda f: in_c("truncate", bytes(f / "precious.txt"), 0),
    "mkfifo": lambda f: in_c("mkfifo", bytes(f / "new"), 0o600),
    "extended attribute": lambda f: in_c("setxattr", bytes(f / "precious.txt"), b"user.x", b"1", 1, 0),
    "ptrace": lambda f: in_c("ptrace", 0, 0, None, None),
    "io_uring": lambda f: in_c("syscall", 425, 1, None),
    "unshare": lambda f: in_c("unshare", 0x10000000),
    "type into a terminal": lambda f: in_c("ioctl", 0, 0x5412, b"x"),
    # what reaches other processes, by ways that are no signal
    "limits of the parent": lambda f: in_c("prlimit", os.getppid(), resource.RLIMIT_CPU, bytes(16), None),
    "limits of its own, higher": lambda f: in_c("setrlimit", resource.RLIMIT_AS, b"\xff" * 16),
    "priority of the parent": lambda f: in_c("setpriority", 0, os.getppid(), 19),
    "processors of the parent": lambda f: in_c("sched_setaffinity", os.getppid(), 128, b"\1" + bytes(127)),
    "scheduling of the parent": lambda f: in_c("sched_setscheduler", os.getppid(), 3, bytes(4)),
    "disk priority of the parent": lambda f: other("ioprio_set", 1, os.getppid(), 0),
    "group of its own": lambda f: in_c("setsid"),
    "group of another": lambda f: in_c("setpgid", 0, os.getppid()),
    "who gets signals of a file": lambda f: in_c("fcntl", 2, 8, os.getppid()),
    "signals of a file": lambda f: in_c("fcntl", 2, 4, 0x2000),
    "who gets signals of a terminal": lambda f: in_c("ioctl", 2, 0x8901, struct.pack("i", os.getppid())),
    "memory of the parent": lambda f: other("process_madvise", 9, None, 0, 21, 0),
    "memory of the parent moved": lambda f: other("migrate_pages", os.getppid(), 64, bytes(8), bytes(8)),
    "threads of the parent": lambda f: other("get_robust_list", os.getppid(), bytes(8), bytes(8)),
    "what it shares with the parent": lambda f: other("kcmp", os.getpid(), os.getppid(), 0, 0, 0),
    "memory from the machine": lambda f: in_c("madvise", None, 0, 100),
    "end with its parent, not after all": lambda f: in_c("prctl", 1, 0, 0, 0, 0),
    "traced by others": lambda f: in_c("prctl", 0x59616D61, -1, 0, 0, 0),
    # what outlives it, or is seen by others
    "shared memory": lambda f: in_c("shmget", 0, 4096, 0o1600),
    "queue of messages": lambda f: in_c("msgget", 0, 0o1600),
    "semaphores": lambda f: in_c("semget", 0, 1, 0o1600),
    "named queue of messages": lambda f: in_c("mq_open", b"/certattn-test", os.O_RDONLY),
    "lock on a file": lambda f: in_c("flock", os.open(f / "precious.txt", os.O_RDONLY), 2),
    "lock on a part of a file": lambda f: in_c("fcntl", os.open(f / "precious.txt", os.O_RDONLY), 6, bytes(32)),
    "lease on a file": lambda f: in_c("fcntl", os.open(f / "precious.txt", os.O_RDONLY), 1024, 0),
    "attributes of a file": lambda f: in_c("ioctl", os.open(f / "precious.txt", os.O_RDONLY), 0x40086602, bytes(8)),
    "file in memory": lambda f: in_c("memfd_create", b"x", 0),
    "watch a folder": lambda f: in_c("inotify_init1", 0),
    "the kernel's log": lambda f: in_c("klogctl", 3, bytes(64), 64),
    "personality": lambda f: in_c("personality", 0x0040000),
    "memory that stays": lambda f: in_c("mlockall", 1),
    "thread with a network of its own": lambda f: in_c("syscall", clone_number(), 0x40000000 | 0x50F00, None),
}


# Allowed in principle.
WITH_OTHER_ARGUMENTS = {
    "fork", "kill another", "kill all", "create", "overwrite", "temporary", "type into a terminal",
    "limits of the parent", "limits of its own, higher", "who gets signals of a file", "signals of a file",
    "who gets signals of a terminal", "memory from the machine", "end with its parent, not after all",
    "traced by others", "lock on a part of a file", "lease on a file", "attributes of a file",
    "thread with a network of its own",
}  # fmt: skip


def other(name: str, *arguments: Any) -> tuple[int, int]:
    """A call that the system's library has no function for."""
    return in_c("syscall", OTHERS[name][platform.machine() != "x86_64"], *arguments)


# By their numbers on x86-64 and AArch64.
OTHERS = {
    "ioprio_set": (251, 30), "process_madvise": (440, 440), "migrate_pages": (256, 238), "get_robust_list": (274, 100),
    "kcmp": (312, 272),
}  # fmt: skip


def clone_number() -> int:
    return system_calls._CLONE[platform.machine() != "x86_64"]


@linux
@pytest.mark.parametrize("call", CALLS)
def test_the_system_refuses_what_goes_past_python(call: str, folder: Path) -> None:
    report = run(lambda: CALLS[call](folder))
    not_there, not_permitted = 38, 1  # ENOSYS, EPERM
    assert report.statement == repr((-1, not_permitted if call in WITH_OTHER_ARGUMENTS else not_there)), report.reason


@linux
def test_each_layer_refuses_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Landlock without the filter, the filter without Landlock, limits without either."""
    new, precious = bytes(folder / "new.txt"), bytes(folder / "precious.txt")

    def create() -> list[tuple[int, int]]:
        return [in_c("open", new, os.O_CREAT | os.O_WRONLY, 0o600), in_c("unlink", precious)]

    def write() -> tuple[int, int]:
        descriptor, _ = in_c("open", precious, os.O_RDWR | os.O_APPEND)
        return in_c("write", descriptor, b"more", 4)

    with monkeypatch.context() as without:
        without.setattr(sandbox, "restrict_files", lambda: "")
        assert run(create).statement == repr([(-1, 1), (-1, 38)])  # EPERM, ENOSYS
        without.setattr(sandbox, "filter_system_calls", lambda: "")
        assert run(write).statement == repr((-1, 27))  # EFBIG: no file grows
    if any(layer.startswith("landlock") for layer in LAYERS):
        monkeypatch.setattr(sandbox, "filter_system_calls", lambda: "")
        assert run(create).statement == repr([(-1, 13)] * 2)  # EACCES
        assert run(lambda: in_c("execv", b"/bin/true", None)).statement == repr((-1, 13))


@linux
def test_no_layer_can_be_taken_back() -> None:
    def undo() -> list[Any]:
        sys.addaudithook(lambda event, arguments: None)
        in_c("prctl", 38, 0, 0, 0, 0)  # no new privileges: not after all
        in_c("prctl", 22, 0, 0, 0, 0)  # no filter
        in_c("setrlimit", resource.RLIMIT_AS, b"\xff" * 16)  # which root could
        return [resource.getrlimit(resource.RLIMIT_AS), in_c("socket", 2, 1, 0)]

    most = OPTIONS.limits.memory_bytes
    assert run(undo).statement == repr([(most, most), (-1, 38)])


# -- without the layers


@pytest.mark.parametrize("missing", ["restrict_files", "filter_system_calls", "both"])
def test_a_system_without_a_layer_gives_the_same_verdicts(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("restrict_files", "filter_system_calls"):
        if missing in (name, "both"):
            monkeypatch.setattr(sandbox, name, lambda: "")
    (report,) = check_files([CERTIFICATE], CheckOptions(detail=True))
    assert replace(report, nanoseconds={}) == replace(
        check_file(CERTIFICATE, CheckOptions(detail=True)), nanoseconds={}
    )


def test_a_sandbox_that_fails_never_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> str:
        raise OSError("the system is in a bad mood")

    monkeypatch.setattr(sandbox, "restrict_files", fails)
    (report,) = check_files([CERTIFICATE], CheckOptions())
    assert report.verdict is Verdict.ERROR
    assert "bad mood" in report.reason


def test_layers_of_a_process_that_could_not_be_confined_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(most_memory: int) -> tuple[str, ...]:
        raise OSError("the system is in a bad mood")

    monkeypatch.setattr(sandbox, "confine", fails)
    with pytest.raises(OSError, match="the process of a check could not be confined"):
        active_layers()


@pytest.mark.parametrize("machine", ["riscv64", "i686", ""])
def test_an_unknown_machine_has_no_filter(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_calls.os, "uname", lambda: SimpleNamespace(machine=machine))
    assert system_calls.filter_system_calls() == ""


def test_no_ctypes_no_layers_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_calls, "ctypes", None)
    assert active_layers() == ("audit", "limits")


NUMBERS = {
    **system_calls._ALLOWED,
    **{name: numbers for name, (numbers, *_) in (system_calls._ONE_OF | system_calls._WITHOUT).items()},
    "prlimit64": system_calls._PRLIMIT,
    "clone": system_calls._CLONE,
}


def test_the_filter_names_every_call_once_on_each_machine() -> None:
    for column in (0, 1):
        numbers = [pair[column] for pair in NUMBERS.values() if pair[column] >= 0]
        assert len(set(numbers)) == len(numbers)
        assert len(system_calls._program(1, column, 2)) < 8 * 4096
    # Linux gives a call that is newer than these one number on all machines.
    assert [name for name, (first, second) in NUMBERS.items() if max(first, second) >= 424 and first != second] == []


@linux
@pytest.mark.parametrize(("header", "column"), [("x86_64-linux-gnu/asm/unistd_64.h", 0), ("asm-generic/unistd.h", 1)])
def test_the_numbers_are_those_of_the_systems_headers(header: str, column: int) -> None:
    """Those of AArch64 are the general ones; calls whose arguments depend on the size of words are NR3264 there."""
    path = Path("/usr/include") / header
    if platform.machine() != "x86_64" or not path.exists():
        pytest.skip("no header to compare with")
    found = re.findall(r"^#define __NR(?:3264)?_(\w+) (\d+)$", path.read_text(), re.MULTILINE)
    stated = {name: int(number) for name, number in found}
    stated.setdefault("newfstatat", stated.get("fstatat", -1))
    assert {name: stated.get(name, -1) for name in NUMBERS} == {name: pair[column] for name, pair in NUMBERS.items()}


ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026


def answer(column: int, number: int, *arguments: int, architecture: int | None = None) -> int:
    """What the filter says of a call on a machine, as seccomp reads it; the process is number 77."""
    stated, _ = sorted(system_calls._MACHINES.values(), key=lambda pair: pair[1])[column]
    program = system_calls._program(stated, column, 77)
    call = struct.pack("=IIQ6Q", number, architecture or stated, 0, *arguments, *[0] * (6 - len(arguments)))
    loaded = place = 0
    while True:
        code, if_true, if_false, constant = struct.unpack_from("=HBBI", program, 8 * place)
        place += 1
        if code == 0x20:
            (loaded,) = struct.unpack_from("=I", call, constant)
        elif code == 0x06:
            return int(constant)
        else:
            place += if_true if {0x15: loaded == constant, 0x45: bool(loaded & constant)}[code] else if_false


HIGH = 2**32
ANSWERS: list[tuple[str, tuple[int, ...], int]] = [
    ("kill", (77, 9), ALLOW), ("kill", (1, 9), EPERM), ("kill", (2**32 - 77, 9), EPERM), ("kill", (0, 0), EPERM),
    ("tkill", (77, 6), ALLOW), ("tkill", (78, 6), EPERM), ("tgkill", (77, 78, 6), ALLOW), ("tgkill", (1, 77, 6), EPERM),
    ("prlimit64", (0, 7, 0, HIGH), ALLOW), ("prlimit64", (0, 7, HIGH, 0), EPERM), ("prlimit64", (1, 0, 1, 0), EPERM),
    ("openat", (3, HIGH, 0o2000000), ALLOW), ("openat", (3, HIGH, 1), EPERM), ("openat", (3, HIGH, 0o100), EPERM),
    ("fcntl", (3, 1030, 3), ALLOW), ("fcntl", (3, 4, 0), EPERM), ("fcntl", (3, 8, 1), EPERM),
    ("ioctl", (3, 0x5401), ALLOW), ("ioctl", (3, 0x5412), EPERM), ("prctl", (15, HIGH), ALLOW), ("prctl", (1,), EPERM),
    ("madvise", (HIGH, 4096, 4), ALLOW), ("madvise", (HIGH, 4096, 100), EPERM),
    ("clone", (0x3D0F00,), ALLOW), ("clone", (0x7D0F00,), ALLOW), ("clone", (0x1200011,), EPERM),
    ("clone", (0,), EPERM), ("clone", (0x403D0F00,), EPERM), ("clone", (0x3D2F00,), EPERM), ("clone", (0x100,), EPERM),
]  # fmt: skip


@pytest.mark.parametrize("column", [0, 1])
def test_what_the_filter_says_on_each_machine(column: int) -> None:
    for name, arguments, expected in ANSWERS:
        assert answer(column, NUMBERS[name][column], *arguments) == expected, (name, arguments)
    for name, pair in system_calls._ALLOWED.items():
        assert pair[column] < 0 or answer(column, pair[column]) == ALLOW, name
    # All else is not there, such as calls that are newer and those of x32; another machine may do nothing.
    known = {pair[column] for pair in NUMBERS.values()}
    assert {answer(column, number) for number in range(600) if number not in known} == {ENOSYS}
    assert answer(column, 2**30) == answer(column, 2**30 + 1) == ENOSYS
    assert answer(column, 0, architecture=0x40000003) == EPERM


# -- what stays as it was


def test_certificates_with_arrays_are_checked_as_ever() -> None:
    assert [report.verdict for report in check_files([ARRAYS, CERTIFICATE], CheckOptions())] == [Verdict.VERIFIED] * 2


def test_the_parent_is_not_confined(tmp_path: Path) -> None:
    list(check_files([CERTIFICATE], CheckOptions()))
    (tmp_path / "x").write_text("x")
    assert subprocess.run(["true"], check=False).returncode == 0
    assert not sandbox.refusals()
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN  # Python's own default


def test_memory_above_the_limit_is_refused() -> None:
    report = run(lambda: len(bytearray(2**31)), CheckOptions(Limits(memory_bytes=2**30)))
    assert (report.verdict, report.limit) == (Verdict.INCONCLUSIVE, "memory")


def test_a_check_that_runs_for_ever_is_ended() -> None:
    def for_ever() -> None:
        while True:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    report = run(for_ever, CheckOptions(Limits(timeout_seconds=1)))
    assert (report.verdict, report.limit) == (Verdict.INCONCLUSIVE, "time")


@pytest.mark.heavy
def test_bytecode_of_numpy_is_kept_where_it_can_be(tmp_path: Path) -> None:
    """Workers write none themselves: without this, each would compile numpy again."""
    if not os.access(Path(sys.prefix), os.W_OK):
        pytest.skip("an installation that is read-only")
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "certattn", "check", str(CERTIFICATE)]
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    assert list(tmp_path.rglob("numpy/__init__.*.pyc"))


def test_a_worker_is_confined_before_it_reads_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    confine = worker.confine

    def noted(memory: int) -> tuple[str, ...]:
        order.append("confined")
        return confine(memory)

    monkeypatch.setattr(worker, "confine", noted)
    assert run(lambda: order).statement == "['confined']"
