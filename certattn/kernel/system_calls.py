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

# System calls by their numbers on x86-64 and AArch64 (-1: there is none). Deny all of each line.
_REFUSED = {
    # the network, and sockets of this machine
    "socket": (41, 198), "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    # other programs and processes
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, -1), "vfork": (58, -1), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    # files and folders: making, changing, removing
    "creat": (85, -1), "truncate": (76, 45), "ftruncate": (77, 46), "fallocate": (285, 47), "rename": (82, -1),
    "renameat": (264, 38), "renameat2": (316, 276), "unlink": (87, -1), "unlinkat": (263, 35), "rmdir": (84, -1),
    "mkdir": (83, -1), "mkdirat": (258, 34), "link": (86, -1), "linkat": (265, 37), "symlink": (88, -1),
    "symlinkat": (266, 36), "mknod": (133, -1), "mknodat": (259, 33), "chmod": (90, -1), "fchmod": (91, 52),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1),
    "fchownat": (260, 54), "utime": (132, -1), "utimes": (235, -1), "futimesat": (261, -1), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    "open_by_handle_at": (304, 265),
    # the machine
    "mount": (165, 40), "umount2": (166, 39), "move_mount": (429, 429), "chroot": (161, 51), "pivot_root": (155, 41),
    "unshare": (272, 97), "setns": (308, 268), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162),
    # ways around a filter: calls that are handed to the system in shared memory
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip
# Their arguments lie in memory, where a filter cannot look: callers fall back when these are not there.
_NOT_THERE = {"clone3": (435, 435), "openat2": (437, 437)}
# May reach this process only; the process is the first argument.
_SIGNALS = {"kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131)}
_CLONE, _CLONE_THREAD = (56, 220), 0x10000
_IOCTL, _TYPING_INTO_A_TERMINAL = (16, 29), (0x5412, 0x541C)
# With the index of the argument that says how to open, and the flags of anything but reading.
_OPENS = (((2, -1), 1), ((257, 56), 2))
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# What `os.uname` calls the machine, what the filter is told it is, and the column in the tables above.
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_X32 = 0x40000000  # the same calls of x86-64 by other numbers

# Classic BPF: load a word of the call, compare with a constant, return.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
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
    """Let seccomp refuse the system calls of the tables above; its name, or nothing."""
    machine = os.uname().machine
    if not _usable() or machine not in _MACHINES or struct.calcsize("P") != 8:
        return ""
    program = _program(*_MACHINES[machine], os.getpid())
    text = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text))
    done = _no_new_privileges() and _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.c_char_p(header)) == 0
    return "seccomp" if done else ""


def _program(architecture: int, column: int, process: int) -> bytes:
    """The filter; everything that it does not refuse is allowed."""
    refuse, allow = _step(_RETURN, _ERRNO | _EPERM), _step(_RETURN, _ALLOW)
    steps = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, architecture, 1, 0), refuse, _step(_LOAD, _NUMBER)]
    if column == 0:
        steps += [_step(_AT_LEAST, _X32, 0, 1), refuse]
    for numbers in _REFUSED.values():
        steps += _for(numbers[column], [refuse])
    for numbers in _NOT_THERE.values():
        steps += _for(numbers[column], [_step(_RETURN, _ERRNO | _ENOSYS)])
    for numbers in _SIGNALS.values():
        steps += _for(numbers[column], [_argument(0), _step(_EQUAL, process, 1, 0), refuse, allow])
    steps += _for(_CLONE[column], [_argument(0), _step(_ANY_BIT, _CLONE_THREAD, 1, 0), refuse, allow])
    for numbers, index in _OPENS:
        steps += _for(numbers[column], [_argument(index), _step(_ANY_BIT, _WRITING, 0, 1), refuse, allow])
    typing = [step for request in _TYPING_INTO_A_TERMINAL for step in (_step(_EQUAL, request, 0, 1), refuse)]
    steps += _for(_IOCTL[column], [_argument(1), *typing, allow])
    return b"".join([*steps, allow])


def _for(number: int, steps: list[bytes]) -> list[bytes]:
    """Steps, the last of which returns, for one system call; the others go past them."""
    return [_step(_EQUAL, number, 0, len(steps)), *steps] if number >= 0 else []


def _argument(index: int) -> bytes:
    """Loads the lower half of an argument, on a little-endian machine; flags and processes fit into it."""
    return _step(_LOAD, _FIRST_ARGUMENT + 8 * index)


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
