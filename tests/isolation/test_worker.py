"""Workers: whatever happens to one, its certificate is not verified, and the run goes on."""

from __future__ import annotations

import ctypes
import errno
import json
import multiprocessing
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest

import certattn
from certattn.isolation import worker
from certattn.isolation.worker import check_files
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.limits import Limits
from certattn.statements.checking import check_file
from certattn.statements.reports import Report, exit_status

ROOT = Path(__file__).resolve().parent.parent.parent
CERTIFICATE = ROOT / "certificates/prompts/infinite-prompt-operator/gaussian-d1.yaml"
ARRAYS = ROOT / "certificates/attention/output-deviation/gaussian-prompt.yaml"
PATIENT = CheckOptions(Limits(timeout_seconds=30))
GOOD, EVIL = Path("good.yaml"), Path("evil.yaml")

Evil = Callable[[], Report]


@pytest.fixture(autouse=True)
def never_a_hang() -> Iterator[None]:
    def give_up(number: int, frame: object) -> NoReturn:
        raise TimeoutError("the test hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No process and no open file stays behind."""
    files, processes = set(Path("/dev/fd").iterdir()), children()
    yield
    assert set(Path("/dev/fd").iterdir()) <= files
    assert children() <= processes


def children() -> set[str]:
    """The processes that this one has started and not waited for."""
    shown = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    rows = [line.split(maxsplit=2) for line in shown.stdout.splitlines()]
    return {pid for pid, parent, args in rows if parent == str(os.getpid()) and not args.startswith("ps ")}


def verified(path: Path) -> Report:
    return Report(str(path), Verdict.VERIFIED, statement="one is one")


def run(evil: Evil, options: CheckOptions = PATIENT) -> Report:
    """The report on a certificate during whose check `evil` happens, between two honest ones."""

    first, report, last = run_all([GOOD, EVIL, GOOD], evil, options, jobs=2)
    assert first.verdict is last.verdict is Verdict.VERIFIED
    assert report.path == str(EVIL)
    return report


def run_all(paths: list[Path], evil: Evil, options: CheckOptions, *, jobs: int) -> list[Report]:
    def check(path: Path, options: CheckOptions) -> Report:
        return evil() if path == EVIL else verified(path)

    return list(check_files(paths, options, jobs=jobs, check=check))


def result_pipe() -> int:
    """Where a worker sends its report."""
    for number in range(3, 64):
        try:
            status = os.fstat(number)
        except OSError:
            continue
        if stat.S_ISFIFO(status.st_mode) and status.st_ino != os.fstat(2).st_ino:
            return number
    raise AssertionError("no pipe")


def send(text: bytes) -> NoReturn:
    os.write(result_pipe(), text)
    os._exit(0)


def as_json(report: Report) -> bytes:
    return json.dumps(report.to_dict()).encode()


# -- deaths


def segmentation_fault() -> Report:
    ctypes.string_at(0)
    return verified(EVIL)


def abort() -> Report:
    os.abort()


def illegal_instruction() -> Report:
    os.kill(os.getpid(), signal.SIGILL)
    return verified(EVIL)


def real_time_signal() -> Report:
    os.kill(os.getpid(), signal.SIGRTMIN + 1)
    return verified(EVIL)


def killed() -> Report:
    os.kill(os.getpid(), signal.SIGKILL)
    return verified(EVIL)


def exit_without_a_report() -> Report:
    os._exit(0)


def exit_with_another_status() -> Report:
    os._exit(7)


def system_exit() -> Report:
    sys.exit(0)


def keyboard_interrupt() -> Report:
    raise KeyboardInterrupt


def report_then_death() -> Report:
    os.write(result_pipe(), as_json(verified(EVIL)))
    os.abort()


def complaint_then_death() -> Report:
    print("Flint exception (Impossible inverse):\n    cannot go on", file=sys.stderr)
    os.abort()


DEATHS = {
    segmentation_fault: "signal 11",
    abort: "signal 6",
    illegal_instruction: "signal 4",
    real_time_signal: "signal ",
    killed: "out of memory",
    exit_without_a_report: "exit status 0",
    exit_with_another_status: "exit status 7",
    system_exit: "SystemExit",
    keyboard_interrupt: "KeyboardInterrupt",
    report_then_death: "signal 6",
    complaint_then_death: "cannot go on",
}


@pytest.mark.parametrize(("evil", "words"), DEATHS.items(), ids=lambda x: getattr(x, "__name__", ""))
def test_a_dying_worker_is_an_error(evil: Evil, words: str) -> None:
    report = run(evil)
    assert report.verdict is Verdict.ERROR
    assert words in report.reason
    assert exit_status([report]) == 70


# -- wrong messages


def nothing_but_noise() -> Report:
    send(b"\xff\xfe\x00noise")


def other_json() -> Report:
    send(b"[1, 2]")


def half_a_report() -> Report:
    send(as_json(verified(EVIL))[:-5])


def missing_fields() -> Report:
    send(json.dumps({"path": str(EVIL), "verdict": "verified"}).encode())


def unknown_fields() -> Report:
    send(json.dumps({**verified(EVIL).to_dict(), "trust": "me"}).encode())


def unknown_verdict() -> Report:
    send(json.dumps({**verified(EVIL).to_dict(), "verdict": "certainly"}).encode())


def deep_json() -> Report:
    send(b"[" * 50_000)


def two_reports() -> Report:
    os.write(result_pipe(), as_json(verified(EVIL)))
    return replace(verified(EVIL), verdict=Verdict.REFUTED)


def the_same_report_twice() -> Report:
    os.write(result_pipe(), as_json(verified(EVIL)))
    return verified(EVIL)


def a_report_of_another_file() -> Report:
    return verified(GOOD)


def no_report() -> Report:
    return None  # type: ignore[return-value]


def a_report_that_is_no_json() -> Report:
    return replace(verified(EVIL), claim=object())  # type: ignore[arg-type]


MESSAGES = (
    nothing_but_noise, other_json, half_a_report, missing_fields, unknown_fields, unknown_verdict, deep_json,
    two_reports, the_same_report_twice, a_report_of_another_file, no_report, a_report_that_is_no_json,
)  # fmt: skip


@pytest.mark.parametrize("evil", MESSAGES, ids=lambda e: e.__name__)
def test_anything_but_one_report_of_the_file_is_an_error(evil: Evil) -> None:
    report = run(evil)
    assert report.verdict is Verdict.ERROR
    assert "the worker process" in report.reason


def test_a_message_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def flood() -> NoReturn:
        pipe = result_pipe()
        while True:
            os.write(pipe, b" " * 2**16)

    monkeypatch.setattr(worker, "_REPORT_BYTES", 2**20)
    report = run(flood)
    assert report.verdict is Verdict.ERROR
    assert "over 1048576 bytes" in report.reason


@pytest.mark.heavy
def test_a_long_report_arrives_whole() -> None:
    obligations = tuple({"name": f"at_most[{i}]"} for i in range(50_000))
    report = run(lambda: replace(verified(EVIL), verdict=Verdict.INCONCLUSIVE, obligations=obligations))
    assert report.obligations == obligations


# -- exceptions


def test_an_exception_is_a_bug_that_says_where() -> None:
    def wrong() -> Report:
        raise ValueError("the third root of two")

    report = run(wrong)
    assert report.verdict is Verdict.ERROR
    assert "a bug in certattn: ValueError: the third root of two (test_worker.py:" in report.reason
    assert "report it" in report.reason


def test_recursion_without_end_is_a_bug() -> None:
    def deeper() -> Report:
        return deeper()

    report = run(deeper)
    assert report.verdict is Verdict.ERROR
    assert "RecursionError" in report.reason


# -- limits


def for_ever() -> Report:
    while True:
        time.sleep(10)


def busy_for_ever() -> Report:
    while True:
        pass


def stopped() -> Report:
    os.kill(os.getpid(), signal.SIGSTOP)
    return verified(EVIL)


def deaf() -> Report:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    return for_ever()


def half_a_report_and_no_end() -> Report:
    os.write(result_pipe(), as_json(verified(EVIL))[:20])
    return for_ever()


def closed_and_no_end() -> Report:
    os.write(result_pipe(), as_json(verified(EVIL)))
    os.closerange(3, 64)
    return for_ever()


HANGS = (for_ever, busy_for_ever, stopped, deaf, half_a_report_and_no_end, closed_and_no_end)


@pytest.mark.heavy
def test_workers_over_time_are_ended() -> None:
    evils = {evil.__name__: evil for evil in HANGS}
    paths = [Path(name) for name in evils]
    start = time.monotonic()
    limits = CheckOptions(Limits(timeout_seconds=2))
    reports = list(check_files(paths, limits, jobs=len(evils), check=lambda path, options: evils[path.name]()))
    assert 2 < time.monotonic() - start < 20
    assert [(r.path, r.verdict, r.limit) for r in reports] == [(name, Verdict.INCONCLUSIVE, "time") for name in evils]
    assert all("time limit of 2 s (--timeout), while it read the certificate" in report.reason for report in reports)
    assert exit_status(reports) == 4


def test_a_worker_over_time_does_not_hold_the_others_up() -> None:
    limits = CheckOptions(Limits(timeout_seconds=4))
    reports = run_all([EVIL, *[GOOD] * 20], for_ever, limits, jobs=2)
    assert [r.verdict for r in reports] == [Verdict.INCONCLUSIVE] + [Verdict.VERIFIED] * 20


def allocate() -> Report:
    return verified(Path("x" * 2**34))


def allocation_fails_inside_a_library() -> Report:
    raise ImportError("libexample.so: failed to map segment from shared object")


def flint_cannot_allocate() -> Report:
    os.write(2, b"Exception (FLINT memory_manager). Unable to allocate memory (17179869184).\n")
    os.abort()


def openblas_cannot_allocate() -> Report:
    os.write(2, b"OpenBLAS error: Memory allocation still failed after 10 retries, giving up.\n")
    os._exit(1)


MEMORY = (allocate, allocation_fails_inside_a_library, flint_cannot_allocate, openblas_cannot_allocate)


@pytest.mark.parametrize("evil", MEMORY, ids=lambda e: e.__name__)
def test_exhausted_memory_is_a_limit(evil: Evil) -> None:
    report = run(evil)
    assert (report.verdict, report.limit) == (Verdict.INCONCLUSIVE, "memory")
    assert "--memory" in report.reason
    assert exit_status([report]) == 4


@pytest.mark.parametrize(("memory", "shown"), [(2**10, "1024 bytes"), (2**20 - 1, "1048575 bytes"), (2**20, "1 MiB")])
def test_a_memory_limit_is_said_as_it_is(memory: int, shown: str) -> None:
    def exhausted(path: Path, options: CheckOptions) -> NoReturn:
        raise MemoryError

    (report,) = check_files([GOOD], CheckOptions(Limits(memory_bytes=memory)), check=exhausted)
    assert report.reason == f"the memory limit of {shown} was reached (--memory)"


@pytest.mark.parametrize("memory", [1, 30 * 2**20, 2**70])
def test_any_memory_limit_gives_a_report(memory: int) -> None:
    (report,) = check_files([CERTIFICATE], CheckOptions(Limits(memory_bytes=memory)))
    assert (report.verdict, report.limit) in [(Verdict.VERIFIED, ""), (Verdict.INCONCLUSIVE, "memory")]


def test_flint_out_of_memory_is_a_limit() -> None:
    def huge() -> Report:
        from flint import fmpz

        fmpz(2) ** (2**33)
        return verified(EVIL)

    report = run(huge, CheckOptions(Limits(memory_bytes=2**29)))
    assert (report.verdict, report.limit) == (Verdict.INCONCLUSIVE, "memory")


def test_a_very_long_time_limit_is_allowed() -> None:
    (report,) = check_files([CERTIFICATE], CheckOptions(Limits(timeout_seconds=10**18)))
    assert report.verdict is Verdict.VERIFIED


# -- the rest of the run


def test_reports_come_in_the_order_of_the_paths() -> None:
    def check(path: Path, options: CheckOptions) -> Report:
        time.sleep(0.2 if path.name == "0" else 0)
        return verified(path)

    paths = [Path(str(i)) for i in range(9)]
    assert [r.path for r in check_files(paths, PATIENT, jobs=4, check=check)] == [str(p) for p in paths]


def test_progress_is_told_of_every_start_and_of_time() -> None:
    begun: list[Path] = []
    ticks: list[int] = []
    paths = [GOOD, EVIL]
    list(
        check_files(
            paths, PATIENT, check=lambda p, o: verified(p), started=begun.append, waited=lambda *_: ticks.append(1)
        )
    )
    assert begun == paths
    assert ticks


def test_progress_is_told_why_a_check_has_left_binary64() -> None:
    said: list[tuple[Path, str]] = []

    def check(path: Path, options: CheckOptions) -> Report:
        if path == GOOD:
            options.watch.left_binary64("so \N{GREEK SMALL LETTER ALPHA}" + "x" * 1000)
            time.sleep(1)
        return verified(path)

    list(check_files([GOOD, EVIL], PATIENT, check=check, left=lambda path, reason: said.append((path, reason))))
    assert [path for path, _ in said] == [GOOD]
    assert said[0][1].startswith("so \N{GREEK SMALL LETTER ALPHA}x")
    assert len(said[0][1]) < 500


def test_no_files_no_reports() -> None:
    assert list(check_files([], PATIENT)) == []


def test_closing_the_iterator_ends_every_worker() -> None:
    checks = check_files(
        [GOOD, EVIL, EVIL], PATIENT, jobs=3, check=lambda p, o: verified(p) if p == GOOD else for_ever()
    )
    assert next(checks).verdict is Verdict.VERIFIED
    checks.close()


def test_an_exception_in_a_callback_ends_every_worker() -> None:
    def fail(path: Path) -> None:
        raise OSError(errno.EIO, "the terminal is gone")

    with pytest.raises(OSError, match="gone"):
        list(check_files([GOOD, GOOD], PATIENT, jobs=2, check=lambda p, o: for_ever(), started=fail))


def test_ctrl_c_reaches_the_parent_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "confine", lambda memory: ())  # which would not let it signal its parent

    def check(path: Path, options: CheckOptions) -> Report:
        os.kill(os.getpid(), signal.SIGINT)  # as a terminal does to the whole group
        os.kill(os.getppid(), signal.SIGINT)
        return for_ever()

    with pytest.raises(KeyboardInterrupt):
        list(check_files([GOOD, GOOD], CheckOptions(), jobs=2, check=check))


