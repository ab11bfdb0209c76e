"""How the cost of a sweep grows with the number of small certificates, here and on a Dask cluster of this machine.

    python tools/bench/sweep.py [--most 10000] [--most-dask 10000] [--workers 2] [--picture FILE.svg]

Measured in one run, so that ratios hold when the machine's speed drifts, for each task: processor time of a sweep with
all its processes (`processor`) and of calling the library's functions in a loop (`directly`), and the difference of the
two (`overhead`). `handing out` is time on the clock of asking for tasks that are done already, and `again` that of a
sweep which has nothing left to do. The last rows are `certattn check` of a folder of certificates. `load` is the
machine's load average at the end of a row.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from certattn.cli.check import find_certificates
from certattn.isolation.worker import check_files
from certattn.kernel.decide.proof import Verdict
from certattn.statements.checking import check_file
from certattn.statements.reports import Report
from certattn.sweep.cluster import check_on_cluster, do_on_cluster
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


@dataclass(frozen=True)
class Row:
    """What was measured of one number of tasks in one place."""

    count: int
    where: str
    whole: Cost
    directly: float
    handing_out: float | None = None
    again: float | None = None

    @property
    def overhead(self) -> float:
        return self.whole.processor / self.count - self.directly

    def words(self) -> list[str]:
        seconds, each = self.whole.wall, self.whole.processor / self.count
        return [
            f"{self.count:,}",
            self.where,
            f"{seconds:.1f} s",
            f"{self.count / seconds:.0f}" if self.count > 1 else "",
            *(f"{1e3 * time:.1f} ms" for time in (each, self.directly, self.overhead)),
            f"{1e3 * self.handing_out:.2f} ms" if self.handing_out is not None and self.count > 1 else "",
            f"{self.again:.2f} s" if self.again is not None else "",
            f"{os.getloadavg()[0]:.0f}",
        ]


HEAD = ("tasks", "where", "seconds", "a second", "processor", "directly", "overhead", "handing out", "again", "load")


def swept(name: str, do: Scheduler, count: int, parent: Path) -> Row:
    path = Path(parent, f"{count}.yaml")
    path.write_text(SPEC.format(count=count))
    spec = read_spec(path)
    tasks, folder = spec.tasks(), Path(parent, f"{name}-{count}")
    few = (tasks * 100)[:100]
    own = cost(partial(alone, few)).processor / len(few)
    whole = cost(partial(run_sweep, spec, folder, SETTINGS, do))
    assert all(entry.report and entry.report.verdict is Verdict.VERIFIED for entry in read_index(folder))
    again = cost(partial(run_sweep, spec, folder, SETTINGS, do)).wall
    return Row(count, name, whole, own, handed_out(do, tasks, folder.absolute()), again)


def checked(folder: Path, workers: int, address: str) -> Iterator[Row]:
    """`certattn check` of what was swept, with a process for each certificate, here and on the cluster."""
    paths = find_certificates((str(folder / "certificates"),))
    few = paths[:100]
    ways: dict[str, Callable[[], Iterable[Report]]] = {
        "check, here": lambda: check_files(paths, SETTINGS.options, jobs=workers),
        "check, Dask": lambda: check_on_cluster(paths, SETTINGS.options, address),
    }
    for name, check in ways.items():
        own = cost(lambda: [check_file(path, SETTINGS.options) for path in few]).processor / len(few)
        yield Row(len(paths), name, cost(partial(require_verified, check)), own)


def require_verified(check: Callable[[], Iterable[Report]]) -> None:
    assert all(report.verdict is Verdict.VERIFIED for report in check())


def draw(rows: Sequence[Row], target: Path) -> None:
    """Processor time per task against the number of tasks."""
    from certattn.provers.figures import canvas

    with canvas(target, (5.0, 3.0)) as (_, axes):
        for name, mark in (("here", "o-"), ("Dask", "s--")):
            own = [row for row in rows if row.where == name]
            each = [1e3 * row.whole.processor / row.count for row in own]
            axes.loglog([row.count for row in own], each, mark, label=f"a sweep, {name}")
        directly = sum(row.directly for row in rows) / len(rows)
        axes.axhline(1e3 * directly, color="black", linewidth=1, label="the functions in a loop")
        axes.set_xlabel("tasks")
        axes.set_ylabel("processor time per task, ms")
        axes.legend(frameon=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--most-dask", type=int, default=SIZES[-1])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    from distributed import LocalCluster

    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
    rows: list[Row] = []
    with cluster, tempfile.TemporaryDirectory() as name:
        parent, address = Path(name), cluster.scheduler_address
        where: dict[str, tuple[Scheduler, int]] = {
            "here": (partial(do_locally, jobs=options.workers), options.most),
            "Dask": (partial(do_on_cluster, address=address), min(options.most, options.most_dask)),
        }
        say(HEAD)
        for count in SIZES:
            for place, (do, most) in where.items():
                if count <= most:
                    rows.append(swept(place, do, count, parent))
                    say(rows[-1].words())
        for row in checked(parent / f"here-{min(options.most, 1000)}", options.workers, address):
            say(row.words())
    if options.picture:
        draw(rows, options.picture)


def say(words: Sequence[str]) -> None:
    print("| " + " | ".join(words) + " |", flush=True)


if __name__ == "__main__":
    main()
