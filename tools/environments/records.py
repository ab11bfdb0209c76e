"""The environments of the matrix: what each changes about the process of a check, and how one sees that it is in force.

To enter another, add a record. Its probe is evaluated in the process, by `child.py`, and must give
another text there than in the clean environment: an environment that is not in force is an error.
"""

from __future__ import annotations

import ctypes.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

API, COMMAND, ISOLATED, RECHECK = "api", "command", "isolated", "recheck"
# The second checker is run by `python -I -S`: no variable of Python's and no sitecustomize gets there.
PACKAGE = (API, COMMAND)
EVERY = (API, COMMAND, RECHECK)


@dataclass(frozen=True)
class Environment:
    """How a process differs from the clean one.

    `changes` in words. `variables` of the environment; `options` of the interpreter; `preload`: definitions with
    which `SOURCE` is compiled to a library that is loaded before the program; `library` is one that is there;
    `launcher` is put before the command. `prelude` is code that runs first, `interlude` what runs after the import of
    certattn, in the thread that checks; `place` is that thread: main, thread, or subinterpreter. `customize` is a
    `sitecustomize`. `bytecode`: "warm" reads that of a clean run, "none" compiles all sources, a folder is written
    to, and the name of an environment reads what that has compiled, except the files that `afresh` names.

    `probe` sees the change, and gives the text `shows` if there is one. `how` is who can be asked. `missing` says why
    it cannot be tried on this machine. `stops`: by who is asked, why there may be no verdict.
    """

    name: str
    changes: str
    probe: str
    shows: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    library: str = ""
    launcher: tuple[str, ...] = ()
    prelude: str = ""
    interlude: str = ""
    customize: str = ""
    place: str = "main"
    bytecode: str = "warm"
    afresh: tuple[str, ...] = ()
    how: tuple[str, ...] = EVERY
    arb: bool = False
    missing: Callable[[], str] = lambda: ""
    stops: Mapping[str, str] = field(default_factory=dict)
    # Whether the clean environment of some machine may be so already.
    usual: bool = False


CLEAN = Environment("clean", "nothing", "None")

# -- control words

# What is set in MXCSR is 0x1f80 or one of these bits, and in the x87 control word 0x37f: see Intel's manual, volume 1,
# 8.1.5 and 10.2.3. FE_DOWNWARD, FE_UPWARD and FE_TOWARDZERO have their bits at 10 in x87 and at 13 in MXCSR.
SOURCE = """
unsigned mxcsr(void) { unsigned word; __asm__ volatile ("stmxcsr %0" : "=m" (word)); return word & ~0x3fu; }
void set_mxcsr(unsigned word) { __asm__ volatile ("ldmxcsr %0" : : "m" (word)); }
unsigned x87(void) { unsigned short word; __asm__ volatile ("fnstcw %0" : "=m" (word)); return word; }
void set_x87(unsigned word) { unsigned short short_word = word; __asm__ volatile ("fldcw %0" : : "m" (short_word)); }
#ifdef MXCSR
__attribute__((constructor)) static void begin(void) { set_mxcsr(MXCSR); set_x87(X87); }
#endif
"""
MXCSR, X87 = 0x1F80, 0x37F
FTZ, DAZ = 0x8000, 0x0040
ROUNDING = {"downward": 1, "upward": 2, "toward zero": 3}
UNMASKED = {"invalid, division by zero, overflow": 0x0680, "all": 0x1F80}
WORDS = "(hex(words().mxcsr()), hex(words().x87()))"


def no_x86() -> str:
    return "" if platform.machine() == "x86_64" else "the control words of x86-64"


def _words(mxcsr: int, x87: int = X87) -> str:
    return f"words().set_mxcsr({mxcsr}); words().set_x87({x87})"