def test_a_worker_cannot_write_to_the_parents_output(capfd: pytest.CaptureFixture[str]) -> None:
    def check(path: Path, options: CheckOptions) -> Report:
        print("verified everything", flush=True)
        os.write(1, b"verified everything\n")
        os.write(2, b"verified everything\n")
        return replace(verified(path), verdict=Verdict.REFUTED)

    (report,) = check_files([GOOD], PATIENT, check=check)
    assert report.verdict is Verdict.REFUTED
    assert capfd.readouterr() == ("", "")


def test_a_worker_that_complains_without_end_is_not_blocked() -> None:
    def loud() -> Report:
        with suppress(BlockingIOError):
            for _ in range(100):
                os.write(2, b"e" * 2**14)
        return verified(EVIL)

    assert run(loud).verdict is Verdict.VERIFIED


def test_a_worker_has_nothing_of_the_parents_files_and_input() -> None:
    inherited = os.open(os.devnull, os.O_RDONLY)

    def check(path: Path, options: CheckOptions) -> Report:
        try:
            os.fstat(inherited)
        except OSError:
            return replace(verified(path), statement=repr(os.read(0, 10)))
        return replace(verified(path), verdict=Verdict.REFUTED)

    try:
        (report,) = check_files([GOOD], PATIENT, check=check)
    finally:
        os.close(inherited)
    assert (report.verdict, report.statement) == (Verdict.VERIFIED, "b''")


