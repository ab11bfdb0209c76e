"""How the accept and reject cases of claims are written down, and how a checker is held against them.

A `Family` is one certificate that is accepted, other ways of writing something true, and its rejected
neighbours, each of them one change away and named after its defect. The texts leave out the two lines
that are the same everywhere.

Families stand in the `*_cases.yaml` of the chapters. A change is a list: what is replaced, by what, and of a reject
case the verdict and words of its reason. `<keys.npy>` is the sha256 of an array file, `<64 * '0, '>` a text so many
times. Where one skeleton serves many certificates, a `*_cases.py` makes the families.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from certattn.fast.exponential import TABLE
from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.statements.checking import check_certificate, malformed_report
from certattn.statements.reports import Report

# Families lie in the folders of their chapters, and some import others by name.
FOLDER = Path(__file__).resolve().parent
sys.path += map(str, sorted(FOLDER.glob("[a-z]*/")))

ACCEPT = Verdict.VERIFIED
REFUTED = Verdict.REFUTED
REJECTED = Verdict.REJECTED
INCONCLUSIVE = Verdict.INCONCLUSIVE
MALFORMED = Verdict.MALFORMED

# What is put in the place of what, the verdict, and words that the reason or a finding must have.
Change = tuple[str, str, Verdict, str]
# A checker: text and the folder that its arrays lie in -> report.
Checker = Callable[[str, Path], Report]


@dataclass(frozen=True)
class Case:
    """A certificate's text and what the checker must say of it."""

    name: str
    text: str
    verdict: Verdict
    words: str = ""

    def complaint(self, report: Report) -> str:
        """What is wrong with a report on this case; nothing if it is right."""
        if report.verdict is not self.verdict:
            return f"{self.name}: {report.verdict.value}, expected {self.verdict.value}: {report.reason}"
        said = "\n".join([report.reason, *report.findings])
        return "" if self.words in said else f"{self.name}: expected {self.words!r} in: {said}"


@dataclass(frozen=True)
class Family:
    """An accepted certificate `text` of a claim with its neighbours, by name."""

    claim: str
    title: str
    text: str
    accepts: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    rejects: Mapping[str, Change] = field(default_factory=dict)

    def cases(self) -> Iterator[Case]:
        head = f"certattn: 1\nclaim: {self.claim}\n"
        whole = head + self.text.lstrip("\n")
        yield Case(self.title, whole, ACCEPT)
        for name, (old, new) in self.accepts.items():
            yield Case(f"{self.title}: {name}", changed(whole, old, new, name), ACCEPT)
        for name, (old, new, verdict, words) in self.rejects.items():
            assert verdict is not ACCEPT
            yield Case(f"{self.title}: {name}", changed(whole, old, new, name), verdict, words)


class Cases:
    """The families of some files, as attributes by their names there; of two of a name, that of the first file."""

    def __init__(self, *files: str) -> None:
        found = [_read(file) for file in files]
        self._named = {name: family for named, _ in reversed(found) for name, family in named.items()}
        self.FAMILIES = [family for _, families in found for family in families]
        self.CASES = [case for family in self.FAMILIES for case in family.cases()]

    def __getattr__(self, name: str) -> Family:
        return self._named[name]


def every_family() -> list[Family]:
    """The families of all `*_cases` files of the chapters, each once."""
    found: dict[tuple[str, str], Family] = {}
    for file in sorted({path.stem for path in FOLDER.glob("*/*_cases.*")}):
        for family in _read(file)[1]:
            assert found.setdefault((family.claim, family.title), family) is family, f"two families: {family.title}"
    return [found[key] for key in sorted(found)]


@cache
def _read(file: str) -> tuple[dict[str, Family], list[Family]]:
    """What stands in a .yaml and what a .py makes: families that have names, and all."""
    named: dict[str, Family] = {}
    for path in FOLDER.glob(f"*/{file}.yaml"):
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
        named |= {name: _family(**record) for name, record in content.items()}
    families = list(named.values())
    if any(FOLDER.glob(f"*/{file}.py")):
        module = importlib.import_module(file)
        named |= {name: made for name, made in vars(module).items() if isinstance(made, Family)}
        families += module.FAMILIES
    return named, families


