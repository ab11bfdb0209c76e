"""How the cost of a sweep grows with the number of small certificates, here and on a Dask cluster of this machine.

    python tools/bench_sweep.py [--most 10000] [--workers 2]

Three things are timed in one run, and their ratios hold when the machine's speed drifts: generating and checking in one
process, with no process per task (the work itself); the sweep; and asking for tasks that are done already (the
handing out alone).
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

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


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alone(tasks: Sequence[Task]) -> None:
    """Generate and check in this process, with nothing around it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for task in tasks:
            generate(task, Path(folder))
            assert check_file(Path(CERTIFICATE), SETTINGS.options).verdict is Verdict.VERIFIED


def handed_out(do: Scheduler, tasks: Sequence[Task], folder: Path) -> float:
    """Seconds from the first answer to the last, of tasks that are done already: no start of processes."""
    answers: Iterator[Result | None] = (answer for answer in do(tasks, folder, SETTINGS) if answer is not None)
    next(answers)
    return seconds(lambda: list(answers))


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
        head = ("tasks", "where", "sweep", "per second", "per task", "the work", "ratio", "handing out", "again")
        print("".join(f"{word:>13}" for word in head), flush=True)
        for count in (size for size in SIZES if size <= options.most):
            path = Path(parent, f"{count}.yaml")
            path.write_text(SPEC.format(count=count))
            spec = read_spec(path)
            tasks = spec.tasks()
            few = tasks[:100]
            for name, do in where.items():
                folder = Path(parent, f"{name}-{count}")
                own = seconds(partial(alone, few)) / len(few)
                whole = seconds(partial(run_sweep, spec, folder, SETTINGS, do))
                assert all(entry.report and entry.report.verdict is Verdict.VERIFIED for entry in read_index(folder))
                again = seconds(partial(run_sweep, spec, folder, SETTINGS, do))
                out = handed_out(do, tasks, folder.absolute()) / max(1, count - 1)
                row = (f"{whole:.2f} s", f"{count / whole:.0f}", f"{1e3 * whole / count:.2f} ms", f"{1e3 * own:.2f} ms")
                rest = (f"{whole / count / own:.2f}", f"{1e3 * out:.2f} ms", f"{again:.2f} s")
                print("".join(f"{word:>13}" for word in (str(count), name, *row, *rest)), flush=True)


if __name__ == "__main__":
    main()