def test_a_worker_whose_parent_was_killed_ends_itself() -> None:
    def remaining(path: Path, options: CheckOptions) -> Report:
        return replace(verified(path), bits=signal.alarm(0))

    (report,) = check_files([GOOD], CheckOptions(Limits(timeout_seconds=100)), check=remaining)
    assert 100 < report.bits <= 160


# -- a parent with little room, or in an odd state


def test_where_no_process_can_be_started_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    fork, calls = os.fork, iter(range(100))

    def sometimes() -> int:
        if next(calls) % 2:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return fork()

    monkeypatch.setattr(os, "fork", sometimes)
    reports = list(check_files([GOOD] * 5, PATIENT, jobs=3, check=lambda p, o: verified(p)))
    assert all(r.verdict is Verdict.VERIFIED or r.limit == "processes" for r in reports)
    assert len(reports) == 5
    assert reports[0].verdict is Verdict.VERIFIED


def test_where_no_process_at_all_can_be_started_every_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> int:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(os, "fork", never)
    reports = list(check_files([GOOD, EVIL], PATIENT, jobs=2))
    assert [(r.path, r.verdict, r.limit) for r in reports] == [
        (str(p), Verdict.INCONCLUSIVE, "processes") for p in (GOOD, EVIL)
    ]
    assert "cannot allocate memory" in reports[0].reason
    assert exit_status(reports) == 4


