"""How the cost of a sweep grows with the number of small certificates, here and on a Dask cluster of this machine.

    python tools/bench_sweep.py [--most 10000] [--workers 2]

Measured in one run, so that ratios hold when the machine's speed drifts, for each task: processor time of a sweep with
all its processes; processor time of generating and checking in one process (the work); and time on the clock of asking
for tasks that are done already (handing out). `sweep` and `again` are times on the clock of a whole sweep, and of one
that has nothing left to do.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from certattn.kernel.checker import check_file
from certattn.kernel.verdict import Verdict
from certattn.sweep.cluster import do_on_cluster
from certattn.sweep.index import read_index
from certattn.sweep.maker import generate
from certattn.sweep.results import CERTIFICATE, Result
from certattn.sweep.slots import do_locally
from certattn.sweep.spec import read_spec
from certattn.sweep.sweep import Scheduler, run_sweep
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


@dataclass(frozen=True)
class Cost:
    """What something took: seconds on the clock, and seconds of processors in this process and all below it."""

    wall: float
    processor: float


def cost(work: Callable[[], object]) -> Cost:
    start, before = time.perf_counter(), _processor()
    work()
    return Cost(time.perf_counter() - start, _processor() - before)


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


def handed_out(do: Scheduler, tasks: Sequence[Task], folder: Path) -> float:
    """Seconds on the clock for each task, from the first answer to the last, of tasks that are done already."""
    answers: Iterator[Result | None] = (answer for answer in do(tasks, folder, SETTINGS) if answer is not None)
    next(answers)
    return cost(lambda: list(answers)).wall / max(1, len(tasks) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    from distributed import LocalCluster

    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
    with cluster, tempfile.TemporaryDirectory() as parent:
        where: dict[str, Scheduler] = {
            "here": partial(do_locally, jobs=options.workers),
            "dask": partial(do_on_cluster, address=cluster.scheduler_address),
        }
        head = ("tasks", "where", "sweep", "processor", "the work", "ratio", "handing out", "again")
        print("".join(f"{word:>13}" for word in head), flush=True)
        for count in (size for size in SIZES if size <= options.most):
            path = Path(parent, f"{count}.yaml")
            path.write_text(SPEC.format(count=count))
            spec = read_spec(path)
            tasks = spec.tasks()
            few = (tasks * 100)[:100]
            for name, do in where.items():
                folder = Path(parent, f"{name}-{count}")
                own = cost(partial(alone, few)).processor / len(few)
                whole = cost(partial(run_sweep, spec, folder, SETTINGS, do))
                assert all(entry.report and entry.report.verdict is Verdict.VERIFIED for entry in read_index(folder))
                again = cost(partial(run_sweep, spec, folder, SETTINGS, do))
                each, out = whole.processor / count, handed_out(do, tasks, folder.absolute())
                row = (f"{whole.wall:.1f} s", f"{1e3 * each:.1f} ms", f"{1e3 * own:.1f} ms", f"{each / own:.1f}")
                rest = (f"{1e3 * out:.2f} ms" if count > 1 else "", f"{again.wall:.2f} s")
                print("".join(f"{word:>13}" for word in (str(count), name, *row, *rest)), flush=True)


if __name__ == "__main__":
    main()
