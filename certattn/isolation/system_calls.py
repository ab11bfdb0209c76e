"""What Linux itself can be asked to refuse a process for good: Landlock, and a seccomp filter.

Both are asked for with numbers that are part of the kernel's interface and never change (landlock(7),
seccomp(2)). Neither can be taken back. Where a system has them not, nothing is installed and the
answer says so.
"""

from __future__ import annotations

import os
import struct
import sys

try:
    import ctypes
except ImportError:  # a Python that was built without it
    ctypes = None  # type: ignore[assignment]

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_LANDLOCK_VERSION = 1
_EPERM, _ENOSYS = 1, 38

# Rights over files by the version of Landlock that brought them: to execute (1) and everything that
# changes a file or a folder. Reading (4, 8) is left: the interpreter reads its modules when they are used.
_FILE_RIGHTS = ((1, 0x1FF3), (2, 0x2000), (3, 0x4000))
_TCP_RIGHTS = 0x3  # to bind and to connect; since version 4
_SCOPES = 0x3  # abstract sockets and signals to processes outside; since version 6

# All that a check needs, by the numbers on x86-64 and AArch64 (-1: there is none). What is on none of these lists is
# not there for it, as on an older system: libraries then fall back on calls that are. None of these reaches another
# process, changes a file, or leaves anything behind; what is open when the filter comes can be read and written.
_ALLOWED = {
    # memory
    "mmap": (9, 222), "munmap": (11, 215), "mremap": (25, 216), "mprotect": (10, 226), "brk": (12, 214),
    # files that are open
    "read": (0, 63), "readv": (19, 65), "pread64": (17, 67), "preadv": (295, 69), "write": (1, 64), "writev": (20, 66),
    "lseek": (8, 62), "fadvise64": (221, 223), "close": (3, 57), "dup": (32, 23), "dup2": (33, -1), "dup3": (292, 24),
    # what there is to be read
    "stat": (4, -1), "lstat": (6, -1), "fstat": (5, 80), "newfstatat": (262, 79), "statx": (332, 291),
    "statfs": (137, 43), "fstatfs": (138, 44), "access": (21, -1), "faccessat": (269, 48), "faccessat2": (439, 439),
    "readlink": (89, -1), "readlinkat": (267, 78), "getdents": (78, -1), "getdents64": (217, 61), "getcwd": (79, 17),
    "chdir": (80, 49), "fchdir": (81, 50),
    # waiting
    "poll": (7, -1), "ppoll": (271, 73), "select": (23, -1), "pselect6": (270, 72), "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115), "restart_syscall": (219, 128), "sched_yield": (24, 124),
    # threads, and the end
    "futex": (202, 98), "set_robust_list": (273, 99), "set_tid_address": (218, 96), "rseq": (334, 293),
    "membarrier": (324, 283), "arch_prctl": (158, -1), "exit": (60, 93), "exit_group": (231, 94),
    # signals that come, and its own alarm
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "alarm": (37, -1), "setitimer": (38, 103),
    # itself, the machine, the time
    "getpid": (39, 172), "getppid": (110, 173), "gettid": (186, 178), "getuid": (102, 174), "geteuid": (107, 175),
    "getgid": (104, 176), "getegid": (108, 177), "getrlimit": (97, 163), "getrusage": (98, 165),
    "sched_getaffinity": (204, 123), "getcpu": (309, 168), "uname": (63, 160), "sysinfo": (99, 179),
    "getrandom": (318, 278), "time": (201, -1), "times": (100, 153), "gettimeofday": (96, 169),
    "clock_gettime": (228, 113), "clock_getres": (229, 114),
}  # fmt: skip
# Allowed where an argument, by its index, is one of some values.
_ITSELF = -1  # stands for the number of the process
_ONE_OF = {
    "kill": ((62, 129), 0, (_ITSELF,)), "tkill": ((200, 130), 0, (_ITSELF,)), "tgkill": ((234, 131), 0, (_ITSELF,)),
    # To duplicate, to close when a program starts, to read flags. Not to name who gets signals of a file.
    "fcntl": ((72, 25), 1, (0, 1, 2, 3, 1030)),
    # Is it a terminal? How much can be read? To close when a program starts. Not to type into a terminal.
    "ioctl": ((16, 29), 1, (0x5401, 0x802C542A, 0x541B, 0x5450, 0x5451)),
    # The names of a thread and of memory; how wide the vectors of an AArch64 are.
    "prctl": ((157, 167), 0, (15, 0x53564D41, 51)),
    # Not what takes pages from the machine or out of the memory of others.
    "madvise": ((28, 233), 2, (0, 1, 2, 3, 4, 8, 10, 11, 14, 15, 16, 17, 18, 22, 23, 25, 102, 103)),
}  # fmt: skip
# Limits of processes are read, which is where there are no new ones: root could set its own higher, and others' lower.
_PRLIMIT, _NEW_LIMITS = (302, 261), 2
# Allowed where an argument has none of some flags: files are opened to be read.
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_WITHOUT = {"open": ((2, -1), 1, _WRITING), "openat": ((257, 56), 2, _WRITING)}
# A thread has the flag of one, and no other flags than those that the libraries of C give it.
_CLONE, _THREAD, _OF_THREADS = (56, 220), 0x10000, 0x7D0F00
# What `os.uname` calls the machine, what the filter is told it is, and the column in the tables above.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

