"""The obligations of every claim, from the files in `obligations/`.

A file has the name of its claim, and its folder that of the chapter. A key is the name of an obligation, `[i]` for any
index and `{a,b}` for either. Under it stand what must be proved (`proves`), which sort of `sorts.yaml` that is
(`sort`), and advice (`do`) and the page, where these are not those of the sort and of the claim. `PREFIX.*:
{multipliers: POINT}` stands for the entries of `multipliers.yaml`, and `PATTERN: {include: CLAIM}` for those of another
claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import yaml

from certattn.kernel.theorems import CHAPTER_OF
from certattn.report.text import INDEX

SEPARATOR = "/"
_EITHER = re.compile(r"\{([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Explanation:
    """`code`, what it is a code of (`group`), what it says in a line, more by label, and the page with all of it."""

    code: str
    group: str
    says: str
    more: tuple[tuple[str, str], ...]
    page: str

    def to_dict(self) -> dict[str, str]:
        """For JSON."""
        more = {label.replace(" ", "_"): text for label, text in self.more}
        return {"code": self.code, "group": self.group, "says": self.says, **more, "page": self.page}


@dataclass(frozen=True, slots=True)
class Entry:
    """An obligation: its name with `[i]` for an index, what must be proved, its sort, advice, its page.

    `key` is what the file says it under, with the claim whose file that is: several obligations may share it.
    """

    name: str
    proves: str
    sort: str
    do: str
    page: str
    key: tuple[str, str]


def read(name: str) -> dict[str, Any]:
    """A file of this folder. These are part of the package, as its code is."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return content


@cache
def sorts() -> Mapping[str, Mapping[str, Any]]:
    """What becomes of obligations, by sort."""
    return read("sorts.yaml")


def plain(name: str) -> str:
    """A name without its indices, which is the code of the obligation: `at_most` of `at_most[3]`."""
    return INDEX.sub("", name)


@cache
def entries(claim: str) -> Mapping[str, Entry]:
    """Those of a claim by their code within it, in the order of the file; empty where there is none of this name."""
    if claim not in CHAPTER_OF:
        return {}
    found: dict[str, Entry] = {}
    explicit: set[str] = set()
    for key, content in read(f"obligations/{CHAPTER_OF[claim]}/{claim}.yaml").items():
        for entry in _entries(claim, key, content):
            code = plain(entry.name)
            if "proves" in content:
                if code in explicit:
                    raise ValueError(f"{claim}.yaml: {entry.name} stands there twice")
                explicit.add(code)
            elif code in explicit:
                continue
            found[code] = entry
    return found


def _entries(claim: str, key: str, content: dict[str, str]) -> Iterator[Entry]:
    """What a key of a file stands for."""
    if "include" in content:
        others, index = entries(content["include"]).items(), re.search(rf"{INDEX.pattern}$", key)
        for code, entry in others:
            if fnmatchcase(code, plain(key)):
                more = index[0] if index and not entry.name.endswith(index[0]) else ""
                yield replace(entry, name=entry.name + more)
    elif "multipliers" in content:
        for condition, said in read("multipliers.yaml").items():
            proves = said["proves"].format(point=content["multipliers"])
            yield _entry(claim, key, key.replace("*", condition), {**said, "proves": proves})
    else:
        yield from (_entry(claim, key, name, content) for name in expanded(key))


def _entry(claim: str, key: str, name: str, said: dict[str, str]) -> Entry:
    do = said.get("do", sorts()[said["sort"]]["do"])
    return Entry(name, said["proves"], said["sort"], do, page_of(claim, said.get("page", claim)), (claim, key))


def page_of(claim: str, page: str) -> str:
    """A page of the chapter of a claim; its own has its name, with the statement and the proof."""
    return f"docs/claims/{CHAPTER_OF[claim]}/{page}.md"


def expanded(key: str) -> list[str]:
    """All names that a key with `{a,b}` stands for."""
    parts = _EITHER.split(key)
    return [
        "".join(choice) for choice in product(*(part.split(",") if i % 2 else [part] for i, part in enumerate(parts)))
    ]


def explained(claim: str, entry: Entry) -> Explanation:
    """An obligation, with what its outcomes mean."""
    sort = sorts()[entry.sort]
    more = (("if false", sort["false"]), ("if undecided", sort["undecided"]), ("what to do", entry.do))
    return Explanation(f"{claim}{SEPARATOR}{entry.name}", f"obligation of {claim}", entry.proves, more, entry.page)
