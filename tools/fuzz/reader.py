"""Feed damaged certificates and array files to the readers: nothing but a clear refusal may come out.

    python tools/fuzz/reader.py --seconds 600            from the seeds in tools/fuzz/corpus
    python tools/fuzz/reader.py FILE...                  just these inputs, such as a finding

With `atheris` installed (the extra `fuzz`) the fuzzer is guided by coverage; without it, or with `--engine random`,
seeds are damaged at random. Every input is read as a certificate, up to the problem that its claim states, and as
an array file of every format, as a whole and as a stream. A finding is any exception but a refusal, a message that is
not fit for a terminal, a certificate that is not the same after writing and reading, a stream that gives other bytes
than the whole file, and too much time or memory. Findings are written to a folder, and the exit status is 1 (that of
atheris, where it finds something). A finding that was corrected becomes a seed: the tests read them all.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import io
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

atheris: Any = None
if __name__ == "__main__":
    with contextlib.suppress(ImportError):
        atheris = importlib.import_module("atheris")

# Modules report what they execute to atheris if they are imported under its eyes.
with atheris.instrument_imports(include=["certattn", "zipfile"]) if atheris else contextlib.nullcontext():
    from certattn.kernel.decide.checker import theorem_of
    from certattn.kernel.document.array_formats import ArrayFormatError, locate
    from certattn.kernel.document.arrays import EndsEarlyError, GrewError, hashed_pieces
    from certattn.kernel.document.bit_patterns import NotFiniteError, exact_integers
    from certattn.kernel.document.certificate import loads
    from certattn.kernel.errors import CertattnError
    from certattn.kernel.limits import Limits, Watch
    from certattn.writing import to_text

CORPUS = Path(__file__).resolve().parent / "corpus"
# Small, so that every input is read in milliseconds.
LIMITS = Limits(
    max_document_bytes=2**16, max_nodes=2000, max_digits=200, max_exponent=400, max_tensor_bytes=2**16, max_depth=16
)
# What the arrays of the corpus are stated to be: suffix, name, number type, shape.
STATED: tuple[tuple[str, str | None, str, tuple[int, ...]], ...] = (
    (".npy", None, "float32", (2, 3)),
    (".npz", "keys", "float32", (2, 3)),
    (".npz", "signs", "int8", (4,)),
    (".safetensors", "keys", "float32", (2, 3)),
    (".safetensors", "brain", "bfloat16", (3,)),
)
SECONDS_FOR_ONE = 10
MEMORY = 2 * 2**30


class FindingError(Exception):
    """A refusal or a reading that is not as it should be."""


def one_input(data: bytes) -> None:
    """Read the bytes in every way. Raises for a finding."""
    read_certificate(data.decode("utf-8", "surrogateescape"))
    for suffix, name, dtype, shape in STATED:
        read_array(data, suffix, name, dtype, shape)


def read_certificate(text: str) -> None:
    try:
        certificate = loads(text, CORPUS / "fuzzed.yaml", limits=LIMITS)
        again = loads(to_text(certificate.plain), CORPUS / "fuzzed.yaml", limits=LIMITS)
        if (again.plain, again.digest) != (certificate.plain, certificate.digest):
            raise FindingError("not the same after writing and reading")
        claim = theorem_of(certificate)
        list(claim.obligations(claim.read(certificate)))
    except CertattnError as error:
        require_fit_for_a_terminal(str(error))


def read_array(data: bytes, suffix: str, name: str | None, dtype: str, shape: tuple[int, ...]) -> None:
    whole = None
    try:
        layout = locate(suffix, data, len(data), name, (dtype, shape), LIMITS.max_tensor_bytes)
        if layout is not None and layout.stop <= len(layout.source):
            whole = layout.source[layout.start : layout.stop]
            exact_integers(whole, dtype)
    except ArrayFormatError as error:
        require_fit_for_a_terminal(f"{error.found} {error.expected} {error.hint}")
    except NotFiniteError:
        pass
    if suffix != ".npz" and read_stream(data, suffix, name, dtype, shape) != whole:
        raise FindingError(f"not the same array as a stream: {suffix}")


def read_stream(data: bytes, suffix: str, name: str | None, dtype: str, shape: tuple[int, ...]) -> bytes | None:
    """The array by the reader of large files, a few bytes at a time; None where it is refused."""
    found, file = bytearray(), io.BytesIO(data)
    try:
        layout = locate(suffix, data, len(data), name, (dtype, shape), LIMITS.max_tensor_bytes)
        head = file.read(layout.start + 3)
        span = layout.start, layout.stop
        pieces = hashed_pieces(file, len(data), head, span, piece=8, chunk=64, watch=Watch())
        while True:
            found += next(pieces)
    except StopIteration as end:
        if end.value != hashlib.sha256(data).hexdigest():
            raise FindingError("the hash of a stream is not that of the file") from None
        return bytes(found)
    except (ArrayFormatError, EndsEarlyError, GrewError):
        return None


def require_fit_for_a_terminal(message: str) -> None:
    if not message.replace("\n", "").isprintable():
        raise FindingError(f"a message with control characters: {message!a}")
    if len(message) > 4000:
        raise FindingError(f"a message of {len(message)} characters")


# -- without atheris: damage at random

TOKENS = (
    b"\0", b"\xff", b"\x7f", b"\x80", b"\n", b"\r\n", b"\t", b" ", b"  ", b": ", b"- ", b"? ", b"[", b"]", b"{",
    b"}", b",", b"#", b"&a ", b"*a", b"!!str ", b"%", b'"', b"'", b"\\", b"\\x1b", b"\\ud800", b"|", b">",
    b"---\n", b"...\n", b"<<: ", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"1e400",
    b"1/0", b"0x1p400", b"nan", b"inf", b"sqrt(", b"1/sqrt(0)", b"-", b"9" * 30, b"PK\x01\x02", b"PK\x03\x04",
    b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07", b"\x93NUMPY", b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff" * 8,
    b"file: arrays.npz", b"kind: mixture", b"rows: 0:2",
)  # fmt: skip


def damaged(seeds: list[bytes], rng: random.Random) -> Iterator[bytes]:
    """Seeds with a few bytes changed, dropped, repeated, moved or put in, without end."""
    while True:
        data = bytearray(rng.choice(seeds))
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
            # The ends of array files, where their directories are, are worth more attention.
            at = rng.randrange(len(data) + 1) if rng.random() < 0.6 else max(0, len(data) - rng.randrange(150))
            length = rng.choice((1, 1, 2, 4, 8, 16, 64))
            match rng.randrange(6):
                case 0:
                    data[at : at + 1] = rng.randbytes(1)
                case 1:
                    data[at : at + length] = b""
                case 2:
                    data[at:at] = rng.choice(TOKENS)
                case 3:
                    token = rng.choice(TOKENS)
                    data[at : at + len(token)] = token
                case 4:
                    data[at:at] = data[at : at + length] * rng.choice((1, 1, 2, 40))
                case 5:
                    other = rng.choice(seeds)
                    start = rng.randrange(len(other) + 1)
                    data[at : at + length] = other[start : start + length]
        yield bytes(data[: LIMITS.max_document_bytes])


def corpus() -> list[bytes]:
    return [path.read_bytes() for path in sorted(CORPUS.iterdir())]


def fuzz_at_random(seconds: float, seed: int, findings: Path, most: int | None = None) -> tuple[int, int]:
    """The numbers of inputs read and of findings."""
    limit_memory()
    count = bad = 0
    end = time.monotonic() + seconds
    for data in damaged(corpus(), random.Random(seed)):
        if time.monotonic() > end or count == most:
            break
        count += 1
        before = time.monotonic()
        try:
            one_input(data)
            if time.monotonic() - before > SECONDS_FOR_ONE:
                raise FindingError(f"over {SECONDS_FOR_ONE} seconds")
        except Exception as error:
            bad += 1
            path = findings / f"finding-{hashlib.sha256(data).hexdigest()[:16]}"
            path.write_bytes(data)
            print(f"{path}: {type(error).__name__}: {ascii(str(error))[:300]}")
    return count, bad


def limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("files", nargs="*", type=Path, help="read just these inputs")
    parser.add_argument("--seconds", type=int, default=60, help="how long to go on (60)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (0)")
    parser.add_argument("--engine", choices=("atheris", "random"), default="atheris" if atheris else "random")
    options = parser.parse_args()
    if options.engine == "atheris" and atheris is None:
        parser.error("atheris is not installed: pip install 'certattn[fuzz]', or use --engine random")
    for path in options.files:
        one_input(path.read_bytes())
    if options.files:
        return 0
    findings = Path(tempfile.mkdtemp(prefix="fuzz-findings-"))
    print(f"engine: {options.engine}; findings go to {findings}", flush=True)
    if options.engine == "atheris":
        grown = tempfile.mkdtemp(prefix="fuzz-corpus-")
        flags = [
            f"-max_total_time={options.seconds}", f"-seed={options.seed or 1}", f"-timeout={SECONDS_FOR_ONE}",
            f"-rss_limit_mb={MEMORY >> 20}", f"-max_len={LIMITS.max_document_bytes}", f"-artifact_prefix={findings}/",
            "-print_final_stats=1",
        ]  # fmt: skip
        atheris.Setup([sys.argv[0], *flags, grown, str(CORPUS)], one_input)
        atheris.Fuzz()
    begun = time.monotonic()
    count, bad = fuzz_at_random(options.seconds, options.seed, findings)
    print(f"{count} inputs, {count / (time.monotonic() - begun):.0f} a second, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
