"""The corpus of the arena: every accept and reject case of the tests of claims, as certificate files.

The cases stand in `tests/kernel/theorems/*/*_cases.*`, and nowhere else: files are written anew whenever they
are needed. `expected.json` says of each file what a checker has to answer.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from certattn.kernel.decide.proof import Verdict
from certattn.statements.reports import Report

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "kernel" / "theorems"))
from corpus import FILES, Case, Family, every_family

EXPECTED = "expected.json"
_SLUG = 60


@dataclass(frozen=True)
class Entry:
    """A file of the corpus and what is expected of it.

    `verdict` and `words`: the kernel's verdict, and words that its reason or a finding must have.
    `neighbour`: of a reject case, the file of the accepted certificate that it is one change away from;
    `before` and `after` are this change.
    """

    file: str
    claim: str
    family: str
    case: str
    verdict: str
    words: str = ""
    neighbour: str = ""
    before: str = ""
    after: str = ""

    @property
    def accepted(self) -> bool:
        return self.verdict == Verdict.VERIFIED.value

    def complaint(self, report: Report) -> str:
        """What is wrong with the kernel's report; nothing if verdict and reason are as expected."""
        return Case(self.case, "", Verdict(self.verdict), self.words).complaint(report)


def entries(claims: list[str] | None = None) -> Iterator[tuple[Entry, Family, str]]:
    """Every case as an entry, with its family and its text."""
    counted: dict[str, int] = {}
    for family in every_family():
        number = counted[family.claim] = counted.get(family.claim, 0) + 1
        if claims is not None and family.claim not in claims:
            continue
        folder = f"{family.claim}/{number:02}-{slug(family.title)}"
        changes = {f"{family.title}: {name}": change[:2] for name, change in family.rejects.items()}
        neighbour = ""
        for place, case in enumerate(family.cases()):
            kind = "accept" if case.verdict is Verdict.VERIFIED else "reject"
            file = f"{folder}/{place:03}-{kind}-{slug(case.name.removeprefix(family.title))}".rstrip("-") + ".yaml"
            entry = Entry(file, family.claim, family.title, case.name, case.verdict.value, case.words)
            if kind == "reject":
                before, after = changes[case.name]
                entry = replace(entry, neighbour=neighbour, before=before, after=after)
            neighbour = neighbour or file
            yield entry, family, case.text


def slug(title: str) -> str:
    """A title as a name of a file."""
    return re.sub("[^a-z0-9]+", "-", title.lower()).strip("-")[:_SLUG].rstrip("-")


def write(folder: Path, claims: list[str] | None = None) -> list[Entry]:
    """Write the corpus, or what it has of some claims, with `expected.json`; what was written.

    Raises FileExistsError if the folder holds anything: nothing old may lie among the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty: the corpus is written into a new or an empty folder")
    written = []
    for entry, _, text in entries(claims):
        path = folder / entry.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        for name in array_files(text):
            if not (path.parent / name).exists():
                (path.parent / name).write_bytes(FILES[name])
        written.append(entry)
    content = json.dumps([asdict(entry) for entry in written], indent=1, ensure_ascii=False)
    (folder / EXPECTED).write_text(content + "\n", encoding="utf-8")
    return written


def array_files(text: str) -> list[str]:
    """The array files that a certificate names and that there are."""
    named = set(re.findall(r"\bfile: *([^\s,}]+)", text))
    return [name for name in FILES if name in named]


def read(folder: Path) -> list[Entry]:
    """What `write` has written there."""
    return [Entry(**content) for content in json.loads((folder / EXPECTED).read_text(encoding="utf-8"))]


def sample(chosen: list[Entry], count: int | None, seed: int) -> list[Entry]:
    """At most so many accept cases and so many reject cases of each claim, drawn from a seed; in their order."""
    if count is None:
        return chosen
    kinds: dict[tuple[str, bool], list[Entry]] = {}
    for entry in chosen:
        kinds.setdefault((entry.claim, entry.accepted), []).append(entry)
    drawn = {
        entry
        for (claim, accepted), kind in kinds.items()
        for entry in random.Random(f"{seed} {claim} {accepted}").sample(kind, min(count, len(kind)))
    }
    return [entry for entry in chosen if entry in drawn]


# -- how far two certificates are apart


def tree(text: str) -> Any:
    """A certificate's tree, scalars as texts; raises yaml.YAMLError. Not strict: reject cases are read too."""
    return yaml.load(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))


def fields(one: Any, other: Any) -> set[str]:
    """The fields, such as `given.keys`, in which two certificates differ."""
    found = set()
    for section in {**one, **other}:
        left, right = one.get(section), other.get(section)
        if isinstance(left, dict) and isinstance(right, dict):
            names = (name for name in {**left, **right} if left.get(name) != right.get(name))
            found |= {f"{section}.{name}" for name in names}
        elif left != right:
            found.add(section)
    return found


def places(one: Any, other: Any) -> int:
    """In how many places two trees differ: scalars, keys, items that are in one alone."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = one.keys() & other.keys()
        return len(one.keys() ^ other.keys()) + sum(places(one[key], other[key]) for key in both)
    if isinstance(one, list) and isinstance(other, list):
        same = 0
        while same < min(len(one), len(other)) and one[same] == other[same]:
            same += 1
        one, other = one[same:], other[same:]
        while one and other and one[-1] == other[-1]:
            one, other = one[:-1], other[:-1]
        return abs(len(one) - len(other)) + sum(map(places, one, other))
    return int(one != other)