class _Loader(yaml.CBaseLoader):
    """Everything is a text, and nothing is lost because it has the name of something else."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        assert len(found) == len(node.value), f"a name stands twice: {node.start_mark}"
        return found


def _family(
    claim: str,
    title: str,
    text: str,
    accepts: Mapping[str, list[str]] | None = None,
    rejects: Mapping[str, list[str]] | None = None,
) -> Family:
    return Family(
        claim,
        title,
        _filled(text),
        {name: (_filled(old), _filled(new)) for name, (old, new) in (accepts or {}).items()},
        {
            name: (_filled(old), _filled(new), Verdict(verdict), words)
            for name, (old, new, verdict, words) in (rejects or {}).items()
        },
    )


def _filled(text: str) -> str:
    text = re.sub(r"<(\d+) \* '([^']*)'>", lambda found: int(found[1]) * found[2], text)
    return re.sub(r"<([\w-]+\.\w+)>", lambda found: _sha256(found[1]), text)


def changed(text: str, old: str, new: str, name: str) -> str:
    """The text with its one `old` replaced."""
    assert text.count(old) == 1, f"{name}: {old!r} stands {text.count(old)} times"
    return text.replace(old, new)


def check(text: str, folder: Path) -> Report:
    """The checker under test."""
    path = folder / "case.yaml"
    try:
        return check_certificate(loads(text, path), CheckOptions(detail=True))
    except MalformedError as error:
        return malformed_report(str(path), error)


def complaints(cases: list[Case], folder: Path, checker: Checker = check) -> list[str]:
    """What a checker gets wrong."""
    found = (case.complaint(checker(case.text, folder)) for case in cases)
    return [complaint for complaint in found if complaint]


def notices(cases: Iterable[Case], folder: Path, checker: Checker = check) -> bool:
    """Whether a kernel broken on purpose gets a case wrong; the first one tells. That it only crashes shows nothing."""
    for case in cases:
        try:
            report = checker(case.text, folder)
        except Exception:
            continue
        if report.verdict is not Verdict.ERROR and case.complaint(report):
            return True
    return False


# -- array files

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "keys": np.array([[1, 0], [0, 1], [-1, 0.5]], np.float32),
    "values": np.array([[1, 2], [0, -1], [3, 0.5]], np.float32),
    "queries": np.array([[9, 9], [1, 1], [-2, 0.5], [7, 7]], np.float64),
    "mean": np.array([1, -2], np.float64),
    "covariance": np.array([[2, 1], [1, 3]], np.int32),
    "tiny": np.array([[2.0**-149], [-(2.0**-149)], [0.0]], np.float32),
    "half": np.array([[0.1], [2.0**-24], [65504.0]], np.float16),
    "huge": np.array([[2**63 - 1], [-(2**63)], [0]], np.int64),
    "nan": np.array([[1, 0], [0, np.nan], [-1, 0.5]], np.float32),
    "infinite": np.array([[1, 0], [0, np.inf], [-1, 0.5]], np.float32),
    "fortran": np.asfortranarray(np.array([[1, 0], [0, 1], [-1, 0.5]], np.float32)),
    "big": np.array([[1, 0], [0, 1], [-1, 0.5]], ">f4"),
    "means": np.array([[0.8689, 0.5], [2.2764, 0.2306]]),
    "covariances": np.array([[0.9993, 0.6393], [0.6393, 1.918], [1.5733, 0.6687], [0.6687, 0.4979]]),
    "radii": np.array([1.91e-5, 4.73e-5]),
    "lower": np.array([0.671413, 0.177532]),
    "logs": np.array([1.5599, 1.8834]),
    "objects": np.array([[1, 0], [0, None], [-1, 0.5]], dtype=object),
}


def _tables() -> dict[str, np.ndarray[Any, Any]]:
    """The table of the kernel's exponential, and tables with one defect each."""
    found = {"table": TABLE, "table-short": TABLE[:-1], "table-reversed": TABLE[::-1], "table-negative": -TABLE}
    found["table-long"] = np.append(TABLE, 2.0)
    found["table-square"] = TABLE.reshape(1, -1)
    found["table-zeros"] = np.zeros(len(TABLE))
    found["table-single"] = TABLE.astype(np.float32)
    found["table-integers"] = np.full(len(TABLE), 2**53 + 1)
    for name, index, value in (
        ("table-0-up", 0, 1 + 2.0**-52), ("table-0-down", 0, 1 - 2.0**-53), ("table-5-zero", 5, 0.0),
        ("table-1000-up", 1000, TABLE[1000] + 2.0**-52), ("table-1000-down", 1000, TABLE[1000] - 2.0**-52),
        ("table-last-up", -1, TABLE[-1] + 2.0**-52), ("table-infinite", 7, np.inf), ("table-nan", 2047, np.nan),
    ):  # fmt: skip
        found[name] = TABLE.copy()
        found[name][index] = value
    found["table-swapped"] = TABLE.copy()
    found["table-swapped"][[5, 6]] = TABLE[[6, 5]]
    return {name: np.ascontiguousarray(table) for name, table in found.items()}


ARRAYS |= _tables()