def test_many_open_files_do_not_matter() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened: list[int] = []
    try:
        while len(opened) < soft - 40:
            opened.append(os.open(os.devnull, os.O_RDONLY))
            if len(opened) > 5000:
                resource.setrlimit(resource.RLIMIT_NOFILE, (opened[-1] + 20, hard))
                break
        reports = list(check_files([ARRAYS, CERTIFICATE] * 5, CheckOptions(), jobs=10))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for number in opened:
            os.close(number)
    assert {r.verdict for r in reports} == {Verdict.VERIFIED}


def test_a_parent_without_standard_streams() -> None:
    script = (
        "import os, sys, certattn; [os.close(i) for i in range(3)];"
        f"sys.exitfunc = None; r = certattn.check({str(ARRAYS)!r}, isolated=True);"
        "os._exit(0 if r.verdict is certattn.Verdict.VERIFIED else 9)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_where_children_are_not_waited_for_nothing_verifies() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        (report,) = check_files([GOOD], PATIENT, check=lambda p, o: verified(p))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert report.verdict is Verdict.ERROR
    assert "exit status unknown" in report.reason


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["-c", "threads"])
def test_isolated_checks_from_any_program(form: str, tmp_path: Path) -> None:
    """Also where spawn is the start method, and a program without a `__main__` guard."""
    call = f"certattn.check({str(ARRAYS)!r}, isolated=True).verdict.value"
    program = "import certattn, multiprocessing as m; m.set_start_method('spawn')\n"
    if form == "-c":
        command = ["-c", f"{program}print({call})"]
    else:
        script = tmp_path / "program.py"
        script.write_text(
            f"{program}from concurrent.futures import ThreadPoolExecutor\n"
            f"with ThreadPoolExecutor(3) as pool: print(*pool.map(lambda _: {call}, range(6)))\n"
        )
        command = [str(script)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, timeout=60)
    assert set(done.stdout.split()) == {"verified"}


