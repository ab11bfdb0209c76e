"""Hold the two readers of certificates against each other, and both against YAML.

    python tools/fuzz/two_readers.py --count 50000 --seed 0

Texts are damaged certificates and texts grown by the grammar, then damaged. The kernel and the second checker each read
one as a tree, each scalar of it as a number, and the whole as the outer form of a certificate; what both read has to be
the same, and what libyaml reads too. Array files (.npy, .npz, .safetensors) are damaged likewise: both find the same
exact numbers or none. A text that only one of the two takes is a finding too. Findings are printed, with the seed and
the number of the input by which it can be made again; the exit status is 1 where there are any.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import random
import sys
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import yaml

from certattn.kernel.decide.checker import theorem_of
from certattn.kernel.document.array_formats import ArrayFormatError, locate
from certattn.kernel.document.bit_patterns import NotFiniteError, exact_integers
from certattn.kernel.document.certificate import loads
from certattn.kernel.document.numbers import NumberError, parse_count, parse_rational, parse_real
from certattn.kernel.document.reader import parse_tree
from certattn.kernel.errors import CertattnError
from certattn.kernel.limits import DEFAULT_LIMITS
from certattn.kernel.mathematics.reals import Surd

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 4000


def _is_ours(path: str) -> bool:
    return Path(path or ".").resolve().is_relative_to(ROOT)


def second_checker() -> SimpleNamespace:
    """All that the second checker's modules hold, and these by their last names where nothing else has such a name.

    They import each other as if their folder were the top, which it is where it is run. Here it is for a moment, and
    the modules stay no part of this process's list, in which another `program` may stand.
    """
    folder = ROOT / "tools" / "recheck"
    names = [".".join(path.relative_to(folder).with_suffix("").parts) for path in sorted(folder.rglob("*.py"))]
    names.remove("__main__")
    taken = {*names, *(name.split(".")[0] for name in names)}
    others = {name: sys.modules.pop(name) for name in taken & sys.modules.keys()}
    # Folders of this repository may hold modules of the same names, which a folder without an __init__.py gives way to.
    before, sys.path[:] = list(sys.path), [str(folder), *(path for path in sys.path if not _is_ours(path))]
    try:
        modules = {name: importlib.import_module(name) for name in names}
    finally:
        sys.path[:] = before
        for name in taken & sys.modules.keys():
            del sys.modules[name]
        sys.modules.update(others)
    found = {name.split(".")[-1]: module for name, module in modules.items()}
    for module in modules.values():
        found |= vars(module)
    return SimpleNamespace(**found)


recheck = second_checker()
# What a reader says of what it does not take.
REFUSED = "refused"


def answer(read: Callable[[], Any], *refusals: type[Exception]) -> Any:
    try:
        return read()
    except refusals:
        return REFUSED


# -- one text or file, read twice


def kernel_tree(text: str) -> Any:
    return answer(lambda: parse_tree(text, "fuzzed.yaml", DEFAULT_LIMITS).plain(), CertattnError)


def second_tree(text: str) -> Any:
    return answer(lambda: recheck.Reader(text).document(), recheck.Rejected)


def yaml_tree(text: str) -> Any:
    """By libyaml, each scalar as its text. Of keys that come twice it has one."""
    return answer(lambda: yaml.load(text.replace("\r\n", "\n"), Loader=yaml.CBaseLoader), yaml.YAMLError, TypeError)


def kernel_number(text: str) -> Any:
    """The square and the sign of a number or a root, and the number again where it is a count."""

    def real() -> Any:
        value = parse_real(text, DEFAULT_LIMITS)
        if isinstance(value, Surd):
            return _fraction(value.radicand), 1, REFUSED
        exact = _fraction(value)
        rational = answer(lambda: _fraction(parse_rational(text, DEFAULT_LIMITS)), NumberError)
        return exact * exact, (exact > 0) - (exact < 0), rational

    return answer(real, NumberError), answer(lambda: parse_count(text, DEFAULT_LIMITS), NumberError)


def second_number(text: str) -> Any:
    def real() -> Any:
        rational = answer(lambda: recheck.rational(text), recheck.Rejected)
        if rational == 0:
            return Fraction(0), 0, rational
        return *recheck.scale_of(text), rational

    return answer(real, recheck.Rejected), answer(lambda: recheck.natural(text, ""), recheck.Rejected)


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def kernel_certificate(text: str) -> Any:
    """What stands in a certificate beside the sections of its claim."""

    def read() -> Any:
        certificate = loads(text, "fuzzed.yaml")
        theorem_of(certificate)
        return certificate.claim, certificate.provenance, certificate.witness is None

    return answer(read, CertattnError)


def second_certificate(text: str) -> Any:
    def read() -> Any:
        top = recheck.opened(text.encode("utf-8", "surrogatepass"))
        return top["claim"], top["provenance"] or {}, top["witness"] is None

    return answer(read, recheck.Rejected, UnicodeDecodeError)


def scalars(tree: Any) -> Iterator[str]:
    """All texts of a tree."""
    if isinstance(tree, str):
        yield tree
    elif tree is not None:
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from scalars(item)


def compare_texts(text: str) -> tuple[str, str]:
    """How the readers stand to each other over a text, and what they differ in if they do."""
    first, second = kernel_tree(text), second_tree(text)
    if first == second == REFUSED:
        return "both refuse", ""
    if REFUSED in (first, second):
        return f"only the {'second checker' if first == REFUSED else 'kernel'} reads", ""
    if first != second:
        return "two statements", f"{first} against {second}"
    if (third := yaml_tree(text)) != first:
        return "another statement to libyaml", f"{first} against {third}"
    for scalar in set(scalars(first)):
        one, other = kernel_number(scalar), second_number(scalar)
        if one != other:
            return "two numbers", f"{scalar!r}: {one} against {other}"
    one, other = kernel_certificate(text), second_certificate(text)
    return ("both read", "") if one == other else ("two outer forms", f"{one} against {other}")


Numbers = tuple[str, tuple[int, ...], list[Fraction]]


def kernel_array(suffix: str, data: bytes, name: str | None, stated: tuple[str, tuple[int, ...]]) -> Any:
    def read() -> Numbers:
        layout = locate(suffix, data, len(data), name, stated, 2**20)
        integers, exponent = exact_integers(layout.source[layout.start : layout.stop], stated[0])
        return *stated, [Fraction(n) * Fraction(2) ** exponent for n in integers]

    return answer(read, ArrayFormatError, NotFiniteError)


def second_array(suffix: str, data: bytes, name: str | None) -> Any:
    def read() -> Numbers:
        if suffix == ".npy":
            dtype, shape, raw = recheck.npy(data, "")
        elif suffix == ".npz":
            dtype, shape, raw = recheck.npy(recheck.npz(data, name, ""), "")
        else:
            dtype, shape, raw = recheck.safetensors(data, name, "")
        count = 1
        for extent in shape:
            count *= extent
        return dtype, tuple(shape), recheck.unpack(raw, dtype, count, "")

    return answer(read, *recheck.BROKEN, recheck.NotCovered)


def compare_arrays(suffix: str, data: bytes, name: str | None, stated: tuple[str, tuple[int, ...]]) -> tuple[str, str]:
    """The kernel is asked for the stated type and shape, and for those that the second checker finds."""
    second = second_array(suffix, data, name)
    found = {stated} if second == REFUSED else {stated, second[:2]}
    answers = {asked: kernel_array(suffix, data, name, asked) for asked in found}
    taken = [one for one in answers.values() if one != REFUSED]
    if not taken and second == REFUSED:
        return "both refuse", ""
    if second == REFUSED or not taken:
        return f"only the {'kernel' if taken else 'second checker'} reads", ""
    return ("both read", "") if taken == [second] else ("two arrays", f"{taken} against {second}")


# -- texts and files to begin with


def documents() -> list[str]:
    """Certificates of the gallery and the corpus that are not long, and the texts of the tests' tables."""
    paths = [*(ROOT / "certificates").rglob("*.yaml"), *(ROOT / "tools" / "fuzz" / "corpus").glob("*.yaml")]
    found = [path.read_text(encoding="utf-8") for path in sorted(paths) if path.stat().st_size < MOST_BYTES]
    table = (ROOT / "tests" / "texts" / "documents.yaml").read_text(encoding="utf-8")
    found += [row[1] for rows in yaml.load(table, Loader=yaml.CBaseLoader).values() for row in rows]
    return found