def _some(step: int, *shape: int) -> np.ndarray[Any, Any]:
    """Numbers of four bits: eighths up to 15/8, which every type of floats has but float8_e5m2."""
    return (((np.arange(np.prod(shape)) * step + step) % 31 - 15) / 8).reshape(shape)


def _attended(q: Any, k: Any, v: Any, seen: Any) -> tuple[Any, Any]:
    """Attention with the scale 1/2, and log Z; query heads share heads of keys in pairs."""
    scores = np.where(seen, q @ np.repeat(k, 2, axis=-3).swapaxes(-1, -2) / 2, -np.inf)
    weights = np.exp(scores)
    total = weights.sum(axis=-1, keepdims=True)
    return weights @ np.repeat(v, 2, axis=-3) / total, np.log(total[..., 0])


def _heads() -> dict[str, np.ndarray[Any, Any]]:
    """Two batches of four heads that share keys in pairs: 3 queries on 5 tokens, aligned at the bottom right, of which
    each sees 3. Outputs to 1/64, so that a few bits of rounding change none; and outputs with one defect each."""
    q, k, v = _some(7, 2, 4, 3, 2), _some(11, 2, 2, 5, 2), _some(13, 2, 2, 5, 2)
    i, j = np.arange(3)[:, None], np.arange(5)
    means, logs = _attended(q, k, v, (j <= i + 2) & (j > i - 1))
    output = (np.round(means * 64) / 64).astype(np.float16)
    found = {"q": q.astype(np.float16), "k": k.astype(np.float16), "v": v.astype(np.float32), "o": output}
    found["l"], found["o64"] = (np.round(logs * 1024) / 1024).astype(np.float32), output.astype(np.float64)
    found["o8"] = np.round(means).astype(np.int8)
    for name, value in (("nan", np.nan), ("infinite", -np.inf), ("moved", 8.0)):
        found[f"o-{name}"] = output.copy()
        found[f"o-{name}"][1, 2, 0, 1] = value
    found["l-nan"] = found["l"].copy()
    found["l-nan"][0, 0, 0] = np.nan
    # One token, so that T is its value: 1, below 1, subnormal as float16, and 0.
    tiny, least = 2.0**-10, 2.0**-24
    found["one-q"], found["one-v"] = np.zeros((1, 1), np.float16), np.array([[1, 1 - tiny / 2, 1.5 * least, 0]])
    found["one-o"] = np.array([[1, 1 - tiny / 2, least, 0]], np.float16)
    for name, column, value in (("at-one", 0, 1 + tiny), ("below-one", 1, 1), ("at-zero", 3, -least)):
        found[f"one-{name}"] = found["one-o"].copy()
        found[f"one-{name}"][0, column] = value
    return {f"heads-{name}": array for name, array in found.items()}


HEADS = _heads()
ARRAYS |= HEADS


def _caches() -> dict[str, np.ndarray[Any, Any]]:
    """Of the four heads of keys above caches of three tokens: which, in eight and in four bits; and defects."""
    kept = np.array([[[0, 2, 4], [1, 2, 4]], [[0, 3, 4], [2, 3, 4]]], np.int32)
    found = {"kept": kept, "kept-all": np.array([0, 2, 4], np.uint8), "kept-floats": kept.astype(np.float16)}
    found["k8"] = ((np.arange(24) * 37 + 11) % 255 - 127).astype(np.int8).reshape(2, 2, 3, 2)
    found["k8-scale"] = (np.array([3, 5, 4, 6, 7, 3, 5, 4]).reshape(2, 2, 1, 2) / 256).astype(np.float16)
    found["v4"] = ((np.arange(12) * 83 + 29) % 256).astype(np.uint8).reshape(2, 2, 3, 1)
    found["v4-scale"] = ((np.arange(12) % 5 + 1) / 8).astype(np.float32).reshape(2, 2, 3, 1)
    found["v4-zero"], found["v4-offset"] = np.full((2, 1, 1, 1), 8, np.uint8), np.full((1, 2, 1, 1), 0.25, np.float16)
    found["times"] = np.array([[[1, 2, 1], [3, 1, 1]], [[1, 1, 2], [2, 2, 1]]], np.int32)
    found["times-halves"] = found["times"].astype(np.float32) / 2
    found["v4-signed"] = found["v4"].view(np.int8)
    found["f8-scale"] = np.array([0.75, 1.25], np.float32).reshape(2, 1, 1)
    # A scale of 53 bits, so that no double is what it makes of a code.
    found["k8-long"] = np.full((2, 2, 1, 2), 0.1)
    found["k8-nan"] = found["k8-scale"].copy()
    found["k8-nan"][1, 0, 0, 1] = np.nan
    found["bounds"] = np.full((2, 4, 3), 4, np.float32)
    for name, value in (("behind", 5), ("negative", -1), ("twice", 0)):
        found[f"kept-{name}"] = kept.copy()
        found[f"kept-{name}"][1, 1, 2 if name == "behind" else 0] = value
    found["kept-twice"][1, 1] = [2, 2, 4]
    found["kept-half"] = found["kept-floats"].copy()
    found["kept-half"][0, 0, 1] = 1.5
    found["times-zero"] = found["times"].copy()
    found["times-zero"][0, 1, 1] = 0
    return {f"cache-{name}": array for name, array in found.items()}