# Classic BPF: load a word of the call, compare with a constant, return.
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16


def restrict_files() -> str:
    """Let Landlock refuse to write, to execute, and what more its version knows; its name, or nothing."""
    if not _usable():
        return ""
    version = _call(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)
    if version < 1:
        return ""
    files = sum(rights for since, rights in _FILE_RIGHTS if version >= since)
    ruleset = struct.pack("=QQQ", files, _TCP_RIGHTS if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    descriptor = _call(_LANDLOCK_CREATE_RULESET, ctypes.c_char_p(ruleset), size, 0)
    if descriptor < 0:
        return ""
    try:
        # No rule is added: what the ruleset handles is allowed nowhere.
        done = _no_new_privileges() and _call(_LANDLOCK_RESTRICT_SELF, descriptor, 0) == 0
    finally:
        os.close(descriptor)
    return f"landlock (version {version})" if done else ""


def filter_system_calls() -> str:
    """Let seccomp refuse all system calls but those of the tables above; its name, or nothing."""
    machine = os.uname().machine
    if not _usable() or machine not in _MACHINES or struct.calcsize("P") != 8:
        return ""
    program = _program(*_MACHINES[machine], os.getpid())
    text = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
    done = _no_new_privileges() and _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header)) == 0
    return "seccomp" if done else ""


def _program(architecture: int, column: int, process: int) -> bytes:
    """The filter. Calls by other numbers, such as those of x32 on x86-64, are on no list."""
    allow, refuse, not_there = (_step(_RETURN, code) for code in (_ALLOW, _ERRNO | _EPERM, _ERRNO | _ENOSYS))
    steps = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, architecture, 1, 0), refuse, _step(_LOAD, _NUMBER)]
    for numbers in _ALLOWED.values():
        steps += _for(numbers[column], [allow])
    for numbers, index, values in _ONE_OF.values():
        wanted = [process if value == _ITSELF else value for value in values]
        tests = [step for value in wanted for step in (_step(_EQUAL, value, 0, 1), allow)]
        steps += _for(numbers[column], [_argument(index), *tests, refuse])
    for numbers, index, flags in _WITHOUT.values():
        steps += _for(numbers[column], [_argument(index), _step(_ANY_BIT, flags, 0, 1), refuse, allow])
    new_limits = [
        step
        for upper in (False, True)
        for step in (_argument(_NEW_LIMITS, upper=upper), _step(_EQUAL, 0, 1, 0), refuse)
    ]
    steps += _for(_PRLIMIT[column], [*new_limits, allow])
    others = _step(_ANY_BIT, ~_OF_THREADS & 0xFFFFFFFF, 0, 1)
    steps += _for(_CLONE[column], [_argument(0), others, refuse, _step(_ANY_BIT, _THREAD, 1, 0), refuse, allow])
    return b"".join([*steps, not_there])


def _for(number: int, steps: list[bytes]) -> list[bytes]:
    """Steps, the last of which returns, for one system call; the others go past them."""
    return [_step(_EQUAL, number, 0, len(steps)), *steps] if number >= 0 else []


def _argument(index: int, *, upper: bool = False) -> bytes:
    """Loads half of an argument, on a little-endian machine; of all but addresses the system reads the lower one."""
    return _step(_LOAD, _FIRST_ARGUMENT + 8 * index + 4 * upper)


def _step(code: int, constant: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, constant)


def _usable() -> bool:
    return ctypes is not None and sys.platform == "linux" and sys.byteorder == "little"


def _no_new_privileges() -> bool:
    return _prctl(_PR_SET_NO_NEW_PRIVS, 1, None) == 0


def _prctl(option: int, first: int, second: ctypes.c_char_p | None) -> int:
    # Every argument has the width of a register: a function of C that takes any number of them reads it whole.
    words = (ctypes.c_ulong(first), second, ctypes.c_ulong(0), ctypes.c_ulong(0))
    return int(ctypes.CDLL(None).prctl(option, *words))


def _call(number: int, first: ctypes.c_char_p | int | None, *others: int) -> int:
    words = (ctypes.c_long(first) if isinstance(first, int) else first, *map(ctypes.c_long, others))
    return int(ctypes.CDLL(None).syscall(ctypes.c_long(number), *words))
