"""Measure what Coq takes for exported certificates: seconds of processor time and memory, by kind and size.

    python tools/bench/coq.py            everything
    python tools/bench/coq.py softmax    one table: softmax, errors, margin, selections, closed

Every case runs in a process of its own, so that memory is that of the case. `library` is what compiling the library
takes, which is part of every check; `theorem` is the run of Coq on the instance, `questions` that on what is asked.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import certattn
from certattn.coq.compiled import CompiledLibrary
from certattn.coq.coqc import Coq, find_coq
from certattn.coq.export import instance_of, modules_for
from certattn.coq.instance import Instance

# Tokens, dimension, queries, and whether Coq's machine integers are used.
SOFTMAX = ((64, 8, 1, False), (256, 8, 1, False), (1024, 8, 1, False), (1024, 8, 1, True), (16384, 2, 1, False))
# Queries and tokens of a head in half precision, their dimension, and the same.
ERRORS = ((64, 32, False), (64, 32, True))
# Inputs of eleven tokens each, and their dimension.
MARGIN = ((10, 4), (100, 16))
# Inputs, tokens of each, and their dimension; all selections are gone through.
SELECTIONS = ((4, 6, 3), (4, 10, 4))
CLOSED = ("spectrum/normalizer-bound/cool-1000", "spectrum/universality-bound/random-cool-1000")
GALLERY = Path(__file__).resolve().parents[2] / "certificates"
CASES = {
    "softmax": [f"softmax {n} {d} {q} {int(fast)}" for n, d, q, fast in SOFTMAX],
    "errors": [f"errors {n} {d} {int(fast)}" for n, d, fast in ERRORS],
    "margin": [f"margin {inputs} {d}" for inputs, d in MARGIN],
    "selections": [f"selections {inputs} {tokens} {d}" for inputs, tokens, d in SELECTIONS],
    "closed": [f"closed {name}" for name in CLOSED],
}


def instance_for(words: list[str], folder: Path) -> Instance:
    """The theorem of a case."""
    kind, *rest = words
    if kind == "closed":
        return instance_of(certattn.load(GALLERY / f"{rest[0]}.yaml"))
    rng = np.random.default_rng(0)
    if kind == "margin":
        from tools.bench.selection import separable

        inputs, dimension = map(int, rest)
        keys = separable(inputs, 11, dimension, rng).astype("float32").reshape(-1, dimension)
        found = certattn.generate(
            "max-margin", folder / "margin.yaml", keys=keys, lengths=[11] * inputs, indices=[0] * inputs, form="exact"
        )
        return instance_of(found)
    if kind == "selections":
        inputs, length, dimension = map(int, rest)
        keys = rng.integers(-250, 250, size=(inputs, length, dimension)).tolist()
        scores = rng.integers(0, 10, size=(inputs, length)).tolist()
        given = {"keys": keys, "scores": scores}
        found = certattn.generate("token-optimality", folder / "selections.yaml", given=given, enumerate_all=True)
        return instance_of(found)
    if kind == "errors":
        tokens, dimension, fast = map(int, rest)
        head = {part: rng.standard_normal((tokens, dimension)) for part in ("queries", "keys", "values")}
        head = {part: array.astype("float16") for part, array in head.items()}
        weights = np.exp(head["queries"].astype(float) @ head["keys"].astype(float).T / np.sqrt(dimension))
        head["output"] = (weights / weights.sum(1, keepdims=True) @ head["values"]).astype("float16")
        found = certattn.generate("attention-error", folder / "head.yaml", **head, scale=f"1/sqrt({dimension})")
        return instance_of(found, fast=bool(fast))
    tokens, dimension, queries, fast = map(int, rest)
    arrays = {name: rng.standard_normal((tokens, dimension)).astype("float32") for name in ("keys", "values")}
    asked = rng.standard_normal((queries, dimension)).astype("float32")
    found = certattn.generate("softmax-mean", folder / "mean.yaml", **arrays, queries=asked, radius="1e-9")
    return instance_of(found, fast=bool(fast))


def measure(words: list[str]) -> None:
    """One row of a table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        instance = instance_for(words, folder)
        coq = find_coq(3600, 2**34)
        library, place = CompiledLibrary(folder / "library"), folder / "instance"
        place.mkdir()
        times = [timed(lambda: library.provide(modules_for(instance), coq))]
        for file, text in (("Instance.v", instance.text()), ("Question.v", instance.question(3**30))):
            (place / file).write_text(text)
            times.append(timed(lambda file=file: compiled(coq, place / file, library.folder)))
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    shown = "  ".join(f"{taken:8.1f}" for taken in times)
    cost = instance.cost
    print(f"{' '.join(words):<48}{shown}  {memory:8.0f}   {cost.seconds:6.0f} s {cost.megabytes:6.0f} MB", flush=True)


def compiled(coq: Coq, file: Path, library: Path) -> None:
    coq.compile(file, file.parent, [(library, "CertAttn"), (file.parent, "CertInstance")])


def timed(run: object) -> float:
    """Seconds of processor time of the programs that are run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert callable(run)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", nargs="?", choices=CASES)
    parser.add_argument("--case", nargs="+", help="one case, in this process")
    arguments = parser.parse_args()
    if arguments.case:
        measure(arguments.case)
        return
    head = "  ".join(f"{name:>8}" for name in ("library", "theorem", "asking", "MB"))
    print(f"{'seconds of processor time':<48}{head}   expected in all")
    for case in [case for table, cases in CASES.items() if arguments.table in (None, table) for case in cases]:
        start = time.monotonic()
        subprocess.run([sys.executable, __file__, "--case", *case.split()], check=True)
        if arguments.table is None:
            print(f"  ({time.monotonic() - start:.0f} s in all)", file=sys.stderr)


if __name__ == "__main__":
    main()