CACHES = _caches()
ARRAYS |= CACHES


def _rules() -> dict[str, np.ndarray[Any, Any]]:
    """For these heads: a mask by batch under which query 2 of batch 1 sees nothing, one of all heads, slopes, sinks."""
    rng = np.random.default_rng(17)
    mask = (rng.random((2, 1, 3, 5)) < 0.6).astype(np.uint8)
    mask[:, :, :, 2] = 1
    full = np.broadcast_to(mask, (2, 4, 3, 5)).copy()
    mask[1, 0, 2] = 0
    found = {"mask": mask, "full": full, "two": 2 * full, "bytes": full.astype(np.int16)}
    found |= {"alibi": np.array([1, 0.5, 0.25, 0.125], np.float16), "sinks": np.array([0.5, -1, 3, 0], np.float32)}
    found |= {"alibi-of-two": found["alibi"][:2], "heads-of-two": full[:, :2], "four-tokens": full[..., :4]}
    return {f"rules-{name}": array for name, array in found.items()}


RULES = _rules()
ARRAYS |= RULES


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def _npz(*names: str) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **{name: ARRAYS[name] for name in names})  # type: ignore[arg-type]
    return stream.getvalue()


def _safetensors(**tensors: tuple[str, list[int], bytes]) -> bytes:
    header, body = dict[str, Any](), b""
    for name, (code, shape, data) in tensors.items():
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + body


def _eight_bits(numbers: np.ndarray[Any, Any], fraction_bits: int) -> bytes:
    """Numbers of so few bits, none of them subnormal, as patterns of float8_e4m3fn or float8_e5m2."""
    mantissa, exponent = np.frexp(np.abs(numbers))
    biased = exponent - 1 + (1 << (6 - fraction_bits)) - 1
    patterns = (biased << fraction_bits) + (2 * mantissa - 1) * (1 << fraction_bits)
    assert (patterns == patterns.astype(np.uint8)).all()
    return (np.where(numbers == 0, 0, patterns) + 128 * (numbers < 0)).astype(np.uint8).tobytes()


def _eights() -> dict[str, tuple[str, list[int], bytes]]:
    """Four heads of the same kind without a mask, in eight bits; outputs to 1/8, in both types, and with a NaN."""
    q, k, v = _some(7, 4, 3, 2), _some(11, 2, 5, 2), _some(13, 2, 5, 2)
    means, _ = _attended(q, k, v, True)
    output = np.round(means * 8) / 8
    arrays = {"q": q, "k": k, "v": v, "o": output}
    found = {name: ("F8_E4M3", list(x.shape), _eight_bits(x, 3)) for name, x in arrays.items()}
    body = bytearray(found["o"][2])
    body[5] = 0xFF
    found["nan"] = ("F8_E4M3", [4, 3, 2], bytes(body))
    found["halves"] = ("F8_E5M2", [4, 3, 2], _eight_bits(np.round(means * 2) / 2, 2))
    found["halves-infinite"] = ("F8_E5M2", [4, 3, 2], found["halves"][2][:-1] + b"\x7c")
    return found


# bfloat16 is the upper half of float32: 1, -0.5 and the smallest subnormal, 2^-133.
_BFLOATS = struct.pack("<3H", 0x3F80, 0xBF00, 0x0001)
FILES: dict[str, bytes] = {
    "prompt.npz": _npz("keys", "values", "queries"),
    "bfloats.safetensors": _safetensors(x=("BF16", [3, 1], _BFLOATS)),
    "heads.npz": _npz(*HEADS),
    "caches.npz": _npz(*CACHES),
    "rules.npz": _npz(*RULES),
    "eights.safetensors": _safetensors(**_eights()),
    **{f"{name}.npy": _npy(array) for name, array in ARRAYS.items()},
}


@cache
def _sha256(file: str) -> str:
    return hashlib.sha256(FILES[file]).hexdigest()


def array(file: str, dtype: str, shape: str, **others: str) -> str:
    """A reference to an array file, as certificates write it, on one line."""
    more = "".join(f", {key}: {value}" for key, value in others.items())
    return f"{{file: {file}, sha256: {_sha256(file)}, dtype: {dtype}, shape: {shape}{more}}}"


def write_files(folder: Path) -> None:
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