@pytest.mark.heavy
def test_isolated_checks_while_other_threads_import() -> None:
    done = threading.Event()

    def import_anew() -> None:
        while not done.is_set():
            for name in ("zipfile", "json.decoder", "xml.etree.ElementTree"):
                sys.modules.pop(name, None)
                __import__(name)

    kept = {name: sys.modules.get(name) for name in ("zipfile", "json.decoder", "xml.etree.ElementTree")}
    importer = threading.Thread(target=import_anew)
    importer.start()
    try:
        with ThreadPoolExecutor(3) as pool:
            reports = list(pool.map(lambda _: certattn.check(ARRAYS, isolated=True), range(9)))
    finally:
        done.set()
        importer.join()
        sys.modules.update({name: module for name, module in kept.items() if module is not None})
    assert {r.verdict for r in reports} == {Verdict.VERIFIED}


def _in_a_pool(path: Path) -> str:
    return certattn.check(path, isolated=True).verdict.value


def test_isolated_checks_inside_a_pool_of_processes() -> None:
    # The processes of a pool may not have children of multiprocessing's own.
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply(_in_a_pool, (CERTIFICATE,)) == "verified"
        pool.close()
        pool.join()


def test_the_same_report_with_and_without_a_process() -> None:
    (isolated,) = check_files([CERTIFICATE], CheckOptions(detail=True))
    direct = check_file(CERTIFICATE, CheckOptions(detail=True))
    assert replace(isolated, nanoseconds={}) == replace(direct, nanoseconds={})
    assert set(isolated.nanoseconds) == {*direct.nanoseconds, "total"}