def arrays() -> list[tuple[str, bytes, str | None, tuple[str, tuple[int, ...]]]]:
    """Small array files of every format and several types."""
    found: list[tuple[str, bytes, str | None, tuple[str, tuple[int, ...]]]] = []
    kinds = {"float16": "F16", "float32": "F32", "float64": "F64", "int8": "I8", "uint32": "U32", "int64": "I64"}
    for dtype, short in kinds.items():
        for shape in ((3,), (2, 3), (1, 2), (2, 1, 2)):
            values = (np.arange(np.prod(shape)).reshape(shape) * 3 - 1).astype(dtype)
            held, packed = io.BytesIO(), io.BytesIO()
            np.save(held, values)
            np.savez(packed, a=values, b=values)
            found.append((".npy", held.getvalue(), None, (dtype, shape)))
            found.append((".npz", packed.getvalue(), "a", (dtype, shape)))
            deflated = io.BytesIO()
            with zipfile.ZipFile(deflated, "w", zipfile.ZIP_DEFLATED) as box:
                box.writestr("a.npy", held.getvalue())
            found.append((".npz", deflated.getvalue(), "a", (dtype, shape)))
            body = values.tobytes()
            entry = {"dtype": short, "shape": list(shape), "data_offsets": [0, len(body)]}
            header = json.dumps({"a": entry, "__metadata__": {"format": "np"}}).encode()
            found.append((".safetensors", len(header).to_bytes(8, "little") + header + body, "a", (dtype, shape)))
    return found


