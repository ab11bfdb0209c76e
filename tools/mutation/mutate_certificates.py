"""Change certificates in every small way and compare what the checker says with a second opinion.

    python tools/mutation/mutate_certificates.py certificates/prompts/infinite-prompt-operator/*.yaml
    python tools/mutation/mutate_certificates.py --pairs 2000 FILE...      two changes at once, drawn at random
    python tools/mutation/mutate_certificates.py DIR/*/*/000-accept*.yaml  what `tools/arena/arena.py write DIR` writes:
                                                                           cases of which the tests take a sample

Every number goes up and down by tiny and large amounts; every key is dropped, doubled, renamed and
swapped with its neighbours; lists lose, repeat and exchange items. Each mutant is checked, and the
truth of what it then states is computed by `certificate_truth`, which shares no code with the kernel.

A *false accept* is a mutant that verifies although it states something false, or nothing at all: there
must be none. A *false refutation* is a true statement that is called false: there must be none either.
A true statement that is not verified is no error (a bound that is met to the last digit, a law that is
affine without a proof at hand), but many would mean a weak checker. Two statements of different truth
must have different digests. Exit status 1 if there is any error.

The second opinion is slow: meant for certificates of a few tokens and queries.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from certattn.kernel.decide.checker import CheckOptions
from certattn.kernel.decide.proof import Verdict
from certattn.kernel.document.certificate import loads
from certattn.kernel.errors import MalformedError
from certattn.statements.checking import check_certificate
from tools.truth.certificate import judge
from tools.truth.judgement import Truth
from tools.truth.reading import NotAStatement

# A true statement with this much relative slack must verify, unless no proof is at hand.
VISIBLE = 1e-30


@dataclass(frozen=True)
class Twice:
    """A mapping with a key that stands twice; `key` is written again, with its value, at the end."""

    content: dict[str, Any]
    key: str


@dataclass(frozen=True)
class Mutant:
    """`change` in words, `tree` the changed certificate (a `Twice` somewhere if a key stands twice)."""

    change: str
    tree: Any

    @property
    def text(self) -> str:
        return document(self.tree)


@dataclass
class Tally:
    """What came out for the mutants of one or more certificates."""

    mutants: int = 0
    verified_true: int = 0
    refuted_false: int = 0
    refused: int = 0
    undecided_false: int = 0
    not_verified: list[str] = field(default_factory=list)
    false_accepts: list[str] = field(default_factory=list)
    false_refutations: list[str] = field(default_factory=list)
    collisions: list[str] = field(default_factory=list)
    verdicts: Counter[Verdict] = field(default_factory=Counter)

    @property
    def errors(self) -> list[str]:
        """What must never happen."""
        return [*self.false_accepts, *self.false_refutations, *self.collisions]

    def add(self, other: Tally) -> None:
        self.mutants += other.mutants
        self.verified_true += other.verified_true
        self.refuted_false += other.refuted_false
        self.refused += other.refused
        self.undecided_false += other.undecided_false
        self.not_verified += other.not_verified
        self.false_accepts += other.false_accepts
        self.false_refutations += other.false_refutations
        self.collisions += other.collisions
        self.verdicts.update(other.verdicts)


# -- texts of mutants


def document(tree: Any) -> str:
    """A line for each key at the top; a tree that is no mapping is written as it is, and is refused."""
    if not isinstance(tree, dict | Twice):
        return write(tree)
    return "".join(f"{key}: {write(value)}\n" for key, value in _items(tree))


def write(tree: Any) -> str:
    """On one line, every scalar in quotes, of a tree that may hold a `Twice`."""
    if isinstance(tree, str):
        escaped = tree.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(tree, list):
        return f"[{', '.join(write(item) for item in tree)}]"
    return "{" + ", ".join(f"{key}: {write(value)}" for key, value in _items(tree)) + "}"


def _items(tree: dict[str, Any] | Twice) -> list[tuple[str, Any]]:
    content, again = (tree.content, [tree.key]) if isinstance(tree, Twice) else (tree, [])
    return [(key, content[key]) for key in [*content, *again]]


def has_twice(tree: Any) -> bool:
    if isinstance(tree, Twice):
        return True
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return any(has_twice(child) for child in children)


# -- single changes

# Words and keys that could stand for each other if the checker did not look closely.
_WORDS = yaml.load((Path(__file__).parent / "words.yaml").read_text(encoding="utf-8"), yaml.BaseLoader)
_FAMILIES: list[list[str]] = _WORDS["families"]
_SIBLINGS: list[list[str]] = _WORDS["siblings"]
_TINY = Fraction(1, 10**20)


def mutants(tree: Any, path: str = "") -> Iterator[Mutant]:
    """Every single change of a plain tree. The order is fixed."""
    if isinstance(tree, str):
        for text in scalar_changes(tree):
            yield Mutant(f"{path}: {tree} -> {text}", text)
    elif isinstance(tree, list):
        yield from _list_changes(tree, path)
        for index, item in enumerate(tree):
            for inner in mutants(item, f"{path}[{index}]"):
                yield Mutant(inner.change, [*tree[:index], inner.tree, *tree[index + 1 :]])
    else:
        yield from _mapping_changes(tree, path)
        for key, item in tree.items():
            for inner in mutants(item, f"{path}.{key}" if path else key):
                yield Mutant(inner.change, {**tree, key: inner.tree})


def scalar_changes(text: str) -> list[str]:
    """Other texts in the place of a scalar."""
    changes: list[str] = []
    for family in _FAMILIES:
        if text in family:
            changes += [word for word in family if word != text]
    if re.fullmatch("[0-9a-f]{64}", text):
        return ["0" * 64, text[:-1] + ("0" if text[-1] != "0" else "1"), text.upper(), text[:-1], ""]
    if match := re.fullmatch("([0-9]+):([0-9]+)", text):
        first, stop = int(match[1]), int(match[2])
        pairs = [(first + 1, stop), (first, stop - 1), (first, stop + 1), (first + 1, stop + 1), (stop, first)]
        return [f"{a}:{b}" for a, b in pairs]
    value = number(text)
    if value is None:
        root = re.fullmatch(r"(1/)?sqrt\((.*)\)", text)
        inside = scalar_changes(root[2]) if root else []
        swapped = [f"sqrt({root[2]})" if root[1] else f"1/sqrt({root[2]})"] if root else []
        changes += [*(f"{root[1] or ''}sqrt({other})" for other in inside if root), *swapped, "", f"{text}x"]
    else:
        changes += _number_changes(text, value)
    return [change for change in dict.fromkeys(changes) if change != text]


def _number_changes(text: str, value: Fraction) -> list[str]:
    """A number up and down by a digit, an ulp, 10^-20, 1, a factor; its sign; and texts that are no numbers."""
    # The double nearest to the number, and its neighbours: an ulp is 2^-52 of the leading bit.
    nearest = Fraction(float(value))
    ulp = Fraction(2) ** (abs(nearest).numerator.bit_length() - abs(nearest).denominator.bit_length() - 52)
    others = [-value, 2 * value, value / 2, value * 10**6, value + 1, value - 1, value + _TINY, value - _TINY]
    others += [value * (1 + _TINY), value * (1 - _TINY), nearest, nearest + ulp, nearest - ulp, Fraction(0)]
    others += [1 / value] if value else []
    texts = [str(other) for other in others if other != value]
    if match := re.fullmatch(r"(.*?)([0-9])((?:e.*)?)", text):
        head, digit, tail = match[1], int(match[2]), match[3]
        texts += [f"{head}{digit + step}{tail}" for step in (1, -1) if 0 <= digit + step <= 9]
        texts += [f"{head}{digit}1{tail}" if "." in head else f"{head}{digit}.00000000000000000001{tail}"]
    return [*texts, f"+{text}", f"0{text}", f"{text}_0", f"{text} {text}", "nan", "inf", "", f"sqrt({text})"]


def number(text: str) -> Fraction | None:
    if re.fullmatch(r"-?[0-9]+(/[1-9][0-9]*|(\.[0-9]+)?([eE][+-]?[0-9]+)?)", text, re.ASCII):
        return Fraction(text)
    if match := re.fullmatch(r"(-?)0x([0-9a-f]+)(?:\.([0-9a-f]+))?p([+-]?[0-9]+)", text, re.ASCII):
        sign, whole, places, exponent = match[1], match[2], match[3] or "", int(match[4])
        return Fraction(int(sign + whole + places, 16)) * Fraction(2) ** (exponent - 4 * len(places))
    return None


def _list_changes(items: list[Any], path: str) -> Iterator[Mutant]:
    yield Mutant(f"{path}: emptied", [])
    yield Mutant(f"{path}: a list around it", [items])
    if len(items) == 1:
        yield Mutant(f"{path}: its item alone", items[0])
    for index in range(len(items)):
        yield Mutant(f"{path}[{index}]: dropped", items[:index] + items[index + 1 :])
        yield Mutant(f"{path}[{index}]: doubled", [*items[: index + 1], *items[index:]])
    for index in range(len(items) - 1):
        pair = [items[index + 1], items[index]]
        yield Mutant(f"{path}[{index}], [{index + 1}]: exchanged", [*items[:index], *pair, *items[index + 2 :]])
    if len(items) > 2:
        yield Mutant(f"{path}: turned round", items[::-1])
        yield Mutant(f"{path}: rotated", [*items[1:], items[0]])
    if all(isinstance(item, list) and len(item) == len(items[0]) for item in items) and items:
        yield Mutant(f"{path}: transposed", [list(column) for column in zip(*items, strict=True)])
        yield Mutant(f"{path}: zeros", [["0"] * len(item) for item in items])


def _mapping_changes(mapping: dict[str, Any], path: str) -> Iterator[Mutant]:
    at = f"{path}." if path else ""
    for key in mapping:
        rest = {name: item for name, item in mapping.items() if name != key}
        yield Mutant(f"{at}{key}: dropped", rest)
        yield Mutant(f"{at}{key}: twice", Twice(mapping, key))
        names = [f"{key}x", key.upper() if key.islower() else key.lower(), f"{key} "]
        names += [name for family in _SIBLINGS if key in family for name in family]
        for name in dict.fromkeys(names):
            if name not in mapping:
                yield Mutant(f"{at}{key}: renamed {name}", {name if k == key else k: v for k, v in mapping.items()})
        for empty in ("", [], {}):
            yield Mutant(f"{at}{key}: {empty!r}", {**mapping, key: empty})
    keys = list(mapping)
    for first, second in ((a, b) for i, a in enumerate(keys) for b in keys[i + 1 :]):
        yield Mutant(f"{at}{first}, {second}: swapped", {**mapping, first: mapping[second], second: mapping[first]})
    yield Mutant(f"{at}: keys turned round", dict(reversed(mapping.items())))
    yield Mutant(f"{at}: one more key", {**mapping, "note": "1"})


# -- the sweep


def sweep(changed: Iterable[Mutant], folder: Path, known: dict[str, tuple[Truth, str]] | None = None) -> Tally:
    """Check every mutant as a file in `folder`, and compare with its truth.

    `known`: the truth of every statement met so far, by digest, for sweeps of a certificate in parts:
    one digest, one statement.
    """
    tally = Tally()
    known = {} if known is None else known
    for mutant in changed:
        _tally_one(mutant, folder, tally, known)
    return tally


def check(text: str, folder: Path) -> tuple[Verdict, str]:
    """The checker's verdict, and the digest of the statement if there is one."""
    try:
        report = check_certificate(loads(text, folder / "mutant.yaml"), CheckOptions())
    except MalformedError:
        return Verdict.MALFORMED, ""
    return report.verdict, report.digest