def control_words() -> list[Environment]:
    """Each change of MXCSR and the x87 control word, in each of the ways in which it comes about."""
    found = []
    changes = [
        ("FTZ", FTZ, 0, "results below the normal numbers become zero"),
        ("DAZ", DAZ, 0, "operands below the normal numbers count as zero"),
        ("FTZ and DAZ", FTZ | DAZ, 0, "both, as a library linked with -ffast-math sets them"),
        *((f"rounding {name}", code << 13, code << 10, f"{name}, SSE and x87") for name, code in ROUNDING.items()),
        ("x87 in single precision", 0, -0x300, "results of the x87 have 24 bits"),
        ("x87 in double precision", 0, -0x100, "results of the x87 have 53 bits"),
        ("rounding upward, FTZ and DAZ", 2 << 13 | FTZ | DAZ, 2 << 10, "all at once"),
    ]
    for name, sse, x87, words in changes:
        mxcsr, control = MXCSR | sse, X87 + x87
        one = Environment(name, words, WORDS, str((hex(mxcsr), hex(control))), missing=no_x86, arb=sse != 0)
        preload = (f"MXCSR={mxcsr}", f"X87={control}")
        late = _words(mxcsr, control)
        found.append(replace(one, name=f"{name}, preloaded", preload=preload))
        found.append(replace(one, name=f"{name}, preloaded, no bytecode", preload=preload, bytecode="none", arb=False))
        if name in ("FTZ", "DAZ", "x87 in double precision"):
            continue
        found.append(replace(one, name=f"{name}, by a library loaded first", prelude=late, arb=False))
        found.append(replace(one, name=f"{name}, between import and check", interlude=late, how=PACKAGE, arb=False))
        found.append(
            replace(
                one, name=f"{name}, in a new thread", interlude=late, place="thread", how=(API, ISOLATED), arb=False
            )
        )
    for name, bits in UNMASKED.items():
        mxcsr, control = MXCSR & ~bits, X87 & ~(bits >> 7 & 0x3F)
        one = Environment(
            f"SIGFPE: {name}", "exceptions are signals", WORDS, str((hex(mxcsr), hex(control))), missing=no_x86,
            interlude=_words(mxcsr, control),
            stops=dict.fromkeys(EVERY, "the first number that is rounded ends the process") if name == "all" else {},
        )  # fmt: skip
        found.append(one)
    written = "FTZ and DAZ, preloaded, no bytecode"
    upward = "rounding upward, preloaded, no bytecode"
    here = "sys.pycache_prefix.rpartition('/')[2]"
    return [
        *found,
        Environment("bytecode written under FTZ and DAZ", "then run clean", here, bytecode=written, how=PACKAGE),
        Environment("bytecode written under upward rounding", "then run clean", here, bytecode=upward, how=PACKAGE),
        Environment("bytecode written under FTZ and DAZ, but for the guards", "then run clean", here, bytecode=written,
                    afresh=("guards", "floating_point"), how=PACKAGE),
    ]  # fmt: skip


# -- the machine, its libraries


def _lacks(flag: str) -> Callable[[], str]:
    def missing() -> str:
        try:
            flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").split()
        except OSError:
            return "/proc/cpuinfo"
        return no_x86() or ("" if flag in flags else f"a processor with {flag}")

    return missing