# -- damage

TOKENS = (
    "\n", "\n", "\n\n", "\n  ", "\n    ", "\n- ", "\n  - ", "\n#q\n", " #", "#", " # c\n", "  ", " ", ": ", ":",
    ":\n", "- ", "-", "- - ", "-\n", "? ", "?", ", ", ",", "[", "]", "{", "}", "[]", "{}", "''", '""', "'", '"', "\\",
    "\\n", '\\"', "\\t", "\\u0041", "\\x41", "\\\n", "|", ">", "|-\n", "&a ", "*a", "!", "!!str ", "%", "\n---\n",
    "\n...\n", "---", "<<: ", "@", "`", "~", "=", "\t", "\r\n", "\r", "\x85", "\xa0", "\u2028", "\u3000", "\ufeff",
    "é", "\U0001f600", "\0", "a", "key", "a: b", "a: 1\n", "'a': 1", "x ", "\n x", "1", "0", "-0", "00", "+1", "1/2",
    "1/0", "1.", ".5", "1.50", "1e3", "1E-0003", "1e0000001", "1e20000", "1e20001", "0x1p3", "0x1.8P3", "0x10",
    "0X1p1", "sqrt(2)", "1/sqrt(4)", "1_0", "sqrt(sqrt(2))", "nan", ".inf", "0:64", "12:30:45", "null", "true",
    "1,000", "\u0661", "²", "0o17", "1e+", "--1",
)  # fmt: skip
PARTS = (
    b"\0", b"\xff", b" ", b"\n", b", ", b",", b"(", b")", b"}", b"{", b"[", b"]", b"'", b'"', b"True", b"False", b"0",
    b"1", b"2", b"00", b"1 0", b"10", b"-1", b"+1", b"1.0", b"1e0", b"NaN", b"true", b"null", b"F32", b"FU32",
    b"BF16", b"U64", b"f4", b"<f4", b">f4", b"|b1", b"<u8", b"=f8", b"<i2", b"shape", b"\xef\xbb\xbf", b"\x01\0",
    b"\x03\0", b"\x80", b"a", b"a.npy", b'"a":', b"__metadata__", b"PK\x05\x06", b"PK\x01\x02", b"L,",
)  # fmt: skip


