"""Certificates, true and false in pairs, that turn on what an environment may take away.

Numbers below the normal ones decide a softmax: who takes them for zero says 1/2 where the truth is e / (1 + e). They
come from files of every type, and as text; and one number is longer than Python likes to turn into text.
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from pathlib import Path

HALF, TRUTH = "0.5", "0.731058578630"
# The type, its name in safetensors and its bytes; one number below the normal ones, as bits and as a power of two.
TYPES = (
    ("float16", "F16", 2, 0x0001, -24),
    ("bfloat16", "BF16", 2, 0x0008, -130),
    ("float32", "F32", 4, 0x00080000, -130),
    ("float64", "F64", 8, 0x0000000000000100, -1066),
)


@dataclass(frozen=True)
class Trap:
    path: Path
    true: bool


def write(folder: Path) -> list[Trap]:
    """Write all of them into an empty folder."""
    found = []

    def pair(name: str, given: str, truth: str, lie: str) -> None:
        for true, mean in ((True, truth), (False, lie)):
            path = folder / f"{name}-{'true' if true else 'false'}.yaml"
            text = f"certattn: 1\nclaim: softmax-mean\ngiven:\n{given}asserts:\n  mean: {mean}\n"
            path.write_text(text, encoding="ascii")
            found.append(Trap(path, true))

    softmax = tuple(f"{{value: [[{mean}]], radius: 1e-9}}" for mean in (TRUTH, HALF))
    for dtype, code, size, bits, power in TYPES:
        file = f"{dtype}.safetensors"
        content = _safetensors(code, b"\0" * size + bits.to_bytes(size, "little"))
        (folder / file).write_bytes(content)
        array = _reference(file, content, dtype)
        inverse, tiny = f"0x1p{-power}", f"0x1p{power}"
        pair(f"keys-{dtype}", f"  keys: {array}\n  values: [[0], [1]]\n  queries: [[{inverse}]]\n", *softmax)
        mean = tuple(f"{{value: [[{half}]], radius: 0x1p{power - 9}}}" for half in (f"0x1p{power - 1}", "0"))
        pair(f"values-{dtype}", f"  keys: [[0], [0]]\n  values: {array}\n  queries: [[0]]\n", *mean)
        # A file of two queries, the first of which is zero.
        two = tuple(f"{{value: [[0.5], [{mean}]], radius: 1e-9}}" for mean in (TRUTH, HALF))
        given = f"  keys: [[0], [{inverse}]]\n  values: [[0], [1]]\n  queries: {array}\n"
        pair(f"queries-{dtype}", given, *two)
        pair(f"text-{dtype}", f"  keys: [[0], [{tiny}]]\n  values: [[0], [1]]\n  queries: [[{inverse}]]\n", *softmax)
    # The npy format, which the second checker reads in another way.
    key = b"\0" * 4 + (0x00080000).to_bytes(4, "little")
    content = _npy("<f4", key)
    (folder / "keys.npy").write_bytes(content)
    given = f"  keys: {_reference('keys.npy', content, 'float32')}\n  values: [[0], [1]]\n  queries: [[0x1p130]]\n"
    pair("keys-npy", given, *softmax)
    # Exactly one, but for the last of 5000 digits.
    long = "0." + "9" * 5000
    exact = tuple(f"{{value: [[{value}]], radius: 0}}" for value in (long, "1"))
    pair("long-number", f"  keys: [[0]]\n  values: [[{long}]]\n  queries: [[0]]\n", *exact)
    return found


def _reference(file: str, content: bytes, dtype: str) -> str:
    digest = hashlib.sha256(content).hexdigest()
    array = ", array: x" if file.endswith(".safetensors") else ""
    return f"{{file: {file}{array}, sha256: {digest}, dtype: {dtype}, shape: [2, 1]}}"


def _safetensors(code: str, data: bytes) -> bytes:
    header = json.dumps({"x": {"dtype": code, "shape": [2, 1], "data_offsets": [0, len(data)]}}).encode()
    return struct.pack("<Q", len(header)) + header + data


def _npy(descr: str, data: bytes) -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (2, 1), }}"
    header = header.ljust(128 - 10 - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data
