"""A prompt of ten million tokens on disk: `certattn check` beside plain numpy streaming the same file.

    python tools/bench/large_file.py [--tokens 10000000] [--runs 3] [--folder FOLDER]

The file (float32, dimension 64) is made on the fly and deleted afterwards. Both programs start from
nothing, in turn: numpy takes the file in chunks, in doubles, and rescales its sums where the largest
score grows; the check reads, hashes and verifies a softmax mean stated to 1e-11 of its norm. The table
shows the seconds of the whole process, the processor's seconds, and the most memory resident.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

DIMENSION = 64
RELATIVE_RADIUS = 1e-11
_ROWS = 2**15
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Run:
    """Seconds, processor seconds and peak resident bytes of one process and those it waited for."""

    seconds: float
    processor: float
    resident: int
    output: str


def write_tokens(path: Path, tokens: int) -> str:
    """Gaussian tokens in float32, written in pieces; the file's sha256."""
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (tokens, DIMENSION)}
        np.lib.format.write_array_header_1_0(file, header)
        for first in range(0, tokens, _ROWS):
            file.write(rng.standard_normal((min(_ROWS, tokens - first), DIMENSION), np.float32).tobytes())
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def query() -> np.ndarray:
    return np.round(np.random.default_rng(1).standard_normal(DIMENSION) / 8, 3)


def stream(path: Path) -> np.ndarray:
    """What one would write without certificates: the softmax mean in one pass and bounded memory."""
    tilt, largest, normaliser, moment = query(), -np.inf, 0.0, np.zeros(DIMENSION)
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        while len(piece := np.fromfile(file, "<f4", _ROWS * DIMENSION)):
            tokens = piece.reshape(-1, DIMENSION).astype(np.float64)
            scores = tokens @ tilt
            if (top := scores.max()) > largest:
                normaliser, moment = normaliser * np.exp(largest - top), moment * np.exp(largest - top)
                largest = top
            weights = np.exp(scores - largest)
            normaliser += weights.sum()
            moment += weights @ tokens
    return np.asarray(moment / normaliser)


def certificate(path: Path, tokens: int, digest: str, mean: np.ndarray) -> str:
    """A softmax mean stated to RELATIVE_RADIUS of its norm, one query."""
    stated, radius = ", ".join(f"{entry:.17g}" for entry in mean), RELATIVE_RADIUS * np.linalg.norm(mean)
    return f"""certattn: 1
claim: softmax-mean
given:
  tokens: {{file: {path.name}, sha256: {digest}, dtype: float32, shape: [{tokens}, {DIMENSION}]}}
  scale: 1
  queries: [[{", ".join(map(str, query()))}]]
asserts:
  mean: {{value: [[{stated}]], radius: {radius:.3e}}}
"""


def run(command: Sequence[str]) -> Run:
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **_ONE_THREAD})
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{output}")
    return Run(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output)


def show(name: str, runs: Sequence[Run]) -> float:
    seconds = statistics.median(run.seconds for run in runs)
    processor = statistics.median(run.processor for run in runs)
    print(f"{name:34} {seconds:8.2f} {processor:10.2f} {max(run.resident for run in runs) / 1e6:9.0f} MB", flush=True)
    return seconds


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the file is made; a temporary folder by default")
    parser.add_argument("--stream", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.stream:
        print(*stream(options.stream)[:1])
        return 0
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path, stated = Path(folder) / "tokens.npy", Path(folder) / "mean.yaml"
        digest = write_tokens(path, options.tokens)
        stated.write_text(certificate(path, options.tokens, digest, stream(path)))
        plain = [sys.executable, __file__, "--stream", str(path)]
        check = [sys.executable, "-m", "certattn", "check", str(stated), "--arithmetic", "binary64"]
        pairs = [(run(plain), run(check)) for _ in range(options.runs)]
    print(f"{'':34} {'seconds':>8} {'processor':>10} {'resident':>12}")
    numpy_seconds = show("numpy, streaming", [first for first, _ in pairs])
    our_seconds = show(f"certattn check, to {RELATIVE_RADIUS:g}", [second for _, second in pairs])
    print(f"ratio {our_seconds / numpy_seconds:.2f}\n\n{pairs[-1][1].output.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