def damaged_text(rng: random.Random, seeds: list[str]) -> str:
    """A seed, or a text grown by the grammar, with a few pieces put in, dropped, doubled or moved."""
    text = grown(rng) if rng.random() < 0.5 else rng.choice(seeds)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        at = rng.randrange(len(text) + 1)
        length = rng.choice((1, 1, 1, 2, 4, 16))
        match rng.randrange(5):
            case 0:
                text = text[:at] + text[at + length :]
            case 1 | 2:
                text = text[:at] + rng.choice(TOKENS) + text[at:]
            case 3:
                text = text[:at] + rng.choice(TOKENS) + text[at + length :]
            case 4:
                text = text[:at] + text[at : at + length] * 2 + text[at + length :]
    return text


def damaged_file(rng: random.Random, data: bytes) -> bytes:
    """An array file with a few bytes changed, most of them in what describes the numbers."""
    changed = bytearray(data)
    if changed[:6] == b"\x93NUMPY" and rng.random() < 0.2:
        # A header of another length, and the length that belongs to it: more of them are read.
        header = bytes(changed[10:128]).rstrip() + b" " * rng.randrange(4) + b"\n" * rng.randrange(2)
        changed = bytearray(changed[:8] + len(header).to_bytes(2, "little") + header + changed[128:])
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        at = rng.randrange(len(changed) + 1) if rng.random() < 0.3 else rng.randrange(min(130, len(changed)))
        length = rng.choice((1, 1, 2, 4))
        match rng.randrange(4):
            case 0:
                changed[at : at + 1] = rng.randbytes(1)
            case 1:
                part = rng.choice(PARTS)
                changed[at : at + len(part)] = part
            case 2:
                # In place of as much of the spaces that pad a header, so that what follows stays where it is.
                part = rng.choice(PARTS)
                spaces = changed.rfind(b" " * len(part))
                if spaces > at:
                    del changed[spaces : spaces + len(part)]
                changed[at:at] = part
            case 3:
                changed[at : at + length] = b""
    return bytes(changed)


WORDS = ("a", "b", "c-d", "e_f", "claim", "given", "rows", "x1")
TEXTS = (
    "1", "-2.5e-3", "0x1.8p-3", "7/3", "sqrt(2)", "box", "data/x.npz", "0:64", "a b", "it's", "a, b", "a:b", "a #b",
    "", " a", "é 数", "[x]", "x: y", "-", "- a", "'", '"', "\\", "two\nlines", "?", "a?", "#", "1 # 2", "~", "null",
    "-a", "*a", "a ",
)  # fmt: skip


def grown(rng: random.Random) -> str:
    """A document by the grammar, of a few values in all styles; now and then of a style that is none."""
    return "".join(blank(rng) + line for line in block_mapping(rng, 0, 0)) + blank(rng)


def blank(rng: random.Random) -> str:
    return rng.choice(("\n", "# c\n", "   \n", "  # c: d\n", "#\n")) if rng.random() < 0.05 else ""


def rest(rng: random.Random) -> str:
    return rng.choice((" # c", "  ", " #", "   # 'c", "# c")) if rng.random() < 0.08 else ""


