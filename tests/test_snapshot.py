"""The comparison of what two checkers say: every kind of difference is noticed, and only listed ones are allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Record = dict[str, Any]
Change = Callable[[Record], object]

OLD: Record = {
    "case": "arena: c: one", "verdict": "verified", "claim": "c", "digest": "d", "reason": "", "obligation": "",
    "arithmetic": "Arb", "bits": 64, "limit": "", "place": None, "statement": "s", "findings": "f",
    "obligations": [
        ["at[0]", "<=", "proved", "statement", 64, "Arb", "1", "2"],
        ["at[1]", "<=", "proved", "statement", 64, "Arb", "3", "4"],
    ],
}  # fmt: skip


def _field(name: str, value: Any) -> Change:
    return lambda record: record.update({name: value})


def _cell(column: int, value: Any) -> Change:
    return lambda record: record["obligations"][1].__setitem__(column, value)


# A change of one thing, and what has to be said of it: kind, from, to.
CHANGES: dict[str, tuple[Change, tuple[str, str, str]]] = {
    "another verdict": (_field("verdict", "refuted"), ("verdict", "verified", "refuted")),
    "another claim": (_field("claim", "e"), ("claim", "c", "e")),
    "another digest": (_field("digest", "e"), ("digest", "d", "e")),
    "another statement": (_field("statement", "t"), ("statement", "s", "t")),
    "other findings": (_field("findings", "g"), ("findings", "f", "g")),
    "a reason": (_field("reason", "why"), ("reason", "", "why")),
    "a reason of two lines, with signs": (_field("reason", ' "x",\n  # [y]'), ("reason", "", ' "x",\\n  # [y]')),
    "a place": (_field("place", ["x.yaml", 3, "given"]), ("place", "null", '["x.yaml", 3, "given"]')),
    "an open obligation": (_field("obligation", "at[0]"), ("obligation", "", "at[0]")),
    "a limit": (_field("limit", "time"), ("limit", "", "time")),
    "other bits of the whole": (_field("bits", 128), ("bits", "64", "128")),
    "another arithmetic of the whole": (_field("arithmetic", "binary64"), ("arithmetic", "Arb", "binary64")),
    "an obligation less": (lambda r: r["obligations"].pop(), ("names", "at[1]", "")),
    "an obligation more": (lambda r: r["obligations"].append(["x", *OLD["obligations"][0][1:]]), ("names", "", "x")),
    "one twice": (lambda r: r["obligations"].append(OLD["obligations"][1]), ("names", "", "at[1] (time 2)")),
    "another order": (lambda r: r["obligations"].reverse(), ("order", "at[0]", "at[1]")),
    "another relation": (_cell(1, "<"), ("relation", "at[1]: <=", "at[1]: <")),
    "another outcome": (_cell(2, "refuted"), ("outcome", "at[1]: proved", "at[1]: refuted")),
    "another part": (_cell(3, "witness"), ("part", "at[1]: statement", "at[1]: witness")),
    "other bits": (_cell(4, None), ("bits", "at[1]: 64", "at[1]: null")),
    "another arithmetic": (_cell(5, ""), ("arithmetic", "at[1]: Arb", "at[1]: ")),
    "other sides": (_cell(6, "5"), ("sides", "at[1]: 3", "at[1]: 5")),
    "another sentence": (_cell(7, "5"), ("sentence", "at[1]: 4", "at[1]: 5")),
    "another case": (_field("case", "arena: c: two"), ("case", "a case", "there is no such case")),
}


@pytest.fixture(scope="module")
def snapshot(tool: Callable[[str], ModuleType]) -> ModuleType:
    return tool("snapshot")


def _file(path: Path, *records: Record) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _new(title: str) -> Record:
    record = deepcopy(OLD)
    CHANGES[title][0](record)
    return record


def test_every_kind_of_difference_is_noticed_and_nothing_else(snapshot: ModuleType) -> None:
    for title, (_, expected) in CHANGES.items():
        new = _new(title)
        found = snapshot.all_differences({OLD["case"]: OLD}, {new["case"]: new})
        assert (found[-1].kind, found[-1].old, found[-1].new) == expected, title
        assert len(found) == (2 if expected[0] == "case" else 1), title
    assert {expected[0] for _, expected in CHANGES.values()} == set(snapshot.KINDS)
    assert snapshot.all_differences({OLD["case"]: OLD}, {OLD["case"]: deepcopy(OLD)}) == []


def test_the_status_says_whether_something_differs_and_a_listed_difference_is_allowed(
    snapshot: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = _file(tmp_path / "old", OLD)
    assert snapshot.main(["compare", str(old), str(old)]) == 0
    for title, (_, expected) in CHANGES.items():
        new = _file(tmp_path / "new", _new(title))
        capsys.readouterr()
        assert snapshot.main(["compare", str(old), str(new)]) == 1, title
        said = capsys.readouterr().out.splitlines()
        assert said[0].startswith(f"{expected[0]}: "), title
        # What is printed is a line of the list but for the reason.
        lines = [line[2:] + ",a reason" for line in said if line.startswith("  ")]
        allowed = tmp_path / "allowed"
        allowed.write_text("\n".join(["# a comment", "", *lines]))
        assert snapshot.main(["compare", str(old), str(new), "--allow", str(allowed)]) == 0, title
        # The list is not for other differences, and nothing stands in it for nothing.
        other = _file(tmp_path / "other", _new("a limit" if title != "a limit" else "a reason"))
        assert snapshot.main(["compare", str(old), str(other), "--allow", str(allowed)]) == 1, title
        assert snapshot.main(["compare", str(old), str(old), "--allow", str(allowed)]) == 1, title
        assert "no difference needs this line any more" in capsys.readouterr().out


def test_patterns_take_brackets_as_they_stand(snapshot: ModuleType) -> None:
    line = snapshot.Allowed("arena: c: *", "outcome", "at[*]: proved", "*: refuted", "why")
    difference = snapshot.Difference("arena: c: one", "outcome", "at[1]: proved", "at[1]: refuted")
    assert line.covers(difference)
    assert not line.covers(snapshot.Difference("gallery: c/one", *("outcome", "at[1]: proved", "at[1]: refuted")))
    assert not line.covers(snapshot.Difference("arena: c: one", "outcome", "at1: proved", "at[1]: refuted"))


def test_a_malformed_certificate_that_is_rejected_now_is_one_difference(snapshot: ModuleType) -> None:
    empty = {**OLD, "verdict": "malformed", "claim": "", "digest": "", "obligations": [], "reason": "no level"}
    rejected = {**OLD, "verdict": "rejected", "reason": "not proved: the level is below one"}
    (found,) = snapshot.all_differences({OLD["case"]: empty}, {OLD["case"]: rejected})
    assert (found.kind, found.old, found.new) == ("verdict", "malformed", "rejected")
    (found,) = snapshot.all_differences({OLD["case"]: empty}, {OLD["case"]: {**empty, "reason": "no frame"}})
    assert found.kind == "reason"


def test_a_sample_is_compared_with_the_whole_only_where_that_is_asked_for(snapshot: ModuleType) -> None:
    whole = {name: {**OLD, "case": name} for name in ("one", "two")}
    some = {"one": whole["one"]}
    assert [found.kind for found in snapshot.all_differences(whole, some)] == ["case"]
    assert snapshot.all_differences(whole, some, sampled=True) == []
    assert [found.kind for found in snapshot.all_differences(some, whole, sampled=True)] == ["case"]
    line = snapshot.Allowed("two", "verdict", "*", "*", "why")
    assert snapshot.compared([], [line]).unused == [line]
    assert snapshot.compared([], [line], sampled=True).unused == []


BAD = {
    "no reason": "a,verdict,malformed,rejected,\n",
    "too few fields": "a,verdict,malformed,rejected\n",
    "an unknown kind": "a,verdikt,malformed,rejected,why\n",
}


def test_what_cannot_be_read_is_an_error(
    snapshot: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, lines, wrong = _file(tmp_path / "old", OLD), tmp_path / "allowed", tmp_path / "wrong"
    for title, content in BAD.items():
        lines.write_text(content)
        with pytest.raises(SystemExit, match="2"):
            snapshot.main(["compare", str(old), str(old), "--allow", str(lines)])
        assert "allowed:1: " in capsys.readouterr().err, title
    for content in ("", "[]\n", "{}\n", "x\n", json.dumps(OLD) + "\n" + json.dumps(OLD) + "\n"):
        wrong.write_text(content)
        with pytest.raises(SystemExit, match="2"):
            snapshot.main(["compare", str(old), str(wrong)])
        assert "wrong:" in capsys.readouterr().err


# -- what is written

PACKAGE = """
import os, signal, time