def _tally_one(mutant: Mutant, folder: Path, tally: Tally, known: dict[str, tuple[Truth, str]]) -> None:
    verdict, digest = check(mutant.text, folder)
    tally.mutants += 1
    tally.verdicts[verdict] += 1
    line = f"{verdict.value}: {mutant.change}"
    try:
        if has_twice(mutant.tree):
            raise NotAStatement("a key that stands twice")
        truth = judge(mutant.tree, folder)
    except NotAStatement as error:
        if verdict is Verdict.VERIFIED:
            tally.false_accepts.append(f"false accept: {line} (states nothing: {error})")
        tally.refused += verdict is Verdict.MALFORMED
        return
    by = f"(by {truth.slack:.3g} at {truth.where})"
    if digest:
        other, change = known.setdefault(digest, (truth.truth, mutant.change))
        if {other, truth.truth} == {Truth.TRUE, Truth.FALSE}:
            tally.collisions.append(f"one digest of two statements: {mutant.change} and {change}")
    if verdict is Verdict.VERIFIED and not truth.provable:
        tally.false_accepts.append(f"false accept: {line} (the witness does not show it)")
    if truth.truth is Truth.UNKNOWN:
        return
    if truth.truth is Truth.FALSE:
        if verdict is Verdict.VERIFIED:
            tally.false_accepts.append(f"false accept: {line} {by}")
        tally.refuted_false += verdict is Verdict.REFUTED
        tally.undecided_false += verdict in (Verdict.INCONCLUSIVE, Verdict.REJECTED)
        return
    if verdict is Verdict.VERIFIED:
        tally.verified_true += 1
    elif truth.truth is Truth.TRUE and truth.slack > VISIBLE:
        tally.not_verified.append(f"true, not verified: {line} {by}")
    # A second opinion that was too close to call contradicts nobody.
    if verdict is Verdict.REFUTED and (truth.truth is not Truth.OPEN or truth.slack > VISIBLE):
        tally.false_refutations.append(f"false refutation: {line} {by}")