def block_mapping(rng: random.Random, indent: int, depth: int) -> Iterator[str]:
    for key in rng.sample(WORDS, rng.choice((1, 1, 2, 3))):
        yield from entry(rng, f"{' ' * indent}{key}:", indent, depth, rng.choice((0, 1, 2, 2, 4)))


def block_list(rng: random.Random, indent: int, depth: int) -> Iterator[str]:
    for _ in range(rng.choice((1, 2, 3))):
        spaces = rng.choice((1, 1, 1, 2, 3))
        inner = indent + 1 + spaces
        kind = rng.random()
        if depth < 3 and kind < 0.3:
            lines = list(block_mapping(rng, inner, depth + 1) if kind < 0.2 else block_list(rng, inner, depth + 1))
            yield f"{' ' * indent}-{' ' * spaces}{lines[0][inner:]}"
            yield from lines[1:]
        else:
            yield f"{' ' * indent}-{' ' * spaces}{inline(rng, False)}{rest(rng)}\n"


def entry(rng: random.Random, before: str, indent: int, depth: int, deeper: int) -> Iterator[str]:
    kind = rng.random()
    if depth < 3 and kind < 0.4:
        yield f"{before}{rest(rng)}\n"
        if kind < 0.2:
            yield from block_mapping(rng, indent + deeper, depth + 1)
        elif kind < 0.37:
            yield from block_list(rng, indent + deeper, depth + 1)
        else:
            yield f"{' ' * (indent + deeper)}{inline(rng, False)}\n"
    else:
        yield f"{before}{' ' * rng.choice((1, 1, 1, 2))}{inline(rng, False)}{rest(rng)}\n"


def inline(rng: random.Random, inside: bool) -> str:
    kind = rng.random()
    if kind < 0.15:
        items = [inline(rng, True) for _ in range(rng.choice((0, 1, 2, 3)))]
        return f"[{gap(rng)}{f'{gap(rng)},{gap(rng)}'.join(items)}{gap(rng)}]"
    if kind < 0.25:
        pairs = [f"{key}: {inline(rng, True)}" for key in rng.sample(WORDS, rng.choice((0, 1, 2)))]
        return f"{{{gap(rng)}{f'{gap(rng)},{gap(rng)}'.join(pairs)}{gap(rng)}}}"
    text = rng.choice(TEXTS)
    if kind < 0.35:
        return "'" + text.replace("'", "''") + "'"
    if kind < 0.5:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return text


def gap(rng: random.Random) -> str:
    return rng.choice((" ", "\n  ", "\n", " # c\n ", "  ")) if rng.random() < 0.2 else ""


# -- the runs

AGREE = ("both read", "both refuse")


def run(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """So many texts, and a fifth as many array files: how the readers stand to each other, and the findings."""
    rng, seeds, files = random.Random(seed), documents(), arrays()
    counts: Counter[str] = Counter()
    findings = []
    for number in range(count):
        text = damaged_text(rng, seeds)
        standing, why = compare_texts(text)
        counts[f"texts: {standing}"] += 1
        if standing not in AGREE:
            findings.append(f"text {number}: {standing}: {why or text!a}")
    for number in range(count // 5):
        suffix, data, name, stated = rng.choice(files)
        changed = damaged_file(rng, data)
        standing, why = compare_arrays(suffix, changed, name, stated)
        counts[f"arrays: {standing}"] += 1
        if standing not in AGREE:
            findings.append(f"array {number} ({suffix}): {standing}: {why or changed!a}")
    return counts, findings


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=50_000, help="texts; a fifth as many array files (50000)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (0)")
    options = parser.parse_args()
    sys.set_int_max_str_digits(0)
    begun = time.monotonic()
    counts, findings = run(options.count, options.seed)
    for finding in findings[:20]:
        print(finding[:2000])
    for standing, number in sorted(counts.items()):
        print(f"{number:7} {standing}")
    print(f"{len(findings)} findings in {time.monotonic() - begun:.0f} s")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