def machines() -> list[Environment]:
    cores = [("Haswell", "avx2"), ("SkylakeX", "avx512f"), ("Zen", "avx2"), ("Prescott", "pni"), ("Nehalem", "sse4_2"),
             ("Sandybridge", "avx")]  # fmt: skip
    found = [
        Environment(
            f"OpenBLAS for {core}", "other matrix products", "blas_core()", variables={"OPENBLAS_CORETYPE": core},
            how=PACKAGE, missing=_lacks(flag), usual=True,
        )
        for core, flag in cores
    ]  # fmt: skip
    for name, flag in (("X86_V4 AVX512_ICL AVX512_SPR", "avx512f"), ("X86_V3 X86_V4 AVX512_ICL AVX512_SPR", "avx2")):
        less = {"NPY_DISABLE_CPU_FEATURES": name}
        one = Environment(f"numpy without {name.split()[0]}", "other loops of numpy", "cpu_features()", variables=less,
                          how=PACKAGE, missing=_lacks(flag))  # fmt: skip
        found.append(one)
    least = {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR", "OPENBLAS_CORETYPE": "Prescott"}
    found.append(
        Environment("numpy at its baseline, OpenBLAS for Prescott", "an old machine", "(blas_core(), cpu_features())",
                    variables=least, how=PACKAGE, missing=_lacks("avx2"))
    )  # fmt: skip
    return found + [
        Environment(f"{variable}=1", "other sums in matrix products", "blas_threads()", "1",
                    variables={variable: "1"}, how=(API,), usual=True)
        for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
    ]  # fmt: skip


def _jemalloc() -> str:
    return ctypes.util.find_library("jemalloc") or ""


def memory() -> list[Environment]:
    variable = "os.environ.get('PYTHONMALLOC')"
    return [
        *(
            Environment(f"PYTHONMALLOC={kind}", "another allocator of Python", variable, kind, how=PACKAGE,
                        variables={"PYTHONMALLOC": kind})
            for kind in ("debug", "malloc", "malloc_debug", "pymalloc_debug")
        ),
        Environment("MALLOC_PERTURB_=165", "memory is never zero by chance", "fresh_byte()", "90",
                    variables={"MALLOC_PERTURB_": "165"}),
        Environment("jemalloc", "another allocator", "'jemalloc' in open('/proc/self/maps').read()", "True",
                    library=_jemalloc(), missing=lambda: "" if _jemalloc() else "libjemalloc"),
        Environment("256 kB of stack", "ulimit -s", "__import__('resource').getrlimit(3)[0]", str(256 * 1024),
                    launcher=("sh", "-c", 'ulimit -s 256; exec "$@"', "sh")),
        Environment("20 open files", "ulimit -n", "__import__('resource').getrlimit(7)[0]", "20",
                    launcher=("sh", "-c", 'ulimit -n 20; exec "$@"', "sh")),
        Environment("gc disabled", "no cycle is ever freed", "__import__('gc').isenabled()", "False",
                    prelude="import gc; gc.disable()"),
        Environment("gc after each object", "a collection at every step", "__import__('gc').get_threshold()[0]", "1",
                    prelude="import gc; gc.set_threshold(1)", how=PACKAGE),
    ]  # fmt: skip


# -- text


def _no_locales() -> str:
    try:
        subprocess.run(["localedef", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "localedef"
    return "" if Path("/usr/share/i18n/locales/tr_TR").exists() else "the sources of locales"


LOCALES = ("de_DE", "tr_TR", "ar_EG", "fa_IR")
SETLOCALE = "import locale; locale.setlocale(locale.LC_ALL, '')"


def texts() -> list[Environment]:
    which = "__import__('locale').setlocale(__import__('locale').LC_ALL)"
    encodings = "(sys.flags.utf8_mode, sys.stdout.encoding)"
    found = [
        Environment(f"LC_ALL={name}", "decimal comma, dotless i, other digits; setlocale before the import", which,
                    f"{name}.UTF-8", variables={"LC_ALL": f"{name}.UTF-8"}, prelude=SETLOCALE, missing=_no_locales)
        for name in LOCALES
    ]  # fmt: skip
    found += [
        Environment("LC_ALL=C without UTF-8", "text of the system is ASCII", encodings, "(0, 'ascii')", how=PACKAGE,
                    variables={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
                               "PYTHONIOENCODING": "ascii"}),
        Environment("PYTHONUTF8=1", "UTF-8 whatever the system has", "sys.flags.utf8_mode", "1", how=PACKAGE,
                    variables={"PYTHONUTF8": "1"}),
        Environment("-X utf8=1", "the same for isolated Python", "sys.flags.utf8_mode", "1", options=("-X", "utf8=1")),
        Environment("PYTHONIOENCODING=ascii", "streams are ASCII", "sys.stdout.encoding", "ascii", how=PACKAGE,
                    variables={"PYTHONIOENCODING": "ascii"}),
        Environment("a terminal, CI, another time zone", "COLUMNS, NO_COLOR, TERM, CI, TZ",
                    "[os.environ.get(name) for name in ('COLUMNS', 'NO_COLOR', 'TERM', 'CI', 'TZ')]",
                    "['1', '1', 'dumb', 'true', 'Asia/Kathmandu']",
                    variables={"COLUMNS": "1", "NO_COLOR": "1", "TERM": "dumb", "CI": "true", "TZ": "Asia/Kathmandu"}),
    ]  # fmt: skip
    return found


# -- the interpreter


def interpreters() -> list[Environment]:
    digits = "sys.get_int_max_str_digits()"
    found = [
        Environment(f"PYTHONHASHSEED={seed}", "another order of sets", "hash('certattn')", how=PACKAGE,
                    variables={"PYTHONHASHSEED": str(seed)})
        for seed in (1, 2, 4242)
    ]  # fmt: skip
    found += [
        Environment("PYTHONINTMAXSTRDIGITS=640", "long integers are no text", digits, "640", how=PACKAGE,
                    variables={"PYTHONINTMAXSTRDIGITS": "640"}),
        Environment("-X int_max_str_digits=640", "long integers are no text", digits, "640",
                    options=("-X", "int_max_str_digits=640")),
        Environment("set_int_max_str_digits(640)", "between import and check", digits, "640", how=PACKAGE,
                    interlude="sys.set_int_max_str_digits(640)"),
        Environment("recursion limit 120", "between import and check", "sys.getrecursionlimit()", "120", how=PACKAGE,
                    interlude="sys.setrecursionlimit(120)",
                    stops=dict.fromkeys(PACKAGE, "importing a module or parsing a command line takes more")),
        Environment("recursion limit 10^9", "between import and check", "sys.getrecursionlimit()", "1000000000",
                    interlude="sys.setrecursionlimit(10**9)"),
        Environment("PYTHONOPTIMIZE=2", "no assertions, no docstrings", "sys.flags.optimize", "2", how=PACKAGE,
                    variables={"PYTHONOPTIMIZE": "2"}),
        Environment("-OO", "no assertions, no docstrings", "sys.flags.optimize", "2", options=("-OO",)),
        Environment("-O", "no assertions", "sys.flags.optimize", "1", options=("-O",)),
        Environment("-X dev", "warnings, debugging of memory", "sys.flags.dev_mode", "True", options=("-X", "dev")),
        Environment("-X importtime", "lines on the error stream", "'importtime' in sys._xoptions", "True",
                    options=("-X", "importtime")),
        Environment("-X frozen_modules=off", "the standard library from its files", "sys._xoptions['frozen_modules']",
                    "off", options=("-X", "frozen_modules=off")),
        Environment("-X tracemalloc", "memory is watched", "__import__('tracemalloc').is_tracing()", "True",
                    options=("-X", "tracemalloc")),
        Environment("-W error", "warnings are exceptions", "sys.warnoptions", "['error']",
                    options=("-W", "error")),
        Environment("-bb", "bytes compared with text are exceptions", "sys.flags.bytes_warning", "2", options=("-bb",)),
        Environment("a subinterpreter", "another interpreter of the same process",
                    "__import__('_xxsubinterpreters').get_current()", place="subinterpreter", how=(API,),
                    missing=lambda: "" if sys.version_info < (3, 13) else "Python before 3.13"),
        Environment("a new thread", "certattn is imported and used there", "threading.current_thread().name",
                    place="thread", how=(API, ISOLATED)),
        Environment("a trace function", "as debuggers and coverage have it", "sys.gettrace() is not None", "True",
                    how=(API,), interlude="sys.settrace(lambda *_: None)"),
    ]  # fmt: skip
    return found


# -- libraries that somebody has set otherwise


def settings() -> list[Environment]:
    numpy_errors = "__import__('numpy').geterr()['divide']"
    flint = "(lambda c: (c.prec, c.cap, c.pretty, c.unicode, c.threads))(__import__('flint').ctx)"
    patched = "(lambda m: (m.fsum([1e16, 1, -1e16]), m.sqrt(4)))(__import__('math'))"
    return [
        Environment("numpy raises", "numpy.seterr(all='raise')", numpy_errors, "raise", how=PACKAGE,
                    interlude="import numpy; numpy.seterr(all='raise')"),
        Environment("numpy calls", "numpy.seterrcall, which ends in an exception", numpy_errors, "call", how=PACKAGE,
                    interlude="import numpy\ndef called(*_): raise RuntimeError\n"
                              "numpy.seterr(all='call'); numpy.seterrcall(called)"),
        Environment("numpy prints two digits", "numpy.set_printoptions",
                    "__import__('numpy').get_printoptions()['precision']", "2", how=PACKAGE,
                    interlude="import numpy; numpy.set_printoptions(precision=2, threshold=1)"),
        Environment("a small buffer of numpy", "numpy.setbufsize(16)", "__import__('numpy').getbufsize()", "16",
                    how=PACKAGE, interlude="import numpy; numpy.setbufsize(16)"),
        Environment("FLINT: 2 bits", "the context of python-flint", flint, "(2, 1, False, True, 4)",
                    how=PACKAGE, arb=True, interlude="from flint import ctx\n"
                              "ctx.prec, ctx.cap, ctx.pretty, ctx.unicode, ctx.threads = 2, 1, False, True, 4"),
        Environment("FLINT: 100,000 bits", "the context of python-flint", flint, "(100000, 1, True, False, 1)",
                    how=PACKAGE, interlude="from flint import ctx; ctx.prec, ctx.cap = 100000, 1"),
        Environment("decimal in one digit", "decimal's context, which traps everything",
                    "__import__('decimal').getcontext().prec", "1",
                    prelude="import decimal; c = decimal.getcontext(); "
                            "c.prec, c.traps = 1, dict.fromkeys(c.traps, True)"),
        Environment("mpmath in two bits", "mpmath's context", "__import__('mpmath').mp.prec", "2", how=PACKAGE,
                    prelude="import mpmath; mpmath.mp.prec = 2"),
        Environment("math with less", "math.fsum is sum, math.sqrt is a power", patched, "(0.0, 2.0)",
                    prelude="import math; math.fsum = lambda x: float(sum(x)); math.sqrt = lambda x: x ** 0.5"),
        Environment("sitecustomize", "a sitecustomize that replaces math.fsum", patched, "(0.0, 2.0)",
                    how=PACKAGE, customize="import math\nmath.fsum = lambda x: float(sum(x))\n"),
    ]  # fmt: skip


# -- the system around


def _no_setpriv() -> str:
    return "" if os.geteuid() == 0 and shutil.which("setpriv") else "setpriv, run by the system's user,"


# Who may read everything, such as an interpreter in the home of another user, and write nothing.
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_read_search",
          "--ambient-caps=+dac_read_search", "env", "HOME=/nonexistent")  # fmt: skip
GONE = "import tempfile; gone = tempfile.mkdtemp(); os.chdir(gone); os.rmdir(gone)"
IGNORED = "from signal import signal, SIG_IGN; [signal(number, SIG_IGN) for number in {}]"


def systems() -> list[Environment]:
    user = "(os.geteuid(), os.path.exists(os.environ['HOME']), os.access(os.path.dirname(os.__file__), os.W_OK))"
    streams = "[stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)]"
    ignored = "[int(__import__('signal').getsignal(number)) for number in {}]"
    return [
        Environment("another user without a home", "who may not write to the installation", user,
                    "(65534, False, False)", launcher=NOBODY, missing=_no_setpriv),
        Environment("umask 377", "nobody may change what is written", "oct(os.umask(0o377))", "0o377",
                    prelude="os.umask(0o377)"),
        Environment("working folder removed", "there is no current folder", "os.getcwd()", prelude=GONE),
        Environment("no standard input", "closed before the start", streams, "[True, False, False]",
                    launcher=("sh", "-c", 'exec "$@" <&-', "sh")),
        Environment("no standard streams", "closed before the start", streams, "[True, True, True]", how=PACKAGE,
                    launcher=("sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh")),
        Environment("signals ignored", "SIGPIPE, SIGALRM, SIGTERM and SIGXCPU, as a parent may leave them",
                    ignored.format("(13, 14, 15, 24)"), "[1, 1, 1, 1]", prelude=IGNORED.format("(13, 14, 15, 24)")),
        Environment("SIGCHLD ignored", "nobody can be waited for", ignored.format("[17]"), "[1]",
                    how=(*PACKAGE, ISOLATED), prelude=IGNORED.format("[17]")),
    ]  # fmt: skip


def environments() -> list[Environment]:
    """All of them; the clean one is not among them."""
    return [*control_words(), *machines(), *memory(), *texts(), *interpreters(), *settings(), *systems()]