def pairs(tree: Any, count: int, seed: int) -> Iterator[Mutant]:
    """Two single changes, one after the other, drawn at random."""
    draw = random.Random(seed)
    singles = [mutant for mutant in mutants(tree) if not has_twice(mutant.tree)]
    for _ in range(count):
        first = draw.choice(singles)
        second = draw.choice(list(mutants(first.tree)))
        yield Mutant(f"{first.change}; {second.change}", second.tree)


COLUMNS = ("mutants", "verified, true", "refuted, false", "refused", "open, false", "true, not verified")


def row(name: str, tally: Tally) -> str:
    cells = (tally.mutants, tally.verified_true, tally.refuted_false, tally.refused, tally.undecided_false)
    shown = "".join(f"{cell:>{len(title) + 2}}" for cell, title in zip(cells, COLUMNS, strict=False))
    missed = f"{len(tally.not_verified):>{len(COLUMNS[-1]) + 2}}"
    return f"{name:<40}{shown}{missed}{len(tally.false_refutations):>19}{len(tally.false_accepts):>15}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("certificates", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=0, help="also so many mutants of two changes each")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="name the true statements that did not verify")
    options = parser.parse_args()
    print(f"{'':<40}{''.join(f'  {title}' for title in COLUMNS)}  false refutations  false accepts")
    total = Tally()
    for path in options.certificates:
        tree = loads(path.read_text(), path).plain
        tally = sweep(mutants(tree), path.parent)
        tally.add(sweep(pairs(tree, options.pairs, options.seed), path.parent))
        total.add(tally)
        print(row(path.stem[:40], tally), flush=True)
    print(row("all", total))
    for line in [*total.errors, *(total.not_verified if options.list else [])]:
        print(line)
    return 1 if total.errors else 0


if __name__ == "__main__":
    sys.exit(main())