class Report:
    def __init__(self, path):
        self.path = path

    def to_dict(self):
        row = {"name": "at", "relation": "<=", "outcome": "proved", "part": "statement", "bits": 64,
               "arithmetic": "Arb", "left": "1", "right": "2", "sentence": "in words"}
        return {"verdict": "verified", "claim": "c", "digest": "", "reason": f"in {os.getcwd()}", "obligation": "",
                "arithmetic": "", "bits": 0, "limit": "", "place": [self.path, 1, ""], "statement": "", "findings": [],
                "nanoseconds": {"total": time.time_ns()}, "obligations": [row]}

def check(path, *, detail):
    assert detail
    text = open(path).read()
    if "kill" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "raise" in text:
        raise ZeroDivisionError("on purpose")
    print("a line that is none of the answers")
    return Report(path)
"""
ARENA = """
import json, pathlib, sys
folder = pathlib.Path(sys.argv[2])
entries = []
for name in ("ends", "kill", "raise"):
    (folder / name).mkdir(parents=True)
    (folder / name / "x.yaml").write_text(f"claim: c\\nnote: {name}\\n")
    entries.append({"file": f"{name}/x.yaml", "claim": "c", "case": name, "verdict": "malformed"})
(folder / "expected.json").write_text(json.dumps(entries))
"""


def _tree(folder: Path, package: str) -> Path:
    """A checkout with another checker, and whose files do not lie where they lie here."""
    for name, text in {
        "pyproject.toml": "", "certattn/__init__.py": package, "tools/deep/arena.py": ARENA,
        "certificates/chapter/c/good.yaml": "claim: c\n",
    }.items():  # fmt: skip
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_another_tree_is_asked_whatever_ends_its_processes(
    snapshot: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, out = _tree(tmp_path / "tree", PACKAGE), tmp_path / "out"
    assert snapshot.main(["write", str(out), "--tree", str(tree), "--jobs", "2"]) == 0
    assert "4 cases, 2 obligations: 2 crashed, 2 verified" in capsys.readouterr().out
    found = snapshot.read(out)
    assert list(found) == ["arena: c: ends", "arena: c: kill", "arena: c: raise", "gallery: c/good.yaml"]
    assert [record["verdict"] for record in found.values()] == ["verified", "crashed", "crashed", "verified"]
    assert found["arena: c: kill"]["reason"] == "ended by signal 9"
    assert found["arena: c: raise"]["reason"] == "ZeroDivisionError: on purpose"
    # Nothing says when or where it was.
    assert found["gallery: c/good.yaml"]["reason"] == "in ."
    before = out.read_bytes()
    assert snapshot.main(["write", str(out), "--tree", str(tree)]) == 0
    assert out.read_bytes() == before


def test_a_tree_that_cannot_be_asked_gives_no_file(
    snapshot: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    for package in ("raise ImportError('no kernel')", PACKAGE.replace('"verdict": "verified", ', "")):
        tree = _tree(tmp_path / str(len(package)), package)
        with pytest.raises(SystemExit, match="2"):
            snapshot.main(["write", str(out), "--tree", str(tree), "--only", "c"])
        with pytest.raises(SystemExit, match="2"):
            snapshot.main(["write", str(out), "--tree", str(tree), "--only", "d"])
    assert "there is no case of the claim d" in capfd.readouterr().err
    assert not out.exists()


@pytest.mark.heavy
def test_this_tree_says_the_same_twice_in_other_places_and_with_more_processes(
    snapshot: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    chosen = ["--only", "output-deviation", "--only", "max-margin", "--sample", "4", "--seed", "3"]
    for name, jobs in (("one", "1"), ("other/deeper", "2")):
        cases = tmp_path / name / "cases"
        assert snapshot.main(["cases", str(cases)]) == 0
        assert len(list(cases.rglob("*.yaml"))) == len(snapshot.arena(cases))
        assert snapshot.main(["write", str(cases.parent / "out"), "--cases", str(cases), *chosen, "--jobs", jobs]) == 0
    files = [tmp_path / "one" / "out", tmp_path / "other" / "deeper" / "out"]
    assert files[0].read_bytes() == files[1].read_bytes()
    found = snapshot.read(files[0])
    assert len(found) == 2 * 3 * 4
    assert str(tmp_path) not in files[0].read_text()
    assert {"verified", "malformed"} < {record["verdict"] for record in found.values()}
    assert all(record["obligations"] for record in found.values() if record["verdict"] == "verified")
