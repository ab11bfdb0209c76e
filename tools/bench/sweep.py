"""How the cost of a sweep grows with the number of small certificates.

    python tools/bench/sweep.py [--most 10000] [--workers 2]

Measured in one run, so that ratios hold when the machine's speed drifts, for each task: processor time of a sweep with
all its processes, of calling the library's functions in a loop (`directly`), and the difference of the two. `again` is
time on the clock of a sweep which has nothing left to do.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import psutil

from certattn.kernel.decide.proof import Verdict
from certattn.statements.checking import check_file
from certattn.sweep.index import read_index
from certattn.sweep.maker import generate
from certattn.sweep.results import CERTIFICATE
from certattn.sweep.slots import do_locally
from certattn.sweep.spec import read_spec
from certattn.sweep.sweep import run_sweep
from certattn.sweep.tasks import Settings, Task

SPEC = """\
certattn-sweep: 1
claim: infinite-prompt-operator
inputs:
  given: {{law: {{kind: gaussian, mean: [$mean], covariance: [[2]]}}, V: [[-1]]}}
grid:
  mean: {{from: 1, to: {count}}}
"""
SIZES = (1, 10, 100, 1000, 10000)
SETTINGS = Settings()


def cost(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds on the clock, and seconds of processors in this process and all below it."""
    start, before = time.perf_counter(), _processor()
    work()
    return time.perf_counter() - start, _processor() - before


def _processor() -> float:
    """Those that have ended count with the process that has waited for them."""
    me = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (me, *me.children(recursive=True)))


def alone(tasks: Sequence[Task]) -> None:
    """Generate and check in this process, with nothing around it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for task in tasks:
            generate(task, Path(folder))
            assert check_file(Path(CERTIFICATE), SETTINGS.options).verdict is Verdict.VERIFIED


def row(count: int, workers: int, parent: Path) -> str:
    path = Path(parent, f"{count}.yaml")
    path.write_text(SPEC.format(count=count))
    spec, folder = read_spec(path), Path(parent, str(count))
    few = (spec.tasks() * 100)[:100]
    directly = 1e3 * cost(partial(alone, few))[1] / len(few)
    sweep = partial(run_sweep, spec, folder, SETTINGS, partial(do_locally, jobs=workers))
    seconds, processors = cost(sweep)
    assert all(entry.report and entry.report.verdict is Verdict.VERIFIED for entry in read_index(folder))
    each, (again, _) = 1e3 * processors / count, cost(sweep)
    return (
        f"| {count:,} | {seconds:.1f} | {count / seconds:.0f} | {each:.1f} ms | {directly:.1f} ms "
        f"| {each - directly:.1f} ms | {again:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print("| tasks | seconds | a second | processors, per task | directly | overhead | again, seconds |")
    with tempfile.TemporaryDirectory() as name:
        for count in SIZES:
            if count <= options.most:
                print(row(count, options.workers, Path(name)), flush=True)


if __name__ == "__main__":
    main()
